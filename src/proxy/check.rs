//! `rsv-proxy --check`: whether all that the proxy needs is there, and what to do where it is not.

use super::Proxy;
use super::upstream;
use crate::error::{Error, Result};
use crate::forward::Failure;
use crate::http::Passing;
use crate::provider::Target;
use crate::store::{self, Access};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// How long a provider may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What was found of one thing.
pub struct Finding {
    what: String,
    state: std::result::Result<String, Error>,
    /// Whether the proxy cannot do its work without it.
    needed: bool,
}

impl Finding {
    /// Whether the proxy can do its work with what was found.
    pub fn is_good(&self) -> bool {
        self.state.is_ok() || !self.needed
    }
}

/// A line, and one more with what helps.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.state {
            Ok(state) => writeln!(f, "{}: ok: {state}", self.what),
            Err(error) => {
                let word = if self.needed { "trouble" } else { "missing" };
                writeln!(f, "{}: {word}: {error}", self.what)?;
                error.remedy().map_or(Ok(()), |hint| writeln!(f, "  {hint}"))
            }
        }
    }
}

impl Proxy {
    /// Looks at the address, the settings, the store, the embedding model and each provider.
    pub async fn examine(self, address: SocketAddr) -> Vec<Finding> {
        let proxy = Arc::new(self);
        let finding = |what: &str, needed, state| Finding { what: what.to_owned(), state, needed };
        let mut found = vec![
            finding("settings", true, proxy.settings_are_known()),
            finding("address", true, proxy.can_listen(address).await),
        ];
        let own = proxy.clone();
        let looked = tokio::task::spawn_blocking(move || (own.store_is_there(), own.model_is_there())).await;
        if let Ok((store, model)) = looked {
            found.push(finding("store", true, store));
            found.push(finding("model", false, model));
        }
        let mut reached = false;
        let mut providers = Vec::new();
        for target in proxy.upstream.all() {
            let state = proxy.is_reached(&target).await;
            reached |= state.is_ok();
            providers.push((target, state));
        }
        // One provider is enough.
        found.extend(providers.into_iter().map(|(target, state)| finding(target.name(), !reached, state)));
        found
    }

    fn settings_are_known(&self) -> Result<String> {
        let unknown = self.settings.unknown().first();
        let trouble = self.settings.troubles().next().map(|error| Error::new(error.to_string()));
        match trouble.or(unknown.map(|place| Error::new(format!("a key that no tool knows: {place}")))) {
            Some(error) => Err(error.hint("see 'rsv-config list'")),
            None => Ok("all are known".to_owned()),
        }
    }

    async fn can_listen(&self, address: SocketAddr) -> Result<String> {
        self.may_listen(address)?;
        self.upstream.check_own(address)?;
        let bound = tokio::net::TcpListener::bind(address).await;
        bound.map(|_| format!("http://{address}")).map_err(|e| {
            Error::new(format!("cannot listen on {address}")).because(e).hint("name another with --port")
        })
    }

    fn store_is_there(&self) -> Result<String> {
        let place = self.settings.store()?;
        let messages: u64 =
            store::open(&place, Access::Write)?.scopes()?.iter().map(|(_, messages)| messages).sum();
        Ok(format!("{}, {messages} messages", place.address))
    }

    fn model_is_there(&self) -> Result<String> {
        self.with_embedder(|embedder| embedder.model().to_owned())
    }

    /// Asks a provider for its models.
    async fn is_reached(&self, target: &Target) -> Result<String> {
        target.key(None).map_err(|refusal| Failure::from(refusal).error())?;
        let address = target.address();
        let Some(models) = upstream::beside(address, "models", None) else {
            return Ok(format!("{address}, not asked"));
        };
        let asked = self.upstream.send(target, &models, None, Passing::get());
        let sent = tokio::time::timeout(PATIENCE, asked).await;
        let status = match sent {
            Ok(Ok(response)) => response.status().as_u16(),
            Ok(Err(_)) => {
                let error = Error::new(format!("there is no connection to {address}"));
                return Err(error.hint(format!("start it, or correct {}", target.address_setting())));
            }
            Err(_) => return Err(Error::new(format!("{address} did not answer within {PATIENCE:?}"))),
        };
        match (status, target.key_variable()) {
            (401 | 403, Some(variable)) => {
                Err(Error::new(format!("{address} refused the key ({status})"))
                    .hint(format!("check {variable}")))
            }
            _ => Ok(address.to_string()),
        }
    }
}
