//! Failures between rsv and a Neo4j server: they are reported, and no record is lost or doubled.

use crate::fake::{Answer, Fake};
use crate::neo4j::Graph;
use crate::proxy::{Proxy, REPLY, asking, post};
use crate::support::{Home, on_graph, wait_for};
use rsv::record::{Embedding, Object, Record};
use rsv::store::{self, OpenMode, WriteRules};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

const CHAT: &str = "/v1/chat/completions";

/// When a wire is cut by itself.
#[derive(Clone, Copy, PartialEq)]
enum Cut {
    Never,
    /// After so many bytes to the server.
    After(usize),
    /// When the server has committed a transaction, before it can say so.
    Committed,
}

/// A wire to the server, which can be cut: who is connected loses the connection.
pub(crate) struct Wire {
    port: u16,
    server: String,
    state: Arc<State>,
    listening: Option<JoinHandle<()>>,
}

struct State {
    /// Whether every connection is closed.
    dead: AtomicBool,
    cut: Mutex<Cut>,
    /// Whether it dies when it is cut by itself.
    mortal: AtomicBool,
    /// A server that is killed when it is cut by itself.
    victim: Mutex<Option<Child>>,
    streams: Mutex<Vec<TcpStream>>,
}

impl State {
    fn cut(&self) {
        for stream in self.streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Whether the connection is cut after these bytes to the server.
    fn passes(&self, bytes: &[u8]) -> bool {
        let mut cut = self.cut.lock().unwrap();
        match &mut *cut {
            Cut::After(left) if bytes.len() < *left => *left -= bytes.len(),
            Cut::After(_) => {
                *cut = Cut::Never;
                return false;
            }
            Cut::Never | Cut::Committed => {}
        }
        true
    }

    /// Carries bytes one way until there are no more.
    fn carry(&self, mut from: TcpStream, mut to: TcpStream, up: bool, committing: &AtomicBool) {
        const COMMIT: [u8; 6] = [0, 2, 0xb0, 0x12, 0, 0];
        let mut bytes = vec![0; 1 << 16];
        while let Ok(read) = from.read(&mut bytes) {
            let bytes = &bytes[..read];
            let wanted = up && *self.cut.lock().unwrap() == Cut::Committed;
            if wanted && bytes.windows(COMMIT.len()).any(|some| some == COMMIT) {
                *self.cut.lock().unwrap() = Cut::Never;
                committing.store(true, Ordering::SeqCst);
            }
            let lost = !up && committing.load(Ordering::SeqCst) || up && !self.passes(bytes);
            if lost {
                self.dead.store(self.mortal.load(Ordering::SeqCst), Ordering::SeqCst);
                if let Some(victim) = self.victim.lock().unwrap().take() {
                    kill(victim);
                }
                self.cut();
            }
            if read == 0 || lost || to.write_all(bytes).is_err() {
                break;
            }
        }
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    }
}

impl Wire {
    pub(crate) fn to(address: &str) -> Wire {
        let state = State {
            dead: AtomicBool::new(false),
            cut: Mutex::new(Cut::Never),
            mortal: AtomicBool::new(false),
            victim: Mutex::default(),
            streams: Mutex::default(),
        };
        let server = address.trim_start_matches("bolt://").to_owned();
        let mut wire = Wire { port: 0, server, state: Arc::new(state), listening: None };
        wire.repair();
        wire
    }

    pub(crate) fn address(&self) -> String {
        format!("bolt://127.0.0.1:{}", self.port)
    }

    /// Serves again, at the same port.
    pub(crate) fn repair(&mut self) {
        let listener = TcpListener::bind(("127.0.0.1", self.port)).unwrap();
        self.port = listener.local_addr().unwrap().port();
        self.state.dead.store(false, Ordering::SeqCst);
        let (server, state) = (self.server.clone(), self.state.clone());
        self.listening = Some(std::thread::spawn(move || {
            for here in listener.incoming() {
                if state.dead.load(Ordering::SeqCst) {
                    return;
                }
                let (here, there) = (here.unwrap(), TcpStream::connect(&server).unwrap());
                let committing = Arc::new(AtomicBool::new(false));
                for (from, to, up) in [(&here, &there, true), (&there, &here, false)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let (state, committing) = (state.clone(), committing.clone());
                    std::thread::spawn(move || state.carry(from, to, up, &committing));
                }
                state.streams.lock().unwrap().extend([here, there]);
            }
        }));
    }

    /// Acts like a stopped server: it closes its connections and accepts none.
    pub(crate) fn stop(&mut self) {
        self.state.dead.store(true, Ordering::SeqCst);
        self.state.cut();
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        self.listening.take().unwrap().join().unwrap();
    }

    fn cut_at(&self, cut: Cut, mortal: bool) {
        self.state.mortal.store(mortal, Ordering::SeqCst);
        *self.state.cut.lock().unwrap() = cut;
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if self.listening.is_some() {
            self.stop();
        }
    }
}

/// Turns of questions, answers, vectors and links, whose ids begin with a name.
fn turns(name: &str, count: usize) -> String {
    let turn = |n: usize| {
        let line = |role: &str, at: usize| {
            serde_json::json!({"id": format!("{name}-{n}-{role}"), "trace_id": format!("{name}-{n}"),
                "partition": "p", "instance": "p", "role": role, "content": format!("{role} {n} of {name}"),
                "timestamp": 2 * n + at, "embedding": [1.0, n as f32], "embedding_model": "tiny"})
        };
        let link = serde_json::json!({"rel": "RESPONDED_WITH", "from": format!("{name}-{n}-user"),
            "to": format!("{name}-{n}-assistant"), "timestamp": 2 * n});
        format!("{}\n{}\n{link}\n", line("user", 0), line("assistant", 1))
    };
    (0..count).map(turn).collect()
}

on_graph!(interrupted_writes_are_whole_and_happen_once);
/// Keeps: An interrupted write to a server is applied whole and once.
fn interrupted_writes_are_whole_and_happen_once(home: Home) {
    let mut wire = Wire::to(home.graph().address());
    let there = home.env("RSV_STORE", &wire.address());
    let copy = Home::new();
    let cuts = [10, 300, 1000, 3000, 10_000, 30_000].map(Cut::After).into_iter().chain([Cut::Committed]);
    for (n, cut) in cuts.enumerate() {
        let lines = turns(&format!("cut{n}"), 60);
        copy.run("rsv-import", &["--quiet"], &lines).ok();
        // It comes back at once.
        wire.cut_at(cut, false);
        there.run("rsv-import", &["--quiet"], &lines).ok();
        assert!(*wire.state.cut.lock().unwrap() == Cut::Never, "it was never cut");
        assert_eq!(home.export(), copy.export());
    }
    for (n, cut) in [Cut::After(20_000), Cut::Committed].into_iter().enumerate() {
        let lines = turns(&format!("dead{n}"), 60);
        wire.cut_at(cut, true);
        let said = there.run("rsv-import", &["--quiet"], &lines).trouble();
        assert!(said.contains("cannot write to store bolt://127.0.0.1:"), "{said}");
        assert!(said.contains("hint: is Neo4j running there?"), "{said}");
        // All of the batch, or nothing.
        let half = home.export();
        assert!(half == copy.export() || cut == Cut::Committed);
        copy.run("rsv-import", &["--quiet"], &lines).ok();
        assert!(half == copy.export() || cut != Cut::Committed);
        wire.stop();
        wire.repair();
        there.run("rsv-import", &["--quiet"], &lines).ok();
        assert_eq!(home.export(), copy.export());
    }
    home.check();
}

/// Ends a process, which is not asked first.
fn kill(mut process: Child) {
    process.kill().unwrap();
    process.wait().unwrap();
}

/// Starts a server on a directory, at a port; gives its address too.
fn serve(directory: &Path, port: &str) -> (Child, String) {
    let mut command = Command::new("bash");
    command.arg("scripts/neo4j").arg(port).arg(directory).env_remove("NEO4J_PASSWORD");
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut address).unwrap();
    (process, address.trim_end().to_owned())
}

/// Keeps: A killed server keeps the writes that it acknowledged.
#[test]
fn a_server_that_is_killed_in_a_batch_keeps_what_it_acknowledged_and_nothing_else() {
    if std::env::var_os("RSV_TEST_NEO4J").is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (mut server, address) = serve(directory.path(), "0");
    let mut wire = Wire::to(&address);
    let home = Home::new().env("RSV_STORE", &wire.address());
    let copy = Home::new();
    for home in [&home, &copy] {
        home.run("rsv-import", &["--quiet"], turns("first", 60)).ok();
    }
    for (n, cut) in [Cut::After(20_000), Cut::Committed].into_iter().enumerate() {
        let lines = turns(&format!("killed{n}"), 60);
        *wire.state.victim.lock().unwrap() = Some(server);
        wire.cut_at(cut, true);
        assert!(
            home.run("rsv-import", &["--quiet"], &lines).trouble().contains("cannot write to store bolt://")
        );
        assert!(wire.state.victim.lock().unwrap().is_none(), "the server lives");
        wire.stop();
        let port = address.rsplit(':').next().unwrap();
        server = serve(directory.path(), port).0;
        wire.repair();
        let there = home.export();
        assert!(there == copy.export() || cut == Cut::Committed);
        copy.run("rsv-import", &["--quiet"], &lines).ok();
        assert!(there == copy.export() || cut != Cut::Committed);
        home.run("rsv-import", &["--quiet"], &lines).ok();
        assert_eq!(home.export(), copy.export());
        Graph::at(address.clone(), String::new()).check();
    }
    kill(server);
}

/// A home whose proxy waits for memory as long as it takes.
fn patient(home: &Home, provider: &Fake) -> Home {
    home.env("RSV_OLLAMA_BASE_URL", &provider.url()).env("RSV_ENRICH_TIMEOUT", "60s")
}

on_graph!(the_proxy_answers_without_its_server_and_stores_when_it_is_back);
fn the_proxy_answers_without_its_server_and_stores_when_it_is_back(home: Home) {
    let provider = Fake::new(vec![Answer::new(200, REPLY); 3]);
    let mut wire = Wire::to(home.graph().address());
    let home = patient(&home, &provider).env("RSV_STORE", &wire.address());
    let proxy = Proxy::start(&home);
    let ask = |text: &str| proxy.whole(&post(CHAT, "", &asking(text)));
    let first = ask("the first question");
    assert!(first.starts_with("HTTP/1.1 200") && !first.contains("x-rsv-degraded"), "{first}");
    proxy.settle();
    wire.stop();
    let second = ask("the second question");
    assert!(second.starts_with("HTTP/1.1 200") && second.contains("x-rsv-degraded: cannot "), "{second}");
    let (status, health) = proxy.get("/health");
    assert!(status == 503 && health.contains("\"status\":\"degraded\""), "{health}");
    wire.repair();
    wait_for("the turn to be stored", || proxy.get("/health").1.contains("\"pending\":0,"));
    assert_eq!(proxy.get("/health").0, 200);
    let third = ask("the third question");
    assert!(third.contains("x-rsv-recalled") && !third.contains("x-rsv-degraded"), "{third}");
    proxy.settle();
    let said = home.contents("rsv-view", &["9"]);
    assert_eq!(said.iter().filter(|text| text.starts_with("the ")).count(), 3, "{said:?}");
    assert_eq!(said.len(), 6);
}

#[test]
fn a_proxy_reports_an_unreachable_server_when_it_starts() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    // This one takes connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_address = silent.local_addr().unwrap();
    let without_memory = "requests continue without memory";
    for (address, said) in [
        (closed, format!("cannot open store bolt://{closed}: connection refused; {without_memory}")),
        (silent_address, format!("store bolt://{silent_address} has not answered yet; {without_memory}")),
    ] {
        let home = Home::new().env("RSV_STORE", &format!("bolt://{address}"));
        let mut proxy = Proxy::start(&home);
        proxy.hear_until(&said);
        assert_eq!(proxy.end(), Some(0));
        // Reservoir's command does the same, with the address in Reservoir's variable.
        let home = Home::new().env("RSV_STORE", "neo4j").env("NEO4J_URI", &format!("bolt://{address}"));
        let mut proxy = Proxy::spawn(reservoir(&home, &["start", "--port", "0"]));
        proxy.hear_until(&said);
        assert_eq!(proxy.end(), Some(0));
    }
}

/// The command `reservoir`, which finds the tools.
fn reservoir(home: &Home, words: &[&str]) -> Command {
    let tools = Path::new(env!("CARGO_BIN_EXE_rsv-config")).parent().unwrap().display();
    let path = format!("{tools}:{}", std::env::var("PATH").unwrap());
    let mut command = home.env("PATH", &path).command("/usr/bin/env");
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/reservoir")).args(words);
    command
}

on_graph!(a_locked_graph_times_out_writers_and_blocks_no_reader);
fn a_locked_graph_times_out_writers_and_blocks_no_reader(home: Home) {
    let provider = Fake::new(vec![Answer::new(200, REPLY); 2]);
    home.ingest(&[], r#"{"role":"user","content":"before"}"#);
    // Writers wait for this transaction.
    let held = home.graph().hold("MATCH (store:RsvStore) SET store.locked = true");
    let hasty = home.env("NEO4J_QUERY_TIMEOUT", "1s");
    let said = hasty.run("rsv-ingest", &["a text"], "").trouble();
    assert!(said.contains("no answer within 1 s") && said.contains("neo4j_query_timeout"), "{said}");
    // Readers do not wait.
    assert_eq!(home.contents("rsv-view", &["9"]), ["before"]);
    let until_waiting = |writers: usize| {
        let statement =
            "SHOW TRANSACTIONS YIELD status WHERE status STARTS WITH 'Blocked' RETURN status AS text";
        wait_for("waiting writers", || home.graph().texts(statement).len() == writers);
    };
    until_waiting(0);

    // Long enough for a machine that has much to do to make a connection.
    let narrow =
        patient(&home, &provider).env("NEO4J_MAX_CONNECTIONS", "1").env("NEO4J_CONNECTION_TIMEOUT", "8s");
    let proxy = Proxy::start(&narrow);
    let ask = |path: &str| proxy.whole(&post(path, "", &asking("a question")));
    let first = ask(CHAT);
    assert!(first.starts_with("HTTP/1.1 200") && !first.contains("x-rsv-degraded"), "{first}");
    // The turn that waits to be stored has the only connection.
    until_waiting(1);
    let other = ask(&format!("/v1/partition/other/instance/other{}", CHAT.trim_start_matches("/v1")));
    assert!(other.starts_with("HTTP/1.1 200") && other.contains("all connections are in use"), "{other}");
    home.graph().release(held);
    wait_for("the turn to be stored", || proxy.get("/health").1.contains("\"pending\":0,"));
    assert_eq!(home.contents("rsv-view", &["--all", "9"]).len(), 5);
}

on_graph!(a_timed_out_write_releases_its_connection);
fn a_timed_out_write_releases_its_connection(home: Home) {
    home.ingest(&[], r#"{"role":"user","content":"before"}"#);
    let held = home.graph().hold("MATCH (store:RsvStore) SET store.locked = true");
    // Connections are shared by address, and these are not for other tests.
    let mut place = home.place();
    place.address = place.address.replace("127.0.0.1", "localhost");
    place.server.query_timeout = Duration::from_secs(1);
    let mut hasty = store::open(&place, OpenMode::Create).unwrap();
    let of_nothing =
        Embedding { of: "?".into(), model: "m".into(), vector: vec![1.0], extra: Object::default() };
    let of_nothing = [Record::Embedding(of_nothing)];
    let said = hasty.write(&of_nothing, WriteRules::KEEP_OUT).unwrap_err().to_string();
    assert!(said.contains("no answer within 1 s"), "{said}");
    home.graph().release(held);
    // Its transaction was the next to get the lock.
    home.env("NEO4J_QUERY_TIMEOUT", "10s").ingest(&[], r#"{"role":"user","content":"after"}"#);
    // A busy server may take more than a second for it.
    wait_for("a connection", || hasty.write(&of_nothing, WriteRules::KEEP_OUT).is_ok());
    assert_eq!(home.contents("rsv-view", &["9"]), ["before", "after"]);
}

/// A server that answers the first bytes of each connection with these.
fn says(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 64]).and_then(|_| stream.write_all(bytes));
            // Else what it said might not arrive.
            let _ = bytes.is_empty() || stream.read(&mut [0; 64]).is_ok();
        }
    });
    format!("bolt://{address}")
}

/// A server that speaks Bolt 4.4 and says that it is Neo4j 4.4.
fn old() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let message = |bytes: &[u8]| [&[0, bytes.len() as u8], bytes, &[0, 0]].concat();
    let success = message(&[0xb1, 0x70, 0xa0]);
    let hello = message(b"\xb1\x70\xa1\x86server\x8bNeo4j/4.4.0");
    let fields = message(b"\xb1\x70\xa1\x86fields\x93\x86server\x87version\x81n");
    let record = message(b"\xb1\x71\x93\x854.4.0\xc0\xc0");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = [0; 20];
            let _ = stream.read_exact(&mut bytes).and_then(|()| stream.write_all(&[0, 0, 4, 4]));
            let mut size = [0; 2];
            let mut given = Vec::new();
            while stream.read_exact(&mut size).is_ok() {
                let size = usize::from(u16::from_be_bytes(size));
                if size > 0 {
                    let begin = given.len();
                    given.resize(begin + size, 0);
                    stream.read_exact(&mut given[begin..]).unwrap();
                    continue;
                }
                let answer = match given.get(1) {
                    Some(0x01) => hello.clone(),
                    Some(0x10) => fields.clone(),
                    Some(0x3f) => [record.as_slice(), &success].concat(),
                    _ => success.clone(),
                };
                given.clear();
                let _ = stream.write_all(&answer);
            }
        }
    });
    format!("bolt://{address}")
}

#[test]
fn a_server_that_is_not_neo4j_is_named() {
    let http = says(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    let port = "hint: give the port of Bolt, which is 7687 by default";
    let newer = "hint: use Neo4j 5.26 or a later one";
    for (address, cause, hint) in [
        (&http, "the server there is not Neo4j", port),
        (&says(b"SSH-2.0-OpenSSH_9.7\r\n"), "the server there is not Neo4j", port),
        (&says(&[0, 0, 0, 0]), "the server is too old for Bolt 4.4", newer),
        (&says(&[0, 0, 0, 3]), "the server is too old for Bolt 4.4", newer),
        (&old(), "the server is Neo4j 4.4.0, which is too old", newer),
        (&says(&[0x15, 3, 3, 0, 2, 2, 70]), "the server wants TLS", "hint: use an address with +s"),
        (&says(b""), "the server closed the connection", "hint: use an address with +s"),
    ] {
        let home = Home::new().env("NEO4J_CONNECTION_TIMEOUT", "5s").env("RSV_STORE", address);
        for (tool, words) in [("rsv-view", &["3"][..]), ("rsv-ingest", &["a text"])] {
            let said = home.run(tool, words, "").trouble();
            assert!(said.contains(cause) && said.contains(hint), "{cause}: {said}");
        }
    }
}
