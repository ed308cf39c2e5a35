//! Every setting as one row: its key, its variables, its type, its default, its purpose.
//!
//! A value comes from the highest layer that has one: the default, Reservoir's file, the file, the
//! environment, a flag. It remembers its layer. Only values that the user sets are written.

pub mod commands;
mod edit;
mod environment;
mod error;
mod file;
mod reservoir_file;
mod sections;
mod settings;
mod store;
mod table;
mod value;

pub use environment::{EnvironmentPaths, editor, locale, no_proxy, working_directory};
pub use error::ConfigError;
pub use reservoir_file::ReservoirFile;
pub use sections::{ModelSettings, PartitionSettings, Route, StoredActions};
pub use settings::{Layer, Setting, Settings};
pub use store::{ServerOptions, StoreLocation};
pub use table::Key;
pub use value::{Secret, Value, parse_duration};

use crate::cli::{Common, Io};
use crate::error::Result;
use crate::project::Projects;
use file::{ConfigFile, FileContents};
use std::path::PathBuf;
use table::ROWS;

/// The settings of a tool. The setting `log` may turn on details. A person is told of unknown keys in the
/// file. Errors name the place of a wrong value.
pub fn load_for_tool(io: &mut Io) -> Result<Settings> {
    let settings = load_without_notes(io)?;
    note_unknown(&settings, io);
    Ok(settings)
}

/// Tells a person of unknown keys in the file, in one line.
pub fn note_unknown(settings: &Settings, io: &Io) {
    let Some((first, others)) = settings.unknown().split_first() else { return };
    let remedy = first.remedy().map(|remedy| format!("; {remedy}")).unwrap_or_default();
    let others = match others.len() {
        0 => String::new(),
        count => format!("; {count} more: rsv-config doctor"),
    };
    io.summary(format_args!("{first}{remedy}{others}"));
}

/// The same for a tool that reports unknown keys itself. Fails as `load` does.
pub fn load_without_notes(io: &mut Io) -> Result<Settings> {
    let settings = load(&io.common)?;
    if settings.verbose() {
        io.print_details();
    }
    choose_partition(&settings, &mut io.common)?;
    Ok(settings)
}

/// Takes the partition from the working directory, if the flag or the settings say so.
fn choose_partition(settings: &Settings, common: &mut Common) -> Result<()> {
    let is_flag = common.scope.is_some();
    let how = common.scope.clone().or_else(|| settings.text("scope"));
    if common.partition.is_some() || how.as_deref() != Some("auto") {
        return Ok(());
    }
    let directory = environment::working_directory()?;
    let partition = Projects::open(settings.places().data.as_deref())?.partition(&directory)?;
    *(if is_flag { &mut common.partition } else { &mut common.project }) = Some(partition);
    Ok(())
}

/// The partition of the flags, or of the project if the settings say so, for a completion; `None` for the
/// default.
pub fn partition_without_writing(settings: &Settings, common: &Common) -> Option<String> {
    let how = common.scope.clone().or_else(|| settings.text("scope"));
    if common.partition.is_some() || how.as_deref() != Some("auto") {
        return common.partition.clone();
    }
    // A completion cannot report a fault; the command that is completed does.
    let directory = environment::working_directory().ok()?;
    let projects = Projects::open(settings.places().data.as_deref()).ok()?;
    projects.without_writing().partition(&directory).ok()
}

/// Reads and checks the file and the environment, and takes the flags that all tools share. The file is
/// `--config`, else `RSV_CONFIG`, else in the XDG config directory, where Reservoir's is read too. Errors
/// name the place of a wrong value.
pub fn load(common: &Common) -> Result<Settings> {
    load_with(ConfigFile::read, common)
}

/// The same where the file that the user names need not exist, since it is about to be written. Else fails as
/// `load`.
pub fn load_to_write(common: &Common) -> Result<Settings> {
    load_with(ConfigFile::read_if_there, common)
}

fn load_with(read: fn(&ConfigFile) -> Result<Option<String>>, common: &Common) -> Result<Settings> {
    let mut settings = Settings::defaults();
    let file = ConfigFile::find(common);
    // A file that the user names is the only one.
    settings.reservoir = ReservoirFile::read().filter(|_| file.as_ref().is_none_or(|file| !file.named));
    let values = settings.reservoir.as_ref().map(|file| file.values.clone());
    for (key, value) in values.into_iter().flatten() {
        settings.put(key, value, Layer::ReservoirFile);
    }
    if let Some(file) = file
        && let Some(text) = read(&file)?
    {
        let contents = FileContents::read(&file.path, &text)?;
        settings.unknown = contents.unknown;
        for (key, value) in contents.values {
            settings.put(key, value, Layer::File);
        }
    }
    for row in ROWS {
        if let Some((variable, text)) = from_environment(row)? {
            match row.kind.read(&text).map_err(|e| e.at(variable)) {
                Ok(value) => settings.put(Key::parse(row.key)?, value, Layer::Environment(variable)),
                Err(error) if is_own(variable) => {
                    let remedy =
                        format!("correct or unset {variable}; see 'man 5 rsv-config' for its values");
                    return Err(error.hint(remedy));
                }
                Err(error) => settings.foreign.push((row.key, error)),
            }
        }
    }
    if let Some(store) = &common.store {
        settings.set_override("store", "--store", store)?;
    }
    Ok(settings)
}

/// Whether only rsv, and Reservoir before it, read a variable.
fn is_own(variable: &str) -> bool {
    variable.starts_with("RSV_") || variable.starts_with("RESERVOIR_")
}

/// The first of a row's variables that is set, with its text.
fn from_environment(row: &table::SettingRow) -> Result<Option<(&'static str, String)>> {
    for variable in row.variables {
        if let Some(text) = environment::variable(variable)? {
            return Ok(Some((variable, text)));
        }
    }
    Ok(None)
}

/// The flags by which another process, which has another environment, finds the same settings and the same
/// store; none if it finds them by itself.
pub fn flags_of_places(common: &Common, settings: &Settings) -> Vec<String> {
    let mut flags = Vec::new();
    if let Some(file) = ConfigFile::find(common).filter(|file| file.named) {
        // A file that is not made yet has no links to follow.
        let path = file.path.canonicalize().or_else(|_| std::path::absolute(&file.path));
        let path = path.unwrap_or(file.path);
        flags.extend(["--config".to_owned(), path.display().to_string()]);
    }
    let is_of_process = matches!(settings.layer("store"), Some(Layer::Flag | Layer::Environment(_)));
    if let Some(store) = settings.store().ok().filter(|_| is_of_process) {
        let path = store.path().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
        let address = path.map_or(store.address, |path| format!("sqlite:{}", path.display()));
        flags.extend(["--store".to_owned(), address]);
    }
    flags
}

/// The path of the settings' file, which need not exist. Fails if no home directory is known.
pub fn path(common: &Common) -> Result<PathBuf> {
    ConfigFile::require(common).map(|file| file.path)
}

/// Creates an empty settings' file if the user names one that is not there. Fails if it cannot be written.
pub fn make_named(common: &Common) -> Result<()> {
    match ConfigFile::find(common).filter(|file| file.named) {
        Some(_) => edit::create_empty(common).map(drop),
        None => Ok(()),
    }
}

/// Creates an empty settings' file if there is none, and returns its path. Fails if it cannot be written.
pub fn make(common: &Common) -> Result<PathBuf> {
    edit::create_empty(common)
}

/// The value of a key in the settings file; `None` if it has none, or cannot be read.
pub fn in_file(common: &Common, key: &Key) -> Option<Value> {
    let file = ConfigFile::find(common)?;
    let contents = FileContents::read(&file.path, &file.read_if_there().ok()??).ok()?;
    contents.values.into_iter().find(|(other, _)| other == key).map(|(_, value)| value)
}

/// Checks a value and writes it into the settings' file, which is created if needed; comments and order stay.
/// Fails if the value is invalid, or the file cannot be read, parsed or written.
pub fn set(common: &Common, key: &Key, text: &str) -> Result<()> {
    if text.is_empty() {
        return Err(ConfigError::Empty { key: key.to_string() }.into());
    }
    let value = key.row().kind.read(text).map_err(|e| e.at(key))?;
    edit::set(common, key, &value)
}

/// Removes a value from the settings file, if it has one. Fails if it cannot be parsed or written.
pub fn unset(common: &Common, key: &Key) -> Result<()> {
    edit::unset(common, key)
}

/// Has the settings of a partition in the settings file follow its new name, unless the file has them under
/// that too.
pub fn rename_partition(common: &Common, from: &str, to: &str) -> Result<()> {
    let Some(file) = ConfigFile::find(common) else { return Ok(()) };
    let Some(text) = file.read_if_there()? else { return Ok(()) };
    let contents = FileContents::read(&file.path, &text)?;
    for (key, value) in &contents.values {
        let Some(renamed) = key.of_partition(from, to) else { continue };
        if !contents.values.iter().any(|(other, _)| *other == renamed) {
            edit::set(common, &renamed, value)?;
        }
        edit::unset(common, key)?;
    }
    Ok(())
}

/// The environment variable that overrides the file's value of a key, if one is set.
pub fn overriding_variable(key: &Key) -> Option<&'static str> {
    // An invalid value overrides nothing: every tool that reads the settings refuses it.
    from_environment(key.row()).ok().flatten().map(|(variable, _)| variable)
}
