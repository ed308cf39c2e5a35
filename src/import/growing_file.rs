//! A session file that a program is still writing: reads its complete lines since the last read.

use super::conversation::ImportOptions;
use super::format::{ImportFormat, Origin, ReadFormat, beside};
use super::formats::recognize;
use super::objects::{Convert, ConvertedObjects};
use super::own_lines::OwnLines;
use super::sample::SAMPLE_BYTES;
use crate::error::{Context, Result};
use crate::lines::{ObjectSource, Reader};
use crate::record::Object;
use serde::de::IgnoredAny;
use serde_json::Deserializer;
use std::fs::{File, Metadata};
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// A file, and how much of it was read.
pub(super) struct GrowingFile {
    path: PathBuf,
    /// The format to read; none if it is recognized.
    wanted: Option<&'static ImportFormat>,
    stamp: Option<Stamp>,
    /// Where to read on; none for a document, which is read as a whole, and for an unknown format.
    progress: Option<Progress>,
}

/// The metadata that distinguish the states of a file.
#[derive(Clone, Copy, PartialEq)]
struct Stamp {
    /// Device and inode: another file may have taken the place of the one that was read.
    file: (u64, u64),
    len: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Stamp {
        let file = (metadata.dev(), metadata.ino());
        Stamp { file, len: metadata.len(), modified: metadata.modified().ok() }
    }
}

/// A place between two lines.
struct Progress {
    /// The number of bytes before it.
    read: u64,
    lines: u64,
    /// Its state follows from the lines so far.
    converter: Shared,
}

/// A converter that outlives a source; one source has it at a time, so that its lock never waits.
type Shared = Arc<Mutex<Box<dyn Convert>>>;

impl Convert for Shared {
    fn convert(&mut self, object: Object, lines: &mut Vec<Object>) -> Result<()> {
        self.lock().unwrap_or_else(PoisonError::into_inner).convert(object, lines)
    }

    fn finish(&mut self, lines: &mut Vec<Object>) -> Result<()> {
        self.lock().unwrap_or_else(PoisonError::into_inner).finish(lines)
    }
}

impl GrowingFile {
    pub(super) fn new(path: &Path, wanted: Option<&'static ImportFormat>) -> GrowingFile {
        GrowingFile { path: path.to_owned(), wanted, stamp: None, progress: None }
    }

    /// Reads on; none if nothing is new. Of lines, one without an end waits for it; of a document of JSON,
    /// all of it until it is whole. Fails if the file cannot be read, unless it is gone.
    pub(super) fn read_on(&mut self, options: &ImportOptions) -> Result<Option<Box<dyn ObjectSource>>> {
        match File::open(&self.path) {
            Ok(file) => {
                self.read_file(file, options).context(format_args!("cannot read {}", self.path.display()))
            }
            // It was removed since.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).context(format_args!("cannot open {}", self.path.display())),
        }
    }

    fn read_file(
        &mut self,
        mut file: File,
        options: &ImportOptions,
    ) -> io::Result<Option<Box<dyn ObjectSource>>> {
        let stamp = Stamp::of(&file.metadata()?);
        let before = self.stamp.replace(stamp);
        if before == Some(stamp) {
            return Ok(None);
        }
        let is_same = before.is_some_and(|before| before.file == stamp.file);
        let is_continued = match self.progress.take_if(|_| is_same) {
            Some(progress) if follows_line(&mut file, progress.read)? => {
                self.progress = Some(progress);
                true
            }
            _ => false,
        };
        if !is_continued {
            self.progress = None;
            file.rewind()?;
            let (sample, format) = recognize(Vec::new(), &mut file, options.max_line)?;
            let Some(convert) = format.and_then(|format| self.converter(format, options)) else {
                return Ok(None);
            };
            if !has_lines(sample.bytes()) {
                return self.document(file, convert, options);
            }
            self.progress = Some(Progress { read: 0, lines: 0, converter: Arc::new(Mutex::new(convert)) });
        }
        let Some(progress) = &mut self.progress else { return Ok(None) };
        let (end, lines) = whole_lines(&mut file, progress.read, stamp.len)?;
        if lines == 0 {
            return Ok(None);
        }
        file.seek(SeekFrom::Start(progress.read))?;
        let new = file.take(end - progress.read);
        let name = self.path.display().to_string();
        let reader = Reader::new(&name, new, options.max_line).from_line(progress.lines + 1);
        (progress.read, progress.lines) = (end, progress.lines + lines);
        Ok(Some(Box::new(ConvertedObjects::new(reader, Box::new(progress.converter.clone())))))
    }

    /// A document of JSON, if it is whole.
    fn document(
        &self,
        mut file: File,
        converter: Box<dyn Convert>,
        options: &ImportOptions,
    ) -> io::Result<Option<Box<dyn ObjectSource>>> {
        file.rewind()?;
        let mut values = Deserializer::from_reader(BufReader::new(&file)).into_iter::<IgnoredAny>();
        if !values.all(|value| value.is_ok()) {
            return Ok(None);
        }
        file.rewind()?;
        let reader = Reader::new(&self.path.display().to_string(), file, options.max_line);
        Ok(Some(Box::new(ConvertedObjects::new(reader, converter))))
    }

    /// The converter of a format; none unless it is a wanted one of JSON objects.
    fn converter(&self, format: &ImportFormat, options: &ImportOptions) -> Option<Box<dyn Convert>> {
        if self.wanted.is_some_and(|wanted| wanted.name != format.name) {
            return None;
        }
        match &format.read {
            ReadFormat::Lines => Some(Box::new(OwnLines::new(options))),
            ReadFormat::Objects(converter) => {
                let name = self.path.display().to_string();
                let other = beside(Some(&self.path));
                Some(converter(options, &Origin { name: &name, path: Some(&self.path), other: &other }))
            }
            ReadFormat::Text(_) | ReadFormat::Database(_) => None,
        }
    }
}

/// Whether the first line of a file is a JSON object, and not the beginning of one.
fn has_lines(sample: &[u8]) -> bool {
    let mut lines =
        sample.split_inclusive(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let first = lines.next().filter(|line| line.ends_with(b"\n"));
    first.is_some_and(|line| {
        serde_json::from_slice::<IgnoredAny>(line).is_ok() && line.trim_ascii().starts_with(b"{")
    })
}

/// Whether a line ends just before a place: not if another text was written over the one that was read.
fn follows_line(file: &mut File, place: u64) -> io::Result<bool> {
    let Some(before) = place.checked_sub(1) else { return Ok(true) };
    let mut byte = [0];
    file.seek(SeekFrom::Start(before))?;
    Ok(file.read(&mut byte)? == 1 && byte == *b"\n")
}

/// The end of the last line that has one, and the number of lines, between two places.
fn whole_lines(file: &mut File, from: u64, to: u64) -> io::Result<(u64, u64)> {
    file.seek(SeekFrom::Start(from))?;
    let mut reader = file.take(to.saturating_sub(from));
    let (mut buffer, mut at, mut end, mut lines) = (vec![0; SAMPLE_BYTES], from, from, 0);
    loop {
        let length = reader.read(&mut buffer)?;
        if length == 0 {
            return Ok((end, lines));
        }
        let read = &buffer[..length];
        lines += memchr::memchr_iter(b'\n', read).count() as u64;
        if let Some(last) = memchr::memrchr(b'\n', read) {
            end = at + last as u64 + 1;
        }
        at += length as u64;
    }
}
