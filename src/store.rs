//! Storage of records: capabilities in the words of the domain, with SQLite or Neo4j behind them.
//!
//! An embedding and a link name a record by its id, whatever its kind. The unit of every index is a collection: the
//! records of one kind in one scope.

mod api;
mod changes;
mod copy;
mod cosine;
mod cursor;
mod damage;
mod dates;
mod error;
mod evidence;
mod follow;
mod forgetting;
mod identity;
mod neo4j;
mod occurrences;
mod open;
mod phrasing;
mod question;
mod ranking;
mod select;
mod sessions;
mod sqlite;
mod synapses;
mod terms;
mod topic;
mod trigrams;
mod unit_vectors;
mod versions;

pub use api::{
    Claim, ERASE_PENDING, Links, Model, OpenMode, Records, State, Store, Tallies, Unembedded, Vectors, Visit,
    VisitHit, Words,
};
pub use changes::{ChangeNumbers, ChangeState, Witness};
pub use copy::copy;
pub use cursor::Cursor;
pub use damage::Damage;
pub use error::{ErrorKind, StoreError};
pub use evidence::{Around, Candidate, Cosines, Evidence, Plan};
pub use follow::Follower;
pub use forgetting::{Forgotten, Intake, WriteRules};
pub use identity::{RefusedIds, Written};
pub use occurrences::occurrences;
pub use open::{id, open, open_readable, open_to_read, peek_scopes, unreadable};
pub use phrasing::{Coverage, Phrasing, Rarity};
pub use question::{Question, QuestionVector};
pub use select::{Below, Collection, Except, Mark, Select, Walk};
pub use sessions::{
    Uncommitted, archives, is_of_another, last_archive, open_sessions, sessions, uncommitted,
};
pub use synapses::{Changes, Compare, Compared, LinkState, Near, Rule, UnlinkedCollection};
pub use terms::{Occur, Term};
pub use topic::{TopicWord, topic_words};
pub use unit_vectors::{BLOCK_ROWS, UnitVectors};
