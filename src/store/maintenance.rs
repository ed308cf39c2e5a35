//! The capability of a store to care for itself; `api.rs` says what holds of every method.

use super::error::Result;
use super::rename::{Obstacle, Rename};
use crate::error::Error;
use std::path::Path;

/// The fact that is set while the store's files still hold text of removed records.
pub const ERASE_PENDING: &str = "erase";

/// The care of a store's files, its indexes, its names and what other programs write into it. Most methods
/// need not be written by a store that has nothing of the kind.
pub trait Maintenance {
    /// Errors if the store's file was removed, renamed or replaced since it was opened, or is of a later
    /// release now.
    fn check_place(&mut self) -> Result<()> {
        Ok(())
    }

    /// Clears what removed records left in the store's files; waits some seconds for readers of old
    /// snapshots. Returns false if a reader is still active then; the next writer tries again.
    fn erase(&mut self, _what: Leftovers) -> Result<bool> {
        Ok(true)
    }

    /// Copies the store's file, as it is at one moment, into an empty one, while others may write to the
    /// store. Returns false, and copies nothing, if the store is no file.
    fn copy_file(&mut self, _to: &Path) -> Result<bool> {
        Ok(false)
    }

    /// Moves all records of a partition to another name, with their vectors, links and synapses; returns
    /// their number. All are moved or none, except that a database server may move many in several
    /// transactions: the same call continues. The inner error says why nothing was moved.
    fn rename(&mut self, rename: &Rename) -> Result<std::result::Result<u64, Obstacle>>;

    /// Examines the store's file, and finds up to `most` errors in it.
    fn examine(&mut self, _most: u32) -> Result<FileState> {
        Ok(FileState::default())
    }

    /// Brings some of what the store has for the search by words to the present version, which a release may
    /// have changed; returns the number of records that are left. Each call takes a moment, so that other
    /// writers need not wait.
    fn update_words(&mut self) -> Result<u64> {
        Ok(0)
    }

    /// The number of records whose words are of an earlier version yet. They are found by that.
    fn outdated_words(&mut self) -> Result<u64> {
        Ok(0)
    }

    /// Rebuilds what follows from the records. Returns in words what was wrong, and what was done.
    fn repair(&mut self, _what: Derived) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Takes over the messages that another program wrote into the same database: each gets an id, and its
    /// vector is kept like all others. Returns their number.
    fn adopt(&mut self) -> Result<u64> {
        Ok(0)
    }

    /// The messages that another program wrote into the same database and that cannot be read, so that they
    /// are left out everywhere: the reasons for the first `most`, and the number of all.
    fn unreadable(&mut self, _most: usize) -> Result<(Vec<Error>, usize)> {
        Ok((Vec::new(), 0))
    }
}

/// The traces of removed records in a store's files.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Leftovers {
    /// Their texts.
    Texts,
    /// Unused bytes, which are returned to the file system, and their texts.
    Space,
}

/// The state of a store's file. A database server looks after its own.
#[derive(Debug, Default)]
pub struct FileState {
    /// Its errors, in words.
    pub errors: Vec<String>,
    /// The number of unused bytes in it.
    pub unused_bytes: u64,
}

/// The derived data of a store.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Derived {
    /// All of it: indexes, marks and counts.
    All,
    /// The indexes of vectors, as far as they differ from the vectors.
    VectorIndexes,
    /// The sums of [`State::tallies`](super::State::tallies).
    Tallies,
}
