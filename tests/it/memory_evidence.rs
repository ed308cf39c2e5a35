//! The evidence about a memory in its line, and the order of memories that are as similar.

use crate::support::{Home, lines_of, on_each_store, text};
use serde_json::{Value, json};

fn memory(id: &str, more: Value) -> Value {
    let mut memory = json!({"kind": "memory", "id": id, "partition": "p", "instance": id, "title": "Retry a call",
        "content": "Wait longer before each retry.", "category": "strategy", "outcome": "success", "origin": "explicit",
        "prior": 0.8, "timestamp": 1000});
    memory.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    memory
}

fn view(home: &Home) -> Vec<Value> {
    lines_of(&home.run("rsv-view", &["-p", "p", "--kind", "memory", "1000"], "").ok())
}

/// The same without what is derived.
fn stored(home: &Home) -> Vec<Value> {
    let derived = ["confidence", "usage_count", "state", "updated_at"];
    let mut memories = lines_of(&exported(home).join("\n"));
    for memory in &mut memories {
        let removed = derived.map(|name| memory.as_object_mut().unwrap().remove(name).is_some());
        assert_eq!(removed, [true; 4]);
    }
    memories
}

/// The lines of an export with memories.
fn exported(home: &Home) -> Vec<String> {
    let is_memory = |line: &&str| line.starts_with("{\"kind\":\"memory\"");
    home.export().lines().filter(is_memory).map(str::to_owned).collect()
}

on_each_store!(a_line_has_the_evidence_and_an_export_has_none);
fn a_line_has_the_evidence_and_an_export_has_none(home: Home) {
    home.ingest(&[], &memory("m", json!({})).to_string());
    let before = stored(&home);
    for flag in ["--helpful", "--used", "--used", "--failed"] {
        home.run("rsv-signal", &[flag, "m"], "").ok();
    }
    let shown = view(&home);
    let line = &shown[0];
    let counts = |positive: u64, negative: u64| json!({"positive": positive, "negative": negative});
    // The uses of a day are one signal.
    let signals = json!({"explicit": counts(1, 0), "usage": counts(1, 0), "outcome": counts(0, 1)});
    assert_eq!((&line["signals"], &line["usage_count"]), (&signals, &json!(2)));
    // 0.8 of 4 observations, and the weights of the signals.
    let weights: Value = lines_of(&home.run("rsv-signal", &["-p", "p", "--weights"], "").ok()).remove(0);
    let number = |value: &Value| value.as_f64().unwrap();
    let (alpha, beta) =
        (3.2 + number(&weights["explicit"]) + number(&weights["usage"]), 0.8 + number(&weights["outcome"]));
    assert!(
        (number(&line["alpha"]) - alpha).abs() < 1e-6 && (number(&line["beta"]) - beta).abs() < 1e-6,
        "{line}"
    );
    assert!((number(&line["confidence"]) - alpha / (alpha + beta)).abs() < 1e-6, "{line}");
    // A search shows the same.
    let hit = lines_of(&home.run("rsv-search", &["-p", "p", "--kind", "memory", "retry"], "").ok()).remove(0);
    assert_eq!((&hit["alpha"], &hit["beta"], &hit["signals"]), (&line["alpha"], &line["beta"], &signals));
    // Neither an export nor a line that is read keeps the evidence.
    assert_eq!(stored(&home), before);
    let other = home.emptied();
    for tool in ["rsv-import", "rsv-ingest"] {
        other.run(tool, &["-q"], format!("{line}\n")).ok();
        assert_eq!(stored(&other), before);
    }
    other.check();
}

on_each_store!(members_of_these_names_in_earlier_exports_stay);
/// Keeps: An export of an earlier release comes back byte for byte, with any members of its memories.
fn members_of_these_names_in_earlier_exports_stay(home: Home) {
    let others = json!({"alpha": "a wave", "beta": [1.5], "signals": {"smoke": 1000.0}});
    home.run("rsv-import", &["-q"], format!("{}\n", memory("m", others.clone()))).ok();
    let once = exported(&home);
    let line: Value = serde_json::from_str(&once[0]).unwrap();
    assert!(["alpha", "beta", "signals"].iter().all(|name| line[name] == others[name]), "{line}");
    let shown = &view(&home)[0];
    assert_eq!((&shown["alpha"], &shown["beta"]), (&json!(3.2), &json!(0.8)));
    let again = home.emptied();
    again.run("rsv-import", &["-q"], once.join("\n")).ok();
    assert_eq!(exported(&again), once);
    again.check();
}

on_each_store!(of_memories_that_are_as_similar_the_more_trusted_comes_first);
/// Keeps: Confidence decides between memories that are as similar, however many there are.
fn of_memories_that_are_as_similar_the_more_trusted_comes_first(home: Home) {
    let home = home.and_model();
    let all: String =
        (0..40).map(|n| format!("{}\n", memory(&format!("m{n:02}"), json!({"timestamp": n})))).collect();
    home.ingest(&[], &all);
    home.run("rsv-embed", &["-q", "--pending"], "").ok();
    home.run("rsv-signal", &["-q", "--helpful", "m07"], "").ok();
    home.run("rsv-signal", &["-q", "--succeeded", "m20"], "").ok();
    home.run("rsv-signal", &["-q", "--unhelpful", "m39"], "").ok();
    let found = |words: &[&str]| -> Vec<String> {
        let words = [&["-p", "p", "--kind", "memory"], words, &["retry a call"]].concat();
        lines_of(&home.run("rsv-search", &words, "").ok()).iter().map(|hit| text(&hit["id"])).collect()
    };
    for how in [&["--by=keyword"][..], &["--semantic"], &["--hybrid"], &["--target", "viking://~/memories"]] {
        let wanted = ["m07", "m20"];
        assert_eq!(found(&[how, &["-n", "2"]].concat()), wanted, "{how:?}");
        assert_eq!(found(&[how, &["-n", "1"]].concat()), wanted[..1], "{how:?}");
        let all = found(&[how, &["-n", "40"]].concat());
        assert_eq!((all.len(), all.last().unwrap().as_str()), (40, "m39"), "{how:?}");
        // Of those that say the same, it is the most trusted that stays.
        assert_eq!(found(&[how, &["-d"]].concat()), wanted[..1], "{how:?}");
    }
    home.check();
}
