//! What rsv-proxy adds to an answer, beside a bare relay of axum and reqwest: both before a provider that answers at
//! once, in turns with asking that one itself. Times in milliseconds, the median and the 99th percentile; the ratio is
//! that of what the proxy and the relay add to the median, of the turns the median; then what memory adds to the 95th
//! percentile, and what a connection costs in memory. `cargo bench --bench proxy`; 1 000 connections need
//! `ulimit -n 8192`. One client asks processes that are held on a processor each (that needs taskset), and processes as
//! the kernel places them, as in all other rows.
//! With RSV_BENCH_REQUESTS=N it tells instead what memory the proxy holds after each tenth of so many requests.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use reqwest::StatusCode;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// How many messages the first client has to recall from; each has a scope of its own, as users have.
const MESSAGES: usize = 10_000;
const ROUNDS: usize = 3;
/// What the kernel does to a single client changes from one moment to the next: so many short rounds tell what it does
/// mostly.
const SHORT_ROUNDS: usize = 31;
const MANY: usize = 64;
/// How long those wait who do not ask all the time.
const BEAT: Duration = Duration::from_millis(500);
const CHUNKS: usize = 50;
const GAP: Duration = Duration::from_millis(20);
const CROWD: usize = 1000;

static ASKED: AtomicUsize = AtomicUsize::new(0);

/// Somebody to ask, and with which header.
#[derive(Clone, Copy)]
struct Way {
    port: u16,
    header: &'static str,
}

/// The provider itself, the relay, the proxy with memory off, and with memory.
type Ways = [Way; 4];

fn main() {
    match std::env::var(PART).as_deref() {
        Ok("provider") => return provide(),
        Ok(provider) => return relay(provider.parse().unwrap()),
        Err(_) => {}
    }
    let home = tempfile::tempdir().unwrap();
    let (mut providing, provider) = beside("provider");
    let (mut proxy, port) = proxy(home.path(), provider);
    let (mut relay, relayed) = beside(&provider.to_string());
    let ways = [
        Way { port: provider, header: "" },
        Way { port: relayed, header: "" },
        Way { port, header: "x-rsv-memory: off\r\n" },
        Way { port, header: "" },
    ];
    match std::env::var("RSV_BENCH_REQUESTS") {
        Ok(requests) => hold(proxy.id(), ways, requests.parse().unwrap()),
        Err(_) => {
            let ends = [std::process::id(), providing.id()];
            alone(ways, ends, [relay.id(), proxy.id()]);
            compare(proxy.id(), ways);
        }
    }
    for other in [&mut relay, &mut providing] {
        other.kill().unwrap();
        other.wait().unwrap();
    }
    Command::new("kill").arg(proxy.id().to_string()).status().unwrap();
    assert!(proxy.wait().unwrap().success());
}

/// One client that asks again and again. Those who ask and answer are held on one processor, and what is between them
/// on another: left to itself the kernel moves each of them now and then, and that is more than what is measured.
fn alone(ways: Ways, ends: [u32; 2], between: [u32; 2]) {
    println!(
        "{:<36}{:>16}{:>16}{:>16}{:>8}{:>16}{:>8}",
        "p50 p99 in ms", "provider", "bare relay", "memory off", "ratio", "on", "+ p95"
    );
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
    let border = |c| c == ',' || c == '-';
    let (first, last) = (allowed.split(border).next().unwrap(), allowed.rsplit(border).next().unwrap());
    for (processor, processes) in [(first, ends), (last, between)] {
        processes.iter().for_each(|process| hold_on(processor, *process));
    }
    let one = |requests| move |way| at_once(1, way, requests, false, Duration::ZERO);
    row("whole, 1, held on processors", &in_turns(ways, ROUNDS, one(1000)));
    [ends, between].as_flattened().iter().for_each(|process| hold_on(allowed, *process));
    row("whole, 1, as the kernel places them", &in_turns(ways, SHORT_ROUNDS, one(100)));
}

/// Has a process run on these processors alone, of those that there are.
fn hold_on(processors: &str, process: u32) {
    let mut command = Command::new("taskset");
    let held = command.args(["-acp", processors, &process.to_string()]).stdout(Stdio::null()).status();
    assert!(held.unwrap().success());
}

fn compare(proxy: u32, ways: Ways) {
    for (name, clients, requests, pause) in [
        ("whole, 64 all the time", MANY, 50, Duration::ZERO),
        ("whole, 64 that ask twice a second", MANY, 10, BEAT),
    ] {
        row(name, &in_turns(ways, ROUNDS, |way| at_once(clients, way, requests, false, pause)));
    }
    for (name, pause) in [("streams begun at once", Duration::ZERO), ("streams begun in turn", BEAT)] {
        let streamed = in_turns(ways, ROUNDS, |way| at_once(MANY, way, 4, true, pause));
        row(&format!("{MANY} {name}, first"), &select(&streamed, true));
        row(&format!("{MANY} {name}, later"), &select(&streamed, false));
    }
    crowd(proxy, ways[2]);
}

/// What memory the proxy holds after each tenth of many requests, half of them with memory off.
fn hold(proxy: u32, ways: Ways, requests: usize) {
    for tenth in 1..=10 {
        for way in &ways[2..] {
            at_once(MANY, *way, requests / 20 / MANY, false, Duration::ZERO);
        }
        println!("{tenth} tenths of {requests} requests: {:.0} KB beside the mapped store", memory(proxy));
    }
}

/// One time: whether it is that of a first byte, and how long it took.
type Taken = (bool, Duration);

/// What each way took in a round.
type Round = [Vec<Taken>; 4];

/// Each way once a round, so that what else the machine does befalls all.
fn in_turns(ways: Ways, rounds: usize, measure: impl Fn(Way) -> Vec<Taken>) -> Vec<Round> {
    ways.iter().for_each(|way| drop(at_once(1, *way, 20, false, Duration::ZERO)));
    (0..rounds).map(|_| ways.map(&measure)).collect()
}

fn select(rounds: &[Round], first: bool) -> Vec<Round> {
    let those = |times: &Vec<Taken>| times.iter().filter(|taken| taken.0 == first).copied().collect();
    rounds.iter().map(|round| round.each_ref().map(those)).collect()
}

/// What this share of numbers does not exceed.
fn share(mut numbers: Vec<f64>, share: f64) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[(share * (numbers.len() - 1) as f64) as usize]
}

fn row(name: &str, rounds: &[Round]) {
    let taken =
        |times: &Vec<Taken>| times.iter().map(|taken| taken.1.as_secs_f64() * 1e3).collect::<Vec<_>>();
    let all = [0, 1, 2, 3].map(|way| rounds.iter().flat_map(|round| taken(&round[way])).collect::<Vec<_>>());
    let [asked, bare, off, on] =
        all.each_ref().map(|all| (share(all.clone(), 0.5), share(all.clone(), 0.99)));
    let told = |(half, most): (f64, f64)| format!("{half:>8.2}{most:>8.2}");
    let more = share(all[3].clone(), 0.95) - share(all[2].clone(), 0.95);
    let ratio = |round: &Round| {
        let [asked, bare, off, _] = round.each_ref().map(|times| share(taken(times), 0.5));
        (off - asked) / (bare - asked)
    };
    let ratio = share(rounds.iter().map(ratio).collect(), 0.5);
    println!("{name:<36}{}{}{}{ratio:>8.2}{}{more:>8.2}", told(asked), told(bare), told(off), told(on));
}

/// So many clients, each of which asks, and asks again after the answer and a `pause`; they begin one after the other.
fn at_once(clients: usize, way: Way, requests: usize, streamed: bool, pause: Duration) -> Vec<Taken> {
    let client = |number| {
        thread::spawn(move || {
            thread::sleep(pause * number as u32 / clients as u32);
            let mut stream = BufReader::new(connect(way.port));
            let asked = (0..requests).flat_map(|_| {
                thread::sleep(pause);
                ask(&mut stream, way, number, streamed)
            });
            asked.collect::<Vec<_>>()
        })
    };
    let clients: Vec<_> = (0..clients).map(client).collect();
    clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
}

/// What all processes of this machine take the time to be.
fn now() -> Duration {
    SystemTime::UNIX_EPOCH.elapsed().unwrap()
}

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

fn send(stream: &mut TcpStream, way: Way, client: usize, streamed: bool) {
    // Who asks the same thing a thousand times has a thousand equal messages to recall from.
    let question = ASKED.fetch_add(1, Ordering::Relaxed);
    let body = format!(
        "{{\"model\":\"llama3.1\",\"stream\":{streamed},\"messages\":[{{\"role\":\"user\",\"content\":\"{}?\"}}]}}",
        words(question, 4)
    );
    let (length, header) = (body.len(), way.header);
    let head = format!(
        "POST /partition/bench/instance/{client}/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{header}\r\n"
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
}

/// So many of 3 000 words, chosen by a number.
fn words(seed: usize, count: usize) -> String {
    (0..count).map(|at| format!("w{} ", (seed * 31 + at + 1) * 7919 % 3001)).collect()
}

/// Asks, and reads all of the answer: how long its first byte took, and each later chunk on its way.
fn ask(stream: &mut BufReader<TcpStream>, way: Way, client: usize, streamed: bool) -> Vec<Taken> {
    let begun = Instant::now();
    send(stream.get_mut(), way, client, streamed);
    read(stream, begun)
}

fn read(stream: &mut BufReader<TcpStream>, begun: Instant) -> Vec<Taken> {
    let (mut head, mut length) = (String::new(), None);
    while head != "\r\n" {
        head.clear();
        stream.read_line(&mut head).unwrap();
        assert!(!head.starts_with("HTTP/1.1 ") || head.contains("200"), "{head}");
        length = head
            .to_lowercase()
            .strip_prefix("content-length: ")
            .map(|n| n.trim().parse().unwrap())
            .or(length);
    }
    if let Some(length) = length {
        stream.read_exact(&mut vec![0; length]).unwrap();
        return vec![(true, begun.elapsed())];
    }
    let (mut times, mut line, mut whole) = (Vec::new(), String::new(), false);
    loop {
        line.clear();
        stream.read_line(&mut line).unwrap();
        let length = usize::from_str_radix(line.trim(), 16).unwrap();
        let mut chunk = vec![0; length + 2];
        stream.read_exact(&mut chunk).unwrap();
        if length == 0 {
            assert!(whole);
            return times;
        }
        let chunk = String::from_utf8(chunk).unwrap();
        whole |= chunk.contains("[DONE]");
        if times.is_empty() {
            times.push((true, begun.elapsed()));
        } else if let Some((_, sent)) = chunk.split_once("\"sent\":") {
            let sent = Duration::from_nanos(sent[..sent.find('}').unwrap()].parse().unwrap());
            times.push((false, now().saturating_sub(sent)));
        }
    }
}

/// The resident memory of a process in KB, without the pages of the store's file: those are the system's cache.
fn memory(process: u32) -> f64 {
    let maps = std::fs::read_to_string(format!("/proc/{process}/smaps")).unwrap();
    let (mut resident, mut own) = (0.0, true);
    for line in maps.lines() {
        match line.strip_prefix("Rss:") {
            Some(size) if own => resident += size.trim().trim_end_matches(" kB").parse::<f64>().unwrap(),
            // The first line of a mapping has its addresses, and its file at the end.
            None if line.split_once('-').is_some_and(|(start, _)| u64::from_str_radix(start, 16).is_ok()) => {
                own = !line.contains(".db");
            }
            _ => {}
        }
    }
    resident
}

/// Many connections that wait, then as many streams: what each of them costs the proxy in memory.
fn crowd(proxy: u32, way: Way) {
    let memory = || memory(proxy);
    let before = memory();
    let mut idle: Vec<_> = (0..CROWD).map(|_| BufReader::new(connect(way.port))).collect();
    idle.iter_mut().for_each(|stream| drop(ask(stream, way, 0, false)));
    let waiting = memory();
    let mut streams: Vec<_> = (0..CROWD).map(|_| BufReader::new(connect(way.port))).collect();
    streams.iter_mut().for_each(|stream| send(stream.get_mut(), way, 0, true));
    let mut most = memory();
    let begun = Instant::now();
    for stream in &mut streams {
        read(stream, begun);
        most = most.max(memory());
    }
    let each = |kilobytes: f64| kilobytes / CROWD as f64;
    println!("{CROWD} idle connections: {:.1} KB each", each(waiting - before));
    println!("{CROWD} streams beside them: {:.1} KB each", each(most - waiting));
    idle.iter_mut().for_each(|stream| drop(ask(stream, way, 0, false)));
}

/// The provider, with a thread for each connection.
fn provide() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    listener.incoming().for_each(|stream| drop(thread::spawn(move || answer(stream.unwrap()))));
}

/// An answer at once, or a stream of chunks that tell when they were sent.
fn answer(stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut to = stream.try_clone().unwrap();
    let mut from = BufReader::new(stream);
    loop {
        let (mut line, mut length) = (String::new(), 0);
        while line != "\r\n" {
            line.clear();
            if !from.read_line(&mut line).is_ok_and(|read| read > 0) {
                return;
            }
            length = line
                .to_lowercase()
                .strip_prefix("content-length: ")
                .map_or(length, |n| n.trim().parse().unwrap());
        }
        let mut body = vec![0; length];
        from.read_exact(&mut body).unwrap();
        let sent = if String::from_utf8(body).unwrap().contains("\"stream\":true") {
            events(&mut to)
        } else {
            whole(&mut to)
        };
        if sent.is_err() {
            return;
        }
    }
}

fn whole(to: &mut TcpStream) -> std::io::Result<()> {
    let body = r#"{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"At nine."},"finish_reason":"stop"}]}"#;
    let length = body.len();
    write!(to, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
}

fn events(to: &mut TcpStream) -> std::io::Result<()> {
    to.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
    )?;
    for _ in 0..CHUNKS {
        let sent = now().as_nanos();
        let event = format!(
            "data: {{\"object\":\"chat.completion.chunk\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"word \"}}}}],\"sent\":{sent}}}\n\n"
        );
        to.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())?;
        thread::sleep(GAP);
    }
    to.write_all(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
}

/// What a process of this program is, other than the one that asks: `provider`, or the relay before the port that it
/// holds. Clients and providers are processes of their own elsewhere too, and where the kernel lets their threads run
/// is a good part of what an answer takes.
const PART: &str = "RSV_BENCH_PART";

/// Such a process, and its port.
fn beside(part: &str) -> (Child, u16) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let mut process = command.env(PART, part).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (process, line.trim().parse().unwrap())
}

/// A bare relay: axum, reqwest, and what lies between them.
fn relay(provider: u16) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
    let app = Router::new().fallback(pass).with_state((client, provider));
    tokio::runtime::Runtime::new().unwrap().block_on(async move {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("{}", listener.local_addr().unwrap().port());
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
        axum::serve(listener, app).await.unwrap();
    });
}

async fn pass(State((client, provider)): State<(reqwest::Client, u16)>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let url = format!("http://127.0.0.1:{provider}/v1/chat/completions");
    let asked = client.request(head.method, url).header("content-type", "application/json").body(body);
    let Ok(sent) = asked.send().await else { return StatusCode::BAD_GATEWAY.into_response() };
    let (mut head, body) = hyper::Response::<reqwest::Body>::from(sent).into_parts();
    head.headers.remove("transfer-encoding");
    Response::from_parts(head, Body::new(body))
}

/// rsv-proxy with a store of messages and without an embedding model.
fn proxy(home: &std::path::Path, provider: u16) -> (Child, u16) {
    let command = |tool: &str| {
        let mut command =
            Command::new(std::path::Path::new(env!("CARGO_BIN_EXE_rsv-proxy")).with_file_name(tool));
        command
            .env_clear()
            .env("HOME", home)
            .env("RSV_OLLAMA_BASE_URL", format!("http://127.0.0.1:{provider}"));
        command
    };
    let mut filling = command("rsv-ingest")
        .args(["--quiet", "-p", "bench", "-i", "0"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut to = filling.stdin.take().unwrap();
    for number in 0..MESSAGES {
        writeln!(to, "{{\"role\":\"user\",\"content\":\"{}\"}}", words(number, 12)).unwrap();
    }
    drop(to);
    assert!(filling.wait().unwrap().success());
    let mut proxy = command("rsv-proxy").args(["--port", "0"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(proxy.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let port = line.trim().rsplit(':').next().unwrap().parse().unwrap();
    thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::stderr()));
    (proxy, port)
}
