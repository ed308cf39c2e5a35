//! One token: its name, its digest, its partitions and its rights.

use super::rights::Right;
use crate::record::{hexadecimal, matches_pattern};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// A token as the file has it. Its times are in milliseconds since 1970, UTC.
///
/// A member that this version does not know is an error: it may restrict the token.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessToken {
    /// By which people, the log and the audit know it.
    pub name: String,
    /// The SHA-256 of the token, in hexadecimal digits. The token has 256 random bits, so that its digest
    /// tells nothing of it, and a slow hash would protect nothing more.
    pub(super) sha256: String,
    /// The names of partitions, in which `*` stands for any text.
    pub partitions: Vec<String>,
    pub rights: Vec<Right>,
    pub created: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<i64>,
    /// The tokens of models that it may spend in a day, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_tokens: Option<u64>,
    /// The keys that are sent to providers for it, by the name of the provider.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) keys: BTreeMap<String, String>,
}

/// Whether a token holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Valid,
    Expired,
    Revoked,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            State::Valid => "valid",
            State::Expired => "expired",
            State::Revoked => "revoked",
        }
    }
}

impl AccessToken {
    /// A token that nobody knows but the reader of `text`.
    pub(super) fn new(text: &str, name: String, created: i64) -> AccessToken {
        AccessToken {
            name,
            sha256: hexadecimal(&digest(text)),
            partitions: Vec::new(),
            rights: Vec::new(),
            created,
            expires: None,
            revoked: None,
            daily_tokens: None,
            keys: BTreeMap::new(),
        }
    }

    /// Whether it holds at a time.
    pub fn state(&self, now: i64) -> State {
        match (self.revoked, self.expires) {
            (Some(_), _) => State::Revoked,
            (None, Some(expires)) if expires <= now => State::Expired,
            (None, _) => State::Valid,
        }
    }

    /// The digest of its text.
    pub fn digest(&self) -> [u8; 32] {
        let byte =
            |at: usize| self.sha256.get(2 * at..2 * at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        // Every file is refused that has another digest than 64 hexadecimal digits (`has_digest`).
        std::array::from_fn(|at| byte(at).unwrap_or_default())
    }

    /// Whether its digest is one, so that no other text than the token has it.
    pub(super) fn has_digest(&self) -> bool {
        self.sha256.len() == 64 && self.sha256.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    /// Whether it names a partition; a private one only by its whole name.
    pub(super) fn names(&self, partition: &str, is_private: bool) -> bool {
        let matches =
            |pattern: &String| pattern == partition || !is_private && matches_pattern(pattern, partition);
        self.partitions.iter().any(matches)
    }

    /// The partition of requests that name none: the first that it names by its whole name.
    pub(super) fn own_partition(&self) -> Option<&str> {
        self.partitions.iter().map(String::as_str).find(|pattern| !pattern.contains('*'))
    }

    /// The providers for which it has keys.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.keys.keys().map(String::as_str)
    }
}

/// The SHA-256 of a token's text.
pub(super) fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}
