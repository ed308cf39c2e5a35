//! The file of the tokens: one JSON object a line, beside the settings file.

use super::is_same_digest;
use super::rights::{Right, TokenError};
use super::token::{AccessToken, State, digest};
use crate::error::{Context, Error, Result};
use crate::record::Scope;
use crate::staging::StagingDir;
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

/// The name of the file.
const NAME: &str = "tokens.jsonl";

/// The longest name of a token, in characters.
const MAX_NAME: usize = 64;

/// The tokens of a file, those that do not hold any more included: that there are some closes the server.
#[derive(Clone, Debug)]
pub struct TokenFile {
    path: PathBuf,
    pub tokens: Vec<AccessToken>,
}

/// A token to be added.
#[derive(Clone, Debug, Default)]
pub struct NewToken {
    pub name: String,
    /// The names of partitions, in which `*` stands for any text.
    pub partitions: Vec<String>,
    pub rights: Vec<Right>,
    /// In milliseconds since 1970, UTC.
    pub expires: Option<i64>,
    pub daily_tokens: Option<u64>,
    /// By the name of the provider.
    pub keys: BTreeMap<String, String>,
}

impl TokenFile {
    /// Where the file is for a settings file.
    pub fn beside(settings_file: &Path) -> PathBuf {
        settings_file.with_file_name(NAME)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A file without tokens.
    pub(super) fn empty(path: PathBuf) -> TokenFile {
        TokenFile { path, tokens: Vec::new() }
    }

    /// Reads a file, changes it, and writes it; it keeps its owner, and a link to it stays. Errors if the
    /// change does, or if another process is changing it.
    pub fn change<T>(path: &Path, change: impl FnOnce(&mut TokenFile) -> Result<T>) -> Result<T> {
        let target = path.canonicalize();
        // A file that is not there yet has no links to follow.
        let path = target.as_deref().unwrap_or(path);
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)
                .context(format_args!("cannot create {}", directory.display()))?;
        }
        let staging = StagingDir::beside(path)?;
        let mut file = TokenFile::read(path)?;
        let changed = change(&mut file)?;
        // A first token made by root belongs to the owner of the directory, whose server reads it.
        let owner = path.metadata().or_else(|_| path.parent().unwrap_or(path).metadata());
        staging.write(path, file.to_json()?.as_bytes())?;
        if let Ok(owner) = owner {
            keep_owner(path, &owner)?;
        }
        Ok(changed)
    }

    /// Reads a file; one that is not there has no tokens. Errors name the line.
    pub fn read(path: &Path) -> Result<TokenFile> {
        let text = match std::fs::read_to_string(path) {
            // A link that leads nowhere is no lack of tokens.
            Err(error) if error.kind() == ErrorKind::NotFound && path.symlink_metadata().is_err() => {
                String::new()
            }
            text => text.context(format_args!("cannot read {}", path.display()))?,
        };
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let tokens = lines.map(|(at, line)| {
            parse(line).map_err(|error| error.at(format_args!("{}:{}", path.display(), at + 1)))
        });
        let tokens: Vec<AccessToken> = tokens.collect::<Result<_>>()?;
        for (at, token) in tokens.iter().enumerate() {
            let is_same = |other: &AccessToken| other.name == token.name || other.digest() == token.digest();
            if tokens[..at].iter().any(is_same) {
                let error = Error::from(TokenError::Duplicate { name: token.name.clone() });
                return Err(error.at(path.display()));
            }
        }
        Ok(TokenFile { path: path.to_owned(), tokens })
    }

    /// The token that a text is, whether or not it holds. Every digest is compared, to its end.
    pub(super) fn find(&self, text: &str) -> Option<&AccessToken> {
        let digest = digest(text);
        let mut found = None;
        for token in &self.tokens {
            if is_same_digest(&token.digest(), &digest) {
                found = Some(token);
            }
        }
        found
    }

    /// Adds a token; returns its text, which is nowhere else. It replaces one of its name that does not hold
    /// any more. Errors if a name, a partition or the rights are missing, or if there is such a token.
    pub fn add(&mut self, new: NewToken, now: i64) -> Result<String> {
        let NewToken { name, partitions, rights, expires, daily_tokens, keys } = new;
        let is_plain = |c: char| c.is_alphanumeric() || ['-', '_', '.', '@'].contains(&c);
        if name.is_empty() || name.chars().count() > MAX_NAME || !name.chars().all(is_plain) {
            return Err(TokenError::Name { name, most: MAX_NAME }.into());
        }
        if let Some(there) = self.tokens.iter().find(|token| token.name == name)
            && there.state(now) == State::Valid
        {
            return Err(TokenError::Taken { name }.into());
        }
        for partition in &partitions {
            Scope::new(Some(partition), None)?;
        }
        if expires.is_some_and(|expires| expires <= now) {
            return Err(TokenError::Expired.into());
        }
        let text = super::new_token()?;
        self.tokens.retain(|token| token.name != name);
        let token = AccessToken::new(&text, name, now);
        self.tokens.push(AccessToken { partitions, rights, expires, daily_tokens, keys, ..token });
        Ok(text)
    }

    /// Revokes the token of a name. Its line stays, so that the server remains closed. Errors if there is
    /// none.
    pub fn revoke(&mut self, name: &str, now: i64) -> Result<()> {
        let Some(token) = self.tokens.iter_mut().find(|token| token.name == name) else {
            return Err(TokenError::Missing { name: name.to_owned() }.into());
        };
        token.revoked.get_or_insert(now);
        token.keys.clear();
        Ok(())
    }

    fn to_json(&self) -> Result<String> {
        let lines = self.tokens.iter().map(|token| Ok(serde_json::to_string(token)? + "\n"));
        let text: serde_json::Result<String> = lines.collect();
        text.context(format_args!("cannot write {}", self.path.display()))
    }
}

/// Gives a file that the superuser has written to the owner that it had.
fn keep_owner(path: &Path, owner: &Metadata) -> Result<()> {
    let (user, group) = (owner.uid(), owner.gid());
    if path.metadata().is_ok_and(|now| now.uid() == user) {
        return Ok(());
    }
    chown(path, Some(user), Some(group)).context(format_args!("cannot give {} to its owner", path.display()))
}

fn parse(line: &str) -> Result<AccessToken> {
    let token: AccessToken =
        serde_json::from_str(line).map_err(|source| TokenError::Unreadable { source })?;
    if !token.has_digest() {
        return Err(TokenError::Digest.into());
    }
    Ok(token)
}
