//! Access tokens: who may read, change and forget what at a server that several people use.
//!
//! `rsv-config token` writes them to a file (`token_file.rs`), which has digests and no token; `token.rs` is
//! one of its lines, `rights.rs` the rights, and `listing.rs` shows the tokens. A server follows the file
//! while it runs (`live.rs`), and asks of each request what its caller may do (`caller.rs`).

mod caller;
pub mod commands;
mod listing;
mod live;
mod rights;
mod token;
mod token_file;

pub use caller::Caller;
pub use live::LiveTokens;
pub use rights::{Right, TokenError};
pub use token::{AccessToken, State};
pub use token_file::{NewToken, TokenFile};

use crate::error::{Context, Result};
use crate::record::hexadecimal;

/// The beginning of every token: a text that has one in it is passed to no provider as a key, whoever gave
/// the token out, and whether or not it still holds.
pub const PREFIX: &str = "rsv_";

/// A new token, of 256 random bits. Errors if the system has no random numbers.
pub fn new_token() -> Result<String> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).context("cannot make a random number")?;
    Ok(format!("{PREFIX}{}", hexadecimal(&random)))
}

/// The hexadecimal digits of a token after its beginning.
const DIGITS: usize = 64;

/// Whether there is a token in a text, of this server or of another.
pub fn holds_token(text: &[u8]) -> bool {
    let begins = |at: &usize| text[*at..*at + PREFIX.len()].eq_ignore_ascii_case(PREFIX.as_bytes());
    (0..text.len().saturating_sub(PREFIX.len() + DIGITS - 1))
        .filter(begins)
        .any(|at| text[at + PREFIX.len()..].iter().take(DIGITS).all(u8::is_ascii_hexdigit))
}

/// Compares two digests in a time that does not depend on where they differ.
pub fn is_same_digest(one: &[u8; 32], other: &[u8; 32]) -> bool {
    one.iter().zip(other).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
}
