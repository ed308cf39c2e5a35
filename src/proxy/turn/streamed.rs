//! A turn whose answer is streamed: its bytes are sent to the client as they arrive, and the answer is stored
//! when they end or break off.

use super::chat_request::ChatRequest;
use super::memory_headers::TurnReport;
use super::pipeline::{ActiveTurn, TurnPipeline};
use crate::forward::{Event, Failure, Stream};
use crate::proxy::config::ProxyConfig;
use crate::proxy::http::{HttpResponse, response};
use crate::record::Object;
use bytes::Bytes;
use futures_util::TryStreamExt;
use futures_util::stream::poll_fn;
use http_body_util::StreamBody;
use hyper::StatusCode;
use hyper::body::Frame;
use std::sync::Arc;
use tokio::sync::mpsc::{Sender, channel};

/// The number of pieces that are buffered for a slow client before its provider has to wait.
const BUFFERED_PIECES: usize = 16;

/// The stream ended before its end.
#[derive(Debug, thiserror::Error)]
#[error("the answer broke off")]
pub(super) struct BrokenStream;

/// Runs a turn. Returns the response, which is sent as the answer arrives, and what memory did. `client`
/// lives as long as the client waits.
pub(super) async fn run(
    pipeline: &Arc<TurnPipeline>,
    config: &Arc<ProxyConfig>,
    request: ChatRequest,
    client: Arc<()>,
) -> (HttpResponse, Option<TurnReport>) {
    let caller = request.caller.clone();
    let (turn, mut enriched) = match pipeline.begin(request).await {
        Ok(started) => started,
        Err(failure) => return (response::failure(&failure), None),
    };
    let report = Some(TurnReport::take(&mut enriched));
    match enriched.too_long {
        Some(error) if pipeline.is_strict() => {
            return (response::failure(&Failure::too_long(&error)), report);
        }
        Some(_) => {
            pipeline.keep(turn, &enriched.line).await;
            return (response::events(StatusCode::OK, as_events(&enriched.line)), report);
        }
        None => {}
    }
    let stream = match pipeline.stream(enriched.line, &caller).await {
        Ok(stream) => stream,
        Err(failure) => return (response::failure(&failure), report),
    };
    let (sender, mut receiver) = channel(BUFFERED_PIECES);
    let pieces = poll_fn(move |context| receiver.poll_recv(context));
    let response = response::stream(stream.head(), StreamBody::new(pieces.map_ok(Frame::data)));
    let relay = Relay { pipeline: pipeline.clone(), turn, stream, sender, client, config: config.clone() };
    tokio::spawn(relay.run());
    (response, report)
}

/// A stream on its way to its client.
struct Relay {
    pipeline: Arc<TurnPipeline>,
    turn: ActiveTurn,
    stream: Stream,
    sender: Sender<Result<Bytes, BrokenStream>>,
    client: Arc<()>,
    config: Arc<ProxyConfig>,
}

impl Relay {
    /// Sends the pieces until they end, or the client leaves, and has the turn stored: after the last piece,
    /// or before it, if the turn is stored first.
    async fn run(mut self) {
        let stores_first = self.config.stores_first();
        let (last, is_awaited) = self.send_pieces(stores_first).await;
        let sender = self.sender;
        let send_last = async move {
            for piece in last {
                // It is no error of ours if the client has left.
                let _ = sender.send(piece).await;
            }
        };
        let end = self.stream.end();
        if let Some(failure) = &end.failure {
            self.config.diagnostics.detail(&failure.message);
        }
        // Whether the client waits decides whether a turn that was attempted again is stored.
        let _client = is_awaited.then_some(self.client);
        let keep = async move {
            if let Some(response) = end.response {
                self.pipeline.keep(self.turn, &response).await;
            }
        };
        if stores_first {
            keep.await;
            send_last.await;
        } else {
            send_last.await;
            keep.await;
        }
    }

    /// Sends the pieces as they arrive, until they end or the client leaves. Returns those that are still to
    /// be sent, the end of the answer or its failure, and whether the client still waits.
    async fn send_pieces(&mut self, stores_first: bool) -> (Vec<Result<Bytes, BrokenStream>>, bool) {
        let mut last = Vec::new();
        loop {
            let piece = tokio::select! {
                piece = self.stream.next() => piece,
                () = self.sender.closed() => {
                    return (last, false);
                }
            };
            match piece {
                Some(Ok(piece))
                    if stores_first && (!last.is_empty() || piece.events.iter().any(Event::is_last)) =>
                {
                    last.push(Ok(piece.bytes));
                }
                Some(Ok(piece)) => {
                    if self.sender.send(Ok(piece.bytes)).await.is_err() {
                        return (last, false);
                    }
                }
                // An encoded stream cannot be added to, and must not look whole.
                Some(Err(_)) if self.stream.head().encoded => {
                    last.push(Err(BrokenStream));
                    break;
                }
                Some(Err(failure)) => {
                    last.extend(self.stream.failure_event(&failure).map(|event| Ok(event.into())));
                    break;
                }
                None => break,
            }
        }
        (last, true)
    }
}

/// A whole answer of rsv's own, which has choices, as the events of a stream: one chunk, and the end.
fn as_events(answer: &Object) -> String {
    let mut chunk = answer.clone();
    chunk.take("rsv");
    chunk.set_text("object", "chat.completion.chunk");
    let choices = answer.get("choices").unwrap_or("[]").replacen("\"message\":", "\"delta\":", 1);
    chunk.set("choices", choices);
    format!("data: {}\n\ndata: [DONE]\n\n", chunk.to_json())
}
