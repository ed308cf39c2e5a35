//! A request to the provider of its model, and the answer back: as one line, or as it arrives.

mod answer;
mod ask;
mod assemble;
mod caller;
mod cut;
mod detail_log;
mod events;
mod failure;
mod forwarder;
mod line;
mod pending_request;
mod stream;

pub use ask::Again;
pub use caller::Caller;
pub use detail_log::tell;
pub use failure::Failure;
pub use forwarder::Forwarder;
pub use line::{Form, Told};
pub use stream::{End, Event, Head, Piece, Stream};
