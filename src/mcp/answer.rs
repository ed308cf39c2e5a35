//! Answers: a text for the model, with stored text in the fence of recalled messages, and the same as JSON.
//! Both keep to a number of tokens.

use super::client_scope::ClientScope;
use crate::chat::fence;
use crate::error::Error;
use crate::record::{ACTION, DOCUMENT, Hit, StoredRecord};
use crate::tokens::Counter;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The members of a record that an answer has.
#[rustfmt::skip]
const MEMBERS: [&str; 22] = [
    "kind", "id", "partition", "instance", "trace_id", "role", "title", "description", "content",
    "category", "outcome", "confidence", "usage_count", "tags", "session_id", "uri", "abstract",
    "overview", "match_reason", "relations", "children", "created_at",
];

/// Those of an action.
#[rustfmt::skip]
const ACTION_MEMBERS: [&str; 14] = [
    "kind", "id", "instance", "trace_id", "tool", "program", "command", "paths", "pattern", "query",
    "lines", "failed", "error", "created_at",
];

/// The tokens of a line with an id and a score.
const TOKENS_PER_ID: usize = 32;
/// The greatest length of an id that is shown outside of the fence.
const MAX_ID_BYTES: usize = 64;
/// The tokens that answers have besides stored text.
const FRAME_TOKENS: usize = 64;
/// The fewest tokens for which a text is cut rather than left out.
const MIN_CUT_TOKENS: usize = 48;

/// The answer to a call.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    /// Ends with a line end.
    pub(super) text: String,
    pub(super) json: Map<String, Value>,
    /// The scope that it is for, if that is not the one of the call.
    scope: Option<ClientScope>,
}

impl Answer {
    /// An answer with the structured content that a value serializes as, an object.
    pub(super) fn new(text: impl Into<String>, content: impl Serialize) -> Answer {
        let json = match serde_json::to_value(content) {
            Ok(Value::Object(json)) => json,
            // All contents are objects that JSON can hold; another would lose its names, not the answer.
            other => Map::from_iter([("value".to_owned(), other.unwrap_or_default())]),
        };
        Answer { text: text.into() + "\n", json, scope: None }
    }

    /// The same for another scope than that of the call.
    pub(super) fn of(self, scope: ClientScope) -> Answer {
        Answer { scope: Some(scope), ..self }
    }

    /// The text and the JSON with the scope that they are for: that of the call, if there is no other.
    pub(super) fn in_scope(mut self, scope: &ClientScope) -> (String, Value) {
        let own = self.scope.take();
        let scope = own.as_ref().unwrap_or(scope);
        self.text.push_str(&format!("scope: {}\n", scope_name(scope)));
        // The call had a valid scope: the names of an answer cannot fail.
        let partition = scope.partition().unwrap_or_default();
        let named = AnswerScope { partition, instance: scope.instance.as_deref() };
        self.json.insert("scope".to_owned(), serde_json::to_value(named).unwrap_or_default());
        let mut json = Value::Object(self.json);
        escape(&mut json);
        (fence::escape_control_tokens(&self.text).into_owned(), json)
    }
}

/// The text of an error with its hint, and the scope if that is known.
pub(super) fn error_text(error: &Error, scope: Option<&ClientScope>) -> String {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut text = format!("error: {}\n", one_line(&error.to_string()));
    if let Some(hint) = error.remedy() {
        text.push_str(&format!("hint: {}\n", one_line(hint)));
    }
    if let Some(scope) = scope {
        text.push_str(&format!("scope: {}\n", scope_name(scope)));
    }
    fence::escape_control_tokens(&text).into_owned()
}

/// `garden`, or `garden/desk` if all calls are for one instance.
fn scope_name(scope: &ClientScope) -> String {
    let name = match (scope.partition(), &scope.instance) {
        (Ok(partition), Some(instance)) => format!("{partition}/{instance}"),
        (Ok(partition), None) => partition,
        (Err(_), _) => String::new(),
    };
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The scope of an answer.
#[derive(Serialize)]
struct AnswerScope<'a> {
    partition: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<&'a str>,
}

/// Escapes the control tokens in all texts of a value.
fn escape(value: &mut Value) {
    match value {
        Value::String(text) => *text = fence::escape_control_tokens(text).into_owned(),
        Value::Array(values) => values.iter_mut().for_each(escape),
        Value::Object(members) => members.values_mut().for_each(escape),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A record to show, with the score of a hit.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) record: StoredRecord,
    pub(super) score: Option<f64>,
}

impl From<Hit> for Item {
    fn from(hit: Hit) -> Item {
        let score = hit.is_ranked().then_some(hit.score);
        Item { record: hit.record, score }
    }
}

impl From<StoredRecord> for Item {
    fn from(record: StoredRecord) -> Item {
        Item { record, score: None }
    }
}

/// The records of an answer, as far as they fit.
#[derive(Clone, Debug)]
pub(super) struct Listing {
    /// The records in a fence, and a line with the id of each; a note tells the number left out.
    pub(super) text: String,
    json: Vec<Value>,
    /// The note to the model, if there are records.
    about: Option<String>,
    /// Those that are shown.
    pub(super) shown: Vec<StoredRecord>,
    /// The number of those that are left out.
    pub(super) left_out: usize,
}

/// The structured content of an answer with records.
#[derive(Default, Serialize)]
pub(super) struct ListingContent<'a> {
    /// By the name of the list.
    #[serde(flatten)]
    pub(super) records: BTreeMap<String, &'a [Value]>,
    pub(super) left_out: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) about: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) what: Option<&'static str>,
}

impl Listing {
    /// Shows records in their order, with a note to the model.
    pub(super) fn new(items: Vec<Item>, note: &str, max_tokens: usize) -> Listing {
        let counter = Counter::heuristic("");
        let mut left = max_tokens.saturating_sub(FRAME_TOKENS);
        let total = items.len();
        let (mut json, mut shown, mut ids) = (Vec::new(), Vec::new(), String::new());
        for item in items {
            let rank = shown.len() + 1;
            let whole = cost(&item, rank, &counter);
            let is_cut = whole > left;
            let item = if is_cut {
                match cut(item, rank, left, &counter) {
                    Some(item) => item,
                    None => break,
                }
            } else {
                item
            };
            left = left.saturating_sub(cost(&item, rank, &counter));
            let mut value = to_json(&item, rank);
            if is_cut {
                value["cut"] = true.into();
            }
            json.push(value);
            if item.record.kind != &DOCUMENT {
                let score = item.score.map(|score| format!(", score {score:.2}")).unwrap_or_default();
                ids.push_str(&format!("{rank}. {}{score}\n", shown_id(&item.record.id)));
            }
            shown.push(item.record);
            if is_cut {
                break;
            }
        }
        let records: Vec<&StoredRecord> = shown.iter().collect();
        let mut text = if records.is_empty() { String::new() } else { fence::enclose(note, &records) };
        if !ids.is_empty() {
            text.push_str(&format!("Their ids, in the same order:\n{ids}"));
        }
        let left_out = total - shown.len();
        if left_out > 0 {
            text.push_str(&format!("{left_out} more did not fit into the answer\n"));
        }
        let about = (!shown.is_empty()).then(|| note.to_owned());
        Listing { text, json, about, shown, left_out }
    }

    /// The structured content of an answer: the records by a name. Some clients show the model this alone, so
    /// that it has the note too.
    pub(super) fn content(&self, name: &str) -> ListingContent<'_> {
        let records = BTreeMap::from([(name.to_owned(), self.json.as_slice())]);
        let (left_out, about) = (self.left_out, self.about.as_deref());
        ListingContent { records, left_out, about, ..ListingContent::default() }
    }
}

/// An id outside of the fence. One of another program may be any text; it is only in the JSON.
fn shown_id(id: &str) -> &str {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    if id.len() <= MAX_ID_BYTES && id.chars().all(is_plain) { id } else { "(see the structured content)" }
}

/// The tokens of a record in the text, and in the JSON if these are more.
fn cost(item: &Item, rank: usize, counter: &Counter) -> usize {
    let text = counter.text(&fence::entry(&item.record)) + TOKENS_PER_ID;
    text.max(counter.text(&to_json(item, rank).to_string()))
}

/// A record with its text cut to fit; `None` if too little of it would remain.
fn cut(item: Item, rank: usize, left: usize, counter: &Counter) -> Option<Item> {
    let Item { mut record, score } = item;
    let text = std::mem::take(&mut record.text);
    let mut item = Item { record, score };
    let remaining =
        left.checked_sub(cost(&item, rank, counter)).filter(|remaining| *remaining >= MIN_CUT_TOKENS)?;
    // No text has fewer than one token for so many characters.
    let mut kept = remaining.saturating_mul(8).min(text.chars().count());
    loop {
        let end = text.char_indices().nth(kept).map_or(text.len(), |(at, _)| at);
        item.record.text = format!("{}…", &text[..end]);
        if cost(&item, rank, counter) <= left {
            return Some(item);
        }
        kept = kept * 4 / 5;
        if kept == 0 {
            return None;
        }
    }
}

/// A record as JSON: those members of its line that matter to a client.
fn to_json(item: &Item, rank: usize) -> Value {
    let mut line = Vec::new();
    item.record.write(&mut line);
    let mut json: Map<String, Value> = serde_json::from_slice(&line).unwrap_or_default();
    let members: &[&str] = if item.record.kind == &ACTION { &ACTION_MEMBERS } else { &MEMBERS };
    json.retain(|name, _| members.contains(&name.as_str()));
    json.insert("rank".to_owned(), rank.into());
    if let Some(score) = item.score {
        json.insert("score".to_owned(), score.into());
    }
    json.into()
}
