//! Detects whether a provider truncated a request silently: it reports far fewer prompt tokens than were
//! sent.

use crate::api::Usage;
use crate::cli::Diagnostics;
use crate::provider::Target;
use crate::record::Object;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// A smaller difference is not reported: templates and tokenizers differ by that much.
const MIN_MISSING_TOKENS: usize = 500;
/// A request was truncated if fewer than one in this many of its tokens were read. If its tokens were counted
/// without an encoder, it may have far fewer: long lines of one sign, or long words.
const COUNTED_DIVISOR: usize = 2;
const HEURISTIC_DIVISOR: usize = 4;

/// Detects requests that a provider truncated, and reports each model once.
pub(super) struct TruncationDetector {
    diagnostics: Diagnostics,
    reported: Mutex<HashSet<String>>,
}

impl TruncationDetector {
    pub(super) fn new(diagnostics: &Diagnostics) -> TruncationDetector {
        TruncationDetector { diagnostics: diagnostics.clone(), reported: Mutex::default() }
    }

    /// Writes the tokens that an answer reports (in `usage`) to the account in `rsv`, and compares those of
    /// the request with its own count, with `cut` if they are far fewer. Prints one note a model.
    pub(super) fn check(&self, target: &Target, answer: &Object, rsv: &mut Object) {
        let tokens = |object: &Object, member| usize::try_from(object.valid_integer(member)?).ok();
        let Some(Usage { prompt: read, cached, completion }) = Usage::of(answer) else { return };
        let Ok(Some(mut account)) = rsv.object("account") else { return };
        let reported =
            [("prompt_tokens", Some(read)), ("completion_tokens", completion), ("cached_tokens", cached)];
        for (name, tokens) in reported {
            if let Some(tokens) = tokens {
                account.set(name, tokens.to_string());
            }
        }
        let counted = tokens(&account, "counted").unwrap_or(0);
        let heuristic = account.valid_text("counter").as_deref() == Some("heuristic");
        let part = if heuristic { HEURISTIC_DIVISOR } else { COUNTED_DIVISOR };
        if read.saturating_mul(part) < counted && counted - read > MIN_MISSING_TOKENS {
            account.set("cut", "true");
            if self.reported.lock().unwrap_or_else(PoisonError::into_inner).insert(target.model.clone()) {
                self.diagnostics.note(format_args!(
                    "{} read only {read} tokens of a request for {} that has about {counted}: its window may be smaller \
                     than expected (models.{:?}.max_context_tokens)",
                    target.title(),
                    target.model,
                    target.model
                ));
            }
        }
        rsv.set("account", account.to_json());
    }
}
