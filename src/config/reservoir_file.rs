//! The settings file of Reservoir, whose values hold where rsv's own has none.

use super::environment;
use super::error::ConfigError;
use super::file::parse;
use super::table::{Key, quoted_key};
use super::value::Value;
use crate::error::{Error, Result};
use std::path::PathBuf;
use toml_edit::TableLike;

/// Reservoir wrote this key by itself and never used it: a database of that name need not exist.
const UNUSED_KEY: &str = "neo4j_database";

/// The most names in a key: those of models may contain dots, and need not be quoted here.
const MAX_NAMES: usize = 8;

/// The file, and what was read from it.
#[derive(Clone, Debug)]
pub struct ReservoirFile {
    pub path: PathBuf,
    pub(super) values: Vec<(Key, Value)>,
    /// Why keys, or all of the file, are ignored; the tools work without.
    pub ignored: Vec<Error>,
}

impl ReservoirFile {
    /// Reads the file in the XDG configuration directory, if there is one.
    pub(super) fn read() -> Option<ReservoirFile> {
        let directory = environment::xdg_base("XDG_CONFIG_HOME", ".config")?;
        let path = directory.join("reservoir").join("reservoir.toml");
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => Ok(text),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return None,
            Err(e) => Err(ConfigError::Unreadable { source: e }.into()),
        };
        let mut file = ReservoirFile { path, values: Vec::new(), ignored: Vec::new() };
        if let Err(error) = text.and_then(|text| file.take_all(&text)) {
            file.ignored.push(error);
        }
        Some(file)
    }

    fn take_all(&mut self, text: &str) -> Result<()> {
        let document = parse(&self.path, text)?;
        self.walk(&mut Vec::new(), document.as_table());
        Ok(())
    }

    fn walk(&mut self, above: &mut Vec<String>, table: &dyn TableLike) {
        for (name, item) in table.iter() {
            above.push(name.to_owned());
            match (known_key(above), item.as_table_like()) {
                (Some(key), _) if key.row().key == UNUSED_KEY || item.as_str() == Some("") => {}
                (Some(key), _) => match key.row().kind.read_item(item) {
                    Ok(value) => self.values.push((key, value)),
                    Err(error) => self.ignored.push(error.at(&key)),
                },
                (None, Some(inner)) if above.len() < MAX_NAMES => self.walk(above, inner),
                (None, _) => {
                    let key: Vec<String> = above.iter().map(|name| quoted_key(name)).collect();
                    self.ignored.push(ConfigError::UnknownKey { key: key.join(".") }.into());
                }
            }
            above.pop();
        }
    }
}

/// The key of a path; in `[models.gpt-3.5-turbo]`, the dot belongs to the name.
fn known_key(path: &[String]) -> Option<Key> {
    let joined = || match path {
        [section, name @ .., member] if name.len() > 1 => {
            Key::from_path(vec![section.clone(), name.join("."), member.clone()])
        }
        _ => None,
    };
    Key::from_path(path.to_vec()).or_else(joined)
}
