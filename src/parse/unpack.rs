//! The nodes of a file, or of an archive with all that is in it.

use super::archive::{self, Budget, Folder, MAX_DEPTH, Member};
use super::format::{self, Format};
use super::node::{self, Entry, Node, Source};
use super::options::Options;
use super::reason::Reason;
use super::{extract, pdf_process};
use crate::record::hexadecimal;
use sha2::{Digest, Sha256};

/// Something that could not be read.
#[derive(Debug)]
pub(super) struct Unread {
    pub(super) uri: String,
    /// Its name for people.
    pub(super) source: String,
    pub(super) reason: Reason,
}

/// The outcome of a file and of its contents.
#[derive(Default, Debug)]
pub(super) struct Unpacked {
    pub(super) nodes: Vec<Node>,
    pub(super) unread: Vec<Unread>,
}

/// Makes nodes of files.
pub(super) struct Unpacker<'a> {
    options: &'a Options,
    budget: Budget,
    unpacked: Unpacked,
}

impl<'a> Unpacker<'a> {
    pub(super) fn new(options: &'a Options) -> Unpacker<'a> {
        Unpacker { options, budget: Budget::default(), unpacked: Unpacked::default() }
    }

    /// All nodes so far.
    pub(super) fn end(self) -> Unpacked {
        self.unpacked
    }

    /// Adds the nodes of a file. Fails if it cannot be read.
    pub(super) fn file(
        &mut self,
        uri: &str,
        name: &str,
        format: Format,
        bytes: Vec<u8>,
        source: &Source,
        depth: usize,
    ) -> Result<Entry, Reason> {
        if format.is_archive() && self.options.archives {
            if depth >= MAX_DEPTH {
                return Err(format!("an archive in {MAX_DEPTH} others").into());
            }
            return self.archive(uri, name, format, &bytes, source, depth);
        }
        let source = Source { mime: format.mime(), ..source.clone() };
        let extract = match &self.options.pdf_reader {
            Some(reader) if format == Format::Pdf => {
                pdf_process::extract(reader, &bytes).map_err(Reason::of_pdf)?
            }
            _ => extract::extract(format, bytes)?,
        };
        let (nodes, entry) = node::of_file(&extract, uri, name, &self.options.scope, &source);
        self.unpacked.nodes.extend(nodes);
        Ok(entry)
    }

    fn archive(
        &mut self,
        uri: &str,
        name: &str,
        format: Format,
        bytes: &[u8],
        source: &Source,
        depth: usize,
    ) -> Result<Entry, Reason> {
        if format == Format::Gzip {
            let inner = archive::gunzip(bytes, &mut self.budget)?;
            let inner_name = name.strip_suffix(".gz").unwrap_or(name);
            let format = format::detect(inner_name, &inner)?;
            return self.file(uri, name, format, inner, source, depth + 1);
        }
        let folder = archive::open(format, bytes, &mut self.budget)?;
        let mut entries = self.folder(uri, folder, source, depth + 1);
        let scope = &self.options.scope;
        entries.sort_by(|a, b| a.child.name.cmp(&b.child.name));
        let (mut node, mut entry) = node::of_directory(uri, name, &[], &entries, scope, source.name.clone());
        node.set_archive_source(source, format.mime());
        entry.source_sha256.clone_from(&source.sha256);
        self.unpacked.nodes.push(node);
        Ok(entry)
    }

    /// Adds the nodes of the contents of a directory of an archive.
    fn folder(&mut self, uri: &str, folder: Folder, source: &Source, depth: usize) -> Vec<Entry> {
        let path_of = |name: &str| source.name.as_ref().map(|source| format!("{source}/{name}"));
        for (path, reason) in folder.unread {
            let source = path_of(&path).unwrap_or(path);
            self.unpacked.unread.push(Unread { uri: uri.to_owned(), source, reason: reason.into() });
        }
        let mut entries = Vec::new();
        for (name, member) in folder.members {
            let uri = format!("{uri}/{name}");
            let inner = Source { name: path_of(&name), ..source.clone() };
            match member {
                Member::Folder(folder) => {
                    let below = self.folder(&uri, folder, &inner, depth);
                    let scope = &self.options.scope;
                    let (node, entry) = node::of_directory(&uri, &name, &[], &below, scope, inner.name);
                    self.unpacked.nodes.push(node);
                    entries.push(entry);
                }
                Member::File(bytes) => {
                    let sha256 = hexadecimal(&Sha256::digest(&bytes));
                    let inner = Source { sha256, bytes: bytes.len() as u64, ..inner };
                    let format = format::detect(&name, &bytes);
                    match format.and_then(|format| self.file(&uri, &name, format, bytes, &inner, depth)) {
                        Ok(entry) => entries.push(entry),
                        Err(reason) => {
                            let source = inner.name.unwrap_or(name);
                            self.unpacked.unread.push(Unread { uri, source, reason });
                        }
                    }
                }
            }
        }
        entries
    }
}
