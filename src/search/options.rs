//! How a search ranks, and which of its hits are wanted.

use crate::cli::Diagnostics;
use crate::embed::Embedder;
use crate::record::Hit;
use std::collections::HashSet;

/// How a search ranks.
pub enum By<'a> {
    /// By words: a hit holds every word of the question, perhaps as a part of a longer word; words between double
    /// quotes stand together.
    Words,
    /// By the cosine of a model's vectors.
    Meaning(&'a mut Embedder, Option<CatchUp<'a>>),
    /// By words and meaning together, and by the neighbours of a hit.
    Both(&'a mut Embedder, Option<CatchUp<'a>>),
    /// As `Both` without a model: by any content word of the question, and by the neighbours of a hit.
    Any,
}

/// Embeds up to `limit` records that lack a vector before a search; the notes say how many remain.
pub struct CatchUp<'a> {
    pub limit: usize,
    pub diagnostics: &'a Diagnostics,
}

/// Which of the hits are wanted.
#[derive(Clone)]
pub struct Options<'a> {
    /// At most so many.
    pub limit: usize,
    /// None of a lower score.
    pub min_score: Option<f64>,
    /// Of records of one kind and role that say the same, white space around it aside, only the best.
    pub deduplicate: bool,
    /// After the hits, the records linked to them, at most as many again.
    pub link: bool,
    /// Only those that the caller admits.
    pub admits: &'a dyn Fn(&Hit) -> bool,
    /// At most so many hits are fetched: where nearly all say the same, fewer hits than are wanted may remain.
    pub max_fetched: usize,
}

impl Options<'_> {
    /// Decides of each hit, given best first, whether it is wanted.
    pub(super) fn filter(&self) -> impl FnMut(&Hit) -> bool {
        let admits = self.admits;
        let (least, deduplicate) = (self.min_score.unwrap_or(f64::NEG_INFINITY), self.deduplicate);
        let mut seen = HashSet::new();
        move |hit| {
            let record = &hit.record;
            let mut is_new = || {
                let text = record.indexed_text().unwrap_or_default().trim().to_owned();
                seen.insert((record.kind.name, record.role, text))
            };
            hit.score >= least && admits(hit) && (!deduplicate || is_new())
        }
    }
}
