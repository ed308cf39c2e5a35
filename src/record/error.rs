//! The faults of records, and of their members, addresses and times.

use crate::error::failures;
use serde_json::error::Category;

// The reason why a line is no record; the words begin with the member at fault.
failures! { pub enum RecordError {
    Json { error: serde_json::Error } ("{}", describe(.error)),
    InvalidUtf8 { place: String } ("invalid UTF-8{place}")
        => "if it is Latin-1, pipe it through: iconv -f latin1 -t utf8",
    Missing { member: String } ("{member}: is missing"),
    Empty { member: String } ("{member}: is empty"),
    UnnamedScope { member: &'static str } ("{member}: is empty") => "give it a name, or leave it out",
    Unexpected { member: String, expected: String, found: String }
        ("{member}: expected {expected}, found {found}"),
    Text { member: String, error: serde_json::Error } ("{member}: {}", words(.error)),
    Invalid { member: &'static str, fault: String } ("{member}: {fault}"),
    Archived { id: String } ("{id} is archived already"),
    UnknownShape ("kind: is missing, and no known kind has this shape")
        => "a message needs at least role and content, a request messages; man 5 rsv-record has the kinds",
    ForeignShape { program: &'static str } ("kind: is missing, and no known kind has this shape")
        => "this looks like an export of {program}; read it with rsv-import",
} }

// The reason why a text is no address, or one that another partition owns.
failures! { pub enum AddressError {
    NotAnAddress { scheme: &'static str } ("expected an address such as {scheme}resources/notes"),
    TooLong { most: usize } ("the address is longer than {most} bytes"),
    OfAnother { address: String, owner: String } ("{address} belongs to the partition {owner}")
        => "give -p {owner}, or another address than that of a partition",
    EmptySegment ("the address has an empty segment") => "leave out the slash that is too many",
    Relative { segment: String } ("the address has the segment {segment}"),
    Character { fault: &'static str } ("{fault}"),
} }

// The reason why a text or a number is no time.
failures! { pub enum TimeError {
    NotATime { such_as: &'static str, found: String } ("expected a time such as {such_as}, found {found:?}"),
    OutOfRange { ms: i64 } ("expected milliseconds between the years 1 and 9999, found {ms}"),
    Clock { used: String } ("the clock is not between the years 1970 and 9999; {used} is used"),
} }

/// The words of a JSON error without its place.
fn words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line").next().unwrap_or(&text).to_owned()
}

fn describe(error: &serde_json::Error) -> String {
    match error.classify() {
        Category::Data => words(error),
        _ => format!("invalid JSON: {} at column {}", words(error), error.column()),
    }
}
