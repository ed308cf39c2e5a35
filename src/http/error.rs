//! The faults of addresses and headers, and of pages and files that are fetched.

use super::reason_phrase;
use crate::error::{failures, plain};
use std::time::Duration;

failures! { pub enum HttpError {
    NotHttp ("invalid address: expected http://HOST or https://HOST"),
    RefusedHeader ("this header cannot be set here") => "name the variable that holds a key in key_variable",
    Setup { cause: String } ("cannot start a download: {}", plain(.cause)),
    /// The innermost cause: the outer ones have the address, which may have a secret.
    Broken { cause: String } ("{cause}"),
    CutShort { bytes: u64 } ("the connection broke after {bytes} bytes"),
    TimedOut { limit: Duration } ("no whole answer within {} s", .limit.as_secs()),
    Status { status: u16 } ("status {status} {}", reason_phrase(*.status)),
    TooLarge { mib: usize } ("larger than {mib} MiB"),
    NotPublic ("it leads to an address of this machine or of a private network") => "--private fetches it",
} }
