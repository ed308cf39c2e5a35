//! Mirrors of trees: what a complete tree does not have is taken away.

use super::options::Options;
use crate::error::{Error, Result};
use crate::record::{Address, DOCUMENT, Object, Scope, Scopes, StoredRecord, TombstoneState, texts};
use crate::store::{Below, Select, Store};
use std::collections::HashSet;

/// The documents of an input, and the ends of its trees.
#[derive(Clone, Default)]
pub(super) struct Mirror {
    /// The ids of the documents that came.
    came: HashSet<String>,
    /// The complete trees.
    ends: Vec<Tree>,
    /// The trees whose last line has not come.
    parts: Vec<Tree>,
    /// Whether documents came that no tree line follows.
    is_torn: bool,
    has_bad_lines: bool,
}

/// A tree, as its lines describe it.
#[derive(Clone)]
struct Tree {
    partition: String,
    uri: Address,
    /// The ids of the documents that are as they were.
    kept: HashSet<String>,
    /// The addresses below which nothing could be read.
    unread: Vec<Address>,
}

/// The kind of the line that ends a tree.
const TREE_KIND: &str = "tree";

impl Mirror {
    /// Notes a document.
    pub(super) fn add(&mut self, document: &StoredRecord) {
        self.came.insert(document.id.clone());
        self.is_torn = true;
    }

    /// Notes a line that could not be read.
    pub(super) fn add_bad(&mut self) {
        self.has_bad_lines = true;
    }

    /// Reads a line of a tree, of which the last is complete; other lines are passed over. Errors begin with the member at
    /// fault.
    pub(super) fn add_tree_line(&mut self, line: &Object, options: &Options) -> Result<()> {
        if line.text("kind")?.as_deref() != Some(TREE_KIND) {
            return Ok(());
        }
        let partition = line.text("partition")?.or_else(|| options.partition.clone());
        let partition = Scope::new(partition.as_deref(), None)?.partition;
        let address = |member: &str, uri: &str| {
            Address::resolve(uri, &partition).map_err(|error| error.at(member.to_owned()))
        };
        let uri = line.text("uri")?.ok_or_else(|| Error::new("uri: is missing"))?;
        let uri = address("uri", &uri)?;
        let addresses = |member: &str| -> Result<Vec<Address>> {
            texts(line, member)?.unwrap_or_default().iter().map(|uri| address(member, uri)).collect()
        };
        let kept =
            addresses("kept")?.iter().map(|address| address.document_id(&partition)).collect::<Vec<_>>();
        let unread = addresses("unread")?;
        let at = self.parts.iter().position(|tree| tree.partition == partition && tree.uri == uri);
        let mut tree = match at {
            Some(at) => self.parts.swap_remove(at),
            None => Tree { partition, uri, kept: HashSet::new(), unread: Vec::new() },
        };
        tree.kept.extend(kept);
        tree.unread.extend(unread);
        if line.get("complete") == Some("true") {
            self.ends.push(tree);
            self.is_torn = false;
        } else {
            self.parts.push(tree);
        }
        Ok(())
    }

    /// Takes away what the trees do not have, among the documents that were stored up to a time, and returns their
    /// number; `None` if the input had no complete tree. `now` dates the tombstones.
    pub(super) fn finish(&self, store: &mut dyn Store, begin: i64, now: i64) -> Result<Option<u64>> {
        if self.ends.is_empty() || self.is_torn || self.has_bad_lines || !self.parts.is_empty() {
            return Ok(None);
        }
        let mut removed = 0;
        for end in &self.ends {
            let missing = self.missing(end, store, begin)?;
            let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
            if !missing.is_empty() {
                removed += store.bury(&missing, TombstoneState::Removed, now)?;
            }
        }
        Ok(Some(removed))
    }

    /// The ids of the documents that a tree does not have. What another process has stored since this one began stays.
    fn missing(&self, end: &Tree, store: &mut dyn Store, begin: i64) -> Result<Vec<String>> {
        let documents = Select::records(vec![&DOCUMENT], Scopes::Partition(end.partition.clone()));
        let below = Some(Below::new(&end.uri, None));
        let which = Select { below, until: Some(begin), ..documents };
        let mut missing = Vec::new();
        for (id, uri) in store.keys(&which)? {
            if self.came.contains(&id) || end.kept.contains(&id) {
                continue;
            }
            let address = Address::parse(&uri)?;
            if !end.unread.iter().any(|unread| address.is_within(unread)) {
                missing.push(id);
            }
        }
        Ok(missing)
    }
}
