//! The formats of Ollama's `/api/chat` and `/api/generate`, and their translation to the requests that enrichment
//! knows and to the responses that are stored.

use super::chat_request::Override;
use crate::chat::GrowingText;
use crate::chat::{self, Request};
use crate::error::Result;
use crate::record::{Object, quote, time};
use bytes::Bytes;

/// The two methods that talk to a model.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::proxy) enum OllamaMethod {
    Chat,
    Generate,
}

impl OllamaMethod {
    /// Its path under `/api`.
    pub(super) fn name(self) -> &'static str {
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

    /// The request in the format that enrichment knows. `None` for one without a message, such as to load a model, and
    /// for one that is no conversation.
    pub(super) fn to_chat_request(self, body: &Object) -> Result<Option<Object>> {
        if self == OllamaMethod::Chat {
            let has_messages = body.objects("messages")?.is_some_and(|messages| !messages.is_empty());
            return Ok(has_messages.then(|| body.clone()));
        }
        let prompt = body.text("prompt")?.filter(|prompt| !prompt.is_empty());
        let has_suffix = body.text("suffix")?.is_some_and(|suffix| !suffix.is_empty());
        let Some(prompt) = prompt.filter(|_| !has_suffix && body.get("raw") != Some("true")) else {
            return Ok(None);
        };
        let mut request = body.clone();
        request.retain(|name| !["prompt", "system", "images"].contains(&name));
        let mut messages = Vec::new();
        if let Some(system) = body.text("system")?.filter(|system| !system.is_empty()) {
            messages.push(message("system", &system));
        }
        let mut user = message("user", &prompt);
        if let Some(images) = body.get("images") {
            user.set("images", images);
        }
        messages.push(user);
        request.set("messages", chat::array(&messages));
        Ok(Some(request))
    }

    /// The request as it is sent to Ollama: the client's `body`, with the recalled text of the enriched `line`.
    pub(super) fn enriched_body(self, body: &Object, line: &Object) -> Result<Object> {
        let mut sent = line.clone();
        sent.take("rsv");
        if self == OllamaMethod::Chat {
            return Ok(sent);
        }
        let user = Request::parse(sent)?.messages.pop().map(|user| chat::text(&user)).unwrap_or_default();
        let mut sent = body.clone();
        sent.take("rsv");
        sent.set_text("prompt", &user);
        Ok(sent)
    }

    /// An answer of rsv's own in Ollama's format.
    pub(super) fn own_answer(self, line: &Object, now: i64) -> Result<Object> {
        let message = chat::answer(line)?;
        let mut answer = Object::default();
        answer.set("model", line.get("model").unwrap_or("\"\""));
        answer.set_text("created_at", &time::rfc3339(now));
        match self {
            OllamaMethod::Chat => answer.set("message", message.to_json()),
            OllamaMethod::Generate => answer.set_text("response", &chat::text(&message)),
        }
        answer.set("done", "true");
        answer.set_text("done_reason", "length");
        Ok(answer)
    }

    /// The answer of Ollama, whole or in pieces, as one response in OpenAI's format, and whether its end is
    /// missing, as it is after an error.
    pub(super) fn to_response(self, bytes: &[u8]) -> (Object, bool) {
        let (mut text, mut thinking, mut calls) =
            (GrowingText::default(), GrowingText::default(), Vec::new());
        let (mut model, mut reason) = (None, None);
        for piece in
            serde_json::Deserializer::from_slice(bytes).into_iter::<Object>().map_while(|piece| piece.ok())
        {
            let message = match self {
                OllamaMethod::Chat => piece.object("message").ok().flatten().unwrap_or_default(),
                OllamaMethod::Generate => piece.clone(),
            };
            let member = |name| message.get(name).unwrap_or("null");
            text.push_json(member(if self == OllamaMethod::Chat { "content" } else { "response" }));
            thinking.push_json(member("thinking"));
            calls.extend(message.objects("tool_calls").ok().flatten().unwrap_or_default());
            model = model.or_else(|| piece.text("model").ok().flatten());
            if reports_error(&piece) {
                break;
            }
            if piece.get("done") == Some("true") {
                let done = piece.text("done_reason").ok().flatten();
                reason = Some(done.unwrap_or_else(|| "stop".to_owned()));
            }
        }
        let mut answer = message("assistant", &text.into_text());
        let thinking = thinking.into_text();
        if !thinking.is_empty() {
            answer.set_text("thinking", &thinking);
        }
        if !calls.is_empty() {
            answer.set("tool_calls", chat::array(&calls));
        }
        let finish = reason.as_deref().map_or("null".to_owned(), quote);
        let mut response = Object::default();
        if let Some(model) = model {
            response.set_text("model", &model);
        }
        let answer = answer.to_json();
        response.set("choices", format!("[{{\"index\":0,\"message\":{answer},\"finish_reason\":{finish}}}]"));
        (response, reason.is_none())
    }
}

/// The context window that a request itself sets, and its reserve for the answer, as settings.
pub(super) fn window_overrides(body: &Object) -> Vec<Override> {
    let options = body.object("options").ok().flatten().unwrap_or_default();
    let model = quote(&body.text("model").ok().flatten().unwrap_or_default());
    let set = [("num_ctx", "max_context_tokens"), ("num_predict", "reserve_tokens")].into_iter();
    let set = set.filter_map(|(option, setting)| {
        let tokens = options.integer(option).ok()?.filter(|tokens| *tokens > 0)?;
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
        && Object::parse_bytes(line).is_ok_and(|piece| reports_error(&piece))
}

fn reports_error(piece: &Object) -> bool {
    piece.get("error").is_some_and(|error| error != "null")
}

fn message(role: &str, text: &str) -> Object {
    let mut message = Object::default();
    message.set_text("role", role);
    message.set_text("content", text);
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
