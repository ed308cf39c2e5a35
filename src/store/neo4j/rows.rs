//! Vectors, links and tombstones as rows to write.

use super::selection::scope_params;
use super::values::{Params, or_null};
use crate::record::{Embedding, Link, Object, Tombstone};
use neo4rs::BoltType;
use std::collections::BTreeMap;

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
    ends(&link.from, &link.to).with("properties", BoltType::Map(properties.into()))
}

/// The ends of a link as parameters.
pub(super) fn ends(from: &str, to: &str) -> Params {
    Params::new().with("from", from).with("to", to)
}

/// A tombstone as a row to write.
pub(super) fn tombstone_row(tombstone: &Tombstone) -> Params {
    scope_params(&tombstone.scope)
        .with("of", tombstone.of.as_str())
        .with("also", or_null(tombstone.also.as_deref()))
        .with("what", tombstone.what.as_str())
        .with("state", tombstone.state.name())
        .with("timestamp", tombstone.timestamp)
        .with("extra", as_json(&tombstone.extra))
        .with("folded", or_null(tombstone.folded().as_deref()))
        .with("fingerprint", or_null(tombstone.fingerprint().map(|fingerprint| fingerprint.digest)))
}

/// Changes of sums as rows to write.
pub(super) fn tally_rows(tallies: BTreeMap<(String, &'static str), i64>) -> Vec<Params> {
    let row = |((subject, counter), amount): ((String, &'static str), i64)| {
        Params::new().with("subject", subject).with("counter", counter).with("amount", amount)
    };
    tallies.into_iter().filter(|(_, amount)| *amount != 0).map(row).collect()
}

/// The members without a property of their own as JSON, or null.
pub(super) fn as_json(extra: &Object) -> BoltType {
    or_null((!extra.is_empty()).then(|| extra.to_json()))
}

/// The constant nearness (0 to 1) of a vector that the server cannot compare, since it computes with 32 bits:
/// 0.5, a right angle, for a vector of zeros; 1 for one whose length overflows or underflows.
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
