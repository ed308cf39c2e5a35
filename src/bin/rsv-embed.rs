//! rsv-embed: makes vectors for lines and for stored messages, and manages embedding models.

use rsv::backfill::{self, Replayed};
use rsv::cli::{Io, Outcome};
use rsv::config::Settings;
use rsv::embed::{self, BatchSizer, Embedder, InputType, Workload};
use rsv::error::{Error, Result};
use rsv::lines::{Feed, FeedEvent, LocatedObject, SourceLocation};
use rsv::link::synapse::{self, Plan};
use rsv::record::{Object, Scopes};
use rsv::store::{self, Derived, OpenMode, Store};
use rsv::text::counted_verb;
use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Instant;

/// Add vectors to lines, or to the messages of the store
///
/// Reads JSON lines and prints each with 'embedding' and 'embedding_model' set. The vector is that of a message's
/// text, of a title and its content, of the last user message of a request, or of a query. --fetch installs an
/// embedding model.
#[derive(clap::Args)]
struct Args {
    /// The files to read; without any, or for '-', read standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Read plain text, and make a JSON line of each line
    #[arg(long, conflicts_with = "field")]
    text: bool,
    /// Embed this member of each line
    #[arg(long, value_name = "NAME")]
    field: Option<String>,
    /// Embed the lines as questions
    #[arg(long)]
    query: bool,
    /// Print in this format: jsonl, json (one array) or raw (32-bit floats, little-endian)
    #[arg(long, value_name = "FORMAT", default_value = "jsonl", value_parser = ["jsonl", "json", "raw"], hide_possible_values = true)]
    format: String,
    #[command(flatten)]
    task: Task,
    /// With --replay: keep the vectors of the previous model
    #[arg(long, requires = "replay")]
    keep: bool,
    /// With --fetch: take the files from this directory, and download nothing
    #[arg(long, value_name = "DIRECTORY", requires = "fetch")]
    from: Option<PathBuf>,
    /// With --fetch: only download the files into this directory, for --from on another machine
    #[arg(long, value_name = "DIRECTORY", requires = "fetch", conflicts_with = "from")]
    into: Option<PathBuf>,
}

/// Tasks other than embedding lines.
#[derive(clap::Args)]
#[group(multiple = false, conflicts_with_all = ["files", "text", "field", "query", "format"])]
struct Task {
    /// Embed every message of the store that has no vector, and update its word index
    #[arg(long)]
    pending: bool,
    /// Embed every message again, with this model or the same one
    #[arg(long, value_name = "MODEL", num_args = 0..=1)]
    replay: Option<Option<String>>,
    /// Download a model, check it and prepare it [default: by the language of what is stored]
    #[arg(long, value_name = "MODEL", num_args = 0..=1)]
    fetch: Option<Option<String>>,
    /// List the known and the installed models
    #[arg(long)]
    models: bool,
}

rsv::tool!(run);

fn run(args: Args, settings: Settings, io: &mut Io) -> Result<Outcome> {
    if let Some(model) = &args.task.fetch {
        fetch(&args, model.as_deref(), &settings, io)?;
    } else if args.task.models {
        models(&settings, io)?;
    } else if let Some(model) = &args.task.replay {
        replay(&settings, model.as_deref(), args.keep, io)?;
    } else if args.task.pending {
        pending(&settings, io)?;
    } else {
        filter(&args, &settings, io)?;
    }
    Ok(Outcome::Yes)
}

/// Fetches a model; without a name that which suits the language of what is stored.
fn fetch(args: &Args, name: Option<&str>, settings: &Settings, io: &mut Io) -> Result<()> {
    let name = match name {
        Some(name) => name.to_owned(),
        None => backfill::suitable_model(settings, io.common.to_cover()?, &io.diagnostics()).to_owned(),
    };
    let mut report = (io.bytes(), io.diagnostics());
    if let Some(directory) = &args.into {
        let id = embed::download_to(settings, &name, directory, &mut report)?;
        io.note(format_args!("{id} is in {}", directory.display()));
        return Ok(());
    }
    let id = embed::fetch(settings, &name, args.from.as_deref(), &mut report)?;
    io.note(format_args!("{id} is installed"));
    let used = embed::models(settings)?.into_iter().find(|model| model.in_use);
    if let Some(used) = used.filter(|used| used.id != id) {
        io.note(format_args!(
            "the model in use is {}; to change: rsv-config set embed.model {id}, then: rsv-embed --replay",
            used.id
        ));
    }
    Ok(())
}

fn models(settings: &Settings, io: &mut Io) -> Result<()> {
    let people = io.stdout_is_tty();
    let size = |bytes: Option<u64>| {
        bytes.map_or("-".to_owned(), |bytes| format!("{} MB", bytes.div_ceil(1_000_000)))
    };
    for model in embed::models(settings)? {
        io.out.with(|out| {
            let line = if people {
                let (mark, dim) = (if model.in_use { "*" } else { " " }, model.dim.unwrap_or_default());
                let (installed, prepared) = (size(model.installed), size(model.prepared));
                let licence = model.licence.as_deref().unwrap_or("-");
                format!("{mark} {:<40} {dim:>5} {installed:>8} {prepared:>8}  {licence}\n", model.id)
            } else {
                model.to_object().to_json() + "\n"
            };
            out.extend_from_slice(line.as_bytes());
        })?;
    }
    Ok(())
}

fn pending(settings: &Settings, io: &mut Io) -> Result<()> {
    let which = backfill::embeddable(io.common.to_cover()?);
    let mut store = store::open(&settings.store()?, OpenMode::Existing)?;
    let _claim = backfill::claim(&mut *store, "embed", &io.diagnostics())?;
    let updated = update_words(&mut *store, io)?;
    if !store.repair(Derived::VectorIndexes)?.is_empty() {
        io.note("rebuilt the vector index, which was damaged");
    }
    let embedder = backfill::embedder(&mut *store, settings, Workload::Many, &io.diagnostics());
    let mut embedder = match embedder {
        Ok(embedder) => embedder,
        // The words were what was left to do.
        Err(why) if updated => {
            io.note(format_args!("no vectors are made: {why}"));
            return Ok(());
        }
        Err(why) => return Err(why),
    };
    let bar = RefCell::new(io.progress());
    let mut report = |done, of| bar.borrow_mut().set("embedding", done, Some(of));
    let mut fault = |error| bar.borrow().suspend(|| io.fault(&error));
    backfill::all(&mut *store, &mut embedder, &which, &mut report, &mut fault)?;
    drop(bar);
    link(&mut *store, settings, &which.scopes, false, io)
}

/// Indexes the words of the records anew that an earlier release has indexed; returns whether there were any. This needs
/// no model.
fn update_words(store: &mut dyn Store, io: &Io) -> Result<bool> {
    let mut remaining = store.outdated_words()?;
    let (total, mut bar) = (remaining, io.progress());
    while remaining > 0 {
        bar.set("indexing words", total.saturating_sub(remaining), Some(total));
        remaining = store.update_words()?;
    }
    drop(bar);
    if total > 0 {
        io.note("the words of all messages are indexed");
    }
    Ok(total > 0)
}

/// Links newly embedded messages; after a change of the model, all messages that the previous model linked.
fn link(store: &mut dyn Store, settings: &Settings, scopes: &Scopes, update: bool, io: &Io) -> Result<()> {
    let Some(plan) = Plan::from_settings(store, settings, None, None)? else { return Ok(()) };
    let _claim = backfill::claim(store, "link", &io.diagnostics())?;
    let mut bar = io.progress();
    let mut report = |done, of| bar.set("linking", done, Some(of));
    if update {
        synapse::update(store, &plan, scopes, false, &mut report, &mut |_| Ok(()))
    } else {
        synapse::grow(store, &plan, scopes, usize::MAX, &mut report, &mut |_| Ok(()))
    }
}

fn replay(settings: &Settings, model: Option<&str>, keep: bool, io: &mut Io) -> Result<()> {
    let which = backfill::embeddable(io.common.to_cover()?);
    let mut store = store::open(&settings.store()?, OpenMode::Existing)?;
    let _claim = backfill::claim(&mut *store, "embed", &io.diagnostics())?;
    let mut embedder = Embedder::named(settings, model, Workload::Many, &io.diagnostics())?;
    let bar = RefCell::new(io.progress());
    let mut report = |done, of| bar.borrow_mut().set("embedding", done, Some(of));
    let mut fault = |error| bar.borrow().suspend(|| io.fault(&error));
    let done = backfill::replay(&mut *store, &mut embedder, &which, keep, &mut report, &mut fault)?;
    drop(bar);
    backfill::settle(&mut *store, settings, &io.diagnostics())?;
    link(&mut *store, settings, &which.scopes, true, io)?;
    if let Replayed::Partly(remaining, before) = done {
        let until = if remaining == 1 { "it does" } else { "they do" };
        io.note(format_args!(
            "{} no vector of {} yet; until {until}, searches use {before}",
            counted_verb(remaining, "record", ["has", "have"]),
            embedder.model()
        ));
    }
    Ok(())
}

/// A line that waits for its vector.
struct Waiting {
    place: SourceLocation,
    line: Object,
    text: Option<(String, InputType)>,
}

impl Waiting {
    fn from_value(value: LocatedObject, field: Option<&str>, question: bool) -> Result<Waiting> {
        let text = embed::text_of(&value.object, field).map_err(|e| e.at(&value.location))?;
        let text = text.map(|(text, side)| (text, if question { InputType::Query } else { side }));
        Ok(Waiting { place: value.location, line: value.object, text })
    }
}

/// The greatest size of a batch of waiting lines, in bytes.
const BATCH_BYTES: usize = 4 << 20;

/// Adds vectors to lines, in their order; a pause in the input flushes the batch.
fn filter(args: &Args, settings: &Settings, io: &mut Io) -> Result<()> {
    let sources = io.sources(&args.files)?;
    let mut feed = if args.text {
        Feed::text_lines(sources, settings.max_line())?
    } else {
        Feed::new(sources, settings.max_line())?
    };
    let field = if args.text { Some("text") } else { args.field.as_deref() };
    let raw = args.format == "raw";
    if args.format == "json" {
        io.out.begin_array();
    }
    let (mut waiting, mut bytes, mut pace) = (Vec::new(), 0, BatchSizer::default());
    let mut embedder = None;
    loop {
        let next = feed.next();
        let (pause, end) = (!matches!(next, FeedEvent::Object(_)), matches!(next, FeedEvent::End));
        if let FeedEvent::Object(value) = next {
            match value.and_then(|value| Waiting::from_value(value, field, args.query)) {
                // Bare vectors have no way to show that one is missing.
                Ok(line) if raw && line.text.is_none() => {
                    io.fault(&Error::new("there is no text to embed").at(line.place));
                }
                Ok(line) => {
                    bytes += line.text.as_ref().map_or(0, |(text, _)| text.len());
                    waiting.push(line);
                }
                Err(error) => io.fault(&error),
            }
        }
        let full = waiting.len() >= pace.size() || bytes > BATCH_BYTES;
        if (pause || full) && !waiting.is_empty() {
            let embedder = match &mut embedder {
                Some(embedder) => embedder,
                None => {
                    let work = if full { Workload::Many } else { Workload::Few };
                    embedder.insert(Embedder::from_settings(settings, work, &io.diagnostics())?)
                }
            };
            let started = Instant::now();
            pass_on(std::mem::take(&mut waiting), embedder, raw, io)?;
            if full {
                pace.record_duration(started.elapsed());
            }
            bytes = 0;
        }
        if end {
            return Ok(());
        }
    }
}

/// Embeds and writes lines; one of which the embedder makes no vector is named.
fn pass_on(waiting: Vec<Waiting>, embedder: &mut Embedder, raw: bool, io: &mut Io) -> Result<()> {
    let mut made = Vec::new();
    for side in [InputType::Passage, InputType::Query] {
        let of_side = waiting.iter().filter_map(|w| w.text.as_ref().filter(|(_, s)| *s == side));
        let texts: Vec<&str> = of_side.map(|(text, _)| text.as_str()).collect();
        made.push(embedder.embed_each(&texts, side)?.into_iter());
    }
    for Waiting { place, mut line, text } in waiting {
        let vector =
            text.and_then(|(_, side)| made[usize::from(side == InputType::Query)].next()).transpose();
        match vector.map_err(|e: Error| e.at(place)) {
            Ok(vector) => io.out.with(|out| {
                if raw {
                    return out.extend(vector.iter().flatten().flat_map(|x| x.to_le_bytes()));
                }
                if let Some(vector) = &vector {
                    embed::set_vector(&mut line, vector, embedder.model());
                }
                line.write(out);
                out.push(b'\n');
            })?,
            Err(error) => io.fault(&error),
        }
    }
    io.out.flush()
}
