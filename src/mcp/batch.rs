//! Batches of messages (JSON-RPC 2.0, section 6) of the protocol of 2025-03-26, which forbids `initialize` in
//! one.

use super::error::McpError;
use super::message::{self, Refusal};
use crate::error::Error;
use crate::record::RecordError;
use rmcp::model::{ClientRequest, ErrorCode, JsonRpcMessage, RequestId};
use rmcp::service::{RoleServer, RxJsonRpcMessage};
use serde_json::value::RawValue;

/// The byte order mark, which Windows puts in front of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

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
    /// Text that cannot be read.
    pub(super) faults: Vec<Error>,
}

impl Reading {
    /// The reading of a line that is refused as a whole.
    pub(super) fn refused(refusal: Refusal) -> Reading {
        let mut reading = Reading { answer: Some(refusal.to_json()), ..Reading::default() };
        reading.note(refusal);
        reading
    }

    fn note(&mut self, refusal: Refusal) {
        self.faults.extend((refusal.code == ErrorCode::PARSE_ERROR).then_some(refusal.reason));
    }
}

impl Batches {
    /// Says whether the protocol of the session has batches.
    pub(super) fn allow(&mut self, are_allowed: bool) {
        self.are_allowed = are_allowed;
    }

    /// Reads a line of a client.
    pub(super) fn read(&mut self, line: &[u8]) -> Reading {
        let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii();
        let read = match line.first() {
            None => return Reading::default(),
            Some(b'[') => self.read_batch(line),
            Some(_) => message::read(line)
                .map(|message| Reading { messages: message.into_iter().collect(), ..Reading::default() }),
        };
        read.unwrap_or_else(Reading::refused)
    }

    fn read_batch(&mut self, line: &[u8]) -> Result<Reading, Refusal> {
        let elements: Vec<&RawValue> = serde_json::from_slice(line)
            .map_err(|error| Refusal::unreadable(line, RecordError::Json { error }))?;
        if !self.are_allowed {
            return Err(Refusal::invalid(line, McpError::Batch));
        }
        if elements.is_empty() {
            return Err(Refusal::invalid(line, McpError::EmptyBatch));
        }
        let mut reading = Reading::default();
        let mut batch = Batch { pending: Vec::new(), answers: Vec::new() };
        for element in elements.into_iter().map(|element| element.get().as_bytes()) {
            match message::read(element) {
                Ok(Some(JsonRpcMessage::Request(request))) => {
                    let is_initialize = matches!(request.request, ClientRequest::InitializeRequest(_));
                    let is_pending = |batch: &Batch| batch.pending.contains(&request.id);
                    if is_initialize || is_pending(&batch) || self.open.iter().any(is_pending) {
                        let refusal = Refusal::invalid(element, McpError::Repeated);
                        batch.answers.push(refusal.to_json_in_batch());
                    } else {
                        batch.pending.push(request.id.clone());
                        reading.messages.push(JsonRpcMessage::Request(request));
                    }
                }
                Ok(message) => reading.messages.extend(message),
                Err(refusal) => {
                    batch.answers.push(refusal.to_json_in_batch());
                    reading.note(refusal);
                }
            }
        }
        if batch.pending.is_empty() {
            reading.answer = batch.into_line();
        } else {
            self.open.push(batch);
        }
        Ok(reading)
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
