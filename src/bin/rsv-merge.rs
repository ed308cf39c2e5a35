//! rsv-merge: makes one memory of each cluster of similar ones.

use rsv::cli::{self, BadLines, Io, Outcome};
use rsv::config;
use rsv::error::Result;
use rsv::merge::{self, Cluster};
use rsv::record::{Object, Reader};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Make one memory of each cluster of similar ones, for rsv-ingest to store
///
/// Reads the clusters that 'rsv-link --clusters' prints, and prints for each a memory with the sentences of all
/// members. rsv-ingest stores it, and archives the members in the same transaction. Other lines are passed on. No store
/// is opened.
#[derive(clap::Args)]
struct Args {
    /// The files to read; without any, or for '-', read standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

#[global_allocator]
static ALLOCATOR: cli::ReportingAllocator = cli::ReportingAllocator;

fn main() -> ExitCode {
    cli::main(run, rsv::complete::VALUES)
}

fn run(args: Args, io: &mut Io) -> Result<Outcome> {
    let settings = config::load_for_tool(io)?;
    let begin = Instant::now();
    let mut sums = Sums::default();
    let mut bad_lines = BadLines::default();
    'read: for (name, input) in io.sources(&args.files)? {
        let mut reader = Reader::new(&name, input, settings.max_line());
        while let Some(next) = reader.next() {
            let merged = match next {
                Ok(line) => merge(&line.object, &mut sums, io).map_err(|error| error.at(line.location)),
                Err(error) => Err(error),
            };
            let taken = match merged {
                Ok(line) => print(&line, io).map(Ok)?,
                Err(error) => Err(error),
            };
            if let ControlFlow::Break(()) = bad_lines.line(taken, io) {
                break 'read;
            }
        }
    }
    bad_lines.end(io);
    let clusters = if sums.merged == 1 { "cluster" } else { "clusters" };
    let seconds = begin.elapsed().as_secs_f64();
    io.note(format_args!("merged {} {clusters}, {} failed, in {seconds:.1} s", sums.merged, sums.failed));
    Ok(Outcome::Yes)
}

/// What was done with the clusters.
#[derive(Default)]
struct Sums {
    merged: usize,
    failed: usize,
}

/// The memory of a cluster; other lines unchanged.
fn merge(line: &Object, sums: &mut Sums, io: &Io) -> Result<Object> {
    if !Cluster::is_cluster(line) {
        return Ok(line.clone());
    }
    let merged = Cluster::parse(line).map(|cluster| merge::by_rule(&cluster, io.clock.now()));
    *(if merged.is_ok() { &mut sums.merged } else { &mut sums.failed }) += 1;
    merged
}

fn print(line: &Object, io: &mut Io) -> Result<()> {
    io.out.with(|out| {
        line.write(out);
        out.push(b'\n');
    })?;
    io.out.flush()
}
