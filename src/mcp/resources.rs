//! Resources: the records with an address in the client's partition.

use super::answer::Listing;
use super::call::Call;
use super::context::{ROOT, address, listing, node};
use super::error::McpError;
use crate::error::Result;
use crate::record::Address;
use crate::tree;

/// A resource in a list.
pub(super) struct Listed {
    pub(super) uri: String,
    pub(super) name: String,
}

/// The number of resources in a part of the list.
const PAGE: usize = 100;

/// The templates of resources: address, name and description.
pub(super) const TEMPLATES: [(&str, &str, &str); 4] = [
    ("viking://resources/{+path}", "document", "A document: a directory, a file or a section"),
    ("viking://~/memories/{category}", "memories", "The memories of a category, such as strategy"),
    ("viking://~/memories/{category}/{id}", "memory", "A memory"),
    ("viking://~/sessions/{session}", "session", "The last messages of a session"),
];

/// A part of the list of resources from a position on, and the position of the next part.
pub(super) fn list(call: &Call, from: usize) -> Result<(Vec<Listed>, Option<usize>)> {
    let partition = call.scope.partition()?;
    let store = &mut *call.open_to_read()?;
    let root = Address::parse(ROOT)?;
    let mut all = vec![Listed { uri: "viking://~/memories".to_owned(), name: "memories".to_owned() }];
    for document in tree::children(store, &partition, &root)? {
        let uri = document.address()?;
        if address(call, uri.as_str()).is_ok() {
            all.push(Listed { name: uri.name().to_owned(), uri: uri.to_string() });
        }
    }
    let end = from.saturating_add(PAGE);
    let next = (end < all.len()).then_some(end);
    Ok((all.into_iter().skip(from).take(PAGE).collect(), next))
}

/// The text of a resource: the records at its address, in a fence.
pub(super) fn read(call: &Call, uri: &str) -> Result<Listing> {
    let address = address(call, uri)?;
    let store = &mut *call.open_to_read()?;
    let is_memories = Address::memories(&call.scope.partition()?).is_ok_and(|memories| memories == address);
    let Some(found) = node(call, store, &address)? else {
        if is_memories {
            return Ok(Listing::new(Vec::new(), "", 0));
        }
        return Err(McpError::NothingAt { address }.into());
    };
    let (listing, _) = listing(call, found, 2);
    call.count_uses(&listing.shown);
    if listing.shown.is_empty() {
        return Err(McpError::TooLong.into());
    }
    Ok(listing)
}
