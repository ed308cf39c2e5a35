//! Later messages that supersede earlier ones without a word from anybody: searches and requests show both,
//! contradictions are listed, and memories made of what is superseded say so.

use crate::support::{Home, lines_of, on_each_store, text};
use serde_json::{Value, json};

const QUESTION: &str = "On which port does the gateway listen?";
const OLD: &str = "The gateway listens on port 8080.";
const NEW: &str = "We moved the gateway to port 9443, the firewall is open.";
const DAY: i64 = 24 * 3600 * 1000;

/// The line of a message said some days after the first.
fn said(id: &str, days: i64, role: &str, content: &str) -> String {
    let timestamp = 1_600_000_000_000 + days * DAY;
    let line = json!({"kind": "message", "id": id, "trace_id": id, "partition": "club", "instance": "old",
        "role": role, "content": content, "timestamp": timestamp});
    format!("{line}\n")
}

fn furnished(home: Home, lines: &[String]) -> Home {
    home.run("rsv-import", &["-q"], lines.concat()).ok();
    home
}

/// The hits of a question, by their ids.
fn found(home: &Home, flags: &[&str], question: &str) -> Vec<(String, Value)> {
    let ran = home.run("rsv-search", &[&["-p", "club", "--by", "any"], flags, &[question]].concat(), "");
    lines_of(&ran.stdout).into_iter().map(|hit| (text(&hit["id"]), hit["newer"].clone())).collect()
}

fn newer_of(hits: &[(String, Value)], id: &str) -> Value {
    hits.iter().find(|(hit, _)| hit == id).unwrap_or_else(|| panic!("{id} in {hits:?}")).1.clone()
}

on_each_store!(a_message_that_a_later_one_changes_is_shown_with_it);
/// Keeps: A message that a later one changes is recalled with that, and says so.
fn a_message_that_a_later_one_changes_is_shown_with_it(home: Home) {
    let home = furnished(
        home,
        &[
            said("m1", 0, "user", OLD),
            said("m2", 3, "user", NEW),
            said("m3", 4, "assistant", "Then the gateway no longer listens on port 8080."),
            said("m4", 5, "user", "Does the gateway still listen on port 8080?"),
        ],
    );
    let hits = found(&home, &[], QUESTION);
    assert_eq!(newer_of(&hits, "m1"), json!([{"id": "m2", "reason": "changed"}]));
    for id in ["m2", "m3", "m4"] {
        assert!(newer_of(&hits, id).is_null(), "{id}: {hits:?}");
    }
    let shown = home.run("rsv-search", &["-p", "club", "--format", "text", "gateway 8080"], "").ok();
    assert!(shown.contains("\n    newer: "), "{shown}");
    assert!(found(&home, &["--current"], QUESTION).iter().all(|(id, _)| id != "m1"));
    // Before the later one, and without the rule, nothing is newer.
    let before = (1_600_000_000_000 + DAY).to_string();
    assert!(newer_of(&found(&home, &["--as-of", &before], QUESTION), "m1").is_null());
    home.run("rsv-config", &["set", "search.newer", "off"], "").ok();
    assert!(newer_of(&found(&home, &[], QUESTION), "m1").is_null());
    home.run("rsv-config", &["unset", "search.newer"], "").ok();
    // A correction by hand wins.
    let ran = home.run("rsv-ingest", &["-p", "club", "--corrects", "m1", "Port 7000 it is."], "").ok();
    let hand = text(&lines_of(&ran)[0]["id"]);
    let hits = found(&home, &[], QUESTION);
    assert_eq!(newer_of(&hits, "m1"), json!([{"id": hand, "reason": "corrected"}]));
    home.check();
}

on_each_store!(what_the_rule_finds_is_followed_to_the_newest_within_a_partition);
/// Keeps: A superseded message leads to its newest correction, and never into another partition.
fn what_the_rule_finds_is_followed_to_the_newest_within_a_partition(home: Home) {
    let elsewhere = said("m9", 9, "user", "We moved the gateway to port 5000, the firewall is open.");
    let home = furnished(
        home,
        &[said("m1", 0, "user", OLD), said("m2", 3, "user", NEW), elsewhere.replace("club", "another")],
    );
    let ran = home.run("rsv-ingest", &["-p", "club", "--corrects", "m2", "It was 9444 in the end."], "").ok();
    let last = text(&lines_of(&ran)[0]["id"]);
    let ran = home.run("rsv-search", &["--all", "--by", "any", QUESTION], "").ok();
    let hits: Vec<(String, Value)> =
        lines_of(&ran).into_iter().map(|hit| (text(&hit["id"]), hit["newer"].clone())).collect();
    assert_eq!(newer_of(&hits, "m1"), json!([{"id": last, "reason": "changed"}]));
    assert_eq!(newer_of(&hits, "m2"), json!([{"id": last, "reason": "corrected"}]));
    assert!(newer_of(&hits, "m9").is_null(), "{hits:?}");
}

on_each_store!(a_request_gets_the_newer_statement_for_all_of_its_turn);
fn a_request_gets_the_newer_statement_for_all_of_its_turn(home: Home) {
    let home = furnished(home, &[said("m1", 0, "user", OLD), said("m2", 3, "user", NEW)]);
    let enrich = |messages: &Value| {
        let request = json!({"model": "llama3.1", "messages": messages});
        lines_of(&home.run("rsv-enrich", &["-p", "club"], request.to_string()).ok()).remove(0)
    };
    let messages = json!([{"role": "user", "content": QUESTION}]);
    let line = enrich(&messages);
    let prompt = text(&line["messages"][0]["content"]);
    assert!(
        prompt.contains("> [of 2020-09-13; a newer statement is message ") && prompt.contains(NEW),
        "{prompt}"
    );
    home.run("rsv-ingest", &[], format!("{}\n", line["rsv"]["account"])).ok();
    home.run("rsv-import", &["-q"], said("m9", 9, "user", "The gateway moved to port 5000.")).ok();
    let mut messages = messages.as_array().unwrap().clone();
    messages
        .push(json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function",
        "function": {"name": "clock", "arguments": "{}"}}]}));
    messages.push(json!({"role": "tool", "tool_call_id": "c", "content": "noon"}));
    let later = enrich(&json!(messages));
    assert_eq!(text(&later["messages"][0]["content"]), prompt);
    // A model that repeats the block does not have it stored again.
    let echo = json!({"role": "assistant", "content": prompt}).to_string();
    let stored = lines_of(&home.run("rsv-ingest", &["-p", "elsewhere"], echo).ok());
    assert_eq!(stored[0]["content"], QUESTION);
}

on_each_store!(contradictions_are_listed_until_they_are_settled);
/// Keeps: Messages that contradict each other are listed, newest first, until a person settles them.
fn contradictions_are_listed_until_they_are_settled(home: Home) {
    let home = furnished(
        home,
        &[
            said("m1", 0, "user", OLD),
            said("m2", 1, "user", "The rehearsal of the choir is on Monday at 18:30."),
            said("m3", 3, "user", NEW),
            said("m4", 5, "user", "Change of plans, the choir has its rehearsal on Thursday at 18:30."),
        ],
    );
    let pairs = || {
        let ran = home.run("rsv-link", &["-q", "-p", "club", "--contradictions"], "");
        let ids = |line: Value| (text(&line["older"]["id"]), text(&line["newer"]["id"]));
        (ran.status, lines_of(&ran.stdout).into_iter().map(ids).collect::<Vec<_>>())
    };
    let pair = |older: &str, newer: &str| (older.to_owned(), newer.to_owned());
    assert_eq!(pairs(), (0, vec![pair("m2", "m4"), pair("m1", "m3")]));
    home.run("rsv-link", &["-p", "club", "--rel", "CORRECTS", "m3", "m1"], "").ok();
    assert_eq!(pairs(), (0, vec![pair("m2", "m4")]));
    home.run("rsv-link", &["-p", "club", "--rel", "CORRECTS", "m4", "m2"], "").ok();
    assert_eq!(pairs(), (1, Vec::new()));
}

on_each_store!(a_memory_of_what_is_superseded_is_stale);
/// Keeps: A memory that was made of a superseded message is listed as stale, and recalled with a mark.
fn a_memory_of_what_is_superseded_is_stale(home: Home) {
    let memory = |id: &str, content: &str| {
        let line = json!({"kind": "memory", "id": id, "partition": "club", "instance": "old", "title": content,
            "content": content, "outcome": "success", "prior": 0.9, "timestamp": 1_600_000_100_000_i64});
        format!("{line}\n")
    };
    let link = |from: &str, to: &str| {
        let line = json!({"kind": "link", "rel": "EXTRACTED_FROM", "from": from, "to": to});
        format!("{line}\n")
    };
    let home = furnished(
        home,
        &[
            said("m1", 0, "user", OLD),
            said("m2", 0, "user", "The logs are kept in the attic."),
            said("m3", 3, "user", NEW),
            memory("f1", "The gateway listens on port 8080."),
            memory("f2", "Logs are kept in the attic."),
            link("f1", "m1"),
            link("f2", "m2"),
        ],
    );
    let stale = lines_of(&home.run("rsv-view", &["-p", "club", "--kind", "memory", "--stale"], "").ok());
    let ids: Vec<&Value> = stale.iter().map(|line| &line["id"]).collect();
    assert_eq!(ids, [&json!("f1")], "{stale:?}");
    assert_eq!(stale[0]["newer"], json!([{"id": "m3", "reason": "changed"}]));
    let request = json!({"model": "llama3.1", "messages": [{"role": "user", "content": QUESTION}]});
    home.run("rsv-config", &["set", "enrich.recall", "similar,memories"], "").ok();
    let line = lines_of(&home.run("rsv-enrich", &["-p", "club"], request.to_string()).ok()).remove(0);
    let memories = line["rsv"]["account"]["memories"].as_array().unwrap().clone();
    let part = memories.iter().find(|part| part["id"] == "f1").unwrap_or_else(|| panic!("{line}"));
    assert_eq!(part["newer"], json!([{"id": "m3", "reason": "changed"}]));
    // Without what is newer, none is stale.
    home.run("rsv-forget", &["--all", "m3"], "").ok();
    assert_eq!(home.run("rsv-view", &["-p", "club", "--kind", "memory", "--stale"], "").status, 1);
}
