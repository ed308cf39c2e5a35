//! rsv-ingest.

use crate::support::{Home, Ran, lines_of, on_each_store, text};
use crate::terminal::Terminal;
use serde_json::{Value, json};

fn ingest(home: &Home, words: &[&str], stdin: &str) -> Ran {
    home.run("rsv-ingest", words, stdin)
}

/// One message as a line.
fn line(role: &str, content: &str) -> String {
    json!({"role": role, "content": content}).to_string() + "\n"
}

/// The links of the store, each as the texts of its ends.
fn links(home: &Home) -> Vec<(String, String)> {
    let records = lines_of(&home.export());
    let said = |id: &Value| {
        let message = records.iter().find(|r| r["id"] == *id).unwrap_or_else(|| panic!("{id} is not there"));
        text(&message["content"])
    };
    let links = records.iter().filter(|r| r["kind"] == "link" && r["rel"] == "RESPONDED_WITH");
    let mut links: Vec<_> = links.map(|link| (said(&link["from"]), said(&link["to"]))).collect();
    links.sort();
    links
}

fn pair(question: &str, answer: &str) -> (String, String) {
    (question.to_owned(), answer.to_owned())
}

#[test]
fn a_text_becomes_a_message() {
    let home = Home::new().at("2026-11-21T07:03:00Z");
    let ran = ingest(&home, &["What is an owl?", "--trace", "t1"], "");
    let stored = r#"{"kind":"message","id":"01a1fcea-5ca0-7841-9a00-eb305cb74ebb","trace_id":"t1","partition":"default","instance":"default","role":"user","content":"What is an owl?","timestamp":1795244580000,"created_at":"2026-11-21T07:03:00.000Z"}"#;
    assert_eq!(ran.to_string(), format!("{stored}\n[0]"));
    let same = ingest(&home, &["--trace", "t1"], "What is an owl?\n");
    assert_eq!(same.ok(), ran.stdout);
    let by_role = ingest(&home, &["--trace", "t1", "--role", "user"], "What is an owl?");
    assert_eq!(by_role.ok(), ran.stdout);
    assert_eq!(home.export(), ran.stdout);
}

#[test]
fn a_text_keeps_its_lines_and_its_beginning() {
    let home = Home::new();
    let stored = home.ingest(&[], "  first\n\n second \n\n");
    assert_eq!(stored[0]["content"], "  first\n\n second");
}

#[test]
fn a_byte_order_mark_is_not_text() {
    let home = Home::new();
    let lines = format!("\u{feff}{}", line("user", "a line"));
    assert_eq!(home.ingest(&[], &lines)[0]["content"], "a line");
    assert_eq!(home.ingest(&[], "\u{feff}text")[0]["content"], "text");
    // Other text that begins with the same byte.
    assert_eq!(home.ingest(&[], "ＡＢＣ")[0]["content"], "ＡＢＣ");
    assert!(ingest(&home, &[], "\u{feff} \n").trouble().contains("there is no text"));
    assert!(home.run("rsv-ingest", &[], b"\xEF").trouble().contains("<stdin>:1: invalid UTF-8"));
}

#[test]
fn with_a_role_json_is_stored_as_text() {
    let home = Home::new();
    let answer = r#"{"role":"user","content":"not a message"}"#;
    let stored = home.ingest(&["--role", "assistant"], answer);
    assert_eq!((&stored[0]["role"], &stored[0]["content"]), (&json!("assistant"), &json!(answer)));
    assert_eq!(home.ingest(&[], answer)[0]["content"], "not a message");
    // An argument is text too, whatever it begins with.
    let argument = ingest(&home, &[answer], "").ok();
    assert_eq!(lines_of(&argument)[0]["content"], answer);
}

#[test]
fn empty_text_and_invalid_roles_are_refused_and_an_empty_stream_is_not() {
    let home = Home::new();
    for (words, stdin) in
        [(&[][..], " \n\t\n"), (&["--role", "user"], "  \n"), (&["--role", "tool"], ""), (&[" "], "")]
    {
        let refused = "rsv-ingest: error: there is no text\n\
                       rsv-ingest: hint: give it as an argument or on standard input\n[2]";
        assert_eq!(ingest(&home, words, stdin).to_string(), refused, "{words:?}");
    }
    let refused = "rsv-ingest: error: invalid value 'usr' for '--role <ROLE>': \
                   expected user, assistant, system or tool\nrsv-ingest: hint: see 'rsv-ingest --help'\n[2]";
    assert_eq!(ingest(&home, &["--role", "usr"], "hello").to_string(), refused);
    // An empty stream has nothing to store.
    for (words, wanted) in [(&[][..], ""), (&["--trace", "t"], ""), (&["--format", "json"], "[]\n")] {
        assert_eq!(ingest(&home, words, "").ok(), wanted);
    }
    assert!(!home.store().exists(), "nothing was to be stored");
}

#[test]
fn the_scope_comes_from_the_line_else_from_the_flags() {
    let home = Home::new();
    let scope = |words: &[&str], members: Value| {
        let mut line = json!({"role": "user", "content": "hi"});
        line.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let stored = home.ingest(words, &line.to_string());
        format!("{}/{}", text(&stored[0]["partition"]), text(&stored[0]["instance"]))
    };
    assert_eq!(scope(&[], json!({})), "default/default");
    assert_eq!(scope(&["-p", "work"], json!({})), "work/work");
    assert_eq!(scope(&["-i", "laptop"], json!({})), "default/laptop");
    assert_eq!(scope(&["-p", "work", "-i", "laptop"], json!({})), "work/laptop");
    assert_eq!(scope(&["-p", "work", "-i", "laptop"], json!({"partition": "home"})), "home/home");
    assert_eq!(scope(&["-p", "work", "-i", "laptop"], json!({"instance": "phone"})), "work/phone");
    assert_eq!(scope(&["-p", "work"], json!({"partition": "a", "instance": "b"})), "a/b");
    let empty = ingest(&home, &["-p", "", "hi"], "").trouble();
    assert_eq!(
        empty,
        "rsv-ingest: error: partition: is empty\nrsv-ingest: hint: give it a name, or leave it out\n"
    );
}

#[test]
fn the_trace_comes_from_the_line_else_from_the_flag_else_it_is_new() {
    let home = Home::new();
    let own = json!({"role": "user", "content": "a", "trace_id": "own"}).to_string();
    let lines = format!("{own}\n{}{}", line("user", "b"), line("user", "c"));
    let traces = |words: &[&str]| -> Vec<String> {
        home.ingest(words, &lines).iter().map(|m| text(&m["trace_id"])).collect()
    };
    assert_eq!(traces(&["--trace", "flag"]), ["own", "flag", "flag"]);
    let fresh = traces(&[]);
    assert_eq!(fresh[0], "own");
    assert_ne!(fresh[1], fresh[2]);
    for trace in &fresh[1..] {
        assert_eq!(uuid::Uuid::parse_str(trace).unwrap().get_version_num(), 7);
    }
    // One without a name could not be imported again.
    assert!(
        ingest(&home, &["--trace", "", "hi"], "")
            .trouble()
            .contains("a value is required for '--trace <ID>'")
    );
    let nameless = r#"{"choices":[{"message":{"role":"assistant","content":"x"}}],"rsv":{"trace_id":""}}"#;
    assert_eq!(ingest(&home, &[], nameless).trouble(), "rsv-ingest: error: <stdin>:1: trace_id: is empty\n");
}

#[test]
fn ids_are_uuids_that_sort_as_they_were_made() {
    let home = Home::new();
    let early = home.at("2026-01-01").ingest(&[], &line("user", "first"));
    let late = home.at("2026-01-01T00:00:00.001Z").ingest(&[], &line("user", "second"));
    let ids = [text(&early[0]["id"]), text(&late[0]["id"])];
    for id in &ids {
        assert_eq!(uuid::Uuid::parse_str(id).unwrap().get_version_num(), 7);
    }
    assert!(ids[0] < ids[1]);
    assert_eq!(early[0]["created_at"], "2026-01-01T00:00:00.000Z");
}

#[test]
fn the_same_input_at_the_same_time_gives_the_same_bytes() {
    let lines = format!("{}{}{}", line("user", "a"), line("assistant", "b"), line("user", "a"));
    let run = || {
        let home = Home::new().at("1795244580000");
        (ingest(&home, &["-p", "x"], &lines).ok(), home.export())
    };
    let (passed_on, exported) = run();
    assert_eq!(run(), (passed_on.clone(), exported.clone()));
    // Three lines without a trace are three messages, in their order.
    let said: Vec<Value> = lines_of(&exported).into_iter().map(|m| m["content"].clone()).collect();
    assert_eq!(said, ["a", "b", "a"]);
    assert_eq!(passed_on, exported);
}

#[test]
fn an_answer_is_linked_to_its_question() {
    let home = Home::new();
    ingest(&home.at("1000"), &["--trace", "t", "Who?"], "").ok();
    ingest(&home.at("2000"), &["--trace", "t", "--role", "assistant", "I."], "").ok();
    assert_eq!(links(&home), [pair("Who?", "I.")]);
    let within = format!("{}{}", line("user", "What?"), line("assistant", "That."));
    home.ingest(&["--trace", "u"], &within);
    assert_eq!(links(&home), [pair("What?", "That."), pair("Who?", "I.")]);
}

#[test]
fn only_the_last_turn_of_the_user_is_linked() {
    let home = Home::new();
    let lines = [line("user", "one"), line("user", "two"), line("assistant", "answer")].concat();
    home.ingest(&["--trace", "within"], &lines);
    for (time, role, said) in [("1", "user", "three"), ("2", "user", "four"), ("3", "assistant", "reply")] {
        ingest(&home.at(time), &["--trace", "across", "--role", role, said], "").ok();
    }
    assert_eq!(links(&home), [pair("four", "reply"), pair("two", "answer")]);
}

#[test]
fn a_question_has_one_answer_and_keeps_it() {
    let home = Home::new();
    for (time, role, said) in [
        ("1", "user", "ask"),
        ("2", "assistant", "first"),
        ("3", "assistant", "second"),
        ("4", "user", "next"),
    ] {
        ingest(&home.at(time), &["--trace", "t", "--role", role, said], "").ok();
    }
    assert_eq!(links(&home), [pair("ask", "first")]);
    let id = |said: &str| {
        let records = lines_of(&home.export());
        text(&records.iter().find(|r| r["content"] == said).unwrap()["id"])
    };
    // By a link line neither end can be linked again.
    for (from, to) in [("ask", "second"), ("next", "first")] {
        let link = json!({"rel": "RESPONDED_WITH", "from": id(from), "to": id(to)});
        let said = ingest(&home, &[], &link.to_string()).trouble();
        assert!(
            said.contains("<stdin>:1: RESPONDED_WITH: one of the two records is already linked to another"),
            "{said}"
        );
        assert_eq!(links(&home), [pair("ask", "first")]);
    }
    let link = json!({"kind": "link", "rel": "RESPONDED_WITH", "from": id("next"), "to": id("second")});
    ingest(&home, &[], &link.to_string()).ok();
    assert_eq!(links(&home), [pair("ask", "first"), pair("next", "second")]);
}

#[test]
fn other_traces_and_scopes_are_not_linked() {
    let home = Home::new();
    ingest(&home.at("1"), &["--trace", "t", "-p", "a", "ask"], "").ok();
    ingest(&home.at("2"), &["--trace", "t", "-p", "b", "--role", "assistant", "other scope"], "").ok();
    ingest(&home.at("2"), &["--trace", "u", "-p", "a", "--role", "assistant", "other trace"], "").ok();
    assert_eq!(links(&home), []);
}

#[test]
fn tools_stand_between_question_and_answer() {
    let home = Home::new();
    let call = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c1"}]}).to_string();
    let result = json!({"role": "tool", "content": "12", "tool_call_id": "c1"}).to_string();
    let lines = [line("user", "ask"), call + "\n", result + "\n", line("assistant", "twelve")].concat();
    let stored = home.ingest(&["--trace", "t"], &lines);
    let links = lines_of(&home.export()).into_iter().filter(|r| r["kind"] == "link").collect::<Vec<_>>();
    assert_eq!(links.len(), 1);
    assert_eq!((&links[0]["from"], &links[0]["to"]), (&stored[0]["id"], &stored[1]["id"]));
}

/// A response line as rsv-forward passes it on.
fn response() -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "model": "gpt-4o",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "A bird."}}],
        "rsv": {
            "partition": "work", "instance": "desk", "trace_id": "t9",
            "user": {"role": "user", "content": "What is an owl?"},
            "account": {
                "kind": "account", "id": "a1", "trace_id": "t9", "partition": "work", "instance": "desk",
                "timestamp": 1500, "window": 8192, "recalled": []
            },
            "provider": "openai", "status": 200
        }
    })
}

#[test]
fn a_response_is_a_whole_turn() {
    let home = Home::new().at("2000");
    let given = response().to_string() + "\n";
    assert_eq!(ingest(&home, &["-p", "other"], &given).ok(), given);
    let stored = lines_of(&home.export());
    let shape: Vec<String> = stored
        .iter()
        .map(|r| format!("{} {} {} {}", r["kind"], r["role"], r["content"], r["timestamp"]).replace('"', ""))
        .collect();
    let wanted = [
        "message user What is an owl? 1500",
        "account null null 1500",
        "message assistant A bird. 2000",
        "link null null 2000",
    ];
    assert_eq!(shape, wanted);
    for record in &stored[..3] {
        assert_eq!((&record["partition"], &record["instance"]), (&json!("work"), &json!("desk")));
        assert_eq!(record["trace_id"], "t9");
    }
    assert_eq!((&stored[1]["window"], &stored[2]["model"]), (&json!(8192), &json!("gpt-4o")));
    assert_eq!(links(&home), [pair("What is an owl?", "A bird.")]);
    // The provider's id names an answer of its own, not a record of ours.
    assert_ne!(stored[2]["id"], "chatcmpl-1");
    // Once more changes nothing.
    let before = home.export();
    ingest(&home, &[], &given).ok();
    assert_eq!(home.export(), before);
}

#[test]
fn a_response_without_a_user_is_the_answer_alone() {
    let home = Home::new().at("2000");
    let mut given = response();
    given["rsv"]["user"] = Value::Null;
    ingest(&home, &[], &given.to_string()).ok();
    assert_eq!(home.contents("rsv-view", &["--all"]), ["A bird."]);
    assert_eq!(links(&home), []);
}

#[test]
fn a_response_of_any_client_is_stored_too() {
    let home = Home::new();
    let given =
        r#"{"choices":[{"message":{"role":"assistant","content":"Hi.","refusal":null}}],"usage":{"n":1.0}}"#;
    let passed_on = ingest(&home, &["-p", "work", "--trace", "t"], given).ok();
    assert_eq!(passed_on, format!("{given}\n"));
    let stored = lines_of(&home.export());
    assert_eq!((&stored[0]["partition"], &stored[0]["trace_id"]), (&json!("work"), &json!("t")));
    for broken in [r#"{"choices":[]}"#, r#"{"choices":[{}]}"#, r#"{"choices":[{"message":{"content":7}}]}"#] {
        let said = ingest(&home, &[], broken).trouble();
        assert!(said.starts_with("rsv-ingest: error: <stdin>:1: "), "{said}");
    }
    assert_eq!(home.contents("rsv-view", &["--all"]), ["Hi."]);
}

#[test]
fn empty_messages_are_not_stored() {
    let home = Home::new().at("2000");
    home.ingest(&["-p", "w"], &line("user", "Owls hunt."));
    let request = r#"{"messages":[{"role":"user","content":"owls"}]}"#;
    let enriched = lines_of(&home.run("rsv-enrich", &["-p", "w"], request).ok()).remove(0);
    let block = text(&enriched["messages"][0]["content"]).trim_end_matches("owls").to_owned();
    assert!(block.contains("Owls hunt."));
    let refused = ingest(&home, &[], &line("user", &block)).trouble();
    assert_eq!(refused, "rsv-ingest: error: <stdin>:1: content: is empty\n");
    for nothing in ["", &block] {
        let mut given = response();
        given["rsv"]["user"]["content"] = json!(nothing);
        given["rsv"]["trace_id"] = json!(format!("t{}", nothing.len()));
        ingest(&home, &[], &given.to_string()).ok();
        assert_eq!(home.contents("rsv-view", &["9", "-p", "work", "--role", "user"]), [""; 0]);
    }
    assert_eq!(home.contents("rsv-view", &["9", "-p", "work"]), ["A bird.", "A bird."]);
    let other = Home::new();
    other.run("rsv-import", &[], home.export()).ok();
    assert_eq!(other.export(), home.export());
}

#[test]
fn system_messages_are_passed_on_and_kept_only_if_asked() {
    let home = Home::new();
    let lines = [line("system", "Be brief."), line("user", "hi")].concat();
    let passed_on = home.ingest(&[], &lines);
    assert_eq!(passed_on[0], json!({"role": "system", "content": "Be brief."}));
    assert_eq!(home.contents("rsv-view", &[]), ["hi"]);
    home.ingest(&["--keep-system"], &lines);
    assert_eq!(home.contents("rsv-view", &["--role", "system"]), ["Be brief."]);
    let refused = "rsv-ingest: error: system messages are not stored\n\
                   rsv-ingest: hint: store it with --keep-system\n[2]";
    assert_eq!(ingest(&home, &["--role", "system", "Be kind."], "").to_string(), refused);
    ingest(&home, &["--role", "system", "--keep-system", "Be kind."], "").ok();
}

/// Keeps: Members that a tool does not know pass unchanged.
#[test]
fn unknown_members_are_kept() {
    let home = Home::new().at("1000");
    let members = r#""zeta":1.0,"alpha":{"b":[1e5,-0,12345678901234567890123456789,0.10],"a":"\u00e9\ud83e\udd89"},"empty":"","nil":null,"url":"http:\/\/x""#;
    let given =
        format!("{{{members},\"content\":\"hi\",\"role\":\"user\",\"id\":\"m1\",\"trace_id\":\"t\"}}\n");
    let wanted = format!(
        "{{\"kind\":\"message\",\"id\":\"m1\",\"trace_id\":\"t\",\"partition\":\"default\",\"instance\":\"default\",\
         \"role\":\"user\",\"content\":\"hi\",\"timestamp\":1000,\"created_at\":\"1970-01-01T00:00:01.000Z\",{members}}}\n"
    );
    assert_eq!(ingest(&home, &[], &given).ok(), wanted);
    assert_eq!(home.export(), wanted);
    assert_eq!(home.run("rsv-view", &[], "").ok(), wanted);
    // Lines that are not stored pass in the same sense.
    for line in [
        r#"{"kind":"query","query":"owl","limit":1.0}"#,
        r#"{"kind":"error","code":"x","message":"m","more":1e2}"#,
        r#"{"kind":"chunk","data":"x"}"#,
        r#"{"kind":"hit","role":"user","content":"not again","rank":1}"#,
        r#"{"kind":"opinion","confidence":0.90}"#,
        r#"{"messages":[{"role":"user","content":"x"}],"temperature":1.0}"#,
    ] {
        assert_eq!(ingest(&home, &[], line).ok(), format!("{line}\n"));
    }
    assert_eq!(home.export(), wanted);
}

#[test]
fn kinds_may_be_mixed() {
    let home = Home::new().at("1000");
    let lines = [
        r#"{"role":"user","content":"ask","id":"m1","trace_id":"t"}"#,
        r#"{"kind":"chunk","data":"x"}"#,
        r#"{"role":"assistant","content":"reply","id":"m2","trace_id":"u"}"#,
        r#"{"from":"m1","to":"m2","rel":"SYNAPSE","score":0.91,"model":"m","why":"said so"}"#,
        r#"{"kind":"embedding","of":"m1","model":"tiny","dim":3,"vector":[0.5,-1,0.25]}"#,
        r#"{"kind":"account","id":"a1","trace_id":"t","partition":"p","instance":"i","timestamp":7,"window":1}"#,
    ];
    // All in one, pretty-printed or not, is the same as line by line.
    let pretty: String = lines
        .iter()
        .map(|line| serde_json::to_string_pretty(&serde_json::from_str::<Value>(line).unwrap()).unwrap())
        .collect();
    ingest(&home, &[], &lines.join("\n")).ok();
    let other = Home::new().at("1000");
    assert_eq!(ingest(&other, &[], &pretty).ok().lines().count(), 6);
    assert_eq!(other.export(), home.export());
    let kinds: Vec<String> = lines_of(&home.export()).iter().map(|r| text(&r["kind"])).collect();
    assert_eq!(kinds, ["account", "message", "message", "embedding", "link"]);
    let export = home.export();
    let link = export.lines().last().unwrap();
    assert_eq!(
        link,
        r#"{"kind":"link","rel":"SYNAPSE","from":"m1","to":"m2","timestamp":1000,"score":0.91,"model":"m","why":"said so"}"#
    );
    let embedding = r#"{"kind":"embedding","of":"m1","model":"tiny","dim":3,"vector":[0.5,-1.0,0.25]}"#;
    assert_eq!(export.lines().nth(3), Some(embedding));
}

#[test]
fn a_pause_commits_what_is_there() {
    let home = Home::new();
    let mut stream = home.talk("rsv-ingest", &["-p", "live"]);
    for said in ["one", "two", "three"] {
        stream.say(line("user", said).trim());
        let heard: Value = serde_json::from_str(&stream.hear().unwrap()).unwrap();
        assert_eq!(heard["content"], said);
        // Another process sees it, though the stream continues.
        assert_eq!(home.contents("rsv-view", &["1", "-p", "live"]), [said]);
    }
    let (status, stderr) = stream.end();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn parts_are_kept_as_they_came() {
    let home = Home::new();
    let parts = r#"[{"type":"text","text":"What is\tthis?"},{"type":"image_url","image_url":{"url":"data:x","detail":1.0}}]"#;
    let given = format!("{{\"role\":\"user\",\"content\":{parts}}}");
    let passed_on = ingest(&home, &[], &given).ok();
    assert!(passed_on.contains(&format!("\"content\":{parts},")), "{passed_on}");
    assert_eq!(home.export(), passed_on);
    assert_eq!(home.run("rsv-search", &["what", "this?"], "").status, 0);
}

/// Keeps: Writing a stored record again changes nothing.
#[test]
fn writing_existing_records_changes_nothing() {
    let home = Home::new();
    let lines = [
        r#"{"role":"user","content":"hi","trace_id":"t","timestamp":1000}"#,
        r#"{"role":"assistant","content":"ho","trace_id":"t","timestamp":2000}"#,
    ]
    .join("\n");
    let first = home.ingest(&[], &lines);
    let before = home.export();
    // The passed on line carries the id that is stored.
    assert_eq!(home.ingest(&[], &lines), first);
    assert_eq!(home.ingest(&[], &format!("{lines}\n{lines}"))[2..], first);
    let other_id = r#"{"role":"user","content":"hi","trace_id":"t","timestamp":1000,"id":"another"}"#;
    assert_eq!(home.ingest(&[], other_id)[0]["id"], first[0]["id"]);
    assert_eq!(home.export(), before);
    // Anything that differs is another message.
    for other in [
        r#"{"role":"user","content":"hi","trace_id":"t","timestamp":1001}"#,
        r#"{"role":"user","content":"hi","trace_id":"u","timestamp":1000}"#,
        r#"{"role":"tool","content":"hi","trace_id":"t","timestamp":1000}"#,
        r#"{"role":"user","content":"hi","trace_id":"t","timestamp":1000,"partition":"p"}"#,
    ] {
        home.ingest(&[], other);
    }
    assert_eq!(home.contents("rsv-view", &["--all"]).len(), 6);
}

#[test]
fn a_second_text_under_an_id_does_not_replace_the_first() {
    let home = Home::new();
    let said = |text: &str| format!("{{\"id\":\"m1\",\"role\":\"user\",\"content\":\"{text}\"}}\n");
    home.ingest(&[], &said("first"));
    let ran = ingest(&home, &["-p", "q"], &(said("second") + &said("third")));
    let error = |line: u8| {
        format!(
            "rsv-ingest: error: <stdin>:{line}: id: m1 belongs to another record of default/default, which is kept; \
             this message of q/q is not stored\nrsv-ingest: hint: give it another id, or none\n"
        )
    };
    assert_eq!((ran.status, &*ran.stdout, ran.stderr), (2, "", error(1) + &error(2)));
    assert_eq!(home.contents("rsv-view", &[]), ["first"]);
    // The same record again is no error.
    assert_eq!(ingest(&home, &[], &said("first")).status, 0);
}

on_each_store!(vectors_and_links_that_follow_a_refused_record_are_refused_too);
fn vectors_and_links_that_follow_a_refused_record_are_refused_too(home: Home) {
    let message = |id: &str, partition: &str| {
        let content = format!("{id} of {partition}");
        json!({"id": id, "role": "user", "content": content, "timestamp": 1, "trace_id": "t",
            "partition": partition, "instance": "i"})
        .to_string()
    };
    let vector = json!({"kind": "embedding", "of": "m1", "model": "m", "vector": [1.0, 0.0]}).to_string();
    let link = json!({"kind": "link", "rel": "SYNAPSE", "from": "m1", "to": "m2", "score": 0.9}).to_string();
    home.ingest(&[], &[message("m1", "p"), message("m2", "p")].join("\n"));
    let before = home.export();
    let input = [message("m1", "q"), vector.clone(), link.clone()].join("\n");
    for tool in ["rsv-ingest", "rsv-import"] {
        let ran = home.run(tool, &[], &input);
        assert_eq!((ran.status, &*ran.stdout), (2, ""));
        for line in [2, 3] {
            let error = format!(
                "{tool}: error: <stdin>:{line}: follows the record m1 of the same input, which was refused\n"
            );
            assert!(ran.stderr.contains(&error), "{ran}");
        }
        assert_eq!(home.export(), before);
    }
    // In an input of their own they belong to the stored record.
    home.ingest(&[], &[vector.clone(), link.clone()].join("\n"));
    assert_ne!(home.export(), before);
}

#[test]
fn a_clock_out_of_range_gives_the_nearest_valid_time_and_a_note() {
    for (clock, time) in [
        ("253402300800000", "9999-12-31T23:59:59.999Z"),
        ("9223372036854775807", "9999-12-31T23:59:59.999Z"),
        ("-1", "1970-01-01T00:00:00.000Z"),
    ] {
        let home = Home::new().env("RSV_TEST_NOW", clock);
        let ran = ingest(
            &home,
            &[],
            "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"user\",\"content\":\"b\"}\n",
        );
        let note = format!("rsv-ingest: the clock is not between the years 1970 and 9999; {time} is used\n");
        assert_eq!((ran.status, ran.stderr.as_str()), (0, note.as_str()));
        assert_eq!(ran.stdout.matches(&format!("\"created_at\":\"{time}\"")).count(), 2, "{ran}");
        assert_eq!(home.contents("rsv-view", &["-q"]), ["a", "b"]);
    }
    let home = Home::new();
    let last = r#"{"role":"user","content":"the end","timestamp":"9999-12-31T23:59:59Z"}"#;
    assert_eq!(home.ingest(&[], last)[0]["timestamp"], 253_402_300_799_000_i64);
    let text = home.run("rsv-view", &["--format", "text"], "").ok();
    assert!(text.contains("9999-12-31 23:59 user"), "{text}");
}

#[test]
fn an_unknown_id_is_named_with_its_place() {
    let home = Home::new();
    let lines = [
        r#"{"role":"user","content":"hi","id":"m1"}"#,
        r#"{"rel":"SYNAPSE","from":"m1","to":"nowhere"}"#,
        r#"{"rel":"MENTIONS","from":"no\none","to":"m1"}"#,
        r#"{"kind":"embedding","of":"nothing","model":"m","vector":[1]}"#,
        r#"{"role":"user","content":"still here"}"#,
    ];
    let ran = ingest(&home, &[], &lines.join("\n"));
    assert_eq!(
        ran.stderr,
        "rsv-ingest: error: <stdin>:2: to: the store has no record nowhere\n\
         rsv-ingest: error: <stdin>:3: from: the store has no record no\\none\n\
         rsv-ingest: error: <stdin>:4: of: the store has no record nothing\n"
    );
    assert_eq!((ran.status, ran.stdout.lines().count()), (2, 2));
    assert_eq!(home.contents("rsv-view", &[]), ["hi", "still here"]);
}

#[test]
fn a_bad_line_is_named_and_the_others_are_stored() {
    let home = Home::new();
    let long = "x".repeat(100);
    for (bad, said) in [
        (r#"{"role":"usr","content":"x"}"#, "role: expected user, assistant, system or tool, found \"usr\""),
        (r#"{"role":7,"content":"x"}"#, "role: expected a string, found 7"),
        (r#"{"content":"x"}"#, "role: is missing"),
        (r#"{"role":"user"}"#, "content: is missing"),
        (r#"{"role":"user","content":null}"#, "content: is missing"),
        (r#"{"role":"user","content":""}"#, "content: is empty"),
        (r#"{"role":"assistant","content":null,"tool_calls":[]}"#, "content: is missing"),
        (r#"{"role":"user","content":7}"#, "content: expected a string or an array of parts, found 7"),
        (r#"{"role":"user","content":["x"]}"#, "content[0]: expected an object, found \"x\""),
        (r#"{"role":"user","content":"x","trace_id":""}"#, "trace_id: is empty"),
        (r#"{"role":"user","content":"x","partition":""}"#, "partition: is empty"),
        (
            r#"{"role":"user","content":"x","timestamp":"soon"}"#,
            "timestamp: expected a time such as 2026-11-21T07:03:00Z, a date or milliseconds, found \"soon\"",
        ),
        (
            r#"{"role":"user","content":"x","timestamp":1.5}"#,
            "timestamp: expected a whole number of at most 64 bits, found 1.5",
        ),
        (
            r#"{"role":"user","content":"x","timestamp":99999999999999999999}"#,
            "timestamp: expected a whole number of at most 64 bits, found 99999999999999999999",
        ),
        (
            r#"{"role":"user","content":"x","timestamp":999999999999999}"#,
            "timestamp: expected milliseconds between the years 1 and 9999, found 999999999999999",
        ),
        (r#"{"role":"user","content":"x","seq":-1}"#, "seq: expected a whole number from 0, found -1"),
        (r#"{"role":"user","content":"x","role":"user"}"#, "role: given twice"),
        (
            r#"{"role":"user","content":"x","embedding":[1,2]}"#,
            "embedding_model: is missing beside an embedding of 2 numbers",
        ),
        (r#"{"kind":"link","rel":"SYNAPSE","from":"a"}"#, "to: is missing"),
        (r#"{"rel":"SYNAPSE","from":"a","to":"a"}"#, "to: is the same record as from"),
        (
            r#"{"rel":"near","from":"a","to":"b"}"#,
            "rel: expected a name in capitals such as RESPONDED_WITH, found \"near\"",
        ),
        (r#"{"kind":"embedding","of":"a","model":"m"}"#, "vector: is missing"),
        (
            r#"{"kind":"embedding","of":"a","model":"m","dim":2,"vector":[1]}"#,
            "dim: is 2, but the vector has 1 numbers",
        ),
        (
            r#"{"kind":"embedding","of":"a","model":"m","vector":[1e99]}"#,
            "vector: holds a number that is not finite as a 32-bit float",
        ),
        (r#"{"kind":"account","id":"a"}"#, "partition: is missing"),
        (r#"{"a":1}"#, "kind: is missing, and no known kind has this shape"),
        (r#"{"kind":7}"#, "kind: expected a string, found 7"),
        ("null", "expected a JSON object, found 'n'"),
        (
            &format!("{{\"role\":\"{long}\",\"content\":\"x\"}}"),
            &format!("role: expected user, assistant, system or tool, found \"{}…", &long[..39]),
        ),
    ] {
        let lines = format!("{}{bad}\n{}", line("user", "before"), line("user", "after"));
        let ran = ingest(&home, &["--trace", "t"], &lines);
        let first = ran.stderr.lines().next().unwrap_or_default();
        assert_eq!(first, format!("rsv-ingest: error: <stdin>:2: {said}"), "{bad}");
        assert_eq!((ran.status, ran.stdout.lines().count()), (2, 2), "{bad}");
    }
}

/// Keeps: Recalled text is never stored again.
#[test]
fn recalled_text_is_not_stored_again() {
    let home = Home::new();
    home.ingest(&["-p", "w"], &line("user", "Owls hunt at night."));
    let request = r#"{"messages":[{"role":"user","content":"And owls by day?"}]}"#;
    let enriched = lines_of(&home.run("rsv-enrich", &["-p", "w"], request).ok()).remove(0);
    let turn = &enriched["messages"][0];
    assert!(text(&turn["content"]).contains("Owls hunt at night."));
    home.ingest(&["-p", "w"], &turn.to_string());
    assert_eq!(home.contents("rsv-view", &["1", "-p", "w"]), ["And owls by day?"]);
}

#[test]
fn equal_timestamps_keep_the_order_of_arrival() {
    let home = Home::new().env("RSV_TEST_NOW", "1700000000000");
    for n in 0..8 {
        let trace = format!("t{n}");
        home.run("rsv-ingest", &["--trace", &trace, &format!("question {n}")], "").ok();
        home.run("rsv-ingest", &["--trace", &trace, "--role", "assistant", &format!("answer {n}")], "").ok();
        let said: Vec<String> = home.contents("rsv-view", &["--trace", &trace]);
        assert_eq!(said, [format!("question {n}"), format!("answer {n}")]);
    }
    let links = home.run("rsv-export", &[], "").ok().lines().filter(|l| l.contains("RESPONDED_WITH")).count();
    assert_eq!(links, 8);
    // Times that are only as fine as seconds are no reason to lose the order either.
    let home = Home::new();
    let turn = |role: &str, text: &str| {
        format!("{{\"role\":\"{role}\",\"content\":\"{text}\",\"trace_id\":\"t\",\"timestamp\":5000}}\n")
    };
    let lines: String =
        (0..6).map(|n| turn(if n % 2 == 0 { "user" } else { "assistant" }, &format!("turn {n}"))).collect();
    home.run("rsv-ingest", &[], &lines).ok();
    let before = home.export();
    assert_eq!(home.contents("rsv-view", &[]), (0..6).map(|n| format!("turn {n}")).collect::<Vec<_>>());
    home.run("rsv-ingest", &[], &lines).ok();
    assert_eq!(home.export(), before);
    assert_eq!(home.run("rsv-link", &[], "").ok(), "");
}

#[test]
fn a_known_model_has_one_name() {
    let home = Home::new();
    let vector: Vec<f32> = vec![0.5; 1024];
    let line = |id: &str, model: &str| {
        let line =
            json!({"id": id, "role": "user", "content": id, "embedding": vector, "embedding_model": model});
        line.to_string() + "\n"
    };
    home.ingest(
        &[],
        &(line("a", "bge-large-en-v15") + &line("b", "BGE-Large-EN-v1.5") + &line("c", "my-bge")),
    );
    let export = lines_of(&home.export());
    let models: Vec<&Value> =
        export.iter().filter(|line| line["kind"] == "embedding").map(|e| &e["model"]).collect();
    assert_eq!(models, ["bge-large-en-v1.5", "bge-large-en-v1.5", "my-bge"]);
}

/// Keeps: Records behind a stray line are not stored as text.
#[test]
fn records_behind_lines_of_text_are_an_error() {
    let home = Home::new();
    let records = "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"assistant\",\"content\":\"b\"}\n";
    for (text, line) in [
        (format!("warning: old settings\n{records}"), 2),
        (format!("\nTwo\nlines\n\n{records}\n"), 5),
        (format!("warning\n[{}]", records.trim_end().replace('\n', ",\n")), 2),
        (format!("warning\n{records}{{\"role\":\"User\",\"content\":\"c\"}}\n{{\"role\":"), 2),
    ] {
        let said = home.run("rsv-ingest", &[], &text).trouble();
        assert!(said.contains("<stdin>:1: expected a JSON object, as there are from line"), "{said}");
        assert!(said.contains(&format!("from line {line} on")) && said.contains("--role user"), "{said}");
    }
    assert_eq!(home.export(), "");
    // JSON in a text is part of it.
    for text in [
        format!("Is this right?\n{records}I mean the first."),
        "My settings:\n{\"model\":\"gpt-4o\",\"retries\":3}".to_owned(),
        "A request:\n{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}".to_owned(),
    ] {
        let stored = lines_of(&home.run("rsv-ingest", &[], &text).ok());
        assert_eq!(stored.len(), 1);
        assert_eq!(stored[0]["content"], text);
    }
    let stored = lines_of(&home.run("rsv-ingest", &["--role", "user"], format!("See:\n{records}")).ok());
    assert_eq!(stored[0]["content"], format!("See:\n{}", records.trim_end()));
}

#[test]
fn a_pipe_that_ends_at_a_terminal_says_what_was_stored() {
    let home = Home::new();
    home.write("lines", "{\"id\":\"m\",\"role\":\"user\",\"content\":\"An owl.\",\"partition\":\"p\"}\n");
    let Some(terminal) = Terminal::run(&home, 80, "cat lines | rsv-ingest") else { return };
    assert_eq!(terminal.end(), ("stored in p/p as user, id m\n".to_owned(), 0));
    let Some(terminal) = Terminal::run(&home, 80, "cat lines | rsv-ingest --format jsonl") else { return };
    assert!(terminal.end().0.starts_with("{\"kind\":\"message\",\"id\":\"m\""));
}
