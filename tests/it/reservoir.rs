//! scripts/reservoir: the command lines and recipes of Reservoir's documents, as they stand there.

use crate::docs::is_installed;
use crate::examples::can_run_examples;
use crate::fake::{Answer, Fake};
use crate::proxy::{Proxy, asking};
use crate::support::{Home, Ran, lines_of, text};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

/// Six messages: two turns, and two questions of which one is asked now.
const SEED: [&str; 6] = [
    r#"{"trace_id":"t1","role":"user","content":"How do I implement error handling in async functions?","timestamp":1705315800000}"#,
    r#"{"trace_id":"t1","role":"assistant","content":"Return what went wrong, as with a database.","timestamp":1705315815000}"#,
    r#"{"trace_id":"t2","role":"user","content":"What do neural networks mean for API design?","timestamp":1705402200000,"partition":"alice","instance":"coding"}"#,
    r#"{"trace_id":"t2","role":"assistant","content":"Layers, \"deep\" ones, of weights.","timestamp":1705402215000,"partition":"alice","instance":"coding"}"#,
    r#"{"trace_id":"t3","role":"user","content":"Where do I start with python programming?","partition":"alice","instance":"notes"}"#,
    r#"{"trace_id":"t4","role":"user","content":"An old thing","timestamp":1705315800001,"partition":"old_partition","instance":"old_partition"}"#,
];

/// A shell in a home with `reservoir`, an embedding model, and the six messages.
pub(crate) struct Desk {
    pub(crate) home: Home,
}

impl Desk {
    pub(crate) fn new() -> Desk {
        let desk = Desk::in_home(Home::with_model());
        desk.home.ingest(&[], &SEED.join("\n"));
        desk
    }

    /// A shell with `reservoir` in a home.
    pub(crate) fn in_home(home: Home) -> Desk {
        std::fs::create_dir(home.path("bin")).unwrap();
        symlink(script("reservoir"), home.path("bin/reservoir")).unwrap();
        Desk { home }
    }

    /// A command that the shell finds: a script of sh.
    pub(crate) fn command(&self, name: &str, text: &str) {
        let path = self.home.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{text}\n"));
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// bash, where it finds the tools, `reservoir`, and what this machine has.
    pub(crate) fn shell(&self, words: &[&str]) -> Command {
        let tools = Path::new(env!("CARGO_BIN_EXE_rsv-config")).parent().unwrap().display();
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{tools}:{path}", self.home.path("bin").display());
        let mut command = self.home.env("PATH", &path).command("/usr/bin/env");
        command.arg("bash").args(words);
        command
    }

    pub(crate) fn run(&self, line: &str) -> Ran {
        let mut shell = self.shell(&["-euo", "pipefail", "-c", line]);
        self.home.ran(shell.stdin(Stdio::null()).output().unwrap())
    }

    /// Runs a recipe, and then what must be true.
    pub(crate) fn holds(&self, recipe: &str, check: &str) {
        let ran = self.run(&format!("{recipe}\n{{ {check}; }} > /dev/null || exit 77"));
        assert!(ran.status != 77, "not true after {recipe}: {check}\n{ran}");
        assert!(ran.status == 0 && ran.stderr.is_empty(), "{recipe}: {ran}");
    }
}

fn script(name: &str) -> String {
    format!("{}/scripts/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The output of a command line.
enum Shape {
    Nothing,
    /// `ISO [trace] role: content`, so many times.
    Messages(usize),
    /// `N. ISO [partition/instance] role: content`, so many times.
    Found(usize),
    /// The same with ` (score: S)` at the end.
    Hits(usize),
    /// `Saved message with trace_id: …`.
    Saved,
    Text(&'static str),
    /// A jq condition that it fulfils.
    Json(&'static str),
}

impl Shape {
    fn of(&self, printed: &str, desk: &Desk) -> bool {
        let role = |rest: &str| {
            ["user: ", "assistant: "]
                .iter()
                .any(|role| rest.strip_prefix(role).is_some_and(|c| !c.is_empty()))
        };
        let lines: Vec<&str> = printed.lines().collect();
        match self {
            Shape::Nothing => printed.is_empty(),
            Shape::Text(text) => printed == *text,
            Shape::Messages(count) => {
                let message =
                    |line: &&str| heading(line).is_some_and(|(id, rest)| !id.is_empty() && role(rest));
                lines.len() == *count && lines.iter().all(message)
            }
            Shape::Found(count) | Shape::Hits(count) => {
                let hit = |(at, line): (usize, &&str)| {
                    let line = line.strip_prefix(&format!("{}. ", at + 1))?;
                    let (scope, rest) = heading(line)?;
                    let scored = rest.rsplit_once(" (score: ").map(|(_, score)| score.strip_suffix(')'));
                    let score = scored.map(|score| score.unwrap_or_default().parse::<f64>().unwrap());
                    let is_scored = score.is_some_and(|score| (-1.0..=1.0).contains(&score));
                    let scope = scope.split_once('/').is_some_and(|(p, i)| !p.is_empty() && !i.is_empty());
                    Some(scope && role(rest) && is_scored == matches!(self, Shape::Hits(_)))
                };
                lines.len() == *count && lines.iter().enumerate().all(|line| hit(line) == Some(true))
            }
            Shape::Saved => {
                let trace = printed.strip_prefix("Saved message with trace_id: ");
                trace.is_some_and(|trace| trace.len() == 37 && trace.ends_with('\n'))
            }
            Shape::Json(filter) => {
                desk.home.write("printed.json", printed);
                desk.run(&format!("jq -e '{filter}' printed.json")).status == 0
            }
        }
    }
}

/// The text in brackets after the time at the beginning of a line, and the rest.
fn heading(line: &str) -> Option<(&str, &str)> {
    let (time, rest) = line.split_once(" [")?;
    (rsv::record::time::parse(time).is_ok() && time.len() == 24).then_some(())?;
    rest.split_once("] ")
}

/// The page on the command line, line by line.
const REFERENCE: &[(&str, Shape)] = &[
    (
        r#"reservoir search "python programming" 2> said || test $? = 1; cat said"#,
        Shape::Text("rsv-search: 1 hit in alice; to search there: -p alice\n"),
    ),
    (r#"reservoir search --partition alice "python programming""#, Shape::Found(1)),
    (r#"reservoir search --semantic "machine learning concepts""#, Shape::Hits(2)),
    (r#"reservoir search --partition alice --instance coding "neural networks""#, Shape::Found(1)),
    (r#"reservoir search --link --semantic "database design""#, Shape::Hits(2)),
    (r#"reservoir search --deduplicate --semantic "API design""#, Shape::Hits(2)),
    (r#"reservoir search --link --deduplicate --semantic "API design""#, Shape::Hits(2)),
    ("reservoir export > my_conversations.json", Shape::Nothing),
    (
        "reservoir export | jq '.[0]'",
        Shape::Json(
            r#"keys_unsorted - ["embedding_model"] == ["id", "trace_id", "partition", "instance", "content", "role", "embedding", "url", "timestamp"]"#,
        ),
    ),
    ("reservoir import my_conversations.json", Shape::Nothing),
    ("cp my_conversations.json backup_2024_01_15.json", Shape::Nothing),
    ("reservoir import backup_2024_01_15.json", Shape::Nothing),
    ("reservoir view 10", Shape::Messages(2)),
    ("reservoir view --partition alice 5", Shape::Messages(3)),
    ("reservoir view --partition alice --instance coding 15", Shape::Messages(2)),
    (r#"echo "How do I implement a binary search tree?" | reservoir ingest"#, Shape::Saved),
    (
        r#"echo "What are design patterns?" | reservoir ingest --partition alice --instance coding"#,
        Shape::Saved,
    ),
    (r#"echo "Here's how to implement a BST..." | reservoir ingest --role assistant"#, Shape::Saved),
    ("echo '{\"not\": \"a line\"}' > question.txt", Shape::Nothing),
    ("cat question.txt | reservoir ingest --partition research --instance ai", Shape::Saved),
    ("reservoir view --partition research 9 | grep -c '{\"not\": \"a line\"}'", Shape::Text("1\n")),
    (r#"reservoir ingest --partition alice --instance coding "How do I use async/await?""#, Shape::Saved),
    ("reservoir config --get semantic_context_size", Shape::Text("15\n")),
    ("reservoir config --set semantic_context_size=20", Shape::Nothing),
    ("reservoir config -g semantic_context_size", Shape::Text("20\n")),
    ("reservoir config --get web_search_enabled", Shape::Text("false\n")),
    ("reservoir config --set neo4j_uri=bolt://localhost:7687", Shape::Nothing),
    ("reservoir config --set model=gpt-4-turbo", Shape::Nothing),
    ("reservoir config --get model", Shape::Text("gpt-4-turbo\n")),
    ("reservoir config --set partitions.coding.semantic_context_size=20", Shape::Nothing),
    ("reservoir config --set partitions.coding.token_multiplier=1.3", Shape::Nothing),
    ("reservoir config --set recent_context_size=15", Shape::Nothing),
    ("reservoir config --set token_reserve=2048", Shape::Nothing),
    ("reservoir replay", Shape::Nothing),
    ("reservoir view 10", Shape::Messages(4)),
    ("reservoir view 50 | grep -i \"error\" | wc -l", Shape::Text("1\n")),
    (r#"echo "Remember to implement error handling" | reservoir ingest"#, Shape::Saved),
    ("reservoir export > backup_$(date +%Y%m%d).json", Shape::Nothing),
    (r#"reservoir search "error" --semantic --limit 3"#, Shape::Hits(3)),
    ("reservoir --version", Shape::Text(concat!("reservoir ", env!("CARGO_PKG_VERSION"), "\n"))),
];

/// Keeps: The command lines of Reservoir's documents run as they stand.
#[test]
fn the_command_lines_of_the_reference_run_and_print_what_they_should() {
    if !can_run_examples() {
        return;
    }
    let desk = Desk::new();
    for (line, shape) in REFERENCE {
        let ran = desk.run(line);
        assert!(ran.status == 0 && ran.stderr.is_empty(), "{line}: {ran}");
        assert!(shape.of(&ran.stdout, &desk), "{line}: {ran}");
    }
    for command in ["start", "search", "export", "import", "view", "ingest", "config", "replay"] {
        let (help, version) = (desk.run(&format!("reservoir {command} --help")).ok(), "--version");
        assert!(help.contains("\nUsage: rsv-"), "{command}: {help}");
        assert!(desk.run(&format!("reservoir {command} {version}")).ok().starts_with("rsv-"), "{command}");
    }
    assert!(desk.run("reservoir --help").ok().contains("reservoir replay [MODEL]"));
}

#[test]
fn a_search_by_meaning_without_a_model_is_one_by_words() {
    let desk = Desk::in_home(Home::new());
    let search = r#"reservoir search "Where do the tomatoes stand?" --semantic --link"#;
    let ran = desk.run(search);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{ran}");
    assert!(
        ran.stderr.starts_with("rsv-search: searching by words: ") && ran.stderr.lines().count() == 1,
        "{ran}"
    );
    desk.run(r#"echo "The tomatoes are by the wall." | reservoir ingest"#).ok();
    let ran = desk.run(search);
    assert!(ran.status == 0 && Shape::Found(1).of(&ran.stdout, &desk), "{ran}");
    assert!(ran.stdout.ends_with("user: The tomatoes are by the wall.\n"), "{ran}");
    assert!(
        ran.stderr.starts_with("rsv-search: searching by words: ") && ran.stderr.lines().count() == 1,
        "{ran}"
    );
    // The tool itself, and a user who asks for something else, get what they ask for.
    let said = desk.run("rsv-search --semantic tomatoes").trouble();
    assert!(said.contains("rsv-embed --fetch"), "{said}");
    assert_eq!(desk.run(r#"reservoir search --semantic --fallback keyword "tomatoes owls""#).status, 1);
}

#[test]
fn a_search_that_names_no_partition_says_where_there_is_something() {
    let reply = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"By the wall, tomato by tomato."}}]}"#;
    let provider = Fake::new([Answer::new(200, reply), Answer::new(200, reply)]);
    let desk = Desk::in_home(Home::new().env("OLLAMA_BASE_URL", &provider.url()));
    let mut proxy = Proxy::spawn(desk.shell(&["-c", "exec reservoir start --port 0"]));
    for (path, question) in
        [("alice/instance/app", "Where are my tomatoes?"), ("bob/instance/app", "And my tomato?")]
    {
        assert_eq!(
            proxy.post(&format!("/partition/{path}/v1/chat/completions"), "", &asking(question)).0,
            200
        );
    }
    assert_eq!(proxy.end(), Some(0));
    desk.run("echo 'A tomato of bob' | reservoir ingest -p bob").ok();
    let said = |line: &str| {
        let ran = desk.run(line);
        assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{line}: {ran}");
        ran.stderr
    };
    let wanted = "rsv-search: 3 hits in bob, 2 hits in alice; to search there: -p bob\n";
    assert_eq!(said("reservoir search tomato"), wanted);
    assert_eq!(said("reservoir search owl"), "");
    for named in ["-q tomato", "-p carol tomato", "-i app tomato", "--all owl"] {
        assert_eq!(said(&format!("reservoir search {named}")), "", "{named}");
    }
    assert_eq!(said("rsv-search tomato"), "", "only in Reservoir's format");
    assert_eq!(desk.run("reservoir search -p bob tomato").ok().lines().count(), 3);
    desk.run("echo 'A tomato for all' | reservoir ingest").ok();
    let found = desk.run("reservoir search tomato");
    assert!(
        found.status == 0 && found.stderr.is_empty() && Shape::Found(1).of(&found.stdout, &desk),
        "{found}"
    );
}

#[test]
fn doctor_names_a_file_of_variables_beside_the_settings() {
    let home = Home::new();
    let found = |home: &Home| -> Vec<String> {
        let found = lines_of(&home.run("rsv-config", &["doctor"], "").stdout);
        let of_variables = found.iter().filter(|line| line["check"] == "env");
        of_variables.map(|line| format!("{}: {}: {}", line["state"], line["found"], line["remedy"])).collect()
    };
    assert_eq!(found(&home), [""; 0]);
    home.write(".env", "OPENAI_API_KEY=sk-home");
    assert_eq!(found(&home), [""; 0], "that is not beside the settings");
    home.write(".config/rsv/.env", "OPENAI_API_KEY=sk-one");
    home.write(".config/reservoir/.env", "OPENAI_API_KEY=sk-two");
    home.write(".config/reservoir/reservoir.toml", "model = \"gpt-4\"\n");
    let found = found(&home);
    assert_eq!(found.len(), 2, "{found:?}");
    for (found, directory) in found.iter().zip(["reservoir", "rsv"]) {
        let path = home.path(&format!(".config/{directory}/.env")).display().to_string();
        let wanted = format!(
            r#""advice": "{path} is not read": "rsv-config set KEY VALUE, or load it in the shell: set -a; . '{path}'; set +a""#
        );
        assert_eq!(*found, wanted);
    }
}

#[test]
fn a_replay_links_what_it_embeds() {
    if !can_run_examples() {
        return;
    }
    let desk = Desk::new();
    desk.home
        .ingest(&[], r#"{"role":"user","content":"How do I implement error handling in async functions"}"#);
    let synapses = || {
        let lines = lines_of(&desk.home.export());
        lines.iter().filter(|line| line["rel"] == "SYNAPSE").count()
    };
    assert_eq!(synapses(), 0);
    assert_eq!(desk.run("reservoir replay").ok(), "");
    assert_eq!(synapses(), 1);
    assert_eq!(desk.run("reservoir replay all-minilm-l6-v2-int8").ok(), "");
    let said = desk.run("reservoir replay bge-large-en-v15").trouble();
    assert!(said.contains("rsv-embed: hint: rsv-embed --fetch bge-large-en-v1.5\n"), "{said}");
}

#[test]
fn start_also_listens_on_ollamas_port() {
    let reply = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"Here."}}]}"#;
    let provider = Fake::new([Answer::new(200, reply)]);
    let desk = Desk::in_home(Home::new().env("OLLAMA_BASE_URL", &provider.url()));
    let mut proxy = Proxy::spawn(desk.shell(&["-c", "exec reservoir start --port 0"]));
    let path = "/v1/partition/p/instance/i/chat/completions";
    let (status, answer) = proxy.post(path, "", &asking("Where?"));
    assert!(status == 200 && answer.contains("Here."), "{answer}");
    assert_eq!(proxy.end(), Some(0));
    assert!(desk.home.run("rsv-view", &["-p", "p", "-i", "i"], "").ok().contains("Here."));
    let mut proxy = Proxy::spawn(desk.shell(&["-c", "exec reservoir start -o --port 0"]));
    assert_eq!(proxy.get("/").0, 200);
    assert_eq!(proxy.end(), Some(0));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let said = Desk { home: desk.home.env("RESERVOIR_PORT", &port) }.run("reservoir start").trouble();
    assert!(said.contains(&format!("127.0.0.1:{port}")), "{said}");
    // The proxy cannot use the address of Ollama in the settings.
    let own = Desk { home: desk.home.env("OLLAMA_BASE_URL", "http://localhost:11434") };
    for line in ["reservoir start --ollama", "reservoir start -o"] {
        let said = own.run(line).trouble();
        assert!(said.contains("rsv-proxy: hint: start Ollama on another port"), "{said}");
    }
}

#[test]
fn errors_of_the_reservoir_function_have_hints() {
    let desk = Desk::new();
    for (line, said) in [
        ("reservoir", "reservoir: error: no command is given\nreservoir: hint: see 'reservoir --help'\n"),
        (
            "reservoir invalid_command",
            "reservoir: error: unknown command: invalid_command\nreservoir: hint: see 'reservoir --help'\n",
        ),
        ("reservoir config --set model", "reservoir: error: config: expected KEY=VALUE, found 'model'\n"),
        (
            "reservoir config",
            "reservoir: error: config: expected --set KEY=VALUE or --get KEY\nreservoir: hint: 'rsv-config list' has the keys\n",
        ),
        ("reservoir config --set test_key=test_value", "rsv-config: error: unknown key: test_key\n"),
        (
            "reservoir import /non/existent/file.json",
            "rsv-import: error: cannot open /non/existent/file.json: ",
        ),
        ("reservoir ingest < /dev/null", "rsv-ingest: error: there is no text\n"),
        ("echo x | reservoir ingest --role admin", "rsv-ingest: error: invalid value 'admin' "),
        ("echo x | reservoir ingest --role system", "rsv-ingest: error: system messages are not stored\n"),
        ("reservoir view many", "rsv-view: error: invalid value 'many' "),
        ("reservoir view 1 > /dev/full", ""),
    ] {
        let ran = desk.run(&format!("{{ {line}; }} || exit $?"));
        assert!(ran.status == 2 && ran.stdout.is_empty() && ran.stderr.starts_with(said), "{line}: {ran}");
    }
}

#[test]
fn the_commands_need_no_jq_and_exit_as_the_tools() {
    let desk = Desk::new();
    for (line, shape, status) in [
        ("reservoir view -p alice 2", Shape::Messages(2), 0),
        ("reservoir search -p alice neural", Shape::Found(1), 0),
        ("reservoir search nowhere", Shape::Nothing, 1),
        ("reservoir ingest hello", Shape::Saved, 0),
        ("reservoir config --get model", Shape::Nothing, 1),
        ("reservoir config --get nothing", Shape::Nothing, 2),
    ] {
        // Only what the script itself calls.
        let line = format!(
            "ln -sf \"$(command -v dirname)\" bin; \
             PATH=$(dirname \"$(command -v rsv-view)\"):$HOME/bin; $BASH bin/{line} || exit $?"
        );
        let ran = desk.run(&line);
        assert!(ran.status == status && shape.of(&ran.stdout, &desk), "{line}: {ran}");
    }
    let ran = desk.run("rsv-view --accounts --format reservoir").trouble();
    assert!(ran.contains("rsv-view: hint: use --format text"), "{ran}");
}

/// A settings file as Reservoir's documents have it.
const RESERVOIR_FILE: &str = "model = \"gpt-4-turbo\"\nsemantic_context_size = 20\nneo4j_uri = \"bolt://graph:7687\"\n\
    neo4j_database = \"reservoir\"\ncolour = \"red\"\nreservoir_port = \"many\"\n\
    [models.gpt-3.5-turbo]\nmax_context_tokens = 4096\nreserve_tokens = 1024\n\
    [models.gpt-4-turbo]\nmax_context_tokens = 120000\n";

#[test]
fn the_settings_file_of_reservoir_holds_where_rsv_has_no_value() {
    let home = Home::new();
    home.write(".config/reservoir/reservoir.toml", RESERVOIR_FILE);
    home.write(".config/rsv/config.toml", "semantic_context_size = 7\n");
    let path = home.path(".config/reservoir/reservoir.toml").display().to_string();
    let get = |home: &Home, key: &str| home.run("rsv-config", &["get", "--show-origin", key], "");
    assert_eq!(get(&home, "model").ok(), format!("{path}\tgpt-4-turbo\n"));
    assert_eq!(get(&home, "models.'gpt-3.5-turbo'.reserve_tokens").ok(), format!("{path}\t1024\n"));
    assert_eq!(get(&home, "models.gpt-4-turbo.max_context_tokens").ok(), format!("{path}\t120000\n"));
    assert!(get(&home, "semantic_context_size").ok().ends_with("config.toml\t7\n"));
    assert_eq!(get(&home, "reservoir_port").ok(), "default\t3017\n");
    assert_eq!(get(&home, "neo4j_database").status, 1);
    assert_eq!(get(&home.env("NEO4J_URI", "bolt://other"), "neo4j_uri").ok(), "NEO4J_URI\tbolt://other\n");
    // A file that the user names is the only one.
    let named = home.run("rsv-config", &["--config", ".config/rsv/config.toml", "get", "model"], "");
    assert_eq!((named.status, named.stdout.as_str()), (1, ""));
    // The tools say nothing of it, but for doctor and the proxy, once.
    assert_eq!(home.run("rsv-view", &[], "").stderr, "");
    let found = lines_of(&home.run("rsv-config", &["doctor"], "").stdout);
    let found: Vec<String> = { found.iter() }
        .filter(|line| line["check"] == "reservoir")
        .map(|line| text(&line["found"]))
        .collect();
    assert_eq!(found.len(), 3, "{found:?}");
    for key in ["model", "neo4j_uri", "models.\"gpt-3.5-turbo\".reserve_tokens", &path] {
        assert!(found[0].contains(key) && !found[0].contains("semantic_context_size"), "{found:?}");
    }
    assert!(found[1].ends_with("unknown key: colour") && found[2].contains("reservoir_port: "), "{found:?}");
    let mut proxy = Proxy::start(&home);
    let (said, _) = proxy.last_words();
    assert_eq!(said.matches(&path).count(), 1, "{said}");
    // One that cannot be read stops nothing.
    home.write(".config/reservoir/reservoir.toml", "model = ");
    assert_eq!(get(&home, "model").status, 1);
    let doctor = home.run("rsv-config", &["doctor"], "").stdout;
    assert!(doctor.contains("reservoir.toml:1: invalid TOML"), "{doctor}");
}

#[test]
fn start_names_the_store_the_model_and_a_graph_that_is_not_used() {
    let said_by = |home: Home| {
        let desk = Desk::in_home(home);
        let mut proxy = Proxy::spawn(desk.shell(&["-c", "exec reservoir start --port 0"]));
        let (said, status) = proxy.last_words();
        assert_eq!(status, Some(0), "{said}");
        (said, desk.home.store().display().to_string())
    };
    let (said, store) = said_by(Home::new());
    assert!(said.contains(&format!("store: sqlite:{store}; model: that of each request; ")), "{said}");
    assert!(said.contains("embedding model: none") && !said.contains("NEO4J_URI"), "{said}");
    let home = Home::with_model().env("NEO4J_URI", "bolt://localhost:7687");
    home.run("rsv-config", &["set", "model", "gpt-4-turbo"], "").ok();
    let (said, store) = said_by(home);
    assert!(said.contains("; model: gpt-4-turbo; embedding model: all-minilm-l6-v2"), "{said}");
    let wanted = format!(
        "NEO4J_URI is set, but the store is sqlite:{store}; to store in the graph: rsv-config set store neo4j"
    );
    assert_eq!(said.matches(&wanted).count(), 1, "{said}");
}

#[test]
fn a_closed_reader_is_no_error_and_the_terminal_is_unchanged() {
    if !can_run_examples() {
        return;
    }
    let desk = Desk::new();
    let long = format!(r#"{{"role":"user","content":"{}"}}{}"#, "x".repeat(1000), "\n").repeat(1000);
    desk.home.ingest(&["-p", "long"], &long);
    assert_eq!(desk.run("reservoir view -p long 1000 | head -n 1 | wc -l").ok(), "1\n");
    desk.home.ingest(&["-p", "odd"], r#"{"role":"user","content":"a\u001b[2Jb\tc\u202e"}"#);
    let printed = desk.run("reservoir view -p odd 1").ok();
    assert!(printed.ends_with("user: a\u{1b}[2Jb\tc\u{202e}\n"), "{printed:?}");
    if is_installed("script") {
        let printed = desk.run("script -qec 'reservoir view -p odd 1' /dev/null").ok();
        assert!(printed.ends_with("user: a\\u{1b}[2Jb\tc\\u{202e}\r\n"), "{printed:?}");
    }
    let parts = r#"{"role":"user","content":[{"type":"text","text":"See:"},{"type":"image_url","image_url":{"url":"u"}}]}"#;
    desk.home.ingest(&["-p", "odd"], parts);
    assert!(desk.run("reservoir view -p odd 1").ok().ends_with("user: See:\n"));
}

#[test]
fn the_page_names_each_target_service_and_setting_of_the_documents() {
    let page = std::fs::read_to_string(script("../man/rsv-reservoir.7")).unwrap().replace('\\', "");
    let described = page.split(".Ss Make targets").nth(1).unwrap().split(".Sh EXIT STATUS").next().unwrap();
    let words: Vec<&str> = described.split([' ', '\n', ',']).collect();
    let targets = "main run dev install install-service uninstall-service migrate book serve-book clean-book \
        test test-cli test-endpoints test-unit test-lint setup dev-setup help";
    let services = "com.sectorflabs.reservoir.plist /tmp/reservoir.log /tmp/reservoir.err /var/log/reservoir.log \
        launchctl systemctl docker-compose.yml brew scripts/migrations.sh hurl/*.hurl";
    let settings = "~/.config/reservoir/reservoir.toml .env .envrc reservoir_port neo4j_uri neo4j_user neo4j_password \
        neo4j_database semantic_context_size recent_context_size token_reserve models.*.max_context_tokens \
        models.*.reserve_tokens models.*.semantic_context_size partitions.*.semantic_context_size \
        partitions.*.recent_context_size partitions.*.token_multiplier model web_search_enabled";
    let variables = "RESERVOIR_PORT RESERVOIR_HOST NEO4J_URI NEO4J_USERNAME NEO4J_USER NEO4J_PASSWORD \
        NEO4J_MAX_CONNECTIONS NEO4J_CONNECTION_TIMEOUT RSV_OPENAI_BASE_URL RSV_OLLAMA_BASE_URL \
        RSV_MISTRAL_BASE_URL OLLAMA_BASE_URL RSV_CUSTOM_BASE_URL CUSTOM_API_KEY OPENAI_API_KEY MISTRAL_API_KEY \
        GEMINI_API_KEY OLLAMA_API_KEY RSV_WEB_SEARCH_ENABLED RSV_WEB_SEARCH_MAX_RESULTS \
        RSV_WEB_SEARCH_TIME_RANGE SEARCH_API_KEY RUST_LOG RESERVOIR_URL USER_PARTITION NEO4J_AUTH";
    for name in [targets, services, settings, variables].iter().flat_map(|names| names.split_whitespace()) {
        assert!(words.contains(&name), "{name} is not in rsv-reservoir(7)");
    }
    // Each item described as "The same" is a setting of rsv, or a variable of one.
    let rows = std::fs::read_to_string(script("../src/config/table.rs")).unwrap();
    for item in described.split(".It ").skip(1) {
        let (term, text) = item.split_once('\n').unwrap();
        let names = term.split([' ', ',']).filter(|name| name.contains('_') || name.contains(".*."));
        for name in names.filter(|_| text.starts_with("The same")) {
            assert!(rows.contains(&format!("\"{name}\"")), "{name} is not a setting");
        }
    }
}
