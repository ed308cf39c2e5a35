//! Sessions of Claude Code: `~/.claude/projects/PROJECT/SESSION.jsonl`, an entry a line. Compared with the
//! files of versions 2.1.197 and 2.1.266.

use super::calls::OpenCalls;
use super::contents::{text, text_or_empty, tool_call};
use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::format::{ImportFormat, ReadFormat};
use super::objects::Convert;
use super::sample::{first_has_all, has_all};
use super::times;
use crate::api::{CalledTool, ToolOutcome, own_words, typed_words};
use crate::error::Result;
use crate::record::{Object, Role};
use std::collections::HashMap;

const NAME: &str = "claude-code";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "sessions of Claude Code: ~/.claude/projects",
    places: &[".claude/projects"],
    timeless: false,
    recognize: |sample| {
        // The sessions of Qwen Code have parts, and Gemini CLI's list of prompts has ids of messages.
        let has_parts = sample.any(|object| first_has_all(object, "message", &["parts"]));
        !has_parts
            && sample.any(|object| {
                is_entry(object) && !object.has("messageId")
                    || has_all(object, &["type", "leafUuid"])
                    || first_has_all(object, LOG, &["type", "timestamp"])
            })
    },
    read: ReadFormat::Objects(|options, origin| {
        let file = origin.stem();
        Box::new(ClaudeCodeSession { options: options.clone(), file, ..ClaudeCodeSession::default() })
    }),
};

/// The member in which the entries of a session in the cloud are.
const LOG: &str = "loglines";

/// Whether an object is an entry of a session; some tools keep none but the members of the conversation.
fn is_entry(object: &Object) -> bool {
    let is_turn =
        || matches!(object.get("type"), Some("\"user\"" | "\"assistant\"")) && object.has("timestamp");
    // Sessions of Droid begin so.
    let is_other = || object.get("type") == Some("\"session_start\"");
    has_all(object, &["type", "sessionId"]) && !is_other()
        || is_turn() && first_has_all(object, "message", &["content"])
}

/// The model of the program's own answers.
const NO_MODEL: &str = "<synthetic>";

/// The members that mark entries which are not part of the conversation.
const HIDDEN: [&str; 5] =
    ["isSidechain", "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "turnCompanion"];

#[derive(Default)]
struct ClaudeCodeSession {
    options: ImportOptions,
    /// The name of the file, which names a session that its entries do not.
    file: Option<String>,
    title: Option<String>,
    /// The id of the last prompt, which is the trace of the next messages.
    question: Option<String>,
    /// The directories in which sessions began: a session that changes its directory stays in its project.
    directories: HashMap<String, String>,
    /// Whether there were entries of a sub-agent.
    has_subagent: bool,
    calls: OpenCalls,
}

impl Convert for ClaudeCodeSession {
    fn convert(&mut self, entry: Object, lines: &mut Vec<Object>) -> Result<()> {
        if entry.has(LOG) {
            let entries = entry.objects(LOG)?.unwrap_or_default();
            return entries.into_iter().try_for_each(|entry| self.convert(entry, lines));
        }
        let is = |member| entry.get(member) == Some("true");
        self.has_subagent |= is("isSidechain");
        match entry.text("type")?.as_deref() {
            Some("user" | "assistant" | "attachment") if HIDDEN.iter().any(|member| is(member)) => Ok(()),
            Some("user") => self.user(&entry, lines),
            Some("assistant") if !is("isApiErrorMessage") => self.assistant(&entry, lines),
            Some("attachment") => self.queued(&entry, lines),
            // The call of a command that the program itself runs.
            Some("system") if entry.get("subtype") == Some("\"local_command\"") => {
                let content = text(&entry, "content", &["text"])?;
                let words = own_words(&content).filter(|words| words.starts_with('/'));
                self.prompt(&entry, words.into_iter().map(|words| words.into_owned()).collect(), lines)
            }
            Some("summary") => self.set_title(&entry, "summary"),
            Some("ai-title") => self.set_title(&entry, "aiTitle"),
            Some("custom-title") => self.set_title(&entry, "customTitle"),
            _ => Ok(()),
        }
    }

    fn reason(&self) -> Option<&'static str> {
        self.has_subagent.then_some("they are of sub-agents")
    }
}

/// Whether a person wrote the prompt of an entry; none if the entry does not say.
fn is_typed(entry: &Object) -> Option<bool> {
    let origin = entry.valid_object("origin");
    let kind = origin.and_then(|origin| origin.valid_text("kind"));
    match (kind, entry.get("promptSource")) {
        (Some(kind), _) => Some(kind == "human"),
        (None, Some("\"system\"")) => Some(false),
        (None, Some("\"typed\"")) => Some(true),
        (None, _) => None,
    }
}

/// The words of the user in a member of text, or of blocks, of which each may be a program's.
fn words(of: &Object, member: &str, is_typed: Option<bool>) -> Result<Vec<String>> {
    let own = if is_typed == Some(true) { typed_words } else { own_words };
    let texts: Vec<String> = match of.objects(member) {
        Ok(Some(blocks)) => {
            let is_text = |block: &&Object| block.get("type") == Some("\"text\"");
            let texts = blocks.iter().filter(is_text).map(|block| block.text("text"));
            texts.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect()
        }
        _ => vec![text(of, member, &["text"])?],
    };
    let words = texts.iter().filter_map(|text| own(text)).map(|words| words.trim().to_owned());
    Ok(words.filter(|words| !words.is_empty() && is_typed != Some(false)).collect())
}

impl ClaudeCodeSession {
    fn set_title(&mut self, entry: &Object, member: &str) -> Result<()> {
        self.title = entry.text(member)?;
        Ok(())
    }

    fn user(&mut self, entry: &Object, lines: &mut Vec<Object>) -> Result<()> {
        let message = entry.object("message")?.unwrap_or_default();
        let parts = message.objects("content").unwrap_or_default().unwrap_or_default();
        for part in parts.iter().filter(|part| part.get("type") == Some("\"tool_result\"")) {
            // Only of a call that failed the result is looked at.
            let failed = part.get("is_error") == Some("true");
            let text =
                if failed { text(part, "content", &["text"]).unwrap_or_default() } else { String::new() };
            let outcome = ToolOutcome { text, failed: Some(failed) };
            if let Some(action) = self.calls.end(NAME, &text_or_empty(part, "tool_use_id"), &outcome) {
                self.add(entry, action, lines)?;
            }
        }
        self.prompt(entry, words(&message, "content", is_typed(entry))?, lines)?;
        if self.options.keep_tools {
            for part in parts {
                if part.text("type")?.as_deref() == Some("tool_result") {
                    let output = ImportedMessage::new(Role::Tool, text(&part, "content", &["text"])?);
                    let tool_call_id = part.valid_text("tool_use_id");
                    self.add(entry, ImportedMessage { tool_call_id, ..output }, lines)?;
                }
            }
        }
        Ok(())
    }

    /// A prompt that was typed while the model worked. The queue from which it came is in other entries.
    fn queued(&mut self, entry: &Object, lines: &mut Vec<Object>) -> Result<()> {
        let attachment = entry.valid_object("attachment").unwrap_or_default();
        let is_prompt = matches!(attachment.get("commandMode"), None | Some("null" | "\"prompt\""));
        if attachment.get("type") != Some("\"queued_command\"") || !is_prompt {
            return Ok(());
        }
        let typed = is_typed(&attachment).or(is_typed(entry));
        self.prompt(entry, words(&attachment, "prompt", typed)?, lines)
    }

    fn prompt(&mut self, entry: &Object, words: Vec<String>, lines: &mut Vec<Object>) -> Result<()> {
        if words.is_empty() {
            return Ok(());
        }
        for action in self.calls.interrupt(NAME) {
            self.add(entry, action, lines)?;
        }
        self.question = entry.text("uuid")?;
        self.add(entry, ImportedMessage::new(Role::User, words.join("\n")), lines)
    }

    fn assistant(&mut self, entry: &Object, lines: &mut Vec<Object>) -> Result<()> {
        let message = entry.object("message")?.unwrap_or_default();
        let model = message.text("model")?.filter(|model| model != NO_MODEL);
        let answer = ImportedMessage::new(Role::Assistant, text(&message, "content", &["text"])?);
        self.add(entry, ImportedMessage { model: model.clone(), ..answer }, lines)?;
        for part in message.objects("content").unwrap_or_default().unwrap_or_default() {
            if part.get("type") != Some("\"tool_use\"") {
                continue;
            }
            let (id, name) = (text_or_empty(&part, "id"), text_or_empty(&part, "name"));
            let arguments = part.get("input").unwrap_or("{}");
            if self.options.keep_tools {
                let tool_calls = Some(tool_call(&id, &name, arguments));
                let call = ImportedMessage::new(Role::Assistant, "");
                self.add(entry, ImportedMessage { model: model.clone(), tool_calls, ..call }, lines)?;
            }
            let called = CalledTool { id, name, arguments: arguments.to_owned() };
            self.calls.begin(called, times::member(entry, "timestamp")?, self.question.clone());
        }
        Ok(())
    }

    fn add(&mut self, entry: &Object, message: ImportedMessage, lines: &mut Vec<Object>) -> Result<()> {
        let id = entry.text("sessionId")?.or_else(|| self.file.clone());
        let mut directory = entry.text("cwd")?;
        if let Some(id) = &id {
            let first = self.directories.get(id).cloned();
            if let (None, Some(here)) = (&first, &directory) {
                self.directories.insert(id.clone(), here.clone());
            }
            directory = first.or(directory);
        }
        let conversation =
            Conversation { id, title: self.title.clone(), directory, ..Conversation::default() };
        if message.action.is_some() {
            return self.options.add(NAME, &conversation, message, lines);
        }
        let (time, id) = (times::member(entry, "timestamp")?, entry.text("uuid")?);
        let trace_id = self.question.clone();
        self.options.add(NAME, &conversation, ImportedMessage { time, id, trace_id, ..message }, lines)
    }
}
