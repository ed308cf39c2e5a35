//! The history of aider, `.aider.chat.history.md` in the directory of a project: a line with the time when a
//! chat began, then the words of the user in headings, output of the program in quotations, and the answers.
//! Compared with the files of version 0.86.2.

use super::blocks::{Block, BlockFormat, Blocks};
use super::conversation::{Conversation, ImportedMessage};
use super::error::ImportError;
use super::format::{ImportFormat, ReadFormat};
use super::times;
use crate::record::{Object, Role};
use jiff::civil::DateTime;
use std::path::Path;

const NAME: &str = "aider";

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: NAME,
    about: "the history of aider: .aider.chat.history.md",
    places: &[
        ".aider.chat.history.md",
        "*/.aider.chat.history.md",
        "*/*/.aider.chat.history.md",
        "*/*/*/.aider.chat.history.md",
    ],
    timeless: false,
    recognize: |sample| {
        sample.text().lines().find(|line| !line.trim().is_empty()).is_some_and(|line| line.starts_with(BEGIN))
    },
    read: ReadFormat::Text(|input| Box::new(Blocks::new(CHATS, input))),
};

/// The beginning of the line before a chat.
const BEGIN: &str = "# aider chat started at ";

/// The end of the lines of the user and the program; a line of an answer may begin as they do.
const END: &str = "  ";

/// The beginning of a line that the user wrote, and the text of an empty message.
const WORDS: &str = "####";
const BLANK: &str = "<blank>";

/// The beginning of a line that the program wrote.
const OUTPUT: &str = ">";

/// The beginning and the end of a block of code.
const FENCE: &str = "```";

/// The commands of the program that are words for the model.
const COMMANDS_WITH_WORDS: [&str; 5] = ["/ask ", "/code ", "/architect ", "/context ", "/help "];

const CHATS: BlockFormat = BlockFormat {
    heading: |line| {
        let mut heading = Object::default();
        heading.set_text("began", line.strip_prefix(BEGIN)?.trim());
        Some(heading)
    },
    lines: |options, Block { input, heading, text }, lines| {
        let began = heading.text("began")?.unwrap_or_default();
        let date: Option<DateTime> = began.replacen(' ', "T", 1).parse().ok();
        let time = date.and_then(|date| times::local(date, options.zone.as_ref()));
        let Some(time) = time.or(options.at) else {
            return Err(ImportError::NoTimeAfter { after: BEGIN, found: began }.into());
        };
        let folder = Path::new(input).canonicalize().ok();
        let directory = folder.and_then(|file| Some(file.parent()?.to_str()?.to_owned()));
        let about = Conversation { id: Some(began), directory, ..Conversation::default() };
        let messages = (0..)
            .zip(messages(text))
            .map(|(at, message)| ImportedMessage { time: Some(time + at), ..message });
        options.add_all(NAME, &about, messages.collect(), lines)
    },
};

/// The messages of a chat.
fn messages(text: &str) -> Vec<ImportedMessage> {
    let mut messages: Vec<ImportedMessage> = Vec::new();
    let mut in_code = false;
    let mut role = None;
    for line in text.lines() {
        // Before the first question, nothing is an answer.
        let is_marked = line.ends_with(END) || messages.is_empty();
        let line = line.trim_end();
        let words = line.strip_prefix(WORDS).filter(|_| is_marked);
        // An empty line of the user has no space before its end.
        let words = words.and_then(|words| words.strip_prefix(' ').or(words.is_empty().then_some("")));
        let is_output = is_marked && line.starts_with(OUTPUT);
        let is_code = in_code || line.starts_with(FENCE);
        // An answer that was cut off leaves a block open.
        in_code = (in_code ^ line.starts_with(FENCE)) && words.is_none() && !is_output;
        let (next, said) = match words {
            Some(words) => (Some(Role::User), if words == BLANK { "" } else { words }),
            None if is_output => (None, ""),
            // An empty line is of the message that it stands in.
            None if line.is_empty() && !is_code => (role.filter(|role| *role == Role::Assistant), ""),
            None => (Some(Role::Assistant), line),
        };
        match (next, messages.last_mut()) {
            (Some(next), Some(last)) if role == Some(next) => {
                last.text.push('\n');
                last.text.push_str(said);
            }
            (Some(next), _) => messages.push(ImportedMessage::new(next, said)),
            (None, _) => {}
        }
        role = next;
    }
    for message in &mut messages {
        message.text = message.text.trim().to_owned();
    }
    let has_architect = ARCHITECT.iter().any(|mark| text.contains(mark));
    without_echoes(messages, has_architect)
}

/// The marks of a chat in which one model plans, and another edits.
const ARCHITECT: [&str; 3] = ["with architect edit format", "#### /architect", "#### /chat-mode architect"];

/// The beginning of the message in which the program sends its own documents after `/help`.
const DOCUMENTS: &str = "# Question: ";

/// The messages without the commands that are no words for the model, and without those that the program
/// writes again in the name of the user: the words of a command, and the plan of the architect, which is a
/// prompt for the editor.
fn without_echoes(messages: Vec<ImportedMessage>, has_architect: bool) -> Vec<ImportedMessage> {
    let mut own: Vec<ImportedMessage> = Vec::new();
    for message in messages {
        let last = own.last();
        let is_echo = |last: &ImportedMessage| match last.role {
            Role::Assistant if !has_architect => false,
            Role::Assistant => last.text.split_whitespace().eq(message.text.split_whitespace()),
            _ => is_command(&last.text) && message.text.starts_with(DOCUMENTS),
        };
        if message.role == Role::User && last.is_some_and(is_echo) {
            continue;
        }
        if message.role == Role::User
            && let Some(last) = own.last_mut()
            && last.role == Role::User
            && COMMANDS_WITH_WORDS
                .iter()
                .any(|command| last.text.strip_prefix(command) == Some(&message.text))
        {
            last.text = message.text;
            continue;
        }
        let has_words = COMMANDS_WITH_WORDS.iter().any(|command| message.text.starts_with(command));
        if message.role != Role::User || !is_command(&message.text) || has_words {
            own.push(message);
        }
    }
    own
}

/// Whether a text is a command of the program, or of the shell.
fn is_command(text: &str) -> bool {
    text.starts_with(['/', '!'])
}
