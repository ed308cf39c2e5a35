//! The parts of a record that the indexes need.

use super::collections::CollectionRow;
use crate::record::Role;
use rusqlite::{Connection, OptionalExtension};

/// The columns of a record that an index needs.
#[derive(Clone, Copy)]
pub(super) struct RecordRow {
    /// Its number.
    pub(super) n: i64,
    pub(super) collection: CollectionRow,
    pub(super) timestamp: i64,
    pub(super) role: Option<Role>,
}

impl RecordRow {
    /// Whether records of its kind are searched by their vectors.
    pub(super) fn is_embedded(&self) -> bool {
        self.collection.kind.embedded.is_some()
    }
}

/// The part of a record that the word index needs: the columns of a selection, and its length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DocMeta {
    pub(super) n: i64,
    pub(super) timestamp: i64,
    /// Its length in words.
    pub(super) length: u32,
    /// The `role_bit` of its role. Two bits of an index keep it: a document without a role comes back as a
    /// user's.
    pub(super) role: u8,
}

/// The record that has an id. Fails if the file cannot be read, or the kind is unknown.
pub(super) fn by_id(connection: &Connection, id: &str) -> rusqlite::Result<Option<RecordRow>> {
    let sql = "SELECT record.n, collection, timestamp, role, kind
               FROM record JOIN collection ON collection.n = collection WHERE id = ?";
    let mut statement = connection.prepare_cached(sql)?;
    let read = |row: &rusqlite::Row| {
        let collection = CollectionRow { n: row.get(1)?, kind: row.get(4)? };
        Ok(RecordRow { n: row.get(0)?, collection, timestamp: row.get(2)?, role: row.get(3)? })
    };
    statement.query_row([id], read).optional()
}

/// The name of the kind of the record that has an id.
pub(super) fn kind_of(connection: &Connection, id: &str) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT kind FROM record JOIN collection ON collection.n = collection WHERE id = ?";
    connection.prepare_cached(sql)?.query_row([id], |row| row.get(0)).optional()
}

/// A vector as it is stored, its length (norm) unchanged: f32, little-endian.
pub(super) fn bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// A stored vector, of any length (norm). Bytes after the last whole number are ignored.
pub(super) fn numbers(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|number| f32::from_le_bytes(*number)).collect()
}
