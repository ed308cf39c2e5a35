//! Parses server-sent events from bytes, however they are cut (WHATWG HTML, 9.2.6).

use sse_core::{PayloadTooLargeError, SseDecoder, SseEvent};
use std::num::NonZeroUsize;

/// Parses the pieces of a stream into the data of its events. The names of events are ignored.
pub(super) struct EventParser(SseDecoder);

impl EventParser {
    /// `limit` bounds the data of one event, in bytes.
    pub(super) fn new(limit: usize) -> EventParser {
        EventParser(SseDecoder::with_limit(NonZeroUsize::new(limit).unwrap_or(NonZeroUsize::MIN)))
    }

    /// Appends the data of the events that end in a piece; events without data are none.
    pub(super) fn feed(
        &mut self,
        mut piece: &[u8],
        found: &mut Vec<String>,
    ) -> Result<(), PayloadTooLargeError> {
        while let Some(event) = self.0.next(&mut piece) {
            if let SseEvent::Message(message) = event? {
                found.push(message.data);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &[u8], length: usize) -> Vec<String> {
        let (mut events, mut found) = (EventParser::new(1000), Vec::new());
        for piece in text.chunks(length) {
            events.feed(piece, &mut found).unwrap();
        }
        found
    }

    #[test]
    fn events_are_the_same_however_lines_end_and_pieces_are_cut() {
        let text = "\u{feff}data: süß 🦉\n\n: comment\n\ndata:a\ndata: b\nid: 7\nevent: x\nretry: 3\n\ndata\ndata\n\n\
                    data:  two\ndatum: no\n\n\n\nevent: empty\n\ndata: [DONE]\n\ndata: never ended\n";
        for ends in ["\n", "\r\n", "\r"] {
            let text = text.replace('\n', ends);
            for length in [1, 2, 3, 5, 1000] {
                assert_eq!(
                    events(text.as_bytes(), length),
                    ["süß 🦉", "a\nb", "\n", " two", "[DONE]"],
                    "{ends:?} by {length}"
                );
            }
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(events(b"data: a\xffb\n\n", 1), ["a\u{fffd}b"]);
        assert_eq!(events(b"data: \xef\xbb\xbfx\n\n\xef\xbb\xbfdata: y\n\n", 9), ["\u{feff}x"]);
    }

    #[test]
    fn an_event_without_end_is_not_held() {
        let (mut events, mut found) = (EventParser::new(10), Vec::new());
        assert_eq!(events.feed(b"data: 1\n\ndata: 2\n\n", &mut found), Ok(()));
        assert_eq!(events.feed(b"data: 34567890123", &mut found), Err(PayloadTooLargeError));
        assert_eq!(found, ["1", "2"]);
    }
}
