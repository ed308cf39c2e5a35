//! The tools themselves: which of them the shell finds, their manual and their completions.

use super::error::DoctorError;
use super::finding::Finding;
use crate::cli::quoted;
use crate::config::EnvironmentPaths;
use crate::error::Result;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Every tool of the suite.
pub const TOOLS: [&str; 19] = [
    "rsv",
    "rsv-ask",
    "rsv-config",
    "rsv-distill",
    "rsv-embed",
    "rsv-enrich",
    "rsv-export",
    "rsv-forget",
    "rsv-forward",
    "rsv-import",
    "rsv-ingest",
    "rsv-link",
    "rsv-mcp",
    "rsv-merge",
    "rsv-parse",
    "rsv-proxy",
    "rsv-search",
    "rsv-signal",
    "rsv-view",
];

/// Looks for all of it.
pub(super) fn examine() -> Vec<Finding> {
    let places = EnvironmentPaths::find();
    let mut found = vec![Finding::from_result("tools", tools(&places))];
    let manual = manuals(&places).into_iter().find(|page| page.exists());
    found.push(installed_file("manual", "man cannot find the manual", manual));
    if let Some(places) = completions(&places) {
        let script = places.into_iter().find(|script| script.exists());
        found.push(installed_file("completions", "the shell has no completions for the tools", script));
    }
    found
}

fn installed_file(check: &'static str, missing: &'static str, found: Option<PathBuf>) -> Finding {
    match found {
        Some(path) => Finding::ok(check, path.display().to_string()),
        None => Finding::advice(check, DoctorError::NotInstalled { missing }),
    }
}

/// Errors if the shell would not find all tools, or one of another version.
fn tools(places: &EnvironmentPaths) -> Result<String> {
    let own = env!("CARGO_PKG_VERSION");
    let here = places.program.as_deref().map_or("DIRECTORY".to_owned(), quoted);
    let mut directories = BTreeSet::new();
    for tool in TOOLS {
        let named = places.programs.iter().map(|directory| directory.join(tool));
        let Some(path) = { named }.find(|path| path.is_file()) else {
            return Err(DoctorError::NoTool { tool, here }.into());
        };
        if version(&path).as_deref() != Some(own) {
            let other =
                version(&path).map_or("another program".to_owned(), |version| format!("version {version}"));
            return Err(
                DoctorError::OtherTool { path, is: format!("{other}, but this is {own}"), here }.into()
            );
        }
        directories.insert(path.parent().unwrap_or(Path::new("")).display().to_string());
    }
    Ok(format!("{own}, in {}", directories.into_iter().collect::<Vec<_>>().join(", ")))
}

/// The version that a tool reports.
fn version(tool: &Path) -> Option<String> {
    let mut command = Command::new(tool);
    let output = command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let output = String::from_utf8(output.stdout).ok()?;
    let (name, version) = output.trim_end().split_once(' ')?;
    tool.ends_with(name).then(|| version.to_owned())
}

/// The directories `share` that belong to the directories of programs, and the user's own.
fn shares(places: &EnvironmentPaths) -> Vec<PathBuf> {
    let of_programs = places.programs.iter().chain(&places.program).filter_map(|bin| bin.parent());
    let own = places.data.iter().filter_map(|data| data.parent());
    own.map(Path::to_owned).chain(of_programs.map(|prefix| prefix.join("share"))).collect()
}

/// The paths where a manual page may be.
fn manuals(places: &EnvironmentPaths) -> Vec<PathBuf> {
    let shares = shares(places).into_iter().map(|share| share.join("man"));
    let pages = places.manuals.iter().cloned().chain(shares);
    pages.flat_map(|man| ["", ".gz"].map(|end| man.join(format!("man1/rsv-config.1{end}")))).collect()
}

/// The paths where the completions for the user's shell may be; `None` for a shell without completions of
/// rsv.
fn completions(places: &EnvironmentPaths) -> Option<Vec<PathBuf>> {
    let names: &[&str] = match places.shell.as_deref()? {
        "bash" => &["bash-completion/completions/rsv-config", "bash-completion/completions/rsv-config.bash"],
        "zsh" => &["zsh/site-functions/_rsv-config"],
        "fish" => &["fish/vendor_completions.d/rsv-config.fish", "fish/completions/rsv-config.fish"],
        _ => return None,
    };
    Some(shares(places).iter().flat_map(|share| names.iter().map(|name| share.join(name))).collect())
}
