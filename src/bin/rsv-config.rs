//! rsv-config: shows, changes and checks the settings, renames partitions, and gives tokens to those who share a server.

use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use rsv::access::{NewToken, Right, TokenFile};
use rsv::cli::{self, Io, Outcome};
use rsv::config::{self, Key, Layer, Setting, Settings};
use rsv::doctor::{self, Worth};
use rsv::error::{Context, Error, Result};
use rsv::http;
use rsv::import;
use rsv::picture::Activity;
use rsv::project::Projects;
use rsv::provider;
use rsv::record::AuditAction;
use rsv::setup::{self, Answers, Choice, Fetch, Found, Plan};
use rsv::store::{self, AuditSelection, OpenMode, Rename};
use rsv::text::counted;
use rsv::view;
use std::process::Command;

/// Show, change and check the settings
///
/// A setting comes from a flag, else the environment, else the settings file, else its default applies.
/// 'rsv-config list' shows every key, its value, the value's origin, and its purpose. Quote a name
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
        /// The value, or - to read it from standard input; for a secret always -
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
    /// Set up what is there; without flags, ask about it
    Init(Init),
    /// Rename a partition
    #[command(arg_required_else_help = false)]
    Partition {
        #[command(subcommand)]
        action: PartitionAction,
    },
    /// Print the audit of rsv-proxy: which token read and changed what
    Audit(AuditFilter),
    /// Make, list and revoke tokens for a shared rsv-proxy
    #[command(arg_required_else_help = false)]
    Token {
        #[command(subcommand)]
        action: TokenAction,
    },
    /// Show a summary of the setup, and what to do next
    Status {
        /// Print the numbers of messages per day and recalled tokens per week: as text with small bars, or as an svg
        /// picture
        #[arg(long, value_name = "FORMAT", value_parser = ["text", "svg"], hide_possible_values = true)]
        format: Option<String>,
        /// Print what recall is worth: turns with and without it, and how often the store's own questions find their turn
        #[arg(long, conflicts_with = "format")]
        worth: bool,
    },
    /// Check everything that the tools need, and print what to do
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
    /// Make a token for the partitions of -p, separated by commas, in which * stands for any text; print it once
    Add(Box<TokenArgs>),
    /// List the tokens: their names, whether they hold, their rights and their partitions
    List,
    /// Revoke a token, which is refused from then on
    Revoke {
        /// The name of the token
        name: String,
    },
}

#[derive(clap::Args)]
struct TokenArgs {
    /// The name by which people, the log and the audit know the token
    name: String,
    /// Give these rights: read, write, forget, admin
    #[arg(long, value_name = "RIGHT,...", default_value = "read,write")]
    rights: String,
    /// Let it hold until this time: a date, RFC 3339, or a span of time from now such as 90d [default: until it is revoked]
    #[arg(long, value_name = "TIME", value_parser = cli::time_ahead)]
    expires: Option<i64>,
    /// Let it spend at most this many tokens of models a day, UTC
    #[arg(long, value_name = "COUNT")]
    daily_tokens: Option<u64>,
    /// Read keys that are sent to providers for it from standard input, a line PROVIDER=KEY each
    #[arg(long)]
    provider_keys: bool,
}

#[derive(clap::Args)]
struct AuditFilter {
    /// Select requests with the token of this name; an empty name is the owner's
    #[arg(long, value_name = "NAME")]
    token: Option<String>,
    /// Select requests that did this: read, write, forget or admin
    #[arg(long, value_name = "WORD", value_parser = audit_action)]
    action: Option<AuditAction>,
    /// Select requests from this time on: yesterday, 2d, 'last monday', a date, RFC 3339, or milliseconds since 1970
    #[arg(long, value_name = "TIME", value_parser = cli::time, allow_negative_numbers = true)]
    since: Option<i64>,
    /// Select requests up to this time
    #[arg(long, value_name = "TIME", value_parser = cli::time, allow_negative_numbers = true)]
    until: Option<i64>,
}

/// Reads `--action`.
fn audit_action(word: &str) -> std::result::Result<AuditAction, String> {
    word.parse().map_err(|_| format!("expected {}", AuditAction::NAMES))
}

#[derive(clap::Args)]
struct Init {
    /// Take the default of each question that no other flag answers
    #[arg(long)]
    yes: bool,
    /// Import the conversations of these programs, else of all, that 'rsv-import --find' lists
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
    /// Keep secrets out of what is stored
    #[arg(long)]
    redact: bool,
    /// Store secrets as they are
    #[arg(long, conflicts_with = "redact")]
    no_redact: bool,
    /// Have these clients, else all that are installed, start rsv-mcp: claude, codex, zed, vscode
    #[arg(long, value_name = "CLIENT,...", num_args = 0..=1, value_delimiter = ',', value_parser = setup::CLIENTS, hide_possible_values = true)]
    mcp: Option<Vec<String>>,
    /// Change the settings of no client
    #[arg(long, conflicts_with = "mcp")]
    no_mcp: bool,
    /// Use this model for requests that name none
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Download an embedding model [default: by the language of what is stored]
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
    /// Ask for the model although the settings file has one, or overwrite it
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
    let Some(action) = args.action else { return summarize(io) };
    match action {
        Action::Get { key, show_origin } => get(&Key::parse(&key)?, show_origin, io),
        Action::Set { key, value } => set(&Key::parse(&key)?, value, io),
        Action::Unset { key } => unset(&Key::parse(&key)?, io),
        Action::List { set } => list(set, io),
        Action::Edit => edit(io),
        Action::Path => path(io),
        Action::Init(init) => begin(&init, io),
        Action::Partition { action: PartitionAction::Rename { old, new } } => rename(old, new, io),
        Action::Audit(filter) => audit(filter, io),
        Action::Token { action: TokenAction::Add(args) } => add_token(*args, io),
        Action::Token { action: TokenAction::List } => list_tokens(io),
        Action::Token { action: TokenAction::Revoke { name } } => revoke_token(&name, io),
        Action::Status { worth: true, .. } => worth(io),
        Action::Status { format: None, .. } => status(io),
        Action::Status { format: Some(format), .. } => activity(&format, io),
        Action::Doctor { compact: true, .. } => compact(io),
        Action::Doctor { repair: true, .. } => repair(io),
        Action::Doctor { .. } => examine(io),
    }
}

fn get(key: &Key, show_origin: bool, io: &mut Io) -> Result<Outcome> {
    let settings = config::load_for_tool(io)?;
    settings.check(&key.to_string())?;
    let Some((value, layer)) = settings.find(key) else {
        return Ok(Outcome::No);
    };
    let origin = match layer {
        Layer::File => config::path(&io.common)?.display().to_string(),
        Layer::ReservoirFile => reservoir_path(&settings),
        layer => layer.to_string(),
    };
    let origin = if show_origin { format!("{origin}\t") } else { String::new() };
    io.out.write(format!("{origin}{value}\n").as_bytes())?;
    Ok(Outcome::Yes)
}

fn reservoir_path(settings: &Settings) -> String {
    settings.reservoir_file().map(|file| file.path.display().to_string()).unwrap_or_default()
}

fn set(key: &Key, mut value: String, io: &mut Io) -> Result<Outcome> {
    if value == "-" {
        value = io.text(LONGEST)?.trim_end_matches(['\n', '\r']).to_owned();
    } else if key.is_secret() {
        return Err(Error::new(format!("{key}: is a secret, and other users can see a command line"))
            .hint(format!("'rsv-config set {key} -' reads it from standard input")));
    }
    config::set(&io.common, key, &value)?;
    note_unknown(io);
    if let Some(variable) = config::overriding_variable(key) {
        io.note(format_args!("{variable} in the environment overrules the file"));
    }
    Ok(Outcome::Yes)
}

/// No value is longer, in bytes.
const LONGEST: usize = 1 << 16;

fn unset(key: &Key, io: &mut Io) -> Result<Outcome> {
    config::unset(&io.common, key)?;
    note_unknown(io);
    if let Some(variable) = config::overriding_variable(key) {
        io.note(format_args!("{variable} is still set in the environment"));
    }
    Ok(Outcome::Yes)
}

/// Tells a person of unknown keys beside the one that was written. A file with another fault can be written too.
fn note_unknown(io: &Io) {
    if let Ok(settings) = config::load(&io.common) {
        config::note_unknown(&settings, io);
    }
}

/// Writes a line for each setting, in columns that only a long value breaks.
fn list(set: bool, io: &mut Io) -> Result<Outcome> {
    let settings = config::load_without_notes(io)?;
    for error in settings.unknown() {
        io.note(error);
    }
    for error in settings.foreign_errors() {
        io.note(error);
    }
    let mut shown: Vec<&Setting> = settings.all();
    shown.retain(|setting| !set || setting.layer().is_some_and(|layer| layer != Layer::Default));
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let rows: Vec<[String; 3]> = { shown.iter() }
        .map(|setting| {
            let layer = setting.layer().map_or_else(|| "unset".to_owned(), |layer| layer.to_string());
            [setting.key(), or_dash(setting.value().map(ToString::to_string)), layer]
        })
        .collect();
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.filter(|width| *width <= 44).max().unwrap_or(0)
    };
    let (key, value, layer) = (width(0), width(1), width(2));
    for (row, setting) in rows.iter().zip(shown) {
        let line = format!("{:key$}  {:value$}  {:layer$}  {}\n", row[0], row[1], row[2], setting.doc());
        io.out.write(line.as_bytes())?;
    }
    Ok(Outcome::Yes)
}

/// Prints the settings that are set, and says where they stand and how they are changed.
fn summarize(io: &mut Io) -> Result<Outcome> {
    list(true, io)?;
    io.out.flush()?;
    let path = config::path(&io.common)?;
    let state = if path.exists() { "" } else { ", which is not written yet" };
    io.note(format_args!("the settings file is {}{state}", path.display()));
    if state.is_empty() {
        io.note("to change a setting, run: rsv-config set KEY VALUE; to see all: rsv-config list");
    } else {
        io.note("to write it, run: rsv-config init; to see every setting: rsv-config list");
    }
    Ok(Outcome::Yes)
}

/// Has the file changed by the user's editor, through the shell, since its command may hold flags.
fn edit(io: &mut Io) -> Result<Outcome> {
    let path = config::make(&io.common)?;
    let editor = config::editor();
    let name = editor.to_string_lossy().into_owned();
    let mut line = editor;
    line.push(" \"$@\"");
    let mut command = Command::new("sh");
    let ended = command.arg("-c").arg(line).arg("sh").arg(&path).status();
    let ended = ended.context(format_args!("cannot start {name}"))?;
    if !ended.success() {
        return Err(Error::new(format!("{name}: {ended}")).hint("set VISUAL or EDITOR to another editor"));
    }
    let settings = config::load_without_notes(io)?;
    settings.unknown().iter().for_each(|error| io.fault(error));
    Ok(Outcome::Yes)
}

fn path(io: &mut Io) -> Result<Outcome> {
    let path = config::path(&io.common)?;
    io.out.write(path.as_os_str().as_encoded_bytes())?;
    io.out.write(b"\n")?;
    Ok(Outcome::Yes)
}

fn status(io: &mut Io) -> Result<Outcome> {
    let settings = config::load_for_tool(io)?;
    let status = http::run(async { Ok(doctor::status(&io.common, &settings).await) })?;
    io.out.write(status.to_text().as_bytes())?;
    Ok(Outcome::Yes)
}

/// Prints what recall is worth in the selected scopes: as text for people, as JSON lines for programs.
fn worth(io: &mut Io) -> Result<Outcome> {
    let settings = config::load_for_tool(io)?;
    let scopes = io.common.to_cover()?;
    let mut store = store::open_to_read(&settings, io)?;
    let measured = Worth::measure(&mut *store, &settings, &scopes, io.clock, &io.diagnostics())?;
    let text = if io.stdout_is_tty() {
        measured.to_text()
    } else {
        measured.to_objects().iter().map(|line| line.to_json() + "\n").collect()
    };
    io.out.write(text.as_bytes())?;
    Ok(Outcome::Yes)
}

/// Prints a calendar of the messages of the selected scopes.
fn activity(format: &str, io: &mut Io) -> Result<Outcome> {
    let settings = config::load_for_tool(io)?;
    let (layout, now, scopes) = (io.layout(), io.clock.now(), io.common.to_cover()?);
    let mut store = store::open_to_read(&settings, io)?;
    let activity = Activity::read(&mut *store, &scopes, now, &layout.zone)?;
    let text = if format == "svg" { activity.to_svg() } else { activity.to_text(&layout) };
    io.out.write(text.as_bytes())?;
    Ok(Outcome::Yes)
}

/// Renames a partition. If it is interrupted, the same command goes on.
fn rename(from: String, to: String, io: &mut Io) -> Result<Outcome> {
    let settings = config::load_for_tool(io)?;
    let mut store = store::open(&settings.store()?, OpenMode::Existing)?;
    let rename = Rename { from, to };
    let Rename { from, to } = &rename;
    let count = store.rename_partition(&rename)?;
    config::rename_partition(&io.common, from, to)?;
    Projects::open(settings.places().data.as_deref())?.rename(from, to)?;
    store.end_rename(&rename)?;
    let records = counted(count as u64, "record");
    let are = if count == 1 { "is" } else { "are" };
    io.summary(format_args!("{records} of the partition {from} {are} in {to} now"));
    Ok(Outcome::Yes)
}

/// Prints the audit, the newest row last: as a table for people, as JSON lines for programs.
fn audit(filter: AuditFilter, io: &mut Io) -> Result<Outcome> {
    let settings = config::load_for_tool(io)?;
    let AuditFilter { token, action, since, until } = filter;
    let partition = io.common.partition.clone();
    let which = AuditSelection { token, partition, action, since, until };
    let mut store = store::open_to_read(&settings, io)?;
    if !io.stdout_is_tty() {
        store.visit_audit(&which, &mut |row| io.out.write((row.to_object().to_json() + "\n").as_bytes()))?;
        return Ok(Outcome::Yes);
    }
    let mut rows = Vec::new();
    store.visit_audit(&which, &mut |mut row| {
        // A row has no more of them for people than their number.
        row.records.ids = Vec::new();
        rows.push(row);
        Ok(())
    })?;
    io.out.write(view::audit(&rows, &io.layout()).as_bytes())?;
    Ok(Outcome::Yes)
}

/// Prints a new token, which is nowhere else.
fn add_token(args: TokenArgs, io: &mut Io) -> Result<Outcome> {
    let TokenArgs { name, rights, expires, daily_tokens, provider_keys } = args;
    let Some(partitions) = &io.common.partition else {
        return Err(Error::new("a token is for partitions, and none is named")
            .hint(format!("rsv-config token add {name} --partition 'team*'")));
    };
    if io.common.instance.is_some() {
        return Err(
            Error::new("a token is for whole partitions, and -i names an instance").hint("leave -i out")
        );
    }
    let partitions = partitions.split(',').map(|name| name.trim().to_owned()).collect();
    let rights = Right::list(&rights).map_err(|error| error.at("--rights"))?;
    let keys = if provider_keys { provider::keys_of_lines(&io.text(LONGEST)?)? } else { Default::default() };
    let new = NewToken { name, partitions, rights, expires, daily_tokens, keys };
    let path = TokenFile::beside(&config::path(&io.common)?);
    let now = io.clock.now();
    let (token, is_first) = TokenFile::change(&path, |file| {
        let is_first = file.tokens.is_empty();
        Ok((file.add(new, now)?, is_first))
    })?;
    io.out.write(format!("{token}\n").as_bytes())?;
    io.note("the token is shown this once; its digest is kept");
    if is_first {
        io.note("rsv-proxy answers only requests with a token from now on");
    }
    Ok(Outcome::Yes)
}

/// Prints the tokens: in columns for people, as JSON lines for programs.
fn list_tokens(io: &mut Io) -> Result<Outcome> {
    let file = TokenFile::read(&TokenFile::beside(&config::path(&io.common)?))?;
    let now = io.clock.now();
    let text = if io.stdout_is_tty() { file.to_text(now) } else { file.to_lines(now) };
    io.out.write(text.as_bytes())?;
    Ok(Outcome::Yes)
}

fn revoke_token(name: &str, io: &mut Io) -> Result<Outcome> {
    let now = io.clock.now();
    TokenFile::change(&TokenFile::beside(&config::path(&io.common)?), |file| file.revoke(name, now))?;
    io.summary(format_args!("the token {name} is revoked"));
    Ok(Outcome::Yes)
}

fn compact(io: &mut Io) -> Result<Outcome> {
    let returned = doctor::compact(&config::load_for_tool(io)?)?;
    doctor::print(&[returned], io)
}

fn repair(io: &mut Io) -> Result<Outcome> {
    let settings = config::load_for_tool(io)?;
    doctor::print(&doctor::repair(&settings), io)
}

fn examine(io: &mut Io) -> Result<Outcome> {
    let settings = config::load_without_notes(io);
    let found = http::run(async { Ok(doctor::examine(&io.common, settings, &io.diagnostics()).await) })?;
    doctor::print(&found, io)
}

/// Sets up what is there, by the flags or by answers.
fn begin(init: &Init, io: &mut Io) -> Result<Outcome> {
    // Reads no more than it must before the last answer: the project's partition would be written down.
    let settings = config::load_to_write(&io.common)?;
    config::note_unknown(&settings, io);
    let found = Found::look(&settings)?;
    let given = init.answers(io.common.scope.clone());
    let mut answers = if init.yes {
        given.or_defaults(&found, &settings)
    } else if given == Answers::default() {
        setup::ask(&found, &settings, init.force, io)?
    } else {
        given.or_redaction(&settings)
    };
    answers.force |= init.force;
    setup::apply(Plan::new(answers, found, &settings, &io.common)?, io)?;
    Ok(Outcome::Yes)
}
