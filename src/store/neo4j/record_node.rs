//! The node of a record: its properties, the conditions of selections on them, their indexes, and the list as
//! which it is read. A member by which records are searched is a property and a condition here, with a step
//! in `changes.rs`.

use super::error::DbResult;
use super::values::{NO_DEFAULTS, Params, Row, Text, object, unexpected};
use crate::record::{
    Content, Draft, MESSAGE, Position, RecordKind, Role, Scope, StoredRecord, digest_number,
};
use crate::store::select::{Below, Select};
use neo4rs::{BoltNull, BoltType};

/// A property of a node; whether it follows from the other members, so that a repair corrects it; and its
/// value of a record, without which a node has none.
type Property = (&'static str, bool, fn(&StoredRecord) -> Option<BoltType>);

const PROPERTIES: [Property; 16] = [
    ("rsv_id", false, |record| Some(record.id.as_str().into())),
    ("partition", false, |record| Some(record.scope.partition.as_str().into())),
    ("instance", false, |record| Some(record.scope.instance.as_str().into())),
    ("timestamp", false, |record| Some(record.timestamp.into())),
    ("seq", false, |record| Some(i64::from(record.seq).into())),
    ("content", false, |record| Some(record.text.as_str().into())),
    ("trace_id", false, |record| record.kind.traced.then(|| record.trace_id.as_str().into())),
    ("role", false, |record| record.role.map(|role| role.name().into())),
    ("key", true, |record| record.lookup_key().map(Into::into)),
    ("fingerprint", true, |record| record.fingerprint().map(|fingerprint| fingerprint.key().into())),
    ("extra", false, |record| (!record.members.is_empty()).then(|| record.members.to_json().into())),
    ("blank", true, |record| (!record.is_embeddable()).then(|| true.into())),
    ("digest", true, |record| Some(digest_number(&record.id).into())),
    ("parent", false, |record| (record.kind.parent_id)(record).map(Into::into)),
    ("title", false, |record| (record.kind.parent_id)(record).map(|_| record.member_text("title").into())),
    ("url", false, |record| {
        let message = Some(record).filter(|record| *record.kind == MESSAGE);
        message.and_then(|message| message.members.valid_text("url")).map(Into::into)
    }),
];

/// The properties of the node of a record, except those of its number and its words.
pub(super) fn properties(record: &StoredRecord) -> Params {
    PROPERTIES.iter().fold(Params::new(), |params, (name, _, value)| params.with_some(name, value(record)))
}

/// The derived properties; those without a value are null.
pub(super) fn derived(record: &StoredRecord) -> BoltType {
    let derived = PROPERTIES.iter().filter(|(_, is_derived, _)| *is_derived);
    let add = |params: Params, (name, _, value): &Property| params.with(name, value(record).unwrap_or(NULL));
    BoltType::Map(derived.fold(Params::new(), add).into())
}

/// Adds the properties that Reservoir needs: it reads no message without an embedding, nor one whose `id` is
/// no number.
pub(super) fn for_reservoir(record: &StoredRecord, properties: Params) -> Params {
    if *record.kind == MESSAGE {
        return properties.with("embedding", BoltType::from_iter([0.0; 0]));
    }
    properties
}

const NULL: BoltType = BoltType::Null(BoltNull);

/// An index of records by a property and the time: the end of its name, the property, and the kinds that have
/// it.
pub(super) type PropertyIndex = (&'static str, &'static str, fn(&RecordKind) -> bool);

pub(super) const INDEXES: [PropertyIndex; 3] = [
    ("trace", "trace_id", |kind| kind.traced),
    ("key", "key", |kind| kind.lookup_key.is_some()),
    ("fingerprint", "fingerprint", |kind| *kind == MESSAGE),
];

/// A parameter of a condition, and its value of a selection that sets it.
type Parameter = (&'static str, fn(&Select) -> Option<BoltType>);

/// A condition on the node `m`. A property without a condition need not be read.
struct NodeCondition {
    text: &'static str,
    /// A selection has the condition if the first has a value. Every statement gets all parameters, since it
    /// may be about several selections.
    parameters: &'static [Parameter],
    /// Whether the parameters are lists: without a value empty, not null.
    has_lists: bool,
    finds: Finds,
}

/// The property of whose index a condition selects a part.
enum Finds {
    Value(&'static str),
    Values(&'static str),
    Prefix(&'static str),
    Nothing,
}

const fn condition(text: &'static str, parameters: &'static [Parameter]) -> NodeCondition {
    NodeCondition { text, parameters, has_lists: false, finds: Finds::Nothing }
}

/// The condition of every selection on the time. It is always given, so that an index that ends in the time
/// is used; `$until` is no later than `$before`.
static IN_TIME: NodeCondition = condition(
    "m.timestamp >= $since AND m.timestamp <= $until",
    &[
        ("since", |which| Some(which.since.unwrap_or(i64::MIN).into())),
        ("until", |which| {
            let until = [which.until, which.before.as_ref().map(|position| position.timestamp)];
            Some(until.into_iter().flatten().min().unwrap_or(i64::MAX).into())
        }),
    ],
);

/// The index of the first is used.
static CONDITIONS: [NodeCondition; 10] = [
    NodeCondition {
        finds: Finds::Value("trace_id"),
        ..condition(
            "m.trace_id = $trace_id",
            &[("trace_id", |which| which.trace_id.as_deref().map(Into::into))],
        )
    },
    condition(
        "($roles IS NULL OR m.role IN $roles)",
        &[("roles", |which| {
            (!which.roles.is_empty()).then(|| which.roles.iter().map(|role| role.name()).collect())
        })],
    ),
    NodeCondition {
        has_lists: true,
        finds: Finds::Values("fingerprint"),
        ..condition(
            "m.fingerprint IN $fingerprints",
            &[("fingerprints", |which| {
                which.fingerprints.as_ref().map(|keys| keys.iter().copied().collect())
            })],
        )
    },
    NodeCondition {
        finds: Finds::Value("key"),
        ..condition("m.key = $key", &[("key", |which| which.key.as_deref().map(Into::into))])
    },
    NodeCondition {
        finds: Finds::Prefix("key"),
        ..condition(
            "m.key STARTS WITH $below AND size(split(m.key, '/')) - 1 <= $slashes",
            &[
                ("below", |which| which.below.as_ref()?.only_prefix().map(Into::into)),
                ("slashes", |which| {
                    let slashes = which.below.as_ref().and_then(Below::max_slashes);
                    Some(slashes.and_then(|slashes| i64::try_from(slashes).ok()).unwrap_or(i64::MAX).into())
                }),
            ],
        )
    },
    NodeCondition {
        has_lists: true,
        ..condition(
            "(any(prefix IN $prefixes WHERE m.key STARTS WITH prefix) OR m.key IN $roots)",
            &[
                ("prefixes", |which| several_prefixes(which).map(|below| texts(&below.prefixes))),
                ("roots", |which| several_prefixes(which).map(|below| texts(&below.roots))),
            ],
        )
    },
    condition(
        "($before IS NULL OR m.timestamp < $before.timestamp OR coalesce(m.seq, 0) < $before.seq
          OR coalesce(m.seq, 0) = $before.seq AND m.rsv_id < $before.id)",
        &[("before", |which| {
            let Position { timestamp, seq, id } = which.before.as_ref()?;
            let position = Params::new().with("timestamp", *timestamp).with("seq", i64::from(*seq));
            Some(BoltType::Map(position.with("id", id.as_str()).into()))
        })],
    ),
    NodeCondition {
        has_lists: true,
        ..condition("m.rsv_id IN $only", &[("only", |which| which.only.as_deref().map(texts))])
    },
    NodeCondition {
        has_lists: true,
        ..condition(
            "NOT coalesce(m.trace_id, '') IN $traces",
            &[("traces", |which| some_texts(&which.except.traces))],
        )
    },
    NodeCondition {
        has_lists: true,
        ..condition("NOT coalesce(m.rsv_id, '') IN $ids", &[("ids", |which| some_texts(&which.except.ids))])
    },
];

impl NodeCondition {
    fn is_of(&self, which: &Select) -> bool {
        self.parameters[0].1(which).is_some()
    }
}

/// The conditions except kinds and scopes that any of some selections has; that on the time comes first.
pub(super) fn conditions(which: &[Select]) -> Vec<&'static str> {
    let has = |condition: &&NodeCondition| which.iter().any(|which| condition.is_of(which));
    [&IN_TIME].into_iter().chain(CONDITIONS.iter().filter(has)).map(|condition| condition.text).collect()
}

/// The indexed property by which the records of a kind are found, if a selection has a condition on one.
pub(super) fn indexed_property(kind: &RecordKind, which: &Select) -> Option<&'static str> {
    let asked = CONDITIONS.iter().filter(|condition| condition.is_of(which));
    let mut properties = asked.filter_map(|condition| match condition.finds {
        Finds::Value(property) | Finds::Values(property) | Finds::Prefix(property) => Some(property),
        Finds::Nothing => None,
    });
    properties.find(|found| INDEXES.iter().any(|(_, property, is_of)| property == found && is_of(kind)))
}

/// The indexed property of which all records of a selection have one value.
pub(super) fn equal_property(which: &Select) -> Option<&'static str> {
    CONDITIONS.iter().filter(|condition| condition.is_of(which)).find_map(|condition| match condition.finds {
        Finds::Value(property) => Some(property),
        _ => None,
    })
}

/// The addresses at or below which the keys of a selection are, if there are several.
fn several_prefixes(which: &Select) -> Option<&Below> {
    which.below.as_ref().filter(|below| below.only_prefix().is_none())
}

fn texts(texts: &[String]) -> BoltType {
    texts.iter().map(String::as_str).collect()
}

fn some_texts(names: &[String]) -> Option<BoltType> {
    (!names.is_empty()).then(|| texts(names))
}

/// Adds the parameters of all conditions of a selection.
pub(super) fn with_conditions(params: Params, which: &Select) -> Params {
    let all = [&IN_TIME].into_iter().chain(&CONDITIONS);
    all.flat_map(|condition| condition.parameters.iter().map(|one| (condition.has_lists, one))).fold(
        params,
        |params, (is_list, (name, value))| {
            params.with(name, value(which).unwrap_or_else(|| if is_list { texts(&[]) } else { NULL }))
        },
    )
}

/// The record `m` as a list, which begins with the position of its kind among those that were asked for.
macro_rules! listed {
    () => {
        listed!("{kind}")
    };
    ($kind:literal) => {
        concat!(
            "[",
            $kind,
            ", m.rsv_id, m.trace_id, m.partition, m.instance, m.role, m.content, m.timestamp, m.seq, m.extra, m.url]"
        )
    };
}
pub(super) use listed;

/// The values of `listed!`.
// A tuple, no struct: the driver reads a struct only from a map, which repeats the names in every row.
pub(super) type ListedRecord =
    (usize, Text, Text, String, String, Text, Text, Option<i64>, Option<u32>, Text, Text);

/// Converts a listed record. A message without an id, which rsv did not write, gets the id that is derived
/// from its content. Fails if it lacks a role, an id or a time that it needs, or its members are no JSON.
pub(super) fn record(listed: ListedRecord, kinds: &[&'static RecordKind]) -> DbResult<StoredRecord> {
    let (kind, id, trace_id, partition, instance, role, content, timestamp, seq, extra, url) = listed;
    let kind = kinds.get(kind).copied().ok_or_else(|| unexpected("a record of another kind"))?;
    let role: Option<Role> = role.map(|role| role.parse()).transpose().map_err(unexpected)?;
    let (text, scope) = (content.unwrap_or_default(), Scope { partition, instance });
    let mut members = object("extra", extra.as_deref())?;
    if let Some(id) = id {
        let timestamp = timestamp.ok_or_else(|| unexpected(format!("{id}: a record without a time")))?;
        let (trace_id, seq) = (trace_id.unwrap_or_default(), seq.unwrap_or_default());
        return Ok(StoredRecord {
            kind,
            id,
            scope,
            trace_id,
            timestamp,
            seq,
            role,
            text,
            members,
            vector: None,
        });
    }
    if *kind != MESSAGE {
        return Err(unexpected(format!("a {} without an id", kind.name)));
    }
    if let Some(url) = url {
        members.set_text("url", &url);
    }
    let role = role.ok_or_else(|| unexpected("a message without a role"))?;
    let draft = Draft {
        trace_id,
        partition: Some(scope.partition),
        instance: Some(scope.instance),
        timestamp,
        seq: seq.or(Some(0)),
        members,
        ..Draft::message(role, Content::Text(text))
    };
    draft.complete(&NO_DEFAULTS).map_err(unexpected)
}

impl Row {
    /// The record that the row lists, which is of one of these kinds. Fails as `record` does.
    pub(super) fn record(&self, kinds: &[&'static RecordKind]) -> DbResult<StoredRecord> {
        record(self.get("record")?, kinds)
    }
}
