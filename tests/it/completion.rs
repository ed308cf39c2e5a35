//! Completions, in the shells themselves.

use crate::support::{Home, programs, tools};
use crate::terminal::Terminal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn completions(shell: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("completions").join(shell)
}

/// A home with some scopes, one of them with every sign that a shell makes something of, and a few files.
fn furnished() -> Home {
    let home = Home::new();
    for (partition, instance, said) in [
        ("garden", "shed", "tomatoes"),
        ("garden", "bench", "beans"),
        (ODD, "a b", "odd one"),
        ("work", "desk", "x"),
    ] {
        home.run("rsv-ingest", &["-p", partition, "-i", instance, said], "").ok();
    }
    home.run("rsv-config", &["set", "partitions.code.recent_context_size", "3"], "").ok();
    home.run("rsv-ingest", &["--store", "other store.db", "-p", "elsewhere", "there"], "").ok();
    home.write("some dir/export.jsonl", "");
    home
}

const ODD: &str = "my \"own\": it's $x";

/// The candidates that a tool prints for the last of these words, and its exit status.
fn asked(home: &Home, shell: &str, words: &[&str]) -> (Vec<String>, i32) {
    let ran = home.env("RSV_COMPLETIONS", shell).run(words[0], &[&["--"], words].concat(), "");
    assert_eq!(ran.stderr, "");
    (ran.stdout.lines().map(str::to_owned).collect(), ran.status)
}

/// The values alone.
fn offered(home: &Home, words: &[&str]) -> Vec<String> {
    let (lines, status) = asked(home, "fish", words);
    assert_eq!(status, 0, "{words:?}");
    lines.iter().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

#[test]
fn known_names_are_completed() {
    let home = furnished();
    for (words, wanted) in [
        (&["rsv-search", "-p", ""][..], &["code", "garden", ODD, "work"][..]),
        (&["rsv-search", "-p", "ga"], &["garden"]),
        (&["rsv-view", "--partition=w"], &["--partition=work"]),
        (&["rsv-view", "-pw"], &["-pwork"]),
        (&["rsv-view", "-p", "garden", "-i", ""], &["bench", "shed"]),
        (&["rsv-view", "-i", ""], &[]),
        (&["rsv-parse", "-p", "ga"], &["garden"]),
        (&["rsv-parse", "-p", "garden", "-i", ""], &["bench", "shed"]),
        (&["rsv-distill", "--store", "other store.db", "-p", ""], &["code", "elsewhere"]),
        (&["rsv-export", "--store", "other store.db", "-p", ""], &["code", "elsewhere"]),
        (&["rsv-ingest", "--role", ""], &["user", "assistant", "system", "tool"]),
        (&["rsv-enrich", "--placement", "h"], &["head"]),
        (&["rsv-enrich", "--recall", "s"], &["similar"]),
        (&["rsv-search", "--format", ""], &["jsonl", "json", "text", "reservoir", "block"]),
        (&["rsv-search", "--sem"], &["--semantic"]),
        (&["rsv-search", "words", ""], &[]),
        (&["rsv-config", "se"], &["set"]),
        (&["rsv", "s"], &["search", "signal", "start", "status"]),
        (&["rsv", "search", "-p", "ga"], &["garden"]),
        (&["rsv", "config", "se"], &["set"]),
        (&["rsv", "start", "--ol"], &["--ollama"]),
        (&["rsv", "status", "--sto"], &["--store"]),
        (&["rsv", "nothing", ""], &[]),
        (&["rsv-config", "get", "reservoir_p"], &["reservoir_port"]),
        (&["rsv-config", "get", "partitions."], &["partitions.code.recent_context_size"]),
        (&["rsv-config", "set", "enrich.placement", "t"], &["tail"]),
        (&["rsv-config", "set", "enrich.strict", ""], &["true", "false"]),
        (&["rsv-config", "set", "reservoir_port", ""], &[]),
        (&["rsv-embed", "--fetch", "all-minilm-l6-v2-i"], &["all-minilm-l6-v2-int8"]),
        (&["rsv-import", "--config=some file", "--dry"], &["--dry-run"]),
    ] {
        assert_eq!(offered(&home, words), wanted, "{words:?}");
    }
    assert_eq!(offered(&Home::with_model(), &["rsv-embed", "--replay", ""]), ["all-minilm-l6-v2-int8"]);
    let (word, _) = asked(&home, "zsh", &["rsv", "vi"]);
    assert_eq!(word, ["view:Print the last messages of a scope"]);
    // Each with what it is for, but for names that say it.
    let (key, _) = asked(&home, "zsh", &["rsv-config", "get", "reservoir_port"]);
    assert_eq!(key, ["reservoir_port:the port that rsv-proxy listens on"]);
    for words in [&["rsv-import", ""][..], &["rsv-search", "--store", ""], &["rsv-search", "--config=x"]] {
        assert_eq!(asked(&home, "fish", words), (vec![], 1), "a shell knows files best: {words:?}");
    }
}

#[test]
fn instances_are_offered_with_the_titles_of_their_conversations() {
    let home = furnished();
    home.ingest(
        &[],
        "{\"kind\":\"title\",\"partition\":\"garden\",\"instance\":\"shed\",\"title\":\"The red ones\"}\n",
    );
    for tool in ["rsv-view", "rsv-merge"] {
        let (lines, status) = asked(&home, "fish", &[tool, "-p", "garden", "-i", ""]);
        assert_eq!((lines, status), (vec!["bench\tbeans".to_owned(), "shed\tThe red ones".to_owned()], 0));
    }
    let (lines, _) = asked(&home, "zsh", &["rsv-view", "-p", "garden", "-i", "b"]);
    assert_eq!(lines, ["bench:beans"]);
    let bash = home.env("RSV_COMPLETIONS", "bash");
    assert_eq!(bash.run("rsv-view", &["--", "", "rsv-view -p garden -i "], "").ok(), "bench\nshed\n");
    // Without -p they are those of the project, if that is the partition to read.
    let directory = home.write("garden/.git/HEAD", "").parent().unwrap().parent().unwrap().to_owned();
    let mut complete = home.env("RSV_SCOPE", "auto").env("RSV_COMPLETIONS", "fish").command("rsv-view");
    complete.args(["--", "rsv-view", "-i", ""]).current_dir(directory);
    let offered = String::from_utf8(complete.output().unwrap().stdout).unwrap();
    assert_eq!(offered, "bench\tbeans\nshed\tThe red ones\n");
}

/// Keeps: Completion creates no file and sends no request.
#[test]
fn completing_makes_nothing_and_asks_nobody() {
    let home = Home::new();
    for tool in tools() {
        for word in ["", "-", "--partition=", "--instance="] {
            assert!(asked(&home, "zsh", &[&tool, word]).1 < 2, "{tool} {word}");
        }
    }
    for words in [&["rsv-view", "-p", ""][..], &["rsv-config", "get", ""], &["rsv-embed", "--replay", ""]] {
        asked(&home, "fish", words);
    }
    assert!(home.path("").read_dir().unwrap().next().is_none(), "something was made");
    // With a server that does not exist, a tool would wait; wrong settings would make it fail.
    let server = home.env("RSV_STORE", "neo4j://192.0.2.1");
    assert_eq!(offered(&server, &["rsv-view", "-p", ""]), [""; 0]);
    home.write("bad.toml", "= = =");
    assert_eq!(offered(&home.env("RSV_CONFIG", "bad.toml"), &["rsv-view", "-p", ""]), [""; 0]);
    home.write("no store", "something else");
    assert_eq!(offered(&home.env("RSV_STORE", "no store"), &["rsv-view", "-p", ""]), [""; 0]);
    assert!(home.env("RSV_COMPLETIONS", "tcsh").run("rsv-view", &[], "").trouble().contains("found tcsh"));
}

#[test]
fn a_store_that_is_written_to_is_read_at_once() {
    let home = furnished();
    let writer = rusqlite::Connection::open(home.store()).unwrap();
    writer
        .execute_batch("BEGIN IMMEDIATE; INSERT INTO collection (kind, partition, instance) VALUES ('message', 'not', 'yet')")
        .unwrap();
    assert_eq!(offered(&home, &["rsv-view", "-p", ""]), ["code", "garden", ODD, "work"]);
    drop(writer);
}

/// Whether a shell is there.
fn is_there(shell: &str) -> bool {
    Command::new(shell)
        .args(["-c", "true"])
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Keys to press in bash and zsh, and the text that must appear.
const TYPED: [(&str, &str); 9] = [
    ("rsv-view -p gard\t -i she\t --form\t text\n", ": tomatoes"),
    ("rsv-view --partition=gard\t -i ben\t --format=te\t\n", ": beans"),
    ("rsv-view -p my\t\n", ": odd one"),
    ("rsv-view --store other\t -p else\t\n", ": there"),
    ("rsv-import --dry-run some\texp\t\n", "0 records can be imported"),
    ("rsv-config get reservoir_p\t\n", "3017"),
    ("rsv vi\t -p gard\t -i she\t --form\t text\n", ": tomatoes"),
    ("rsv view  --partition=gard\t -i ben\t --format=te\t\n", ": beans"),
    ("cat /dev/null | rsv-import --config=some\texp\t --dry\t\n", "0 records can be imported"),
];

/// Types each line at a prompt, once it is there.
fn typed(mut terminal: Terminal, lines: &[(&str, &str)]) {
    for (keys, wanted) in lines {
        terminal.see("READY> ");
        terminal.press(keys);
        terminal.see(wanted);
    }
    terminal.see("READY> ");
    terminal.press("exit\n");
    terminal.end();
}

#[test]
fn bash_completes() {
    let home = furnished();
    let load = format!("for f in '{}'/*; do . \"$f\"; done; PS1='READY> '\n", completions("bash").display());
    home.write("bashrc", &load);
    let Some(terminal) = Terminal::run(&home, 200, "exec bash --rcfile bashrc -i") else { return };
    let quoted = [("rsv-view -p \"my\t\n", ": odd one"), ("rsv-view -p 'gar\t\n", ": beans")];
    typed(terminal, &[&TYPED[..], &quoted].concat());
}

#[test]
fn bash_completion_finds_the_files() {
    let home = furnished();
    if !Path::new("/usr/share/bash-completion/bash_completion").exists() {
        return;
    }
    let directory = home.path(".local/share/bash-completion/completions");
    std::fs::create_dir_all(&directory).unwrap();
    for tool in programs() {
        std::fs::copy(completions("bash").join(format!("{tool}.bash")), directory.join(&tool)).unwrap();
    }
    home.write("bashrc", ". /usr/share/bash-completion/bash_completion; PS1='READY> '\n");
    let Some(terminal) = Terminal::run(&home, 200, "exec bash --rcfile bashrc -i") else { return };
    typed(terminal, &TYPED);
}

#[test]
fn zsh_completes() {
    let home = furnished();
    if !is_there("zsh") {
        return;
    }
    let load = "fpath=('DIRECTORY' $fpath); autoload -Uz compinit; compinit -u -D; PS1='READY> '; unsetopt prompt_sp\n";
    home.write(".zshrc", &load.replace("DIRECTORY", completions("zsh").to_str().unwrap()));
    let Some(terminal) = Terminal::run(&home, 200, "exec zsh -i") else { return };
    typed(terminal, &TYPED);
}

#[test]
fn fish_completes() {
    let home = furnished();
    if !is_there("fish") {
        return;
    }
    let directory = home.path(".config/fish/completions");
    std::fs::create_dir_all(directory.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(completions("fish"), directory).unwrap();
    let bin = Path::new(env!("CARGO_BIN_EXE_rsv-config")).parent().unwrap();
    for (line, wanted) in [
        ("rsv-view -p ", &["code", "garden", ODD, "work"][..]),
        ("rsv-view -p gar", &["garden"]),
        ("rsv-view --partition=\"my", &["--partition=my \"own\": it's $x"]),
        ("rsv-view -p garden -i ", &["bench\tbeans", "shed\ttomatoes"]),
        ("rsv-view --store 'other store.db' -p e", &["elsewhere"]),
        ("rsv-config get reservoir_p", &["reservoir_port\tthe port that rsv-proxy listens on"]),
        ("rsv-import some", &["some dir/"]),
        ("rsv-import \"some dir/ex", &["some dir/export.jsonl"]),
        ("rsv-import --config=some", &["--config=some dir/"]),
        ("rsv-view ", &[]),
        (
            "rsv sta",
            &[
                "start\tServe chat completions with memory, as 'rsv proxy'",
                "status\tShow a summary of the setup, and what to do next",
            ],
        ),
        ("rsv view -p gar", &["garden"]),
    ] {
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
        let mut fish = Command::new("fish");
        fish.args(["-c", "complete -C $argv[1]", line]).env_clear().env("PATH", path);
        fish.env("HOME", home.path("")).current_dir(home.path(""));
        let ran = home.ran(fish.output().unwrap());
        assert_eq!(ran.ok().lines().collect::<Vec<_>>(), wanted, "{line}");
    }
}
