//! Prompts: requests of a user to a model about its memory.

use super::answer::{Item, Listing};
use super::arguments::{Arguments, Parameter, Type};
use super::call::Call;
use super::recall::for_task;
use crate::chat::fence;
use crate::error::Result;
use crate::record::{MEMORY, StoredRecord};

/// A prompt.
pub(super) struct PromptRow {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) about: &'static str,
    pub(super) parameters: &'static [Parameter],
    /// The text for some arguments.
    pub(super) text: fn(&Call, &Arguments) -> Result<String>,
}

/// The number of memories, and of messages, that a prompt recalls.
const RECALLED: usize = 5;

/// All prompts.
pub(super) const PROMPTS: &[PromptRow] = &[
    PromptRow {
        name: "recall-before-you-begin",
        title: "Recall before you begin",
        about: "Put what is known about a task in front of it",
        parameters: &[Parameter::required("task", Type::Text, "What is to be done")],
        text: recall,
    },
    PromptRow {
        name: "record-what-was-learnt",
        title: "Record what was learnt",
        about: "Have the model record what this session taught",
        parameters: &[Parameter::optional("task", Type::Text, "What the session was about")],
        text: record,
    },
];

fn recall(call: &Call, arguments: &Arguments) -> Result<String> {
    let task = arguments.words("task")?;
    let max_tokens = call.server.options.max_tokens / 2;
    let found = for_task(call, task, RECALLED)?;
    let (memories, messages): (Vec<StoredRecord>, Vec<StoredRecord>) =
        found.into_iter().partition(|record| record.kind == &MEMORY);
    let mut text = String::new();
    for (records, note) in [(memories, fence::MEMORY_NOTE), (messages, fence::HIT_NOTE)] {
        let listing = Listing::new(records.into_iter().map(Item::from).collect(), note, max_tokens);
        call.count_uses(&listing.shown);
        if !listing.shown.is_empty() {
            text.push_str(&listing.text);
            text.push('\n');
        }
    }
    if text.is_empty() {
        text.push_str("Nothing is known about this task yet.\n\n");
    }
    text.push_str(
        "Before you begin, look at what is quoted above. If you need more, call memory_search for strategies and warnings, \
         recall for what was said, and context_search for documents. When a memory helped, or did not, say so with \
         memory_feedback and its id.\n\nThe task:\n",
    );
    Ok(text + task)
}

fn record(_: &Call, arguments: &Arguments) -> Result<String> {
    let task = arguments.text("task").filter(|task| !task.trim().is_empty());
    let about = task.map(|task| format!(" It was about: {task}")).unwrap_or_default();
    Ok(format!(
        "Look back at this session.{about}\n\n\
         1. For each memory that you were shown, call memory_outcome with its id, and memory_feedback if it helped or \
         misled you.\n\
         2. Call memory_record once for each lesson that will hold in other sessions too: what to do or to avoid, when, \
         and why. outcome is failure for a warning. Leave out what any engineer knows, and what is in the code.\n\
         3. Call remember for decisions and facts of this project that are written down nowhere else.\n\
         4. Call session_end with the task, the approach, the outcome, and tags."
    ))
}
