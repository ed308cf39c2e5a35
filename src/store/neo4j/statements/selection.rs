//! Fills in statements: the conditions of a selection, labels and numbers.

use crate::record::{MESSAGE, RecordKind, Scopes};
use crate::store::neo4j::record_node;
use crate::store::select::Select;

/// Puts the condition on scopes, whose names are `$partition` and `$instance`, in place of `{scope}`.
pub(in crate::store::neo4j) fn for_scopes(statement: &str, scopes: &Scopes) -> String {
    statement.replace("{scope}", scope_condition(scopes))
}

fn scope_condition(scopes: &Scopes) -> &'static str {
    match scopes {
        Scopes::All => "true",
        Scopes::Matching(_) => {
            "any(pattern IN $of_partitions WHERE m.partition =~ pattern) AND NOT m.partition IN $not_partitions \
             AND m.instance IS NOT NULL"
        }
        Scopes::Partition(_) => "m.partition = $partition AND m.instance IS NOT NULL",
        Scopes::One(_) => "m.partition = $partition AND m.instance = $instance",
    }
}

/// The position of a node's kind among some kinds; null if it is none of them.
pub(in crate::store::neo4j) fn kind_position(node: &str, kinds: &[&RecordKind]) -> String {
    if let [_] = kinds {
        return "0".to_owned();
    }
    let when = |(at, kind): (usize, &&RecordKind)| format!(" WHEN {node}:{} THEN {at}", kind.label);
    format!("CASE WHEN false THEN 0{} END", kinds.iter().enumerate().map(when).collect::<String>())
}

/// The label expression that matches any of some kinds.
fn any_label(kinds: &[&RecordKind]) -> String {
    match kinds {
        [] => NO_LABEL.to_owned(),
        kinds => kinds.iter().map(|kind| kind.label).collect::<Vec<_>>().join("|"),
    }
}

/// A label that no node has.
const NO_LABEL: &str = "RsvNothing";

/// Fills in a statement about the records of a selection. `{scope}` is the condition on scopes or trace,
/// `{admitted}` the other conditions, `{the other}` all conditions on the other end of a link, `{kinds}` the
/// kinds, and `{kind}` the position of a record's kind. The part from `{each}` to `{end}` is repeated for
/// each kind and yields `m`: `{label}` is the kind's label, `{index}` the columns of the index in the order
/// of time, and `{forward}` and `{backward}` the beginning of that order.
pub(in crate::store::neo4j) fn selected(statement: &str, which: &Select) -> String {
    let kinds = distinct(&which.kinds);
    let statement = match statement.split_once("{each}").and_then(|(before, rest)| {
        let (of_one, after) = rest.split_once("{end}")?;
        Some((before, of_one, after))
    }) {
        None => statement.to_owned(),
        Some((before, of_one, after)) => match kinds[..] {
            [] => format!("{before} MATCH (m:{NO_LABEL}) {after}"),
            [kind] => format!("{before}{}{after}", for_kind(of_one, kind, which)),
            _ => {
                let each: Vec<String> =
                    kinds.iter().map(|kind| for_kind(of_one, kind, which) + " RETURN m ").collect();
                format!("{before} CALL () {{ {} }} {after}", each.join("UNION ALL"))
            }
        },
    };
    let statement = statement.replace("{kinds}", &any_label(&kinds));
    conditions(&statement.replace("{kind}", &kind_position("m", &which.kinds)), which)
}

/// Each kind once.
fn distinct(kinds: &[&'static RecordKind]) -> Vec<&'static RecordKind> {
    let is_first = |(at, kind): &(usize, &&'static RecordKind)| !kinds[..*at].contains(kind);
    kinds.iter().enumerate().filter(is_first).map(|(_, kind)| *kind).collect()
}

/// As `selected`, for one kind of the selection.
pub(in crate::store::neo4j) fn selected_of_kind(
    statement: &str,
    kind: &RecordKind,
    which: &Select,
) -> String {
    let statement = for_kind(statement, kind, which).replace("{kind}", "0");
    conditions(&statement, which)
}

/// Fills in the part of a statement that is about one kind.
fn for_kind(statement: &str, kind: &RecordKind, which: &Select) -> String {
    let index = match (record_node::indexed_property(kind, which), &which.scopes) {
        (Some(property), _) => &format!("{property}, timestamp"),
        (None, Scopes::All | Scopes::Matching(_)) => "timestamp",
        (None, Scopes::Partition(_) | Scopes::One(_)) => "partition, instance, timestamp",
    };
    let statement = statement
        .replace("{index}", &format!("USING INDEX m:{{label}}({index})"))
        .replace("{admitted}", &admitted(std::slice::from_ref(which), &[kind]));
    for_label(&statement, kind)
}

/// Puts the label of a kind in place of `{label}`.
pub(in crate::store::neo4j) fn for_label(statement: &str, kind: &RecordKind) -> String {
    statement.replace("{label}", kind.label)
}

fn conditions(statement: &str, which: &Select) -> String {
    let (scopes, trace) = (&which.scopes, which.trace_id.is_some());
    let condition = scope_condition(scopes);
    let own = if trace { format!("m.trace_id = $trace_id AND {condition}") } else { condition.to_owned() };
    let first: &[&str] = match (record_node::equal_property(which), scopes) {
        (Some(property), _) => &[property],
        (None, Scopes::All | Scopes::Matching(_) | Scopes::Partition(_)) => &[],
        (None, Scopes::One(_)) => &["partition", "instance"],
    };
    let order = |way: &str| first.iter().map(|name| format!("m.{name}{way}, ")).collect::<String>();
    let admitted = admitted(std::slice::from_ref(which), &which.kinds);
    let of_other = format!("m:{} AND {condition} AND {admitted}", any_label(&which.kinds));
    statement
        .replace("{the other}", &of_other.replace("m.", "o.").replace("m:", "o:"))
        .replace("{scope}", &own)
        .replace("{admitted}", &admitted)
        .replace("{forward}", &order(""))
        .replace("{backward}", &order(" DESC"))
}

/// Whether the message `m` is one of rsv or a regular one. Behind `OR` the server would plan each of these
/// conditions by itself, which takes it longer than the rest of a statement; `CASE` is a single one.
const READABLE: &str =
    concat!("CASE WHEN m:RsvRecord THEN true WHEN m:RsvDouble THEN false ELSE ", regular!(), " END");

/// The conditions except kinds and scopes that occur in any of some selections of records of some kinds.
fn admitted(which: &[Select], kinds: &[&RecordKind]) -> String {
    let readable = if kinds.contains(&&MESSAGE) { READABLE } else { "m:RsvRecord" };
    let mut conditions = record_node::conditions(which);
    conditions.insert(1, readable);
    conditions.join(" AND ")
}

/// Collects the rows of a statement, which are lists, into one: the server takes longer to send a row (16 µs)
/// than to read most rows.
pub(in crate::store::neo4j) fn in_one(statement: &str) -> String {
    match statement.rsplit_once("RETURN [") {
        Some((before, row)) => {
            format!("{before}RETURN collect([{}) AS rows", row.trim_end().trim_end_matches(" AS row"))
        }
        None => statement.to_owned(),
    }
}

/// Fills in a statement about several selections of records of one kind, each with its own parameters.
pub(in crate::store::neo4j) fn each_of(statement: &str, kind: &RecordKind, which: &[Select]) -> String {
    let statement = for_label(statement, kind).replace("{kind}", "0");
    statement.replace("{admitted}", &admitted(which, &[kind])).replace('$', "which.").replace('@', "$")
}

/// Puts the number of a model in place of `{model}`.
pub(in crate::store::neo4j) fn for_model(statement: &str, n: i64) -> String {
    statement.replace("{model}", &n.to_string())
}
