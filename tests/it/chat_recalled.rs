//! The recalled records and the HTML in answers of rsv-proxy's chat backend, for clients that ask.

use crate::chat::{GARDEN, chat, events, members, names, now, saying};
use crate::chat_sessions::ask;
use crate::chat_uploads::{settled, upload};
use crate::proxy::Proxy;
use crate::support::{Home, on_each_store, text};
use serde_json::{Value, json};

const ANN: &str = "X-User-Id: ann\r\n";
const QUESTION: &str = "Where do the tomatoes stand?";

/// Stores a message and a memory of a partition, and says which ids they have.
fn store(home: &Home, partition: &str) -> [String; 2] {
    let lines = [
        json!({"role": "user", "content": format!("My tomatoes stand by the wall of {partition}.")}),
        json!({"kind": "memory", "title": "Warmth", "outcome": "success", "category": "strategy",
            "content": format!("Tomatoes of {partition} stand warm.")}),
    ];
    lines.map(|line| text(&home.ingest(&["-p", partition, "-i", "garden"], &format!("{line}\n"))[0]["id"]))
}

fn kinds(recalled: &Value) -> Vec<String> {
    recalled.as_array().unwrap().iter().map(|one| text(&one["kind"])).collect()
}

/// Keeps: A user sees only what is the user's.
fn an_answer_names_what_was_recalled_and_where_it_is(home: Home) {
    let provider = saying(&["**By** ", "<b>the</b> ", "wall."]);
    let home = home.env("RSV_OLLAMA_BASE_URL", &provider.url()).env("RSV_ENRICH_TIMEOUT", "60s");
    store(&home, "bob");
    let [message, memory] = store(&home, "ann");
    let proxy = Proxy::start(&home);
    let doc_id = text(&upload(&proxy, ANN, "garden.md", GARDEN.as_bytes())["doc_id"]);
    assert_eq!(settled(&proxy, ANN, &doc_id)["state"], "ready");

    let more = json!({"session_id": "s", "recalled": true, "html": true});
    let (status, body) = chat(&proxy, ANN, QUESTION, more);
    assert_eq!(status, 200, "{body}");
    let html = "<p><strong>By</strong> &lt;b&gt;the&lt;/b&gt; wall.</p>\n";
    assert_eq!(body["html"], html);
    let recalled = &body["recalled"];
    assert_eq!(kinds(recalled), ["memory", "document", "message"], "{recalled}");
    let common = ["created_at", "id", "kind", "page", "score", "text", "title", "tokens"];
    assert_eq!(members(&recalled[0]), common);
    assert_eq!((&recalled[0]["id"], &recalled[0]["title"]), (&json!(memory), &json!("Warmth")));
    assert!(text(&recalled[0]["text"]).contains("Tomatoes of ann"), "{recalled}");
    let document = &recalled[1];
    assert_eq!(members(document), [&common[..], &["uri"]].concat());
    let page = text(&document["page"]);
    assert!(page.starts_with("/memory/documents?p=ann&uri=viking%3A%2F%2Fresources"), "{page}");
    let said = &recalled[2];
    assert_eq!(
        (&said["id"], &said["session_id"], &said["role"], &said["title"]),
        (&json!(message), &json!("garden"), &json!("user"), &json!("My tomatoes stand by the wall of ann."))
    );
    for one in recalled.as_array().unwrap() {
        let (status, _) = proxy.get(&text(&one["page"]));
        assert!([200, 303].contains(&status), "{one}");
    }
    assert!(!body.to_string().contains("bob"), "{body}");

    // The session has the same, later too, and without it if it is not asked for.
    let session = |query: &str| ask(&proxy, "GET", &format!("/api/sessions/s{query}"), ANN);
    let (_, shown) = session("?recalled=true&html=true");
    let [question, answer] = [&shown["messages"][0], &shown["messages"][1]];
    assert_eq!((&question["html"], &question["recalled"]), (&Value::Null, &Value::Null));
    assert_eq!((&answer["html"], &answer["recalled"]), (&json!(html), recalled));
    let plain = ["content", "created_at", "id", "role", "session_id", "user_id"];
    assert_eq!(members(&session("").1["messages"][1]), plain);
    assert_eq!(session("?html=maybe").0, 400);

    // Nothing names what was forgotten.
    home.run("rsv-forget", &["-p", "ann", "-i", "garden", &memory], "").ok();
    let (_, shown) = session("?recalled=true");
    assert_eq!(kinds(&shown["messages"][1]["recalled"]), ["document", "message"], "{shown}");
    assert!(!shown.to_string().contains(&memory), "{shown}");
}

on_each_store!(an_answer_names_what_was_recalled_and_where_it_is);

#[test]
fn the_events_of_an_answer_have_the_same() {
    let provider = saying(&["**By** ", "the wall."]);
    let home = now(&provider.url());
    store(&home, "ann");
    let proxy = Proxy::start(&home.env("RSV_PROXY_PAGE", "false"));
    let more = json!({"user_id": "ann", "recalled": true, "html": true});
    let found = events(&proxy, QUESTION, more);
    assert_eq!(names(&found), ["context", "token", "token", "mood", "done"]);
    let recalled = &found[0].1["recalled"];
    assert_eq!(kinds(recalled), ["memory", "message"]);
    assert!(recalled[0].get("page").is_none() && recalled[1].get("page").is_none(), "{recalled}");
    assert_eq!(found[4].1["html"], "<p><strong>By</strong> the wall.</p>\n");
    let (status, body) = chat(&proxy, ANN, QUESTION, json!({"recalled": "yes"}));
    assert!(status == 400 && text(&body["error"]["message"]).starts_with("recalled: "), "{body}");
}
