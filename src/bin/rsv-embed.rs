//! rsv-embed: vectors for lines.

use rsv::cli::{self, Io, Outcome};
use rsv::error::{Error, Result};
use std::path::PathBuf;
use std::process::ExitCode;

/// Adds vectors to lines, once a model is installed
///
/// This version has no embedding model, and says so. Everything else works without one, keyword search
/// included.
#[derive(clap::Args)]
struct Args {
    /// The files; without any, or for '-', standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

fn main() -> ExitCode {
    cli::main(run)
}

fn run(args: Args, io: &mut Io) -> Result<Outcome> {
    io.sources(&args.files)?;
    Err(Error::new(
        "no embedding model is installed: a version of rsv that has 'rsv-embed --fetch MODEL' will install one",
    ))
}
