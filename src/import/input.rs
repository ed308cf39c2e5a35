//! The inputs of an import: streams, compressed streams, and the files in folders and zip archives.

use super::conversation::ImportOptions;
use super::database::{self, Database};
use super::format::{Bytes, ImportFormat, ReadFormat, TextInput};
use super::formats::formats;
use super::objects::ConvertedObjects;
use super::sample::{SAMPLE_BYTES, Sample};
use super::zip_archive;
use crate::error::{Context, Error, Result};
use crate::lines::{LocatedObject, ObjectSource, Reader, binary_format};
use flate2::read::MultiGzDecoder;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An operand of an import.
pub enum Input {
    /// A stream with its name for messages, and its path if it is a file.
    Stream { name: String, path: Option<PathBuf>, bytes: Box<dyn Read + Send> },
    /// A folder, of which all files in a known format are read.
    Folder(PathBuf),
}

/// The sources of an import, each of which is opened when the one before it has ended.
pub struct Sources {
    waiting: VecDeque<Waiting>,
    options: ImportOptions,
    /// The format of all inputs; none if it is recognized.
    format: Option<&'static ImportFormat>,
    skipped: Arc<AtomicUsize>,
}

/// An input that is not open yet.
enum Waiting {
    Operand(Input),
    /// A file that was found in a folder.
    File(PathBuf),
    /// A file in an archive.
    Entry(zip_archive::Entry),
    Failed(Error),
}

impl Sources {
    pub fn new(inputs: Vec<Input>, format: Option<&'static ImportFormat>, options: ImportOptions) -> Sources {
        let waiting = inputs.into_iter().map(Waiting::Operand).collect();
        Sources { waiting, options, format, skipped: Arc::default() }
    }

    /// The number of files in folders and archives so far that have no known format.
    pub fn skipped(&self) -> Arc<AtomicUsize> {
        self.skipped.clone()
    }

    /// Opens an input; none if there is nothing to read in it itself.
    fn open(&mut self, waiting: Waiting) -> Result<Option<Box<dyn ObjectSource>>> {
        match waiting {
            Waiting::Failed(error) => Err(error),
            Waiting::Operand(Input::Folder(path)) => {
                self.expand(&path);
                Ok(None)
            }
            Waiting::Operand(Input::Stream { name, path, bytes }) => {
                self.open_bytes(name, path.as_deref(), bytes, true)
            }
            Waiting::File(path) => {
                let name = path.display().to_string();
                let file = File::open(&path).context(format_args!("cannot open {name}"))?;
                self.open_bytes(name, Some(&path), Box::new(file), false)
            }
            Waiting::Entry(entry) => {
                let bytes = entry.open()?;
                self.open_bytes(entry.name(), None, bytes, false)
            }
        }
    }

    /// Puts the files of a folder, by path, before the waiting inputs.
    fn expand(&mut self, folder: &Path) {
        let walk = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter();
        let found: Vec<Waiting> = walk
            .filter_map(|entry| match entry {
                Ok(entry) => entry.file_type().is_file().then(|| Waiting::File(entry.into_path())),
                Err(error) => {
                    let what = format!("cannot read {}", folder.display());
                    Some(Waiting::Failed(Error::new(what).because(error)))
                }
            })
            .collect();
        self.put_first(found);
    }

    fn put_first(&mut self, inputs: Vec<Waiting>) {
        for input in inputs.into_iter().rev() {
            self.waiting.push_front(input);
        }
    }

    /// Opens bytes; `is_operand` is whether the user named them, so that they are read in any form.
    fn open_bytes(
        &mut self,
        name: String,
        path: Option<&Path>,
        bytes: Bytes,
        is_operand: bool,
    ) -> Result<Option<Box<dyn ObjectSource>>> {
        let (sample, bytes) = sampled(bytes, &name)?;
        let compression = Compression::of(&sample);
        let (sample, bytes) = match &compression {
            None => (sample, bytes),
            Some(compression) => {
                sampled(compression.decoder(bytes).context(format_args!("cannot read {name}"))?, &name)?
            }
        };
        let path = path.filter(|_| compression.is_none());
        if let Some(path) = path.filter(|_| sample.starts_with(b"PK\x03\x04")) {
            let entries = zip_archive::entries(path)?;
            self.put_first(entries.into_iter().map(Waiting::Entry).collect());
            return Ok(None);
        }
        if let Some(path) = path.filter(|_| sample.starts_with(database::MAGIC))
            && let Some(lines) = self.open_database(&name, path)?
        {
            return Ok(Some(lines));
        }
        let sample = Sample::new(sample);
        if let Some(error) = binary_format(sample.bytes()) {
            return if is_operand { Err(error.at(name)) } else { Ok(self.leave_out()) };
        }
        let recognized = formats().iter().find(|format| (format.recognize)(&sample));
        let format = match (self.format, recognized) {
            (Some(wanted), _) if is_operand => wanted,
            (Some(wanted), Some(found)) if wanted.name == found.name => wanted,
            (None, Some(found)) => found,
            // The errors of rsv's own lines describe an unknown input.
            (None, None) if is_operand => &formats()[0],
            _ => return Ok(self.leave_out()),
        };
        let objects = |bytes| Reader::new(&name, bytes, self.options.max_line);
        Ok(Some(match &format.read {
            ReadFormat::Lines => Box::new(objects(bytes)),
            ReadFormat::Objects(converter) => {
                let reader = objects(bytes);
                Box::new(ConvertedObjects::new(reader, converter(&self.options, path)))
            }
            ReadFormat::Text(read) => read(TextInput { name: &name, bytes, options: &self.options }),
            ReadFormat::Database(_) => {
                return Err(Error::new("is no SQLite database")
                    .at(name)
                    .hint("name the file of the database"));
            }
        }))
    }

    /// Opens a database of another program; none if it is of none that is known.
    fn open_database(&self, name: &str, path: &Path) -> Result<Option<Box<dyn ObjectSource>>> {
        let Ok(database) = Database::open(path) else { return Ok(None) };
        for format in formats() {
            if let ReadFormat::Database(of_program) = &format.read
                && self.format.is_none_or(|wanted| wanted.name == format.name)
                && (of_program.recognize)(&database)
            {
                return (of_program.open)(name, database, &self.options).map(Some);
            }
        }
        Ok(None)
    }

    fn leave_out(&self) -> Option<Box<dyn ObjectSource>> {
        self.skipped.fetch_add(1, Ordering::Relaxed);
        None
    }
}

impl Iterator for Sources {
    type Item = Box<dyn ObjectSource>;

    fn next(&mut self) -> Option<Box<dyn ObjectSource>> {
        loop {
            let waiting = self.waiting.pop_front()?;
            match self.open(waiting) {
                Ok(None) => {}
                Ok(Some(source)) => return Some(source),
                Err(error) => return Some(Box::new(Failure::new(error))),
            }
        }
    }
}

/// The first bytes of an input, and all of its bytes.
fn sampled(mut bytes: Bytes, name: &str) -> Result<(Vec<u8>, Bytes)> {
    let mut sample = Vec::new();
    let read = bytes.by_ref().take(SAMPLE_BYTES as u64).read_to_end(&mut sample);
    read.context(format_args!("cannot read {name}"))?;
    let all = Cursor::new(sample.clone()).chain(bytes);
    Ok((sample, Box::new(all)))
}

/// A compression of streams.
enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    fn of(sample: &[u8]) -> Option<Compression> {
        const MAGIC: [(&[u8], Compression); 2] =
            [(b"\x1f\x8b", Compression::Gzip), (b"\x28\xb5\x2f\xfd", Compression::Zstd)];
        MAGIC.into_iter().find(|(magic, _)| sample.starts_with(magic)).map(|(_, compression)| compression)
    }

    fn decoder(&self, bytes: Bytes) -> std::io::Result<Bytes> {
        Ok(match self {
            Compression::Gzip => Box::new(MultiGzDecoder::new(bytes)),
            Compression::Zstd => Box::new(zstd::Decoder::new(bytes)?),
        })
    }
}

/// An input that cannot be opened.
pub(super) struct Failure(Option<Error>);

impl Failure {
    pub(super) fn new(error: Error) -> Failure {
        Failure(Some(error))
    }
}

impl ObjectSource for Failure {
    fn next(&mut self) -> Option<Result<LocatedObject>> {
        self.0.take().map(Err)
    }

    fn drained(&self) -> bool {
        true
    }

    fn consumed(&self) -> u64 {
        0
    }
}
