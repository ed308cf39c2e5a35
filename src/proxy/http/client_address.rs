//! The address of the machine that a request is from, for the log and the audit: nothing is decided by it.

use super::error::unexpected;
use crate::config::Settings;
use crate::error::Result;
use hyper::HeaderMap;
use std::net::IpAddr;

/// The setting that names the servers before this one.
const KEY: &str = "proxy.trusted_proxies";

/// The header to which a server adds the address that it has a request from, after those of servers before
/// it.
const FORWARDED_HEADER: &str = "x-forwarded-for";

/// The servers before this one whose word counts.
pub(in crate::proxy) struct TrustedProxies(Vec<IpAddr>);

impl TrustedProxies {
    /// Those of the settings. Errors if one is no address.
    pub(in crate::proxy) fn from_settings(settings: &Settings) -> Result<TrustedProxies> {
        let text = settings.text(KEY).unwrap_or_default();
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        let addresses = words.map(|word| {
            let error = |_| unexpected(KEY, "addresses such as 127.0.0.1", word);
            word.parse::<IpAddr>().map(|address| address.to_canonical()).map_err(error)
        });
        addresses.collect::<Result<_>>().map(TrustedProxies)
    }

    /// The address that a request is from, which came by a connection from `peer`: if that is a trusted
    /// proxy, the last address in its header that is none.
    pub(in crate::proxy) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.0.contains(&peer) {
            return peer;
        }
        let lists = headers.get_all(FORWARDED_HEADER).iter().filter_map(|value| value.to_str().ok());
        let named: Vec<&str> = lists.flat_map(|list| list.split(',')).map(str::trim).collect();
        // Read backwards up to the first untrusted address: whoever has that may have written those before
        // it.
        let addresses = named.iter().rev().map_while(|word| word.parse::<IpAddr>().ok());
        let mut last = peer;
        for address in addresses.map(|address| address.to_canonical()) {
            last = address;
            if !self.0.contains(&address) {
                break;
            }
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_trusted_proxy_is_believed() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let trusted = TrustedProxies(vec![address("127.0.0.1"), address("10.0.0.2")]);
        let client = |peer: &str, sent: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in sent {
                headers.append(FORWARDED_HEADER, value.parse().unwrap());
            }
            trusted.client(address(peer), &headers).to_string()
        };
        assert_eq!(client("127.0.0.1", &["203.0.113.7"]), "203.0.113.7");
        assert_eq!(client("::ffff:127.0.0.1", &["6.6.6.6, 203.0.113.7"]), "203.0.113.7");
        assert_eq!(client("127.0.0.1", &["6.6.6.6, 203.0.113.7", "10.0.0.2"]), "203.0.113.7");
        assert_eq!(client("127.0.0.1", &["203.0.113.7, nonsense"]), "127.0.0.1");
        assert_eq!(client("127.0.0.1", &[]), "127.0.0.1");
        assert_eq!(client("192.0.2.9", &["203.0.113.7"]), "192.0.2.9");
    }
}
