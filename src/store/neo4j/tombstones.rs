//! Tombstones, and the records and the parts that they keep out.

use super::error::{DbError, DbResult};
use super::selection::scopes_params;
use super::server::{FETCH_SIZE, Server, Transaction};
use super::statements::{self, for_scopes};
use super::values::{self, ListedTombstone, Params, Row};
use crate::record::{Record, RecordDigests, StoredRecord, Tombstone, identity_digest, kinds};
use crate::store::forgetting::{TombstoneLookup, blocking, tombstone_of_id};
use crate::store::rename::{FORMER, FormerNames, SoughtFingerprint, former_forms};
use crate::store::select::Select;
use crate::store::write_plan::links_of;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Digests of what records say.
#[derive(Default)]
pub(super) struct Contents {
    /// As it was written.
    also: BTreeSet<String>,
    /// In any form.
    folded: BTreeSet<String>,
}

/// The tombstones of some digests.
#[derive(Default)]
pub(super) struct Tombstones {
    by_identity: HashMap<String, Tombstone>,
    /// The identity digests of the tombstones that name their record's words, as written or normalized, by
    /// that digest.
    by_content: HashMap<String, Vec<String>>,
    /// The former names of all partitions.
    pub(super) former: FormerNames,
}

impl Tombstones {
    /// Reads those of some identity digests, and those of some contents. Fails if the server does.
    pub(super) fn read(
        transaction: &mut Transaction,
        of: &BTreeSet<String>,
        contents: &Contents,
    ) -> DbResult<Tombstones> {
        match digests_params(of, contents) {
            Some(params) => Tombstones::of_rows(&transaction.rows(statements::TOMBSTONES_BY_DIGEST, params)?),
            None => Ok(Tombstones::default()),
        }
    }

    fn of_rows(rows: &[Row]) -> DbResult<Tombstones> {
        let mut existing = Tombstones::default();
        for row in rows {
            existing.put(row.tombstone()?);
        }
        Ok(existing)
    }

    /// Reads those that may keep out records of a batch, or what refers to missing records.
    pub(super) fn of_batch(
        transaction: &mut Transaction,
        batch: &[Record],
        former: &FormerNames,
        is_there: impl Fn(&str) -> bool,
    ) -> DbResult<Tombstones> {
        let (mut of, mut contents) = (BTreeSet::new(), Contents::default());
        for record in batch {
            let missing = record.references().into_iter().filter(|id| !is_there(id));
            of.extend(missing.flat_map(|id| digests_of_any_kind(&id).collect::<Vec<_>>()));
            match record {
                Record::Stored(record) => {
                    add_digests(record, former, &mut of, &mut contents);
                    of.extend(links_of(record).map(|link| link.digest()));
                }
                Record::Link(link) => {
                    of.insert(link.digest());
                }
                Record::Embedding(_) | Record::Tombstone(_) => {}
            }
        }
        Tombstones::read(transaction, &of, &contents)
    }

    pub(super) fn extend(&mut self, others: Tombstones) {
        for tombstone in others.by_identity.into_values() {
            self.put(tombstone);
        }
    }

    /// The tombstone of an identity digest.
    pub(super) fn get(&self, of: &str) -> Option<&Tombstone> {
        self.by_identity.get(of)
    }

    /// The directories among some records that were forgotten.
    pub(super) fn directories<'a>(&self, batch: &'a [Record]) -> Vec<&'a StoredRecord> {
        let versioned =
            batch.iter().filter_map(Record::stored).filter(|record| record.kind.versions.is_some());
        let was_forgotten = |record: &&StoredRecord| {
            let existing = tombstone_of_id(record, self).ok().flatten(); // Memory cannot fail.
            existing.is_some_and(|existing| existing.is_of_directory(record))
        };
        versioned.filter(was_forgotten).collect()
    }

    pub(super) fn put(&mut self, tombstone: Tombstone) {
        for digest in tombstone.also.clone().into_iter().chain(tombstone.folded()) {
            let same = self.by_content.entry(digest).or_default();
            if !same.contains(&tombstone.of) {
                same.push(tombstone.of.clone());
            }
        }
        self.by_identity.insert(tombstone.of.clone(), tombstone);
    }
}

impl TombstoneLookup for Tombstones {
    type Error = DbError;

    fn of(&self, digest: &str) -> DbResult<Option<Tombstone>> {
        Ok(self.get(digest).cloned())
    }

    fn naming(&self, digests: &RecordDigests) -> DbResult<Vec<Tombstone>> {
        let of_content = digests.iter().filter_map(|digest| self.by_content.get(digest)).flatten();
        let named: BTreeSet<&String> = of_content.chain([&digests.identity]).collect();
        Ok(named.into_iter().filter_map(|of| self.get(of)).cloned().collect())
    }

    fn former_names(&self, partition: &str) -> DbResult<Vec<String>> {
        Ok(self.former.of(partition).to_vec())
    }
}

/// Adds the digests by which tombstones name a record, under every name of its partition.
fn add_digests(
    record: &StoredRecord,
    former: &FormerNames,
    of: &mut BTreeSet<String>,
    contents: &mut Contents,
) {
    let forms = former_forms(record, former.of(&record.scope.partition)).map(|(_, form)| form.digests());
    for RecordDigests { identity, natural, folded } in forms.chain([record.digests()]) {
        of.insert(identity);
        contents.also.extend(natural);
        contents.folded.extend(folded);
    }
}

/// The parameters for the tombstones of some digests; `None` if there are no digests.
fn digests_params(of: &BTreeSet<String>, Contents { also, folded }: &Contents) -> Option<Params> {
    let is_empty = [of, also, folded].iter().all(|digests| digests.is_empty());
    let mut params = Params::new();
    for (name, digests) in [("of", of), ("also", also), ("folded", folded)] {
        params = params.with_texts(name, digests.iter().map(String::as_str));
    }
    (!is_empty).then_some(params)
}

/// Those of a partition.
pub(super) fn of_partition(transaction: &mut Transaction, partition: &str) -> DbResult<Vec<Tombstone>> {
    let params = Params::new().with("partition", partition);
    transaction.rows(statements::TOMBSTONES_OF_PARTITION, params)?.iter().map(Row::tombstone).collect()
}

/// Whether tombstones keep out each of some records. Fails if the server does.
pub(super) fn are_kept_out(server: &Server, records: &[StoredRecord]) -> DbResult<Vec<bool>> {
    let mut are_kept_out = Vec::with_capacity(records.len());
    let former = former_names(server)?;
    for some in records.chunks(FETCH_SIZE) {
        let (mut of, mut contents) = (BTreeSet::new(), Contents::default());
        for record in some {
            add_digests(record, &former, &mut of, &mut contents);
        }
        let rows = digests_params(&of, &contents)
            .map_or_else(|| Ok(Vec::new()), |params| server.rows(statements::TOMBSTONES_BY_DIGEST, params))?;
        let existing = Tombstones { former: former.clone(), ..Tombstones::of_rows(&rows)? };
        for record in some {
            are_kept_out.push(!blocking(record, &existing)?.is_empty());
        }
    }
    Ok(are_kept_out)
}

/// The former names of partitions.
fn former_names(server: &Server) -> DbResult<FormerNames> {
    let rows = server.rows(statements::FACTS, Params::new().with("prefix", FORMER))?;
    let facts = rows.iter().map(|row| Ok((row.get("name")?, row.get("value")?)));
    Ok(FormerNames::parse(facts.collect::<DbResult<Vec<_>>>()?))
}

/// Those of messages with the fingerprint of one of some, under any name of its partition. The server is
/// asked again only if a partition had another name. Fails if the server does.
pub(super) fn of_messages(server: &Server, messages: &[&StoredRecord]) -> DbResult<Vec<Tombstone>> {
    let sought = |former: &FormerNames| {
        SoughtFingerprint::of(messages, |partition| DbResult::Ok(former.of(partition).to_vec()))
    };
    let mut found = Vec::new();
    let former = with_fingerprints(server, &sought(&FormerNames::default())?, &mut found)?;
    if let Some(former) = former.filter(|former| !former.is_empty()) {
        let mut others = sought(&former)?;
        others.retain(SoughtFingerprint::is_former);
        with_fingerprints(server, &others, &mut found)?;
    }
    Ok(found)
}

/// Adds the tombstones that are found by some fingerprints; returns the former names of partitions, if there
/// was anything to find.
fn with_fingerprints(
    server: &Server,
    asked: &[SoughtFingerprint],
    found: &mut Vec<Tombstone>,
) -> DbResult<Option<FormerNames>> {
    let mut former = None;
    for some in asked.chunks(FETCH_SIZE) {
        let params = Params::new().with_texts("fingerprints", some.iter().map(|one| one.digest.as_str()));
        let Some(row) = server.row(statements::TOMBSTONES_BY_FINGERPRINT, params)? else { continue };
        former = Some(FormerNames::parse(row.get::<Vec<(String, String)>>("former")?));
        for (fingerprint, listed) in row.get::<Vec<(String, ListedTombstone)>>("found")? {
            let one = values::tombstone(listed)?;
            let of = some.iter().filter(|sought| sought.digest == fingerprint);
            found.extend(of.filter_map(|sought| sought.found(one.clone())));
        }
    }
    Ok(former)
}

/// The digests of the records of every kind that could have an id.
fn digests_of_any_kind(id: &str) -> impl Iterator<Item = String> {
    kinds().into_iter().map(move |kind| identity_digest(kind.name, id))
}

/// Visits the tombstones of a selection's scopes and times with numbers after one, by time and digest; other
/// conditions do not count. Fails if the server or `visit` does.
pub(super) fn each(
    server: &Server,
    which: &Select,
    after: i64,
    visit: &mut dyn FnMut(Tombstone) -> DbResult<()>,
) -> DbResult<()> {
    let params = scopes_params(&which.scopes)
        .with("since", which.since.unwrap_or(i64::MIN))
        .with("until", which.until.unwrap_or(i64::MAX))
        .with("after", after);
    let statement = for_scopes(statements::TOMBSTONES, &which.scopes);
    server.each(&statement, params, &mut |row| {
        let one = row.tombstone()?;
        if one.duplicate_of().is_none() { visit(one) } else { Ok(()) }
    })
}

/// The digests of everything that was forgotten.
pub(super) fn all_forgotten(server: &Server) -> DbResult<HashSet<String>> {
    let mut forgotten = HashSet::new();
    server.each(statements::ALL_FORGOTTEN, Params::new(), &mut |row| {
        forgotten.insert(row.get("of")?);
        Ok(())
    })?;
    Ok(forgotten)
}

/// Removes the parts of records that name forgotten records. The server is asked only if there are parts.
pub(super) fn drop_forgotten_parts(server: &Server, records: Vec<&mut StoredRecord>) -> DbResult<()> {
    let named: BTreeSet<String> = records.iter().flat_map(|record| record.part_digests()).collect();
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    let mut forgotten: HashSet<String> = HashSet::new();
    for some in named.chunks(FETCH_SIZE) {
        let params = Params::new().with_texts("digests", some.iter().copied());
        for row in server.rows(statements::FORGOTTEN, params)? {
            forgotten.insert(row.get("of")?);
        }
    }
    if !forgotten.is_empty() {
        for record in records {
            record.drop_parts(|digest| forgotten.contains(digest));
        }
    }
    Ok(())
}
