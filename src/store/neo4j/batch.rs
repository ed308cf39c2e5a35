//! The outcome of each record of a batch, by what exists, and the changes of the graph that follow.

use super::changes::{VectorLabels, is_relation};
use super::fulltext;
use super::lock::Models;
use super::rows::{as_json, link_row, tombstone_row, too_long, vector_row};
use super::selection::collection_params;
use super::tombstones::Tombstones;
use super::values::Params;
use crate::record::{
    Embedding, Link, MESSAGE, MergeRule, Object, Record, RecordKind, SYNAPSE, Scope, StoredRecord, Tombstone,
    identity_digest,
};
use crate::store::forgetting::{Forgotten, Intake, WriteRules};
use crate::store::identity::{self, Written};
use crate::store::versions;
use crate::text::terms;
use neo4rs::BoltType;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A collection by the name of its kind, and its scope.
pub(super) type CollectionKey = (&'static str, Scope);

/// The natural key of a record, whatever its id: its kind, its time, and the parts of its own key.
pub(super) type NaturalKey = (&'static str, i64, Vec<String>);

/// A link by its ends and its relation: from, rel, to.
pub(super) type LinkKey = (String, String, String);

/// The record that has a natural key.
#[derive(Clone, PartialEq)]
pub(super) enum Twin {
    /// The record that has this id.
    Record(String),
    /// A node that rsv did not write, at this element.
    Unadopted(String),
}

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
    /// The records that have a one-to-one link, by relation and id: as its source, and as its target.
    pub(super) sources: HashSet<(String, String)>,
    pub(super) targets: HashSet<(String, String)>,
    pub(super) old_versions: HashMap<String, OldVersion>,
    /// The tombstones that may keep out its records.
    pub(super) tombstones: Tombstones,
    /// What happens to records that were forgotten; `None` where nothing was.
    pub(super) forgotten: Option<Forgotten>,
    /// The ids of the forgotten directories of the batch below which nothing lies.
    pub(super) empty_directories: HashSet<String>,
    pub(super) intake: Intake,
    /// The models that lost vectors earlier in the transaction.
    pub(super) shrunk: BTreeSet<String>,
    pub(super) new: New,
}

/// The changes to write.
#[derive(Default)]
pub(super) struct New {
    /// By their kinds and the models of which they lack vectors.
    pub(super) records: BTreeMap<(&'static str, Vec<i64>), Vec<Params>>,
    pub(super) adopted: BTreeMap<(&'static str, Vec<i64>), Vec<Params>>,
    pub(super) replaced: BTreeMap<(&'static str, Vec<i64>), Vec<Params>>,
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
            self.add_vectors((name, models), old.kind, &old.scope, -1);
        }
    }

    /// Adds to the number of a model's vectors.
    pub(super) fn add_vectors(
        &mut self,
        (name, models): (&str, &Models),
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

impl Batch {
    /// Adds a record to the batch and returns the outcome.
    pub(super) fn add(&mut self, record: &Record) -> Written {
        if let Some(refused) = too_long(record) {
            return refused;
        }
        match record {
            Record::Stored(record) => self.record(record),
            Record::Embedding(embedding) => self.embedding(embedding, true),
            Record::Link(link) => self.link(link),
            Record::Tombstone(tombstone) => Written::Same(tombstone.of.clone()),
        }
    }

    /// Adds a record and the vector that it carries, or neither.
    fn record(&mut self, record: &StoredRecord) -> Written {
        if let Some(refused) = self.wrong_dimension(record).or_else(|| self.refused_reference(record)) {
            return refused;
        }
        let there = self.records.get(&record.id);
        let twin = natural_key(record).and_then(|key| self.twins.get(&key)).filter(|_| there.is_none());
        let written = match (there, twin) {
            (Some(None), _) => Written::Differs,
            (None, Some(Twin::Unadopted(element))) => {
                let element = element.clone();
                if !self.admit(record) {
                    self.hide(element);
                    return Written::KeptOut;
                }
                self.adopt(record, element);
                Written::Same(record.id.clone())
            }
            (there, twin) => identity::write_outcome(record, there.and_then(Option::as_ref), id_of(twin)),
        };
        let there = self.records.get(&record.id).and_then(Option::as_ref);
        let digest = record.kind.versions.map(|_| identity_digest(record.kind.name, &record.id));
        let tombstone = digest.and_then(|of| self.tombstones.get(&of));
        let record = &*versions::dated(record, there, tombstone, self.intake);
        let takes_place = there.is_some_and(|there| versions::takes_place(record, there, self.intake));
        if matches!(written, Written::Same(_)) && takes_place {
            return self.version(record);
        }
        if written == Written::New && !self.admit(record) {
            return Written::KeptOut;
        }
        if let Some(merge) = record.kind.merge {
            return self.merge(record, merge, written);
        }
        let of = match &written {
            Written::New => {
                if let Some(refused) = self.refused_replacement(record) {
                    return refused;
                }
                self.create(record);
                record.id.clone()
            }
            Written::Same(_) if self.completes_parts(record) => {
                self.set_members(record);
                return Written::Replaced;
            }
            Written::Same(id) => id.clone(),
            _ => return written,
        };
        self.vector_of(record, of, written != Written::New);
        written
    }

    /// Puts a version in the place of the stored one, unless it was forgotten.
    fn version(&mut self, record: &StoredRecord) -> Written {
        if !self.admit(record) {
            return Written::KeptOut;
        }
        self.put_in_place(record);
        self.vector_of(record, record.id.clone(), true);
        Written::Replaced
    }

    /// Writes a record of a kind that merges versions; `written` is the outcome without merging.
    fn merge(&mut self, record: &StoredRecord, merge: MergeRule, written: Written) -> Written {
        match written {
            Written::New => {
                let merged = merge(None, record);
                self.create(merged.as_ref().unwrap_or(record));
                Written::New
            }
            Written::Same(id) => {
                let there = self.records.get(&record.id).cloned().flatten();
                let merged = there.as_ref().and_then(|there| merge(Some(there), record));
                let (Some(there), Some(merged)) = (there, merged) else { return Written::Same(id) };
                self.new.tally(&there, -1);
                self.new.tally(&merged, 1);
                self.set_members(&merged);
                Written::Replaced
            }
            written => written,
        }
    }

    /// The refusal of a record whose subject is missing.
    fn refused_reference(&self, record: &StoredRecord) -> Option<Written> {
        let (subject, id) = (record.kind.subject?, record.subject_id()?);
        match self.records.get(&id) {
            Some(Some(there)) if there.kind.name == subject.kind => None,
            None if self.tombstones.is_forgotten(&id) => Some(Written::KeptOut),
            _ => Some(identity::unknown_subject(record)),
        }
    }

    /// The refusal of a record that takes the place of one that is missing, or was replaced already.
    fn refused_replacement(&self, record: &StoredRecord) -> Option<Written> {
        let replaces = record.kind.replaces.filter(|_| self.intake == Intake::New)?;
        record.replaced_ids().iter().find_map(|id| match self.records.get(id) {
            Some(Some(there)) if there.kind == record.kind => {
                let is_replaced = self.sources.contains(&(replaces.rel.to_owned(), id.clone()));
                is_replaced.then(|| identity::replaced_already(record, id))
            }
            _ => Some(identity::unknown_replaced(record, id)),
        })
    }

    /// Links the records that a new record takes the place of.
    fn link_replaced(&mut self, record: &StoredRecord) {
        let Some(replaces) = record.kind.replaces else { return };
        for id in record.replaced_ids() {
            let link = Link::plain(replaces.rel, &id, &record.id, record.timestamp);
            if self.link(&link) == Written::New {
                self.sources.insert((link.rel, link.from));
            }
        }
    }

    /// Whether tombstones allow a record to be written; under `Forgotten::Return` they do, and say so from then on.
    fn admit(&mut self, record: &StoredRecord) -> bool {
        let Some(forgotten) = self.forgotten else { return true };
        let rules = WriteRules { forgotten, intake: self.intake };
        if rules == WriteRules::NEW && self.empty_directories.contains(&record.id) {
            return false;
        }
        let (may_be_written, returned) = self.tombstones.admit(record, forgotten);
        for tombstone in &returned {
            self.new.put_tombstone(tombstone);
        }
        may_be_written
    }

    /// Whether a record that may return has parts that its stored version lacks.
    fn completes_parts(&self, record: &StoredRecord) -> bool {
        let there = self.records.get(&record.id).and_then(Option::as_ref);
        matches!(self.forgotten, Some(Forgotten::Return { .. }))
            && there.is_some_and(|there| record.has_more_parts_than(there))
    }

    /// Replaces the members and the time of a stored record.
    fn set_members(&mut self, record: &StoredRecord) {
        let row = Params::new()
            .with("id", record.id.as_str())
            .with("timestamp", record.timestamp)
            .with("extra", as_json(&record.members));
        self.new.members.push(row);
        self.records.insert(record.id.clone(), Some(record.clone()));
    }

    /// The outcome of a vector or a link of a record that is not there; `member` names it.
    fn missing(&self, member: &str, id: &str) -> Written {
        let is_forgotten = self.tombstones.is_forgotten(id);
        if is_forgotten { Written::KeptOut } else { identity::unknown_record(member, id) }
    }

    /// Adds the replacement of a record and returns the outcome.
    pub(super) fn replace(&mut self, record: &StoredRecord) -> Written {
        let as_record = Record::Stored(record.clone());
        if let Some(refused) = too_long(&as_record).or_else(|| self.wrong_dimension(record)) {
            return refused;
        }
        let there = self.records.get(&record.id);
        let twin = natural_key(record).and_then(|key| self.twins.get(&key)).cloned();
        let written = match (there, &twin) {
            (Some(None), _) => Written::Differs,
            (None, Some(Twin::Unadopted(element))) => {
                if !self.admit(record) {
                    self.hide(element.clone());
                    return Written::KeptOut;
                }
                self.adopt(record, element.clone());
                self.vector_of(record, record.id.clone(), true);
                return Written::Same(record.id.clone());
            }
            (there, twin) => {
                identity::replace_outcome(record, there.and_then(Option::as_ref), id_of(twin.as_ref()))
            }
        };
        if matches!(written, Written::New | Written::Replaced) && !self.admit(record) {
            return Written::KeptOut;
        }
        match written {
            Written::New => self.create(record),
            Written::Replaced => self.put_in_place(record),
            _ => return written,
        }
        self.vector_of(record, record.id.clone(), written == Written::Replaced);
        written
    }

    /// Adds the vector that a record carries. It is late if the record existed without it.
    fn vector_of(&mut self, record: &StoredRecord, of: String, late: bool) {
        if let Some(vector) = &record.vector {
            let (model, vector) = (vector.model.clone(), vector.numbers.clone());
            self.embedding(&Embedding { of, model, vector, extra: Object::default() }, late);
        }
    }

    /// Adds a new node.
    fn create(&mut self, record: &StoredRecord) {
        let n = self.number();
        let properties = for_reservoir(record, self.properties(record, n));
        let missing_models =
            self.missing_models(record, record.vector.as_ref().map(|vector| vector.model.as_str()));
        self.new.records.entry((record.kind.name, missing_models)).or_default().push(properties);
        if record.kind.versions.is_some() {
            let row = Params::new().with("id", record.id.as_str());
            let parent = (record.kind.parent_id)(record);
            if let Some(parent) = &parent {
                self.empty_directories.remove(parent);
            }
            self.new.tree.push(row.with_some("parent", parent));
        }
        self.note(record);
        self.new.tally(record, 1);
        self.link_replaced(record);
    }

    /// Takes over a node that Reservoir wrote.
    fn adopt(&mut self, record: &StoredRecord, element: String) {
        let n = self.number();
        let properties = BoltType::Map(self.properties(record, n).into());
        let row = Params::new().with("properties", properties).with("element", element);
        let missing_models = self.missing_models(record, None);
        self.new.adopted.entry((record.kind.name, missing_models)).or_default().push(row);
        self.note(record);
    }

    /// Hides a node that Reservoir wrote: what it says was forgotten.
    fn hide(&mut self, element: String) {
        self.new.hidden.push(Params::new().with("element", element));
    }

    /// Replaces the content of a node and removes all its vectors.
    fn put_in_place(&mut self, record: &StoredRecord) {
        let Some(old) = self.old_versions.remove(&record.id) else { return };
        self.new.counts.subtract(&old, &self.models);
        self.new.without_vectors.push(record.id.clone());
        self.vectors.retain(|(of, _), _| *of != record.id);
        if record.kind.natural_key.is_some() {
            self.twins.retain(|_, twin| *twin != Twin::Record(record.id.clone()));
        }
        let properties = for_reservoir(record, self.properties(record, old.n));
        let missing_models =
            self.missing_models(record, record.vector.as_ref().map(|vector| vector.model.as_str()));
        self.new.replaced.entry((record.kind.name, missing_models)).or_default().push(properties);
        self.note(record);
    }

    /// Removes a record; returns whether it existed.
    pub(super) fn remove(&mut self, id: &str) -> bool {
        let Some(old) = self.old_versions.remove(id) else { return false };
        self.new.counts.subtract(&old, &self.models);
        self.new.removed.push(Params::new().with("element", old.element));
        true
    }

    fn note(&mut self, record: &StoredRecord) {
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
        let mut properties = Params::new()
            .with("rsv_id", record.id.as_str())
            .with("n", n)
            .with("partition", scope.partition.as_str())
            .with("instance", scope.instance.as_str())
            .with("timestamp", record.timestamp)
            .with("seq", i64::from(record.seq))
            .with("content", record.text.as_str())
            .with_some("trace_id", kind.traced.then_some(record.trace_id.as_str()))
            .with_some("role", record.role.map(|role| role.name()))
            .with_some("key", record.lookup_key())
            .with_some("extra", (!record.members.is_empty()).then(|| record.members.to_json()))
            .with_some("blank", (!record.is_embeddable()).then_some(true));
        if let Some(text) = record.indexed_text() {
            let folded = terms::fold(&text);
            let words: Vec<&str> = terms::words(&folded).collect();
            let stems = fulltext::stems(&words);
            counted.1 += words.len() as i64;
            let counted = self.new.counts.words.entry((collection, kind.name)).or_default();
            for stem in &stems {
                *counted.entry(stem.clone().into_owned()).or_default() += 1;
            }
            let indexed = fulltext::indexed(collection, &stems, &words);
            properties = properties.with("words", indexed).with("length", words.len() as i64);
        }
        if let Some(parent) = (kind.parent_id)(record) {
            properties = properties.with("parent", parent).with("title", record.member_text("title"));
        }
        if *kind == MESSAGE {
            properties = properties.with_some("url", record.members.text("url").ok().flatten());
        }
        properties
    }

    /// Adds a vector. It is late if its record existed without it.
    fn embedding(&mut self, embedding: &Embedding, late: bool) -> Written {
        let (embedding, kind, scope, timestamp) = match self.records.get(&embedding.of) {
            None => return self.missing("of", &embedding.of),
            Some(None) => return Written::Differs,
            Some(Some(record)) => {
                let Some(own) = versions::vector_of_version(embedding, record) else {
                    return Written::Same(embedding.of.clone());
                };
                (own, record.kind, record.scope.clone(), record.timestamp)
            }
        };
        let embedding = &*embedding;
        let dim = embedding.vector.len();
        if let Some(why) = self.other_dimension(&embedding.model, dim) {
            return Written::Refused(why);
        }
        let key = (embedding.of.clone(), embedding.model.clone());
        if let Some(stored) = self.vectors.get(&key) {
            return identity::vector_outcome(&embedding.of, stored, &embedding.vector);
        }
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
        self.new.counts.add_vectors((&embedding.model, &self.models), kind, &scope, 1);
        self.vectors.insert(key, embedding.vector.clone());
        Written::New
    }

    fn wrong_dimension(&self, record: &StoredRecord) -> Option<Written> {
        let vector = record.vector.as_ref()?;
        self.other_dimension(&vector.model, vector.numbers.len()).map(Written::Refused)
    }

    fn other_dimension(&self, model: &str, dim: usize) -> Option<String> {
        let (_, stored) = self.models.get(model)?;
        identity::other_dimension(model, dim, *stored)
    }

    /// Adds a link.
    fn link(&mut self, link: &Link) -> Written {
        if !is_relation(&link.rel) {
            return Written::Refused("rel: expected a name in capitals".to_owned());
        }
        for (end, id) in [("from", &link.from), ("to", &link.to)] {
            if !self.records.contains_key(id) {
                return self.missing(end, id);
            }
        }
        if let (Some(forgotten), Some(tombstone)) = (self.forgotten, self.tombstones.get(&link.digest()))
            && tombstone.is_of_link()
        {
            match forgotten {
                Forgotten::KeepOut => return Written::KeptOut,
                Forgotten::Return { at } => self.new.put_tombstone(&tombstone.returned(at)),
            }
        }
        let key = (link.from.clone(), link.rel.clone(), link.to.clone());
        if self.links.contains(&key) {
            return Written::Same(link.from.clone());
        }
        if identity::is_one_to_one(&link.rel) {
            let [source, target] = [&link.from, &link.to].map(|id| (link.rel.clone(), id.clone()));
            if self.sources.contains(&source) || self.targets.contains(&target) {
                return identity::second_answer(link);
            }
            self.sources.insert(source);
            self.targets.insert(target);
        }
        if link.rel == SYNAPSE {
            self.new.foreign.extend([link.from.clone(), link.to.clone()]);
        }
        let n = self.number();
        self.new.links.entry(link.rel.clone()).or_default().push(link_row(link, n));
        self.links.insert(key);
        Written::New
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

/// Adds the properties that Reservoir needs: it reads no message without an embedding, nor one whose `id` is no number.
fn for_reservoir(record: &StoredRecord, properties: Params) -> Params {
    if *record.kind == MESSAGE {
        return properties.with("embedding", BoltType::from_iter([0.0; 0]));
    }
    properties
}

/// The natural key of a record, if its kind has one.
pub(super) fn natural_key(record: &StoredRecord) -> Option<NaturalKey> {
    let key = record.kind.natural_key?;
    Some((record.kind.name, record.timestamp, key(record)))
}

fn id_of(twin: Option<&Twin>) -> Option<String> {
    match twin? {
        Twin::Record(id) => Some(id.clone()),
        Twin::Unadopted(_) => None,
    }
}
