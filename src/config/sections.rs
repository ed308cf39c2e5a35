//! Settings for one model, one partition, one route.

use super::environment;
use super::settings::{Setting, Settings};
use super::value::{Secret, Value};
use crate::record::{PartitionFilter, Scopes};
use std::time::Duration;

/// The settings of one model.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ModelSettings {
    /// The context window of the model, in tokens.
    pub max_context_tokens: Option<usize>,
    /// Tokens kept free for its answer.
    pub reserve_tokens: Option<usize>,
    /// The number of similar messages to recall for it.
    pub semantic_context_size: Option<usize>,
}

/// The settings of one partition.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PartitionSettings {
    /// The number of similar messages to recall.
    pub semantic_context_size: Option<usize>,
    /// The number of recent messages to recall.
    pub recent_context_size: Option<usize>,
    /// A factor for the estimate of tokens; above 0.
    pub token_multiplier: Option<f64>,
    /// The reach of recall.
    pub reach: Option<String>,
    /// The proxy's memory mode.
    pub memory: Option<String>,
    /// The age from which on its messages are removed.
    pub retention: Option<Duration>,
}

/// The partitions of which actions are stored.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StoredActions {
    /// Whether they are those that are not named.
    of_all: bool,
    /// The partitions for which it is otherwise.
    exceptions: Vec<String>,
}

impl StoredActions {
    pub fn are_on(&self, partition: &str) -> bool {
        self.of_all != self.exceptions.iter().any(|name| name == partition)
    }
}

/// The provider of the models whose names match a pattern.
#[derive(Clone, PartialEq, Debug)]
pub struct Route {
    /// A model's name, in which `*` stands for anything.
    pub pattern: String,
    pub base_url: String,
    /// The environment variable that holds the key.
    pub key_variable: Option<String>,
    /// Whether the caller's key is sent there.
    pub takes_caller_key: bool,
    /// The names and values of headers that go with every request.
    pub headers: Vec<(String, String)>,
}

impl Settings {
    /// The names that a section (`partitions`) has settings for.
    pub fn names(&self, section: &str) -> Vec<String> {
        let named = self.settings.iter().filter(|setting| setting.found.is_some());
        let paths = named.map(|setting| &setting.key.path).filter(|path| path[0] == section);
        paths.filter_map(|path| path.get(1).cloned()).collect()
    }

    /// The settings of the model of that name.
    pub fn model(&self, name: &str) -> ModelSettings {
        ModelSettings {
            max_context_tokens: self.size(["models", name, "max_context_tokens"]),
            reserve_tokens: self.size(["models", name, "reserve_tokens"]),
            semantic_context_size: self.size(["models", name, "semantic_context_size"]),
        }
    }

    /// The settings of the partition of that name.
    pub fn partition(&self, name: &str) -> PartitionSettings {
        PartitionSettings {
            semantic_context_size: self.size(["partitions", name, "semantic_context_size"]),
            recent_context_size: self.size(["partitions", name, "recent_context_size"]),
            token_multiplier: match self.at(&["partitions", name, "token_multiplier"]) {
                Some(Value::Real(number)) => Some(*number),
                _ => None,
            },
            reach: self.text_at(["partitions", name, "reach"]),
            memory: self.text_at(["partitions", name, "memory"]),
            retention: self.retention(name),
        }
    }

    /// The partitions of which actions are stored.
    pub fn stored_actions(&self) -> StoredActions {
        let of_all = self.boolean("ingest.actions") == Some(true);
        let is_exception = |name: &String| matches!(self.at(&["partitions", name, "actions"]), Some(Value::Boolean(on)) if *on != of_all);
        let exceptions = self.names("partitions").into_iter().filter(is_exception).collect();
        StoredActions { of_all, exceptions }
    }

    /// The partitions that no other machine gets, and no token but the owner's reaches.
    pub fn private_partitions(&self) -> Vec<String> {
        let is_private =
            |name: &String| self.at(&["partitions", name, "private"]) == Some(&Value::Boolean(true));
        let mut private: Vec<String> = self.names("partitions").into_iter().filter(is_private).collect();
        private.sort();
        private.dedup();
        private
    }

    /// The partitions that match any of some patterns, without which all do, except private ones.
    pub fn shared_scopes(&self, patterns: &[String]) -> Scopes {
        PartitionFilter::new(patterns, self.private_partitions()).map_or(Scopes::All, Scopes::Matching)
    }

    /// The partition's own retention or else that of all; `None` if it is off.
    fn retention(&self, partition: &str) -> Option<Duration> {
        match self.at(&["partitions", partition, "retention"]).or_else(|| self.at(&["retention"])) {
            Some(Value::Duration(age)) => Some(*age).filter(|age| !age.is_zero()),
            _ => None,
        }
    }

    /// Whether any partition has a retention.
    pub fn has_retention(&self) -> bool {
        let names = self.names("partitions");
        // A partition without settings of its own has the retention of all.
        names.iter().map(String::as_str).chain([""]).any(|name| self.retention(name).is_some())
    }

    /// The routes, in the order of the file.
    pub fn routes(&self) -> Vec<Route> {
        let named = self.settings.iter().filter(|s| s.key.row().key == "routes.*.base_url");
        let routes = named.filter_map(|setting| match setting.value() {
            Some(Value::Text(base_url)) => {
                let pattern = &setting.key.path[1];
                let key_variable = match self.at(&["routes", pattern, "key_variable"]) {
                    Some(Value::Text(variable)) => Some(variable.clone()),
                    _ => None,
                };
                let caller_key = self.at(&["routes", pattern, "caller_key"]);
                Some(Route {
                    headers: self.headers(pattern),
                    pattern: pattern.clone(),
                    base_url: base_url.clone(),
                    key_variable,
                    takes_caller_key: matches!(caller_key, Some(Value::Boolean(true))),
                })
            }
            _ => None,
        });
        routes.collect()
    }

    fn headers(&self, pattern: &str) -> Vec<(String, String)> {
        let of_route = |s: &&Setting| {
            s.key.row().key == "routes.*.headers.*" && s.key.path[1] == *pattern && s.found.is_some()
        };
        let named = self.settings.iter().filter(of_route);
        named.map(|s| (s.key.path[3].clone(), s.value().map(Value::to_string).unwrap_or_default())).collect()
    }

    /// An environment variable that a route names; set to nothing, or to no UTF-8, counts as unset.
    pub fn variable(&self, name: &str) -> Option<Secret> {
        environment::variable(name).ok().flatten().map(Secret::new)
    }

    fn text_at(&self, path: [&str; 3]) -> Option<String> {
        match self.at(&path) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        }
    }

    fn size(&self, path: [&str; 3]) -> Option<usize> {
        match self.at(&path) {
            Some(Value::Integer(number)) => usize::try_from(*number).ok(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::file::FileContents;
    use super::super::settings::Layer;
    use super::*;

    #[test]
    fn sections_are_read_by_name() {
        let text = r#"
            models."gpt-3.5-turbo" = { max_context_tokens = 4096, reserve_tokens = 1024 }
            [partitions.code]
            token_multiplier = 1.3
            recent_context_size = 30
            private = true
            [routes."*"]
            base_url = "http://localhost:1/v1"
            [routes."qwen*"]
            base_url = "https://example.org/v1"
            key_variable = "QWEN_KEY"
        "#;
        let contents = FileContents::read("c.toml".as_ref(), text).unwrap();
        let mut settings = Settings::defaults();
        for (key, value) in contents.values {
            settings.put(key, value, Layer::File);
        }
        let model = settings.model("gpt-3.5-turbo");
        assert_eq!((model.max_context_tokens, model.reserve_tokens), (Some(4096), Some(1024)));
        assert_eq!(settings.model("gpt-3"), ModelSettings::default());
        let partition = settings.partition("code");
        assert_eq!((partition.token_multiplier, partition.recent_context_size), (Some(1.3), Some(30)));
        assert_eq!(settings.private_partitions(), ["code"]);
        let routes: Vec<String> = settings.routes().into_iter().map(|route| route.pattern).collect();
        assert_eq!(routes, ["*", "qwen*"]);
        assert_eq!(settings.routes()[1].key_variable.as_deref(), Some("QWEN_KEY"));
        assert_eq!(settings.max_line(), 32 << 20);
    }
}
