//! The capabilities of a store, in the words of the domain, and one call that retrieves by all of them.
//!
//! Any number of processes use a store at once. Nothing that a method writes is seen, or lost, in part; what is written
//! is durable when the method returns; what a method reads is of one instant.

use super::error::Result;
use super::evidence::{Around, Cosines, Evidence, Plan};
use super::forgetting::Forgotten;
use super::identity::Written;
use super::question::Question;
use super::select::{Collection, Select, Walk};
use super::synapses::{Changes, Compare, Compared, LinkState, Rule};
use super::terms::{Occur, Term};
use crate::record::{Embedding, Hit, Link, Record, Scope, Scopes, StoredRecord};

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
    /// Writes a batch, whole or not at all, and tells for each record what became of it. What is there already
    /// changes nothing. An embedding or a link may name a record that stands earlier in the batch. A tombstone that is
    /// newer than one that is there takes its place, and its record away; it holds for the whole batch.
    fn write(&mut self, batch: &[Record], forgotten: Forgotten) -> Result<Vec<Written>>;

    /// Writes records in the place of those that have their ids, all or none: vectors, the synapses that those gave
    /// and index entries go with the version before, other links stay. What is not there yet is new.
    fn replace(&mut self, records: &[StoredRecord]) -> Result<Vec<Written>>;

    /// Removes records with all that hangs on them: vectors, links, index entries. Gives how many there were.
    fn remove(&mut self, ids: &[&str]) -> Result<u64>;

    /// Removes records as `remove` does, and keeps them out from now on, by tombstones of a time (milliseconds since
    /// 1970, UTC) or later. Gives how many there were.
    fn forget(&mut self, ids: &[&str], at: i64) -> Result<u64>;

    /// The records of a selection that have these ids, in no order.
    fn get(&mut self, ids: &[&str], which: &Select) -> Result<Vec<StoredRecord>>;

    /// The last `count` records of each selection, each oldest first.
    fn last(&mut self, which: &[Select], count: usize) -> Result<Vec<Vec<StoredRecord>>>;

    /// The last `count` records of one selection, oldest first.
    fn last_of(&mut self, which: &Select, count: usize) -> Result<Vec<StoredRecord>> {
        Ok(self.last(std::slice::from_ref(which), count)?.pop().unwrap_or_default())
    }

    /// Counts the records of a selection, no further than `most`.
    fn count(&mut self, which: &Select, most: usize) -> Result<usize>;

    /// Visits what a selection holds: tombstones by timestamp and digest; records by timestamp, seq and id; then their embeddings; then links, as far as
    /// both their ends are of the selection. Ends with the visitor's error, if it gives one.
    fn walk(&mut self, what: &Walk, visit: &mut Visit) -> Result<()>;
}

/// The function that a walk calls for each record.
pub type Visit<'a> = dyn FnMut(Record) -> crate::error::Result<()> + 'a;

/// Search by words.
pub trait Words {
    /// The best `limit` records in which the terms occur, case and accents aside. Best first; ties by time, newest
    /// first, then by id.
    fn find(&mut self, terms: &[Term], occur: Occur, which: &Select, limit: usize) -> Result<Vec<Hit>>;
}

/// Search by meaning, and the vectors that it takes.
pub trait Vectors {
    /// The best `limit` records by the cosine of their vector of `model` with `vector`, filtered before they are
    /// ranked. The score is that cosine, -1 to 1, computed from the vector as it is stored, of whatever length; it is
    /// 0 if either is zero. Best first; ties by time, newest first, then by id. None for a model that the store does
    /// not know; errors if its vectors have another dimension.
    fn nearest(&mut self, model: &str, vector: &[f32], which: &Select, limit: usize) -> Result<Vec<Hit>>;

    /// The cosines of a vector with those of records, by their ids; those that have none of the model are left out.
    fn similarities(&mut self, model: &str, vector: &[f32], ids: &[&str]) -> Result<Cosines>;

    /// The last `limit` records of a selection that have a text to embed but no vector of `model`. Costs as much as
    /// there are, not as much as there is in the store, once there is a first vector of the model.
    fn unembedded(&mut self, model: &str, which: &Select, limit: usize) -> Result<Unembedded>;

    /// The models that the store has vectors of, by name.
    fn models(&mut self) -> Result<Vec<Model>>;

    /// Puts vectors in the place of those that records have of their model; together with a fact, if one is given. A
    /// vector of a record that is not there is left out. Errors, and changes nothing, if one has another dimension
    /// than its model.
    fn put_vectors(&mut self, vectors: &[Embedding], fact: Option<(&str, &str)>) -> Result<()>;

    /// Removes every vector of a model, and the synapses that they gave; what lacks one is unembedded again.
    fn drop_model(&mut self, model: &str) -> Result<()>;

    /// Compares the indexes of vectors with the vectors, and makes those anew that differ. Gives their number.
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

/// A model of which there are vectors.
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
    /// The links, of one relation or of all, that have one of these records as an end; each once, by their ends.
    fn links(&mut self, ids: &[&str], rel: Option<&str>) -> Result<Vec<Link>>;

    /// The records of a selection that stand around each of these in its collection: up to `reach` before it and as
    /// many after it, nearest first.
    fn around(&mut self, records: &[&StoredRecord], which: &Select, reach: usize) -> Result<Vec<Around>>;

    /// The progress of linking each collection of some scopes that has vectors of a model; by scope.
    fn link_states(&mut self, model: &str, scopes: &Scopes) -> Result<Vec<LinkState>>;

    /// Records of a collection with what resembles them among those that are linked already and those before them in
    /// this list: the `limit` nearest whose cosine is at least `floor`, best first. Where very many are equally near,
    /// the newest of them.
    fn compare(
        &mut self,
        model: &str,
        collection: &Collection,
        which: Compare,
        min_similarity: f64,
        limit: usize,
    ) -> Result<Vec<Compared>>;

    /// Takes records for linked, and makes and removes the synapses that follow. Does nothing, and gives false, if one
    /// of them has got another vector since they were compared.
    fn relink(
        &mut self,
        model: &str,
        collection: &Collection,
        rule: Rule,
        compared: &[Compared],
        changes: &Changes,
    ) -> Result<bool>;

    /// Removes the synapses of a collection that are weaker than the rule wants or of another model; with `anew` all
    /// of them, so that none of its records is linked any more. Gives their number.
    fn prune(&mut self, model: &str, collection: &Collection, rule: Rule, anew: bool) -> Result<u64>;
}

/// The state of a store.
pub trait State {
    /// The value of a named fact about the store.
    fn fact(&mut self, name: &str) -> Result<Option<String>>;

    /// Sets a fact; `None` removes it.
    fn set_fact(&mut self, name: &str, value: Option<&str>) -> Result<()>;

    /// Takes a job that only one process may do at a time, until the guard is dropped or the process ends; `None` if
    /// another has it.
    fn claim(&mut self, job: &str) -> Result<Option<Claim>>;

    /// The scopes that hold anything, by name, with the number of their messages.
    fn scopes(&mut self) -> Result<Vec<(Scope, u64)>>;

    /// The scope of the record that has this id, whatever its kind.
    fn scope_of(&mut self, id: &str) -> Result<Option<Scope>>;

    /// Takes over the messages that another program wrote into the same database: each gets an id, and its vector is
    /// kept as those of all. Gives their number, which is 0 where nobody else writes.
    fn adopt(&mut self) -> Result<u64>;

    /// Sees to it that nothing of what was removed is left in the files of the store, and waits some seconds for those
    /// who still read it. False if somebody does so for longer; then the next process that writes goes on.
    fn erase(&mut self) -> Result<bool>;

    /// The bytes of the store's files that are free; 0 where a database server sees to that itself.
    fn free_bytes(&mut self) -> Result<u64>;

    /// Gives the free bytes back to the file system.
    fn compact(&mut self) -> Result<()>;

    /// What is wrong with the records as they are kept, in words, up to so many faults; nothing where a database
    /// server sees to that itself.
    fn integrity_errors(&mut self, most: u32) -> Result<Vec<String>>;
}

/// A job that is taken as long as this is kept.
pub struct Claim(#[allow(dead_code)] pub(super) Box<dyn Send>);

/// The purpose of opening a store.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum OpenMode {
    /// To use what is there. Opening changes nothing; a file that is missing is empty, and stays missing.
    Existing,
    /// To write: a file that is missing is made.
    Create,
    /// As `Create`, as one of many connections of a process that stays: each holds less of the file in memory.
    Pooled,
}
