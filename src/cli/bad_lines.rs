//! Limits the errors about the lines of an input, so that a file in another format does not fill the screen.

use super::error::CliError;
use super::io::{Io, Source};
use crate::error::{Error, Result};
use crate::lines::{LocatedObject, Reader};
use crate::text::counted_verb;
use std::ops::ControlFlow;

/// The number of bad lines without a good one that ends a run.
const LEADING_LINES: usize = 20;

/// The number of their errors that are printed in this case.
const LEADING_PRINTED: usize = 3;

/// The number of errors that are printed otherwise; the rest is counted.
const PRINTED: usize = 10;

/// The bad lines of a run so far.
#[derive(Default)]
pub struct BadLines {
    count: usize,
    has_good: bool,
    /// The errors that are printed unless the run ends for its leading lines.
    withheld: Vec<Error>,
    /// The hint of the first error.
    hint: Option<String>,
}

impl BadLines {
    /// Passes the objects of inputs, of at most `limit` bytes each, to `take`, in their order. The error in
    /// what `take` returns is that of the line, which is bad like one that is no object; the caller calls
    /// `end`. Errors if `take` does.
    pub fn of_each(
        sources: Vec<Source>,
        limit: usize,
        io: &mut Io,
        take: &mut dyn FnMut(LocatedObject, &mut Io) -> Result<Result<()>>,
    ) -> Result<BadLines> {
        let mut bad_lines = BadLines::default();
        'read: for (name, input) in sources {
            let mut reader = Reader::new(&name, input, limit);
            while let Some(next) = reader.next() {
                let taken = next.map_or_else(|error| Ok(Err(error)), |object| take(object, io))?;
                if bad_lines.line(taken, io).is_break() {
                    break 'read;
                }
            }
        }
        Ok(bad_lines)
    }

    /// Takes the outcome of reading a line. Breaks if all lines so far are bad, and are too many.
    pub fn line(&mut self, line: Result<()>, io: &mut Io) -> ControlFlow<()> {
        let Err(error) = line else {
            self.has_good = true;
            self.release(io);
            return ControlFlow::Continue(());
        };
        if self.count == 0 {
            self.hint = error.remedy().map(str::to_owned);
        }
        if self.has_good || self.count < LEADING_PRINTED {
            self.print(&error, io);
            return ControlFlow::Continue(());
        }
        self.withheld.push(error);
        if self.count + self.withheld.len() < LEADING_LINES {
            return ControlFlow::Continue(());
        }
        self.withheld.clear();
        let help = self.hint.take().unwrap_or_else(|| "each line is a JSON object: man 5 rsv-record".into());
        io.fault(&CliError::BadInput { lines: LEADING_LINES, help }.into());
        ControlFlow::Break(())
    }

    /// Prints the error of a line, or counts it.
    pub fn print(&mut self, error: &Error, io: &mut Io) {
        self.count += 1;
        if self.count <= PRINTED {
            io.fault(error);
        }
    }

    /// Prints the remaining reports at the end of the input.
    pub fn end(mut self, io: &mut Io) {
        self.release(io);
        if self.count > PRINTED {
            let more = counted_verb((self.count - PRINTED) as u64, "more line", ["is", "are"]);
            io.fault(&CliError::MoreBadLines { more }.into());
        }
    }

    fn release(&mut self, io: &mut Io) {
        for error in std::mem::take(&mut self.withheld) {
            self.print(&error, io);
        }
    }
}
