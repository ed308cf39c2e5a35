//! Memories of a session by rule: its own words under headings.

use super::conversation::cut;
use super::line::{NewMemory, line};
use super::session::{Session, SessionOutcome};
use crate::record::{FAILURE, Object, SUCCESS};

/// The greatest length of a task in a title, in characters.
const MAX_TASK_CHARS: usize = 50;

/// The memories of a session as lines: of success a strategy, of failure a warning, of a partial success
/// both. `now` is the time of those whose session has none, in milliseconds since 1970, UTC.
pub fn by_rule(session: &Session, now: i64) -> Vec<Object> {
    let outcomes: &[&str] = match session.outcome {
        SessionOutcome::Success => &[SUCCESS],
        SessionOutcome::Failure => &[FAILURE],
        SessionOutcome::Partial => &[SUCCESS, FAILURE],
    };
    let memory = |outcome: &&str| {
        let (title, content) = (title(session, outcome), content(session, outcome));
        line(session, &NewMemory { title, content, outcome, tags: session.tags.clone() }, now)
    };
    outcomes.iter().map(memory).collect()
}

/// `Success: ` or `Anti-pattern: ` and the beginning of the task on one line, with a capital.
fn title(session: &Session, outcome: &str) -> String {
    let prefix = if outcome == FAILURE { "Anti-pattern: " } else { "Success: " };
    let task = session.task.split_whitespace().collect::<Vec<_>>().join(" ");
    let task = cut(&task, MAX_TASK_CHARS);
    let mut rest = task.chars();
    let first: String = rest.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{prefix}{first}{}", rest.as_str())
}

/// The sections of a memory; those that would be empty are left out.
fn content(session: &Session, outcome: &str) -> String {
    let tags = session.tags.join(", ");
    let (approach, result, last, advice) = match outcome {
        FAILURE => (
            "Failed Approach (Avoid This)",
            "What Went Wrong",
            "Warning",
            format!("Avoid this approach where the task is about {tags}. Try an alternative."),
        ),
        _ => (
            "Successful Approach",
            "Result",
            "When to Use",
            format!("Use this approach where the task is about {tags}."),
        ),
    };
    let advice = if tags.is_empty() { "" } else { advice.as_str() };
    let sections = [
        ("Task", session.task.as_str()),
        (approach, &session.approach),
        (result, &session.result),
        ("Tags", &tags),
        (last, advice),
    ];
    let sections = sections.iter().filter(|(_, text)| !text.is_empty());
    sections.map(|(heading, text)| format!("## {heading}\n\n{text}")).collect::<Vec<_>>().join("\n\n")
}
