//! The faults of the proxy as a whole.

use crate::error::failures;
use std::fmt;

failures! { pub(super) enum ProxyFault {
    Reachable { why: String } ("{why}, so other machines could use the proxy")
        => "give clients a token: rsv-config token add NAME; or set RSV_PROXY_TOKEN, or listen on 127.0.0.1",
    NoCommand { name: String } ("{name}: command not found")
        => "without a command, rsv-proxy serves until it is stopped",
    Metrics { source: fmt::Error } ("cannot write the metrics"),
    LostRows { rows: String } ("the audit lacks {rows}"),
    LostTurn ("1 turn that was answered is not stored"),
    LostTurns { count: usize } ("{count} turns that were answered are not stored"),
} }
