//! The lines of a pipe: several requests at once, whose answers stay in order.

use super::Forwarder;
use super::line::{AnswerFormat, LineOutput};
use crate::cli::{Io, Source};
use crate::error::{Context, Result};
use crate::http;
use crate::lines::{LocatedObject, Reader};
use crate::record::Scope;
use crate::view;
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;
use tokio::sync::mpsc::{Receiver, channel};

/// The number of events of an answer that are buffered before it is its turn to be printed.
const AHEAD: usize = 1024;

impl Forwarder {
    /// Answers the lines of inputs, of at most `limit` bytes each, `jobs` at once, and prints the answers.
    /// `scope` is for requests that have none.
    pub fn lines(
        self,
        sources: Vec<Source>,
        limit: usize,
        format: AnswerFormat,
        jobs: usize,
        scope: Option<Scope>,
        io: &mut Io,
    ) -> Result<()> {
        let (forwarder, scope) = (Arc::new(self), Arc::new(scope));
        let (visible, clock) = (io.stdout_is_tty(), io.clock);
        let mut lines = read(sources, limit)?;
        http::run(async {
            let (mut working, mut more) = (VecDeque::new(), true);
            while more || !working.is_empty() {
                tokio::select! {
                    next = lines.recv(), if more && working.len() < jobs => match next {
                        None => more = false,
                        Some(next) => {
                            let (sender, output) = channel(AHEAD);
                            working.push_back(output);
                            let (forwarder, scope) = (forwarder.clone(), scope.clone());
                            tokio::spawn(async move {
                                let scope = (*scope).as_ref();
                                // The receiver is gone only if the tool has ended.
                                let _ = match next {
                                    Ok(value) => forwarder.line(value, format, scope, &clock, &sender).await,
                                    Err(fault) => sender.send(LineOutput::Fault(fault)).await,
                                };
                            });
                        }
                    },
                    output = first(&mut working) => match output {
                        None => drop(working.pop_front()),
                        Some(output) => print(output, visible, io)?,
                    },
                }
            }
            Ok(())
        })
    }
}

/// Reads in a thread of its own: a connection that its provider closes while there is nothing to read is
/// noticed, and the next request does not fail on it.
fn read(sources: Vec<Source>, limit: usize) -> Result<Receiver<Result<LocatedObject>>> {
    let (sender, lines) = channel(1);
    let read = move || {
        for (name, input) in sources {
            let mut reader = Reader::new(&name, input, limit);
            while let Some(next) = reader.next() {
                if sender.blocking_send(next).is_err() {
                    return;
                }
            }
        }
    };
    thread::Builder::new().spawn(read).context("cannot start a thread that reads")?;
    Ok(lines)
}

/// The next output of the line whose turn it is; `None` when it is done.
async fn first(working: &mut VecDeque<Receiver<LineOutput>>) -> Option<LineOutput> {
    match working.front_mut() {
        Some(output) => output.recv().await,
        None => std::future::pending().await,
    }
}

/// Prints an output and flushes it, since somebody may be waiting.
fn print(output: LineOutput, visible: bool, io: &mut Io) -> Result<()> {
    match output {
        LineOutput::Line(line) => io.out.write(line.as_bytes())?,
        LineOutput::Text(text) if visible => io.out.write(view::visible(&text).as_bytes())?,
        LineOutput::Text(text) => io.out.write(text.as_bytes())?,
        LineOutput::Fault(fault) => io.fault(&fault),
        LineOutput::Detail(detail) => io.detail(detail),
    }
    io.out.flush()
}
