//! The providers of models: one table with their addresses and keys, and the settings' routes.

mod caller_keys;
mod served_window;

pub use caller_keys::CallerKeys;
pub use served_window::ServedWindows;

use crate::api::Api;
use crate::config::{Secret, Settings};
use crate::error::{Error, Result};
use crate::http::{Address, HeaderMap, HeaderValue, Headers};
use caller_keys::{is_placeholder, owner_by_shape};
use std::sync::Arc;

/// One provider.
struct ProviderRow {
    /// As it is written in `openai/gpt-4o`, and in `rsv.provider`.
    name: &'static str,
    /// For people.
    title: &'static str,
    /// The settings with its address and its key.
    address: &'static str,
    key: &'static str,
    /// The variables of both, for messages.
    address_variable: &'static str,
    key_variable: &'static str,
    key_policy: KeyPolicy,
    /// Whether a model, in lower case, is served here if no provider is named.
    serves: fn(&str) -> bool,
    /// Whether a model, in lower case, searches the web when a request has `web_search_options`; others refuse it.
    searches: fn(&str) -> bool,
    /// Whether the lengths of texts in a schema bind its answers. Elsewhere they may be refused: OpenAI's documents leave
    /// them out, Anthropic refuses them ("Structured outputs", 2026).
    enforces_lengths: bool,
    /// Its APIs besides chat completions.
    apis: &'static [Api],
}

/// The key that a provider gets.
#[derive(Clone, Copy, PartialEq, Debug)]
enum KeyPolicy {
    /// The caller's key if its shape is the provider's, else that of the settings, else the caller's if its shape is
    /// nobody's; there must be one.
    Key,
    /// The same, but no key is needed.
    KeyIfAny,
    /// The key of the settings if there is one, never the caller's.
    OwnIfAny,
    /// The key of the settings, which must be there, never the caller's.
    Own,
    /// The caller's key of any shape, else that of the settings, which must be there.
    Caller,
    /// The same, but no key is needed.
    CallerIfAny,
}

impl KeyPolicy {
    /// The policy of a route.
    fn of_route(takes_callers: bool, has_own: bool) -> KeyPolicy {
        match (takes_callers, has_own) {
            (true, true) => KeyPolicy::Caller,
            (true, false) => KeyPolicy::CallerIfAny,
            (false, true) => KeyPolicy::Own,
            (false, false) => KeyPolicy::OwnIfAny,
        }
    }

    fn is_key_needed(self) -> bool {
        matches!(self, KeyPolicy::Key | KeyPolicy::Own | KeyPolicy::Caller)
    }
}

/// The one table. The first that serves a model has it.
#[rustfmt::skip]
static PROVIDERS: [ProviderRow; 6] = [
    ProviderRow { name: "openai", title: "OpenAI", address: "openai_base_url", key: "openai_api_key", address_variable: "RSV_OPENAI_BASE_URL", key_variable: "OPENAI_API_KEY", key_policy: KeyPolicy::Key, serves: is_openai, searches: is_search_model, enforces_lengths: false, apis: &[Api::Responses] },
    ProviderRow { name: "mistral", title: "Mistral", address: "mistral_base_url", key: "mistral_api_key", address_variable: "RSV_MISTRAL_BASE_URL", key_variable: "MISTRAL_API_KEY", key_policy: KeyPolicy::Key, serves: |model| model.starts_with("mistral-"), searches: |_| false, enforces_lengths: false, apis: &[] },
    ProviderRow { name: "gemini", title: "Gemini", address: "gemini_base_url", key: "gemini_api_key", address_variable: "RSV_GEMINI_BASE_URL", key_variable: "GEMINI_API_KEY", key_policy: KeyPolicy::Key, serves: |model| model.starts_with("gemini-"), searches: |_| false, enforces_lengths: false, apis: &[] },
    ProviderRow { name: "anthropic", title: "Anthropic", address: "anthropic_base_url", key: "anthropic_api_key", address_variable: "RSV_ANTHROPIC_BASE_URL", key_variable: "ANTHROPIC_API_KEY", key_policy: KeyPolicy::Key, serves: |model| model.starts_with("claude-"), searches: |_| false, enforces_lengths: false, apis: &[Api::Messages] },
    ProviderRow { name: "custom", title: "custom", address: "custom_base_url", key: "custom_api_key", address_variable: "RSV_CUSTOM_BASE_URL", key_variable: "CUSTOM_API_KEY", key_policy: KeyPolicy::KeyIfAny, serves: |_| false, searches: is_search_model, enforces_lengths: false, apis: &[] },
    ProviderRow { name: "ollama", title: "Ollama", address: "ollama_base_url", key: "ollama_api_key", address_variable: "RSV_OLLAMA_BASE_URL", key_variable: "OLLAMA_API_KEY", key_policy: KeyPolicy::OwnIfAny, serves: |_| true, searches: |_| false, enforces_lengths: true, apis: &[] },
];

/// The headers of Anthropic's own API for the key and for the version, and the version for callers that name none.
const KEY_HEADER: &str = "x-api-key";
const VERSION_HEADER: &str = "anthropic-version";
const VERSION: &str = "2023-06-01";
/// The beginning of a key that stands for a subscription, which Anthropic takes as `Bearer` only.
const OAUTH_BEGIN: &str = "sk-ant-oat";

/// `gpt-…`, `chatgpt-…`, and o with a digit; but not gpt-oss, whose weights are open and which OpenAI does
/// not serve.
fn is_openai(model: &str) -> bool {
    if model.starts_with("gpt-oss") {
        return false;
    }
    let numbered = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    model.starts_with("gpt-")
        || model.starts_with("chatgpt-")
        || model.strip_prefix('o').is_some_and(numbered)
}

/// `gpt-4o-search-preview`, `gpt-5-search-api`, and Perplexity's `sonar-pro`, with the names of their makers or
/// without. The others at OpenAI search by a tool of its Responses API only.
fn is_search_model(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    name == "sonar" || name.starts_with("sonar-") || name.contains("-search-") || name.ends_with("-search")
}

/// The providers as the settings have them.
pub struct Providers {
    /// As in the table.
    endpoints: Vec<Option<Arc<Endpoint>>>,
    /// The longest pattern first.
    routes: Vec<(String, Arc<Endpoint>)>,
}

/// The address of a provider, and its key and headers.
#[derive(Clone, Debug)]
struct Endpoint {
    name: &'static str,
    title: &'static str,
    address: Address,
    address_setting: String,
    key: Option<Secret>,
    key_variable: String,
    key_policy: KeyPolicy,
    /// The keys of the other providers, each with its title: wherever a caller has one of them from, it is theirs.
    foreign_keys: Vec<(&'static str, Secret)>,
    headers: Headers,
    searches: fn(&str) -> bool,
    enforces_lengths: bool,
    apis: &'static [Api],
}

/// The provider and the model of one request.
#[derive(Clone, Debug)]
pub struct Target {
    endpoint: Arc<Endpoint>,
    /// The model by the name that the provider knows; empty for a request without a model.
    pub model: String,
}

/// The reason why a request cannot be sent.
#[derive(Debug)]
pub enum Refusal {
    /// No provider serves the model.
    Model(Error),
    /// There is no key.
    Key(Error),
    /// The key would go over the network in the clear.
    Plaintext(Error),
}

impl Refusal {
    /// The error and its hint.
    pub fn into_error(self) -> Error {
        match self {
            Refusal::Model(error) | Refusal::Key(error) | Refusal::Plaintext(error) => error,
        }
    }
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
                apis: &[],
            };
            routes.push((route.pattern.to_lowercase(), Arc::new(endpoint)));
        }
        routes.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.chars().count()));
        let endpoints = PROVIDERS.iter().map(|row| endpoint(row, settings)).collect::<Result<_>>()?;
        Ok(Providers { endpoints, routes })
    }

    /// The provider of a model: the most specific route, else the provider that is named before a slash, else the
    /// one that serves models of such a name, else Ollama.
    pub fn target(&self, model: &str) -> std::result::Result<Target, Refusal> {
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
            "" => Err(Refusal::Model(Error::new("model: is empty"))),
            model => self.at(at, model),
        }
    }

    /// The provider that the table has under this name, whatever the routes say, for requests without a model.
    pub fn by_name(&self, name: &str) -> std::result::Result<Target, Refusal> {
        match PROVIDERS.iter().position(|row| row.name == name) {
            Some(at) => self.at(at, ""),
            None => Err(Refusal::Model(Error::new(format!("there is no provider {name:?}")))),
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

    fn at(&self, at: usize, model: &str) -> std::result::Result<Target, Refusal> {
        match &self.endpoints[at] {
            Some(endpoint) => Ok(Target { endpoint: endpoint.clone(), model: model.to_owned() }),
            None => Err(Refusal::Model(
                Error::new(format!("model: the {} provider has no address", PROVIDERS[at].title))
                    .hint(format!("set {}", PROVIDERS[at].address_variable)),
            )),
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

/// The headers of a route. Errors name the setting.
fn headers(pattern: &str, set: &[(String, String)]) -> Result<Headers> {
    let mut headers = Headers::default();
    for (name, value) in set {
        headers.set(name, value).map_err(|e| e.at(format_args!("routes.{pattern:?}.headers.{name:?}")))?;
    }
    Ok(headers)
}

impl Target {
    /// The provider, as in `rsv.provider`.
    pub fn name(&self) -> &'static str {
        self.endpoint.name
    }

    /// The provider, for people.
    pub fn title(&self) -> &'static str {
        self.endpoint.title
    }

    /// Whether the model searches the web.
    pub fn searches_web(&self) -> bool {
        (self.endpoint.searches)(&self.model.to_lowercase())
    }

    /// Whether the lengths of texts in a schema bind its answers.
    pub fn enforces_lengths(&self) -> bool {
        self.endpoint.enforces_lengths
    }

    /// The address of an API; `None` if the provider does not have it.
    pub fn address_of(&self, api: Api) -> Option<Address> {
        match api {
            Api::Chat => Some(self.address().clone()),
            _ if self.endpoint.apis.contains(&api) => self.sibling(api.path(), None),
            _ => None,
        }
    }

    /// Sets the headers by which Anthropic's own API knows its callers, for a request to a path after `/v1/`. Returns
    /// the key that is to be sent as `Authorization: Bearer`: a caller's goes in the header in which it came.
    pub fn authorize<'k>(
        &self,
        path: &str,
        key: Option<&'k Secret>,
        caller: &CallerKeys,
        headers: &mut HeaderMap,
    ) -> Option<&'k Secret> {
        let is_own_api = !path.starts_with(Api::Chat.path()) && self.name() == "anthropic";
        if !is_own_api {
            return key;
        }
        headers.entry(VERSION_HEADER).or_insert(HeaderValue::from_static(VERSION));
        let secret = key?;
        let is_bearer = caller.bearer() == Some(secret) || secret.expose().starts_with(OAUTH_BEGIN);
        match HeaderValue::from_str(secret.expose()) {
            Ok(mut value) if !is_bearer => {
                value.set_sensitive(true);
                headers.insert(KEY_HEADER, value);
                None
            }
            _ => key,
        }
    }

    /// The address of its chat completions.
    pub fn address(&self) -> &Address {
        &self.endpoint.address
    }

    /// Another endpoint of the same API, with a query string; `None` if the address has no such siblings.
    pub fn sibling(&self, name: &str, query: Option<&str>) -> Option<Address> {
        let address = self.address();
        let base = address.path().strip_suffix("/chat/completions")?;
        Some(address.clone().with_path(&format!("{base}/{name}")).with_query(query))
    }

    /// The setting that has the address, for hints.
    pub fn address_setting(&self) -> &str {
        &self.endpoint.address_setting
    }

    /// The headers that a route adds to every request.
    pub fn headers(&self) -> &Headers {
        &self.endpoint.headers
    }

    /// The variable that may hold the key, for hints; a route may have none.
    pub fn key_variable(&self) -> Option<&str> {
        Some(self.endpoint.key_variable.as_str()).filter(|variable| !variable.is_empty())
    }

    /// The key of the settings; an error if one is needed and there is none.
    pub fn own_key(&self) -> std::result::Result<Option<&Secret>, Refusal> {
        self.key(CallerKeys::none())
    }

    /// The key to send: the caller's only to the provider that it is for, and none to another machine unencrypted.
    pub fn key<'k>(&'k self, caller: &'k CallerKeys) -> std::result::Result<Option<&'k Secret>, Refusal> {
        let policy = self.endpoint.key_policy;
        let exposed = self.address().is_plaintext() && !self.address().is_loopback();
        let own = self.endpoint.key.as_ref();
        let key = match policy {
            // A client that must send some key sends it to a server that needs none.
            KeyPolicy::KeyIfAny | KeyPolicy::CallerIfAny if exposed => own,
            KeyPolicy::Key | KeyPolicy::KeyIfAny => self.fitting_key(caller),
            KeyPolicy::Caller | KeyPolicy::CallerIfAny => caller.bearer().or(own),
            KeyPolicy::Own | KeyPolicy::OwnIfAny => own,
        };
        match key {
            None if policy.is_key_needed() => Err(Refusal::Key(self.missing_key_error(caller))),
            Some(_) if exposed => Err(Refusal::Plaintext(self.plaintext_error())),
            key => Ok(key),
        }
    }

    /// The caller's key if it is this provider's by its shape, else the settings', else the caller's if nobody knows
    /// whose it is. A placeholder in the settings, for a server that wants some key, yields to it.
    fn fitting_key<'k>(&'k self, caller: &'k CallerKeys) -> Option<&'k Secret> {
        let own = self.endpoint.key.as_ref();
        let mut callers = caller.offered_to(self.name());
        let mut unknown = caller.offered_to(self.name());
        let fitting = callers.find(|key| {
            own == Some(key) || self.foreign_title(key).is_none() && owner_by_shape(key) == Some(self.name())
        });
        let unknown =
            || unknown.find(|key| self.foreign_title(key).is_none() && owner_by_shape(key).is_none());
        fitting.or(own.filter(|key| !is_placeholder(key))).or_else(unknown).or(own)
    }

    /// The title of the other provider that a key is for, if that is known.
    fn foreign_title(&self, key: &Secret) -> Option<&'static str> {
        let has_it = |(_, other): &&(&str, Secret)| other == key;
        if let Some((title, _)) = self.endpoint.foreign_keys.iter().find(has_it) {
            return Some(title);
        }
        let owner = owner_by_shape(key).filter(|owner| *owner != self.name())?;
        PROVIDERS.iter().find(|row| row.name == owner).map(|row| row.title)
    }

    fn missing_key_error(&self, caller: &CallerKeys) -> Error {
        let (title, variable) = (self.title(), &self.endpoint.key_variable);
        let foreign = caller.offered_to(self.name()).find_map(|key| self.foreign_title(key));
        let foreign = foreign.map(|owner| format!(", and the caller's key is for {owner}"));
        Error::new(format!("no key for {title}: {variable} is not set{}", foreign.unwrap_or_default()))
            .hint(format!("set {variable}; a model of Ollama's needs none: name it as ollama/MODEL"))
    }

    fn plaintext_error(&self) -> Error {
        let (title, address) = (self.title(), self.address());
        Error::new(format!("the key for {title} would be sent to {address} in the clear"))
            .hint(format!("give an https address: {}", self.endpoint.address_setting))
    }
}

/// Whether a pattern, in which `*` matches any text, matches a whole text.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(head) else { return false };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    // The leftmost place of each part leaves the longest text for those after it.
    for part in middle.split('*') {
        match text.find(part) {
            Some(at) => text = &text[at + part.len()..],
            None => return false,
        }
    }
    text.ends_with(tail)
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
            Err(Refusal::Model(error)) => error.to_string(),
            Err(refusal) => panic!("{refusal:?}"),
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
                Err(Refusal::Key(_)) => "missing",
                Err(Refusal::Plaintext(_)) => "plain",
                Err(Refusal::Model(_)) => "model",
            }
        };
        let (openai, anthropic) = ("sk-proj-1", "sk-ant-1");
        // Without a key in the settings: no key, a placeholder, OpenAI's, Anthropic's, an unknown one; then with one.
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
            Err(refusal) => refusal.into_error().to_string(),
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

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, text, yes) in [
            ("*", "", true),
            ("a*", "a", true),
            ("a*", "ba", false),
            ("a", "ab", false),
            ("*a*b*", "xxaxxbxx", true),
            ("a*a", "a", false),
            ("ab*ba", "aba", false),
            ("a**b", "ab", true),
            ("*ab*ab", "abxab", true),
            ("*ab*ab", "ab", false),
            ("ö*", "öx", true),
        ] {
            assert_eq!(matches_pattern(pattern, text), yes, "{pattern} {text}");
        }
    }
}
