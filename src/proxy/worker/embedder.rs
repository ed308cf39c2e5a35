//! The one embedder of the proxy, loaded at its first use: for questions, for `/v1/embeddings`, and in the
//! background for the messages that the proxy stores.

use super::blocking_pool::BlockingPool;
use super::error::WorkerFault;
use super::store_pool::StorePool;
use crate::backfill;
use crate::config::Settings;
use crate::embed::{Embedder, InputType, Workload};
use crate::enrich::Schedule;
use crate::error::{Context, Error, Result};
use crate::http::Address;
use crate::proxy::config::ProxyConfig;
use crate::proxy::lock::locked;
use crate::store::{QuestionVector, Store};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The wait before the next attempt to load an embedder.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The embedder that all parts share.
pub(in crate::proxy) struct SharedEmbedder {
    config: Arc<ProxyConfig>,
    stores: Arc<StorePool>,
    blocking: BlockingPool,
    /// Held while a model is loaded, for seconds, so that it is loaded once; reports only try it.
    state: Mutex<EmbedderState>,
    /// Whether its server is tried until it answers.
    is_tried: AtomicBool,
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
    pub(in crate::proxy) fn new(
        config: &Arc<ProxyConfig>,
        blocking: &BlockingPool,
        stores: &Arc<StorePool>,
    ) -> SharedEmbedder {
        SharedEmbedder {
            config: config.clone(),
            stores: stores.clone(),
            blocking: blocking.clone(),
            state: Mutex::default(),
            is_tried: AtomicBool::new(false),
        }
    }

    /// The vector of a question, of length 1, made until `end`. A server that failed is not asked, but tried
    /// in the background.
    pub(in crate::proxy) async fn question(
        self: &Arc<SharedEmbedder>,
        question: String,
        end: Instant,
    ) -> Result<QuestionVector> {
        let shared = self.clone();
        let made = self.blocking.spawn(move || shared.embed_question(&question, end));
        match tokio::time::timeout_at(end.into(), made).await {
            Ok(made) => made.context(WorkerFault::Panicked)?,
            Err(_) => Err(WorkerFault::EmbedderSlow.into()),
        }
    }

    fn embed_question(self: &Arc<SharedEmbedder>, question: &str, end: Instant) -> Result<QuestionVector> {
        let embedder = self.get()?;
        let made = match embedder.outage() {
            Some((error, _)) => Err(error),
            None => embedder.until(end).embed_question(question),
        };
        if embedder.outage().is_some() {
            self.try_again();
        }
        let (model, min_similarity) = (embedder.model().to_owned(), f64::from(embedder.min_similarity()));
        Ok(QuestionVector { model, numbers: made?, min_similarity })
    }

    /// Asks the server as for a question, within the time that a question has.
    fn probe(&self) -> Result<()> {
        let limit = self.config.memory_timeout();
        self.get()?.probe(Schedule::begin(limit).end_of_meaning())
    }

    /// Tries a server that failed until it answers in time, with growing pauses. Two notes say so.
    fn try_again(self: &Arc<SharedEmbedder>) {
        if self.is_tried.swap(true, Ordering::Relaxed) {
            return;
        }
        let shared = self.clone();
        self.blocking.spawn_task(async move {
            let diagnostics = &shared.config.diagnostics;
            // Without an embedder, there is no server to wait for.
            let outage = || shared.get().ok().and_then(|embedder| embedder.outage());
            if let Some((error, _)) = outage() {
                diagnostics
                    .note(format_args!("{error}; until it answers, messages are found by their words only"));
            }
            while let Some((_, pause)) = outage() {
                tokio::time::sleep(pause).await;
                let tried = shared.clone();
                // A probe that panicked has found nothing.
                let is_back = shared.blocking.spawn(move || tried.probe().is_ok()).await;
                if is_back.unwrap_or(false) {
                    diagnostics.note("the embedding server answers again");
                }
            }
            shared.is_tried.store(false, Ordering::Relaxed);
        });
    }

    /// The reason why nothing is found by meaning, if its server failed.
    pub(in crate::proxy) fn outage(&self) -> Option<Error> {
        match &*self.state.try_lock().ok()? {
            EmbedderState::Loaded(loaded) => loaded.embedder.outage().map(|(error, _)| error),
            _ => None,
        }
    }

    /// Why there is no embedder, if there was none when one was last looked for.
    pub(in crate::proxy) fn unavailable(&self) -> Option<Error> {
        match &*self.state.try_lock().ok()? {
            EmbedderState::Unavailable(error, _) => Some(error.clone()),
            _ => None,
        }
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
        let mut state = locked(&self.state);
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
    /// Fails if the store cannot be read, or the model not be used.
    pub(in crate::proxy) fn follow(&self, store: &mut dyn Store) -> Result<()> {
        let store_model = backfill::model_of(store)?;
        let mut state = locked(&self.state);
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

    /// The canonical id of the model, and whether `name` is a name of it. Fails if no model can be used.
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
