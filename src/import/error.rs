//! The faults of inputs in other programs' formats.

use crate::error::failures;
use std::path::PathBuf;
use zip::CompressionMethod;

failures! { pub enum ImportError {
    UnknownFormat { name: String, known: String } ("--from: unknown format {name:?}") => "one of: {known}",
    Unrecognized { looks: &'static str, known: String } ("has no known format; it looks like {looks}")
        => "name its format with --from, or the columns of a table with --map: {known}",
    Unreadable { reason: String } ("is not read: {reason}"),
    NotADatabase ("is no SQLite database") => "name the file of the database",
    Link { path: PathBuf, kind: &'static str } ("cannot read {path}: is a link to a {kind}")
        => "name the file itself",
    NoData { path: PathBuf } ("cannot read {path}: an entry has no data"),
    NotInArchive { entry: String } ("cannot read {entry}: the archive lacks it"),
    Encrypted { entry: String } ("cannot read {entry}: is encrypted") => "extract it, and name the file",
    Compressed { entry: String, method: CompressionMethod } ("cannot read {entry}: is compressed by {method}")
        => "extract it, and name the file",
    TooManyWatched { path: PathBuf } ("cannot watch {path}: the system watches too many directories already")
        => "raise fs.inotify.max_user_watches: see inotify(7)",
    NoColumn { named: String, columns: String } ("--map: there is no column {named:?}")
        => "the columns are {columns}",
    Cells { found: u64, expected: u64 } ("has {found} cells, but the first line {expected}"),
    NoTime { member: &'static str, of: &'static str } ("{member}: is missing")
        => "give {of} without a time one with --at TIME",
    TimeUnit { found: f64 } ("expected a time in seconds, milliseconds or smaller units, found {found}"),
    NoTimeAfter { after: &'static str, found: String } ("expected a time after {after:?}, found {found:?}"),
    DataType { name: String } ("data_type: {name} is not known"),
} }
