//! rsv-config: shows, changes and checks the settings, renames partitions, and gives tokens to those who
//! share a server.

use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use rsv::access::{self, NewToken, Right};
use rsv::cli::{AuditArgs, Io, Outcome, TokenArgs};
use rsv::config::{self, Key, commands};
use rsv::doctor::commands as doctor;
use rsv::error::Result;
use rsv::setup::{self, Answers, Choice, Fetch};
use rsv::store::AuditSelection;
use rsv::{import, provider, show};

/// Show, change and check the settings
///
/// A setting comes from a flag, the environment, the settings file or its default, the first of these that
/// has it. 'rsv-config list' shows every key, its value, the value's origin, and its purpose. Quote a name
/// within a key where TOML requires it: 'models."gpt-3.5-turbo".reserve_tokens'.
#[derive(clap::Args)]
#[command(arg_required_else_help = false)]
struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand)]
enum Action {
    /// Print a value, or exit with 1 if there is none
    Get {
        /// The name of the setting
        key: String,
        /// Print the origin of the value and a tab before it
        #[arg(long)]
        show_origin: bool,
    },
    /// Write a value to the settings file
    Set {
        /// The name of the setting
        key: String,
        /// The value, or - to read it from standard input; a secret must be -
        value: String,
    },
    /// Remove a value from the settings file
    Unset {
        /// The name of the setting
        key: String,
    },
    /// Show every key, its value, the value's origin, and its purpose
    List {
        /// Show only settings that are set
        #[arg(long)]
        set: bool,
    },
    /// Open the settings file in VISUAL or EDITOR, and check it
    Edit,
    /// Print the path of the settings file
    Path,
    /// Set up rsv on this machine; without flags, ask about each step
    Init(Init),
    /// Rename a partition
    #[command(arg_required_else_help = false)]
    Partition {
        #[command(subcommand)]
        action: PartitionAction,
    },
    /// Print the audit of rsv-proxy: which token read and changed what
    Audit(AuditArgs),
    /// Make, list and revoke tokens for a shared rsv-proxy
    #[command(arg_required_else_help = false)]
    Token {
        #[command(subcommand)]
        action: TokenAction,
    },
    /// Show a summary of the setup, and what to do next
    Status {
        /// Print the numbers of messages per day and recalled tokens per week: as text with small bars, or as
        /// an svg picture
        #[arg(long, value_name = "FORMAT", value_parser = ["text", "svg"], hide_possible_values = true)]
        format: Option<String>,
        /// Print the worth of recall: turns with and without it, and how often the store's own questions find
        /// their turn
        #[arg(long, conflicts_with = "format")]
        worth: bool,
    },
    /// Check everything that the tools need, and print remedies
    Doctor {
        /// Only return the unused space of the store's file to the disk
        #[arg(long)]
        compact: bool,
        /// Only rebuild the data derived from the records of the store: indexes, marks and counts
        #[arg(long, conflicts_with = "compact")]
        repair: bool,
    },
}

#[derive(Subcommand)]
enum PartitionAction {
    /// Rename a partition in the store, in the settings file and of the projects that have it
    Rename {
        /// The name of the partition
        old: String,
        /// Its new name, which no partition of the store has
        new: String,
    },
}

#[derive(Subcommand)]
enum TokenAction {
    /// Make a token for the partitions of -p, separated by commas, in which * matches any text; print it once
    Add(Box<TokenArgs>),
    /// List the tokens: their names, states, rights and partitions
    List,
    /// Revoke a token, which is refused from then on
    Revoke {
        /// The name of the token
        name: String,
    },
}

#[derive(clap::Args)]
struct Init {
    /// Take the default of each question that no other flag answers
    #[arg(long)]
    yes: bool,
    /// Import the conversations of these programs, or of all, that 'rsv-import --find' lists
    #[arg(long, value_name = "PROGRAM,...", num_args = 0..=1, value_delimiter = ',', value_parser = programs(), hide_possible_values = true)]
    import: Option<Vec<String>>,
    /// Import nothing
    #[arg(long, conflicts_with = "import")]
    no_import: bool,
    /// Start a service that imports new sessions as they are written
    #[arg(long)]
    watch: bool,
    /// Start no service
    #[arg(long, conflicts_with = "watch")]
    no_watch: bool,
    /// Keep secrets out of the store
    #[arg(long)]
    redact: bool,
    /// Store secrets unchanged
    #[arg(long, conflicts_with = "redact")]
    no_redact: bool,
    /// Have these clients, or all that are installed, start rsv-mcp: claude, codex, zed, vscode
    #[arg(long, value_name = "CLIENT,...", num_args = 0..=1, value_delimiter = ',', value_parser = setup::CLIENTS, hide_possible_values = true)]
    mcp: Option<Vec<String>>,
    /// Change the settings of no client
    #[arg(long, conflicts_with = "mcp")]
    no_mcp: bool,
    /// Use this model for requests that name none
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Download an embedding model [default: by the language of the stored messages]
    #[arg(long, value_name = "MODEL", num_args = 0..=1)]
    fetch: Option<Option<String>>,
    /// Download no embedding model
    #[arg(long, conflicts_with = "fetch")]
    no_fetch: bool,
    /// Search by meaning too on a terminal
    #[arg(long)]
    meaning: bool,
    /// Search as before
    #[arg(long, conflicts_with = "meaning")]
    no_meaning: bool,
    /// Ask for the model even if the settings file has one, or overwrite it
    #[arg(long)]
    force: bool,
}

/// The programs whose files `rsv-import --find` finds.
fn programs() -> PossibleValuesParser {
    PossibleValuesParser::new(import::formats().iter().filter(|of| !of.places.is_empty()).map(|of| of.name))
}

impl Init {
    /// The answers that the flags give; `scope` is that of the flags that all tools share.
    fn answers(&self, scope: Option<String>) -> Answers {
        let either = |yes: bool, no: bool| (yes || no).then_some(yes);
        let choice = |names: &Option<Vec<String>>, none: bool| match names {
            Some(names) if names.is_empty() => Some(Choice::All),
            Some(names) => Some(Choice::Named(names.clone())),
            None => none.then_some(Choice::None),
        };
        let fetch = match &self.fetch {
            Some(Some(name)) => Some(Fetch::Named(name.clone())),
            Some(None) => Some(Fetch::Suitable),
            None => self.no_fetch.then_some(Fetch::No),
        };
        Answers {
            import: choice(&self.import, self.no_import),
            watch: either(self.watch, self.no_watch),
            scope,
            redact: either(self.redact, self.no_redact),
            mcp: choice(&self.mcp, self.no_mcp),
            model: self.model.clone(),
            fetch,
            meaning: either(self.meaning, self.no_meaning),
            ..Answers::default()
        }
    }
}

rsv::tool!(run, without settings);

fn run(args: Args, io: &mut Io) -> Result<Outcome> {
    let Some(action) = args.action else { return commands::summarize(io) };
    match action {
        Action::Get { key, show_origin } => commands::get(&Key::parse(&key)?, show_origin, io),
        Action::Set { key, value } => commands::set(&Key::parse(&key)?, value, io),
        Action::Unset { key } => commands::unset(&Key::parse(&key)?, io),
        Action::List { set } => commands::list(set, io),
        Action::Edit => commands::edit_file(io),
        Action::Path => commands::print_path(io),
        Action::Init(init) => setup::begin(init.answers(io.common.scope.clone()), init.yes, init.force, io),
        Action::Partition { action: PartitionAction::Rename { old, new } } => setup::rename(old, new, io),
        Action::Audit(AuditArgs { token, action, since, until }) => {
            let settings = config::load_for_tool(io)?;
            let partition = io.common.partition.clone();
            show::audit(&AuditSelection { token, partition, action, since, until }, &settings, io)
        }
        Action::Token { action: TokenAction::Add(args) } => add_token(*args, io),
        Action::Token { action: TokenAction::List } => access::commands::list(io),
        Action::Token { action: TokenAction::Revoke { name } } => access::commands::revoke(&name, io),
        Action::Status { worth: true, .. } => doctor::worth(io),
        Action::Status { format: None, .. } => doctor::status(io),
        Action::Status { format: Some(format), .. } => doctor::activity(&format, io),
        Action::Doctor { compact: true, .. } => doctor::compact(io),
        Action::Doctor { repair: true, .. } => doctor::repair(io),
        Action::Doctor { .. } => doctor::examine(io),
    }
}

/// Prints a new token, which is nowhere else.
fn add_token(args: TokenArgs, io: &mut Io) -> Result<Outcome> {
    let TokenArgs { name, rights, expires, daily_tokens, provider_keys } = args;
    let partitions = access::commands::partitions(&name, io)?;
    let rights = Right::list(&rights).map_err(|error| error.at("--rights"))?;
    let lines = if provider_keys { io.text(commands::MAX_VALUE_BYTES)? } else { String::new() };
    let keys = provider::keys_of_lines(&lines)?;
    access::commands::add(NewToken { name, partitions, rights, expires, daily_tokens, keys }, io)
}
