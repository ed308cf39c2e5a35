//! An import that continues while programs write their files.

use super::WATCHED;
use crate::cli::{self, Io, Outcome};
use crate::config::Settings;
use crate::error::Result;
use crate::import::{ImportFormat, ImportOptions, ReadFiles, Watch};
use crate::ingest::{Gathered, ImportReport, Ingest, Options};
use crate::lines::Feed;
use crate::store::{self, OpenMode, Store};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The shortest time between two writes of the fact about watched files, which has all of them: what it lacks
/// is only read again.
const SAVE_INTERVAL: Duration = Duration::from_secs(600);

/// A watch of directories.
pub struct WatchedImport {
    pub directories: Vec<PathBuf>,
    /// The format of all files, if it is not recognized.
    pub format: Option<&'static ImportFormat>,
    pub writing: Options,
    pub reading: ImportOptions,
    /// The version and the options that decide which lines are made of a file, as text.
    pub purpose: String,
}

/// Imports what programs write into directories until a signal ends it.
pub fn watch(import: WatchedImport, settings: &Settings, io: &mut Io) -> Result<Outcome> {
    let WatchedImport { directories, format, writing, reading, purpose } = import;
    let names: Vec<String> = directories.iter().map(|path| path.display().to_string()).collect();
    let mut store = store::open(&settings.store()?, OpenMode::Create)?;
    let fact = format!("{WATCHED} {}", names.join(" "));
    let read = ReadFiles::new(purpose, &store.fact(&fact)?.unwrap_or_default());
    let (watch, stop) = Watch::begin(directories, format, reading, &read)?;
    cli::on_stop(move || stop.stop())?;
    io.note(format_args!("watching {}", names.join(", ")));
    let (mut lines, mut saved) = (0, None);
    let mut ingest = Ingest::new(writing, io.clock);
    let mut feed = Feed::lines_of(watch, ingest.redaction())?;
    let diagnostics = io.diagnostics();
    loop {
        let gathered = ingest.gather(&mut feed, &mut |line| {
            lines += 1;
            // A bad line is reported, and is no reason to end.
            if let Err(error) = line {
                diagnostics.fault(&error);
            }
            ControlFlow::Continue(())
        });
        store_batch(&mut ingest, &mut *store, io)?;
        let is_scanned = read.store_lines(lines);
        let is_due = saved.is_none_or(|saved: Instant| saved.elapsed() >= SAVE_INTERVAL);
        if gathered == Gathered::All || is_scanned && is_due {
            if let Some(text) = read.take_text() {
                store.set_fact(&fact, Some(&text))?;
            }
            saved = Some(Instant::now());
        }
        if gathered == Gathered::All {
            return Ok(Outcome::Yes);
        }
    }
}

/// Writes what was gathered, and says what it was.
fn store_batch(ingest: &mut Ingest, store: &mut dyn Store, io: &Io) -> Result<()> {
    let mut report = ImportReport::default();
    for done in ingest.commit(store)? {
        report.add(&done);
        if let Err(error) = done.line {
            io.diagnostics().fault(&error);
        }
    }
    if let Some(note) = ingest.redaction_note() {
        io.note(note);
    }
    for line in report.summary() {
        io.detail(line);
    }
    Ok(())
}
