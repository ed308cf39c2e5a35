//! The address of a server.

use super::error::HttpError;
use crate::error::{Context, Result};
use reqwest::Url;
use std::fmt;
use std::net::IpAddr;

/// An http or https address; shown without user name, password and query, which may be secrets.
#[derive(Clone, PartialEq, Debug)]
pub struct Address(Url);

impl Address {
    /// Reads an address; the error does not repeat it.
    pub fn parse(text: &str) -> Result<Address> {
        let url = Url::parse(text).context("invalid address")?;
        match url.scheme() {
            "http" | "https" if url.has_host() => Ok(Address(url)),
            _ => Err(HttpError::NotHttp.into()),
        }
    }

    /// Completes an address that names only a host, or a base that ends in `/v1`, by an OpenAI endpoint such
    /// as `chat/completions`.
    pub fn complete(mut self, endpoint: &str) -> Address {
        let path = self.0.path().trim_end_matches('/');
        if path.is_empty() || path.ends_with("/v1") {
            let base = if path.is_empty() { "/v1" } else { path };
            let path = format!("{base}/{endpoint}");
            self.0.set_path(&path);
        }
        self
    }

    /// The port, given or the scheme's default.
    pub fn port(&self) -> Option<u16> {
        self.0.port_or_known_default()
    }

    /// The host, as it is written: never empty, since `parse` refuses an address without one.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// The path, which begins with a slash.
    pub fn path(&self) -> &str {
        self.0.path()
    }

    /// The same server at another path.
    pub fn with_path(mut self, path: &str) -> Address {
        self.0.set_path(path);
        self
    }

    /// The same address with more query parameters, after its own.
    pub fn with_query(mut self, more: Option<&str>) -> Address {
        if let Some(more) = more.filter(|more| !more.is_empty()) {
            let own = self.0.query().filter(|own| !own.is_empty()).map(|own| format!("{own}&{more}"));
            self.0.set_query(Some(own.as_deref().unwrap_or(more)));
        }
        self
    }

    /// Whether this is our own machine, by the name alone.
    pub fn is_loopback(&self) -> bool {
        let host = self.host().trim_start_matches('[').trim_end_matches(']');
        match host.parse::<IpAddr>() {
            Ok(ip) => ip.to_canonical().is_loopback(),
            Err(_) => host == "localhost",
        }
    }

    /// The IP addresses of its name; none if it cannot be resolved.
    pub fn resolve(&self) -> Vec<IpAddr> {
        let found = self.0.socket_addrs(|| None).unwrap_or_default();
        found.into_iter().map(|found| found.ip().to_canonical()).collect()
    }

    /// Whether requests to it are sent in the clear.
    pub fn is_plaintext(&self) -> bool {
        self.0.scheme() == "http"
    }

    pub(super) fn url(&self) -> &Url {
        &self.0
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.0.scheme(), self.host())?;
        if let Some(port) = self.0.port() {
            write!(f, ":{port}")?;
        }
        f.write_str(self.0.path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_completed_and_shown_without_secrets() {
        for (text, shown) in [
            ("http://h:11434", "http://h:11434/v1/chat/completions"),
            ("http://h:11434/", "http://h:11434/v1/chat/completions"),
            ("https://h/api/v1", "https://h/api/v1/chat/completions"),
            ("https://h/api/v1/", "https://h/api/v1/chat/completions"),
            ("https://h/v1/chat/completions", "https://h/v1/chat/completions"),
            ("https://h/other/", "https://h/other/"),
            ("http://u:pw@[::1]:80/v1?key=s#f", "http://[::1]/v1/chat/completions"),
        ] {
            assert_eq!(
                Address::parse(text).unwrap().complete("chat/completions").to_string(),
                shown,
                "{text}"
            );
        }
        for text in ["", "h:1", "http://", "http://h:99999", "http:///x y@", "ftp://h", "mailto:u@h"] {
            let error_text = Address::parse(text).unwrap_err().to_string();
            assert!(error_text.starts_with("invalid address: "), "{text}: {error_text}");
        }
    }

    #[test]
    fn parameters_are_appended_to_the_query_of_an_address() {
        for (text, more, whole) in [
            ("http://u:p@h/a", Some("x=%20"), "http://u:p@h/a?x=%20"),
            ("http://h/a?k=v", Some("x=1"), "http://h/a?k=v&x=1"),
            ("http://h/a?k=v", None, "http://h/a?k=v"),
            ("http://h/a", Some(""), "http://h/a"),
        ] {
            assert_eq!(Address::parse(text).unwrap().with_query(more).url().as_str(), whole);
        }
    }

    #[test]
    fn only_loopback_is_loopback() {
        for (text, here) in [
            ("http://localhost:1", true),
            ("http://LOCALHOST", true),
            ("http://127.0.0.1", true),
            ("http://127.9.9.9", true),
            ("http://0x7f.1", true),
            ("http://[::1]:5", true),
            ("http://[::ffff:127.0.0.1]", true),
            ("http://127.0.0.1.evil.example", false),
            ("http://localhost.evil.example", false),
            ("http://127.0.0.1@evil.example", false),
            ("http://0.0.0.0", false),
            ("http://192.168.1.2", false),
            ("http://[fe80::1]", false),
        ] {
            assert_eq!(Address::parse(text).unwrap().is_loopback(), here, "{text}");
        }
    }
}
