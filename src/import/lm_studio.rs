//! Conversations of LM Studio: `~/.lmstudio/conversations/TIME.conversation.json`, one object each. A message
//! has versions, of which one is shown; only the conversation has a time.

use super::contents::text;
use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::format::{ImportFormat, ReadFormat};
use super::objects::Convert;
use super::sample::first_has_all;
use super::times;
use crate::error::Result;
use crate::record::{Object, Role};

const NAME: &str = "lm-studio";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "conversations of LM Studio: ~/.lmstudio/conversations",
    places: &[".lmstudio/conversations", ".cache/lm-studio/conversations"],
    timeless: false,
    recognize: |sample| {
        sample.first().is_some_and(|object| {
            let is_empty = || object.get("messages").is_some_and(|list| list.split_whitespace().eq(["[]"]));
            let of_chat = ["perChatPredictionConfig", "usePerChatPredictionConfig", "clientInput"];
            first_has_all(object, "messages", &["versions"])
                || object.has("createdAt") && is_empty() && of_chat.iter().any(|member| object.has(member))
        })
    },
    read: ReadFormat::Objects(|options, origin| {
        Box::new(LmStudioConversation { options: options.clone(), id: origin.stem() })
    }),
};

struct LmStudioConversation {
    options: ImportOptions,
    id: Option<String>,
}

impl Convert for LmStudioConversation {
    fn convert(&mut self, conversation: Object, lines: &mut Vec<Object>) -> Result<()> {
        let created = times::member(&conversation, "createdAt")?;
        let id = self.id.clone().or_else(|| created.map(|at| at.to_string()));
        let about = Conversation { id, title: conversation.text("name")?, ..Conversation::default() };
        let mut messages = Vec::new();
        for (at, message) in (0..).zip(conversation.objects("messages")?.unwrap_or_default()) {
            let versions = message.objects("versions")?.unwrap_or_default();
            let selected = message.integer("currentlySelected")?.unwrap_or_default();
            let shown = usize::try_from(selected).unwrap_or_default().min(versions.len().saturating_sub(1));
            for (version, it) in versions.iter().enumerate() {
                if version == shown || self.options.branches {
                    let time = created.map(|created| created + at);
                    messages.extend(said(it)?.map(|said| ImportedMessage { time, ..said }));
                }
            }
        }
        self.options.add_all(NAME, &about, messages, lines)
    }
}

/// The message of a version: a content, or steps with contents, of which thoughts are left out.
fn said(version: &Object) -> Result<Option<ImportedMessage>> {
    let role = match version.text("role")?.as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => return Ok(None),
    };
    let Some(steps) = version.objects("steps")? else {
        return Ok(Some(ImportedMessage::new(role, text(version, "content", &["text"])?)));
    };
    let (mut texts, mut model) = (Vec::new(), None);
    for step in steps {
        let style = step.valid_object("style");
        let is_thinking = style.is_some_and(|style| style.get("type") == Some("\"thinking\""));
        if step.get("type") == Some("\"contentBlock\"") && !is_thinking {
            texts.push(text(&step, "content", &["text"])?);
        }
        let info = step.valid_object("genInfo");
        model = model.or(info.and_then(|info| info.valid_text("indexedModelIdentifier")));
    }
    texts.retain(|text| !text.trim().is_empty());
    Ok(Some(ImportedMessage { model, ..ImportedMessage::new(role, texts.join("\n")) }))
}
