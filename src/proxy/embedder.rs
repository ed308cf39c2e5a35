//! The one embedder of the proxy, loaded at its first use: for those who ask at /v1/embeddings, and in the
//! background for what the proxy stores.

use super::Proxy;
use crate::config::Settings;
use crate::embed::{Embedder, Side, Work};
use crate::error::{Error, Result};
use crate::fill;
use crate::http::Address;
use crate::store::{self, OpenMode, Store};
use std::net::SocketAddr;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The embedder, and who is at work.
#[derive(Default)]
pub(super) struct Shared {
    known: Mutex<Known>,
    /// How many requests work with the store or the embedder, or wait for them.
    busy: Mutex<usize>,
    idle: Condvar,
}

/// What is known of the embedder.
#[derive(Default)]
enum Known {
    #[default]
    Nothing,
    /// There was none when it was looked for.
    Absent(Error, Instant),
    Held(Held),
}

/// The embedder, and the model of the store's vectors when it was chosen.
struct Held {
    embedder: Embedder,
    stored: Option<String>,
}

/// A request that is at work as long as this is kept.
pub(super) struct AtWork<'a>(&'a Shared);

/// After how long an embedder is looked for again that was not there.
const AGAIN: Duration = Duration::from_secs(1);
/// How long the background lets others go first, so that it gets somewhere under constant load too.
const PATIENCE: Duration = Duration::from_secs(1);

impl Shared {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The model that is used, unless it is just being chosen.
    pub(super) fn model(&self) -> Option<String> {
        match &*self.known.try_lock().ok()? {
            Known::Held(held) => Some(held.embedder.model().to_owned()),
            _ => None,
        }
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
    /// The embedder, which is used on a thread that may wait for it. Errors if there is none.
    pub(super) fn to_embed(&self) -> Result<Embedder> {
        let mut known = self.embedder.known();
        match &*known {
            Known::Held(held) => return Ok(held.embedder.clone()),
            Known::Absent(error, at) if at.elapsed() < AGAIN => return Err(error.clone()),
            _ => {}
        }
        match self.choose() {
            Ok(held) => {
                let embedder = held.embedder.clone();
                *known = Known::Held(held);
                Ok(embedder)
            }
            Err(error) => {
                *known = Known::Absent(error.clone(), Instant::now());
                Err(error)
            }
        }
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
        Ok(store::open(&self.settings.store()?, OpenMode::Existing)?)
    }

    /// Goes with the store to another model; what is loaded stays as long as it is of the right one.
    pub(super) fn follow(&self, store: &mut dyn Store) -> Result<()> {
        let stored = fill::model_of(store)?;
        let mut known = self.embedder.known();
        let Known::Held(held) = &mut *known else { return Ok(()) };
        if held.stored == stored {
            return Ok(());
        }
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
            let model = self.to_embed()?.model().to_owned();
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
        self.to_embed()?.embed(texts, side)
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
