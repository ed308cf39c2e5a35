//! Undoing an import: records that only it stored are removed, and all others stay.

use crate::import_kills::kill;
use crate::support::{Dice, Home, lines_of, number_from, on_each_store, text};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Instant;

fn message(n: usize) -> Value {
    json!({"kind": "message", "id": format!("m{n}"), "trace_id": format!("t{n}"), "partition": "p", "instance": "i",
        "role": "user", "content": format!("The {n}th owl"), "timestamp": 1000 + n})
}

/// A time after every version that the test's tools make, in milliseconds since 1970.
const LATER: u64 = 4_100_000_000_000;

fn document(name: &str, content: &str, at: u64) -> Value {
    json!({"kind": "document", "partition": "p", "uri": format!("viking://resources/{name}"), "content": content,
        "timestamp": at})
}

fn joined(lines: impl IntoIterator<Item = Value>) -> String {
    lines.into_iter().map(|line| format!("{line}\n")).collect()
}

/// The records that are there: the ids of messages, and the words of documents.
fn present(home: &Home) -> BTreeSet<String> {
    let lines = lines_of(&home.run("rsv-export", &[], "").ok());
    let records = lines.iter().filter(|line| line["kind"] != "tombstone" && line["kind"] != "link");
    records
        .map(|line| if line["kind"] == "document" { text(&line["content"]) } else { text(&line["id"]) })
        .collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The ids of the imports that can be undone, oldest first.
fn imports(home: &Home) -> Vec<String> {
    let listed = home.run("rsv-import", &["--history"], "").stdout;
    let id = |line: &str| Some(line.split_once("rsv-forget --import ")?.1.split_once(' ')?.0.to_owned());
    listed.lines().filter_map(id).collect()
}

on_each_store!(an_undone_import_takes_what_it_alone_brought);
/// Keeps: Undoing an import removes the records that only it stored.
fn an_undone_import_takes_what_it_alone_brought(home: Home) {
    let import = |lines: String| home.run("rsv-import", &["-q"], lines).ok();
    home.run("rsv-ingest", &["-q"], joined([message(0), document("old", "Old 1", 1000)])).ok();
    let before = home.run("rsv-export", &[], "").ok();
    let brought = [
        message(0),
        message(1),
        message(2),
        message(3),
        document("old", "Old 2", LATER),
        document("new", "New 1", LATER),
        document("changed", "Changed 1", LATER),
    ];
    import(joined(brought.clone()));
    import(joined([message(2), message(4)]));
    home.run("rsv-ingest", &["-q"], joined([message(3), document("changed", "Changed 2", 3000)])).ok();
    let [first, second] = &imports(&home)[..] else { panic!("{:?}", imports(&home)) };

    let all = home.run("rsv-export", &[], "").ok();
    let tried = home.run("rsv-forget", &["--import", first, "--dry-run"], "");
    assert_eq!(home.run("rsv-export", &[], "").ok(), all);
    let undone = home.run("rsv-forget", &["--import", first], "");
    assert_eq!((undone.status, &undone.stdout), (0, &tried.stdout), "{undone}");
    let gone: Vec<String> = lines_of(&undone.stdout).iter().map(|line| text(&line["content"])).collect();
    assert_eq!(gone, ["The 1th owl", "New 1"]);
    assert!(
        undone.stderr.contains(&format!("1 record stays, which the import {second} brought too")),
        "{undone}"
    );
    assert!(undone.stderr.contains("1 record stays, which came in otherwise too"), "{undone}");
    let left = ["m0", "m2", "m3", "m4", "Old 2", "Changed 2"];
    assert_eq!(present(&home), set(&left));

    // Its tombstones say so to other stores, and let it in again where somebody wants that.
    let other = Home::new();
    other.run("rsv-import", &["-q"], &all).ok();
    other.run("rsv-import", &["-q"], home.run("rsv-export", &[], "").ok()).ok();
    assert_eq!(present(&other), set(&left));
    import(joined(brought.clone()));
    assert_eq!(present(&home), set(&left));
    home.run("rsv-import", &["-q", "--allow-return"], joined(brought)).ok();
    assert!(present(&home).is_superset(&set(&["m1", "New 1"])));

    // The last import that brought a record takes it along; what was there before all of them stays.
    for id in imports(&home) {
        home.run("rsv-forget", &["-q", "--import", &id], "");
    }
    assert_eq!(present(&home), set(&["m0", "m3", "Old 2", "Changed 2"]));
    assert!(imports(&home).is_empty());
    let stays = before.lines().next().unwrap();
    assert!(home.run("rsv-export", &[], "").ok().lines().any(|line| line == stays));
    home.check();
}

on_each_store!(an_import_is_named_by_the_beginning_of_its_id);
fn an_import_is_named_by_the_beginning_of_its_id(home: Home) {
    let undo = |id: &str| home.run("rsv-forget", &["--import", id], "");
    let refused = undo("0");
    assert!(refused.status == 2 && refused.stderr.contains("knows no import 0"), "{refused}");
    assert_eq!(home.run("rsv-import", &["--history"], "").status, 1);
    home.run("rsv-import", &["-q"], joined([message(1)])).ok();
    home.run("rsv-import", &["-q", "--dry-run"], joined([message(2)])).ok();
    home.run("rsv-import", &["-q"], joined([message(2)])).ok();
    let known = imports(&home);
    assert_eq!(known.len(), 2, "{known:?}");
    for (id, problem) in
        [("zz", "knows no import zz"), (&known[0][..1], "2 imports have ids that begin with")]
    {
        let refused = undo(id);
        assert!(refused.status == 2 && refused.stderr.contains(problem), "{refused}");
        assert!(known.iter().all(|id| refused.stderr.contains(id.as_str())), "{refused}");
    }
    let common = known[0].chars().zip(known[1].chars()).take_while(|(a, b)| a == b).count();
    assert_eq!(undo(&known[0][..common + 1]).status, 0);
    assert_eq!(present(&home), set(&["m2"]));
    // An import that is undone already has nothing to take.
    assert_eq!(undo(&known[0]).status, 1);
}

on_each_store!(an_interrupted_import_can_be_undone_and_an_interrupted_undo_continues);
/// Keeps: A killed import can be undone, and a killed undo can be continued.
#[allow(clippy::print_stdout)] // Shown where the test fails.
fn an_interrupted_import_can_be_undone_and_an_interrupted_undo_continues(home: Home) {
    let seed = number_from("RSV_TEST_SEED").unwrap_or(5);
    println!("RSV_TEST_SEED={seed}");
    let mut dice = Dice(seed);
    // More than a batch, so that a part of it may be stored.
    let count = if home.is_at_server() { 600 } else { 21_000 };
    let lines = joined((0..count).map(message));
    let begin = Instant::now();
    let whole = home.emptied();
    whole.run("rsv-import", &["-q"], &lines).ok();
    let whole = begin.elapsed();
    for _ in 0..home.kills().div_ceil(15) {
        let home = home.emptied();
        home.write("lines.jsonl", &lines);
        home.run("rsv-ingest", &["-q"], joined([message(count)])).ok();
        kill(&home, "rsv-import", &["lines.jsonl"], whole, &mut dice);
        let stored = present(&home).len();
        if let Some(id) = imports(&home).first() {
            kill(&home, "rsv-forget", &["--yes", "--import", id], whole, &mut dice);
            home.run("rsv-forget", &["-q", "--yes", "--import", id], "");
        } else {
            assert_eq!(stored, 1);
        }
        assert_eq!(present(&home), set(&[&format!("m{count}")]));
        home.check();
    }
}
