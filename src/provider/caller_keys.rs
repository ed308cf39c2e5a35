//! The keys that callers send, and the provider that each is for.
//!
//! A caller has one key and may name any model, so a key says only by its shape whose it is. The shapes are
//! those that the providers of the table document or have always issued.

use super::table::PROVIDERS;
use crate::access;
use crate::config::Secret;
use std::collections::BTreeMap;
use std::sync::Arc;

static NONE: CallerKeys = CallerKeys { bearer: None, x_api_key: None, kept: None };

/// The keys of one request, without tokens of the proxy.
#[derive(Clone, Default, Debug)]
pub struct CallerKeys {
    bearer: Option<Secret>,
    x_api_key: Option<Secret>,
    /// Those that the proxy keeps for the caller, by the name of the provider.
    kept: Option<Arc<BTreeMap<String, Secret>>>,
}

impl CallerKeys {
    /// The keys of `Authorization: Bearer` and of `x-api-key`, except those that only fill a field, and
    /// tokens of a proxy, this one's or another's.
    pub fn new(bearer: Option<Secret>, x_api_key: Option<Secret>) -> CallerKeys {
        let is_token = |text: &str| {
            let begins = text.get(..access::PREFIX.len());
            begins.is_some_and(|begin| begin.eq_ignore_ascii_case(access::PREFIX))
                || access::holds_token(text.as_bytes())
        };
        let is_key = |key: &Secret| !is_placeholder(key) && !is_token(key.expose());
        CallerKeys { bearer: bearer.filter(is_key), x_api_key: x_api_key.filter(is_key), kept: None }
    }

    /// The same, with keys that stand in the place of the settings', by the name of the provider.
    pub fn keeping(self, kept: Option<Arc<BTreeMap<String, Secret>>>) -> CallerKeys {
        CallerKeys { kept, ..self }
    }

    /// Whether the caller sent one.
    pub fn are_sent(&self) -> bool {
        self.bearer.is_some() || self.x_api_key.is_some()
    }

    /// Those that the proxy keeps alone.
    pub fn kept_alone(&self) -> CallerKeys {
        CallerKeys { kept: self.kept.clone(), ..CallerKeys::default() }
    }

    /// The key that the proxy keeps for a provider.
    pub fn kept_for(&self, provider: &str) -> Option<&Secret> {
        self.kept.as_ref()?.get(provider)
    }

    /// No keys.
    pub fn none() -> &'static CallerKeys {
        &NONE
    }

    /// The key of `Authorization: Bearer`.
    pub(super) fn bearer(&self) -> Option<&Secret> {
        self.bearer.as_ref()
    }

    /// The keys that a provider may get; `x-api-key` is a header of Anthropic's.
    pub(super) fn offered_to(&self, provider: &str) -> impl Iterator<Item = &Secret> {
        let x_api_key = self.x_api_key.as_ref().filter(|_| provider == "anthropic");
        x_api_key.into_iter().chain(&self.bearer)
    }
}

/// Texts that clients send because they must send some key; `x` of any length is another.
const PLACEHOLDERS: [&str; 15] = [
    "",
    "rsv",
    "ollama",
    "none",
    "null",
    "empty",
    "dummy",
    "unused",
    "lm-studio",
    "no-key",
    "no-key-required",
    "sk-no-key",
    "sk-no-key-required",
    "sk-dummy",
    "sk-none",
];

/// Whether a key is a placeholder that only fills a field.
pub(super) fn is_placeholder(key: &Secret) -> bool {
    let text = key.expose().trim().to_ascii_lowercase();
    let letters = text.strip_prefix("sk-").unwrap_or(&text);
    PLACEHOLDERS.contains(&text.as_str())
        || letters.starts_with("not-needed")
        || letters.starts_with("not_needed")
        || letters.bytes().all(|byte| byte == b'x')
}

/// The provider whose keys have the shape of this one, by its name in the table.
pub(super) fn owner_by_shape(key: &Secret) -> Option<&'static str> {
    PROVIDERS.iter().find(|row| (row.issues)(key.expose())).map(|row| row.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_of_a_key_tells_its_provider() {
        for (key, owner) in [
            ("sk-proj-abc_DEF", Some("openai")),
            ("sk-0123456789", Some("openai")),
            ("sk-ant-api03-x", Some("anthropic")),
            ("sk-or-v1-x", None),
            ("AIzaSyA-x_y", Some("gemini")),
            ("AQ.Ab8x", Some("gemini")),
            ("0123456789abcdefABCDEF0123456789", Some("mistral")),
            ("0123456789abcdefABCDEF012345678", None),
            ("0123456789abcdef-BCDEF0123456789", None),
            ("gsk_x", None),
            ("a key", None),
        ] {
            assert_eq!(owner_by_shape(&Secret::new(key)), owner, "{key}");
        }
    }

    #[test]
    fn a_text_that_fills_a_field_is_no_key() {
        for key in [
            "",
            " ",
            "x",
            "XXX",
            "sk-xxxx",
            "none",
            "None",
            "EMPTY",
            "ollama",
            "not-needed",
            "not_needed_here",
            "not-needed-for-local",
            "rsv",
            "sk-no-key-required",
            "sk-not-needed",
        ] {
            assert!(is_placeholder(&Secret::new(key)), "{key}");
        }
        for key in ["sk-proj-x", "xy", "nonesuch", "a not-needed"] {
            assert!(!is_placeholder(&Secret::new(key)), "{key}");
        }
    }
}
