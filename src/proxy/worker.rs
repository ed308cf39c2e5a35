//! The store and the embedder that all requests share, and the work in the background.
//!
//! `store_pool.rs` has the connections for reading, `embedder.rs` the one embedder, `blocking_pool.rs` the
//! threads that may block. `store_queue.rs` stores turns after they were answered, and `audit.rs` which token
//! read and changed what; `backfill.rs` makes vectors and synapses, `auto_commit.rs` commits sessions by
//! `session_commit.rs`, `document_jobs.rs` parses the uploads of `spool.rs`, and `describe_jobs.rs` has a
//! model describe them, all of which give way to requests (`foreground.rs`); `stored_line.rs` stores what a
//! model wrote. `budgets.rs` counts the tokens that callers spend. `degraded.rs` says from their results why
//! memory is degraded. Uses no other wing.

mod audit;
mod auto_commit;
mod backfill;
mod blocking_pool;
mod budgets;
mod day_tokens;
pub(super) mod degraded;
mod describe_jobs;
pub(super) mod document_jobs;
pub(super) mod embedder;
mod error;
mod foreground;
mod session_commit;
mod spool;
mod store_pool;
mod store_queue;
mod stored_line;

pub(super) use audit::AuditQueue;
pub(super) use auto_commit::AutoCommit;
pub(super) use backfill::Backfill;
pub(super) use blocking_pool::BlockingPool;
pub(super) use budgets::{Budgets, Exhausted, Purse, Sending};
pub(super) use degraded::{FailureReason, Precedence};
pub(super) use describe_jobs::DescribeJobs;
pub(super) use document_jobs::DocumentJobs;
pub(super) use embedder::SharedEmbedder;
pub(super) use error::WorkerFault;
pub(super) use foreground::Foreground;
pub(super) use session_commit::{ModelFailure, SessionCommits};
pub(super) use spool::{Spool, Upload, UploadDraft, UploadState, safe_name};
pub(super) use store_pool::StorePool;
pub(super) use store_queue::{PendingGuard, QueueCounts, QueuedTurn, StoreQueue};
