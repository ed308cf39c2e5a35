//! Checks that the tools have all they need, and gives hints where they do not.

pub mod commands;
mod damaged;
mod error;
mod files;
mod finding;
mod installed;
mod network;
mod next_step;
mod start;
mod status;
mod store_summary;
mod timeout;
mod worth;

pub use finding::Finding;
pub use installed::TOOLS;
pub use network::cannot_listen;
pub use start::start_notes;
pub use status::Status;
pub use worth::Worth;

use crate::cli::{Common, Diagnostics, Io, Outcome};
use crate::config::{self, Settings};
use crate::error::Result;
use timeout::CHECK_TIMEOUT;

/// Runs every check in parallel. If the settings cannot be read, that is the first finding, and the checks
/// that depend on them are left out.
pub async fn examine(common: &Common, settings: Result<Settings>, diagnostics: &Diagnostics) -> Vec<Finding> {
    let settings = match settings {
        Ok(settings) => settings,
        Err(error) => return [vec![Finding::trouble("settings", error)], installed::examine()].concat(),
    };
    let programs = spawn_blocking(&settings, |_| installed::examine());
    let (memory, proxy, providers, programs) = tokio::join!(
        memory(&settings, diagnostics),
        network::proxy(&settings),
        providers(&settings),
        programs
    );
    let own = files::settings(&settings).into_iter().chain(files::reservoir(&settings));
    let own = own.chain(files::variables(common, &settings)).chain(files::secrets(common, &settings));
    own.chain(memory).chain([proxy]).chain(providers).chain(programs).collect()
}

/// Summarizes what there is; checks nothing in depth, and asks no provider.
pub async fn status(common: &Common, settings: &Settings) -> Status {
    let settings_file = config::path(common);
    let (store, proxy) = tokio::join!(
        spawn_blocking(settings, |settings| Some(store_summary::StoreSummary::read(settings))),
        network::check_proxy(settings)
    );
    let summary = store.unwrap_or_else(|| Err(error::DoctorError::Panicked.into()));
    Status::new(settings, settings_file, summary, proxy)
}

/// Returns the unused space of the store to the disk. Fails if the store cannot be opened or erased.
pub fn compact(settings: &Settings) -> Result<Finding> {
    files::compact(settings)
}

/// Rebuilds all that follows from the records of the store, and says what cannot be repaired.
pub fn repair(settings: &Settings) -> Vec<Finding> {
    files::repair(settings)
}

/// Prints the findings: as text for people, as JSON lines for programs. The answer is yes if nothing needs
/// doing. Fails if stdout cannot be written.
pub fn print(found: &[Finding], io: &mut Io) -> Result<Outcome> {
    let layout = io.stdout_is_tty().then(|| io.layout());
    for finding in found {
        let line = match &layout {
            Some(layout) => finding.to_text(layout),
            None => finding.to_object().to_json() + "\n",
        };
        io.out.write(line.as_bytes())?;
    }
    Ok(if found.iter().all(Finding::is_good) { Outcome::Yes } else { Outcome::No })
}

/// Looks at the settings' keys.
pub fn settings(settings: &Settings) -> Vec<Finding> {
    files::settings(settings)
}

/// Looks at the store, and at the embedding model.
pub async fn memory(settings: &Settings, diagnostics: &Diagnostics) -> Vec<Finding> {
    let diagnostics = diagnostics.clone();
    spawn_blocking(settings, move |settings| match with_check_timeout(settings) {
        Ok(settings) => files::memory(&settings, &diagnostics),
        Err(error) => vec![Finding::trouble("settings", error)],
    })
    .await
}

/// The same settings with short timeouts and no retries, since a server may do the embedding.
fn with_check_timeout(settings: &Settings) -> Result<Settings> {
    let mut settings = settings.clone();
    let limit = format!("{}s", CHECK_TIMEOUT.as_secs());
    for key in ["connect_timeout", "first_byte_timeout", "idle_timeout", "request_timeout"] {
        settings.set_override(key, key, &limit)?;
    }
    settings.set_override("retries", "retries", "0")?;
    Ok(settings)
}

/// Looks at the providers.
pub async fn providers(settings: &Settings) -> Vec<Finding> {
    network::providers(settings).await
}

/// Runs blocking work on a thread of its own.
async fn spawn_blocking<T: Default + Send + 'static>(
    settings: &Settings,
    work: impl FnOnce(&Settings) -> T + Send + 'static,
) -> T {
    let settings = settings.clone();
    // The panic is on standard error already; the other checks are shown nevertheless.
    tokio::task::spawn_blocking(move || work(&settings)).await.unwrap_or_default()
}
