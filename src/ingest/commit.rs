//! Commits of sessions, which are stored whole or not at all.

use super::completion::Completion;
use super::entry::{Entry, PendingCommit};
use super::error::IngestError;
use crate::error::{Error, Result};
use crate::record::{
    CONSOLIDATED_INTO, Commit, DOCUMENT, EXTRACTED_FROM, EXTRACTED_FROM_MEMBER, Link, MEMORY, NEAR, Object,
    Record, Scope, Scopes, StoredRecord, texts,
};
use crate::store::{self, Claim, Select, Store};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::{Duration, Instant};

/// The name of the job that only one process may do at a time: to store records that depend on stored ones.
const JOB: &str = "commit";
/// How long another process may take to store its commit, and the time between two looks.
const CLAIM_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The records of a commit: the archive, the memories, and links to what they were made from. Fails if the
/// archive or a memory is invalid.
pub(super) fn records(commit: &Commit, completion: &mut Completion) -> Result<(Vec<Record>, PendingCommit)> {
    let archive = commit.archive_record(completion.clock.now())?;
    let mut records = vec![Record::Stored(archive.clone())];
    let mut pending = PendingCommit { archive: archive.clone(), memories: Vec::new(), replaced: Vec::new() };
    let mut links = links(&archive, &commit.archive, &[])?;
    for line in &commit.memories {
        let mut own = line.clone();
        own.take(EXTRACTED_FROM_MEMBER);
        own.take(NEAR);
        let mut draft = (MEMORY.read)(own)?;
        draft.partition.get_or_insert_with(|| commit.scope.partition.clone());
        let memory = completion.complete(draft)?;
        links.extend(self::links(&memory, line, &[&archive.id])?);
        pending.replaced.extend(memory.replaced_ids());
        pending.memories.push(memory.id.clone());
        records.push(Record::Stored(memory));
    }
    records.extend(links);
    Ok((records, pending))
}

/// The links of a record to the messages that its line names, or else to others.
fn links(record: &StoredRecord, line: &Object, others: &[&str]) -> Result<Vec<Record>> {
    let named = texts(line, EXTRACTED_FROM_MEMBER)?.unwrap_or_default();
    let sources = if named.is_empty() { others.iter().map(|id| (*id).to_owned()).collect() } else { named };
    let link = |to: &String| Record::Link(Link::plain(EXTRACTED_FROM, &record.id, to, record.timestamp));
    Ok(sources.iter().map(link).collect())
}

/// Locks out other processes that store commits or consolidated memories, if a batch has any. Fails if
/// another one holds the lock for `CLAIM_TIMEOUT`.
pub(super) fn claim(entries: &[Entry], records: &[Record], store: &mut dyn Store) -> Result<Option<Claim>> {
    let replaces = |record: &Record| record.stored().is_some_and(|one| !one.replaced_ids().is_empty());
    if !entries.iter().any(|entry| entry.commit.is_some()) && !records.iter().any(replaces) {
        return Ok(None);
    }
    let begin = Instant::now();
    loop {
        if let Some(claim) = store.claim(JOB)? {
            return Ok(Some(claim));
        }
        if begin.elapsed() > CLAIM_TIMEOUT {
            return Err(IngestError::Busy.into());
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Refuses the commits that cannot be stored whole: one that does not follow the last archive of its session,
/// takes the place of a memory that is archived, or has words of a message that was forgotten meanwhile.
/// Their records leave the batch.
pub(super) fn check(entries: &mut [Entry], records: &mut Vec<Record>, store: &mut dyn Store) -> Result<()> {
    let mut known = KnownCommits::default();
    let mut all = std::mem::take(records).into_iter();
    for entry in entries {
        let mut own: Vec<Record> = all.by_ref().take(entry.records.len()).collect();
        if let Some(commit) = &entry.commit {
            let dangling = dangling_links(&own, store)?;
            entry.refused = known.refusal(commit, dangling.iter().next(), store)?;
            if entry.refused.is_some() {
                own.clear();
            }
            // Of a commit that is stored already, they are of messages that were forgotten since.
            own.retain(|record| !matches!(record, Record::Link(link) if dangling.contains(&link.to)));
        }
        let begin = records.len();
        records.extend(own);
        entry.records = begin..records.len();
    }
    Ok(())
}

/// The state that the commits of a batch are checked against.
#[derive(Default)]
struct KnownCommits {
    /// The last archives of the sessions that were looked up or committed.
    last: BTreeMap<Scope, Option<String>>,
    /// The memories of which another took the place in this batch.
    replaced: HashSet<String>,
}

impl KnownCommits {
    /// Why a commit is not stored; `missing` is a message that it has words of and that is not there.
    fn refusal(
        &mut self,
        commit: &PendingCommit,
        missing: Option<&String>,
        store: &mut dyn Store,
    ) -> Result<Option<Error>> {
        let PendingCommit { archive, .. } = commit;
        let which = Select::records(vec![&DOCUMENT], Scopes::All);
        if let Some(there) = store.get(&[&archive.id], &which)?.pop() {
            let covers = |archive: &StoredRecord| archive.member_texts("covers");
            let is_same = there.version() == archive.version() && covers(&there) == covers(archive);
            let why = "the session is committed up to its last message already";
            return Ok((!is_same).then(|| refused(archive, why.to_owned())));
        }
        let scope = &archive.scope;
        if !self.last.contains_key(scope) {
            let last = store::last_archive(store::archives(store, scope)?);
            self.last.insert(scope.clone(), last.map(|archive| archive.id));
        }
        let last = self.last[scope].clone().unwrap_or_default();
        let why = if archive.member_text("follows") != last {
            let last = if last.is_empty() { "there is none".to_owned() } else { format!("that is {last}") };
            Some(format!("follows: is not the last archive of {scope}: {last}"))
        } else if let Some(id) = missing {
            Some(format!("extracted_from: the store has no record {id}"))
        } else {
            let archived = self.archived(commit, store)?;
            archived.map(|id| format!("source_ids: {id} is archived already, or not there"))
        };
        if why.is_none() {
            self.last.insert(scope.clone(), Some(archive.id.clone()));
            self.replaced.extend(commit.replaced.iter().cloned());
        }
        Ok(why.map(|why| refused(archive, why)))
    }

    /// A memory whose place cannot be taken.
    fn archived(&self, commit: &PendingCommit, store: &mut dyn Store) -> Result<Option<String>> {
        let ids: Vec<&str> = commit.replaced.iter().map(String::as_str).collect();
        if ids.is_empty() {
            return Ok(None);
        }
        let scope = Scopes::Partition(commit.archive.scope.partition.clone());
        let there = store.get(&ids, &Select::records(vec![&MEMORY], scope))?;
        let there: HashSet<&str> = there.iter().map(|memory| memory.id.as_str()).collect();
        let links = store.links(&ids, Some(CONSOLIDATED_INTO))?;
        let is_archived =
            |id: &str| links.iter().any(|link| link.from == id && !commit.memories.contains(&link.to));
        let mut seen = HashSet::new();
        let found = ids.into_iter().find(|id| {
            !there.contains(id) || is_archived(id) || self.replaced.contains(*id) || !seen.insert(*id)
        });
        Ok(found.map(str::to_owned))
    }
}

fn refused(archive: &StoredRecord, why: String) -> Error {
    let Scope { partition, instance } = archive.scope.clone();
    IngestError::Commit { why, partition, instance }.into()
}

/// The records to which the links of a commit lead and that are neither there nor in the commit.
fn dangling_links(records: &[Record], store: &mut dyn Store) -> Result<BTreeSet<String>> {
    let own: HashSet<&str> = records.iter().filter_map(Record::id).collect();
    let mut seen = HashSet::new();
    let mut missing = BTreeSet::new();
    for record in records {
        if let Record::Link(link) = record
            && !own.contains(link.to.as_str())
            && seen.insert(&link.to)
            && store.scope_of(&link.to)?.is_none()
        {
            missing.insert(link.to.clone());
        }
    }
    Ok(missing)
}
