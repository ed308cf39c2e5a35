//! Bodies of the APIs of models, and logs of them: a request, an answer, or both in one object, as in
//! `{"request": …, "response": …}`, in the files of the batch API, and in those for fine-tuning. Bodies may
//! be of OpenAI's chat completions, completions and Responses, of Anthropic's Messages, of Gemini, and of
//! Ollama.

use super::contents::{said_text, text};
use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::format::{ImportFormat, ReadFormat};
use super::objects::Convert;
use super::sample::{first_has_all, first_object, has_all};
use super::times;
use crate::api::{self, AnswerEvents, own_words};
use crate::error::Result;
use crate::record::{Object, Role, quote};

const NAME: &str = "openai";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "bodies of the APIs of OpenAI, Anthropic, Gemini and Ollama, logs of them, files for fine-tuning",
    places: &[],
    timeless: false,
    recognize: |sample| {
        sample.any(|object| {
            !object.has("kind") && (is_body(object) || BODIES.iter().any(|member| holds_body(object, member)))
        })
    },
    read: ReadFormat::Objects(|options, _| Box::new(Log { options: options.clone(), timeless: 0 })),
};

/// The members of an entry that have a body.
const BODIES: [&str; 3] = ["request", "body", "response"];

/// The members of an entry that say when it was made.
const TIMES: [&str; 8] =
    ["timestamp", "created_at", "createdAt", "time", "startTime", "start_time", "date", "created"];

/// The members of which a request for a completion has one.
const LIMITS: [&str; 4] = ["max_tokens", "temperature", "stream", "options"];

/// Whether an object is a request or an answer.
fn is_body(object: &Object) -> bool {
    let is = |member: &str, value: &str| object.get(member) == Some(value);
    first_has_all(object, "messages", &["role"]) && !object.has("sessionId")
        || first_has_all(object, "contents", &["parts"])
        || object.has("choices")
        || object.has("candidates")
        || has_all(object, &["model", "input"]) && !object.has("embedding")
        || has_all(object, &["model", "prompt"]) && LIMITS.iter().any(|member| object.has(member))
        || is("type", "\"message\"") && is("role", "\"assistant\"") && object.has("content")
        || is("object", "\"response\"") && object.has("output")
}

/// Whether a member is a request or an answer, which may be JSON text in a string.
fn holds_body(object: &Object, member: &str) -> bool {
    let json = object.get(member).unwrap_or_default();
    let inner = || serde_json::from_str::<String>(json).ok();
    let body =
        if json.starts_with('"') { inner().and_then(|text| first_object(&text)) } else { first_object(json) };
    let Some(body) = body else { return false };
    is_body(&body) || holds_body(&body, "body")
}

struct Log {
    options: ImportOptions,
    /// The number of messages so far whose time is that of the command line: each gets a millisecond of its
    /// own.
    timeless: i64,
}

/// A body of an entry.
enum Body {
    Object(Object),
    /// The events of a stream, as text.
    Stream(String),
}

/// The body in a member, which may be JSON text in a string, or in a body itself as in batches.
fn body(entry: &Object, member: &str) -> Option<Body> {
    let json = entry.get(member)?;
    let text = if json.starts_with('"') { entry.valid_text(member)? } else { json.to_owned() };
    if ["data:", "event:"].iter().any(|begin| text.trim_start().starts_with(begin)) {
        return Some(Body::Stream(text));
    }
    let object = Object::parse(&text).ok()?;
    if is_body(&object) {
        Some(Body::Object(object))
    } else {
        body(&object, "body").or(Some(Body::Object(object)))
    }
}

impl Convert for Log {
    fn convert(&mut self, entry: Object, lines: &mut Vec<Object>) -> Result<()> {
        let request = body(&entry, "request").or_else(|| body(&entry, "body"));
        let request = match request {
            Some(Body::Object(request)) => Some(request),
            // Some logs have the messages beside the answer.
            _ => Some(entry.clone()).filter(|entry| !asked(entry).is_ok_and(|asked| asked.is_empty())),
        };
        let response = match body(&entry, "response") {
            Some(Body::Object(response)) => Some(response),
            Some(Body::Stream(events)) => whole(&events),
            None => Some(entry.clone()).filter(is_answer),
        };
        let mut messages = request.as_ref().map(asked).transpose()?.unwrap_or_default();
        let model = |body: &Option<Object>| body.as_ref().map_or(Ok(None), |body| body.text("model"));
        let model = model(&response)?.or(model(&request)?);
        let mut time = times::first_member(&entry, &TIMES)?;
        if let Some(response) = &response {
            // The request repeats the earlier turns: only the last one is new.
            let last = messages.iter().rposition(|message: &ImportedMessage| message.role == Role::User);
            messages = last.map(|last| messages.swap_remove(last)).into_iter().collect();
            if time.is_none() {
                time = times::first_member(response, &TIMES)?;
            }
            let answer = answered(response)?;
            messages
                .extend((!answer.trim().is_empty()).then(|| ImportedMessage::new(Role::Assistant, answer)));
        }
        for (at, message) in (0..).zip(messages) {
            let is_answer = message.role == Role::Assistant;
            let time = match (time, self.options.at) {
                (Some(time), _) => Some(time + at),
                (None, Some(at)) => {
                    self.timeless += 1;
                    Some(at + self.timeless - 1)
                }
                (None, None) => None,
            };
            let model = model.clone().filter(|_| is_answer);
            let message = ImportedMessage { time, model, ..message };
            self.options.add(NAME, &Conversation::default(), message, lines)?;
        }
        Ok(())
    }
}

/// Whether an object is an answer.
fn is_answer(object: &Object) -> bool {
    ["choices", "candidates", "output"].iter().any(|member| object.has(member))
        || object.get("type") == Some("\"message\"") && object.has("content")
}

/// The answer that the events of a stream make; none if they make none.
fn whole(events: &str) -> Option<Object> {
    let mut answer = AnswerEvents::new(Some(events.len()));
    let mut text = String::new();
    for data in events.lines().filter_map(|line| line.strip_prefix("data:")) {
        let Ok(event) = Object::parse(data.trim()) else { continue };
        let choices = event.valid_objects("choices").unwrap_or_default();
        let delta = choices.first().and_then(|choice| choice.valid_object("delta"));
        text += &delta.and_then(|delta| delta.valid_text("content")).unwrap_or_default();
        answer.add(&event);
    }
    if text.is_empty() {
        return answer.finish();
    }
    let mut whole = Object::default();
    whole
        .set("choices", format!("[{{\"message\":{{\"role\":\"assistant\",\"content\":{}}}}}]", quote(&text)));
    Some(whole)
}

/// The messages of the users and the models in a request.
fn asked(request: &Object) -> Result<Vec<ImportedMessage>> {
    let user = |text: String| vec![ImportedMessage::new(Role::User, text)];
    for member in ["messages", "input", "contents"] {
        match request.get(member) {
            Some(json) if json.starts_with('[') => {
                let turns = request.objects(member)?.unwrap_or_default();
                let turns: Result<Vec<_>> = turns.iter().map(said).collect();
                return Ok(turns?.into_iter().flatten().collect());
            }
            Some(json) if json.starts_with('"') => return Ok(user(text(request, member, &[])?)),
            _ => {}
        }
    }
    let prompt = request.get("prompt").is_some_and(|json| json.starts_with('"'));
    if prompt { Ok(user(text(request, "prompt", &[])?)) } else { Ok(Vec::new()) }
}

/// The text of an answer; empty if it has none.
fn answered(response: &Object) -> Result<String> {
    let first = |member| {
        Ok::<_, crate::error::Error>(response.objects(member)?.unwrap_or_default().into_iter().next())
    };
    if response.has("candidates") {
        let content =
            first("candidates")?.map(|candidate| candidate.object("content")).transpose()?.flatten();
        return content.map_or(Ok(String::new()), |content| said_text(&content, "parts"));
    }
    if let Some(choice) = first("choices")?.filter(|choice| !choice.has("message")) {
        return text(&choice, "text", &[]);
    }
    // Ollama's.
    if !is_answer(response) {
        return match response.valid_object("message") {
            Some(message) => text(&message, "content", &TEXT_TYPES),
            None => text(response, "response", &[]),
        };
    }
    text(&api::answer(response, false)?, "content", &TEXT_TYPES)
}

/// The types of the parts of a message that are text.
const TEXT_TYPES: [&str; 3] = ["text", "input_text", "output_text"];

/// A message of a user or an assistant; none of the instructions of a system, and of tools.
fn said(message: &Object) -> Result<Option<ImportedMessage>> {
    let role = match message.text("role")?.as_deref() {
        Some("user") => Role::User,
        Some("assistant" | "model") => Role::Assistant,
        _ => return Ok(None),
    };
    let mut said = if message.has("parts") {
        said_text(message, "parts")?
    } else {
        text(message, "content", &TEXT_TYPES)?
    };
    if role == Role::User {
        said = own_words(&said).unwrap_or_default().into_owned();
    }
    Ok((!said.trim().is_empty()).then(|| ImportedMessage::new(role, said)))
}
