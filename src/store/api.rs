//! The capabilities of a store, in the words of the domain, and one call that retrieves by all of them.
//!
//! Any number of processes use a store at once. Every method is atomic: its writes are visible all or none, and durable
//! when it returns, and its reads see one snapshot.

use super::changes::{ChangeState, Witness};
use super::damage::Damage;
use super::error::Result;
use super::evidence::{Around, Cosines, Evidence, Plan};
use super::forgetting::WriteRules;
use super::identity::Written;
use super::question::Question;
use super::select::{Collection, Mark, Select, Walk};
use super::synapses::{Changes, Compare, Compared, LinkState, Rule, UnlinkedCollection};
use crate::error::Error;
use crate::record::{
    Embedding, Hit, Link, Record, RecordKind, Scope, ScopeSummary, Scopes, StoredRecord, TombstoneState,
};
use crate::text::terms::{Occur, Term};
use std::collections::BTreeMap;
use std::path::Path;

/// The greatest number of records that `visit_last` holds at once.
const MAX_HELD: usize = 1000;

/// A store of any kind.
pub trait Store: Records + Words + Vectors + Links + State + Send {
    /// Retrieves the evidence for the records of a selection that may answer a question. Evidence that `earlier` has,
    /// for the same question, selection and reach, is not read again.
    fn retrieve(
        &mut self,
        question: &Question,
        which: &Select,
        plan: &Plan,
        earlier: Evidence,
    ) -> Result<Evidence>;
}

/// Writing and reading records.
pub trait Records {
    /// Writes a batch, all or nothing, and returns the outcome of each record. Writing an existing record changes
    /// nothing, unless its kind has versions or merges them. An embedding or a link may name an earlier record of the batch. A
    /// tombstone replaces an older one of the same record, removes the record, and applies to the whole batch. A record
    /// that takes the place of others gets a link from each.
    fn write(&mut self, batch: &[Record], rules: WriteRules) -> Result<Vec<Written>>;

    /// Removes records with the records about them, their vectors, links and index entries. Returns the number of removed
    /// records.
    fn remove(&mut self, ids: &[&str]) -> Result<u64>;

    /// Removes records as `remove` does and writes tombstones of a state, dated `at` (milliseconds since 1970, UTC) or
    /// just after an earlier tombstone of the same record. Returns the number of removed records. All of them are removed
    /// or none, except that a database server may remove many in several transactions.
    fn bury(&mut self, ids: &[&str], state: TombstoneState, at: i64) -> Result<u64>;

    /// Removes records that are kept out from then on.
    fn forget(&mut self, ids: &[&str], at: i64) -> Result<u64> {
        self.bury(ids, TombstoneState::Forgotten, at)
    }

    /// The records of a selection that have these ids, in no order.
    fn get(&mut self, ids: &[&str], which: &Select) -> Result<Vec<StoredRecord>>;

    /// The last `count` records of each selection, each oldest first.
    fn last(&mut self, which: &[Select], count: usize) -> Result<Vec<Vec<StoredRecord>>>;

    /// The last `count` records of one selection, oldest first.
    fn last_of(&mut self, which: &Select, count: usize) -> Result<Vec<StoredRecord>> {
        Ok(self.last(std::slice::from_ref(which), count)?.pop().unwrap_or_default())
    }

    /// Visits the last `count` records of a selection, oldest first. Many are not held at once, but counted first: one
    /// that is written meanwhile may take the place of another.
    fn visit_last(&mut self, which: &Select, count: usize, visit: &mut Visit) -> Result<()> {
        if count <= MAX_HELD {
            for record in self.last_of(which, count)? {
                visit(Record::Stored(record))?;
            }
            return Ok(());
        }
        let total = self.count(which, usize::MAX)?;
        let mut places = 0..;
        self.walk(&Walk::records(which.clone()), &mut |record| match places.next() {
            Some(place) if (total.saturating_sub(count)..total).contains(&place) => visit(record),
            _ => Ok(()),
        })
    }

    /// The lookup keys of the records of a selection, in no order. A store that can reads nothing else of them.
    fn keys(&mut self, which: &Select) -> Result<Vec<String>> {
        let mut keys = Vec::new();
        self.walk(&Walk::records(which.clone()), &mut |record| {
            if let Record::Stored(record) = record {
                keys.extend(record.lookup_key());
            }
            Ok(())
        })?;
        Ok(keys)
    }

    /// The times of the last records of a kind that have these lookup keys, by key. A store that can reads nothing else
    /// of them.
    fn last_times(&mut self, kind: &'static RecordKind, keys: &[&str]) -> Result<BTreeMap<String, i64>> {
        let of_key =
            |key: &&str| Select { key: Some((*key).to_owned()), ..Select::records(vec![kind], Scopes::All) };
        let last = self.last(&keys.iter().map(of_key).collect::<Vec<_>>(), 1)?;
        let times =
            keys.iter().zip(last).filter_map(|(key, last)| Some(((*key).to_owned(), last.last()?.timestamp)));
        Ok(times.collect())
    }

    /// Counts the records of a selection, no further than `most`.
    fn count(&mut self, which: &Select, most: usize) -> Result<usize>;

    /// Summarizes the records of a selection by scope; in the order of their names. A store that can reads only the sizes
    /// of their texts.
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

    /// Visits a selection: the tombstones of its scopes and times, by timestamp and digest; its records by timestamp, seq
    /// and id, those about other records last; then their embeddings; then the links with both ends in the selection. Ends with the visitor's error, if it
    /// returns one.
    fn walk(&mut self, what: &Walk, visit: &mut Visit) -> Result<()>;

    /// Visits a selection as `walk` does. If the store is damaged, visits what can still be read, and returns the damage:
    /// what came before the damage was found is not visited again.
    fn walk_readable(&mut self, what: &Walk, visit: &mut Visit) -> Result<Option<Damage>> {
        self.walk(what, visit).map(|()| None)
    }

    /// A mark of the records that are there now, for a later walk: as long as it stays the same, none has come or gone.
    /// `None` if there are records without numbers.
    fn mark(&mut self) -> Result<Option<Mark>>;

    /// The numbers of the last changes. What is walked later has all changes up to them.
    fn change_state(&mut self, earlier: &[Witness]) -> Result<ChangeState>;
}

/// The function that a walk calls for each record.
pub type Visit<'a> = dyn FnMut(Record) -> crate::error::Result<()> + 'a;

/// The function that a search calls for each hit.
pub type VisitHit<'a> = dyn FnMut(Hit) -> crate::error::Result<()> + 'a;

/// Search by words.
pub trait Words {
    /// The best `limit` records in which the terms occur, case and accents aside. Best first; ties by time, newest
    /// first, then by id.
    fn find(&mut self, terms: &[Term], occur: Occur, which: &Select, limit: usize) -> Result<Vec<Hit>>;

    /// Visits the best `limit` records in which all terms occur, in the order of `find`. A store that can holds only
    /// some of them at once. Ends with the visitor's error, if it returns one.
    fn visit_found(
        &mut self,
        terms: &[Term],
        which: &Select,
        limit: usize,
        visit: &mut VisitHit,
    ) -> Result<()> {
        for hit in self.find(terms, Occur::All, which, limit)? {
            visit(hit)?;
        }
        Ok(())
    }
}

/// Search by meaning, and the vectors for it.
pub trait Vectors {
    /// The best `limit` records by the cosine of their vector of `model` with `vector`, filtered before they are
    /// ranked. The score is that cosine, -1 to 1, computed from the vector as it is stored, of whatever length; it is 0
    /// if either is zero. Best first; ties by time, newest first, then by id. No hits for a model that the store does
    /// not know; errors if its vectors have another dimension.
    fn nearest(&mut self, model: &str, vector: &[f32], which: &Select, limit: usize) -> Result<Vec<Hit>>;

    /// The cosines of a vector with the vectors of records, by their ids; records without a vector of the model are
    /// left out.
    fn similarities(&mut self, model: &str, vector: &[f32], ids: &[&str]) -> Result<Cosines>;

    /// The last `limit` records of a selection that have a text to embed but no vector of `model`. Once the model has a
    /// first vector, the cost grows with the number of these records, not with the size of the store.
    fn unembedded(&mut self, model: &str, which: &Select, limit: usize) -> Result<Unembedded>;

    /// The models that the store has vectors of, by name.
    fn models(&mut self) -> Result<Vec<Model>>;

    /// Writes or replaces vectors; together with a fact, if one is given. Vectors of missing records are left out.
    /// Errors, and changes nothing, if one has another dimension than its model.
    fn put_vectors(&mut self, vectors: &[Embedding], fact: Option<(&str, &str)>) -> Result<()>;

    /// Removes every vector of a model, and their synapses; records without any vector are unembedded again.
    fn drop_model(&mut self, model: &str) -> Result<()>;

    /// Compares the vector indexes with the vectors, and rebuilds those that differ. Returns their number.
    fn repair_vectors(&mut self) -> Result<u64>;
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

/// A model with vectors in the store.
#[derive(Clone, PartialEq, Debug)]
pub struct Model {
    pub name: String,
    /// The dimension of each vector.
    pub dim: usize,
    /// The number of vectors.
    pub vectors: u64,
}

/// Links between records, and neighbours in time.
pub trait Links {
    /// The links, of one relation or of all, with one of these records as an end; each once, ordered by their ends.
    fn links(&mut self, ids: &[&str], rel: Option<&str>) -> Result<Vec<Link>>;

    /// Removes a link, and keeps it out from then on: its tombstone is dated `at` (milliseconds since 1970, UTC) or just
    /// after an earlier one. Returns whether there was such a link.
    fn unlink(&mut self, link: &Link, at: i64) -> Result<bool>;

    /// The neighbours of each of these records: up to `reach` records of the selection before it in its collection, and
    /// as many after it, nearest first.
    fn around(&mut self, records: &[&StoredRecord], which: &Select, reach: usize) -> Result<Vec<Around>>;

    /// The progress of linking each collection of some scopes that has vectors of a model; by scope.
    fn link_states(&mut self, model: &str, scopes: &Scopes) -> Result<Vec<LinkState>>;

    /// The collections of some scopes that have records with a vector of a model that are not linked yet; by scope.
    fn unlinked(&mut self, model: &str, scopes: &Scopes) -> Result<Vec<UnlinkedCollection>>;

    /// Compares records of a collection with the linked ones and with those before them in the result: returns for each
    /// the `limit` nearest records whose cosine is at least `min_similarity`, best first. If very many are equally
    /// near, the newest of them. With `Newest`, returns nothing if the server would have to send the whole collection.
    fn compare(
        &mut self,
        model: &str,
        collection: &Collection,
        which: Compare,
        min_similarity: f64,
        limit: usize,
    ) -> Result<Vec<Compared>>;

    /// Marks records as linked, and adds and removes synapses. Does nothing, and returns false, if one of them has got
    /// another vector since they were compared.
    fn relink(
        &mut self,
        model: &str,
        collection: &Collection,
        rule: Rule,
        compared: &[Compared],
        changes: &Changes,
    ) -> Result<bool>;

    /// Removes the synapses of a collection that are weaker than the rule allows or of another model; with `anew` all
    /// of them, and marks its records as unlinked. Returns the number of removed synapses.
    fn prune(&mut self, model: &str, collection: &Collection, rule: Rule, anew: bool) -> Result<u64>;
}

/// The state of a store.
pub trait State {
    /// The value of a named fact about the store.
    fn fact(&mut self, name: &str) -> Result<Option<String>>;

    /// Sets a fact; `None` removes it.
    fn set_fact(&mut self, name: &str, value: Option<&str>) -> Result<()>;

    /// Claims a job that only one process may do at a time, until the guard is dropped or the process ends; `None` if
    /// another process holds it.
    fn claim(&mut self, job: &str) -> Result<Option<Claim>>;

    /// The sums of the amounts that records add to some subjects.
    fn tallies(&mut self, subjects: &[&str]) -> Result<Tallies>;

    /// Makes all sums anew from the records; returns whether any differed.
    fn rebuild_tallies(&mut self) -> Result<bool>;

    /// Makes all that follows from the records anew: indexes, marks and counts. Returns in words what was wrong, and what
    /// was done.
    fn repair(&mut self) -> Result<Vec<String>>;

    /// The scopes that are not empty, by name, with the number of their messages.
    fn scopes(&mut self) -> Result<Vec<(Scope, u64)>>;

    /// The same of the scopes whose instance has a name.
    fn scopes_named(&mut self, instance: &str) -> Result<Vec<(Scope, u64)>> {
        let mut scopes = self.scopes()?;
        scopes.retain(|(scope, _)| scope.instance == instance);
        Ok(scopes)
    }

    /// The scope of the record that has this id, whatever its kind.
    fn scope_of(&mut self, id: &str) -> Result<Option<Scope>>;

    /// Whether each of some records was forgotten and would be kept out, whatever its id is and in whatever form it says what
    /// was forgotten.
    fn are_kept_out(&mut self, records: &[StoredRecord]) -> Result<Vec<bool>>;

    /// Takes over the messages that another program wrote into the same database: each gets an id, and its vector is
    /// kept like all others. Returns their number.
    fn adopt(&mut self) -> Result<u64>;

    /// The messages that another program wrote into the same database and that cannot be read, so that they are left out
    /// everywhere: the reasons for the first `most`, and the number of all.
    fn unreadable(&mut self, most: usize) -> Result<(Vec<Error>, usize)>;

    /// Errors if the store's file was removed, renamed or replaced since it was opened.
    fn check_place(&mut self) -> Result<()>;

    /// Clears the rest of removed records from the store's files; waits some seconds for readers of old snapshots. Returns
    /// false if a reader is still active then; the next writer tries again.
    fn erase(&mut self) -> Result<bool>;

    /// Copies the store's file, as it is at one moment, into an empty one, while others may write to the store. Returns
    /// false, and copies nothing, if the store is no file.
    fn copy_file(&mut self, to: &Path) -> Result<bool>;

    /// The number of unused bytes in the store's file; 0 for a database server.
    fn free_bytes(&mut self) -> Result<u64>;

    /// Returns the unused bytes to the file system. Errors if other programs keep using the store for some seconds.
    fn compact(&mut self) -> Result<()>;

    /// Checks the database file, and returns up to `most` errors in words; none if a database server checks itself.
    fn integrity_errors(&mut self, most: u32) -> Result<Vec<String>>;
}

/// Sums, by subject and counter.
pub type Tallies = BTreeMap<String, BTreeMap<String, i64>>;

/// The fact that is set while the store's files still hold text of removed records.
pub const ERASE_PENDING: &str = "erase";

/// Holds a job until it is dropped.
pub struct Claim(#[allow(dead_code)] pub(super) Box<dyn Send>);

/// The purpose of opening a store.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum OpenMode {
    /// To use an existing store. Opening changes nothing; a missing file is an empty store, and stays missing.
    Existing,
    /// To write: a missing file is made.
    Create,
    /// To read what can be read of a damaged file, page by page.
    Recover,
    /// As `Create`, for one of many connections of a long-lived process: each caches less of the file.
    Pooled,
}
