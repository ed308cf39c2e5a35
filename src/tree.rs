//! The tree of contexts: the documents of a partition by their addresses.

use crate::error::Result;
use crate::record::{Address, DOCUMENT, Object, Record, Scopes, StoredRecord, directory_digest, quote};
use crate::store::{Below, Select, Store, Walk};
use std::collections::{BTreeMap, HashMap};

/// The documents of a partition.
fn of_partition(partition: &str) -> Select {
    Select::records(vec![&DOCUMENT], Scopes::Partition(partition.to_owned()))
}

/// The document that has an address. Fails if the store cannot be read.
pub fn node(store: &mut dyn Store, partition: &str, address: &Address) -> Result<Option<StoredRecord>> {
    let id = address.document_id(partition);
    Ok(store.get(&[&id], &of_partition(partition))?.pop())
}

/// The documents below an address, down to this many levels; each after the one above it, then by their own
/// order and their names. Fails if the store cannot be read, or a document has no valid address.
pub fn below(
    store: &mut dyn Store,
    partition: &str,
    address: &Address,
    levels: Option<usize>,
) -> Result<Vec<StoredRecord>> {
    let which = Select { below: Some(Below::new(address, levels)), ..of_partition(partition) };
    let mut nodes = Vec::new();
    store.walk(&Walk::records(which), &mut |record| {
        if let Record::Stored(record) = record {
            nodes.push(record);
        }
        Ok(())
    })?;
    in_order(nodes)
}

/// The ids of all documents below an address, and of the one at it.
pub fn ids_from(store: &mut dyn Store, partition: &str, address: &Address) -> Result<Vec<String>> {
    let mut nodes = below(store, partition, address, None)?;
    nodes.extend(node(store, partition, address)?);
    Ok(nodes.into_iter().map(|node| node.id).collect())
}

/// The children of a directory. Below an address without a document, the nearest documents. Fails if the
/// store cannot be read, or a document has no valid address.
pub fn children(store: &mut dyn Store, partition: &str, address: &Address) -> Result<Vec<StoredRecord>> {
    if node(store, partition, address)?.is_some() {
        return below(store, partition, address, Some(1));
    }
    let mut nearest: Vec<StoredRecord> = Vec::new();
    let mut last: Option<Address> = None;
    for node in below(store, partition, address, None)? {
        let own = node.address()?;
        if last.as_ref().is_none_or(|last| !own.is_below(last)) {
            last = Some(own);
            nearest.push(node);
        }
    }
    Ok(nearest)
}

/// The documents of a subtree whose abstracts are out of date, children before parents: those that no model
/// made, and directories whose children have changed. A directory has a member `child_abstracts`, and the
/// digest of its children. Fails if the store cannot be read, or a document has no valid address.
pub fn stale(store: &mut dyn Store, partition: &str, address: &Address) -> Result<Vec<StoredRecord>> {
    let mut nodes = below(store, partition, address, None)?;
    nodes.splice(0..0, node(store, partition, address)?);
    let mut children: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, node) in nodes.iter().enumerate() {
        let parent = node.address()?.parent();
        children.entry(parent.map(|parent| parent.to_string()).unwrap_or_default()).or_default().push(at);
    }
    // The digests of directories whose children have changed, for those above them.
    let mut digests: HashMap<String, String> = HashMap::new();
    let mut found = Vec::new();
    for node in nodes.iter().rev() {
        let own: Vec<&StoredRecord> =
            children.get(node.address()?.as_str()).into_iter().flatten().map(|at| &nodes[*at]).collect();
        let other_children = other_children(node, &own, &digests)?;
        if node.is_by_rule() || other_children.is_some() {
            let mut node = node.clone();
            if let Some(digest) = other_children {
                node.set_source(&digest);
                digests.insert(node.id.clone(), digest);
            }
            if node.is_directory() {
                let abstracts: Result<Vec<String>> = own.iter().map(|child| child_abstract(child)).collect();
                node.members.set("child_abstracts", format!("[{}]", abstracts?.join(",")));
            }
            found.push(node);
        }
    }
    Ok(found)
}

/// The digest of the children of a directory, if it was made of others. A file that is a directory of its
/// sections is made of its source.
fn other_children(
    node: &StoredRecord,
    children: &[&StoredRecord],
    digests: &HashMap<String, String>,
) -> Result<Option<String>> {
    let Some(source) = node.source() else { return Ok(None) };
    if !node.is_directory() || node.members.has("mime") || node.members.has("source_bytes") {
        return Ok(None);
    }
    let mut parts = Vec::new();
    for child in children {
        let source = digests.get(&child.id).cloned().or_else(|| child.source());
        parts.push((child.address()?.name().to_owned(), source.unwrap_or_default()));
    }
    let digest = directory_digest(parts.iter().map(|(name, source)| (name.as_str(), source.as_str())));
    Ok(Some(digest).filter(|digest| *digest != source))
}

fn child_abstract(child: &StoredRecord) -> Result<String> {
    let mut object = Object::default();
    object.set("name", quote(child.address()?.name()));
    object.set_text("abstract", &child.member_text("abstract"));
    Ok(object.to_json())
}

/// A document with the texts of a level of detail: 0 the abstract, 1 the overview too, 2 all.
pub fn at_level(mut node: StoredRecord, level: u8) -> StoredRecord {
    if level < 2 {
        node.text.clear();
    }
    if level < 1 {
        node.members.take("overview");
    }
    node
}

/// Documents in the order of a tree: each after the nearest one above it.
fn in_order(nodes: Vec<StoredRecord>) -> Result<Vec<StoredRecord>> {
    let mut sorted = BTreeMap::new();
    for node in nodes {
        sorted.insert(node.address()?, node);
    }
    // Documents without an order come after those with one, by their names.
    let order = |node: &StoredRecord| node.members.valid_integer("order").unwrap_or(i64::MAX);
    let orders: BTreeMap<Address, i64> =
        sorted.iter().map(|(address, node)| (address.clone(), order(node))).collect();
    let mut nodes: Vec<(Address, StoredRecord)> = sorted.into_iter().collect();
    // The place of a node: for each address on the way to it, its order and its name.
    nodes.sort_by_cached_key(|(address, _)| {
        let ancestors = std::iter::successors(Some(address.clone()), Address::parent);
        let mut way: Vec<(i64, String)> = ancestors
            .map(|address| {
                let order = orders.get(&address).copied().unwrap_or(i64::MAX);
                (order, address.name().to_owned())
            })
            .collect();
        way.reverse();
        way
    });
    Ok(nodes.into_iter().map(|(_, node)| node).collect())
}
