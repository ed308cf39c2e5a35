//! rsv-distill: makes memories of sessions, and abstracts and overviews of documents.

use clap::builder::NonEmptyStringValueParser;
use rsv::cli::{Io, Outcome};
use rsv::config::Settings;
use rsv::distill::{Distiller, LATEST, Patterns, SessionFacts, SessionOutcome};
use rsv::error::{Error, Result};
use rsv::redact::Redactor;
use rsv::structured::Method;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Turn sessions into memories, and describe documents, for rsv-ingest to store
///
/// Reads summaries of sessions, one a line, and prints for each a strategy (success), a warning (failure) or
/// both (partial). With --outcome and --task, the messages among the lines are one session. With --model, a
/// model writes the memories, and the abstracts and overviews of the documents that 'rsv-view --stale'
/// prints. Other lines are passed on. With --outcome and --session alone, the messages are those of the
/// store, which gets the memories too; no store is opened otherwise.
#[derive(clap::Args)]
struct Args {
    /// The files to read; without any, or for '-', read standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Turn the messages that 'rsv-view --uncommitted' prints into one commit: their archive, and the
    /// memories found in them
    #[arg(long, conflicts_with_all = ["outcome", "task", "tags", "session"])]
    commit: bool,
    /// With --commit: also recognize statements to remember by the patterns in this file [default: the
    /// setting session.patterns]
    #[arg(long, value_name = "FILE", requires = "commit")]
    patterns: Option<PathBuf>,
    /// Distil messages too, of a session with this outcome: success, failure or partial
    #[arg(long, value_name = "OUTCOME", value_parser = outcome)]
    outcome: Option<SessionOutcome>,
    /// The task of the session of the messages [default, for a session in the store: its title]
    #[arg(long, value_name = "TEXT", value_parser = task, requires = "outcome")]
    task: Option<String>,
    /// Give the memories of the messages these tags
    #[arg(long, value_name = "TAG,...", value_delimiter = ',', requires = "outcome")]
    tags: Vec<String>,
    /// Name the session of the messages [default: the trace or the instance that they have in common];
    /// without --task, or without input, take the messages of this session of -p, or of the latest, from the
    /// store, and store its memories
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new(), requires = "outcome")]
    session: Option<String>,
    /// Let this model write up to 3 memories of each session, made by rule if it fails, and the abstract and
    /// the overview of each document, which stays unchanged if it fails
    #[arg(long, value_name = "MODEL", value_parser = NonEmptyStringValueParser::new())]
    model: Option<String>,
    /// Print the requests to the model, for rsv-forward, instead of sending them
    #[arg(long, requires = "model")]
    emit_request: bool,
    /// Ask about this many documents at once
    #[arg(short, long, value_name = "COUNT", default_value = "1", requires = "model")]
    jobs: NonZeroUsize,
}

fn outcome(text: &str) -> std::result::Result<SessionOutcome, String> {
    SessionOutcome::named(text).ok_or_else(|| "expected success, failure or partial".to_owned())
}

fn task(text: &str) -> std::result::Result<String, String> {
    if text.trim().is_empty() { Err("expected some text".to_owned()) } else { Ok(text.to_owned()) }
}

rsv::tool!(run);

fn run(args: Args, settings: Settings, io: &mut Io) -> Result<Outcome> {
    Redactor::for_tool(&settings)?;
    io.common.scope()?;
    let method = Method::new(args.model.as_deref(), args.emit_request, &settings, io)?;
    let stored = args.session.clone().filter(|name| reads_store(name, &args, io));
    let Args { outcome, task, tags, session: name, files, .. } = args;
    let is_without_task = outcome.is_some() && task.is_none();
    let distiller = Distiller { method, facts: SessionFacts { outcome, task, tags, name } };
    if let (Some(name), Some(outcome)) = (stored, outcome) {
        distiller.stored(outcome, &name, &settings, io)?;
        return Ok(Outcome::Yes);
    }
    if is_without_task {
        return Err(Error::new("--outcome needs the task of the session, or a session of the store")
            .hint("give --task TEXT, or --session latest"));
    }
    let limit = settings.max_line();
    if args.commit {
        let file = args.patterns.or_else(|| settings.text("session.patterns").map(PathBuf::from));
        let patterns = Patterns::load(file.as_deref())?;
        distiller.commit(io.sources(&files)?, limit, &patterns, io)?;
    } else {
        distiller.lines(io.sources(&files)?, limit, args.jobs, io)?;
    }
    Ok(Outcome::Yes)
}

/// Whether a session is that of the store: its messages are in no input.
fn reads_store(name: &str, args: &Args, io: &Io) -> bool {
    args.files.is_empty() && (name == LATEST || args.task.is_none() || io.stdin_is_tty())
}
