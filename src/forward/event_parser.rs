//! Parses server-sent events from bytes, however they are cut (WHATWG HTML, 9.2.6).

use memchr::memchr2_iter;
use sse_core::{PayloadTooLargeError, SseDecoder, SseEvent};
use std::borrow::Cow;
use std::num::NonZeroUsize;

/// Parses the pieces of a stream into its events.
pub(super) struct EventParser(SseDecoder);

/// An event of a stream.
#[derive(Debug)]
pub(super) struct ParsedEvent {
    /// `message` if it is not named.
    pub(super) name: Cow<'static, str>,
    pub(super) data: String,
    /// Where it ends in the piece, in bytes.
    pub(super) end: usize,
}

impl EventParser {
    /// `limit` bounds the data of one event, in bytes, of which the decoder needs at least one.
    pub(super) fn new(limit: usize) -> EventParser {
        EventParser(SseDecoder::with_limit(NonZeroUsize::new(limit).unwrap_or(NonZeroUsize::MIN)))
    }

    /// Appends the events that end in a piece, except those without data. Errors if one is too long.
    pub(super) fn feed(
        &mut self,
        piece: &[u8],
        found: &mut Vec<ParsedEvent>,
    ) -> Result<(), PayloadTooLargeError> {
        let mut rest = piece;
        while let Some(event) = self.0.next(&mut rest) {
            if let SseEvent::Message(message) = event? {
                let end = piece.len() - rest.len();
                found.push(ParsedEvent { name: message.event, data: message.data, end });
            }
        }
        Ok(())
    }
}

/// The names and data of the events of a stream that comes in these pieces: the body of a target in `fuzz`.
pub fn fuzz_events(pieces: &[&[u8]]) -> Vec<(String, String)> {
    let (mut parser, mut lines, mut found) = (EventParser::new(1 << 20), BlankLines::new(), Vec::new());
    for piece in pieces {
        // An event may be too long; what was found before it counts.
        let _ = parser.feed(piece, &mut found);
        assert!(lines.last_end(piece).is_none_or(|end| end <= piece.len()));
    }
    found.into_iter().map(|event| (event.name.into_owned(), event.data)).collect()
}

/// Finds where events end in the pieces of a stream: at a blank line.
pub(super) struct BlankLines {
    /// Whether the line has no bytes yet.
    at_line_start: bool,
    /// Whether the last byte was a carriage return, and whether the line that ended last was blank.
    after_return: bool,
    after_blank: bool,
}

impl BlankLines {
    pub(super) fn new() -> BlankLines {
        BlankLines { at_line_start: true, after_return: false, after_blank: false }
    }

    /// Where the last blank line ends in a piece, in bytes.
    pub(super) fn last_end(&mut self, piece: &[u8]) -> Option<usize> {
        let (mut last, mut line) = (None, 0);
        for at in memchr2_iter(b'\n', b'\r', piece) {
            let is_empty = self.at_line_start && at == line;
            // The second half of a line end that was seen already.
            let continues = is_empty && self.after_return && piece[at] == b'\n';
            if !continues {
                self.after_blank = is_empty;
            }
            if self.after_blank {
                last = Some(at + 1);
            }
            (self.at_line_start, self.after_return, line) = (true, piece[at] == b'\r', at + 1);
        }
        if line < piece.len() {
            (self.at_line_start, self.after_return) = (false, false);
        }
        last
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
        found.into_iter().map(|event| event.data).collect()
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
        let found: Vec<(&str, usize)> = found.iter().map(|event| (event.data.as_str(), event.end)).collect();
        assert_eq!(found, [("1", 9), ("2", 18)]);
    }

    #[test]
    fn blank_lines_are_found_however_lines_end_and_pieces_are_cut() {
        for end in ["\n", "\r\n", "\r"] {
            let text = "data: 1\n\n: waiting\n\ndata: 2\ndata: 3\n\nevent: x\n".replace('\n', end);
            let whole = BlankLines::new().last_end(text.as_bytes());
            assert_eq!(whole, text.find("event:"), "{end:?}");
            for length in 1..text.len() {
                let (mut lines, mut passed) = (BlankLines::new(), 0);
                for (number, piece) in text.as_bytes().chunks(length).enumerate() {
                    passed = lines.last_end(piece).map_or(passed, |at| number * length + at);
                }
                assert_eq!(Some(passed), whole, "{end:?} by {length}");
            }
        }
    }
}
