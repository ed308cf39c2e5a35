//! The settings of a client, with an entry more. All else in them stays as it is, byte for byte.

use crate::error::{Context, Error, Result};
use crate::staging::StagingDir;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use toml_edit::{DocumentMut, Item};

/// The syntax of a file of settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Syntax {
    Json,
    Toml,
}

/// The place of the servers in a file of settings.
pub(super) struct Servers {
    pub(super) syntax: Syntax,
    /// The name of the object that has them.
    pub(super) key: &'static str,
}

/// The name of the entry.
const NAME: &str = "rsv";

/// The text of a file; empty if there is none.
pub(super) fn read(file: &Path) -> Result<String> {
    match fs::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        text => text.context(format_args!("cannot read {}", file.display())),
    }
}

/// Whether the text has the entry. Errors if it cannot be changed safely: it has faults, or comments in JSON; if that
/// names rsv, it has the entry.
pub(super) fn has_entry(text: &str, servers: &Servers) -> Result<bool> {
    match servers.syntax {
        Syntax::Json => match JsonPlace::find(text, servers.key) {
            Err(_) if text.contains(&format!("\"{NAME}\"")) => Ok(true),
            place => Ok(place?.has_entry),
        },
        Syntax::Toml => toml_has_entry(text, servers.key),
    }
}

/// The text with the entry, which it lacks.
pub(super) fn with_entry(text: &str, servers: &Servers, entry: &str) -> Result<String> {
    let new = match servers.syntax {
        Syntax::Json => JsonPlace::find(text, servers.key)?.insert(text, servers.key, entry),
        Syntax::Toml => {
            let gap = match text {
                "" => "",
                text if text.ends_with('\n') => "\n",
                _ => "\n\n",
            };
            format!("{text}{gap}[{}.{NAME}]\n{entry}", servers.key)
        }
    };
    match has_entry(&new, servers) {
        Ok(true) => Ok(new),
        _ => Err(Error::new(format!("{} cannot be extended", servers.key))),
    }
}

/// The lines to add by hand.
pub(super) fn lines_to_add(servers: &Servers, entry: &str) -> String {
    match servers.syntax {
        Syntax::Json => format!("\"{}\": {{\"{NAME}\": {entry}}}", servers.key),
        Syntax::Toml => format!("[{}.{NAME}]\n{entry}", servers.key),
    }
}

/// Replaces a file, which keeps its mode, by a copy that is whole. A link stays one.
pub(super) fn replace(file: &Path, text: &str) -> Result<()> {
    let cannot = format!("cannot write {}", file.display());
    let target = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let mode = fs::metadata(&target).map_or(0o600, |old| old.permissions().mode());
    if let Some(directory) = target.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory).context(&cannot)?;
    }
    let staging = StagingDir::beside(&target)?;
    let new = staging.path().join("file");
    let written = || {
        let mut file = File::create_new(&new)?;
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &target)
    };
    written().context(cannot)
}

/// The members of an object, each as it stands in the text.
type Members<'a> = BTreeMap<String, &'a RawValue>;

/// Where an entry belongs in a text of JSON.
struct JsonPlace {
    /// Behind the brace of the object of servers, or of the whole; `None` for a text without one.
    at: Option<usize>,
    /// Whether there is an object of servers.
    has_key: bool,
    has_entry: bool,
}

impl JsonPlace {
    fn find(text: &str, key: &str) -> Result<JsonPlace> {
        if text.trim().is_empty() {
            return Ok(JsonPlace { at: None, has_key: false, has_entry: false });
        }
        let fault = |error: serde_json::Error| {
            Error::new(format!("it has comments, or is no object of JSON: {error}"))
        };
        let whole: Members = serde_json::from_str(text).map_err(fault)?;
        let Some(servers) = whole.get(key).map(|servers| servers.get()) else {
            return Ok(JsonPlace { at: text.find('{').map(|at| at + 1), has_key: false, has_entry: false });
        };
        let entries: Members =
            serde_json::from_str(servers).map_err(|_| Error::new(format!("{key} is no object")))?;
        // The value is a part of the text.
        let at = servers.as_ptr() as usize - text.as_ptr() as usize + 1;
        Ok(JsonPlace { at: Some(at), has_key: true, has_entry: entries.contains_key(NAME) })
    }

    /// The text with the entry as the first one; it is set as the one that was first.
    fn insert(&self, text: &str, key: &str, entry: &str) -> String {
        let Some(at) = self.at else {
            return format!("{{\n  \"{key}\": {{\n    \"{NAME}\": {entry}\n  }}\n}}\n");
        };
        let (before, after) = text.split_at(at);
        let space = &after[..after.len() - after.trim_start().len()];
        let is_empty = after[space.len()..].starts_with('}');
        let new = if self.has_key {
            format!("\"{NAME}\": {entry}")
        } else {
            format!("\"{key}\": {{\"{NAME}\": {entry}}}")
        };
        if is_empty { format!("{before}{new}{after}") } else { format!("{before}{space}{new},{after}") }
    }
}

fn toml_has_entry(text: &str, key: &str) -> Result<bool> {
    let document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| Error::new(format!("it is no TOML: {error}")))?;
    let Some(servers) = document.get(key) else { return Ok(false) };
    let servers = servers.as_table_like().ok_or_else(|| Error::new(format!("{key} is no table")))?;
    Ok(servers.get(NAME).is_some_and(Item::is_table_like))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_added_and_all_else_stays() {
        for (before, after) in [
            ("", "{\n  \"k\": {\n    \"rsv\": {}\n  }\n}\n"),
            ("{}", "{\"k\": {\"rsv\": {}}}"),
            ("{\"a\":1}\n", "{\"k\": {\"rsv\": {}},\"a\":1}\n"),
            ("{\n\t\"a\": \"{\"\n}", "{\n\t\"k\": {\"rsv\": {}},\n\t\"a\": \"{\"\n}"),
            ("{\"k\": {}}", "{\"k\": {\"rsv\": {}}}"),
            (
                "{\n  \"a\": {\"k\": {}},\n  \"k\": {\n    \"b\": 1\n  }\n}\n",
                "{\n  \"a\": {\"k\": {}},\n  \"k\": {\n    \"rsv\": {},\n    \"b\": 1\n  }\n}\n",
            ),
        ] {
            let place = JsonPlace::find(before, "k").unwrap();
            assert!(!place.has_entry);
            let new = place.insert(before, "k", "{}");
            assert_eq!(new, after);
            assert!(JsonPlace::find(&new, "k").unwrap().has_entry);
        }
        for fault in ["{\"a\": 1, // why\n}", "{\"k\": []}", "[]", "{\"a\": 1", "{} {}"] {
            assert!(JsonPlace::find(fault, "k").is_err(), "{fault}");
        }
    }
}
