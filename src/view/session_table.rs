//! The sessions of a partition as a table for people.

use super::heads::{NARROW_COLUMNS, shown_scope};
use super::visible::{date, visible};
use super::wrap::{columns, cut};
use crate::cli::{Layout, Style};
use crate::record::{Scope, SessionSummary};
use std::fmt::Write;

/// The least columns of a title, and of a name.
const MIN_TITLE_COLUMNS: usize = 12;
const MIN_NAME_COLUMNS: usize = 12;

/// One line for each session: `2026-11-21 07:03  12 messages  garden/desk  Where are my tomatoes?`. Where
/// that is too wide, the title is shortened first, then the instance, then the date and the unit are left
/// out. The command that continues a session, if there is one, is on a line below it.
pub fn sessions(sessions: &[SessionSummary], commands: &[Option<String>], layout: &Layout) -> String {
    let counts: Vec<String> = sessions.iter().map(|session| session.messages.to_string()).collect();
    let counts_width = counts.iter().map(|count| count.len()).max().unwrap_or_default();
    let is_narrow = layout.width < NARROW_COLUMNS;
    let dates_width = if is_narrow { 5 } else { 16 };
    let units_width = if is_narrow { 0 } else { " messages".len() };
    let left = layout.width.saturating_sub(dates_width + 2 + counts_width + units_width + 2);
    let most = left.saturating_sub(MIN_TITLE_COLUMNS + 2).max(MIN_NAME_COLUMNS);
    let names: Vec<String> = sessions.iter().map(|session| table_scope(&session.scope, most)).collect();
    let names_width = names.iter().map(|name| columns(name)).max().unwrap_or_default();
    let mut out = String::new();
    for (((session, count), name), command) in sessions.iter().zip(&counts).zip(&names).zip(commands) {
        let date = date(session.last, &layout.zone);
        let shown = if is_narrow { date.get(5..10).unwrap_or(&date) } else { &date };
        let at = layout.paint(Style::Dim, shown);
        // As wide as the plural, below which it stands.
        let unit = match session.messages {
            _ if is_narrow => "",
            1 => " message ",
            _ => " messages",
        };
        let padding = " ".repeat(names_width - columns(name));
        let title = visible(&session.title).replace('\n', " ");
        let title = cut(&title, left.saturating_sub(names_width + 2));
        let name = layout.paint(Style::Green, name);
        let _ = writeln!(out, "{at}  {count:>counts_width$}{unit}  {name}{padding}  {title}");
        if let Some(command) = command {
            out.push_str(&resume_line(command, layout));
        }
    }
    out
}

/// The line with the command that resumes a session. It is not wrapped, so that it can be copied.
pub fn resume_line(command: &str, layout: &Layout) -> String {
    format!("    {}\n", layout.paint(Style::Dim, &visible(command).replace('\n', " ")))
}

/// A scope in at most this many columns, whole if it fits.
fn table_scope(scope: &Scope, width: usize) -> String {
    let whole = visible(&scope.to_string()).replace('\n', " ");
    if columns(&whole) <= width { whole } else { shown_scope(scope, width) }
}
