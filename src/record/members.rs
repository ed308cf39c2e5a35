//! Members that several kinds of lines have: names, times, and lists of texts.

use super::object::{Object, empty, missing, unexpected};
use super::time;
use crate::error::Result;

/// An optional name. Fails if it is empty or no text.
pub(super) fn name(line: &Object, member: &str) -> Result<Option<String>> {
    match line.text(member)? {
        Some(text) if text.is_empty() => Err(empty(member)),
        text => Ok(text),
    }
}

/// A name. Fails if it is missing, empty or no text.
pub(super) fn required(line: &Object, member: &str) -> Result<String> {
    name(line, member)?.ok_or_else(|| missing(member))
}

/// An optional array of texts; `null` counts as absent. Fails if the member has another type.
pub fn texts(line: &Object, member: &str) -> Result<Option<Vec<String>>> {
    match line.get(member) {
        None | Some("null") => Ok(None),
        Some(json) => {
            serde_json::from_str(json).map(Some).map_err(|_| unexpected(member, "an array of strings", json))
        }
    }
}

/// The time of a line in milliseconds since 1970 (UTC), from `timestamp`, else from `created_at`. Fails at
/// another value.
pub fn timestamp(line: &Object) -> Result<Option<i64>> {
    match time_member(line, "timestamp")? {
        None => time_member(line, "created_at"),
        time => Ok(time),
    }
}

/// An optional time, in milliseconds or RFC 3339. Fails at another value.
pub fn time_member(line: &Object, member: &str) -> Result<Option<i64>> {
    let read = match line.get(member) {
        None | Some("null") => None,
        Some(json) if json.starts_with('"') => line.text(member)?.map(|text| time::parse(&text)),
        Some(_) => line.integer(member)?.map(time::checked),
    };
    read.transpose().map_err(|e| e.at(member))
}
