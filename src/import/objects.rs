//! Inputs that consist of JSON objects, each of which stands for some messages.

use crate::error::Result;
use crate::lines::{LocatedObject, ObjectSource, Reader, SourceLocation};
use crate::record::Object;
use std::collections::VecDeque;
use std::io::Read;

/// Converts the objects of one input, in their order.
pub(super) trait Convert: Send {
    /// Appends the lines that an object stands for; none if it holds no messages.
    fn convert(&mut self, object: Object, lines: &mut Vec<Object>) -> Result<()>;

    /// Appends the lines that were withheld, since later objects could have changed them, at the end of the
    /// input.
    fn finish(&mut self, _lines: &mut Vec<Object>) -> Result<()> {
        Ok(())
    }

    /// Why an input has no messages, if the format has reasons of its own.
    fn reason(&self) -> Option<&'static str> {
        None
    }
}

/// The lines of an input.
pub(super) struct ConvertedObjects<R> {
    reader: Reader<R>,
    converter: Box<dyn Convert>,
    lines: VecDeque<LocatedObject>,
    /// The place of the last object; none once the converter has finished.
    last: Option<SourceLocation>,
}

impl<R: Read> ConvertedObjects<R> {
    pub(super) fn new(reader: Reader<R>, converter: Box<dyn Convert>) -> ConvertedObjects<R> {
        ConvertedObjects { reader, converter, lines: VecDeque::new(), last: None }
    }

    /// Converts one more object, or ends; none at the end.
    fn advance(&mut self) -> Option<Result<()>> {
        let mut lines = Vec::new();
        let (location, done) = match self.reader.next() {
            Some(Ok(LocatedObject { location, object })) => {
                self.last = Some(location.clone());
                (location, self.converter.convert(object, &mut lines))
            }
            Some(Err(error)) => return Some(Err(error)),
            None => (self.last.take()?, self.converter.finish(&mut lines)),
        };
        // Nothing of an object with an error is read.
        if let Err(error) = done {
            return Some(Err(error.at(location)));
        }
        let located = |object| LocatedObject { location: location.clone(), object };
        self.lines.extend(lines.into_iter().map(located));
        Some(Ok(()))
    }
}

impl<R: Read> ObjectSource for ConvertedObjects<R> {
    fn next(&mut self) -> Option<Result<LocatedObject>> {
        loop {
            if let Some(line) = self.lines.pop_front() {
                return Some(Ok(line));
            }
            if let Err(error) = self.advance()? {
                return Some(Err(error));
            }
        }
    }

    fn drained(&self) -> bool {
        self.lines.is_empty() && ObjectSource::drained(&self.reader)
    }

    fn consumed(&self) -> u64 {
        ObjectSource::consumed(&self.reader)
    }

    fn reason(&self) -> Option<&'static str> {
        self.converter.reason()
    }
}
