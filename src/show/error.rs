//! The reasons why records are not shown.

use crate::error::failures;
use crate::text::with_article;

failures! { pub(super) enum ShowError {
    NoSubject { kind: &'static str } ("{} is about no other record", with_article(.kind))
        => "leave out --kind",
    Untraced { kind: &'static str } ("--turn: {} belongs to no turn", with_article(.kind)),
    Missing { id: String } ("there is no record {id}")
        => "rsv-search and rsv-view show the short ids of messages on a terminal, and their ids in a pipe",
    NotInstalled { model: String } ("the vectors of this store are of {model}, which is not installed")
        => "rsv-embed --replay",
} }
