//! Texts in which a line before each message, or each turn, says whose it is.

use super::conversation::ImportOptions;
use super::format::{Bytes, TextInput};
use crate::error::{Context, Result};
use crate::lines::{LocatedObject, ObjectSource, SourceLocation, too_long};
use crate::record::{Object, invalid_utf8};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

/// A format of such texts.
#[derive(Clone, Copy)]
pub(super) struct BlockFormat {
    /// The members that a line gives; none if it is no heading.
    pub(super) heading: fn(&str) -> Option<Object>,
    /// Appends the lines of a heading and the text after it.
    pub(super) lines: fn(&ImportOptions, Block, &mut Vec<Object>) -> Result<()>,
}

/// A heading and the text after it, of the input of a name.
pub(super) struct Block<'a> {
    pub(super) input: &'a str,
    pub(super) heading: Object,
    pub(super) text: &'a str,
}

/// The lines of a text.
pub(super) struct Blocks {
    format: BlockFormat,
    name: Arc<str>,
    lines: BufReader<Bytes>,
    options: ImportOptions,
    /// The heading that was read last, with the number of its line.
    heading: Option<(Object, u64)>,
    line: u64,
    read: u64,
    ended: bool,
    ready: VecDeque<LocatedObject>,
}

impl Blocks {
    pub(super) fn new(format: BlockFormat, input: TextInput) -> Blocks {
        let (name, options) = (input.name.into(), input.options.clone());
        let lines = BufReader::new(input.bytes);
        let ready = VecDeque::new();
        Blocks { format, name, lines, options, heading: None, line: 0, read: 0, ended: false, ready }
    }

    /// The next line with its end; none at the end.
    fn line(&mut self) -> Result<Option<String>> {
        // After an error nothing can follow.
        self.ended = true;
        let mut bytes = Vec::new();
        let limit = self.options.max_line as u64 + 1;
        let read = self.lines.by_ref().take(limit).read_until(b'\n', &mut bytes);
        self.read += read.context(format_args!("cannot read {}", self.name))? as u64;
        self.line += 1;
        let place = format!("{}:{}", self.name, self.line);
        if bytes.len() > self.options.max_line {
            return Err(too_long(self.options.max_line).at(place));
        }
        let text = String::from_utf8(bytes).map_err(|_| invalid_utf8("").at(place))?;
        self.ended = text.is_empty();
        Ok(Some(text).filter(|text| !text.is_empty()))
    }

    /// Reads on to the next heading, or the end, and takes the messages before it.
    fn block(&mut self) -> Result<()> {
        let mut text = String::new();
        loop {
            let line = self.line()?;
            let next = line.as_deref().and_then(|line| (self.format.heading)(line.trim_end()));
            if let Some(line) = line.as_deref().filter(|_| next.is_none()) {
                text += line;
                if text.len() > self.options.max_line {
                    self.ended = true;
                    return Err(
                        too_long(self.options.max_line).at(format_args!("{}:{}", self.name, self.line))
                    );
                }
                continue;
            }
            let ended = std::mem::replace(&mut self.heading, next.map(|next| (next, self.line)));
            let Some((heading, line)) = ended else { return Ok(()) };
            let location = SourceLocation::new(self.name.clone(), line);
            let mut lines = Vec::new();
            let block = Block { input: &self.name, heading, text: &text };
            (self.format.lines)(&self.options, block, &mut lines).map_err(|error| error.at(&location))?;
            let located = |object| LocatedObject { location: location.clone(), object };
            self.ready.extend(lines.into_iter().map(located));
            return Ok(());
        }
    }
}

impl ObjectSource for Blocks {
    fn next(&mut self) -> Option<Result<LocatedObject>> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Some(Ok(line));
            }
            if self.ended {
                return None;
            }
            if let Err(error) = self.block() {
                return Some(Err(error));
            }
        }
    }

    fn drained(&self) -> bool {
        false
    }

    fn consumed(&self) -> u64 {
        self.read
    }
}
