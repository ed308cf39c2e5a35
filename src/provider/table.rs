//! The table of providers: their names, addresses, keys, and which models they serve.

use crate::api::Api;

/// One provider.
pub(super) struct ProviderRow {
    /// As it is written in `openai/gpt-4o`, and in `rsv.provider`.
    pub(super) name: &'static str,
    /// For people.
    pub(super) title: &'static str,
    /// The settings with its address and its key.
    pub(super) address: &'static str,
    pub(super) key: &'static str,
    /// The variables of both, for messages.
    pub(super) address_variable: &'static str,
    pub(super) key_variable: &'static str,
    pub(super) key_policy: KeyPolicy,
    /// Whether a key has the shape of those that it issues, by its documents or always so far.
    pub(super) issues: fn(&str) -> bool,
    /// Whether a model, in lower case, is served here if no provider is named.
    pub(super) serves: fn(&str) -> bool,
    /// Whether a model, in lower case, searches the web when a request has `web_search_options`; others
    /// refuse it.
    pub(super) searches: fn(&str) -> bool,
    /// Whether the lengths of texts in a schema bind its answers. Elsewhere they may be refused: OpenAI's
    /// documents leave them out, Anthropic refuses them ("Structured outputs", 2026).
    pub(super) enforces_lengths: bool,
    /// The member of a request for chat completions that bounds the answer, in tokens.
    pub(super) length_member: &'static str,
    /// Its APIs besides chat completions.
    pub(super) apis: &'static [Api],
}

/// The member that limits an answer everywhere, and that of OpenAI, whose reasoning models refuse the other.
pub(super) const MAX_TOKENS: &str = "max_tokens";
const MAX_COMPLETION_TOKENS: &str = "max_completion_tokens";

/// The key that a provider gets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum KeyPolicy {
    /// The caller's key if its shape is the provider's, else that of the settings, else the caller's if its
    /// shape is nobody's; there must be one.
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
    pub(super) fn of_route(takes_callers: bool, has_own: bool) -> KeyPolicy {
        match (takes_callers, has_own) {
            (true, true) => KeyPolicy::Caller,
            (true, false) => KeyPolicy::CallerIfAny,
            (false, true) => KeyPolicy::Own,
            (false, false) => KeyPolicy::OwnIfAny,
        }
    }

    pub(super) fn is_key_needed(self) -> bool {
        matches!(self, KeyPolicy::Key | KeyPolicy::Own | KeyPolicy::Caller)
    }
}

/// The one table. The first that serves a model has it.
#[rustfmt::skip]
pub(super) static PROVIDERS: [ProviderRow; 6] = [
    ProviderRow { name: "openai", title: "OpenAI", address: "openai_base_url", key: "openai_api_key", address_variable: "RSV_OPENAI_BASE_URL", key_variable: "OPENAI_API_KEY", key_policy: KeyPolicy::Key, issues: is_key_of_openai, serves: is_openai, searches: is_search_model, enforces_lengths: false, length_member: MAX_COMPLETION_TOKENS, apis: &[Api::Responses] },
    ProviderRow { name: "mistral", title: "Mistral", address: "mistral_base_url", key: "mistral_api_key", address_variable: "RSV_MISTRAL_BASE_URL", key_variable: "MISTRAL_API_KEY", key_policy: KeyPolicy::Key, issues: |key| key.len() == 32 && key.bytes().all(|byte| byte.is_ascii_alphanumeric()), serves: |model| model.starts_with("mistral-"), searches: |_| false, enforces_lengths: false, length_member: MAX_TOKENS, apis: &[] },
    ProviderRow { name: "gemini", title: "Gemini", address: "gemini_base_url", key: "gemini_api_key", address_variable: "RSV_GEMINI_BASE_URL", key_variable: "GEMINI_API_KEY", key_policy: KeyPolicy::Key, issues: |key| ["AIza", "AQ.", "ya29."].iter().any(|begin| key.starts_with(begin)), serves: |model| model.starts_with("gemini-"), searches: |_| false, enforces_lengths: false, length_member: MAX_TOKENS, apis: &[] },
    ProviderRow { name: "anthropic", title: "Anthropic", address: "anthropic_base_url", key: "anthropic_api_key", address_variable: "RSV_ANTHROPIC_BASE_URL", key_variable: "ANTHROPIC_API_KEY", key_policy: KeyPolicy::Key, issues: |key| key.starts_with("sk-ant-"), serves: |model| model.starts_with("claude-"), searches: |_| false, enforces_lengths: false, length_member: MAX_TOKENS, apis: &[Api::Messages] },
    ProviderRow { name: "custom", title: "custom", address: "custom_base_url", key: "custom_api_key", address_variable: "RSV_CUSTOM_BASE_URL", key_variable: "CUSTOM_API_KEY", key_policy: KeyPolicy::KeyIfAny, issues: |_| false, serves: |_| false, searches: is_search_model, enforces_lengths: false, length_member: MAX_TOKENS, apis: &[] },
    ProviderRow { name: "ollama", title: "Ollama", address: "ollama_base_url", key: "ollama_api_key", address_variable: "RSV_OLLAMA_BASE_URL", key_variable: "OLLAMA_API_KEY", key_policy: KeyPolicy::OwnIfAny, issues: |_| false, serves: |_| true, searches: |_| false, enforces_lengths: true, length_member: MAX_TOKENS, apis: &[] },
];

/// OpenRouter's keys, `sk-or-…`, go to any provider whose address is set to OpenRouter.
fn is_key_of_openai(key: &str) -> bool {
    let is_of_others = key.starts_with("sk-ant-") || key.starts_with("sk-or-");
    !is_of_others && (key.starts_with("sk-") || key.starts_with("sess-"))
}

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

/// `gpt-4o-search-preview`, `gpt-5-search-api`, and Perplexity's `sonar-pro`, with the names of their makers
/// or without. The others at OpenAI search by a tool of its Responses API only.
pub(super) fn is_search_model(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    name == "sonar" || name.starts_with("sonar-") || name.contains("-search-") || name.ends_with("-search")
}
