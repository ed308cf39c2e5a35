//! One sequence of operations that every backend must pass.

use crate::support::{Home, on_each_store};
use rsv::record::{
    ACCOUNT, Content, Draft, DraftDefaults, Embedding, Link, Object, Record, Role, Scope, Scopes,
    StoredRecord, Vector, kinds,
};
use rsv::store::{Select, Store, Walk, WriteOutcome, WriteRules};
use rsv::text::{Languages, Occur, Term};
use std::collections::BTreeMap;

/// Opens the one store that the story is about, which is empty at first; again is as another process.
type Open<'a> = dyn Fn() -> Box<dyn Store> + 'a;

on_each_store!(every_store_does_the_same);
/// Keeps: All backends behave alike.
fn every_store_does_the_same(home: Home) {
    story(&|| home.open());
    home.check();
}

fn story(open: &Open) {
    nothing_is_there(open);
    written_records_are_read_back(open);
    existing_records_stay_unchanged(open);
    references_to_missing_records_are_refused(open);
    a_question_has_one_answer(open);
    the_last_come_oldest_first(open);
    words_are_found(open);
    all_is_visited_in_order(open);
    a_visitor_can_stop(open);
    scopes_are_counted(open);
}

fn scope(name: &str) -> Scope {
    Scope { partition: name.into(), instance: name.into() }
}

/// A message with an id of its own, at a time.
fn message(id: &str, at: i64, role: Role, content: &str) -> StoredRecord {
    message_of(id, at, role, Content::Text(content.into()))
}

fn message_of(id: &str, at: i64, role: Role, content: Content) -> StoredRecord {
    let fill = DraftDefaults {
        partition: Some("p".into()),
        instance: Some("p".into()),
        trace_id: "t".into(),
        timestamp: at,
        seq: 0,
    };
    Draft { id: Some(id.into()), ..Draft::message(role, content) }.complete(&fill).unwrap()
}

/// The record with more members.
fn with_members(mut record: StoredRecord, members: &Object) -> StoredRecord {
    for (name, json) in members.iter() {
        record.members.set(name, json);
    }
    record
}

fn account(id: &str, at: i64, members: &Object) -> StoredRecord {
    let (scope, trace_id) = (Some("p".to_owned()), Some("t".to_owned()));
    let draft = Draft {
        id: Some(id.into()),
        trace_id,
        partition: scope.clone(),
        instance: scope.clone(),
        timestamp: Some(at),
        members: members.clone(),
        ..Draft::new(&ACCOUNT, String::new())
    };
    let fill =
        DraftDefaults { partition: None, instance: None, trace_id: String::new(), timestamp: 0, seq: 0 };
    draft.complete(&fill).unwrap()
}

fn user(id: &str, at: i64, content: &str) -> Record {
    Record::Stored(message(id, at, Role::User, content))
}

fn embedding(of: &str, model: &str, vector: &[f32]) -> Record {
    let mut extra = Object::default();
    extra.set("note", "[1.0]");
    Record::Embedding(Embedding { of: of.into(), model: model.into(), vector: vector.into(), extra })
}

fn link(rel: &str, from: &str, to: &str) -> Link {
    let mut extra = Object::default();
    extra.set("note", "1.0");
    Link {
        rel: rel.into(),
        score: Some(0.875),
        model: Some("m".into()),
        extra,
        ..Link::responded_with(from, to, 7)
    }
}

fn everything() -> Walk {
    let which = Select::records(kinds(), Scopes::All);
    Walk { embeddings: true, links: true, ..Walk::records(which) }
}

pub(crate) fn visited(store: &mut dyn Store, what: &Walk) -> Vec<Record> {
    let mut records = Vec::new();
    store
        .walk(what, &mut |record| {
            records.push(record);
            Ok(())
        })
        .unwrap();
    records
}

fn all(open: &Open) -> Vec<Record> {
    visited(&mut *open(), &everything())
}

/// The ids of what the last of a selection are.
fn last(open: &Open, which: &Select, count: usize) -> Vec<String> {
    open().last_of(which, count).unwrap().into_iter().map(|message| message.id).collect()
}

fn found(open: &Open, question: &str, occur: Occur, which: &Select, limit: usize) -> Vec<String> {
    let terms =
        if occur == Occur::All { Term::parse(question) } else { Term::content(question, Languages::ENGLISH) };
    let hits = open().find(&terms, occur, which, limit).unwrap();
    assert!(hits.is_sorted_by(|a, b| a.score >= b.score));
    hits.into_iter().map(|hit| hit.record.id).collect()
}

fn nothing_is_there(open: &Open) {
    let mut store = open();
    assert_eq!(store.last_of(&Select::messages(Scopes::All), 10).unwrap(), []);
    assert_eq!(store.find(&Term::parse("owl"), Occur::All, &Select::messages(Scopes::All), 10).unwrap(), []);
    assert_eq!(visited(&mut *store, &everything()), []);
    assert_eq!(store.scopes(None).unwrap(), []);
    assert_eq!(store.write(&[], WriteRules::KEEP_OUT).unwrap(), []);
}

fn written_records_are_read_back(open: &Open) {
    let mut extra = Object::default();
    extra.set("number", "1.0");
    extra.set("nested", "{\"b\":[1e5],\"a\":12345678901234567890123}");
    let parts = Content::Parts(
        r#"[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"u"}}]"#.into(),
    );
    let batch = [
        Record::Stored(StoredRecord {
            members: extra.clone(),
            seq: 3,
            ..message("m1", 1000, Role::User, "An owl\0 '\"🦉")
        }),
        Record::Stored(message_of("m2", 2000, Role::Assistant, parts)),
        Record::Stored(with_members(message_of("m3", 3000, Role::Tool, Content::Null), &extra)),
        Record::Stored(account("a1", 1500, &extra)),
        embedding("m1", "small", &[0.5, -1e-7, f32::MAX]),
        embedding("m1", "large", &[1.0; 2000]),
        embedding("a1", "small", &[0.0, 0.0, 0.0]),
        Record::Link(link("SYNAPSE", "m1", "a1")),
        Record::Link(link("SYNAPSE", "m1", "m2")),
    ];
    let mut store = open();
    assert_eq!(store.write(&batch, WriteRules::KEEP_OUT).unwrap(), vec![WriteOutcome::New; batch.len()]);
    // Here and in every other process.
    let [m1, m2, m3, a1, small, large, of_account, to_account, to_message] = batch;
    let wanted = [m1, a1, m2, m3, of_account, large, small, to_account, to_message];
    assert_eq!(visited(&mut *store, &everything()), wanted);
    assert_eq!(all(open), wanted);
}

fn existing_records_stay_unchanged(open: &Open) {
    let before = all(open);
    let same = |id: &str| WriteOutcome::Same(id.into());
    let written = open().write(&before, WriteRules::KEEP_OUT).unwrap();
    assert!(written.iter().all(|written| matches!(written, WriteOutcome::Same(_))), "{written:?}");
    let Record::Stored(m1) = &before[0] else { panic!("{:?}", before[0]) };
    // The same scope, trace, role, content and time under another id is the same message.
    let again = StoredRecord { id: "other".into(), members: Object::default(), ..m1.clone() };
    let differs = StoredRecord { text: "else".into(), ..m1.clone() };
    let elsewhere = StoredRecord { scope: scope("q"), ..m1.clone() };
    let batch = [again, differs, elsewhere].map(Record::Stored);
    assert_eq!(
        open().write(&batch, WriteRules::KEEP_OUT).unwrap(),
        [same("m1"), WriteOutcome::Conflict, WriteOutcome::Conflict]
    );
    assert_eq!(
        open().write(&[embedding("m1", "small", &[9.0; 3])], WriteRules::KEEP_OUT).unwrap(),
        [WriteOutcome::Conflict]
    );
    assert_eq!(all(open), before);
    // A vector that comes with a message that is there is kept all the same, once.
    let vector = Some(Vector { model: "late".into(), numbers: vec![2.0] });
    let late = Record::Stored(StoredRecord { vector, ..m1.clone() });
    assert_eq!(open().write(&[late.clone(), late], WriteRules::KEEP_OUT).unwrap(), [same("m1"), same("m1")]);
    assert_eq!(all(open).len(), before.len() + 1);
    // Within one batch too a thing is written once.
    let twice = [user("m4", 4000, "twice"), user("m4", 4000, "twice"), user("m5", 4000, "twice")];
    assert_eq!(
        open().write(&twice, WriteRules::KEEP_OUT).unwrap(),
        [WriteOutcome::New, same("m4"), same("m4")]
    );
}

fn references_to_missing_records_are_refused(open: &Open) {
    let before = all(open);
    let refused = |why: &str| WriteOutcome::Refused(why.into());
    let vector = Some(Vector { model: "small".into(), numbers: vec![1.0] });
    let batch = [
        embedding("none", "small", &[1.0; 3]),
        embedding("m1", "small", &[1.0; 2]),
        Record::Link(link("SYNAPSE", "none", "m1")),
        Record::Link(link("SYNAPSE", "m1", "none")),
        Record::Stored(StoredRecord { vector, ..message("m6", 5000, Role::User, "with a misfit") }),
        // A record later in the batch does not exist yet.
        Record::Link(link("SYNAPSE", "m1", "m7")),
        user("m7", 6000, "next"),
        Record::Link(link("SYNAPSE", "m7", "m1")),
    ];
    assert_eq!(
        open().write(&batch, WriteRules::KEEP_OUT).unwrap(),
        [
            refused("of: the store has no record none"),
            refused("embedding: has 2 numbers, but those of small have 3"),
            refused("from: the store has no record none"),
            refused("to: the store has no record none"),
            refused("embedding: has 1 numbers, but those of small have 3"),
            refused("to: the store has no record m7"),
            WriteOutcome::New,
            WriteOutcome::New,
        ]
    );
    assert_eq!(all(open).len(), before.len() + 2);
}

fn a_question_has_one_answer(open: &Open) {
    let answer = |id: &str, at| Record::Stored(message(id, at, Role::Assistant, id));
    let batch = [answer("b1", 7000), answer("b2", 7001), user("q2", 6999, "second question")];
    assert_eq!(
        open().write(&batch, WriteRules::KEEP_OUT).unwrap(),
        [WriteOutcome::New, WriteOutcome::New, WriteOutcome::New]
    );
    let pair = |from: &str, to: &str| Record::Link(Link::responded_with(from, to, 1));
    let write = |record: Record| open().write(&[record], WriteRules::KEEP_OUT).unwrap().remove(0);
    assert_eq!(write(pair("m7", "b1")), WriteOutcome::New);
    let before = all(open);
    assert_eq!(write(pair("m7", "b1")), WriteOutcome::Same("m7".into()));
    for (from, to) in [("m7", "b2"), ("q2", "b1")] {
        let why = "RESPONDED_WITH: one of the two records is already linked to another, which is kept";
        assert_eq!(write(pair(from, to)), WriteOutcome::Refused(why.into()));
    }
    assert_eq!(all(open), before, "the first link stays");
    assert_eq!(write(pair("q2", "b2")), WriteOutcome::New);
    // Other relations may be many.
    assert_eq!(write(Record::Link(link("SYNAPSE", "m7", "b1"))), WriteOutcome::New);
    assert_eq!(write(Record::Link(link("SYNAPSE", "m7", "b2"))), WriteOutcome::New);
}

fn the_last_come_oldest_first(open: &Open) {
    let at = |id: &str, seq| Record::Stored(StoredRecord { seq, ..message(id, 9000, Role::User, id) });
    let other =
        Record::Stored(StoredRecord { scope: scope("q"), ..message("z9", 8500, Role::System, "elsewhere") });
    let traced = StoredRecord { trace_id: "u".into(), ..message("u1", 8000, Role::Tool, "traced") };
    let place = traced.position();
    open()
        .write(&[at("c", 1), at("a", 2), at("b", 1), other, Record::Stored(traced)], WriteRules::KEEP_OUT)
        .unwrap();
    let one = Select::messages(Scopes::One(scope("p")));
    assert_eq!(last(open, &one, 4), ["u1", "b", "c", "a"]);
    assert_eq!(last(open, &one, 0), [""; 0]);
    assert_eq!(last(open, &Select::messages(Scopes::All), 5), ["u1", "z9", "b", "c", "a"]);
    assert_eq!(last(open, &Select::messages(Scopes::Partition("q".into())), 5), ["z9"]);
    assert_eq!(last(open, &Select::messages(Scopes::Partition("nowhere".into())), 5), [""; 0]);
    let mut which = one.clone();
    which.roles = vec![Role::Assistant, Role::Tool];
    assert_eq!(last(open, &which, 3), ["b1", "b2", "u1"]);
    which.before = Some(place);
    assert_eq!(last(open, &which, 1), ["b2"]);
    let traced = Select { trace_id: Some("u".into()), ..one.clone() };
    assert_eq!(last(open, &traced, 3), ["u1"]);
    let between = Select { since: Some(6999), until: Some(7001), ..one };
    assert_eq!(last(open, &between, 9), ["q2", "b1", "b2"]);
}

fn words_are_found(open: &Open) {
    let said = [
        ("f1", "The owl hunts mice at night"),
        ("f2", "An OWLET sleeps by day"),
        ("f3", "Mice hide"),
        ("f4", "čapek's c++ owl"),
        ("f5", "The owl hunts mice at night"),
        ("f6", "What is lying there?"),
    ];
    let records: Vec<Record> = (0..).zip(said).map(|(n, (id, text))| user(id, 20_000 + n, text)).collect();
    open().write(&records, WriteRules::KEEP_OUT).unwrap();
    let elsewhere = StoredRecord { scope: scope("q"), ..message("f9", 21_000, Role::User, "owl mice night") };
    open().write(&[Record::Stored(elsewhere)], WriteRules::KEEP_OUT).unwrap();
    let which = Select { since: Some(20_000), ..Select::messages(Scopes::One(scope("p"))) };
    let set = |question: &str, occur: Occur| {
        let mut ids = found(open, question, occur, &which, 100);
        ids.sort();
        ids
    };
    assert_eq!(set("owl", Occur::All), ["f1", "f2", "f4", "f5"]);
    assert_eq!(set("owl", Occur::Any), ["f1", "f4", "f5"], "whole words only");
    assert_eq!(set("owl mice", Occur::All), ["f1", "f5"]);
    assert_eq!(set("owlet mice", Occur::Any), ["f1", "f2", "f3", "f5"]);
    assert_eq!(set("CAPEK'S C++", Occur::All), ["f4"]);
    assert_eq!(set("c++ mice", Occur::All), [""; 0]);
    assert_eq!(set("zebra", Occur::Any), [""; 0]);
    assert_eq!(set("lying", Occur::Any), ["f6"], "it does not begin as its stem");
    // Of equals the newest is first.
    assert_eq!(found(open, "owl hunts", Occur::All, &which, 1), ["f5"]);
    assert_eq!(found(open, "owl hunts", Occur::All, &which, 9), ["f5", "f1"]);
    assert_eq!(found(open, "owl", Occur::All, &which, 0), [""; 0]);
    let early = Select { until: Some(20_001), ..which.clone() };
    assert_eq!(found(open, "owl hunts", Occur::All, &early, 9), ["f1"]);
    let all = Select { since: Some(20_000), ..Select::messages(Scopes::All) };
    assert_eq!(found(open, "night", Occur::All, &all, 9).len(), 3);
}

fn all_is_visited_in_order(open: &Open) {
    let records = all(open);
    let kind = |record: &Record| match record {
        Record::Tombstone(_) => 0,
        Record::Stored(_) => 1,
        Record::Embedding(_) => 2,
        Record::Link(_) => 3,
    };
    assert!(records.is_sorted_by_key(kind));
    let places: Vec<(i64, u32, &str)> = records
        .iter()
        .filter_map(Record::stored)
        .map(|record| (record.timestamp, record.seq, record.id.as_str()))
        .collect();
    assert!(places.is_sorted() && places.len() > 15);
    // Of a selection only what belongs to it, links by both their ends.
    let which = Select { until: Some(2500), ..Select::messages(Scopes::One(scope("p"))) };
    let of_all_kinds = Select { kinds: kinds(), ..which.clone() };
    let early = visited(&mut *open(), &Walk { which: of_all_kinds, ..everything() });
    assert_eq!(early.iter().filter(|record| kind(record) == 3).count(), 2);
    let messages = visited(&mut *open(), &Walk::records(which.clone()));
    assert_eq!(messages.len(), 2);
    // With vectors a message carries that of the model that has the most.
    let with = visited(&mut *open(), &Walk { vectors: true, ..Walk::records(which) });
    let Record::Stored(first) = &with[0] else { panic!("{:?}", with[0]) };
    assert_eq!(first.vector.as_ref().map(|vector| vector.model.as_str()), Some("small"));
}

fn a_visitor_can_stop(open: &Open) {
    let mut count = 0;
    let stopped = open().walk(&everything(), &mut |_| {
        count += 1;
        if count < 3 { Ok(()) } else { Err(rsv::error::Error::new("enough")) }
    });
    assert_eq!((stopped.unwrap_err().to_string(), count), ("enough".to_owned(), 3));
}

fn scopes_are_counted(open: &Open) {
    let lone = StoredRecord { scope: scope("a'b"), ..message("s1", 1, Role::User, "alone") };
    open().write(&[Record::Stored(lone)], WriteRules::KEEP_OUT).unwrap();
    let scopes = open().scopes(None).unwrap();
    let messages = open().last_of(&Select::messages(Scopes::One(scope("p"))), 1000).unwrap().len() as u64;
    assert_eq!(scopes, [(scope("a'b"), 1), (scope("p"), messages), (scope("q"), 2)]);
    let Scope { instance, .. } = scope("p");
    assert_eq!(open().scopes(Some(&instance)).unwrap(), scopes[1..2]);
    assert_eq!(open().scopes(Some("another")).unwrap(), []);
    for which in [Select::messages(Scopes::All), Select::records(kinds(), Scopes::Partition("p".to_owned()))]
    {
        let mut counted: BTreeMap<Scope, (u64, i64, i64, u64)> = BTreeMap::new();
        for record in visited(&mut *open(), &Walk::records(which.clone())) {
            let Record::Stored(record) = record else { panic!("{record:?}") };
            let time = record.timestamp;
            let (count, first, last, bytes) = counted.entry(record.scope).or_insert((0, time, time, 0));
            (*count, *bytes) = (*count + 1, *bytes + record.text.len() as u64);
            (*first, *last) = (time.min(*first), time.max(*last));
        }
        let summaries = open().summarize(&which).unwrap().into_iter();
        let summaries = summaries.map(|one| (one.scope, (one.messages, one.first, one.last, one.bytes)));
        assert_eq!(summaries.collect::<Vec<_>>(), Vec::from_iter(counted));
    }
}
