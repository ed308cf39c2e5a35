//! The faults of inputs.

use crate::error::failures;

failures! { pub(super) enum LineError {
    Binary { is: &'static str, command: &'static str } ("{is}") => "pipe in the output of: {command}",
    StrayText { first: u64 } ("expected a JSON object, as there are from line {first} on, found text")
        => "take the lines in front of the records away; --role user stores all of it as one message",
    NotAnObject { found: char, looks: String } ("expected a JSON object, found {found:?}")
        => "{looks}each line is a JSON object: man 5 rsv-record",
    Syntax { fault: String } ("{fault}"),
    TooLong { most: String } ("is longer than the limit of {most}")
        => "raise it with: rsv-config set max_line_bytes BYTES",
} }
