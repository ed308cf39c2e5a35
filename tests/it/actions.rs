//! Actions: what a program did in a turn, stored, found, exported and forgotten.

use crate::redact::secrets;
use crate::support::{Home, lines_of, on_each_store};
use serde_json::{Value, json};

fn turn(trace: &str, question: &str, at: i64) -> String {
    let line = |role: &str, said: &str, at: i64| {
        json!({"kind": "message", "id": format!("{trace}-{role}"), "role": role, "content": said, "trace_id": trace,
            "partition": "shop", "instance": "s1", "timestamp": at})
    };
    format!("{}\n{}\n", line("user", question, at), line("assistant", "Done.", at + 100))
}

/// An action of a turn; `members` are added to it.
fn action(trace: &str, call: &str, at: i64, members: Value) -> String {
    let mut line = json!({"kind": "action", "trace_id": trace, "partition": "shop", "instance": "s1", "timestamp": at,
        "call": call, "program": "claude-code"});
    line.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    format!("{line}\n")
}

fn actions(home: &Home) -> Vec<Value> {
    lines_of(&home.export()).into_iter().filter(|line| line["kind"] == "action").collect()
}

fn two_turns() -> String {
    let command = json!({"tool": "Bash", "command": "cargo test webhook", "failed": true,
        "error": "error[E0425]: cannot find value `zebra`"});
    let edit = json!({"tool": "Edit", "paths": ["src/pay.rs"], "lines": 3});
    let search = json!({"tool": "Grep", "pattern": "charge_card"});
    [
        turn("t1", "Why does the webhook fail?", 1000),
        action("t1", "c1", 1010, command),
        action("t1", "c2", 1020, edit),
        turn("t2", "Where are cards charged?", 5000),
        action("t2", "c3", 5010, search),
    ]
    .concat()
}

on_each_store!(actions_are_stored_once_found_by_their_words_and_exported_to_the_byte);
/// Keeps: An action is one record however often its call comes, and an export carries it.
fn actions_are_stored_once_found_by_their_words_and_exported_to_the_byte(home: Home) {
    home.run("rsv-import", &["-q"], two_turns()).ok();
    let export = home.export();
    assert_eq!(actions(&home).len(), 3, "{export}");
    for (words, call) in [("zebra", "c1"), ("webhook cargo", "c1"), ("pay.rs", "c2"), ("charge_card", "c3")] {
        let found = lines_of(&home.run("rsv-search", &["-p", "shop", "--kind", "action", words], "").ok());
        let calls: Vec<&Value> = found.iter().map(|hit| &hit["call"]).collect();
        assert_eq!(calls, [call], "{words}");
    }
    // They are no messages.
    assert_eq!(home.run("rsv-search", &["-p", "shop", "zebra"], "").status, 1);
    assert_eq!(home.run("rsv-search", &["-p", "garden", "--kind", "action", "zebra"], "").status, 1);
    // Again, and at another time, as another way may bring them.
    home.run("rsv-import", &["-q"], two_turns()).ok();
    let later = action("t2", "c3", 5900, json!({"tool": "Grep", "pattern": "charge_card"}));
    home.run("rsv-import", &["-q"], later).ok();
    assert_eq!(home.export(), export);
    // The same call of another turn is another one.
    home.run("rsv-import", &["-q"], action("t1", "c3", 1030, json!({"tool": "Grep"}))).ok();
    assert_eq!(actions(&home).len(), 4);
    let export = home.export();
    let other = home.emptied();
    other.run("rsv-import", &["-q"], &export).ok();
    assert_eq!(other.export(), export);
    other.check();
}

on_each_store!(actions_go_with_the_last_message_of_their_turn);
/// Keeps: The actions of a turn are forgotten with it.
fn actions_go_with_the_last_message_of_their_turn(home: Home) {
    home.run("rsv-import", &["-q"], two_turns()).ok();
    let forgotten = home.run("rsv-forget", &["--all", "t1-user"], "").ok();
    assert!(!forgotten.contains("\"action\""), "{forgotten}");
    let forgotten = home.run("rsv-forget", &["--all", "t1-assistant"], "").ok();
    assert_eq!(forgotten.matches("\"kind\":\"action\"").count(), 2, "{forgotten}");
    assert_eq!(actions(&home).iter().map(|one| &one["call"]).collect::<Vec<_>>(), ["c3"]);
    // They stay out, whatever time they are given.
    home.run("rsv-import", &["-q"], two_turns()).ok();
    home.run("rsv-import", &["-q"], action("t1", "c1", 1500, json!({"tool": "Bash"}))).ok();
    assert_eq!(actions(&home).len(), 1);
    home.run("rsv-forget", &["-p", "shop", "--trace", "t2"], "").ok();
    assert!(actions(&home).is_empty());
    home.check();
}

#[test]
fn texts_of_actions_are_redacted_and_cut_when_they_are_stored() {
    let home = Home::new().env("RSV_INGEST_REDACT", "true");
    let (_, token) = secrets().into_iter().find(|(kind, _)| *kind == "github-token").unwrap();
    // A secret that begins within the greatest length and ends beyond it.
    let command = format!("{} {token}", "x".repeat(290));
    let here = "cat > src/pay.rs <<'EOF'\nfn secret_source() {}\nEOF";
    let lines = [
        action("t", "toolu_01A09q90qw90lq917835lq9", 1000, json!({"tool": "Bash", "command": command})),
        action("t", "call_12xyzAbCdEfGhIjKlMnOpQrSt", 1001, json!({"tool": "Bash", "command": here})),
        action("t", "c3", 1002, json!({"tool": "Read", "paths": [format!("a/{token}"), "y".repeat(400)]})),
    ];
    home.run("rsv-import", &["-q"], lines.concat()).ok();
    let export = home.export();
    assert!(!export.contains(&token[..12]) && !export.contains("secret_source"), "{export}");
    let stored = actions(&home);
    assert_eq!(stored[0]["call"], "toolu_01A09q90qw90lq917835lq9");
    assert_eq!(stored[0]["command"].as_str().unwrap().len(), 300);
    assert_eq!(
        (&stored[1]["call"], &stored[1]["command"]),
        (&json!("call_12xyzAbCdEfGhIjKlMnOpQrSt"), &json!("cat > src/pay.rs"))
    );
    assert_eq!(stored[2]["paths"], json!(["a/[redacted:github-token]", "y".repeat(300)]));
}

#[test]
fn an_action_without_a_trace_belongs_to_the_question_before_it() {
    let home = Home::new();
    let question = json!({"role": "user", "content": "Hello", "partition": "shop", "timestamp": 1000});
    let action =
        json!({"kind": "action", "call": "c", "tool": "Read", "partition": "shop", "timestamp": 1010});
    home.run("rsv-import", &["-q"], format!("{question}\n{action}\n")).ok();
    let lines = lines_of(&home.export());
    assert_eq!((lines.len(), &lines[0]["trace_id"]), (2, &lines[1]["trace_id"]));
    for (line, member) in [
        (json!({"kind": "action", "tool": "Read"}), "call: is missing"),
        (json!({"kind": "action", "call": "c"}), "tool: is missing"),
        (json!({"kind": "action", "call": "c", "tool": "Read", "paths": "a"}), "paths: expected"),
        (
            json!({"kind": "action", "call": "c", "tool": "Read", "failed": 1}),
            "failed: expected true or false",
        ),
    ] {
        let refused = home.run("rsv-ingest", &[], line.to_string()).trouble();
        assert!(refused.contains(member), "{refused}");
    }
}

/// The actions of an import, each without the members that all have.
fn told(home: &Home) -> Vec<Value> {
    let mut told = actions(home);
    for action in &mut told {
        let members = action.as_object_mut().unwrap();
        members.retain(|name, _| {
            !["kind", "id", "trace_id", "created_at", "timestamp", "seq"].contains(&name.as_str())
        });
    }
    told
}

/// The trace of the message that says something.
fn trace_of(home: &Home, said: &str) -> Value {
    lines_of(&home.export()).into_iter().find(|line| line["content"] == said).unwrap()["trace_id"].clone()
}

on_each_store!(an_import_of_claude_code_brings_the_actions_of_each_turn_once);
/// Keeps: The actions of a coding agent are stored with their turn.
fn an_import_of_claude_code_brings_the_actions_of_each_turn_once(home: Home) {
    let entry = |kind: &str, uuid: &str, second: u32, content: Value| {
        json!({"type": kind, "uuid": uuid, "sessionId": "s1", "timestamp": format!("2026-11-24T21:35:{second:02}.000Z"),
            "message": {"role": kind, "content": content}})
    };
    let call = |id: &str, name: &str, input: Value| json!([{"type": "tool_use", "id": id, "name": name, "input": input}]);
    let result = |id: &str, text: &str, failed: bool| json!([{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": failed}]);
    let session = [
        entry("user", "u1", 1, json!("Why does the webhook fail?")),
        entry("assistant", "a1", 2, call("toolu_1", "Bash", json!({"command": "cargo test webhook"}))),
        entry("user", "r1", 3, result("toolu_1", "Exit code 101\nCompiling\nerror: no zebra", true)),
        entry(
            "assistant",
            "a2",
            4,
            call(
                "toolu_2",
                "Edit",
                json!({"file_path": "/w/src/pay.rs",
            "old_string": "let secret = 1;", "new_string": "let secret = 2;"}),
            ),
        ),
        entry("user", "r2", 5, result("toolu_2", "the file has been updated: let secret = 2;", false)),
        entry("assistant", "a3", 6, json!([{"type": "text", "text": "Fixed."}])),
        entry("assistant", "a4", 7, call("toolu_3", "Bash", json!({"command": "sleep 9"}))),
        entry("user", "u2", 8, json!("Stop that.")),
        entry("assistant", "a5", 9, call("toolu_4", "Read", json!({"file_path": "b"}))),
    ];
    let session = session.map(|entry| format!("{entry}\n")).concat();
    let import = |words: &[&str]| {
        home.run("rsv-import", &[&["-q", "--from", "claude-code", "-p", "shop"], words].concat(), &session)
            .ok()
    };
    import(&[]);
    let all = json!({"partition": "shop", "instance": "s1", "program": "claude-code"});
    let wanted = [
        json!({"call": "toolu_1", "tool": "Bash", "command": "cargo test webhook", "failed": true, "error": "error: no zebra"}),
        json!({"call": "toolu_2", "tool": "Edit", "paths": ["/w/src/pay.rs"], "lines": 2}),
        json!({"call": "toolu_3", "tool": "Bash", "command": "sleep 9"}),
    ]
    .map(|mut one| {
        one.as_object_mut().unwrap().extend(all.as_object().unwrap().clone());
        one
    });
    assert_eq!(told(&home), wanted);
    let trace = trace_of(&home, "Why does the webhook fail?");
    assert!(actions(&home).iter().all(|action| action["trace_id"] == trace), "{:?}", actions(&home));
    let export = home.export();
    assert!(!export.contains("let secret") && !export.contains("Compiling"), "{export}");
    import(&[]);
    assert_eq!(home.export(), export);
    home.check();
}

#[test]
fn an_import_of_codex_brings_its_actions_and_settings_leave_them_out() {
    let home = Home::new();
    let session = crate::import_formats::fixture("codex.jsonl");
    let import = |home: &Home| home.run("rsv-import", &["-q", session.to_str().unwrap()], "").ok();
    import(&home);
    let stored = actions(&home);
    let members = ["call", "tool", "command", "program", "partition"].map(|name| stored[0][name].clone());
    assert_eq!(
        (stored.len(), members),
        (1, ["call_1", "exec_command", "ls", "codex", "owls"].map(Value::from))
    );
    assert_eq!(stored[0]["trace_id"], trace_of(&home, "Please run ls"));
    let off = home.emptied().env("RSV_INGEST_ACTIONS", "false");
    import(&off);
    assert!(actions(&off).is_empty() && off.export().contains("Please run ls"));
    let home = Home::new();
    home.run("rsv-config", &["set", "partitions.owls.actions", "false"], "").ok();
    import(&home);
    assert!(actions(&home).is_empty());
}

on_each_store!(a_turn_brings_the_actions_whose_results_came_with_its_request);
/// Keeps: The actions of a client of any API are stored with their turn.
fn a_turn_brings_the_actions_whose_results_came_with_its_request(home: Home) {
    let arguments = r#"{"command":"cargo test"}"#;
    let failed = "Exit code 101\nCompiling\nerror: no zebra";
    let chat = json!({"model": "m", "messages": [
        {"role": "user", "content": "Fix it"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "call_chat", "type": "function",
            "function": {"name": "bash", "arguments": arguments}}]},
        {"role": "tool", "tool_call_id": "call_chat", "content": failed}]});
    let messages = json!({"model": "m", "max_tokens": 9, "system": "s", "messages": [
        {"role": "user", "content": "Fix it"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "a"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "Error: is its content"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Next."},
            {"type": "tool_use", "id": "toolu_2", "name": "Edit", "input": {"file_path": "b", "old_string": "x", "new_string": "y"}},
            {"type": "tool_use", "id": "toolu_3", "name": "Bash", "input": {"command": "ls"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_2", "is_error": true, "content": "It does not exist."},
            {"type": "tool_result", "tool_use_id": "toolu_3", "content": "the output"}]}]});
    let responses = json!({"model": "m", "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Fix it"}]},
        {"type": "function_call", "call_id": "fc_1", "name": "exec_command", "arguments": "{\"cmd\":\"make\"}"},
        {"type": "function_call_output", "call_id": "fc_1", "output": "Process exited with code 0\nOutput:\nthe output"}]});
    let answers = [
        json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "Done."}, "finish_reason": "stop"}]}),
        json!({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Done."}], "stop_reason": "end_turn"}),
        json!({"object": "response", "output": [{"type": "message", "role": "assistant",
            "content": [{"type": "output_text", "text": "Done."}]}]}),
    ];
    for ((request, mut answer), instance) in
        [chat, messages, responses].into_iter().zip(answers).zip(["c", "m", "r"])
    {
        let enriched =
            home.run("rsv-enrich", &["-q", "-p", "shop", "-i", instance], format!("{request}\n")).ok();
        answer["rsv"] = lines_of(&enriched)[0]["rsv"].clone();
        for _ in 0..2 {
            home.run("rsv-ingest", &["-q"], format!("{answer}\n")).ok();
        }
        let trace = answer["rsv"]["trace_id"].clone();
        let own = actions(&home).into_iter().filter(|action| action["instance"] == instance);
        assert!(
            own.clone().count() > 0 && own.clone().all(|action| action["trace_id"] == trace),
            "{enriched}"
        );
    }
    let mut told = told(&home);
    told.sort_by_key(|action| action["call"].as_str().unwrap().to_owned());
    let wanted = [
        json!({"instance": "c", "call": "call_chat", "tool": "bash", "command": "cargo test", "failed": true, "error": "error: no zebra"}),
        json!({"instance": "r", "call": "fc_1", "tool": "exec_command", "command": "make"}),
        json!({"instance": "m", "call": "toolu_2", "tool": "Edit", "paths": ["b"], "failed": true, "error": "It does not exist."}),
        json!({"instance": "m", "call": "toolu_3", "tool": "Bash", "command": "ls"}),
    ]
    .map(|mut one| {
        one["partition"] = json!("shop");
        one
    });
    assert_eq!(told, wanted);
    assert!(!home.export().contains("the output"), "{}", home.export());
    home.check();
}

#[test]
fn imports_of_opencode_and_gemini_bring_actions() {
    let home = Home::new();
    let opencode = json!({
        "info": {"id": "ses_1", "title": "t", "directory": "/w/shop", "time": {"created": 1_700_000_000_000_i64}},
        "messages": [
            {"info": {"id": "msg_1", "role": "user", "time": {"created": 1_700_000_000_000_i64}},
                "parts": [{"id": "p1", "type": "text", "text": "Fix it"}]},
            {"info": {"id": "msg_2", "role": "assistant", "parentID": "msg_1", "time": {"created": 1_700_000_001_000_i64}}, "parts": [
                {"id": "p2", "type": "tool", "tool": "bash", "callID": "call_a", "state": {"status": "completed",
                    "input": {"command": "make"}, "output": "x\nmake: *** Error 2", "metadata": {"exit": 2}}},
                {"id": "p3", "type": "tool", "tool": "read", "callID": "call_b", "state": {"status": "error",
                    "input": {"filePath": "b"}, "error": "File not found: b"}},
                {"id": "p4", "type": "tool", "tool": "read", "callID": "call_c", "state": {"status": "running",
                    "input": {"filePath": "c"}}}]}]});
    home.run("rsv-import", &["-q", "-p", "shop", "--from", "opencode-export"], opencode.to_string()).ok();
    let gemini = json!({"sessionId": "s1", "projectHash": "h", "startTime": "2026-11-24T22:10:00.000Z",
        "lastUpdated": "2026-11-24T22:10:00.000Z", "messages": [
            {"id": "m1", "type": "user", "timestamp": "2026-11-24T22:10:01.000Z", "content": "Read it"},
            {"id": "m2", "type": "gemini", "timestamp": "2026-11-24T22:10:02.000Z", "content": "Done.", "toolCalls": [
                {"id": "read_file-1", "name": "read_file", "args": {"file_path": "a"}, "status": "success",
                    "resultDisplay": "secret content"},
                {"id": "glob-2", "name": "glob", "args": {"pattern": "*.rs"}, "status": "error",
                    "resultDisplay": "No such directory"}]}]});
    home.run("rsv-import", &["-q", "-p", "shop", "--from", "gemini"], gemini.to_string()).ok();
    let mut told = told(&home);
    told.sort_by_key(|action| action["call"].as_str().unwrap().to_owned());
    for action in &mut told {
        action.as_object_mut().unwrap().retain(|name, _| !["partition", "instance"].contains(&name.as_str()));
    }
    assert_eq!(
        told,
        [
            json!({"program": "opencode", "call": "call_a", "tool": "bash", "command": "make", "failed": true, "error": "make: *** Error 2"}),
            json!({"program": "opencode", "call": "call_b", "tool": "read", "paths": ["b"], "failed": true, "error": "File not found: b"}),
            json!({"program": "gemini", "call": "glob-2", "tool": "glob", "pattern": "*.rs", "failed": true, "error": "No such directory"}),
            json!({"program": "gemini", "call": "read_file-1", "tool": "read_file", "paths": ["a"]}),
        ]
    );
    assert!(!home.export().contains("secret content"));
    let traces: Vec<Value> = actions(&home).iter().map(|action| action["trace_id"].clone()).collect();
    assert!(
        traces.contains(&trace_of(&home, "Fix it")) && traces.contains(&trace_of(&home, "Read it")),
        "{traces:?}"
    );
}

#[test]
fn imports_of_qwen_code_copilot_and_goose_bring_actions() {
    let home = Home::new();
    let from = |words: &[&str], input: &str| {
        home.run("rsv-import", &[&["-q", "-p", "shop"], words].concat(), input).ok();
    };
    for (format, file) in [("qwen-code", "qwen-code.jsonl"), ("copilot-cli", "copilot-cli.jsonl")] {
        let session = crate::import_formats::fixture(file);
        from(&["--from", format, session.to_str().unwrap()], "");
    }
    let request = |id: &str, name: &str, arguments: Value| json!({"type": "toolRequest", "id": id, "toolCall": {"status": "success", "value": {"name": name, "arguments": arguments}}});
    let goose = [
        json!({"id": "g1", "description": "Owls", "working_dir": "/w/owls", "message_count": 4}),
        json!({"id": "1", "role": "user", "created": 1_756_000_000, "content": [{"type": "text", "text": "Count the owls."}]}),
        json!({"id": "2", "role": "assistant", "created": 1_756_000_001, "content": [
            request("call_g1", "developer__shell", json!({"command": "make owls"})),
            request("call_g2", "developer__text_editor", json!({"command": "view", "path": "/w/owls/a"}))]}),
        json!({"id": "3", "role": "user", "created": 1_756_000_002, "content": [
            {"type": "toolResponse", "id": "call_g1", "toolResult": {"status": "success", "value": {"content": [{"type": "text", "text": "three"}]}}},
            {"type": "toolResponse", "id": "call_g2", "toolResult": {"status": "error", "error": "no such file"}}]}),
    ];
    from(&["--from", "goose-session"], &goose.map(|line| format!("{line}\n")).concat());
    let told: Vec<(String, String, String)> = actions(&home)
        .iter()
        .map(|one| {
            let text = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
            let purpose = [text("command"), one["paths"][0].as_str().unwrap_or_default().to_owned()].concat();
            (text("program"), purpose, text("error"))
        })
        .collect();
    let has = |wanted: (&str, &str, &str)| {
        told.iter()
            .any(|(program, purpose, error)| (program.as_str(), purpose.as_str(), error.as_str()) == wanted)
    };
    for wanted in
        [("copilot-cli", "ls", ""), ("goose", "make owls", ""), ("goose", "/w/owls/a", "Error: no such file")]
    {
        assert!(has(wanted), "{told:?}");
    }
    assert!(told.iter().any(|(program, ..)| program == "qwen-code"), "{told:?}");
    assert!(!home.export().contains("three"), "{}", home.export());
}

on_each_store!(a_call_that_a_proxy_and_an_import_bring_is_one_action_in_the_turn_that_stays);
/// Keeps: A call is one action, whichever ways bring it, in whichever order, and it goes with the turn that stays.
fn a_call_that_a_proxy_and_an_import_bring_is_one_action_in_the_turn_that_stays(home: Home) {
    const QUESTION: &str = "Why does the webhook of the shop fail when a card is charged twice?";
    const ANSWER: &str =
        "The idempotency key was made anew for each attempt, so that the charge went through twice.";
    let call = |id: &str, command: &str| json!({"call": id, "tool": "Bash", "command": command});
    // The id of the last comes again in other conversations.
    let calls = [
        call("toolu_01A09q90qw90lq917835lq9", "cargo test"),
        call("toolu_01B55k21ab33cd44ef55gh6", "cargo build"),
        call("call_1", "ls src"),
    ];
    let turn = |instance: &str, trace: &str, source: Option<&str>, at: i64, calls: &[Value]| {
        let message = |role: &str, said: &str, at: i64| {
            let mut line = json!({"role": role, "content": said, "trace_id": trace, "partition": "shop",
                "instance": instance, "timestamp": at});
            if let Some(source) = source {
                line["source"] = json!(source);
            }
            line
        };
        let mut lines = vec![message("user", QUESTION, at)];
        for (call, at) in calls.iter().zip(at + 10..) {
            let mut line = json!({"kind": "action", "trace_id": trace, "partition": "shop", "instance": instance, "timestamp": at});
            line.as_object_mut().unwrap().extend(call.as_object().unwrap().clone());
            lines.push(line);
        }
        lines.push(message("assistant", ANSWER, at + 60_000));
        lines.iter().map(|line| format!("{line}\n")).collect::<String>()
    };
    // The last call of a session comes by its file alone, one of a client's own by the proxy alone.
    let proxy = turn("shop", "p1", None, 100_000, &[calls[0].clone(), calls[2].clone(), call("x1", "make")]);
    let import = turn("s1", "u1", Some("claude-code"), 99_000, &calls);
    let wanted = ["cargo build", "cargo test", "ls src", "make"];
    for order in [[&proxy, &import, &proxy], [&import, &proxy, &import]] {
        let home = home.emptied();
        for lines in order {
            home.run("rsv-import", &["-q"], lines).ok();
        }
        let stored = actions(&home);
        let mut commands: Vec<&str> = stored.iter().map(|one| one["command"].as_str().unwrap()).collect();
        commands.sort_unstable();
        assert_eq!(commands, wanted, "{}", home.export());
        let turns: Vec<_> = stored.iter().map(|one| (&one["instance"], &one["trace_id"])).collect();
        assert!(turns.iter().all(|turn| *turn == (&json!("s1"), &json!("u1"))), "{turns:?}");
        home.check();
        home.run("rsv-forget", &["-p", "shop", "--trace", "u1"], "").ok();
        for lines in order {
            home.run("rsv-import", &["-q"], lines).ok();
        }
        assert!(actions(&home).is_empty(), "{}", home.export());
    }
    // A short id of another turn is another call.
    let other = json!({"kind": "action", "trace_id": "u2", "partition": "shop", "instance": "s2", "timestamp": 100_500,
        "call": "call_1", "tool": "Bash", "command": "git log"});
    let home = home.emptied();
    home.run("rsv-import", &["-q"], format!("{import}{other}\n")).ok();
    assert_eq!(actions(&home).len(), 4);
}

on_each_store!(calls_that_are_no_copies_keep_their_actions);
/// Keeps: An action is removed only as the copy of a turn whose messages gave way.
fn calls_that_are_no_copies_keep_their_actions(home: Home) {
    let turn =
        |instance: &str, trace: &str, said: &str, at: i64, program: Option<&str>, actions: &[Value]| {
            let base = json!({"trace_id": trace, "partition": "shop", "instance": instance});
            let mut lines = String::new();
            let mut add = |members: Value, at: i64| {
                let mut line = base.clone();
                line["timestamp"] = json!(at);
                line.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
                lines += &format!("{line}\n");
            };
            let mut question = json!({"role": "user", "content": said});
            if let Some(program) = program {
                question["source"] = json!(program);
            }
            add(question, at);
            for (action, n) in actions.iter().zip(1..) {
                let mut action = action.clone();
                action["kind"] = json!("action");
                if let Some(program) = program {
                    action["program"] = json!(program);
                }
                add(action, at + n);
            }
            lines
        };
    let run = |call: &str, command: &str| json!({"call": call, "tool": "Bash", "command": command});
    let import = |lines: String| home.run("rsv-import", &["-q"], lines).ok();
    // Ids that a program counts, in two sessions of a program, and in two turns of one minute.
    import(turn("s1", "t1", "One", 1000, Some("kimi"), &[run("functions.Bash:0", "make one")]));
    import(turn("s2", "t2", "Two", 900_000_000, Some("kimi"), &[run("functions.Bash:0", "make two")]));
    import(turn("shop", "t3", "Test it", 1_000_000, None, &[run("call_1", "cargo test")]));
    import(turn("shop", "t4", "And again", 1_060_000, None, &[run("call_1", "cargo test")]));
    // A fork of a session has the calls of the session.
    let forked = [run("call_AbCdEfGhIjKlMnOpQrSt", "make fork")];
    import(turn("s3", "t5", "Three", 5000, Some("codex"), &forked));
    import(turn("s4", "t6", "Three, in other words", 9_000_000, Some("codex"), &forked));
    // So has a proxy whose messages are not those of the file.
    let proxied = [run("call_ZyXwVuTsRqPoNmLkJiHg", "make own")];
    import(turn("shop", "t7", "Seven", 20_000, None, &proxied));
    import(turn("s5", "t8", "Eight", 20_000, Some("codex"), &proxied));
    assert_eq!(actions(&home).len(), 8, "{:?}", actions(&home));
    home.run("rsv-forget", &["-p", "shop", "--trace", "t6"], "").ok();
    home.run("rsv-forget", &["-p", "shop", "--trace", "t8"], "").ok();
    let left: Vec<Value> = actions(&home).iter().map(|one| one["trace_id"].clone()).collect();
    assert!(left.len() == 6 && left.contains(&json!("t5")) && left.contains(&json!("t7")), "{left:?}");
    home.check();
}
