//! The sender of a request, and the rights that it has.

use super::rights::Right;
use super::token::AccessToken;
use crate::config::Secret;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// The sender of a request that a server has admitted.
#[derive(Clone, Debug)]
pub enum Caller {
    /// A caller with the server's own token, or of a server that needs none: may do everything.
    Owner,
    /// A caller with a token of the file.
    Token(Arc<Bearer>),
}

/// A token that holds, at a server.
#[derive(Debug)]
pub struct Bearer {
    token: AccessToken,
    keys: Option<Arc<BTreeMap<String, Secret>>>,
    private: Arc<HashSet<String>>,
}

impl Caller {
    /// The caller with a token; `private` are the partitions that a pattern does not match.
    pub(super) fn with(token: &AccessToken, private: &Arc<HashSet<String>>) -> Caller {
        let keys = token.keys.iter().map(|(provider, key)| (provider.clone(), Secret::new(key)));
        let keys: BTreeMap<String, Secret> = keys.collect();
        let keys = (!keys.is_empty()).then(|| Arc::new(keys));
        Caller::Token(Arc::new(Bearer { token: token.clone(), keys, private: private.clone() }))
    }

    fn token(&self) -> Option<&AccessToken> {
        match self {
            Caller::Owner => None,
            Caller::Token(bearer) => Some(&bearer.token),
        }
    }

    /// The name of its token in the file.
    pub fn name(&self) -> Option<&str> {
        self.token().map(|token| token.name.as_str())
    }

    /// The digest of its token in the file, by which it is known again.
    pub fn digest(&self) -> Option<[u8; 32]> {
        self.token().map(AccessToken::digest)
    }

    pub fn has(&self, right: Right) -> bool {
        self.token().is_none_or(|token| token.rights.contains(&right))
    }

    /// Whether a partition is one of its own. To the caller, all others do not exist.
    pub fn sees(&self, partition: &str) -> bool {
        match self {
            Caller::Owner => true,
            Caller::Token(bearer) => bearer.token.names(partition, bearer.private.contains(partition)),
        }
    }

    /// Whether every partition is its own, also those that do not exist yet.
    pub fn sees_all(&self) -> bool {
        self.token().is_none()
    }

    /// The partition of requests that name none, where that of the server is `default`; `None` if there is
    /// none.
    pub fn own_partition<'a>(&'a self, default: &'a str) -> Option<&'a str> {
        match self.token() {
            Some(token) if !self.sees(default) => token.own_partition(),
            _ => Some(default),
        }
    }

    /// The partitions that its token names by their whole names.
    pub fn named_partitions(&self) -> impl Iterator<Item = &str> {
        let named = self.token().into_iter().flat_map(|token| &token.partitions);
        named.map(String::as_str).filter(|pattern| !pattern.contains('*'))
    }

    /// The partition that is all that it sees, if it is one.
    pub fn only_partition(&self) -> Option<&str> {
        match self.token()?.partitions.as_slice() {
            [one] if !one.contains('*') => Some(one),
            _ => None,
        }
    }

    /// The tokens of models that it may spend in a day.
    pub fn daily_tokens(&self) -> Option<u64> {
        self.token()?.daily_tokens
    }

    /// The keys that are kept for it, by the name of the provider.
    pub fn keys(&self) -> Option<Arc<BTreeMap<String, Secret>>> {
        match self {
            Caller::Owner => None,
            Caller::Token(bearer) => bearer.keys.clone(),
        }
    }
}
