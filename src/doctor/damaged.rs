//! The commands that save what can be read of a damaged store.

use super::error::DoctorError;
use crate::cli::quoted;
use crate::config::StoreLocation;
use crate::error::Error;
use crate::store::{ErrorKind, StoreError};
use std::fs;
use std::path::PathBuf;

/// The error of a store; of a damaged one with the commands that save what can be read.
pub(super) fn with_commands(place: &StoreLocation, error: StoreError) -> Error {
    match error.kind {
        ErrorKind::Corrupt => salvaged(place, error.into()),
        _ => error.into(),
    }
}

/// The error of a store that a check has found to be damaged; `fault` follows that word.
pub(super) fn damaged(place: &StoreLocation, fault: String) -> Error {
    salvaged(place, DoctorError::Damaged { address: place.address.clone(), fault }.into())
}

/// The error of a damaged store, with the commands that save what can be read and replace the file.
fn salvaged(place: &StoreLocation, error: Error) -> Error {
    let Some(path) = place.path() else { return error };
    // A link stays, and names the new file.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let beside = |suffix: &str| {
        let mut name = path.clone().into_os_string();
        name.push(suffix);
        PathBuf::from(name)
    };
    let aside = (1..).map(|n| beside(&format!(".damaged-{n}"))).find(|aside| !aside.exists());
    let aside = aside.unwrap_or_else(|| beside(".damaged"));
    let files = ["", "-wal", "-shm"].map(beside).into_iter().filter(|file| file.exists());
    let files: Vec<String> = files.map(|file| quoted(&file)).collect();
    let (store, lines, files) = (quoted(&path), quoted(&aside.join("records.jsonl")), files.join(" "));
    let aside = quoted(&aside);
    let commands = format!(
        "mkdir -m 700 {aside}\n\
         rsv-export --recover --vectors base64 --store {store} > {lines}\n\
         mv {files} {aside}\n\
         rsv-import --store {store} {lines}\n\
         rsv-config doctor --store {store}"
    );
    DoctorError::Unreadable { error: error.to_string(), commands }.into()
}
