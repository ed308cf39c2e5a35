//! The inputs of an import: streams, compressed streams, and the files in folders and zip archives.

use super::conversation::ImportOptions;
use super::database::{self, Database};
use super::error::ImportError;
use super::file_log::{FileLog, UNKNOWN, singular};
use super::format::{Bytes, ImportFormat, Origin, ReadFormat, TextInput, beside};
use super::formats::{formats, is_record, names, recognize, unreadable};
use super::objects::ConvertedObjects;
use super::own_lines::OwnLines;
use super::sample::{SAMPLE_BYTES, Sample};
use super::zip_archive;
use crate::error::{Context, Error, Result};
use crate::lines::{LocatedObject, ObjectSource, Reader, binary_format, describe};
use flate2::read::MultiGzDecoder;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Cursor, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// An operand of an import.
pub enum Input {
    /// A stream with its name for messages, and its path if it is a file.
    Stream { name: String, path: Option<PathBuf>, bytes: Box<dyn Read + Send> },
    /// A file that is opened when it is its turn.
    File(PathBuf),
    /// A folder, of which all files in a known format are read.
    Folder(PathBuf),
}

/// The sources of an import, each of which is opened when the one before it has ended.
pub struct Sources {
    waiting: VecDeque<Waiting>,
    options: ImportOptions,
    /// The format of all inputs; none if it is recognized.
    format: Option<&'static ImportFormat>,
    files: FileLog,
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
        Sources { waiting, options, format, files: FileLog::default() }
    }

    /// The same sources, whose outcome is noted in a log that others note theirs in too.
    pub fn with_log(self, files: FileLog) -> Sources {
        Sources { files, ..self }
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
                self.open_bytes(name, path.as_deref(), bytes, true, &beside(path.as_deref()))
            }
            Waiting::Operand(Input::File(path)) => self.open_file(&path, true),
            Waiting::File(path) => self.open_file(&path, false),
            Waiting::Entry(entry) => {
                let bytes = entry.open()?;
                let other = |path: &str| entry.other(path)?.open().ok();
                self.open_bytes(entry.name(), None, bytes, false, &other)
            }
        }
    }

    fn open_file(&mut self, path: &Path, is_operand: bool) -> Result<Option<Box<dyn ObjectSource>>> {
        let name = path.display().to_string();
        let file = File::open(path).context(format_args!("cannot open {name}"))?;
        self.open_bytes(name, Some(path), Box::new(file), is_operand, &beside(Some(path)))
    }

    /// Puts the files of a folder, by path, before the waiting inputs.
    fn expand(&mut self, folder: &Path) {
        let walk = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter();
        let found: Vec<Waiting> = walk
            .filter_map(|entry| match entry {
                Ok(entry) => entry.file_type().is_file().then(|| Waiting::File(entry.into_path())),
                Err(error) => {
                    let cannot = format!("cannot read {}", folder.display());
                    Some(Waiting::Failed(Error::attempt(cannot, error)))
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

    /// Opens bytes; `is_operand` is whether the user named them, so that they are read in any form. `other`
    /// opens files beside them.
    fn open_bytes(
        &mut self,
        name: String,
        path: Option<&Path>,
        bytes: Bytes,
        is_operand: bool,
        other: &dyn Fn(&str) -> Option<Bytes>,
    ) -> Result<Option<Box<dyn ObjectSource>>> {
        let cannot = format!("cannot read {name}");
        let (mut sample, mut bytes) = sampled(bytes, &cannot)?;
        let compression = Compression::of(&sample);
        if let Some(compression) = &compression {
            let all = Box::new(Cursor::new(sample).chain(bytes));
            (sample, bytes) = sampled(compression.decoder(all).context(&cannot)?, &cannot)?;
        }
        let path = path.filter(|_| compression.is_none());
        if let Some(path) = path.filter(|_| sample.starts_with(b"PK\x03\x04")) {
            let entries = zip_archive::entries(path)?;
            self.put_first(entries.into_iter().map(Waiting::Entry).collect());
            return Ok(None);
        }
        if let Some(path) = path.filter(|_| sample.starts_with(database::MAGIC))
            && let Some(lines) = self.open_database(&name, path)?
        {
            return Ok(Some(self.logged(name, lines)));
        }
        if let Some(error) = binary_format(&sample) {
            return if is_operand { Err(error.at(name)) } else { Ok(self.leave_out(&name, UNKNOWN)) };
        }
        let (sample, recognized) = recognize(sample, &mut bytes, self.options.max_line).context(&cannot)?;
        let format = match (self.format, recognized) {
            (Some(wanted), _) if is_operand => wanted,
            (Some(wanted), Some(found)) if wanted.name == found.name => wanted,
            (None, Some(found)) => found,
            (None, None) => match unreadable(&sample) {
                Some(reason) if is_operand => {
                    return Err(Error::from(ImportError::Unreadable { reason: singular(reason) }).at(name));
                }
                Some(reason) => return Ok(self.leave_out(&name, reason)),
                // Lines without a kind of their own, and no lines at all.
                None if is_operand && (sample.any_line(is_record) || is_empty(&sample)) => &formats()[0],
                None if is_operand => return Err(unknown(&name, &sample)),
                None => return Ok(self.leave_out(&name, UNKNOWN)),
            },
            _ => return Ok(self.leave_out(&name, UNKNOWN)),
        };
        let bytes: Bytes = Box::new(Cursor::new(sample.into_bytes()).chain(bytes));
        let objects = |bytes| Reader::new(&name, bytes, self.options.max_line);
        let lines: Box<dyn ObjectSource> = match &format.read {
            ReadFormat::Lines => {
                Box::new(ConvertedObjects::new(objects(bytes), Box::new(OwnLines::new(&self.options))))
            }
            ReadFormat::Objects(converter) => Box::new(ConvertedObjects::new(
                objects(bytes),
                converter(&self.options, &Origin { name: &name, path, other }),
            )),
            ReadFormat::Text(read) => {
                read(TextInput { name: &name, bytes, options: &self.options, files: &self.files })
            }
            ReadFormat::Database(_) => {
                return Err(Error::from(ImportError::NotADatabase).at(name));
            }
        };
        // An empty export is one too.
        let is_own = matches!(format.read, ReadFormat::Lines);
        Ok(Some(if is_own { lines } else { self.logged(name, lines) }))
    }

    /// The lines of a file, whose number decides what is noted of it.
    fn logged(&self, name: String, lines: Box<dyn ObjectSource>) -> Box<dyn ObjectSource> {
        Box::new(LoggedSource { lines, name: Some(name), has_lines: false, files: self.files.clone() })
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

    fn leave_out(&self, name: &str, reason: &str) -> Option<Box<dyn ObjectSource>> {
        self.files.leave_out(name, reason);
        None
    }
}

/// Whether an input has no lines, as itself or as an array.
fn is_empty(sample: &Sample) -> bool {
    let mut text = sample.text().chars().filter(|c| !c.is_whitespace());
    match (text.next(), text.next(), text.next()) {
        (None, ..) => true,
        (first, second, third) => (first, second, third) == (Some('['), Some(']'), None),
    }
}

/// The error for an operand in no known format.
fn unknown(name: &str, sample: &Sample) -> Error {
    let text = sample.text().trim_start();
    let looks = if sample.is_json() { "JSON with other members" } else { describe(text.as_bytes()) };
    Error::from(ImportError::Unrecognized { looks, known: names() }).at(name)
}

/// An operand of a path, which is opened when it is its turn.
impl Input {
    pub fn path(path: PathBuf) -> Input {
        if path.is_dir() { Input::Folder(path) } else { Input::File(path) }
    }
}

/// Errors if a path is a link to something that is no file and no folder: reading it may never end.
pub fn check_link(path: &Path) -> Result<()> {
    // The links by which a system names the streams of a process.
    let names_stream = ["/dev", "/proc"].iter().any(|root| path.starts_with(root));
    let is_link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    let Some(target) = path.metadata().ok().filter(|_| is_link && !names_stream) else { return Ok(()) };
    let kind = target.file_type();
    let kind = if kind.is_fifo() {
        "FIFO"
    } else if kind.is_char_device() || kind.is_block_device() {
        "device"
    } else if kind.is_socket() {
        "socket"
    } else {
        return Ok(());
    };
    Err(ImportError::Link { path: path.to_owned(), kind }.into())
}

/// The lines of a file whose outcome is noted at its end.
struct LoggedSource {
    lines: Box<dyn ObjectSource>,
    /// The name of the file; none once its outcome was noted.
    name: Option<String>,
    /// Whether there were lines, or errors about some.
    has_lines: bool,
    files: FileLog,
}

/// The reason of a format without reasons of its own.
const NO_WORDS: &str = "they have no words of a user or a model";

impl ObjectSource for LoggedSource {
    fn next(&mut self) -> Option<Result<LocatedObject>> {
        let next = self.lines.next();
        if next.is_some() {
            self.has_lines = true;
        } else if let Some(name) = self.name.take() {
            if self.has_lines {
                self.files.add_read();
            } else {
                self.files.add_empty(&name, self.lines.reason().unwrap_or(NO_WORDS));
            }
        }
        next
    }

    fn drained(&self) -> bool {
        self.lines.drained()
    }

    fn consumed(&self) -> u64 {
        self.lines.consumed()
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

/// The first bytes of an input, and the others.
fn sampled(mut bytes: Bytes, cannot: &str) -> Result<(Vec<u8>, Bytes)> {
    let mut sample = Vec::new();
    bytes.by_ref().take(SAMPLE_BYTES as u64).read_to_end(&mut sample).context(cannot)?;
    Ok((sample, bytes))
}

/// The content of a stream, which may be compressed; `name` is that of errors.
pub fn decompressed(name: &str, bytes: Bytes) -> Result<Bytes> {
    let cannot = format!("cannot read {name}");
    let (sample, bytes) = sampled(bytes, &cannot)?;
    let compression = Compression::of(&sample);
    let all: Bytes = Box::new(Cursor::new(sample).chain(bytes));
    match compression {
        Some(compression) => compression.decoder(all).context(&cannot),
        None => Ok(all),
    }
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
