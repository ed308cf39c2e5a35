//! Records as lines, in the order of a walk. Memories wait for their derived members.

use super::KnownLines;
use super::cursors::Cursors;
use super::options::LineOptions;
use crate::cli::{Io, Outcome};
use crate::config::Settings;
use crate::error::{Context, Result};
use crate::import;
use crate::memory::{self, PriorRule};
use crate::record::{MEMORY, Record, RecordKind, VectorFormat, kinds};
use crate::store::{self, OpenMode, Select, Store, StoreError, Walk};
use std::fs::File;

/// Prints JSON lines of everything, or of what changed after a cursor.
pub fn lines(
    which: Select,
    options: &LineOptions,
    settings: &Settings,
    store: &mut dyn Store,
    io: &mut Io,
) -> Result<Outcome> {
    // A tombstone says nothing of the role of its record.
    let tombstones = which.roles.is_empty();
    let which = Select { kinds: with_kinds_about(&which.kinds), ..which };
    let embeddings = options.vectors.is_some();
    let mut known = KnownLines::default();
    for file in &options.without {
        let name = file.display().to_string();
        let opened = File::open(file).context(format_args!("cannot open {name}"))?;
        known.add(&name, import::decompressed(&name, Box::new(opened))?)?;
    }
    let cursors = Cursors::begin(options, &which, store)?;
    let changed_since = cursors.changed_since;
    let what =
        Walk { tombstones, embeddings, links: true, recover: true, changed_since, ..Walk::records(which) };
    let form = options.vectors.unwrap_or(VectorFormat::Numbers);
    if !what.which.kinds.contains(&&MEMORY) {
        let damage = store.walk(&what, &mut |record| write_line(&record, form, &known, io))?;
        return cursors.end(damage, io);
    }
    // Derived members are read by a connection of their own while this one visits the snapshot.
    let beside = store::open(&settings.store()?, OpenMode::Existing);
    let rule = PriorRule::from_settings(settings);
    let mut lines = Lines { form, known, rule, beside, waiting: Vec::new(), failed: Ok(()) };
    let damage = store.walk(&what, &mut |record| lines.add(record, io))?;
    lines.flush(io)?;
    if damage.is_none() {
        // The derived data of a damaged store follows from the other lines.
        lines.failed?;
    }
    cursors.end(damage, io)
}

/// Prints a record, unless its line is known.
fn write_line(record: &Record, form: VectorFormat, known: &KnownLines, io: &mut Io) -> Result<()> {
    io.out.with(|out| {
        let start = out.len();
        record.write_line(form, out);
        if known.contains(&out[start..]) {
            out.truncate(start);
        }
    })
}

/// The kinds to write: those that are named, with the kinds about them; without names all.
fn with_kinds_about(named: &[&'static RecordKind]) -> Vec<&'static RecordKind> {
    let is_about = |kind: &&'static RecordKind| {
        kind.subject.is_some_and(|subject| named.iter().any(|known| known.name == subject.kind))
    };
    kinds().into_iter().filter(|kind| named.is_empty() || named.contains(kind) || is_about(kind)).collect()
}

/// The number of memories whose derived members are read together.
const MEMORIES: usize = 1000;

/// Lines in the order of a walk, in which memories wait for their derived members.
struct Lines {
    form: VectorFormat,
    known: KnownLines,
    rule: PriorRule,
    /// The store, from which the derived members are read.
    beside: std::result::Result<Box<dyn Store>, StoreError>,
    waiting: Vec<Record>,
    /// The first error of reading derived members.
    failed: Result<()>,
}

impl Lines {
    fn add(&mut self, record: Record, io: &mut Io) -> Result<()> {
        let is_memory = record.stored().is_some_and(|record| record.kind == &MEMORY);
        if self.waiting.is_empty() && !is_memory {
            return write_line(&record, self.form, &self.known, io);
        }
        self.waiting.push(record);
        if self.waiting.len() >= MEMORIES { self.flush(io) } else { Ok(()) }
    }

    fn flush(&mut self, io: &mut Io) -> Result<()> {
        let memories = self.waiting.iter_mut().filter_map(|record| match record {
            Record::Stored(record) => Some(record),
            _ => None,
        });
        let derived = match &mut self.beside {
            Ok(beside) => memory::derive_for_export(&mut **beside, memories, self.rule),
            Err(error) => Err(error.clone().into()),
        };
        if self.failed.is_ok() {
            self.failed = derived;
        }
        for record in self.waiting.drain(..) {
            write_line(&record, self.form, &self.known, io)?;
        }
        Ok(())
    }
}
