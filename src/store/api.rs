//! The capabilities of a store, in the words of the domain, and one call that retrieves by all of them.
//!
//! Any number of processes use a store at once. Every method is atomic: its writes are visible all or none,
//! and durable when it returns, and its reads see one snapshot. It fails if the store cannot be read or,
//! where it writes, written, and then changes nothing; other causes and exceptions stand at the method.

use super::audit::Audit;
use super::changes::{ChangeState, Witness};
use super::damage::Damage;
use super::error::Result;
use super::evidence::{Around, Evidence, Plan};
use super::forgetting::WriteRules;
use super::identity::WriteOutcome;
use super::languages::LANGUAGES;
use super::maintenance::Maintenance;
use super::number_ranges::NumberRanges;
use super::question::Question;
use super::select::{Collection, Select, Walk};
use super::synapses::{Changes, Compare, Compared, LinkState, Rule};
use crate::record::{
    Embedding, Hit, Link, Record, Scope, ScopeSummary, Scopes, StoredRecord, Tombstone, TombstoneState,
};
use crate::text::Languages;
use crate::text::terms::{Occur, Term};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// A store of any kind: searches, beside what its parts do.
pub trait Store: Records + Vectors + Links + State + Maintenance + Audit + Send {
    /// Retrieves the evidence for the records of a selection that may answer a question. Evidence that
    /// `earlier` has, for the same question, selection and reach, is not read again.
    fn retrieve(
        &mut self,
        question: &Question,
        which: &Select,
        plan: &Plan,
        earlier: Evidence,
    ) -> Result<Evidence>;

    /// Visits the best `limit` records in which the terms occur, ignoring case and accents. Best first; ties
    /// by time, newest first, then by id. Need not hold all at once. Ends with the visitor's error, if any.
    fn visit_found(
        &mut self,
        terms: &[Term],
        occur: Occur,
        which: &Select,
        limit: usize,
        visit: &mut VisitHit,
    ) -> Result<()>;

    /// The best `limit` records by the cosine of their vector of `model` with `vector`, filtered before they
    /// are ranked. The score is that cosine, -1 to 1, computed from the stored vector, of any length; it is 0
    /// if either is zero. Best first; ties by time, newest first, then by id. No hits for a model that the
    /// store does not know; errors if its vectors have another dimension.
    fn nearest(&mut self, model: &str, vector: &[f32], which: &Select, limit: usize) -> Result<Vec<Hit>>;

    /// The neighbours of each of these records: up to `reach` records of the selection before it in its
    /// collection, and as many after it, nearest first.
    fn around(&mut self, records: &[&StoredRecord], which: &Select, reach: usize) -> Result<Vec<Around>>;
}

/// Writing and reading records.
pub trait Records {
    /// Writes a batch, all or nothing, and returns the outcome of each record. Writing an existing record
    /// changes nothing, unless its kind has versions or merges them. An embedding or a link may name an
    /// earlier record of the batch. A tombstone replaces an older one of the same record, removes the record,
    /// and applies to the whole batch. A record that takes the place of others gets a link from each.
    fn write(&mut self, batch: &[Record], rules: WriteRules) -> Result<Vec<WriteOutcome>>;

    /// Removes something and keeps it out from then on: its tombstone is dated `at` (milliseconds since 1970,
    /// UTC) or just after an earlier tombstone of the same. Returns the number of removed records or links.
    /// All are removed or none, except that a database server may remove many records in several
    /// transactions.
    fn remove(&mut self, what: Removal, at: i64) -> Result<u64>;

    /// The records of a selection that have these ids, in no order.
    fn get(&mut self, ids: &[&str], which: &Select) -> Result<Vec<StoredRecord>>;

    /// The last `count` records of each selection, each oldest first.
    fn last(&mut self, which: &[Select], count: usize) -> Result<Vec<Vec<StoredRecord>>>;

    /// Counts the records of a selection, no further than `most`.
    fn count(&mut self, which: &Select, most: usize) -> Result<usize>;

    /// Summarizes the records of a selection by scope; in the order of their names. A store that can reads
    /// only the sizes of their texts.
    fn summarize(&mut self, which: &Select) -> Result<Vec<ScopeSummary>> {
        let mut summaries: BTreeMap<Scope, ScopeSummary> = BTreeMap::new();
        self.walk(&Walk::records(which.clone()), &mut |record| {
            if let Record::Stored(record) = record {
                let summary = summaries.entry(record.scope.clone());
                summary.or_insert_with(|| ScopeSummary::new(&record)).add(&record);
            }
            Ok(())
        })?;
        Ok(summaries.into_values().collect())
    }

    /// The tombstones of messages with the fingerprint of one of these, under any name that its partition
    /// had; each with the fingerprint under the present one.
    fn tombstones_of(&mut self, messages: &[&StoredRecord]) -> Result<Vec<Tombstone>>;

    /// Visits a selection: the tombstones of its scopes and times, by timestamp and digest; its records by
    /// timestamp, seq and id, those about other records last; then their embeddings; then the links with both
    /// ends in the selection. Ends with the visitor's error, if it returns one. Damage of the store is an
    /// error, unless the walk is to go around it: then it is returned. Tombstones of copies are the store's
    /// own.
    fn walk(&mut self, what: &Walk, visit: &mut Visit) -> Result<Option<Damage>>;
}

/// Records, copies of messages or a link to remove, and to keep out from then on.
#[derive(Clone, Copy, Debug)]
pub enum Removal<'a> {
    /// Records, with the records about them, their vectors, links and index entries. Their tombstones have
    /// this state.
    Records(&'a [&'a str], TombstoneState),
    /// Copies of messages, each with the id of the one that stays.
    Duplicates(&'a BTreeMap<&'a str, &'a str>),
    Link(&'a Link),
}

/// The function that a walk calls for each record.
pub type Visit<'a> = dyn FnMut(Record) -> crate::error::Result<()> + 'a;

/// The function that a search calls for each hit.
pub type VisitHit<'a> = dyn FnMut(Hit) -> crate::error::Result<()> + 'a;

/// The vectors for search by meaning.
pub trait Vectors {
    /// The last `limit` records of a selection that have a text to embed but no vector of `model`. Once the
    /// model has a first vector, the cost grows with the number of these records, not with the size of the
    /// store.
    fn unembedded(&mut self, model: &str, which: &Select, limit: usize) -> Result<Unembedded>;

    /// The models that the store has vectors of, by name.
    fn models(&mut self) -> Result<Vec<Model>>;

    /// Writes or replaces vectors; together with a fact, if one is given. Vectors of missing records are left
    /// out. Errors, and changes nothing, if one has another dimension than its model.
    fn put_vectors(&mut self, vectors: &[Embedding], fact: Option<(&str, &str)>) -> Result<()>;

    /// Removes every vector of a model, and their synapses; records without any vector are unembedded again.
    fn drop_model(&mut self, model: &str) -> Result<()>;
}

/// The records that have a text but no vector of a model.
#[derive(Debug, Default)]
pub struct Unembedded {
    /// The last of them, newest first.
    pub newest: Vec<StoredRecord>,
    /// The number of all of them.
    pub total: u64,
    /// Whether the store knows the model.
    pub model_known: bool,
}

/// The fact that names the model by which the store is searched; without it, that is the model of most
/// vectors.
pub const MODEL_FACT: &str = "model";

/// A model with vectors in the store.
#[derive(Clone, PartialEq, Debug)]
pub struct Model {
    pub name: String,
    /// The dimension of each vector.
    pub dim: usize,
    /// The number of vectors.
    pub vectors: u64,
}

/// Links between records, and the synapses that follow from vectors.
pub trait Links {
    /// The links, of one relation or of all, with one of these records as an end; each once, ordered by their
    /// ends.
    fn links(&mut self, ids: &[&str], rel: Option<&str>) -> Result<Vec<Link>>;

    /// The progress of linking each collection of some scopes that has vectors of a model; by scope. With
    /// `unlinked`, only of those with records that are not linked yet.
    fn link_states(&mut self, model: &str, scopes: &Scopes, unlinked: bool) -> Result<Vec<LinkState>>;

    /// Compares records of some collections, of one kind and partition, with the linked ones of these and
    /// with those before them in the result, which is in the order of writing: returns for each the `limit`
    /// nearest records whose cosine is at least `min_similarity`, best first. If very many are equally near,
    /// the newest of them. With `Newest`, returns nothing if the server would have to send the whole
    /// collections.
    fn compare(
        &mut self,
        model: &str,
        collections: &[Collection],
        which: Compare,
        min_similarity: f64,
        limit: usize,
    ) -> Result<Vec<Compared>>;

    /// Marks records as linked, and adds and removes synapses. A collection of theirs that has no rule gets
    /// this one. Does nothing, and returns false, if one of them has got another vector since they were
    /// compared.
    fn relink(&mut self, model: &str, rule: Rule, compared: &[Compared], changes: &Changes) -> Result<bool>;

    /// Removes the synapses of a collection that are weaker than the rule allows or of another model; with
    /// `rebuild` all of them, and marks its records as unlinked. Returns the number of removed synapses.
    fn prune(&mut self, model: &str, collection: &Collection, rule: Rule, rebuild: bool) -> Result<u64>;
}

/// The state of a store.
pub trait State {
    /// Sets a named fact about the store; `None` removes it.
    fn set_fact(&mut self, name: &str, value: Option<&str>) -> Result<()>;

    /// The facts whose names begin with a prefix, by name.
    fn facts(&mut self, prefix: &str) -> Result<Vec<(String, String)>>;

    /// The languages of the store's texts, English always among them; perhaps as they were a minute ago.
    fn languages(&mut self) -> Result<Languages> {
        let facts = self.facts(LANGUAGES)?;
        Ok(facts.first().map(|(_, codes)| Languages::parse(codes)).unwrap_or_default())
    }

    /// A number that changes when another connection than this one has written; `None` if the store has none.
    /// It can be compared with those of this connection alone.
    fn foreign_version(&mut self) -> Result<Option<i64>> {
        Ok(None)
    }

    /// Gives the keys of the fingerprints of all messages, in no order, if the store has a `foreign_version`.
    fn fingerprint_keys(&mut self, _visit: &mut dyn FnMut(i64)) -> Result<()> {
        Ok(())
    }

    /// Claims a job that only one process may do at a time, until the guard is dropped or the process ends;
    /// `None` if another process holds it.
    fn claim(&mut self, job: &str) -> Result<Option<Claim>>;

    /// The sums of the amounts that records add to some subjects.
    fn tallies(&mut self, subjects: &[&str]) -> Result<Tallies>;

    /// The scopes that are not empty, by name, with the number of their messages: all, or those of an
    /// instance of this name.
    fn scopes(&mut self, instance: Option<&str>) -> Result<Vec<(Scope, u64)>>;

    /// The ids of the records of any kind, also of an unknown one, that are among some, with their scopes; in
    /// no order.
    fn identify(&mut self, which: Among) -> Result<Vec<(String, Scope)>>;

    /// Whether each of some records was forgotten and would be kept out, under any id and in any form of the
    /// forgotten words.
    fn are_kept_out(&mut self, records: &[StoredRecord]) -> Result<Vec<bool>>;

    /// The numbers of the last changes. A later walk has all changes up to them.
    fn change_state(&mut self, earlier: &[Witness]) -> Result<ChangeState>;
}

/// Sums, by subject and counter.
pub type Tallies = BTreeMap<String, BTreeMap<String, i64>>;

/// Records by what the store knows of each.
#[derive(Clone, Copy, Debug)]
pub enum Among<'a> {
    Ids(&'a [&'a str]),
    /// The number of the id's digest ([`digest_number`](crate::record::digest_number)) is in one of these
    /// ranges.
    Digests(&'a [RangeInclusive<i64>]),
    /// The record has one of these numbers, and its last change, if it changed in place, one of `changes`.
    Numbers {
        numbers: &'a NumberRanges,
        changes: &'a NumberRanges,
    },
}

/// Holds a job until it is dropped.
pub struct Claim(#[allow(dead_code)] pub(super) Box<dyn Send>);

/// The purpose of opening a store.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum OpenMode {
    /// To use an existing store. Opening changes nothing; a missing file is an empty store, and stays
    /// missing.
    Existing,
    /// To write: a missing file is made.
    Create,
    /// To read what can be read of a damaged file, page by page.
    Recover,
    /// As `Create`, for one of many connections of a long-lived process: each caches less of the file.
    Pooled,
}
