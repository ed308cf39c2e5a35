//! Pictures and other files in base64, in which any letters come by chance.

use std::ops::Range;

/// The length from which a run of base64 is a file, unless the secret is most of it.
const MIN_FILE_BYTES: usize = 512;

/// Recognizes parts of a text, given in their order, that are within a file in base64. A run of base64 is
/// measured once, however many parts are in it.
pub(super) struct Base64Files<'a> {
    bytes: &'a [u8],
    /// The run that was measured last.
    run: Range<usize>,
}

impl<'a> Base64Files<'a> {
    pub(super) fn new(text: &'a str) -> Base64Files<'a> {
        Base64Files { bytes: text.as_bytes(), run: 0..0 }
    }

    /// Whether a part of the text is within a file in base64.
    pub(super) fn contain(&mut self, part: &Range<usize>) -> bool {
        // Base64 in lines, as in mail, has no longer runs than its lines; a separate secret is in none of
        // them.
        let before = part.start.checked_sub(1).and_then(|at| self.run_at(at));
        let begin = before.map_or(part.start, |run| run.start);
        let end = self.run_at(part.end).map_or(part.end, |run| run.end);
        if self.bytes[..begin].ends_with(b";base64,") {
            return true;
        }
        end - begin >= MIN_FILE_BYTES && part.len() < (end - begin) / 2
    }

    /// The run of base64 that has the byte at `at`.
    fn run_at(&mut self, at: usize) -> Option<Range<usize>> {
        let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
        if !self.bytes.get(at).is_some_and(is_base64) {
            return None;
        }
        if !self.run.contains(&at) {
            let before = self.bytes[..at].iter().rev().take_while(|byte| is_base64(byte)).count();
            let after = self.bytes[at..].iter().take_while(|byte| is_base64(byte)).count();
            self.run = at - before..at + after;
        }
        Some(self.run.clone())
    }
}
