//! The messages of a client: one a line, or a batch in one line, which the protocol of 2025-03-26 has and no
//! other.
//!
//! By hand, since rmcp's transport refuses every batch, and drops a line that it cannot read, so that a
//! client waits for the answer. The requests of a batch are worked on like any others; their answers wait for
//! each other, and are sent in one array. A request that is cancelled gets no answer there either.

use super::batch::{Batches, Reading};
use super::message::Refusal;
use crate::cli::Diagnostics;
use crate::lines::{SourceLocation, too_long};
use rmcp::model::{ClientNotification, JsonRpcMessage, ProtocolVersion, ServerResult};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;
use tokio_util::bytes::{Bytes, BytesMut};
use tokio_util::codec::{AnyDelimiterCodec, Decoder};

/// The protocol that has batches.
const BATCHING: ProtocolVersion = ProtocolVersion::V_2025_03_26;

/// Reads lines of an input, and writes lines to an output.
pub(super) struct LineTransport<R, W> {
    input: R,
    buffer: BytesMut,
    lines: AnyDelimiterCodec,
    /// The number of lines that were read.
    line: u64,
    /// Whether all of the input is in the buffer.
    is_at_end: bool,
    diagnostics: Diagnostics,
    /// None once it is closed.
    output: Arc<Mutex<Option<W>>>,
    /// The messages that were read and not received yet.
    received: VecDeque<RxJsonRpcMessage<RoleServer>>,
    batches: Batches,
    /// A line that is being written while messages are received.
    writing: Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send>>>,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> LineTransport<R, W> {
    /// A line of more than `max_line` bytes is refused, as one that cannot be read; `diagnostics` names both.
    pub(super) fn new(input: R, output: W, max_line: usize, diagnostics: Diagnostics) -> LineTransport<R, W> {
        LineTransport {
            input,
            buffer: BytesMut::new(),
            lines: AnyDelimiterCodec::new_with_max_length(b"\n".to_vec(), Vec::new(), max_line),
            line: 0,
            is_at_end: false,
            diagnostics,
            output: Arc::new(Mutex::new(Some(output))),
            received: VecDeque::new(),
            batches: Batches::default(),
            writing: None,
        }
    }

    /// The next line; `None` at the end of the input, or if it cannot be read. Errors if it is too long.
    /// Dropping the call loses no input.
    async fn next_line(&mut self) -> Option<Result<Bytes, Refusal>> {
        loop {
            let decode =
                if self.is_at_end { AnyDelimiterCodec::decode_eof } else { AnyDelimiterCodec::decode };
            match decode(&mut self.lines, &mut self.buffer) {
                Ok(Some(line)) => return Some(Ok(line)),
                Ok(None) if self.is_at_end => return None,
                Ok(None) => {}
                Err(_) => {
                    let error = too_long(self.lines.max_length()).at("message");
                    return Some(Err(Refusal::unreadable(&self.buffer, error)));
                }
            }
            // A client whose input breaks off has gone, as at its end: no answer would reach it.
            self.is_at_end = self.input.read_buf(&mut self.buffer).await.ok()? == 0;
        }
    }

    /// Has a line written before the next message is received.
    fn write_first(&mut self, line: String) {
        self.writing = Some(Box::pin(write(self.output.clone(), line)));
    }

    /// The line that a message of the server's completes, if it completes one.
    fn completed_by(&mut self, message: &TxJsonRpcMessage<RoleServer>) -> io::Result<Option<String>> {
        let id = match message {
            JsonRpcMessage::Response(response) => {
                if let ServerResult::InitializeResult(begun) = &response.result {
                    self.batches.allow(begun.protocol_version == BATCHING);
                }
                Some(&response.id)
            }
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        let json = serde_json::to_string(message)?;
        Ok(match id {
            Some(id) => self.batches.answered(id, json),
            None => Some(json),
        })
    }
}

async fn write<W: AsyncWrite + Unpin>(output: Arc<Mutex<Option<W>>>, mut line: String) -> io::Result<()> {
    // Held until the line is whole: the lines of calls do not mix.
    let mut output = output.lock().await;
    let Some(output) = &mut *output else { return Err(io::ErrorKind::NotConnected.into()) };
    line.push('\n');
    output.write_all(line.as_bytes()).await?;
    output.flush().await
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let completed = self.completed_by(&message);
        let output = self.output.clone();
        async move {
            match completed? {
                Some(line) => write(output, line).await,
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(writing) = &mut self.writing {
                let written = writing.await;
                self.writing = None;
                // The output is closed: nobody reads the answers to further messages.
                written.ok()?;
            }
            if let Some(message) = self.received.pop_front() {
                if let JsonRpcMessage::Notification(sent) = &message
                    && let ClientNotification::CancelledNotification(cancelled) = &sent.notification
                    && let Some(id) = &cancelled.params.request_id
                    && let Some(line) = self.batches.cancelled(id)
                {
                    self.write_first(line);
                }
                return Some(message);
            }
            let line = self.next_line().await?;
            self.line += 1;
            let reading = line.map_or_else(Reading::refused, |line| self.batches.read(&line));
            let Reading { messages, answer, faults } = reading;
            for fault in faults {
                self.diagnostics.fault(&fault.at(SourceLocation::new("<stdin>".into(), self.line)));
            }
            self.received.extend(messages);
            if let Some(line) = answer {
                self.write_first(line);
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        *self.output.lock().await = None;
        Ok(())
    }
}
