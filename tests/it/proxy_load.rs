//! rsv-proxy with many clients at once: whoever got an answer finds it in the store, once.

use crate::fake::{Answer, Fake, Seen};
use crate::proxy::{Proxy, answer, limited, post};
use crate::support::{Home, PATIENCE, lines_of, number_from, text, wait_for};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const CLIENTS: usize = 16;
/// Each asks three times a second: together they ask about fifty times.
const BEAT: Duration = Duration::from_millis(320);
/// After how many seconds of it the proxy is told to end; RSV_TEST_LOAD_SECONDS says otherwise.
const SECONDS: usize = 8;

fn path(client: usize) -> String {
    format!("/partition/load/instance/{client}/v1/chat/completions")
}

fn asking(question: &str, streamed: bool) -> String {
    json!({"model": "llama3.1", "stream": streamed, "messages": [{"role": "user", "content": question}]})
        .to_string()
}

/// The provider's answer to a question.
fn said(question: &str) -> String {
    format!("This is what there is to say of {question}")
}

/// An answer that names the question, whole or as events.
fn answered(seen: &Seen) -> Answer {
    let request: Value = serde_json::from_str(seen.text()).unwrap();
    let asked = text(&request["messages"].as_array().unwrap().last().unwrap()["content"]);
    // The recalled messages before it contain other questions.
    let text = said(asked.rsplit('\n').next().unwrap());
    if request["stream"] == false {
        let choice =
            json!({"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"});
        return Answer::new(200, json!({"object": "chat.completion", "choices": [choice]}).to_string());
    }
    let (begin, end) = text.split_at(text.len() / 2);
    let events = [
        json!({"delta": {"content": begin}}),
        json!({"delta": {"content": end}}),
        json!({"delta": {}, "finish_reason": "stop"}),
    ];
    let events = events.map(|choice| {
        format!("data: {}\n\n", json!({"object": "chat.completion.chunk", "choices": [choice]}))
    });
    Answer::new(200, events.concat() + "data: [DONE]\n\n").header("Content-Type", "text/event-stream")
}

/// Asks one question; whether all of its answer came.
fn ask(port: u16, client: usize, question: &str, streamed: bool) -> bool {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // The proxy may have ended meanwhile.
    let _ = stream.write_all(&post(&path(client), "", &asking(question, streamed)));
    let (status, body) = answer(stream);
    let whole = if streamed {
        body.contains(question) && body.contains("data: [DONE]\n\n") && body.ends_with("\r\n0\r\n\r\n")
    } else {
        serde_json::from_str::<Value>(&body)
            .is_ok_and(|body| body["choices"][0]["message"]["content"] == said(question))
    };
    status == 200 && whole
}

/// The messages of the store: of each text the role and the trace, as often as it is there.
fn stored(home: &Home) -> BTreeMap<String, Vec<(String, String)>> {
    let mut messages: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for line in lines_of(&home.export()).iter().filter(|line| line["kind"] == "message") {
        let found = (text(&line["role"]), text(&line["trace_id"]));
        messages.entry(text(&line["content"])).or_default().push(found);
    }
    messages
}

/// Fails unless each question is stored once, and once its own answer, which belongs to it.
fn check(home: &Home, questions: &[String]) {
    let messages = stored(home);
    for question in questions {
        let trace = match messages.get(question).map(Vec::as_slice) {
            Some([(role, trace)]) if role == "user" => trace.clone(),
            other => panic!("{question}: {other:?}"),
        };
        assert_eq!(messages.get(&said(question)), Some(&vec![("assistant".to_owned(), trace)]), "{question}");
    }
    for (text, found) in &messages {
        assert_eq!(found.len(), 1, "{text}");
    }
    home.check();
}

#[test]
fn many_clients_are_answered_and_stored_once_despite_a_shutdown() {
    let provider = Fake::answering(answered);
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url());
    let mut proxy = Proxy::start(&home);
    let seconds = std::env::var("RSV_TEST_LOAD_SECONDS").map_or(SECONDS, |seconds| seconds.parse().unwrap());
    let enough = seconds * 50;
    let (port, begun, count) = (proxy.port(), Instant::now(), AtomicUsize::new(0));
    let questions: Vec<String> = std::thread::scope(|scope| {
        let client = |client: usize| {
            let (proxy, count) = (&proxy, &count);
            scope.spawn(move || {
                let mut questions = Vec::new();
                for turn in 0.. {
                    let next = begun + BEAT * turn + BEAT * client as u32 / CLIENTS as u32;
                    std::thread::sleep(next.saturating_duration_since(Instant::now()));
                    let question = format!("question {turn} of client {client}");
                    if !ask(port, client, &question, turn % 2 == 1) {
                        break;
                    }
                    questions.push(question);
                    if count.fetch_add(1, Ordering::Relaxed) + 1 == enough {
                        proxy.terminate();
                    }
                }
                questions
            })
        };
        let clients: Vec<_> = (0..CLIENTS).map(client).collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    let (said, status) = proxy.last_words();
    assert_eq!(status, Some(0), "{said}");
    assert!(questions.len() >= enough, "{}", questions.len());
    check(&home, &questions);
}

#[test]
fn turns_wait_for_descriptors_and_all_are_answered() {
    // The clients and the provider are here, and need as many.
    let own = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: own.maximum, maximum: own.maximum }).unwrap();
    for (limits, turns) in [("-n 256", 400), ("-Sn 1024", 1000)] {
        let provider = Fake::answering(|seen| answered(seen).after(Duration::from_millis(2)));
        let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url()).env("RSV_ENRICH_TIMEOUT", "60s");
        let home = home.env("RSV_RETRIES", "0");
        let mut proxy = Proxy::spawn(limited(&home, limits, ""));
        let port = proxy.port();
        let questions: Vec<String> = (0..turns).map(|turn| format!("question {turn} of many")).collect();
        provider.ready_for(turns);
        std::thread::scope(|scope| {
            for (turn, question) in questions.iter().enumerate() {
                scope.spawn(move || assert!(ask(port, turn, question, turn % 2 == 1), "{question}"));
            }
        });
        // Most connections to the provider are closed, now that they are idle.
        wait_for("closed connections", || proxy.descriptors() <= 400);
        assert_eq!(proxy.end(), Some(0));
        check(&home, &questions);
    }
}

/// Keeps: Texts far beyond the window take little memory.
#[test]
fn texts_far_beyond_the_window_take_little_memory_at_once() {
    let provider = Fake::answering(|_| Answer::new(404, "{}"));
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url()).env("RSV_ENRICH_TIMEOUT", "60s");
    home.ingest(&["-p", "load", "-i", "0"], "{\"role\":\"user\",\"content\":\"an owl\"}\n");
    let proxy = Proxy::start(&home);
    let text: String = (0..10_000_000 / 3)
        .filter_map(|n: u32| char::from_u32(0x4e00 + n % 20_000 * 7919 % 20_000))
        .collect();
    let request = post(&path(0), "", &asking(&text, false));
    std::thread::scope(|scope| {
        for _ in 0..6 {
            let (proxy, request) = (&proxy, &request);
            scope.spawn(move || {
                let (status, body) = proxy.raw(request);
                assert!(status == 200 && body.contains("Your last message is too long."), "{status} {body}");
            });
        }
    });
    // A count of all tokens, and a copy of the text for each step of a turn, took 600 MB.
    assert!(proxy.peak_memory() < 300 << 20, "{}", proxy.peak_memory());
}

/// Asks one question in one of three ways; whether its answer came to its end, of which a streamed one says where it is.
fn ask_any(port: u16, client: usize, question: &str) -> bool {
    let (ollama, streamed) = (client % 3 == 2, client % 3 == 1);
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    let path = if ollama { format!("/partition/load/instance/{client}/api/chat") } else { path(client) };
    let _ = stream.write_all(&post(&path, "", &asking(question, streamed)));
    if !streamed {
        let (status, body) = answer(stream);
        return status == 200 && body.contains(&said(question)) && body.trim_end().ends_with('}');
    }
    let (mut body, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = stream.read(&mut piece) {
        body.extend_from_slice(&piece[..read]);
        if body.windows(12).any(|bytes| bytes == b"data: [DONE]") {
            return true;
        }
    }
    false
}

/// Kills proxies while clients ask. Returns the number of turns that were answered, and for each that is not stored how
/// long before the kill it was answered.
fn kills(store_first: &str, rounds: u64) -> (usize, Vec<Duration>) {
    let provider = Fake::answering(|seen| {
        if seen.path != "/api/chat" {
            return answered(seen);
        }
        let request: Value = serde_json::from_str(seen.text()).unwrap();
        let asked = text(&request["messages"].as_array().unwrap().last().unwrap()["content"]);
        let message = json!({"role": "assistant", "content": said(asked.rsplit('\n').next().unwrap())});
        Answer::new(200, json!({"model": "llama3.1", "message": message, "done": true}).to_string())
    });
    let (mut count, mut lost) = (0, Vec::new());
    for round in 0..rounds {
        let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url());
        let home = home.env("RSV_PROXY_STORE_FIRST", store_first);
        let (proxy, answers) = (Proxy::start(&home), AtomicUsize::new(0));
        let enough = 100 + usize::try_from(round).unwrap();
        let port = proxy.port();
        let (questions, killed) = std::thread::scope(|scope| {
            let (proxy, answers) = (&proxy, &answers);
            let clients: Vec<_> = (0..CLIENTS)
                .map(|client| {
                    scope.spawn(move || {
                        let (mut questions, mut killed) = (Vec::new(), None);
                        for turn in 0.. {
                            let question = format!("question {turn} of client {client}");
                            if !ask_any(port, client, &question) {
                                break;
                            }
                            let now = Instant::now();
                            if answers.fetch_add(1, Ordering::Relaxed) + 1 == enough {
                                proxy.kill();
                                killed = Some(now);
                            }
                            questions.push((question, now));
                        }
                        (questions, killed)
                    })
                })
                .collect();
            let (questions, killed): (Vec<_>, Vec<_>) =
                clients.into_iter().map(|client| client.join().unwrap()).unzip();
            (questions.concat(), killed.into_iter().flatten().next().unwrap())
        });
        let messages = stored(&home);
        count += questions.len();
        let absent =
            |question: &str| !messages.contains_key(question) || !messages.contains_key(&said(question));
        let ages = questions
            .iter()
            .filter(|(question, _)| absent(question))
            .map(|(_, at)| killed.saturating_duration_since(*at));
        lost.extend(ages);
        home.check();
    }
    (count, lost)
}

#[test]
fn a_kill_loses_no_answered_turn_that_is_stored_first() {
    let rounds = number_from("RSV_TEST_KILLS").unwrap_or(4);
    let (answered, lost) = kills("true", rounds);
    assert!(lost.is_empty(), "{} of {answered}", lost.len());
    if number_from("RSV_TEST_KILLS").is_some() {
        let (answered, lost) = kills("false", rounds);
        let earliest = lost.iter().max();
        let _ =
            writeln!(std::io::stdout(), "otherwise {} of {answered}, up to {earliest:?} before", lost.len());
    }
}

#[test]
fn lines_that_nobody_reads_hold_up_no_request_and_those_that_are_missing_are_counted() {
    const REQUESTS: usize = 500;
    let home = Home::new();
    let mut proxy = Proxy::start_with(&home, &["--log", "json"]);
    // More than the pipe holds, and more than the proxy keeps for it.
    let path = format!("/command/{}", "x".repeat(16 << 10));
    for number in 0..REQUESTS {
        assert_eq!(proxy.get(&format!("{path}/{number}")).0, 404, "{number}");
    }
    let (said, status) = proxy.last_words();
    assert_eq!(status, Some(0));
    let number = |line: &str| line.split(&path).nth(1)?.get(1..)?.split('"').next()?.parse::<usize>().ok();
    let numbers: Vec<usize> = said.lines().filter_map(number).collect();
    assert!(numbers.iter().copied().eq(0..numbers.len()), "{numbers:?}");
    let missing = format!(
        "rsv-proxy: {} lines are missing here: standard error was not read",
        REQUESTS - numbers.len()
    );
    assert_eq!(said.lines().last(), Some(&*missing));
}

#[test]
fn a_store_that_is_locked_stops_no_answer_and_gets_all_of_them_later() {
    let provider = Fake::answering(answered);
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url()).env("RSV_ENRICH_TIMEOUT", "200ms");
    let mut proxy = Proxy::start(&home);
    let mut questions = vec!["the question before".to_owned()];
    assert!(ask(proxy.port(), 0, &questions[0], false));
    proxy.settle();
    let locker = rusqlite::Connection::open(home.store()).unwrap();
    locker.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut under_lock = |client: usize| {
        let question = format!("the question of client {client}");
        let whole = proxy.whole(&post(&path(client), "", &asking(&question, client % 2 == 1)));
        questions.push(question);
        whole
    };
    assert!(under_lock(1).starts_with("HTTP/1.1 200"));
    wait_for("a turn that cannot be stored", || proxy.get("/health").0 == 503);
    for client in 1..8 {
        let reported = under_lock(client + 8);
        assert!(
            reported.starts_with("HTTP/1.1 200") && reported.contains("\r\nx-rsv-degraded: "),
            "{reported}"
        );
    }
    locker.execute_batch("ROLLBACK").unwrap();
    wait_for("the store", || proxy.get("/health").0 == 200);
    proxy.settle();
    check(&home, &questions);
    assert_eq!(proxy.end(), Some(0));
}

#[test]
fn a_disk_that_is_full_stops_no_answer_and_what_was_said_is_stored_when_there_is_room() {
    let provider = Fake::answering(answered);
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url());
    let mut proxy = Proxy::start(&home);
    let mut questions = Vec::new();
    let mut say = |client: usize| {
        let question = format!("the question of client {client}");
        let whole = proxy.whole(&post(&path(client), "", &asking(&question, false)));
        questions.push(question);
        whole
    };
    assert!(say(0).starts_with("HTTP/1.1 200"));
    proxy.settle();
    // No file may grow any more.
    proxy.may_write(Some(1));
    assert!(say(1).starts_with("HTTP/1.1 200"));
    wait_for("a turn that cannot be stored", || proxy.get("/health").0 == 503);
    let reported = say(2);
    assert!(reported.starts_with("HTTP/1.1 200") && reported.contains("\r\nx-rsv-degraded: "), "{reported}");
    proxy.may_write(None);
    wait_for("the store", || proxy.get("/health").0 == 200);
    proxy.settle();
    check(&home, &questions);
    assert_eq!(proxy.end(), Some(0));
}

#[test]
fn an_answer_of_a_hundred_megabytes_is_refused_by_its_limit_or_passed_on_and_stored() {
    let long = "x".repeat(100 << 20);
    let reply = format!(
        r#"{{"choices":[{{"index":0,"message":{{"role":"assistant","content":"{long}"}},"finish_reason":"stop"}}]}}"#
    );
    let provider = Fake::answering(move |seen| {
        if seen.text().contains("a long one") { Answer::new(200, reply.clone()) } else { answered(seen) }
    });
    let plain = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url());
    let raised = plain.env("RSV_MAX_LINE_BYTES", "200000000").env("RSV_PROXY_QUEUE_BYTES", "200000000");
    for (home, passes) in [(plain, false), (raised, true)] {
        let mut proxy = Proxy::start(&home);
        let whole = proxy.whole(&post(&path(0), "", &asking("a long one", false)));
        if passes {
            assert!(whole.starts_with("HTTP/1.1 200") && whole.contains(&long), "{}", whole.len());
        } else {
            assert!(whole.starts_with("HTTP/1.1 502") && whole.contains("the limit of 32 MiB"), "{whole}");
        }
        // Others have their answer beside it.
        assert!(ask(proxy.port(), 1, "a short one", false));
        proxy.settle();
        assert_eq!(proxy.end(), Some(0));
        let stored = home.contents("rsv-view", &["9", "--all"]);
        assert_eq!(stored.iter().any(|text| text.len() == long.len()), passes);
        assert!(stored.contains(&"a short one".to_owned()));
    }
}
