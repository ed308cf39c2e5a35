//! The chunks of streamed chat completions as the events of the other APIs, as they come.
//!
//! Pieces of parallel calls may alternate, but blocks and items are sent one after the other. The client gets
//! the first part that has not ended, as it grows; pieces of later parts wait. A text ends where something
//! follows it, a call where something follows it and its arguments are whole, and all end with the answer.

use super::answer::reported_error;
use super::answer_parts::{
    AnswerEnd, AnswerHead, AnswerPart, COMPLETED, Call, call_pieces, choices, first_reason, parts_of,
    push_arguments, push_content,
};
use super::call_piece::{CallPiece, KnownCall, is_repeated, is_whole};
use super::completions::types::ToolCallDelta;
use super::dialect::{EventWriter, Translation};
use crate::chat;
use crate::chat::GrowingText;
use crate::record::Object;

/// Turns chunks into events. Feeds come first, then one `finish`, or `fail` if the answer broke off.
pub struct EventTranslator {
    writer: Box<dyn EventWriter>,
    /// Whether the client knows of the answer.
    is_begun: bool,
    head: AnswerHead,
    parts: Vec<GrowingPart>,
    /// The place of the part that the client is receiving; those before it have ended.
    current: usize,
    reason: String,
    is_ended: bool,
}

/// A part that grows.
struct GrowingPart {
    part: AnswerPart,
    /// Halves of characters that have arrived and are not in the part yet.
    arrived: GrowingText,
    /// The index of a call, as JSON text, and its id as the provider gives it.
    index: Option<String>,
    id: String,
    is_open: bool,
    /// The number of bytes of its text that the client has.
    sent: usize,
    /// The number of bytes of its text that were checked for whole arguments, and the result.
    checked: usize,
    is_whole: bool,
}

impl EventTranslator {
    /// Of the answer to a request that was translated.
    pub fn new(translation: Translation) -> EventTranslator {
        EventTranslator {
            writer: translation.dialect.event_writer(translation),
            is_begun: false,
            head: AnswerHead::default(),
            parts: Vec::new(),
            current: 0,
            reason: String::new(),
            is_ended: false,
        }
    }

    /// The events of a chunk; none for one that reports an error, after which `fail` comes.
    pub fn chunk(&mut self, chunk: &Object) -> Vec<Object> {
        if self.is_ended {
            return Vec::new();
        }
        self.head.read(chunk);
        if reported_error(chunk).is_some() {
            return Vec::new();
        }
        self.begin();
        let first = choices(chunk).into_iter().find(|choice| choice.index.0 == Some(0));
        if let Some(choice) = first {
            let delta = choice.delta.0.or(choice.message.0).unwrap_or_default();
            self.add_text(AnswerPart::Text(String::new()), |text| push_content(&delta, text));
            let refusal = delta.get("refusal").unwrap_or("null");
            self.add_text(AnswerPart::Refusal(String::new()), |text| text.push_json(refusal));
            let known = self.parts.iter().filter(|part| part.call().is_some()).count();
            for piece in call_pieces(&delta) {
                self.add_call(&piece, known);
            }
            if let Some(reason) = choice.finish_reason.0.filter(|reason| !reason.is_empty()) {
                self.reason = reason;
            }
            self.tell();
        }
        self.writer.take()
    }

    /// The events of a whole answer in place of chunks, with those of the end. Its calls are no pieces: each
    /// is one.
    pub fn whole(&mut self, answer: &Object) -> Vec<Object> {
        self.head.read(answer);
        self.begin();
        if let Ok(message) = chat::answer(answer) {
            self.parts = parts_of(&self.head, &message).into_iter().map(GrowingPart::new).collect();
        }
        self.reason = first_reason(answer);
        self.finish()
    }

    /// Begins the answer, once.
    fn begin(&mut self) {
        if !std::mem::replace(&mut self.is_begun, true) {
            self.writer.begin(&self.head);
        }
    }

    /// The events of the end, once.
    pub fn finish(&mut self) -> Vec<Object> {
        if self.is_ended || !self.is_begun {
            return Vec::new();
        }
        self.is_ended = true;
        self.drop_repeated();
        if self.parts.is_empty() {
            self.parts.push(GrowingPart::new(AnswerPart::Text(String::new())));
        }
        let end = AnswerEnd::new(&self.reason, self.parts.iter().map(|part| &part.part));
        while self.current < self.parts.len() {
            let is_last = self.current + 1 == self.parts.len();
            self.close(if is_last { end.status() } else { COMPLETED });
        }
        self.writer.finish(&self.head, &end);
        self.writer.take()
    }

    /// The events of an answer that broke off, once: the usage so far, if the provider sent it, and the
    /// error.
    pub fn fail(&mut self, message: &str) -> Vec<Object> {
        if !std::mem::replace(&mut self.is_ended, true) {
            self.writer.fail(&self.head, self.is_begun, message);
        }
        self.writer.take()
    }

    /// Adds what `push` appends to the last part if that is of the kind of `new`, else to a new one.
    fn add_text(&mut self, new: AnswerPart, push: impl FnOnce(&mut GrowingText)) {
        let kind = std::mem::discriminant(&new);
        match self.parts.last_mut().filter(|last| std::mem::discriminant(&last.part) == kind) {
            Some(last) => last.grow(push),
            None => {
                let mut new = GrowingPart::new(new);
                new.grow(push);
                if !new.is_empty() {
                    self.parts.push(new);
                }
            }
        }
    }

    /// Drops the calls that turned out to be repeated, of which the client knows nothing.
    fn drop_repeated(&mut self) {
        let mut at = self.current;
        while at < self.parts.len() {
            let (before, rest) = self.parts.split_at(at);
            if !rest[0].is_open && rest[0].is_repeated(before) {
                self.parts.remove(at);
            } else {
                at += 1;
            }
        }
    }

    /// Adds a piece of a call; `known` is the number of calls before its chunk.
    fn add_call(&mut self, piece: &ToolCallDelta, known: usize) {
        let calls: Vec<usize> = (0..self.parts.len()).filter(|at| self.parts[*at].call().is_some()).collect();
        let place = match CallPiece::of_delta(piece, self.parts.iter().filter_map(GrowingPart::known), known)
        {
            CallPiece::Nothing => return,
            CallPiece::Continues(number) => calls[number],
            CallPiece::Begins => {
                self.parts.push(GrowingPart::new(AnswerPart::Call(Call::default())));
                self.parts.len() - 1
            }
        };
        let part = &mut self.parts[place];
        if part.index.is_none() {
            part.index = piece.index.map(|index| index.get().to_owned());
        }
        if let AnswerPart::Call(call) = &mut part.part {
            for (known, new) in [(&mut part.id, piece.id.text()), (&mut call.name, piece.name())] {
                if known.is_empty() {
                    new.clone_into(known);
                }
            }
        }
        part.grow(|arguments| push_arguments(piece, arguments));
    }

    /// Sends the new events to the client.
    fn tell(&mut self) {
        while self.current < self.parts.len() {
            self.send(false);
            let is_last = self.current + 1 == self.parts.len();
            if is_last || !self.parts[self.current].may_end() {
                break;
            }
            self.close(COMPLETED);
        }
    }

    /// Sends the new piece of the current part. It is opened once its beginning is known; `now` is whether
    /// nothing more can come.
    fn send(&mut self, now: bool) {
        let (before, rest) = self.parts.split_at_mut(self.current);
        let may_open = |part: &GrowingPart| part.may_open() && !part.is_repeated(before);
        let Some(current) = rest.first_mut().filter(|part| part.is_open || now || may_open(part)) else {
            return;
        };
        let GrowingPart { part, id, is_open, sent, .. } = current;
        if !std::mem::replace(is_open, true) {
            if let AnswerPart::Call(call) = part {
                let earlier: Vec<&str> =
                    before.iter().filter_map(GrowingPart::call).map(|call| call.id.as_str()).collect();
                call.set_id(id, &self.head, &earlier);
            }
            self.writer.open(&self.head, part);
        }
        if let AnswerPart::Call(call) = part
            && call.may_lack_arguments()
            && !now
        {
            return;
        }
        let text = part.text();
        if *sent < text.len() {
            self.writer.extend(&self.head, part, &text[*sent..]);
            *sent = text.len();
        }
    }

    /// Ends the current part.
    fn close(&mut self, status: &'static str) {
        let part = &mut self.parts[self.current];
        part.grow(GrowingText::end);
        if let AnswerPart::Call(call) = &mut part.part {
            call.complete();
        }
        self.send(true);
        self.writer.close(&self.head, &self.parts[self.current].part, status);
        self.current += 1;
    }
}

impl GrowingPart {
    fn new(part: AnswerPart) -> GrowingPart {
        let arrived = GrowingText::default();
        let id = match &part {
            AnswerPart::Call(call) => call.id.clone(),
            _ => String::new(),
        };
        let index = None;
        GrowingPart { part, arrived, index, id, is_open: false, sent: 0, checked: 0, is_whole: false }
    }

    /// Appends to its text what `push` appends to a text.
    fn grow(&mut self, push: impl FnOnce(&mut GrowingText)) {
        push(&mut self.arrived);
        let arrived = self.arrived.take();
        if !arrived.is_empty() {
            self.part.text_mut().push_str(&arrived);
        }
    }

    /// Whether nothing of it has arrived.
    fn is_empty(&self) -> bool {
        self.part.text().is_empty() && self.arrived == GrowingText::default()
    }

    fn call(&self) -> Option<&Call> {
        match &self.part {
            AnswerPart::Call(call) => Some(call),
            _ => None,
        }
    }

    /// The members that distinguish a call from others.
    fn known(&self) -> Option<KnownCall<'_>> {
        let Call { name, arguments, .. } = self.call()?;
        Some(KnownCall { index: self.index.as_deref(), id: &self.id, name, arguments })
    }

    /// Whether it seems to only repeat the name of a call `before` it.
    fn is_repeated(&self, before: &[GrowingPart]) -> bool {
        self.known().is_some_and(|call| is_repeated(&call, before.iter().filter_map(GrowingPart::known)))
    }

    /// Whether it can be opened: a call needs its name and its id, which may be missing once it has
    /// arguments.
    fn may_open(&self) -> bool {
        self.call()
            .is_none_or(|call| !call.name.is_empty() && (!self.id.is_empty() || !call.may_lack_arguments()))
    }

    /// Whether nothing can continue it once something follows.
    fn may_end(&mut self) -> bool {
        let length = self.part.text().len();
        if std::mem::replace(&mut self.checked, length) != length {
            self.is_whole = self.call().is_some_and(|call| is_whole(&call.arguments));
        }
        self.call().is_none() || self.is_open && self.is_whole
    }
}

/// Events as a client receives them.
pub fn to_sse(events: &[Object]) -> String {
    let one = |event: &Object| {
        let kind = event.valid_text("type").unwrap_or_default();
        format!("event: {kind}\ndata: {}\n\n", event.to_json())
    };
    events.iter().map(one).collect()
}
