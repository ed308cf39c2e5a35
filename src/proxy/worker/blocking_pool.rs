//! The threads on which work may block: for the store, the embedder and the disk.

use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// The blocking threads of one event loop, whichever loop asks for them: each such thread costs memory.
#[derive(Clone)]
pub(in crate::proxy) struct BlockingPool(Handle);

impl BlockingPool {
    /// The threads of the current event loop. Panics outside of a loop.
    pub(in crate::proxy) fn current() -> BlockingPool {
        BlockingPool(Handle::current())
    }

    /// Runs `work` on a thread that may block.
    pub(in crate::proxy) fn spawn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        self.0.spawn_blocking(work)
    }

    /// Runs a task in that event loop, whichever loop asks for it.
    pub(super) fn spawn_task(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(task);
    }
}
