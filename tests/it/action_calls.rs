//! The calls of one answer as actions: their order, what came of each, and calls that programs wrote in another shape.

use crate::support::{Home, lines_of, on_each_store};
use serde_json::{Value, json};

fn actions(home: &Home) -> Vec<Value> {
    lines_of(&home.export()).into_iter().filter(|line| line["kind"] == "action").collect()
}

fn texts(actions: &[Value], member: &str) -> Vec<String> {
    actions.iter().map(|action| action[member].as_str().unwrap_or_default().to_owned()).collect()
}

/// An answer to a request, with what rsv-enrich says of it, is stored.
fn answered(home: &Home, instance: &str, request: &Value) {
    let enriched = home.run("rsv-enrich", &["-q", "-p", "shop", "-i", instance], format!("{request}\n")).ok();
    let mut answer = json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "Done."}, "finish_reason": "stop"}]});
    answer["rsv"] = lines_of(&enriched)[0]["rsv"].clone();
    if let Some(api) = answer["rsv"]["api"].as_str() {
        let text =
            json!([{"type": if api == "responses" { "output_text" } else { "text" }, "text": "Done."}]);
        let message = json!({"type": "message", "role": "assistant", "content": text});
        let rsv = answer["rsv"].clone();
        answer = match api {
            "responses" => json!({"object": "response", "output": [message]}),
            _ => json!({"type": "message", "role": "assistant", "content": text, "stop_reason": "end_turn"}),
        };
        answer["rsv"] = rsv;
    }
    home.run("rsv-ingest", &["-q"], format!("{answer}\n")).ok();
}

on_each_store!(calls_of_one_answer_keep_their_order);
/// Keeps: The calls of one answer are listed as they were made, after an export too.
fn calls_of_one_answer_keep_their_order(home: Home) {
    let names: Vec<String> = (0..50).map(|number| format!("src/part_{number:02}.rs")).collect();
    let id = |at: usize| format!("fc_{at}");
    let mut input = vec![json!({"role": "user", "content": "Read all"})];
    input.extend(names.iter().enumerate().map(|(at, name)| {
        json!({"type": "function_call", "call_id": id(at), "name": "read_file", "arguments": json!({"path": name}).to_string()})
    }));
    input.extend(
        (0..50).map(|at| json!({"type": "function_call_output", "call_id": id(at), "output": "content"})),
    );
    answered(&home, "r", &json!({"model": "m", "input": input}));
    let tool = |at: usize| format!("toolu_{at}");
    let blocks = |kind: &str| -> Vec<Value> {
        let block = |(at, name): (usize, &String)| match kind {
            "use" => {
                json!({"type": "tool_use", "id": tool(at), "name": "Read", "input": {"file_path": name}})
            }
            _ => json!({"type": "tool_result", "tool_use_id": tool(at), "content": "content"}),
        };
        names.iter().enumerate().map(block).collect()
    };
    let messages = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Read all"},
        {"role": "assistant", "content": blocks("use")}, {"role": "user", "content": blocks("result")}]});
    answered(&home, "m", &messages);
    // Results come in the order in which the calls end.
    let entry = |kind: &str, uuid: &str, second: u32, content: Value| {
        json!({"type": kind, "uuid": uuid, "sessionId": "c", "timestamp": format!("2026-11-24T21:35:{second:02}.000Z"),
            "message": {"role": kind, "content": content}})
    };
    let mut results = blocks("result");
    results.reverse();
    let session = [
        entry("user", "u1", 1, json!("Read all")),
        entry("assistant", "a1", 2, json!(blocks("use"))),
        entry("user", "r1", 3, json!(results)),
    ];
    let session = session.map(|entry| format!("{entry}\n")).concat();
    home.run("rsv-import", &["-q", "--from", "claude-code", "-p", "shop"], session).ok();
    let paths = |home: &Home, instance: &str| -> Vec<String> {
        let own = actions(home).into_iter().filter(|action| action["instance"] == instance);
        own.map(|action| action["paths"][0].as_str().unwrap().to_owned()).collect()
    };
    for instance in ["r", "m", "c"] {
        assert_eq!(paths(&home, instance), names, "{instance}");
    }
    let export = home.export();
    let other = home.emptied();
    other.run("rsv-import", &["-q"], &export).ok();
    assert_eq!(other.export(), export);
    // Neither time nor seq makes it another action.
    let again = export.lines().filter(|line| line.contains("\"action\"")).map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line["seq"] = json!(7);
        line.as_object_mut().unwrap().remove("id");
        format!("{line}\n")
    });
    other.run("rsv-import", &["-q"], again.collect::<String>()).ok();
    assert_eq!(other.export(), export);
    other.check();
}

/// A session of opencode with the parts of an answer.
fn opencode(parts: &Value) -> String {
    json!({
        "info": {"id": "ses_1", "title": "t", "directory": "/w/shop", "time": {"created": 1_700_000_000_000_i64}},
        "messages": [
            {"info": {"id": "msg_1", "role": "user", "time": {"created": 1_700_000_000_000_i64}},
                "parts": [{"id": "p1", "type": "text", "text": "Fix it"}]},
            {"info": {"id": "msg_2", "role": "assistant", "parentID": "msg_1", "time": {"created": 1_700_000_001_000_i64}},
                "parts": parts}]})
    .to_string()
}

/// A session of Gemini CLI with the calls of an answer.
fn gemini(calls: &Value) -> String {
    json!({"sessionId": "s1", "projectHash": "h", "startTime": "2026-11-24T22:10:00.000Z",
        "lastUpdated": "2026-11-24T22:10:00.000Z", "messages": [
            {"id": "m1", "type": "user", "timestamp": "2026-11-24T22:10:01.000Z", "content": "Read it"},
            {"id": "m2", "type": "gemini", "timestamp": "2026-11-24T22:10:02.000Z", "content": "Done.", "toolCalls": calls}]})
    .to_string()
}

#[test]
fn calls_of_opencode_and_gemini_have_the_time_at_which_they_began() {
    let times = [500, 3_000, 3_000, 9_000];
    let commands: Vec<String> = (0..4).map(|at| format!("make {at}")).collect();
    let calls = || commands.iter().zip(times).enumerate();
    let parts: Value = calls()
        .map(|(at, (command, time))| {
            json!({"id": format!("p{at}"), "type": "tool", "tool": "bash", "callID": format!("call_{}", 9 - at),
                "state": {"status": "completed", "input": {"command": command}, "output": "",
                    "time": {"start": 1_700_000_001_000_i64 + time, "end": 1_700_000_099_000_i64}}})
        })
        .collect();
    let of_gemini: Value = calls()
        .map(|(at, (command, time))| {
            json!({"id": format!("sh-{}", 9 - at), "name": "run_shell_command", "args": {"command": command},
                "status": "success", "timestamp": format!("2026-11-24T22:10:{:02}.000Z", 3 + time / 1000)})
        })
        .collect();
    for (format, session) in [("opencode-export", opencode(&parts)), ("gemini", gemini(&of_gemini))] {
        let home = Home::new();
        home.run("rsv-import", &["-q", "-p", "shop", "--from", format], session).ok();
        let stored = actions(&home);
        assert_eq!(texts(&stored, "command"), commands, "{format}");
        let time = |at: usize| stored[at]["timestamp"].as_i64().unwrap();
        assert_eq!((time(3) - time(1), time(2) - time(1)), (6_000, 0), "{format}");
        assert_eq!((&stored[1]["seq"], &stored[2]["seq"]), (&Value::Null, &json!(1)));
    }
}

#[test]
fn a_change_counts_only_if_it_happened_and_a_status_in_a_result_is_read() {
    let home = Home::new();
    let edit = json!({"file_path": "a", "old_string": "x", "new_string": "y"});
    let response = |output: &str| json!([{"functionResponse": {"id": "i", "name": "n", "response": {"output": output}}}]);
    let calls = json!([
        {"id": "replace-1", "name": "replace", "args": edit, "status": "cancelled"},
        {"id": "replace-2", "name": "replace", "args": edit, "status": "success", "result": response("Done.")},
        {"id": "sh-3", "name": "run_shell_command", "args": {"command": "make"}, "status": "success",
            "result": response("Output: cc zebra.c\nzebra.c:1:1: error: private\nExit Code: 2\nProcess Group PGID: 7")},
        {"id": "read-4", "name": "read_file", "args": {"file_path": "b"}, "status": "success",
            "result": response("Exit Code: 2")},
    ]);
    home.run("rsv-import", &["-q", "-p", "shop", "--from", "gemini"], gemini(&calls)).ok();
    let entry = |kind: &str, uuid: &str, content: Value| {
        let line = json!({"type": kind, "uuid": uuid, "sessionId": "c", "timestamp": "2026-11-25T21:35:02.000Z",
            "message": {"role": kind, "content": content}});
        format!("{line}\n")
    };
    let interrupted = [
        entry("user", "u1", json!("Edit it")),
        entry(
            "assistant",
            "a1",
            json!([{"type": "tool_use", "id": "toolu_5", "name": "Edit", "input": edit}]),
        ),
        entry("user", "u2", json!("No.")),
    ];
    home.run("rsv-import", &["-q", "--from", "claude-code", "-p", "shop"], interrupted.concat()).ok();
    let told: Vec<String> = actions(&home)
        .iter()
        .map(|one| format!("{} {} {}", one["call"], one["lines"], one["error"]).replace('"', ""))
        .collect();
    let wanted = [
        "replace-1 null null",
        "replace-2 2 null",
        "sh-3 null zebra.c:1:1: error: private",
        "read-4 null null",
        "toolu_5 null null",
    ];
    assert_eq!(told, wanted);
}

#[test]
fn a_file_that_looks_like_an_error_is_no_failure() {
    let home = Home::new();
    let function = |id: &str, name: &str, arguments: Value| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments.to_string()}});
    let tool = |id: &str, content: &str| json!({"role": "tool", "tool_call_id": id, "content": content});
    let path = json!({"path": "notes"});
    let request = json!({"model": "m", "messages": [
        {"role": "user", "content": "Read it"},
        {"role": "assistant", "content": null, "tool_calls": [function("call_1", "read_file", path.clone()),
            function("call_2", "read_file", path.clone()), function("call_3", "grep", json!({"pattern": "x"})),
            function("call_4", "bash", json!({"command": "make"})), function("call_5", "read_file", path)]},
        tool("call_1", "Error: this is the first line of my private file"),
        tool("call_2", "Exit code: 3\nprivate line"),
        tool("call_3", "Error\nprivate line"),
        tool("call_4", "Exit code: 3\nerror: no zebra"),
        tool("call_5", "<tool_use_error>No such file.</tool_use_error>")]});
    answered(&home, "c", &request);
    let stored = actions(&home);
    assert_eq!(texts(&stored, "error"), ["", "", "", "error: no zebra", "No such file."]);
    assert_eq!(stored.iter().filter(|action| action["failed"] == true).count(), 2);
    assert!(!home.export().contains("private"), "{}", home.export());
}

#[test]
fn results_that_come_with_the_next_prompt_are_those_of_the_calls_before_it() {
    let home = Home::new();
    // Messages that do not say whether they failed.
    let messages = json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": "Build it"},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "make"}},
            {"type": "tool_use", "id": "toolu_2", "name": "Read", "input": {"file_path": "a"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Exit code 1\nerror: no zebra"},
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": "Exit code 1\nprivate line"},
            {"type": "text", "text": "Try it again."}]}]});
    let chat = json!({"model": "m", "messages": [
        {"role": "user", "content": "Build it"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function",
            "function": {"name": "bash", "arguments": "{\"command\":\"ls\"}"}}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "the output"},
        {"role": "user", "content": "Try it again."}]});
    let responses = json!({"model": "m", "input": [
        {"role": "user", "content": "Build it"},
        {"type": "function_call", "call_id": "fc_1", "name": "exec_command", "arguments": "{\"cmd\":\"pwd\"}"},
        {"type": "function_call_output", "call_id": "fc_1", "output": "aborted"},
        {"role": "user", "content": [{"type": "input_text", "text": "<turn_aborted>\nThe user interrupted.\n</turn_aborted>"}]},
        {"role": "user", "content": "Try it again."}]});
    for (instance, request) in [("m", messages), ("c", chat), ("r", responses)] {
        answered(&home, instance, &request);
    }
    let mut told: Vec<String> = actions(&home)
        .iter()
        .map(|one| format!("{} {} {}", one["instance"], one["command"], one["error"]).replace('"', ""))
        .collect();
    told.sort();
    assert_eq!(told, ["c ls null", "m make error: no zebra", "m null null", "r pwd null"]);
    assert!(!home.export().contains("private line"), "{}", home.export());
}

#[test]
fn a_call_in_another_shape_is_left_out_and_its_answer_stays() {
    let of_copilot = crate::import_formats::fixture("copilot-cli.jsonl");
    let of_copilot = std::fs::read_to_string(of_copilot).unwrap();
    let id = of_copilot.split("\"toolCallId\":").nth(1).unwrap().split(',').next().unwrap();
    let of_codex = std::fs::read_to_string(crate::import_formats::fixture("codex.jsonl")).unwrap();
    let of_claude = json!({"type": "assistant", "uuid": "a", "sessionId": "c", "timestamp": "2026-11-25T21:35:02.000Z",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "I look."},
            {"type": "tool_use", "id": 7, "name": "Read", "input": {}},
            {"type": "tool_use", "id": "toolu_1", "name": ["Read"], "input": {}}]}});
    let of_opencode = opencode(&json!([{"id": "p1", "type": "text", "text": "I look."},
        {"id": "p2", "type": "tool", "tool": "bash", "callID": 7, "state": {"status": "completed", "input": {"command": "ls"}}},
        {"id": "p3", "type": "tool", "tool": "bash", "callID": "call_1", "state": "completed"}]));
    let of_gemini = gemini(&json!([{"id": 7, "name": "read_file", "args": {}, "status": "success"},
        {"id": "x-1", "name": 7, "args": {}, "status": "success"}]));
    for (format, session, said) in [
        ("claude-code", format!("{of_claude}\n"), "I look."),
        ("opencode-export", of_opencode, "I look."),
        ("gemini", of_gemini, "Done."),
        ("copilot-cli", of_copilot.replace(id, "7"), "I look."),
        ("codex", of_codex.replace("\"call_1\"", "7"), "Please run ls"),
    ] {
        let home = Home::new();
        let told = home.run("rsv-import", &["-p", "shop", "--from", format], session);
        assert_eq!(told.status, 0, "{format}: {}", told.stderr);
        let export = home.export();
        assert!(export.contains(said) && !export.contains("\"action\""), "{format}: {export}");
    }
}

#[test]
fn the_names_of_a_call_are_bounded_and_a_command_is_never_empty() {
    let home = Home::new();
    let line = |call: &str, members: Value| {
        let mut line =
            json!({"kind": "action", "trace_id": "t", "partition": "shop", "timestamp": 1000, "call": call});
        line.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        format!("{line}\n")
    };
    let long = "n".repeat(300);
    let refused = home.run("rsv-ingest", &[], line(&"c".repeat(201), json!({"tool": "Bash"}))).trouble();
    assert!(refused.contains("call: expected at most 200 bytes, found 201"), "{refused}");
    let here = json!({"tool": "Bash", "command": "<<'EOF' cat\nprivate\nEOF"});
    let lines = [line(&"c".repeat(200), json!({"tool": long, "program": long})), line("c2", here)];
    home.run("rsv-import", &["-q"], lines.concat()).ok();
    let stored = actions(&home);
    let long: &Value = stored.iter().find(|action| action["program"].is_string()).unwrap();
    assert_eq!((long["tool"].as_str().unwrap().len(), long["program"].as_str().unwrap().len()), (80, 80));
    assert!(stored.iter().all(|action| action.get("command").is_none()), "{stored:?}");
    // Of a request whose call has such an id, the answer is stored without it.
    let long = "c".repeat(2_000);
    let request = json!({"model": "m", "messages": [
        {"role": "user", "content": "Run it"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": long, "type": "function",
            "function": {"name": "bash", "arguments": "{\"command\":\"ls\"}"}}]},
        {"role": "tool", "tool_call_id": long, "content": ""}]});
    answered(&home, "c", &request);
    let export = home.export();
    assert!(export.contains("Done.") && !export.contains(&long), "{export}");
}
