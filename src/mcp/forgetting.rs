//! `forget`, as rsv-forget does it; only where the command line allows it.

use super::answer::Answer;
use super::arguments::Arguments;
use super::call::Call;
use super::context::address;
use super::error::McpError;
use crate::error::Result;
use crate::forget;
use crate::record::{SCHEME, Scopes, empty, kinds};
use crate::store::{self, Select};
use crate::text::counted;
use crate::tree;
use serde::Serialize;
use std::collections::BTreeSet;

/// The most records that one call removes.
const MAX_REMOVED: usize = 100;

/// The structured content of the answer.
#[derive(Serialize)]
struct Removed {
    removed: usize,
    ids: BTreeSet<String>,
}

/// Forgets records by their ids, and documents by their addresses with all that is below them.
pub(super) fn forget(call: &Call, arguments: &Arguments) -> Result<Answer> {
    let (uris, ids): (Vec<String>, Vec<String>) =
        arguments.texts("ids").into_iter().partition(|id| id.starts_with(SCHEME));
    if uris.is_empty() && ids.is_empty() {
        return Err(empty("ids"));
    }
    let partition = call.scope.partition()?;
    let store = &mut *call.open_to_write()?;
    let ids = store::full_ids(store, &ids, &call.scope.to_read(None)?)?;
    let mut only = ids.clone();
    for uri in &uris {
        let address = address(call, uri)?;
        let mut nodes = tree::below(store, &partition, &address, None)?;
        nodes.extend(tree::node(store, &partition, &address)?);
        only.extend(nodes.into_iter().map(|node| node.id));
    }
    // Documents belong to the partition.
    let scopes = if uris.is_empty() { call.scope.to_read(None)? } else { Scopes::Partition(partition) };
    let own = call.scope.to_read(None)?;
    let which = Select { only: Some(only), ..Select::records(kinds(), scopes) };
    let mut found = forget::select(store, &which)?;
    found.extend(forget::same_words(store, &found)?);
    found.extend(forget::left_alone(store, &found)?);
    let named: Vec<&str> = ids.iter().map(String::as_str).collect();
    let readable = store.get(&named, &Select::records(kinds(), own))?;
    if let Some(missing) = ids.iter().find(|id| !readable.iter().any(|record| record.id == **id)) {
        return Err(McpError::NoRecord { id: missing.chars().take(64).collect() }.into());
    }
    if found.len() > MAX_REMOVED {
        return Err(McpError::TooMany { count: found.len() }.into());
    }
    let removed: Vec<&str> = found.iter().map(String::as_str).collect();
    let count = if removed.is_empty() { 0 } else { store.forget(&removed, call.server.clock.now())? };
    if count > 0 {
        forget::erase(store)?;
    }
    let text = format!("{} removed, and kept out from now on", counted(count, "record"));
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    Ok(Answer::new(text, Removed { removed: count, ids: found }))
}
