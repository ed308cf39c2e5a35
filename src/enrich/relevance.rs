//! Chooses among the hits of a search: a threshold decides whether anything in memory has to do with the question at
//! all, and a bar that rises with each kept message decides how many are worth their tokens.
//!
//! `scripts/bench recall` measures what each rule keeps, and what it costs.

use crate::record::Hit;

/// The score of a kept message is at least this part of the best one's: messages below share only a common word with
/// the question.
const SCORE_FLOOR: f64 = 0.3;

/// With selective recall the n-th of at most N messages needs this part of the best score, times n/N.
const BAR_SLOPE: f64 = 0.85;

/// With selective recall, a message is kept if its relevance is this part of the threshold that some message reaches:
/// if memory has to do with the question, the messages beside the most relevant one often do, too.
const COMPANION_THRESHOLD: f64 = 0.8;

/// The least part of a question's words that a memory holds, weighed by their rarity, if there is no model.
const MEMORY_SHARE: f64 = 0.1;

/// The number of messages in a scope from which on the threshold is constant.
pub(super) const SATURATION: usize = 1000;

/// The rules by which hits are kept.
pub(super) struct Relevance {
    /// The least relevance of a hit.
    threshold: f64,
    /// The greatest number of messages, if recall is selective.
    limit: Option<usize>,
}

impl Relevance {
    /// By the number of messages in the scope, if they are compared by meaning: among many messages one resembles any
    /// question by chance. By words alone the threshold is constant. Both were chosen on conversations with questions
    /// that they answer, questions of other conversations and general ones.
    pub(super) fn new(messages: Option<usize>, selective_limit: Option<usize>) -> Relevance {
        let threshold = match messages {
            Some(messages) => 0.05 + 0.09 * (messages.clamp(1, SATURATION) as f64).log10(),
            None => 0.2,
        };
        Relevance { threshold, limit: selective_limit }
    }

    /// As `new`, for memories, which are few, and whose confidence is known: by words, less of the question is enough.
    pub(super) fn of_memories(memories: Option<usize>) -> Relevance {
        match memories {
            Some(_) => Relevance::new(memories, None),
            None => Relevance { threshold: MEMORY_SHARE, limit: None },
        }
    }

    /// Keeps the relevant ones of the hits, which are sorted by score, best first, and passes the others to
    /// `leave_out`.
    pub(super) fn keep_relevant(&self, hits: &mut Vec<Hit>, mut leave_out: impl FnMut(&Hit)) {
        let relevance = |hit: &Hit| hit.why.relevance.unwrap_or_default();
        let best = hits.first().map_or(0.0, |best| best.score);
        let threshold = match self.limit {
            Some(limit) if hits.iter().take(limit).any(|hit| relevance(hit) >= self.threshold) => {
                self.threshold * COMPANION_THRESHOLD
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

    /// With selective recall, keeps those of the linked messages, which follow the hits, that score as high as a hit
    /// would have to in their place.
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
        let bar = self.limit.map_or(0.0, |limit| BAR_SLOPE * (kept + 1) as f64 / limit.max(1) as f64);
        score >= best * bar.max(SCORE_FLOOR)
    }
}
