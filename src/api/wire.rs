//! A request of any API, with its turns in the shape of chat completions.

use super::actions;
use super::calls::{calls, calls_in};
use super::client_text::own_words;
use super::compaction::{self, Compaction};
use super::dialect::{Names, TurnDialect};
use super::performed;
use super::protocol::{API_MEMBER, Api, KEEP_TOOLS_MEMBER, UNSTORED_MEMBER};
use super::reading::{FAILED, Reading, UserPlace, unread};
use super::splice;
use crate::chat::{self, Rsv, fence};
use crate::error::Result;
use crate::record::{Action, Object, Role};
use std::borrow::Cow;

/// The mark by which clients of Anthropic's say what is cached: it moves from message to message.
const CACHE_MARK: &str = "cache_control";

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    api: Api,
    /// For chat completions the request itself; else its turns, of which the user's last has the user's words
    /// alone.
    pub turns: chat::Request,
    wire: Option<Wire>,
    /// The session of its program, by the name that came beside it.
    session: Option<String>,
    /// The compaction that its program does not show.
    hidden: Option<Compaction>,
}

/// A request as its client sent it, without `rsv`.
#[derive(Clone, Debug)]
struct Wire {
    dialect: &'static dyn TurnDialect,
    body: Object,
    /// How many messages or items it has.
    len: usize,
    user: Option<UserPlace>,
    said: Option<Object>,
    late: Vec<Object>,
    session: Option<String>,
    is_side_call: bool,
    /// The text that goes after the summary at a position.
    after_summary: Option<(usize, String)>,
}

impl Request {
    /// Reads a request of an API. Errors name the member at fault.
    pub fn parse(api: Api, mut body: Object) -> Result<Request> {
        let Some(dialect) = api.dialect().turns() else {
            let turns = chat::Request::parse(body)?;
            return Ok(Request { api, turns, wire: None, session: None, hidden: None });
        };
        let rsv = body.take("rsv");
        let reading = dialect.read(&body)?;
        let Reading { turns, len, user, said, late, session, is_side_call, unread_tokens } = reading;
        let mut rest = Object::default();
        for name in ["model", "tools", "max_tokens", "max_output_tokens"] {
            if let Some(json) = body.get(name).filter(|json| *json != "null") {
                rest.set(name, json);
            }
        }
        if let Some(rsv) = rsv {
            rest.set("rsv", rsv);
        }
        let turns = chat::Request::of_turns(rest, turns, unread_tokens);
        let after_summary = None;
        let wire = Wire { dialect, body, len, user, said, late, session, is_side_call, after_summary };
        Ok(Request { api, turns, wire: Some(wire), session: None, hidden: None })
    }

    /// Whether it is in the shape of chat completions itself.
    pub fn is_chat(&self) -> bool {
        self.wire.is_none()
    }

    /// Whether it is a program's own request, such as for a title: nothing of it is recalled or stored.
    pub fn is_side_call(&self) -> bool {
        self.wire.as_ref().is_some_and(|wire| wire.is_side_call)
    }

    /// Treats it as a program's own request, if its API has such requests.
    pub fn mark_as_side_call(&mut self) {
        if let Some(wire) = &mut self.wire {
            wire.is_side_call = true;
        }
    }

    /// Names the session of its program, if it does not itself.
    pub fn name_session(&mut self, name: Option<String>) {
        self.session = name;
    }

    /// The session of its program, by its id; `None` if nothing names it.
    pub fn client_session(&self) -> Option<String> {
        let own = match &self.wire {
            Some(wire) => wire.session.clone(),
            None => self.cache_key(),
        };
        let id = self.session.as_deref().or(own.as_deref().map(session_id))?.trim();
        let is_id = !id.is_empty() && id.len() <= MAX_SESSION_BYTES && !id.contains(char::is_control);
        is_id.then(|| id.to_owned())
    }

    /// Whether its session has no other name than the key of the provider's cache, which others may share.
    pub fn has_shared_session(&self) -> bool {
        let is_key = |wire: &Wire| !wire.dialect.names_session(&wire.body);
        self.session.is_none() && self.wire.as_ref().is_none_or(is_key)
    }

    fn cache_key(&self) -> Option<String> {
        self.member("prompt_cache_key").and_then(|json| serde_json::from_str(json).ok())
    }

    /// The compaction of its session, up to the end of the first turn that the user begins after it; none of
    /// a program's own request.
    pub fn compaction(&self) -> Option<Compaction> {
        match &self.wire {
            Some(wire) if wire.is_side_call => None,
            _ if self.hidden.is_some() => self.hidden.clone(),
            Some(wire) => compaction::find(wire.turns()?),
            None => compaction::find_in_turns(&self.turns.messages),
        }
    }

    /// Marks it as one after a compaction that it does not show; what it begins with counts as the summary.
    pub fn mark_compaction(&mut self, has_turn: bool) {
        if self.compaction().is_none() {
            self.hidden =
                Some(Compaction { summary: self.beginning(), place: None, is_answer: false, has_turn });
        }
    }

    /// The words of the user with which it begins.
    pub fn beginning(&self) -> String {
        let first = self.turns.messages.iter().find(|message| message.word("role") == Some("user"));
        let text = first.map(chat::text).unwrap_or_default();
        own_words(&text).map_or_else(|| text.clone(), Cow::into_owned)
    }

    /// The number of its messages or items.
    pub fn message_count(&self) -> usize {
        self.wire.as_ref().map_or(self.turns.messages.len(), |wire| wire.len)
    }

    /// The JSON of its messages or items from one on, without the marks of the provider's cache.
    pub fn messages_from(&self, first: usize) -> Vec<String> {
        let Some(wire) = &self.wire else {
            return self.turns.messages.iter().skip(first).map(Object::to_json).collect();
        };
        let all = unread(wire.turns().unwrap_or_default());
        all.iter().skip(first).map(|one| splice::without_member(one.json(), CACHE_MARK)).collect()
    }

    /// Whether it ends with the words of the user.
    pub fn ends_with_user(&self) -> bool {
        match &self.wire {
            Some(wire) => wire.said.is_some(),
            None => self.turns.last_user().is_some_and(|user| user + 1 == self.turns.messages.len()),
        }
    }

    /// A member of the body, as JSON text.
    pub fn member(&self, name: &str) -> Option<&str> {
        match &self.wire {
            Some(wire) => wire.body.get(name),
            None => self.turns.member(name),
        }
    }

    /// The last message, if it is the user's turn.
    pub fn said(&mut self) -> Option<Object> {
        match &self.wire {
            Some(wire) => wire.said.clone().filter(|_| !wire.is_side_call),
            None => self.turns.user().cloned(),
        }
    }

    /// The results of tools at its end, as messages of chat completions.
    pub fn tool_results(&self) -> Vec<Object> {
        let mut results = self.turns.tools().to_vec();
        for result in &mut results {
            result.take(FAILED);
        }
        results
    }

    /// The actions of the last calls of the user's last turn, of those whose results it has, in their order;
    /// those of the turn before it if their results came with the user's words; none of a program's own
    /// request. Earlier requests of the turn had the results of the calls before them.
    pub fn actions(&self) -> Vec<Action> {
        if self.is_side_call() {
            return Vec::new();
        }
        let turns = &self.turns.messages;
        let user = self.turns.last_user();
        match (&turns[user.map_or(0, |user| user + 1)..], &self.wire) {
            ([], Some(wire)) => performed::actions(&wire.late, true),
            ([], None) => performed::late(&turns[..user.unwrap_or_default()]),
            (turn, wire) => {
                performed::actions(turn, wire.as_ref().is_none_or(|wire| wire.dialect.joins_calls()))
            }
        }
    }

    /// The actions of all calls that it holds, without what came of them.
    pub fn called_actions(&self) -> Vec<Action> {
        let called = match &self.wire {
            None => self.turns.messages.iter().flat_map(calls).collect(),
            // Of the turns before the user's last one, only the texts were read.
            Some(wire) => calls_in(wire.turns().unwrap_or_default()),
        };
        called.iter().filter_map(|called| actions::action(None, called, None)).collect()
    }

    /// The key of the user's last turn, the same in all its requests: the messages up to it. If the program
    /// names its session, that name with the turn's position and words, since programs change what is before
    /// it.
    pub fn turn_key(&self) -> Option<Vec<Cow<'_, Object>>> {
        let user = self.turns.last_user()?;
        let turns = &self.turns.messages;
        let Some(wire) = &self.wire else { return Some(turns[..=user].iter().map(Cow::Borrowed).collect()) };
        let place = wire.user.as_ref()?.number;
        Some(match &wire.session {
            Some(session) => vec![Cow::Owned(key(session, place)), Cow::Borrowed(&turns[user])],
            None => std::iter::once(Cow::Owned(key("", place)))
                .chain(turns[..=user].iter().map(unmarked))
                .collect(),
        })
    }

    /// The JSON of the messages in which its client keeps blocks that were recalled earlier, or beside it, by
    /// a hook or a tool; empty if there are none. A block that gives way to a new one does not count, nor, in
    /// chat completions, one that somebody quotes.
    pub fn kept_blocks(&self) -> Cow<'_, str> {
        let Some(wire) = &self.wire else {
            let earlier = &self.turns.messages[..self.turns.last_user().unwrap_or(0)];
            let keeps = |message: &&Object| {
                let (keeps, begins) = fence::may_be_in_json(message.get("content").unwrap_or_default());
                keeps
                    && match chat::role(message) {
                        Some(Role::Assistant) => false,
                        Some(Role::User) => begins,
                        _ => true,
                    }
            };
            return earlier.iter().filter(keeps).map(Object::to_json).collect::<String>().into();
        };
        let json = wire.turns().unwrap_or_default();
        if !fence::may_be_in_json(json).0 {
            return "".into();
        }
        let last = wire.user.as_ref().and_then(|user| Some(unread(json).get(user.number)?.range().start));
        let last = last.unwrap_or(json.len());
        let end = if fence::may_be_in_json(&json[last..]).1 { last } else { json.len() };
        json[..end].into()
    }

    /// The key that all attempts at the same request share.
    pub fn attempt_key(&self) -> Vec<Cow<'_, Object>> {
        let turns = &self.turns.messages;
        let Some(wire) = &self.wire else { return turns.iter().map(Cow::Borrowed).collect() };
        let (name, told_apart) = match &wire.session {
            Some(session) => {
                let last_user = self.turns.last_user().map_or(0, |user| turns.len() - user);
                (session.as_str(), &turns[turns.len().saturating_sub(last_user.max(1))..])
            }
            None => ("", &turns[..]),
        };
        let turns = told_apart.iter().filter(|turn| !chat::is_system(turn)).map(unmarked);
        std::iter::once(Cow::Owned(key(name, wire.len))).chain(turns).collect()
    }

    /// Puts a text at the end of the summary of a compaction, before anything else of the request changes.
    pub fn add_to_summary(&mut self, compaction: &Compaction, text: &str) {
        let Some(place) = compaction.place else { return };
        if let Some(wire) = &mut self.wire {
            wire.after_summary = Some((place, text.to_owned()));
        } else if let Some(message) = self.turns.messages.get_mut(place) {
            let content = message.get("content").unwrap_or("\"\"");
            message.set("content", compaction::with_text_after(content, "text", text));
        }
    }

    /// Whether the summary of a compaction is the last text that the model is to read, except the results of
    /// tools.
    pub fn ends_with_summary(&self, compaction: &Compaction) -> bool {
        let user = match &self.wire {
            Some(wire) => wire.user.as_ref().map(|user| user.number),
            None => self.turns.last_user(),
        };
        compaction.place.is_some_and(|place| !compaction.has_turn && user.is_none_or(|user| user <= place))
    }

    /// The request to forward: with the recalled `block` before the user's last words, and with `rsv`.
    pub fn into_line(self, block: &str, mut rsv: Rsv, keep_tools: bool) -> Result<Object> {
        let Some(Wire { dialect, body, user, is_side_call, after_summary, .. }) = self.wire else {
            return Ok(self.turns.into_object(&rsv));
        };
        let user = user.filter(|_| !block.is_empty());
        let enriched = user.as_ref().map(|user| user.number);
        let mut line = match user {
            None => body,
            Some(user) => dialect.insert(body, user, block)?,
        };
        if let Some((number, text)) = after_summary {
            let Names { turns, text_type, .. } = dialect.names();
            let keeps_blocks = enriched == Some(number);
            line = compaction::add_after(line, (turns, number), text_type, &text, keeps_blocks)?;
        }
        rsv.more.set_text(API_MEMBER, self.api.name());
        for (name, is_set) in [(UNSTORED_MEMBER, is_side_call), (KEEP_TOOLS_MEMBER, keep_tools)] {
            if is_set {
                rsv.more.set(name, "true");
            }
        }
        line.set("rsv", rsv.to_object().to_json());
        Ok(line)
    }
}

impl Wire {
    /// Its messages or items, as JSON text.
    fn turns(&self) -> Option<&str> {
        self.body.get(self.dialect.names().turns)
    }
}

/// The greatest length of the id of a session, in bytes.
const MAX_SESSION_BYTES: usize = 200;

/// The id of a session in the name that a program gives it: Claude Code's has others, as JSON or before it.
fn session_id(name: &str) -> &str {
    let of_json = name.split_once("\"session_id\":\"").and_then(|(_, rest)| rest.split('"').next());
    of_json.or_else(|| name.rsplit_once("session_").map(|(_, id)| id)).unwrap_or(name)
}

/// The name of a session, if it has one, and a number of messages.
fn key(session: &str, number: usize) -> Object {
    let mut key = Object::default();
    key.set_text("session", session);
    key.set("number", number.to_string());
    key
}

/// A turn without the marks of the provider's cache.
fn unmarked(turn: &Object) -> Cow<'_, Object> {
    let Some(content) = turn.get("content").filter(|content| content.contains(CACHE_MARK)) else {
        return Cow::Borrowed(turn);
    };
    let content = splice::without_member(content, CACHE_MARK);
    let mut turn = turn.clone();
    turn.set("content", content);
    Cow::Owned(turn)
}
