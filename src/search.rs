//! What is related to a question: hits, best first. By its words, by its meaning, or by both.

mod dates;
mod hybrid;

pub use hybrid::{hybrid, related};

use crate::embed::{Embedder, Side};
use crate::error::{Error, Result};
use crate::record::Hit;
use crate::store::words::Term;
use crate::store::{Occur, Select, Store};

/// Words that say nothing about what a question is about, and that are in most messages: they cost more
/// to look up than all others together.
const STOP_WORDS: &str = "a about all also am an and any are as at be been but by can could did do does done for from \
    get got had has have he her him his how i if in into is it its just like me my no not of on or our out say said \
    she should so some tell than that the their them then there these they this to too up us was we were what when \
    where which who why will with would you your";

/// How many words of a long text are looked up.
const TERMS: usize = 64;

/// The messages in which every word of `question` occurs, be it as a part of a word.
pub fn keyword(store: &mut dyn Store, question: &str, which: &Select, limit: usize) -> Result<Vec<Hit>> {
    let terms = Term::all(question);
    if terms.is_empty() {
        return Err(Error::new("there is nothing to search for").hint("give a word"));
    }
    store.find(&terms, Occur::All, which, limit)
}

/// The messages whose vectors are nearest to that of `question`.
pub fn semantic(
    store: &mut dyn Store,
    embedder: &mut Embedder,
    question: &str,
    which: &Select,
    limit: usize,
) -> Result<Vec<Hit>> {
    let vector = vector(embedder, question)?;
    store.nearest(embedder.model(), &vector, which, limit)
}

/// The messages that share telling words with `text`, which may be long; none if it has none.
pub fn sharing_words(store: &mut dyn Store, text: &str, which: &Select, limit: usize) -> Result<Vec<Hit>> {
    let mut terms = Term::all(text);
    terms.retain(|term| !STOP_WORDS.split(' ').any(|stop| term.runs.iter().all(|run| run == stop)));
    terms.truncate(TERMS);
    store.find(&terms, Occur::Any, which, limit)
}

/// The vector of a question.
fn vector(embedder: &mut Embedder, question: &str) -> Result<Vec<f32>> {
    if question.trim().is_empty() {
        return Err(Error::new("there is nothing to search for").hint("give a word"));
    }
    embedder.embed(&[question], Side::Query)?.pop().ok_or_else(|| Error::new("the model made no vector"))
}
