//! Memories of sessions: a summary, or the messages of one, becomes what to do again and what to avoid.

mod conversation;
mod rule;
mod session;

pub use conversation::Conversation;
pub use rule::memories;
pub use session::{Session, SessionOutcome};
