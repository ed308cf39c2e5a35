//! A selection as conditions in SQL, and as a filter for indexes that hold the time and role of each record.

use super::collections::{Part, Within};
use super::record_columns::{self, ColumnCondition, TABLES, list};
use crate::record::Role;
use crate::store::select::{Except, Select};
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};
use rustc_hash::FxHashSet;

/// Records to choose from.
pub(super) struct Source {
    pub(super) tables: &'static str,
    /// The tables that suffice to count them.
    pub(super) counted: &'static str,
    /// The columns of the collection and the time.
    collection: &'static str,
    pub(super) time: &'static str,
    filter: Filter,
}

impl Source {
    /// Every record of a selection, except by collection.
    pub(super) fn records(which: &Select) -> Source {
        Source {
            tables: TABLES,
            counted: "record",
            // The index by trace or by key selects fewer rows, so that by collection is not used.
            collection: if is_selective(which) { "+record.collection" } else { "record.collection" },
            time: "record.timestamp",
            filter: Filter::new(which),
        }
    }

    /// The records with a text to embed.
    pub(super) fn embeddable(which: &Select) -> Source {
        let mut source = Source::records(which);
        source.filter.sql.push_str(" AND record.embeddable");
        source
    }

    /// The records without a vector of a model.
    pub(super) fn unembedded(which: &Select, model: i64) -> Source {
        const TABLES: &str = "unembedded CROSS JOIN record ON record.n = unembedded.record \
                              CROSS JOIN collection ON collection.n = unembedded.collection";
        let mut filter = Filter::new(which);
        let counted = if filter.sql.is_empty() { "unembedded" } else { TABLES };
        filter.add("unembedded.model = ?", model);
        let (collection, time) = ("unembedded.collection", "unembedded.timestamp");
        Source { tables: TABLES, counted, collection, time, filter }
    }

    /// Whether there are no conditions but the collections.
    pub(super) fn is_whole(&self) -> bool {
        self.filter.sql.is_empty()
    }

    /// Its conditions for each of some collections, or once for all collections of some kinds. Of many
    /// collections, the rows are read in the order of time, unless all of them are wanted.
    pub(super) fn by_collection(&self, within: &Within, wants_all: bool) -> Vec<Filter> {
        let narrowed = |part: Part| {
            let mut filter = self.filter.clone();
            let column = match part {
                Part::Many(_) | Part::OfKinds(_) if !wants_all => {
                    format!("+{}", self.collection.trim_start_matches('+'))
                }
                _ => self.collection.to_owned(),
            };
            filter.add(&part.condition(&column), part.value());
            filter
        };
        within.parts().into_iter().map(narrowed).collect()
    }
}

/// Whether an index by trace or by key selects the records.
pub(super) fn is_selective(which: &Select) -> bool {
    record_columns::selective(which).next().is_some()
}

/// Conditions on the table `record`, each preceded by AND, and their values.
#[derive(Clone)]
pub(super) struct Filter {
    pub(super) sql: String,
    pub(super) values: Vec<Value>,
    /// Whether the index by collection is not to be used.
    is_selective: bool,
}

impl Filter {
    /// The conditions of a selection except the scope.
    pub(super) fn new(which: &Select) -> Filter {
        let mut filter = Filter { sql: String::new(), values: Vec::new(), is_selective: is_selective(which) };
        for condition in record_columns::conditions(which) {
            filter.add_condition(condition);
        }
        filter
    }

    /// Adds a condition on one value.
    pub(super) fn add(&mut self, condition: &str, value: impl Into<Value>) {
        self.add_condition((condition.to_owned(), vec![value.into()]));
    }

    fn add_condition(&mut self, (sql, values): ColumnCondition) {
        self.sql.push_str(" AND ");
        self.sql.push_str(&sql);
        self.values.extend(values);
    }

    /// Narrows to collections. One is read by its index, in order; several by the order of time.
    pub(super) fn within(&mut self, table: &str, within: &Within) {
        match within {
            Within::Listed(numbers) if numbers.len() == 1 && !self.is_selective => {
                self.add(&format!("{table}.collection = ?"), numbers[0]);
            }
            Within::Listed(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
                self.sql.push_str(&format!(" AND +{table}.collection IN ({})", numbers.join(", ")));
            }
            Within::Many(_) | Within::OfKinds(_) => {
                for part in within.parts() {
                    self.add(&part.condition(&format!("+{table}.collection")), part.value());
                }
            }
        }
    }

    /// Makes the conditions hold for another table too.
    pub(super) fn and_for(&mut self, table: &str) {
        self.sql.push_str(&self.sql.replace("record.", &format!("{table}.")));
        self.values.extend(self.values.clone());
    }
}

/// The conditions of a selection that an index can check by its metadata of each record: all but collection
/// and `only`.
pub(super) struct Admission {
    since: i64,
    until: i64,
    /// The `role_bit` of each role; all bits if every role is wanted, and records without one.
    roles: u8,
    /// The records that are excluded by id or trace, and those at the time of the position `before` that are
    /// not before it.
    without: FxHashSet<i64>,
    /// The records that meet the selective conditions, if there are any.
    selective: Option<NumberSet>,
}

impl Admission {
    pub(super) fn resolve(connection: &Connection, which: &Select) -> rusqlite::Result<Admission> {
        let mut admission = Admission {
            since: which.since.unwrap_or(i64::MIN),
            until: which.until.unwrap_or(i64::MAX),
            roles: which.roles.iter().fold(0, |roles, role| roles | role_bit(Some(*role))),
            without: FxHashSet::default(),
            selective: NumberSet::selective(connection, which)?,
        };
        if admission.roles == 0 {
            admission.roles = u8::MAX;
        }
        if let Some(before) = &which.before {
            admission.until = admission.until.min(before.timestamp);
            let sql = "SELECT n FROM record WHERE timestamp = ? AND (seq, id) >= (?, ?)";
            let mut statement = connection.prepare_cached(sql)?;
            let rows =
                statement.query_map(params![before.timestamp, before.seq, before.id], |row| row.get(0))?;
            admission.without = rows.collect::<Result<_, _>>()?;
        }
        let Except { traces, ids } = &which.except;
        if !(traces.is_empty() && ids.is_empty()) {
            let sql = "SELECT n FROM record WHERE trace_id IN (SELECT value FROM json_each(?))
                       OR id IN (SELECT value FROM json_each(?))";
            let mut statement = connection.prepare_cached(sql)?;
            for n in statement.query_map([list(traces), list(ids)], |row| row.get(0))? {
                admission.without.insert(n?);
            }
        }
        Ok(admission)
    }

    /// Whether a record is admitted, by its number, its time, and the `role_bit` of its role.
    pub(super) fn admits(&self, n: i64, timestamp: i64, role: u8) -> bool {
        timestamp >= self.since
            && timestamp <= self.until
            && (self.roles == u8::MAX || role & self.roles != 0)
            && (self.without.is_empty() || !self.without.contains(&n))
            && self.selective.as_ref().is_none_or(|records| records.holds(n))
    }
}

/// A set of the numbers of records, as a bit for each.
#[derive(Default)]
struct NumberSet {
    bits: Vec<u64>,
}

impl NumberSet {
    /// The records of any collection that meet the selective conditions, if there are any.
    fn selective(connection: &Connection, which: &Select) -> rusqlite::Result<Option<NumberSet>> {
        let (conditions, values): (Vec<String>, Vec<Vec<Value>>) = record_columns::selective(which).unzip();
        if conditions.is_empty() {
            return Ok(None);
        }
        let sql = format!("SELECT n FROM record WHERE {}", conditions.join(" AND "));
        let mut statement = connection.prepare_cached(&sql)?;
        let mut set = NumberSet::default();
        for n in statement.query_map(params_from_iter(values.concat()), |row| row.get::<_, i64>(0))? {
            set.add(n?);
        }
        Ok(Some(set))
    }

    fn add(&mut self, n: i64) {
        let n = n as usize;
        if self.bits.len() <= n / 64 {
            self.bits.resize(n / 64 + 1, 0);
        }
        self.bits[n / 64] |= 1 << (n % 64);
    }

    fn holds(&self, n: i64) -> bool {
        self.bits.get(n as usize / 64).is_some_and(|bits| bits & 1 << (n % 64) != 0)
    }
}

/// A role as one bit of a set; no bit stands for no role.
pub(super) fn role_bit(role: Option<Role>) -> u8 {
    match role {
        None => 0,
        Some(Role::User) => 1,
        Some(Role::Assistant) => 2,
        Some(Role::System) => 4,
        Some(Role::Tool) => 8,
    }
}
