//! The callers of providers.

use crate::config::Secret;
use crate::http::HeaderMap;

/// The sender of a request, and what of it goes on to the provider.
#[derive(Clone, Default)]
pub struct Caller {
    /// The caller's key, if it has one.
    pub key: Option<Secret>,
    /// The encodings in which the answer may arrive (`Accept-Encoding`); without any it is not encoded.
    pub encodings: Option<String>,
    /// None that holds a key or concerns one connection.
    pub headers: HeaderMap,
    /// The query string behind the address.
    pub query: Option<String>,
}
