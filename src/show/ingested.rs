//! Ingested lines: each is printed once its records are durable.

use crate::cli::{BadLines, Io};
use crate::error::Result;
use crate::forget;
use crate::ingest::{Gathered, Ingest, Mirrored};
use crate::lines::{Feed, LocatedLine};
use crate::store::Store;
use crate::text::counted;
use crate::view::{self, ReservoirLines};
use std::time::Instant;

/// How ingested lines are printed.
#[derive(Clone, Copy)]
pub enum IngestFormat {
    Lines,
    /// One line for people for each that was stored.
    Text,
    Reservoir(ReservoirLines),
}

impl IngestFormat {
    /// The format of a name; without one, text on a terminal. As json, lines are elements of an array from
    /// now on.
    pub fn begin(name: Option<&str>, io: &mut Io) -> IngestFormat {
        let to_terminal = io.stdout_is_tty();
        match name {
            Some("text") => IngestFormat::Text,
            Some("reservoir") => IngestFormat::Reservoir(ReservoirLines { to_terminal }),
            None if to_terminal => IngestFormat::Text,
            Some("json") => {
                io.out.begin_array();
                IngestFormat::Lines
            }
            _ => IngestFormat::Lines,
        }
    }

    /// Writes the batch, and prints its lines.
    pub fn commit(
        self,
        ingest: &mut Ingest,
        store: &mut dyn Store,
        bad_lines: &mut BadLines,
        io: &mut Io,
    ) -> Result<()> {
        for done in ingest.commit(store)? {
            match (done.line, done.scope, self) {
                (Ok(line), _, IngestFormat::Lines) => io.out.write(&line)?,
                (Ok(line), Some(scope), IngestFormat::Text) => {
                    io.out.write(view::stored_line(&scope, &line).as_bytes())?;
                }
                (Ok(line), Some(_), IngestFormat::Reservoir(lines)) => {
                    io.out.write(lines.saved(&line).as_bytes())?;
                }
                (Ok(_), None, _) => {}
                (Err(error), ..) => bad_lines.print(&error, io),
            }
            if let Some(note) = done.note {
                io.note(note);
            }
        }
        io.out.flush()
    }

    /// Stores lines as they arrive; a pause in the input commits the batch. With `mirror`, documents that the
    /// trees of the input do not have are taken away.
    pub fn store_lines(
        self,
        mut feed: Feed<LocatedLine>,
        ingest: &mut Ingest,
        store: &mut dyn Store,
        mirror: bool,
        io: &mut Io,
    ) -> Result<()> {
        let begin = Instant::now();
        let mut bad_lines = BadLines::default();
        loop {
            let gathered = ingest.gather(&mut feed, &mut |line| bad_lines.line(line, io));
            self.commit(ingest, store, &mut bad_lines, io)?;
            if gathered == Gathered::All {
                break;
            }
        }
        bad_lines.end(io);
        if mirror {
            match ingest.mirror(store)? {
                Mirrored::Removed(count) => {
                    io.detail(format_args!("{} taken away", counted(count, "document")))
                }
                Mirrored::Refused(why) => io.fault(&why),
            }
        }
        for note in ingest.forgetting_note().into_iter().chain(ingest.redaction_note()) {
            io.note(note);
        }
        let (created, archived) = ingest.consolidated();
        if created > 0 {
            let memories = counted(created as u64, "memory");
            let seconds = begin.elapsed().as_secs_f64();
            io.note(format_args!("created {memories}, archived {archived}, in {seconds:.1} s"));
        }
        if ingest.has_removed() { forget::erase(store) } else { Ok(()) }
    }
}
