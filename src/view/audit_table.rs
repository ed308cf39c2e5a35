//! The audit as a table for people.

use super::visible::{date, visible};
use super::wrap::columns;
use crate::cli::{Layout, Style};
use crate::record::{AuditAction, AuditRow};

/// The name of the owner, whose token has none.
const OWNER: &str = "owner";

/// The columns of the widest action.
const ACTION_COLUMNS: usize = AuditAction::Forget.name().len();

/// One line for each row: `2026-11-21 07:03  ann  read    200  garden/desk  3 records  GET /memory/search`.
/// Where that is too wide, the route is on a line below it.
pub fn audit(rows: &[AuditRow], layout: &Layout) -> String {
    let cells: Vec<[String; 4]> = rows.iter().map(cells).collect();
    let width = |column: usize| cells.iter().map(|row| columns(&row[column])).max().unwrap_or_default();
    let widths = [width(0), width(1), width(2), width(3)];
    let padding = |cells: &[String; 4], at: usize| " ".repeat(widths[at] - columns(&cells[at]));
    let before_route = "2026-11-21 07:03".len() + ACTION_COLUMNS + "200".len() + 2 * 6;
    let is_wide = before_route + widths.iter().sum::<usize>() <= layout.width;
    let mut out = String::new();
    for (row, cells) in rows.iter().zip(&cells) {
        let [token, scope, records, route] = cells;
        let status = match row.status {
            status @ ..400 => status.to_string(),
            status => layout.paint(Style::Red, &status.to_string()),
        };
        out += &format!(
            "{}  {}{}  {:ACTION_COLUMNS$}  {status}  {scope}",
            layout.paint(Style::Dim, &date(row.timestamp, &layout.zone)),
            layout.paint(Style::Green, token),
            padding(cells, 0),
            row.action.name(),
        );
        if is_wide {
            out += &format!("{}  {records}{}  {route}\n", padding(cells, 1), padding(cells, 2));
        } else {
            let records = if records.is_empty() { String::new() } else { format!("  {records}") };
            out += &format!("{records}\n    {}\n", layout.paint(Style::Dim, route));
        }
    }
    out
}

/// The token, the scope, the number of records and the route of a row.
fn cells(row: &AuditRow) -> [String; 4] {
    let shown = |text: &str| visible(text).replace('\n', " ");
    let records = match row.records.count {
        0 => String::new(),
        1 => "1 record".to_owned(),
        count => format!("{count} records"),
    };
    let token = if row.token.is_empty() { OWNER } else { &row.token };
    // Without a name, it is every partition.
    let scope = if row.scope.partition.is_empty() { "*".to_owned() } else { row.scope.to_string() };
    [shown(token), shown(&scope), records, shown(&row.route)]
}
