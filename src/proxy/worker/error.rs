//! The faults of work beside requests.

use crate::error::failures;
use std::time::Duration;

failures! { pub(in crate::proxy) enum WorkerFault {
    Panicked ("a task of the proxy panicked"),
    StoreSilent { limit: Duration } ("the store has not answered within {} s", .limit.as_secs()),
    EmbedderSlow ("the embedding model takes too long"),
    OthersCommit { limit: Duration } ("another process has been committing sessions for {limit:?}") => "try again",
    NotALine ("the line of a record is none"),
    UploadFinished ("the upload is finished already"),
    NoModel ("no model describes documents"),
    NoModelSet ("documents.describe: there is no model to describe documents")
        => "rsv-config set documents.model MODEL",
    AuditFull ("rows of the audit are lost: too many wait for the store"),
    LostRows { rows: String, why: String } ("{rows} of the audit: {why}"),
    LostTurn { trace_id: String, why: String } ("the turn {trace_id} is lost: {why}"),
} }
