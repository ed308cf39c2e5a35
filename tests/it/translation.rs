//! Requests for Anthropic's Messages and OpenAI's Responses before a provider that has only chat completions.

use crate::apis::{BOTH, PAST, said};
use crate::fake::{Answer, Fake};
use crate::proxy::{NOW, Proxy, REPLY};
use crate::support::Home;
use serde_json::{Value, json};

pub(crate) const CHUNKS: &str = r#"data: {"id":"c","object":"chat.completion.chunk","created":7,"model":"llama3.1","choices":[{"index":0,"delta":{"role":"assistant","content":"I "}}]}

data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"look."}}]}

data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"look","arguments":"{\"at\":"}}]}}]}

data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"roof\"}"}}]}}]}

data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_2","type":"function","function":{"name":"patch","arguments":"{\"input\":\"a b\"}"}}]},"finish_reason":"tool_calls"}]}

data: {"id":"c","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":1900,"completion_tokens":5,"total_tokens":1905}}

data: [DONE]

"#;

fn home(url: &str) -> Home {
    Home::new().env("RSV_OLLAMA_BASE_URL", url).at(NOW).env("RSV_ENRICH_TIMEOUT", "60s")
}

/// The chat requests that the provider got.
fn sent(provider: &Fake) -> Vec<Value> {
    let chats = provider.seen().into_iter().filter(|seen| seen.path == "/v1/chat/completions");
    chats.map(|seen| serde_json::from_slice(&seen.body).unwrap()).collect()
}

/// A provider that answers whole or in pieces; it does not say how large its window is.
fn provider() -> Fake {
    Fake::answering(|seen| match seen.path.as_str() {
        "/v1/chat/completions" if seen.text().contains("\"stream\":true") => {
            Answer::new(200, CHUNKS).header("Content-Type", "text/event-stream")
        }
        "/v1/chat/completions" => Answer::new(200, REPLY),
        _ => Answer::new(404, "{\"error\":\"not here\"}"),
    })
}

pub(crate) fn messages() -> Value {
    json!({
        "model": "llama3.1", "max_tokens": 100, "temperature": 0.5, "stop_sequences": ["END"], "thinking": {"type": "adaptive"},
        "system": [{"type": "text", "text": "Be brief", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "and kind"}],
        "tools": [{"name": "look", "description": "Looks", "input_schema": {"type": "object"}},
            {"name": "patch", "input_schema": {"type": "object"}},
            {"type": "web_search_20250305", "name": "web_search"}],
        "tool_choice": {"type": "any"},
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "What is this?"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm", "signature": "s"}, {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "roof"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "an owl"}]}]},
            {"role": "assistant", "content": "An owl."},
            {"role": "user", "content": "And the bones chapel?"}
        ]
    })
}

pub(crate) fn responses() -> Value {
    json!({
        "model": "llama3.1", "max_output_tokens": 100, "temperature": 0.5, "reasoning": {"effort": "low"}, "store": false,
        "instructions": "Be brief",
        "text": {"format": {"type": "json_schema", "name": "place", "schema": {"type": "object"}, "strict": true}},
        "tools": [{"type": "function", "name": "look", "description": "Looks", "parameters": {"type": "object"}},
            {"type": "custom", "name": "patch"}, {"type": "web_search"}],
        "tool_choice": "required",
        "input": [
            {"role": "developer", "content": "and kind"},
            {"role": "user", "content": [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]},
            {"type": "reasoning", "summary": [], "encrypted_content": "x"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
            {"type": "function_call", "call_id": "t1", "name": "look", "arguments": "{\"at\":\"roof\"}"},
            {"type": "function_call_output", "call_id": "t1", "output": "an owl"},
            {"role": "assistant", "content": "An owl."},
            {"role": "user", "content": "And the bones chapel?"}
        ]
    })
}

/// Keeps: A provider of chat completions answers in the API of the client.
#[test]
fn a_provider_of_chat_completions_answers_in_the_api_of_the_client() {
    for (shape, request) in BOTH.into_iter().zip([messages(), responses()]) {
        let (by_pipe, by_proxy) = (provider(), provider());
        let (pipe, proxied) = (home(&by_pipe.url()), home(&by_proxy.url()));
        for home in [&pipe, &proxied] {
            home.run("rsv-ingest", &["-p", "p"], PAST).ok();
        }
        let proxy = Proxy::start(&proxied);
        let (status, body) = proxy.post(&format!("/partition/p{}", shape.path), "", &request.to_string());
        assert_eq!(status, 200, "{body}");
        let enriched = pipe.run("rsv-enrich", &["-p", "p"], request.to_string()).ok();
        let answered = pipe.run("rsv-forward", &[], enriched).ok();
        assert_eq!(pipe.run("rsv-ingest", &[], answered).ok(), body);
        assert_eq!(sent(&by_proxy), sent(&by_pipe));
        assert_eq!(proxied.export(), pipe.export());
        let sent = sent(&by_pipe).remove(0);
        let turns = sent["messages"].as_array().unwrap();
        let image = json!([{"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]);
        assert!(turns.contains(&json!({"role": "user", "content": image})), "{sent}");
        let call = json!([{"id": "t1", "type": "function", "function": {"name": "look", "arguments": "{\"at\":\"roof\"}"}}]);
        assert!(
            turns.contains(&json!({"role": "assistant", "content": "I look.", "tool_calls": call})),
            "{sent}"
        );
        assert!(
            turns.contains(&json!({"role": "tool", "tool_call_id": "t1", "content": "an owl"})),
            "{sent}"
        );
        assert_eq!(turns[0]["role"], "system");
        let last = turns.last().unwrap()["content"].as_str().unwrap();
        assert!(last.starts_with("<rsv-memory>") && last.ends_with("And the bones chapel?"), "{last}");
        assert_eq!((&sent["max_tokens"], &sent["temperature"]), (&json!(100), &json!(0.5)));
        assert_eq!((&sent["tool_choice"], sent["tools"].as_array().unwrap().len()), (&json!("required"), 2));
        assert_eq!(sent.get("response_format").is_some(), shape.turns == "input");
        assert!(!sent.to_string().contains("web_search") && sent.get("rsv").is_none(), "{sent}");
        let answer: Value = serde_json::from_str(&body).unwrap();
        if shape.turns == "messages" {
            assert_eq!(answer["content"], json!([{"type": "text", "text": "In Évora."}]));
            assert_eq!((&answer["type"], &answer["stop_reason"]), (&json!("message"), &json!("end_turn")));
        } else {
            assert_eq!(answer["output"][0]["content"][0]["text"], "In Évora.");
            assert_eq!((&answer["object"], &answer["status"]), (&json!("response"), &json!("completed")));
        }
        let stored = said(&pipe, &["-p", "p"]);
        assert_eq!(
            stored,
            [
                ("user".to_owned(), json!("And the bones chapel?")),
                ("assistant".to_owned(), json!("In Évora."))
            ]
        );
    }
}

/// The events of a stream.
fn events(body: &str) -> Vec<Value> {
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

#[test]
fn a_stream_of_chat_completions_arrives_as_events_of_the_api() {
    for (shape, mut request) in BOTH.into_iter().zip([messages(), responses()]) {
        request["stream"] = json!(true);
        let (by_pipe, by_proxy) = (provider(), provider());
        let (pipe, proxied) = (home(&by_pipe.url()), home(&by_proxy.url()));
        let proxy = Proxy::start(&proxied);
        let (status, body) = proxy.post(shape.path, "", &request.to_string());
        assert_eq!(status, 200, "{body}");
        let events = events(&body);
        let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).collect::<Vec<_>>();
        if shape.turns == "messages" {
            assert_eq!(
                kinds,
                [
                    "message_start",
                    "content_block_start",
                    "content_block_delta",
                    "content_block_delta",
                    "content_block_stop",
                    "content_block_start",
                    "content_block_delta",
                    "content_block_delta",
                    "content_block_stop",
                    "content_block_start",
                    "content_block_delta",
                    "content_block_stop",
                    "message_delta",
                    "message_stop",
                ]
            );
            assert_eq!(of("message_delta")[0]["delta"]["stop_reason"], "tool_use");
            assert_eq!(of("message_delta")[0]["usage"], json!({"input_tokens": 1900, "output_tokens": 5}));
            assert_eq!(
                events[5]["content_block"],
                json!({"type": "tool_use", "id": "call_1", "name": "look", "input": {}})
            );
            let input: String =
                events[6..8].iter().map(|event| event["delta"]["partial_json"].as_str().unwrap()).collect();
            assert_eq!(input, "{\"at\":\"roof\"}");
            let indexes: Vec<u64> =
                of("content_block_start").iter().map(|event| event["index"].as_u64().unwrap()).collect();
            assert_eq!(indexes, [0, 1, 2]);
        } else {
            assert_eq!(kinds.first(), Some(&"response.created"));
            let whole = &of("response.completed")[0]["response"];
            let items: Vec<(&str, &str)> = whole["output"]
                .as_array()
                .unwrap()
                .iter()
                .map(|item| (item["type"].as_str().unwrap(), item["name"].as_str().unwrap_or_default()))
                .collect();
            assert_eq!(items, [("message", ""), ("function_call", "look"), ("custom_tool_call", "patch")]);
            assert_eq!(whole["output"][0]["content"][0]["text"], "I look.");
            assert_eq!(whole["output"][1]["arguments"], "{\"at\":\"roof\"}");
            assert_eq!(whole["output"][2]["input"], "a b");
            assert_eq!(whole["usage"]["total_tokens"], 1905);
            let numbers: Vec<u64> =
                events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
            assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
        }
        let enriched = pipe.run("rsv-enrich", &[], request.to_string()).ok();
        let answered = pipe.run("rsv-forward", &["--stream"], enriched).ok();
        let piped = pipe.run("rsv-ingest", &[], answered).ok();
        assert_eq!(piped.lines().count(), events.len() + 1);
        assert_eq!(sent(&by_proxy), sent(&by_pipe));
        assert_eq!(proxied.export(), pipe.export());
        assert_eq!(said(&pipe, &[])[1], ("assistant".to_owned(), json!("I look.")));
        let text = pipe.run("rsv-forward", &["--text"], request.to_string()).ok();
        assert_eq!(text, "I look.\n");
    }
}
