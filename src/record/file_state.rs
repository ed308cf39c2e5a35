//! The state of a file or a commit that a message names, in the project's tree of today.

use super::object::{Object, quote};
use std::fmt;

/// A name in a message that is no longer true of the project's tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileState {
    /// A file that no longer exists.
    Gone { path: String },
    /// A file that has another name, by git.
    Moved { path: String, to: String },
    /// A file whose content was changed after the message.
    Changed { path: String },
    /// A commit that no branch or tag reaches.
    NoCommit { commit: String },
}

const GONE: &str = "gone";
const MOVED: &str = "moved";
const CHANGED: &str = "changed";
const UNKNOWN: &str = "unknown";

impl FileState {
    /// Reads one of an account. `None` if it is of another shape.
    pub(super) fn parse(entry: &Object) -> Option<FileState> {
        let text = |name| entry.valid_text(name);
        let (path, state) = (text("path"), text("state")?);
        match state.as_str() {
            GONE => Some(FileState::Gone { path: path? }),
            MOVED => Some(FileState::Moved { path: path?, to: text("to")? }),
            CHANGED => Some(FileState::Changed { path: path? }),
            UNKNOWN => Some(FileState::NoCommit { commit: text("commit")? }),
            _ => None,
        }
    }

    fn to_json(&self) -> String {
        let file = |path: &str, state| format!("{{\"path\":{},\"state\":\"{state}\"}}", quote(path));
        match self {
            FileState::Gone { path } => file(path, GONE),
            FileState::Changed { path } => file(path, CHANGED),
            FileState::Moved { path, to } => {
                format!("{{\"path\":{},\"state\":\"{MOVED}\",\"to\":{}}}", quote(path), quote(to))
            }
            FileState::NoCommit { commit } => {
                format!("{{\"commit\":{},\"state\":\"{UNKNOWN}\"}}", quote(commit))
            }
        }
    }
}

/// The phrase about it: `src/pay.rs is gone since`, after the date of the message.
impl fmt::Display for FileState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileState::Gone { path } => write!(f, "{path} is gone since"),
            FileState::Moved { path, to } => write!(f, "{path} moved to {to}"),
            FileState::Changed { path } => write!(f, "{path} changed since"),
            FileState::NoCommit { commit } => write!(f, "commit {commit} is not in the history"),
        }
    }
}

/// The member `files`, with a comma in front; nothing where nothing is to be said.
pub(super) fn files_member(files: &[FileState]) -> String {
    if files.is_empty() {
        return String::new();
    }
    let files: Vec<String> = files.iter().map(FileState::to_json).collect();
    format!(",\"files\":[{}]", files.join(","))
}
