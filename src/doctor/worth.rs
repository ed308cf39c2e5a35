//! The worth of recall, measured on the user's own data: turns with and without it, and the store's own
//! questions.

mod arms;
mod interval;
mod probe;
mod questions;

use crate::cli::Diagnostics;
use crate::config::Settings;
use crate::error::Result;
use crate::record::{Clock, Object, Scopes};
use crate::store::Store;
use crate::text::counted;
use arms::{Arms, Row};
use interval::{Estimate, MIN_CLUSTERS};
use probe::{DEPTHS, Probe};

/// The comparison of turns with and without recall.
#[derive(Debug)]
pub(super) struct ArmTable {
    rows: Vec<Row>,
}

/// The worth of recall.
#[derive(Debug)]
pub struct Worth {
    comparison: ArmTable,
    probe: Probe,
}

impl ArmTable {
    /// Reads the accounts of some scopes. Fails if the store cannot be read.
    pub(super) fn read(store: &mut dyn Store, scopes: &Scopes) -> Result<ArmTable> {
        let arms = Arms::read(store, scopes)?;
        Ok(ArmTable { rows: if arms.is_empty() { Vec::new() } else { arms.rows() } })
    }

    /// A small table, or the one line that says why there is none.
    pub(super) fn to_text(&self) -> String {
        if self.rows.is_empty() {
            return "no turns to compare yet; enrich.holdout leaves recall out of a share of them\n"
                .to_owned();
        }
        let heads = ["", "with recall", "without", "difference"].map(str::to_owned);
        let cells = self.rows.iter().map(|row| {
            let cell = |estimate: &Option<Estimate>| {
                estimate.as_ref().map_or_else(|| "-".to_owned(), |estimate| text(estimate, row.is_share))
            };
            [row.title.to_owned(), cell(&row.recall), cell(&row.holdout), cell(&row.difference)]
        });
        let cells: Vec<[String; 4]> = std::iter::once(heads).chain(cells).collect();
        let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let (title, recall, holdout) = (width(0), width(1), width(2));
        let line = |[name, one, other, difference]: &[String; 4]| {
            let line = format!("{name:title$}  {one:recall$}  {other:holdout$}  {difference}");
            line.trim_end().to_owned() + "\n"
        };
        let mut table: String = cells.iter().map(line).collect();
        if self.rows.iter().any(|row| row.is_uncertain()) {
            table += &format!(
                "no interval: it takes {MIN_CLUSTERS} conversations on each side, and values that differ\n"
            );
        }
        table
    }

    fn to_objects(&self) -> Vec<Object> {
        let object = |row: &Row| {
            let mut object = Object::default();
            object.set_text("measure", row.name);
            let parts = [("recall", &row.recall), ("holdout", &row.holdout), ("difference", &row.difference)];
            for (name, estimate) in parts {
                if let Some(Estimate { value, interval }) = estimate {
                    let interval = interval.map(|(low, high)| format!(",\"interval\":[{low},{high}]"));
                    object.set(name, format!("{{\"value\":{value}{}}}", interval.unwrap_or_default()));
                }
            }
            object
        };
        self.rows.iter().map(object).collect()
    }
}

impl Row {
    /// Whether it compares the arms, and has no interval.
    fn is_uncertain(&self) -> bool {
        let is_compared = self.name != "conversations" && !self.name.starts_with("turns");
        is_compared && self.difference.is_none_or(|difference| difference.interval.is_none())
    }
}

/// `812 (640 to 1030)`; a share as `52.4 % (49.0 to 55.8)`.
fn text(estimate: &Estimate, is_share: bool) -> String {
    let (factor, decimals, unit) = if is_share { (100.0, 1, " %") } else { (1.0, 0, "") };
    let value = format!("{:.decimals$}{unit}", estimate.value * factor);
    match estimate.interval {
        Some((low, high)) => format!("{value} ({:.decimals$} to {:.decimals$})", low * factor, high * factor),
        None => value,
    }
}

impl Worth {
    /// Compares the turns of some scopes, and asks the store questions of theirs; writes nothing. `clock` is
    /// the time of asking. Fails if the store cannot be read.
    pub fn measure(
        store: &mut dyn Store,
        settings: &Settings,
        scopes: &Scopes,
        clock: Clock,
        diagnostics: &Diagnostics,
    ) -> Result<Worth> {
        let comparison = ArmTable::read(store, scopes)?;
        let probe = Probe::run(store, settings, scopes, clock, diagnostics)?;
        Ok(Worth { comparison, probe })
    }

    /// Tables for people.
    pub fn to_text(&self) -> String {
        let probe = &self.probe;
        let mut text = self.comparison.to_text() + "\n";
        if probe.asked == 0 {
            return text + "no questions: no message has six words that may name its topic\n";
        }
        let how = if probe.by_meaning { "words and meaning" } else { "words" };
        text += &format!("{} of the store, by {how}", counted(probe.asked as u64, "question"));
        if probe.asked < probe.made {
            text += &format!("; there was no time for {} more", probe.made - probe.asked);
        }
        text.push('\n');
        let share = |of: usize, all: usize| format!("{:5.1} %", of as f64 * 100.0 / all as f64);
        for (depth, found) in DEPTHS.iter().zip(probe.found) {
            text += &format!("  turn among the first {depth:<10}{}\n", share(found, probe.asked));
        }
        text += &format!("  turn recalled                 {}\n", share(probe.recalled, probe.asked));
        if probe.foreign == 0 {
            return text + "no other partition has messages enough to be asked\n";
        }
        text += &format!("{} asked in another partition\n", counted(probe.foreign as u64, "question"));
        let answered = share(probe.foreign_answered, probe.foreign);
        text += &format!(
            "  something recalled            {answered}, {} in all\n",
            counted(probe.foreign_records as u64, "record")
        );
        text + &format!("  recalled from beyond it       {:5}\n", probe.strays)
    }

    /// Lines for programs: one for each measure.
    pub fn to_objects(&self) -> Vec<Object> {
        let Probe { made, asked, found, recalled, foreign, .. } = self.probe;
        let mut objects = self.comparison.to_objects();
        let mut own = Object::default();
        own.set_text("measure", "own_questions");
        own.set("by_meaning", if self.probe.by_meaning { "true" } else { "false" });
        for (name, count) in [("made", made), ("asked", asked)] {
            own.set(name, count.to_string());
        }
        for (depth, found) in DEPTHS.iter().zip(found) {
            own.set(&format!("found_in_{depth}"), found.to_string());
        }
        own.set("recalled", recalled.to_string());
        let mut others = Object::default();
        others.set_text("measure", "foreign_questions");
        for (name, count) in [
            ("asked", foreign),
            ("answered", self.probe.foreign_answered),
            ("records", self.probe.foreign_records),
            ("from_elsewhere", self.probe.strays),
        ] {
            others.set(name, count.to_string());
        }
        objects.extend([own, others]);
        objects
    }
}
