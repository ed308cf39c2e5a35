//! The head in front of a record's text: short id, date, scope, title of the instance and speaker, as far as
//! they fit.

use super::visible::{date, visible};
use super::wrap::{columns, cut};
use crate::cli::{Layout, Style};
use crate::record::{Scope, StoredRecord, title_of_question};
use std::collections::BTreeMap;

/// Narrower terminals show no year, no hour and no score where there is a scope.
pub(super) const NARROW_COLUMNS: usize = 60;

/// The greatest and the least width of a title, and the least of a scope.
const MAX_TITLE_COLUMNS: usize = 60;
const MIN_QUOTED_COLUMNS: usize = 8;
const MIN_SCOPE_COLUMNS: usize = 9;

/// The letters of a UUID that people see, enough to name an instance.
const UUID_LETTERS: usize = 8;

/// The short ids and titles of the records that are shown.
#[derive(Clone, Debug, Default)]
pub struct Heads {
    /// Their short ids, by their ids.
    pub short_ids: BTreeMap<String, String>,
    /// The titles of their instances.
    pub titles: BTreeMap<Scope, String>,
}

impl Heads {
    /// A record's short id, time and scope, and a title, as a line of their own.
    pub fn titled(&self, record: &StoredRecord, title: &str, layout: &Layout) -> String {
        let (head, _) = self.head("", record, (title, Some(Style::Green)), layout);
        head.strip_suffix(':').unwrap_or(&head).to_owned() + "\n"
    }

    /// The head after `lead`, painted, with its width in columns: `5744a1c 2026-11-21 07:03 garden/desk
    /// “Tomatoes” user:`. It is no wider than the terminal: the title is shortened first, then the instance,
    /// then the date.
    pub(super) fn head(
        &self,
        lead: &str,
        record: &StoredRecord,
        heading: (&str, Option<Style>),
        layout: &Layout,
    ) -> (String, usize) {
        let id = self.short_ids.get(&record.id).map_or(String::new(), |id| format!("{id} "));
        let (heading, style) = heading;
        let taken = columns(lead) + id.len() + columns(heading) + 2;
        let mut left = layout.width.saturating_sub(taken);
        let least = if layout.scopes { MIN_SCOPE_COLUMNS + 1 } else { 0 };
        let full = date(record.timestamp, &layout.zone);
        let date = match full.get(5..10) {
            Some(day) if full.len() + least > left => day,
            _ => &full,
        };
        left = left.saturating_sub(date.len());
        let mut origin = format!("{id}{date}");
        if layout.scopes {
            let scope = shown_scope(&record.scope, left.saturating_sub(1));
            left = left.saturating_sub(columns(&scope) + 1);
            origin.push(' ');
            origin.push_str(&scope);
            let width = left.saturating_sub(1).min(MAX_TITLE_COLUMNS);
            // A title that follows from the message itself says nothing more.
            let is_own = |title: &String| title_of_question(&record.text) == *title;
            let title =
                self.titles.get(&record.scope).filter(|title| record.role.is_some() && !is_own(title));
            if let Some(title) = title.filter(|_| width >= MIN_QUOTED_COLUMNS) {
                origin.push(' ');
                origin.push_str(&quoted(title, width));
            }
        }
        let width = columns(lead) + columns(&origin) + columns(heading) + 2;
        let heading = style.map_or(heading.to_owned(), |style| layout.paint(style, heading));
        (format!("{lead}{} {heading}:", layout.paint(Style::Dim, &origin)), width)
    }
}

/// Whether a terminal is too narrow for more than the words that tell records apart.
pub(super) fn is_narrow(layout: &Layout) -> bool {
    layout.scopes && layout.width < NARROW_COLUMNS
}

/// A scope in at most this many columns; an instance that is a UUID by its first letters.
pub(super) fn shown_scope(scope: &Scope, width: usize) -> String {
    let one_line = |name: &str| visible(name).replace('\n', " ");
    let instance = match uuid::Uuid::try_parse(&scope.instance) {
        Ok(_) if scope.instance.len() > UUID_LETTERS => scope.instance.chars().take(UUID_LETTERS).collect(),
        _ => one_line(&scope.instance),
    };
    let partition = one_line(&scope.partition);
    if columns(&partition) + 1 + columns(&instance) <= width {
        return format!("{partition}/{instance}");
    }
    let least = (width / 2).min(columns(&instance));
    let partition = cut(&partition, width.saturating_sub(1 + least));
    let instance = cut(&instance, width.saturating_sub(1 + columns(&partition)));
    format!("{partition}/{instance}")
}

/// A title in quotation marks, in at most this many columns.
fn quoted(title: &str, width: usize) -> String {
    let title = visible(title).split_whitespace().collect::<Vec<_>>().join(" ");
    format!("“{}”", cut(&title, width.saturating_sub(2)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Content, Draft, DraftDefaults, Role};
    use jiff::tz::TimeZone;

    fn message(partition: &str, instance: &str) -> StoredRecord {
        let draft = Draft {
            id: Some("m".to_owned()),
            partition: Some(partition.to_owned()),
            instance: Some(instance.to_owned()),
            timestamp: Some(1_767_225_600_000),
            ..Draft::message(Role::Assistant, Content::Text("x".to_owned()))
        };
        draft.complete(&DraftDefaults { trace_id: "t".to_owned(), ..DraftDefaults::default() }).unwrap()
    }

    fn head(instance: &str, lead: &str, width: usize, scopes: bool) -> String {
        let record = message("garden", instance);
        let mut heads = Heads::default();
        heads.short_ids.insert("m".to_owned(), "5744a1c".to_owned());
        heads.titles.insert(record.scope.clone(), "Where the tomatoes stand in a cold spring".to_owned());
        let layout = Layout { width, colour: false, scopes, zone: TimeZone::UTC };
        let (text, wide) = heads.head(lead, &record, ("assistant", None), &layout);
        assert!(wide == columns(&text) && wide <= width, "{text}");
        text
    }

    #[test]
    fn heads_fit_and_lose_the_title_first() {
        let uuid = "6740e0b6-1c2d-8000-9000-123456789abc";
        assert_eq!(
            head("desk", " 1. 2.31 ", 80, true),
            " 1. 2.31 5744a1c 2026-01-01 00:00 garden/desk “Where the tomatoes s…” assistant:"
        );
        assert_eq!(
            head(uuid, " 1. 2.31 ", 100, true),
            " 1. 2.31 5744a1c 2026-01-01 00:00 garden/6740e0b6 “Where the tomatoes stand in a cold s…” assistant:"
        );
        assert_eq!(
            head("a-device-with-a-name", " 1. ", 40, true),
            " 1. 5744a1c 01-01 gard…/a-de… assistant:"
        );
        assert_eq!(head("desk", "", 40, false), "5744a1c 2026-01-01 00:00 assistant:");
        for width in 30..130 {
            head(uuid, " 1. ", width.max(40), true);
            head("desk", "", width.max(36), false);
        }
    }
}
