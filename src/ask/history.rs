//! The lines that were typed at the prompt, in a file that only its user can read: a JSON string on each
//! line.

use crate::config::Settings;
use crate::error::{Context, Result};
use crate::record::quote;
use crate::redact::Redactor;
use crate::staging;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The name of the file, in the state directory.
const FILE: &str = "ask_history";

/// The longest line that the file gets, in bytes: nobody looks for a pasted file there.
const MAX_LINE: usize = 64 << 10;

/// The lines of this and of earlier prompts.
pub(super) struct History {
    /// None if no file is kept.
    file: Option<PathBuf>,
    redactor: Option<Redactor>,
    /// As they are in the file.
    lines: Vec<String>,
}

impl History {
    /// A history without lines yet.
    pub(super) fn new(settings: &Settings, redactor: Option<Redactor>) -> History {
        let file = settings.places().state.map(|state| state.join(FILE));
        History { file, redactor, lines: Vec::new() }
    }

    /// Reads the file, and shortens it to as many lines as the settings allow; if they allow none, removes
    /// it. Invalid lines are left out.
    pub(super) fn load(&mut self, settings: &Settings) -> Result<()> {
        if limit(settings) == 0 {
            return self.file.take().map_or(Ok(()), |file| remove(&file));
        }
        self.lines = self.read()?;
        let surplus = self.lines.len().saturating_sub(limit(settings));
        if surplus == 0 {
            return Ok(());
        }
        self.lines.drain(..surplus);
        self.write(&self.lines)
    }

    /// Uses the file no more.
    pub(super) fn give_up_file(&mut self) {
        self.file = None;
    }

    pub(super) fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Adds a line, without its secrets if they are not to be stored. Fails if the file cannot be written.
    pub(super) fn add(&mut self, line: &str) -> Result<()> {
        let line = match &self.redactor {
            Some(redactor) => redactor.redacted(line).into_owned(),
            None => line.to_owned(),
        };
        if self.lines.last() == Some(&line) {
            return Ok(());
        }
        let json = quote(&line) + "\n";
        self.lines.push(line);
        let Some(file) = self.file.as_ref().filter(|_| json.len() <= MAX_LINE) else { return Ok(()) };
        let context = || format!("cannot write {}", file.display());
        if let Some(directory) = file.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(directory).context(context())?;
        }
        let opened = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(file);
        let written = opened.and_then(|mut opened| {
            opened.set_permissions(Permissions::from_mode(0o600))?;
            let gap = if ends_line(&opened)? { "" } else { "\n" };
            opened.write_all(format!("{gap}{json}").as_bytes())
        });
        written.context(context())
    }

    /// Removes every line with this text from the file, too. Fails if the file cannot be read or written.
    pub(super) fn forget(&mut self, line: &str) -> Result<()> {
        let redacted = self.redactor.as_ref().map(|redactor| redactor.redacted(line).into_owned());
        let is_other = |one: &String| one.trim() != line && Some(one.trim()) != redacted.as_deref();
        self.lines.retain(is_other);
        let mut there = self.read()?;
        let count = there.len();
        there.retain(is_other);
        if there.len() < count { self.write(&there) } else { Ok(()) }
    }

    /// The lines of the file; none if there is no file. A line that a killed process cut short is left out.
    fn read(&self) -> Result<Vec<String>> {
        let Some(file) = &self.file else { return Ok(Vec::new()) };
        let text = match fs::read(file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.context(format_args!("cannot read {}", file.display()))?,
        };
        let lines = text.split(|byte| *byte == b'\n');
        Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }

    fn write(&self, lines: &[String]) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let lines: String = lines.iter().map(|line| quote(line) + "\n").collect();
        staging::write(&behind_links(file), lines.as_bytes())
    }
}

/// Whether nothing is behind the last end of a line.
fn ends_line(file: &File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.read_exact_at(&mut last, length - 1)?;
    }
    Ok(last == *b"\n")
}

/// The file behind symbolic links, which stay; one that is not there yet is written by its own name.
fn behind_links(file: &Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|_| file.to_owned())
}

/// Removes a file, and the link that leads to it.
fn remove(file: &Path) -> Result<()> {
    for path in [&behind_links(file), file] {
        match fs::remove_file(path) {
            Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => {}
            removed => removed.context(format_args!("cannot remove {}", path.display()))?,
        }
    }
    Ok(())
}

/// The most lines that are kept.
fn limit(settings: &Settings) -> usize {
    settings.integer("ask.history").and_then(|most| usize::try_from(most).ok()).unwrap_or_default()
}
