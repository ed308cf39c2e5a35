//! Every statement that reads the graph; those that change it are in `changes`. Values are always parameters.
//! Only these parts are put into the text of a statement: the conditions of a selection, the label of a kind,
//! the number of a model, which is part of a label's name, and the name of a relation.
//!
//! Messages, vectors and links have the labels, types and properties of Reservoir's graph: `MessageNode`,
//! `EmbeddingD` for vectors of D numbers, `HAS_EMBEDDING`, `RESPONDED_WITH`, `SYNAPSE`. The labels of rsv
//! begin with `Rsv`: `RsvRecord` for every record, in addition to the label of its kind; `RsvMessage` for the
//! messages among them; `RsvVectorN` for the vectors of the model with the number N, `RsvLacksN` for records
//! without one, `RsvUnlinkedN` for vectors that are not compared with others yet; `RsvDouble` for messages of
//! Reservoir that rsv ignores, since it has the same message or has forgotten it; `RsvTombstone` for
//! tombstones; `RsvNode` for the documents of a tree, which `CHILD_OF` links to those above them.

/// Whether the message `m`, which rsv did not write, has the properties that rsv writes; null if it has no
/// role. Its time is between the years 1 and 9999.
macro_rules! regular {
    () => {
        "m.timestamp IS :: INTEGER NOT NULL AND m.timestamp >= -62135596800000 AND m.timestamp <= 253402300799999
         AND m.partition IS :: STRING NOT NULL AND m.partition <> ''
         AND m.instance IS :: STRING NOT NULL AND m.instance <> ''
         AND m.trace_id IS :: STRING NOT NULL AND m.trace_id <> ''
         AND m.role IN ['user', 'assistant', 'system', 'tool'] AND m.content IS :: STRING AND m.url IS :: STRING
         AND m.seq IS NULL AND m.extra IS NULL"
    };
}
/// The vector of `m` by a model, if one is requested.
macro_rules! vector_of {
    () => {
        "CASE WHEN $model IS NOT NULL THEN
           head([(m)-[:HAS_EMBEDDING]->(e:RsvVector) WHERE e.model = $model | e.embedding]) END AS vector"
    };
}

/// The record `m` as one column: the driver makes a table of the columns of each row.
macro_rules! record {
    () => {
        concat!(listed!(), " AS record")
    };
}

/// The cosine of the vector `e`, from the nearness that the server computes (0 to 1, exact to about 1e-7);
/// and the vector itself if the server cannot compare it.
macro_rules! cosine {
    ($near:literal) => {
        concat!(
            "CASE WHEN e IS NULL THEN null WHEN $flat THEN 0.0 WHEN e.near IS NULL THEN 2 * ",
            $near,
            " - 1 END, CASE WHEN e.near IS NOT NULL THEN e.embedding END"
        )
    };
}

/// The link `l` as a list.
macro_rules! listed_link {
    () => {
        "[type(l), startNode(l).rsv_id, endNode(l).rsv_id, l.timestamp, l.score, l.model, l.extra]"
    };
}

/// Latest first, earliest first.
macro_rules! backward {
    () => {
        "m.timestamp DESC, coalesce(m.seq, 0) DESC, m.rsv_id DESC"
    };
}
macro_rules! forward {
    () => {
        "m.timestamp, coalesce(m.seq, 0), m.rsv_id"
    };
}

/// The last records of a selection: the last of each kind, and of these the last.
macro_rules! newest {
    () => {
        concat!(" WITH m ORDER BY {backward}", backward!(), " LIMIT $count ")
    };
}

/// The number of messages that rsv has neither written nor taken over; the server keeps the counts of labels.
macro_rules! unadopted {
    () => {
        "CALL () { MATCH (m:MessageNode) RETURN count(m) AS all_messages }
         CALL () { MATCH (m:RsvMessage) RETURN count(m) AS own_messages }
         CALL () { MATCH (d:RsvDouble) RETURN count(d) AS doubles }
         WITH all_messages - own_messages - doubles AS unadopted "
    };
}

/// The message `m`, which rsv did not write, as texts: a property may be of any type.
macro_rules! unadopted_message {
    () => {
        "[elementId(m), toStringOrNull(m.trace_id), toStringOrNull(m.partition), toStringOrNull(m.instance),
          toStringOrNull(m.role), toStringOrNull(m.content), toStringOrNull(m.timestamp), toStringOrNull(m.url)]
          AS message"
    };
}

mod records;
mod search;
mod selection;
mod state;

pub(super) use records::*;
pub(super) use search::*;
pub(super) use selection::*;
pub(super) use state::*;
