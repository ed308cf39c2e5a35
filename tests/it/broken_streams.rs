//! Answers that break off, in every API: none looks whole to its client, by the proxy or by the pipe.

use crate::apis::home_at;
use crate::fake::{Answer, Fake};
use crate::proxy::Proxy;
use crate::stream_clients::Client::{self, Chat, Generate, Messages, Ollama, Responses};
use crate::stream_clients::{ENDS, End, OF_CHAT, Seen, ask, blocks, data, parsed, provider};
use crate::support::{Dice, Home, lines_of, number_from, text};
use serde_json::{Value, json};

/// A stream as a provider sent it.
struct Recording {
    text: &'static str,
    /// The part that is in the event with the reason of the end, and in none before.
    reason: &'static str,
    model: &'static str,
    clients: &'static [Client],
}

impl Recording {
    /// Where the event that carries the reason ends.
    fn end(&self) -> usize {
        let at = self.text.find(self.reason).unwrap();
        let end = |blank: &str| self.text[at..].find(blank).map(|found| at + found + blank.len());
        end("\r\n\r").or_else(|| end("\n\n")).or_else(|| end("}\n").map(|end| end - 1)).unwrap()
    }

    fn kind(&self) -> &'static str {
        if self.text.starts_with('{') { "application/x-ndjson" } else { "text/event-stream" }
    }
}

const RECORDINGS: [Recording; 12] = [
    of_chat(include_str!("streams/openai.sse"), "\"finish_reason\":\"stop\""),
    of_chat(include_str!("streams/openai-tools.sse"), "\"finish_reason\":\"tool_calls\""),
    of_chat(include_str!("streams/ollama.sse"), "\"finish_reason\":\"stop\""),
    of_chat(include_str!("streams/vllm.sse"), "\"finish_reason\":\"stop\""),
    of_chat(include_str!("streams/openrouter.sse"), "\"finish_reason\":\"stop\""),
    of_chat(include_str!("streams/crlf.sse"), "\"finish_reason\":\"length\""),
    of(Messages, "claude-x", include_str!("streams/anthropic.sse"), "\"stop_reason\":\"end_turn\""),
    of(Messages, "claude-x", include_str!("streams/anthropic-tools.sse"), "\"stop_reason\":\"tool_use\""),
    of(Responses, "gpt-5", include_str!("streams/responses.sse"), "event: response.completed"),
    of(Responses, "gpt-5", include_str!("streams/responses-tools.sse"), "event: response.completed"),
    of(Ollama, "llama3.1", include_str!("streams/ollama-chat.ndjson"), "\"done\":true"),
    of(Generate, "llama3.1", include_str!("streams/ollama-generate.ndjson"), "\"done\":true"),
];

const fn of_chat(text: &'static str, reason: &'static str) -> Recording {
    Recording { text, reason, model: "llama3.1", clients: &OF_CHAT }
}

const fn of(client: Client, model: &'static str, text: &'static str, reason: &'static str) -> Recording {
    let clients: &[Client] = match client {
        Messages => &[Messages],
        Responses => &[Responses],
        Generate => &[Generate],
        _ => &[Ollama],
    };
    Recording { text, reason, model, clients }
}

/// A home whose providers of every API are at an address.
fn home(url: &str) -> Home {
    home_at(url).env("RSV_OLLAMA_BASE_URL", url)
}

/// The number behind a name in a request.
fn number(request: &str, name: &str) -> usize {
    let (_, found) = request.rsplit_once(name).unwrap();
    let digits = found.split(|c: char| !c.is_ascii_digit()).next().unwrap();
    digits.parse().unwrap()
}

/// Keeps: A stream that breaks off looks whole to no client, by the proxy or by the pipe.
#[test]
fn a_stream_that_is_cut_looks_whole_only_after_the_reason_of_its_end() {
    let url = provider(|request| {
        let recording = &RECORDINGS[number(request, "recording-")];
        let cut = &recording.text.as_bytes()[..number(request, "cut-")];
        ENDS[number(request, "end-")].answer(recording.kind(), cut)
    });
    let home = home(&url);
    let proxy = Proxy::start(&home);
    let seed = number_from("RSV_TEST_SEED").unwrap_or(52);
    let count = number_from("RSV_TEST_CUTS").unwrap_or(300) as usize;
    for (number, (place, client, cut)) in cuts(seed, count).into_iter().enumerate() {
        let (recording, end) = (&RECORDINGS[place], number % ENDS.len());
        let asked = format!("recording-{place} cut-{cut} end-{end}");
        let request = client.request(recording.model, &asked, true);
        let (status, body) = ask(&proxy, client.path(), "x-rsv-memory: readonly\r\n", &request);
        let shown = || format!("seed {seed}, {client:?}, {asked}: {status} {body}");
        assert_eq!(status, 200, "{}", shown());
        let is_whole = client.seen(&body) == Seen::Whole;
        assert_eq!(is_whole, cut >= recording.end(), "{}", shown());
    }
}

/// Cuts of recordings, as the number of the recording, the client, and the bytes before the cut: so many of all that there
/// are, and those around the end of each.
fn cuts(seed: u64, count: usize) -> Vec<(usize, Client, usize)> {
    let pairs = RECORDINGS.iter().enumerate().flat_map(|(place, recording)| {
        recording.clients.iter().map(move |client| (place, *client, recording))
    });
    let (mut every, mut chosen) = (Vec::new(), Vec::new());
    for (place, client, recording) in pairs {
        let (length, end) = (recording.text.len(), recording.end());
        every.extend((0..=length).map(|cut| (place, client, cut)));
        chosen
            .extend([0, end - 2, end - 1, end, end + 1, length].map(|cut| (place, client, cut.min(length))));
    }
    if count >= every.len() {
        return every;
    }
    let mut dice = Dice(seed);
    chosen.extend((0..count).map(|_| every[dice.below(every.len())]));
    chosen
}

/// A shape of a stream that breaks off.
struct Shape {
    name: &'static str,
    /// The events after the first one.
    events: String,
    end: End,
    /// The error's message.
    says: &'static str,
}

const FIRST: &str = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"llama3.1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"By the\"},\"finish_reason\":null}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

/// A stream that ends by a reason which says that its provider gave up.
fn gives_up(name: &'static str, reason: &'static str) -> Shape {
    let event = format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\n{DONE}"
    );
    Shape { name, events: event, end: End::Length, says: reason }
}

fn shapes() -> Vec<Shape> {
    let error = "data: {\"error\":{\"message\":\"at sea\",\"code\":503}}\n\n";
    let shape = |name, events: &str, end, says| Shape { name, events: events.to_owned(), end, says };
    let unended = "broke off before its end";
    vec![
        shape("a clean end", "", End::Length, unended),
        shape("the end of the connection", "", End::Close, unended),
        shape("a cut", "", End::Cut, "broke off: "),
        shape("half an event", "data: {\"choices\":[{\"index\":0,\"del", End::Close, unended),
        shape("an end without a reason", DONE, End::Length, unended),
        shape("an error", error, End::Length, "at sea"),
        shape("an error, then an end", &format!("{error}{DONE}"), End::Length, "at sea"),
        shape(
            "an error as a text",
            &error.replace("{\"message\":\"at sea\",\"code\":503}", "\"at sea\""),
            End::Close,
            "at sea",
        ),
        shape(
            "an error by its name",
            &format!("event: error\ndata: {{\"message\":\"at sea\"}}\n\n{DONE}"),
            End::Close,
            "at sea",
        ),
        shape("an error of words", "event: error\ndata: at sea\n\n", End::Close, "at sea"),
        shape(
            "an error that is no event",
            "{\"error\":{\"message\":\"at sea\",\"type\":\"api_error\"}}\n",
            End::Length,
            "at sea",
        ),
        shape(
            "an object of the kind error",
            &format!("data: {{\"object\":\"error\",\"message\":\"at sea\",\"code\":40303}}\n\n{DONE}"),
            End::Length,
            "at sea",
        ),
        shape(
            "a choice with an error",
            &format!(
                "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"\"}},\"error\":{{\"code\":502,\"message\":\"at sea\"}},\"finish_reason\":\"error\"}}]}}\n\n{DONE}"
            ),
            End::Length,
            "at sea",
        ),
        shape(
            "a reason that is an error",
            &format!(
                "data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"error\"}}]}}\n\n{DONE}"
            ),
            End::Length,
            "broke off",
        ),
        gives_up("a reason that is an abort", "abort"),
        gives_up("a reason that is a cancellation", "cancelled"),
        gives_up("a reason that is a lack", "insufficient_system_resource"),
        shape(
            "a reason that is no text",
            &format!(
                "data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":false}}]}}\n\n{DONE}"
            ),
            End::Length,
            unended,
        ),
        shape(
            "an empty reason",
            &format!(
                "data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"\"}}]}}\n\n{DONE}"
            ),
            End::Length,
            unended,
        ),
    ]
}

/// The stored messages: role, content, and whether they are partial.
fn stored(home: &Home) -> Vec<(String, String, bool)> {
    let lines = lines_of(&home.export()).into_iter().filter(|line| line["kind"] == "message");
    lines.map(|line| (text(&line["role"]), text(&line["content"]), line["partial"] == true)).collect()
}

fn turn(said: &str) -> [(String, String, bool); 2] {
    let message = |role: &str, text: &str, partial| (role.to_owned(), text.to_owned(), partial);
    [message("user", "Where?", false), message("assistant", said, true)]
}

/// The output of the pipe for a request, and its exit status.
fn by_pipe(home: &Home, client: Client, request: &str, words: &[&str]) -> (Vec<Value>, i32) {
    let api = client.path().rsplit('/').next().unwrap().replace("completions", "chat");
    let enriched = home.run("rsv-enrich", &["--api", &api], request).ok();
    let forwarded = home.run("rsv-forward", words, enriched);
    let lines = lines_of(&home.run("rsv-ingest", &[], forwarded.stdout).ok());
    (lines, forwarded.status)
}

/// Keeps: A stream that breaks off looks whole to no client, by the proxy or by the pipe.
#[test]
fn each_shape_of_a_broken_stream_is_an_error_for_each_client() {
    for shape in shapes() {
        let body = format!("{FIRST}{}", shape.events);
        let url = provider(move |_| shape.end.answer("text/event-stream", body.as_bytes()));
        for client in OF_CHAT {
            let at = format!("{}, {client:?}", shape.name);
            let (proxied, piped) = (home(&url), home(&url));
            let request = client.request("llama3.1", "Where?", true);
            let proxy = Proxy::start(&proxied);
            let (status, body) = ask(&proxy, client.path(), "", &request);
            proxy.settle();
            assert_eq!(status, 200, "{at}: {body}");
            let Seen::Broken(message) = client.seen(&body) else { panic!("{at} looks whole: {body}") };
            assert!(message.contains(shape.says), "{at}: {body}");
            assert!(body.contains("By the"), "{at}: {body}");

            let (lines, status) = by_pipe(&piped, client, &request, &["--stream"]);
            let [events @ .., response, error] = &lines[..] else { panic!("{at}: {lines:?}") };
            assert_eq!((status, &error["kind"]), (2, &json!("error")), "{at}: {lines:?}");
            assert!(text(&error["message"]).contains(shape.says), "{at}: {error}");
            assert_eq!(response["rsv"]["partial"], true, "{at}: {response}");
            let shown = events.iter().chain([response]).map(Value::to_string).collect::<String>();
            let shown = ["", "error", "abort", "cancelled", "insufficient_system_resource"]
                .iter()
                .fold(shown, |shown, reason| shown.replace(&format!("\"finish_reason\":\"{reason}\""), ""));
            for whole in ["end_turn", "response.completed", "\"finish_reason\":\"", "message_stop"] {
                assert!(!shown.contains(whole), "{at}: {shown}");
            }
            assert_ne!(response["status"], "completed", "{at}");
            assert_eq!(stored(&piped), turn("By the"), "{at}");
            assert_eq!(proxied.export(), piped.export(), "{at}");
        }
    }
}

#[test]
fn each_shape_of_a_broken_stream_is_an_error_for_rsv_ask_and_the_chat_backend() {
    for shape in shapes() {
        let body = format!("{FIRST}{}", shape.events);
        let url = provider(move |_| shape.end.answer("text/event-stream", body.as_bytes()));
        let asking = home(&url);
        let asked = asking.run("rsv-ask", &["--model", "llama3.1", "Where?"], "");
        assert_eq!((asked.stdout.as_str(), asked.status), ("By the\n", 2), "{}: {asked}", shape.name);
        assert!(asked.stderr.contains(shape.says), "{}: {asked}", shape.name);
        assert_eq!(stored(&asking), turn("By the"), "{}", shape.name);

        let chatting = home(&url);
        let proxy = Proxy::start(&chatting);
        let request = json!({"message": "Where?", "model": "llama3.1", "user_id": "ann"}).to_string();
        let (_, body) = ask(&proxy, "/api/ai/chat/stream", "", &request);
        proxy.settle();
        let blocks = blocks(&body);
        let last = blocks.last().unwrap();
        assert!(last.starts_with("event: error\n") && last.contains(shape.says), "{}: {body}", shape.name);
        assert!(!body.contains("event: done"), "{}: {body}", shape.name);
        assert_eq!(stored(&chatting), turn("By the"), "{}", shape.name);
    }
}

#[test]
fn streams_in_other_apis_that_break_off_end_in_one_error() {
    let start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-x\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"By the\"}}\n\n";
    let created = "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"r\",\"object\":\"response\",\"status\":\"in_progress\",\"output\":[]}}\n\nevent: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"sequence_number\":1,\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"m\",\"role\":\"assistant\",\"content\":[]}}\n\nevent: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":2,\"output_index\":0,\"content_index\":0,\"delta\":\"By the\"}\n\n";
    let piece = "{\"model\":\"llama3.1\",\"message\":{\"role\":\"assistant\",\"content\":\"By the\"},\"done\":false}\n";
    let stop = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"at sea\"}}\n\n";
    let failed = "event: response.failed\ndata: {\"type\":\"response.failed\",\"sequence_number\":3,\"response\":{\"id\":\"r\",\"object\":\"response\",\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"at sea\"},\"output\":[]}}\n\n";
    let of_gateway = "data: {\"error\":{\"message\":\"at sea\",\"type\":\"upstream\"}}\n\n";
    // The client, what its provider sends, what the client is told, and whether those are the provider's own bytes.
    for (client, model, begin, more, says, is_own) in [
        (Messages, "claude-x", start, String::new(), "broke off before its end", false),
        (Messages, "claude-x", start, stop.to_owned(), "broke off before its end", false),
        (Messages, "claude-x", start, overloaded.to_owned(), "at sea", true),
        (Messages, "claude-x", start, format!("{overloaded}{stop}"), "at sea", true),
        (Messages, "claude-x", start, of_gateway.to_owned(), "at sea", false),
        (Messages, "claude-x", start, overloaded.replace("event: error\n", ""), "at sea", false),
        (Responses, "gpt-5", created, String::new(), "broke off before its end", false),
        (Responses, "gpt-5", created, DONE.to_owned(), "broke off before its end", false),
        (Responses, "gpt-5", created, failed.to_owned(), "at sea", true),
        (
            Responses,
            "gpt-5",
            created,
            "event: error\ndata: {\"type\":\"error\",\"code\":\"x\",\"message\":\"at sea\"}\n\n".to_owned(),
            "at sea",
            true,
        ),
        (Responses, "gpt-5", created, of_gateway.to_owned(), "at sea", false),
        (Ollama, "llama3.1", piece, String::new(), "broke off before its end", false),
        (Ollama, "llama3.1", piece, "{\"error\":\"at sea\"}\n".to_owned(), "at sea", true),
        (Ollama, "llama3.1", piece, "{\"error\":\"at sea\"}".to_owned(), "at sea", true),
        (
            Ollama,
            "llama3.1",
            piece,
            format!("{{\"error\":\"at sea\"}}\n{piece}{}", piece.replace("false", "true")),
            "at sea",
            true,
        ),
        (
            Ollama,
            "llama3.1",
            piece,
            "{\"message\":{\"content\":\" wall".to_owned(),
            "broke off before its end",
            false,
        ),
    ] {
        for end in ENDS {
            let body = format!("{begin}{more}");
            let sent = body.clone();
            let kind = if client == Ollama { "application/x-ndjson" } else { "text/event-stream" };
            let url = provider(move |_| end.answer(kind, sent.as_bytes()));
            let proxied = home(&url);
            let proxy = Proxy::start(&proxied);
            let request = client.request(model, "Where?", true);
            let (status, seen) = ask(&proxy, client.path(), "", &request);
            proxy.settle();
            let at = format!("{client:?}, {end:?}, {more}: {seen}");
            assert_eq!(status, 200, "{at}");
            let Seen::Broken(message) = client.seen(&seen.replace(DONE, "")) else { panic!("{at}") };
            let says = if end == End::Cut && says.starts_with("broke") && client != Ollama {
                "broke off"
            } else {
                says
            };
            assert!(message.contains(says), "{at}");
            assert!(seen.starts_with(begin), "{at}");
            assert_eq!(body.starts_with(&seen), is_own, "{at}");
            assert_eq!(stored(&proxied), turn("By the"), "{at}");
            if client != Ollama {
                let piped = home(&url);
                let (lines, status) = by_pipe(&piped, client, &request, &["--stream"]);
                let error = lines.last().unwrap();
                assert_eq!((status, &error["kind"]), (2, &json!("error")), "{at}: {lines:?}");
                assert!(text(&error["message"]).contains(says), "{at}: {error}");
                assert_eq!(proxied.export(), piped.export(), "{at}");
            }
        }
    }
}

/// Keeps: No client takes an error for an answer.
#[test]
fn what_takes_the_place_of_an_answer_is_an_error_for_each_client() {
    let of_ollama = "{\"error\":\"no credit left\"}";
    let with_choices = json!({"id": "c", "choices": [{"index": 0, "message": {"role": "assistant", "content": "By the"}, "finish_reason": "stop"}],
        "error": {"message": "no credit left"}});
    let of_choice = json!({"id": "c", "choices": [{"index": 0, "message": {"role": "assistant", "content": "By the"},
        "finish_reason": "error", "error": {"code": 402, "message": "no credit left"}}]});
    let mut aborted = of_choice.clone();
    aborted["choices"][0] = json!({"index": 0, "message": {"content": "By the"}, "finish_reason": "abort"});
    for (name, body, end, says) in [
        (
            "an error",
            "{\"error\":{\"message\":\"no credit left\",\"type\":\"insufficient_quota\"}}".to_owned(),
            End::Length,
            "no credit left",
        ),
        ("an error as a text", of_ollama.to_owned(), End::Close, "no credit left"),
        (
            "an error of Anthropic's",
            "{\"type\":\"error\",\"error\":{\"type\":\"x\",\"message\":\"no credit left\"}}".to_owned(),
            End::Close,
            "no credit left",
        ),
        ("a detail", "{\"detail\":\"no credit left\"}".to_owned(), End::Length, "no credit left"),
        (
            "a message",
            "{\"message\":\"no credit left\",\"code\":500}".to_owned(),
            End::Close,
            "no credit left",
        ),
        (
            "errors",
            "{\"errors\":[{\"message\":\"no credit left\"}]}".to_owned(),
            End::Length,
            "no credit left",
        ),
        ("no choices", "{\"id\":\"c\",\"choices\":[]}".to_owned(), End::Length, "has no "),
        ("another object", "{\"balance\":\"no credit left\"}".to_owned(), End::Length, "no credit left"),
        ("an answer that was aborted", aborted.to_string(), End::Length, "finish_reason is abort"),
        ("an answer with an error", with_choices.to_string(), End::Length, "no credit left"),
        ("a choice with an error", of_choice.to_string(), End::Length, "no credit left"),
        ("a cut answer", "{\"choices\":[{\"index\":0,\"message\":".to_owned(), End::Cut, "broke off"),
        (
            "half an answer",
            "{\"choices\":[{\"index\":0,\"message\":".to_owned(),
            End::Close,
            "no JSON object",
        ),
        ("a page", "<html>busy</html>".to_owned(), End::Length, "no JSON object"),
        ("nothing", String::new(), End::Length, "empty"),
    ] {
        let url = provider(move |_| end.answer("application/json", body.as_bytes()));
        for client in [Chat, Messages, Responses, Ollama, Generate] {
            for streams in [false, true] {
                if streams && [Ollama, Generate].contains(&client) {
                    continue;
                }
                let at = format!("{name}, {client:?}, streams {streams}");
                let home = home(&url);
                let proxy = Proxy::start(&home);
                let request = client.request("llama3.1", "Where?", streams);
                let (status, body) = ask(&proxy, client.path(), "", &request);
                assert_eq!(status, 502, "{at}: {body}");
                let message = client.refusal(&body);
                assert!(message.contains(says), "{at}: {body}");
                if OF_CHAT.contains(&client) {
                    let words: &[&str] = if streams { &["--stream"] } else { &[] };
                    let (lines, status) = by_pipe(&home, client, &request, words);
                    assert_eq!((status, lines.len()), (2, 1), "{at}: {lines:?}");
                    assert_eq!(
                        (&lines[0]["kind"], &lines[0]["status"]),
                        (&json!("error"), &json!(502)),
                        "{at}"
                    );
                    assert!(text(&lines[0]["message"]).contains(says), "{at}: {lines:?}");
                }
                assert_eq!(stored(&home), [], "{at}");
            }
        }
        let chatting = home(&url);
        let proxy = Proxy::start(&chatting);
        let request = json!({"message": "Where?", "model": "llama3.1", "user_id": "ann"}).to_string();
        let (status, body) = ask(&proxy, "/api/ai/chat", "", &request);
        assert!(status == 502 && body.contains(says), "{name}: {status} {body}");
        let (_, body) = ask(&proxy, "/api/ai/chat/stream", "", &request);
        assert!(body.contains("event: error") && !body.contains("event: done"), "{name}: {body}");
        assert_eq!(stored(&chatting), [], "{name}");
    }
}

#[test]
fn the_usage_so_far_reaches_the_client_of_a_broken_stream() {
    let used = FIRST
        .replace("]}\n", "],\"usage\":{\"prompt_tokens\":21,\"completion_tokens\":2,\"total_tokens\":23}}\n");
    let url = provider(move |_| End::Close.answer("text/event-stream", used.as_bytes()));
    let home = home(&url);
    let proxy = Proxy::start(&home);
    let (_, body) = ask(&proxy, Messages.path(), "", &Messages.request("llama3.1", "Where?", true));
    let events: Vec<Value> = blocks(&body).iter().map(|block| parsed(data(block))).collect();
    let [.., delta, error] = &events[..] else { panic!("{body}") };
    assert_eq!((&delta["type"], &delta["delta"]["stop_reason"]), (&json!("message_delta"), &Value::Null));
    assert_eq!((&delta["usage"]["input_tokens"], &delta["usage"]["output_tokens"]), (&json!(21), &json!(2)));
    assert_eq!(error["type"], "error");
    let (_, body) = ask(&proxy, Responses.path(), "", &Responses.request("llama3.1", "Where?", true));
    let events: Vec<Value> = blocks(&body).iter().map(|block| parsed(data(block))).collect();
    let numbers: Vec<u64> = events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
    let failed = &events.last().unwrap()["response"];
    assert_eq!(
        (&failed["status"], &failed["usage"]["total_tokens"]),
        (&json!("failed"), &json!(23)),
        "{body}"
    );
    proxy.settle();
    assert!(home.export().contains("\"prompt_tokens\":21"), "{}", home.export());
}

#[test]
fn what_has_nothing_of_an_answer_in_its_own_api_is_an_error() {
    let provider = Fake::answering(|_| Answer::new(200, "{\"detail\":\"what is this?\"}"));
    let home = home(&provider.url());
    let proxy = Proxy::start(&home);
    for (client, model, says) in [
        (Messages, "claude-x", "has no content: what is this?"),
        (Responses, "gpt-5", "has no output: what is this?"),
        (Messages, "llama3.1", "has no choices: what is this?"),
    ] {
        for streams in [false, true] {
            let (status, body) = ask(&proxy, client.path(), "", &client.request(model, "Where?", streams));
            assert!(status == 502 && client.refusal(&body).contains(says), "{status} {body}");
        }
    }
}

#[test]
fn a_stream_that_is_cut_before_its_second_choice_is_no_whole_one() {
    let one = FIRST.replace("\"finish_reason\":null", "\"finish_reason\":\"stop\"");
    for (events, is_whole) in [(one.clone(), false), (one.clone() + DONE, true)] {
        let url = provider(move |_| End::Close.answer("text/event-stream", events.as_bytes()));
        let home = home(&url);
        let proxy = Proxy::start(&home);
        let request = Chat.request("llama3.1", "Where?", true);
        let request = format!("{{\"n\":2,{}", &request[1..]);
        let (_, body) = ask(&proxy, Chat.path(), "", &request);
        assert_eq!(!body.contains("broke off before its end"), is_whole, "{body}");
    }
}

#[test]
fn a_message_without_the_end_of_its_stream_gets_it() {
    let recording = &RECORDINGS[6];
    let text = recording.text.split("event: message_stop").next().unwrap();
    let url = provider(move |_| End::Close.answer("text/event-stream", text.as_bytes()));
    let (proxied, piped) = (home(&url), home(&url));
    let request = Messages.request(recording.model, "Where?", true);
    let proxy = Proxy::start(&proxied);
    assert_eq!(ask(&proxy, Messages.path(), "", &request), (200, recording.text.to_owned()));
    proxy.settle();
    let (lines, status) = by_pipe(&piped, Messages, &request, &["--stream"]);
    assert_eq!((status, &lines[lines.len() - 2]["type"]), (0, &json!("message_stop")), "{lines:?}");
    assert_eq!(proxied.export(), piped.export());
}

#[test]
fn a_stream_that_names_no_reasons_is_whole_with_its_end() {
    let chunks = FIRST.replace(",\"finish_reason\":null", "") + DONE;
    let url = provider(move |_| End::Close.answer("text/event-stream", chunks.as_bytes()));
    let home = home(&url);
    let proxy = Proxy::start(&home);
    for client in OF_CHAT {
        let (_, body) = ask(&proxy, client.path(), "", &client.request("llama3.1", "Where?", true));
        assert_eq!(client.seen(&body), Seen::Whole, "{body}");
    }
}
