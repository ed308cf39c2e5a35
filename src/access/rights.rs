//! The rights of a token.

use crate::error::Result;
use serde::{Deserialize, Serialize};

/// A right in the partitions of a token; `Admin` is one over the server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Right {
    /// To search, look at and recall what is stored.
    Read,
    /// To store.
    Write,
    /// To remove for good.
    Forget,
    /// To see the state and the metrics of the whole server, and to change what its providers keep for everyone.
    Admin,
}

impl Right {
    pub const ALL: [Right; 4] = [Right::Read, Right::Write, Right::Forget, Right::Admin];

    pub fn name(self) -> &'static str {
        match self {
            Right::Read => "read",
            Right::Write => "write",
            Right::Forget => "forget",
            Right::Admin => "admin",
        }
    }

    /// The rights that a list names, separated by commas, each once, in the order of `ALL`. Errors for another word, and
    /// if the list is empty.
    pub fn list(text: &str) -> Result<Vec<Right>> {
        let named = |word: &str| {
            let right = Right::ALL.into_iter().find(|right| right.name() == word);
            right.ok_or_else(|| super::token_file::TokenError::Right { word: word.to_owned() }.into())
        };
        let mut rights: Vec<Right> = text.split(',').map(|word| named(word.trim())).collect::<Result<_>>()?;
        rights.sort();
        rights.dedup();
        Ok(rights)
    }
}
