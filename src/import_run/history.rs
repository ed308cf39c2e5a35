//! The imports that can be undone.

use super::undo_command;
use crate::cli::{Io, Outcome};
use crate::config::Settings;
use crate::error::Result;
use crate::record::time;
use crate::store;

/// Prints the imports that the store knows, oldest first. No if there are none.
pub fn history(settings: &Settings, io: &mut Io) -> Result<Outcome> {
    let mut store = store::open_to_read(settings, io)?;
    let imports = store::imports(&mut *store)?;
    for import in &imports {
        let (at, new, same) = (time::rfc3339(import.at()), import.new_records(), import.same_records());
        let undo = import.undone.map(|at| format!("undone {}", time::rfc3339(at)));
        let undo = undo.unwrap_or_else(|| undo_command(&import.id));
        let source = import.source();
        let line = format!("{at}  {new:7} new {same:7} the same  {undo}  {source}\n");
        io.out.write(line.as_bytes())?;
    }
    Ok(Outcome::of(!imports.is_empty()))
}
