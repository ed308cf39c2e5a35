//! Threads that parse files. Their results are taken in the order in which the files were given.

use super::job::{Job, Parsed};
use super::options::Options;
use super::reason::Reason;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The longest time for a file.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// The name of the threads, whose panics are not printed.
const THREAD_NAME: &str = "parser";

/// Parsers recurse into nested elements, for which the 2 MiB of other threads may be too few.
const STACK_BYTES: usize = 16 << 20;
const FAILED: &str = "its parser failed";

/// Threads that take files from a queue.
pub(super) struct Pool {
    queue: Sender<Task>,
    waiting: Arc<Mutex<Receiver<Task>>>,
    options: Arc<Options>,
}

struct Task {
    job: Job,
    started: Arc<OnceLock<Instant>>,
    result: SyncSender<Parsed>,
}

/// The result of a file, to come.
pub(super) struct Pending {
    started: Arc<OnceLock<Instant>>,
    result: Receiver<Parsed>,
}

impl Pool {
    pub(super) fn new(options: Arc<Options>, threads: usize) -> Pool {
        silence_panics();
        let (queue, waiting) = mpsc::channel();
        let pool = Pool { queue, waiting: Arc::new(Mutex::new(waiting)), options };
        for _ in 0..threads {
            pool.start_thread();
        }
        pool
    }

    /// Queues a file.
    pub(super) fn push(&self, job: Job) -> Pending {
        let started = Arc::new(OnceLock::new());
        let (result, pending) = mpsc::sync_channel(1);
        // The pool has a receiver itself.
        let _ = self.queue.send(Task { job, started: started.clone(), result });
        Pending { started, result: pending }
    }

    /// Waits for the result of a file. A thread that takes too long is left alone, and another takes its
    /// place.
    pub(super) fn wait(&self, pending: &Pending) -> Parsed {
        loop {
            let spent = pending.started.get().map_or(Duration::ZERO, Instant::elapsed);
            match pending.result.recv_timeout(TIME_LIMIT.saturating_sub(spent)) {
                Ok(parsed) => return parsed,
                Err(RecvTimeoutError::Disconnected) => return Parsed::Unread(FAILED.to_owned().into()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if pending.started.get().is_some_and(|started| started.elapsed() >= TIME_LIMIT) {
                self.start_thread();
                return Parsed::Unread(format!("it takes longer than {} s", TIME_LIMIT.as_secs()).into());
            }
        }
    }

    fn start_thread(&self) {
        let (waiting, options) = (self.waiting.clone(), self.options.clone());
        let work = move || {
            while let Some(task) = next(&waiting) {
                let _ = task.started.set(Instant::now());
                let job = AssertUnwindSafe(|| task.job.run(&options));
                let parsed = panic::catch_unwind(job);
                let parsed = parsed.unwrap_or_else(|_| Parsed::Unread(FAILED.to_owned().into()));
                // Nobody waits any more for a file that took too long.
                let _ = task.result.send(parsed);
            }
        };
        // Without a thread, the files are reported as unread.
        let _ = builder().spawn(work);
    }
}

/// Parses on such a thread, and waits for it. Fails if `parse` does or panics, or no thread can be started.
pub(super) fn parse_apart<T: Send>(parse: impl FnOnce() -> Result<T, Reason> + Send) -> Result<T, Reason> {
    silence_panics();
    thread::scope(|scope| {
        let thread = builder().spawn_scoped(scope, parse);
        let thread = thread.map_err(|error| format!("its parser cannot be started: {error}"))?;
        thread.join().unwrap_or_else(|_| Err(FAILED.to_owned().into()))
    })
}

fn builder() -> thread::Builder {
    thread::Builder::new().name(THREAD_NAME.to_owned()).stack_size(STACK_BYTES)
}

/// The next file; `None` once the pool is gone. One thread waits with the lock, the others for it.
fn next(waiting: &Mutex<Receiver<Task>>) -> Option<Task> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

/// A file at which a parser panics is reported as unread; the panic's message is not printed.
fn silence_panics() {
    static SILENCED: OnceLock<()> = OnceLock::new();
    SILENCED.get_or_init(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if thread::current().name() != Some(THREAD_NAME) {
                print(info);
            }
        }));
    });
}
