//! The settings of a client, with an entry more. All else in them stays as it is, byte for byte.

use super::error::SetupError;
use crate::error::{Context, Error, Result, plain};
use crate::staging::StagingDir;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use toml_edit::{DocumentMut, Item, TomlError};

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

/// A mark before the text, which some editors write.
const BOM: &str = "\u{feff}";

/// The text of a file that lacks the entry, empty if there is no file; `None` if it has the entry. Errors if
/// it cannot be changed safely: it is read-only, or a link to nothing; it has faults, or comments in JSON.
pub(super) fn without_entry(file: &Path, servers: &Servers) -> Result<Option<String>> {
    let text = read(file)?;
    if has_entry(&text, servers)? {
        return Ok(None);
    }
    // A copy could take its place all the same.
    if fs::metadata(file).is_ok_and(|file| file.permissions().readonly()) {
        return Err(fault("it is read-only"));
    }
    Ok(Some(text))
}

fn fault(fault: impl Into<String>) -> Error {
    SetupError::File { fault: fault.into() }.into()
}

/// The text of a file; empty if there is none.
fn read(file: &Path) -> Result<String> {
    match fs::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound && file.is_symlink() => {
            Err(fault("it is a link to a file that is not there"))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        text => text.context(format_args!("cannot read {}", file.display())),
    }
}

/// Whether the text has the entry; JSON with faults or comments too, as far as it can be read.
fn has_entry(text: &str, servers: &Servers) -> Result<bool> {
    let text = text.strip_prefix(BOM).unwrap_or(text);
    match servers.syntax {
        Syntax::Json => match JsonPlace::find(text, servers.key) {
            Err(_) if has_path(text, [servers.key, NAME]) => Ok(true),
            place => Ok(place?.has_entry),
        },
        Syntax::Toml => toml_has_entry(text, servers.key),
    }
}

/// The text with the entry, which it lacks. Fails if its layout has no place for it.
pub(super) fn with_entry(text: &str, servers: &Servers, entry: &str) -> Result<String> {
    if let Some(text) = text.strip_prefix(BOM) {
        return Ok(format!("{BOM}{}", with_entry(text, servers, entry)?));
    }
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
        _ => Err(fault(format!("{} cannot be extended", servers.key))),
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
    // Settings of clients hold keys: a new file is the owner's alone.
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
        let not_json = |error| fault(format!("it has comments, or is not an object of JSON: {error}"));
        let whole: Members = serde_json::from_str(text).map_err(not_json)?;
        let Some(servers) = whole.get(key).map(|servers| servers.get()) else {
            return Ok(JsonPlace { at: text.find('{').map(|at| at + 1), has_key: false, has_entry: false });
        };
        let entries: Members =
            serde_json::from_str(servers).map_err(|_| fault(format!("{key} is not an object")))?;
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

/// Whether a text of JSON, which may have comments and faults, has a member of an object that is a member of
/// the whole.
fn has_path(text: &str, path: [&str; 2]) -> bool {
    // The names of the objects and lists that are open; of the whole, and of what has no name, it is empty.
    let (mut open, mut name, mut rest): (Vec<&str>, &str, &str) = (Vec::new(), "", text);
    while let Some(c) = rest.chars().next() {
        let mut after = &rest[c.len_utf8()..];
        match c {
            '/' if after.starts_with('/') => after = after.find('\n').map_or("", |end| &after[end..]),
            '/' if after.starts_with('*') => after = after.split_once("*/").map_or("", |(_, after)| after),
            '"' => {
                let string = &after[..string_length(after)];
                after = after.get(string.len() + 1..).unwrap_or_default();
                if after.trim_start().starts_with(':') {
                    name = string;
                    if name == path[1] && open == ["", path[0]] {
                        return true;
                    }
                }
            }
            '{' | '[' => open.push(std::mem::take(&mut name)),
            '}' | ']' => drop(open.pop()),
            ',' => name = "",
            _ => {}
        }
        rest = after;
    }
    false
}

/// The length of a string of JSON up to its quote, in bytes.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    let is_end = |c: char| {
        let is_end = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    };
    text.find(is_end).unwrap_or(text.len())
}

fn toml_has_entry(text: &str, key: &str) -> Result<bool> {
    let not_toml = |error: TomlError| {
        let start = error.span().map_or(0, |span| span.start);
        let line = 1 + text.bytes().take(start).filter(|byte| *byte == b'\n').count();
        fault(format!("it is not TOML: line {line}: {}", plain(error.message())))
    };
    let document: DocumentMut = text.parse().map_err(not_toml)?;
    let Some(servers) = document.get(key) else { return Ok(false) };
    let servers = servers.as_table_like().ok_or_else(|| fault(format!("{key} is not a table")))?;
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
        for (text, has) in [
            ("{// \"k\": {\"rsv\": {}}\n\"a\": \"\\\"{\", \"k\" : {\"b\": {}, /* } */ \"rsv\": {}", true),
            ("{\"k\": {// \"rsv\": {}\n}, \"rsv\": 1}", false),
            ("{\"k\": {\"b\": {\"rsv\": 1}, \"c\": [\"rsv\"]}", false),
            ("{\"a\": {\"k\": {\"rsv\": 1}}", false),
            ("{\"k\": {\"rsv", false),
        ] {
            assert_eq!(has_path(text, ["k", "rsv"]), has, "{text}");
        }
    }
}
