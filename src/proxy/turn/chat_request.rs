//! A request for a turn as its client sent it, in OpenAI's format or in Ollama's.

use super::memory_mode::MemoryMode;
use super::stored_attempts::RetryHeaders;
use crate::access;
use crate::api::{self, Api};
use crate::config::Settings;
use crate::error::Result;
use crate::forward::Caller;
use crate::provider::CallerKeys;
use crate::proxy::http::{relay_headers, request_body};
use crate::proxy::worker::Purse;
use crate::record::{Address, Object, RequestScope};
use hyper::HeaderMap;
use hyper::http::request::Parts;
use std::sync::{Arc, Weak};

/// The header by which a client chooses the records to recall.
const RECALL_HEADER: &str = "x-rsv-recall";
/// The headers in which Claude Code, Codex and opencode name their sessions.
const SESSION_HEADERS: [&str; 4] = ["x-claude-code-session-id", "session-id", "session_id", "x-session-id"];
/// The header in which opencode names the session whose agent began the one of the request.
const PARENT_SESSION_HEADER: &str = "x-parent-session-id";

/// A setting that holds for one request.
pub(in crate::proxy) struct Override {
    pub(super) key: String,
    /// The source of the value, as an error names it.
    pub(super) source: &'static str,
    pub(super) value: String,
}

/// The sender of a request, with the keys and the purse for sending it on.
#[derive(Clone)]
pub(in crate::proxy) struct Requester {
    pub(in crate::proxy) caller: access::Caller,
    /// For providers.
    pub(in crate::proxy) keys: CallerKeys,
    /// The purse that it spends from, if it has a budget.
    pub(in crate::proxy) purse: Option<Purse>,
}

/// A request for a turn.
pub(in crate::proxy) struct ChatRequest {
    pub(in crate::proxy) api: Api,
    pub(in crate::proxy) body: Object,
    /// The body as it was read already.
    pub(in crate::proxy) parsed: Option<api::Request>,
    pub(in crate::proxy) scope: RequestScope,
    /// The session of the client's program, if a header names it.
    pub(in crate::proxy) client_session: Option<String>,
    pub(in crate::proxy) retry: RetryHeaders,
    pub(in crate::proxy) caller: Caller,
    /// The purse of its requester, if there is a budget.
    pub(in crate::proxy) purse: Option<Purse>,
    /// Whether its requester may learn how many messages other partitions have.
    pub(in crate::proxy) counts_others: bool,
    /// By whose token it came, so that nobody else's request is the same turn.
    pub(in crate::proxy) token: Option<String>,
    pub(in crate::proxy) mode: MemoryMode,
    pub(in crate::proxy) overrides: Vec<Override>,
    /// Whether the scope is a session that the request continues.
    pub(in crate::proxy) is_session: bool,
    /// The address at and below which documents are searched, if it is not that of the settings.
    pub(in crate::proxy) target: Option<Address>,
    /// Alive as long as the client waits.
    pub(in crate::proxy) client: Weak<()>,
}

impl ChatRequest {
    /// Parses a request for chat completions; `client` lives as long as the client waits. Errors name the
    /// member or the header at fault.
    pub(in crate::proxy) fn parse(
        head: &Parts,
        body: &[u8],
        scope: RequestScope,
        requester: Requester,
        settings: &Settings,
        client: &Arc<()>,
    ) -> Result<ChatRequest> {
        let mode = MemoryMode::from_request(&head.headers, settings, &scope.scope)?.within(&requester.caller);
        Ok(ChatRequest {
            api: Api::Chat,
            body: request_body::parse(body)?,
            parsed: None,
            scope,
            client_session: client_session(&head.headers),
            retry: RetryHeaders::new(&head.headers),
            caller: relay_headers::caller(head, requester.keys),
            purse: requester.purse,
            counts_others: requester.caller.sees_all(),
            token: requester.caller.name().map(str::to_owned),
            mode,
            overrides: recall_override(&head.headers).into_iter().collect(),
            is_session: false,
            target: None,
            client: Arc::downgrade(client),
        })
    }

    /// The same request as one for another API; `None` if no conversation can be read from it. A client must
    /// not choose a scope or an account.
    pub(in crate::proxy) fn for_api(mut self, api: Api, headers: &HeaderMap) -> Option<ChatRequest> {
        self.body.take("rsv");
        let mut parsed = api::Request::parse(api, std::mem::take(&mut self.body)).ok()?;
        if headers.contains_key(PARENT_SESSION_HEADER) {
            parsed.mark_as_side_call();
        }
        Some(ChatRequest { api, parsed: Some(parsed), ..self })
    }

    /// Whether the answer is to be streamed.
    pub(super) fn is_streamed(&self) -> bool {
        match &self.parsed {
            Some(parsed) => parsed.member("stream") == Some("true"),
            None => self.body.get("stream") == Some("true"),
        }
    }
}

/// The session of the client's program, by the first header that names one.
fn client_session(headers: &HeaderMap) -> Option<String> {
    let value = SESSION_HEADERS.iter().find_map(|name| headers.get(*name))?;
    value.to_str().ok().map(str::to_owned)
}

/// The records to recall, by the client's header.
pub(in crate::proxy) fn recall_override(headers: &HeaderMap) -> Option<Override> {
    let value = String::from_utf8_lossy(headers.get(RECALL_HEADER)?.as_bytes()).into_owned();
    Some(Override { key: "enrich.recall".to_owned(), source: RECALL_HEADER, value })
}
