//! The one embedder of the proxy, loaded at its first use: for questions, for `/v1/embeddings`, and in the background
//! for the messages that the proxy stores.

use super::store_pool::StorePool;
use crate::backfill;
use crate::config::Settings;
use crate::embed::{Embedder, InputType, Workload};
use crate::error::{Error, Result};
use crate::http::Address;
use crate::proxy::config::ProxyConfig;
use crate::store::Store;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The wait before the next attempt to load an embedder.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The embedder that all parts share.
pub(in crate::proxy) struct SharedEmbedder {
    config: Arc<ProxyConfig>,
    stores: Arc<StorePool>,
    state: Mutex<EmbedderState>,
}

#[derive(Default)]
enum EmbedderState {
    #[default]
    NotLoaded,
    /// There was none when it was looked for.
    Unavailable(Error, Instant),
    Loaded(LoadedEmbedder),
}

struct LoadedEmbedder {
    embedder: Embedder,
    /// The model of the store's vectors when the embedder was chosen.
    store_model: Option<String>,
}

impl SharedEmbedder {
    /// An embedder that is not loaded yet.
    pub(in crate::proxy) fn new(config: &Arc<ProxyConfig>, stores: &Arc<StorePool>) -> SharedEmbedder {
        SharedEmbedder { config: config.clone(), stores: stores.clone(), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, EmbedderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The model in use; `None` if none is loaded, or one is just being chosen.
    pub(in crate::proxy) fn model(&self) -> Option<String> {
        match &*self.state.try_lock().ok()? {
            EmbedderState::Loaded(loaded) => Some(loaded.embedder.model().to_owned()),
            _ => None,
        }
    }

    /// The embedder, loaded if need be; called on a thread that may block. Errors if there is none.
    pub(in crate::proxy) fn get(&self) -> Result<Embedder> {
        let mut state = self.state();
        match &*state {
            EmbedderState::Loaded(loaded) => return Ok(loaded.embedder.clone()),
            EmbedderState::Unavailable(error, at) if at.elapsed() < RETRY_INTERVAL => {
                return Err(error.clone());
            }
            _ => {}
        }
        match self.load() {
            Ok(loaded) => {
                let embedder = loaded.embedder.clone();
                *state = EmbedderState::Loaded(loaded);
                Ok(embedder)
            }
            Err(error) => {
                *state = EmbedderState::Unavailable(error.clone(), Instant::now());
                Err(error)
            }
        }
    }

    /// Loads the embedder for the vectors of the store; if that cannot be read, the one of the settings.
    fn load(&self) -> Result<LoadedEmbedder> {
        let ProxyConfig { settings, diagnostics, .. } = &*self.config;
        let Ok(mut store) = self.stores.open_to_read() else {
            let embedder = Embedder::from_settings(settings, Workload::Few, diagnostics)?;
            return Ok(LoadedEmbedder { embedder, store_model: None });
        };
        let store_model = backfill::model_of(&mut *store)?;
        let embedder = backfill::embedder(&mut *store, settings, Workload::Few, diagnostics)?;
        Ok(LoadedEmbedder { embedder, store_model })
    }

    /// Changes to the model of the store, if that has changed. A loaded embedder of the same model stays.
    pub(in crate::proxy) fn follow(&self, store: &mut dyn Store) -> Result<()> {
        let store_model = backfill::model_of(store)?;
        let mut state = self.state();
        let EmbedderState::Loaded(loaded) = &mut *state else { return Ok(()) };
        if loaded.store_model == store_model {
            return Ok(());
        }
        let embedder =
            backfill::embedder(store, &self.config.settings, Workload::Few, &self.config.diagnostics)?;
        if embedder.model() != loaded.embedder.model() {
            loaded.embedder = embedder;
        }
        loaded.store_model = store_model;
        Ok(())
    }

    /// The canonical id of the model, and whether `name` is a name of it.
    pub(in crate::proxy) fn serves(&self, name: Option<&str>) -> Result<(String, bool)> {
        let ProxyConfig { settings, diagnostics, .. } = &*self.config;
        let served = || -> Result<(String, bool)> {
            let model = self.get()?.model().to_owned();
            let is_same = name.is_none_or(|name| {
                let named = || Embedder::named(settings, Some(name), Workload::Few, diagnostics);
                name.eq_ignore_ascii_case(&model) || named().is_ok_and(|named| named.model() == model)
            });
            Ok((model, is_same))
        };
        match served()? {
            (_, false) => {
                // The model of the store may have changed meanwhile.
                if let Ok(mut store) = self.stores.open_to_read() {
                    self.follow(&mut *store)?;
                }
                served()
            }
            found => Ok(found),
        }
    }

    /// Embeds `texts`: one vector of length 1 each, in order. Errors if the model cannot be loaded.
    pub(in crate::proxy) fn embed(&self, texts: &[&str], side: InputType) -> Result<Vec<Vec<f32>>> {
        self.get()?.embed(texts, side)
    }
}

/// Whether `embed.via` names the proxy at this address, which must not ask itself.
pub(in crate::proxy) fn is_own_address(settings: &Settings, own: SocketAddr) -> bool {
    let via = settings.text("embed.via").unwrap_or_default();
    let here = |address: Address| address.is_loopback() && address.port() == Some(own.port());
    via == "proxy" || Address::parse(&via).is_ok_and(here)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Common;
    use crate::config;

    #[test]
    fn a_proxy_recognises_its_own_address() {
        let mut settings = config::load(&Common::default()).unwrap();
        let own = "127.0.0.1:3017".parse().unwrap();
        for (via, expected) in [
            ("local", false),
            ("proxy", true),
            ("http://localhost:3017/v1", true),
            ("http://[::1]:3017", true),
            ("http://127.0.0.1:3018/v1", false),
            ("https://h:3017", false),
        ] {
            settings.set_override("embed.via", "--via", via).unwrap();
            assert_eq!(is_own_address(&settings, own), expected, "{via}");
        }
    }
}
