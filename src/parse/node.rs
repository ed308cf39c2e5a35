//! Nodes of the tree as lines: documents, and the line that ends a tree.

use super::names::Names;
use super::outline::Extract;
use super::split::{self, Body, Section};
use super::summary::{self, Child, Summary};
use crate::record::hexadecimal;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::ops::Range;

/// The greatest length of a title, in characters.
const TITLE_CHARS: usize = 200;

/// A directory, a file or a section, as a line of the kind `document`.
#[derive(Clone, Serialize, Debug)]
pub struct Node {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) partition: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) instance: Option<String>,
    pub(super) uri: String,
    pub(super) title: String,
    #[serde(rename = "abstract")]
    pub(super) abstract_: String,
    pub(super) overview: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<String>,
    pub(super) source_sha256: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_time: Option<String>,
    sha256: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    children: Option<usize>,
    made_by: &'static str,
}

impl Node {
    /// Sets the source of an archive on its directory.
    pub(super) fn set_archive_source(&mut self, source: &Source, mime: &'static str) {
        self.source_sha256.clone_from(&source.sha256);
        self.source_bytes = Some(source.bytes);
        self.source_time.clone_from(&source.time);
        self.mime = Some(mime);
    }
}

/// A line of the tree of an operand: the one that ends it, or one before that with a part of its lists.
#[derive(Serialize, Debug)]
pub struct TreeLine {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition: Option<String>,
    uri: String,
    /// The directory, file or address that the tree is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// The number of lines of documents so far.
    nodes: usize,
    /// Whether it ends the tree.
    complete: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kept: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unread: Vec<String>,
}

impl TreeLine {
    pub(super) fn new(place: TreePlace, nodes: usize, complete: bool, lists: TreeLists) -> TreeLine {
        let TreeLists { kept, unread, .. } = lists;
        let TreePlace { uri, scope, source } = place;
        let (partition, uri) = (scope.partition.clone(), uri.to_owned());
        TreeLine { kind: "tree", partition, uri, source, nodes, complete, kept, unread }
    }
}

/// Where a tree is put, and where it comes from.
pub(super) struct TreePlace<'a> {
    pub(super) uri: &'a str,
    pub(super) scope: &'a GivenScope,
    pub(super) source: Option<String>,
}

/// The addresses for the next line of a tree.
#[derive(Default)]
pub(super) struct TreeLists {
    kept: Vec<String>,
    unread: Vec<String>,
    bytes: usize,
}

impl TreeLists {
    pub(super) fn keep(&mut self, uri: String) {
        self.bytes += uri.len();
        self.kept.push(uri);
    }

    pub(super) fn add_unread(&mut self, uri: String) {
        self.bytes += uri.len();
        self.unread.push(uri);
    }

    /// The lists, if they are long enough for a line of their own.
    pub(super) fn take_if_long(&mut self) -> Option<TreeLists> {
        const LINE_BYTES: usize = 256 * 1024;
        (self.bytes >= LINE_BYTES).then(|| std::mem::take(self))
    }
}

/// The given parts of the scope of all nodes of a run.
#[derive(Clone, Default, Debug)]
pub struct GivenScope {
    pub partition: Option<String>,
    pub instance: Option<String>,
}

/// Where a file comes from.
#[derive(Clone, Default, Debug)]
pub(super) struct Source {
    /// Its absolute path, or its address; `None` for standard input.
    pub(super) name: Option<String>,
    pub(super) sha256: String,
    pub(super) bytes: u64,
    /// When it was changed last, as RFC 3339.
    pub(super) time: Option<String>,
    pub(super) mime: &'static str,
}

/// A node of a directory, as far as the directory's own texts and hash need it.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) child: Child,
    pub(super) source_sha256: String,
}

impl Entry {
    fn of(name: &str, node: &Node) -> Entry {
        let child =
            Child { name: name.to_owned(), title: node.title.clone(), abstract_: node.abstract_.clone() };
        Entry { child, source_sha256: node.source_sha256.clone() }
    }
}

/// Makes the nodes of a file: its sections, and after them the file, whose entry is returned with them.
pub(super) fn of_file(
    extract: &Extract,
    uri: &str,
    name: &str,
    scope: &GivenScope,
    source: &Source,
) -> (Vec<Node>, Entry) {
    let file_name =
        source.name.as_deref().and_then(|name| name.rsplit('/').find(|segment| !segment.is_empty()));
    let title = &summary::cut(extract.title.as_deref().or(file_name).unwrap_or(name), TITLE_CHARS);
    let builder = Builder { extract, scope, source };
    let whole = 0..extract.text.len();
    let mut nodes = Vec::new();
    let description = extract.description.as_deref();
    let mut node = match split::split(extract, title) {
        Body::Leaf(range) => builder.leaf(uri, title, range, description),
        Body::Directory(sections) => {
            let entries = builder.sections(uri, &sections, &mut nodes);
            let paragraphs = summary::paragraphs(extract, whole);
            let own: Vec<String> = description.map(str::to_owned).into_iter().chain(paragraphs).collect();
            builder.directory(uri, title, &own, &entries)
        }
    };
    node.source_sha256.clone_from(&source.sha256);
    node.source_bytes = Some(source.bytes);
    nodes.push(node);
    let entry = Entry::of(name, &nodes[nodes.len() - 1]);
    (nodes, entry)
}

/// Makes the node of a directory of files.
pub(super) fn of_directory(
    uri: &str,
    name: &str,
    own: &[String],
    entries: &[Entry],
    scope: &GivenScope,
    source: Option<String>,
) -> (Node, Entry) {
    let children: Vec<Child> = entries.iter().map(|entry| entry.child.clone()).collect();
    let summary = summary::of_directory(name, own, &children);
    let mut node = new_node(uri, name, summary, None, scope);
    node.source = source;
    node.source_sha256 = hash_of(entries);
    node.children = Some(entries.len());
    let entry = Entry::of(name, &node);
    (node, entry)
}

struct Builder<'a> {
    extract: &'a Extract,
    scope: &'a GivenScope,
    source: &'a Source,
}

impl Builder<'_> {
    /// Appends the nodes of sections below an address.
    fn sections(&self, above: &str, sections: &[Section], nodes: &mut Vec<Node>) -> Vec<Entry> {
        let mut names = Names::default();
        let mut entries = Vec::new();
        for (order, section) in sections.iter().enumerate() {
            let title = &summary::cut(&section.title, TITLE_CHARS);
            let name = names.name(&section.name);
            let uri = format!("{above}/{name}");
            let mut node = match &section.body {
                Body::Leaf(range) => self.leaf(&uri, title, range.clone(), None),
                Body::Directory(inner) => {
                    let entries = self.sections(&uri, inner, nodes);
                    let own = summary::paragraphs(self.extract, whole(inner));
                    self.directory(&uri, title, &own, &entries)
                }
            };
            node.order = Some(order);
            entries.push(Entry::of(&name, &node));
            nodes.push(node);
        }
        entries
    }

    fn leaf(&self, uri: &str, title: &str, range: Range<usize>, description: Option<&str>) -> Node {
        let summary = summary::of_leaf(title, self.extract, range.clone(), description);
        let content = content(&self.extract.text[range]);
        let mut node = self.of_source(new_node(uri, title, summary, Some(content), self.scope));
        node.source_sha256 = hexadecimal(&Sha256::digest(content.as_bytes()));
        node
    }

    fn directory(&self, uri: &str, title: &str, own: &[String], entries: &[Entry]) -> Node {
        let children: Vec<Child> = entries.iter().map(|entry| entry.child.clone()).collect();
        let summary = summary::of_directory(title, own, &children);
        let mut node = self.of_source(new_node(uri, title, summary, None, self.scope));
        node.source_sha256 = hash_of(entries);
        node.children = Some(entries.len());
        node
    }

    fn of_source(&self, mut node: Node) -> Node {
        node.source.clone_from(&self.source.name);
        node.source_time.clone_from(&self.source.time);
        node.mime = Some(self.source.mime);
        node
    }
}

/// The part of the text that sections cover.
fn whole(sections: &[Section]) -> Range<usize> {
    let bound = |section: Option<&Section>| match section.map(|section| &section.body) {
        Some(Body::Leaf(range)) => range.clone(),
        Some(Body::Directory(inner)) => whole(inner),
        None => 0..0,
    };
    bound(sections.first()).start..bound(sections.last()).end
}

/// A part of a text without the blank lines around it.
fn content(text: &str) -> &str {
    let text = text.trim_end();
    let begin = text.len() - text.trim_start().len();
    // The first line keeps its indent.
    &text[text[..begin].rfind('\n').map_or(0, |line_end| line_end + 1)..]
}

fn new_node(uri: &str, title: &str, summary: Summary, content: Option<&str>, scope: &GivenScope) -> Node {
    let content = content.filter(|content| !content.is_empty());
    let texts = [title, &summary.abstract_, &summary.overview, content.unwrap_or_default()];
    Node {
        kind: "document",
        partition: scope.partition.clone(),
        instance: scope.instance.clone(),
        uri: uri.to_owned(),
        title: title.to_owned(),
        sha256: digest(&texts),
        abstract_: summary.abstract_,
        overview: summary.overview,
        content: content.map(str::to_owned),
        mime: None,
        source: None,
        source_sha256: String::new(),
        source_bytes: None,
        source_time: None,
        order: None,
        children: None,
        made_by: "rule",
    }
}

/// SHA-256 over texts, each preceded by its length.
fn digest(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    hexadecimal(&hash.finalize())
}

/// The hash of a directory: over the names and the hashes of its entries.
fn hash_of(entries: &[Entry]) -> String {
    let mut hash = Sha256::new();
    for entry in entries {
        hash.update(entry.child.name.as_bytes());
        hash.update([0]);
        hash.update(entry.source_sha256.as_bytes());
        hash.update([b'\n']);
    }
    hexadecimal(&hash.finalize())
}
