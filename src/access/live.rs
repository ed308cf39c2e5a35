//! The tokens of a server, as the file has them now.

use super::caller::Caller;
use super::is_same_digest;
use super::token::{AccessToken, State};
use super::token_file::TokenFile;
use crate::cli::Diagnostics;
use crate::error::Result;
use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The tokens of a file that may change.
///
/// The file is looked at for each request, which takes a microsecond or two: a token that was revoked is
/// refused at once.
pub struct LiveTokens {
    path: Option<PathBuf>,
    /// The partitions that a pattern does not match.
    private: Arc<HashSet<String>>,
    diagnostics: Diagnostics,
    read: Mutex<Read>,
}

/// The tokens as they were last read.
struct Read {
    /// `None` if nothing was read yet.
    stamp: Option<Stamp>,
    tokens: Arc<Result<TokenFile>>,
    /// Whether there ever were tokens.
    had_some: bool,
}

/// The state of a file, which differs when it was replaced or written to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stamp {
    Missing,
    File { inode: u64, length: u64, changed: (i64, i64) },
}

impl Stamp {
    fn of(path: &Path) -> Stamp {
        match path.metadata() {
            Err(_) => Stamp::Missing,
            Ok(metadata) => Stamp::File {
                inode: metadata.ino(),
                length: metadata.len(),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
            },
        }
    }
}

impl LiveTokens {
    /// The tokens of a file, or none without one; `private` are the partitions that no pattern matches. A
    /// file that cannot be read is reported to `diagnostics`.
    pub fn new(path: Option<PathBuf>, private: HashSet<String>, diagnostics: &Diagnostics) -> LiveTokens {
        let none = TokenFile::empty(path.clone().unwrap_or_default());
        let read = Read { stamp: None, tokens: Arc::new(Ok(none)), had_some: false };
        let (private, diagnostics) = (Arc::new(private), diagnostics.clone());
        LiveTokens { path, private, diagnostics, read: Mutex::new(read) }
    }

    /// Errors if the file cannot be read, or a line is no token.
    pub fn check(&self) -> Result<()> {
        self.current().0.as_ref().as_ref().map(drop).map_err(Clone::clone)
    }

    /// Whether there are tokens, be it that none of them holds. A file that cannot be read, or has gone
    /// since, opens nothing.
    pub fn are_there(&self) -> bool {
        let (tokens, had_some) = self.current();
        had_some || tokens.as_ref().as_ref().map_or(true, |file| !file.tokens.is_empty())
    }

    /// The caller with the token that a text is; `None` if it is none that holds. Errors if the file cannot
    /// be read.
    pub fn caller(&self, text: &str, now: i64) -> Result<Option<Caller>> {
        self.by(now, |file| file.find(text))
    }

    /// The caller whose token has a digest. Fails if the file cannot be read.
    pub fn caller_of(&self, digest: &[u8; 32], now: i64) -> Result<Option<Caller>> {
        self.by(now, |file| file.tokens.iter().find(|token| is_same_digest(&token.digest(), digest)))
    }

    fn by(&self, now: i64, find: impl FnOnce(&TokenFile) -> Option<&AccessToken>) -> Result<Option<Caller>> {
        let (tokens, _) = self.current();
        let file = tokens.as_ref().as_ref().map_err(Clone::clone)?;
        let found = find(file).filter(|token| token.state(now) == State::Valid);
        Ok(found.map(|token| Caller::with(token, &self.private)))
    }

    /// The tokens now, and whether there ever were some.
    fn current(&self) -> (Arc<Result<TokenFile>>, bool) {
        // Held while the file is read: requests that come together read it once, and note a fault once.
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(path) = &self.path else { return (read.tokens.clone(), false) };
        let stamp = Some(Stamp::of(path));
        if stamp != read.stamp {
            let tokens = TokenFile::read(path);
            if let Err(error) = &tokens {
                self.diagnostics.note(format_args!("{error}; until that changes, no token holds"));
            }
            read.had_some |= tokens.as_ref().map_or(true, |file| !file.tokens.is_empty());
            (read.stamp, read.tokens) = (stamp, Arc::new(tokens));
        }
        (read.tokens.clone(), read.had_some)
    }
}
