//! rsv-import reads the files of other programs.

use crate::support::{Home, lines_of, on_each_store, text};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A file of another program, as `tests/it/import` has it.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/import").join(name)
}

/// The messages of the store, oldest first.
pub(crate) fn messages(home: &Home) -> Vec<Value> {
    let lines = lines_of(&home.run("rsv-export", &["--kind", "message"], "").ok());
    lines.into_iter().filter(|line| line["kind"] == "message").collect()
}

/// Each message in a line: scope, role, content.
pub(crate) fn told(home: &Home) -> Vec<String> {
    let told = |message: &Value| {
        let member = |name: &str| text(&message[name]);
        let content = message["content"].as_str().unwrap_or("-");
        format!("{}/{} {}: {content}", member("partition"), member("instance"), member("role"))
    };
    messages(home).iter().map(told).collect()
}

/// Imports a fixture with some flags, twice: the second time adds nothing.
fn import(home: &Home, name: &str, words: &[&str]) {
    let file = fixture(name);
    let words: Vec<&str> = words.iter().copied().chain([file.to_str().unwrap()]).collect();
    home.run("rsv-import", &words, "").ok();
    let first = home.export();
    home.run("rsv-import", &[&["--report", "report.json"], &words[..]].concat(), "").ok();
    assert_eq!(home.export(), first, "{name}");
    let report: Value = serde_json::from_str(&home.read("report.json")).unwrap();
    assert_eq!((&report["new"], &report["refused"]), (&0.into(), &0.into()), "{name}: {report}");
    assert_eq!(report["read"], report["same"], "{name}: {report}");
}

/// The question and the answer are linked.
fn is_linked(home: &Home, question: &str, answer: &str) -> bool {
    let messages = messages(home);
    let id = |content: &str| messages.iter().find(|m| m["content"] == content).map(|m| text(&m["id"]));
    let (question, answer) = (id(question).unwrap(), id(answer).unwrap());
    let links = lines_of(&home.export());
    links.iter().any(|l| l["rel"] == "RESPONDED_WITH" && l["from"] == question && l["to"] == answer)
}

const CLAUDE_CODE_SESSION: &str = "06a1f947-a90a-4f13-8abf-29c791ea9ee5";

#[test]
fn sessions_of_claude_code() {
    let home = Home::new();
    import(&home, "claude-code.jsonl", &[]);
    let scope = format!("owls/{CLAUDE_CODE_SESSION}");
    let wanted = [
        "user: When do owls hunt?",
        "assistant: Owls hunt at night.",
        "user: Please run ls",
        "assistant: I will look.",
        "assistant: There is one file, notes.txt.",
    ];
    assert_eq!(told(&home), wanted.map(|line| format!("{scope} {line}")));
    let second = &messages(&home)[1];
    assert_eq!(second["created_at"], "2026-11-24T21:35:21.713Z");
    assert_eq!(second["model"], "claude-sonnet-4-5");
    assert_eq!(second["source_id"], "2c6ff8f5-3ff9-4a53-9889-a0317c15d0c2");
    assert!(is_linked(&home, "When do owls hunt?", "Owls hunt at night."));
    assert!(!home.export().contains("The user greets"), "thinking is never stored");

    import(&home, "claude-code.jsonl", &["--keep-tools"]);
    let tools: Vec<Value> = messages(&home).into_iter().skip(4).take(2).collect();
    assert_eq!(tools[0]["tool_calls"][0]["function"]["name"], "Bash");
    assert_eq!((&tools[1]["role"], &tools[1]["content"]), (&"tool".into(), &"notes.txt".into()));
    assert_eq!(tools[1]["tool_call_id"], tools[0]["tool_calls"][0]["id"]);
}

#[test]
fn sessions_of_codex() {
    let home = Home::new();
    import(&home, "codex.jsonl", &[]);
    let wanted = [
        "user: When do owls hunt?",
        "assistant: Owls hunt at night.",
        "user: Please run ls",
        "assistant: Owls hunt at night.",
    ];
    let scope = "owls/01a20f7c-1fb0-7483-b9e3-781245917808";
    assert_eq!(told(&home), wanted.map(|line| format!("{scope} {line}")));
    let answer = &messages(&home)[1];
    assert_eq!(
        (&answer["model"], &answer["created_at"]),
        (&"gpt-5".into(), &"2026-11-24T21:35:22.761Z".into())
    );
    assert!(is_linked(&home, "When do owls hunt?", "Owls hunt at night."));
    import(&home, "codex.jsonl", &["--keep-tools"]);
    let tool = messages(&home).into_iter().find(|message| message["role"] == "tool").unwrap();
    assert!(text(&tool["content"]).ends_with("Output:\nnotes.txt\n"), "{tool}");

    // The first releases wrote no envelopes and no times.
    let home = Home::new();
    let old = concat!(
        r#"{"id":"s1","timestamp":"2025-06-01T10:00:00.000Z","instructions":""}"#,
        "\n{\"record_type\":\"state\"}\n",
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"yes"}]}"#,
        "\n",
        r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}"#,
        "\n",
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"yes"}]}"#,
        "\n"
    );
    home.run("rsv-import", &[], old).ok();
    assert_eq!(told(&home), ["codex/s1 user: yes", "codex/s1 assistant: Done.", "codex/s1 user: yes"]);
}

#[test]
fn the_account_export_of_chatgpt() {
    let home = Home::new();
    import(&home, "chatgpt.json", &[]);
    let shown = [
        "chatgpt/conv-1 user: When do owls hunt?",
        "chatgpt/conv-1 assistant: Most owls hunt at night.",
        "chatgpt/conv-1 user: Is this one?",
        "chatgpt/conv-2 user: Are bats birds?",
        "chatgpt/conv-2 assistant: No, mammals.",
    ];
    assert_eq!(told(&home), shown);
    let answer = &messages(&home)[1];
    assert_eq!((&answer["title"], &answer["model"]), (&"Owls".into(), &"gpt-5".into()));
    assert_eq!(answer["created_at"], "2023-11-14T22:13:26.000Z");
    assert!(is_linked(&home, "When do owls hunt?", "Most owls hunt at night."));
    import(&home, "chatgpt.json", &["--branches"]);
    assert_eq!(told(&home)[1], "chatgpt/conv-1 assistant: By day.");
    import(&home, "chatgpt.json", &["--keep-tools"]);
    assert_eq!(told(&home)[3], "chatgpt/conv-1 tool: Owl: a bird of the night.");
    assert!(!home.export().contains("The user asks of owls"), "thinking is never stored");

    // Conversations as traces, in a partition of the user's choice.
    let home = Home::new();
    import(&home, "chatgpt.json", &["-p", "past", "--map", "trace_id=conversation"]);
    assert_eq!(told(&home)[0], "past/past user: When do owls hunt?");
    assert_eq!(messages(&home)[0]["trace_id"], "conv-1");
}

#[test]
fn the_account_export_of_claude() {
    let home = Home::new();
    import(&home, "claude.json", &[]);
    let first = "claude/11111111-0000-4000-8000-000000000001";
    let second = "claude/11111111-0000-4000-8000-000000000002";
    let shown = [
        format!("{second} user: Are bats birds?"),
        format!("{second} assistant: No, mammals."),
        format!("{first} user: When do owls hunt?"),
        format!("{first} assistant: Most owls hunt at night."),
    ];
    assert_eq!(told(&home), shown);
    assert!(is_linked(&home, "When do owls hunt?", "Most owls hunt at night."));
    import(&home, "claude.json", &["--branches", "--keep-tools"]);
    assert_eq!(told(&home)[3], format!("{first} assistant: By day."));
    assert!(told(&home).contains(&format!("{first} tool: Owl: a bird of the night.")));
}

#[test]
fn databases_of_llm() {
    for (version, count) in [("0.3", 1), ("0.10", 2), ("0.19", 2), ("0.36", 2)] {
        let home = Home::new();
        let database = home.path("logs.db");
        let sql = std::fs::read_to_string(fixture(&format!("llm-{version}.sql"))).unwrap();
        rusqlite::Connection::open(&database).unwrap().execute_batch(&sql).unwrap();
        home.run("rsv-import", &["logs.db"], "").ok();
        let told = told(&home);
        assert_eq!(told.len(), 2 * count, "{version}: {told:?}");
        assert!(told[0].starts_with("llm/") && told[0].ends_with(" user: When do owls hunt?"), "{told:?}");
        assert!(told[1].ends_with(" assistant: Owls hunt at night."), "{told:?}");
        assert!(is_linked(&home, "When do owls hunt?", "Owls hunt at night."), "{version}");
        let first = home.export();
        home.run("rsv-import", &["logs.db"], "").ok();
        assert_eq!(home.export(), first);
    }
}

#[test]
fn sessions_of_opencode() {
    let home = Home::new();
    let sql = std::fs::read_to_string(fixture("opencode.sql")).unwrap();
    rusqlite::Connection::open(home.path("opencode.db")).unwrap().execute_batch(&sql).unwrap();
    home.run("rsv-import", &["opencode.db"], "").ok();
    let scope = "owls/ses_df0836106ffeGPVc0b55w0zN7t";
    let wanted =
        [format!("{scope} user: \"When do owls hunt?\""), format!("{scope} assistant: Owls hunt at night.")];
    assert_eq!(told(&home), wanted);
    assert!(is_linked(&home, "\"When do owls hunt?\"", "Owls hunt at night."));
    let answer = &messages(&home)[1];
    assert_eq!((&answer["model"], &answer["title"]), (&"gpt-5".into(), &"Owls hunt at night.".into()));
    // The output of `opencode export` is the same.
    let first = home.export();
    import(&home, "opencode.json", &[]);
    assert_eq!(home.export(), first);
}

#[test]
fn sessions_of_gemini_cli() {
    let home = Home::new();
    home.write(".gemini/tmp/owls/.project_root", "/home/ada/owls");
    let session = std::fs::read_to_string(fixture("gemini.jsonl")).unwrap();
    home.write(".gemini/tmp/owls/chats/session-1.jsonl", &session);
    home.run("rsv-import", &["-q", ".gemini/tmp"], "").ok();
    let scope = "owls/068ede01-c27d-4d01-9b46-9331d8f3d1cd";
    let wanted =
        [format!("{scope} user: When do owls hunt?"), format!("{scope} assistant: Owls hunt at night.")];
    assert_eq!(told(&home), wanted);
    assert_eq!(messages(&home)[1]["model"], "gemini-2.5-flash");
    assert!(is_linked(&home, "When do owls hunt?", "Owls hunt at night."));
    // The earlier form, one object a session; a call of a tool.
    let old = r#"{"sessionId": "s1", "projectHash": "0", "startTime": "2025-10-01T10:00:00.000Z",
        "lastUpdated": "2025-10-01T10:00:03.000Z", "messages": [
        {"id": "1", "timestamp": "2025-10-01T10:00:00.000Z", "type": "user", "content": "List the files."},
        {"id": "2", "timestamp": "2025-10-01T10:00:02.000Z", "type": "gemini", "content": "", "model": "gemini-2.5-pro",
         "thoughts": [{"subject": "Files", "description": "To list."}],
         "toolCalls": [{"id": "t1", "name": "list_directory", "args": {"path": "."}, "status": "success",
                        "result": [{"functionResponse": {"response": {"output": "notes.txt"}}}]}]},
        {"id": "3", "timestamp": "2025-10-01T10:00:03.000Z", "type": "info", "content": "An update is there."}]}"#;
    let home = Home::new();
    home.run("rsv-import", &[], old).ok();
    assert_eq!(told(&home), ["gemini/s1 user: List the files."]);
    home.run("rsv-import", &["--keep-tools"], old).ok();
    assert_eq!(messages(&home)[1]["tool_calls"][0]["function"]["name"], "list_directory");
    assert!(text(&messages(&home)[2]["content"]).contains("notes.txt"));
}

#[test]
fn bodies_and_logs_of_openai() {
    let home = Home::new();
    let request = json!({"model": "gpt-5", "messages": [
        {"role": "system", "content": "Be short."}, {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi."},
        {"role": "user", "content": [{"type": "text", "text": "When do owls hunt?"}]}]});
    let response = json!({"id": "c1", "object": "chat.completion", "created": 1_700_000_000, "model": "gpt-5-1",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "At night."}, "finish_reason": "stop"}]});
    let log = json!({"request": request, "response": response}).to_string();
    home.run("rsv-import", &[], &log).ok();
    let wanted = ["openai/openai user: When do owls hunt?", "openai/openai assistant: At night."];
    assert_eq!(told(&home), wanted);
    assert_eq!(messages(&home)[1]["model"], "gpt-5-1");
    assert_eq!(messages(&home)[0]["timestamp"], 1_700_000_000_000_i64);
    assert!(is_linked(&home, "When do owls hunt?", "At night."));

    // A body alone, as in a file for fine-tuning, has no time.
    let home = Home::new();
    let said = home.run("rsv-import", &[], request.to_string()).trouble();
    assert_eq!(
        said,
        "rsv-import: error: <stdin>:1: timestamp: is missing\n\
         rsv-import: hint: give messages without a time one with --at TIME\n"
    );
    for _ in 0..2 {
        home.run("rsv-import", &["--at", "2026-11-01"], request.to_string()).ok();
        let wanted = ["user: Hello", "assistant: Hi.", "user: When do owls hunt?"];
        assert_eq!(told(&home), wanted.map(|line| format!("openai/openai {line}")));
    }
}

#[test]
fn tables_with_any_column_names() {
    let home = Home::new();
    let table = "\u{feff}when,who,said\r\n2026-11-01T10:00:00Z,user,\"Hello,\nowl\"\r\n2026-11-01T10:00:01Z,assistant,Hu\r\n";
    for _ in 0..2 {
        let map = "timestamp=when,role=who,content=said";
        home.run("rsv-import", &["--from", "csv", "--map", map], table).ok();
        assert_eq!(told(&home), ["csv/csv user: Hello,\nowl", "csv/csv assistant: Hu"]);
    }
    assert!(is_linked(&home, "Hello,\nowl", "Hu"));
    let refused = home.run("rsv-import", &["--from", "csv", "--map", "role=speaker"], "who,said\n").trouble();
    assert_eq!(
        refused,
        "rsv-import: error: <stdin>: --map: there is no column \"speaker\"\n\
         rsv-import: hint: the columns are who, said\n"
    );
    let bad = home.run("rsv-import", &[], "role,content,timestamp\nuser,owl\nuser,owl,1760000000\n");
    assert_eq!(bad.stderr, "rsv-import: error: <stdin>:2: has 2 cells, but the first line 3\n");
    // The output of rsv-export comes back.
    let other = Home::new();
    other.run("rsv-import", &[], home.run("rsv-export", &["--format", "csv"], "").ok()).ok();
    let essence = |home: &Home| -> Vec<Value> {
        let ids = |m: &Value| json!([m["id"], m["trace_id"], m["role"], m["content"], m["timestamp"]]);
        messages(home).iter().map(ids).collect()
    };
    assert_eq!(essence(&other), essence(&home));
    let third = Home::new();
    third.run("rsv-import", &[], home.run("rsv-export", &["--format", "md"], "").ok()).ok();
    assert_eq!(told(&third), told(&home));
}

#[test]
fn lists_of_memories() {
    let home = Home::new();
    let mem0 = json!({"results": [{"id": "1b2c", "memory": "Likes owls.", "hash": "x", "user_id": "ada",
        "created_at": "2026-01-01T10:00:00.000000-07:00", "updated_at": null, "categories": ["birds"]}]});
    let contextd = json!({"memories": [{"id": "6f2f2a52-52b4-4f0e-9b5f-0a6a2a3b4c5d", "project_id": "owls",
        "title": "Count twice", "content": "Counting once misses some.", "outcome": "success", "confidence": 0.7,
        "usage_count": 3, "tags": ["birds"], "created_at": "2026-01-02T10:00:00Z", "updated_at": "2026-01-02T10:00:00Z"}]});
    for list in [mem0, contextd].iter().cycle().take(4) {
        home.run("rsv-import", &[], list.to_string()).ok();
    }
    let memories: Vec<Value> =
        lines_of(&home.export()).into_iter().filter(|line| line["kind"] == "memory").collect();
    let told: Vec<Value> =
        memories.iter().map(|m| json!([m["partition"], m["title"], m["content"], m["tags"]])).collect();
    let wanted = [
        json!(["ada", "Likes owls.", "Likes owls.", ["birds"]]),
        json!(["owls", "Count twice", "Counting once misses some.", ["birds"]]),
    ];
    assert_eq!(told, wanted);
}

/// A session of aichat as its version 0.30.0 writes it.
const AICHAT_SESSION: &str = "model: ollama:llama3.2
temperature: 0.5
compressed_messages:
- role: user
  content: When do owls hunt?
- role: assistant
  content: |-
    At night:
    - most of them
messages:
- role: system
  content: 'Summary: owls hunt at night.'
- role: user
  content:
  - type: text
    text: What is in this picture?
  - type: image_url
    image_url:
      url: data:image/png;base64,AAAA
- role: assistant
  content: A bat.
data_urls:
  abc: /tmp/bat.png
";

#[test]
fn files_without_times() {
    let home = Home::new();
    home.write(
        ".cache/cgip/owls",
        &json!([{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}]).to_string(),
    );
    home.run("rsv-import", &[".cache/cgip/owls"], "").trouble();
    for _ in 0..2 {
        home.run("rsv-import", &["--at", "2026-11-01", ".cache/cgip/owls"], "").ok();
        assert_eq!(told(&home), ["cgip/owls user: Hello", "cgip/owls assistant: Hi."]);
    }
    let home = Home::new();
    home.write(".config/aichat/sessions/owls.yaml", AICHAT_SESSION);
    let words = ["--at", "2026-11-01", ".config/aichat/sessions"];
    for _ in 0..2 {
        home.run("rsv-import", &words, "").ok();
        let wanted = [
            "user: When do owls hunt?",
            "assistant: At night:\n- most of them",
            "user: What is in this picture?",
            "assistant: A bat.",
        ];
        assert_eq!(told(&home), wanted.map(|line| format!("aichat-session/owls {line}")));
    }
    assert_eq!(messages(&home)[1]["model"], "ollama:llama3.2");
    assert!(is_linked(&home, "What is in this picture?", "A bat."));
    let home = Home::new();
    home.write(".ollama/history", "When do owls hunt?\n/bye\n");
    home.run("rsv-import", &["--from", "ollama", "--at", "2026-11-01", ".ollama/history"], "").ok();
    assert_eq!(told(&home), ["ollama/ollama user: When do owls hunt?"]);
    let home = Home::new();
    let log = "# CHAT: When do owls [hunt]? [2026-11-01T10:00:00+01:00] (birds)\nWhen do owls [hunt]?\n--------\n\
               <tool_calls>\n[]\n</tool_calls>\nAt night.\n--------\n\n\
               # CHAT: And eagles? [2026-11-01T10:01:00+01:00]\nAnd eagles?\n--------\nBy day.\n--------\n\n";
    home.run("rsv-import", &[], log).ok();
    let wanted =
        ["user: When do owls [hunt]?", "assistant: At night.", "user: And eagles?", "assistant: By day."];
    assert_eq!(told(&home), wanted.map(|line| format!("aichat/aichat {line}")));
    assert_eq!(messages(&home)[0]["created_at"], "2026-11-01T09:00:00.000Z");
    assert!(is_linked(&home, "And eagles?", "By day."));
}

#[test]
fn formats_are_named_and_listed() {
    let home = Home::new();
    let list = home.run("rsv-import", &["--from", "list"], "").ok();
    let names: Vec<&str> = list.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(names.starts_with(&["rsv", "claude-code", "codex", "chatgpt", "claude", "llm"]), "{list}");
    let page = crate::docs::read("man/rsv-import.1");
    for name in names {
        assert!(page.contains(&format!("\n.It Cm {name}\n")), "the manual lacks {name}");
    }
    let unknown = home.run("rsv-import", &["--from", "owl"], "").trouble();
    assert!(unknown.contains("--from: unknown format \"owl\"\nrsv-import: hint: one of: rsv, "), "{unknown}");
    // A named format is not guessed.
    let file = fixture("chatgpt.json");
    home.run("rsv-import", &["--from", "chatgpt", file.to_str().unwrap()], "").ok();
    assert_eq!(messages(&home).len(), 5);
}

/// Keeps: The files of other programs are imported once, however often.
#[test]
fn folders_archives_and_compressed_files() {
    let home = Home::new();
    let read = |name| std::fs::read(fixture(name)).unwrap();
    home.write("past/a/photo.png", "\u{89}PNG");
    home.write("past/a/notes.txt", "owls\n");
    std::fs::write(home.path("past/a/session.jsonl"), read("claude-code.jsonl")).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut gzip, &read("codex.jsonl")).unwrap();
    std::fs::write(home.path("past/session.jsonl.gz"), gzip.finish().unwrap()).unwrap();
    let zstd = zstd::encode_all(&read("claude.json")[..], 1).unwrap();
    std::fs::write(home.path("past/claude.json.zst"), zstd).unwrap();
    let mut archive = zip::ZipWriter::new(std::fs::File::create(home.path("past/export.zip")).unwrap());
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, bytes) in [("chat.html", b"<html>".to_vec()), ("../conversations.json", read("chatgpt.json"))]
    {
        archive.start_file(name, stored).unwrap();
        std::io::Write::write_all(&mut archive, &bytes).unwrap();
    }
    archive.finish().unwrap();
    let ran = home.run("rsv-import", &["past"], "");
    assert_eq!(ran.status, 0, "{ran}");
    let left_out = "3 files were left out: they have no known format: past/a/notes.txt, past/a/photo.png, past/export.zip/chat.html\n";
    assert!(ran.stderr.contains(left_out), "{ran}");
    assert_eq!(messages(&home).len(), 5 + 4 + 5 + 4);
    // Nothing was extracted.
    assert!(!home.path("conversations.json").exists());
}

on_each_store!(a_dry_run_tells_what_a_run_does);
fn a_dry_run_tells_what_a_run_does(home: Home) {
    let [first, second] = ["chatgpt.json", "claude.json"].map(fixture);
    let [first, second] = [first.to_str().unwrap(), second.to_str().unwrap()];
    home.run("rsv-import", &[first], "").ok();
    let forgotten = messages(&home).into_iter().find(|m| m["content"] == "Is this one?").unwrap();
    home.run("rsv-forget", &["--all", &text(&forgotten["id"])], "").ok();
    let again = home.run("rsv-import", &[first], "");
    assert!(again.stderr.contains("1 record was forgotten and is kept out"), "{again}");
    let before = home.export();
    let dry = home.run("rsv-import", &["--dry-run", "--report", "dry.json", first, second, second], "");
    assert_eq!(dry.status, 0, "{dry}");
    assert_eq!(home.export(), before);
    let ran = home.run("rsv-import", &["--report", "run.json", first, second, second], "");
    assert_eq!(ran.status, 0, "{ran}");
    assert_eq!(home.read("dry.json"), home.read("run.json"));
    let report: Value = serde_json::from_str(&home.read("run.json")).unwrap();
    let counts = ["read", "new", "same", "forgotten", "refused"].map(|name| report[name].as_u64().unwrap());
    assert_eq!(counts, [13, 4, 8, 1, 0]);
    let scope = json!({"partition": "chatgpt", "instance": "conv-1",
        "read": 3, "new": 0, "same": 2, "forgotten": 1, "refused": 0});
    assert_eq!(report["scopes"][0], scope);
}

#[test]
fn what_other_programs_left_is_found() {
    let home = Home::new();
    let ran = home.run("rsv-import", &["--find"], "");
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.starts_with("rsv-import: found no files of claude-code, codex, chatgpt, "), "{ran}");
    assert!(ran.stderr.ends_with("'\n") && ran.stderr.lines().count() == 1, "{ran}");
    let session = std::fs::read_to_string(fixture("claude-code.jsonl")).unwrap();
    home.write(".claude/projects/-home-ada-owls/s.jsonl", &session);
    home.write(".ollama/history", "When do owls hunt?\n");
    let found = home.run("rsv-import", &["--find"], "").ok();
    let commands: Vec<&str> = found.lines().map(|line| &line[line.find("rsv-import").unwrap()..]).collect();
    let path = |name: &str| format!("'{}'", home.path(name).display());
    let wanted = [
        format!("rsv-import {}", path(".claude/projects")),
        format!("rsv-import --from ollama --at today {}", path(".ollama/history")),
    ];
    assert_eq!(commands, wanted);
    assert!(found.starts_with("claude-code       1 file   rsv-import "), "{found}");
    // The commands run as they are printed.
    for command in commands {
        let words = shlex::split(command).unwrap();
        let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        home.run("rsv-import", &words, "").ok();
    }
    assert_eq!(messages(&home).len(), 6);
}
