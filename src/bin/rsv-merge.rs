//! rsv-merge: makes one memory of each cluster of similar ones.

use clap::builder::NonEmptyStringValueParser;
use rsv::cli::{Io, Outcome};
use rsv::config::Settings;
use rsv::error::Result;
use rsv::merge::MergeRun;
use rsv::redact::Redactor;
use rsv::structured::Method;
use rsv::text::counted;
use std::path::PathBuf;
use std::time::Instant;

/// Merge each cluster of similar memories into one, for rsv-ingest to store
///
/// Reads the clusters that 'rsv-link --clusters' prints, and prints for each a memory with the sentences of
/// all members. With --model, a model writes it. rsv-ingest stores it, and archives the members in the same
/// transaction. For a commit of a session, as 'rsv-link --near' prints it, it decides the fate of each
/// memory. Other lines are passed on. No store is opened.
#[derive(clap::Args)]
struct Args {
    /// The files to read; without any, or for '-', read standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Let this model write the memories; a cluster for which it fails stays unchanged
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
    let mut run = MergeRun::new(method);
    run.lines(io.sources(&args.files)?, settings.max_line(), io)?;
    let MergeRun { done, failed, .. } = run;
    if done + failed > 0 {
        let (clusters, seconds) = (counted(done as u64, "cluster"), begin.elapsed().as_secs_f64());
        let verb = if args.emit_request { "printed requests for" } else { "merged" };
        io.note(format_args!("{verb} {clusters}, {failed} failed, in {seconds:.1} s"));
    }
    Ok(Outcome::Yes)
}
