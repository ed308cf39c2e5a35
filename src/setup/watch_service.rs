//! The service that imports the sessions of coding agents as they are written.

use super::error::SetupError;
use crate::config::EnvironmentPaths;
use crate::error::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The name of its unit.
const UNIT: &str = "rsv-import.service";
/// The unit as packages have it.
const TEMPLATE: &str = include_str!("../../services/systemd/rsv-import.service");
/// The command in it.
const TEMPLATE_COMMAND: &str = "\"/usr/bin/rsv-import\" --watch";

/// The service's manager, and whether it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WatchService {
    /// It is started with the user's other services.
    Enabled,
    /// systemd serves the user, and can start it.
    Available,
    /// There is no systemd for this user.
    Missing,
}

impl WatchService {
    /// Asks systemd.
    pub(super) fn find(paths: &EnvironmentPaths) -> WatchService {
        let Some(systemctl) = program(paths, "systemctl") else { return WatchService::Missing };
        if succeeds(&systemctl, &["is-enabled", UNIT]) {
            WatchService::Enabled
        } else if succeeds(&systemctl, &["show-environment"]) {
            WatchService::Available
        } else {
            WatchService::Missing
        }
    }
}

/// Starts the service, now and at each login, with these arguments behind `--watch`. Its unit is written
/// unless it is installed and needs no arguments.
pub(super) fn start(paths: &EnvironmentPaths, tool: &Path, args: &[String]) -> Result<()> {
    let systemctl = program(paths, "systemctl").ok_or(SetupError::NoSystemctl)?;
    if !args.is_empty() || !succeeds(&systemctl, &["cat", UNIT]) {
        let directory = unit_directory(paths).ok_or(SetupError::NoHome)?;
        let file = directory.join(UNIT);
        let cannot = format!("cannot write {}", file.display());
        fs::create_dir_all(&directory).context(&cannot)?;
        super::client_file::replace(&file, &unit(tool, args))?;
    }
    for words in [&["daemon-reload"][..], &["enable", "--now", UNIT]] {
        if !succeeds(&systemctl, words) {
            let command = format!("systemctl --user {}", words.join(" "));
            return Err(SetupError::Command { command }.into());
        }
    }
    Ok(())
}

/// The line for a crontab that does the same where there is no systemd.
pub(super) fn cron_line(tool: &Path, args: &[String]) -> String {
    let words = [crate::cli::quoted(tool), "--quiet --watch".to_owned()];
    let args = args.iter().map(|arg| crate::cli::quoted(Path::new(arg)));
    let line = words.into_iter().chain(args).collect::<Vec<_>>().join(" ");
    // A per cent sign ends the command in a crontab.
    format!("@reboot {}", line.replace('%', "\\%"))
}

/// The unit for this tool. In a quoted word a backslash and a quote need one before them; a per cent sign
/// names something of systemd's.
fn unit(tool: &Path, args: &[String]) -> String {
    let quoted =
        |word: &str| format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%"));
    let mut command = format!("{} --watch", quoted(&tool.display().to_string()));
    for arg in args {
        command.push_str(&format!(" {}", quoted(arg)));
    }
    format!("# Written by rsv-config init.\n{}", TEMPLATE.replace(TEMPLATE_COMMAND, &command))
}

/// The directory of the user's own units.
fn unit_directory(paths: &EnvironmentPaths) -> Option<PathBuf> {
    let moved = paths.moved.iter().find(|(usual, _)| *usual == ".config").map(|(_, moved)| moved.clone());
    Some(moved.or_else(|| Some(paths.home.as_ref()?.join(".config")))?.join("systemd/user"))
}

fn program(paths: &EnvironmentPaths, name: &str) -> Option<PathBuf> {
    paths.programs.iter().map(|directory| directory.join(name)).find(|path| path.is_file())
}

/// Whether a command of the user's manager succeeds.
fn succeeds(systemctl: &Path, words: &[&str]) -> bool {
    let mut command = Command::new(systemctl);
    command.arg("--user").args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_runs_this_tool() {
        let unit = unit(Path::new("/o \"p\"/100%/rsv-import"), &["--store".into(), "a b".into()]);
        let wanted =
            "\nExecStart=:/usr/bin/env \"/o \\\"p\\\"/100%%/rsv-import\" --watch \"--store\" \"a b\"\n";
        assert!(unit.contains(wanted), "{unit}");
    }
}
