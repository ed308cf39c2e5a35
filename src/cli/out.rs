//! Standard output: buffered, as JSON lines or one array of them, in a pager where that is wanted.

use super::pager::Pager;
use super::terminal::{is_terminal, printable};
use crate::error::{Error, Result, Untyped};
use crate::record::{Object, StoredRecord};
use atty::Stream;
use std::borrow::Cow;
use std::io::{self, Write};

/// The output is flushed when the buffer holds this many bytes.
const OUTPUT_BUFFER_BYTES: usize = 1 << 16;

/// Standard output, or the pager before it. A closed pipe is distinguished from every other failure.
pub struct Out {
    buffer: Vec<u8>,
    /// Whether it is a terminal, or a pager before one.
    is_terminal: bool,
    /// Whether a pager is to be started for the first bytes.
    to_page: bool,
    pager: Option<Pager>,
    /// The array that the lines are elements of.
    array: Option<JsonArray>,
}

/// An array of which a part is written.
#[derive(Default)]
struct JsonArray {
    has_elements: bool,
}

impl JsonArray {
    /// Makes elements of the lines at the end of a buffer, from `start` on.
    fn add(&mut self, buffer: &mut Vec<u8>, start: usize) {
        let lines = buffer.split_off(start);
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            buffer.extend_from_slice(if self.has_elements { b",\n  " } else { b"[\n  " });
            buffer.extend_from_slice(line);
            self.has_elements = true;
        }
    }

    fn end(&self) -> &'static [u8] {
        if self.has_elements { b"\n]\n" } else { b"[]\n" }
    }
}

impl Out {
    pub(super) fn new() -> Out {
        let (buffer, is_terminal) = (Vec::with_capacity(OUTPUT_BUFFER_BYTES), is_terminal(Stream::Stdout));
        Out { buffer, is_terminal, to_page: false, pager: None, array: None }
    }

    /// Shows the output in a pager from now on.
    pub(super) fn page(&mut self) {
        self.to_page = true;
    }

    /// Makes all lines from now on elements of one JSON array. Each write is of whole lines.
    pub fn begin_array(&mut self) {
        self.array = Some(JsonArray::default());
    }

    /// Appends bytes, of whole characters, and flushes when the buffer is full.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.with(|buffer| buffer.extend_from_slice(bytes))
    }

    /// Writes an object as a line.
    pub fn object(&mut self, object: &Object) -> Result<()> {
        self.with(|buffer| {
            object.write(buffer);
            buffer.push(b'\n');
        })
    }

    /// Writes a stored record as a line.
    pub fn stored(&mut self, record: &StoredRecord) -> Result<()> {
        self.with(|buffer| {
            record.write(buffer);
            buffer.push(b'\n');
        })
    }

    /// Writes the bytes that `fill` appends.
    pub fn with(&mut self, fill: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let start = self.buffer.len();
        fill(&mut self.buffer);
        if let Some(array) = &mut self.array {
            array.add(&mut self.buffer, start);
        }
        if self.buffer.len() >= OUTPUT_BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes the buffer to standard output. A terminal gets nothing that moves its cursor or hides text.
    pub fn flush(&mut self) -> Result<()> {
        if self.to_page && !self.buffer.is_empty() {
            self.to_page = false;
            self.pager = Pager::start()?;
        }
        let output = if self.is_terminal { printable(&self.buffer) } else { Cow::Borrowed(&*self.buffer) };
        let written = match &mut self.pager {
            Some(pager) => pager.write(&output),
            None => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(&output).and_then(|()| stdout.flush())
            }
        };
        self.buffer.clear();
        written.map_err(|e| match e.kind() {
            io::ErrorKind::BrokenPipe => Untyped::Closed.into(),
            _ => Error::attempt("cannot write to standard output", e),
        })
    }

    /// Writes the buffer and, of a run without an error, the end of the array; waits for the pager.
    pub(super) fn finish(&mut self, is_done: bool) -> Result<()> {
        if let Some(array) = self.array.take_if(|_| is_done) {
            self.buffer.extend_from_slice(array.end());
        }
        let flushed = self.flush();
        self.pager.take().map_or(Ok(()), Pager::wait).and(flushed)
    }
}
