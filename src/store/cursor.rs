//! Cursors: places between two changes of a store, from which an export continues.

use super::api::Store;
use super::changes::{ChangeNumbers, ChangeState, Witness};
use super::error::StoreFault;
use crate::error::{Context, Result};
use crate::staging;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// A place between two changes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Cursor {
    store: String,
    /// The selection of the export; another one would have left out other changes.
    selection: String,
    numbers: ChangeNumbers,
    witnesses: Vec<Witness>,
}

impl Cursor {
    /// The cursor after all present changes. Fails if the store cannot be read.
    pub fn now(store: &mut dyn Store, selection: &str) -> Result<Cursor> {
        let ChangeState { store, numbers, mut witnesses, .. } = store.change_state(&[])?;
        witnesses.sort_by(|one, other| (&one.part, one.n).cmp(&(&other.part, other.n)));
        Ok(Cursor { store, selection: selection.to_owned(), numbers, witnesses })
    }

    /// Reads a cursor from a file; none if there is no file. Errors if the file is no cursor.
    pub fn read(file: &Path) -> Result<Option<Cursor>> {
        let text = match fs::read_to_string(file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            text => text.context(format_args!("cannot read {}", file.display()))?,
        };
        let not_one = |source| StoreFault::NoCursor { path: file.to_owned(), source }.into();
        serde_json::from_str(&text).map(Some).map_err(not_one)
    }

    /// Writes the cursor to a file as a line of JSON; the file has all of it or stays as it was. Fails if
    /// that cannot be written.
    pub fn write(&self, file: &Path) -> Result<()> {
        let context = format!("cannot write {}", file.display());
        let json = serde_json::to_string(self).context(&context)? + "\n";
        staging::write(file, json.as_bytes())
    }

    /// The numbers of the last changes before it. Errors if it is not one of this store and selection.
    pub fn changed_since(&self, store: &mut dyn Store, selection: &str) -> Result<ChangeNumbers> {
        let now = store.change_state(&self.witnesses)?;
        // Changes made together may share a number, and some may have a later one since.
        let is_other = |existing: &Witness| {
            let same_number = |witness: &&Witness| witness.part == existing.part && witness.n == existing.n;
            self.witnesses.iter().any(|witness| same_number(&witness))
                && !now.witnesses.iter().filter(same_number).any(|one| self.witnesses.contains(one))
        };
        let refused = |fault| Err(StoreFault::OtherCursor { fault }.into());
        // Before its first change, a store may have no id yet.
        let is_before_all = self.witnesses.is_empty() && self.numbers == ChangeNumbers::default();
        if self.store != now.store && !is_before_all {
            return refused("is of another store");
        }
        if self.numbers.exceed(&now.numbers) || now.witnesses.iter().any(is_other) {
            return refused("is later than this store, which was restored from an older copy");
        }
        if self.selection != selection {
            return refused("is of an export of something else, such as another partition");
        }
        Ok(if is_before_all { ChangeNumbers::BEFORE_ALL } else { self.numbers })
    }
}
