//! rsv-view: the last messages of a scope.

use clap::builder::NonEmptyStringValueParser;
use rsv::cli::{self, Common, Filter, Io, Layout, Outcome, Printing};
use rsv::config::Settings;
use rsv::error::{Error, Result};
use rsv::memory::State;
use rsv::record::{ACCOUNT, Address, MEMORY, MESSAGE, RecordKind, Scopes};
use rsv::search::{self, ScopeSource};
use rsv::show::{self, Last, TreeOptions, Viewer};
use rsv::store::{self, Select};

/// Print the last messages of a scope, oldest first
///
/// With a partition alone, all of its instances are shown; with neither, default/default is shown. The
/// messages are text on a terminal, and JSON lines in a pipe or a file. An address lists documents instead.
/// On a terminal, a memory has three lines: its title; its confidence, its uses, its signals (for and
/// against) and its outcome; and a line of its text.
#[derive(clap::Args)]
struct Args {
    /// The number of messages to print, or the address (viking://...) of a directory, whose children are
    /// listed, or of another document, which is printed [default: 10]
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
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    trace: Option<String>,
    /// Print records of these kinds: message, account, memory, document, signal, title, recall, action
    #[arg(long, value_name = "KIND,...", value_delimiter = ',', value_parser = cli::kind, conflicts_with = "accounts")]
    kind: Vec<&'static RecordKind>,
    /// With --kind memory: print memories in this state: active, archived or all
    #[arg(long, value_name = "STATE", default_value = "active", requires = "kind", value_parser = ["active", "archived", "all"], hide_possible_values = true)]
    state: String,
    /// Print the signals about this memory, or the recall rules about this message, of any scope unless -p or
    /// -i names one
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new(), conflicts_with_all = ["accounts", "trace", "role"])]
    of: Option<String>,
    /// Leave out this many of the last records
    #[arg(long, value_name = "COUNT", default_value_t = 0, hide_default_value = true)]
    offset: usize,
    /// Print the record with this id, or the first letters of its short id, of any scope unless -p or -i
    /// names one
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new(), conflicts_with_all = ["count", "limit", "role", "since", "until", "trace", "kind", "of", "offset", "accounts"])]
    id: Option<String>,
    /// With --id: print this many messages before and after it as well
    #[arg(short = 'C', long, value_name = "COUNT", requires = "id")]
    context: Option<usize>,
    /// With --id: print the whole conversation around it, which is its instance
    #[arg(long, requires = "id", conflicts_with = "context")]
    conversation: bool,
    /// With --id: print the turn that it belongs to: its messages and actions, in their order
    #[arg(long, requires = "id", conflicts_with_all = ["context", "conversation"])]
    turn: bool,
    /// Print the accounts of requests instead of messages: the recalled messages, and their cost
    #[arg(long, conflicts_with = "role")]
    accounts: bool,
    /// Also print messages as they are stored, until you press Ctrl-C
    #[arg(short, long, conflicts_with_all = ["id", "until", "state", "offset"])]
    follow: bool,
    /// Print the scopes of the store, or of -p, instead of messages: their number of messages, times and size
    #[arg(long, conflicts_with_all = ["count", "limit", "state", "of", "offset", "id", "accounts", "follow"])]
    scopes: bool,
    /// Print the sessions of the store, or of -p, instead of messages, by the time of their last messages, to
    /// which --since and --until apply
    #[arg(long, conflicts_with_all = ["count", "limit", "role", "trace", "kind", "of", "offset", "id", "accounts", "follow", "scopes"])]
    sessions: bool,
    /// Print the messages of the session -p and -i that no archive covers, after its last archive, for
    /// rsv-distill --commit; exit with 1 if there are none
    #[arg(long, conflicts_with_all = ["count", "limit", "role", "since", "until", "trace", "kind", "of", "offset", "id", "accounts", "follow", "all", "scopes", "sessions"])]
    uncommitted: bool,
    /// Read all scopes of the store
    #[arg(long, conflicts_with_all = ["partition", "instance"])]
    all: bool,
    /// Read as rsv-search does on a terminal: the partition of the project, if it has records, else all
    /// scopes
    #[arg(long, conflicts_with_all = ["partition", "instance", "scope", "all", "id", "of", "scopes", "sessions", "uncommitted"])]
    here: bool,
    #[command(flatten)]
    printing: Printing,
}

/// The parts of a tree of documents to print.
#[derive(clap::Args)]
#[group(id = "tree-options")]
struct Tree {
    /// With an address: print the document itself and everything below it
    #[arg(long, requires = "count")]
    tree: bool,
    /// With an address: descend this many levels
    #[arg(long, value_name = "LEVELS", requires = "count", conflicts_with = "stale", value_parser = clap::value_parser!(u32).range(1..))]
    depth: Option<u32>,
    /// With an address: print the texts up to this level of detail: 0 the abstract, 1 the overview, 2 the
    /// content
    #[arg(long, value_name = "LEVEL", requires = "count", value_parser = clap::value_parser!(u8).range(0..=2))]
    level: Option<u8>,
    /// With an address: print the documents that a model should describe, each after those below it. With
    /// --kind memory: print the memories made from superseded messages
    #[arg(long, conflicts_with_all = ["tree", "follow", "scopes"])]
    stale: bool,
}

impl Tree {
    fn options(&self) -> TreeOptions {
        let depth = self.depth.map(|depth| depth as usize);
        TreeOptions { whole: self.tree, depth, level: self.level, stale: self.stale }
    }
}

/// An operand of the command line.
#[derive(Clone, Debug)]
enum Operand {
    Count(usize),
    Address(String),
}

fn operand(text: &str) -> std::result::Result<Operand, String> {
    match text.parse() {
        Ok(count) => Ok(Operand::Count(count)),
        Err(_) if text.starts_with("viking://") => Ok(Operand::Address(text.to_owned())),
        Err(_) => Err("expected a number, or an address such as viking://resources".to_owned()),
    }
}

/// The records to print.
enum Mode {
    One(String),
    Turn(String),
    Conversation(String),
    Scopes,
    Sessions,
    Uncommitted,
    Tree(Address),
    Follow,
    Accounts,
    Stale,
    Block,
    Last,
}

impl Args {
    /// Errors if the format, or the flags of a tree, do not go with it.
    fn mode(&self, kinds: &[&'static RecordKind], io: &Io) -> Result<Mode> {
        let format = self.printing.format.as_deref().unwrap_or_default();
        let refuse = |words: &str, hint: &str| Err(Error::new(words).hint(hint));
        if format == "reservoir" && self.accounts {
            return refuse("--format: Reservoir has no accounts", "use --format text");
        }
        if format == "json" && self.follow {
            return refuse("--follow never ends, and an array does", "leave out --format json");
        }
        let address = match &self.count {
            Some(Operand::Address(uri)) => Some(Address::resolve(uri, &io.common.scope()?.partition)?),
            _ => None,
        };
        if address.is_some() {
            let own = ["count", "tree", "depth", "level", "stale", "here", "format", "no_pager"];
            io.refuse_flags_besides(&own, "an address")?;
        }
        if self.state != "active" && !kinds.contains(&&MEMORY) {
            return refuse("--state: only memories have one", "add --kind memory");
        }
        let stale_memories = self.tree.stale && kinds == [&MEMORY];
        if address.is_none() && !stale_memories && self.tree.options() != TreeOptions::default() {
            return Err(Error::new("--tree, --depth, --level and --stale need an address")
                .hint("such as viking://resources; --stale also goes with --kind memory"));
        }
        let mode = match (&self.id, address) {
            (Some(id), _) if self.conversation => Mode::Conversation(id.clone()),
            (Some(id), _) if self.turn => Mode::Turn(id.clone()),
            (Some(id), _) => Mode::One(id.clone()),
            _ if self.scopes => Mode::Scopes,
            _ if self.sessions => Mode::Sessions,
            _ if self.uncommitted => Mode::Uncommitted,
            (_, Some(address)) => Mode::Tree(address),
            _ if self.follow => Mode::Follow,
            _ if self.accounts => Mode::Accounts,
            _ if stale_memories => Mode::Stale,
            _ if format == "block" => return Ok(Mode::Block),
            _ => Mode::Last,
        };
        if format == "block" {
            return refuse("--format: a block is of the last records of a scope", "use --format text");
        }
        Ok(mode)
    }

    /// The kinds of records to print.
    fn kinds(&self) -> Result<Vec<&'static RecordKind>> {
        Ok(match &self.kind[..] {
            _ if self.accounts => vec![&ACCOUNT],
            kinds if self.of.is_some() => show::kinds_about(kinds).map_err(|error| error.at("--of"))?,
            [] => vec![&MESSAGE],
            kinds => kinds.to_vec(),
        })
    }

    fn read_scopes(&self, settings: &Settings, common: &mut Common) -> Result<Scopes> {
        let is_named = self.id.is_some() || self.of.is_some();
        if is_named && !self.all || self.scopes || self.sessions {
            return common.to_cover();
        }
        let source = self.here.then(|| search::scope_source_before_opening(settings, common)).transpose()?;
        common.to_read(self.all || source == Some(ScopeSource::Nothing))
    }
}

rsv::tool!(run);

fn run(args: Args, settings: Settings, io: &mut Io) -> Result<Outcome> {
    let kinds = args.kinds()?;
    let mut store = store::open_to_read(&settings, io)?;
    search::complete_instance(&mut *store, io)?;
    let scopes = args.read_scopes(&settings, &mut io.common)?;
    let mode = args.mode(&kinds, io)?;
    let is_reservoir = args.printing.format.as_deref() == Some("reservoir");
    let printing = Printing { no_pager: args.printing.no_pager || args.follow, ..args.printing };
    let shows_scopes = scopes == Scopes::All && args.of.is_none();
    let layout = io.print_as(&printing).map(|layout| Layout { scopes: shows_scopes, ..layout });
    let which = Select {
        trace_id: args.trace,
        key: args.of.map(|id| store::full_id(&mut *store, &id, &scopes)).transpose()?,
        ..Select::records(kinds, scopes.clone()).filtered(args.filter)
    };
    let limit = args.limit.unwrap_or(show::DEFAULT_COUNT);
    let count = if let Some(Operand::Count(count)) = args.count { count } else { limit };
    let state = State::named(&args.state).unwrap_or(State::Active);
    let last = Last { which, count, offset: args.offset, state };
    let mut viewer = Viewer { store, settings: &settings, layout, io };
    match mode {
        Mode::One(id) => viewer.one(&id, &scopes, args.context.unwrap_or(0)),
        Mode::Turn(id) => viewer.turn(&id, &scopes),
        Mode::Conversation(id) => viewer.conversation(&id, &scopes),
        Mode::Scopes => viewer.scopes(&last.which),
        Mode::Sessions => viewer.sessions(&last.which),
        Mode::Uncommitted => viewer.uncommitted(),
        Mode::Tree(address) => viewer.tree(&address, args.tree.options()),
        Mode::Follow => viewer.follow(last),
        Mode::Accounts => viewer.accounts(&last),
        Mode::Stale => viewer.stale(&last),
        Mode::Block => viewer.block(last),
        Mode::Last => viewer.last(&last, is_reservoir),
    }
}
