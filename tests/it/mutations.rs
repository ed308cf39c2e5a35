//! Lines, store files, requests and answers with random changes: a tool ends with 0, 1 or 2 and without a panic, and the
//! proxy answers the next request.

use crate::fake::{Answer, Fake};
use crate::proxy::{Proxy, asking, post};
use crate::robust::turn;
use crate::support::{Dice, Home, Ran, number_from, tries};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

/// Bytes that parsers stumble over.
const PARTS: [&[u8]; 28] = [
    b"\0",
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xe2\x80\xa8",
    b"\"",
    b"\\",
    b"\\ud800",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"null",
    b"true",
    b"-0",
    b"1e999",
    b"-1",
    b"9223372036854775808",
    b"1e-400",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    b"\r\n",
    b"\n",
    b"\r\n\r\n",
    b"%00",
    b" ",
    b"Transfer-Encoding: chunked\r\n",
];

/// Changes bytes in one to four random ways.
pub(crate) fn mutate(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + dice.below(4) {
        let at = dice.below(bytes.len() + 1);
        let end = (at + 1 + dice.below(40)).min(bytes.len());
        match dice.below(7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            1 if at < bytes.len() => bytes[at] = dice.below(256) as u8,
            2 => drop(bytes.drain(at..end)),
            3 => bytes.splice(at..at, bytes[at..end].to_vec()).for_each(drop),
            4 => bytes.truncate(at),
            5 => {
                let part = PARTS[dice.below(PARTS.len())];
                bytes.splice(at..end, part.iter().copied()).for_each(drop);
            }
            _ => {
                let part = PARTS[dice.below(PARTS.len())];
                bytes.splice(at..at, part.iter().copied()).for_each(drop);
            }
        }
    }
    bytes
}

/// How many tries a test makes: `few`, unless a variable gives their number.
pub(crate) fn count(few: u64) -> u64 {
    number_from("RSV_TEST_MUTATIONS").unwrap_or(few)
}

/// Fails unless a tool ended as one that may be given anything.
fn well_ended(tool: &str, ran: &Ran) {
    assert!((0..=2).contains(&ran.status) && !ran.stderr.contains("panicked"), "{tool}: {ran}");
}

const REQUEST: &str = r#"{"model":"llama3.1","stream":false,"temperature":0.7,"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"Where is the owl?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}],"content":null},{"role":"tool","tool_call_id":"c","content":"In the wood"},{"role":"user","content":"Which wood?"}],"rsv":{"partition":"default","instance":"default","trace_id":"t"}}"#;

/// Answers of providers, whole and as events.
const ANSWERS: [&str; 3] = [
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{\"id\":\"c\",\"object\":\"chat.completion\",\"created\":1.0,\"model\":\"m\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"In \\u00c9vora.\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"total_tokens\":5}}",
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n42\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"In the wood\"}}]}\n\n\r\n45\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\r\ne\r\ndata: [DONE]\n\n\r\n0\r\n\r\n",
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 0\r\nConnection: close\r\n\r\n{\"error\":{\"message\":\"overloaded\",\"type\":\"server_error\",\"code\":null}}",
];

/// A provider that answers each connection with changed bytes: whole, in small pieces, cut off, or reset.
fn unreliable(seed: u64) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut dice = Dice(seed);
        for stream in listener.incoming() {
            let _ = misbehave(stream.unwrap(), &mut dice);
        }
    });
    format!("http://127.0.0.1:{port}")
}

fn misbehave(mut stream: TcpStream, dice: &mut Dice) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut piece = [0; 1 << 16];
    // Unread bytes turn the end of a connection into a reset.
    if dice.below(6) > 0 {
        let _ = stream.read(&mut piece)?;
    }
    let answer = ANSWERS[dice.below(ANSWERS.len())].as_bytes();
    let answer = if dice.below(4) == 0 { answer.to_vec() } else { mutate(answer, dice) };
    match dice.below(6) {
        0 => answer.chunks(7).try_for_each(|piece| {
            std::thread::sleep(Duration::from_millis(1));
            stream.write_all(piece)
        }),
        1 => stream.write_all(&answer[..dice.below(answer.len() + 1)]),
        2 => {
            // A line without an end.
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ")?;
            (0..1024).try_for_each(|_| stream.write_all(&[b'x'; 1 << 16]))
        }
        _ => stream.write_all(&answer),
    }
}

/// Keeps: No bytes in a line, a file or a request end a tool by a panic.
#[test]
fn changed_lines_end_no_tool_by_a_panic() {
    let provider = Fake::answering(|_| Answer::new(200, crate::proxy::REPLY));
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url()).env("RSV_RETRIES", "0");
    let turns: String = (0..3).map(|n| turn(n) + "\n").collect();
    let export = include_str!("export.jsonl");
    let reference: String =
        include_str!("reference.jsonl").lines().take(1).map(|line| format!("{line}\n")).collect();
    let inputs = [turns, export.to_owned(), reference, format!("{REQUEST}\n{REQUEST}\n")];
    let tools: [(&str, &[&str]); 10] = [
        ("rsv-ingest", &[]),
        ("rsv-ingest", &["--keep-system"]),
        ("rsv-import", &[]),
        ("rsv-import", &["--dry-run"]),
        ("rsv-forget", &["-p", "default"]),
        ("rsv-embed", &[]),
        ("rsv-enrich", &[]),
        ("rsv-forward", &[]),
        ("rsv-forward", &["--stream"]),
        ("rsv-search", &["-"]),
    ];
    tries(count(100), |mut dice| {
        let dice = &mut dice;
        let input = mutate(inputs[dice.below(inputs.len())].as_bytes(), dice);
        let (tool, words) = tools[dice.below(tools.len())];
        well_ended(tool, &home.run(tool, words, input));
    });
    home.check();
}

/// Keeps: No bytes in a line, a file or a request end a tool by a panic.
#[test]
fn changed_files_of_a_store_end_no_tool_by_a_panic() {
    let home = Home::new();
    let lines: String = (0..60).map(|n| turn(n) + "\n").collect();
    home.run("rsv-ingest", &[], &lines).ok();
    let whole = std::fs::read(home.store()).unwrap();
    // A process that is killed leaves its log.
    let mut writer = home.talk("rsv-ingest", &[]);
    writer.say(&turn(60));
    writer.hear();
    writer.child.kill().unwrap();
    writer.child.wait().unwrap();
    let path_of = |suffix: &str| {
        let mut path = home.store().into_os_string();
        path.push(suffix);
        path
    };
    let log = std::fs::read(path_of("-wal")).unwrap();
    assert!(whole.len() > 4096 && log.len() > 4096);
    let tools: [(&str, &[&str], &str); 9] = [
        ("rsv-view", &["100", "--all"], ""),
        ("rsv-search", &["reply"], ""),
        ("rsv-export", &[], ""),
        ("rsv-ingest", &["hello"], ""),
        ("rsv-import", &[], r#"{"role":"user","content":"x","trace_id":"t","timestamp":1,"partition":"p"}"#),
        ("rsv-forget", &["--everything", "--yes"], ""),
        ("rsv-link", &[], ""),
        ("rsv-enrich", &[], REQUEST),
        ("rsv-config", &["doctor"], ""),
    ];
    tries(count(60), |mut dice| {
        let dice = &mut dice;
        let (mut file, mut changed_log) = (whole.clone(), log.clone());
        match dice.below(4) {
            0 => file = mutate(&file, dice),
            1 => changed_log = mutate(&changed_log, dice),
            changed => {
                let bytes = if changed == 2 { &mut file } else { &mut changed_log };
                for _ in 0..1 + dice.below(20) {
                    let at = dice.below(bytes.len());
                    bytes[at] = dice.below(256) as u8;
                }
            }
        }
        let _ = std::fs::remove_file(path_of("-shm"));
        std::fs::write(home.store(), file).unwrap();
        std::fs::write(path_of("-wal"), changed_log).unwrap();
        let (tool, words, input) = tools[dice.below(tools.len())];
        well_ended(tool, &home.run(tool, words, input));
    });
}

/// Sends bytes; the answer, which may be none. A request that may be cut short is followed by an end.
fn send(proxy: &Proxy, bytes: &[u8], is_cut: bool) -> Vec<u8> {
    let mut stream = proxy.connect();
    // The proxy may refuse before it has read all.
    let _ = stream.write_all(bytes);
    if is_cut {
        let _ = stream.shutdown(Shutdown::Write);
    }
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    let waits = |error: &std::io::Error| error.kind() == std::io::ErrorKind::WouldBlock;
    assert!(!read.as_ref().is_err_and(waits), "no end: {}", String::from_utf8_lossy(bytes));
    answer
}

pub(crate) fn last_words_are_well(mut proxy: Proxy) {
    let (said, status) = proxy.last_words();
    assert!(status == Some(0) && !said.contains("panicked"), "{said}");
}

/// Keeps: No bytes in a line, a file or a request end a tool by a panic.
#[test]
fn the_proxy_answers_changed_requests_and_serves_on() {
    let provider = Fake::answering(|_| Answer::new(200, crate::proxy::REPLY));
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url()).env("RSV_RETRIES", "0");
    let proxy = Proxy::start(&home);
    let paths = [
        "/v1/chat/completions",
        "/partition/p/instance/i/v1/chat/completions",
        "/api/chat",
        "/v1/embeddings",
        "/command/view",
    ];
    tries(count(150), |mut dice| {
        let dice = &mut dice;
        let path = paths[dice.below(paths.len())];
        if dice.below(2) == 0 {
            let answer = send(&proxy, &mutate(&post(path, "", REQUEST), dice), true);
            // A malformed or incomplete request may get no answer.
            assert!(
                answer.is_empty() || answer.starts_with(b"HTTP/1."),
                "{}",
                String::from_utf8_lossy(&answer)
            );
        } else {
            let body = mutate(REQUEST.as_bytes(), dice);
            let length = body.len();
            let head = format!(
                "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
                 Content-Length: {length}\r\n\r\n"
            );
            let answer = send(&proxy, &[head.as_bytes(), &body].concat(), false);
            let status =
                answer.get(9..12).and_then(|status| std::str::from_utf8(status).ok()?.parse::<u16>().ok());
            let shown =
                || format!("{path}: {} {}", String::from_utf8_lossy(&body), String::from_utf8_lossy(&answer));
            assert!(status.is_some_and(|status| (200..600).contains(&status)), "{}", shown());
        }
        assert_eq!(proxy.raw(&post(paths[1], "", &asking("Still there?"))).0, 200);
    });
    last_words_are_well(proxy);
    home.check();
}

#[test]
fn changed_answers_of_providers_reach_clients_or_become_errors() {
    let good = Fake::answering(|_| Answer::new(200, crate::proxy::REPLY));
    let seed = number_from("RSV_TEST_SEED").unwrap_or(67);
    let home = Home::new().env("RSV_RETRIES", "0").env("RSV_MAX_LINE_BYTES", "4000000");
    let (bad, good) =
        (home.env("RSV_OLLAMA_BASE_URL", &unreliable(seed)), home.env("RSV_OLLAMA_BASE_URL", &good.url()));
    let mut proxy = Proxy::start(&bad);
    let path = "/partition/p/instance/i/v1/chat/completions";
    tries(count(100), |mut dice| {
        let dice = &mut dice;
        let streamed = REQUEST.replace("\"stream\":false", "\"stream\":true");
        let request = [REQUEST, &streamed][dice.below(2)];
        if dice.below(3) == 0 {
            well_ended("rsv-forward", &bad.run("rsv-forward", &[], request));
        } else {
            let answer = send(&proxy, &post(path, "", request), false);
            assert!(answer.starts_with(b"HTTP/1.1 "), "{}", String::from_utf8_lossy(&answer));
        }
        assert_eq!(proxy.get("/health").0, 200);
    });
    let (said, status) = proxy.last_words();
    // An answer without a message reaches the client, and cannot be stored.
    let expected = if said.contains(" is lost: ") { 2 } else { 0 };
    assert!(status == Some(expected) && !said.contains("panicked"), "{said}");
    let proxy = Proxy::start(&good);
    assert_eq!(proxy.post(path, "", &asking("Still there?")).0, 200);
    last_words_are_well(proxy);
    assert!(home.contents("rsv-view", &["1000", "--all"]).contains(&"Still there?".to_owned()));
    home.check();
}
