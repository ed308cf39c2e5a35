//! rsv-proxy before providers that stream: what the client gets, and what is stored.

use crate::encoded::encoded;
use crate::fake::{Answer, Call, Fake, Wire};
use crate::proxy::{NOW, Proxy, REPLY, answer, home as home_of, post};
use crate::support::{Home, lines_of, wait_for};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};

const PATH: &str = "/partition/p/v1/chat/completions";

fn home(url: &str) -> Home {
    Home::new().env("RSV_OLLAMA_BASE_URL", url).env("RSV_RETRIES", "0").at(NOW)
}

fn asking(text: &str) -> String {
    json!({"model": "llama3.1", "stream": true, "messages": [{"role": "user", "content": text}]}).to_string()
}

fn chunk(text: &str) -> String {
    let choice = json!([{"index": 0, "delta": {"content": text}}]);
    format!("data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":{choice}}}\n\n")
}

const END: &str = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// An answer as it arrives, in HTTP's chunks.
struct Arriving(BufReader<TcpStream>);

impl Arriving {
    /// Asks, and reads the head of the answer.
    fn ask(proxy: &Proxy, body: &str, wire: &Wire) -> (Arriving, Call) {
        let mut stream = proxy.connect();
        stream.write_all(&post(PATH, "", body)).unwrap();
        let call = wire.accept();
        (Arriving(BufReader::new(stream)), call)
    }

    fn head(&mut self) -> String {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(self.0.read_line(&mut head).unwrap() > 0, "{head}");
        }
        head.to_lowercase()
    }

    /// The next piece of the body; empty at its end.
    fn piece(&mut self) -> String {
        let mut length = String::new();
        self.0.read_line(&mut length).unwrap();
        let length = usize::from_str_radix(length.trim(), 16).unwrap_or(0);
        let mut bytes = vec![0; length + 2];
        self.0.read_exact(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    }
}

/// The messages that were stored.
fn stored(home: &Home) -> Vec<Value> {
    lines_of(&home.export()).into_iter().filter(|line| line["kind"] == "message").collect()
}

/// The body of an answer that came in HTTP's chunks.
fn body_of(proxy: &Proxy, request: &str) -> (u16, String) {
    let (status, sent) = proxy.post(PATH, "", request);
    let mut rest = sent.as_str();
    let mut body = String::new();
    while let Some((length, after)) = rest.split_once("\r\n") {
        let Ok(length) = usize::from_str_radix(length, 16) else { return (status, sent) };
        body.push_str(&after[..length]);
        rest = &after[length + 2..];
    }
    (status, body)
}

/// Keeps: A stream is passed on byte for byte as it arrives, and its turn is stored.
#[test]
fn each_piece_is_passed_on_at_once_and_the_turn_is_stored_at_the_end() {
    let wire = Wire::new();
    let home = home(&wire.url());
    let proxy = Proxy::start(&home);
    let (mut arriving, mut call) = Arriving::ask(&proxy, &asking("When is the tide?"), &wire);
    assert!(call.request.contains("\"stream\":true"), "{}", call.request);
    call.begin("");
    let head = arriving.head();
    assert!(head.starts_with("http/1.1 200") && head.contains("content-type: text/event-stream"), "{head}");
    assert!(head.contains("x-rsv-recalled: 0") && head.contains("x-rsv-memory: full"), "{head}");
    // Comments, ids and odd events pass as they are.
    for piece in
        [": waiting\n\n", &chunk("At"), "id: 7\nevent: odd\ndata: no JSON\n\n", &chunk(" nine."), END]
    {
        call.piece(piece);
        assert_eq!(arriving.piece(), piece);
    }
    call.end();
    assert_eq!(arriving.piece(), "");
    proxy.settle();
    let stored = stored(&home);
    let said: Vec<&Value> = stored.iter().map(|line| &line["content"]).collect();
    assert_eq!(said, ["When is the tide?", "At nine."], "{stored:?}");
    assert!(home.export().contains("\"rel\":\"RESPONDED_WITH\""));
    assert!(stored.iter().all(|line| line.get("partial").is_none()), "{stored:?}");
}

/// An answer of which the first piece has come.
fn underway() -> (Home, Proxy, Arriving, Call) {
    let wire = Wire::new();
    let home = home(&wire.url());
    let proxy = Proxy::start(&home);
    let (mut arriving, mut call) = Arriving::ask(&proxy, &asking("When is the tide?"), &wire);
    call.begin("");
    arriving.head();
    call.piece(chunk("At"));
    assert_eq!(arriving.piece(), chunk("At"));
    (home, proxy, arriving, call)
}

#[test]
fn a_stream_that_only_passes_ends_when_nothing_more_arrives() {
    let wire = Wire::new();
    let home = home(&wire.url()).env("RSV_IDLE_TIMEOUT", "300ms");
    let proxy = Proxy::start(&home);
    let mut stream = proxy.connect();
    stream.write_all(&post(PATH, "x-rsv-memory: off\r\n", &asking("a question"))).unwrap();
    let mut call = wire.accept();
    call.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
    let mut arriving = Arriving(BufReader::new(stream));
    assert!(arriving.head().starts_with("http/1.1 200"));
    for word in ["one", "two", "three"] {
        let event = chunk(word);
        call.send(format!("{:x}\r\n{event}\r\n", event.len()));
        assert_eq!(arriving.piece(), event);
    }
    // The provider is still there, and says nothing; without its last chunk the answer is no whole one.
    let mut rest = Vec::new();
    let _ = arriving.0.read_to_end(&mut rest);
    assert_eq!(rest, b"");
    drop(call);
}

#[test]
fn the_part_of_a_broken_stream_is_stored_and_the_client_gets_an_error() {
    let (home, proxy, mut arriving, call) = underway();
    drop(call);
    let last = arriving.piece();
    assert!(last.contains("\ndata: {\"error\":{\"message\":\"") && last.ends_with("}}\n\n"), "{last}");
    assert_eq!(arriving.piece(), "");
    proxy.settle();
    let stored = stored(&home);
    assert_eq!((&stored[1]["content"], &stored[1]["partial"]), (&json!("At"), &json!(true)), "{stored:?}");
}

#[test]
fn a_turn_whose_stream_broke_is_the_same_when_it_is_asked_again() {
    let wire = Wire::new();
    let home = home(&wire.url());
    let proxy = Proxy::start(&home);
    for _ in 0..3 {
        let (mut arriving, mut call) = Arriving::ask(&proxy, &asking("When is the tide?"), &wire);
        call.begin("");
        arriving.head();
        call.piece(chunk("At"));
        drop(call);
        let mut reported = String::new();
        arriving.0.read_to_string(&mut reported).unwrap();
        proxy.settle();
    }
    let (mut arriving, mut call) = Arriving::ask(&proxy, &asking("When is the tide?"), &wire);
    call.begin("");
    call.piece(chunk("At nine"));
    call.piece(END);
    call.end();
    let mut reported = String::new();
    arriving.0.read_to_string(&mut reported).unwrap();
    proxy.settle();
    let stored = stored(&home);
    let said: Vec<&Value> = stored.iter().map(|message| &message["content"]).collect();
    assert_eq!(said, ["When is the tide?", "At", "At nine"]);
    assert!(stored.iter().all(|message| message["trace_id"] == stored[0]["trace_id"]), "{stored:?}");
}

#[test]
fn a_stream_that_breaks_while_it_is_encoded_does_not_look_whole() {
    let wire = Wire::new();
    let proxy = Proxy::start(&home(&wire.url()));
    let mut stream = proxy.connect();
    stream.write_all(&post(PATH, "Accept-Encoding: gzip\r\n", &asking("a question"))).unwrap();
    let mut call = wire.accept();
    call.begin("Content-Encoding: gzip\r\n");
    call.piece(&encoded("gzip", &[&chunk("one"), END])[0]);
    let mut arriving = Arriving(BufReader::new(stream));
    assert!(arriving.head().contains("content-encoding: gzip"));
    drop(call);
    let mut rest = Vec::new();
    let _ = arriving.0.read_to_end(&mut rest);
    assert!(rest.len() > 10 && !rest.ends_with(b"0\r\n\r\n"), "{rest:?}");
}

#[test]
fn a_client_that_reads_nothing_is_disconnected() {
    for headers in ["", "x-rsv-memory: off\r\n"] {
        let wire = Wire::new();
        let home = home(&wire.url()).env("RSV_PROXY_IDLE_TIMEOUT", "300ms");
        let mut proxy = Proxy::start(&home);
        let mut client = proxy.connect();
        client.write_all(&post(PATH, headers, &asking("a question"))).unwrap();
        let mut call = wire.accept();
        call.begin("");
        let piece = chunk(&"many words ".repeat(5000));
        while call.piece(&piece) {}
        // Nothing of it holds up the end.
        assert_eq!(proxy.end(), Some(0));
        drop(client);
    }
}

#[test]
fn a_client_that_leaves_cancels_its_answer_and_what_came_is_stored() {
    let (home, _proxy, arriving, call) = underway();
    drop(arriving);
    // The provider says nothing more; it is hung up on all the same.
    call.hung_up();
    wait_for("what came to be stored", || stored(&home).len() >= 2);
    let stored = stored(&home);
    assert_eq!((&stored[1]["content"], &stored[1]["partial"]), (&json!("At"), &json!(true)));
}

#[test]
fn a_client_that_leaves_before_the_answer_begins_cancels_it_too() {
    for headers in ["", "x-rsv-memory: off\r\n"] {
        let wire = Wire::new();
        let home = home(&wire.url());
        let proxy = Proxy::start(&home);
        let mut client = proxy.connect();
        client.write_all(&post(PATH, headers, &asking("When is the tide?"))).unwrap();
        let call = wire.accept();
        drop(client);
        call.hung_up();
        proxy.settle();
        assert_eq!(stored(&home).len(), 0);
    }
}

#[test]
fn a_client_that_only_ends_its_sending_gets_its_answer() {
    for streamed in [true, false] {
        let wire = Wire::new();
        let home = home(&wire.url());
        let proxy = Proxy::start(&home);
        let mut client = proxy.connect();
        let question = asking("When is the tide?").replace("true", &streamed.to_string());
        client.write_all(&post(PATH, "", &question)).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut call = wire.accept();
        // Others come and go meanwhile.
        for _ in 0..20 {
            assert_eq!(proxy.get("/health").0, 200);
        }
        if streamed {
            call.begin("");
            call.piece(chunk("At nine.") + END);
            call.end();
        } else {
            let length = REPLY.len();
            call.send(format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{REPLY}"
            ));
        }
        let (status, body) = answer(client);
        assert_eq!(status, 200);
        assert!(body.contains(if streamed { "[DONE]" } else { "vora" }), "{body}");
    }
}

#[test]
fn a_client_that_ends_its_sending_and_leaves_later_cancels_its_answer() {
    let (_home, _proxy, arriving, call) = underway();
    arriving.0.get_ref().shutdown(Shutdown::Write).unwrap();
    drop(arriving);
    call.hung_up();
}

#[test]
fn a_provider_that_does_not_stream_is_passed_on_too() {
    let fake = Fake::new([
        Answer::new(200, crate::proxy::REPLY),
        Answer::new(418, "{\"error\":{\"message\":\"tea\"}}"),
    ]);
    let home = home_of(&fake);
    let proxy = Proxy::start(&home);
    let (status, body) = body_of(&proxy, &asking("Where is the chapel?"));
    assert_eq!((status, body.as_str()), (200, crate::proxy::REPLY));
    assert_eq!(stored(&home)[1]["content"], "In Évora.");
    let (status, body) = proxy.post(PATH, "", &asking("Tea?"));
    assert!(status == 418 && body.contains("tea"), "{status} {body}");
}

#[test]
fn a_stream_that_is_too_long_for_its_model_says_so_in_events() {
    let fake = Fake::new([]);
    let home = home_of(&fake);
    home.write(".config/rsv/config.toml", "[models.\"llama3.1\"]\nmax_context_tokens = 60\n");
    let proxy = Proxy::start(&home);
    let (status, body) = proxy.post(PATH, "", &asking(&"tide ".repeat(200)));
    assert_eq!(status, 200, "{body}");
    let event: Value =
        serde_json::from_str(body.lines().next().unwrap().strip_prefix("data: ").unwrap()).unwrap();
    let choice = &event["choices"][0];
    assert!(
        choice["delta"]["content"].as_str().unwrap().starts_with("Your last message is too long."),
        "{body}"
    );
    assert_eq!((&choice["finish_reason"], body.ends_with("data: [DONE]\n\n")), (&json!("length"), true));
    assert_eq!(stored(&home).len(), 0);
    assert_eq!(fake.seen().len(), 0);
}

#[test]
fn the_pipe_and_the_proxy_store_the_same_of_a_stream() {
    let body = format!("{}{}{END}", chunk("In "), chunk("Évora."));
    let streamed = || Answer::new(200, body.clone()).header("Content-Type", "text/event-stream");
    let (by_pipe, by_proxy) = (Fake::new([streamed()]), Fake::new([streamed()]));
    let (pipe, proxied) = (home_of(&by_pipe), home_of(&by_proxy));
    for home in [&pipe, &proxied] {
        home.ingest(
            &["-p", "p"],
            r#"{"role":"user","content":"The chapel is in Évora","trace_id":"1","timestamp":1}"#,
        );
    }
    let request = asking("Where is the chapel?");
    let enriched = pipe.run("rsv-enrich", &["-p", "p"], &request).ok();
    let answered = pipe.run("rsv-forward", &["--stream"], enriched).ok();
    pipe.run("rsv-ingest", &[], answered).ok();
    let proxy = Proxy::start(&proxied);
    assert_eq!(body_of(&proxy, &request), (200, body));
    assert_eq!(by_proxy.one().text(), by_pipe.one().text());
    assert_eq!(proxied.export(), pipe.export());
}
