//! Collections and their numbers. A collection is a kind in a scope.

use crate::record::{RecordKind, Scope, Scopes, kind_named, quote};
use crate::store::select::{Collection, Select};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// A collection as the indexes know it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct CollectionRow {
    pub(super) n: i64,
    pub(super) kind: &'static RecordKind,
}

/// The collections of a selection.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Within {
    /// The collections with these numbers, which are few.
    Listed(Vec<i64>),
    /// The collections with these numbers, as a JSON array.
    Many(String),
    /// All of some kinds, whose names are a JSON array.
    OfKinds(String),
}

/// The part of them that one statement reads; its condition takes one value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Part<'a> {
    One(i64),
    Many(&'a str),
    OfKinds(&'a str),
}

/// The number of collections up to which a statement for each reads fewer rows than one for all.
const MAX_LISTED: usize = 64;

impl Within {
    pub(super) fn resolve(connection: &Connection, which: &Select) -> rusqlite::Result<Within> {
        if which.scopes == Scopes::All {
            return Ok(Within::OfKinds(names(&which.kinds)));
        }
        Ok(Within::rows(&list(connection, which)?))
    }

    pub(super) fn rows(collections: &[CollectionRow]) -> Within {
        Within::numbered(collections.iter().map(|collection| collection.n).collect())
    }

    fn numbered(numbers: Vec<i64>) -> Within {
        if numbers.len() <= MAX_LISTED {
            return Within::Listed(numbers);
        }
        Within::Many(json(numbers.iter().map(i64::to_string)))
    }

    /// The pools that have all the collections of a selection, and no others; none for those of one instance.
    pub(super) fn pools(connection: &Connection, which: &Select) -> rusqlite::Result<Option<Within>> {
        let [_, end] = POOLS;
        let names = which.kinds.iter().map(|kind| format!("{}{end}", kind.name));
        match &which.scopes {
            Scopes::One(_) => Ok(None),
            Scopes::All => Ok(Some(Within::OfKinds(json(names.map(|name| quote(&name)))))),
            Scopes::Matching(_) => {
                let (condition, values) = scope_condition(&which.scopes);
                let sql = format!(
                    "SELECT n FROM collection WHERE {condition} AND instance = '' \
                     AND kind IN (SELECT value FROM json_each(?))"
                );
                let pools = json(names.map(|name| quote(&name)));
                let mut statement = connection.prepare_cached(&sql)?;
                let values = values.into_iter().chain([Cow::Owned(pools)]);
                let found = statement.query_map(params_from_iter(values), |row| row.get(0))?;
                let numbers: Vec<i64> = found.collect::<Result<_, _>>()?;
                Ok(Some(Within::numbered(numbers)))
            }
            Scopes::Partition(partition) => {
                let pools = names.map(|name| number_of(connection, &name, [partition, ""]));
                let pools: Vec<Option<i64>> = pools.collect::<Result<_, _>>()?;
                Ok(Some(Within::Listed(pools.into_iter().flatten().collect())))
            }
        }
    }

    /// Each collection, or all of them at once.
    pub(super) fn parts(&self) -> Vec<Part<'_>> {
        match self {
            Within::Listed(numbers) => numbers.iter().map(|n| Part::One(*n)).collect(),
            Within::Many(numbers) => vec![Part::Many(numbers)],
            Within::OfKinds(names) => vec![Part::OfKinds(names)],
        }
    }
}

impl Part<'_> {
    /// The condition that a column is one of these collections.
    pub(super) fn condition(&self, column: &str) -> String {
        match self {
            Part::One(_) => format!("{column} = ?"),
            Part::Many(_) => format!("{column} IN (SELECT value FROM json_each(?))"),
            Part::OfKinds(_) => format!("{column} IN ({OF_KINDS})"),
        }
    }

    /// The value of the condition.
    pub(super) fn value(&self) -> Value {
        match self {
            Part::One(n) => (*n).into(),
            Part::Many(text) | Part::OfKinds(text) => (*text).to_owned().into(),
        }
    }
}

/// A JSON array of values.
fn json(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.collect::<Vec<_>>().join(","))
}

/// The numbers of some collections, as a JSON array.
pub(super) fn numbers(collections: &[CollectionRow]) -> String {
    json(collections.iter().map(|collection| collection.n.to_string()))
}

/// The numbers of the collections of some kinds, whose names are a JSON array.
const OF_KINDS: &str = "SELECT n FROM collection WHERE kind IN (SELECT value FROM json_each(?))";

fn names(kinds: &[&'static RecordKind]) -> String {
    json(kinds.iter().map(|kind| quote(kind.name)))
}

/// The condition that a partition matches any of some patterns, and is none of some names.
const MATCHING: &str = "EXISTS (SELECT 1 FROM json_each(?) AS pattern WHERE partition GLOB pattern.value) \
                        AND partition NOT IN (SELECT value FROM json_each(?))";

/// The condition that a row of `collection` is of some scopes, and its values.
pub(super) fn scope_condition(scopes: &Scopes) -> (&'static str, Vec<Cow<'_, str>>) {
    match scopes {
        Scopes::All => ("TRUE", Vec::new()),
        Scopes::Matching(filter) => (MATCHING, vec![filter.globs().into(), filter.except_json().into()]),
        Scopes::Partition(partition) => ("partition = ?", vec![partition.into()]),
        Scopes::One(Scope { partition, instance }) => {
            ("partition = ? AND instance = ?", vec![partition.into(), instance.into()])
        }
    }
}

/// Lists the collections of a selection.
pub(super) fn list(connection: &Connection, which: &Select) -> rusqlite::Result<Vec<CollectionRow>> {
    read(connection, which, "collection", None)
}

/// Lists the collections of a selection that have one of these numbers.
pub(super) fn among(
    connection: &Connection,
    which: &Select,
    numbers: &[i64],
) -> rusqlite::Result<Vec<CollectionRow>> {
    let numbers = json(numbers.iter().map(i64::to_string));
    read(connection, which, "json_each(?) CROSS JOIN collection ON n = value", Some(&numbers))
}

/// Whether the scopes of a selection have too many collections to be read one by one.
pub(super) fn are_many(connection: &Connection, which: &Select) -> rusqlite::Result<bool> {
    let (condition, names) = scope_condition(&which.scopes);
    let sql = format!("SELECT 1 FROM collection WHERE {condition} LIMIT 1 OFFSET {MAX_LISTED}");
    connection.prepare_cached(&sql)?.exists(params_from_iter(names))
}

/// Reads the collections of a selection from a table, or from one that is made of a value.
fn read(
    connection: &Connection,
    which: &Select,
    from: &str,
    value: Option<&str>,
) -> rusqlite::Result<Vec<CollectionRow>> {
    let (condition, names) = scope_condition(&which.scopes);
    let sql = format!("SELECT n, kind FROM {from} WHERE {condition}");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(value.map(Cow::Borrowed).into_iter().chain(names)))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let name = row.get_ref(1)?.as_str()?;
        if let Some(kind) = which.kinds.iter().find(|kind| kind.name == name) {
            found.push(CollectionRow { n: row.get(0)?, kind });
        }
    }
    Ok(found)
}

/// All collections whose kind is known.
pub(super) fn all(connection: &Connection) -> rusqlite::Result<Vec<CollectionRow>> {
    let mut statement = connection.prepare_cached("SELECT n, kind FROM collection")?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if let Some(kind) = kind_named(row.get_ref(1)?.as_str()?) {
            found.push(CollectionRow { n: row.get(0)?, kind });
        }
    }
    Ok(found)
}

/// The number of a collection, if there is one.
pub(super) fn number(connection: &Connection, of: &Collection) -> rusqlite::Result<Option<i64>> {
    number_of(connection, of.kind.name, [&of.scope.partition, &of.scope.instance])
}

fn number_of(
    connection: &Connection,
    kind: &str,
    [partition, instance]: [&str; 2],
) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT n FROM collection WHERE partition = ? AND instance = ? AND kind = ?";
    connection.prepare_cached(sql)?.query_row([partition, instance, kind], |row| row.get(0)).optional()
}

/// The ends of the names of the pools of a kind: that of all its collections, and those of the partitions.
pub(super) const POOLS: [&str; 2] = ["/store", "/partition"];

/// The numbers of collections and pools that this process has seen in the file, to spare looking them up
/// again.
#[derive(Default)]
pub(super) struct KnownCollections {
    collections: FxHashMap<Scope, Vec<CollectionRow>>,
    /// The pool of a kind in a partition.
    pools: FxHashMap<(&'static str, String), Option<i64>>,
}

impl KnownCollections {
    /// A collection, which is made if it is new, with its pools. Fails if the file cannot be written.
    pub(super) fn ensure(
        &mut self,
        connection: &Connection,
        kind: &'static RecordKind,
        scope: &Scope,
    ) -> rusqlite::Result<CollectionRow> {
        let known = self.collections.get(scope).and_then(|all| all.iter().find(|one| one.kind == kind));
        if let Some(known) = known {
            return Ok(*known);
        }
        let of = Collection { kind, scope: scope.clone() };
        let n = match number(connection, &of)? {
            Some(n) => n,
            None => {
                let pool = self.ensure_pool(connection, kind, &scope.partition)?;
                add_row(connection, pool, kind.name, [&scope.partition, &scope.instance])?
            }
        };
        let collection = CollectionRow { n, kind };
        self.collections.entry(of.scope).or_default().push(collection);
        Ok(collection)
    }

    fn ensure_pool(
        &mut self,
        connection: &Connection,
        kind: &'static RecordKind,
        partition: &str,
    ) -> rusqlite::Result<Option<i64>> {
        let key = (kind.name, partition.to_owned());
        if let Some(pool) = self.pools.get(&key) {
            return Ok(*pool);
        }
        let pool = ensure_pool(connection, kind, partition)?;
        self.pools.insert(key, pool);
        Ok(pool)
    }
}

/// Puts every collection whose kind is indexed into its pools. Fails if the file cannot be written.
pub(super) fn mend_pools(connection: &Connection) -> rusqlite::Result<()> {
    for CollectionRow { n, kind } in all(connection)? {
        if !kind.indexed.is_some() {
            continue;
        }
        let sql = "SELECT partition FROM collection WHERE n = ?";
        let partition: String = connection.prepare_cached(sql)?.query_row([n], |row| row.get(0))?;
        let pool = ensure_pool(connection, kind, &partition)?;
        let sql = "UPDATE collection SET pool = ?1 WHERE n = ?2 AND pool IS NOT ?1";
        connection.prepare_cached(sql)?.execute(params![pool, n])?;
    }
    Ok(())
}

/// The number of the pool of a kind in a partition; none if the kind is not indexed.
fn ensure_pool(connection: &Connection, kind: &RecordKind, partition: &str) -> rusqlite::Result<Option<i64>> {
    let mut pool = None;
    if kind.indexed.is_some() {
        for (end, partition) in POOLS.into_iter().zip(["", partition]) {
            pool = Some(ensure_row(connection, pool, &format!("{}{end}", kind.name), [partition, ""])?);
        }
    }
    Ok(pool)
}

/// The number of a row, which is made if it is new.
fn ensure_row(
    connection: &Connection,
    pool: Option<i64>,
    kind: &str,
    [partition, instance]: [&str; 2],
) -> rusqlite::Result<i64> {
    match number_of(connection, kind, [partition, instance])? {
        Some(n) => Ok(n),
        None => add_row(connection, pool, kind, [partition, instance]),
    }
}

fn add_row(
    connection: &Connection,
    pool: Option<i64>,
    kind: &str,
    [partition, instance]: [&str; 2],
) -> rusqlite::Result<i64> {
    let sql = "INSERT INTO collection (kind, partition, instance, pool) VALUES (?, ?, ?, ?)";
    connection.prepare_cached(sql)?.insert(params![kind, partition, instance, pool])
}
