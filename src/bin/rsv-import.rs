//! rsv-import: exports, and the files of other programs, into a store.

use rsv::cli::{self, Io, Outcome, Sharing};
use rsv::config::{self, Settings};
use rsv::error::{Context, Result};
use rsv::import::{self, FileLog, FoundFiles, ImportFormat, ImportOptions};
use rsv::import_run::{self, ImportRun, WatchedImport};
use rsv::ingest::{Ingest, Options};
use rsv::lines::Feed;
use rsv::link::{self, synapse::Plan};
use rsv::project::Projects;
use rsv::redact::Redactor;
use rsv::store::{Import, Store};
use rsv::text::counted;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Read exports and the files of other programs into the store
///
/// The format of each file is recognized by its content: rsv-export's lines, Reservoir's arrays, and the
/// formats that '--from list' prints. Files may be compressed by gzip or zstd. Records keep their times and
/// ids. A record that the store already has changes nothing. If a line is bad, an error names it, the other
/// lines are imported, and the exit status is 2.
#[derive(clap::Args)]
struct Args {
    /// The files, zip archives and folders to read; without any, or for '-', read standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// List the files of other programs in the home directory, with the commands that import them
    #[arg(long, conflicts_with_all = ["files", "watch"])]
    find: bool,
    /// Import the files that --find lists, after a question
    #[arg(long, requires = "find", conflicts_with = "from")]
    import: bool,
    /// Read this format, regardless of the files' content; list prints the names
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// List the imports that can be undone, with their numbers of records, and the commands that undo them
    #[arg(long)]
    history: bool,
    /// Read the sessions in these directories, by default those of --find, and then the messages that
    /// programs write there
    #[arg(long, conflicts_with_all = ["dry_run", "report", "at"])]
    watch: bool,
    /// Also read tool calls and their output
    #[arg(long)]
    keep_tools: bool,
    /// Also read branches of conversations that the program does not show
    #[arg(long)]
    branches: bool,
    /// Take members from other sources: trace_id=conversation, or columns of a table as in
    /// role=who,content=said
    #[arg(long, value_name = "MEMBER=SOURCE,...", value_delimiter = ',', value_parser = assignment)]
    map: Vec<(String, String)>,
    /// Give this time to messages without one
    #[arg(long, value_name = "TIME", value_parser = cli::time, allow_negative_numbers = true)]
    at: Option<i64>,
    /// Try the import on a temporary copy of the store, and print what would change
    #[arg(long)]
    dry_run: bool,
    /// Write the numbers of records by scope and outcome to this file, as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Also store forgotten records
    #[arg(long)]
    allow_return: bool,
    /// Afterwards, make the missing links, as rsv-link does: from questions to answers, and between messages
    /// with similar vectors
    #[arg(long, conflicts_with_all = ["dry_run", "watch"])]
    link: bool,
    #[command(flatten)]
    sharing: Sharing,
}

/// Reads `--map`.
fn assignment(text: &str) -> std::result::Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(member, source)| !member.is_empty() && !source.is_empty());
    parts
        .map(|(member, source)| (member.to_owned(), source.to_owned()))
        .ok_or_else(|| "expected MEMBER=SOURCE".to_owned())
}

impl Args {
    fn format(&self) -> Result<Option<&'static ImportFormat>> {
        self.from.as_deref().map(import::named).transpose()
    }

    /// How the files are read.
    fn reading(&self, settings: &Settings, redactor: Option<&Redactor>, io: &Io) -> Result<ImportOptions> {
        let projects = Projects::open(settings.places().data.as_deref())?;
        let projects = if self.dry_run { projects.without_writing() } else { projects };
        Ok(ImportOptions {
            keep_tools: self.keep_tools,
            branches: self.branches,
            at: self.at,
            map: self.map.clone(),
            ..import_run::reading(settings, redactor, projects, io)
        })
    }

    /// The version and the options that decide which lines a watch makes of a file, as text.
    fn purpose(&self, settings: &Settings, io: &Io) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let common = (&io.common.partition, &io.common.instance, settings.max_line());
        let own = (&self.from, self.keep_tools, self.branches, &self.map, self.allow_return);
        format!("{version} {common:?} {own:?}")
    }
}

rsv::tool!(run, without settings);

fn run(args: Args, io: &mut Io) -> Result<Outcome> {
    if args.from.as_deref() == Some("list") {
        for format in import::formats() {
            io.out.write(format!("{:12} {}\n", format.name, format.about).as_bytes())?;
        }
        return Ok(Outcome::Yes);
    }
    if args.history {
        io.refuse_flags_besides(&["history"], "--history")?;
    } else if args.find && !args.import {
        io.refuse_flags_besides(&["find"], "--find without --import")?;
    }
    let settings = config::load_for_tool(io)?;
    let shared = args.sharing.shared.then(|| settings.shared_scopes(&io.common.partitions));
    if shared.is_some() {
        // A pattern is no name for records without one.
        io.common.partition = None;
    }
    let found = if args.find {
        match import_run::offer(args.import, &settings, io)? {
            ControlFlow::Continue(found) => found,
            ControlFlow::Break(outcome) => return Ok(outcome),
        }
    } else {
        Vec::new()
    };
    if args.history {
        return import_run::history(&settings, io);
    }
    let paths = args.files.iter().chain(found.iter().map(|found| &found.path));
    let import = Import::begin(&io.clock, import_run::source(paths.map(PathBuf::as_path)))?;
    // A watch reads what comes from the programs themselves, as a hook does. The records of another machine
    // would be forgotten there too.
    let undoable = (!args.watch && shared.is_none()).then_some(import);
    let mut writing = Options {
        commit_at_pause: args.watch,
        allow_return: args.allow_return,
        ..import_run::writing(&settings, undoable.clone(), io)?
    };
    if shared.is_some() {
        writing.import = shared;
    }
    if !args.watch {
        return import_files(&args, &found, (writing, undoable), &settings, io);
    }
    let directories = import_run::directories(&args.files, &settings)?;
    let (format, purpose) = (args.format()?, args.purpose(&settings, io));
    let reading = args.reading(&settings, writing.redactor.as_ref(), io)?;
    import_run::watch(WatchedImport { directories, format, writing, reading, purpose }, &settings, io)
}

/// Imports the files that were found or that the command line names. `undoable` is the import in which they
/// are, if it can be undone.
fn import_files(
    args: &Args,
    found: &[FoundFiles],
    (writing, undoable): (Options, Option<Import>),
    settings: &Settings,
    io: &mut Io,
) -> Result<Outcome> {
    let reading = args.reading(settings, writing.redactor.as_ref(), io)?;
    let run = if args.find {
        ImportRun::of_found(found, writing, &reading, io)?
    } else {
        let (files, has_memories) = (FileLog::default(), reading.has_memories.clone());
        let ingest = Ingest::new(writing, io.clock);
        let sources = import_run::sources(&args.files, args.format()?, reading, io)?.with_log(files.clone());
        let feed = Feed::lines_of(sources, ingest.redaction())?;
        ImportRun { ingest, feed, files, file_count: None, has_memories }
    };
    let files = run.files.clone();
    let (_copied_to, mut store) = import_run::open_store(args.dry_run, settings)?;
    let report = run.run(&mut *store, io)?;
    if args.find && !args.dry_run {
        import_run::note_imported(&mut *store, found, &report)?;
    }
    for line in report.summary() {
        if args.dry_run { io.note(line) } else { io.summary(line) }
    }
    if args.dry_run {
        let total = report.total();
        let records = counted((total.read() - total.refused) as u64, "record");
        io.note(format_args!("{records} can be imported; nothing was written"));
    } else if let Some(import) = undoable.filter(|_| report.has_new_records()) {
        io.summary(format_args!("to undo this import, run: {}", import_run::undo_command(&import.id)));
    }
    if args.link {
        link(&mut *store, settings, io)?;
    }
    if let Some(file) = &args.report {
        let context = format!("cannot write {}", file.display());
        std::fs::write(file, report.to_json(&files.to_json())).context(context)?;
    }
    Ok(Outcome::Yes)
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
