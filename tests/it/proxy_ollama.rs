//! rsv-proxy as Ollama's clients see it.

use crate::encoded::encoded;
use crate::fake::{Answer, Fake, raw};
use crate::proxy::{Proxy, asked, home, post};
use crate::support::{Home, PATIENCE, lines_of};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpListener;
use std::time::Duration;

const PIECES: &str = "{\"model\":\"llama3.1\",\"created_at\":\"x\",\"message\":{\"role\":\"assistant\",\"content\":\"In \"},\"done\":false}\n\
    {\"model\":\"llama3.1\",\"message\":{\"role\":\"assistant\",\"content\":\"\\u00c9vora.\"},\"done\":true,\"done_reason\":\"stop\",\"eval_count\":1.0}\n";

/// The stored messages, as role and content.
fn stored(home: &Home) -> Vec<(Value, Value)> {
    let lines = lines_of(&home.run("rsv-view", &["--all", "99"], "").ok());
    lines.iter().map(|line| (line["role"].clone(), line["content"].clone())).collect()
}

#[test]
fn a_conversation_in_ollamas_words_has_memory() {
    let pieces = Answer::new(200, PIECES).header("Content-Type", "application/x-ndjson");
    let ollama = Fake::new([pieces]);
    let home = home(&ollama);
    home.ingest(
        &["-p", "p"],
        "{\"role\":\"user\",\"content\":\"The bones chapel is in Evora\",\"timestamp\":1}\n",
    );
    let proxy = Proxy::start(&home);
    let body = r#"{"model":"llama3.2","options":{"seed":1.0,"num_ctx":2048,"num_predict":4096},"keep_alive":"5m","tools":[],"messages":[{"role":"system","content":"Be brief"},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"x":1.0}}}]},{"role":"tool","content":"3","tool_name":"f"},{"role":"user","content":"And the bones chapel?","images":["aGk="]}]}"#;
    let answer = proxy.whole(&post("/partition/p/api/chat", "Authorization: Bearer callers\r\n", body));
    assert!(answer.contains("x-rsv-recalled: 1") && answer.contains("application/x-ndjson"), "{answer}");
    assert!(
        answer.contains(PIECES.lines().next().unwrap()) && answer.contains(PIECES.lines().last().unwrap())
    );
    proxy.settle();
    let seen = ollama.one();
    assert_eq!((seen.path.as_str(), seen.header("authorization")), ("/api/chat", None));
    let sent: Value = serde_json::from_str(seen.text()).unwrap();
    let block = sent["messages"][3]["content"].as_str().unwrap();
    assert!(block.contains("<rsv-memory>") && block.ends_with("And the bones chapel?"), "{block}");
    // All else is as it was, to the byte.
    let quoted = serde_json::to_string(block).unwrap();
    assert_eq!(seen.text().replace(&quoted, "\"And the bones chapel?\""), body);
    let wanted = [
        (json!("user"), json!("The bones chapel is in Evora")),
        (json!("user"), json!("And the bones chapel?")),
        (json!("assistant"), json!("In Évora.")),
    ];
    assert_eq!(stored(&home), wanted);
}

#[test]
fn a_prompt_has_memory_too() {
    let whole = r#"{"model":"llama3.1","response":"In Évora.","done":true,"done_reason":"stop"}"#;
    let ollama = Fake::new([Answer::new(200, whole), Answer::new(200, whole)]);
    let home = home(&ollama);
    home.write(".config/rsv/config.toml", "[enrich]\nplacement = \"head\"\n");
    home.ingest(&[], "{\"role\":\"user\",\"content\":\"The bones chapel is in Evora\"}\n");
    let proxy = Proxy::start(&home);
    let body =
        r#"{"model":"llama3.1","prompt":"Where is the bones chapel?","system":"Be brief","stream":false}"#;
    let (status, reported) = proxy.post("/api/generate", "", body);
    assert_eq!((status, reported.as_str()), (200, whole));
    let sent: Value = serde_json::from_str(ollama.one().text()).unwrap();
    assert!(
        sent["prompt"].as_str().unwrap().contains("<rsv-memory>") && sent["system"] == "Be brief",
        "{sent}"
    );
    assert!(sent.get("messages").is_none() && sent["stream"] == false, "{sent}");
    assert_eq!(stored(&home).len(), 3);
    // To load a model is no conversation.
    assert_eq!(proxy.post("/api/generate", "", r#"{"model":"llama3.1"}"#).0, 200);
    assert_eq!(ollama.seen()[1].text(), r#"{"model":"llama3.1"}"#);
    assert_eq!(stored(&home).len(), 3);
}

#[test]
fn an_answer_that_breaks_off_is_stored_as_far_as_it_came() {
    let piece =
        "{\"model\":\"llama3.1\",\"message\":{\"role\":\"assistant\",\"content\":\"In \"},\"done\":false}\n";
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n";
    let bytes = format!("{head}{:x}\r\n{piece}\r\n", piece.len());
    let ollama = raw(Box::leak(bytes.into_boxed_str()).as_bytes(), Duration::ZERO);
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &ollama);
    let proxy = Proxy::start(&home);
    let body = r#"{"model":"llama3.1","messages":[{"role":"user","content":"Where?"}]}"#;
    let answer = proxy.whole(&post("/api/chat", "", body));
    assert!(answer.contains("In "), "{answer}");
    let last = "{\"error\":\"the answer of Ollama broke off before its end\"}\n\r\n0\r\n\r\n";
    assert!(answer.ends_with(last), "{answer}");
    proxy.settle();
    // A second request gets the rest, if there is more.
    assert!(proxy.post("/api/chat", "", body).1.ends_with(last));
    let lines = lines_of(&home.run("rsv-view", &[], "").ok());
    assert_eq!((&lines[1]["content"], &lines[1]["partial"]), (&json!("In "), &json!(true)), "{lines:?}");
    assert_eq!(lines.len(), 2, "{lines:?}");
}

#[test]
fn an_error_in_ollamas_stream_is_not_repeated() {
    let said = "{\"message\":{\"content\":\"In \"},\"done\":false}\n{\"error\":\"out of memory\"}\n";
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n\r\n";
    let ollama = raw(Box::leak(format!("{head}{said}").into_boxed_str()).as_bytes(), Duration::ZERO);
    let proxy = Proxy::start(&Home::new().env("RSV_OLLAMA_BASE_URL", &ollama));
    let body = r#"{"model":"llama3.1","messages":[{"role":"user","content":"Where?"}]}"#;
    let answer = proxy.whole(&post("/api/chat", "", body));
    assert!(answer.contains("out of memory") && answer.matches("error").count() == 1, "{answer}");
}

#[test]
fn a_refusal_of_ollamas_without_a_message_gets_one() {
    let said =
        [(429, ""), (503, "<html>busy</html>"), (404, "{\"error\":\"no such model\"}"), (429, ""), (429, "")];
    let ollama = Fake::new(said.map(|(status, body)| Answer::new(status, body)));
    let proxy = Proxy::start(&home(&ollama).env("RSV_RETRIES", "0"));
    let body = r#"{"model":"llama3.1","messages":[{"role":"user","content":"Where?"}]}"#;
    for (wanted, words) in
        [(429, "Ollama answered 429"), (503, "Ollama answered 503"), (404, "no such model")]
    {
        let (status, reported) = proxy.post("/api/chat", "", body);
        let reported: Value = serde_json::from_str(&reported).unwrap();
        assert_eq!(status, wanted);
        assert!(reported["error"].as_str().unwrap().starts_with(words), "{reported}");
    }
    // Nor is it without them where there is no memory.
    let (_, reported) = proxy.post("/api/chat", "x-rsv-memory: off\r\n", body);
    assert!(reported.contains("\"error\":\"Ollama answered 429"), "{reported}");
    let (_, reported) = proxy.post("/v1/chat/completions", "x-rsv-memory: off\r\n", body);
    assert!(reported.contains("\"message\":\"Ollama answered 429"), "{reported}");
}

#[test]
fn a_client_that_leaves_has_ollama_stop_and_what_came_is_stored() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let home = Home::new()
        .env("RSV_OLLAMA_BASE_URL", &format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port()));
    let proxy = Proxy::start(&home);
    let body = r#"{"model":"llama3.1","messages":[{"role":"user","content":"Where?"}]}"#;
    let mut client = proxy.connect();
    client.write_all(&post("/api/chat", "", body)).unwrap();
    let (mut ollama, _) = listener.accept().unwrap();
    let mut seen = String::new();
    while !seen.ends_with("}]}") {
        let mut piece = [0; 4096];
        let read = ollama.read(&mut piece).unwrap();
        seen += &String::from_utf8_lossy(&piece[..read]);
    }
    let piece = PIECES.lines().next().unwrap().to_owned() + "\n";
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n";
    ollama.write_all(format!("{head}{:x}\r\n{piece}\r\n", piece.len()).as_bytes()).unwrap();
    let mut reported = String::new();
    while !reported.contains("In ") {
        let mut piece = [0; 4096];
        let read = client.read(&mut piece).unwrap();
        reported += &String::from_utf8_lossy(&piece[..read]);
    }
    drop(client);
    // The end of the connection, and not the time of the test's own socket.
    ollama.set_read_timeout(Some(PATIENCE)).unwrap();
    let left = ollama.read(&mut [0]).map_err(|error| error.kind());
    assert!(matches!(left, Ok(0) | Err(ErrorKind::ConnectionReset)), "{left:?}");
    proxy.settle();
    let lines = lines_of(&home.run("rsv-view", &[], "").ok());
    assert_eq!((&lines[1]["content"], &lines[1]["partial"]), (&json!("In "), &json!(true)), "{lines:?}");
}

#[test]
fn an_answer_that_comes_encoded_is_stored_in_the_clear() {
    let sent = encoded("gzip", &[PIECES]).concat();
    let ollama = Fake::new([Answer::new(200, sent).header("Content-Encoding", "gzip")]);
    let home = home(&ollama);
    let proxy = Proxy::start(&home);
    let body = r#"{"model":"llama3.1","messages":[{"role":"user","content":"Where?"}]}"#;
    let mut client = proxy.connect();
    client.write_all(&post("/api/chat", "Accept-Encoding: gzip, compress\r\n", body)).unwrap();
    let mut reported = Vec::new();
    client.read_to_end(&mut reported).unwrap();
    assert!(String::from_utf8_lossy(&reported).contains("content-encoding: gzip"));
    proxy.settle();
    assert_eq!(ollama.one().header("accept-encoding"), Some("gzip"));
    assert_eq!(stored(&home), [(json!("user"), json!("Where?")), (json!("assistant"), json!("In Évora."))]);
}

#[test]
fn ollama_gets_what_memory_cannot_read_as_it_is() {
    let answer = r#"{"message":{"role":"assistant","content":"Yes."},"response":"Yes.","done":true}"#;
    let ollama = Fake::answering(move |_| Answer::new(200, answer));
    let home = home(&ollama);
    let proxy = Proxy::start(&home);
    let off = "x-rsv-memory: off\r\n";
    let chat = r#"{"model":"m","messages":[{"role":"user","content":"\ud83c"},{"role":"user","content":"\udf45 z"}],"options":{"num_ctx":9999999999999},"stream":false}"#;
    for (path, headers, body, kept) in [
        ("/api/generate", off, r#"{"model":"llama3.2","prompt":7}"#, r#"{"model":"llama3.2","prompt":7}"#),
        ("/api/chat", off, r#"{"model":"m","model":"n"}"#, r#"{"model":"m","model":"n"}"#),
        ("/api/generate", "", r#"{"model":"m","prompt":"old \ud83c y","stream":false}"#, "old \\ud83c y"),
        ("/api/chat", "", chat, r#"\udf45 z"}],"options":{"num_ctx":9999999999999},"stream":false}"#),
    ] {
        let (status, reported) = proxy.post(path, headers, body);
        assert_eq!(status, 200, "{body}: {reported}");
        let seen = ollama.seen().pop().unwrap();
        assert!(seen.path == path && seen.text().contains(kept), "{body}: {}", seen.text());
    }
    let said = stored(&home);
    assert!(said.contains(&(json!("user"), json!("old \u{fffd} y"))), "{said:?}");
}

#[test]
fn the_rest_of_ollama_passes_on() {
    let ollama = Fake::new([
        Answer::new(200, "{\"models\": []}"),
        Answer::new(404, "{\"error\":\"model 'x' not found\"}"),
    ]);
    let proxy = Proxy::start(&home(&ollama));
    assert_eq!(proxy.get("/partition/p/api/tags"), (200, "{\"models\": []}".to_owned()));
    let (status, body) = proxy.post("/api/show", "", "{\"model\":\"\",\"name\":\"x\"}");
    assert_eq!((status, body.as_str()), (404, "{\"error\":\"model 'x' not found\"}"));
    let paths: Vec<String> = ollama.seen().into_iter().map(|seen| seen.method + " " + &seen.path).collect();
    assert_eq!(paths, ["GET /api/tags", "POST /api/show"]);
    assert_eq!(proxy.raw(&asked("HEAD", "/", "")).0, 200);
}

#[test]
fn model_blobs_of_any_size_are_passed_on() {
    let ollama = Fake::new([Answer::new(201, "")]);
    let proxy = Proxy::start(&home(&ollama).env("RSV_MAX_LINE_BYTES", "1000"));
    let blob = "many words ".repeat(100_000);
    assert_eq!(proxy.raw(&post("/partition/p/api/blobs/sha256:00", "", &blob)).0, 201);
    let seen = ollama.one();
    assert_eq!((seen.path.as_str(), seen.text() == blob), ("/api/blobs/sha256:00", true));
    assert_eq!(seen.header("content-length"), Some(blob.len().to_string().as_str()));
}

#[test]
fn a_prompt_that_is_too_long_is_answered_in_ollamas_shape() {
    let ollama = Fake::new([]);
    let home = home(&ollama);
    let proxy = Proxy::start(&home);
    let body = json!({"model": "llama3.1", "options": {"num_ctx": 64}, "stream": false,
        "messages": [{"role": "user", "content": "many words ".repeat(200)}]});
    let (status, reported) = proxy.post("/api/chat", "", &body.to_string());
    let reported: Value = serde_json::from_str(&reported).unwrap();
    assert_eq!((status, &reported["done"], &reported["done_reason"]), (200, &json!(true), &json!("length")));
    assert!(
        reported["message"]["content"].as_str().unwrap().starts_with("Your last message is too long."),
        "{reported}"
    );
    assert!(ollama.seen().is_empty() && stored(&home).is_empty());
}

#[test]
fn the_proxy_does_not_call_itself() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    for host in ["localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "127.1"] {
        let home = Home::new().env("RSV_OLLAMA_BASE_URL", &format!("http://{host}:{port}"));
        let said = home.run("rsv-proxy", &["--ollama", "--port", &port], "").trouble();
        assert!(said.contains("which is rsv-proxy's own address") && said.contains("OLLAMA_HOST="), "{said}");
    }
    // If Ollama itself uses the port, the error says so.
    let ollama = Fake::new([]);
    let port = ollama.url().rsplit(':').next().unwrap().to_owned();
    let said = home(&ollama).run("rsv-proxy", &["--ollama", "--port", &port], "").trouble();
    assert!(said.contains("OLLAMA_HOST="), "{said}");
}
