//! The tree of contexts as text for people.

use super::scope_table::size;
use super::visible;
use super::wrap::{columns, cut};
use crate::cli::{Layout, Style};
use crate::record::{Address, StoredRecord};
use std::fmt::Write;

/// The widest column of names.
const MAX_NAME_COLUMNS: usize = 40;

/// The fewest columns in which an abstract is shown.
const MIN_ABSTRACT_COLUMNS: usize = 16;

/// One line for each document below an address: its name, indented by its depth, its size, its age, and its
/// abstract as far as there is room.
pub fn tree(documents: &[StoredRecord], root: &Address, now: i64, layout: &Layout) -> String {
    let rows: Vec<[String; 4]> = documents.iter().map(|document| row(document, root, now)).collect();
    let width = |at: usize| rows.iter().map(|row| columns(&row[at])).max().unwrap_or_default();
    let names = width(0).min(MAX_NAME_COLUMNS);
    let (sizes, ages) = (width(1), width(2));
    let mut out = String::new();
    for [name, size, age, text] in &rows {
        let padding = " ".repeat(names.saturating_sub(columns(name)));
        let used = columns(name).max(names) + sizes + ages + 6;
        let remaining = layout.width.saturating_sub(used);
        let text = if remaining < MIN_ABSTRACT_COLUMNS {
            String::new()
        } else {
            format!("  {}", cut(text, remaining))
        };
        let _ = writeln!(
            out,
            "{}{padding}  {}{text}",
            layout.paint(Style::Green, name),
            layout.paint(Style::Dim, &format!("{size:>sizes$}  {age:>ages$}")),
        );
    }
    out.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Name, size, age, abstract.
fn row(document: &StoredRecord, root: &Address, now: i64) -> [String; 4] {
    let address = document.address();
    let name = |address: &Address| {
        let depth = address.depth().saturating_sub(root.depth() + 1);
        format!("{}{}", "  ".repeat(depth), address.name())
    };
    let slash = if document.is_directory() { "/" } else { "" };
    let name = address.as_ref().map(name).unwrap_or_default() + slash;
    let size = match document.members.integer("children") {
        Ok(Some(1)) => "1 node".to_owned(),
        Ok(Some(count)) => format!("{count} nodes"),
        _ => size(document.text.len() as u64),
    };
    let one_line = |text: &str| visible(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let abstract_ = Some(document.member_text("abstract")).filter(|text| !text.is_empty());
    let text = abstract_.unwrap_or_else(|| document.member_text("title"));
    [visible(&name).replace('\n', " "), size, age(now - document.timestamp), one_line(&text)]
}

/// A time span in its unit: `3 min`, `5 h`, `12 d`.
fn age(ms: i64) -> String {
    let minutes = ms.max(0) / 60_000;
    match minutes {
        0..60 => format!("{minutes} min"),
        60..2880 => format!("{} h", minutes / 60),
        _ => format!("{} d", minutes / 1440),
    }
}

/// The text of a document: its content, else its overview, else its abstract; or that of a level of detail, 0
/// to 2, else of the nearest level above.
pub fn document(document: &StoredRecord, level: u8) -> String {
    let texts = [document.text.clone(), document.member_text("overview"), document.member_text("abstract")];
    let texts = texts.into_iter().skip(usize::from(2 - level.min(2)));
    let text = texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
    let text = visible(&text);
    if text.is_empty() || text.ends_with('\n') { text } else { text + "\n" }
}
