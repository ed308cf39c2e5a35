//! rsv-ingest: stores messages and passes them on, completed.

use clap::builder::NonEmptyStringValueParser;
use rsv::cli::{self, BadLines, Io, Outcome};
use rsv::config::Settings;
use rsv::error::{Error, Result};
use rsv::forget;
use rsv::ingest::{self, Gathered, Ingest, Mirrored, NewMemory, Options};
use rsv::lines::{self, Feed, LocatedLine};
use rsv::record::Role;
use rsv::redact::Redactor;
use rsv::store::{self, OpenMode, Store};
use rsv::text::counted;
use rsv::view::{self, ReservoirLines};
use serde::de::IgnoredAny;
use std::path::Path;
use std::time::Instant;

/// Store messages and print them with the missing fields filled in
///
/// The input is one text, as an argument or as the whole of standard input, or JSON lines: messages, links,
/// embeddings, accounts, memories, documents, signals, responses, and commits of sessions. With --title, the text becomes a memory. Of a response, the question and the answer are stored. Each line is
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
    /// Store that the text corrects the message with this id; standard input is then text
    #[arg(long, value_name = "ID", conflicts_with = "title", value_parser = NonEmptyStringValueParser::new())]
    corrects: Option<String>,
    /// Store system messages too
    #[arg(long)]
    keep_system: bool,
    /// Take away the documents that the trees of the input, as rsv-parse prints them, do not have; without a complete tree
    /// line, none
    #[arg(long, conflicts_with_all = ["text", "literal", "role", "title", "corrects"])]
    mirror: bool,
    /// With --mirror, replace the documents of another directory at the same address
    #[arg(long, requires = "mirror")]
    replace: bool,
    /// Store records again that were forgotten
    #[arg(long)]
    allow_return: bool,
    /// Print in this format: jsonl, json (one array), text or reservoir [default: text on a terminal, else jsonl]
    #[arg(long, value_name = "FORMAT", value_parser = ["jsonl", "json", "text", "reservoir"], hide_possible_values = true)]
    format: Option<String>,
}

rsv::tool!(run);

fn run(args: Args, settings: Settings, io: &mut Io) -> Result<Outcome> {
    let options = Options {
        partition: io.common.partition().map(str::to_owned),
        instance: io.common.instance.clone(),
        trace_id: args.trace,
        keep_system: args.keep_system,
        import: None,
        undoable: None,
        commit_at_pause: false,
        mirror: args.mirror,
        replace: args.replace,
        allow_return: args.allow_return,
        max_line: Some(settings.max_line()),
        redactor: Redactor::for_tool(&settings)?,
    };
    io.common.scope()?;
    let mut ingest = Ingest::new(options, io.clock);
    let limit = settings.max_line();
    let open = || -> Result<Box<dyn Store>> { Ok(store::open(&settings.store()?, OpenMode::Create)?) };
    let format = args.format.as_deref();
    if format == Some("json") {
        io.out.begin_array();
    }
    let format = Format::named(format.unwrap_or(if io.stdout_is_tty() { "text" } else { "jsonl" }), io);
    let memory = args.title.as_deref().map(|title| NewMemory {
        title,
        outcome: args.outcome.as_deref().unwrap_or_default(),
        tags: &args.tags,
        description: args.description.as_deref(),
        session_id: None,
        completed_at: None,
    });
    let mut one_text = |text: &str, io: &mut Io| {
        match &memory {
            Some(memory) => ingest.add_memory(memory, text)?,
            None => ingest.add_text(args.role.unwrap_or(Role::User), text)?,
        }
        let mut store = open()?;
        if let Some(id) = &args.corrects {
            ingest.add_correction(id, &mut *store)?;
        }
        let done = commit(&mut ingest, &mut *store, format, &mut BadLines::default(), io)?;
        if let Some(note) = ingest.redaction_note() {
            io.note(note);
        }
        Ok(done)
    };
    if let Some(text) = args.text {
        if args.role.is_none() && args.title.is_none() {
            refuse_file(&text)?;
        }
        return one_text(&text, io);
    }
    if let Some(text) = args.literal {
        return one_text(&text, io);
    }
    if args.role.is_some() || args.title.is_some() || args.corrects.is_some() {
        return one_text(&io.text(limit)?, io);
    }
    let (first, input) = io.peek()?;
    match &*first {
        b"{" | b"[{" => {
            let feed = Feed::lines(vec![("<stdin>".to_owned(), input)], limit, ingest.redaction())?;
            store_lines(feed, &mut ingest, &mut *open()?, (format, args.mirror), io)
        }
        _ if args.mirror => Err(ingest::no_tree()),
        _ => {
            let text = cli::read_text(input, "<stdin>", limit)?;
            if text.is_empty() {
                // No lines, as from a tool that found nothing.
                return Ok(Outcome::Yes);
            }
            if first.starts_with(b"[") && serde_json::from_str::<IgnoredAny>(&text).is_ok() {
                return Err(Error::new("<stdin>: is a JSON array without objects")
                    .hint("a message is an object: man 5 rsv-record; --role user stores the array as text"));
            }
            if let Some(error) = lines::records_after_text("<stdin>", &text, limit) {
                return Err(error);
            }
            one_text(&text, io)
        }
    }
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

/// Stores lines as they arrive; a pause in the input commits the batch.
fn store_lines(
    mut feed: Feed<LocatedLine>,
    ingest: &mut Ingest,
    store: &mut dyn Store,
    (format, mirror): (Format, bool),
    io: &mut Io,
) -> Result<Outcome> {
    let begin = Instant::now();
    let mut bad_lines = BadLines::default();
    loop {
        let gathered = ingest.gather(&mut feed, &mut |line| bad_lines.line(line, io));
        commit(ingest, store, format, &mut bad_lines, io)?;
        if gathered == Gathered::All {
            bad_lines.end(io);
            if mirror {
                match ingest.mirror(store)? {
                    Mirrored::Removed(count) => {
                        io.detail(format_args!("{} taken away", counted(count, "document")))
                    }
                    Mirrored::Refused(why) => io.fault(&why),
                }
            }
            for note in ingest.forgetting_note().into_iter().chain(ingest.redaction_note()) {
                io.note(note);
            }
            let (created, archived) = ingest.consolidated();
            if created > 0 {
                let memories = counted(created as u64, "memory");
                let seconds = begin.elapsed().as_secs_f64();
                io.note(format_args!("created {memories}, archived {archived}, in {seconds:.1} s"));
            }
            if ingest.has_removed() {
                forget::erase(store)?;
            }
            return Ok(Outcome::Yes);
        }
    }
}

/// The format of the output.
#[derive(Clone, Copy)]
enum Format {
    Lines,
    /// One line for people for each that was stored.
    Text,
    Reservoir(ReservoirLines),
}

impl Format {
    fn named(name: &str, io: &Io) -> Format {
        match name {
            "text" => Format::Text,
            "reservoir" => Format::Reservoir(ReservoirLines { to_terminal: io.stdout_is_tty() }),
            _ => Format::Lines,
        }
    }
}

/// Writes the batch, and prints its lines.
fn commit(
    ingest: &mut Ingest,
    store: &mut dyn Store,
    format: Format,
    bad_lines: &mut BadLines,
    io: &mut Io,
) -> Result<Outcome> {
    for done in ingest.commit(store)? {
        match done.line {
            Ok(line) => match format {
                Format::Lines => io.out.write(&line)?,
                Format::Text => {
                    let text = done.scope.map(|scope| view::stored_line(&scope, &line));
                    io.out.write(text.unwrap_or_default().as_bytes())?;
                }
                Format::Reservoir(lines) => {
                    let text = done.scope.map(|_| lines.saved(&line));
                    io.out.write(text.unwrap_or_default().as_bytes())?;
                }
            },
            Err(error) => bad_lines.print(&error, io),
        }
        if let Some(note) = done.note {
            io.note(note);
        }
    }
    io.out.flush().map(|()| Outcome::Yes)
}
