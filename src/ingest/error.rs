//! The faults of what is to be stored.

use crate::error::failures;
use crate::record::Scope;

failures! { pub(super) enum IngestError {
    /// `owner` names the scope of the other record, if it is known.
    OtherRecord { id: String, owner: String, kind: &'static str, scope: Scope }
        ("id: {id} belongs to another record{owner}, which is kept; this {kind} of {scope} is not stored")
        => "give it another id, or none",
    NoVector { why: String, kind: &'static str } ("{why}; the {kind} is stored without it")
        => "embed it with the model in use: rsv-embed --pending",
    Busy ("another process has been storing commits for a minute") => "try again",
    Commit { why: String, partition: String, instance: String } ("the commit is not stored: {why}")
        => "make it again: rsv-commit -p {partition} -i {instance}",
    NotImported ("kind: cannot be imported")
        => "rsv-import reads messages, accounts, embeddings, links and tombstones; give other kinds to rsv-ingest",
    NotMirrored { why: String } ("nothing is taken away: {why}"),
    OtherPartition { of: String, other: String }
        ("partition: no document of this tree is in {of}, but in {other} there are some")
        => "give rsv-parse the partition of the documents: -p NAME",
    NoText ("there is no text") => "give it as an argument or on standard input",
    System ("system messages are not stored") => "store it with --keep-system",
    NoMessage { partition: String, id: String } ("corrects: the partition {partition} has no message {id}")
        => "rsv-search prints the ids of messages",
} }
