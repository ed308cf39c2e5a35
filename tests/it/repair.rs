//! rsv-config doctor --repair: all data derived from the records is broken on purpose, and restored.

use crate::support::{Home, lines_of, on_graph};
use rsv::record::{MESSAGE, Scope, Scopes};
use rsv::store::Select;
use serde_json::json;

/// A store with segments, vectors, links, memories with signals, and documents.
fn fill(home: &Home) {
    let mut lines = String::new();
    for n in 0..260 {
        let message = json!({"kind": "message", "id": format!("m{n:03}"), "trace_id": format!("t{n}"), "partition": "p",
            "instance": "p", "role": "user", "content": format!("An owl of the wood {n}"), "timestamp": 1000 + n});
        lines += &format!("{message}\n");
        if n % 2 == 0 {
            let angle = f64::from(n) / 100.0;
            let vector = json!({"kind": "embedding", "of": format!("m{n:03}"), "model": "tiny",
                "vector": [angle.cos(), angle.sin()]});
            lines += &format!("{vector}\n");
        }
    }
    let others = [
        json!({"kind": "memory", "id": "y1", "partition": "p", "instance": "p", "title": "Owls", "content": "They see",
            "outcome": "success", "timestamp": 5000}),
        json!({"kind": "link", "rel": "RELATED", "from": "m000", "to": "y1", "timestamp": 5000}),
        json!({"kind": "document", "partition": "p", "uri": "viking://resources/notes", "abstract": "Notes",
            "children": 1, "timestamp": 5000}),
        json!({"kind": "document", "partition": "p", "uri": "viking://resources/notes/a", "content": "On the owl",
            "timestamp": 5000}),
    ];
    lines.extend(others.iter().map(|line| format!("{line}\n")));
    home.run("rsv-import", &["-q"], lines).ok();
    home.run("rsv-signal", &["-q", "-p", "p", "--helpful", "y1"], "").ok();
    home.run("rsv-signal", &["-q", "-p", "p", "--used", "y1"], "").ok();
}

/// The answers of a store: to searches by words and by vector, on pending records, and on the sums.
fn answers(home: &Home) -> Vec<String> {
    let search = |words: &[&str]| home.run("rsv-search", &[&["-p", "p"], words].concat(), "").stdout;
    let mut store = home.open();
    let scope = Scopes::One(Scope { partition: "p".to_owned(), instance: "p".to_owned() });
    let which = Select::messages(scope);
    let nearest: Vec<String> = { store.nearest("tiny", &[0.6, 0.8], &which, 5).unwrap() }
        .iter()
        .map(|hit| format!("{} {:.4}", hit.record.id, hit.score))
        .collect();
    let waiting = store.unembedded("tiny", &Select::records(vec![&MESSAGE], Scopes::All), 3).unwrap();
    let waiting: Vec<&str> = waiting.newest.iter().map(|record| record.id.as_str()).collect();
    let sums = store.tallies(&["y1", "p"]).unwrap();
    vec![
        search(&["owl", "wood", "77"]),
        search(&["-n", "3", "owl"]),
        search(&["--kind", "memory,document", "owl"]),
        format!("{nearest:?} {waiting:?} {:?}", store.unembedded("tiny", &which, 0).unwrap().total),
        format!("{sums:?} {:?}", store.models().unwrap()),
        home.run("rsv-view", &["-p", "p", "viking://resources/notes"], "").stdout,
    ]
}

/// Repairs, and fails unless the store is then as it was.
fn assert_repaired(home: &Home, broken: &str, exported: &str, answered: &[String]) {
    let ran = home.run("rsv-config", &["doctor", "--repair"], "");
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{broken}: {ran}");
    assert!(lines_of(&ran.stdout).iter().all(|finding| finding["check"] == "repair"), "{broken}: {ran}");
    assert_eq!(home.export(), exported, "{broken}");
    assert_eq!(answers(home), answered, "{broken}");
    home.check();
}

/// Keeps: All derived data can be rebuilt.
#[test]
fn every_table_that_is_derived_is_rebuilt() {
    let home = Home::new();
    fill(&home);
    let (exported, answered) = (home.export(), answers(&home));
    assert!(answered.iter().all(|answer| !answer.is_empty()), "{answered:?}");
    for broken in [
        "DELETE FROM posting",
        "UPDATE posting SET docs = zeroblob(length(docs))",
        "DELETE FROM posting; DELETE FROM segment_words; DELETE FROM segment_docs; DELETE FROM segment",
        "UPDATE segment_docs SET docs = x'00'",
        "UPDATE segment SET docs = 3, length = 9",
        "INSERT INTO removed_slot SELECT n, 0 FROM segment",
        "UPDATE collection SET indexed_up_to = 0, unindexed = 7",
        "UPDATE collection SET indexed_up_to = 1000000, unindexed = 0",
        "DELETE FROM code_page",
        "UPDATE code_page SET codes = zeroblob(length(codes))",
        "DELETE FROM pending_code",
        "DELETE FROM pending_code WHERE collection IN (SELECT pool FROM collection)",
        "DELETE FROM fact WHERE name = 'code_pools'",
        "UPDATE index_checksum SET sum = 3",
        "DELETE FROM index_checksum",
        "UPDATE model SET vectors = 5",
        "DELETE FROM unembedded",
        "INSERT INTO unembedded SELECT model, collection, timestamp + 9, record FROM unembedded",
        "DELETE FROM unlinked",
        "DELETE FROM synapse_rule",
        "UPDATE tally SET amount = 99",
        "DELETE FROM tally",
        "INSERT INTO tally VALUES ('nobody', 'used', 3)",
        "UPDATE record SET embeddable = 1 - embeddable",
        "UPDATE record SET key = 'x' WHERE key IS NOT NULL",
        "INSERT INTO link (source, rel, target, timestamp, change) VALUES (99999, 'RELATED', 99998, 0, 99999)",
        "INSERT INTO embedding (record, model, vector) VALUES (99999, 1, x'00')",
    ] {
        let store = rusqlite::Connection::open(home.store()).unwrap();
        store.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
        store.execute_batch(broken).unwrap();
        drop(store);
        assert_repaired(&home, broken, &exported, &answered);
    }
    // An index of SQLite's that lacks a row.
    let store = rusqlite::Connection::open(home.store()).unwrap();
    store.execute_batch("PRAGMA writable_schema = ON").unwrap();
    let kept = "SELECT sql FROM sqlite_schema WHERE name = 'record_trace'";
    let sql: String = store.query_row(kept, [], |row| row.get(0)).unwrap();
    let less = format!("{sql} WHERE trace_id <> 't5'");
    store.execute_batch("DROP INDEX record_trace").unwrap();
    store.execute_batch(&less).unwrap();
    store.execute("UPDATE sqlite_schema SET sql = ? WHERE name = 'record_trace'", [&sql]).unwrap();
    drop(store);
    let ran = home.run("rsv-config", &["doctor", "--repair"], "");
    assert!(ran.stdout.contains("the indexes of the tables were rebuilt: "), "{ran}");
    home.check();
    assert_eq!(home.export(), exported);
}

#[test]
fn what_cannot_be_mended_is_said() {
    let home = Home::new();
    fill(&home);
    let store = rusqlite::Connection::open(home.store()).unwrap();
    store
        .execute_batch("PRAGMA foreign_keys = OFF; UPDATE record SET collection = 777 WHERE id = 'm005'")
        .unwrap();
    drop(store);
    let ran = home.run("rsv-config", &["doctor", "--repair"], "");
    assert_eq!(ran.status, 1, "{ran}");
    let last = lines_of(&ran.stdout).pop().unwrap();
    assert!(last["check"] == "store" && last["found"].as_str().unwrap().contains("is damaged"), "{last}");
    assert!(last["remedy"].as_str().unwrap().contains("rsv-export --recover"), "{last}");
    // A store that is not there, or is none.
    let ran = home.run("rsv-config", &["doctor", "--repair", "--store", "none.db"], "");
    assert!(ran.status == 0 && !home.path("none.db").exists(), "{ran}");
    home.write(
        "other.db",
        "no store at all, but long enough for a header of a file, which has a hundred bytes or more",
    );
    let ran = home.run("rsv-config", &["doctor", "--repair", "--store", "other.db"], "");
    assert_eq!((ran.status, ran.stdout.contains("\"state\":\"trouble\"")), (1, true), "{ran}");
}

on_graph!(the_counts_and_marks_of_a_graph_are_rebuilt);
fn the_counts_and_marks_of_a_graph_are_rebuilt(home: Home) {
    fill(&home);
    let (exported, answered) = (home.export(), answers(&home));
    for broken in [
        "MATCH (c:RsvCollection) SET c.documents = 99, c.words = 1",
        "MATCH (w:RsvWord) DELETE w",
        "MATCH (w:RsvWord) SET w.documents = 3",
        "CREATE (:RsvWord {stem: 'zzz', collection: 1, documents: 5, kind: 'message'})",
        "MATCH (m:RsvModel) SET m.vectors = 77",
        "MATCH (s:RsvVectorCount) SET s.vectors = 2",
        "MATCH (t:RsvTally) SET t.amount = 9",
        "MATCH (t:RsvTally) DELETE t",
        "MATCH ()-[l:CHILD_OF]->() DELETE l",
        "MATCH (r:RsvRecord) WHERE r.words IS NOT NULL SET r.words = head(split(r.words, ' ')) + ' _x x', r.length = 1",
        "DROP INDEX rsv_record_number",
    ] {
        home.graph().run(broken);
        assert_repaired(&home, broken, &exported, &answered);
    }
    let number = home.graph().texts("MATCH (m:RsvModel) RETURN toString(m.n) AS text").pop().unwrap();
    for broken in [
        format!("MATCH (r:RsvRecord) SET r:RsvLacks{number}"),
        format!("MATCH (r:RsvLacks{number}) REMOVE r:RsvLacks{number}"),
    ] {
        home.graph().run(&broken);
        assert_repaired(&home, &broken, &exported, &answered);
    }
}
