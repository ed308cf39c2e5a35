//! The ids that lines on standard input name.

use super::error::ForgetError;
use crate::cli::Io;
use crate::error::Result;
use crate::lines::Reader;
use crate::record::{Object, kind_named, missing};
use std::collections::BTreeMap;

/// The ids that lines of at most `limit` bytes name, each with its place for messages. Bad lines are
/// reported.
pub fn named_in_lines(limit: usize, io: &mut Io) -> Result<BTreeMap<String, String>> {
    let mut named = BTreeMap::new();
    let mut lines = Reader::new("<stdin>", io.stdin()?, limit);
    while let Some(value) = lines.next() {
        let read = value.and_then(|value| {
            let id = named_by(&value.object).map_err(|e| e.at(&value.location))?;
            Ok(id.map(|id| (id, format!("{}: ", value.location))))
        });
        match read {
            Ok(id) => named.extend(id),
            Err(error) => io.fault(&error),
        }
    }
    Ok(named)
}

/// The id that a line names; none for a link, an embedding, a tombstone, and a message around a hit.
fn named_by(line: &Object) -> Result<Option<String>> {
    let kind = line.text("kind")?;
    let why = line.object("why")?.unwrap_or_default();
    match kind.as_deref() {
        Some("link" | "embedding" | "tombstone") => return Ok(None),
        _ if why.has("context") => return Ok(None),
        Some(kind) if kind != "hit" && kind_named(kind).is_none() => {
            return Err(ForgetError::Unforgettable { kind: kind.to_owned() }.into());
        }
        _ => {}
    }
    line.text("id")?.map(Some).ok_or_else(|| missing("id"))
}
