//! What is done with a request beside asking: the header `x-rsv-memory` says it, else the partition's settings.

use crate::config::Settings;
use crate::error::{Error, Result};
use crate::record::Scope;
use hyper::HeaderMap;

/// The header by which a client says it, and by which it is told.
pub(super) const HEADER: &str = "x-rsv-memory";

/// What memory does for one request.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Memory {
    /// It recalls and stores.
    Full,
    /// It recalls only.
    Readonly,
    /// It stores only.
    Store,
    /// The request passes unchanged.
    Off,
}

/// The words for them.
const WORDS: [(&str, Memory); 4] =
    [("full", Memory::Full), ("readonly", Memory::Readonly), ("store", Memory::Store), ("off", Memory::Off)];

impl Memory {
    /// The request's own word, else that of its partition, else full. Errors if the word is none.
    pub(super) fn of(headers: &HeaderMap, settings: &Settings, scope: &Scope) -> Result<Memory> {
        let asked = headers.get(HEADER).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let Some(word) = asked.or_else(|| settings.partition(&scope.partition).memory) else {
            return Ok(Memory::Full);
        };
        let known = WORDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word.trim()));
        known.map(|(_, memory)| *memory).ok_or_else(|| {
            Error::new(format!("{HEADER}: expected full or readonly or store or off, found {word}"))
        })
    }

    /// The word for it.
    pub(super) fn word(self) -> &'static str {
        WORDS.iter().find(|(_, memory)| *memory == self).map_or("", |(word, _)| word)
    }

    /// Whether anything is recalled.
    pub(super) fn recalls(self) -> bool {
        matches!(self, Memory::Full | Memory::Readonly)
    }

    /// Whether the turn is stored.
    pub(super) fn stores(self) -> bool {
        matches!(self, Memory::Full | Memory::Store)
    }
}
