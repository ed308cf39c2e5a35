//! What a search goes by, and which of its hits are wanted.

use crate::cli::Notes;
use crate::embed::Embedder;
use crate::record::Hit;
use std::collections::HashSet;

/// What a search goes by.
pub enum By<'a> {
    /// Every word of the question, be it as a part of a word; words between double quotes stand together.
    Words,
    /// What the question means to a model.
    Meaning(&'a mut Embedder, Option<CatchUp<'a>>),
    /// Words and meaning together, and what stands around a hit.
    Both(&'a mut Embedder, Option<CatchUp<'a>>),
    /// The same where there is no model: any content word of the question, and what stands around a hit.
    Any,
}

/// So many records without a vector get one before they are searched; the notes say how many are left.
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
    /// Of records of one kind and role that say the same, white space around it aside, only the best.
    pub deduplicate: bool,
    /// After the hits what hangs together with them, at most as many again.
    pub link: bool,
    /// Only those that the caller lets pass.
    pub admits: &'a dyn Fn(&Hit) -> bool,
    /// Of so many, the best: where nearly all say the same there may be fewer hits than are wanted.
    pub among: usize,
}

impl Options<'_> {
    /// Tells of each of some hits, from the best on, whether it is wanted.
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
