//! What is related to a question: hits, best first. By its words, by its meaning, or by both.

mod beside;
mod expand;
mod hybrid;

use crate::cli::Notes;
use crate::embed::{Embedder, Side};
use crate::error::{Error, Result};
use crate::fill;
use crate::record::{Hit, Message, Scopes};
use crate::store::words::Term;
use crate::store::{Around, Occur, Select, Store};
use beside::Beside;
use hybrid::{Meant, ranked};
use std::borrow::Cow;
use std::collections::HashSet;

/// Words that say nothing about what a question is about, and that are in most messages: they cost more
/// to look up than all others together.
const STOP_WORDS: &str = "a about all also am an and any are as at be been but by can could did do does done for from \
    get got had has have he her him his how i if in into is it its just like me my no not of on or our out say said \
    she should so some tell than that the their them then there these they this to too up us was we were what when \
    where which who why will with would you your";

/// How many times as many hits are asked for where some fell to others that say the same.
const MORE: usize = 4;

/// How many characters of either end of a long question are embedded: what is asked stands before or after
/// what was pasted, and a hundred thousand characters would be embedded for half a minute.
const END: usize = 2000;

/// How many words of a long text are looked up.
const TERMS: usize = 64;

/// What a search goes by.
pub enum By<'a> {
    /// Every word of the question, be it as a part of a word; words between double quotes stand together.
    Words,
    /// What the question means to a model.
    Meaning(&'a mut Embedder, Option<CatchUp<'a>>),
    /// Words and meaning together, and what stands around a hit.
    Both(&'a mut Embedder, Option<CatchUp<'a>>),
    /// The same where there is no model: any telling word of the question, and what stands around a hit.
    Any,
}

/// So many messages without a vector get one before they are searched; the notes say how many are left.
pub struct CatchUp<'a> {
    pub limit: usize,
    pub notes: &'a Notes,
}

/// Which of the hits are wanted.
#[derive(Clone)]
pub struct Options<'a> {
    /// At most so many.
    pub limit: usize,
    /// None of a lower score.
    pub min_score: Option<f64>,
    /// Of messages of one role that say the same, white space around it aside, only the best.
    pub deduplicate: bool,
    /// After the hits what hangs together with them, at most as many again.
    pub link: bool,
    /// Only those that the caller lets pass.
    pub admits: &'a dyn Fn(&Hit) -> bool,
    /// Of so many, the best: where nearly all say the same there may be fewer hits than are wanted.
    pub among: usize,
}

impl Options<'_> {
    /// Whether each of some hits, from the best on, is wanted.
    fn sieve(&self) -> impl FnMut(&Hit) -> bool {
        let admits = self.admits;
        let (least, deduplicate) = (self.min_score.unwrap_or(f64::NEG_INFINITY), self.deduplicate);
        let mut said = HashSet::new();
        move |hit| {
            let Hit { message, score, .. } = hit;
            *score >= least
                && admits(hit)
                && (!deduplicate || said.insert((message.role, message.content.text().trim().to_owned())))
        }
    }
}

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
    beside: Beside,
}

/// As `run`, before anything is known of what hangs together with the hits.
pub fn find<'a>(
    store: &mut dyn Store,
    by: By,
    question: &str,
    which: &'a Select,
    options: &Options,
) -> Result<Found<'a>> {
    let mut beside = Beside::default();
    let hits = match by {
        By::Words => {
            let terms = Term::asked(question);
            if terms.is_empty() {
                return Err(nothing());
            }
            sifted(options, |limit| store.find(&terms, Occur::All, which, limit))?
        }
        By::Meaning(embedder, behind) => {
            let vector = vector(embedder, question)?;
            if let Some(CatchUp { limit, notes }) = behind {
                fill::catch_up(store, embedder, which, limit, notes);
            }
            sifted(options, |limit| store.nearest(embedder.model(), &vector, which, limit))?
        }
        By::Both(embedder, behind) => {
            let vector = vector(embedder, question)?;
            if let Some(CatchUp { limit, notes }) = behind {
                hybrid::begin(store, question, Meant::of(embedder, &vector), which, options.limit);
                fill::catch_up(store, embedder, which, limit, notes);
            }
            let meant = Meant::of(embedder, &vector);
            sifted(options, |limit| ranked(store, question, Some(meant), which, limit, &mut beside))?
        }
        By::Any => sifted(options, |limit| ranked(store, question, None, which, limit, &mut beside))?,
    };
    Ok(Found { hits, which, beside })
}

/// Tells the store of a search by words and meaning that is to come, while its question is not embedded yet. At most
/// so many hits will be wanted.
pub fn prefetch(store: &mut dyn Store, question: &str, which: &Select, limit: usize) {
    hybrid::prefetch(store, question, which, limit);
}

/// The hits that are wanted of those that `find` gives, which is asked for more until there are enough.
fn sifted(options: &Options, mut find: impl FnMut(usize) -> Result<Vec<Hit>>) -> Result<Vec<Hit>> {
    let mut asked = options.limit;
    loop {
        let mut hits = find(asked)?;
        let too_low = |hit: &Hit| options.min_score.is_some_and(|least| hit.score < least);
        let all = hits.len() < asked || hits.last().is_some_and(too_low);
        hits.retain(options.sieve());
        if all || hits.len() >= options.limit || asked >= options.among {
            hits.truncate(options.limit);
            return Ok(hits);
        }
        asked = asked.saturating_mul(MORE).min(options.among);
    }
}

/// What stands around each hit in its scope, whatever the hits were chosen by: up to `reach` messages before it
/// and as many after it, nearest first. No message twice, and none that is a hit.
pub fn around(store: &mut dyn Store, hits: &[Hit], reach: usize) -> Result<Vec<Around>> {
    if reach == 0 {
        return Ok(vec![Around::default(); hits.len()]);
    }
    let found: Vec<&Message> = hits.iter().map(|hit| &hit.message).collect();
    let mut seen: HashSet<String> = found.iter().map(|message| message.id.clone()).collect();
    let mut around = store.around(&found, &Select::of(Scopes::All), reach)?;
    for side in around.iter_mut().flat_map(|around| [&mut around.before, &mut around.after]) {
        side.retain(|message| seen.insert(message.id.clone()));
    }
    Ok(around)
}

/// The words that say what a text is about, which may be long.
fn telling(text: &str) -> Vec<Term> {
    let mut terms = Term::said(text);
    // What an apostrophe cut off is none either: `what's`.
    let stops = |run: &String| STOP_WORDS.split(' ').any(|stop| run == stop);
    terms.retain(|term| {
        let cut_off = |run: &String| run.len() == 1 && term.runs.len() > 1;
        !term.runs.iter().all(|run| stops(run) || cut_off(run))
    });
    terms.truncate(TERMS);
    terms
}

/// The vector of a question.
fn vector(embedder: &mut Embedder, question: &str) -> Result<Vec<f32>> {
    if question.trim().is_empty() {
        return Err(nothing());
    }
    embedder
        .embed(&[&*gist(question)], Side::Query)?
        .pop()
        .ok_or_else(|| Error::new("the model made no vector"))
}

/// What is embedded of a question: all of it, or the two ends of a long one.
fn gist(question: &str) -> Cow<'_, str> {
    let first = question.char_indices().nth(END).map(|(at, _)| at);
    let last = question.char_indices().nth_back(END).map(|(at, _)| at);
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
