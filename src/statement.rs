//! Statements of people about memories and messages: that they helped, or whether they are recalled.

use crate::cli::{Io, Outcome};
use crate::config::Settings;
use crate::error::{Error, Result, failures};
use crate::lines::Reader;
use crate::memory::{self, NewSignal};
use crate::recall_rules;
use crate::record::{Clock, Object, RECALL, RecallRule, Scopes, StoredRecord};
use crate::store::{self, OpenMode, Store};

/// The number of lines whose signals are stored together.
const BATCH: usize = 10_000;

// The reason why a statement is about no record; `help` tells how to list them.
failures! { enum StatementError {
    NoId { kind: &'static str, help: &'static str } ("ID: the id of a {kind} is missing") => "{help}",
    NotFound { kind: &'static str, id: String, help: &'static str } ("of: {kind} not found: {id}")
        => "{help}",
} }

/// A person's statement about some memories, or some messages.
pub enum Statement {
    OfMemories(NewSignal),
    OfMessages(RecallRule),
}

impl Statement {
    /// Stores it about some records, in one transaction; returns these, `None` for an id that is none's
    /// within the scopes.
    pub fn store(
        &self,
        store: &mut dyn Store,
        ids: &[String],
        scopes: &Scopes,
        clock: &Clock,
    ) -> Result<Vec<Option<StoredRecord>>> {
        match self {
            Statement::OfMemories(signal) => memory::store_signals(store, ids, signal, scopes, clock),
            Statement::OfMessages(rule) => recall_rules::store_rule(store, ids, *rule, scopes, clock),
        }
    }

    /// The error for an id that is empty, as that of a variable which is not set.
    pub fn no_id(&self) -> Error {
        let (kind, help) = self.kind();
        StatementError::NoId { kind, help }.into()
    }

    /// The error for an id that is none's.
    pub fn not_found(&self, id: &str) -> Error {
        let (kind, help) = self.kind();
        StatementError::NotFound { kind, id: id.to_owned(), help }.into()
    }

    /// The kind of the records, and how to list them.
    fn kind(&self) -> (&'static str, &'static str) {
        match self {
            Statement::OfMemories(_) => ("memory", "rsv-view --kind memory --all lists the memories"),
            Statement::OfMessages(_) => ("message", "rsv-view --all lists the messages"),
        }
    }

    /// The id of the record that a line is of, or about; none for other lines.
    fn id_in(&self, line: &Object) -> Result<Option<String>> {
        let (kind, about) = match self {
            Statement::OfMemories(_) => ("memory", "signal"),
            Statement::OfMessages(_) => ("message", RECALL.name),
        };
        let (line_kind, record) = (line.text("kind")?, line.text("record")?);
        match line_kind.as_deref() {
            Some("hit") if record.as_deref().unwrap_or("message") == kind => line.text("id"),
            Some(line_kind) if line_kind == kind => line.text("id"),
            Some(line_kind) if line_kind == about => line.text("of"),
            _ => Ok(None),
        }
    }
}

/// Passes lines on once what is said of their records is stored.
pub fn pass_lines(statement: &Statement, settings: &Settings, io: &mut Io) -> Result<Outcome> {
    let scopes = &io.common.to_cover()?;
    let mut store = store::open(&settings.store()?, OpenMode::Create)?;
    let mut lines = Reader::new("<stdin>", io.stdin()?, settings.max_line());
    let mut batch: Vec<(Object, Option<String>)> = Vec::new();
    loop {
        let next = lines.next();
        let is_last = next.is_none();
        match next {
            Some(Ok(line)) => match statement.id_in(&line.object) {
                Ok(id) => batch.push((line.object, id)),
                Err(error) => io.fault(&error.at(line.location)),
            },
            Some(Err(error)) => io.fault(&error),
            None => {}
        }
        if is_last || batch.len() >= BATCH {
            store_batch(&mut *store, std::mem::take(&mut batch), statement, scopes, io)?;
        }
        if is_last {
            return Ok(Outcome::Yes);
        }
    }
}

fn store_batch(
    store: &mut dyn Store,
    batch: Vec<(Object, Option<String>)>,
    statement: &Statement,
    scopes: &Scopes,
    io: &mut Io,
) -> Result<()> {
    let ids: Vec<String> = batch.iter().filter_map(|(_, id)| id.clone()).collect();
    let stored = statement.store(store, &ids, scopes, &io.clock)?;
    for (id, _) in ids.iter().zip(&stored).filter(|(_, record)| record.is_none()) {
        io.fault(&statement.not_found(id));
    }
    for (line, _) in batch {
        io.out.object(&line)?;
    }
    io.out.flush()
}
