//! rsv-import reads the files of programs of which there is no fixture: each in the form that its program writes.

use crate::import_formats::{messages, told};
use crate::support::{Home, lines_of};
use serde_json::{Value, json};

/// Imports a file twice, in the zone of the tests, and returns what was told: the second time adds nothing.
fn told_of(home: &Home, words: &[&str]) -> Vec<String> {
    home.run("rsv-import", &[&["-q"], words].concat(), "").ok();
    let first = home.export();
    home.run("rsv-import", &[&["-q", "--report", "report.json"], words].concat(), "").ok();
    let report: Value = serde_json::from_str(&home.read("report.json")).unwrap();
    assert_eq!(report["new"], 0, "{report}");
    assert_eq!(home.export(), first);
    told(home)
}

/// A database with these statements.
fn database(home: &Home, name: &str, sql: &str) {
    let path = home.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn the_history_of_aider() {
    let home = Home::new();
    let history = "\n# aider chat started at 2026-09-01 10:00:00\n\n> aider v0.86.1  \n> Main model: m  \n\n\
        #### Count the owls.  \n#### <blank>  \n#### All of them.  \n\nThree.\n\n#### The barn\n> As they say\n\n```python\n> not a quotation\n#### no heading\n```\n\n\
        > Tokens: 2k sent  \n\n#### /add owls.py  \n\n> Added owls.py  \n\n#### /ask why three?  \n\nI counted:\n\n```python\ncount(\n\n\
        > ^C KeyboardInterrupt  \n\n#### Well?  \n\nThree.\n\n\
        # aider chat started at 2026-09-02 10:00:00\n\n#### Hello  \n\nHi.\n";
    home.write("owls/.aider.chat.history.md", history);
    let wanted = [
        "owls/2026-09-01 10:00:00 user: Count the owls.\n\nAll of them.",
        "owls/2026-09-01 10:00:00 assistant: Three.\n\n#### The barn\n> As they say\n\n```python\n> not a quotation\n#### no heading\n```",
        "owls/2026-09-01 10:00:00 user: /ask why three?",
        "owls/2026-09-01 10:00:00 assistant: I counted:\n\n```python\ncount(",
        "owls/2026-09-01 10:00:00 user: Well?",
        "owls/2026-09-01 10:00:00 assistant: Three.",
        "owls/2026-09-02 10:00:00 user: Hello",
        "owls/2026-09-02 10:00:00 assistant: Hi.",
    ];
    assert_eq!(told_of(&home, &["owls/.aider.chat.history.md"]), wanted);
}

#[test]
fn chats_of_open_webui() {
    let message = |id: &str, parent: Value, role: &str, content: &str, time: i64| json!({"id": id, "parentId": parent, "childrenIds": [], "role": role, "content": content, "timestamp": time, "model": "llama3.2"});
    let thought =
        "<details type=\"reasoning\" done=\"true\">\n<summary>Thought</summary>\n> Hm.\n</details>\nThree.";
    let chat = json!({"title": "Owls", "models": ["llama3.2"], "history": {"currentId": "c", "messages": {
        "a": message("a", Value::Null, "user", "Count the owls.", 1_756_000_000),
        "b": message("b", "a".into(), "assistant", "Two.", 1_756_000_001),
        "c": message("c", "a".into(), "assistant", thought, 1_756_000_002)}}});
    let home = Home::new();
    let export = json!([{"id": "w1", "title": "Owls", "chat": chat, "created_at": 1_756_000_000, "updated_at": 1_756_000_010}]);
    home.write("chat-export.json", &export.to_string());
    let wanted = ["open-webui/w1 user: Count the owls.", "open-webui/w1 assistant: Three."];
    assert_eq!(told_of(&home, &["chat-export.json"]), wanted);
    assert_eq!(messages(&home)[1]["model"], "llama3.2");
    assert_eq!(messages(&home)[0]["created_at"], "2025-08-24T01:46:40.000Z");
    let home = Home::new();
    let sql = format!(
        "CREATE TABLE chat (id TEXT PRIMARY KEY, user_id TEXT, title TEXT, chat JSON, created_at BIGINT, updated_at BIGINT);
         INSERT INTO chat VALUES ('w1', 'u', 'Owls', '{chat}', 1756000000, 1756000010);"
    );
    database(&home, "webui.db", &sql);
    assert_eq!(told_of(&home, &["webui.db"]), wanted);
    // Messages that follow each other in a circle.
    let home = Home::new();
    let chat = json!({"history": {"currentId": "b", "messages": {
        "b": message("b", "a".into(), "assistant", "Three.", 1_756_000_001),
        "a": message("a", "b".into(), "user", "Count the owls.", 1_756_000_000)}}});
    home.write("chat-export.json", &json!([{"id": "w1", "chat": chat}]).to_string());
    assert_eq!(told_of(&home, &["chat-export.json"]), wanted);
}

#[test]
fn conversations_of_lm_studio() {
    let home = Home::new();
    let part = |text: &str| json!([{"type": "text", "text": text}]);
    let conversation = json!({"name": "Owls", "createdAt": 1_756_000_000_000_i64, "messages": [
        {"currentlySelected": 1, "versions": [{"type": "singleStep", "role": "user", "content": part("Count.")},
            {"type": "singleStep", "role": "user", "content": part("Count the owls.")}]},
        {"currentlySelected": 7, "versions": [{"type": "multiStep", "role": "assistant", "steps": [
            {"type": "contentBlock", "style": {"type": "thinking"}, "content": part("Hm.")},
            {"type": "contentBlock", "content": part("Three."), "genInfo": {"indexedModelIdentifier": "qwen3"}},
            {"type": "debugInfoBlock", "debugInfo": "x"}]}]}]});
    home.write(".lmstudio/conversations/1756000000000.conversation.json", &conversation.to_string());
    let wanted = ["user: Count the owls.", "assistant: Three."];
    assert_eq!(
        told_of(&home, &[".lmstudio/conversations"]),
        wanted.map(|line| format!("lm-studio/1756000000000 {line}"))
    );
    assert_eq!(messages(&home)[1]["model"], "qwen3");
    // A chat that nobody has begun.
    let empty = json!({"name": "", "pinned": false, "createdAt": 1_756_000_000_000_i64, "messages": [],
        "usePerChatPredictionConfig": true, "clientInput": ""});
    home.write("empty.conversation.json", &empty.to_string());
    let ran = home.run("rsv-import", &["empty.conversation.json"], "");
    assert!(ran.status == 0 && ran.stderr.contains("no words of a user or a model"), "{ran}");
}

#[test]
fn conversations_of_librechat() {
    let home = Home::new();
    let message = |id: &str, parent: &str, is_user: bool, text: &str| {
        json!({"messageId": id, "parentMessageId": parent, "isCreatedByUser": is_user, "text": text,
            "createdAt": "2026-09-01T10:00:00.000Z", "model": "gpt-5"})
    };
    let mut last = message("c", "a", false, "");
    last["content"] =
        json!([{"type": "think", "think": "Hm."}, {"type": "text", "text": {"value": "Three."}}]);
    last["createdAt"] = "2026-09-01T10:00:02.000Z".into();
    let root = "00000000-0000-0000-0000-000000000000";
    let mut flat = json!({"conversationId": "l1", "title": "Owls", "exportAt": "10:00:00 GMT", "messages": [
        message("a", root, true, "Count the owls."), message("b", "a", false, "Two."), last]});
    home.write("flat.json", &flat.to_string());
    let wanted = ["librechat/l1 user: Count the owls.", "librechat/l1 assistant: Three."];
    assert_eq!(told_of(&home, &["flat.json"]), wanted);
    let mut first = message("a", root, true, "Count the owls.");
    first["children"] = json!([message("b", "a", false, "Two."), last]);
    flat["messages"] = json!([first]);
    home.write("tree.json", &flat.to_string());
    assert_eq!(told_of(&home, &["tree.json"]), wanted);
}

#[test]
fn sessions_of_qwen_code() {
    let home = Home::new();
    let entry = |id: &str, kind: &str, parts: Value| {
        json!({"uuid": id, "sessionId": "q1", "timestamp": "2026-09-01T10:00:00.000Z", "type": kind, "cwd": "/nowhere/owls",
            "message": {"role": kind, "parts": parts}}).to_string()
    };
    let lines = [
        entry("1", "user", json!([{"text": "Count the owls."}])),
        entry(
            "2",
            "assistant",
            json!([{"text": "Hm.", "thought": true}, {"text": "I look."}, {"functionCall": {"id": "t", "name": "ls", "args": {}}}]),
        ),
        entry("3", "tool_result", json!([{"functionResponse": {"id": "t", "response": {"output": "owl"}}}])),
    ];
    home.write("s.jsonl", &lines.join("\n"));
    assert_eq!(told_of(&home, &["s.jsonl"]), ["owls/q1 user: Count the owls.", "owls/q1 assistant: I look."]);
    home.run("rsv-import", &["-q", "--keep-tools", "s.jsonl"], "").ok();
    assert_eq!(messages(&home)[2]["tool_calls"][0]["function"]["name"], "ls");
    assert_eq!(messages(&home)[3]["role"], "tool");
}

#[test]
fn tasks_of_cline_and_roo() {
    let home = Home::new();
    let shown = json!([
        {"ts": 1_756_000_000_000_i64, "type": "say", "say": "text", "text": "Count the owls."},
        {"ts": 1_756_000_001_000_i64, "type": "say", "say": "api_req_started", "text": "{}"},
        {"ts": 1_756_000_002_000_i64, "type": "say", "say": "reasoning", "text": "Hm."},
        {"ts": 1_756_000_003_000_i64, "type": "say", "say": "text", "text": "Thr", "partial": true},
        {"ts": 1_756_000_003_000_i64, "type": "say", "say": "text", "text": "Three."},
        {"ts": 1_756_000_004_000_i64, "type": "ask", "ask": "followup", "text": "{\"question\": \"And the bats?\"}"},
        {"ts": 1_756_000_005_000_i64, "type": "say", "say": "user_feedback", "text": "No."},
        {"ts": 1_756_000_005_000_i64, "type": "say", "say": "text", "text": "Then on", "partial": true}]);
    home.write("tasks/1756000000000/ui_messages.json", &shown.to_string());
    let sent = json!([{"role": "user", "content": [{"type": "text", "text": "<task>\nCount the owls.\n</task>\n<environment_details>x</environment_details>"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Three."}]}]);
    home.write("tasks/1756000000000/api_conversation_history.json", &sent.to_string());
    home.write("tasks/1756000000000/history_item.json", &json!({"workspace": "/nowhere/owls"}).to_string());
    let lines = [
        "user: Count the owls.",
        "assistant: Three.",
        "assistant: And the bats?",
        "user: No.",
        "assistant: Then on",
    ];
    assert_eq!(told_of(&home, &["tasks"]), lines.map(|line| format!("owls/1756000000000 {line}")));
    // A task of which only that is left which was sent.
    let home = Home::new();
    home.write("tasks/1756000000000/api_conversation_history.json", &sent.to_string());
    assert_eq!(
        told_of(&home, &["tasks"]),
        lines[..2].iter().map(|line| format!("cline/1756000000000 {line}")).collect::<Vec<_>>()
    );
    // The list of shown messages begins later than that of sent ones.
    let home = Home::new();
    let cut = json!([{"ts": 1_756_000_003_000_i64, "type": "say", "say": "text", "text": "Four."}]);
    home.write("tasks/1756000000000/ui_messages.json", &cut.to_string());
    home.write("tasks/1756000000000/api_conversation_history.json", &sent.to_string());
    let wanted = ["user: Count the owls.", "assistant: Three.", "assistant: Four."];
    assert_eq!(told_of(&home, &["tasks"]), wanted.map(|line| format!("cline/1756000000000 {line}")));
    // In sent messages, mentions are replaced and letters escaped.
    for (say, words, sent_words) in [
        (
            "task",
            "Look at @/notes.txt and fix it.",
            "Look at 'notes.txt' (see below for file content) and fix it.",
        ),
        (
            "text",
            "Visit @https://owls.example now.",
            "Visit 'https://owls.example' (see below for site content) now.",
        ),
        ("text", "@/notes.txt is wrong.", "'notes.txt' (see below for file content) is wrong."),
        ("text", "Please /count them.", "Please Command 'count' (see below for command content) them."),
        ("text", "Zähle die \"Käuze\".", "Z\\u00e4hle die \\\"K\\u00e4uze\\\"."),
    ] {
        let home = Home::new();
        let shown = json!([{"ts": 1_756_000_000_000_i64, "type": "say", "say": say, "text": words},
            {"ts": 1_756_000_003_000_i64, "type": "say", "say": "text", "text": "Three."}]);
        home.write("tasks/1756000000000/ui_messages.json", &shown.to_string());
        let sent = format!(
            "[{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"<task>\\n{sent_words}\\n</task>\"}}]}},\
            {{\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":\"Three.\"}}]}}]"
        );
        home.write("tasks/1756000000000/api_conversation_history.json", &sent);
        let wanted = [format!("user: {words}"), "assistant: Three.".to_owned()];
        assert_eq!(told_of(&home, &["tasks"]), wanted.map(|line| format!("cline/1756000000000 {line}")));
    }
    // The words of a user with tags, and without.
    let home = Home::new();
    let of_user = |texts: &[&str]| {
        let parts: Vec<Value> = texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
        json!({"role": "user", "content": parts})
    };
    let sent = json!([
        of_user(&["<task>\nDoes </task> end a <task> element?\n</task>"]),
        of_user(&[
            "[read_file for 'owls.txt'] Result:",
            "three owls",
            "<environment_details>x</environment_details>"
        ]),
        of_user(&["Go on.", "<environment_details>\nx\n</environment_details>"])
    ]);
    home.write("tasks/1756000000000/api_conversation_history.json", &sent.to_string());
    let wanted = ["user: Does </task> end a <task> element?", "user: Go on."];
    assert_eq!(told_of(&home, &["tasks"]), wanted.map(|line| format!("cline/1756000000000 {line}")));
}

#[test]
fn sessions_of_copilot_chat() {
    let request = |id: &str, text: &str| {
        json!({"requestId": id, "message": {"text": text, "parts": []}, "timestamp": 1_756_000_000_000_i64, "modelId": "gpt-5",
            "response": [{"kind": "thinking", "value": "Hm."}, {"value": "There are three in "},
                {"kind": "inlineReference", "inlineReference": {"path": "/nowhere/owls/barn.txt"}}, {"value": "."}]})
    };
    let session = json!({"version": 3, "responderUsername": "GitHub Copilot", "sessionId": "v1", "customTitle": "Owls",
        "creationDate": 1_756_000_000_000_i64, "requests": [request("r1", "Count the owls.")]});
    let wanted = ["owls/v1 user: Count the owls.", "owls/v1 assistant: There are three in `barn.txt`."];
    let home = Home::new();
    home.write("storage/x/workspace.json", &json!({"folder": "file:///nowhere/owls"}).to_string());
    home.write("storage/x/chatSessions/v1.json", &session.to_string());
    assert_eq!(told_of(&home, &["storage"]), wanted);
    // The session and its changes, a line each.
    let mut begun = session.clone();
    begun["requests"] = json!([]);
    let mut asked = request("r1", "Count the owls.");
    let response = asked.as_object_mut().unwrap().insert("response".into(), json!([]));
    let lines = [
        json!({"kind": 0, "v": begun}),
        json!({"kind": 2, "k": ["requests"], "v": [asked]}),
        json!({"kind": 2, "k": ["requests", 0, "response"], "v": response}),
        json!({"kind": 1, "k": ["customTitle"], "v": "Three owls"}),
    ];
    let home = Home::new();
    home.write("storage/x/workspace.json", &json!({"folder": "file:///nowhere/owls"}).to_string());
    home.write("storage/x/chatSessions/v1.jsonl", &lines.map(|line| line.to_string()).join("\n"));
    assert_eq!(told_of(&home, &["storage"]), wanted);
    assert_eq!(messages(&home)[0]["title"], "Three owls");
}

#[test]
fn chats_of_cursor() {
    let home = Home::new();
    database(
        &home,
        "state.vscdb",
        r#"CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB); CREATE TABLE cursorDiskKV (key TEXT UNIQUE, value BLOB);
        INSERT INTO cursorDiskKV VALUES ('composerData:k1', '{"composerId":"k1","name":"Owls","createdAt":1756000000000,
          "fullConversationHeadersOnly":[{"bubbleId":"b1","type":1},{"bubbleId":"b2","type":2}]}');
        INSERT INTO cursorDiskKV VALUES ('bubbleId:k1:b1', '{"bubbleId":"b1","type":1,"text":"Count the owls.","workspaceProjectDir":"/nowhere/owls"}');
        INSERT INTO cursorDiskKV VALUES ('bubbleId:k1:b2', '{"bubbleId":"b2","type":2,"text":"Three."}');
        INSERT INTO cursorDiskKV VALUES ('composerData:k2', '{"composerId":"k2","createdAt":1756000100000,
          "conversation":[{"type":1,"text":"Hello"},{"type":2,"text":"Hi."}]}');"#,
    );
    let wanted = [
        "owls/k1 user: Count the owls.",
        "owls/k1 assistant: Three.",
        "cursor/k2 user: Hello",
        "cursor/k2 assistant: Hi.",
    ];
    assert_eq!(told_of(&home, &["state.vscdb"]), wanted);
    // A damaged message is named, and the others are imported.
    let damaged = rusqlite::Connection::open(home.path("state.vscdb")).unwrap();
    damaged
        .execute_batch(
            r#"UPDATE cursorDiskKV SET value = '{"bubbleId":' WHERE key = 'bubbleId:k1:b1';
            UPDATE cursorDiskKV SET value = '{"bubbleId":"b2","type":2,"text":"Four."}' WHERE key = 'bubbleId:k1:b2';"#,
        )
        .unwrap();
    drop(damaged);
    let ran = home.run("rsv-import", &["state.vscdb"], "");
    assert!(ran.status == 2 && ran.stderr.contains("bubbleId b1"), "{ran}");
    assert!(told(&home).iter().any(|line| line.ends_with("assistant: Four.")), "{:?}", told(&home));
    // Another program's of that name.
    database(&home, "code/state.vscdb", "CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB);");
    let ran = home.run("rsv-import", &["code"], "");
    assert!(ran.stderr.contains("it has no known format: code/state.vscdb"), "{ran}");
}

#[test]
fn sessions_of_goose() {
    let home = Home::new();
    database(
        &home,
        "sessions.db",
        r#"CREATE TABLE sessions (id TEXT PRIMARY KEY, description TEXT, session_type TEXT, working_dir TEXT, created_at TIMESTAMP);
        CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content_json TEXT, created_timestamp INTEGER, metadata_json TEXT);
        INSERT INTO sessions VALUES ('g1', 'Owls', 'user', '/nowhere/owls', '2026-09-01'), ('g2', 'x', 'sub_agent', '/nowhere/owls', '2026-09-01'),
          ('g3', 'Bats', 'terminal', '/nowhere/owls', '2026-09-01');
        INSERT INTO messages VALUES (1, 'g1', 'user', '[{"type":"text","text":"Count the owls."}]', 1756000000, NULL);
        INSERT INTO messages VALUES (2, 'g1', 'assistant', '[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Three."}]', 1756000001, '{"userVisible":true,"agentVisible":true}');
        INSERT INTO messages VALUES (3, 'g2', 'user', '[{"type":"text","text":"Count."}]', 1756000001, NULL);
        INSERT INTO messages VALUES (4, 'g1', 'user', '[{"type":"text","text":"A summary."}]', 1756000002, '{"userVisible":false,"agentVisible":true}');
        INSERT INTO messages VALUES (5, 'g3', 'user', '[{"type":"text","text":"Count the bats."}]', 1756000003, NULL);"#,
    );
    let wanted =
        ["owls/g1 user: Count the owls.", "owls/g1 assistant: Three.", "owls/g3 user: Count the bats."];
    assert_eq!(told_of(&home, &["sessions.db"]), wanted);
    let home = Home::new();
    let lines = [
        json!({"id": "g1", "description": "Owls", "working_dir": "/nowhere/owls", "message_count": 2}),
        json!({"id": "1", "role": "user", "created": 1_756_000_000, "content": [{"type": "text", "text": "Count the owls."}]}),
        json!({"id": "2", "role": "assistant", "created": 1_756_000_001, "content": [{"type": "text", "text": "Three."}]}),
        json!({"id": "3", "role": "user", "created": 1_756_000_002, "content": [{"type": "text", "text": "A summary."}],
            "metadata": {"userVisible": false, "agentVisible": true}}),
    ];
    home.write("g1.jsonl", &lines.map(|line| line.to_string()).join("\n"));
    assert_eq!(told_of(&home, &["g1.jsonl"]), wanted[..2]);
}

#[test]
fn threads_of_zed() {
    let home = Home::new();
    let thread = json!({"version": "0.3.0", "title": "Owls", "messages": [
        {"User": {"id": "1", "content": [{"Text": "Count the owls."}, {"Mention": {"content": "a file"}}]}},
        {"Agent": {"content": [{"Thinking": {"text": "Hm."}}, {"Text": "Three."}]}}, "Resume"]});
    let old = json!({"version": "0.2.0", "summary": "Bats", "messages": [
        {"role": "user", "segments": [{"type": "text", "text": "Count the bats."}]},
        {"role": "assistant", "segments": [{"type": "thinking", "text": "Hm."}, {"type": "text", "text": "None."}]}]});
    let database = rusqlite::Connection::open(home.path("threads.db")).unwrap();
    database
        .execute_batch("CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT, updated_at TEXT, data_type TEXT, data BLOB, folder_paths TEXT, parent_id TEXT)")
        .unwrap();
    let insert = "INSERT INTO threads VALUES (?, 'x', ?, ?, ?, ?, NULL)";
    let zstd = zstd::encode_all(thread.to_string().as_bytes(), 1).unwrap();
    database
        .execute(insert, rusqlite::params!["z1", "2026-09-01T10:00:00+00:00", "zstd", zstd, "/nowhere/owls"])
        .unwrap();
    database
        .execute(insert, rusqlite::params!["z2", "2026-09-02T10:00:00+00:00", "json", old.to_string(), ""])
        .unwrap();
    let child = "INSERT INTO threads SELECT 'z3', summary, updated_at, data_type, data, folder_paths, 'z1' FROM threads WHERE id = 'z1'";
    database.execute(child, []).unwrap();
    drop(database);
    let wanted = [
        "owls/z1 user: Count the owls.",
        "owls/z1 assistant: Three.",
        "zed/z2 user: Count the bats.",
        "zed/z2 assistant: None.",
    ];
    assert_eq!(told_of(&home, &["threads.db"]), wanted);
}

#[test]
fn the_storage_of_earlier_versions_of_opencode() {
    let home = Home::new();
    let write =
        |name: &str, value: Value| drop(home.write(&format!("storage/{name}.json"), &value.to_string()));
    let time = json!({"created": 1_756_000_000_000_i64, "updated": 1});
    write(
        "session/p/ses_1",
        json!({"id": "ses_1", "version": "0.6", "projectID": "p", "directory": "/nowhere/owls", "title": "Owls", "time": time}),
    );
    write("message/ses_1/msg_1", json!({"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": time}));
    write(
        "message/ses_1/msg_2",
        json!({"id": "msg_2", "sessionID": "ses_1", "role": "assistant", "parentID": "msg_1", "time": time}),
    );
    write(
        "part/msg_1/prt_1",
        json!({"id": "prt_1", "messageID": "msg_1", "sessionID": "ses_1", "type": "text", "text": "Count the owls."}),
    );
    write(
        "part/msg_2/prt_2",
        json!({"id": "prt_2", "messageID": "msg_2", "sessionID": "ses_1", "type": "text", "text": "Three."}),
    );
    assert_eq!(
        told_of(&home, &["storage"]),
        ["owls/ses_1 user: Count the owls.", "owls/ses_1 assistant: Three."]
    );
}

#[test]
fn the_database_of_later_versions_of_opencode() {
    let home = Home::new();
    database(
        &home,
        "opencode.db",
        r#"CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, title TEXT, revert TEXT, time_created INTEGER);
        CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
        CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, data TEXT);
        CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INTEGER, time_created INTEGER, data TEXT);
        INSERT INTO session VALUES ('s1', NULL, '/nowhere/owls', 'Owls', '{"messageID":"m4"}', 1);
        INSERT INTO session_message VALUES ('m1', 's1', 'user', 1, 1756000000000, '{"text":"Count the owls."}'),
          ('m2', 's1', 'assistant', 2, 1756000001000, '{"content":[{"type":"reasoning","text":"Hm."},{"type":"text","text":"Three."}]}'),
          ('m3', 's1', 'synthetic', 3, 1756000002000, '{"text":"Go on."}'),
          ('m4', 's1', 'user', 4, 1756000003000, '{"text":"Taken back."}');"#,
    );
    let wanted = ["owls/s1 user: Count the owls.", "owls/s1 assistant: Three."];
    assert_eq!(told_of(&home, &["opencode.db"]), wanted);
}

/// Keeps: A list of prompts is refused with the reason, and a session of another program is not taken for a known one.
#[test]
fn lists_of_prompts_and_sessions_of_others() {
    let home = Home::new();
    for list in [
        json!({"session_id": "s", "ts": 1_756_000_000, "text": "Count the owls."}),
        json!({"display": "Count the owls.", "pastedContents": {}, "timestamp": 1_756_000_000_000_i64, "project": "/nowhere"}),
    ] {
        home.write("history.jsonl", &list.to_string());
        let ran = home.run("rsv-import", &["history.jsonl"], "");
        assert!(
            ran.status == 2 && ran.stderr.contains("it has prompts of Codex or Claude Code only"),
            "{ran}"
        );
    }
    let droid = [
        json!({"type": "session_start", "sessionId": "d", "timestamp": "2026-09-01T10:00:00Z", "cwd": "/nowhere/owls"}),
        json!({"type": "note", "id": "1", "text": "Count the owls."}),
    ];
    home.write("droid.jsonl", &droid.map(|line| line.to_string()).join("\n"));
    let ran = home.run("rsv-import", &["droid.jsonl"], "");
    assert!(ran.status == 2 && ran.stderr.contains("has no known format"), "{ran}");
}

#[test]
fn chats_of_whatsapp_and_slack() {
    let home = Home::new();
    let chat = "[21.11.26, 20:03:00] Messages are end-to-end encrypted.\n[21.11.26, 20:03:01] Ada: Three owls\nin the barn\n\
        [22.11.26, 08:00:00] Bob: Four: two came\n";
    home.write("Barn.txt", chat);
    let wanted =
        ["whatsapp/Barn user: Ada: Three owls\nin the barn", "whatsapp/Barn user: Bob: Four: two came"];
    assert_eq!(told_of(&home, &["Barn.txt"]), wanted);
    let american = "11/5/26, 8:03 PM - Ada: Three owls\n11/21/26, 8:03 PM - Bob: Four\n";
    let home = Home::new();
    home.write("Barn.txt", american);
    told_of(&home, &["Barn.txt"]);
    let days: Vec<String> =
        messages(&home).iter().map(|m| m["created_at"].as_str().unwrap()[..10].to_owned()).collect();
    assert_eq!(days, ["2026-11-05", "2026-11-21"]);
    // Nothing says which of its numbers is the month.
    let home = Home::new();
    home.write("Barn.txt", "5/11/26, 20:03 - Ada: Three owls\n6/11/26, 20:03 - Bob: Four\n");
    let ran = home.run("rsv-import", &["Barn.txt"], "");
    let note = "rsv-import: 1 file can be read in two ways: it has dates that fit both day/month and month/day, \
        and day/month was taken: Barn.txt\n";
    assert!(ran.status == 0 && ran.stderr.starts_with(note), "{ran}");
    assert_eq!(messages(&home)[0]["created_at"], "2026-11-05T20:03:00.000Z");
    // Notes of the program are said by nobody.
    let notes = "21/11/26, 8:03 p. m. - Ada: Three\n21/11/26, 8:04 p. m. - Ada: <Multimedia omitido>\n\
        21/11/26, 8:05 p. m. - Bob: Se eliminó este mensaje.\n21/11/26, 8:05 p. m. - Bob: \u{200e}image omitted\n\
        21/11/26, 8:06 p. m. - Ada changed the subject from \"Barn: owls\" to \"Owls\"\n21/11/26, 8:07 p. m. - Bob: Four\n";
    let home = Home::new();
    home.write("Barn.txt", notes);
    assert_eq!(
        told_of(&home, &["Barn.txt"]),
        ["whatsapp/Barn user: Ada: Three", "whatsapp/Barn user: Bob: Four"]
    );
    assert_eq!(messages(&home)[0]["created_at"], "2026-11-21T20:03:00.000Z");
    // Logs and notes with dates are no chats.
    for text in [
        "2026-11-21 08:03:00 - ERROR: x\n",
        "2026-11-21 20:03 - Meeting: budget\n",
        "[2026-11-21 08:03:00] main.ERROR: x\n",
    ] {
        home.write("log.txt", &text.repeat(3));
        let ran = home.run("rsv-import", &["log.txt"], "");
        assert!(ran.status == 2 && ran.stderr.contains("has no known format"), "{ran}");
    }

    // Many beginnings of mentions, and the end of none, take no longer than other texts.
    let mentions = format!("{}>", "<@x|".repeat(100_000));
    let home = Home::new();
    let day = json!([
        {"type": "message", "subtype": "channel_join", "user": "U1", "text": "has joined", "ts": "1756000000.000100"},
        {"type": "message", "user": "U1", "text": "Three owls &amp; a bat", "ts": "1756000001.000100", "user_profile": {"real_name": "Ada"}},
        {"type": "message", "user": "U2", "text": "Four, <@U1|ada>, not <@U9>", "ts": "1756000002.000100", "thread_ts": "1756000001.000100"},
        {"type": "message", "user": "U2", "text": "", "ts": "1756000003.000100", "blocks": [
            {"type": "header", "text": {"type": "plain_text", "text": "Owls"}},
            {"type": "rich_text", "elements": [
                {"type": "rich_text_section", "elements": [{"type": "text", "text": "I counted "}, {"type": "user", "user_id": "U1"},
                    {"type": "text", "text": " and "}, {"type": "link", "url": "https://owls.example"}]},
                {"type": "rich_text_list", "style": "bullet", "elements": [
                    {"type": "rich_text_section", "elements": [{"type": "text", "text": "one"}]},
                    {"type": "rich_text_section", "elements": [{"type": "text", "text": "two"}]}]}]}]},
        {"type": "message", "user": "U2", "text": mentions, "ts": "1756000004.000100"}]);
    home.write("export/barn/2025-08-24.json", &day.to_string());
    home.write(
        "export/users.json",
        &json!([{"id": "U2", "team_id": "T1", "name": "bob", "profile": {"real_name": "Bob"}},
            {"id": "U1", "team_id": "T1", "name": "ada", "profile": {"real_name": "Ada"}}])
        .to_string(),
    );
    home.write(
        "export/channels.json",
        &json!([{"id": "C1", "name": "barn", "creator": "U1", "members": []}]).to_string(),
    );
    let mentions = format!("slack/barn user: Bob: {}", mentions.replacen("<@x|>", "@", 1));
    let wanted = [
        "slack/barn user: Ada: Three owls & a bat",
        "slack/barn user: Bob: Four, @Ada, not <@U9>",
        "slack/barn user: Bob: Owls\nI counted @Ada and https://owls.example\none\ntwo",
        &mentions,
    ];
    assert_eq!(told_of(&home, &["export"]), wanted);
    // The same as an archive.
    let mut archive = zip::ZipWriter::new(std::fs::File::create(home.path("slack.zip")).unwrap());
    for name in ["barn/2025-08-24.json", "channels.json", "users.json"] {
        archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut archive, home.read(&format!("export/{name}")).as_bytes()).unwrap();
    }
    archive.finish().unwrap();
    let zipped = Home::new();
    std::fs::copy(home.path("slack.zip"), zipped.path("slack.zip")).unwrap();
    assert_eq!(told_of(&zipped, &["slack.zip"]), wanted);
    let ran = home.run("rsv-import", &["export"], "");
    assert!(
        ran.stderr.contains("they are lists of Slack") && !ran.stderr.contains("no known format"),
        "{ran}"
    );
}

#[test]
fn the_database_of_a_chat_backend() {
    let home = Home::new();
    database(
        &home,
        "chat.db",
        "CREATE TABLE chat_sessions (id TEXT PRIMARY KEY, user_id TEXT, title TEXT, created_at TEXT, updated_at TEXT, last_message_at TEXT, committed_at TEXT);
         CREATE TABLE chat_messages (id TEXT PRIMARY KEY, session_id TEXT, user_id TEXT, role TEXT, content TEXT, created_at TEXT);
         CREATE TABLE document_chunks (id INTEGER PRIMARY KEY, document_id TEXT, user_id TEXT, title TEXT, chunk_index INTEGER, content TEXT);
         INSERT INTO chat_sessions VALUES ('s1', 'ada', 'Owls', '2026-09-01T10:00:00', '2026-09-01T10:00:02', NULL, NULL);
         INSERT INTO chat_messages VALUES ('1', 's1', 'ada', 'user', 'Count the owls.', '2026-09-01T10:00:01'),
           ('2', 's1', 'ada', 'assistant', 'Three.', '2026-09-01T10:00:02');
         INSERT INTO document_chunks VALUES (1, 'd1', 'ada', 'Barn', 1, 'by the wall.'), (2, 'd1', 'ada', 'Barn', 0, 'The barn stands');",
    );
    assert_eq!(told_of(&home, &["chat.db"]), ["ada/s1 user: Count the owls.", "ada/s1 assistant: Three."]);
    let documents: Vec<Value> =
        lines_of(&home.export()).into_iter().filter(|line| line["kind"] == "document").collect();
    assert_eq!(documents[0]["uri"], "viking://resources/users/ada/documents/d1");
    assert_eq!(documents[0]["content"], "The barn stands\n\nby the wall.");
    let sessions = home.run("rsv-view", &["-p", "ada", "--sessions", "--format", "jsonl"], "").ok();
    assert_eq!(lines_of(&sessions)[0]["title"], "Owls");
}
