//! The one HTTP client: it follows no redirects, waits for a bounded time, and says in words what failed.

mod address;
mod blocking;
mod body;
mod client;
mod decode;
mod download;
mod failed;
mod headers;
mod loops;
mod relay;
mod response;
mod said;

pub use address::Address;
pub use blocking::{Blocking, Reply};
pub use body::{Body, Cut};
pub use client::{Client, RequestOptions};
pub use decode::{Decoder, offer};
pub use failed::{Failed, Kind};
pub use headers::Headers;
pub use loops::{Loops, run, serve};
pub use relay::{Passed, Passing};
pub use response::{Response, pause};
pub use said::{said, without};

/// A body that is sent: whole, or as it comes (`wrap`).
pub use reqwest::Body as Sent;
pub use reqwest::header::HeaderMap;

use std::future::Future;

/// Waits for all, which go on side by side; what they give is in their order.
pub async fn all<T>(all: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut waiting: Vec<_> = all.map(|one| (Some(Box::pin(one)), None)).collect();
    std::future::poll_fn(|context| {
        for (future, done) in &mut waiting {
            if let Some(running) = future
                && let std::task::Poll::Ready(value) = running.as_mut().poll(context)
            {
                (*future, *done) = (None, Some(value));
            }
        }
        match waiting.iter().all(|(future, _)| future.is_none()) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    waiting.into_iter().filter_map(|(_, done)| done).collect()
}

/// The usual name of a status: `Too Many Requests`.
pub fn reason(status: u16) -> &'static str {
    let status = reqwest::StatusCode::from_u16(status).ok();
    status.and_then(|status| status.canonical_reason()).unwrap_or("")
}
