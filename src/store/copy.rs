//! Copies of a whole store, as it is at one moment.

use super::api::{OpenMode, Store};
use super::error::StoreFault;
use super::forgetting::WriteRules;
use super::open::open;
use super::select::{Select, Walk};
use crate::config::StoreLocation;
use crate::error::{Context, Result};
use crate::record::{Record, Scopes, kinds};
use crate::staging::StagingDir;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use tempfile::TempPath;

/// The number of records that are written together.
const BATCH_RECORDS: usize = 10_000;

/// Copies a store into a new SQLite file, while others may write to the store. Errors if the file exists.
pub fn copy(store: &mut dyn Store, to: &Path) -> Result<()> {
    let cannot = format!("cannot write {}", to.display());
    if to.symlink_metadata().is_ok() {
        return Err(StoreFault::Exists { path: to.to_owned() }.into());
    }
    // The file gets its name when it is whole.
    let staging = StagingDir::beside(to)?;
    let new = staging.path().join("store.db");
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new).context(&cannot)?;
    if !store.copy_file(&new)? {
        copy_records(store, &new)?;
    }
    file.sync_all().context(&cannot)?;
    TempPath::try_from_path(new)
        .context(&cannot)?
        .persist_noclobber(to)
        .map_err(|error| error.error)
        .context(cannot)
        .map_err(|error| error.hint("name a file that does not exist yet"))?;
    Ok(())
}

/// Writes the records of a store into another.
fn copy_records(store: &mut dyn Store, to: &Path) -> Result<()> {
    let mut copy = open(&StoreLocation::file(to), OpenMode::Create)?;
    let records = Walk::records(Select::records(kinds(), Scopes::All));
    let all = Walk { tombstones: true, embeddings: true, links: true, ..records };
    let mut batch: Vec<Record> = Vec::new();
    store.walk(&all, &mut |record| {
        batch.push(record);
        if batch.len() >= BATCH_RECORDS {
            copy.write(&std::mem::take(&mut batch), WriteRules::KEEP_OUT)?;
        }
        Ok(())
    })?;
    copy.write(&batch, WriteRules::KEEP_OUT)?;
    Ok(())
}
