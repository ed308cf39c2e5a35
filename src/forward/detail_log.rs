//! Logs the bodies that are exchanged with providers, if details are printed.

use super::failure::MAX_BODY;
use crate::cli::Diagnostics;
use crate::config::Secret;
use crate::http::redact_key;
use crate::provider::Target;

/// Logs a body sent to a provider or received from it, without the key, if details are printed.
pub fn log_detail(
    diagnostics: &Diagnostics,
    what: &str,
    target: &Target,
    bytes: &[u8],
    key: Option<&Secret>,
) {
    if diagnostics.is_verbose() {
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_BODY)]);
        diagnostics.detail(format_args!("{what} {}: {}", target.title(), redact_key(key, &text)));
    }
}
