//! The formats that rsv-import reads, in one table.

use super::format::{ImportFormat, ReadFormat};
use super::sample::has_all;
use super::{
    aichat, aichat_session, cgip, chatgpt, claude, claude_code, codex, gemini, llm, markdown, memory_lists,
    ollama, openai, opencode, table,
};
use crate::error::{Error, Result};
use crate::record::{Object, kind_named};

/// All formats; the first that recognizes an input reads it.
static FORMATS: &[ImportFormat] = &[
    ImportFormat {
        name: "rsv",
        about: "JSON lines of rsv-export, and arrays of Reservoir",
        places: &[],
        timeless: false,
        recognize: |sample| {
            sample.any(|object| has_own_kind(object) || has_all(object, &["role", "partition"]))
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
    aichat_session::FORMAT,
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
