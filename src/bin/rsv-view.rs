//! rsv-view: the last messages of a scope.

use rsv::chat::fence;
use rsv::cli::{self, Filter, Io, Layout, Outcome, Printing};
use rsv::config::{self, Settings};
use rsv::enrich;
use rsv::error::{Error, Result};
use rsv::import::resume_command;
use rsv::memory::{self, PriorRule, State};
use rsv::recall_rules::RecallRules;
use rsv::record::{
    ACCOUNT, ACTION, Address, MEMORY, MESSAGE, Record, RecordKind, Role, ScopeSummary, Scopes,
    SessionSummary, StoredRecord, VectorFormat, kinds, newer_json,
};
use rsv::search::{self, ScopeSource};
use rsv::store::{self, Follower, OpenMode, Select, Store, Uncommitted, Walk};
use rsv::text::counted_verb;
use rsv::tree;
use rsv::view::{self, Heads, ReservoirLines};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// The number of messages that are printed if none is given.
const DEFAULT_COUNT: usize = 10;

/// The greatest number of messages of one commit, whose line has their ids.
const MAX_COMMIT_MESSAGES: usize = 20_000;

/// The most records that are printed with their short ids: more are not held at once.
const MAX_WITH_HEADS: usize = 1000;

/// The time between two looks for new messages.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Print the last messages of a scope, oldest first
///
/// With a partition alone, all of its instances are shown; with neither, default/default is shown. The messages
/// are text on a terminal, and JSON lines in a pipe or a file. An address lists documents instead. On a
/// terminal, a memory has three lines: its title; its confidence, its uses, its signals (for and against) and its
/// outcome; and a line of its text.
#[derive(clap::Args)]
struct Args {
    /// The number of messages to print, or the address (viking://...) of a directory, whose children are listed, or of
    /// another document, which is printed [default: 10]
    #[arg(value_name = "COUNT|URI", value_parser = operand)]
    count: Option<Operand>,
    /// Print this many messages: the same as COUNT
    #[arg(short = 'n', long, value_name = "COUNT", conflicts_with = "count")]
    limit: Option<usize>,
    #[command(flatten)]
    tree: Tree,
    #[command(flatten)]
    filter: Filter,
    /// Select messages of this trace
    #[arg(long, value_name = "ID")]
    trace: Option<String>,
    /// Print records of these kinds: message, account, memory, document, signal, title, recall, action
    #[arg(long, value_name = "KIND,...", value_delimiter = ',', value_parser = cli::kind, conflicts_with = "accounts")]
    kind: Vec<&'static RecordKind>,
    /// Print memories in this state: active, archived or all
    #[arg(long, value_name = "STATE", default_value = "active", value_parser = ["active", "archived", "all"], hide_possible_values = true)]
    state: String,
    /// Print the signals about this memory, or the rules of recall about this message, of any scope unless -p or -i names one
    #[arg(long, value_name = "ID", conflicts_with_all = ["accounts", "trace", "role"])]
    of: Option<String>,
    /// Leave out the last records, as many as this
    #[arg(long, value_name = "COUNT", default_value_t = 0, hide_default_value = true)]
    offset: usize,
    /// Print the record with this id, or the first letters of its short id, of any scope unless -p or -i names one
    #[arg(long, value_name = "ID", conflicts_with_all = ["count", "limit", "role", "since", "until", "trace", "accounts"])]
    id: Option<String>,
    /// With --id: print this many messages before and after it as well
    #[arg(
        short = 'C',
        long,
        value_name = "COUNT",
        requires = "id",
        default_value_t = 0,
        hide_default_value = true
    )]
    context: usize,
    /// With --id: print the whole conversation around it, which is its instance
    #[arg(long, requires = "id", conflicts_with = "context")]
    conversation: bool,
    /// With --id: print the turn that it belongs to: its messages and actions, in their order
    #[arg(long, requires = "id", conflicts_with_all = ["context", "conversation", "kind"])]
    turn: bool,
    /// Print the accounts of requests instead of messages: what was recalled, and what it cost
    #[arg(long, conflicts_with = "role")]
    accounts: bool,
    /// Print messages as they are stored too, until you press Ctrl-C
    #[arg(short, long, conflicts_with_all = ["id", "until"])]
    follow: bool,
    /// Print the scopes of the store, or of -p, instead of messages: their number of messages, times and size
    #[arg(long, conflicts_with_all = ["count", "limit", "id", "accounts", "follow"])]
    scopes: bool,
    /// Print the sessions of the store, or of -p, instead of messages, by the time of their last messages
    #[arg(long, conflicts_with_all = ["count", "limit", "id", "accounts", "follow", "scopes"])]
    sessions: bool,
    /// Print the messages of the session -p and -i that no archive covers, after its last archive, for rsv-distill --commit;
    /// exit with 1 if there are none
    #[arg(long, conflicts_with_all = ["count", "limit", "id", "accounts", "follow", "all", "scopes", "sessions"])]
    uncommitted: bool,
    /// Read all scopes of the store
    #[arg(long, conflicts_with_all = ["partition", "instance"])]
    all: bool,
    /// Read as rsv-search does on a terminal: the partition of the project, if it has records, else all scopes
    #[arg(long, conflicts_with_all = ["partition", "instance", "scope", "all", "id", "of", "scopes", "sessions", "uncommitted"])]
    here: bool,
    #[command(flatten)]
    printing: Printing,
}

/// The parts of a tree of documents to print.
#[derive(clap::Args)]
#[group(id = "tree-options")]
struct Tree {
    /// With an address: print all that is below it, and the document itself
    #[arg(long, requires = "count")]
    tree: bool,
    /// With an address: go down this many levels
    #[arg(long, value_name = "LEVELS", requires = "count", conflicts_with = "stale", value_parser = clap::value_parser!(u32).range(1..))]
    depth: Option<u32>,
    /// With an address: print the texts up to this level of detail: 0 the abstract, 1 the overview, 2 the content
    #[arg(long, value_name = "LEVEL", requires = "count", value_parser = clap::value_parser!(u8).range(0..=2))]
    level: Option<u8>,
    /// With an address: print the documents that a model should describe, each after those below it. With --kind memory:
    /// print the memories that were made of messages which later ones supersede
    #[arg(long, conflicts_with = "tree")]
    stale: bool,
}

/// An operand of the command line.
#[derive(Clone, Debug)]
enum Operand {
    Count(usize),
    Address(String),
}

fn operand(text: &str) -> std::result::Result<Operand, String> {
    if text.starts_with("viking://") {
        return Ok(Operand::Address(text.to_owned()));
    }
    text.parse()
        .map(Operand::Count)
        .map_err(|_| "expected a number, or an address such as viking://resources".to_owned())
}

pub(crate) fn main() -> ExitCode {
    cli::main(run, rsv::complete::VALUES)
}

fn run(args: Args, io: &mut Io) -> Result<Outcome> {
    let settings = config::load_for_tool(io)?;
    let wanted_kinds = match &args.kind[..] {
        _ if args.accounts => vec![&ACCOUNT],
        kinds if args.of.is_some() => {
            if let Some(kind) = kinds.iter().find(|kind| kind.subject.is_none()) {
                return Err(Error::new(format!("--of: a {} is about no other record", kind.name))
                    .hint("leave out --kind"));
            }
            let about = rsv::record::kinds().into_iter().filter(|kind| kind.subject.is_some());
            about.filter(|kind| kinds.is_empty() || kinds.contains(kind)).collect()
        }
        [] => vec![&MESSAGE],
        kinds => kinds.to_vec(),
    };
    let mut store = store::open_to_read(&settings, io)?;
    search::complete_instance(&mut *store, io)?;
    let is_named = args.id.is_some() || args.of.is_some();
    let scopes = if is_named && !args.all || args.scopes || args.sessions {
        io.common.to_cover()?
    } else if args.here {
        let source = search::scope_source_before_opening(&settings, &mut io.common)?;
        io.common.to_read(source == ScopeSource::Nothing)?
    } else {
        io.common.to_read(args.all)?
    };
    let is_reservoir = args.printing.format.as_deref() == Some("reservoir");
    let is_block = args.printing.format.as_deref() == Some("block");
    if is_reservoir && args.accounts {
        return Err(Error::new("--format: Reservoir has no accounts").hint("use --format text"));
    }
    if args.follow && args.printing.format.as_deref() == Some("json") {
        return Err(Error::new("--follow never ends, and an array does").hint("leave out --format json"));
    }
    let printing = Printing { no_pager: args.printing.no_pager || args.follow, ..args.printing };
    let layout = io.print_as(&printing);
    let layout = layout.map(|layout| Layout { scopes: scopes == Scopes::All && args.of.is_none(), ..layout });
    let which = Select {
        trace_id: args.trace,
        key: args.of.map(|id| store::full_id(&mut *store, &id, &scopes)).transpose()?,
        roles: args.filter.role,
        since: args.filter.since,
        until: args.filter.until,
        ..Select::records(wanted_kinds, scopes)
    };
    let (count, address) = match args.count {
        Some(Operand::Count(count)) => (count, None),
        Some(Operand::Address(address)) => (DEFAULT_COUNT, Some(address)),
        None => (args.limit.unwrap_or(DEFAULT_COUNT), None),
    };
    let is_of_memories = args.tree.stale && which.kinds == [&MEMORY];
    if address.is_none()
        && !is_of_memories
        && (args.tree.tree || args.tree.stale || args.tree.depth.is_some() || args.tree.level.is_some())
    {
        return Err(Error::new("--tree, --depth, --level and --stale need an address")
            .hint("such as viking://resources; --stale also goes with --kind memory"));
    }
    let address = address.map(|uri| Address::resolve(&uri, &io.common.scope()?.partition)).transpose()?;
    let rule = PriorRule::from_settings(&settings);
    let reservoir = ReservoirLines { to_terminal: io.stdout_is_tty() };
    let prints_others = args.id.is_some()
        || args.accounts
        || args.follow
        || args.scopes
        || args.sessions
        || args.uncommitted
        || address.is_some();
    if is_block && prints_others {
        return Err(
            Error::new("--format: a block is of the last records of a scope").hint("use --format text")
        );
    }
    if is_block {
        let state = State::named(&args.state).unwrap_or(State::Active);
        let mut which = which;
        which.except.ids.extend(RecallRules::read(&mut *store, &which.scopes)?.never().cloned());
        let records = memory::last(&mut *store, &which, state, count, args.offset, rule)?;
        io.out.write(fence::block(fence::DEFAULT_NOTE, &records.iter().collect::<Vec<_>>()).as_bytes())?;
        return Ok(Outcome::Yes);
    }
    if let Some(id) = &args.id {
        let id = &store::full_id(&mut *store, id, &which.scopes)?;
        if args.conversation {
            return print_conversation(&mut *store, id, &which.scopes, layout.as_ref(), io);
        }
        if args.turn {
            return print_turn(&mut *store, id, &which.scopes, layout.as_ref(), io);
        }
        return print_one(&mut *store, id, &which.scopes, (args.context, rule), layout.as_ref(), io);
    }
    if args.scopes {
        let summaries = store.summarize(&which)?;
        if summaries.is_empty() && which.scopes == Scopes::All {
            return explain_nothing(&mut *store, &which, io);
        }
        return print_scopes(&summaries, layout.as_ref(), io);
    }
    if args.sessions {
        let mut sessions = store::sessions(&mut *store, &which.scopes)?;
        store::add_programs(&mut *store, &mut sessions)?;
        return print_sessions(&sessions, layout.as_ref(), io);
    }
    if args.uncommitted {
        return print_uncommitted(&mut *store, layout.as_ref(), io);
    }
    if let Some(address) = address {
        return print_tree(&mut *store, &address, &args.tree, layout.as_ref(), io);
    }
    if args.follow {
        return follow(store, which, count, layout.as_ref(), &settings, io);
    }
    if layout.is_some() && args.accounts {
        let accounts = store.last_of(&which, count)?;
        if accounts.is_empty() && count > 0 {
            return explain_nothing(&mut *store, &which, io);
        }
        for account in accounts {
            print(&mut *store, &account, layout.as_ref(), io)?;
        }
        return Ok(Outcome::Yes);
    }
    if is_of_memories && address.is_none() {
        let state = State::named(&args.state).unwrap_or(State::Active);
        let memories = memory::last(&mut *store, &which, state, usize::MAX, 0, rule)?;
        let by_rule = settings.text("search.newer").as_deref() != Some("off");
        return print_stale(&mut *store, memories, (&which, by_rule, count), layout.as_ref(), io);
    }
    if args.offset > 0 || which.kinds.contains(&&MEMORY) {
        let state = State::named(&args.state).unwrap_or(State::Active);
        let records = memory::last(&mut *store, &which, state, count, args.offset, rule)?;
        if records.is_empty() && count > 0 {
            return explain_nothing(&mut *store, &which, io);
        }
        return print_records(&mut *store, records, layout.as_ref(), io);
    }
    if let Some(layout) = layout.as_ref().filter(|_| count <= MAX_WITH_HEADS && !is_reservoir) {
        let records = store.last_of(&which, count)?;
        if records.is_empty() && count > 0 {
            return explain_nothing(&mut *store, &which, io);
        }
        return print_records(&mut *store, records, Some(layout), io);
    }
    let mut is_empty = true;
    store.visit_last(&which, count, &mut |record| {
        is_empty = false;
        match (&layout, &record) {
            (_, Record::Stored(record)) if is_reservoir => io.out.write(reservoir.message(record).as_bytes()),
            (Some(layout), Record::Stored(record)) => {
                io.out.write(view::record(record, &Heads::default(), layout).as_bytes())
            }
            _ => io.out.with(|out| record.write_line(VectorFormat::Numbers, out)),
        }
    })?;
    if is_empty && count > 0 {
        return explain_nothing(&mut *store, &which, io);
    }
    Ok(Outcome::Yes)
}

/// Tells a person what is near, where there is nothing to print.
fn explain_nothing(store: &mut dyn Store, which: &Select, io: &Io) -> Result<Outcome> {
    if io.stdout_is_tty() {
        for note in search::nothing_found(store, which, None, &io.command_for_all_scopes(None))? {
            io.note(note);
        }
    }
    Ok(Outcome::Yes)
}

/// Prints what is at an address and below it.
fn print_tree(
    store: &mut dyn Store,
    address: &Address,
    options: &Tree,
    layout: Option<&Layout>,
    io: &mut Io,
) -> Result<Outcome> {
    let partition = io.common.scope()?.partition;
    let own = tree::node(store, &partition, address)?;
    let is_leaf = own.as_ref().is_some_and(|own| !own.is_directory());
    let depth = options.depth.map(|depth| depth as usize);
    let documents = if options.stale {
        tree::stale(store, &partition, address)?
    } else if options.tree {
        let below = tree::below(store, &partition, address, depth)?;
        own.clone().into_iter().chain(below).collect()
    } else if is_leaf || options.level.is_some() && depth.is_none() && layout.is_some() && own.is_some() {
        own.clone().into_iter().collect()
    } else if depth.is_some() {
        tree::below(store, &partition, address, depth)?
    } else {
        tree::children(store, &partition, address)?
    };
    if documents.is_empty() && own.is_none() && io.stdout_is_tty() {
        io.note(format_args!("the partition {partition} has no document at {address}, or below it"));
    }
    match layout {
        Some(_) if is_leaf || options.level.is_some() => {
            for document in &documents {
                if documents.len() > 1 {
                    io.out
                        .write(format!("{}\n\n", view::visible(&document.member_text("uri"))).as_bytes())?;
                }
                io.out.write(view::document(document, options.level.unwrap_or(2)).as_bytes())?;
                if documents.len() > 1 {
                    io.out.write(b"\n")?;
                }
            }
        }
        Some(layout) => {
            // The first document is not indented.
            let above = if options.tree && own.is_some() { address.parent() } else { Some(address.clone()) };
            let above = above.unwrap_or_else(|| address.clone());
            let text = view::tree(&documents, &above, io.clock.now(), layout);
            io.out.write(text.as_bytes())?;
        }
        None => {
            for document in documents {
                let document = tree::at_level(document, options.level.unwrap_or(2));
                io.out.with(|out| Record::Stored(document).write_line(VectorFormat::Numbers, out))?;
            }
        }
    }
    Ok(Outcome::Yes)
}

/// Prints records; for people, memories are rows of a table, and actions alone the log of a session.
fn print_records(
    store: &mut dyn Store,
    records: Vec<StoredRecord>,
    layout: Option<&Layout>,
    io: &mut Io,
) -> Result<Outcome> {
    let ids: Vec<&str> = records.iter().map(|record| record.id.as_str()).collect();
    let evidence = if layout.is_some() { memory::evidence(store, &ids)? } else { BTreeMap::new() };
    let are_actions = !records.is_empty() && records.iter().all(|record| record.kind == &ACTION);
    if let Some(layout) = layout.filter(|_| are_actions) {
        return print_log(store, &records, layout, io);
    }
    let heads = search::heads(store, &records, layout)?;
    for record in &records {
        match layout {
            Some(layout) if record.kind == &MEMORY => {
                let evidence = evidence.get(&record.id).copied().unwrap_or_default();
                io.out.write(memory::entry(record, &evidence, &heads, layout).as_bytes())?;
            }
            Some(layout) => io.out.write(view::record(record, &heads, layout).as_bytes())?,
            None => io.out.with(|out| {
                record.write(out);
                out.push(b'\n');
            })?,
        }
    }
    Ok(Outcome::Yes)
}

/// Prints actions below the words of the turns that they belong to.
fn print_log(
    store: &mut dyn Store,
    actions: &[StoredRecord],
    layout: &Layout,
    io: &mut Io,
) -> Result<Outcome> {
    let questions = search::questions(store, actions)?;
    let heads = search::heads(store, actions.iter().chain(questions.values()), Some(layout))?;
    let has_several = actions.iter().any(|action| action.scope != actions[0].scope);
    let layout = Layout { scopes: layout.scopes || has_several, ..layout.clone() };
    io.out.write(view::action_log(actions, &questions, &heads, &layout).as_bytes())?;
    Ok(Outcome::Yes)
}

/// The record of some scopes that has an id.
fn record_of(store: &mut dyn Store, id: &str, scopes: &Scopes) -> Result<StoredRecord> {
    let found = store.get(&[id], &Select::records(kinds(), scopes.clone()))?.pop();
    found.ok_or_else(|| no_record(id))
}

/// Prints the messages and the actions of the turn of the record that has an id.
fn print_turn(
    store: &mut dyn Store,
    id: &str,
    scopes: &Scopes,
    layout: Option<&Layout>,
    io: &mut Io,
) -> Result<Outcome> {
    let record = record_of(store, id, scopes)?;
    if !record.kind.traced {
        return Err(Error::new(format!("--turn: a {} belongs to no turn", record.kind.name)));
    }
    let which = Select {
        trace_id: Some(record.trace_id.clone()),
        ..Select::records(vec![&MESSAGE, &ACTION], Scopes::One(record.scope.clone()))
    };
    let layout = layout.map(|layout| Layout { scopes: false, ..layout.clone() });
    let layout = layout.as_ref();
    let records = store.last_of(&which, usize::MAX)?;
    let heads = search::heads(store, &records, layout)?;
    for record in &records {
        match layout {
            Some(layout) if record.kind == &ACTION => {
                io.out.write(view::action(record, &heads, layout).as_bytes())?;
            }
            Some(layout) => io.out.write(view::record(record, &heads, layout).as_bytes())?,
            None => {
                io.out.with(|out| Record::Stored(record.clone()).write_line(VectorFormat::Numbers, out))?
            }
        }
    }
    Ok(Outcome::Yes)
}

/// Prints the last `count` of some memories that were made of messages which later ones supersede, with these. Exits with
/// 1 if there are none.
fn print_stale(
    store: &mut dyn Store,
    mut memories: Vec<StoredRecord>,
    (which, by_rule, count): (&Select, bool, usize),
    layout: Option<&Layout>,
    io: &mut Io,
) -> Result<Outcome> {
    let all: Vec<&StoredRecord> = memories.iter().collect();
    let newer = search::stale(store, &all, which, by_rule)?;
    memories.retain(|memory| newer.contains_key(&memory.id));
    let mut stale = memories.split_off(memories.len().saturating_sub(count));
    for memory in &mut stale {
        memory.members.set("newer", newer_json(&newer[&memory.id]));
    }
    if layout.is_none() {
        print_records(store, stale, None, io)?;
        return Ok(if newer.is_empty() { Outcome::No } else { Outcome::Yes });
    }
    for memory in stale {
        let id = memory.id.clone();
        print_records(store, vec![memory], layout, io)?;
        io.out.write(view::newer(&newer[&id]).as_bytes())?;
    }
    Ok(if newer.is_empty() { Outcome::No } else { Outcome::Yes })
}

/// Prints the record that has an id, between its neighbours; as text with a mark before it, and a memory with its row in
/// the table.
fn print_one(
    store: &mut dyn Store,
    id: &str,
    scopes: &Scopes,
    (context, rule): (usize, PriorRule),
    layout: Option<&Layout>,
    io: &mut Io,
) -> Result<Outcome> {
    let record = store.get(&[id], &Select::records(kinds(), scopes.clone()))?.pop();
    let Some(mut record) = record else { return Err(no_record(id)) };
    memory::derive(store, [&mut record], rule)?;
    let around = store.around(&[&record], &Select::records(kinds(), scopes.clone()), context)?.pop();
    let around = around.unwrap_or_default();
    if layout.is_some() && record.kind == &MEMORY {
        let evidence = memory::evidence(store, &[id])?.remove(id).unwrap_or_default();
        io.out.write(memory::row(&record, &evidence).as_bytes())?;
    }
    let near = around.before.iter().chain(&around.after).map(|near| &**near);
    let heads = search::heads(store, near.chain([&record]), layout)?;
    let mut print = |lead: &str, record: &StoredRecord| match layout {
        Some(layout) if context == 0 => io.out.write(view::record(record, &heads, layout).as_bytes()),
        _ => print_led(lead, record, &heads, layout, io),
    };
    around.before.iter().rev().try_for_each(|record| print("  ", record))?;
    print("> ", &record)?;
    around.after.iter().try_for_each(|record| print("  ", record))?;
    Ok(Outcome::Yes)
}

/// Prints a record as a line, or as text with a mark in front.
fn print_led(
    lead: &str,
    record: &StoredRecord,
    heads: &Heads,
    layout: Option<&Layout>,
    io: &mut Io,
) -> Result<()> {
    match layout {
        Some(layout) => io.out.write(view::led(lead, record, heads, layout).as_bytes()),
        None => io.out.with(|out| Record::Stored(record.clone()).write_line(VectorFormat::Numbers, out)),
    }
}

/// Prints all messages of the instance of the record that has an id, oldest first; as text with a mark before the record
/// itself.
fn print_conversation(
    store: &mut dyn Store,
    id: &str,
    scopes: &Scopes,
    layout: Option<&Layout>,
    io: &mut Io,
) -> Result<Outcome> {
    let record = record_of(store, id, scopes)?;
    let layout = layout.map(|layout| Layout { scopes: false, ..layout.clone() });
    let layout = layout.as_ref();
    let which = Select::messages(Scopes::One(record.scope.clone()));
    let heads = if store.count(&which, MAX_WITH_HEADS + 1)? <= MAX_WITH_HEADS {
        let messages = store.last_of(&which, MAX_WITH_HEADS)?;
        search::heads(store, &messages, layout)?
    } else {
        Heads::default()
    };
    let mut session: Option<SessionSummary> = None;
    store.walk(&Walk::records(which), &mut |message| match message.stored() {
        Some(message) => {
            session.get_or_insert_with(|| SessionSummary::new(message)).add(message);
            let lead = if message.id == record.id { "> " } else { "  " };
            print_led(lead, message, &heads, layout, io)
        }
        None => Ok(()),
    })?;
    let program = session.as_ref().and_then(|session| session.program.as_deref());
    let command = program.and_then(|program| resume_command(program, &record.scope.instance));
    if let (Some(layout), Some(command)) = (layout, command) {
        io.out.write(view::resume_line(&command, layout).as_bytes())?;
    }
    Ok(Outcome::Yes)
}

fn no_record(id: &str) -> Error {
    Error::new(format!("there is no record {id}"))
        .hint("rsv-search and rsv-view show the short ids of messages on a terminal, and their ids in a pipe")
}

/// Prints the last records of a selection, and from then on those that are stored.
fn follow(
    mut store: Box<dyn Store>,
    which: Select,
    count: usize,
    layout: Option<&Layout>,
    settings: &Settings,
    io: &mut Io,
) -> Result<Outcome> {
    let place = settings.store()?;
    // A file that is only being made is read as an empty store, and so is opened again.
    let mut is_made = place.path().is_none() || !store.scopes(None)?.is_empty();
    let (mut follower, mut records) = Follower::begin(which, count, io.clock.now(), &mut *store)?;
    loop {
        for record in &records {
            print(&mut *store, record, layout, io)?;
        }
        io.out.flush()?;
        std::thread::sleep(POLL_INTERVAL);
        if is_made {
            store.check_place()?;
        } else if place.path().is_some_and(Path::exists) {
            store = store::open(&place, OpenMode::Existing)?;
            is_made = !store.scopes(None)?.is_empty();
        }
        records = follower.next(io.clock.now(), &mut *store)?;
    }
}

/// Prints the summaries of scopes.
fn print_scopes(summaries: &[ScopeSummary], layout: Option<&Layout>, io: &mut Io) -> Result<Outcome> {
    match layout {
        Some(layout) => io.out.write(view::scopes(summaries, layout).as_bytes())?,
        None => {
            for summary in summaries {
                io.out.write((summary.to_object().to_json() + "\n").as_bytes())?;
            }
        }
    }
    Ok(Outcome::Yes)
}

/// Prints sessions, each with the command that goes on with it.
fn print_sessions(sessions: &[SessionSummary], layout: Option<&Layout>, io: &mut Io) -> Result<Outcome> {
    let programs = sessions.iter().map(|session| session.program.as_deref().unwrap_or_default());
    let commands = programs.zip(sessions);
    let commands = commands.map(|(program, session)| resume_command(program, &session.scope.instance));
    if let Some(layout) = layout {
        let commands: Vec<_> = sessions
            .iter()
            .zip(commands)
            .map(|(session, command)| command.or_else(|| ask_command(session)))
            .collect();
        io.out.write(view::sessions(sessions, &commands, layout).as_bytes())?;
        return Ok(Outcome::Yes);
    }
    for (session, command) in sessions.iter().zip(commands) {
        let mut line = session.to_object();
        for (name, text) in [("program", &session.program), ("resume", &command)] {
            if let Some(text) = text {
                line.set_text(name, text);
            }
        }
        io.out.write((line.to_json() + "\n").as_bytes())?;
    }
    Ok(Outcome::Yes)
}

/// The command that goes on with a conversation of no other program.
fn ask_command(session: &SessionSummary) -> Option<String> {
    let SessionSummary { scope, program: None, is_answered: true, .. } = session else { return None };
    let partition = shlex::try_quote(&scope.partition).ok()?;
    if scope.is_of_partition_alone() {
        return Some(format!("rsv-ask -p {partition} -c"));
    }
    Some(format!("rsv-ask -p {partition} -i {} -c", shlex::try_quote(&scope.instance).ok()?))
}

/// Prints what a commit of a session is made of.
fn print_uncommitted(store: &mut dyn Store, layout: Option<&Layout>, io: &mut Io) -> Result<Outcome> {
    let session = io.common.scope()?;
    let Uncommitted { archive, messages, more } = store::uncommitted(store, &session, MAX_COMMIT_MESSAGES)?;
    if messages.is_empty() {
        return Ok(Outcome::No);
    }
    for record in archive.into_iter().chain(messages) {
        match layout {
            Some(layout) => io.out.write(view::record(&record, &Heads::default(), layout).as_bytes())?,
            None => io.out.with(|out| Record::Stored(record).write_line(VectorFormat::Numbers, out))?,
        }
    }
    if more > 0 {
        let more = counted_verb(more as u64, "more message", ["waits", "wait"]);
        io.note(format_args!("{more} for the next commit"));
    }
    Ok(Outcome::Yes)
}

/// Prints a record; an account as text with its question and the messages that it names.
fn print(store: &mut dyn Store, record: &StoredRecord, layout: Option<&Layout>, io: &mut Io) -> Result<()> {
    let Some(layout) = layout else {
        return io.out.with(|out| Record::Stored(record.clone()).write_line(VectorFormat::Numbers, out));
    };
    if record.kind.name != ACCOUNT.name {
        let heads = search::heads(store, [record], Some(layout))?;
        return io.out.write(view::record(record, &heads, layout).as_bytes());
    }
    let scope = Scopes::One(record.scope.clone());
    let asked = Select {
        trace_id: Some(record.trace_id.clone()),
        roles: vec![Role::User],
        until: Some(record.timestamp),
        ..Select::messages(scope)
    };
    let question = store.last_of(&asked, 1)?.pop();
    let ids = enrich::ids_in_account(record);
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    // Recalled records may be of other instances.
    let partition = Scopes::Partition(record.scope.partition.clone());
    let named = store.get(&ids, &Select::records(kinds(), partition))?;
    let named = named.into_iter().map(|record| (record.id.clone(), record)).collect();
    let question = question.as_ref().map(|question| question.text.as_str());
    io.out.write(enrich::account_text(record, question, &named, layout).as_bytes())
}
