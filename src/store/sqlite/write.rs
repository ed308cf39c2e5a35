//! Writes, replaces and removes records, each batch in one transaction that holds the write lock from its beginning:
//! SQLite refuses the lock to a transaction that began by reading once another writer has committed, however long it
//! waits.

use super::super::forgetting::{Forgotten, Intake, WriteRules};
use super::super::identity::{self, RefusedIds, Written};
use super::super::versions;
use super::collections::{CollectionRow, KnownCollections};
use super::embedding::{self, IndexUpdate};
use super::filter::role_bit;
use super::link_writer::{self, LinkWriter};
use super::postings::DocMeta;
use super::record_row::{self, RecordRow, numbers};
use super::removal::{self, RemovedRecords};
use super::row::{self, COLUMNS, TABLES, as_json};
use super::segment_draft::DraftBuilder;
use super::{tallies, tombstones, unembedded, wal, word_index};
use crate::record::{Embedding, Link, Object, Record, StoredRecord, Tombstone, identity_digest};
use rusqlite::{CachedStatement, Connection, Transaction, params};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Writes a batch; returns the outcome of each record.
pub(super) fn write(
    connection: &mut Connection,
    known_collections: &mut KnownCollections,
    batch: &[Record],
    rules: WriteRules,
) -> rusqlite::Result<Vec<Written>> {
    let transaction = wal::begin_write(connection)?;
    // Tombstones go first, because they apply to the records of the batch too.
    let tombstones = batch.iter().filter_map(|record| match record {
        Record::Tombstone(tombstone) => Some(tombstone),
        _ => None,
    });
    let (mut received, ids) = tombstones::receive(&transaction, tombstones)?;
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    removal::remove_all(&transaction, &ids, None)?;
    link_writer::remove_links(&transaction, &mut received)?;
    let mut writer = Writer::new(&transaction, known_collections, rules)?;
    if batch.len() as i64 >= word_index::MAX_UNINDEXED {
        writer.draft = DraftBuilder::start();
    }
    let mut written = Vec::with_capacity(batch.len());
    let mut refused = RefusedIds::default();
    for record in batch {
        let outcome = match (refused.refusal(record), record) {
            (Some(why), _) => Written::Refused(why),
            (None, Record::Stored(record)) => writer.record(record)?,
            (None, Record::Embedding(embedding)) => writer.embedding(embedding)?,
            (None, Record::Link(link)) => writer.link(link)?,
            (None, Record::Tombstone(tombstone)) => received.outcome(tombstone),
        };
        refused.note(record, &outcome);
        written.push(outcome);
    }
    let has_replaced = writer.has_replaced;
    writer.settle()?;
    if has_replaced {
        embedding::drop_empty_models(&transaction)?;
    }
    transaction.commit()?;
    Ok(written)
}

/// Replaces the records that have the same ids; returns the outcome of each.
pub(super) fn replace(
    connection: &mut Connection,
    known_collections: &mut KnownCollections,
    records: &[StoredRecord],
) -> rusqlite::Result<Vec<Written>> {
    let transaction = wal::begin_write(connection)?;
    // Links keep their ends while the rows of these are replaced.
    transaction.pragma_update(None, "defer_foreign_keys", true)?;
    let mut writer = Writer::new(&transaction, known_collections, WriteRules::KEEP_OUT)?;
    let mut written = Vec::with_capacity(records.len());
    for record in records {
        written.push(writer.replacement(record)?);
    }
    writer.settle()?;
    embedding::drop_empty_models(&transaction)?;
    transaction.commit()?;
    Ok(written)
}

struct Writer<'a> {
    transaction: &'a Transaction<'a>,
    known_collections: &'a mut KnownCollections,
    statements: Statements<'a>,
    links: LinkWriter<'a>,
    /// The number of new records, by collection.
    added: BTreeMap<i64, (CollectionRow, i64)>,
    /// Finds the words of the new records, if they may be enough for a segment.
    draft: Option<DraftBuilder>,
    vectors: IndexUpdate,
    /// Whether there is a model, of which new records lack a vector.
    has_models: bool,
    /// What happens to records that were forgotten; `None` where nothing was.
    forgotten: Option<Forgotten>,
    intake: Intake,
    /// Whether versions took the place of others.
    has_replaced: bool,
}

/// The statements that every new record runs, without looking them up in the cache each time.
struct Statements<'a> {
    /// Whether there is a record with an id, and one of a trace at a time.
    exists: CachedStatement<'a>,
    insert: CachedStatement<'a>,
}

impl<'a> Statements<'a> {
    fn prepare(connection: &'a Connection) -> rusqlite::Result<Statements<'a>> {
        let exists = "SELECT EXISTS (SELECT 1 FROM record WHERE id = ?),
                             EXISTS (SELECT 1 FROM record WHERE trace_id = ? AND timestamp = ?)";
        let insert = "INSERT INTO record
                      (id, collection, trace_id, timestamp, seq, embeddable, role, key, text, members)
                      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let prepare = |sql| connection.prepare_cached(sql);
        Ok(Statements { exists: prepare(exists)?, insert: prepare(insert)? })
    }
}

impl<'a> Writer<'a> {
    fn new(
        transaction: &'a Transaction<'a>,
        known_collections: &'a mut KnownCollections,
        rules: WriteRules,
    ) -> rusqlite::Result<Writer<'a>> {
        Ok(Writer {
            transaction,
            known_collections,
            statements: Statements::prepare(transaction)?,
            links: LinkWriter::new(transaction),
            added: BTreeMap::new(),
            draft: None,
            vectors: IndexUpdate::default(),
            has_models: embedding::has_models(transaction)?,
            forgotten: tombstones::are_there(transaction)?.then_some(rules.forgotten),
            intake: rules.intake,
            has_replaced: false,
        })
    }

    /// Updates the indexes.
    fn settle(self) -> rusqlite::Result<()> {
        let draft = self.draft.map(DraftBuilder::finish).unwrap_or_default();
        word_index::grow(self.transaction, self.added.into_values(), draft)?;
        self.links.settle()?;
        self.vectors.settle(self.transaction)
    }

    /// Writes a record and the vector that it carries, or neither.
    fn record(&mut self, record: &StoredRecord) -> rusqlite::Result<Written> {
        if let Some(refused) = self.refused_vector(record)? {
            return Ok(refused);
        }
        if let Some(refused) = self.refused_reference(record)? {
            return Ok(refused);
        }
        let collection = self.known_collections.ensure(self.transaction, record.kind, &record.scope)?;
        let (there, twin) = self.stored(record, collection)?;
        let written = identity::write_outcome(record, there.as_ref(), twin);
        let tombstone = self.tombstone_of(record)?;
        let record = &*versions::dated(record, there.as_ref(), tombstone.as_ref(), self.intake);
        if let (Written::Same(_), Some(there), Some(_)) = (&written, &there, record.kind.versions)
            && versions::takes_place(record, there, self.intake)
        {
            return self.version(record, there, collection);
        }
        if written == Written::New && !self.admits(record)? {
            return Ok(Written::KeptOut);
        }
        match (&written, record.kind.merge) {
            (Written::New, Some(merge)) => {
                let merged = merge(None, record);
                self.insert(merged.as_ref().unwrap_or(record), collection)?;
                return Ok(written);
            }
            (Written::Same(_), Some(merge)) => {
                if let Some(there) = &there
                    && let Some(merged) = merge(Some(there), record)
                {
                    self.renew(there, &merged, collection)?;
                    return Ok(Written::Replaced);
                }
            }
            _ => {}
        }
        match &written {
            Written::New if self.intake == Intake::New && record.kind.replaces.is_some() => {
                if let Some(refused) = self.refused_replacement(record)? {
                    return Ok(refused);
                }
                self.insert(record, collection)?;
            }
            Written::New => drop(self.insert(record, collection)?),
            Written::Same(_) if self.completes_parts(record, there.as_ref()) => {
                if let Some(there) = &there {
                    self.renew(there, record, collection)?;
                }
                return Ok(Written::Replaced);
            }
            Written::Same(id) => self.vector_of(record, id)?,
            _ => {}
        }
        Ok(written)
    }

    /// The tombstone of a record whose kind has versions, if there is one.
    fn tombstone_of(&self, record: &StoredRecord) -> rusqlite::Result<Option<Tombstone>> {
        match (self.forgotten, record.kind.versions) {
            (Some(_), Some(_)) => {
                tombstones::get(self.transaction, &identity_digest(record.kind.name, &record.id))
            }
            _ => Ok(None),
        }
    }

    /// Puts a version in the place of the stored one, unless it was forgotten.
    fn version(
        &mut self,
        record: &StoredRecord,
        there: &StoredRecord,
        collection: CollectionRow,
    ) -> rusqlite::Result<Written> {
        if !self.admits(record)? {
            return Ok(Written::KeptOut);
        }
        self.renew(there, record, collection)?;
        Ok(Written::Replaced)
    }

    /// Puts a record in the place of the stored one; its new number says that it changed.
    fn renew(
        &mut self,
        there: &StoredRecord,
        record: &StoredRecord,
        collection: CollectionRow,
    ) -> rusqlite::Result<()> {
        let Some(old) = record_row::by_id(self.transaction, &record.id)? else { return Ok(()) };
        if self.has_links(&old)? {
            // They keep their ends while the row of these is replaced. This makes SQLite prepare every statement anew.
            self.transaction.pragma_update(None, "defer_foreign_keys", true)?;
        }
        if collection.kind.indexed.is_some() {
            // A draft cannot lose a record of the batch.
            self.draft = None;
        }
        // The indexes remove only what they have.
        std::mem::take(&mut self.vectors).settle(self.transaction)?;
        self.replace_row(&old, Some(there), record, collection)?;
        self.has_replaced = true;
        Ok(())
    }

    fn has_links(&self, row: &RecordRow) -> rusqlite::Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM link WHERE source = ?1 OR target = ?1)";
        self.transaction.prepare_cached(sql)?.query_row([row.n], |row| row.get(0))
    }

    /// Puts a record in the place of a row, with its links.
    fn replace_row(
        &mut self,
        old: &RecordRow,
        there: Option<&StoredRecord>,
        record: &StoredRecord,
        collection: CollectionRow,
    ) -> rusqlite::Result<()> {
        let mut removed = RemovedRecords::default();
        if let Some(there) = there {
            removed.add(self.transaction, old, there)?;
        }
        self.transaction.prepare_cached("DELETE FROM record WHERE n = ?")?.execute([old.n])?;
        removed.settle(self.transaction)?;
        let n = self.insert(record, collection)?;
        for end in ["source", "target"] {
            let sql = format!("UPDATE link SET {end} = ? WHERE {end} = ?");
            self.transaction.prepare_cached(&sql)?.execute([n, old.n])?;
        }
        Ok(())
    }

    /// Whether tombstones allow a record to be written; under `Forgotten::Return` they do, and say so from then on.
    fn admits(&self, record: &StoredRecord) -> rusqlite::Result<bool> {
        let Some(forgotten) = self.forgotten else { return Ok(true) };
        tombstones::admit(self.transaction, record, WriteRules { forgotten, intake: self.intake })
    }

    /// Whether a record that may return has parts that its stored version lacks.
    fn completes_parts(&self, record: &StoredRecord, there: Option<&StoredRecord>) -> bool {
        matches!(self.forgotten, Some(Forgotten::Return { .. }))
            && there.is_some_and(|there| record.has_more_parts_than(there))
    }

    /// Replaces the record with the same id. Links stay, except the synapses of its vectors.
    fn replacement(&mut self, record: &StoredRecord) -> rusqlite::Result<Written> {
        if let Some(refused) = self.refused_vector(record)? {
            return Ok(refused);
        }
        let collection = self.known_collections.ensure(self.transaction, record.kind, &record.scope)?;
        let there = row::by_id(self.transaction, &record.id)?;
        let twin = self.twin(record, collection)?;
        let before = there.as_ref().map(|(_, there)| there);
        let written = identity::replace_outcome(record, before, twin);
        if matches!(written, Written::New | Written::Replaced) && !self.admits(record)? {
            return Ok(Written::KeptOut);
        }
        match (&written, record_row::by_id(self.transaction, &record.id)?) {
            (Written::New, _) => drop(self.insert(record, collection)?),
            (Written::Replaced, Some(old)) => self.replace_row(&old, before, record, collection)?,
            _ => {}
        }
        Ok(written)
    }

    /// Writes a new record with its vector; returns its number.
    fn insert(&mut self, record: &StoredRecord, collection: CollectionRow) -> rusqlite::Result<i64> {
        let embeddable = record.is_embeddable();
        let row = params![
            record.id,
            collection.n,
            record.trace_id,
            record.timestamp,
            record.seq,
            embeddable,
            record.role.map(|role| role.name()),
            record.lookup_key(),
            record.text,
            as_json(&record.members),
        ];
        let n = self.statements.insert.insert(row)?;
        self.links.note(&record.id, n);
        if embeddable && self.has_models {
            let row = RecordRow { n, collection, timestamp: record.timestamp, role: record.role };
            unembedded::mark(self.transaction, &row)?;
        }
        self.added.entry(collection.n).or_insert((collection, 0)).1 += 1;
        if let (Some(draft), Some(text)) = (&mut self.draft, record.indexed_text()) {
            let doc = DocMeta { n, timestamp: record.timestamp, role: role_bit(record.role), length: 0 };
            draft.add(collection.n, doc, text.into_owned());
        }
        self.vector_of(record, &record.id)?;
        tallies::add(self.transaction, record, 1)?;
        if let Some(replaces) = record.kind.replaces {
            for id in record.replaced_ids() {
                self.links.write(&Link::plain(replaces.rel, &id, &record.id, record.timestamp))?;
            }
        }
        Ok(n)
    }

    /// The refusal of a record whose subject is missing.
    fn refused_reference(&self, record: &StoredRecord) -> rusqlite::Result<Option<Written>> {
        let (Some(subject), Some(id)) = (record.kind.subject, record.subject_id()) else { return Ok(None) };
        let there = record_row::kind_of(self.transaction, &id)?;
        if there.is_some_and(|kind| kind == subject.kind) {
            return Ok(None);
        }
        let is_forgotten = tombstones::is_forgotten(self.transaction, &id)?;
        Ok(Some(if is_forgotten { Written::KeptOut } else { identity::unknown_subject(record) }))
    }

    /// The refusal of a record that takes the place of one that is missing, or was replaced already.
    fn refused_replacement(&self, record: &StoredRecord) -> rusqlite::Result<Option<Written>> {
        let Some(replaces) = record.kind.replaces else { return Ok(None) };
        let sql = "SELECT EXISTS (SELECT 1 FROM link WHERE rel = ? AND source = (SELECT n FROM record WHERE id = ?))";
        let mut statement = self.transaction.prepare_cached(sql)?;
        for id in record.replaced_ids() {
            if record_row::kind_of(self.transaction, &id)?.is_none_or(|kind| kind != record.kind.name) {
                return Ok(Some(identity::unknown_replaced(record, &id)));
            }
            if statement.query_row((replaces.rel, &id), |row| row.get(0))? {
                return Ok(Some(identity::replaced_already(record, &id)));
            }
        }
        Ok(None)
    }

    /// Writes the vector that a record carries; the record is stored under `id`.
    fn vector_of(&mut self, record: &StoredRecord, id: &str) -> rusqlite::Result<()> {
        let Some(vector) = &record.vector else { return Ok(()) };
        let (model, vector) = (vector.model.clone(), vector.numbers.clone());
        self.embedding(&Embedding { of: id.to_owned(), model, vector, extra: Object::default() }).map(drop)
    }

    /// The refusal of a record whose vector has another dimension than its model.
    fn refused_vector(&self, record: &StoredRecord) -> rusqlite::Result<Option<Written>> {
        let Some(vector) = &record.vector else { return Ok(None) };
        let misfit = embedding::misfit(self.transaction, &vector.model, vector.numbers.len())?;
        Ok(misfit.map(Written::Refused))
    }

    /// The stored record with the id of a record; if there is none, the id of that with its natural key.
    fn stored(
        &mut self,
        record: &StoredRecord,
        collection: CollectionRow,
    ) -> rusqlite::Result<(Option<StoredRecord>, Option<String>)> {
        let names = params![record.id, record.trace_id, record.timestamp];
        let (has_id, may_have_twin): (bool, bool) =
            self.statements.exists.query_row(names, |row| Ok((row.get(0)?, row.get(1)?)))?;
        if has_id {
            return Ok((row::by_id(self.transaction, &record.id)?.map(|(_, there)| there), None));
        }
        Ok((None, if may_have_twin { self.twin(record, collection)? } else { None }))
    }

    /// The id of the stored record with the natural key of a record.
    fn twin(&self, record: &StoredRecord, collection: CollectionRow) -> rusqlite::Result<Option<String>> {
        if record.kind.natural_key.is_none() {
            return Ok(None);
        }
        let sql = format!(
            "SELECT {COLUMNS} FROM {TABLES} \
             WHERE record.trace_id = ? AND record.timestamp = ? AND +record.collection = ?"
        );
        let mut statement = self.transaction.prepare_cached(&sql)?;
        let mut rows = statement.query(params![record.trace_id, record.timestamp, collection.n])?;
        while let Some(row) = rows.next()? {
            let there = row::record(row)?;
            if there.is_same(record) {
                return Ok(Some(there.id));
            }
        }
        Ok(None)
    }

    /// Writes a link, unless it was forgotten.
    fn link(&mut self, link: &Link) -> rusqlite::Result<Written> {
        if let Some(forgotten) = self.forgotten
            && let Some(tombstone) = tombstones::get(self.transaction, &link.digest())?
            && tombstone.is_of_link()
        {
            match forgotten {
                Forgotten::KeepOut => return Ok(Written::KeptOut),
                Forgotten::Return { at } => tombstones::put(self.transaction, &tombstone.returned(at))?,
            }
        }
        self.links.write(link)
    }

    fn embedding(&mut self, embedding: &Embedding) -> rusqlite::Result<Written> {
        let Some(record) = record_row::by_id(self.transaction, &embedding.of)? else {
            return link_writer::missing(self.transaction, "of", &embedding.of);
        };
        let there = match record.collection.kind.versions {
            Some(_) => row::by_id(self.transaction, &embedding.of)?.map(|(_, there)| there),
            None => None,
        };
        let embedding = match &there {
            Some(there) => match versions::vector_of_version(embedding, there) {
                Some(embedding) => embedding,
                None => return Ok(Written::Same(embedding.of.clone())),
            },
            None => Cow::Borrowed(embedding),
        };
        let embedding = &*embedding;
        let dim = embedding.vector.len();
        if let Some(misfit) = embedding::misfit(self.transaction, &embedding.model, dim)? {
            return Ok(Written::Refused(misfit));
        }
        let model = embedding::ensure_model(self.transaction, &embedding.model, dim)?;
        self.has_models = true;
        if embedding::insert(self.transaction, model, &record, embedding)? {
            self.vectors.add(self.transaction, model, &record, &embedding.vector)?;
            return Ok(Written::New);
        }
        let sql = "SELECT vector FROM embedding WHERE record = ? AND model = ?";
        let vector = |row: &rusqlite::Row| Ok(numbers(row.get_ref(0)?.as_blob()?));
        let there = self.transaction.prepare_cached(sql)?.query_row([record.n, model], vector)?;
        Ok(identity::vector_outcome(&embedding.of, &there, &embedding.vector))
    }
}
