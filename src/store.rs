//! Storage of records: capabilities in the words of the domain, with SQLite or Neo4j behind them.
//!
//! An embedding and a link name a record of any kind by its id. The unit of every index is a collection: the
//! records of one kind in one scope.
//!
//! `api.rs` has the traits of a store. The outcome of a write is decided once: `write_plan.rs` asks a backend
//! what it has of a record, decides by the rules for identical records (`identity.rs`), versions
//! (`versions.rs`) and tombstones (`forgetting.rs`), and hands it the changes. Every index is updated in the
//! transaction that changes its records, and can be rebuilt from them.

mod api;
mod audit;
mod calls;
mod changes;
mod copy;
mod cursor;
mod damage;
mod error;
mod evidence;
mod follow;
mod forgetting;
mod identity;
mod imports;
mod instances;
mod languages;
mod maintenance;
#[cfg(feature = "neo4j")]
mod neo4j;
mod number_ranges;
mod open;
mod outdated;
mod question;
mod rename;
mod select;
mod sessions;
mod short_ids;
mod sqlite;
mod synapses;
mod titles;
mod undo;
mod versions;
mod write_plan;

pub use api::{
    Among, Claim, Links, MODEL_FACT, Model, OpenMode, Records, Removal, State, Store, Tallies, Unembedded,
    Vectors, Visit, VisitHit,
};
pub use audit::{Audit, AuditSelection, MAX_EXPIRED, VisitAuditRow};
pub use changes::{ChangeNumbers, ChangeState, Mark, Witness};
pub use copy::copy;
pub use cursor::Cursor;
pub use damage::Damage;
pub use error::{ErrorKind, StoreError, StoreFault};
pub use evidence::{Around, Candidate, Cosines, Evidence, Plan};
pub use follow::Follower;
pub use forgetting::{Forgotten, WriteRules, WriteSource};
pub(crate) use identity::dimension_mismatch;
pub use identity::{RefusedIds, WriteOutcome};
pub use imports::{Import, StoredImport};
pub use instances::full_scope;
pub use maintenance::{Derived, ERASE_PENDING, FileState, Leftovers, Maintenance};
pub use number_ranges::NumberRanges;
pub use open::{id, open, open_readable, open_to_read, peek_scopes, peek_titles, unreadable};
pub use outdated::{UPDATE_WORDS, outdated_text};
pub use question::{Question, QuestionVector, topic_terms};
pub use rename::{Obstacle, Rename};
pub use select::{Below, Collection, Except, Select, Walk};
pub use sessions::{
    Uncommitted, add_programs, archives, is_of_another, last_archive, open_sessions, sessions, uncommitted,
};
pub use short_ids::{full_id, full_ids, short_ids};
#[doc(hidden)]
pub use sqlite::fuzz_postings;
pub use synapses::{Changes, Compare, Compared, LinkState, Near, Rule, reach_fact};
pub use titles::titles;
pub use undo::{ImportedRecords, imports, records_of, set_undone};
