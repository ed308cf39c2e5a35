//! What a selection is in SQL; the newest messages of one, and how many there are.

use super::super::{Around, Cosines, Except, Select};
use super::Sqlite;
use super::lacking;
use super::nearest::{Measure, VECTOR};
use super::read::{self, COLUMNS, TABLES, account, message};
use crate::record::{Account, Message, Role, quote};
use rusqlite::types::Value;
use rusqlite::{CachedStatement, Connection, params, params_from_iter};
use rustc_hash::FxHashSet;
use std::cmp::Reverse;

impl Sqlite {
    pub(super) fn read_last(&mut self, which: &Select, count: usize) -> rusqlite::Result<Vec<Message>> {
        let snapshot = self.connection.unchecked_transaction()?;
        let scopes = self.scope_numbers(&which.scopes)?;
        let found = self.last_of(&Source::messages(which), scopes.as_deref(), count)?;
        snapshot.finish()?;
        Ok(found)
    }

    /// The last `count` messages of a source and some scopes, oldest first.
    pub(super) fn last_of(
        &self,
        source: &Source,
        scopes: Option<&[i64]>,
        count: usize,
    ) -> rusqlite::Result<Vec<Message>> {
        let Source { tables, time, .. } = source;
        let limit = i64::try_from(count).unwrap_or(i64::MAX);
        let mut found = Vec::new();
        // Each scope's index gives its own last ones; the last of all are among them.
        for filter in source.by_scope(scopes) {
            let sql = format!(
                "SELECT {COLUMNS} FROM {tables} WHERE 1{} \
                 ORDER BY {time} DESC, record.seq DESC, record.id DESC LIMIT {limit}",
                filter.sql
            );
            let mut statement = self.connection.prepare_cached(&sql)?;
            for message in statement.query_map(params_from_iter(filter.values), message)? {
                found.push(message?);
            }
        }
        found.sort_by_cached_key(Message::position);
        Ok(found.split_off(found.len().saturating_sub(count)))
    }

    /// The last `count` accounts of a selection, oldest first; with a digest those that have it.
    pub(super) fn read_accounts(
        &mut self,
        which: &Select,
        digest: Option<&str>,
        count: usize,
    ) -> rusqlite::Result<Vec<Account>> {
        let snapshot = self.connection.unchecked_transaction()?;
        let mut filter = Filter::of(which);
        filter.add_scopes("record", self.scope_numbers(&which.scopes)?.as_deref());
        if let Some(digest) = digest {
            // As in the index `account_digest`.
            filter.add("json_extract(record.extra, '$.digest') = ?", digest.to_owned());
        }
        let limit = i64::try_from(count).unwrap_or(i64::MAX);
        let sql = format!(
            "SELECT {COLUMNS} FROM {TABLES} WHERE record.kind = 'account'{} \
             ORDER BY record.timestamp DESC, record.id DESC LIMIT {limit}",
            filter.sql
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let found = statement.query_map(params_from_iter(filter.values), account)?;
        let mut found: Vec<Account> = found.collect::<Result<_, _>>()?;
        drop(statement);
        snapshot.finish()?;
        found.reverse();
        Ok(found)
    }

    /// How many messages a selection holds; no further than `most`.
    pub(super) fn count_up_to(&mut self, which: &Select, most: usize) -> rusqlite::Result<usize> {
        let snapshot = self.connection.unchecked_transaction()?;
        let mut filter = Filter::of(which);
        filter.add_scopes("record", self.scope_numbers(&which.scopes)?.as_deref());
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let sql = format!(
            "SELECT count(*) FROM (SELECT 1 FROM record WHERE record.kind = 'message'{} LIMIT {most})",
            filter.sql
        );
        let count: i64 = self
            .connection
            .prepare_cached(&sql)?
            .query_row(params_from_iter(filter.values), |row| row.get(0))?;
        snapshot.finish()?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    /// The messages of a selection that stand around each of some in its scope, and the cosines of a vector of a model
    /// with those around the first so many. All at one instant.
    pub(super) fn standing_around(
        &self,
        messages: &[&Message],
        which: &Select,
        reach: usize,
        meant: Option<(&str, &[f32])>,
        first: usize,
    ) -> rusqlite::Result<(Vec<Around>, Cosines)> {
        let snapshot = self.connection.unchecked_transaction()?;
        let mut measure = Measure::by(&self.connection, meant)?;
        let filter = Filter::of(which);
        // In the order of the index, which knows no ids: of equal times all are read.
        let side = |sign: &str, order: &str| {
            self.connection.prepare_cached(&format!(
                "SELECT {COLUMNS}, {VECTOR} FROM record INDEXED BY record_scope JOIN scope ON scope.n = record.scope \
                 WHERE record.kind = 'message'{} \
                 AND record.scope = (SELECT n FROM scope WHERE partition = ? AND instance = ?) \
                 AND (record.timestamp, record.seq, record.id) {sign} (?, ?, ?) \
                 ORDER BY record.timestamp {order}, record.seq {order}",
                filter.sql
            ))
        };
        let (mut earlier, mut later) = (side("<", "DESC")?, side(">", "ASC")?);
        let mut found = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            let (scope, place) = (&message.scope, message.position());
            let model = measure.model().filter(|_| at < first);
            let own: [Value; 5] = [
                scope.partition.clone().into(),
                scope.instance.clone().into(),
                place.timestamp.into(),
                i64::from(place.seq).into(),
                place.id.into(),
            ];
            let values: Vec<Value> =
                [model.into()].into_iter().chain(filter.values.clone()).chain(own).collect();
            let mut read = |statement: &mut CachedStatement| -> rusqlite::Result<Vec<Message>> {
                let mut rows = statement.query(params_from_iter(&values))?;
                let (mut side, mut last) = (Vec::new(), None);
                while let Some(row) = rows.next()? {
                    let time: (i64, u32) = (row.get(read::TIME)?, row.get(read::TIME + 1)?);
                    if side.len() >= reach && last != Some(time) {
                        break;
                    }
                    side.push(measure.message(row)?);
                    last = Some(time);
                }
                Ok(side)
            };
            let (mut before, mut after) = (read(&mut earlier)?, read(&mut later)?);
            before.sort_by_cached_key(|message| Reverse(message.position()));
            after.sort_by_cached_key(Message::position);
            before.truncate(reach);
            after.truncate(reach);
            found.push(Around { before, after });
        }
        drop((earlier, later));
        snapshot.finish()?;
        Ok((found, measure.cosines))
    }

    /// How many messages of a source are in some scopes.
    pub(super) fn count(&self, source: &Source, scopes: Option<&[i64]>) -> rusqlite::Result<u64> {
        let mut total = 0;
        for filter in source.by_scope(scopes) {
            let sql = format!("SELECT count(*) FROM {} WHERE 1{}", source.counted, filter.sql);
            let mut statement = self.connection.prepare_cached(&sql)?;
            total += statement.query_row(params_from_iter(filter.values), |row| row.get::<_, i64>(0))?;
        }
        Ok(total.unsigned_abs())
    }
}

/// Messages to choose from.
pub(super) struct Source {
    tables: &'static str,
    /// What is enough to count them.
    counted: &'static str,
    /// The columns that tell scope and time.
    scope: &'static str,
    time: &'static str,
    filter: Filter,
}

impl Source {
    /// Every message of a selection, scope aside.
    pub(super) fn messages(which: &Select) -> Source {
        let mut filter = Filter::of(which);
        // The plus: the index of all messages does not know their order.
        filter.sql.push_str(" AND +record.kind = 'message'");
        Source {
            tables: TABLES,
            counted: "record",
            // A trace is the shorter list, where it is known.
            scope: if which.trace_id.is_some() { "+record.scope" } else { "record.scope" },
            time: "record.timestamp",
            filter,
        }
    }

    /// The same, as far as they have words.
    pub(super) fn with_words(which: &Select) -> Source {
        let mut source = Source::messages(which);
        source.filter.add(lacking::HAS_WORDS, lacking::spaces());
        source
    }

    /// The same, as far as they lack a vector of a model.
    pub(super) fn lacking(which: &Select, model: i64) -> Source {
        const TABLES: &str = "lacking CROSS JOIN record ON record.n = lacking.record \
                              CROSS JOIN scope ON scope.n = lacking.scope";
        let mut filter = Filter::of(which);
        let counted = if filter.sql.is_empty() { "lacking" } else { TABLES };
        filter.add("lacking.model = ?", model);
        Source { tables: TABLES, counted, scope: "lacking.scope", time: "lacking.timestamp", filter }
    }

    /// Its conditions in each of some scopes, or once for all there are.
    fn by_scope(&self, scopes: Option<&[i64]>) -> Vec<Filter> {
        let Some(scopes) = scopes else { return vec![self.filter.clone()] };
        let within = |scope: &i64| {
            let mut filter = self.filter.clone();
            filter.add(&format!("{} = ?", self.scope), *scope);
            filter
        };
        scopes.iter().map(within).collect()
    }
}

/// Names as a JSON array, which is one value however many there are.
pub(super) fn list(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| quote(name)).collect();
    format!("[{}]", names.join(","))
}

/// Conditions on the table `record`, each preceded by AND, and their values.
#[derive(Clone)]
pub(super) struct Filter {
    pub(super) sql: String,
    pub(super) values: Vec<Value>,
}

impl Filter {
    /// The conditions of a selection, scope aside.
    pub(super) fn of(which: &Select) -> Filter {
        let mut filter = Filter { sql: String::new(), values: Vec::new() };
        if let Some(trace) = &which.trace_id {
            filter.add("record.trace_id = ?", trace.clone());
        }
        if !which.roles.is_empty() {
            let marks = vec!["?"; which.roles.len()].join(", ");
            filter.sql.push_str(&format!(" AND record.role IN ({marks})"));
            filter.values.extend(which.roles.iter().map(|role| Value::from(role.name().to_owned())));
        }
        if let Some(since) = which.since {
            filter.add("record.timestamp >= ?", since);
        }
        if let Some(until) = which.until {
            filter.add("record.timestamp <= ?", until);
        }
        if let Some(before) = &which.before {
            filter.sql.push_str(" AND (record.timestamp, record.seq, record.id) < (?, ?, ?)");
            let place = [before.timestamp.into(), i64::from(before.seq).into(), before.id.clone().into()];
            filter.values.extend::<[Value; 3]>(place);
        }
        let Except { traces, ids } = &which.except;
        if !traces.is_empty() {
            filter.add("record.trace_id NOT IN (SELECT value FROM json_each(?))", list(traces));
        }
        if !ids.is_empty() {
            filter.add("record.id NOT IN (SELECT value FROM json_each(?))", list(ids));
        }
        filter
    }

    /// Adds a condition on one value.
    pub(super) fn add(&mut self, condition: &str, value: impl Into<Value>) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self.values.push(value.into());
    }

    /// Narrows to scopes. One is read by its index, in order; several by the order of time.
    pub(super) fn add_scopes(&mut self, table: &str, scopes: Option<&[i64]>) {
        match scopes {
            None => {}
            Some([scope]) => self.add(&format!("{table}.scope = ?"), *scope),
            Some(scopes) => {
                let numbers: Vec<String> = scopes.iter().map(i64::to_string).collect();
                self.sql.push_str(&format!(" AND +{table}.scope IN ({})", numbers.join(", ")));
            }
        }
    }

    /// Makes the conditions hold for another table too.
    pub(super) fn and_for(&mut self, table: &str) {
        self.sql.push_str(&self.sql.replace("record.", &format!("{table}.")));
        self.values.extend(self.values.clone());
    }
}

/// The conditions of a selection, as far as what stands in an index beside a message tells them: scope and trace
/// aside.
pub(super) struct Wanted {
    since: i64,
    until: i64,
    /// The `bit` of each role.
    roles: u8,
    /// Records that are left out by their id or trace, and those of the very time that all must stand before,
    /// which do not.
    without: FxHashSet<i64>,
}

impl Wanted {
    pub(super) fn of(connection: &Connection, which: &Select) -> rusqlite::Result<Wanted> {
        let mut wanted = Wanted {
            since: which.since.unwrap_or(i64::MIN),
            until: which.until.unwrap_or(i64::MAX),
            roles: which.roles.iter().fold(0, |roles, role| roles | bit(*role)),
            without: FxHashSet::default(),
        };
        if wanted.roles == 0 {
            wanted.roles = u8::MAX;
        }
        if let Some(before) = &which.before {
            wanted.until = wanted.until.min(before.timestamp);
            let sql = "SELECT n FROM record WHERE timestamp = ? AND (seq, id) >= (?, ?)";
            let mut statement = connection.prepare_cached(sql)?;
            let rows =
                statement.query_map(params![before.timestamp, before.seq, before.id], |row| row.get(0))?;
            wanted.without = rows.collect::<Result<_, _>>()?;
        }
        let Except { traces, ids } = &which.except;
        if !(traces.is_empty() && ids.is_empty()) {
            let sql = "SELECT n FROM record WHERE trace_id IN (SELECT value FROM json_each(?))
                       OR id IN (SELECT value FROM json_each(?))";
            let mut statement = connection.prepare_cached(sql)?;
            for n in statement.query_map([list(traces), list(ids)], |row| row.get(0))? {
                wanted.without.insert(n?);
            }
        }
        Ok(wanted)
    }

    /// Whether a message is wanted, by its number, time, and the `bit` of its role.
    pub(super) fn admits(&self, n: i64, timestamp: i64, role: u8) -> bool {
        timestamp >= self.since
            && timestamp <= self.until
            && role & self.roles != 0
            && (self.without.is_empty() || !self.without.contains(&n))
    }
}

/// A role as one bit of a set of them.
pub(super) fn bit(role: Role) -> u8 {
    match role {
        Role::User => 1,
        Role::Assistant => 2,
        Role::System => 4,
        Role::Tool => 8,
    }
}
