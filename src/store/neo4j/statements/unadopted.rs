//! The statements about messages that rsv did not write.

use super::columns::{regular, unadopted, unadopted_message};

/// The number of messages of a partition that rsv has neither written nor taken over.
pub(in crate::store::neo4j) const UNADOPTED_OF_PARTITION: &str = "
    MATCH (m:MessageNode) WHERE m.partition = $partition AND NOT m:RsvRecord|RsvDouble RETURN count(m) AS count";
pub(in crate::store::neo4j) const UNADOPTED: &str = concat!(unadopted!(), "RETURN unadopted");

pub(in crate::store::neo4j) const SCOPES_OF_UNADOPTED: &str = concat!(
    "MATCH (m:MessageNode) WHERE NOT m:RsvRecord|RsvDouble AND ",
    regular!(),
    " RETURN m.partition AS partition, m.instance AS instance, count(m) AS messages"
);
/// The condition of messages that rsv neither wrote nor took over, and that are not regular.
macro_rules! irregular {
    () => {
        concat!("NOT m:RsvRecord|RsvDouble AND NOT coalesce(", regular!(), ", false)")
    };
}
pub(in crate::store::neo4j) const HAS_IRREGULAR: &str = concat!(
    unadopted!(),
    "CALL (unadopted) {
       WITH unadopted WHERE unadopted > 0 MATCH (m:MessageNode) WHERE ",
    irregular!(),
    " RETURN m LIMIT 1
     } RETURN count(m) > 0 AS irregular"
);
pub(in crate::store::neo4j) const IRREGULAR_MESSAGES: &str =
    concat!("MATCH (m:MessageNode) WHERE {scope} AND ", irregular!(), " RETURN ", unadopted_message!());

/// The messages that are not in the index, since rsv did not write them.
pub(in crate::store::neo4j) const UNADOPTED_MESSAGES: &str = concat!(
    "MATCH (m:MessageNode) WHERE {scope} AND NOT m:RsvRecord|RsvDouble RETURN ",
    unadopted_message!()
);
/// The same, a batch that follows a node, with the vectors that they may have, and whether they are regular.
pub(in crate::store::neo4j) const MESSAGES_TO_ADOPT: &str = concat!(
    "MATCH (m:MessageNode) WHERE NOT m:RsvRecord|RsvDouble AND elementId(m) > $after
     WITH m ORDER BY elementId(m) LIMIT $count
     OPTIONAL MATCH (m)-[:HAS_EMBEDDING]->(e)
     WITH m, head(collect(e.embedding)) AS vector
     RETURN coalesce(vector, m.embedding) AS vector, coalesce(",
    regular!(),
    ", false) AS regular, ",
    unadopted_message!()
);
