//! Records as text for people: one paragraph each, wrapped, with control characters made visible.

mod actions;
mod audit_table;
mod heads;
mod hits;
mod reservoir;
mod scope_table;
mod session_table;
mod tree;
mod visible;
mod wrap;

pub use actions::{Questions, action, action_log};
pub use audit_table::audit;
pub use heads::Heads;
pub use hits::{HitFormat, HitStyle, RankedHit};
pub use reservoir::ReservoirLines;
pub use scope_table::scopes;
pub use session_table::{resume_line, sessions};
pub use tree::{document, tree};
pub use visible::{date, escape_controls, visible};

use crate::cli::{Layout, Style};
use crate::record::{
    Hit, MESSAGE, NewerStatement, Object, RecallRule, Role, Scope, StoredRecord, unique_prefix,
};
use std::fmt::Write;
use std::ops::Range;
use unicode_width::UnicodeWidthChar;
use wrap::{Margins, columns, wrap};

/// `5744a1c 2026-11-21 07:03 user: text`, wrapped, with a line end; where the layout shows scopes,
/// `garden/desk` and the title of the instance precede the role.
pub fn record(record: &StoredRecord, heads: &Heads, layout: &Layout) -> String {
    paragraph("", record, &[], heads, layout)
}

/// The same with a mark in front.
pub fn led(mark: &str, record: &StoredRecord, heads: &Heads, layout: &Layout) -> String {
    paragraph(mark, record, &[], heads, layout)
}

/// A record with its rank and score in front: ` 1. 2.31 5744a1c 2026-11-21 07:03 user: text`. The parts of
/// the text that matched are highlighted: byte ranges in their order, which do not overlap. A message with a
/// rule of recall has it after the score: ` 1. 2.31 never 5744a1c`; with `names_kind`, another record has its
/// kind there: ` 1. 2.31 document`.
pub fn hit(
    (rank, names_kind): (usize, bool),
    hit: &Hit,
    matched: &[Range<usize>],
    heads: &Heads,
    layout: &Layout,
) -> String {
    let score = if heads::is_narrow(layout) || !hit.is_ranked() {
        String::new()
    } else {
        format!("{:.2} ", hit.score)
    };
    let rule = match hit.why.rule {
        RecallRule::Auto => String::new(),
        rule => format!("{} ", rule.name()),
    };
    let kind = hit.record.kind;
    let is_named = kind == &MESSAGE || (kind.heading)(&hit.record) == kind.name;
    let kind = if is_named || !names_kind { String::new() } else { format!("{} ", kind.name) };
    paragraph(&format!("{rank:>2}. {score}{rule}{kind}"), &hit.record, matched, heads, layout)
}

/// The ids that supersede a hit, for the line under it: `    newer: 1a2b3c4d5e6f`.
pub fn newer(statements: &[NewerStatement]) -> String {
    let ids: Vec<String> = statements.iter().map(|newer| unique_prefix(&newer.id)).collect();
    if ids.is_empty() { String::new() } else { format!("    newer: {}\n", ids.join(", ")) }
}

/// A line of JSON whose records were stored in a scope: `stored in garden/garden as user, id 01a2…`, or, for
/// the turn of a response, `stored in garden/garden as user and assistant, trace 01a2…`.
pub fn stored_line(scope: &Scope, line: &[u8]) -> String {
    // The line was stored, so it is an object.
    let object = Object::parse_bytes(line).unwrap_or_default();
    let member = |object: &Object, name| object.valid_text(name);
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

fn paragraph(
    lead: &str,
    record: &StoredRecord,
    matched: &[Range<usize>],
    heads: &Heads,
    layout: &Layout,
) -> String {
    let heading = visible(&(record.kind.heading)(record)).replace('\n', " ");
    let (mut out, head) = heads.head(lead, record, (&heading, record.role.map(style_of)), layout);
    let indent = head + 1;
    let (text, matched) = visible_matches(&record.shown_text(), matched);
    // Long heads on narrow terminals would leave no space beside them.
    let hanging = if indent * 2 > layout.width { 4 } else { indent };
    for (at, line) in wrap(&text, &Margins { width: layout.width, indent, hanging }).into_iter().enumerate() {
        if !line.part.is_empty() {
            let margin = if at > 0 { hanging } else { 1 };
            let _ = write!(out, "{:1$}", "", margin + line.indent);
        }
        highlight(&text, line.part, &matched, layout, &mut out);
        out.push('\n');
    }
    out
}

/// A text, wrapped, without the lead that is on its first line; the others have a margin of this many
/// columns.
pub fn wrapped(lead: &str, text: &str, margin: usize, layout: &Layout) -> String {
    let margins = Margins { width: layout.width, indent: columns(lead), hanging: margin };
    let mut out = String::new();
    for (at, line) in wrap(text, &margins).into_iter().enumerate() {
        if at > 0 {
            let _ = write!(out, "{:1$}", "", margin + line.indent);
        }
        out.push_str(&text[line.part]);
        out.push('\n');
    }
    out
}

/// A scope in at most this many columns, `garden/desk`; the instance that nobody named is left out.
pub fn place(scope: &Scope, width: usize) -> String {
    if scope.is_of_partition_alone() {
        return wrap::cut(&visible(&scope.partition).replace('\n', " "), width);
    }
    heads::shown_scope(scope, width)
}

/// The date of a record, `2026-11-21 07:03`, followed by its scope where the layout shows scopes.
pub fn origin(record: &StoredRecord, layout: &Layout) -> String {
    let date = date(record.timestamp, &layout.zone);
    if !layout.scopes {
        return date;
    }
    format!("{date} {}", visible(&record.scope.to_string()).replace('\n', " "))
}

/// A text made visible, and its matched parts in that.
fn visible_matches(text: &str, matched: &[Range<usize>]) -> (String, Vec<Range<usize>>) {
    let (mut out, mut parts, mut done) = (String::new(), Vec::new(), 0);
    for Range { start, end } in matched {
        out.push_str(&visible(&text[done..*start]));
        let begin = out.len();
        out.push_str(&visible(&text[*start..*end]));
        parts.push(begin..out.len());
        done = *end;
    }
    out.push_str(&visible(&text[done..]));
    (out, parts)
}

/// Appends a part of a text, in which the matched parts stand out.
fn highlight(text: &str, part: Range<usize>, matched: &[Range<usize>], layout: &Layout, out: &mut String) {
    let mut done = part.start;
    for found in matched {
        let (start, end) = (found.start.max(done), found.end.min(part.end));
        if start < end {
            out.push_str(&text[done..start]);
            out.push_str(&layout.paint(Style::Red, &text[start..end]));
            done = end;
        }
    }
    out.push_str(&text[done..part.end]);
}

fn style_of(role: Role) -> Style {
    match role {
        Role::User => Style::Green,
        Role::Assistant => Style::Blue,
        Role::System => Style::Magenta,
        Role::Tool => Style::Yellow,
    }
}

/// The beginning of a text on one line of at most this many columns, in quotation marks.
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
