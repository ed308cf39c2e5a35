//! Signals: pieces of evidence about memories.

use super::id;
use super::members::{name, texts, timestamp};
use super::object::{Object, invalid, missing, unexpected, write_member};
use super::stored::{Draft, RecordKind, StoredRecord, Subject, Tally, TextSource, write_time};
use super::time;
use crate::error::Result;

/// The kind of signals: one piece of evidence about a memory.
pub static SIGNAL: RecordKind = RecordKind {
    name: "signal",
    label: "RsvSignal",
    read: parse,
    write,
    fixed_parts: Some(|signal| ["of", "type", "positive"].map(|name| json_of(signal, name)).to_vec()),
    merge: Some(merge),
    subject: Some(Subject { kind: "memory", tallies }),
    lookup_key: Some("of"),
    shown: TextSource::Composed(shown_text),
    ..RecordKind::PLAIN
};

/// Its type, its sign and its memory: `outcome, negative, of m1`.
fn shown_text(signal: &StoredRecord) -> String {
    let member = |name| signal.member_text(name);
    let sign = if signal.members.get("positive") == Some("true") { "positive" } else { "negative" };
    let count = match signal.members.get("count") {
        None => String::new(),
        Some("1") => ", once".to_owned(),
        Some(count) => format!(", {count} times"),
    };
    format!("{}, {sign}{count}, of {}", member("type"), member("of"))
}

/// The type of a signal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SignalType {
    /// Somebody says that the memory helped, or did not.
    Explicit,
    /// The memory was used.
    Usage,
    /// An attempt that used the memory succeeded or failed.
    Outcome,
}

/// The types with their names, and their counters of positive and of negative signals.
const TYPES: [(&str, SignalType, [&str; 2]); 3] = [
    ("explicit", SignalType::Explicit, ["explicit+", "explicit-"]),
    ("usage", SignalType::Usage, ["usage+", "usage-"]),
    ("outcome", SignalType::Outcome, ["outcome+", "outcome-"]),
];

/// The counter of the uses of a memory.
pub const USES: &str = "uses";

/// The counter of the explicit signals of a partition.
pub const EXPLICIT_SIGNALS: &str = "explicit";

impl SignalType {
    pub const ALL: [SignalType; 3] = [SignalType::Explicit, SignalType::Usage, SignalType::Outcome];

    /// Its name in a line.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// The counters of a memory's positive and negative signals of the type.
    pub fn counters(self) -> [&'static str; 2] {
        self.row().2
    }

    /// The counters of a partition: how often explicit signals agreed with signals of the type, and how often
    /// not.
    pub fn agreement_counters(self) -> [&'static str; 2] {
        match self {
            SignalType::Usage => ["usage agrees", "usage disagrees"],
            SignalType::Outcome => ["outcome agrees", "outcome disagrees"],
            SignalType::Explicit => ["", ""],
        }
    }

    fn row(self) -> (&'static str, SignalType, [&'static str; 2]) {
        // Each type has its row.
        TYPES.into_iter().find(|(_, known, _)| *known == self).unwrap_or(TYPES[0])
    }

    fn named(name: &str) -> Option<SignalType> {
        TYPES.into_iter().find(|(known, ..)| *known == name).map(|(_, known, _)| known)
    }

    /// The type of a signal.
    pub fn of(signal: &StoredRecord) -> SignalType {
        // A signal of another type is refused when it is read.
        SignalType::named(&signal.member_text("type")).unwrap_or(SignalType::Explicit)
    }
}

const ORDER: [&str; 8] = ["of", "type", "positive", "session_id", "predicted", "count", "day", "store"];
const HEAD: [&str; 7] = ["kind", "id", "partition", "instance", "memory_id", "timestamp", "created_at"];

/// Reads a signal line. Errors begin with the member at fault.
fn parse(line: Object) -> Result<Draft> {
    let of = match line.text("of")? {
        None => line.text("memory_id")?,
        of => of,
    };
    let of = of.filter(|of| !of.is_empty()).ok_or_else(|| invalid("of", "memory ID cannot be empty"))?;
    let type_name = line.text("type")?.ok_or_else(|| missing("type"))?;
    let signal_type = SignalType::named(&type_name)
        .ok_or_else(|| unexpected("type", "explicit, usage or outcome", &type_name))?;
    let positive = match line.get("positive") {
        Some(json @ ("true" | "false")) => json,
        None => return Err(missing("positive")),
        Some(json) => return Err(unexpected("positive", "true or false", json)),
    };
    for prediction in texts(&line, "predicted")?.unwrap_or_default() {
        if prediction_of(&prediction).is_none() {
            return Err(unexpected("predicted", "usage+, usage-, outcome+ or outcome-", &prediction));
        }
    }
    line.text("session_id")?;
    let mut id = name(&line, "id")?;
    // A use that did not help is a signal by itself, which need not be counted by days.
    if signal_type == SignalType::Usage && (positive == "true" || line.has("day")) {
        let (day, store) = (required_text(&line, "day")?, required_text(&line, "store")?);
        match line.integer("count")? {
            Some(count) if count > 0 => {}
            Some(count) => return Err(unexpected("count", "a number from 1", &count.to_string())),
            None => return Err(missing("count")),
        }
        if id.is_none() {
            id = Some(usage_id(&of, &day, &store)?);
        }
    }
    let mut members = Object::default();
    for member in ORDER {
        match member {
            "of" => members.set_text("of", &of),
            "positive" => members.set("positive", positive),
            member => {
                if let Some(json) = line.get(member).filter(|json| *json != "null") {
                    members.set(member, json);
                }
            }
        }
    }
    for (name, json) in line.iter().filter(|(name, _)| !ORDER.contains(name) && !HEAD.contains(name)) {
        members.set(name, json);
    }
    Ok(Draft {
        id,
        partition: name(&line, "partition")?,
        instance: name(&line, "instance")?,
        timestamp: timestamp(&line)?,
        members,
        ..Draft::new(&SIGNAL, String::new())
    })
}

fn required_text(line: &Object, member: &str) -> Result<String> {
    name(line, member)?.ok_or_else(|| missing(member))
}

/// The id of the record that counts the uses of a memory on a day (`2026-11-23`, UTC) in a store. Fails if
/// `day` is none.
pub fn usage_id(of: &str, day: &str, store: &str) -> Result<String> {
    let begin = time::parse(&format!("{day}T00:00:00Z")).map_err(|_| unexpected("day", "a date", day))?;
    Ok(id::derived(begin, &["usage", of, day, store]))
}

/// A day of a signal (UTC), such as `2026-11-23`, from milliseconds since 1970.
pub fn day_of(ms: i64) -> String {
    time::rfc3339(ms).chars().take(10).collect()
}

impl Draft {
    /// A signal about the memory of an id, without an id and a scope of its own.
    pub fn signal(of: &str, signal_type: SignalType, positive: bool, timestamp: i64) -> Draft {
        let mut members = Object::default();
        members.set_text("of", of);
        members.set_text("type", signal_type.name());
        members.set("positive", positive.to_string());
        Draft { timestamp: Some(timestamp), members, ..Draft::new(&SIGNAL, String::new()) }
    }
}

impl Draft {
    /// A use of a memory on the day of `timestamp` (milliseconds since 1970, UTC), counted in a store: one
    /// more than there are. Fails if `timestamp` has no date.
    pub fn usage(of: &str, store: &str, timestamp: i64) -> Result<Draft> {
        let day = day_of(timestamp);
        let mut draft = Draft::signal(of, SignalType::Usage, true, timestamp);
        draft.id = Some(usage_id(of, &day, store)?);
        draft.members.set_text("day", &day);
        draft.members.set_text("store", store);
        Ok(draft)
    }
}

/// Usage is counted up: the greater count holds, and a signal without one is one more use. Others never
/// change.
fn merge(stored: Option<&StoredRecord>, new: &StoredRecord) -> Option<StoredRecord> {
    let count = |signal: &StoredRecord| signal.members.valid_integer("count");
    if SignalType::of(new) != SignalType::Usage || !new.members.has("day") {
        return stored.is_none().then(|| new.clone());
    }
    let there = stored.and_then(count).unwrap_or_default();
    let wanted = count(new).unwrap_or(there + 1);
    if stored.is_some() && wanted <= there {
        return None;
    }
    let mut merged = new.clone();
    merged.members.set("count", wanted.to_string());
    merged.timestamp = stored.map_or(new.timestamp, |stored| stored.timestamp.max(new.timestamp));
    Some(merged)
}

/// Parses a prediction such as `usage+`: the type, and whether it is positive.
fn prediction_of(text: &str) -> Option<(SignalType, bool)> {
    let (name, sign) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let signal_type = SignalType::named(name).filter(|known| *known != SignalType::Explicit)?;
    match sign {
        "+" => Some((signal_type, true)),
        "-" => Some((signal_type, false)),
        _ => None,
    }
}

/// Counts by memory, and, of an explicit signal, which of its predictions were right, by partition.
fn tallies(signal: &StoredRecord) -> Vec<Tally> {
    let (of, signal_type) = (signal.member_text("of"), SignalType::of(signal));
    let is_positive = signal.members.get("positive") == Some("true");
    let counter = signal_type.counters()[usize::from(!is_positive)];
    let mut tallies = vec![Tally { subject: of.clone(), counter, amount: 1 }];
    match signal_type {
        SignalType::Usage => {
            // A signal of usage without a count is one use.
            let amount = signal.members.valid_integer("count").unwrap_or(1);
            tallies.push(Tally { subject: of, counter: USES, amount });
        }
        SignalType::Explicit => {
            let partition = || signal.scope.partition.clone();
            tallies.push(Tally { subject: partition(), counter: EXPLICIT_SIGNALS, amount: 1 });
            for prediction in signal.member_texts("predicted") {
                if let Some((predicted, sign)) = prediction_of(&prediction) {
                    let counter = predicted.agreement_counters()[usize::from(sign != is_positive)];
                    tallies.push(Tally { subject: partition(), counter, amount: 1 });
                }
            }
        }
        SignalType::Outcome => {}
    }
    tallies
}

/// The JSON text of a member; empty if there is none.
fn json_of(signal: &StoredRecord, name: &str) -> String {
    signal.members.get(name).unwrap_or_default().to_owned()
}

fn write(signal: &StoredRecord, out: &mut Vec<u8>) {
    for member in ORDER {
        if let Some(json) = signal.members.get(member) {
            write_member(out, member, json);
        }
    }
    write_time(signal.timestamp, out);
    signal.members.write_members_except(&ORDER, out);
}
