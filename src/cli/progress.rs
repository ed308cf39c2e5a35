//! A bar for people who wait: on standard error, if that is a terminal, once it has lasted.

use super::is_terminal;
use atty::Stream;
use indicatif::{ProgressBar, ProgressStyle};
use std::time::{Duration, Instant};

/// What is shorter needs no bar.
const PATIENCE: Duration = Duration::from_millis(250);

/// How far something is. It disappears when it is dropped.
pub struct Progress {
    begun: Instant,
    shown: bool,
    style: &'static str,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(super) fn new(shown: bool, style: &'static str) -> Progress {
        let shown = shown && is_terminal(Stream::Stderr);
        Progress { begun: Instant::now(), shown, style, bar: None }
    }

    /// So much is done, of how much if that is known.
    pub fn set(&mut self, what: &str, done: u64, of: Option<u64>) {
        if !self.shown || self.begun.elapsed() < PATIENCE {
            return;
        }
        let (begun, style) = (self.begun, self.style);
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(0).with_elapsed(begun.elapsed());
            bar.set_style(
                ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()),
            );
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
