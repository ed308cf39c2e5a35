//! Hits as they are printed: as lines, as text for people, or in the words of Reservoir.

use super::{Heads, ReservoirLines, hit, newer, parts, record, visible};
use crate::cli::Layout;
use crate::record::{Hit, Query, StoredRecord};
use crate::text::{self, Term};
use std::borrow::Cow;
use std::sync::Arc;

/// How hits are printed.
#[derive(Clone, Debug)]
pub struct HitFormat {
    pub style: HitStyle,
    /// Whether the search went by meaning, so that Reservoir shows scores.
    pub by_meaning: bool,
    /// Whether records of several kinds are searched, so that a hit that is no message says its kind.
    pub has_kinds: bool,
    /// Whether the parts of a score are printed.
    pub explain: bool,
    /// Whether messages around the hits are printed, so that a line separates one from the next.
    pub has_context: bool,
    /// The terms that stand out in the texts of hits.
    pub highlighted: Vec<Term>,
}

/// The reader of printed hits.
#[derive(Clone, Debug)]
pub enum HitStyle {
    /// Programs, as JSON lines.
    Lines,
    People(Layout),
    /// Those who know Reservoir.
    Reservoir(ReservoirLines),
}

/// A hit with the messages printed around it.
#[derive(Clone, Debug)]
pub struct RankedHit<'a> {
    /// From 1.
    pub rank: usize,
    pub hit: &'a Hit,
    /// The messages before it, the nearest first.
    pub before: &'a [Arc<StoredRecord>],
    pub after: &'a [Arc<StoredRecord>],
    pub heads: &'a Heads,
}

impl HitStyle {
    /// The style of text in a layout, if there is one; as Reservoir if `is_reservoir`, whose reader may be a
    /// terminal.
    pub fn new(layout: Option<Layout>, is_reservoir: bool, to_terminal: bool) -> HitStyle {
        match layout {
            _ if is_reservoir => HitStyle::Reservoir(ReservoirLines { to_terminal }),
            Some(layout) => HitStyle::People(layout),
            None => HitStyle::Lines,
        }
    }
}

impl HitFormat {
    /// Hits in a style, without anything else.
    pub fn new(style: HitStyle) -> HitFormat {
        HitFormat {
            style,
            by_meaning: false,
            has_kinds: false,
            explain: false,
            has_context: false,
            highlighted: Vec::new(),
        }
    }

    /// The layout of text for people.
    pub fn layout(&self) -> Option<&Layout> {
        match &self.style {
            HitStyle::People(layout) => Some(layout),
            _ => None,
        }
    }

    /// Appends a hit; for people, the first of a query line after its question.
    pub fn write(&self, ranked: &RankedHit, query: Option<&Query>, out: &mut Vec<u8>) {
        let RankedHit { rank, hit, before, after, .. } = *ranked;
        match &self.style {
            HitStyle::Lines => {
                for record in before.iter().rev() {
                    hit.write_neighbour(record, query, out);
                }
                hit.write_line(rank, self.explain, query, out);
                for record in after {
                    hit.write_neighbour(record, query, out);
                }
            }
            HitStyle::People(layout) => {
                if let Some(query) = query.filter(|_| rank == 1) {
                    out.extend_from_slice(heading(query).as_bytes());
                }
                out.extend_from_slice(self.block(ranked, layout).as_bytes());
            }
            HitStyle::Reservoir(lines) => {
                let before = before.iter().rev().map(|record| lines.message(record));
                let after = after.iter().map(|record| lines.message(record));
                let hit = lines.hit(rank, hit, self.by_meaning);
                out.extend_from_slice(before.chain([hit]).chain(after).collect::<String>().as_bytes());
            }
        }
    }

    /// Appends what answers a query line without hits.
    pub fn write_miss(&self, query: Option<&Query>, out: &mut Vec<u8>) {
        match (query, &self.style) {
            (Some(query), HitStyle::Lines) => query.write_miss(out),
            (Some(query), HitStyle::People(_)) => out.extend_from_slice(heading(query).as_bytes()),
            _ => {}
        }
    }

    /// A hit for people, of a long message what is quoted, with the messages around it.
    fn block(&self, ranked: &RankedHit, layout: &Layout) -> String {
        let RankedHit { rank, hit: found, before, after, heads } = *ranked;
        let found = quoted(found);
        let matched = match &self.highlighted[..] {
            [] => Vec::new(),
            terms => text::occurrences(terms, &found.record.shown_text()),
        };
        let mut block = String::new();
        if self.has_context && rank > 1 {
            block.push_str("--\n");
        }
        for message in before.iter().rev() {
            block.push_str(&record(message, heads, layout));
        }
        block.push_str(&hit((rank, self.has_kinds), &found, &matched, heads, layout));
        block.push_str(&newer(&found.why.newer));
        if self.explain {
            block.push_str(&parts(&found));
        }
        for message in after {
            block.push_str(&record(message, heads, layout));
        }
        block
    }
}

/// A hit whose text is what is quoted of it.
fn quoted(hit: &Hit) -> Cow<'_, Hit> {
    let ranges = hit.why.quoted.as_deref();
    match ranges.and_then(|ranges| text::quotation(&hit.record.text, ranges)) {
        Some(text) => {
            let record = StoredRecord { text, ..hit.record.clone() };
            Cow::Owned(Hit { record, ..hit.clone() })
        }
        None => Cow::Borrowed(hit),
    }
}

/// The question of a query line, above its hits.
fn heading(query: &Query) -> String {
    format!("{}\n", visible(&query.text))
}
