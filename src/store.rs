//! Where records are kept. One trait in the words of the domain; SQLite or Neo4j behind it.
//!
//! An embedding and a link name a record by its id, whatever its kind, so that a new kind is one more
//! row here and not another store.

mod cosine;
pub mod graph;
mod neo4j;
mod ranking;
mod sqlite;
pub mod words;

use crate::cli::Io;
use crate::config::{Settings, StorePlace};
use crate::error::{Error, Result};
use crate::record::{Account, Embedding, Hit, Link, Message, Position, Record, Role, Scope, Scopes};
use std::collections::{BTreeSet, HashSet};
use words::Term;

/// A store that any number of processes use at once. Nothing that a method writes is seen, or lost, in
/// part; what is written is durable when the method returns; what a read gives is of one instant.
pub trait Store: graph::Graph + Send {
    /// Writes a batch, whole or not at all, and tells for each record what became of it. What is there
    /// already changes nothing. An embedding or a link may name a record that stands earlier in the batch.
    fn write(&mut self, batch: &[Record]) -> Result<Vec<Written>>;

    /// The last `count` messages of a selection, oldest first.
    fn last(&mut self, which: &Select, count: usize) -> Result<Vec<Message>>;

    /// The last `count` messages of each of several selections, each oldest first.
    fn last_of_each(&mut self, which: &[Select], count: usize) -> Result<Vec<Vec<Message>>> {
        which.iter().map(|which| self.last(which, count)).collect()
    }

    /// How many messages a selection holds; counts no further than `most`.
    fn count(&mut self, which: &Select, most: usize) -> Result<usize>;

    /// The last `count` accounts of a selection, oldest first; with a digest those that have it as their `digest`.
    fn accounts(&mut self, which: &Select, digest: Option<&str>, count: usize) -> Result<Vec<Account>>;

    /// The best `limit` messages in which the terms occur, case and accents aside. Best first; ties by
    /// time, newest first, then by id.
    fn find(&mut self, terms: &[Term], occur: Occur, which: &Select, limit: usize) -> Result<Vec<Hit>>;

    /// Visits what a selection holds: messages and accounts by timestamp, seq and id; then embeddings;
    /// then links, as far as both their ends are of the selection.
    fn walk(&mut self, what: &Walk, visit: &mut Visit) -> Result<()>;

    /// The scope of the record that has this id, whatever its kind.
    fn scope_of(&mut self, id: &str) -> Result<Option<Scope>>;

    /// The scopes that hold anything, by name, with the number of their messages.
    fn scopes(&mut self) -> Result<Vec<(Scope, u64)>>;

    /// The best `limit` messages by the cosine of their vector of `model` with `vector`, filtered before
    /// they are ranked. The score is that cosine, -1 to 1, computed from the vector as it is stored, of
    /// whatever length; it is 0 if either is zero. Best first; ties by time, newest first, then by id. None
    /// for a model that the store does not know; errors if its vectors have another dimension.
    fn nearest(&mut self, model: &str, vector: &[f32], which: &Select, limit: usize) -> Result<Vec<Hit>>;

    /// The cosines of a vector with those of messages, by their ids; those that have none of the model are left
    /// out.
    fn similarities(&mut self, model: &str, vector: &[f32], ids: &[&str]) -> Result<Cosines>;

    /// Tells what `related`, its vector aside, or `find` of any of the terms will be asked for next, for so many at
    /// most: a store that can do so begins to look for the words.
    fn prefetch(&mut self, _terms: &[Term], _which: &Select, _limit: usize) {}

    /// Tells what `related` will be asked for next: a store that can do so begins with it. Vectors that are written
    /// meanwhile, of messages that `pending` gave for the same selection, count all the same.
    fn begin(&mut self, _terms: &[Term], _meant: (&str, &[f32]), _which: &Select, _limit: usize) {}

    /// What speaks for messages: the best `limit` by words, any of the terms, and the best by a vector of a model, as
    /// `find` and `nearest` give them, each of one instant; and the cosines of those that words alone found.
    fn related(
        &mut self,
        terms: &[Term],
        (model, vector): (&str, &[f32]),
        which: &Select,
        limit: usize,
    ) -> Result<Related> {
        let worded = self.find(terms, Occur::Any, which, limit)?;
        let near = self.nearest(model, vector, which, limit)?;
        let cosines = self.similarities(model, vector, &unmeasured(&worded, &near))?;
        Ok(Related { worded, near, cosines })
    }

    /// The messages of a selection that stand around each of these in its scope, at one instant each: up to `reach`
    /// before it and as many after it, nearest first.
    fn around(&mut self, messages: &[&Message], which: &Select, reach: usize) -> Result<Vec<Around>>;

    /// The links of records, by their ids, and what of a selection stands before and after each of some messages: as
    /// `links` and `around` give them.
    fn next_to(
        &mut self,
        ids: &[&str],
        messages: &[&Message],
        which: &Select,
    ) -> Result<(Vec<Link>, Vec<Around>)> {
        Ok((self.links(ids, None)?, self.around(messages, which, 1)?))
    }

    /// As `around`, and the cosines of a vector with those of what stands around the first so many of the messages,
    /// as `similarities` gives them.
    fn around_measured(
        &mut self,
        messages: &[&Message],
        which: &Select,
        reach: usize,
        (model, vector, first): (&str, &[f32], usize),
    ) -> Result<(Vec<Around>, Cosines)> {
        let around = self.around(messages, which, reach)?;
        let measured = around.iter().take(first).flat_map(Around::all);
        let ids: BTreeSet<&str> = measured.map(|other| other.id.as_str()).collect();
        let cosines = self.similarities(model, vector, &Vec::from_iter(ids))?;
        Ok((around, cosines))
    }

    /// The last `limit` messages of a selection that have words but no vector of `model`. Costs as much as there
    /// are, not as much as there is in the store, once there is a first vector of the model.
    fn pending(&mut self, model: &str, which: &Select, limit: usize) -> Result<Pending>;

    /// The models that the store has vectors of, by name.
    fn models(&mut self) -> Result<Vec<Model>>;

    /// Puts vectors in the place of those that messages have of their model; together with a fact, if one is
    /// given. A vector of a record that is not there is left out. Errors, and changes nothing, if one has
    /// another dimension than its model.
    fn replace(&mut self, vectors: &[Embedding], fact: Option<(&str, &str)>) -> Result<()>;

    /// Removes every vector of a model, and the synapses that they gave; what lacks one is pending again.
    fn forget(&mut self, model: &str) -> Result<()>;

    /// Compares the indexes of vectors with the vectors, and makes those anew that differ. Gives their number.
    fn mend(&mut self) -> Result<u64>;

    /// What is wrong with the records as they are kept, in words, up to so many faults; nothing where a database
    /// server sees to that itself.
    fn faults(&mut self, _most: u32) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Takes over the messages that another program wrote into the same database: each gets an id, and its vector
    /// is kept as those of all. Gives their number, which is 0 where nobody else writes.
    fn adopt(&mut self) -> Result<u64>;

    /// Something that the store remembers about itself under a name.
    fn fact(&mut self, name: &str) -> Result<Option<String>>;

    /// Remembers a fact, or with `None` no longer.
    fn set_fact(&mut self, name: &str, value: Option<&str>) -> Result<()>;

    /// Takes a job that only one process may do at a time, until the guard is dropped or the process ends;
    /// `None` if another has it.
    fn claim(&mut self, job: &str) -> Result<Option<Claim>>;
}

/// The cosines of a vector with those of messages, by their ids.
pub type Cosines = Vec<(String, f64)>;

/// What is related to a question by its words, and by its meaning.
#[derive(Default)]
pub struct Related {
    pub worded: Vec<Hit>,
    pub near: Vec<Hit>,
    /// Of what words found, as far as it is not near and has a vector; more than that does no harm.
    pub cosines: Cosines,
}

/// The messages that have words but no vector of a model.
#[derive(Debug, Default)]
pub struct Pending {
    /// The last of them, newest first.
    pub newest: Vec<Message>,
    /// How many there are.
    pub total: u64,
    /// Whether the store knows the model.
    pub known: bool,
}

fn ids_of<'a>(messages: impl Iterator<Item = &'a Message>) -> Vec<&'a str> {
    messages.map(|message| message.id.as_str()).collect()
}

/// The ids of what words found and meaning did not.
fn unmeasured<'a>(worded: &'a [Hit], near: &[Hit]) -> Vec<&'a str> {
    let near: HashSet<&str> = near.iter().map(|hit| hit.message.id.as_str()).collect();
    worded.iter().map(|hit| hit.message.id.as_str()).filter(|id| !near.contains(id)).collect()
}

/// What stands around a message in its scope, nearest first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Around {
    pub before: Vec<Message>,
    pub after: Vec<Message>,
}

impl Around {
    /// Both sides.
    pub fn all(&self) -> impl Iterator<Item = &Message> {
        self.before.iter().chain(&self.after)
    }
}

/// A model of which there are vectors.
#[derive(Clone, PartialEq, Debug)]
pub struct Model {
    pub name: String,
    /// How many numbers each vector has.
    pub dim: usize,
    /// How many vectors there are.
    pub vectors: u64,
}

/// A job that is taken as long as this is kept.
pub struct Claim(#[allow(dead_code)] Box<dyn Send>);

/// What `walk` calls for each record.
pub type Visit<'a> = dyn FnMut(Record) -> Result<()> + 'a;

/// How the terms of a question must occur in a message.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Occur {
    /// Every term.
    All,
    /// At least one.
    Any,
}

/// What became of a record that was to be written.
#[derive(Clone, PartialEq, Debug)]
pub enum Written {
    /// It is new.
    New,
    /// It was there; of a message, under this id.
    Same(String),
    /// Something else is there under its id, or another vector of its model, which stays.
    Differs,
    /// It cannot be written, and why.
    Refused(String),
}

/// Which messages are meant. Every condition must hold.
#[derive(Clone, PartialEq, Debug)]
pub struct Select {
    pub scopes: Scopes,
    pub trace_id: Option<String>,
    /// Any of these; none means every role.
    pub roles: Vec<Role>,
    /// The earliest timestamp.
    pub since: Option<i64>,
    /// The latest timestamp.
    pub until: Option<i64>,
    /// Only what stands before this place.
    pub before: Option<Position>,
    pub except: Except,
}

/// What is left out of a selection, whatever else speaks for it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Except {
    /// Every message of these traces.
    pub traces: Vec<String>,
    /// The messages that have these ids.
    pub ids: Vec<String>,
}

impl Select {
    /// Everything in these scopes.
    pub fn of(scopes: Scopes) -> Select {
        Select {
            scopes,
            trace_id: None,
            roles: Vec::new(),
            since: None,
            until: None,
            before: None,
            except: Except::default(),
        }
    }

    /// Whether there is no condition but the scope.
    fn is_whole(&self) -> bool {
        let Select { scopes: _, trace_id, roles, since, until, before, except } = self;
        let free = trace_id.is_none() && roles.is_empty() && since.is_none() && until.is_none();
        free && before.is_none() && *except == Except::default()
    }

    /// Whether a message meets every condition but the scope.
    fn admits(&self, message: &Message) -> bool {
        self.trace_id.as_ref().is_none_or(|trace| *trace == message.trace_id)
            && (self.roles.is_empty() || self.roles.contains(&message.role))
            && self.since.is_none_or(|since| message.timestamp >= since)
            && self.until.is_none_or(|until| message.timestamp <= until)
            && self.before.as_ref().is_none_or(|before| message.position() < *before)
            && !self.except.traces.contains(&message.trace_id)
            && !self.except.ids.contains(&message.id)
    }
}

/// What `walk` visits.
#[derive(Clone, Debug)]
pub struct Walk {
    pub which: Select,
    pub accounts: bool,
    /// Whether each message carries the vector of the model that has the most.
    pub vectors: bool,
    pub embeddings: bool,
    pub links: bool,
}

impl Walk {
    /// Messages alone.
    pub fn messages(which: Select) -> Walk {
        Walk { which, accounts: false, vectors: false, embeddings: false, links: false }
    }
}

/// What the caller means to do: a store that is not there is made by writing, and is empty for reading.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Access {
    Read,
    Write,
    /// To write, as one of many connections of a process that stays: each holds less of the file in memory.
    Serve,
}

/// The error of a question's vector that has another length than those of its model.
fn other_dimension(model: &str, given: usize, dim: usize) -> Error {
    Error::new(format!("the question's vector has {given} numbers, but those of {model} have {dim}"))
}

/// The scopes of a store, as far as they can be told at once: nothing is made, brought up to date or waited for,
/// and no server is asked.
pub fn glance(place: &StorePlace) -> Vec<Scope> {
    match place.address.split_once(':') {
        Some(("sqlite", path)) => sqlite::glance(path.as_ref()),
        _ => Vec::new(),
    }
}

/// Opens a store for a tool that only reads. That the one which a flag names is not there is told: its name may be
/// misspelt, and else nothing would show that.
pub fn open_to_read(settings: &Settings, io: &Io) -> Result<Box<dyn Store>> {
    let place = settings.store()?;
    let store = open(&place, Access::Read)?;
    if io.common.store.is_some() && place.path().is_some_and(|path| !path.exists()) {
        io.note(format_args!("there is nothing at {}", place.address));
    }
    Ok(store)
}

/// Opens a store: a file (`sqlite:PATH`) or a Neo4j server. An error names the address, the cause and a remedy.
pub fn open(place: &StorePlace, access: Access) -> Result<Box<dyn Store>> {
    let address = &place.address;
    match address.split_once(':') {
        Some(("sqlite", path)) if !path.is_empty() => {
            Ok(Box::new(sqlite::Sqlite::open(path.as_ref(), access)?))
        }
        Some((scheme, _)) if neo4j::SCHEMES.contains(&scheme) => Ok(Box::new(neo4j::Neo4j::open(place)?)),
        _ => Err(Error::new(format!("cannot open store {address}: not an address"))
            .hint("use sqlite:PATH or bolt://HOST")),
    }
}
