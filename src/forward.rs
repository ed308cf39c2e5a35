//! A request to the provider of its model, and the answer back: as one line, or as it arrives.
//!
//! `forwarder.rs` prepares a request, `request_sender.rs` sends it with retries, `event_reader.rs` reads the
//! events of a stream, `stream.rs` decides where it ends and whether it broke off, and `assemble.rs` joins
//! its events into the answer that an unstreamed request would get.

mod answer;
mod assemble;
mod caller;
mod detail_log;
mod event;
mod event_parser;
mod event_reader;
mod failure;
mod forwarder;
mod gatherer;
mod line;
mod lines;
mod pending_request;
mod request_sender;
mod stream;
mod stream_body;
mod truncation_detector;
mod web_search;

pub use answer::read_answer;
pub use caller::Caller;
pub use detail_log::log_detail;
pub use event::Event;
#[doc(hidden)]
pub use event_parser::fuzz_events;
pub use failure::Failure;
pub use forwarder::Forwarder;
pub use line::{AnswerFormat, LineOutput};
pub use request_sender::RetryPolicy;
pub use stream::{AnswerHead, Stream, StreamEnd, StreamPiece};
