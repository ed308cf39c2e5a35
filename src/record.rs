//! The lines that flow between the tools: messages, links, embeddings, accounts, hits, and the bodies of
//! requests and answers. `man 5 rsv-record` is the contract.
//!
//! Everything with an id and a time is a `StoredRecord`. The row of a kind (`kinds.rs`) and its file define
//! how its lines are read and written, its natural key, the parts that are indexed and embedded, its label in
//! a graph, and whether it is recalled. A record never changes; records about others name them (`Subject`),
//! and add to sums (`Tally`) from which the rest is derived.

mod account;
pub mod action;
pub mod address;
mod audit;
mod commit;
mod comparison;
mod content;
mod digest;
mod document;
mod embedding;
mod error;
mod file_state;
mod fingerprint;
mod fold;
mod hit;
pub mod id;
mod kinds;
mod line;
mod link;
mod members;
mod memory;
mod message;
mod object;
mod partition_filter;
mod query;
mod recall_rule;
mod renaming;
mod role;
mod scope;
mod scope_summary;
mod session_summary;
mod short_id;
mod signal;
mod stored;
pub mod time;
mod title;
mod tombstone;
pub mod when;

pub use account::{ACCOUNT, Account, CarriedPart, Considered, Dropped, LeftOut, RecalledPart, ShownDocument};
pub use action::{ACTION, Action, ActionFilter, MAX_CALL_BYTES, Purpose};
pub use address::{Address, MAX_ADDRESS_BYTES, SCHEME};
pub use audit::{AuditAction, AuditRow, MAX_AUDITED_IDS, TouchedRecords};
pub use commit::{Commit, EXTRACTED_FROM_MEMBER, NEAR, archive_address, history, session_of_archive};
pub use comparison::{Arm, Comparison, FollowUp};
pub use content::{Content, LINE_ENDS};
pub use digest::hexadecimal;
pub use document::{BY_RULE, DOCUMENT, ORIGIN, PASSAGE, URI, directory_digest, is_origin};
pub use embedding::{Embedding, Vector, VectorFormat, read_vector, write_vector};
pub use error::{AddressError, RecordError, TimeError};
pub use file_state::FileState;
pub use fingerprint::{DUPLICATE_WINDOW, Fingerprint};
pub use hit::{Hit, HitEvidence, KEYWORD, LinkHop, NewerStatement, SIMILARITY, newer_json};
pub use kinds::{kind_named, kinds, register};
pub use line::{Line, Record, error_line, shape};
pub use link::{CONSOLIDATED_INTO, CORRECTS, EXTRACTED_FROM, Link, RESPONDED_WITH, SYNAPSE, check_relation};
pub use members::{texts, time_member, timestamp};
pub use memory::{ARCHIVED_INTO, DERIVED, FAILURE, MEMORY, Origin, STRATEGY, SUCCESS, begins_memory_heading};
pub use message::{MESSAGE, reservoir_model};
pub use object::{
    Object, empty, excerpt, invalid, invalid_utf8, missing, not_objects, prepend, quote, string_length,
    unexpected, unquote, utf8, without_halves, word,
};
pub use partition_filter::{PartitionFilter, matches_pattern};
pub use query::Query;
pub use recall_rule::{RECALL, RULE, RecallRule};
pub use renaming::derived_trace;
pub use role::Role;
pub use scope::{Reach, RequestScope, Scope, Scopes};
pub use scope_summary::ScopeSummary;
pub use session_summary::SessionSummary;
pub use short_id::{
    MIN_READ_LETTERS, MIN_SHOWN_LETTERS, digest_number, digest_numbers, id_digest, unique_prefix,
};
pub use signal::{EXPLICIT_SIGNALS, SIGNAL, SignalType, USES, day_of, usage_id};
pub use stored::{
    Draft, DraftDefaults, MergeRule, Position, RecordKind, Replaces, SameWords, StoredRecord, Subject, Tally,
    TextSource, Versions, write_time,
};
pub use time::Clock;
pub use title::{TITLE, title_id, title_of_question};
pub use tombstone::{RecordDigests, Tombstone, TombstoneState, identity_digest};

pub(crate) use fold::is_unseen;
