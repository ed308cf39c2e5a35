//! A question, parsed once: its words, its dates, and its vector.

use crate::text::{Dates, Languages, Term};
use jiff::Zoned;

/// The number of words of a long text that are looked up.
const MAX_TERMS: usize = 64;

/// The input of retrieval.
#[derive(Clone, Debug)]
pub struct Question {
    /// The words that carry its topic.
    pub terms: Vec<Term>,
    /// The times that it names.
    pub dates: Dates,
    /// Its vector, if there is a model.
    pub vector: Option<QuestionVector>,
}

/// The vector of a question, of the model's dimension and any length (norm); embedders make it of length 1.
#[derive(Clone, Debug)]
pub struct QuestionVector {
    /// The canonical id of the model.
    pub model: String,
    pub numbers: Vec<f32>,
    /// The least cosine of a record that may be related to the question.
    pub min_similarity: f64,
}

impl Question {
    /// Parses a text, which may be long; `stored` are the languages of the store. It is asked `now`.
    pub fn parse(
        text: &str,
        stored: Languages,
        vector: Option<QuestionVector>,
        now: impl FnOnce() -> Zoned,
    ) -> Question {
        let languages = Languages::of_question(text, stored);
        let dates = Dates::named(text, languages.or(Languages::of_text(text)), now);
        Question { terms: content_terms(text, languages), dates, vector }
    }

    /// The least cosine of a record that may be related to the question; infinite without a model.
    pub fn min_similarity(&self) -> f64 {
        self.vector.as_ref().map_or(f64::INFINITY, |vector| vector.min_similarity)
    }
}

/// The words of a text that carry its topic; `stored` are the languages of the store.
pub fn topic_terms(text: &str, stored: Languages) -> Vec<Term> {
    content_terms(text, Languages::of_question(text, stored))
}

fn content_terms(text: &str, languages: Languages) -> Vec<Term> {
    let mut terms = Term::content(text, languages);
    // The part after an apostrophe is not a content word either: `what's`.
    let is_content = |term: &Term, languages: Languages| {
        let cut_off = |token: &str| token.len() == 1 && term.tokens.len() > 1;
        !term.tokens.iter().all(|token| languages.is_stop_word(token) || cut_off(token))
    };
    terms.retain(|term| is_content(term, languages));
    // Of a question that is surely in another language than the texts, too.
    let own = Languages::surely_of(text);
    if terms.iter().any(|term| is_content(term, own)) {
        terms.retain(|term| is_content(term, own));
    }
    terms.truncate(MAX_TERMS);
    terms
}
