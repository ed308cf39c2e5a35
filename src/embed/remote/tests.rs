use super::*;
use crate::cli::Common;
use crate::config;
use std::sync::{Arc, Mutex};
use tiny_http::{Header, Response, Server};

/// A server that gives these answers, and hangs after the last; it records its requests.
struct Fake {
    url: String,
    requests: Arc<Mutex<Vec<serde_json::Value>>>,
}

impl Fake {
    fn new(script: &[(u16, &str)]) -> Fake {
        let server = Server::http("127.0.0.1:0").unwrap();
        let url = format!("http://{}", server.server_addr().to_ip().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let mut script: Vec<_> = script.iter().map(|(status, body)| (*status, body.to_string())).collect();
        script.reverse();
        let seen = requests.clone();
        std::thread::spawn(move || {
            let mut hanging = Vec::new();
            for mut request in server.incoming_requests() {
                seen.lock().unwrap().push(serde_json::from_reader(request.as_reader()).unwrap());
                match script.pop() {
                    None => hanging.push(request),
                    Some((status, body)) => {
                        let soon = Header::from_bytes("Retry-After", "0").unwrap();
                        let answer = Response::from_string(body).with_status_code(status);
                        request.respond(answer.with_header(soon)).unwrap();
                    }
                }
            }
        });
        Fake { url, requests }
    }

    /// The number of texts in each request.
    fn batches(&self) -> Vec<usize> {
        self.requests.lock().unwrap().iter().map(|body| body["input"].as_array().unwrap().len()).collect()
    }
}

fn remote(via: &str) -> RemoteEmbedder {
    configured(&format!("request_timeout = '300ms'\nembed.via = '{via}'"))
}

fn configured(lines: &str) -> RemoteEmbedder {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("rsv.toml");
    std::fs::write(&file, lines).unwrap();
    let common = Common { config: Some(file), ..Common::default() };
    RemoteEmbedder::from_settings(&config::load(&common).unwrap(), "m", &Diagnostics::default())
        .unwrap()
        .unwrap()
}

fn error_of(remote: &mut RemoteEmbedder, texts: &[&str]) -> String {
    Error::from(remote.embed(texts, InputType::Passage).unwrap_err()).to_string()
}

const ONE: &str = r#"{"data":[{"index":0,"embedding":[0,1]}]}"#;
const TWO: &str = r#"{"data":[{"index":1,"embedding":[1,0]},{"index":0,"embedding":[0,1]}]}"#;

#[test]
fn a_busy_server_is_asked_again() {
    let fake = Fake::new(&[(429, "{}"), (500, ""), (503, "x"), (200, TWO)]);
    let vectors = remote(&fake.url).embed(&["a", "b"], InputType::Query).unwrap();
    assert_eq!(vectors, [[0.0, 1.0], [1.0, 0.0]]);
    assert_eq!(fake.batches(), [2; 4]);
    assert_eq!(fake.requests.lock().unwrap()[3]["model"], "m");
}

#[test]
fn a_server_that_stays_busy_is_given_up() {
    let fake = Fake::new(&[(502, "{\"error\":\"loading\"}"); 5]);
    let message = error_of(&mut remote(&fake.url), &["a"]);
    let address = format!("{}/v1/embeddings", fake.url);
    assert_eq!(message, format!("cannot embed with {address}: answered 502 Bad Gateway: loading"));
    assert_eq!(fake.batches(), [1; 4]);
}

#[test]
fn a_server_that_hangs_is_left() {
    let fake = Fake::new(&[]);
    assert!(error_of(&mut remote(&fake.url), &["a"]).ends_with(": not done within 300ms"));
    assert_eq!(fake.batches(), [1]);
}

#[test]
fn a_batch_that_is_too_large_is_halved() {
    let fake = Fake::new(&[(413, ""), (200, TWO), (200, TWO), (200, ONE)]);
    assert_eq!(remote(&fake.url).embed(&["a"; 5], InputType::Query).unwrap().len(), 5);
    assert_eq!(fake.batches(), [5, 2, 2, 1]);
}

#[test]
fn a_text_that_is_too_long_is_reported() {
    let fake = Fake::new(&[(400, ""), (400, r#"{"error":{"message":"at most 8 tokens"}}"#)]);
    let mut remote = remote(&format!("{}/api/embed", fake.url));
    let message = error_of(&mut remote, &["äöü", "b"]);
    assert!(message.starts_with("a text of 3 characters: cannot embed with "), "{message}");
    assert!(message.ends_with("/api/embed: answered 400 Bad Request: at most 8 tokens"), "{message}");
    assert_eq!(fake.requests.lock().unwrap()[0]["truncate"], false);
    assert_eq!(remote.max_batch, 64);
}

#[test]
fn many_texts_go_in_batches() {
    let remote = remote("http://127.0.0.1:1");
    let long = "x".repeat(100 << 10);
    assert_eq!(remote.batch(&["a"; 3000]).len(), 2048);
    assert_eq!(remote.batch(&[&long, &long, &long]).len(), 2);
    let longest = "x".repeat(1 << 20);
    assert_eq!(remote.batch(&[&longest, "a"]).len(), 1);
}

#[test]
fn a_model_keeps_its_dimension() {
    let fake = Fake::new(&[(200, ONE), (200, r#"{"data":[{"index":0,"embedding":[1,2,3]}]}"#)]);
    let mut remote = remote(&fake.url);
    remote.embed(&["a"], InputType::Query).unwrap();
    assert!(error_of(&mut remote, &["b"]).ends_with("invalid answer: 3 numbers in a vector, after 2"));
}

#[test]
fn base64_is_not_insisted_on() {
    let refusal = r#"{"detail":"","message":"encoding_format: base64 is not supported"}"#;
    let fake = Fake::new(&[(422, refusal), (200, ONE), (200, ONE)]);
    let mut remote = remote(&fake.url);
    for _ in 0..2 {
        remote.embed(&["a"], InputType::Query).unwrap();
    }
    let requests = fake.requests.lock().unwrap();
    let formats: Vec<bool> = requests.iter().map(|body| body.get("encoding_format").is_some()).collect();
    assert_eq!(formats, [true, false, false]);
}

#[test]
fn a_missing_model_is_distinguished_from_a_missing_server() {
    let missing = r#"{"error":{"message":"m is not here","code":"model_not_found"}}"#;
    let fake = Fake::new(&[(404, missing), (404, "{}"), (503, "{}")]);
    let (host, port) = fake.url.trim_start_matches("http://").split_once(':').unwrap();
    let mut proxy =
        configured(&format!("embed.via = 'proxy'\nreservoir_host = '{host}'\nreservoir_port = {port}"));
    assert!(matches!(proxy.embed(&["a"], InputType::Query), Err(RemoteError::Model(_))));
    assert!(matches!(proxy.embed(&["a"], InputType::Query), Err(RemoteError::Absent(_))));
    assert!(matches!(proxy.embed(&["a"], InputType::Query), Err(RemoteError::Absent(_))));
    assert_eq!(fake.requests.lock().unwrap()[0]["input_type"], "query");
    assert!(matches!(
        remote("http://127.0.0.1:1").embed(&["a"], InputType::Query),
        Err(RemoteError::Absent(_))
    ));
}
