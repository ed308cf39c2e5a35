//! Decides what a write does: from a record, what the store has of it, and the rules follow its outcome and
//! the change of the store. Each backend looks up what is asked for, and applies the changes in their order;
//! none decides.

mod target;

pub(super) use target::{AddedLink, Change, Holder, Owner, Twin, WriteTarget};

use super::forgetting::{
    Forgotten, Received, TombstoneLookup, WriteRules, WriteSource, blocking, is_forgotten, tombstone_of_id,
};
use super::identity::{self, RefusedIds, WriteOutcome};
use super::versions;
use crate::record::{Embedding, Link, Record, StoredRecord, Tombstone, check_relation};
use std::borrow::Cow;

/// The outcome of a record, and the changes that follow.
struct Decision<'a> {
    written: WriteOutcome,
    change: Option<Change<'a>>,
    /// The tombstones that say from then on that what they kept out may return.
    returned: Vec<Tombstone>,
}

impl From<WriteOutcome> for Decision<'_> {
    /// An outcome without a change.
    fn from(written: WriteOutcome) -> Self {
        Decision { written, change: None, returned: Vec::new() }
    }
}

impl<'a> Decision<'a> {
    fn new(written: WriteOutcome, change: Change<'a>) -> Decision<'a> {
        Decision { written, change: Some(change), returned: Vec::new() }
    }

    fn after(self, returned: Vec<Tombstone>) -> Decision<'a> {
        Decision { returned, ..self }
    }

    fn apply<T: WriteTarget>(self, store: &mut T) -> Result<WriteOutcome, T::Error> {
        for tombstone in self.returned {
            store.apply(Change::PutTombstone(tombstone))?;
        }
        if let Some(change) = self.change {
            store.apply(change)?;
        }
        Ok(self.written)
    }
}

/// Writes a batch whose tombstones were received; returns the outcome of each record. `refused` are those of
/// the same input before it.
pub(super) fn write<T: WriteTarget>(
    store: &mut T,
    batch: &[Record],
    rules: WriteRules,
    received: &Received,
    refused: &mut RefusedIds,
) -> Result<Vec<WriteOutcome>, T::Error> {
    let mut outcomes = Vec::with_capacity(batch.len());
    for record in batch {
        let too_long = || T::NAME_LIMIT.and_then(|limit| limit.refusal(record));
        let decision = match (refused.refusal(record).or_else(too_long), record) {
            (Some(why), _) => WriteOutcome::Refused(why).into(),
            (None, Record::Stored(record)) => decide_record(record, rules, store)?,
            (None, Record::Embedding(embedding)) => decide_embedding(embedding, store)?,
            (None, Record::Link(link)) => write_link(link, rules, store)?.into(),
            (None, Record::Tombstone(tombstone)) => received.outcome(tombstone).into(),
        };
        let written = decision.apply(store)?;
        if let (WriteOutcome::New, Some(record)) = (&written, record.stored()) {
            // Those are left out whose other end is missing, and those that were forgotten, even if the
            // record returns.
            for link in links_of(record) {
                write_link(&link, WriteRules::KEEP_OUT, store)?;
            }
        }
        if let (WriteOutcome::Same(id), Record::Stored(_)) = (&written, record) {
            store.note_same(id)?;
        }
        refused.track(record, &written);
        outcomes.push(written);
    }
    Ok(outcomes)
}

/// The links that follow from a record: from those that it takes the place of.
pub(super) fn links_of(record: &StoredRecord) -> impl Iterator<Item = Link> {
    let rel = record.kind.replaces.map_or("", |replaces| replaces.rel);
    record.replaced_ids().into_iter().map(move |id| Link::plain(rel, &id, &record.id, record.timestamp))
}

/// Decides on a record and the vector that it carries: both are written, or neither.
fn decide_record<'a, T: WriteTarget>(
    record: &'a StoredRecord,
    rules: WriteRules,
    store: &T,
) -> Result<Decision<'a>, T::Error> {
    if let Some(vector) = &record.vector
        && let Some(refused) = dimension_mismatch(&vector.model, vector.numbers.len(), store)?
    {
        return Ok(refused.into());
    }
    if let Some(refused) = refused_subject(record, store)? {
        return Ok(refused.into());
    }
    match store.holder(record)? {
        Holder::Nothing => decide_new(record, rules, store),
        Holder::Own(existing) if identity::same_content(&existing, record) => {
            decide_existing(record, &existing, rules, store)
        }
        // Nobody here can tell whether one of an unknown kind is the same: it is kept.
        Holder::Own(_) | Holder::Unknown => Ok(WriteOutcome::Conflict.into()),
        Holder::Twin(Twin::Record(id)) => decide_same(record, id, store),
        Holder::Twin(Twin::Unadopted(place)) => decide_unadopted(record, place, rules, store),
    }
}

/// Decides on a record that is not there.
fn decide_new<'a, T: WriteTarget>(
    record: &'a StoredRecord,
    rules: WriteRules,
    store: &T,
) -> Result<Decision<'a>, T::Error> {
    // A new version is dated after the tombstone of its id, which would keep it out otherwise.
    let tombstone = tombstone_of(record, store)?;
    let record = versions::dated(record, None, tombstone.as_ref(), rules.source);
    let returned = match admission(&record, tombstone.as_ref(), rules, store)? {
        Ok(returned) => returned,
        Err(kept_out) => return Ok(kept_out.into()),
    };
    if let Some(refused) = refused_replacement(&record, rules.source, store)? {
        return Ok(refused.into());
    }
    let merged = record.kind.merge.and_then(|merge| merge(None, &record));
    let change = Change::Insert(merged.map_or(record, Cow::Owned));
    Ok(Decision::new(WriteOutcome::New, change).after(returned))
}

/// Decides on a record of which the same or another version exists.
fn decide_existing<'a, T: WriteTarget>(
    record: &'a StoredRecord,
    existing: &StoredRecord,
    rules: WriteRules,
    store: &T,
) -> Result<Decision<'a>, T::Error> {
    let tombstone = tombstone_of(record, store)?;
    let dated = versions::dated(record, Some(existing), tombstone.as_ref(), rules.source);
    if versions::takes_place(&dated, existing, rules.source) {
        return Ok(match admission(&dated, tombstone.as_ref(), rules, store)? {
            Err(kept_out) => kept_out.into(),
            Ok(returned) => Decision::new(WriteOutcome::Replaced, Change::Replace(dated)).after(returned),
        });
    }
    if let Some(moved) = versions::moved(&dated, existing, rules.source) {
        return Ok(Decision::new(WriteOutcome::Replaced, Change::Replace(Cow::Owned(moved))));
    }
    if let Some(merged) = record.kind.merge.and_then(|merge| merge(Some(existing), record)) {
        let StoredRecord { members, timestamp, .. } = merged;
        let merged = StoredRecord { members, timestamp, vector: None, ..existing.clone() };
        return Ok(Decision::new(WriteOutcome::Replaced, Change::Update(merged)));
    }
    let may_return = matches!(rules.forgotten, Forgotten::Return { .. }) && store.tombstones().is_some();
    if may_return && record.has_more_parts_than(existing) {
        return Ok(Decision::new(WriteOutcome::Replaced, Change::Replace(Cow::Borrowed(record))));
    }
    decide_same(record, record.id.clone(), store)
}

/// Decides on a record that exists under an id: at most its vector is new.
fn decide_same<'a, T: WriteTarget>(
    record: &'a StoredRecord,
    id: String,
    store: &T,
) -> Result<Decision<'a>, T::Error> {
    let Some(vector) = &record.vector else { return Ok(WriteOutcome::Same(id).into()) };
    let embedding = record.embedding(&vector.model, vector.numbers.clone());
    let embedding = Embedding { of: id.clone(), ..embedding };
    let is_new = decide_embedding(&embedding, store)?.change.is_some();
    let change = is_new.then_some(Change::AddVector(Cow::Owned(embedding)));
    Ok(Decision { change, ..WriteOutcome::Same(id).into() })
}

/// Decides on a record that another program wrote at a place.
fn decide_unadopted<'a, T: WriteTarget>(
    record: &'a StoredRecord,
    place: String,
    rules: WriteRules,
    store: &T,
) -> Result<Decision<'a>, T::Error> {
    Ok(match admission(record, None, rules, store)? {
        Err(kept_out) => Decision::new(kept_out, Change::Hide(place)),
        Ok(returned) => {
            Decision::new(WriteOutcome::Same(record.id.clone()), Change::Adopt(record, place)).after(returned)
        }
    })
}

/// Decides on a vector.
fn decide_embedding<'a, T: WriteTarget>(
    embedding: &'a Embedding,
    store: &T,
) -> Result<Decision<'a>, T::Error> {
    let embedding = match store.owner(&embedding.of)? {
        None => return Ok(missing("of", &embedding.of, store)?.into()),
        Some(Owner::Unknown) => return Ok(WriteOutcome::Conflict.into()),
        Some(Owner::Unversioned) => Cow::Borrowed(embedding),
        Some(Owner::Versioned(existing)) => match versions::vector_of_version(embedding, &existing) {
            Some(embedding) => embedding,
            None => return Ok(WriteOutcome::Same(embedding.of.clone()).into()),
        },
    };
    if let Some(refused) = dimension_mismatch(&embedding.model, embedding.vector.len(), store)? {
        return Ok(refused.into());
    }
    Ok(match store.vector(&embedding.of, &embedding.model)? {
        Some(existing) => identity::vector_outcome(&embedding.of, &existing, &embedding.vector).into(),
        None => Decision::new(WriteOutcome::New, Change::AddVector(embedding)),
    })
}

/// Writes a link. One that was forgotten is kept out whether its ends are there or not.
fn write_link<T: WriteTarget>(
    link: &Link,
    rules: WriteRules,
    store: &mut T,
) -> Result<WriteOutcome, T::Error> {
    if let Err(error) = check_relation(&link.rel) {
        return Ok(WriteOutcome::Refused(error.to_string()));
    }
    let tombstone = match store.tombstones() {
        Some(tombstones) => tombstones.of(&link.digest())?.filter(Tombstone::is_of_link),
        None => None,
    };
    let returned = match (tombstone, rules.forgotten) {
        (None, _) => None,
        (Some(_), Forgotten::KeepOut) => return Ok(WriteOutcome::KeptOut),
        (Some(tombstone), Forgotten::Return { at }) => Some(tombstone.returned(at)),
    };
    let written = match store.add_link(link)? {
        AddedLink::New => WriteOutcome::New,
        AddedLink::Same => WriteOutcome::Same(link.from.clone()),
        AddedLink::SecondAnswer => return Ok(identity::second_answer(link)),
        AddedLink::NoSource => return missing("from", &link.from, store),
        AddedLink::NoTarget => return missing("to", &link.to, store),
    };
    if let Some(returned) = returned {
        store.apply(Change::PutTombstone(returned))?;
    }
    Ok(written)
}

/// The tombstone of a record whose kind has versions, which are dated after it.
fn tombstone_of<T: WriteTarget>(record: &StoredRecord, store: &T) -> Result<Option<Tombstone>, T::Error> {
    match (store.tombstones(), record.kind.versions) {
        (Some(tombstones), Some(_)) => tombstone_of_id(record, tombstones),
        _ => Ok(None),
    }
}

/// Whether tombstones let a record in, of which `own` is one if its kind has versions: those that say from
/// then on that it may return, or the outcome if they keep it out.
fn admission<T: WriteTarget>(
    record: &StoredRecord,
    own: Option<&Tombstone>,
    rules: WriteRules,
    store: &T,
) -> Result<Result<Vec<Tombstone>, WriteOutcome>, T::Error> {
    let Some(tombstones) = store.tombstones() else { return Ok(Ok(Vec::new())) };
    let keep_out = blocking(record, tombstones)?;
    if let Forgotten::Return { at } = rules.forgotten {
        return Ok(Ok(keep_out.iter().map(|one| one.returned(at)).collect()));
    }
    // Kept out by nothing but copies, it counts as the message that stays for them.
    let originals: Option<Vec<String>> = keep_out.iter().map(Tombstone::duplicate_of).collect();
    if let Some(original) = originals.and_then(|mut originals| originals.pop()) {
        return Ok(Err(WriteOutcome::Same(original)));
    }
    // A forgotten directory returns with the first document below it: else that would have no parent.
    let is_of_directory = rules == WriteRules::NEW && own.is_some_and(|own| own.is_of_directory(record));
    let is_kept_out = !keep_out.is_empty() || is_of_directory && store.is_empty_directory(record)?;
    Ok(if is_kept_out { Err(WriteOutcome::KeptOut) } else { Ok(Vec::new()) })
}

/// The outcome of a vector or a link of a record that is not there; `member` names it.
fn missing<T: WriteTarget>(member: &str, id: &str, store: &T) -> Result<WriteOutcome, T::Error> {
    Ok(if was_forgotten(id, store)? { WriteOutcome::KeptOut } else { identity::unknown_record(member, id) })
}

fn was_forgotten<T: WriteTarget>(id: &str, store: &T) -> Result<bool, T::Error> {
    store.tombstones().map_or(Ok(false), |tombstones| is_forgotten(id, tombstones))
}

/// The refusal of a record whose subject is missing.
fn refused_subject<T: WriteTarget>(
    record: &StoredRecord,
    store: &T,
) -> Result<Option<WriteOutcome>, T::Error> {
    let (Some(subject), Some(id)) = (record.kind.subject, record.subject_id()) else { return Ok(None) };
    Ok(match store.kind_of(&id)? {
        Some(kind) if kind == subject.kind => None,
        None if was_forgotten(&id, store)? => Some(WriteOutcome::KeptOut),
        _ => Some(identity::unknown_subject(record)),
    })
}

/// The refusal of a new record that takes the place of one which is missing, or was replaced already.
fn refused_replacement<T: WriteTarget>(
    record: &StoredRecord,
    source: WriteSource,
    store: &T,
) -> Result<Option<WriteOutcome>, T::Error> {
    let Some(replaces) = record.kind.replaces.filter(|_| source == WriteSource::Local) else {
        return Ok(None);
    };
    for id in record.replaced_ids() {
        if store.kind_of(&id)?.is_none_or(|kind| kind != record.kind.name) {
            return Ok(Some(identity::unknown_replaced(record, &id)));
        }
        if store.has_link_from(replaces.rel, &id)? {
            return Ok(Some(identity::replaced_already(record, &id)));
        }
    }
    Ok(None)
}

/// The refusal of a vector that has another dimension than its model.
fn dimension_mismatch<T: WriteTarget>(
    model: &str,
    dim: usize,
    store: &T,
) -> Result<Option<WriteOutcome>, T::Error> {
    let known = store.dim(model)?;
    let why = known.and_then(|known| identity::dimension_mismatch(model, dim, known));
    Ok(why.map(WriteOutcome::Refused))
}

#[cfg(test)]
mod tests;
