//! Headers that a user adds to requests.

use super::error::HttpError;
use crate::error::{Context, Result};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

/// Headers that are refused here: secrets are configured elsewhere, and the client sets the others itself.
const REFUSED_HEADERS: [&str; 12] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "api-key",
    "x-api-key",
    "host",
    "connection",
    "content-length",
    "content-type",
    "transfer-encoding",
    "accept-encoding",
    "te",
];

/// Headers by name.
#[derive(Clone, Default, Debug)]
pub struct Headers(HeaderMap);

impl Headers {
    /// Adds a header, or replaces that of the same name. Errors do not repeat the value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let name = HeaderName::from_bytes(name.as_bytes()).context("is not the name of a header")?;
        if REFUSED_HEADERS.contains(&name.as_str()) {
            return Err(HttpError::RefusedHeader.into());
        }
        let value = HeaderValue::from_str(value).context("is not allowed in a header")?;
        self.0.insert(name, value);
        Ok(())
    }

    pub(super) fn map(&self) -> &HeaderMap {
        &self.0
    }
}
