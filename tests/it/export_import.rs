//! rsv-export and rsv-import: out of one store and into another.

use crate::support::{Dice, Home, Ran, lines_of, number_from, on_each_store, text};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn import(home: &Home, words: &[&str], stdin: &str) -> Ran {
    home.run("rsv-import", words, stdin)
}

fn export(home: &Home, words: &[&str]) -> String {
    home.run("rsv-export", words, "").ok()
}

/// A store with something of everything: unknown members, parts, tool calls, accounts, links, vectors.
fn rich() -> Home {
    let home = Home::new().at("1795244580000");
    let lines = [
        r#"{"id":"m1","trace_id":"t1","role":"user","content":"ask \"this\"\n\u0000\u202e 🦉","timestamp":1000,"zeta":1.0,"a":{"big":12345678901234567890123}}"#,
        r#"{"id":"m2","trace_id":"t1","role":"assistant","content":null,"timestamp":2000,"tool_calls":[{"id":"c1","n":1e2}]}"#,
        r#"{"id":"m3","trace_id":"t1","role":"tool","content":"12","timestamp":3000,"tool_call_id":"c1","seq":2}"#,
        r#"{"id":"m4","trace_id":"t1","role":"assistant","content":"twelve","timestamp":3000,"seq":3,"model":"gpt-4o","url":"http://x"}"#,
        r#"{"id":"m5","trace_id":"t2","role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"u"}}],"timestamp":-5,"partition":"it's \"q\"","instance":"i/j"}"#,
        r#"{"id":"m6","trace_id":"t2","role":"assistant","content":"seen","timestamp":0,"partition":"it's \"q\"","instance":"i/j","embedding":[0.5,-0.25],"embedding_model":"tiny"}"#,
        r#"{"id":"m7","trace_id":"t3","role":"system","content":"Be brief.","timestamp":9,"created_at":"ignored"}"#,
        r#"{"rel":"SYNAPSE","from":"m1","to":"m4","timestamp":5,"score":0.875,"model":"tiny","note":{"x":1.50}}"#,
        r#"{"kind":"embedding","of":"m1","model":"tiny","dim":2,"vector":[1,0.1]}"#,
        r#"{"kind":"embedding","of":"m1","model":"other","dim":3,"vector":[1e-7,3.4028235e38,0.333333333]}"#,
        r#"{"kind":"account","id":"a1","trace_id":"t1","partition":"default","instance":"default","timestamp":1000,"window":8192,"recalled":[{"id":"m5","score":1.50}]}"#,
        r#"{"kind":"embedding","of":"a1","model":"tiny","vector":[0,1]}"#,
    ];
    home.run("rsv-ingest", &["--keep-system"], lines.join("\n")).ok();
    home
}

on_each_store!(export_then_import_is_the_same_to_the_byte);
/// Keeps: An export is a snapshot, and importing it restores every byte.
fn export_then_import_is_the_same_to_the_byte(other: Home) {
    let home = rich();
    for form in [&["--vectors"][..], &["--vectors", "base64"], &["--vectors", "numbers"], &[]] {
        let first = export(&home, form);
        let other = other.emptied();
        assert_eq!(import(&other, &[], &first).ok(), "");
        assert_eq!(export(&other, form), first);
        // A second time changes nothing.
        import(&other, &[], &first).ok();
        assert_eq!(export(&other, form), first);
        other.check();
        let back = Home::new();
        import(&back, &[], &export(&other, form)).ok();
        assert_eq!(export(&back, form), first);
    }
    let base64 = export(&home, &["--vectors", "base64"]);
    let other = Home::new();
    import(&other, &[], &base64).ok();
    assert_eq!(export(&other, &["--vectors"]), home.export());
    assert_eq!(base64.matches("\"vector\":\"AACAP83MzD0=\"").count(), 1);
}

on_each_store!(an_export_made_before_the_schema_was_squashed_imports_and_comes_out_byte_for_byte);
fn an_export_made_before_the_schema_was_squashed_imports_and_comes_out_byte_for_byte(home: Home) {
    // Written by rsv-export --vectors when the schema was made of six migrations.
    let earlier = include_str!("export.jsonl");
    assert_eq!(import(&home, &[], earlier).ok(), "");
    assert!(export(&home, &["--vectors"]) == earlier, "{}", export(&home, &["--vectors"]));
    import(&home, &[], earlier).ok();
    assert!(export(&home, &["--vectors"]) == earlier, "twice is not once");
    home.check();
}

#[test]
fn records_come_in_the_order_of_time() {
    let home = rich();
    let lines = lines_of(&home.export());
    let ids: Vec<String> = lines.iter().filter(|r| r["id"].is_string()).map(|r| text(&r["id"])).collect();
    assert_eq!(ids, ["m5", "m6", "m7", "a1", "m1", "m2", "m3", "m4"]);
    let kinds: Vec<String> = lines.iter().map(|r| text(&r["kind"])).collect();
    let wanted = [["message"; 3].as_slice(), &["account"], &["message"; 4], &["embedding"; 4], &["link"; 3]];
    assert_eq!(kinds, wanted.concat());
    assert_eq!(lines[0]["created_at"], "1969-12-31T23:59:59.995Z");
}

#[test]
fn lines_without_vectors_carry_none() {
    let plain = export(&rich(), &[]);
    assert!(!plain.contains("embedding") && plain.contains("\"link\""), "{plain}");
}

#[test]
fn an_empty_store_is_an_empty_export() {
    let home = Home::new();
    assert_eq!(export(&home, &[]), "");
    assert_eq!(export(&home, &["--format", "json"]), "[]\n");
    assert_eq!(export(&home, &["--format", "md"]), "");
    assert!(!home.store().exists(), "reading makes no store");
    assert_eq!(import(&home, &[], "").ok(), "");
    assert_eq!(import(&home, &[], "[]\n").ok(), "");
}

#[test]
fn reservoirs_array_goes_both_ways() {
    let home = rich();
    let array = export(&home, &["--format", "json"]);
    let parsed: Vec<Value> = serde_json::from_str(&array).unwrap();
    // The message that is nothing but tool calls is none of Reservoir's.
    assert_eq!(parsed.len(), 6);
    let wanted = r#"  {"id":"m6","trace_id":"t2","partition":"it's \"q\"","instance":"i/j","content":"seen","role":"assistant","embedding":[0.5,-0.25],"embedding_model":"tiny","url":null,"timestamp":0},"#;
    assert_eq!(array.lines().nth(2), Some(wanted));
    assert_eq!(parsed[3]["content"], json!("ask \"this\"\n\0\u{202e} 🦉"));
    assert_eq!(parsed[5]["url"], json!("http://x"));

    let times = export(&home, &["--format", "json", "--time", "iso"]);
    assert_eq!(times, as_iso(&array, &parsed));
    for array in [&array, &times] {
        let other = Home::new();
        import(&other, &[], array).ok();
        assert_eq!(&export(&other, &["--format", "json"]), &export(&home, &["--format", "json"]));
    }

    // A vector without the name of its model and with another length is refused by name; its message comes in.
    let nameless = array.replace(",\"embedding_model\":\"tiny\"", "");
    let other = Home::new();
    let said = import(&other, &[], &nameless).trouble();
    assert_eq!(said, ["3", "5"].map(without_vector).concat(),);
    assert_eq!(other.contents("rsv-view", &["--all", "9"]).len(), 6);
}

/// The error for a message whose vector of two numbers has no model.
fn without_vector(line: &str) -> String {
    format!(
        "rsv-import: error: <stdin>:{line}: embedding_model: is missing beside an embedding of 2 numbers; \
         the message is stored without it\n\
         rsv-import: hint: embed it with the model in use: rsv-embed --pending\n"
    )
}

/// An array with its times in RFC 3339.
fn as_iso(array: &str, parsed: &[Value]) -> String {
    parsed.iter().fold(array.to_owned(), |array, record| {
        let ms = record["timestamp"].as_i64().unwrap();
        let time = rsv::record::time::rfc3339(ms);
        array.replace(&format!("\"timestamp\":{ms}}}"), &format!("\"timestamp\":\"{time}\"}}"))
    })
}

/// Records as Reservoir itself writes them.
fn reservoirs_own() -> String {
    let vector = |x: f32| (0..1024).map(|n| x * (n as f32 - 500.0)).collect::<Vec<f32>>();
    let record = |id: Value, trace: &str, role: &str, content: &str, time: Value, embedding: Value| {
        json!({"id": id, "trace_id": trace, "partition": "work", "instance": "work", "content": content,
            "role": role, "embedding": embedding, "url": null, "timestamp": time})
    };
    let mut records = json!([
        record(json!(17), "t1", "user", "ask", json!(1_700_000_000_000_i64), json!([])),
        record(json!(18), "t1", "assistant", "reply", json!(1_700_000_001_000_i64), json!(vector(0.25))),
        // Some of its releases name the model with nothing.
        record(Value::Null, "t2", "user", "again", json!("2023-11-14T22:13:22Z"), Value::Null),
        record(
            Value::Null,
            "t2",
            "assistant",
            "yes",
            json!("2023-11-14T23:13:23.5+01:00"),
            json!(vector(0.5))
        ),
    ]);
    // Some of its releases name the model with nothing.
    records[3]["embedding_model"] = json!("");
    serde_json::to_string_pretty(&records).unwrap()
}

#[test]
fn reservoirs_own_records_are_read() {
    let home = Home::new();
    let given = reservoirs_own();
    import(&home, &[], &given).ok();
    let exported = export(&home, &["--vectors", "base64"]);
    import(&home, &[], &given).ok();
    assert_eq!(export(&home, &["--vectors", "base64"]), exported, "again changes nothing");
    let lines = lines_of(&exported);
    let messages: Vec<&Value> = lines.iter().filter(|r| r["kind"] == "message").collect();
    let reported: Vec<String> =
        messages.iter().map(|m| format!("{} {}", text(&m["created_at"]), text(&m["content"]))).collect();
    assert_eq!(
        reported,
        [
            "2023-11-14T22:13:20.000Z ask",
            "2023-11-14T22:13:21.000Z reply",
            "2023-11-14T22:13:22.000Z again",
            "2023-11-14T22:13:23.500Z yes"
        ]
    );
    assert!(messages.iter().all(|m| uuid::Uuid::parse_str(&text(&m["id"])).is_ok()));
    let vectors: Vec<&Value> = lines.iter().filter(|r| r["kind"] == "embedding").collect();
    assert_eq!(vectors.len(), 2);
    assert_eq!((&vectors[0]["model"], &vectors[0]["dim"]), (&json!("bge-large-en-v1.5"), &json!(1024)));
    // Its exports have no links: they are made.
    assert_eq!(lines.iter().filter(|r| r["kind"] == "link").count(), 2);
    // Its array, out and in again, is idempotent too.
    let array = export(&home, &["--format", "json"]);
    let other = Home::new();
    import(&other, &[], &array).ok();
    assert_eq!(export(&other, &["--vectors", "base64"]), exported);
    assert_eq!(export(&other, &["--format", "json"]), array);
}

#[test]
fn every_way_to_concatenate_objects_is_read() {
    let objects: Vec<Value> = (0..50)
        .map(|n| {
            json!({"role": "user", "content": format!("no {n} }}]{{[\" \\"), "timestamp": n, "trace_id": "t",
                "partition": "p", "nested": {"list": [1, {"x": "]"}]}})
        })
        .collect();
    let compact: Vec<String> = objects.iter().map(Value::to_string).collect();
    let pretty: Vec<String> = objects.iter().map(|o| serde_json::to_string_pretty(o).unwrap()).collect();
    let array = serde_json::to_string_pretty(&objects).unwrap();
    let mut exports = Vec::new();
    for given in [
        compact.join("\n"),
        compact.join("\r\n\r\n"),
        compact.concat(),
        pretty.join("\n"),
        pretty.concat(),
        array.clone(),
        format!("\u{feff}{array}"),
        format!("[{}]", compact.join(",")),
        format!("[{}]\n[{}]", compact[..20].join(","), compact[20..].join(" ,\n")),
    ] {
        let home = Home::new();
        assert_eq!(import(&home, &[], &given).ok(), "");
        exports.push(home.export());
    }
    assert_eq!(exports[0].lines().count(), 50);
    for (at, other) in exports.iter().enumerate() {
        assert_eq!(*other, exports[0], "the {at}th way");
    }
}

#[test]
fn bad_lines_are_named_and_the_rest_is_imported() {
    let good = |n: usize| {
        json!({"role": "user", "content": format!("good {n}"), "timestamp": n, "trace_id": "t", "partition": "p"})
            .to_string()
    };
    let lines = [
        good(1),
        r#"{"kind":"account","id":"no trace","timestamp":1,"partition":"p","instance":"p"}"#.into(),
        r#"{"role":"user","content":"no time","trace_id":"t","partition":"p"}"#.into(),
        r#"{"role":"user","content":"no partition","trace_id":"t","timestamp":1}"#.into(),
        r#"{"role":"usr","content":"x","trace_id":"t","timestamp":1,"partition":"p"}"#.into(),
        r#"{"messages":[]}"#.into(),
        r#"{"choices":[]}"#.into(),
        r#"{"kind":"chunk"}"#.into(),
        "{\"cut".into(),
        good(2),
        "# a comment".into(),
        r#"{"kind":"embedding","of":"m","model":"m","vector":[1]}"#.into(),
        good(3),
    ];
    let home = Home::new();
    let ran = import(&home, &[], &lines.join("\n"));
    insta::assert_snapshot!(ran, @r#"
    rsv-import: error: <stdin>:2: trace_id: is missing
    rsv-import: error: <stdin>:3: timestamp: is missing
    rsv-import: error: <stdin>:4: partition: is missing
    rsv-import: error: <stdin>:5: role: expected user, assistant, system or tool, found "usr"
    rsv-import: error: <stdin>:6: kind: cannot be imported
    rsv-import: hint: rsv-import reads messages, accounts, embeddings, links and tombstones; give other kinds to rsv-ingest
    rsv-import: error: <stdin>:7: kind: cannot be imported
    rsv-import: hint: rsv-import reads messages, accounts, embeddings, links and tombstones; give other kinds to rsv-ingest
    rsv-import: error: <stdin>:8: kind: cannot be imported
    rsv-import: hint: rsv-import reads messages, accounts, embeddings, links and tombstones; give other kinds to rsv-ingest
    rsv-import: error: <stdin>:9: a string is not closed
    rsv-import: error: <stdin>:11: expected a JSON object, found '#'
    rsv-import: hint: each line is a JSON object: man 5 rsv-record
    rsv-import: error: <stdin>:12: of: the store has no record m
    [2]
    "#);
    assert_eq!(home.contents("rsv-view", &["-p", "p"]), ["good 1", "good 2", "good 3"]);
}

on_each_store!(every_name_of_a_conversation_has_a_file_on_every_file_system);
fn every_name_of_a_conversation_has_a_file_on_every_file_system(home: Home) {
    let long = "\u{5ead}".repeat(29);
    let names = [
        "garden",
        "Garden",
        "GARDEN",
        "caf\u{e9}",
        "cafe\u{301}",
        "CAF\u{c9}",
        "con",
        "Aux.txt",
        "a",
        "a.",
        "a ",
        "...",
        "x/../y",
        &long,
        &format!("{long}\u{82b1}"),
        &"n".repeat(300),
        &"N".repeat(300),
    ];
    // Conversations alternate.
    let mut lines = String::new();
    for time in 0..3 {
        for (at, name) in names.iter().enumerate() {
            let scopes = [(name, &"i"), (&"p", name)];
            for (part, (partition, instance)) in scopes.into_iter().enumerate() {
                let line = json!({"role": "user", "content": format!("owl {part} {at} {time}."), "timestamp": time,
                    "partition": partition, "instance": instance});
                lines += &format!("{line}\n");
            }
        }
    }
    import(&home, &[], &lines).ok();
    // The name of the directory itself may be as long as the file system allows.
    let (to, next) = ("o".repeat(250), "c".repeat(250));
    home.run("rsv-export", &["--format", "md", "--to", &to], "").ok();
    home.run("rsv-export", &["--next", &next], "").ok();
    home.run("rsv-export", &["--new-since", &next], "").ok();
    let list = |directory: &Path| -> Vec<PathBuf> {
        directory.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let folders = list(&home.path(&to));
    let files: Vec<PathBuf> = folders.iter().flat_map(|folder| list(folder)).collect();
    assert_eq!(files.len(), 2 * names.len(), "{files:?}");
    let mut seen = BTreeSet::new();
    for path in folders.iter().chain(&files) {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(name.len() <= 143 && name.is_ascii() && !name.ends_with(['.', ' ']), "{name}");
        assert!(seen.insert(path.to_str().unwrap().to_lowercase()), "{name}");
        let stem = name.split('.').next().unwrap().to_lowercase();
        assert!(!["con", "aux"].contains(&&*stem) && !name.starts_with('.'), "{name}");
    }
    // Each file has one conversation.
    let texts: BTreeSet<String> = files
        .iter()
        .map(|file| {
            let text = std::fs::read_to_string(file).unwrap();
            let owls: Vec<&str> = text.lines().filter(|line| line.starts_with("owl")).collect();
            assert_eq!(owls.len(), 3, "{}: {text}", file.display());
            let of = |owl: &str| owl.rsplit_once(' ').unwrap().0.to_owned();
            assert!(owls.iter().all(|owl| of(owl) == of(owls[0])), "{text}");
            of(owls[0])
        })
        .collect();
    assert_eq!(texts.len(), files.len());
}

#[test]
fn conversations_go_into_files_and_pairs() {
    let home = Home::new();
    let line = |role: &str, content: &str, time: i64, instance: &str| {
        json!({"role": role, "content": content, "timestamp": time, "trace_id": instance, "partition": "../p",
               "instance": instance})
        .to_string()
            + "\n"
    };
    let lines = line("user", "When do owls hunt?", 1, "a")
        + &line("user", "And bats?", 2, ".b/c")
        + &line("assistant", "At night.", 3, "a")
        + &line("assistant", "Most of them.", 4, "a");
    import(&home, &[], &lines).ok();
    home.run("rsv-export", &["--format", "md", "--to", "out"], "").ok();
    let (one, other) = (home.read("out/%2E.%2Fp/a.md"), home.read("out/%2E.%2Fp/%2Eb%2Fc.md"));
    assert_eq!(one.matches("**assistant** ").count(), 2, "{one}");
    assert!(other.ends_with("And bats?\n\n"), "{other}");
    assert!(!home.path("p").exists());
    let again = home.run("rsv-export", &["--format", "md", "--to", "out"], "").trouble();
    assert!(again.starts_with("rsv-export: error: out is not empty\n"), "{again}");
    let pairs = home.run("rsv-export", &["--format", "openai"], "").ok();
    let wanted = json!({"messages": [{"role": "user", "content": "When do owls hunt?"},
                                     {"role": "assistant", "content": "At night."}]});
    assert_eq!(lines_of(&pairs), [wanted]);
    // The pairs come back, with the time that they are given.
    let other = Home::new();
    import(&other, &["--at", "2026-11-01"], &pairs).ok();
    assert_eq!(other.contents("rsv-view", &["-p", "openai"]), ["When do owls hunt?", "At night."]);
}

on_each_store!(a_copy_of_a_store_is_a_store);
fn a_copy_of_a_store_is_a_store(home: Home) {
    import(&home, &[], &rich().export()).ok();
    home.run("rsv-export", &["--format", "sqlite", "--to", "copy.db"], "").ok();
    let copy = home.run("rsv-export", &["--vectors", "--store", "copy.db"], "").ok();
    assert_eq!(copy, home.export());
    home.run("rsv-ingest", &["--store", "copy.db", "more"], "").ok();
    let again = home.run("rsv-export", &["--format", "sqlite", "--to", "copy.db"], "").trouble();
    assert!(again.starts_with("rsv-export: error: cannot write copy.db: file exists\n"), "{again}");
}

#[test]
fn a_dry_run_writes_nothing() {
    let home = Home::new();
    let given = rich().export() + "{\"role\":\"user\"}\n";
    let ran = import(&home, &["--dry-run"], &given);
    assert!(ran.stderr.starts_with("rsv-import: error: <stdin>:16: content: is missing\n"), "{ran}");
    assert!(ran.stderr.ends_with("rsv-import: 15 records can be imported; nothing was written\n"), "{ran}");
    assert!(!home.store().exists());
    let second = import(&rich(), &["--dry-run", "-q"], &reservoirs_own());
    assert_eq!(second.to_string(), "[0]");
}

#[test]
fn files_and_standard_input_are_read_in_their_order() {
    let home = Home::new();
    let line = |n: usize| {
        json!({"role": "user", "content": format!("{n}"), "timestamp": n, "trace_id": "t", "partition": "p"})
            .to_string()
    };
    home.write("one.jsonl", &(line(1) + "\n{\n"));
    home.write("two words.json", &format!("[{}]", line(2)));
    let ran = import(&home, &["one.jsonl", "-", "two words.json"], &(line(3) + "\nx\n"));
    assert_eq!(
        ran.to_string(),
        "rsv-import: error: one.jsonl:2: the input ends inside an object\n\
         rsv-import: error: <stdin>:2: expected a JSON object, found 'x'\n\
         rsv-import: hint: each line is a JSON object: man 5 rsv-record\n[2]"
    );
    assert_eq!(home.contents("rsv-view", &["-p", "p"]), ["1", "2", "3"]);
    for (words, said) in [
        (
            &["none.json"][..],
            "cannot open none.json: no such file or directory\n\
             rsv-import: hint: did you mean 'one.jsonl'?",
        ),
        (&["-", "-"], "standard input ('-') is named more than once"),
    ] {
        assert_eq!(import(&home, words, "").to_string(), format!("rsv-import: error: {said}\n[2]"));
    }
}

#[test]
fn a_scope_narrows_export_and_import() {
    let home = Home::new();
    let mut lines = String::new();
    for (n, (partition, instance)) in
        [("work", "desk"), ("work", "phone"), ("home", "home")].into_iter().enumerate()
    {
        for (role, at) in [("user", 0), ("assistant", 1)] {
            let message = json!({"id": format!("{n}{at}"), "role": role, "content": format!("{role} at {instance}"),
                "trace_id": "t", "partition": partition, "instance": instance, "timestamp": 10 * n + at});
            let account = json!({"kind": "account", "id": format!("a{n}{at}"), "trace_id": "t", "partition": partition,
                "instance": instance, "timestamp": 10 * n + at});
            let vector = json!({"kind": "embedding", "of": format!("{n}{at}"), "model": "m", "vector": [1]});
            lines += &format!("{message}\n{account}\n{vector}\n");
        }
    }
    // A link from one scope to another belongs to neither alone.
    lines += "{\"kind\":\"link\",\"rel\":\"SYNAPSE\",\"from\":\"00\",\"to\":\"21\",\"timestamp\":1}\n";
    home.ingest(&[], &lines);
    let whole = home.export();
    let count = |export: &str| {
        let kinds = ["message", "account", "embedding", "link"];
        kinds.map(|kind| export.matches(&format!("\"kind\":\"{kind}\"")).count())
    };
    assert_eq!(count(&whole), [6, 6, 6, 4]);
    for (words, wanted) in [
        (&["-p", "work"][..], [4, 4, 4, 2]),
        (&["-p", "work", "-i", "desk"], [2, 2, 2, 1]),
        (&["-p", "home"], [2, 2, 2, 1]),
        (&["-p", "nowhere"], [0; 4]),
        (&["-i", "desk"], [0; 4]),
    ] {
        let narrow = export(&home, &[words, &["--vectors"]].concat());
        assert_eq!(count(&narrow), wanted, "{words:?}");
        // The same words narrow an import to the same.
        let other = Home::new();
        import(&other, words, &whole).ok();
        assert_eq!(other.export(), narrow, "{words:?}");
        let all = Home::new();
        import(&all, &[], &narrow).ok();
        assert_eq!(all.export(), narrow);
    }
}

#[test]
fn roles_and_times_narrow_an_export() {
    let home = rich();
    let ids = |words: &[&str]| -> Vec<String> {
        let lines = lines_of(&export(&home, words));
        lines.iter().filter(|r| r["kind"] == "message").map(|r| text(&r["id"])).collect()
    };
    assert_eq!(ids(&["--role", "user"]), ["m5", "m1"]);
    assert_eq!(ids(&["--since", "2000"]), ["m2", "m3", "m4"]);
    assert_eq!(ids(&["--since", "1", "--until", "1000", "--role", "user", "--role", "system"]), ["m7", "m1"]);
    // Links go along where both ends do.
    assert_eq!(export(&home, &["--since", "1000"]).matches("\"kind\":\"link\"").count(), 2);
    assert_eq!(export(&home, &["--role", "user"]).matches("\"kind\":\"link\"").count(), 0);
}

#[test]
fn an_id_of_another_record_is_an_error_of_the_import() {
    let home = Home::new();
    let line = |id: &str, partition: &str, content: &str| {
        let m = json!({"id": id, "role": "user", "content": content, "timestamp": 1, "trace_id": "t",
            "partition": partition, "instance": "i"});
        m.to_string() + "\n"
    };
    home.run("rsv-import", &[], line("m1", "a", "first")).ok();
    let before = home.export();
    let lines = line("m1", "a", "first") + &line("m1", "b", "first") + &line("m2", "b", "second");
    let ran = home.run("rsv-import", &[], &lines);
    assert_eq!(
        (ran.status, ran.stderr.as_str()),
        (
            2,
            "rsv-import: error: <stdin>:2: id: m1 belongs to another record of a/i, which is kept; \
             this message of b/i is not stored\n\
             rsv-import: hint: give it another id, or none\n\
             rsv-import: 1 record was not imported: its id belongs to another record\n"
        )
    );
    assert!(home.export().starts_with(&before));
    assert_eq!(home.contents("rsv-view", &["-p", "b"]), ["second"]);
    assert_eq!(home.run("rsv-import", &[], home.export()).status, 0);
}

#[test]
fn what_is_stored_within_the_limit_of_a_line_can_be_imported() {
    for text in ["\u{1}".repeat(500), "x".repeat(1500), "x".repeat(1800), "x".repeat(1990)] {
        let home = Home::new().env("RSV_MAX_LINE_BYTES", "2000");
        let ran = home.run("rsv-ingest", &[], text.as_str());
        let lines = home.export();
        assert!(lines.lines().all(|line| line.len() <= 2000));
        assert_eq!(ran.status, if lines.is_empty() { 2 } else { 0 }, "{ran}");
        assert_eq!(lines.is_empty(), text.len() != 1500, "{ran}");
        if lines.is_empty() {
            let error = "rsv-ingest: error: the line of the message to store: is longer than the limit of 2000 bytes\n";
            assert!(ran.stderr.starts_with(error), "{ran}");
        }
        let other = Home::new().env("RSV_MAX_LINE_BYTES", "2000");
        other.run("rsv-import", &[], lines.as_str()).ok();
        assert_eq!(other.export(), lines);
    }
}

#[test]
fn messages_without_a_trace_get_that_of_their_question() {
    let turn = |role: &str, content: &str, time: i64| {
        json!({"role": role, "content": content, "timestamp": time, "partition": "p"}).to_string() + "\n"
    };
    let first = turn("user", "What is an owl?", 1) + &turn("assistant", "A bird.", 2);
    let second = turn("user", "And a fox?", 3) + &turn("assistant", "A mammal.", 4);
    let third = turn("user", "And a newt?", 5) + &turn("assistant", "An amphibian.", 6);
    let home = Home::new();
    home.run("rsv-import", &[], first.clone() + &second).ok();
    home.run("rsv-import", &[], second.clone() + &third).ok();
    let whole = Home::new();
    whole.run("rsv-import", &[], first + &second + &third).ok();
    assert_eq!(home.export(), whole.export());
    let messages: Vec<Value> =
        lines_of(&home.export()).into_iter().filter(|r| r["kind"] == "message").collect();
    let traces: Vec<String> = messages.iter().map(|message| text(&message["trace_id"])).collect();
    assert_eq!(traces.len(), 6);
    for turn in traces.chunks(2) {
        assert_eq!(turn[0], turn[1]);
    }
    assert!(traces[0] != traces[2] && traces[2] != traces[4]);
    // Another scope has traces of its own.
    let line = turn("user", "What is an owl?", 1).replace("\"p\"", "\"q\"");
    home.run("rsv-import", &[], line).ok();
    assert!(lines_of(&home.run("rsv-view", &["-p", "q"], "").ok())[0]["trace_id"] != json!(traces[0]));
}

#[test]
fn csv_and_markdown_are_written() {
    let home = Home::new();
    let line = |n: i64, role: &str, content: &str| {
        let m =
            json!({"id": format!("m{n}"), "role": role, "content": content, "timestamp": n, "trace_id": "t"});
        m.to_string() + "\n"
    };
    home.ingest(&[], &(line(1, "user", "a, \"b\"\nc") + &line(2, "assistant", "plain\n\n")));
    assert_eq!(
        export(&home, &["--format", "csv"]),
        "created_at,partition,instance,trace_id,role,content,id\n\
         1970-01-01T00:00:00.001Z,default,default,t,user,\"a, \"\"b\"\"\nc\",m1\n\
         1970-01-01T00:00:00.002Z,default,default,t,assistant,\"plain\n\n\",m2\n"
    );
    assert_eq!(
        export(&home, &["--format", "md"]),
        "**user** · 1970-01-01T00:00:00.001Z · default/default\n\na, \"b\"\nc\n\n\
         **assistant** · 1970-01-01T00:00:00.002Z · default/default\n\nplain\n\n"
    );
    assert!(home.run("rsv-export", &["--format", "yaml"], "").trouble().contains("jsonl, json, csv, md"));
}

#[test]
fn cells_of_safe_csv_are_no_formulas() {
    let home = Home::new();
    let texts = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "1=1"];
    for text in texts {
        home.ingest(&[], &json!({"role": "user", "content": text}).to_string());
    }
    home.ingest(&["-p", "=p", "-i", "i"], &json!({"role": "user", "content": "plain"}).to_string());
    let csv = export(&home, &["--format", "csv", "--safe"]);
    for text in &texts[..6] {
        assert!(csv.contains(&format!("'{text}")), "{csv}");
    }
    assert!(csv.contains(",1=1,") && csv.contains(",'=p,i,") && csv.contains(",plain,"), "{csv}");
    assert!(!export(&home, &["--format", "csv"]).contains('\''));
}

#[test]
fn markdown_and_dot_have_no_raw_control_characters() {
    let home = Home::new();
    let text = "a\u{1b}[31mb\u{202e}c\u{2066}d\u{9b}e\tf";
    let line = json!({"role": "user", "content": text, "partition": "p\u{1b}\nq", "instance": "i"});
    home.ingest(&[], &line.to_string());
    let shown = "a\\u{1b}[31mb\\u{202e}c\\u{2066}d\\u{9b}e";
    let markdown = export(&home, &["--format", "md"]);
    assert!(
        markdown.contains(&format!("{shown}\tf\n")) && markdown.contains("p\\u{1b} q/i\n"),
        "{markdown:?}"
    );
    let dot = home.run("rsv-link", &["-p", "p\u{1b}\nq", "-i", "i", "--format", "dot"], "").ok();
    assert!(dot.contains(&format!("{} f", shown.replace('\\', "\\\\"))), "{dot:?}");
}

/// Keeps: An export is a snapshot, and importing it restores every byte.
#[test]
fn an_export_is_a_snapshot_while_others_write() {
    let home = Home::new();
    std::thread::scope(|threads| {
        for writer in 0..3 {
            let home = home.clone();
            threads.spawn(move || {
                let mut stream = home.talk("rsv-ingest", &[]);
                for n in 0..60 {
                    let rsv = json!({"trace_id": format!("{writer} {n}"), "user": {"role": "user", "content": "ask"}});
                    let turn = json!({"choices": [{"message": {"role": "assistant", "content": "reply"}}], "rsv": rsv});
                    stream.say(&turn.to_string());
                    stream.hear().unwrap();
                }
                assert_eq!(stream.end().1, "");
            });
        }
        let mut counts = Vec::new();
        while counts.last().is_none_or(|count| *count < 180) {
            let lines = lines_of(&home.export());
            let of_kind = |kind: &str| lines.iter().filter(|r| r["kind"] == kind).collect::<Vec<_>>();
            let (messages, links) = (of_kind("message"), of_kind("link"));
            assert_eq!(messages.len(), 2 * links.len(), "half a turn came out");
            for link in &links {
                for end in ["from", "to"] {
                    assert!(messages.iter().any(|m| m["id"] == link[end]), "{link}");
                }
            }
            counts.push(links.len());
        }
        assert!(counts.is_sorted(), "{counts:?}");
    });
}

#[test]
fn a_large_store_survives_export_and_import() {
    let count = number_from("RSV_TEST_ROWS").unwrap_or(21_000);
    let mut dice = Dice(7);
    let mut lines = String::new();
    for n in 0..count {
        // Not in the order of time, in some scopes.
        let (time, partition) = (dice.below(1_000_000), ["a", "b", "c"][dice.below(3)]);
        let role = ["user", "assistant"][dice.below(2)];
        lines += &format!(
            "{}\n",
            json!({"kind": "message", "id": format!("m{n}"), "trace_id": format!("t{}", n / 9),
            "partition": partition, "role": role, "content": format!("word{} word{}", dice.below(99), n), "timestamp": time})
        );
    }
    let home = Home::new();
    import(&home, &[], &lines).ok();
    let exported = home.export();
    assert_eq!(exported.lines().count(), count as usize);
    let other = Home::new();
    import(&other, &[], &exported).ok();
    assert_eq!(other.export(), exported);
    assert_eq!(other.contents("rsv-search", &[&format!("word{}", count - 1), "--all"]).len(), 1);
    other.check();
}

#[test]
fn a_narrowed_import_takes_no_link_of_another_scope() {
    let home = Home::new();
    let lines = r#"{"role":"user","content":"a","id":"w1","trace_id":"1","timestamp":1,"partition":"work"}
{"role":"user","content":"b","id":"w2","trace_id":"2","timestamp":2,"partition":"work"}
{"role":"user","content":"c","id":"h1","trace_id":"3","timestamp":3,"partition":"home"}
"#;
    home.run("rsv-ingest", &[], lines).ok();
    let links = r#"{"rel":"SYNAPSE","from":"w1","to":"w2","timestamp":9}
{"rel":"SYNAPSE","from":"w1","to":"h1","timestamp":9}
{"rel":"SYNAPSE","from":"h1","to":"w2","timestamp":9}
{"kind":"embedding","of":"h1","model":"m","vector":[1]}
"#;
    home.run("rsv-import", &["-p", "work"], links).ok();
    let stored = home.run("rsv-export", &["--vectors"], "").ok();
    let links: Vec<&str> = stored.lines().filter(|line| !line.contains("\"message\"")).collect();
    assert_eq!(links, [r#"{"kind":"link","rel":"SYNAPSE","from":"w1","to":"w2","timestamp":9}"#]);
}

#[test]
fn a_vector_of_another_length_is_named_and_its_message_comes_in() {
    let home = Home::new();
    let line = |id: &str, vector: &str| {
        format!(
            r#"{{"kind":"message","id":"{id}","trace_id":"t","partition":"p","instance":"i","role":"user","content":"About {id}","timestamp":{},"embedding":{vector},"embedding_model":"m"}}"#,
            id.len()
        ) + "\n"
    };
    let lines = [line("a", "[1,0.5,0.2]"), line("bb", "[1,0.5]"), line("ccc", "[0.2,0.5,1]")].concat();
    let said = import(&home, &[], &lines).trouble();
    let wanted = "rsv-import: error: <stdin>:2: embedding: has 2 numbers, but those of m have 3; \
                  the message is stored without it\n\
                  rsv-import: hint: embed it with the model in use: rsv-embed --pending\n";
    assert_eq!(said, wanted);
    assert_eq!(home.contents("rsv-view", &["--all", "9"]).len(), 3);
    // In a later import, too.
    assert_eq!(import(&home, &[], &line("dddd", "[1]")).trouble().matches("stored without it").count(), 1);
    assert_eq!(home.contents("rsv-view", &["--all", "9"]).len(), 4);
    home.check();
}

#[test]
fn verbose_lists_what_was_there_already_and_link_makes_the_links() {
    let home = Home::new();
    let line = |id: &str, role: &str, time: u32| {
        format!(
            r#"{{"kind":"message","id":"{id}","trace_id":"t","partition":"p","instance":"i","role":"{role}","content":"About {id}","timestamp":{time},"embedding":[1,0.{time}],"embedding_model":"m"}}"#,
        ) + "\n"
    };
    import(&home, &[], &line("a", "user", 1)).ok();
    let all = [line("a", "user", 1), line("b", "assistant", 2), line("c", "user", 3)].concat();
    let said = import(&home, &["-v", "--link"], &all).stderr;
    assert!(said.contains("<stdin>:1: the store has the record a already"), "{said}");
    assert!(!said.contains("the record b already"), "{said}");
    let linked = lines_of(&home.export()).into_iter().filter(|line| line["kind"] == "link");
    let relations: Vec<String> = linked.map(|link| text(&link["rel"])).collect();
    assert!(relations.contains(&"RESPONDED_WITH".to_owned()), "{relations:?}");
    assert!(relations.contains(&"SYNAPSE".to_owned()), "{relations:?}");
}
