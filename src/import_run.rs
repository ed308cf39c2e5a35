//! An import from the first line to its report, for the tools that read files of other programs.

mod error;
mod found;
mod history;
mod inputs;
mod watch;

pub use found::{directories, offer};
pub use history::history;
pub use inputs::{open_store, sources};
pub use watch::{WatchedImport, watch};

use crate::cli::{self, BadLines, Io};
use crate::config::Settings;
use crate::error::Result;
use crate::forget;
use crate::import::{FileLog, FoundFiles, ImportOptions};
use crate::ingest::{Gathered, ImportReport, Ingest, Options};
use crate::lines::{Feed, LocatedLine};
use crate::memory;
use crate::project::Projects;
use crate::redact::Redactor;
use crate::store::{Import, Store};
use crate::text::counted;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The fact about a store that has the places whose files were imported to the end, as a JSON array.
const IMPORTED_PLACES: &str = "imported_places";

/// The beginning of the name of the fact about a store that says which files a watch of some directories has
/// stored.
pub const WATCHED: &str = "watched_files";

/// The lines after which progress is shown again.
const SHOW_EACH: usize = 256;

/// An import that is ready to begin.
pub struct ImportRun {
    pub ingest: Ingest,
    pub feed: Feed<LocatedLine>,
    /// The outcome of the files so far.
    pub files: FileLog,
    /// The number of files; without it no progress is shown.
    pub file_count: Option<usize>,
    /// Whether memories were read.
    pub has_memories: Arc<AtomicBool>,
}

impl ImportRun {
    /// Imports the files of other programs, which `options` and `reading` say how to read.
    pub fn of_found(
        found: &[FoundFiles],
        options: Options,
        reading: &ImportOptions,
        io: &Io,
    ) -> Result<ImportRun> {
        let files = FileLog::default();
        let sources: Vec<_> = found.iter().map(|found| found.sources(reading, &files)).collect();
        let ingest = Ingest::new(options, io.clock);
        let feed = Feed::lines_of(sources.into_iter().flatten(), ingest.redaction())?;
        let file_count = Some(found.iter().map(|found| found.files).sum());
        Ok(ImportRun { ingest, feed, files, file_count, has_memories: reading.has_memories.clone() })
    }

    /// Writes all lines into a store, batch by batch, so that an interrupted import has whole batches. Names
    /// bad lines, and prints what a user should know. Fails if the store cannot be written; bad lines do not
    /// end the import.
    pub fn run(mut self, store: &mut dyn Store, io: &mut Io) -> Result<ImportReport> {
        let (mut report, mut bad_lines) = (ImportReport::default(), BadLines::default());
        let mut bar = io.progress();
        // The rate counts from here.
        bar.set("importing", 0, self.file_count.map(|count| count as u64));
        let mut lines = 0;
        loop {
            let gathered = self.ingest.gather(&mut self.feed, &mut |line| {
                lines += 1;
                if let Some(count) = self.file_count.filter(|_| lines % SHOW_EACH == 0) {
                    let (done, records) = (self.files.count(), counted(lines as u64, "record"));
                    bar.set(
                        &format!("importing: {records}, files"),
                        done as u64,
                        Some(count.max(done) as u64),
                    );
                }
                report.bad_lines += usize::from(line.is_err());
                if line.is_err() {
                    bar.suspend(|| bad_lines.line(line, io))
                } else {
                    bad_lines.line(line, io)
                }
            });
            bar.suspend(|| commit(&mut self.ingest, store, &mut bad_lines, &mut report, io))?;
            if gathered == Gathered::All {
                break;
            }
        }
        drop(bar);
        bad_lines.end(io);
        for note in self.ingest.forgetting_note().into_iter().chain(self.ingest.redaction_note()) {
            io.note(note);
        }
        if self.has_memories.load(Ordering::Relaxed) {
            for (memory, into) in memory::link_archived(store)? {
                io.note(format_args!(
                    "memory {memory} is archived; it gets its link when the memory {into} is imported"
                ));
            }
        }
        if self.ingest.has_removed()
            && let Err(error) = forget::erase(store)
        {
            io.fault(&error);
        }
        for note in report.note().into_iter().chain(self.files.notes(io.diagnostics().is_verbose())) {
            io.note(note);
        }
        Ok(report)
    }
}

fn commit(
    ingest: &mut Ingest,
    store: &mut dyn Store,
    bad_lines: &mut BadLines,
    report: &mut ImportReport,
    io: &mut Io,
) -> Result<()> {
    let is_verbose = io.diagnostics().is_verbose();
    for done in ingest.commit(store)? {
        report.add(&done);
        if let Err(error) = done.line {
            bad_lines.print(&error, io);
        }
        if let Some(note) = done.note {
            io.note(note);
        }
        if let Some(place) = done.place.filter(|_| is_verbose) {
            for id in &done.same_ids {
                io.detail(format_args!("{place}: the store has the record {id} already"));
            }
        }
    }
    Ok(())
}

/// The options by which an import of the whole store is written. Fails if a name in the flags is empty, or
/// the redaction patterns are invalid.
pub fn writing(settings: &Settings, import: Option<Import>, io: &Io) -> Result<Options> {
    Ok(Options {
        partition: io.common.partition.clone(),
        instance: io.common.instance.clone(),
        keep_system: true,
        import: Some(io.common.to_cover()?),
        undoable: import,
        max_line: Some(settings.max_line()),
        redactor: Redactor::for_tool(settings)?,
        ..Options::default()
    })
}

/// The options by which its files are read; `projects` has the partitions of directories.
pub fn reading(
    settings: &Settings,
    redactor: Option<&Redactor>,
    projects: Projects,
    io: &Io,
) -> ImportOptions {
    ImportOptions {
        partition: io.common.partition.clone(),
        instance: io.common.instance.clone(),
        now: io.clock.now(),
        max_line: settings.max_line(),
        projects: Arc::new(Mutex::new(projects)),
        zone: Some(cli::zone()),
        redactor: redactor.cloned(),
        actions: settings.stored_actions(),
        ..ImportOptions::default()
    }
}

/// The longest text that names the files of an import, in characters.
const SOURCE_LENGTH: usize = 200;

/// The paths of the files that an import reads, in words; none is standard input.
pub fn source<'a>(paths: impl Iterator<Item = &'a Path>) -> String {
    let names: Vec<String> = paths.map(cli::quoted).collect();
    let mut names = if names.is_empty() { "-".to_owned() } else { names.join(" ") };
    if let Some((at, _)) = names.char_indices().nth(SOURCE_LENGTH) {
        names.replace_range(at.., "…");
    }
    names
}

/// The command that undoes an import.
pub fn undo_command(id: &str) -> String {
    format!("rsv-forget --import {id}")
}

/// Notes that found files were imported, as a report says, unless the first lines were so bad that no more
/// were read.
pub fn note_imported(store: &mut dyn Store, found: &[FoundFiles], report: &ImportReport) -> Result<()> {
    if report.bad_lines > 0 && report.total().read() == 0 {
        return Ok(());
    }
    let mut places = imported_places(store)?;
    places.extend(found.iter().map(place));
    Ok(store.set_fact(IMPORTED_PLACES, Some(&serde_json::json!(places).to_string()))?)
}

/// Whether found files were imported to the end, or are in a directory that is watched.
pub fn is_imported(store: &mut dyn Store, found: &FoundFiles) -> Result<bool> {
    let path = found.path.display().to_string();
    let is_watched = store.facts(WATCHED)?.iter().any(|(name, _)| name.contains(&path));
    Ok(is_watched || imported_places(store)?.contains(&place(found)))
}

/// The places in the fact; none if it is no list, so that their files are offered once more.
fn imported_places(store: &mut dyn Store) -> Result<BTreeSet<String>> {
    let text = store.fact(IMPORTED_PLACES)?.unwrap_or_default();
    Ok(serde_json::from_str(&text).unwrap_or_default())
}

/// The name of a place in the fact: programs may share a directory.
fn place(found: &FoundFiles) -> String {
    format!("{} {}", found.format.name, found.path.display())
}
