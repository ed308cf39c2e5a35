//! Texts in the role of the user that no user wrote: agent programs add them to a request for the model.

use std::borrow::Cow;

/// The tags of texts that a program adds to a prompt.
const REMINDER_TAGS: [(&str, &str); 1] = [("<system-reminder>", "</system-reminder>")];

/// The beginnings of texts that a program writes in the role of the user.
const PROGRAM_TEXTS: [&str; 11] = [
    "<command-name>",
    "<command-message>",
    "<local-command-",
    "<bash-",
    "<task-notification>",
    "[Request interrupted by user",
    "Caveat: The messages below were generated",
    "This session is being continued from a previous conversation",
    "# AGENTS.md instructions",
    "Another language model started to solve this problem",
    "<conversation-checkpoint>",
];

/// The beginnings of a program's own requests, such as for a summary of the conversation.
const PROGRAM_REQUESTS: [&str; 5] = [
    "CRITICAL: Respond with TEXT ONLY.",
    "Your task is to create a detailed summary of the conversation so far",
    "You are performing a CONTEXT CHECKPOINT COMPACTION",
    "Generate a title for this conversation:\n",
    "Here is the conversation so far:\n<conversation>\n",
];

/// The text without the additions of a program for the model.
pub fn without_reminders(text: &str) -> Cow<'_, str> {
    if !REMINDER_TAGS.iter().any(|(open, _)| text.contains(open)) {
        return Cow::Borrowed(text);
    }
    let mut kept = text.to_owned();
    for (open, close) in REMINDER_TAGS {
        while let Some(begin) = kept.find(open) {
            let end = kept[begin..].find(close).map_or(kept.len(), |at| begin + at + close.len());
            kept.replace_range(begin..end, "");
        }
    }
    Cow::Owned(kept.trim().to_owned())
}

/// Whether a program wrote a text in the role of the user.
pub fn is_program_text(text: &str) -> bool {
    PROGRAM_TEXTS.iter().any(|begin| text.starts_with(begin))
}

/// Whether a text is a program's own request.
pub(super) fn is_program_request(text: &str) -> bool {
    PROGRAM_REQUESTS.iter().any(|begin| text.starts_with(begin))
}

/// Whether a text is one element of a name with an underscore, such as `<environment_context>`: so Codex
/// describes its environment to the model.
pub fn is_element(text: &str) -> bool {
    let text = text.trim();
    let tag = text.strip_prefix('<').and_then(|rest| rest.split(['>', ' ']).next());
    tag.is_some_and(|tag| tag.contains('_') && text.ends_with(&format!("</{tag}>")))
}
