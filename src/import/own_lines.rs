//! Lines of rsv, and lines of others in their shape.

use super::conversation::ImportOptions;
use super::objects::Convert;
use super::times;
use crate::error::Result;
use crate::record::{MEMORY, Object};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Passes on lines. The time of a line without a kind, which rsv did not write, may be in seconds.
pub(super) struct OwnLines {
    has_memories: Arc<AtomicBool>,
}

impl OwnLines {
    pub(super) fn new(options: &ImportOptions) -> OwnLines {
        OwnLines { has_memories: options.has_memories.clone() }
    }
}

/// The numbers that count seconds if they are the time of a line of another program: as milliseconds they
/// would be of the years 1970 to 1973.
const SECONDS: std::ops::Range<f64> = 1e8..1e11;

impl Convert for OwnLines {
    fn convert(&mut self, mut line: Object, lines: &mut Vec<Object>) -> Result<()> {
        if !line.has("kind") {
            let number = line.get("timestamp").and_then(|json| json.parse::<f64>().ok());
            if number
                .is_some_and(|number| SECONDS.contains(&number) || number >= 1e14 || number.fract() != 0.0)
                && let Some(time) = times::member(&line, "timestamp")?
            {
                line.set("timestamp", time.to_string());
            }
        }
        if line.get("kind").is_some_and(|kind| kind.trim_matches('"') == MEMORY.name) {
            self.has_memories.store(true, Ordering::Relaxed);
        }
        lines.push(line);
        Ok(())
    }
}
