//! The callers of providers.

use crate::http::HeaderMap;
use crate::provider::CallerKeys;

/// The caller of a request, with the parts of its own request that are passed to the provider.
#[derive(Clone, Default)]
pub struct Caller {
    /// The caller's keys.
    pub keys: CallerKeys,
    /// The encodings in which the answer may arrive (`Accept-Encoding`); if there is none, it arrives
    /// unencoded.
    pub encodings: Option<String>,
    /// Headers to pass on, without those that hold a key or concern one connection.
    pub headers: HeaderMap,
    /// The query string behind the address.
    pub query: Option<String>,
}
