//! Actions as the log of a session, for people.

use super::Heads;
use super::heads::shown_scope;
use super::visible::{date, time_of_day, visible};
use super::wrap::{columns, cut};
use crate::cli::{Layout, Style};
use crate::record::{Scope, StoredRecord, action};
use std::collections::BTreeMap;

/// The questions of turns, by scope and trace.
pub type Questions = BTreeMap<(Scope, String), StoredRecord>;

/// Actions in their order, each as [`action`] has it, below the words of the turn that they belong to:
/// `1b2c3d4 2026-11-24 21:35 Why does the webhook fail?`.
pub fn action_log(actions: &[StoredRecord], questions: &Questions, heads: &Heads, layout: &Layout) -> String {
    let mut out = String::new();
    for of_turn in actions.chunk_by(|a, b| a.trace_id == b.trace_id && a.scope == b.scope) {
        let Some(first) = of_turn.first() else { continue };
        let question = questions.get(&(first.scope.clone(), first.trace_id.clone()));
        out.push_str(&heading(question, first, heads, layout));
        out.extend(of_turn.iter().map(|one| action(one, heads, layout)));
    }
    out
}

/// The short id of a question, its time, the scope where the layout shows scopes, its words as far as there
/// is room, and the program that acted.
fn heading(question: Option<&StoredRecord>, first: &StoredRecord, heads: &Heads, layout: &Layout) -> String {
    let shown = question.unwrap_or(first);
    let id = question.and_then(|question| heads.short_ids.get(&question.id));
    let id = id.map_or(String::new(), |id| format!("{id} "));
    let mut origin = format!("{id}{}", date(shown.timestamp, &layout.zone));
    if layout.scopes {
        origin += &format!(" {}", shown_scope(&first.scope, layout.width / 3));
    }
    let program = cut(&one_line(&first.member_text("program")), layout.width / 3);
    let program = if program.is_empty() { program } else { format!(" ({program})") };
    let words = question.map_or("a turn without a question".to_owned(), |question| one_line(&question.text));
    let words = cut(&words, layout.width.saturating_sub(columns(&origin) + 1 + columns(&program)));
    let [origin, program] = [origin, program].map(|text| layout.paint(Style::Dim, &text));
    format!("{origin} {}{program}\n", layout.paint(Style::Green, &words))
}

/// An action in the log: its short id, its time of day, the tool and what that was called with, on one line;
/// and, if it failed, the error on another.
pub fn action(record: &StoredRecord, heads: &Heads, layout: &Layout) -> String {
    let id = heads.short_ids.get(&record.id).map_or(String::new(), |id| format!("{id} "));
    let origin = format!("  {id}{}", time_of_day(record.timestamp, &layout.zone));
    let room = layout.width.saturating_sub(columns(&origin) + 1);
    let tool = cut(&one_line(&record.member_text("tool")), room);
    let (purpose, error) = action::outline(record);
    let left = room.saturating_sub(columns(&tool) + 2);
    let (dim, called) = (layout.paint(Style::Dim, &origin), layout.paint(Style::Yellow, &tool));
    let purpose = if purpose.is_empty() || left == 0 {
        String::new()
    } else {
        format!(": {}", cut(&one_line(&purpose), left))
    };
    let mut out = format!("{dim} {called}{purpose}\n");
    if let Some(error) = error {
        let margin = columns(&origin) + 1;
        let colon = if error.is_empty() { "" } else { ": " };
        let failed = cut(&format!("failed{colon}{}", one_line(&error)), layout.width.saturating_sub(margin));
        out += &format!("{:margin$}{}\n", "", layout.paint(Style::Red, &failed));
    }
    out
}

fn one_line(text: &str) -> String {
    visible(text).split_whitespace().collect::<Vec<_>>().join(" ")
}
