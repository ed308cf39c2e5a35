//! The secrets in a text.

use super::base64::Base64Files;
use super::rules::{CARD, Rules};
use super::{card, dotted};
use std::borrow::Cow;
use std::ops::Range;

/// A secret in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding<'a> {
    /// Its bytes.
    pub range: Range<usize>,
    pub kind: &'a str,
}

/// The secrets in a text, in their order; of those that overlap, the first, and of these the longest.
pub(super) fn find<'a>(rules: &'a Rules, text: &str) -> Vec<Finding<'a>> {
    let by_rules = rules.find(text).into_iter().map(|(range, rule)| Finding { range, kind: &rule.kind });
    let mut found: Vec<Finding> = by_rules.collect();
    found.extend(dotted::find(text).into_iter().map(|(range, kind)| Finding { range, kind }));
    found.extend(card::find(text).into_iter().map(|range| Finding { range, kind: CARD }));
    if found.is_empty() {
        return found;
    }
    found.sort_by(|a, b| a.range.start.cmp(&b.range.start).then(b.range.end.cmp(&a.range.end)));
    let mut files = Base64Files::new(text);
    found.retain(|one| !files.contain(&one.range));
    let mut end = 0;
    found.retain(|one| {
        let is_first = one.range.start >= end;
        if is_first {
            end = one.range.end;
        }
        is_first
    });
    found
}

/// Whether a value of JSON may have a secret; fast; false positives are allowed.
pub(super) fn may_be_in(rules: &Rules, json: &str) -> bool {
    rules.may_match(json) || card::may_be_in(json) || dotted::may_be_in(json) || hides_letters(json)
}

/// Whether JSON has letters that are written by their numbers, or slashes after a backslash, which hide a
/// keyword.
fn hides_letters(json: &str) -> bool {
    let bytes = json.as_bytes();
    let after = |at: usize| bytes.get(at + 1..).unwrap_or_default();
    memchr::memchr_iter(b'\\', bytes).any(|at| matches!(after(at), [b'/', ..] | [b'u', b'0', b'0', ..]))
}

/// The text with a mark in place of each secret.
pub(super) fn replace<'a>(text: &'a str, found: &[Finding]) -> Cow<'a, str> {
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut replaced, mut end) = (String::with_capacity(text.len()), 0);
    for Finding { range, kind } in found {
        replaced.push_str(&text[end..range.start]);
        replaced.push_str(&mark(kind));
        end = range.end;
    }
    replaced.push_str(&text[end..]);
    Cow::Owned(replaced)
}

/// The placeholder of a secret.
pub(super) fn mark(kind: &str) -> String {
    format!("[redacted:{kind}]")
}
