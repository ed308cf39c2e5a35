//! The steps of recall and the time that each of them has. When the time is over, what was found is used, and
//! the account says which steps are missing.

use std::time::{Duration, Instant};

/// A step of recall that needs a search, or a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecallStep {
    /// Messages, by their words, and by the question's vector if it was made in time.
    Messages,
    /// The question's vector, without which messages, memories and documents are found by their words only.
    Meaning,
    /// The links of the messages.
    Links,
    Memories,
    Documents,
    Actions,
    /// Vectors for the newest records that have none.
    Vectors,
}

impl RecallStep {
    /// Its name in an account.
    pub fn name(self) -> &'static str {
        match self {
            RecallStep::Messages => "messages",
            RecallStep::Meaning => "meaning",
            RecallStep::Links => "links",
            RecallStep::Memories => "memories",
            RecallStep::Documents => "documents",
            RecallStep::Actions => "actions",
            RecallStep::Vectors => "vectors",
        }
    }
}

/// The shares of the time after which the question's vector is no longer awaited, and after which no more
/// records get vectors. The searches get the rest.
const MEANING_SHARE: f64 = 0.6;
const VECTORS_SHARE: f64 = 0.8;

/// The longest time for a recall.
const MAX_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);

/// The time for one recall.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    begin: Instant,
    limit: Duration,
}

impl Schedule {
    /// A recall that begins now and takes at most `limit`.
    pub fn begin(limit: Duration) -> Schedule {
        Schedule { begin: Instant::now(), limit: limit.min(MAX_LIMIT) }
    }

    /// The time at which the question's vector is no longer awaited.
    pub fn end_of_meaning(&self) -> Instant {
        self.begin + self.limit.mul_f64(MEANING_SHARE)
    }

    /// The time at which no more records get vectors.
    pub(super) fn end_of_vectors(&self) -> Instant {
        self.begin + self.limit.mul_f64(VECTORS_SHARE)
    }

    /// The time at which the recall ends.
    pub fn end(&self) -> Instant {
        self.begin + self.limit
    }

    /// The time that it takes at most.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Whether no step may begin any more.
    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.end()
    }
}
