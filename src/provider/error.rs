//! The faults of models, of the addresses of providers, and of their keys.

use crate::error::{Failure, Hint};
use crate::http::Address;

/// The reason why no provider can be asked.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    #[error("model: is empty")]
    NoModel,
    #[error("there is no provider {0:?}")]
    Unknown(String),
    #[error("model: the {title} provider has no address")]
    NoAddress { title: &'static str, variable: &'static str },
    /// `foreign` names the provider to which the caller's key belongs.
    #[error("no key for {title}: {variable} is not set{}", foreign_key(.foreign.as_deref()))]
    NoKey { title: String, variable: String, foreign: Option<String> },
    #[error("the key for {title} would be sent to {address} in the clear")]
    Plaintext { title: String, address: Address, setting: String },
    #[error("expected PROVIDER=KEY")]
    KeyLine { providers: Vec<&'static str> },
}

impl Failure for ProviderError {
    fn hint(&self) -> Hint {
        Some(match self {
            ProviderError::NoAddress { variable, .. } => format!("set {variable}").into(),
            ProviderError::NoKey { variable, .. } => {
                format!("set {variable}; a model of Ollama's needs none: name it as ollama/MODEL").into()
            }
            ProviderError::Plaintext { setting, .. } => format!("give an https address: {setting}").into(),
            ProviderError::KeyLine { providers } => {
                format!("the providers are {}", providers.join(", ")).into()
            }
            ProviderError::NoModel | ProviderError::Unknown(_) => return None,
        })
    }
}

fn foreign_key(owner: Option<&str>) -> String {
    owner.map_or_else(String::new, |owner| format!(", and the caller's key is for {owner}"))
}
