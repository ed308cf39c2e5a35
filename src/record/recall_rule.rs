//! Rules of recall: whether a message is recalled always, never, or as all others are. The newest about a
//! message holds.

use super::members::{name, timestamp};
use super::object::{Object, missing, unexpected, write_member};
use super::stored::{Draft, RecordKind, StoredRecord, Subject, TextSource, write_time};
use crate::error::Result;

/// The kind of rules of recall.
pub static RECALL: RecordKind = RecordKind {
    name: "recall",
    label: "RsvRecall",
    read: parse,
    write,
    fixed_parts: Some(|rule| ORDER.map(|member| rule.member_text(member)).to_vec()),
    subject: Some(Subject { kind: "message", tallies: |_| Vec::new() }),
    lookup_key: Some(OF),
    shown: TextSource::Composed(shown_text),
    ..RecordKind::PLAIN
};

const OF: &str = "of";

/// The member with the rule, which a hit has too.
pub const RULE: &str = "recall";

const ORDER: [&str; 2] = [OF, RULE];
const HEAD: [&str; 6] = ["kind", "id", "partition", "instance", "timestamp", "created_at"];

/// Whether a message is recalled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RecallRule {
    /// For every request whose reach it is in.
    Always,
    /// For none.
    Never,
    /// If it is related or recent, as without a rule.
    #[default]
    Auto,
}

impl RecallRule {
    /// The names of the rules, in lines and as values of options.
    pub const NAMES: [&str; 3] = ["always", "never", "auto"];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            RecallRule::Always => "always",
            RecallRule::Never => "never",
            RecallRule::Auto => "auto",
        }
    }

    /// The rule of a name.
    pub fn named(name: &str) -> Option<RecallRule> {
        let all = [RecallRule::Always, RecallRule::Never, RecallRule::Auto];
        all.into_iter().find(|rule| rule.name() == name)
    }

    /// The rule in a record of the kind.
    pub fn of(record: &StoredRecord) -> RecallRule {
        // Another rule is refused when it is read.
        RecallRule::named(&record.member_text(RULE)).unwrap_or_default()
    }
}

/// Reads a line with a rule. Errors begin with the member at fault.
fn parse(mut line: Object) -> Result<Draft> {
    let of = name(&line, OF)?.ok_or_else(|| missing("of"))?;
    let rule = line.text(RULE)?.ok_or_else(|| missing("recall"))?;
    if RecallRule::named(&rule).is_none() {
        return Err(unexpected(RULE, "always, never or auto", &rule));
    }
    let draft = Draft {
        id: name(&line, "id")?,
        partition: name(&line, "partition")?,
        instance: name(&line, "instance")?,
        timestamp: timestamp(&line)?,
        ..Draft::new(&RECALL, String::new())
    };
    line.retain(|name| !HEAD.contains(&name));
    line.set_text(OF, &of);
    Ok(Draft { members: line, ..draft })
}

impl Draft {
    /// A rule about the message of an id, without an id and a scope of its own; `timestamp` is in
    /// milliseconds since 1970, UTC.
    pub fn recall_rule(of: &str, rule: RecallRule, timestamp: i64) -> Draft {
        let mut members = Object::default();
        members.set_text(OF, of);
        members.set_text(RULE, rule.name());
        Draft { timestamp: Some(timestamp), members, ..Draft::new(&RECALL, String::new()) }
    }
}

/// The rule and its message: `never, of m1`.
fn shown_text(rule: &StoredRecord) -> String {
    format!("{}, of {}", rule.member_text(RULE), rule.member_text(OF))
}

fn write(rule: &StoredRecord, out: &mut Vec<u8>) {
    for member in ORDER {
        if let Some(json) = rule.members.get(member) {
            write_member(out, member, json);
        }
    }
    write_time(rule.timestamp, out);
    rule.members.write_members_except(&ORDER, out);
}
