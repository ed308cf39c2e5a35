//! The APIs by which clients talk to models: OpenAI's chat completions and Responses, and Anthropic's
//! Messages. Each is a reader and a writer of one turn in the shape of chat completions, which is all that
//! enrichment, budget and ingestion know. Members, items and blocks that rsv does not know are kept
//! unchanged.
//!
//! `messages.rs` and `responses.rs` find the user's own words among those that a program adds
//! (`client_text.rs`), and put a text before them (`splice.rs`). For a provider of chat completions alone,
//! `to_chat.rs` translates a request, `from_chat.rs` a whole answer, and `stream_from_chat.rs` one in chunks.

mod actions;
mod agent_tools;
mod answer;
mod call_piece;
mod calls;
mod chat_turns;
mod client_text;
mod compaction;
mod event_writer;
mod events;
mod from_chat;
mod messages;
mod performed;
mod protocol;
mod reading;
mod responses;
mod scan;
mod splice;
mod stream_from_chat;
mod to_chat;
mod tool_errors;
mod usage;
mod wire;

pub use actions::{CalledTool, action};
pub use answer::{answer, is_failed, mark_broken, reported_error};
pub use call_piece::{CallPiece, KnownCall, is_repeated};
pub use client_text::{own_words, typed_words, without_elements};
pub use compaction::Compaction;
pub use events::{AnswerEvents, is_last_event, message_stop, push_event_text};
pub use from_chat::{from_chat, push_content};
pub use protocol::{API_MEMBER, Api, KEEP_TOOLS_MEMBER, UNSTORED_MEMBER};
pub use reading::unread_tokens;
pub use stream_from_chat::{EventTranslator, to_sse};
pub use to_chat::{Translation, to_chat};
pub use tool_errors::ToolOutcome;
pub use usage::Usage;
pub use wire::Request;
