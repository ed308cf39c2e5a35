//! Parses server-sent events from bytes, however they are cut (WHATWG HTML, 9.2.6).

/// Parses the pieces of a stream into the data of its events. The names of events are ignored.
pub(super) struct EventParser {
    /// The line that is not ended yet.
    line: Vec<u8>,
    /// The data lines of the event that is not ended yet, each with a line feed.
    data: Vec<u8>,
    /// Whether the last line ended with CR, to which a line feed would belong.
    after_cr: bool,
    /// Whether no line has been seen, so that a byte order mark may precede this one.
    first: bool,
    limit: usize,
}

/// The byte order mark that a stream may begin with.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The error for an event that is longer than the limit.
#[derive(PartialEq, Debug)]
pub(super) struct EventTooLong;

impl EventParser {
    /// `limit` bounds one event, in bytes.
    pub(super) fn new(limit: usize) -> EventParser {
        EventParser { line: Vec::new(), data: Vec::new(), after_cr: false, first: true, limit }
    }

    /// Appends the data of the events that end in a piece; events without data are none.
    pub(super) fn feed(&mut self, mut piece: &[u8], found: &mut Vec<String>) -> Result<(), EventTooLong> {
        while !piece.is_empty() {
            if std::mem::take(&mut self.after_cr) && piece[0] == b'\n' {
                piece = &piece[1..];
                continue;
            }
            let end = memchr::memchr2(b'\r', b'\n', piece);
            self.line.extend_from_slice(&piece[..end.unwrap_or(piece.len())]);
            if self.line.len() + self.data.len() > self.limit {
                return Err(EventTooLong);
            }
            let Some(end) = end else { return Ok(()) };
            self.after_cr = piece[end] == b'\r';
            piece = &piece[end + 1..];
            self.line(found);
        }
        Ok(())
    }

    /// Parses a complete line.
    fn line(&mut self, found: &mut Vec<String>) {
        let mark = std::mem::take(&mut self.first) && self.line.starts_with(BYTE_ORDER_MARK);
        let line = &self.line[if mark { BYTE_ORDER_MARK.len() } else { 0 }..];
        if line.is_empty() {
            if !self.data.is_empty() {
                self.data.pop();
                found.push(String::from_utf8_lossy(&self.data).into_owned());
                self.data.clear();
            }
        } else if let Some(value) = line.strip_prefix(b"data")
            && matches!(value.first(), None | Some(b':'))
        {
            let value = value.get(1..).unwrap_or_default();
            self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
            self.data.push(b'\n');
        }
        self.line.clear();
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
        assert_eq!(events.feed(b"data: 34567890", &mut found), Err(EventTooLong));
        assert_eq!(found, ["1", "2"]);
    }
}
