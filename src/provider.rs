//! The providers of models: which of them serves a model, by one table and by the settings' routes.

mod caller_keys;
mod error;
mod served_window;
mod table;
mod target;

pub use caller_keys::CallerKeys;
pub use error::ProviderError;
pub use served_window::ServedWindows;
pub use target::Target;

use crate::config::{Secret, Settings};
use crate::error::{Error, Result};
use crate::http::{Address, Headers};
use crate::record::matches_pattern;
use std::collections::BTreeMap;
use std::sync::Arc;
use table::{KeyPolicy, PROVIDERS, ProviderRow, is_search_model};
use target::Endpoint;

/// The providers as the settings have them.
pub struct Providers {
    /// As in the table.
    endpoints: Vec<Option<Arc<Endpoint>>>,
    /// The longest pattern first.
    routes: Vec<(String, Arc<Endpoint>)>,
}

impl Providers {
    /// Reads addresses and keys. Errors name the setting.
    pub fn new(settings: &Settings) -> Result<Providers> {
        let mut routes = Vec::new();
        for route in settings.routes() {
            let setting = format!("routes.{:?}.base_url", route.pattern);
            let key = route.key_variable.as_ref().and_then(|name| settings.variable(name));
            let endpoint = Endpoint {
                name: "custom",
                title: "custom",
                address: address(&route.base_url, &setting)?,
                address_setting: setting,
                key,
                key_policy: KeyPolicy::of_route(route.takes_caller_key, route.key_variable.is_some()),
                key_variable: route.key_variable.unwrap_or_default(),
                foreign_keys: Vec::new(),
                headers: headers(&route.pattern, &route.headers)?,
                searches: is_search_model,
                enforces_lengths: false,
                length_member: table::MAX_TOKENS,
                apis: &[],
            };
            routes.push((route.pattern.to_lowercase(), Arc::new(endpoint)));
        }
        routes.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.chars().count()));
        let endpoints = PROVIDERS.iter().map(|row| endpoint(row, settings)).collect::<Result<_>>()?;
        Ok(Providers { endpoints, routes })
    }

    /// The provider of a model: the most specific route, else the provider that is named before a slash, else
    /// the one that serves models of such a name, else Ollama. Fails if the model's name is empty, or its
    /// provider has no address.
    pub fn target(&self, model: &str) -> std::result::Result<Target, ProviderError> {
        let folded = model.to_lowercase();
        if let Some((_, endpoint)) = self.routes.iter().find(|(pattern, _)| matches_pattern(pattern, &folded))
        {
            return Ok(Target { endpoint: endpoint.clone(), model: model.to_owned() });
        }
        let named = model.split_once('/').and_then(|(name, rest)| {
            let at = PROVIDERS.iter().position(|row| row.name.eq_ignore_ascii_case(name))?;
            Some((at, rest))
        });
        let served = || PROVIDERS.iter().position(|row| (row.serves)(&folded)).unwrap_or(PROVIDERS.len() - 1);
        let (at, model) = named.unwrap_or_else(|| (served(), model));
        match model {
            "" => Err(ProviderError::NoModel),
            model => self.at(at, model),
        }
    }

    /// The provider of this name in the table, ignoring routes, for requests without a model. Errors if there
    /// is none.
    pub fn by_name(&self, name: &str) -> std::result::Result<Target, ProviderError> {
        match PROVIDERS.iter().position(|row| row.name == name) {
            Some(at) => self.at(at, ""),
            None => Err(ProviderError::Unknown { name: name.to_owned() }),
        }
    }

    /// Every provider that has an address, those of the routes last; of several at one address the first that
    /// has its key.
    pub fn all(&self) -> Vec<Target> {
        let endpoints =
            self.endpoints.iter().flatten().chain(self.routes.iter().map(|(_, endpoint)| endpoint));
        let mut all: Vec<Target> = Vec::new();
        for endpoint in endpoints {
            let new = Target { endpoint: endpoint.clone(), model: String::new() };
            match all.iter_mut().find(|other| *other.address() == endpoint.address) {
                None => all.push(new),
                Some(other) if other.own_key().is_err() && new.own_key().is_ok() => *other = new,
                Some(_) => {}
            }
        }
        all
    }

    fn at(&self, at: usize, model: &str) -> std::result::Result<Target, ProviderError> {
        match &self.endpoints[at] {
            Some(endpoint) => Ok(Target { endpoint: endpoint.clone(), model: model.to_owned() }),
            None => {
                let ProviderRow { title, address_variable: variable, .. } = PROVIDERS[at];
                Err(ProviderError::NoAddress { title, variable })
            }
        }
    }
}

fn endpoint(row: &'static ProviderRow, settings: &Settings) -> Result<Option<Arc<Endpoint>>> {
    settings.check(row.address)?;
    let Some(text) = settings.text(row.address) else { return Ok(None) };
    Ok(Some(Arc::new(Endpoint {
        name: row.name,
        title: row.title,
        address: address(&text, row.address)?,
        address_setting: row.address_variable.to_owned(),
        key: settings.secret(row.key),
        key_variable: row.key_variable.to_owned(),
        key_policy: row.key_policy,
        foreign_keys: foreign_keys(row, settings),
        headers: Headers::default(),
        searches: row.searches,
        enforces_lengths: row.enforces_lengths,
        length_member: row.length_member,
        apis: row.apis,
    })))
}

/// The keys that the settings have for the providers of the other rows.
fn foreign_keys(row: &ProviderRow, settings: &Settings) -> Vec<(&'static str, Secret)> {
    let others = PROVIDERS.iter().filter(|other| other.name != row.name);
    others.filter_map(|other| Some((other.title, settings.secret(other.key)?))).collect()
}

fn address(text: &str, setting: &str) -> Result<Address> {
    Address::parse(text).map(|address| address.complete("chat/completions")).map_err(|e| e.at(setting))
}

/// The keys in lines `PROVIDER=KEY`, by the provider's name. Errors name the line, without the key.
pub fn keys_of_lines(text: &str) -> Result<BTreeMap<String, String>> {
    let mut keys = BTreeMap::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = |error: Error| error.at(format_args!("line {}", at + 1));
        let (name, key) = line.split_once('=').unwrap_or((line, ""));
        let (name, key) = (name.trim().to_ascii_lowercase(), key.trim());
        let names: Vec<&str> = PROVIDERS.iter().map(|row| row.name).collect();
        if key.is_empty() || !names.contains(&&*name) {
            return Err(place(ProviderError::KeyLine { providers: names.join(", ") }.into()));
        }
        keys.insert(name, key.to_owned());
    }
    Ok(keys)
}

/// The headers of a route. Errors name the setting.
fn headers(pattern: &str, set: &[(String, String)]) -> Result<Headers> {
    let mut headers = Headers::default();
    for (name, value) in set {
        headers.set(name, value).map_err(|e| e.at(format_args!("routes.{pattern:?}.headers.{name:?}")))?;
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Common;
    use crate::config;

    fn providers(settings: &str) -> Result<Providers> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("rsv.toml");
        std::fs::write(&file, settings).unwrap();
        let common = Common { config: Some(file), ..Common::default() };
        Providers::new(&config::load(&common).unwrap())
    }

    fn served(providers: &Providers, model: &str) -> String {
        match providers.target(model) {
            Ok(target) => format!("{} {}", target.name(), target.model),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_name_tells_who_serves_a_model() {
        let providers = providers("").unwrap();
        for (provider, models) in [
            (
                "openai",
                "gpt-4 gpt-4o gpt-4o-mini gpt-3.5-turbo gpt-4.1 gpt-4-turbo gpt-4o-search-preview o1 o3-mini o99 \
                 chatgpt-4o-latest GPT-4o ChatGPT-4o O3",
            ),
            ("mistral", "mistral-large-2402 mistral-large mistral-medium mistral-small Mistral-Large"),
            ("anthropic", "claude-sonnet-4-5 Claude-3-Haiku"),
            ("gemini", "gemini-2.0-flash gemini-2.5-flash-preview-05-20 Gemini-2.0-Flash"),
            (
                "ollama",
                "gpt-oss:20b mistral mistral:7b llama3.1:8b codellama gemma3 gpt gpt4 claude o ollama omni o-1 chatgpt gemini \
                 library/llama3 mistralai/mixtral hf.co/bartowski/Llama:Q4 ö1 / /gpt-4",
            ),
        ] {
            for model in models.split_whitespace() {
                assert_eq!(served(&providers, model), format!("{provider} {model}"));
            }
        }
    }

    #[test]
    fn only_some_models_search_the_web() {
        let providers = providers(
            "custom_base_url = 'https://c.example/v1'\n[routes]\n'r/*' = { base_url = 'https://r.example' }",
        )
        .unwrap();
        let searches = |model| providers.target(model).unwrap().searches_web();
        for model in [
            "gpt-4o-search-preview",
            "GPT-4o-mini-Search-Preview",
            "gpt-5-search-api",
            "custom/sonar",
            "r/sonar-pro",
        ] {
            assert!(searches(model), "{model}");
        }
        for model in [
            "gpt-4o",
            "o3-deep-research",
            "claude-sonnet-4-5",
            "mistral-large",
            "llama3",
            "sonar",
            "x-search",
        ] {
            assert!(!searches(model), "{model}");
        }
    }

    #[test]
    fn a_provider_may_be_named() {
        let providers = providers("custom_base_url = 'https://c.example/v1'").unwrap();
        for (model, who) in [
            ("openai/llama3", "openai llama3"),
            ("ollama/gpt-oss:20b", "ollama gpt-oss:20b"),
            ("Mistral/Codestral", "mistral Codestral"),
            ("GEMINI/x", "gemini x"),
            ("anthropic/any", "anthropic any"),
            ("custom/meta/llama-3", "custom meta/llama-3"),
            ("openai/", "model: is empty"),
            ("", "model: is empty"),
        ] {
            assert_eq!(served(&providers, model), who);
        }
    }

    #[test]
    fn a_provider_without_an_address_serves_nothing() {
        let mut providers = providers("").unwrap();
        providers.endpoints[4] = None;
        assert_eq!(served(&providers, "custom/x"), "model: the custom provider has no address");
    }

    #[test]
    fn the_longest_pattern_of_the_routes_goes_first() {
        let providers = providers(
            "[routes]\n\
             'gpt-*' = { base_url = 'https://all.example' }\n\
             'GPT-4*' = { base_url = 'https://four.example/v1/' }\n\
             'openai/*' = { base_url = 'http://127.0.0.1:1/x?k=v' }\n\
             '*:7b' = { base_url = 'https://small.example' }",
        )
        .unwrap();
        for (model, address) in [
            ("gpt-3.5-turbo", "https://all.example/v1/chat/completions"),
            ("gpt-4o", "https://four.example/v1/chat/completions"),
            ("openai/gpt-4o", "http://127.0.0.1:1/x"),
            ("mistral:7B", "https://small.example/v1/chat/completions"),
        ] {
            let target = providers.target(model).unwrap();
            assert_eq!((target.address().to_string().as_str(), target.name()), (address, "custom"));
            assert_eq!(target.model, model);
        }
        assert_eq!(served(&providers, "o3"), "openai o3");
    }

    #[test]
    fn a_key_goes_only_to_the_provider_that_it_is_for() {
        let mut providers = providers(
            "openai_base_url = 'https://o.example'\nmistral_base_url = 'http://m.example'\n\
             ollama_base_url = 'http://l.example'\ncustom_base_url = 'http://c.example'\n\
             [routes]\n'x' = { base_url = 'https://x.example' }\n\
             'y' = { base_url = 'https://y.example', caller_key = true }",
        )
        .unwrap();
        let own = Secret::new("own");
        let mut sent = |model: &str, own: Option<&Secret>, bearer: &str| {
            for endpoint in providers.endpoints.iter_mut().flatten() {
                Arc::make_mut(endpoint).key = own.cloned();
            }
            let target = providers.target(model).unwrap();
            let caller = CallerKeys::new(Some(Secret::new(bearer)), None);
            match target.key(&caller) {
                Ok(key) => key.map_or("none", |key| if key.expose() == "own" { "own" } else { "callers" }),
                Err(ProviderError::NoKey { .. }) => "missing",
                Err(ProviderError::Plaintext { .. }) => "plain",
                Err(_) => "model",
            }
        };
        let (openai, anthropic) = ("sk-proj-1", "sk-ant-1");
        // Without a key in the settings: no key, a placeholder, OpenAI's, Anthropic's, an unknown one; then
        // with one.
        for (model, without, with) in [
            ("gpt-4", "missing missing callers missing callers", "own own callers own own"),
            ("claude-x", "missing missing missing callers callers", "own own own callers own"),
            ("gemini-x", "missing missing missing missing callers", "own own own own own"),
            ("mistral-small", "missing missing missing missing plain", "plain plain plain plain plain"),
            ("llama3", "none none none none none", "plain plain plain plain plain"),
            ("custom/x", "none none none none none", "plain plain plain plain plain"),
            ("x", "none none none none none", "none none none none none"),
            ("y", "none none callers callers callers", "none none callers callers callers"),
        ] {
            let keys = ["", "not-needed", openai, anthropic, "unknown"];
            assert_eq!(keys.map(|key| sent(model, None, key)).join(" "), without, "{model}");
            assert_eq!(keys.map(|key| sent(model, Some(&own), key)).join(" "), with, "{model}");
        }
    }

    #[test]
    fn a_key_that_the_settings_have_for_another_provider_is_that_providers() {
        let providers = providers("openai_api_key = 'house'\nmistral_api_key = 'house'").unwrap();
        let caller = CallerKeys::new(Some(Secret::new("house")), None);
        let key = |model| match providers.target(model).unwrap().key(&caller) {
            Ok(key) => key.map_or("none".to_owned(), |key| key.expose().to_owned()),
            Err(error) => error.to_string(),
        };
        assert_eq!((key("gpt-4"), key("mistral-small")), ("house".to_owned(), "house".to_owned()));
        assert_eq!(
            key("gemini-x"),
            "no key for Gemini: GEMINI_API_KEY is not set, and the caller's key is for OpenAI"
        );
    }

    #[test]
    fn a_bad_address_is_named_by_its_setting_and_not_shown() {
        let error_text = |settings| providers(settings).err().map(|e| e.to_string());
        assert_eq!(
            error_text("custom_base_url = 'http://user:secret@h:99999'").as_deref(),
            Some("custom_base_url: invalid address: invalid port number")
        );
        assert_eq!(
            error_text("[routes]\n'a*' = { base_url = 'http://[x' }").as_deref(),
            Some("routes.\"a*\".base_url: invalid address: invalid IPv6 address")
        );
    }
}
