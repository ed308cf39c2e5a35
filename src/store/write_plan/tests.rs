//! A table of stored records, of written ones, and of the outcomes.

use super::*;
use crate::record::{DraftDefaults, Line, Object, RecordDigests, Scope, TombstoneState};
use crate::store::forgetting::Forgotten;
use crate::store::identity::NameLimit;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

/// A store in memory, which notes its changes.
#[derive(Default)]
struct StoreInMemory {
    records: BTreeMap<String, StoredRecord>,
    unadopted: Option<String>,
    vectors: BTreeMap<(String, String), Vec<f32>>,
    links: BTreeSet<[String; 3]>,
    tombstones: BTreeMap<String, Tombstone>,
    changes: Vec<String>,
}

impl TombstoneLookup for BTreeMap<String, Tombstone> {
    type Error = Infallible;

    fn of(&self, digest: &str) -> Result<Option<Tombstone>, Infallible> {
        Ok(self.get(digest).cloned())
    }

    fn naming(&self, digests: &RecordDigests) -> Result<Vec<Tombstone>, Infallible> {
        let is_named = |one: &&Tombstone| {
            let names = [Some(one.of.clone()), one.also.clone(), one.folded()];
            digests.iter().any(|digest| names.iter().flatten().any(|name| name == digest))
        };
        Ok(self.values().filter(is_named).cloned().collect())
    }

    fn former_names(&self, _: &str) -> Result<Vec<String>, Infallible> {
        Ok(Vec::new())
    }
}

impl WriteTarget for StoreInMemory {
    type Error = Infallible;
    type Tombstones = BTreeMap<String, Tombstone>;

    const NAME_LIMIT: Option<NameLimit> = Some(NameLimit { bytes: 40, database: "memory" });

    fn tombstones(&self) -> Option<&BTreeMap<String, Tombstone>> {
        (!self.tombstones.is_empty()).then_some(&self.tombstones)
    }

    fn holder(&self, record: &StoredRecord) -> Result<Holder<'_>, Infallible> {
        Ok(match self.records.get(&record.id) {
            Some(existing) => Holder::Own(Cow::Borrowed(existing)),
            None => {
                let same = self.records.values().find(|existing| existing.is_same(record));
                let unadopted = self.unadopted.clone().filter(|_| record.kind.natural_key.is_some());
                let twin =
                    same.map(|existing| Twin::Record(existing.id.clone())).or(unadopted.map(Twin::Unadopted));
                twin.map_or(Holder::Nothing, Holder::Twin)
            }
        })
    }

    fn kind_of(&self, id: &str) -> Result<Option<String>, Infallible> {
        Ok(self.records.get(id).map(|existing| existing.kind.name.to_owned()))
    }

    fn owner(&self, id: &str) -> Result<Option<Owner<'_>>, Infallible> {
        Ok(self.records.get(id).map(|existing| Owner::Versioned(Cow::Borrowed(existing))))
    }

    fn vector(&self, of: &str, model: &str) -> Result<Option<Cow<'_, [f32]>>, Infallible> {
        let vector = self.vectors.get(&(of.to_owned(), model.to_owned()));
        Ok(vector.map(|vector| Cow::Borrowed(vector.as_slice())))
    }

    fn dim(&self, model: &str) -> Result<Option<usize>, Infallible> {
        let of_model = self.vectors.iter().find(|((_, known), _)| known == model);
        Ok(of_model.map(|(_, vector)| vector.len()))
    }

    fn has_link_from(&self, rel: &str, id: &str) -> Result<bool, Infallible> {
        Ok(self.links.iter().any(|[known, from, _]| known == rel && from == id))
    }

    fn is_empty_directory(&self, directory: &StoredRecord) -> Result<bool, Infallible> {
        let below = format!("{}/", directory.member_text("uri"));
        Ok(!self.records.values().any(|record| record.member_text("uri").starts_with(&below)))
    }

    fn add_link(&mut self, link: &Link) -> Result<AddedLink, Infallible> {
        let Link { rel, from, to, .. } = link;
        if !self.records.contains_key(from) {
            return Ok(AddedLink::NoSource);
        }
        if !self.records.contains_key(to) {
            return Ok(AddedLink::NoTarget);
        }
        let key = [rel, from, to].map(String::clone);
        if self.links.contains(&key) {
            return Ok(AddedLink::Same);
        }
        let has_end =
            |[known, source, target]: &[String; 3]| known == rel && (source == from || target == to);
        if identity::is_one_to_one(rel) && self.links.iter().any(has_end) {
            return Ok(AddedLink::SecondAnswer);
        }
        self.links.insert(key);
        self.changes.push(format!("link {from} {to}"));
        Ok(AddedLink::New)
    }

    fn apply(&mut self, change: Change<'_>) -> Result<(), Infallible> {
        let noted = match change {
            Change::Insert(record) => self.put("insert", record.into_owned()),
            Change::Replace(record) => self.put("replace", record.into_owned()),
            Change::Update(record) => self.put("update", record),
            Change::Adopt(record, place) => self.put("adopt", record.clone()) + " at " + &place,
            Change::Hide(place) => format!("hide {place}"),
            Change::AddVector(embedding) => {
                let Embedding { of, model, vector, .. } = embedding.into_owned();
                let noted = format!("vector of {of}");
                self.vectors.insert((of, model), vector);
                noted
            }
            Change::PutTombstone(one) => {
                let noted = format!("{} at {}", one.state.name(), one.timestamp);
                self.tombstones.insert(one.of.clone(), one);
                noted
            }
        };
        self.changes.push(noted);
        Ok(())
    }
}

impl StoreInMemory {
    fn put(&mut self, how: &str, mut record: StoredRecord) -> String {
        if let Some(vector) = record.vector.take() {
            self.vectors.insert((record.id.clone(), vector.model), vector.numbers);
        }
        let noted = format!("{how} {}", name(&record));
        self.records.insert(record.id.clone(), record);
        noted
    }
}

/// The name of a record in a row: its address or its id; of a use, whose id is derived, `use`.
fn name(record: &StoredRecord) -> String {
    match record.member_text("uri").rsplit_once("://resources/") {
        Some((_, path)) => path.to_owned(),
        None if record.member_text("type") == "usage" => "use".to_owned(),
        None => record.id.clone(),
    }
}

const KEEP_OUT: WriteRules<'static> = WriteRules::KEEP_OUT;
const NEW: WriteRules<'static> = WriteRules::NEW;
const READMIT: WriteRules<'static> =
    WriteRules { forgotten: Forgotten::Return { at: 90 }, source: WriteSource::Import, import: None };
const NEW_READMIT: WriteRules<'static> = WriteRules { source: WriteSource::Local, ..READMIT };

/// The records of the rows, by name: kinds, and members beside those that the kind needs.
const LINES: &[(&str, &str, &str)] = &[
    ("m1", "message", r#""id":"m1","content":"An owl""#),
    ("other", "message", r#""id":"m1","content":"A cat""#),
    ("long", "message", r#""id":"m1234567890123456789012345678901234567890","content":"An owl""#),
    ("copy", "message", r#""id":"copy","content":"An owl""#),
    ("loud", "message", r#""id":"loud","content":"AN  OWL""#),
    ("m2", "message", r#""id":"m2","content":"A mouse""#),
    ("m3", "message", r#""id":"m3","content":"A vole""#),
    ("account", "account", r#""id":"a","recalled":[]"#),
    ("whole", "account", r#""id":"a","recalled":[{"id":"m1"}]"#),
    ("a", "memory", r#""id":"a1","content":"Owls hunt""#),
    (
        "b",
        "memory",
        r#""id":"b1","content":"Owls hunt at night","source_ids":["a1"],"origin":"consolidated""#,
    ),
    ("c", "memory", r#""id":"c1","content":"Owls do","source_ids":["a1"],"origin":"consolidated""#),
    ("signal", "signal", r#""id":"s","of":"a1","type":"explicit""#),
    ("use", "signal", r#""of":"a1","type":"usage","day":"2026-11-01","store":"x","count":1"#),
    ("uses", "signal", r#""of":"a1","type":"usage","day":"2026-11-01","store":"x","count":2"#),
    ("one", "document", r#""uri":"viking://resources/d","content":"One""#),
    ("two", "document", r#""uri":"viking://resources/d","content":"Two","timestamp":20"#),
    ("one-late", "document", r#""uri":"viking://resources/d","content":"One","timestamp":60"#),
    (
        "some",
        "document",
        r#""uri":"viking://resources/e","children":1,"abstract":"Some","source_sha256":"2$""#,
    ),
    (
        "all",
        "document",
        r#""uri":"viking://resources/e","children":1,"abstract":"All","source_sha256":"1$","timestamp":60"#,
    ),
    ("below", "document", r#""uri":"viking://resources/e/f/g","content":"Three""#),
    ("pair", "link", r#""rel":"RESPONDED_WITH","from":"m1","to":"m2""#),
    ("second", "link", r#""rel":"RESPONDED_WITH","from":"m1","to":"m3""#),
    ("link", "link", r#""rel":"RELATED","from":"m1","to":"m2""#),
    ("source", "link", r#""rel":"CONSOLIDATED_INTO","from":"a1","to":"b1""#),
    ("vector", "embedding", r#""of":"m1","model":"m","vector":[1,0]"#),
    ("nearby", "embedding", r#""of":"m1","model":"m","vector":[0,1]"#),
    ("misfit", "embedding", r#""of":"m1","model":"m","vector":[1]"#),
];

/// The record that a row names; after `+2` or `+1`, with a vector of that many numbers.
fn record(name: &str) -> Record {
    let (name, dim) = name.split_once('+').unwrap_or((name, ""));
    let (_, kind, members) = LINES.iter().find(|(known, ..)| *known == name).unwrap();
    let needed = match *kind {
        "message" => r#","role":"user""#,
        "memory" => r#","title":"T","outcome":"success""#,
        "account" => r#","trace_id":"t","partition":"p","instance":"p","timestamp":10"#,
        "signal" => r#","positive":true"#,
        _ => "",
    };
    let vector = match dim {
        "" => "",
        "1" => r#","embedding":[1],"embedding_model":"m""#,
        _ => r#","embedding":[1,0],"embedding_model":"m""#,
    };
    let members = members.replace('$', &"0".repeat(63));
    let line = format!(r#"{{"kind":"{kind}",{members}{needed}{vector}}}"#);
    let (partition, trace_id) = (Some("p".to_owned()), "t".to_owned());
    let fill = DraftDefaults { partition, trace_id, timestamp: 10, ..Default::default() };
    match Line::parse(Object::parse(&line).unwrap()).unwrap() {
        Line::Record(draft) => Record::Stored(draft.complete(&fill).unwrap()),
        Line::Embedding(embedding) => Record::Embedding(embedding),
        Line::Link(link) => Record::Link(link),
        other => panic!("{other:?}"),
    }
}

fn write_to(store: &mut StoreInMemory, batch: &[Record], rules: WriteRules) -> Vec<WriteOutcome> {
    let Ok(written) = write(store, batch, rules, &Received::default(), &mut RefusedIds::default());
    written
}

/// A store of the named records; after `-`, what was forgotten at the time 50; after `@`, what another
/// program wrote.
fn store(names: &str) -> StoreInMemory {
    let mut existing = StoreInMemory::default();
    for name in names.split_whitespace() {
        if let Some(forgotten) = name.strip_prefix('-') {
            let one = match record(forgotten) {
                Record::Link(link) => Tombstone::of_link(&link, Scope::new(None, None).unwrap(), 50, None),
                of => Tombstone::of(of.stored().unwrap(), TombstoneState::Forgotten, 50, None),
            };
            existing.tombstones.insert(one.of.clone(), one);
        } else if name.starts_with('@') {
            existing.unadopted = Some("place".to_owned());
        } else {
            write_to(&mut existing, &[record(name)], KEEP_OUT);
        }
    }
    existing.changes.clear();
    existing
}

/// The stored records, the written ones, the rules; the outcome, and the changes.
type TableRow = (&'static str, &'static str, WriteRules<'static>, &'static str, &'static str);

const MISFIT: &str = "embedding: has 1 numbers, but those of m have 2";
const MISSING: &str = "to: the store has no record m2";
const SECOND: &str = "RESPONDED_WITH: one of the two records is already linked to another, which is kept";

const TABLE: &[TableRow] = &[
    // Records that exist, or not.
    ("", "m1", KEEP_OUT, "new", "insert m1"),
    ("m1", "m1", KEEP_OUT, "same m1", ""),
    ("m1", "other", KEEP_OUT, "differs", ""),
    ("m1", "copy", KEEP_OUT, "same m1", ""),
    ("m1", "copy+2", KEEP_OUT, "same m1", "vector of m1"),
    ("m1+2", "copy+2", KEEP_OUT, "same m1", ""),
    ("", "long", KEEP_OUT, "id: is longer than 40 bytes, which memory cannot index", ""),
    ("m2+2", "m1+1", KEEP_OUT, MISFIT, ""),
    ("@m1", "m1", KEEP_OUT, "same m1", "adopt m1 at place"),
    ("@m1 -m1", "m1", KEEP_OUT, "kept out", "hide place"),
    ("@m1 -m1", "m1", READMIT, "same m1", "returned at 90, adopt m1 at place"),
    // Forgotten records.
    ("-m1", "m1", KEEP_OUT, "kept out", ""),
    ("-m1", "copy", KEEP_OUT, "kept out", ""),
    ("-m1", "loud", NEW, "kept out", ""),
    ("-m1", "m3", KEEP_OUT, "new", "insert m3"),
    ("-m1", "loud", READMIT, "new", "returned at 90, insert loud"),
    ("-m1 m2+2", "m1+1", READMIT, MISFIT, ""),
    // Versions.
    ("one", "two", KEEP_OUT, "replaced", "replace d"),
    ("two", "one", KEEP_OUT, "same d", ""),
    ("two", "one+2", KEEP_OUT, "same d", ""),
    ("one", "one+2", KEEP_OUT, "same d", "vector of d"),
    ("two", "one", NEW, "replaced", "replace d"),
    ("two -one", "one-late", KEEP_OUT, "kept out", ""),
    ("two -one", "one-late", READMIT, "replaced", "returned at 90, replace d"),
    ("-some", "all", KEEP_OUT, "new", "insert e"),
    ("-some", "all", NEW, "kept out", ""),
    ("-some below", "all", NEW, "new", "insert e"),
    // Kinds that merge, and records with parts.
    ("a", "use", KEEP_OUT, "new", "insert use"),
    ("a use", "uses", KEEP_OUT, "replaced", "update use"),
    ("a uses", "use", KEEP_OUT, "same use", ""),
    ("a signal", "signal", KEEP_OUT, "same s", ""),
    ("account", "whole", READMIT, "same a", ""),
    ("account -link", "whole", READMIT, "replaced", "replace a"),
    ("whole -link", "account", READMIT, "same a", ""),
    ("account -link", "whole", KEEP_OUT, "same a", ""),
    // Records that are about another, or take its place.
    ("", "signal", KEEP_OUT, "of: memory not found: a1", ""),
    ("a", "b", NEW, "new", "insert b1, link a1 b1"),
    ("", "b", KEEP_OUT, "new", "insert b1"),
    ("", "b", NEW, "source_ids: memory not found: a1", ""),
    ("a c", "b", NEW, "source_ids: a1 is archived already", ""),
    ("a c", "b", KEEP_OUT, "new", "insert b1, link a1 b1"),
    ("-b", "b", NEW, "kept out", ""),
    ("-b", "b", NEW_READMIT, "source_ids: memory not found: a1", ""),
    ("a -b", "b", NEW_READMIT, "new", "returned at 90, insert b1, link a1 b1"),
    ("a -source", "b", NEW_READMIT, "new", "insert b1"),
    // Links.
    ("m1 m2", "pair", KEEP_OUT, "new", "link m1 m2"),
    ("m1 m2 pair", "pair", KEEP_OUT, "same m1", ""),
    ("m1 m2 m3 pair", "second", KEEP_OUT, SECOND, ""),
    ("m1 m2 m3 pair -second", "second", READMIT, SECOND, ""),
    ("m2", "link", KEEP_OUT, "from: the store has no record m1", ""),
    ("m1", "link", READMIT, MISSING, ""),
    ("m2 -m1", "link", KEEP_OUT, "kept out", ""),
    ("m1 m2 -link", "link", KEEP_OUT, "kept out", ""),
    ("m1 -link", "link", KEEP_OUT, "kept out", ""),
    ("m1 -link", "link", READMIT, MISSING, ""),
    ("m2 -m1 -link", "link", READMIT, "kept out", ""),
    ("m1 m2 -link", "link", READMIT, "new", "link m1 m2, returned at 90"),
    ("m1 m2 -link", "pair", KEEP_OUT, "new", "link m1 m2"),
    // Vectors.
    ("m1", "vector", KEEP_OUT, "new", "vector of m1"),
    ("m1 vector", "vector", KEEP_OUT, "same m1", ""),
    ("m1 vector", "nearby", KEEP_OUT, "differs", ""),
    ("m1 m2+2", "misfit", KEEP_OUT, MISFIT, ""),
    ("", "vector", KEEP_OUT, "of: the store has no record m1", ""),
    ("-m1", "vector", KEEP_OUT, "kept out", ""),
];

#[test]
fn a_write_has_the_outcome_and_the_changes_of_the_table() {
    for (names, requested, rules, outcome, changes) in TABLE {
        let (mut existing, record) = (store(names), record(requested));
        let written = match write_to(&mut existing, std::slice::from_ref(&record), *rules).remove(0) {
            WriteOutcome::New => "new".to_owned(),
            WriteOutcome::Same(id) => format!("same {id}"),
            WriteOutcome::Replaced => "replaced".to_owned(),
            WriteOutcome::Conflict => "differs".to_owned(),
            WriteOutcome::KeptOut => "kept out".to_owned(),
            WriteOutcome::Removed(count) => format!("removed {count}"),
            WriteOutcome::Refused(why) => why,
        };
        let in_row =
            |text: String| record.stored().map_or(text.clone(), |of| text.replace(&of.id, &name(of)));
        let came = (in_row(written), in_row(existing.changes.join(", ")));
        assert_eq!(came, ((*outcome).to_owned(), (*changes).to_owned()), "{names}: {requested} {rules:?}");
    }
}

#[test]
fn what_follows_a_refused_record_is_refused() {
    let mut existing = store("m1 m2");
    let written = write_to(&mut existing, &["other", "link", "vector"].map(record), KEEP_OUT);
    let refused =
        WriteOutcome::Refused("follows the record m1 of the same input, which was refused".to_owned());
    assert_eq!(written, [WriteOutcome::Conflict, refused.clone(), refused]);
    assert_eq!(existing.changes, [""; 0]);
}
