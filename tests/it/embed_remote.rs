//! Vectors from servers, and rsv-proxy as one.

use crate::fake::{Answer, Fake, dead};
use crate::models::cosine;
use crate::proxy::Proxy;
use crate::support::{Home, lines_of};
use serde_json::{Value, json};
use std::time::Duration;

const PATH: &str = "/v1/embeddings";

/// A server's answer with these vectors.
fn vectors(vectors: Value) -> Answer {
    let data = vectors.as_array().unwrap().iter().enumerate();
    let data: Vec<Value> = data.map(|(index, v)| json!({"index": index, "embedding": v})).collect();
    Answer::new(200, json!({"object": "list", "data": data}).to_string())
}

/// A home whose embedder is a server.
fn home(server: &Fake) -> Home {
    Home::new().env("RSV_EMBED_VIA", &server.url()).env("RSV_EMBED_MODEL", "some-model")
}

fn ask(proxy: &Proxy, body: Value) -> (u16, Value) {
    let (status, text) = proxy.post(PATH, "", &body.to_string());
    (status, serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}")))
}

/// The vectors in lines of rsv-embed.
fn vectors_of(lines: &str) -> Vec<Vec<f64>> {
    let vector = |line: Value| serde_json::from_value(line["embedding"].clone()).unwrap();
    lines_of(lines).into_iter().map(vector).collect()
}

#[test]
fn the_proxy_embeds_in_openais_shape() {
    let server = Fake::new([vectors(json!([[0, 2], [3, 4]])), vectors(json!([[0, 1]]))]);
    let proxy = Proxy::start(&home(&server));
    let (status, body) = ask(&proxy, json!({"input": ["four", "fourfour"], "model": "Some-Model"}));
    let element = |index, v: Value| json!({"object": "embedding", "index": index, "embedding": v});
    let data = [element(0, json!([0.0, 1.0])), element(1, json!([0.6, 0.8]))];
    let usage = json!({"prompt_tokens": 3, "total_tokens": 3});
    let whole = json!({"object": "list", "data": data, "model": "some-model", "usage": usage});
    assert_eq!((status, body), (200, whole));
    let (status, text) =
        proxy.post("/partition/p/v1/embeddings", "", r#"{"input":"x","encoding_format":"base64"}"#);
    assert!(status == 200 && text.contains(r#""embedding":"AAAAAAAAgD8="}"#), "{text}");
}

#[test]
fn embedding_errors_have_openais_shape() {
    let server = Fake::new([vectors(json!([[0, 1]])), Answer::new(418, "{}")]);
    let proxy = Proxy::start(&home(&server));
    for (body, wanted, code, says) in [
        (json!({"input": [1, 2]}), 400, "invalid_request", "token numbers are not taken"),
        (json!({"input": "x", "dimensions": 3}), 400, "invalid_request", "vectors of 2 numbers"),
        (json!({"input": "x", "model": "text-embedding-3-small"}), 404, "model_not_found", "some-model"),
        (json!({"input": "x"}), 503, "embedding_failed", "answered 418"),
    ] {
        let (status, answer) = ask(&proxy, body.clone());
        assert_eq!((status, answer["error"]["code"].as_str()), (wanted, Some(code)), "{body}: {answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(says), "{answer}");
    }
    assert_eq!(proxy.get(PATH).0, 405);
}

#[test]
fn without_a_model_the_proxy_says_what_to_run() {
    let provider = Fake::new([Answer::new(200, r#"{"choices":[{"message":{"content":"yes"}}]}"#)]);
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url());
    let proxy = Proxy::start(&home);
    let (status, body) = ask(&proxy, json!({"input": "x"}));
    assert_eq!((status, body["error"]["code"].as_str()), (503, Some("no_model")));
    assert!(body["error"]["message"].as_str().unwrap().contains("rsv-embed --fetch"), "{body}");
    let chat = r#"{"model":"m","messages":[{"role":"user","content":"Is it so?"}]}"#;
    assert_eq!(proxy.post("/v1/chat/completions", "", chat).0, 200);
    assert_eq!(home.run("rsv-view", &[], "").ok().lines().count(), 2);
}

#[test]
fn a_proxy_does_not_embed_through_itself() {
    let home = Home::new().env("RSV_EMBED_VIA", "proxy").env("RSV_EMBED_MODEL", "m");
    let proxy = Proxy::start(&home);
    let (status, body) = ask(&proxy, json!({"input": "x"}));
    assert_eq!((status, body["error"]["code"].as_str()), (503, Some("no_model")), "{body}");
}

#[test]
fn one_proxy_asks_another_for_its_model() {
    let server = Fake::new([vectors(json!([[0, 1]])), vectors(json!([[1, 0]]))]);
    let warm = Proxy::start(&home(&server));
    let url = format!("http://127.0.0.1:{}", warm.port());
    let next = Home::new().env("RSV_EMBED_VIA", &url).env("RSV_EMBED_MODEL", "SOME-model");
    let (status, body) = ask(&Proxy::start(&next), json!({"input": "x"}));
    assert_eq!((status, &body["data"][0]["embedding"]), (200, &json!([0.0, 1.0])), "{body}");
    let other = next.env("RSV_EMBED_MODEL", "other");
    let (status, body) = ask(&Proxy::start(&other), json!({"input": "x"}));
    let said = body["error"]["message"].as_str().unwrap();
    assert_eq!(status, 503);
    assert!(said.contains("the model other is not served here, but some-model"), "{said}");
}

#[test]
fn a_key_is_sent_only_over_tls_or_loopback() {
    let server = Fake::new(vec![vectors(json!([[0, 1]])); 3]);
    let home = home(&server).env("CANARY", "canary-key");
    home.write(".config/rsv/config.toml", "embed.key_variable = 'CANARY'\n");
    ask(&Proxy::start(&home), json!({"input": "x"}));
    assert_eq!(server.one().header("Authorization"), Some("Bearer canary-key"));
    let openai = home.env("RSV_EMBED_VIA", "openai").env("RSV_OPENAI_BASE_URL", &server.url());
    let openai = openai.env("OPENAI_API_KEY", "canary-openai");
    ask(&Proxy::start(&openai), json!({"input": "x"}));
    assert_eq!(server.seen()[1].header("Authorization"), Some("Bearer canary-openai"));
    let ollama = home.env("RSV_EMBED_VIA", "ollama").env("RSV_OLLAMA_BASE_URL", &server.url());
    ask(&Proxy::start(&ollama), json!({"input": "x"}));
    let seen = &server.seen()[2];
    assert_eq!((seen.header("Authorization"), seen.path.as_str()), (None, "/api/embed"));
    // No server is needed: the key is refused before anything is sent.
    let plain = home.env("RSV_EMBED_VIA", "http://192.0.2.1");
    let (_, body) = ask(&Proxy::start(&plain), json!({"input": "x"}));
    assert!(body["error"]["message"].as_str().unwrap().contains("in the clear"), "{body}");
    assert!(!body.to_string().contains("canary"), "{body}");
}

#[test]
fn a_key_that_a_server_repeats_is_masked() {
    let refusal = r#"{"error":{"message":"canary-key is no key"}}"#;
    let server = Fake::new([Answer::new(401, refusal)]);
    let home = home(&server).env("CANARY", "canary-key");
    home.write(".config/rsv/config.toml", "embed.key_variable = 'CANARY'\n");
    let (_, body) = ask(&Proxy::start(&home), json!({"input": "x"}));
    let said = body["error"]["message"].as_str().unwrap();
    assert!(said.contains("answered 401 Unauthorized: **** is no key: check CANARY"), "{said}");
}

#[test]
fn an_unreachable_embedding_server_is_reported() {
    let home = Home::new().env("RSV_EMBED_VIA", &dead()).env("RSV_EMBED_MODEL", "m");
    let (status, body) = ask(&Proxy::start(&home), json!({"input": "x"}));
    assert_eq!(status, 503);
    assert!(
        body["error"]["message"].as_str().unwrap().contains("connection refused: check embed.via"),
        "{body}"
    );
}

#[test]
fn stored_turns_get_vectors_and_synapses_before_exit() {
    let provider = Fake::new(vec![Answer::new(200, r#"{"choices":[{"message":{"content":"yes"}}]}"#); 2]);
    // The first turn has nothing to recall; the second asks for its question's vector too.
    let pair = || vectors(json!([[0, 1], [1, 0]]));
    let server = Fake::new([pair(), vectors(json!([[0, 1]])), pair()]);
    let home = home(&server).env("RSV_OLLAMA_BASE_URL", &provider.url());
    for turn in 1..=2 {
        let mut proxy = Proxy::start(&home);
        let chat = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"Is it {turn}?"}}]}}"#);
        assert_eq!(proxy.post("/v1/chat/completions", "", &chat).0, 200);
        assert_eq!(proxy.end(), Some(0));
        let vectors = home.export().matches(r#""kind":"embedding""#).count();
        assert_eq!(vectors, 2 * turn, "{}", home.export());
        // Both questions have one vector, and both answers.
        let synapses = home.export().matches(r#""rel":"SYNAPSE""#).count();
        assert_eq!(synapses, 2 * (turn - 1), "{}", home.export());
    }
    let asked: Value = serde_json::from_str(server.seen()[2].text()).unwrap();
    assert_eq!(asked["input"], json!(["yes", "Is it 2?"]));
}

#[test]
fn a_failing_embedder_stops_no_turn() {
    let provider = Fake::new([Answer::new(200, r#"{"choices":[{"message":{"content":"yes"}}]}"#)]);
    let server = Fake::new([Answer::new(400, "{}"), Answer::new(400, "{}")]);
    let home = home(&server).env("RSV_OLLAMA_BASE_URL", &provider.url());
    let mut proxy = Proxy::start(&home);
    let chat = r#"{"model":"m","messages":[{"role":"user","content":"Is it so?"}]}"#;
    assert_eq!(proxy.post("/v1/chat/completions", "", chat).0, 200);
    assert_eq!(proxy.end(), Some(0));
    assert!(!server.seen().is_empty());
    assert_eq!(home.run("rsv-view", &[], "").ok().lines().count(), 2);
}

#[test]
fn the_tool_asks_a_server() {
    let busy = Answer::new(429, "{}").header("Retry-After", "0");
    let server = Fake::new([busy, vectors(json!([[0, 1], [1, 0]]))]);
    let home = home(&server);
    let lines = home.run("rsv-embed", &["--text"], "one\ntwo\n").ok();
    assert_eq!(vectors_of(&lines), [[0.0, 1.0], [1.0, 0.0]]);
    let asked: Value = serde_json::from_str(server.seen()[1].text()).unwrap();
    assert_eq!(asked, json!({"model": "some-model", "input": ["one", "two"], "encoding_format": "base64"}));
}

#[test]
fn an_invalid_embedding_answer_is_an_error() {
    let one = |embedding| json!({"data": [{"index": 0, "embedding": embedding}]}).to_string();
    for (body, says) in [
        ("{\"data\":[]}".to_owned(), "0 vectors for 1 texts"),
        ("<html>".to_owned(), "no JSON object"),
        (one(json!([1, null])), "expected an array of numbers"),
        (one(json!([0, 0])), "has no direction"),
    ] {
        let server = Fake::new([Answer::new(200, body)]);
        let ran = home(&server).run("rsv-embed", &["--text"], "x\n");
        assert_eq!(ran.stdout, "");
        let said = ran.trouble();
        assert!(said.contains("/v1/embeddings: invalid answer: ") && said.contains(says), "{said}");
    }
    let server = Fake::new([Answer::new(200, "{}").after(Duration::from_secs(2))]);
    let said =
        home(&server).env("RSV_REQUEST_TIMEOUT", "300ms").run("rsv-embed", &["--text"], "x\n").trouble();
    assert!(said.contains("not done within 300ms") && said.contains("hint: raise the limit"), "{said}");
}

#[test]
fn embedding_via_a_proxy_falls_back_to_the_local_model() {
    let home = Home::with_model();
    let mut proxy = Proxy::start(&home);
    let via = home.env("RSV_EMBED_VIA", "proxy").env("RESERVOIR_PORT", &proxy.port().to_string());
    let text = "How do I bake bread?\n\u{e9}t\u{e9}\n";
    let embed = |home: &Home| vectors_of(&home.run("rsv-embed", &["--text"], text).ok());
    let own = embed(&home);
    let agree = |other: Vec<Vec<f64>>| {
        assert_eq!(other.len(), own.len());
        for (a, b) in own.iter().zip(&other) {
            assert!(cosine(a, b) > 0.99999, "{}", cosine(a, b));
        }
    };
    agree(embed(&via));
    // The proxy does embed: without the library the tool could not.
    let unable = via.env("RSV_EMBED_LIBRARY", "/nowhere");
    agree(embed(&unable));
    assert_eq!(proxy.end(), Some(0));
    agree(embed(&via));
    let ran = via.run("rsv-embed", &["--text", "-v"], text);
    assert!(
        ran.stderr.contains("connection refused")
            && ran.stderr.contains("; using all-minilm-l6-v2-int8 on this machine"),
        "{ran}"
    );
    assert!(unable.run("rsv-embed", &["--text"], text).trouble().contains("/nowhere"));
}
