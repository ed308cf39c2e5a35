//! The rows of a table as text: RFC 4180, with commas, semicolons or tabs.

use csv::{ByteRecord, ReaderBuilder};
use std::ops::Range;

/// The characters that may separate fields.
const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];

/// The parts of a text that are rows, each with the blank lines before it.
pub(super) fn rows(text: &str) -> Vec<Range<usize>> {
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter(text))
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes());
    let (mut row, mut ends) = (ByteRecord::new(), Vec::new());
    // Reading from memory does not fail, and any text is rows.
    while let Ok(true) = reader.read_byte_record(&mut row) {
        let end = usize::try_from(reader.position().byte()).unwrap_or(text.len());
        // The reader takes the second half of a line end with the next row.
        let is_cut = text[..end].ends_with('\r') && text[end..].starts_with('\n');
        ends.push(if is_cut { end + 1 } else { end });
    }
    let mut start = 0;
    let mut rows: Vec<Range<usize>> =
        ends.into_iter().map(|end| std::mem::replace(&mut start, end)..end).collect();
    match rows.last_mut() {
        Some(last) => last.end = text.len(),
        None => rows.push(0..text.len()),
    }
    rows
}

/// The delimiter that is most frequent in the first line.
fn delimiter(text: &str) -> u8 {
    let first = text.lines().next().unwrap_or_default();
    let count = |delimiter: &u8| first.bytes().filter(|byte| byte == delimiter).count();
    // Of several, the last is the maximum; a comma is the default.
    DELIMITERS.into_iter().rev().max_by_key(count).unwrap_or(b',')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(text: &str) -> Vec<&str> {
        rows(text).into_iter().map(|row| &text[row]).collect()
    }

    #[test]
    fn quoted_line_ends_are_within_a_row() {
        for (text, wanted) in [
            ("a,b\n1,\"x\ny\"\n2,z", &["a,b\n", "1,\"x\ny\"\n", "2,z"][..]),
            ("a;b\r\n1;\"x\r\n\"\"y\"\r\n2;z\r\n", &["a;b\r\n", "1;\"x\r\n\"\"y\"\r\n", "2;z\r\n"]),
            ("a\tb\n5\" pipe\t1\n6\" pipe\t2\n", &["a\tb\n", "5\" pipe\t1\n", "6\" pipe\t2\n"]),
            ("", &[""]),
        ] {
            assert_eq!(cut(text), wanted, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn rows_are_the_whole_text(text in "[a\",;\t\r\n ]{0,40}") {
            prop_assert_eq!(cut(&text).concat(), text);
        }
    }
}
