//! A memory of a session as a line.

use super::session::Session;
use crate::record::{FAILURE, Object, Origin, STRATEGY, quote, time};
use std::time::Duration;

/// A distilled memory, made by rule or by a model.
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
    // A session that does not say when it ended has ended now.
    line.set("timestamp", session.completed_at.unwrap_or(now).to_string());
    line
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
