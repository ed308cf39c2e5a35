//! The formats that rsv-import reads, in one table.

use super::error::ImportError;
use super::format::{ImportFormat, ReadFormat};
use super::sample::{SAMPLE_BYTES, Sample, first_has_all, has_all};
use super::{
    aichat, aichat_session, aider, cgip, chat_backend, chatgpt, claude, claude_code, cline, codex,
    copilot_chat, copilot_cli, cursor, gemini, goose, librechat, llm, lm_studio, markdown, memory_lists,
    ollama, open_webui, openai, opencode, opencode_tree, qwen_code, slack, table, whatsapp, zed,
};
use crate::error::Result;
use crate::record::{Object, kind_named, shape};
use std::io::{self, Read};

/// All formats; the first that recognizes an input reads it.
static FORMATS: &[ImportFormat] = &[
    ImportFormat {
        name: "rsv",
        about: "JSON lines of rsv-export, and arrays of Reservoir",
        places: &[],
        timeless: false,
        recognize: |sample| {
            sample.any(|object| has_own_kind(object) || has_all(object, &["role", "partition"]))
        },
        read: ReadFormat::Lines,
    },
    claude_code::FORMAT,
    codex::FORMAT,
    chatgpt::FORMAT,
    claude::FORMAT,
    llm::FORMAT,
    opencode::DATABASE,
    opencode::EXPORT,
    opencode_tree::FORMAT,
    gemini::FORMAT,
    qwen_code::FORMAT,
    cline::FORMAT,
    copilot_chat::FORMAT,
    copilot_cli::FORMAT,
    cursor::FORMAT,
    goose::DATABASE,
    goose::SESSION,
    zed::FORMAT,
    aider::FORMAT,
    lm_studio::FORMAT,
    open_webui::EXPORT,
    open_webui::DATABASE,
    librechat::FORMAT,
    slack::FORMAT,
    whatsapp::FORMAT,
    chat_backend::FORMAT,
    memory_lists::MEM0,
    memory_lists::CONTEXTD,
    openai::FORMAT,
    cgip::FORMAT,
    aichat::FORMAT,
    aichat_session::FORMAT,
    ollama::FORMAT,
    table::FORMAT,
    markdown::FORMAT,
];

/// Whether an object has a kind of rsv's lines.
fn has_own_kind(object: &Object) -> bool {
    const OTHERS: [&str; 3] = ["link", "embedding", "tombstone"];
    let kind = object.valid_text("kind");
    kind.is_some_and(|kind| kind_named(&kind).is_some() || OTHERS.contains(&kind.as_str()))
}

/// Whether an object can be a line of rsv without a kind of its own.
pub(super) fn is_record(object: &Object) -> bool {
    object.has("kind") || matches!(shape(object), Some("message" | "memory" | "document" | "link"))
}

/// A file of a known program of which nothing is read.
struct Unreadable {
    recognize: fn(&Sample) -> bool,
    reason: &'static str,
}

static UNREADABLE: &[Unreadable] = &[
    Unreadable {
        recognize: |sample| {
            sample.first().is_some_and(|object| has_all(object, &["sessionId", "messageId", "message"]))
        },
        reason: "they are of Gemini CLI, whose sessions have the same prompts",
    },
    Unreadable {
        recognize: |sample| {
            sample.first().is_some_and(|object| has_all(object, &["role", "parts"]) && !object.has("id"))
        },
        reason: "they are of Gemini CLI, whose sessions have the same words",
    },
    Unreadable {
        recognize: |sample| {
            let lists: [&[&str]; 2] =
                [&["session_id", "ts", "text"], &["display", "pastedContents", "timestamp"]];
            sample.first().is_some_and(|object| lists.iter().any(|members| has_all(object, members)))
        },
        reason: "they have prompts of Codex or Claude Code only, which the sessions have with the answers",
    },
    Unreadable {
        recognize: |sample| {
            sample.first().is_some_and(|object| {
                object.get("role").is_some() && first_has_all(object, "message", &["content"])
            })
        },
        reason: "they are of Cursor's command line, which writes no times",
    },
    Unreadable {
        recognize: |sample| {
            // Users, channels, direct messages, and the changes of integrations.
            let lists: [&[&str]; 4] = [
                &["id", "team_id", "profile"],
                &["id", "creator", "members"],
                &["id", "created", "members"],
                &["user_id", "user_type", "service_id"],
            ];
            sample.first().is_some_and(|object| lists.iter().any(|members| has_all(object, members)))
        },
        reason: "they are lists of Slack, whose messages are in the folders of the channels",
    },
];

/// Why nothing of an input is read that no format recognizes; none if it is not known.
pub(super) fn unreadable(sample: &Sample) -> Option<&'static str> {
    UNREADABLE.iter().find(|unreadable| (unreadable.recognize)(sample)).map(|unreadable| unreadable.reason)
}

/// The command by which a program resumes one of its sessions, and the prefix of their ids; without one, they
/// are UUIDs.
struct Resumption {
    program: &'static str,
    command: &'static str,
    id_prefix: &'static str,
}

static RESUMPTIONS: &[Resumption] = &[
    Resumption { program: "claude-code", command: "claude --resume", id_prefix: "" },
    Resumption { program: "codex", command: "codex resume", id_prefix: "" },
    Resumption { program: "opencode", command: "opencode -s", id_prefix: "ses_" },
    Resumption { program: "gemini", command: "gemini --resume", id_prefix: "" },
    Resumption { program: "qwen-code", command: "qwen --resume", id_prefix: "" },
];

/// The command by which a program resumes a session, for a shell. None for a program that has no such
/// command, or if the id is not one of its own: an import may have been given another instance.
pub fn resume_command(program: &str, id: &str) -> Option<String> {
    let known = RESUMPTIONS.iter().find(|known| known.program == program)?;
    let is_own = match known.id_prefix {
        "" => uuid::Uuid::try_parse(id).is_ok(),
        prefix => id.starts_with(prefix),
    };
    let id = shlex::try_quote(id).ok().filter(|_| is_own)?;
    Some(format!("{} {id}", known.command))
}

/// The names of all formats.
pub(super) fn names() -> String {
    FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ")
}

/// The formats, in the order in which an input is compared with them.
pub fn formats() -> &'static [ImportFormat] {
    FORMATS
}

/// The format of a name. Fails if there is none.
pub fn named(name: &str) -> Result<&'static ImportFormat> {
    let format = FORMATS.iter().find(|format| format.name == name);
    format.ok_or_else(|| ImportError::UnknownFormat { name: name.to_owned(), known: names() }.into())
}

/// Reads on from the first bytes of an input until a format recognizes them, or until they are all, or
/// `limit` bytes. Errors as `input` does.
pub(super) fn recognize(
    mut bytes: Vec<u8>,
    input: &mut dyn Read,
    limit: usize,
) -> io::Result<(Sample, Option<&'static ImportFormat>)> {
    /// The growth of the sample of an input that it does not suffice to recognize.
    const GROWTH: usize = 16;
    let mut wanted = SAMPLE_BYTES;
    loop {
        input.take(wanted.saturating_sub(bytes.len()) as u64).read_to_end(&mut bytes)?;
        let mut sample = Sample::new(bytes);
        let named = |sample: &Sample| FORMATS.iter().find(|format| (format.recognize)(sample));
        let mut format = named(&sample);
        let is_all = sample.bytes().len() < wanted || wanted >= limit;
        if format.is_none() && is_all && sample.bytes().len() <= SAMPLE_BYTES && sample.is_json() {
            sample = sample.with_all_lines();
            format = named(&sample);
        }
        if format.is_some() || is_all || !sample.is_json() {
            return Ok((sample, format));
        }
        bytes = sample.into_bytes();
        wanted = (wanted * GROWTH).min(limit);
    }
}
