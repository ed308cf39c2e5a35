//! Forgetting: the records of a selection, the records made from them, and the vectors and links that go with
//! them.

mod error;
mod forgetter;
mod named;
mod retention;

pub use forgetter::{ForgetOptions, Forgetter};
pub use named::named_in_lines;
pub use retention::{check_retention, expired};

use crate::error::Result;
use crate::record::{ACTION, EXTRACTED_FROM, MESSAGE, Record, RecordKind, Scope, Scopes, kinds, title_id};
use crate::store::{Except, Leftovers, Select, Store, StoreFault, StoredImport, Walk};
use std::collections::{BTreeMap, BTreeSet};

/// The number of ids in one query.
const IDS: usize = 1000;

/// The number of imports that an error names.
const CANDIDATES: usize = 5;

/// The reason why a record that was named by its id stays.
#[derive(Clone, PartialEq, Debug)]
pub enum Skipped {
    /// The store has no record of this id.
    Unknown,
    /// It belongs to this scope, which was not selected.
    OtherScope(Scope),
    /// It does not meet the conditions.
    Unmet,
}

/// The ids of the records of a selection, and of the records about them. Fails if the store cannot be read.
pub fn select(store: &mut dyn Store, which: &Select) -> Result<BTreeSet<String>> {
    let mut ids = BTreeSet::new();
    let mut subjects = Subjects::new();
    store.walk(&Walk::records(which.clone()), &mut |record| {
        if let Record::Stored(record) = record {
            if is_subject(record.kind) {
                subjects.entry(record.kind.name).or_default().insert(record.id.clone());
            }
            ids.insert(record.id);
        }
        Ok(())
    })?;
    add_about(store, &subjects, &which.scopes, &mut ids)?;
    Ok(ids)
}

/// Some ids, and those of the records about their records. Fails if the store cannot be read.
pub fn with_records_about(store: &mut dyn Store, ids: Vec<String>) -> Result<BTreeSet<String>> {
    let subjects: Vec<_> = kinds().into_iter().filter(|kind| is_subject(kind)).collect();
    let which = Select::records(subjects, Scopes::All);
    let mut found = Subjects::new();
    for some in ids.chunks(IDS) {
        let some: Vec<&str> = some.iter().map(String::as_str).collect();
        for subject in store.get(&some, &which)? {
            found.entry(subject.kind.name).or_default().insert(subject.id);
        }
    }
    let mut ids = ids.into_iter().collect();
    add_about(store, &found, &Scopes::All, &mut ids)?;
    Ok(ids)
}

/// Whether there are records about records of a kind.
fn is_subject(kind: &RecordKind) -> bool {
    kinds().into_iter().any(|other| other.subject.is_some_and(|about| about.kind == kind.name))
}

/// The ids of records that others may be about, by kind.
type Subjects = BTreeMap<&'static str, BTreeSet<String>>;

/// The number of records up to which those about them are looked up one by one.
const MAX_LOOKED_UP: usize = 20;

/// Adds the ids of the records about some.
fn add_about(
    store: &mut dyn Store,
    subjects: &Subjects,
    scopes: &Scopes,
    ids: &mut BTreeSet<String>,
) -> Result<()> {
    for kind in kinds() {
        let Some(subjects) = kind.subject.and_then(|subject| subjects.get(subject.kind)) else { continue };
        let all = Select::records(vec![kind], scopes.clone());
        if store.count(&all, 1)? == 0 {
            continue;
        }
        let of_key = |key: &String| Select { key: Some(key.clone()), ..all.clone() };
        let selections = if subjects.len() <= MAX_LOOKED_UP {
            subjects.iter().map(of_key).collect()
        } else {
            vec![all.clone()]
        };
        for about in selections {
            store.walk(&Walk { texts: false, ..Walk::records(about) }, &mut |record| {
                let about =
                    record.stored().filter(|one| one.lookup_key().is_some_and(|key| subjects.contains(&key)));
                ids.extend(about.map(|one| one.id.clone()));
                Ok(())
            })?;
        }
    }
    Ok(())
}

/// The import that has an id or, if no other has it, a beginning of one. The error names candidates.
pub fn import_named<'a>(all: &'a [StoredImport], id: &str) -> Result<&'a StoredImport> {
    let found: Vec<&StoredImport> = all.iter().filter(|import| import.id.starts_with(id)).collect();
    if let [import] = found[..] {
        return Ok(import);
    }
    let candidates = if found.is_empty() { all.iter().collect() } else { found.clone() };
    let last: Vec<&str> = candidates.iter().rev().take(CANDIDATES).map(|import| import.id.as_str()).collect();
    let last = match &last[..] {
        [] => "it knows none; imports of earlier releases cannot be undone".to_owned(),
        last => format!("the last ones are {}; 'rsv-import --history' lists all", last.join(", ")),
    };
    let id = id.to_owned();
    Err(match found.len() {
        0 => StoreFault::NoImport { id, last }.into(),
        count => StoreFault::ManyImports { id, count, last }.into(),
    })
}

/// The ids of other records with the words of these in another form, and of the records about them. They go
/// with these: a store that imports an export keeps them out. Fails if the store cannot be read.
pub fn same_words(store: &mut dyn Store, ids: &BTreeSet<String>) -> Result<BTreeSet<String>> {
    let speaking: Vec<_> = kinds().into_iter().filter(|kind| kind.same_words.is_some()).collect();
    let mut groups: BTreeMap<(&str, String), SaidWords> = BTreeMap::new();
    let all: Vec<&str> = ids.iter().map(String::as_str).collect();
    for some in all.chunks(IDS) {
        for record in store.get(some, &Select::records(speaking.clone(), Scopes::All))? {
            if let Some(digest) = record.folded_digest() {
                let group = groups.entry((record.kind.name, record.scope.partition)).or_default();
                group.digests.insert(digest);
                group.times.insert(record.timestamp);
            }
        }
    }
    let mut found = Vec::new();
    for ((kind, partition), said) in groups {
        let of_kind = speaking.iter().copied().filter(|known| known.name == kind).collect();
        let mut which = Select::records(of_kind, Scopes::Partition(partition));
        let at_one_time =
            which.kinds.iter().any(|kind| kind.same_words.is_some_and(|words| words.at_one_time));
        if at_one_time {
            (which.since, which.until) = (said.times.first().copied(), said.times.last().copied());
        }
        store.walk(&Walk::records(which), &mut |record| {
            if let Record::Stored(record) = record
                && (!at_one_time || said.times.contains(&record.timestamp))
                && !ids.contains(&record.id)
                && record.folded_digest().is_some_and(|digest| said.digests.contains(&digest))
            {
                found.push(record.id);
            }
            Ok(())
        })?;
    }
    if found.is_empty() {
        return Ok(BTreeSet::new());
    }
    select(store, &Select { only: Some(found), ..Select::records(kinds(), Scopes::All) })
}

/// The folded digests of some records of a kind and a partition, and their times.
#[derive(Default)]
struct SaidWords {
    digests: BTreeSet<String>,
    times: BTreeSet<i64>,
}

/// The ids of the titles and actions that go with some records: the titles of the instances, and the actions
/// of the turns, that keep no message. Fails if the store cannot be read.
pub fn left_alone(store: &mut dyn Store, ids: &BTreeSet<String>) -> Result<BTreeSet<String>> {
    let mut found = titles(store, ids)?;
    found.extend(actions(store, ids)?);
    Ok(found)
}

/// The ids of the actions of the turns that keep no message.
fn actions(store: &mut dyn Store, ids: &BTreeSet<String>) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    if store.count(&Select::records(vec![&ACTION], Scopes::All), 1)? == 0 {
        return Ok(found);
    }
    let all: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut going: BTreeMap<(Scope, String), Vec<String>> = BTreeMap::new();
    for some in all.chunks(IDS) {
        for message in store.get(some, &Select::messages(Scopes::All))? {
            going.entry((message.scope, message.trace_id)).or_default().push(message.id);
        }
    }
    for ((scope, trace_id), ids) in going {
        let of_trace = |kind| Select {
            trace_id: Some(trace_id.clone()),
            ..Select::records(vec![kind], Scopes::One(scope.clone()))
        };
        let except = Except { ids, ..Except::default() };
        if store.count(&Select { except, ..of_trace(&MESSAGE) }, 1)? == 0 {
            let actions = Walk { texts: false, ..Walk::records(of_trace(&ACTION)) };
            store.walk(&actions, &mut |record| {
                found.extend(record.id().map(str::to_owned));
                Ok(())
            })?;
        }
    }
    Ok(found)
}

/// The ids of the titles of the instances that keep no message.
fn titles(store: &mut dyn Store, ids: &BTreeSet<String>) -> Result<BTreeSet<String>> {
    let all: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut going: BTreeMap<Scope, Vec<String>> = BTreeMap::new();
    for some in all.chunks(IDS) {
        for message in store.get(some, &Select::messages(Scopes::All))? {
            going.entry(message.scope).or_default().push(message.id);
        }
    }
    let mut found = BTreeSet::new();
    for (scope, ids) in going {
        let id = title_id(&scope);
        if store.scope_of(&id)?.is_none() {
            continue;
        }
        let except = Except { ids, ..Except::default() };
        if store.count(&Select { except, ..Select::messages(Scopes::One(scope)) }, 1)? == 0 {
            found.insert(id);
        }
    }
    Ok(found)
}

/// Why the record of an id is not in a selection that named it. Fails if the store cannot be read.
pub fn skip_reason(store: &mut dyn Store, id: &str, which: &Select) -> Result<Skipped> {
    Ok(match store.scope_of(id)? {
        None => Skipped::Unknown,
        Some(scope) if !which.scopes.contains(&scope) => Skipped::OtherScope(scope),
        Some(_) => Skipped::Unmet,
    })
}

/// The ids of the other records that were made from some records: by `EXTRACTED_FROM` links, step by step.
pub fn derived(store: &mut dyn Store, ids: &BTreeSet<String>) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let mut sources: Vec<String> = ids.iter().cloned().collect();
    while !sources.is_empty() {
        let mut next = Vec::new();
        for some in sources.chunks(IDS) {
            let some: Vec<&str> = some.iter().map(String::as_str).collect();
            for link in store.links(&some, Some(EXTRACTED_FROM))? {
                let is_made_from_it = some.contains(&link.to.as_str());
                if is_made_from_it && !ids.contains(&link.from) && found.insert(link.from.clone()) {
                    next.push(link.from);
                }
            }
        }
        sources = next;
    }
    Ok(found)
}

/// The records among these that belong to some scopes. Fails if the store cannot be read.
pub fn in_scopes(store: &mut dyn Store, ids: &BTreeSet<String>, scopes: &Scopes) -> Result<BTreeSet<String>> {
    let which = Select::records(kinds(), scopes.clone());
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut found = BTreeSet::new();
    for some in ids.chunks(IDS) {
        found.extend(store.get(some, &which)?.into_iter().map(|record| record.id));
    }
    Ok(found)
}

/// Clears removed records from the store's files. Errors if another process still reads them.
pub fn erase(store: &mut dyn Store) -> Result<()> {
    if store.erase(Leftovers::Texts)? {
        return Ok(());
    }
    Err(StoreFault::Leftovers.into())
}

/// Visits records with their embeddings and links, in the order of an export. Fails if the store or `visit`
/// does.
pub fn visit(
    store: &mut dyn Store,
    ids: &BTreeSet<String>,
    visit: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let only = Some(ids.iter().cloned().collect());
    let which = Select { only, ..Select::records(kinds(), Scopes::All) };
    store.walk(&Walk { embeddings: true, ..Walk::records(which) }, visit)?;
    let all: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut seen = BTreeSet::new();
    for some in all.chunks(IDS) {
        for link in store.links(some, None)? {
            // A link between two of them is found from both ends.
            let ends = (link.from.clone(), link.rel.clone(), link.to.clone());
            if !(ids.contains(&link.from) && ids.contains(&link.to)) || seen.insert(ends) {
                visit(Record::Link(link))?;
            }
        }
    }
    Ok(())
}
