//! Every statement that the server is given to read the graph; those that change it are in `changes.rs`. A value is
//! always a parameter; what is put into a text is one of the conditions on a scope, the number of a model, which is
//! part of a label's name, or the name of a relation.
//!
//! Messages, vectors and links have the labels, types and properties of Reservoir's graph: `MessageNode`,
//! `EmbeddingD` for vectors of D numbers, `HAS_EMBEDDING`, `RESPONDED_WITH`, `SYNAPSE`. What is rsv's own begins
//! with `Rsv`: `RsvRecord` for all that has an id, `RsvVectorN` for the vectors of the model with the number N,
//! `RsvLacksN` for messages without one, `RsvWaitingN` for vectors that are not compared with others yet, `RsvDouble` for
//! what Reservoir holds twice.

use crate::record::Scopes;
use crate::store::Select;

pub(super) const LAST_NUMBER: &str = "
    OPTIONAL MATCH (store:RsvStore {one: true}) RETURN coalesce(store.n, 0) AS n";

/// The conditions that every selection has on `m`, scope aside. There are always times, so that an index that ends in
/// them serves; `$until` is no later than `$before`.
const ADMITTED: &str = "NOT m:RsvDouble AND m.timestamp >= $since AND m.timestamp <= $until";
/// Those that some have: what is not asked for need not be read of each message.
type Asks = fn(&Select) -> bool;
const ASKED: [(Asks, &str); 5] = [
    (|which| which.trace_id.is_some(), "m.trace_id = $trace_id"),
    (|which| !which.roles.is_empty(), "($roles IS NULL OR m.role IN $roles)"),
    (
        |which| which.before.is_some(),
        "($before IS NULL OR m.timestamp < $before.timestamp OR coalesce(m.seq, 0) < $before.seq
          OR coalesce(m.seq, 0) = $before.seq AND m.rsv_id < $before.id)",
    ),
    (|which| !which.except.traces.is_empty(), "NOT m.trace_id IN $traces"),
    (|which| !which.except.ids.is_empty(), "NOT coalesce(m.rsv_id, '') IN $ids"),
];

/// The vector of a model that `m` has, if one is asked for.
macro_rules! vector_of {
    () => {
        "CASE WHEN $model IS NOT NULL THEN
           head([(m)-[:HAS_EMBEDDING]->(e:RsvVector) WHERE e.model = $model | e.embedding]) END AS vector"
    };
}

/// The message or account `m` as a list.
macro_rules! listed {
    () => {
        "[m.rsv_id, m.trace_id, m.partition, m.instance, m.role, m.content, m.parts, m.timestamp, m.seq, m.extra,
          m.url, m.n]"
    };
}

/// The same as a column, one for all: the driver makes a table of the columns of each row.
macro_rules! message {
    () => {
        concat!(listed!(), " AS message")
    };
}

/// The cosine of the vector `e`, of how near the server says that it is: from 0 to 1, and exact to about 1e-7; and the
/// vector, if the server cannot compare it.
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
macro_rules! link {
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

pub(super) const LAST: &str = concat!(
    "MATCH (m:MessageNode) {index} WHERE {scope} AND {admitted}
     WITH m ORDER BY {backward}",
    backward!(),
    " LIMIT $count RETURN [",
    listed!(),
    "] AS row"
);

/// For `each`: the parameters of a selection stand in a row of `@rows`.
pub(super) const LAST_OF_EACH: &str = concat!(
    "UNWIND @rows AS which CALL (which) {
       MATCH (m:MessageNode) USING INDEX m:MessageNode(trace_id, timestamp) WHERE m.trace_id = $trace_id AND m.partition = $partition AND m.instance = $instance
       AND {admitted} RETURN m ORDER BY ", backward!(), " LIMIT @count
     } RETURN which.i AS i, ", message!()
);

pub(super) const COUNT: &str = "
    MATCH (m:MessageNode) {index} WHERE {scope} AND {admitted}
    WITH m LIMIT $most RETURN count(m) AS count";

pub(super) const ACCOUNTS: &str = concat!(
    "MATCH (m:RsvAccount) WHERE {scope} AND ($digest IS NULL OR m.digest = $digest) AND {admitted}
     WITH m ORDER BY m.timestamp DESC, m.rsv_id DESC LIMIT $count RETURN ",
    message!()
);

pub(super) const ACCOUNTS_BY_DIGEST: &str = concat!(
    "MATCH (m:RsvAccount) WHERE m.digest = $digest AND {scope} AND {admitted}
     WITH m ORDER BY m.timestamp DESC, m.rsv_id DESC LIMIT $count RETURN ",
    message!()
);

/// What was written up to a number, so that all that is read in several steps is of one instant.
pub(super) const MESSAGES: &str = concat!(
    "MATCH (m:MessageNode) {index} WHERE {scope} AND coalesce(m.n, 0) <= $upto AND {admitted}
     WITH m ORDER BY {forward}",
    forward!(),
    " RETURN ",
    message!(),
    ", false AS account, ",
    vector_of!()
);

pub(super) const MESSAGES_AND_ACCOUNTS: &str = concat!(
    "MATCH (m:MessageNode|RsvAccount) WHERE {scope} AND coalesce(m.n, 0) <= $upto AND {admitted}
     WITH m ORDER BY ",
    forward!(),
    " RETURN ",
    message!(),
    ", m:RsvAccount AS account, ",
    vector_of!()
);

pub(super) const EMBEDDINGS: &str = "
    MATCH (m:RsvRecord)-[:HAS_EMBEDDING]->(e:RsvVector) WHERE {scope} AND e.n <= $upto AND {admitted}
    WITH m, e ORDER BY m.rsv_id, e.model
    RETURN m.rsv_id AS of, e.model AS model, e.embedding AS vector, e.extra AS extra";

/// The links between the records of a selection.
pub(super) const LINKS: &str = concat!(
    "MATCH (m:RsvRecord)-[l]->(o:RsvRecord) WHERE {scope} AND coalesce(l.n, 0) <= $upto AND {admitted}
     AND {the other} WITH l, m.rsv_id AS from, type(l) AS rel, o.rsv_id AS to ORDER BY from, rel, to RETURN ",
    link!(),
    " AS link"
);

pub(super) const SCOPE_OF: &str = "
    MATCH (r:RsvRecord {rsv_id: $id}) RETURN r.partition AS partition, r.instance AS instance";

pub(super) const SCOPES: &str = "
    MATCH (s:RsvScope) RETURN s.partition AS partition, s.instance AS instance, s.messages AS messages";

/// How many messages rsv did not write, nor has taken over: the server knows such numbers without looking.
macro_rules! strangers {
    () => {
        "CALL () { MATCH (m:MessageNode) RETURN count(m) AS messages }
         CALL () { MATCH (r:RsvRecord) RETURN count(r) AS records }
         CALL () { MATCH (a:RsvAccount) RETURN count(a) AS accounts }
         CALL () { MATCH (d:RsvDouble) RETURN count(d) AS doubles }
         WITH messages - doubles + accounts - records AS strangers "
    };
}
pub(super) const STRANGERS: &str = concat!(strangers!(), "RETURN strangers");

pub(super) const SCOPES_OF_STRANGERS: &str = "
    MATCH (m:MessageNode) WHERE NOT m:RsvRecord|RsvDouble
    RETURN m.partition AS partition, m.instance AS instance, count(m) AS messages";

/// What stands before a place and what stands after it. The index gives them in the order of time, and no more of
/// them than are wanted. A place is its id, timestamp and seq, and where its scope is among `$scopes`.
macro_rules! around {
    () => {
        concat!(
            "UNWIND range(0, size($places) - 1) AS i
             WITH *, $places[i][0] AS id, $places[i][1] AS timestamp, $places[i][2] AS seq,
               $scopes[$places[i][3]] AS scope
             CALL (id, timestamp, seq, scope) {
               MATCH (m:MessageNode) USING INDEX m:MessageNode(partition, instance, timestamp)
               WHERE m.partition = scope[0] AND m.instance = scope[1] AND m.timestamp <= timestamp
               AND CASE WHEN m.timestamp < timestamp THEN true
                 WHEN coalesce(m.seq, 0) = seq THEN m.rsv_id < id ELSE coalesce(m.seq, 0) < seq END AND {admitted}
               WITH m ORDER BY m.partition DESC, m.instance DESC, ",
            backward!(),
            " LIMIT $reach RETURN m, true AS before
             UNION ALL
               MATCH (m:MessageNode) USING INDEX m:MessageNode(partition, instance, timestamp)
               WHERE m.partition = scope[0] AND m.instance = scope[1] AND m.timestamp >= timestamp
               AND CASE WHEN m.timestamp > timestamp THEN true
                 WHEN coalesce(m.seq, 0) = seq THEN m.rsv_id > id ELSE coalesce(m.seq, 0) > seq END AND {admitted}
               WITH m ORDER BY m.partition, m.instance, ",
            forward!(),
            " LIMIT $reach RETURN m, false AS before
             } "
        )
    };
}
pub(super) const AROUND: &str = concat!(around!(), "RETURN [i, before, ", listed!(), ", null, null] AS row");
pub(super) const AROUND_MEASURED: &str = concat!(
    "OPTIONAL MATCH (model:RsvModel {name: $model, dim: size($vector)}) ",
    around!(),
    "OPTIONAL MATCH (m)-[:HAS_EMBEDDING]->(e:RsvVector {model: model.name}) WHERE i < $first RETURN [i, before, ",
    listed!(),
    ", ",
    cosine!("vector.similarity.cosine(e.embedding, $vector)"),
    "] AS row"
);

pub(super) const MESSAGES_BY_ID: &str = concat!(
    "UNWIND $wanted AS id
     MATCH (m:RsvRecord {rsv_id: id}) USING INDEX m:RsvRecord(rsv_id) WHERE m:MessageNode AND {scope} AND {admitted}
     RETURN [",
    listed!(),
    "] AS row"
);

/// The same, measured.
pub(super) const MESSAGES_MEASURED: &str = concat!(
    "OPTIONAL MATCH (model:RsvModel {name: $model, dim: size($vector)}) UNWIND $wanted AS id
     MATCH (m:RsvRecord {rsv_id: id}) USING INDEX m:RsvRecord(rsv_id) WHERE m:MessageNode AND {scope} AND {admitted}
     OPTIONAL MATCH (m)-[:HAS_EMBEDDING]->(e:RsvVector {model: model.name}) RETURN [",
    listed!(),
    ", ",
    cosine!("vector.similarity.cosine(e.embedding, $vector)"),
    "] AS row"
);

pub(super) const LINKS_BY_ID: &str = concat!(
    "UNWIND $wanted AS id MATCH (r:RsvRecord {rsv_id: id})-[l]-(:RsvRecord) WHERE $rel IS NULL OR type(l) = $rel
     WITH DISTINCT l RETURN ",
    link!(),
    " AS row"
);

pub(super) const FACT: &str = "MATCH (f:RsvFact {name: $name}) RETURN f.value AS value";

pub(super) const MODELS: &str = "
    MATCH (m:RsvModel) RETURN m.n AS n, m.name AS name, m.dim AS dim, m.vectors AS vectors ORDER BY name";

/// How much there is in some scopes, their numbers, and what a question to the index of words begins with if it is
/// about them: it is empty where the index need not tell them, or cannot, as they are too many. One row, whatever
/// there is.
macro_rules! sizes {
    () => {
        concat!(
            strangers!(),
            "OPTIONAL MATCH (m:RsvScope) WHERE {scope}
             WITH strangers, sum(m.messages) AS messages, sum(m.words) AS words, collect(m.n) AS numbers
             WITH *, CASE WHEN $everywhere OR size(numbers) > $named THEN '' WHEN numbers = [] THEN '+@none +'
               ELSE '+(' + reduce(names = '', n IN numbers | names + ' @' + n) + ')^0 +' END AS scopes "
        )
    };
}
pub(super) const SIZES: &str = concat!(sizes!(), "RETURN strangers, messages, words, scopes");

/// What it takes to rank a message by its words: little, as most of them are not among the best.
macro_rules! ranked {
    () => {
        "[m.rsv_id, m.n, m.timestamp, m.content]"
    };
}
/// The same, how many messages hold words of some stems, how many what is looked for in the index of words, and those
/// messages that the index takes for the likeliest. What it knows of scopes need not be read of each message.
pub(super) const HELD: &str = concat!(
    sizes!(),
    "CALL (numbers) {
       UNWIND range(0, size($stems) - 1) AS i
       OPTIONAL MATCH (w:RsvWord) WHERE w.stem = $stems[i] AND {the word's scope}
       WITH i, sum(w.messages) AS held ORDER BY i RETURN collect(held) AS counted
     }
     CALL (scopes) {
       UNWIND range(0, size($questions) - 1) AS i
       CALL (i, scopes) {
         CALL db.index.fulltext.queryNodes('rsv_words', scopes + $questions[i]) YIELD node AS m
         WHERE scopes <> '' OR {scope} RETURN count(m) AS held
       } WITH i, held ORDER BY i RETURN collect(held) AS looked_up
     }
     CALL (scopes) {
       CALL db.index.fulltext.queryNodes('rsv_words', scopes + $likely, {limit: $most}) YIELD node AS m
       WHERE scopes <> '' OR {scope} RETURN collect(",
    ranked!(),
    ") AS likely
     } RETURN strangers, messages, words, scopes, counted + looked_up AS held, likely"
);
pub(super) const HOLDING: &str = concat!(
    "CALL db.index.fulltext.queryNodes('rsv_words', $question, {limit: $most}) YIELD node AS m WHERE {scope} RETURN ",
    ranked!(),
    " AS row"
);
/// The messages that are not in the index, since rsv did not write them.
pub(super) const STRANGE_MESSAGES: &str =
    concat!("MATCH (m:MessageNode) WHERE {scope} AND NOT m:RsvRecord|RsvDouble RETURN ", message!());
/// The same, so many after one, with the vector that they may have.
pub(super) const STRANGERS_TO_ADOPT: &str = concat!(
    "MATCH (m:MessageNode) WHERE NOT m:RsvRecord|RsvDouble AND elementId(m) > $after
     WITH m ORDER BY elementId(m) LIMIT $count
     OPTIONAL MATCH (m)-[:HAS_EMBEDDING]->(e)
     WITH m, head(collect(e.embedding)) AS vector
     RETURN elementId(m) AS element, coalesce(vector, m.embedding) AS vector, ",
    message!()
);
/// How many vectors a model has in all, and how many in some scopes.
macro_rules! space {
    () => {
        "MATCH (model:RsvModel {name: $name})
         CALL (model) {
           MATCH (m:RsvSpace) WHERE m.model = model.n AND {scope} RETURN coalesce(sum(m.vectors), 0) AS here
         } WITH model.n AS model, model.dim AS dim, model.vectors AS all, here "
    };
}
pub(super) const SPACE: &str = concat!(space!(), "RETURN model, dim, all, here");
pub(super) const SPACES: &str = "
    MATCH (m:RsvSpace) WHERE m.model = $model AND {scope} AND m.vectors > 0
    RETURN m.partition AS partition, m.instance AS instance, m.threshold AS threshold, m.degree AS degree,
      m.wild AS wild";
/// All vectors of a selection are compared. What the server cannot compare tells by itself how near it is.
pub(super) const NEAREST_OF_ALL: &str = concat!(
    "MATCH (m:MessageNode) {index} WHERE {scope} AND {admitted}
     MATCH (m)-[:HAS_EMBEDDING]->(e:RsvVector{model})
     WITH m, e, CASE WHEN $flat THEN 0.5 WHEN e.near IS NOT NULL THEN e.near
       ELSE vector.similarity.cosine(e.embedding, $vector) END AS near
     ORDER BY near DESC, m.timestamp DESC, m.rsv_id LIMIT $count RETURN [",
    listed!(),
    ", ",
    cosine!("near"),
    "] AS row"
);
/// The nearest of the whole model are looked at as far as they are of the selection: of so many as hold what is wanted,
/// if the scope is spread evenly over them. The index is not asked, and `asked` is null, where the scope has few, or
/// not `$more` times as many as the index would be asked for: so many are sooner compared one by one. One row if there is the model. What the index itself says of how near
/// one is comes from numbers of 8 bits: where no near one should be missed, `most` is how near those may be that it did
/// not give, from 0 to 1: as the last of those that it gave, and twice as much as it is off with any of them.
pub(super) const NEAREST_BY_INDEX: &str = concat!(
    space!(),
    "WITH *, CASE WHEN here > $few THEN $wanted * (all / here) END AS near, here <= $exact AS exact
     WITH model, dim, exact, CASE WHEN dim = size($vector) AND near * $more < here THEN near END AS asked
     OPTIONAL CALL (model, exact, asked) {
       WITH model, exact, asked WHERE asked IS NOT NULL
       CALL db.index.vector.queryNodes('rsv_vector_' + model, asked, $vector) YIELD node AS e, score AS about
       WITH collect(e) AS found, min(about) + 2 * max(CASE WHEN exact AND e.near IS NULL
         THEN abs(vector.similarity.cosine(e.embedding, $vector) - about) END) AS most
       UNWIND found AS e MATCH (m:MessageNode)-[:HAS_EMBEDDING]->(e) WHERE {scope} AND {admitted}
       WITH m, e, most, coalesce(e.near, vector.similarity.cosine(e.embedding, $vector)) AS score
       RETURN m, e, most, score ORDER BY score DESC, m.timestamp DESC, m.rsv_id LIMIT $count
     } RETURN model, dim, exact, asked, most, collect(CASE WHEN m IS NOT NULL THEN [",
    listed!(),
    ", ",
    cosine!("score"),
    "] END) AS rows"
);
pub(super) const SIMILARITIES: &str = concat!(
    "MATCH (:RsvModel {name: $model, dim: size($vector)})
     UNWIND $wanted AS id MATCH (r:RsvRecord {rsv_id: id})-[:HAS_EMBEDDING]->(e:RsvVector {model: $model}) RETURN [id, ",
    cosine!("vector.similarity.cosine(e.embedding, $vector)"),
    "] AS row"
);
/// The newest of some messages, how many of them there are in all, and whether the model is known; one row.
macro_rules! newest_of_all {
    ($known:literal, $messages:literal) => {
        concat!(
            $known,
            " CALL () { MATCH ",
            $messages,
            " AND {admitted} RETURN count(m) AS all }
             CALL () { MATCH ",
            $messages,
            " AND {admitted} WITH m ORDER BY ",
            backward!(),
            " LIMIT $count RETURN collect(",
            listed!(),
            ") AS newest }
             RETURN known, all, newest"
        )
    };
}
pub(super) const LACKING: &str = newest_of_all!(
    "CALL () { MATCH (model:RsvModel {name: $name, n: {model}}) RETURN count(model) > 0 AS known }",
    "(m:RsvLacks{model}) WHERE {scope}"
);
pub(super) const SPOKEN: &str = newest_of_all!(
    "WITH false AS known",
    "(m:MessageNode) WHERE {scope} AND m:RsvRecord AND m.blank IS NULL"
);

/// The vectors of a scope that are compared with others.
pub(super) const COUNT_WAITING: &str = "
    MATCH (e:RsvWaiting{model}) RETURN e.partition AS partition, e.instance AS instance, count(e) AS waiting";
pub(super) const WAITING: &str = "
    MATCH (e:RsvWaiting{model}) WHERE e.partition = $partition AND e.instance = $instance
    MATCH (m:MessageNode)-[:HAS_EMBEDDING]->(e) WITH m, e ORDER BY m.n LIMIT $count
    RETURN [m.n, m.rsv_id, m.timestamp, e.n, e.embedding, true] AS vector";
pub(super) const VECTORS_OF_SCOPE: &str = "
    MATCH (m:MessageNode) WHERE m.partition = $partition AND m.instance = $instance
    MATCH (m)-[:HAS_EMBEDDING]->(e:RsvVector{model})
    RETURN [m.n, m.rsv_id, m.timestamp, e.n, e.embedding, e:RsvWaiting{model}] AS vector";
/// What the index has near to each of some vectors, as far as it is of their scope; and how near the last is that it
/// gave, from 0 to 1.
pub(super) const NEAR_EACH: &str = "
    UNWIND $rows AS row
    CALL (row) {
      CALL db.index.vector.queryNodes('rsv_vector_{model}', $near, row.vector) YIELD node AS e, score
      OPTIONAL MATCH (m:MessageNode {partition: $partition, instance: $instance})-[:HAS_EMBEDDING]->(e)
      RETURN min(score) AS least, collect(CASE WHEN m IS NOT NULL THEN
        [m.n, m.rsv_id, m.timestamp, e.n, e.embedding, e:RsvWaiting{model}] END) AS near
    } RETURN row.i AS i, least, near";

/// A statement about scopes, which are given as `$partition` and `$instance`: the condition on them stands in it as
/// `{scope}`.
pub(super) fn scoped(statement: &str, scopes: &Scopes) -> String {
    let word = if *scopes == Scopes::All { "w.scope IS NOT NULL" } else { "w.scope IN numbers" };
    statement.replace("{scope}", condition(scopes)).replace("{the word's scope}", word)
}

fn condition(scopes: &Scopes) -> &'static str {
    match scopes {
        Scopes::All => "true",
        Scopes::Partition(_) => "m.partition = $partition AND m.instance IS NOT NULL",
        Scopes::One(_) => "m.partition = $partition AND m.instance = $instance",
    }
}

/// A statement about the messages of a selection: the condition on their scopes, or on their trace, stands in it as
/// `{scope}`, the others as `{admitted}`, all conditions on the other end of a link as `{the other}`, the index that
/// has them in the order of time as `{index}`, and what its order begins with as `{forward}` and `{backward}`.
pub(super) fn selected(statement: &str, which: &Select) -> String {
    let (scopes, trace) = (&which.scopes, which.trace_id.is_some());
    let condition = condition(scopes);
    let own = if trace { format!("m.trace_id = $trace_id AND {condition}") } else { condition.to_owned() };
    let (index, first): (_, &[&str]) = match scopes {
        _ if trace => ("trace_id, timestamp", &["m.trace_id"]),
        Scopes::All => ("timestamp", &[]),
        Scopes::Partition(_) => ("partition, instance, timestamp", &[]),
        Scopes::One(_) => ("partition, instance, timestamp", &["m.partition", "m.instance"]),
    };
    let order = |way: &str| first.iter().map(|name| format!("{name}{way}, ")).collect::<String>();
    let admitted = admitted(std::slice::from_ref(which));
    statement
        .replace("{the other}", &format!("{condition} AND {admitted}").replace("m.", "o."))
        .replace("{scope}", &own)
        .replace("{admitted}", &admitted)
        .replace("{index}", &format!("USING INDEX m:MessageNode({index})"))
        .replace("{forward}", &order(""))
        .replace("{backward}", &order(" DESC"))
}

/// The conditions that any of some selections has, scopes aside.
fn admitted(which: &[Select]) -> String {
    let asked = ASKED.iter().filter(|(asks, _)| which.iter().any(asks)).map(|(_, condition)| *condition);
    [ADMITTED].into_iter().chain(asked).collect::<Vec<_>>().join(" AND ")
}

/// A statement whose rows are lists, so that they come in one: the server takes longer to send a row (16 µs) than to
/// read most.
pub(super) fn in_one(statement: &str) -> String {
    match statement.rsplit_once("RETURN [") {
        Some((before, row)) => {
            format!("{before}RETURN collect([{}) AS rows", row.trim_end_matches(" AS row"))
        }
        None => statement.to_owned(),
    }
}

/// A statement about several selections, each with parameters of its own.
pub(super) fn each(statement: &str, which: &[Select]) -> String {
    statement.replace("{admitted}", &admitted(which)).replace('$', "which.").replace('@', "$")
}

/// A statement about the model that has a number, which stands in it as `{model}`.
pub(super) fn of_model(statement: &str, n: i64) -> String {
    statement.replace("{model}", &n.to_string())
}
