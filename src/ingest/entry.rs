//! The lines of a batch, and the outcome of each.

use super::error::IngestError;
use crate::error::{Error, Result};
use crate::lines::SourceLocation;
use crate::record::{Object, Record, Scope, Scopes, StoredRecord, VectorFormat};
use crate::store::{Among, Store, StoreFault, WriteOutcome};
use crate::text::counted_verb;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

/// A line of a batch and the records that it stands for.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) place: Option<SourceLocation>,
    pub(super) records: std::ops::Range<usize>,
    /// The line to pass on; `None` for the first record itself.
    pub(super) passed_on: Option<Object>,
    /// Whether its answers are paired with their questions.
    pub(super) pair: bool,
    /// Whether its messages came with a seq of their own.
    pub(super) ordered: bool,
    /// The commit that it is.
    pub(super) commit: Option<Box<PendingCommit>>,
    /// Why nothing of it is stored.
    pub(super) refused: Option<Error>,
    /// Why its record is stored without the vector that it came with.
    pub(super) without_vector: Option<Error>,
}

/// The parts of a commit that decide whether it may be stored.
#[derive(Clone)]
pub(super) struct PendingCommit {
    pub(super) archive: StoredRecord,
    /// The ids of its memories.
    pub(super) memories: Vec<String>,
    /// The ids of the stored memories whose place they take.
    pub(super) replaced: Vec<String>,
}

/// The outcome of a line.
pub struct IngestedLine {
    /// The line to pass on (an import passes nothing on), or why it could not be stored.
    pub line: Result<Vec<u8>>,
    /// Something worth knowing about it.
    pub note: Option<String>,
    pub place: Option<SourceLocation>,
    /// The ids of its records that were there already.
    pub same_ids: Vec<String>,
    /// The scope of its first record, if that has one.
    pub scope: Option<Scope>,
    /// The number of its records by their outcome.
    pub counts: RecordCounts,
    /// The number of its records that are not stored, because their ids belong to other records.
    pub conflicts: usize,
}

/// The numbers of records that were written, by their outcome.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct RecordCounts {
    /// They are stored now, or took the place of an older version.
    pub new: usize,
    /// They were there already.
    pub same: usize,
    /// They were forgotten, or belong to forgotten records, and are kept out.
    pub forgotten: usize,
    /// They cannot be stored.
    pub refused: usize,
}

impl RecordCounts {
    /// The number of all of them.
    pub fn read(&self) -> usize {
        self.new + self.same + self.forgotten + self.refused
    }
}

impl std::ops::AddAssign for RecordCounts {
    fn add_assign(&mut self, other: RecordCounts) {
        self.new += other.new;
        self.same += other.same;
        self.forgotten += other.forgotten;
        self.refused += other.refused;
    }
}

/// The scopes of the records that keep their ids, by the position in the batch of the record that lost.
pub(super) type IdOwners = HashMap<usize, Option<Scope>>;

/// Finds the owners of the ids that records of a written batch could not take.
pub(super) fn id_owners(records: &[Record], written: &[WriteOutcome], store: &mut dyn Store) -> IdOwners {
    let mut owners = IdOwners::new();
    for (at, (record, written)) in records.iter().zip(written).enumerate() {
        if let (Record::Stored(record), WriteOutcome::Conflict) = (record, written) {
            // The batch is durable, so that a failed lookup may only cost the name of the scope.
            owners.insert(at, store.scope_of(&record.id).ok().flatten());
        }
    }
    owners
}

/// The error for a record whose id belongs to another.
fn id_conflict(record: &StoredRecord, owner: Option<&Scope>) -> Error {
    let owner = owner.map(|scope| format!(" of {scope}")).unwrap_or_default();
    let StoredRecord { kind, id, scope, .. } = record;
    let (id, scope) = (id.clone(), scope.clone());
    IngestError::OtherRecord { id, owner, kind: kind.name, scope }.into()
}

/// The effect of tombstones so far.
#[derive(Clone, Default)]
pub(super) struct Forgetting {
    /// The ids of records that were kept out; their vectors and links are kept out too.
    kept_out: HashSet<String>,
    /// The number of records that tombstones have removed.
    removed: u64,
}

impl Forgetting {
    pub(super) fn has_removed(&self) -> bool {
        self.removed > 0
    }

    /// A note for the user; none if tombstones had no effect.
    pub(super) fn note(&self) -> Option<String> {
        let forgotten = |count| counted_verb(count, "record", ["was forgotten", "were forgotten"]);
        let are = |count| if count == 1 { "is" } else { "are" };
        let (kept_out, removed) = (self.kept_out.len() as u64, self.removed);
        let parts = [
            (kept_out > 0).then(|| {
                let records = forgotten(kept_out);
                format!("{records} and {} kept out, unless with --allow-return", are(kept_out))
            }),
            (removed > 0).then(|| format!("{} elsewhere and {} removed", forgotten(removed), are(removed))),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// Gives records that are about others the scopes of these.
pub(super) fn inherit_scopes(records: &mut [Record], store: &mut dyn Store) -> Result<()> {
    let mut scopes: HashMap<String, Option<Scope>> = HashMap::new();
    if !records.iter().filter_map(Record::stored).any(|record| record.kind.subject.is_some()) {
        return Ok(());
    }
    for record in records {
        let Record::Stored(record) = record else { continue };
        let Some(subject) = record.subject_id() else {
            scopes.insert(record.id.clone(), Some(record.scope.clone()));
            continue;
        };
        let scope = match scopes.get(&subject) {
            Some(scope) => scope.clone(),
            None => {
                let scope = store.scope_of(&subject)?;
                scopes.insert(subject, scope.clone());
                scope
            }
        };
        if let Some(scope) = scope {
            record.scope = scope;
        }
    }
    Ok(())
}

/// Removes what refers to a record outside these scopes. Other records were filtered when they were added.
pub(super) fn narrow(
    entries: &mut Vec<Entry>,
    records: &mut Vec<Record>,
    scopes: &Scopes,
    store: &mut dyn Store,
) -> Result<()> {
    let mut admitted: HashSet<String> = records.iter().filter_map(Record::id).map(str::to_owned).collect();
    let referenced = records.iter().flat_map(Record::references).filter(|id| !admitted.contains(&**id));
    let referenced: BTreeSet<Cow<str>> = referenced.collect();
    let stored = store.identify(Among::Ids(&referenced.iter().map(|id| &**id).collect::<Vec<_>>()))?;
    admitted.extend(stored.into_iter().filter(|(_, scope)| scopes.contains(scope)).map(|(id, _)| id));
    let mut all = std::mem::take(records).into_iter();
    for mut entry in std::mem::take(entries) {
        let own: Vec<Record> = all.by_ref().take(entry.records.len()).collect();
        if own.iter().flat_map(Record::references).all(|id| admitted.contains(&*id)) {
            let begin = records.len();
            records.extend(own);
            entry.records = begin..records.len();
            entries.push(entry);
        }
    }
    Ok(())
}

/// The outcome of an entry whose records were written; its line is empty unless `echo`, and if all of it was kept out.
pub(super) fn outcome(
    entry: Entry,
    records: &mut [Record],
    written: &[WriteOutcome],
    owners: &IdOwners,
    echo: bool,
    forgetting: &mut Forgetting,
) -> IngestedLine {
    let first = records[entry.records.clone()].first();
    let scope = first.and_then(Record::stored).map(|record| record.scope.clone());
    let counts = RecordCounts::default();
    let mut outcome = IngestedLine {
        line: Ok(Vec::new()),
        note: None,
        place: entry.place.clone(),
        same_ids: Vec::new(),
        scope,
        counts,
        conflicts: 0,
    };
    let counts = &mut outcome.counts;
    if let Some(error) = entry.refused {
        counts.refused += 1;
        outcome.line = Err(entry.place.iter().fold(error, |e, place| e.at(place)));
        return outcome;
    }
    let mut note = None;
    let mut stored = entry.records.is_empty();
    for at in entry.records.clone() {
        let hangs_on_kept_out = records[at].references().iter().any(|id| forgetting.kept_out.contains(&**id));
        match (&written[at], &mut records[at]) {
            // A memory that a turn recalled may be gone when the turn is stored.
            (WriteOutcome::KeptOut | WriteOutcome::Refused(_), Record::Stored(record))
                if entry.passed_on.is_some() && record.kind.subject.is_some() =>
            {
                continue;
            }
            (WriteOutcome::KeptOut, Record::Stored(record)) => {
                counts.forgotten += 1;
                forgetting.kept_out.insert(record.id.clone());
                continue;
            }
            (WriteOutcome::KeptOut, _) => {
                counts.forgotten += 1;
                continue;
            }
            (WriteOutcome::Refused(_), _) if hangs_on_kept_out => {
                counts.forgotten += 1;
                continue;
            }
            (WriteOutcome::New | WriteOutcome::Replaced, _) => counts.new += 1,
            (WriteOutcome::Removed(count), _) => {
                counts.new += 1;
                forgetting.removed += count;
            }
            (WriteOutcome::Same(id), Record::Stored(record)) => {
                counts.same += 1;
                outcome.same_ids.push(id.clone());
                record.id.clone_from(id);
            }
            (WriteOutcome::Same(_), _) => counts.same += 1,
            (WriteOutcome::Conflict, Record::Stored(record)) => {
                counts.refused += 1;
                outcome.conflicts += 1;
                let error = id_conflict(record, owners.get(&at).and_then(Option::as_ref));
                outcome.line = Err(entry.place.iter().fold(error, |e, place| e.at(place)));
                continue;
            }
            (WriteOutcome::Conflict, _) => {
                counts.refused += 1;
                note = Some("another vector of this model is already stored, and is kept");
            }
            (WriteOutcome::Refused(why), _) => {
                counts.refused += 1;
                let error = StoreFault::Refused { why: why.clone() }.into();
                outcome.line = Err(entry.place.iter().fold(error, |e, place| e.at(place)));
                return outcome;
            }
        }
        stored = true;
    }
    if let Some(error) = entry.without_vector.filter(|_| outcome.line.is_ok()) {
        outcome.line = Err(entry.place.iter().fold(error, |e, place| e.at(place)));
    }
    if echo && stored && outcome.line.is_ok() {
        let weight = records.get(entry.records.start).map_or(0, Record::weight);
        // With room for some escapes, as `quote` has.
        let mut line = Vec::with_capacity(weight + weight / 16);
        match &entry.passed_on {
            Some(object) => {
                object.write(&mut line);
                line.push(b'\n');
            }
            None => records[entry.records.start].write_line(VectorFormat::Numbers, &mut line),
        }
        outcome.line = Ok(line);
    }
    outcome.note = note.map(|text| entry.place.map_or(text.to_owned(), |place| format!("{place}: {text}")));
    outcome
}
