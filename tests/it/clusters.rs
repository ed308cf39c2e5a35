//! rsv-link --clusters: which memories are similar to each other.

use crate::support::{Home, Ran, lines_of, on_each_store, text, tries};
use serde_json::{Value, json};

/// A memory of a partition with a vector.
pub(crate) fn memory(id: &str, partition: &str, vector: &[f64]) -> Value {
    json!({"kind": "memory", "id": id, "partition": partition, "title": format!("Title of {id}"),
        "content": format!("Content of {id}."), "outcome": "success", "prior": 0.6, "origin": "distilled",
        "timestamp": 1000, "vector": vector})
}

/// Stores memories, with their vectors of the model `m`, if they have any.
pub(crate) fn store(home: &Home, memories: &[Value]) {
    let mut lines = String::new();
    for memory in memories {
        let mut memory = memory.clone();
        let vector = memory.as_object_mut().unwrap().remove("vector");
        lines.push_str(&format!("{memory}\n"));
        if let Some(vector) = vector {
            let embedding = json!({"kind": "embedding", "of": memory["id"], "model": "m", "vector": vector});
            lines.push_str(&format!("{embedding}\n"));
        }
    }
    home.run("rsv-ingest", &["-q"], lines).ok();
}

/// The ids of the members of each cluster.
fn members(clusters: &str) -> Vec<Vec<String>> {
    let ids =
        |cluster: Value| cluster["members"].as_array().unwrap().iter().map(|one| text(&one["id"])).collect();
    lines_of(clusters).into_iter().map(ids).collect()
}

fn clusters(home: &Home, words: &[&str]) -> Ran {
    let ran = home.run("rsv-link", &[&["--clusters", "--kind", "memory"], words].concat(), "");
    assert_eq!(ran.status, 0, "{ran}");
    ran
}

/// A vector on the unit circle.
pub(crate) fn at(degrees: f64) -> [f64; 2] {
    [degrees.to_radians().cos(), degrees.to_radians().sin()]
}

on_each_store!(every_member_is_similar_to_every_other);
fn every_member_is_similar_to_every_other(home: Home) {
    // The cosine of 36.9 degrees is 0.8. The third is similar to the second, and not to the first.
    let all = [("a", 0.0), ("b", 30.0), ("c", 45.0), ("d", 60.0), ("e", 15.0), ("f", 200.0)];
    let all: Vec<Value> = all.iter().map(|(id, degrees)| memory(id, "p", &at(*degrees))).collect();
    store(&home, &all);
    let ran = clusters(&home, &["--centroid"]);
    assert_eq!(members(&ran.stdout), [vec!["a", "b", "e"], vec!["c", "d"]]);
    let note = "rsv-link: examined 6 memories, found 2 clusters of 5 memories, in ";
    assert!(ran.stderr.starts_with(note), "{ran}");
    let first = &lines_of(&ran.stdout)[0];
    let (cos15, cos30) = (15_f64.to_radians().cos(), 30_f64.to_radians().cos());
    for (member, wanted) in [
        (&first["average_similarity"], (2.0 * cos15 + cos30) / 3.0),
        (&first["min_similarity"], cos30),
        (&first["centroid"][0], (1.0 + cos30 + cos15) / 3.0),
        (&first["centroid"][1], (0.5 + 15_f64.to_radians().sin()) / 3.0),
    ] {
        assert!((member.as_f64().unwrap() - wanted).abs() < 1e-6, "{first}: {wanted}");
    }
    assert_eq!(first["centroid"].as_array().unwrap().len(), 2);
    assert_eq!(first["members"][0]["confidence"], json!(0.6));
    let line = &lines_of(&clusters(&home, &[]).stdout)[0];
    assert!(line.get("centroid").is_none() && line["kind"] == json!("cluster"), "{line}");
    // Above the threshold, not at it.
    assert_eq!(members(&clusters(&home, &["--threshold", "0.99"]).stdout).len(), 0);
    assert_eq!(members(&clusters(&home, &["--threshold", "0"]).stdout)[0], ["a", "b", "c", "d", "e"]);
    assert_eq!(members(&clusters(&home, &["--max", "1"]).stdout), [vec!["a", "b", "e"]]);
    assert_eq!(clusters(&home, &["-q"]).stderr, "");
    // Nothing was written.
    assert!(!home.export().contains("CONSOLIDATED_INTO"));
}

on_each_store!(clusters_have_one_partition_category_and_outcome_and_only_active_members);
fn clusters_have_one_partition_category_and_outcome_and_only_active_members(home: Home) {
    let mut all = Vec::new();
    for partition in ["p", "q", "r"] {
        let of = |id: &str| memory(&format!("{partition}-{id}"), partition, &[1.0, 0.0]);
        let (mut warning, mut case, mut elsewhere) = (of("warning"), of("case"), of("elsewhere"));
        warning["outcome"] = json!("failure");
        case["category"] = json!("case");
        elsewhere["instance"] = json!("another");
        let mut unembedded = of("unembedded");
        unembedded.as_object_mut().unwrap().remove("vector");
        all.extend([of("one"), of("two"), elsewhere, warning, case, unembedded]);
    }
    store(&home, &all);
    let wanted = |partition: &str| ["elsewhere", "one", "two"].map(|id| format!("{partition}-{id}"));
    let ran = clusters(&home, &[]);
    assert_eq!(members(&ran.stdout), ["p", "q", "r"].map(wanted));
    assert!(ran.stderr.contains("rsv-link: 3 memories have no vector and cannot be compared; add"), "{ran}");
    assert_eq!(members(&clusters(&home, &["-p", "q"]).stdout), [wanted("q")]);
    assert_eq!(members(&clusters(&home, &["-p", "r", "-p", "p"]).stdout), ["r", "p"].map(wanted));
    assert_eq!(members(&clusters(&home, &["-p", "p", "-i", "p"]).stdout), [["p-one", "p-two"]]);
    let mut consolidated = memory("p-all", "p", &[0.0, 1.0]);
    consolidated["origin"] = json!("consolidated");
    consolidated["source_ids"] = json!(["p-one", "p-two"]);
    store(&home, &[consolidated]);
    let ran = clusters(&home, &["--force"]);
    assert_eq!(members(&ran.stdout), ["q", "r"].map(wanted), "archived ones are left out");
}

on_each_store!(a_partition_that_was_just_consolidated_is_passed_over);
fn a_partition_that_was_just_consolidated_is_passed_over(home: Home) {
    let begin = "2026-11-23T10:00:00Z";
    let one = |id: &str, partition: &str, origin: &str, category: &str| {
        let mut one = memory(id, partition, &[1.0]);
        (one["origin"], one["category"], one["timestamp"]) = (json!(origin), json!(category), json!(begin));
        one
    };
    let mut all = Vec::new();
    for (partition, origin, category) in
        [("p", "consolidated", "strategy"), ("q", "consolidated", "case"), ("r", "explicit", "strategy")]
    {
        all.push(one(&format!("{partition}1"), partition, origin, category));
        all.push(one(&format!("{partition}2"), partition, "distilled", category));
    }
    store(&home, &all);
    let of = |home: &Home, words: &[&str]| clusters(home, words);
    let later = home.at("2026-11-24T05:59:59Z");
    let ran = of(&later, &[]);
    assert_eq!(members(&ran.stdout), [["q1", "q2"], ["r1", "r2"]]);
    assert!(ran.stderr.contains(", passed over 1 partition consolidated within the window, in"), "{ran}");
    assert_eq!(members(&of(&later, &["--force"]).stdout).len(), 3);
    assert_eq!(members(&of(&later, &["--window", "19h"]).stdout).len(), 3);
    assert_eq!(members(&of(&home.at("2026-11-24T06:00:00Z"), &[]).stdout).len(), 3);
}

#[test]
fn clusters_are_those_of_a_plain_search_through_all_pairs() {
    tries(6, |mut dice| {
        let home = Home::new();
        let dim = [2, 3, 8, 20][dice.below(4)];
        let count = 40 + dice.below(200);
        let vectors: Vec<Vec<f64>> =
            (0..count).map(|_| (0..dim).map(|_| dice.below(2001) as f64 - 1000.0).collect()).collect();
        let memories: Vec<Value> = vectors
            .iter()
            .enumerate()
            .map(|(at, vector)| {
                let mut one = memory(&format!("m{at}"), "p", vector);
                one["timestamp"] = json!(dice.below(50));
                one
            })
            .collect();
        store(&home, &memories);
        let threshold = 0.3 + dice.below(60) as f64 / 100.0;
        let ran = clusters(&home, &["--threshold", &threshold.to_string()]);
        assert_eq!(members(&ran.stdout), by_all_pairs(&memories, threshold));
    });
}

/// The greedy rule as it is told.
fn by_all_pairs(memories: &[Value], threshold: f64) -> Vec<Vec<String>> {
    let vector = |memory: &Value| -> Vec<f64> { serde_json::from_value(memory["vector"].clone()).unwrap() };
    let cosine = |one: &Value, other: &Value| {
        let (x, y) = (vector(one), vector(other));
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        dot(&x, &y) / (dot(&x, &x) * dot(&y, &y)).sqrt()
    };
    let mut open: Vec<&Value> = memories.iter().collect();
    open.sort_by_key(|memory| (memory["timestamp"].as_i64(), text(&memory["id"])));
    let mut found = Vec::new();
    while !open.is_empty() {
        let mut members = vec![open.remove(0)];
        open.retain(|other| {
            let joins = members.iter().all(|member| cosine(member, other) > threshold);
            if joins {
                members.push(other);
            }
            !joins
        });
        if members.len() > 1 {
            found.push(members.iter().map(|member| text(&member["id"])).collect());
        }
    }
    found
}

#[test]
fn the_flags_of_clusters_are_checked() {
    let home = Home::new();
    for (words, wanted) in [
        (&["--clusters", "--threshold", "1.5"][..], "--threshold: expected a cosine from 0 to 1, found 1.5"),
        (&["--clusters", "--threshold", "-1"], "--threshold: expected a cosine from 0 to 1, found -1"),
        (&["--clusters", "--kind", "message"], "--kind: a message cannot be consolidated, but a memory can"),
        (&["--clusters", "--window", "soon"], "expected a duration such as 500ms, 30s, 2m, 12h or 30d"),
        (&["--clusters", "--max", "0"], "invalid value '0' for '--max <COUNT>'"),
        (&["--clusters", "--stats"], "cannot be used with"),
        (&["--clusters", "--force", "--window", "1h"], "cannot be used with"),
        (&["--max", "3"], "--clusters"),
        (&["-p", "a", "-p", "b"], "the argument '--partition <NAME>' cannot be used multiple times"),
        (&["--clusters", "-p", "a", "-p", ""], "partition: is empty"),
    ] {
        let said = home.run("rsv-link", words, "").trouble();
        assert!(said.contains(wanted), "{words:?}: {said}");
    }
    let ran = home.run("rsv-link", &["--clusters"], "");
    assert_eq!((ran.status, ran.stdout.as_str()), (0, ""));
    assert!(ran.stderr.starts_with("rsv-link: examined 0 memories, found 0 clusters, in "), "{ran}");
    // Every other tool takes one partition.
    let said = home.run("rsv-view", &["-p", "a", "-p", "b"], "").trouble();
    assert!(said.contains("the argument '--partition <NAME>' cannot be used multiple times"), "{said}");
}
