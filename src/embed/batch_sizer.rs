//! The size of batches of texts.

use std::time::Duration;

/// Sizes batches of texts. Larger batches are faster, but each should be stored within about a second: the
/// size follows the time that the last batch took.
pub struct BatchSizer(usize);

/// The smallest and the largest batch. The smallest has enough texts of similar length to fill the model's
/// batches.
const BATCH_SIZE_RANGE: (usize, usize) = (16, 256);

impl Default for BatchSizer {
    fn default() -> BatchSizer {
        BatchSizer(BATCH_SIZE_RANGE.0)
    }
}

impl BatchSizer {
    /// The size of the next batch.
    pub fn size(&self) -> usize {
        self.0
    }

    /// Records how long a full batch took.
    pub fn record_duration(&mut self, time: Duration) {
        self.0 = match time {
            time if time < Duration::from_millis(500) => self.0 * 2,
            time if time > Duration::from_millis(1500) => self.0 / 2,
            _ => self.0,
        };
        self.0 = self.0.clamp(BATCH_SIZE_RANGE.0, BATCH_SIZE_RANGE.1);
    }
}
