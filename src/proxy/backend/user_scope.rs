//! The user of a request of the chat backend, whose name is the partition: that of the path; else that of a header;
//! else that which the request's body or query names; else the proxy's own.

use crate::error::{Error, Result};
use crate::proxy::http::parameter;
pub(super) use crate::proxy::worker::document_jobs::documents_of;
use crate::record::{Address, Scope};
use hyper::HeaderMap;

/// The headers by which a client names its partition and its user.
const PARTITION_HEADER: &str = "x-rsv-partition";
const USER_HEADER: &str = "x-user-id";
/// The member, the field and the parameter that name the user.
pub(super) const USER_ID: &str = "user_id";

/// The names of the user in a request, except in its body.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::proxy) struct UserNames {
    /// By the path, or a header.
    named: Option<String>,
    /// By the query.
    query: Option<String>,
    /// Of the proxy.
    default: String,
}

impl UserNames {
    /// Reads the names. `path` is the scope that the path names. Errors if a name is not UTF-8.
    pub(in crate::proxy) fn read(
        path: Option<&Scope>,
        headers: &HeaderMap,
        query: Option<&str>,
        default: &Scope,
    ) -> Result<UserNames> {
        let mut named = path.map(|scope| scope.partition.clone());
        for header in [PARTITION_HEADER, USER_HEADER] {
            if let (None, Some(value)) = (&named, headers.get(header)) {
                let text = std::str::from_utf8(value.as_bytes());
                let text = text.map_err(|_| Error::new(format!("{header}: is not UTF-8")))?;
                named = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
            }
        }
        let query = query.map(|query| parameter(query, USER_ID)).transpose()?.flatten();
        Ok(UserNames { named, query, default: default.partition.clone() })
    }

    /// The user, whom the request's body may name. Errors if the name cannot be a segment of an address.
    pub(in crate::proxy) fn user(&self, body: Option<&str>) -> Result<String> {
        let body = body.filter(|name| !name.is_empty()).map(str::to_owned);
        let user = self.named.clone().or(body).or(self.query.clone()).unwrap_or(self.default.clone());
        Address::home(&user)?;
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
            UserNames::read(path.as_ref(), &map, query, &scope("own")).and_then(|names| names.user(body))
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
