//! The ranking and the filters of a search.

use super::seen_texts::SeenTexts;
use crate::cli::{self, Diagnostics};
use crate::config::Settings;
use crate::embed::Embedder;
use crate::record::{ActionFilter, Clock, Hit};
use crate::store::QuestionVector;
use jiff::Zoned;

/// The ranking of a search.
pub enum By<'a> {
    /// By words: a hit holds every word of the question, possibly as a part of a longer word; words between
    /// double quotes are a phrase.
    Words,
    /// By the cosine of a model's vectors.
    Meaning(&'a mut Embedder, Option<CatchUp<'a>>),
    /// By words and meaning together, and by the neighbours of a hit.
    Both(&'a mut Embedder, Option<CatchUp<'a>>),
    /// As `Both`, by the vector of the question, which the caller has made.
    Vector(&'a QuestionVector),
    /// As `Both` without a model: by any content word of the question, and by the neighbours of a hit.
    Any,
}

impl By<'_> {
    /// The same ranking for another question; records without a vector are embedded before the first alone.
    pub fn again(&mut self) -> By<'_> {
        match self {
            By::Words => By::Words,
            By::Meaning(embedder, pending) => By::Meaning(embedder, pending.take()),
            By::Both(embedder, pending) => By::Both(embedder, pending.take()),
            By::Vector(vector) => By::Vector(vector),
            By::Any => By::Any,
        }
    }
}

/// Embeds up to `limit` records that lack a vector before a search; the notes say how many remain.
pub struct CatchUp<'a> {
    pub limit: usize,
    pub diagnostics: &'a Diagnostics,
}

/// Links the newest records that have a vector but no synapses yet; notes report a failure.
#[derive(Clone, Copy)]
pub struct LinkNewest<'a> {
    pub settings: &'a Settings,
    pub diagnostics: &'a Diagnostics,
}

/// The filters of the hits.
#[derive(Clone)]
pub struct Options<'a> {
    /// The greatest number of hits.
    pub limit: usize,
    /// None of a lower score.
    pub min_score: Option<f64>,
    /// Of records of one kind and role with nearly the same text, as `Sketch` tells, only the best.
    pub deduplicate: bool,
    /// Whether the links of the hits are followed.
    pub link: bool,
    /// With `link`, whether new records are linked before the search.
    pub link_newest: Option<LinkNewest<'a>>,
    /// Only these actions. A question without words finds the newest of them.
    pub actions: ActionFilter,
    /// Only those that the caller admits.
    pub admits: &'a dyn Fn(&Hit) -> bool,
    /// The greatest number of hits to fetch: if nearly all are duplicates, fewer than `limit` may remain.
    pub max_fetched: usize,
    /// When the question is asked, to which times in it such as yesterday are relative.
    pub clock: Clock,
}

impl Options<'_> {
    /// When the question is asked, in the user's time zone.
    pub(super) fn now(&self) -> Zoned {
        cli::in_user_zone(self.clock.now())
    }

    /// At most `limit` hits of any score.
    pub fn new(limit: usize) -> Options<'static> {
        Options {
            limit,
            min_score: None,
            deduplicate: false,
            link: false,
            link_newest: None,
            actions: ActionFilter::default(),
            admits: &|_| true,
            max_fetched: usize::MAX,
            clock: Clock::default(),
        }
    }

    /// Decides of each hit, given best first, whether it is wanted.
    pub(super) fn filter(&self) -> impl FnMut(&Hit) -> bool {
        let (actions, admits) = (&self.actions, self.admits);
        let (least, deduplicate) = (self.min_score.unwrap_or(f64::NEG_INFINITY), self.deduplicate);
        let mut seen = SeenTexts::default();
        move |hit| {
            let mut is_new = || seen.add(&hit.record);
            hit.score >= least && actions.admits(&hit.record) && admits(hit) && (!deduplicate || is_new())
        }
    }
}
