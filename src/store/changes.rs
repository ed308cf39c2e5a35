//! What changed in a store since an earlier time, by the numbers of its changes.

use super::api::Store;
use crate::error::{Context, Error, Result};
use crate::record::identity_digest;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;
use tempfile::NamedTempFile;

/// The numbers of the last changes. What is written later gets greater numbers, whatever its time is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ChangeNumbers {
    pub records: i64,
    pub embeddings: i64,
    pub links: i64,
    pub tombstones: i64,
}

impl ChangeNumbers {
    /// Whether one of them is greater than the same one of others.
    fn exceed(&self, others: &ChangeNumbers) -> bool {
        self.records > others.records
            || self.embeddings > others.embeddings
            || self.links > others.links
            || self.tombstones > others.tombstones
    }
}

/// What has one of the numbers. If something else has the same number in a store, its history is another.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Witness {
    pub part: String,
    pub n: i64,
    /// A digest, so that a cursor says nothing of what was forgotten later.
    digest: String,
}

/// The number of the last changes of each part that are witnesses: one that was removed later is none any more.
pub(super) const WITNESSES: usize = 8;

/// The hexadecimal digits of a witness's digest.
const DIGEST_DIGITS: usize = 16;

impl Witness {
    pub(super) fn new(part: &str, n: i64, name: &str) -> Witness {
        let mut digest = identity_digest(part, name);
        digest.truncate(DIGEST_DIGITS);
        Witness { part: part.to_owned(), n, digest }
    }
}

/// The changes of a store so far.
pub struct ChangeState {
    /// The id of the store.
    pub store: String,
    pub numbers: ChangeNumbers,
    /// Those of the last numbers, and of the numbers that were asked for.
    pub witnesses: Vec<Witness>,
}

/// A place between two changes of a store, from which an export goes on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Cursor {
    store: String,
    /// What the export writes; another selection would have left out other changes.
    selection: String,
    numbers: ChangeNumbers,
    witnesses: Vec<Witness>,
}

/// The remedy for a cursor that does not fit.
const EXPORT_ALL: &str =
    "leave out --new-since once; an import of the whole export changes nothing that is there";

impl Cursor {
    /// The cursor after all changes of now.
    pub fn now(store: &mut dyn Store, selection: &str) -> Result<Cursor> {
        let ChangeState { store, numbers, mut witnesses } = store.change_state(&[])?;
        witnesses.sort_by(|one, other| (&one.part, one.n).cmp(&(&other.part, other.n)));
        Ok(Cursor { store, selection: selection.to_owned(), numbers, witnesses })
    }

    /// Reads a cursor from a file; none if there is no file.
    pub fn read(file: &Path) -> Result<Option<Cursor>> {
        let text = match fs::read_to_string(file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            text => text.context(format_args!("cannot read {}", file.display()))?,
        };
        let cursor = serde_json::from_str(&text).context(format_args!("{}: is no cursor", file.display()));
        cursor.map(Some).map_err(|error| error.hint(EXPORT_ALL))
    }

    /// Writes the cursor to a file as a line of JSON; the file has all of it or stays as it was.
    pub fn write(&self, file: &Path) -> Result<()> {
        let context = format!("cannot write {}", file.display());
        let json = serde_json::to_string(self).context(&context)? + "\n";
        let directory = file.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
        let mut new = NamedTempFile::new_in(directory).context(&context)?;
        new.write_all(json.as_bytes()).and_then(|()| new.as_file().sync_all()).context(&context)?;
        new.persist(file).map(drop).map_err(|error| error.error).context(context)
    }

    /// The numbers of the last changes before it. Errors if it is not one of this store and selection.
    pub fn changed_since(&self, store: &mut dyn Store, selection: &str) -> Result<ChangeNumbers> {
        let now = store.change_state(&self.witnesses)?;
        let is_other = |there: &Witness| {
            let same_number = |witness: &&Witness| witness.part == there.part && witness.n == there.n;
            self.witnesses.iter().find(same_number).is_some_and(|witness| witness != there)
        };
        let refused = |text: &str| Err(Error::new(text).hint(EXPORT_ALL));
        if self.store != now.store {
            return refused("is of another store");
        }
        if self.numbers.exceed(&now.numbers) || now.witnesses.iter().any(is_other) {
            return refused("is later than this store, which was restored from an older copy");
        }
        if self.selection != selection {
            return refused("is of an export of something else, such as another partition");
        }
        Ok(self.numbers)
    }
}
