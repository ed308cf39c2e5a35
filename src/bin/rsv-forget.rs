//! rsv-forget: removes records, and keeps them out from then on.

use rsv::cli::{self, Filter, Io, Layout, Outcome};
use rsv::config::Settings;
use rsv::error::{Error, Result};
use rsv::forget::{self, Skipped};
use rsv::lines::Reader;
use rsv::record::{
    ACCOUNT, ACTION, Address, MESSAGE, Object, Record, RecordKind, Scopes, TombstoneState, VectorFormat,
    kind_named, kinds,
};
use rsv::redact::Redactor;
use rsv::search;
use rsv::store::{self, OpenMode, Removal, Select, Store};
use rsv::text::{counted, counted_verb};
use rsv::tree;
use rsv::view::{self, Heads};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Remove messages with everything that belongs to them, and keep them out from then on
///
/// Select them by lines on standard input, such as those of rsv-search, by ids, by addresses, or by conditions. The
/// removed records are printed, with their words, so that 'rsv-import --allow-return' can undo this; on a terminal as
/// text without secrets. No later import or retry stores them again. The exit status is 1 if there was nothing to remove.
#[derive(clap::Args)]
struct Args {
    /// The ids of the records, or the first letters of their short ids, or addresses (viking://...) of documents, with all that is below them; '-' reads lines from
    /// standard input
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Select records of this trace
    #[arg(long, value_name = "ID")]
    trace: Option<String>,
    #[command(flatten)]
    filter: Filter,
    /// Select records of these kinds: message, account, memory, document, signal, title, recall, action [default: message, account and action, or any kind if ids
    /// are given or with --everything]
    #[arg(long, value_name = "KIND,...", value_delimiter = ',', value_parser = cli::kind)]
    kind: Vec<&'static RecordKind>,
    /// Select everything in the scope; asks at a terminal
    #[arg(long, conflicts_with_all = ["ids", "trace", "role", "since", "until"])]
    everything: bool,
    /// Select what this import brought and nobody else did, to undo it; 'rsv-import --history' lists the ids, of which a
    /// beginning suffices
    #[arg(long, value_name = "ID", conflicts_with_all = ["ids", "trace", "role", "since", "until", "kind", "everything", "all", "partition", "instance"])]
    import: Option<String>,
    /// Select what is older than its partition keeps it, as the settings 'retention' and 'partitions.NAME.retention' say;
    /// without -p, in all partitions
    #[arg(long, conflicts_with_all = ["ids", "trace", "role", "since", "until", "everything", "import", "all"])]
    expired: bool,
    /// Select from all scopes of the store
    #[arg(long, conflicts_with_all = ["partition", "instance"])]
    all: bool,
    /// Remove the records derived from the selected ones too
    #[arg(long)]
    derived: bool,
    /// Print what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
    /// Remove more than 100 records, or everything, without asking
    #[arg(short, long)]
    yes: bool,
}

/// The most records that are removed without a yes.
const MAX_UNCONFIRMED: usize = 100;

/// The number of ids that a note lists.
const LISTED: usize = 10;

rsv::tool!(run);

fn run(args: Args, settings: Settings, io: &mut Io) -> Result<Outcome> {
    if let Some(id) = &args.import {
        return undo(id, &args, &settings, io);
    }
    if args.expired {
        return expire(&args, &settings, io);
    }
    let has_conditions = args.trace.is_some() || args.filter != Filter::default() || args.everything;
    let reads_lines = args.ids.iter().any(|id| id == "-") || args.ids.is_empty() && !has_conditions;
    let mut named: BTreeMap<String, String> = BTreeMap::new();
    let (addresses, ids): (Vec<&String>, Vec<&String>) =
        args.ids.iter().filter(|id| *id != "-").partition(|id| id.starts_with("viking://"));
    let partition = io.common.scope()?.partition;
    let addresses: Vec<Address> =
        addresses.into_iter().map(|uri| Address::resolve(uri, &partition)).collect::<Result<_>>()?;
    if reads_lines {
        read_lines(&mut named, settings.max_line(), io)?;
    }
    let any_kind = reads_lines || !args.ids.is_empty() || args.everything;
    let kinds = if any_kind && args.kind.is_empty() { kinds() } else { kinds_to_select(&args) };
    let names_ids = reads_lines || !args.ids.is_empty();
    if names_ids && named.is_empty() && addresses.is_empty() && ids.is_empty() {
        return Ok(Outcome::No);
    }
    let mut store = open(args.dry_run, &settings, io)?;
    let store = &mut *store;
    // Only where a person reads which it is: no script removes another instance than it named.
    if io.prints_summaries() {
        search::complete_instance(store, io)?;
    }
    let named_scopes = io.common.to_cover()?;
    for id in ids {
        named.insert(store::full_id(store, id, &named_scopes)?, String::new());
    }
    let scopes = match io.common.instance {
        None if !addresses.is_empty() && !args.all => Scopes::Partition(partition.clone()),
        _ => io.common.to_read(args.all)?,
    };
    let mut which = Select {
        trace_id: args.trace.clone(),
        roles: args.filter.role.clone(),
        since: args.filter.since,
        until: args.filter.until,
        only: names_ids.then(|| named.keys().cloned().collect()),
        ..Select::records(kinds, scopes)
    };
    for address in &addresses {
        let mut nodes = tree::below(store, &partition, address, None)?;
        nodes.extend(tree::node(store, &partition, address)?);
        if nodes.is_empty() {
            io.note(format_args!("the partition {partition} has no document {address}"));
        }
        which.only.get_or_insert_default().extend(nodes.into_iter().map(|node| node.id));
    }
    let which = which;
    let ids = forget::select(store, &which)?;
    for (id, place) in named.iter().filter(|(id, _)| !ids.contains(*id)) {
        report_skipped(id, place, forget::skip_reason(store, id, &which)?, io);
    }
    forget(store, ids, &which, &args, &settings, io)
}

/// Removes what is older than its partition keeps it.
fn expire(args: &Args, settings: &Settings, io: &mut Io) -> Result<Outcome> {
    let which = Select::records(kinds_to_select(args), io.common.to_cover()?);
    forget::check_retention(settings, &which.scopes)?;
    let mut store = open(args.dry_run, settings, io)?;
    let store = &mut *store;
    let mut ids = BTreeSet::new();
    for expired in forget::expired(store, settings, &which, io.clock.now())? {
        ids.extend(forget::select(store, &expired)?);
    }
    let which = Select { only: Some(ids.iter().cloned().collect()), ..which };
    forget(store, ids, &which, args, settings, io)
}

/// The kinds of the records to select by conditions.
fn kinds_to_select(args: &Args) -> Vec<&'static RecordKind> {
    if args.kind.is_empty() { vec![&MESSAGE, &ACCOUNT, &ACTION] } else { args.kind.clone() }
}

/// Removes some records of a selection, and those that go with them.
fn forget(
    store: &mut dyn Store,
    mut ids: BTreeSet<String>,
    which: &Select,
    args: &Args,
    settings: &Settings,
    io: &mut Io,
) -> Result<Outcome> {
    add_same_words(store, &mut ids, io)?;
    if add_derived(store, &mut ids, which, args.derived, io)? {
        add_same_words(store, &mut ids, io)?;
    }
    if ids.is_empty() {
        return Ok(Outcome::No);
    }
    ids.extend(forget::left_alone(store, &ids)?);
    if !args.dry_run && !args.yes && (args.everything || ids.len() > MAX_UNCONFIRMED) {
        confirm(ids.len(), args.everything.then_some(&which.scopes), io)?;
    }
    print(store, &ids, which, settings, io)?;
    if !args.dry_run {
        remove(store, &ids, TombstoneState::Forgotten, io)?;
        forget::erase(store)?;
        if settings.store()?.path().is_none() {
            report_foreign(&forget::select(store, which)?, &ids, io);
        }
    }
    Ok(Outcome::Yes)
}

/// Opens the store; of a dry run only to read.
fn open(dry_run: bool, settings: &Settings, io: &mut Io) -> Result<Box<dyn Store>> {
    let place = settings.store()?;
    let is_there = place.path().is_none_or(Path::exists);
    if dry_run || !is_there {
        store::open_to_read(settings, io)
    } else {
        Ok(store::open(&place, OpenMode::Create)?)
    }
}

/// Undoes an import. If it is interrupted, the same command goes on.
fn undo(id: &str, args: &Args, settings: &Settings, io: &mut Io) -> Result<Outcome> {
    let mut store = open(args.dry_run, settings, io)?;
    let store = &mut *store;
    let all = store::imports(store)?;
    let import = forget::import_named(&all, id)?;
    let records = store::records_of(store, import, &all)?;
    for (by, count) in &records.shared {
        let records = counted_verb(*count as u64, "record", ["stays", "stay"]);
        io.note(match by {
            Some(by) => format!("{records}, which the import {by} brought too"),
            None => format!("{records}, which came in otherwise too, as by a proxy or a hook"),
        });
    }
    let mut ids = forget::with_records_about(store, records.ids)?;
    ids.extend(forget::left_alone(store, &ids)?);
    let which = Select::records(kinds(), Scopes::All);
    add_derived(store, &mut ids, &which, args.derived, io)?;
    if !ids.is_empty() {
        if !args.dry_run && !args.yes && ids.len() > MAX_UNCONFIRMED {
            confirm(ids.len(), None, io)?;
        }
        print(store, &ids, &which, settings, io)?;
    }
    if !args.dry_run {
        // Those that are forgotten would take along all others that say the same.
        remove(store, &ids, TombstoneState::Removed, io)?;
        store::set_undone(store, import, io.clock.now())?;
        forget::erase(store)?;
    }
    Ok(if ids.is_empty() { Outcome::No } else { Outcome::Yes })
}

/// Adds the ids of the records that were made from some, if they are to go, or says which stay; returns whether it has
/// added any.
fn add_derived(
    store: &mut dyn Store,
    ids: &mut BTreeSet<String>,
    which: &Select,
    go: bool,
    io: &mut Io,
) -> Result<bool> {
    let derived = forget::derived(store, ids)?;
    if !go && !derived.is_empty() {
        let (count, listed) = (derived.len(), list(&derived));
        io.note(format_args!("{count} made from it stay, --derived removes them: {listed}"));
    }
    if !go || derived.is_empty() {
        return Ok(false);
    }
    let selected = forget::in_scopes(store, &derived, &which.scopes)?;
    for id in derived.difference(&selected) {
        report_skipped(id, "", forget::skip_reason(store, id, which)?, io);
    }
    ids.extend(selected);
    Ok(true)
}

/// Adds the ids that lines name, each with its place for messages.
fn read_lines(named: &mut BTreeMap<String, String>, limit: usize, io: &mut Io) -> Result<()> {
    let mut lines = Reader::new("<stdin>", io.stdin()?, limit);
    while let Some(value) = lines.next() {
        let read = value.and_then(|value| {
            let id = named_by(&value.object).map_err(|e| e.at(&value.location))?;
            Ok(id.map(|id| (id, format!("{}: ", value.location))))
        });
        match read {
            Ok(id) => named.extend(id),
            Err(error) => io.fault(&error),
        }
    }
    Ok(())
}

/// The id that a line names; none for a link, an embedding, a tombstone, and a message around a hit.
fn named_by(line: &Object) -> Result<Option<String>> {
    let kind = line.text("kind")?;
    let why = line.object("why")?.unwrap_or_default();
    match kind.as_deref() {
        Some("link" | "embedding" | "tombstone") => return Ok(None),
        _ if why.has("context") => return Ok(None),
        Some(kind) if kind != "hit" && kind_named(kind).is_none() => {
            return Err(Error::new(format!("kind: a {kind} cannot be forgotten"))
                .hint("pass the lines of rsv-search, rsv-view or rsv-export"));
        }
        _ => {}
    }
    line.text("id")?.map(Some).ok_or_else(|| Error::new("id: is missing"))
}

/// Adds the records that say the same in another form.
fn add_same_words(store: &mut dyn Store, ids: &mut BTreeSet<String>, io: &Io) -> Result<()> {
    let others = forget::same_words(store, ids)?;
    if !others.is_empty() {
        io.note(format_args!("{} say the same in another form, and go too: {}", others.len(), list(&others)));
        ids.extend(others);
    }
    Ok(())
}

/// Reports why a named record stays.
fn report_skipped(id: &str, place: &str, reason: Skipped, io: &mut Io) {
    match reason {
        Skipped::Unknown => io.note(format_args!("{place}the store has no record {id}")),
        Skipped::OtherScope(scope) => {
            let hint = format!("select it with -p {} -i {}, or --all", scope.partition, scope.instance);
            io.fault(&Error::new(format!("{place}{id} is in the scope {scope}, and stays")).hint(hint));
        }
        Skipped::Unmet => io.detail(format_args!("{place}{id} does not meet the conditions, and stays")),
    }
}

fn list(ids: &BTreeSet<String>) -> String {
    let mut listed: Vec<&str> = ids.iter().take(LISTED).map(String::as_str).collect();
    if ids.len() > LISTED {
        listed.push("…");
    }
    listed.join(", ")
}

/// Asks at the terminal, naming the scopes if everything in them is selected. Errors unless the answer is yes; without a
/// terminal, if there are many records.
fn confirm(count: usize, whole: Option<&Scopes>, io: &Io) -> Result<()> {
    let records = counted(count as u64, "record");
    let of = match whole {
        None => String::new(),
        Some(Scopes::All) => " of the whole store".to_owned(),
        Some(Scopes::Matching(_)) => " of these partitions".to_owned(),
        Some(Scopes::Partition(partition)) => format!(" of the partition {partition}"),
        Some(Scopes::One(scope)) => format!(" of {scope}"),
    };
    match io.confirm(&format!("Remove {records}{of}?"))? {
        Some(true) => Ok(()),
        Some(false) => Err(Error::new("nothing was removed")),
        None if count <= MAX_UNCONFIRMED => Ok(()),
        None => Err(Error::new(format!("{records} would be removed"))
            .hint("look at them with --dry-run, and remove them with --yes")),
    }
}

/// Prints the records to remove: as text for people, in whose terminal no secret is to stay, or as lines that rsv-import
/// reads.
fn print(
    store: &mut dyn Store,
    ids: &BTreeSet<String>,
    which: &Select,
    settings: &Settings,
    io: &mut Io,
) -> Result<()> {
    let scopes = which.scopes == Scopes::All;
    let redactor = io.stdout_is_tty().then(|| Redactor::of_patterns(settings)).transpose()?;
    let for_people = redactor.map(|redactor| (Layout { scopes, ..io.layout() }, redactor));
    let heads = heads(store, ids, for_people.is_some())?;
    let out = &mut io.out;
    forget::visit(store, ids, &mut |record| match (&for_people, record) {
        (Some((layout, redactor)), Record::Stored(record)) => {
            let shown = redactor.without_secrets(&record).map_or(record, |(redacted, _)| redacted);
            out.write(view::record(&shown, &heads, layout).as_bytes())
        }
        (Some(_), _) => Ok(()),
        (None, record) => out.with(|out| record.write_line(VectorFormat::Numbers, out)),
    })?;
    io.out.flush()
}

/// The heads of the records to remove, if a person sees them.
fn heads(store: &mut dyn Store, ids: &BTreeSet<String>, for_people: bool) -> Result<Heads> {
    let ids = ids.iter().map(String::as_str);
    let short_ids = if for_people { store::short_ids(store, ids)? } else { Default::default() };
    Ok(Heads { short_ids, ..Heads::default() })
}

/// Reports the records that a server still has: messages of Reservoir have no id of rsv's.
fn report_foreign(remaining: &BTreeSet<String>, ids: &BTreeSet<String>, io: &mut Io) {
    let count = remaining.intersection(ids).count();
    if count > 0 {
        let messages = counted_verb(count as u64, "message", ["of Reservoir stays", "of Reservoir stay"]);
        let error = Error::new(format!("{messages} in the graph"));
        io.fault(&error.hint("run 'rsv-link --adopt', then rsv-forget again"));
    }
}

/// Removes the printed records.
fn remove(store: &mut dyn Store, ids: &BTreeSet<String>, state: TombstoneState, io: &mut Io) -> Result<()> {
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let now = io.clock.now();
    let removed = match state {
        TombstoneState::Forgotten => store.forget(&ids, now)?,
        _ => store.remove(Removal::Records(&ids, state), now)?,
    };
    let summary = format!("{} removed", counted(removed, "record"));
    if io.stdout_is_tty() {
        io.note(summary)
    } else {
        io.detail(summary)
    }
    Ok(())
}
