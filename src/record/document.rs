//! Documents: the nodes of the tree of contexts, each with an abstract, an overview and a content.

use super::address::Address;
use super::embedding::{VectorFormat, write_vector};
use super::fold::fold;
use super::members::{name, texts, time_member};
use super::message::vector;
use super::object::{Object, invalid, missing, unexpected, write_member, write_text};
use super::stored::{Draft, RecordKind, SameWords, StoredRecord, TextSource, Versions, write_time};
use super::{digest, timestamp};
use crate::error::Result;
use sha2::{Digest, Sha256};
use unicode_normalization::char::is_combining_mark;

/// The kind of documents: a directory, a file, or a part of one, which newer versions replace.
pub static DOCUMENT: RecordKind = RecordKind {
    name: "document",
    label: "DocumentNode",
    read: parse,
    complete,
    write,
    same_words: Some(SameWords { key: same_words, at_one_time: false, is_said_again: |_| false }),
    versions: Some(Versions { version: VERSION, source: SOURCE, order: POSITION, gives_way, moved }),
    lookup_key: Some(URI),
    parent_id,
    indexed: TextSource::Composed(indexed_text),
    embedded: TextSource::Composed(embedded_text),
    shown: TextSource::Composed(shown_text),
    heading: |document| document.member_text(URI),
    ..RecordKind::PLAIN
};

/// The member with the address.
pub const URI: &str = "uri";
/// The member with the path or the address that it was made of.
pub const ORIGIN: &str = "source";
/// The member with the digest of all texts.
const VERSION: &str = "sha256";
/// The member with the digest of the document's source.
const SOURCE: &str = "source_sha256";
/// The member with the position among the documents beside it.
const POSITION: &str = "order";
/// The member with the sentences of a hit's content that the question asks for. It follows from the question,
/// and is in no document that is read.
pub const PASSAGE: &str = "passage";
/// The value of `made_by` for documents that no model wrote.
pub const BY_RULE: &str = "rule";

/// The members between the scope and the time, in their written order; `content` is the text of the record.
const ORDER: [&str; 15] = [
    URI,
    "title",
    "abstract",
    "overview",
    "content",
    "mime",
    ORIGIN,
    SOURCE,
    "source_time",
    VERSION,
    POSITION,
    "children",
    "made_by",
    "covers",
    "follows",
];

/// The members with a field of their own, and those that carry the vector.
const HEAD: [&str; 8] =
    ["kind", "id", "partition", "instance", "timestamp", "created_at", "embedding", "embedding_model"];

/// Reads a document line. Errors begin with the member at fault.
fn parse(line: Object) -> Result<Draft> {
    let uri = line.text(URI)?.ok_or_else(|| missing("uri"))?;
    let address = Address::parse(&uri).map_err(|error| error.at(URI))?;
    let title = line.text("title")?.unwrap_or_else(|| address.name().to_owned());
    let content = line.text("content")?.unwrap_or_default();
    let [abstract_, overview] = ["abstract", "overview"].map(|member| line.text(member));
    let (abstract_, overview) = (abstract_?.unwrap_or_default(), overview?.unwrap_or_default());
    for member in ["mime", ORIGIN, "follows"] {
        line.text(member)?;
    }
    let made_by = line.text("made_by")?.filter(|by| !by.is_empty());
    time_member(&line, "source_time")?;
    for member in [POSITION, "children"] {
        if let Some(number) = line.integer(member)?.filter(|number| *number < 0) {
            return Err(unexpected(member, "a number from 0", &number.to_string()));
        }
    }
    texts(&line, "covers")?;
    if let Some(sha256) = line.text(SOURCE)?
        && !is_sha256(&sha256)
    {
        return Err(unexpected(SOURCE, "a SHA-256 in 64 lower-case digits", &sha256));
    }
    let sha256 = digest::of(&[&title, &abstract_, &overview, &content]);
    let content_bytes = line.get("content").map_or(0, str::len);
    let mut members = Object::with_capacity(line.text_len().saturating_sub(content_bytes));
    for member in ORDER.into_iter().filter(|member| *member != "content") {
        match member {
            "title" => members.set_text(member, &title),
            VERSION => members.set_text(member, &sha256),
            "made_by" => members.set_text(member, made_by.as_deref().unwrap_or(BY_RULE)),
            member => {
                if let Some(json) = line.get(member).filter(|json| !matches!(*json, "null" | "\"\"")) {
                    members.set(member, json);
                }
            }
        }
    }
    for (name, json) in
        line.iter().filter(|(name, _)| !ORDER.contains(name) && !HEAD.contains(name) && *name != PASSAGE)
    {
        members.set(name, json);
    }
    let (vector, vector_fault) = vector(&line);
    Ok(Draft {
        partition: name(&line, "partition")?,
        instance: name(&line, "instance")?,
        timestamp: timestamp(&line)?,
        vector,
        vector_fault,
        members,
        ..Draft::new(&DOCUMENT, content)
    })
}

fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Resolves the address for the partition, from which two the id follows. Errors if it is another
/// partition's.
fn complete(document: &mut StoredRecord) -> Result<()> {
    let partition = &document.scope.partition;
    let address = Address::resolve(&document.member_text(URI), partition).map_err(|error| error.at(URI))?;
    if address.depth() == 0 {
        return Err(invalid(URI, "names no document"));
    }
    document.id = address.document_id(partition);
    document.members.set_text(URI, address.as_str());
    // Documents have no order but that of their addresses.
    document.seq = 0;
    Ok(())
}

/// Whether a stored version is kept: one by rule does not replace a model's of the same source.
fn gives_way(new: &StoredRecord, stored: &StoredRecord) -> bool {
    new.is_by_rule() && !stored.is_by_rule() && new.source() == stored.source()
}

/// The stored version as that of the new one's origin, if that is another.
fn moved(new: &StoredRecord, stored: &StoredRecord) -> Option<StoredRecord> {
    let (origin, before) = (new.member_text(ORIGIN), stored.member_text(ORIGIN));
    (is_origin(&origin) && is_origin(&before) && origin != before).then(|| {
        let mut moved = stored.clone();
        moved.members.set_text(ORIGIN, &origin);
        moved
    })
}

/// Whether a source says where something is: an absolute path or an address, and not a path of older lines.
pub fn is_origin(source: &str) -> bool {
    source.starts_with('/') || source.contains("://")
}

/// The partition, the normalized address and the folded content; `None` without content, since a directory
/// has the words of the documents below it.
fn same_words(document: &StoredRecord) -> Option<Vec<String>> {
    let content = fold(&document.text);
    let address = fold(&document.member_text(URI));
    let address = address.split('/').map(segment_key).collect::<Vec<_>>().join("/");
    (!content.is_empty()).then(|| vec![document.scope.partition.clone(), address, content])
}

/// The key that address segments made of one name in any form share: its characters without marks, blanks and
/// underscores; of a segment that may be cut, the first of these.
fn segment_key(folded: &str) -> String {
    const MAX_UNCUT: usize = 50;
    const COMPARED: usize = 16;
    let mut key: String =
        folded.chars().filter(|c| !is_combining_mark(*c) && !matches!(c, ' ' | '_')).collect();
    if key.chars().count() > MAX_UNCUT {
        key = key.chars().take(COMPARED).collect();
    }
    key
}

fn parent_id(document: &StoredRecord) -> Option<String> {
    let parent = document.address().ok()?.parent()?;
    (parent.depth() > 0).then(|| parent.document_id(&document.scope.partition))
}

fn write(document: &StoredRecord, out: &mut Vec<u8>) {
    for member in ORDER {
        if member == "content" {
            if !document.text.is_empty() {
                out.extend_from_slice(b",\"content\":");
                write_text(out, &document.text);
            }
        } else if let Some(json) = document.members.get(member) {
            write_member(out, member, json);
        }
    }
    write_time(document.timestamp, out);
    document.members.write_members_except(&ORDER, out);
    if let Some(vector) = &document.vector {
        out.extend_from_slice(b",\"embedding\":");
        write_vector(&vector.numbers, VectorFormat::Numbers, out);
        out.extend_from_slice(b",\"embedding_model\":");
        write_text(out, &vector.model);
    }
}

impl StoredRecord {
    /// The address of a document. Errors for a record of another kind.
    pub fn address(&self) -> Result<Address> {
        Address::parse(&self.member_text(URI))
    }

    /// Sets the digest of a document's source.
    pub fn set_source(&mut self, sha256: &str) {
        self.members.set_text(SOURCE, sha256);
    }

    /// The level of detail of a document for models: 1 the overview, else 0 the abstract, else 2 the content.
    pub fn shown_level(&self) -> u8 {
        let has = |member: &str| !self.member_text(member).is_empty();
        if has("overview") {
            1
        } else if has("abstract") {
            0
        } else {
            2
        }
    }

    /// Whether a document is a directory.
    pub fn is_directory(&self) -> bool {
        self.members.has("children")
    }

    /// Whether no model wrote a document.
    pub fn is_by_rule(&self) -> bool {
        self.member_text("made_by") == BY_RULE
    }
}

/// The digest of a directory's children: SHA-256 over the name of each child, a NUL, its `source_sha256`, and
/// a line end.
pub fn directory_digest<'a>(children: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut hash = Sha256::new();
    for (name, source_sha256) in children {
        for part in [name, "\0", source_sha256, "\n"] {
            hash.update(part);
        }
    }
    digest::hexadecimal(&hash.finalize())
}

/// All texts.
fn indexed_text(document: &StoredRecord) -> String {
    let member = |name: &str| document.member_text(name);
    joined([&member("title"), &member("abstract"), &member("overview"), &document.text])
}

/// The titles on the way to it, and the overview of a directory, or the content of a leaf.
fn embedded_text(document: &StoredRecord) -> String {
    let (overview, abstract_) = (document.member_text("overview"), document.member_text("abstract"));
    let texts = if document.is_directory() {
        [&overview, &abstract_, &document.text]
    } else {
        [&document.text, &overview, &abstract_]
    };
    let text = texts.into_iter().find(|text| !text.trim().is_empty());
    joined([&title_path(document), text.map_or("", String::as_str)])
}

/// The names of the directories above it, but for the first, and its title: `notes > garden > Tomatoes`.
fn title_path(document: &StoredRecord) -> String {
    let title = document.member_text("title");
    let Some(above) = document.address().ok().and_then(|address| address.parent()) else { return title };
    let names = above.segments().skip(1).map(str::to_owned);
    names.chain([title]).collect::<Vec<_>>().join(" > ")
}

/// The overview, else the abstract, else the content; after an overview or an abstract the passage, if there
/// is one.
fn shown_text(document: &StoredRecord) -> String {
    let summary = match document.shown_level() {
        0 => document.member_text("abstract"),
        1 => document.member_text("overview"),
        _ => return document.text.clone(),
    };
    let passage = document.member_text(PASSAGE);
    if passage.is_empty() { summary } else { format!("{summary}\n\n… {passage}") }
}

fn joined<const N: usize>(texts: [&str; N]) -> String {
    texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}
