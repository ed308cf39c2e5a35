//! The fingerprint of a message: equal for copies of one turn that several ways brought, such as a proxy and
//! an import. Two messages may be copies if their fingerprints are equal and their times near; whether they
//! are is for `ingest/duplicates.rs` to say, which looks at their neighbours.

use super::message::folded_parts;
use super::stored::StoredRecord;
use super::{Role, digest};
use std::time::Duration;

/// The longest time between the copies of one turn, and between two attempts at one. A program notes when a
/// prompt was typed and when an answer was complete, a proxy when the request came: a long answer lies
/// between.
pub const DUPLICATE_WINDOW: Duration = Duration::from_secs(600);

const WINDOW: i64 = DUPLICATE_WINDOW.as_millis() as i64;

/// The fingerprint of a message, and its time.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Fingerprint {
    /// SHA-256 over `fingerprint`, partition, role, folded text and the parts that have no text, as in
    /// [`identity_digest`](super::identity_digest).
    pub digest: String,
    /// Milliseconds since 1970, UTC.
    pub timestamp: i64,
}

impl Fingerprint {
    /// Whether the other may be that of a copy.
    pub fn is_near(&self, other: &Fingerprint) -> bool {
        self.digest == other.digest && self.timestamp.abs_diff(other.timestamp) <= WINDOW.unsigned_abs()
    }

    /// Its key in the index of a store: 64 bits of the digest and of the window that has its time.
    pub fn key(&self) -> i64 {
        self.key_of(self.timestamp.div_euclid(WINDOW))
    }

    /// The keys of all fingerprints that are near, and of others.
    pub fn near_keys(&self) -> [i64; 3] {
        let window = self.timestamp.div_euclid(WINDOW);
        [window - 1, window, window + 1].map(|window| self.key_of(window))
    }

    fn key_of(&self, window: i64) -> i64 {
        let digest = digest::bytes(&[&self.digest, &window.to_string()]);
        // A digest has 32 bytes.
        digest.first_chunk().map_or(0, |first| i64::from_le_bytes(*first))
    }
}

impl StoredRecord {
    /// Whether it comes from another program's history.
    pub fn is_imported(&self) -> bool {
        self.members.get("source").is_some()
    }

    /// The fingerprint of a message that has a text.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        let [text, others] = folded_parts(self)?;
        let role = self.role.map_or("", Role::name);
        let digest = digest::of(&["fingerprint", &self.scope.partition, role, &text, &others]);
        Some(Fingerprint { digest, timestamp: self.timestamp })
    }
}
