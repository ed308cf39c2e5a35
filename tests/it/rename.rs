//! Renaming a partition: all of it follows the name, nothing else changes, and what was forgotten stays out.

use crate::import_kills::kill;
use crate::support::{Dice, Home, lines_of, number_from, on_each_store, on_graph, text};
use rsv::record::{Address, DraftDefaults, MESSAGE, Object, Record, Scope, Scopes, kinds, title_id};
use rsv::store::{self, Derived, OpenMode, Select, Store, WriteOutcome, WriteRules};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

fn message(id: &str, instance: &str, role: &str, content: &str, time: u64) -> Value {
    json!({"kind": "message", "id": id, "trace_id": format!("t{}", time / 10), "partition": "old",
        "instance": instance, "role": role, "content": content, "timestamp": time})
}

fn vector(of: &str, numbers: [f32; 3]) -> Value {
    json!({"kind": "embedding", "of": of, "model": "m", "vector": numbers})
}

fn document(uri: &str, content: &str) -> Value {
    json!({"kind": "document", "partition": "old", "instance": "old", "uri": uri, "content": content,
        "timestamp": 500, "made_by": "rule"})
}

fn document_id(uri: &str, partition: &str) -> String {
    Address::parse(uri).unwrap().document_id(partition)
}

fn joined(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

const NOTES: &str = "viking://resources/notes";
const OWN: &str = "viking://user/old/plan";
const ARCHIVES: &str = "viking://user/old/sessions/old/history";

/// Everything that a partition can have, and something of another.
fn everything() -> Vec<Value> {
    let archive = |name: &str| format!("{ARCHIVES}/{name}");
    let with = |mut line: Value, more: Value| {
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line
    };
    let mut lines = vec![
        message("m1", "old", "user", "Where do the owls nest?", 1000),
        message("m2", "old", "assistant", "In the old oak behind the barn", 1001),
        message("m3", "tea", "user", "Which tea do owls like?", 2000),
        message("m4", "tea", "assistant", "None that anybody knows of", 2001),
        message("gone", "tea", "user", "The secret of the blue teapot", 3000),
        with(message("x1", "x", "user", "A message elsewhere", 1000), json!({"partition": "other"})),
        json!({"kind": "memory", "id": "y1", "partition": "old", "instance": "old", "category": "pattern",
            "title": "Owls nest in oaks", "content": "Look in the oak first", "session_id": "old",
            "uri": "viking://user/old/memories/pattern/y1", "timestamp": 1500}),
        json!({"kind": "memory", "id": "y2", "partition": "old", "instance": "tea", "category": "pattern",
            "title": "A secret memory", "content": "The kettle whistles in green", "timestamp": 1500}),
        document(NOTES, ""),
        document(&format!("{NOTES}/oaks"), "Oaks grow slowly and stand long"),
        document(&format!("{NOTES}/hidden"), "The hidden page about kettles"),
        document(OWN, "The plan is to watch at night"),
        with(document(&archive("m1"), ""), json!({"abstract": "Owls", "covers": ["m1"]})),
        with(
            document(&archive("m2"), ""),
            json!({"abstract": "More owls", "covers": ["m2"], "follows": document_id(&archive("m1"), "old")}),
        ),
        json!({"kind": "title", "partition": "old", "instance": "old", "title": "Owls and oaks", "timestamp": 1600}),
        json!({"kind": "title", "partition": "old", "instance": "tea", "title": "Tea", "timestamp": 1600}),
        json!({"kind": "account", "id": "a1", "trace_id": "t100", "partition": "old", "instance": "old",
            "timestamp": 1000, "window": 8192, "recalled": [{"id": "m3", "tokens": 3}],
            "documents": [{"id": document_id(OWN, "old"), "tokens": 5, "uri": OWN, "level": 2, "sha256": "0"},
                {"id": document_id(&format!("{NOTES}/hidden"), "old"), "tokens": 5, "uri": format!("{NOTES}/hidden"),
                    "level": 2, "sha256": "0"}]}),
        json!({"kind": "signal", "id": "s1", "partition": "old", "instance": "old", "of": "y1", "type": "explicit",
            "positive": true, "predicted": ["usage+"], "timestamp": 1700}),
        json!({"kind": "signal", "id": "s2", "partition": "old", "instance": "old", "of": "y1", "type": "outcome",
            "positive": true, "timestamp": 1701}),
    ];
    lines[8]["children"] = json!(2);
    lines.extend([
        vector("m1", [1.0, 0.0, 0.1]),
        vector("m2", [0.9, 0.1, 0.1]),
        vector("m3", [0.8, 0.2, 0.1]),
        vector("x1", [1.0, 0.0, 0.2]),
        vector("y1", [0.0, 1.0, 0.1]),
        vector(&document_id(OWN, "old"), [0.0, 0.1, 1.0]),
        vector(&document_id(&format!("{NOTES}/oaks"), "old"), [0.0, 0.2, 1.0]),
        json!({"kind": "link", "rel": "RESPONDED_WITH", "from": "m1", "to": "m2", "timestamp": 1001}),
        json!({"kind": "link", "rel": "RELATED", "from": "x1", "to": "m1", "timestamp": 1001}),
        json!({"kind": "link", "rel": "EXTRACTED_FROM", "from": document_id(&archive("m1"), "old"), "to": "m1",
            "timestamp": 1001}),
    ]);
    lines
}

/// Its tombstones.
const FORGOTTEN: [&str; 3] = ["gone", "y2", "viking://resources/notes/hidden"];

/// Fills a store, makes synapses, and forgets.
fn fill(home: &Home) {
    home.run("rsv-import", &["-q"], joined(&everything())).ok();
    home.run("rsv-link", &["-q", "--all"], "");
    let hidden = document_id(FORGOTTEN[2], "old");
    home.run("rsv-forget", &["-q", "--yes", "--all", FORGOTTEN[0], FORGOTTEN[1], &hidden], "").ok();
}

fn rename(home: &Home) {
    home.run("rsv-config", &["partition", "rename", "old", "new"], "").ok();
}

/// The lines that an export has after the partition `old` of it was renamed to `new`.
fn renamed(export: &str) -> BTreeSet<String> {
    let mut ids = BTreeMap::new();
    let name = |text: &str| {
        [
            ("viking://user/old", "viking://user/new"),
            ("/sessions/old/", "/sessions/new/"),
            ("\"partition\":\"old\"", "\"partition\":\"new\""),
            ("\"instance\":\"old\"", "\"instance\":\"new\""),
            ("\"session_id\":\"old\"", "\"session_id\":\"new\""),
        ]
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    };
    for line in lines_of(export).iter().filter(|line| line["partition"] == "old") {
        if line["kind"] == "document" {
            let uri = text(&line["uri"]);
            ids.insert(text(&line["id"]), document_id(&name(&uri), "new"));
        } else if line["kind"] == "title" {
            let scope = Scope { partition: "old".to_owned(), instance: text(&line["instance"]) };
            ids.insert(text(&line["id"]), title_id(&scope.renamed("new")));
        }
    }
    let line = |line: &str| {
        let mut line = ids.iter().fold(name(line), |line, (from, to)| line.replace(from, to));
        if line.contains("\"kind\":\"tombstone\"") && line.contains("\"partition\":\"new\"") {
            line.truncate(line.len() - 1);
            line.push_str(",\"was\":[\"old\"]}");
        }
        // A synapse leads from the lesser id to the greater.
        let mut link: Value = serde_json::from_str(&line).unwrap();
        if link["rel"] == "SYNAPSE" && text(&link["from"]) > text(&link["to"]) {
            let from = link["from"].take();
            link["from"] = link["to"].take();
            link["to"] = from;
            return link.to_string();
        }
        link.to_string()
    };
    export.lines().map(line).collect()
}

fn line_set(export: &str) -> BTreeSet<String> {
    lines_of(export).iter().map(Value::to_string).collect()
}

on_each_store!(all_of_a_partition_follows_its_name);
/// Keeps: A renamed partition has all that it had; ids stay, but for those that follow from the name.
fn all_of_a_partition_follows_its_name(home: Home) {
    fill(&home);
    let before = home.export();
    assert!(before.contains("SYNAPSE") && before.matches("tombstone").count() == 3, "{before}");
    let mut store = home.open();
    let near = |store: &mut dyn Store, partition: &str| -> Vec<Vec<(String, i64)>> {
        let vectors = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let which = Select::records(kinds(), Scopes::Partition(partition.to_owned()));
        let hits = |vector: &[f32; 3]| {
            let hits = store.nearest("m", vector, &which, 9).unwrap();
            let mut hits: Vec<(String, i64)> =
                hits.iter().map(|hit| (hit.record.text.clone(), (hit.score * 1e6) as i64)).collect();
            // Ties are in the order of ids, some of which are other ones.
            hits.sort_by_key(|(text, score)| (-score, text.clone()));
            hits
        };
        vectors.iter().map(hits).collect()
    };
    let found = near(&mut *store, "old");
    let search = |partition: &str, words: &str| {
        let mut found = Vec::new();
        for kind in ["message", "memory", "document"] {
            found.extend(home.contents("rsv-search", &["-p", partition, "--kind", kind, words]));
        }
        found.extend(home.contents("rsv-search", &["-p", partition, words]));
        found
    };
    let words = search("old", "oak");
    let tallies = |store: &mut dyn Store, partition: &str| {
        let mut sums = store.tallies(&["y1", partition]).unwrap();
        (sums.remove("y1"), sums.remove(partition))
    };
    let sums = tallies(&mut *store, "old");
    let unlinked = |store: &mut dyn Store, partition: &str| -> Vec<(u64, u64, bool)> {
        let states = store.link_states("m", &Scopes::Partition(partition.to_owned()), false).unwrap();
        let mut states: Vec<_> = states
            .iter()
            .filter(|state| state.vectors > 0)
            .map(|state| (state.vectors, state.unlinked, state.rule.is_some()))
            .collect();
        states.sort_unstable();
        states
    };
    let states = unlinked(&mut *store, "old");

    rename(&home);
    let after = home.export();
    let (expected, there) = (renamed(&before), line_set(&after));
    assert_eq!(there.difference(&expected).collect::<Vec<_>>(), Vec::<&String>::new());
    assert_eq!(expected.difference(&there).collect::<Vec<_>>(), Vec::<&String>::new());
    assert_eq!(near(&mut *store, "new"), found);
    assert_eq!(search("new", "oak"), words);
    assert_eq!(tallies(&mut *store, "new"), sums);
    assert_eq!(unlinked(&mut *store, "new"), states);
    assert_eq!(home.run("rsv-search", &["-p", "old", "oak"], "").status, 1);
    assert_eq!(store.unembedded("m", &Select::records(kinds(), Scopes::All), 99).unwrap().total, {
        let other = Home::new();
        other.run("rsv-import", &["-q"], &before).ok();
        other.open().unembedded("m", &Select::records(kinds(), Scopes::All), 99).unwrap().total
    });
    drop(store);
    home.check();
    assert_eq!(home.open().repair(Derived::VectorIndexes).unwrap(), [""; 0]);
    home.run("rsv-config", &["doctor", "--repair"], "");
    assert_eq!(home.export(), after);
    // The export comes into an empty store to the byte.
    let other = home.emptied();
    other.run("rsv-import", &["-q"], &after).ok();
    assert_eq!(other.export(), after);
}

on_each_store!(what_was_forgotten_stays_out_under_the_new_name);
/// Keeps: Forgotten records stay out after their partition is renamed, even twice, and in stores that import it.
fn what_was_forgotten_stays_out_under_the_new_name(home: Home) {
    let under = |name: &str, lines: Vec<Value>| -> Vec<Value> {
        let text = joined(&lines).replace("\"old\"", &format!("\"{name}\""));
        lines_of(&text.replace("user/old", &format!("user/{name}")))
    };
    let forgotten = || -> Vec<Value> {
        let is_forgotten =
            |line: &Value| ["id", "uri"].iter().any(|name| FORGOTTEN.iter().any(|gone| line[name] == *gone));
        let lines: Vec<Value> = everything().into_iter().filter(is_forgotten).collect();
        assert_eq!(lines.len(), 3);
        let other_forms = lines.iter().map(|line| {
            let mut line = line.clone();
            line["content"] = json!(text(&line["content"]).to_uppercase());
            line["id"] = json!("another");
            line
        });
        let other_forms: Vec<Value> = other_forms.collect();
        [lines, other_forms].concat()
    };
    let assert_out = |home: &Home, name: &str| {
        let before = home.export();
        for line in under(name, forgotten()) {
            let ran = home.run("rsv-import", &[], format!("{line}\n"));
            assert!(ran.status == 0 && ran.stderr.contains("kept out"), "{name}: {line}: {ran}");
        }
        assert_eq!(home.export(), before);
    };
    let tombstones = |home: &Home| -> String {
        let export = home.export();
        let lines = export.lines().filter(|line| line.contains("\"kind\":\"tombstone\""));
        lines.map(|line| format!("{line}\n")).collect()
    };
    fill(&home);
    let before = tombstones(&home);
    assert_out(&home, "old");
    rename(&home);
    assert_out(&home, "new");
    let (exported, after) = (home.export(), tombstones(&home));
    home.run("rsv-config", &["partition", "rename", "new", "newest"], "").ok();
    assert_out(&home, "newest");
    // Another store has it from the export alone, in one with the records too.
    let other = home.emptied();
    let records: Vec<Value> = everything().into_iter().filter(|line| line["partition"] == "old").collect();
    other.run("rsv-import", &["-q"], joined(&under("new", records))).ok();
    other.run("rsv-import", &["-q"], &exported);
    assert_out(&other, "new");
    // So has one that knew it under the old name.
    let knowing = other.emptied();
    knowing.run("rsv-import", &["-q"], before).ok();
    knowing.run("rsv-import", &["-q"], &after).ok();
    assert_eq!(knowing.export(), after);
    assert_out(&knowing, "new");
    let other = knowing;
    // Where somebody wants it, it returns.
    other.run("rsv-import", &["-q", "--allow-return"], joined(&under("new", forgotten()[..1].to_vec()))).ok();
    assert!(other.export().contains("blue teapot"));
}

on_each_store!(a_name_that_cannot_be_given_changes_nothing);
fn a_name_that_cannot_be_given_changes_nothing(home: Home) {
    fill(&home);
    let before = home.export();
    for (words, problem) in [
        (["nothing", "new"], "there is no partition nothing"),
        (["old", "other"], "there is a partition other already"),
        (["old", "old"], "has this name already"),
        (["old", "tea"], "the instance old would get the name tea too"),
        (["old", "a/b"], "the segment has a slash"),
        (["old", ""], "partition: is empty"),
    ] {
        let refused = home.run("rsv-config", &["partition", "rename", words[0], words[1]], "").trouble();
        assert!(refused.contains(problem) && refused.contains("hint: "), "{words:?}: {refused}");
        assert_eq!(home.export(), before);
    }
    let home = Home::new();
    home.run("rsv-config", &["partition", "rename", "old", "new"], "").trouble();
    assert!(!home.store().exists());
}

on_each_store!(a_store_that_is_open_writes_under_the_name_that_it_is_given);
/// Keeps: A process that has a store open while a partition of it is renamed writes nothing into the renamed one.
fn a_store_that_is_open_writes_under_the_name_that_it_is_given(home: Home) {
    fill(&home);
    let mut store = store::open(&home.place(), OpenMode::Pooled).unwrap();
    let write = |store: &mut dyn Store, id: &str| {
        let line = message(id, "tea", "user", &format!("The message {id}"), 5000);
        let draft = (MESSAGE.read)(Object::parse(&line.to_string()).unwrap()).unwrap();
        let record = Record::Stored(draft.complete(&DraftDefaults::default()).unwrap());
        assert_eq!(store.write(&[record], WriteRules::NEW).unwrap(), [WriteOutcome::New]);
    };
    let ids = |store: &mut dyn Store, partition: &str| -> Vec<String> {
        let which = Select::messages(Scopes::Partition(partition.to_owned()));
        store.last_of(&which, 9).unwrap().into_iter().map(|record| record.id).collect()
    };
    write(&mut *store, "w1");
    assert_eq!(ids(&mut *store, "old"), ["m1", "m2", "m3", "m4", "w1"]);
    rename(&home);
    write(&mut *store, "w2");
    assert_eq!(ids(&mut *store, "new"), ["m1", "m2", "m3", "m4", "w1"]);
    assert_eq!(ids(&mut *store, "old"), ["w2"]);
    drop(store);
    home.check();
    // Now both exist, and cannot be joined.
    home.run("rsv-config", &["partition", "rename", "old", "new"], "").trouble();
}

on_each_store!(an_import_is_undone_after_its_partition_was_renamed);
fn an_import_is_undone_after_its_partition_was_renamed(home: Home) {
    home.run("rsv-import", &["-q"], joined(&everything()[..1])).ok();
    home.run("rsv-import", &["-q"], joined(&everything()[..3])).ok();
    rename(&home);
    let history = home.run("rsv-import", &["--history"], "").stdout;
    let id = |line: &str| Some(line.split_once("rsv-forget --import ")?.1.split_once(' ')?.0.to_owned());
    let imports: Vec<String> = history.lines().filter_map(id).collect();
    assert_eq!(imports.len(), 2, "{history}");
    home.run("rsv-forget", &["-q", "--yes", "--import", &imports[1]], "").ok();
    let left = lines_of(&home.run("rsv-export", &["--kind", "message"], "").ok());
    let left: Vec<String> =
        left.iter().filter(|line| line["kind"] == "message").map(|line| text(&line["id"])).collect();
    assert_eq!(left, ["m1"]);
    home.check();
}

on_each_store!(files_that_were_imported_are_known_under_the_new_name);
fn files_that_were_imported_are_known_under_the_new_name(home: Home) {
    let line = |role: &str, content: &str, time: u64| json!({"role": role, "content": content, "timestamp": time, "partition": "old", "instance": "tea"});
    let said = joined(&[
        line("user", "Do owls like tea?", 1000),
        line("assistant", "None that I know of", 1001),
        line("user", "And coffee?", 1002),
        line("assistant", "", 1003),
    ])
    .replace(r#""content":"","#, r#""content":"","tool_calls":[{"id":"c","type":"function"}],"#);
    home.run("rsv-import", &["-q"], &said).ok();
    rename(&home);
    let after = home.export();
    home.run("rsv-import", &["-q"], said.replace("\"old\"", "\"new\"")).ok();
    assert_eq!(home.export(), after);
    home.check();
}

#[test]
fn settings_and_projects_follow() {
    let home = Home::new();
    fill(&home);
    home.run("rsv-config", &["set", "partitions.old.recent_context_size", "3"], "").ok();
    home.run("rsv-config", &["set", "partitions.old.memory", "store"], "").ok();
    home.run("rsv-config", &["set", "partitions.new.memory", "off"], "").ok();
    home.run("rsv-config", &["set", "partitions.other.memory", "off"], "").ok();
    home.write(".local/share/rsv/projects.json", r#"{"/a/old": "old", "/a/other": "other", "/b": "old"}"#);
    rename(&home);
    let get = |key: &str| home.run("rsv-config", &["get", key], "").stdout;
    assert_eq!(get("partitions.new.recent_context_size"), "3\n");
    assert_eq!(
        (get("partitions.new.memory"), get("partitions.other.memory")),
        ("off\n".into(), "off\n".into())
    );
    assert!(!home.run("rsv-config", &["list", "--set"], "").stdout.contains("partitions.old"));
    let projects: Value = serde_json::from_str(&home.read(".local/share/rsv/projects.json")).unwrap();
    assert_eq!(projects, json!({"/a/old": "new", "/a/other": "other", "/b": "new"}));
}

on_each_store!(a_kill_leaves_a_rename_that_continues);
/// Keeps: A killed rename is whole or undone in a file, and the same command continues it everywhere.
#[allow(clippy::print_stdout)] // Shown where the test fails.
fn a_kill_leaves_a_rename_that_continues(home: Home) {
    let seed = number_from("RSV_TEST_SEED").unwrap_or(71);
    println!("RSV_TEST_SEED={seed}");
    let mut dice = Dice(seed);
    let many: Vec<Value> = (0..1200)
        .map(|n| {
            message(
                &format!("n{n}"),
                &format!("i{}", n % 3),
                "user",
                &format!("Row {n} of the beans"),
                n + 9000,
            )
        })
        .collect();
    let fill = |home: &Home| {
        home.run("rsv-import", &["-q"], joined(&many)).ok();
        fill(home);
    };
    fill(&home);
    let before = renamed(&home.export());
    let begin = Instant::now();
    rename(&home);
    let whole = begin.elapsed();
    for _ in 0..home.kills() {
        let home = home.emptied();
        fill(&home);
        let all = home.export();
        kill(&home, "rsv-config", &["partition", "rename", "old", "new"], whole, &mut dice);
        let left = home.export();
        let is_done = !left.contains("\"partition\":\"old\"");
        assert!(home.is_at_server() || is_done || left == all, "a part was moved");
        let ran = home.run("rsv-config", &["partition", "rename", "old", "new"], "");
        let was_over = is_done && ran.stderr.contains("there is no partition old");
        assert!(ran.status == 0 || was_over, "{ran}");
        let there = line_set(&home.export());
        let shape = |lines: &BTreeSet<String>| -> BTreeSet<String> {
            // The times of tombstones differ.
            lines.iter().filter(|line| !line.contains("\"kind\":\"tombstone\"")).cloned().collect()
        };
        assert_eq!(shape(&there), shape(&before));
        home.check();
    }
}

on_graph!(messages_of_another_program_are_taken_over_first);
fn messages_of_another_program_are_taken_over_first(home: Home) {
    fill(&home);
    home.graph().run(
        "CREATE (:MessageNode {trace_id: 't', partition: 'old', instance: 'tea', role: 'user', content: 'From elsewhere',
           timestamp: 4000, embedding: []})",
    );
    let refused = home.run("rsv-config", &["partition", "rename", "old", "new"], "").trouble();
    assert!(refused.contains("rsv-link --adopt"), "{refused}");
    home.run("rsv-link", &["-q", "--adopt"], "").ok();
    rename(&home);
    assert!(!home.export().contains("\"partition\":\"old\""));
    home.check();
}
