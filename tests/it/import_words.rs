//! rsv-import keeps the words of people in the files of other programs, and nothing else.

use crate::import_formats::{messages, told};
use crate::support::{Home, lines_of, text};
use crate::terminal::Terminal;
use serde_json::{Value, json};
use std::io::Write;

/// The content of each message, with its role.
fn said(home: &Home) -> Vec<String> {
    let said = |message: &Value| format!("{}: {}", text(&message["role"]), text(&message["content"]));
    messages(home).iter().map(said).collect()
}

/// Imports lines, and returns what was said in them.
fn said_in(entries: &[Value]) -> Vec<String> {
    let home = Home::new();
    let lines: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
    home.run("rsv-import", &["-q"], lines).ok();
    said(&home)
}

/// An entry of a session of Claude Code, in the order of its number.
fn entry(number: usize, kind: &str, more: Value) -> Value {
    let mut entry = json!({"type": kind, "sessionId": "s1", "uuid": format!("u{number}"), "cwd": "/nowhere/owls",
        "timestamp": format!("2026-09-01T10:00:{number:02}.000Z"), "isSidechain": false});
    for (name, value) in more.as_object().unwrap() {
        entry[name] = value.clone();
    }
    entry
}

fn user(number: usize, content: impl Into<Value>) -> Value {
    entry(number, "user", json!({"message": {"role": "user", "content": content.into()}}))
}

fn queued(number: usize, attachment: Value) -> Value {
    let mut attachment = attachment;
    attachment["type"] = "queued_command".into();
    entry(number, "attachment", json!({"attachment": attachment}))
}

/// Keeps: The words of people to Claude Code are imported, and nothing else.
#[test]
fn prompts_of_claude_code() {
    let queue = json!({"type": "queue-operation", "operation": "enqueue", "sessionId": "s1",
        "timestamp": "2026-09-01T10:00:02.000Z", "content": "And the bats?"});
    let mut typed = user(7, "<bash-input>ls</bash-input>");
    typed["origin"] = json!({"kind": "human"});
    let mut peer = user(8, "I have counted them.");
    peer["origin"] = json!({"kind": "peer"});
    let mut system = user(9, "Your limit has reset. Continue.");
    system["promptSource"] = "system".into();
    let mut notification = user(10, "Done.");
    notification["isVisibleInTranscriptOnly"] = true.into();
    let heard = said_in(&[
        user(1, "Count the owls."),
        queue,
        queued(3, json!({"prompt": "And the bats?", "commandMode": "prompt", "origin": {"kind": "human"}})),
        queued(
            4,
            json!({"prompt": [{"type": "text", "text": "Like this one"}, {"type": "image", "source": {}}]}),
        ),
        queued(
            5,
            json!({"prompt": "<task-notification>\nx\n</task-notification>", "commandMode": "task-notification"}),
        ),
        queued(
            6,
            json!({"prompt": "Hello from the other side", "commandMode": "prompt", "origin": {"kind": "peer"}}),
        ),
        typed,
        peer,
        system,
        notification,
        user(11, "<command-name>/count</command-name>\n<command-args>only barn owls</command-args>"),
        user(
            12,
            "<command-name>/clear</command-name><command-message>clear</command-message><command-args></command-args>",
        ),
        user(13, "<teammate-message teammate_id=\"a\">I am idle.</teammate-message>"),
        user(
            14,
            json!([{"type": "text", "text": "<ide_selection>line 1\nline 2</ide_selection>"},
            {"type": "text", "text": "Rename this."}]),
        ),
        user(15, "Why is <ide_selection> in my prompt, and is </ide_selection> too?"),
        user(16, "Base directory for this skill: /home/ada/.claude/skills/count\n\n# Count"),
        user(17, "[Request interrupted by user for tool use]"),
        user(18, "<local-command-stdout>3 owls</local-command-stdout>"),
        entry(
            19,
            "system",
            json!({"subtype": "local_command",
            "content": "<command-name>/compact</command-name><command-args>keep the barn</command-args>"}),
        ),
    ]);
    let wanted = [
        "Count the owls.",
        "And the bats?",
        "Like this one",
        "<bash-input>ls</bash-input>",
        "/count only barn owls",
        "Rename this.",
        "Why is <ide_selection> in my prompt, and is </ide_selection> too?",
        "/compact keep the barn",
    ];
    assert_eq!(heard, wanted.map(|words| format!("user: {words}")));
}

#[test]
fn a_session_that_changes_its_directory_stays_in_its_project() {
    let home = Home::new();
    let mut later = user(2, "And here?");
    later["cwd"] = "/nowhere/owls/deep".into();
    let mut without = user(3, "And now?");
    without.as_object_mut().unwrap().remove("cwd");
    home.run("rsv-import", &["-q"], format!("{}\n{later}\n{without}\n", user(1, "Where are they?"))).ok();
    assert_eq!(told(&home).len(), 3);
    assert!(told(&home).iter().all(|line| line.starts_with("owls/s1 ")), "{:?}", told(&home));
}

/// A line of a session of Codex.
fn codex(second: usize, kind: &str, payload: Value) -> Value {
    json!({"timestamp": format!("2026-09-01T10:00:{second:02}.000Z"), "type": kind, "payload": payload})
}

fn codex_message(second: usize, role: &str, texts: &[&str]) -> Value {
    let kind = if role == "user" { "input_text" } else { "output_text" };
    let content: Vec<Value> = texts.iter().map(|text| json!({"type": kind, "text": text})).collect();
    codex(second, "response_item", json!({"type": "message", "role": role, "content": content}))
}

/// Keeps: The words of people to Codex are imported, and nothing else.
#[test]
fn prompts_of_codex() {
    let pasted = "<turn_aborted>\nWhat does this mean?\n</turn_aborted>";
    let heard = said_in(&[
        codex(
            0,
            "session_meta",
            json!({"id": "c1", "timestamp": "2026-09-01T10:00:00Z", "cwd": "/nowhere/owls"}),
        ),
        codex_message(
            1,
            "user",
            &["<environment_context>\n<cwd>/nowhere/owls</cwd>\n</environment_context>"],
        ),
        codex_message(
            2,
            "user",
            &[
                "# Files mentioned by the user:\n\n## a.txt: /a.txt\n\n## My request for Codex:\nCount them.\n",
            ],
        ),
        codex_message(3, "assistant", &["Three."]),
        codex_message(4, "user", &["<my_settings>\n<depth>3</depth>\n</my_settings>"]),
        codex_message(5, "assistant", &["I see your settings."]),
        codex_message(6, "user", &["<skill>\n<name>count</name>\nCount carefully.\n</skill>"]),
        codex_message(
            7,
            "user",
            &[
                "Warning: apply_patch was requested via shell. Use the apply_patch tool instead of exec_command.",
            ],
        ),
        codex_message(8, "user", &[pasted]),
        codex(9, "event_msg", json!({"type": "user_message", "message": pasted})),
        codex_message(10, "assistant", &["That you pressed Escape."]),
        codex_message(11, "user", &["<image name=[Image #1]>", "</image>", "What is this?"]),
        codex_message(12, "user", &["Forget it."]),
        codex_message(13, "assistant", &["Forgotten."]),
        codex(14, "event_msg", json!({"type": "thread_rolled_back", "num_turns": 2})),
        codex_message(15, "user", &["Thanks."]),
    ]);
    let wanted = [
        "user: Count them.",
        "assistant: Three.",
        "user: <my_settings>\n<depth>3</depth>\n</my_settings>",
        "assistant: I see your settings.",
        &format!("user: {pasted}"),
        "assistant: That you pressed Escape.",
        "user: Thanks.",
    ];
    assert_eq!(heard, wanted);
}

/// Keeps: Messages that were retracted or rewritten in a session of Gemini CLI are imported as shown.
#[test]
fn messages_of_gemini_that_are_written_again() {
    let time = "2026-09-01T10:00:01.000Z";
    let message = |id: &str, kind: &str, content: Value| json!({"id": id, "timestamp": format!("2026-09-01T10:00:0{id}.000Z"), "type": kind, "content": content});
    let mut shown = message(
        "5",
        "user",
        json!([{"text": "Read @a.txt\n--- Content from referenced files ---\nsecret\n--- End of content ---"}]),
    );
    let heard = said_in(&[
        json!({"sessionId": "g1", "projectHash": "0", "startTime": time, "lastUpdated": time}),
        message("1", "user", "Count the owls.".into()),
        message("2", "gemini", "One".into()),
        message("2", "gemini", json!([{"text": "I count.", "thought": true}, {"text": "One, two, three."}])),
        message("3", "user", "And the bats?".into()),
        message("4", "gemini", "None.".into()),
        json!({"$rewindTo": "3"}),
        shown.clone(),
    ]);
    assert_eq!(heard, ["user: Count the owls.", "assistant: One, two, three.", "user: Read @a.txt"]);
    shown["displayContent"] = json!("Read my file");
    let again = json!({"$set": {"messages": [shown]}});
    let heard = said_in(&[
        json!({"sessionId": "g1", "projectHash": "0", "startTime": time, "lastUpdated": time}),
        message("1", "user", "Count the owls.".into()),
        again,
    ]);
    assert_eq!(heard, ["user: Read my file"]);
}

/// A node of ChatGPT's with a message, after another.
fn node(id: &str, parent: &str, time: f64, message: Value) -> (String, Value) {
    let mut message = message;
    message["create_time"] = time.into();
    (id.to_owned(), json!({"id": id, "parent": parent, "message": message}))
}

#[test]
fn documents_and_sources_of_chatgpt() {
    let text = |words: &str| json!({"content_type": "text", "parts": [words]});
    let canvas = |tool: &str, arguments: Value| {
        json!({"author": {"role": "assistant"}, "recipient": tool,
            "content": {"content_type": "code", "text": arguments.to_string()}})
    };
    let mark = "\u{e200}cite\u{e202}turn0search0\u{e201}";
    let mapping: serde_json::Map<String, Value> = [
        node("n", "gone", 0.5, json!({"author": {"role": "user"}, "content": {"content_type": "user_editable_context", "text": "Likes owls."}})),
        node("q", "n", 1.0, json!({"author": {"role": "user"}, "content": {"content_type": "dictation", "text": "Write about owls"}})),
        node("c", "q", 2.0, canvas("canmore.create_textdoc", json!({"name": "Owls", "type": "document", "content": "Owls hunt."}))),
        node("u", "c", 3.0, canvas("canmore.update_textdoc", json!({"updates": [{"pattern": ".*", "replacement": "Owls hunt at night."}]}))),
        node("a", "u", 4.0, json!({"author": {"role": "assistant"}, "recipient": "all", "content": text(&format!("Done {mark}.")),
            "metadata": {"content_references": [{"matched_text": mark, "items": [{"title": "Owls", "url": "https://owl.example"}]}]}})),
        node("old", "q", 2.5, json!({"author": {"role": "assistant"}, "content": text("No.")})),
    ]
    .into_iter()
    .collect();
    for current in [json!("not there"), Value::Null, json!("a")] {
        let export = json!([{"title": "t", "create_time": 1.0, "mapping": mapping, "current_node": current, "id": "c1"}]);
        let wanted = [
            "user: Write about owls",
            "assistant: Owls hunt.",
            "assistant: Owls hunt at night.",
            "assistant: Done ([Owls](https://owl.example)).",
        ];
        assert_eq!(said_in(&[export]), wanted, "{current}");
    }
}

#[test]
fn pasted_texts_and_documents_of_claude() {
    let message = |id: &str, sender: &str, more: Value| {
        let mut message = json!({"uuid": id, "sender": sender, "text": "", "content": [], "created_at": format!("2026-09-01T10:00:0{id}Z")});
        for (name, value) in more.as_object().unwrap() {
            message[name] = value.clone();
        }
        message
    };
    let attachment = |name: &str, text: &str| json!({"file_name": name, "extracted_content": text});
    let export = json!([{"uuid": "c1", "name": "t", "updated_at": "2026-09-01T10:00:00Z", "chat_messages": [
        message("1", "human", json!({"text": "What is this?", "attachments": [attachment("", "A long text."), attachment("book.pdf", "A book.")]})),
        message("2", "assistant", json!({"content": [{"type": "tool_use", "name": "artifacts", "input": {"content": "# Owls"}},
            {"type": "text", "text": "A text of owls."}]})),
        message("3", "human", json!({"attachments": [attachment("paste.txt", "Only pasted.")]})),
    ]}]);
    let wanted = [
        "user: What is this?\n\nA long text.",
        "assistant: # Owls",
        "assistant: A text of owls.",
        "user: Only pasted.",
    ];
    assert_eq!(said_in(&[export]), wanted);
    // The messages of a conversation stand in any order.
    let message = |id: &str, parent: &str, sender: &str, words: &str| {
        message(id, sender, json!({"parent_message_uuid": parent, "text": words}))
    };
    let mut messages = vec![
        message("1", "none", "human", "Q1"),
        message("2", "1", "assistant", "A1"),
        message("3", "2", "human", "Q2"),
    ];
    for _ in 0..2 {
        let export = json!([{"uuid": "c1", "name": "t", "updated_at": "2026-09-01T10:00:00Z", "chat_messages": messages}]);
        assert_eq!(said_in(&[export]), ["user: Q1", "assistant: A1", "user: Q2"]);
        messages.reverse();
    }
}

#[test]
fn what_opencode_takes_back() {
    let message = |id: &str, role: &str, more: Value, words: &str| {
        let mut info = json!({"id": id, "sessionID": "ses_1", "role": role, "time": {"created": format!("175600000{id}000").parse::<i64>().unwrap()}});
        for (name, value) in more.as_object().unwrap() {
            info[name] = value.clone();
        }
        json!({"info": info, "parts": [{"id": format!("p{id}"), "type": "text", "text": words}]})
    };
    let export = |revert: Value| {
        json!({"info": {"id": "ses_1", "title": "x".repeat(70_000), "directory": "/nowhere/owls", "projectID": "p",
        "time": {"created": 1, "updated": 1}, "revert": revert},
        "messages": [
            message("1", "user", json!({}), "Count the owls."),
            message("2", "assistant", json!({"summary": true, "parentID": "1"}), "SUMMARY"),
            message("3", "assistant", json!({"parentID": "1"}), "Three."),
            message("4", "user", json!({}), "Shoot them."),
            message("5", "assistant", json!({"parentID": "4"}), "No."),
        ]})
    };
    let all = ["user: Count the owls.", "assistant: Three.", "user: Shoot them.", "assistant: No."];
    assert_eq!(said_in(&[export(Value::Null)]), all);
    assert_eq!(said_in(&[export(json!({"messageID": "4"}))]), all[..2]);
}

/// Keeps: Both halves of a log of requests and answers are imported, for every API.
#[test]
fn logs_of_any_api() {
    let question = |content: Value| json!([{"role": "user", "content": content}]);
    let logs = [
        json!({"messages": question("Hello?".into()), "response": {"choices": [{"message": {"role": "assistant", "content": "Hi."}}]}}),
        json!({"request": {"messages": question("Hello?".into()), "system": "Be short."},
            "response": {"type": "message", "role": "assistant", "content": [{"type": "thinking", "thinking": "…"}, {"type": "text", "text": "Hi."}]}}),
        json!({"request": {"model": "m", "input": "Hello?"},
            "response": {"object": "response", "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi."}]}]}}),
        json!({"request": {"contents": [{"role": "user", "parts": [{"text": "Hello?"}]}]},
            "response": {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi."}]}}]}}),
        json!({"request": {"model": "m", "messages": question("Hello?".into())}, "response": {"message": {"role": "assistant", "content": "Hi."}}}),
        json!({"request": json!({"messages": question("Hello?".into())}).to_string(),
            "response": "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi.\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"}),
        json!({"request": {"model": "m", "prompt": "Hello?", "max_tokens": 5}, "response": {"choices": [{"text": "Hi."}]}}),
    ];
    for log in logs {
        let mut log = log;
        log["timestamp"] = 1_756_000_000.into();
        assert_eq!(said_in(&[log.clone()]), ["user: Hello?", "assistant: Hi."], "{log}");
    }
}

/// Keeps: A time is of the unit that its size says, or refused.
#[test]
fn times_in_any_unit() {
    for time in [
        "1756000000",
        "1756000000.0",
        "1756000000000",
        "1756000000000000",
        "1756000000000000000",
        "\"1756000000\"",
    ] {
        let home = Home::new();
        let log = format!(
            "{{\"timestamp\": {time}, \"request\": {{\"messages\": [{{\"role\": \"user\", \"content\": \"Hello\"}}]}}}}"
        );
        home.run("rsv-import", &["-q"], log).ok();
        assert_eq!(messages(&home)[0]["created_at"], "2025-08-24T01:46:40.000Z", "{time}");
        let home = Home::new();
        let table = format!("role;content;timestamp\nuser;Hello, owl;{}\n", time.trim_matches('"'));
        home.run("rsv-import", &["-q"], table).ok();
        assert_eq!(messages(&home)[0]["created_at"], "2025-08-24T01:46:40.000Z", "{time}");
        assert_eq!(said(&home), ["user: Hello, owl"]);
        // The other columns do not matter.
        for column in ["timestamp", "created_at"] {
            let home = Home::new();
            let table = format!("{column};role;content;trace_id\n{};user;Hello;t1\n", time.trim_matches('"'));
            home.run("rsv-import", &["-q"], table).ok();
            assert_eq!(messages(&home)[0]["created_at"], "2025-08-24T01:46:40.000Z", "{column} {time}");
        }
    }
    for time in ["0", "1000", "20260901"] {
        let home = Home::new();
        let log = format!(
            "{{\"timestamp\": {time}, \"messages\": [{{\"role\": \"user\", \"content\": \"Hello\"}}]}}"
        );
        let refused = home.run("rsv-import", &[], log).trouble();
        assert!(
            refused.starts_with("rsv-import: error: <stdin>:1: timestamp: expected a time in seconds"),
            "{refused}"
        );
    }
}

#[test]
fn tables_with_semicolons_and_tabs() {
    for separator in [";", "\t", ","] {
        let home = Home::new();
        let table = ["when|who|said", "2026-09-01T10:00:00Z|user|\"Hello; owl, and\tbat\""]
            .join("\n")
            .replace('|', separator);
        home.run("rsv-import", &["--from", "csv", "--map", "timestamp=when,role=who,content=said"], table)
            .ok();
        assert_eq!(said(&home), ["user: Hello; owl, and\tbat"], "{separator:?}");
    }
}

/// Keeps: A known file is recognized at any size and with its members in any order.
#[test]
fn long_beginnings() {
    let picture = "A".repeat(200_000);
    let first = user(
        1,
        json!([{"type": "image", "source": {"data": picture}}, {"type": "text", "text": "What is it?"}]),
    );
    // The members that tell the format come last.
    let mut late = serde_json::Map::new();
    for (name, value) in first.as_object().unwrap().iter().rev() {
        late.insert(name.clone(), value.clone());
    }
    let message = late.remove("message").unwrap();
    let rest = Value::Object(late).to_string();
    let line = format!("{{\"message\":{message},{}\n", &rest[1..]);
    let snapshots = "{\"type\":\"file-history-snapshot\",\"messageId\":\"m\",\"snapshot\":{}}\n".repeat(2000);
    let short = format!("{}\n", user(1, "What is it?"));
    let few: String = snapshots.split_inclusive('\n').take(40).collect();
    for lines in [line.clone(), snapshots + &line, few + &short] {
        let home = Home::new();
        home.write("past/s.jsonl", &lines);
        home.run("rsv-import", &["-q", "past"], "").ok();
        assert_eq!(said(&home), ["user: What is it?"]);
    }
}

/// Keeps: A file of which nothing is imported is named, with the reason.
#[test]
fn files_without_words_are_named() {
    let home = Home::new();
    let mut side = user(1, "Count.");
    side["isSidechain"] = true.into();
    home.write("past/agent.jsonl", &format!("{side}\n"));
    home.write("past/empty.json", &json!({"sessionId": "g", "projectHash": "0", "messages": []}).to_string());
    home.write("past/logs.json", &json!([{"sessionId": "g", "messageId": 0, "type": "user", "message": "Hi", "timestamp": "2026-09-01T10:00:00Z"}]).to_string());
    home.write("past/notes.txt", "owls\n");
    home.write("past/s.jsonl", &format!("{}\n", user(2, "Count the owls.")));
    let ran = home.run("rsv-import", &["--report", "report.json", "past"], "");
    assert_eq!(ran.status, 0, "{ran}");
    insta::assert_snapshot!(ran.stderr, @r"
    rsv-import: 1 file was read and has no messages: it is of sub-agents: past/agent.jsonl
    rsv-import: 1 file was read and has no messages: it has no words of a user or a model: past/empty.json
    rsv-import: 1 file was left out: it is of Gemini CLI, whose sessions have the same prompts: past/logs.json
    rsv-import: 1 file was left out: it has no known format: past/notes.txt
    ");
    let report: Value = serde_json::from_str(&home.read("report.json")).unwrap();
    let refused = home.run("rsv-import", &["past/logs.json"], "").trouble();
    let wanted = "rsv-import: error: past/logs.json: is not read: it is of Gemini CLI, whose sessions have the same prompts\n";
    assert_eq!(refused, wanted);
    let wanted = json!({"read": 1, "empty": ["past/agent.jsonl", "past/empty.json"],
        "left_out": ["past/logs.json", "past/notes.txt"]});
    assert_eq!(report["files"], wanted);
}

#[test]
fn a_file_of_no_known_format_gets_one_line() {
    let home = Home::new();
    for (text, looks) in [
        ("owls\nbats\n".repeat(100), "plain text"),
        ("{\"when\": 1, \"what\": \"owl\"}\n".repeat(100), "JSON with other members"),
        ("<html>\n".to_owned(), "HTML or XML"),
    ] {
        home.write("file", &text);
        let refused = home.run("rsv-import", &["file"], "").trouble();
        let wanted = format!(
            "rsv-import: error: file: has no known format; it looks like {looks}\nrsv-import: hint: "
        );
        assert!(refused.starts_with(&wanted) && refused.lines().count() == 2, "{refused}");
        assert!(refused.contains("claude-code, codex, chatgpt"), "{refused}");
    }
}

#[test]
fn links_to_devices_and_fifos_are_refused() {
    let home = Home::new();
    let status = std::process::Command::new("mkfifo").arg(home.path("fifo")).status().unwrap();
    assert!(status.success());
    for (target, kind) in [("/dev/zero".into(), "device"), (home.path("fifo"), "FIFO")] {
        let link = home.path(kind);
        std::os::unix::fs::symlink(target, &link).unwrap();
        let refused = home.run("rsv-import", &[kind], "").trouble();
        let wanted = format!("rsv-import: error: cannot read {kind}: is a link to a {kind}\n");
        assert!(refused.starts_with(&wanted), "{refused}");
    }
}

/// Keeps: Directories that were moved, and downloads, are found and imported after one question.
#[test]
fn moved_directories_and_downloads_are_found() {
    let home = Home::new();
    let moved = home.path("elsewhere");
    let home = home.env("CODEX_HOME", moved.to_str().unwrap());
    let rollout = format!(
        "{}\n{}\n",
        codex(
            0,
            "session_meta",
            json!({"id": "c1", "timestamp": "2026-09-01T10:00:00Z", "cwd": "/nowhere/owls"})
        ),
        codex_message(1, "user", &["Count the owls."])
    );
    home.write("elsewhere/archived_sessions/rollout-a.jsonl", &rollout);
    home.write(".claude/projects/x/s.jsonl", &format!("{}\n", user(1, "Where are they?")));
    home.write(
        "work/owls/.aider.chat.history.md",
        "\n# aider chat started at 2026-09-01 10:00:00\n\n#### Hi\n\nHello.\n",
    );
    home.write(".config/user-dirs.dirs", "XDG_DOWNLOAD_DIR=\"$HOME/Saved\"\n");
    std::fs::create_dir(home.path("Saved")).unwrap();
    let file = std::fs::File::create(home.path("Saved/export.zip")).unwrap();
    let mut archive = zip::ZipWriter::new(file);
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    archive.start_file("conversations.json", stored).unwrap();
    archive.write_all(&std::fs::read(crate::import_formats::fixture("chatgpt.json")).unwrap()).unwrap();
    archive.finish().unwrap();
    home.write("Saved/other.json", "{}");
    let found = home.run("rsv-import", &["--find"], "").ok();
    let names: Vec<&str> = found.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(names, ["claude-code", "codex", "chatgpt", "aider"], "{found}");
    // The question is asked at the terminal, once.
    for (answer, count) in [("n", 0), ("y", 1 + 1 + 5 + 2)] {
        let Some(mut terminal) = Terminal::run(&home, 100, "rsv-import --find --import; echo \"[$?]\"")
        else {
            break;
        };
        terminal.see("Import 4 files? [y/N] ");
        terminal.press(&format!("{answer}\n"));
        terminal.see("[0]");
        terminal.end();
        assert_eq!(messages(&home).len(), count, "{answer}");
        let history = home.run("rsv-import", &["--history"], "").stdout;
        assert!(count == 0 || history.contains("Saved/export.zip'"), "{history}");
    }
}

#[test]
fn signals_of_contextd_without_times() {
    let home = Home::new();
    let signal = json!({"memory_id": "m1", "helpful": true});
    let memory = json!({"id": "m1", "project_id": "owls", "title": "Count at dusk", "content": "Each time.",
        "outcome": "success", "confidence": 0.8});
    let list = json!({"memories": [memory], "signals": [signal, signal]});
    let signals = || {
        lines_of(&home.export()).into_iter().filter(|line| line["kind"] == "signal").collect::<Vec<Value>>()
    };
    home.run("rsv-import", &["-q"], list.to_string()).ok();
    let first = signals();
    assert_eq!(first.len(), 2, "{first:?}");
    for signal in &first {
        assert!(!signal["created_at"].as_str().unwrap().starts_with("1970"), "{signal}");
    }
    home.run("rsv-import", &["-q"], list.to_string()).ok();
    assert_eq!(signals(), first);
}
