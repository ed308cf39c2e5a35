//! A bar for people who wait: on standard error, if that is a terminal, once it has lasted.

use super::terminal::is_terminal;
use atty::Stream;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// What is shorter needs no bar.
const SHOW_AFTER: Duration = Duration::from_millis(250);
/// A terminal of fewer columns has no room for a bar beside all that is told.
const NARROW_COLUMNS: u16 = 70;
/// What is told there: of the message as much as fits.
const NARROW_TEMPLATE: &str = "{wide_msg} {percent}%, {eta} left";

/// How far something is. It disappears when it is dropped.
pub struct Progress {
    started: Instant,
    shown: bool,
    template: &'static str,
    /// What is drawn, and whether for a narrow terminal.
    bar: Option<(ProgressBar, bool)>,
    /// Where it began: what was done before says nothing about how fast it goes.
    first: Option<u64>,
}

impl Progress {
    pub(super) fn new(shown: bool, template: &'static str) -> Progress {
        let shown = shown && is_terminal(Stream::Stderr);
        Progress { started: Instant::now(), shown, template, bar: None, first: None }
    }

    /// So much is done, of how much if that is known.
    pub fn set(&mut self, what: &str, done: u64, of: Option<u64>) {
        let first = *self.first.get_or_insert(done);
        if !self.shown || self.started.elapsed() < SHOW_AFTER {
            return;
        }
        let (started, template, narrow) = (self.started, self.template, is_narrow());
        let (bar, is_for_narrow) = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(of.unwrap_or(done)).with_elapsed(started.elapsed());
            let bar = bar.with_message(what.to_owned()).with_style(style(template, narrow));
            if first > 0 {
                bar.set_position(done);
                bar.reset_eta();
            }
            (bar, narrow)
        });
        // The terminal may have got another width.
        if *is_for_narrow != narrow {
            bar.set_style(style(template, narrow));
            *is_for_narrow = narrow;
        }
        bar.set_length(of.unwrap_or(done));
        bar.set_message(what.to_owned());
        bar.set_position(done);
    }

    /// Tells something on standard error while the bar is out of the way.
    pub fn aside(&self, tell: impl FnOnce()) {
        match &self.bar {
            Some((bar, _)) => bar.suspend(tell),
            None => tell(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((bar, _)) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Whether standard error has no room for a bar.
fn is_narrow() -> bool {
    terminal_size::terminal_size_of(std::io::stderr()).is_some_and(|(columns, _)| columns.0 < NARROW_COLUMNS)
}

fn style(template: &str, narrow: bool) -> ProgressStyle {
    let rate = |state: &ProgressState, out: &mut dyn Write| {
        // A line that cannot be drawn is no loss.
        let _ = write!(out, "{:.0}/s", state.per_sec());
    };
    let style = ProgressStyle::with_template(if narrow { NARROW_TEMPLATE } else { template });
    style.unwrap_or_else(|_| ProgressStyle::default_bar()).with_key("rate", rate)
}
