//! The faults of tokens and of their file.

use crate::error::failures;

failures! {
    /// The reason why a token cannot be read, added or revoked.
    pub enum TokenError {
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
    }
}
