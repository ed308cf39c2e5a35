//! Recall that degrades step by step: records found in time are used, and the account names the missing steps.

use crate::fake::{Answer, Fake};
use crate::proxy::Proxy;
use crate::support::{Home, lines_of, text, wait_for};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

const ASKED: &str = r#"{"model":"llama3.1","messages":[{"role":"user","content":"What do owls do?"}]}"#;
const PATH: &str = "/partition/w/v1/chat/completions";

/// A provider that answers every chat.
fn provider() -> Fake {
    Fake::answering(|seen| {
        let answer = json!({"choices": [{"message": {"role": "assistant", "content": "They hunt."}}]});
        if seen.path.starts_with("/api/") {
            Answer::new(404, "{}")
        } else {
            Answer::new(200, answer.to_string())
        }
    })
}

/// An embedding server that answers with this status.
fn embedding_server(status: Arc<AtomicU16>) -> Fake {
    let server = Fake::answering(move |seen| {
        let asked: Value = serde_json::from_slice(&seen.body).unwrap();
        let count = asked["input"].as_array().unwrap().len();
        let data: Vec<Value> =
            (0..count).map(|index| json!({"index": index, "embedding": [1.0, 0.0]})).collect();
        Answer::new(status.load(Ordering::Relaxed), json!({"data": data}).to_string())
    });
    server.ready_for(40);
    server
}

/// A home that embeds with a server, and holds messages of which one shares a word with the question.
fn home(server: &str, timeout: &str) -> Home {
    let home = Home::new().env("RSV_EMBED_MODEL", "m").env("RSV_ENRICH_TIMEOUT", timeout);
    let home = home.env("RSV_EMBED_VIA", server).env("RSV_RETRIES", "0").at("2026-11-21T07:03:00Z");
    let line = |text: &str| json!({"role": "user", "content": text}).to_string() + "\n";
    home.ingest(&["-p", "w"], &(line("Owls hunt at night.") + &line("Herons stand in the reeds.")));
    home
}

fn enrich(home: &Home) -> (String, Value, String) {
    let ran = home.run("rsv-enrich", &["-p", "w", "--recall", "similar"], ASKED);
    assert_eq!(ran.status, 0, "{ran}");
    let enriched = lines_of(&ran.stdout).remove(0);
    (text(&enriched["messages"][0]["content"]), enriched["rsv"]["account"].clone(), ran.stderr)
}

/// Keeps: A failing embedding server is asked once, and search falls back to words.
#[test]
fn a_pipe_asks_a_failing_server_once_and_finds_by_words() {
    let status = Arc::new(AtomicU16::new(500));
    let server = embedding_server(status.clone());
    let home = home(&server.url(), "60s");
    for asked in [1, 1] {
        let (sent, account, said) = enrich(&home);
        assert!(sent.contains("> Owls hunt at night."), "{sent}");
        assert_eq!(account["missing"], json!(["meaning"]), "{account}");
        assert!(text(&account["degraded"]).contains("answered 500"), "{account}");
        assert_eq!(said.matches("by their words only").count(), 1, "{said}");
        assert_eq!(server.seen().len(), asked);
    }
    // After the pause it is asked again, and found by meaning.
    status.store(200, Ordering::Relaxed);
    for file in std::fs::read_dir(home.path(".cache/rsv")).unwrap().map(Result::unwrap) {
        let failure = std::fs::read_to_string(file.path()).unwrap();
        let mut failure: Value = serde_json::from_str(&failure).unwrap();
        failure["at"] = (failure["at"].as_u64().unwrap() - 6000).into();
        std::fs::write(file.path(), failure.to_string()).unwrap();
    }
    let (_, account, said) = enrich(&home);
    assert_eq!((&account["missing"], &*said), (&Value::Null, ""), "{account}");
    // The message without a vector got one.
    assert_eq!(server.seen().len(), 3);
    assert_eq!(std::fs::read_dir(home.path(".cache/rsv")).unwrap().count(), 0);
}

/// Keeps: A failing embedding server is asked once, and search falls back to words.
#[test]
fn a_server_that_hangs_holds_nothing_up_for_longer_than_its_share() {
    // Nobody accepts the connections that the system makes.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let home = home(&format!("http://{}", listener.local_addr().unwrap()), "500ms");
    let (sent, account, _) = enrich(&home);
    assert!(sent.contains("> Owls hunt at night."), "{sent}");
    assert_eq!(account["missing"], json!(["meaning"]), "{account}");
    assert!(text(&account["degraded"]).contains("not done within"), "{account}");
}

/// Keeps: A failing embedding server is asked once, and search falls back to words.
#[test]
fn the_proxy_recalls_by_words_while_a_server_fails_and_by_meaning_again_after_it() {
    let status = Arc::new(AtomicU16::new(503));
    let server = embedding_server(status.clone());
    let provider = provider();
    provider.ready_for(40);
    let home = home(&server.url(), "60s").env("RSV_OLLAMA_BASE_URL", &provider.url());
    let mut proxy = Proxy::start(&home);
    let ask = || proxy.post(PATH, "x-rsv-memory: readonly\r\n", ASKED);
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..32).map(|_| scope.spawn(ask)).collect();
        for answered in asking {
            assert_eq!(answered.join().unwrap().0, 200);
        }
    });
    for seen in provider.seen().iter().filter(|seen| seen.path.ends_with("completions")) {
        assert!(seen.text().contains("> Owls hunt at night."), "{}", seen.text());
    }
    let before = server.seen().len();
    for _ in 0..8 {
        assert_eq!(ask().0, 200);
    }
    // Only the background asks.
    assert!(server.seen().len() <= before + 1, "{}", server.seen().len());
    let health: Value = serde_json::from_str(&proxy.get("/health").1).unwrap();
    assert!(health["status"] == "ok" && text(&health["embedding"]).contains("answered 503"), "{health}");
    status.store(200, Ordering::Relaxed);
    wait_for("a server that is back", || {
        let health: Value = serde_json::from_str(&proxy.get("/health").1).unwrap();
        health["embedding"] == "ok"
    });
    let (_, answered) = ask();
    let account = &serde_json::from_str::<Value>(&answered).unwrap()["rsv"]["account"];
    assert_eq!(account["missing"], Value::Null, "{account}");
    let (said, _) = proxy.last_words();
    assert_eq!(said.matches("until it answers, messages are found by their words only").count(), 1, "{said}");
    assert_eq!(said.matches("the embedding server answers again").count(), 1, "{said}");
}

/// Keeps: A request to the proxy embeds nothing but its question.
#[test]
fn a_request_embeds_its_question_alone_and_the_background_the_rest() {
    let server = embedding_server(Arc::new(AtomicU16::new(200)));
    let provider = provider();
    let home = home(&server.url(), "60s").env("RSV_OLLAMA_BASE_URL", &provider.url());
    let proxy = Proxy::start(&home);
    assert_eq!(proxy.post(PATH, "x-rsv-memory: readonly\r\n", ASKED).0, 200);
    // Nobody stored anything through the proxy.
    wait_for("vectors of the messages", || {
        let inputs: Vec<Value> =
            server.seen().iter().map(|seen| serde_json::from_slice(&seen.body).unwrap()).collect();
        inputs.iter().any(|body| body["input"].as_array().unwrap().len() == 2)
    });
    for seen in server.seen() {
        let body: Value = serde_json::from_slice(&seen.body).unwrap();
        let texts = body["input"].as_array().unwrap();
        let is_question = texts.iter().any(|text| text == "What do owls do?");
        assert!(!is_question || texts.len() == 1, "{body}");
    }
}
