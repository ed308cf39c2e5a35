//! rsv-import reads the records of contextd and mem0 whole.

use crate::support::{Home, lines_of, on_each_store, text};
use serde_json::{Value, json};

fn memory(id: &str, title: &str, more: Value) -> Value {
    let mut memory = json!({"id": id, "project_id": "owls", "title": title, "content": format!("{title}, each time."),
        "outcome": "success", "confidence": 0.8, "usage_count": 0, "state": "active",
        "created_at": "2026-01-02T10:00:00Z", "updated_at": "2026-01-05T10:00:00Z"});
    for (name, value) in more.as_object().unwrap() {
        memory[name] = value.clone();
    }
    memory
}

/// The memories of the store by their ids, with their derived members.
fn memories(home: &Home) -> Vec<Value> {
    let words = ["-p", "owls", "--kind", "memory", "--state", "all", "--format", "jsonl"];
    lines_of(&home.run("rsv-view", &words, "").ok())
}

fn found(home: &Home, id: &str) -> Value {
    memories(home).into_iter().find(|memory| memory["id"] == id).unwrap_or_default()
}

on_each_store!(archived_memories_of_contextd_stay_archived);
fn archived_memories_of_contextd_stay_archived(home: Home) {
    let archived = json!({"state": "archived", "consolidation_id": "m3"});
    let list = json!({"memories": [
        memory("m1", "Count at dusk", archived.clone()),
        memory("m2", "Count owls twice", json!({"state": "archived", "consolidation_id": "elsewhere"})),
        memory("m3", "Count at dusk and dawn", json!({"usage_count": 3,
            "feedback": [{"helpful": true, "created_at": "2026-01-03T10:00:00Z"}, {"helpful": false, "created_at": "2026-01-04T10:00:00Z"}]})),
        memory("m4", "Count by ear", json!({"state": "archived"})),
    ]});
    for _ in 0..2 {
        let ran = home.run("rsv-import", &["-v"], list.to_string());
        assert_eq!(ran.status, 0, "{ran}");
        let states: Vec<Value> =
            memories(&home).iter().map(|m| json!([m["id"], m["state"], m["consolidation_id"]])).collect();
        for wanted in [
            json!(["m1", "archived", "m3"]),
            json!(["m2", "archived", "elsewhere"]),
            json!(["m3", "active", null]),
            json!(["m4", "archived", null]),
        ] {
            assert!(states.contains(&wanted), "{wanted}: {states:?}");
        }
        assert_eq!(found(&home, "m3")["usage_count"], 3);
    }
    // Those that are archived are not found.
    let hits = home
        .run("rsv-search", &["-p", "owls", "--kind", "memory", "--min-confidence", "0", "count"], "")
        .ok();
    let hits: Vec<String> = lines_of(&hits).iter().map(|hit| text(&hit["id"])).collect();
    assert_eq!(hits, ["m3"]);
    let signals = lines_of(&home.export()).into_iter().filter(|line| line["kind"] == "signal");
    let mut signals: Vec<String> =
        signals.map(|line| format!("{} {}", text(&line["type"]), line["positive"])).collect();
    signals.sort();
    assert_eq!(signals, ["explicit false", "explicit true", "usage true"]);
    // The link waits for its target.
    let linked = |home: &Home, from: &str| {
        lines_of(&home.export()).iter().any(|line| line["rel"] == "CONSOLIDATED_INTO" && line["from"] == from)
    };
    assert!(linked(&home, "m1") && !linked(&home, "m2"));
    home.run("rsv-import", &[], json!([memory("elsewhere", "Count twice at dusk", json!({}))]).to_string())
        .ok();
    assert!(linked(&home, "m2"));
}

#[test]
fn a_memory_whose_target_is_missing_is_named() {
    let home = Home::new();
    let list =
        json!([memory("m1", "Count at dusk", json!({"state": "archived", "consolidation_id": "gone"}))]);
    let ran = home.run("rsv-import", &[], list.to_string());
    assert_eq!(
        ran.stderr,
        "rsv-import: memory m1 is archived; it gets its link when the memory gone is imported\n"
    );
}

#[test]
fn output_of_memory_search_and_negative_uses() {
    let home = Home::new();
    let output = json!({"memories": [{"id": "m1", "title": "Count at dusk", "content": "They fly then.", "outcome": "success",
        "confidence": 0.9, "tags": ["owls"]}], "count": 1});
    let result = json!({"content": [{"type": "text", "text": output.to_string()}]});
    for search in [output, result] {
        home.run("rsv-import", &["-p", "owls"], search.to_string()).ok();
        assert_eq!(found(&home, "m1")["title"], "Count at dusk");
    }
    for use_of_it in ["2026-01-03T10:00:00Z", "2026-01-03T11:00:00Z"] {
        let signal =
            json!({"kind": "signal", "of": "m1", "type": "usage", "positive": false, "timestamp": use_of_it});
        home.run("rsv-import", &[], signal.to_string()).ok();
    }
    let confidence = found(&home, "m1")["confidence"].as_f64().unwrap();
    assert!(confidence < 0.9, "{confidence}");
}

/// Keeps: Uses that contextd counts without a time are counted once, on any day of an import.
#[test]
fn uses_without_a_time_are_counted_once() {
    let mut home = Home::new();
    for (day, count) in [("2026-11-01", 3), ("2026-11-02", 3), ("2026-11-09", 5)] {
        home = home.at(&format!("{day}T10:00:00Z"));
        let mut counted = memory("m1", "Count at dusk", json!({"usage_count": count}));
        for member in ["created_at", "updated_at"] {
            counted.as_object_mut().unwrap().remove(member);
        }
        home.run("rsv-import", &[], json!([counted]).to_string()).ok();
        assert_eq!(found(&home, "m1")["usage_count"], count, "{day}");
    }
}
