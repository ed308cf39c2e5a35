//! The name of a model, as it is typed.

use super::error::SetupError;
use crate::cli;
use crate::error::Result;

/// The first characters of keys of providers.
const KEY_PREFIXES: [&str; 2] = ["sk-", "AIza"];

/// Errors if a text cannot be the name of a model. A key is not repeated.
pub(super) fn check(name: &str) -> Result<()> {
    if KEY_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
        return Err(SetupError::Key.into());
    }
    if name.is_empty() {
        return Err(SetupError::NoModel.into());
    }
    if !is_value(name) {
        return Err(SetupError::Model { name: name.to_owned() }.into());
    }
    Ok(())
}

/// Whether a text can be a name or a key: a line that was typed for another question is not taken for one.
pub(super) fn is_value(text: &str) -> bool {
    cli::yes_or_no(text).is_none() && !text.contains(|c: char| c.is_whitespace() || c == '?')
}
