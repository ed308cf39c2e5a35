//! The APIs by which clients talk to models: OpenAI's chat completions and Responses, and Anthropic's
//! Messages. Each is a reader and a writer of one turn in the shape of chat completions, which is all that
//! enrichment, budget and ingestion know. Members, items and blocks that rsv does not know, or
//! that have another type than it knows, are kept unchanged, and count as absent: a provider may know them.
//!
//! An API is an implementation of the trait in `dialect.rs`: `completions.rs`, `messages.rs`, `responses.rs`,
//! each with its types beside it. The last two find the user's own words among those that a program adds
//! (`client_text.rs`), and put a text before them (`splice.rs`). For a provider of chat completions alone,
//! `translation.rs` translates a request and a whole answer, `stream_from_chat.rs` one in chunks.

mod actions;
mod agent_tools;
mod answer;
mod answer_parts;
mod call_piece;
mod calls;
mod client_text;
mod compaction;
mod completions;
mod dialect;
mod events;
mod lenient;
mod messages;
mod performed;
mod protocol;
mod reading;
mod responses;
mod scan;
mod splice;
mod stream_from_chat;
mod tool_errors;
mod translation;
mod usage;
mod wire;

pub use actions::{CalledTool, action};
pub use answer::{answer, mark_broken, reported_error};
pub use answer_parts::push_content;
pub use call_piece::{CallPiece, KnownCall, is_repeated};
pub use client_text::{own_words, typed_words, without_elements};
pub use compaction::Compaction;
pub use dialect::Translation;
pub use events::{AnswerEvents, is_last_event, push_event_text};
pub use lenient::{Lenient, Raw};
pub use messages::message_stop;
pub use protocol::{API_MEMBER, Api, KEEP_TOOLS_MEMBER, UNSTORED_MEMBER};
pub use reading::unread_tokens;
pub use responses::is_failed;
pub use stream_from_chat::{EventTranslator, to_sse};
pub use tool_errors::ToolOutcome;
pub use translation::{from_chat, to_chat};
pub use usage::Usage;
pub use wire::Request;
