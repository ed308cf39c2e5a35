//! The faults of operands, and of lines about nodes that are known.

use super::reason::Reason;
use crate::error::failures;
use crate::record::Address;

failures! { pub(super) enum ParseError {
    /// A file or a directory that is not read.
    Unread { place: String, reason: Reason } ("cannot read {place}: {reason}"),
    Unnamed ("standard input has no name for an address")
        => "give the address, as in --to viking://resources/notes",
    NotOfDocuments { uri: Address } ("{uri} is no address of documents")
        => "give one below viking://resources or viking://agent",
    OfPartitions { uri: Address } ("{uri} is for the documents of partitions")
        => "give another address, as in --to viking://resources/people",
    SameAddress { first: String, second: String, uri: Address }
        ("{first} and {second} have the same address: {uri}")
        => "parse each by itself, with an address of its own by --to",
    TooLong { most: usize } ("longer than {most} bytes")
        => "raise it with: rsv-config set max_line_bytes BYTES",
    Json { source: serde_json::Error } ("invalid JSON"),
} }
