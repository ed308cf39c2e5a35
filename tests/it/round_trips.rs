//! Each format of an export brings back the members that the table of rsv-export(1) names.

use crate::docs::read;
use crate::support::{Home, lines_of, on_each_store};
use serde_json::{Map, Value};

/// The columns of the table, and the members of an exported line that stand for them.
const COLUMNS: [(&str, &[&str]); 5] = [
    ("ids", &["id"]),
    ("times", &["created_at"]),
    ("scopes", &["partition", "instance"]),
    ("traces", &["trace_id"]),
    ("members", &["name", "mood"]),
];

/// Messages that every format can represent, and more: other members, a vector, a synapse, an account.
const STORED: [&str; 7] = [
    r#"{"id":"m1","trace_id":"t1","partition":"p","instance":"i","role":"user","content":"When do owls hunt?","timestamp":1000,"name":"Ada"}"#,
    r#"{"id":"m2","trace_id":"t1","partition":"p","instance":"i","role":"assistant","content":"At night.\n\n- Most of them.","timestamp":2000,"mood":1.0}"#,
    r#"{"id":"m3","trace_id":"t2","partition":"q","instance":"j","role":"user","content":"=1+1, \"quoted\", 日本","timestamp":3000}"#,
    r#"{"id":"m4","trace_id":"t2","partition":"q","instance":"j","role":"assistant","content":"Two.","timestamp":3500}"#,
    r#"{"kind":"embedding","of":"m1","model":"tiny","vector":[1,0.1]}"#,
    r#"{"kind":"link","rel":"SYNAPSE","from":"m1","to":"m3","timestamp":5,"score":0.875,"model":"tiny"}"#,
    r#"{"kind":"account","id":"a1","trace_id":"t1","partition":"p","instance":"i","timestamp":1000,"window":8192}"#,
];

/// The messages of a store as far as some of their members go, without those that are missing, in an order that they
/// decide alone.
fn messages(home: &Home, store: &[&str], members: &[&str]) -> Vec<Value> {
    let lines = lines_of(&home.run("rsv-export", &[store, &["--kind", "message"]].concat(), "").ok());
    let of = |line: &Value| {
        let named = ["role", "content"].iter().chain(members);
        let there = named.filter_map(|name| Some(((*name).to_owned(), line.get(*name)?.clone())));
        Value::Object(there.collect::<Map<String, Value>>())
    };
    let mut messages: Vec<Value> = lines.iter().filter(|line| line["kind"] == "message").map(of).collect();
    messages.sort_by_cached_key(Value::to_string);
    messages
}

/// The rows of the table: the format, and for each column whether it comes back.
fn table() -> Vec<(String, Vec<bool>)> {
    let page = read("man/rsv-export.1");
    let (_, table) = page.split_once(".It Em format").unwrap();
    let (head, rows) = table.split_once('\n').unwrap();
    for (name, _) in COLUMNS {
        assert!(head.contains(&format!("Em {name}")), "{head}");
    }
    let rows = rows.split(".El").next().unwrap().lines();
    rows.map(|row| {
        let cells: Vec<&str> = row.strip_prefix(".It Cm ").unwrap().split(" Ta ").collect();
        (cells[0].to_owned(), cells[1..].iter().map(|cell| *cell == "yes").collect())
    })
    .collect()
}

on_each_store!(each_format_carries_what_the_table_says);
/// Keeps: Each format carries the members that its table names.
fn each_format_carries_what_the_table_says(home: Home) {
    home.run("rsv-ingest", &[], STORED.join("\n")).ok();
    let rows = table();
    let formats: Vec<&str> = rows.iter().map(|(format, _)| format.as_str()).collect();
    assert_eq!(formats, ["jsonl", "sqlite", "json", "csv", "md", "openai"]);
    for (format, carried) in &rows {
        let other = ["--store", "other.db"];
        let _ = std::fs::remove_file(home.path("other.db"));
        let whole = ["jsonl", "sqlite"].contains(&format.as_str());
        if format == "sqlite" {
            home.run("rsv-export", &["--format", format, "--to", "other.db"], "").ok();
        } else {
            let words: &[&str] = if whole { &["--vectors"] } else { &["--format", format] };
            let exported = home.run("rsv-export", words, "").ok();
            let words = [&other[..], &["--quiet", "--at", "2026-11-01"]].concat();
            let ran = home.run("rsv-import", &words, &exported);
            assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{format}");
            // A second time changes nothing.
            let once = home.run("rsv-export", &other, "").ok();
            home.run("rsv-import", &words, &exported).ok();
            assert_eq!(home.run("rsv-export", &other, "").ok(), once, "{format}");
        }
        let is_same = |members: &[&str]| messages(&home, &[], members) == messages(&home, &other, members);
        if format != "openai" {
            assert!(is_same(&[]), "{format}: {:?}", messages(&home, &other, &[]));
        }
        for ((name, members), is_carried) in COLUMNS.iter().zip(carried) {
            assert_eq!(is_same(members), *is_carried, "{format}: {name}");
        }
        let export = |words: &[&str]| home.run("rsv-export", &[words, &["--vectors"]].concat(), "").ok();
        assert_eq!(export(&[]) == export(&other), carried[COLUMNS.len()], "{format}: everything else");
        assert_eq!(carried.len(), COLUMNS.len() + 1);
        assert_eq!(whole, carried[COLUMNS.len()]);
    }
}
