//! The rights of a token.

use crate::error::{Result, failures};
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
    /// To see the state and the metrics of the whole server, and to change what its providers keep for
    /// everyone.
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

    /// The rights that a list names, separated by commas, each once, in the order of `ALL`. Errors for
    /// another word, and if the list is empty.
    pub fn list(text: &str) -> Result<Vec<Right>> {
        let named = |word: &str| {
            let right = Right::ALL.into_iter().find(|right| right.name() == word);
            right.ok_or_else(|| TokenError::Right { word: word.to_owned() }.into())
        };
        let mut rights: Vec<Right> = text.split(',').map(|word| named(word.trim())).collect::<Result<_>>()?;
        rights.sort();
        rights.dedup();
        Ok(rights)
    }
}

// The reason why a token cannot be read, added or revoked.
failures! { pub enum TokenError {
    Unreadable { source: serde_json::Error } ("is no token"),
    Digest ("sha256: expected 64 hexadecimal digits"),
    Right { word: String } ("expected some of read, write, forget and admin, found {word:?}"),
    Duplicate { name: String } ("the token {name} is there twice") => "remove one of the two lines",
    Name { name: String, most: usize } ("{name:?} is no name of a token")
        => "use letters, digits and -_.@, at most {most}",
    Taken { name: String } ("there is a token {name}")
        => "choose another name, or revoke it: rsv-config token revoke {name}",
    Missing { name: String } ("there is no token {name}") => "'rsv-config token list' shows the names",
    Expired ("--expires: is in the past"),
    NoPartition { name: String } ("a token is for partitions, and none is named")
        => "rsv-config token add {name} --partition 'team*'",
    WholePartition ("a token is for whole partitions, and -i names an instance") => "leave -i out",
} }
