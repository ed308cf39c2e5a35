//! `rsv-proxy --check`: checks everything that the proxy needs, with remedies.

use super::server::Proxy;
use crate::doctor::{self, Finding};
use crate::error::Result;
use std::net::SocketAddr;

impl Proxy {
    /// Examines the settings, the address, the store, the embedding model and each provider.
    pub async fn examine(self, address: SocketAddr) -> Vec<Finding> {
        let settings = &self.config.settings;
        let listen = Finding::from_result("address", self.can_listen(address).await);
        let (memory, providers) =
            tokio::join!(doctor::memory(settings, &self.config.diagnostics), doctor::providers(settings));
        let own = doctor::settings(settings).into_iter().chain([listen]);
        own.chain(memory).chain(providers).collect()
    }

    async fn can_listen(&self, address: SocketAddr) -> Result<String> {
        self.may_listen(address)?;
        self.upstream.check_not_own(address)?;
        let bound = tokio::net::TcpListener::bind(address).await;
        bound.map(|_| format!("http://{address}")).map_err(|why| doctor::cannot_listen(address, &why))
    }
}
