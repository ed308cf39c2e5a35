//! Compactions: requests in which the program of an agent has put a summary in the place of earlier turns.

use super::client_text::{asks_for_summary, begins_turn, is_summary, may_have_summary};
use super::messages::without_blocks;
use super::reading::{Unread, UnreadPart, text_part, unread};
use super::scan;
use super::splice;
use crate::chat;
use crate::error::Result;
use crate::record::{Object, quote};

impl Compaction {
    /// Whether the user of a session began it with the question of which the summary is the answer.
    pub fn is_answer_to(&self, first_words: &str) -> bool {
        self.is_answer && asks_for_summary(first_words)
    }
}

/// The most turns that the user began since a compaction in a request that still belongs to it.
const MAX_TURNS: usize = 1;

/// A compaction that a request shows.
#[derive(Clone, PartialEq, Debug)]
pub struct Compaction {
    /// The words of the program's summary.
    pub summary: String,
    /// The position of the message or item of the summary; `None` if the model is to read the words of its
    /// program after that.
    pub(super) place: Option<usize>,
    /// Whether the summary is the answer to a question that a person may ask too.
    pub(super) is_answer: bool,
    /// Whether the user has begun a turn since.
    pub has_turn: bool,
}

/// The compaction that the messages or items of a request show, a JSON array: the last one, up to the end of
/// the first turn that the user begins after it.
pub(super) fn find(json: &str) -> Option<Compaction> {
    if !may_have_summary(json) {
        return None;
    }
    let all = unread(json);
    let first_answer = all.iter().position(is_of_model).unwrap_or(all.len());
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
        let begins =
            texts[later..].iter().any(|text| begins_turn(text)) || summary.is_none() && has_image(one);
        turns += usize::from(!asks && begins);
        if turns > MAX_TURNS {
            return None;
        }
        if let Some(summary) = summary.filter(|_| at < first_answer) {
            let (summary, has_turn) = (texts[summary].clone(), turns > 0);
            return Some(Compaction { summary, place: Some(at), is_answer: false, has_turn });
        }
        if let Some(summary) = all.get(at + 1).filter(|_| asks).and_then(only_text)
            && all.get(at + 2).is_some_and(is_user)
        {
            return Some(Compaction { summary, place: None, is_answer: true, has_turn: turns > 0 });
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
    one.role_word() == Some("user")
}

/// Whether a message or an item is of the model.
fn is_of_model(one: &Unread) -> bool {
    one.role_word() == Some("assistant") || one.kind().is_some_and(|kind| kind.ends_with("call"))
}

/// The text of an answer of the model that has no call.
fn only_text(answer: &Unread) -> Option<String> {
    let is_call = |part: UnreadPart| part.kind.is_some_and(|kind| kind.ends_with("tool_use"));
    let calls = answer.parts().any(is_call)
        || scan::member(answer.json(), "tool_calls").is_some_and(|calls| !["null", "[]"].contains(&calls));
    let text = texts(answer).join("\n");
    (answer.role_word() == Some("assistant") && !calls && !text.is_empty()).then_some(text)
}

/// Whether a message of the user has an image that is not of a tool.
fn has_image(one: &Unread) -> bool {
    let has = |kinds: &[&str]| one.parts().any(|part| part.kind.is_some_and(|kind| kinds.contains(&kind)));
    has(&["image", "input_image", "image_url"]) && !has(&["tool_result"])
}

/// The texts of a message or an item.
fn texts(one: &Unread) -> Vec<String> {
    match one.content() {
        Some(json) if json.starts_with('"') => serde_json::from_str(json).into_iter().collect(),
        _ => one.parts().filter_map(|part| Object::parse(part.json).ok()?.text("text").ok()?).collect(),
    }
}

/// The body with a text after the summary, which the member `name` has at a position; parts of it have this
/// type. Unless `keeps_blocks`, those of an earlier run go.
pub(super) fn add_after(
    mut body: Object,
    (name, number): (&str, usize),
    part_type: &str,
    text: &str,
    keeps_blocks: bool,
) -> Result<Object> {
    let json = body.get(name).unwrap_or("[]");
    let Some(range) = unread(json).get(number).map(Unread::range) else { return Ok(body) };
    let mut message = Object::parse(&json[range.clone()])?;
    let content = message.get("content").unwrap_or("\"\"");
    let content = if keeps_blocks { content.to_owned() } else { without_blocks(content) };
    message.set("content", with_text_after(&content, part_type, text));
    body.replace_within(name, range, &message.to_json());
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
    part.valid_text("text").unwrap_or_default()
}
