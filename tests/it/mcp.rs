//! rsv-mcp: each tool is what a command does, answers are whole and bounded, errors have hints.

use crate::support::{Home, Talk, lines_of, on_each_store, text};
use rsv::chat::fence;
use rsv::tokens::Counter;
use serde_json::{Value, json};
use std::process::ExitStatus;

/// The tools in the order in which they are listed, without the one that removes.
pub(crate) const TOOLS: [&str; 12] = [
    "recall",
    "remember",
    "recall_when",
    "memory_search",
    "memory_record",
    "memory_feedback",
    "memory_outcome",
    "memory_consolidate",
    "session_end",
    "context_search",
    "context_read",
    "context_list",
];

/// A running server, and its client.
pub(crate) struct Client {
    pub(crate) talk: Talk,
    last_id: u64,
    /// The roots, for a client that has some.
    roots: Option<Vec<String>>,
    /// The notifications so far.
    pub(crate) notified: Vec<Value>,
}

impl Client {
    /// Starts a server, and a session with it.
    pub(crate) fn start(home: &Home, words: &[&str]) -> Client {
        Client::with_roots(home, words, None)
    }

    /// The same with a client that has these roots.
    pub(crate) fn with_roots(home: &Home, words: &[&str], roots: Option<Vec<String>>) -> Client {
        Client::at_protocol(home, words, roots, "2025-06-18")
    }

    /// The same, at a version of the protocol.
    pub(crate) fn at_protocol(
        home: &Home,
        words: &[&str],
        roots: Option<Vec<String>>,
        version: &str,
    ) -> Client {
        let capabilities = if roots.is_some() { json!({"roots": {"listChanged": true}}) } else { json!({}) };
        let talk = home.talk("rsv-mcp", words);
        let mut client = Client { talk, last_id: 0, roots, notified: Vec::new() };
        let params = json!({"protocolVersion": version, "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"}});
        let begun = client.request("initialize", params);
        assert_eq!(
            (&begun["serverInfo"]["name"], &begun["protocolVersion"]),
            (&json!("rsv-mcp"), &json!(version))
        );
        client.notify("notifications/initialized", json!({}));
        client
    }

    /// Changes the roots of the client, which does not say so.
    pub(crate) fn set_roots(&mut self, roots: Vec<String>) {
        self.roots = Some(roots);
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.talk.say(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// Sends a request; returns its id.
    pub(crate) fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params});
        self.talk.say(&message.to_string());
        self.last_id
    }

    /// Waits for a message that answers a request, or an array of them, and answers those of the server.
    pub(crate) fn receive(&mut self) -> Value {
        loop {
            let message: Value =
                serde_json::from_str(&self.talk.hear().expect("the server has ended")).unwrap();
            let all = message.as_array().map_or(std::slice::from_ref(&message), Vec::as_slice);
            assert!(all.iter().all(|one| one["jsonrpc"] == "2.0"), "{message}");
            match message["method"].as_str() {
                Some("roots/list") => {
                    let roots = self.roots.clone().unwrap().into_iter().map(|uri| json!({"uri": uri}));
                    let roots = json!({"roots": roots.collect::<Vec<_>>()});
                    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": roots});
                    self.talk.say(&answer.to_string());
                }
                Some(_) => self.notified.push(message),
                None => return message,
            }
        }
    }

    /// The answer to a request, which is a result or an error.
    pub(crate) fn answer(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let message = self.receive();
        assert_eq!(message["id"], id, "{message}");
        message
    }

    /// The result of a request.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let message = self.answer(method, params);
        assert!(message.get("error").is_none(), "{message}");
        message["result"].clone()
    }

    /// The result of a tool, whether it is an error or not.
    pub(crate) fn try_call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The structured content of a tool's answer.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.try_call(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        result["structuredContent"].clone()
    }

    /// The text of a tool's error.
    pub(crate) fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.try_call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        text(&result["content"][0]["text"])
    }

    /// The text of a resource.
    pub(crate) fn read(&mut self, uri: &str) -> String {
        text(&self.request("resources/read", json!({"uri": uri}))["contents"][0]["text"])
    }

    /// Closes the input and waits for the server.
    pub(crate) fn end(self) -> (ExitStatus, String) {
        self.talk.end()
    }
}

/// The values of a member of records.
fn each<'a>(records: &'a Value, member: &str) -> Vec<&'a Value> {
    records.as_array().unwrap().iter().map(|record| &record[member]).collect()
}

/// A store with messages, memories and documents in a partition.
fn filled() -> Home {
    fill(Home::new())
}

/// The same in a home.
fn fill(home: Home) -> Home {
    let home = home.and_model().at("2026-11-21T07:03:00Z");
    let lines = [
        json!({"role": "user", "content": "When do owls hunt?", "trace_id": "t1"}),
        json!({"role": "assistant", "content": "They hunt at night.", "trace_id": "t1"}),
        json!({"role": "user", "content": "The cellar needs a new lamp.", "trace_id": "t2"}),
        json!({"title": "Feed owls at night", "content": "They eat only in the dark.", "outcome": "success", "tags": ["owls"]}),
        json!({"title": "Do not wake owls", "content": "A bird that is woken bites.", "outcome": "failure"}),
        json!({"kind": "document", "uri": "viking://resources/owls", "title": "Owls", "children": 1,
            "abstract": "All about owls.", "overview": "Owls and where they live."}),
        json!({"kind": "document", "uri": "viking://resources/owls/barn", "title": "Barn owls",
            "abstract": "Barn owls.", "content": "Barn owls live in barns, and hunt mice at night."}),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    home.ingest(&["-p", "owls"], &lines);
    home.run("rsv-embed", &["--quiet", "--pending"], "").ok();
    home
}

/// Keeps: A tool finds and stores what the command line does.
#[test]
fn searches_find_what_the_command_line_finds() {
    let home = filled();
    let mut client = Client::start(&home, &["-p", "owls"]);
    let find = |words: &[&str]| {
        let ran = home.run("rsv-search", &[&["-p", "owls"], words].concat(), "");
        assert!(ran.status < 2 && ran.stderr.is_empty(), "{words:?}: {ran}");
        lines_of(&ran.stdout)
    };
    for question in ["When do owls hunt?", "a lamp for the cellar", "what may I not do to a bird"] {
        for (by, flags) in [
            (json!("auto"), vec!["--hybrid"]),
            (json!("hybrid"), vec!["--hybrid"]),
            (json!("semantic"), vec!["--semantic"]),
            (json!("any"), vec!["--by", "any"]),
            (json!("keyword"), vec![]),
        ] {
            let found = client.call("recall", json!({"query": question, "by": by}));
            let wanted = find(&[&["--kind", "message,memory"], &flags[..], &[question]].concat());
            assert_eq!(each(&found["hits"], "id"), wanted.iter().map(|hit| &hit["id"]).collect::<Vec<_>>());
            // A line may have a whole number where a result has a fraction.
            let scores = |hits: Vec<&Value>| hits.into_iter().map(Value::as_f64).collect::<Vec<_>>();
            assert_eq!(
                scores(each(&found["hits"], "score")),
                scores(wanted.iter().map(|hit| &hit["score"]).collect())
            );
            for (hit, wanted) in found["hits"].as_array().unwrap().iter().zip(&wanted) {
                assert_eq!(
                    (&hit["content"], &hit["role"]),
                    (&wanted["content"], wanted.get("role").unwrap_or(&Value::Null))
                );
            }
            let found = client.call("memory_search", json!({"query": question, "by": by}));
            let wanted = find(&[&["--kind", "memory", "-n", "5"], &flags[..], &[question]].concat());
            assert_eq!(
                each(&found["memories"], "id"),
                wanted.iter().map(|hit| &hit["id"]).collect::<Vec<_>>()
            );
            assert_eq!(found["count"], wanted.len());
        }
        for (arguments, flags) in [
            (json!({"query": question}), vec!["--target", "viking://"]),
            (
                json!({"query": question, "uri": "viking://resources/owls/barn", "level": 2, "limit": 1}),
                vec!["--target", "viking://resources/owls/barn", "--level", "2", "-n", "1"],
            ),
        ] {
            let found = client.call("context_search", arguments);
            let wanted = find(&[&flags[..], &[question]].concat());
            for member in ["uri", "score", "match_reason"] {
                assert_eq!(
                    each(&found["results"], member),
                    wanted.iter().map(|hit| &hit[member]).collect::<Vec<_>>()
                );
            }
        }
    }
    let view = |words: &[&str]| lines_of(&home.run("rsv-view", &[&["-p", "owls"], words].concat(), "").ok());
    let barn = "viking://resources/owls/barn";
    let read = client.call("context_read", json!({"uri": barn}));
    assert_eq!(read["records"][0]["content"], view(&[barn])[0]["content"]);
    let listed = client.call("context_list", json!({"uri": "viking://resources", "depth": 2}));
    let wanted = view(&["viking://resources", "--depth", "2"]);
    assert_eq!(each(&listed["children"], "uri"), wanted.iter().map(|node| &node["uri"]).collect::<Vec<_>>());
    assert_eq!(client.end().0.code(), Some(0));
}

/// Keeps: A tool finds and stores what the command line does.
#[test]
fn what_tools_store_is_what_commands_store() {
    let commands = filled();
    let tools = filled();
    let find = |home: &Home, title: &str| {
        let found = lines_of(&home.run("rsv-view", &["-p", "owls", "--kind", "memory"], "").ok());
        text(&found.iter().find(|memory| memory["title"] == title).unwrap()["id"])
    };
    let (feed, wake) = (find(&commands, "Feed owls at night"), find(&commands, "Do not wake owls"));
    assert_eq!(feed, find(&tools, "Feed owls at night"));

    let mut client = Client::start(&tools, &["-p", "owls"]);
    client.call("remember", json!({"text": "The lamp is bought.", "role": "assistant"}));
    client.call("remember", json!({"text": "It is green.", "session_id": "lamp"}));
    let recorded = client.call(
        "memory_record",
        json!({"title": "Buy green lamps", "content": "Owls like them.",
        "tags": ["lamps", "owls"], "description": "About lamps.", "outcome": "yes", "project_id": "owls"}),
    );
    assert_eq!((&recorded["outcome"], &recorded["confidence"]), (&json!("success"), &json!(0.8)));
    let told = client.call("memory_feedback", json!({"memory_id": feed, "helpful": false}));
    let outcome =
        client.call("memory_outcome", json!({"memory_id": wake, "succeeded": true, "session_id": "s"}));
    client.call(
        "session_end",
        json!({"session_id": "s2", "task": "hang the lamp", "approach": "with a nail",
        "outcome": "failure", "tags": ["lamps"], "result": "It fell.", "duration_ms": 60000}),
    );

    let run = |tool: &str, words: &[&str], stdin: &str| {
        commands.run(tool, &[&["-p", "owls"], words].concat(), stdin).ok()
    };
    run("rsv-ingest", &["--role", "assistant", "The lamp is bought."], "");
    run("rsv-ingest", &["-i", "lamp", "It is green."], "");
    run(
        "rsv-ingest",
        &[
            "--title",
            "Buy green lamps",
            "--outcome",
            "success",
            "--tags",
            "lamps,owls",
            "--description",
            "About lamps.",
            "Owls like them.",
        ],
        "",
    );
    let memory: Value = lines_of(&run("rsv-signal", &["--unhelpful", &feed], "")).remove(0);
    assert_eq!((&told["new_confidence"], &told["helpful"]), (&memory["confidence"], &json!(false)));
    let memory: Value = lines_of(&run("rsv-signal", &["--succeeded", "--session", "s", &wake], "")).remove(0);
    assert_eq!((&outcome["new_confidence"], &outcome["recorded"]), (&memory["confidence"], &json!(true)));
    assert!(text(&outcome["message"]).contains("succeeded"), "{outcome}");
    let summary = json!({"session_id": "s2", "task": "hang the lamp", "approach": "with a nail", "outcome": "failure",
        "tags": ["lamps"], "result": "It fell.", "duration_ms": 60000});
    let distilled = run("rsv-distill", &[], &summary.to_string());
    run("rsv-ingest", &[], &distilled);

    assert_eq!(client.end().0.code(), Some(0));
    let whole = |home: &Home| home.run("rsv-export", &[], "").ok();
    assert_eq!(whole(&tools), whole(&commands));
}

/// An answer without how long it took, and without scores, whose last digits are those of the store's arithmetic.
fn without_measures(mut answer: Value) -> Value {
    if let Some(members) = answer.as_object_mut() {
        members.retain(|name, _| name != "score" && name != "duration_seconds");
        for value in members.values_mut() {
            *value = without_measures(value.take());
        }
    }
    for value in answer.as_array_mut().into_iter().flatten() {
        *value = without_measures(value.take());
    }
    answer
}

on_each_store!(every_tool_does_the_same_on_every_store);
/// Keeps: A tool does the same on every store.
fn every_tool_does_the_same_on_every_store(home: Home) {
    for (one, other) in answers_of_every_tool(home).iter().zip(&answers_of_every_tool(Home::new())) {
        assert_eq!(one, other);
    }
}

/// The answers of the tools, without measured values.
fn answers_of_every_tool(home: Home) -> Vec<Value> {
    let home = fill(home);
    let mut client = Client::start(&home, &["-p", "owls", "--allow-forget"]);
    let mut told = Vec::new();
    let mut call = |tool: &str, arguments: Value| {
        let answer = client.call(tool, arguments);
        told.push(without_measures(answer.clone()));
        answer
    };
    let lamp = call("remember", json!({"text": "The lamp is bought.", "session_id": "lamp"}));
    let memory =
        json!({"title": "Feed owls in the night", "content": "They eat only in the dark.", "tags": ["owls"]});
    let fed = call("memory_record", memory);
    call("memory_feedback", json!({"memory_id": fed["id"], "helpful": true}));
    call("memory_outcome", json!({"memory_id": fed["id"], "succeeded": false}));
    call(
        "session_end",
        json!({"session_id": "s", "task": "hang the lamp", "approach": "with a nail",
            "outcome": "partial", "tags": ["lamps"]}),
    );
    for by in ["auto", "hybrid", "semantic", "any", "keyword"] {
        assert_eq!(call("recall", json!({"query": "lamp", "by": by, "limit": 2}))["count"], 2, "{by}");
        call("memory_search", json!({"query": "feed owls", "by": by}));
    }
    for when in ["never", "auto"] {
        call("recall_when", json!({"id": lamp["id"], "when": when}));
        call("recall", json!({"query": "lamp", "by": "any"}));
    }
    let made = call("memory_consolidate", json!({"similarity_threshold": 0.7}));
    assert_eq!(made["archived_memories"].as_array().unwrap().len(), 2, "{made}");
    let searched = call("context_search", json!({"query": "where do barn owls live?", "level": 2}));
    assert_eq!(searched["results"][0]["uri"], "viking://resources/owls/barn");
    call("context_read", json!({"uri": "viking://~/sessions/lamp"}));
    call("context_read", json!({"uri": "viking://~/memories"}));
    call("context_list", json!({"depth": 9}));
    // The lamp has two rules of recall.
    assert_eq!(call("forget", json!({"ids": [lamp["id"], "viking://resources/owls"]}))["removed"], 5);
    call("recall", json!({"query": "lamp", "by": "any"}));
    for uri in ["viking://~/memories/strategy", "viking://~/sessions/owls"] {
        told.push(json!(client.read(uri)));
    }
    let (status, stderr) = client.end();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
    home.check();
    told
}

/// Keeps: A tool finds and stores what the command line does.
#[test]
fn consolidation_is_what_the_pipe_does() {
    let (commands, tools) =
        (Home::with_model().at("2026-11-21T07:03:00Z"), Home::with_model().at("2026-11-21T07:03:00Z"));
    let memory = |title: &str| json!({"title": title, "content": "Owls eat only in the dark, so feed them at night.", "outcome": "success"});
    let lines = format!(
        "{}\n{}\n{}\n",
        memory("Feed owls at night"),
        memory("Feed owls in the night"),
        json!({"title": "Paint the wall", "content": "Two coats of white.", "outcome": "success"})
    );
    for home in [&commands, &tools] {
        home.ingest(&["-p", "owls"], &lines);
        home.run("rsv-embed", &["--quiet", "--pending"], "").ok();
    }
    let mut client = Client::start(&tools, &["-p", "owls"]);
    let planned = client.call("memory_consolidate", json!({"dry_run": true}));
    assert_eq!(planned["created_memories"], json!(["dry-run-cluster-1"]));
    assert_eq!((&planned["total_processed"], &planned["skipped_count"]), (&json!(3), &json!(1)));
    let none = client.call("memory_consolidate", json!({"similarity_threshold": 1.0, "dry_run": true}));
    assert_eq!((&none["created_memories"], &none["archived_memories"]), (&json!([]), &json!([])));
    let made = client.request(
        "tools/call",
        json!({"name": "memory_consolidate", "arguments": {},
        "_meta": {"progressToken": "p"}}),
    )["structuredContent"]
        .clone();
    assert_eq!(made["archived_memories"], planned["archived_memories"]);
    assert!(made["duration_seconds"].as_f64().unwrap() > 0.0);
    let steps: Vec<f64> =
        client.notified.iter().map(|step| step["params"]["progress"].as_f64().unwrap()).collect();
    assert!(steps.len() > 1 && steps.is_sorted_by(|one, next| one < next), "{:?}", client.notified);

    let clusters = commands.run("rsv-link", &["-q", "-p", "owls", "--clusters"], "").ok();
    let merged = commands.run("rsv-merge", &["-q"], clusters).ok();
    commands.run("rsv-ingest", &["-q", "-p", "owls"], merged).ok();
    let whole = |home: &Home| home.run("rsv-export", &[], "").ok();
    assert_eq!(whole(&tools), whole(&commands));
    // Done just now, it is not done again, unless it is forced.
    let again = client.try_call("memory_consolidate", json!({}));
    assert!(text(&again["content"][0]["text"]).contains("passed over"), "{again}");
    let forced = client.call("memory_consolidate", json!({"force": true}));
    assert_eq!(forced["total_processed"], 2);
}

#[test]
fn memories_that_are_shown_count_as_used() {
    let home = filled();
    let mut client = Client::start(&home, &["-p", "owls"]);
    let uses = || {
        let memories = lines_of(&home.run("rsv-view", &["-p", "owls", "--kind", "memory"], "").ok());
        memories.iter().map(|memory| memory["usage_count"].as_i64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(uses(), [0, 0]);
    let found = client.call("memory_search", json!({"query": "wake a bird", "limit": 1}));
    assert_eq!(found["memories"][0]["title"], "Do not wake owls");
    assert_eq!(uses().iter().sum::<i64>(), 1);
    client.call("recall", json!({"query": "owls", "kinds": ["memory"]}));
    assert_eq!(uses().iter().sum::<i64>(), 3);
    // A requested record that did not fit was not shown.
    let mut short = Client::start(&home, &["-p", "owls", "--max-tokens", "100"]);
    let found = short.call("recall", json!({"query": "owls", "kinds": ["memory"]}));
    assert_eq!(uses().iter().sum::<i64>(), 3 + found["count"].as_i64().unwrap());
    let before = uses().iter().sum::<i64>();
    client.request(
        "prompts/get",
        json!({"name": "recall-before-you-begin", "arguments": {"task": "Do not wake owls"}}),
    );
    assert!(uses().iter().sum::<i64>() > before);
}

#[test]
fn errors_are_answers_with_hints_and_the_session_continues() {
    let home = filled();
    let mut client = Client::start(&home, &["-p", "owls"]);
    for (tool, arguments, wanted) in [
        ("recall", json!({}), "error: query: is missing\nscope: owls\n"),
        (
            "recall",
            json!({"query": "x", "limit": 0}),
            "error: limit: expected a whole number from 1 to 100, found 0\nscope: owls\n",
        ),
        ("recall", json!({"query": " "}), "error: query: is empty\nscope: owls\n"),
        ("recall", json!({"query": "x", "since": "no time"}), "error: since: expected a time such as"),
        (
            "recall",
            json!({"query": "x", "kinds": ["account"]}),
            "error: kinds: expected a list of message, memory, action, found [\"account\"]",
        ),
        (
            "memory_record",
            json!({"title": "", "content": "x"}),
            "error: title: memory title cannot be empty\n",
        ),
        (
            "memory_record",
            json!({"title": "x", "content": " "}),
            "error: content: memory content cannot be empty\n",
        ),
        (
            "memory_feedback",
            json!({"memory_id": "", "helpful": true}),
            "error: memory_id: memory ID cannot be empty\n",
        ),
        (
            "memory_feedback",
            json!({"memory_id": "m", "helpful": "yes"}),
            "error: helpful: expected true or false, found \"yes\"",
        ),
        (
            "memory_outcome",
            json!({"memory_id": "m", "succeeded": true}),
            "error: memory_id: memory not found\nhint: memory_search",
        ),
        (
            "memory_consolidate",
            json!({"similarity_threshold": 1.5}),
            "error: similarity_threshold: expected a number from 0 to 1, found 1.5",
        ),
        (
            "session_end",
            json!({"session_id": "s", "task": "t", "approach": "a", "outcome": "success", "tags": []}),
            "error: tags: is empty\nhint: ",
        ),
        (
            "context_read",
            json!({"uri": "viking://resources/nothing"}),
            "error: there is nothing at viking://resources/nothing\nhint: context_list",
        ),
        (
            "context_list",
            json!({"uri": "x"}),
            "error: uri: \"x\": expected an address such as viking://resources/notes\nhint: ",
        ),
        (
            "context_list",
            json!({"uri": "viking://resources", "depth": 99}),
            "error: depth: expected a whole number from 1 to 20",
        ),
    ] {
        let told = client.refused(tool, arguments);
        assert!(told.starts_with(wanted), "{tool}: {told}");
    }
    // A request that is no call of a tool is an error of the protocol.
    for (method, params) in [
        ("tools/call", json!({"name": "forget", "arguments": {"ids": ["x"]}})),
        ("tools/call", json!({"name": "nothing"})),
        ("resources/read", json!({"uri": "viking://resources/nothing"})),
        ("resources/read", json!({"uri": "file:///etc/passwd"})),
        ("resources/list", json!({"cursor": "x"})),
        ("prompts/get", json!({"name": "nothing"})),
        ("prompts/get", json!({"name": "recall-before-you-begin"})),
        ("nothing/at/all", json!({})),
    ] {
        let answer = client.answer(method, params);
        assert!(answer["error"]["code"].as_i64().unwrap() < 0, "{answer}");
    }
    assert_eq!(client.call("recall", json!({"query": "lamp", "by": "keyword", "limit": null}))["count"], 1);
    let (status, stderr) = client.end();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn what_is_no_session_ends_with_an_error() {
    let home = Home::new();
    for input in [
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n",
    ] {
        let told = home.run("rsv-mcp", &[], input).trouble();
        assert!(
            told.contains("the input does not begin as the Model Context Protocol does\nrsv-mcp: hint: "),
            "{told}"
        );
    }
    // An input that ends, or is no JSON, begins nothing.
    for (input, stderr) in [
        ("", ""),
        ("\n", ""),
        ("hello\n", "rsv-mcp: error: <stdin>:1: invalid JSON: expected value at column 1\n"),
    ] {
        let ran = home.run("rsv-mcp", &[], input);
        assert_eq!((ran.stdout.is_empty(), ran.stderr.as_str(), ran.status), (stderr.is_empty(), stderr, 0));
    }
    assert!(!home.path(".local").exists(), "nothing was asked for, and something was made");
}

/// Keeps: An answer keeps to its tokens.
#[test]
fn answers_keep_to_their_tokens() {
    let home = Home::new();
    let long = |n: usize| format!("Owl number {n}. {}", "It hunts at night by the old wall. ".repeat(40));
    let lines: String =
        (0..20).map(|n| format!("{}\n", json!({"role": "user", "content": long(n)}))).collect();
    home.ingest(&["-p", "owls"], &lines);
    let document = json!({"kind": "document", "uri": "viking://resources/owls", "title": "Owls", "content": long(0).repeat(50)});
    home.ingest(&["-p", "owls"], &document.to_string());
    let counter = Counter::heuristic("");
    for most in ["100", "500", "4000"] {
        let mut client = Client::start(&home, &["-p", "owls", "--max-tokens", most]);
        let limit: usize = most.parse().unwrap();
        for (tool, arguments, records) in [
            ("recall", json!({"query": "owl", "limit": 20}), "hits"),
            ("context_read", json!({"uri": "viking://resources/owls"}), "records"),
            ("context_search", json!({"query": "owl", "level": 2}), "results"),
        ] {
            let result = client.try_call(tool, arguments);
            let (answer, shown) = (text(&result["content"][0]["text"]), &result["structuredContent"]);
            // The sentence before, the line after, and the scope come on top.
            assert!(
                counter.text(&answer) <= limit + 60,
                "{most}: {} tokens: {answer}",
                counter.text(&answer)
            );
            assert!(counter.text(&shown.to_string()) <= limit + 60, "{most}: {shown}");
            let count = shown[records].as_array().unwrap().len();
            let left_out = shown["left_out"].as_u64().unwrap();
            assert_eq!(count as u64 + left_out, if tool == "recall" { 20 } else { 1 }, "{most} {tool}");
            if left_out > 0 {
                assert!(
                    answer.contains(&format!("{left_out} more did not fit into the answer\n")),
                    "{answer}"
                );
            }
        }
        let read = client.answer("resources/read", json!({"uri": "viking://resources/owls"}));
        let read = read["result"]["contents"][0]["text"].as_str().unwrap_or_default();
        assert!(counter.text(read) <= limit + 60);
    }
}

#[test]
fn forgetting_is_offered_where_it_is_allowed() {
    let home = filled();
    let names = |client: &mut Client| {
        let tools = client.request("tools/list", json!({}))["tools"].clone();
        for tool in tools.as_array().unwrap() {
            assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
            assert_eq!(tool["annotations"]["destructiveHint"], tool["name"] == "forget", "{tool}");
        }
        tools.as_array().unwrap().iter().map(|tool| text(&tool["name"])).collect::<Vec<_>>()
    };
    let mut client = Client::start(&home, &["-p", "owls"]);
    assert_eq!(names(&mut client), TOOLS);
    let mut client = Client::start(&home, &["-p", "owls", "--allow-forget"]);
    assert_eq!(names(&mut client), [&TOOLS[..], &["forget"]].concat());
    let found = client.call("recall", json!({"query": "lamp", "by": "keyword"}));
    let id = &found["hits"][0]["id"];
    let told = client.refused("forget", json!({"ids": [id, "nothing"]}));
    assert!(told.contains("there is no record nothing in this scope; nothing was removed"), "{told}");
    assert_eq!(client.call("forget", json!({"ids": [id, "viking://resources/owls"]}))["removed"], 3);
    assert_eq!(client.call("recall", json!({"query": "lamp", "by": "keyword"}))["count"], 0);
    assert_eq!(client.call("context_list", json!({}))["count"], 0);
    // It is kept out.
    let again = json!({"role": "user", "content": "kettle", "id": id}).to_string();
    home.run("rsv-ingest", &["-q", "-p", "owls"], again).ok();
    assert_eq!(client.call("recall", json!({"query": "kettle", "by": "keyword"}))["count"], 0);
    assert!(client.refused("remember", json!({"text": " "})).contains("text: is empty"));
}

#[test]
fn resources_are_read_by_their_addresses() {
    let home = filled();
    let mut client = Client::start(&home, &["-p", "owls"]);
    let listed = client.request("resources/list", json!({}));
    let uris: Vec<String> = each(&listed["resources"], "uri").into_iter().map(text).collect();
    assert_eq!(uris, ["viking://~/memories", "viking://resources/owls"]);
    let barn = client.read("viking://resources/owls/barn");
    assert!(
        barn.contains("viking://resources/owls/barn (owls/owls):\n> Barn owls")
            && barn.ends_with("scope: owls\n"),
        "{barn}"
    );
    let owls = client.read("viking://resources/owls");
    assert!(owls.contains("> Owls and where they live.") && owls.contains("> Barn owls."), "{owls}");
    let memories = client.read("viking://~/memories/strategy");
    assert!(memories.contains("Feed owls at night") && memories.contains("Do not wake owls"), "{memories}");
    let id =
        text(&client.call("memory_search", json!({"query": "wake a bird", "limit": 1}))["memories"][0]["id"]);
    let memory = client.read(&format!("viking://user/owls/memories/strategy/{id}"));
    assert!(memory.contains("Do not wake owls") && !memory.contains("Feed owls"), "{memory}");
    let session = client.read("viking://~/sessions/owls");
    assert!(
        session.contains("> When do owls hunt?") && session.contains("> They hunt at night."),
        "{session}"
    );
    // A partition without anything has the list of its memories, which is empty.
    let mut other = Client::start(&home, &["-p", "mice"]);
    assert_eq!(
        each(&other.request("resources/list", json!({}))["resources"], "uri"),
        ["viking://~/memories"]
    );
    assert_eq!(other.read("viking://~/memories"), "\nscope: mice\n");
}

#[test]
fn prompts_have_what_is_known() {
    let home = filled();
    let mut client = Client::start(&home, &["-p", "owls"]);
    let prompt = |client: &mut Client, name: &str, arguments: Value| {
        let result = client.request("prompts/get", json!({"name": name, "arguments": arguments}));
        text(&result["messages"][0]["content"]["text"])
    };
    let recalled = prompt(&mut client, "recall-before-you-begin", json!({"task": "wake an owl"}));
    assert!(
        recalled.contains("> Do not wake owls") && recalled.ends_with("The task:\nwake an owl"),
        "{recalled}"
    );
    assert!(!fence::remove(&recalled).contains("Do not wake"), "{recalled}");
    let record = prompt(&mut client, "record-what-was-learnt", json!({}));
    assert!(record.contains("memory_record") && record.contains("session_end"), "{record}");
    let mut other = Client::start(&home, &["-p", "mice"]);
    let recalled = prompt(&mut other, "recall-before-you-begin", json!({"task": "wake a mouse"}));
    assert!(recalled.starts_with("Nothing is known about this task yet."), "{recalled}");
}

#[test]
fn without_a_model_any_word_finds() {
    let home = Home::new();
    home.ingest(&["-p", "owls"], &json!({"role": "user", "content": "The cellar needs a lamp."}).to_string());
    let mut client = Client::start(&home, &["-p", "owls"]);
    let found = client.call("recall", json!({"query": "What does the cellar look like?"}));
    assert_eq!(each(&found["hits"], "content"), ["The cellar needs a lamp."]);
    assert!(client.refused("recall", json!({"query": "cellar", "by": "hybrid"})).contains("hint: "));
    // In a home without a store, nothing is found, and nothing made.
    let home = Home::new();
    let mut client = Client::start(&home, &["-p", "owls"]);
    assert_eq!(client.call("recall", json!({"query": "cellar"}))["count"], 0);
    assert!(!home.store().exists());
}
