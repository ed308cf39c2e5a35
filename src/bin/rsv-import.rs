//! rsv-import: exports, and the files of other programs, into a store.

use rsv::cli::{self, Io, Outcome, Sharing};
use rsv::config::{self, Settings, StoreLocation};
use rsv::error::{Context, Error, Result};
use rsv::import::{self, FileLog, FoundFiles, HomePlaces, ImportOptions, Input, ReadFiles, Sources, Watch};
use rsv::import_run::{self, ImportRun};
use rsv::ingest::{Gathered, ImportReport, Ingest, Options};
use rsv::lines::Feed;
use rsv::link::{self, synapse::Plan};
use rsv::project::Projects;
use rsv::record::time;
use rsv::redact::Redactor;
use rsv::store::{self, Import, OpenMode, Store};
use rsv::text::counted;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Read exports and the files of other programs into the store
///
/// The format of each file is recognized by its content: rsv-export's lines, Reservoir's arrays, and those that --from
/// list names. Files may be compressed by gzip or zstd. Records keep their times and ids. A record that the store
/// already has changes nothing. If a line is bad, an error names it, the other lines are imported, and the exit status
/// is 2.
#[derive(clap::Args)]
struct Args {
    /// The files, zip archives and folders to read; without any, or for '-', read standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// List the files of other programs in the home directory, with the commands that import them
    #[arg(long, conflicts_with = "files")]
    find: bool,
    /// Import what --find lists, after a question
    #[arg(long, requires = "find", conflicts_with_all = ["from", "watch", "history"])]
    import: bool,
    /// Read this format, whatever the files look like; list prints the names
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// List the imports that can be undone, with their numbers of records, and the commands that undo them
    #[arg(long, conflicts_with_all = ["files", "find"])]
    history: bool,
    /// Read the sessions in these directories, by default those of --find, and then the messages that programs write there
    #[arg(long, conflicts_with_all = ["dry_run", "report", "at", "history"])]
    watch: bool,
    /// Read calls of tools and their output too
    #[arg(long)]
    keep_tools: bool,
    /// Read the branches of conversations that are not shown too
    #[arg(long)]
    branches: bool,
    /// Take members from other sources: trace_id=conversation, or columns of a table as in role=who,content=said
    #[arg(long, value_name = "MEMBER=SOURCE,...", value_delimiter = ',', value_parser = assignment)]
    map: Vec<(String, String)>,
    /// Give messages without a time this one
    #[arg(long, value_name = "TIME", value_parser = cli::time, allow_negative_numbers = true)]
    at: Option<i64>,
    /// Try the import on a temporary copy of the store, and print what would change
    #[arg(long)]
    dry_run: bool,
    /// Write the numbers of records by scope and outcome to this file, as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Store records again that were forgotten
    #[arg(long)]
    allow_return: bool,
    /// Afterwards make the links that are missing, as rsv-link does: from questions to answers, and between messages with
    /// similar vectors
    #[arg(long, conflicts_with_all = ["dry_run", "watch", "history"])]
    link: bool,
    #[command(flatten)]
    sharing: Sharing,
}

/// The shortest time between two writes of the fact about watched files, which has all of them: what it lacks is only
/// read again.
const SAVE_INTERVAL: Duration = Duration::from_secs(600);

rsv::tool!(run, without settings);

fn run(args: Args, io: &mut Io) -> Result<Outcome> {
    if args.from.as_deref() == Some("list") {
        for format in import::formats() {
            io.out.write(format!("{:12} {}\n", format.name, format.about).as_bytes())?;
        }
        return Ok(Outcome::Yes);
    }
    let settings = config::load_for_tool(io)?;
    let shared = args.sharing.shared.then(|| settings.shared_scopes(&io.common.partitions));
    if shared.is_some() {
        // A pattern is no name for records without one.
        io.common.partition = None;
    }
    let found = if args.find { import::find(&home_places(&settings)?) } else { Vec::new() };
    if args.find {
        print_found(&found, io)?;
        if found.is_empty() {
            io.note(nothing_found(&home_places(&settings)?));
            return Ok(Outcome::No);
        }
        if !args.import || !wants_import(&found, io)? {
            return Ok(Outcome::Yes);
        }
    }
    if args.history {
        return history(&settings, io);
    }
    let paths = args.files.iter().chain(found.iter().map(|found| &found.path));
    let import = Import::begin(&io.clock, import_run::source(paths.map(PathBuf::as_path)))?;
    // A watch reads what comes from the programs themselves, as a hook does. The records of another machine would be
    // forgotten there too.
    let undoable = (!args.watch && shared.is_none()).then(|| import.clone());
    let is_undoable = undoable.is_some();
    let mut options = Options {
        commit_at_pause: args.watch,
        allow_return: args.allow_return,
        ..import_run::writing(&settings, undoable, io)?
    };
    if shared.is_some() {
        options.import = shared;
    }
    if args.watch {
        return watch(&args, options, &settings, io);
    }
    let reading = import_options(&args, &settings, options.redactor.as_ref(), io)?;
    let run = if args.find {
        ImportRun::of_found(&found, options, &reading, io)?
    } else {
        let (files, has_memories) = (FileLog::default(), reading.has_memories.clone());
        let ingest = Ingest::new(options, io.clock);
        let sources = sources(&args, reading, io)?.with_log(files.clone());
        let feed = Feed::lines_of(sources, ingest.redaction())?;
        ImportRun { ingest, feed, files, file_count: None, has_memories }
    };
    let files = run.files.clone();
    let (_copied_to, mut store) = open_store(&args, &settings)?;
    let report = run.run(&mut *store, io)?;
    if args.find && !args.dry_run {
        import_run::note_imported(&mut *store, &found, &report)?;
    }
    for line in report.summary() {
        if args.dry_run { io.note(line) } else { io.summary(line) }
    }
    if args.dry_run {
        let total = report.total();
        io.note(format_args!(
            "{} can be imported; nothing was written",
            counted((total.read() - total.refused) as u64, "record")
        ));
    } else if is_undoable && report.has_new_records() {
        io.summary(format_args!("to undo this import, run: {}", import_run::undo_command(&import.id)));
    }
    if args.link {
        link(&mut *store, &settings, io)?;
    }
    if let Some(file) = &args.report {
        let context = format!("cannot write {}", file.display());
        std::fs::write(file, report.to_json(&files.to_json())).context(context)?;
    }
    Ok(Outcome::Yes)
}

/// Imports what programs write into directories until a signal ends it.
fn watch(args: &Args, options: Options, settings: &Settings, io: &mut Io) -> Result<Outcome> {
    let directories = directories(args, settings)?;
    let format = args.from.as_deref().map(import::named).transpose()?;
    let names: Vec<String> = directories.iter().map(|path| path.display().to_string()).collect();
    let sources = import_options(args, settings, options.redactor.as_ref(), io)?;
    let mut store = store::open(&settings.store()?, OpenMode::Create)?;
    let fact = format!("{} {}", import_run::WATCHED, names.join(" "));
    let read = ReadFiles::new(purpose(args, settings, io), &store.fact(&fact)?.unwrap_or_default());
    let (watch, stop) = Watch::begin(directories, format, sources, &read)?;
    cli::on_stop(move || stop.stop())?;
    io.note(format_args!("watching {}", names.join(", ")));
    let (mut lines, mut saved) = (0, None);
    let mut ingest = Ingest::new(options, io.clock);
    let mut feed = Feed::lines_of(watch, ingest.redaction())?;
    let diagnostics = io.diagnostics();
    loop {
        let gathered = ingest.gather(&mut feed, &mut |line| {
            lines += 1;
            // A bad line is reported, and is no reason to end.
            if let Err(error) = line {
                diagnostics.fault(&error);
            }
            ControlFlow::Continue(())
        });
        let mut report = ImportReport::default();
        for done in ingest.commit(&mut *store)? {
            report.add(&done);
            if let Err(error) = done.line {
                diagnostics.fault(&error);
            }
        }
        if let Some(note) = ingest.redaction_note() {
            io.note(note);
        }
        for line in report.summary() {
            io.detail(line);
        }
        let is_scanned = read.store_lines(lines);
        let is_due = saved.is_none_or(|saved: Instant| saved.elapsed() >= SAVE_INTERVAL);
        if gathered == Gathered::All || is_scanned && is_due {
            if let Some(text) = read.take_text() {
                store.set_fact(&fact, Some(&text))?;
            }
            saved = Some(Instant::now());
        }
        if gathered == Gathered::All {
            return Ok(Outcome::Yes);
        }
    }
}

/// The version and the options that decide which lines a watch makes of a file, as text.
fn purpose(args: &Args, settings: &Settings, io: &Io) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let common = (&io.common.partition, &io.common.instance, settings.max_line());
    let own = (&args.from, args.keep_tools, args.branches, &args.map, args.allow_return);
    format!("{version} {common:?} {own:?}")
}

/// The directories to watch: those that are named, else those in which programs keep sessions.
fn directories(args: &Args, settings: &Settings) -> Result<Vec<PathBuf>> {
    if let Some(file) = args.files.iter().find(|path| !path.is_dir()) {
        let error = Error::new(format!("cannot watch {}: is no directory", file.display()));
        return Err(error.hint("name the directories in which a program keeps its sessions"));
    }
    if !args.files.is_empty() {
        return Ok(args.files.clone());
    }
    let found = import::session_directories(&home_places(settings)?);
    if found.is_empty() {
        let error = Error::new("no program keeps sessions in the home directory");
        return Err(error.hint("name the directories to watch"));
    }
    Ok(found)
}

fn home(settings: &Settings) -> Result<PathBuf> {
    settings.places().home.ok_or_else(|| {
        Error::new("cannot find the home directory: HOME is not set").hint("set HOME, or name the files")
    })
}

/// The places in which programs keep their files.
fn home_places(settings: &Settings) -> Result<HomePlaces> {
    let paths = settings.places();
    Ok(HomePlaces { home: home(settings)?, moved: paths.moved, downloads: paths.downloads })
}

/// Prints the files of other programs, and the command for each.
fn print_found(found: &[FoundFiles], io: &mut Io) -> Result<()> {
    for found in found {
        let (name, files, command) = (found.format.name, found.files, found.command());
        let unit = if files == 1 { "file" } else { "files" };
        io.out.write(format!("{name:12} {files:6} {unit:5}  {command}\n").as_bytes())?;
    }
    Ok(())
}

/// The note where nothing was found: the formats and the places that were searched.
fn nothing_found(places: &HomePlaces) -> String {
    let kept = import::formats().iter().filter(|format| !format.places.is_empty());
    let names: Vec<&str> = kept.map(|format| format.name).collect();
    let names = names.join(", ");
    let elsewhere = places.moved.iter().map(|(_, path)| path).chain(&places.downloads);
    let elsewhere = elsewhere.filter(|path| !path.starts_with(&places.home));
    let searched: Vec<String> =
        std::iter::once(&places.home).chain(elsewhere).map(|path| cli::quoted(path)).collect();
    format!("found no files of {names} in {}", searched.join(", "))
}

/// Whether the user wants to import what was found. Errors if there is no terminal to ask at.
fn wants_import(found: &[FoundFiles], io: &mut Io) -> Result<bool> {
    io.out.flush()?;
    let files: usize = found.iter().map(|found| found.files).sum();
    io.confirm(&format!("Import {}?", counted(files as u64, "file")))?.ok_or_else(|| {
        Error::new("cannot ask whether to import: there is no terminal")
            .hint("run the commands that --find prints")
    })
}

/// Prints the imports that the store knows, oldest first.
fn history(settings: &Settings, io: &mut Io) -> Result<Outcome> {
    let mut store = store::open_to_read(settings, io)?;
    let imports = store::imports(&mut *store)?;
    for import in &imports {
        let (at, new, same) = (time::rfc3339(import.at()), import.new_records(), import.same_records());
        let undo = import.undone.map(|at| format!("undone {}", time::rfc3339(at)));
        let undo = undo.unwrap_or_else(|| import_run::undo_command(&import.id));
        let source = import.source();
        let line = format!("{at}  {new:7} new {same:7} the same  {undo}  {source}\n");
        io.out.write(line.as_bytes())?;
    }
    Ok(if imports.is_empty() { Outcome::No } else { Outcome::Yes })
}

/// Opens the store; of a dry run a copy of it, which goes with its directory.
fn open_store(args: &Args, settings: &Settings) -> Result<(Option<TempDir>, Box<dyn Store>)> {
    let place = settings.store()?;
    if !args.dry_run {
        return Ok((None, store::open(&place, OpenMode::Create)?));
    }
    let directory = tempfile::tempdir().context("cannot make a temporary directory")?;
    let copy = directory.path().join("store.db");
    store::copy(&mut *store::open(&place, OpenMode::Existing)?, &copy)?;
    Ok((Some(directory), store::open(&StoreLocation::file(&copy), OpenMode::Create)?))
}

/// The inputs that the command line names.
fn sources(args: &Args, options: ImportOptions, io: &Io) -> Result<Sources> {
    let format = args.from.as_deref().map(import::named).transpose()?;
    let operands: Vec<PathBuf> = args.files.iter().filter(|path| !path.is_dir()).cloned().collect();
    operands.iter().try_for_each(|path| import::check_link(path))?;
    let no_streams = operands.is_empty() && !args.files.is_empty();
    let mut streams = if no_streams { Vec::new() } else { io.sources(&operands)? }.into_iter();
    let mut stream = |path: Option<&PathBuf>| {
        let path = path.filter(|path| path.is_file()).cloned();
        streams.next().map(|(name, bytes)| Input::Stream { name, path, bytes })
    };
    if args.files.is_empty() {
        return Ok(Sources::new(stream(None).into_iter().collect(), format, options));
    }
    let input = |path: &PathBuf| {
        if path.is_dir() { Some(Input::Folder(path.clone())) } else { stream(Some(path)) }
    };
    Ok(Sources::new(args.files.iter().filter_map(input).collect(), format, options))
}

fn import_options(
    args: &Args,
    settings: &Settings,
    redactor: Option<&Redactor>,
    io: &Io,
) -> Result<ImportOptions> {
    let projects = Projects::open(settings.places().data.as_deref())?;
    let projects = if args.dry_run { projects.without_writing() } else { projects };
    Ok(ImportOptions {
        keep_tools: args.keep_tools,
        branches: args.branches,
        at: args.at,
        map: args.map.clone(),
        ..import_run::reading(settings, redactor, projects, io)
    })
}

/// Reads `--map`.
fn assignment(text: &str) -> std::result::Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(member, source)| !member.is_empty() && !source.is_empty());
    parts
        .map(|(member, source)| (member.to_owned(), source.to_owned()))
        .ok_or_else(|| "expected MEMBER=SOURCE".to_owned())
}

/// Makes the links that are missing in the scopes of the import.
fn link(store: &mut dyn Store, settings: &Settings, io: &mut Io) -> Result<()> {
    let plan = Plan::from_settings(store, settings, None, None)?;
    let scopes = io.common.to_cover()?;
    let mut made = 0;
    link::bring_up_to_date(store, plan.as_ref(), &scopes, false, io, &mut |_, _| {
        made += 1;
        Ok(())
    })?;
    io.detail(format_args!("{} made", counted(made, "link")));
    Ok(())
}
