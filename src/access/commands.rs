//! The commands by which the owner of a server makes, lists and revokes tokens.

use super::{NewToken, TokenError, TokenFile};
use crate::cli::{Io, Outcome};
use crate::config;
use crate::error::Result;

/// Adds a token for partitions, separated by commas, in which `*` stands for any text, and prints it: it is
/// nowhere else.
pub fn add(new: NewToken, io: &mut Io) -> Result<Outcome> {
    let path = TokenFile::beside(&config::path(&io.common)?);
    let now = io.clock.now();
    let (token, is_first) = TokenFile::change(&path, |file| {
        let is_first = file.tokens.is_empty();
        Ok((file.add(new, now)?, is_first))
    })?;
    io.out.write(format!("{token}\n").as_bytes())?;
    io.note("the token is shown this once; its digest is kept");
    if is_first {
        io.note("rsv-proxy answers only requests with a token from now on");
    }
    Ok(Outcome::Yes)
}

/// The partitions of a new token: those of the flags.
pub fn partitions(name: &str, io: &Io) -> Result<Vec<String>> {
    let Some(partitions) = &io.common.partition else {
        return Err(TokenError::NoPartition { name: name.to_owned() }.into());
    };
    if io.common.instance.is_some() {
        return Err(TokenError::WholePartition.into());
    }
    Ok(partitions.split(',').map(|name| name.trim().to_owned()).collect())
}

/// Prints the tokens: in columns for people, as JSON lines for programs.
pub fn list(io: &mut Io) -> Result<Outcome> {
    let file = TokenFile::read(&TokenFile::beside(&config::path(&io.common)?))?;
    let now = io.clock.now();
    let text = if io.stdout_is_tty() { file.to_text(now) } else { file.to_lines(now) };
    io.out.write(text.as_bytes())?;
    Ok(Outcome::Yes)
}

/// Revokes the token of a name.
pub fn revoke(name: &str, io: &mut Io) -> Result<Outcome> {
    let now = io.clock.now();
    TokenFile::change(&TokenFile::beside(&config::path(&io.common)?), |file| file.revoke(name, now))?;
    io.summary(format_args!("the token {name} is revoked"));
    Ok(Outcome::Yes)
}
