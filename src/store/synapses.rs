//! Records that resemble each other: the types by which a store keeps synapses as vectors come.

use super::select::Collection;

/// The rule by which two records get a synapse.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rule {
    /// The least similarity (raw cosine).
    pub threshold: f64,
    /// The greatest number of synapses of a record, which keeps its strongest ones.
    pub degree: usize,
}

/// The fact that names the reach of the synapses of a model in a partition; there is none for that of an
/// instance.
pub fn reach_fact(model: &str, partition: &str) -> String {
    format!("synapses of {model} in {partition}")
}

/// The progress of linking a collection.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkState {
    pub collection: Collection,
    /// The rule by which it was linked, if it was.
    pub rule: Option<Rule>,
    /// Whether there may be imported synapses that the rule does not allow.
    pub foreign_synapses: bool,
    /// The number of its vectors, with each of which a record is compared.
    pub vectors: u64,
    /// The number of records with vectors that are not linked yet.
    pub unlinked: u64,
}

/// The records that are compared with others.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Compare {
    /// The first unlinked records, this many.
    Unlinked(usize),
    /// The last unlinked records, this many.
    Newest(usize),
    /// All records, as if none were linked.
    All,
}

/// An unlinked record, and the records that it resembles.
#[derive(Clone, PartialEq, Debug)]
pub struct Compared {
    pub id: String,
    pub timestamp: i64,
    pub near: Vec<Near>,
    /// The store's own name of the record.
    pub(super) n: i64,
    /// The version of the vector that was compared.
    pub(super) version: i64,
}

/// A record that another resembles.
#[derive(Clone, PartialEq, Debug)]
pub struct Near {
    pub id: String,
    pub timestamp: i64,
    /// The raw cosine.
    pub score: f64,
    /// The store's own name of the record.
    pub(super) n: i64,
}

impl Compared {
    /// The time of the synapse between the two: that of the later record.
    pub fn time_with(&self, near: &Near) -> i64 {
        self.timestamp.max(near.timestamp)
    }
}

/// The changes that follow from comparing records.
#[derive(Debug, Default)]
pub struct Changes<'a> {
    /// The pairs to link.
    pub add: Vec<(&'a Compared, &'a Near)>,
    /// Synapses that stronger ones displaced, by their ends.
    pub remove: Vec<(String, String)>,
}
