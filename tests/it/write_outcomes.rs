//! A write has the same outcome in every store: a refused record changes nothing, and after the same writes two stores
//! report the same and hold the same.

use crate::store::visited;
use crate::support::{Home, lines_of, number_from, on_each_store, on_graph, remove};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::test_runner::{RngSeed, TestCaseError, TestRunner};
use rsv::record::{
    Draft, DraftDefaults, Line, Link, Object, Record, Scope, Scopes, StoredRecord, Tombstone, TombstoneState,
    kinds,
};
use rsv::store::{Forgotten, Removal, Select, Store, Walk, WriteOutcome, WriteRules, WriteSource};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::slice::from_ref;

const A_AND_B: &str = "{\"id\":\"a\",\"role\":\"user\",\"content\":\"An owl\",\"timestamp\":1000}\n\
                       {\"id\":\"b\",\"role\":\"user\",\"content\":\"A mouse\",\"timestamp\":2000}\n";

/// The states of the tombstones of links in an export.
fn states(export: &str) -> Vec<String> {
    let lines = lines_of(export);
    let of_links = lines.iter().filter(|line| line["kind"] == "tombstone" && line["what"] == "link");
    of_links.map(|line| line["state"].as_str().unwrap().to_owned()).collect()
}

on_each_store!(a_forgotten_link_whose_end_is_missing_stays_forgotten);
/// Keeps: A forgotten link stays out whether its ends are there or not.
fn a_forgotten_link_whose_end_is_missing_stays_forgotten(home: Home) {
    home.run("rsv-ingest", &["-q"], A_AND_B).ok();
    let link = home.run("rsv-link", &["a", "b"], "").ok();
    home.run("rsv-link", &["--unlink", "a", "b"], "").ok();
    let export = home.export();
    let without_b: String =
        export.split_inclusive('\n').filter(|line| !line.contains("\"id\":\"b\"")).collect();
    let home = home.emptied();
    home.run("rsv-import", &["-q"], &without_b).ok();
    let before = home.export();
    assert_eq!(states(&before), ["forgotten"]);
    let import = |words: &[&str]| home.run("rsv-import", &[&["-q"], words].concat(), &link);
    for _ in 0..2 {
        import(&[]).ok();
        assert_eq!(home.export(), before);
        // It cannot return without its end, and is forgotten as before.
        let refused = import(&["--allow-return"]).trouble();
        assert!(refused.contains("<stdin>:1: to: the store has no record b"), "{refused}");
        assert_eq!(home.export(), before);
    }
    home.run("rsv-ingest", &["-q"], A_AND_B).ok();
    import(&[]).ok();
    assert!(!home.export().contains("\"kind\":\"link\""));
    import(&["--allow-return"]).ok();
    let after = home.export();
    assert!(after.contains(link.trim_end()) && states(&after) == ["returned"], "{after}");
    home.check();
}

on_each_store!(a_record_that_is_refused_changes_nothing);
/// Keeps: A refused record changes nothing.
fn a_record_that_is_refused_changes_nothing(home: Home) {
    let (a, b) = (memory("a", "Owls hunt", &[]), memory("b", "Owls hunt at night", &["a"]));
    let mut store = home.open();
    let keep_out = WriteRules::KEEP_OUT;
    store.write(&[a.clone(), b.clone()], keep_out).unwrap();
    // A memory that takes the place of a missing one does not return.
    store.forget(&["a", "b"], 5000).unwrap();
    let before = everything(&mut *store);
    let rules =
        WriteRules { forgotten: Forgotten::Return { at: 9000 }, source: WriteSource::Local, import: None };
    let missing = WriteOutcome::Refused("source_ids: memory not found: a".to_owned());
    assert_eq!(store.write(from_ref(&b), rules).unwrap(), [missing]);
    assert_eq!(everything(&mut *store), before);
    assert_eq!(store.write(from_ref(&b), WriteRules::NEW).unwrap(), [WriteOutcome::KeptOut]);
    // With it, it does.
    let both = [a, b];
    assert_eq!(store.write(&both, rules).unwrap(), [WriteOutcome::New, WriteOutcome::New]);
    // A link that would be the second to replace a memory is seen within the batch.
    let [c, d] = ["c", "d"].map(|id| memory(id, &format!("Owls hunt, says {id}"), &[]));
    let into = Record::Link(Link::plain("CONSOLIDATED_INTO", "c", "d", 7));
    let late = memory("e", "Owls do", &["c"]);
    let replaced = WriteOutcome::Refused("source_ids: c is archived already".to_owned());
    let wanted = [WriteOutcome::New, WriteOutcome::New, WriteOutcome::New, replaced];
    assert_eq!(store.write(&[c, d, into, late], WriteRules::NEW).unwrap(), wanted);
    // Nor is there a link whose relation is none.
    let before = everything(&mut *store);
    for rel in ["related", "", "CHILD_OF"] {
        let written = store.write(&[Record::Link(Link::plain(rel, "c", "a", 7))], keep_out).unwrap();
        assert!(
            matches!(&written[..], [WriteOutcome::Refused(why)] if why.starts_with("rel: ")),
            "{written:?}"
        );
    }
    assert_eq!(everything(&mut *store), before);
    drop(store);
    home.check();
}

on_each_store!(a_memory_of_many_is_exported_with_all_its_links);
fn a_memory_of_many_is_exported_with_all_its_links(home: Home) {
    let ids: Vec<String> = (0..30).map(|n| format!("m{n:02}")).collect();
    let sources: Vec<Record> = ids.iter().map(|id| memory(id, &format!("Owl {id}"), &[])).collect();
    let mut store = home.open();
    store.write(&sources, WriteRules::NEW).unwrap();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    store.write(&[memory("all", "All owls", &ids)], WriteRules::NEW).unwrap();
    let links = |store: &mut dyn Store| {
        everything(store).iter().filter(|record| matches!(record, Record::Link(_))).count()
    };
    assert_eq!(links(&mut *store), 30);
    // One that was forgotten does not come back with its memory.
    let link = Link::plain("CONSOLIDATED_INTO", "m00", "all", 7);
    assert_eq!(store.remove(Removal::Link(&link), 5000).unwrap(), 1);
    let memory = memory("all", "All owls", &ids);
    remove(&mut *store, &["all"]);
    assert_eq!(store.write(&[memory], WriteRules::KEEP_OUT).unwrap(), [WriteOutcome::New]);
    assert_eq!(links(&mut *store), 29);
}

fn memory(id: &str, content: &str, sources: &[&str]) -> Record {
    let origin = if sources.is_empty() { "explicit" } else { "consolidated" };
    record(
        &json!({"kind": "memory", "id": id, "title": id, "content": content, "outcome": "success", "timestamp": 10,
        "origin": origin, "source_ids": sources}),
    )
}

/// A record of a line.
fn record(line: &Value) -> Record {
    let fill = DraftDefaults { partition: Some("p".into()), trace_id: "t".into(), ..Default::default() };
    match Line::parse(Object::parse(&line.to_string()).unwrap()).unwrap() {
        Line::Record(draft) => Record::Stored(Draft::complete(draft, &fill).unwrap()),
        Line::Embedding(embedding) => Record::Embedding(embedding),
        Line::Link(link) => Record::Link(link),
        other => panic!("{other:?}"),
    }
}

fn everything(store: &mut dyn Store) -> Vec<Record> {
    let records = Walk::records(Select::records(kinds(), Scopes::All));
    visited(store, &Walk { tombstones: true, embeddings: true, links: true, ..records })
}

/// The ids of messages, accounts and memories; of each kind, those that name others come last.
const MESSAGES: [&str; 4] = ["m0", "m1", "m2", "m3"];
const MEMORIES: [&str; 4] = ["a0", "a1", "a2", "a3"];
const PATHS: [&str; 4] = ["d", "d/e", "d/e/f", "g"];

/// A vector of a model that has two numbers, or one of three, which is refused once the model is known.
fn vector() -> impl Strategy<Value = Value> {
    prop_oneof![6 => (-1..=1, 1..=2).prop_map(|(x, y)| json!([x, y])), 1 => Just(json!([1, 2, 3]))]
}

/// A line with a vector, or without.
fn carrying(line: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    (line, proptest::option::weighted(0.2, vector())).prop_map(|(mut line, vector)| {
        if let Some(vector) = vector {
            line["embedding"] = vector;
            line["embedding_model"] = json!("m");
        }
        line
    })
}

/// Two messages say the same under two ids, and one in two forms; one id has two contents.
fn message() -> impl Strategy<Value = Value> {
    carrying((select(&MESSAGES[..]), 0..6usize, 0..3).prop_map(|(id, said, at)| {
        let content = ["An owl", "an  OWL", "A cat", "A dog", "An owl", "An owl"][said];
        json!({"kind": "message", "role": "user", "id": id, "content": content, "timestamp": 1000 + at / 2})
    }))
}

fn account() -> impl Strategy<Value = Value> {
    (select(vec!["x0", "x1"]), subsequence(&MESSAGES[..], 0..=3), 0..2i64).prop_map(|(id, parts, digest)| {
        let parts: Vec<Value> = parts.iter().map(|id| json!({"id": id})).collect();
        json!({"kind": "account", "id": id, "trace_id": "t", "partition": "p", "instance": "p", "recalled": parts, "digest": format!("x{digest}"), "timestamp": 1500})
    })
}

fn memory_line() -> impl Strategy<Value = Value> {
    let sources = subsequence(&MEMORIES[..2], 0..=2);
    carrying((0..MEMORIES.len(), 0..3usize, sources, 0..4).prop_map(|(at, said, sources, time)| {
        let content = ["Owls hunt", "owls HUNT", "Owls sleep"][said];
        let sources = if at < 2 { Vec::new() } else { sources };
        let origin = if sources.is_empty() { "explicit" } else { "consolidated" };
        json!({"kind": "memory", "id": MEMORIES[at], "title": "Owls do", "outcome": "success", "content": content,
            "origin": origin, "source_ids": sources, "timestamp": 2000 + time * 3000})
    }))
}

fn signal() -> impl Strategy<Value = Value> {
    (select(&MEMORIES[..]), 0..3i64, any::<bool>()).prop_map(|(of, count, is_use)| match (is_use, count) {
        (false, _) => {
            json!({"kind": "signal", "id": format!("s{of}{count}"), "of": of, "type": "explicit",
                "positive": count > 0, "timestamp": 2500})
        }
        (true, _) => {
            json!({"kind": "signal", "of": of, "type": "usage", "positive": true, "day": "2026-11-01",
                "store": "x", "count": count + 1, "timestamp": 2500 + count})
        }
    })
}

fn document() -> impl Strategy<Value = Value> {
    carrying((0..PATHS.len(), 0..3usize, 0..5i64, any::<bool>()).prop_map(|(at, said, time, by_rule)| {
        let uri = format!("viking://resources/{}", PATHS[at]);
        let content = ["One", "ONE", "Two"][said];
        let source = ["1", "2", "1"][said].repeat(64);
        let mut line = json!({"kind": "document", "uri": uri, "content": content, "source_sha256": source,
            "timestamp": 3000 + time * 1000, "made_by": if by_rule { "rule" } else { "model" }});
        if at < 2 {
            line["children"] = json!(1);
            line["abstract"] = json!(content);
            line["content"] = json!("");
        }
        line
    }))
}

fn stored() -> impl Strategy<Value = StoredRecord> {
    let line = prop_oneof![
        4 => message(), 1 => account(), 3 => memory_line(), 2 => signal(), 4 => document()
    ];
    line.prop_map(|line| record(&line).stored().unwrap().clone())
}

/// The id of something that may be there.
fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        select(&MESSAGES[..]).prop_map(str::to_owned),
        select(&MEMORIES[..]).prop_map(str::to_owned),
        document().prop_map(|line| record(&line).id().unwrap().to_owned()),
        Just("nobody".to_owned()),
    ]
}

fn link() -> impl Strategy<Value = Link> {
    let rels = vec!["RESPONDED_WITH", "RELATED", "CONSOLIDATED_INTO", "SYNAPSE", "related"];
    (select(rels), id(), id(), 0..2i64).prop_filter_map("two ends", |(rel, from, to, at)| {
        let link = Link::plain(rel, &from, &to, 4000 + at);
        let line = json!({"kind": "link", "rel": "SYNAPSE", "from": from, "to": to, "timestamp": 4000 + at,
            "score": 0.5, "model": "m"});
        match record_of_two_ends(&from, &to, &line)? {
            Record::Link(synapse) if rel == "SYNAPSE" => Some(synapse),
            _ => Some(link),
        }
    })
}

fn record_of_two_ends(from: &str, to: &str, line: &Value) -> Option<Record> {
    (from != to).then(|| record(line))
}

fn scope() -> Scope {
    Scope { partition: "p".into(), instance: "p".into() }
}

fn tombstone() -> impl Strategy<Value = Tombstone> {
    let states = vec![TombstoneState::Forgotten, TombstoneState::Removed, TombstoneState::Returned];
    let of = prop_oneof![3 => stored().prop_map(Ok), 1 => link().prop_map(Err)];
    (of, select(states), 0..6i64).prop_map(|(of, state, at)| match of {
        Ok(record) => Tombstone::of(&record, state, 1000 + at * 1000, None),
        Err(link) => {
            let forgotten = Tombstone::of_link(&link, scope(), 1000 + at * 1000, None);
            if state == TombstoneState::Returned { forgotten.returned(0) } else { forgotten }
        }
    })
}

fn embedding() -> impl Strategy<Value = Record> {
    (id(), vector()).prop_map(|(of, vector)| {
        record(&json!({"kind": "embedding", "of": of, "model": "m", "vector": vector}))
    })
}

fn any_record() -> impl Strategy<Value = Record> {
    prop_oneof![
        8 => stored().prop_map(Record::Stored),
        3 => link().prop_map(Record::Link),
        2 => embedding(),
        2 => tombstone().prop_map(Record::Tombstone),
    ]
}

/// A change of a store.
#[derive(Clone, Debug)]
enum Step {
    Write(Vec<Record>, WriteRules<'static>),
    Bury(Vec<String>, TombstoneState, i64),
    Unlink(Link, i64),
}

fn step() -> impl Strategy<Value = Step> {
    let forgotten = prop_oneof![
        3 => Just(Forgotten::KeepOut),
        1 => (0..9i64).prop_map(|at| Forgotten::Return { at: 1000 + at * 1000 }),
    ];
    let source = select(vec![WriteSource::Local, WriteSource::Import]);
    let rules =
        (forgotten, source).prop_map(|(forgotten, source)| WriteRules { forgotten, source, import: None });
    let states = vec![TombstoneState::Forgotten, TombstoneState::Removed];
    prop_oneof![
        6 => (vec(any_record(), 1..12), rules).prop_map(|(batch, rules)| Step::Write(batch, rules)),
        1 => (vec(id(), 1..4), select(states), 0..9i64)
            .prop_map(|(ids, state, at)| Step::Bury(ids, state, 1000 + at * 1000)),
        1 => (link(), 0..9i64).prop_map(|(link, at)| Step::Unlink(link, 1000 + at * 1000)),
    ]
}

impl Step {
    /// Takes the step; the outcome of each record that is written, removed or unlinked.
    fn take(&self, store: &mut dyn Store) -> Vec<WriteOutcome> {
        match self {
            Step::Write(batch, rules) => store.write(batch, *rules).unwrap(),
            Step::Bury(ids, state, at) => {
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                vec![WriteOutcome::Removed(store.remove(Removal::Records(&ids, *state), *at).unwrap())]
            }
            Step::Unlink(link, at) => {
                vec![WriteOutcome::Removed(store.remove(Removal::Link(link), *at).unwrap())]
            }
        }
    }
}

/// The position of an outcome among all that there are.
fn place(written: &WriteOutcome) -> usize {
    match written {
        WriteOutcome::New => 0,
        WriteOutcome::Same(_) => 1,
        WriteOutcome::Replaced => 2,
        WriteOutcome::Conflict => 3,
        WriteOutcome::KeptOut => 4,
        WriteOutcome::Removed(_) => 5,
        WriteOutcome::Refused(_) => 6,
    }
}

/// The batches of a run, unless `RSV_TEST_STEPS` gives their number, and those that one store gets.
const STEPS: u64 = 100;
const STEPS_OF_A_STORE: u64 = 10;

on_graph!(any_batches_come_to_the_same_in_a_file_and_in_a_graph);
/// Keeps: After any writes, a file and a graph report the same and hold the same.
#[allow(clippy::print_stdout)] // Shown where the test fails.
fn any_batches_come_to_the_same_in_a_file_and_in_a_graph(home: Home) {
    let steps = number_from("RSV_TEST_STEPS").unwrap_or(STEPS);
    let seed = number_from("RSV_TEST_SEED").unwrap_or(7);
    println!("RSV_TEST_SEED={seed}");
    let config = ProptestConfig {
        cases: u32::try_from(steps.div_ceil(STEPS_OF_A_STORE)).unwrap(),
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed),
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    };
    let steps = vec(step(), STEPS_OF_A_STORE as usize);
    let came = RefCell::new([0; 7]);
    let result = TestRunner::new(config).run(&steps, |steps| {
        let (file, graph) = (Home::new(), home.emptied());
        let (mut in_file, mut in_graph) = (file.open(), graph.open());
        for step in &steps {
            let outcomes = step.take(&mut *in_file);
            prop_assert_eq!(&outcomes, &step.take(&mut *in_graph), "{:#?}", step);
            for written in &outcomes {
                came.borrow_mut()[place(written)] += 1;
            }
            let [here, there] = [&mut in_file, &mut in_graph].map(|store| {
                (everything(&mut **store), store.tallies(&MEMORIES).unwrap(), store.models().unwrap())
            });
            prop_assert_eq!(here, there, "{:#?}", step);
        }
        drop((in_file, in_graph));
        file.check();
        graph.check();
        Ok::<(), TestCaseError>(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    let came = came.into_inner();
    assert!(came.iter().all(|times| *times > 4), "the outcomes are all alike: {came:?}");
}
