//! A search for several words at once.

use aho_corasick::AhoCorasick;
use std::sync::OnceLock;

/// Words that are looked for in any case, all at once.
pub(super) struct Words {
    words: &'static [&'static str],
    searcher: OnceLock<Option<AhoCorasick>>,
}

impl Words {
    pub(super) const fn of(words: &'static [&'static str]) -> Words {
        Words { words, searcher: OnceLock::new() }
    }

    /// Whether one of them is in a text.
    pub(super) fn are_in(&self, text: &str) -> bool {
        // It fails only for more patterns than memory holds.
        let build = || AhoCorasick::builder().ascii_case_insensitive(true).build(self.words).ok();
        self.searcher.get_or_init(build).as_ref().is_some_and(|searcher| searcher.is_match(text))
    }
}
