//! The faults of models, of the addresses of providers, and of their keys.

use crate::error::failures;

failures! { pub enum ProviderError {
    NoModel ("model: is empty"),
    Unknown { name: String } ("there is no provider {name:?}"),
    NoAddress { title: &'static str, variable: &'static str } ("model: the {title} provider has no address")
        => "set {variable}",
    /// `but` names the provider to which the caller's key belongs.
    NoKey { title: &'static str, variable: String, but: String } ("no key for {title}: {variable} is not set{but}")
        => "set {variable}; a model of Ollama's needs none: name it as ollama/MODEL",
    Plaintext { title: &'static str, address: String, setting: String }
        ("the key for {title} would be sent to {address} in the clear") => "give an https address: {setting}",
    KeyLine { providers: String } ("expected PROVIDER=KEY") => "the providers are {providers}",
} }
