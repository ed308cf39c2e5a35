//! rsv-import reads what programs of today left: files that each wrote before a provider of the tests. Their paths and
//! the texts of the programs themselves are shortened; the version of the program is in the name of the test.

use crate::import_formats::{fixture, messages};
use crate::support::{Home, lines_of, text};
use serde_json::Value;

/// Writes a fixture to a place in the home directory, as its program has it there.
fn place(home: &Home, name: &str, place: &str) {
    home.write(place, &std::fs::read_to_string(fixture(name)).unwrap());
}

/// The messages of an import of a path, without scopes; importing it again adds nothing.
fn said(home: &Home, path: &str, words: &[&str]) -> Vec<String> {
    let words = [&["-q"], words, &[path]].concat();
    home.run("rsv-import", &words, "").ok();
    let first = home.export();
    home.run("rsv-import", &words, "").ok();
    assert_eq!(home.export(), first);
    let line = |message: &Value| {
        format!("{}: {}", text(&message["role"]), message["content"].as_str().unwrap_or("-"))
    };
    messages(home).iter().map(line).collect()
}

const BARN: [&str; 2] = ["user: How many owls sit in the barn?", "assistant: Three owls sit in the barn."];

/// Keeps: Of a session, the words that were typed are stored, without the files that they mention.
#[test]
fn qwen_code_0_24_4() {
    let home = Home::new();
    let path = ".qwen/projects/-home-ada-owls/chats/s.jsonl";
    place(&home, "qwen-code.jsonl", path);
    let rest = [
        "user: And in the tower, by @notes.txt ? <note>so</note>",
        "assistant: Three owls sit in the barn.",
        "user: Look there.",
        "assistant: I look.",
        "assistant: Three owls sit in the barn.",
    ];
    assert_eq!(said(&home, path, &[]), [&BARN[..], &rest].concat());
    assert!(messages(&home).iter().all(|message| message["partition"] == "owls"));
    said(&home, path, &["--keep-tools"]);
    let tools: Vec<Value> = messages(&home).into_iter().filter(|message| message["role"] == "tool").collect();
    assert_eq!(tools[0]["content"], r#"{"output":"notes.txt"}"#);
}

/// Keeps: Neither retracted messages nor the program's own in the role of the user are stored.
#[test]
fn qwen_code_rewinds() {
    let entry = |id: &str, parent: &str, rest: &str| {
        format!(
            r#"{{"uuid":"{id}","parentUuid":"{parent}","sessionId":"q1","timestamp":"2026-09-01T10:00:0{id}.000Z","cwd":"/nowhere/owls",{rest}}}"#
        )
    };
    let message = |kind: &str, rest: &str, words: &str| {
        format!(r#""type":"{kind}"{rest},"message":{{"role":"{kind}","parts":[{{"text":"{words}"}}]}}"#)
    };
    let shown = r#","systemPayload":{"displayText":"And the bats?","hookContext":"x"}"#;
    let lines = [
        entry("1", "", &message("user", "", "Count the owls.")),
        entry("2", "1", &message("assistant", "", "Three.")),
        entry("3", "2", &message("user", "", "Count the mice.")),
        entry("4", "3", &message("assistant", "", "Nine.")),
        entry("5", "2", r#""type":"system","subtype":"rewind","systemPayload":{}"#),
        entry("6", "5", &message("user", r#","subtype":"notification""#, "A task has ended.")),
        entry("7", "6", &message("user", shown, "And the bats?\\n\\nx")),
        entry("8", "7", r#""type":"system","subtype":"custom_title","systemPayload":{"customTitle":"Owls"}"#),
        entry("9", "8", &message("assistant", "", "None.")),
    ];
    let home = Home::new();
    home.write("s.jsonl", &lines.join("\n"));
    let wanted = ["user: Count the owls.", "assistant: Three.", "user: And the bats?", "assistant: None."];
    assert_eq!(said(&home, "s.jsonl", &[]), wanted);
    assert_eq!(messages(&home)[0]["title"], "Owls");
}

/// Keeps: A prompt that only looks like program text is stored, as newer versions say that it was typed.
#[test]
fn codex_0_171() {
    let home = Home::new();
    let path = ".codex/sessions/2026/11/28/rollout.jsonl";
    place(&home, "codex-0.171.jsonl", path);
    let rest = ["user: <note>And in the tower?</note>", "assistant: Three owls sit in the barn."];
    assert_eq!(said(&home, path, &[]), [&BARN[..], &rest].concat());
}

/// Keeps: A session that continues keeps the times of its messages.
#[test]
fn gemini_cli_0_61_continues() {
    let home = Home::new();
    let path = ".gemini/tmp/owls/chats/session.jsonl";
    let session = std::fs::read_to_string(fixture("gemini-resumed.jsonl")).unwrap();
    let begun: String = session.split_inclusive('\n').take(6).collect();
    home.write(path, &begun);
    assert_eq!(said(&home, path, &[]), BARN);
    home.write(path, &session);
    let rest = ["user: And in the tower, by @notes.txt ?", "assistant: Three owls sit in the barn."];
    assert_eq!(said(&home, path, &[]), [&BARN[..], &rest].concat());
    assert_eq!(messages(&home)[0]["created_at"], "2026-11-28T09:26:26.223Z");
}

/// Keeps: The words of a user are stored without the element that the program puts around them.
#[test]
fn cline_cli_3_0_65() {
    let home = Home::new();
    let folder = ".cline/data/sessions/1795858446615_zzh40";
    place(&home, "cline.messages.json", &format!("{folder}/1795858446615_zzh40.messages.json"));
    place(&home, "cline.json", &format!("{folder}/1795858446615_zzh40.json"));
    let wanted = [
        "user: Look at the owls, by @notes.txt.",
        "assistant: I look.",
        "assistant: Three owls sit in the barn.",
    ];
    assert_eq!(said(&home, ".cline/data/sessions", &[]), wanted);
    let first = &messages(&home)[0];
    assert_eq!(
        (&first["partition"], &first["title"]),
        (&"owls".into(), &"Look at the owls, by @notes.txt.".into())
    );
    assert_eq!(messages(&home)[1]["model"], "fake-model");
}

#[test]
fn copilot_cli_1_0_102() {
    let home = Home::new();
    let path = ".copilot/session-state/s/events.jsonl";
    place(&home, "copilot-cli.jsonl", path);
    let wanted = ["user: Look.", "assistant: I look.", "assistant: Three owls sit in the barn."];
    assert_eq!(said(&home, path, &[]), wanted);
    let first = &messages(&home)[0];
    assert_eq!((&first["partition"], &first["source"]), (&"owls".into(), &"copilot-cli".into()));
    said(&home, path, &["--keep-tools"]);
    let tools: Vec<Value> = messages(&home).into_iter().filter(|message| message["role"] == "tool").collect();
    assert!(tools[0]["content"].as_str().unwrap().starts_with("notes.txt"), "{tools:?}");
    // Rewound turns, texts of skills, and the work of other agents are left out.
    let event = |id: &str, kind: &str, more: &str, data: &str| {
        format!(
            r#"{{"type":"{kind}","id":"{id}","timestamp":"2026-09-01T10:00:00Z"{more},"data":{{{data}}}}}"#
        )
    };
    let lines = [
        event("1", "session.start", "", r#""sessionId":"c1","context":{"cwd":"/nowhere/owls"}"#),
        event("2", "user.message", "", r#""content":"Count the owls.""#),
        event("3", "user.message", "", r#""content":"A skill.","source":"skill-owls""#),
        event("4", "assistant.message", r#","agentId":"a""#, r#""content":"A part.""#),
        event("5", "assistant.message", "", r#""content":"Three.","parentToolCallId":"t""#),
        event("6", "assistant.message", "", r#""content":"Three.""#),
        event("7", "user.message", "", r#""content":"Count the mice.""#),
        event("8", "assistant.message", "", r#""content":"Nine.""#),
        event("9", "session.snapshot_rewind", "", r#""upToEventId":"7","eventsRemoved":2"#),
        event("10", "user.message", "", r#""content":"Go on.","isAutopilotContinuation":true"#),
        event("11", "session.title_changed", "", r#""title":"Owls""#),
    ];
    let home = Home::new();
    home.write("events.jsonl", &lines.join("\n"));
    assert_eq!(said(&home, "events.jsonl", &[]), ["user: Count the owls.", "assistant: Three."]);
    assert_eq!(messages(&home)[0]["title"], "Owls");
}

/// Keeps: A message of several lines is one, and what the program sends in the name of the user is not stored.
#[test]
fn aider_0_86_2() {
    let home = Home::new();
    place(&home, "aider.md", "owls/.aider.chat.history.md");
    let answer = "assistant: Three owls sit in the barn.";
    let wanted = [
        BARN[0],
        answer,
        "user: And in the\n\n#### tower?",
        answer,
        "user: why three?",
        answer,
        "user: why three?",
        answer,
        "user: > quoted by me",
        answer,
        "user: second",
        answer,
    ];
    assert_eq!(said(&home, "owls", &[]), wanted);
    // The architect's plan is a prompt for the editor.
    let history = "\n# aider chat started at 2026-09-01 10:00:00\n\n#### /architect Plan the barn  \n\n#### Plan the barn  \n\n\
        A roof.\n\nAnd walls.\n\n> Edit the files? (Y)es/(N)o [Yes]: y  \n\n#### A roof.  \n####   \n#### And walls.  \n\nDone.\n\n\
        > Tokens: 1k sent  \n\n#### /help owls  \n\n#### # Question: owls  \n####   \n#### # Relevant docs  \n\nNone.\n";
    let home = Home::new();
    home.write(".aider.chat.history.md", history);
    let wanted = [
        "user: Plan the barn",
        "assistant: A roof.\n\nAnd walls.",
        "assistant: Done.",
        "user: /help owls",
        "assistant: None.",
    ];
    assert_eq!(said(&home, ".aider.chat.history.md", &[]), wanted);
}

#[test]
fn open_webui_0_12_4() {
    let home = Home::new();
    let sql = std::fs::read_to_string(fixture("open-webui.sql")).unwrap();
    let database = rusqlite::Connection::open(home.path("webui.db")).unwrap();
    database.execute_batch(&sql).unwrap();
    // Earlier versions shared a chat by a copy.
    let copy = "INSERT INTO chat (id, user_id, title, chat, created_at, updated_at, meta)
        SELECT 'w2', 'shared-w1', title, chat, created_at, updated_at, meta FROM chat";
    database.execute_batch(copy).unwrap();
    drop(database);
    assert_eq!(said(&home, "webui.db", &[]), BARN);
    let sessions = home.run("rsv-view", &["-p", "open-webui", "--sessions", "--format", "jsonl"], "").ok();
    assert_eq!(lines_of(&sessions)[0]["title"], "Owls");
}
