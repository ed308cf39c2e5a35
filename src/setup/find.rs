//! Finds what can be set up. It changes nothing, and of histories it reads only the beginnings of downloads.

use super::client::{self, FoundClient};
use super::watch_service::WatchService;
use crate::config::Settings;
use crate::embed;
use crate::error::Result;
use crate::import::{self, FoundFiles, HomePlaces};
use crate::import_run;
use crate::store::{self, OpenMode};
use std::path::PathBuf;

/// A place in which another program keeps conversations.
pub(super) struct History {
    pub(super) files: FoundFiles,
    /// Whether they were imported before, or are watched.
    pub(super) is_imported: bool,
}

impl History {
    /// The name of the program's format.
    pub(super) fn name(&self) -> &'static str {
        self.files.format.name
    }
}

/// All that can be set up.
pub struct Found {
    pub(super) histories: Vec<History>,
    /// The directories in which programs write running sessions.
    pub(super) session_directories: Vec<PathBuf>,
    pub(super) service: WatchService,
    pub(super) clients: Vec<FoundClient>,
    /// Whether an embedding model is installed.
    pub(super) has_embedding_model: bool,
}

impl Found {
    /// Looks at the places of this user. Fails if the installed models cannot be listed.
    pub fn look(settings: &Settings) -> Result<Found> {
        let paths = settings.places();
        let places = home_places(settings);
        let files = places.as_ref().map(import::find).unwrap_or_default();
        // A store that cannot be opened is reported where it is needed.
        let place = settings.store().ok().filter(|_| !files.is_empty());
        let mut store = place.and_then(|place| store::open(&place, OpenMode::Existing).ok());
        // In doubt it is offered: a second import adds nothing.
        let mut is_imported = |found: &FoundFiles| {
            store.as_mut().is_some_and(|store| import_run::is_imported(&mut **store, found).unwrap_or(false))
        };
        let histories =
            files.into_iter().map(|files| History { is_imported: is_imported(&files), files }).collect();
        let session_directories = places.as_ref().map(import::session_directories).unwrap_or_default();
        let is_watchable = !session_directories.is_empty();
        Ok(Found {
            histories,
            session_directories,
            service: if is_watchable { WatchService::find(&paths) } else { WatchService::Missing },
            clients: client::find(&paths),
            has_embedding_model: embed::models(settings)?.iter().any(|model| model.installed.is_some()),
        })
    }

    /// The clients that are installed and lack an entry.
    pub(super) fn clients_without_entry(&self) -> impl Iterator<Item = &FoundClient> {
        self.clients.iter().filter(|client| client.can_get_entry())
    }

    /// The histories that were not imported.
    pub(super) fn new_histories(&self) -> impl Iterator<Item = &History> {
        self.histories.iter().filter(|history| !history.is_imported)
    }

    /// The directories to watch if these programs' histories are imported, with those that were before.
    pub(super) fn to_watch(&self, is_chosen: impl Fn(&History) -> bool) -> Vec<PathBuf> {
        let chosen = |path: &&PathBuf| {
            let of_path = self.histories.iter().filter(|history| history.files.path == **path);
            { of_path }.any(|history| history.is_imported || is_chosen(history))
        };
        self.session_directories.iter().filter(chosen).cloned().collect()
    }
}

/// Whether a client is installed whose settings lack an entry.
pub fn has_client_without_entry(settings: &Settings) -> bool {
    client::find(&settings.places()).iter().any(FoundClient::can_get_entry)
}

/// Whether other programs keep conversations in their own places. Downloads are not looked at.
pub fn has_histories(settings: &Settings) -> bool {
    let places = home_places(settings).map(|places| HomePlaces { downloads: Vec::new(), ..places });
    places.is_some_and(|places| !import::find(&places).is_empty())
}

/// The places in which programs keep their files; `None` without a home directory.
fn home_places(settings: &Settings) -> Option<HomePlaces> {
    let paths = settings.places();
    Some(HomePlaces { home: paths.home?, moved: paths.moved, downloads: paths.downloads })
}
