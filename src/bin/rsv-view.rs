//! rsv-view: the last messages of a scope.

use rsv::cli::{self, Filter, Io, Outcome};
use rsv::error::Result;
use rsv::record::{ACCOUNT, MESSAGE, Record, VectorFormat};
use rsv::store::{self, Select};
use rsv::{config, view};
use std::process::ExitCode;

/// Print the last messages of a scope, oldest first
///
/// With a partition alone, all of its instances are shown; with neither, default/default is shown. The messages
/// are text on a terminal, and JSON lines in a pipe or a file.
#[derive(clap::Args)]
struct Args {
    /// The number of messages to print
    #[arg(default_value_t = 10, value_name = "COUNT")]
    count: usize,
    #[command(flatten)]
    filter: Filter,
    /// Select messages of this trace
    #[arg(long, value_name = "ID")]
    trace: Option<String>,
    /// Print the accounts of requests instead of messages: what was recalled, and what it cost
    #[arg(long, conflicts_with = "role")]
    accounts: bool,
    /// Read all scopes of the store
    #[arg(long, conflicts_with_all = ["partition", "instance"])]
    all: bool,
    /// Print in this format: jsonl or text [default: text on a terminal, else jsonl]
    #[arg(long, value_name = "FORMAT", value_parser = ["jsonl", "text"], hide_possible_values = true)]
    format: Option<String>,
}

#[global_allocator]
static ALLOCATOR: cli::ReportingAllocator = cli::ReportingAllocator;

fn main() -> ExitCode {
    cli::main(run, rsv::complete::VALUES)
}

fn run(args: Args, io: &mut Io) -> Result<Outcome> {
    let settings = config::load_for_tool(io)?;
    let kind = if args.accounts { &ACCOUNT } else { &MESSAGE };
    let which = Select {
        trace_id: args.trace,
        roles: args.filter.role,
        since: args.filter.since,
        until: args.filter.until,
        ..Select::records(vec![kind], io.common.to_read(args.all)?)
    };
    let mut store = store::open_to_read(&settings, io)?;
    let text = args.format.map_or_else(|| io.stdout_is_tty(), |format| format == "text");
    let layout = text.then(|| io.layout());
    store.visit_last(&which, args.count, &mut |record| match (&layout, &record) {
        (Some(layout), Record::Stored(record)) if args.accounts => {
            io.out.write(view::account(record, layout).as_bytes())
        }
        (Some(layout), Record::Stored(record)) => io.out.write(view::record(record, layout).as_bytes()),
        _ => io.out.with(|out| record.write_line(VectorFormat::Numbers, out)),
    })?;
    Ok(Outcome::Yes)
}
