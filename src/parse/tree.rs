//! The tree of an operand: its nodes in order, each directory after its children.

use super::error::ParseError;
use super::file;
use super::job::{Input, Job, Parsed};
use super::node::{self, Entry, Node, Source, TreeLine, TreeLists, TreePlace};
use super::operand::{self, Fetched, Operand};
use super::options::Options;
use super::pool::{Pending, Pool};
use super::reason::{Reason, UnreadKind};
use super::unpack::{Unpacked, Unread};
use super::walk::{self, Step, Walker};
use crate::cli::hint_for_missing;
use crate::error::{Error, Result};
use crate::http::Client;
use crate::record::Address;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// The number of files that are parsed ahead, for each thread.
const AHEAD: usize = 16;

/// An item to print, in order.
#[derive(Debug)]
pub enum Output {
    Node(Box<Node>),
    /// Something was not read; parsing continues.
    Unread(Error),
    /// A file of a directory was not read because of its kind.
    Skipped(UnreadKind, Error),
    /// A file is done, successfully or not.
    FileDone,
    Tree(TreeLine),
}

/// Makes the trees of operands.
pub struct Parser {
    options: std::sync::Arc<Options>,
    pool: Pool,
    threads: usize,
}

impl Parser {
    /// A parser that works on this many files at once.
    pub fn new(options: Options, threads: usize) -> Parser {
        let options = std::sync::Arc::new(options);
        Parser { pool: Pool::new(options.clone(), threads), options, threads }
    }

    /// The number of files of operands.
    pub fn count(&self, operands: &[Operand]) -> u64 {
        let files =
            |path: &Path| Walker::new(path, self.options.follow).filter(|step| matches!(step, Step::File(_)));
        let count = |operand: &Operand| match operand {
            Operand::Path(path) if path.is_dir() => files(path).count() as u64,
            _ => 1,
        };
        operands.iter().map(count).sum()
    }

    /// Parses an operand into the tree at an address. Fails if `sink` does; unreadable files become lines
    /// that say so.
    pub fn parse(
        &self,
        operand: Operand,
        uri: &Address,
        client: &Client,
        sink: &mut dyn FnMut(Output) -> Result<()>,
    ) -> Result<()> {
        let mut tree = Tree::new(self, uri, Origin::of(&operand), sink);
        let shown = operand.shown();
        let format = self.options.format;
        let fetched = match operand {
            Operand::Path(path) if path.is_dir() => {
                tree.directory(&path)?;
                return tree.end();
            }
            Operand::Path(path) => Ok(Input::Path { source: tree.origin.absolute(&path), path }),
            Operand::Url(address) => operand::fetch(&address, client, self.options.private).map(|fetched| {
                let Fetched { source, bytes, format: declared } = fetched;
                Input::Bytes { source, bytes, format: format.or(declared) }
            }),
            Operand::Stdin(input) => file::read_bounded(input, 0).map(|bytes| Input::Bytes {
                source: Source::default(),
                bytes,
                format,
            }),
        };
        match fetched {
            Ok(input) => tree.file(input)?,
            Err(reason) => tree.take_unread(uri.to_string(), uri.name(), &shown, &reason.into())?,
        }
        tree.end()
    }
}

/// The printed part of the tree of one operand.
struct Tree<'a> {
    parser: &'a Parser,
    root: &'a Address,
    origin: Origin,
    /// Whether it is of a directory.
    is_directory: bool,
    sink: &'a mut dyn FnMut(Output) -> Result<()>,
    /// The steps that wait for the files in front of them.
    queue: VecDeque<Queued>,
    files_in_queue: usize,
    open: Vec<Directory>,
    nodes: usize,
    lists: TreeLists,
}

enum Queued {
    Enter(Directory),
    Leave,
    File { uri: String, name: String, source: String, pending: Pending },
    Unread { path: Option<PathBuf>, reason: String },
}

/// A directory that has begun.
struct Directory {
    path: PathBuf,
    uri: String,
    name: String,
    entries: Vec<Entry>,
    /// The abstract of its file README or index.
    about: Vec<String>,
    unread: bool,
}

impl Directory {
    fn new(path: PathBuf, address: &Address) -> Directory {
        let (uri, name) = (address.to_string(), address.name().to_owned());
        Directory { path, uri, name, entries: Vec::new(), about: Vec::new(), unread: false }
    }
}

impl<'a> Tree<'a> {
    fn new(
        parser: &'a Parser,
        root: &'a Address,
        origin: Origin,
        sink: &'a mut dyn FnMut(Output) -> Result<()>,
    ) -> Tree<'a> {
        Tree {
            parser,
            root,
            origin,
            is_directory: false,
            sink,
            queue: VecDeque::new(),
            files_in_queue: 0,
            open: Vec::new(),
            nodes: 0,
            lists: TreeLists::default(),
        }
    }

    fn directory(&mut self, root: &Path) -> Result<()> {
        self.is_directory = true;
        // The addresses of the directories that the walk is in, which is ahead of the output.
        let mut addresses: Vec<Address> = Vec::new();
        // The number of open directories that have no address.
        let mut skipped = 0_usize;
        for step in Walker::new(root, self.parser.options.follow) {
            match step {
                Step::Enter(_) if skipped > 0 => skipped += 1,
                Step::Leave if skipped > 0 => skipped -= 1,
                _ if skipped > 0 => {}
                Step::Enter(path) => match self.address(&addresses, &path) {
                    Ok(address) => {
                        self.queue.push_back(Queued::Enter(Directory::new(path, &address)));
                        addresses.push(address);
                    }
                    Err(error) => {
                        skipped = 1;
                        self.queue.push_back(Queued::Unread { path: Some(path), reason: error.to_string() });
                    }
                },
                Step::Leave => {
                    addresses.pop();
                    self.queue.push_back(Queued::Leave);
                }
                Step::File(path) => match self.address(&addresses, &path) {
                    Ok(address) => {
                        let source = self.origin.absolute(&path);
                        self.push(&address, Input::Path { path, source });
                    }
                    Err(error) => {
                        self.queue.push_back(Queued::Unread { path: Some(path), reason: error.to_string() });
                    }
                },
                Step::Unread { path, reason } => self.queue.push_back(Queued::Unread { path, reason }),
            }
            while self.files_in_queue > self.parser.threads * AHEAD {
                self.advance()?;
            }
        }
        self.drain()
    }

    fn file(&mut self, input: Input) -> Result<()> {
        self.push(self.root, input);
        self.drain()
    }

    /// The address of a path in the innermost directory.
    fn address(&self, addresses: &[Address], path: &Path) -> Result<Address> {
        match addresses.last() {
            None => Ok(self.root.clone()),
            Some(above) => above.join(&walk::segment(path.file_name().unwrap_or_default())),
        }
    }

    fn push(&mut self, address: &Address, input: Input) {
        let job = Job { uri: address.to_string(), name: address.name().to_owned(), input };
        let (uri, name, source) = (job.uri.clone(), job.name.clone(), job.source());
        let pending = self.parser.pool.push(job);
        self.files_in_queue += 1;
        self.queue.push_back(Queued::File { uri, name, source, pending });
    }

    fn drain(&mut self) -> Result<()> {
        while !self.queue.is_empty() {
            self.advance()?;
        }
        Ok(())
    }

    /// Takes the first step of the queue, waiting for it if it is a file.
    fn advance(&mut self) -> Result<()> {
        match self.queue.pop_front() {
            Some(Queued::Enter(directory)) => self.open.push(directory),
            Some(Queued::Leave) => self.leave()?,
            Some(Queued::Unread { path, reason }) => self.unread_directory(path, &reason)?,
            Some(Queued::File { uri, name, source, pending }) => {
                self.files_in_queue -= 1;
                match self.parser.pool.wait(&pending) {
                    Parsed::Nodes(unpacked, entry) => self.take_nodes(unpacked, entry)?,
                    Parsed::Kept(addresses, entry) => {
                        for address in addresses {
                            self.lists.keep(address);
                        }
                        self.add_entry(entry);
                    }
                    Parsed::Unread(reason) => self.take_unread(uri, &name, &source, &reason)?,
                }
                (self.sink)(Output::FileDone)?;
            }
            None => {}
        }
        match self.lists.take_if_long() {
            Some(lists) => {
                let line = TreeLine::new(self.place(), self.nodes, false, lists);
                (self.sink)(Output::Tree(line))
            }
            None => Ok(()),
        }
    }

    fn take_nodes(&mut self, Unpacked { nodes, unread }: Unpacked, entry: Entry) -> Result<()> {
        for Unread { uri, source, reason } in unread {
            self.report(&self.origin.given(&source), &reason, true)?;
            self.lists.add_unread(uri);
        }
        let is_about = is_about(&entry.child.name);
        if let (true, Some(directory), Some(node)) = (is_about, self.open.last_mut(), nodes.last()) {
            directory.about = vec![node.abstract_.clone()];
        }
        for node in nodes {
            self.print(node)?;
        }
        self.add_entry(entry);
        Ok(())
    }

    /// Reports a file that was not read. If it is known, it stays an entry of its directory.
    fn take_unread(&mut self, uri: String, name: &str, source: &str, reason: &Reason) -> Result<()> {
        self.report(source, reason, self.is_directory)?;
        if let Some(entry) = self.parser.options.known.entry(&uri, name) {
            self.add_entry(entry);
        }
        self.lists.add_unread(uri);
        Ok(())
    }

    /// Reports what is not read. In a directory or an archive there may be files of any kind.
    fn report(&mut self, source: &str, reason: &Reason, is_inside: bool) -> Result<()> {
        let help = hint_for_missing(Path::new(source)).filter(|_| !is_inside && !source.contains("://"));
        let error = Error::from(ParseError::Unread { place: source.to_owned(), reason: reason.clone() });
        let error = help.into_iter().fold(error, Error::hint);
        (self.sink)(match reason {
            Reason::Kind(kind, _) if is_inside && !self.parser.options.strict => {
                Output::Skipped(*kind, error)
            }
            _ => Output::Unread(error),
        })
    }

    fn unread_directory(&mut self, path: Option<PathBuf>, reason: &str) -> Result<()> {
        let failed = Reason::Failed(reason.to_owned());
        match path {
            Some(path) => {
                let name = walk::segment(path.file_name().unwrap_or_default());
                let above = self.open.last().map_or(self.root.as_str(), |directory| directory.uri.as_str());
                let uri = if self.open.is_empty() { above.to_owned() } else { format!("{above}/{name}") };
                self.take_unread(uri, &name, &path.display().to_string(), &failed)
            }
            None => {
                let Some(directory) = self.open.last_mut() else {
                    let root = self.root;
                    return self.take_unread(root.to_string(), root.name(), "the directory", &failed);
                };
                directory.unread = true;
                let shown = directory.path.display().to_string();
                let error = ParseError::Unread { place: shown, reason: failed };
                (self.sink)(Output::Unread(error.into()))
            }
        }
    }

    fn leave(&mut self) -> Result<()> {
        let Some(directory) = self.open.pop() else { return Ok(()) };
        let options = &self.parser.options;
        if directory.unread {
            if let Some(entry) = options.known.entry(&directory.uri, &directory.name) {
                self.add_entry(entry);
            }
            self.lists.add_unread(directory.uri);
            return Ok(());
        }
        let source = self.origin.absolute(&directory.path);
        let Directory { uri, name, entries, about, .. } = directory;
        let (node, entry) =
            node::of_directory(&uri, &name, &about, &entries, &options.scope, Some(source.clone()));
        if options.known.has_directory(&uri, &source, &entry.source_sha256) {
            self.lists.keep(uri);
        } else {
            self.print(node)?;
        }
        self.add_entry(entry);
        Ok(())
    }

    fn add_entry(&mut self, entry: Entry) {
        if let Some(directory) = self.open.last_mut() {
            directory.entries.push(entry);
        }
    }

    fn print(&mut self, node: Node) -> Result<()> {
        self.nodes += 1;
        (self.sink)(Output::Node(Box::new(node)))
    }

    fn end(self) -> Result<()> {
        let line = TreeLine::new(self.place(), self.nodes, true, self.lists);
        (self.sink)(Output::Tree(line))
    }

    fn place(&self) -> TreePlace<'a> {
        let (uri, scope) = (self.root.as_str(), &self.parser.options.scope);
        TreePlace { uri, scope, source: self.origin.name.clone() }
    }
}

/// Where a tree comes from.
struct Origin {
    /// The absolute path without links, or the address; `None` for standard input.
    name: Option<String>,
    /// The path as it is given, and its absolute form.
    path: Option<(PathBuf, PathBuf)>,
}

impl Origin {
    fn of(operand: &Operand) -> Origin {
        match operand {
            Operand::Path(path) => {
                let absolute = absolute(path);
                Origin { name: Some(absolute.display().to_string()), path: Some((path.clone(), absolute)) }
            }
            Operand::Url(address) => Origin { name: Some(address.to_string()), path: None },
            Operand::Stdin(_) => Origin { name: None, path: None },
        }
    }

    /// An absolute path as it would be given.
    fn given(&self, absolute: &str) -> String {
        let given = self.path.as_ref().and_then(|(given, root)| {
            let below = Path::new(absolute).strip_prefix(root).ok()?;
            Some(if below.as_os_str().is_empty() { given.clone() } else { given.join(below) })
        });
        given.map_or_else(|| absolute.to_owned(), |given| given.display().to_string())
    }

    /// The absolute form of a path at or below that of the operand.
    fn absolute(&self, path: &Path) -> String {
        let absolute = self.path.as_ref().and_then(|(given, absolute)| {
            let below = path.strip_prefix(given).ok()?;
            Some(if below.as_os_str().is_empty() { absolute.clone() } else { absolute.join(below) })
        });
        absolute.unwrap_or_else(|| path.to_owned()).display().to_string()
    }
}

/// The absolute path of a directory, or of a file that may be a link; as given where the system knows none.
fn absolute(path: &Path) -> PathBuf {
    let whole = || std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if path.is_dir() {
        return path.canonicalize().unwrap_or_else(|_| whole());
    }
    let whole = whole();
    match (whole.parent().and_then(|above| above.canonicalize().ok()), whole.file_name()) {
        (Some(above), Some(name)) => above.join(name),
        _ => whole,
    }
}

/// Whether a file says what its directory is about.
fn is_about(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    stem.eq_ignore_ascii_case("readme") || stem.eq_ignore_ascii_case("index")
}
