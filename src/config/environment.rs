//! The environment: variables, and where the XDG base directories are.

use super::error::ConfigError;
use crate::error::{Context, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A variable's text; set to nothing counts as unset. Fails if the text is not UTF-8.
pub(super) fn variable(name: &str) -> Result<Option<String>> {
    match std::env::var_os(name).filter(|value| !value.is_empty()) {
        None => Ok(None),
        Some(value) => value
            .into_string()
            .map(Some)
            .map_err(|_| ConfigError::Invalid { of: name.to_owned(), fault: "is not valid UTF-8" }.into()),
    }
}

/// A variable that holds a path.
pub(super) fn path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// A variable that holds paths, with colons between them.
fn paths(name: &str) -> Vec<PathBuf> {
    let list = path(name).unwrap_or_default();
    std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect()
}

/// The command that opens a file for the user to change, as git has it: `VISUAL`, else `EDITOR`, else vi.
pub fn editor() -> OsString {
    let command = path("VISUAL").or_else(|| path("EDITOR"));
    command.map_or_else(|| "vi".into(), PathBuf::into_os_string)
}

/// The locale of messages, such as `de_DE.UTF-8`, by the first variable that is set; none is not UTF-8.
pub fn locale() -> Option<String> {
    ["LC_ALL", "LC_MESSAGES", "LANG"].iter().find_map(|name| variable(name).ok().flatten())
}

/// The hosts that are reached without a proxy: those of `no_proxy`, else of `NO_PROXY`, and these, separated
/// by commas. `*` means every host, and must be alone.
pub fn no_proxy(hosts: [&str; 2]) -> String {
    let set = ["no_proxy", "NO_PROXY"].map(|name| variable(name).ok().flatten());
    let set = set.into_iter().flatten().next().unwrap_or_default();
    if set.trim() == "*" {
        return set;
    }
    let there: Vec<&str> = set.split(',').map(str::trim).filter(|host| !host.is_empty()).collect();
    let more = hosts.into_iter().filter(|host| !there.contains(host));
    there.iter().copied().chain(more).collect::<Vec<_>>().join(",")
}

/// The directory `rsv` in an XDG base directory; `fallback` is where that is in the home directory. The
/// specification has relative values ignored.
pub(super) fn xdg(name: &str, fallback: &str) -> Option<PathBuf> {
    xdg_base(name, fallback).map(|base| base.join("rsv"))
}

/// The XDG base directory itself.
pub(super) fn xdg_base(name: &str, fallback: &str) -> Option<PathBuf> {
    let base = path(name).filter(|base| base.is_absolute());
    base.or_else(|| path("HOME").map(|home| home.join(Path::new(fallback))))
}

/// The store in the XDG data directory, if there is one. Fails if its path is not UTF-8.
pub(super) fn default_store() -> Result<Option<String>> {
    let Some(path) = xdg("XDG_DATA_HOME", ".local/share") else {
        return Ok(None);
    };
    let path = path.join("store.db").into_os_string().into_string();
    let help = "set RSV_STORE, or give --store PATH";
    let path = path.map_err(|_| ConfigError::NotUnicodePath { of: "home directory", help })?;
    Ok(Some(format!("sqlite:{path}")))
}

/// The working directory, as the shell has it. Fails if it is gone, or its path is not UTF-8.
pub fn working_directory() -> Result<String> {
    let directory = std::env::current_dir().context("cannot find the working directory")?;
    let directory = directory.into_os_string().into_string();
    let help = "name a partition with -p";
    directory.map_err(|_| ConfigError::NotUnicodePath { of: "working directory", help }.into())
}

/// Directories and files that the environment names. None is created or opened.
#[derive(Clone, Debug)]
pub struct EnvironmentPaths {
    /// The home directory.
    pub home: Option<PathBuf>,
    /// `rsv` in the XDG data directory; none without a home.
    pub data: Option<PathBuf>,
    /// `rsv` in the XDG cache directory; none without a home.
    pub cache: Option<PathBuf>,
    /// `rsv` in the XDG state directory; none without a home.
    pub state: Option<PathBuf>,
    /// The directory that the running program is in.
    pub program: Option<PathBuf>,
    /// The directories in which the shell looks for programs.
    pub programs: Vec<PathBuf>,
    /// `MANPATH`, in which manual pages may be.
    pub manuals: Vec<PathBuf>,
    /// The name of the user's shell: `bash`.
    pub shell: Option<String>,
    /// The directories of other programs that variables name, each with its usual place in the home
    /// directory.
    pub moved: Vec<(&'static str, PathBuf)>,
    /// The directories of downloads.
    pub downloads: Vec<PathBuf>,
    /// `ORT_DYLIB_PATH`, by which other programs find ONNX Runtime's library.
    pub ort_dylib_path: Option<PathBuf>,
}

impl EnvironmentPaths {
    /// Reads the environment.
    pub fn find() -> EnvironmentPaths {
        let program = std::env::current_exe().ok();
        EnvironmentPaths {
            home: path("HOME"),
            data: xdg("XDG_DATA_HOME", ".local/share"),
            cache: xdg("XDG_CACHE_HOME", ".cache"),
            state: xdg("XDG_STATE_HOME", ".local/state"),
            program: program.and_then(|program| program.parent().map(Path::to_owned)),
            programs: paths("PATH"),
            manuals: paths("MANPATH"),
            shell: path("SHELL").and_then(|shell| Some(shell.file_name()?.to_str()?.to_owned())),
            moved: MOVED
                .iter()
                .filter_map(|(name, usual)| Some((*usual, path(name).filter(|path| path.is_absolute())?)))
                .collect(),
            downloads: downloads(),
            ort_dylib_path: path("ORT_DYLIB_PATH"),
        }
    }
}

/// The variables by which people move the directories of programs, and their usual places in the home
/// directory.
const MOVED: [(&str, &str); 6] = [
    ("CLAUDE_CONFIG_DIR", ".claude"),
    ("CODEX_HOME", ".codex"),
    ("GEMINI_CLI_HOME", ".gemini"),
    ("QWEN_HOME", ".qwen"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_CONFIG_HOME", ".config"),
];

/// The directory of downloads: that of `user-dirs.dirs`, which desktops write, and the usual one.
fn downloads() -> Vec<PathBuf> {
    let Some(home) = path("HOME") else { return Vec::new() };
    let file = xdg_base("XDG_CONFIG_HOME", ".config").map(|base| base.join("user-dirs.dirs"));
    let text = file.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    let named = text.lines().find_map(|line| line.trim().strip_prefix("XDG_DOWNLOAD_DIR="));
    let named = named.map(|value| value.trim_matches('"')).map(|value| match value.strip_prefix("$HOME/") {
        Some(rest) => home.join(rest),
        None => PathBuf::from(value),
    });
    let usual = home.join("Downloads");
    let mut all: Vec<PathBuf> =
        named.into_iter().filter(|path| path.is_absolute() && *path != home).collect();
    if !all.contains(&usual) {
        all.push(usual);
    }
    all
}
