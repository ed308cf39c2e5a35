//! An answer as it arrives: its bytes, and the events in them.

use super::answer::{mark_kind, read_answer};
use super::event_parser::EventParser;
use super::failure::Failure;
use super::gatherer::Gatherer;
use super::pending_request::PendingRequest;
use super::truncation_detector::TruncationDetector;
use crate::api::{self, EventTranslator};
use crate::cli::Diagnostics;
use crate::http::{self, Decoder, HeaderMap, HeaderValue, Response, Truncation};
use crate::record::{GrowingText, Object};
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// The data of the last event of a stream.
const DONE_DATA: &str = "[DONE]";
/// The time that the connection may take to end after that, so that it can be reused.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(100);

/// A streamed answer in transit. Dropping it closes the connection to the provider.
pub struct Stream {
    head: AnswerHead,
    body: StreamBody,
    pending: PendingRequest,
    truncation_detector: Arc<TruncationDetector>,
    diagnostics: Diagnostics,
    reading: Option<EventReader>,
    /// Turns events into those of the client's API.
    translator: Option<EventTranslator>,
    assembler: Gatherer,
    limit: usize,
    failure: Option<Failure>,
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

/// The source of pieces.
enum StreamBody {
    Arriving(Response),
    /// The provider did not stream: the answer as it was sent, and parsed.
    Whole(Option<Bytes>, Object),
    Ended,
}

/// Turns pieces into events.
struct EventReader {
    decoder: Decoder,
    events: EventParser,
}

/// A piece of an answer.
#[derive(Debug)]
pub struct StreamPiece {
    /// The exact bytes from the provider.
    pub bytes: Bytes,
    /// The events that end in it.
    pub events: Vec<Event>,
}

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

/// The outcome of a stream.
#[derive(Clone, PartialEq, Debug)]
pub struct StreamEnd {
    /// The response as if it had not been streamed, with `rsv`, in which `partial` marks one that broke off; none if
    /// nothing of an answer arrived, or the answer was discarded.
    pub response: Option<Object>,
    /// The reason why it is incomplete.
    pub failure: Option<Failure>,
}

impl Stream {
    /// Takes an answer that the provider calls good: events, or a whole answer in their place.
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
            // Its body is written anew.
            head.encoded = false;
            head.headers.remove("content-encoding");
            head.headers.insert("content-type", HeaderValue::from_static("text/event-stream"));
        }
        let kind = response.content_type().unwrap_or_default();
        let streamed = kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream");
        let decoder = Decoder::for_encoding(response.content_encoding());
        let (body, reading) = if streamed {
            let events = EventParser::new(limit);
            (StreamBody::Arriving(response), Some(EventReader { decoder, events }))
        } else {
            (whole(response, decoder, &pending, limit).await?, None)
        };
        let assembler = Gatherer::new(pending.sent_api, Some(limit));
        Ok(Stream {
            head,
            body,
            pending,
            truncation_detector,
            diagnostics,
            reading,
            translator,
            assembler,
            limit,
            failure: None,
        })
    }

    /// The head of the answer.
    pub fn head(&self) -> &AnswerHead {
        &self.head
    }

    /// Keeps nothing of the answer, which may then be of any length. In the end there is no response.
    pub fn discard_answer(&mut self) {
        self.assembler = Gatherer::new(self.pending.sent_api, None);
    }

    /// Waits for the next piece; `None` at the end. An error, which is the last item, means that the answer broke off,
    /// or that its next piece took too long.
    pub async fn next(&mut self) -> Option<Result<StreamPiece, Failure>> {
        loop {
            let piece = match self.arrived().await {
                Some(Ok(piece)) => piece,
                None => return self.last_piece().map(Ok),
                failed => return failed,
            };
            let piece = self.translated(piece);
            if !piece.bytes.is_empty() {
                return Some(Ok(piece));
            }
        }
    }

    /// A piece in the client's API, empty if nothing of it concerns the client.
    fn translated(&mut self, piece: StreamPiece) -> StreamPiece {
        let Some(translator) = &mut self.translator else { return piece };
        let mut events = Vec::new();
        for event in &piece.events {
            match event {
                Event::Chunk(chunk) => events.extend(translator.chunk(chunk)),
                Event::Whole(answer) => {
                    events.extend(translator.chunk(answer));
                    events.extend(translator.finish());
                }
                Event::Done => events.extend(translator.finish()),
                Event::Data(_) => {}
            }
        }
        StreamPiece {
            bytes: api::to_sse(&events).into(),
            events: events.into_iter().map(Event::Chunk).collect(),
        }
    }

    /// The end of a translated stream whose provider did not mark its own.
    fn last_piece(&mut self) -> Option<StreamPiece> {
        let is_finished = matches!(self.body, StreamBody::Ended) && self.assembler.is_finished();
        let events = self.translator.as_mut().filter(|_| is_finished)?.finish();
        let bytes = api::to_sse(&events);
        (!bytes.is_empty()).then(|| StreamPiece {
            bytes: bytes.into(),
            events: events.into_iter().map(Event::Chunk).collect(),
        })
    }

    /// The next piece as the provider sent it.
    async fn arrived(&mut self) -> Option<Result<StreamPiece, Failure>> {
        let arrived = match &mut self.body {
            StreamBody::Arriving(response) if self.assembler.is_done() => {
                tokio::time::timeout(CLOSE_TIMEOUT, response.piece()).await.unwrap_or(Ok(None))
            }
            StreamBody::Arriving(response) => response.piece().await,
            StreamBody::Whole(bytes, answer) => {
                let bytes = bytes.take()?;
                return Some(Ok(StreamPiece { bytes, events: vec![Event::Whole(answer.clone())] }));
            }
            StreamBody::Ended => return None,
        };
        match arrived {
            Ok(Some(bytes)) => {
                let events = self.read(&bytes);
                Some(Ok(StreamPiece { bytes, events }))
            }
            Err(failed) if !self.assembler.is_finished() => {
                self.body = StreamBody::Ended;
                let failure = Failure::broken(&self.pending.target, &failed, b"", None);
                self.failure.get_or_insert_with(|| failure.clone());
                Some(Err(failure))
            }
            // Nothing of the answer can be missing.
            Ok(None) | Err(_) => {
                self.body = StreamBody::Ended;
                None
            }
        }
    }

    /// The events that end in a piece. Bytes that cannot be parsed are passed on all the same.
    fn read(&mut self, bytes: &Bytes) -> Vec<Event> {
        let Some(EventReader { decoder, events }) = &mut self.reading else { return Vec::new() };
        let (mut plain, mut found) = (Vec::new(), Vec::new());
        let mut cut = decoder.decode(bytes, &mut plain, self.limit).err();
        if events.feed(&plain, &mut found).is_err() {
            cut = Some(Truncation::Limit);
        }
        if let Some(cut) = cut {
            self.reading = None;
            self.failure = Some(match cut {
                Truncation::Limit => Failure::answer_too_long(&self.pending.target, self.limit),
                Truncation::Failed(failed) => Failure::broken(&self.pending.target, &failed, b"", None),
            });
        }
        found.into_iter().map(|data| self.event(data)).collect()
    }

    fn event(&mut self, data: String) -> Event {
        if data == DONE_DATA {
            self.assembler.done();
            return Event::Done;
        }
        match Object::parse(&data) {
            Ok(chunk) => {
                self.assembler.add(&chunk);
                Event::Chunk(chunk)
            }
            Err(_) => Event::Data(data),
        }
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
        // Whatever a provider sends, the next tool must not take it for a record to store.
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
        let PendingRequest { target, key, .. } = &self.pending;
        if let StreamBody::Whole(_, answer) = self.body {
            self.pending.log_answer(&self.diagnostics, &answer);
            let answer = match self.pending.translated(answer) {
                Ok(answer) => answer,
                Err(failure) => return StreamEnd { response: None, failure: Some(failure) },
            };
            return StreamEnd {
                response: Some(self.pending.complete(answer, self.head.status, &self.truncation_detector)),
                failure: None,
            };
        }
        let finished =
            self.assembler.is_finished() && !self.assembler.is_truncated() && self.failure.is_none();
        let error = self.assembler.error().map(|event| event.to_json());
        let failure = match error {
            Some(event) => Some(Failure::in_stream(target, event.as_bytes(), key.as_ref())),
            None if self.failure.is_some() => self.failure,
            None if self.assembler.is_truncated() => Some(Failure::answer_too_long(target, self.limit)),
            None if !finished => Some(Failure::unfinished(target)),
            None => None,
        };
        if !finished {
            self.pending.rsv.set("partial", "true");
        }
        let response = self.assembler.finish().map(|mut answer| {
            self.pending.log_answer(&self.diagnostics, &answer);
            // Its events had a choice.
            if let Ok(translated) = self.pending.translated(answer.clone()) {
                answer = translated;
            }
            mark_kind(&mut answer);
            self.pending.complete(answer, self.head.status, &self.truncation_detector)
        });
        StreamEnd { response, failure }
    }
}

/// Waits for all of an answer that is not streamed, and keeps it as it was sent, too.
async fn whole(
    mut response: Response,
    mut decoder: Decoder,
    pending: &PendingRequest,
    limit: usize,
) -> Result<StreamBody, Failure> {
    let (mut sent, mut bytes) = (Vec::new(), Vec::new());
    let cut = loop {
        match response.piece().await {
            Ok(None) => break None,
            Ok(Some(piece)) => {
                sent.extend_from_slice(&piece);
                if let Err(cut) = decoder.decode(&piece, &mut bytes, limit) {
                    break Some(cut);
                }
            }
            Err(failed) => break Some(Truncation::Failed(failed)),
        }
    };
    let answer = read_answer(&pending.target, &http::Body { bytes, cut }, pending.key.as_ref())?;
    Ok(StreamBody::Whole(Some(sent.into()), answer))
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
        let choices = chunk.objects("choices").ok().flatten().unwrap_or_default();
        let first = choices.iter().find(|choice| choice.get("index").unwrap_or("0") == "0");
        let message = first.and_then(|first| {
            let member = |name| first.object(name).ok().flatten();
            member("delta").or_else(|| member("message"))
        });
        api::push_content(&message.unwrap_or_default(), to);
    }
}
