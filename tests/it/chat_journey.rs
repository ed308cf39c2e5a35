//! The chat backend by its REST calls, in the order of its documents: a file, a chat about it, the session, its commit,
//! and what is remembered after it.

use crate::chat::{GARDEN, chat, events, members, names, now, provider, sent};
use crate::chat_sessions::ask;
use crate::chat_uploads::{settled, upload};
use crate::docs::read;
use crate::proxy::Proxy;
use crate::support::{Home, text, wait_for};
use serde_json::{Value, json};

const ANN: &str = "X-User-Id: ann\r\n";
const REMEMBER: &str = "Remember that I like my tomatoes ripe.";

/// Document ingestion: an upload is answered before it is indexed, and is at an address of the user.
fn upload_a_document(proxy: &Proxy) -> String {
    let entry = upload(proxy, ANN, "garden.md", GARDEN.as_bytes());
    let doc_id = text(&entry["doc_id"]);
    assert_eq!(entry["uri"], format!("viking://resources/users/ann/documents/{doc_id}"));
    assert_eq!(settled(proxy, ANN, &doc_id)["state"], "ready");
    doc_id
}

/// Session creation: a chat without a session begins one; the whole library of the user is searched.
fn begin_a_session(proxy: &Proxy, doc_id: &str) -> String {
    let more = json!({"history": [], "doc_id": null, "session_id": null, "debug_search_trace": true});
    let (status, body) = chat(proxy, ANN, "Where do the tomatoes stand?", more);
    assert_eq!(status, 200, "{body}");
    assert_eq!(members(&body), ["context", "message", "mood", "search_trace", "session_id"]);
    assert_eq!((&body["message"], &body["mood"]), (&json!("By the warm wall."), &json!("neutral")));
    let hit = &body["context"][0];
    assert_eq!(members(hit), ["chunk_id", "doc_id", "score", "source", "text", "uri"]);
    assert_eq!((&hit["doc_id"], &hit["source"]), (&json!(doc_id), &json!("semantic")));
    let trace = &body["search_trace"];
    assert_eq!(members(trace), ["query_plan", "query_results", "result_count", "target_uri"]);
    assert_eq!(trace["target_uri"], "viking://resources/users/ann");
    assert_eq!(trace["result_count"], 1);
    text(&body["session_id"])
}

/// Session reuse: the last turns are in the request, and a document is searched alone.
fn continue_session(proxy: &Proxy, session: &str, doc_id: &str) {
    let more = json!({"session_id": session, "doc_id": doc_id, "debug_search_trace": true});
    let (status, body) = chat(proxy, ANN, "And where do the beans go?", more);
    assert_eq!((status, &body["session_id"]), (200, &json!(session)), "{body}");
    assert_eq!(
        body["search_trace"]["target_uri"],
        format!("viking://resources/users/ann/documents/{doc_id}")
    );
}

/// The stream has the same, as events.
fn continue_by_events(proxy: &Proxy, session: &str) {
    let found = events(proxy, REMEMBER, json!({"session_id": session, "user_id": "ann"}));
    assert_eq!(names(&found), ["context", "token", "token", "token", "mood", "done"]);
    assert_eq!(members(&found[0].1), ["context", "session_id"]);
    assert_eq!(members(&found[1].1), ["session_id", "token"]);
    assert_eq!(found[4].1, json!({"mood": "neutral"}));
    assert_eq!(found[5].1, json!({"message": "By the warm wall.", "session_id": session}));
}

/// The session APIs: a list, a session with its messages, and its commit.
fn look_at_and_commit(proxy: &Proxy, session: &str) {
    let (_, listed) = ask(proxy, "GET", "/api/sessions", ANN);
    let entry = &listed["sessions"][0];
    let wanted = ["id", "user_id", "title", "created_at", "updated_at", "last_message_at", "committed_at"];
    for member in wanted {
        assert!(entry.get(member).is_some(), "{member}: {entry}");
    }
    assert_eq!((&entry["id"], &entry["user_id"]), (&json!(session), &json!("ann")));
    assert_eq!(
        (&entry["title"], &entry["committed_at"]),
        (&json!("Where do the tomatoes stand?"), &Value::Null)
    );

    let path = format!("/api/sessions/{session}");
    let (_, shown) = ask(proxy, "GET", &path, ANN);
    let messages = shown["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 6);
    for (message, role) in messages.iter().zip(["user", "assistant"].into_iter().cycle()) {
        assert_eq!(members(message), ["content", "created_at", "id", "role", "session_id", "user_id"]);
        let of = (&message["session_id"], &message["user_id"], &message["role"]);
        assert_eq!(of, (&json!(session), &json!("ann"), &json!(role)));
    }
    let (status, committed) = ask(proxy, "POST", &format!("{path}/commit"), ANN);
    assert_eq!(
        (status, &committed["status"], &committed["memories_created"]),
        (200, &json!("committed"), &json!(1))
    );
    assert!(ask(proxy, "GET", &path, ANN).1["committed_at"].is_string());
}

#[test]
fn the_calls_of_the_documents_do_what_they_say() {
    let fake = provider();
    let home = now(&fake.url());
    let proxy = Proxy::start(&home);
    let doc_id = upload_a_document(&proxy);
    let session = begin_a_session(&proxy, &doc_id);
    continue_session(&proxy, &session, &doc_id);
    continue_by_events(&proxy, &session);
    look_at_and_commit(&proxy, &session);

    // Short-term memory: the turns before. The document is in the request with its overview.
    let requests = sent(&fake);
    let roles: Vec<&str> = requests[1].iter().map(|(role, _)| role.as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    assert_eq!(requests[1][0].1, "Where do the tomatoes stand?");
    assert!(requests[0][0].1.contains("the beans go up the north fence"), "{requests:?}");
    // Long-term memory: another session has what this one was told to remember.
    assert_eq!(chat(&proxy, ANN, "How do I like tomatoes?", json!({})).0, 200);
    assert!(sent(&fake).pop().unwrap()[0].1.contains(REMEMBER));
    // Nothing of it is another user's.
    assert_eq!(
        chat(&proxy, "X-User-Id: bob\r\n", "How do I like tomatoes?", json!({})).1["context"],
        json!([])
    );
    let seen_by_bob = sent(&fake).pop().unwrap();
    assert_eq!(seen_by_bob, [("user".to_owned(), "How do I like tomatoes?".to_owned())]);
}

#[test]
fn a_session_commits_itself_after_the_number_of_turns_in_the_settings() {
    let fake = provider();
    let home = now(&fake.url()).env("RSV_SESSION_COMMIT_TURNS", "2");
    let proxy = Proxy::start(&home);
    let session = begin_again(&proxy, None);
    begin_again(&proxy, Some(&session));
    wait_for("the commit", || {
        ask(&proxy, "GET", &format!("/api/sessions/{session}"), ANN).1["committed_at"].is_string()
    });
}

fn begin_again(proxy: &Proxy, session: Option<&str>) -> String {
    let (status, body) = chat(proxy, ANN, "Where do the tomatoes stand?", json!({"session_id": session}));
    assert_eq!(status, 200, "{body}");
    text(&body["session_id"])
}

#[test]
fn a_chat_answers_without_what_cannot_be_searched_and_says_so() {
    let fake = provider();
    let home = now(&fake.url());
    let proxy = Proxy::start(&home);
    let doc_id = upload_a_document(&proxy);
    // The fallback: of a document in which nothing is found, its first sections.
    let (_, body) = chat(&proxy, ANN, "Zzyzx?", json!({"doc_id": doc_id}));
    let piece = &body["context"][0];
    assert_eq!((&piece["source"], piece["score"].as_f64()), (&json!("document"), Some(1.0)), "{body}");
    assert_eq!(text(&piece["uri"]), "");
    assert!(body.get("openviking_error").is_none(), "{body}");
    // The error: of a document that could not be read.
    let picture = text(&upload(&proxy, ANN, "a.png", b"\x89PNG\r\n\x1a\n0000000")["doc_id"]);
    assert_eq!(settled(&proxy, ANN, &picture)["state"], "failed");
    let (status, body) = chat(&proxy, ANN, "What is in it?", json!({"doc_id": picture}));
    assert_eq!((status, &body["message"]), (200, &json!("By the warm wall.")), "{body}");
    assert!(text(&body["openviking_error"]).contains("could not be read"), "{body}");
}

/// The names of the settings, tables, calls and members in the documents.
const NAMES: [&str; 27] = [
    "openviking_config_file",
    "openviking_data_dir",
    "openviking_agfs_port",
    "openviking_auto_commit_turns",
    "embedding.dense",
    "vlm",
    "CHAT_MODEL",
    "FILE_SEARCH_TOP_N",
    "score_threshold",
    "find",
    "search",
    "chat_sessions",
    "chat_messages",
    "committed_at",
    "document_chunks",
    "get_chunks_for_document",
    "get_short_term_context",
    "get_session_context",
    "get_long_term_memories",
    "session.commit",
    "add_resource",
    "overview",
    "abstract",
    "match_reason",
    "openviking_error",
    "query_plan",
    "mood",
];

/// Keeps: The documentation agrees with the tools.
#[test]
fn the_manual_maps_every_name_of_the_documents_to_settings_that_exist() {
    let page = read("man/rsv-chat.7");
    let mapped = page.split("\n.Ss Coming from the chat backend\n").nth(1).unwrap();
    let mapped = mapped.split("\n.Ss ").next().unwrap();
    let words: Vec<&str> = mapped.split_whitespace().collect();
    for name in NAMES {
        assert!(words.contains(&name), "{name}");
    }
    let home = Home::new();
    let settings = mapped.lines().filter_map(|line| line.strip_prefix(".Va ")?.split_whitespace().next());
    for setting in settings {
        // One that is unset is 1.
        assert_ne!(home.run("rsv-config", &["get", setting], "").status, 2, "{setting}");
    }
}
