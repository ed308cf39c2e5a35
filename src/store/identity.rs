//! When two records are the same, and why one cannot be written: the rules of every store, and their words.

use crate::record::{Link, RESPONDED_WITH, StoredRecord};

/// The outcome of writing a record.
#[derive(Clone, PartialEq, Debug)]
pub enum Written {
    /// It is new.
    New,
    /// It was there; under this id.
    Same(String),
    /// It took the place of another version.
    Replaced,
    /// Something else is there under its id, or another vector of its model, which stays.
    Differs,
    /// It cannot be written, and why.
    Refused(String),
}

/// What becomes of a record: `under_id` is what has its id, `twin` the id of what has its natural key.
pub(super) fn of_record(
    record: &StoredRecord,
    under_id: Option<&StoredRecord>,
    twin: Option<String>,
) -> Written {
    match under_id {
        Some(there) if says_the_same(there, record) => Written::Same(record.id.clone()),
        Some(_) => Written::Differs,
        None => twin.map_or(Written::New, Written::Same),
    }
}

/// The outcome of replacing a record.
pub(super) fn of_replacement(
    record: &StoredRecord,
    under_id: Option<&StoredRecord>,
    twin: Option<String>,
) -> Written {
    match (under_id, twin) {
        (Some(there), _) if there.kind != record.kind => Written::Refused(format!(
            "id: {} is a {}, and cannot become a {}",
            record.id, there.kind.name, record.kind.name
        )),
        (_, Some(twin)) if twin != record.id => Written::Same(twin),
        (Some(_), _) => Written::Replaced,
        (None, _) => Written::New,
    }
}

/// Whether two records of one id are the same. Trace and time do not count: the id stands for them.
fn says_the_same(there: &StoredRecord, record: &StoredRecord) -> bool {
    let content = || {
        there.scope == record.scope
            && there.role == record.role
            && there.content_json() == record.content_json()
    };
    there.kind == record.kind && (record.kind.natural_key.is_none() || content())
}

/// The outcome of writing a vector if its record has one of its model already.
pub(super) fn of_vector(of: &str, there: &[f32], vector: &[f32]) -> Written {
    let same = there.iter().map(|x| x.to_bits()).eq(vector.iter().map(|x| x.to_bits()));
    if same { Written::Same(of.to_owned()) } else { Written::Differs }
}

/// The refusal of what hangs on a record that is not there; `member` names it.
pub(super) fn unknown_record(member: &str, id: &str) -> Written {
    Written::Refused(format!("{member}: the store has no record {id}"))
}

/// Why a vector cannot be one of its model's: it has another length than the others, in numbers.
pub(super) fn other_dimension(model: &str, dim: usize, known: usize) -> Option<String> {
    (dim != known).then(|| format!("embedding: has {dim} numbers, but those of {model} have {known}"))
}

/// Whether a question may have one such link, and an answer one.
pub(super) fn is_one_to_one(rel: &str) -> bool {
    rel == RESPONDED_WITH
}

/// The refusal of a second answer to a question, or of a second question to an answer.
pub(super) fn second_answer(link: &Link) -> Written {
    Written::Refused(format!(
        "{}: one of the two records is already linked to another, which is kept",
        link.rel
    ))
}
