//! Cuts a stream into JSON objects: one a line, concatenated, pretty-printed, or the elements of an array,
//! distinguished by content. A bad object is reported with its line, and reading continues with the next.

use super::error::LineError;
use super::object_scanner::{ObjectScanner, ScanStep};
use super::sniff::{binary_format, describe, may_be_binary};
use crate::error::{Context, Error, Result};
use crate::record::Object;
use std::fmt;
use std::io::{ErrorKind, Read};
use std::sync::Arc;

/// A line of an input, as compilers name it: `<stdin>:17`.
#[derive(Clone, Debug)]
pub struct SourceLocation {
    source: Arc<str>,
    line: u64,
}

impl SourceLocation {
    /// The line of this number, from 1, of the input of this name.
    pub fn new(source: Arc<str>, line: u64) -> SourceLocation {
        SourceLocation { source, line }
    }

    /// The number of the line, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.source, self.line)
    }
}

/// An object and the location of its first byte.
#[derive(Debug)]
pub struct LocatedObject {
    pub location: SourceLocation,
    pub object: Object,
}

/// The length of an object, or the offset and name of the invalid token.
type Measured = std::result::Result<usize, (usize, String)>;

/// Reads objects from `input`, holding one at a time, of at most `limit` bytes.
pub struct Reader<R> {
    source: Arc<str>,
    input: R,
    limit: usize,
    buffer: Vec<u8>,
    /// The number of bytes of `buffer` that have been consumed.
    start: usize,
    /// The line of `start`, from 1.
    line: u64,
    in_array: bool,
    /// Whether the last element of the array was followed by a comma, or there was none yet.
    ended: bool,
    /// Whether the input itself failed, after which nothing can follow.
    failed: bool,
    /// The number of bytes that were consumed before `buffer`.
    pub(super) consumed: u64,
}

/// The number of bytes to read at a time.
pub(super) const READ_BUFFER_BYTES: usize = 1 << 16;

impl<R: Read> Reader<R> {
    /// `source` is the name of the input for messages.
    pub fn new(source: &str, input: R, limit: usize) -> Reader<R> {
        Reader {
            source: source.into(),
            input,
            limit,
            buffer: Vec::new(),
            start: 0,
            line: 1,
            in_array: false,
            ended: false,
            failed: false,
            consumed: 0,
        }
    }

    /// The same reader, whose input begins at this line.
    pub fn from_line(self, line: u64) -> Reader<R> {
        Reader { line, ..self }
    }

    /// The next object or error; `None` at the end.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Option<Result<LocatedObject>> {
        self.advance().transpose()
    }

    /// Whether the buffer holds no whole line, so that the next object may not have arrived yet.
    pub(super) fn drained(&self) -> bool {
        let rest = self.buffer[self.start..].trim_ascii_start();
        memchr::memchr(b'\n', rest).is_none()
    }

    fn advance(&mut self) -> Result<Option<LocatedObject>> {
        if self.failed {
            return Ok(None);
        }
        self.refuse_binary()?;
        let Some(first) = self.next_significant_byte()? else { return self.end() };
        let line = self.line;
        if first != b'{' {
            let looks = if self.ended || line > 1 {
                String::new()
            } else {
                format!("this looks like {}; ", describe(&self.buffer[self.start..]))
            };
            if self.in_array {
                self.skip_elements()?
            } else {
                self.skip_line()?
            }
            return Err(self.fault(line, LineError::NotAnObject { found: char::from(first), looks }));
        }
        let length = match self.object_length()? {
            Ok(length) => length,
            Err((offset, text)) => {
                let at = line + count_newlines(&self.buffer[self.start..self.start + offset]);
                self.recover(at > line)?;
                let text = if at > line { format!("{text} (on line {at})") } else { text };
                return Err(self.fault(line, LineError::Syntax { fault: text }));
            }
        };
        let bytes = &self.buffer[self.start..self.start + length];
        let object = Object::parse_bytes(bytes);
        self.line += count_newlines(bytes);
        self.start += length;
        self.ended = false;
        let location = self.location(line);
        object
            .map(|object| Some(LocatedObject { location: location.clone(), object }))
            .map_err(|e| e.at(location))
    }

    /// Errors if the input begins like a file in a binary format; nothing can follow then.
    fn refuse_binary(&mut self) -> Result<()> {
        if self.consumed > 0 || self.start > 0 {
            return Ok(());
        }
        while may_be_binary(&self.buffer) && self.fill_buffer()? {}
        match binary_format(&self.buffer) {
            Some(error) => {
                self.failed = true;
                Err(error.at(&self.source))
            }
            None => Ok(()),
        }
    }

    fn location(&self, line: u64) -> SourceLocation {
        SourceLocation { source: self.source.clone(), line }
    }

    fn fault(&self, line: u64, error: LineError) -> Error {
        Error::from(error).at(self.location(line))
    }

    /// The first byte of the next value, at `start`; skips white space, a byte order mark, and the separators
    /// of an array.
    fn next_significant_byte(&mut self) -> Result<Option<u8>> {
        loop {
            if self.start == self.buffer.len() && !self.fill_buffer()? {
                return Ok(None);
            }
            let byte = self.buffer[self.start];
            match byte {
                b'\n' => self.line += 1,
                b' ' | b'\t' | b'\r' => {}
                b'[' if !self.in_array => (self.in_array, self.ended) = (true, true),
                b']' if self.in_array => self.in_array = false,
                b',' if self.in_array && !self.ended => self.ended = true,
                0xEF if self.line == 1 && self.starts_with_byte_order_mark()? => self.start += 2,
                _ => return Ok(Some(byte)),
            }
            self.start += 1;
        }
    }

    fn starts_with_byte_order_mark(&mut self) -> Result<bool> {
        while self.buffer.len() - self.start < 3 && self.fill_buffer()? {}
        Ok(self.buffer[self.start..].starts_with(b"\xEF\xBB\xBF"))
    }

    fn end(&mut self) -> Result<Option<LocatedObject>> {
        if std::mem::take(&mut self.in_array) {
            return Err(self
                .fault(self.line, LineError::Syntax { fault: "the input ends inside an array".to_owned() }));
        }
        Ok(None)
    }

    /// The length of the object or array at `start`, by brackets and strings alone; or the offset and name of
    /// the invalid token, so that a truncated line does not swallow those after it.
    fn object_length(&mut self) -> Result<Measured> {
        let mut scan = ObjectScanner::default();
        let mut offset = 0;
        loop {
            match scan.run(&self.buffer[self.start + offset..]) {
                ScanStep::Done(length) if offset + length > self.limit => {
                    let fault = too_long(self.limit).at(self.location(self.line));
                    self.line += count_newlines(&self.buffer[self.start..self.start + offset + length]);
                    self.start += offset + length;
                    return Err(fault);
                }
                ScanStep::Done(length) => return Ok(Ok(offset + length)),
                ScanStep::Malformed(at, text) => return Ok(Err((offset + at, text.into()))),
                ScanStep::More => offset = self.buffer.len() - self.start,
            }
            if offset > self.limit {
                let fault = too_long(self.limit).at(self.location(self.line));
                self.skip_line()?;
                return Err(fault);
            }
            if !self.fill_buffer()? {
                return Ok(Err((0, "the input ends inside an object".into())));
            }
        }
    }

    /// Resumes after an invalid value: on the next line, or, if the error is on a later line than the
    /// beginning of the value, on the next line that begins an object.
    fn recover(&mut self, later: bool) -> Result<()> {
        self.skip_line()?;
        self.ended = true;
        if !later {
            return Ok(());
        }
        loop {
            let rest = &self.buffer[self.start..];
            match rest.iter().position(|b| !b.is_ascii_whitespace()) {
                Some(at) if rest[at] == b'{' => return Ok(()),
                None if !self.fill_buffer()? => return Ok(()),
                None => {}
                Some(_) => self.skip_line()?,
            }
        }
    }

    /// Skips an element of an array that is no object, and those behind it on its last line, where the array
    /// may end.
    fn skip_elements(&mut self) -> Result<()> {
        let mut scan = ObjectScanner::within_array();
        if self.buffer[self.start] == b'['
            && let Ok(length) = self.object_length()?
        {
            self.line += count_newlines(&self.buffer[self.start..self.start + length]);
            self.start += length;
            scan.after_value = true;
        }
        loop {
            let rest = &self.buffer[self.start..];
            let end = memchr::memchr(b'\n', rest);
            match scan.run(&rest[..end.unwrap_or(rest.len())]) {
                ScanStep::Done(length) => {
                    self.start += length;
                    self.in_array = false;
                    return Ok(());
                }
                ScanStep::More if end.is_none() => self.start = self.buffer.len(),
                ScanStep::More | ScanStep::Malformed(..) => {
                    self.ended = !scan.after_value;
                    return self.skip_line();
                }
            }
            if !self.fill_buffer()? {
                return Ok(());
            }
        }
    }

    /// Skips the rest of the line at `start`, without buffering it.
    fn skip_line(&mut self) -> Result<()> {
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.start..]) {
                self.start += at + 1;
                self.line += 1;
                return Ok(());
            }
            self.start = self.buffer.len();
            if !self.fill_buffer()? {
                return Ok(());
            }
        }
    }

    /// Reads more; false at the end of the input.
    fn fill_buffer(&mut self) -> Result<bool> {
        self.buffer.drain(..self.start);
        self.consumed += self.start as u64;
        self.start = 0;
        let kept = self.buffer.len();
        let wanted = kept + READ_BUFFER_BYTES;
        if wanted > self.buffer.capacity() {
            // Doubled as by itself, but not beyond an object of the limit.
            let doubled = self.buffer.capacity().saturating_mul(2);
            let most = self.limit.saturating_add(2 * READ_BUFFER_BYTES);
            self.buffer.reserve_exact(doubled.min(most).max(wanted) - kept);
        }
        self.buffer.resize(wanted, 0);
        let read = loop {
            match self.input.read(&mut self.buffer[kept..]) {
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                read => break read,
            }
        };
        self.buffer.truncate(kept + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(read) => Ok(read > 0),
            Err(e) => {
                self.failed = true;
                Err(e).context(format_args!("cannot read {}", self.source))
            }
        }
    }
}

/// The error for a line or a text of more than `limit` bytes.
pub fn too_long(limit: usize) -> Error {
    let most =
        if limit.is_multiple_of(1 << 20) { format!("{} MiB", limit >> 20) } else { format!("{limit} bytes") };
    LineError::TooLong { most }.into()
}

fn count_newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
mod tests;
