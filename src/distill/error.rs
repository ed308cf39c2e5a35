//! The faults of sessions, and of what is distilled from them.

use crate::error::failures;
use crate::record::Scope;

failures! { pub(super) enum DistillError {
    NoSession { name: String, missing: &'static str } ("--session {name}: {missing} here")
        => "name the partition with -p; 'rsv-view --sessions' lists all sessions",
    OtherSession { scope: Scope, before: Scope } ("this message is of {scope}, and those before of {before}")
        => "commit one session at a time: rsv-view --uncommitted -p PARTITION -i INSTANCE",
    Outcome { found: String } ("outcome: unknown session outcome: {found:?}")
        => "it is success, failure or partial",
    PatternShape ("expected a category, a colon and a pattern, as in 'entity: my ... is ...'"),
    Pattern { gap: &'static str } ("the pattern has no words, or no {gap}"),
    NoQuestion { scope: Scope } ("{scope} has no question") => "say what it was about with --task",
    NoOutcome ("this is a message, and how its session ended is not known") => "give --outcome and --task",
    NoWords ("it has no words to describe"),
} }
