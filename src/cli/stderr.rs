//! Lines on standard error: all of a tool's go through here, and those of a server through a queue.

use super::terminal::{is_terminal, printable};
use atty::Stream;
use rustix::io::dup;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

/// The greatest number of bytes that wait for the reader of standard error, unless one line alone has more.
const MAX_QUEUED_BYTES: usize = 4 << 20;
/// The time without progress after which the lines that wait at the end are given up.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The filter of the lines on standard error.
type LineFilter = Box<dyn Fn(&str) -> String + Send + Sync>;

static FILTER: OnceLock<LineFilter> = OnceLock::new();
static QUEUE: OnceLock<Arc<LineQueue>> = OnceLock::new();

/// Changes each line on standard error from now on. Of several filters, the first holds.
pub fn filter_stderr(filter: impl Fn(&str) -> String + Send + Sync + 'static) {
    let _ = FILTER.set(Box::new(filter));
}

/// Writes a line to standard error. A closed standard error is no failure. A terminal gets nothing that moves
/// its cursor or hides text.
pub(super) fn write_line(line: &str) {
    let mut text = FILTER.get().map_or_else(|| line.to_owned(), |filter| filter(line));
    if is_terminal(Stream::Stderr) {
        text = String::from_utf8_lossy(&printable(text.as_bytes())).into_owned();
    }
    text.push('\n');
    match QUEUE.get() {
        Some(queue) => queue.push(text),
        None => drop(io::stderr().write_all(text.as_bytes())),
    }
}

/// Has the lines of a tool written by a thread from now on, so that nothing else waits for their reader.
/// Without a thread they are written as before.
pub(super) fn queue_lines(tool: &str) {
    // The lock of the standard library's handle would be held while a write waits.
    let Ok(stderr) = dup(io::stderr()) else { return };
    let queue = Arc::new(LineQueue::new(tool));
    let writer = queue.clone();
    if thread::Builder::new().spawn(move || writer.write_to(&File::from(stderr))).is_ok() {
        let _ = QUEUE.set(queue);
    }
}

/// Waits until all lines are written, or their reader has stopped reading.
pub(super) fn drain() {
    if let Some(queue) = QUEUE.get() {
        queue.drain();
    }
}

/// Lines that wait to be written, in their order. Those for which there is no room are counted instead.
struct LineQueue {
    /// The name of the tool, for the line with that count.
    tool: String,
    state: Mutex<QueueState>,
    /// A line was added or written.
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    lines: VecDeque<String>,
    /// The bytes of these lines and of the one that is being written.
    bytes: usize,
    /// The number of lines since the last one that found room.
    dropped: usize,
    written: usize,
}

impl LineQueue {
    fn new(tool: &str) -> LineQueue {
        LineQueue { tool: tool.to_owned(), state: Mutex::default(), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, line: String) {
        let mut state = self.state();
        if state.bytes > 0 && state.bytes + line.len() > MAX_QUEUED_BYTES {
            state.dropped += 1;
            return;
        }
        self.report_dropped(&mut state);
        state.add(line);
        self.changed.notify_all();
    }

    fn report_dropped(&self, state: &mut QueueState) {
        match std::mem::take(&mut state.dropped) {
            0 => {}
            count => {
                let tool = &self.tool;
                let lines = if count == 1 { "line is" } else { "lines are" };
                state.add(format!("{tool}: {count} {lines} missing here: standard error was not read\n"));
            }
        }
    }

    /// Writes lines as they come; never ends.
    fn write_to(&self, mut stderr: &File) {
        let mut state = self.state();
        loop {
            if let Some(line) = state.lines.pop_front() {
                drop(state);
                let _ = stderr.write_all(line.as_bytes()); // A closed one cannot be reported anywhere.
                state = self.state();
                state.bytes -= line.len();
                state.written += 1;
                if state.lines.is_empty() {
                    self.report_dropped(&mut state);
                }
                self.changed.notify_all();
            } else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn drain(&self) {
        let mut state = self.state();
        while state.bytes > 0 {
            let written = state.written;
            let is_stuck = |state: &mut QueueState| state.bytes > 0 && state.written == written;
            let waited = self.changed.wait_timeout_while(state, DRAIN_TIMEOUT, is_stuck);
            let (after, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() {
                return;
            }
            state = after;
        }
    }
}

impl QueueState {
    fn add(&mut self, line: String) {
        self.bytes += line.len();
        self.lines.push_back(line);
    }
}
