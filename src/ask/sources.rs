//! The records that were recalled for a question, with their places, as text for people.

use crate::cli::Layout;
use crate::enrich::Enriched;
use crate::record::{Account, DOCUMENT, MEMORY, Reach, RecalledPart, Scopes, StoredRecord, kinds};
use crate::store::{self, Select, Store};
use crate::text::counted;
use crate::view::{self, visible};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::collections::{BTreeMap, HashMap};

/// The most places that the summary names.
const MAX_PLACES: usize = 3;

/// The columns of a place, and the least of the beginning of a text.
const PLACE_COLUMNS: usize = 30;
const MIN_EXCERPT_COLUMNS: usize = 20;

/// The records that were recalled for a question.
pub(super) struct Sources {
    records: Vec<StoredRecord>,
    short_ids: BTreeMap<String, String>,
    /// The tokens of the recalled text, with those around it.
    tokens: u64,
    /// The number of earlier messages for which there was no room.
    dropped: usize,
    /// From where records could be recalled.
    reach: String,
}

impl Sources {
    /// The records that the account of a request names.
    pub(super) fn of(enriched: &Enriched, store: Option<&mut dyn Store>) -> Sources {
        let account = &enriched.account;
        let scope = &enriched.account_record.scope;
        let parts: Vec<&RecalledPart> = parts(account).collect();
        let reach = match account.reach {
            Some(Reach::Partition) => format!("the partition {}", visible(&scope.partition)),
            _ => visible(&scope.to_string()),
        };
        let mut sources = Sources {
            records: Vec::new(),
            short_ids: BTreeMap::new(),
            tokens: account.fence + parts.iter().map(|part| part.tokens).sum::<u64>(),
            dropped: account.dropped.len(),
            reach,
        };
        if let Some(store) = store.filter(|_| !parts.is_empty()) {
            let ids: Vec<&str> = parts.iter().map(|part| part.id.as_str()).collect();
            let which = Select::records(kinds(), Scopes::Partition(scope.partition.clone()));
            // Those of a store that fails now cannot be named.
            let found = store.get(&ids, &which).unwrap_or_default();
            sources.short_ids = store::short_ids(store, ids.iter().copied()).unwrap_or_default();
            let mut found: HashMap<String, StoredRecord> =
                found.into_iter().map(|record| (record.id.clone(), record)).collect();
            sources.records = ids.iter().filter_map(|id| found.remove(*id)).collect();
        }
        sources
    }

    /// `recalled 3 messages (2 from May: shop/garden, 1 from codex), 412 tokens`; `now` is in milliseconds
    /// since 1970, UTC. Today's have no date.
    pub(super) fn summary(&self, now: i64, zone: &TimeZone) -> String {
        let mut places: Vec<(String, usize)> = Vec::new();
        for record in &self.records {
            let place = match age(record.timestamp, now, zone) {
                Some(age) => format!("{age}: {}", place(record)),
                None => place(record),
            };
            match places.iter_mut().find(|(known, _)| *known == place) {
                Some((_, count)) => *count += 1,
                None => places.push((place, 1)),
            }
        }
        let others: usize = places.iter().skip(MAX_PLACES).map(|(_, count)| count).sum();
        places.truncate(MAX_PLACES);
        let mut places: Vec<String> =
            places.into_iter().map(|(place, count)| format!("{count} from {place}")).collect();
        if others > 0 {
            places.push(format!("{others} from elsewhere"));
        }
        let recalled = match &places[..] {
            [] => format!("recalled nothing from {}", self.reach),
            _ => {
                let tokens = counted(self.tokens, "token");
                format!("recalled {} ({}), {tokens}", self.counts(), places.join(", "))
            }
        };
        match self.dropped {
            0 => recalled,
            dropped => {
                let messages = counted(dropped as u64, "earlier message");
                format!("{recalled}; no room for {messages}")
            }
        }
    }

    /// `3 messages, 1 memory`.
    fn counts(&self) -> String {
        let count = |noun| self.records.iter().filter(|record| noun_of(record) == noun).count();
        let counts = ["message", "memory", "document"].map(|noun| (count(noun), noun));
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        counts.map(|(count, noun)| counted(count as u64, noun)).collect::<Vec<_>>().join(", ")
    }

    /// From where records could be recalled: `the partition shop`.
    pub(super) fn reach(&self) -> &str {
        &self.reach
    }

    /// A line for each record: `5744a1c 2026-05-03 14:02 shop/garden user: “The tomatoes…”`.
    pub(super) fn lines(&self, layout: &Layout) -> Vec<String> {
        let line = |record: &StoredRecord| {
            let id = self.short_ids.get(&record.id).unwrap_or(&record.id);
            let date = view::date(record.timestamp, &layout.zone);
            let speaker = record.role.map_or(record.kind.name, |role| role.name());
            let head = format!("{id} {date} {} {speaker}: ", place(record));
            let columns = layout.width.saturating_sub(head.chars().count() + 2).max(MIN_EXCERPT_COLUMNS);
            format!("{head}{}", view::excerpt(&record.shown_text(), columns))
        };
        self.records.iter().map(line).collect()
    }
}

/// The parts of an account that were recalled: messages, memories, documents.
fn parts(account: &Account) -> impl Iterator<Item = &RecalledPart> {
    account.recalled.iter().chain(&account.recent).chain(&account.memories).chain(&account.documents)
}

fn noun_of(record: &StoredRecord) -> &'static str {
    match record.kind {
        kind if kind == &MEMORY => "memory",
        kind if kind == &DOCUMENT => "document",
        _ => "message",
    }
}

/// The program that a record was imported from; else its scope.
fn place(record: &StoredRecord) -> String {
    let program = if record.kind == &DOCUMENT { String::new() } else { record.member_text("source") };
    if program.is_empty() {
        view::place(&record.scope, PLACE_COLUMNS)
    } else {
        visible(&program).replace('\n', " ")
    }
}

/// The month of a time, `May` or `May 2025`; none for today. Both times are in milliseconds since 1970, UTC.
fn age(time: i64, now: i64, zone: &TimeZone) -> Option<String> {
    let local = |ms| Timestamp::from_millisecond(ms).ok().map(|time| time.to_zoned(zone.clone()));
    let (time, now) = (local(time)?, local(now)?);
    let format = if time.year() == now.year() { "%B" } else { "%B %Y" };
    (time.date() != now.date()).then(|| time.strftime(format).to_string())
}
