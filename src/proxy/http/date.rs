//! Keeps connections from hyper as long as it cannot date their responses. hyper reads the system's clock
//! whenever it polls a connection, and panics if HTTP cannot express the time, which is limited to 1970 to
//! 9999. Before 1970 it continues with the last date of its thread, if there was one.

use super::response;
use crate::record::Clock;
use hyper::StatusCode;
use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, SystemTime};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy, sink};
use tokio::time::timeout;

thread_local! {
    /// Whether hyper has a date in this thread.
    static HAS_DATE: Cell<bool> = const { Cell::new(false) };
}

/// The error of a request that cannot be answered.
const NO_DATE: &str = "the clock is not between the years 1970 and 9999, so that no response can be dated";

/// Whether hyper can date responses in this thread at present, and does not panic.
pub(in crate::proxy) fn is_valid() -> bool {
    let is_before_1970 = SystemTime::now() < SystemTime::UNIX_EPOCH;
    is_before_1970 && HAS_DATE.get() || Clock::default().check().is_ok()
}

/// Serves a connection to its end, or until its responses cannot be dated.
pub(in crate::proxy) async fn serve_while_valid(connection: impl Future<Output = hyper::Result<()>>) {
    let mut connection = pin!(connection);
    poll_fn(|cx| {
        if !is_valid() {
            return Poll::Ready(());
        }
        HAS_DATE.set(true);
        // It is no error of ours if a client hangs up, or does not speak HTTP.
        connection.as_mut().poll(cx).map(drop)
    })
    .await;
}

/// Answers every request of a client with 503, and waits at most `limit` until it has hung up.
pub(in crate::proxy) async fn refuse(mut stream: impl AsyncRead + AsyncWrite + Unpin, limit: Duration) {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let body = response::openai_error_body(status, "clock", NO_DATE);
    let mut head = format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in response::SAFETY_HEADERS {
        head += &format!("{name}: {value}\r\n");
    }
    let refused = async {
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).await?;
        stream.shutdown().await?;
        // A connection that is closed with unread bytes is reset, and the answer could be lost.
        copy(&mut stream, &mut sink()).await
    };
    let _ = timeout(limit, refused).await;
}
