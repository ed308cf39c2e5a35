//! Event loops: one for a client, and one a processor for a server.

use crate::error::{Context, Result};
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::thread::{self, available_parallelism};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle, Runtime};

/// A server has no more event loops than this, however many processors there are.
const MAX_EVENT_LOOPS: usize = 4;

/// Runs `future` to its end on this thread, for a tool that sends one request and exits. Fails as `future`
/// does, or if the loop cannot be started.
pub fn run<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    run_with(Builder::new_current_thread(), future)
}

/// Runs `future` to its end on this thread, and the tasks that it spawns on a worker thread, for a server.
/// Fails as `future` does, or if the loop cannot be started.
pub fn serve<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    run_with(worker_runtime(), future)
}

fn run_with<T>(builder: Builder, future: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = start(builder)?;
    let done = runtime.block_on(future);
    // A name server that does not answer must not hold up the exit.
    runtime.shutdown_background();
    done
}

/// An event loop with its own thread. A task that another task wakes runs next, so that a piece of an answer
/// is sent before the next one is read.
fn worker_runtime() -> Builder {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1);
    builder
}

fn start(mut builder: Builder) -> Result<Runtime> {
    // Where the system has no thread left, tokio panics.
    thread::Builder::new().spawn(|| ()).context("cannot start a thread")?;
    builder.enable_all().build().context("cannot start the network's event loop")
}

/// The number of event loops of a server.
pub(super) fn event_loop_count() -> usize {
    available_parallelism().map_or(1, |processors| processors.get().min(MAX_EVENT_LOOPS))
}

/// The event loops of a server. A connection stays in its loop, with all requests on its behalf:
/// threads that take each other's tasks were measured to lose more by waking each other than they gain.
pub struct EventLoops(Vec<EventLoop>);

struct EventLoop {
    handle: Handle,
    /// The runtime, if it was started here.
    runtime: Option<Runtime>,
    /// Each of its connections holds a clone.
    connections: Arc<()>,
}

impl EventLoops {
    /// The current loop, and new ones, which end when the result is dropped. Errors if the system has no
    /// thread for them; panics outside of a loop.
    pub fn start() -> Result<EventLoops> {
        let own = EventLoop { handle: Handle::current(), runtime: None, connections: Arc::default() };
        let others = (1..event_loop_count()).map(|_| {
            let runtime = start(worker_runtime())?;
            Ok(EventLoop {
                handle: runtime.handle().clone(),
                runtime: Some(runtime),
                connections: Arc::default(),
            })
        });
        Ok(EventLoops([Ok(own)].into_iter().chain(others).collect::<Result<_>>()?))
    }

    /// Serves a connection in the loop with the fewest connections. Errors if it cannot be moved there.
    pub fn spawn<F: Future<Output = ()> + Send + 'static>(
        &self,
        stream: TcpStream,
        serve: impl FnOnce(TcpStream) -> F,
    ) -> io::Result<()> {
        let Some(least) = self.0.iter().min_by_key(|one| Arc::strong_count(&one.connections)) else {
            return Ok(());
        };
        let _here = least.handle.enter();
        let stream = match least.runtime {
            Some(_) => TcpStream::from_std(stream.into_std()?)?,
            None => stream,
        };
        let (served, connections) = (serve(stream), least.connections.clone());
        least.handle.spawn(async move {
            served.await;
            drop(connections);
        });
        Ok(())
    }
}

impl Drop for EventLoops {
    fn drop(&mut self) {
        let started = self.0.iter_mut().filter_map(|one| one.runtime.take());
        for runtime in started {
            runtime.shutdown_background();
        }
    }
}
