//! Selective recall: only what helps is sent, and the recent messages are those of the present sitting.

use crate::support::{Home, lines_of, text};
use rsv::tokens::Counter;
use serde_json::{Value, json};

const NOW: &str = "2026-11-21T12:00:00Z";
/// `NOW` in milliseconds since 1970, UTC.
const NOW_MS: i64 = 1_795_262_400_000;
const MINUTE: i64 = 60_000;

/// A home with messages of users and assistants in turn, so many minutes ago each, oldest first.
fn said(messages: &[(i64, &str)]) -> Home {
    let home = Home::new().at(NOW);
    let line = |(n, (minutes, said)): (usize, &(i64, &str))| {
        let role = ["user", "assistant"][n % 2];
        json!({"id": format!("m{n}"), "role": role, "content": said,
            "trace_id": format!("t{}", n / 2), "timestamp": NOW_MS - minutes * MINUTE})
        .to_string()
    };
    home.ingest(&["-p", "w"], &messages.iter().enumerate().map(line).collect::<Vec<_>>().join("\n"));
    home
}

/// The account of a question in a new conversation.
fn account(home: &Home, question: &str) -> Value {
    let request = json!({"model": "gpt-4o", "messages": [{"role": "user", "content": question}]});
    let line = lines_of(&home.run("rsv-enrich", &["-p", "w"], request.to_string()).ok()).remove(0);
    line["rsv"]["account"].clone()
}

fn ids(account: &Value, list: &str) -> Vec<String> {
    account[list].as_array().unwrap().iter().map(|entry| text(&entry["id"])).collect()
}

/// Two hours ago, and from half an hour to ten minutes ago, with pauses of at most 20 minutes.
const TWO_SITTINGS: [(i64, &str); 6] = [
    (125, "Sow the beans in May."),
    (120, "Noted: beans in May."),
    (50, "The gate needs oil."),
    (40, "Oil for the gate, then."),
    (20, "And a new hinge."),
    (10, "One hinge of brass."),
];

#[test]
fn recent_messages_are_those_of_the_present_sitting() {
    let home = said(&TWO_SITTINGS);
    assert_eq!(ids(&account(&home, "zzz"), "recent"), ["m5", "m4", "m3", "m2"]);
    let shorter = home.clone().env("RSV_ENRICH_RECENT_GAP", "15m");
    assert_eq!(ids(&account(&shorter, "zzz"), "recent"), ["m5", "m4"]);
    let longer = home.clone().env("RSV_ENRICH_RECENT_GAP", "2h");
    assert_eq!(ids(&account(&longer, "zzz"), "recent"), ["m5", "m4", "m3", "m2", "m1", "m0"]);
    let all = home.env("RSV_ENRICH_SELECTIVE", "false");
    assert_eq!(ids(&account(&all, "zzz"), "recent").len(), 6);
}

#[test]
fn where_a_sitting_has_just_begun_the_last_two_messages_are_recalled() {
    let home = said(&TWO_SITTINGS).at("2026-11-28T12:00:00Z");
    assert_eq!(ids(&account(&home, "zzz"), "recent"), ["m5", "m4"]);
    home.write(".config/rsv/config.toml", "recent_context_size = 1\n");
    assert_eq!(ids(&account(&home, "zzz"), "recent"), ["m5"]);
}

#[test]
fn a_one_shot_question_a_minute_later_gets_the_turn_before_it() {
    let home = said(&[
        (9000, "How do I prune the vine?"),
        (8999, "In February, to two buds."),
        (2, "Which are the two oldest bridges of Prague?"),
        (1, "Charles Bridge, then the bridge at Štefánik."),
    ]);
    let account = account(&home, "and the second one?");
    let mut recalled = [ids(&account, "recalled"), ids(&account, "recent")].concat();
    recalled.sort();
    assert_eq!(recalled, ["m2", "m3"]);
}

/// The demo's conversation of 60 turns about three subjects, asked about one of them half a year later.
#[test]
fn a_question_about_one_thing_gets_the_few_messages_that_are_about_it() {
    let home = Home::with_model().at(NOW);
    let demo = include_str!("../../scripts/demo.jsonl");
    let stored = lines_of(&home.run("rsv-ingest", &["-p", "w"], demo).ok());
    home.run("rsv-embed", &["--quiet", "--pending"], "").ok();
    let price = stored.iter().find(|line| text(&line["content"]).contains("140 euros a night")).unwrap();
    let question = "What did the hotel in Lisbon cost, and until when can I cancel it?";
    let selective = account(&home, question);
    assert!(ids(&selective, "recalled").contains(&text(&price["id"])), "{selective}");
    let count = |account: &Value| ids(account, "recalled").len() + ids(account, "recent").len();
    let everything = account(&home.env("RSV_ENRICH_SELECTIVE", "false"), question);
    assert!(count(&everything) == 30 && count(&selective) <= 12, "{selective}");
}

/// Twelve messages have the word, and forty have not.
#[test]
fn messages_below_the_bar_are_named_as_such() {
    let about = |n: usize| format!("A heron{} stands there.", " and another bird of the reeds".repeat(n));
    let other = |n: usize| format!("Small talk number {n} about nothing at all.");
    let texts: Vec<String> = (0..40).map(other).chain((0..12).rev().map(about)).collect();
    let messages: Vec<(i64, &str)> =
        texts.iter().enumerate().map(|(n, said)| (1000 - n as i64, said.as_str())).collect();
    let home = said(&messages).env("RSV_ENRICH_RECALL", "similar");
    home.write(".config/rsv/config.toml", "semantic_context_size = 4\n");
    let account = account(&home, "Tell me about the heron!");
    let recalled = ids(&account, "recalled");
    assert!((1..=4).contains(&recalled.len()), "{account}");
    let left_out = account["left_out"].as_array().unwrap();
    let below = left_out.iter().filter(|left| left["reason"] == "threshold").count();
    assert!(below >= 12 - recalled.len(), "{account}");
}

#[test]
fn the_tokens_of_short_turns_are_told_within_15_percent() {
    let home = Home::new().at(NOW);
    home.ingest(&["-p", "w"], include_str!("../../scripts/demo.jsonl"));
    let exact = Counter::for_model("gpt-4o");
    for question in ["What did the hotel cost?", "ok", "Which tomatoes would you grow in it?", "zzz"] {
        for selective in ["true", "false"] {
            let home = home.env("RSV_ENRICH_SELECTIVE", selective);
            let request = json!({"model": "gpt-4o", "messages": [{"role": "user", "content": question}]});
            let line = lines_of(&home.run("rsv-enrich", &["-p", "w"], request.to_string()).ok()).remove(0);
            let told = line["rsv"]["account"]["counted"].as_u64().unwrap() as f64;
            // Beside the text, a chat has 3 tokens for each message, 1 for its role, and 3 for the answer.
            let counted = exact.text(&text(&line["messages"][0]["content"])) as f64 + 7.0;
            assert!((told / counted - 1.0).abs() < 0.15, "{question}: {told} of {counted}");
        }
    }
}
