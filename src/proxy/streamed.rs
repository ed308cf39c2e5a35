//! A turn whose answer is streamed: its bytes go to the client as they come, and what they say is stored when they
//! end, or break off.

use super::Proxy;
use super::answer::{self, Answer};
use super::turn::{Asked, Begun};
use crate::forward::{Failure, Stream};
use crate::record::{Object, StoredRecord, quote};
use bytes::Bytes;
use hyper::StatusCode;
use hyper::body::{Body, Frame};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// So many pieces wait for a slow client before its provider has to wait.
const AHEAD: usize = 16;

/// What a client is sent, as it comes.
struct Coming(Receiver<Result<Bytes, Broken>>);

/// There should have been more.
#[derive(Debug)]
struct Broken;

impl std::error::Error for Broken {}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer broke off")
    }
}

impl Body for Coming {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}

impl Proxy {
    /// The answer to a turn as it arrives, and what enrichment did. `client` lives as long as the client waits.
    pub(super) async fn streamed(
        self: &Arc<Proxy>,
        asked: Asked,
        client: Arc<()>,
    ) -> (Answer, Option<StoredRecord>) {
        let caller = asked.caller.clone();
        let (begun, enriched) = match self.begin(asked).await {
            Ok(begun) => begun,
            Err(failure) => return (answer::failure(&failure), None),
        };
        let account = Some(enriched.account);
        let strict = self.settings.boolean("enrich.strict") == Some(true);
        match enriched.too_long {
            Some(error) if strict => return (answer::failure(&Failure::too_long(&error)), account),
            Some(_) => {
                self.keep(begun, &enriched.line).await;
                return (answer::events(StatusCode::OK, as_events(&enriched.line)), account);
            }
            None => {}
        }
        let stream = match self.forwarder.stream(enriched.line, &caller, &self.clock).await {
            Ok(stream) => stream,
            Err(failure) => return (answer::failure(&failure), account),
        };
        let (to, body) = channel(AHEAD);
        let answer = answer::stream(stream.head(), Coming(body));
        let proxy = self.clone();
        tokio::spawn(async move { proxy.pump(begun, stream, to, client).await });
        (answer, account)
    }

    /// Passes the pieces on until they end, or nobody takes them any more; then has the turn stored.
    async fn pump(
        self: Arc<Proxy>,
        begun: Begun,
        mut stream: Stream,
        to: Sender<Result<Bytes, Broken>>,
        client: Arc<()>,
    ) {
        let mut waits = true;
        loop {
            let piece = tokio::select! {
                piece = stream.next() => piece,
                () = to.closed() => {
                    waits = false;
                    break;
                }
            };
            let last = match piece {
                Some(Ok(piece)) => {
                    if to.send(Ok(piece.bytes)).await.is_err() {
                        waits = false;
                        break;
                    }
                    continue;
                }
                // What is encoded cannot be added to, and must not look whole.
                Some(Err(_)) if stream.head().encoded => Err(Broken),
                Some(Err(failure)) => Ok(event_of(&failure).into()),
                None => break,
            };
            let _ = to.send(last).await;
            break;
        }
        drop(to);
        let end = stream.end();
        end.failure.iter().for_each(|failure| self.notes.detail(&failure.message));
        // Whether somebody waits decides whether a turn that was asked for again is stored.
        let _client = waits.then_some(client);
        if let Some(response) = end.response {
            self.keep(begun, &response).await;
        }
    }
}

/// What a client is told in the stream when its provider broke off.
fn event_of(failure: &Failure) -> String {
    let (message, code) = (quote(&failure.message), quote(failure.code));
    format!("\n\ndata: {{\"error\":{{\"message\":{message},\"type\":\"api_error\",\"code\":{code}}}}}\n\n")
}

/// A whole answer as the events of a stream: one chunk, and the end.
fn as_events(answer: &Object) -> String {
    let mut chunk = answer.clone();
    chunk.take("rsv");
    chunk.set_text("object", "chat.completion.chunk");
    let choices = answer.get("choices").unwrap_or("[]").replacen("\"message\":", "\"delta\":", 1);
    chunk.set("choices", choices);
    format!("data: {}\n\ndata: [DONE]\n\n", chunk.to_json())
}
