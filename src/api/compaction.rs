//! Compactions: requests in which the program of an agent has put a summary in the place of earlier turns.

use super::client_text::{asks_for_summary, begins_turn, is_summary, may_have_summary};
use super::reading::{Unread, UserPlace, text_part, unread};
use super::scan;
use super::splice;
use crate::chat;
use crate::error::Result;
use crate::record::{Object, quote};

/// The most turns that the user began since a compaction in a request that still belongs to it.
const MAX_TURNS: usize = 1;

/// A compaction that a request shows.
#[derive(Clone, PartialEq, Debug)]
pub struct Compaction {
    /// The words of the program's summary.
    pub summary: String,
    /// The message or item of the summary; `None` if the model is to read the words of its program after that.
    pub(super) place: Option<UserPlace>,
    /// Whether the user has begun a turn since.
    pub has_turn: bool,
}

/// The compaction that the messages or items of a request show, a JSON array: the last one, up to the end of the first
/// turn that the user begins after it.
pub(super) fn find(json: &str) -> Option<Compaction> {
    if !may_have_summary(json) {
        return None;
    }
    let all = unread(json);
    let mut turns = 0;
    for (at, one) in all.iter().enumerate().rev() {
        if !is_user(one) {
            continue;
        }
        let texts = texts(one);
        let summary = texts.iter().position(|text| is_summary(text));
        // A program joins what follows its summary with it.
        let later = summary.map_or(0, |summary| summary + 1);
        let asks = texts.iter().any(|text| asks_for_summary(text)) && !all[..at].iter().any(is_user);
        turns += usize::from(!asks && texts[later..].iter().any(|text| begins_turn(text)));
        if turns > MAX_TURNS {
            return None;
        }
        if let Some(summary) = summary {
            let place = UserPlace { number: at, range: one.range() };
            let summary = texts[summary].clone();
            return Some(Compaction { summary, place: Some(place), has_turn: turns > 0 });
        }
        let answer = all.get(at + 1).filter(|next| next.role() == Some("\"assistant\""));
        if let Some(answer) = answer.filter(|_| asks) {
            let summary = self::texts(answer).join("\n");
            return Some(Compaction { summary, place: None, has_turn: turns > 0 });
        }
    }
    None
}

/// The same of the messages of a request for chat completions.
pub(super) fn find_in_turns(messages: &[Object]) -> Option<Compaction> {
    let may_have = |message: &Object| message.get("content").is_some_and(may_have_summary);
    if messages.iter().any(may_have) { find(&chat::array(messages)) } else { None }
}

fn is_user(one: &Unread) -> bool {
    one.role() == Some("\"user\"")
}

/// The texts of a message or an item.
fn texts(one: &Unread) -> Vec<String> {
    match one.content() {
        Some(json) if json.starts_with('"') => serde_json::from_str(json).into_iter().collect(),
        _ => one.parts().filter_map(|part| Object::parse(part.json).ok()?.text("text").ok()?).collect(),
    }
}

/// The body with a text after the summary, which the member `name` has at a place; parts of it have this type.
pub(super) fn add_after(
    mut body: Object,
    name: &str,
    place: &UserPlace,
    part_type: &str,
    text: &str,
) -> Result<Object> {
    let json = body.get(name).unwrap_or("[]");
    let mut message = Object::parse(&json[place.range.clone()])?;
    message.set("content", with_text_after(message.get("content").unwrap_or("\"\""), part_type, text));
    body.replace_within(name, place.range.clone(), &message.to_json());
    Ok(body)
}

/// The content, a text or an array of parts, with a text after that of the summary.
pub(super) fn with_text_after(content: &str, part_type: &str, text: &str) -> String {
    let text = text.trim_end();
    if content.starts_with('"') {
        let own: String = serde_json::from_str(content).unwrap_or_default();
        return quote(&format!("{own}\n\n{text}"));
    }
    let is_it = |json: &str| Object::parse(json).is_ok_and(|part| is_summary(&text_of(&part)));
    let Some(summary) = scan::element_ranges(content).into_iter().find(|at| is_it(&content[at.clone()]))
    else {
        return content.to_owned();
    };
    let mut part = text_part(text);
    part.set_text("type", part_type);
    splice::replace(content, summary.end..summary.end, &format!(",{}", part.to_json()))
}

fn text_of(part: &Object) -> String {
    part.text("text").ok().flatten().unwrap_or_default()
}
