//! The scopes of a store as a table for people.

use super::wrap::columns;
use super::{date, visible};
use crate::cli::{Layout, Style};
use crate::record::ScopeSummary;
use std::fmt::Write;

/// The columns of two dates and the space around them.
const DATES_COLUMNS: usize = 2 + 16 + 3 + 16;

/// One line for each scope: `garden/desk  12 messages  3.4 KB  2026-11-01 07:03 to 2026-11-21 07:03`; on
/// narrow terminals the dates stand below.
pub fn scopes(summaries: &[ScopeSummary], layout: &Layout) -> String {
    let rows: Vec<(String, String, String)> = summaries
        .iter()
        .map(|summary| {
            let name = visible(&summary.scope.to_string()).replace('\n', " ");
            // As wide as the plural, below which it stands.
            let unit = if summary.messages == 1 { "message " } else { "messages" };
            (name, format!("{} {unit}", summary.messages), size(summary.bytes))
        })
        .collect();
    let width = |column: fn(&(String, String, String)) -> &str| {
        rows.iter().map(|row| columns(column(row))).max().unwrap_or_default()
    };
    let (names, counts, sizes) = (width(|row| &row.0), width(|row| &row.1), width(|row| &row.2));
    let is_wide = names + 2 + counts + 2 + sizes + DATES_COLUMNS <= layout.width;
    let mut out = String::new();
    for ((name, count, size), summary) in rows.iter().zip(summaries) {
        let padding = " ".repeat(names - columns(name));
        let first = date(summary.first, &layout.zone);
        let last = date(summary.last, &layout.zone);
        let dates = layout.paint(Style::Dim, &format!("{first} to {last}"));
        let name = layout.paint(Style::Green, name);
        let _ = if is_wide {
            writeln!(out, "{name}{padding}  {count:>counts$}  {size:>sizes$}  {dates}")
        } else {
            writeln!(out, "{name}\n  {}, {size}\n  {dates}", count.trim_end())
        };
    }
    out
}

/// A number of bytes in its unit: `812 B`, `3.4 KB`.
pub(super) fn size(bytes: u64) -> String {
    let units = ["KB", "MB", "GB", "TB"];
    let Some(step) = (0..units.len()).rev().find(|step| bytes >= 1000_u64.pow(*step as u32 + 1)) else {
        return format!("{bytes} B");
    };
    format!("{:.1} {}", bytes as f64 / 1000_f64.powi(step as i32 + 1), units[step])
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_a_unit() {
        let sizes = [0, 999, 1000, 3_449, 12_345_678, 5_000_000_000_000].map(size);
        assert_eq!(sizes, ["0 B", "999 B", "1.0 KB", "3.4 KB", "12.3 MB", "5.0 TB"]);
    }
}
