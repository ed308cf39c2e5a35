//! The answer to a question: printed as it arrives, and stored with the question.

use crate::chat::GrowingText;
use crate::cli::{Interrupts, Io};
use crate::config::Settings;
use crate::error::Result;
use crate::forward::{Caller, Forwarder, StreamEnd};
use crate::ingest::{Ingest, Options};
use crate::record::Object;
use crate::redact::Redactor;
use crate::store::{self, OpenMode};
use crate::view;
use std::future::pending;

/// An answer that has come to its end.
pub(super) struct PrintedAnswer {
    pub(super) end: StreamEnd,
    /// Whether all that arrived could be printed.
    pub(super) printed: Result<()>,
    /// Whether Ctrl-C stopped it.
    pub(super) is_stopped: bool,
}

/// Asks the provider and prints the text of the answer as it arrives, until Ctrl-C stops it. An answer that
/// cannot be printed is still received, so that it can be stored.
pub(super) async fn receive(
    request: Object,
    settings: &Settings,
    interrupts: Option<&Interrupts>,
    io: &mut Io,
) -> Result<PrintedAnswer> {
    let clock = io.clock;
    let forwarder = Forwarder::new(settings, &io.diagnostics())?;
    let caller = Caller::default();
    let stream = tokio::select! {
        biased;
        () = pressed(interrupts) => {
            let end = StreamEnd { response: None, failure: None };
            return Ok(PrintedAnswer { end, printed: Ok(()), is_stopped: true });
        }
        stream = forwarder.stream(request, &caller, &clock) => stream,
    };
    let mut stream = stream?;
    let (mut printed, mut ends_line, mut answer) = (Ok(()), true, GrowingText::default());
    let is_stopped = loop {
        let piece = tokio::select! {
            piece = stream.next() => piece,
            () = pressed(interrupts) => break true,
        };
        let Some(Ok(piece)) = piece else { break false };
        for event in &piece.events {
            event.push_text(&mut answer);
        }
        let text = answer.take();
        if printed.is_ok() && !text.is_empty() {
            ends_line = text.ends_with('\n');
            printed = print(&text, io);
        }
    };
    if printed.is_ok() && !ends_line {
        printed = print("\n", io);
    }
    Ok(PrintedAnswer { end: stream.end(), printed, is_stopped })
}

/// Waits for Ctrl-C, where it does not end the process.
async fn pressed(interrupts: Option<&Interrupts>) {
    match interrupts {
        Some(interrupts) => interrupts.pressed().await,
        None => pending().await,
    }
}

/// Prints a text and flushes it, since somebody is waiting.
fn print(text: &str, io: &mut Io) -> Result<()> {
    if io.stdout_is_tty() {
        io.out.write(view::visible(text).as_bytes())?;
    } else {
        io.out.write(text.as_bytes())?;
    }
    io.out.flush()
}

/// Stores the turn of a response. Fails if `rsv` has invalid members, or the store cannot be opened or
/// written; a refused line is only reported.
pub(super) fn keep(
    response: &Object,
    settings: &Settings,
    redactor: Option<Redactor>,
    io: &mut Io,
) -> Result<()> {
    let options = Options { max_line: Some(settings.max_line()), redactor, ..Options::default() };
    let mut ingest = Ingest::new(options, io.clock);
    ingest.add_response(response)?;
    let mut store = store::open(&settings.store()?, OpenMode::Create)?;
    for stored in ingest.commit(&mut *store)? {
        if let Err(error) = stored.line {
            io.fault(&error);
        }
        if let Some(note) = stored.note {
            io.note(note);
        }
    }
    if let Some(note) = ingest.redaction_note() {
        io.note(note);
    }
    Ok(())
}
