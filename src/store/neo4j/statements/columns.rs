//! The parts that several statements have in common.

/// Whether the message `m`, which rsv did not write, has the properties that rsv writes; null if it has no role. Its
/// time is between the years 1 and 9999.
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
pub(super) use regular;

/// Whether the message `m` is one of rsv or a regular one. Behind `OR` the server would plan each of these
/// conditions by itself, which takes it longer than the rest of a statement; `CASE` is a single one.
pub(super) const READABLE: &str =
    concat!("CASE WHEN m:RsvRecord THEN true WHEN m:RsvDouble THEN false ELSE ", regular!(), " END");
/// The vector of `m` by a model, if one is requested.
macro_rules! vector_of {
    () => {
        "CASE WHEN $model IS NOT NULL THEN
           head([(m)-[:HAS_EMBEDDING]->(e:RsvVector) WHERE e.model = $model | e.embedding]) END AS vector"
    };
}
pub(super) use vector_of;

/// The record `m` as one column: the driver makes a table of the columns of each row.
macro_rules! record {
    () => {
        concat!(listed!(), " AS record")
    };
}
pub(super) use record;

/// The cosine of the vector `e`, from the nearness that the server computes (0 to 1, exact to about 1e-7); and the
/// vector itself if the server cannot compare it.
macro_rules! cosine {
    ($near:literal) => {
        concat!(
            "CASE WHEN e IS NULL THEN null WHEN $flat THEN 0.0 WHEN e.near IS NULL THEN 2 * ",
            $near,
            " - 1 END, CASE WHEN e.near IS NOT NULL THEN e.embedding END"
        )
    };
}
pub(super) use cosine;

/// The link `l` as a list.
macro_rules! listed_link {
    () => {
        "[type(l), startNode(l).rsv_id, endNode(l).rsv_id, l.timestamp, l.score, l.model, l.extra]"
    };
}
pub(super) use listed_link;

/// Latest first, earliest first.
macro_rules! backward {
    () => {
        "m.timestamp DESC, coalesce(m.seq, 0) DESC, m.rsv_id DESC"
    };
}
pub(super) use backward;
macro_rules! forward {
    () => {
        "m.timestamp, coalesce(m.seq, 0), m.rsv_id"
    };
}
pub(super) use forward;

/// The last records of a selection: the last of each kind, and of these the last.
macro_rules! newest {
    () => {
        concat!(" WITH m ORDER BY {backward}", backward!(), " LIMIT $count ")
    };
}
pub(super) use newest;

/// The number of messages that rsv has neither written nor taken over; the server keeps the counts of labels.
macro_rules! unadopted {
    () => {
        "CALL () { MATCH (m:MessageNode) RETURN count(m) AS all_messages }
         CALL () { MATCH (m:RsvMessage) RETURN count(m) AS own_messages }
         CALL () { MATCH (d:RsvDouble) RETURN count(d) AS doubles }
         WITH all_messages - own_messages - doubles AS unadopted "
    };
}
pub(super) use unadopted;

/// The message `m`, which rsv did not write, as texts: a property may be of any type.
macro_rules! unadopted_message {
    () => {
        "[elementId(m), toStringOrNull(m.trace_id), toStringOrNull(m.partition), toStringOrNull(m.instance),
          toStringOrNull(m.role), toStringOrNull(m.content), toStringOrNull(m.timestamp), toStringOrNull(m.url)]
          AS message"
    };
}
pub(super) use unadopted_message;
