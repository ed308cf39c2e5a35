//! rsv-forget: removes records, and keeps them out from then on.

use clap::builder::NonEmptyStringValueParser;
use rsv::cli::{self, Filter, Io, Outcome};
use rsv::config::Settings;
use rsv::error::Result;
use rsv::forget::{self, ForgetOptions, Forgetter};
use rsv::record::{ACCOUNT, ACTION, Address, MESSAGE, RecordKind, Scopes, kinds};
use rsv::search;
use rsv::store::{self, Select};
use rsv::tree;

/// Remove messages with everything that belongs to them, and keep them from coming back
///
/// Select them by lines on standard input, such as those of rsv-search, by ids, by addresses, or by
/// conditions. The removed records are printed, with their words, so that 'rsv-import --allow-return' can
/// undo this; on a terminal as text without secrets. No later import or retry stores them again. The exit
/// status is 1 if there was nothing to remove.
#[derive(clap::Args)]
struct Args {
    /// The ids of the records, or the first letters of their short ids, or addresses (viking://...) of
    /// documents, with everything below them; '-' reads lines from standard input
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Select records of this trace
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    trace: Option<String>,
    #[command(flatten)]
    filter: Filter,
    /// Select records of these kinds: message, account, memory, document, signal, title, recall, action
    /// [default: message, account and action, or any kind if ids are given or with --everything]
    #[arg(long, value_name = "KIND,...", value_delimiter = ',', value_parser = cli::kind)]
    kind: Vec<&'static RecordKind>,
    /// Select everything in the scope; asks at a terminal
    #[arg(long, conflicts_with_all = ["ids", "trace", "role", "since", "until"])]
    everything: bool,
    /// Select the records that only this import stored, to undo it; 'rsv-import --history' lists the ids, of
    /// which a prefix suffices
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new(), conflicts_with_all = ["ids", "trace", "role", "since", "until", "kind", "everything", "all", "partition", "instance"])]
    import: Option<String>,
    /// Select the records older than the retention of their partition (the settings 'retention' and
    /// 'partitions.NAME.retention'); without -p, in all partitions
    #[arg(long, conflicts_with_all = ["ids", "trace", "role", "since", "until", "everything", "import", "all"])]
    expired: bool,
    /// Select from all scopes of the store
    #[arg(long, conflicts_with_all = ["partition", "instance"])]
    all: bool,
    /// Also remove the records derived from the selected ones
    #[arg(long)]
    derived: bool,
    /// Print what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
    /// Remove more than 100 records, or everything, without asking
    #[arg(short, long)]
    yes: bool,
}

rsv::tool!(run);

fn run(args: Args, settings: Settings, io: &mut Io) -> Result<Outcome> {
    let Args { derived, dry_run, yes, .. } = args;
    let options = ForgetOptions { derived, dry_run, yes };
    let conditions = if args.kind.is_empty() { vec![&MESSAGE, &ACCOUNT, &ACTION] } else { args.kind.clone() };
    if let Some(id) = &args.import {
        return Forgetter::open(&settings, options, io)?.undo(id);
    }
    if args.expired {
        let which = Select::records(conditions, io.common.to_cover()?);
        forget::check_retention(&settings, &which.scopes)?;
        return Forgetter::open(&settings, options, io)?.expire(which);
    }
    let has_conditions = args.trace.is_some() || args.filter != Filter::default() || args.everything;
    let reads_lines = args.ids.iter().any(|id| id == "-") || args.ids.is_empty() && !has_conditions;
    let names_ids = reads_lines || !args.ids.is_empty();
    let (addresses, ids): (Vec<&String>, Vec<&String>) =
        args.ids.iter().filter(|id| *id != "-").partition(|id| id.starts_with("viking://"));
    let partition = io.common.scope()?.partition;
    let addresses = addresses.into_iter().map(|uri| Address::resolve(uri, &partition));
    let addresses: Vec<Address> = addresses.collect::<Result<_>>()?;
    let limit = settings.max_line();
    let mut named = if reads_lines { forget::named_in_lines(limit, io)? } else { Default::default() };
    let are_all = (names_ids || args.everything) && args.kind.is_empty();
    let kinds = if are_all { kinds() } else { conditions };
    if names_ids && named.is_empty() && addresses.is_empty() && ids.is_empty() {
        return Ok(Outcome::No);
    }
    let mut forgetter = Forgetter::open(&settings, options, io)?;
    let store = &mut *forgetter.store;
    // Only where a person reads which it is: no script removes another instance than it named.
    if forgetter.io.prints_summaries() {
        search::complete_instance(store, forgetter.io)?;
    }
    let common = &forgetter.io.common;
    let named_scopes = common.to_cover()?;
    for id in ids {
        named.insert(store::full_id(store, id, &named_scopes)?, String::new());
    }
    let scopes = match common.instance {
        None if !addresses.is_empty() && !args.all => Scopes::Partition(partition.clone()),
        _ => common.to_read(args.all)?,
    };
    let mut which = Select {
        trace_id: args.trace,
        only: names_ids.then(|| named.keys().cloned().collect()),
        ..Select::records(kinds, scopes).filtered(args.filter)
    };
    for address in &addresses {
        let ids = tree::ids_from(store, &partition, address)?;
        if ids.is_empty() {
            forgetter.io.note(format_args!("the partition {partition} has no document {address}"));
        }
        which.only.get_or_insert_default().extend(ids);
    }
    let ids = forget::select(store, &which)?;
    for (id, place) in named.iter().filter(|(id, _)| !ids.contains(*id)) {
        forgetter.report_skipped(id, place, &which)?;
    }
    forgetter.forget(ids, &which, args.everything)
}
