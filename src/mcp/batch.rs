//! Batches of messages (JSON-RPC 2.0, section 6) of the protocol of 2025-03-26, which forbids `initialize` in
//! one.

use crate::record::{Object, quote};
use rmcp::ErrorData;
use rmcp::model::{ClientRequest, JsonRpcMessage, NumberOrString, RequestId};
use rmcp::service::{RoleServer, RxJsonRpcMessage};
use rmcp::transport::async_rw::{JsonRpcMessageCodec, JsonRpcMessageCodecError};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio_util::bytes::BytesMut;
use tokio_util::codec::Decoder;

/// The batches whose requests are not all answered.
#[derive(Default)]
pub(super) struct Batches {
    are_allowed: bool,
    open: Vec<Batch>,
}

struct Batch {
    pending: Vec<RequestId>,
    /// The answers so far, as JSON.
    answers: Vec<String>,
}

/// The contents of a line.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) messages: Vec<RxJsonRpcMessage<RoleServer>>,
    /// The line that answers at once.
    pub(super) answer: Option<String>,
}

/// A text that is no message of the protocol.
struct Invalid;

impl Batches {
    /// Says whether the protocol of the session has batches.
    pub(super) fn allow(&mut self, are_allowed: bool) {
        self.are_allowed = are_allowed;
    }

    /// Reads a line of a client.
    pub(super) fn read(&mut self, line: &str) -> Reading {
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.starts_with('[') {
            return self.read_batch(line);
        }
        match parse(line) {
            Ok(message) => Reading { messages: message.into_iter().collect(), answer: None },
            Err(Invalid) => Reading { messages: Vec::new(), answer: Some(refusal(None)) },
        }
    }

    fn read_batch(&mut self, line: &str) -> Reading {
        let mut reading = Reading::default();
        let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(line) else { return reading };
        if !self.are_allowed {
            reading.answer = Some(refusal(None));
            return reading;
        }
        if elements.is_empty() {
            reading.answer = Some(refusal(Some("null")));
            return reading;
        }
        let mut batch = Batch { pending: Vec::new(), answers: Vec::new() };
        for element in elements.into_iter().map(RawValue::get) {
            match parse(element) {
                Ok(Some(JsonRpcMessage::Request(request))) => {
                    let is_initialize = matches!(request.request, ClientRequest::InitializeRequest(_));
                    let is_pending = |batch: &Batch| batch.pending.contains(&request.id);
                    if is_initialize || is_pending(&batch) || self.open.iter().any(is_pending) {
                        batch.answers.push(refusal(Some(&json_of(&request.id))));
                    } else {
                        batch.pending.push(request.id.clone());
                        reading.messages.push(JsonRpcMessage::Request(request));
                    }
                }
                Ok(message) => reading.messages.extend(message),
                Err(Invalid) => batch.answers.push(refusal(Some(&id_of(element)))),
            }
        }
        if batch.pending.is_empty() {
            reading.answer = batch.into_line();
        } else {
            self.open.push(batch);
        }
        reading
    }

    /// The line that the answer to a request completes: itself, or the array of the batch that the request is
    /// in.
    pub(super) fn answered(&mut self, id: &RequestId, json: String) -> Option<String> {
        match self.take(id) {
            None => Some(json),
            Some(at) => {
                self.open[at].answers.push(json);
                self.completed(at)
            }
        }
    }

    /// The line that is complete without the answer to a request that was cancelled.
    pub(super) fn cancelled(&mut self, id: &RequestId) -> Option<String> {
        let at = self.take(id)?;
        self.completed(at)
    }

    /// Takes a request out of those that are pending; returns the place of its batch.
    fn take(&mut self, id: &RequestId) -> Option<usize> {
        let at = self.open.iter().position(|batch| batch.pending.contains(id))?;
        self.open[at].pending.retain(|pending| pending != id);
        Some(at)
    }

    fn completed(&mut self, at: usize) -> Option<String> {
        self.open[at].pending.is_empty().then(|| self.open.remove(at))?.into_line()
    }
}

impl Batch {
    /// The answers in one array; `None` if there are none.
    fn into_line(self) -> Option<String> {
        (!self.answers.is_empty()).then(|| format!("[{}]", self.answers.join(",")))
    }
}

/// Reads a message; `None` for invalid JSON, or a notification that concerns another protocol.
fn parse(json: &str) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Invalid> {
    let mut line = BytesMut::from(json);
    line.extend_from_slice(b"\n");
    match JsonRpcMessageCodec::default().decode(&mut line) {
        Ok(message) => Ok(message),
        Err(JsonRpcMessageCodecError::Serde(error)) if error.is_data() => Err(Invalid),
        Err(_) => Ok(None),
    }
}

/// The answer to a request that is refused.
#[derive(Serialize)]
struct ErrorResponse<'a> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    error: ErrorData,
}

/// The refusal of an invalid request; `id` is JSON.
fn refusal(id: Option<&str>) -> String {
    let id = id.and_then(|id| serde_json::from_str(id).ok());
    let error = ErrorData::invalid_request("Invalid request", None);
    Object::of_value(&ErrorResponse { jsonrpc: "2.0", id, error }).into_json()
}

fn json_of(id: &RequestId) -> String {
    match id {
        NumberOrString::Number(number) => number.to_string(),
        NumberOrString::String(text) => quote(text),
    }
}

/// The id of an invalid request, as JSON; null if it has none.
fn id_of(json: &str) -> String {
    // JSON-RPC 2.0, section 5.1: the id of an error is null where none can be read.
    let request = Object::parse(json).unwrap_or_default();
    let id = request.get("id").filter(|_| request.has("method"));
    let is_id = |json: &&str| serde_json::from_str::<RequestId>(json).is_ok();
    id.filter(is_id).unwrap_or("null").to_owned()
}
