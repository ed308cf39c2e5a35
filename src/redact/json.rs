//! The texts in a value of JSON.

use super::finding::{self, Finding, mark};
use super::rules::Rules;
use crate::record::quote;
use std::borrow::Cow;
use std::ops::Range;

/// A value without its secrets.
pub(super) struct Redacted {
    pub(super) json: String,
    /// The kinds of the secrets, and these.
    pub(super) secrets: Vec<(String, String)>,
}

/// The value with its secrets replaced; `None` if it has none.
pub(super) fn without_secrets(json: &str, rules: &Rules) -> Option<Redacted> {
    if !finding::may_be_in(rules, json) {
        return None;
    }
    let mut redacted = Redacted { json: String::new(), secrets: Vec::new() };
    let mut end = 0;
    for range in strings(json) {
        let text = unquoted(&json[range.clone()]);
        let found = finding::find(rules, &text);
        if !found.is_empty() {
            let secret = |one: &Finding| (one.kind.to_owned(), text[one.range.clone()].to_owned());
            redacted.secrets.extend(found.iter().map(secret));
            redacted.json.push_str(&json[end..range.start]);
            redacted.json.push_str(&quote(&finding::replace(&text, &found)));
            end = range.end;
        }
    }
    redacted.json.push_str(&json[end..]);
    (!redacted.secrets.is_empty()).then_some(redacted)
}

/// The fewest bytes of a secret that are known as its beginning.
const MIN_CUT_BYTES: usize = 8;

/// The value with a mark for the beginning of a secret where a text was cut off within it, as titles and abstracts are;
/// `None` if there is none.
pub(super) fn without_cut(json: &str, secrets: &[(String, String)]) -> Option<String> {
    let (mut replaced, mut end) = (String::new(), 0);
    for range in strings(json) {
        let text = unquoted(&json[range.clone()]);
        let whole = text.trim_end_matches(['.', '…', ' ']);
        let cut = secrets.iter().find_map(|(kind, secret)| {
            let longest = secret.len().min(whole.len());
            let length = (MIN_CUT_BYTES..longest + 1)
                .rev()
                .find(|length| secret.is_char_boundary(*length) && whole.ends_with(&secret[..*length]))?;
            Some((kind, whole.len() - length))
        });
        if let Some((kind, at)) = cut {
            replaced.push_str(&json[end..range.start]);
            replaced.push_str(&quote(&format!("{}{}{}", &text[..at], mark(kind), &text[whole.len()..])));
            end = range.end;
        }
    }
    replaced.push_str(&json[end..]);
    (end > 0).then_some(replaced)
}

/// The ranges of the strings of a value, with their quotes.
fn strings(json: &str) -> Vec<Range<usize>> {
    let (bytes, mut ranges, mut at) = (json.as_bytes(), Vec::new(), 0);
    while let Some(begin) = memchr::memchr(b'"', &bytes[at..]).map(|found| at + found) {
        let mut end = begin + 1;
        while end < bytes.len() && bytes[end] != b'"' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        at = (end + 1).min(bytes.len());
        ranges.push(begin..at);
    }
    ranges
}

/// The text of a string; its spelling, if that is no text, such as half of a surrogate pair.
fn unquoted(string: &str) -> Cow<'_, str> {
    let inner = string.get(1..string.len().saturating_sub(1)).unwrap_or_default();
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Cow::Borrowed(inner);
    }
    serde_json::from_str(string).map_or(Cow::Borrowed(inner), Cow::Owned)
}
