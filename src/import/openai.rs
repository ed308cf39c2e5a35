//! Bodies of OpenAI's chat completions, and logs of them: a request, an answer, or both in one object, as in
//! `{"request": …, "response": …}`, in the files of the batch API, and in those for fine-tuning.

use super::contents::text;
use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::format::{ImportFormat, ReadFormat};
use super::objects::Convert;
use crate::error::Result;
use crate::record::{Object, Role, time, timestamp};

const NAME: &str = "openai";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "bodies of OpenAI's chat completions and logs of them, batches, files for fine-tuning",
    places: &[],
    timeless: false,
    recognize: |sample| {
        sample.any(|object| {
            !object.has("kind")
                && (object
                    .get("messages")
                    .is_some_and(|messages| messages.is_empty() || messages.starts_with('['))
                    && !object.has("sessionId")
                    || object.has("choices")
                    || ["body", "request", "response"].iter().any(|member| holds_chat(object, member)))
        })
    },
    read: ReadFormat::Objects(|options, _| Box::new(Log { options: options.clone(), timeless: 0 })),
};

/// Whether a member is a request or an answer.
fn holds_chat(object: &Object, member: &str) -> bool {
    object.get(member).is_some_and(|json| json.contains("\"messages\"") || json.contains("\"choices\""))
}

struct Log {
    options: ImportOptions,
    /// The number of messages so far whose time is that of the command line: each gets a millisecond of its own.
    timeless: i64,
}

impl Convert for Log {
    fn convert(&mut self, entry: Object, lines: &mut Vec<Object>) -> Result<()> {
        let inner = |member: &str| entry.object(member).ok().flatten();
        let request = inner("request").or_else(|| inner("body"));
        let response =
            inner("response").map(|response| response.object("body").ok().flatten().unwrap_or(response));
        let whole = request.is_none() && response.is_none();
        let request = request.or_else(|| whole.then(|| entry.clone()));
        let response = response.or_else(|| entry.has("choices").then(|| entry.clone()));
        let asked = request.as_ref().map(|request| request.objects("messages")).transpose()?.flatten();
        let mut messages = Vec::new();
        for message in asked.unwrap_or_default() {
            messages.extend(said(&message)?);
        }
        let model = |body: &Option<Object>| body.as_ref().map_or(Ok(None), |body| body.text("model"));
        let model = model(&response)?.or(model(&request)?);
        let mut time = timestamp(&entry)?;
        if let Some(response) = &response {
            // The request repeats the earlier turns: only the last one is new.
            let last = messages.iter().rposition(|message: &ImportedMessage| message.role == Role::User);
            messages = last.map(|last| messages.swap_remove(last)).into_iter().collect();
            let created = response.integer("created").ok().flatten();
            time = time.or(created.map(|seconds| time::checked(seconds.saturating_mul(1000))).transpose()?);
            for choice in response.objects("choices")?.unwrap_or_default().iter().take(1) {
                let answer = choice.object("message")?.unwrap_or_default();
                messages.extend(said(&answer)?);
            }
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
            self.options.add(
                NAME,
                &Conversation::default(),
                ImportedMessage { time, model, ..message },
                lines,
            )?;
        }
        Ok(())
    }
}

/// A message of a user or an assistant; none of the instructions of a system, and of tools.
fn said(message: &Object) -> Result<Option<ImportedMessage>> {
    let role = match message.text("role")?.as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => return Ok(None),
    };
    let text = text(message, "content", &["text", "input_text", "output_text"])?;
    Ok((!text.trim().is_empty()).then(|| ImportedMessage::new(role, text)))
}
