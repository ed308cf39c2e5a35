//! The checks of this machine: the settings' file, the store, the embedding model.

use super::damaged::{damaged, with_commands};
use super::error::DoctorError;
use super::finding::Finding;
use super::timeout::CHECK_TIMEOUT;
use crate::backfill;
use crate::cli::{Common, Diagnostics, quoted};
use crate::config::{self, ReservoirFile, Settings, StoreLocation};
use crate::embed::{Embedder, InputType, Workload};
use crate::error::{Context, Error, Result};
use crate::http::RequestError;
use crate::record::Scopes;
use crate::store::{self, Derived, ERASE_PENDING, Leftovers, OpenMode, Store};
use crate::text::{counted, counted_verb};
use rustix::fs::{Access, access, statvfs};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The number of errors of a store that are reported.
const MAX_REPORTED_ERRORS: u32 = 3;

/// The least free space for a store that grows: for its log, and for an index that is rebuilt.
const MIN_FREE_BYTES: u64 = 100 << 20;

/// Unused space of a store is returned from this number of bytes, and this share of the file: less is soon
/// reused.
const MIN_UNUSED_BYTES: u64 = 10_000_000;
const MIN_UNUSED_SHARE: u64 = 4;

/// Whether every key is known, and every value can be: a finding for each that is not.
pub(super) fn settings(settings: &Settings) -> Vec<Finding> {
    let trouble =
        |error: &Error| Finding::trouble("settings", error.clone().or_hint("see 'rsv-config list'"));
    let found: Vec<Finding> = settings.foreign_errors().chain(settings.unknown()).map(trouble).collect();
    if found.is_empty() { vec![Finding::ok("settings", "every key is known")] } else { found }
}

/// Reservoir's settings file: the values in effect, and the ignored ones.
pub(super) fn reservoir(settings: &Settings) -> Vec<Finding> {
    let Some(file) = settings.reservoir_file() else { return Vec::new() };
    let used = Finding::ok("reservoir", reservoir_text(settings, file));
    let ignored = file.ignored.iter().map(|error| {
        let error = error.clone().at(file.path.display());
        Finding::advice(
            "reservoir",
            error.hint("it is ignored; set what is meant with: rsv-config set KEY VALUE"),
        )
    });
    [used].into_iter().chain(ignored).collect()
}

/// The values of Reservoir's settings file that hold, in words.
pub(super) fn reservoir_text(settings: &Settings, file: &ReservoirFile) -> String {
    let keys = settings.keys_of_reservoir().join(", ");
    let keys = if keys.is_empty() { "nothing" } else { &keys };
    format!("{keys} from {}", file.path.display())
}

/// Files beside those of the settings that hold variables, as other programs read them.
pub(super) fn variables(common: &Common, settings: &Settings) -> Vec<Finding> {
    // Without a home directory there is no file to look beside.
    let own = config::path(common).ok();
    let reservoirs = settings.reservoir_file().map(|file| file.path.clone());
    let directories: BTreeSet<PathBuf> = [own, reservoirs]
        .into_iter()
        .flatten()
        .filter_map(|path| path.parent().map(Path::to_owned))
        .collect();
    let files = directories.into_iter().map(|directory| directory.join(".env"));
    let advice = |path: PathBuf| {
        let load = format!("set -a; . {}; set +a", quoted(&path));
        Finding::advice("env", DoctorError::NotRead { path, load })
    };
    files.filter(|path| path.is_file()).map(advice).collect()
}

/// Whether a file that holds keys is for its owner alone; nothing where it holds none.
pub(super) fn secrets(common: &Common, settings: &Settings) -> Option<Finding> {
    let path = config::path(common).ok().filter(|_| settings.has_secret_in_file())?;
    Some(Finding::from_result(
        "secrets",
        check_private(&path).map(|()| format!("{} is private to you", path.display())),
    ))
}

/// Checks the store, its disk, the embedding model, and the vectors that are missing.
pub(super) fn memory(settings: &Settings, diagnostics: &Diagnostics) -> Vec<Finding> {
    let place = match settings.store() {
        Ok(place) => place,
        Err(error) => return vec![Finding::trouble("store", error)],
    };
    // Opening the store makes an empty log.
    let log = place.path().map_or(0, log_bytes);
    let (text, store) = match open(&place) {
        Ok((text, store)) => (Ok(text), Some(store)),
        Err(error) => (Err(error), None),
    };
    let mut found = vec![Finding::from_result("store", text)];
    if let Some(path) = place.path() {
        if path.exists() {
            let text = check_private(path).map(|()| format!("{} is private to you", path.display()));
            found.push(Finding::from_result("permissions", text));
        }
        found.push(Finding::from_result("disk", check_disk(path)));
    }
    if log > 0 && store.is_some() {
        let text = format!("{} of the store are in its log, which belongs to the file", megabytes(log));
        found.push(Finding::from_result("log", Ok(text)));
    }
    let mut store = store;
    if let (Some(store), Some(path)) = (&mut store, place.path()) {
        let unused = check_unused(&mut **store, path);
        found.extend(unused.unwrap_or_else(|error| vec![Finding::trouble("unused", error)]));
    }
    found.extend(store.as_mut().and_then(|store| check_words(&mut **store)));
    found.push(model(settings, diagnostics));
    if let Some(mut store) = store {
        let text = check_vectors(&mut *store, settings, diagnostics);
        found.extend(text.unwrap_or_else(|error| Some(Finding::trouble("vectors", error))));
    }
    found
}

/// The same place with short timeouts.
pub(super) fn with_check_timeout(mut place: StoreLocation) -> StoreLocation {
    place.server.connect_timeout = place.server.connect_timeout.min(CHECK_TIMEOUT);
    place.server.query_timeout = place.server.query_timeout.min(CHECK_TIMEOUT);
    place
}

/// Opens a store and checks it; returns a summary of its content.
fn open(place: &StoreLocation) -> Result<(String, Box<dyn Store>)> {
    let place = with_check_timeout(place.clone());
    let there = place.path().is_none_or(Path::exists);
    if let Some(path) = place.path() {
        check_writable(path)?;
    }
    let mut store = store::open(&place, OpenMode::Existing).map_err(|error| with_commands(&place, error))?;
    if !there {
        return Ok((format!("{}, which is created when something is stored", place.address), store));
    }
    let checked = store.examine(MAX_REPORTED_ERRORS).and_then(|file| Ok((file.errors, store.scopes(None)?)));
    match checked {
        Ok((faults, scopes)) if faults.is_empty() => {
            let messages: u64 = scopes.iter().map(|(_, messages)| messages).sum();
            Ok((format!("{}, {}", place.address, counted(messages, "message")), store))
        }
        failed => {
            // The files that it leaves beside the store are moved too.
            drop(store);
            Err(match failed {
                Ok((faults, _)) => damaged(&place, format!(": {}", faults[0])),
                Err(error) => with_commands(&place, error),
            })
        }
    }
}

/// Errors if the file, or the nearest existing directory above it, cannot be written.
fn check_writable(path: &Path) -> Result<()> {
    // A path of one name is in the directory that the tool was started in.
    let directory = |path: &'_ Path| path.parent().filter(|p| !p.as_os_str().is_empty()).map(Path::to_owned);
    let mut nearest = path.to_owned();
    while !nearest.exists() {
        nearest = directory(&nearest).unwrap_or_else(|| ".".into());
    }
    let wanted = if nearest.is_dir() { Access::WRITE_OK | Access::EXEC_OK } else { Access::WRITE_OK };
    let at_fault = match access(&nearest, wanted) {
        Ok(()) if nearest == path || nearest.is_dir() => return Ok(()),
        Ok(()) => "is not a directory",
        Err(_) => "cannot be written",
    };
    let nearest = nearest.display().to_string();
    Err(DoctorError::NotWritable { path: path.to_owned(), nearest, fault: at_fault }.into())
}

/// Errors if others than its owner can read or change a file.
fn check_private(path: &Path) -> Result<()> {
    let metadata = fs::metadata(path).context(format_args!("cannot read {}", path.display()))?;
    match metadata.permissions().mode() & 0o077 {
        0 => Ok(()),
        _ => Err(DoctorError::Public { path: path.to_owned(), quoted: quoted(path) }.into()),
    }
}

/// The free space on the disk.
fn check_disk(path: &Path) -> Result<String> {
    let nearest = path.ancestors().skip(1).find(|path| path.is_dir()).unwrap_or(Path::new("."));
    let disk = statvfs(nearest).map_err(std::io::Error::from);
    let disk = disk.context(format_args!("cannot determine the free space at {}", nearest.display()))?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let text = format!("{} MB are free at {}", free / 1_000_000, nearest.display());
    if free < MIN_FREE_BYTES {
        Err(DoctorError::Wanted { text, help: "free some space" }.into())
    } else {
        Ok(text)
    }
}

/// The command that returns unused space.
const COMPACT: &str = "rsv-config doctor --compact";

/// The unused space of a store's file, and whether removed text is still in it.
fn check_unused(store: &mut dyn Store, path: &Path) -> Result<Vec<Finding>> {
    let (unused, all) = (store.examine(0)?.unused_bytes, file_bytes(path));
    let text = format!("{} of {} of the store are unused", megabytes(unused), megabytes(all));
    let mut found = vec![if unused >= MIN_UNUSED_BYTES && unused >= all / MIN_UNUSED_SHARE {
        Finding::advice("unused", DoctorError::Wanted { text, help: COMPACT })
    } else {
        Finding::ok("unused", text)
    }];
    if store.fact(ERASE_PENDING)?.is_some() {
        let text = "the store's files still hold text that was removed; the next program that stores something \
                    clears it, unless another is reading the store then";
        found.push(Finding::advice("removed", DoctorError::Wanted { text: text.to_owned(), help: COMPACT }));
    }
    Ok(found)
}

/// The records that the word index has as an earlier release wrote them, if there are some.
fn check_words(store: &mut dyn Store) -> Option<Finding> {
    match store.outdated_words() {
        Ok(0) => None,
        Ok(records) => {
            let text = store::outdated_text(records);
            Some(Finding::advice("words", DoctorError::Wanted { text, help: store::UPDATE_WORDS }))
        }
        Err(error) => Some(Finding::trouble("words", error)),
    }
}

/// Returns the unused space of the store to the disk. Fails if the store cannot be opened or erased.
pub(super) fn compact(settings: &Settings) -> Result<Finding> {
    let place = settings.store()?;
    let Some(path) = place.path() else {
        return Ok(Finding::ok("unused", format!("{} manages its own files", place.address)));
    };
    let before = file_bytes(path);
    // A missing file is not made.
    if before > 0 {
        store::open(&place, OpenMode::Create)?.erase(Leftovers::Space)?;
    }
    let (after, address) = (file_bytes(path), &place.address);
    let returned = megabytes(before.saturating_sub(after));
    Ok(Finding::ok(
        "unused",
        format!("{returned} of {address} were returned to the disk, {} are left", megabytes(after)),
    ))
}

/// Rebuilds all that follows from the records: a finding for each repair, and one for the remaining errors.
pub(super) fn repair(settings: &Settings) -> Vec<Finding> {
    let place = match settings.store() {
        Ok(place) => place,
        Err(error) => return vec![Finding::trouble("store", error)],
    };
    if place.path().is_some_and(|path| !path.exists()) {
        return vec![Finding::ok("repair", format!("there is no {} yet", place.address))];
    }
    let repaired = store::open(&place, OpenMode::Create).and_then(|mut store| {
        let done = store.repair(Derived::All)?;
        let left = store.examine(MAX_REPORTED_ERRORS)?.errors;
        Ok((done, left))
    });
    match repaired {
        Ok((done, left)) => {
            let mut found: Vec<Finding> = done.into_iter().map(|text| Finding::ok("repair", text)).collect();
            found.extend(left.first().map(|fault| {
                Finding::trouble("store", damaged(&place, format!(" where records are: {fault}")))
            }));
            found
        }
        Err(error) => vec![Finding::trouble("store", with_commands(&place, error))],
    }
}

/// The size of a store's file and its log; 0 if there is none.
fn file_bytes(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len()) + log_bytes(path)
}

/// The length of the write-ahead log beside the file of a store, or beside the file that a link names; 0 if
/// there is none.
fn log_bytes(path: &Path) -> u64 {
    let mut log = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()).into_os_string();
    log.push("-wal");
    fs::metadata(log).map_or(0, |metadata| metadata.len())
}

/// A number of bytes for people.
fn megabytes(bytes: u64) -> String {
    let tenths = bytes / 100_000;
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

/// Whether the embedding model is whole, and makes a vector. It may be missing, unless the settings name it.
fn model(settings: &Settings, diagnostics: &Diagnostics) -> Finding {
    let made = Embedder::from_settings(settings, Workload::Few, diagnostics).and_then(|mut embedder| {
        embedder.check()?;
        embedder.embed(&["owl"], InputType::Query)?;
        Ok(embedder.model().to_owned())
    });
    let named = settings.is_set("embed.model") || settings.is_set("embed.via");
    match made {
        Err(error) if !named && !is_installed(settings) => Finding::advice("model", error),
        // The limit is the doctor's own, and no setting.
        Err(error) if error.find().is_some_and(RequestError::is_timeout) => Finding::trouble(
            "model",
            error.hint("check that the server runs; its address: rsv-config get embed.via"),
        ),
        made => Finding::from_result("model", made),
    }
}

fn is_installed(settings: &Settings) -> bool {
    crate::embed::models(settings).is_ok_and(|models| models.iter().any(|model| model.installed.is_some()))
}

/// Whether messages wait for their vectors; nothing where there is no model.
fn check_vectors(
    store: &mut dyn Store,
    settings: &Settings,
    diagnostics: &Diagnostics,
) -> Result<Option<Finding>> {
    let Ok(wanted) = Embedder::from_settings(settings, Workload::Few, diagnostics) else { return Ok(None) };
    let stored = backfill::model_of(store)?;
    if let Some(stored) = stored.filter(|stored| stored != wanted.model()) {
        let set = wanted.model().to_owned();
        return Ok(Some(Finding::advice("vectors", DoctorError::OtherModel { stored, set })));
    }
    let unembedded = store.unembedded(wanted.model(), &backfill::embeddable(Scopes::All), 0)?.total;
    let text = format!("{} no vector", counted_verb(unembedded, "message", ["has", "have"]));
    // The next search embeds up to this number.
    Ok(Some(if unembedded > backfill::catch_up_limit(settings) as u64 {
        Finding::trouble("vectors", DoctorError::Wanted { text, help: "rsv-embed --pending" })
    } else {
        Finding::ok("vectors", text)
    }))
}
