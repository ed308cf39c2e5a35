//! Scores the texts of a conversation by their words: each by its best passage, since a long answer holds
//! most words of any question somewhere.
//!
//! A passage is a window of `weights::WINDOW` consecutive words. Its score is that of BM25 without a norm for
//! the length (`b` = 0), with the power 1.5 of the idf; times the share of the question that the whole text
//! holds, by the same weights.

use super::bm25::Corpus;
use super::query_token::QueryToken;
use super::weights::{self, Weighting};
use crate::text::fold::fold;
use crate::text::terms;

/// The tokens of a question with their weights.
#[derive(Default)]
pub(crate) struct QuestionWords {
    /// Those that some document holds, by their texts, so that sums are the same in every store.
    tokens: Vec<WeightedToken>,
    /// The sum of the idf of all tokens, and of one more that no document holds.
    idf: f64,
    /// The sum of the weights.
    weight: f64,
}

struct WeightedToken {
    token: QueryToken,
    idf: f64,
    weight: f64,
}

/// An occurrence of a token in a text.
#[derive(Clone, Copy)]
struct Occurrence {
    /// The byte at which it begins.
    at: usize,
    /// The number of the word that it begins.
    word: usize,
    /// The position of the token.
    token: usize,
    times: f32,
}

/// The words of a question in a text.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct WordScore {
    pub(crate) score: f64,
    /// The share of the question's words, weighted by idf; below 1.
    pub(crate) share: f64,
}

impl QuestionWords {
    /// Weighs the tokens of a question by the documents that hold them, and forgets which these are.
    pub(crate) fn new(tokens: Vec<QueryToken>, corpus: &Corpus) -> QuestionWords {
        let all: f64 = tokens.iter().map(|token| corpus.idf(token.doc_freq)).sum();
        let found = tokens.into_iter().filter(|token| token.doc_freq > 0).map(|token| {
            let idf = corpus.idf(token.doc_freq);
            WeightedToken { token: QueryToken { docs: Vec::new(), ..token }, idf, weight: idf * idf.sqrt() }
        });
        let mut tokens: Vec<WeightedToken> = found.collect();
        tokens.sort_by(|a, b| a.token.text.cmp(&b.token.text));
        let weight = tokens.iter().map(|one| one.weight).sum();
        QuestionWords { tokens, idf: all + corpus.idf(0), weight }
    }

    /// Scores a text.
    pub(crate) fn score(&self, text: &str) -> WordScore {
        let folded = fold(text);
        let mut occurrences = Vec::new();
        for (token, one) in self.tokens.iter().enumerate() {
            let add = |at, times| occurrences.push(Occurrence { at, word: 0, token, times });
            one.token.visit_occurrences(&folded, add);
        }
        if occurrences.is_empty() {
            return WordScore::default();
        }
        let (mut idf, mut weight) = (0.0, 0.0);
        // The occurrences of a token follow each other.
        for token in occurrences.chunk_by(|a, b| a.token == b.token).map(|all| &self.tokens[all[0].token]) {
            (idf, weight) = (idf + token.idf, weight + token.weight);
        }
        occurrences.sort_by_key(|one| (one.at, one.token));
        let score = self.sum(self.best_window(&folded, &mut occurrences)) * weight / self.weight;
        WordScore { score, share: idf / self.idf }
    }

    /// The occurrences in the window with the highest score; the first of equals.
    fn best_window<'a>(&self, folded: &str, occurrences: &'a mut [Occurrence]) -> &'a [Occurrence] {
        // No word is shorter than a byte.
        let is_wide = |all: &[Occurrence]| match all {
            [first, .., last] => last.at - first.at >= weights::WINDOW,
            _ => false,
        };
        if !is_wide(occurrences) {
            return occurrences;
        }
        number_words(folded, occurrences);
        let mut times = vec![0.0; self.tokens.len()];
        let (mut sum, mut best, mut end) = (0.0, 0.0, 0);
        let mut window = 0..0;
        for (begin, first) in occurrences.iter().enumerate() {
            while occurrences.get(end).is_some_and(|next| next.word < first.word + weights::WINDOW) {
                sum += self.change(&mut times, &occurrences[end], 1.0);
                end += 1;
            }
            // Rounding must not decide.
            if sum > best * (1.0 + 1e-12) {
                (best, window) = (sum, begin..end);
            }
            sum += self.change(&mut times, first, -1.0);
        }
        &occurrences[window]
    }

    /// Adds an occurrence to the times of the tokens, or subtracts it; returns the change of the score.
    fn change(&self, times: &mut [f32], of: &Occurrence, sign: f32) -> f64 {
        let (token, times) = (&self.tokens[of.token], &mut times[of.token]);
        let before = token.score(*times);
        *times += sign * of.times;
        token.score(*times) - before
    }

    /// The score of some occurrences, added up in the order of the tokens.
    fn sum(&self, occurrences: &[Occurrence]) -> f64 {
        let mut times = vec![0.0; self.tokens.len()];
        for one in occurrences {
            times[one.token] += one.times;
        }
        self.tokens.iter().zip(times).map(|(token, times)| token.score(times)).sum()
    }
}

impl WeightedToken {
    /// The score of a window that holds it so often.
    fn score(&self, times: f32) -> f64 {
        let (Weighting { k1, .. }, times) = (weights::MESSAGES, f64::from(times));
        self.weight * times * (k1 + 1.0) / (times + k1)
    }
}

/// Sets the numbers of the words that occurrences begin, counted from the first; they are in the order of the
/// text.
fn number_words(folded: &str, occurrences: &mut [Occurrence]) {
    let (mut at, mut word) = (occurrences.first().map_or(0, |first| first.at), 0);
    for one in occurrences {
        word += terms::count_words(&folded[at..one.at]);
        (at, one.word) = (one.at, word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranking::query_token;
    use crate::record::MESSAGE;
    use crate::text::{Languages, Occur, Term};

    /// The words of a question, each in one of ten documents.
    fn words(question: &str) -> QuestionWords {
        let terms = Term::content(question, Languages::ENGLISH);
        let all = |_: &QueryToken| Ok::<_, std::convert::Infallible>(true);
        let Ok(mut tokens) = query_token::query_tokens(&terms, Occur::Any, &[&MESSAGE], all);
        for token in &mut tokens {
            token.doc_freq = 1;
        }
        QuestionWords::new(tokens, &Corpus::new(&[&MESSAGE], 10.0, 100.0))
    }

    #[test]
    fn a_text_is_worth_its_best_hundred_words() {
        let words = words("Where are the red boots?");
        let score = |text: &str| words.score(text).score;
        let between = |count: usize| format!("red {}boots", "and ".repeat(count));
        let near = score("red boots");
        assert!(near > 0.0);
        // The two are within a window as long as at most 98 words are between them.
        assert_eq!(score(&between(98)), near);
        assert!(score(&between(99)) < near);
        assert_eq!(score(&between(99)), score(&between(500)));
        // A window's words count wherever it is, and the rest of the text takes nothing away.
        assert_eq!(score(&format!("{0} red boots {0}", "so it goes ".repeat(200))), near);
        // In a script without spaces a character is a word.
        let words = super::tests::words("红靴子");
        let score = |text: &str| words.score(text).score;
        let near = score("红靴子");
        assert!(near > 0.0 && score(&format!("红靴{}靴子", "和".repeat(96))) == near);
        assert!(score(&format!("红靴{}靴子", "和".repeat(98))) < near);
    }

    #[test]
    fn the_share_is_of_the_whole_text() {
        let words = words("red boots");
        let (one, both) = (words.score("boots"), words.score(&format!("red {}boots", "and ".repeat(500))));
        // Beside the two stands a token that no document holds.
        assert!(both.share > 0.5 && (one.share - both.share / 2.0).abs() < 1e-9);
        assert!((both.score - 2.0 * one.score).abs() < 1e-9);
        assert_eq!(words.score("nothing of it"), WordScore::default());
    }
}
