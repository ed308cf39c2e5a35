//! The faults of tokens and of their file.

use crate::error::{Failure, Hint};

/// The reason why a token cannot be read, added or revoked.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("is no token")]
    Unreadable(#[source] serde_json::Error),
    #[error("sha256: expected 64 hexadecimal digits")]
    Digest,
    #[error("expected some of read, write, forget and admin, found {0:?}")]
    Right(String),
    #[error("the token {0} is there twice")]
    Duplicate(String),
    #[error("{name:?} is no name of a token")]
    Name { name: String, most: usize },
    #[error("there is a token {0}")]
    Taken(String),
    #[error("there is no token {0}")]
    Missing(String),
    #[error("--expires: is in the past")]
    Expired,
}

impl Failure for TokenError {
    fn hint(&self) -> Hint {
        Some(match self {
            TokenError::Duplicate(_) => "remove one of the two lines".into(),
            TokenError::Name { most, .. } => format!("use letters, digits and -_.@, at most {most}").into(),
            TokenError::Taken(name) => {
                format!("choose another name, or revoke it: rsv-config token revoke {name}").into()
            }
            TokenError::Missing(_) => "'rsv-config token list' shows the names".into(),
            _ => return None,
        })
    }
}
