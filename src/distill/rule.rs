//! Memories of a session by rule: its own words under headings.

use super::conversation::cut;
use super::session::{Session, SessionOutcome};
use crate::record::{FAILURE, Object, Origin, STRATEGY, SUCCESS, quote, time};
use std::time::Duration;

/// The greatest length of a task in a title, in characters.
const MAX_TASK_CHARS: usize = 50;

/// The memories of a session as lines: of success a strategy, of failure a warning, of a partial success both. `now` is
/// the time of those whose session has none, in milliseconds since 1970, UTC.
pub fn memories(session: &Session, now: i64) -> Vec<Object> {
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

/// What is distilled, however it is done.
#[derive(Clone, Debug)]
pub(super) struct NewMemory<'a> {
    pub(super) title: String,
    pub(super) content: String,
    /// `success` or `failure`.
    pub(super) outcome: &'a str,
    pub(super) tags: Vec<String>,
}

/// A memory of a session as a line. Its time is that of the session: distilled again, it is the same memory.
pub(super) fn line(session: &Session, memory: &NewMemory, now: i64) -> Object {
    let mut line = Object::default();
    let mut set = |member: &str, text: &str| {
        if !text.is_empty() {
            line.set_text(member, text);
        }
    };
    set("kind", "memory");
    set("partition", session.partition.as_deref().unwrap_or_default());
    set("instance", session.instance.as_deref().unwrap_or_default());
    set("title", &memory.title);
    set("description", &description(session, memory.outcome));
    set("content", &memory.content);
    set("category", STRATEGY);
    set("outcome", memory.outcome);
    if !memory.tags.is_empty() {
        let tags: Vec<String> = memory.tags.iter().map(|tag| quote(tag)).collect();
        line.set("tags", format!("[{}]", tags.join(",")));
    }
    line.set_text("origin", Origin::Distilled.name());
    line.set("prior", Origin::Distilled.prior(Some(memory.outcome)).to_string());
    if let Some(session_id) = &session.session_id {
        line.set_text("session_id", session_id);
    }
    if let Some(at) = session.completed_at {
        line.set_text("completed_at", &time::rfc3339(at));
    }
    line.set("timestamp", session.completed_at.unwrap_or(now).to_string());
    line
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

/// `Learned from session S (12 min)`.
fn description(session: &Session, outcome: &str) -> String {
    let what = if outcome == FAILURE { "Anti-pattern learned" } else { "Learned" };
    let session_id = session.session_id.as_ref().map_or("a session".to_owned(), |id| format!("session {id}"));
    let duration = session.duration.filter(|duration| !duration.is_zero());
    let duration = duration.map(|duration| format!(" ({})", rounded(duration))).unwrap_or_default();
    format!("{what} from {session_id}{duration}")
}

/// A duration in its greatest unit, and a smaller one: `45 s`, `12 min`, `2 h 5 min`.
fn rounded(duration: Duration) -> String {
    let seconds = (duration.as_millis() + 500) / 1000;
    let minutes = (seconds + 30) / 60;
    match (seconds, minutes) {
        (..60, _) => format!("{seconds} s"),
        (_, ..60) => format!("{minutes} min"),
        (_, minutes) if minutes % 60 == 0 => format!("{} h", minutes / 60),
        (_, minutes) => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}
