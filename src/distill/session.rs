//! A session: its task, its approach and its outcome.

use super::error::DistillError;
use crate::error::{Error, Result};
use crate::record::{Object, invalid, missing, texts, time_member, unexpected};
use std::time::Duration;

/// How a session ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SessionOutcome {
    Success,
    Failure,
    /// Some of it worked.
    Partial,
}

const OUTCOMES: [(&str, SessionOutcome); 3] = [
    ("success", SessionOutcome::Success),
    ("failure", SessionOutcome::Failure),
    ("partial", SessionOutcome::Partial),
];

impl SessionOutcome {
    /// The outcome of a name.
    pub fn named(name: &str) -> Option<SessionOutcome> {
        OUTCOMES.into_iter().find_map(|(known, outcome)| (known == name).then_some(outcome))
    }

    /// Its name in a line.
    pub fn name(self) -> &'static str {
        OUTCOMES.into_iter().find(|(_, outcome)| *outcome == self).map_or("", |(name, _)| name)
    }
}

/// The summary of a session.
#[derive(Clone, PartialEq, Debug)]
pub struct Session {
    pub partition: Option<String>,
    pub instance: Option<String>,
    pub session_id: Option<String>,
    pub outcome: SessionOutcome,
    pub task: String,
    /// The approach; empty if unknown.
    pub approach: String,
    /// The result of it; empty if unknown.
    pub result: String,
    pub tags: Vec<String>,
    pub duration: Option<Duration>,
    /// Milliseconds since 1970, UTC.
    pub completed_at: Option<i64>,
    /// The ids of the messages whose words it has.
    pub messages: Vec<String>,
}

impl Session {
    /// Whether a line is the summary of a session: by its kind, or without one by its shape.
    pub fn is_summary(line: &Object) -> bool {
        match line.get("kind") {
            None | Some("null") => {
                let others = ["messages", "choices", "role", "content", "rel"];
                line.has("task") && !others.iter().any(|member| line.has(member))
            }
            Some(kind) => kind == "\"summary\"",
        }
    }

    /// Reads a summary line. Errors begin with the member at fault.
    pub fn parse(line: &Object) -> Result<Session> {
        let text = |member: &str| Ok::<_, Error>(line.text(member)?.unwrap_or_default().trim().to_owned());
        let name = |member, fault| match line.text(member)? {
            Some(name) if name.is_empty() => Err(invalid(member, fault)),
            name => Ok(name),
        };
        let partition = match name("partition", "project ID cannot be empty")? {
            None => name("project_id", "project ID cannot be empty")?,
            partition => partition,
        };
        let outcome = line.text("outcome")?.unwrap_or_default();
        let Some(outcome) = SessionOutcome::named(&outcome) else {
            return Err(DistillError::Outcome { found: outcome }.into());
        };
        let task = text("task")?;
        if task.is_empty() {
            return Err(missing("task"));
        }
        let duration = match line.integer("duration_ms")? {
            None => None,
            Some(ms) => Some(Duration::from_millis(u64::try_from(ms).map_err(|_| {
                unexpected("duration_ms", "a number of milliseconds from 0", &ms.to_string())
            })?)),
        };
        Ok(Session {
            partition,
            instance: name("instance", "the name cannot be empty")?,
            session_id: name("session_id", "session ID cannot be empty")?,
            outcome,
            task,
            approach: text("approach")?,
            result: text("result")?,
            tags: unique_tags(texts(line, "tags")?.unwrap_or_default()),
            duration,
            completed_at: time_member(line, "completed_at")?,
            messages: Vec::new(),
        })
    }
}

/// Tags without blanks around them, each once, in their order.
pub(super) fn unique_tags(tags: Vec<String>) -> Vec<String> {
    let mut unique: Vec<String> = Vec::new();
    for tag in tags {
        let tag = tag.split_whitespace().collect::<Vec<_>>().join(" ");
        if !tag.is_empty() && !unique.contains(&tag) {
            unique.push(tag);
        }
    }
    unique
}
