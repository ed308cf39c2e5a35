//! The faults of requests, and of the settings by which they are admitted and relayed.

use crate::error::{Error, failures};
use crate::http::Address;
use hyper::header::HeaderName;

failures! { pub(in crate::proxy) enum HttpFault {
    /// `name` is a parameter, a header, a setting, or a part of the address.
    Unexpected { name: String, expected: &'static str, found: String }
        ("{name}: expected {expected}, found {found}"),
    NotUtf8 { name: String } ("{name}: is not UTF-8"),
    NoParameter { name: &'static str } ("Missing '{name}' query parameter"),
    Twice { name: HeaderName } ("{name}: is sent twice"),
    BodyEnded ("the body ended early"),
    NotDecoded { encoding: String } ("content-encoding: the body cannot be decoded as {encoding}"),
    InvalidJson { source: serde_json::Error } ("invalid JSON"),
    LogFormat ("expected json or text"),
    PublicAddress { key: &'static str, found: String }
        ("{key}: expected an address without a path, found {found}")
        => "have the server before it pass on requests for the root, as https://memory.example.org",
    OwnAddress { provider: String, address: Address, help: String }
        ("{provider} is at {address}, which is rsv-proxy's own address") => "{help}",
} }

/// The error of a value that cannot be used.
pub(in crate::proxy) fn unexpected(name: &str, expected: &'static str, found: &str) -> Error {
    HttpFault::Unexpected { name: name.to_owned(), expected, found: found.to_owned() }.into()
}
