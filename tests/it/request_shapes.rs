//! Requests of clients of Messages and Responses, before a provider that has only chat completions: each row comes over,
//! or is refused by name.

use crate::fake::{Answer, Fake};
use crate::proxy::{NOW, Proxy, REPLY};
use crate::support::Home;
use serde_json::{Value, json};

/// The smallest request of an API, with these members.
fn request(path: &str, members: &Value) -> Value {
    let mut request = match path {
        "/v1/messages" => {
            json!({"model": "llama3.1", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]})
        }
        _ => json!({"model": "llama3.1", "input": "hi"}),
    };
    for (name, value) in members.as_object().unwrap() {
        request[name] = value.clone();
    }
    request
}

fn provider() -> Fake {
    Fake::answering(|seen| match seen.path.as_str() {
        "/v1/chat/completions" => Answer::new(200, REPLY),
        _ => Answer::new(404, "{}"),
    })
}

/// The last request that a provider got.
fn last_sent(provider: &Fake) -> Value {
    let sent = provider.seen().into_iter().rfind(|seen| seen.path == "/v1/chat/completions");
    serde_json::from_slice(&sent.unwrap().body).unwrap()
}

const MESSAGES: &str = "/v1/messages";
const RESPONSES: &str = "/v1/responses";
const PICTURE: &str = "data:image/png;base64,AAAA";

/// The turns of the model that calls the tools `a` and `b`, of the results of these, and of the user.
fn after_two_calls(path: &str, result: Value) -> Value {
    if path == MESSAGES {
        return json!({"messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Hm", "signature": "s"},
                {"type": "tool_use", "id": "a", "name": "look", "input": {}},
                {"type": "text", "text": "And"},
                {"type": "tool_use", "id": "b", "name": "look", "input": "all of it"}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": result},
                {"type": "tool_result", "tool_use_id": "b", "content": "two", "is_error": false},
                {"type": "text", "text": "well?"}]}]});
    }
    json!({"input": [
        {"role": "user", "content": "hi"},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "a", "name": "look", "arguments": ""},
        {"role": "assistant", "content": [{"type": "output_text", "text": "And"}]},
        {"type": "function_call", "call_id": "b", "name": "look", "arguments": "all of it"},
        {"type": "function_call_output", "call_id": "a", "output": result},
        {"type": "function_call_output", "call_id": "b", "output": "two"},
        {"role": "user", "content": "well?"}]})
}

/// The same in chat completions, with what the user says at the end.
fn chat_after_two_calls(result: &str, said: Value) -> Value {
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "look", "arguments": arguments}});
    json!({"messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "And", "tool_calls": [call("a", "{}"), call("b", "all of it")]},
        {"role": "tool", "tool_call_id": "a", "content": result},
        {"role": "tool", "tool_call_id": "b", "content": "two"},
        {"role": "user", "content": said}]})
}

/// The result of a tool that failed.
fn after_a_failure(content: Value) -> Value {
    let mut result = json!({"type": "tool_result", "tool_use_id": "a", "is_error": true});
    if !content.is_null() {
        result["content"] = content;
    }
    json!({"messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {"at": 1}}]},
        {"role": "user", "content": [result]}]})
}

fn chat_after_a_failure(content: &str) -> Value {
    json!({"messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": null, "tool_calls":
            [{"id": "a", "type": "function", "function": {"name": "look", "arguments": "{\"at\":1}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": content}]})
}

fn document(source: Value) -> Value {
    json!({"messages": [{"role": "user", "content": [
        {"type": "document", "title": "Beds", "context": "of May", "source": source, "citations": {"enabled": true}}]}]})
}

fn said(content: Value) -> Value {
    json!({"messages": [{"role": "user", "content": content}]})
}

/// Requests that are translated: the API, their members, those of the request for chat completions; null is none.
fn translated() -> Vec<(&'static str, Value, Value)> {
    let tools = json!([{"name": "look", "input_schema": {"type": "object"}, "strict": true}]);
    let functions =
        json!([{"type": "function", "name": "look", "parameters": {"type": "object"}, "strict": true}]);
    let chat_tools = json!([{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}, "strict": true}}]);
    let own = json!([{"type": "web_search_20250305", "name": "web_search"}]);
    let picture = json!({"type": "image_url", "image_url": {"url": PICTURE}});
    let of_tool = |call: &str| json!({"type": "text", "text": format!("Returned by the tool call {call}:")});
    let words = json!({"type": "text", "text": "well?"});
    let block =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}});
    let schema = json!({"type": "object"});
    let audio = json!({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}});
    vec![
        (
            MESSAGES,
            json!({"tools": tools, "tool_choice": {"type": "auto", "disable_parallel_tool_use": true}}),
            json!({"tools": chat_tools, "tool_choice": "auto", "parallel_tool_calls": false}),
        ),
        (
            MESSAGES,
            json!({"tools": tools, "tool_choice": {"type": "any", "disable_parallel_tool_use": false}}),
            json!({"tool_choice": "required", "parallel_tool_calls": null}),
        ),
        (
            MESSAGES,
            json!({"tool_choice": {"type": "auto", "disable_parallel_tool_use": true}}),
            json!({"tools": null, "tool_choice": null, "parallel_tool_calls": null}),
        ),
        (
            MESSAGES,
            json!({"tools": own, "tool_choice": {"type": "auto"}}),
            json!({"tools": null, "tool_choice": null}),
        ),
        (
            MESSAGES,
            json!({"output_config": {"effort": "high", "format": {"type": "json_schema", "schema": schema}}}),
            json!({"reasoning_effort": "high", "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}}),
        ),
        (
            MESSAGES,
            json!({"stop_sequences": ["END"], "temperature": 0.5, "top_p": 0.9, "top_k": 5, "thinking": {"type": "enabled", "budget_tokens": 1024}, "metadata": {"user_id": "u"}, "service_tier": "auto"}),
            json!({"stop": ["END"], "temperature": 0.5, "top_p": 0.9, "max_tokens": 9, "top_k": null, "thinking": null, "reasoning_effort": null, "metadata": null, "service_tier": null}),
        ),
        (MESSAGES, after_two_calls(MESSAGES, json!("one")), chat_after_two_calls("one", json!("well?"))),
        (
            MESSAGES,
            after_two_calls(MESSAGES, json!([{"type": "text", "text": "here"}, block])),
            chat_after_two_calls("here", json!([of_tool("a"), picture, words])),
        ),
        (MESSAGES, after_a_failure(json!("no such bed")), chat_after_a_failure("Error: no such bed")),
        (
            MESSAGES,
            after_a_failure(
                json!([{"type": "text", "text": "no such bed"}, {"type": "text", "text": "at all"}]),
            ),
            chat_after_a_failure("Error: no such bed\nat all"),
        ),
        (MESSAGES, after_a_failure(Value::Null), chat_after_a_failure("Error")),
        (
            MESSAGES,
            document(json!({"type": "text", "media_type": "text/plain", "data": "figs"})),
            said(json!("Beds\nof May\nfigs")),
        ),
        (
            MESSAGES,
            document(json!({"type": "content", "content": [{"type": "text", "text": "figs"}]})),
            said(json!("Beds\nof May\nfigs")),
        ),
        (
            RESPONSES,
            json!({"tools": functions, "parallel_tool_calls": false, "tool_choice": {"type": "function", "name": "look"}}),
            json!({"tools": chat_tools, "parallel_tool_calls": false, "tool_choice": {"type": "function", "function": {"name": "look"}}}),
        ),
        (RESPONSES, json!({"parallel_tool_calls": true}), json!({"parallel_tool_calls": null})),
        (
            RESPONSES,
            json!({"reasoning": {"effort": "minimal", "summary": "auto"}, "max_output_tokens": 7}),
            json!({"reasoning_effort": "minimal", "max_tokens": 7, "reasoning": null}),
        ),
        (
            RESPONSES,
            json!({"text": {"format": {"type": "text"}, "verbosity": "low"}, "include": ["reasoning.encrypted_content"], "top_logprobs": 0, "truncation": "auto", "store": true}),
            json!({"response_format": null, "top_logprobs": null, "store": null}),
        ),
        (
            RESPONSES,
            json!({"text": {"format": {"type": "json_schema", "name": "beds", "description": "All of them", "schema": schema, "strict": true}}}),
            json!({"response_format": {"type": "json_schema", "json_schema": {"name": "beds", "description": "All of them", "schema": schema, "strict": true}}}),
        ),
        (
            RESPONSES,
            json!({"text": {"format": {"type": "json_object"}}}),
            json!({"response_format": {"type": "json_object"}}),
        ),
        (RESPONSES, after_two_calls(RESPONSES, json!("one")), chat_after_two_calls("one", json!("well?"))),
        (
            RESPONSES,
            after_two_calls(
                RESPONSES,
                json!([{"type": "input_text", "text": "here"}, {"type": "input_image", "image_url": PICTURE}]),
            ),
            chat_after_two_calls("here", json!([of_tool("a"), picture, words])),
        ),
        (
            RESPONSES,
            after_two_calls(RESPONSES, json!({"bed": 1})),
            chat_after_two_calls("{\"bed\":1}", json!("well?")),
        ),
        (
            RESPONSES,
            json!({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": PICTURE, "detail": "low"}, audio]}]}),
            said(json!([{"type": "image_url", "image_url": {"url": PICTURE, "detail": "low"}}, audio])),
        ),
    ]
}

/// Requests that are refused: the API, their members, and how these are named.
fn refused() -> Vec<(&'static str, Value, &'static str)> {
    let own = json!([{"type": "web_search_20250305", "name": "web_search"}]);
    let searched = json!({"messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}]},
        {"role": "user", "content": "well?"}]});
    let file = json!([{"type": "input_file", "file_id": "f"}]);
    let pdf = json!({"type": "base64", "media_type": "application/pdf", "data": "AAAA"});
    vec![
        (MESSAGES, json!({"mcp_servers": [{"name": "x"}]}), "mcp_servers: "),
        (MESSAGES, json!({"container": "c"}), "container: "),
        (MESSAGES, json!({"inference_geo": "eu"}), "inference_geo: "),
        (
            MESSAGES,
            json!({"tools": own, "tool_choice": {"type": "tool", "name": "web_search"}}),
            "tool_choice of the tool \"web_search\": ",
        ),
        (
            MESSAGES,
            json!({"tools": own, "tool_choice": {"type": "any"}}),
            "tool_choice, where every tool is the provider's own: ",
        ),
        (MESSAGES, searched, "messages[1]: a block of type server_tool_use: "),
        (MESSAGES, document(pdf), "messages[0]: a block of type document: "),
        (
            MESSAGES,
            said(json!([{"type": "image", "source": {"type": "file", "file_id": "f"}}])),
            "messages[0]: an image by file: ",
        ),
        (
            MESSAGES,
            said(json!([{"type": "container_upload", "file_id": "f"}])),
            "messages[0]: a block of type container_upload: ",
        ),
        (
            MESSAGES,
            json!({"output_config": {"format": {"type": "grammar"}}}),
            "an answer in the format grammar: ",
        ),
        (RESPONSES, json!({"previous_response_id": "r"}), "previous_response_id: "),
        (RESPONSES, json!({"conversation": "c"}), "conversation: "),
        (RESPONSES, json!({"prompt": {"id": "p"}}), "prompt: "),
        (RESPONSES, json!({"background": true}), "background: "),
        (RESPONSES, json!({"top_logprobs": 3}), "top_logprobs: "),
        (RESPONSES, json!({"include": ["message.output_text.logprobs"]}), "message.output_text.logprobs: "),
        (
            RESPONSES,
            json!({"tools": [{"type": "web_search"}], "tool_choice": {"type": "web_search"}}),
            "tool_choice of type web_search: ",
        ),
        (
            RESPONSES,
            json!({"tools": [{"type": "web_search"}], "tool_choice": "required"}),
            "tool_choice, where every tool is the provider's own: ",
        ),
        (RESPONSES, json!({"text": {"format": {"type": "grammar"}}}), "an answer in the format grammar: "),
        (
            RESPONSES,
            json!({"input": [{"type": "item_reference", "id": "x"}, {"role": "user", "content": "?"}]}),
            "input[0]: an item of type item_reference: ",
        ),
        (
            RESPONSES,
            json!({"input": [{"role": "user", "content": file}]}),
            "input[0]: a part of type input_file: ",
        ),
        (
            RESPONSES,
            json!({"input": [{"type": "function_call_output", "call_id": "c", "output": file}, {"role": "user", "content": "?"}]}),
            "input[0]: a part of type input_file: ",
        ),
        (
            RESPONSES,
            json!({"input": [{"role": "developer", "content": [{"type": "input_image", "image_url": PICTURE}]}, {"role": "user", "content": "?"}]}),
            "input[0]: a part of type input_image of the role system: ",
        ),
    ]
}

/// Keeps: A client's request is translated whole, or refused.
#[test]
fn what_chat_completions_can_say_comes_over() {
    let provider = provider();
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url()).at(NOW);
    let proxy = Proxy::start(&home);
    for (path, members, wanted) in translated() {
        for streams in [false, true] {
            let mut request = request(path, &members);
            request["stream"] = json!(streams);
            let (status, body) = proxy.post(path, "X-Rsv-Memory: store\r\n", &request.to_string());
            assert_eq!(status, 200, "{request}: {body}");
            let sent = last_sent(&provider);
            for (name, wanted) in wanted.as_object().unwrap() {
                assert_eq!(sent.get(name).unwrap_or(&Value::Null), wanted, "{name} of {request}: {sent}");
            }
        }
    }
}

/// Keeps: A client's request is translated whole, or refused.
#[test]
fn what_chat_completions_cannot_say_is_refused_by_name() {
    let provider = provider();
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url()).at(NOW);
    let proxy = Proxy::start(&home);
    for (path, members, named) in refused() {
        let request = request(path, &members).to_string();
        let (status, body) = proxy.post(path, "", &request);
        let answer: Value = serde_json::from_str(&body).unwrap();
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(status == 400 && message.starts_with(named), "{request}: {status} {body}");
        assert_eq!(answer["error"]["type"], "invalid_request_error");
        let refused = home.run("rsv-forward", &["--api", path.trim_start_matches("/v1/")], &request);
        assert!(refused.status == 2 && refused.stderr.contains(named), "{refused}");
        assert!(refused.stderr.contains("hint: leave it out"), "{refused}");
    }
    assert!(provider.seen().iter().all(|seen| seen.path != "/v1/chat/completions"));
    assert_eq!(home.contents("rsv-view", &["9"]), [""; 0]);
}

#[test]
fn a_member_of_another_type_is_named_with_its_place() {
    let picture = json!([{"type": "input_image", "image_url": ["a"]}]);
    for (path, members, named) in [
        (MESSAGES, said(json!([{"text": "hi"}])), "messages[0]: type: expected a string"),
        (MESSAGES, said(json!([{"type": "image"}])), "messages[0]: source.type: expected a string"),
        (
            MESSAGES,
            said(json!([{"type": "text", "text": "hi"}, 7])),
            "messages[0]: content[1]: expected an object, found 7",
        ),
        (MESSAGES, json!({"tools": [7]}), "tools[0]: expected an object, found 7"),
        (MESSAGES, json!({"tool_choice": {}}), "tool_choice.type: expected a string"),
        (RESPONSES, json!({"text": {"format": {}}}), "format.type: expected a string"),
        (RESPONSES, json!({"input": [{"content": "hi"}]}), "input[0]: role: expected a string"),
        (
            RESPONSES,
            json!({"input": [{"role": "user", "content": "hi"}, 7]}),
            "input[1]: expected an object, found 7",
        ),
        (
            RESPONSES,
            json!({"input": [{"role": "user", "content": picture}]}),
            "input[0]: image_url: expected a string, found [\"a\"]",
        ),
    ] {
        let request = request(path, &members).to_string();
        let refused = Home::new().run("rsv-forward", &["--api", path.trim_start_matches("/v1/")], &request);
        assert!(
            refused.status == 2 && refused.stderr.contains(&format!(": {named}\n")),
            "{named}: {refused}"
        );
    }
    let length = request(RESPONSES, &json!({"max_output_tokens": ""})).to_string();
    let refused = Home::new().run("rsv-enrich", &["--api", "responses"], &length);
    assert!(refused.stderr.contains(": max_output_tokens: expected a whole number"), "{refused}");
}

#[test]
fn the_length_of_an_answer_has_the_name_that_its_provider_knows() {
    let provider = provider();
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url());
    let home =
        home.env("RSV_OPENAI_BASE_URL", &format!("{}/v1", provider.url())).env("OPENAI_API_KEY", "sk-own");
    let proxy = Proxy::start(&home.at(NOW));
    for (model, known, other) in [
        ("llama3.1", "max_tokens", "max_completion_tokens"),
        ("gpt-5", "max_completion_tokens", "max_tokens"),
    ] {
        let request = request(MESSAGES, &json!({"model": model}));
        let (status, body) = proxy.post(MESSAGES, "", &request.to_string());
        assert_eq!(status, 200, "{body}");
        let sent = last_sent(&provider);
        assert_eq!((&sent[known], sent.get(other)), (&json!(9), None), "{sent}");
    }
}
