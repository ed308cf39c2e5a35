//! The tokens of a question, and the documents that hold each.

use super::weights;
use crate::record::{DOCUMENT, RecordKind};
use crate::text::fold::FOLDING;
use crate::text::languages::Stem;
use crate::text::terms::{self, Occur, Piece, ScannedText, Term};

/// The greatest number of tokens that are looked up. The rest of a longer question is searched in the
/// documents themselves, or does not count.
const MAX_TOKENS: usize = 128;

/// A run of letters and digits of the question, and the documents in which it occurs.
pub(crate) struct QueryToken {
    pub(crate) text: String,
    /// Its stems, one in each language of the question that it may be in; none if every word that contains it
    /// counts.
    pub(crate) stems: Vec<Stem>,
    /// Every word that counts contains one of these: what all words of a stem have, and the token itself if
    /// it lacks that (`dying`, `die`).
    pub(crate) pieces: Vec<Piece>,
    /// The same word in an index of the folding before, where that is another.
    pub(crate) earlier: Option<Box<QueryToken>>,
    /// Documents that hold it: all of them, or those that may be among the best.
    pub(crate) docs: Vec<Doc>,
    /// The number of documents that hold it.
    pub(crate) doc_freq: usize,
}

impl QueryToken {
    fn new(text: &str, stems: Vec<Stem>) -> QueryToken {
        let mut texts: Vec<&str> = Vec::new();
        for piece in stems.iter().map(Stem::piece).chain([text]) {
            // All words with a longer piece have the shorter one.
            if !texts.iter().any(|other| piece.starts_with(other)) {
                texts.retain(|other| !other.starts_with(piece));
                texts.push(piece);
            }
        }
        let pieces = texts.into_iter().map(Piece::new).collect();
        QueryToken { text: text.to_owned(), stems, pieces, earlier: None, docs: Vec::new(), doc_freq: 0 }
    }

    /// Has every token an earlier form, for an index of which that is not known by its folding alone; or
    /// none.
    pub(crate) fn set_outdated(&mut self, is_outdated: bool) {
        if !is_outdated {
            self.earlier = None;
        } else if self.earlier.is_none() {
            self.earlier = Some(Box::new(QueryToken::new(&self.text, self.stems.clone())));
        }
    }

    /// The token as an index has it whose words are of a version of the folding.
    pub(crate) fn folded_as(&self, folding: i64) -> &QueryToken {
        self.earlier.as_deref().filter(|_| folding < FOLDING).unwrap_or(self)
    }

    /// Whether the pieces of all words that count are at their beginnings.
    pub(crate) fn is_prefixed(&self) -> bool {
        !self.stems.is_empty() && !self.stems.iter().any(Stem::is_anywhere)
    }

    /// The weight of a word that contains the piece.
    pub(crate) fn weight(&self, word: &str) -> f32 {
        match &self.stems[..] {
            _ if word == self.text => 1.0,
            [] if word.contains(&self.text) => weights::SUBSTRING,
            stems if stems.iter().any(|stem| stem.is_of(word)) => 1.0,
            _ => 0.0,
        }
    }

    /// Visits the places where it occurs in a folded text, with the weights of its words. In a script without
    /// spaces a word is no unit: every occurrence counts whole.
    pub(crate) fn visit_occurrences(&self, folded: &str, mut visit: impl FnMut(usize, f32)) {
        if self.text.contains(terms::is_unspaced) {
            self.pieces.iter().flat_map(|piece| piece.starts_in(folded)).for_each(|at| visit(at, 1.0));
            return;
        }
        let mut look = |word: &str| {
            let weight = self.weight(word);
            if weight > 0.0 {
                visit(word.as_ptr() as usize - folded.as_ptr() as usize, weight);
            }
        };
        match &self.pieces[..] {
            [piece] => piece.words_in(folded).for_each(&mut look),
            _ => terms::words(folded).for_each(&mut look),
        }
    }

    /// How often a text holds it, by the weights of its words.
    fn times_in(&self, text: &dyn ScannedText) -> f32 {
        let mut pieces = self.pieces.iter().filter(|piece| text.may_hold(&piece.text));
        let Some(piece) = pieces.next() else { return 0.0 };
        let folded = &text.folded().text;
        match pieces.next() {
            None => piece.words_in(folded).map(|word| self.weight(word)).sum(),
            Some(_) => terms::words(folded).map(|word| self.weight(word)).sum(),
        }
    }
}

/// A document, its time, how often it holds the token, and its length in words.
pub(crate) struct Doc {
    pub(crate) n: i64,
    pub(crate) timestamp: i64,
    pub(crate) times: f32,
    pub(crate) length: u32,
}

/// The selective tokens of the terms for a search of some kinds, each once; `tells` is whether one is
/// selective. Fails if `tells` does.
pub(crate) fn query_tokens<E>(
    terms: &[Term],
    occur: Occur,
    kinds: &[&RecordKind],
    mut tells: impl FnMut(&QueryToken) -> Result<bool, E>,
) -> Result<Vec<QueryToken>, E> {
    let mut tokens: Vec<QueryToken> = Vec::new();
    let all = terms.iter().flat_map(|term| {
        let texts = term.tokens.iter().zip(&term.earlier_tokens);
        texts.map(move |(text, earlier)| (text, earlier, term))
    });
    for (text, earlier, term) in all {
        if tokens.len() == MAX_TOKENS {
            break;
        }
        let stems = term.stems.map(|languages| languages.stems(text)).unwrap_or_default();
        let is_token =
            |token: &QueryToken| token.text == *text || stems.iter().any(|stem| token.stems.contains(stem));
        // The part after an apostrophe is in every other document. Alone, a letter names an option or a thing
        // in a section (`-q`), and means nothing in a conversation.
        let is_named = are_documents(kinds) && term.tokens.len() == 1;
        let scrap = occur == Occur::Any && text.len() == 1 && !is_named;
        if scrap || tokens.iter().any(is_token) {
            continue;
        }
        let mut token = QueryToken::new(text, stems);
        if earlier != text {
            let stems = term.stems.map(|languages| languages.stems(earlier)).unwrap_or_default();
            token.earlier = Some(Box::new(QueryToken::new(earlier, stems)));
        }
        if tells(&token)? {
            tokens.push(token);
        }
    }
    Ok(tokens)
}

/// Looks for the tokens in a document that is not indexed, and calls `visit` for each that it holds.
pub(crate) fn scan_document(
    n: i64,
    timestamp: i64,
    text: &dyn ScannedText,
    tokens: &mut [QueryToken],
    mut visit: impl FnMut(&mut QueryToken, Doc),
) {
    for token in tokens {
        let times = token.times_in(text);
        if times > 0.0 {
            let length = text.folded().length as u32;
            visit(token, Doc { n, timestamp, times, length });
        }
    }
}

/// Whether the texts of some kinds are sections of documents.
pub(super) fn are_documents(kinds: &[&RecordKind]) -> bool {
    !kinds.is_empty() && kinds.iter().all(|kind| *kind == &DOCUMENT)
}
