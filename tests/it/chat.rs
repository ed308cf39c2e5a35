//! The chat backend of rsv-proxy: its answers and events, its sessions, and what a user may see.

use crate::chat_uploads::{settled, upload};
use crate::fake::{Answer, Call, Fake, Wire, dead};
use crate::proxy::{Proxy, answer, asked, home, post};
use crate::support::{Home, lines_of, on_each_store, text};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;

pub(crate) const GARDEN: &str =
    "# Garden\n\nThe tomatoes stand by the warm wall, and the beans go up the north fence.\n";

/// A provider that answers as it is asked to, whole or in pieces.
pub(crate) fn provider() -> Fake {
    saying(&["By the ", "warm ", "wall."])
}

pub(crate) fn saying(words: &[&str]) -> Fake {
    let events: String = words.iter().map(|word| chunk(word)).collect();
    let events = format!("{events}{STOP}data: [DONE]\n\n");
    let whole = json!({"id": "c", "object": "chat.completion", "model": "llama3.1", "choices": [
        {"index": 0, "message": {"role": "assistant", "content": words.concat()}, "finish_reason": "stop"}]});
    Fake::answering(move |seen| {
        if seen.text().contains("\"stream\":true") {
            Answer::new(200, events.clone()).header("Content-Type", "text/event-stream")
        } else {
            Answer::new(200, whole.to_string())
        }
    })
}

const STOP: &str = "data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

fn chunk(word: &str) -> String {
    let chunk = json!({"object": "chat.completion.chunk", "model": "llama3.1",
        "choices": [{"index": 0, "delta": {"content": word}}]});
    format!("data: {chunk}\n\n")
}

/// A home whose provider is this one, at the present time.
pub(crate) fn now(url: &str) -> Home {
    Home::new().env("RSV_OLLAMA_BASE_URL", url).env("RSV_ENRICH_TIMEOUT", "60s").env("RSV_RETRIES", "0")
}

pub(crate) fn says(message: &str, more: Value) -> String {
    let mut body = json!({"message": message, "model": "llama3.1"});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body.to_string()
}

/// Chats; the status and the answer.
pub(crate) fn chat(proxy: &Proxy, headers: &str, message: &str, more: Value) -> (u16, Value) {
    let (status, body) = proxy.post("/api/ai/chat", headers, &says(message, more));
    (status, serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}")))
}

/// Chats in a session of the partition `default`.
pub(crate) fn say(proxy: &Proxy, session: &str, message: &str) {
    let (status, body) = chat(proxy, "", message, json!({"session_id": session}));
    assert_eq!(status, 200, "{body}");
}

/// Chats, and reads the events byte by byte, as they are separated by the specification.
pub(crate) fn events(proxy: &Proxy, message: &str, more: Value) -> Vec<(String, Value)> {
    let mut client = proxy.connect();
    client.write_all(&post("/api/ai/chat/stream", "", &says(message, more))).unwrap();
    let events = read_events(&mut client);
    proxy.settle();
    events
}

fn read_events(client: &mut impl Read) -> Vec<(String, Value)> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while client.read(&mut byte).unwrap() > 0 {
        bytes.push(byte[0]);
    }
    let answer = String::from_utf8(bytes).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.to_lowercase().contains("content-type: text/event-stream"), "{answer}");
    let mut plain = String::new();
    let mut rest = body;
    while let Some((length, after)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        plain.push_str(&after[..length]);
        rest = after[length..].trim_start_matches("\r\n");
        if length == 0 {
            break;
        }
    }
    let event = |event: &str| {
        let (name, data) = event.split_once("\ndata: ").unwrap();
        (name.strip_prefix("event: ").unwrap().to_owned(), serde_json::from_str(data).unwrap())
    };
    plain.split_terminator("\n\n").map(event).collect()
}

pub(crate) fn members(value: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

pub(crate) fn names(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(name, _)| name.as_str()).collect()
}

/// The messages that a provider got, each as its role and its content.
pub(crate) fn sent(fake: &Fake) -> Vec<Vec<(String, String)>> {
    let messages = |body: &str| -> Vec<(String, String)> {
        let body: Value = serde_json::from_str(body).unwrap();
        let turns = body["messages"].as_array().unwrap().clone();
        turns.iter().map(|turn| (text(&turn["role"]), text(&turn["content"]))).collect()
    };
    fake.seen().iter().map(|seen| messages(seen.text())).collect()
}

#[test]
fn an_answer_has_every_member_and_its_turn_is_stored() {
    let fake = provider();
    let home = now(&fake.url());
    let proxy = Proxy::start(&home);
    let (status, body) = chat(&proxy, "X-User-Id: ann\r\n", "Where are my tomatoes?", json!({}));
    assert_eq!(status, 200, "{body}");
    assert_eq!(members(&body), ["context", "message", "mood", "session_id"]);
    assert_eq!((&body["message"], &body["mood"]), (&"By the warm wall.".into(), &"neutral".into()));
    assert_eq!(body["context"], json!([]));
    let session = text(&body["session_id"]);
    let stored = home.contents("rsv-view", &["-p", "ann", "-i", &session]);
    assert_eq!(stored, ["Where are my tomatoes?", "By the warm wall."]);
    let (_, again) = chat(&proxy, "X-User-Id: ann\r\n", "Hello", json!({}));
    assert_ne!(again["session_id"], body["session_id"]);
}

#[test]
fn a_stream_has_its_events_in_order() {
    let fake = provider();
    let home = now(&fake.url());
    let proxy = Proxy::start(&home);
    let found = events(&proxy, "Where are my tomatoes?", json!({"debug_search_trace": true}));
    assert_eq!(names(&found), ["context", "token", "token", "token", "mood", "done"], "{found:?}");
    let session = text(&found[0].1["session_id"]);
    assert_eq!(members(&found[0].1), ["context", "search_trace", "session_id"]);
    let trace = &found[0].1["search_trace"];
    assert_eq!(trace["target_uri"], "viking://resources/users/default");
    assert_eq!(
        (&trace["result_count"], &trace["query_plan"]["queries"]),
        (&0.into(), &json!(["Where are my tomatoes?"]))
    );
    let tokens: Vec<&str> = found[1..4].iter().map(|(_, data)| data["token"].as_str().unwrap()).collect();
    assert_eq!(tokens, ["By the ", "warm ", "wall."]);
    assert!(found[1..4].iter().all(|(_, data)| data["session_id"] == session.as_str()));
    assert_eq!(found[4].1, json!({"mood": "neutral"}));
    assert_eq!(found[5].1, json!({"message": "By the warm wall.", "session_id": session}));
    assert_eq!(home.contents("rsv-view", &["-p", "default", "-i", &session]).len(), 2);
}

#[test]
fn the_last_messages_of_a_session_are_turns_and_come_before_history() {
    let fake = provider();
    let home = now(&fake.url());
    let proxy = Proxy::start(&home);
    let history =
        json!([{"role": "user", "content": "I am Ann"}, {"role": "assistant", "content": "Hello Ann"}]);
    let (_, first) = chat(&proxy, "", "Where?", json!({"history": history}));
    let session = text(&first["session_id"]);
    let other = json!([{"role": "user", "content": "I am Bob"}]);
    for number in 0..6 {
        let more = json!({"history": other, "session_id": session});
        let (status, body) = chat(&proxy, "", &format!("And number {number}?"), more);
        assert_eq!((status, &body["session_id"]), (200, &first["session_id"]), "{body}");
    }
    let sent = sent(&fake);
    let turn = |role: &str, text: &str| (role.to_owned(), text.to_owned());
    assert_eq!(sent[0], [turn("user", "I am Ann"), turn("assistant", "Hello Ann"), turn("user", "Where?")]);
    let second =
        [turn("user", "Where?"), turn("assistant", "By the warm wall."), turn("user", "And number 0?")];
    assert_eq!(sent[1], second);
    // Ten messages, and the new one.
    assert_eq!(sent[6].len(), 11);
    assert_eq!(sent[6][0], turn("user", "And number 0?"));
    assert!(!format!("{sent:?}").contains("Bob"));
}

/// Keeps: The pipe and the chat backend send and store the same.
#[test]
fn the_pipe_and_the_chat_backend_send_and_store_the_same() {
    let note = |at: &str, text: &str| {
        json!({"kind": "document", "uri": format!("viking://resources/users/ann/documents/{at}"), "partition": "ann",
            "content": text, "timestamp": 1_700_000_000_000_i64})
        .to_string()
            + "\n"
    };
    let other = |n: usize| {
        json!({"role": "user", "content": format!("Number {n} on the list is bread"), "partition": "ann",
            "instance": "s0", "timestamp": 1_600_000_000_000_i64 + n as i64})
        .to_string()
            + "\n"
    };
    let past = (1..9).map(other).collect::<String>()
        + &json!({"role": "user", "content": "I cook the tomatoes in a copper pot", "partition": "ann",
        "instance": "s0", "trace_id": "0", "timestamp": 1_600_000_000_000_i64})
    .to_string()
        + "\n"
        + &json!({"role": "user", "content": "My tomatoes are red", "partition": "ann", "instance": "s1",
        "trace_id": "1", "timestamp": 1_700_000_000_000_i64})
    .to_string()
        + "\n"
        + &json!({"role": "assistant", "content": "I see", "partition": "ann", "instance": "s1", "trace_id": "1",
            "timestamp": 1_700_000_001_000_i64})
        .to_string()
        + "\n"
        + &json!({"kind": "memory", "title": "Tomatoes", "content": "Water the tomatoes in the morning", "outcome": "success",
            "partition": "ann", "timestamp": 1_700_000_000_000_i64, "id": "m1"})
        .to_string()
        + "\n"
        + &json!({"kind": "document", "uri": "viking://user/ann/sessions/s1/history/a1", "partition": "ann",
            "instance": "s1", "overview": "The user has red tomatoes", "covers": ["x"],
            "timestamp": 1_700_000_000_000_i64})
        .to_string()
        + "\n"
        + &note("d1", "The tomatoes stand by the warm wall")
        + &note("d2", "The beans go up the fence");
    let recalled = "similar,recent,memories,documents";
    for (streams, recalled) in [(false, recalled.to_owned()), (true, format!("{recalled},archives"))] {
        let (by_pipe, by_proxy) = (provider(), provider());
        let (pipe, proxied) = (home(&by_pipe), home(&by_proxy));
        let proxied = if streams { proxied.env("RSV_CHAT_RECALL", &recalled) } else { proxied };
        for home in [&pipe, &proxied] {
            home.run("rsv-ingest", &[], &past).ok();
        }
        let request =
            r#"{"model":"llama3.1","messages":[{"role":"user","content":"Where are the tomatoes?"}]}"#;
        let words = ["--session", "s1", "-p", "ann", "--recall", &recalled, "--recent", "10"];
        let more = ["--memories", "5", "--documents", "5", "--target", "viking://resources/users/ann"];
        let enriched = pipe.run("rsv-enrich", &[&words[..], &more].concat(), request).ok();
        let stream: &[&str] = if streams { &["--stream"] } else { &[] };
        let answered = pipe.run("rsv-forward", stream, enriched).ok();
        pipe.run("rsv-ingest", &[], answered).ok();

        let proxy = Proxy::start(&proxied);
        let path = if streams { "/api/ai/chat/stream" } else { "/api/ai/chat" };
        let message = says("Where are the tomatoes?", json!({"session_id": "s1"}));
        let (status, body) = proxy.post(&format!("/partition/ann{path}"), "", &message);
        assert_eq!(status, 200, "{body}");
        assert_eq!(by_proxy.one().text(), by_pipe.one().text());
        let sent = by_pipe.one().text().to_owned();
        for part in ["My tomatoes are red", "Water the tomatoes", "warm wall", "in a copper pot"] {
            assert!(sent.contains(part), "{part}: {sent}");
        }
        assert_eq!(
            (sent.contains("has red tomatoes"), sent.matches("<rsv-memory>").count()),
            (streams, 3 + usize::from(streams)),
            "{sent}"
        );
        // A signal of use names the store that it was counted in.
        let stored = |home: &Home| -> Vec<String> {
            home.export().lines().filter(|line| !line.contains("\"usage\"")).map(str::to_owned).collect()
        };
        assert_eq!(stored(&proxied), stored(&pipe));
        assert!(body.contains("viking://resources/users/ann/documents/d1"), "{body}");
        assert!(!body.contains("sessions/s1"), "{body}");
    }
}

on_each_store!(a_document_of_the_user_is_the_context_and_no_others);
/// Keeps: A user sees only what is the user's.
fn a_document_of_the_user_is_the_context_and_no_others(home: Home) {
    let fake = provider();
    let home = home.env("RSV_OLLAMA_BASE_URL", &fake.url()).env("RSV_ENRICH_TIMEOUT", "60s");
    let proxy = Proxy::start(&home);
    let (ann, bob) = ("X-User-Id: ann\r\n", "X-User-Id: bob\r\n");
    let garden = text(&upload(&proxy, ann, "garden.md", GARDEN.as_bytes())["doc_id"]);
    let house = text(&upload(&proxy, ann, "house.md", b"The key of the house is under the stone.")["doc_id"]);
    for id in [&garden, &house] {
        assert_eq!(settled(&proxy, ann, id)["state"], "ready");
    }
    let question = "Where do the tomatoes stand?";
    let (_, body) = chat(&proxy, ann, question, json!({"doc_id": garden, "debug_search_trace": true}));
    let context = &body["context"][0];
    assert_eq!(members(context), ["chunk_id", "doc_id", "score", "source", "text", "uri"], "{body}");
    assert_eq!((&context["doc_id"], &context["source"]), (&garden.as_str().into(), &"semantic".into()));
    assert!(text(&context["text"]).contains("warm wall") && context["score"].as_f64().unwrap() > 0.0);
    assert_eq!(context["uri"], format!("viking://resources/users/ann/documents/{garden}"));
    assert_eq!(body["search_trace"]["result_count"], 1, "{body}");
    assert_eq!(body["search_trace"]["query_results"][0]["steps"][0]["event"], "search_start");
    assert_eq!(body["search_trace"]["query_plan"], json!({"queries": [question], "session_context": false}));
    // Earlier messages of the session count too.
    let later = json!({"session_id": body["session_id"], "debug_search_trace": true});
    let (_, later) = chat(&proxy, ann, "And what else stands there?", later);
    assert_eq!(later["search_trace"]["query_plan"]["session_context"], true, "{later}");
    assert_eq!(later["search_trace"]["query_results"][0]["steps"][0]["session_context"], true, "{later}");
    // A whole library, and another document.
    let (_, body) = chat(&proxy, ann, question, json!({}));
    assert_eq!(body["context"][0]["doc_id"], garden.as_str(), "{body}");
    let (_, body) = chat(&proxy, ann, question, json!({"doc_id": house}));
    assert!(
        body["context"].as_array().unwrap().iter().all(|piece| piece["doc_id"] == house.as_str()),
        "{body}"
    );
    for (headers, doc_id, status) in [
        (bob, garden.as_str(), 404),
        ("", &garden, 404),
        (ann, "nothing", 404),
        (bob, "../../ann/documents", 400),
        (bob, "..", 400),
        (bob, "viking://resources/users/ann", 400),
    ] {
        let (found, body) = chat(&proxy, headers, question, json!({"doc_id": doc_id}));
        assert_eq!(found, status, "{doc_id}: {body}");
        assert!(body["error"]["message"].is_string(), "{body}");
    }
    for (headers, more) in [
        (bob, json!({})),
        (bob, json!({"user_id": "ann"})),
        ("", json!({"user_id": "users/ann/documents"})),
        (bob, json!({"session_id": body["session_id"]})),
    ] {
        let (_, body) = chat(&proxy, headers, question, more);
        assert!(body["context"].as_array().is_none_or(Vec::is_empty), "{body}");
    }
    let seen = fake.seen();
    assert!(!seen.last().unwrap().text().contains("warm wall, and"), "{}", seen.last().unwrap().text());
}

#[test]
fn what_is_no_request_is_refused_in_the_shape_of_openai() {
    let home = now(&dead());
    let proxy = Proxy::start(&home);
    for (body, status, words) in [
        ("{", 400, "invalid JSON"),
        ("{}", 400, "message: is missing"),
        (r#"{"message": " "}"#, 400, "message: is empty"),
        (r#"{"message": 1}"#, 400, "message"),
        (r#"{"message": "x", "history": 1}"#, 400, "history"),
        (r#"{"message": "x", "history": [{"role": "system", "content": "x"}]}"#, 400, "history[0]"),
        (r#"{"message": "x", "history": [{"role": "user"}]}"#, 400, "history[0]: content: is missing"),
        (r#"{"message": "x", "session_id": "a/b"}"#, 400, "session_id"),
        (r#"{"message": "x", "session_id": ".."}"#, 400, "session_id"),
        (r#"{"message": "x", "debug_search_trace": 1}"#, 400, "debug_search_trace"),
        (
            r#"{"message": "x", "model": "llama3.1", "history": null, "doc_id": null, "session_id": ""}"#,
            502,
            "Failed to connect",
        ),
    ] {
        let (found, answered) = proxy.post("/api/ai/chat", "", body);
        let answered: Value = serde_json::from_str(&answered).unwrap();
        assert_eq!(found, status, "{body}: {answered}");
        assert!(text(&answered["error"]["message"]).contains(words), "{answered}");
    }
    let (status, body) = proxy.get("/api/ai/chat");
    assert!(status == 405 && body.contains("\"code\""), "{status} {body}");
    let failed = events(&proxy, "x", json!({}));
    assert_eq!(names(&failed), ["context", "error"], "{failed:?}");
    assert!(
        text(&failed[1].1["message"]).contains("Failed to connect") && failed[1].1["session_id"].is_string()
    );
    assert!(proxy.raw(&asked("OPTIONS", "/api/ai/chat", "")).0 == 204);
    let strange = "Origin: http://page.example\r\n";
    assert_eq!(proxy.raw(&post("/api/ai/chat", strange, &says("x", json!({})))).0, 403);
}

#[test]
fn a_listed_page_may_use_every_method() {
    let home = now(&dead()).env("RSV_PROXY_ORIGINS", "http://page.example");
    let proxy = Proxy::start(&home);
    let headers = "Origin: http://page.example\r\nAccess-Control-Request-Method: DELETE\r\n";
    let answered = proxy.whole(&asked("OPTIONS", "/api/sessions/s", headers)).to_lowercase();
    assert!(
        answered.contains("access-control-allow-methods: get, head, post, delete, options"),
        "{answered}"
    );
    let answered = proxy.whole(&post("/api/ai/chat/stream", headers, &says("x", json!({})))).to_lowercase();
    assert!(answered.contains("access-control-allow-origin: http://page.example"), "{answered}");
}

/// A chat whose provider has said the first words, and whose client has not read them.
fn begun(proxy: &Proxy, wire: &Wire) -> (TcpStream, Call) {
    let mut client = proxy.connect();
    client.write_all(&post("/api/ai/chat/stream", "", &says("Where?", json!({"session_id": "s"})))).unwrap();
    let mut call = wire.accept();
    call.begin("");
    assert!(call.piece(chunk("By the ")));
    (client, call)
}

#[test]
fn an_answer_that_breaks_off_ends_with_an_error_and_is_stored_in_part() {
    let wire = Wire::new();
    let home = now(&wire.url());
    let proxy = Proxy::start(&home);
    let (mut client, call) = begun(&proxy, &wire);
    drop(call);
    let found = read_events(&mut client);
    assert_eq!(names(&found), ["context", "token", "error"], "{found:?}");
    proxy.settle();
    let stored = lines_of(&home.run("rsv-view", &["-p", "default", "-i", "s"], "").ok());
    assert_eq!((stored.len(), &stored[1]["partial"]), (2, &true.into()), "{stored:?}");
}

#[test]
fn a_client_that_goes_away_ends_the_request_and_what_came_is_stored() {
    let wire = Wire::new();
    let home = now(&wire.url());
    let proxy = Proxy::start(&home);
    let (mut client, call) = begun(&proxy, &wire);
    let mut seen = String::new();
    let mut piece = [0; 1000];
    while !seen.contains("event: token") {
        let read = client.read(&mut piece).unwrap();
        seen.push_str(std::str::from_utf8(&piece[..read]).unwrap());
    }
    drop(client);
    call.hung_up();
    proxy.settle();
    let stored = lines_of(&home.run("rsv-view", &["-p", "default", "-i", "s"], "").ok());
    assert_eq!(
        (stored.len(), &stored[1]["content"], &stored[1]["partial"]),
        (2, &"By the ".into(), &true.into()),
        "{stored:?}"
    );
}

#[test]
fn each_token_is_sent_before_the_next_arrives() {
    let wire = Wire::new();
    let home = now(&wire.url());
    let proxy = Proxy::start(&home);
    let mut client = proxy.connect();
    client.write_all(&post("/api/ai/chat/stream", "", &says("Where?", json!({})))).unwrap();
    let mut seen = String::new();
    let mut wait_for = |words: &str| {
        let mut byte = [0];
        while !seen.ends_with(words) {
            assert_eq!(client.read(&mut byte).unwrap(), 1, "{seen}");
            seen.push(byte[0].into());
        }
    };
    // The context, before the provider has said anything.
    let mut call = wire.accept();
    wait_for("}\n\n");
    call.begin("");
    for word in ["By ", "the ", "wall"] {
        assert!(call.piece(chunk(word)));
        wait_for(&format!("\"token\":\"{word}\""));
    }
    call.piece(format!("{STOP}data: [DONE]\n\n"));
    call.end();
    wait_for("event: done");
}

#[test]
fn the_last_line_gives_the_mood_if_it_is_asked_for() {
    let fake = saying(&["By the wall.", "\n", "\nmo", "od: cheer", "ful\n"]);
    let home = now(&fake.url()).env("RSV_CHAT_MOOD", "true").env("RSV_CHAT_SYSTEM", "Be brief.");
    let proxy = Proxy::start(&home);
    let (_, body) = chat(&proxy, "", "Where?", json!({}));
    assert_eq!((&body["message"], &body["mood"]), (&"By the wall.".into(), &"cheerful".into()));
    let found = events(&proxy, "Where now?", json!({}));
    assert_eq!(names(&found), ["context", "token", "mood", "done"], "{found:?}");
    assert_eq!((&found[1].1["token"], &found[2].1["mood"]), (&"By the wall.".into(), &"cheerful".into()));
    let system = &sent(&fake)[0][0];
    assert!(
        system.0 == "system" && system.1.starts_with("Be brief.\n\n") && system.1.contains("mood"),
        "{system:?}"
    );
}

/// Keeps: The chat is answered even if memory fails.
#[test]
fn without_the_store_the_chat_is_answered_and_says_why() {
    let fake = provider();
    let home = now(&fake.url()).env("RSV_ENRICH_TIMEOUT", "500ms");
    home.run("rsv-ingest", &["-p", "default", "-i", "s"], "{\"role\":\"user\",\"content\":\"canary\"}\n")
        .ok();
    let proxy = Proxy::start(&home);
    std::fs::rename(home.store(), home.path("away.db")).unwrap();
    std::fs::write(home.store(), "this is no store").unwrap();
    let answered = proxy.raw(&post("/api/ai/chat", "", &says("Where?", json!({"session_id": "s"}))));
    let body: Value = serde_json::from_str(&answered.1).unwrap();
    assert_eq!(
        (answered.0, &body["message"], &body["context"]),
        (200, &"By the warm wall.".into(), &json!([])),
        "{body}"
    );
    assert!(!text(&body["openviking_error"]).is_empty(), "{body}");
    let mut client = proxy.connect();
    client.write_all(&post("/api/ai/chat/stream", "", &says("Where?", json!({"session_id": "t"})))).unwrap();
    let found = read_events(&mut client);
    assert_eq!(names(&found).first(), Some(&"context"));
    assert_eq!(names(&found).last(), Some(&"done"));
    for (name, data) in found.iter().filter(|(name, _)| ["context", "done"].contains(&name.as_str())) {
        assert!(!text(&data["openviking_error"]).is_empty(), "{name} {data}");
    }
    // Records that only the store has cannot be shown.
    for (method, path) in [
        ("GET", "/api/sessions"),
        ("GET", "/api/sessions/s"),
        ("POST", "/api/sessions/s/commit"),
        ("DELETE", "/api/sessions/s"),
        ("GET", "/api/documents/d"),
    ] {
        let (status, body) = proxy.raw(&asked(method, path, ""));
        let body: Value = serde_json::from_str(&body).unwrap();
        assert!(status == 503 && body["error"]["message"].is_string(), "{method} {path}: {status} {body}");
    }
    std::fs::rename(home.path("away.db"), home.store()).unwrap();
    proxy.settle();
}

#[test]
fn every_route_of_the_chat_needs_the_token() {
    let home = now(&dead()).env("RSV_PROXY_TOKEN", "canary-token");
    let proxy = Proxy::start_with(&home, &["--listen", "0.0.0.0", "--chat"]);
    let says = says("x", json!({}));
    for prefix in ["", "/partition/ann", "/partition/ann/instance/s"] {
        let asks = [
            post(&format!("{prefix}/api/ai/chat"), "", &says),
            post(&format!("{prefix}/api/ai/chat/stream"), "", &says),
            post(&format!("{prefix}/api/documents/upload"), "", "{}"),
            asked("GET", &format!("{prefix}/api/documents"), ""),
            asked("DELETE", &format!("{prefix}/api/documents/d"), ""),
            asked("GET", &format!("{prefix}/api/sessions"), ""),
            asked("GET", &format!("{prefix}/api/sessions/s"), ""),
            asked("POST", &format!("{prefix}/api/sessions/s/commit"), ""),
            asked("DELETE", &format!("{prefix}/api/sessions/s"), ""),
        ];
        for ask in asks {
            let (status, body) = proxy.raw(&ask);
            let line = String::from_utf8_lossy(&ask).lines().next().unwrap_or_default().to_owned();
            assert!(status == 401 && body.contains("\"invalid_token\""), "{line}: {status} {body}");
        }
    }
}

#[test]
fn a_store_that_is_locked_is_waited_for_and_no_longer_than_memory_may_take() {
    let fake = provider();
    let home = now(&fake.url()).env("RSV_ENRICH_TIMEOUT", "300ms");
    let proxy = Proxy::start(&home);
    let (_, first) = chat(&proxy, "", "Where?", json!({}));
    let store = rusqlite::Connection::open(home.store()).unwrap();
    store.execute_batch("BEGIN IMMEDIATE").unwrap();
    // The first of these turns waits to be stored, and so does the memory of the second.
    let answers = ["And the beans?", "And the peas?"].map(|message| {
        let mut client = proxy.connect();
        let body = says(message, json!({"session_id": first["session_id"]}));
        client.write_all(&post("/api/ai/chat", "", &body)).unwrap();
        let (status, body) = answer(client);
        assert_eq!(status, 200, "{body}");
        serde_json::from_str::<Value>(&body).unwrap()
    });
    assert!(answers.iter().all(|body| body["message"] == "By the warm wall."), "{answers:?}");
    assert_eq!(answers[1]["openviking_error"], "memory did not answer within 300ms");
    store.execute_batch("COMMIT").unwrap();
    drop(store);
    proxy.settle();
    let session = text(&first["session_id"]);
    assert_eq!(home.contents("rsv-view", &["-p", "default", "-i", &session]).len(), 6);
}

#[test]
fn an_index_that_is_broken_leaves_the_first_sections() {
    let fake = provider();
    let home = now(&fake.url());
    let proxy = Proxy::start(&home);
    let long: String = (1..9)
        .map(|at| format!("# Part {at}\n\n{}\n\n", format!("Words of part {at}. ").repeat(150)))
        .collect();
    let doc_id = text(&upload(&proxy, "", "long.md", long.as_bytes())["doc_id"]);
    assert_eq!(settled(&proxy, "", &doc_id)["state"], "ready");
    // A question that no word of the document answers.
    let (_, body) = chat(&proxy, "", "Zusammenfassung?", json!({"doc_id": doc_id}));
    let pieces = body["context"].as_array().unwrap();
    assert_eq!(pieces.len(), 5, "{body}");
    for (at, piece) in pieces.iter().enumerate() {
        assert!(text(&piece["text"]).contains(&format!("Part {}", at + 1)), "{piece}");
        assert_eq!(
            (&piece["source"], &piece["score"], &piece["uri"]),
            (&"document".into(), &json!(1.0), &"".into())
        );
        assert_eq!(piece["doc_id"], doc_id.as_str());
    }
    assert!(body.get("openviking_error").is_none(), "{body}");
    drop(proxy);
    let store = rusqlite::Connection::open(home.store()).unwrap();
    let tables: Vec<String> = store
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE '%segment%'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(!tables.is_empty());
    for table in tables {
        store.execute_batch(&format!("ALTER TABLE {table} RENAME TO broken_{table}")).unwrap();
    }
    drop(store);
    let proxy = Proxy::start(&home);
    let (status, body) = chat(&proxy, "", "What are the words of part 3?", json!({"doc_id": doc_id}));
    assert_eq!((status, &body["message"]), (200, &"By the warm wall.".into()), "{body}");
    assert!(!text(&body["openviking_error"]).is_empty(), "{body}");
    assert_eq!(body["context"].as_array().unwrap().len(), 5, "{body}");
}

#[test]
fn two_hundred_streams_at_once_are_answered() {
    let fake = provider();
    let home = now(&fake.url());
    let proxy = Proxy::start(&home);
    std::thread::scope(|scope| {
        for at in 0..200 {
            let proxy = &proxy;
            scope.spawn(move || {
                let mut client = proxy.connect();
                let body = says(&format!("Question {at}"), json!({"session_id": format!("s{at}")}));
                client.write_all(&post("/api/ai/chat/stream", "", &body)).unwrap();
                assert_eq!(names(&read_events(&mut client)).last(), Some(&"done"));
            });
        }
    });
    proxy.settle();
    assert_eq!(
        lines_of(&home.run("rsv-export", &["--kind", "message"], "").ok())
            .iter()
            .filter(|line| line["kind"] == "message")
            .count(),
        400
    );
}

/// The number of times that each request of a provider has a text.
fn counts(fake: &Fake, wanted: &str) -> Vec<usize> {
    fake.seen().iter().map(|seen| seen.text().to_lowercase().matches(wanted).count()).collect()
}

/// Keeps: A sentence is in a prompt once.
#[test]
fn a_sentence_is_in_a_prompt_once() {
    let fake = provider();
    let home = now(&fake.url());
    let proxy = Proxy::start(&home);
    let said = "Remember that my tomatoes of this year are called Harzfeuer and stand by the warm wall.";
    let in_session = |session: &str, message: &str| {
        assert_eq!(chat(&proxy, "", message, json!({"session_id": session})).0, 200);
    };
    in_session("s1", said);
    assert_eq!(proxy.raw(&asked("POST", "/api/sessions/s1/commit", "")).0, 200);
    let memories = lines_of(&home.run("rsv-view", &["-p", "default", "--kind", "memory"], "").ok());
    assert_eq!((memories.len(), &memories[0]["content"]), (1, &said.into()));
    // In another session the memory says it, and neither its title nor the message does again.
    in_session("s2", "What are my tomatoes called?");
    // In its own session the turn says it.
    in_session("s1", "What are my tomatoes called?");
    // The message alone.
    home.run("rsv-forget", &["-p", "default", &text(&memories[0]["id"])], "").ok();
    in_session("s3", "What are my tomatoes called, and where do they stand?");
    assert_eq!(counts(&fake, "are called harzfeuer"), [1, 1, 1, 1]);
    let (second, third) = (&sent(&fake)[1], &sent(&fake)[2]);
    assert!(second[0].1.contains("<rsv-memory>") && second[0].1.contains(", confidence 0."), "{second:?}");
    assert!(third[0].1.contains(said) && !third[2].1.contains("Harzfeuer"), "{third:?}");
    // A message that says more than the memory is quoted.
    let more = "Ann said: remember that I water the roses at six, and that the can is in the shed.";
    home.ingest(&["-p", "default", "-i", "s9"], &json!({"role": "user", "content": more}).to_string());
    home.ingest(
        &["-p", "default"],
        &json!({"kind": "memory", "category": "preference", "title": "Roses", "content": "I water the roses at six"})
            .to_string(),
    );
    in_session("s4", "When do I water the roses?");
    let last = fake.seen().pop().unwrap();
    assert!(last.text().contains("the can is in the shed"), "{}", last.text());
}
