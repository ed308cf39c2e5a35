//! The faults of links.

use crate::error::failures;

failures! { pub(super) enum LinkError {
    NoMessage { id: String } ("there is no message {id}")
        => "rsv-view and rsv-search show the ids of messages",
    /// `end` is an id, a short id or an address.
    NoRecord { end: String } ("there is no record {end}")
        => "-p names the partition of a document; rsv-search and rsv-view show ids",
    NamedSynapse ("--rel: a SYNAPSE follows from vectors") => "give another name",
} }
