//! Batches of messages to rsv-mcp: the protocol of 2025-03-26 has them, and no other.

use crate::mcp::Client;
use crate::support::Home;
use serde_json::{Value, json};

const BATCHING: &str = "2025-03-26";

fn request(id: Value, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn ping(id: impl Into<Value>) -> Value {
    request(id.into(), "ping", json!({}))
}

fn remember(id: impl Into<Value>, text: &str) -> Value {
    request(id.into(), "tools/call", json!({"name": "remember", "arguments": {"text": text}}))
}

/// Sends a line, and then a request; the lines that come before its answer.
fn answers(client: &mut Client, line: &str) -> Vec<Value> {
    client.talk.say(line);
    client.talk.say(&ping("the end").to_string());
    let mut lines = Vec::new();
    loop {
        let line: Value = serde_json::from_str(&client.talk.hear().unwrap()).unwrap();
        if line["id"] == "the end" {
            return lines;
        }
        lines.push(line);
    }
}

/// The answers in an array: `ok`, or the code of an error, by their ids as JSON, in the order of these.
fn by_id(batch: &Value) -> Vec<(String, String)> {
    let answers = batch.as_array().unwrap_or_else(|| panic!("no array: {batch}")).iter().map(|answer| {
        assert_eq!(answer["jsonrpc"], "2.0");
        let code = &answer["error"]["code"];
        (answer["id"].to_string(), if code.is_null() { "ok".to_owned() } else { code.to_string() })
    });
    let mut answers: Vec<(String, String)> = answers.collect();
    answers.sort();
    answers
}

/// Keeps: A batch of messages is answered as its protocol has it.
#[test]
fn a_batch_is_answered_by_one_array() {
    let home = Home::new();
    let mut client = Client::at_protocol(&home, &["-p", "p"], None, BATCHING);
    let note = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
    let initialize =
        json!({"protocolVersion": BATCHING, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    for (batch, wanted) in [
        (json!([ping(10)]), &[("10", "ok")][..]),
        (json!([ping(20), ping("b"), note]), &[("\"b\"", "ok"), ("20", "ok")]),
        (
            json!([
                remember(30, "one"),
                note,
                remember(31, "two"),
                request(json!(32), "tools/list", json!({}))
            ]),
            &[("30", "ok"), ("31", "ok"), ("32", "ok")],
        ),
        // Each is answered for itself.
        (
            json!([ping(40), request(json!(41), "no/such", json!({})), remember(42, "three"), 7, {"foo": "boo"}]),
            &[("40", "ok"), ("41", "-32601"), ("42", "ok"), ("null", "-32600"), ("null", "-32600")],
        ),
        (
            json!([{"jsonrpc": "1.0", "id": 50, "method": "ping"}, ping(51)]),
            &[("50", "-32600"), ("51", "ok")],
        ),
        (json!([request(json!(60), "initialize", initialize), ping(61)]), &[("60", "-32600"), ("61", "ok")]),
        (json!([ping(70), ping(70)]), &[("70", "-32600"), ("70", "ok")]),
        (json!([1, 2]), &[("null", "-32600"), ("null", "-32600")]),
    ] {
        let mut lines = answers(&mut client, &batch.to_string());
        let array = match lines.pop() {
            Some(line) => line,
            // It was not ready before the request that was sent after it.
            None => serde_json::from_str(&client.talk.hear().unwrap()).unwrap(),
        };
        assert!(lines.is_empty(), "{lines:?}");
        let wanted: Vec<(String, String)> =
            wanted.iter().map(|(id, code)| ((*id).to_owned(), (*code).to_owned())).collect();
        assert_eq!(by_id(&array), wanted, "{batch}");
    }
    // A notification gets no answer, and an empty batch is no batch.
    assert_eq!(answers(&mut client, &json!([note, note]).to_string()), Vec::<Value>::new());
    let lines = answers(&mut client, "[]");
    assert_eq!((&lines[0]["id"], &lines[0]["error"]["code"]), (&Value::Null, &json!(-32600)), "{lines:?}");
    assert_eq!(client.end().0.code(), Some(0));
    let mut stored = home.contents("rsv-view", &["-p", "p", "9"]);
    stored.sort();
    assert_eq!(stored, ["one", "three", "two"]);
}

#[test]
fn a_request_of_a_batch_that_is_cancelled_gets_no_answer_and_the_others_get_theirs() {
    let home = Home::new();
    let mut client = Client::at_protocol(&home, &["-p", "p"], None, BATCHING);
    let cancel =
        |id: i64| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    client.talk.say(&json!([ping(1000), remember(1001, "one"), cancel(1001)]).to_string());
    let batch: Value = serde_json::from_str(&client.talk.hear().unwrap()).unwrap();
    assert_eq!(by_id(&batch), [("1000".to_owned(), "ok".to_owned())]);
    client.talk.say(&json!([remember(1002, "two"), cancel(1002)]).to_string());
    client.talk.say(&ping(1003).to_string());
    let line: Value = serde_json::from_str(&client.talk.hear().unwrap()).unwrap();
    assert_eq!(line["id"], 1003);
    assert_eq!(client.end().0.code(), Some(0));
}

#[test]
fn a_batch_may_have_what_the_client_answers_and_is_answered_before_the_end() {
    let home = Home::new();
    let roots = vec!["file:///tmp".to_owned()];
    let mut client = Client::at_protocol(&home, &[], Some(roots), BATCHING);
    client.talk.say(&json!([remember(1, "one"), ping(2)]).to_string());
    let asked: Value = serde_json::from_str(&client.talk.hear().unwrap()).unwrap();
    assert_eq!(asked["method"], "roots/list");
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [{"uri": "file:///tmp"}]}});
    client.talk.say(&json!([answer, ping(3)]).to_string());
    // The input ends before the answers come.
    drop(client.talk.input.take());
    let mut got = Vec::new();
    while let Some(line) = client.talk.hear() {
        got.extend(by_id(&serde_json::from_str(&line).unwrap()));
    }
    got.sort();
    assert_eq!(got, ["1", "2", "3"].map(|id| (id.to_owned(), "ok".to_owned())));
}

#[test]
fn no_other_protocol_has_batches() {
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let home = Home::new();
        let mut client = Client::at_protocol(&home, &["-p", "p"], None, version);
        let lines = answers(&mut client, &json!([remember(10, "one"), ping(11)]).to_string());
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert_eq!(lines[0]["error"]["code"], -32600, "{version}");
        client.end();
        assert_eq!(home.contents("rsv-view", &["-p", "p", "9"]), [""; 0]);
    }
    // Nor is there one before a session begins.
    let home = Home::new();
    let mut talk = home.talk("rsv-mcp", &["-p", "p"]);
    talk.say(&json!([ping(1)]).to_string());
    let line: Value = serde_json::from_str(&talk.hear().unwrap()).unwrap();
    assert_eq!(line["error"]["code"], -32600, "{line}");
    talk.end();
}
