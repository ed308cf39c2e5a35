//! Inputs that consist of JSON objects, each of which stands for some messages.

use crate::error::Result;
use crate::lines::{LocatedObject, ObjectSource, Reader};
use crate::record::Object;
use std::collections::VecDeque;
use std::io::Read;

/// Converts the objects of one input, in their order.
pub(super) trait Convert: Send {
    /// Appends the lines that an object stands for; none if it holds no messages.
    fn convert(&mut self, object: Object, lines: &mut Vec<Object>) -> Result<()>;
}

/// The lines of an input.
pub(super) struct ConvertedObjects<R> {
    reader: Reader<R>,
    converter: Box<dyn Convert>,
    lines: VecDeque<LocatedObject>,
}

impl<R: Read> ConvertedObjects<R> {
    pub(super) fn new(reader: Reader<R>, converter: Box<dyn Convert>) -> ConvertedObjects<R> {
        ConvertedObjects { reader, converter, lines: VecDeque::new() }
    }
}

impl<R: Read> ObjectSource for ConvertedObjects<R> {
    fn next(&mut self) -> Option<Result<LocatedObject>> {
        loop {
            if let Some(line) = self.lines.pop_front() {
                return Some(Ok(line));
            }
            let LocatedObject { location, object } = match self.reader.next()? {
                Ok(located) => located,
                Err(error) => return Some(Err(error)),
            };
            let mut lines = Vec::new();
            if let Err(error) = self.converter.convert(object, &mut lines) {
                return Some(Err(error.at(location)));
            }
            let located = |object| LocatedObject { location: location.clone(), object };
            self.lines.extend(lines.into_iter().map(located));
        }
    }

    fn drained(&self) -> bool {
        self.lines.is_empty() && ObjectSource::drained(&self.reader)
    }

    fn consumed(&self) -> u64 {
        ObjectSource::consumed(&self.reader)
    }
}
