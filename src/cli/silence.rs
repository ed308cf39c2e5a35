//! Lines for a person who waits: what takes so long, once a second has passed.

use super::io::Diagnostics;
use super::terminal::is_terminal;
use atty::Stream;
use std::fmt::Display;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The silence after which a person is told what takes so long.
const SILENCE: Duration = Duration::from_secs(1);

/// The lines of the tool, for code that has no way to them.
static OF_TOOL: OnceLock<Diagnostics> = OnceLock::new();

/// Sets them; the first call holds.
pub(super) fn set_diagnostics(diagnostics: &Diagnostics) {
    let _ = OF_TOOL.set(diagnostics.clone());
}

/// Says that another program keeps the store locked, once, to a person who has waited `waited` for it.
pub fn report_lock_wait(waited: Duration) {
    static IS_SAID: AtomicBool = AtomicBool::new(false);
    if waited < SILENCE || !is_terminal(Stream::Stderr) || IS_SAID.swap(true, Ordering::Relaxed) {
        return;
    }
    if let Some(diagnostics) = OF_TOOL.get() {
        diagnostics.note("waiting for another program that has the store");
    }
}

/// Tells a person at a terminal what a store of an earlier release still needs.
pub fn report_migration(text: impl Display) {
    if let Some(diagnostics) = OF_TOOL.get().filter(|_| is_terminal(Stream::Stderr)) {
        diagnostics.note(text);
    }
}

/// A task that a person is told of if it takes longer than a second. It ends when this is dropped.
#[derive(Default)]
pub struct SlowTask(Option<(Sender<()>, JoinHandle<()>)>);

impl Diagnostics {
    /// Begins a task: if it takes longer than a second, and a person reads standard error, a line says what
    /// is done.
    pub fn slow_task(&self, text: impl Display) -> SlowTask {
        if self.is_quiet() || !is_terminal(Stream::Stderr) {
            return SlowTask(None);
        }
        let (diagnostics, text) = (self.clone(), text.to_string());
        let (sender, ended) = channel::<()>();
        let tell = move || {
            if ended.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
                diagnostics.note(text);
            }
        };
        // Without a thread the task is done in silence.
        SlowTask(thread::Builder::new().spawn(tell).ok().map(|thread| (sender, thread)))
    }
}

impl Drop for SlowTask {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.0.take() {
            drop(sender);
            let _ = thread.join(); // Only its line can be missing.
        }
    }
}
