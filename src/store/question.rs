//! A question, parsed once: its words, its dates, and its vector.

use super::dates::Dates;
use super::terms::Term;
use rustc_hash::FxHashSet;
use std::sync::LazyLock;

/// Words that tell nothing about the topic of a question, and that are in most messages: looking them up would cost
/// more than all others together.
const STOP_WORDS: &str = "a about all also am an and any are as at be been but by can could did do does done for from \
    get got had has have he her him his how i if in into is it its just like me my no not of on or our out say said \
    she should so some tell than that the their them then there these they this to too up us was we were what when \
    where which who why will with would you your";

/// Whether a folded word is one of the stop words.
pub(super) fn is_stop_word(word: &str) -> bool {
    static WORDS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| STOP_WORDS.split(' ').collect());
    WORDS.contains(word)
}

/// The number of words of a long text that are looked up.
const MAX_TERMS: usize = 64;

/// The input of retrieval.
#[derive(Clone, Debug)]
pub struct Question {
    /// The words that carry its topic.
    pub terms: Vec<Term>,
    /// The months and years that it names.
    pub dates: Dates,
    /// Its vector, if there is a model.
    pub vector: Option<QuestionVector>,
}

/// The vector of a question.
#[derive(Clone, Debug)]
pub struct QuestionVector {
    /// The canonical id of the model.
    pub model: String,
    pub numbers: Vec<f32>,
    /// The least cosine of a record that may be related to the question.
    pub min_similarity: f64,
}

impl Question {
    /// Parses a text, which may be long.
    pub fn parse(text: &str, vector: Option<QuestionVector>) -> Question {
        Question { terms: content_terms(text), dates: Dates::named(text), vector }
    }

    /// The least cosine of a record that may be related to the question; infinite without a model.
    pub fn min_similarity(&self) -> f64 {
        self.vector.as_ref().map_or(f64::INFINITY, |vector| vector.min_similarity)
    }
}

/// The words of a text that carry its topic.
fn content_terms(text: &str) -> Vec<Term> {
    let mut terms = Term::content(text);
    // The part after an apostrophe is not a content word either: `what's`.
    terms.retain(|term| {
        let cut_off = |token: &str| token.len() == 1 && term.tokens.len() > 1;
        !term.tokens.iter().all(|token| is_stop_word(token) || cut_off(token))
    });
    terms.truncate(MAX_TERMS);
    terms
}
