//! The texts in a value of JSON.

use super::finding::{self, Finding, mark};
use super::name::{NameClass, class_of};
use super::rules::Rules;
use super::setting;
use crate::record::quote;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// A value without its secrets.
pub(super) struct Redacted {
    pub(super) json: String,
    /// The kinds of the secrets, and these.
    pub(super) secrets: Vec<(String, String)>,
}

/// The value of a member with its secrets replaced; `None` if it has none.
pub(super) fn without_secrets(name: &str, json: &str, rules: &Rules) -> Option<Redacted> {
    // A text as it is written needs no look at its JSON before.
    let is_plain = json.starts_with('"') && memchr::memchr(b'\\', json.as_bytes()).is_none();
    if !is_plain && !finding::may_be_in(rules, json) && class_of(name).is_none() {
        return None;
    }
    let mut redacted = Redacted { json: String::new(), secrets: Vec::new() };
    let (mut end, mut names) = (0, HashMap::new());
    let mut name = Cow::Borrowed(name);
    for range in strings(json) {
        let text = unquoted(&json[range.clone()]);
        let is_name = json[range.end..].trim_ascii_start().starts_with(':');
        let mut found = finding::find(rules, &text);
        if found.is_empty() && !is_name {
            found.extend(secret_by_name(&name, &text));
        }
        if !found.is_empty() {
            let secret = |one: &Finding| (one.kind.to_owned(), text[one.range.clone()].to_owned());
            redacted.secrets.extend(found.iter().map(secret));
            redacted.json.push_str(&json[end..range.start]);
            let mut text = finding::replace(&text, &found).into_owned();
            if is_name {
                let count: &mut usize = names.entry(text.clone()).or_default();
                *count += 1;
                text = numbered(text, *count);
            }
            redacted.json.push_str(&quote(&text));
            end = range.end;
        }
        // The elements of a list have the name of the list.
        if is_name {
            name = text;
        }
    }
    redacted.json.push_str(&json[end..]);
    (!redacted.secrets.is_empty()).then_some(redacted)
}

/// The secret that a text is by the name of its member.
fn secret_by_name<'a>(name: &str, text: &str) -> Option<Finding<'a>> {
    let kind = match setting::class_of_member(name, text)? {
        NameClass::Password => "password",
        NameClass::Token => "secret",
    };
    Some(Finding { range: 0..text.len(), kind })
}

/// A name that stands for the secret that was one; of several that are the same, each has its number.
pub(super) fn numbered(name: String, number: usize) -> String {
    if number > 1 { format!("{name} {number}") } else { name }
}

/// The fewest bytes of a secret that are known as its beginning.
const MIN_CUT_BYTES: usize = 8;
/// The greatest length: a longer one is known by its shape.
const MAX_CUT_BYTES: usize = 512;

/// Secrets, of which a text may have the beginning alone.
pub(super) struct CutSecrets<'a> {
    /// In the order of their bytes, with their kinds.
    secrets: Vec<(&'a str, &'a str)>,
    beginnings: HashSet<&'a [u8]>,
}

impl<'a> CutSecrets<'a> {
    /// The secrets, each after its kind.
    pub(super) fn new(secrets: &'a [(String, String)]) -> CutSecrets<'a> {
        let mut secrets: Vec<(&str, &str)> =
            secrets.iter().map(|(kind, secret)| (secret.as_str(), kind.as_str())).collect();
        secrets.sort_unstable();
        secrets.dedup();
        let beginnings =
            secrets.iter().filter_map(|(secret, _)| secret.as_bytes().get(..MIN_CUT_BYTES)).collect();
        CutSecrets { secrets, beginnings }
    }

    /// The value with a mark for the beginning of a secret where a text was cut off within it, as titles and
    /// abstracts are; `None` if there is none.
    pub(super) fn without(&self, json: &str) -> Option<String> {
        let (mut replaced, mut end) = (String::new(), 0);
        for range in strings(json) {
            let text = unquoted(&json[range.clone()]);
            let whole = text.trim_end_matches(['.', '…', ' ']);
            if let Some((kind, at)) = self.cut(whole) {
                replaced.push_str(&json[end..range.start]);
                replaced.push_str(&quote(&format!("{}{}{}", &text[..at], mark(kind), &text[whole.len()..])));
                end = range.end;
            }
        }
        replaced.push_str(&json[end..]);
        (end > 0).then_some(replaced)
    }

    /// The longest beginning of a secret at the end of a text: its kind, and where it begins.
    fn cut(&self, text: &str) -> Option<(&'a str, usize)> {
        let first = text.len().saturating_sub(MAX_CUT_BYTES);
        (first..(text.len() + 1).saturating_sub(MIN_CUT_BYTES)).find_map(|at| {
            let tail =
                text.get(at..).filter(|tail| self.beginnings.contains(&tail.as_bytes()[..MIN_CUT_BYTES]))?;
            let next = self.secrets.partition_point(|(secret, _)| *secret < tail);
            let (_, kind) = self.secrets.get(next).filter(|(secret, _)| secret.starts_with(tail))?;
            Some((*kind, at))
        })
    }
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
    // Its spelling is searched for secrets all the same.
    serde_json::from_str(string).map_or(Cow::Borrowed(inner), Cow::Owned)
}
