//! Compactions: the part of a session before one is carried over to the requests after it.

use crate::apis::{RESPONSES, home_at};
use crate::fake::{Answer, Fake};
use crate::proxy::Proxy;
use crate::support::{Home, lines_of, on_each_store, wait_for};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const MODEL: &str = "claude-sonnet-4-5";
pub(crate) const SUMMARY: &str = "This session is being continued from a previous conversation that ran out of context. The \
                       summary below covers the earlier portion of the conversation.\n\nSummary:\n";
const FENCE: &str = "<rsv-memory>";

/// A session of Claude Code before the proxy: what its model answers is set by the test.
pub(crate) struct Session<'a> {
    proxy: &'a Proxy,
    provider: &'a Provider,
    path: &'a str,
    id: &'a str,
    pub(crate) messages: Vec<Value>,
    calls: usize,
    pub(crate) done: Vec<Done>,
}

pub(crate) struct Provider {
    fake: Fake,
    answer: Arc<Mutex<Value>>,
}

/// The outcome of a call of a tool.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    pub(crate) tool: &'static str,
    pub(crate) what: String,
    pub(crate) lines: Option<usize>,
    pub(crate) error: Option<String>,
}

impl Provider {
    pub(crate) fn new() -> Provider {
        let answer = Arc::new(Mutex::new(json!([{"type": "text", "text": "Fine."}])));
        let content = answer.clone();
        let fake = Fake::answering(move |seen| {
            if seen.path.ends_with("/responses") {
                return Answer::new(200, RESPONSES.whole);
            }
            if seen.path.ends_with("/chat/completions") {
                let message = json!({"role": "assistant", "content": "Fine."});
                return Answer::new(200, json!({"choices": [{"message": message}]}).to_string());
            }
            let content = content.lock().unwrap().clone();
            let whole = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL,
                "content": content, "stop_reason": "end_turn", "usage": {"input_tokens": 10, "output_tokens": 5}});
            Answer::new(200, whole.to_string())
        });
        Provider { fake, answer }
    }

    pub(crate) fn home(&self) -> Home {
        home_at(&self.fake.url()).without("RSV_TEST_NOW")
    }

    /// The last request that it saw.
    pub(crate) fn last(&self) -> Value {
        serde_json::from_slice(&self.fake.seen().pop().unwrap().body).unwrap()
    }
}

impl<'a> Session<'a> {
    pub(crate) fn new(proxy: &'a Proxy, provider: &'a Provider, path: &'a str, id: &'a str) -> Session<'a> {
        Session { proxy, provider, path, id, messages: Vec::new(), calls: 0, done: Vec::new() }
    }

    pub(crate) fn request(&self) -> Value {
        let user = json!({"device_id": "d", "account_uuid": "", "session_id": self.id}).to_string();
        json!({"model": MODEL, "max_tokens": 1024, "metadata": {"user_id": user}, "tools": [{"name": "Bash",
            "input_schema": {"type": "object"}}], "messages": self.messages})
    }

    /// Sends what there is, which the model answers with some blocks; returns the request as it reached the provider.
    pub(crate) fn send_with(&mut self, headers: &str, blocks: Value) -> Value {
        *self.provider.answer.lock().unwrap() = blocks.clone();
        let path = format!("{}/v1/messages", self.path);
        let (status, body) = self.proxy.post(&path, headers, &self.request().to_string());
        assert_eq!(status, 200, "{body}");
        self.messages.push(json!({"role": "assistant", "content": blocks}));
        self.provider.last()
    }

    pub(crate) fn send(&mut self, says: &str) -> Value {
        self.send_with("", json!([{"type": "text", "text": says}]))
    }

    pub(crate) fn user(&mut self, words: &str) {
        self.messages.push(json!({"role": "user", "content": [{"type": "text", "text": words}]}));
    }

    /// Has the model do something, which the next request brings.
    pub(crate) fn act(&mut self, acts: &[Done]) -> Value {
        let mut blocks = Vec::new();
        let mut results = Vec::new();
        for done in acts {
            self.calls += 1;
            let id = format!("toolu_{}_{}", self.id, self.calls);
            let text = |lines: usize| (0..lines).map(|line| format!("line {line}\n")).collect::<String>();
            let input = match done.tool {
                "Bash" => json!({"command": done.what}),
                "Grep" => json!({"pattern": done.what}),
                "Edit" => {
                    json!({"file_path": done.what, "old_string": "", "new_string": text(done.lines.unwrap())})
                }
                _ => json!({"file_path": done.what}),
            };
            blocks.push(json!({"type": "tool_use", "id": id, "name": done.tool, "input": input}));
            let output =
                done.error.as_ref().map_or("Fine.".to_owned(), |error| format!("Exit code 1\n{error}\nmore"));
            results.push(json!({"type": "tool_result", "tool_use_id": id, "content": output,
                "is_error": done.error.is_some()}));
        }
        let sent = self.send_with("", Value::Array(blocks));
        self.messages.push(json!({"role": "user", "content": results}));
        self.done.extend(acts.iter().cloned());
        sent
    }

    /// A summary takes the place of all messages.
    pub(crate) fn compact(&mut self, summary: &str) {
        let content = [
            json!({"type": "text", "text": "<system-reminder>\nToday is Sunday.\n</system-reminder>"}),
            json!({"type": "text", "text": format!("{SUMMARY}{summary}\n\nContinue the conversation.")}),
        ];
        self.messages = vec![json!({"role": "user", "content": content})];
    }
}

pub(crate) fn bash(command: &str, error: Option<&str>) -> Done {
    Done { tool: "Bash", what: command.to_owned(), lines: None, error: error.map(str::to_owned) }
}

pub(crate) fn edit(path: &str, lines: usize) -> Done {
    Done { tool: "Edit", what: path.to_owned(), lines: Some(lines), error: None }
}

/// The texts of a request's messages, a line each, without escapes.
pub(crate) fn texts(request: &Value) -> String {
    fn add(value: &Value, to: &mut String) {
        match value {
            Value::String(text) => *to += &format!("{text}\n"),
            Value::Array(values) => values.iter().for_each(|value| add(value, to)),
            Value::Object(members) => members.values().for_each(|value| add(value, to)),
            _ => {}
        }
    }
    let mut text = String::new();
    add(&request["messages"], &mut text);
    text
}

/// The blocks of recalled text in a request, and the request without them.
pub(crate) fn parted(request: &Value) -> (Vec<String>, Value) {
    let mut request = request.clone();
    let mut blocks = Vec::new();
    for message in request["messages"].as_array_mut().unwrap() {
        let Some(parts) = message["content"].as_array_mut() else { continue };
        let is_block = |part: &Value| part["text"].as_str().is_some_and(|text| text.starts_with(FENCE));
        blocks.extend(
            parts.iter().filter(|part| is_block(part)).map(|part| part["text"].as_str().unwrap().to_owned()),
        );
        parts.retain(|part| !is_block(part));
    }
    (blocks, request)
}

/// A short session: a test fails, and is mended.
pub(crate) fn work(session: &mut Session) {
    session.user("We decided to keep cents as integers instead of floats. Please fix the webhook.");
    session.act(&[bash("cargo test webhook", Some("error[E0425]: cannot find value `zebra`"))]);
    session.act(&[edit("/home/ann/shop/src/pay.rs", 3)]);
    session.act(&[bash("cargo test webhook", None)]);
    session.send("It passes. TODO: the refund path is not yet tested.");
}

pub(crate) fn carried(home: &Home) -> Vec<Value> {
    let accounts = lines_of(&home.export()).into_iter().filter(|line| line["kind"] == "account");
    accounts.map(|account| account["carried"].clone()).filter(|carried| !carried.is_null()).collect()
}

on_each_store!(the_part_before_a_compaction_is_carried_to_the_end_of_the_next_turn);
/// Keeps: A compaction loses nothing that was done: it is carried to the end of the next turn.
fn the_part_before_a_compaction_is_carried_to_the_end_of_the_next_turn(home: Home) {
    let provider = Provider::new();
    let home = provider.pointed(home);
    let mut proxy = Proxy::start(&home);
    let mut session = Session::new(&proxy, &provider, "/partition/shop", "s1");
    work(&mut session);
    proxy.settle();
    session.compact("The webhook was fixed.");
    // In the middle of a turn the summary is the last text.
    let sent = [session.act(&[bash("cargo fmt", None)]), session.act(&[bash("git status", None)])];
    let end =
        |sent: &Value| sent["messages"][0]["content"].as_array().unwrap().last().unwrap()["text"].clone();
    let text = end(&sent[0]).as_str().unwrap().to_owned();
    for part in [
        "We decided to keep cents as integers instead of floats.",
        "TODO: the refund path is not yet tested.",
        "$ cargo test webhook, failed: error[E0425]: cannot find value `zebra`",
        "Edit /home/ann/shop/src/pay.rs, 3 lines",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(end(&sent[1]), text.as_str());
    session.send("Done.");
    // Another process sends the same.
    let (messages, calls) = (session.messages.clone(), session.calls);
    proxy.settle();
    proxy.end();
    let proxy = Proxy::start(&home);
    let mut session = Session { messages, calls, ..Session::new(&proxy, &provider, "/partition/shop", "s1") };
    session.user("And now the refund?");
    let client = session.request()["messages"].clone();
    let first = session.act(&[bash("cargo check", None)]);
    let second = session.send("Yes.");
    for sent in [&first, &second] {
        let (blocks, own) = parted(sent);
        assert!(blocks[0].starts_with(&text), "{blocks:?}");
        let before = client.as_array().unwrap().len() - 1;
        assert_eq!(own["messages"].as_array().unwrap()[..before], client.as_array().unwrap()[..before]);
        assert_eq!(sent["messages"][0], client[0]);
    }
    let place = client.as_array().unwrap().len() - 1;
    assert_eq!(first["messages"][place], second["messages"][place]);
    assert_eq!(carried(&home).len(), 5, "{:?}", carried(&home));
    assert_eq!(carried(&home)[0]["actions"], 3);
    // The turn after that is none of the compaction.
    session.user("Thanks, what else?");
    let later = session.send("Nothing.");
    assert!(!texts(&later).contains("cargo test webhook, failed"), "{later}");
    home.check();
}

impl Provider {
    /// A home whose provider it is.
    fn pointed(&self, home: Home) -> Home {
        let base = format!("{}/v1", self.fake.url());
        let home = home.env("RSV_ANTHROPIC_BASE_URL", &base).env("ANTHROPIC_API_KEY", "sk-ant-api03-own");
        home.without("RSV_TEST_NOW").env("RSV_ENRICH_TIMEOUT", "60s").env("RSV_RETRIES", "0")
    }
}

#[test]
fn nothing_is_carried_for_other_sessions_partitions_and_modes() {
    let provider = Provider::new();
    let home = provider.home();
    let proxy = Proxy::start(&home);
    let at = |path, id| Session::new(&proxy, &provider, path, id);
    work(&mut at("/partition/shop", "s1"));
    let mut other = at("/partition/shop", "s2");
    other.user("Water the garden. We agreed on rain water.");
    other.act(&[bash("open valve", None)]);
    other.send("It runs.");
    proxy.settle();
    let asked = |path: &'static str, id: &'static str, headers: &str| {
        let mut session = at(path, id);
        session.compact("Something.");
        session.user("And now the valve of zebra?");
        let sent = session.send_with(headers, json!([{"type": "text", "text": "Yes."}]));
        let is_carried = |block: &String| block.contains("was compacted since");
        parted(&sent).0.into_iter().filter(is_carried).collect::<String>()
    };
    let own = asked("/partition/shop", "s1", "x-rsv-memory: readonly\r\n");
    assert!(own.contains("zebra") && !own.contains("valve"), "{own}");
    let own = asked("/partition/shop", "s2", "x-rsv-memory: readonly\r\n");
    assert!(own.contains("$ open valve") && own.contains("rain water") && !own.contains("zebra"), "{own}");
    for (path, id, headers) in [
        ("/partition/other", "s1", ""),
        ("/partition/shop/instance/other", "s1", ""),
        ("/partition/shop", "s3", ""),
        ("/partition/shop", "s1", "x-rsv-memory: off\r\n"),
        ("/partition/shop", "s1", "x-rsv-memory: store\r\n"),
    ] {
        assert_eq!(asked(path, id, headers), "", "{path} {id} {headers}");
    }
    let off = Proxy::start(&home.env("RSV_ENRICH_COMPACTION", "false"));
    let mut session = Session::new(&off, &provider, "/partition/shop", "s1");
    session.compact("Something.");
    session.user("And now?");
    assert!(!texts(&session.send("Yes.")).contains("was compacted since"));
}

#[test]
fn the_part_before_a_compaction_is_committed_as_an_archive_and_goes_with_its_messages() {
    let provider = Provider::new();
    let home = provider.home();
    let proxy = Proxy::start(&home);
    let mut other = Session::new(&proxy, &provider, "/partition/shop", "s2");
    other.user("Water the garden.");
    other.send("It runs.");
    let mut session = Session::new(&proxy, &provider, "/partition/shop", "s1");
    work(&mut session);
    session.compact("Something.");
    session.user("And now?");
    session.send("Nothing.");
    let archives = || {
        let lines = lines_of(&home.export());
        lines.into_iter().filter(|line| line["kind"] == "document").collect::<Vec<_>>()
    };
    wait_for("the archive", || archives().len() == 1);
    let archive = archives().pop().unwrap();
    let content = archive["content"].as_str().unwrap();
    for part in
        ["We decided to keep cents", "$ cargo test webhook, failed: error[E0425]", "TODO: the refund path"]
    {
        assert!(content.contains(part), "{part}: {content}");
    }
    // Later messages, and those of the other session, are not committed.
    let uncommitted = home.run("rsv-view", &["-p", "shop", "-i", "shop", "--uncommitted"], "").ok();
    let left: Vec<Value> =
        lines_of(&uncommitted).into_iter().filter(|line| line["kind"] == "message").collect();
    let said: Vec<&Value> = left.iter().map(|line| &line["content"]).collect();
    assert_eq!(said, ["Water the garden.", "It runs.", "And now?", "Nothing."]);
    let covered = archive["covers"][0].as_str().unwrap();
    home.run("rsv-forget", &["--all", "--derived", covered], "").ok();
    assert_eq!(archives(), Vec::<Value>::new());
    home.check();
}

#[test]
fn a_session_that_lost_its_beginning_gets_it_back_for_a_turn() {
    let provider = Provider::new();
    let home = provider.home();
    let proxy = Proxy::start(&home);
    let mut session = Session::new(&proxy, &provider, "/partition/shop", "s1");
    work(&mut session);
    session.user("And the refund?");
    session.send("It is there.");
    session.messages.drain(..session.messages.len() - 2);
    session.user("In short: the webhook was fixed. Go on.");
    let sent = [session.act(&[bash("cargo fmt", None)]), session.send("Done.")];
    let text = parted(&sent[0]).0;
    assert!(text[0].contains("$ cargo test webhook, failed"), "{text:?}");
    assert_eq!(parted(&sent[1]).0, text);
    session.user("What else?");
    assert!(!texts(&session.send("Nothing.")).contains("was compacted since"));
    // Nor has one whose user begins it again, or another agent of the program.
    let mut anew = Session::new(&proxy, &provider, "/partition/shop", "s3");
    work(&mut anew);
    for words in [&["No: set up a shop."][..], &["Explore the files.", "And the tests."]] {
        anew.messages.clear();
        for words in words {
            anew.user(words);
        }
        assert!(!texts(&anew.send("Fine.")).contains("was compacted since"), "{words:?}");
    }
    // A session that begins again has lost nothing.
    let mut other = Session::new(&proxy, &provider, "/partition/shop", "s2");
    other.user("Hello");
    other.send("Hello.");
    other.messages = Vec::new();
    other.user("Hello again");
    assert!(!texts(&other.send("Hello.")).contains("was compacted since"));
    // Conversations may share the key of the provider's cache.
    let users = ["We agreed on rain water.", "Go on."].repeat(5);
    let long: Vec<Value> = users.iter().map(|words| json!({"role": "user", "content": words})).collect();
    for messages in [&long[..], &long[1..2]] {
        let body = json!({"model": "gpt-5", "prompt_cache_key": "k", "messages": messages});
        let (status, _) = proxy.post("/partition/shop/v1/chat/completions", "", &body.to_string());
        assert_eq!(status, 200);
        assert!(!provider.fake.seen().pop().unwrap().text().contains("was compacted since"));
    }
}

#[test]
fn the_summaries_of_codex_and_opencode_are_known_in_every_api() {
    let provider = Provider::new();
    let home = provider.home();
    let proxy = Proxy::start(&home);
    for id in ["codex", "opencode"] {
        work(&mut Session::new(&proxy, &provider, "/partition/shop", id));
    }
    let post = |path: &str, headers: &str, body: &Value| {
        let (status, body) = proxy.post(&format!("/partition/shop{path}"), headers, &body.to_string());
        assert_eq!(status, 200, "{body}");
        String::from_utf8(provider.fake.seen().pop().unwrap().body).unwrap()
    };
    let user = |text: &str| json!({"role": "user", "content": text});
    let summary = "Another language model started to solve this problem and produced a summary of its thinking \
                   process. Here is the summary: the webhook";
    // Codex keeps the words of the user before its summary.
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "exec_command",
        "arguments": "{\"cmd\":\"ls\"}"});
    let output = json!({"type": "function_call_output", "call_id": "call_1", "output": "a"});
    let item = |role: &str, text: &str| {
        json!({"type": "message", "role": role,
        "content": [{"type": "input_text", "text": text}]})
    };
    let input = [item("user", "Please fix the webhook."), item("user", summary), call, output];
    let key_alone = json!({"model": "gpt-5", "prompt_cache_key": "codex", "input": input});
    assert!(!post("/v1/responses", "", &key_alone).contains("was compacted since"));
    let session = json!({"session_id": "codex"});
    let body =
        json!({"model": "gpt-5", "prompt_cache_key": "codex", "client_metadata": session, "input": input});
    let sent: Value = serde_json::from_str(&post("/v1/responses", "", &body)).unwrap();
    let parts = sent["input"][1]["content"].as_array().unwrap();
    assert!(parts.len() == 2 && parts[0]["text"] == summary, "{sent}");
    assert!(parts[1]["text"].as_str().unwrap().contains("$ cargo test webhook, failed"), "{sent}");
    let tools = json!([{"name": "bash", "input_schema": {"type": "object"}}]);
    let messages = [
        user("What did we do so far?"),
        json!({"role": "assistant", "content": "We fixed the webhook."}),
        user(
            "Continue if you have next steps, or stop and ask for clarification if you are unsure how to proceed.",
        ),
    ];
    let body = json!({"model": MODEL, "max_tokens": 9, "tools": tools, "messages": messages});
    let sent = post("/v1/messages", "x-session-id: opencode\r\n", &body);
    assert!(sent.contains("$ cargo test webhook, failed"), "{sent}");
    let body = json!({"model": "gpt-5", "messages": messages});
    let sent = post("/v1/chat/completions", "x-session-id: opencode\r\n", &body);
    assert!(sent.contains("$ cargo test webhook, failed"), "{sent}");
    // A person may ask the same.
    let body = json!({"model": MODEL, "max_tokens": 9, "tools": tools, "messages": [messages[0]]});
    assert!(!post("/v1/messages", "x-session-id: opencode\r\n", &body).contains("was compacted since"));
}
