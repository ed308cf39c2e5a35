//! The commit of a session, as the pipe does it: `rsv-view --uncommitted | rsv-distill --commit | rsv-link --near |
//! rsv-merge | rsv-ingest`.

use super::embedder::SharedEmbedder;
use super::proxy_config::ProxyConfig;
use super::store_pool::StorePool;
use crate::backfill;
use crate::distill::{self, Patterns, UncommittedSession};
use crate::error::{Error, Result};
use crate::ingest::{Gathered, Ingest, Options};
use crate::link::{self, Nearness};
use crate::memory::PriorRule;
use crate::merge;
use crate::record::{Commit, Draft, Feed, Line, Object, Record, Scope, StoredRecord, VectorFormat};
use crate::store::{self, Store, Uncommitted};
use std::io::Cursor;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The greatest number of messages in a commit; the others wait for the next one.
const MAX_MESSAGES: usize = 20_000;
/// The number of times that a commit is made: another process may have committed the session in between.
const ATTEMPTS: usize = 3;

/// Commits sessions, one at a time.
pub(super) struct SessionCommits {
    config: Arc<ProxyConfig>,
    stores: Arc<StorePool>,
    embedder: Arc<SharedEmbedder>,
    running: Mutex<()>,
}

impl SessionCommits {
    /// Commits what is in the store, with the one embedder.
    pub(super) fn new(
        config: &Arc<ProxyConfig>,
        stores: &Arc<StorePool>,
        embedder: &Arc<SharedEmbedder>,
    ) -> SessionCommits {
        let running = Mutex::default();
        SessionCommits { config: config.clone(), stores: stores.clone(), embedder: embedder.clone(), running }
    }

    /// Commits a session, on a thread that may block. Returns what was stored; `None` if there was nothing to commit.
    pub(super) fn commit(&self, session: &Scope) -> Result<Option<Commit>> {
        let _running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let mut attempt = 1;
        loop {
            let mut store = self.stores.open_to_serve()?;
            let Some(commit) = self.prepare(&mut *store, session)? else { return Ok(None) };
            match self.store(&mut *store, commit.clone()) {
                Ok(()) => return Ok(Some(commit)),
                Err(error) if attempt == ATTEMPTS => return Err(error),
                Err(error) => self.config.diagnostics.detail(format_args!("{session}: {error}; once more")),
            }
            attempt += 1;
        }
    }

    /// Makes the commit of what is not committed.
    fn prepare(&self, store: &mut dyn Store, session: &Scope) -> Result<Option<Commit>> {
        let settings = &self.config.settings;
        let found = store::uncommitted(store, session, MAX_MESSAGES)?;
        if found.messages.is_empty() {
            return Ok(None);
        }
        let session = gathered(session, found)?;
        let patterns = settings.text("session.patterns").map(PathBuf::from);
        let patterns = Patterns::load(patterns.as_deref())?;
        let mut commit = Commit::parse(distill::commit_by_rule(&session, &patterns)?)?;
        if !commit.memories.is_empty() {
            self.add_near(&mut commit, store)?;
        }
        let note = &mut |why: String| self.config.diagnostics.detail(why);
        merge::decide(commit, None, note).map(Some)
    }

    /// Adds to each memory the stored ones that are near it: by meaning, else by words.
    fn add_near(&self, commit: &mut Commit, store: &mut dyn Store) -> Result<()> {
        let ProxyConfig { settings, diagnostics, .. } = &*self.config;
        let prior = PriorRule::from_settings(settings);
        let is_wanted = backfill::is_wanted(store, settings)?;
        if let Some(mut embedder) = self.embedder.get().ok().filter(|_| is_wanted) {
            let limit = backfill::catch_up_limit(settings);
            link::embed_pending(store, &mut embedder, &commit.scope.partition, limit, diagnostics);
            let mut by_meaning = commit.clone();
            if (Nearness { embedder: Some(&mut embedder), prior }).add_to(&mut by_meaning, store).is_ok() {
                *commit = by_meaning;
                return Ok(());
            }
        }
        Nearness { embedder: None, prior }.add_to(commit, store)
    }

    /// Stores a commit whole. Errors if the store fails, or the session was committed meanwhile.
    fn store(&self, store: &mut dyn Store, commit: Commit) -> Result<()> {
        let mut line = commit.into_line().to_json().into_bytes();
        line.push(b'\n');
        let mut feed =
            Feed::lines(vec![("the commit".to_owned(), Cursor::new(line))], self.config.settings.max_line())?;
        let mut ingest = Ingest::new(Options::default(), self.config.clock);
        let mut refused = None;
        while ingest.gather(&mut feed, &mut |line| {
            refused = refused.take().or(line.err());
            ControlFlow::Continue(())
        }) == Gathered::More
        {}
        let stored = ingest.commit(store)?;
        let refused = refused.or(stored.into_iter().find_map(|line| line.line.err()));
        refused.map_or(Ok(()), Err)
    }
}

/// The messages of a session, as a commit is made of them.
fn gathered(session: &Scope, found: Uncommitted) -> Result<UncommittedSession> {
    let mut gathered = UncommittedSession::new(session.clone());
    if let Some(archive) = found.archive {
        gathered.follow(draft(archive)?)?;
    }
    for message in found.messages {
        gathered.add(draft(message)?)?;
    }
    Ok(gathered)
}

/// A record as the draft that its line is.
fn draft(record: StoredRecord) -> Result<Draft> {
    let mut line = Vec::new();
    Record::Stored(record).write_line(VectorFormat::Numbers, &mut line);
    match Line::parse(Object::parse_bytes(&line)?)? {
        Line::Record(draft) => Ok(draft),
        _ => Err(Error::new("the line of a record is none")),
    }
}
