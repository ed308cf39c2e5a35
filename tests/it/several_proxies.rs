//! Several proxies on one store: each sees the turns of the others at once, and a turn is stored once, at whichever of
//! them its client asks again.

use crate::chat::{chat, provider, sent};
use crate::chat_sessions::ask;
use crate::fake::{Answer, Fake};
use crate::proxy::{Proxy, post};
use crate::support::{Home, lines_of, on_each_store, text, wait_for};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A home whose proxies store a turn before its answer ends.
pub(crate) fn storing_first(home: &Home, provider: &Fake) -> Home {
    let home = home.env("RSV_OLLAMA_BASE_URL", &provider.url()).env("RSV_PROXY_STORE_FIRST", "true");
    home.env("RSV_ENRICH_TIMEOUT", "60s").env("RSV_RETRIES", "0")
}

on_each_store!(turns_at_one_proxy_are_seen_at_another_at_once);
/// Keeps: Every proxy of a store sees the turns of the others at once.
fn turns_at_one_proxy_are_seen_at_another_at_once(home: Home) {
    let fake = provider();
    let home = storing_first(&home, &fake);
    let proxies = [Proxy::start(&home), Proxy::start(&home)];
    for turn in 0..6 {
        let (own, other) = (&proxies[turn % 2], &proxies[(turn + 1) % 2]);
        let body = json!({"message": format!("Question {turn}?"), "model": "llama3.1", "session_id": "s1"});
        assert_eq!(own.raw(&post("/api/ai/chat", "", &body.to_string())).0, 200);
        // The session continues, and is listed and shown.
        assert_eq!(sent(&fake)[turn].len(), 2 * turn + 1, "{:?}", sent(&fake)[turn]);
        let shown = ask(other, "GET", "/api/sessions/s1", "").1;
        assert_eq!(shown["messages"].as_array().map(Vec::len), Some(2 * turn + 2), "{shown}");
        let listed = ask(other, "GET", "/api/sessions", "").1;
        assert_eq!(listed["sessions"][0]["message_count"], 2 * turn + 2, "{listed}");
        let found = other.get(&format!("/memory/search?part=list&q=Question+{turn}")).1;
        assert!(found.contains(&format!("<mark>{turn}</mark>")), "{found}");
    }
    // It is recalled in another conversation.
    let body =
        json!({"message": "The zucchini stand by the north fence.", "model": "llama3.1", "session_id": "s1"})
            .to_string();
    assert_eq!(proxies[1].raw(&post("/api/ai/chat", "", &body)).0, 200);
    let path = "/partition/default/v1/chat/completions";
    let question = asking("Where do the zucchini stand?", false);
    assert_eq!(proxies[0].raw(&post(path, "", &question)).0, 200);
    let last = sent(&fake).pop().unwrap().pop().unwrap();
    assert!(last.1.contains("> The zucchini stand by the north fence."), "{last:?}");
    // Forgotten by one, it is gone at the other.
    assert_eq!(ask(&proxies[0], "DELETE", "/api/sessions/s1", "").0, 200);
    assert_eq!(ask(&proxies[1], "GET", "/api/sessions/s1", "").0, 404);
    let _ = chat(&proxies[1], "", "Anew?", json!({"session_id": "s1"}));
    assert_eq!(sent(&fake).pop().unwrap().len(), 1);
    home.check();
}

/// The question of a request: the words that its user wrote last.
fn question_of(request: &str) -> String {
    let request: Value = serde_json::from_str(request).unwrap();
    let asked = text(&request["messages"].as_array().unwrap().last().unwrap()["content"]);
    asked.rsplit('\n').next().unwrap().to_owned()
}

pub(crate) fn said(question: &str) -> String {
    format!("This is what there is to say of {question}")
}

/// An answer to a question, whole or as events.
pub(crate) fn answered(request: &str) -> Answer {
    let text = said(&question_of(request));
    if !request.contains("\"stream\":true") {
        let choice =
            json!({"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"});
        return Answer::new(200, json!({"object": "chat.completion", "choices": [choice]}).to_string());
    }
    let (begin, end) = text.split_at(text.len() / 2);
    let choices = [
        json!({"delta": {"content": begin}}),
        json!({"delta": {"content": end}}),
        json!({"delta": {}, "finish_reason": "stop"}),
    ];
    let event =
        |choice| format!("data: {}\n\n", json!({"object": "chat.completion.chunk", "choices": [choice]}));
    Answer::new(200, choices.map(event).concat() + "data: [DONE]\n\n")
        .header("Content-Type", "text/event-stream")
}

pub(crate) fn asking(question: &str, streamed: bool) -> String {
    json!({"model": "llama3.1", "stream": streamed, "messages": [{"role": "user", "content": question}]})
        .to_string()
}

pub(crate) fn path(client: usize) -> String {
    format!("/partition/load/instance/{client}/v1/chat/completions")
}

/// The number of messages with each text.
pub(crate) fn stored(home: &Home) -> BTreeMap<String, usize> {
    let lines = lines_of(&home.run("rsv-export", &["--kind", "message"], "").ok());
    let mut count = BTreeMap::new();
    for message in lines.iter().filter(|line| line["kind"] == "message") {
        *count.entry(text(&message["content"])).or_default() += 1;
    }
    count
}

on_each_store!(a_request_that_is_sent_again_to_another_proxy_is_stored_once);
/// Keeps: A request that is sent again to another proxy is stored once.
fn a_request_that_is_sent_again_to_another_proxy_is_stored_once(home: Home) {
    let fake = Fake::answering(|seen| answered(seen.text()));
    let home = storing_first(&home, &fake);
    let proxies = [Proxy::start(&home), Proxy::start(&home)];
    for (number, (first, second, times)) in [
        ("Idempotency-Key: k1\r\n", "Idempotency-Key: k1\r\n", 1),
        ("x-stainless-retry-count: 0\r\n", "x-stainless-retry-count: 1\r\n", 1),
        ("Idempotency-Key: k2\r\n", "Idempotency-Key: k3\r\n", 2),
        ("", "", 2),
    ]
    .into_iter()
    .enumerate()
    {
        let question = format!("Question {number}?");
        for (proxy, headers) in proxies.iter().zip([first, second]) {
            let (status, body) = proxy.raw(&post(&path(0), headers, &asking(&question, false)));
            assert!(status == 200 && body.contains(&said(&question)), "{status} {body}");
        }
        let stored = stored(&home);
        assert_eq!((stored[&question], stored[&said(&question)]), (times, times), "{first}{second}");
    }
    home.check();
}

on_each_store!(an_answer_for_a_client_that_has_asked_another_proxy_is_not_stored);
/// Keeps: An answer that comes after another proxy has answered is not stored.
fn an_answer_for_a_client_that_has_asked_another_proxy_is_not_stored(home: Home) {
    let (release, question) = (Arc::new(AtomicBool::new(false)), "Who waits?");
    let gate = release.clone();
    let slow = Fake::answering(move |seen| {
        wait_for("the other answer", || gate.load(Ordering::SeqCst));
        answered(seen.text())
    });
    let quick = Fake::answering(|seen| answered(seen.text()));
    let (first, second) =
        (Proxy::start(&storing_first(&home, &slow)), Proxy::start(&storing_first(&home, &quick)));
    let request = post(&path(0), "Idempotency-Key: k\r\n", &asking(question, false));
    let mut client = first.connect();
    client.write_all(&request).unwrap();
    wait_for("the first request", || first.get("/metrics").1.contains("rsv_provider_requests 1"));
    drop(client);
    assert_eq!(second.raw(&request).0, 200);
    release.store(true, Ordering::SeqCst);
    first.settle();
    let stored = stored(&home);
    assert_eq!((stored[question], stored[&said(question)]), (1, 1));
}

/// Has the store say that a release made it whose version is greater by `more`.
fn change_version(home: &Home, more: i64) {
    if home.is_at_server() {
        home.graph().run(&format!("MATCH (s:RsvStore) SET s.version = s.version + {more}"));
        return;
    }
    let file = rusqlite::Connection::open(home.store()).unwrap();
    let version: i64 = file.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    file.pragma_update(None, "user_version", version + more).unwrap();
}

on_each_store!(a_proxy_stores_nothing_where_a_later_release_has_been);
/// Keeps: A proxy stores nothing in a store that a later release has brought to its version, and answers.
fn a_proxy_stores_nothing_where_a_later_release_has_been(home: Home) {
    let fake = Fake::answering(|seen| answered(seen.text()));
    let home = home.env("RSV_OLLAMA_BASE_URL", &fake.url()).env("RSV_ENRICH_TIMEOUT", "60s");
    let mut proxy = Proxy::start(&home);
    let ask = |proxy: &Proxy, question: &str| {
        let (status, body) = proxy.post(&path(0), "", &asking(question, false));
        assert!(status == 200 && body.contains(&said(question)), "{status} {body}");
    };
    ask(&proxy, "Before?");
    change_version(&home, 1);
    ask(&proxy, "Meanwhile?");
    wait_for("the reason", || proxy.get("/health").1.contains("is of another version of rsv"));
    assert_eq!(proxy.get("/health").0, 503);
    change_version(&home, -1);
    assert_eq!(stored(&home).len(), 2);
    // It was waiting.
    wait_for("the turn", || stored(&home).len() == 4);
    assert_eq!(proxy.end(), Some(0));
    home.check();
}
