//! Mirrors of trees: removes the documents that a complete tree does not have.

use super::error::IngestError;
use super::options::Options;
use crate::error::{Error, Result};
use crate::record::{
    Address, DOCUMENT, ORIGIN, Object, Record, Scope, Scopes, StoredRecord, TombstoneState, URI, is_origin,
    missing, texts,
};
use crate::store::{Below, Removal, Select, Store};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The outcome of a mirror.
#[derive(Debug)]
pub enum Mirrored {
    /// This number of documents was taken away.
    Removed(u64),
    /// Nothing was, for this reason.
    Refused(Error),
}

/// The documents of an input, and the ends of its trees.
#[derive(Clone, Default)]
pub(super) struct Mirror {
    /// The addresses of the documents that came, by partition.
    came: HashMap<String, HashSet<String>>,
    /// The complete trees.
    ends: Vec<Tree>,
    /// The trees whose last line has not come.
    parts: Vec<Tree>,
    /// The addresses of the documents that no end of a tree follows, by partition.
    without_end: BTreeMap<String, Vec<String>>,
    has_bad_lines: bool,
    /// The origins of stored documents that others lie below, by partition and address.
    origins: HashMap<(String, String), Option<String>>,
}

/// A tree, as its lines describe it.
#[derive(Clone)]
struct Tree {
    partition: String,
    uri: Address,
    /// The path or the address that it was made of.
    origin: Option<String>,
    /// Whether documents of it came.
    has_documents: bool,
    /// The addresses of the documents that are as they were.
    kept: HashSet<String>,
    /// The addresses below which nothing could be read.
    unread: Vec<Address>,
}

/// The kind of the line that ends a tree.
const TREE_KIND: &str = "tree";

/// The hint for an input that is not whole.
const PARSE_AGAIN: &str = "run rsv-parse again, and see what it says";

/// The error of a mirror whose input does not end with a complete tree.
pub fn no_tree() -> Error {
    nothing_is_taken("the input does not end with a complete tree").hint(PARSE_AGAIN)
}

fn nothing_is_taken(why: &str) -> Error {
    IngestError::NotMirrored { why: why.to_owned() }.into()
}

impl Mirror {
    /// Notes a document.
    pub(super) fn add(&mut self, document: &StoredRecord) {
        let partition = &document.scope.partition;
        let uri = document.member_text(URI);
        self.without_end.entry(partition.clone()).or_default().push(uri.clone());
        self.came.entry(partition.clone()).or_default().insert(uri);
    }

    /// Notes a line that could not be read.
    pub(super) fn add_bad(&mut self) {
        self.has_bad_lines = true;
    }

    /// Reads a line of a tree, of which the last is complete; other lines are passed over. Errors begin with
    /// the member at fault.
    pub(super) fn add_tree_line(&mut self, line: &Object, options: &Options) -> Result<()> {
        if line.text("kind")?.as_deref() != Some(TREE_KIND) {
            return Ok(());
        }
        let partition = line.text("partition")?.or_else(|| options.partition.clone());
        let partition = Scope::new(partition.as_deref(), None)?.partition;
        let address = |member: &str, uri: &str| {
            Address::resolve(uri, &partition).map_err(|error| error.at(member.to_owned()))
        };
        let uri = line.text("uri")?.ok_or_else(|| missing("uri"))?;
        let uri = address("uri", &uri)?;
        let addresses = |member: &str| -> Result<Vec<Address>> {
            texts(line, member)?.unwrap_or_default().iter().map(|uri| address(member, uri)).collect()
        };
        let origin = line.text(ORIGIN)?;
        let kept = addresses("kept")?;
        let unread = addresses("unread")?;
        let at = self.parts.iter().position(|tree| tree.partition == partition && tree.uri == uri);
        let mut tree = match at {
            Some(at) => self.parts.swap_remove(at),
            None => {
                let (kept, unread) = (HashSet::new(), Vec::new());
                Tree { partition, uri, origin, has_documents: false, kept, unread }
            }
        };
        tree.kept.extend(kept.iter().map(Address::to_string));
        tree.unread.extend(unread);
        if line.get("complete") == Some("true") {
            let came = std::mem::take(&mut self.without_end);
            let (root, below) = (tree.uri.to_string(), tree.uri.below());
            let is_within = |uri: &String| *uri == root || uri.starts_with(&below);
            let mut partitions =
                came.iter().filter(|(_, uris)| uris.iter().any(is_within)).map(|(name, _)| name);
            tree.has_documents = came.get(&tree.partition).is_some_and(|uris| uris.iter().any(is_within));
            if let Some(other) = partitions.next().filter(|_| !tree.has_documents) {
                return Err(IngestError::OtherPartition { of: tree.partition, other: other.clone() }.into());
            }
            self.ends.push(tree);
        } else {
            self.parts.push(tree);
        }
        Ok(())
    }

    /// Errors if documents would take the place of others that were made of another directory, file or
    /// address.
    pub(super) fn check_origins(&mut self, records: &[Record], store: &mut dyn Store) -> Result<()> {
        for record in records {
            let Record::Stored(document) = record else { continue };
            let origin = document.member_text(ORIGIN);
            if document.kind != &DOCUMENT || !is_origin(&origin) {
                continue;
            }
            let partition = &document.scope.partition;
            let address = document.address()?;
            let mut has_known_origin = false;
            for above in std::iter::successors(address.parent(), Address::parent) {
                let key = (partition.clone(), above.to_string());
                let known = match self.origins.get(&key) {
                    Some(known) => known.clone(),
                    None => {
                        let known = stored(store, partition, &above)?.map(|above| above.member_text(ORIGIN));
                        self.origins.entry(key).or_insert(known).clone()
                    }
                };
                let known = known.filter(|known| is_origin(known));
                has_known_origin |= known.is_some();
                if let Some(known) = known.filter(|known| !is_within(&origin, known)) {
                    return Err(of_another_origin(&above, &known, &origin));
                }
            }
            if !has_known_origin && let Some(own) = stored(store, partition, &address)? {
                let known = own.member_text(ORIGIN);
                let is_same = (own.version(), own.source()) == (document.version(), document.source());
                if !is_same && is_origin(&known) && known != origin {
                    return Err(of_another_origin(&address, &known, &origin));
                }
            }
            // Others lie below it, and came before it.
            if let Some(known) = self.origins.get_mut(&(partition.clone(), address.to_string())) {
                *known = Some(origin);
            }
        }
        Ok(())
    }

    /// Removes the documents stored up to the first time that the trees do not have. The second one dates the
    /// tombstones. `replaces` says whether those of another origin may be. Fails if the store cannot be read
    /// or written; a refusal is returned.
    pub(super) fn finish(
        &self,
        store: &mut dyn Store,
        (begin, now): (i64, i64),
        replaces: bool,
    ) -> Result<Mirrored> {
        if let Some(why) = self.refusal(store)? {
            return Ok(Mirrored::Refused(why));
        }
        if !replaces {
            for end in &self.ends {
                if let Some(why) = end.other_origin(store)? {
                    return Ok(Mirrored::Refused(why));
                }
            }
        }
        let missing = self.ends.iter().map(|end| self.missing(end, store, begin));
        let missing = missing.collect::<Result<Vec<Vec<String>>>>()?;
        if !replaces {
            for (end, missing) in self.ends.iter().zip(&missing) {
                if let Some(why) = end.missing_of_another_origin(missing, store)? {
                    return Ok(Mirrored::Refused(why));
                }
            }
        }
        let mut removed = 0;
        for missing in &missing {
            let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
            if !missing.is_empty() {
                removed += store.remove(Removal::Records(&missing, TombstoneState::Removed), now)?;
            }
        }
        Ok(Mirrored::Removed(removed))
    }

    /// Why nothing is taken away.
    fn refusal(&self, store: &mut dyn Store) -> Result<Option<Error>> {
        if self.has_bad_lines {
            return Ok(Some(nothing_is_taken("a line of the input is bad").hint(PARSE_AGAIN)));
        }
        if self.ends.is_empty() || !self.without_end.is_empty() || !self.parts.is_empty() {
            return Ok(Some(no_tree()));
        }
        for end in &self.ends {
            if !end.is_of_its_partition(store)? {
                let Tree { partition, uri, .. } = end;
                let why = format!("no document of the tree {uri} is in the partition {partition}");
                let error = nothing_is_taken(&why);
                return Ok(Some(error.hint("give rsv-parse the partition of the documents: -p NAME")));
            }
        }
        Ok(None)
    }

    /// The ids of the documents that a tree does not have, but for those that were stored after `begin`.
    fn missing(&self, end: &Tree, store: &mut dyn Store, begin: i64) -> Result<Vec<String>> {
        let documents = Select::records(vec![&DOCUMENT], Scopes::Partition(end.partition.clone()));
        let below = Some(Below::new(&end.uri, None));
        let which = Select { below, until: Some(begin), ..documents };
        let mut missing = Vec::new();
        let came = self.came.get(&end.partition);
        for uri in store.keys(&which)? {
            if end.kept.contains(&uri) || came.is_some_and(|came| came.contains(&uri)) {
                continue;
            }
            let address = Address::parse(&uri)?;
            if !end.unread.iter().any(|unread| address.is_within(unread)) {
                missing.push(address.document_id(&end.partition));
            }
        }
        Ok(missing)
    }
}

/// The document of an address.
fn stored(store: &mut dyn Store, partition: &str, address: &Address) -> Result<Option<StoredRecord>> {
    if address.depth() == 0 {
        return Ok(None);
    }
    let documents = Select::records(vec![&DOCUMENT], Scopes::Partition(partition.to_owned()));
    Ok(store.get(&[&address.document_id(partition)], &documents)?.pop())
}

/// Whether an origin is another one, or a path below it.
fn is_within(origin: &str, other: &str) -> bool {
    let below = origin.strip_prefix(other.trim_end_matches('/'));
    below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

fn of_another_origin(address: &Address, known: &str, origin: &str) -> Error {
    refused_origin(&format!("{address} is of {known}, and {origin} is not"))
}

fn refused_origin(why: &str) -> Error {
    nothing_is_taken(why).hint("give rsv-parse another address by --to; to replace them, add --replace")
}

impl Tree {
    /// Why none of its documents is removed: those that are stored are of another origin.
    fn other_origin(&self, store: &mut dyn Store) -> Result<Option<Error>> {
        let Some(origin) = &self.origin else { return Ok(None) };
        let root = stored(store, &self.partition, &self.uri)?;
        let known = root.map(|root| root.member_text(ORIGIN)).filter(|known| is_origin(known));
        Ok(known
            .filter(|known| is_origin(origin) && known != origin)
            .map(|known| of_another_origin(&self.uri, &known, origin)))
    }

    /// Why none of these documents, which it does not have, is removed: one is of another origin.
    fn missing_of_another_origin(&self, missing: &[String], store: &mut dyn Store) -> Result<Option<Error>> {
        const IDS_AT_ONCE: usize = 256;
        let documents = Select::records(vec![&DOCUMENT], Scopes::Partition(self.partition.clone()));
        let is_own = |known: &str| self.origin.as_ref().is_some_and(|origin| is_within(known, origin));
        for ids in missing.chunks(IDS_AT_ONCE) {
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            for document in store.get(&ids, &documents)? {
                let known = document.member_text(ORIGIN);
                if is_origin(&known) && !is_own(&known) {
                    let uri = document.member_text(URI);
                    return Ok(Some(match &self.origin {
                        Some(origin) => {
                            refused_origin(&format!("{uri} is of {known}, which is not in {origin}"))
                        }
                        None => refused_origin(&format!("{uri} is of {known}, and the tree names no source")),
                    }));
                }
            }
        }
        Ok(None)
    }

    /// Whether some of its documents are in its partition, or its root is unread: then none is removed.
    fn is_of_its_partition(&self, store: &mut dyn Store) -> Result<bool> {
        if self.has_documents || self.unread.contains(&self.uri) {
            return Ok(true);
        }
        for kept in &self.kept {
            if store.scope_of(&Address::parse(kept)?.document_id(&self.partition))?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
