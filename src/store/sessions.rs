//! Sessions: the instances of a partition, as a view of their messages and archives.

use super::api::Store;
use super::select::{Below, Select, Walk};
use crate::error::Result;
use crate::record::{
    ACCOUNT, ACTION, Account, DOCUMENT, Record, Scope, Scopes, SessionSummary, StoredRecord, TITLE,
    archive_address, history, session_of_archive,
};
use std::collections::{BTreeMap, HashSet};

/// The number of scopes that are looked up together.
const BATCH: usize = 256;

/// The sessions of some scopes, by the time of their last messages. Fails if the store cannot be read.
pub fn sessions(store: &mut dyn Store, scopes: &Scopes) -> Result<Vec<SessionSummary>> {
    let mut sessions: BTreeMap<Scope, SessionSummary> = BTreeMap::new();
    visit(store, Select::messages(scopes.clone()), &mut |message| {
        // An entry would copy the scope of every message.
        if !sessions.contains_key(&message.scope) {
            sessions.insert(message.scope.clone(), SessionSummary::new(&message));
        }
        if let Some(session) = sessions.get_mut(&message.scope) {
            session.add(&message);
        }
    })?;
    visit(store, Select::records(vec![&DOCUMENT], scopes.clone()), &mut |document| {
        if let Some(session) = session_of_archive(&document).and_then(|scope| sessions.get_mut(&scope)) {
            session.committed = session.committed.max(Some(document.timestamp));
        }
    })?;
    visit(store, Select::records(vec![&TITLE], scopes.clone()), &mut |title| {
        if let Some(session) = sessions.get_mut(&title.scope) {
            session.title = title.shown_text().into_owned();
        }
    })?;
    let mut sessions: Vec<SessionSummary> = sessions.into_values().collect();
    sessions.sort_by_key(|session| session.last);
    Ok(sessions)
}

/// Adds to sessions the programs that their actions name, where no message names one.
pub fn add_programs(store: &mut dyn Store, sessions: &mut [SessionSummary]) -> Result<()> {
    let mut unnamed: Vec<_> = sessions.iter_mut().filter(|session| session.program.is_none()).collect();
    for sessions in unnamed.chunks_mut(BATCH) {
        let actions = |session: &&mut SessionSummary| {
            Select::records(vec![&ACTION], Scopes::One(session.scope.clone()))
        };
        let last = store.last(&sessions.iter().map(actions).collect::<Vec<_>>(), 1)?;
        for (session, action) in sessions.iter_mut().zip(last) {
            session.program = action.first().and_then(|action| action.members.valid_text("program"));
        }
    }
    Ok(())
}

/// The messages of a session that no archive covers.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Uncommitted {
    /// The last archive.
    pub archive: Option<StoredRecord>,
    /// The first of them, in their order.
    pub messages: Vec<StoredRecord>,
    /// The number of those after them.
    pub more: usize,
}

/// The uncommitted messages of a session, at most this many. Fails if the store cannot be read.
pub fn uncommitted(store: &mut dyn Store, session: &Scope, most: usize) -> Result<Uncommitted> {
    let archives = archives(store, session)?;
    let covered: HashSet<String> =
        archives.iter().flat_map(|archive| archive.member_texts("covers")).collect();
    let mut found = Uncommitted { archive: last_archive(archives), ..Uncommitted::default() };
    visit(store, Select::messages(Scopes::One(session.clone())), &mut |message| {
        if covered.contains(&message.id) {
            return;
        }
        if found.messages.len() < most {
            found.messages.push(message);
        } else {
            found.more += 1;
        }
    })?;
    Ok(found)
}

/// The sessions whose last message ends no archive, with the times of these messages, in milliseconds since
/// 1970, UTC. A scope is a session if the account of its last turn says so; with `all`, each is.
pub fn open_sessions(store: &mut dyn Store, all: bool) -> Result<Vec<(Scope, i64)>> {
    let mut open = Vec::new();
    let scopes: Vec<Scope> = store.scopes(None)?.into_iter().map(|(scope, _)| scope).collect();
    for scopes in scopes.chunks(BATCH) {
        let one = |scope: &Scope| Scopes::One(scope.clone());
        let of_messages: Vec<Select> = scopes.iter().map(|scope| Select::messages(one(scope))).collect();
        let of_accounts: Vec<Select> =
            scopes.iter().map(|scope| Select::records(vec![&ACCOUNT], one(scope))).collect();
        let accounts = if all { vec![Vec::new(); scopes.len()] } else { store.last(&of_accounts, 1)? };
        let is_session = |accounts: &[StoredRecord]| {
            all || accounts.last().is_some_and(|account| Account::from_record(account).session)
        };
        let messages = store.last(&of_messages, 1)?.into_iter().zip(accounts);
        let last: Vec<StoredRecord> = messages
            .filter(|(_, accounts)| is_session(accounts))
            .filter_map(|(mut last, _)| last.pop())
            .collect();
        let archives: Vec<Option<String>> = last.iter().map(archive_ending_with).collect();
        let ids: Vec<&str> = archives.iter().flatten().map(String::as_str).collect();
        let stored = store.get(&ids, &Select::records(vec![&DOCUMENT], Scopes::All))?;
        let stored: HashSet<&str> = stored.iter().map(|archive| archive.id.as_str()).collect();
        let of_each = last.iter().zip(&archives);
        let without = of_each.filter(|(_, id)| id.as_deref().is_some_and(|id| !stored.contains(id)));
        open.extend(without.map(|(last, _)| (last.scope.clone(), last.timestamp)));
    }
    Ok(open)
}

/// The id of the archive that ends with a message; `None` if its session can have no archives.
fn archive_ending_with(message: &StoredRecord) -> Option<String> {
    let address = archive_address(&message.scope, &message.id).ok()?;
    Some(address.document_id(&message.scope.partition))
}

/// Whether a session that has no message belongs to another partition. Fails if the store cannot be read.
pub fn is_of_another(store: &mut dyn Store, session: &Scope) -> Result<bool> {
    if !store.last_of(&Select::messages(Scopes::One(session.clone())), 1)?.is_empty() {
        return Ok(false);
    }
    let is_named = |(scope, messages): &(Scope, u64)| scope.partition != session.partition && *messages > 0;
    Ok(store.scopes(Some(&session.instance))?.iter().any(is_named))
}

/// The archives of a session, by time. Fails if the session's names make no address, or the store cannot be
/// read.
pub fn archives(store: &mut dyn Store, session: &Scope) -> Result<Vec<StoredRecord>> {
    let below = Some(Below::new(&history(session)?, Some(1)));
    let which = Select { below, ..Select::records(vec![&DOCUMENT], Scopes::One(session.clone())) };
    let mut archives = Vec::new();
    visit(store, which, &mut |archive| archives.push(archive))?;
    Ok(archives)
}

/// The archive that no other follows; of several, which two stores may have brought together, the latest.
pub fn last_archive(archives: Vec<StoredRecord>) -> Option<StoredRecord> {
    let followed: HashSet<String> = archives.iter().map(|archive| archive.member_text("follows")).collect();
    let is_last = |archive: &StoredRecord| !followed.contains(&archive.id);
    archives.into_iter().filter(is_last).max_by_key(|archive| (archive.timestamp, archive.id.clone()))
}

fn visit(store: &mut dyn Store, which: Select, visit: &mut dyn FnMut(StoredRecord)) -> Result<()> {
    store.walk(&Walk::records(which), &mut |record| {
        if let Record::Stored(record) = record {
            visit(record);
        }
        Ok(())
    })?;
    Ok(())
}
