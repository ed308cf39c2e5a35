//! How many texts are embedded at once.

use std::time::Duration;

/// More texts at once are faster, but what is done is to be seen, and safe, about every second: the number
/// follows the time that the last ones took.
pub struct BatchSizer(usize);

/// The least and the most that are embedded at once. So many have enough of like length to fill batches.
const BATCH_SIZE_RANGE: (usize, usize) = (16, 256);

impl Default for BatchSizer {
    fn default() -> BatchSizer {
        BatchSizer(BATCH_SIZE_RANGE.0)
    }
}

impl BatchSizer {
    /// How many texts to embed next.
    pub fn size(&self) -> usize {
        self.0
    }

    /// Learns how long a whole batch took.
    pub fn record_duration(&mut self, time: Duration) {
        self.0 = match time {
            time if time < Duration::from_millis(500) => self.0 * 2,
            time if time > Duration::from_millis(1500) => self.0 / 2,
            _ => self.0,
        };
        self.0 = self.0.clamp(BATCH_SIZE_RANGE.0, BATCH_SIZE_RANGE.1);
    }
}
