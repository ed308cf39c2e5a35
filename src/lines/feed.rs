//! Reads inputs ahead in a thread, so that pauses are noticed and parsing runs in parallel with the work.

use super::located_line::LocatedLine;
use super::reader::{LocatedObject, READ_BUFFER_BYTES, Reader};
use super::text_lines::TextLines;
use crate::error::{Context, Result};
use crate::record::Object;
use std::collections::VecDeque;
use std::io::Read;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The next event of a feed.
#[derive(Debug)]
pub enum FeedEvent<T = LocatedObject> {
    Object(Result<T>),
    /// Nothing more has arrived, so that this is the time to commit. The next call waits.
    Pause,
    End,
}

/// Several inputs, one after the other, read ahead by a thread of their own within a bound: as objects, or as
/// lines that the thread has identified and checked.
pub struct Feed<T = LocatedObject> {
    batches: Receiver<Batch<T>>,
    prefetched: Arc<Prefetched>,
    batch: VecDeque<Result<T>>,
    paused: bool,
    /// The number of objects since the last pause.
    since_pause: usize,
}

/// About `READ_BUFFER_BYTES` of text, or one longer object.
struct Batch<T> {
    objects: VecDeque<Result<T>>,
    /// The length of their text.
    bytes: u64,
}

/// A feed pauses if nothing arrives for this time: longer than a disk takes for a read, shorter than a
/// commit.
const PAUSE_THRESHOLD: Duration = Duration::from_millis(1);
/// After this many objects without a pause, the writer is a program that has more, and a short wait for it
/// costs less than a commit.
const BULK_OBJECTS: usize = 16;
const BULK_PAUSE_THRESHOLD: Duration = Duration::from_millis(50);

/// The bytes of text to read ahead: about as many as a batch of an import has, to read during its write.
const PREFETCHED_BYTES: u64 = 8 << 20;

impl Feed {
    /// Starts reading objects; `limit` bounds one, in bytes. Fails if no thread can be started.
    pub fn new<R: Read + Send + 'static>(sources: Vec<(String, R)>, limit: usize) -> Result<Feed> {
        Feed::of_sources(sources.into_iter().map(move |(name, input)| Reader::new(&name, input, limit)))
    }

    /// Starts reading lines of plain text, each as `{"text": …}`; `limit` bounds one, in bytes.
    pub fn text_lines<R: Read + Send + 'static>(sources: Vec<(String, R)>, limit: usize) -> Result<Feed> {
        Feed::of_sources(sources.into_iter().map(move |(name, input)| TextLines::new(&name, input, limit)))
    }

    /// Starts reading sources, each of which is opened when it is its turn.
    pub fn of_sources<S: ObjectSource>(sources: impl Iterator<Item = S> + Send + 'static) -> Result<Feed> {
        Feed::start(sources, |object| object)
    }
}

impl Feed<LocatedLine> {
    /// Starts reading lines; `limit` bounds one, in bytes. `prepare` changes each before it is checked.
    pub fn lines<R: Read + Send + 'static>(
        sources: Vec<(String, R)>,
        limit: usize,
        prepare: impl Fn(&mut Object) + Send + 'static,
    ) -> Result<Feed<LocatedLine>> {
        let readers = sources.into_iter().map(move |(name, input)| Reader::new(&name, input, limit));
        Feed::lines_of(readers, prepare)
    }

    /// Starts reading lines of sources, each of which is opened when it is its turn.
    pub fn lines_of<S: ObjectSource>(
        sources: impl Iterator<Item = S> + Send + 'static,
        prepare: impl Fn(&mut Object) + Send + 'static,
    ) -> Result<Feed<LocatedLine>> {
        let convert = move |object| LocatedLine::new(object, &prepare);
        Feed::start(sources, convert)
    }
}

impl<T: Send + 'static> Feed<T> {
    fn start<S: ObjectSource>(
        sources: impl Iterator<Item = S> + Send + 'static,
        convert: impl Fn(LocatedObject) -> T + Send + 'static,
    ) -> Result<Feed<T>> {
        let (sender, batches) = channel();
        let prefetched = Arc::new(Prefetched::default());
        let to = Prefetch { sender, prefetched: prefetched.clone() };
        let read = move || {
            for source in sources {
                if read_ahead(source, &convert, &to).is_none() {
                    return;
                }
            }
        };
        thread::Builder::new().spawn(read).context("cannot start a thread that reads")?;
        Ok(Feed { batches, prefetched, batch: VecDeque::new(), paused: false, since_pause: 0 })
    }

    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> FeedEvent<T> {
        loop {
            if let Some(value) = self.batch.pop_front() {
                self.since_pause += 1;
                return FeedEvent::Object(value);
            }
            let arrived = if self.paused {
                self.batches.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                self.batches.recv_timeout(self.pause_threshold())
            };
            self.paused = matches!(arrived, Err(RecvTimeoutError::Timeout));
            if self.paused {
                self.since_pause = 0;
            }
            match arrived {
                Ok(Batch { objects, bytes }) => {
                    self.prefetched.lock().bytes -= bytes;
                    self.prefetched.taken.notify_one();
                    self.batch = objects;
                }
                Err(RecvTimeoutError::Timeout) => return FeedEvent::Pause,
                Err(RecvTimeoutError::Disconnected) => return FeedEvent::End,
            }
        }
    }

    fn pause_threshold(&self) -> Duration {
        if self.since_pause < BULK_OBJECTS { PAUSE_THRESHOLD } else { BULK_PAUSE_THRESHOLD }
    }
}

impl<T> Drop for Feed<T> {
    fn drop(&mut self) {
        self.prefetched.lock().is_closed = true;
        self.prefetched.taken.notify_one();
    }
}

/// The lines that were prefetched and not taken yet.
#[derive(Default)]
struct Prefetched {
    state: Mutex<PrefetchState>,
    /// Something was taken, or nothing will be.
    taken: Condvar,
}

#[derive(Default)]
struct PrefetchState {
    bytes: u64,
    is_closed: bool,
}

impl Prefetched {
    fn lock(&self) -> MutexGuard<'_, PrefetchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end of a feed at which its thread puts what it reads.
struct Prefetch<T> {
    sender: Sender<Batch<T>>,
    prefetched: Arc<Prefetched>,
}

impl<T> Prefetch<T> {
    /// Passes a batch on, once there is room for it; one that is too long waits for all before it. `None` if
    /// nobody takes it.
    fn send(&self, batch: Batch<T>) -> Option<()> {
        let is_full = |state: &mut PrefetchState| {
            !state.is_closed && state.bytes > 0 && state.bytes + batch.bytes > PREFETCHED_BYTES
        };
        let state = self.prefetched.lock();
        let mut state =
            self.prefetched.taken.wait_while(state, is_full).unwrap_or_else(PoisonError::into_inner);
        state.bytes += batch.bytes;
        drop(state);
        self.sender.send(batch).ok()
    }
}

/// A source of objects.
pub trait ObjectSource {
    /// The next object or error; `None` at the end.
    fn next(&mut self) -> Option<Result<LocatedObject>>;
    /// Whether the next object may not have arrived yet.
    fn drained(&self) -> bool;
    /// The number of consumed bytes.
    fn consumed(&self) -> u64;
    /// Why a source without objects has none, if it knows.
    fn reason(&self) -> Option<&'static str> {
        None
    }
}

impl ObjectSource for Box<dyn ObjectSource> {
    fn next(&mut self) -> Option<Result<LocatedObject>> {
        (**self).next()
    }

    fn drained(&self) -> bool {
        (**self).drained()
    }

    fn consumed(&self) -> u64 {
        (**self).consumed()
    }

    fn reason(&self) -> Option<&'static str> {
        (**self).reason()
    }
}

impl<R: Read> ObjectSource for Reader<R> {
    fn next(&mut self) -> Option<Result<LocatedObject>> {
        Reader::next(self)
    }

    fn drained(&self) -> bool {
        Reader::drained(self)
    }

    fn consumed(&self) -> u64 {
        self.consumed
    }
}

impl<R: Read> ObjectSource for TextLines<R> {
    fn next(&mut self) -> Option<Result<LocatedObject>> {
        TextLines::next(self)
    }

    fn drained(&self) -> bool {
        TextLines::drained(self)
    }

    fn consumed(&self) -> u64 {
        self.consumed
    }
}

/// Sends all of one input, in batches that end where it may pause. `None` if the receiver is gone.
fn read_ahead<T>(
    mut reader: impl ObjectSource,
    convert: impl Fn(LocatedObject) -> T,
    to: &Prefetch<T>,
) -> Option<()> {
    let (mut objects, mut begin) = (VecDeque::new(), reader.consumed());
    while let Some(next) = reader.next() {
        objects.push_back(next.map(&convert));
        let bytes = reader.consumed() - begin;
        if reader.drained() || bytes >= READ_BUFFER_BYTES as u64 {
            to.send(Batch { objects: std::mem::take(&mut objects), bytes })?;
            begin = reader.consumed();
        }
    }
    let bytes = reader.consumed() - begin;
    if objects.is_empty() { Some(()) } else { to.send(Batch { objects, bytes }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::SourceLocation;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::mpsc::{Sender, channel};

    /// Endless objects of 1 MiB each, as far as a feed knows. It counts them, and tells when it is dropped.
    struct Endless {
        count: Arc<AtomicU64>,
        _dropped: Sender<()>,
    }

    impl ObjectSource for Endless {
        fn next(&mut self) -> Option<Result<LocatedObject>> {
            let line = self.count.fetch_add(1, Ordering::SeqCst) + 1;
            Some(Ok(LocatedObject {
                location: SourceLocation::new("x".into(), line),
                object: Object::default(),
            }))
        }

        fn drained(&self) -> bool {
            false
        }

        fn consumed(&self) -> u64 {
            self.count.load(Ordering::SeqCst) << 20
        }
    }

    #[test]
    fn a_feed_reads_ahead_within_a_bound_and_ends_with_its_taker() {
        let (count, (sender, dropped)) = (Arc::new(AtomicU64::new(0)), channel());
        let source = Endless { count: count.clone(), _dropped: sender };
        let mut feed = Feed::of_sources(std::iter::once(source)).unwrap();
        for taken in 1..2000 {
            while !matches!(feed.next(), FeedEvent::Object(_)) {}
            // One more is on its way, and one was just read.
            assert!(count.load(Ordering::SeqCst) <= taken + (PREFETCHED_BYTES >> 20) + 2);
        }
        drop(feed);
        // The thread holds the source until it ends.
        assert!(dropped.recv().is_err());
    }
}
