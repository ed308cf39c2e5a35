//! The nodes that a store has already, so that an unchanged file is not parsed again.

use super::error::ParseError;
use super::file::Stamp;
use super::node::Entry;
use super::summary::Child;
use crate::cli::Io;
use crate::error::{Context, Error, Result};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// The nodes of a tree by their addresses, read from lines as `rsv-view --tree` prints them.
#[derive(Default, Debug)]
pub struct Known(BTreeMap<String, KnownNode>);

/// The needed members of a node.
#[derive(Debug)]
struct KnownNode {
    title: String,
    abstract_: String,
    source: Option<String>,
    source_sha256: Option<String>,
    stamp: Option<Stamp>,
    children: usize,
}

/// The members of a line that are read.
#[derive(Deserialize)]
struct KnownLine<'a> {
    #[serde(borrow)]
    partition: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uri: Option<Cow<'a, str>>,
    #[serde(borrow)]
    title: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "abstract")]
    abstract_: Option<Cow<'a, str>>,
    #[serde(borrow)]
    source: Option<Cow<'a, str>>,
    #[serde(borrow)]
    source_sha256: Option<Cow<'a, str>>,
    source_bytes: Option<u64>,
    #[serde(borrow)]
    source_time: Option<Cow<'a, str>>,
    children: Option<usize>,
}

impl Known {
    /// Reads nodes as rsv-view prints them from a file, `-` being standard input: those of a partition if it
    /// is given. None may be longer than `max_line` bytes.
    pub fn read(path: &Path, partition: Option<&str>, max_line: usize, io: &Io) -> Result<Known> {
        let name = path.display();
        let mut input: Box<dyn BufRead> = if path.as_os_str() == "-" {
            Box::new(BufReader::new(io.stdin()?))
        } else {
            Box::new(BufReader::new(File::open(path).context(format_args!("cannot open {name}"))?))
        };
        let mut known = Known::default();
        let limit = u64::try_from(max_line).unwrap_or(u64::MAX).saturating_add(1);
        let mut line = String::new();
        for number in 1_u64.. {
            line.clear();
            let read = input.by_ref().take(limit).read_line(&mut line);
            if read.context(format_args!("cannot read {name}"))? == 0 {
                break;
            }
            let placed = |error| Error::from(error).at(format_args!("{name}:{number}"));
            if line.trim_end().len() > max_line {
                return Err(placed(ParseError::TooLong { most: max_line }));
            }
            if !line.trim().is_empty() {
                known.add(&line, partition).map_err(|source| placed(ParseError::Json { source }))?;
            }
        }
        Ok(known)
    }

    /// Adds a line. Lines that are no documents, or of another partition than the one that is given, are
    /// passed over; an error is in the words of the JSON parser.
    pub fn add(&mut self, line: &str, partition: Option<&str>) -> serde_json::Result<()> {
        let line: KnownLine = serde_json::from_str(line)?;
        if partition.zip(line.partition.as_deref()).is_some_and(|(given, own)| given != own) {
            return Ok(());
        }
        let owned = |text: Option<Cow<str>>| text.map(Cow::into_owned);
        if let (Some(uri), Some(title)) = (line.uri, line.title) {
            let stamp =
                line.source_bytes.zip(owned(line.source_time)).map(|(bytes, time)| Stamp { bytes, time });
            let node = KnownNode {
                title: title.into_owned(),
                abstract_: owned(line.abstract_).unwrap_or_default(),
                source: owned(line.source),
                source_sha256: owned(line.source_sha256),
                stamp,
                children: line.children.unwrap_or(0),
            };
            self.0.insert(uri.into_owned(), node);
        }
        Ok(())
    }

    /// Whether the file of an address has this name, size and time.
    pub(super) fn has_stamp(&self, uri: &str, source: &str, stamp: &Stamp) -> bool {
        self.0.get(uri).is_some_and(|node| {
            node.source.as_deref() == Some(source) && node.stamp.as_ref() == Some(stamp) && self.is_whole(uri)
        })
    }

    /// Whether the node of an address was made of the file of this name, with content of this hash.
    pub(super) fn has_hash(&self, uri: &str, source: Option<&str>, sha256: &str) -> bool {
        self.0.get(uri).is_some_and(|node| {
            node.source.as_deref() == source && node.source_sha256.as_deref() == Some(sha256)
        }) && self.is_whole(uri)
    }

    /// Whether a directory of this path has this hash, regardless of its children.
    pub(super) fn has_directory(&self, uri: &str, source: &str, sha256: &str) -> bool {
        self.0.get(uri).is_some_and(|node| {
            node.source_sha256.as_deref() == Some(sha256) && node.source.as_deref() == Some(source)
        })
    }

    /// The entry of a node in its directory.
    pub(super) fn entry(&self, uri: &str, name: &str) -> Option<Entry> {
        let node = self.0.get(uri)?;
        let child =
            Child { name: name.to_owned(), title: node.title.clone(), abstract_: node.abstract_.clone() };
        Some(Entry { child, source_sha256: node.source_sha256.clone()? })
    }

    /// The addresses of a node and of all below it.
    pub(super) fn subtree(&self, uri: &str) -> Vec<String> {
        let below = self.below(uri).map(|(address, _)| address.clone());
        below.chain(self.0.contains_key(uri).then(|| uri.to_owned())).collect()
    }

    fn below(&self, uri: &str) -> impl Iterator<Item = (&String, &KnownNode)> {
        let prefix = format!("{uri}/");
        let from = self.0.range(prefix.clone()..);
        from.take_while(move |(address, _)| address.starts_with(&prefix))
    }

    /// Whether all nodes below an address are known, as their directories count them.
    fn is_whole(&self, uri: &str) -> bool {
        let counted: usize = self.0.get(uri).map_or(0, |node| node.children);
        let (mut present, mut expected) = (0, counted);
        for (_, node) in self.below(uri) {
            present += 1;
            expected += node.children;
        }
        present == expected
    }
}
