//! Streamed answers of Anthropic's Messages and OpenAI's Responses: their events, put together to the answer
//! that an unstreamed request would get. Events and members that are not known change nothing.

use super::messages::text_of_blocks;
use super::protocol::Api;
use super::responses::text_of_items;
use crate::chat;
use crate::chat::GrowingText;
use crate::record::Object;
use serde::Serialize;

/// Gathers events.
pub struct AnswerEvents {
    /// The answer so far, without its content.
    head: Option<Object>,
    parts: Vec<Part>,
    /// The whole answer in the event that ends a stream.
    whole: Option<Object>,
    /// The number of bytes that may still be gathered; `None` if nothing is to be gathered.
    remaining: Option<usize>,
    is_truncated: bool,
    has_reason: bool,
    is_done: bool,
    error: Option<Object>,
}

/// The text of an item that broke off.
#[derive(Serialize)]
struct ArrivedText<'a> {
    r#type: &'static str,
    text: &'a str,
}

/// A block or an item of the answer.
struct Part {
    index: i64,
    object: Object,
    text: GrowingText,
    thinking: GrowingText,
    signature: GrowingText,
    input: GrowingText,
    citations: Vec<String>,
    is_whole: bool,
}

impl AnswerEvents {
    /// Gathers at most `remaining` bytes; with `None`, only the end is detected.
    pub fn new(remaining: Option<usize>) -> AnswerEvents {
        AnswerEvents {
            head: None,
            parts: Vec::new(),
            whole: None,
            remaining,
            is_truncated: false,
            has_reason: false,
            is_done: false,
            error: None,
        }
    }

    /// Whether the answer came to its end: a message to the reason why it stopped, which the end of its
    /// stream follows; a response to the event that has the whole of it.
    pub fn is_finished(&self) -> bool {
        self.error.is_none() && (self.whole.is_some() || self.has_reason)
    }

    /// Whether the provider ended the stream.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// Whether it was longer than the limit.
    pub fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// The error that the provider reported in mid-stream.
    pub fn error(&self) -> Option<&Object> {
        self.error.as_ref()
    }

    /// Treats an event as an error, regardless of its type.
    pub fn fail(&mut self, event: &Object) {
        self.error.get_or_insert_with(|| event.clone());
    }

    /// Adds an event.
    pub fn add(&mut self, event: &Object) {
        let kind = event.valid_text("type").unwrap_or_default();
        let child = |name: &str| event.valid_object(name);
        match kind.as_str() {
            "error" => self.fail(event),
            "message_start" => self.head = child("message"),
            "content_block_start" => self.begin(event, "index", child("content_block")),
            "content_block_delta" => self.block_delta(event, child("delta")),
            "message_delta" => self.message_delta(child("delta"), child("usage")),
            "message_stop" => self.is_done = true,
            "response.created" | "response.in_progress" | "response.queued" => {
                self.head = child("response");
            }
            "response.output_item.added" => self.begin(event, "output_index", child("item")),
            "response.output_item.done" => {
                self.begin(event, "output_index", child("item"));
                if let Some(part) = self.part(event, "output_index") {
                    part.is_whole = true;
                }
            }
            "response.output_text.delta" => {
                let delta = event.get("delta").unwrap_or("null");
                if self.takes(delta.len())
                    && let Some(part) = self.part(event, "output_index")
                {
                    part.text.push_json(delta);
                }
            }
            "response.completed" | "response.incomplete" => {
                self.whole = child("response");
                self.is_done = true;
            }
            "response.failed" | "response.cancelled" => {
                self.is_done = true;
                self.fail(&child("response").unwrap_or_default());
                // It may lack the parts that came before.
                self.head = child("response").or(self.head.take());
            }
            // Gateways report the errors of their own in the shape of chat completions.
            "" if event.get("error").is_some_and(|error| error != "null") => self.fail(event),
            _ => {}
        }
    }

    /// Whether this many bytes may be gathered.
    fn takes(&mut self, bytes: usize) -> bool {
        let Some(remaining) = &mut self.remaining else { return false };
        match remaining.checked_sub(bytes) {
            Some(left) if !self.is_truncated => *remaining = left,
            _ => self.is_truncated = true,
        }
        !self.is_truncated
    }

    fn begin(&mut self, event: &Object, index: &str, object: Option<Object>) {
        let (Some(object), Ok(Some(at))) = (object, event.integer(index)) else { return };
        let bytes = object.iter().map(|(name, json)| name.len() + json.len()).sum();
        if !self.takes(bytes) {
            return;
        }
        match self.parts.iter_mut().find(|part| part.index == at) {
            Some(part) => part.object = object,
            None => self.parts.push(Part::new(at, object)),
        }
    }

    fn part(&mut self, event: &Object, index: &str) -> Option<&mut Part> {
        let at = event.valid_integer(index)?;
        self.parts.iter_mut().find(|part| part.index == at)
    }

    fn block_delta(&mut self, event: &Object, delta: Option<Object>) {
        let Some(delta) = delta else { return };
        if !self.takes(delta.iter().map(|(_, json)| json.len()).sum()) {
            return;
        }
        let Some(part) = self.part(event, "index") else { return };
        let json = |name| delta.get(name).unwrap_or("null");
        match delta.valid_text("type").unwrap_or_default().as_str() {
            "text_delta" => part.text.push_json(json("text")),
            "thinking_delta" => part.thinking.push_json(json("thinking")),
            "signature_delta" => part.signature.push_json(json("signature")),
            "input_json_delta" => part.input.push_json(json("partial_json")),
            "citations_delta" => part.citations.extend(delta.get("citation").map(str::to_owned)),
            _ => {}
        }
    }

    fn message_delta(&mut self, delta: Option<Object>, usage: Option<Object>) {
        let Some(head) = &mut self.head else { return };
        for (name, json) in delta.iter().flat_map(Object::iter) {
            self.has_reason |= name == "stop_reason" && json != "null";
            head.set(name, json);
        }
        let mut sum = head.valid_object("usage").unwrap_or_default();
        for (name, json) in usage.iter().flat_map(Object::iter).filter(|(_, json)| *json != "null") {
            sum.set(name, json);
        }
        if !sum.is_empty() {
            head.set("usage", sum.to_json());
        }
    }

    /// The answer; `None` if nothing of one arrived, or nothing was gathered.
    pub fn finish(mut self) -> Option<Object> {
        self.remaining?;
        if let Some(whole) = self.whole {
            return Some(whole);
        }
        let mut answer = self.head?;
        self.parts.sort_by_key(|part| part.index);
        let content = match Api::of_answer(&answer) {
            Api::Messages => Api::Messages,
            // The head of a response that failed may have nothing that names it.
            _ => Api::Responses,
        };
        let parts: Vec<Object> = self.parts.into_iter().map(Part::finish).collect();
        answer.set(content.answer_member(), chat::array(&parts));
        Some(answer)
    }
}

impl Part {
    fn new(index: i64, object: Object) -> Part {
        let empty = GrowingText::default;
        Part {
            index,
            object,
            text: empty(),
            thinking: empty(),
            signature: empty(),
            input: empty(),
            citations: Vec::new(),
            is_whole: false,
        }
    }

    fn finish(self) -> Object {
        let Part { mut object, text, thinking, signature, input, citations, is_whole, .. } = self;
        if is_whole {
            return object;
        }
        let text = text.into_text();
        if object.word("type") == Some("message") {
            if !text.is_empty() {
                object.set_value("content", &[ArrivedText { r#type: "output_text", text: &text }]);
            }
            return object;
        }
        for (name, more) in
            [("text", text), ("thinking", thinking.into_text()), ("signature", signature.into_text())]
        {
            if !more.is_empty() {
                let text = object.valid_text(name).unwrap_or_default() + &more;
                object.set_text(name, &text);
            }
        }
        if !citations.is_empty() {
            object.set("citations", format!("[{}]", citations.join(",")));
        }
        let input = input.into_text();
        if !input.is_empty() {
            // An interrupted input is incomplete JSON.
            match Object::parse(&input) {
                Ok(input) => object.set("input", input.to_json()),
                Err(_) => object.set_text("partial_json", &input),
            }
        }
        object
    }
}

/// Whether an event ends a stream.
pub fn is_last_event(event: &Object) -> bool {
    matches!(
        event.word("type"),
        Some(
            "message_stop"
                | "response.completed"
                | "response.incomplete"
                | "response.failed"
                | "response.cancelled"
        )
    )
}

/// Appends the text that an event of a stream, or a whole answer, adds.
pub fn push_event_text(event: &Object, to: &mut GrowingText) {
    match event.valid_text("type").as_deref() {
        Some("content_block_delta") => {
            let delta = event.valid_object("delta").unwrap_or_default();
            to.push_json(delta.get("text").unwrap_or("null"));
        }
        Some("response.output_text.delta") => to.push_json(event.get("delta").unwrap_or("null")),
        Some("message") => to.push_text(&text_of_blocks(event)),
        _ if event.word("object") == Some("response") => to.push_text(&text_of_items(event)),
        _ => {}
    }
}
