//! Messages that are always or never recalled, as rsv-signal says.

use crate::fake::{Answer, Fake};
use crate::mcp::Client;
use crate::proxy::Proxy;
use crate::support::{Home, lines_of, on_each_store, text};
use serde_json::{Value, json};

const WALL: &str = "The tomatoes stand by the warm wall, in the sun.";
const WATER: &str = "Tomatoes that stand in pots want water each evening.";
const CODE: &str = "The code of the gate is 4711.";
const QUESTION: &str = "Where do the tomatoes stand?";
const UNRELATED: &str = "Which river flows through Lima?";

/// A line of a conversation of years ago.
fn line(id: &str, partition: &str, instance: &str, content: &str) -> String {
    let at = 1_600_000_000_000_i64 + i64::from(id.as_bytes()[1]) * 1000;
    let line = json!({"kind": "message", "id": id, "trace_id": id, "partition": partition, "instance": instance,
        "role": "user", "content": content, "timestamp": at});
    format!("{line}\n")
}

/// A garden with three conversations, and a kitchen.
fn furnished(home: Home) -> Home {
    let lines = [
        line("m1", "garden", "wall", WALL),
        line("m2", "garden", "water", WATER),
        line("m3", "garden", "gate", CODE),
        line("m4", "kitchen", "kitchen", "Tomatoes stand in the soup."),
    ];
    home.run("rsv-import", &["-q"], lines.concat()).ok();
    home
}

/// Says of messages whether they are recalled.
fn signal(home: &Home, words: &[&str]) -> Vec<Value> {
    lines_of(&home.run("rsv-signal", words, "").ok())
}

/// The line that rsv-enrich makes of a question.
fn enriched(home: &Home, words: &[&str], question: &str) -> Value {
    let request = json!({"model": "llama3.1", "messages": [{"role": "user", "content": question}]});
    lines_of(&home.run("rsv-enrich", words, request.to_string()).ok()).remove(0)
}

fn account(line: &Value) -> &Value {
    &line["rsv"]["account"]
}

/// The ids in a list of an account.
fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|part| part["id"].as_str().unwrap()).collect()
}

/// The ids of the messages that a question recalls, as related or recent.
fn recalled(home: &Home, words: &[&str], question: &str) -> Vec<String> {
    let line = enriched(home, words, question);
    let account = account(&line);
    let mut all: Vec<String> = [ids(&account["recalled"]), ids(&account["recent"])]
        .concat()
        .into_iter()
        .map(str::to_owned)
        .collect();
    all.sort();
    all
}

fn prompt(line: &Value) -> String {
    text(&line["messages"].as_array().unwrap().last().unwrap()["content"])
}

/// The rules of a store, oldest first.
fn rules(home: &Home) -> Vec<(String, String)> {
    let lines = lines_of(&home.run("rsv-view", &["--all", "--kind", "recall", "100"], "").ok());
    lines.iter().map(|line| (text(&line["of"]), text(&line["recall"]))).collect()
}

on_each_store!(a_message_that_is_never_recalled_is_still_found);
/// Keeps: A message that is never recalled stays in the store, and no request gets it.
fn a_message_that_is_never_recalled_is_still_found(home: Home) {
    let home = furnished(home);
    assert_eq!(recalled(&home, &["-p", "garden"], QUESTION), ["m1", "m2"]);
    assert_eq!(signal(&home, &["--never", "m1"])[0]["content"], WALL);
    let line = enriched(&home, &["-p", "garden"], QUESTION);
    assert!(!prompt(&line).contains(WALL) && prompt(&line).contains(WATER), "{line}");
    let left_out = account(&line)["left_out"].as_array().unwrap();
    assert!(left_out.contains(&json!({"id": "m1", "reason": "never"})), "{line}");
    // Neither as the last message of its conversation, nor as a turn of a session.
    assert_eq!(recalled(&home, &["-p", "garden", "-i", "wall"], UNRELATED), [""; 0]);
    let line = enriched(&home, &["-p", "garden", "--session", "wall"], QUESTION);
    assert!(!line.to_string().contains(WALL), "{line}");
    // A search finds it, and says so.
    let hits = lines_of(&home.run("rsv-search", &["-p", "garden", "tomatoes"], "").ok());
    let marks: Vec<_> = hits.iter().map(|hit| (text(&hit["id"]), hit.get("recall").cloned())).collect();
    assert!(marks.contains(&("m1".into(), Some(json!("never")))), "{marks:?}");
    assert!(marks.contains(&("m2".into(), None)), "{marks:?}");
    for words in [&["--by", "any"][..], &["--link"], &["-C", "1"], &["--all"]] {
        let words = [words, &["wall"]].concat();
        let words = if words.contains(&"--all") { words } else { [&["-p", "garden"], &words[..]].concat() };
        let hits = lines_of(&home.run("rsv-search", &words, "").ok());
        let hit = hits.iter().find(|hit| hit["id"] == "m1" && hit["kind"] == "hit").unwrap();
        assert_eq!(hit["recall"], "never", "{words:?}");
    }
    let shown = home.run("rsv-search", &["-p", "garden", "--format", "text", "tomatoes"], "").ok();
    assert_eq!(shown.lines().filter(|line| line.contains(" never ")).count(), 1, "{shown}");
    assert_eq!(home.contents("rsv-view", &["-p", "garden"]), [WALL, WATER, CODE]);
    // A block is for a model.
    for (tool, words) in [("rsv-search", &["tomatoes"][..]), ("rsv-view", &[])] {
        let block = home.run(tool, &[&["-p", "garden", "--format", "block"], words].concat(), "").ok();
        assert!(!block.contains(WALL) && block.contains(WATER), "{block}");
    }
    // The client's own text stays.
    let line = enriched(&home, &["-p", "garden"], WALL);
    assert!(prompt(&line).ends_with(WALL), "{line}");
    signal(&home, &["--auto", "m1"]);
    assert_eq!(recalled(&home, &["-p", "garden"], QUESTION), ["m1", "m2"]);
    let hits = lines_of(&home.run("rsv-search", &["-p", "garden", "wall"], "").ok());
    assert_eq!(hits[0].get("recall"), None);
    home.check();
}

on_each_store!(an_answer_that_is_never_recalled_does_not_come_along_links);
fn an_answer_that_is_never_recalled_does_not_come_along_links(home: Home) {
    let line = |id: &str, role: &str, content: &str, at: u64| {
        json!({"id": id, "role": role, "content": content, "trace_id": "t", "timestamp": at}).to_string()
            + "\n"
    };
    let lines = [
        line("q", "user", "Which day does the mushroom fair open?", 1_600_000_000_000),
        line("a", "assistant", "Saturday, at nine.", 1_600_000_001_000),
    ];
    home.ingest(&["-p", "p", "-i", "old"], &lines.concat());
    let question = "What about the mushroom fair?";
    assert_eq!(recalled(&home, &["-p", "p"], question), ["a", "q"]);
    signal(&home, &["--never", "a"]);
    assert_eq!(recalled(&home, &["-p", "p"], question), ["q"]);
    signal(&home, &["--never", "q"]);
    signal(&home, &["--auto", "a"]);
    let line = enriched(&home, &["-p", "p"], question);
    assert!(!prompt(&line).contains("Which day"), "{line}");
}

on_each_store!(a_pinned_message_is_recalled_for_every_request_that_reaches_it);
/// Keeps: A message that is always recalled is, for the requests that reach it and no others.
fn a_pinned_message_is_recalled_for_every_request_that_reaches_it(home: Home) {
    let home = furnished(home);
    signal(&home, &["--always", "m3"]);
    let line = enriched(&home, &["-p", "garden"], UNRELATED);
    let part = &account(&line)["recalled"][0];
    assert_eq!((&part["id"], &part["pinned"], part.get("score")), (&json!("m3"), &json!(true), None));
    assert!(prompt(&line).contains(CODE), "{line}");
    // Before the related ones.
    let line = enriched(&home, &["-p", "garden"], QUESTION);
    assert_eq!(ids(&account(&line)["recalled"])[0], "m3", "{line}");
    assert_eq!(recalled(&home, &["-p", "garden"], QUESTION), ["m1", "m2", "m3"]);
    // One that is related too, or recent too, is recalled once.
    let line = enriched(&home, &["-p", "garden", "-i", "gate"], "What is the code of the gate?");
    assert_eq!(ids(&account(&line)["recalled"]).iter().filter(|id| **id == "m3").count(), 1, "{line}");
    assert!(!ids(&account(&line)["recent"]).contains(&"m3"), "{line}");
    // The instance that is named, and the partition, limit it.
    assert!(!recalled(&home, &["-p", "garden", "-i", "wall"], UNRELATED).contains(&"m3".into()));
    assert_eq!(recalled(&home, &["-p", "kitchen", "-i", "pan"], UNRELATED), [""; 0]);
    assert!(!recalled(&home, &["-p", "kitchen"], QUESTION).contains(&"m3".into()));
    // Not if the request has it, and not if nothing is recalled.
    let line = enriched(&home, &["-p", "garden"], &format!("Again: {CODE}"));
    assert!(
        account(&line)["left_out"].as_array().unwrap().contains(&json!({"id": "m3", "reason": "in_request"}))
    );
    assert_eq!(recalled(&home, &["-p", "garden", "--recall", "none"], UNRELATED), [""; 0]);
    // A request without words gets it.
    let request = json!({"model": "llama3.1", "messages": [{"role": "user", "content": ""}]}).to_string();
    let line = home.run("rsv-enrich", &["-p", "garden", "-i", "gate"], request).ok();
    assert!(line.contains(CODE), "{line}");
    // For people, the account says why.
    let line = enriched(&home, &["-p", "garden"], QUESTION);
    home.ingest(&[], &account(&line).to_string());
    let told = home.run("rsv-view", &["-p", "garden", "--accounts", "--format", "text"], "").ok();
    assert!(told.contains("1 pinned message and 2 related") && told.contains("    pinned: "), "{told}");
    signal(&home, &["--auto", "m3"]);
    assert_eq!(recalled(&home, &["-p", "garden"], UNRELATED), [""; 0]);
    home.check();
}

on_each_store!(many_pins_leave_room_for_what_is_related);
fn many_pins_leave_room_for_what_is_related(home: Home) {
    let home = furnished(home).env("RSV_ENRICH_SHARE", "0.05");
    let long = |n: usize| format!("Rule {n}: {}", "be kind to snails and slow to anger. ".repeat(60));
    let lines: String = (0..9).map(|n| line(&format!("p{n}"), "garden", "rules", &long(n))).collect();
    home.run("rsv-import", &["-q"], lines).ok();
    for n in 0..9 {
        signal(&home, &["--always", &format!("p{n}")]);
    }
    let line = enriched(&home, &["-p", "garden"], QUESTION);
    let account = account(&line);
    let parts = account["recalled"].as_array().unwrap();
    let pinned: Vec<&Value> = parts.iter().filter(|part| part["pinned"] == true).collect();
    let tokens: u64 = pinned.iter().map(|part| part["tokens"].as_u64().unwrap()).sum();
    let limit = account["window"].as_u64().unwrap() / 40;
    assert!(tokens > limit / 2 && tokens <= limit, "{tokens} of {limit}: {line}");
    // The last ones, each in part; and all that is related.
    assert_eq!(pinned[0]["id"], "p8");
    assert!(pinned.iter().all(|part| part["quoted"].is_array()), "{line}");
    assert!(ids(&account["recalled"]).contains(&"m1") && ids(&account["recalled"]).contains(&"m2"), "{line}");
    assert!(
        account["left_out"].as_array().unwrap().contains(&json!({"id": "p0", "reason": "budget"})),
        "{line}"
    );
}

on_each_store!(within_a_turn_a_new_rule_changes_nothing);
fn within_a_turn_a_new_rule_changes_nothing(home: Home) {
    let home = furnished(home);
    signal(&home, &["--always", "m3"]);
    let request = |messages: Value| json!({"model": "llama3.1", "messages": messages}).to_string();
    let question = json!({"role": "user", "content": QUESTION});
    let enrich = |messages: Value| {
        lines_of(&home.run("rsv-enrich", &["-p", "garden"], request(messages)).ok()).remove(0)
    };
    for placement in ["tail", "head"] {
        let home = home.env("RSV_ENRICH_PLACEMENT", placement);
        signal(&home, &["--auto", "m1"]);
        signal(&home, &["--always", "m3"]);
        let first = enrich(json!([question]));
        home.ingest(&[], &account(&first).to_string());
        signal(&home, &["--never", "m1"]);
        signal(&home, &["--never", "m3"]);
        let call = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function",
            "function": {"name": "look", "arguments": "{}"}}]});
        let result = json!({"role": "tool", "tool_call_id": "c", "content": "Nothing there."});
        let second = enrich(json!([question, call, result]));
        assert_eq!(second["messages"][0], first["messages"][0], "{second}");
        assert_eq!(account(&second)["recalled"], account(&first)["recalled"]);
        // The next turn heeds them.
        let next = enrich(json!([question, {"role": "assistant", "content": "By a wall."}, question]));
        assert!(!next.to_string().contains(CODE) && !next.to_string().contains(WALL), "{next}");
    }
}

on_each_store!(the_proxy_heeds_the_rules);
fn the_proxy_heeds_the_rules(home: Home) {
    let answer = json!({"choices": [{"message": {"role": "assistant", "content": "Yes."}}]}).to_string();
    let provider = Fake::answering(move |_| Answer::new(200, answer.clone()));
    let home = furnished(home).env("RSV_OLLAMA_BASE_URL", &provider.url()).env("RSV_ENRICH_TIMEOUT", "60s");
    let proxy = Proxy::start(&home);
    let ask = |partition: &str, question: &str| {
        let body = json!({"model": "llama3.1", "messages": [{"role": "user", "content": question}]});
        let path = format!("/v1/partition/{partition}/chat/completions");
        assert_eq!(proxy.post(&path, "", &body.to_string()).0, 200);
        provider.seen().last().unwrap().text().to_owned()
    };
    assert!(ask("garden", QUESTION).contains(WALL));
    // A rule holds for the next request of a proxy that runs.
    signal(&home, &["--never", "m1"]);
    signal(&home, &["--always", "m3"]);
    let sent = ask("garden", "Do the tomatoes stand in the sun?");
    assert!(!sent.contains(WALL) && sent.contains(CODE), "{sent}");
    assert!(!ask("kitchen", QUESTION).contains(CODE));
    signal(&home, &["--auto", "m3"]);
    assert!(!ask("garden", UNRELATED).contains(CODE));
}

on_each_store!(ids_are_short_or_whole_and_an_unknown_one_is_named);
fn ids_are_short_or_whole_and_an_unknown_one_is_named(home: Home) {
    let home = furnished(home);
    let memory = json!({"kind": "memory", "id": "k1", "partition": "garden", "title": "T", "content": "C",
        "outcome": "success"});
    home.ingest(&[], &memory.to_string());
    let ran = home.run("rsv-signal", &["--never", "nobody", "m1", "k1"], "");
    assert_eq!((ran.status, lines_of(&ran.stdout).len()), (2, 1), "{ran}");
    for id in ["nobody", "k1"] {
        assert!(ran.stderr.contains(&format!("rsv-signal: error: of: message not found: {id}\n")), "{ran}");
    }
    assert_eq!(rules(&home), [("m1".into(), "never".into())]);
    // By the short id that people see, and with the new rule in front.
    let shown = home.run("rsv-view", &["-p", "garden", "-i", "wall", "--format", "text"], "").ok();
    let short = shown.split(' ').next().unwrap();
    let told = home.run("rsv-signal", &["--always", short, "--format", "text"], "").ok();
    assert!(told.starts_with(&format!("always {short} ")), "{told}");
    assert_eq!(rules(&home).last(), Some(&("m1".into(), "always".into())));
    // A rule that holds already is not stored again.
    signal(&home, &["--always", "m1", "m1"]);
    signal(&home, &["--auto", "m2"]);
    assert_eq!(rules(&home).len(), 2);
    // Another scope than that of the message does not have it.
    assert_eq!(home.run("rsv-signal", &["-p", "kitchen", "--never", "m1"], "").status, 2);
    // Lines of messages, hits and rules pass unchanged; others too, without a rule.
    let hits = home.run("rsv-search", &["-p", "garden", "tomatoes"], "").ok();
    let about = home.run("rsv-view", &["--of", "m1", "--limit", "1"], "").ok();
    let lines = format!("{}{hits}{memory}\n", line("m3", "garden", "gate", CODE));
    assert_eq!(home.run("rsv-signal", &["--never"], &lines).ok(), lines);
    let mut last: Vec<_> = rules(&home).split_off(2);
    last.sort();
    let never = |id: &str| (id.to_owned(), "never".to_owned());
    assert_eq!(last, [never("m1"), never("m2"), never("m3")]);
    assert_eq!(home.run("rsv-signal", &["--auto"], &about).ok(), about);
    assert_eq!(rules(&home).last(), Some(&("m1".into(), "auto".into())));
    assert_eq!(lines_of(&home.run("rsv-view", &["--of", "m1"], "").ok()).len(), 4);
    home.check();
}

on_each_store!(rules_travel_and_the_newest_holds_everywhere);
fn rules_travel_and_the_newest_holds_everywhere(home: Home) {
    let one = furnished(home.at("2026-11-21T07:03:00Z"));
    // All at one time: each follows the one before.
    for rule in ["--never", "--auto", "--always", "--never"] {
        signal(&one, &[rule, "m1"]);
    }
    signal(&one, &["--always", "m3"]);
    let exported = one.export();
    // Rules come after the messages, and with them.
    let kinds: Vec<String> = lines_of(&exported).iter().map(|line| text(&line["kind"])).collect();
    assert_eq!(kinds.iter().position(|kind| kind == "recall"), Some(4), "{exported}");
    assert_eq!(one.run("rsv-export", &["--kind", "message", "--vectors"], "").ok(), exported);
    let other = Home::new().at("2026-11-22T07:03:00Z");
    other.run("rsv-import", &["-q"], &exported).ok();
    assert_eq!(other.export(), exported);
    assert_eq!(recalled(&other, &["-p", "garden"], QUESTION), ["m2", "m3"]);
    // Later rules of the other come back, whatever the order of the two.
    signal(&other, &["--auto", "m1"]);
    signal(&one, &["--auto", "m3"]);
    let theirs = other.export();
    other.run("rsv-import", &["-q"], one.export()).ok();
    one.run("rsv-import", &["-q"], theirs).ok();
    assert_eq!(one.export(), other.export());
    for home in [&one, &other] {
        assert_eq!(recalled(home, &["-p", "garden"], QUESTION), ["m1", "m2"]);
    }
    // Of two at one time the greater id holds.
    let rule = |id: &str, rule: &str| {
        let line = json!({"kind": "recall", "id": id, "partition": "garden", "instance": "wall", "of": "m1",
            "recall": rule, "timestamp": 1_900_000_000_000_u64});
        format!("{line}\n")
    };
    one.run("rsv-import", &["-q"], rule("y", "never") + &rule("x", "always")).ok();
    assert_eq!(recalled(&one, &["-p", "garden"], QUESTION), ["m2"]);
    one.check();
}

on_each_store!(a_rule_is_forgotten_with_its_message);
fn a_rule_is_forgotten_with_its_message(home: Home) {
    let home = furnished(home);
    signal(&home, &["--never", "m1"]);
    signal(&home, &["--always", "m3"]);
    let before = home.export();
    let gone = lines_of(&home.run("rsv-forget", &["-p", "garden", "m1"], "").ok());
    let kinds: Vec<&str> = gone.iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["message", "recall"]);
    assert_eq!(rules(&home), [("m3".into(), "always".into())]);
    // It does not come back without its message, and is refused where there never was one.
    home.run("rsv-import", &["-q"], &before).ok();
    assert_eq!(rules(&home), [("m3".into(), "always".into())]);
    let stray = json!({"kind": "recall", "of": "nobody", "recall": "never"}).to_string();
    let ran = home.run("rsv-ingest", &[], &stray);
    assert!(ran.status == 2 && ran.stderr.contains("of: message not found"), "{ran}");
    for (line, why) in [
        (json!({"kind": "recall", "of": "m3", "recall": "often"}), "recall: "),
        (json!({"kind": "recall", "of": "m3"}), "recall: is missing"),
        (json!({"kind": "recall", "recall": "never"}), "of: is missing"),
    ] {
        let ran = home.run("rsv-ingest", &[], line.to_string());
        assert!(ran.status == 2 && ran.stderr.contains(why), "{ran}");
    }
    // Many messages at once.
    let many: String =
        (10..70).map(|n| line(&format!("n{n}"), "garden", "many", &format!("Bean {n}."))).collect();
    home.run("rsv-import", &["-q"], &many).ok();
    home.run("rsv-signal", &["--never"], &many).ok();
    assert_eq!(rules(&home).len(), 61);
    home.run("rsv-forget", &["-p", "garden", "-i", "many", "--role", "user", "--yes"], "").ok();
    assert_eq!(rules(&home).len(), 1);
    assert_eq!(recalled(&home, &["-p", "garden"], UNRELATED), ["m3"]);
    home.check();
}

on_each_store!(a_partition_that_is_renamed_keeps_its_rules);
fn a_partition_that_is_renamed_keeps_its_rules(home: Home) {
    let home = furnished(home);
    signal(&home, &["--never", "m1"]);
    signal(&home, &["--always", "m3"]);
    home.run("rsv-config", &["partition", "rename", "garden", "yard"], "").ok();
    assert_eq!(recalled(&home, &["-p", "yard"], QUESTION), ["m2", "m3"]);
}

on_each_store!(a_copy_that_stays_gets_the_rule);
fn a_copy_that_stays_gets_the_rule(home: Home) {
    let said = [
        ("user", "Where do the tomatoes stand this year, and why there of all places?"),
        ("assistant", "By the warm wall, since they like the sun and hate the wind from the north."),
    ];
    let line = |(at, (role, content)): (usize, &(&str, &str))| json!({"role": role, "content": content, "timestamp": 1_700_000_000_000_i64 + 1000 * at as i64});
    let lines: Vec<Value> = said.iter().enumerate().map(line).collect();
    let stored = home.ingest(&["-p", "garden"], &format!("{}\n{}\n", lines[0], lines[1]));
    signal(&home, &["--never", stored[1]["id"].as_str().unwrap()]);
    let imported = lines.iter().enumerate().map(|(at, line)| {
        let mut line = line.clone();
        line["instance"] = json!("chat-7");
        line["partition"] = json!("garden");
        line["source"] = json!("claude-code");
        line["source_id"] = json!(format!("s{at}"));
        line["trace_id"] = json!("t");
        format!("{line}\n")
    });
    home.run("rsv-import", &["-q"], imported.collect::<String>()).ok();
    let kept = lines_of(&home.run("rsv-view", &["-p", "garden"], "").ok());
    assert_eq!((kept.len(), &kept[1]["instance"]), (2, &json!("chat-7")));
    assert_eq!(rules(&home), [(text(&kept[1]["id"]), "never".to_owned())]);
    assert!(!recalled(&home, &["-p", "garden"], "Where is the warm wall?").contains(&text(&kept[1]["id"])));
    home.check();
}

on_each_store!(clients_of_the_protocol_say_it_too_and_get_no_message_that_is_never_recalled);
fn clients_of_the_protocol_say_it_too_and_get_no_message_that_is_never_recalled(home: Home) {
    let home = furnished(home);
    let mut client = Client::start(&home, &["-p", "garden"]);
    let found = |client: &mut Client| {
        let answer = client.call("recall", json!({"query": "tomatoes", "by": "any"}));
        let mut ids: Vec<String> =
            answer["hits"].as_array().unwrap().iter().map(|hit| text(&hit["id"])).collect();
        ids.sort();
        ids
    };
    assert_eq!(found(&mut client), ["m1", "m2"]);
    let answer = client.call("recall_when", json!({"id": "m1", "when": "never"}));
    assert_eq!((&answer["id"], &answer["when"]), (&json!("m1"), &json!("never")));
    assert_eq!(found(&mut client), ["m2"]);
    home.run("rsv-import", &["-q"], line("m5", "garden", "wall", "It is a wall of bricks.")).ok();
    let session = client.read("viking://~/sessions/wall");
    assert!(!session.contains(WALL) && session.contains("bricks"), "{session}");
    assert_eq!(rules(&home), [("m1".into(), "never".into())]);
    let refused = client.refused("recall_when", json!({"id": "m4", "when": "never"}));
    assert!(refused.contains("id: message not found"), "{refused}");
    client.call("recall_when", json!({"id": "m1", "when": "auto"}));
    assert_eq!(found(&mut client)[..2], ["m1", "m2"]);
    client.call("recall_when", json!({"id": "m3", "when": "always"}));
    assert_eq!(recalled(&home, &["-p", "garden"], UNRELATED), ["m3"]);
    client.end();
}
