//! The provider of one request: where the request is sent, and with which key.

use super::caller_keys::{CallerKeys, is_placeholder, owner_by_shape};
use super::error::ProviderError;
use super::table::{KeyPolicy, PROVIDERS};
use crate::api::Api;
use crate::config::Secret;
use crate::http::{Address, HeaderMap, HeaderValue, Headers};
use std::sync::Arc;

/// The headers of Anthropic's own API for the key and for the version, and the version for callers that name
/// none.
const KEY_HEADER: &str = "x-api-key";
const VERSION_HEADER: &str = "anthropic-version";
const VERSION: &str = "2023-06-01";
/// The beginning of a key that stands for a subscription, which Anthropic takes as `Bearer` only.
const OAUTH_BEGIN: &str = "sk-ant-oat";

/// The address of a provider, and its key and headers.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) address: Address,
    pub(super) address_setting: String,
    pub(super) key: Option<Secret>,
    pub(super) key_variable: String,
    pub(super) key_policy: KeyPolicy,
    /// The keys of the other providers, each with its title: wherever a caller has one of them from, it is
    /// theirs.
    pub(super) foreign_keys: Vec<(&'static str, Secret)>,
    pub(super) headers: Headers,
    pub(super) searches: fn(&str) -> bool,
    pub(super) enforces_lengths: bool,
    pub(super) length_member: &'static str,
    pub(super) apis: &'static [Api],
}

/// The provider and the model of one request.
#[derive(Clone, Debug)]
pub struct Target {
    pub(super) endpoint: Arc<Endpoint>,
    /// The model by the name that the provider knows; empty for a request without a model.
    pub model: String,
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

    /// The member of a request for chat completions that bounds the answer, in tokens.
    pub fn length_member(&self) -> &'static str {
        self.endpoint.length_member
    }

    /// The address of an API; `None` if the provider does not have it.
    pub fn address_of(&self, api: Api) -> Option<Address> {
        match api {
            Api::Chat => Some(self.address().clone()),
            _ if self.endpoint.apis.contains(&api) => self.sibling(api.path(), None),
            _ => None,
        }
    }

    /// Sets the headers by which Anthropic's own API knows its callers, for a request to a path after `/v1/`.
    /// Returns the key that is to be sent as `Authorization: Bearer`: a caller's goes in the header in which
    /// it came.
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
    pub fn own_key(&self) -> Result<Option<&Secret>, ProviderError> {
        self.key(CallerKeys::none())
    }

    /// The key that is kept for the caller, else that of the settings.
    fn kept_key<'k>(&'k self, caller: &'k CallerKeys) -> Option<&'k Secret> {
        caller.kept_for(self.name()).or(self.endpoint.key.as_ref())
    }

    /// The key to send: the caller's only to the provider that it is for, and none to another machine
    /// unencrypted. Fails if a key is needed and missing, or would be sent unencrypted.
    pub fn key<'k>(&'k self, caller: &'k CallerKeys) -> Result<Option<&'k Secret>, ProviderError> {
        let policy = self.endpoint.key_policy;
        let exposed = self.address().is_plaintext() && !self.address().is_loopback();
        let own = self.kept_key(caller);
        let key = match policy {
            // A client that must send some key sends it to a server that needs none.
            KeyPolicy::KeyIfAny | KeyPolicy::CallerIfAny if exposed => own,
            KeyPolicy::Key | KeyPolicy::KeyIfAny => self.fitting_key(caller),
            KeyPolicy::Caller | KeyPolicy::CallerIfAny => caller.bearer().or(own),
            KeyPolicy::Own | KeyPolicy::OwnIfAny => own,
        };
        match key {
            None if policy.is_key_needed() => Err(self.missing_key(caller)),
            Some(_) if exposed => Err(ProviderError::Plaintext {
                title: self.title(),
                address: self.address().to_string(),
                setting: self.endpoint.address_setting.clone(),
            }),
            key => Ok(key),
        }
    }

    /// The caller's key if it is this provider's by its shape, else the settings', else the caller's if
    /// nobody knows whose it is. A placeholder in the settings, for a server that wants some key, yields to
    /// it.
    fn fitting_key<'k>(&'k self, caller: &'k CallerKeys) -> Option<&'k Secret> {
        let own = self.kept_key(caller);
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

    fn missing_key(&self, caller: &CallerKeys) -> ProviderError {
        let (title, variable) = (self.title(), self.endpoint.key_variable.clone());
        let foreign = caller.offered_to(self.name()).find_map(|key| self.foreign_title(key));
        let but = foreign.map_or_else(String::new, |owner| format!(", and the caller's key is for {owner}"));
        ProviderError::NoKey { title, variable, but }
    }
}
