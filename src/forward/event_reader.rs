//! Reads the events of a stream from its pieces, and says which bytes of them are whole events.

use super::event_parser::{BlankLines, EventParser, ParsedEvent};
use crate::http::{Decoder, Truncation};
use bytes::Bytes;

/// Reads the pieces of a stream.
pub(super) struct EventReader {
    /// None for a stream that is not encoded.
    decoder: Option<Decoder>,
    parser: EventParser,
    lines: BlankLines,
    /// The bytes of the event that has not ended, decoded.
    unfinished: Vec<u8>,
    limit: usize,
}

/// The part of a stream that a piece adds.
pub(super) struct ReadEvents {
    /// The decoded bytes from the end of the last event before it to the end of the last event in it.
    pub(super) bytes: Bytes,
    /// The events, with their ends in these bytes.
    pub(super) events: Vec<ParsedEvent>,
    /// Whether an event is too long, so that no more are read.
    pub(super) is_cut: bool,
}

impl EventReader {
    /// For the value of `Content-Encoding`. `limit` bounds an event, and a decoded piece, in bytes.
    pub(super) fn new(encoding: Option<&str>, limit: usize) -> EventReader {
        EventReader {
            decoder: encoding.map(|encoding| Decoder::for_encoding(Some(encoding))),
            parser: EventParser::new(limit),
            lines: BlankLines::new(),
            unfinished: Vec::new(),
            limit,
        }
    }

    /// Reads a piece. After an error, which is that it cannot be decoded, nothing more can be read.
    pub(super) fn read(&mut self, mut piece: Bytes) -> Result<ReadEvents, Truncation> {
        if let Some(decoder) = &mut self.decoder {
            let mut plain = Vec::new();
            decoder.decode(&piece, &mut plain, self.limit)?;
            piece = plain.into();
        }
        let (before, mut events) = (self.unfinished.len(), Vec::new());
        let is_cut = self.parser.feed(&piece, &mut events).is_err();
        for event in &mut events {
            event.end += before;
        }
        Ok(ReadEvents { bytes: self.finished(piece), events, is_cut })
    }

    /// The bytes of the events that end in a piece. An event longer than the limit is returned unfinished.
    fn finished(&mut self, mut piece: Bytes) -> Bytes {
        let is_too_long = self.unfinished.len() + piece.len() > self.limit;
        let end = self.lines.last_end(&piece).or(is_too_long.then_some(piece.len()));
        let rest = piece.split_off(end.unwrap_or(0));
        let mut finished = Bytes::new();
        if end.is_some() {
            finished = if self.unfinished.is_empty() {
                piece
            } else {
                self.unfinished.extend_from_slice(&piece);
                std::mem::take(&mut self.unfinished).into()
            };
        }
        self.unfinished.extend_from_slice(&rest);
        finished
    }

    /// The bytes of the event that has not ended.
    pub(super) fn unfinished(&self) -> &[u8] {
        &self.unfinished
    }
}
