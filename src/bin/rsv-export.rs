//! rsv-export: everything that a store holds.

use rsv::cli::{self, Common, Filter, Io, Outcome, Sharing};
use rsv::config::{self, Settings};
use rsv::error::{Context, Error, Result};
use rsv::export::{FineTuning, Format, KnownLines, Transcripts};
use rsv::import;
use rsv::memory::{self, PriorRule};
use rsv::record::{MEMORY, Record, RecordKind, Scopes, VectorFormat, kinds};
use rsv::search;
use rsv::store::{self, ChangeNumbers, Cursor, Damage, OpenMode, Select, Store, StoreError, Walk};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Write the whole store, or the scope that -p and -i name
///
/// JSON lines lose nothing: they hold tombstones, then messages, accounts and memories by time, then signals and rules
/// of recall, then embeddings (with --vectors), then links. The output is a snapshot of the store, even if other
/// processes write to it meanwhile. Of a damaged store everything is written that can be read, and the exit status is 2.
#[derive(clap::Args)]
struct Args {
    /// Write this format: jsonl, json (Reservoir's array), csv, md, openai (pairs for fine-tuning) or sqlite (with --to)
    #[arg(long, value_name = "FORMAT", default_value = "jsonl", value_parser = ["jsonl", "json", "csv", "md", "openai", "sqlite"], hide_possible_values = true)]
    format: String,
    /// Write a copy of the store to this new file, or Markdown to this empty directory, a file for each conversation
    #[arg(long, value_name = "PATH")]
    to: Option<PathBuf>,
    /// Write the times of Reservoir's array as ms (milliseconds since 1970) or iso (RFC 3339)
    #[arg(long, value_name = "FORM", value_parser = ["ms", "iso"], hide_possible_values = true)]
    time: Option<String>,
    /// Put an apostrophe before cells of CSV that a spreadsheet would take for formulas
    #[arg(long)]
    safe: bool,
    /// Write embeddings too, as numbers or base64
    #[arg(long, value_name = "FORM", num_args = 0..=1, default_missing_value = "numbers", value_parser = ["numbers", "base64"], hide_possible_values = true)]
    vectors: Option<String>,
    /// Write only records of these kinds, with their signals, vectors and links: message, account, memory, document, signal, title, recall, action
    #[arg(long, value_name = "KIND,...", value_delimiter = ',', value_parser = cli::kind)]
    kind: Vec<&'static RecordKind>,
    /// Read the store's file page by page, without its indexes, as a damaged one needs
    #[arg(long)]
    recover: bool,
    /// Write only the changes after this cursor of an earlier export; without the file, everything
    #[arg(long, value_name = "FILE", conflicts_with_all = ["recover", "since", "until"])]
    new_since: Option<PathBuf>,
    /// Write the cursor for the next export to this file, once everything is printed
    #[arg(long, value_name = "FILE", conflicts_with_all = ["recover", "since", "until"])]
    next: Option<PathBuf>,
    /// Leave out the lines of this file, which may be compressed: those that came from where the export goes
    #[arg(long, value_name = "FILE")]
    without: Vec<PathBuf>,
    #[command(flatten)]
    sharing: Sharing,
    #[command(flatten)]
    filter: Filter,
}

rsv::tool!(run, without settings);

fn run(args: Args, io: &mut Io) -> Result<Outcome> {
    check(&args)?;
    let settings = config::load_for_tool(io)?;
    if let Some(file) = args.to.as_ref().filter(|_| args.format == "sqlite") {
        let is_narrowed = covered(&args, &settings, io)? != Scopes::All || args.filter != Filter::default();
        if is_narrowed || !args.kind.is_empty() {
            let error = Error::new("--format sqlite copies the whole store");
            return Err(error.hint("pipe the selection of rsv-export into: rsv-import --store FILE"));
        }
        store::copy(&mut *store::open_to_read(&settings, io)?, file)?;
        return Ok(Outcome::Yes);
    }
    let mut store = store::open_readable(&settings, io, args.recover)?;
    search::complete_instance(&mut *store, io)?;
    let which = Select {
        roles: args.filter.role.clone(),
        since: args.filter.since,
        until: args.filter.until,
        ..Select::messages(covered(&args, &settings, io)?)
    };
    let format = match args.format.as_str() {
        "json" => Format::Reservoir { rfc3339: args.time.as_deref() == Some("iso") },
        "csv" => Format::Csv { safe: args.safe },
        "md" => Format::Markdown,
        "openai" => {
            let (mut pairs, out) = (FineTuning::default(), &mut io.out);
            let damage = store.walk(&Walk { recover: true, ..Walk::records(which) }, &mut |record| {
                let Record::Stored(message) = record else { return Ok(()) };
                out.with(|out| pairs.message(&message, out))
            })?;
            return Ok(end(damage, io));
        }
        _ => return lines(&args, which, &settings, &mut *store, io),
    };
    messages(format, args.to.as_deref(), which, &mut *store, io)
}

/// The scopes to write.
fn covered(args: &Args, settings: &Settings, io: &Io) -> Result<Scopes> {
    let Common { partitions, .. } = &io.common;
    if args.sharing.shared { Ok(settings.shared_scopes(partitions)) } else { io.common.to_cover() }
}

/// Errors for options that do not go together.
fn check(args: &Args) -> Result<()> {
    if args.safe && args.format != "csv" {
        return Err(Error::new("--safe is for CSV alone").hint("add --format csv, or leave out --safe"));
    }
    if args.to.is_none() && args.format == "sqlite" {
        return Err(Error::new("--format sqlite needs a file").hint("name a new one with --to FILE"));
    }
    if args.to.is_some() && !["sqlite", "md"].contains(&args.format.as_str()) {
        let error = Error::new("--to is for --format sqlite and md");
        return Err(error.hint("to write to a file: rsv-export > FILE"));
    }
    if (args.new_since.is_some() || args.next.is_some()) && args.format != "jsonl" {
        let error = Error::new("--new-since and --next are for JSON lines alone");
        return Err(error.hint("leave out --format, since other formats cannot say what was forgotten"));
    }
    if !args.without.is_empty() && args.format != "jsonl" {
        let error = Error::new("--without is for JSON lines alone");
        return Err(error.hint("leave out --format, or --without"));
    }
    if args.new_since.is_some() && args.new_since == args.next {
        let error = Error::new("--next names the file of --new-since");
        return Err(error.hint("name another file, and move it to the first when the import has ended well"));
    }
    Ok(())
}

/// Writes messages in the shape of another program.
fn messages(
    format: Format,
    directory: Option<&Path>,
    which: Select,
    store: &mut dyn Store,
    io: &mut Io,
) -> Result<Outcome> {
    let what = Walk { vectors: format.is_reservoirs(), recover: true, ..Walk::records(which) };
    let mut transcripts = directory.map(Transcripts::create).transpose()?;
    let out = &mut io.out;
    let mut count = 0;
    out.write(format.begin().as_bytes())?;
    let damage = store.walk(&what, &mut |record| {
        let Record::Stored(message) = record else { return Ok(()) };
        if !format.holds(&message) {
            return Ok(());
        }
        let mut text = Vec::new();
        format.message(count, &message, &mut text)?;
        count += 1;
        match &mut transcripts {
            Some(transcripts) => transcripts.add(&message.scope, &text),
            None => out.write(&text),
        }
    })?;
    transcripts.map_or(Ok(()), Transcripts::finish)?;
    out.write(format.end(count).as_bytes())?;
    Ok(end(damage, io))
}

/// Writes JSON lines of everything, or of what changed after a cursor.
fn lines(
    args: &Args,
    which: Select,
    settings: &Settings,
    store: &mut dyn Store,
    io: &mut Io,
) -> Result<Outcome> {
    // A tombstone says nothing of the role of its record.
    let tombstones = which.roles.is_empty();
    let which = Select { kinds: wanted_kinds(&args.kind), ..which };
    let embeddings = args.vectors.is_some();
    let mut known = KnownLines::default();
    for file in &args.without {
        let name = file.display().to_string();
        let opened = File::open(file).context(format_args!("cannot open {name}"))?;
        known.add(&name, import::decompressed(&name, Box::new(opened))?)?;
    }
    let cursors = Cursors::begin(args, &which, store)?;
    let changed_since = cursors.changed_since;
    let what =
        Walk { tombstones, embeddings, links: true, recover: true, changed_since, ..Walk::records(which) };
    let form =
        if args.vectors.as_deref() == Some("base64") { VectorFormat::Base64 } else { VectorFormat::Numbers };
    if !what.which.kinds.contains(&&MEMORY) {
        let damage = store.walk(&what, &mut |record| write_line(&record, form, &known, io))?;
        return cursors.end(damage, io);
    }
    // Derived members are read by a connection of their own while this one visits the snapshot.
    let beside = store::open(&settings.store()?, OpenMode::Existing);
    let rule = PriorRule::from_settings(settings);
    let mut lines = Lines { form, known, rule, beside, waiting: Vec::new(), failed: Ok(()) };
    let damage = store.walk(&what, &mut |record| lines.add(record, io))?;
    lines.flush(io)?;
    if damage.is_none() {
        // The derived data of a damaged store follows from the other lines.
        lines.failed?;
    }
    cursors.end(damage, io)
}

/// Prints a record, unless its line is known.
fn write_line(record: &Record, form: VectorFormat, known: &KnownLines, io: &mut Io) -> Result<()> {
    io.out.with(|out| {
        let start = out.len();
        record.write_line(form, out);
        if known.contains(&out[start..]) {
            out.truncate(start);
        }
    })
}

/// The cursors of an export.
struct Cursors<'a> {
    changed_since: Option<ChangeNumbers>,
    /// The next one, and its file.
    next: Option<(Cursor, &'a Path)>,
}

impl Cursors<'_> {
    /// Reads the cursor of the export before, and takes that of the next one. Records written meanwhile are in both.
    fn begin<'a>(args: &'a Args, which: &Select, store: &mut dyn Store) -> Result<Cursors<'a>> {
        let selection = selection(args, which);
        let mut changed_since = None;
        if let Some(file) = &args.new_since
            && let Some(cursor) = Cursor::read(file)?
        {
            let since = cursor.changed_since(store, &selection);
            changed_since = Some(since.map_err(|error| error.at(file.display()))?);
        }
        let Some(file) = args.next.as_deref() else { return Ok(Cursors { changed_since, next: None }) };
        // A cursor that is left from a run whose import failed would say that this one has ended.
        match std::fs::remove_file(file) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(Error::new(format!("cannot write {}", file.display())).because(error));
            }
            _ => {}
        }
        Ok(Cursors { changed_since, next: Some((Cursor::now(store, &selection)?, file)) })
    }

    /// Writes the next cursor if everything is printed.
    fn end(self, damage: Option<Damage>, io: &mut Io) -> Result<Outcome> {
        if let (None, Some((cursor, file))) = (&damage, self.next) {
            io.out.flush()?;
            cursor.write(file)?;
        }
        Ok(end(damage, io))
    }
}

/// The selection of an export in words.
fn selection(args: &Args, which: &Select) -> String {
    let kinds: Vec<&str> = which.kinds.iter().map(|kind| kind.name).collect();
    let roles: Vec<&str> = which.roles.iter().map(|role| role.name()).collect();
    let vectors = if args.vectors.is_some() { "with vectors" } else { "without vectors" };
    format!("{:?}; {}; {}; {vectors}", which.scopes, kinds.join(","), roles.join(","))
}

/// Reports what could not be read.
fn end(damage: Option<Damage>, io: &mut Io) -> Outcome {
    if let Some(damage) = damage {
        io.fault(&damage.into());
    }
    Outcome::Yes
}

/// The kinds to write: those that are named, with the kinds about them; without names all.
fn wanted_kinds(named: &[&'static RecordKind]) -> Vec<&'static RecordKind> {
    let is_about = |kind: &&'static RecordKind| {
        kind.subject.is_some_and(|subject| named.iter().any(|known| known.name == subject.kind))
    };
    kinds().into_iter().filter(|kind| named.is_empty() || named.contains(kind) || is_about(kind)).collect()
}

/// The number of memories whose derived members are read together.
const MEMORIES: usize = 1000;

/// Lines in the order of a walk, in which memories wait for their derived members.
struct Lines {
    form: VectorFormat,
    known: KnownLines,
    rule: PriorRule,
    /// The store, from which the derived members are read.
    beside: std::result::Result<Box<dyn Store>, StoreError>,
    waiting: Vec<Record>,
    /// The first error of reading derived members.
    failed: Result<()>,
}

impl Lines {
    fn add(&mut self, record: Record, io: &mut Io) -> Result<()> {
        let is_memory = record.stored().is_some_and(|record| record.kind == &MEMORY);
        if self.waiting.is_empty() && !is_memory {
            return write_line(&record, self.form, &self.known, io);
        }
        self.waiting.push(record);
        if self.waiting.len() >= MEMORIES { self.flush(io) } else { Ok(()) }
    }

    fn flush(&mut self, io: &mut Io) -> Result<()> {
        let memories = self.waiting.iter_mut().filter_map(|record| match record {
            Record::Stored(record) => Some(record),
            _ => None,
        });
        let derived = match &mut self.beside {
            Ok(beside) => memory::derive_for_export(&mut **beside, memories, self.rule),
            Err(error) => Err(Error::new(error.to_string())),
        };
        if self.failed.is_ok() {
            self.failed = derived;
        }
        for record in self.waiting.drain(..) {
            write_line(&record, self.form, &self.known, io)?;
        }
        Ok(())
    }
}
