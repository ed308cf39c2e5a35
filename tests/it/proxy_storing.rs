//! The turns that rsv-proxy stores: which, when, and how often.

use crate::fake::{Answer, Fake};
use crate::proxy::{Proxy, REPLY, answer, asking, home, post};
use crate::support::{Home, PATIENCE, lines_of, wait_for};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const CHAT: &str = "/v1/chat/completions";

/// A provider that hands over each connection as soon as it has sent its request.
fn gate() -> (String, Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut seen = Vec::new();
            let mut piece = [0; 4096];
            while !String::from_utf8_lossy(&seen).ends_with("}]}") {
                match stream.read(&mut piece) {
                    Ok(read) if read > 0 => seen.extend_from_slice(&piece[..read]),
                    _ => break,
                }
            }
            // The test may have ended.
            let _ = sender.send(stream);
        }
    });
    (format!("http://127.0.0.1:{port}"), receiver)
}

/// Answers a connection of a gate.
fn give(mut stream: TcpStream, reply: &str) {
    let length = reply.len();
    let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all((head + reply).as_bytes()).unwrap();
}

/// The messages of the whole store.
fn stored(home: &Home) -> Vec<Value> {
    lines_of(&home.run("rsv-view", &["--all", "9999"], "").ok())
}

#[test]
fn requests_in_flight_are_answered_and_stored_before_exit() {
    for signal in ["-TERM", "-INT", "-HUP"] {
        let provider = Fake::new([Answer::new(200, REPLY).after(Duration::from_millis(500))]);
        let home = home(&provider);
        let mut proxy = Proxy::start(&home);
        let mut stream = proxy.connect();
        stream.write_all(&post("/v1/chat/completions", "", &asking("late"))).unwrap();
        wait_for("a request", || !provider.seen().is_empty());
        proxy.signal(signal);
        if signal == "-HUP" {
            // A terminal that closes may send it again.
            wait_for("a closed port", || TcpStream::connect(("127.0.0.1", proxy.port())).is_err());
            proxy.signal(signal);
        }
        let (status, body) = answer(stream);
        assert_eq!(status, 200, "{signal}: {body}");
        assert_eq!(proxy.end(), Some(0), "{signal}");
        assert_eq!(home.run("rsv-view", &[], "").ok().lines().count(), 2, "{signal}");
    }
}

#[test]
fn what_waits_is_stored_when_the_terminal_closes() {
    let provider = Fake::answering(|_| Answer::new(200, REPLY));
    let home = home(&provider).env("RSV_ENRICH_TIMEOUT", "200ms");
    let mut proxy = Proxy::start(&home);
    assert_eq!(proxy.post(CHAT, "", &asking("before")).0, 200);
    let locker = rusqlite::Connection::open(home.store()).unwrap();
    locker.execute_batch("BEGIN IMMEDIATE").unwrap();
    for n in 0..10 {
        assert_eq!(proxy.raw(&post(CHAT, "", &asking(&format!("waiting {n}")))).0, 200);
    }
    proxy.signal("-HUP");
    locker.execute_batch("ROLLBACK").unwrap();
    assert_eq!(proxy.wait(), Some(0));
    assert_eq!(stored(&home).len(), 22);
}

#[test]
fn a_proxy_that_ignores_hangups_outlives_its_terminal() {
    let tool = Home::new().command("rsv-proxy");
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" --port 0"]).arg(tool.get_program()).env_clear();
    command.envs(tool.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut proxy = Proxy::spawn(command);
    proxy.signal("-HUP");
    assert_eq!(proxy.get("/health").0, 200);
    // It ignores them still.
    let ignored = proxy.status("SigIgn:").map(|mask| u64::from_str_radix(&mask, 16).unwrap() & 1);
    assert_ne!(ignored, Some(0));
    assert_eq!(proxy.end(), Some(0));
}

#[test]
fn memory_that_fails_stops_no_answer() {
    let provider = Fake::new([Answer::new(200, REPLY)]);
    let home = home(&provider);
    std::fs::create_dir(home.path("directory")).unwrap();
    let home = home.env("RSV_STORE", "sqlite:directory");
    let proxy = Proxy::start(&home);
    let (status, body) = proxy.get("/health");
    assert_eq!(status, 503, "{body}");
    assert!(body.contains("is a directory"), "{body}");
    let (status, body) = proxy.post("/v1/chat/completions", "", &asking("hello"));
    assert_eq!(status, 200, "{body}");
    assert!(body.contains("In \\u00c9vora."), "{body}");
    assert!(!provider.one().text().contains("rsv"));
}

#[test]
fn a_store_that_fails_withholds_no_answer_of_a_turn_that_is_stored_first() {
    let ollama = r#"{"model":"llama3.1","message":{"role":"assistant","content":"In Évora."},"done":true}"#;
    let events = "data: {\"choices\":[{\"delta\":{\"content\":\"In Évora.\"}}]}\n\ndata: [DONE]\n\n";
    let provider = Fake::answering(move |seen| match seen.path.as_str() {
        "/api/chat" => Answer::new(200, ollama),
        _ if seen.text().contains("\"stream\":true") => {
            Answer::new(200, events).header("Content-Type", "text/event-stream")
        }
        _ => Answer::new(200, REPLY),
    });
    let home = home(&provider).env("RSV_PROXY_STORE_FIRST", "true");
    std::fs::create_dir(home.path("here.db")).unwrap();
    let home = home.env("RSV_STORE", "sqlite:here.db");
    let proxy = Proxy::start(&home);
    let streamed = asking("third").replacen('{', "{\"stream\":true,", 1);
    let requests = [(CHAT, asking("first")), ("/api/chat", asking("second")), (CHAT, streamed)];
    for (path, body) in &requests {
        let whole = proxy.whole(&post(path, "", body));
        assert!(whole.starts_with("HTTP/1.1 200") && whole.contains("vora."), "{whole}");
    }
    assert!(proxy.get("/health").1.contains("\"pending\":3,"));
    std::fs::remove_dir(home.path("here.db")).unwrap();
    wait_for("the store", || proxy.get("/health").0 == 200);
    proxy.settle();
    assert_eq!(stored(&home).len(), 2 * requests.len());
}

#[test]
fn an_answer_does_not_wait_for_the_store() {
    let provider = Fake::new(vec![Answer::new(200, REPLY); 3]);
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url()).env("RSV_ENRICH_TIMEOUT", "200ms");
    home.ingest(&[], "{\"role\":\"user\",\"content\":\"before\"}\n");
    let mut proxy = Proxy::start(&home);
    let locker = rusqlite::Connection::open(home.store()).unwrap();
    locker.execute_batch("BEGIN IMMEDIATE").unwrap();
    for text in ["first", "second"] {
        assert_eq!(proxy.raw(&post(CHAT, "", &asking(text))).0, 200);
    }
    assert!(proxy.get("/health").1.contains("\"pending\":2,"));
    locker.execute_batch("ROLLBACK").unwrap();
    assert_eq!(proxy.raw(&post(CHAT, "", &asking("third"))).0, 200);
    assert_eq!(proxy.end(), Some(0));
    let contents: Vec<Value> = stored(&home).iter().map(|line| line["content"].clone()).collect();
    let asked: Vec<&Value> = contents.iter().filter(|content| *content != "In Évora.").collect();
    assert_eq!(asked, ["before", "first", "second", "third"]);
    assert_eq!(contents.len(), 7);
}

#[test]
fn the_next_request_sees_the_previous_answer() {
    let provider = Fake::new(vec![Answer::new(200, REPLY); 20]);
    let proxy = Proxy::start(&Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url()));
    for turn in 0..10 {
        assert_eq!(proxy.raw(&post(CHAT, "", &asking(&format!("this is turn number {turn}")))).0, 200);
        let sent = provider.seen().pop().unwrap();
        assert!(
            (0..turn).all(|before| sent.text().contains(&format!("turn number {before}"))),
            "{}",
            sent.text()
        );
    }
}

#[test]
fn a_store_that_comes_back_gets_the_queued_turns() {
    let provider = Fake::new(vec![Answer::new(200, REPLY); 3]);
    let home = home(&provider);
    std::fs::create_dir(home.path("here.db")).unwrap();
    let home = home.env("RSV_STORE", "sqlite:here.db");
    let proxy = Proxy::start(&home);
    assert_eq!(proxy.post(CHAT, "", &asking("first")).0, 200);
    let (status, body) = proxy.get("/health");
    assert!(status == 503 && body.contains("\"pending\":1,"), "{body}");
    let reported = proxy.whole(&post(CHAT, "", &asking("second")));
    assert!(reported.starts_with("HTTP/1.1 200") && reported.contains("x-rsv-degraded: "), "{reported}");
    std::fs::remove_dir(home.path("here.db")).unwrap();
    wait_for("the store", || proxy.get("/health").0 == 200);
    proxy.settle();
    assert_eq!(stored(&home).len(), 4);
}

#[test]
fn the_question_of_an_answer_that_cannot_be_read_is_stored() {
    let answers =
        [r#"{"choices":[{"message":{"role":"assistant","content":7}}]}"#, r#"{"choices":[{"message":"x"}]}"#];
    let provider = Fake::new(answers.map(|body| Answer::new(200, body)));
    let home = home(&provider);
    let mut proxy = Proxy::start(&home);
    for text in ["first", "second"] {
        assert_eq!(proxy.post(CHAT, "", &asking(text)).0, 200);
    }
    let (said, status) = proxy.last_words();
    assert!(status == Some(0) && !said.contains("is lost"), "{said}");
    let mut stored = home.contents("rsv-view", &["9"]);
    stored.sort();
    assert_eq!(stored, ["first", "second"]);
}

#[test]
fn lost_turns_are_reported_by_trace() {
    let provider = Fake::new(vec![Answer::new(200, REPLY); 3]);
    let home = home(&provider).env("RSV_PROXY_QUEUE", "1");
    std::fs::create_dir(home.path("directory")).unwrap();
    let home = home.env("RSV_STORE", "sqlite:directory");
    let mut proxy = Proxy::start(&home);
    let mut traces = Vec::new();
    for text in ["first", "second", "third"] {
        let (status, body) = proxy.post(CHAT, "", &asking(text));
        assert_eq!(status, 200, "{body}");
        let answer: Value = serde_json::from_str(&body).unwrap();
        traces.push(answer["rsv"]["trace_id"].as_str().unwrap().to_owned());
    }
    let (said, status) = proxy.last_words();
    assert_eq!(status, Some(2), "{said}");
    for trace in traces {
        assert_eq!(said.matches(&format!("the turn {trace} is lost: ")).count(), 1, "{said}");
    }
    assert!(said.contains("3 turns that were answered are not stored"), "{said}");
}

/// Keeps: A retried turn is stored once.
#[test]
fn a_turn_that_is_tried_again_is_stored_once() {
    let (url, provider) = gate();
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &url);
    let proxy = Proxy::start(&home);
    let request = post(CHAT, "", &asking("Where is it?"));
    let mut first = proxy.connect();
    first.write_all(&request).unwrap();
    let waiting = provider.recv().unwrap();
    // Its client loses patience, and asks again.
    drop(first);
    let mut second = proxy.connect();
    second.write_all(&request).unwrap();
    let again = provider.recv().unwrap();
    give(again, REPLY);
    assert_eq!(answer(second).0, 200);
    give(waiting, &REPLY.replace("In ", "Nobody reads "));
    proxy.settle();
    let lines = stored(&home);
    let said: Vec<&Value> = lines.iter().map(|line| &line["content"]).collect();
    assert_eq!(said, ["Where is it?", "In Évora."]);
    // The same message after its answer is a new turn.
    let mut third = proxy.connect();
    third.write_all(&request).unwrap();
    give(provider.recv().unwrap(), REPLY);
    assert_eq!(answer(third).0, 200);
    proxy.settle();
    assert_eq!(stored(&home).len(), 4);
}

#[test]
fn a_turn_that_a_provider_refused_keeps_its_trace() {
    let provider =
        Fake::new([Answer::new(500, "{\"error\":\"no\"}"), Answer::new(200, REPLY), Answer::new(200, REPLY)]);
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url());
    let mut proxy = Proxy::start_with(&home, &["-v"]);
    assert_eq!(proxy.post(CHAT, "", &asking("x")).0, 500);
    let (status, body) = proxy.post(CHAT, "", &asking("x"));
    assert_eq!(status, 200, "{body}");
    let lines = stored(&home);
    let answered: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((lines.len(), &lines[0]["trace_id"]), (2, &answered["rsv"]["trace_id"]));
    // The user's message has the time of the first request.
    assert!(lines[0]["timestamp"].as_i64() <= answered["rsv"]["account"]["timestamp"].as_i64());
    assert_eq!(proxy.end(), Some(0));
}

#[test]
fn answered_turns_are_stored_once_despite_a_shutdown() {
    let (url, provider) = gate();
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &url);
    let mut proxy = Proxy::start(&home);
    std::thread::spawn(move || {
        for stream in provider {
            give(stream, REPLY);
        }
    });
    let answered: Vec<String> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..8)
            .map(|client| {
                let proxy = &proxy;
                scope.spawn(move || {
                    let mut answered = Vec::new();
                    for turn in 0.. {
                        let text = format!("client {client} turn {turn}");
                        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", proxy.port())) else { break };
                        stream.set_read_timeout(Some(PATIENCE)).unwrap();
                        let _ = stream.write_all(&post(CHAT, "x-rsv-memory: store\r\n", &asking(&text)));
                        if answer(stream).0 != 200 {
                            break;
                        }
                        answered.push(text);
                        if client == 0 && turn == 20 {
                            proxy.terminate();
                        }
                    }
                    answered
                })
            })
            .collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    let (said, status) = proxy.last_words();
    assert_eq!(status, Some(0), "{said}");
    let lines = stored(&home);
    assert!(answered.len() > 20, "{answered:?}");
    for text in &answered {
        assert_eq!(lines.iter().filter(|line| line["content"] == text.as_str()).count(), 1, "{text}");
    }
    let answers = lines.iter().filter(|line| line["role"] == "assistant").count();
    assert_eq!(lines.len(), 2 * answers);
    home.check();
}

#[test]
fn tool_results_are_stored_only_if_keep_tools_is_set() {
    let body = json!({"model": "llama3.1", "messages": [
        {"role": "user", "content": "weather?"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "0"}]}, {"role": "tool", "tool_call_id": "0", "content": "old"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "1"}, {"id": "2"}]},
        {"role": "tool", "tool_call_id": "1", "content": "rain"}, {"role": "tool", "tool_call_id": "2", "content": "cold"},
    ]});
    for (keep, wanted) in [("false", &["In Évora."][..]), ("true", &["rain", "cold", "In Évora."])] {
        let provider = Fake::new([Answer::new(200, REPLY)]);
        let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url()).env("RSV_KEEP_TOOLS", keep);
        let proxy = Proxy::start(&home);
        assert_eq!(proxy.post(CHAT, "", &body.to_string()).0, 200);
        let lines = stored(&home);
        let said: Vec<&Value> = lines.iter().map(|line| &line["content"]).collect();
        assert_eq!(said, wanted);
        assert!(
            keep == "false" || lines[1]["tool_call_id"] == "2" && lines[1]["role"] == "tool",
            "{lines:?}"
        );
    }
}
