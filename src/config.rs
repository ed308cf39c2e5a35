//! Every setting as one row: its key, its variables, its type, its default, what it is for.
//!
//! A value comes from the highest layer that has one: the default, the file, the environment, a flag. It
//! remembers which that was. Nothing is written that nobody set.

mod edit;
mod environment;
mod file;
mod sections;
mod store;
mod table;
mod value;

pub use environment::{Places, editor, no_proxy};
pub use sections::{ModelSettings, PartitionSettings, Route};
pub use store::{Server, StorePlace};
pub use table::Key;
pub use value::{Secret, Value};

use crate::cli::{Common, Io};
use crate::error::{Error, Result};
use file::{Contents, Place};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use table::ROWS;

/// Where a value came from; the later overrules the earlier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Layer {
    Default,
    File,
    /// The variable of that name.
    Environment(&'static str),
    Flag,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layer::Default => f.pad("default"),
            Layer::File => f.pad("file"),
            Layer::Environment(variable) => f.pad(variable),
            Layer::Flag => f.pad("flag"),
        }
    }
}

/// One setting with its value, if it has one.
#[derive(Clone, Debug)]
pub struct Setting {
    key: Key,
    found: Option<(Value, Layer)>,
}

impl Setting {
    /// The key as it is written: `*` stands for the names that a file may give.
    pub fn key(&self) -> String {
        if self.found.is_none() { self.key.row().key.to_owned() } else { self.key.to_string() }
    }

    /// The value; a secret prints as `****`.
    pub fn value(&self) -> Option<&Value> {
        self.found.as_ref().map(|(value, _)| value)
    }

    /// Where the value came from.
    pub fn layer(&self) -> Option<Layer> {
        self.found.as_ref().map(|(_, layer)| *layer)
    }

    /// One line about what it is for.
    pub fn doc(&self) -> &'static str {
        self.key.row().doc
    }
}

/// All settings of one run.
#[derive(Clone, Debug)]
pub struct Settings {
    settings: Vec<Setting>,
    unknown: Vec<Error>,
    /// What other programs' variables say that cannot be, by key: trouble only for who needs it.
    foreign: Vec<(&'static str, Error)>,
}

/// The settings of a tool, of which `log` makes it tell details too. Errors name the place of a wrong value.
pub fn of(io: &mut Io) -> Result<Settings> {
    let settings = load(&io.common)?;
    if settings.verbose() {
        io.tell_details();
    }
    Ok(settings)
}

/// Reads and checks the file and the environment, and takes the flags that all tools share. The file is
/// `--config`, else `RSV_CONFIG`, else in the XDG config directory. Errors name the place of a wrong value.
pub fn load(common: &Common) -> Result<Settings> {
    let mut settings = Settings::of_defaults();
    if let Some(place) = Place::find(common)
        && let Some(text) = place.read()?
    {
        let contents = Contents::read(&place.path, &text)?;
        settings.unknown = contents.unknown;
        contents.values.into_iter().for_each(|(key, value)| settings.put(key, value, Layer::File));
    }
    for row in ROWS {
        if let Some((variable, text)) = from_environment(row)? {
            match row.kind.read(&text).map_err(|e| e.at(variable)) {
                Ok(value) => settings.put(Key::parse(row.key)?, value, Layer::Environment(variable)),
                Err(error) if is_own(variable) => {
                    let remedy = format!("correct or unset {variable}: man 5 rsv-config says what it may be");
                    return Err(error.hint(remedy));
                }
                Err(error) => settings.foreign.push((row.key, error)),
            }
        }
    }
    if let Some(store) = &common.store {
        settings.overrule("store", "--store", store)?;
    }
    Ok(settings)
}

/// Whether nobody but rsv, and Reservoir before it, reads a variable.
fn is_own(variable: &str) -> bool {
    variable.starts_with("RSV_") || variable.starts_with("RESERVOIR_")
}

/// The first of a row's variables that is set, with its text.
fn from_environment(row: &table::Row) -> Result<Option<(&'static str, String)>> {
    for variable in row.variables {
        if let Some(text) = environment::variable(variable)? {
            return Ok(Some((variable, text)));
        }
    }
    Ok(None)
}

/// Where the settings' file is, or would be.
pub fn path(common: &Common) -> Result<PathBuf> {
    Place::require(common).map(|place| place.path)
}

/// Makes an empty settings' file if there is none; where it is.
pub fn make(common: &Common) -> Result<PathBuf> {
    edit::make(common)
}

/// Where the settings' file gives a value to a key; `None` where it does not, or cannot be read.
pub fn in_file(common: &Common, key: &Key) -> Option<Value> {
    let place = Place::find(common)?;
    let contents = Contents::read(&place.path, &place.read_if_there().ok()??).ok()?;
    contents.values.into_iter().find(|(other, _)| other == key).map(|(_, value)| value)
}

/// Checks a value and writes it into the settings' file, which is made if need be; comments and order stay.
pub fn set(common: &Common, key: &Key, text: &str) -> Result<()> {
    if text.is_empty() {
        return Err(Error::new(format!("{key}: is empty")).hint(format!("rsv-config unset '{key}'")));
    }
    let value = key.row().kind.read(text).map_err(|e| e.at(key))?;
    edit::set(common, key, &value)
}

/// Takes a value out of the settings' file; what is not there need not be taken out.
pub fn unset(common: &Common, key: &Key) -> Result<()> {
    edit::unset(common, key)
}

/// The environment variable that overrules the file's value of a key, if one is set.
pub fn overruled(key: &Key) -> Option<&'static str> {
    from_environment(key.row()).ok().flatten().map(|(variable, _)| variable)
}

impl Settings {
    fn of_defaults() -> Settings {
        let setting = |(place, row): (usize, &'static table::Row)| {
            let key = Key { path: row.key.split('.').map(str::to_owned).collect(), row: place };
            let value = match row.key {
                "store" => default_store().ok().flatten().map(Value::Text),
                _ => row.default.and_then(|text| row.kind.read(text).ok()),
            };
            Setting { key, found: value.map(|value| (value, Layer::Default)) }
        };
        Settings {
            settings: ROWS.iter().enumerate().map(setting).collect(),
            unknown: Vec::new(),
            foreign: Vec::new(),
        }
    }

    /// Puts a value of a higher layer in the place of what is there.
    fn put(&mut self, key: Key, value: Value, layer: Layer) {
        let found = Some((value, layer));
        // The path of a row with a `*` holds the row's place in the list and never a value.
        let pattern = ROWS[key.row].key.contains('*');
        match self.settings.iter_mut().find(|s| !pattern && s.key == key) {
            Some(setting) => setting.found = found,
            None => self.settings.push(Setting { key, found }),
        }
    }

    /// Lets a flag of a tool (`--port`) overrule the setting `key`.
    pub fn overrule(&mut self, key: &str, flag: &str, text: &str) -> Result<()> {
        let key = Key::parse(key)?;
        let value = key.row().kind.read(text).map_err(|e| e.at(flag))?;
        self.put(key, value, Layer::Flag);
        Ok(())
    }

    /// All settings in the order of the table; a key with a `*` only as long as nobody gave it a name.
    pub fn all(&self) -> Vec<&Setting> {
        let named = |row| self.settings.iter().any(|s| s.key.row == row && s.found.is_some());
        let mut all: Vec<&Setting> =
            self.settings.iter().filter(|s| s.found.is_some() || !named(s.key.row)).collect();
        all.sort_by_key(|setting| setting.key.row);
        all
    }

    /// Where the file has keys that no tool knows, and what may be meant.
    pub fn unknown(&self) -> &[Error] {
        &self.unknown
    }

    /// Errors if another program's variable gives a key a value that cannot be: to be asked by who needs it.
    pub fn check(&self, key: &str) -> Result<()> {
        match self.foreign.iter().find(|(name, _)| *name == key) {
            Some((_, error)) => Err(Error::new(error.to_string())),
            None => Ok(()),
        }
    }

    /// What `check` would say of all keys.
    pub fn troubles(&self) -> impl Iterator<Item = &Error> {
        self.foreign.iter().map(|(_, error)| error)
    }

    /// Whether somebody set a setting that no name belongs to.
    pub fn is_set(&self, key: &str) -> bool {
        let set = self.settings.iter().filter(|s| s.layer().is_some_and(|layer| layer != Layer::Default));
        { set }.any(|setting| setting.key.row().key == key)
    }

    /// Whether the file holds a password or a key.
    pub fn has_secret_in_file(&self) -> bool {
        let of_file = |s: &&Setting| s.layer() == Some(Layer::File);
        self.settings.iter().filter(of_file).any(|setting| setting.key.is_secret())
    }

    /// The value of a key, and where it came from.
    pub fn find(&self, key: &Key) -> Option<(&Value, Layer)> {
        let setting = self.settings.iter().find(|s| s.found.is_some() && s.key.path == key.path)?;
        setting.found.as_ref().map(|(value, layer)| (value, *layer))
    }

    fn at(&self, path: &[&str]) -> Option<&Value> {
        let setting = self.settings.iter().find(|s| s.found.is_some() && s.key.path == path);
        setting.and_then(Setting::value)
    }

    fn value(&self, key: &str) -> Option<&Value> {
        debug_assert!(ROWS.iter().any(|row| row.key == key), "{key} has no row");
        let path: Vec<&str> = key.split('.').collect();
        self.at(&path)
    }

    /// Where the value of a key came from, if it has one.
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

    /// Where the store is: a path becomes `sqlite:PATH`, `neo4j` the server at `neo4j_uri`.
    pub fn store(&self) -> Result<StorePlace> {
        let address = match self.text("store") {
            Some(store) if store == "neo4j" => self.text("neo4j_uri").unwrap_or_default(),
            Some(store) if has_scheme(&store) => store,
            Some(path) => format!("sqlite:{path}"),
            None => default_store()?.ok_or_else(|| {
                Error::new("there is no place for the store: HOME is not set")
                    .hint("set HOME, XDG_DATA_HOME or RSV_STORE, or give --store PATH")
            })?,
        };
        Ok(StorePlace { address, server: Server::of(self) })
    }

    /// Where files are kept, and where ONNX Runtime's library may be.
    pub fn places(&self) -> Places {
        Places::find()
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

/// The store in the XDG data directory, if there is one.
fn default_store() -> Result<Option<String>> {
    let Some(path) = environment::xdg("XDG_DATA_HOME", ".local/share") else {
        return Ok(None);
    };
    let path = path.join("store.db").into_os_string().into_string();
    let path = path.map_err(|_| {
        Error::new("the path of the home directory is not valid UTF-8")
            .hint("set RSV_STORE, or give --store PATH")
    })?;
    Ok(Some(format!("sqlite:{path}")))
}

/// Whether a text begins as an address does (RFC 3986, 3.1): letters, digits, `+`, `-`, `.` and a colon.
fn has_scheme(text: &str) -> bool {
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_an_address_or_a_path() {
        for (given, store) in [
            ("/tmp/a.db", "sqlite:/tmp/a.db"),
            ("a.db", "sqlite:a.db"),
            ("./a:b", "sqlite:./a:b"),
            ("sqlite:/x", "sqlite:/x"),
            ("neo4j+s://h", "neo4j+s://h"),
            ("neo4j", "bolt://localhost:7687"),
        ] {
            let mut settings = Settings::of_defaults();
            settings.overrule("store", "--store", given).unwrap();
            assert_eq!(settings.store().unwrap().address, store);
        }
    }

    #[test]
    fn sections_are_read_by_name() {
        let text = r#"
            models."gpt-3.5-turbo" = { max_context_tokens = 4096, reserve_tokens = 1024 }
            [partitions.code]
            token_multiplier = 1.3
            recent_context_size = 30
            [routes."*"]
            base_url = "http://localhost:1/v1"
            [routes."qwen*"]
            base_url = "https://example.org/v1"
            key_variable = "QWEN_KEY"
        "#;
        let contents = Contents::read("c.toml".as_ref(), text).unwrap();
        let mut settings = Settings::of_defaults();
        contents.values.into_iter().for_each(|(key, value)| settings.put(key, value, Layer::File));
        let model = settings.model("gpt-3.5-turbo");
        assert_eq!((model.max_context_tokens, model.reserve_tokens), (Some(4096), Some(1024)));
        assert_eq!(settings.model("gpt-3"), ModelSettings::default());
        let partition = settings.partition("code");
        assert_eq!((partition.token_multiplier, partition.recent_context_size), (Some(1.3), Some(30)));
        let routes: Vec<String> = settings.routes().into_iter().map(|route| route.pattern).collect();
        assert_eq!(routes, ["*", "qwen*"]);
        assert_eq!(settings.routes()[1].key_variable.as_deref(), Some("QWEN_KEY"));
        assert_eq!(settings.max_line(), 32 << 20);
    }
}
