//! The messages that a picture is made from: all of a selection, or of a large one an even sample. A question
//! and its answer are one unit.

use crate::error::Result;
use crate::record::{Record, Role, Scope, StoredRecord};
use crate::store::{Select, Store, Walk};
use std::collections::HashMap;

/// The greatest number of units that are compared with each other: comparing takes time with the square of
/// it.
const MAX_UNITS: usize = 3000;

/// The characters of a text that are kept: enough for its topic and for a tooltip.
const MAX_CHARS: usize = 2000;

/// A message as far as a picture needs it.
#[derive(Debug)]
pub(super) struct Brief {
    pub(super) id: String,
    pub(super) scope: Scope,
    pub(super) role: Option<Role>,
    /// Milliseconds since 1970, UTC.
    pub(super) timestamp: i64,
    /// The role, or what else names it to people.
    pub(super) heading: String,
    pub(super) text: String,
    pub(super) vector: Option<Vec<f32>>,
}

/// The messages, oldest first, and their units.
#[derive(Debug, Default)]
pub(super) struct Sample {
    pub(super) briefs: Vec<Brief>,
    /// The positions of the messages of each unit: a question and its answer, or one message.
    pub(super) units: Vec<Vec<usize>>,
    /// The number of messages of the selection.
    pub(super) total: usize,
    /// One of this many units is in the sample.
    pub(super) stride: usize,
}

impl Sample {
    /// Reads the messages of a selection.
    pub(super) fn read(store: &mut dyn Store, which: &Select) -> Result<Sample> {
        let total = store.count(which, usize::MAX)?;
        let mut sample = Sample { total, stride: total.div_ceil(MAX_UNITS).max(1), ..Sample::default() };
        // The questions without an answer so far, with their unit if it is in the sample.
        let mut open: HashMap<(Scope, String), Option<usize>> = HashMap::new();
        let mut seen = 0;
        store.walk(&Walk { vectors: true, ..Walk::records(which.clone()) }, &mut |record| {
            if let Record::Stored(message) = record {
                sample.add(message, &mut open, &mut seen);
            }
            Ok(())
        })?;
        Ok(sample)
    }

    fn add(
        &mut self,
        message: StoredRecord,
        open: &mut HashMap<(Scope, String), Option<usize>>,
        seen: &mut usize,
    ) {
        let trace = (message.scope.clone(), message.trace_id.clone());
        let question = if message.role == Some(Role::Assistant) { open.remove(&trace) } else { None };
        let unit = question.unwrap_or_else(|| {
            *seen += 1;
            let is_sampled = (*seen - 1).is_multiple_of(self.stride);
            is_sampled.then(|| {
                self.units.push(Vec::new());
                self.units.len() - 1
            })
        });
        if message.role == Some(Role::User) {
            open.insert(trace, unit);
        }
        if let Some(unit) = unit {
            self.units[unit].push(self.briefs.len());
            self.briefs.push(Brief::of(message));
        }
    }

    /// The scope of a unit.
    pub(super) fn scope(&self, unit: usize) -> &Scope {
        &self.briefs[self.units[unit][0]].scope
    }

    /// The unit of each message.
    pub(super) fn unit_of(&self) -> Vec<usize> {
        let mut of = vec![0; self.briefs.len()];
        for (unit, messages) in self.units.iter().enumerate() {
            for message in messages {
                of[*message] = unit;
            }
        }
        of
    }
}

impl Brief {
    fn of(message: StoredRecord) -> Brief {
        Brief {
            heading: (message.kind.heading)(&message),
            text: message.text.chars().take(MAX_CHARS).collect(),
            id: message.id,
            scope: message.scope,
            role: message.role,
            timestamp: message.timestamp,
            vector: message.vector.map(|vector| vector.numbers),
        }
    }
}
