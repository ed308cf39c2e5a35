//! The account export of ChatGPT: `conversations.json`, an array of conversations, alone or in the zip
//! archive.

use super::account::{MessageTree, millis};
use super::citations::with_sources;
use super::contents::tool_call;
use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::format::{DOWNLOADS, ImportFormat, ReadFormat};
use super::objects::Convert;
use crate::error::Result;
use crate::record::{Object, RecordError, Role, quote};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

const NAME: &str = "chatgpt";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "the account export of ChatGPT: the zip archive, or conversations.json",
    places: &[DOWNLOADS],
    timeless: false,
    recognize: |sample| sample.first().is_some_and(|object| object.has("mapping")),
    read: ReadFormat::Objects(|options, _| Box::new(ChatGptExport { options: options.clone() })),
};

/// The beginning of the names of tools by which the model writes a document beside the conversation.
const CANVAS: &str = "canmore.";

struct ChatGptExport {
    options: ImportOptions,
}

#[derive(Deserialize)]
struct Node {
    message: Option<Message>,
    parent: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    author: Author,
    create_time: Option<f64>,
    content: Option<Value>,
    #[serde(default)]
    metadata: Value,
    recipient: Option<String>,
}

#[derive(Deserialize)]
struct Author {
    role: String,
}

impl Convert for ChatGptExport {
    fn convert(&mut self, conversation: Object, lines: &mut Vec<Object>) -> Result<()> {
        let mapping = conversation.get("mapping").unwrap_or("{}");
        let nodes: BTreeMap<String, Node> = serde_json::from_str(mapping)
            .map_err(|error| RecordError::Text { member: "mapping".to_owned(), error })?;
        let mut tree = MessageTree::default();
        for (id, node) in &nodes {
            tree.add(id, node.parent.as_deref());
        }
        let time = |id: &str| nodes.get(id)?.message.as_ref()?.create_time;
        tree.bridge_gaps(time);
        let current = conversation.text("current_node")?;
        // An export may name a message that it lacks, or none.
        let current = current.as_deref().filter(|current| nodes.contains_key(*current));
        let leaf = current.or_else(|| tree.last_leaf(|id, other| time(id) > time(other)));
        let has_words = |id: &str| {
            let message = nodes.get(id).and_then(|node| node.message.as_ref());
            message.and_then(|message| self.message(id, message)).is_some_and(|said| !said.is_empty())
        };
        let shown = if self.options.branches { tree.all() } else { tree.shown(leaf, has_words) };
        let began = conversation.number("create_time")?;
        let id = conversation.text("conversation_id")?.or(conversation.text("id")?);
        let changed =
            conversation.number("update_time")?.map(|time| millis("update_time", time)).transpose()?;
        let title = conversation.text("title")?;
        let about = Conversation { id, title, changed, ..Conversation::default() };
        let mut questions: HashMap<&str, &str> = HashMap::new();
        for id in shown {
            let before = tree.parent(id).and_then(|parent| questions.get(parent).copied());
            let message = nodes.get(id).and_then(|node| node.message.as_ref());
            let is_question = message.is_some_and(|message| message.author.role == "user");
            let question = if is_question { Some(id) } else { before };
            questions.extend(question.map(|question| (id, question)));
            let Some(message) = message else { continue };
            let time = message.create_time.or(began).map(|time| millis("create_time", time)).transpose()?;
            if let Some(line) = self.message(id, message) {
                let trace_id = question.map(str::to_owned);
                let line = ImportedMessage { time, id: Some(id.to_owned()), trace_id, ..line };
                self.options.add(NAME, &about, line, lines)?;
            }
        }
        Ok(())
    }
}

impl ChatGptExport {
    /// A message as it is shown; none if it is of the system, of a tool that is not kept, or hidden.
    fn message(&self, id: &str, message: &Message) -> Option<ImportedMessage> {
        let member = |name: &str| message.metadata.get(name);
        if member("is_visually_hidden_from_conversation").and_then(Value::as_bool) == Some(true) {
            return None;
        }
        let content = message.content.as_ref()?;
        let is_user = message.author.role == "user";
        let text = text(content).or_else(|| text_of_new_kind(content).filter(|_| is_user))?;
        let is_answer = message.author.role == "assistant";
        let text = if is_answer { with_sources(text, &message.metadata) } else { text };
        let model = member("model_slug").and_then(Value::as_str).map(str::to_owned);
        let recipient = message.recipient.as_deref().unwrap_or("all");
        match message.author.role.as_str() {
            "user" => Some(ImportedMessage::new(Role::User, text)),
            "assistant" if recipient == "all" => {
                Some(ImportedMessage { model, ..ImportedMessage::new(Role::Assistant, text) })
            }
            "assistant" if recipient.starts_with(CANVAS) => {
                Some(ImportedMessage { model, ..ImportedMessage::new(Role::Assistant, canvas(text)) })
            }
            "assistant" if self.options.keep_tools => {
                let tool_calls = Some(tool_call(id, recipient, &quote(&text)));
                Some(ImportedMessage { model, tool_calls, ..ImportedMessage::new(Role::Assistant, "") })
            }
            "tool" if self.options.keep_tools => Some(ImportedMessage::new(Role::Tool, text)),
            _ => None,
        }
    }
}

/// The text of a content; without the thoughts of the model, or its notes on the user.
fn text(content: &Value) -> Option<String> {
    match content.get("content_type").and_then(Value::as_str)? {
        "text" | "multimodal_text" => {
            let parts = content.get("parts")?.as_array()?;
            let texts = parts.iter().filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str()));
            Some(texts.collect::<Vec<_>>().join("\n"))
        }
        "code" | "execution_output" => content.get("text")?.as_str().map(str::to_owned),
        _ => None,
    }
}

/// The text of a content of a kind that is not known; none of the model's notes on the user.
fn text_of_new_kind(content: &Value) -> Option<String> {
    let parts = || {
        let parts = content.get("parts")?.as_array()?.iter();
        Some(parts.filter_map(Value::as_str).collect::<Vec<_>>().join("\n"))
    };
    let is_notes = content.get("content_type").and_then(Value::as_str) == Some("user_editable_context");
    let text = content.get("text").and_then(Value::as_str).map(str::to_owned);
    text.or_else(parts).filter(|_| !is_notes)
}

/// The words that the call of a tool puts on a canvas: a document, the new parts of one, or comments on it.
fn canvas(arguments: String) -> String {
    let Ok(call) = serde_json::from_str::<Value>(&arguments) else { return arguments };
    let of = |list: &str, member: &str| -> Option<String> {
        let texts = call.get(list)?.as_array()?.iter().filter_map(|one| one.get(member)?.as_str());
        Some(texts.collect::<Vec<_>>().join("\n"))
    };
    let document = call.get("content").and_then(Value::as_str).map(str::to_owned);
    document
        .or_else(|| of("updates", "replacement"))
        .or_else(|| of("comments", "comment"))
        .unwrap_or(arguments)
}
