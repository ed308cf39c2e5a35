//! Facts about the store, by name.

use crate::store::imports::FactTable;
use rusqlite::{Connection, OptionalExtension, params};

/// The value of a fact. Fails if the file cannot be read.
pub(super) fn get(connection: &Connection, name: &str) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT value FROM fact WHERE name = ?";
    connection.prepare_cached(sql)?.query_row([name], |row| row.get(0)).optional()
}

/// Sets or removes a fact. Fails if the file cannot be written.
pub(super) fn set(connection: &Connection, name: &str, value: Option<&str>) -> rusqlite::Result<()> {
    let sql = match value {
        Some(_) => {
            "INSERT INTO fact (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2"
        }
        None => "DELETE FROM fact WHERE name = ?1 AND ?2 IS NULL",
    };
    connection.prepare_cached(sql)?.execute(params![name, value]).map(drop)
}

/// Removes a fact if it still has a value.
pub(super) fn clear(connection: &Connection, name: &str, value: &str) -> rusqlite::Result<()> {
    let sql = "DELETE FROM fact WHERE name = ? AND value = ?";
    connection.prepare_cached(sql)?.execute([name, value]).map(drop)
}

/// The facts whose names begin with a prefix, by name.
pub(super) fn all(connection: &Connection, prefix: &str) -> rusqlite::Result<Vec<(String, String)>> {
    let sql = "SELECT name, value FROM fact WHERE name >= ?1 AND name < ?1 || char(0x10ffff) ORDER BY name";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_map([prefix], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

impl FactTable for &Connection {
    type Error = rusqlite::Error;

    fn get(&mut self, name: &str) -> rusqlite::Result<Option<String>> {
        get(self, name)
    }

    fn set(&mut self, name: &str, value: Option<&str>) -> rusqlite::Result<()> {
        set(self, name, value)
    }

    fn all(&mut self, prefix: &str) -> rusqlite::Result<Vec<(String, String)>> {
        all(self, prefix)
    }
}
