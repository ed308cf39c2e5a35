//! Records as text for people: one paragraph each, wrapped, with control characters made visible.

mod reservoir;

pub use reservoir::ReservoirLines;

use crate::cli::{Layout, Style};
use crate::record::{Hit, Object, Role, Scope, StoredRecord, time};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::fmt::Write;
use unicode_width::UnicodeWidthChar;

/// `2026-11-21 07:03 user: text`, wrapped, with a line end.
pub fn record(record: &StoredRecord, layout: &Layout) -> String {
    paragraph("", record, layout)
}

/// A record with its rank and score in front: ` 1. 2.31 2026-11-21 07:03 user: text`.
pub fn hit(rank: usize, hit: &Hit, layout: &Layout) -> String {
    paragraph(&format!("{rank:>2}. {:.2} ", hit.score), &hit.record, layout)
}

/// A line of JSON whose records were stored in a scope: `stored in garden/garden as user, id 01a2…`, or, for the turn of a
/// response, `stored in garden/garden as user and assistant, trace 01a2…`.
pub fn stored_line(scope: &Scope, line: &[u8]) -> String {
    let object = Object::parse_bytes(line).unwrap_or_default();
    let member = |object: &Object, name| object.text(name).ok().flatten();
    let stored = if let Some(id) = member(&object, "id").filter(|_| !object.has("choices")) {
        let role = member(&object, "role").or(member(&object, "kind")).unwrap_or_default();
        format!("{role}, id {id}")
    } else if let Ok(Some(rsv)) = object.object("rsv") {
        format!("user and assistant, trace {}", member(&rsv, "trace_id").unwrap_or_default())
    } else {
        return String::new();
    };
    format!("{}\n", visible(&format!("stored in {scope} as {stored}")).replace('\n', " "))
}

/// The parts of a hit's score, for the line under it: `      1.90 tomato + 0.41 wall`.
pub fn parts(hit: &Hit) -> String {
    let parts: Vec<String> =
        hit.parts.iter().map(|(name, part)| format!("{part:.2} {}", visible(name))).collect();
    if parts.is_empty() { String::new() } else { format!("    {}\n", parts.join(" + ")) }
}

fn paragraph(lead: &str, record: &StoredRecord, layout: &Layout) -> String {
    let date = date(record.timestamp, &layout.zone);
    let heading = visible(&(record.kind.heading)(record)).replace('\n', " ");
    let indent = lead.len() + date.len() + columns(&heading) + 3;
    let date = layout.paint(Style::Dim, &date);
    let heading = match record.role {
        Some(role) => layout.paint(style_of(role), &heading),
        None => heading,
    };
    let head = format!("{lead}{date} {heading}: ");
    let text = visible(&record.shown_text());
    // Long heads on narrow terminals would leave no space beside them.
    let hanging = if indent * 2 > layout.width { 4 } else { indent };
    let mut out = head;
    for (at, line) in wrap(&text, layout.width, indent, hanging).iter().enumerate() {
        if at > 0 && !line.is_empty() {
            let _ = write!(out, "{:hanging$}", "");
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

fn style_of(role: Role) -> Style {
    match role {
        Role::User => Style::Green,
        Role::Assistant => Style::Blue,
        Role::System => Style::Magenta,
        Role::Tool => Style::Yellow,
    }
}

/// A time, in milliseconds since 1970, UTC, as `2026-11-21 07:03`.
pub fn date(ms: i64, zone: &TimeZone) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(time) => time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string(),
        Err(_) => {
            time::utc(ms).map_or_else(|| ms.to_string(), |utc| utc.strftime("%Y-%m-%d %H:%M").to_string())
        }
    }
}

/// The text with control, bidirectional and zero-width characters written out (`\u{202e}`), so that
/// nothing stored can move the cursor or hide; line ends stay.
pub fn visible(text: &str) -> String {
    escape_controls(&text.replace('\t', "    "))
}

/// As `visible`, but tabs stay.
pub fn escape_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' => {}
            c if c.is_control() || is_invisible(c) => {
                let _ = write!(out, "{}", c.escape_unicode());
            }
            c => out.push(c),
        }
    }
    out
}

/// Bidirectional controls (Unicode annex 9), zero-width characters, and the tags that can smuggle text.
/// The joiner and the variation selectors stay: emoji are made with them.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{61c}' | '\u{200b}'..='\u{200c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

/// The least width for a word, in columns.
const MIN_WORD_COLUMNS: usize = 10;

/// Breaks text into lines of at most `width` columns, the first `indent` shorter, the others `hanging`; the first
/// is empty where there would be no room for a word. Words that are longer than a line are broken.
// By hand: textwrap keeps blanks at the start of a line, and begins beside the heading however little room there is.
fn wrap(text: &str, width: usize, indent: usize, hanging: usize) -> Vec<String> {
    let remaining_columns = |lines: &Vec<String>| {
        let taken = if lines.len() == 1 { indent } else { hanging };
        width.saturating_sub(taken).max(MIN_WORD_COLUMNS)
    };
    let mut lines = vec![String::new(); if indent + MIN_WORD_COLUMNS > width { 2 } else { 1 }];
    for (at, paragraph) in text.trim_end().split('\n').enumerate() {
        if at > 0 {
            lines.push(String::new());
        }
        let mut used = 0;
        for word in paragraph.split(' ') {
            let length = columns(word);
            if used > 0 && used + 1 + length > remaining_columns(&lines) {
                lines.push(String::new());
                used = 0;
            } else if used > 0 {
                push(&mut lines, ' ');
                used += 1;
            }
            for c in word.chars() {
                let columns = c.width().unwrap_or(0);
                if used + columns > remaining_columns(&lines) {
                    lines.push(String::new());
                    used = 0;
                }
                push(&mut lines, c);
                used += columns;
            }
        }
    }
    lines
}

fn push(lines: &mut [String], c: char) {
    if let Some(line) = lines.last_mut() {
        line.push(c);
    }
}

/// The beginning of a text on one line of at most so many columns, in quotation marks.
pub fn excerpt(text: &str, width: usize) -> String {
    let text = visible(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if columns(&text) <= width {
        return format!("“{text}”");
    }
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used < width
    };
    let beginning: String = text.chars().take_while(fits).collect();
    format!("“{}…”", beginning.trim_end())
}

fn columns(word: &str) -> usize {
    word.chars().map(|c| c.width().unwrap_or(0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_and_lose_nothing() {
        let text = "one two three\nfour 漢字漢字漢字漢字 supercalifragilistic";
        let lines = wrap(text, 20, 8, 4);
        assert_eq!(lines, ["one two", "three", "four", "漢字漢字漢字漢字", "supercalifragili", "stic"]);
        assert_eq!(wrap("one two", 20, 12, 4), ["", "one two"]);
    }

    #[test]
    fn control_and_bidi_characters_are_escaped() {
        assert_eq!(visible("a\x1b[2Jb\u{202e}c\u{200b}\td\r\n"), "a\\u{1b}[2Jb\\u{202e}c\\u{200b}    d\n");
        assert_eq!(visible("👩\u{200d}💻"), "👩\u{200d}💻");
    }
}
