//! Recognizes input that is not JSON lines, for errors and their hints.

use super::error::LineError;
use crate::error::Error;

/// Binary formats and encodings: their first bytes, what they are, and the command that prints what is in a
/// file.
const BINARY: &[(&[u8], &str, &str)] = &[
    (b"\x1f\x8b", "is compressed by gzip", "gzip -dc FILE"),
    (b"PK\x03\x04", "is a zip archive", "unzip -p FILE"),
    (b"\xff\xfe", "is UTF-16", "iconv -f utf-16 -t utf-8 FILE"),
    (b"\xfe\xff", "is UTF-16", "iconv -f utf-16 -t utf-8 FILE"),
    (b"SQLite format 3\0", "is an SQLite database", "rsv-export --store FILE, if it is a store of rsv"),
];

/// The error for input in a binary format that its first bytes name.
pub fn binary_format(bytes: &[u8]) -> Option<Error> {
    let &(_, is, command) = BINARY.iter().find(|(magic, ..)| bytes.starts_with(magic))?;
    Some(LineError::Binary { is, command }.into())
}

/// Whether more bytes are needed to tell a binary format.
pub(super) fn may_be_binary(bytes: &[u8]) -> bool {
    BINARY.iter().any(|(magic, ..)| bytes.len() < magic.len() && magic.starts_with(bytes))
}

/// Describes input whose first line is no JSON object.
pub fn describe(bytes: &[u8]) -> &'static str {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let (first, second) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let count = |line: &[u8], byte| line.iter().filter(|b| **b == byte).count();
    let is_table = |separator| count(first, separator) > 0 && count(second, separator) > 0;
    match first {
        [b'<', ..] => "HTML or XML",
        [b'%', b'P', b'D', b'F', ..] => "a PDF file",
        _ if bytes.contains(&0) => "binary data",
        [b'"' | b'0'..=b'9' | b'[', ..] if serde_json::from_slice::<serde_json::Value>(first).is_ok() => {
            "JSON without objects"
        }
        _ if is_table(b'\t') => "a table with tabs",
        _ if is_table(b',') => "CSV",
        _ => "plain text",
    }
}
