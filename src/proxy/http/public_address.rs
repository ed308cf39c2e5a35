//! The address at which people reach a server that stands behind another one.

use super::error::HttpFault;
use crate::config::Settings;
use crate::error::Result;
use hyper::http::uri::Authority;

/// The address of a server behind another one: `https://memory.example.org`.
pub(super) struct PublicAddress {
    origin: String,
    host: String,
}

impl PublicAddress {
    /// The address of the settings. Errors if it has more than a host and a port.
    pub(super) fn from_settings(settings: &Settings) -> Result<Option<PublicAddress>> {
        const KEY: &str = "proxy.public_url";
        let Some(text) = settings.text(KEY) else { return Ok(None) };
        let origin = text.trim_end_matches('/').to_ascii_lowercase();
        let authority = origin.split_once("://").and_then(|(_, rest)| rest.parse::<Authority>().ok());
        let authority = authority.filter(|authority| !authority.as_str().contains('@'));
        let Some(authority) = authority else {
            return Err(HttpFault::PublicAddress { key: KEY, found: text }.into());
        };
        // A browser leaves the usual port out.
        let usual = if origin.starts_with("https:") { ":443" } else { ":80" };
        let origin = origin.strip_suffix(usual).unwrap_or(&origin).to_owned();
        Ok(Some(PublicAddress { host: authority.host().to_owned(), origin }))
    }

    pub(super) fn has_host(&self, host: &str) -> bool {
        self.host == host
    }

    pub(super) fn has_origin(&self, origin: &str) -> bool {
        self.origin == origin
    }

    /// Whether people reach it by https.
    pub(super) fn is_encrypted(&self) -> bool {
        self.origin.starts_with("https:")
    }
}
