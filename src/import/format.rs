//! A format of another program: how its inputs are recognized, and how they are read.

use super::conversation::ImportOptions;
use super::database::Database;
use super::objects::Convert;
use super::sample::Sample;
use crate::error::Result;
use crate::lines::ObjectSource;
use std::io::Read;
use std::path::Path;

/// The bytes of an input.
pub(super) type Bytes = Box<dyn Read + Send>;

/// A format of files with messages.
pub struct ImportFormat {
    /// Its name, for `--from`.
    pub name: &'static str,
    /// The files that have it, for people.
    pub about: &'static str,
    /// The places in a home directory where a program keeps such files.
    pub places: &'static [&'static str],
    /// Whether its files have no times, so that `--from` and `--at` are needed.
    pub timeless: bool,
    /// Whether an input has it.
    pub(super) recognize: fn(&Sample) -> bool,
    pub(super) read: ReadFormat,
}

/// The way to read a format.
pub(super) enum ReadFormat {
    /// JSON objects that are lines of rsv already.
    Lines,
    /// JSON objects that become lines; the path is that of the file, if the input is one.
    Objects(fn(&ImportOptions, Option<&Path>) -> Box<dyn Convert>),
    /// Text of another form than JSON.
    Text(fn(TextInput) -> Box<dyn ObjectSource>),
    /// An SQLite database.
    Database(DatabaseFormat),
}

/// An input of text.
pub(super) struct TextInput<'a> {
    pub(super) name: &'a str,
    pub(super) bytes: Bytes,
    pub(super) options: &'a ImportOptions,
}

/// The way to read the databases of a program.
pub(super) struct DatabaseFormat {
    /// Whether a database is one of these.
    pub(super) recognize: fn(&Database) -> bool,
    pub(super) open: fn(&str, Database, &ImportOptions) -> Result<Box<dyn ObjectSource>>,
}
