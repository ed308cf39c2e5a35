//! An answer as it arrives: its bytes, and the events in them.
//!
//! It is whole once the event has arrived that carries the reason of its end: `finish_reason` of every
//! choice; of a message `stop_reason`; `response.completed` or `response.incomplete` of a response. Later
//! events may be missing. A stream that ends before has broken off, and so has one that reports an error.

use super::answer::mark_kind;
use super::event::Event;
use super::event_parser::ParsedEvent;
use super::event_reader::{EventReader, ReadEvents};
use super::failure::Failure;
use super::gatherer::Gatherer;
use super::pending_request::PendingRequest;
use super::stream_body::{StreamBody, whole};
use super::truncation_detector::TruncationDetector;
use crate::api::{self, Api, EventTranslator};
use crate::cli::Diagnostics;
use crate::http::{HeaderMap, HeaderValue, Response, Truncation};
use crate::record::Object;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// The data of the last event of a stream.
const DONE_DATA: &str = "[DONE]";
/// The name of events that report an error.
const ERROR_NAME: &str = "error";
/// The time that the connection may take to end after that, so that it can be reused.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(100);

/// A streamed answer in transit. Dropping it closes the connection to the provider.
pub struct Stream {
    head: AnswerHead,
    body: StreamBody,
    pending: PendingRequest,
    truncation_detector: Arc<TruncationDetector>,
    diagnostics: Diagnostics,
    /// None for an answer that is not streamed, and for a stream that cannot be read any more.
    reader: Option<EventReader>,
    /// Turns events into those of the client's API.
    translator: Option<EventTranslator>,
    assembler: Gatherer,
    limit: usize,
    /// The reason why the answer is incomplete.
    failure: Option<Failure>,
    /// Whether the provider itself told the client that the answer broke off.
    is_failure_told: bool,
}

/// The head of an answer.
#[derive(Clone, PartialEq, Debug)]
pub struct AnswerHead {
    /// 200 to 299.
    pub status: u16,
    pub headers: HeaderMap,
    /// Whether the pieces are encoded.
    pub encoded: bool,
}

/// A piece of an answer.
#[derive(Debug)]
pub struct StreamPiece {
    /// The exact bytes from the provider, of whole events if they are not encoded.
    pub bytes: Bytes,
    /// The events that end in it.
    pub events: Vec<Event>,
}

/// The outcome of a stream.
#[derive(Clone, PartialEq, Debug)]
pub struct StreamEnd {
    /// The response as if it had not been streamed, with `rsv`, in which `partial` marks one that broke off;
    /// none if nothing of an answer arrived, or the answer was discarded.
    pub response: Option<Object>,
    /// The reason why it is incomplete.
    pub failure: Option<Failure>,
}

impl Stream {
    /// Takes an answer that the provider calls good: events, or a whole answer in their place. Fails if a
    /// whole answer is invalid.
    pub(super) async fn new(
        response: Response,
        pending: PendingRequest,
        (truncation_detector, diagnostics): (Arc<TruncationDetector>, Diagnostics),
        limit: usize,
    ) -> Result<Stream, Failure> {
        let translator = pending.translation.clone().map(EventTranslator::new);
        let mut head = AnswerHead {
            status: response.status(),
            headers: response.headers().clone(),
            encoded: response.content_encoding().is_some(),
        };
        if translator.is_some() {
            // Its body is rewritten.
            head.encoded = false;
            head.headers.remove("content-encoding");
            head.headers.insert("content-type", HeaderValue::from_static("text/event-stream"));
        }
        let kind = response.content_type().unwrap_or_default();
        let streamed = kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream");
        let (body, reader) = if streamed {
            let reader = EventReader::new(response.content_encoding(), limit);
            (StreamBody::Arriving(response), Some(reader))
        } else {
            (whole(response, &pending, limit).await?, None)
        };
        let assembler = Gatherer::new(pending.sent_api, pending.choices, Some(limit));
        Ok(Stream {
            head,
            body,
            pending,
            truncation_detector,
            diagnostics,
            reader,
            translator,
            assembler,
            limit,
            failure: None,
            is_failure_told: false,
        })
    }

    /// The head of the answer.
    pub fn head(&self) -> &AnswerHead {
        &self.head
    }

    /// Keeps nothing of the answer, which may then be of any length. In the end there is no response.
    pub fn discard_answer(&mut self) {
        self.assembler = Gatherer::new(self.pending.sent_api, self.pending.choices, None);
    }

    /// Waits for the next piece; `None` at the end. An error, which is the last item, means that the answer
    /// broke off, or that its next piece took too long: see `failure_event`.
    pub async fn next(&mut self) -> Option<Result<StreamPiece, Failure>> {
        loop {
            let piece = match self.arrived().await {
                Some(piece) => self.translated(piece),
                None => return self.last_piece(),
            };
            if !piece.bytes.is_empty() || !piece.events.is_empty() {
                return Some(Ok(piece));
            }
        }
    }

    /// The event by which a client learns that its answer broke off; `None` if the provider has told it.
    pub fn failure_event(&mut self, failure: &Failure) -> Option<String> {
        match &mut self.translator {
            Some(translator) => Some(api::to_sse(&translator.fail(&failure.message))),
            None if self.is_failure_told => None,
            None => Some(self.pending.sent_api.error_event(failure.code, &failure.message)),
        }
    }

    /// A piece in the client's API, empty if nothing of it concerns the client.
    fn translated(&mut self, piece: StreamPiece) -> StreamPiece {
        let Some(translator) = &mut self.translator else { return piece };
        let mut events = Vec::new();
        for event in &piece.events {
            match event {
                Event::Chunk(chunk) => events.extend(translator.chunk(chunk)),
                Event::Whole(answer) => events.extend(translator.whole(answer)),
                Event::Done => events.extend(translator.finish()),
                Event::Data(_) => {}
            }
        }
        piece_of(events)
    }

    /// The piece after the last one that arrived, once: the end of a stream that has none, or the error that
    /// the answer broke off.
    fn last_piece(&mut self) -> Option<Result<StreamPiece, Failure>> {
        let StreamBody::Arrived { is_cut } = self.body else { return None };
        self.body = StreamBody::Ended;
        if !self.assembler.is_finished() {
            // An unreadable stream may be whole, unless its connection broke. It is not translated.
            let is_broken = is_cut || self.reader.is_some() || self.translator.is_some();
            return is_broken.then(|| Err(self.broken()));
        }
        let piece = match (&mut self.translator, self.pending.sent_api) {
            (Some(translator), _) => piece_of(translator.finish()),
            (None, _) if self.head.encoded => return None,
            // Clients of Anthropic's take a message without it for one that broke off.
            (None, Api::Messages) if !self.assembler.is_done() => piece_of(vec![api::message_stop()]),
            (None, _) => self.unended(),
        };
        (!piece.bytes.is_empty()).then_some(Ok(piece))
    }

    /// The end of a stream that lacks the end of its line. Clients cannot use any other unfinished event.
    fn unended(&self) -> StreamPiece {
        let rest = self.reader.as_ref().map(EventReader::unfinished).unwrap_or_default();
        let is_end = rest.trim_ascii_end().ends_with(DONE_DATA.as_bytes());
        StreamPiece { bytes: Bytes::copy_from_slice(if is_end { rest } else { b"" }), events: Vec::new() }
    }

    /// The next piece as the provider sent it.
    async fn arrived(&mut self) -> Option<StreamPiece> {
        let arrived = match &mut self.body {
            // One that stays open after its end is given up: nothing of the answer is missing.
            StreamBody::Arriving(response) if self.assembler.is_done() => {
                tokio::time::timeout(CLOSE_TIMEOUT, response.piece()).await.unwrap_or(Ok(None))
            }
            StreamBody::Arriving(response) => response.piece().await,
            StreamBody::Whole(bytes, answer) => {
                let bytes = bytes.take()?;
                return Some(StreamPiece { bytes, events: vec![Event::Whole(answer.clone())] });
            }
            StreamBody::Arrived { .. } | StreamBody::Ended => return None,
        };
        let is_cut = arrived.is_err();
        match arrived {
            Ok(Some(bytes)) => return Some(self.read(bytes)),
            Err(failed) if !self.assembler.is_finished() => {
                self.failure.get_or_insert_with(|| Failure::broken(&self.pending.target, &failed, b"", None));
            }
            // Nothing of the answer can be missing.
            Ok(None) | Err(_) => {}
        }
        self.body = StreamBody::Arrived { is_cut };
        None
    }

    /// The whole events of a piece, up to one by which the answer breaks off. Bytes that cannot be read are
    /// passed on all the same.
    fn read(&mut self, piece: Bytes) -> StreamPiece {
        let Some(reader) = &mut self.reader else { return StreamPiece { bytes: piece, events: Vec::new() } };
        let read = reader.read(piece.clone());
        let ReadEvents { mut bytes, events: found, is_cut } = match read {
            Ok(read) => read,
            Err(cut) => {
                self.reader = None;
                self.failure = Some(match cut {
                    Truncation::Limit => Failure::answer_too_long(&self.pending.target, self.limit),
                    Truncation::Failed(failed) => Failure::broken(&self.pending.target, &failed, b"", None),
                });
                return StreamPiece { bytes: piece, events: Vec::new() };
            }
        };
        if let Some(reader) = self.reader.take_if(|_| is_cut) {
            // With later events, the answer would lack a part in the middle.
            self.failure = Some(Failure::answer_too_long(&self.pending.target, self.limit));
            bytes = [&bytes, reader.unfinished()].concat().into();
        }
        let (mut events, mut passed) = (Vec::new(), 0);
        for ParsedEvent { name, data, end } in found {
            let event = self.event(&name, data);
            let breaks =
                self.assembler.error().is_some() || self.assembler.is_done() && !self.assembler.is_finished();
            if !breaks || self.is_failure_told || self.translator.is_some() {
                events.extend(event);
                passed = end;
            }
            if breaks {
                self.body = StreamBody::Arrived { is_cut: false };
                bytes.truncate(passed);
                return StreamPiece { bytes: if self.head.encoded { Bytes::new() } else { bytes }, events };
            }
        }
        StreamPiece { bytes: if self.head.encoded { piece } else { bytes }, events }
    }

    /// Adds an event to the answer, and returns it; the end of a stream only if the answer came to its end.
    fn event(&mut self, name: &str, data: String) -> Option<Event> {
        if data == DONE_DATA {
            self.assembler.done();
            return self.assembler.is_finished().then_some(Event::Done);
        }
        let parsed = Object::parse(&data);
        if let Ok(chunk) = &parsed {
            self.assembler.add(chunk);
            self.is_failure_told = self.pending.sent_api.is_error_event(name, chunk);
        }
        if name == ERROR_NAME {
            self.assembler.fail(parsed.as_ref().unwrap_or(&described(&data)));
        }
        Some(parsed.map_or(Event::Data(data), Event::Chunk))
    }

    /// The reason why an answer broke off: the provider's error, else the way it ended.
    fn broken(&self) -> Failure {
        let PendingRequest { target, key, .. } = &self.pending;
        if let Some(error) = self.assembler.error() {
            return Failure::in_stream(target, error, key.as_ref());
        }
        // An error after the events that is no event itself, as Ollama sends it.
        let rest = self.reader.as_ref().map(EventReader::unfinished).unwrap_or_default();
        if let Some(error) = Object::parse_bytes(rest).ok().as_ref().and_then(api::reported_error) {
            return Failure::in_stream(target, &error, key.as_ref());
        }
        self.failure.clone().unwrap_or_else(|| Failure::unfinished(target))
    }

    /// The line of an event, with `rsv`, which has the trace: none for one that is not part of a stream.
    pub fn line(&self, event: Event) -> Option<Object> {
        let mut line = match event {
            Event::Chunk(chunk) => chunk,
            Event::Data(data) => {
                let mut line = Object::default();
                line.set_text("kind", "chunk");
                line.set_text("data", &data);
                line
            }
            Event::Done | Event::Whole(_) => return None,
        };
        // The next tool must never take an event for a record to store.
        let plain = line.get("object") == Some("\"chat.completion.chunk\"") && line.has("choices");
        if !plain || line.has("kind") || line.has("messages") {
            line.set_text("kind", "chunk");
        }
        line.take("rsv");
        if let Some(trace) = self.pending.rsv.get("trace_id") {
            line.set("rsv", format!("{{\"trace_id\":{trace}}}"));
        }
        Some(line)
    }

    /// Hangs up if there is more, and returns the outcome.
    pub fn end(mut self) -> StreamEnd {
        if let StreamBody::Whole(_, answer) = self.body {
            self.pending.log_answer(&self.diagnostics, &answer);
            return match self.pending.translated(answer) {
                Ok(answer) => StreamEnd {
                    response: Some(self.pending.complete(
                        answer,
                        self.head.status,
                        &self.truncation_detector,
                    )),
                    failure: None,
                },
                Err(failure) => StreamEnd { response: None, failure: Some(failure) },
            };
        }
        let failure = if !self.assembler.is_finished() {
            Some(self.broken())
        } else if self.assembler.is_truncated() {
            Some(Failure::answer_too_long(&self.pending.target, self.limit))
        } else {
            self.failure
        };
        if failure.is_some() {
            self.pending.rsv.set("partial", "true");
        }
        let response = self.assembler.finish().map(|mut answer| {
            self.pending.log_answer(&self.diagnostics, &answer);
            // Its events had a choice.
            if let Ok(translated) = self.pending.translated(answer.clone()) {
                answer = translated;
            }
            if failure.is_some() {
                api::mark_broken(&mut answer);
            }
            mark_kind(&mut answer);
            self.pending.complete(answer, self.head.status, &self.truncation_detector)
        });
        StreamEnd { response, failure }
    }
}

/// Events of the client's API as a piece.
fn piece_of(events: Vec<Object>) -> StreamPiece {
    StreamPiece { bytes: api::to_sse(&events).into(), events: events.into_iter().map(Event::Chunk).collect() }
}

/// An error that is only described.
fn described(text: &str) -> Object {
    let mut error = Object::default();
    error.set_text("message", text);
    error
}
