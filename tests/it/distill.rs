//! rsv-distill: memories of sessions.

use crate::support::{Home, lines_of, on_each_store, text};
use crate::terminal::Terminal;
use serde_json::{Value, json};

const NOW: &str = "2026-11-23T10:00:00Z";

/// The memories that a run makes of lines.
fn distilled(home: &Home, words: &[&str], lines: &[Value]) -> Vec<Value> {
    lines_of(&home.run("rsv-distill", words, joined(lines)).ok())
}

fn joined(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn summary(outcome: &str) -> Value {
    json!({"kind": "summary", "session_id": "s1", "project_id": "p", "outcome": outcome, "task": "make the build faster",
        "approach": "Cached the dependencies.", "result": "It takes 2 minutes.", "tags": ["ci", "cache"],
        "duration_ms": 754_000, "completed_at": "2026-11-20T08:00:00Z"})
}

#[test]
fn a_summary_becomes_a_strategy_a_warning_or_both() {
    let home = Home::new().at(NOW);
    let strategy = json!({"kind": "memory", "partition": "p", "title": "Success: Make the build faster",
        "description": "Learned from session s1 (13 min)",
        "content": "## Task\n\nmake the build faster\n\n## Successful Approach\n\nCached the dependencies.\n\n## Result\n\n\
            It takes 2 minutes.\n\n## Tags\n\nci, cache\n\n## When to Use\n\n\
            Use this approach where the task is about ci, cache.",
        "category": "strategy", "outcome": "success", "tags": ["ci", "cache"], "origin": "distilled", "prior": 0.6,
        "session_id": "s1", "completed_at": "2026-11-20T08:00:00.000Z", "timestamp": 1_795_161_600_000_i64});
    let mut warning = strategy.clone();
    warning["title"] = json!("Anti-pattern: Make the build faster");
    warning["description"] = json!("Anti-pattern learned from session s1 (13 min)");
    warning["content"] = json!(
        "## Task\n\nmake the build faster\n\n## Failed Approach (Avoid This)\n\nCached the dependencies.\n\n\
         ## What Went Wrong\n\nIt takes 2 minutes.\n\n## Tags\n\nci, cache\n\n## Warning\n\n\
         Avoid this approach where the task is about ci, cache. Try an alternative."
    );
    warning["outcome"] = json!("failure");
    warning["prior"] = json!(0.5);
    for (outcome, wanted) in [
        ("success", vec![strategy.clone()]),
        ("failure", vec![warning.clone()]),
        ("partial", vec![strategy, warning]),
    ] {
        assert_eq!(distilled(&home, &[], &[summary(outcome)]), wanted, "{outcome}");
    }
}

#[test]
fn what_a_summary_leaves_out_is_left_out() {
    let home = Home::new().at(NOW);
    let bare = json!({"outcome": "failure", "task": "étudier l'œuvre", "result": " ", "tags": []});
    let memory = &distilled(&home, &[], std::slice::from_ref(&bare))[0];
    assert_eq!(
        memory,
        &json!({"kind": "memory", "title": "Anti-pattern: Étudier l'œuvre",
            "description": "Anti-pattern learned from a session", "content": "## Task\n\nétudier l'œuvre",
            "category": "strategy", "outcome": "failure", "origin": "distilled", "prior": 0.5,
            "timestamp": 1_795_428_000_000_i64})
    );
    // The flags name a scope for those that name none.
    let scoped = distilled(&home, &["-p", "q", "-i", "r"], &[bare, summary("failure")]);
    let scopes: Vec<_> = scoped.iter().map(|memory| (&memory["partition"], &memory["instance"])).collect();
    assert_eq!(scopes, [(&json!("q"), &json!("r")), (&json!("p"), &Value::Null)]);
    for (chars, wanted) in [(50, "é".repeat(50)), (51, "é".repeat(50) + "...")] {
        let long = json!({"outcome": "success", "task": "é".repeat(chars)});
        let wanted = wanted.replacen('é', "É", 1);
        assert_eq!(distilled(&home, &[], &[long])[0]["title"], json!(format!("Success: {wanted}")));
    }
}

#[test]
fn a_distilled_memory_is_found_and_distilling_again_adds_nothing() {
    let home = Home::new();
    let lines = home.run("rsv-distill", &[], joined(&[summary("partial")])).ok();
    home.ingest(&[], &lines);
    let export = home.export();
    home.ingest(&[], &home.run("rsv-distill", &[], joined(&[summary("partial")])).ok());
    assert_eq!(home.export(), export);
    let found = home.run("rsv-search", &["-p", "p", "--kind", "memory", "faster build"], "").ok();
    let mut confidences: Vec<f64> =
        lines_of(&found).iter().map(|hit| hit["confidence"].as_f64().unwrap()).collect();
    confidences.sort_by(f64::total_cmp);
    assert_eq!(confidences, [0.5, 0.6]);
}

#[test]
fn messages_are_one_session_if_the_flags_say_how_it_ended() {
    let home = Home::new();
    let turn = |role: &str, content: &str, minute: u32| {
        json!({"role": role, "content": content, "partition": "p", "instance": "i", "trace_id": format!("t{minute}"),
            "timestamp": format!("2026-11-20T08:{minute:02}:00Z")})
    };
    home.ingest(
        &[],
        &joined(&[
            turn("user", "Why is\nthe build slow?", 0),
            turn("assistant", "It compiles everything.", 1),
            turn("tool", "a listing", 2),
            turn("user", "Cache it.", 3),
            turn("assistant", "Done: it takes 2 minutes.\n\nAnything else?", 4),
        ]),
    );
    let messages = home.run("rsv-view", &["200", "-p", "p"], "").ok();
    let words = ["--outcome", "success", "--task", " Speed up the build", "--tags", "ci, ci,cache"];
    let memory = &lines_of(&home.run("rsv-distill", &words, &messages).ok())[0];
    assert_eq!(
        text(&memory["content"]),
        "## Task\n\nSpeed up the build\n\n## Successful Approach\n\n- user: Why is the build slow?\n\
         - assistant: It compiles everything.\n- user: Cache it.\n\n## Result\n\nDone: it takes 2 minutes.\n\n\
         Anything else?\n\n## Tags\n\nci, cache\n\n## When to Use\n\n\
         Use this approach where the task is about ci, cache."
    );
    for (member, wanted) in [
        ("partition", "p"),
        ("instance", "i"),
        ("session_id", "i"),
        ("description", "Learned from session i (4 min)"),
        ("completed_at", "2026-11-20T08:04:00.000Z"),
    ] {
        assert_eq!(memory[member], json!(wanted));
    }
    let named = home.run("rsv-distill", &[&words[..], &["--session", "s"]].concat(), &messages).ok();
    assert_eq!(lines_of(&named)[0]["session_id"], json!("s"));
    // A long session is told by its last turns, each cut.
    let long: Vec<Value> = (0..60).map(|at| turn("user", &format!("{at} {}", "é".repeat(999)), at)).collect();
    let content = text(&distilled(&home, &words, &long)[0]["content"]);
    assert!(content.contains("- (19 earlier turns)\n- user: 19 é") && content.contains("é...\n- user: 59 "));
    assert!(content.chars().count() < 41 * 320, "{}", content.len());
    // Messages of two partitions are two sessions; no message is no session.
    let mut other = turn("user", "Hm", 9);
    other["partition"] = json!("q");
    let both = distilled(&home, &words, &[turn("user", "Hm", 8), other]);
    assert_eq!(both.iter().map(|memory| text(&memory["partition"])).collect::<Vec<_>>(), ["p", "q"]);
    assert_eq!(home.run("rsv-distill", &words, "").ok(), "");
    let said = home.run("rsv-distill", &[], &messages).trouble();
    assert!(
        said.contains("<stdin>:1: this is a message") && said.contains("hint: give --outcome and --task")
    );
}

on_each_store!(memories_of_messages_are_linked_to_them_and_go_with_them);
fn memories_of_messages_are_linked_to_them_and_go_with_them(home: Home) {
    let turns =
        [("user", "Why is the build slow?"), ("assistant", "It compiles everything."), ("tool", "a listing")];
    for (minute, (role, content)) in turns.iter().enumerate() {
        let time = format!("2026-11-20T08:0{minute}:00Z");
        home.at(&time).run("rsv-ingest", &["-q", "-p", "p", "--role", role, content], "").ok();
    }
    let messages = home.run("rsv-view", &["200", "-p", "p"], "").ok();
    let words = ["--outcome", "partial", "--task", "Speed up the build"];
    let lines = home.run("rsv-distill", &words, &messages).ok();
    let kinds: Vec<String> = lines_of(&lines).iter().map(|line| text(&line["kind"])).collect();
    assert_eq!(kinds, ["memory", "link", "link", "memory", "link", "link"]);
    assert_eq!(home.run("rsv-ingest", &[], &lines).ok().lines().count(), 6);
    let ids: Vec<String> = lines_of(&messages).iter().map(|message| text(&message["id"])).collect();
    let made: Vec<Value> = lines_of(&lines).into_iter().filter(|line| line["kind"] == "memory").collect();
    let links: Vec<Value> =
        lines_of(&home.export()).into_iter().filter(|line| line["rel"] == "EXTRACTED_FROM").collect();
    for memory in &made {
        let mut sources: Vec<String> =
            links.iter().filter(|link| link["from"] == memory["id"]).map(|link| text(&link["to"])).collect();
        sources.sort();
        // Of the tool's message it has no word.
        assert_eq!(sources, ids[..2]);
    }
    // Distilled again, and without the links, it is the same memory.
    let export = home.export();
    let bare: String = made
        .iter()
        .map(|memory| {
            let mut memory = memory.clone();
            memory.as_object_mut().unwrap().remove("id");
            format!("{memory}\n")
        })
        .collect();
    home.ingest(&["-q"], &lines);
    home.ingest(&["-q"], &bare);
    assert_eq!(home.export(), export);
    let told = home.run("rsv-forget", &["-p", "p", "--dry-run", &ids[1]], "");
    assert!(
        told.status == 0 && told.stderr.contains("2 records made from it stay, --derived removes them"),
        "{told}"
    );
    home.run("rsv-forget", &["-p", "p", "--derived", &ids[1]], "").ok();
    let left = home.contents("rsv-view", &["-p", "p", "--kind", "message,memory"]);
    assert_eq!(left, ["Why is the build slow?", "a listing"]);
}

#[test]
fn a_bad_summary_is_named_and_the_others_are_distilled() {
    let home = Home::new();
    let mut lines = vec![summary("success")];
    for (member, value, _) in BAD {
        let mut bad = summary("success");
        bad[*member] = serde_json::from_str(value).unwrap();
        lines.push(bad);
    }
    // Other lines go by.
    lines.push(json!({"kind": "link", "rel": "SYNAPSE", "from": "a", "to": "b", "timestamp": 1}));
    lines.push(summary("failure"));
    let ran = home.run("rsv-distill", &[], joined(&lines));
    let out = lines_of(&ran.stdout);
    assert_eq!(out.iter().map(|line| text(&line["kind"])).collect::<Vec<_>>(), ["memory", "link", "memory"]);
    assert_eq!(out[1], lines[lines.len() - 2]);
    let said = ran.trouble();
    for (at, (_, _, wanted)) in BAD.iter().enumerate() {
        assert!(said.contains(&format!("<stdin>:{}: {wanted}\n", at + 2)), "{wanted}: {said}");
    }
}

/// Stores two sessions of a partition, and a later one of another.
fn store_sessions(home: &Home) {
    let message = |partition: &str, session: &str, at: u64, role: &str, said: &str| {
        json!({"id": format!("{session}-{role}"), "role": role, "content": said, "partition": partition,
            "instance": session, "timestamp": at})
    };
    let messages = [
        message("shop", "s1", 1000, "user", "How do I deploy the shop?"),
        message("shop", "s1", 2000, "assistant", "Run make deploy."),
        message("shop", "s2", 3000, "user", "Why is the checkout slow?"),
        message("shop", "s2", 4000, "assistant", "An index was missing."),
        message("bank", "s3", 5000, "user", "What is my PIN?"),
    ];
    home.ingest(&[], &joined(&messages));
}

on_each_store!(a_session_of_the_store_becomes_memories_in_one_command);
fn a_session_of_the_store_becomes_memories_in_one_command(home: Home) {
    let home = home.at(NOW);
    store_sessions(&home);
    let latest = ["-p", "shop", "--session", "latest", "--outcome", "success"];
    let lines = distilled(&home, &latest, &[]);
    let stored = lines_of(&home.run("rsv-view", &["-p", "shop", "--kind", "memory"], "").ok());
    assert_eq!((lines.len(), stored.len()), (3, 1), "{lines:?}");
    assert_eq!(lines[0]["id"], stored[0]["id"]);
    assert_eq!(stored[0]["title"], "Success: Why is the checkout slow?");
    assert!(text(&stored[0]["content"]).contains("An index was missing."), "{stored:?}");
    for (link, message) in lines[1..].iter().zip(["s2-user", "s2-assistant"]) {
        assert_eq!((&link["from"], &link["to"]), (&stored[0]["id"], &json!(message)));
    }
    // The lines can be stored once more, and the session distilled again.
    home.ingest(&[], &joined(&lines));
    assert_eq!(distilled(&home, &latest, &[])[0]["id"], stored[0]["id"]);
    // A session of this name with a task of its own; no session of another partition.
    let other = ["-p", "shop", "--session", "s1", "--outcome", "failure"];
    assert_eq!(distilled(&home, &other, &[])[0]["title"], "Anti-pattern: How do I deploy the shop?");
    assert_eq!(lines_of(&home.run("rsv-view", &["-p", "shop", "--kind", "memory"], "").ok()).len(), 2);
    assert_eq!(home.run("rsv-view", &["-p", "bank", "--kind", "memory"], "").ok(), "");
    let missing =
        home.run("rsv-distill", &["-p", "shop", "--session", "s3", "--outcome", "success"], "").trouble();
    assert!(
        missing.contains("there is no session of this name") && missing.contains("rsv-view --sessions"),
        "{missing}"
    );
    let without = home.run("rsv-distill", &["--outcome", "success"], "").trouble();
    assert!(without.contains("--task TEXT, or --session latest"), "{without}");
    home.check();
}

#[test]
fn a_person_sees_three_lines_of_a_memory() {
    let home = Home::new().at(NOW);
    store_sessions(&home);
    let command = "-p shop --session latest --outcome success --task 'Speed up the checkout'";
    let Some(terminal) = Terminal::start(&home, "rsv-distill", command) else { return };
    let (seen, status) = terminal.end();
    let lines: Vec<&str> = seen.lines().collect();
    assert_eq!((status, lines.len()), (0, 3), "{seen}");
    assert!(
        lines[0].contains(" 1970-01-01 00:00") && lines[0].contains("Success: Speed up the checkout"),
        "{seen}"
    );
    assert!(lines[1].trim_start().starts_with("0.60 ") && lines[1].contains("success"), "{seen}");
    assert!(lines[2].contains("“- user: Why is the checkout slow?”"), "{seen}");
    let Some(terminal) = Terminal::start(&home, "rsv-view", "--no-pager -p shop --kind memory") else {
        return;
    };
    assert_eq!(terminal.end(), (seen, 0));
}

/// A member, its value, and the error.
const BAD: &[(&str, &str, &str)] = &[
    ("outcome", "\"great\"", "outcome: unknown session outcome: \"great\""),
    ("outcome", "null", "outcome: unknown session outcome: \"\""),
    ("task", "\" \"", "task: is missing"),
    ("project_id", "\"\"", "project_id: project ID cannot be empty"),
    ("session_id", "\"\"", "session_id: session ID cannot be empty"),
    ("tags", "\"a\"", "tags: expected an array of strings, found \"a\""),
    ("duration_ms", "-1", "duration_ms: expected a number of milliseconds from 0, found -1"),
    ("approach", "7", "approach: expected a string, found 7"),
];
