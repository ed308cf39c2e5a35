//! Two proxies on one store with many clients, also while each of them is killed: no answered turn is lost, and none is
//! stored twice.

use crate::fake::Fake;
use crate::proxy::{Proxy, answer, post};
use crate::several_proxies::{answered, asking, path, said, stored, storing_first};
use crate::support::{Home, PATIENCE, number_from, on_each_store};
use serde_json::Value;
use std::io::Write;
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The clients, and the pause of each between two questions.
const CLIENTS: usize = 64;
const PAUSE: Duration = Duration::from_millis(100);

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

/// The outcome of a load.
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
    let is_lost =
        |question: &&String| !stored.contains_key(*question) || !stored.contains_key(&said(question));
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
