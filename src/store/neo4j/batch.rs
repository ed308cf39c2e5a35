//! The existing records of a batch, and the changes of the graph that follow from them.

use super::batch_changes::{CollectionKey, New, OldVersion};
use super::changes::VectorLabels;
use super::error::{DbError, DbResult};
use super::fulltext::IndexedText;
use super::lock::Models;
use super::record_node::{self, for_reservoir};
use super::rows::{as_json, link_row, vector_row};
use super::selection::{collection_params, scope_params};
use super::tombstones::Tombstones;
use super::values::Params;
use crate::record::{Embedding, Link, RecordKind, SYNAPSE, Scope, StoredRecord, URI};
use crate::store::identity::{NameLimit, is_one_to_one};
use crate::store::imports::Import;
use crate::store::write_plan::{AddedLink, Change, Holder, Owner, Twin, WriteTarget};
use crate::text::language_detection::ToldLanguages;
use neo4rs::BoltType;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The natural key of a record, regardless of its id: its kind, its time, and the parts of its own key.
pub(super) type NaturalKey = (&'static str, i64, Vec<String>);

/// A link by its ends and its relation: from, rel, to.
pub(super) type LinkKey = (String, String, String);

/// A batch: the records that exist, and those that will be written.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) next: i64,
    /// By their ids; `None` where this process does not know the kind.
    pub(super) records: HashMap<String, Option<StoredRecord>>,
    pub(super) twins: HashMap<NaturalKey, Twin>,
    pub(super) collections: HashMap<CollectionKey, i64>,
    pub(super) models: Models,
    pub(super) vectors: HashMap<(String, String), Vec<f32>>,
    pub(super) links: HashSet<LinkKey>,
    /// The records that have a link of a relation of which all were read, by relation and id: as its source,
    /// and as its target.
    pub(super) sources: HashSet<(String, String)>,
    pub(super) targets: HashSet<(String, String)>,
    pub(super) old_versions: HashMap<String, OldVersion>,
    /// The tombstones that may keep out its records.
    pub(super) tombstones: Tombstones,
    pub(super) has_tombstones: bool,
    /// The forgotten directories of the batch without descendants.
    pub(super) empty_directories: Vec<StoredRecord>,
    /// The models that lost vectors earlier in the transaction.
    pub(super) shrunk: BTreeSet<String>,
    pub(super) new: New,
    /// The languages of its new texts.
    pub(super) languages: ToldLanguages,
    /// The import that it is of.
    pub(super) import: Option<Import>,
    /// The numbers of its new records; the ids of those that stay as they are, and of those that change.
    pub(super) new_numbers: Vec<i64>,
    pub(super) same: Vec<String>,
    pub(super) changed: Vec<String>,
}

impl WriteTarget for Batch {
    type Error = DbError;
    type Tombstones = Tombstones;

    const NAME_LIMIT: Option<NameLimit> = Some(NameLimit { bytes: 2000, database: "Neo4j" });

    fn tombstones(&self) -> Option<&Tombstones> {
        self.has_tombstones.then_some(&self.tombstones)
    }

    fn holder(&self, record: &StoredRecord) -> DbResult<Holder<'_>> {
        Ok(match self.records.get(&record.id) {
            Some(Some(existing)) => Holder::Own(Cow::Borrowed(existing)),
            Some(None) => Holder::Unknown,
            None => {
                let twin = natural_key(record).and_then(|key| self.twins.get(&key));
                twin.cloned().map_or(Holder::Nothing, Holder::Twin)
            }
        })
    }

    fn kind_of(&self, id: &str) -> DbResult<Option<String>> {
        let name = |existing: &Option<StoredRecord>| {
            existing.as_ref().map_or("", |existing| existing.kind.name).to_owned()
        };
        Ok(self.records.get(id).map(name))
    }

    fn owner(&self, id: &str) -> DbResult<Option<Owner<'_>>> {
        let existing = self.records.get(id);
        Ok(existing.map(|existing| {
            existing.as_ref().map_or(Owner::Unknown, |existing| Owner::Versioned(Cow::Borrowed(existing)))
        }))
    }

    fn vector(&self, of: &str, model: &str) -> DbResult<Option<Cow<'_, [f32]>>> {
        let vector = self.vectors.get(&(of.to_owned(), model.to_owned()));
        Ok(vector.map(|vector| Cow::Borrowed(vector.as_slice())))
    }

    fn dim(&self, model: &str) -> DbResult<Option<usize>> {
        Ok(self.models.get(model).map(|(_, dim)| *dim))
    }

    fn has_link_from(&self, rel: &str, id: &str) -> DbResult<bool> {
        Ok(self.sources.contains(&(rel.to_owned(), id.to_owned())))
    }

    fn is_empty_directory(&self, directory: &StoredRecord) -> DbResult<bool> {
        Ok(self.empty_directories.iter().any(|empty| empty.id == directory.id))
    }

    fn add_link(&mut self, link: &Link) -> DbResult<AddedLink> {
        if !self.records.contains_key(&link.from) {
            return Ok(AddedLink::NoSource);
        }
        if !self.records.contains_key(&link.to) {
            return Ok(AddedLink::NoTarget);
        }
        let [source, target] = [&link.from, &link.to].map(|id| (link.rel.clone(), id.clone()));
        if self.links.contains(&link_key(link)) {
            return Ok(AddedLink::Same);
        }
        let is_linked = self.sources.contains(&source) || self.targets.contains(&target);
        if is_one_to_one(&link.rel) && is_linked {
            return Ok(AddedLink::SecondAnswer);
        }
        self.sources.insert(source);
        self.targets.insert(target);
        if link.rel == SYNAPSE {
            self.new.foreign.extend([link.from.clone(), link.to.clone()]);
        }
        let n = self.number();
        self.new.links.entry(link.rel.clone()).or_default().push(link_row(link, n));
        self.links.insert(link_key(link));
        Ok(AddedLink::New)
    }

    fn note_same(&mut self, id: &str) -> DbResult<()> {
        self.same.push(id.to_owned());
        Ok(())
    }

    fn apply(&mut self, change: Change<'_>) -> DbResult<()> {
        match change {
            Change::Insert(record) => {
                self.create(&record);
                self.add_vector_of(&record, false);
            }
            Change::Replace(record) => {
                self.put_in_place(&record);
                self.add_vector_of(&record, true);
            }
            Change::Update(record) => self.set_members(record),
            Change::Adopt(record, element) => {
                self.adopt(record, element);
                self.add_vector_of(record, true);
            }
            Change::Hide(element) => self.new.hidden.push(Params::new().with("element", element)),
            Change::AddVector(embedding) => self.add_vector(&embedding, true),
            Change::PutTombstone(tombstone) => {
                self.new.put_tombstone(&tombstone);
                self.tombstones.put(tombstone);
            }
        }
        Ok(())
    }
}

impl Batch {
    /// Replaces the members and the time of a stored record.
    fn set_members(&mut self, record: StoredRecord) {
        self.tally_instead(&record);
        let row = Params::new()
            .with("id", record.id.as_str())
            .with("timestamp", record.timestamp)
            .with("extra", as_json(&record.members))
            .with("derived", record_node::derived(&record));
        self.changed.push(record.id.clone());
        self.new.members.push(row);
        self.records.insert(record.id.clone(), Some(record));
    }

    /// Changes sums by a record that takes the place of the one that has its id.
    fn tally_instead(&mut self, record: &StoredRecord) {
        if let Some(Some(existing)) = self.records.get(&record.id) {
            self.new.tally(existing, -1);
        }
        self.new.tally(record, 1);
    }

    /// Adds a new node.
    fn create(&mut self, record: &StoredRecord) {
        let n = self.number();
        self.new_numbers.push(n);
        let properties = for_reservoir(record, self.properties(record, n));
        let missing_models =
            self.missing_models(record, record.vector.as_ref().map(|vector| vector.model.as_str()));
        self.new.records.entry((record.kind.name, missing_models)).or_default().push(properties);
        if record.kind.versions.is_some() {
            let row = Params::new().with("id", record.id.as_str());
            self.new.tree.push(row.with_some("parent", (record.kind.parent_id)(record)));
            self.empty_directories.retain(|directory| !lies_below(record, directory));
        }
        self.track(record);
        self.new.tally(record, 1);
    }

    /// Takes over a node that Reservoir wrote.
    fn adopt(&mut self, record: &StoredRecord, element: String) {
        let n = self.number();
        let properties = BoltType::Map(self.properties(record, n).into());
        let row = Params::new().with("properties", properties).with("element", element);
        let missing_models = self.missing_models(record, None);
        self.new.adopted.entry((record.kind.name, missing_models)).or_default().push(row);
        self.track(record);
    }

    /// Replaces the content of a node and removes all its vectors.
    fn put_in_place(&mut self, record: &StoredRecord) {
        let Some(old) = self.old_versions.remove(&record.id) else { return };
        self.tally_instead(record);
        self.new.counts.subtract(&old, &self.models);
        self.new.without_vectors.push(record.id.clone());
        self.changed.push(record.id.clone());
        self.vectors.retain(|(of, _), _| *of != record.id);
        let properties = for_reservoir(record, self.properties(record, old.n));
        let missing_models =
            self.missing_models(record, record.vector.as_ref().map(|vector| vector.model.as_str()));
        self.new.replaced.entry((record.kind.name, missing_models)).or_default().push(properties);
        self.track(record);
    }

    /// Moves a record to another name of its partition; its vectors and links stay. Returns the number of its
    /// node, and that of the change.
    pub(super) fn move_record(&mut self, record: &StoredRecord, renamed: &StoredRecord) -> Option<[i64; 2]> {
        let old = self.old_versions.remove(&record.id)?;
        self.new.tally(record, -1);
        self.new.tally(renamed, 1);
        self.new.counts.subtract(&old, &self.models);
        for model in &old.models {
            self.new.counts.add_vectors(model, &self.models, renamed.kind, &renamed.scope, 1);
        }
        let change = self.number();
        let properties = BoltType::Map(self.properties(renamed, old.n).into());
        let row = scope_params(&renamed.scope).with("id", record.id.as_str()).with("n", change);
        self.new.moved.push(row.with("properties", properties));
        Some([old.n, change])
    }

    /// Removes a record; returns whether it existed.
    pub(super) fn remove(&mut self, id: &str) -> bool {
        let Some(old) = self.old_versions.remove(id) else { return false };
        self.new.counts.subtract(&old, &self.models);
        self.new.removed.push(Params::new().with("element", old.element));
        true
    }

    fn track(&mut self, record: &StoredRecord) {
        self.records.insert(record.id.clone(), Some(record.clone()));
        if let Some(key) = natural_key(record) {
            self.twins.insert(key, Twin::Record(record.id.clone()));
        }
    }

    /// The models of which a record lacks a vector if it has one of `model`.
    fn missing_models(&self, record: &StoredRecord, model: Option<&str>) -> Vec<i64> {
        if !record.is_embeddable() {
            return Vec::new();
        }
        let others = self.models.iter().filter(|(name, _)| model != Some(name.as_str()));
        others.map(|(_, (n, _))| *n).collect()
    }

    /// Counts a record and returns the properties of its node, which gets the number `n`.
    fn properties(&mut self, record: &StoredRecord, n: i64) -> Params {
        let (kind, scope) = (record.kind, &record.scope);
        let collection = self.collection(kind, scope);
        let counted = self.new.counts.collections.entry((kind.name, scope.clone())).or_default();
        counted.0 += 1;
        let mut properties = record_node::properties(record).with("n", n);
        if let Some(text) = record.indexed_text() {
            self.languages.add(&text);
            let IndexedText { words, stems, length } = IndexedText::of(collection, &text);
            counted.1 += length;
            let counted = self.new.counts.words.entry((collection, kind.name)).or_default();
            for stem in stems {
                *counted.entry(stem).or_default() += 1;
            }
            properties = properties.with("words", words).with("length", length);
        }
        properties
    }

    /// Adds the vector that a record carries. It is late if the record existed without it.
    fn add_vector_of(&mut self, record: &StoredRecord, late: bool) {
        if let Some(vector) = &record.vector {
            self.add_vector(&record.embedding(&vector.model, vector.numbers.clone()), late);
        }
    }

    /// Adds a vector of an existing record.
    fn add_vector(&mut self, embedding: &Embedding, late: bool) {
        let Some(Some(StoredRecord { kind, scope, timestamp, .. })) = self.records.get(&embedding.of) else {
            return;
        };
        let (kind, scope, timestamp, dim) = (*kind, scope.clone(), *timestamp, embedding.vector.len());
        let model = match self.models.get(&embedding.model) {
            Some((model, _)) => *model,
            None => {
                let model = self.number();
                self.models.insert(embedding.model.clone(), (model, dim));
                self.new.models.insert(embedding.model.clone());
                model
            }
        };
        let version = self.number();
        let row = vector_row(embedding, collection_params(kind.name, &scope), timestamp, version);
        self.new.vectors.entry(VectorLabels::new(kind, model, dim, late)).or_default().push(row);
        self.new.counts.add_vectors(&embedding.model, &self.models, kind, &scope, 1);
        self.vectors.insert((embedding.of.clone(), embedding.model.clone()), embedding.vector.clone());
    }

    /// The number of a collection, which may be new.
    fn collection(&mut self, kind: &'static RecordKind, scope: &Scope) -> i64 {
        let key = (kind.name, scope.clone());
        if let Some(n) = self.collections.get(&key) {
            return *n;
        }
        let n = self.number();
        self.collections.insert(key, n);
        n
    }

    fn number(&mut self) -> i64 {
        self.next += 1;
        self.next
    }
}

/// The natural key of a record, if its kind has one.
pub(super) fn natural_key(record: &StoredRecord) -> Option<NaturalKey> {
    let key = record.kind.natural_key?;
    Some((record.kind.name, record.timestamp, key(record)))
}

fn link_key(link: &Link) -> LinkKey {
    (link.from.clone(), link.rel.clone(), link.to.clone())
}

/// Whether a document lies below a directory.
fn lies_below(document: &StoredRecord, directory: &StoredRecord) -> bool {
    let below = document.member_text(URI);
    let below = below.strip_prefix(&directory.member_text(URI)).is_some_and(|rest| rest.starts_with('/'));
    below && document.kind == directory.kind && document.scope.partition == directory.scope.partition
}
