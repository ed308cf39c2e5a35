//! The formats that rsv-import reads, in one table.

use super::conversation::ImportOptions;
use super::database::Database;
use super::input::Bytes;
use super::objects::Convert;
use super::sample::{Sample, has_all};
use super::{
    aichat, cgip, chatgpt, claude, claude_code, codex, gemini, llm, markdown, memory_lists, ollama, openai,
    opencode, table,
};
use crate::error::{Error, Result};
use crate::record::{Object, ObjectSource, kind_named};
use std::path::Path;

/// A format of files with messages.
pub struct ImportFormat {
    /// Its name, for `--from`.
    pub name: &'static str,
    /// The files that have it, for people.
    pub about: &'static str,
    /// Whether an input has it.
    pub(super) recognize: fn(&Sample) -> bool,
    pub(super) read: ReadFormat,
}

/// The way to read a format.
pub(super) enum ReadFormat {
    /// JSON objects that are lines of rsv already.
    Lines,
    /// JSON objects that stand for lines; the path is that of the file, if the input is one.
    Objects(fn(&ImportOptions, Option<&Path>) -> Box<dyn Convert>),
    /// Text of another form than JSON.
    Text(fn(TextInput) -> Box<dyn ObjectSource>),
    /// An SQLite database.
    Database(DatabaseFormat),
}

/// An input of text.
pub(super) struct TextInput<'a> {
    pub(super) name: &'a str,
    pub(super) bytes: Bytes,
    pub(super) options: &'a ImportOptions,
}

/// The way to read the databases of a program.
pub(super) struct DatabaseFormat {
    /// Whether a database is one of these.
    pub(super) recognize: fn(&Database) -> bool,
    pub(super) open: fn(&str, Database, &ImportOptions) -> Result<Box<dyn ObjectSource>>,
}

/// All formats; the first that recognizes an input reads it.
static FORMATS: &[ImportFormat] = &[
    ImportFormat {
        name: "rsv",
        about: "JSON lines of rsv-export, and arrays of Reservoir",
        recognize: |sample| {
            sample.any(|object| object.has("kind") || has_all(object, &["role", "partition"]))
        },
        read: ReadFormat::Lines,
    },
    claude_code::FORMAT,
    codex::FORMAT,
    chatgpt::FORMAT,
    claude::FORMAT,
    llm::FORMAT,
    opencode::DATABASE,
    opencode::EXPORT,
    gemini::FORMAT,
    memory_lists::MEM0,
    memory_lists::CONTEXTD,
    openai::FORMAT,
    cgip::FORMAT,
    aichat::FORMAT,
    ollama::FORMAT,
    table::FORMAT,
    markdown::FORMAT,
];

/// Whether an object has a kind of rsv's lines.
fn has_own_kind(object: &Object) -> bool {
    const OTHERS: [&str; 3] = ["link", "embedding", "tombstone"];
    let kind = object.text("kind").ok().flatten();
    kind.is_some_and(|kind| kind_named(&kind).is_some() || OTHERS.contains(&kind.as_str()))
}

/// The formats, in the order in which an input is compared with them.
pub fn formats() -> &'static [ImportFormat] {
    FORMATS
}

/// The format of a name.
pub fn named(name: &str) -> Result<&'static ImportFormat> {
    FORMATS.iter().find(|format| format.name == name).ok_or_else(|| {
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        Error::new(format!("--from: unknown format {name:?}")).hint(format!("one of: {}", names.join(", ")))
    })
}
