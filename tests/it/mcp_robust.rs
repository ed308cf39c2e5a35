//! rsv-mcp under load, kills, cancelled calls and changed messages.

use crate::fake::{Answer, Fake};
use crate::mcp::Client;
use crate::mutations::mutate;
use crate::proxy::{Proxy, REPLY, asking, post};
use crate::support::{Dice, Home, lines_of, number_from, text, tries};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::time::Duration;

#[test]
fn a_hundred_calls_at_once_are_all_answered() {
    let home = Home::with_model();
    home.ingest(&["-p", "p"], &json!({"role": "user", "content": "The first owl"}).to_string());
    let mut client = Client::start(&home, &["-p", "p"]);
    let mut wanted = BTreeMap::new();
    for n in 0..100 {
        let (tool, arguments) = match n % 4 {
            0 => ("remember", json!({"text": format!("Owl number {n}")})),
            1 => ("recall", json!({"query": "owl"})),
            2 => (
                "memory_record",
                json!({"title": format!("Owl {n}"), "content": "Feed it.", "tags": ["owls"]}),
            ),
            _ => ("memory_search", json!({"query": "feed an owl"})),
        };
        wanted.insert(client.send("tools/call", json!({"name": tool, "arguments": arguments})), tool);
    }
    while !wanted.is_empty() {
        let message = client.receive();
        let tool = wanted.remove(&message["id"].as_u64().unwrap()).unwrap();
        assert_eq!(message["result"]["isError"], false, "{tool}: {message}");
    }
    let query = json!({"query": "owl number", "by": "any", "limit": 100, "kinds": ["message"]});
    let found = client.call("recall", query);
    assert_eq!(found["count"].as_u64().unwrap() + found["left_out"].as_u64().unwrap(), 26);
    let (status, stderr) = client.end();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
    home.check();
}

#[test]
fn a_call_that_is_cancelled_gets_no_answer() {
    let home = Home::with_model();
    let lines: String = (0..300)
        .map(|n| format!("{}\n", json!({"role": "user", "content": format!("Owl {n} hunts")})))
        .collect();
    home.ingest(&["-p", "p"], &lines);
    let mut client = Client::start(&home, &["-p", "p"]);
    let params = json!({"name": "recall", "arguments": {"query": "owl"}, "_meta": {"progressToken": 7}});
    let cancelled = client.send("tools/call", params);
    client.notify("notifications/cancelled", json!({"requestId": cancelled, "reason": "not needed"}));
    // Of all that follows, nothing is an answer to it.
    assert_eq!(client.call("recall", json!({"query": "owl", "limit": 3}))["count"], 3);
    for step in &client.notified {
        assert_eq!(
            (&step["method"], &step["params"]["progressToken"]),
            (&json!("notifications/progress"), &json!(7))
        );
    }
    // An unknown request can be cancelled too.
    client.notify("notifications/cancelled", json!({"requestId": 4711}));
    client.request("ping", json!({}));
    assert_eq!(client.end().0.code(), Some(0));
}

#[test]
fn loading_the_model_is_told() {
    let home = Home::with_model();
    home.ingest(&["-p", "p"], &json!({"role": "user", "content": "The first owl"}).to_string());
    let mut client = Client::start(&home, &["-p", "p"]);
    let call = json!({"name": "recall", "arguments": {"query": "owl"}, "_meta": {"progressToken": "t"}});
    client.request("tools/call", call.clone());
    assert_eq!(client.notified.len(), 1);
    assert_eq!(client.notified[0]["params"]["message"], "loading the embedding model");
    // It is kept.
    client.request("tools/call", call);
    assert_eq!(client.notified.len(), 1);
}

#[test]
fn two_servers_and_a_proxy_share_a_store() {
    let provider = Fake::answering(|_| Answer::new(200, REPLY));
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url());
    let proxy = Proxy::start(&home);
    std::thread::scope(|scope| {
        for server in ["one", "two"] {
            let home = &home;
            scope.spawn(move || {
                let mut client = Client::start(home, &["-p", "p"]);
                for n in 0..40 {
                    client.call("remember", json!({"text": format!("{server} {n}")}));
                    client.call("recall", json!({"query": server, "by": "keyword"}));
                }
                let (status, stderr) = client.end();
                assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
            });
        }
        let proxy = &proxy;
        scope.spawn(move || {
            for n in 0..20 {
                let (status, answer) =
                    proxy.post("/partition/p/v1/chat/completions", "", &asking(&format!("three {n}")));
                assert_eq!(status, 200, "{answer}");
            }
        });
    });
    let stored: BTreeSet<String> =
        home.contents("rsv-view", &["-p", "p", "-n", "1000"]).into_iter().collect();
    for (name, count) in [("one", 40), ("two", 40), ("three", 20)] {
        let missing: Vec<String> =
            (0..count).map(|n| format!("{name} {n}")).filter(|text| !stored.contains(text)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
    home.check();
}

/// Keeps: A killed server leaves a call whole or undone.
#[test]
fn a_server_that_is_killed_in_a_call_leaves_it_whole_or_undone() {
    let home = Home::new();
    home.ingest(&["-p", "p"], &json!({"role": "user", "content": "The first owl"}).to_string());
    let mut acknowledged: Vec<String> = Vec::new();
    let mut number = 0;
    tries(number_from("RSV_TEST_KILLS").unwrap_or(6), |mut dice: Dice| {
        let mut client = Client::start(&home, &["-p", "p"]);
        let mut sent = Vec::new();
        for _ in 0..1 + dice.below(8) {
            number += 1;
            let call = match dice.below(3) {
                0 => {
                    json!({"name": "memory_record", "arguments": {"title": format!("m{number}"), "content": "owl"}})
                }
                1 => {
                    json!({"name": "session_end", "arguments": {"session_id": format!("s{number}"), "task": format!("t{number}"),
                    "approach": "a", "outcome": "partial", "tags": ["owl"]}})
                }
                _ => json!({"name": "remember", "arguments": {"text": format!("r{number}")}}),
            };
            sent.push((client.send("tools/call", call), number));
        }
        let heard = dice.below(sent.len() + 1);
        for _ in 0..heard {
            let message = client.receive();
            assert_eq!(message["result"]["isError"], false, "{message}");
            let answer = &message["result"]["structuredContent"];
            match answer["memory_ids"].as_array() {
                Some(ids) => acknowledged.extend(ids.iter().map(text)),
                None => acknowledged.push(text(&answer["id"])),
            }
        }
        std::thread::sleep(Duration::from_micros(dice.below(3000) as u64));
        client.talk.child.kill().unwrap();
        client.talk.child.wait().unwrap();
        home.check();
    });
    let stored = lines_of(&home.run("rsv-export", &["-p", "p"], "").ok());
    let ids: BTreeSet<&str> = stored.iter().filter_map(|line| line["id"].as_str()).collect();
    let lost: Vec<&String> = acknowledged.iter().filter(|id| !ids.contains(id.as_str())).collect();
    assert!(lost.is_empty() && !acknowledged.is_empty(), "{lost:?}");
    // A session ends with both of its memories, or with neither.
    let mut sessions: BTreeMap<&str, usize> = BTreeMap::new();
    for memory in stored.iter().filter_map(|line| line["session_id"].as_str()) {
        *sessions.entry(memory).or_default() += 1;
    }
    assert!(sessions.values().all(|count| *count == 2), "{sessions:?}");
}

/// Keeps: A request that cannot be read is answered, and its line is named.
#[test]
fn a_request_that_cannot_be_read_is_answered_and_its_line_named() {
    let home = Home::new().env("RSV_MAX_LINE_BYTES", "2000");
    let mut client = Client::at_protocol(&home, &["-p", "p"], None, "2025-03-26");
    let recall = |arguments: &str| {
        let params = format!(r#"{{"name":"recall","arguments":{arguments}}}"#);
        format!(r#"{{"method":"tools/call","params":{params},"jsonrpc":"2.0","id":2}}"#)
    };
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let long =
        r#"{"jsonrpc":"2.0","id":"long","method":"ping","params":{"x":""#.to_owned() + &"x".repeat(3000);
    let latin: Vec<u8> =
        recall(r#"{"query":"caf?"}"#).bytes().map(|b| if b == b'?' { 0xe9 } else { b }).collect();
    // The first two lines began the session.
    for (number, (line, id, reason)) in (3..).zip([
        (recall(r#"{"query":"x \ud83c y"}"#).into_bytes(), json!(2), "hex escape"),
        (recall(r#"{"query":"x","limit":1e400}"#).into_bytes(), json!(2), "number out of range"),
        (recall(&format!(r#"{{"query":{deep}}}"#)).into_bytes(), json!(2), "recursion limit"),
        (latin, json!(2), "invalid unicode"),
        (b"not json".to_vec(), Value::Null, "invalid JSON: expected"),
        (br#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"na"#.to_vec(), json!("a"), "EOF"),
        (br#"{"jsonrpc":"2.0","id":7,"result":{"#.to_vec(), Value::Null, "EOF"),
        (long.into_bytes(), json!("long"), "message: is longer than the limit of 2000 bytes"),
        (b"[{\"jsonrpc\":".to_vec(), Value::Null, "EOF"),
    ]) {
        let input = client.talk.input.as_mut().unwrap();
        input.write_all(&[&line[..], b"\n"].concat()).unwrap();
        let answer = client.receive();
        let told = text(&answer["error"]["message"]);
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&id, &json!(-32700)),
            "line {number}: {answer}"
        );
        assert!(told.contains(reason), "line {number}: {told}");
        // A client refuses null as an id.
        assert_eq!(answer.get("id").is_some(), !id.is_null(), "{answer}");
    }
    // In a batch too, and in a line that nothing ends.
    client.talk.say(&format!("[{}]", recall(r#"{"query":"\ud83c"}"#)));
    assert_eq!(client.receive()[0]["error"]["code"], -32700);
    client.talk.input.as_mut().unwrap().write_all(br#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#).unwrap();
    drop(client.talk.input.take());
    assert_eq!(client.receive()["id"], 9);
    let (status, stderr) = client.end();
    assert_eq!(status.code(), Some(0));
    let named = |line: &&str| line.starts_with("rsv-mcp: error: <stdin>:");
    let named: Vec<&str> = stderr.lines().filter(named).map(|line| line.split(':').nth(3).unwrap()).collect();
    assert_eq!(named, ["3", "4", "5", "6", "7", "8", "9", "10", "11", "12"], "{stderr}");
}

/// Requests that are no message, or whose parameters do not fit: the code, and the reason.
const MISFITS: [(&str, &str, i64, &str); 8] = [
    ("ping", r#","params":7"#, -32600, "error: expected a message of JSON-RPC 2.0"),
    ("tools/call", "", -32602, "error: name: is missing"),
    ("tools/call", r#","params":{"name":5}"#, -32602, "error: name: expected a string, found 5"),
    (
        "tools/call",
        r#","params":{"name":"recall","arguments":[]}"#,
        -32602,
        "error: arguments: expected an object, found []",
    ),
    ("resources/read", r#","params":{"uri":7}"#, -32602, "error: uri: expected a string, found 7"),
    ("initialize", r#","params":null"#, -32602, "error: protocolVersion: is missing"),
    (
        "initialize",
        r#","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":5},"clientInfo":{"name":"x","version":"1"}}"#,
        -32602,
        "error: the params are not those of the method",
    ),
    (
        "prompts/get",
        r#","params":{"name":"recall-before-you-begin","arguments":{"task":7}}"#,
        -32602,
        "error: task: expected a string, found 7",
    ),
];

fn misfit(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":6,"method":"{method}"{params}}}"#)
}

#[test]
fn a_request_whose_parameters_do_not_fit_gets_the_reason() {
    let home = Home::new();
    let mut client = Client::start(&home, &["-p", "p"]);
    for (method, params, code, reason) in MISFITS {
        client.talk.say(&misfit(method, params));
        let answer = client.receive();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(6), &json!(code)),
            "{method}: {answer}"
        );
        assert!(text(&answer["error"]["message"]).starts_with(reason), "{method}: {answer}");
    }
    assert_eq!(client.end().1, "");
}

#[test]
fn what_http_refuses_is_json_too() {
    let home = Home::new();
    let proxy = Proxy::start(&home);
    let headers = "Accept: application/json, text/event-stream\r\n";
    let refused = |headers: &str, body: &str, status: u16, code: i64| {
        let whole = proxy.whole(&post("/mcp", headers, body));
        let (head, answer) = whole.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{body}: {whole}");
        assert!(head.to_lowercase().contains("content-type: application/json"), "{body}: {whole}");
        let answer: Value = serde_json::from_str(answer).unwrap();
        assert_eq!((&answer["jsonrpc"], &answer["error"]["code"]), (&json!("2.0"), &json!(code)), "{answer}");
        answer
    };
    for body in ["", "not json", "{\"jsonrpc\":\"2.0\",\"id\":"] {
        refused(headers, body, 400, -32700);
    }
    let lone = r#"{"jsonrpc":"2.0","id":3,"method":"ping","params":{"x":"\ud83c"}}"#;
    assert_eq!(refused(headers, lone, 400, -32700)["id"], 3);
    for (method, params, code, reason) in MISFITS {
        let status = if code == -32602 { 200 } else { 400 };
        let answer = refused(headers, &misfit(method, params), status, code);
        assert!(answer["id"] == 6 && text(&answer["error"]["message"]).starts_with(reason), "{answer}");
    }
    let batch = json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]).to_string();
    let batching = format!("{headers}MCP-Protocol-Version: 2025-03-26\r\n");
    let answer = refused(&batching, &batch, 400, -32600);
    assert!(answer.to_string().contains("a batch is accepted on standard input"), "{answer}");
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(refused("Accept: text/html\r\n", ping, 406, -32600)["id"], 1);
    let pretty = ping.replace(',', ",\n");
    assert_eq!(proxy.raw(&post("/mcp", headers, &pretty)).0, 200);
}

/// One message of each kind that a client sends.
fn messages() -> Vec<Value> {
    let call = |name: &str, arguments: Value| {
        ("tools/call", json!({"name": name, "arguments": arguments, "_meta": {"progressToken": 1}}))
    };
    let requests = [
        call(
            "recall",
            json!({"query": "owl", "limit": 3, "by": "any", "kinds": ["message"], "roles": ["user"], "since": "2d"}),
        ),
        call("remember", json!({"text": "owl \u{e9}\u{1f989}", "role": "assistant", "session_id": "s"})),
        call("memory_search", json!({"query": "owl", "min_confidence": 0.5, "project_id": "p"})),
        call(
            "memory_record",
            json!({"title": "owl", "content": "owl", "outcome": "failure", "tags": ["a", "b"]}),
        ),
        call(
            "memory_feedback",
            json!({"memory_id": "00000000-0000-7000-8000-000000000000", "helpful": true}),
        ),
        call("memory_outcome", json!({"memory_id": "x", "succeeded": false})),
        call("memory_consolidate", json!({"similarity_threshold": 0.9, "dry_run": true, "max_clusters": 1})),
        call(
            "session_end",
            json!({"session_id": "s", "task": "t", "approach": "a", "outcome": "partial", "tags": ["x"], "duration_ms": 5}),
        ),
        call("context_search", json!({"query": "owl", "uri": "viking://resources", "level": 1})),
        call("context_read", json!({"uri": "viking://resources/owl"})),
        call("context_list", json!({"uri": "viking://~/memories", "depth": 2})),
        call("forget", json!({"ids": ["00000000-0000-7000-8000-000000000000"]})),
        ("resources/list", json!({"cursor": "0"})),
        ("resources/read", json!({"uri": "viking://~/sessions/s"})),
        ("resources/templates/list", json!({})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "recall-before-you-begin", "arguments": {"task": "owl"}})),
        ("tools/list", json!({})),
        ("ping", json!({})),
        ("logging/setLevel", json!({"level": "debug"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": "b"}}),
        ),
        (
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": {"roots": {}}, "clientInfo": {"name": "x", "version": "1"}}),
        ),
        ("server/discover", json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}})),
    ];
    let mut messages: Vec<Value> = requests
        .into_iter()
        .enumerate()
        .map(|(id, (method, params))| json!({"jsonrpc": "2.0", "id": id + 100, "method": method, "params": params}))
        .collect();
    messages
        .push(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 100}}));
    messages.push(json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}));
    messages.push(json!({"jsonrpc": "2.0", "id": 1, "result": {"roots": [{"uri": "file:///"}]}}));
    messages.push(json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "no"}}));
    let batch: Vec<Value> = messages[messages.len() - 12..].to_vec();
    messages.push(json!(batch));
    messages
}

/// Keeps: No message ends a server by a panic, and it writes nothing but the protocol.
#[test]
fn changed_messages_end_no_server_and_get_nothing_but_the_protocol() {
    let home = Home::new();
    let document =
        json!({"kind": "document", "uri": "viking://resources/owl", "title": "Owl", "content": "An owl"});
    home.ingest(&["-p", "p"], &document.to_string());
    let messages: Vec<String> = messages().iter().map(Value::to_string).collect();
    let total = number_from("RSV_TEST_MUTATIONS").unwrap_or(400);
    // A client that reads between its messages, so that no pipe is full.
    const BATCH: u64 = 50;
    tries(total.div_ceil(BATCH), |mut dice| {
        // The protocol that has batches, too.
        let mut client = Client::at_protocol(&home, &["-p", "p", "--allow-forget"], None, "2025-03-26");
        for _ in 0..BATCH {
            let message = messages[dice.below(messages.len())].as_bytes();
            let mut bytes = mutate(message, &mut dice);
            bytes.push(b'\n');
            client.talk.input.as_mut().unwrap().write_all(&bytes).unwrap();
        }
        let ping = json!({"jsonrpc": "2.0", "id": "the end", "method": "ping"});
        client.talk.say(&ping.to_string());
        // Each line is a message of the protocol.
        while client.receive()["id"] != "the end" {}
        let (status, stderr) = client.end();
        assert_eq!(status.code(), Some(0), "{stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
        assert!(stderr.lines().all(|line| line.starts_with("rsv-mcp: ")), "{stderr}");
    });
    home.check();
    let mut client = Client::start(&home, &["-p", "p"]);
    assert_eq!(client.call("context_list", json!({}))["count"], 1);
}
