//! Anthropic's Messages and OpenAI's Responses with memory, by the proxy and by the pipe.

use crate::fake::{Answer, Fake, Wire};
use crate::proxy::{NOW, Proxy, post};
use crate::support::{Home, lines_of};
use serde_json::{Value, json};
use std::io::{Read, Write};

pub(crate) const PAST: &str = r#"{"role":"user","content":"The bones chapel is in Évora","trace_id":"1","timestamp":1700000000000}
{"role":"assistant","content":"I know it","trace_id":"1","timestamp":1700000001000}
"#;

/// One of the two APIs, as its clients and its provider speak it.
pub(crate) struct Shape {
    pub(crate) path: &'static str,
    model: &'static str,
    /// The member with the turns.
    pub(crate) turns: &'static str,
    text_part: &'static str,
    pub(crate) whole: &'static str,
    pub(crate) events: &'static str,
}

pub(crate) const MESSAGES: Shape = Shape {
    path: "/v1/messages",
    model: "claude-sonnet-4-5",
    turns: "messages",
    text_part: "text",
    whole: r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"thinking","thinking":"A riddle.","signature":"c2ln"},{"type":"text","text":"In \u00c9vora."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1709,"cache_read_input_tokens":3,"output_tokens":5.0},"of_tomorrow":[1.0]}"#,
    events: r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1709,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"A riddle."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: ping
data: {"type": "ping"}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: of_tomorrow
data: {"type":"of_tomorrow","index":7}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"In "}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"\u00c9vora."}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":5}}

event: message_stop
data: {"type":"message_stop"}

"#,
};

pub(crate) const RESPONSES: Shape = Shape {
    path: "/v1/responses",
    model: "gpt-5",
    turns: "input",
    text_part: "input_text",
    whole: r#"{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"gpt-5","output":[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"A riddle."}]},{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"In \u00c9vora.","annotations":[]}]}],"usage":{"input_tokens":1712,"output_tokens":5.0,"total_tokens":1717},"of_tomorrow":[1.0]}"#,
    events: r#"event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","model":"gpt-5","output":[]}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","status":"in_progress","content":[]}}

event: response.content_part.added
data: {"type":"response.content_part.added","sequence_number":2,"output_index":0,"content_index":0,"item_id":"msg_1","part":{"type":"output_text","text":"","annotations":[]}}

event: response.of_tomorrow
data: {"type":"response.of_tomorrow","sequence_number":2}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":3,"output_index":0,"content_index":0,"item_id":"msg_1","delta":"In "}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":4,"output_index":0,"content_index":0,"item_id":"msg_1","delta":"\u00c9vora."}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":5,"output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"In \u00c9vora.","annotations":[]}]}}

event: response.completed
data: {"type":"response.completed","sequence_number":6,"response":{"id":"resp_1","object":"response","status":"completed","model":"gpt-5","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"In \u00c9vora.","annotations":[]}]}],"usage":{"input_tokens":1712,"output_tokens":5,"total_tokens":1717}}}

"#,
};

pub(crate) const BOTH: [&Shape; 2] = [&MESSAGES, &RESPONSES];

impl Shape {
    /// A request with these turns.
    pub(crate) fn request(&self, turns: &Value, streamed: bool) -> Value {
        let mut request =
            json!({"model": self.model, self.turns: turns, "stream": streamed, "metadata": {"x": 1.0}});
        if self.turns == "messages" {
            request["max_tokens"] = json!(1024);
            request["system"] =
                json!([{"type": "text", "text": "Be brief", "cache_control": {"type": "ephemeral"}}]);
        } else {
            request["instructions"] = json!("Be brief");
        }
        request
    }

    fn asking(&self, text: &str, streamed: bool) -> String {
        self.request(&json!([{"role": "user", "content": text}]), streamed).to_string()
    }

    /// The events of an answer with this text.
    pub(crate) fn events_saying(&self, text: &str) -> String {
        self.events.replace("\\u00c9vora.", text).replace("\"In \"", "\"\"").replace("\"In ", "\"")
    }

    /// A provider that answers as it is asked to.
    fn provider(&'static self) -> Fake {
        Fake::answering(|seen| {
            if seen.text().contains("\"stream\":true") {
                Answer::new(200, self.events).header("Content-Type", "text/event-stream")
            } else {
                Answer::new(200, self.whole)
            }
        })
    }
}

/// A home whose providers of both APIs are at an address.
pub(crate) fn home_at(url: &str) -> Home {
    let base = format!("{url}/v1");
    let home = Home::new().env("RSV_ANTHROPIC_BASE_URL", &base).env("RSV_OPENAI_BASE_URL", &base);
    let home = home.env("ANTHROPIC_API_KEY", "sk-ant-api03-own").env("OPENAI_API_KEY", "sk-own");
    home.env("RSV_TEST_NOW", NOW).env("RSV_ENRICH_TIMEOUT", "60s").env("RSV_RETRIES", "0")
}

/// The stored messages of a scope: role and content, oldest first, except those of `PAST`.
pub(crate) fn said(home: &Home, scope: &[&str]) -> Vec<(String, Value)> {
    let lines = lines_of(&home.run("rsv-view", &[scope, &["999"]].concat(), "").ok());
    let new = lines.into_iter().filter(|line| line["trace_id"] != "1");
    new.map(|line| (line["role"].as_str().unwrap().to_owned(), line["content"].clone())).collect()
}

fn turn(user: &str) -> Vec<(String, Value)> {
    vec![("user".to_owned(), json!(user)), ("assistant".to_owned(), json!("In Évora."))]
}

/// Keeps: The pipe and the proxy give the same bytes.
#[test]
fn the_pipe_and_the_proxy_give_the_same_bytes_in_every_api() {
    for shape in BOTH {
        let image = match shape.turns {
            "messages" => {
                json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}})
            }
            _ => json!({"type": "input_image", "image_url": "data:image/png;base64,AAAA"}),
        };
        let part = |text: &str| json!({"type": shape.text_part, "text": text});
        for turns in [
            json!([{"role": "user", "content": "Where is the bones chapel?"}]),
            json!([{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi é"},
                {"role": "user", "content": [image, part("And the bones chapel?")], "of_tomorrow": 1.0}]),
        ] {
            let (by_pipe, by_proxy) = (shape.provider(), shape.provider());
            let (pipe, proxied) = (home_at(&by_pipe.url()), home_at(&by_proxy.url()));
            for home in [&pipe, &proxied] {
                home.run("rsv-ingest", &["-p", "p"], PAST).ok();
            }
            let proxy = Proxy::start(&proxied);
            for streamed in [false, true] {
                let request = shape.request(&turns, streamed).to_string();
                let words = ["-p", "p", "--api", shape.path.trim_start_matches("/v1/")];
                let enriched = pipe.run("rsv-enrich", &words, &request).ok();
                let words: &[&str] = if streamed { &["--stream"] } else { &[] };
                let answered = pipe.run("rsv-forward", words, enriched).ok();
                let piped = pipe.run("rsv-ingest", &[], answered).ok();
                let (status, body) = proxy.post(&format!("/partition/p{}", shape.path), "", &request);
                assert_eq!(status, 200, "{body}");
                if streamed {
                    assert!(piped.lines().count() > 5 && body.contains(shape.events), "{body}");
                } else {
                    assert_eq!(body, piped);
                }
            }
            let sent = |provider: &Fake| {
                provider.seen().into_iter().map(|seen| (seen.path, seen.body)).collect::<Vec<_>>()
            };
            assert_eq!(sent(&by_proxy), sent(&by_pipe));
            assert_eq!(proxied.export(), pipe.export());
            assert!(
                by_pipe.seen().iter().all(|seen| seen.path == shape.path && !seen.text().contains("\"rsv\""))
            );
            assert!(by_pipe.seen()[0].text().contains("<rsv-memory>"), "{}", by_pipe.seen()[0].text());
            let said = said(&pipe, &["-p", "p"]);
            assert_eq!(said.len(), 4, "{said:?}");
            assert!(said.contains(&("assistant".to_owned(), json!("In Évora."))), "{said:?}");
        }
    }
}

/// Keeps: Only the user's last words change.
#[test]
fn only_the_users_last_words_change_and_all_before_them_is_the_clients() {
    for shape in BOTH {
        let provider = shape.provider();
        let home = home_at(&provider.url());
        home.run("rsv-ingest", &["-p", "p"], PAST).ok();
        let proxy = Proxy::start(&home);
        let mark = json!({"type": "ephemeral"});
        let turns = json!([{"role": "user", "content": [{"type": shape.text_part, "text": "Hello \u{1f989}"}]},
            {"role": "assistant", "content": "Hi"},
            {"role": "user", "content": [{"type": shape.text_part, "text": "And the bones chapel?", "cache_control": mark}]}]);
        // Spellings of numbers and texts that a parser would change.
        let request = shape.request(&turns, false).to_string().replace("Be brief", "Be \\u0062rief");
        proxy.post(&format!("/partition/p{}", shape.path), "", &request);
        let sent = provider.one();
        let own = format!(
            "{{\"cache_control\":{{\"type\":\"ephemeral\"}},\"text\":\"And the bones chapel?\",\"type\":\"{}\"}}",
            shape.text_part
        );
        let (before, after) = request.split_once(&own).unwrap();
        assert!(sent.text().starts_with(before), "{}", sent.text());
        assert!(sent.text().ends_with(&format!(",{own}{after}")), "{}", sent.text());
        let block: Value = serde_json::from_str(sent.text()).unwrap();
        let block = &block[shape.turns][2]["content"][0];
        assert!(block["text"].as_str().unwrap().starts_with("<rsv-memory>\n"), "{block}");
        assert_eq!((block["type"].as_str(), block.get("cache_control")), (Some(shape.text_part), None));
    }
}

/// A request for the results of a tool, `count` times so far.
fn tool_turns(shape: &Shape, count: usize) -> Value {
    let mut turns = vec![json!({"role": "user", "content": "Where is the bones chapel?"})];
    for at in 0..count {
        let id = format!("call_{at}");
        if shape.turns == "messages" {
            turns.push(
                json!({"role": "assistant", "content": [{"type": "text", "text": format!("I look {at}.")},
                {"type": "tool_use", "id": id, "name": "look", "input": {"at": at}}]}),
            );
            turns.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": format!("nothing {at}")}]}));
        } else {
            turns.push(json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": format!("I look {at}.")}]}));
            turns.push(json!({"type": "function_call", "call_id": id, "name": "look", "arguments": "{}"}));
            turns.push(
                json!({"type": "function_call_output", "call_id": id, "output": format!("nothing {at}")}),
            );
        }
    }
    // The mark of what is cached moves with the conversation.
    if shape.turns == "messages" {
        let last = turns.last_mut().unwrap();
        if let Some(block) = last["content"].as_array_mut().and_then(|blocks| blocks.last_mut()) {
            block["cache_control"] = json!({"type": "ephemeral"});
        }
    }
    json!(turns)
}

/// The answer that calls the tool, or at last the answer.
fn tool_answer(shape: &Shape, at: usize, last: usize) -> String {
    let mut whole: Value = serde_json::from_str(shape.whole).unwrap();
    if at < last {
        let id = format!("call_{at}");
        if shape.turns == "messages" {
            whole["content"] = json!([{"type": "text", "text": format!("I look {at}.")},
                {"type": "tool_use", "id": id, "name": "look", "input": {"at": at}}]);
        } else {
            whole["output"] = json!([{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": format!("I look {at}.")}]},
                {"type": "function_call", "call_id": id, "name": "look", "arguments": "{}"}]);
        }
    }
    whole.to_string()
}

/// Keeps: All requests of a turn carry one block.
#[test]
fn thirty_requests_of_one_turn_carry_one_block_and_store_it_once() {
    for shape in BOTH {
        for keeps in ["false", "true"] {
            let provider = Fake::new((0..=30).map(|at| Answer::new(200, tool_answer(shape, at, 30))));
            let home = home_at(&provider.url()).env("RSV_KEEP_TOOLS", keeps);
            home.run("rsv-ingest", &["-p", "p"], PAST).ok();
            let proxy = Proxy::start(&home);
            for count in 0..=30 {
                let request = shape.request(&tool_turns(shape, count), false).to_string();
                assert_eq!(proxy.post(&format!("/partition/p{}", shape.path), "", &request).0, 200);
                // Records that are stored meanwhile must change nothing.
                home.run(
                    "rsv-ingest",
                    &["-p", "p"],
                    format!(
                        "{{\"role\":\"user\",\"content\":\"bones chapel {count}\",\"trace_id\":\"1\"}}\n"
                    ),
                )
                .ok();
            }
            let turns: Vec<Vec<Value>> = provider
                .seen()
                .iter()
                .map(|seen| {
                    let sent: Value = serde_json::from_slice(&seen.body).unwrap();
                    let mut turns = sent[shape.turns].clone();
                    for turn in turns.as_array_mut().unwrap() {
                        for block in turn["content"].as_array_mut().into_iter().flatten() {
                            block.as_object_mut().unwrap().remove("cache_control");
                        }
                    }
                    turns.as_array().unwrap().clone()
                })
                .collect();
            assert!(turns[0][0].to_string().contains("<rsv-memory>"));
            for pair in turns.windows(2) {
                assert!(pair[1].starts_with(&pair[0]), "{:?} is not continued by {:?}", pair[0], pair[1]);
            }
            let stored = said(&home, &["-p", "p"]);
            let count = |role: &str| stored.iter().filter(|(other, _)| other == role).count();
            assert_eq!((count("user"), count("assistant")), (1, 31), "{stored:?}");
            assert_eq!(count("tool"), if keeps == "true" { 30 } else { 0 }, "{stored:?}");
            assert_eq!(stored[0].1, "Where is the bones chapel?");
            assert_eq!(home.export().contains("tool_calls"), keeps == "true");
            assert!(!home.export().contains("riddle"));
            let traces: std::collections::BTreeSet<String> =
                lines_of(&home.run("rsv-view", &["-p", "p", "999"], "").ok())
                    .iter()
                    .map(|line| line["trace_id"].to_string())
                    .collect();
            assert_eq!(traces.len(), 2, "one is that of the past");
        }
    }
}

#[test]
fn a_stream_passes_byte_for_byte_and_its_turn_is_stored() {
    for shape in BOTH {
        let wire = Wire::new();
        let home = home_at(&wire.url());
        let proxy = Proxy::start(&home);
        let mut stream = proxy.connect();
        stream.write_all(&post(shape.path, "", &shape.asking("Where?", true))).unwrap();
        let mut call = wire.accept();
        call.begin("request-id: req_7\r\n");
        for piece in shape.events.as_bytes().chunks(97) {
            assert!(call.piece(piece));
        }
        call.end();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(
            head.to_lowercase().contains("request-id: req_7") && head.contains("x-rsv-recalled: 0"),
            "{head}"
        );
        let mut plain = String::new();
        let mut rest = body;
        while let Some((length, after)) = rest.split_once("\r\n") {
            let length = usize::from_str_radix(length, 16).unwrap();
            plain += &after[..length];
            rest = &after[length + 2..];
        }
        assert_eq!(plain, shape.events);
        proxy.settle();
        assert_eq!(said(&home, &[]), turn("Where?"));
        assert!(!home.export().contains("riddle"));
    }
}

#[test]
fn a_stream_that_breaks_off_ends_in_an_error_of_its_api_and_is_stored_once() {
    for shape in BOTH {
        let ends = [
            "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}",
            "event: response.output_item.done",
        ];
        let end = ends.iter().find_map(|end| shape.events.find(end)).unwrap();
        let wire = Wire::new();
        let home = home_at(&wire.url());
        let proxy = Proxy::start(&home);
        for _ in 0..3 {
            let mut stream = proxy.connect();
            stream.write_all(&post(shape.path, "", &shape.asking("Where?", true))).unwrap();
            let mut call = wire.accept();
            call.begin("");
            assert!(call.piece(&shape.events[..end]));
            drop(call);
            let mut body = String::new();
            stream.read_to_string(&mut body).unwrap();
            let event = body.split("event: error\ndata: ").nth(1).unwrap_or_else(|| panic!("{body}"));
            let event: Value = serde_json::from_str(event.lines().next().unwrap()).unwrap();
            assert_eq!(event["type"], "error");
            let message = event["error"]["message"].as_str().or(event["message"].as_str()).unwrap();
            assert!(message.contains("broke off"), "{message}");
            proxy.settle();
        }
        assert_eq!(said(&home, &[]), turn("Where?"));
        assert_eq!(home.export().matches("\"partial\":true").count(), 1);
    }
}

#[test]
fn errors_have_the_shape_of_their_api_and_a_retry_is_the_same_turn() {
    let overloaded =
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#;
    for shape in BOTH {
        let script = [
            Answer::new(529, overloaded).header("retry-after", "3"),
            Answer::new(500, "<html>"),
            Answer::new(200, shape.whole),
        ];
        let provider = Fake::new(script);
        let home = home_at(&provider.url());
        let proxy = Proxy::start(&home);
        let ask = || proxy.post(shape.path, "", &shape.asking("Where?", false));
        let first = proxy.whole(&post(shape.path, "", &shape.asking("Where?", false)));
        assert!(
            first.starts_with("HTTP/1.1 529")
                && first.contains("retry-after: 3")
                && first.contains(overloaded),
            "{first}"
        );
        let (status, body) = ask();
        let error: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, error["error"]["type"].as_str()), (500, Some("api_error")), "{body}");
        assert_eq!(error.get("type").is_some(), shape.turns == "messages", "{body}");
        assert_eq!(ask().0, 200);
        assert_eq!(said(&home, &[]), turn("Where?"));
        let (status, body) =
            proxy.post(shape.path, "x-rsv-memory: sometimes\r\n", &shape.asking("Where?", false));
        assert!(status == 400 && body.contains("x-rsv-memory"), "{body}");
        assert_eq!(proxy.get(shape.path).0, 405);
    }
}

#[test]
fn a_key_goes_in_the_header_in_which_it_came_and_headers_of_the_api_pass() {
    let provider = Fake::answering(|seen| match seen.path.as_str() {
        "/v1/responses" => Answer::new(200, RESPONSES.whole),
        path if path.contains("count_tokens") => Answer::new(200, "{\"input_tokens\":7}"),
        _ => Answer::new(200, MESSAGES.whole),
    });
    let home = home_at(&provider.url());
    let proxy = Proxy::start(&home);
    let headers = "anthropic-beta: context-1m-2025-08-07\r\nanthropic-version: 2024-01-01\r\nx-codex-turn-metadata: {}\r\nx-secret: s\r\n";
    for (path, key, sent) in [
        ("/v1/messages?beta=true", "x-api-key: sk-ant-api03-mine\r\n", ("x-api-key", "sk-ant-api03-mine")),
        (
            "/v1/messages",
            "Authorization: Bearer sk-ant-oat01-mine\r\n",
            ("authorization", "Bearer sk-ant-oat01-mine"),
        ),
        ("/v1/messages", "", ("x-api-key", "sk-ant-api03-own")),
        ("/v1/messages/count_tokens", "x-api-key: sk-ant-api03-mine\r\n", ("x-api-key", "sk-ant-api03-mine")),
        ("/v1/responses", "Authorization: Bearer sk-mine\r\n", ("authorization", "Bearer sk-mine")),
        ("/v1/responses", "", ("authorization", "Bearer sk-own")),
    ] {
        let shape = if path.contains("responses") { &RESPONSES } else { &MESSAGES };
        for mode in ["", "x-rsv-memory: off\r\n"] {
            let (status, body) =
                proxy.post(path, &format!("{headers}{key}{mode}"), &shape.asking("Where?", false));
            assert_eq!(status, 200, "{body}");
            let seen = provider.seen().pop().unwrap();
            assert_eq!(seen.path, path);
            assert_eq!(seen.header(sent.0), Some(sent.1), "{path} {key} {mode}");
            let other = if sent.0 == "x-api-key" { "authorization" } else { "x-api-key" };
            assert_eq!(seen.header(other), None, "{path} {key} {mode}");
            assert_eq!(seen.header("anthropic-version"), Some("2024-01-01"));
            assert_eq!(seen.header("anthropic-beta"), Some("context-1m-2025-08-07"));
            assert_eq!((seen.header("x-codex-turn-metadata"), seen.header("x-secret")), (Some("{}"), None));
        }
    }
    proxy.post("/v1/messages", "", &MESSAGES.asking("Where?", false));
    assert_eq!(provider.seen().pop().unwrap().header("anthropic-version"), Some("2023-06-01"));
    assert!(!home.export().contains("sk-"));
}

#[test]
fn without_memory_and_where_nothing_can_be_read_no_byte_changes() {
    for shape in BOTH {
        let provider = shape.provider();
        let home = home_at(&provider.url());
        home.run("rsv-ingest", &[], PAST).ok();
        let proxy = Proxy::start(&home);
        let asked = format!(
            " {{ \"model\" : \"{}\", \"{}\" : [ {{\"role\":\"user\",\"content\":\"bones chapel?\"}} ] }}",
            shape.model, shape.turns
        );
        let odd = [
            format!("{{\"model\": \"{}\", \"{}\": 7}}", shape.model, shape.turns),
            format!(
                "{{\"model\": \"{}\", \"{}\": [{{\"role\":\"user\",\"content\":{{}}}}]}}",
                shape.model, shape.turns
            ),
        ];
        for (body, mode) in [(&asked, "x-rsv-memory: off\r\n"), (&odd[0], ""), (&odd[1], "")] {
            let (status, answer) = proxy.post(shape.path, mode, body);
            assert_eq!((status, answer.as_str()), (200, shape.whole), "{body}");
            assert_eq!(provider.seen().pop().unwrap().text(), body);
        }
        assert_eq!(said(&home, &[]), []);
    }
}

#[test]
fn a_response_whose_history_its_provider_keeps_is_stored_as_that_turn() {
    let provider = RESPONSES.provider();
    let home = home_at(&provider.url());
    home.run("rsv-ingest", &[], PAST).ok();
    let proxy = Proxy::start(&home);
    for (member, value) in [("previous_response_id", json!("resp_0")), ("conversation", json!("conv_1"))] {
        let request =
            json!({"model": "gpt-5", "input": "And the bones chapel?", member: value, "store": true});
        assert_eq!(proxy.post("/v1/responses", "", &request.to_string()).0, 200);
        let sent: Value = serde_json::from_slice(&provider.seen().pop().unwrap().body).unwrap();
        assert!(
            sent["input"].as_str().unwrap().ends_with("</rsv-memory>\n\nAnd the bones chapel?"),
            "{sent}"
        );
        assert_eq!(sent[member], value);
    }
    assert_eq!(said(&home, &[]).len(), 4);
    let outputs = json!({"model": "gpt-5", "previous_response_id": "resp_1",
        "input": [{"type": "function_call_output", "call_id": "c", "output": "rain"}]});
    assert_eq!(proxy.post("/v1/responses", "", &outputs.to_string()).0, 200);
    assert_eq!(said(&home, &[]).len(), 5, "the answer alone");
}
