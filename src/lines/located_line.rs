//! A line that is identified and checked where it was read.

use super::reader::{LocatedObject, SourceLocation};
use crate::error::Result;
use crate::record::{Line, Object};

/// A line and where it begins.
#[derive(Debug)]
pub struct LocatedLine {
    pub location: SourceLocation,
    /// Whether it names its kind.
    pub names_kind: bool,
    pub content: LineContent,
}

/// A line of input, as far as it can be read without knowing what it is for.
#[derive(Debug)]
// Most lines are of the larger variant.
#[allow(clippy::large_enum_variant)]
pub enum LineContent {
    /// A message of the system, which may be passed on unchecked.
    System(Object),
    Parsed(Result<Line>),
}

impl LocatedLine {
    /// Identifies an object and checks it, after `prepare` has changed it, unless it is a message of the
    /// system.
    pub fn new(
        LocatedObject { location, mut object }: LocatedObject,
        prepare: &impl Fn(&mut Object),
    ) -> LocatedLine {
        let names_kind = object.has("kind");
        let content = match object.get("role") {
            Some("\"system\"") => LineContent::System(object),
            _ => {
                prepare(&mut object);
                LineContent::Parsed(Line::parse(object))
            }
        };
        LocatedLine { location, names_kind, content }
    }
}
