//! Records whose words are in the index of a store as an earlier release wrote them.

use crate::cli::report_migration;
use crate::text::counted_verb;

/// The command that reindexes them at once.
pub const UPDATE_WORDS: &str = "rsv-embed --pending";

/// `3 records are indexed as by an earlier release`.
pub fn outdated_text(records: u64) -> String {
    let records = counted_verb(records, "record", ["is", "are"]);
    format!("{records} indexed as by an earlier release")
}

/// Tells a person who opens a store of an earlier release of these records, if there are some.
pub(super) fn report_outdated(records: u64) {
    if records > 0 {
        let text = outdated_text(records);
        report_migration(format_args!("{text}, until later writes reindex them; at once: {UPDATE_WORDS}"));
    }
}
