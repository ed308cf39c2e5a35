//! The formats of Ollama's `/api/chat` and `/api/generate`, and their translation to the requests that
//! enrichment knows and to the responses that are stored.

use super::chat_request::Override;
use crate::api::{Lenient, Raw};
use crate::chat::GrowingText;
use crate::chat::{self, Request};
use crate::error::Result;
use crate::record::{Object, quote, time};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The two methods that talk to a model.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::proxy) enum OllamaMethod {
    Chat,
    Generate,
}

/// A line of an answer of Ollama's.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponsePiece<'a> {
    model: Lenient<String>,
    #[serde(borrow)]
    message: Raw<'a>,
    done: Lenient<bool>,
    done_reason: Lenient<String>,
    #[serde(borrow)]
    error: Raw<'a>,
}

/// The message in a line of `/api/chat`; a line of `/api/generate` has its members itself.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PieceMessage<'a> {
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    response: Raw<'a>,
    #[serde(borrow)]
    thinking: Raw<'a>,
    #[serde(borrow)]
    tool_calls: Raw<'a>,
}

/// An answer of rsv's own, to `/api/chat` or to `/api/generate`.
#[derive(Serialize)]
struct OwnResponse<'a> {
    model: &'a str,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Object>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<String>,
    done: bool,
    done_reason: &'static str,
}

/// An answer as it is stored, in the shape of chat completions.
#[derive(Serialize)]
struct StoredResponse {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    choices: [StoredChoice; 1],
}

#[derive(Serialize)]
struct StoredChoice {
    index: usize,
    message: StoredMessage,
    finish_reason: Option<String>,
}

#[derive(Serialize)]
struct StoredMessage {
    role: &'static str,
    content: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    thinking: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Object>,
}

impl OllamaMethod {
    /// Its path under `/api`.
    pub(in crate::proxy) fn name(self) -> &'static str {
        match self {
            OllamaMethod::Chat => "chat",
            OllamaMethod::Generate => "generate",
        }
    }

    /// The member of an answer that has the message: an object without it is no answer.
    pub(super) fn answer_member(self) -> &'static str {
        match self {
            OllamaMethod::Chat => "message",
            OllamaMethod::Generate => "response",
        }
    }

    /// The request in the format that enrichment knows. `None` for one without a message, such as to load a
    /// model, and for one that is no conversation.
    pub(super) fn to_chat_request(self, body: &Object) -> Result<Option<Object>> {
        if self == OllamaMethod::Chat {
            let has_messages = body.objects("messages")?.is_some_and(|messages| !messages.is_empty());
            return Ok(has_messages.then(|| body.clone()));
        }
        let has_prompt = body.text("prompt")?.is_some_and(|prompt| !prompt.is_empty());
        let has_suffix = body.text("suffix")?.is_some_and(|suffix| !suffix.is_empty());
        if !has_prompt || has_suffix || body.get("raw") == Some("true") {
            return Ok(None);
        }
        let mut request = body.clone();
        request.retain(|name| !["prompt", "system", "images"].contains(&name));
        let mut messages = Vec::new();
        if let Some(system) = body.text("system")?.filter(|system| !system.is_empty()) {
            messages.push(message("system", &quote(&system)));
        }
        let mut user = message("user", body.get("prompt").unwrap_or_default());
        if let Some(images) = body.get("images") {
            user.set("images", images);
        }
        messages.push(user);
        request.set("messages", chat::array(&messages));
        Ok(Some(request))
    }

    /// The request as it is sent to Ollama: the client's `body`, with the recalled text of the enriched
    /// `line`.
    pub(super) fn enriched_body(self, body: &Object, line: &Object) -> Result<Object> {
        let mut sent = line.clone();
        sent.take("rsv");
        if self == OllamaMethod::Chat {
            return Ok(sent);
        }
        // The last message is that of the prompt.
        let user = Request::parse(sent)?.messages.pop().unwrap_or_default();
        let mut sent = body.clone();
        sent.take("rsv");
        sent.set("prompt", user.get("content").unwrap_or("\"\""));
        Ok(sent)
    }

    /// An answer of rsv's own in Ollama's format.
    pub(super) fn own_answer(self, line: &Object, now: i64) -> Result<Object> {
        let answer = chat::answer(line)?;
        let (message, response) = match self {
            OllamaMethod::Chat => (Some(answer), None),
            OllamaMethod::Generate => (None, Some(chat::text(&answer))),
        };
        let model = line.valid_text("model").unwrap_or_default();
        let created_at = time::rfc3339(now);
        let done_reason = "length";
        Ok(Object::of_value(&OwnResponse {
            model: &model,
            created_at,
            message,
            response,
            done: true,
            done_reason,
        }))
    }

    /// The answer of Ollama, whole or in pieces, as one response in OpenAI's format, and whether its end is
    /// missing, as it is after an error. A part of another shape is left out, which the client gets.
    pub(super) fn to_response(self, bytes: &[u8]) -> (Object, bool) {
        let (mut text, mut thinking, mut calls) =
            (GrowingText::default(), GrowingText::default(), Vec::new());
        let (mut model, mut reason) = (None, None);
        let pieces = serde_json::Deserializer::from_slice(bytes).into_iter::<&RawValue>();
        for json in pieces.map_while(|piece| piece.ok()).map(RawValue::get) {
            let Ok(piece) = serde_json::from_str::<ResponsePiece>(json) else { break };
            let message = if self == OllamaMethod::Chat { piece.message.json_or("{}") } else { json };
            let message: PieceMessage = serde_json::from_str(message).unwrap_or_default();
            let piece_text = if self == OllamaMethod::Chat { message.content } else { message.response };
            text.push_json(piece_text.json_or("null"));
            thinking.push_json(message.thinking.json_or("null"));
            let tool_calls = serde_json::from_str::<Vec<Object>>(message.tool_calls.json_or("[]"));
            calls.extend(tool_calls.unwrap_or_default());
            model = model.or(piece.model.0);
            if piece.error.json_or("null") != "null" {
                break;
            }
            if piece.done.0 == Some(true) {
                // Older releases of Ollama give no reason.
                reason = Some(piece.done_reason.0.unwrap_or_else(|| "stop".to_owned()));
            }
        }
        let (content, thinking) = (text.into_text(), thinking.into_text());
        let message = StoredMessage { role: "assistant", content, thinking, tool_calls: calls };
        let is_cut = reason.is_none();
        let choices = [StoredChoice { index: 0, message, finish_reason: reason }];
        (Object::of_value(&StoredResponse { model, choices }), is_cut)
    }
}

/// The most tokens that a setting takes.
const MAX_TOKENS: i64 = 1_000_000_000;

/// The context window that a request itself sets, and its reserve for the answer, as settings. Ollama
/// refuses a value that is no number of tokens.
pub(super) fn window_overrides(body: &Object) -> Vec<Override> {
    let options = body.valid_object("options").unwrap_or_default();
    let model = quote(&body.valid_text("model").unwrap_or_default());
    let set = [("num_ctx", "max_context_tokens"), ("num_predict", "reserve_tokens")].into_iter();
    let set = set.filter_map(|(option, setting)| {
        let tokens = options.valid_integer(option).filter(|tokens| *tokens > 0)?.min(MAX_TOKENS);
        let key = format!("models.{model}.{setting}");
        Some(Override { key, source: option, value: tokens.to_string() })
    });
    set.collect()
}

/// The body without the member `rsv`, which names a scope and is sent to nobody else.
pub(super) fn without_rsv(bytes: Bytes) -> Bytes {
    if memchr::memmem::find(&bytes, b"\"rsv\"").is_none() {
        return bytes;
    }
    let Ok(mut body) = Object::parse_bytes(&bytes) else { return bytes };
    if body.take("rsv").is_some() { body.to_json().into() } else { bytes }
}

/// Whether the last piece is an error.
pub(super) fn ends_in_error(pieces: &[u8]) -> bool {
    let last = pieces.trim_ascii_end().rsplit(|byte| *byte == b'\n').next();
    last.is_some_and(is_error)
}

/// Whether a piece, as a line, is an error, which ends an answer.
pub(super) fn is_error(line: &[u8]) -> bool {
    memchr::memmem::find(line, b"\"error\"").is_some()
        && Object::parse_bytes(line)
            .is_ok_and(|piece| piece.get("error").is_some_and(|error| error != "null"))
}

/// A message of a text, as a JSON string.
fn message(role: &str, json: &str) -> Object {
    let mut message = Object::default();
    message.set_text("role", role);
    message.set("content", json);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(json: &str) -> Object {
        Object::parse(json).unwrap()
    }

    #[test]
    fn a_request_for_ollama_changes_only_in_its_prompt() {
        let body = object(
            r#"{"model":"m","prompt":"why?","system":"Be brief","images":["aGk="],"options":{"seed":1.0}}"#,
        );
        let mut request = OllamaMethod::Generate.to_chat_request(&body).unwrap().unwrap();
        assert_eq!(
            request.get("messages").unwrap(),
            r#"[{"role":"system","content":"Be brief"},{"role":"user","content":"why?","images":["aGk="]}]"#
        );
        request.set("messages", r#"[{"role":"user","content":"block why?"}]"#);
        request.set("rsv", "{}");
        let mut body = body;
        body.set("rsv", "{}");
        let sent = OllamaMethod::Generate.enriched_body(&body, &request).unwrap().to_json();
        body.take("rsv");
        assert_eq!(sent, body.to_json().replace("why?", "block why?"));
        for nothing in [
            r#"{"model":"m"}"#,
            r#"{"model":"m","prompt":""}"#,
            r#"{"prompt":"x","raw":true}"#,
            r#"{"prompt":"x","suffix":"y"}"#,
        ] {
            assert!(OllamaMethod::Generate.to_chat_request(&object(nothing)).unwrap().is_none(), "{nothing}");
        }
        assert!(OllamaMethod::Chat.to_chat_request(&object(r#"{"messages":[]}"#)).unwrap().is_none());
        assert!(OllamaMethod::Chat.to_chat_request(&object(r#"{"messages":"x"}"#)).is_err());
    }

    #[test]
    fn pieces_become_one_response() {
        let pieces = "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"a\",\"thinking\":\"h\"},\"done\":false}\n\
            {\"message\":{\"content\":\"b\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"x\":1.0}}}]},\"done\":true,\"done_reason\":\"stop\"}\n";
        let whole = r#"{"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ab","thinking":"h","tool_calls":[{"function":{"name":"f","arguments":{"x":1.0}}}]},"finish_reason":"stop"}]}"#;
        let (response, partial) = OllamaMethod::Chat.to_response(pieces.as_bytes());
        assert_eq!((response.to_json().as_str(), partial), (whole, false));
        let (response, partial) = OllamaMethod::Chat.to_response(&pieces.as_bytes()[..120]);
        assert!(partial && response.to_json().contains("\"content\":\"a\""), "{}", response.to_json());
        let (response, partial) = OllamaMethod::Generate.to_response(br#"{"response":"yes","done":true}"#);
        assert!(!partial && response.to_json().contains("\"content\":\"yes\""));
    }
}
