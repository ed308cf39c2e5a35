//! The chat backend, a second protocol over the same turns: a user, the user's sessions, documents and
//! models.
//!
//! `user_scope.rs` says whose partition a request is for. `chat_turn.rs` makes a turn of the body of a
//! request, and `ai_chat.rs` answers it (`chat_answer.rs`), without the line of its mood (`mood.rs`).
//! `sessions.rs` and `documents.rs` show what a user has, `upload.rs` receives files, `models.rs` lists the
//! models of all providers, and `chat_page.rs` is a page for all this, which also asks what was recalled
//! (`recalled.rs`). Uses the wings `http`, `worker`, `pages` and `turn`.

mod ai_chat;
mod chat_answer;
mod chat_page;
pub(super) mod chat_turn;
mod documents;
mod error;
mod models;
mod mood;
mod recalled;
mod sessions;
mod upload;
mod user_scope;

pub(super) use ai_chat::AiChatApi;
pub(super) use chat_page::ChatPage;
pub(super) use documents::DocumentsApi;
pub(super) use models::ModelsApi;
pub(super) use sessions::SessionsApi;
pub(super) use user_scope::UserNames;
