//! A commit of a session as a line: its archive, and the memories found in its messages.

use super::conversation::cut;
use super::uncommitted::UncommittedSession;
use crate::error::Result;
use crate::record::{Address, Commit, EXTRACTED_FROM_MEMBER, MEMORY, Object, Origin, id, quote};
use std::collections::HashSet;

/// The greatest lengths of the texts of an archive, in characters.
pub(super) const MAX_ABSTRACT_CHARS: usize = 256;
pub(super) const MAX_OVERVIEW_CHARS: usize = 4000;
/// The greatest length of a title, in characters.
const MAX_TITLE_CHARS: usize = 50;
/// The greatest length of the last segment of a memory's address, in bytes, without the digits that make it
/// unique.
const MAX_SLUG_BYTES: usize = 50;

/// The content of a commit, made by rule or by a model.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct CommitWords {
    pub(super) abstract_: String,
    pub(super) overview: String,
    /// `rule`, or the name of a model.
    pub(super) made_by: String,
    /// The ids of the messages whose words it has.
    pub(super) quoted: Vec<String>,
    pub(super) memories: Vec<Candidate>,
}

/// A memory that may be stored.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Candidate {
    pub(super) category: String,
    /// Empty for the beginning of the content.
    pub(super) title: String,
    pub(super) content: String,
    /// The ids of the messages that it was found in.
    pub(super) found_in: Vec<String>,
    /// In milliseconds since 1970, UTC.
    pub(super) timestamp: i64,
}

/// The commit line. Fails if the session's scope makes no address.
pub(super) fn line(session: &UncommittedSession, words: CommitWords) -> Result<Object> {
    let uri = session.address()?;
    let archive_id = Address::resolve(&uri, &session.scope.partition)?.document_id(&session.scope.partition);
    let mut archive = Object::default();
    archive.set_text("kind", "document");
    archive.set_text("id", &archive_id);
    archive.set_text("partition", &session.scope.partition);
    archive.set_text("instance", &session.scope.instance);
    archive.set_text("uri", &uri);
    archive.set_text("title", &session.topic(MAX_TITLE_CHARS));
    archive.set_text("abstract", &words.abstract_);
    archive.set_text("overview", &words.overview);
    archive.set_text("made_by", &words.made_by);
    archive.set("covers", array(session.messages.iter().map(|message| message.id.as_str())));
    if let Some(follows) = &session.follows {
        archive.set_text("follows", follows);
    }
    archive.set(EXTRACTED_FROM_MEMBER, array(words.quoted.iter().map(String::as_str)));
    let mut seen = HashSet::new();
    let new = words.memories.iter().filter(|one| seen.insert((&one.category, one.content.to_lowercase())));
    let memories: Result<Vec<Object>> = new.map(|one| memory(session, one, &archive_id)).collect();
    Ok(Commit::new(session.scope.clone(), archive, memories?).into_line())
}

/// A memory as a line. Its id follows from its words and the archive, so that a commit that is made again has
/// the same.
fn memory(session: &UncommittedSession, candidate: &Candidate, archive_id: &str) -> Result<Object> {
    let Candidate { category, content, found_in, timestamp, .. } = candidate;
    let title =
        if candidate.title.is_empty() { cut(content, MAX_TITLE_CHARS) } else { candidate.title.clone() };
    let partition = &session.scope.partition;
    let id = id::derived(*timestamp, &["commit", archive_id, category, &title, content]);
    let uri = Address::home(partition)?.join("memories")?.join(category)?.join(&slug(&title, &id))?;
    let mut line = Object::default();
    line.set_text("kind", MEMORY.name);
    line.set_text("id", &id);
    // Of the partition: it outlives the session.
    line.set_text("partition", partition);
    line.set_text("title", &title);
    line.set_text("content", content);
    line.set_text("category", category);
    line.set_text("origin", Origin::Extracted.name());
    line.set("prior", Origin::Extracted.prior(None).to_string());
    line.set_text("session_id", &session.scope.instance);
    line.set_text("uri", uri.as_str());
    line.set("timestamp", timestamp.to_string());
    if !found_in.is_empty() {
        line.set(EXTRACTED_FROM_MEMBER, array(found_in.iter().map(String::as_str)));
    }
    Ok(line)
}

/// The letters and digits of a title, and the last digits of the memory's id.
fn slug(title: &str, id: &str) -> String {
    let words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut slug = String::new();
    for word in words {
        if slug.len() + word.len() > MAX_SLUG_BYTES {
            break;
        }
        slug.push_str(&word.to_lowercase());
        slug.push('_');
    }
    slug + id.rsplit('-').next().unwrap_or(id)
}

fn array<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    format!("[{}]", texts.map(quote).collect::<Vec<_>>().join(","))
}
