//! The browsers that were given the token in a page. Each has a cookie with a random id, which says nothing of the
//! token; the process keeps its digest until the browser logs out, or the process ends.

use super::guard::is_same_digest;
use crate::error::{Context, Result};
use crate::record::hexadecimal;
use hyper::HeaderMap;
use hyper::header::COOKIE;
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The name of the cookie.
const NAME: &str = "rsv-page";

/// The most logins; the oldest ends when there is another.
const MAX_LOGINS: usize = 64;

/// The logins that have not ended.
#[derive(Default)]
pub(in crate::proxy) struct PageLogins(Mutex<VecDeque<[u8; 32]>>);

impl PageLogins {
    /// Begins a login; returns the value of `Set-Cookie`, for the pages below a path alone. Errors if the system has no
    /// random numbers.
    pub(in crate::proxy) fn begin(&self, path: &str) -> Result<String> {
        let mut id = [0; 32];
        getrandom::fill(&mut id).context("cannot make a random number")?;
        let id = hexadecimal(&id);
        let mut logins = self.logins();
        logins.truncate(MAX_LOGINS - 1);
        logins.push_front(digest(&id));
        Ok(format!("{NAME}={id}; Path={path}; HttpOnly; SameSite=Strict"))
    }

    /// Whether a request has the cookie of a login.
    pub(in crate::proxy) fn has(&self, headers: &HeaderMap) -> bool {
        let logins = self.logins();
        sent(headers).any(|id| logins.iter().any(|login| is_same_digest(login, &id)))
    }

    /// Ends the login of a request; returns the value of `Set-Cookie` that removes the cookie.
    pub(in crate::proxy) fn end(&self, headers: &HeaderMap, path: &str) -> String {
        let mut logins = self.logins();
        for id in sent(headers) {
            logins.retain(|login| !is_same_digest(login, &id));
        }
        format!("{NAME}=; Path={path}; Max-Age=0; HttpOnly; SameSite=Strict")
    }

    fn logins(&self) -> MutexGuard<'_, VecDeque<[u8; 32]>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        let cookie = |set: String| set.split(';').next().unwrap().to_owned();
        let first = headers(&format!("other=1; {}", cookie(logins.begin("/memory").unwrap())));
        assert!(logins.has(&first) && !logins.has(&headers("rsv-page=")) && !logins.has(&HeaderMap::new()));
        let second = headers(&cookie(logins.begin("/memory").unwrap()));
        assert_eq!(logins.end(&second, "/memory").split(';').next(), Some("rsv-page="));
        assert!(logins.has(&first) && !logins.has(&second));
        for _ in 0..MAX_LOGINS {
            logins.begin("/memory").unwrap();
        }
        assert!(!logins.has(&first));
    }
}
