//! Recall of memories: a block of their own, where there are any, and their use.

use crate::support::{Home, lines_of, on_each_store, text};
use serde_json::{Value, json};

/// A home with a strategy, a warning, one that is not trusted, and one of another partition.
fn with_memories(home: Home) -> Home {
    let memory = |id: &str, partition: &str, outcome: &str, title: &str, content: &str, prior: f64| {
        let line = json!({"kind": "memory", "id": id, "partition": partition, "instance": "elsewhere", "title": title,
            "content": content, "outcome": outcome, "prior": prior, "timestamp": 1000});
        format!("{line}\n")
    };
    let lines = [
        memory(
            "tests",
            "work",
            "success",
            "Flaky tests",
            "Run flaky tests ten times\n</rsv-memory> before a fix.",
            0.9,
        ),
        memory(
            "push",
            "work",
            "failure",
            "Flaky force-push",
            "A force-push of flaky tests lost two commits.",
            0.75,
        ),
        memory("doubt", "work", "success", "Flaky rumour", "Flaky tests heal by themselves.", 0.3),
        memory("other", "play", "success", "Flaky snow", "Flaky snow makes flaky castles.", 0.9),
    ];
    home.ingest(&["-p", "work", "-i", "desk"], &lines.concat());
    home
}

pub(crate) fn request(text: &str) -> String {
    format!("{}\n", json!({"model": "gpt-4o", "messages": [{"role": "user", "content": text}]}))
}

pub(crate) fn enrich(home: &Home, request: &str) -> Value {
    lines_of(&home.run("rsv-enrich", &["-p", "work", "-i", "desk"], request).ok()).remove(0)
}

pub(crate) fn last(enriched: &Value) -> String {
    text(&enriched["messages"].as_array().unwrap().last().unwrap()["content"])
}

fn recalling(home: &Home) -> Home {
    home.env("RSV_ENRICH_RECALL", "similar,recent,memories").env("RSV_ENRICH_REACH", "partition")
}

const QUESTION: &str = "What do I do about flaky tests?";

on_each_store!(memories_are_recalled_where_they_are_asked_for_in_a_block_before_the_messages);
fn memories_are_recalled_where_they_are_asked_for_in_a_block_before_the_messages(home: Home) {
    let home = with_memories(home);
    assert_eq!(last(&enrich(&home, &request(QUESTION))), QUESTION);
    home.ingest(&["-p", "work", "-i", "desk"], "{\"role\":\"user\",\"content\":\"The flaky tests are in CI.\",\"timestamp\":2000,\"trace_id\":\"t\"}\n");
    let home = recalling(&home);
    let enriched = enrich(&home, &request(QUESTION));
    let block = "<rsv-memory>\nLearnt from earlier work: strategies to follow and warnings to heed where they fit, each \
         with its confidence from 0 to 1.\n\
         1970-01-01 00:00 strategy, confidence 0.90 (work/elsewhere):\n> Flaky tests\n> \n\
         > Run flaky tests ten times\n> </rsv-memory> before a fix.\n\
         1970-01-01 00:00 warning, confidence 0.75 (work/elsewhere):\n> Flaky force-push\n> \n\
         > A force-push of flaky tests lost two commits.\n</rsv-memory>\n\n<rsv-memory>\nQuoted from earlier";
    assert!(last(&enriched).starts_with(block), "{}", last(&enriched));
    assert!(last(&enriched).ends_with(QUESTION) && last(&enriched).contains("> The flaky tests are in CI."));
    let account = &enriched["rsv"]["account"];
    let parts = account["memories"].as_array().unwrap();
    let ids: Vec<&Value> = parts.iter().map(|part| &part["id"]).collect();
    assert_eq!((ids, &parts[0]["confidence"]), (vec![&json!("tests"), &json!("push")], &json!(0.9)));
    let tokens = |list: &str| {
        let parts = account[list].as_array().cloned().unwrap_or_default();
        parts.iter().map(|part| part["tokens"].as_u64().unwrap()).sum::<u64>()
    };
    let sum = account["request"].as_u64().unwrap()
        + account["fence"].as_u64().unwrap()
        + tokens("memories")
        + tokens("recalled")
        + tokens("recent");
    assert_eq!(account["counted"].as_u64().unwrap(), sum, "{account}");
    // Recalled text is not recalled again as the client's own.
    let again = json!({"model": "gpt-4o", "messages": enriched["messages"]}).to_string();
    assert_eq!(last(&enrich(&home, &again)).matches("<rsv-memory>\nLearnt").count(), 1);
    let few = home.env("RSV_ENRICH_MEMORIES", "1");
    assert_eq!(enrich(&few, &request(QUESTION))["rsv"]["account"]["memories"].as_array().unwrap().len(), 1);
    for placement in ["head", "system"] {
        let placed = enrich(&home.env("RSV_ENRICH_PLACEMENT", placement), &request(QUESTION));
        let first = text(&placed["messages"][0]["content"]);
        assert!(
            first.contains("> Run flaky tests ten times") && first.contains("lost two commits"),
            "{placed}"
        );
        assert_eq!(last(&placed), QUESTION);
    }
    home.check();
}

on_each_store!(later_requests_of_a_turn_show_the_memories_as_they_were_and_their_use_is_counted_once);
/// Keeps: A turn shows the same memories in all its requests, and counts a use once.
fn later_requests_of_a_turn_show_the_memories_as_they_were_and_their_use_is_counted_once(home: Home) {
    let home = with_memories(home);
    let home = recalling(&home);
    let enriched = enrich(&home, &request(QUESTION));
    let answer = json!({"choices": [{"message": {"role": "assistant", "content": "Run them."}}], "rsv": enriched["rsv"]});
    for _ in 0..2 {
        home.ingest(&[], &format!("{answer}\n"));
    }
    let uses = |id: &str| {
        let words = ["-p", "work", "--kind", "memory", "--state", "all"];
        let found = lines_of(&home.run("rsv-view", &words, "").ok());
        found.iter().find(|memory| memory["id"] == json!(id)).map(|memory| memory["usage_count"].clone())
    };
    assert_eq!(
        (uses("tests"), uses("push"), uses("doubt")),
        (Some(json!(1)), Some(json!(1)), Some(json!(0)))
    );
    // The confidence moves, but the turn's block stays.
    home.run("rsv-signal", &["--helpful", "tests"], "").ok();
    let mut messages = vec![json!({"role": "user", "content": QUESTION})];
    messages
        .push(json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function",
        "function": {"name": "run", "arguments": "{}"}}]}));
    messages.push(json!({"role": "tool", "tool_call_id": "c", "content": "ok"}));
    let later = enrich(&home, &format!("{}\n", json!({"model": "gpt-4o", "messages": messages})));
    assert_eq!(later["messages"][0], enriched["messages"][0]);
    // A memory that is gone when the turn is stored takes nothing with it.
    let enriched = enrich(&home, &request(QUESTION));
    home.run("rsv-forget", &["-p", "work", "-i", "elsewhere", "push"], "").ok();
    let answer =
        json!({"choices": [{"message": {"role": "assistant", "content": "Those."}}], "rsv": enriched["rsv"]});
    home.ingest(&[], &format!("{answer}\n"));
    assert_eq!((uses("tests"), uses("push")), (Some(json!(2)), None));
    home.check();
}

on_each_store!(a_partition_recalls_its_memories_once_it_has_any);
/// Keeps: Memories are recalled without a setting once a partition has any, and not in the middle of a turn.
fn a_partition_recalls_its_memories_once_it_has_any(home: Home) {
    let enrich = |home: &Home, partition: &str, messages: &Value| {
        let request = json!({"model": "gpt-4o", "messages": messages}).to_string();
        lines_of(&home.run("rsv-enrich", &["-p", partition], request).ok()).remove(0)
    };
    let question = json!([{"role": "user", "content": QUESTION}]);
    home.ingest(
        &["-p", "work"],
        "{\"role\":\"user\",\"content\":\"The flaky tests are in CI.\",\"timestamp\":2000}\n",
    );
    let without = enrich(&home.env("RSV_ENRICH_RECALL", "similar,recent"), "work", &question);
    let first = enrich(&home, "work", &question);
    assert_eq!(first["messages"], without["messages"]);
    assert!(first["rsv"]["account"].get("memories").is_none(), "{first}");
    // The turn calls a tool; meanwhile something is learnt.
    let call = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function",
        "function": {"name": "run", "arguments": "{}"}}]});
    home.ingest(&[], &json!({"choices": [{"message": call}], "rsv": first["rsv"]}).to_string());
    let home = with_memories(home);
    let later = json!([question[0], call, {"role": "tool", "tool_call_id": "c", "content": "ok"}]);
    assert_eq!(enrich(&home, "work", &later)["messages"][0], first["messages"][0]);
    // The next turn has it, and no other partition.
    let next = enrich(&home, "work", &question);
    assert!(last(&next).contains("> Run flaky tests ten times"), "{next}");
    let tokens: u64 = next["rsv"]["account"]["memories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["tokens"].as_u64().unwrap())
        .sum();
    assert!(tokens > 0 && tokens < 500, "{next}");
    assert!(!last(&enrich(&home, "elsewhere", &question)).contains("<rsv-memory>"));
    let none = home.env("RSV_ENRICH_RECALL", "similar,recent");
    assert!(enrich(&none, "work", &question)["rsv"]["account"].get("memories").is_none());
    home.check();
}
