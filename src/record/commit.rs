//! Commits of sessions: a session's archive and the memories found in its messages, as one line that is
//! stored whole.

use super::address::Address;
use super::digest;
use super::document::DOCUMENT;
use super::kinds::kind_named;
use super::members::texts;
use super::memory::MEMORY;
use super::object::{Object, empty, missing, unexpected};
use super::scope::Scope;
use super::stored::{DraftDefaults, StoredRecord};
use crate::error::Result;

/// The name of the kind.
const COMMIT: &str = "commit";
/// The member of a memory or an archive that lists the ids of the messages whose words it has; `rsv-ingest`
/// makes links of it.
pub const EXTRACTED_FROM_MEMBER: &str = "extracted_from";
/// The member of a memory that lists the stored memories that are near it.
pub const NEAR: &str = "near";

/// A commit.
#[derive(Clone, PartialEq, Debug)]
pub struct Commit {
    pub scope: Scope,
    /// The line of the archive.
    pub archive: Object,
    /// The lines of the memories.
    pub memories: Vec<Object>,
    /// The way in which the fate of the memories was decided.
    pub steps: Vec<Object>,
    /// The members that rsv does not know.
    more: Object,
}

impl Commit {
    /// A commit without steps.
    pub fn new(scope: Scope, archive: Object, memories: Vec<Object>) -> Commit {
        Commit { scope, archive, memories, steps: Vec::new(), more: Object::default() }
    }

    /// Whether a line is a commit.
    pub fn is_commit(line: &Object) -> bool {
        line.get("kind") == Some("\"commit\"")
    }

    /// Reads a commit line. Errors begin with the member at fault.
    pub fn parse(mut line: Object) -> Result<Commit> {
        let scope = Scope::new(line.text("partition")?.as_deref(), line.text("instance")?.as_deref())?;
        let archive = line.object("archive")?.ok_or_else(|| missing("archive"))?;
        let memories = line.objects("memories")?.unwrap_or_default();
        let steps = line.objects("steps")?.unwrap_or_default();
        for member in ["kind", "partition", "instance", "archive", "memories", "steps"] {
            line.take(member);
        }
        let commit = Commit { scope, archive, memories, steps, more: line };
        commit.archive_record(0).map_err(|error| error.at("archive"))?;
        for (at, memory) in commit.memories.iter().enumerate() {
            commit.check_memory(memory).map_err(|error| error.at(format_args!("memories[{at}]")))?;
        }
        Ok(commit)
    }

    /// The line.
    pub fn into_line(self) -> Object {
        let array = |objects: &[Object]| {
            format!("[{}]", objects.iter().map(Object::to_json).collect::<Vec<_>>().join(","))
        };
        let mut line = Object::default();
        line.set_text("kind", COMMIT);
        line.set_text("partition", &self.scope.partition);
        line.set_text("instance", &self.scope.instance);
        line.set("archive", self.archive.to_json());
        line.set("memories", array(&self.memories));
        line.set("steps", array(&self.steps));
        for (member, json) in self.more.iter() {
            line.set(member, json);
        }
        line
    }

    /// The archive as it is stored at a time, in milliseconds since 1970, UTC. Errors if it is not the
    /// session's.
    pub fn archive_record(&self, now: i64) -> Result<StoredRecord> {
        let mut line = self.archive.clone();
        line.take(EXTRACTED_FROM_MEMBER);
        line.set_text("partition", &self.scope.partition);
        line.set_text("instance", &self.scope.instance);
        let draft = (DOCUMENT.read)(line)?;
        let fill = DraftDefaults {
            partition: None,
            instance: None,
            trace_id: String::new(),
            timestamp: now,
            seq: 0,
        };
        let archive = draft.complete(&fill)?;
        if archive.member_texts("covers").is_empty() {
            return Err(empty("covers"));
        }
        let history = history(&self.scope)?;
        if archive.address()?.parent().as_ref() != Some(&history) {
            let found = archive.member_text("uri");
            return Err(unexpected("uri", &format!("an address right below {history}"), &found));
        }
        Ok(archive)
    }

    fn check_memory(&self, memory: &Object) -> Result<()> {
        if let Some(name) = memory.text("kind")?.filter(|name| kind_named(name) != Some(&MEMORY)) {
            return Err(unexpected("kind", MEMORY.name, &name));
        }
        texts(memory, EXTRACTED_FROM_MEMBER)?;
        let draft = (MEMORY.read)(memory.clone())?;
        match draft.partition {
            Some(partition) if partition != self.scope.partition => {
                Err(unexpected("partition", &self.scope.partition, &partition))
            }
            _ => Ok(()),
        }
    }
}

/// The address above the archives of a session (an instance). Errors if a name cannot be a segment.
pub fn history(session: &Scope) -> Result<Address> {
    let name = segment(&session.instance);
    Address::home(&session.partition)?.join("sessions")?.join(&name)?.join("history")
}

/// The address of the archive whose last message has this id. Fails if the session's names make none.
pub fn archive_address(session: &Scope, last: &str) -> Result<Address> {
    history(session)?.join(&segment(last))
}

/// The session that a document is an archive of, if it is one.
pub fn session_of_archive(document: &StoredRecord) -> Option<Scope> {
    let above = document.address().ok()?.parent()?;
    (history(&document.scope).ok()? == above).then(|| document.scope.clone())
}

/// A name as a segment of an address; for one that cannot be a segment, the beginning of its digest.
fn segment(name: &str) -> String {
    let root = Address::parse("viking://").and_then(|root| root.join(name));
    match root {
        Ok(_) => name.to_owned(),
        Err(_) => format!("_{}", &digest::of(&[name])[..32]),
    }
}
