//! Chooses among the hits of a search: a threshold decides whether anything in memory has to do with the
//! question at all, and a bar that rises with each kept message decides how many are worth their tokens.
//!
//! `scripts/bench recall` measures what each rule keeps, and what it costs.

use crate::ranking::weights::{self, Weighting};
use crate::record::Hit;

/// The rules by which hits are kept.
pub(super) struct Relevance {
    /// The least relevance of a hit.
    threshold: f64,
    /// The greatest number of messages, if recall is selective.
    limit: Option<usize>,
}

impl Relevance {
    /// By the weights of a kind, and by the number of its records in the scope, if they are compared by
    /// meaning.
    pub(super) fn new(
        weighting: &Weighting,
        records: Option<usize>,
        selective_limit: Option<usize>,
    ) -> Relevance {
        let tenfolds = |records: usize| (records.clamp(1, weights::SATURATION) as f64).log10();
        let threshold = records.map_or(weighting.min_share, |records| {
            weights::MIN_RELEVANCE + weights::RELEVANCE_PER_TENFOLD * tenfolds(records)
        });
        Relevance { threshold, limit: selective_limit }
    }

    /// Keeps the relevant ones of the hits, which are sorted by score, best first, and passes the others to
    /// `leave_out`.
    pub(super) fn keep_relevant(&self, hits: &mut Vec<Hit>, mut leave_out: impl FnMut(&Hit)) {
        let relevance = |hit: &Hit| hit.why.relevance.unwrap_or_default();
        let best = hits.first().map_or(0.0, |best| best.score);
        let threshold = match self.limit {
            Some(limit) if hits.iter().take(limit).any(|hit| relevance(hit) >= self.threshold) => {
                self.threshold * weights::COMPANION_THRESHOLD
            }
            _ => self.threshold,
        };
        let mut kept = 0;
        hits.retain(|hit| {
            let keeps = relevance(hit) >= threshold && self.is_worth(hit.score, best, kept);
            if keeps {
                kept += 1;
            } else {
                leave_out(hit);
            }
            keeps
        });
    }

    /// With selective recall, keeps those of the linked messages, which follow the hits, that score as high
    /// as a hit would have to in their place.
    pub(super) fn keep_linked(&self, hits: &mut Vec<Hit>) {
        if self.limit.is_none() {
            return;
        }
        let best = hits.first().map_or(0.0, |best| best.score);
        let mut kept = 0;
        hits.retain(|hit| {
            let keeps = hit.hop() == 0 || self.is_worth(hit.score, best, kept);
            kept += usize::from(keeps);
            keeps
        });
    }

    /// Whether a message is worth its tokens, after `kept` others.
    fn is_worth(&self, score: f64, best: f64, kept: usize) -> bool {
        let bar =
            self.limit.map_or(0.0, |limit| weights::BAR_SLOPE * (kept + 1) as f64 / limit.max(1) as f64);
        score >= best * bar.max(weights::SCORE_FLOOR)
    }
}
