//! rsv-config doctor, status and init: the checks, the summary, and the first settings.

use crate::fake::{Answer, Fake, dead};
use crate::support::{Home, MODEL, lines_of, text};
use crate::terminal::Terminal;
use serde_json::Value;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

const FILE: &str = ".config/rsv/config.toml";
const MESSAGE: &str = "{\"role\":\"user\",\"content\":\"an owl\"}\n";

/// A port on which no process listens.
fn free_port() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}

/// A home in which the shell finds the tools, with a port and an Ollama of its own.
pub(crate) fn healthy(home: Home, ollama: &str) -> Home {
    let bin = Path::new(env!("CARGO_BIN_EXE_rsv-config")).parent().unwrap().display().to_string();
    home.env("PATH", &bin).env("RESERVOIR_PORT", &free_port()).env("RSV_OLLAMA_BASE_URL", ollama)
}

/// Ollama, with these models.
fn ollama(models: &str) -> Fake {
    let answer = Answer::new(200, format!("{{\"object\":\"list\",\"data\":[{models}]}}"));
    Fake::answering(move |_| answer.clone())
}

fn examine(home: &Home) -> (Vec<Value>, i32) {
    let ran = home.run("rsv-config", &["doctor"], "");
    assert_eq!(ran.stderr, "", "{ran}");
    (lines_of(&ran.stdout), ran.status)
}

/// The finding of one check: its state, its text, its remedy.
fn found(home: &Home, check: &str) -> (String, String, String) {
    of(&examine(home).0, check)
}

pub(crate) fn of(lines: &[Value], check: &str) -> (String, String, String) {
    let line =
        lines.iter().find(|line| line["check"] == check).unwrap_or_else(|| panic!("no {check}: {lines:?}"));
    let member = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
    (member("state"), member("found"), member("remedy"))
}

/// Fails unless a check reports trouble with this text and this remedy, and the exit status is 1.
fn trouble(home: &Home, check: &str, reported: &str, remedy: &str) {
    let (lines, status) = examine(home);
    let (state, said, helps) = of(&lines, check);
    assert_eq!(state, "trouble", "{check}: {said}");
    assert!(said.contains(reported), "{check}: {said}");
    assert!(helps.contains(remedy), "{check}: {said}: {helps}");
    assert_eq!(status, 1);
}

/// Keeps: `rsv-config doctor` finds trouble and names its remedy.
#[test]
fn a_healthy_setup_has_no_trouble() {
    let ollama = ollama("{\"id\":\"llama3.2:latest\"}");
    let home = healthy(Home::with_model(), &ollama.url());
    home.run("rsv-config", &["set", "model", "llama3.2"], "").ok();
    home.ingest(&[], MESSAGE);
    let (lines, status) = examine(&home);
    let troubles: Vec<&Value> = lines.iter().filter(|line| line["state"] == "trouble").collect();
    assert!(troubles.is_empty() && status == 0, "{troubles:?}");
    let is_ok = |check: &str| lines.iter().any(|line| line["check"] == check && line["state"] == "ok");
    for check in ["settings", "store", "permissions", "disk", "model", "vectors", "proxy", "ollama", "tools"]
    {
        assert!(is_ok(check), "{check}: {lines:?}");
    }
    assert_eq!(found(&home, "model").1, MODEL);
    assert!(found(&home, "store").1.ends_with("store.db, 1 message"));
}

#[test]
fn doctor_creates_no_store() {
    let home = healthy(Home::new(), &dead());
    assert!(found(&home, "store").1.ends_with("which is created when something is stored"));
    assert!(!home.path(".local").exists());
}

#[test]
fn wrong_settings_are_found() {
    let home = healthy(Home::new(), &dead());
    home.write(FILE, "modle = 'x'\nopenai_api_key = 'sk-canary'\n");
    trouble(&home, "settings", "config.toml:1: unknown key: modle", "did you mean 'model'?");
    home.write(FILE, "modle = 'x'\n[embed]\nwhatever = 1\n");
    let settings = examine(&home).0.into_iter().filter(|line| line["check"] == "settings");
    let keys: Vec<String> = settings.map(|line| line["found"].to_string()).collect();
    assert!(keys.len() == 2 && keys[1].contains("config.toml:3: unknown key: embed.whatever"), "{keys:?}");
    home.write(FILE, "openai_api_key = 'sk-canary'\n");
    std::fs::set_permissions(home.path(FILE), PermissionsExt::from_mode(0o644)).unwrap();
    trouble(&home, "secrets", "others can read", "chmod go= ");
    std::fs::set_permissions(home.path(FILE), PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(found(&home, "secrets").0, "ok");
    assert!(!home.run("rsv-config", &["doctor"], "").to_string().contains("sk-canary"));
    // Checks that do not depend on the settings are still made.
    home.write(FILE, "= = =");
    trouble(&home, "settings", "config.toml:1: invalid TOML", "rsv-config edit");
    assert_eq!(found(&home, "tools").0, "ok");
    let home = home.env("RSV_CONFIG", "nowhere.toml");
    trouble(&home, "settings", "nowhere.toml: no such file", "--config FILE set KEY VALUE");
}

/// Keeps: `rsv-config doctor` finds trouble and names its remedy.
#[test]
fn trouble_with_the_store_is_found() {
    let home = healthy(Home::new(), &dead());
    home.ingest(&[], &(0..300).map(|n| MESSAGE.replace("owl", &format!("owl {n}"))).collect::<String>());
    std::fs::set_permissions(home.store(), PermissionsExt::from_mode(0o640)).unwrap();
    trouble(&home, "permissions", "others can read", "chmod go= ");
    // The log goes into the file, of which then a page in the middle is overwritten.
    let store = rusqlite::Connection::open(home.store()).unwrap();
    store.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(store);
    let mut bytes = std::fs::read(home.store()).unwrap();
    let middle = bytes.len() / 2 / 16384 * 16384;
    bytes[middle..middle + 16384].fill(0x55);
    std::fs::write(home.store(), bytes).unwrap();
    trouble(
        &home,
        "store",
        "; restore a backup, or stop the programs that use it",
        "rsv-export --recover --vectors base64 --store ",
    );
    for (store, reported, remedy) in [
        (".", "is a directory", "name a file in it"),
        ("notes.txt", "is not an rsv store", "--store"),
        ("notes.txt/store.db", "notes.txt is not a directory", "rsv-config set store PATH"),
        ("redis://h", "not an address", "sqlite:PATH"),
        ("bolt://127.0.0.1:1", "cannot open store bolt://127.0.0.1:1", ""),
    ] {
        let home = home.env("RSV_STORE", store);
        home.write("notes.txt", &"no database at all\n".repeat(100));
        trouble(&home, "store", reported, remedy);
    }
}

#[test]
fn unused_space_of_the_store_is_told_and_returned() {
    let home = healthy(Home::new(), &dead());
    let ran = home.run("rsv-config", &["doctor", "--compact"], "");
    assert_eq!((ran.status, home.store().exists()), (0, false), "{ran}");
    let long = "owl ".repeat(10_000);
    let lines = (0..300).map(|n| format!("{{\"role\":\"user\",\"content\":\"{n} {long}\"}}\n"));
    home.ingest(&[], &lines.collect::<String>());
    assert!(found(&home, "unused").1.starts_with("0.0 MB of 1"), "{:?}", found(&home, "unused"));
    home.run("rsv-forget", &["--everything", "--yes"], "").ok();
    let (state, reported, remedy) = found(&home, "unused");
    assert!(state == "advice" && remedy == "rsv-config doctor --compact", "{state} {reported} {remedy}");
    let size = || std::fs::metadata(home.store()).unwrap().len();
    assert!(size() > 12_000_000);
    let export = home.export();
    let compacted = lines_of(&home.run("rsv-config", &["doctor", "--compact"], "").ok());
    assert!(of(&compacted, "unused").1.starts_with("1") && compacted.len() == 1, "{compacted:?}");
    assert!(size() < 1_100_000, "{}", size());
    assert_eq!((found(&home, "unused").0.as_str(), home.export()), ("ok", export));
    home.check();
}

#[test]
fn a_damaged_or_missing_model_is_found() {
    let home = healthy(Home::new(), &dead());
    assert_eq!(found(&home, "model").0, "advice");
    trouble(
        &home.env("RSV_EMBED_MODEL", "bge-m3"),
        "model",
        "bge-m3 is not installed",
        "rsv-embed --fetch bge-m3",
    );
    trouble(&home.env("RSV_EMBED_VIA", &dead()), "model", "", "");
    let home = healthy(Home::with_model(), &dead());
    let there = std::fs::canonicalize(home.path(".local/share/rsv/models")).unwrap();
    std::fs::remove_file(home.path(".local/share/rsv/models")).unwrap();
    let own = home.path(".local/share/rsv/models").join(MODEL);
    std::fs::create_dir_all(&own).unwrap();
    for file in there.join(MODEL).read_dir().unwrap() {
        let file = file.unwrap();
        symlink(file.path(), own.join(file.file_name())).unwrap();
    }
    assert_eq!(found(&home, "model").0, "ok");
    // The same length, but other contents.
    let tokenizer = own.join("tokenizer.json");
    let text = std::fs::read_to_string(&tokenizer).unwrap().replacen("\"version\"", "\"noisrev\"", 1);
    std::fs::remove_file(&tokenizer).unwrap();
    std::fs::write(&tokenizer, text).unwrap();
    trouble(&home, "model", "tokenizer.json is damaged", "rsv-embed --fetch");
    let home = home.env("RSV_EMBED_LIBRARY", "/nowhere/libonnxruntime.so");
    trouble(&home, "model", "", "rsv-");
}

#[test]
fn messages_without_vectors_are_found() {
    let home = healthy(Home::with_model(), &dead()).env("RSV_EMBED_CATCH_UP", "1");
    home.ingest(&[], &(MESSAGE.to_owned() + &MESSAGE.replace("owl", "egg")));
    trouble(&home, "vectors", "2 messages have no vector", "rsv-embed --pending");
    home.run("rsv-embed", &["--pending", "-q"], "").ok();
    assert_eq!(found(&home, "vectors").0, "ok");
}

#[test]
fn the_process_on_the_proxy_port_is_found() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let home = healthy(Home::new(), &dead()).env("RESERVOIR_PORT", &port);
    // It accepts connections and never answers.
    let thread = std::thread::spawn(move || {
        for connection in taken.incoming().take(4) {
            drop(connection);
        }
    });
    let (state, reported, remedy) = found(&home, "proxy");
    assert_eq!(state, "trouble");
    assert!(reported.starts_with(&format!("127.0.0.1:{port} is taken by ")), "{reported}");
    let own = format!("(process {})", std::process::id());
    assert!(!cfg!(target_os = "linux") || reported.ends_with(&own), "{reported}");
    assert!(remedy.contains("rsv-config set reservoir_port"), "{remedy}");
    drop(thread);
    let health = |version: &str, store: &str| {
        let body = format!("{{\"status\":\"ok\",\"store\":\"{store}\",\"version\":\"{version}\"}}");
        Fake::answering(move |_| Answer::new(200, body.clone()))
    };
    let at = |fake: &Fake| home.env("RESERVOIR_PORT", fake.url().rsplit(':').next().unwrap());
    let version = env!("CARGO_PKG_VERSION");
    let proxy = health(version, "ok");
    assert_eq!(found(&at(&proxy), "proxy").1.split(" runs").next(), Some(&*format!("rsv-proxy {version}")));
    assert_eq!(proxy.seen()[0].path, "/health");
    trouble(&at(&health("0.0.9", "ok")), "proxy", "rsv-proxy 0.0.9 runs", "restart it");
    trouble(&at(&health(version, "disk full")), "proxy", "disk full", "rsv-proxy --check");
    trouble(
        &home.env("RESERVOIR_HOST", "192.0.2.1"),
        "proxy",
        "cannot listen on 192.0.2.1",
        "reservoir_host",
    );
}

/// Keeps: `rsv-config doctor` finds trouble and names its remedy.
#[test]
fn providers_are_checked() {
    let home = healthy(Home::new(), &dead());
    trouble(&home, "ollama", "connection refused", "start it, or correct RSV_OLLAMA_BASE_URL");
    // Providers that nobody configured are not mentioned, unless one of them answers.
    let named = |home: &Home| {
        let names = ["openai", "mistral", "gemini", "anthropic", "ollama", "custom", "providers"];
        let lines = examine(home).0.into_iter().map(|line| text(&line["check"]));
        lines.filter(|check| names.contains(&check.as_str())).collect::<Vec<String>>()
    };
    assert_eq!(named(&home), ["ollama"]);
    assert_eq!(
        named(&home.env("OPENAI_API_KEY", "sk").env("RSV_OPENAI_BASE_URL", &dead())),
        ["openai", "ollama"]
    );
    trouble(
        &home.env("RSV_CUSTOM_BASE_URL", "nonsense"),
        "settings",
        "RSV_CUSTOM_BASE_URL: expected an address",
        "",
    );
    // The provider of the model in the settings is required.
    trouble(
        &home.env("RSV_CONFIG", &model_in_file(&home, "gpt-4o")),
        "openai",
        "OPENAI_API_KEY is not set",
        "OPENAI",
    );
    let refuses = Fake::answering(|_| Answer::new(401, "{}"));
    let openai = home.env("RSV_OPENAI_BASE_URL", &refuses.url()).env("OPENAI_API_KEY", "sk-canary");
    trouble(&openai, "openai", "refused the key (401)", "check OPENAI_API_KEY");
    assert_eq!(refuses.seen()[0].header("authorization"), Some("Bearer sk-canary"));
    let broken = Fake::answering(|_| Answer::new(503, "{}"));
    trouble(&home.env("RSV_OLLAMA_BASE_URL", &broken.url()), "ollama", "answers 503", "try again later");
    let other = ollama("{\"id\":\"gemma3:4b\"}");
    let missing =
        home.env("RSV_OLLAMA_BASE_URL", &other.url()).env("RSV_CONFIG", &model_in_file(&home, "qwen3"));
    trouble(&missing, "ollama", "has no qwen3", "ollama pull qwen3");
    // Storing and searching need none.
    let (state, _, remedy) = found(&Home::new(), "providers");
    assert_eq!((state.as_str(), remedy.starts_with("start Ollama")), ("advice", true));
    let none = Home::new().env("RSV_OLLAMA_BASE_URL", "https://ollama.invalid");
    assert_eq!(found(&none, "ollama").2, "check the network, or correct RSV_OLLAMA_BASE_URL");
}

/// A settings' file that names a model.
fn model_in_file(home: &Home, model: &str) -> String {
    home.write("own.toml", &format!("model = '{model}'\n")).display().to_string()
}

#[test]
fn tools_missing_or_of_another_version_are_found() {
    let home = healthy(Home::new(), &dead());
    trouble(&home.env("PATH", "/nowhere"), "tools", "the shell cannot find rsv", "export PATH=");
    let older = home.write("older/rsv-embed", "#!/bin/sh\necho rsv-embed 0.0.1\n");
    std::fs::set_permissions(&older, PermissionsExt::from_mode(0o755)).unwrap();
    let bin = Path::new(env!("CARGO_BIN_EXE_rsv-config")).parent().unwrap().display().to_string();
    let path = format!("{}:{bin}", older.parent().unwrap().display());
    trouble(&home.env("PATH", &path), "tools", "older/rsv-embed is version 0.0.1", "remove it, or put");
}

#[test]
fn missing_manual_and_completions_are_found() {
    let home = healthy(Home::new(), &dead()).env("SHELL", "/usr/bin/fish");
    for check in ["manual", "completions"] {
        let (state, _, remedy) = found(&home, check);
        assert!(state == "advice" && remedy.contains("scripts/install"), "{check}: {remedy}");
    }
    home.write(".local/share/man/man1/rsv-config.1", "");
    home.write(".local/share/fish/vendor_completions.d/rsv-config.fish", "");
    assert_eq!((found(&home, "manual").0, found(&home, "completions").0), ("ok".into(), "ok".into()));
}

#[test]
fn a_terminal_gets_the_checks_as_text() {
    let home = healthy(Home::new(), &dead());
    let Some(terminal) = Terminal::start(&home, "rsv-config", "doctor") else { return };
    let (seen, status) = terminal.end();
    assert_eq!(status, 1, "{seen}");
    assert!(seen.starts_with("settings: \u{1b}[1;32mok\u{1b}[0m: every key is known\n"), "{seen}");
    assert!(seen.contains("ollama: \u{1b}[1;31mtrouble\u{1b}[0m: cannot reach http://127.0.0.1:"), "{seen}");
    assert!(seen.contains("\n  start it, or correct RSV_OLLAMA_BASE_URL\n"), "{seen}");
}

#[test]
fn the_status_shows_what_there_is_and_what_to_do_next() {
    let port = free_port();
    let home = Home::new().env("RESERVOIR_PORT", &port);
    let status = |home: &Home| home.run("rsv-config", &["status"], "").to_string().replace(&port, "PORT");
    let first = status(&home);
    assert_eq!(
        first,
        "settings    ~/.config/rsv/config.toml, which does not exist yet\n\
         store       sqlite:~/.local/share/rsv/store.db\n\
         messages    0\n\
         partitions  none\n\
         model       not set\n\
         embedding   no model; messages are found by words\n\
         proxy       not running; 127.0.0.1:PORT is free\n\
         next        rsv-config init\n[0]"
    );
    assert!(!home.path(".local").exists() && !home.path(".config").exists(), "something was made");
    let next =
        |home: &Home| status(home).split("next        ").nth(1).unwrap().lines().next().unwrap().to_owned();
    home.run("rsv-config", &["set", "model", "gpt-4o"], "").ok();
    assert!(
        status(&home).contains(
            "model       gpt-4o, OpenAI at https://api.openai.com/v1/chat/completions, whose key is missing\n"
        ),
        "{}",
        status(&home)
    );
    assert_eq!(next(&home), "rsv-config init --force");
    home.run("rsv-config", &["set", "model", "llama3.2"], "").ok();
    assert_eq!(next(&home), "rsv-embed --fetch");
    let home = home.and_model();
    assert!(next(&home).starts_with("rsv-ingest "));
    for partition in ["a", "b", "b", "c", "d", "e", "f"] {
        home.run("rsv-ingest", &["-p", partition, "An owl."], "").ok();
    }
    let after = status(&home);
    assert!(
        after.contains("messages    7\npartitions  b (2), a (1), c (1), d (1), e (1), and 1 more\n"),
        "{after}"
    );
    assert!(next(&home).starts_with("rsv-ask"), "{after}");
    home.write("no store", "something else");
    assert_eq!(next(&home.env("RSV_STORE", "no store")), "rsv-config doctor");
    // After 'init' with Enter at every question.
    let home = Home::with_model().env("RESERVOIR_PORT", &port);
    assert!(next(&home).starts_with("rsv-ingest "));
    home.run("rsv-ingest", &["An owl."], "").ok();
    assert!(next(&home).starts_with("rsv-config set model MODEL, or "), "{}", status(&home));
}
