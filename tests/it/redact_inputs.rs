//! Redaction on all ways in: the provider gets what the user wrote, and no file of rsv's has the secret.

use crate::chat::chat;
use crate::chat_sessions::ask;
use crate::chat_uploads::{settled, upload};
use crate::fake::{Answer, Fake};
use crate::import_formats::messages;
use crate::mcp::Client;
use crate::proxy::{NOW, Proxy};
use crate::redact::{secrets, token};
use crate::support::{Home, Ran, lines_of, on_each_store, text};
use serde_json::{Value, json};
use std::path::Path;

const PATH: &str = "/partition/p/v1/chat/completions";
const MARK: &str = "[redacted:openai-api-key]";

/// A key, and a home in which secrets are redacted, before a provider.
fn key_and_home(url: &str) -> (String, Home) {
    let (_, key) = secrets().remove(0);
    let home = Home::new().at(NOW).env("RSV_INGEST_REDACT", "true");
    (key, home.env("RSV_OLLAMA_BASE_URL", url).env("RSV_RETRIES", "0"))
}

/// Fails if a file below a directory has a secret. An export must not have it either.
fn assert_nowhere(home: &Home, secret: &str) {
    let mut directories = vec![home.path("")];
    let mut files = 0;
    while let Some(directory) = directories.pop() {
        for entry in directory.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else {
                files += 1;
                assert!(!holds(&path, secret), "{} has the secret", path.display());
            }
        }
    }
    assert!(files > 0 || home.is_at_server());
    assert!(!home.export().contains(secret));
}

fn holds(path: &Path, secret: &str) -> bool {
    let bytes = std::fs::read(path).unwrap();
    memchr::memmem::find(&bytes, secret.as_bytes()).is_some()
}

fn whole(text: &str) -> Answer {
    let choice =
        json!([{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]);
    Answer::new(
        200,
        json!({"id": "c", "object": "chat.completion", "model": "llama3.1", "choices": choice}).to_string(),
    )
}

/// An answer whose events divide the text, and so the secrets in it.
fn streamed(text: &str) -> Answer {
    let mut events = String::new();
    for piece in text.as_bytes().chunks(7) {
        let delta = json!({"content": std::str::from_utf8(piece).unwrap()});
        let chunk = json!({"object": "chat.completion.chunk", "model": "llama3.1", "choices": [{"index": 0, "delta": delta}]});
        events += &format!("data: {chunk}\n\n");
    }
    let end = json!({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    events += &format!("data: {end}\n\ndata: [DONE]\n\n");
    Answer::new(200, events).header("Content-Type", "text/event-stream")
}

fn contents(home: &Home) -> Vec<String> {
    home.contents("rsv-view", &["-p", "p"])
}

/// The report of a run about its redactions.
fn told(ran: &Ran) -> Vec<&str> {
    ran.stderr.lines().filter(|line| line.contains("redacted")).collect()
}

/// Keeps: Secrets are in no file of the store and no log.
#[test]
fn rsv_ask_sends_what_was_written_and_stores_it_redacted() {
    let (key, _) = key_and_home("");
    let fake = Fake::new([streamed(&format!("Never show {key} to anyone")), streamed("Again")]);
    let (key, home) = key_and_home(&fake.url());
    let question = format!("Is {key} my key?");
    let asked = home.run("rsv-ask", &["-p", "p", "--model", "llama3.1", &question], "");
    assert_eq!(
        (asked.status, asked.stdout),
        (0, format!("Never show {key} to anyone\n")),
        "{}",
        asked.stderr
    );
    assert_eq!(asked.stderr, "rsv-ask: 2 secrets were redacted before storing: 2 openai-api-key\n");
    assert!(fake.one().text().contains(&question));
    assert_eq!(contents(&home), [format!("Is {MARK} my key?"), format!("Never show {MARK} to anyone")]);
    assert_nowhere(&home, &key);
}

#[test]
fn the_pipe_and_the_proxy_store_the_same_ids_by_the_redacted_text() {
    let (key, _) = key_and_home("");
    let answer = || whole(&format!("Never show {key}"));
    let (by_pipe, by_proxy) = (Fake::new([answer()]), Fake::new([answer()]));
    let ((_, pipe), (_, served)) = (key_and_home(&by_pipe.url()), key_and_home(&by_proxy.url()));
    let request =
        json!({"model": "llama3.1", "messages": [{"role": "user", "content": format!("Mine is {key}")}]});
    let enriched = pipe.run("rsv-enrich", &["-p", "p"], request.to_string()).ok();
    let answered = pipe.run("rsv-forward", &[], enriched).ok();
    let stored = pipe.run("rsv-ingest", &[], &answered);
    // The answer is passed on as it came.
    assert_eq!(stored.stdout, answered);
    assert_eq!(told(&stored).len(), 1, "{stored}");
    // A turn that comes again is stored once, since its ids follow from what is stored.
    let once = pipe.export();
    pipe.run("rsv-ingest", &["-q"], &answered).ok();
    assert_eq!(pipe.export(), once);

    let mut proxy = Proxy::start_with(&served, &["-v"]);
    let (status, body) = proxy.post(PATH, "", &request.to_string());
    assert!(status == 200 && body.contains(&key), "{body}");
    assert!(by_proxy.one().text().contains(&format!("Mine is {key}")));
    assert_eq!(contents(&served), contents(&pipe));
    assert_eq!(contents(&served), [format!("Mine is {MARK}"), format!("Never show {MARK}")]);
    let log = ended(&mut proxy);
    assert!(
        log.contains("2 secrets were redacted before storing: 2 openai-api-key") && !log.contains(&key),
        "{log}"
    );
    for home in [pipe, served] {
        assert_nowhere(&home, &key);
    }
}

/// All that a proxy has said, after it was asked to end.
fn ended(proxy: &mut Proxy) -> String {
    proxy.last_words().0
}

#[test]
fn a_stream_is_passed_on_as_it_comes_and_stored_redacted() {
    let (key, _) = key_and_home("");
    let fake = Fake::new([streamed(&format!("It was {key}."))]);
    let (key, home) = key_and_home(&fake.url());
    let mut proxy = Proxy::start_with(&home, &["-v"]);
    let request =
        json!({"model": "llama3.1", "stream": true, "messages": [{"role": "user", "content": "Which key?"}]});
    let (status, _) = proxy.post(PATH, "", &request.to_string());
    assert_eq!(status, 200);
    assert_eq!(contents(&home), ["Which key?", &format!("It was {MARK}.")]);
    assert!(!ended(&mut proxy).contains(&key));
    assert_nowhere(&home, &key);
}

#[test]
fn what_the_request_holds_is_not_recalled_in_its_redacted_form() {
    let fake = Fake::answering(|_| whole("Yes."));
    let (key, home) = key_and_home(&fake.url());
    // It was stored once before secrets were redacted, too.
    let before = home.clone().env("RSV_INGEST_REDACT", "false");
    before.run("rsv-ingest", &["-q", "-p", "p", &format!("The owl has the key {key}")], "").ok();
    home.run("rsv-ingest", &["-q", "-p", "p", &format!("The owl has the key {key}")], "").ok();
    home.run("rsv-ingest", &["-q", "-p", "p", "The owl sleeps"], "").ok();
    let messages = |key: &str| {
        json!({"model": "llama3.1", "messages": [
            {"role": "user", "content": format!("The owl has the key {key}")},
            {"role": "assistant", "content": "I see."},
            {"role": "user", "content": "What does the owl have?"}]})
    };
    let enriched = home.run("rsv-enrich", &["-p", "p"], messages(&key).to_string()).ok();
    let line: Value = serde_json::from_str(&enriched).unwrap();
    let last = text(&line["messages"][2]["content"]);
    assert!(last.contains("The owl sleeps") && !last.contains("has the key"), "{last}");
    // Another request holds it not, and gets it once.
    let other =
        json!({"model": "llama3.1", "messages": [{"role": "user", "content": "What does the owl have?"}]});
    let enriched = home.run("rsv-enrich", &["-p", "p"], other.to_string()).ok();
    assert_eq!(enriched.matches("has the key").count(), 1, "{enriched}");
}

#[test]
fn files_of_other_programs_are_redacted_as_they_are_imported() {
    let (key, home) = key_and_home("");
    let pem = secrets().into_iter().find(|(kind, _)| *kind == "private-key").unwrap().1;
    let claude = json!({"type": "user", "sessionId": "s", "cwd": "/nowhere/owls", "uuid": "u1",
        "timestamp": "2026-11-01T10:00:00.000Z", "message": {"role": "user", "content": format!("{key}\n{pem}")}});
    let chat = json!([{"title": "T", "create_time": 1.7e9, "current_node": "b", "mapping": {
        "a": {"id": "a", "parent": null, "children": ["b"], "message": null},
        "b": {"id": "b", "parent": "a", "children": [], "message": {"id": "b", "author": {"role": "user"},
            "create_time": 1.7e9, "content": {"content_type": "text", "parts": [format!("Look: {key}")]}}}}}]);
    // The title is cut off within the key.
    let long = "owl ".repeat(17);
    let mem0 = json!({"id": "i", "memory": format!("{long}{key}"), "user_id": "u", "created_at": "2026-11-01T10:00:00Z"});
    let contextd = json!({"id": "c1", "title": "T", "content": format!("Key {key}"), "outcome": "success",
        "confidence": 0.7, "usage_count": 1, "project_id": "p", "created_at": "2026-11-01T10:00:00Z",
        "updated_at": "2026-11-01T10:00:00Z", "tags": []});
    let reservoir = json!([{"trace_id": "t", "partition": "p", "instance": "p", "role": "user", "timestamp": 1,
        "content": format!("Old {key}"), "embedding": []}]);
    for (name, text) in [
        ("claude.jsonl", claude.to_string()),
        ("chatgpt.json", chat.to_string()),
        ("mem0.jsonl", mem0.to_string()),
        ("contextd.json", json!({"memories": [contextd]}).to_string()),
        ("reservoir.json", reservoir.to_string()),
    ] {
        let (own, file) = (Home::new().env("RSV_INGEST_REDACT", "true"), home.write(name, &text));
        let ran = own.run("rsv-import", &[file.to_str().unwrap()], "");
        assert_eq!(ran.status, 0, "{name}: {ran}");
        assert_eq!(told(&ran).len(), 1, "{name}: {ran}");
        assert_nowhere(&own, &key);
        assert_nowhere(&own, &key[..16]);
        // The same file again adds nothing.
        let there = own.export();
        assert!(there.contains(MARK), "{name}: {there}");
        own.run("rsv-import", &["-q", file.to_str().unwrap()], "");
        assert_eq!(own.export(), there, "{name}");
    }
}

#[test]
fn chats_uploads_commits_and_calls_of_clients_are_redacted() {
    let (key, _) = key_and_home("");
    let fake = Fake::answering({
        let key = key.clone();
        move |_| whole(&format!("Never show {key}"))
    });
    let (key, home) = key_and_home(&fake.url());
    let mut proxy = Proxy::start(&home);
    let ann = "X-User-Id: ann\r\n";
    let (status, body) =
        chat(&proxy, ann, &format!("Remember that my key is {key}"), json!({"session_id": "s"}));
    assert!(status == 200 && text(&body["message"]).contains(&key), "{body}");
    let taken = upload(&proxy, ann, "keys.md", format!("# Keys\n\nMine is {key}, says {MARK}.\n").as_bytes());
    assert_eq!(settled(&proxy, ann, &text(&taken["doc_id"]))["state"], "ready");
    let (status, body) = ask(&proxy, "POST", "/api/sessions/s/commit", ann);
    assert!(status == 200 && body["memories_created"] == 1, "{body}");
    proxy.settle();
    let log = ended(&mut proxy);
    assert!(!log.contains(&key), "{log}");
    let kinds = ["message", "memory", "document"];
    let stored = lines_of(&home.export());
    for kind in kinds {
        let of_kind = stored.iter().filter(|line| line["kind"] == kind);
        assert!(
            of_kind.clone().count() > 0 && of_kind.clone().any(|one| one.to_string().contains(MARK)),
            "{kind}"
        );
    }
    assert_nowhere(&home, &key);

    let mut client = Client::start(&home, &["-p", "mcp"]);
    client.call("remember", json!({"text": format!("The key is {key}")}));
    let record = json!({"title": "Key", "content": format!("Use {key}"), "outcome": "success"});
    client.call("memory_record", record);
    client.talk.end();
    for text in ["The key is", "Use"] {
        assert!(home.export().contains(&format!("\"{text} {MARK}\"")), "{text}");
    }
    assert_nowhere(&home, &key);
}

#[test]
fn documents_and_what_is_cut_off_are_redacted() {
    let (key, home) = key_and_home("");
    home.write(
        "tree/deploy.md",
        &format!("# Deploy\n\nSet the key to {key} first.\n\n## More\n\nThen run it.\n"),
    );
    home.write("tree/.env", &format!("OPENAI_API_KEY={key}\n"));
    home.write("tree/plain.txt", &format!("key: {key}\n"));
    let parsed =
        home.run("rsv-parse", &["-q", "-p", "p", "--to", "viking://resources/tree", "tree"], "").ok();
    std::fs::remove_dir_all(home.path("tree")).unwrap();
    let ran = home.run("rsv-ingest", &["-p", "p", "--mirror"], &parsed);
    assert!(ran.status == 0 && told(&ran).len() == 1, "{ran}");
    assert!(home.export().contains(MARK));
    assert_nowhere(&home, &key);
    // An unchanged tree is unchanged.
    let there = home.export();
    home.run("rsv-ingest", &["-q", "-p", "p", "--mirror"], &parsed).ok();
    assert_eq!(home.export(), there);
    // A memory, whose title was cut off within a secret.
    let memory = json!({"kind": "memory", "partition": "p", "title": format!("The key {}...", &key[..20]),
        "content": format!("The key {key} is old"), "outcome": "failure"});
    let stored = &lines_of(&home.run("rsv-ingest", &["-q"], memory.to_string()).ok())[0];
    assert_eq!(stored["title"], format!("The key {MARK}..."));
    let words = ["-q", "--title", "Key", "--outcome", "success", "-p", "p", &key];
    assert_eq!(text(&lines_of(&home.run("rsv-ingest", &words, "").ok())[0]["content"]), MARK);
    assert_nowhere(&home, &key);
    assert_eq!(messages(&home).len(), 0);
    assert_ne!(token(1, 20), token(2, 20));
}

on_each_store!(addresses_sources_and_names_of_members_are_redacted_and_ids_follow);
fn addresses_sources_and_names_of_members_are_redacted_and_ids_follow(home: Home) {
    let (key, _) = key_and_home("");
    let tree = |key: &str| {
        let uri = "viking://resources/tree";
        [
            json!({"kind": "document", "uri": format!("{uri}/{key}"), "title": "A", "content": "", "children": 1,
                "source": format!("/home/owl/{key}")}),
            json!({"kind": "document", "uri": format!("{uri}/{key}/b"), "content": "Owls", "source": "https://owl:Hun7er!x9@e.org/b"}),
            json!({"kind": "tree", "uri": format!("{uri}/{key}"), "nodes": 2, "complete": true}),
        ]
        .map(|line| format!("{line}\n"))
        .concat()
    };
    let home = home.env("RSV_INGEST_REDACT", "true");
    let ingest = |lines: &str| home.run("rsv-ingest", &["-p", "p", "--mirror"], lines);
    let ran = ingest(&tree(&key));
    assert_eq!((ran.status, told(&ran).len()), (0, 1), "{ran}");
    let there = home.export();
    let source = |name: &str| {
        let documents = lines_of(&there);
        let document =
            documents.iter().find(|document| document["uri"] == format!("viking://resources/tree/{name}"));
        document.unwrap_or_else(|| panic!("{there}"))["source"].clone()
    };
    assert_eq!(source(MARK), format!("/home/owl/{MARK}"));
    assert_eq!(source(&format!("{MARK}/b")), "https://owl:[redacted:url-password]@e.org/b");
    assert_nowhere(&home, &key);
    // A mirror of the same tree takes nothing away, and the ids are those of the addresses that are left.
    ingest(&tree(&key));
    assert_eq!(home.export(), there);
    ingest(&tree(MARK));
    assert_eq!(home.export(), there);
    // A secret in a part of the tree is named by its address.
    let kept = json!({"kind": "tree", "uri": format!("viking://resources/tree/{key}"), "nodes": 2, "complete": true,
        "kept": [format!("viking://resources/tree/{key}"), format!("viking://resources/tree/{key}/b")]});
    let ran = ingest(&format!("{kept}\n"));
    assert!(ran.status == 0 && !ran.stdout.contains(&key), "{ran}");
    assert_eq!(home.export(), there);
    // Names of members, at the top of a line and below; of two that are the same then, each has its number.
    let other = secrets().remove(1).1;
    let mut line = json!({"role": "user", "content": "Owls", "note": {key.clone(): 1, other.clone(): 2}});
    line[&key] = json!("mine");
    line[&other] = json!("yours");
    let stored = &lines_of(&home.run("rsv-ingest", &["-q", "-p", "p"], line.to_string()).ok())[0];
    let second = format!("{MARK} 2");
    let names: Vec<&String> = stored.as_object().unwrap().keys().filter(|name| name.contains(MARK)).collect();
    assert_eq!(names, [MARK, &second], "{stored}");
    assert_eq!(stored["note"].as_object().unwrap().keys().collect::<Vec<_>>(), [MARK, &second], "{stored}");
    assert_nowhere(&home, &key);
    assert_nowhere(&home, &other);
    // Of very many too.
    let key = |n: u128| format!("ghp_{:036x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
    let many: Vec<String> = (1..=3000).map(|n| format!("\"{}\":{n}", key(n))).collect();
    let line = format!("{{\"role\":\"user\",\"content\":\"Owls\",{}}}", many.join(","));
    let stored = &lines_of(&home.run("rsv-ingest", &["-q", "-p", "p"], line).ok())[0];
    let mark = "[redacted:github-token]";
    assert_eq!((&stored[mark], &stored[format!("{mark} 3000")]), (&json!(1), &json!(3000)));
}

#[test]
fn what_a_member_of_json_names_a_secret_is_one() {
    let home = Home::new().env("RSV_INGEST_REDACT", "true");
    let line = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c", "function": {"name": "connect",
        "arguments": {"host": "db", "password": "Kd9#x2Lp", "api_key": token(7, 32), "port": 5432, "options":
        {"passwords": ["Kd9#x2Lp"], "user": "owl2024", "cache_key": token(8, 32)}}}}], "db_password": "Hun7er!x9"});
    let stored = &lines_of(&home.run("rsv-ingest", &["-q"], line.to_string()).ok())[0];
    let arguments = &stored["tool_calls"][0]["function"]["arguments"];
    assert_eq!(arguments["password"], "[redacted:password]");
    assert_eq!(arguments["api_key"], "[redacted:secret]");
    assert_eq!(stored["db_password"], "[redacted:password]");
    for kept in ["user", "cache_key"] {
        assert_eq!(
            arguments["options"][kept],
            line["tool_calls"][0]["function"]["arguments"]["options"][kept]
        );
    }
}
