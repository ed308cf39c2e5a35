//! `/api/sessions`: the sessions of a user, which are the instances of the user's partition.

use super::recalled::Recalled;
use crate::chat;
use crate::error::Result;
use crate::forget;
use crate::proxy::config::ProxyConfig;
use crate::proxy::http::{HttpResponse, parameter, response, unexpected};
use crate::proxy::pages::markdown_to_html;
use crate::proxy::worker::{BlockingPool, ModelFailure, SessionCommits, StorePool, StoreQueue};
use crate::record::{
    ACCOUNT, Account, Commit, Object, Record, Role, Scope, Scopes, SessionSummary, StoredRecord,
    TouchedRecords, kinds, time,
};
use crate::store::{self, Select, Store, Walk};
use hyper::StatusCode;
use std::collections::HashMap;
use std::sync::Arc;

/// The number of sessions in a list, unless the query says otherwise, and the greatest one.
const DEFAULT_LIMIT: usize = 20;
const MAX_LIMIT: usize = 1000;

/// Serves the sessions.
pub(in crate::proxy) struct SessionsApi {
    config: Arc<ProxyConfig>,
    blocking: BlockingPool,
    stores: Arc<StorePool>,
    queue: Arc<StoreQueue>,
    commits: Arc<SessionCommits>,
}

impl SessionsApi {
    /// Serves from the store, and commits by `commits`.
    pub(in crate::proxy) fn new(
        config: &Arc<ProxyConfig>,
        blocking: &BlockingPool,
        stores: &Arc<StorePool>,
        queue: &Arc<StoreQueue>,
        commits: &Arc<SessionCommits>,
    ) -> SessionsApi {
        SessionsApi {
            config: config.clone(),
            blocking: blocking.clone(),
            stores: stores.clone(),
            queue: queue.clone(),
            commits: commits.clone(),
        }
    }

    /// Lists the sessions of a user, newest first. `query` may have `limit` and `offset`.
    pub(in crate::proxy) async fn list(&self, user: String, query: Option<&str>) -> HttpResponse {
        let number = |name, default| number(query.unwrap_or_default(), name, default);
        let (limit, offset) = match (number("limit", DEFAULT_LIMIT), number("offset", 0)) {
            (Ok(limit), Ok(offset)) => (limit.min(MAX_LIMIT), offset),
            (Err(error), _) | (_, Err(error)) => return response::bad_request(error),
        };
        self.with_store(move |store| {
            let sessions = store::sessions(store, &Scopes::Partition(user))?;
            let newest = sessions.iter().rev().skip(offset).take(limit);
            let entries: Vec<Object> = newest.map(entry).collect();
            let mut body = Object::default();
            body.set("sessions", chat::array(&entries));
            body.set("total", sessions.len().to_string());
            Ok(response::json(StatusCode::OK, body.to_json() + "\n"))
        })
        .await
    }

    /// Shows a session of a user, with its messages. `query` may ask for `recalled` and `html`.
    pub(in crate::proxy) async fn show(
        &self,
        user: String,
        session: String,
        query: Option<&str>,
    ) -> HttpResponse {
        let is_true = |name| is_true(query.unwrap_or_default(), name);
        let (lists_recalled, has_html) = match (is_true("recalled"), is_true("html")) {
            (Ok(lists_recalled), Ok(has_html)) => (lists_recalled, has_html),
            (Err(error), _) | (_, Err(error)) => return response::bad_request(error),
        };
        let config = self.config.clone();
        let scope = Scope { partition: user, instance: session };
        self.queue.settled(&scope).await;
        self.with_store(move |store| {
            let Some(summary) = summary(store, &scope)? else { return Ok(not_found(&scope)) };
            let messages = walked(store, Select::messages(Scopes::One(scope.clone())))?;
            let mut entries: Vec<Object> = messages.iter().map(of_message).collect();
            let answers = messages.iter().zip(&mut entries);
            for (answer, entry) in answers.filter(|(one, _)| has_html && one.role == Some(Role::Assistant)) {
                entry.set_text("html", &markdown_to_html(&answer.shown_text()));
            }
            if lists_recalled {
                add_recalled(store, &scope, &config, &messages, &mut entries)?;
            }
            let mut body = entry(&summary);
            body.set("messages", chat::array(&entries));
            let records = TouchedRecords::of(messages.iter().map(|message| message.id.as_str()));
            Ok(response::touching(response::json(StatusCode::OK, body.to_json() + "\n"), records))
        })
        .await
    }

    /// Commits a session of a user.
    pub(in crate::proxy) async fn commit(&self, user: String, session: String) -> HttpResponse {
        let scope = Scope { partition: user, instance: session };
        self.queue.settled(&scope).await;
        let known = scope.clone();
        let found = self.stores.with_store(move |store| summary(store, &known)).await;
        match found {
            Ok(Some(_)) => {}
            Ok(None) => return not_found(&scope),
            Err(error) => return response::unavailable("unavailable", &error),
        }
        let (commits, own) = (self.commits.clone(), scope.clone());
        match self.blocking.spawn(move || commits.commit(&own, None, ModelFailure::LeadsToRule)).await {
            Ok(Ok(commit)) => {
                let body = of_commit(&scope, commit.as_ref());
                let answer = response::json(StatusCode::OK, body.to_json() + "\n");
                response::touching(answer, commit.as_ref().map(written).unwrap_or_default())
            }
            Ok(Err(error)) => response::unavailable("not_committed", &error),
            Err(_) => response::cut_short(),
        }
    }

    /// Forgets a session of a user: its messages, its accounts and its archives.
    pub(in crate::proxy) async fn delete(&self, user: String, session: String) -> HttpResponse {
        let scope = Scope { partition: user, instance: session };
        self.queue.settled(&scope).await;
        let now = self.config.clock.now();
        self.with_store(move |store| {
            if summary(store, &scope)?.is_none() {
                return Ok(not_found(&scope));
            }
            let mut ids = forget::select(store, &Select::records(kinds(), Scopes::One(scope.clone())))?;
            ids.extend(forget::same_words(store, &ids)?);
            store.forget(&ids.iter().map(String::as_str).collect::<Vec<_>>(), now)?;
            forget::erase(store)?;
            let mut body = Object::default();
            body.set_text("session_id", &scope.instance);
            body.set("deleted", "true");
            let records = TouchedRecords::of(ids.iter().map(String::as_str));
            Ok(response::touching(response::json(StatusCode::OK, body.to_json() + "\n"), records))
        })
        .await
    }

    async fn with_store(
        &self,
        work: impl FnOnce(&mut dyn Store) -> Result<HttpResponse> + Send + 'static,
    ) -> HttpResponse {
        let done = self.stores.with_store(work).await;
        done.unwrap_or_else(|error| response::unavailable("unavailable", &error))
    }
}

/// A number in a query. Errors if it is not a number.
fn number(query: &str, name: &str, default: usize) -> Result<usize> {
    match parameter(query, name)? {
        None => Ok(default),
        Some(text) => text.parse().map_err(|_| unexpected(name, "a number", &text)),
    }
}

/// Whether a query asks for something.
fn is_true(query: &str, name: &str) -> Result<bool> {
    match parameter(query, name)?.as_deref() {
        None | Some("" | "false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => Err(unexpected(name, "true or false", other)),
    }
}

/// The records of a selection, in their order.
fn walked(store: &mut dyn Store, which: Select) -> Result<Vec<StoredRecord>> {
    let mut records = Vec::new();
    store.walk(&Walk::records(which), &mut |record| {
        if let Record::Stored(record) = record {
            records.push(record);
        }
        Ok(())
    })?;
    Ok(records)
}

/// Adds to the last message of each turn what was recalled for it, if the turn has an account.
fn add_recalled(
    store: &mut dyn Store,
    scope: &Scope,
    config: &ProxyConfig,
    messages: &[StoredRecord],
    entries: &mut [Object],
) -> Result<()> {
    let stored = walked(store, Select::records(vec![&ACCOUNT], Scopes::One(scope.clone())))?;
    let last: HashMap<&str, usize> =
        messages.iter().enumerate().map(|(at, message)| (message.trace_id.as_str(), at)).collect();
    let accounts: Vec<Account> = stored.iter().map(Account::from_record).collect();
    let recalled = Recalled::unnamed(&scope.partition, config).look_up(store, &accounts)?;
    for (record, account) in stored.iter().zip(&accounts) {
        if let Some(at) = last.get(record.trace_id.as_str()) {
            entries[*at].set("recalled", recalled.of(account));
        }
    }
    Ok(())
}

/// The summary of a session; `None` if it has no message.
fn summary(store: &mut dyn Store, scope: &Scope) -> Result<Option<SessionSummary>> {
    Ok(store::sessions(store, &Scopes::One(scope.clone()))?.pop())
}

/// The response if a user has no such session; another's is no different.
pub(super) fn not_found(scope: &Scope) -> HttpResponse {
    response::error(StatusCode::NOT_FOUND, "not_found", &format!("there is no session {}", scope.instance))
}

/// The entry of a session, with all members.
fn entry(summary: &SessionSummary) -> Object {
    let mut entry = summary.to_object();
    entry.take("kind");
    if !entry.has("committed_at") {
        entry.set("committed_at", "null");
    }
    entry
}

fn of_message(message: &StoredRecord) -> Object {
    let mut entry = Object::default();
    entry.set_text("id", &message.id);
    entry.set_text("session_id", &message.scope.instance);
    entry.set_text("user_id", &message.scope.partition);
    entry.set_text("role", message.role.map_or("", Role::name));
    entry.set("content", message.content_json());
    entry.set_text("created_at", &time::rfc3339(message.timestamp));
    entry
}

/// The archive and the memories of a commit.
fn written(commit: &Commit) -> TouchedRecords {
    let lines = std::iter::once(&commit.archive).chain(&commit.memories);
    let ids: Vec<String> = lines.filter_map(|line| line.valid_text("id")).collect();
    TouchedRecords::of(ids.iter().map(String::as_str))
}

/// The answer to a commit; `None` if there was nothing to commit.
fn of_commit(scope: &Scope, commit: Option<&Commit>) -> Object {
    let mut body = Object::default();
    body.set_text("session_id", &scope.instance);
    body.set_text("status", if commit.is_some() { "committed" } else { "unchanged" });
    let archive = commit.and_then(|commit| commit.archive.valid_text("uri"));
    match archive {
        Some(uri) => body.set_text("archive_uri", &uri),
        None => body.set("archive_uri", "null"),
    }
    let steps = commit.map(|commit| commit.steps.as_slice()).unwrap_or_default();
    let count = |events: &[&str]| {
        let event = |step: &&Object| step.valid_text("event").unwrap_or_default();
        steps.iter().filter(|step| events.contains(&event(step).as_str())).count().to_string()
    };
    body.set("memories_created", count(&["create", "archive_and_create"]));
    body.set("memories_merged", count(&["merge"]));
    body.set("memories_skipped", count(&["skip"]));
    body.set("steps", chat::array(steps));
    body
}
