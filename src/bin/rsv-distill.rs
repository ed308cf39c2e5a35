//! rsv-distill: makes memories of sessions, and abstracts and overviews of documents.

use clap::builder::NonEmptyStringValueParser;
use rsv::cli::{BadLines, Common, Io, Outcome};
use rsv::config::Settings;
use rsv::distill::{
    self, Conversation, DistilledDocument, DocumentQueue, LATEST, Patterns, Session, SessionOutcome,
    StaleDocument, UncommittedSession,
};
use rsv::error::{Error, Result};
use rsv::ingest::{Ingest, Options};
use rsv::lines::{LocatedObject, Reader};
use rsv::memory::{self, PriorRule};
use rsv::record::{DOCUMENT, Line, MEMORY, MESSAGE, Object, Scopes};
use rsv::redact::Redactor;
use rsv::search;
use rsv::store::{self, OpenMode, Select, Store};
use rsv::structured::Method;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Make memories of sessions, and describe documents, for rsv-ingest to store
///
/// Reads summaries of sessions, one a line, and prints for each a strategy (success), a warning (failure) or both
/// (partial). With --outcome and --task, the messages among the lines are one session. With --model, a model writes the
/// memories, and the abstracts and overviews of the documents that 'rsv-view --stale' prints. Other lines are passed on.
/// With --outcome and --session alone, the messages are those of the store, which gets the memories too; no store is
/// opened otherwise.
#[derive(clap::Args)]
struct Args {
    /// The files to read; without any, or for '-', read standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Make one commit of the messages: their archive, and the memories found in them, as rsv-view --uncommitted prints
    /// them
    #[arg(long, conflicts_with_all = ["outcome", "task", "tags", "session"])]
    commit: bool,
    /// With --commit: know statements to remember by the patterns in this file too [default: the setting session.patterns]
    #[arg(long, value_name = "FILE", requires = "commit")]
    patterns: Option<PathBuf>,
    /// Distil messages too, of a session with this outcome: success, failure or partial
    #[arg(long, value_name = "OUTCOME", value_parser = outcome)]
    outcome: Option<SessionOutcome>,
    /// Say what the session of the messages was about [default, of a session in the store: its title]
    #[arg(long, value_name = "TEXT", value_parser = task, requires = "outcome")]
    task: Option<String>,
    /// Give the memories of the messages these tags
    #[arg(long, value_name = "TAG,...", value_delimiter = ',', requires = "outcome")]
    tags: Vec<String>,
    /// Name the session of the messages [default: the trace or the instance that they have in common]; without --task,
    /// or without input, take the messages of this session of -p, or of the latest, from the store, and store its
    /// memories
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new(), requires = "outcome")]
    session: Option<String>,
    /// Let this model write: 0 to 3 memories of each session, which are made by rule where it fails, and the abstract and
    /// the overview of each document, which stays as it is where it fails
    #[arg(long, value_name = "MODEL", value_parser = NonEmptyStringValueParser::new())]
    model: Option<String>,
    /// Print the requests to the model, for rsv-forward, instead of sending them
    #[arg(long, requires = "model")]
    emit_request: bool,
    /// Ask about this many documents at once
    #[arg(short, long, value_name = "COUNT", default_value = "1", requires = "model")]
    jobs: NonZeroUsize,
}

fn outcome(text: &str) -> std::result::Result<SessionOutcome, String> {
    SessionOutcome::named(text).ok_or_else(|| "expected success, failure or partial".to_owned())
}

fn task(text: &str) -> std::result::Result<String, String> {
    if text.trim().is_empty() { Err("expected some text".to_owned()) } else { Ok(text.to_owned()) }
}

rsv::tool!(run);

fn run(args: Args, settings: Settings, io: &mut Io) -> Result<Outcome> {
    Redactor::for_tool(&settings)?;
    io.common.scope()?;
    let method = Method::new(args.model.as_deref(), args.emit_request, &settings, io)?;
    if let Some(name) = args.session.as_deref().filter(|name| reads_store(name, &args, io)) {
        return distil_stored(name, &args, &settings, &method, io);
    }
    if args.outcome.is_some() && args.task.is_none() {
        return Err(Error::new("--outcome needs the task of the session, or a session of the store")
            .hint("give --task TEXT, or --session latest"));
    }
    if args.commit {
        return commit(&args, &settings, &method, io);
    }
    let mut conversations: BTreeMap<Option<String>, Conversation> = BTreeMap::new();
    let mut documents = match &method {
        Method::ByModel(model) => Some(DocumentQueue::new(model.clone(), args.jobs)),
        Method::ByRule | Method::EmitRequests(_) => None,
    };
    let mut bad_lines = BadLines::default();
    'read: for (name, input) in io.sources(&args.files)? {
        let mut reader = Reader::new(&name, input, settings.max_line());
        while let Some(next) = reader.next() {
            let read = next.and_then(|LocatedObject { location, object }| {
                match read(object, &mut conversations, &args) {
                    Ok(taken) => Ok((location, taken)),
                    Err(error) => Err(error.at(location)),
                }
            });
            let taken = match read {
                Ok((location, Taken::Session(session))) => distil(session, &location, &method, io).map(Ok)?,
                Ok((_, Taken::Document(document))) => {
                    describe(*document, &method, &mut documents, io).map(Ok)?
                }
                Ok((_, Taken::Other(line))) => print(&line, io).map(Ok)?,
                Ok((_, Taken::Message)) => Ok(()),
                Err(error) => Err(error),
            };
            if let ControlFlow::Break(()) = bad_lines.line(taken, io) {
                break 'read;
            }
        }
    }
    if let Some(documents) = &mut documents {
        documents.finish(&mut |done| print_document(done, io))?;
    }
    bad_lines.end(io);
    if let (Some(outcome), Some(task)) = (args.outcome, &args.task) {
        for conversation in conversations.into_values() {
            let session = conversation.into_session(outcome, task, &args.tags, args.session.as_deref());
            distil(session, &"the messages", &method, io)?;
        }
    }
    Ok(Outcome::Yes)
}

/// Whether a session is that of the store: its messages are in no input.
fn reads_store(name: &str, args: &Args, io: &Io) -> bool {
    args.files.is_empty() && (name == LATEST || args.task.is_none() || io.stdin_is_tty())
}

/// Makes memories of a session of the store, stores them, and prints them: as text for people, as lines for programs.
fn distil_stored(
    name: &str,
    args: &Args,
    settings: &Settings,
    method: &Method,
    io: &mut Io,
) -> Result<Outcome> {
    let Some(outcome) = args.outcome else {
        return Err(Error::new("how the session ended is not known").hint("give --outcome"));
    };
    let mut store = store::open(&settings.store()?, OpenMode::Existing)?;
    let (found, conversation) = distill::stored_session(&mut *store, &io.common.to_read(false)?, name)?;
    let task = args.task.as_deref().unwrap_or(&found.title);
    if task.trim().is_empty() {
        return Err(
            Error::new(format!("{} has no question", found.scope)).hint("say what it was about with --task")
        );
    }
    let session = conversation.into_session(outcome, task, &args.tags, Some(&found.scope.instance));
    let Some(memories) = memories(&session, &found.scope, method, io)? else { return Ok(Outcome::Yes) };
    let options = Options {
        partition: Some(found.scope.partition.clone()),
        instance: Some(found.scope.instance.clone()),
        max_line: Some(settings.max_line()),
        redactor: Redactor::for_tool(settings)?,
        ..Options::default()
    };
    let mut ingest = Ingest::new(options, io.clock);
    for memory in memories {
        for line in distill::with_links(&session, memory)? {
            ingest.add_object("the session", line)?;
        }
    }
    let mut ids = Vec::new();
    for stored in ingest.commit(&mut *store)? {
        match stored.line {
            Ok(line) if io.stdout_is_tty() => ids.extend(Object::parse_bytes(&line)?.text("id")?),
            Ok(line) => io.out.write(&line)?,
            Err(error) => io.fault(&error),
        }
        if let Some(note) = stored.note {
            io.note(note);
        }
    }
    show(&ids, &mut *store, settings, io)?;
    for note in ingest.forgetting_note().into_iter().chain(ingest.redaction_note()) {
        io.note(note);
    }
    Ok(Outcome::Yes)
}

/// Prints memories of the store for people.
fn show(ids: &[String], store: &mut dyn Store, settings: &Settings, io: &mut Io) -> Result<()> {
    let layout = io.layout();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut memories = store.get(&ids, &Select::records(vec![&MEMORY], Scopes::All))?;
    memory::derive(store, &mut memories, PriorRule::from_settings(settings))?;
    let evidence = memory::evidence(store, &ids)?;
    let heads = search::heads(store, &memories, Some(&layout))?;
    for memory in &memories {
        let evidence = evidence.get(&memory.id).copied().unwrap_or_default();
        io.out.write(memory::entry(memory, &evidence, &heads, &layout).as_bytes())?;
    }
    Ok(())
}

/// An input line by its type.
enum Taken {
    Session(Session),
    /// It is added to its conversation.
    Message,
    /// A model is to describe it.
    Document(Box<StaleDocument>),
    Other(Object),
}

/// Reads a line. Messages are added to the conversation of their partition.
fn read(
    line: Object,
    conversations: &mut BTreeMap<Option<String>, Conversation>,
    args: &Args,
) -> Result<Taken> {
    if Session::is_summary(&line) {
        return Session::parse(&line).map(Taken::Session);
    }
    if args.model.is_some()
        && let Some(document) = StaleDocument::parse(&line)?
    {
        return Ok(Taken::Document(Box::new(document)));
    }
    match Line::parse(line.clone())? {
        Line::Record(message) if message.kind == &MESSAGE => {
            if args.outcome.is_none() {
                return Err(Error::new("this is a message, and how its session ended is not known")
                    .hint("give --outcome and --task"));
            }
            let partition = message.partition.clone();
            let conversation = conversations.entry(partition.clone());
            conversation.or_insert_with(|| Conversation::new(partition)).add(&message);
            Ok(Taken::Message)
        }
        _ => Ok(Taken::Other(line)),
    }
}

/// Prints the memories of a session, each with the links to its messages. `place` is where the session was read.
fn distil(mut session: Session, place: &dyn Display, method: &Method, io: &mut Io) -> Result<()> {
    set_default_scope(&mut session, &io.common);
    for memory in memories(&session, place, method, io)?.into_iter().flatten() {
        for line in distill::with_links(&session, memory)? {
            print(&line, io)?;
        }
    }
    io.out.flush()
}

/// The memories of a session; `None` if the request to a model was printed instead.
fn memories(
    session: &Session,
    place: &dyn Display,
    method: &Method,
    io: &mut Io,
) -> Result<Option<Vec<Object>>> {
    let now = io.clock.now();
    Ok(Some(match method {
        Method::EmitRequests(recipient) => {
            print(&distill::request(session).body(recipient), io)?;
            return io.out.flush().map(|()| None);
        }
        Method::ByRule => distill::by_rule(session, now),
        Method::ByModel(model) => match distill::by_model(session, model, now) {
            Ok(memories) => {
                if memories.is_empty() {
                    io.note(format_args!("{place}: the model found nothing to learn"));
                }
                memories
            }
            Err(error) => {
                let hint = error.remedy().map_or(String::new(), |hint| format!(" ({hint})"));
                io.note(format_args!("{place}: distilled by rule: {error}{hint}"));
                distill::by_rule(session, now)
            }
        },
    }))
}

/// Asks a model to describe a document, or prints the request.
fn describe(
    document: StaleDocument,
    method: &Method,
    documents: &mut Option<DocumentQueue>,
    io: &mut Io,
) -> Result<()> {
    match (method, documents) {
        (Method::EmitRequests(model), _) => {
            print(&document.request().body(model), io)?;
            io.out.flush()
        }
        (_, Some(documents)) => documents.push(document, &mut |done| print_document(done, io)),
        _ => Ok(()),
    }
}

/// Prints a document with new texts at once, so that it is stored even if this process is killed.
fn print_document(done: DistilledDocument, io: &mut Io) -> Result<()> {
    match done.line {
        Ok(line) => {
            print(&line, io)?;
            io.out.flush()
        }
        Err(error) => {
            let hint = error.remedy().map_or(String::new(), |hint| format!(" ({hint})"));
            io.note(format_args!("{}: stays as it is: {error}{hint}", done.uri));
            Ok(())
        }
    }
}

/// Prints one commit of the messages of a session.
fn commit(args: &Args, settings: &Settings, method: &Method, io: &mut Io) -> Result<Outcome> {
    let file = args.patterns.clone().or_else(|| settings.text("session.patterns").map(PathBuf::from));
    let patterns = Patterns::load(file.as_deref())?;
    let mut session: Option<UncommittedSession> = None;
    let mut bad_lines = BadLines::default();
    'read: for (name, input) in io.sources(&args.files)? {
        let mut reader = Reader::new(&name, input, settings.max_line());
        while let Some(next) = reader.next() {
            let read = next.and_then(|LocatedObject { location, object }| {
                take(object, &mut session, &io.common).map_err(|error| error.at(location))
            });
            let taken = match read {
                Ok(None) => Ok(()),
                Ok(Some(line)) => print(&line, io).map(Ok)?,
                Err(error) => Err(error),
            };
            if let ControlFlow::Break(()) = bad_lines.line(taken, io) {
                break 'read;
            }
        }
    }
    bad_lines.end(io);
    let Some(session) = session.filter(|session| !session.is_empty()) else { return Ok(Outcome::Yes) };
    let line = match method {
        Method::EmitRequests(recipient) => distill::commit_request(&session).body(recipient),
        Method::ByRule => distill::commit_by_rule(&session, &patterns)?,
        Method::ByModel(model) => match distill::commit_by_model(&session, model) {
            Ok(line) => line,
            Err(error) => {
                io.note(format_args!("{}: committed by rule: {error}", session.scope()));
                distill::commit_by_rule(&session, &patterns)?
            }
        },
    };
    print(&line, io)?;
    io.out.flush().map(|()| Outcome::Yes)
}

/// Adds an archive or a message to its session; returns other lines.
fn take(line: Object, session: &mut Option<UncommittedSession>, common: &Common) -> Result<Option<Object>> {
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

/// Puts a session that names no scope into the one of the flags.
fn set_default_scope(session: &mut Session, common: &Common) {
    if session.partition.is_none() && session.instance.is_none() {
        session.partition = common.partition().map(str::to_owned);
        session.instance.clone_from(&common.instance);
    }
}

fn print(line: &Object, io: &mut Io) -> Result<()> {
    io.out.with(|out| {
        line.write(out);
        out.push(b'\n');
    })
}
