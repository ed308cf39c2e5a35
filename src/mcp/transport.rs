//! The messages of a client: one a line, or a batch in one line, which the protocol of 2025-03-26 has and no
//! other.
//!
//! By hand, since rmcp's transport refuses every batch. The requests of a batch are worked on like any
//! others; their answers wait for each other, and are sent in one array. A request that is cancelled gets no
//! answer there either.

use super::batch::{Batches, Reading};
use rmcp::model::{ClientNotification, JsonRpcMessage, ProtocolVersion, ServerResult};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;
use tokio_util::bytes::BytesMut;
use tokio_util::codec::{Decoder, LinesCodec};

/// The protocol that has batches.
const BATCHING: ProtocolVersion = ProtocolVersion::V_2025_03_26;

/// Reads lines of an input, and writes lines to an output.
pub(super) struct LineTransport<R, W> {
    input: R,
    buffer: BytesMut,
    lines: LinesCodec,
    /// None once it is closed.
    output: Arc<Mutex<Option<W>>>,
    /// The messages that were read and not received yet.
    received: VecDeque<RxJsonRpcMessage<RoleServer>>,
    batches: Batches,
    /// A line that is being written while messages are received.
    writing: Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send>>>,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> LineTransport<R, W> {
    /// A line of more than `max_line` bytes is passed over.
    pub(super) fn new(input: R, output: W, max_line: usize) -> LineTransport<R, W> {
        LineTransport {
            input,
            buffer: BytesMut::new(),
            lines: LinesCodec::new_with_max_length(max_line),
            output: Arc::new(Mutex::new(Some(output))),
            received: VecDeque::new(),
            batches: Batches::default(),
            writing: None,
        }
    }

    /// The next line; `None` at the end of the input, or if it cannot be read. One that is too long, or no
    /// text, is left out. Dropping the call loses no input.
    async fn next_line(&mut self) -> Option<String> {
        loop {
            match self.lines.decode(&mut self.buffer) {
                Ok(Some(line)) => return Some(line),
                Ok(None) => {}
                Err(_) => continue,
            }
            // A client whose input breaks off has gone, as at its end: no answer would reach it.
            if self.input.read_buf(&mut self.buffer).await.ok()? == 0 {
                return None;
            }
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
            let Reading { messages, answer } = self.batches.read(&line);
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
