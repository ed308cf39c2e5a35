//! How clients read a streamed answer, in every API, and providers that answer byte for byte.

use crate::fake::whole;
use crate::proxy::{Proxy, post};
use crate::support::text;
use Client::{Chat, Generate, Messages, Ollama, Responses};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

/// A client, by the API that it speaks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Client {
    Chat,
    Messages,
    Responses,
    Ollama,
    Generate,
}

/// A client's reading of an answer.
#[derive(PartialEq, Debug)]
pub(crate) enum Seen {
    Whole,
    /// With the message of the error.
    Broken(String),
}

/// The clients of a provider of chat completions.
pub(crate) const OF_CHAT: [Client; 3] = [Chat, Messages, Responses];

impl Client {
    pub(crate) fn path(self) -> &'static str {
        match self {
            Chat => "/v1/chat/completions",
            Messages => "/v1/messages",
            Responses => "/v1/responses",
            Ollama => "/api/chat",
            Generate => "/api/generate",
        }
    }

    pub(crate) fn request(self, model: &str, asked: &str, streams: bool) -> String {
        let turns = json!([{"role": "user", "content": asked}]);
        let mut request = match self {
            Chat | Ollama => json!({"messages": turns}),
            Messages => json!({"messages": turns, "max_tokens": 100, "system": "Be brief"}),
            Responses => json!({"input": turns}),
            Generate => json!({"prompt": asked}),
        };
        request["model"] = json!(model);
        request["stream"] = json!(streams);
        request.to_string()
    }

    /// Its reading of a streamed answer. An answer that it cannot read, or that says both, fails the test.
    pub(crate) fn seen(self, body: &str) -> Seen {
        let (error, is_whole) = match self {
            Chat => in_chunks(body),
            Messages => in_events(body, "event: error", &["message_stop"], "stop_reason\":\""),
            Responses => in_events(
                body,
                "",
                &["response.completed", "response.incomplete"],
                "\"status\":\"completed\",\"error",
            ),
            Ollama | Generate => in_lines(body),
        };
        match (error, is_whole) {
            (Some(error), false) => Seen::Broken(error),
            (None, true) => Seen::Whole,
            found => panic!("{self:?}: {found:?}: {body}"),
        }
    }

    /// The message of an error that takes the place of an answer.
    pub(crate) fn refusal(self, body: &str) -> String {
        let body: Value = serde_json::from_str(body).unwrap();
        assert!(body["type"] == "error" || self != Messages, "{body}");
        match self {
            Ollama | Generate => text(&body["error"]),
            _ => text(&body["error"]["message"]),
        }
    }
}

/// The events of a body, as lines without their ends; all but the end of a stream must be complete.
pub(crate) fn blocks(body: &str) -> Vec<String> {
    let body = body.replace("\r\n", "\n").replace('\r', "\n");
    let mut blocks: Vec<String> = body.split("\n\n").map(str::to_owned).collect();
    let last = blocks.pop().unwrap();
    if last.trim_end() == "data: [DONE]" {
        blocks.push(last);
    } else {
        assert_eq!(last, "", "an event has no end: {body}");
    }
    blocks.retain(|block| block.lines().any(|line| line.starts_with("data:")));
    blocks
}

/// The data of an event.
pub(crate) fn data(block: &str) -> &str {
    block.lines().find_map(|line| line.strip_prefix("data: ")).unwrap()
}

pub(crate) fn parsed(data: &str) -> Value {
    serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"))
}

fn has_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

/// The error in chunks of chat completions, and whether a client may take them for the whole.
fn in_chunks(body: &str) -> (Option<String>, bool) {
    let (mut error, mut is_whole) = (None, false);
    for block in blocks(body) {
        assert_eq!(error, None, "more comes after the error: {body}");
        let data = data(&block);
        if data == "[DONE]" {
            is_whole = true;
            continue;
        }
        let chunk = parsed(data);
        error = error.or_else(|| Some(text(chunk.get("error")?.get("message")?)));
        let choices = chunk["choices"].as_array().into_iter().flatten();
        is_whole |= choices.into_iter().any(|choice| has_text(&choice["finish_reason"]));
    }
    (error, is_whole)
}

/// The error in events that name their type, and whether the last is one of `ends`. The error is the last event, and its
/// lines begin with `error_line`; before it there is no `sign` of an end.
fn in_events(body: &str, error_line: &str, ends: &[&str], sign: &str) -> (Option<String>, bool) {
    let blocks = blocks(body);
    let Some(last) = blocks.last() else { return (None, false) };
    let events: Vec<Value> = blocks.iter().map(|block| parsed(data(block))).collect();
    let is_error = |event: &Value| event["type"] == "error" || event["type"] == "response.failed";
    let end = events.last().unwrap();
    if !is_error(end) {
        return (None, ends.contains(&end["type"].as_str().unwrap()));
    }
    assert_eq!(events.iter().filter(|event| is_error(event)).count(), 1, "{body}");
    assert!(last.starts_with(error_line) && !body.contains(sign), "{body}");
    let error = [&end["response"]["error"], &end["error"], end].into_iter().find(|error| error.is_object());
    (Some(text(&error.unwrap()["message"])), false)
}

/// The error in lines of Ollama's, and whether they are whole.
fn in_lines(body: &str) -> (Option<String>, bool) {
    let pieces: Vec<Value> = body.lines().filter(|line| !line.is_empty()).map(parsed).collect();
    let error = pieces.last().and_then(|piece| piece.get("error")).map(text);
    (error, pieces.iter().any(|piece| piece["done"] == true))
}

/// How a provider ends an answer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum End {
    /// As one whose length was said before.
    Length,
    /// By the end of the connection.
    Close,
    /// In the middle of HTTP's chunks.
    Cut,
}

pub(crate) const ENDS: [End; 3] = [End::Length, End::Close, End::Cut];

impl End {
    /// The bytes of an answer with this body.
    pub(crate) fn answer(self, kind: &str, body: &[u8]) -> Vec<u8> {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n");
        let (head, before, after) = match self {
            End::Length => (format!("{head}Content-Length: {}\r\n\r\n", body.len()), String::new(), ""),
            End::Close => (head + "\r\n", String::new(), ""),
            // A chunk without bytes would be the end.
            End::Cut if body.is_empty() => (head + "Transfer-Encoding: chunked\r\n\r\n", String::new(), ""),
            End::Cut => {
                (head + "Transfer-Encoding: chunked\r\n\r\n", format!("{:x}\r\n", body.len()), "\r\n")
            }
        };
        [head.as_bytes(), before.as_bytes(), body, after.as_bytes()].concat()
    }
}

/// The address of a provider whose answers, byte for byte, depend on the request.
pub(crate) fn provider(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = std::sync::Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = answer.clone();
            std::thread::spawn(move || answer_once(stream.unwrap(), &*answer));
        }
    });
    url
}

fn answer_once(mut stream: TcpStream, answer: &dyn Fn(&str) -> Vec<u8>) {
    let (mut request, mut piece) = (Vec::new(), [0; 1 << 14]);
    while !whole(&request) {
        match stream.read(&mut piece) {
            Ok(read @ 1..) => request.extend_from_slice(&piece[..read]),
            _ => return,
        }
    }
    // The client may have gone.
    let _ = stream.write_all(&answer(&String::from_utf8(request).unwrap()));
}

/// Posts a request; the status and the body of the answer, which must come to its end as HTTP has it.
pub(crate) fn ask(proxy: &Proxy, path: &str, headers: &str, body: &str) -> (u16, String) {
    let answer = String::from_utf8(proxy.bytes(&post(path, headers, body))).unwrap();
    let (head, mut rest) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    if !head.contains("transfer-encoding: chunked") {
        return (status, rest.to_owned());
    }
    let mut body = String::new();
    loop {
        let (length, after) = rest.split_once("\r\n").unwrap_or_else(|| panic!("the body is cut: {answer}"));
        match usize::from_str_radix(length, 16).unwrap() {
            0 => return (status, body),
            length => {
                body.push_str(&after[..length]);
                rest = &after[length + 2..];
            }
        }
    }
}
