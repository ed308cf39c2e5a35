//! Answers that come compressed: passed on as they came, and read in the clear.

use crate::fake::{Answer, Call, Wire};
use crate::proxy::{Proxy, post};
use crate::support::{Home, lines_of};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use rsv::http::{Decoder, Truncation, accepted_encodings};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

/// Every form of a body, and what `Content-Encoding` calls it.
const FORMS: [(&str, &str); 7] = [
    ("plain", "identity"),
    ("gzip", "gzip"),
    ("gzip", "X-GZip"),
    ("zlib", "deflate"),
    ("raw", "deflate"),
    ("br", "br"),
    ("zstd", "zstd"),
];
/// The Accept-Encoding of a client that accepts every encoding, also some that rsv cannot decode.
const OFFERED: &str = "zstd, br;q=0.9, gzip, deflate, compress, dcb";
const KNOWN: &str = "zstd, br;q=0.9, gzip, deflate";

/// Where encoders write.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Sink {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The body of a server that flushes its encoder after each piece; the last piece is the end.
pub(crate) fn encoded(form: &str, pieces: &[&str]) -> Vec<Vec<u8>> {
    let (sink, level) = (Sink::default(), Compression::default());
    let to = sink.clone();
    let mut encoder: Box<dyn Write> = match form {
        "gzip" => Box::new(GzEncoder::new(to, level)),
        "zlib" => Box::new(ZlibEncoder::new(to, level)),
        "raw" => Box::new(DeflateEncoder::new(to, level)),
        "br" => Box::new(brotli::CompressorWriter::new(to, 1 << 12, 5, 22)),
        "zstd" => Box::new(zstd::Encoder::new(to, 3).unwrap().auto_finish()),
        _ => Box::new(to),
    };
    let mut sent = Vec::new();
    for piece in pieces {
        encoder.write_all(piece.as_bytes()).unwrap();
        encoder.flush().unwrap();
        sent.push(sink.take());
    }
    drop(encoder);
    sent.push(sink.take());
    sent
}

#[test]
fn every_encoding_is_read_in_pieces_of_any_length() {
    let text = "data: süß\n\n".repeat(50);
    for (form, name) in FORMS {
        for length in [1, 7, 10_000] {
            let (mut decoder, mut out) = (Decoder::for_encoding(Some(name)), Vec::new());
            for piece in encoded(form, &[&text]).concat().chunks(length) {
                decoder.decode(piece, &mut out, usize::MAX).unwrap();
            }
            assert_eq!(out, text.as_bytes(), "{form} by {length}");
        }
    }
    let mut out = Vec::new();
    Decoder::for_encoding(None).decode(b"x", &mut out, 1).unwrap();
    assert_eq!(out, b"x");
}

#[test]
fn flushed_data_is_decoded_at_once() {
    let texts = ["data: one\n\n", "data: two\n\n", "data: three\n\n"];
    for (form, name) in FORMS {
        let mut decoder = Decoder::for_encoding(Some(name));
        for (piece, text) in encoded(form, &texts).iter().zip(texts) {
            let mut out = Vec::new();
            decoder.decode(piece, &mut out, 100).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), text, "{form}");
        }
    }
}

#[test]
fn decoding_stops_at_its_limit() {
    let long = "x".repeat(10 << 20);
    for (form, name) in FORMS {
        let (mut decoder, mut out) = (Decoder::for_encoding(Some(name)), Vec::new());
        let bomb = encoded(form, &[&long]).concat();
        assert!(matches!(decoder.decode(&bomb, &mut out, 1000), Err(Truncation::Limit)), "{form}");
        assert_eq!((out.len(), out.capacity() < 1 << 20), (1000, true), "{form}");
    }
}

#[test]
fn a_body_of_another_encoding_is_refused() {
    // A frame of zstd's that wants a window of 128 MiB.
    let wide = b"\x28\xb5\x2f\xfd\x00\x88\x01\x00\x00";
    for (name, bytes) in [
        ("gzip", &b"no gzip at all"[..]),
        ("deflate", b"\x78\x9cno"),
        ("br", b"\xff\xff\xff\xff"),
        ("zstd", b"no zstd at all"),
        ("zstd", wide),
        ("compress", b"x"),
    ] {
        let said = Decoder::for_encoding(Some(name)).decode(bytes, &mut Vec::new(), 100);
        assert!(matches!(said, Err(Truncation::Failed(_))), "{name}");
    }
}

#[test]
fn only_what_can_be_decoded_is_offered() {
    for (accepted, offered) in [
        (OFFERED, KNOWN),
        ("GZIP;q=0.5, compress;q=1.0", "GZIP;q=0.5"),
        ("gzip;q=0", "gzip;q=0"),
        ("*", "identity"),
        ("", "identity"),
    ] {
        assert_eq!(accepted_encodings(accepted), offered);
    }
}

/// A chunk of a stream that says so.
fn chunk(text: &str) -> String {
    let choice = json!([{"index": 0, "delta": {"content": text}}]);
    format!("data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":{choice}}}\n\n")
}

/// An answer that comes whole.
fn whole(text: &str) -> String {
    let choice =
        json!({"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"});
    json!({"object": "chat.completion", "choices": [choice]}).to_string()
}

/// A proxy before a provider that the test plays.
fn before(wire: &Wire) -> (Home, Proxy) {
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &wire.url()).env("RSV_RETRIES", "0");
    let proxy = Proxy::start(&home);
    (home, proxy)
}

/// Asks; the provider is offered what the client offers, as far as it can be read.
fn ask(proxy: &Proxy, path: &str, headers: &str, body: &str, wire: &Wire) -> (BufReader<TcpStream>, Call) {
    let mut stream = proxy.connect();
    let headers = format!("Accept-Encoding: {OFFERED}\r\n{headers}");
    stream.write_all(&post(path, &headers, body)).unwrap();
    let call = wire.accept();
    let offered = if headers.contains("off") { OFFERED } else { KNOWN };
    let seen = format!("\r\naccept-encoding: {offered}\r\n");
    assert!(call.request.to_lowercase().contains(&seen), "{}", call.request);
    (BufReader::new(stream), call)
}

fn head(from: &mut BufReader<TcpStream>) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(from.read_line(&mut head).unwrap() > 0, "{head}");
    }
    head.to_lowercase()
}

/// As many bytes of a body as this, in HTTP's chunks of any length.
fn chunked(from: &mut BufReader<TcpStream>, length: usize) -> Vec<u8> {
    let mut body = Vec::new();
    while body.len() < length {
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        let mut piece = vec![0; usize::from_str_radix(line.trim(), 16).unwrap() + 2];
        from.read_exact(&mut piece).unwrap();
        assert!(piece.len() > 2, "the body ends early");
        body.extend_from_slice(&piece[..piece.len() - 2]);
    }
    body
}

/// The stored messages in order; none may be partial.
fn stored(home: &Home, proxy: &Proxy) -> Vec<Value> {
    proxy.settle();
    let lines = lines_of(&home.run("rsv-view", &["99"], "").ok());
    assert!(lines.iter().all(|line| line.get("partial").is_none()), "{lines:?}");
    lines.into_iter().map(|line| line["content"].clone()).collect()
}

/// Keeps: A compressed answer passes as it is, and is stored decompressed.
#[test]
fn a_stream_in_any_encoding_passes_as_it_comes_and_is_stored_in_the_clear() {
    let wire = Wire::new();
    let (home, proxy) = before(&wire);
    let end =
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let mut said = Vec::new();
    for (number, (form, name)) in FORMS.into_iter().enumerate() {
        let body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": form}]})
            .to_string();
        let (mut arriving, mut call) = ask(&proxy, "/v1/chat/completions", "", &body, &wire);
        call.begin(&format!("Content-Encoding: {name}\r\n"));
        let reported = head(&mut arriving);
        assert!(reported.contains(&format!("content-encoding: {}\r\n", name.to_lowercase())), "{reported}");
        let answer = format!("In Évora, {number}.");
        for piece in encoded(form, &[&chunk("In Évora, "), &chunk(&format!("{number}.")), end]) {
            if !piece.is_empty() {
                assert!(call.piece(&piece));
                assert_eq!(chunked(&mut arriving, piece.len()), piece, "{form}");
            }
        }
        call.end();
        said.extend([json!(form), json!(answer)]);
        assert_eq!(stored(&home, &proxy), said, "{form}");
    }
}

#[test]
fn a_whole_answer_in_any_encoding_is_read_and_stored_in_the_clear() {
    let wire = Wire::new();
    let (home, proxy) = before(&wire);
    let mut said = Vec::new();
    for (number, (form, name)) in FORMS.into_iter().enumerate() {
        let (question, answer) = (format!("{form} {number}?"), format!("In Évora, {number}."));
        let message = json!({"role": "user", "content": question});
        // Whether it is asked in OpenAI's words or in Ollama's, or is not looked at, and what the provider says.
        let ollamas = json!({"model": "m", "message": {"role": "assistant", "content": answer}, "done": true, "done_reason": "stop"});
        for (path, headers, sent) in [
            ("/v1/chat/completions", "", whole(&answer)),
            ("/api/chat", "", ollamas.to_string()),
            ("/v1/chat/completions", "x-rsv-memory: off\r\n", whole(&answer)),
        ] {
            let body = json!({"model": "m", "stream": false, "messages": [message]}).to_string();
            let (mut arriving, mut call) = ask(&proxy, path, headers, &body, &wire);
            let bytes = encoded(form, &[&sent]).concat();
            let length = bytes.len();
            call.send(format!(
                "HTTP/1.1 200 OK\r\nContent-Encoding: {name}\r\nContent-Length: {length}\r\n\r\n"
            ));
            call.send(&bytes);
            let reported = head(&mut arriving);
            let length =
                reported.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()).unwrap();
            let mut got = vec![0; length.parse().unwrap()];
            arriving.read_exact(&mut got).unwrap();
            if path == "/v1/chat/completions" && headers.is_empty() {
                assert!(!reported.contains("content-encoding"), "{reported}");
                let got: Value = serde_json::from_slice(&got).unwrap();
                assert_eq!(got["choices"][0]["message"]["content"], answer, "{form}");
            } else {
                assert!(
                    reported.contains(&format!("content-encoding: {}\r\n", name.to_lowercase())),
                    "{reported}"
                );
                assert_eq!(got, bytes, "{form}");
            }
            drop(call);
            if headers.is_empty() {
                said.extend([json!(question), json!(answer)]);
            }
            assert_eq!(stored(&home, &proxy), said, "{form} {path}");
        }
    }
}

#[test]
fn an_unrequested_encoding_passes_through_and_is_not_stored() {
    let provider = crate::fake::Fake::answering(|_| {
        Answer::new(200, "sealed")
            .header("Content-Type", "text/event-stream")
            .header("Content-Encoding", "compress")
    });
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url()).env("RSV_RETRIES", "0");
    let proxy = Proxy::start(&home);
    let body =
        json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "x?"}]}).to_string();
    let (status, sent) = proxy.post("/v1/chat/completions", "", &body);
    assert!(status == 200 && sent.contains("sealed"), "{sent}");
    assert_eq!(provider.one().header("accept-encoding"), Some("identity"));
    assert_eq!(stored(&home, &proxy), Vec::<Value>::new());
}

#[test]
fn a_request_in_any_encoding_is_read_and_one_without_memory_passes_unchanged() {
    let provider = crate::fake::Fake::answering(|_| Answer::new(200, whole("Yes.")));
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url());
    let proxy = Proxy::start(&home);
    let body = json!({"model": "m", "stream": false, "messages": [{"role": "user", "content": "x?"}]});
    let send = |headers: &str, bytes: &[u8]| {
        let headers = format!("{headers}Connection: close\r\nContent-Length: {}\r\n", bytes.len());
        let head = format!("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        proxy.raw(&[head.as_bytes(), bytes].concat())
    };
    for (form, name) in FORMS {
        let bytes = encoded(form, &[&body.to_string()]).concat();
        let header = format!("Content-Encoding: {name}\r\n");
        assert_eq!(send(&header, &bytes).0, 200, "{form}");
        let seen = provider.seen().pop().unwrap();
        assert_eq!((seen.header("content-encoding"), seen.text().contains("x?")), (None, true), "{form}");
        assert_eq!(send(&format!("{header}x-rsv-memory: off\r\n"), &bytes).0, 200, "{form}");
        let seen = provider.seen().pop().unwrap();
        assert_eq!((seen.header("content-encoding"), &seen.body), (Some(name), &bytes), "{form}");
    }
    let (status, said) = send("Content-Encoding: compress\r\n", b"{}");
    assert!(status == 415 && said.contains("content-encoding: expected gzip, deflate, br or zstd"), "{said}");
    let (status, said) = send("Content-Encoding: gzip\r\n", body.to_string().as_bytes());
    assert!(status == 400 && said.contains("content-encoding: the body cannot be decoded as gzip"), "{said}");
}
