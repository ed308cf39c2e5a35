//! A request of the chat backend: its body, and the turn that it becomes.

use super::mood;
use super::user_scope::{USER_ID, documents_of};
use crate::api::Api;
use crate::chat;
use crate::config::Settings;
use crate::error::{Error, Result};
use crate::forward::Caller;
use crate::proxy::config::ProxyConfig;
use crate::proxy::turn::{ChatRequest, MemoryMode, Requester, RetryHeaders, recall_override};
use crate::record::{Address, Object, Reach, RequestScope, Scope, empty, id, missing, unexpected};
use hyper::HeaderMap;
use std::sync::Arc;

/// The greatest number of the last messages of the session, and of memories.
const RECENT: &str = "10";
const MEMORIES: &str = "5";
/// The source of these settings, as an error names it.
const SOURCE: &str = "/api/ai/chat";

/// The body of a request.
pub(super) struct ChatBody {
    message: String,
    /// The turns of a conversation that is not stored.
    history: Vec<Object>,
    pub(super) doc_id: Option<String>,
    session_id: Option<String>,
    pub(super) user_id: Option<String>,
    model: Option<String>,
    /// Whether the answer says how its context was found.
    pub(super) traces: bool,
    /// Whether the answer says what was recalled for it.
    pub(super) lists_recalled: bool,
    /// Whether the answer comes as HTML too.
    pub(super) has_html: bool,
}

/// A request whose user, session and target are known.
pub(super) struct ChatTurn {
    pub(super) scope: Scope,
    /// The address at and below which documents are searched.
    pub(super) target: Address,
    pub(super) body: ChatBody,
}

impl ChatBody {
    /// Reads a body. Errors begin with the member at fault.
    pub(super) fn parse(body: &Object) -> Result<ChatBody> {
        let message = body.text("message")?.ok_or_else(|| missing("message"))?;
        if message.trim().is_empty() {
            return Err(empty("message"));
        }
        let given = |member: &str| -> Result<Option<String>> {
            // Clients send an empty text or null for what they do not have.
            if body.get(member) == Some("null") {
                return Ok(None);
            }
            Ok(body.text(member)?.filter(|text| !text.is_empty()))
        };
        let is_true = |member: &str| match body.get(member) {
            None | Some("null" | "false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(unexpected(member, "true or false", other)),
        };
        Ok(ChatBody {
            message,
            history: history(body)?,
            doc_id: given("doc_id")?,
            session_id: given("session_id")?,
            user_id: given(USER_ID)?,
            model: given("model")?,
            traces: is_true("debug_search_trace")?,
            lists_recalled: is_true("recalled")?,
            has_html: is_true("html")?,
        })
    }

    /// The turn of a user, in a new session if the body names none. Errors if a name cannot be a segment of
    /// an address.
    pub(super) fn into_turn(self, user: String, config: &ProxyConfig) -> Result<ChatTurn> {
        let salt = if config.clock.is_fixed() { format!("{user} {}", self.message) } else { String::new() };
        let session = match &self.session_id {
            Some(session) => session.clone(),
            None => id::fresh(&config.clock, &salt)?,
        };
        let sessions = Address::home(&user)?.join("sessions")?;
        sessions.join(&session).map_err(|error| error.at("session_id"))?;
        let documents = documents_of(&user)?;
        let target = match &self.doc_id {
            Some(doc_id) => documents.join(doc_id).map_err(|error| error.at("doc_id"))?,
            // Documents that were not uploaded are beside them.
            None => documents.parent().unwrap_or(documents),
        };
        Ok(ChatTurn { scope: Scope { partition: user, instance: session }, target, body: self })
    }
}

impl ChatTurn {
    /// Whether the request names its session.
    pub(super) fn names_session(&self) -> bool {
        self.body.session_id.is_some()
    }

    /// The question of the turn.
    pub(super) fn question(&self) -> &str {
        &self.body.message
    }

    /// The request for the pipeline: the same that rsv-enrich gets with `--session`. `client` lives as long
    /// as the client waits. Fails if no memory mode has the name in the headers.
    pub(super) fn request(
        &self,
        headers: &HeaderMap,
        requester: Requester,
        config: &ProxyConfig,
        client: &Arc<()>,
    ) -> Result<ChatRequest> {
        let settings = &config.settings;
        let mut messages = Vec::new();
        let mood = (settings.boolean("chat.mood") == Some(true)).then(|| mood::REQUEST.to_owned());
        let system: Vec<String> = settings.text("chat.system").into_iter().chain(mood).collect();
        if !system.is_empty() {
            messages.push(message("system", &system.join("\n\n")));
        }
        messages.extend(self.body.history.iter().cloned());
        messages.push(message("user", &self.body.message));
        let mut body = Object::default();
        if let Some(model) = &self.body.model {
            body.set_text("model", model);
        }
        body.set("messages", chat::array(&messages));
        Ok(ChatRequest {
            api: Api::Chat,
            body,
            parsed: None,
            scope: RequestScope { scope: self.scope.clone(), reach: Reach::Partition },
            client_session: None,
            retry: RetryHeaders::new(headers),
            caller: Caller { keys: requester.keys, ..Caller::default() },
            purse: requester.purse,
            counts_others: requester.caller.sees_all(),
            token: requester.caller.name().map(str::to_owned),
            mode: MemoryMode::from_request(headers, settings, &self.scope)?.within(&requester.caller),
            overrides: recall_override(headers).into_iter().collect(),
            is_session: true,
            target: Some(self.target.clone()),
            client: Arc::downgrade(client),
        })
    }
}

/// The settings of turns of the chat backend, with its own settings of recall. Errors name the setting.
pub(in crate::proxy) fn settings_of_turns(settings: &Settings) -> Result<Settings> {
    let mut of_turns = settings.clone();
    let mut set = |key, from, value: &str| of_turns.set_override(key, from, value);
    set("recent_context_size", SOURCE, RECENT)?;
    set("enrich.memories", SOURCE, MEMORIES)?;
    // Each turn has a target of its own.
    set("enrich.target", SOURCE, "viking://resources")?;
    if let Some(recall) = settings.text("chat.recall") {
        set("enrich.recall", "chat.recall", &recall)?;
    }
    if let Some(documents) = settings.integer("chat.documents") {
        set("enrich.documents", "chat.documents", &documents.to_string())?;
    }
    if let Some(min_score) = settings.real("chat.min_score") {
        set("enrich.min_score", "chat.min_score", &min_score.to_string())?;
    }
    Ok(of_turns)
}

/// The turns of a conversation in a body.
fn history(body: &Object) -> Result<Vec<Object>> {
    if matches!(body.get("history"), None | Some("null")) {
        return Ok(Vec::new());
    }
    let turns = body.objects("history")?.unwrap_or_default();
    let turn = |(at, turn): (usize, &Object)| {
        let place = |error: Error| error.at(format_args!("history[{at}]"));
        let role = turn.text("role").map_err(place)?.unwrap_or_default();
        if !["user", "assistant"].contains(&role.as_str()) {
            return Err(place(unexpected("role", "user or assistant", &role)));
        }
        let content = turn.text("content").map_err(place)?;
        let content = content.ok_or_else(|| place(missing("content")))?;
        Ok(message(&role, &content))
    };
    turns.iter().enumerate().map(turn).collect()
}

fn message(role: &str, text: &str) -> Object {
    let mut message = Object::default();
    message.set_text("role", role);
    message.set_text("content", text);
    message
}
