//! Reads the turns of a request for Messages, and puts a text before the user's last words.

use crate::api::reading::{
    FAILED, Reading, Unread, UserMessage, UserPlace, opaque, text_part, tool_message, unread, url_part,
};
use crate::api::scan;
use crate::api::splice;
use crate::chat::{self, fence};
use crate::error::{Error, Result};
use crate::record::{Content, Object, empty, missing, prepend, quote, unexpected, unquote};

/// A hint: the smallest valid request.
const REQUEST_HINT: &str =
    r#"a request has {"max_tokens": 1024, "messages": [{"role": "user", "content": "..."}]}"#;

/// The sign of a request that a part of an agent makes, whose prompt another model wrote.
const SUBAGENT_SIGN: &str = "cc_is_subagent=true";

/// Reads the turns of a request. Errors name the member at fault.
pub(super) fn read(body: &Object) -> Result<Reading> {
    let json = match body.get("messages") {
        Some(json) if json.starts_with('[') => json,
        None | Some("null") => return Err(missing("messages").hint(REQUEST_HINT)),
        Some(json) => return Err(unexpected("messages", "an array of objects", json)),
    };
    let mut earlier = unread(json);
    if earlier.is_empty() {
        return Err(empty("messages").hint(REQUEST_HINT));
    }
    let mut reading = Reading { len: earlier.len(), session: session(body), ..Reading::default() };
    // Newest first.
    let mut after = Vec::new();
    let (mut continues, mut systems) = (false, Vec::new());
    while let Some(last) = earlier.pop() {
        let at = earlier.len();
        let place = |error: Error| error.at(format_args!("messages[{at}]"));
        let message = || Object::parse(last.json()).map_err(place);
        match (last.role(), last.role_word()) {
            (None | Some("null"), _) => return Err(place(missing("role"))),
            (_, Some("user")) => {
                let user = user_message(&last).map_err(place)?;
                reading.is_side_call |= user.is_program_request;
                continues |= user.has_program_text;
                let said = user.said();
                if said.is_none() {
                    continues |= !user.results.is_empty();
                    after.extend(user.results.into_iter().rev());
                    continue;
                }
                reading.user = Some(UserPlace { number: at, range: last.range() });
                reading.said = said.clone().filter(|_| !continues);
                after.extend(said);
                // They belong to the calls before them.
                let calls = earlier.last().filter(|_| !user.results.is_empty());
                reading.late.extend(calls.and_then(|calls| Object::parse(calls.json()).ok()));
                reading.late.extend(user.results.iter().cloned());
                after.extend(user.results.into_iter().rev());
                break;
            }
            (_, Some("assistant")) => after.push(message()?),
            (Some(role), _) if role.starts_with('"') => {
                systems.push(opaque("system", &text_part(&chat::text(&message()?)).to_json()));
            }
            (Some(role), _) => return Err(place(unexpected("role", "a string", role))),
        }
    }
    reading.turns.extend(system_turn(body));
    for message in &earlier {
        reading.add_earlier(message);
    }
    reading.turns.extend(systems.into_iter().rev());
    reading.turns.extend(after.into_iter().rev());
    let is_agent = reading.session.is_some();
    let has_tools = body.get("tools").is_some_and(|tools| !["[]", "null"].contains(&tools));
    let is_subagent = body.get("system").is_some_and(|system| system.contains(SUBAGENT_SIGN));
    reading.is_side_call |= is_agent && !has_tools || is_subagent || reading.user.is_none() && !continues;
    Ok(reading)
}

/// The system prompt as a turn, if the request has one.
fn system_turn(body: &Object) -> Option<Object> {
    let system = body.get("system").filter(|system| *system != "null")?;
    if Content::from_json(system).is_err() {
        return Some(opaque("system", &text_part(system).to_json()));
    }
    let mut message = Object::default();
    message.set_text("role", "system");
    message.set("content", system);
    Some(message)
}

/// The session in `metadata.user_id`, where Claude Code names it, as JSON or in the middle of a name.
fn session(body: &Object) -> Option<String> {
    let user = body.object("metadata").ok()??.text("user_id").ok()??;
    user.contains("session").then_some(user)
}

/// The contents of a message in the role of the user.
fn user_message(message: &Unread) -> Result<UserMessage> {
    let mut found = UserMessage::default();
    match message.content() {
        None | Some("null") => {}
        Some(parts) if parts.starts_with('[') => {
            for part in message.parts() {
                if part.kind == Some("tool_result") {
                    // It may be long, and nothing of it is read here.
                    let mut result = tool_message(part.call, part.content);
                    if let Some(failed) = part.failed {
                        result.set(FAILED, failed);
                    }
                    found.results.push(result);
                } else {
                    let block = Object::parse(part.json)
                        .map_err(|_| unexpected("content", "a string or an array of parts", parts))?;
                    add_block(&mut found, &block);
                }
            }
        }
        Some(json) => match unquote(json) {
            Ok(text) => found.add_text(&fence::remove(&text)),
            Err(_) => return Err(unexpected("content", "a string or an array of parts", json)),
        },
    }
    Ok(found)
}

/// Adds a block, unless it is the result of a tool.
fn add_block(to: &mut UserMessage, block: &Object) {
    match block.valid_text("type").as_deref() {
        Some("text") => {
            let text = block.valid_text("text").unwrap_or_default();
            if !fence::is_all(&text) {
                to.add_text(&text);
            }
        }
        Some("image") => to.parts.push(image(block).unwrap_or_else(|| unmarked(block))),
        Some(kind) if kind.ends_with("tool_result") || kind == "container_upload" => {}
        _ => to.parts.push(unmarked(block)),
    }
}

/// An image in the shape of chat completions; `None` for one that only Anthropic knows, such as an uploaded
/// file.
fn image(block: &Object) -> Option<Object> {
    let source = block.object("source").ok()??;
    let text = |name| source.valid_text(name);
    let url = match text("type")?.as_str() {
        "base64" => format!("data:{};base64,{}", text("media_type")?, text("data")?),
        "url" => text("url")?,
        _ => return None,
    };
    Some(url_part("image_url", &url))
}

/// A block without the mark of the provider's cache, which moves.
fn unmarked(block: &Object) -> Object {
    let mut block = block.clone();
    block.take("cache_control");
    block
}

/// The request with a text before the user's own words in the message at the place `user`.
pub(super) fn insert(mut body: Object, user: UserPlace, text: &str) -> Result<Object> {
    let json = body.get("messages").unwrap_or("[]");
    let mut message = Object::parse(&json[user.range.clone()])?;
    let content = message.get("content").unwrap_or("\"\"").to_owned();
    let is_own = |block: &Object| {
        let mut found = UserMessage::default();
        add_block(&mut found, block);
        !found.parts.is_empty()
    };
    message.set("content", with_text(&content, &text_part(text), is_own)?);
    body.replace_within("messages", user.range, &message.to_json());
    Ok(body)
}

/// The content, a text or an array of parts, with a part before the first that is the user's own, and without
/// those of an earlier run.
pub(in crate::api) fn with_text(
    content: &str,
    part: &Object,
    is_own: impl Fn(&Object) -> bool,
) -> Result<String> {
    let text = part.text("text")?.unwrap_or_default();
    let content = without_blocks(content);
    if content.starts_with('"') {
        return Ok(prepend(&text, &content));
    }
    let own = scan::element_ranges(&content)
        .into_iter()
        .find(|range| Object::parse(&content[range.clone()]).is_ok_and(|block| is_own(&block)));
    Ok(match own {
        Some(range) => splice::insert_before(&content, range.start, &part.to_json()),
        None => content,
    })
}

/// The content, a text or an array of parts, without the blocks of an earlier run.
pub(in crate::api) fn without_blocks(content: &str) -> String {
    if content.starts_with('"') {
        let own = unquote(content).unwrap_or_default();
        let without = fence::remove(&own);
        return if without == own { content.to_owned() } else { quote(&without) };
    }
    let mut content = content.to_owned();
    let mut ranges = scan::element_ranges(&content);
    for at in (0..ranges.len()).rev() {
        let old = &content[ranges[at].clone()];
        let old = Object::parse(old).ok().and_then(|old| old.valid_text("text"));
        if !old.is_some_and(|old| fence::is_all(&old)) {
            continue;
        }
        let mut gone = ranges.remove(at);
        if let Some(next) = ranges.get_mut(at) {
            gone.end = std::mem::replace(&mut next.start, gone.start);
        } else if let Some(last) = ranges.last() {
            gone.start = last.end;
        }
        content = splice::replace(&content, gone, "");
    }
    content
}
