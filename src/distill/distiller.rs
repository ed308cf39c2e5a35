//! Distils lines, one session of the store, or one commit, and prints what comes of it.

use super::document_queue::{DistilledDocument, DocumentQueue};
use super::error::DistillError;
use super::uncommitted::UncommittedSession;
use super::{Conversation, Patterns, Session, SessionOutcome, StaleDocument};
use super::{by_model, by_rule, commit_by_model, commit_by_rule, commit_request, request, with_links};
use crate::cli::{BadLines, Common, Io, Source};
use crate::error::{Error, Result};
use crate::lines::LocatedObject;
use crate::record::{DOCUMENT, Line, MESSAGE, Object};
use crate::structured::Method;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::num::NonZeroUsize;

/// The known facts about the session of messages.
#[derive(Default)]
pub struct SessionFacts {
    pub outcome: Option<SessionOutcome>,
    pub task: Option<String>,
    pub tags: Vec<String>,
    pub name: Option<String>,
}

/// Distils by a method.
pub struct Distiller {
    pub method: Method,
    pub facts: SessionFacts,
}

/// The conversations of messages, by their partitions.
type Conversations = BTreeMap<Option<String>, Conversation>;

/// An input line by its type.
enum Taken {
    Session(Session),
    /// It is added to its conversation.
    Message,
    /// A model is to describe it.
    Document(Box<StaleDocument>),
    Other(Object),
}

impl Distiller {
    /// Distils the lines of inputs, of at most `limit` bytes each: summaries of sessions, messages, and, with
    /// a model, documents, of which it is asked about `jobs` at once. Other lines are passed on.
    pub fn lines(&self, sources: Vec<Source>, limit: usize, jobs: NonZeroUsize, io: &mut Io) -> Result<()> {
        let mut conversations = Conversations::new();
        let mut documents = match &self.method {
            Method::ByModel(model) => Some(DocumentQueue::new(model.clone(), jobs)),
            Method::ByRule | Method::EmitRequests(_) => None,
        };
        let read = &mut |LocatedObject { location, object }, io: &mut Io| match self
            .read(object, &mut conversations)
        {
            Ok(Taken::Session(session)) => self.distil(session, &location, io).map(Ok),
            Ok(Taken::Document(document)) => self.describe(*document, &mut documents, io).map(Ok),
            Ok(Taken::Other(line)) => io.out.object(&line).map(Ok),
            Ok(Taken::Message) => Ok(Ok(())),
            Err(error) => Ok(Err(error.at(location))),
        };
        let bad_lines = BadLines::of_each(sources, limit, io, read)?;
        if let Some(documents) = &mut documents {
            documents.finish(&mut |done| print_document(done, io))?;
        }
        bad_lines.end(io);
        let SessionFacts { outcome, task, tags, name } = &self.facts;
        if let (Some(outcome), Some(task)) = (outcome, task) {
            for conversation in conversations.into_values() {
                let session = conversation.into_session(*outcome, task, tags, name.as_deref());
                self.distil(session, &"the messages", io)?;
            }
        }
        Ok(())
    }

    /// Reads a line. Messages are added to the conversation of their partition.
    fn read(&self, line: Object, conversations: &mut Conversations) -> Result<Taken> {
        if Session::is_summary(&line) {
            return Session::parse(&line).map(Taken::Session);
        }
        if !matches!(self.method, Method::ByRule)
            && let Some(document) = StaleDocument::parse(&line)?
        {
            return Ok(Taken::Document(Box::new(document)));
        }
        match Line::parse(line.clone())? {
            Line::Record(message) if message.kind == &MESSAGE => {
                if self.facts.outcome.is_none() {
                    return Err(DistillError::NoOutcome.into());
                }
                let partition = message.partition.clone();
                let conversation = conversations.entry(partition.clone());
                conversation.or_insert_with(|| Conversation::new(partition)).add(&message);
                Ok(Taken::Message)
            }
            _ => Ok(Taken::Other(line)),
        }
    }

    /// Prints the memories of a session, each with the links to its messages. A session that names no scope
    /// is of that of the flags. `place` is where it was read.
    fn distil(&self, mut session: Session, place: &dyn Display, io: &mut Io) -> Result<()> {
        if session.partition.is_none() && session.instance.is_none() {
            session.partition = io.common.partition().map(str::to_owned);
            session.instance.clone_from(&io.common.instance);
        }
        for memory in self.memories(&session, place, io)?.into_iter().flatten() {
            with_links(&session, memory)?.iter().try_for_each(|line| io.out.object(line))?;
        }
        io.out.flush()
    }

    /// The memories of a session; `None` if the request to a model was printed instead.
    pub(super) fn memories(
        &self,
        session: &Session,
        place: &dyn Display,
        io: &mut Io,
    ) -> Result<Option<Vec<Object>>> {
        let now = io.clock.now();
        let model = match &self.method {
            Method::EmitRequests(recipient) => {
                io.out.object(&request(session).body(recipient))?;
                return io.out.flush().map(|()| None);
            }
            Method::ByRule => return Ok(Some(by_rule(session, now))),
            Method::ByModel(model) => model,
        };
        match by_model(session, model, now) {
            Ok(memories) => {
                if memories.is_empty() {
                    io.note(format_args!("{place}: the model found nothing to learn"));
                }
                Ok(Some(memories))
            }
            Err(error) => {
                io.note(format_args!("{place}: distilled by rule: {error}{}", hint_of(&error)));
                Ok(Some(by_rule(session, now)))
            }
        }
    }

    /// Asks a model to describe a document, or prints the request.
    fn describe(
        &self,
        document: StaleDocument,
        documents: &mut Option<DocumentQueue>,
        io: &mut Io,
    ) -> Result<()> {
        match (&self.method, documents) {
            (Method::EmitRequests(model), _) => {
                io.out.object(&document.request().body(model))?;
                io.out.flush()
            }
            (_, Some(documents)) => documents.push(document, &mut |done| print_document(done, io)),
            _ => Ok(()),
        }
    }

    /// Prints one commit of the messages of a session. Other lines are passed on.
    pub fn commit(&self, sources: Vec<Source>, limit: usize, patterns: &Patterns, io: &mut Io) -> Result<()> {
        let mut session: Option<UncommittedSession> = None;
        let take = &mut |LocatedObject { location, object }, io: &mut Io| match add_to_session(
            object,
            &mut session,
            &io.common,
        ) {
            Ok(None) => Ok(Ok(())),
            Ok(Some(line)) => io.out.object(&line).map(Ok),
            Err(error) => Ok(Err(error.at(location))),
        };
        BadLines::of_each(sources, limit, io, take)?.end(io);
        let Some(session) = session.filter(|session| !session.is_empty()) else { return Ok(()) };
        let line = match &self.method {
            Method::EmitRequests(recipient) => commit_request(&session).body(recipient),
            Method::ByRule => commit_by_rule(&session, patterns)?,
            Method::ByModel(model) => match commit_by_model(&session, model) {
                Ok(line) => line,
                Err(error) => {
                    io.note(format_args!("{}: committed by rule: {error}", session.scope()));
                    commit_by_rule(&session, patterns)?
                }
            },
        };
        io.out.object(&line)?;
        io.out.flush()
    }
}

/// Prints a document with new texts at once, so that it is stored even if this process is killed.
fn print_document(done: DistilledDocument, io: &mut Io) -> Result<()> {
    match done.line {
        Ok(line) => {
            io.out.object(&line)?;
            io.out.flush()
        }
        Err(error) => {
            io.note(format_args!("{}: stays as it is: {error}{}", done.uri, hint_of(&error)));
            Ok(())
        }
    }
}

/// The hint of an error, for a note.
fn hint_of(error: &Error) -> String {
    error.remedy().map_or(String::new(), |hint| format!(" ({hint})"))
}

/// Adds an archive or a message to its session; returns other lines.
fn add_to_session(
    line: Object,
    session: &mut Option<UncommittedSession>,
    common: &Common,
) -> Result<Option<Object>> {
    let Line::Record(mut draft) = Line::parse(line.clone())? else { return Ok(Some(line)) };
    if draft.kind != &MESSAGE && draft.kind != &DOCUMENT {
        return Ok(Some(line));
    }
    let scope = draft.scope(common.partition.as_deref(), common.instance.as_deref())?;
    (draft.partition, draft.instance) = (Some(scope.partition.clone()), Some(scope.instance.clone()));
    let session = session.get_or_insert_with(|| UncommittedSession::new(scope));
    if draft.kind == &MESSAGE {
        session.add(draft)?
    } else {
        session.follow(draft)?
    }
    Ok(None)
}
