//! The options of a run.

use super::format::Format;
use super::known::Known;
use super::node::GivenScope;
use std::ffi::OsString;

/// The options of a run that hold for every file.
#[derive(Default, Debug)]
pub struct Options {
    pub scope: GivenScope,
    /// The nodes that need not be parsed again.
    pub known: Known,
    /// The format of the operands, if it is not to be recognized by content and name.
    pub format: Option<Format>,
    /// Whether archives are opened.
    pub archives: bool,
    /// Whether files of kinds that are not read are errors in directories too.
    pub strict: bool,
    /// Whether symbolic links in directories are followed.
    pub follow: bool,
    /// Whether addresses of this machine and of private networks are fetched.
    pub private: bool,
    /// The command that reads a PDF from standard input and prints its text; without one, it is read in this
    /// process.
    pub pdf_reader: Option<Vec<OsString>>,
}
