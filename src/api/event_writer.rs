//! Writes an answer as events of Anthropic's Messages or of OpenAI's Responses, one part after the other: the
//! events of a part end before those of the next begin.

use super::from_chat::{
    AnswerEnd, AnswerPart, Call, content_part, id_of, item, item_id, response, text_block, usage_of,
};
use super::protocol::Api;
use super::to_chat::{Translation, text_argument};
use crate::record::{Object, quote};

/// The members of an answer whose first value is kept; providers repeat them, and may change them.
const FIRST_KEPT_MEMBERS: [&str; 3] = ["id", "model", "created"];
/// The status of a growing part.
const IN_PROGRESS: &str = "in_progress";

/// Writes events.
pub(super) struct EventWriter {
    translation: Translation,
    /// The members of the answer, apart from its choices.
    head: Object,
    is_begun: bool,
    /// The number of the next event, which Responses have.
    sequence: usize,
    /// The items that are complete, as JSON; of the blocks of a message only their number matters.
    items: Vec<String>,
    events: Vec<Object>,
}

impl EventWriter {
    pub(super) fn new(translation: Translation) -> EventWriter {
        EventWriter {
            translation,
            head: Object::default(),
            is_begun: false,
            sequence: 0,
            items: Vec::new(),
            events: Vec::new(),
        }
    }

    /// The events since this was called last.
    pub(super) fn take(&mut self) -> Vec<Object> {
        std::mem::take(&mut self.events)
    }

    /// The members of the answer, apart from its choices.
    pub(super) fn head(&self) -> &Object {
        &self.head
    }

    /// Reads the members of a chunk, apart from its choices.
    pub(super) fn read_head(&mut self, chunk: &Object) {
        let known = |json: &&str| *json != "null";
        for name in FIRST_KEPT_MEMBERS {
            if let Some(json) = chunk.get(name).filter(known)
                && !self.head.has(name)
            {
                self.head.set(name, json);
            }
        }
        if let Some(usage) = chunk.get("usage").filter(known) {
            self.head.set("usage", usage);
        }
    }

    /// Whether the client knows of the answer.
    pub(super) fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Begins the answer, once.
    pub(super) fn begin(&mut self) {
        if std::mem::replace(&mut self.is_begun, true) {
            return;
        }
        if self.is_message() {
            let (id, model) = (quote(&id_of("msg_", &self.head)), self.head.get("model").unwrap_or("\"\""));
            let message = format!(
                "{{\"id\":{id},\"type\":\"message\",\"role\":\"assistant\",\"model\":{model},\"content\":[],\
                 \"stop_reason\":null,\"stop_sequence\":null,\"usage\":{{\"input_tokens\":{},\"output_tokens\":0}}}}",
                self.translation.prompt_tokens
            );
            self.add("message_start", &[("message", message)]);
        } else {
            let mut begun = response(&self.translation, &self.head, &[], &AnswerEnd::new("", []));
            begun.set_text("status", IN_PROGRESS);
            begun.set("usage", "null");
            let begun = begun.to_json();
            self.add("response.created", &[("response", begun.clone())]);
            self.add("response.in_progress", &[("response", begun)]);
        }
    }

    /// Opens a part, whose text comes later.
    pub(super) fn open(&mut self, part: &AnswerPart) {
        let part = match part {
            AnswerPart::Text(_) => AnswerPart::Text(String::new()),
            AnswerPart::Refusal(_) => AnswerPart::Refusal(String::new()),
            AnswerPart::Call(call) => {
                AnswerPart::Call(Call { id: call.id.clone(), name: call.name.clone(), ..Call::default() })
            }
        };
        let place = self.place();
        if self.is_message() {
            let block = match &part {
                AnswerPart::Text(_) | AnswerPart::Refusal(_) => text_block(""),
                AnswerPart::Call(Call { id, name, .. }) => {
                    format!(
                        "{{\"type\":\"tool_use\",\"id\":{},\"name\":{},\"input\":{{}}}}",
                        quote(id),
                        quote(name)
                    )
                }
            };
            return self.add("content_block_start", &[place, ("content_block", block)]);
        }
        match &part {
            AnswerPart::Call(_) => {
                let item = self.item(&part, IN_PROGRESS);
                self.add("response.output_item.added", &[place, ("item", item)]);
            }
            _ => {
                let id = quote(&item_id(&self.head, self.items.len(), &part));
                let item = format!(
                    "{{\"type\":\"message\",\"id\":{id},\"status\":\"{IN_PROGRESS}\",\"role\":\"assistant\",\"content\":[]}}"
                );
                self.add("response.output_item.added", &[place, ("item", item)]);
                self.add_of(&part, "response.content_part.added", &[("part", content_part(&part))]);
            }
        }
    }

    /// Adds a text to the open part: to its words, or to the arguments of a call.
    pub(super) fn extend(&mut self, part: &AnswerPart, text: &str) {
        let json = quote(text);
        if self.is_message() {
            let delta = match part {
                AnswerPart::Call(_) => format!("{{\"type\":\"input_json_delta\",\"partial_json\":{json}}}"),
                _ => format!("{{\"type\":\"text_delta\",\"text\":{json}}}"),
            };
            return self.add("content_block_delta", &[self.place(), ("delta", delta)]);
        }
        let kind = match part {
            AnswerPart::Text(_) => {
                return self.add_of(part, "response.output_text.delta", &[("delta", json), no_logprobs()]);
            }
            AnswerPart::Refusal(_) => "response.refusal.delta",
            // The input of the tool is in the arguments, and is known when they are whole.
            AnswerPart::Call(call) if self.takes_text(call) => return,
            AnswerPart::Call(_) => "response.function_call_arguments.delta",
        };
        self.add_of(part, kind, &[("delta", json)]);
    }

    /// Ends the open part.
    pub(super) fn close(&mut self, part: &AnswerPart, status: &str) {
        let place = self.place();
        if self.is_message() {
            self.add("content_block_stop", &[place]);
            return self.items.push(String::new());
        }
        let item = self.item(part, status);
        match part {
            AnswerPart::Text(text) => {
                self.add_of(part, "response.output_text.done", &[("text", quote(text)), no_logprobs()]);
                self.add_of(part, "response.content_part.done", &[("part", content_part(part))]);
            }
            AnswerPart::Refusal(text) => {
                self.add_of(part, "response.refusal.done", &[("refusal", quote(text))]);
                self.add_of(part, "response.content_part.done", &[("part", content_part(part))]);
            }
            AnswerPart::Call(call) if self.takes_text(call) => {
                let input = quote(&text_argument(&call.arguments));
                self.add_of(part, "response.custom_tool_call_input.delta", &[("delta", input.clone())]);
                self.add_of(part, "response.custom_tool_call_input.done", &[("input", input)]);
            }
            AnswerPart::Call(call) => {
                let arguments = quote(&call.arguments);
                let members = [("name", quote(&call.name)), ("arguments", arguments)];
                self.add_of(part, "response.function_call_arguments.done", &members);
            }
        }
        self.add("response.output_item.done", &[place, ("item", item.clone())]);
        self.items.push(item);
    }

    /// Ends the answer.
    pub(super) fn finish(&mut self, end: &AnswerEnd) {
        if !self.is_message() {
            let whole = response(&self.translation, &self.head, &self.items, end);
            return self.add(&format!("response.{}", end.status()), &[("response", whole.to_json())]);
        }
        let delta = format!("{{\"stop_reason\":\"{}\",\"stop_sequence\":null}}", end.stop_reason());
        // The count of the beginning holds if the provider counts nothing.
        let usage = if self.head.has("usage") {
            usage_of(Api::Messages, &self.head)
        } else {
            "{\"output_tokens\":0}".to_owned()
        };
        self.add("message_delta", &[("delta", delta), ("usage", usage)]);
        self.add("message_stop", &[]);
    }

    /// Ends an answer that broke off: by the usage so far, if the provider sent it, and the error.
    pub(super) fn fail(&mut self, message: &str) {
        let has_usage = self.head.has("usage");
        let message = quote(message);
        if self.is_message() {
            if has_usage && self.is_begun {
                let delta = "{\"stop_reason\":null,\"stop_sequence\":null}".to_owned();
                let usage = usage_of(Api::Messages, &self.head);
                self.add("message_delta", &[("delta", delta), ("usage", usage)]);
            }
            let error = format!("{{\"type\":\"api_error\",\"message\":{message}}}");
            return self.add("error", &[("error", error)]);
        }
        // A client reads no failure of a response that it does not know.
        self.begin();
        let mut failed = response(&self.translation, &self.head, &self.items, &AnswerEnd::new("", []));
        failed.set_text("status", "failed");
        failed.set("error", format!("{{\"code\":\"server_error\",\"message\":{message}}}"));
        if !has_usage {
            failed.set("usage", "null");
        }
        self.add("response.failed", &[("response", failed.to_json())]);
    }

    fn is_message(&self) -> bool {
        self.translation.api == Api::Messages
    }

    fn takes_text(&self, call: &Call) -> bool {
        self.translation.text_tools.contains(&call.name)
    }

    /// The member with the place of the open part.
    fn place(&self) -> (&'static str, String) {
        let name = if self.is_message() { "index" } else { "output_index" };
        (name, self.items.len().to_string())
    }

    fn item(&self, part: &AnswerPart, status: &str) -> String {
        item(&self.head, self.items.len(), part, &self.translation.text_tools, status)
    }

    fn add(&mut self, kind: &str, members: &[(&str, String)]) {
        let mut event = Object::default();
        event.set_text("type", kind);
        if !self.is_message() {
            event.set("sequence_number", self.sequence.to_string());
            self.sequence += 1;
        }
        for (name, json) in members {
            event.set(name, json);
        }
        self.events.push(event);
    }

    /// Adds an event of a response about its open part.
    fn add_of(&mut self, part: &AnswerPart, kind: &str, members: &[(&str, String)]) {
        let id = quote(&item_id(&self.head, self.items.len(), part));
        let mut all = vec![("item_id", id), self.place()];
        if !matches!(part, AnswerPart::Call(_)) {
            all.push(("content_index", "0".to_owned()));
        }
        all.extend_from_slice(members);
        self.add(kind, &all);
    }
}

/// A member without which OpenAI's own client does not read an event.
fn no_logprobs() -> (&'static str, String) {
    ("logprobs", "[]".to_owned())
}
