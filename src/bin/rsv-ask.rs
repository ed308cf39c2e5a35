//! rsv-ask: one turn with a model: 'rsv-enrich --strict | rsv-forward --stream | rsv-ingest' in one process.

use clap::builder::NonEmptyStringValueParser;
use rsv::chat::GrowingText;
use rsv::cli::{self, Io, Outcome};
use rsv::config::{self, Settings};
use rsv::enrich::LineEnricher;
use rsv::error::{Error, Result};
use rsv::forward::{Caller, Forwarder, StreamEnd};
use rsv::ingest::{Ingest, Options};
use rsv::record::Object;
use rsv::redact::Redactor;
use rsv::search;
use rsv::store::{self, OpenMode};
use rsv::{chat, http, view};
use std::process::ExitCode;

/// Ask a model with memory, print its answer, and store the turn
///
/// Does what 'rsv-enrich --strict | rsv-forward --stream | rsv-ingest' does: it adds related and recent messages to
/// the question, asks the provider of the model, prints the text of the answer as it arrives, and stores question
/// and answer. Text on standard input is appended to the words of the question, unless that is a terminal.
#[derive(clap::Args)]
struct Args {
    /// The words of the question; without any, read standard input
    text: Vec<String>,
    /// Ask this model [default: the setting model]
    #[arg(long, value_name = "MODEL", value_parser = NonEmptyStringValueParser::new())]
    model: Option<String>,
    /// Use this trace for the turn, instead of a new one
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    trace: Option<String>,
}

pub(crate) fn main() -> ExitCode {
    cli::main(run, rsv::complete::VALUES)
}

fn run(args: Args, io: &mut Io) -> Result<Outcome> {
    let settings = config::load_for_tool(io)?;
    let redactor = Redactor::for_tool(&settings)?;
    let question = question(&args.text, settings.max_line(), io)?;
    if args.model.is_none() && settings.text("model").is_none() {
        return Err(Error::new("no model is named").hint("give --model MODEL, or run: rsv-config init"));
    }
    search::choose_recalled(&settings, io, true)?;
    let request = request(&question, args.model.as_deref());
    let enriched = LineEnricher::new(settings.clone(), &io.common, args.trace, io.clock, io.diagnostics())?
        .enrich(request)?;
    if let Some(error) = enriched.too_long {
        return Err(error);
    }
    let (end, printed) = http::run(ask(enriched.line, &settings, io))?;
    if let Some(failure) = end.failure {
        io.fault(&failure.error());
    }
    if let Some(response) = end.response {
        keep(&response, &settings, redactor, io)?;
    }
    printed.map(|()| Outcome::Yes)
}

/// The words, and what standard input adds to them.
fn question(words: &[String], limit: usize, io: &Io) -> Result<String> {
    let mut question = words.join(" ");
    if question.is_empty() && io.stdin_is_tty() {
        return Err(no_question("there is no question, and standard input is a terminal"));
    }
    if question.is_empty() || !io.stdin_is_tty() {
        let piped = io.text(limit)?;
        let piped = piped.trim_end_matches('\n');
        if !question.is_empty() && !piped.is_empty() {
            question.push_str("\n\n");
        }
        question.push_str(piped);
    }
    if question.trim().is_empty() {
        return Err(no_question("there is no question"));
    }
    Ok(question)
}

fn no_question(error: &str) -> Error {
    Error::new(error).hint("give it as words, as in rsv-ask \"Where are my tomatoes?\", or pipe it in")
}

fn request(question: &str, model: Option<&str>) -> Object {
    let (mut request, mut message) = (Object::default(), Object::default());
    message.set_text("role", "user");
    message.set_text("content", question);
    if let Some(model) = model {
        request.set_text("model", model);
    }
    request.set("messages", chat::array(&[message]));
    request
}

/// Asks the provider and prints the text of the answer as it arrives. An answer that cannot be printed is still received,
/// so that it can be stored.
async fn ask(request: Object, settings: &Settings, io: &mut Io) -> Result<(StreamEnd, Result<()>)> {
    let forwarder = Forwarder::new(settings, &io.diagnostics())?;
    let stream = forwarder.stream(request, &Caller::default(), &io.clock).await;
    let mut stream = stream.map_err(|failure| failure.error())?;
    let (mut printed, mut ends_line, mut answer) = (Ok(()), true, GrowingText::default());
    while let Some(Ok(piece)) = stream.next().await {
        for event in &piece.events {
            event.push_text(&mut answer);
        }
        let text = answer.take();
        if printed.is_ok() && !text.is_empty() {
            ends_line = text.ends_with('\n');
            printed = print(&text, io);
        }
    }
    if printed.is_ok() && !ends_line {
        printed = print("\n", io);
    }
    Ok((stream.end(), printed))
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

/// Stores the turn of a response.
fn keep(response: &Object, settings: &Settings, redactor: Option<Redactor>, io: &mut Io) -> Result<()> {
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
