//! Writing a batch of records.

use super::super::Written;
use super::embedding::{self, Grown};
use super::{graph, index, lacking};
use crate::record::{Account, Content, Embedding, Link, Message, Object, Record, SYNAPSE, Scope};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use std::collections::{BTreeMap, HashMap};

/// What this process has seen in the file, to spare looking it up again.
#[derive(Default)]
pub(super) struct Known {
    scopes: HashMap<Scope, i64>,
}

/// Writes all records in one transaction that holds the write lock from its beginning: one that began
/// by reading could not get it against another writer, however long it waited.
pub(super) fn write(
    connection: &mut Connection,
    known: &mut Known,
    batch: &[Record],
) -> rusqlite::Result<Vec<Written>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut writer =
        Writer { transaction: &transaction, known, fresh: BTreeMap::new(), vectors: Grown::default() };
    let written = batch
        .iter()
        .map(|record| match record {
            Record::Message(message) => writer.message(message),
            Record::Account(account) => writer.account(account),
            Record::Embedding(embedding) => writer.embedding(embedding),
            Record::Link(link) => write_link(&transaction, link),
        })
        .collect::<rusqlite::Result<Vec<Written>>>()?;
    for (scope, count) in std::mem::take(&mut writer.fresh) {
        index::grow(&transaction, scope, count)?;
    }
    writer.vectors.settle(&transaction)?;
    transaction.commit()?;
    Ok(written)
}

struct Writer<'a> {
    transaction: &'a Transaction<'a>,
    known: &'a mut Known,
    /// How many messages are new, by scope.
    fresh: BTreeMap<i64, i64>,
    vectors: Grown,
}

impl Writer<'_> {
    /// Writes a message and the vector that came with it, or neither.
    fn message(&mut self, message: &Message) -> rusqlite::Result<Written> {
        let Some(vector) = &message.vector else { return self.without_vector(message) };
        if let Some(misfit) = self.misfit(&vector.model, vector.numbers.len())? {
            return Ok(misfit);
        }
        let written = self.without_vector(message)?;
        let of = match &written {
            Written::New => message.id.clone(),
            Written::Same(id) => id.clone(),
            _ => return Ok(written),
        };
        let (model, vector) = (vector.model.clone(), vector.numbers.clone());
        self.embedding(&Embedding { of, model, vector, extra: Object::default() })?;
        Ok(written)
    }

    fn without_vector(&mut self, message: &Message) -> rusqlite::Result<Written> {
        let scope = self.scope(&message.scope)?;
        let text = message.content.text();
        let parts = match &message.content {
            Content::Text(_) => None,
            Content::Parts(json) => Some(&**json),
            Content::Null => Some("null"),
        };
        if let Some(there) = self.same(message, scope, &text, parts)? {
            return Ok(there);
        }
        let sql =
            "INSERT INTO record (id, kind, scope, trace_id, timestamp, seq, role, content, parts, extra)
                   VALUES (?, 'message', ?, ?, ?, ?, ?, ?, ?, ?)";
        let extra = as_json(&message.extra);
        let (role, seq) = (message.role.name(), message.seq);
        let row =
            params![message.id, scope, message.trace_id, message.timestamp, seq, role, text, parts, extra];
        let n = self.transaction.prepare_cached(sql)?.insert(row)?;
        lacking::note(self.transaction, (n, scope, message.timestamp), &text)?;
        *self.fresh.entry(scope).or_default() += 1;
        Ok(Written::New)
    }

    /// The message that is there already: under its id, or with the same scope, trace, role, content and
    /// timestamp under another.
    fn same(
        &self,
        message: &Message,
        scope: i64,
        text: &str,
        parts: Option<&str>,
    ) -> rusqlite::Result<Option<Written>> {
        let sql = "SELECT kind = 'message' AND scope = ? AND role = ? AND content IS ? AND parts IS ?
                   FROM record WHERE id = ?";
        let role = message.role.name();
        let by_id = params![scope, role, text, parts, message.id];
        let agrees = self.transaction.prepare_cached(sql)?.query_row(by_id, |row| row.get(0)).optional()?;
        if let Some(agrees) = agrees {
            return Ok(Some(if agrees { Written::Same(message.id.clone()) } else { Written::Differs }));
        }
        let sql = "SELECT id FROM record WHERE trace_id = ? AND timestamp = ? AND kind = 'message'
                   AND +scope = ? AND role = ? AND content IS ? AND parts IS ?";
        let by_all = params![message.trace_id, message.timestamp, scope, role, text, parts];
        let id = self.transaction.prepare_cached(sql)?.query_row(by_all, |row| row.get(0)).optional()?;
        Ok(id.map(Written::Same))
    }

    fn account(&mut self, account: &Account) -> rusqlite::Result<Written> {
        let scope = self.scope(&account.scope)?;
        let sql = "INSERT INTO record (id, kind, scope, trace_id, timestamp, seq, extra)
                   VALUES (?, 'account', ?, ?, ?, 0, ?) ON CONFLICT (id) DO NOTHING";
        let row = params![account.id, scope, account.trace_id, account.timestamp, account.members.to_json()];
        let new = self.transaction.prepare_cached(sql)?.execute(row)? == 1;
        Ok(if new { Written::New } else { Written::Same(account.id.clone()) })
    }

    fn embedding(&mut self, embedding: &Embedding) -> rusqlite::Result<Written> {
        let Some(place) = embedding::place(self.transaction, &embedding.of)? else {
            return Ok(unknown("of", &embedding.of));
        };
        if let Some(misfit) = self.misfit(&embedding.model, embedding.vector.len())? {
            return Ok(misfit);
        }
        let model = embedding::known_model(self.transaction, &embedding.model, embedding.vector.len())?;
        if embedding::insert(self.transaction, model, &place, embedding)? {
            self.vectors.add(self.transaction, model, &place, embedding)?;
            return Ok(Written::New);
        }
        let sql = "SELECT vector = ? FROM embedding WHERE record = ? AND model = ?";
        let known = params![embedding::bytes(&embedding.vector), place.n, model];
        let same = self.transaction.prepare_cached(sql)?.query_row(known, |row| row.get(0))?;
        Ok(if same { Written::Same(embedding.of.clone()) } else { Written::Differs })
    }

    /// The refusal of a vector whose length is not that of its model's others.
    fn misfit(&self, model: &str, dim: usize) -> rusqlite::Result<Option<Written>> {
        Ok(embedding::misfit(self.transaction, model, dim)?.map(Written::Refused))
    }

    /// The number of a scope, which is made if it is new.
    fn scope(&mut self, scope: &Scope) -> rusqlite::Result<i64> {
        if let Some(n) = self.known.scopes.get(scope) {
            return Ok(*n);
        }
        let names = [&scope.partition, &scope.instance];
        let sql = "INSERT INTO scope (partition, instance) VALUES (?, ?) ON CONFLICT DO NOTHING";
        self.transaction.prepare_cached(sql)?.execute(names)?;
        let sql = "SELECT n FROM scope WHERE partition = ? AND instance = ?";
        let n = self.transaction.prepare_cached(sql)?.query_row(names, |row| row.get(0))?;
        self.known.scopes.insert(scope.clone(), n);
        Ok(n)
    }
}

/// Writes a link. A question has one answer and an answer one question, which the tables see to.
fn write_link(connection: &Connection, link: &Link) -> rusqlite::Result<Written> {
    let record = |id: &str| -> rusqlite::Result<Option<i64>> {
        let sql = "SELECT n FROM record WHERE id = ?";
        connection.prepare_cached(sql)?.query_row([id], |row| row.get(0)).optional()
    };
    let Some(source) = record(&link.from)? else { return Ok(unknown("from", &link.from)) };
    let Some(target) = record(&link.to)? else { return Ok(unknown("to", &link.to)) };
    let sql = "INSERT INTO link (source, rel, target, timestamp, score, model, extra)
               VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
    let extra = as_json(&link.extra);
    let timestamp = link.timestamp.unwrap_or_default();
    let row = params![source, link.rel, target, timestamp, link.score, link.model, extra];
    if connection.prepare_cached(sql)?.execute(row)? == 1 {
        if link.rel == SYNAPSE {
            graph::note_wild(connection, source)?;
        }
        return Ok(Written::New);
    }
    let sql = "SELECT EXISTS (SELECT 1 FROM link WHERE source = ? AND rel = ? AND target = ?)";
    let known = params![source, link.rel, target];
    if connection.prepare_cached(sql)?.query_row(known, |row| row.get(0))? {
        return Ok(Written::Same(link.from.clone()));
    }
    Ok(Written::Refused(format!("{}: one of the two is linked to another already, which stays", link.rel)))
}

/// Members without a column, if there are any.
pub(super) fn as_json(extra: &Object) -> Option<String> {
    (!extra.is_empty()).then(|| extra.to_json())
}

fn unknown(member: &str, id: &str) -> Written {
    Written::Refused(format!("{member}: the store has no record {id}"))
}
