//! Memories, by the names, arguments and answers of ReasoningBank's tools.

use super::answer::Answer;
use super::arguments::Arguments;
use super::call::Call;
use super::client_scope::ClientScope;
use super::error::McpError;
use super::recall::{found, member, request};
use crate::chat::fence;
use crate::distill::{self, Session};
use crate::error::Result;
use crate::ingest::NewMemory;
use crate::memory::{self, NewSignal};
use crate::record::{MEMORY, Object, SignalType, StoredRecord, quote};
use crate::store::{self, Select};
use crate::text::counted_verb;
use serde::Serialize;

/// The error for a memory that was forgotten before.
const KEPT_OUT: McpError = McpError::KeptOut { what: "memory" };

/// Finds memories: `rsv-search --kind memory QUERY`, and then `rsv-signal --used`.
pub(super) fn search(call: &Call, arguments: &Arguments) -> Result<Answer> {
    let which = Select::records(vec![&MEMORY], call.scope.to_read(None)?);
    let request = request(arguments, which)?;
    let hits = call.hits(&mut *call.open_to_read()?, &request, None)?;
    Ok(found(call, "memories", hits, fence::MEMORY_NOTE, "memory"))
}

/// A memory in a structured content.
#[derive(Serialize)]
struct StoredMemory<'a> {
    id: &'a str,
    title: String,
    outcome: String,
    confidence: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<Vec<String>>,
}

impl StoredMemory<'_> {
    fn of(memory: &StoredRecord) -> StoredMemory<'_> {
        StoredMemory {
            id: &memory.id,
            title: memory.member_text("title"),
            outcome: memory.member_text("outcome"),
            confidence: memory::confidence_of(memory),
            tags: None,
        }
    }
}

/// The structured content of an answer about a signal.
#[derive(Serialize)]
struct Feedback<'a> {
    memory_id: &'a str,
    new_confidence: f64,
    helpful: bool,
}

#[derive(Serialize)]
struct RecordedOutcome<'a> {
    recorded: bool,
    new_confidence: f64,
    message: &'a str,
}

/// The structured content of an answer to the end of a session.
#[derive(Serialize)]
struct EndedSession<'a> {
    session_id: Option<&'a str>,
    memory_ids: Vec<&'a str>,
    memories: Vec<StoredMemory<'a>>,
    count: usize,
    message: &'a str,
}

/// Stores a memory: `rsv-ingest --title TITLE --outcome OUTCOME TEXT`.
pub(super) fn record(call: &Call, arguments: &Arguments) -> Result<Answer> {
    let outcome = match arguments.text("outcome") {
        Some("failure") => "failure",
        _ => "success",
    };
    let tags = arguments.texts("tags");
    let given = |name| arguments.text(name).filter(|text| !text.trim().is_empty());
    let memory = NewMemory {
        title: arguments.text("title").unwrap_or_default(),
        outcome,
        tags: &tags,
        description: given("description"),
        session_id: given("session_id"),
        completed_at: given("completed_at"),
    };
    let content = arguments.text("content").unwrap_or_default();
    let scope = call.scope.to_write(None)?;
    let ingested = call.ingest(&scope, None, &mut |ingest| ingest.add_memory(&memory, content))?;
    let stored = stored_memories(call, &ingested.lines)?;
    let Some(stored) = stored.first() else { return Err(KEPT_OUT.into()) };
    let (outcome, tags) = (outcome.to_owned(), Some(stored.member_texts("tags")));
    let recorded = StoredMemory { outcome, tags, ..StoredMemory::of(stored) };
    let text = format!("recorded, id {}, confidence {:.2}", stored.id, recorded.confidence);
    Ok(Answer::new(ingested.with_notes(text), recorded))
}

/// The memories among stored lines, as they are in the store, with their derived members.
fn stored_memories(call: &Call, lines: &[Object]) -> Result<Vec<StoredRecord>> {
    let ids: Vec<String> = lines
        .iter()
        .filter(|line| line.word("kind") == Some("memory"))
        .map(|line| member(line, "id"))
        .collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let store = &mut *call.open_to_read()?;
    let mut memories = store.get(&ids, &Select::records(vec![&MEMORY], call.scope.to_read(None)?))?;
    memory::derive(store, &mut memories, call.prior())?;
    Ok(memories)
}

/// Says whether a memory helped: `rsv-signal --helpful ID`.
pub(super) fn feedback(call: &Call, arguments: &Arguments) -> Result<Answer> {
    let helpful = arguments.flag("helpful");
    let (memory, scope) = signal(call, arguments, SignalType::Explicit, helpful)?;
    let confidence = memory::confidence_of(&memory);
    let counted = Feedback { memory_id: &memory.id, new_confidence: confidence, helpful };
    let verb = if helpful { "helped" } else { "did not help" };
    Ok(Answer::new(format!("stored that it {verb}; its confidence is {confidence:.2} now"), counted)
        .of(scope))
}

/// Says whether an attempt that used a memory succeeded: `rsv-signal --succeeded ID`.
pub(super) fn outcome(call: &Call, arguments: &Arguments) -> Result<Answer> {
    let succeeded = arguments.flag("succeeded");
    let (memory, scope) = signal(call, arguments, SignalType::Outcome, succeeded)?;
    let confidence = memory::confidence_of(&memory);
    let verb = if succeeded { "succeeded" } else { "failed" };
    let message = format!("stored that it {verb}; its confidence is {confidence:.2} now");
    let counted = RecordedOutcome { recorded: true, new_confidence: confidence, message: &message };
    Ok(Answer::new(&*message, counted).of(scope))
}

/// Stores a signal about the memory of an argument; returns the memory with its new confidence, and its
/// project. A call that names no project finds the memory in all that it may name.
fn signal(
    call: &Call,
    arguments: &Arguments,
    signal_type: SignalType,
    positive: bool,
) -> Result<(StoredRecord, ClientScope)> {
    let id = arguments.text("memory_id").unwrap_or_default();
    if id.trim().is_empty() {
        return Err(McpError::EmptyId.into());
    }
    let session_id = arguments.text("session_id").filter(|id| !id.is_empty()).map(str::to_owned);
    let signal = NewSignal { signal_type, positive, session_id };
    let store = &mut *call.open_to_write()?;
    let projects = match arguments.text("project_id") {
        Some(_) => vec![call.scope.clone()],
        None => call.scope.all_projects()?,
    };
    for project in projects {
        let scopes = project.to_read(None)?;
        let id = store::full_id(store, id, &scopes)?;
        let stored = memory::store_signals(store, &[id], &signal, &scopes, &call.server.clock)?;
        if let Some(mut memory) = stored.into_iter().flatten().next() {
            memory::derive(store, [&mut memory], call.prior())?;
            return Ok((memory, project));
        }
    }
    Err(McpError::NoMemory.into())
}

/// Makes memories of a session: `rsv-distill | rsv-ingest` of its summary.
pub(super) fn session_end(call: &Call, arguments: &Arguments) -> Result<Answer> {
    let scope = call.scope.to_write(None)?;
    let mut line = Object::default();
    line.set_text("kind", "summary");
    for name in ["session_id", "outcome", "task", "approach", "result", "completed_at"] {
        if let Some(text) = arguments.text(name) {
            line.set_text(name, text);
        }
    }
    arguments.words("approach")?;
    let tags: Vec<String> = arguments.texts("tags").iter().map(|tag| quote(tag)).collect();
    if tags.is_empty() {
        return Err(McpError::NoTags.into());
    }
    line.set("tags", format!("[{}]", tags.join(",")));
    if let Some(ms) = arguments.whole_if_given("duration_ms") {
        line.set("duration_ms", ms.to_string());
    }
    let session = Session::parse(&line)?;
    let memories = distill::by_rule(&session, call.server.clock.now());
    let ingested = call.ingest(&scope, None, &mut |ingest| {
        for memory in &memories {
            for line in distill::with_links(&session, memory.clone())? {
                ingest.add_object("session_end", line)?;
            }
        }
        Ok(())
    })?;
    let stored = stored_memories(call, &ingested.lines)?;
    if stored.is_empty() {
        return Err(KEPT_OUT.into());
    }
    let ids: Vec<&str> = stored.iter().map(|memory| memory.id.as_str()).collect();
    let message =
        format!("{} made of the session", counted_verb(stored.len() as u64, "memory", ["was", "were"]));
    let text = ingested.with_notes(format!("{message}: {}", ids.join(", ")));
    let ended = EndedSession {
        session_id: session.session_id.as_deref(),
        memory_ids: ids,
        memories: stored.iter().map(StoredMemory::of).collect(),
        count: stored.len(),
        message: &message,
    };
    Ok(Answer::new(text, ended))
}
