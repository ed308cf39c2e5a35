//! A bar for people who wait: on standard error, if that is a terminal, once it has lasted.

use super::is_terminal;
use atty::Stream;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// What is shorter needs no bar.
const PATIENCE: Duration = Duration::from_millis(250);

/// How far something is. It disappears when it is dropped.
pub struct Progress {
    begun: Instant,
    shown: bool,
    style: &'static str,
    bar: Option<ProgressBar>,
    /// Where it began: what was done before says nothing about how fast it goes.
    first: Option<u64>,
}

impl Progress {
    pub(super) fn new(shown: bool, style: &'static str) -> Progress {
        let shown = shown && is_terminal(Stream::Stderr);
        Progress { begun: Instant::now(), shown, style, bar: None, first: None }
    }

    /// So much is done, of how much if that is known.
    pub fn set(&mut self, what: &str, done: u64, of: Option<u64>) {
        let first = *self.first.get_or_insert(done);
        if !self.shown || self.begun.elapsed() < PATIENCE {
            return;
        }
        let (begun, style) = (self.begun, self.style);
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(0).with_elapsed(begun.elapsed());
            let style = ProgressStyle::with_template(style);
            let rate = |state: &ProgressState, out: &mut dyn Write| {
                // A line that cannot be drawn is no loss.
                let _ = write!(out, "{:.0}/s", state.per_sec());
            };
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).with_key("rate", rate));
            if first > 0 {
                bar.set_position(done);
                bar.reset_eta();
            }
            bar
        });
        bar.set_length(of.unwrap_or(done));
        bar.set_message(what.to_owned());
        bar.set_position(done);
    }

    /// Tells something on standard error while the bar is out of the way.
    pub fn aside(&self, tell: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(tell),
            None => tell(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
