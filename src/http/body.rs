//! The body of an answer, which may have been cut short.

use super::request_error::RequestError;

/// A body, as far as it arrived.
pub struct Body {
    pub bytes: Vec<u8>,
    /// Why there is not all of it.
    pub cut: Option<Truncation>,
}

/// Why a body is not whole.
#[derive(Debug)]
pub enum Truncation {
    /// It is longer than the limit.
    Limit,
    Failed(RequestError),
}
