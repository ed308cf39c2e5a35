//! The browsers that were given the token in a page. Each has a cookie with a random id, which says nothing
//! of the token; the process keeps its digest until the browser logs out, or the process ends.

use crate::access::{Caller, is_same_digest};
use crate::error::{Context, Result};
use crate::proxy::lock::locked;
use crate::record::hexadecimal;
use hyper::HeaderMap;
use hyper::header::COOKIE;
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::sync::Mutex;

/// The name of the cookie.
const NAME: &str = "rsv-page";

/// The most logins with one token; the oldest of them ends when there is another.
const MAX_LOGINS: usize = 64;

/// The owner of the token that a browser has.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::proxy) enum Login {
    Owner,
    /// A token of the file, by its digest: it may be revoked meanwhile.
    Token([u8; 32]),
}

/// The digests of the ids of the logins that have not ended, with whose they are.
#[derive(Default)]
pub(in crate::proxy) struct PageLogins(Mutex<VecDeque<([u8; 32], Login)>>);

impl PageLogins {
    /// Begins the login of a caller; returns the value of `Set-Cookie`, for the pages below a path alone. A
    /// browser sends the cookie by encrypted connections alone if it comes by one. Errors if the system has
    /// no random numbers.
    pub(in crate::proxy) fn begin(&self, caller: &Caller, path: &str, is_encrypted: bool) -> Result<String> {
        let mut id = [0; 32];
        getrandom::fill(&mut id).context("cannot make a random number")?;
        let id = hexadecimal(&id);
        let mut logins = locked(&self.0);
        let login = caller.digest().map_or(Login::Owner, Login::Token);
        let mut count = 1;
        logins.retain(|(_, other)| {
            count += usize::from(*other == login);
            *other != login || count <= MAX_LOGINS
        });
        logins.push_front((digest(&id), login));
        let secure = if is_encrypted { "; Secure" } else { "" };
        Ok(format!("{NAME}={id}; Path={path}; HttpOnly; SameSite=Strict{secure}"))
    }

    /// The logins of which a request has the cookies.
    pub(in crate::proxy) fn find(&self, headers: &HeaderMap) -> Vec<Login> {
        let logins = locked(&self.0);
        let find = |id| logins.iter().find(|(known, _)| is_same_digest(known, &id)).map(|(_, login)| *login);
        sent(headers).filter_map(find).collect()
    }

    /// Ends the login of a request; returns the value of `Set-Cookie` that removes the cookie.
    pub(in crate::proxy) fn end(&self, headers: &HeaderMap, path: &str) -> String {
        let mut logins = locked(&self.0);
        for id in sent(headers) {
            logins.retain(|(known, _)| !is_same_digest(known, &id));
        }
        format!("{NAME}=; Path={path}; Max-Age=0; HttpOnly; SameSite=Strict")
    }
}

/// The digests of the ids in the cookies of a request. There may be several, of other ports of the machine.
fn sent(headers: &HeaderMap) -> impl Iterator<Item = [u8; 32]> {
    let values = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = values.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(|(name, _)| *name == NAME).map(|(_, id)| digest(id))
}

fn digest(id: &str) -> [u8; 32] {
    Sha256::digest(id).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn headers(cookie: &str) -> HeaderMap {
        HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(cookie).unwrap())])
    }

    #[test]
    fn a_login_holds_until_it_ends_and_the_oldest_makes_room() {
        let logins = PageLogins::default();
        let begin = || {
            let set = logins.begin(&Caller::Owner, "/memory", false).unwrap();
            set.split(';').next().unwrap().to_owned()
        };
        let has = |headers: &HeaderMap| logins.find(headers) == [Login::Owner];
        let first = headers(&format!("other=1; {}", begin()));
        assert!(has(&first) && !has(&headers("rsv-page=")) && !has(&HeaderMap::new()));
        let second = headers(&begin());
        assert_eq!(logins.end(&second, "/memory").split(';').next(), Some("rsv-page="));
        assert!(has(&first) && !has(&second));
        for _ in 0..MAX_LOGINS {
            begin();
        }
        assert!(!has(&first));
    }
}
