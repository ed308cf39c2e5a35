//! Memories of sessions: a summary, or the messages of one, becomes what to do again and what to avoid.

mod by_model;
mod by_rule;
mod conversation;
mod line;
mod session;
mod sources;

pub use by_model::{by_model, request};
pub use by_rule::by_rule;
pub use conversation::Conversation;
pub use session::{Session, SessionOutcome};
pub use sources::with_links;
