//! The sessions of a partition as a table for people.

use super::wrap::columns;
use super::{date, visible};
use crate::cli::{Layout, Style};
use crate::record::SessionSummary;
use std::fmt::Write;

/// One line for each session: `2026-11-21 07:03  12 messages  garden/desk  Where are my tomatoes?`.
pub fn sessions(sessions: &[SessionSummary], layout: &Layout) -> String {
    let names: Vec<String> =
        sessions.iter().map(|session| visible(&session.scope.to_string()).replace('\n', " ")).collect();
    let counts: Vec<String> = sessions.iter().map(|session| session.messages.to_string()).collect();
    let widest = |texts: &[String]| texts.iter().map(|text| columns(text)).max().unwrap_or_default();
    let (names_width, counts_width) = (widest(&names), widest(&counts));
    let mut out = String::new();
    for ((session, name), count) in sessions.iter().zip(&names).zip(&counts) {
        let padding = " ".repeat(names_width - columns(name));
        let at = layout.paint(Style::Dim, &date(session.last, &layout.zone));
        let title = visible(&session.title);
        // As wide as the plural, below which it stands.
        let unit = if session.messages == 1 { "message " } else { "messages" };
        let name = layout.paint(Style::Green, name);
        let _ = writeln!(out, "{at}  {count:>counts_width$} {unit}  {name}{padding}  {title}");
    }
    out
}
