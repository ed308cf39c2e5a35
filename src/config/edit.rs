//! Changes of the settings' file, which leave all else in it as it was.
//!
//! A change is made in the text, at the span that the parser reports; toml_edit's own tables are used only
//! where a change of the text would not suffice. The result is parsed again before it is written.

use super::error::ConfigError;
use super::file::{ConfigFile, parse};
use super::table::{Key, quoted_key};
use super::value::Value;
use crate::cli::Common;
use crate::error::{Context, Error, Result};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use toml_edit::{Document, DocumentMut, Item, TableLike};

/// Makes an empty file if there is none. Fails if it cannot be written.
pub(super) fn create_empty(common: &Common) -> Result<PathBuf> {
    let file = ConfigFile::require(common)?;
    let target = resolve_links(&file.path)?;
    if !target.exists() {
        create_directory(&target)?;
        write_atomically(&target, "")?;
    }
    Ok(file.path)
}

fn create_directory(target: &Path) -> Result<()> {
    let directory = directory(target);
    let created = DirBuilder::new().recursive(true).mode(0o700).create(directory);
    created
        .context(format_args!("cannot create {}", directory.display()))
        .map_err(|e| e.hint("check the permissions, or name another file with --config"))
}

/// Writes a value into the file, which is made if need be. Fails if the file cannot be read, parsed or
/// written, or its layout leaves no place for the key.
pub(super) fn set(common: &Common, key: &Key, value: &Value) -> Result<()> {
    let file = ConfigFile::require(common)?;
    let target = resolve_links(&file.path)?;
    create_directory(&target)?;
    let _lock = lock(directory(&target));
    let text = file.read_if_there()?.unwrap_or_default();
    let value = value.to_toml().to_string();
    let new = with_value(&parse(&file.path, &text)?, key, value.trim())?;
    let kept = lookup(parse(&file.path, &new)?.as_table(), &key.path).is_some();
    if !kept { Err(layout_error(&file, key)) } else { write_atomically(&target, &new) }
}

/// Takes a value out of the file. Fails as `set` does.
pub(super) fn unset(common: &Common, key: &Key) -> Result<()> {
    let file = ConfigFile::require(common)?;
    let target = resolve_links(&file.path)?;
    let _lock = lock(directory(&target));
    let Some(text) = file.read()? else {
        return Ok(());
    };
    let Some(new) = without_value(&parse(&file.path, &text)?, key) else {
        return Ok(());
    };
    let removed = lookup(parse(&file.path, &new)?.as_table(), &key.path).is_none();
    if !removed { Err(layout_error(&file, key)) } else { write_atomically(&target, &new) }
}

/// The error for a file whose layout does not allow the change.
fn layout_error(file: &ConfigFile, key: &Key) -> Error {
    ConfigError::Layout { path: file.path.clone(), key: key.to_string() }.into()
}

/// The text with the value set.
fn with_value(document: &Document<&str>, key: &Key, value: &str) -> Result<String> {
    let text = document.raw();
    let path = &key.path;
    if let Some((_, item)) = lookup(document.as_table(), path) {
        let span = item.span().filter(|_| item.is_value());
        let span = span
            .ok_or_else(|| ConfigError::Invalid { of: key.to_string(), fault: "is a section of the file" })?;
        return Ok(splice(text, span, value));
    }
    let (parents, name) = path.split_at(path.len() - 1);
    let line = format!("{} = {value}\n", quoted_key(&name[0]));
    if parents.is_empty() {
        let at = end_of_root(document);
        return Ok(splice(text, at..at, &line));
    }
    let section = document.get(&parents[0]);
    let open = section.is_none_or(|s| s.as_table().is_some_and(|t| !t.is_dotted()));
    if open && lookup(document.as_table(), parents).is_none() {
        let blank = if text.is_empty() { "" } else { "\n" };
        let names: Vec<String> = parents.iter().map(|name| quoted_key(name)).collect();
        let header = format!("{blank}[{}]\n{line}", names.join("."));
        return Ok(splice(text, text.len()..text.len(), &header));
    }
    insert(text, key, value)
}

/// Adds a value to an existing section, or to one of a form that only toml_edit can extend.
fn insert(text: &str, key: &Key, value: &str) -> Result<String> {
    let mut document: DocumentMut = text.parse().map_err(|error| ConfigError::Unwritable { error })?;
    let value: toml_edit::Value = value.parse().map_err(|error| ConfigError::Unwritable { error })?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    let (parents, name) = key.path.split_at(key.path.len() - 1);
    for parent in parents {
        let dotted = table.is_dotted();
        let item = table.entry(parent).or_insert_with(|| {
            let mut new = toml_edit::InlineTable::new();
            new.set_dotted(dotted);
            Item::Value(new.into())
        });
        table = item
            .as_table_like_mut()
            .ok_or_else(|| ConfigError::Invalid { of: parent.clone(), fault: "is not a table" })?;
    }
    table.insert(&name[0], Item::Value(value));
    Ok(document.to_string())
}

/// The text without the value, if it has one.
fn without_value(document: &Document<&str>, key: &Key) -> Option<String> {
    let text = document.raw();
    let (parents, name) = key.path.split_at(key.path.len() - 1);
    let (found, item) = lookup(document.as_table(), &key.path)?;
    let inline = (1..=parents.len())
        .any(|depth| lookup(document.as_table(), &parents[..depth]).is_some_and(|(_, item)| item.is_value()));
    if inline {
        // It has been parsed before, as one that cannot be changed.
        let mut document: DocumentMut = text.parse().ok()?;
        let mut table: &mut dyn TableLike = document.as_table_mut();
        for parent in parents {
            table = table.get_mut(parent)?.as_table_like_mut()?;
        }
        table.remove(&name[0]);
        return Some(document.to_string());
    }
    // Outside of inline tables, a key and its value have lines of their own.
    let (start, end) = (found.span()?.start, item.as_value()?.span()?.end);
    let start = text[..start].rfind('\n').map_or(0, |line| line + 1);
    let end = text[end..].find('\n').map_or(text.len(), |line| end + line + 1);
    Some(splice(text, start..end, ""))
}

/// Replaces a part of the text; an added line begins on a line of its own.
fn splice(text: &str, span: std::ops::Range<usize>, new: &str) -> String {
    let (before, after) = (&text[..span.start], &text[span.end..]);
    let broken = new.ends_with('\n') && !before.is_empty() && !before.ends_with('\n');
    format!("{before}{}{new}{after}", if broken { "\n" } else { "" })
}

/// The key and the item at the end of a path.
fn lookup<'a>(table: &'a dyn TableLike, path: &[String]) -> Option<(&'a toml_edit::Key, &'a Item)> {
    let (key, item) = table.get_key_value(path.first()?)?;
    match path.len() {
        1 => (!item.is_none()).then_some((key, item)),
        _ => lookup(item.as_table_like()?, &path[1..]),
    }
}

/// The position for a new key outside of sections: before the first `[section]`, the comment directly above
/// it, and the empty lines above both.
fn end_of_root(document: &Document<&str>) -> usize {
    let text = document.raw();
    let Some(header) = first_header(document.as_table()) else {
        return text.len();
    };
    let mut at = text[..header].rfind('\n').map_or(0, |line| line + 1);
    for line in text[..at].split_inclusive('\n').rev() {
        if !line.trim_start().starts_with('#') {
            break;
        }
        at -= line.len();
    }
    let empty = text[..at].split_inclusive('\n').rev().take_while(|line| line.trim().is_empty());
    at - empty.map(str::len).sum::<usize>()
}

/// The position of the first `[section]` in a table.
fn first_header(table: &toml_edit::Table) -> Option<usize> {
    let header = |item: &Item| match item {
        Item::Table(table) => {
            let own = table.span().filter(|_| !table.is_dotted() && !table.is_implicit());
            own.map(|span| span.start).into_iter().chain(first_header(table)).min()
        }
        Item::ArrayOfTables(tables) => tables.iter().filter_map(|t| t.span()).map(|span| span.start).min(),
        _ => None,
    };
    table.iter().filter_map(|(_, item)| header(item)).min()
}

/// The file that is meant, behind all symbolic links, even if it does not exist yet.
fn resolve_links(path: &Path) -> Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..40 {
        match fs::read_link(&path) {
            Ok(next) => path = directory(&path).join(next),
            Err(_) => return Ok(path),
        }
    }
    Err(ConfigError::Invalid { of: path.display().to_string(), fault: "too many symbolic links" }.into())
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Keeps concurrent changes from overwriting each other. Without support for locks, the change goes ahead.
fn lock(directory: &Path) -> Option<File> {
    let directory = File::open(directory).ok()?;
    directory.lock().ok().map(|()| directory)
}

/// Replaces a file atomically.
fn write_atomically(target: &Path, text: &str) -> Result<()> {
    let cannot = format!("cannot write {}", target.display());
    let old = fs::metadata(target).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        return Err(ConfigError::NotAFile { path: target.to_owned() }.into());
    }
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let new = directory(target).join(format!(".{name}.{}", std::process::id()));
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(text.as_bytes())?;
        if let Some(old) = &old {
            file.set_permissions(old.permissions())?;
        }
        file.sync_all()?;
        fs::rename(&new, target)
    })();
    if written.is_err() {
        // The first failure is the one to report.
        let _ = fs::remove_file(&new);
    }
    let help = "check the permissions of its directory, or name another file with --config";
    written.context(cannot).map_err(|e| e.hint(help))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str, key: &str, value: Option<&str>) -> String {
        let document = parse("c.toml".as_ref(), text).unwrap();
        let key = Key::parse(key).unwrap();
        let new = match value {
            Some(value) => with_value(&document, &key, value).unwrap(),
            None => without_value(&document, &key).unwrap_or_else(|| text.to_owned()),
        };
        let document = parse("c.toml".as_ref(), &new).unwrap();
        assert_eq!(lookup(document.as_table(), &key.path).is_some(), value.is_some(), "{new}");
        new
    }

    #[test]
    fn a_value_is_set_and_all_else_stays() {
        for (before, key, after) in [
            ("", "model", "model = 1\n"),
            ("# mine\n", "model", "# mine\nmodel = 1\n"),
            ("log = \"a\"  # why\r\n", "log", "log = 1  # why\r\n"),
            ("log = \"a\"", "model", "log = \"a\"\nmodel = 1\n"),
            ("log = 'x'\n# end\n", "model", "log = 'x'\n# end\nmodel = 1\n"),
            ("# top\n\n# of x\n[models.x]\n", "model", "# top\nmodel = 1\n\n# of x\n[models.x]\n"),
            ("[[other]]\na = 1\n", "model", "model = 1\n[[other]]\na = 1\n"),
            ("", "models.x.reserve_tokens", "[models.x]\nreserve_tokens = 1\n"),
            (
                "log = 'x' # end",
                "models.x.reserve_tokens",
                "log = 'x' # end\n\n[models.x]\nreserve_tokens = 1\n",
            ),
            (
                "[models.\"x\"]\n# a\nmax_context_tokens = 9 # b\n# c\n[models.y]\n",
                "models.x.reserve_tokens",
                "[models.\"x\"]\n# a\nmax_context_tokens = 9 # b\nreserve_tokens = 1\n# c\n[models.y]\n",
            ),
            (
                "models = { y = {} }\n",
                "models.x.reserve_tokens",
                "models = { y = {} , x = { reserve_tokens = 1 } }\n",
            ),
            (
                "models.x.max_context_tokens = 2\n[partitions.p]\n",
                "models.x.reserve_tokens",
                "models.x.max_context_tokens = 2\nmodels.x.reserve_tokens = 1\n[partitions.p]\n",
            ),
            (
                "models.y.reserve_tokens = 2\n",
                "models.x.reserve_tokens",
                "models.y.reserve_tokens = 2\nmodels.x.reserve_tokens = 1\n",
            ),
            (
                "[models]\nx.max_context_tokens = 2\n",
                "models.y.reserve_tokens",
                "[models]\nx.max_context_tokens = 2\n\n[models.y]\nreserve_tokens = 1\n",
            ),
        ] {
            assert_eq!(edited(before, key, Some("1")), after, "{before}");
        }
    }

    #[test]
    fn a_value_is_taken_out_and_all_else_stays() {
        for (before, key, after) in [
            ("# a\nlog = 1 # b\n# c\nmodel = 2", "log", "# a\n# c\nmodel = 2"),
            ("log = 1\nmodel = \"\"\"\nx\n\"\"\"", "model", "log = 1\n"),
            ("log = 1\n", "model", "log = 1\n"),
            ("[models.x]\nreserve_tokens = 1\n", "models.x.reserve_tokens", "[models.x]\n"),
            ("models.x.reserve_tokens = 1\nlog = 2\n", "models.x.reserve_tokens", "log = 2\n"),
            (
                "models.x = { reserve_tokens = 1, max_context_tokens = 2 } # a\n",
                "models.x.reserve_tokens",
                "models.x = { max_context_tokens = 2 } # a\n",
            ),
        ] {
            assert_eq!(edited(before, key, None), after, "{before}");
        }
    }
}
