//! Accepts connections, and serves each on one of the event loops.

use super::http::{ClientStream, ErrorBodies, HttpResponse};
use super::router::Router;
use crate::http::EventLoops;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// The wait if no connection can be accepted for lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// The number of connections that are accepted before their requests are read: the first client must not wait
/// for all that connect with it, nor the last one for every answer.
const ACCEPT_BATCH: usize = 8;

/// Accepts connections.
pub(super) struct Connections {
    router: Arc<Router>,
    loops: Arc<EventLoops>,
    /// A permit for each connection that may be open.
    permits: Arc<Semaphore>,
    /// The longest header of a request, in bytes.
    max_header: usize,
}

impl Connections {
    /// Serves at most `max_open` connections at once, on `loops`.
    pub(super) fn new(router: Arc<Router>, loops: Arc<EventLoops>, max_open: usize) -> Connections {
        let permits = Arc::new(Semaphore::new(max_open));
        let max_header = router.config.limit("proxy.header_bytes").unwrap_or(usize::MAX);
        Connections { router, loops, permits, max_header }
    }

    /// Accepts connections until `ended` resolves. Returns a future that waits for the open ones.
    pub(super) async fn accept_until(
        self,
        listener: TcpListener,
        mut ended: oneshot::Receiver<()>,
    ) -> GracefulShutdown {
        let graceful = GracefulShutdown::new();
        let mut accepted = 0_usize;
        loop {
            tokio::select! {
                next = self.accept(&listener) => match next {
                    Some((stream, permit)) => {
                        self.serve(stream, permit, &graceful);
                        accepted += 1;
                        if accepted.is_multiple_of(ACCEPT_BATCH) {
                            tokio::task::yield_now().await;
                        }
                    }
                    None => tokio::time::sleep(ACCEPT_PAUSE).await,
                },
                _ = &mut ended => return graceful,
            }
        }
    }

    /// The next connection, as soon as there is a permit for it; `None` if it cannot be accepted.
    async fn accept(&self, listener: &TcpListener) -> Option<(TcpStream, OwnedSemaphorePermit)> {
        // The semaphore is never closed.
        let permit = self.permits.clone().acquire_owned().await.ok()?;
        let (stream, _) = listener.accept().await.ok()?;
        Some((stream, permit))
    }

    fn serve(&self, stream: TcpStream, permit: OwnedSemaphorePermit, graceful: &GracefulShutdown) {
        // Responses are short: none must wait for more to be sent with it. A client that is gone gets none.
        let _ = stream.set_nodelay(true);
        let idle_timeout = self.router.idle_timeout;
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(idle_timeout);
        // The stream itself notices clients that leave.
        server.max_buf_size(self.max_header).half_close(true);
        let (router, peer) = (self.router.clone(), stream.peer_addr().ok().map(|peer| peer.ip()));
        let service = service_fn(move |request| {
            let router = router.clone();
            async move { Ok::<HttpResponse, Infallible>(router.answer(request, peer).await) }
        });
        let watcher = graceful.watcher();
        let open = self.router.config.metrics.open_connection();
        // A client that is gone already needs no answer.
        let _ = self.loops.spawn(stream, |stream| async move {
            let stream = ErrorBodies::new(ClientStream::new(stream), idle_timeout);
            // It is no error of ours if a client hangs up, or does not speak HTTP.
            let _ = watcher.watch(server.serve_connection(TokioIo::new(stream), service)).await;
            drop((permit, open));
        });
    }
}
