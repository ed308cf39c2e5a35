//! rsv-import: exports back into a store.

use rsv::cli::{self, BadLines, Io, Outcome};
use rsv::config;
use rsv::error::Result;
use rsv::forget;
use rsv::ingest::{Gathered, Ingest, Options};
use rsv::record::Scope;
use rsv::store::{self, OpenMode, Store};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// Read exports into the store: JSON lines, Reservoir's arrays, or objects one after the other
///
/// Records keep their times and ids. A record that the store already has changes nothing. With -p and -i, only
/// records of that scope are read. If a line is bad, an error names it, the other lines are imported, and the
/// exit status is 2.
#[derive(clap::Args)]
struct Args {
    /// The files to read; without any, or for '-', read standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Check and count the lines, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Store records again that were forgotten
    #[arg(long)]
    allow_return: bool,
}

#[global_allocator]
static ALLOCATOR: cli::ReportingAllocator = cli::ReportingAllocator;

fn main() -> ExitCode {
    cli::main(run, rsv::complete::VALUES)
}

fn run(args: Args, io: &mut Io) -> Result<Outcome> {
    let settings = config::load_for_tool(io)?;
    let options = Options {
        partition: io.common.partition.clone(),
        instance: io.common.instance.clone(),
        keep_system: true,
        import: Some(io.common.to_cover()?),
        allow_return: args.allow_return,
        max_line: Some(settings.max_line()),
        ..Options::default()
    };
    let mut feed = io.feed(&args.files, settings.max_line())?;
    let mut store =
        if args.dry_run { None } else { Some(store::open(&settings.store()?, OpenMode::Create)?) };
    let mut ingest = Ingest::new(options, io.clock);
    let (mut counts, mut bad_lines) = (Counts::default(), BadLines::default());
    loop {
        let gathered = ingest.gather(&mut feed, &mut |line| bad_lines.line(line, io));
        match &mut store {
            Some(store) => commit(&mut ingest, &mut **store, &mut bad_lines, &mut counts, io)?,
            None => counts.read += ingest.discard(),
        }
        if gathered == Gathered::All {
            break;
        }
    }
    bad_lines.end(io);
    if let Some(note) = ingest.forgetting_note() {
        io.note(note);
    }
    if let Some(store) = &mut store
        && ingest.has_removed()
        && let Err(error) = forget::erase(&mut **store)
    {
        io.fault(&error);
    }
    if counts.conflicts > 0 {
        io.note(match counts.conflicts {
            1 => "1 record was not imported: its id belongs to another record".to_owned(),
            n => format!("{n} records were not imported: their ids belong to other records"),
        });
    }
    if args.dry_run {
        io.note(format_args!("{} records can be imported; nothing was written", counts.read));
    } else {
        for (scope, (read, new)) in &counts.scopes {
            io.summary(format_args!("{scope}: {new} of {read} records are new"));
        }
        io.detail(format_args!("{} lines read, {} records new", counts.read, counts.new));
    }
    Ok(Outcome::Yes)
}

#[derive(Default)]
struct Counts {
    read: usize,
    new: usize,
    conflicts: usize,
    /// The numbers of the records of each scope that were read, and that were new.
    scopes: BTreeMap<Scope, (usize, usize)>,
}

fn commit(
    ingest: &mut Ingest,
    store: &mut dyn Store,
    bad_lines: &mut BadLines,
    counts: &mut Counts,
    io: &mut Io,
) -> Result<()> {
    for done in ingest.commit(store)? {
        counts.read += 1;
        counts.new += done.new;
        counts.conflicts += done.conflicts;
        if let Some(scope) = done.scope {
            let (read, new) = counts.scopes.entry(scope).or_default();
            *read += 1;
            *new += done.new;
        }
        if let Err(error) = done.line {
            bad_lines.print(&error, io);
        }
        if let Some(note) = done.note {
            io.note(note);
        }
    }
    Ok(())
}
