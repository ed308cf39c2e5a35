//! The one embedder of the proxy, loaded at its first use: for those who ask at /v1/embeddings, and in the
//! background for what the proxy stores.

use super::Proxy;
use crate::config::Settings;
use crate::embed::{Embedder, Side, Work};
use crate::error::Result;
use crate::fill;
use crate::http::Address;
use crate::store::{self, Access, Store};
use std::net::SocketAddr;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The embedder, and who is at work.
#[derive(Default)]
pub(super) struct Shared {
    held: Mutex<Option<Held>>,
    /// How many requests work with the store or the embedder, or wait for them.
    busy: Mutex<usize>,
    idle: Condvar,
}

/// The embedder, and the model of the store's vectors when it was chosen.
struct Held {
    embedder: Embedder,
    stored: Option<String>,
}

/// A request that is at work as long as this is kept.
pub(super) struct AtWork<'a>(&'a Shared);

/// How long the background lets others go first, so that it gets somewhere under constant load too.
const PATIENCE: Duration = Duration::from_secs(1);

impl Shared {
    fn held(&self) -> MutexGuard<'_, Option<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The model that is loaded, unless it is at work.
    pub(super) fn model(&self) -> Option<String> {
        let held = self.held.try_lock().ok()?;
        held.as_ref().map(|held| held.embedder.model().to_owned())
    }

    /// Keeps the background from beginning anything.
    pub(super) fn at_work(&self) -> AtWork<'_> {
        *self.busy.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        AtWork(self)
    }

    /// Waits until no request is at work, within bounds.
    pub(super) fn leisure(&self) {
        let busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.idle.wait_timeout_while(busy, PATIENCE, |busy| *busy > 0);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        let mut busy = self.0.busy.lock().unwrap_or_else(PoisonError::into_inner);
        *busy -= 1;
        if *busy == 0 {
            self.0.idle.notify_all();
        }
    }
}

impl Proxy {
    /// Works with the embedder, on a thread that may wait for it. Errors first if there is none.
    pub(super) fn with_embedder<T>(&self, work: impl FnOnce(&mut Embedder) -> T) -> Result<T> {
        let mut held = self.embedder.held();
        let held = match &mut *held {
            Some(held) => held,
            none => none.insert(self.choose()?),
        };
        Ok(work(&mut held.embedder))
    }

    /// The embedder for the vectors of the store; where that cannot be read, of the settings.
    fn choose(&self) -> Result<Held> {
        let Ok(mut store) = self.to_read() else {
            let embedder = Embedder::of(&self.settings, Work::Few, &self.notes)?;
            return Ok(Held { embedder, stored: None });
        };
        let stored = fill::model_of(&mut *store)?;
        let embedder = fill::embedder(&mut *store, &self.settings, Work::Few, &self.notes)?;
        Ok(Held { embedder, stored })
    }

    /// A connection of its own, for which no turn has to wait.
    pub(super) fn to_read(&self) -> Result<Box<dyn Store>> {
        store::open(&self.settings.store()?, Access::Read)
    }

    /// Goes with the store to another model; what is loaded stays as long as it is of the right one.
    pub(super) fn follow(&self, store: &mut dyn Store) -> Result<()> {
        let stored = fill::model_of(store)?;
        let mut held = self.embedder.held();
        let Some(held) = held.as_mut().filter(|held| held.stored != stored) else { return Ok(()) };
        let embedder = fill::embedder(store, &self.settings, Work::Few, &self.notes)?;
        if embedder.model() != held.embedder.model() {
            held.embedder = embedder;
        }
        held.stored = stored;
        Ok(())
    }

    /// The canonical id of the model, and whether `name` means it.
    pub(super) fn serves(&self, name: Option<&str>) -> Result<(String, bool)> {
        let served = || -> Result<(String, bool)> {
            let model = self.with_embedder(|embedder| embedder.model().to_owned())?;
            let same = name.is_none_or(|name| {
                let named = || Embedder::named(&self.settings, Some(name), Work::Few, &self.notes);
                name.eq_ignore_ascii_case(&model) || named().is_ok_and(|named| named.model() == model)
            });
            Ok((model, same))
        };
        match served()? {
            (_, false) => {
                // The store may have got another model meanwhile.
                if let Ok(mut store) = self.to_read() {
                    self.follow(&mut *store)?;
                }
                served()
            }
            yes => Ok(yes),
        }
    }

    /// The vectors of texts.
    pub(super) fn embed(&self, texts: &[&str], side: Side) -> Result<Vec<Vec<f32>>> {
        self.with_embedder(|embedder| embedder.embed(texts, side))?
    }
}

/// Whether `embed.via` means the proxy at this address, which must not ask itself.
pub(super) fn is_meant(settings: &Settings, own: SocketAddr) -> bool {
    let via = settings.text("embed.via").unwrap_or_default();
    let here = |address: Address| address.is_here() && address.port() == Some(own.port());
    via == "proxy" || Address::parse(&via).is_ok_and(here)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Common;
    use crate::config;

    #[test]
    fn a_proxy_knows_itself() {
        let mut settings = config::load(&Common::default()).unwrap();
        let own = "127.0.0.1:3017".parse().unwrap();
        for (via, meant) in [
            ("local", false),
            ("proxy", true),
            ("http://localhost:3017/v1", true),
            ("http://[::1]:3017", true),
            ("http://127.0.0.1:3018/v1", false),
            ("https://h:3017", false),
        ] {
            settings.overrule("embed.via", "--via", via).unwrap();
            assert_eq!(is_meant(&settings, own), meant, "{via}");
        }
    }
}
