//! The faults of settings and of their files.

use crate::error::{failures, plain};
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use toml_edit::TomlError;

failures! { pub enum ConfigError {
    NoHome { what: &'static str, help: &'static str } ("cannot locate {what}: HOME is not set") => "{help}",
    NoFile { path: PathBuf } ("cannot open {path}: no such file or directory")
        => "create it with: rsv-config --config FILE set KEY VALUE",
    Unreadable { source: io::Error } ("cannot be read"),
    NotAFile { path: PathBuf } ("cannot write {path}: is not a file"),
    InvalidUtf8 ("invalid UTF-8"),
    /// `of` is a key, a variable, or a path.
    Invalid { of: String, fault: &'static str } ("{of}: {fault}"),
    NotUnicodePath { of: &'static str, help: &'static str } ("the path of the {of} is not valid UTF-8")
        => "{help}",
    InvalidToml { error: TomlError } ("invalid TOML: {}", plain(.error.message())),
    Unwritable { error: TomlError } ("{}", .error.message()),
    UnknownKey { key: String } ("unknown key: {key}"),
    Empty { key: String } ("{key}: is empty") => "rsv-config unset '{key}'",
    Layout { path: PathBuf, key: String } ("{path}: cannot change {key} in place") => "edit the file by hand",
    NoBaseUrl { route: String } ("routes.{route}: has no base_url")
        => "rsv-config set 'routes.{route}.base_url' URL",
    /// The value may be a secret, and is not shown.
    Expected { expected: String } ("expected {expected}"),
    Found { expected: String, found: String } ("expected {expected}, found {found}"),
    OnCommandLine { key: String } ("{key}: is a secret, and other users can see a command line")
        => "'rsv-config set {key} -' reads it from standard input",
    Editor { name: String, ended: ExitStatus } ("{name}: {ended}") => "set VISUAL or EDITOR to another editor",
    InMemory { found: String }
        ("expected the path of a file, sqlite:PATH, or the address of a server, found {found}")
        => "no store is in memory, where it would end with the tool; one that is thrown away: --store \"$(mktemp -d)/store.db\"",
} }
