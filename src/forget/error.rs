//! The reasons why records stay.

use crate::error::failures;
use crate::record::Scope;
use crate::text::with_article;

failures! { pub(super) enum ForgetError {
    /// The id follows its place; `flags` select the scope.
    OtherScope { id: String, scope: Scope, flags: String } ("{id} is in the scope {scope}, and stays")
        => "select it with {flags}, or --all",
    Refused ("nothing was removed"),
    Unconfirmed { records: String } ("{records} would be removed")
        => "look at them with --dry-run, and remove them with --yes",
    /// `messages` is such as `3 messages of Reservoir stay`.
    Foreign { messages: String } ("{messages} in the graph") => "run 'rsv-link --adopt', then rsv-forget again",
    Unforgettable { kind: String } ("kind: {} cannot be forgotten", with_article(.kind))
        => "pass the lines of rsv-search, rsv-view or rsv-export",
} }
