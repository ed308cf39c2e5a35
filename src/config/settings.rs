//! All settings of one run: the value of each key, and its layer.

use super::environment::{self, EnvironmentPaths};
use super::reservoir_file::ReservoirFile;
use super::table::{Key, ROWS, SettingRow};
use super::value::{Secret, Value};
use crate::error::{Error, Result};
use std::fmt;
use std::time::Duration;

/// The source of a value; a later one overrides an earlier one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Layer {
    Default,
    ReservoirFile,
    File,
    /// The variable of that name.
    Environment(&'static str),
    Flag,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layer::Default => f.pad("default"),
            Layer::ReservoirFile => f.pad("reservoir.toml"),
            Layer::File => f.pad("file"),
            Layer::Environment(variable) => f.pad(variable),
            Layer::Flag => f.pad("flag"),
        }
    }
}

/// One setting with its value, if it has one.
#[derive(Clone, Debug)]
pub struct Setting {
    pub(super) key: Key,
    pub(super) found: Option<(Value, Layer)>,
}

impl Setting {
    /// The key in writing: `*` stands for the names in a file.
    pub fn key(&self) -> String {
        if self.found.is_none() { self.key.row().key.to_owned() } else { self.key.to_string() }
    }

    /// The value; a secret prints as `****`.
    pub fn value(&self) -> Option<&Value> {
        self.found.as_ref().map(|(value, _)| value)
    }

    /// The source of the value.
    pub fn layer(&self) -> Option<Layer> {
        self.found.as_ref().map(|(_, layer)| *layer)
    }

    /// One line about its purpose.
    pub fn doc(&self) -> &'static str {
        self.key.row().doc
    }
}

/// All settings of one run. One with a default in the table has a value always: what callers put in its place
/// (`unwrap_or`) is never used.
#[derive(Clone, Debug)]
pub struct Settings {
    pub(super) settings: Vec<Setting>,
    pub(super) unknown: Vec<Error>,
    /// Errors in the variables of other programs, by key: they matter only to a tool that needs the key.
    pub(super) foreign: Vec<(&'static str, Error)>,
    pub(super) reservoir: Option<ReservoirFile>,
}

impl Settings {
    pub(super) fn defaults() -> Settings {
        let setting = |(place, row): (usize, &'static SettingRow)| {
            let key = Key { path: row.key.split('.').map(str::to_owned).collect(), row: place };
            let value = match row.key {
                // Without a home directory there is none, which `Settings::store` reports.
                "store" => environment::default_store().ok().flatten().map(Value::Text),
                // A test reads the defaults of all rows.
                _ => row.default.and_then(|text| row.kind.read(text).ok()),
            };
            Setting { key, found: value.map(|value| (value, Layer::Default)) }
        };
        Settings {
            settings: ROWS.iter().enumerate().map(setting).collect(),
            unknown: Vec::new(),
            foreign: Vec::new(),
            reservoir: None,
        }
    }

    /// Replaces the value of a key by that of a higher layer.
    pub(super) fn put(&mut self, key: Key, value: Value, layer: Layer) {
        let found = Some((value, layer));
        // The path of a row with a `*` holds the row's place in the list and never a value.
        let pattern = ROWS[key.row].key.contains('*');
        match self.settings.iter_mut().find(|s| !pattern && s.key == key) {
            Some(setting) => setting.found = found,
            None => self.settings.push(Setting { key, found }),
        }
    }

    /// Overrides the setting `key` by a flag of a tool (`--port`). Fails if the value is invalid.
    pub fn set_override(&mut self, key: &str, flag: &str, text: &str) -> Result<()> {
        let key = Key::parse(key)?;
        let value = key.row().kind.read(text).map_err(|e| e.at(flag))?;
        self.put(key, value, Layer::Flag);
        Ok(())
    }

    /// All settings in the order of the table; a key with a `*` only if the file has no name for it.
    pub fn all(&self) -> Vec<&Setting> {
        let named = |row| self.settings.iter().any(|s| s.key.row == row && s.found.is_some());
        let mut all: Vec<&Setting> =
            self.settings.iter().filter(|s| s.found.is_some() || !named(s.key.row)).collect();
        all.sort_by_key(|setting| setting.key.row);
        all
    }

    /// Errors for the keys in the file that no tool knows, each with a suggestion.
    pub fn unknown(&self) -> &[Error] {
        &self.unknown
    }

    /// Errors if a variable of another program gives a key an invalid value; a tool that needs the key calls
    /// this.
    pub fn check(&self, key: &str) -> Result<()> {
        match self.foreign.iter().find(|(name, _)| *name == key) {
            Some((_, error)) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// The errors of `check` for all keys.
    pub fn foreign_errors(&self) -> impl Iterator<Item = &Error> {
        self.foreign.iter().map(|(_, error)| error)
    }

    /// Reservoir's settings file, if there is one.
    pub fn reservoir_file(&self) -> Option<&ReservoirFile> {
        self.reservoir.as_ref()
    }

    /// The keys whose values come from Reservoir's file.
    pub fn keys_of_reservoir(&self) -> Vec<String> {
        let of_file = |s: &&Setting| s.layer() == Some(Layer::ReservoirFile);
        self.settings.iter().filter(of_file).map(|setting| setting.key.to_string()).collect()
    }

    /// Whether a setting that has no name in its key is set: by file, environment or flag.
    pub fn is_set(&self, key: &str) -> bool {
        let set = self.settings.iter().filter(|s| s.layer().is_some_and(|layer| layer != Layer::Default));
        { set }.any(|setting| setting.key.row().key == key)
    }

    /// Whether the file holds a password or a key.
    pub fn has_secret_in_file(&self) -> bool {
        let of_file = |s: &&Setting| s.layer() == Some(Layer::File);
        self.settings.iter().filter(of_file).any(|setting| setting.key.is_secret())
    }

    /// The value of a key, and its layer.
    pub fn find(&self, key: &Key) -> Option<(&Value, Layer)> {
        let setting = self.settings.iter().find(|s| s.found.is_some() && s.key.path == key.path)?;
        setting.found.as_ref().map(|(value, layer)| (value, *layer))
    }

    pub(super) fn at(&self, path: &[&str]) -> Option<&Value> {
        let setting = self.settings.iter().find(|s| s.found.is_some() && s.key.path == path);
        setting.and_then(Setting::value)
    }

    fn value(&self, key: &str) -> Option<&Value> {
        debug_assert!(ROWS.iter().any(|row| row.key == key), "{key} has no row");
        let path: Vec<&str> = key.split('.').collect();
        self.at(&path)
    }

    /// The source of a key's value, if it has one.
    pub fn layer(&self, key: &str) -> Option<Layer> {
        self.settings.iter().find(|setting| setting.key.to_string() == key).and_then(Setting::layer)
    }

    /// A text or an address.
    pub fn text(&self, key: &str) -> Option<String> {
        match self.value(key)? {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// A whole number, within the bounds of its row.
    pub fn integer(&self, key: &str) -> Option<i64> {
        match self.value(key)? {
            Value::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// A number, above the bound of its row.
    pub fn real(&self, key: &str) -> Option<f64> {
        match self.value(key)? {
            Value::Real(number) => Some(*number),
            _ => None,
        }
    }

    /// A share, 0 to 1.
    pub fn share(&self, key: &str) -> Option<f64> {
        match self.value(key)? {
            Value::Share(share) => Some(*share),
            _ => None,
        }
    }

    /// A yes or no.
    pub fn boolean(&self, key: &str) -> Option<bool> {
        match self.value(key)? {
            Value::Boolean(yes) => Some(*yes),
            _ => None,
        }
    }

    /// A time, at least a millisecond and at most a year.
    pub fn duration(&self, key: &str) -> Option<Duration> {
        match self.value(key)? {
            Value::Duration(time) => Some(*time),
            _ => None,
        }
    }

    /// A password or a key.
    pub fn secret(&self, key: &str) -> Option<Secret> {
        match self.value(key)? {
            Value::Secret(secret) => Some(secret.clone()),
            _ => None,
        }
    }

    /// The directories for files, and the path of ONNX Runtime's library.
    pub fn places(&self) -> EnvironmentPaths {
        EnvironmentPaths::find()
    }

    /// The longest line or text that a tool takes, in bytes.
    pub fn max_line(&self) -> usize {
        let bytes = self.integer("max_line_bytes").unwrap_or_default();
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// Whether the log setting asks for details, as `-v` does.
    pub fn verbose(&self) -> bool {
        self.text("log").is_some_and(|log| log.contains("debug") || log.contains("trace"))
    }
}
