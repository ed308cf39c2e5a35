//! rsv-signal: says of memories whether they helped, and of messages whether they are recalled.

use rsv::cli::{Io, Outcome};
use rsv::config::Settings;
use rsv::error::{Error, Result};
use rsv::lines::Reader;
use rsv::memory::{self, NewSignal, PriorRule};
use rsv::recall_rules;
use rsv::record::{Clock, Object, RECALL, RecallRule, Scopes, SignalType, StoredRecord};
use rsv::search;
use rsv::store::{self, Derived, OpenMode, Store};
use rsv::view;

/// Say of memories whether they helped, were used, or led to success; or of messages whether they are recalled
///
/// With ids, each memory is printed with its new confidence, or each message. Without ids, lines of memories, messages,
/// hits and signals are read from standard input and passed on unchanged, once the signals about their memories or
/// messages are stored. An id that is no memory's, or no message's, is an error; the others are done.
#[derive(clap::Args)]
struct Args {
    /// The ids of the memories or messages, or the first letters of their short ids; without any, read lines from standard input
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    signal: Signal,
    /// Name the session in which this was found
    #[arg(long, value_name = "ID", requires = "Signal", conflicts_with_all = ["always", "never", "auto"])]
    session: Option<String>,
    /// Print the weights of the types of signals that were learnt in the partition
    #[arg(long, conflicts_with_all = ["Signal", "ids"])]
    weights: bool,
    /// Print the numbers of memories and signals, the last use, and the mean confidence
    #[arg(long, conflicts_with_all = ["Signal", "ids", "weights"])]
    stats: bool,
    /// Count all signals again, and say whether the counts differed
    #[arg(long, conflicts_with_all = ["Signal", "ids", "weights", "stats"])]
    rebuild: bool,
    /// Print in this format: jsonl or text [default: text on a terminal, else jsonl]
    #[arg(long, value_name = "FORMAT", value_parser = ["jsonl", "text"], hide_possible_values = true)]
    format: Option<String>,
}

/// The statement about the memories or messages.
#[derive(clap::Args)]
#[group(multiple = false)]
struct Signal {
    /// Say that they helped
    #[arg(long)]
    helpful: bool,
    /// Say that they did not help
    #[arg(long)]
    unhelpful: bool,
    /// Say that acting on them succeeded
    #[arg(long)]
    succeeded: bool,
    /// Say that acting on them failed
    #[arg(long)]
    failed: bool,
    /// Count a use
    #[arg(long)]
    used: bool,
    /// Recall these messages for every request
    #[arg(long)]
    always: bool,
    /// Keep these messages out of recall
    #[arg(long)]
    never: bool,
    /// Recall these messages if they are related or recent, as without --always or --never
    #[arg(long)]
    auto: bool,
}

/// The statement to store.
enum Statement {
    OfMemories(NewSignal),
    OfMessages(RecallRule),
}

impl Signal {
    /// The chosen statement, with the session in which it was found.
    fn chosen(&self, session_id: Option<String>) -> Option<Statement> {
        let rules = [
            (self.always, RecallRule::Always),
            (self.never, RecallRule::Never),
            (self.auto, RecallRule::Auto),
        ];
        if let Some((_, rule)) = rules.into_iter().find(|(is_chosen, _)| *is_chosen) {
            return Some(Statement::OfMessages(rule));
        }
        let rows = [
            (self.helpful, SignalType::Explicit, true),
            (self.unhelpful, SignalType::Explicit, false),
            (self.succeeded, SignalType::Outcome, true),
            (self.failed, SignalType::Outcome, false),
            (self.used, SignalType::Usage, true),
        ];
        let (_, signal_type, positive) = rows.into_iter().find(|(is_chosen, ..)| *is_chosen)?;
        Some(Statement::OfMemories(NewSignal { signal_type, positive, session_id }))
    }
}

impl Statement {
    /// Stores it about some records, in one transaction; returns these, `None` for an id that is none's within the scopes.
    fn store(
        &self,
        store: &mut dyn Store,
        ids: &[String],
        scopes: &Scopes,
        clock: &Clock,
    ) -> Result<Vec<Option<StoredRecord>>> {
        match self {
            Statement::OfMemories(signal) => memory::store_signals(store, ids, signal, scopes, clock),
            Statement::OfMessages(rule) => recall_rules::store_rule(store, ids, *rule, scopes, clock),
        }
    }

    /// The error for an id that is empty, as that of a variable which is not set.
    fn no_id(&self) -> Error {
        let (kind, hint) = self.kind();
        Error::new(format!("ID: the id of a {kind} is missing")).hint(hint)
    }

    /// The error for an id that is none's.
    fn not_found(&self, id: &str) -> Error {
        let (kind, hint) = self.kind();
        Error::new(format!("of: {kind} not found: {id}")).hint(hint)
    }

    /// The kind of the records, and how to list them.
    fn kind(&self) -> (&'static str, &'static str) {
        match self {
            Statement::OfMemories(_) => ("memory", "rsv-view --kind memory --all lists the memories"),
            Statement::OfMessages(_) => ("message", "rsv-view --all lists the messages"),
        }
    }

    /// The id of the record that a line is of, or about; none for other lines.
    fn id_in(&self, line: &Object) -> Result<Option<String>> {
        let (kind, about) = match self {
            Statement::OfMemories(_) => ("memory", "signal"),
            Statement::OfMessages(_) => ("message", RECALL.name),
        };
        let (line_kind, record) = (line.text("kind")?, line.text("record")?);
        match line_kind.as_deref() {
            Some("hit") if record.as_deref().unwrap_or("message") == kind => line.text("id"),
            Some(line_kind) if line_kind == kind => line.text("id"),
            Some(line_kind) if line_kind == about => line.text("of"),
            _ => Ok(None),
        }
    }
}

/// The number of lines whose signals are stored together.
const BATCH: usize = 10_000;

rsv::tool!(run);

fn run(args: Args, settings: Settings, io: &mut Io) -> Result<Outcome> {
    let is_text = args.format.as_ref().map_or_else(|| io.stdout_is_tty(), |format| format == "text");
    if args.weights || args.stats {
        let mut store = store::open_to_read(&settings, io)?;
        let object = if args.weights {
            weights(&mut *store, &io.common.scope()?.partition)?
        } else {
            let rule = PriorRule::from_settings(&settings);
            memory::stats(&mut *store, &io.common.to_cover()?, rule)?.to_object()
        };
        return print_object(&object, is_text, io);
    }
    if args.rebuild {
        let wrong = store::open(&settings.store()?, OpenMode::Create)?.repair(Derived::Tallies)?;
        io.note(if !wrong.is_empty() {
            "the counts differed, and are made again"
        } else {
            "the counts were right"
        });
        return Ok(Outcome::Yes);
    }
    let Some(statement) = args.signal.chosen(args.session) else {
        return Err(Error::new("nothing is said of the memories or messages")
            .hint("give --helpful, --unhelpful, --succeeded, --failed or --used; of messages --always, --never or --auto"));
    };
    let scopes = io.common.to_cover()?;
    if args.ids.iter().any(|id| id.trim().is_empty()) {
        return Err(statement.no_id());
    }
    if args.ids.is_empty() {
        return pass_lines(&statement, &scopes, &settings, io);
    }
    let mut store = store::open(&settings.store()?, OpenMode::Create)?;
    let ids = store::full_ids(&mut *store, &args.ids, &scopes)?;
    let stored = statement.store(&mut *store, &ids, &scopes, &io.clock)?;
    for (id, _) in args.ids.iter().zip(&stored).filter(|(_, record)| record.is_none()) {
        io.fault(&statement.not_found(id));
    }
    let records: Vec<StoredRecord> = stored.into_iter().flatten().collect();
    match statement {
        Statement::OfMemories(_) => print_memories(&mut *store, records, is_text, &settings, io),
        Statement::OfMessages(rule) => print_messages(&mut *store, &records, rule, is_text, io),
    }
}

/// Prints memories with their new confidence.
fn print_memories(
    store: &mut dyn Store,
    mut memories: Vec<StoredRecord>,
    is_text: bool,
    settings: &Settings,
    io: &mut Io,
) -> Result<Outcome> {
    memory::derive(store, &mut memories, PriorRule::from_settings(settings))?;
    let ids: Vec<&str> = memories.iter().map(|memory| memory.id.as_str()).collect();
    let evidence = if is_text { memory::evidence(store, &ids)? } else { Default::default() };
    for memory in &memories {
        if is_text {
            let evidence = evidence.get(&memory.id).copied().unwrap_or_default();
            io.out.write(memory::row(memory, &evidence).as_bytes())?;
        } else {
            print_line(memory, io)?;
        }
    }
    Ok(Outcome::Yes)
}

/// Prints messages, for people after their new rule.
fn print_messages(
    store: &mut dyn Store,
    messages: &[StoredRecord],
    rule: RecallRule,
    is_text: bool,
    io: &mut Io,
) -> Result<Outcome> {
    let layout = is_text.then(|| io.layout());
    let heads = search::heads(store, messages, layout.as_ref())?;
    for message in messages {
        match &layout {
            Some(layout) => {
                let text = view::led(&format!("{} ", rule.name()), message, &heads, layout);
                io.out.write(text.as_bytes())?;
            }
            None => print_line(message, io)?,
        }
    }
    Ok(Outcome::Yes)
}

fn print_line(record: &StoredRecord, io: &mut Io) -> Result<()> {
    io.out.with(|out| {
        record.write(out);
        out.push(b'\n');
    })
}

/// Passes lines on once what is said of their records is stored.
fn pass_lines(statement: &Statement, scopes: &Scopes, settings: &Settings, io: &mut Io) -> Result<Outcome> {
    let mut store = store::open(&settings.store()?, OpenMode::Create)?;
    let mut lines = Reader::new("<stdin>", io.stdin()?, settings.max_line());
    let mut batch: Vec<(Object, Option<String>)> = Vec::new();
    loop {
        let next = lines.next();
        let is_last = next.is_none();
        match next {
            Some(Ok(line)) => match statement.id_in(&line.object) {
                Ok(id) => batch.push((line.object, id)),
                Err(error) => io.fault(&error.at(line.location)),
            },
            Some(Err(error)) => io.fault(&error),
            None => {}
        }
        if is_last || batch.len() >= BATCH {
            store_batch(&mut *store, std::mem::take(&mut batch), statement, scopes, io)?;
        }
        if is_last {
            return Ok(Outcome::Yes);
        }
    }
}

fn store_batch(
    store: &mut dyn Store,
    batch: Vec<(Object, Option<String>)>,
    statement: &Statement,
    scopes: &Scopes,
    io: &mut Io,
) -> Result<()> {
    let ids: Vec<String> = batch.iter().filter_map(|(_, id)| id.clone()).collect();
    let stored = statement.store(store, &ids, scopes, &io.clock)?;
    for (id, _) in ids.iter().zip(&stored).filter(|(_, record)| record.is_none()) {
        io.fault(&statement.not_found(id));
    }
    for (line, _) in batch {
        io.out.with(|out| {
            line.write(out);
            out.push(b'\n');
        })?;
    }
    io.out.flush()
}

/// The weights of a partition as an object.
fn weights(store: &mut dyn Store, partition: &str) -> Result<Object> {
    let weights = memory::weights_of(store, partition)?;
    let mut object = Object::default();
    object.set_text("partition", partition);
    for (signal_type, weight) in SignalType::ALL.into_iter().zip(weights.of) {
        object.set(signal_type.name(), weight.to_string());
    }
    object.set("explicit_signals", weights.explicit_signals.to_string());
    Ok(object)
}

/// Prints an object as a line, or its members one below the other.
fn print_object(object: &Object, is_text: bool, io: &mut Io) -> Result<Outcome> {
    if is_text {
        for (name, json) in object.iter() {
            io.out.write(format!("{:<21}{}\n", name.replace('_', " "), json.trim_matches('"')).as_bytes())?;
        }
    } else {
        io.out.with(|out| {
            object.write(out);
            out.push(b'\n');
        })?;
    }
    Ok(Outcome::Yes)
}
