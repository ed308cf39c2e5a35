//! Requests to rsv-proxy that have no end: each is refused after a while, and takes little memory until then.

use crate::proxy::{Proxy, answer};
use crate::support::{Dice, Home, number_from, tries};
use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// The most memory that all of them may take at once, in bytes.
const MAX_GROWTH: usize = 40 << 20;
/// The bytes after which a request counts as one that would be read for ever.
const ENOUGH: usize = 64 << 20;

const FORM: &str = "POST /api/documents/upload HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
                    Content-Type: multipart/form-data; boundary=XX\r\nTransfer-Encoding: chunked\r\n\r\n";
const CHAT: &str = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
const CHUNKED: &str = "Transfer-Encoding: chunked\r\n\r\n";
const FILE: &str = "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.md\"\r\n\r\n";
const FIELD: &str = "--XX\r\nContent-Disposition: form-data; name=\"user_id\"\r\n\r\n";
const NAME: &str = "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"";

/// Endless parts of a form: the beginning, the part that repeats, the status of the answer, some of its words.
const FORMS: [(&str, &str, &str, u16, &str); 12] = [
    ("a line of a header", "--XX\r\nX: ", "y", 400, "a header of the form"),
    ("lines of a header", "--XX\r\n", "X: y\r\n", 400, "a header of the form"),
    ("the name of a file", NAME, "n", 400, "a header of the form"),
    ("text before the first part", "", "x", 400, "the text before its first part"),
    ("what could begin a boundary", "", "\r\n--X", 400, "the text before its first part"),
    ("padding after a boundary", "--XX", " ", 400, "is longer than"),
    ("parts", "", "--XX\r\nA: b\r\n\r\nx\r\n", 400, "more than 32 parts"),
    (
        "parts with names",
        "",
        "--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\r\n",
        400,
        "32 parts",
    ),
    ("a field", FIELD, "x", 400, "a field of the form is too long"),
    ("a file", FILE, "x", 413, "chat.upload_bytes"),
    ("a file of what could begin a boundary", FILE, "\r\n--X", 413, "chat.upload_bytes"),
    (
        "text after the form",
        "--XX\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nx\r\n--XX--",
        "x",
        202,
        "queued",
    ),
];

/// The same in the bodies of other requests.
const BODIES: [(&str, &str, &str, u16, &str); 3] = [
    ("a text", "{\"model\":\"", "x", 413, "max_line_bytes"),
    ("lists in lists", "", "[", 413, "max_line_bytes"),
    ("blanks", "", " ", 413, "max_line_bytes"),
];

/// The same in requests as they are on the wire.
const REQUESTS: [(&str, &str, &str, u16, &str); 6] = [
    ("an address", "GET /", "x", 431, "proxy.header_bytes"),
    ("a line of a header", "X: ", "y", 431, "proxy.header_bytes"),
    ("lines of a header", "", "X: y\r\n", 431, "proxy.header_bytes"),
    ("the extension of a chunk", "Transfer-Encoding: chunked\r\n\r\n1;", "x", 400, "ended early"),
    ("the line ends of a trailer", "Transfer-Encoding: chunked\r\n\r\n0\r\n", "X: y\r\n", 400, "ended early"),
    (
        "a body that nobody reads",
        "Origin: https://other.example\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n",
        "x",
        403,
        "",
    ),
];

/// Sends what begins a request, and then the same again and again, until the proxy has had enough: its answer.
fn send(proxy: &Proxy, head: &str, begin: &str, unit: &str, chunked: bool, dice: &mut Dice) -> (u16, String) {
    let stream = proxy.connect();
    let mut sender = stream.try_clone().unwrap();
    let mut block = unit.repeat((1 + dice.below(64 << 10)).div_ceil(unit.len()));
    let mut first = begin.to_owned();
    if chunked {
        for text in [&mut first, &mut block] {
            *text = if text.is_empty() { String::new() } else { format!("{:x}\r\n{text}\r\n", text.len()) };
        }
    }
    let request = format!("{head}{first}");
    std::thread::scope(|threads| {
        threads.spawn(move || {
            let mut sent = sender.write_all(request.as_bytes());
            for _ in 0..ENOUGH / block.len() {
                sent = sent.and_then(|()| sender.write_all(block.as_bytes()));
            }
        });
        let answered = answer(stream.try_clone().unwrap());
        let _ = stream.shutdown(Shutdown::Both);
        answered
    })
}

/// All endless requests, all at the same time.
fn send_all(proxy: &Proxy, dice: &mut Dice) {
    let requests = FORMS.map(|row| (FORM.to_owned(), row, true)).into_iter();
    let requests = requests.chain(BODIES.map(|row| (format!("{CHAT}{CHUNKED}"), row, true)));
    let requests = requests.chain(REQUESTS.map(|row| {
        let head = if row.1.starts_with("GET") { String::new() } else { CHAT.to_owned() };
        (head, row, false)
    }));
    std::thread::scope(|threads| {
        for (head, (what, begin, unit, status, words), chunked) in requests {
            let mut dice = Dice(dice.below(usize::MAX) as u64);
            threads.spawn(move || {
                let (found, body) = send(proxy, &head, begin, unit, chunked, &mut dice);
                assert!(found == status && body.contains(words), "{what}: {found} {body}");
            });
        }
    });
}

/// Keeps: Requests without an end take little memory.
#[test]
fn a_request_without_an_end_is_refused_and_takes_little_memory() {
    let home = Home::new().env("RSV_CHAT_UPLOAD_BYTES", "20000000").env("RSV_MAX_LINE_BYTES", "4000000");
    let proxy = Proxy::start(&home);
    assert_eq!(proxy.get("/health").0, 200);
    let before = proxy.peak_memory();
    tries(number_from("RSV_TEST_ROUNDS").unwrap_or(2), |mut dice| send_all(&proxy, &mut dice));
    assert_eq!(proxy.get("/health").0, 200);
    let grown = proxy.peak_memory() - before;
    assert!(grown < MAX_GROWTH, "{grown}");
}

#[test]
fn a_request_that_is_always_in_time_and_never_there_ends() {
    let proxy = Proxy::start(&Home::new().env("RSV_PROXY_IDLE_TIMEOUT", "200ms"));
    let form = |part: &str| format!("{FORM}{:x}\r\n{part}\r\n", part.len());
    let body = format!("{CHAT}{CHUNKED}2\r\n{{\"\r\n");
    let requests = [
        ("a header of a form", form("--XX\r\nX: "), "1\r\ny\r\n"),
        ("a file", form(FILE), "1\r\ny\r\n"),
        ("a body", body.clone(), "1\r\nx\r\n"),
        ("the length of a chunk", body, "0"),
    ];
    std::thread::scope(|threads| {
        for (what, begin, unit) in requests {
            let proxy = &proxy;
            threads.spawn(move || {
                let mut stream = proxy.connect();
                stream.write_all(begin.as_bytes()).unwrap();
                let dribbling = stream.try_clone().unwrap();
                threads.spawn(move || dribble(dribbling, unit));
                assert_eq!(answer(stream).0, 408, "{what}");
            });
        }
    });
}

/// Sends a little at a time until nobody reads it.
fn dribble(mut stream: TcpStream, unit: &str) {
    while stream.write_all(unit.as_bytes()).is_ok() {
        std::thread::sleep(Duration::from_millis(20));
    }
}
