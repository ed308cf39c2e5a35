//! Memory that fails stops no request; what is too long is answered; what does not fit leaves in its order.

use crate::fake::{Answer, Fake};
use crate::proxy::Proxy;
use crate::support::{Home, MODEL, lines_of, text, wait_for};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

const REPLY: &str = r#"{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}],"usage":{"prompt_tokens":40,"completion_tokens":1,"total_tokens":41}}"#;
const ASKED: &str = r#"{"model":"llama3.1","messages":[{"role":"user","content":"What do owls do?"}]}"#;

/// A home with messages in the scope `w`.
fn remembering(home: Home) -> Home {
    let line = |text: &str| json!({"role": "user", "content": text}).to_string() + "\n";
    home.ingest(&["-p", "w"], &(line("Owls hunt at night.") + &line("Herons stand in the reeds.")));
    home
}

/// A fake Ollama that tells nothing of windows and answers every chat.
fn ollama() -> Fake {
    Fake::answering(|seen| {
        if seen.path.starts_with("/api/") { Answer::new(404, "{}") } else { Answer::new(200, REPLY) }
    })
}

fn at(home: &Home, provider: &Fake) -> Home {
    home.env("RSV_OLLAMA_BASE_URL", &provider.url())
}

/// The answer to a chat: status, header and body.
fn chat(proxy: &Proxy, body: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
    let head = "POST /partition/w/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    stream.write_all(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), head.to_lowercase(), body.to_owned())
}

/// An rsv-enrich that answers one request after the other.
struct Coprocess(Child, ChildStdin, Lines<BufReader<ChildStdout>>);

impl Coprocess {
    fn start(home: &Home) -> Coprocess {
        let mut command = home.command("rsv-enrich");
        command.args(["-p", "w"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Coprocess(child, input, BufReader::new(output).lines())
    }

    /// The parts that are recalled for the request.
    fn recalled(&mut self) -> Vec<Value> {
        writeln!(self.1, "{ASKED}").unwrap();
        let line = self.2.next().unwrap().unwrap();
        lines_of(&line).remove(0)["rsv"]["account"]["recalled"].as_array().unwrap().clone()
    }

    fn end(self) {
        let Coprocess(mut child, input, _) = self;
        drop(input);
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn a_store_that_comes_to_be_is_used_by_an_enrichment_that_runs_already() {
    let home = Home::new();
    let mut coprocess = Coprocess::start(&home);
    assert!(coprocess.recalled().is_empty() && !home.store().exists());
    let _home = remembering(home);
    assert!(!coprocess.recalled().is_empty());
    coprocess.end();
    // One that could not be opened is tried again too.
    let home = Home::new();
    fs::create_dir_all(home.store()).unwrap();
    let mut coprocess = Coprocess::start(&home);
    assert!(coprocess.recalled().is_empty());
    fs::remove_dir(home.store()).unwrap();
    let _home = remembering(home);
    wait_for("the store to be opened", || !coprocess.recalled().is_empty());
    coprocess.end();
}

/// Fails unless the request went on without memory, by the pipe and the proxy, and both say why.
fn continues(home: &Home, why: &str) {
    let ran = home.run("rsv-enrich", &["-p", "w"], ASKED);
    assert_eq!((ran.status, ran.stdout.lines().count()), (0, 1), "{ran}");
    assert!(ran.stderr.contains(why), "{ran}");
    let enriched = lines_of(&ran.stdout).remove(0);
    assert_eq!(enriched["messages"], serde_json::from_str::<Value>(ASKED).unwrap()["messages"]);
    let degraded = text(&enriched["rsv"]["account"]["degraded"]);
    assert!(degraded.contains(why), "{degraded}");
    let provider = ollama();
    let proxy = Proxy::start(&at(home, &provider));
    let (status, head, body) = chat(&proxy, ASKED);
    assert_eq!(status, 200, "{body}");
    let reported = head.lines().find_map(|line| line.strip_prefix("x-rsv-degraded: ")).expect(&head);
    assert!(reported.contains(&why.to_lowercase()), "{reported}");
    assert!(text(&lines_of(&body)[0]["rsv"]["account"]["degraded"]).contains(why), "{body}");
    assert_eq!(provider.one().text(), ASKED);
}

#[test]
fn an_unusable_store_stops_no_request() {
    let home = Home::new();
    home.write(".local/share/rsv/store.db", &"no database at all ".repeat(1000));
    continues(&home, "cannot open store");
    let home = Home::new();
    fs::create_dir_all(home.store()).unwrap();
    continues(&home, "is a directory");
    // Where the tests run as root, nothing is forbidden.
    let home = remembering(Home::new());
    fs::set_permissions(home.store(), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(home.store()).is_err() {
        continues(&home, "permission denied");
    }
}

#[test]
fn a_locked_store_stops_no_request() {
    let home = remembering(Home::new().env("RSV_ENRICH_TIMEOUT", "300ms"));
    let provider = ollama();
    let proxy = Proxy::start(&at(&home, &provider));
    let other = rusqlite::Connection::open(home.store()).unwrap();
    // At its start the proxy looks at the store.
    wait_for("a store that is free", || match other.execute_batch("PRAGMA journal_mode = DELETE") {
        Ok(()) => true,
        Err(error) => {
            assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy), "{error}");
            false
        }
    });
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| chat(&proxy, ASKED));
        // The provider is asked while the store is locked.
        wait_for("a request", || !provider.seen().is_empty());
        drop(other);
        let (status, head, body) = asking.join().unwrap();
        assert_eq!(status, 200, "{body}");
        assert!(head.contains("x-rsv-degraded: memory did not answer within 300ms"), "{head}");
        assert!(head.contains("x-rsv-recalled: 0"), "{head}");
    });
    assert_eq!(provider.one().text(), ASKED);
    assert_eq!(chat(&proxy, ASKED).0, 200);
    assert!(provider.seen()[1].text().contains("> Owls hunt at night."));
}

#[test]
fn without_its_model_messages_are_found_by_their_words() {
    let home = remembering(Home::with_model());
    home.run("rsv-embed", &["--pending"], "").ok();
    let recalled = |home: &Home, why: Option<&str>| {
        let ran = home.run("rsv-enrich", &["-p", "w", "--recall", "similar"], ASKED);
        assert_eq!(ran.status, 0, "{ran}");
        let enriched = lines_of(&ran.stdout).remove(0);
        let degraded = enriched["rsv"]["account"]["degraded"].as_str().unwrap_or_default();
        assert_eq!(degraded.contains(why.unwrap_or("nothing")), why.is_some(), "{degraded}");
        assert!(ran.stdout.contains("> Owls hunt at night."), "{ran}");
    };
    recalled(&home, None);
    let models = home.path(".local/share/rsv/models");
    fs::remove_file(&models).unwrap();
    fs::remove_file(home.path(".cache/rsv/models")).unwrap();
    recalled(&home, Some("messages are found by their words only"));
    let provider = ollama();
    let proxy = Proxy::start(&at(&home, &provider));
    let (status, head, _) = chat(&proxy, ASKED);
    assert!(status == 200 && head.contains("by their words only"), "{head}");
    assert!(provider.one().text().contains("> Owls hunt at night."));
    // A model that is cut short is no better.
    fs::create_dir(&models).unwrap();
    let other = Home::with_model();
    let installed = other.path(".local/share/rsv/models").join(MODEL);
    fs::create_dir(models.join(MODEL)).unwrap();
    for file in fs::read_dir(installed).unwrap().map(Result::unwrap) {
        match file.file_name().to_str() {
            Some("model.onnx") => fs::write(models.join(MODEL).join("model.onnx"), "cut").unwrap(),
            _ => symlink(file.path(), models.join(MODEL).join(file.file_name())).unwrap(),
        }
    }
    recalled(&home, Some("messages are found by their words only"));
}

/// Settings of a model that takes 300 tokens.
const SMALL: &str = "[models.'llama3.1']\nmax_context_tokens = 300\nreserve_tokens = 50\n";

fn long() -> String {
    let question = "What do owls do at night? ".repeat(60);
    json!({"model": "llama3.1", "messages": [{"role": "user", "content": question}]}).to_string()
}

#[test]
fn a_request_that_is_too_long_is_answered_by_the_pipe_and_the_proxy() {
    let home = remembering(Home::new());
    home.write(".config/rsv/config.toml", SMALL);
    let provider = Fake::new([]);
    let home = at(&home, &provider);
    let answer = home.run("rsv-enrich", &["-p", "w"], long()).ok();
    // Nobody is asked, and nothing but the account is stored.
    assert_eq!(home.run("rsv-forward", &[], &answer).ok(), answer);
    assert_eq!(home.run("rsv-ingest", &[], &answer).ok(), answer);
    let records = lines_of(&home.export());
    let kinds: Vec<String> = records.iter().map(|record| text(&record["kind"])).collect();
    assert_eq!(kinds, ["message", "message", "account"]);
    let line = &lines_of(&answer)[0];
    let account = &line["rsv"]["account"];
    let choice = &line["choices"][0];
    let said = format!(
        "Your last message is too long. It contains approximately {} tokens, which exceeds the maximum limit of 250. \
         Please shorten your message.",
        account["counted"]
    );
    assert_eq!((&choice["finish_reason"], &choice["message"]["content"]), (&json!("length"), &json!(said)));
    assert_eq!(
        (&account["recalled"], &account["recent"], &account["dropped"]),
        (&json!([]), &json!([]), &json!([]))
    );
    for member in ["id", "object", "created", "model"] {
        assert!(!line[member].is_null(), "{member}: {line}");
    }
    let mut proxy = Proxy::start(&home);
    let (status, head, body) = chat(&proxy, &long());
    assert_eq!((status, head.contains("x-rsv-recalled: 0")), (200, true), "{head}");
    assert_eq!(lines_of(&body)[0]["choices"], line["choices"]);
    assert_eq!(proxy.end(), Some(0));
    assert_eq!(lines_of(&home.export()).len(), 4);
    assert!(provider.seen().is_empty());
}

/// The text of the answer that a request is too long: the part, its tokens, and their limit; nothing if it is not.
fn too_long(home: &Home, request: &Value) -> Option<(String, i64, i64)> {
    let out = home.run("rsv-enrich", &[], request.to_string()).ok();
    let line = &lines_of(&out)[0];
    let said = text(line.get("choices")?.get(0)?.get("message")?.get("content")?);
    let (part, rest) = said.strip_prefix("Your ").unwrap().split_once(" too long. ").unwrap();
    let mut numbers = rest.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty());
    let mut number = || numbers.next().unwrap().parse().unwrap();
    Some((part.to_owned(), number(), number()))
}

#[test]
fn the_part_that_is_too_long_is_named_with_the_limit_that_applies_to_it() {
    let home = Home::new();
    home.write(".config/rsv/config.toml", SMALL);
    let words = |count: usize| "owl ".repeat(count);
    let request = |system: usize, last: usize| {
        json!({"model": "llama3.1", "messages": [
            {"role": "system", "content": words(system)}, {"role": "user", "content": words(last)}]})
    };
    let (part, tokens, limit) = too_long(&home, &request(400, 20)).unwrap();
    assert_eq!(part, "system message is");
    assert!(tokens > 400 && (180..240).contains(&limit), "{tokens} {limit}");
    let (part, tokens, limit) = too_long(&home, &request(100, 200)).unwrap();
    assert_eq!(part, "last message is");
    assert!((200..260).contains(&tokens) && (100..150).contains(&limit), "{tokens} {limit}");
    // As many words less as the text tells make the request fit, and one word more does not.
    let (most, over) = (limit as usize, tokens as usize);
    let fitting = 200 - (over - most);
    assert_eq!(too_long(&home, &request(100, fitting)), None);
    assert_eq!(too_long(&home, &request(100, fitting + 1)), Some((part, limit + 1, limit)));
    let mut tools = request(5, 5);
    tools["tools"] = json!([{"type": "function", "function": {"name": "f", "description": words(400)}}]);
    let (part, tokens, limit) = too_long(&home, &tools).unwrap();
    assert!(part == "tools are" && tokens > 400 && limit < 240, "{part} {tokens} {limit}");
}

#[test]
fn with_strict_a_request_that_is_too_long_is_an_error() {
    let home = remembering(Home::new());
    home.write(".config/rsv/config.toml", SMALL);
    let ran = home.run("rsv-enrich", &["-p", "w", "--strict"], long());
    assert_eq!(ran.stdout, "");
    let said = ran.trouble();
    assert!(said.starts_with("rsv-enrich: error: <stdin>:1: Your last message is too long. "), "{said}");
    let proxy = Proxy::start(&home.env("RSV_ENRICH_STRICT", "true"));
    let (status, _, body) = chat(&proxy, &long());
    assert_eq!(
        (status, &lines_of(&body)[0]["error"]["code"]),
        (400, &json!("context_length_exceeded")),
        "{body}"
    );
    assert_eq!(lines_of(&home.export()).len(), 2);
}

#[test]
fn ollama_is_asked_for_its_window_only_if_that_matters() {
    let asked_of = |provider: &Fake| -> Vec<String> {
        provider.seen().iter().map(|seen| format!("{} {}", seen.method, seen.path)).collect()
    };
    let long = long().replace("What do owls", &"What do all of the many owls".repeat(20));
    // Loaded with another window than its default; not loaded, with one of its own; with none.
    for (running, shown, window) in [
        (r#"{"models":[{"name":"llama3.1:latest","context_length":9000}]}"#, None, 9000),
        (
            r#"{"models":[]}"#,
            Some(r#"{"parameters":"num_ctx  8192\nstop x","model_info":{"llama.context_length":131072}}"#),
            8192,
        ),
        (r#"{"models":[]}"#, Some(r#"{"model_info":{"llama.context_length":131072}}"#), 4096),
        (r#"{"models":[]}"#, Some(r#"{"parameters":"","model_info":{"llama.context_length":2048}}"#), 2048),
    ] {
        let provider =
            Fake::new([Some(running), shown].into_iter().flatten().map(|body| Answer::new(200, body)));
        let home = at(&remembering(Home::new()), &provider);
        home.run("rsv-enrich", &["-p", "w"], ASKED).ok();
        assert_eq!(asked_of(&provider), [""; 0]);
        let account =
            lines_of(&home.run("rsv-enrich", &["-p", "w"], &long).ok())[0]["rsv"]["account"].clone();
        assert_eq!((&account["window"], &account["reserve"]), (&json!(window), &json!(2048.min(window / 4))));
        let wanted = ["GET /api/ps", "POST /api/show"];
        assert_eq!(asked_of(&provider), wanted[..1 + usize::from(shown.is_some())]);
        // A window in the settings is not asked for.
        home.write(".config/rsv/config.toml", "[models.'llama3.1']\nmax_context_tokens = 100000\n");
        home.run("rsv-enrich", &["-p", "w"], &long).ok();
        assert!(asked_of(&provider).len() <= 2);
    }
}

#[test]
fn silent_truncation_by_a_provider_is_reported_once_and_recorded() {
    let provider = Fake::new([Answer::new(200, REPLY), Answer::new(200, REPLY)]);
    let home = at(&remembering(Home::new()), &provider);
    home.write(".config/rsv/config.toml", "[models.'llama3.1']\nmax_context_tokens = 100000\n");
    let long = long().replace("What do owls", &"What do all of the many owls".repeat(20));
    let enriched = home.run("rsv-enrich", &["-p", "w"], format!("{long}\n{long}\n")).ok();
    let ran = home.run("rsv-forward", &[], enriched);
    assert_eq!((ran.status, ran.stdout.lines().count()), (0, 2), "{ran}");
    assert_eq!(ran.stderr.matches("read only 40 tokens of a request").count(), 1, "{ran}");
    home.run("rsv-ingest", &[], &ran.stdout).ok();
    let records = lines_of(&home.export());
    let accounts: Vec<&Value> = records.iter().filter(|record| record["kind"] == "account").collect();
    assert_eq!(accounts.len(), 2);
    for account in accounts {
        assert_eq!((&account["cut"], &account["prompt_tokens"]), (&json!(true), &json!(40)), "{account}");
    }
}
