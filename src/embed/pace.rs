//! How many texts are embedded at once.

use std::time::Duration;

/// More texts at once are faster, but what is done is to be seen, and safe, about every second: the number
/// follows the time that the last ones took.
pub struct Pace(usize);

/// The least and the most that are embedded at once. So many have enough of like length to fill batches.
const BOUNDS: (usize, usize) = (16, 256);

impl Default for Pace {
    fn default() -> Pace {
        Pace(BOUNDS.0)
    }
}

impl Pace {
    /// How many texts to embed next.
    pub fn size(&self) -> usize {
        self.0
    }

    /// Learns how long a whole batch took.
    pub fn took(&mut self, time: Duration) {
        self.0 = match time {
            time if time < Duration::from_millis(500) => self.0 * 2,
            time if time > Duration::from_millis(1500) => self.0 / 2,
            _ => self.0,
        };
        self.0 = self.0.clamp(BOUNDS.0, BOUNDS.1);
    }
}
