//! The changes of the graph that a batch makes.

use super::changes::VectorLabels;
use super::fulltext;
use super::lock::Models;
use super::rows::tombstone_row;
use super::values::Params;
use crate::record::{RecordKind, Scope, StoredRecord, Tombstone};
use std::collections::{BTreeMap, BTreeSet};

/// A collection by the name of its kind, and its scope.
pub(super) type CollectionKey = (&'static str, Scope);

/// A version that is replaced or removed, with the values that were counted for it.
#[derive(Clone)]
pub(super) struct OldVersion {
    pub(super) n: i64,
    pub(super) kind: &'static RecordKind,
    pub(super) scope: Scope,
    /// Its text in the full-text index, and the number of its words.
    pub(super) indexed: Option<String>,
    pub(super) length: i64,
    /// The models that it has vectors of.
    pub(super) models: Vec<String>,
    /// The element id of its node.
    pub(super) element: String,
}

/// The changes to write.
#[derive(Default)]
pub(super) struct New {
    /// By their kinds and the models of which they lack vectors.
    pub(super) records: BTreeMap<(&'static str, Vec<i64>), Vec<Params>>,
    pub(super) adopted: BTreeMap<(&'static str, Vec<i64>), Vec<Params>>,
    pub(super) replaced: BTreeMap<(&'static str, Vec<i64>), Vec<Params>>,
    /// Those whose partition gets another name.
    pub(super) moved: Vec<Params>,
    /// By their ids.
    pub(super) without_vectors: Vec<String>,
    /// By their elements.
    pub(super) removed: Vec<Params>,
    /// Those removed records of which no node may be left that says the same, whoever wrote it.
    pub(super) forgotten: Vec<String>,
    pub(super) tombstones: BTreeMap<String, Params>,
    /// New members and times of records.
    pub(super) members: Vec<Params>,
    /// Changes of sums, by subject and counter.
    pub(super) tallies: BTreeMap<(String, &'static str), i64>,
    /// Nodes that rsv did not write and ignores from now on.
    pub(super) hidden: Vec<Params>,
    pub(super) vectors: BTreeMap<VectorLabels, Vec<Params>>,
    pub(super) links: BTreeMap<String, Vec<Params>>,
    /// The new records of a tree, with the ids of those above them.
    pub(super) tree: Vec<Params>,
    pub(super) models: BTreeSet<String>,
    /// The ends of imported synapses.
    pub(super) foreign: BTreeSet<String>,
    pub(super) counts: Counts,
}

/// Changes of the counts; a removal counts negatively.
#[derive(Default)]
pub(super) struct Counts {
    /// Records and their words.
    pub(super) collections: BTreeMap<CollectionKey, (i64, i64)>,
    /// The number of records with a word of each stem, by the number and the kind of their collection.
    pub(super) words: BTreeMap<(i64, &'static str), BTreeMap<String, i64>>,
    /// Vectors, by model.
    pub(super) vectors: BTreeMap<String, i64>,
    /// Searchable vectors, by the number of their model and their collection.
    pub(super) collection_vectors: BTreeMap<(i64, &'static str, Scope), i64>,
}

impl Counts {
    /// Subtracts a removed record from the counts.
    pub(super) fn subtract(&mut self, old: &OldVersion, models: &Models) {
        let counted = self.collections.entry((old.kind.name, old.scope.clone())).or_default();
        *counted = (counted.0 - 1, counted.1 - old.length);
        if let Some((collection, stems)) = old.indexed.as_deref().and_then(fulltext::indexed_stems) {
            let words = self.words.entry((collection, old.kind.name)).or_default();
            for stem in stems {
                *words.entry(stem.to_owned()).or_default() -= 1;
            }
        }
        for name in &old.models {
            self.add_vectors(name, models, old.kind, &old.scope, -1);
        }
    }

    /// Adds to the number of a model's vectors.
    pub(super) fn add_vectors(
        &mut self,
        name: &str,
        models: &Models,
        kind: &'static RecordKind,
        scope: &Scope,
        count: i64,
    ) {
        *self.vectors.entry(name.to_owned()).or_default() += count;
        if let Some((n, _)) = models.get(name).filter(|_| kind.embedded.is_some()) {
            *self.collection_vectors.entry((*n, kind.name, scope.clone())).or_default() += count;
        }
    }
}

impl New {
    /// Adds the amounts of a record to their sums, `times` times.
    pub(super) fn tally(&mut self, record: &StoredRecord, times: i64) {
        for tally in record.tallies() {
            *self.tallies.entry((tally.subject, tally.counter)).or_default() += times * tally.amount;
        }
    }

    pub(super) fn put_tombstone(&mut self, tombstone: &Tombstone) {
        self.tombstones.insert(tombstone.of.clone(), tombstone_row(tombstone));
    }
}
