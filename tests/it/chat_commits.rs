//! Commits by rsv-proxy: by a model and without it, of very long sessions, of many at once, and after a restart.

use crate::chat::{chat, now, provider, say};
use crate::chat_sessions::{archives, ask, coverage};
use crate::distill_model::said;
use crate::fake::{Answer, Fake};
use crate::proxy::{Proxy, asking};
use crate::support::{Home, lines_of, number_from, on_each_store, text, wait_for};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A provider that chats, and writes archives unless it is asked for the first so many.
fn archivist(failures: usize) -> (Fake, Arc<AtomicUsize>) {
    let left = Arc::new(AtomicUsize::new(failures));
    let counter = left.clone();
    let archive = json!({"abstract": "Tea: which | green | answered", "overview": "# Tea\n\nGreen.",
        "memories": [{"category": "preference", "title": "Tea", "content": "Ann drinks green tea."}]});
    let fake = Fake::answering(move |seen| {
        if !seen.text().contains("\"json_schema\"") {
            return said("By the wall.");
        }
        if counter.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
            return Answer::new(400, r#"{"error":{"message":"the model is on strike"}}"#);
        }
        said(&archive.to_string())
    });
    (fake, left)
}

fn by_model(fake: &Fake) -> Home {
    now(&fake.url()).env("RSV_SESSION_COMMIT_TURNS", "2").env("RSV_SESSION_MODEL", "llama3.2")
}

fn made_by(home: &Home) -> Vec<String> {
    archives(home).iter().map(|archive| text(&archive["made_by"])).collect()
}

fn commits(proxy: &Proxy) -> String {
    let health: Value = serde_json::from_str(&proxy.get("/health").1).unwrap();
    text(&health["commits"])
}

#[test]
fn a_model_writes_the_archives_and_is_tried_again_where_it_fails() {
    let (fake, left) = archivist(1);
    let home = by_model(&fake);
    let proxy = Proxy::start(&home);
    say(&proxy, "s1", "Which tea?");
    say(&proxy, "s1", "Remember that I like cake.");
    wait_for("a commit", || !archives(&home).is_empty());
    wait_for("no failure", || commits(&proxy) == "ok");
    assert_eq!((left.load(Ordering::SeqCst), made_by(&home)), (0, vec!["llama3.2".to_owned()]));
    let memories = lines_of(&home.run("rsv-view", &["-p", "default", "--kind", "memory"], "").ok());
    let said: Vec<String> = memories.iter().map(|memory| text(&memory["content"])).collect();
    assert_eq!(said, ["Ann drinks green tea."]);
    let (messages, covered) = coverage(&home);
    assert_eq!(messages, covered);
    home.check();
}

/// Keeps: If a model fails, the commit is made by rule.
#[test]
fn a_model_that_fails_leads_to_the_rule_and_is_told() {
    // Three times in the background, and once where a client waits.
    let (fake, left) = archivist(4);
    let home = by_model(&fake);
    let proxy = Proxy::start(&home);
    say(&proxy, "s1", "Which tea?");
    say(&proxy, "s1", "Remember that I like cake.");
    wait_for("a failure in /health", || commits(&proxy).contains("the model is on strike"));
    // The chat continues meanwhile.
    say(&proxy, "s2", "Which cake?");
    wait_for("a commit", || !archives(&home).is_empty());
    assert_eq!((left.load(Ordering::SeqCst), made_by(&home)), (1, vec!["rule".to_owned()]));
    wait_for("the reason", || commits(&proxy).starts_with("default/s1: committed by rule: "));
    let memories = lines_of(&home.run("rsv-view", &["-p", "default", "--kind", "memory"], "").ok());
    assert_eq!((memories.len(), &memories[0]["content"]), (1, &"Remember that I like cake.".into()));
    let (status, body) = ask(&proxy, "POST", "/api/sessions/s2/commit", "");
    assert_eq!((status, &body["status"]), (200, &"committed".into()), "{body}");
    assert!(commits(&proxy).starts_with("default/s2: committed by rule: "), "{}", commits(&proxy));
    // The model works again.
    say(&proxy, "s2", "And then?");
    assert_eq!(ask(&proxy, "POST", "/api/sessions/s2/commit", "").0, 200);
    assert_eq!((commits(&proxy).as_str(), made_by(&home).last().unwrap().as_str()), ("ok", "llama3.2"));
    let (messages, covered) = coverage(&home);
    assert_eq!(messages, covered);
}

/// A message of the session s1 in the partition default, as another program stored it.
fn message(n: usize) -> String {
    let role = ["user", "assistant"][n % 2];
    let content = format!("Turn {n} of a long session.");
    json!({"kind": "message", "id": format!("m{n:05}"), "trace_id": format!("t{}", n / 2), "partition": "default",
        "instance": "s1", "role": role, "content": content, "timestamp": 1_795_000_000_000_u64 + n as u64 * 1000})
    .to_string()
        + "\n"
}

#[test]
fn ten_thousand_messages_and_late_ones_are_committed() {
    let fake = provider();
    let home = now(&fake.url()).env("RSV_SESSION_COMMIT_TURNS", "0").env("RSV_SESSION_COMMIT_TOKENS", "0");
    home.run("rsv-import", &["-q"], (1000..11_000).map(message).collect::<String>()).ok();
    let proxy = Proxy::start(&home);
    let path = "/api/sessions/s1/commit";
    let (status, body) = ask(&proxy, "POST", path, "");
    assert_eq!((status, &body["status"]), (200, &"committed".into()), "{body}");
    assert_eq!(archives(&home)[0]["covers"].as_array().unwrap().len(), 10_000);
    assert_eq!(ask(&proxy, "POST", path, "").1["status"], "unchanged");
    // These are older than the archive.
    home.run("rsv-import", &["-q"], (0..10).map(message).collect::<String>()).ok();
    assert_eq!(ask(&proxy, "POST", path, "").1["status"], "committed");
    let (messages, covered) = coverage(&home);
    assert_eq!((messages.len(), &messages), (10_010, &covered));
    assert_eq!(archives(&home).len(), 2);
    assert_eq!(ask(&proxy, "POST", "/api/sessions/s2/commit", "").0, 404);
    home.check();
}

on_each_store!(commits_at_once_and_while_turns_come_cover_each_message_once);
/// Keeps: Every message of a session is in exactly one archive.
fn commits_at_once_and_while_turns_come_cover_each_message_once(home: Home) {
    let fake = provider();
    let home = home.env("RSV_OLLAMA_BASE_URL", &fake.url()).env("RSV_ENRICH_TIMEOUT", "60s");
    let home = home.env("RSV_SESSION_COMMIT_TURNS", "2");
    let proxy = Proxy::start(&home);
    say(&proxy, "s1", "The first question?");
    std::thread::scope(|scope| {
        scope.spawn(|| (0..12).for_each(|turn| say(&proxy, "s1", &format!("Question {turn}?"))));
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..5 {
                    assert_eq!(ask(&proxy, "POST", "/api/sessions/s1/commit", "").0, 200);
                }
            });
        }
    });
    assert_eq!(ask(&proxy, "POST", "/api/sessions/s1/commit", "").0, 200);
    let (messages, covered) = coverage(&home);
    assert_eq!((messages.len(), &messages), (26, &covered));
    home.check();
}

on_each_store!(sessions_that_an_earlier_proxy_left_are_committed_when_they_are_idle);
/// Keeps: A proxy commits the sessions that an earlier one left.
fn sessions_that_an_earlier_proxy_left_are_committed_when_they_are_idle(home: Home) {
    let fake = provider();
    let home = home.env("RSV_OLLAMA_BASE_URL", &fake.url()).env("RSV_ENRICH_TIMEOUT", "60s");
    let home = home.env("RSV_SESSION_COMMIT_IDLE", "off");
    let mut proxy = Proxy::start(&home);
    say(&proxy, "s1", "Where?");
    say(&proxy, "s2", "And where?");
    assert_eq!(ask(&proxy, "POST", "/api/sessions/s2/commit", "").0, 200);
    let other = "/partition/default/instance/other/v1/chat/completions";
    assert_eq!(proxy.post(other, "", &asking("x")).0, 200);
    assert_eq!((proxy.end(), archives(&home).len()), (Some(0), 1));
    let home = home.env("RSV_SESSION_COMMIT_IDLE", "1s");
    let proxy = Proxy::start(&home);
    wait_for("a commit", || archives(&home).len() == 2);
    drop(proxy);
    let uris: Vec<String> = archives(&home).iter().map(|archive| text(&archive["uri"])).collect();
    assert!(uris.iter().any(|uri| uri.starts_with("viking://user/default/sessions/s1/history/")), "{uris:?}");
    // With session.auto, other turns too.
    let home = home.env("RSV_SESSION_AUTO", "true");
    let _proxy = Proxy::start(&home);
    wait_for("a commit", || archives(&home).len() == 3);
    home.check();
}

#[test]
fn a_store_that_is_locked_delays_no_chat_and_loses_none() {
    let fake = provider();
    let home = now(&fake.url()).env("RSV_ENRICH_TIMEOUT", "300ms").env("RSV_SESSION_COMMIT_TURNS", "2");
    let proxy = Proxy::start(&home);
    say(&proxy, "s1", "Where?");
    let store = rusqlite::Connection::open(home.store()).unwrap();
    store.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (turns, mut without_memory) = (number_from("RSV_TEST_STEPS").unwrap_or(10) as usize, 0);
    for turn in 1..turns {
        let body =
            json!({"message": format!("And {turn}?"), "model": "llama3.1", "session_id": "s1"}).to_string();
        let (status, body) = proxy.raw(&crate::proxy::post("/api/ai/chat", "", &body));
        assert_eq!(status, 200, "{body}");
        let body: Value = serde_json::from_str(&body).unwrap();
        if let Some(error) = body.get("openviking_error") {
            assert_eq!(error, "memory did not answer within 300ms");
            without_memory += 1;
        }
    }
    // At first, the turns before are awaited.
    assert!(without_memory > 0);
    store.execute_batch("COMMIT").unwrap();
    drop(store);
    proxy.settle();
    wait_for("a commit", || !archives(&home).is_empty());
    assert_eq!(ask(&proxy, "POST", "/api/sessions/s1/commit", "").0, 200);
    let (messages, covered) = coverage(&home);
    assert_eq!((messages.len(), &messages), (2 * turns, &covered));
    assert_eq!(commits(&proxy), "ok");
}

on_each_store!(a_chat_recalls_what_was_said_in_other_sessions_of_the_user);
fn a_chat_recalls_what_was_said_in_other_sessions_of_the_user(home: Home) {
    let fake = provider();
    let home = home.env("RSV_OLLAMA_BASE_URL", &fake.url()).env("RSV_ENRICH_TIMEOUT", "60s");
    let proxy = Proxy::start(&home);
    let (ann, bob) = ("X-User-Id: ann\r\n", "X-User-Id: bob\r\n");
    for (user, message) in [(ann, "My kettle is made of copper."), (bob, "My kettle is a canary.")] {
        assert_eq!(chat(&proxy, user, message, json!({})).0, 200);
    }
    assert_eq!(chat(&proxy, ann, "Which metal is my kettle made of?", json!({})).0, 200);
    let asked = fake.seen().last().unwrap().text().to_owned();
    assert!(asked.contains("copper") && !asked.contains("canary"), "{asked}");
}
