//! Moves the records of a partition to another name, some in each transaction. A fact says that it is under
//! way, so that the same command continues after an interruption; tombstones go first, so that what was
//! forgotten stays out meanwhile.

use super::batch::Batch;
use super::changes;
use super::error::DbResult;
use super::existing::{ROWS, read_old_versions};
use super::graph::Neo4j;
use super::lock::lock;
use super::record_node;
use super::rows::tombstone_row;
use super::selection::select_params;
use super::server::Transaction;
use super::statements::{self, selected};
use super::tombstones;
use super::values::{Params, unexpected};
use super::write::run_over;
use crate::record::{Scope, Scopes, StoredRecord, kind_named, kinds};
use crate::store::imports::{self, Renumbered};
use crate::store::rename::{self, Obstacle, Rename, RenamedIds};
use crate::store::select::Select;

/// The most numbers that a record needs when it moves: one for its change, and one for a new collection.
const NUMBERS: usize = 2;

impl Neo4j {
    /// Renames a partition; returns the number of moved records, or why none can be. One that is under way
    /// continues.
    pub(super) fn rename_all(&self, rename: &Rename) -> DbResult<Result<u64, Obstacle>> {
        if let Some(obstacle) = self.obstacle(rename)? {
            return Ok(Err(obstacle));
        }
        let ids = match self.renamed_ids(rename)? {
            Ok(ids) => ids,
            Err(obstacle) => return Ok(Err(obstacle)),
        };
        self.server.write(|transaction| {
            let (_, models) = lock(transaction, 0)?;
            rename::begin(rename, models.keys().map(String::as_str), transaction)
        })?;
        let mut count = 0;
        loop {
            self.server.write(|transaction| move_tombstones(transaction, rename))?;
            let moved = self.move_records(rename, &ids)?;
            count += moved;
            // Others may have written meanwhile.
            if moved == 0 {
                break;
            }
        }
        self.server.write(|transaction| {
            lock(transaction, 0)?;
            transaction.run(changes::TURN_SYNAPSES, Params::new().with("partition", rename.to.as_str()))?;
            let params = Params::new().with("from", rename.from.as_str()).with("to", rename.to.as_str());
            transaction.run(changes::MOVE_RULES, params)
        })?;
        Ok(Ok(count))
    }

    /// The reason not to begin; none for one that is under way, as long as it can continue.
    fn obstacle(&self, rename: &Rename) -> DbResult<Option<Obstacle>> {
        let Rename { from, to } = rename;
        let params = Params::new().with("name", rename.fact());
        let is_under_way = self.server.row(statements::FACT, params)?.is_some();
        let unadopted = |partition: &str| -> DbResult<bool> {
            let params = Params::new().with("partition", partition);
            let row = self.server.row(statements::UNADOPTED_OF_PARTITION, params)?;
            row.map_or(Ok(false), |row| Ok(row.count("count")? > 0))
        };
        let (old, new) = (self.kinds_of(from)?, self.kinds_of(to)?);
        if unadopted(from)? {
            return Ok(Some(Obstacle::Unadopted));
        }
        if !is_under_way && old.is_empty() {
            return Ok(Some(Obstacle::Missing { name: from.clone() }));
        }
        if !is_under_way && (!new.is_empty() || unadopted(to)?) {
            return Ok(Some(Obstacle::Taken { name: to.clone() }));
        }
        let has = |instance: &str| old.iter().any(|(_, scope)| scope.instance == instance);
        if has(from) && has(to) {
            return Ok(Some(Obstacle::InstanceTaken { from: from.clone(), to: to.clone() }));
        }
        let mut names = old.into_iter().map(|(kind, _)| kind);
        Ok(names.find(|kind| kind_named(kind).is_none()).map(|kind| Obstacle::UnknownKind { kind }))
    }

    /// The names of the kinds and the scopes of a partition that have records.
    fn kinds_of(&self, partition: &str) -> DbResult<Vec<(String, Scope)>> {
        let rows = self.server.rows(statements::COLLECTIONS, Params::new().with("partition", partition))?;
        let mut found = Vec::new();
        for row in rows {
            if row.get::<i64>("documents")? > 0 {
                found.push((row.get("kind")?, row.scope()?));
            }
        }
        Ok(found)
    }

    /// The ids that follow from the name.
    fn renamed_ids<'a>(&self, rename: &'a Rename) -> DbResult<Result<RenamedIds<'a>, Obstacle>> {
        let (mut ids, mut obstacle) = (RenamedIds::new(rename), None);
        let named = kinds().into_iter().filter(|kind| RenamedIds::are_of(kind)).collect::<Vec<_>>();
        for partition in [&rename.from, &rename.to] {
            let which = Select::records(named.clone(), Scopes::Partition(partition.clone()));
            let params = select_params(&which).with("upto", i64::MAX).with("model", None::<String>);
            self.server.each(&selected(statements::RECORDS, &which), params, &mut |row| {
                let noted = ids.note(&row.record(&which.kinds)?);
                obstacle = obstacle.take().or(noted.err());
                Ok(())
            })?;
        }
        Ok(obstacle.map_or(Ok(ids), Err))
    }

    /// Moves the records that have the old name; returns their number.
    fn move_records(&self, rename: &Rename, ids: &RenamedIds) -> DbResult<u64> {
        let which = Select::records(kinds(), Scopes::Partition(rename.from.clone()));
        let mut all: Vec<String> = Vec::new();
        self.server.each(&selected(statements::IDS, &which), select_params(&which), &mut |row| {
            all.push(row.get("id")?);
            Ok(())
        })?;
        let mut moved = 0;
        for some in all.chunks(ROWS) {
            let some: Vec<&str> = some.iter().map(String::as_str).collect();
            moved += self.write_in_one(|transaction| move_some(transaction, &which, &some, rename, ids))?;
        }
        Ok(moved)
    }
}

/// Works out the move of some records that have the old name; returns their number.
fn move_some(
    transaction: &mut Transaction,
    which: &Select,
    wanted: &[&str],
    rename: &Rename,
    ids: &RenamedIds,
) -> DbResult<(u64, Batch)> {
    let mut batch = Batch::default();
    (batch.next, batch.models) = lock(transaction, NUMBERS * wanted.len())?;
    let mut records: Vec<StoredRecord> = Vec::with_capacity(wanted.len());
    let params = select_params(which).with_texts("wanted", wanted.iter().copied());
    transaction.each(&selected(statements::RECORDS_BY_ID, which), params, &mut |row| {
        let (listed,) = row.get("row")?;
        records.push(record_node::record(listed, &which.kinds)?);
        Ok(())
    })?;
    let params = Params::new().with("partition", rename.to.as_str());
    for row in transaction.rows(statements::COLLECTIONS, params)? {
        if let Some(kind) = kind_named(&row.get::<String>("kind")?) {
            batch.collections.insert((kind.name, row.scope()?), row.get("n")?);
        }
    }
    read_old_versions(transaction, &mut batch, wanted)?;
    let changes = changes_before(transaction, wanted)?;
    let mut renumbered = Vec::with_capacity(records.len());
    for record in &records {
        let renamed = ids.record(record).map_err(unexpected)?;
        if let Some([n, new]) = batch.move_record(record, &renamed) {
            // A record that was never changed in place has its number as its change.
            let change = changes.iter().find(|(own, _)| *own == n).and_then(|(_, change)| *change);
            renumbered.push(Renumbered { n, change: change.unwrap_or(n), new });
        }
    }
    imports::renumber(&renumbered, transaction)?;
    Ok((renumbered.len() as u64, batch))
}

/// The numbers of some records, and those of their last changes in place.
fn changes_before(transaction: &mut Transaction, ids: &[&str]) -> DbResult<Vec<(i64, Option<i64>)>> {
    let params = Params::new().with_texts("ids", ids.iter().copied());
    let rows = transaction.rows(statements::NUMBERS, params)?;
    rows.iter().map(|row| Ok((row.get("n")?, row.get("changed")?))).collect()
}

/// Has the tombstones of the old name follow.
fn move_tombstones(transaction: &mut Transaction, rename: &Rename) -> DbResult<()> {
    lock(transaction, 0)?;
    let stones = tombstones::of_partition(transaction, &rename.from)?;
    let stones: Vec<_> = stones.iter().map(|one| one.renamed(&rename.to)).collect();
    rename::note_former(&stones, transaction)?;
    run_over(transaction, changes::PUT_TOMBSTONES, stones.iter().map(tombstone_row).collect())
}
