//! The faults of what is to be imported or watched.

use crate::error::failures;
use std::path::PathBuf;

failures! { pub(super) enum ImportRunError {
    NoHome ("cannot find the home directory: HOME is not set") => "set HOME, or name the files",
    NoTerminal ("cannot ask whether to import: there is no terminal")
        => "run the commands that --find prints",
    NotADirectory { path: PathBuf } ("cannot watch {path}: is no directory")
        => "name the directories in which a program keeps its sessions",
    NoSessions ("no program keeps sessions in the home directory") => "name the directories to watch",
} }
