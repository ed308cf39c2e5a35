//! The pager: a program that shows the output on a terminal page by page, as git has it.

use super::error::CliError;
use crate::error::{Context, Result};
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use std::io::{self, ErrorKind, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The options of less if `LESS` is not set: end if all fits on the screen, keep colours, leave the screen as
/// it is.
const LESS_OPTIONS: &str = "FRX";

/// The exit statuses of a shell that cannot run a command.
const NOT_RUN: [i32; 2] = [126, 127];

/// A running pager.
pub(super) struct Pager {
    child: Child,
    input: ChildStdin,
    /// Its command in `PAGER`.
    command: Option<String>,
}

impl Pager {
    /// Starts the command in `PAGER`, else less; `None` if it is empty or cat, or less is missing or the
    /// terminal dumb.
    pub(super) fn start() -> Result<Option<Pager>> {
        let command = std::env::var("PAGER").ok();
        let mut program = match command.as_deref() {
            Some("" | "cat") => return Ok(None),
            Some(command) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", command]);
                shell
            }
            // Less asks for a key first on a terminal that cannot move its cursor.
            None if is_dumb() => return Ok(None),
            None => Command::new("less"),
        };
        // The tools print UTF-8, whatever the locale is.
        if std::env::var_os("LESSCHARSET").is_none() {
            program.env("LESSCHARSET", "utf-8");
        }
        if std::env::var_os("LESS").is_none() {
            program.env("LESS", LESS_OPTIONS);
        }
        // Ctrl-C is for the pager, which must not lose its terminal to the shell. If it cannot be caught, it
        // ends both.
        let is_for_tool = Arc::new(AtomicBool::new(false));
        let _ = flag::register_conditional_default(SIGINT, Arc::clone(&is_for_tool));
        let mut child = match program.stdin(Stdio::piped()).spawn() {
            Ok(child) => child,
            Err(e) if e.kind() == ErrorKind::NotFound && command.is_none() => {
                is_for_tool.store(true, Ordering::Relaxed);
                return Ok(None);
            }
            Err(source) => return Err(CliError::NoPager { source }.into()),
        };
        let input = child.stdin.take();
        Ok(input.map(|input| Pager { child, input, command }))
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.input.write_all(bytes)
    }

    /// Waits until the user leaves the pager. Errors if the shell could not run it.
    pub(super) fn wait(mut self) -> Result<()> {
        drop(self.input);
        let ended = self.child.wait().context("cannot wait for the pager")?;
        match self.command {
            Some(command) if ended.code().is_some_and(|code| NOT_RUN.contains(&code)) => {
                Err(CliError::PagerNotRun { command }.into())
            }
            _ => Ok(()),
        }
    }
}

/// Whether the terminal can do no more than print lines.
fn is_dumb() -> bool {
    std::env::var("TERM").map_or(true, |term| term.is_empty() || term == "dumb")
}
