//! Pictures of the stored records: the groups of messages that belong together, and how much was said when.
//!
//! They read nothing but the store, and have no random order: one store gives one picture.

mod about;
mod activity;
mod activity_text;
mod calendar;
mod communities;
mod dot;
mod drawing;
mod graph;
mod groups;
mod json;
mod layout;
mod lines;
mod markup;
mod nearest;
mod page;
mod sample;
mod svg;
mod words;

pub use activity::Activity;
pub use drawing::{GraphDrawing, MAX_NODES};
pub use graph::{Graph, GraphOptions};

pub(crate) use markup::{attribute, escaped};
