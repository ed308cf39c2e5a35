//! Messages that later ones correct: rsv-ingest says so, searches show it, and a request gets both.

use crate::support::{Home, lines_of, on_each_store, text};
use serde_json::{Value, json};

const FOUR: &str = "The meeting of the beekeepers begins at four.";
const FIVE: &str = "No, the beekeepers meet at five.";
const SIX: &str = "They moved it once more: at six.";
const QUESTION: &str = "When does the meeting of the beekeepers begin?";
const YEAR: i64 = 365 * 24 * 3600 * 1000;

/// A partition with a message of years ago.
fn furnished(home: Home) -> Home {
    let line = json!({"kind": "message", "id": "m1", "trace_id": "m1", "partition": "club", "instance": "old",
        "role": "user", "content": FOUR, "timestamp": 1_600_000_000_000_i64});
    home.run("rsv-import", &["-q"], format!("{line}\n")).ok();
    home
}

/// Corrects a message; returns the id of the correction.
fn correct(home: &Home, id: &str, content: &str) -> String {
    let lines = lines_of(&home.run("rsv-ingest", &["-p", "club", "--corrects", id, content], "").ok());
    assert_eq!((&lines[1]["rel"], &lines[1]["to"]), (&json!("CORRECTS"), &json!(id)), "{lines:?}");
    text(&lines[0]["id"])
}

fn search(home: &Home, words: &[&str]) -> Vec<Value> {
    let ran = home.run("rsv-search", &[&["-p", "club"], words].concat(), "");
    lines_of(&ran.stdout)
}

/// The messages that are newer than m1, by a search that finds it.
fn newer(home: &Home) -> Option<Value> {
    let hits = search(home, &["meeting of the beekeepers begins"]);
    hits.iter().find(|hit| hit["id"] == "m1").unwrap().get("newer").cloned()
}

fn enrich(home: &Home, messages: &Value) -> Value {
    let request = json!({"model": "llama3.1", "messages": messages});
    lines_of(&home.run("rsv-enrich", &["-p", "club"], request.to_string()).ok()).remove(0)
}

on_each_store!(a_message_that_was_corrected_is_found_with_its_correction);
/// Keeps: A message that was corrected never reaches a model without saying so.
fn a_message_that_was_corrected_is_found_with_its_correction(home: Home) {
    let home = furnished(home);
    assert_eq!(newer(&home), None);
    let five = correct(&home, "m1", FIVE);
    assert_eq!(newer(&home), Some(json!([{"id": five, "reason": "corrected"}])));
    let six = correct(&home, &five, SIX);
    assert_eq!(newer(&home), Some(json!([{"id": six, "reason": "corrected"}])));
    let shown = home.run("rsv-search", &["-p", "club", "--format", "text", "beekeepers"], "").ok();
    assert_eq!(shown.matches("\n    newer: ").count(), 2, "{shown}");
    // The letters that are shown name it.
    let letters = shown.split("newer: ").nth(1).unwrap().lines().next().unwrap();
    assert_eq!(home.contents("rsv-view", &["--id", letters]), [SIX]);
    let block = home.run("rsv-search", &["-p", "club", "--format", "block", "beekeepers begins"], "").ok();
    assert!(
        block.contains(&format!("> [of 2020-09-13; corrected by message {letters}]\n> {FOUR}\n")),
        "{block}"
    );
    for current in [&["--current"][..], &["--as-of", "now"]] {
        let hits = search(&home, &[current, &["--by", "any", QUESTION]].concat());
        assert!(hits.iter().all(|hit| hit.get("newer").is_none()), "{hits:?}");
        let ids: Vec<String> = hits.iter().map(|hit| text(&hit["id"])).collect();
        assert!(!ids.contains(&"m1".to_owned()) && !ids.contains(&five), "{ids:?}");
    }
    // As of a time before the corrections, nothing was corrected.
    let before = (1_600_000_000_000 + YEAR).to_string();
    let hits = search(&home, &["--as-of", &before, "beekeepers"]);
    assert_eq!(hits.len(), 1);
    assert_eq!((&hits[0]["content"], hits[0].get("newer")), (&json!(FOUR), None));
    // A correction that is forgotten corrects nothing.
    home.run("rsv-forget", &["--all", &six], "").ok();
    assert_eq!(newer(&home), Some(json!([{"id": five, "reason": "corrected"}])));
    home.run("rsv-forget", &["--all", &five], "").ok();
    assert_eq!(newer(&home), None);
    home.check();
}

on_each_store!(a_request_gets_the_correction_and_the_mark);
fn a_request_gets_the_correction_and_the_mark(home: Home) {
    let home = furnished(home);
    let five = correct(&home, "m1", "Seventeen hundred hours, says the chairwoman.");
    let messages = json!([{"role": "user", "content": QUESTION}]);
    let line = enrich(&home, &messages);
    let prompt = text(&line["messages"][0]["content"]);
    let mark = "> [of 2020-09-13; corrected by message ";
    assert!(prompt.contains(mark) && prompt.contains(FOUR) && prompt.contains("Seventeen"), "{prompt}");
    let part = |line: &Value, id: &str| {
        let account = &line["rsv"]["account"];
        let parts = ["recalled", "recent"].map(|list| account[list].as_array().unwrap().clone());
        parts.concat().into_iter().find(|part| part["id"] == id)
    };
    assert_eq!(part(&line, "m1").unwrap()["newer"], json!([{"id": five, "reason": "corrected"}]));
    assert!(part(&line, &five).is_some());
    // A later request of the turn gets the same, though it was corrected once more meanwhile.
    home.run("rsv-ingest", &[], format!("{}\n", line["rsv"]["account"])).ok();
    correct(&home, &five, SIX);
    let mut messages = messages.as_array().unwrap().clone();
    messages
        .push(json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function",
        "function": {"name": "clock", "arguments": "{}"}}]}));
    messages.push(json!({"role": "tool", "tool_call_id": "c", "content": "noon"}));
    let later = enrich(&home, &json!(messages));
    assert_eq!(text(&later["messages"][0]["content"]), prompt);
    // A model that repeats the block does not have it stored again.
    let echo = json!({"role": "assistant", "content": prompt}).to_string();
    let stored = lines_of(&home.run("rsv-ingest", &["-p", "elsewhere"], echo).ok());
    assert_eq!(stored[0]["content"], QUESTION);
}

on_each_store!(a_correction_is_of_a_message_of_its_partition);
fn a_correction_is_of_a_message_of_its_partition(home: Home) {
    let home = furnished(home);
    let five = correct(&home, "m1", FIVE);
    for (partition, id) in [("elsewhere", "m1"), ("club", "nothing")] {
        let ran = home.run("rsv-ingest", &["-p", partition, "--corrects", id, "It is not so."], "");
        let why = format!("rsv-ingest: error: corrects: the partition {partition} has no message {id}\n");
        assert!(ran.status == 2 && ran.stderr.starts_with(&why), "{ran}");
    }
    assert_eq!(home.contents("rsv-view", &["--all"]), [FOUR, FIVE]);
    // An export has the correction, and a search in another instance alone does not know it.
    let export = home.run("rsv-export", &[], "").ok();
    let other = Home::new();
    other.run("rsv-import", &["-q"], export).ok();
    assert_eq!(newer(&other), Some(json!([{"id": five, "reason": "corrected"}])));
    let hits = search(&other, &["-i", "old", "beekeepers"]);
    assert_eq!((hits.len(), hits[0].get("newer")), (1, None));
}
