//! Search: the hits of a question, best first, by its words, by its meaning, or by both.

mod expand;
mod hybrid;
mod nearby;
mod options;

pub use nearby::{is_in_words, nothing_found};
pub use options::{By, CatchUp, Options};

use crate::backfill;
use crate::embed::{Embedder, InputType};
use crate::error::{Error, Result};
use crate::record::{Hit, Scopes, StoredRecord, kinds};
use crate::store::{Around, Evidence, Occur, Question, QuestionVector, Select, Store, Term};
use expand::Surroundings;
use hybrid::Wanted;
use std::borrow::Cow;
use std::collections::HashSet;

/// The growth of the next fetch if too many hits of the last one were filtered out.
const FETCH_GROWTH: usize = 4;

/// The number of characters at each end of a long question that are embedded: people ask before or after the text that
/// they paste, and embedding a hundred thousand characters takes half a minute.
const EMBEDDED_END_CHARS: usize = 2000;

/// The hits of a question, best first, followed by the records linked to them if `options.link`. Errors if the question
/// has nothing to search for.
pub fn run(
    store: &mut dyn Store,
    by: By,
    question: &str,
    which: &Select,
    options: &Options,
) -> Result<Vec<Hit>> {
    let found = find(store, by, question, which, options)?;
    if options.link { found.linked(store, options) } else { Ok(found.hits) }
}

/// The hits of a question within a selection, best first.
pub struct Found<'a> {
    pub hits: Vec<Hit>,
    which: &'a Select,
    evidence: Evidence,
}

impl Found<'_> {
    /// The hits, followed by the records of the selection that are linked to them: at most `options.limit` of these,
    /// the nearest steps first.
    pub fn linked(self, store: &mut dyn Store, options: &Options) -> Result<Vec<Hit>> {
        Surroundings::new(store, self.which, &self.evidence).expand(self.hits, options)
    }
}

/// As `run`, without following links.
pub fn find<'a>(
    store: &mut dyn Store,
    by: By,
    question: &str,
    which: &'a Select,
    options: &Options,
) -> Result<Found<'a>> {
    let mut evidence = Evidence::default();
    let mut hybrid = |store: &mut dyn Store, question: &Question| {
        filtered(options, |limit| {
            let wanted = Wanted { limit, link: options.link };
            hybrid::search(store, question, which, wanted, &mut evidence)
        })
    };
    let hits = match by {
        By::Words => {
            let terms = parse_terms(question)?;
            filtered(options, |limit| Ok(store.find(&terms, Occur::All, which, limit)?))?
        }
        By::Meaning(embedder, pending) => {
            let vector = vector(embedder, question)?;
            catch_up(store, embedder, which, pending);
            filtered(options, |limit| Ok(store.nearest(embedder.model(), &vector, which, limit)?))?
        }
        By::Both(embedder, pending) => {
            let numbers = vector(embedder, question)?;
            catch_up(store, embedder, which, pending);
            let (model, min_similarity) = (embedder.model().to_owned(), f64::from(embedder.min_similarity()));
            let vector = QuestionVector { model, numbers, min_similarity };
            hybrid(store, &Question::parse(question, Some(vector)))?
        }
        By::Any => hybrid(store, &Question::parse(question, None))?,
    };
    Ok(Found { hits, which, evidence })
}

/// Embeds records that lack a vector, if there are to be any.
fn catch_up(store: &mut dyn Store, embedder: &mut Embedder, which: &Select, pending: Option<CatchUp>) {
    if let Some(CatchUp { limit, diagnostics }) = pending {
        backfill::catch_up(store, embedder, which, limit, diagnostics);
    }
}

/// The hits of `find` that pass the filter; fetches more until there are enough.
fn filtered(options: &Options, mut find: impl FnMut(usize) -> Result<Vec<Hit>>) -> Result<Vec<Hit>> {
    let mut fetched = options.limit;
    loop {
        let mut hits = find(fetched)?;
        let too_low = |hit: &Hit| options.min_score.is_some_and(|least| hit.score < least);
        let all = hits.len() < fetched || hits.last().is_some_and(too_low);
        hits.retain(options.filter());
        if all || hits.len() >= options.limit || fetched >= options.max_fetched {
            hits.truncate(options.limit);
            return Ok(hits);
        }
        fetched = fetched.saturating_mul(FETCH_GROWTH).min(options.max_fetched);
    }
}

/// The neighbours of each hit in its collection, whatever selection found the hits: up to `reach` records before it and
/// as many after it, nearest first. Each record is given once, and no hit is among them.
pub fn around(store: &mut dyn Store, hits: &[Hit], reach: usize) -> Result<Vec<Around>> {
    if reach == 0 {
        return Ok(vec![Around::default(); hits.len()]);
    }
    let found: Vec<&StoredRecord> = hits.iter().map(|hit| &hit.record).collect();
    let mut seen: HashSet<String> = found.iter().map(|record| record.id.clone()).collect();
    let mut around = store.around(&found, &Select::records(kinds(), Scopes::All), reach)?;
    for side in around.iter_mut().flat_map(|around| [&mut around.before, &mut around.after]) {
        side.retain(|record| seen.insert(record.id.clone()));
    }
    Ok(around)
}

/// Visits the hits of a question by its words, best first; a store that can holds only some of them at once. Without
/// links, and for options that drop no hit but by its score.
pub fn visit_by_words(
    store: &mut dyn Store,
    question: &str,
    which: &Select,
    options: &Options,
    visit: &mut dyn FnMut(Hit) -> Result<()>,
) -> Result<()> {
    let mut wanted = options.filter();
    let mut visit = |hit| if wanted(&hit) { visit(hit) } else { Ok(()) };
    Ok(store.visit_found(&parse_terms(question)?, which, options.limit, &mut visit)?)
}

/// The terms of a question; errors if it has none.
fn parse_terms(question: &str) -> Result<Vec<Term>> {
    let terms = Term::parse(question);
    if terms.is_empty() { Err(nothing()) } else { Ok(terms) }
}

/// The vector of a question.
fn vector(embedder: &mut Embedder, question: &str) -> Result<Vec<f32>> {
    if question.trim().is_empty() {
        return Err(nothing());
    }
    embedder
        .embed(&[&*embedded_part(question)], InputType::Query)?
        .pop()
        .ok_or_else(|| Error::new("the model returned no vector"))
}

/// The part of a question that is embedded: all of it, or the two ends of a long one.
fn embedded_part(question: &str) -> Cow<'_, str> {
    let first = question.char_indices().nth(EMBEDDED_END_CHARS).map(|(at, _)| at);
    let last = question.char_indices().nth_back(EMBEDDED_END_CHARS).map(|(at, _)| at);
    match (first, last) {
        (Some(first), Some(last)) if first < last => {
            format!("{}\n{}", &question[..first], &question[last..]).into()
        }
        _ => question.into(),
    }
}

fn nothing() -> Error {
    Error::new("there is nothing to search for").hint("give a word")
}
