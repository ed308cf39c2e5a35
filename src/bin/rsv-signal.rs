//! rsv-signal: says of memories whether they helped, and of messages whether they are recalled.

use rsv::cli::{Io, Outcome};
use rsv::config::Settings;
use rsv::error::{Error, Result};
use rsv::memory::{self, NewSignal, PriorRule};
use rsv::record::{RecallRule, SignalType};
use rsv::show;
use rsv::statement::{self, Statement};
use rsv::store::{self, Derived, OpenMode};

/// Record whether memories helped, were used, or led to success; or whether messages are recalled
///
/// With ids, each memory is printed with its new confidence, or each message. Without ids, lines of memories,
/// messages, hits and signals are read from standard input and passed on unchanged, once the signals about
/// their memories or messages are stored. An id of no memory or message is an error; the others are processed.
#[derive(clap::Args)]
struct Args {
    /// The ids of the memories or messages, or the first letters of their short ids; without any, read lines
    /// from standard input
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    signal: Signal,
    /// Name the session in which this was observed
    #[arg(long, value_name = "ID", requires = "Signal", conflicts_with_all = ["always", "never", "auto"])]
    session: Option<String>,
    /// Print the signal weights that the partition has learnt
    #[arg(long, conflicts_with_all = ["Signal", "ids"])]
    weights: bool,
    /// Print the numbers of memories and signals, the last use, and the mean confidence
    #[arg(long, conflicts_with_all = ["Signal", "ids", "weights"])]
    stats: bool,
    /// Recount all signals, and report whether the counts differed
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
    /// Record that they helped
    #[arg(long)]
    helpful: bool,
    /// Record that they did not help
    #[arg(long)]
    unhelpful: bool,
    /// Record that acting on them succeeded
    #[arg(long)]
    succeeded: bool,
    /// Record that acting on them failed
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

impl Signal {
    /// The chosen statement, with the session in which it was found.
    fn chosen(&self, session_id: Option<String>) -> Option<Statement> {
        let of_memories =
            |signal_type, positive| Statement::OfMemories(NewSignal { signal_type, positive, session_id });
        Some(match self {
            Signal { helpful: true, .. } => of_memories(SignalType::Explicit, true),
            Signal { unhelpful: true, .. } => of_memories(SignalType::Explicit, false),
            Signal { succeeded: true, .. } => of_memories(SignalType::Outcome, true),
            Signal { failed: true, .. } => of_memories(SignalType::Outcome, false),
            Signal { used: true, .. } => of_memories(SignalType::Usage, true),
            Signal { always: true, .. } => Statement::OfMessages(RecallRule::Always),
            Signal { never: true, .. } => Statement::OfMessages(RecallRule::Never),
            Signal { auto: true, .. } => Statement::OfMessages(RecallRule::Auto),
            _ => return None,
        })
    }
}

rsv::tool!(run);

fn run(args: Args, settings: Settings, io: &mut Io) -> Result<Outcome> {
    let is_text = args.format.as_ref().map_or_else(|| io.stdout_is_tty(), |format| format == "text");
    if args.weights || args.stats {
        let mut store = store::open_to_read(&settings, io)?;
        let counts = if args.weights {
            let partition = io.common.scope()?.partition;
            memory::weights_of(&mut *store, &partition)?.to_object(&partition)
        } else {
            let rule = PriorRule::from_settings(&settings);
            memory::stats(&mut *store, &io.common.to_cover()?, rule)?.to_object()
        };
        return show::members(&counts, is_text, io);
    }
    if args.rebuild {
        let wrong = store::open(&settings.store()?, OpenMode::Create)?.repair(Derived::Tallies)?;
        let are_right = wrong.is_empty();
        io.note(if are_right { "the counts were right" } else { "the counts differed, and are made again" });
        return Ok(Outcome::Yes);
    }
    let Some(statement) = args.signal.chosen(args.session) else {
        return Err(Error::new("nothing is said of the memories or messages")
            .hint("give --helpful, --unhelpful, --succeeded, --failed or --used; of messages --always, --never or --auto"));
    };
    if args.ids.is_empty() {
        return statement::pass_lines(&statement, &settings, io);
    }
    show::state(&statement, &args.ids, is_text, &settings, io)
}
