//! The sessions of rsv-proxy's chat backend, and how they are committed.

use crate::chat::{GARDEN, chat, now, provider, say, says};
use crate::chat_uploads::{settled, upload};
use crate::docs::{is_installed, read, report_unchecked, section};
use crate::proxy::{Proxy, asked};
use crate::support::{Home, lines_of, on_each_store, text, wait_for};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

pub(crate) fn ask(proxy: &Proxy, method: &str, path: &str, headers: &str) -> (u16, Value) {
    let (status, body) = proxy.raw(&asked(method, path, headers));
    (status, serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {status} {body}")))
}

/// The archives of all sessions.
pub(crate) fn archives(home: &Home) -> Vec<Value> {
    let lines = lines_of(&home.run("rsv-export", &["--kind", "document"], "").ok());
    lines.into_iter().filter(|line| line["covers"].is_array()).collect()
}

/// The ids of messages, and those that archives cover, of which none may be there twice.
pub(crate) fn coverage(home: &Home) -> (BTreeSet<String>, BTreeSet<String>) {
    let lines = lines_of(&home.run("rsv-export", &["--kind", "message"], "").ok());
    let messages =
        lines.iter().filter(|line| line["kind"] == "message").map(|line| text(&line["id"])).collect();
    let covers: Vec<String> = archives(home)
        .iter()
        .flat_map(|archive| archive["covers"].as_array().unwrap().iter().map(text).collect::<Vec<_>>())
        .collect();
    let covered: BTreeSet<String> = covers.iter().cloned().collect();
    assert_eq!(covered.len(), covers.len(), "{covers:?}");
    (messages, covered)
}

on_each_store!(sessions_are_listed_shown_committed_and_forgotten);
fn sessions_are_listed_shown_committed_and_forgotten(home: Home) {
    let fake = provider();
    let home = home.env("RSV_OLLAMA_BASE_URL", &fake.url()).env("RSV_ENRICH_TIMEOUT", "60s");
    let proxy = Proxy::start(&home);
    for (session, message) in [("s1", "Remember that my tomatoes are red."), ("s2", "Where are they?")] {
        say(&proxy, session, message);
    }
    let (status, body) = ask(&proxy, "GET", "/api/sessions", "");
    let sessions = body["sessions"].as_array().unwrap();
    assert_eq!((status, sessions.len(), &body["total"]), (200, 2, &2.into()), "{body}");
    assert_eq!((&sessions[0]["id"], &sessions[1]["id"]), (&"s2".into(), &"s1".into()));
    assert_eq!(sessions[1]["title"], "Remember that my tomatoes are red.");
    assert_eq!((&sessions[1]["message_count"], &sessions[1]["user_id"]), (&2.into(), &"default".into()));
    let (_, body) = ask(&proxy, "GET", "/api/sessions?limit=1&offset=1", "");
    assert_eq!((body["sessions"].as_array().unwrap().len(), &body["sessions"][0]["id"]), (1, &"s1".into()));
    assert_eq!(ask(&proxy, "GET", "/api/sessions?limit=x", "").0, 400);

    let (status, body) = ask(&proxy, "GET", "/api/sessions/s1", "");
    let said: Vec<&Value> = body["messages"].as_array().unwrap().iter().map(|one| &one["content"]).collect();
    assert_eq!(
        (status, json!(said)),
        (200, json!(["Remember that my tomatoes are red.", "By the warm wall."]))
    );

    let (status, body) = ask(&proxy, "POST", "/api/sessions/s1/commit", "");
    assert_eq!(
        (status, &body["status"], &body["memories_created"]),
        (200, &"committed".into(), &1.into()),
        "{body}"
    );
    assert!(text(&body["archive_uri"]).starts_with("viking://user/default/sessions/s1/history/"), "{body}");
    let (status, body) = ask(&proxy, "POST", "/api/sessions/s1/commit", "");
    assert_eq!(
        (status, &body["status"], &body["archive_uri"]),
        (200, &"unchanged".into(), &Value::Null),
        "{body}"
    );
    assert!(ask(&proxy, "GET", "/api/sessions/s1", "").1["committed_at"].is_string());

    assert_eq!(ask(&proxy, "DELETE", "/api/sessions/s1", "").0, 200);
    for (method, path) in [("GET", ""), ("DELETE", ""), ("POST", "/commit")] {
        assert_eq!(ask(&proxy, method, &format!("/api/sessions/s1{path}"), "").0, 404);
    }
    assert!(archives(&home).is_empty());
    assert_eq!(ask(&proxy, "PUT", "/api/sessions/s2", "").0, 405);
    assert_eq!(ask(&proxy, "POST", "/api/sessions", "").0, 405);
}

/// Keeps: A user sees only what is the user's.
#[test]
fn a_session_of_another_user_is_not_there() {
    let fake = provider();
    let home = now(&fake.url());
    let proxy = Proxy::start(&home);
    let ann = "X-User-Id: ann\r\n";
    let (_, body) = chat(&proxy, ann, "canary", json!({"session_id": "s1"}));
    assert_eq!(body["session_id"], "s1");
    for (method, path) in [("GET", ""), ("POST", "/commit"), ("DELETE", "")] {
        for (prefix, headers) in [
            ("", ""),
            ("", "X-User-Id: bob\r\n"),
            ("", "x-rsv-partition: bob\r\nX-User-Id: ann\r\n"),
            ("/partition/bob", ann),
        ] {
            let (status, body) = ask(&proxy, method, &format!("{prefix}/api/sessions/s1{path}"), headers);
            assert_eq!(status, 404, "{method} {prefix} {headers}: {body}");
            assert!(!body.to_string().contains("canary"), "{body}");
        }
    }
    for crafted in ["..%2fann%2fs1", "%2e%2e", "ann%2fs1"] {
        let (status, _) = ask(&proxy, "GET", &format!("/api/sessions/{crafted}"), "X-User-Id: bob\r\n");
        assert_eq!(status, 404, "{crafted}");
    }
    let asked = fake.seen().len();
    let bob = "X-User-Id: bob\r\n";
    for path in ["/api/ai/chat", "/api/ai/chat/stream"] {
        let (status, body) = proxy.post(path, bob, &says("Hello", json!({"session_id": "s1"})));
        assert!(status == 404 && body.contains("there is no session s1"), "{status} {body}");
    }
    // Nothing was sent or stored.
    assert_eq!(
        (fake.seen().len(), ask(&proxy, "GET", "/api/sessions", bob).1["total"].clone()),
        (asked, json!(0))
    );
    // A name that nobody has begins a session; one that was forgotten is nobody's.
    assert_eq!(chat(&proxy, bob, "Hello", json!({"session_id": "s2"})).1["session_id"], "s2");
    assert_eq!(ask(&proxy, "DELETE", "/partition/ann/api/sessions/s1", "").0, 200);
    assert_eq!(chat(&proxy, bob, "Hello", json!({"session_id": "s1"})).1["session_id"], "s1");
}

/// Keeps: Every message of a session is in exactly one archive.
#[test]
fn sessions_commit_themselves_and_no_message_twice() {
    let fake = provider();
    let home = now(&fake.url()).env("RSV_SESSION_COMMIT_TURNS", "3");
    let proxy = Proxy::start(&home);
    for turn in 0..7 {
        for session in ["s1", "s2"] {
            say(&proxy, session, &format!("Question {turn}?"));
        }
    }
    // Of both, at least the first three turns.
    wait_for("a commit", || archives(&home).len() >= 2);
    let path = |session: &str| format!("/api/sessions/{session}/commit");
    for session in ["s1", "s2", "s1"] {
        assert_eq!(ask(&proxy, "POST", &path(session), "").0, 200);
    }
    let (messages, covered) = coverage(&home);
    assert_eq!((messages.len(), &messages), (28, &covered));
    assert!(proxy.get("/health").1.contains("\"commits\":\"ok\""));
}

#[test]
fn an_idle_session_commits_itself_and_other_turns_only_if_they_are_to() {
    for (auto, expected) in [("false", 1), ("true", 2)] {
        let fake = provider();
        let home = now(&fake.url()).env("RSV_SESSION_COMMIT_IDLE", "1").env("RSV_SESSION_AUTO", auto);
        let proxy = Proxy::start(&home);
        let (status, _) = proxy.post(
            "/partition/default/instance/other/v1/chat/completions",
            "",
            &crate::proxy::asking("x"),
        );
        assert_eq!(status, 200);
        say(&proxy, "s1", "Where?");
        wait_for("a commit", || archives(&home).len() >= expected);
        assert_eq!(archives(&home).len(), expected);
    }
}

#[test]
fn a_commit_that_fails_is_told_and_tried_again() {
    let fake = provider();
    let home = now(&fake.url()).env("RSV_SESSION_COMMIT_TURNS", "1");
    let file = home.path("patterns.txt");
    let home = home.env("RSV_SESSION_PATTERNS", file.to_str().unwrap());
    let proxy = Proxy::start(&home);
    say(&proxy, "s1", "Where?");
    wait_for("a failure in /health", || proxy.get("/health").1.contains("patterns.txt: cannot be read"));
    say(&proxy, "s1", "And now?");
    std::fs::write(&file, "").unwrap();
    wait_for("a commit", || !archives(&home).is_empty());
    wait_for("no failure", || proxy.get("/health").1.contains("\"commits\":\"ok\""));
    assert_eq!(ask(&proxy, "POST", "/api/sessions/s1/commit", "").0, 200);
    let (messages, covered) = coverage(&home);
    assert_eq!((messages.len(), &messages), (4, &covered));
}

#[test]
fn a_proxy_that_is_killed_while_it_commits_leaves_no_message_out() {
    let fake = provider();
    let home = now(&fake.url()).env("RSV_SESSION_COMMIT_TURNS", "1");
    let count = crate::support::number_from("RSV_TEST_KILLS").unwrap_or(5);
    crate::support::tries(count, |mut dice| {
        let proxy = Proxy::start(&home);
        for turn in 0..3 {
            say(&proxy, "s1", &format!("Question {turn}?"));
        }
        std::thread::sleep(Duration::from_micros(dice.below(50_000) as u64));
        proxy.kill();
        drop(proxy);
        coverage(&home);
    });
    let proxy = Proxy::start(&home);
    wait_for("a commit", || ask(&proxy, "POST", "/api/sessions/s1/commit", "").0 == 200);
    let (messages, covered) = coverage(&home);
    assert_eq!(messages, covered);
    home.check();
}

/// The literal block of an example that writes a file.
fn example(name: &str) -> String {
    let page = read("man/rsv-chat.7");
    let examples = section(&page, "EXAMPLES");
    let begin = format!("cat > {name} <<\\(aqEND\\(aq\n");
    let block = examples.split_once(&begin).unwrap().1.split_once("\nEND\n").unwrap().0;
    block.replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\") + "\n"
}

#[test]
fn the_clients_of_the_manual_chat() {
    let fake = provider();
    let home = now(&fake.url());
    home.run("rsv-config", &["set", "model", "llama3.1"], "").ok();
    let proxy = Proxy::start(&home);
    let base = format!("http://127.0.0.1:{}", proxy.port());
    let lines = example("chat.sh").lines().count();
    assert!(lines <= 22, "{lines}");
    let ran = |program: &str, words: &[&str]| {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", home.path(""));
        let output = command.args(words).current_dir(home.path("")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    home.write("garden.md", GARDEN);
    if is_installed("curl") && is_installed("jq") {
        home.write("chat.sh", &example("chat.sh"));
        let said = ran("sh", &["chat.sh", &base, "ann", "garden.md", "Where do the tomatoes stand?"]);
        assert_eq!(said, "By the warm wall.\n{\"status\":\"committed\",\"memories_created\":0}\n");
        assert!(fake.seen()[0].text().contains("warm wall, and"), "{:?}", fake.seen());
    } else {
        report_unchecked("the client in curl, for want of curl or jq");
    }
    if is_installed("node") {
        home.write("chat.mjs", &example("chat.mjs"));
        assert_eq!(ran("node", &["chat.mjs", &base, "ann", "Where?"]), "By the warm wall.");
    } else {
        report_unchecked("the client in JavaScript, for want of node");
    }
}

#[test]
fn a_chat_about_a_document_that_could_not_be_read_says_so() {
    let fake = provider();
    let home = now(&fake.url());
    let proxy = Proxy::start(&home);
    let taken = upload(&proxy, "", "a.png", b"\x89PNG\r\n\x1a\n0000000");
    let doc_id = text(&taken["doc_id"]);
    settled(&proxy, "", &doc_id);
    let (status, body) = chat(&proxy, "", "What is in it?", json!({"doc_id": doc_id}));
    assert_eq!((status, &body["context"]), (200, &json!([])), "{body}");
    assert!(text(&body["openviking_error"]).contains("could not be read: a picture"), "{body}");
}
