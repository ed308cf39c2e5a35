//! The `web_search_options` of requests to models that search the web.

use crate::config::Settings;
use crate::record::{Object, quote};

const OPTIONS: &str = "web_search_options";

/// The settings for web search, under the names that Reservoir's documents have for them in a request.
pub(super) struct WebSearch {
    /// Whether a request without options gets some.
    is_default: bool,
    /// The members that limit a search, as JSON.
    limits: Vec<(&'static str, String)>,
}

impl WebSearch {
    pub(super) fn new(settings: &Settings) -> WebSearch {
        let results = settings.integer("web_search_max_results").map(|count| count.to_string());
        let range = settings.text("web_search_time_range").map(|range| quote(&range));
        let limits = [("max_results", results), ("time_range", range)];
        WebSearch {
            is_default: settings.boolean("web_search_enabled") == Some(true),
            limits: limits.into_iter().filter_map(|(name, json)| Some((name, json?))).collect(),
        }
    }

    /// Adds the options to a request that has none, and the limits to options that leave them open. Options
    /// that disable the search stay as they are.
    pub(super) fn complete(&self, request: &mut Object) {
        let mut options = match request.object(OPTIONS) {
            Ok(Some(options)) if options.get("enabled") != Some("false") && !self.limits.is_empty() => {
                options
            }
            Ok(None) if self.is_default && !request.has(OPTIONS) => self.empty(),
            _ => return,
        };
        for (name, json) in &self.limits {
            if !options.has(name) {
                options.set(name, json.clone());
            }
        }
        request.set(OPTIONS, options.to_json());
    }

    /// The options without limits. OpenAI searches if there are any, and refuses members that it does not
    /// know; a provider that knows the limits also knows `enabled`, whose default is false there.
    fn empty(&self) -> Object {
        let mut options = Object::default();
        if !self.limits.is_empty() {
            options.set("enabled", "true");
        }
        options
    }
}
