//! The body of an answer, which may have been cut short.

use super::failed::Failed;

/// A body, as far as it arrived.
pub struct Body {
    pub bytes: Vec<u8>,
    /// Why there is not all of it.
    pub cut: Option<Cut>,
}

/// Why a body is not whole.
#[derive(Debug)]
pub enum Cut {
    /// It is longer than was asked for.
    Limit,
    Failed(Failed),
}
