//! The body of an answer, which may have been cut short.

use super::request_error::RequestError;

/// The part of a body that arrived.
pub struct Body {
    pub bytes: Vec<u8>,
    /// The reason why it is incomplete.
    pub cut: Option<Truncation>,
}

/// The reason why a body is incomplete.
#[derive(Debug)]
pub enum Truncation {
    /// It is longer than the limit.
    Limit,
    Failed(RequestError),
}
