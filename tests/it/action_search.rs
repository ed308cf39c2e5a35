//! Actions as people ask for them: by file, command and failure, as the log of a session, and from a hit to its turn.

use crate::mcp::Client;
use crate::proxy::Proxy;
use crate::support::{Home, lines_of, on_each_store, text, without_short_ids};
use serde_json::{Value, json};

const SESSION: &str = "6740e0b6-1c2d-4000-9000-123456789abc";

/// A session of Claude Code about a webhook: a command fails, two files are edited, and the command succeeds.
fn webhook_session() -> String {
    let entry = |kind: &str, second: u32, content: Value| {
        json!({"type": kind, "uuid": format!("{kind}{second}"), "sessionId": SESSION,
            "timestamp": format!("2026-11-24T21:35:{second:02}.000Z"), "message": {"role": kind, "content": content}})
    };
    let mut lines = Vec::new();
    let call = |second: u32, name: &str, input: Value, result: &str, failed: bool| {
        let id = format!("toolu_{second}");
        let used = json!([{"type": "tool_use", "id": id, "name": name, "input": input}]);
        let returned =
            json!([{"type": "tool_result", "tool_use_id": id, "content": result, "is_error": failed}]);
        vec![entry("assistant", second, used), entry("user", second + 1, returned)]
    };
    let edit = |path: &str| json!({"file_path": path, "old_string": "a", "new_string": "b"});
    lines.push(entry("user", 1, json!("Why does the webhook fail?")));
    let cargo = json!({"command": "cd /home/me/shop && cargo test webhook"});
    lines.extend(call(2, "Bash", cargo.clone(), "Exit code 101\nerror: signature mismatch", true));
    lines.extend(call(4, "Read", json!({"file_path": "/home/me/shop/src/pay.rs"}), "fn pay() {}", false));
    lines.extend(call(6, "Edit", edit("/home/me/shop/src/pay.rs"), "updated", false));
    lines.extend(call(8, "Edit", edit("/home/me/shop/src/repay.rs"), "updated", false));
    lines.extend(call(10, "Bash", cargo, "ok", false));
    lines.push(entry(
        "assistant",
        12,
        json!([{"type": "text", "text": "The signature was of the wrong body."}]),
    ));
    lines.push(entry("user", 13, json!("Now the migration of the database, please.")));
    lines.extend(call(14, "Bash", json!({"command": "git diff HEAD:src/pay.rs"}), "-", false));
    lines.extend(call(
        16,
        "Bash",
        json!({"command": "sqlx migrate run"}),
        "Exit code 1\nerror: no such table",
        true,
    ));
    lines.push(entry("assistant", 18, json!([{"type": "text", "text": "The migration needs a table."}])));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn import(home: &Home) {
    let words = ["-q", "--from", "claude-code", "-p", "shop"];
    home.run("rsv-import", &words, webhook_session()).ok();
}

/// The calls of the hits of a search for actions in the partition, in their order.
fn calls(home: &Home, words: &[&str]) -> Vec<String> {
    let ran = home.run("rsv-search", &[&["-p", "shop"], words].concat(), "");
    assert_eq!((ran.status, &*ran.stderr), (i32::from(ran.stdout.is_empty()), ""), "{words:?}");
    lines_of(&ran.stdout).iter().map(|hit| text(&hit["call"])).collect()
}

on_each_store!(files_failures_and_what_fixed_them_are_found_by_commands);
/// Keeps: Which files a session touched, which command failed and what fixed it are found by commands.
fn files_failures_and_what_fixed_them_are_found_by_commands(home: Home) {
    import(&home);
    // The command that failed, and its next run in that session.
    let failed = lines_of(&home.run("rsv-search", &["-p", "shop", "--failed", "webhook"], "").ok()).remove(0);
    assert_eq!(failed["error"], "error: signature mismatch");
    let log =
        lines_of(&home.run("rsv-view", &["100", "-p", "shop", "-i", SESSION, "--kind", "action"], "").ok());
    let own = log.iter().position(|action| action["call"] == failed["call"]).unwrap();
    let fixed =
        log.iter().skip(own + 1).position(|action| action["command"] == failed["command"]).unwrap() + own + 1;
    assert_eq!((&log[fixed]["call"], &log[fixed]["failed"]), (&json!("toolu_10"), &Value::Null));
    let edited: Vec<&Value> = log[own..fixed]
        .iter()
        .filter(|action| action["tool"] == "Edit")
        .map(|action| &action["paths"][0])
        .collect();
    assert_eq!(edited, ["/home/me/shop/src/pay.rs", "/home/me/shop/src/repay.rs"]);
    // The turn of a hit has the words, and the words lead to the actions.
    for id in [&failed["id"], &json!(log[fixed]["id"])] {
        let turn = lines_of(&home.run("rsv-view", &["--id", &text(id), "--turn"], "").ok());
        assert_eq!((&turn[0]["content"], turn.len()), (&json!("Why does the webhook fail?"), 7), "{turn:?}");
        assert_eq!(turn[6]["content"], "The signature was of the wrong body.");
        let again = lines_of(&home.run("rsv-view", &["--id", &text(&turn[0]["id"]), "--turn"], "").ok());
        assert_eq!(again, turn);
    }
    let refused = home.run("rsv-view", &["--id", "nowhere", "--turn"], "").trouble();
    assert!(refused.contains("there is no record nowhere"), "{refused}");
}

on_each_store!(actions_are_selected_by_file_command_and_failure);
/// Keeps: Actions are selected by file, command and failure, with words and without.
fn actions_are_selected_by_file_command_and_failure(home: Home) {
    import(&home);
    let none: [&str; 0] = [];
    for (words, found) in [
        // Without words, the newest first.
        (&["--failed"][..], &["toolu_16", "toolu_2"][..]),
        (&["--failed", "-n", "1"], &["toolu_16"]),
        (&["--failed", "-i", SESSION, "--until", "2026-11-24T21:35:10Z"], &["toolu_2"]),
        (&["--failed", "-i", "another"], &none),
        (&["--failed", "--since", "2026-11-24T21:35:10Z"], &["toolu_16"]),
        (&["--command", "cargo"], &["toolu_10", "toolu_2"]),
        (&["--command", "cargo test"], &["toolu_10", "toolu_2"]),
        (&["--command", "test cargo"], &none),
        (&["--command", "carg"], &none),
        (&["--command", "cargo", "--failed"], &["toolu_2"]),
        (&["--file", "/home/me/shop/src/pay.rs"], &["toolu_6", "toolu_4"]),
        // In a command, and by the end from a name on.
        (&["--file", "src/pay.rs"], &["toolu_14", "toolu_6", "toolu_4"]),
        (&["--file", "./src/pay.rs"], &["toolu_14", "toolu_6", "toolu_4"]),
        (&["--file", "repay.rs"], &["toolu_8"]),
        (&["--file", "ay.rs"], &none),
        (&["--file", "/src/pay.rs"], &none),
        (&["--file", "pay.rs", "diff"], &["toolu_14"]),
        (&["--failed", "mismatch"], &["toolu_2"]),
        (&["--failed", "--by", "any", "mismatch nonsense"], &["toolu_2"]),
        (&["--failed", "diff"], &none),
        // Case is ignored, as for all words; a hit without a score is not too low.
        (&["--file", "SRC/Repay.rs"], &["toolu_8"]),
        (&["--command", "Cargo TEST", "--failed"], &["toolu_2"]),
        (&["--failed", "--min-score", "0.5"], &["toolu_16", "toolu_2"]),
    ] {
        assert_eq!(calls(&home, words), found, "{words:?}");
    }
    // Unless they are asked for, a search finds messages.
    assert_eq!(home.run("rsv-search", &["-p", "shop", "mismatch"], "").status, 1);
    let refused = home.run("rsv-search", &["--kind", "memory", "--failed"], "").trouble();
    assert!(refused.contains("hint: leave out --kind"), "{refused}");
}

#[test]
fn the_newest_of_many_actions_are_found_whatever_is_beside_them() {
    let home = Home::new();
    let line = |n: u32| {
        let failed = n.is_multiple_of(1000);
        json!({"kind": "action", "call": format!("c{n}"), "tool": "Bash", "command": "make", "trace_id": "t",
            "failed": failed, "partition": "shop", "instance": format!("s{}", n % 3), "timestamp": 1000 + n / 2})
    };
    let lines: String = (0..3001).map(|n| format!("{}\n", line(n))).collect();
    home.run("rsv-import", &["-q"], lines).ok();
    assert_eq!(calls(&home, &["--failed"]), ["c3000", "c2000", "c1000", "c0"]);
    assert_eq!(calls(&home, &["--failed", "-n", "2"]), ["c3000", "c2000"]);
    assert_eq!(calls(&home, &["--failed", "make"]).len(), 4);
    assert_eq!(calls(&home, &["--failed", "-n", "5000", "make"]).len(), 4);
    assert_eq!(calls(&home, &["--command", "make", "-n", "2500"]).len(), 2500);
}

#[test]
fn the_log_of_a_session_reads_as_one() {
    let home = Home::new().env("TZ", "UTC").env("COLUMNS", "100");
    import(&home);
    let log = |words: &[&str]| {
        let words = [&["100", "-p", "shop", "--kind", "action", "--format", "text"], words].concat();
        home.run("rsv-view", &words, "").ok()
    };
    let own = log(&["-i", SESSION]);
    let bare = |line: &str| {
        line.split(' ').filter(|word| word.len() != 7 || !is_hex(word)).collect::<Vec<_>>().join(" ")
    };
    let shown: Vec<String> = own.lines().map(bare).collect();
    assert_eq!(
        shown,
        [
            "2026-11-24 21:35 Why does the webhook fail? (claude-code)",
            "  21:35:02 Bash: cd /home/me/shop && cargo test webhook",
            "                   failed: error: signature mismatch",
            "  21:35:04 Read: /home/me/shop/src/pay.rs",
            "  21:35:06 Edit: /home/me/shop/src/pay.rs, 2 lines",
            "  21:35:08 Edit: /home/me/shop/src/repay.rs, 2 lines",
            "  21:35:10 Bash: cd /home/me/shop && cargo test webhook",
            "2026-11-24 21:35 Now the migration of the database, please. (claude-code)",
            "  21:35:14 Bash: git diff HEAD:src/pay.rs",
            "  21:35:16 Bash: sqlx migrate run",
            "                   failed: error: no such table",
        ]
    );
    // The short id of a question leads to its turn.
    let id = own.split(' ').next().unwrap();
    let turn = home.run("rsv-view", &["--id", id, "--turn", "--format", "text"], "").ok();
    let said = without_short_ids(&turn);
    assert!(
        said.starts_with("2026-11-24 21:35 user: Why does") && turn.contains("21:35:02 Bash: cd"),
        "{turn}"
    );
    let coloured = log(&["-i", SESSION, "--color", "always"]);
    assert!(coloured.contains("\u{1b}[1;31mfailed: error: signature mismatch\u{1b}[0m"), "{coloured}");
    let narrow = home
        .env("COLUMNS", "40")
        .run("rsv-view", &["100", "-p", "shop", "--kind", "action", "--format", "text"], "")
        .ok();
    assert!(narrow.lines().count() == own.lines().count(), "{narrow}");
    assert!(narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
}

fn is_hex(word: &str) -> bool {
    word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[test]
fn a_hit_on_a_terminal_says_how_to_read_its_turn() {
    let home = Home::new();
    import(&home);
    let found = home.run("rsv-search", &["-p", "shop", "--failed", "--format", "text"], "");
    let id = found.stdout.split_whitespace().nth(1).unwrap();
    assert!(is_hex(id), "{found}");
    assert_eq!(
        found.stderr,
        format!("rsv-search: to read the turn of an action: rsv-view --id {id} --turn\n")
    );
    assert!(found.stdout.contains(&format!(" 1. {id} 2026-11-24 ")), "{found}");
    assert!(found.stdout.contains(" Bash: sqlx migrate run; failed: error: no such"), "{found}");
}

/// Keeps: The page of a conversation has the actions of each turn, and the command that continues it.
#[test]
fn the_page_of_a_conversation_has_its_actions() {
    let home = Home::new();
    import(&home);
    let mut proxy = Proxy::start(&home);
    let (status, page) = proxy.get(&format!("/memory/conversation?p=shop&i={SESSION}"));
    assert_eq!(status, 200, "{page}");
    assert!(page.contains("<summary>5 actions, 1 failed</summary>"), "{page}");
    assert!(
        page.contains("<code dir=\"auto\">cd /home/me/shop &amp;&amp; cargo test webhook</code>"),
        "{page}"
    );
    assert!(page.contains("failed: error: signature mismatch"), "{page}");
    assert!(page.contains(&format!("<code>claude --resume {SESSION}</code>")), "{page}");
    assert_eq!(proxy.end(), Some(0));
}

/// Keeps: A client's model finds actions by file, command and failure.
#[test]
fn a_client_finds_actions_by_file_command_and_failure() {
    let home = Home::new();
    import(&home);
    let mut client = Client::start(&home, &["-p", "shop"]);
    let mut recall = |arguments: Value| client.try_call("recall", arguments);
    let calls = |answer: &Value| -> Vec<Value> {
        let hits = answer["structuredContent"]["hits"].as_array().unwrap().iter();
        hits.map(|hit| hit["command"].as_str().map_or(hit["paths"].clone(), Value::from)).collect()
    };
    let answer = recall(json!({"failed": true}));
    assert_eq!(calls(&answer), ["sqlx migrate run", "cd /home/me/shop && cargo test webhook"]);
    let hit = &answer["structuredContent"]["hits"][0];
    assert_eq!(
        (&hit["error"], &hit["content"], &hit["score"]),
        (&json!("error: no such table"), &Value::Null, &Value::Null)
    );
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert!(text.contains(" Bash: sqlx migrate run; failed: error: no such table\n"), "{text}");
    let found = calls(&recall(json!({"query": "mismatch", "kinds": ["action"]})));
    assert_eq!(found[0], "cd /home/me/shop && cargo test webhook");
    assert_eq!(calls(&recall(json!({"file": "repay.rs"}))), [json!(["/home/me/shop/src/repay.rs"])]);
    assert_eq!(calls(&recall(json!({"command": "cargo test", "query": "webhook", "failed": true}))).len(), 1);
    assert_eq!(calls(&recall(json!({"query": "mismatch"}))).len(), 0);
    for (arguments, wanted) in [
        (json!({}), "query: is missing"),
        (json!({"kinds": ["message"], "failed": true}), "kinds: file, command and failed find actions"),
        (json!({"file": ""}), "file: is empty"),
        (json!({"command": " ", "failed": true}), "command: is empty"),
    ] {
        let refused = recall(arguments);
        assert!(refused["isError"] == true && refused.to_string().contains(wanted), "{refused}");
    }
}

on_each_store!(sessions_say_how_to_continue_them);
/// Keeps: A session names its program, and the command that continues it.
fn sessions_say_how_to_continue_them(home: Home) {
    import(&home);
    let turn = |partition: &str, instance: &str, source: Option<&str>| {
        let said = |role: &str, at: i64| {
            let mut line = json!({"role": role, "content": format!("{role} of {instance}"), "partition": partition,
                "instance": instance, "timestamp": at});
            if let Some(source) = source {
                line["source"] = source.into();
            }
            format!("{line}\n")
        };
        said("user", 1000) + &said("assistant", 1001)
    };
    let other = "01900000-0000-7000-8000-000000000001";
    let lines = [
        turn("codex", other, Some("codex")),
        turn("code", "ses_a b", Some("opencode")),
        turn("given", "my own", Some("claude-code")),
        turn("web", other, Some("chatgpt")),
        turn("garden", "garden", None),
        turn("garden", "the desk", None),
    ];
    home.ingest(&["-q"], &lines.concat());
    home.run(
        "rsv-import",
        &["-q"],
        json!({"kind": "action", "call": "c", "tool": "t", "program": "gemini",
        "partition": "proxied", "instance": other, "timestamp": 1002})
        .to_string(),
    )
    .ok();
    home.ingest(&["-q"], &turn("proxied", other, None));
    let sessions = lines_of(&home.run("rsv-view", &["--sessions"], "").ok());
    let told = |partition: &str| {
        let session = sessions.iter().find(|session| session["user_id"] == partition).unwrap();
        [session["program"].clone(), session["resume"].clone()]
    };
    assert_eq!(told("shop"), [json!("claude-code"), json!(format!("claude --resume {SESSION}"))]);
    assert_eq!(told("codex"), [json!("codex"), json!(format!("codex resume {other}"))]);
    assert_eq!(told("code"), [json!("opencode"), json!("opencode -s 'ses_a b'")]);
    assert_eq!(told("proxied"), [json!("gemini"), json!(format!("gemini --resume {other}"))]);
    // Another name than the program's own, a program without such a command, and no other program.
    assert_eq!(told("given"), [json!("claude-code"), Value::Null]);
    assert_eq!(told("web"), [json!("chatgpt"), Value::Null]);
    assert_eq!(told("garden"), [Value::Null, Value::Null]);
    let table = home.run("rsv-view", &["--sessions", "--format", "text"], "").ok();
    for command in ["codex resume ", "rsv-ask -p garden -c\n", "rsv-ask -p garden -i 'the desk' -c\n"] {
        assert!(table.contains(&format!("\n    {command}")), "{table}");
    }
    let question =
        lines_of(&home.export()).into_iter().find(|line| line["content"] == "Why does the webhook fail?");
    let id = text(&question.unwrap()["id"]);
    let conversation = home.run("rsv-view", &["--id", &id, "--conversation", "--format", "text"], "").ok();
    assert!(conversation.ends_with(&format!("\n    claude --resume {SESSION}\n")), "{conversation}");
}

#[test]
fn a_file_with_spaces_in_its_name_is_found_in_commands() {
    let home = Home::new();
    let commands = [
        "cat 'my own notes.txt'",
        "cat docs/my\\ own\\ notes.txt",
        "cat my own notes.txt.old",
        "cat notes.txt",
    ];
    let lines = commands.iter().zip(1..).map(|(command, at)| {
        let line = json!({"kind": "action", "call": format!("c{at}"), "tool": "Bash", "command": command, "trace_id": "t",
            "partition": "shop", "instance": "s", "timestamp": at});
        format!("{line}\n")
    });
    home.run("rsv-import", &["-q"], lines.collect::<String>()).ok();
    assert_eq!(calls(&home, &["--file", "my own notes.txt"]), ["c2", "c1"]);
    assert_eq!(calls(&home, &["--file", "docs/my own notes.txt"]), ["c2"]);
    assert_eq!(calls(&home, &["--file", "notes.txt", "cat"]).len(), 3);
}

/// Keeps: Every format shows what an action did, within the width.
#[test]
fn every_format_shows_what_an_action_did() {
    let home = Home::new().env("COLUMNS", "60");
    import(&home);
    let lines = home.run("rsv-search", &["-p", "shop", "--failed", "--format", "reservoir"], "").ok();
    assert!(lines.contains("action: sqlx migrate run; failed: error: no such table\n"), "{lines}");
    let long = json!({"kind": "action", "call": "c", "tool": "t".repeat(300), "program": "p".repeat(300),
        "command": "make", "partition": "shop", "instance": "long", "timestamp": 1000});
    home.run("rsv-import", &["-q"], format!("{long}\n")).ok();
    let words = ["-p", "shop", "-i", "long", "--kind", "action", "--format", "text"];
    let log = home.run("rsv-view", &words, "").ok();
    assert!(log.lines().count() == 2 && log.lines().all(|line| line.chars().count() <= 60), "{log}");
    // The account of a request in another instance than that of the session.
    let request = json!({"model": "gpt-4o", "messages": [{"role": "user", "content": "What did we change in repay.rs?"}]});
    let line = home.run("rsv-enrich", &["-q", "-p", "shop"], format!("{request}\n")).ok();
    let answer = json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "Its keys."},
        "finish_reason": "stop"}], "rsv": lines_of(&line)[0]["rsv"]});
    home.ingest(&["-q"], &answer.to_string());
    let account = home.run("rsv-view", &["-p", "shop", "--accounts", "--format", "text"], "").ok();
    let shown = account.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("action: “/home/me/shop/src/"), "{account}");
    let refused = home.run("rsv-view", &["--id", "a", "--turn", "--kind", "action"], "").trouble();
    assert!(refused.contains("cannot be used with") && refused.contains("--kind"), "{refused}");
}
