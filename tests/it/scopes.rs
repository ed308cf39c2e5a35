//! No tool sees the records of another scope, under any name.

use crate::support::{Home, lines_of, text};
use serde_json::{Value, json};

/// Names that would be trouble in SQL, in a path, on a line or in a pattern, and such as are nearly the same.
fn names() -> Vec<String> {
    let mut names: Vec<String> = [
        "work",
        "Work",
        "work ",
        " work",
        "work/",
        "work/desk",
        "wor",
        "w_rk",
        "w%k",
        "%",
        "_",
        "*",
        "'",
        "''",
        "\"",
        "a'b\"c",
        "'; DROP TABLE record; --",
        "x' OR '1'='1",
        "\\",
        "a\nb",
        "a\rb",
        "a\tb",
        "\n",
        "🦉",
        "👩\u{200d}💻",
        "é",
        "e\u{301}",
        "日本",
        "\u{202e}abc",
        "..",
        "../work",
        ".",
        "default",
        "null",
        "0",
        "-",
        "--all",
        "$HOME",
        "<rsv-memory>",
        "</rsv-memory>",
    ]
    .map(str::to_owned)
    .to_vec();
    names.extend(["n".repeat(1000), "n".repeat(999) + "m", "ü".repeat(1000)]);
    names
}

/// One store with a short conversation in each scope; all say the same, but for the number.
fn full(names: &[String]) -> Home {
    let home = Home::new();
    let mut lines = String::new();
    for (n, name) in names.iter().enumerate() {
        for (role, at) in [("user", 0), ("assistant", 1)] {
            let message = json!({"id": format!("m{n}-{at}"), "trace_id": "the same", "role": role, "partition": name,
                "instance": name, "content": format!("{role} owl number{n}"), "timestamp": 1000 + at});
            lines += &format!("{message}\n");
        }
    }
    home.ingest(&[], &lines);
    home
}

/// The records of JSON lines that belong to messages of other scopes than the `n`-th.
fn foreign(lines: &str, n: usize) -> Vec<Value> {
    let own = |id: &Value| text(id).starts_with(&format!("m{n}-"));
    let ends = |record: &Value| match record["kind"].as_str() {
        Some("link") => own(&record["from"]) && own(&record["to"]),
        _ => own(&record["id"]),
    };
    lines_of(lines).into_iter().filter(|record| !ends(record)).collect()
}

/// Keeps: No tool sees another scope.
#[test]
fn no_tool_sees_another_scope() {
    let names = names();
    let home = full(&names);
    for (n, name) in names.iter().enumerate() {
        let partition = format!("--partition={name}");
        for scope in [vec![partition.as_str()], vec![&partition, &*format!("--instance={name}")]] {
            let run = |tool: &str, words: &[&str]| {
                let ran = home.run(tool, &[words, &scope].concat(), "");
                assert!(ran.stderr.is_empty(), "{tool} {name:?}: {ran}");
                assert_eq!(foreign(&ran.stdout, n), [Value::Null; 0], "{tool} {name:?}");
                ran.stdout.lines().count()
            };
            assert_eq!(run("rsv-view", &["100"]), 2, "{name:?}");
            assert_eq!(run("rsv-view", &["100", "--trace", "the same"]), 2, "{name:?}");
            assert_eq!(run("rsv-search", &["owl", "--limit", "100"]), 2, "{name:?}");
            assert_eq!(run("rsv-search", &["--limit", "100", &format!("number{n}")]), 2, "{name:?}");
            assert_eq!(run("rsv-export", &[]), 3, "{name:?}");
        }
    }
    // The partition is there, the instance is another.
    let other = home.run("rsv-view", &["-p", "work", "-i", "Work"], "").ok();
    assert_eq!(other, "");
    assert_eq!(home.contents("rsv-view", &["1000", "--all"]).len(), 2 * names.len());
    home.check();
}

/// Keeps: No tool sees another scope.
#[test]
fn recall_stays_within_the_scope() {
    let names = names();
    let home = full(&names);
    let request =
        json!({"model": "llama3.1", "messages": [{"role": "user", "content": "What of the owl number?"}]});
    for (n, name) in names.iter().enumerate() {
        let words = [format!("--partition={name}")];
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let enriched = home.run("rsv-enrich", &words, request.to_string()).ok();
        let enriched = &lines_of(&enriched)[0];
        assert_eq!(enriched["rsv"]["partition"], **name);
        let recalled = text(&enriched["messages"][0]["content"]);
        let numbers: Vec<&str> =
            recalled.split("number").skip(1).map(|rest| rest.split('\n').next().unwrap()).collect();
        let own = n.to_string();
        assert_eq!(numbers, [&own, &own, "?"], "{name:?}: {recalled}");
        for id in lines_of(&enriched["rsv"]["account"].to_string())[0]["recent"].as_array().unwrap() {
            assert!(text(&id["id"]).starts_with(&format!("m{n}-")), "{id}");
        }
    }
}

#[test]
fn questions_are_linked_within_their_scope() {
    let names = names();
    let home = Home::new();
    // The same trace everywhere; a question in one half of the scopes, an answer in all.
    let mut lines = String::new();
    for (n, name) in names.iter().enumerate() {
        let message = |at: usize, role: &str| {
            json!({"kind": "message", "id": format!("m{n}-{at}"), "trace_id": "t", "role": role, "partition": name,
                "instance": name, "content": role, "timestamp": at})
            .to_string()
        };
        if n % 2 == 0 {
            lines += &format!("{}\n", message(1, "user"));
        }
        lines += &format!("{}\n", message(2, "assistant"));
    }
    home.run("rsv-import", &[], &lines).ok();
    let narrow = home.run("rsv-link", &["-p", "work"], "").ok();
    assert_eq!((lines_of(&narrow).len(), foreign(&narrow, 0).len()), (1, 0));
    let links = lines_of(&home.run("rsv-link", &[], "").ok());
    assert_eq!(links.len() + 1, names.len().div_ceil(2));
    for link in links {
        let scope = |end: &str| text(&link[end]).split('-').next().unwrap().to_owned();
        assert_eq!(scope("from"), scope("to"));
    }
}

#[test]
fn names_survive_export_and_import() {
    let home = full(&names());
    let exported = home.export();
    let other = Home::new();
    other.run("rsv-import", &[], &exported).ok();
    assert_eq!(other.export(), exported);
    let csv = home.run("rsv-export", &["--format", "csv", "-p", "a'b\"c"], "").ok();
    assert!(csv.contains(",\"a'b\"\"c\",\"a'b\"\"c\","), "{csv}");
}
