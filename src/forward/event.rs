//! The events of a streamed answer.

use crate::api;
use crate::chat::GrowingText;
use crate::record::Object;

/// One event of a streamed answer.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    Chunk(Object),
    /// It is no JSON object.
    Data(String),
    /// The end of the stream.
    Done,
    /// The whole answer of a provider that does not stream.
    Whole(Object),
}

impl Event {
    /// Whether a stream, or a whole answer, ends with it.
    pub fn is_last(&self) -> bool {
        match self {
            Event::Done | Event::Whole(_) => true,
            Event::Chunk(chunk) => api::is_last_event(chunk),
            Event::Data(_) => false,
        }
    }

    /// Appends the text that it adds to the answer, of several to the first.
    pub fn push_text(&self, to: &mut GrowingText) {
        let (Event::Chunk(chunk) | Event::Whole(chunk)) = self else { return };
        if !chunk.has("choices") {
            return api::push_event_text(chunk, to);
        }
        let choices = chunk.valid_objects("choices").unwrap_or_default();
        // A provider that gives one choice may leave its index out.
        let first = choices.iter().find(|choice| choice.get("index").unwrap_or("0") == "0");
        let message = first.and_then(|first| {
            let member = |name| first.valid_object(name);
            member("delta").or_else(|| member("message"))
        });
        api::push_content(&message.unwrap_or_default(), to);
    }
}
