//! rsv-merge: makes one memory of each cluster of similar ones.

use clap::builder::NonEmptyStringValueParser;
use rsv::cli::{BadLines, Io, Outcome};
use rsv::config::Settings;
use rsv::error::Result;
use rsv::lines::{LocatedObject, Reader, SourceLocation};
use rsv::merge::{self, Cluster};
use rsv::record::{Commit, Object};
use rsv::redact::Redactor;
use rsv::structured::Method;
use rsv::text::counted;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

/// Make one memory of each cluster of similar ones, for rsv-ingest to store
///
/// Reads the clusters that 'rsv-link --clusters' prints, and prints for each a memory with the sentences of all
/// members. With --model, a model writes it. rsv-ingest stores it, and archives the members in the same transaction.
/// Of a commit of a session, as 'rsv-link --near' prints it, it decides what becomes of each memory.
/// Other lines are passed on. No store is opened.
#[derive(clap::Args)]
struct Args {
    /// The files to read; without any, or for '-', read standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Let this model write the memories; a cluster for which it fails is left as it is
    #[arg(long, value_name = "MODEL", value_parser = NonEmptyStringValueParser::new())]
    model: Option<String>,
    /// Print the requests to the model, for rsv-forward, instead of sending them
    #[arg(long, requires = "model")]
    emit_request: bool,
}

rsv::tool!(run, without store);

fn run(args: Args, settings: Settings, io: &mut Io) -> Result<Outcome> {
    Redactor::for_tool(&settings)?;
    let begin = Instant::now();
    let method = Method::new(args.model.as_deref(), args.emit_request, &settings, io)?;
    let mut sums = Sums::default();
    let mut bad_lines = BadLines::default();
    'read: for (name, input) in io.sources(&args.files)? {
        let mut reader = Reader::new(&name, input, settings.max_line());
        while let Some(next) = reader.next() {
            let read = next.and_then(|LocatedObject { location, object }| {
                let read = read(object).map_err(|error| error.at(&location));
                read.inspect_err(|_| sums.failed += 1).map(|read| (location, read))
            });
            let taken = match read {
                Ok((location, Read::Cluster(cluster))) => {
                    merge(&cluster, &location, &method, &mut sums, io).map(Ok)?
                }
                Ok((location, Read::Commit(commit))) => match decide(commit, &location, &method, io) {
                    Err(error) if error.is_closed() => return Err(error),
                    decided => decided.map_err(|error| error.at(location)),
                },
                Ok((_, Read::Other(line))) => print(&line, io).map(Ok)?,
                Err(error) => Err(error),
            };
            if let ControlFlow::Break(()) = bad_lines.line(taken, io) {
                break 'read;
            }
        }
    }
    bad_lines.end(io);
    let (done, seconds) = (sums.done, begin.elapsed().as_secs_f64());
    if done + sums.failed > 0 {
        let clusters = counted(done as u64, "cluster");
        let verb = if args.emit_request { "printed requests for" } else { "merged" };
        io.note(format_args!("{verb} {clusters}, {} failed, in {seconds:.1} s", sums.failed));
    }
    Ok(Outcome::Yes)
}

/// The numbers of clusters that were merged and that failed.
#[derive(Default)]
struct Sums {
    done: usize,
    failed: usize,
}

/// An input line by its type.
enum Read {
    Cluster(Cluster),
    Commit(Commit),
    Other(Object),
}

fn read(line: Object) -> Result<Read> {
    if Cluster::is_cluster(&line) {
        Cluster::parse(&line).map(Read::Cluster)
    } else if Commit::is_commit(&line) {
        Commit::parse(line).map(Read::Commit)
    } else {
        Ok(Read::Other(line))
    }
}

/// Prints a commit with the decisions about its memories, or the requests for them. `location` is where it was read.
fn decide(commit: Commit, location: &SourceLocation, method: &Method, io: &mut Io) -> Result<()> {
    let model = match method {
        Method::EmitRequests(recipient) => {
            let requests = merge::decision_requests(&commit)?;
            return requests.iter().try_for_each(|request| print(&request.body(recipient), io));
        }
        Method::ByModel(model) => Some(&**model),
        Method::ByRule => None,
    };
    let decided = merge::decide(commit, model, &mut |why| io.note(format_args!("{location}: {why}")))?;
    print(&decided.into_line(), io)
}

/// Prints the memory of a cluster, or the requests for it. `location` is where the cluster was read.
fn merge(
    cluster: &Cluster,
    location: &SourceLocation,
    method: &Method,
    sums: &mut Sums,
    io: &mut Io,
) -> Result<()> {
    let now = io.clock.now();
    let lines = match method {
        Method::ByRule => Ok(vec![merge::by_rule(cluster, now)]),
        Method::ByModel(model) => merge::by_model(cluster, model, now).map(|memory| vec![memory]),
        Method::EmitRequests(recipient) => {
            let requests = merge::requests(cluster, recipient.name());
            Ok(requests.iter().map(|request| request.body(recipient)).collect())
        }
    };
    match lines {
        Ok(lines) => {
            sums.done += 1;
            lines.iter().try_for_each(|line| print(line, io))
        }
        Err(error) => {
            sums.failed += 1;
            io.fault(&error.at("not merged").at(location));
            Ok(())
        }
    }
}

fn print(line: &Object, io: &mut Io) -> Result<()> {
    io.out.with(|out| {
        line.write(out);
        out.push(b'\n');
    })?;
    io.out.flush()
}
