//! Records, in Neo4j: writing and reading them.

use super::error::{DbError, DbResult};
use super::existing::no_row;
use super::graph::Neo4j;
use super::selection::{number, select_params};
use super::statements::{self, changed, selected};
use super::tombstones;
use super::values::{Params, Row};
use crate::record::{Record, RecordKind, StoredRecord, Tombstone, TombstoneState, Vector};
use crate::store::api::{Records, Removal, Visit};
use crate::store::changes::{ChangeNumbers, ChangeState, Mark, WITNESSES, Witness};
use crate::store::damage::Damage;
use crate::store::error::Result;
use crate::store::forgetting::{NewTombstones, WriteRules};
use crate::store::identity::WriteOutcome;
use crate::store::select::{Select, Walk};
use neo4rs::BoltType;

/// The number of records whose words a write brings up to date.
const REINDEXED_BY_WRITE: usize = 50;

/// The parts whose numbers have witnesses, by the columns of `CHANGE_STATE`.
const RECORDS: &str = "records";
const TOMBSTONES: &str = "tombstones";

impl Records for Neo4j {
    fn write(&mut self, batch: &[Record], rules: WriteRules) -> Result<Vec<WriteOutcome>> {
        // First, so that an error is not taken for one of the batch, which is written then.
        let written = self.reindex(REINDEXED_BY_WRITE).and_then(|()| self.write_batch(batch, rules));
        self.or_error("write to", written)
    }

    fn remove(&mut self, what: Removal, at: i64) -> Result<u64> {
        let removed = match what {
            Removal::Records(ids, state) => {
                self.remove_records(ids, &NewTombstones { state, at, duplicates: None })
            }
            Removal::Duplicates(ids) => {
                let new = NewTombstones { state: TombstoneState::Removed, at, duplicates: Some(ids) };
                self.remove_records(&ids.keys().copied().collect::<Vec<_>>(), &new)
            }
            Removal::Link(link) => self.remove_link(link, at).map(u64::from),
        };
        self.or_error("write to", removed)
    }

    fn get(&mut self, ids: &[&str], which: &Select) -> Result<Vec<StoredRecord>> {
        let mut found = self.or_error("read", self.read_by_id(ids, which))?;
        let dropped = tombstones::drop_forgotten_parts(&self.server, found.iter_mut().collect());
        self.or_error("read", dropped)?;
        Ok(found)
    }

    fn last(&mut self, which: &[Select], count: usize) -> Result<Vec<Vec<StoredRecord>>> {
        let mut found = self.or_error("read", self.read_last_of_each(which, count))?;
        let records = found.iter_mut().flatten().collect();
        self.or_error("read", tombstones::drop_forgotten_parts(&self.server, records))?;
        Ok(found)
    }

    fn count(&mut self, which: &Select, most: usize) -> Result<usize> {
        self.or_error("read", self.count_up_to(which, most))
    }

    fn tombstones_of(&mut self, messages: &[&StoredRecord]) -> Result<Vec<Tombstone>> {
        self.or_error("read", tombstones::of_messages(&self.server, messages))
    }

    fn walk(&mut self, what: &Walk, visit: &mut Visit) -> Result<Option<Damage>> {
        self.or_error("read", self.walk_all(what, visit).map(|()| None))
    }
}

impl Neo4j {
    /// The number of the last change of any kind, since no index yields that of the last record. The messages
    /// of another program have no numbers.
    fn read_mark(&self) -> DbResult<Option<Mark>> {
        if self.has_unadopted()? {
            return Ok(None);
        }
        let row = self.server.row(statements::MARK, Params::new())?;
        row.map(|row| Ok(Mark { last: row.get("n")?, count: row.count("count")? })).transpose()
    }

    fn walk_all(&self, what: &Walk, visit: &mut Visit) -> DbResult<()> {
        let last = self.server.row(statements::LAST_NUMBER, Params::new())?;
        let upto: i64 = last.map_or(Ok(0), |row| row.get("n"))?;
        let which = &what.which;
        let after = what.changed_since.map_or(-1, |numbers| numbers.records);
        if after >= upto && !self.has_unadopted()? {
            return Ok(());
        }
        let params = || select_params(which).with("upto", upto).with("after", after);
        let selected = |statement: &str, which: &Select| match what.changed_since {
            Some(_) => changed(&selected(statement, which)),
            None => selected(statement, which),
        };
        let mut visit = |record: Record| visit(record).map_err(DbError::Visitor);
        if what.tombstones {
            tombstones::each(&self.server, which, after, &mut |one| visit(Record::Tombstone(one)))?;
        }
        let has_parts = which.kinds.iter().any(|kind| !kind.part_lists.is_empty());
        let forgotten = if has_parts { tombstones::all_forgotten(&self.server)? } else { Default::default() };
        let model = if what.vectors { self.main_model()? } else { None };
        let (about, others): (Vec<_>, Vec<_>) =
            which.kinds.iter().copied().partition(|kind| kind.subject.is_some());
        let mut irregular = self.irregular(which)?.into_iter().peekable();
        if !others.is_empty() {
            let statement = selected(statements::RECORDS, &Select { kinds: others.clone(), ..which.clone() });
            self.server.each(&statement, params().with("model", model.as_deref()), &mut |row| {
                let mut record = with_vector(&row, &others, model.as_deref())?;
                while let Some(earlier) = irregular.next_if(|next| next.position() < record.position()) {
                    visit(Record::Stored(earlier))?;
                }
                if !forgotten.is_empty() {
                    record.drop_parts(|digest| forgotten.contains(digest));
                }
                visit(Record::Stored(record))
            })?;
        }
        irregular.try_for_each(|record| visit(Record::Stored(record)))?;
        if !about.is_empty() {
            let statement = selected(statements::RECORDS, &Select { kinds: about.clone(), ..which.clone() });
            self.server.each(&statement, params().with("model", model.as_deref()), &mut |row| {
                visit(Record::Stored(with_vector(&row, &about, model.as_deref())?))
            })?;
        }
        if what.embeddings {
            let statement = selected(statements::EMBEDDINGS, which);
            self.server.each(&statement, params(), &mut |row| visit(Record::Embedding(row.embedding()?)))?;
        }
        if what.links {
            let statement = selected(statements::LINKS, which);
            self.server.each(&statement, params(), &mut |row| visit(Record::Link(row.link()?)))?;
        }
        Ok(())
    }

    /// All changes are numbered by one counter.
    pub(super) fn read_change_state(&self, earlier: &[Witness]) -> DbResult<ChangeState> {
        let numbers = |part: &str| {
            let of_part = earlier.iter().filter(|witness| witness.part == part);
            of_part.map(|witness| witness.n).collect::<BoltType>()
        };
        let params = Params::new()
            .with("count", number(WITNESSES))
            .with(RECORDS, numbers(RECORDS))
            .with(TOMBSTONES, numbers(TOMBSTONES));
        let Some(row) = self.server.row(statements::CHANGE_STATE, params)? else {
            return Err(no_row());
        };
        let mut witnesses = Vec::new();
        for part in [RECORDS, TOMBSTONES] {
            let found: Vec<(i64, String)> = row.get(part)?;
            witnesses.extend(found.iter().map(|(n, name)| Witness::new(part, *n, name)));
        }
        let n = row.get("n")?;
        let numbers = ChangeNumbers { records: n, embeddings: n, links: n, tombstones: n };
        Ok(ChangeState { store: row.get("id")?, numbers, mark: self.read_mark()?, witnesses })
    }

    /// The name of the model that has the most vectors.
    fn main_model(&self) -> DbResult<Option<String>> {
        let models = self.read_models()?;
        let most = models.iter().map(|model| model.vectors).max();
        Ok(models.into_iter().find(|model| Some(model.vectors) == most).map(|model| model.name))
    }
}

/// The record in a row, with its vector if it has one.
fn with_vector(row: &Row, kinds: &[&'static RecordKind], model: Option<&str>) -> DbResult<StoredRecord> {
    let mut record = row.record(kinds)?;
    if let (Some(model), Some(_)) = (model, row.get::<Option<Vec<f64>>>("vector")?) {
        record.vector = Some(Vector { model: model.to_owned(), numbers: row.vector("vector")? });
    }
    Ok(record)
}
