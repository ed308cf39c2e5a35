//! What a selection holds: the last of it, all of it, what stands around a message.

use super::Neo4j;
use super::fault::{Answer, Fault};
use super::server::promptly;
use super::statements::{self, selected};
use super::values::{self, Linked, Listed, Params, Row, message};
use crate::error::Error;
use crate::record::{Account, Link, Message, Record, Scope, Scopes, Vector};
use crate::store::cosine::Query;
use crate::store::{Around, Cosines, Select, Visit, Walk};
use neo4rs::{BoltMap, BoltNull, BoltType};
use std::collections::{BTreeMap, BTreeSet};

/// What a place takes of a request beside its id, in bytes.
const PLACE: usize = 16;

/// A record has hardly more links than these.
const LINKS: usize = 16;

/// So many selections are read together.
const TOGETHER: usize = 1000;

/// A message, and how near its vector is.
type Measured = (Listed, Option<f64>, Option<Vec<f64>>);

/// What stands beside a place: beside which, whether before it, the message, and how near its vector is.
type Beside = (usize, bool, Listed, Option<f64>, Option<Vec<f64>>);

/// Why a walk ended early.
pub(super) enum Stopped {
    /// The server failed.
    Here(Fault),
    /// The visitor did.
    There(Error),
}

impl From<Fault> for Stopped {
    fn from(fault: Fault) -> Stopped {
        Stopped::Here(fault)
    }
}

/// A number of things as the server takes it.
pub(super) fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The conditions of a selection as parameters.
pub(super) fn params(which: &Select) -> Params {
    let until = [which.until, which.before.as_ref().map(|place| place.timestamp)];
    let until = until.into_iter().flatten().min().unwrap_or(i64::MAX);
    let before = which.before.as_ref().map(|place| {
        let place = Params::new()
            .with("timestamp", place.timestamp)
            .with("seq", i64::from(place.seq))
            .with("id", place.id.as_str());
        BoltType::Map(BoltMap::from(place))
    });
    let roles = which.roles.iter().map(|role| role.name()).collect::<BoltType>();
    let params = scope_params(&which.scopes)
        .with("trace_id", which.trace_id.clone())
        .with("roles", if which.roles.is_empty() { BoltType::Null(BoltNull) } else { roles })
        .with("since", which.since.unwrap_or(i64::MIN))
        .with("until", until)
        .with("before", before.unwrap_or(BoltType::Null(BoltNull)));
    params
        .with_texts("traces", which.except.traces.iter().map(String::as_str))
        .with_texts("ids", which.except.ids.iter().map(String::as_str))
}

/// The names of scopes as parameters.
pub(super) fn scope_params(scopes: &Scopes) -> Params {
    match scopes {
        Scopes::All => Params::new(),
        Scopes::Partition(partition) => Params::new().with("partition", partition.as_str()),
        Scopes::One(scope) => Params::new()
            .with("partition", scope.partition.as_str())
            .with("instance", scope.instance.as_str()),
    }
}

impl Neo4j {
    pub(super) fn read_last(&self, which: &Select, count: usize) -> Answer<Vec<Message>> {
        let params = params(which).with("count", number(count));
        let statement = selected(statements::LAST, which);
        let lists = self.server.lists::<(Listed,)>(&statement, params, count)?;
        let mut found: Vec<Message> =
            lists.into_iter().map(|(listed,)| Ok(message(listed)?.0)).collect::<Answer<_>>()?;
        found.sort_by_cached_key(Message::position);
        Ok(found)
    }

    /// As `read_last`, of several selections: those of one scope and a trace are read together.
    pub(super) fn read_last_of_each(&self, which: &[Select], count: usize) -> Answer<Vec<Vec<Message>>> {
        let of_trace = |which: &Select| which.trace_id.is_some() && matches!(which.scopes, Scopes::One(_));
        if !which.iter().all(of_trace) {
            return which.iter().map(|which| self.read_last(which, count)).collect();
        }
        let mut found = vec![Vec::new(); which.len()];
        for (at, some) in which.chunks(TOGETHER).enumerate() {
            let rows =
                some.iter().enumerate().map(|(i, which)| params(which).with("i", number(at * TOGETHER + i)));
            let params = Params::new().with_rows("rows", rows).with("count", number(count));
            for row in self.server.rows(&statements::each(statements::LAST_OF_EACH, some), params)? {
                let i = usize::try_from(row.get::<i64>("i")?).unwrap_or_default();
                if let Some(messages) = found.get_mut(i) {
                    messages.push(row.message()?);
                }
            }
        }
        found.iter_mut().for_each(|messages| messages.sort_by_cached_key(Message::position));
        Ok(found)
    }

    pub(super) fn count_up_to(&self, which: &Select, most: usize) -> Answer<usize> {
        if which.is_whole() {
            let sizes = self.sizes(&which.scopes)?;
            if !sizes.strangers {
                return Ok(most.min(sizes.corpus.docs as usize));
            }
        }
        let statement = selected(statements::COUNT, which);
        let row = self.server.row(&statement, params(which).with("most", number(most)))?;
        let count = row.map_or(Ok(0), |row| row.get::<i64>("count"))?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    pub(super) fn read_accounts(
        &self,
        which: &Select,
        digest: Option<&str>,
        count: usize,
    ) -> Answer<Vec<Account>> {
        let statement = match digest {
            Some(_) => selected(statements::ACCOUNTS_BY_DIGEST, which),
            None => selected(statements::ACCOUNTS, which),
        };
        let params = params(which).with("digest", digest).with("count", number(count));
        let mut found: Vec<Account> =
            self.server.rows(&statement, params)?.iter().map(Row::account).collect::<Answer<_>>()?;
        found.reverse();
        Ok(found)
    }

    pub(super) fn walk_all(&self, what: &Walk, visit: &mut Visit) -> Result<(), Stopped> {
        let last = self.server.row(statements::LAST_NUMBER, Params::new())?;
        let upto: i64 = last.map_or(Ok(0), |row| row.get("n"))?;
        let which = &what.which;
        let params = || params(which).with("upto", upto);
        let model = if what.vectors { self.main_model()? } else { None };
        let records = if what.accounts { statements::MESSAGES_AND_ACCOUNTS } else { statements::MESSAGES };
        let statement = selected(records, which);
        self.server.each(&statement, params().with("model", model.as_deref()), &mut |row| {
            visit(record(&row, model.as_deref())?).map_err(Stopped::There)
        })?;
        if what.embeddings {
            let statement = selected(statements::EMBEDDINGS, which);
            self.server.each(&statement, params(), &mut |row| {
                visit(Record::Embedding(row.embedding()?)).map_err(Stopped::There)
            })?;
        }
        if what.links {
            let statement = selected(statements::LINKS, which);
            self.server.each(&statement, params(), &mut |row| {
                visit(Record::Link(row.link()?)).map_err(Stopped::There)
            })?;
        }
        Ok(())
    }

    /// The name of the model that has the most vectors.
    fn main_model(&self) -> Answer<Option<String>> {
        let models = self.read_models()?;
        let most = models.iter().map(|model| model.vectors).max();
        Ok(models.into_iter().find(|model| Some(model.vectors) == most).map(|model| model.name))
    }

    pub(super) fn scope_of_record(&self, id: &str) -> Answer<Option<Scope>> {
        let row = self.server.row(statements::SCOPE_OF, Params::new().with("id", id))?;
        row.map(|row| row.scope()).transpose()
    }

    /// Whether there are messages that rsv neither wrote nor has taken over.
    pub(super) fn has_strangers(&self) -> Answer<bool> {
        let row = self.server.row(statements::STRANGERS, Params::new())?;
        Ok(row.map_or(Ok(0), |row| row.get::<i64>("strangers"))? > 0)
    }

    pub(super) fn count_scopes(&self) -> Answer<Vec<(Scope, u64)>> {
        let mut scopes: BTreeMap<Scope, u64> = BTreeMap::new();
        let mut rows = self.server.rows(statements::SCOPES, Params::new())?;
        if self.has_strangers()? {
            rows.extend(self.server.rows(statements::SCOPES_OF_STRANGERS, Params::new())?);
        }
        for row in rows {
            *scopes.entry(row.scope()?).or_default() += row.get::<i64>("messages")?.unsigned_abs();
        }
        Ok(scopes.into_iter().collect())
    }

    /// What stands around messages; measured, with the cosines of a vector with those of a model.
    pub(super) fn read_around(
        &self,
        messages: &[&Message],
        which: &Select,
        reach: usize,
        measured: Option<(&str, &[f32], usize)>,
    ) -> Answer<(Vec<Around>, Cosines)> {
        let (model, vector, mut first) = measured.unwrap_or_default();
        let statement = if measured.is_some() { statements::AROUND_MEASURED } else { statements::AROUND };
        let statement = &selected(statement, which);
        let query = Query::of(vector);
        let (mut all, mut cosines) = (Vec::new(), BTreeMap::new());
        let each = messages.iter().map(|message| message.id.len()).max().unwrap_or_default() + PLACE;
        for messages in messages.chunks(promptly(statement, vector.len(), each)) {
            let mut around = vec![Around::default(); messages.len()];
            // A place is of one scope, whatever others are meant.
            let params = places(messages, params(which)).with("reach", number(reach));
            let params = params.with("model", model).with_question(vector).with("first", number(first));
            first = first.saturating_sub(messages.len());
            let most = messages.len().saturating_mul(2 * reach);
            for (i, before, listed, cosine, vector) in self.server.lists::<Beside>(statement, params, most)? {
                let (message, _) = message(listed)?;
                if let Some(cosine) = values::cosine((cosine, vector), &query) {
                    cosines.insert(message.id.clone(), cosine);
                }
                if let Some(around) = around.get_mut(i) {
                    let side = if before { &mut around.before } else { &mut around.after };
                    side.push(message);
                }
            }
            all.append(&mut around);
        }
        for around in &mut all {
            around.before.sort_by_cached_key(|message| std::cmp::Reverse(message.position()));
            around.after.sort_by_cached_key(Message::position);
        }
        Ok((all, cosines.into_iter().collect()))
    }

    pub(super) fn read_messages(&self, ids: &[&str], which: &Select) -> Answer<Vec<Message>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let statement = selected(statements::MESSAGES_BY_ID, which);
        let params = params(which).with_texts("wanted", ids.iter().copied());
        let lists = self.server.lists::<(Listed,)>(&statement, params, ids.len())?;
        lists.into_iter().map(|(listed,)| Ok(message(listed)?.0)).collect()
    }

    /// The same, and the cosines of a vector with theirs of a model.
    pub(super) fn read_measured(
        &self,
        ids: &[&str],
        which: &Select,
        (model, vector): (&str, &[f32]),
    ) -> Answer<(Vec<Message>, Cosines)> {
        let statement = selected(statements::MESSAGES_MEASURED, which);
        let query = Query::of(vector);
        let (mut messages, mut cosines) = (Vec::new(), Vec::new());
        let each = ids.iter().map(|id| id.len()).max().unwrap_or_default() + 2;
        for ids in ids.chunks(promptly(&statement, vector.len(), each)) {
            let params = params(which).with_texts("wanted", ids.iter().copied());
            let params = params.with("model", model).with_question(vector);
            for (listed, cosine, vector) in self.server.lists::<Measured>(&statement, params, ids.len())? {
                let (message, _) = message(listed)?;
                if let Some(cosine) = values::cosine((cosine, vector), &query) {
                    cosines.push((message.id.clone(), cosine));
                }
                messages.push(message);
            }
        }
        Ok((messages, cosines))
    }

    pub(super) fn read_links(&self, ids: &[&str], rel: Option<&str>) -> Answer<Vec<Link>> {
        let params = Params::new().with_texts("wanted", ids.iter().copied()).with("rel", rel);
        let mut found = BTreeMap::new();
        let most = ids.len().saturating_mul(LINKS);
        for listed in self.server.lists::<Linked>(statements::LINKS_BY_ID, params, most)? {
            let link = values::link(listed)?;
            found.insert((link.from.clone(), link.rel.clone(), link.to.clone()), link);
        }
        Ok(found.into_values().collect())
    }
}

/// Where messages stand, as a statement is asked about it.
fn places(messages: &[&Message], params: Params) -> Params {
    let scopes: BTreeSet<&Scope> = messages.iter().map(|message| &message.scope).collect();
    let scopes = Vec::from_iter(scopes);
    let place = |message: &&Message| {
        let scope = scopes.binary_search(&&message.scope).unwrap_or_default();
        let numbers = [message.timestamp, i64::from(message.seq), number(scope)].map(BoltType::from);
        BoltType::from_iter([BoltType::from(message.id.as_str())].into_iter().chain(numbers))
    };
    let names = |scope: &&Scope| BoltType::from_iter([scope.partition.as_str(), scope.instance.as_str()]);
    params
        .with("places", messages.iter().map(place).collect::<BoltType>())
        .with("scopes", scopes.iter().map(names).collect::<BoltType>())
}

/// A row as a message, with the vector that it may carry, or as an account.
fn record(row: &Row, model: Option<&str>) -> Answer<Record> {
    if row.get("account")? {
        return row.account().map(Record::Account);
    }
    let mut message = row.message()?;
    if let (Some(model), Some(_)) = (model, row.get::<Option<Vec<f64>>>("vector")?) {
        message.vector = Some(Vector { model: model.to_owned(), numbers: row.vector("vector")? });
    }
    Ok(Record::Message(message))
}
