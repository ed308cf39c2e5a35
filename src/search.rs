//! Search: the hits of a question, best first, by its words, by its meaning, or by both.
//!
//! `default_scopes.rs` chooses what a person searches who names no scope. `hybrid.rs` ranks by words, meaning
//! and the neighbours of a hit; `expand.rs` follows links from the hits; `quote.rs` chooses what is quoted of
//! long ones; `newer.rs` finds what supersedes them, `stale.rs` the memories made of such, and
//! `contradictions.rs` all pairs. `newest.rs` finds actions without words. A search below addresses
//! (`tree.rs`) says by steps how it came to its hits.

mod contradictions;
mod default_scopes;
mod expand;
mod heads;
mod hybrid;
mod memories;
mod nearby;
mod newer;
mod newest;
mod options;
mod quote;
mod request;
mod searcher;
mod secrets;
mod seen_texts;
mod stale;
mod titles;
pub mod tree;
mod visit;

pub use contradictions::{Contradiction, contradictions};
pub use default_scopes::{
    Announcement, ScopeSource, choose_recalled, complete_instance, scope_source, scope_source_before_opening,
};
pub use heads::{heads, questions};
pub use nearby::nothing_found;
pub use newer::Newer;
pub use options::{By, CatchUp, LinkNewest, Options};
pub use quote::{mark, quote, ready_for_model};
pub use request::{Method, Ranking, Request};
pub use searcher::{Answer, Searcher};
pub use secrets::visit_secrets;
pub use stale::stale;
pub use titles::title_hits;

use crate::backfill;
use crate::embed::Embedder;
use crate::error::{Error, Result};
use crate::link::synapse;
use crate::record::Hit;
use crate::store::{Evidence, Question, QuestionVector, Select, Store, StoreFault};
use crate::text::{Occur, Term};
use expand::Surroundings;
use hybrid::Wanted;

/// The least number of hits that are fetched at first where only some actions are wanted.
const MIN_FETCHED_ACTIONS: usize = 256;

/// The growth of the next fetch if too many hits of the last one were filtered out.
const FETCH_GROWTH: usize = 4;

/// The hits of a question, best first, followed by the records linked to them if `options.link`: then at most
/// `options.limit` in all, and of those that say the same only the best, as with `options.deduplicate`.
/// Errors if the question has nothing to search for.
pub fn run(
    store: &mut dyn Store,
    by: By,
    question: &str,
    which: &Select,
    options: &Options,
) -> Result<Vec<Hit>> {
    if !options.link {
        return Ok(find(store, by, question, which, options)?.hits);
    }
    let options = Options { deduplicate: true, ..options.clone() };
    find(store, by, question, which, &options)?.sharing_the_limit(store, &options)
}

/// The hits of a question within a selection, best first.
pub struct Found<'a> {
    pub hits: Vec<Hit>,
    which: &'a Select,
    evidence: Evidence,
}

impl Found<'_> {
    /// The hits, followed by the records of the selection that are linked to them: at most `options.limit` of
    /// these, the nearest steps first. Fails if the store cannot be read.
    pub fn linked(self, store: &mut dyn Store, options: &Options) -> Result<Vec<Hit>> {
        let Found { mut hits, which, evidence } = self;
        let mut surroundings = Surroundings::new(store, which, &evidence);
        let mut linked = surroundings.linked(&hits, hits.len(), options.limit, options)?;
        hits.append(&mut linked);
        Ok(hits)
    }

    /// The hits, followed by the records linked to them, at most `options.limit` in all: linked records take
    /// the places of the last hits, but of no more than half.
    fn sharing_the_limit(self, store: &mut dyn Store, options: &Options) -> Result<Vec<Hit>> {
        let Found { mut hits, which, evidence } = self;
        let mut surroundings = Surroundings::new(store, which, &evidence);
        let mut kept = hits.len().min(options.limit.div_ceil(2));
        loop {
            let mut linked = surroundings.linked(&hits, kept, options.limit - kept, options)?;
            // If fewer are linked, there is room for more hits, which may be linked to others.
            let remaining = hits.len().min(options.limit - linked.len());
            if remaining == kept {
                hits.truncate(kept);
                hits.append(&mut linked);
                return Ok(hits);
            }
            kept = remaining;
        }
    }
}

/// As `run`, without following links. Fails if `by` needs words and there are none, or the store or the
/// embedder fails.
pub fn find<'a>(
    store: &mut dyn Store,
    by: By,
    question: &str,
    which: &'a Select,
    options: &Options,
) -> Result<Found<'a>> {
    let link_newest = |store: &mut dyn Store| {
        if let Some(LinkNewest { settings, diagnostics }) = options.link_newest.filter(|_| options.link) {
            synapse::catch_up(store, settings, &which.scopes, diagnostics);
        }
    };
    let mut evidence = Evidence::default();
    if question.trim().is_empty() && !options.actions.is_empty() {
        return Ok(Found { hits: newest::find(store, which, options)?, which, evidence });
    }
    let mut hybrid = |store: &mut dyn Store, question: &Question| {
        filtered(options, |limit| {
            let wanted = Wanted { limit, link: options.link };
            hybrid::search(store, question, which, wanted, &mut evidence)
        })
    };
    let hits = match by {
        By::Words => {
            let mut terms = parse_terms(question)?;
            terms.extend(newest::terms(&options.actions));
            link_newest(store);
            filtered(options, |limit| Ok(store.find(&terms, Occur::All, which, limit)?))?
        }
        By::Meaning(embedder, pending) => {
            let vector = vector(embedder, question)?;
            catch_up(store, embedder, which, pending);
            link_newest(store);
            filtered(options, |limit| Ok(store.nearest(embedder.model(), &vector, which, limit)?))?
        }
        By::Both(embedder, pending) => {
            let numbers = vector(embedder, question)?;
            catch_up(store, embedder, which, pending);
            link_newest(store);
            let (model, min_similarity) = (embedder.model().to_owned(), f64::from(embedder.min_similarity()));
            let vector = QuestionVector { model, numbers, min_similarity };
            let question = Question::parse(question, store.languages()?, Some(vector), || options.now());
            hybrid(store, &question)?
        }
        By::Vector(vector) => {
            link_newest(store);
            let question =
                Question::parse(question, store.languages()?, Some(vector.clone()), || options.now());
            hybrid(store, &question)?
        }
        By::Any => {
            link_newest(store);
            let question = Question::parse(question, store.languages()?, None, || options.now());
            hybrid(store, &question)?
        }
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
    if fetched > 0 && !options.actions.is_empty() {
        fetched = fetched.max(MIN_FETCHED_ACTIONS);
    }
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

/// The terms of a question; errors if it has none.
fn parse_terms(question: &str) -> Result<Vec<Term>> {
    let terms = Term::parse(question);
    if terms.is_empty() { Err(nothing()) } else { Ok(terms) }
}

/// The vector of a question, of length 1. Errors if it is blank, or the model fails.
fn vector(embedder: &mut Embedder, question: &str) -> Result<Vec<f32>> {
    if question.trim().is_empty() {
        return Err(nothing());
    }
    embedder.embed_question(question)
}

fn nothing() -> Error {
    StoreFault::NoQuestion.into()
}
