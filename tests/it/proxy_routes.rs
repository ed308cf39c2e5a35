//! Which address of rsv-proxy leads where, and what memory does there.

use crate::fake::{Answer, Fake, dead};
use crate::proxy::{Proxy, REPLY, asked, asking, home, post};
use crate::support::Home;
use serde_json::{Value, json};

#[test]
fn every_shape_of_address_stores_in_its_scope() {
    let provider = Fake::new(vec![Answer::new(200, REPLY); 4]);
    let home = home(&provider);
    let proxy = Proxy::start(&home);
    for (path, partition, instance) in [
        ("/v1/chat/completions", "default", "default"),
        ("/v1/partition/a/instance/b/chat/completions", "a", "b"),
        ("/partition/c/v1/chat/completions", "c", "c"),
        ("/v1/chat/completions/d/e", "d", "e"),
    ] {
        let (status, body) = proxy.post(path, "", &asking(path));
        assert_eq!(status, 200, "{body}");
        let seen = home.run("rsv-view", &["-p", partition, "-i", instance], "").ok();
        assert_eq!(seen.lines().count(), 2, "{path}: {seen}");
        assert!(seen.contains(path));
    }
}

#[test]
fn an_address_without_a_scope_means_that_of_the_flags() {
    let provider = Fake::new(vec![Answer::new(200, REPLY); 2]);
    let home = home(&provider);
    let proxy = Proxy::start_with(&home, &["-p", "own", "-i", "desk"]);
    assert_eq!(proxy.post("/v1/chat/completions", "", &asking("mine")).0, 200);
    assert_eq!(proxy.post("/partition/theirs/v1/chat/completions", "", &asking("yours")).0, 200);
    assert!(home.run("rsv-view", &["-p", "own", "-i", "desk"], "").ok().contains("mine"));
    assert!(home.run("rsv-view", &["-p", "theirs", "-i", "theirs"], "").ok().contains("yours"));
}

#[test]
fn clients_find_the_proxy_alive_under_every_base() {
    let proxy = Proxy::start(&Home::new());
    for base in ["", "/v1", "/partition/p", "/partition/p/instance/i", "/partition/p/v1/"] {
        let head = proxy.whole(&asked("HEAD", &format!("{base}/"), ""));
        assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{base}: {head}");
        assert_eq!(proxy.get(&format!("{base}/")).0, 200, "{base}");
    }
    assert_eq!(proxy.get("/partition/p/health").0, 200);
    assert_eq!(proxy.get("/partition/p/instance/i/command/view"), (200, "[]\n".to_owned()));
    for (method, path, wanted) in [
        ("DELETE", "/health", 405),
        ("POST", "/v1/models", 405),
        ("GET", "/api/chat", 405),
        ("GET", "/v1/chat/completions/only-one", 404),
        ("GET", "/v1/files/%2e%2e/%2e%2e/secret", 404),
    ] {
        let (status, body) = proxy.raw(&asked(method, path, ""));
        assert_eq!(status, wanted, "{method} {path}: {body}");
        assert!(body.contains("\"error\":"), "{body}");
    }
}

#[test]
fn the_address_names_the_scope_before_the_headers_do() {
    let provider = Fake::new(vec![Answer::new(200, REPLY); 3]);
    let home = home(&provider);
    let proxy = Proxy::start(&home);
    let headers = "x-rsv-partition: p\r\nx-rsv-instance: i\r\n";
    for (path, headers, partition, instance) in [
        ("/v1/chat/completions", headers, "p", "i"),
        ("/v1/chat/completions", "X-Rsv-Partition: q\r\n", "q", "q"),
        ("/partition/own/v1/chat/completions", headers, "own", "own"),
    ] {
        assert_eq!(proxy.post(path, headers, &asking(path)).0, 200);
        let seen = home.run("rsv-view", &["-p", partition, "-i", instance], "").ok();
        assert_eq!(seen.lines().count(), 2, "{path} {headers}: {seen}");
    }
    let (status, body) = proxy.post("/v1/chat/completions", "x-rsv-partition: \r\n", &asking("x"));
    assert!(status == 400 && body.contains("partition: is empty"), "{body}");
}

#[test]
fn the_models_of_all_providers_are_one_list() {
    let openai = Fake::new([Answer::new(
        200,
        r#"{"object":"list","data":[{"id":"gpt-4o","object":"model","created":1.0},{"id":"whisper-1","owned_by":"x"}]}"#,
    )]);
    let ollama =
        Fake::new([Answer::new(200, r#"{"object":"list","data":[{"id":"llama3.1"},{"id":"gpt-4o"}]}"#)]);
    let home = home(&ollama)
        .env("RSV_OPENAI_BASE_URL", &openai.url())
        .env("OPENAI_API_KEY", "own")
        .env("RSV_MISTRAL_BASE_URL", &dead())
        .env("MISTRAL_API_KEY", "canary-key");
    let proxy = Proxy::start(&home);
    let (status, body) =
        proxy.raw(&asked("GET", "/partition/p/v1/models", "Authorization: Bearer callers\r\n"));
    assert_eq!(status, 200, "{body}");
    let list: Value = serde_json::from_str(&body).unwrap();
    let models: Vec<(&str, &str)> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| (model["id"].as_str().unwrap(), model["owned_by"].as_str().unwrap()))
        .collect();
    // A model whose name alone would select another provider is listed with its provider.
    let wanted = [
        ("gpt-4o", "openai"),
        ("openai/whisper-1", "openai"),
        ("llama3.1", "ollama"),
        ("ollama/gpt-4o", "ollama"),
    ];
    assert_eq!(models, wanted);
    assert!(body.contains("\"created\":1.0"), "{body}");
    assert_eq!(openai.one().header("authorization"), Some("Bearer own"));
    assert_eq!((openai.one().path.as_str(), ollama.one().header("authorization")), ("/v1/models", None));
}

#[test]
fn listing_models_fails_only_if_every_provider_fails() {
    let none = Proxy::start(&Home::new().env("RSV_OLLAMA_BASE_URL", ""));
    let (status, body) = none.get("/v1/models");
    // On a machine of its own Ollama may run where it is by default.
    assert_eq!(status, 200, "{body}");
    let one = Proxy::start(&Home::new().env("RSV_OLLAMA_BASE_URL", &dead()));
    let (status, body) = one.get("/v1/models");
    assert!(status == 502 && body.contains("Ollama"), "{body}");
}

#[test]
fn unknown_routes_pass_through_unchanged() {
    let kept = "{ \"model\" : \"gpt-4o\", \"input\": 1.0 }";
    let openai = Fake::new([
        Answer::new(418, "event: x\ndata: {\"a\": 1.0}\n\n")
            .header("Content-Type", "text/event-stream")
            .header("x-request-id", "7")
            .header("Access-Control-Allow-Origin", "*"),
        Answer::new(200, "{}"),
        Answer::new(200, "{}"),
    ]);
    let ollama = Fake::new(vec![Answer::new(200, "{}"); 4]);
    let home = home(&ollama).env("RSV_OPENAI_BASE_URL", &openai.url());
    let proxy = Proxy::start(&home);
    let bearer = "Authorization: Bearer callers\r\n";
    let headers = format!(
        "{bearer}OpenAI-Organization: o\r\nAccept: text/event-stream\r\nX-Secret: s\r\nCookie: c\r\nx-rsv-partition: p\r\n\
         Connection: close, OpenAI-Beta\r\nOpenAI-Beta: b\r\nTE: trailers\r\n"
    );
    let answer = proxy.whole(&post("/partition/p/v1/responses?stream=a%20b", &headers, kept));
    assert!(answer.starts_with("HTTP/1.1 418"), "{answer}");
    let lower = answer.to_lowercase();
    for reported in ["content-type: text/event-stream", "x-request-id: 7", "x-rsv-memory: off"] {
        assert!(lower.contains(reported), "{reported}: {answer}");
    }
    assert!(!lower.contains("access-control"), "{answer}");
    assert!(answer.ends_with("event: x\ndata: {\"a\": 1.0}\n\n"), "{answer}");
    let seen = openai.one();
    assert_eq!((seen.path.as_str(), seen.text()), ("/v1/responses?stream=a%20b", kept));
    assert_eq!(seen.header("authorization"), Some("Bearer callers"));
    assert_eq!(
        (seen.header("openai-organization"), seen.header("accept")),
        (Some("o"), Some("text/event-stream"))
    );
    for away in ["x-secret", "cookie", "x-rsv-partition", "openai-beta", "te"] {
        assert_eq!(seen.header(away), None, "{away}");
    }

    let to = |body: &str| proxy.raw(&post("/v1/completions", bearer, body)).0;
    assert_eq!(to(r#"{"model":"ollama/gpt-4o","x":[1.0]}"#), 200);
    assert_eq!(to(r#"{"prompt":"no model, and a key"}"#), 200);
    assert_eq!(proxy.raw(&asked("DELETE", "/v1/files/@evil.example:1/x", "")).0, 200);
    assert_eq!(ollama.seen()[0].text(), r#"{"model":"gpt-4o","x":[1.0]}"#);
    assert_eq!(ollama.seen()[0].header("authorization"), None);
    assert_eq!(openai.seen()[1].text(), r#"{"prompt":"no model, and a key"}"#);
    assert_eq!(
        (&*ollama.seen()[1].path, &*ollama.seen()[1].method),
        ("/v1/files/@evil.example:1/x", "DELETE")
    );
    assert_eq!(proxy.raw(&asked("GET", "/v1/models/gpt-4o", bearer)).0, 200);
    assert_eq!(openai.seen()[2].path, "/v1/models/gpt-4o");
    // The member rsv is not sent to the provider.
    for (path, headers) in [("/v1/chat/completions", "x-rsv-memory: off\r\n"), ("/api/embed", "")] {
        let line = r#"{"model":"m","messages":[],"rsv":{"partition":"p"}}"#;
        assert_eq!(proxy.raw(&post(path, headers, line)).0, 200);
        assert_eq!(ollama.seen().pop().unwrap().text(), r#"{"model":"m","messages":[]}"#, "{path}");
    }
    let (status, body) = proxy.raw(&post("/v1/responses", "", r#"{"model":"gpt-4o"}"#));
    assert!(status == 401 && body.contains("OPENAI_API_KEY"), "{body}");
    assert!(!home.store().exists(), "nothing is stored");
}

#[test]
fn passed_through_requests_use_the_routes_and_headers_of_chat() {
    let house = Fake::answering(|_| Answer::new(200, r#"{"data":[{"id":"gpt-4o"},{"id":"whisper-1"}]}"#));
    let ollama = Fake::new(vec![Answer::new(200, "{}"); 2]);
    let home = home(&ollama);
    let url = house.url().replace("http://", "http://u:pw@");
    home.write(
        ".config/rsv/config.toml",
        &format!(
            "[routes]\n'gpt-*' = {{ base_url = '{url}/v1?version=1', headers = {{ X-Title = 'My Tool' }} }}\n\
             '*' = {{ base_url = '{url}/any' }}"
        ),
    );
    let proxy = Proxy::start(&home);
    let bearer = "Authorization: Bearer callers\r\nx-title: mine\r\nUser-Agent: theirs\r\n";
    assert_eq!(proxy.raw(&post("/v1/responses?a=b", bearer, r#"{"model":"gpt-4o"}"#)).0, 200);
    assert_eq!(proxy.post("/v1/chat/completions?a=b", "x-rsv-memory: off\r\n", &asking("x")).0, 200);
    let (status, body) = proxy.get("/v1/models");
    assert_eq!(status, 200, "{body}");
    // The other would be asked for elsewhere, by whatever name.
    assert!(body.contains("\"gpt-4o\"") && !body.contains("whisper"), "{body}");
    let seen = house.seen();
    let paths: Vec<&str> = seen.iter().map(|seen| seen.path.as_str()).collect();
    assert_eq!(paths, ["/v1/responses?version=1&a=b", "/any?a=b", "/v1/models?version=1"]);
    for seen in [&seen[0], &seen[2]] {
        assert_eq!(
            (seen.header("x-title"), seen.header("authorization")),
            (Some("My Tool"), Some("Basic dTpwdw=="))
        );
    }
    assert_eq!(seen[0].header("user-agent"), Some("theirs"));
    // Routes do not apply to a request that names no model.
    assert_eq!(proxy.get("/api/tags").0, 200);
    assert_eq!(ollama.seen().iter().map(|seen| &*seen.path).collect::<Vec<_>>(), ["/v1/models", "/api/tags"]);
}

#[test]
fn rejected_requests_are_retried_without_memory_too() {
    let provider = Fake::new([Answer::new(429, "").header("retry-after", "0"), Answer::new(200, REPLY)]);
    let proxy = Proxy::start(&home(&provider));
    let (status, body) = proxy.raw(&post("/v1/chat/completions", "x-rsv-memory: off\r\n", &asking("x")));
    assert_eq!((status, body.as_str(), provider.seen().len()), (200, REPLY, 2));
}

#[test]
fn headers_of_both_sides_pass_with_memory_too() {
    let reported = |answer: Answer| {
        answer
            .header("x-request-id", "r1")
            .header("x-ratelimit-remaining-requests", "9")
            .header("x-should-retry", "false")
            .header("retry-after", "60")
            .header("x-rsv-recalled", "99")
            .header("Set-Cookie", "c=1")
    };
    let events = "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"In\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let provider = Fake::new([
        reported(Answer::new(200, REPLY)),
        reported(Answer::new(429, "{\"error\":{\"message\":\"no quota\",\"type\":\"t\",\"code\":null}}")),
        reported(Answer::new(200, events).header("Content-Type", "text/event-stream")),
    ]);
    let proxy = Proxy::start(&home(&provider).env("RSV_RETRIES", "0"));
    let headers =
        "OpenAI-Organization: o\r\nIdempotency-Key: k\r\nUser-Agent: theirs\r\nX-Secret: s\r\nCookie: c\r\n";
    let streamed = asking("c").replace("{\"model\"", "{\"stream\":true,\"model\"");
    for (status, body) in [(200, asking("a")), (429, asking("b")), (200, streamed)] {
        let answer = proxy.whole(&post("/v1/chat/completions?api-version=1", headers, &body)).to_lowercase();
        assert!(answer.starts_with(&format!("http/1.1 {status}")), "{answer}");
        for reported in [
            "x-request-id: r1",
            "x-ratelimit-remaining-requests: 9",
            "x-should-retry: false",
            "retry-after: 60",
        ] {
            assert!(answer.contains(&format!("\r\n{reported}\r\n")), "{reported}: {answer}");
        }
        assert!(!answer.contains("x-rsv-recalled: 99"), "{answer}");
        assert!(
            !answer.contains("set-cookie") && answer.matches("\r\ncontent-type:").count() == 1,
            "{answer}"
        );
        let seen = provider.seen().pop().unwrap();
        assert_eq!(seen.path, "/v1/chat/completions?api-version=1");
        let said = ["openai-organization", "idempotency-key", "user-agent"].map(|name| seen.header(name));
        assert_eq!(said, [Some("o"), Some("k"), Some("theirs")]);
        assert_eq!(["x-secret", "cookie"].map(|name| seen.header(name)), [None, None]);
    }
}

#[test]
fn an_error_is_worded_as_openais_whatever_the_provider_says() {
    let said = [
        r#"{"detail":["no such field"]}"#,
        r#"{"object":"error","message":"in other words"}"#,
        r#"{"error":"plain words"}"#,
        "<html>",
        "",
    ];
    let provider = Fake::new(said.map(|body| Answer::new(422, body)));
    let proxy = Proxy::start(&home(&provider));
    for body in said {
        let (status, reported) = proxy.post("/v1/chat/completions", "", &asking("x"));
        let reported: Value = serde_json::from_str(&reported).unwrap();
        let [message, kind, code] = ["message", "type", "code"].map(|name| reported["error"][name].as_str());
        assert_eq!(
            (status, kind, code),
            (422, Some("invalid_request_error"), Some("provider_error")),
            "{reported}"
        );
        let words = ["in other words", "plain words"].into_iter().find(|words| body.contains(words));
        let message = message.unwrap();
        assert!(
            message.starts_with("Ollama answered 422") && message.ends_with(words.unwrap_or("")),
            "{reported}"
        );
    }
}

#[test]
fn memory_does_what_the_request_or_its_partition_says() {
    let provider = Fake::new(vec![Answer::new(200, REPLY); 9]);
    let home = home(&provider);
    home.write(".config/rsv/config.toml", "[partitions.quiet]\nmemory = \"off\"\n");
    let proxy = Proxy::start(&home);
    let past = json!({"role": "user", "content": "The bones chapel is in Evora"}).to_string() + "\n";
    for partition in ["full", "readonly", "store", "off", "quiet"] {
        home.ingest(&["-p", partition], &past);
    }
    for (at, (partition, header, used)) in [
        ("full", "", "full"),
        ("readonly", "x-rsv-memory: readonly\r\n", "readonly"),
        ("store", "x-rsv-memory: store\r\n", "store"),
        ("off", "x-rsv-memory: OFF\r\n", "off"),
        ("quiet", "", "off"),
    ]
    .into_iter()
    .enumerate()
    {
        let request = asking("Where is the bones chapel?");
        let answer =
            proxy.whole(&post(&format!("/partition/{partition}/v1/chat/completions"), header, &request));
        assert!(answer.contains(&format!("x-rsv-memory: {used}\r\n")), "{partition}: {answer}");
        proxy.settle();
        let sent = provider.seen()[at].text().to_owned();
        assert_eq!(
            sent.contains("<rsv-memory>"),
            ["full", "readonly"].contains(&used),
            "{partition}: {sent}"
        );
        let stored = home.run("rsv-view", &["-p", partition, "9"], "").ok().lines().count();
        assert_eq!(stored, if ["full", "store"].contains(&used) { 3 } else { 1 }, "{partition}");
        if used == "off" {
            assert_eq!((sent.as_str(), answer.ends_with(REPLY)), (request.as_str(), true), "{answer}");
        }
    }
    let over =
        proxy.whole(&post("/partition/quiet/v1/chat/completions", "x-rsv-memory: full\r\n", &asking("x")));
    assert!(over.contains("x-rsv-memory: full\r\n"), "{over}");
    let (status, body) = proxy.post("/v1/chat/completions", "x-rsv-memory: some\r\n", &asking("x"));
    assert!(status == 400 && body.contains("expected full, readonly, store or off, found some"), "{body}");
}

#[test]
fn invalid_json_is_reported_with_its_place() {
    let proxy = Proxy::start(&Home::new());
    for (path, body, says) in [
        ("/v1/chat/completions", "{\"model\":\"m\",\n \"messages\": [,]}", "at line 2 column 15"),
        ("/v1/embeddings", "{\n\n\"input\"", "at line 3 column 7"),
        (
            "/v1/chat/completions",
            "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":1}]}",
            "messages[0]: content: ",
        ),
        ("/v1/chat/completions", "[]", "expected"),
    ] {
        let (status, reported) = proxy.post(path, "", body);
        assert!(status == 400 && reported.contains(says), "{body}: {reported}");
    }
    let (status, reported) = proxy.post("/api/chat", "", "{\"model\":\n nonsense");
    assert_eq!(status, 400);
    let reported: Value = serde_json::from_str(&reported).unwrap();
    assert!(reported["error"].as_str().is_some_and(|error| error.contains("line 2 column")), "{reported}");
}

#[test]
fn health_reports_every_component() {
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &dead()).env("OPENAI_API_KEY", "canary-key");
    let proxy = Proxy::start(&home);
    let (status, body) = proxy.get("/health");
    let reported: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &reported["status"], &reported["store"]), (200, &json!("ok"), &json!("ok")));
    assert_eq!((&reported["embedder"], &reported["pending"]), (&Value::Null, &json!(0)));
    assert_eq!(reported["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        (&reported["upstreams"][0]["name"], &reported["upstreams"][0]["key"]),
        (&json!("openai"), &json!(true))
    );
    assert!(!body.contains("canary-key") && !home.store().exists(), "{body}");
}
