//! Memories as a list, and as rows for people.

use super::confidence::{Evidence, PriorRule};
use super::derived::{ACTIVE, ARCHIVED, confidence_of, derive, is_active};
use crate::cli::Layout;
use crate::error::Result;
use crate::record::{MEMORY, SignalType, StoredRecord};
use crate::store::{Select, Store};
use crate::view::{self, Heads};
use std::collections::BTreeMap;

/// The selection of memories by their state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Active,
    Archived,
    All,
}

impl State {
    /// The state of a name.
    pub fn named(name: &str) -> Option<State> {
        [(ACTIVE, State::Active), (ARCHIVED, State::Archived), ("all", State::All)]
            .into_iter()
            .find_map(|(known, state)| (known == name).then_some(state))
    }

    /// Whether it holds for a record whose members are derived; records of other kinds have no state.
    fn admits(self, record: &StoredRecord) -> bool {
        record.kind != &MEMORY || self == State::All || is_active(record) == (self == State::Active)
    }
}

/// The last `count` records of a selection in a state, without the last `offset`, oldest first; with derived
/// members.
pub fn last(
    store: &mut dyn Store,
    which: &Select,
    state: State,
    count: usize,
    offset: usize,
    rule: PriorRule,
) -> Result<Vec<StoredRecord>> {
    let wanted = count.saturating_add(offset);
    let mut fetched = wanted;
    loop {
        let mut records = store.last_of(which, fetched)?;
        let all = records.len() < fetched;
        derive(store, &mut records, rule)?;
        records.retain(|record| state.admits(record));
        if all || records.len() >= wanted {
            let end = records.len().saturating_sub(offset);
            records.truncate(end);
            return Ok(records.split_off(end.saturating_sub(count)));
        }
        fetched = fetched.saturating_mul(2);
    }
}

/// A memory for people on three lines: its short id, time and title; the row of `standing`; and the first
/// line of its text that is no heading and says more than the title.
pub fn entry(memory: &StoredRecord, evidence: &Evidence, heads: &Heads, layout: &Layout) -> String {
    let title = view::visible(&memory.member_text("title")).replace('\n', " ");
    let is_text = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    let known = title.to_lowercase();
    let is_new = |line: &&str| {
        !known.contains(line.rsplit(": ").next().unwrap_or(line).trim().to_lowercase().as_str())
    };
    let line = memory.text.lines().filter(is_text).find(is_new);
    let line = line.or_else(|| memory.text.lines().find(is_text)).unwrap_or_default();
    let excerpt = view::excerpt(line, layout.width.saturating_sub(6));
    let (head, standing) = (heads.titled(memory, &title, layout), standing(memory, evidence));
    format!("{head}    {standing}\n    {excerpt}\n")
}

/// A memory as a row for people: `0.82  3 uses  explicit 2:0  outcome 1:0  success  Run the tests first`.
pub fn row(memory: &StoredRecord, evidence: &Evidence) -> String {
    let title = view::visible(&memory.member_text("title")).replace('\n', " ");
    format!("{}  {title}\n", standing(memory, evidence))
}

/// The confidence of a memory, its uses, its signals, as those for and those against it, and its outcome.
fn standing(memory: &StoredRecord, evidence: &Evidence) -> String {
    let uses = if evidence.uses == 1 { "use " } else { "uses" };
    let mut row = format!("{:.2}  {:>3} {uses}", confidence_of(memory), evidence.uses);
    for (signal_type, [positive, negative]) in SignalType::ALL.into_iter().zip(evidence.counts) {
        row.push_str(&format!("  {} {positive}:{negative}", signal_type.name()));
    }
    let archived = if is_active(memory) { "" } else { "  archived" };
    format!("{row}  {:<7}{archived}", memory.member_text("outcome"))
}

/// The sums of the signals about some memories, by their ids; memories without signals are left out.
pub fn evidence(store: &mut dyn Store, ids: &[&str]) -> Result<BTreeMap<String, Evidence>> {
    let sums = store.tallies(ids)?;
    Ok(sums.into_iter().map(|(id, sums)| (id, Evidence::from_sums(&sums))).collect())
}
