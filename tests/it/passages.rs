//! The passages of long messages that are quoted, to models and to people.

use crate::support::{Home, lines_of, on_each_store, text};
use rsv::record::id_digest;
use serde_json::{Value, json};

/// Sentences around what a question asks for, far longer than a quotation.
fn long_answer() -> String {
    let filler =
        "The rest of the report has nothing of that kind, and goes on about the weather. ".repeat(20);
    format!(
        "{filler}The heron 🪶 nests in the third reed bed. {filler}\n\n```sh\nheron --nest list\n```\n{filler}"
    )
}

/// The answer of a model that calls a tool.
fn call() -> Value {
    json!({"role": "assistant", "content": null,
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}]})
}

fn enrich(home: &Home, messages: &Value) -> Value {
    let line = json!({"model": "gpt-4o", "messages": messages}).to_string();
    lines_of(&home.run("rsv-enrich", &["-p", "w", "--recall", "similar"], line).ok()).remove(0)
}

on_each_store!(a_long_message_is_quoted_by_the_passages_that_answer_the_question);
/// Keeps: A long message is quoted by passages, the same in all requests of a turn.
fn a_long_message_is_quoted_by_the_passages_that_answer_the_question(home: Home) {
    let answer = long_answer();
    let line = |id: &str, role: &str, content: &str| {
        json!({"id": id, "role": role, "content": content, "timestamp": 60_000}).to_string()
    };
    let short = line("short", "user", "Where does the heron nest? I saw it in the reeds.");
    home.ingest(&["-p", "w"], &[line("long", "assistant", &answer), short].join("\n"));
    let question = json!({"role": "user", "content": "In which reed bed does the heron nest?"});
    let first = enrich(&home, &json!([question]));
    let block = text(&first["messages"][0]["content"]);
    assert!(
        block.contains("The heron 🪶 nests in the third reed bed.") && block.contains("[...]"),
        "{block}"
    );
    assert!(block.contains("```sh\n> heron --nest list\n> ```"), "code keeps its lines: {block}");
    assert!(block.contains("I saw it in the reeds.\n"), "{block}");
    let name = &id_digest("long")[..12];
    assert!(block.contains(&format!("\n> [from message {name}]\n")), "{block}");
    assert!(
        home.run("rsv-view", &["--id", name, "-p", "w", "--format", "jsonl"], "").ok().contains("weather")
    );
    // The account counts what was quoted, and says where it stands.
    let parts = first["rsv"]["account"]["recalled"].as_array().unwrap();
    let part = |id: &str| parts.iter().find(|part| part["id"] == id).unwrap();
    assert!(part("long")["tokens"].as_u64().unwrap() < 400 && part("short").get("quoted").is_none());
    let mut quoted = String::new();
    for range in part("long")["quoted"].as_array().unwrap() {
        let [start, end] = [0, 1].map(|at| range[at].as_u64().unwrap() as usize);
        quoted += &answer[start..end];
    }
    assert!(quoted.contains("third reed bed") && quoted.len() <= 960, "{quoted}");
    // A later request of the turn carries the same.
    let call = call();
    let stored = json!({"choices": [{"index": 0, "message": call}], "rsv": first["rsv"]}).to_string();
    home.run("rsv-ingest", &[], stored).ok();
    let later = json!([question, call, {"role": "tool", "tool_call_id": "c", "content": "reeds"}]);
    let second = enrich(&home, &later);
    assert_eq!(text(&second["messages"][0]["content"]), block);
    assert_eq!(second["rsv"]["account"]["recalled"], first["rsv"]["account"]["recalled"]);
    let shown = home.run("rsv-view", &["-p", "w", "--accounts", "--format", "text"], "").ok();
    assert!(shown.split_whitespace().collect::<Vec<_>>().join(" ").contains("tokens, in part)"), "{shown}");
    home.check();
}

#[test]
fn an_account_without_ranges_has_its_messages_whole() {
    let home = Home::new();
    let line =
        json!({"id": "long", "role": "assistant", "content": long_answer(), "timestamp": 60_000}).to_string();
    home.ingest(&["-p", "w"], &line);
    let question = json!({"role": "user", "content": "In which reed bed does the heron nest?"});
    let mut rsv = enrich(&home, &json!([question]))["rsv"].clone();
    let call = call();
    let later = json!([question, call, {"role": "tool", "tool_call_id": "c", "content": "reeds"}]);
    for (quoted, is_whole) in [(Value::Null, true), (json!([[1, 4_000_000]]), true), (json!([[0, 3]]), false)]
    {
        rsv["account"]["recalled"][0]["quoted"] = quoted;
        let other = home.emptied();
        other.ingest(&["-p", "w"], &line);
        let stored = json!({"choices": [{"index": 0, "message": call}], "rsv": rsv}).to_string();
        other.run("rsv-ingest", &[], stored).ok();
        let block = text(&enrich(&other, &later)["messages"][0]["content"]);
        assert_eq!(block.matches("goes on about the weather").count() == 60, is_whole, "{block}");
    }
}

on_each_store!(what_is_repeated_is_recalled_once);
/// Keeps: Two passages that say the same do not both take tokens.
fn what_is_repeated_is_recalled_once(home: Home) {
    let nest = "The heron 🪶 nests in the third reed bed, beside the old punt.";
    let filler = "The rest of the report goes on about the weather of the week. ".repeat(20);
    let line = |id: &str, content: &str| {
        json!({"id": id, "role": "assistant", "content": content, "timestamp": 60_000}).to_string()
    };
    let other = "The heron does nest there: it was seen in that reed bed at dawn, and once at noon with two young ones.";
    let lines = [
        line("first", &format!("{nest}\n\n{filler}")),
        line("repeated", &format!("{filler}\n\n{nest}\n\n{filler}")),
        line("more", &format!("{filler}\n\n{other}\n\n{filler}")),
    ];
    home.ingest(&["-p", "w"], &lines.join("\n"));
    let question = json!({"role": "user", "content": "In which reed bed does the heron nest?"});
    let block = text(&enrich(&home, &json!([question]))["messages"][0]["content"]);
    assert_eq!(block.matches("beside the old punt").count(), 1, "{block}");
    assert!(block.contains("with two young ones"), "{block}");
}

#[test]
fn people_see_the_passage_of_a_long_hit() {
    let home = Home::new();
    let line =
        json!({"id": "long", "role": "assistant", "content": long_answer(), "timestamp": 60_000}).to_string();
    home.ingest(&["-p", "w"], &line);
    let shown = home.run("rsv-search", &["-p", "w", "--format", "text", "heron nests"], "").ok();
    assert!(shown.contains("third reed bed") && shown.contains("[...]") && shown.len() < 2000, "{shown}");
}

#[test]
fn a_program_gets_the_whole_of_a_long_hit_and_where_its_passages_are() {
    let home = Home::new();
    let line = |id: &str, content: &str| {
        json!({"id": id, "role": "assistant", "content": content, "timestamp": 60_000}).to_string()
    };
    let answer = long_answer();
    home.ingest(&["-p", "w"], &[line("long", &answer), line("short", "A heron nests here.")].join("\n"));
    for flags in
        [&["heron nests"][..], &["--by", "any", "heron nests"], &["--link", "--context", "1", "heron nests"]]
    {
        let hits = lines_of(&home.run("rsv-search", &[&["-p", "w"], flags].concat(), "").ok());
        let hit = |id: &str| hits.iter().find(|hit| hit["id"] == id).unwrap();
        assert_eq!(hit("long")["content"], json!(answer));
        let [start, end] = [0, 1].map(|at| hit("long")["quoted"][0][at].as_u64().unwrap() as usize);
        assert!(answer[start..end].contains("third reed bed"), "{hits:?}");
        assert!(hit("short").get("quoted").is_none(), "{hits:?}");
    }
    let block = home.run("rsv-search", &["-p", "w", "--format", "block", "heron nests"], "").ok();
    let name = &id_digest("long")[..12];
    assert!(block.contains("third reed bed") && block.len() < 2000, "{block}");
    assert!(block.contains(&format!("\n> [from message {name}]\n")), "{block}");
}
