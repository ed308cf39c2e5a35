//! Stored records as the tools print them: as text for people, or as lines for programs.

mod around;
mod audit;
mod error;
mod follow;
mod hits;
mod ingested;
mod last;
pub mod links;
mod statement;
mod summaries;
mod tree;

pub use audit::audit;
pub use hits::{InTree, Search};
pub use ingested::IngestFormat;
pub use last::{DEFAULT_COUNT, Last};
pub use statement::{members, state};
pub use tree::TreeOptions;

use crate::cli::{Io, Layout};
use crate::config::Settings;
use crate::enrich;
use crate::error::Result;
use crate::memory;
use crate::record::{ACCOUNT, ACTION, MEMORY, RecordKind, Role, Scopes, StoredRecord, kinds};
use crate::search;
use crate::store::{Select, Store};
use crate::view;
use error::ShowError;

/// Of some kinds, or of all without any, those whose records are about others. Errors if one of `named` is
/// none.
pub fn kinds_about(named: &[&'static RecordKind]) -> Result<Vec<&'static RecordKind>> {
    if let Some(kind) = named.iter().find(|kind| kind.subject.is_none()) {
        return Err(ShowError::NoSubject { kind: kind.name }.into());
    }
    let about = kinds().into_iter().filter(|kind| kind.subject.is_some());
    Ok(about.filter(|kind| named.is_empty() || named.contains(kind)).collect())
}

/// Prints the records of a store.
pub struct Viewer<'a> {
    pub store: Box<dyn Store>,
    pub settings: &'a Settings,
    /// The layout of text for people; without it, records are lines.
    pub layout: Option<Layout>,
    pub io: &'a mut Io,
}

impl Viewer<'_> {
    /// Prints records; for people, memories are entries of a list, and actions alone the log of a session.
    fn records(&mut self, records: &[StoredRecord]) -> Result<()> {
        let Viewer { store, layout: Some(layout), io, .. } = self else {
            return records.iter().try_for_each(|record| self.io.out.stored(record));
        };
        if !records.is_empty() && records.iter().all(|record| record.kind == &ACTION) {
            return self.action_log(records);
        }
        let ids: Vec<&str> = records.iter().map(|record| record.id.as_str()).collect();
        let evidence = memory::evidence(&mut **store, &ids)?;
        let heads = search::heads(&mut **store, records, Some(layout))?;
        records.iter().try_for_each(|record| {
            let text = if record.kind == &MEMORY {
                let evidence = evidence.get(&record.id).copied().unwrap_or_default();
                memory::entry(record, &evidence, &heads, layout)
            } else {
                view::record(record, &heads, layout)
            };
            io.out.write(text.as_bytes())
        })
    }

    /// Prints actions below the words of the turns that they belong to.
    fn action_log(&mut self, actions: &[StoredRecord]) -> Result<()> {
        let questions = search::questions(&mut *self.store, actions)?;
        let shown = actions.iter().chain(questions.values());
        let heads = search::heads(&mut *self.store, shown, self.layout.as_ref())?;
        let Some(mut layout) = self.layout.clone() else { return Ok(()) };
        layout.scopes |= actions.iter().any(|action| action.scope != actions[0].scope);
        self.io.out.write(view::action_log(actions, &questions, &heads, &layout).as_bytes())
    }

    /// Prints a record by itself; for people, an account with its question and the records that it names.
    fn record(&mut self, record: &StoredRecord) -> Result<()> {
        let Viewer { store, layout: Some(layout), io, .. } = self else { return self.io.out.stored(record) };
        if record.kind.name != ACCOUNT.name {
            let heads = search::heads(&mut **store, [record], Some(layout))?;
            return io.out.write(view::record(record, &heads, layout).as_bytes());
        }
        let asked = Select {
            trace_id: Some(record.trace_id.clone()),
            roles: vec![Role::User],
            until: Some(record.timestamp),
            ..Select::messages(Scopes::One(record.scope.clone()))
        };
        let question = store.last_of(&asked, 1)?.pop();
        let ids = enrich::ids_in_account(record);
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        // Recalled records may be of other instances.
        let partition = Scopes::Partition(record.scope.partition.clone());
        let named = store.get(&ids, &Select::records(kinds(), partition))?;
        let named = named.into_iter().map(|record| (record.id.clone(), record)).collect();
        let question = question.as_ref().map(|question| question.text.as_str());
        io.out.write(enrich::account_text(record, question, &named, layout).as_bytes())
    }
}
