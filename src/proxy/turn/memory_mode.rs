//! Whether memory recalls and stores for a request: by the header `x-rsv-memory`, else by the partition's
//! settings.

use crate::access::{Caller, Right};
use crate::config::Settings;
use crate::error::Result;
use crate::proxy::http::unexpected;
use crate::record::Scope;
use hyper::HeaderMap;

/// The header by which a client chooses the mode, and a response reports it.
pub(super) const MEMORY_HEADER: &str = "x-rsv-memory";

/// The memory mode of one request.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::proxy) enum MemoryMode {
    /// It recalls and stores.
    Full,
    /// It recalls only.
    Readonly,
    /// It stores only.
    Store,
    /// The request passes unchanged.
    Off,
}

/// The names of the modes.
const MODE_NAMES: [(&str, MemoryMode); 4] = [
    ("full", MemoryMode::Full),
    ("readonly", MemoryMode::Readonly),
    ("store", MemoryMode::Store),
    ("off", MemoryMode::Off),
];

impl MemoryMode {
    /// The mode that the request names, else that of its partition, else full. Errors if there is no such
    /// mode.
    pub(in crate::proxy) fn from_request(
        headers: &HeaderMap,
        settings: &Settings,
        scope: &Scope,
    ) -> Result<MemoryMode> {
        let named =
            headers.get(MEMORY_HEADER).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let Some(word) = named.or_else(|| settings.partition(&scope.partition).memory) else {
            return Ok(MemoryMode::Full);
        };
        let mode = MODE_NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word.trim()));
        let unknown = || unexpected(MEMORY_HEADER, "full, readonly, store or off", &word);
        mode.map(|(_, mode)| *mode).ok_or_else(unknown)
    }

    /// The part of it that a caller may have.
    pub(in crate::proxy) fn within(self, caller: &Caller) -> MemoryMode {
        let (recalls, stores) =
            (self.recalls() && caller.has(Right::Read), self.stores() && caller.has(Right::Write));
        match (recalls, stores) {
            (true, true) => MemoryMode::Full,
            (true, false) => MemoryMode::Readonly,
            (false, true) => MemoryMode::Store,
            (false, false) => MemoryMode::Off,
        }
    }

    /// The name of the mode.
    pub(super) fn name(self) -> &'static str {
        MODE_NAMES.iter().find(|(_, mode)| *mode == self).map_or("", |(name, _)| name)
    }

    /// Whether messages are recalled.
    pub(super) fn recalls(self) -> bool {
        matches!(self, MemoryMode::Full | MemoryMode::Readonly)
    }

    /// Whether the turn is stored.
    pub(super) fn stores(self) -> bool {
        matches!(self, MemoryMode::Full | MemoryMode::Store)
    }
}
