//! The cursors of an export: where it begins, and where the next one will.

use super::messages::end;
use super::options::LineOptions;
use crate::cli::{Io, Outcome};
use crate::error::{Context, Result};
use crate::store::{ChangeNumbers, Cursor, Damage, Select, Store};
use std::io::ErrorKind;
use std::path::Path;

/// The cursors of an export.
pub(super) struct Cursors<'a> {
    pub(super) changed_since: Option<ChangeNumbers>,
    /// The next one, and its file.
    next: Option<(Cursor, &'a Path)>,
}

impl<'a> Cursors<'a> {
    /// Reads the cursor of the export before, and takes that of the next one. Records written meanwhile are
    /// in both.
    pub(super) fn begin(options: &'a LineOptions, which: &Select, store: &mut dyn Store) -> Result<Self> {
        let selection = selection(options, which);
        let mut changed_since = None;
        if let Some(file) = &options.new_since
            && let Some(cursor) = Cursor::read(file)?
        {
            let since = cursor.changed_since(store, &selection);
            changed_since = Some(since.map_err(|error| error.at(file.display()))?);
        }
        let Some(file) = options.next.as_deref() else { return Ok(Cursors { changed_since, next: None }) };
        // A cursor that is left from a run whose import failed would say that this one has ended.
        if let Err(error) = std::fs::remove_file(file)
            && error.kind() != ErrorKind::NotFound
        {
            return Err(error).context(format_args!("cannot write {}", file.display()));
        }
        Ok(Cursors { changed_since, next: Some((Cursor::now(store, &selection)?, file)) })
    }

    /// Writes the next cursor if everything is printed.
    pub(super) fn end(self, damage: Option<Damage>, io: &mut Io) -> Result<Outcome> {
        if let (None, Some((cursor, file))) = (&damage, self.next) {
            io.out.flush()?;
            cursor.write(file)?;
        }
        Ok(end(damage, io))
    }
}

/// The selection of an export in words.
fn selection(options: &LineOptions, which: &Select) -> String {
    let kinds: Vec<&str> = which.kinds.iter().map(|kind| kind.name).collect();
    let roles: Vec<&str> = which.roles.iter().map(|role| role.name()).collect();
    let vectors = if options.vectors.is_some() { "with vectors" } else { "without vectors" };
    format!("{:?}; {}; {}; {vectors}", which.scopes, kinds.join(","), roles.join(","))
}
