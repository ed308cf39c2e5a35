//! rsv-search: messages that hold the words asked for.

use rsv::cli::{self, Filter, Io, Outcome};
use rsv::error::Result;
use rsv::store::{self, Access, Select};
use rsv::{config, search, view};
use std::process::ExitCode;

/// Finds messages that hold all of the words asked for, best first
///
/// A word may be a part of a word; case and accents do not matter. A partition alone means all of its
/// instances; with neither, default/default is searched. Nothing found: exit status 1.
#[derive(clap::Args)]
struct Args {
    /// The words; without any, standard input is read
    #[arg(value_name = "TERM")]
    terms: Vec<String>,
    /// At most so many hits
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    limit: usize,
    #[command(flatten)]
    filter: Filter,
    /// All scopes of the store
    #[arg(long, conflicts_with_all = ["partition", "instance"])]
    all: bool,
    /// The output: jsonl or text [default: text on a terminal, else jsonl]
    #[arg(long, value_name = "FORMAT", value_parser = ["jsonl", "text"], hide_possible_values = true)]
    format: Option<String>,
}

fn main() -> ExitCode {
    cli::main(run)
}

fn run(args: Args, io: &mut Io) -> Result<Outcome> {
    let settings = config::of(io)?;
    let question = match args.terms.is_empty() {
        true => io.text(settings.max_line())?,
        false => args.terms.join(" "),
    };
    let which = Select {
        roles: args.filter.role,
        since: args.filter.since,
        until: args.filter.until,
        ..Select::of(io.common.to_read(args.all)?)
    };
    let mut store = store::open(&settings.store()?, Access::Read)?;
    let hits = search::keyword(&mut *store, &question, &which, args.limit)?;
    let text = args.format.map_or_else(|| io.for_people(), |format| format == "text");
    let layout = text.then(|| io.layout());
    for (rank, hit) in (1..).zip(&hits) {
        match &layout {
            Some(layout) => io.out.write(view::hit(rank, hit.score, &hit.message, layout).as_bytes())?,
            None => io.out.with(|out| hit.write_line(rank, out))?,
        }
    }
    Ok(if hits.is_empty() { Outcome::No } else { Outcome::Yes })
}
