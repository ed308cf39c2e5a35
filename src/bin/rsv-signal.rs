//! rsv-signal: says of memories whether they helped.

use rsv::cli::{self, Io, Outcome};
use rsv::config::{self, Settings};
use rsv::error::{Error, Result};
use rsv::lines::Reader;
use rsv::memory::{self, NewSignal, PriorRule};
use rsv::record::{Object, Scopes, SignalType, StoredRecord};
use rsv::store::{self, Derived, OpenMode, Store};
use std::process::ExitCode;

/// Say of memories whether they helped, were used, or led to success
///
/// With ids, each memory is printed with its new confidence. Without ids, lines of memories, hits and signals are read
/// from standard input and passed on unchanged, once the signals about their memories are stored. An id that is no
/// memory's is an error; the others are done.
#[derive(clap::Args)]
struct Args {
    /// The ids of the memories, or the first letters of their short ids; without any, read lines from standard input
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    signal: Signal,
    /// Name the session in which this was found
    #[arg(long, value_name = "ID", requires = "Signal")]
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

/// The signal about the memories.
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
}

impl Signal {
    /// The type of the signal, and whether it is positive.
    fn chosen(&self) -> Option<(SignalType, bool)> {
        let rows = [
            (self.helpful, SignalType::Explicit, true),
            (self.unhelpful, SignalType::Explicit, false),
            (self.succeeded, SignalType::Outcome, true),
            (self.failed, SignalType::Outcome, false),
            (self.used, SignalType::Usage, true),
        ];
        rows.into_iter()
            .find_map(|(is_chosen, signal_type, positive)| is_chosen.then_some((signal_type, positive)))
    }
}

/// The number of lines whose signals are stored together.
const BATCH: usize = 10_000;

#[global_allocator]
static ALLOCATOR: cli::ReportingAllocator = cli::ReportingAllocator;

fn main() -> ExitCode {
    cli::main(run, rsv::complete::VALUES)
}

fn run(args: Args, io: &mut Io) -> Result<Outcome> {
    let settings = config::load_for_tool(io)?;
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
    let Some((signal_type, positive)) = args.signal.chosen() else {
        return Err(Error::new("nothing is said of the memories")
            .hint("give --helpful, --unhelpful, --succeeded, --failed or --used"));
    };
    let signal = NewSignal { signal_type, positive, session_id: args.session };
    let scopes = io.common.to_cover()?;
    if args.ids.is_empty() {
        return pass_lines(&signal, &scopes, &settings, io);
    }
    let mut store = store::open(&settings.store()?, OpenMode::Create)?;
    let ids = store::full_ids(&mut *store, &args.ids, &scopes)?;
    let stored = memory::store_signals(&mut *store, &ids, &signal, &scopes, &io.clock)?;
    for (id, _) in args.ids.iter().zip(&stored).filter(|(_, memory)| memory.is_none()) {
        io.fault(&not_found(id));
    }
    let mut memories: Vec<StoredRecord> = stored.into_iter().flatten().collect();
    memory::derive(&mut *store, &mut memories, PriorRule::from_settings(&settings))?;
    let ids: Vec<&str> = memories.iter().map(|memory| memory.id.as_str()).collect();
    let evidence = if is_text { memory::evidence(&mut *store, &ids)? } else { Default::default() };
    for memory in &memories {
        if is_text {
            let evidence = evidence.get(&memory.id).copied().unwrap_or_default();
            io.out.write(memory::row(memory, &evidence).as_bytes())?;
        } else {
            io.out.with(|out| {
                memory.write(out);
                out.push(b'\n');
            })?;
        }
    }
    Ok(Outcome::Yes)
}

fn not_found(id: &str) -> Error {
    Error::new(format!("of: memory not found: {id}")).hint("rsv-view --kind memory --all lists the memories")
}

/// Passes lines on once the signals about their memories are stored.
fn pass_lines(signal: &NewSignal, scopes: &Scopes, settings: &Settings, io: &mut Io) -> Result<Outcome> {
    let mut store = store::open(&settings.store()?, OpenMode::Create)?;
    let mut lines = Reader::new("<stdin>", io.stdin()?, settings.max_line());
    let mut batch: Vec<(Object, Option<String>)> = Vec::new();
    loop {
        let next = lines.next();
        let is_last = next.is_none();
        match next {
            Some(Ok(line)) => match memory_of(&line.object) {
                Ok(id) => batch.push((line.object, id)),
                Err(error) => io.fault(&error.at(line.location)),
            },
            Some(Err(error)) => io.fault(&error),
            None => {}
        }
        if is_last || batch.len() >= BATCH {
            store_batch(&mut *store, std::mem::take(&mut batch), signal, scopes, io)?;
        }
        if is_last {
            return Ok(Outcome::Yes);
        }
    }
}

/// The id of the memory that a line is of, or about; none for other lines.
fn memory_of(line: &Object) -> Result<Option<String>> {
    match (line.text("kind")?.as_deref(), line.text("record")?.as_deref()) {
        (Some("memory"), _) | (Some("hit"), Some("memory")) => line.text("id"),
        (Some("signal"), _) => line.text("of"),
        _ => Ok(None),
    }
}

fn store_batch(
    store: &mut dyn Store,
    batch: Vec<(Object, Option<String>)>,
    signal: &NewSignal,
    scopes: &Scopes,
    io: &mut Io,
) -> Result<()> {
    let ids: Vec<String> = batch.iter().filter_map(|(_, id)| id.clone()).collect();
    let stored = memory::store_signals(store, &ids, signal, scopes, &io.clock)?;
    for (id, _) in ids.iter().zip(&stored).filter(|(_, memory)| memory.is_none()) {
        io.fault(&not_found(id));
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
