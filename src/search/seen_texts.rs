//! Tells which records say nearly the same as earlier ones.

use crate::record::{Role, StoredRecord};
use crate::text::Sketch;
use std::collections::{HashSet, VecDeque};

/// The number of records before one, of all that are kept, with which its text is compared.
const COMPARED: usize = 256;

/// The texts of records. Of long ones, their digests and sketches need little memory.
#[derive(Default)]
pub(super) struct SeenTexts {
    digests: HashSet<[u8; 32]>,
    last: VecDeque<(&'static str, Option<Role>, Sketch)>,
}

impl SeenTexts {
    /// Adds a record unless an earlier one of its kind and role has the same text, or one of the last nearly
    /// the same; whether it was added.
    pub(super) fn add(&mut self, record: &StoredRecord) -> bool {
        let digest = record.text_digest();
        if self.digests.contains(&digest) {
            return false;
        }
        if let Some(sketch) = record.indexed_text().and_then(|text| Sketch::of(&text)) {
            let (kind, role) = (record.kind.name, record.role);
            let is_near = |(other_kind, other_role, other): &(&str, Option<Role>, Sketch)| {
                (*other_kind, *other_role) == (kind, role) && other.nearly_equals(&sketch)
            };
            if self.last.iter().any(is_near) {
                return false;
            }
            if self.last.len() == COMPARED {
                self.last.pop_front();
            }
            self.last.push_back((kind, role, sketch));
        }
        self.digests.insert(digest)
    }
}
