//! What is related to a question: hits, best first. By its words, by its meaning, or by both.

mod expand;
mod hybrid;
mod options;

pub use options::{By, CatchUp, Options};

use crate::embed::{Embedder, InputType};
use crate::error::{Error, Result};
use crate::fill;
use crate::record::{Hit, Scopes, StoredRecord, kinds};
use crate::store::{Around, Evidence, Occur, Question, QuestionVector, Select, Store, Term};
use expand::Surroundings;
use hybrid::Wanted;
use std::borrow::Cow;
use std::collections::HashSet;

/// How many times as many hits are asked for where some fell to others that say the same.
const GROWTH: usize = 4;

/// How many characters of either end of a long question are embedded: what is asked stands before or after
/// what was pasted, and a hundred thousand characters would be embedded for half a minute.
const EMBEDDED_END: usize = 2000;

/// The hits of a question, best first, and what hangs together with them if that is wanted. Errors if there is
/// nothing in it to search for.
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
    /// The hits, and after them what hangs together with them within the selection: at most as many as are wanted
    /// of the hits themselves, the nearest steps first.
    pub fn linked(self, store: &mut dyn Store, options: &Options) -> Result<Vec<Hit>> {
        Surroundings::new(store, self.which, &self.evidence).expand(self.hits, options)
    }
}

/// As `run`, before anything is known of what hangs together with the hits.
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
            let terms = Term::parse(question);
            if terms.is_empty() {
                return Err(nothing());
            }
            filtered(options, |limit| Ok(store.find(&terms, Occur::All, which, limit)?))?
        }
        By::Meaning(embedder, behind) => {
            let vector = vector(embedder, question)?;
            catch_up(store, embedder, which, behind);
            filtered(options, |limit| Ok(store.nearest(embedder.model(), &vector, which, limit)?))?
        }
        By::Both(embedder, behind) => {
            let numbers = vector(embedder, question)?;
            catch_up(store, embedder, which, behind);
            let (model, floor) = (embedder.model().to_owned(), f64::from(embedder.floor()));
            let vector = QuestionVector { model, numbers, floor };
            hybrid(store, &Question::parse(question, Some(vector)))?
        }
        By::Any => hybrid(store, &Question::parse(question, None))?,
    };
    Ok(Found { hits, which, evidence })
}

/// Embeds records that lack a vector, if that is wanted.
fn catch_up(store: &mut dyn Store, embedder: &mut Embedder, which: &Select, behind: Option<CatchUp>) {
    if let Some(CatchUp { limit, notes }) = behind {
        fill::catch_up(store, embedder, which, limit, notes);
    }
}

/// The hits that are wanted of those that `find` gives, which is asked for more until there are enough.
fn filtered(options: &Options, mut find: impl FnMut(usize) -> Result<Vec<Hit>>) -> Result<Vec<Hit>> {
    let mut asked_for = options.limit;
    loop {
        let mut hits = find(asked_for)?;
        let too_low = |hit: &Hit| options.min_score.is_some_and(|least| hit.score < least);
        let all = hits.len() < asked_for || hits.last().is_some_and(too_low);
        hits.retain(options.filter());
        if all || hits.len() >= options.limit || asked_for >= options.among {
            hits.truncate(options.limit);
            return Ok(hits);
        }
        asked_for = asked_for.saturating_mul(GROWTH).min(options.among);
    }
}

/// What stands around each hit in its collection, whatever the hits were chosen by: up to `reach` records before it
/// and as many after it, nearest first. No record twice, and none that is a hit.
pub fn around(store: &mut dyn Store, hits: &[Hit], reach: usize) -> Result<Vec<Around>> {
    if reach == 0 {
        return Ok(vec![Around::default(); hits.len()]);
    }
    let found: Vec<&StoredRecord> = hits.iter().map(|hit| &hit.record).collect();
    let mut seen: HashSet<String> = found.iter().map(|record| record.id.clone()).collect();
    let mut around = store.around(&found, &Select::of_kinds(kinds(), Scopes::All), reach)?;
    for side in around.iter_mut().flat_map(|around| [&mut around.before, &mut around.after]) {
        side.retain(|record| seen.insert(record.id.clone()));
    }
    Ok(around)
}

/// The vector of a question.
fn vector(embedder: &mut Embedder, question: &str) -> Result<Vec<f32>> {
    if question.trim().is_empty() {
        return Err(nothing());
    }
    embedder
        .embed(&[&*embedded_part(question)], InputType::Query)?
        .pop()
        .ok_or_else(|| Error::new("the model made no vector"))
}

/// What is embedded of a question: all of it, or the two ends of a long one.
fn embedded_part(question: &str) -> Cow<'_, str> {
    let first = question.char_indices().nth(EMBEDDED_END).map(|(at, _)| at);
    let last = question.char_indices().nth_back(EMBEDDED_END).map(|(at, _)| at);
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
