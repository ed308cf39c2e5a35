//! Lines of plain text as objects: `{"text": …}`.

use super::reader::{LocatedObject, READ_BUFFER_BYTES, SourceLocation, too_long};
use crate::error::{Context, Result};
use crate::record::{Object, invalid_utf8};
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

/// The byte order mark, which Windows puts in front of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Reads lines of at most `limit` bytes.
pub(super) struct TextLines<R> {
    source: Arc<str>,
    input: BufReader<R>,
    limit: usize,
    line: u64,
    failed: bool,
    pub(super) consumed: u64,
}

impl<R: Read> TextLines<R> {
    pub(super) fn new(source: &str, input: R, limit: usize) -> TextLines<R> {
        let input = BufReader::with_capacity(READ_BUFFER_BYTES, input);
        TextLines { source: source.into(), input, limit, line: 0, failed: false, consumed: 0 }
    }

    /// The next line, without its end; `None` at the end of the input. Fails at a line that is too long or
    /// not UTF-8, and for good if the input cannot be read.
    pub(super) fn next(&mut self) -> Option<Result<LocatedObject>> {
        if self.failed {
            return None;
        }
        let mut bytes = Vec::new();
        let read = self.input.by_ref().take(self.limit as u64 + 2).read_until(b'\n', &mut bytes);
        self.line += 1;
        let location = SourceLocation::new(self.source.clone(), self.line);
        match read.context(format_args!("cannot read {}", self.source)) {
            Ok(0) => return None,
            Ok(read) => self.consumed += read as u64,
            Err(error) => {
                self.failed = true;
                return Some(Err(error));
            }
        }
        let ended = bytes.ends_with(b"\n");
        let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let text = text.strip_prefix(BYTE_ORDER_MARK).filter(|_| self.line == 1).unwrap_or(text);
        if text.len() > self.limit {
            if !ended && let Err(error) = self.skip() {
                self.failed = true;
                return Some(Err(error));
            }
            return Some(Err(too_long(self.limit).at(location)));
        }
        let Ok(text) = std::str::from_utf8(text) else {
            return Some(Err(invalid_utf8("").at(location)));
        };
        let mut object = Object::default();
        object.set_text("text", text);
        Some(Ok(LocatedObject { location, object }))
    }

    /// Drops the rest of a line without holding it.
    fn skip(&mut self) -> Result<()> {
        loop {
            let what = format!("cannot read {}", self.source);
            let buffer = self.input.fill_buf().context(what)?;
            let (length, end) = match memchr::memchr(b'\n', buffer) {
                Some(at) => (at + 1, true),
                None => (buffer.len(), buffer.is_empty()),
            };
            self.input.consume(length);
            if end {
                return Ok(());
            }
        }
    }

    /// Whether the buffer holds no whole line.
    pub(super) fn drained(&self) -> bool {
        memchr::memchr(b'\n', self.input.buffer()).is_none()
    }
}
