//! Measures the latency that rsv-proxy adds to an answer, compared with a bare relay of axum and reqwest. Both stand
//! before a provider that answers at once; requests to the provider itself, the relay and the proxy alternate. Times
//! are in milliseconds, the median and the 99th percentile. The ratio is that of the times which the proxy and the
//! relay add to the median; it is the median of all rounds. The last columns are the time that memory adds to the 95th
//! percentile and the memory that a connection takes. Run it by `cargo bench --bench proxy`; 1 000 connections need
//! `ulimit -n 8192`. The first row pins each process to a processor (which needs taskset); in all other rows the kernel
//! places them. With RSV_BENCH_REQUESTS=N it prints instead the memory of the proxy after each tenth of N requests; with
//! RSV_BENCH_ROW=TEXT only the rows whose names have this text, each with the processor time of a turn in the proxy.
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
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// The number of messages that the first client recalls from; each client has its own scope, as users have.
const STORED_MESSAGES: usize = 10_000;
const ROUNDS: usize = 3;
/// The kernel's scheduling of a single client varies from moment to moment: many short rounds show the usual case.
const SHORT_ROUNDS: usize = 31;
const CLIENTS: usize = 64;
/// The pause of clients that do not send all the time.
const PAUSE: Duration = Duration::from_millis(500);
const CHUNKS: usize = 50;
const CHUNK_INTERVAL: Duration = Duration::from_millis(20);
const CONNECTIONS: usize = 1000;

static NEXT_QUESTION: AtomicUsize = AtomicUsize::new(0);

/// The size of a long session, in bytes, and the number of its turns.
const SESSION_BYTES: usize = 2 << 20;
const SESSION_TURNS: usize = 200;

/// A server to send requests to, a header to send with them, their API, and the bytes before the question.
#[derive(Clone, Copy)]
struct Target {
    port: u16,
    header: &'static str,
    api: &'static str,
    session: &'static str,
    /// Whether the session comes after the question, as while tools run.
    continues: bool,
    /// The process that answers.
    process: u32,
}

/// The provider itself, the relay, the proxy with memory off, and with memory.
type Targets = [Target; 4];

fn main() {
    match std::env::var(PART).as_deref() {
        Ok("provider") => return provide(),
        Ok(provider) => return relay(provider.parse().unwrap()),
        Err(_) => {}
    }
    let home = tempfile::tempdir().unwrap();
    let (mut provider_process, provider) = spawn_part("provider");
    let (mut proxy, port) = proxy(home.path(), provider);
    let (mut relay, relayed) = spawn_part(&provider.to_string());
    let [first, second, third] = [provider_process.id(), relay.id(), proxy.id()];
    let off = "x-rsv-memory: off\r\n";
    let targets = [(provider, "", first), (relayed, "", second), (port, off, third), (port, "", third)].map(
        |(port, header, process)| Target { port, header, api: CHAT, session: "", continues: false, process },
    );
    match std::env::var("RSV_BENCH_REQUESTS") {
        Ok(requests) => measure_memory(proxy.id(), targets, requests.parse().unwrap()),
        Err(_) => {
            check_recall(targets);
            let ends = [std::process::id(), provider_process.id()];
            compare_single(targets, ends, [relay.id(), proxy.id()]);
            compare(proxy.id(), targets);
        }
    }
    for other in [&mut relay, &mut provider_process] {
        other.kill().unwrap();
        other.wait().unwrap();
    }
    Command::new("kill").arg(proxy.id().to_string()).status().unwrap();
    assert!(proxy.wait().unwrap().success());
}

/// The cost of memory is measured only if it adds something: for each API, the proxy adds recalled text to a request with
/// memory, and neither it nor the relay changes one without.
fn check_recall(targets: Targets) {
    for (target, api) in
        targets.iter().flat_map(|target| [CHAT, MESSAGES, RESPONSES].map(|api| (target, api)))
    {
        let target = Target { api, ..*target };
        let sent = request(target, 0, false);
        let mut stream = BufReader::new(connect(target.port));
        stream.get_mut().write_all(sent.as_bytes()).unwrap();
        read(&mut stream, Instant::now());
        let received = last_request(targets[0].port);
        let body = sent.split_once("\r\n\r\n").unwrap().1;
        if target.header.is_empty() && target.process == targets[3].process {
            assert!(received.contains("<rsv-memory>"), "nothing is recalled for {api}: {received}");
        } else {
            assert_eq!(received, body, "{api}");
        }
    }
}

/// The body that the provider received last.
fn last_request(provider: u16) -> String {
    let mut stream = connect(provider);
    write!(stream, "GET {LAST_REQUEST} HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// The path at which the provider tells what it received.
const LAST_REQUEST: &str = "/last-request";

/// One client that sends one request after another. The client and the provider are pinned to one processor, the relay
/// and the proxy to another: otherwise the kernel moves them now and then, which takes longer than what is measured.
fn compare_single(targets: Targets, ends: [u32; 2], between: [u32; 2]) {
    println!(
        "{:<36}{:>16}{:>16}{:>16}{:>8}{:>16}{:>8}",
        "p50 p99 in ms", "provider", "bare relay", "memory off", "ratio", "on", "+ p95"
    );
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
    let border = |c| c == ',' || c == '-';
    let (first, last) = (allowed.split(border).next().unwrap(), allowed.rsplit(border).next().unwrap());
    for (processor, processes) in [(first, ends), (last, between)] {
        for process in &processes {
            pin_to(processor, *process);
        }
    }
    let one = |requests| move |target| run_clients(1, target, requests, false, Duration::ZERO);
    row("whole, 1, held on processors", targets, ROUNDS, one(1000));
    [ends, between].as_flattened().iter().for_each(|process| pin_to(allowed, *process));
    row("whole, 1, as the kernel places them", targets, SHORT_ROUNDS, one(100));
}

/// Pins a process to these processors.
fn pin_to(processors: &str, process: u32) {
    let mut command = Command::new("taskset");
    let status = command.args(["-acp", processors, &process.to_string()]).stdout(Stdio::null()).status();
    assert!(status.unwrap().success());
}

fn compare(proxy: u32, targets: Targets) {
    for api in [MESSAGES, RESPONSES] {
        let targets = targets.map(|target| Target { api, ..target });
        let one = |requests| move |target| run_clients(1, target, requests, false, Duration::ZERO);
        row(&format!("{api}, 1"), targets, SHORT_ROUNDS, one(100));
        let session: &'static str = session(api).leak();
        let targets = targets.map(|target| Target { session, ..target });
        row(&format!("{api} of 2 MB, 1"), targets, SHORT_ROUNDS, one(10));
        let targets = targets.map(|target| Target { continues: true, ..target });
        row(&format!("{api} of 2 MB, 1, tools run"), targets, SHORT_ROUNDS, one(10));
    }
    for (name, clients, requests, pause) in [
        ("whole, 64 all the time", CLIENTS, 50, Duration::ZERO),
        ("whole, 64 that ask twice a second", CLIENTS, 10, PAUSE),
    ] {
        row(name, targets, ROUNDS, |target| run_clients(clients, target, requests, false, pause));
    }
    if !is_wanted("streams") {
        return;
    }
    for (name, pause) in [("streams begun at once", Duration::ZERO), ("streams begun in turn", PAUSE)] {
        let streamed = in_turns(targets, ROUNDS, |target| run_clients(CLIENTS, target, 4, true, pause));
        print_row(&format!("{CLIENTS} {name}, first"), &select(&streamed, true));
        print_row(&format!("{CLIENTS} {name}, later"), &select(&streamed, false));
    }
    measure_connections(proxy, targets[2]);
}

/// Whether a row is to be measured.
fn is_wanted(name: &str) -> bool {
    std::env::var("RSV_BENCH_ROW").ok().is_none_or(|wanted| name.contains(&wanted))
}

/// Measures and prints a row; if it was chosen, with the processor time that each target's process takes for a request.
fn row(name: &str, targets: Targets, rounds: usize, measure: impl Fn(Target) -> Vec<Sample>) {
    if !is_wanted(name) {
        return;
    }
    print_row(name, &in_turns(targets, rounds, &measure));
    if std::env::var("RSV_BENCH_ROW").is_ok() {
        let each = targets.map(|target| {
            let before = processor_time(target.process);
            let requests = measure(target).len();
            1e3 * (processor_time(target.process) - before) / requests as f64
        });
        println!("processor time of a request in ms: {each:.3?}");
    }
}

/// The processor time of a process in seconds, with its threads.
fn processor_time(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let numbers: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    // In hundredths of a second; the state of the process is the first of these.
    numbers[11..13].iter().map(|time| time.parse::<f64>().unwrap() / 100.0).sum()
}

/// Prints the memory of the proxy after each tenth of many requests, half of them with memory off.
fn measure_memory(proxy: u32, targets: Targets, requests: usize) {
    assert!(requests / 20 / CLIENTS > 0, "{requests} requests are too few for {CLIENTS} clients");
    for tenth in 1..=10 {
        for target in &targets[2..] {
            run_clients(CLIENTS, *target, requests / 20 / CLIENTS, false, Duration::ZERO);
        }
        println!("{tenth} tenths of {requests} requests: {:.0} KB beside the mapped store", memory(proxy));
    }
}

/// One measured time, and whether it is that of a first byte.
type Sample = (bool, Duration);

/// The times of each target in a round.
type Round = [Vec<Sample>; 4];

/// Measures each target once a round, so that other load of the machine affects all of them.
fn in_turns(targets: Targets, rounds: usize, measure: impl Fn(Target) -> Vec<Sample>) -> Vec<Round> {
    for target in &targets {
        drop(run_clients(1, *target, 20, false, Duration::ZERO));
    }
    (0..rounds).map(|_| targets.map(&measure)).collect()
}

fn select(rounds: &[Round], first: bool) -> Vec<Round> {
    let those = |times: &Vec<Sample>| times.iter().filter(|taken| taken.0 == first).copied().collect();
    rounds.iter().map(|round| round.each_ref().map(those)).collect()
}

/// The quantile of numbers: this share of them does not exceed it.
fn quantile(mut numbers: Vec<f64>, quantile: f64) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[(quantile * (numbers.len() - 1) as f64) as usize]
}

fn print_row(name: &str, rounds: &[Round]) {
    let taken =
        |times: &Vec<Sample>| times.iter().map(|taken| taken.1.as_secs_f64() * 1e3).collect::<Vec<_>>();
    let all =
        [0, 1, 2, 3].map(|target| rounds.iter().flat_map(|round| taken(&round[target])).collect::<Vec<_>>());
    let [direct, bare, off, on] =
        all.each_ref().map(|all| (quantile(all.clone(), 0.5), quantile(all.clone(), 0.99)));
    let columns = |(half, most): (f64, f64)| format!("{half:>8.2}{most:>8.2}");
    let more = quantile(all[3].clone(), 0.95) - quantile(all[2].clone(), 0.95);
    let ratio = |round: &Round| {
        let [direct, bare, off, _] = round.each_ref().map(|times| quantile(taken(times), 0.5));
        (off - direct) / (bare - direct)
    };
    let ratio = quantile(rounds.iter().map(ratio).collect(), 0.5);
    println!(
        "{name:<36}{}{}{}{ratio:>8.2}{}{more:>8.2}",
        columns(direct),
        columns(bare),
        columns(off),
        columns(on)
    );
}

/// Runs clients that begin one after the other; each sends its next request after the answer and a `pause`.
fn run_clients(
    clients: usize,
    target: Target,
    requests: usize,
    streamed: bool,
    pause: Duration,
) -> Vec<Sample> {
    let client = |number| {
        thread::spawn(move || {
            thread::sleep(pause * number as u32 / clients as u32);
            let mut stream = BufReader::new(connect(target.port));
            let direct = (0..requests).flat_map(|_| {
                thread::sleep(pause);
                ask(&mut stream, target, number, streamed)
            });
            direct.collect::<Vec<_>>()
        })
    };
    let clients: Vec<_> = (0..clients).map(client).collect();
    clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
}

/// The system time, which all processes of this machine share.
fn now() -> Duration {
    SystemTime::UNIX_EPOCH.elapsed().unwrap()
}

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// A request.
fn request(target: Target, client: usize, streamed: bool) -> String {
    // A client that asks the same thing a thousand times would recall from a thousand equal messages.
    let question = NEXT_QUESTION.fetch_add(1, Ordering::Relaxed);
    let model = match target.api {
        MESSAGES => "claude-x",
        RESPONSES => "gpt-5",
        _ => "llama3.1",
    };
    let turns = if target.api == RESPONSES { "input" } else { "messages" };
    let ask = |question| format!("{{\"role\":\"user\",\"content\":\"{}?\"}},", words(question, 4));
    let said = if target.continues {
        // The requests of one turn differ in what the tools returned last.
        format!("{}{}{}", ask(client), target.session, tool(target.api, question, &question.to_string()))
    } else {
        format!("{}{}", target.session, ask(question))
    };
    let said = said.trim_end_matches(',');
    let body =
        format!("{{\"model\":\"{model}\",\"max_tokens\":1024,\"stream\":{streamed},\"{turns}\":[{said}]}}");
    let (length, header, api) = (body.len(), target.header, target.api);
    let head = format!(
        "POST /partition/bench/instance/{client}/v1/{api} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{header}\r\n"
    );
    head + &body
}

/// The paths of the APIs after `/v1/`.
const CHAT: &str = "chat/completions";
const MESSAGES: &str = "messages";
const RESPONSES: &str = "responses";

/// The turns of a long session with tools, each with a comma behind it.
fn session(api: &str) -> String {
    let output = "fn main() { println!(\\\"owl\\\"); }\\n".repeat(SESSION_BYTES / SESSION_TURNS / 36);
    (0..SESSION_TURNS).map(|at| tool(api, at, &output)).collect()
}

/// A call of a tool and its output, each with a comma behind it.
fn tool(api: &str, at: usize, output: &str) -> String {
    match api {
        RESPONSES => format!(
            "{{\"type\":\"function_call\",\"call_id\":\"c{at}\",\"name\":\"read\",\"arguments\":\"{{}}\"}},\
             {{\"type\":\"function_call_output\",\"call_id\":\"c{at}\",\"output\":\"{output}\"}},"
        ),
        _ => format!(
            "{{\"role\":\"assistant\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"c{at}\",\"name\":\"read\",\"input\":{{}}}}]}},\
             {{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"c{at}\",\"content\":\"{output}\"}}]}},"
        ),
    }
}

/// So many of 3 000 words, chosen by a number.
fn words(seed: usize, count: usize) -> String {
    (0..count).map(|at| format!("w{} ", (seed * 31 + at + 1) * 7919 % 3001)).collect()
}

/// Asks, and reads all of the answer: how long its first byte took, and each later chunk on its way.
fn ask(stream: &mut BufReader<TcpStream>, target: Target, client: usize, streamed: bool) -> Vec<Sample> {
    let request = request(target, client, streamed);
    let begun = Instant::now();
    stream.get_mut().write_all(request.as_bytes()).unwrap();
    read(stream, begun)
}

fn read(stream: &mut BufReader<TcpStream>, begun: Instant) -> Vec<Sample> {
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
        let mut answer = vec![0; length];
        stream.read_exact(&mut answer).unwrap();
        let taken = begun.elapsed();
        assert!(String::from_utf8(answer).unwrap().contains("At nine."));
        return vec![(true, taken)];
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

/// Prints the memory that each of many idle connections takes in the proxy, and that of each of as many streams.
fn measure_connections(proxy: u32, target: Target) {
    let memory = || memory(proxy);
    let before = memory();
    let mut idle: Vec<_> = (0..CONNECTIONS).map(|_| BufReader::new(connect(target.port))).collect();
    for stream in &mut idle {
        drop(ask(stream, target, 0, false));
    }
    let waiting = memory();
    let mut streams: Vec<_> = (0..CONNECTIONS).map(|_| BufReader::new(connect(target.port))).collect();
    for stream in &mut streams {
        stream.get_mut().write_all(request(target, 0, true).as_bytes()).unwrap();
    }
    let mut most = memory();
    let begun = Instant::now();
    for stream in &mut streams {
        read(stream, begun);
        most = most.max(memory());
    }
    let each = |kilobytes: f64| kilobytes / CONNECTIONS as f64;
    println!("{CONNECTIONS} idle connections: {:.1} KB each", each(waiting - before));
    println!("{CONNECTIONS} streams beside them: {:.1} KB each", each(most - waiting));
    for stream in &mut idle {
        drop(ask(stream, target, 0, false));
    }
}

/// The provider, with a thread for each connection.
fn provide() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    listener.incoming().for_each(|stream| drop(thread::spawn(move || answer(stream.unwrap()))));
}

static LAST: Mutex<String> = Mutex::new(String::new());

/// An answer at once, or a stream of chunks that tell when they were sent.
fn answer(stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut to = stream.try_clone().unwrap();
    let mut from = BufReader::new(stream);
    loop {
        let (mut line, mut length, mut path) = (String::new(), 0, String::new());
        while line != "\r\n" {
            line.clear();
            if !from.read_line(&mut line).is_ok_and(|read| read > 0) {
                return;
            }
            if path.is_empty() {
                path.clone_from(&line);
            }
            length = line
                .to_lowercase()
                .strip_prefix("content-length: ")
                .map_or(length, |n| n.trim().parse().unwrap());
        }
        let mut body = vec![0; length];
        from.read_exact(&mut body).unwrap();
        if path.contains(LAST_REQUEST) {
            let last = LAST.lock().unwrap();
            write!(to, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{last}", last.len()).unwrap();
            return;
        }
        let body = String::from_utf8(body).unwrap();
        let is_streamed = body.contains("\"stream\":true");
        // The proxy also asks for the windows of models.
        if body.contains("\"stream\":") {
            *LAST.lock().unwrap() = body;
        }
        let sent = if is_streamed { events(&mut to) } else { whole(&mut to, &path) };
        if sent.is_err() {
            return;
        }
    }
}

fn whole(to: &mut TcpStream, path: &str) -> std::io::Result<()> {
    let body = if path.contains(MESSAGES) {
        r#"{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"At nine."}],"stop_reason":"end_turn"}"#
    } else if path.contains(RESPONSES) {
        r#"{"id":"r","object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"At nine."}]}]}"#
    } else {
        r#"{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"At nine."},"finish_reason":"stop"}]}"#
    };
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
        thread::sleep(CHUNK_INTERVAL);
    }
    to.write_all(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
}

/// The variable that gives a process of this program its part: `provider`, or the relay before the port that the
/// variable holds. Clients and providers are processes of their own elsewhere too, and the kernel's placement of their
/// threads is a good part of the time of an answer.
const PART: &str = "RSV_BENCH_PART";

/// Starts such a process and returns it with its port.
fn spawn_part(part: &str) -> (Child, u16) {
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
    let path = head.uri.path().split_once("/v1/").map_or(CHAT, |(_, path)| path);
    let url = format!("http://127.0.0.1:{provider}/v1/{path}");
    let direct = client.request(head.method, url).header("content-type", "application/json").body(body);
    let Ok(sent) = direct.send().await else { return StatusCode::BAD_GATEWAY.into_response() };
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
            .env("RSV_OLLAMA_BASE_URL", format!("http://127.0.0.1:{provider}"))
            .env("RSV_ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{provider}/v1"))
            .env("RSV_OPENAI_BASE_URL", format!("http://127.0.0.1:{provider}/v1"))
            .envs([("ANTHROPIC_API_KEY", "sk-ant-x"), ("OPENAI_API_KEY", "sk-x")]);
        command
    };
    let mut ingest = command("rsv-ingest")
        .args(["--quiet", "-p", "bench", "-i", "0"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut to = ingest.stdin.take().unwrap();
    for number in 0..STORED_MESSAGES {
        writeln!(to, "{{\"role\":\"user\",\"content\":\"{}\"}}", words(number, 12)).unwrap();
    }
    drop(to);
    assert!(ingest.wait().unwrap().success());
    let mut proxy = command("rsv-proxy").args(["--port", "0"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(proxy.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let port = line.trim().rsplit(':').next().unwrap().parse().unwrap();
    thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::stderr()));
    (proxy, port)
}
