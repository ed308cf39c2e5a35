//! The worth of recall: conversations that get none, and the comparison of their turns with the others.

use crate::apis::{MESSAGES, RESPONSES, Shape, home_at};
use crate::fake::{Answer, Fake};
use crate::proxy::Proxy;
use crate::support::{Dice, Home, lines_of, number_from, on_each_store, text};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Requests that begin a conversation each, about something that the store knows.
fn openings(count: usize) -> Vec<Value> {
    let said = |n: usize| json!({"role": "user", "content": format!("{n}: where do the owls hunt?")});
    (0..count).map(|n| json!({"model": "llama3.1", "messages": [said(n)]})).collect()
}

fn enriched(home: &Home, requests: &[Value]) -> Vec<Value> {
    let lines: String = requests.iter().map(|request| format!("{request}\n")).collect();
    lines_of(&home.run("rsv-enrich", &["-p", "w"], lines).ok())
}

fn arm(line: &Value) -> String {
    text(&line["rsv"]["account"]["arm"])
}

on_each_store!(a_share_of_conversations_gets_no_recall_in_any_process_and_accounts_name_the_arm);
/// Keeps: A conversation is with recall or without as a whole, whichever process answers it, and its account says so.
fn a_share_of_conversations_gets_no_recall_in_any_process_and_accounts_name_the_arm(home: Home) {
    home.ingest(&["-p", "w"], "{\"role\":\"user\",\"content\":\"Owls hunt by the old mill\"}\n");
    let plain = enriched(&home, &openings(1)).remove(0);
    assert_eq!(
        (&plain["rsv"]["account"]["arm"], &plain["rsv"]["account"]["conversation"]),
        (&Value::Null, &Value::Null)
    );
    let home = home.env("RSV_ENRICH_HOLDOUT", "30%");
    let requests = openings(40);
    let first = enriched(&home, &requests);
    let held_out = first.iter().filter(|line| arm(line) == "holdout").count();
    assert!((4..=24).contains(&held_out), "{held_out}");
    for (line, request) in first.iter().zip(&requests) {
        let account = &line["rsv"]["account"];
        let is_held_out = arm(line) == "holdout";
        assert_eq!(line["messages"] == request["messages"], is_held_out, "{line}");
        let recalled = [&account["recalled"], &account["recent"]].map(|list| list.as_array().unwrap().len());
        assert_eq!(recalled == [0, 0], is_held_out, "{account}");
    }
    // The second turn of each, in another process.
    let mut later = requests.clone();
    for request in &mut later {
        let messages = request["messages"].as_array_mut().unwrap();
        messages.push(json!({"role": "assistant", "content": "By the mill."}));
        messages.push(json!({"role": "user", "content": "No, the owls of the east wood"}));
    }
    for (first, later) in first.iter().zip(enriched(&home, &later)) {
        assert_eq!(arm(first), arm(&later));
        let (first, later) = (&first["rsv"]["account"], &later["rsv"]["account"]);
        assert_eq!(first["conversation"], later["conversation"]);
        assert_eq!((&first["follow_up"], &later["follow_up"]), (&Value::Null, &json!("correction")));
    }
    // A session of rsv is one conversation, of which the request has the last turn alone.
    let session = |text: &str| {
        let request = json!({"model": "llama3.1", "messages": [{"role": "user", "content": text}]});
        let words = ["-p", "w", "--session", "s1"];
        lines_of(&home.run("rsv-enrich", &words, request.to_string()).ok()).remove(0)["rsv"]["account"]
            .clone()
    };
    let said = |role: &str, said: &str| json!({"role": role, "content": said}).to_string() + "\n";
    home.ingest(&["-p", "w", "-i", "s1"], &(said("user", "Which owls?") + &said("assistant", "Barn owls.")));
    let (one, other) = (session("And where?"), session("I meant the little owls"));
    assert_eq!(one["conversation"], other["conversation"]);
    assert_eq!((&one["follow_up"], &other["follow_up"]), (&Value::Null, &json!("correction")));
    // Nothing is compared where nothing would be recalled anyway.
    let none = home.run("rsv-enrich", &["-p", "w", "--recall", "none"], openings(1)[0].to_string()).ok();
    assert_eq!(lines_of(&none)[0]["rsv"]["account"]["arm"], Value::Null);
    // An explicit search is not affected.
    assert_eq!(lines_of(&home.run("rsv-search", &["-p", "w", "owls mill"], "").ok()).len(), 1);
}

#[test]
fn a_share_without_a_percent_sign_or_above_the_half_is_refused() {
    let home = Home::new();
    for (value, found) in [("0.05", "\"0.05\""), ("51%", "\"51%\""), ("-1%", "\"-1%\"")] {
        let refused = home.run("rsv-config", &["set", "enrich.holdout", "--", value], "").trouble();
        let expected = format!("expected a share from 0% to 50%, such as 5%, found {found}");
        assert!(refused.contains(&expected), "{refused}");
    }
    home.run("rsv-config", &["set", "enrich.holdout", "7.5 %"], "").ok();
    assert_eq!(home.run("rsv-config", &["get", "enrich.holdout"], "").ok(), "7.5%\n");
}

/// A provider that answers in the API of a request, streamed if the request says so.
fn provider() -> Fake {
    Fake::answering(|seen| {
        let shapes: [&Shape; 2] = [&MESSAGES, &RESPONSES];
        let is_streamed = seen.text_lossy().contains("\"stream\":true");
        let kind = |answer: Answer| {
            answer.header("content-type", if is_streamed { "text/event-stream" } else { "application/json" })
        };
        if let Some(shape) = shapes.iter().find(|shape| seen.path == shape.path) {
            return kind(Answer::new(200, if is_streamed { shape.events } else { shape.whole }));
        }
        if seen.path.starts_with("/api/") {
            return Answer::new(404, "{}");
        }
        let usage = json!({"prompt_tokens": 30, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 20}});
        let choice = |part: &str, end: Value| json!([{"index": 0, part: {"role": "assistant", "content": "By the mill."}, "finish_reason": end}]);
        let answer = |choices: Value, usage: Value| json!({"id": "c", "model": "llama3.1", "choices": choices, "usage": usage});
        kind(Answer::new(
            200,
            if is_streamed {
                let chunks = [answer(choice("delta", json!("stop")), Value::Null), answer(json!([]), usage)];
                chunks.map(|chunk| format!("data: {chunk}\n\n")).concat() + "data: [DONE]\n\n"
            } else {
                answer(choice("message", json!("stop")), usage).to_string()
            },
        ))
    })
}

/// Keeps: The account of a turn has the tokens that its provider reports, in each API, streamed or whole.
#[test]
fn accounts_have_the_tokens_that_each_provider_reports() {
    let provider = provider();
    let home = home_at(&provider.url())
        .env("RSV_OLLAMA_BASE_URL", &format!("{}/v1", provider.url()))
        .env("RSV_ENRICH_HOLDOUT", "50%");
    let proxy = Proxy::start(&home);
    let said = json!([{"role": "user", "content": "Where do the owls hunt?"}]);
    for (number, (path, mut body, tokens)) in [
        ("/v1/chat/completions", json!({"model": "llama3.1", "messages": said}), [30, 4, 20]),
        (
            "/v1/messages",
            json!({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": said}),
            [1712, 5, 3],
        ),
        ("/v1/responses", json!({"model": "gpt-5", "input": said}), [1712, 5, 0]),
    ]
    .into_iter()
    .enumerate()
    {
        for is_streamed in [false, true] {
            body["stream"] = json!(is_streamed);
            let instance = format!("i{number}{is_streamed}");
            let (status, answer) =
                proxy.post(&format!("/partition/w/instance/{instance}{path}"), "", &body.to_string());
            assert_eq!(status, 200, "{answer}");
            proxy.settle();
            let export = lines_of(&home.export());
            let own = |kind: &str| -> Vec<&Value> {
                export.iter().filter(|line| line["kind"] == kind && line["instance"] == *instance).collect()
            };
            assert_eq!(own("message").len(), 2, "the turn is stored in either arm");
            let accounts = own("account");
            let member = |name: &str| accounts[0][name].as_u64().unwrap_or_default();
            let found = ["prompt_tokens", "completion_tokens", "cached_tokens"].map(member);
            // A stream of Messages begins without what was in the cache.
            let tokens = if path == "/v1/messages" && is_streamed { [1709, 5, 0] } else { tokens };
            assert_eq!(found, tokens, "{path} {is_streamed}: {}", accounts[0]);
            assert!(["recall", "holdout"].contains(&text(&accounts[0]["arm"]).as_str()), "{}", accounts[0]);
        }
    }
}

/// A simulated conversation, whose accounts are added to lines.
fn simulate(arm: &str, number: usize, dice: &mut Dice, mut lines: Option<&mut String>) -> Sums {
    let is_recalled = arm == "recall";
    let mut sums = Sums::default();
    let mean: f64 = 5.0 * (0.3 * normal(dice)).exp();
    let mut turns = 1;
    while turns < 100 && uniform(dice) > 1.0 / mean.max(1.0) {
        turns += 1;
    }
    let begin = 3000.0 * (0.8 * normal(dice)).exp();
    let growth = 600.0 * (0.5 * normal(dice)).exp();
    // Most conversations need no correction, some many.
    let trouble = uniform(dice).powi(4) * if is_recalled { 0.4 } else { 0.5 };
    let is_warm = uniform(dice) < 0.8;
    let mut before = 0.0_f64;
    for turn in 0..turns {
        let own = (begin + growth * turn as f64).min(128_000.0).floor();
        let prompt = own + if is_recalled { (1600.0 * uniform(dice)).floor() } else { 0.0 };
        let cached = if is_warm && uniform(dice) < 0.9 { before.min(prompt) } else { 0.0 };
        before = own;
        let completion = (400.0 * (0.6 * normal(dice)).exp()).ceil();
        let follows_up = turn > 0 && uniform(dice) < trouble;
        for (sum, value) in
            sums.0.iter_mut().zip([1.0, prompt, completion, cached, f64::from(u8::from(follows_up))])
        {
            *sum += value;
        }
        let Some(lines) = &mut lines else { continue };
        let mut line = json!({"kind": "account", "id": format!("{arm}-{number}-{turn}"), "partition": "w", "instance": "w",
            "trace_id": format!("{arm}-{number}-{turn}"), "timestamp": 1_700_000_000_000_u64 + 1000 * turn as u64,
            "arm": arm, "conversation": number.to_string(), "prompt_tokens": prompt as u64,
            "completion_tokens": completion as u64, "cached_tokens": cached as u64});
        if follows_up {
            line["follow_up"] = json!(["correction", "repetition"][dice.below(2)]);
        }
        lines.push_str(&format!("{line}\n"));
    }
    sums
}

/// The sums of turns, prompt tokens, completion tokens, cached tokens and follow-ups.
#[derive(Default)]
struct Sums([f64; 5]);

impl Sums {
    /// The measures by their names.
    fn measures(&self) -> [(&'static str, f64); 4] {
        let [turns, prompt, completion, cached, follow_ups] = self.0;
        [
            ("prompt_tokens", prompt / turns),
            ("completion_tokens", completion / turns),
            ("cached", cached / prompt),
            ("follow_ups", follow_ups / turns),
        ]
    }

    /// Those of so many conversations that they hardly differ from those of all.
    fn of_all(arm: &str, dice: &mut Dice) -> Sums {
        let mut all = Sums::default();
        for _ in 0..100_000 {
            let one = simulate(arm, 0, dice, None);
            for (sum, value) in all.0.iter_mut().zip(one.0) {
                *sum += value;
            }
        }
        all
    }
}

/// A number between 0 and 1.
fn uniform(dice: &mut Dice) -> f64 {
    (dice.below(1 << 30) as f64 + 0.5) / f64::from(1 << 30)
}

/// A number of the standard normal distribution, by Box and Muller.
fn normal(dice: &mut Dice) -> f64 {
    (-2.0 * uniform(dice).ln()).sqrt() * (std::f64::consts::TAU * uniform(dice)).cos()
}

/// How many of 200 stores a 95 % interval may miss.
const MISSED_OF_200: u64 = 16;

/// Keeps: The intervals of the comparison cover the truth in at least 184 of 200 simulated stores.
#[test]
#[allow(clippy::print_stdout)] // Shown where the test fails.
fn intervals_cover_the_truth_in_simulated_stores() {
    let (seed, stores) =
        (number_from("RSV_TEST_SEED").unwrap_or(61), number_from("RSV_TEST_STORES").unwrap_or(8));
    println!("RSV_TEST_SEED={seed}");
    let mut dice = Dice(seed);
    let truth = ["recall", "holdout"].map(|arm| Sums::of_all(arm, &mut dice).measures());
    let mut missed: BTreeMap<(String, String), u64> = BTreeMap::new();
    for store in 0..stores {
        let conversations = 150 + dice.below(250);
        // From 5 to 10 in a hundred.
        let held_out = conversations * (5 + dice.below(6)) / 100;
        let mut lines = String::new();
        for number in 0..conversations {
            let arm = if number < held_out { "holdout" } else { "recall" };
            simulate(arm, number, &mut dice, Some(&mut lines));
        }
        let home = Home::new();
        home.run("rsv-import", &["-q"], &lines).ok();
        let measured = lines_of(&home.run("rsv-config", &["status", "--worth"], "").ok());
        for (recall, holdout) in truth[0].iter().zip(truth[1]) {
            let line = measured.iter().find(|line| line["measure"] == recall.0).unwrap();
            for (name, truth) in
                [("recall", recall.1), ("holdout", holdout.1), ("difference", recall.1 - holdout.1)]
            {
                let end = |at: usize| line[name]["interval"][at].as_f64().unwrap_or_else(|| panic!("{line}"));
                let misses = missed.entry((recall.0.to_owned(), name.to_owned())).or_default();
                if !(end(0)..=end(1)).contains(&truth) {
                    println!("store {store}: {} {name}: {truth} in {line}", recall.0);
                    *misses += 1;
                }
            }
        }
    }
    println!("missed in {stores} stores: {missed:?}");
    // Of few stores one or two more may be missed by chance.
    let most = MISSED_OF_200 * stores / 200 + if stores < 200 { 2 } else { 0 };
    assert_eq!(missed.len(), 12);
    assert!(missed.values().all(|count| *count <= most), "more than {most}: {missed:?}");
}

on_each_store!(a_status_compares_both_arms_and_says_when_there_are_too_few_conversations);
/// Keeps: The summary compares turns with recall and without, each with its interval, once there are enough of both.
fn a_status_compares_both_arms_and_says_when_there_are_too_few_conversations(home: Home) {
    let home = home.env("RSV_ENRICH_HOLDOUT", "10%");
    let status = || home.run("rsv-config", &["status"], "").ok();
    assert!(status().contains("no turns to compare yet"), "{}", status());
    let mut dice = Dice(5);
    let mut few = String::new();
    for (arm, conversations) in [("recall", 0..30), ("holdout", 30..33)] {
        for number in conversations {
            simulate(arm, number, &mut dice, Some(&mut few));
        }
    }
    home.run("rsv-import", &["-q"], &few).ok();
    let table = status();
    assert!(table.contains("no interval: it takes 5 conversations on each side"), "{table}");
    assert!(
        !home.without("RSV_ENRICH_HOLDOUT").run("rsv-config", &["status"], "").ok().contains("conversations")
    );
    let mut more = String::new();
    for number in 33..40 {
        simulate("holdout", number, &mut dice, Some(&mut more));
    }
    home.run("rsv-import", &["-q"], &more).ok();
    let table = status();
    let row = |title: &str| -> Vec<String> {
        let line = table.lines().find(|line| line.starts_with(title)).unwrap_or_else(|| panic!("{table}"));
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
    };
    assert_eq!(row("conversations")[1..3], ["30", "10"]);
    for title in ["tokens in a turn", "tokens out a turn", "cached tokens in", "corrects or repeats"] {
        let cells = row(title);
        assert_eq!(cells.len(), 4, "{cells:?}");
        assert!(cells[1..].iter().all(|cell| cell.contains(" to ")), "{cells:?}");
    }
    let measured = lines_of(&home.run("rsv-config", &["status", "--worth"], "").ok());
    let turns = &measured.iter().find(|line| line["measure"] == "turns").unwrap()["recall"]["value"];
    assert_eq!(turns.as_u64().unwrap() as usize, few.matches("\"arm\":\"recall\"").count());
    let other = lines_of(&home.run("rsv-config", &["status", "--worth", "-p", "other"], "").ok());
    assert!(other.iter().all(|line| line["measure"] != "turns"), "{other:?}");
}

/// Turns of a partition about things of its own.
fn turns_about(partition: &str, things: &[&str]) -> String {
    let mut lines = String::new();
    for (number, thing) in things.iter().cycle().take(24).enumerate() {
        let at = 1_700_000_000_000_u64 + 60_000 * number as u64;
        let said = |role: &str, said: String, at: u64| {
            json!({"role": role, "content": said, "partition": partition, "trace_id": format!("{partition}{number}"),
                "timestamp": at})
        };
        let place = ["harbour", "meadow", "quarry", "orchard", "lighthouse", "viaduct"][number % 6];
        let month = ["January", "March", "June", "August", "October", "December"][number / 4];
        let question = said("user", format!("Which {thing} was restored near the {place} in {month}?"), at);
        let answer = said(
            "assistant",
            format!("The {thing} near the {place} was restored in {month} by volunteers of the parish"),
            at + 1000,
        );
        lines += &format!("{question}\n{answer}\n");
    }
    lines
}

on_each_store!(a_store_is_asked_its_own_questions_and_nothing_comes_from_another_partition);
/// Keeps: A store finds the turns of its own questions, recalls none of another partition, and is not changed by that.
fn a_store_is_asked_its_own_questions_and_nothing_comes_from_another_partition(home: Home) {
    let organs = ["organ", "windmill", "fountain", "belfry"];
    let lines = turns_about("churches", &organs)
        + &turns_about("railways", &["locomotive", "turntable", "semaphore", "tunnel"]);
    home.run("rsv-import", &["-q"], &lines).ok();
    let before = home.export();
    let ask = |words: &[&str]| {
        let ran = home.run("rsv-config", &[&["status", "--worth"], words].concat(), "").ok();
        let lines = lines_of(&ran);
        let find = |name: &str| lines.iter().find(|line| line["measure"] == name).unwrap().clone();
        let count = |line: &Value, name: &str| line[name].as_u64().unwrap_or_else(|| panic!("{line}"));
        let own = find("own_questions");
        let own =
            ["asked", "found_in_1", "found_in_5", "found_in_10", "recalled"].map(|name| count(&own, name));
        let foreign = find("foreign_questions");
        (own, ["asked", "answered", "records", "from_elsewhere"].map(|name| count(&foreign, name)), ran)
    };
    let ([asked, first, fifth, tenth, recalled], [foreign, answered, records, stray], ran) = ask(&[]);
    // A slow machine has no time for all.
    assert!(asked >= 5 && foreign == asked, "{ran}");
    assert!(first <= fifth && fifth <= tenth && tenth <= asked, "{ran}");
    assert!(fifth * 3 >= asked * 2 && recalled * 2 >= asked, "{ran}");
    assert!(answered <= records && stray == 0, "{ran}");
    // The same again, and of a partition only its own questions.
    let again = ask(&[]);
    assert!(again.2 == ran || again.0[0] < 48 || asked < 48, "{ran}{}", again.2);
    let made = lines_of(&ask(&["-p", "railways"]).2).iter().find_map(|line| line["made"].as_u64());
    assert_eq!(made, Some(24));
    assert_eq!(home.export(), before);
    home.check();
}
