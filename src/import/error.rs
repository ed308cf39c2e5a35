//! The faults of inputs in other programs' formats.

use crate::error::{Failure, Hint};
use std::path::PathBuf;
use zip::CompressionMethod;

/// The reason why an input, or a record in it, is not imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("--from: unknown format {name:?}")]
    UnknownFormat { name: String, known: String },
    #[error("has no known format; it looks like {looks}")]
    Unrecognized { looks: &'static str, known: String },
    #[error("is not read: {0}")]
    Unreadable(String),
    #[error("is no SQLite database")]
    NotADatabase,
    #[error("cannot read {}: is a link to a {kind}", .path.display())]
    Link { path: PathBuf, kind: &'static str },
    #[error("cannot read {entry}: an entry has no data")]
    NoData { entry: String },
    #[error("cannot read {entry}: the archive lacks it")]
    NotInArchive { entry: String },
    #[error("cannot read {entry}: is encrypted")]
    Encrypted { entry: String },
    #[error("cannot read {entry}: is compressed by {method}")]
    Compressed { entry: String, method: CompressionMethod },
    #[error("cannot watch {}: the system watches too many directories already", .0.display())]
    TooManyDirectories(PathBuf),
    #[error("--map: there is no column {source_column:?}")]
    NoColumn { source_column: String, columns: Vec<String> },
    #[error("has {found} cells, but the first line {expected}")]
    Cells { found: u64, expected: u64 },
    /// `of` is what may have no time of its own, such as messages.
    #[error("{member}: is missing")]
    NoTime { member: &'static str, of: &'static str },
    #[error("expected a time in seconds, milliseconds or smaller units, found {0}")]
    TimeUnit(f64),
    #[error("expected a time after {after:?}, found {found:?}")]
    NoTimeAfter { after: &'static str, found: String },
    #[error("data_type: {0} is not known")]
    DataType(String),
}

impl Failure for ImportError {
    fn hint(&self) -> Hint {
        Some(match self {
            ImportError::UnknownFormat { known, .. } => format!("one of: {known}").into(),
            ImportError::Unrecognized { known, .. } => {
                format!("name its format with --from, or the columns of a table with --map: {known}").into()
            }
            ImportError::NotADatabase => "name the file of the database".into(),
            ImportError::Link { .. } => "name the file itself".into(),
            ImportError::Encrypted { .. } | ImportError::Compressed { .. } => {
                "extract it, and name the file".into()
            }
            ImportError::TooManyDirectories(_) => "raise fs.inotify.max_user_watches: see inotify(7)".into(),
            ImportError::NoColumn { columns, .. } => format!("the columns are {}", columns.join(", ")).into(),
            ImportError::NoTime { of, .. } => format!("give {of} without a time one with --at TIME").into(),
            _ => return None,
        })
    }
}
