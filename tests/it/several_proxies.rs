//! Several proxies on one store: each sees the turns of the others at once, and a turn is stored once, at whichever of
//! them its client asks again.

use crate::chat::{chat, provider, sent};
use crate::chat_sessions::ask;
use crate::fake::{Answer, Fake};
use crate::proxy::{Proxy, answer, post};
use crate::support::{Home, PATIENCE, lines_of, number_from, on_each_store, text, wait_for};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The clients of the load, and the pause of each between two questions.
const CLIENTS: usize = 64;
const PAUSE: Duration = Duration::from_millis(100);

/// A home whose proxies store a turn before its answer ends.
pub(crate) fn storing_first(home: &Home, provider: &Fake) -> Home {
    let home = home.env("RSV_OLLAMA_BASE_URL", &provider.url()).env("RSV_PROXY_STORE_FIRST", "true");
    home.env("RSV_ENRICH_TIMEOUT", "60s").env("RSV_RETRIES", "0")
}

on_each_store!(turns_at_one_proxy_are_seen_at_another_at_once);
/// Keeps: Every proxy of a store sees the turns of the others at once.
fn turns_at_one_proxy_are_seen_at_another_at_once(home: Home) {
    let fake = provider();
    let home = storing_first(&home, &fake);
    let proxies = [Proxy::start(&home), Proxy::start(&home)];
    for turn in 0..6 {
        let (own, other) = (&proxies[turn % 2], &proxies[(turn + 1) % 2]);
        let body = json!({"message": format!("Question {turn}?"), "model": "llama3.1", "session_id": "s1"});
        assert_eq!(own.raw(&post("/api/ai/chat", "", &body.to_string())).0, 200);
        // The session goes on, and is listed and shown.
        assert_eq!(sent(&fake)[turn].len(), 2 * turn + 1, "{:?}", sent(&fake)[turn]);
        let shown = ask(other, "GET", "/api/sessions/s1", "").1;
        assert_eq!(shown["messages"].as_array().map(Vec::len), Some(2 * turn + 2), "{shown}");
        let listed = ask(other, "GET", "/api/sessions", "").1;
        assert_eq!(listed["sessions"][0]["message_count"], 2 * turn + 2, "{listed}");
        let found = other.get(&format!("/memory/search?part=list&q=Question+{turn}")).1;
        assert!(found.contains(&format!("{turn}?")), "{found}");
    }
    // It is recalled in another conversation.
    let asking = json!({"model": "llama3.1", "messages": [{"role": "user", "content": "What was question 5?"}]});
    let path = "/partition/default/instance/other/v1/chat/completions";
    assert_eq!(proxies[0].raw(&post(path, "", &asking.to_string())).0, 200);
    let last = sent(&fake).pop().unwrap().pop().unwrap();
    assert!(last.1.contains("Question 5?"), "{last:?}");
    // Forgotten by one, it is gone at the other.
    assert_eq!(ask(&proxies[0], "DELETE", "/api/sessions/s1", "").0, 200);
    assert_eq!(ask(&proxies[1], "GET", "/api/sessions/s1", "").0, 404);
    let _ = chat(&proxies[1], "", "Anew?", json!({"session_id": "s1"}));
    assert_eq!(sent(&fake).pop().unwrap().len(), 1);
    home.check();
}

/// What a request asks: the words that its user wrote last.
fn question_of(request: &str) -> String {
    let request: Value = serde_json::from_str(request).unwrap();
    let asked = text(&request["messages"].as_array().unwrap().last().unwrap()["content"]);
    asked.rsplit('\n').next().unwrap().to_owned()
}

fn said(question: &str) -> String {
    format!("This is what there is to say of {question}")
}

/// An answer to a question, whole or as events.
fn answered(request: &str) -> Answer {
    let text = said(&question_of(request));
    if !request.contains("\"stream\":true") {
        let choice =
            json!({"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"});
        return Answer::new(200, json!({"object": "chat.completion", "choices": [choice]}).to_string());
    }
    let (begin, end) = text.split_at(text.len() / 2);
    let choices = [
        json!({"delta": {"content": begin}}),
        json!({"delta": {"content": end}}),
        json!({"delta": {}, "finish_reason": "stop"}),
    ];
    let event = |choice| {
        format!("data: {}\n\n", json!({"object": "chat.completion.chunk", "choices": [choice]}))
    };
    Answer::new(200, choices.map(event).concat() + "data: [DONE]\n\n")
        .header("Content-Type", "text/event-stream")
}

fn asking(question: &str, streamed: bool) -> String {
    json!({"model": "llama3.1", "stream": streamed, "messages": [{"role": "user", "content": question}]})
        .to_string()
}

fn path(client: usize) -> String {
    format!("/partition/load/instance/{client}/v1/chat/completions")
}

/// The number of messages with each text.
fn stored(home: &Home) -> BTreeMap<String, usize> {
    let mut count = BTreeMap::new();
    for line in lines_of(&home.run("rsv-export", &["--kind", "message"], "").ok()) {
        *count.entry(text(&line["content"])).or_default() += usize::from(line["kind"] == "message");
    }
    count
}

on_each_store!(a_request_that_is_sent_again_to_another_proxy_is_stored_once);
/// Keeps: A request that is sent again to another proxy is stored once.
fn a_request_that_is_sent_again_to_another_proxy_is_stored_once(home: Home) {
    let fake = Fake::answering(|seen| answered(seen.text()));
    let home = storing_first(&home, &fake);
    let proxies = [Proxy::start(&home), Proxy::start(&home)];
    for (number, (first, second, times)) in [
        ("Idempotency-Key: k1\r\n", "Idempotency-Key: k1\r\n", 1),
        ("x-stainless-retry-count: 0\r\n", "x-stainless-retry-count: 1\r\n", 1),
        ("Idempotency-Key: k2\r\n", "Idempotency-Key: k3\r\n", 2),
        ("", "", 2),
    ]
    .into_iter()
    .enumerate()
    {
        let question = format!("Question {number}?");
        for (proxy, headers) in proxies.iter().zip([first, second]) {
            let (status, body) = proxy.raw(&post(&path(0), headers, &asking(&question, false)));
            assert!(status == 200 && body.contains(&said(&question)), "{status} {body}");
        }
        let stored = stored(&home);
        assert_eq!((stored[&question], stored[&said(&question)]), (times, times), "{first}{second}");
    }
    home.check();
}

on_each_store!(an_answer_for_a_client_that_has_asked_another_proxy_is_not_stored);
/// Keeps: An answer that comes after another proxy has answered is not stored.
fn an_answer_for_a_client_that_has_asked_another_proxy_is_not_stored(home: Home) {
    let (release, question) = (Arc::new(AtomicBool::new(false)), "Who waits?");
    let gate = release.clone();
    let slow = Fake::answering(move |seen| {
        wait_for("the other answer", || gate.load(Ordering::SeqCst));
        answered(seen.text())
    });
    let quick = Fake::answering(|seen| answered(seen.text()));
    let (first, second) =
        (Proxy::start(&storing_first(&home, &slow)), Proxy::start(&storing_first(&home, &quick)));
    let request = post(&path(0), "Idempotency-Key: k\r\n", &asking(question, false));
    let mut client = first.connect();
    client.write_all(&request).unwrap();
    wait_for("the first request", || first.get("/metrics").1.contains("rsv_provider_requests 1"));
    drop(client);
    assert_eq!(second.raw(&request).0, 200);
    release.store(true, Ordering::SeqCst);
    first.settle();
    let stored = stored(&home);
    assert_eq!((stored[question], stored[&said(question)]), (1, 1));
}

/// Asks a question once; whether all of its answer came.
fn ask_once(port: u16, client: usize, question: &str, attempt: usize) -> bool {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let headers = format!("Idempotency-Key: {question}\r\nx-stainless-retry-count: {attempt}\r\n");
    let streamed = client % 2 == 1;
    let _ = stream.write_all(&post(&path(client), &headers, &asking(question, streamed)));
    let (status, body) = answer(stream);
    let is_whole = if streamed {
        body.contains("data: [DONE]\n\n") && body.ends_with("\r\n0\r\n\r\n")
    } else {
        serde_json::from_str::<Value>(&body)
            .is_ok_and(|body| body["choices"][0]["message"]["content"] == said(question))
    };
    status == 200 && is_whole
}

/// What came of a load.
#[derive(Default)]
struct Tally {
    answered: Vec<String>,
    /// The questions that were asked more than once.
    retried: usize,
    /// Those that nobody answered.
    given_up: usize,
}

/// Two proxies of a store. One of them is killed from time to time, and started again.
struct Pair<'a> {
    home: &'a Home,
    proxies: Mutex<[Proxy; 2]>,
    ports: [AtomicU16; 2],
    kills: AtomicUsize,
}

impl Pair<'_> {
    fn start(home: &Home) -> Pair<'_> {
        let proxies = [Proxy::start(home), Proxy::start(home)];
        let ports = [0, 1].map(|at| AtomicU16::new(proxies[at].port()));
        Pair { home, proxies: Mutex::new(proxies), ports, kills: AtomicUsize::new(0) }
    }

    fn port(&self, at: usize) -> u16 {
        self.ports[at % 2].load(Ordering::SeqCst)
    }

    /// Kills the one and the other in turn, until the end.
    fn kill_each(&self, interval: Duration, end: Instant) {
        for at in [0, 1].into_iter().cycle() {
            std::thread::sleep(interval.min(end.saturating_duration_since(Instant::now())));
            if Instant::now() >= end {
                return;
            }
            self.proxies.lock().unwrap()[at].kill();
            let proxy = Proxy::start(self.home);
            self.ports[at].store(proxy.port(), Ordering::SeqCst);
            self.proxies.lock().unwrap()[at] = proxy;
            self.kills.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Asks until the end, each question first at the one, then at the other, until it is answered.
    fn ask(&self, client: usize, end: Instant) -> Tally {
        let mut tally = Tally::default();
        for turn in 0.. {
            if Instant::now() >= end {
                return tally;
            }
            let question = format!("question {turn} of client {client}");
            let port = |attempt| self.port(client + turn + attempt);
            let is_answered = |attempt: &usize| {
                // The ports of both may be those of proxies that were killed just now.
                std::thread::sleep(Duration::from_millis(20 * *attempt as u64));
                ask_once(port(*attempt), client, &question, *attempt)
            };
            match (0..50).find(is_answered) {
                Some(attempt) => {
                    tally.retried += usize::from(attempt > 0);
                    tally.answered.push(question);
                }
                None => tally.given_up += 1,
            }
            std::thread::sleep(PAUSE);
        }
        tally
    }
}

on_each_store!(turns_are_stored_once_while_proxies_are_killed);
/// Keeps: Two proxies of a store lose no answered turn, and store none twice, also while each of them is killed.
fn turns_are_stored_once_while_proxies_are_killed(home: Home) {
    let provider = Fake::answering(|seen| answered(seen.text()));
    provider.ready_for(CLIENTS);
    let home = storing_first(&home, &provider);
    let seconds = number_from("RSV_TEST_LOAD_SECONDS").unwrap_or(8);
    let interval = number_from("RSV_TEST_KILL_SECONDS").unwrap_or(2);
    let (pair, end) = (Pair::start(&home), Instant::now() + Duration::from_secs(seconds));
    let tallies: Vec<Tally> = std::thread::scope(|scope| {
        if interval > 0 {
            scope.spawn(|| pair.kill_each(Duration::from_secs(interval), end));
        }
        let pair = &pair;
        let clients: Vec<_> = (0..CLIENTS).map(|client| scope.spawn(move || pair.ask(client, end))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    for proxy in &mut *pair.proxies.lock().unwrap() {
        assert_eq!(proxy.end(), Some(0));
    }
    let sum = |of: fn(&Tally) -> usize| tallies.iter().map(of).sum::<usize>();
    let stored = stored(&home);
    let questions = || tallies.iter().flat_map(|tally| &tally.answered);
    let is_lost = |question: &&String| !stored.contains_key(*question) || !stored.contains_key(&said(question));
    let lost: Vec<&String> = questions().filter(is_lost).collect();
    let twice: Vec<(&String, &usize)> = stored.iter().filter(|(_, times)| **times > 1).collect();
    let _ = writeln!(
        std::io::stdout(),
        "{} answered, {} of them after another attempt, {} given up, {} kills, {} lost, {} twice",
        questions().count(),
        sum(|tally| tally.retried),
        sum(|tally| tally.given_up),
        pair.kills.load(Ordering::SeqCst),
        lost.len(),
        twice.len()
    );
    assert!(lost.is_empty(), "{lost:?}");
    assert!(twice.is_empty(), "{twice:?}");
    assert_eq!(sum(|tally| tally.given_up), 0);
    home.check();
}

/// Has the store say that a release made it whose version is greater by `more`.
fn change_version(home: &Home, more: i64) {
    if home.is_at_server() {
        home.graph().run(&format!("MATCH (s:RsvStore) SET s.version = s.version + {more}"));
        return;
    }
    let file = rusqlite::Connection::open(home.store()).unwrap();
    let version: i64 = file.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    file.pragma_update(None, "user_version", version + more).unwrap();
}

on_each_store!(a_proxy_stores_nothing_where_a_later_release_has_been);
/// Keeps: A proxy stores nothing in a store that a later release has brought to its version, and answers.
fn a_proxy_stores_nothing_where_a_later_release_has_been(home: Home) {
    let fake = Fake::answering(|seen| answered(seen.text()));
    let home = home.env("RSV_OLLAMA_BASE_URL", &fake.url()).env("RSV_ENRICH_TIMEOUT", "60s");
    let mut proxy = Proxy::start(&home);
    let ask = |proxy: &Proxy, question: &str| {
        let (status, body) = proxy.post(&path(0), "", &asking(question, false));
        assert!(status == 200 && body.contains(&said(question)), "{status} {body}");
    };
    ask(&proxy, "Before?");
    change_version(&home, 1);
    ask(&proxy, "Meanwhile?");
    wait_for("the reason", || proxy.get("/health").1.contains("is of another version of rsv"));
    assert_eq!(proxy.get("/health").0, 503);
    change_version(&home, -1);
    assert_eq!(stored(&home).len(), 2);
    // It was waiting.
    wait_for("the turn", || stored(&home).len() == 4);
    assert_eq!(proxy.end(), Some(0));
    home.check();
}
