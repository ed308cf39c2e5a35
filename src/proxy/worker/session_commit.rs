//! The commit of a session, as the pipe does it: `rsv-view --uncommitted | rsv-distill --commit | rsv-link
//! --near | rsv-merge | rsv-ingest`.

use super::degraded::{FailureReason, Failures};
use super::embedder::SharedEmbedder;
use super::error::WorkerFault;
use super::store_pool::StorePool;
use super::stored_line::{line_of, store_line};
use crate::backfill;
use crate::distill::{self, Patterns, UncommittedSession};
use crate::enrich::CutPart;
use crate::error::Result;
use crate::link::{self, Nearness};
use crate::memory::PriorRule;
use crate::merge;
use crate::proxy::config::ProxyConfig;
use crate::proxy::lock::locked;
use crate::proxy::visibility::Visibility;
use crate::record::{Commit, Draft, EXTRACTED_FROM_MEMBER, Line, Object, Scope, StoredRecord, quote};
use crate::store::{self, Claim, Store, Uncommitted};
use crate::structured::Model;
use rustc_hash::FxHasher;
use std::collections::{BTreeSet, HashSet};
use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The greatest number of messages in a commit; the others wait for the next one.
const MAX_MESSAGES: usize = 20_000;
/// The number of times that a commit is made: another process may have committed the session in between.
const ATTEMPTS: usize = 3;
/// The number of jobs among which sessions are divided that a model commits: one process does each at a time.
const JOBS: u64 = 16;
/// How long another process may take to commit a session by a model, and the time between two looks.
const CLAIM_TIMEOUT: Duration = Duration::from_secs(600);
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Commits sessions, by the model that the settings name, else by rule.
pub(in crate::proxy) struct SessionCommits {
    config: Arc<ProxyConfig>,
    stores: Arc<StorePool>,
    embedder: Arc<SharedEmbedder>,
    /// The sessions that are being committed, each once at a time: a model may take minutes.
    running: Mutex<HashSet<Scope>>,
    ended: Condvar,
    /// Why the last commit that a model was to make was made by rule.
    model_failure: Failures<()>,
}

/// The consequence of a failure of the model.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::proxy) enum ModelFailure {
    /// The commit fails, and may be tried again.
    Fails,
    /// The rule makes the commit.
    LeadsToRule,
}

/// A session that is being committed, until this is dropped.
struct RunningCommit<'a> {
    commits: &'a SessionCommits,
    session: &'a Scope,
}

impl Drop for RunningCommit<'_> {
    fn drop(&mut self) {
        locked(&self.commits.running).remove(self.session);
        self.commits.ended.notify_all();
    }
}

impl SessionCommits {
    /// Commits sessions of the store, with the one embedder.
    pub(in crate::proxy) fn new(
        config: &Arc<ProxyConfig>,
        stores: &Arc<StorePool>,
        embedder: &Arc<SharedEmbedder>,
    ) -> SessionCommits {
        SessionCommits {
            config: config.clone(),
            stores: stores.clone(),
            embedder: embedder.clone(),
            running: Mutex::default(),
            ended: Condvar::new(),
            model_failure: Failures::default(),
        }
    }

    /// Why the last commit that a model was to make was made by rule.
    pub(super) fn model_failure(&self, visibility: &Visibility) -> Option<FailureReason> {
        self.model_failure.last(visibility)
    }

    /// Waits until nobody else commits a session.
    fn begin<'a>(&'a self, session: &'a Scope) -> RunningCommit<'a> {
        let others = self.ended.wait_while(locked(&self.running), |running| running.contains(session));
        others.unwrap_or_else(PoisonError::into_inner).insert(session.clone());
        RunningCommit { commits: self, session }
    }

    /// Waits until no other process commits a session by a model, which is not to be asked twice. A commit by
    /// rule takes milliseconds, and the store refuses the second of two. Errors if that takes too long.
    fn claim(&self, session: &Scope) -> Result<Option<Claim>> {
        if self.config.settings.text("session.model").is_none() {
            return Ok(None);
        }
        let mut hash = FxHasher::default();
        session.hash(&mut hash);
        let job = format!("session-{}", hash.finish() % JOBS);
        let begin = Instant::now();
        loop {
            if let Some(claim) = self.stores.open_to_serve()?.claim(&job)? {
                return Ok(Some(claim));
            }
            if begin.elapsed() > CLAIM_TIMEOUT {
                return Err(WorkerFault::OthersCommit { limit: CLAIM_TIMEOUT }.into());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Commits the messages of a session, those up to a time (milliseconds since 1970, UTC) if one is given, on a
    /// thread that may block. Returns what was stored; `None` if there was nothing to commit. Fails if the store
    /// does or refuses the commit; `failure` says whether also if the model does.
    pub(in crate::proxy) fn commit(
        &self,
        session: &Scope,
        until: Option<i64>,
        failure: ModelFailure,
    ) -> Result<Option<Commit>> {
        let done = self.try_commit(session, until, failure);
        if !matches!(done, Ok(None)) {
            self.config.metrics.commits.add(done.is_ok());
        }
        done
    }

    fn try_commit(
        &self,
        session: &Scope,
        until: Option<i64>,
        failure: ModelFailure,
    ) -> Result<Option<Commit>> {
        // The threads of this process first, which wake each other; the lock of the store is polled for.
        let _running = self.begin(session);
        let _claim = self.claim(session)?;
        let mut attempt = 1;
        loop {
            let Some(commit) = self.prepare(session, until, failure)? else { return Ok(None) };
            let mut store = self.stores.open_to_serve()?;
            match store_line(&self.config, &mut *store, "the commit", commit.clone().into_line()) {
                Ok(()) => return Ok(Some(commit)),
                Err(error) if attempt == ATTEMPTS => return Err(error),
                Err(error) => self.config.diagnostics.detail(format_args!("{session}: {error}; once more")),
            }
            attempt += 1;
        }
    }

    /// Commits the part of a session of a client before a compaction, by rule; the content of its archive is
    /// what was done. Nothing, if all of it is committed. Fails if the store or the patterns cannot be read,
    /// or the line is refused.
    pub(super) fn commit_part(&self, scope: &Scope, cut: &CutPart) -> Result<()> {
        let _running = self.begin(scope);
        let mut store = self.stores.open_to_serve()?;
        let mut found = store::uncommitted(&mut *store, scope, MAX_MESSAGES)?;
        found.messages.retain(|one| one.timestamp < cut.before);
        if found.messages.is_empty() {
            return Ok(());
        }
        let content = cut.content(&mut *store, scope)?;
        found.messages.retain(|one| content.traces.contains(&one.trace_id));
        if found.messages.is_empty() {
            return Ok(());
        }
        let (text, sources) =
            content.archived(&found.messages.iter().map(|message| message.trace_id.as_str()).collect());
        let told = found.messages.iter().map(|message| message.id.clone());
        let sources: BTreeSet<String> = told.chain(sources).collect();
        let sources: Vec<String> = sources.iter().map(|id| quote(id)).collect();
        let patterns = self.config.settings.text("session.patterns").map(PathBuf::from);
        let line = distill::commit_by_rule(&gathered(scope, found)?, &Patterns::load(patterns.as_deref())?)?;
        let mut commit = Commit::parse(line)?;
        if !text.is_empty() {
            commit.archive.set_text("content", &text);
            commit.archive.set(EXTRACTED_FROM_MEMBER, format!("[{}]", sources.join(",")));
        }
        if !commit.memories.is_empty() {
            self.add_near(&mut commit, &mut *store)?;
        }
        let commit = merge::decide(commit, None, &mut |_| {})?;
        let stored = store_line(&self.config, &mut *store, "the commit", commit.into_line());
        self.config.metrics.commits.add(stored.is_ok());
        stored
    }

    /// Makes the commit of the uncommitted messages. No connection is kept while a model is asked.
    fn prepare(&self, session: &Scope, until: Option<i64>, failure: ModelFailure) -> Result<Option<Commit>> {
        let ProxyConfig { settings, diagnostics, clock, .. } = &*self.config;
        let mut found = store::uncommitted(&mut *self.stores.open_to_serve()?, session, MAX_MESSAGES)?;
        found.messages.retain(|message| until.is_none_or(|until| message.timestamp <= until));
        if found.messages.is_empty() {
            return Ok(None);
        }
        let session = gathered(session, found)?;
        let patterns = settings.text("session.patterns").map(PathBuf::from);
        let patterns = Patterns::load(patterns.as_deref())?;
        let model = settings.text("session.model");
        let model = model.map(|name| Model::new(&name, settings, *clock, diagnostics)).transpose();
        let mut by_rule = None;
        let (model, line) = match model.and_then(|model| self.line(&session, model, &patterns)) {
            Ok(made) => made,
            Err(error) if failure == ModelFailure::Fails => return Err(error.at("session.model")),
            Err(error) => {
                by_rule = Some(error.to_string());
                (None, distill::commit_by_rule(&session, &patterns)?)
            }
        };
        let mut commit = Commit::parse(line)?;
        if !commit.memories.is_empty() {
            self.add_near(&mut commit, &mut *self.stores.open_to_serve()?)?;
        }
        let decided = merge::decide(commit, model.as_ref(), &mut |why| by_rule = Some(why));
        match by_rule.map(|why| format!("{}: committed by rule: {why}", session.scope())) {
            Some(text) => {
                diagnostics.note(&text);
                self.model_failure.set((), FailureReason::of_partition(&session.scope().partition, text));
            }
            None => self.model_failure.clear(&()),
        }
        decided.map(Some)
    }

    /// The commit line of a session by a model, if there is one, and the model.
    fn line(
        &self,
        session: &UncommittedSession,
        model: Option<Model>,
        patterns: &Patterns,
    ) -> Result<(Option<Model>, Object)> {
        let line = match &model {
            Some(model) => distill::commit_by_model(session, model)?,
            None => distill::commit_by_rule(session, patterns)?,
        };
        Ok((model, line))
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
    match Line::parse(line_of(record)?)? {
        Line::Record(draft) => Ok(draft),
        _ => Err(WorkerFault::NotALine.into()),
    }
}
