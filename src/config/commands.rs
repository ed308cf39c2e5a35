//! The commands by which people show and change the settings.

use super::error::ConfigError;
use super::{
    Key, Layer, Setting, Settings, editor, load, load_for_tool, load_without_notes, make, note_unknown,
};
use super::{overriding_variable, path};
use crate::cli::{Io, Outcome};
use crate::error::{Context, Result};
use std::process::Command;

/// No value is longer, in bytes.
pub const MAX_VALUE_BYTES: usize = 1 << 16;

/// Prints the value of a setting, with `show_origin` after its origin and a tab. No if it has none.
pub fn get(key: &Key, show_origin: bool, io: &mut Io) -> Result<Outcome> {
    let settings = load_for_tool(io)?;
    settings.check(&key.to_string())?;
    let Some((value, layer)) = settings.find(key) else {
        return Ok(Outcome::No);
    };
    let origin = match layer {
        Layer::File => path(&io.common)?.display().to_string(),
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

/// Writes a value to the settings file; `-` reads it from standard input.
pub fn set(key: &Key, mut value: String, io: &mut Io) -> Result<Outcome> {
    if value == "-" {
        value = io.text(MAX_VALUE_BYTES)?.trim_end_matches(['\n', '\r']).to_owned();
    } else if key.is_secret() {
        return Err(ConfigError::OnCommandLine { key: key.to_string() }.into());
    }
    super::set(&io.common, key, &value)?;
    note_unknown_of_file(io);
    if let Some(variable) = overriding_variable(key) {
        io.note(format_args!("{variable} in the environment overrules the file"));
    }
    Ok(Outcome::Yes)
}

/// Removes a value from the settings file.
pub fn unset(key: &Key, io: &mut Io) -> Result<Outcome> {
    super::unset(&io.common, key)?;
    note_unknown_of_file(io);
    if let Some(variable) = overriding_variable(key) {
        io.note(format_args!("{variable} is still set in the environment"));
    }
    Ok(Outcome::Yes)
}

/// Tells a person of unknown keys beside the one that was written. A file with another fault can be written
/// too.
fn note_unknown_of_file(io: &Io) {
    if let Ok(settings) = load(&io.common) {
        note_unknown(&settings, io);
    }
}

/// Writes a line for each setting, in columns that only a long value breaks.
pub fn list(set: bool, io: &mut Io) -> Result<Outcome> {
    let settings = load_without_notes(io)?;
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
pub fn summarize(io: &mut Io) -> Result<Outcome> {
    list(true, io)?;
    io.out.flush()?;
    let path = path(&io.common)?;
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
pub fn edit_file(io: &mut Io) -> Result<Outcome> {
    let path = make(&io.common)?;
    let editor = editor();
    let name = editor.to_string_lossy().into_owned();
    let mut line = editor;
    line.push(" \"$@\"");
    let mut command = Command::new("sh");
    let ended = command.arg("-c").arg(line).arg("sh").arg(&path).status();
    let ended = ended.context(format_args!("cannot start {name}"))?;
    if !ended.success() {
        return Err(ConfigError::Editor { name, ended }.into());
    }
    let settings = load_without_notes(io)?;
    settings.unknown().iter().for_each(|error| io.fault(error));
    Ok(Outcome::Yes)
}

/// Prints the path of the settings file.
pub fn print_path(io: &mut Io) -> Result<Outcome> {
    let path = path(&io.common)?;
    io.out.write(path.as_os_str().as_encoded_bytes())?;
    io.out.write(b"\n")?;
    Ok(Outcome::Yes)
}
