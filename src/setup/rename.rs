//! Renames a partition wherever it has a name.

use crate::cli::{Io, Outcome};
use crate::config;
use crate::error::Result;
use crate::project::Projects;
use crate::store::{self, OpenMode, Rename};
use crate::text::counted;

/// Renames a partition in the store, in the settings file and of the projects that have it. If it is
/// interrupted, the same command continues.
pub fn rename(from: String, to: String, io: &mut Io) -> Result<Outcome> {
    let settings = config::load_for_tool(io)?;
    let mut store = store::open(&settings.store()?, OpenMode::Existing)?;
    let rename = Rename { from, to };
    let Rename { from, to } = &rename;
    let count = store.rename_partition(&rename)?;
    config::rename_partition(&io.common, from, to)?;
    Projects::open(settings.places().data.as_deref())?.rename(from, to)?;
    store.end_rename(&rename)?;
    let records = counted(count as u64, "record");
    let are = if count == 1 { "is" } else { "are" };
    io.summary(format_args!("{records} of the partition {from} {are} in {to} now"));
    Ok(Outcome::Yes)
}
