//! A progress bar on standard error, if that is a terminal, for a task that takes a while.

use super::hidden::on_one_line;
use super::terminal::is_terminal;
use atty::Stream;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// A task that ends earlier shows no bar.
const SHOW_AFTER: Duration = Duration::from_millis(250);
/// A terminal with fewer columns has no space for a bar beside the message and the numbers.
const NARROW_COLUMNS: u16 = 70;
/// The template for a narrow terminal: as much of the message as fits, and no bar.
const NARROW_TEMPLATE: &str = "{wide_msg} {percent}%, {eta} left";

/// A progress bar. It disappears when it is dropped.
pub struct Progress {
    started: Instant,
    shown: bool,
    template: &'static str,
    /// The bar on the screen, and whether it is laid out for a narrow terminal.
    bar: Option<(ProgressBar, bool)>,
    /// The first value that was set. Work before it does not count for the rate.
    first: Option<u64>,
}

impl Progress {
    pub(super) fn new(shown: bool, template: &'static str) -> Progress {
        let shown = shown && is_terminal(Stream::Stderr);
        Progress { started: Instant::now(), shown, template, bar: None, first: None }
    }

    /// Shows that `done` units are done, out of `of` if the total is known.
    pub fn set(&mut self, what: &str, done: u64, of: Option<u64>) {
        let first = *self.first.get_or_insert(done);
        if !self.shown || self.started.elapsed() < SHOW_AFTER {
            return;
        }
        let what = on_one_line(what);
        let (started, template, narrow) = (self.started, self.template, is_narrow());
        let (bar, is_for_narrow) = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(of.unwrap_or(done)).with_elapsed(started.elapsed());
            let bar = bar.with_message(what.clone()).with_style(style(template, narrow));
            if first > 0 {
                bar.set_position(done);
                bar.reset_eta();
            }
            (bar, narrow)
        });
        // The user may have resized the terminal.
        if *is_for_narrow != narrow {
            bar.set_style(style(template, narrow));
            *is_for_narrow = narrow;
        }
        bar.set_length(of.unwrap_or(done));
        bar.set_message(what);
        bar.set_position(done);
    }

    /// Whether a long task shows a bar.
    pub fn is_shown(&self) -> bool {
        self.shown
    }

    /// Runs `tell`, which writes to standard error, with the bar out of the way.
    pub fn suspend<T>(&self, tell: impl FnOnce() -> T) -> T {
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
    // A mistake in a template of ours costs its looks, not the run.
    style.unwrap_or_else(|_| ProgressStyle::default_bar()).with_key("rate", rate)
}
