//! Tasks of Cline and of Roo Code: `tasks/TASK/ui_messages.json`, an array of what the program showed, and
//! `api_conversation_history.json`, of what it sent; and sessions of Cline's command line,
//! `SESSION.messages.json` beside `SESSION.json`, compared with the files of version 3.0.65.

use super::contents::text;
use super::conversation::{Conversation, ImportOptions, ImportedMessage};
use super::format::{ImportFormat, Origin, ReadFormat};
use super::objects::Convert;
use super::sample::{first_has_all, first_object, has_all};
use super::times;
use crate::api::without_elements;
use crate::error::Result;
use crate::record::{Object, Role};
use std::collections::HashMap;

const NAME: &str = "cline";

/// The directories of the extensions Cline and Roo Code in VS Code and its relatives.
const PLACES: &[&str] = &[
    ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks",
    ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    ".config/Cursor/User/globalStorage/saoudrizwan.claude-dev/tasks",
    ".config/VSCodium/User/globalStorage/saoudrizwan.claude-dev/tasks",
    ".vscode-server/data/User/globalStorage/saoudrizwan.claude-dev/tasks",
    ".vscode-server/data/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    ".cline/data/tasks",
    ".cline/data/sessions",
];

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "tasks of Cline and Roo Code: ui_messages.json in their folders",
    places: PLACES,
    timeless: false,
    recognize: |sample| {
        sample.first().is_some_and(|object| {
            is_shown(object) || is_sent(object) || has_all(object, &["sessionId", "agent", "messages"])
        })
    },
    read: ReadFormat::Objects(|options, origin| Box::new(ClineTask::new(options, origin))),
};

/// Whether an entry is of what the program showed.
fn is_shown(entry: &Object) -> bool {
    has_all(entry, &["ts", "type"]) && (entry.has("say") || entry.has("ask"))
}

/// Whether an entry is of what the program sent, of which the first is a task.
fn is_sent(entry: &Object) -> bool {
    let content = entry.get("content").unwrap_or_default();
    let first = first_object(content).and_then(|part| part.get("text").map(str::to_owned));
    entry.get("role") == Some("\"user\"")
        && first.is_some_and(|text| TAGS.iter().any(|tag| text.starts_with(&format!("\"<{tag}>"))))
}

/// The elements in which the program sends the words of the user.
const TAGS: [&str; 4] = ["task", "feedback", "user_message", "answer"];

/// The files of what the program showed, and of what it sent.
const SHOWN: &str = "ui_messages.json";
const SENT: &str = "api_conversation_history.json";

/// Whether what the program showed begins with the task that it sent first; both are beginnings of JSON text.
fn is_sent_text(shown: &str, sent: &str) -> bool {
    /// As much of a text as tells it from others.
    const CHARS: usize = 100;
    let Some(first) = first_object(shown).filter(|entry| entry.get("say") != Some("\"task\"")) else {
        return true;
    };
    let content = first_object(sent).and_then(|entry| entry.get("content").map(str::to_owned));
    let content = content.unwrap_or_default();
    let part = first_object(&content).and_then(|part| part.get("text").map(str::to_owned));
    let sent = beginning_of_text(&part.unwrap_or(content));
    let text = first.get("text").map(beginning_of_text).unwrap_or_default();
    let told: String = text[..first_mention(&text)].trim_end().chars().take(CHARS).collect();
    sent.is_empty() || sent.contains(&told)
}

/// The place of the first mention of a file, or of a command, which the program replaces in what it sends;
/// the length of a text without any.
fn first_mention(text: &str) -> usize {
    let begins_word = |at: usize| text[..at].chars().next_back().is_none_or(char::is_whitespace);
    let mention = text.char_indices().find(|(at, c)| *c == '@' || *c == '/' && begins_word(*at));
    mention.map_or(text.len(), |(at, _)| at)
}

/// The text of a JSON string that may be cut off; empty if it is none.
fn beginning_of_text(json: &str) -> String {
    /// The length of a pair of escapes, the longest that can be cut.
    const ESCAPE: usize = 12;
    let cut = |bytes: usize| json.get(..json.len().checked_sub(bytes)?);
    let whole = serde_json::from_str(json).ok();
    let cut_off = || (0..ESCAPE).find_map(|bytes| serde_json::from_str(&format!("{}\"", cut(bytes)?)).ok());
    whole.or_else(cut_off).unwrap_or_default()
}

struct ClineTask {
    options: ImportOptions,
    about: Conversation,
    /// Whether another file has the same words, with their times.
    is_shown_too: bool,
    /// Whether the first text that the program showed is the task; one that was cut off may begin later.
    begins_with_task: bool,
    /// Whether it is that of an agent that another session started.
    is_subagent: bool,
    /// The time of the task, which is its name.
    began: Option<i64>,
    messages: Vec<ImportedMessage>,
    /// The places of the messages that were shown, by their time, role and kind: the program writes them
    /// again as they grow.
    shown: HashMap<(String, &'static str, String), usize>,
    read: i64,
}

impl ClineTask {
    fn new(options: &ImportOptions, origin: &Origin) -> ClineTask {
        let task = origin.folder();
        let began = task.as_deref().and_then(|task| task.parse::<f64>().ok());
        let of_session = origin.stem().and_then(|name| origin.sibling(&format!("{name}.json")));
        let member = |of: &Object, name| of.valid_text(name);
        let item = origin.sibling("history_item.json").and_then(|item| member(&item, "workspace"));
        let directory = item.or_else(|| member(of_session.as_ref()?, "cwd"));
        let title = || member(&of_session.as_ref()?.object("metadata").ok()??, "title");
        let is_subagent =
            of_session.as_ref().is_some_and(|session| member(session, "parent_session_id").is_some());
        let (shown, sent) = (origin.beginning_of(SHOWN), origin.beginning_of(SENT));
        let begins_with_task = match (&shown, &sent) {
            (Some(shown), Some(sent)) => is_sent_text(shown, sent),
            _ => true,
        };
        let is_shown_too = !origin.name.ends_with(SHOWN) && shown.is_some() && begins_with_task;
        ClineTask {
            options: options.clone(),
            about: Conversation { id: task, directory, title: title(), ..Conversation::default() },
            is_shown_too,
            begins_with_task,
            is_subagent,
            began: began.and_then(|began| times::from_number(began).ok()),
            messages: Vec::new(),
            shown: HashMap::new(),
            read: 0,
        }
    }

    fn shown(&mut self, entry: &Object) -> Result<()> {
        let said = entry.text("text")?.unwrap_or_default();
        let kind = entry.text("say")?.or(entry.text("ask")?).unwrap_or_default();
        let is_ask = entry.has("ask");
        let inner = |members: &[&str]| {
            let object = Object::parse(&said).ok();
            let text = |member: &&str| object.as_ref().and_then(|object| object.valid_text(member));
            members.iter().find_map(text).unwrap_or_else(|| said.clone())
        };
        let is_first = self.read == 0;
        self.read += 1;
        let (role, text) = match kind.as_str() {
            "task" | "user_feedback" => (Role::User, said.clone()),
            "text" if is_first && self.begins_with_task => (Role::User, said.clone()),
            "user_feedback_diff" => return Ok(()),
            "text" | "completion_result" | "subtask_result" => (Role::Assistant, said.clone()),
            "followup" | "plan_mode_respond" if is_ask => (Role::Assistant, inner(&["question", "response"])),
            _ => return Ok(()),
        };
        let (time, id) = (times::member(entry, "ts")?, entry.get("ts").map(str::to_owned));
        let key = (id.clone().unwrap_or_default(), role.name(), kind);
        let message = ImportedMessage { time, id, ..ImportedMessage::new(role, text) };
        let at = *self.shown.entry(key).or_insert(self.messages.len());
        match self.messages.get_mut(at) {
            Some(earlier) => *earlier = message,
            None => self.messages.push(message),
        }
        Ok(())
    }

    fn sent(&mut self, entry: &Object) -> Result<()> {
        let time =
            times::first_member(entry, &["ts", "timestamp"])?.or(self.began.map(|began| began + self.read));
        self.read += 1;
        let role = match entry.text("role")?.as_deref() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            _ => return Ok(()),
        };
        let said = if role == Role::User {
            own_words(entry)?
        } else {
            without_elements(&text(entry, "content", &["text"])?, &["thinking"]).into_owned()
        };
        self.messages.push(ImportedMessage { time, ..ImportedMessage::new(role, said) });
        Ok(())
    }

    /// A session of the command line.
    fn session(&mut self, session: &Object) -> Result<()> {
        self.about.id = session.text("sessionId")?;
        for message in session.objects("messages")?.unwrap_or_default() {
            let role = match message.text("role")?.as_deref() {
                Some("user") => Role::User,
                Some("assistant") => Role::Assistant,
                _ => continue,
            };
            let said = text(&message, "content", &["text"])?;
            let said = without_input_element(without_elements(&said, &["mode_notice"]).into_owned());
            let info = message.valid_object("modelInfo").unwrap_or_default();
            let said = ImportedMessage { model: info.text("id")?, ..ImportedMessage::new(role, said) };
            let (time, id) = (times::member(&message, "ts")?, message.text("id")?);
            self.messages.push(ImportedMessage { time, id, ..said });
        }
        Ok(())
    }
}

impl Convert for ClineTask {
    fn convert(&mut self, entry: Object, _: &mut Vec<Object>) -> Result<()> {
        if self.is_subagent {
            Ok(())
        } else if first_has_all(&entry, "messages", &["role"]) {
            self.session(&entry)
        } else if is_shown(&entry) {
            self.shown(&entry)
        } else if entry.has("role") && !self.is_shown_too {
            self.sent(&entry)
        } else {
            Ok(())
        }
    }

    fn finish(&mut self, lines: &mut Vec<Object>) -> Result<()> {
        self.options.add_all(NAME, &self.about, std::mem::take(&mut self.messages), lines)
    }

    fn reason(&self) -> Option<&'static str> {
        let is_shown_too =
            self.is_shown_too.then_some("they are what Cline sends, of which ui_messages.json has the words");
        self.is_subagent.then_some("they are of sub-agents").or(is_shown_too)
    }
}

/// The text without the element that the command line puts around the words of a user, which names the mode.
fn without_input_element(text: String) -> String {
    let inner = text.strip_prefix("<user_input").and_then(|text| text.strip_suffix("</user_input>"));
    match inner.and_then(|inner| inner.split_once('>')) {
        Some((attributes, words)) if attributes.is_empty() || attributes.starts_with(' ') => words.to_owned(),
        _ => text,
    }
}

/// The elements that the program adds to the words of the user.
const ADDITIONS: [&str; 4] =
    ["environment_details", "file_content", "folder_content", "explicit_instructions"];

/// The words of the user in what was sent: those in elements, or, if there are none, what is not the
/// program's.
fn own_words(entry: &Object) -> Result<String> {
    let texts = match entry.objects("content") {
        Ok(Some(parts)) => {
            let is_text = |part: &Object| part.get("type") == Some("\"text\"");
            let texts = parts.iter().filter(|part| is_text(part)).map(|part| part.text("text"));
            texts.filter_map(|text| text.transpose()).collect::<Result<Vec<String>>>()?
        }
        _ => vec![text(entry, "content", &["text"])?],
    };
    let of_text = |text| TAGS.iter().flat_map(move |tag| inner_texts(text, tag));
    let enclosed: Vec<String> = texts.iter().flat_map(|text: &String| of_text(text)).collect();
    if !enclosed.is_empty() {
        return Ok(enclosed.join("\n"));
    }
    let (mut own, mut is_output) = (Vec::new(), false);
    for text in &texts {
        let text = without_elements(text, &ADDITIONS);
        let text = text.trim();
        // The output of a tool stands after the name of its call, or in the next part.
        if std::mem::replace(&mut is_output, is_call(text) && text.ends_with(RESULT)) {
            continue;
        }
        if !text.is_empty() && !is_call(text) && !NOTICES.iter().any(|notice| text.starts_with(notice)) {
            own.push(text.to_owned());
        }
    }
    Ok(own.join("\n"))
}

/// The beginnings of what the program itself says to the model.
const NOTICES: [&str; 2] = ["[ERROR]", "[TASK RESUMPTION]"];

/// The text between the name of a call and its output.
const RESULT: &str = "Result:";

/// Whether a text begins with the name of a call of a tool, such as `[read_file for 'owls.txt'] Result:`.
fn is_call(text: &str) -> bool {
    text.strip_prefix('[')
        .and_then(|text| text.split_once("] "))
        .is_some_and(|(name, rest)| !name.contains('\n') && rest.starts_with(RESULT))
}

/// The texts in the elements of a name that begin on a line. Each ends with the last of its closing tags,
/// since the words of a user may have one too.
fn inner_texts(text: &str, tag: &str) -> Vec<String> {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let is_first_of_line =
        |at: usize| text[..at].trim_end_matches([' ', '\t']).is_empty() || text[..at].ends_with('\n');
    let begins = text.match_indices(&open).map(|(at, _)| at).filter(|at| is_first_of_line(*at));
    let mut elements: Vec<(usize, usize)> = Vec::new();
    for begin in begins {
        match elements.last_mut() {
            // It stands in the one before, which has not ended.
            Some((before, end)) if !text[*before..begin].contains(&close) => *end = text.len(),
            Some((_, end)) => {
                *end = begin;
                elements.push((begin, text.len()));
            }
            None => elements.push((begin, text.len())),
        }
    }
    let inner = elements.iter().filter_map(|(begin, end)| text[begin + open.len()..*end].rsplit_once(&close));
    inner.map(|(inner, _)| inner.trim().to_owned()).collect()
}
