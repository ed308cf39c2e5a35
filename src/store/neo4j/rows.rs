//! Vectors and links as rows to write, and what the server cannot take.

use super::values::{Params, or_null};
use crate::record::{Embedding, Link, Object, Record};
use crate::store::identity::Written;
use neo4rs::BoltType;

/// A name that is longer cannot be found by an index of the server's, in bytes.
const MAX_NAME: usize = 2000;

/// The refusal of a record that has a name which is too long to be found by it.
pub(super) fn too_long(record: &Record) -> Option<Written> {
    let member = match record {
        Record::Stored(record) => {
            let key = record.lookup_key().unwrap_or_default();
            let names = [
                ("id", &record.id),
                ("trace_id", &record.trace_id),
                ("partition", &record.scope.partition),
                ("instance", &record.scope.instance),
                (record.kind.lookup_key.unwrap_or_default(), &key),
            ];
            names.iter().find(|(_, name)| name.len() > MAX_NAME).map(|(member, _)| *member)
        }
        Record::Embedding(embedding) => (embedding.model.len() > MAX_NAME).then_some("model"),
        Record::Link(_) | Record::Tombstone(_) => None,
    }?;
    Some(Written::Refused(format!("{member}: is longer than {MAX_NAME} bytes, which Neo4j cannot index")))
}

/// A vector as a row to write; `collection` names that of its record, whose time is given.
pub(super) fn vector_row(embedding: &Embedding, collection: Params, timestamp: i64, version: i64) -> Params {
    let properties = collection
        .with("n", version)
        .with("model", embedding.model.as_str())
        .with("near", constant_nearness(&embedding.vector))
        .with("timestamp", timestamp)
        .with("extra", as_json(&embedding.extra));
    Params::new()
        .with("of", embedding.of.as_str())
        .with_vector("vector", &embedding.vector)
        .with("properties", BoltType::Map(properties.into()))
}

/// A link as a row to write.
pub(super) fn link_row(link: &Link, n: i64) -> Params {
    let properties = Params::new()
        .with("n", n)
        .with("timestamp", link.timestamp.unwrap_or_default())
        .with("score", link.score)
        .with("model", or_null(link.model.as_deref()))
        .with("extra", as_json(&link.extra));
    Params::new()
        .with("from", link.from.as_str())
        .with("to", link.to.as_str())
        .with("properties", BoltType::Map(properties.into()))
}

/// Members that have no property of their own, if there are any.
fn as_json(extra: &Object) -> BoltType {
    or_null((!extra.is_empty()).then(|| extra.to_json()))
}

/// How near a vector is to any other that the server cannot compare with others, as it reckons with 32 bits: one
/// without a direction as near as what is at right angles (0.5, as its measure goes from 0 to 1), one that is too
/// long or too short as near as may be.
fn constant_nearness(vector: &[f32]) -> Option<f64> {
    let square = vector.iter().map(|x| x * x).sum::<f32>();
    match square {
        _ if is_zero(vector) => Some(0.5),
        _ if !square.is_finite() || square < f32::MIN_POSITIVE => Some(1.0),
        _ => None,
    }
}

pub(super) fn is_zero(vector: &[f32]) -> bool {
    vector.iter().all(|x| *x == 0.0)
}
