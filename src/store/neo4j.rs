//! Records in a Neo4j graph, shared by any number of processes on any number of machines. Reservoir's graph is
//! extended, not changed: what rsv adds stands beside it.

mod ahead;
mod batch;
mod changes;
mod fault;
mod find;
mod graph;
mod known;
mod read;
mod schema;
mod server;
mod statements;
mod values;
mod vectors;
mod write;

use super::graph::{Alike, Changes, Graph, Linked, Of, Rule};
use super::words::Term;
use super::{Around, Claim, Cosines, Model, Occur, Pending, Related, Select, Store, Visit, Walk, Written};
use crate::config::StorePlace;
use crate::error::{Error, Result};
use crate::record::{Account, Embedding, Hit, Link, Message, Record, Scope, Scopes};
use ahead::{Begun, Prefetched};
use fault::{Answer, Fault};
use find::{Measure, Worded};
use server::Server;
use std::collections::HashMap;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use values::Params;

/// What the address of a server begins with.
pub(super) const SCHEMES: [&str; 6] = ["bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc"];

/// Who has not got a job within this time has it not.
const CLAIMED: Duration = Duration::from_millis(500);

/// A store on a server.
pub(super) struct Neo4j {
    server: Server,
    place: StorePlace,
    /// What was prefetched, and how many messages its scopes held. Either serves once, as there may be more later.
    prefetched: Option<Prefetched>,
    begun: Option<Begun>,
    counted: Option<(Scopes, usize)>,
    /// The numbers of models, as they were when they were asked for.
    models: HashMap<String, i64>,
}

impl Neo4j {
    /// Opens the graph, and adds to it what is missing: constraints and indexes.
    pub(super) fn open(place: &StorePlace) -> Result<Neo4j> {
        let opened = |fault| failed("open", place, fault);
        if place.address.contains('@') {
            return Err(Error::new(
                "cannot open the store: a name and a password have no place in its address",
            )
            .hint("set NEO4J_USERNAME and NEO4J_PASSWORD"));
        }
        let server = Server::of(place).map_err(opened)?;
        server.reach().map_err(opened)?;
        let prepared = schema::prepare(&server).map_err(opened)?;
        prepared.map_err(|error| error.at(format_args!("cannot open store {}", place.address)))?;
        Ok(Neo4j::on(server, place))
    }

    fn on(server: Server, place: &StorePlace) -> Neo4j {
        Neo4j {
            server,
            place: place.clone(),
            prefetched: None,
            begun: None,
            counted: None,
            models: HashMap::new(),
        }
    }

    /// Asks the server two things at once, on a connection each; one after the other where there is no thread for it.
    fn at_once<A: Send, B>(
        &self,
        one: impl Fn(&Neo4j) -> A + Sync,
        other: impl FnOnce(&Neo4j) -> B,
    ) -> (A, B) {
        thread::scope(|scope| {
            let begun = thread::Builder::new().spawn_scoped(scope, || one(self));
            let second = other(self);
            let first = match begun {
                Ok(begun) => begun.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(_) => one(self),
            };
            (first, second)
        })
    }

    /// Adds the store's address to what went wrong, in words.
    fn failed(&self, what: &str, fault: Fault) -> Error {
        failed(what, &self.place, fault)
    }
}

fn failed(what: &str, place: &StorePlace, fault: Fault) -> Error {
    let (cause, hint) = fault.in_words(place);
    let error = Error::new(format!("cannot {what} store {}", place.address)).because(cause);
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

impl Store for Neo4j {
    fn write(&mut self, batch: &[Record]) -> Result<Vec<Written>> {
        if batch.iter().any(|record| matches!(record, Record::Message(_))) {
            (self.prefetched, self.begun, self.counted) = (None, None, None);
        }
        let written = self.write_batch(batch).map_err(|e| self.failed("write to", e))?;
        if let Some(begun) = self.begun.take() {
            self.begun = begun.and(batch, &written);
        }
        Ok(written)
    }

    fn last(&mut self, which: &Select, count: usize) -> Result<Vec<Message>> {
        self.read_last(which, count).map_err(|e| self.failed("read", e))
    }

    fn last_of_each(&mut self, which: &[Select], count: usize) -> Result<Vec<Vec<Message>>> {
        self.read_last_of_each(which, count).map_err(|e| self.failed("read", e))
    }

    fn count(&mut self, which: &Select, most: usize) -> Result<usize> {
        match self.counted.take().filter(|(scopes, _)| which.is_whole() && *scopes == which.scopes) {
            Some((_, count)) => Ok(count.min(most)),
            None => self.count_up_to(which, most).map_err(|e| self.failed("read", e)),
        }
    }

    fn accounts(&mut self, which: &Select, digest: Option<&str>, count: usize) -> Result<Vec<Account>> {
        self.read_accounts(which, digest, count).map_err(|e| self.failed("read", e))
    }

    fn find(&mut self, terms: &[Term], occur: Occur, which: &Select, limit: usize) -> Result<Vec<Hit>> {
        let prefetched = self.prefetched.take();
        let found = match occur {
            Occur::Any => self.worded(prefetched, &(terms.to_vec(), which.clone(), limit), None),
            Occur::All => self.find_terms(terms, occur, which, limit, &Measure::new()),
        };
        found.map(|found| found.hits).map_err(|e| self.failed("search", e))
    }

    fn prefetch(&mut self, terms: &[Term], which: &Select, limit: usize) {
        let words = (terms.to_vec(), which.clone(), limit);
        let (store, asked) = (Neo4j::on(self.server.clone(), &self.place), words.clone());
        let measure = Arc::new(Measure::new());
        let later = measure.clone();
        let search = move || store.find_terms(&asked.0, Occur::Any, &asked.1, asked.2, &later);
        let search = thread::Builder::new().spawn(search).ok();
        self.prefetched = search.map(|search| Prefetched { words, measure, search });
    }

    fn begin(&mut self, terms: &[Term], (model, vector): (&str, &[f32]), which: &Select, limit: usize) {
        let words = (terms.to_vec(), which.clone(), limit);
        let (store, prefetched) = (Neo4j::on(self.server.clone(), &self.place), self.prefetched.take());
        let (asked, of, numbers) = (words.clone(), model.to_owned(), vector.to_vec());
        let search = move || store.find_related(prefetched, &asked, (&of, &numbers));
        self.begun = thread::Builder::new().spawn(search).ok().map(|search| Begun {
            words,
            model: model.to_owned(),
            vector: vector.to_vec(),
            search,
            pending: Vec::new(),
            fresh: Vec::new(),
        });
    }

    fn related(
        &mut self,
        terms: &[Term],
        (model, vector): (&str, &[f32]),
        which: &Select,
        limit: usize,
    ) -> Result<Related> {
        let words = (terms.to_vec(), which.clone(), limit);
        let meant = |begun: &Begun| begun.words == words && begun.model == model && begun.vector == vector;
        let prefetched = self.prefetched.take();
        let (found, fresh) = match self.begun.take().filter(meant) {
            Some(begun) => (begun.search.join().unwrap_or_else(|panic| resume_unwind(panic)), begun.fresh),
            None => (self.find_related(prefetched, &words, (model, vector)), Vec::new()),
        };
        let (near, worded) = found.map_err(|e| self.failed("search", e))?;
        let mut near = near.map_err(|dim| super::other_dimension(model, vector.len(), dim))?;
        let Worded { hits: worded, mut cosines, messages, .. } = worded;
        for hit in fresh {
            cosines.push((hit.message.id.clone(), hit.score));
            if !near.iter().any(|known| known.message.id == hit.message.id) {
                near.push(hit);
            }
        }
        self.counted = messages.map(|count| (which.scopes.clone(), count));
        Ok(Related { worded, near: Hit::best(near, limit), cosines })
    }

    fn walk(&mut self, what: &Walk, visit: &mut Visit) -> Result<()> {
        self.walk_all(what, visit).map_err(|e| match e {
            read::Stopped::Here(fault) => self.failed("read", fault),
            read::Stopped::There(error) => error,
        })
    }

    fn scope_of(&mut self, id: &str) -> Result<Option<Scope>> {
        self.scope_of_record(id).map_err(|e| self.failed("read", e))
    }

    fn scopes(&mut self) -> Result<Vec<(Scope, u64)>> {
        self.count_scopes().map_err(|e| self.failed("read", e))
    }

    fn nearest(&mut self, model: &str, vector: &[f32], which: &Select, limit: usize) -> Result<Vec<Hit>> {
        let found = self.find_nearest(model, vector, which, limit).map_err(|e| self.failed("search", e))?;
        found.map_err(|dim| super::other_dimension(model, vector.len(), dim))
    }

    fn similarities(&mut self, model: &str, vector: &[f32], ids: &[&str]) -> Result<Cosines> {
        self.cosines(model, vector, ids).map_err(|e| self.failed("read", e))
    }

    fn around(&mut self, messages: &[&Message], which: &Select, reach: usize) -> Result<Vec<Around>> {
        let read = self.read_around(messages, which, reach, None).map_err(|e| self.failed("read", e))?;
        Ok(read.0)
    }

    fn next_to(
        &mut self,
        ids: &[&str],
        messages: &[&Message],
        which: &Select,
    ) -> Result<(Vec<Link>, Vec<Around>)> {
        let (links, around) = self.at_once(
            |store| store.read_links(ids, None),
            |store| store.read_around(messages, which, 1, None),
        );
        let (around, _) = around.map_err(|e| self.failed("read", e))?;
        Ok((links.map_err(|e| self.failed("read", e))?, around))
    }

    fn around_measured(
        &mut self,
        messages: &[&Message],
        which: &Select,
        reach: usize,
        (model, vector, first): (&str, &[f32], usize),
    ) -> Result<(Vec<Around>, Cosines)> {
        // Every other one, so that both halves take as long.
        let half =
            |from: usize| -> Vec<&Message> { messages.iter().skip(from).step_by(2).copied().collect() };
        let read = |store: &Neo4j, from: usize| {
            let measured = (model, vector, first.saturating_sub(from).div_ceil(2));
            store.read_around(&half(from), which, reach, Some(measured))
        };
        let (one, other) = self.at_once(|store| read(store, 0), |store| read(store, 1));
        let (some, mut cosines) = one.map_err(|e| self.failed("read", e))?;
        let (others, more) = other.map_err(|e| self.failed("read", e))?;
        cosines.extend(more);
        let (mut some, mut others) = (some.into_iter(), others.into_iter());
        let around =
            (0..messages.len()).filter_map(|at| if at % 2 == 0 { some.next() } else { others.next() });
        Ok((around.collect(), cosines))
    }

    fn pending(&mut self, model: &str, which: &Select, limit: usize) -> Result<Pending> {
        let pending = self.read_pending(model, which, limit).map_err(|e| self.failed("read", e))?;
        if let Some(begun) =
            self.begun.as_mut().filter(|begun| begun.model == model && begun.words.1 == *which)
        {
            begun.pending.clone_from(&pending.newest);
        }
        Ok(pending)
    }

    fn models(&mut self) -> Result<Vec<Model>> {
        self.read_models().map_err(|e| self.failed("read", e))
    }

    fn replace(&mut self, vectors: &[Embedding], fact: Option<(&str, &str)>) -> Result<()> {
        self.begun = None;
        let replaced = self.replace_vectors(vectors, fact).map_err(|e| self.failed("write to", e))?;
        if replaced.map_err(Error::new)? {
            self.index_models().map_err(|e| self.failed("write to", e))?;
        }
        Ok(())
    }

    fn forget(&mut self, model: &str) -> Result<()> {
        self.begun = None;
        self.forget_model(model).map_err(|e| self.failed("write to", e))
    }

    /// The server keeps its indexes right by itself; one that is not there is made.
    fn mend(&mut self) -> Result<u64> {
        self.index_models().map(|()| 0).map_err(|e| self.failed("mend", e))
    }

    fn adopt(&mut self) -> Result<u64> {
        self.adopt_strangers().map_err(|e| self.failed("write to", e))
    }

    fn fact(&mut self, name: &str) -> Result<Option<String>> {
        let row = self.server.row(statements::FACT, Params::new().with("name", name));
        let value = row.and_then(|row| row.map(|row| row.get("value")).transpose());
        value.map_err(|e| self.failed("read", e))
    }

    fn set_fact(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        let statement = if value.is_some() { changes::SET_FACT } else { changes::FORGET_FACT };
        let params = Params::new().with("name", name).with("value", value);
        self.server.write(|t| t.run(statement, params.clone())).map_err(|e| self.failed("write to", e))
    }

    fn claim(&mut self, job: &str) -> Result<Option<Claim>> {
        self.take(job).map_err(|e| self.failed("write to", e))
    }
}

impl Neo4j {
    /// Holds a job by a transaction that stays open, on a connection of its own: the server lets go of it when
    /// that ends, however it does.
    fn take(&self, job: &str) -> Answer<Option<Claim>> {
        let own = Server::new(&self.place, 1)?;
        let mut transaction = own.begin()?;
        match transaction.within(CLAIMED).run(changes::CLAIM, Params::new().with("job", job)) {
            Ok(()) => Ok(Some(Claim(Box::new((transaction, own))))),
            Err(Fault::TooLong(_)) => Ok(None),
            Err(fault) => Err(fault),
        }
    }
}

impl Graph for Neo4j {
    fn links(&mut self, ids: &[&str], rel: Option<&str>) -> Result<Vec<Link>> {
        self.read_links(ids, rel).map_err(|e| self.failed("read", e))
    }

    fn messages(&mut self, ids: &[&str], which: &Select) -> Result<Vec<Message>> {
        self.read_messages(ids, which).map_err(|e| self.failed("read", e))
    }

    fn linked(&mut self, model: &str, scopes: &Scopes) -> Result<Vec<Linked>> {
        self.read_linked(model, scopes).map_err(|e| self.failed("read", e))
    }

    fn alike(&mut self, model: &str, scope: &Scope, of: Of, floor: f64, limit: usize) -> Result<Vec<Alike>> {
        self.find_alike(model, scope, of, floor, limit).map_err(|e| self.failed("read", e))
    }

    fn relink(
        &mut self,
        model: &str,
        scope: &Scope,
        rule: Rule,
        compared: &[Alike],
        changes: &Changes,
    ) -> Result<bool> {
        let made = self.make_synapses(model, scope, rule, compared, changes);
        made.map_err(|e| self.failed("write to", e))
    }

    fn prune(&mut self, model: &str, scope: &Scope, rule: Rule, anew: bool) -> Result<u64> {
        self.prune_synapses(model, scope, rule, anew).map_err(|e| self.failed("write to", e))
    }
}
