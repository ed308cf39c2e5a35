//! rsv-forward before providers that stream: well, badly, and not to the end.

use crate::encoded::encoded;
use crate::fake::{Answer, Fake, Wire};
use crate::support::{Home, Ran, lines_of, text};
use rsv::chat::GrowingText;
use rsv::cli::{Common, Diagnostics};
use rsv::config;
use rsv::forward::{Caller, Forwarder};
use rsv::record::{Clock, Object};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::process::Stdio;

const ASK: &str = r#"{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}],"rsv":{"partition":"p","instance":"i","trace_id":"t","user":{"role":"user","content":"hi"}}}"#;

/// The request that the provider must get.
const SEEN: &str = r#"{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}],"stream":true}"#;

fn home(url: &str) -> Home {
    let home = Home::new().env("RSV_OPENAI_BASE_URL", url).env("OPENAI_API_KEY", "sk-canary");
    home.env("RSV_RETRIES", "0").at("1700000000000")
}

/// A chunk with some text.
fn chunk(text: &str) -> String {
    let delta = json!({"content": text});
    format!(
        "{{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}"
    )
}

/// The chunk that ends an answer.
const STOP: &str = r#"{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

/// Chunks as events.
fn events(chunks: &[&str]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()
}

/// A provider that streams this, all at once.
fn streamed(body: impl Into<Vec<u8>>) -> Answer {
    Answer::new(200, body).header("Content-Type", "text/event-stream")
}

fn run(flag: &str, answer: Answer) -> Ran {
    let fake = Fake::new([answer]);
    home(&fake.url()).run("rsv-forward", &[flag], ASK)
}

fn content(response: &Value) -> String {
    text(&response["choices"][0]["message"]["content"])
}

#[test]
fn each_event_is_printed_before_the_next_arrives_and_the_whole_answer_follows() {
    let wire = Wire::new();
    let mut tool = home(&wire.url()).talk("rsv-forward", &["--stream"]);
    tool.say(ASK);
    let mut call = wire.accept();
    let (head, body) = call.request.split_once("\r\n\r\n").unwrap();
    assert_eq!(body, SEEN);
    assert!(head.to_lowercase().contains("\r\naccept-encoding: identity\r\n"), "{head}");
    call.begin("");
    call.piece(": waiting\n\n");
    for said in ["Good", " tide"] {
        call.piece(events(&[&chunk(said)]));
        let line = chunk(said).replace("}}]}", "}}],\"rsv\":{\"trace_id\":\"t\"}}");
        assert_eq!(tool.hear().unwrap(), line);
    }
    call.piece("data: {\"usage\":\n");
    call.piece(format!("data: 1.0}}\n\nevent: odd\ndata: no JSON\n\n{}", events(&[STOP, "[DONE]"])));
    assert_eq!(tool.hear().unwrap(), r#"{"usage":1.0,"kind":"chunk","rsv":{"trace_id":"t"}}"#);
    assert_eq!(tool.hear().unwrap(), r#"{"kind":"chunk","data":"no JSON","rsv":{"trace_id":"t"}}"#);
    assert!(tool.hear().unwrap().contains("\"finish_reason\":\"stop\""));
    call.end();
    assert_eq!(
        tool.hear().unwrap(),
        r#"{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Good tide"},"finish_reason":"stop"}],"usage":1.0,"rsv":{"partition":"p","instance":"i","trace_id":"t","user":{"role":"user","content":"hi"},"provider":"openai","status":200,"latency_ms":0}}"#
    );
    let (status, stderr) = tool.end();
    assert!(status.success() && stderr.is_empty(), "{stderr}");
}

#[test]
fn text_output_is_printed_as_it_arrives() {
    let wire = Wire::new();
    let home = home(&wire.url());
    let mut command = home.command("rsv-forward");
    command.arg("--text").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{ASK}\n{{\"kind\":\"link\",\"rel\":\"X\",\"from\":\"a\",\"to\":\"b\"}}").unwrap();
    // A refusal that rsv-enrich prints counts as an answer, too.
    let own =
        r#"{"choices":[{"message":{"role":"assistant","content":"too long"}}],"rsv":{"provider":"rsv"}}"#;
    writeln!(input, "{own}").unwrap();
    drop(input);
    let mut output = child.stdout.take().unwrap();
    let mut call = wire.accept();
    call.begin("");
    for said in ["süß", "\u{1b}[1m", "\nend"] {
        let event = events(&[&chunk(said)]).into_bytes();
        // Within the first letter that has two bytes, if there is one.
        let cut = event.iter().position(|byte| *byte > 127).map_or(9, |at| at + 1);
        call.piece(&event[..cut]);
        call.piece(&event[cut..]);
        let mut heard = vec![0; said.len()];
        output.read_exact(&mut heard).unwrap();
        assert_eq!(String::from_utf8(heard).unwrap(), said);
    }
    call.piece(events(&[STOP, "[DONE]"]));
    call.end();
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "\ntoo long\n");
    assert!(child.wait().unwrap().success());
}

#[test]
fn text_ends_its_line_once() {
    for (said, printed) in [("a", "a\n"), ("a\n", "a\n"), ("a\n\n", "a\n\n"), ("", "")] {
        assert_eq!(run("--text", streamed(events(&[&chunk(said), STOP]))).ok(), printed);
    }
}

#[test]
fn streams_are_understood_however_they_are_written() {
    let (one, two) = (chunk("a"), chunk("b"));
    let plain = events(&[&one, &two, STOP, "[DONE]"]);
    for (case, answer) in [
        ("as usual", streamed(plain.clone())),
        ("CRLF", streamed(plain.replace('\n', "\r\n"))),
        ("CR", streamed(plain.replace('\n', "\r"))),
        ("no space", streamed(plain.replace("data: ", "data:"))),
        ("a mark, ids, names and comments", streamed(format!("\u{feff}: hello\nid: 1\nevent: x\n{plain}"))),
        ("no [DONE]", streamed(events(&[&one, &two, STOP]))),
        ("no reason", streamed(events(&[&one, &two, "[DONE]"]))),
        ("several lines", streamed(plain.replace("\"choices\"", "\ndata: \"choices\""))),
        ("more after the end", streamed(format!("{plain}data: junk\n\n"))),
        ("gzip", streamed(encoded("gzip", &[&plain]).concat()).header("Content-Encoding", "gzip")),
        (
            "with a charset",
            streamed(plain.clone()).header("Content-Type", "Text/Event-Stream; charset=utf-8"),
        ),
    ] {
        let lines = lines_of(&run("--stream", answer.clone()).ok());
        let response = lines.last().unwrap();
        assert_eq!(content(response), "ab", "{case}");
        assert!(response["rsv"].get("partial").is_none(), "{case}");
        assert_eq!(run("--text", answer).ok(), "ab\n", "{case}");
    }
}

#[test]
fn a_provider_that_does_not_stream_is_understood() {
    let whole = r#"{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"all"}}]}"#;
    let lines = lines_of(&run("--stream", Answer::new(200, whole)).ok());
    assert_eq!((lines.len(), content(&lines[0]), &lines[0]["rsv"]["status"]), (1, "all".into(), &json!(200)));
    assert_eq!(run("--text", Answer::new(200, whole)).ok(), "all\n");
}

#[test]
fn an_answer_that_is_not_a_stream_is_refused_before_output() {
    for (answer, code, status) in [
        (Answer::new(200, "<html>").header("Content-Type", "text/html"), "invalid_answer", 502),
        (Answer::new(200, events(&[STOP])).header("Content-Type", "text/plain"), "invalid_answer", 502),
        (Answer::new(200, ""), "invalid_answer", 502),
        (streamed("garbage\n\n\u{0}\r\n"), "invalid_answer", 502),
        (streamed(""), "invalid_answer", 502),
        (streamed(events(&["{\"error\":{\"message\":\"at sea\"}}"])), "provider_error", 502),
        (Answer::new(401, "{\"error\":{\"message\":\"sk-canary\"}}"), "provider_error", 401),
        (streamed("x").header("Content-Encoding", "compress"), "invalid_answer", 502),
        (streamed("no gzip").header("Content-Encoding", "gzip"), "invalid_answer", 502),
    ] {
        let ran = run("--stream", answer.clone());
        let lines = lines_of(&ran.stdout);
        let error = lines.last().unwrap();
        assert_eq!(
            (ran.status, &error["code"], &error["status"]),
            (2, &json!(code), &json!(status)),
            "{ran}"
        );
        assert_eq!(error["rsv"]["trace_id"], "t");
        assert!(lines.iter().all(|line| line.get("choices").is_none()), "{ran}");
        let ran = run("--text", answer);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        assert!(ran.stderr.starts_with("rsv-forward: error: <stdin>:1: ") && !ran.stderr.contains("canary"));
    }
}

#[test]
fn a_broken_answer_is_reported_and_stored_as_partial() {
    let wire = Wire::new();
    for (last, code, said) in [
        ("", "invalid_answer", "the answer of OpenAI broke off: "),
        (
            "data: {\"error\":{\"message\":\"at sea\"}}\n\n",
            "provider_error",
            "the answer of OpenAI broke off: at sea",
        ),
    ] {
        let home = home(&wire.url());
        let mut tool = home.talk("rsv-forward", &["--stream"]);
        tool.say(ASK);
        let mut call = wire.accept();
        call.begin("");
        call.piece(events(&[&chunk("half"), &chunk(" a word")]) + last);
        let mut lines: Vec<String> = (0..2).map(|_| tool.hear().unwrap()).collect();
        drop(call);
        drop(tool.input.take());
        lines.extend(std::iter::from_fn(|| tool.hear()));
        let (status, stderr) = tool.end();
        assert_eq!(status.code(), Some(2));
        assert!(stderr.starts_with(&format!("rsv-forward: error: <stdin>:1: {said}")), "{stderr}");
        let parsed = lines_of(&lines.join("\n"));
        let [.., response, error] = &parsed[..] else { panic!("{lines:?}") };
        assert_eq!((content(response), &response["rsv"]["partial"]), ("half a word".into(), &json!(true)));
        assert_eq!((&error["kind"], &error["code"]), (&json!("error"), &json!(code)));
        // Chunks and errors pass the store; what arrived is in it.
        let passed = home.ingest(&[], &lines.join("\n"));
        assert_eq!(passed, parsed);
        let stored: Vec<Value> = lines_of(&home.export());
        let messages: Vec<(String, bool)> = stored
            .iter()
            .filter(|line| line["kind"] == "message")
            .map(|line| (text(&line["content"]), line["partial"] == true))
            .collect();
        assert_eq!(messages, [("hi".to_owned(), false), ("half a word".to_owned(), true)]);
    }
}

#[test]
fn a_finished_answer_is_whole_even_if_the_connection_breaks() {
    for last in [STOP, "[DONE]"] {
        let wire = Wire::new();
        let mut tool = home(&wire.url()).talk("rsv-forward", &["--text"]);
        tool.say(ASK);
        let mut call = wire.accept();
        call.begin("");
        call.piece(events(&[&chunk("all\n"), last]));
        assert_eq!(tool.hear().unwrap(), "all");
        drop(call);
        let (status, stderr) = tool.end();
        assert!(status.success(), "{stderr}");
    }
}

#[test]
fn a_stream_times_out_only_if_it_stalls() {
    let wire = Wire::new();
    let home = home(&wire.url()).env("RSV_REQUEST_TIMEOUT", "1ms").env("RSV_IDLE_TIMEOUT", "300ms");
    let mut tool = home.talk("rsv-forward", &["--stream"]);
    tool.say(ASK);
    let mut call = wire.accept();
    call.begin("");
    call.piece(events(&[&chunk("and then")]));
    tool.hear().unwrap();
    let response: Value = serde_json::from_str(&tool.hear().unwrap()).unwrap();
    assert_eq!((content(&response), &response["rsv"]["partial"]), ("and then".into(), &json!(true)));
    let error: Value = serde_json::from_str(&tool.hear().unwrap()).unwrap();
    assert_eq!((&error["code"], &error["status"]), (&json!("timeout"), &json!(504)));
    assert_eq!(error["message"], "the answer of OpenAI broke off: nothing more arrived within 300ms");
    assert_eq!(error["hint"], "raise the limit with: rsv-config set idle_timeout 20m");
    call.hung_up();
    assert_eq!(tool.end().0.code(), Some(2));
}

#[test]
fn a_slow_start_times_out() {
    let wire = Wire::new();
    let home = home(&wire.url()).env("RSV_FIRST_BYTE_TIMEOUT", "100ms");
    let ran = home.run("rsv-forward", &["--stream"], ASK);
    let error = &lines_of(&ran.stdout)[0];
    assert!(text(&error["message"]).contains("nothing arrived within 100ms"), "{ran}");
    assert_eq!(error["hint"], "raise the limit with: rsv-config set first_byte_timeout 20m");
}

#[test]
fn a_stream_is_retried_only_until_it_begins() {
    let fake = Fake::new([
        Answer::new(429, "").header("Retry-After", "0"),
        streamed(events(&[&chunk("half")])),
        streamed(events(&[&chunk("whole"), STOP])),
    ]);
    let ran = home(&fake.url()).env("RSV_RETRIES", "2").run("rsv-forward", &["--text"], ASK);
    assert_eq!((ran.status, ran.stdout.as_str(), fake.seen().len()), (2, "half\n", 2));
}

#[test]
fn an_event_cannot_pass_for_a_record() {
    let bad = [
        r#"{"kind":"message","role":"user","content":"x"}"#,
        r#"{"role":"user","content":"x"}"#,
        r#"{"messages":[],"choices":[]}"#,
        r#"{"object":"chat.completion","choices":[{"index":0,"message":{"role":"user","content":"a"}}]}"#,
        r#"{"object":"chat.completion.chunk","kind":"link","choices":[],"rsv":{"partition":"stolen"}}"#,
        r#"{"from":"a","to":"b","rel":"X"}"#,
        r#"{"a":1,"a":2}"#,
        "[1]",
    ];
    let ran = run("--stream", streamed(events(&bad) + &events(&[STOP])));
    let lines = lines_of(&ran.ok());
    assert_eq!(lines.len(), bad.len() + 2);
    for line in &lines[..bad.len()] {
        assert_eq!((&line["kind"], &line["rsv"]), (&json!("chunk"), &json!({"trace_id": "t"})), "{line}");
    }
    let response = lines.last().unwrap();
    assert_eq!((&response["kind"], &response["rsv"]["partition"]), (&json!("response"), &json!("p")));
}

#[test]
fn a_closed_reader_cancels_the_request() {
    let wire = Wire::new();
    let home = home(&wire.url());
    let mut command = home.command("rsv-forward");
    command.arg("--stream").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    writeln!(child.stdin.as_ref().unwrap(), "{ASK}").unwrap();
    let mut call = wire.accept();
    drop(child.stdout.take());
    call.begin("");
    // The first may still be taken: a process that another test is just starting has the reader's end, too.
    assert!((0..100_000).any(|_| !call.piece(events(&[&chunk("a")]))));
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_very_long_answer_is_not_buffered() {
    const MIB: usize = 1 << 20;
    let wire = Wire::new();
    let home = home(&wire.url()).env("RSV_MAX_LINE_BYTES", &(2 * MIB).to_string());
    let mut command = home.command("rsv-forward");
    command.arg("--text").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), "{ASK}").unwrap();
    let mut output = child.stdout.take().unwrap();
    let reading = std::thread::spawn(move || {
        let (mut piece, mut read) = (vec![0; 1 << 16], 0);
        while let n @ 1.. = output.read(&mut piece).unwrap() {
            read += n;
        }
        read
    });
    let mut call = wire.accept();
    call.begin("");
    let event = events(&[&chunk(&"x".repeat(MIB))]);
    for _ in 0..100 {
        call.piece(&event);
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let most: usize = most.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(most < 80 << 10, "{most} KiB");
    call.piece(events(&[STOP]));
    call.end();
    assert_eq!(reading.join().unwrap(), 100 * MIB + 1);
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_memory_for_an_answer_is_bounded() {
    let body = events(&[&chunk(&"x".repeat(40_000)), &chunk(&"y".repeat(40_000)), STOP]);
    let fake = Fake::new([streamed(body.clone()), streamed(events(&[&chunk(&"x".repeat(70_000)), STOP]))]);
    let home = home(&fake.url()).env("RSV_MAX_LINE_BYTES", "65536");
    for (lines, held) in [(5, Some(40_000)), (1, None)] {
        let ran = home.run("rsv-forward", &["--stream"], ASK);
        let printed = lines_of(&ran.stdout);
        assert_eq!((ran.status, printed.len()), (2, lines));
        let error = printed.last().unwrap();
        assert_eq!(error["message"], "the answer of OpenAI is longer than the limit of 0.0625 MiB");
        let response = printed.iter().rev().nth(1);
        assert_eq!(response.map(|response| content(response).len()), held);
    }
}

#[test]
fn a_stream_passes_unchanged_while_its_events_are_parsed() {
    let sent = [&chunk("a"), &chunk("b"), STOP].map(|chunk| format!(": odd\r\ndata:{chunk}\r\n\r\n"));
    let pieces = encoded("gzip", &sent.each_ref().map(String::as_str));
    let wire = Wire::new();
    let home = Home::new();
    let file = home.write("c.toml", &format!("custom_base_url = '{}'", wire.url()));
    let settings = config::load(&Common { config: Some(file), ..Common::default() }).unwrap();
    let forwarder = Forwarder::new(&settings, &Diagnostics::default()).unwrap();
    let expected = pieces.clone();
    let played = std::thread::spawn(move || {
        let mut call = wire.accept();
        assert!(call.request.to_lowercase().contains("\r\naccept-encoding: gzip;q=1, br\r\n"));
        call.begin("Content-Encoding: gzip\r\n");
        for piece in &pieces {
            assert!(call.piece(piece));
        }
        call.end();
    });
    rsv::http::run(async {
        let request = Object::parse(&ASK.replace("gpt-4o", "custom/m")).unwrap();
        let clock = Clock::fixed(0);
        let caller =
            Caller { encodings: Some("compress, gzip;q=1, br, dcb".to_owned()), ..Caller::default() };
        let mut stream = forwarder.stream(request, &caller, &clock).await.unwrap();
        assert!(stream.head().encoded && stream.head().headers["content-encoding"] == "gzip");
        let (mut bytes, mut said) = (Vec::new(), Vec::new());
        while let Some(piece) = stream.next().await {
            let piece = piece.unwrap();
            bytes.extend_from_slice(&piece.bytes);
            for event in &piece.events {
                let mut text = GrowingText::default();
                event.push_text(&mut text);
                said.push(text.into_text());
            }
        }
        assert_eq!(bytes, expected.concat());
        assert_eq!(said, ["a", "b", ""]);
        let end = stream.end();
        assert_eq!((end.failure, end.response.unwrap().get("rsv").is_some()), (None, true));
        Ok(())
    })
    .unwrap();
    played.join().unwrap();
}
