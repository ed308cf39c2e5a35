//! rsv-link: brings the links between messages up to date.

use rsv::cli::{self, Io, Outcome};
use rsv::error::Result;
use rsv::record::{Record, Vectors};
use rsv::store::{self, Access};
use rsv::{config, link};
use std::process::ExitCode;

/// Links answers to their questions where that is missing, and prints the links it made
///
/// An answer belongs to the user's turn before it in its trace (RESPONDED_WITH). The whole store is brought
/// up to date, or the scope that -p and -i name.
#[derive(clap::Args)]
struct Args {
    /// Print the links that are missing; nothing is written
    #[arg(long)]
    dry_run: bool,
}

fn main() -> ExitCode {
    cli::main(run)
}

fn run(args: Args, io: &mut Io) -> Result<Outcome> {
    let settings = config::of(io)?;
    let mut store = store::open(&settings.store()?, Access::Read)?;
    let links: Vec<Record> =
        link::missing(&mut *store, &io.common.to_cover()?)?.into_iter().map(Record::Link).collect();
    if !args.dry_run && !links.is_empty() {
        store.write(&links)?;
    }
    for link in &links {
        io.out.with(|out| link.write_line(Vectors::Numbers, out))?;
    }
    Ok(Outcome::Yes)
}
