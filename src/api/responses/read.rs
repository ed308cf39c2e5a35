//! Reads the turns of a request for Responses, and puts a text before the user's last words.

use crate::api::messages::{with_text, without_blocks};
use crate::api::reading::{
    Reading, Unread, UserMessage, UserPlace, opaque, text_part, tool_message, unread, url_part,
};
use crate::chat::fence;
use crate::error::{Error, Result};
use crate::record::{Content, Object, missing, prepend, unexpected};

/// A hint: the smallest valid request.
const REQUEST_HINT: &str = r#"a request has {"input": "..."}, or an array of items in its place"#;

/// The member in which Codex describes a request, and what it says of one that a user's turn makes.
const METADATA: &str = "client_metadata";
const TURN_METADATA: &str = "x-codex-turn-metadata";

/// Reads the turns of a request. Errors name the member at fault.
pub(super) fn read(body: &Object) -> Result<Reading> {
    let metadata = body.valid_object(METADATA);
    let mut reading = Reading {
        session: session(body, metadata.as_ref()),
        is_side_call: metadata.as_ref().is_some_and(is_of_program),
        ..Reading::default()
    };
    if let Some(instructions) = body.valid_text("instructions") {
        reading.turns.push(opaque("system", &text_part(&instructions).to_json()));
    }
    match body.get("input") {
        None | Some("null") => return Err(missing("input").hint(REQUEST_HINT)),
        Some(json) if json.starts_with('"') => {
            let mut user = UserMessage::default();
            user.add_text(&fence::remove(&body.text("input")?.unwrap_or_default()));
            reading.said = user.said();
            reading.user = reading.said.is_some().then_some(UserPlace { number: 0, range: 0..json.len() });
            reading.is_side_call |= reading.user.is_none();
            reading.turns.extend(reading.said.clone());
        }
        Some(json) if json.starts_with('[') => {
            read_items(&mut reading, json)?;
        }
        Some(json) => return Err(unexpected("input", "a text or an array of items", json)),
    }
    Ok(reading)
}

/// Reads an array of items.
fn read_items(reading: &mut Reading, json: &str) -> Result<()> {
    let mut earlier = unread(json);
    reading.len = earlier.len();
    // Newest first.
    let (mut after, mut systems, mut continues) = (Vec::new(), Vec::new(), false);
    while let Some(last) = earlier.pop() {
        let at = earlier.len();
        let place = |error: Error| error.at(format_args!("input[{at}]"));
        let item = || Object::parse(last.json()).map_err(place);
        match Item::of(&last) {
            Item::User => {
                let user = user_message(&item()?).map_err(place)?;
                reading.is_side_call |= user.is_program_request;
                let Some(said) = user.said() else {
                    continues |= user.has_program_text;
                    continue;
                };
                reading.user = Some(UserPlace { number: at, range: last.range() });
                reading.said = Some(said.clone()).filter(|_| !continues);
                reading.is_side_call |= earlier.last().is_some_and(is_program_request);
                reading.late = late(&earlier);
                after.push(said);
                break;
            }
            Item::Output => {
                continues = true;
                // It may be long, and nothing of it is read here.
                after.push(tool_message(last.call(), last.output()));
            }
            Item::Assistant => after.push(turn_of(item()?, "assistant")),
            Item::Other => after.push(opaque("assistant", &item()?.to_json())),
            Item::System => systems.push(turn_of(item()?, "system")),
        }
    }
    reading.is_side_call |= reading.user.is_none() && !continues;
    for item in &earlier {
        reading.add_earlier(item);
    }
    reading.turns.extend(systems.into_iter().rev());
    reading.turns.extend(after.into_iter().rev());
    Ok(())
}

/// The calls at the end of items, and their outputs, which came with the user's words after them.
fn late(items: &[Unread]) -> Vec<Object> {
    let (mut found, mut has_output) = (Vec::new(), false);
    for item in items.iter().rev() {
        match Item::of(item) {
            Item::Output => found.push(tool_message(item.call(), item.output())),
            Item::Other if has_output => found.push(opaque("assistant", item.json())),
            // The program notes there that the turn was interrupted.
            Item::User if !has_output && has_no_words(item) => continue,
            _ => break,
        }
        has_output = true;
    }
    found.reverse();
    found
}

fn has_no_words(item: &Unread) -> bool {
    let user = Object::parse(item.json()).ok().and_then(|item| user_message(&item).ok());
    user.is_some_and(|user| user.said().is_none())
}

/// Whether an item is a program's own request; the user's words after it are the matter.
fn is_program_request(item: &Unread) -> bool {
    let read = |item: Object| user_message(&item).ok();
    item.role_word() == Some("user")
        && Object::parse(item.json()).ok().and_then(read).is_some_and(|user| user.is_program_request)
}

/// The type of an item.
enum Item {
    User,
    Assistant,
    System,
    /// The output of a tool.
    Output,
    Other,
}

impl Item {
    /// The type of an item by its role and type.
    fn of(item: &Unread) -> Item {
        let is_message = matches!(item.kind(), None | Some("message"));
        match item.role_word() {
            Some("user") if is_message => Item::User,
            Some("assistant") if is_message => Item::Assistant,
            Some("system" | "developer") if is_message => Item::System,
            _ if item.kind().is_some_and(|kind| kind.ends_with("_output")) => Item::Output,
            _ => Item::Other,
        }
    }
}

/// A message of a role as a turn of chat completions.
fn turn_of(message: Object, role: &str) -> Object {
    if Content::from_message(&message).is_ok() { message } else { opaque(role, &message.to_json()) }
}

/// The contents of a message of the user.
fn user_message(item: &Object) -> Result<UserMessage> {
    let mut found = UserMessage::default();
    match Content::from_message(item)? {
        Content::Null => {}
        Content::Text(text) => found.add_text(&fence::remove(&text)),
        Content::Parts(_) => {
            for part in item.objects("content")?.unwrap_or_default() {
                add_part(&mut found, &part);
            }
        }
    }
    Ok(found)
}

fn add_part(to: &mut UserMessage, part: &Object) {
    let text = |name| part.valid_text(name);
    match text("type").as_deref() {
        Some("input_text" | "text") => {
            let text = text("text").unwrap_or_default();
            if !fence::is_all(&text) {
                to.add_text(&text);
            }
        }
        Some("input_image") => match text("image_url") {
            Some(url) => to.parts.push(url_part("image_url", &url)),
            None => to.parts.push(part.clone()),
        },
        _ => to.parts.push(part.clone()),
    }
}

/// The conversation that a program names.
fn session(body: &Object, metadata: Option<&Object>) -> Option<String> {
    let named = metadata.and_then(|metadata| metadata.valid_text("session_id"));
    named.or_else(|| body.valid_text("prompt_cache_key"))
}

/// Whether a program names the conversation otherwise than by the key of the provider's cache.
pub(super) fn names_session(body: &Object) -> bool {
    body.valid_object(METADATA).is_some_and(|metadata| session(&Object::default(), Some(&metadata)).is_some())
}

/// Whether Codex says that no turn of a user's makes a request: that it compacts, or that another agent asks.
fn is_of_program(metadata: &Object) -> bool {
    let Some(turn) = metadata.valid_text(TURN_METADATA) else { return false };
    let Ok(turn) = Object::parse(&turn) else { return false };
    let other = |name: &str, usual: &str| turn.valid_text(name).is_some_and(|value| value != usual);
    other("request_kind", "turn") || other("thread_source", "user")
}

/// The request with a text before the user's own words in the item at the place `user`.
pub(super) fn insert(mut body: Object, user: UserPlace, text: &str) -> Result<Object> {
    let json = body.get("input").unwrap_or("[]");
    let mut part = text_part(text);
    part.set_text("type", "input_text");
    if json.starts_with('"') {
        body.set("input", prepend(text, &without_blocks(json)));
        return Ok(body);
    }
    let mut item = Object::parse(&json[user.range.clone()])?;
    let content = item.get("content").unwrap_or("\"\"").to_owned();
    let is_own = |part: &Object| {
        let mut found = UserMessage::default();
        add_part(&mut found, part);
        !found.parts.is_empty()
    };
    item.set("content", with_text(&content, &part, is_own)?);
    body.replace_within("input", user.range, &item.to_json());
    Ok(body)
}
