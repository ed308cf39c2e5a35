//! The settings' file: its path and its contents.

use super::environment;
use super::error::ConfigError;
use super::table::{Key, begins_key, quoted_key, unknown_key};
use super::value::Value;
use crate::cli::Common;
use crate::error::{Context, Error, Result};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use toml_edit::{Document, Item, TableLike};

/// The settings' file.
pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    /// Whether the user named it, so that it must exist.
    pub(super) named: bool,
}

impl ConfigFile {
    /// `--config`, else `RSV_CONFIG`, else the XDG config directory; nowhere without a home.
    pub(super) fn find(common: &Common) -> Option<ConfigFile> {
        if let Some(path) = common.config.clone().or_else(|| environment::path("RSV_CONFIG")) {
            return Some(ConfigFile { path, named: true });
        }
        let directory = environment::xdg("XDG_CONFIG_HOME", ".config")?;
        Some(ConfigFile { path: directory.join("config.toml"), named: false })
    }

    /// The same; an error if there is none.
    pub(super) fn require(common: &Common) -> Result<ConfigFile> {
        let help = "set HOME, XDG_CONFIG_HOME or RSV_CONFIG, or give --config FILE";
        Ok(ConfigFile::find(common).ok_or(ConfigError::NoHome { what: "the settings file", help })?)
    }

    /// The file's text; a file that the user did not name need not exist.
    pub(super) fn read(&self) -> Result<Option<String>> {
        let text = self.read_if_there()?;
        if text.is_none() && self.named {
            return Err(ConfigError::NoFile { path: self.path.clone() }.into());
        }
        Ok(text)
    }

    /// The file's text, if there is a file. Fails if it cannot be read, or is not UTF-8.
    pub(super) fn read_if_there(&self) -> Result<Option<String>> {
        let bytes = match std::fs::read(&self.path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            bytes => bytes.context(format_args!("cannot read {}", self.path.display()))?,
        };
        String::from_utf8(bytes).map(Some).map_err(|e| {
            let valid = &e.as_bytes()[..e.utf8_error().valid_up_to()];
            let text = String::from_utf8_lossy(valid);
            Error::from(ConfigError::InvalidUtf8).at(at_line(&self.path, &text, text.len()))
        })
    }
}

/// Parses the text of the file at `path`. Fails if it is not TOML, and names the line.
pub(super) fn parse<'a>(path: &Path, text: &'a str) -> Result<Document<&'a str>> {
    Document::parse(text).map_err(|e| {
        let start = e.span().map_or(0, |span| span.start);
        Error::from(ConfigError::InvalidToml { error: e }).at(at_line(path, text, start))
    })
}

/// `path:LINE` of a byte of the text.
fn at_line(path: &Path, text: &str, byte: usize) -> String {
    let before = &text.as_bytes()[..byte.min(text.len())];
    let line = 1 + before.iter().filter(|b| **b == b'\n').count();
    format!("{}:{line}", path.display())
}

/// The contents of the settings' file.
#[derive(Default)]
pub(super) struct FileContents {
    /// The settings in the file's order.
    pub(super) values: Vec<(Key, Value)>,
    /// Errors for keys that no row has: `config.toml:3: unknown key: colour`.
    pub(super) unknown: Vec<Error>,
}

impl FileContents {
    /// Reads and checks all of the file's text.
    pub(super) fn read(path: &Path, text: &str) -> Result<FileContents> {
        let mut contents = FileContents::default();
        let read = parse(path, text).and_then(|document| {
            contents.walk(path, text, &mut Vec::new(), document.as_table())?;
            contents.check_routes().map_err(|e| e.at(path.display()))
        });
        read.map(|()| contents).map_err(|error| error.or_hint("correct it with: rsv-config edit"))
    }

    fn walk(
        &mut self,
        path: &Path,
        text: &str,
        above: &mut Vec<String>,
        table: &dyn TableLike,
    ) -> Result<()> {
        for (name, item) in table.iter() {
            above.push(name.to_owned());
            match Key::from_path(above.clone()) {
                Some(key) => self.take(key, item).map_err(|e| {
                    let start = table.get_key_value(name).and_then(|(key, _)| key.span());
                    e.at(at_line(path, text, start.map_or(0, |span| span.start)))
                })?,
                None => match item.as_table_like() {
                    Some(inner) if above.len() < 4 && (!inner.is_empty() || begins_key(above)) => {
                        self.walk(path, text, above, inner)?;
                    }
                    _ => {
                        let start = item.span().map_or(0, |span| span.start);
                        let key: Vec<String> = above.iter().map(|name| quoted_key(name)).collect();
                        let place = at_line(path, text, start);
                        let key = key.join(".");
                        self.unknown.push(unknown_key(key).at(place));
                    }
                },
            }
            above.pop();
        }
        Ok(())
    }

    /// Takes one value; an empty text counts as unset, as in the environment.
    fn take(&mut self, key: Key, item: &Item) -> Result<()> {
        if item.as_str() != Some("") {
            let value = key.row().kind.read_item(item).map_err(|e| e.at(&key))?;
            self.values.push((key, value));
        }
        Ok(())
    }

    /// Errors if a route has no `base_url`.
    fn check_routes(&self) -> Result<()> {
        let has = |name: &str, member: &str| {
            self.values.iter().any(|(key, _)| key.path == ["routes", name, member])
        };
        for (key, _) in self.values.iter().filter(|(key, _)| key.path[0] == "routes") {
            if !has(&key.path[1], "base_url") {
                return Err(ConfigError::NoBaseUrl { route: quoted_key(&key.path[1]) }.into());
            }
        }
        Ok(())
    }
}
