//! Members that several kinds of lines have: names, times, and lists of texts.

use super::object::{Object, empty, missing, unexpected};
use super::time;
use crate::error::Result;

/// An optional name, which must not be empty. Fails if it is.
pub(super) fn name(line: &Object, member: &str) -> Result<Option<String>> {
    match line.text(member)? {
        Some(text) if text.is_empty() => Err(empty(member)),
        text => Ok(text),
    }
}

/// A name that must be there. Fails if it is not.
pub(super) fn required(line: &Object, member: &str) -> Result<String> {
    name(line, member)?.ok_or_else(|| missing(member))
}

/// A member that must be an array of texts. Fails if it is not.
pub fn texts(line: &Object, member: &str) -> Result<Option<Vec<String>>> {
    match line.get(member) {
        None | Some("null") => Ok(None),
        Some(json) => {
            serde_json::from_str(json).map(Some).map_err(|_| unexpected(member, "an array of strings", json))
        }
    }
}

/// The time of a line in milliseconds since 1970 (UTC), from `timestamp`, else from `created_at`.
pub fn timestamp(line: &Object) -> Result<Option<i64>> {
    match time_member(line, "timestamp")? {
        None => time_member(line, "created_at"),
        time => Ok(time),
    }
}

/// An optional time, in milliseconds or RFC 3339. Fails if it is none.
pub fn time_member(line: &Object, member: &str) -> Result<Option<i64>> {
    let read = match line.get(member) {
        None | Some("null") => None,
        Some(json) if json.starts_with('"') => line.text(member)?.map(|text| time::parse(&text)),
        Some(_) => line.integer(member)?.map(time::checked),
    };
    read.transpose().map_err(|e| e.at(member))
}
