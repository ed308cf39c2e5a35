//! The name of a model, as it is typed.

use crate::cli;
use crate::error::{Error, Result};

/// The first characters of keys of providers.
const KEY_PREFIXES: [&str; 2] = ["sk-", "AIza"];

/// Errors if a text cannot be the name of a model. A key is not repeated.
pub(super) fn check(name: &str) -> Result<()> {
    if KEY_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
        let error = Error::new("a key was given in place of the name of a model");
        return Err(error.hint("name the model; a key is read by: rsv-config set openai_api_key -"));
    }
    if name.is_empty() {
        return Err(Error::new("the name of the model is empty").hint("leave out --model to set none"));
    }
    if !is_value(name) {
        return Err(Error::new(format!("{name:?} is not the name of a model"))
            .hint("give one that your provider lists, such as llama3.2"));
    }
    Ok(())
}

/// Whether a text can be a name or a key: a line that was typed for another question is not taken for one.
pub(super) fn is_value(text: &str) -> bool {
    cli::yes_or_no(text).is_none() && !text.contains(|c: char| c.is_whitespace() || c == '?')
}
