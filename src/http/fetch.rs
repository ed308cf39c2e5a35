//! Fetches what anyone may name: within bounds, and from public addresses only.

use super::client::install_crypto;
use super::error::HttpError;
use super::request_error::cause;
use super::{Address, Client};
use crate::error::Result;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, LAST_MODIFIED};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{ClientBuilder, Url};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// The longest time for a page, redirects included.
const TIME_LIMIT: Duration = Duration::from_secs(120);
const MAX_REDIRECTS: usize = 10;

/// The answer of a server.
pub struct Fetched {
    pub bytes: Vec<u8>,
    /// As the server says: `text/html; charset=utf-8`.
    pub media_type: Option<String>,
    /// When it was changed last, as the server writes it.
    pub modified: Option<String>,
}

impl Client {
    /// Fetches at most `max_bytes`, following redirects. Unless `private` is set, every address on the way
    /// must be public, by its name and when it is resolved, and the system's proxy, which would resolve it,
    /// is not used.
    pub async fn fetch(&self, address: &Address, max_bytes: usize, private: bool) -> Result<Fetched> {
        if !private && !is_public_host(address.url()) {
            return Err(HttpError::NotPublic.into());
        }
        install_crypto();
        let builder = reqwest::Client::builder()
            .user_agent(concat!("rsv/", env!("CARGO_PKG_VERSION")))
            // The address may have a secret in its query.
            .referer(false)
            .connect_timeout(self.connect)
            .timeout(TIME_LIMIT);
        let builder =
            if private { builder.redirect(Policy::limited(MAX_REDIRECTS)) } else { public_only(builder) };
        // A container may have no certificates.
        let builder = if address.is_plaintext() && address.is_loopback() {
            builder.tls_certs_only([]).no_proxy()
        } else {
            builder
        };
        let failed = |error: reqwest::Error| {
            if error.is_timeout() {
                HttpError::TimedOut { limit: TIME_LIMIT }
            } else {
                HttpError::Broken { cause: cause(&error) }
            }
        };
        let client = builder.build().map_err(failed)?;
        let request = client.get(address.url().clone()).header(ACCEPT, "text/html, text/*;q=0.9, */*;q=0.5");
        let mut response = request.send().await.map_err(failed)?;
        let status = response.status();
        if !status.is_success() {
            return Err(HttpError::Status { status: status.as_u16() }.into());
        }
        let media_type = header(response.headers(), CONTENT_TYPE);
        let modified = header(response.headers(), LAST_MODIFIED);
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if bytes.len() + chunk.len() > max_bytes {
                return Err(HttpError::TooLarge { mib: max_bytes >> 20 }.into());
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(Fetched { bytes, media_type, modified })
    }
}

fn header(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

/// A client that reaches public addresses only.
fn public_only(builder: ClientBuilder) -> ClientBuilder {
    let follow = |attempt: Attempt| {
        if attempt.previous().len() > MAX_REDIRECTS {
            attempt.error("too many redirects")
        } else if !is_public_host(attempt.url()) {
            attempt.error(HttpError::NotPublic)
        } else {
            attempt.follow()
        }
    };
    builder.redirect(Policy::custom(follow)).dns_resolver(Arc::new(PublicResolver)).no_proxy()
}

/// Whether the host is a name, which is checked when it is resolved, or a public IP address.
fn is_public_host(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.parse::<IpAddr>().map_or(!host.is_empty(), is_public)
}

/// Resolves names, unless they lead to addresses that are not public. The connection is made to the addresses
/// that were checked.
struct PublicResolver;

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if found.iter().any(|address| !is_public(address.ip())) {
                return Err(HttpError::NotPublic.into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Whether an address is one of the internet (the registries of IANA for special-purpose addresses).
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || a == 0
        || a >= 240
        || (a, b & 0xc0) == (100, 64)
        || (a, b, c) == (192, 0, 0)
        || (a, b & 0xfe) == (198, 18);
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let embedded =
        |high: u16, low: u16| is_public_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
    match segments {
        // NAT64 and 6to4 lead to an address of version 4.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => embedded(high, low),
        // Global unicast, but for Teredo, documentation and benchmarks.
        [0x2001, second, ..] => second >= 0x200 && second != 0xdb8,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_not_public() {
        for (address, public) in [
            ("1.1.1.1", true),
            ("172.32.0.1", true),
            ("2606:4700::1111", true),
            ("127.0.0.1", false),
            ("10.1.2.3", false),
            ("172.16.0.1", false),
            ("192.168.1.1", false),
            ("169.254.169.254", false),
            ("100.64.0.1", false),
            ("0.0.0.0", false),
            ("255.255.255.255", false),
            ("224.0.0.1", false),
            ("::", false),
            ("::1", false),
            ("::ffff:10.0.0.1", false),
            ("fc00::1", false),
            ("fe80::1", false),
            ("64:ff9b::7f00:1", false),
            ("2002:a00:1::", false),
        ] {
            assert_eq!(is_public(address.parse().unwrap()), public, "{address}");
        }
    }
}
