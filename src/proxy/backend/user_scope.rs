//! The user of a request of the chat backend, whose name is the partition: that of the path; else that of a
//! header; else that which the request's body or query names; else the caller's own. A caller with a token is
//! one of its users.

use crate::access::Caller;
use crate::error::Result;
use crate::proxy::http::{HttpFault, Refusal, parameter};
pub(super) use crate::proxy::worker::document_jobs::documents_of;
use crate::record::{Address, Scope};
use hyper::HeaderMap;

/// The headers by which a client names its partition and its user.
const PARTITION_HEADER: &str = "x-rsv-partition";
const USER_HEADER: &str = "x-user-id";
/// The member, the field and the parameter that name the user.
pub(super) const USER_ID: &str = "user_id";

/// The names of the user in a request, except in its body.
#[derive(Clone, Debug)]
pub(in crate::proxy) struct UserNames {
    caller: Caller,
    /// By the path, or a header.
    named: Option<String>,
    /// By the query.
    query: Option<String>,
    /// Of the caller; `None` if it has none of its own.
    default: Option<String>,
}

impl UserNames {
    /// Reads the names. `path` is the scope that the path names, `default` that of the proxy. Errors if a
    /// name is not UTF-8.
    pub(in crate::proxy) fn read(
        caller: &Caller,
        path: Option<&Scope>,
        headers: &HeaderMap,
        query: Option<&str>,
        default: &Scope,
    ) -> Result<UserNames> {
        let mut named = path.map(|scope| scope.partition.clone());
        for header in [PARTITION_HEADER, USER_HEADER] {
            if let (None, Some(value)) = (&named, headers.get(header)) {
                let text = std::str::from_utf8(value.as_bytes());
                let text = text.map_err(|_| HttpFault::NotUtf8 { name: header.to_owned() })?;
                named = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
            }
        }
        let query = query.map(|query| parameter(query, USER_ID)).transpose()?.flatten();
        let default = caller.own_partition(&default.partition).map(str::to_owned);
        Ok(UserNames { caller: caller.clone(), named, query, default })
    }

    /// The user, whom the request's body may name. Errors if the name cannot be a segment of an address, or
    /// is of none of the caller's users.
    pub(in crate::proxy) fn user(&self, body: Option<&str>) -> std::result::Result<String, Refusal> {
        let body = body.filter(|name| !name.is_empty()).map(str::to_owned);
        let user = self.named.clone().or(body).or(self.query.clone()).or(self.default.clone());
        let Some(user) = user else { return Err(Refusal::UnnamedPartition) };
        if !self.caller.sees(&user) {
            return Err(Refusal::Partition { name: user });
        }
        Address::home(&user).map_err(|error| Refusal::Malformed { error })?;
        Ok(user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_comes_first_and_the_proxys_own_partition_last() {
        let scope = |name: &str| Scope::new(Some(name), None).unwrap();
        let user = |path: Option<&str>, headers: &[(&'static str, &str)], query: Option<&str>, body| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.insert(*name, value.parse().unwrap());
            }
            let path = path.map(scope);
            let names = UserNames::read(&Caller::Owner, path.as_ref(), &map, query, &scope("own")).unwrap();
            names.user(body)
        };
        let both = [(PARTITION_HEADER, "header"), (USER_HEADER, "id")];
        assert_eq!(user(Some("path"), &both, Some("user_id=q"), Some("body")).unwrap(), "path");
        assert_eq!(user(None, &both, Some("user_id=q"), Some("body")).unwrap(), "header");
        assert_eq!(user(None, &both[1..], Some("user_id=q"), Some("body")).unwrap(), "id");
        assert_eq!(user(None, &[], Some("user_id=a%20b+c"), Some("body")).unwrap(), "body");
        assert_eq!(user(None, &[], Some("user_id=a%20b+c"), None).unwrap(), "a b c");
        assert_eq!(user(None, &[], None, Some("")).unwrap(), "own");
        for crafted in ["..", ".", "a/b", "a\nb"] {
            assert!(user(None, &[], None, Some(crafted)).is_err(), "{crafted:?}");
        }
    }
}
