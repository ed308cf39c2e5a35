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

impl IngestedLine {
    /// Counts a record that cannot be stored, for which the line is bad.
    fn refuse(&mut self, error: Error) {
        self.counts.refused += 1;
        self.line = Err(self.located(error));
    }

    fn located(&self, error: Error) -> Error {
        self.place.iter().fold(error, |error, place| error.at(place))
    }
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

    /// Notes the effect of tombstones on a record.
    fn track(&mut self, record: &Record, written: &WriteOutcome) {
        match (written, record) {
            (WriteOutcome::KeptOut, Record::Stored(record)) => drop(self.kept_out.insert(record.id.clone())),
            (WriteOutcome::Removed(count), _) => self.removed += count,
            _ => {}
        }
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

/// Gives records that are about others the scopes of these. Fails if the store cannot be read.
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

/// The consequence of a record's outcome for its line.
enum Fate<'a> {
    New,
    /// It was there already, under this id.
    Same(&'a str),
    /// It was forgotten, or belongs to a forgotten record.
    KeptOut,
    /// The line does without it.
    Ignored,
    /// Its id belongs to another record.
    Conflict(Error),
    /// Another vector of its model is stored.
    OtherVector,
    Refused(Error),
}

/// A batch that was written.
pub(super) struct WrittenBatch<'a> {
    pub(super) records: &'a mut [Record],
    pub(super) written: &'a [WriteOutcome],
    pub(super) owners: IdOwners,
    pub(super) forgetting: &'a mut Forgetting,
    /// Whether its lines are passed on.
    pub(super) echo: bool,
}

impl<'a> WrittenBatch<'a> {
    /// The outcome of an entry; its line is empty unless `echo`, and if all of it was kept out. Entries come
    /// in their order: `forgetting` knows what was kept out before the lines that name it.
    pub(super) fn outcome(&mut self, mut entry: Entry) -> IngestedLine {
        let first = self.records[entry.records.clone()].first().and_then(Record::stored);
        let mut line = IngestedLine {
            line: Ok(Vec::new()),
            note: None,
            place: entry.place.clone(),
            same_ids: Vec::new(),
            scope: first.map(|record| record.scope.clone()),
            counts: RecordCounts::default(),
            conflicts: 0,
        };
        match entry.refused.take() {
            Some(error) => line.refuse(error),
            None => self.count_records(&entry, &mut line),
        }
        if let Some(error) = entry.without_vector.filter(|_| line.line.is_ok()) {
            line.line = Err(line.located(error));
        }
        // A line without records, such as a request, is passed on as it is; so is a second vector, since its
        // record has one of the model, by which it is found.
        let is_stored = line.counts.new + line.counts.same > 0 || line.note.is_some();
        if self.echo && line.line.is_ok() && (is_stored || entry.records.is_empty()) {
            line.line = Ok(self.line_to_pass_on(entry.records.start, entry.passed_on.as_ref()));
        }
        line
    }

    /// Counts the records of an entry by their fates, up to one that is refused: the line is bad then.
    fn count_records(&mut self, entry: &Entry, line: &mut IngestedLine) {
        for at in entry.records.clone() {
            match self.fate(at, entry.passed_on.is_some()) {
                Fate::New => line.counts.new += 1,
                Fate::Same(id) => {
                    line.counts.same += 1;
                    if let Record::Stored(record) = &mut self.records[at] {
                        line.same_ids.push(id.to_owned());
                        // The tools behind find the record only by the id that it has in the store.
                        id.clone_into(&mut record.id);
                    }
                }
                Fate::KeptOut => line.counts.forgotten += 1,
                Fate::Ignored => continue,
                Fate::Conflict(error) => {
                    line.conflicts += 1;
                    line.refuse(error);
                }
                Fate::OtherVector => {
                    line.counts.refused += 1;
                    let note = "another vector of this model is already stored, and is kept";
                    line.note =
                        Some(line.place.as_ref().map_or(note.to_owned(), |at| format!("{at}: {note}")));
                }
                Fate::Refused(error) => return line.refuse(error),
            }
            self.forgetting.track(&self.records[at], &self.written[at]);
        }
    }

    /// The fate of a record; `is_part` is whether its line is passed on for more than the record.
    fn fate(&self, at: usize, is_part: bool) -> Fate<'a> {
        let record = &self.records[at];
        let is_about_another = || record.stored().is_some_and(|record| record.kind.subject.is_some());
        let hangs_on_kept_out =
            || record.references().iter().any(|id| self.forgetting.kept_out.contains(&**id));
        match (&self.written[at], record) {
            (WriteOutcome::New | WriteOutcome::Replaced | WriteOutcome::Removed(_), _) => Fate::New,
            (WriteOutcome::Same(id), _) => Fate::Same(id),
            // A memory that a turn recalled may be gone when the turn is stored.
            (WriteOutcome::KeptOut | WriteOutcome::Refused(_), _) if is_part && is_about_another() => {
                Fate::Ignored
            }
            (WriteOutcome::KeptOut, _) => Fate::KeptOut,
            // The store lacks its record only because that was forgotten, which is no error of the input.
            (WriteOutcome::Refused(_), _) if hangs_on_kept_out() => Fate::KeptOut,
            (WriteOutcome::Refused(why), _) => Fate::Refused(StoreFault::Refused { why: why.clone() }.into()),
            (WriteOutcome::Conflict, Record::Stored(record)) => {
                Fate::Conflict(id_conflict(record, self.owners.get(&at).and_then(Option::as_ref)))
            }
            (WriteOutcome::Conflict, _) => Fate::OtherVector,
        }
    }

    /// The line of an entry whose records begin at `first`, as it is passed on.
    fn line_to_pass_on(&self, first: usize, passed_on: Option<&Object>) -> Vec<u8> {
        let weight = self.records.get(first).map_or(0, Record::weight);
        // With room for some escapes, as `quote` has.
        let mut line = Vec::with_capacity(weight + weight / 16);
        match passed_on {
            Some(object) => {
                object.write(&mut line);
                line.push(b'\n');
            }
            None => self.records[first].write_line(VectorFormat::Numbers, &mut line),
        }
        line
    }
}
