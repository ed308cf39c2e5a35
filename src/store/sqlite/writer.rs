//! Writes the records of a batch within a transaction: their rows, and what is derived from them.

use super::collections::{CollectionRow, KnownCollections};
use super::filter::role_bit;
use super::links::link_writer::LinkWriter;
use super::record_columns::{self, COLUMNS, TABLES};
use super::record_row::{self, DocMeta, RecordRow, numbers};
use super::removal::RemovedRecords;
use super::vectors::embedding::{self, IndexUpdate};
use super::vectors::unembedded;
use super::words::segment_draft::DraftBuilder;
use super::words::word_index;
use super::{digests, tallies, tombstones};
use crate::record::{Embedding, Link, StoredRecord};
use crate::store::imports::Brought;
use crate::store::write_plan::{AddedLink, Change, Holder, Owner, Twin, WriteTarget};
use crate::text::language_detection::ToldLanguages;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Transaction, params, params_from_iter};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// The record writer of a batch.
pub(super) struct Writer<'a> {
    transaction: &'a Transaction<'a>,
    known_collections: &'a mut KnownCollections,
    statements: Statements<'a>,
    links: LinkWriter<'a>,
    /// The number of new records, by collection.
    added: BTreeMap<i64, (CollectionRow, i64)>,
    /// Finds the words of the new records, if they may be enough for a segment.
    pub(super) draft: Option<DraftBuilder>,
    vectors: IndexUpdate,
    /// The numbers and dimensions of models that were asked for, by name.
    models: RefCell<FxHashMap<String, (i64, usize)>>,
    /// The languages of the new texts.
    pub(super) languages: ToldLanguages,
    /// Whether there is a model, of which new records lack a vector.
    has_models: bool,
    has_tombstones: bool,
    pub(super) brought: Brought,
    /// The number of the holder that was looked for last; 0 if there is none.
    holder: Cell<i64>,
    /// Whether records took the place of others.
    has_replaced: bool,
    /// Whether references to records are checked at the end only.
    defers_references: bool,
}

/// The statements that every new record runs, without looking them up in the cache each time.
struct Statements<'a> {
    /// Whether there is a record with an id, and one of a trace at a time.
    exists: RefCell<CachedStatement<'a>>,
    insert: CachedStatement<'a>,
}

impl<'a> Statements<'a> {
    fn prepare(connection: &'a Connection) -> rusqlite::Result<Statements<'a>> {
        let exists = "SELECT EXISTS (SELECT 1 FROM record WHERE id = ?),
                             EXISTS (SELECT 1 FROM record WHERE trace_id = ? AND timestamp = ?)";
        let prepare = |sql| connection.prepare_cached(sql);
        Ok(Statements { exists: RefCell::new(prepare(exists)?), insert: prepare(&record_columns::insert())? })
    }
}

/// In a batch that makes a segment, one text in this many has its language detected.
const TOLD_EVERY: i64 = 4;

/// The columns that name a record by its number.
const REFERENCES: [(&str, &str); 3] = [("link", "source"), ("link", "target"), ("embedding", "record")];

impl WriteTarget for Writer<'_> {
    type Error = rusqlite::Error;
    type Tombstones = Connection;

    fn tombstones(&self) -> Option<&Connection> {
        self.has_tombstones.then_some(&**self.transaction)
    }

    fn holder(&self, record: &StoredRecord) -> rusqlite::Result<Holder<'_>> {
        self.holder.set(0);
        let names = params![record.id, record.trace_id, record.timestamp];
        let mut exists = self.statements.exists.borrow_mut();
        let (has_id, may_have_twin): (bool, bool) =
            exists.query_row(names, |row| Ok((row.get(0)?, row.get(1)?)))?;
        if has_id {
            let existing = record_columns::by_id(self.transaction, &record.id)?;
            let Some((n, existing)) = existing else { return Ok(Holder::Nothing) };
            self.holder.set(n);
            return Ok(Holder::Own(Cow::Owned(existing)));
        }
        let twin = if may_have_twin { self.twin(record)? } else { None };
        Ok(twin.map_or(Holder::Nothing, Holder::Twin))
    }

    fn kind_of(&self, id: &str) -> rusqlite::Result<Option<String>> {
        record_row::kind_of(self.transaction, id)
    }

    fn owner(&self, id: &str) -> rusqlite::Result<Option<Owner<'_>>> {
        let Some(record) = record_row::by_id(self.transaction, id)? else { return Ok(None) };
        if record.collection.kind.versions.is_none() {
            return Ok(Some(Owner::Unversioned));
        }
        let existing = record_columns::by_id(self.transaction, id)?;
        Ok(existing.map(|(_, existing)| Owner::Versioned(Cow::Owned(existing))))
    }

    fn vector(&self, of: &str, model: &str) -> rusqlite::Result<Option<Cow<'_, [f32]>>> {
        let Some((model, _)) = self.model(model)? else { return Ok(None) };
        let sql =
            "SELECT vector FROM embedding WHERE record = (SELECT n FROM record WHERE id = ?) AND model = ?";
        let vector = |row: &rusqlite::Row| Ok(Cow::Owned(numbers(row.get_ref(0)?.as_blob()?)));
        self.transaction.prepare_cached(sql)?.query_row(params![of, model], vector).optional()
    }

    fn dim(&self, model: &str) -> rusqlite::Result<Option<usize>> {
        Ok(self.model(model)?.map(|(_, dim)| dim))
    }

    fn has_link_from(&self, rel: &str, id: &str) -> rusqlite::Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM link WHERE rel = ? AND source = (SELECT n FROM record WHERE id = ?))";
        self.transaction.prepare_cached(sql)?.query_row([rel, id], |row| row.get(0))
    }

    fn is_empty_directory(&self, directory: &StoredRecord) -> rusqlite::Result<bool> {
        tombstones::is_empty(self.transaction, directory)
    }

    fn add_link(&mut self, link: &Link) -> rusqlite::Result<AddedLink> {
        self.links.add(link)
    }

    fn note_same(&mut self, id: &str) -> rusqlite::Result<()> {
        let n = match self.holder.get() {
            // A copy of it was brought.
            0 => record_row::by_id(self.transaction, id)?.map(|record| record.n),
            n => Some(n),
        };
        self.brought.same.extend(n);
        Ok(())
    }

    fn apply(&mut self, change: Change<'_>) -> rusqlite::Result<()> {
        match change {
            Change::Insert(record) => {
                let n = self.insert(&record)?;
                self.brought.new.push(n);
                Ok(())
            }
            Change::Replace(record) => self.put_in_place(&record, false),
            Change::Update(record) => self.put_in_place(&record, true),
            Change::AddVector(embedding) => match record_row::by_id(self.transaction, &embedding.of)? {
                Some(record) => self.add_vector(&record, &embedding),
                None => Ok(()),
            },
            Change::PutTombstone(tombstone) => tombstones::put(self.transaction, &tombstone),
            // No other program writes into a file.
            Change::Adopt(..) | Change::Hide(_) => Ok(()),
        }
    }
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        transaction: &'a Transaction<'a>,
        known_collections: &'a mut KnownCollections,
    ) -> rusqlite::Result<Writer<'a>> {
        Ok(Writer {
            transaction,
            known_collections,
            statements: Statements::prepare(transaction)?,
            links: LinkWriter::new(transaction),
            added: BTreeMap::new(),
            draft: None,
            vectors: IndexUpdate::default(),
            models: RefCell::default(),
            has_models: embedding::has_models(transaction)?,
            has_tombstones: tombstones::are_there(transaction)?,
            brought: Brought::default(),
            holder: Cell::default(),
            has_replaced: false,
            defers_references: false,
            languages: ToldLanguages::default(),
        })
    }

    /// The record that has the natural key of another.
    fn twin(&self, record: &StoredRecord) -> rusqlite::Result<Option<Twin>> {
        if record.kind.natural_key.is_none() {
            return Ok(None);
        }
        let sql = format!(
            "SELECT {COLUMNS}, record.n FROM {TABLES} WHERE record.trace_id = ? AND record.timestamp = ? \
             AND +collection.kind = ? AND +collection.partition = ? AND +collection.instance = ?"
        );
        let mut statement = self.transaction.prepare_cached(&sql)?;
        let StoredRecord { kind, scope, trace_id, timestamp, .. } = record;
        let mut rows =
            statement.query(params![trace_id, timestamp, kind.name, scope.partition, scope.instance])?;
        while let Some(row) = rows.next()? {
            let existing = record_columns::record(row)?;
            if existing.is_same(record) {
                self.holder.set(row.get(record_columns::AFTER)?);
                return Ok(Some(Twin::Record(existing.id)));
            }
        }
        Ok(None)
    }

    /// Updates the indexes.
    pub(super) fn flush(self) -> rusqlite::Result<()> {
        let draft = self.draft.map(DraftBuilder::finish).unwrap_or_default();
        word_index::grow(self.transaction, self.added.into_values(), draft)?;
        self.links.flush()?;
        self.vectors.flush(self.transaction)?;
        if self.has_replaced { embedding::drop_empty_models(self.transaction) } else { Ok(()) }
    }

    /// The number and the dimension of a model.
    fn model(&self, name: &str) -> rusqlite::Result<Option<(i64, usize)>> {
        if let Some(known) = self.models.borrow().get(name) {
            return Ok(Some(*known));
        }
        let Some((n, dim)) = embedding::model(self.transaction, name)? else { return Ok(None) };
        let known = (n, usize::try_from(dim).unwrap_or_default());
        self.models.borrow_mut().insert(name.to_owned(), known);
        Ok(Some(known))
    }

    /// Puts a record in the place of the one that has its id; its new number says that it changed. Vectors
    /// are kept only of a kind without an index.
    fn put_in_place(&mut self, record: &StoredRecord, keeps_vectors: bool) -> rusqlite::Result<()> {
        let Some((n, existing)) = record_columns::by_id(self.transaction, &record.id)? else { return Ok(()) };
        let collection = self.known_collections.ensure(self.transaction, existing.kind, &existing.scope)?;
        if collection.kind.indexed.is_some() {
            // A draft cannot lose a record of the batch.
            self.draft = None;
        }
        if keeps_vectors {
            tallies::add(self.transaction, &existing, -1)?;
        } else {
            // The indexes remove only what they have.
            std::mem::take(&mut self.vectors).flush(self.transaction)?;
        }
        let mut removed = RemovedRecords::default();
        if !keeps_vectors {
            let old = RecordRow { n, collection, timestamp: existing.timestamp, role: existing.role };
            removed.add(self.transaction, &old, &existing)?;
        }
        self.defer_references(n)?;
        self.transaction.prepare_cached("DELETE FROM record WHERE n = ?")?.execute([n])?;
        digests::remove(self.transaction, n, &record.id)?;
        removed.flush(self.transaction)?;
        let new = self.insert(record)?;
        self.brought.changed.push((n, new));
        for (table, column) in REFERENCES {
            let sql = format!("UPDATE {table} SET {column} = ? WHERE {column} = ?");
            self.transaction.prepare_cached(&sql)?.execute([new, n])?;
        }
        self.has_replaced = true;
        Ok(())
    }

    /// Moves a record to a new number, which it returns.
    pub(super) fn move_record(
        &mut self,
        n: i64,
        existing: &StoredRecord,
        renamed: &StoredRecord,
        removed: &mut RemovedRecords,
    ) -> rusqlite::Result<i64> {
        let row =
            |n, collection| RecordRow { n, collection, timestamp: existing.timestamp, role: existing.role };
        let collection = self.known_collections.ensure(self.transaction, existing.kind, &existing.scope)?;
        let old = row(n, collection);
        let vectors = removed.take_vectors(self.transaction, &old)?;
        removed.add(self.transaction, &old, existing)?;
        self.transaction.prepare_cached("DELETE FROM record WHERE n = ?")?.execute([n])?;
        digests::remove(self.transaction, n, &existing.id)?;
        let new = self.insert(renamed)?;
        let collection = self.known_collections.ensure(self.transaction, renamed.kind, &renamed.scope)?;
        for vector in vectors {
            self.vectors.put(self.transaction, &row(new, collection), vector)?;
        }
        for end in ["source", "target"] {
            let sql = format!("UPDATE link SET {end} = ? WHERE {end} = ?");
            self.transaction.prepare_cached(&sql)?.execute([new, n])?;
        }
        Ok(new)
    }

    /// Has links and vectors keep their record while its row is replaced. SQLite prepares every statement
    /// again.
    fn defer_references(&mut self, n: i64) -> rusqlite::Result<()> {
        let sql = "SELECT EXISTS (SELECT 1 FROM link WHERE source = ?1 OR target = ?1)
                          OR EXISTS (SELECT 1 FROM embedding WHERE record = ?1)";
        let are_there = || self.transaction.prepare_cached(sql)?.query_row([n], |row| row.get(0));
        if !self.defers_references && are_there()? {
            self.transaction.pragma_update(None, "defer_foreign_keys", true)?;
            self.defers_references = true;
        }
        Ok(())
    }

    /// Writes a new record with its vector; returns its number.
    fn insert(&mut self, record: &StoredRecord) -> rusqlite::Result<i64> {
        let collection = self.known_collections.ensure(self.transaction, record.kind, &record.scope)?;
        let values = record_columns::values(record, collection.n);
        let n = self.statements.insert.insert(params_from_iter(values))?;
        self.links.track(&record.id, n);
        digests::add(self.transaction, n, &record.id)?;
        // A few texts tell the languages of many.
        if n % TOLD_EVERY == 0 || self.draft.is_none() {
            self.languages.add(&record.text);
        }
        let row = RecordRow { n, collection, timestamp: record.timestamp, role: record.role };
        if self.has_models && record.is_embeddable() {
            unembedded::mark(self.transaction, &row)?;
        }
        self.added.entry(collection.n).or_insert((collection, 0)).1 += 1;
        if let (Some(draft), Some(text)) = (&mut self.draft, record.indexed_text()) {
            let doc = DocMeta { n, timestamp: record.timestamp, role: role_bit(record.role), length: 0 };
            draft.add(collection.n, doc, text.into_owned());
        }
        if let Some(vector) = &record.vector {
            self.add_vector(&row, &record.embedding(&vector.model, vector.numbers.clone()))?;
        }
        tallies::add(self.transaction, record, 1)?;
        Ok(n)
    }

    fn add_vector(&mut self, record: &RecordRow, embedding: &Embedding) -> rusqlite::Result<()> {
        let Embedding { model, vector, .. } = embedding;
        let n = match self.model(model)? {
            Some((n, _)) => n,
            None => embedding::ensure_model(self.transaction, model, vector.len())?,
        };
        self.has_models = true;
        embedding::insert(self.transaction, n, record, embedding)?;
        self.vectors.add(self.transaction, n, record, vector)
    }
}
