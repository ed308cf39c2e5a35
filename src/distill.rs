//! Memories of sessions: a summary, or the messages of one, becomes what to do again and what to avoid.
//! Documents get abstracts and overviews by a model.
//!
//! A commit of a session is one line (`commit.rs`): it is made by rule or by a model, completed with near
//! memories by `link`, decided by `merge`, and stored whole by `ingest`. Answers of models are data: they are
//! asked for in one place (`structured`), and what a memory is about follows from its sources.

mod by_model;
mod by_rule;
mod commit;
mod commit_by_model;
mod commit_by_rule;
mod conversation;
mod distil_stored;
mod distiller;
mod document;
mod document_queue;
mod error;
mod line;
mod patterns;
mod session;
mod sources;
mod stored_session;
mod uncommitted;

pub use by_model::{by_model, request};
pub use by_rule::by_rule;
pub use commit_by_model::{commit_by_model, commit_request};
pub use commit_by_rule::commit_by_rule;
pub use conversation::Conversation;
pub use distiller::{Distiller, SessionFacts};
pub use document::StaleDocument;
pub use document_queue::{DistilledDocument, DocumentQueue};
pub use patterns::Patterns;
pub use session::{Session, SessionOutcome};
pub use sources::with_links;
pub use stored_session::{LATEST, stored_session};
pub use uncommitted::UncommittedSession;
