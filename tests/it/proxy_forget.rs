//! Messages that are forgotten while rsv-proxy is at work with them.

use crate::fake::{Answer, Fake, Wire};
use crate::proxy::{NOW, Proxy, REPLY, answer, asking, post};
use crate::support::{Home, lines_of, wait_for};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::sync::mpsc::channel;

const CHAT: &str = "/v1/chat/completions";

/// A chunk of a streamed answer.
fn chunk(text: &str) -> String {
    let choice = json!([{"index": 0, "delta": {"content": text}}]);
    format!("data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":{choice}}}\n\n")
}

/// The contents of the messages in the store.
fn contents(home: &Home) -> Vec<Value> {
    lines_of(&home.run("rsv-view", &["100"], "").ok()).iter().map(|line| line["content"].clone()).collect()
}

/// Forgets the messages with a word.
fn forget(home: &Home, word: &str) {
    let hits = home.run("rsv-search", &[word], "").ok();
    assert!(hits.contains(word), "{hits}");
    home.run("rsv-forget", &[], hits).ok();
}

#[test]
fn a_retry_does_not_bring_back_a_forgotten_message() {
    for again in ["When is the tide?", "  WHEN is\u{a0}the TI\u{ad}DE?\n"] {
        retry(again);
    }
}

/// A turn is tried again in some form after its message was forgotten.
fn retry(again: &str) {
    let wire = Wire::new();
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &wire.url()).env("RSV_RETRIES", "0").at(NOW);
    let proxy = Proxy::start(&home);
    let ask = |said: &str| {
        let body =
            json!({"model": "llama3.1", "stream": true, "messages": [{"role": "user", "content": said}]});
        let mut client = proxy.connect();
        client.write_all(&post(CHAT, "", &body.to_string())).unwrap();
        (client, wire.accept())
    };
    // The client leaves in the middle of the answer, so that its turn is stored in part and may be tried again.
    let (mut client, mut call) = ask("When is the tide?");
    call.begin("");
    call.piece(chunk("At"));
    let mut arrived = Vec::new();
    while !String::from_utf8_lossy(&arrived).contains("\"At\"") {
        let mut piece = [0; 1024];
        let read = client.read(&mut piece).unwrap();
        assert!(read > 0, "{arrived:?}");
        arrived.extend_from_slice(&piece[..read]);
    }
    drop(client);
    call.hung_up();
    wait_for("what came to be stored", || contents(&home).len() >= 2);
    let (client, mut call) = ask(again);
    forget(&home, "tide");
    call.begin("");
    call.piece(chunk("At noon"));
    call.piece("data: [DONE]\n\n");
    call.end();
    assert_eq!(answer(client).0, 200);
    proxy.settle();
    let stored = contents(&home);
    assert!(
        stored.contains(&json!("At noon"))
            && !stored.iter().any(|said| *said == "When is the tide?" || *said == again.trim_end()),
        "{stored:?}"
    );
}

#[test]
fn a_message_that_is_forgotten_while_it_is_embedded_does_not_come_back() {
    let (arrived, arrival) = channel();
    let (release, released) = channel::<()>();
    let embedder = Fake::answering(move |seen| {
        let request: Value = serde_json::from_str(seen.text()).unwrap();
        let count = request["input"].as_array().map_or(1, Vec::len);
        if seen.text().contains("tide") {
            arrived.send(()).unwrap();
            released.recv().unwrap();
        }
        let data: Vec<Value> = (0..count).map(|index| json!({"index": index, "embedding": [1, 2]})).collect();
        Answer::new(200, json!({"data": data}).to_string())
    });
    let provider = Fake::new([Answer::new(200, REPLY)]);
    let home = Home::new()
        .env("RSV_OLLAMA_BASE_URL", &provider.url())
        .env("RSV_EMBED_VIA", &embedder.url())
        .env("RSV_EMBED_MODEL", "m")
        .env("RSV_ENRICH_RECALL", "recent");
    let mut proxy = Proxy::start(&home);
    assert_eq!(proxy.post(CHAT, "", &asking("When is the tide?")).0, 200);
    arrival.recv().unwrap();
    forget(&home, "tide");
    release.send(()).unwrap();
    assert_eq!(proxy.end(), Some(0));
    assert_eq!(contents(&home), ["In Évora."]);
    let export = lines_of(&home.export());
    let messages: Vec<&Value> = export.iter().filter(|line| line["kind"] == "message").collect();
    let vectors = export.iter().filter(|line| line["kind"] == "embedding");
    assert!(vectors.into_iter().all(|line| line["of"] == messages[0]["id"]), "{export:?}");
    assert!(export.iter().all(|line| line["kind"] != "link"), "{export:?}");
}
