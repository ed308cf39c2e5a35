//! The faults of settings and of their files.

use crate::error::{Failure, Hint, plain};
use std::io;
use std::path::PathBuf;
use toml_edit::TomlError;

/// The reason why a setting cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot locate {what}: HOME is not set")]
    NoHome { what: &'static str, help: &'static str },
    #[error("cannot open {}: no such file or directory", .0.display())]
    NoFile(PathBuf),
    #[error("cannot be read")]
    Unreadable(#[source] io::Error),
    #[error("cannot write {}: is not a file", .0.display())]
    NotAFile(PathBuf),
    #[error("{}: too many symbolic links", .0.display())]
    Links(PathBuf),
    #[error("invalid UTF-8")]
    InvalidUtf8,
    #[error("{what} is not valid UTF-8")]
    NotUnicode { what: String, help: Option<&'static str> },
    #[error("invalid TOML: {}", plain(.0.message()))]
    InvalidToml(TomlError),
    #[error("{}", .0.message())]
    Unwritable(TomlError),
    #[error("unknown key: {key}")]
    UnknownKey { key: String, help: Option<String> },
    #[error("{key}: is empty")]
    Empty { key: String },
    #[error("{key}: is a section of the file")]
    Section { key: String },
    #[error("{key}: is not a table")]
    NotATable { key: String },
    #[error("{}: cannot change {key} in place", .path.display())]
    Layout { path: PathBuf, key: String },
    #[error("routes.{route}: has no base_url")]
    NoBaseUrl { route: String },
    /// The value may be a secret, and is not shown.
    #[error("expected {0}")]
    Expected(String),
    #[error("expected {expected}, found {found}")]
    Found { expected: String, found: String },
    #[error("expected the path of a file, sqlite:PATH, or the address of a server, found {found}")]
    InMemory { found: String },
}

impl Failure for ConfigError {
    fn hint(&self) -> Hint {
        Some(match self {
            ConfigError::NoHome { help, .. } | ConfigError::NotUnicode { help: Some(help), .. } => {
                (*help).into()
            }
            ConfigError::NoFile(_) => "create it with: rsv-config --config FILE set KEY VALUE".into(),
            ConfigError::UnknownKey { help: Some(help), .. } => help.clone().into(),
            ConfigError::Empty { key } => format!("rsv-config unset '{key}'").into(),
            ConfigError::Layout { .. } => "edit the file by hand".into(),
            ConfigError::NoBaseUrl { route } => {
                format!("rsv-config set 'routes.{route}.base_url' URL").into()
            }
            ConfigError::InMemory { .. } => {
                "no store is in memory, where it would end with the tool; one that is \
                thrown away: --store \"$(mktemp -d)/store.db\""
                    .into()
            }
            _ => return None,
        })
    }
}
