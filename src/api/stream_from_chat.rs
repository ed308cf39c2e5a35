//! The chunks of streamed chat completions as the events of the other APIs, as they come.

use super::from_chat::{self, Call, call_item, id_of, message_item, response, stop_reason, usage_of};
use super::protocol::Api;
use crate::chat;
use crate::record::{Object, quote};

/// Turns chunks into events. Feeds come first, then one `finish`.
pub struct EventTranslator {
    api: Api,
    text_tools: Vec<String>,
    /// The members of the answer, apart from its choices.
    head: Object,
    is_begun: bool,
    is_ended: bool,
    /// The number of the next event, which Responses have.
    sequence: usize,
    /// The items or blocks that are complete, as JSON.
    items: Vec<String>,
    open: Option<OpenPart>,
    reason: String,
    has_calls: bool,
}

/// The part of the answer that grows.
enum OpenPart {
    Text(String),
    Call { index: i64, call: Call },
}

impl EventTranslator {
    /// Of an answer to a client of `api`; `text_tools` are the names of the tools that take a text.
    pub fn new(api: Api, text_tools: Vec<String>) -> EventTranslator {
        EventTranslator {
            api,
            text_tools,
            head: Object::default(),
            is_begun: false,
            is_ended: false,
            sequence: 0,
            items: Vec::new(),
            open: None,
            reason: String::new(),
            has_calls: false,
        }
    }

    /// The events of a chunk.
    pub fn chunk(&mut self, chunk: &Object) -> Vec<Object> {
        let mut events = Vec::new();
        if chunk.get("error").is_some_and(|error| error != "null") || self.is_ended {
            return events;
        }
        for name in ["id", "model", "created", "usage"] {
            if let Some(json) = chunk.get(name).filter(|json| *json != "null") {
                self.head.set(name, json);
            }
        }
        self.begin(&mut events);
        let choices = chunk.objects("choices").ok().flatten().unwrap_or_default();
        let first = choices.iter().find(|choice| choice.get("index").unwrap_or("0") == "0");
        let Some(choice) = first else { return events };
        let member = |name| choice.object(name).ok().flatten();
        let delta = member("delta").or_else(|| member("message")).unwrap_or_default();
        let text = chat::text(&delta);
        if !text.is_empty() {
            self.text(&text, &mut events);
        }
        let calls = delta.objects("tool_calls").ok().flatten().unwrap_or_default();
        for call in &calls {
            self.call(call, &mut events);
        }
        if let Some(reason) = choice.text("finish_reason").ok().flatten() {
            self.reason = reason;
        }
        events
    }

    /// The events of the end, once.
    pub fn finish(&mut self) -> Vec<Object> {
        let mut events = Vec::new();
        if self.is_ended || !self.is_begun {
            return events;
        }
        self.is_ended = true;
        self.close(&mut events);
        match self.api {
            Api::Messages => {
                let reason = stop_reason(&self.reason, self.has_calls);
                let usage = usage_of(self.api, &self.head);
                self.add(
                    &mut events,
                    "message_delta",
                    &[
                        ("delta", format!("{{\"stop_reason\":\"{reason}\",\"stop_sequence\":null}}")),
                        ("usage", usage),
                    ],
                );
                self.add(&mut events, "message_stop", &[]);
            }
            Api::Responses | Api::Chat => {
                let whole = response(&self.head, &self.items, &self.reason);
                let kind = if self.reason == "length" { "response.incomplete" } else { "response.completed" };
                self.add(&mut events, kind, &[("response", whole.to_json())]);
            }
        }
        events
    }

    fn add(&mut self, events: &mut Vec<Object>, kind: &str, members: &[(&str, String)]) {
        let mut event = Object::default();
        event.set_text("type", kind);
        if self.api == Api::Responses {
            event.set("sequence_number", self.sequence.to_string());
            self.sequence += 1;
        }
        for (name, json) in members {
            event.set(name, json);
        }
        events.push(event);
    }

    fn begin(&mut self, events: &mut Vec<Object>) {
        if std::mem::replace(&mut self.is_begun, true) {
            return;
        }
        if self.api == Api::Messages {
            let (id, model) = (quote(&id_of("msg_", &self.head)), self.head.get("model").unwrap_or("\"\""));
            let message = format!(
                "{{\"id\":{id},\"type\":\"message\",\"role\":\"assistant\",\"model\":{model},\"content\":[],\
                 \"stop_reason\":null,\"stop_sequence\":null,\"usage\":{{\"input_tokens\":0,\"output_tokens\":0}}}}"
            );
            self.add(events, "message_start", &[("message", message)]);
        } else {
            let mut begun = response(&self.head, &[], "");
            begun.set_text("status", "in_progress");
            begun.set("usage", "null");
            let begun = begun.to_json();
            self.add(events, "response.created", &[("response", begun.clone())]);
            self.add(events, "response.in_progress", &[("response", begun)]);
        }
    }

    /// The place of the open part.
    fn place(&self) -> String {
        self.items.len().to_string()
    }

    fn text(&mut self, text: &str, events: &mut Vec<Object>) {
        if !matches!(self.open, Some(OpenPart::Text(_))) {
            self.close(events);
            self.open = Some(OpenPart::Text(String::new()));
            let at = self.place();
            if self.api == Api::Messages {
                let block = from_chat::text_block("");
                self.add(events, "content_block_start", &[("index", at), ("content_block", block)]);
            } else {
                let id = id_of("msg_", &self.head);
                let item = format!(
                    "{{\"type\":\"message\",\"id\":{},\"status\":\"in_progress\",\"role\":\"assistant\",\"content\":[]}}",
                    quote(&id)
                );
                self.add(events, "response.output_item.added", &[("output_index", at), ("item", item)]);
                let part = "{\"type\":\"output_text\",\"text\":\"\",\"annotations\":[]}".to_owned();
                self.add_to_text(events, "response.content_part.added", ("part", part));
            }
        }
        if let Some(OpenPart::Text(whole)) = &mut self.open {
            whole.push_str(text);
        }
        if self.api == Api::Messages {
            let delta = format!("{{\"type\":\"text_delta\",\"text\":{}}}", quote(text));
            self.add(events, "content_block_delta", &[("index", self.place()), ("delta", delta)]);
        } else {
            self.add_to_text(events, "response.output_text.delta", ("delta", quote(text)));
        }
    }

    /// Adds an event about the text of the open message.
    fn add_to_text(&mut self, events: &mut Vec<Object>, kind: &str, member: (&str, String)) {
        let id = quote(&id_of("msg_", &self.head));
        let at = self.place();
        self.add(
            events,
            kind,
            &[("item_id", id), ("output_index", at), ("content_index", "0".to_owned()), member],
        );
    }

    /// A piece of a call: of the open one, unless it has another index or another id.
    fn call(&mut self, piece: &Object, events: &mut Vec<Object>) {
        let index = piece.integer("index").ok().flatten().unwrap_or(0);
        let function = piece.object("function").ok().flatten().unwrap_or_default();
        let text = |object: &Object, name| object.text(name).ok().flatten().unwrap_or_default();
        let arguments = match function.text("arguments") {
            Ok(arguments) => arguments.unwrap_or_default(),
            Err(_) => function.get("arguments").unwrap_or_default().to_owned(),
        };
        let id = text(piece, "id");
        let continues = match &self.open {
            Some(OpenPart::Call { index: open, call }) => *open == index && (id.is_empty() || id == call.id),
            _ => false,
        };
        if !continues {
            self.close(events);
            self.has_calls = true;
            let id = if id.is_empty() { format!("call_{}", self.items.len()) } else { id };
            let call = Call { id, name: text(&function, "name"), arguments: String::new() };
            self.open_call(&call, events);
            self.open = Some(OpenPart::Call { index, call });
        }
        if arguments.is_empty() {
            return;
        }
        let mut is_text_tool = false;
        let mut item_id = String::new();
        if let Some(OpenPart::Call { call, .. }) = &mut self.open {
            call.arguments.push_str(&arguments);
            is_text_tool = self.text_tools.contains(&call.name);
            item_id = quote(&format!("fc_{}", call.id));
        }
        let at = self.place();
        if self.api == Api::Messages {
            let delta = format!("{{\"type\":\"input_json_delta\",\"partial_json\":{}}}", quote(&arguments));
            self.add(events, "content_block_delta", &[("index", at), ("delta", delta)]);
        } else if !is_text_tool {
            let members = [("item_id", item_id), ("output_index", at), ("delta", quote(&arguments))];
            self.add(events, "response.function_call_arguments.delta", &members);
        }
    }

    fn open_call(&mut self, call: &Call, events: &mut Vec<Object>) {
        let at = self.place();
        if self.api == Api::Messages {
            let (id, name) = (quote(&call.id), quote(&call.name));
            let block = format!("{{\"type\":\"tool_use\",\"id\":{id},\"name\":{name},\"input\":{{}}}}");
            self.add(events, "content_block_start", &[("index", at), ("content_block", block)]);
        } else {
            let item = call_item(call, &self.text_tools).replacen("\"completed\"", "\"in_progress\"", 1);
            self.add(events, "response.output_item.added", &[("output_index", at), ("item", item)]);
        }
    }

    /// Ends the open part.
    fn close(&mut self, events: &mut Vec<Object>) {
        let Some(open) = self.open.take() else { return };
        let at = self.place();
        if self.api == Api::Messages {
            self.add(events, "content_block_stop", &[("index", at)]);
            // Only their number matters.
            self.items.push(String::new());
            return;
        }
        let item = match open {
            OpenPart::Text(text) => {
                self.add_to_text(events, "response.output_text.done", ("text", quote(&text)));
                let part =
                    format!("{{\"type\":\"output_text\",\"text\":{},\"annotations\":[]}}", quote(&text));
                self.add_to_text(events, "response.content_part.done", ("part", part));
                message_item(&id_of("msg_", &self.head), &text)
            }
            OpenPart::Call { call, .. } => {
                if !self.text_tools.contains(&call.name) {
                    let id = quote(&format!("fc_{}", call.id));
                    let members = [
                        ("item_id", id),
                        ("output_index", at.clone()),
                        ("arguments", quote(&call.arguments)),
                    ];
                    self.add(events, "response.function_call_arguments.done", &members);
                }
                call_item(&call, &self.text_tools)
            }
        };
        self.add(events, "response.output_item.done", &[("output_index", at), ("item", item.clone())]);
        self.items.push(item);
    }
}

/// Events as a client receives them.
pub fn to_sse(events: &[Object]) -> String {
    let one = |event: &Object| {
        let kind = event.text("type").ok().flatten().unwrap_or_default();
        format!("event: {kind}\ndata: {}\n\n", event.to_json())
    };
    events.iter().map(one).collect()
}
