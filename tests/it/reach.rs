//! Recall reaches the partition where a caller names it without an instance, and never another.

use crate::fake::{Answer, Fake};
use crate::proxy::{Proxy, asking};
use crate::support::{Home, lines_of, on_each_store, text, tries};
use serde_json::{Value, json};

const QUESTION: &str = "Which warehouse ships the Kestrel lamps?";
const ANSWER: &str = "The Kestrel lamps ship from the warehouse in Aarhus.";

/// A line of a conversation.
fn line(partition: &str, instance: &str, role: &str, content: &str, at: u64) -> String {
    let line = json!({"kind": "message", "partition": partition, "instance": instance, "role": role,
        "trace_id": format!("{partition} {instance} {at}"), "content": content, "timestamp": at});
    format!("{line}\n")
}

/// A store in which the answer was said in a conversation of the partition `shop`; others tell of other lamps.
fn told(home: Home) -> Home {
    let home = home.at("2026-11-21T07:03:00Z").env("RSV_ENRICH_TIMEOUT", "60s");
    let home = home.env("RSV_ENRICH_SELECTIVE", "false");
    let lines = [
        line("shop", "2024-chat", "user", "Where do the Kestrel lamps come from?", 1000),
        line("shop", "2024-chat", "assistant", ANSWER, 2000),
        line("shop", "till", "user", "The till prints which warehouse ships the Kestrel lamps.", 3000),
        line("home", "home", "user", "No warehouse ships the Kestrel lamps at home, which hum.", 4000),
        line("default", "default", "user", "A warehouse ships the Kestrel lamps by default.", 5000),
    ];
    home.run("rsv-import", &[], lines.concat()).ok();
    home
}

fn request(rsv: Value) -> String {
    let mut request = json!({"model": "llama3.1", "messages": [{"role": "user", "content": QUESTION}]});
    if rsv != json!({}) {
        request["rsv"] = rsv;
    }
    request.to_string()
}

/// A provider that answers every request.
fn provider() -> Fake {
    let answer = json!({"choices": [{"message": {"role": "assistant", "content": "Aarhus."}}]}).to_string();
    Fake::answering(move |_| Answer::new(200, answer.clone()))
}

/// The first word after "lamps" of each recalled message, or before it: enough to tell them apart.
fn recalled(sent: &str) -> Vec<&'static str> {
    let all = [
        ("ship from", "shop/2024-chat"),
        ("The till prints", "shop/till"),
        ("which hum", "home"),
        ("by default", "default"),
    ];
    all.into_iter().filter(|(words, _)| sent.contains(words)).map(|(_, scope)| scope).collect()
}

const PARTITION: &[&str] = &["shop/2024-chat", "shop/till"];

on_each_store!(a_partition_that_is_named_alone_is_recalled_as_a_whole);
/// Keeps: Recall reaches a partition that is named without an instance.
fn a_partition_that_is_named_alone_is_recalled_as_a_whole(home: Home) {
    let home = told(home);
    for (words, rsv, expected, reach) in [
        (&["-p", "shop"][..], json!({}), PARTITION, "partition"),
        (&[], json!({"partition": "shop"}), PARTITION, "partition"),
        (&["-p", "shop", "-i", "till"], json!({}), &["shop/till"][..], "instance"),
        (&["-p", "shop", "-i", "shop"], json!({}), &[], "instance"),
        (&[], json!({"partition": "shop", "instance": "till"}), &["shop/till"], "instance"),
        (&["-p", "home"], json!({"partition": "shop"}), &["home"], "partition"),
        (&[], json!({}), &["default"], "instance"),
        (&["-i", "till"], json!({}), &[], "instance"),
        (&["-p", "shop", "--session", "new"], json!({}), PARTITION, "partition"),
    ] {
        let ran = home.run("rsv-enrich", words, request(rsv.clone())).ok();
        assert_eq!(recalled(&ran), expected, "{words:?} {rsv}: {ran}");
        let enriched = lines_of(&ran).remove(0);
        let account = &enriched["rsv"]["account"];
        assert_eq!(account["reach"], reach, "{words:?}");
        // A request that was enriched is enriched again in the same way.
        let again = home.run("rsv-enrich", &[], enriched.to_string()).ok();
        assert_eq!(recalled(&again), expected, "{words:?} {rsv}: {again}");
    }
    // The turn is stored where it was before.
    let enriched = home.run("rsv-enrich", &["-p", "shop"], request(json!({}))).ok();
    let rsv = &lines_of(&enriched)[0]["rsv"];
    assert_eq!([&rsv["partition"], &rsv["instance"], &rsv["reach"]], ["shop", "shop", "partition"]);
}

on_each_store!(the_last_messages_are_those_of_the_conversation);
/// Keeps: Recent messages are those of the conversation.
fn the_last_messages_are_those_of_the_conversation(home: Home) {
    let home = home.at("1970-01-01T00:00:09Z").env("RSV_ENRICH_TIMEOUT", "60s");
    let lines = [
        line("shop", "shop", "user", "Good morning, everyone.", 4000),
        line("shop", "chat", "user", "A word of another conversation.", 5000),
    ];
    home.run("rsv-import", &[], lines.concat()).ok();
    let ran = home.run("rsv-enrich", &["-p", "shop", "--recall", "recent"], request(json!({}))).ok();
    assert!(ran.contains("Good morning") && !ran.contains("another conversation"), "{ran}");
}

#[test]
fn a_setting_overrules_the_names() {
    let home = told(Home::new());
    let recall = |home: &Home, words: &[&str]| {
        let ran = home.run("rsv-enrich", words, request(json!({}))).ok();
        (recalled(&ran), text(&lines_of(&ran)[0]["rsv"]["account"]["reach"]))
    };
    let narrow = home.env("RSV_ENRICH_REACH", "instance");
    assert_eq!(recall(&narrow, &["-p", "shop"]), (vec![], "instance".to_owned()));
    let wide = home.env("RSV_ENRICH_REACH", "partition");
    assert_eq!(recall(&wide, &["-p", "shop", "-i", "till"]), (PARTITION.to_vec(), "partition".to_owned()));
    home.write(".config/rsv/config.toml", "[partitions.shop]\nreach = 'instance'\n");
    assert_eq!(recall(&home, &["-p", "shop"]).0, [""; 0]);
    assert_eq!(recall(&wide, &["-p", "home", "-i", "x"]).0, ["home"]);
}

/// Keeps: A pipe and the proxy give the same bytes.
#[test]
fn the_proxy_reaches_as_far_as_the_pipe() {
    let provider = provider();
    let home = told(Home::new()).env("RSV_OLLAMA_BASE_URL", &provider.url());
    let home = home.env("RSV_RETRIES", "0");
    let proxy = Proxy::start(&home);
    for (path, headers, expected) in [
        ("/partition/shop/v1/chat/completions", "x-rsv-memory: readonly\r\n", PARTITION),
        ("/v1/partition/shop/chat/completions", "x-rsv-memory: readonly\r\n", PARTITION),
        ("/v1/chat/completions", "x-rsv-memory: readonly\r\nx-rsv-partition: shop\r\n", PARTITION),
        (
            "/partition/shop/instance/till/v1/chat/completions",
            "x-rsv-memory: readonly\r\n",
            &["shop/till"][..],
        ),
        ("/partition/shop/instance/shop/v1/chat/completions", "x-rsv-memory: readonly\r\n", &[]),
        ("/v1/chat/completions", "x-rsv-memory: readonly\r\n", &["default"]),
    ] {
        let before = provider.seen().len();
        let (status, body) = proxy.post(path, headers, &asking(QUESTION));
        assert_eq!(status, 200, "{path}: {body}");
        let sent = provider.seen()[before].text().to_owned();
        assert_eq!(recalled(&sent), expected, "{path}: {sent}");
    }
    let piped = home.run("rsv-enrich", &["-p", "shop"], asking(QUESTION)).ok();
    let (status, _) =
        proxy.post("/partition/shop/v1/chat/completions", "x-rsv-memory: readonly\r\n", &asking(QUESTION));
    assert_eq!(status, 200);
    let sent: Value = serde_json::from_str(provider.seen().last().unwrap().text()).unwrap();
    assert_eq!(sent["messages"], lines_of(&piped)[0]["messages"]);
    // The chat backend asks for all that its user said.
    let before = provider.seen().len();
    let chat = json!({"model": "llama3.1", "message": QUESTION, "user_id": "shop", "session_id": "new"});
    let (status, body) = proxy.post("/api/ai/chat", "x-rsv-memory: readonly\r\n", &chat.to_string());
    assert_eq!(status, 200, "{body}");
    assert_eq!(recalled(provider.seen()[before].text()), PARTITION);
}

/// Keeps: An account tells why nothing was recalled.
#[test]
fn an_account_tells_how_far_recall_reached_and_what_it_did_not_see() {
    let home = told(Home::new());
    let ran = home.run("rsv-enrich", &["-p", "shop", "-i", "new"], request(json!({}))).ok();
    let account = &lines_of(&ran)[0]["rsv"]["account"];
    assert_eq!([&account["considered"], &account["beyond_reach"]], [0, 5], "{account}");
    let ran = home.run("rsv-enrich", &["-p", "shop"], asking("Xylophone?")).ok();
    let account = &lines_of(&ran)[0]["rsv"]["account"];
    assert_eq!([&account["considered"], &account["beyond_reach"]], [3, 2], "{account}");
    let answered = json!({"choices": [{"message": {"role": "assistant", "content": "?"}}], "rsv": lines_of(&ran)[0]["rsv"]});
    home.run("rsv-ingest", &[], answered.to_string()).ok();
    let shown = home.run("rsv-view", &["--accounts", "--format", "text", "-p", "shop"], "").ok();
    assert!(
        shown.contains("nothing to recall among 3 messages of the partition shop; 2 beyond it"),
        "{shown}"
    );
}

/// Keeps: Nothing crosses a partition, nor an instance that was named.
#[test]
fn no_recall_crosses_a_partition_or_a_named_instance() {
    tries(30, |mut dice| {
        let home = Home::new().at("2026-11-21T07:03:00Z");
        let names = ["a", "b", "a/b", "default"];
        let mut lines = String::new();
        for at in 0..24_u64 {
            let [partition, instance] = [names[dice.below(4)], names[dice.below(4)]];
            let content = format!("{QUESTION} From {partition}|{instance}|{at}.");
            let kind = ["message", "memory", "document"][dice.below(3)];
            let mut record =
                json!({"kind": kind, "partition": partition, "instance": instance, "content": content});
            match kind {
                "message" => {
                    record["role"] = "user".into();
                    record["timestamp"] = (at + 1).into();
                    record["trace_id"] = format!("t{at}").into();
                }
                "document" => record["uri"] = format!("viking://resources/notes/{at}").into(),
                _ => {
                    record["title"] = format!("Shipping {at}").into();
                    record["outcome"] = "success".into();
                }
            }
            lines += &format!("{record}\n");
        }
        home.ingest(&[], &lines);
        for _ in 0..10 {
            let [partition, instance] = [names[dice.below(4)], names[dice.below(4)]];
            let names_instance = dice.below(2) == 0;
            let mut words = vec!["-p", partition, "--recall", "similar,recent,memories,documents"];
            if names_instance {
                words.extend(["-i", instance]);
            }
            let ran = home.run("rsv-enrich", &words, asking(QUESTION)).ok();
            let sent = text(&lines_of(&ran)[0]["messages"][0]["content"]);
            for found in sent.split(" From ").skip(1) {
                let mut scope = found.split('|');
                assert_eq!(scope.next(), Some(partition), "{words:?}: {sent}");
                assert!(!names_instance || scope.next() == Some(instance), "{words:?}: {sent}");
            }
        }
    });
}

/// The entry of a session of Claude Code in the project `shop`.
fn claude_entry(session: &str, n: usize, role: &str, content: &str) -> String {
    let entry = json!({"type": role, "sessionId": session, "cwd": "/nowhere/shop", "uuid": format!("{session}{n}"),
        "timestamp": format!("2026-11-01T10:{n:02}:00.000Z"), "message": {"role": role, "content": content}});
    format!("{entry}\n")
}

/// The lines of a session of Codex in the project `shop`.
fn codex_session(content: &str) -> String {
    let meta = json!({"timestamp": "2026-11-02T10:00:00.000Z", "type": "session_meta",
        "payload": {"id": "c1", "cwd": "/nowhere/shop", "timestamp": "2026-11-02T10:00:00.000Z"}});
    let said = json!({"timestamp": "2026-11-02T10:01:00.000Z", "type": "response_item",
        "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": content}]}});
    format!("{meta}\n{said}\n")
}

/// Keeps: Imported messages are recalled.
#[test]
fn imported_sessions_are_recalled_by_every_way_to_ask() {
    let provider = provider();
    let home = Home::new().at("2026-11-21T07:03:00Z").env("RSV_ENRICH_TIMEOUT", "60s");
    let home = home.env("RSV_OLLAMA_BASE_URL", &provider.url()).env("RSV_RETRIES", "0");
    for (session, at) in [("one", 0), ("two", 10), ("three", 20)] {
        let said = [
            claude_entry(session, at, "user", &format!("Fix the {session} bug in the till.")),
            claude_entry(session, at + 1, "assistant", &format!("The {session} bug is fixed.")),
        ];
        home.write(&format!(".claude/projects/-nowhere-shop/{session}.jsonl"), &said.concat());
    }
    let answer = claude_entry("four", 30, "assistant", ANSWER);
    home.write(".claude/projects/-nowhere-shop/four.jsonl", &answer);
    home.write(
        ".codex/sessions/2026/11/02/rollout-2026-11-02T10-00-00-c1.jsonl",
        &codex_session("The heron lamps ship from the warehouse in Lyon."),
    );
    for directory in [".claude/projects", ".codex/sessions"] {
        home.run("rsv-import", &[home.path(directory).to_str().unwrap()], "").ok();
    }
    let asked =
        |question: &str| json!({"model": "llama3.1", "messages": [{"role": "user", "content": question}]});
    for (question, wanted) in
        [(QUESTION, "warehouse in Aarhus"), ("Which warehouse ships the heron lamps?", "warehouse in Lyon")]
    {
        let enriched = home.run("rsv-enrich", &["-p", "shop"], asked(question).to_string()).ok();
        assert!(enriched.contains(wanted), "{enriched}");
        let before = provider.seen().len();
        home.run("rsv-ask", &["-p", "shop", "--model", "llama3.1", question], "").ok();
        let proxy = Proxy::start_with(&home, &["-p", "shop"]);
        assert_eq!(proxy.post("/v1/chat/completions", "", &asked(question).to_string()).0, 200);
        let chat = json!({"model": "llama3.1", "message": question, "user_id": "shop"});
        assert_eq!(proxy.post("/api/ai/chat", "", &chat.to_string()).0, 200);
        let sent = &provider.seen()[before..];
        assert_eq!(sent.len(), 3);
        for seen in sent {
            assert!(seen.text().contains(wanted), "{}", seen.text());
        }
    }
}
