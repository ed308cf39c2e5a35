//! One file: read, recognized, parsed.

use super::file::{self, Stamp};
use super::format::{self, Format};
use super::node::{Entry, Source};
use super::options::Options;
use super::reason::Reason;
use super::unpack::{Unpacked, Unpacker};
use crate::record::hexadecimal;
use sha2::{Digest, Sha256};
use std::path::PathBuf;

/// A file to parse.
#[derive(Debug)]
pub(super) struct Job {
    /// The address of its node, and the last segment of it.
    pub(super) uri: String,
    pub(super) name: String,
    pub(super) input: Input,
}

/// The source of a file's bytes.
#[derive(Debug)]
pub(super) enum Input {
    /// A path as it is given, and its absolute form.
    Path { path: PathBuf, source: String },
    /// Bytes in memory: their name, size and time, and the format if it is known.
    Bytes { source: Source, bytes: Vec<u8>, format: Option<Format> },
}

/// The outcome of a file.
#[derive(Debug)]
pub(super) enum Parsed {
    /// The nodes, the file's own last, and its entry in the directory.
    Nodes(Unpacked, Entry),
    /// It is unchanged: its nodes by their addresses.
    Kept(Vec<String>, Entry),
    /// It could not be read, for this reason.
    Unread(Reason),
}

impl Job {
    /// The name of the file for people.
    pub(super) fn source(&self) -> String {
        match &self.input {
            Input::Path { path, .. } => path.display().to_string(),
            Input::Bytes { source, .. } => source.name.clone().unwrap_or_else(|| "<stdin>".to_owned()),
        }
    }

    /// Reads and parses the file.
    pub(super) fn run(self, options: &Options) -> Parsed {
        self.try_run(options).unwrap_or_else(Parsed::Unread)
    }

    fn try_run(self, options: &Options) -> Result<Parsed, Reason> {
        let Job { uri, name, input } = self;
        let kept =
            || options.known.entry(&uri, &name).map(|entry| Parsed::Kept(options.known.subtree(&uri), entry));
        let (mut source, bytes, format) = match input {
            Input::Bytes { source, bytes, format } => (source, bytes, format),
            Input::Path { path, source: name } => {
                // A file that cannot be inspected cannot be read either, which is reported below.
                let stamp = std::fs::metadata(&path).map(|metadata| Stamp::of(&metadata));
                if stamp.is_ok_and(|stamp| options.known.has_stamp(&uri, &name, &stamp))
                    && let Some(kept) = kept()
                {
                    return Ok(kept);
                }
                let (bytes, stamp) = file::read(&path)?;
                let source = Source { name: Some(name), time: Some(stamp.time), ..Source::default() };
                (source, bytes, options.format)
            }
        };
        source.sha256 = hexadecimal(&Sha256::digest(&bytes));
        source.bytes = bytes.len() as u64;
        if options.known.has_hash(&uri, source.name.as_deref(), &source.sha256)
            && let Some(kept) = kept()
        {
            return Ok(kept);
        }
        let file_name = source.name.as_deref().unwrap_or(&name);
        let format = format.map_or_else(|| format::detect(file_name, &bytes), Ok)?;
        let mut unpacker = Unpacker::new(options);
        let entry = unpacker.file(&uri, &name, format, bytes, &source, 0)?;
        Ok(Parsed::Nodes(unpacker.end(), entry))
    }
}
