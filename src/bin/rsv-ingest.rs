//! rsv-ingest: stores messages and passes them on, completed.

use clap::builder::NonEmptyStringValueParser;
use rsv::cli::{self, BadLines, Io, Outcome};
use rsv::config::Settings;
use rsv::error::{Error, Result};
use rsv::ingest::{self, Ingest, NewMemory, Options};
use rsv::lines::{self, Feed};
use rsv::record::Role;
use rsv::redact::Redactor;
use rsv::show::IngestFormat;
use rsv::store::{self, OpenMode};
use serde::de::IgnoredAny;
use std::io::Read;
use std::path::Path;

/// Store messages and print them with the missing fields filled in
///
/// The input is one text, as an argument or as the whole of standard input, or JSON lines: messages, links,
/// embeddings, accounts, memories, documents, signals, responses, and commits of sessions. With --title, the
/// text becomes a memory. A response stores its question and its answer. Each line is
/// printed once its records are durable.
#[derive(clap::Args)]
struct Args {
    /// The text to store; without it, read standard input, as JSON lines if it begins with '{' or '[{'
    text: Option<String>,
    /// The text to store, even if it begins with a dash or is the name of a file
    #[arg(last = true, value_name = "TEXT", conflicts_with = "text")]
    literal: Option<String>,
    /// Store the text under this role: user, assistant, system or tool; standard input is then text
    #[arg(long, value_name = "ROLE", value_parser = cli::role)]
    role: Option<Role>,
    /// Use this trace for messages that have none; it ties a question to its answer
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    trace: Option<String>,
    /// Store the text as a memory with this title; standard input is then text
    #[arg(long, value_name = "TITLE", conflicts_with_all = ["role", "trace"], requires = "outcome")]
    title: Option<String>,
    /// Give the memory this outcome: success or failure
    #[arg(long, value_name = "OUTCOME", value_parser = ["success", "failure"], hide_possible_values = true, requires = "title")]
    outcome: Option<String>,
    /// Give the memory these tags
    #[arg(long, value_name = "TAG,...", value_delimiter = ',', requires = "title")]
    tags: Vec<String>,
    /// Describe the memory in a sentence
    #[arg(long, value_name = "TEXT", requires = "title")]
    description: Option<String>,
    /// Mark the text as a correction of the message with this id; standard input is then text
    #[arg(long, value_name = "ID", conflicts_with = "title", value_parser = NonEmptyStringValueParser::new())]
    corrects: Option<String>,
    /// Store system messages too
    #[arg(long)]
    keep_system: bool,
    /// Remove the documents that the trees of the input, as rsv-parse prints them, do not have; without a
    /// complete tree line, none
    #[arg(long, conflicts_with_all = ["text", "literal", "role", "title", "corrects"])]
    mirror: bool,
    /// With --mirror, replace the documents of another directory at the same address
    #[arg(long, requires = "mirror")]
    replace: bool,
    /// Also store forgotten records
    #[arg(long)]
    allow_return: bool,
    /// Print in this format: jsonl, json (one array), text or reservoir [default: text on a terminal, else
    /// jsonl]
    #[arg(long, value_name = "FORMAT", value_parser = ["jsonl", "json", "text", "reservoir"], hide_possible_values = true)]
    format: Option<String>,
}

rsv::tool!(run);

/// The input to store.
enum Mode {
    Text(String),
    /// Lines of standard input.
    Lines(Box<dyn Read + Send>),
    /// No lines, as from a tool that found nothing.
    Nothing,
}

fn run(args: Args, settings: Settings, io: &mut Io) -> Result<Outcome> {
    let limit = settings.max_line();
    let options = Options {
        partition: io.common.partition().map(str::to_owned),
        instance: io.common.instance.clone(),
        trace_id: args.trace.clone(),
        keep_system: args.keep_system,
        mirror: args.mirror,
        replace: args.replace,
        allow_return: args.allow_return,
        max_line: Some(limit),
        redactor: Redactor::for_tool(&settings)?,
        ..Options::default()
    };
    io.common.scope()?;
    let mut ingest = Ingest::new(options, io.clock);
    let open = || store::open(&settings.store()?, OpenMode::Create).map_err(Error::from);
    let format = IngestFormat::begin(args.format.as_deref(), io);
    match mode(&args, limit, io)? {
        Mode::Text(text) => {
            add_text(&args, &text, &mut ingest)?;
            let mut store = open()?;
            if let Some(id) = &args.corrects {
                ingest.add_correction(id, &mut *store)?;
            }
            format.commit(&mut ingest, &mut *store, &mut BadLines::default(), io)?;
            if let Some(note) = ingest.redaction_note() {
                io.note(note);
            }
        }
        Mode::Lines(input) => {
            let feed = Feed::lines(vec![("<stdin>".to_owned(), input)], limit, ingest.redaction())?;
            format.store_lines(feed, &mut ingest, &mut *open()?, args.mirror, io)?;
        }
        Mode::Nothing => {}
    }
    Ok(Outcome::Yes)
}

/// Takes the text of the command line, or reads standard input.
fn mode(args: &Args, limit: usize, io: &Io) -> Result<Mode> {
    if let Some(text) = &args.text {
        if args.role.is_none() && args.title.is_none() {
            refuse_file(text)?;
        }
        return Ok(Mode::Text(text.clone()));
    }
    if let Some(text) = &args.literal {
        return Ok(Mode::Text(text.clone()));
    }
    if args.role.is_some() || args.title.is_some() || args.corrects.is_some() {
        return io.text(limit).map(Mode::Text);
    }
    let (first, input) = io.peek()?;
    if [&b"{"[..], b"[{"].contains(&&*first) {
        return Ok(Mode::Lines(input));
    }
    if args.mirror {
        return Err(ingest::no_tree());
    }
    let text = cli::read_text(input, "<stdin>", limit)?;
    if text.is_empty() {
        return Ok(Mode::Nothing);
    }
    if first.starts_with(b"[") && serde_json::from_str::<IgnoredAny>(&text).is_ok() {
        return Err(Error::new("<stdin>: is a JSON array without objects")
            .hint("a message is an object: man 5 rsv-record; --role user stores the array as text"));
    }
    lines::records_after_text("<stdin>", &text, limit).map_or(Ok(Mode::Text(text)), Err)
}

fn add_text(args: &Args, text: &str, ingest: &mut Ingest) -> Result<()> {
    let Some(title) = args.title.as_deref() else {
        return ingest.add_text(args.role.unwrap_or(Role::User), text);
    };
    let memory = NewMemory {
        title,
        outcome: args.outcome.as_deref().unwrap_or_default(),
        tags: &args.tags,
        description: args.description.as_deref(),
        session_id: None,
        completed_at: None,
    };
    ingest.add_memory(&memory, text)
}

/// Errors if a text is the name of a file, whose contents may be meant.
fn refuse_file(text: &str) -> Result<()> {
    let path = Path::new(text);
    if !path.metadata().is_ok_and(|file| !file.is_dir()) {
        return Ok(());
    }
    let name = cli::quoted(path);
    Err(Error::new(format!("{text} is the name of a file"))
        .hint(format!("store what is in it: rsv-ingest < {name}; store its name: rsv-ingest -- {name}")))
}
