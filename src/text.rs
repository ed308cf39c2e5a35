//! Texts as words: folded, split into tokens and stemmed, in documents and in questions.
//!
//! `fold.rs` folds; `terms.rs` splits, and reads the words of a question; `languages.rs` stems them,
//! `language_detection.rs` tells the language of a text, and `stop_words.rs` has those that carry no topic.
//! `dates.rs` reads the times that a question names, and `questions.rs` tells a question from a statement.
//! `passages.rs` chooses what is quoted of a long text. `trigrams.rs` says in a moment that a text cannot
//! hold a word; `occurrences.rs` says where it does. `phrasing.rs` compares the words and neighbours of a
//! question with those of texts; `topic.rs` has the words that a text is about. `counted.rs` writes a number
//! with its noun. `sketch.rs` tells how nearly two texts are equal. `statements.rs` reads what a text states,
//! clause by clause: its `values.rs`, and the phrases of `cues.txt` that tell a change.

mod clause_tokens;
mod counted;
mod cues;
mod dates;
pub(crate) mod fold;
pub(crate) mod language_detection;
pub(crate) mod languages;
mod occurrences;
mod passages;
mod phrasing;
mod questions;
mod sentences;
mod sketch;
mod statements;
mod stop_words;
pub(crate) mod terms;
mod topic;
mod trigrams;
mod values;

pub use counted::{counted, counted_verb, with_article};
pub use dates::Dates;
pub use languages::Languages;
pub use occurrences::occurrences;
pub use passages::{Quotations, SoughtWords, quotation, quoted_ranges};
pub use phrasing::{Coverage, Idf, Phrasing};
pub use questions::asks;
pub use sentences::sentences;
pub use sketch::Sketch;
pub use statements::{Clause, beginning, statements};
pub use terms::{Occur, Term};
pub use topic::{TopicWord, topic_words};
pub use values::{Value, ValueKind, is_measure};

pub(crate) use trigrams::Trigrams;
