//! Runs the tools: in a home of their own, with nothing else in the environment.

use crate::neo4j::Graph;
use crate::shared::made_once;
use rsv::config::StoreLocation;
use rsv::record::TombstoneState;
use rsv::store::{self, OpenMode, Removal, Store};
use serde_json::Value;
use std::fmt;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Makes two tests of a function that takes an empty home: `NAME::on_file` with its store in a file, and, where there is
/// a server, `NAME::on_graph` with its store there.
macro_rules! on_each_store {
    ($story:ident) => {
        mod $story {
            #[test]
            fn on_file() {
                super::$story(crate::support::Home::new());
            }

            #[test]
            fn on_graph() {
                crate::support::Home::in_graph().into_iter().for_each(super::$story);
            }
        }
    };
}

/// Makes a test, `NAME::on_graph`, of a function that takes an empty home whose store is at a server.
macro_rules! on_graph {
    ($story:ident) => {
        mod $story {
            #[test]
            fn on_graph() {
                crate::support::Home::in_graph().into_iter().for_each(super::$story);
            }
        }
    };
}

pub(crate) use {on_each_store, on_graph};

/// A home directory, and the environment of the tools that are run in it.
#[derive(Clone)]
pub(crate) struct Home {
    directory: Arc<TempDir>,
    environment: Vec<(String, String)>,
    /// Variables that are taken away.
    absent: Vec<String>,
    /// Where the store is, if that is no file.
    graph: Option<Arc<Graph>>,
}

impl Home {
    /// Makes an empty home.
    pub(crate) fn new() -> Home {
        Home::of(tempfile::tempdir().unwrap())
    }

    /// An empty home that stays when this is dropped: the directory `home` in another.
    pub(crate) fn kept_in(directory: &Path) -> Home {
        let mut home = tempfile::Builder::new();
        Home::of(home.prefix("home").rand_bytes(0).disable_cleanup(true).tempdir_in(directory).unwrap())
    }

    fn of(directory: TempDir) -> Home {
        Home { directory: Arc::new(directory), environment: Vec::new(), absent: Vec::new(), graph: None }
    }

    /// An empty home whose store is the graph of a server, if there is one.
    pub(crate) fn in_graph() -> Option<Home> {
        let graph = Graph::empty()?;
        let with = |home: Home, (name, value): (&str, &str)| home.env(name, value);
        // A server plans each query when it gets it first.
        let home = Home::new().env("RSV_ENRICH_TIMEOUT", "60s");
        let home = graph.environment().into_iter().fold(home, with);
        Some(Home { graph: Some(Arc::new(graph)), ..home })
    }

    /// How often a test kills something that uses the store, unless `RSV_TEST_KILLS` says it: a server is slower.
    pub(crate) fn kills(&self) -> u64 {
        number_from("RSV_TEST_KILLS").unwrap_or(if self.is_at_server() { 2 } else { 6 })
    }

    /// Another home with an empty store of the same kind; a server loses what it has.
    pub(crate) fn emptied(&self) -> Home {
        if let Some(graph) = &self.graph {
            graph.clear();
        }
        Home { directory: Home::new().directory, ..self.clone() }
    }

    /// The graph that its store is.
    pub(crate) fn graph(&self) -> &Graph {
        self.graph.as_ref().unwrap()
    }

    /// Whether its store is at a server.
    pub(crate) fn is_at_server(&self) -> bool {
        self.graph.is_some()
    }

    /// Where the store is.
    pub(crate) fn place(&self) -> StoreLocation {
        self.graph.as_ref().map_or_else(|| StoreLocation::file(&self.store()), |graph| graph.place())
    }

    /// Opens the store, as a process of its own would.
    pub(crate) fn open(&self) -> Box<dyn Store> {
        store::open(&self.place(), OpenMode::Create).unwrap()
    }

    /// Makes a home in which the model of the tests is installed, and not to be changed.
    pub(crate) fn with_model() -> Home {
        Home::new().and_model()
    }

    /// The same home with the model of the tests, which is not to be changed.
    pub(crate) fn and_model(self) -> Home {
        let fetch = |home: Home| home.fetch(&[MODEL, "--from", model_files().to_str().unwrap()]).ok();
        let installed = made_once("model", |directory| drop(fetch(Home::kept_in(directory))));
        // No test depends on how fast this machine embeds.
        self.and_models_of(&installed.join("home")).env("RSV_ENRICH_TIMEOUT", "60s")
    }

    /// The same home with the model of many languages alone, which is not to be changed.
    pub(crate) fn and_multilingual_model(self) -> Home {
        let files = multilingual_files();
        let fetch = |home: Home| home.fetch(&[MULTILINGUAL_MODEL, "--from", files.to_str().unwrap()]).ok();
        let installed = made_once("multilingual", |directory| drop(fetch(Home::kept_in(directory))));
        let models = ".local/share/rsv/models";
        std::fs::create_dir_all(self.path(models).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(installed.join("home").join(models), self.path(models)).unwrap();
        self.env("RSV_ENRICH_TIMEOUT", "60s")
    }

    /// The same home with the models that are installed in another, which are not to be changed.
    pub(crate) fn and_models_of(self, installed: &Path) -> Home {
        for directory in [".local/share/rsv/models", ".local/share/rsv/onnxruntime", ".cache/rsv/models"] {
            std::fs::create_dir_all(self.path(directory).parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(installed.join(directory), self.path(directory)).unwrap();
        }
        self
    }

    /// Runs rsv-embed --fetch.
    pub(crate) fn fetch(&self, words: &[&str]) -> Ran {
        self.run("rsv-embed", &[&["--quiet", "--fetch"], words].concat(), "")
    }

    /// The same home with one more variable; `HOME` may be set to nothing.
    pub(crate) fn env(&self, name: &str, value: &str) -> Home {
        let mut home = self.clone();
        home.environment.push((name.to_owned(), value.to_owned()));
        home
    }

    /// The same home without a variable that all have.
    pub(crate) fn without(&self, name: &str) -> Home {
        Home { absent: [self.absent.clone(), vec![name.to_owned()]].concat(), ..self.clone() }
    }

    /// The same home at a fixed time.
    pub(crate) fn at(&self, time: &str) -> Home {
        self.env("RSV_TEST_NOW", time)
    }

    /// A path in the home.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file in the home, and the directories above it.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The text of a file in the home.
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// A command that is ready to run; its working directory is the home.
    pub(crate) fn command(&self, tool: &str) -> Command {
        self.command_of(&Path::new(env!("CARGO_BIN_EXE_rsv-config")).with_file_name(tool))
    }

    /// One test of this binary, which is ignored by itself, in a process whose environment is that of the home.
    pub(crate) fn test_process(&self, test: &str) -> Command {
        let mut command = self.command_of(&std::env::current_exe().unwrap());
        command.args(["--exact", test, "--ignored", "--nocapture"]).env(TEST_PROCESS, "1");
        command
    }

    fn command_of(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", self.directory.path()).env("TZ", "UTC");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        for name in &self.absent {
            command.env_remove(name);
        }
        command.current_dir(self.directory.path());
        command
    }

    /// Runs a tool to its end.
    pub(crate) fn run(&self, tool: &str, words: &[&str], stdin: impl AsRef<[u8]>) -> Ran {
        let mut command = self.command(tool);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let stdin = stdin.as_ref();
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let output = std::thread::scope(|scope| {
            // A tool need not read what it does not want.
            scope.spawn(move || input.write_all(stdin).ok());
            child.wait_with_output().unwrap()
        });
        self.ran(output)
    }

    /// How a run ended.
    pub(crate) fn ran(&self, output: Output) -> Ran {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        let status = output.status.code().unwrap_or_else(|| panic!("{}: {stderr}", output.status));
        let home = self.directory.path().display().to_string();
        Ran { stdout, stderr, status, home }
    }
}

impl Home {
    /// Where the store is that the tools use by themselves.
    pub(crate) fn store(&self) -> PathBuf {
        self.path(".local/share/rsv/store.db")
    }

    /// Runs rsv-ingest over lines; what it passes on.
    pub(crate) fn ingest(&self, words: &[&str], lines: &str) -> Vec<Value> {
        lines_of(&self.run("rsv-ingest", words, lines).ok())
    }

    /// The contents of the whole store, as export writes them.
    pub(crate) fn export(&self) -> String {
        self.run("rsv-export", &["--vectors"], "").ok()
    }

    /// The contents of the messages that a tool prints, which may be none.
    pub(crate) fn contents(&self, tool: &str, words: &[&str]) -> Vec<String> {
        let ran = self.run(tool, words, "");
        assert!(ran.status < 2 && ran.stderr.is_empty(), "{tool} {words:?}: {ran}");
        lines_of(&ran.stdout).iter().map(|line| text(&line["content"])).collect()
    }

    /// Fails unless the store is sound.
    pub(crate) fn check(&self) {
        if let Some(graph) = &self.graph {
            return graph.check();
        }
        let store = rusqlite::Connection::open(self.store()).unwrap();
        let sound: String = store.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(sound, "ok");
        let mut astray = store.prepare("PRAGMA foreign_key_check").unwrap();
        assert!(astray.query([]).unwrap().next().unwrap().is_none(), "a reference names a missing record");
    }

    /// Starts a tool that is talked to line by line.
    pub(crate) fn talk(&self, tool: &str, words: &[&str]) -> Talk {
        let mut command = self.command(tool);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        Talk { child, input, output: BufReader::new(output).lines() }
    }
}

/// The variable that tells a test that it runs in a process of its own.
const TEST_PROCESS: &str = "RSV_TEST_PROCESS";

/// Whether this is such a process. Else a test that is for one alone has nothing to do.
pub(crate) fn is_test_process() -> bool {
    std::env::var_os(TEST_PROCESS).is_some()
}

/// A number that a variable gives, such as how long a test runs; `None` if it is not set.
pub(crate) fn number_from(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}: expected a number, found {text:?}")))
}

/// The model of the tests: all-MiniLM-L6-v2 with weights of 8 bits.
pub(crate) const MODEL: &str = "all-minilm-l6-v2-int8";

/// The model of many languages, which runs without ONNX Runtime.
pub(crate) const MULTILINGUAL_MODEL: &str = "use-multilingual-v3";

/// Where `scripts/test` puts the model's files and ONNX Runtime.
pub(crate) fn model_files() -> PathBuf {
    downloaded(MODEL, "model", "model.onnx")
}

/// Where `scripts/test` puts the files of the model of many languages.
pub(crate) fn multilingual_files() -> PathBuf {
    downloaded(MULTILINGUAL_MODEL, "multilingual-model", "weights.npz")
}

fn downloaded(model: &str, directory: &str, file: &str) -> PathBuf {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("target").join(directory);
    assert!(
        files.join(file).exists(),
        "first run: cargo run --bin rsv-embed -- --fetch {model} --into target/{directory}"
    );
    files
}

/// A running tool whose input stays open.
pub(crate) struct Talk {
    pub(crate) child: Child,
    pub(crate) input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Talk {
    /// Writes a line to the tool.
    pub(crate) fn say(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Waits for a line of the tool; `None` when it has ended.
    pub(crate) fn hear(&mut self) -> Option<String> {
        self.output.next().map(Result::unwrap)
    }

    /// Ends the input and waits for the tool: its status and standard error.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        drop(self.input.take());
        for _ in self.output {}
        let output = self.child.wait_with_output().unwrap();
        (output.status, String::from_utf8(output.stderr).unwrap())
    }
}

/// JSON lines, parsed.
pub(crate) fn lines_of(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A text for people without the short ids in front of its dates.
pub(crate) fn without_short_ids(text: &str) -> String {
    let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let mut out = String::new();
    let mut rest = text;
    while let Some(space) = rest.find(' ') {
        let (word, after) = rest.split_at(space);
        let is_date =
            after.as_bytes().get(5) == Some(&b'-') && after[1..5].bytes().all(|b| b.is_ascii_digit());
        let letters = word.bytes().rev().take_while(|byte| is_hex(byte)).count();
        if is_date && letters >= 7 {
            out.push_str(&word[..word.len() - letters]);
            rest = &after[1..];
        } else {
            out.push_str(&rest[..=space]);
            rest = &rest[space + 1..];
        }
    }
    out + rest
}

/// The text of a JSON string.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

/// The tools there are: the names of the files in src/bin, but for `rsv`, which runs them.
pub(crate) fn tools() -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin");
    let names = directory.read_dir().unwrap().map(|file| file.unwrap().path());
    let mut names: Vec<String> =
        names.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.retain(|name| name.starts_with("rsv-"));
    names.sort();
    assert!(names.len() > 8, "{names:?}");
    names
}

/// The tools and `rsv`.
pub(crate) fn programs() -> Vec<String> {
    [vec!["rsv".to_owned()], tools()].concat()
}

/// The tools that read lines or text from standard input when they are given nothing else: all but those named here.
pub(crate) fn readers() -> Vec<String> {
    let others = [
        "rsv-config",
        "rsv-export",
        "rsv-link",
        "rsv-mcp",
        "rsv-parse",
        "rsv-proxy",
        "rsv-signal",
        "rsv-view",
    ];
    tools().into_iter().filter(|tool| !others.contains(&tool.as_str())).collect()
}

/// A generator of numbers that are the same in every run: splitmix64.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

/// How long a test waits for what must come, however busy the machine is.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// Waits until something holds.
pub(crate) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Tries something random `count` times; each try has numbers of its own, from `RSV_TEST_SEED` and its number. A
/// failure prints both.
#[allow(clippy::print_stdout)]
pub(crate) fn tries(count: u64, mut one: impl FnMut(Dice)) {
    struct Try(u64, u64);
    impl Drop for Try {
        fn drop(&mut self) {
            if std::thread::panicking() {
                println!("RSV_TEST_SEED={}, try {}", self.0, self.1);
            }
        }
    }
    let seed = number_from("RSV_TEST_SEED").unwrap_or(61);
    for number in 0..count {
        let _named = Try(seed, number);
        one(Dice(seed.wrapping_mul(1_000_003).wrapping_add(number)));
    }
}

/// Removes records, with tombstones that keep nothing out; returns their number.
pub(crate) fn remove(store: &mut dyn Store, ids: &[&str]) -> u64 {
    store.remove(Removal::Records(ids, TombstoneState::Removed), i64::MIN).unwrap()
}

/// How a run ended.
pub(crate) struct Ran {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) status: i32,
    home: String,
}

impl Ran {
    /// Standard output of a run that met no trouble.
    pub(crate) fn ok(self) -> String {
        assert_eq!((self.status, self.stderr.as_str()), (0, ""), "{}", self.stdout);
        self.stdout
    }
}

impl Ran {
    /// Standard error of a run that failed with exit status 2 and an error message.
    pub(crate) fn trouble(self) -> String {
        let name = |line: &str| line.starts_with("rsv-") && line.contains(": ");
        assert!(self.status == 2 && self.stderr.contains(": error: "), "{self}");
        assert!(!self.stderr.contains("panicked") && self.stderr.lines().all(name), "{self}");
        self.stderr
    }
}

/// All that a person sees, as one text for a snapshot; the home is `~`.
impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}{}[{}]", self.stdout, self.stderr, self.status);
        f.write_str(&text.replace(&self.home, "~"))
    }
}
