//! Text in front of lines of records, as a program's warning in a pipe: taken for one message, it would hide
//! them.

use super::error::LineError;
use super::reader::Reader;
use crate::error::Error;
use crate::record::{Commit, Line, Object};

/// The error if a text is some lines and then nothing but records; `limit` is the greatest length of a
/// record, in bytes. JSON of any other shape belongs to the text, and so does a record with more text behind
/// it.
pub fn records_after_text(name: &str, text: &str, limit: usize) -> Option<Error> {
    let mut start = 0;
    let mut line = 1;
    let is_begin = |line: &str| line.starts_with('{') || line.starts_with("[{");
    for one in text.split_inclusive('\n') {
        if is_begin(one.trim_start()) {
            break;
        }
        start += one.len();
        line += 1;
    }
    let rest = &text[start..];
    let mut reader = Reader::new(name, rest.as_bytes(), limit).from_line(line);
    let (mut are_objects, mut has_record) = (true, false);
    while let Some(next) = reader.next() {
        match next {
            Ok(read) => has_record = has_record || is_stored(read.object),
            Err(_) => are_objects = false,
        }
    }
    let are_lines = || rest.lines().all(|line| line.trim().is_empty() || line.starts_with('{'));
    (has_record && (are_objects || are_lines()))
        .then(|| Error::from(LineError::StrayText { first: line }).at(format_args!("{name}:1")))
}

/// Whether a line is something that a store keeps.
fn is_stored(object: Object) -> bool {
    let is_commit = Commit::is_commit(&object);
    match Line::parse(object) {
        Ok(Line::Request(_) | Line::Other(_)) => is_commit,
        Ok(_) => true,
        Err(_) => false,
    }
}
