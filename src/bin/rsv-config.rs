//! rsv-config: shows, changes and checks the settings, and renames partitions.

use clap::Subcommand;
use rsv::backfill;
use rsv::cli::{self, Io, Outcome};
use rsv::config::{self, Key, Layer, Setting, Settings};
use rsv::doctor;
use rsv::embed;
use rsv::error::{Context, Error, Result};
use rsv::http;
use rsv::import::{self, HomePlaces};
use rsv::picture::Activity;
use rsv::project::Projects;
use rsv::provider::{Providers, Refusal};
use rsv::store::{self, OpenMode, Rename};
use rsv::text::counted;
use std::process::{Command, ExitCode};

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
    /// Write the first settings; without flags, ask for them
    Init(Init),
    /// Rename a partition
    #[command(arg_required_else_help = false)]
    Partition {
        #[command(subcommand)]
        action: PartitionAction,
    },
    /// Show a summary of the setup, and what to do next
    Status {
        /// Print the numbers of messages per day and recalled tokens per week: as text with small bars, or as an svg
        /// picture
        #[arg(long, value_name = "FORMAT", value_parser = ["text", "svg"], hide_possible_values = true)]
        format: Option<String>,
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

#[derive(clap::Args)]
struct Init {
    /// Use this model for requests that name none
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Download an embedding model [default: by the language of what is stored]
    #[arg(long, value_name = "MODEL", num_args = 0..=1)]
    fetch: Option<Option<String>>,
    /// Overwrite the model that the settings file has
    #[arg(long)]
    force: bool,
}

pub(crate) fn main() -> ExitCode {
    cli::main(run, rsv::complete::VALUES)
}

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
        Action::Status { format: None } => status(io),
        Action::Status { format: Some(format) } => activity(&format, io),
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

/// The setting that says what a search goes by.
const SEARCH_BY: &str = "search.by";
/// The setting that says whether secrets are kept out of the store.
const REDACT: &str = "ingest.redact";
/// The setting that says which partition is used where none is given.
const SCOPE: &str = "scope";

/// The first settings.
#[derive(Default)]
struct Choices {
    /// Each setting with its value, in the order in which they are written.
    settings: Vec<(String, String)>,
    /// The embedding model to fetch; without a name that which suits the language of what is stored.
    fetch: Option<Option<String>>,
    /// Whether settings stand without the model that was to be fetched.
    may_lack_model: bool,
}

/// Makes the first settings.
fn begin(init: &Init, io: &mut Io) -> Result<Outcome> {
    let settings = config::load_for_tool(io)?;
    let choices = match (&init.model, &init.fetch) {
        (None, None) => ask(&settings, io)?,
        _ => choose(init, &settings, io)?,
    };
    for (key, value) in &choices.settings {
        config::set(&io.common, &Key::parse(key)?, value)?;
    }
    report(&choices.settings, io)?;
    if let Some(name) = choices.fetch {
        let name = match name {
            Some(name) => name,
            None => backfill::suitable_model(&settings, io.common.to_cover()?, &io.diagnostics()).to_owned(),
        };
        match embed::fetch(&settings, &name, None, &mut (io.bytes(), io.diagnostics())) {
            Ok(id) => io.note(format_args!("{id} is installed")),
            // All else is set, and rsv searches by words without a model.
            Err(error) if choices.may_lack_model => {
                io.diagnostics().fault(&error);
                io.note(format_args!(
                    "rsv searches by words without a model; to try again, run: rsv-embed --fetch {name}"
                ));
            }
            Err(error) => return Err(error),
        }
    }
    mention_other_programs(&settings, io);
    io.note("done; to check everything that the tools need, run: rsv-config doctor");
    Ok(Outcome::Yes)
}

/// The first settings by the flags. Errors if the file has another model.
fn choose(init: &Init, settings: &Settings, io: &Io) -> Result<Choices> {
    let mut choices = Choices { fetch: init.fetch.clone(), ..Choices::default() };
    if let Some(name) = &init.model {
        let in_file = config::in_file(&io.common, &Key::parse("model")?).map(|value| value.to_string());
        if let Some(other) = in_file.filter(|other| other != name && !init.force) {
            return Err(
                Error::new(format!("model is already set to {other}")).hint("give --force to overwrite it")
            );
        }
        choices.settings.push(("model".to_owned(), name.clone()));
    }
    if !settings.is_set(REDACT) {
        choices.settings.push((REDACT.to_owned(), true.to_string()));
    }
    Ok(choices)
}

/// Asks for the first settings. Errors if there is nobody to ask, and if the input ends.
fn ask(settings: &Settings, io: &Io) -> Result<Choices> {
    if !io.can_ask() {
        return Err(Error::new("cannot ask for the settings: standard input and output must be terminals")
            .hint("rsv-config init --model MODEL --fetch"));
    }
    let mut choices = Choices { may_lack_model: true, ..Choices::default() };
    let model = ask_for_model(settings, io)?;
    let key = ask_for_key(settings, model.as_deref(), io)?;
    let has_none = embed::models(settings)?.iter().all(|model| model.installed.is_none());
    let question = "Download an embedding model (at most 110 MB) to search by meaning?";
    if has_none && io.ask_yes_or_no(question, true)? {
        choices.fetch = Some(None);
    }
    let mut set = |key: &str, value: String| choices.settings.push((key.to_owned(), value));
    if let Some(model) = model {
        set("model", model);
    }
    let question = "Search by meaning too, where you read the hits on a terminal?";
    let may_have_model = choices.fetch.is_some() || !has_none;
    if may_have_model && !settings.is_set(SEARCH_BY) && io.ask_yes_or_no(question, true)? {
        set(SEARCH_BY, "auto".to_owned());
    }
    let question = "Keep secrets (keys, tokens, passwords, card numbers) out of what is stored?";
    if !settings.is_set(REDACT) && io.ask_yes_or_no(question, true)? {
        set(REDACT, true.to_string());
    }
    let question = "Use the partition of the project you are in, where a command names none?";
    if !settings.is_set(SCOPE) && io.ask_yes_or_no(question, true)? {
        set(SCOPE, "auto".to_owned());
    }
    choices.settings.extend(key);
    Ok(choices)
}

/// Asks for the model of requests that name none, until the answer can be one; `None` if it is left as it is.
fn ask_for_model(settings: &Settings, io: &Io) -> Result<Option<String>> {
    let question = "Which model do you use, such as llama3.2, gpt-4o or claude-sonnet-4-5?";
    let there = settings.text("model").unwrap_or_default();
    loop {
        let answer = io.ask(question, &there)?;
        if is_value(&answer) {
            return Ok(Some(answer).filter(|answer| !answer.is_empty()));
        }
        io.diagnostics().fault(&Error::new(format!("{answer:?} is no name of a model")));
    }
}

/// Whether an answer can be a name or a key: a line that was typed for another question is not taken for one.
fn is_value(answer: &str) -> bool {
    cli::yes_or_no(answer).is_none() && !answer.contains(|c: char| c.is_whitespace() || c == '?')
}

/// Asks for the key of the model's provider if one is required and missing; returns its setting and the key.
fn ask_for_key(settings: &Settings, model: Option<&str>, io: &Io) -> Result<Option<(String, String)>> {
    let Some(model) = model else { return Ok(None) };
    let target = match Providers::new(settings)?.target(model) {
        Ok(target) => target,
        Err(refusal) => return Err(refusal.into_error()),
    };
    let (true, Some(variable)) = (matches!(target.own_key(), Err(Refusal::Key(_))), target.key_variable())
    else {
        return Ok(None);
    };
    let question = format!("Key for {} (not shown; leave empty to use {variable}):", target.title());
    loop {
        let key = io.ask_secret(&question)?;
        if is_value(&key) {
            return Ok(Some((format!("{}_api_key", target.name()), key)).filter(|(_, key)| !key.is_empty()));
        }
        io.diagnostics().fault(&Error::new("what was typed is no key"));
    }
}

/// Says what was set, in which file, and whether secrets are kept out of the store.
fn report(set: &[(String, String)], io: &mut Io) -> Result<()> {
    let path = config::path(&io.common)?;
    let path = path.display();
    match set {
        [] => io.note(format_args!("nothing new was set in {path}")),
        _ => io.note(format_args!("set in {path}:")),
    }
    for (key, value) in set {
        let value = if Key::parse(key)?.is_secret() { "****" } else { value };
        io.note(format_args!("  {key} = {value}"));
    }
    let settings = config::load_without_notes(io)?;
    io.note(match settings.boolean(REDACT) {
        Some(true) => "secrets are kept out of what is stored; see 'Secrets' in 'man rsv-ingest'",
        _ => "secrets are stored as they are; to keep them out, run: rsv-config set ingest.redact true",
    });
    Ok(())
}

/// Says how conversations that other programs keep come in, if there are any.
fn mention_other_programs(settings: &Settings, io: &Io) {
    let paths = settings.places();
    let Some(home) = paths.home else { return };
    let places = HomePlaces { home, moved: paths.moved, downloads: paths.downloads };
    if !import::find(&places).is_empty() {
        io.note("other programs keep conversations here; to import them, see: rsv-import --find");
    }
    if !import::session_directories(&places).is_empty() {
        io.note("to import the sessions of coding agents as they are written, run: rsv-import --watch");
    }
}
