//! The store survives kills, concurrent processes, bad input, bad files and files that may not grow.

use crate::support::{Dice, Home, Ran, lines_of, number_from, readers, text};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs a tool by a line of shell; `$TOOL` is its path.
fn shell(
    home: &Home,
    tool: &str,
    line: &str,
    stdin: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Ran {
    let tool = home.command(tool);
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).env_clear().current_dir(home.path(""));
    command.envs(tool.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("TOOL", tool.get_program()).env("PATH", "/usr/bin:/bin");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        let reader = scope.spawn(|| child.wait_with_output().unwrap());
        let _ = stdin(&mut input);
        drop(input);
        reader.join().unwrap()
    });
    home.ran(output)
}

/// A turn of its own trace as a response line: two messages, an account and a link, or nothing.
pub(crate) fn turn(n: usize) -> String {
    let account = json!({"kind": "account", "id": format!("a{n}"), "trace_id": format!("t{n}"),
        "partition": "default", "instance": "default", "timestamp": 500});
    let rsv = json!({"trace_id": format!("t{n}"), "user": {"role": "user", "content": format!("ask {n}")},
        "account": account});
    let message = json!({"role": "assistant", "content": format!("reply {n}")});
    json!({"choices": [{"message": message}], "n": n, "rsv": rsv}).to_string()
}

/// The kinds of records of each trace.
pub(crate) fn by_trace(home: &Home) -> BTreeMap<String, Vec<String>> {
    let mut traces: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let lines = lines_of(&home.export());
    let ids: BTreeMap<String, String> = lines
        .iter()
        .filter(|r| r["id"].is_string())
        .map(|r| (text(&r["id"]), text(&r["trace_id"])))
        .collect();
    for record in &lines {
        let trace = record["trace_id"].as_str().unwrap_or_else(|| &ids[record["from"].as_str().unwrap()]);
        let shown = record["content"].as_str().unwrap_or(record["kind"].as_str().unwrap());
        traces.entry(trace.to_owned()).or_default().push(shown.to_owned());
    }
    traces
}

#[allow(clippy::print_stdout)] // Shown where the test fails.
/// Keeps: Acknowledged records survive a kill and a power cut.
#[test]
fn acknowledged_records_survive_a_kill() {
    let home = Home::new().at("1000");
    let kills = number_from("RSV_TEST_KILLS").unwrap_or(20) as usize;
    let seed = number_from("RSV_TEST_SEED").unwrap_or(200);
    println!("RSV_TEST_SEED={seed}");
    let mut dice = Dice(seed);
    let mut waiting: VecDeque<usize> = VecDeque::new();
    let (mut next, mut acknowledged) = (0, Vec::new());
    for round in 0..kills {
        let mut stream = home.talk("rsv-ingest", &[]);
        // Lines that were not acknowledged are sent again, as a client would.
        while waiting.len() < 40 {
            waiting.push_back(next);
            next += 1;
        }
        let mut input = stream.input.take().unwrap();
        let lines: Vec<String> = waiting.iter().map(|n| turn(*n) + "\n").collect();
        let at_once = 1 + dice.below(8);
        std::thread::scope(|threads| {
            threads.spawn(move || {
                // The tool may be dead by now.
                lines.chunks(at_once).try_for_each(|lines| input.write_all(lines.concat().as_bytes())).ok();
                input
            });
            for _ in 0..dice.below(30) {
                let passed_on: Value = serde_json::from_str(&stream.hear().unwrap()).unwrap();
                let sent = waiting.pop_front().unwrap();
                assert_eq!(passed_on["n"], sent);
                acknowledged.push(sent);
            }
            stream.child.kill().unwrap();
            stream.child.wait().unwrap();
        });
        if round % 20 == 19 {
            home.check();
        }
    }
    let traces = by_trace(&home);
    for n in &acknowledged {
        assert!(traces.contains_key(&format!("t{n}")), "turn {n} was acknowledged and is lost");
    }
    for (trace, records) in &traces {
        let n = &trace[1..];
        let whole = [format!("ask {n}"), "account".into(), format!("reply {n}"), "link".into()];
        assert_eq!(*records, whole, "every turn is there whole and once");
    }
    assert!(acknowledged.len() > kills * 10, "{}", acknowledged.len());
}

#[test]
fn sixteen_concurrent_writers_and_readers_agree() {
    let home = Home::new();
    let done = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|threads| {
        for writer in 0..16 {
            let (home, done) = (home.clone(), &done);
            threads.spawn(move || {
                let trace = format!("t{writer}");
                let mut stream = home.talk("rsv-ingest", &["--trace", &trace]);
                for n in 0..200 {
                    let role = ["user", "assistant"][n % 2];
                    stream.say(&json!({"role": role, "content": format!("owl {writer} {n}")}).to_string());
                    assert!(stream.hear().is_some(), "{}", stream.end().1);
                }
                let (status, stderr) = stream.end();
                assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
                done.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            });
        }
        let mut seen = vec![0];
        while done.load(std::sync::atomic::Ordering::SeqCst) < 16 {
            let found = home.run("rsv-search", &["owl", "--limit", "10000"], "");
            assert!(found.status < 2 && found.stderr.is_empty(), "{found}");
            seen.push(found.stdout.lines().count());
            let lines = lines_of(&home.export());
            let ids: Vec<&str> = lines.iter().filter_map(|r| r["id"].as_str()).collect();
            seen.push(ids.len());
            for link in lines.iter().filter(|r| r["kind"] == "link") {
                assert!([&link["from"], &link["to"]].iter().all(|id| ids.contains(&id.as_str().unwrap())));
            }
        }
        assert!(seen.is_sorted(), "what was there once was gone: {seen:?}");
    });
    let found = home.contents("rsv-search", &["owl", "--limit", "10000"]);
    assert_eq!(found.len(), 3200);
    for writer in 0..16 {
        let wanted: Vec<String> = (0..200).map(|n| format!("owl {writer} {n}")).collect();
        assert_eq!(home.contents("rsv-view", &["300", "--trace", &format!("t{writer}")]), wanted);
    }
    assert_eq!(home.export().matches("RESPONDED_WITH").count(), 1600);
    home.check();
}

#[test]
fn processes_that_come_and_go_do_not_disturb_each_other() {
    let home = Home::new();
    // The first of them make the store, all at once.
    std::thread::scope(|threads| {
        for writer in 0..12 {
            let home = home.clone();
            threads.spawn(move || {
                for n in 0..8 {
                    home.run("rsv-ingest", &["--trace", "t", &format!("owl {writer} {n}")], "").ok();
                    let found =
                        home.contents("rsv-search", &["owl", &format!("{writer}"), "--limit", "1000"]);
                    assert!(found.contains(&format!("owl {writer} {n}")), "{found:?}");
                }
            });
        }
    });
    assert_eq!(home.contents("rsv-view", &["1000"]).len(), 96);
    home.check();
}

#[test]
fn an_import_that_was_killed_can_be_run_again() {
    let mut dice = Dice(11);
    let mut lines = String::new();
    for n in 0..30_000 {
        let role = ["user", "assistant"][n % 2];
        let message = json!({"role": role, "content": format!("said {n}"), "trace_id": format!("t{}", n / 2),
            "timestamp": dice.below(1_000_000), "partition": "p", "embedding": [n, 1], "embedding_model": "m"});
        lines += &format!("{message}\n");
    }
    let once = Home::new();
    let file = once.write("import.jsonl", &lines);
    once.run("rsv-import", &[file.to_str().unwrap()], "").ok();
    let home = Home::new();
    // After 20 000 lines comes a commit: killed before it, during it, and after it.
    let after = 26_000;
    for count in [10_000, 20_600, 21_000, 21_500, after] {
        let mut import = home.talk("rsv-import", &["-"]);
        let mut input = import.input.take().unwrap();
        let half: String = lines.lines().take(count).map(|line| format!("{line}\n")).collect();
        input.write_all(half.as_bytes()).unwrap();
        while count == after && home.contents("rsv-view", &["1", "--all"]).is_empty() {}
        import.child.kill().unwrap();
        import.child.wait().unwrap();
        if home.store().exists() {
            home.check();
        }
    }
    assert_eq!(home.contents("rsv-view", &["99999", "--all"]).len(), 20_000);
    home.run("rsv-import", &[file.to_str().unwrap()], "").ok();
    home.check();
    assert!(home.export() == once.export(), "the stores differ");
}

/// A home that holds one message, and a check that it still does.
fn holding() -> (Home, impl Fn()) {
    let home = Home::new();
    home.run("rsv-ingest", &["-p", "kept", "I stay"], "").ok();
    let second = home.clone();
    (home, move || {
        second.check();
        assert_eq!(second.contents("rsv-view", &["-p", "kept"]), ["I stay"]);
    })
}

#[test]
fn bad_bytes_are_refused_by_every_tool() {
    let (home, intact) = holding();
    let message = |content: &[u8]| [br#"{"role":"user","content":""#, content, br#""}"#].concat();
    let mut dice = Dice(5);
    let noise: Vec<u8> = (0..20_000).map(|_| dice.below(256) as u8).collect();
    let binary = [b"\xff\xfe\x00\x01".as_slice(), &noise].concat();
    for (what, input, said) in [
        ("binary", binary.clone(), ""),
        ("binary behind a brace", [b"{".as_slice(), &binary].concat(), ""),
        ("invalid UTF-8", message(b"\xc3("), "invalid UTF-8"),
        ("half of a surrogate, in UTF-8", message(b"\xed\xa0\x80"), "invalid UTF-8"),
    ] {
        for tool in readers() {
            let stderr = home.run(&tool, &[], &input).trouble();
            // The tool without a model says only that.
            assert!(
                stderr.contains(said) || stderr.contains("no embedding model"),
                "{tool} {what}: {stderr}"
            );
        }
    }
    for words in [&["--role", "user"][..], &["--role", "assistant", "-p", "x"]] {
        let said = home.run("rsv-ingest", words, message(b"\n\xc3(")).trouble();
        let hint = "rsv-ingest: hint: if it is Latin-1, pipe it through: iconv -f latin1 -t utf8\n";
        assert_eq!(said, format!("rsv-ingest: error: <stdin>:2: invalid UTF-8\n{hint}"));
    }
    assert_eq!(home.contents("rsv-view", &["--all"]), ["I stay"]);
    intact();
}

#[test]
fn bad_json_is_refused_where_json_is_read() {
    let (home, intact) = holding();
    let deep = "[".repeat(100_000);
    for (what, bad) in [
        ("cut short", r#"{"role":"user","content":"#.to_owned()),
        ("NUL in a string", "{\"role\":\"user\",\"content\":\"a\0b\"}".into()),
        ("NUL between tokens", "{\"role\":\"user\",\0\"content\":\"b\"}".into()),
        ("deep nesting, never closed", format!("{{\"role\":\"user\",\"content\":{deep}")),
        ("deep content", format!("{{\"role\":\"user\",\"content\":{deep}{}}}", "]".repeat(100_000))),
        (
            "keys twice",
            r#"{"role":"user","content":"a","content":"b","messages":[{"role":"user","content":"x"}]}"#
                .into(),
        ),
        ("a role twice", r#"{"messages":[{"role":"user","role":"user","content":"x"}],"choices":[]}"#.into()),
        (
            "no escape",
            r#"{"role":"user","content":"\x41","messages":[{"role":"user","content":"\x41"}]}"#.into(),
        ),
        (
            "no number",
            r#"{"role":"user","content":"x","n":01,"messages":[{"role":"user","content":"x"}]}"#.into(),
        ),
        (
            "a number beyond 64 bits",
            r#"{"role":"user","content":"x","timestamp":922337203685477580800,"max_tokens":9223372036854775808,
                "messages":[{"role":"user","content":"x"}]}"#
                .replace('\n', ""),
        ),
        ("a list", "[1,2,3]".into()),
        ("a word", "{nonsense}".into()),
    ] {
        // In the stream an earlier line decides that lines are read; the next is read again.
        let chunk = r#"{"kind":"chunk","data":"x"}"#;
        for (tool, good) in [("rsv-ingest", chunk), ("rsv-import", ""), ("rsv-enrich", "")] {
            // A request is passed on by rsv-ingest, which leaves what is in it alone.
            let bad = if tool == "rsv-ingest" { bad.replace("\"messages\"", "\"m\"") } else { bad.clone() };
            let stderr = home.run(tool, &[], format!("{good}\n{bad}\n{good}\n")).trouble();
            // A file with no object of any program is unknown to rsv-import, which names those that it knows.
            if stderr.contains("<stdin>: has no known format") {
                assert!(tool == "rsv-import" && ["a list", "a word"].contains(&what), "{what}: {stderr}");
                assert_eq!(stderr.lines().count(), 2, "{stderr}");
                continue;
            }
            assert!(stderr.contains("<stdin>:2: "), "{tool}, {what}: {stderr}");
            assert!(stderr.len() < 400, "{tool}, {what}: {stderr}");
        }
    }
    assert_eq!(home.contents("rsv-view", &["--all"]), ["I stay"]);
    intact();
}

#[test]
fn deep_members_and_long_numbers_pass_through() {
    let (home, intact) = holding();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let line = format!(
        "{{\"role\":\"user\",\"content\":\"deep\",\"trace_id\":\"t\",\"d\":{deep},\"n\":{}}}\n",
        "9".repeat(400)
    );
    let passed_on = home.run("rsv-ingest", &[], &line).ok();
    assert!(passed_on.contains(&format!(",\"d\":{deep},\"n\":{}}}", "9".repeat(400))));
    let other = Home::new();
    other.run("rsv-import", &[], home.export()).ok();
    assert!(other.export() == home.export());
    for (tool, words) in
        [("rsv-view", &["--format", "text"][..]), ("rsv-search", &["deep"]), ("rsv-link", &[])]
    {
        home.run(tool, words, "").ok();
    }
    let request =
        format!("{{\"messages\":[{{\"role\":\"user\",\"content\":\"deep\",\"d\":{deep}}}],\"x\":{deep}}}");
    assert!(home.run("rsv-enrich", &[], &request).ok().contains(&deep));
    intact();
}

#[test]
fn no_text_is_too_strange_to_keep() {
    let (home, intact) = holding();
    let strange =
        ["a\0b", "\u{feff}mark", "\u{fffe}\u{10ffff}", "\u{202e}", "a\rb\u{2028}c", "\u{7f}\u{80}\u{9f}"];
    for said in strange {
        let line = json!({"role": "user", "content": said, "trace_id": said, "instance": said}).to_string();
        assert_eq!(home.ingest(&["-p", "strange"], &line)[0]["content"], said);
        home.run("rsv-ingest", &["--role", "tool", "-p", "text"], said).ok();
    }
    let mut kept = home.contents("rsv-view", &["-p", "strange"]);
    kept.sort();
    let mut wanted: Vec<String> = strange.map(str::to_owned).to_vec();
    wanted.sort();
    assert_eq!(kept, wanted);
    assert_eq!(home.contents("rsv-view", &["-p", "text"]).len(), strange.len());
    let other = Home::new();
    other.run("rsv-import", &[], home.export()).ok();
    assert_eq!(other.export(), home.export());
    let shown = home.run("rsv-view", &["--all", "--format", "text"], "").ok();
    assert!(!shown.contains(['\0', '\u{7f}', '\u{202e}', '\r', '\u{9f}']), "{shown:?}");
    intact();
}

#[test]
fn a_line_of_100_mb_is_refused_within_little_memory() {
    let (home, intact) = holding();
    let long = |head: &'static str| {
        move |input: &mut dyn Write| -> std::io::Result<()> {
            input.write_all(head.as_bytes())?;
            let piece = vec![b'x'; 1 << 20];
            for _ in 0..100 {
                input.write_all(&piece)?;
            }
            input.write_all(b"\"}\n")
        }
    };
    let limited = |tool: &str, words: &str, head: &'static str| {
        // All that the tool may map, its own code and libraries included.
        shell(&home, tool, &format!("ulimit -v 200000; exec \"$TOOL\" {words}"), long(head)).trouble()
    };
    let head = "{\"role\":\"user\",\"content\":\"";
    for (tool, words, head) in [
        ("rsv-ingest", "", head),
        ("rsv-ingest", "--role user", ""),
        ("rsv-ingest", "", "plain text "),
        ("rsv-import", "", head),
        ("rsv-enrich", "", head),
        ("rsv-search", "", head),
        ("rsv-search", "", "plain text "),
    ] {
        let said = limited(tool, words, head);
        let place = if words.is_empty() && head.starts_with('{') { "<stdin>:1" } else { "<stdin>" };
        let wanted = format!(
            "{tool}: error: {place}: is longer than the limit of 32 MiB\n\
             {tool}: hint: raise it with: rsv-config set max_line_bytes BYTES\n"
        );
        assert_eq!(said, wanted);
    }
    intact();
}

#[test]
fn the_limit_of_a_line_can_be_set() {
    let home = Home::new();
    let line = |length: usize| json!({"role": "user", "content": "x".repeat(length)}).to_string();
    let lines = [line(10), line(200_000), line(20)].join("\n");
    let small = home.env("RSV_MAX_LINE_BYTES", "100000");
    let ran = small.run("rsv-ingest", &[], &lines);
    assert!(
        ran.stderr.starts_with("rsv-ingest: error: <stdin>:2: is longer than the limit of 100000 bytes\n"),
        "{ran}"
    );
    assert_eq!((ran.status, ran.stdout.lines().count()), (2, 2), "the others are stored");
    assert_eq!(small.run("rsv-search", &[], "x".repeat(100_001)).trouble().lines().count(), 2);
    home.run("rsv-config", &["set", "max_line_bytes", "300000"], "").ok();
    assert_eq!(home.ingest(&[], &lines).len(), 3);
    assert!(home.run("rsv-ingest", &[], line(300_001)).trouble().contains("limit of 300000 bytes\n"));
    // The limit holds for the line that is stored too, with the members that were added and a seq.
    let added = ran.stdout.lines().next().unwrap().len() - 10 + ",\"seq\":4294967295".len();
    assert_eq!(home.ingest(&[], &line(300_000 - added)).len(), 1);
    let error = home.run("rsv-ingest", &[], line(300_001 - added)).trouble();
    assert!(error.contains("the line of the message to store: is longer than the limit of 300000 bytes\n"));
}

/// The command line of each tool that needs the store.
const USERS: [(&str, &[&str], &str); 8] = [
    ("rsv-ingest", &["hello"], ""),
    ("rsv-ingest", &[], "{\"role\":\"user\",\"content\":\"x\"}"),
    (
        "rsv-import",
        &[],
        "{\"role\":\"user\",\"content\":\"x\",\"trace_id\":\"t\",\"timestamp\":1,\"partition\":\"p\"}",
    ),
    ("rsv-view", &[], ""),
    ("rsv-search", &["hello"], ""),
    ("rsv-export", &[], ""),
    ("rsv-forget", &["--everything", "--yes"], ""),
    ("rsv-link", &[], ""),
];

/// Every user of the store must refuse what stands at `store`, with these words, and leave it alone; rsv-enrich does
/// without it.
fn refused(home: &Home, store: &str, said: &str, hint: &str) {
    let path = home.path(store);
    let before = std::fs::read(&path).ok();
    for (tool, words, stdin) in USERS {
        let stderr = home.run(tool, &[words, &["--store", store]].concat(), stdin).trouble();
        let wanted =
            format!("{tool}: error: cannot open store sqlite:{store}: {said}\n{tool}: hint: {hint}\n");
        assert_eq!(stderr, wanted);
        assert_eq!(std::fs::read(&path).ok(), before, "{tool} changed {store}");
    }
    let request = "{\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}";
    let enriched = home.run("rsv-enrich", &["--store", store], request);
    let why = format!("cannot open store sqlite:{store}: {said}");
    assert!(enriched.status == 0 && enriched.stderr.contains(&why), "{enriched}");
    assert_eq!(std::fs::read(&path).ok(), before, "rsv-enrich changed {store}");
}

#[test]
fn a_foreign_file_is_refused_and_left_alone() {
    let home = Home::new();
    let another = "name another store with --store";
    std::fs::create_dir(home.path("directory")).unwrap();
    refused(&home, "directory", "is a directory", "name a file in it, such as --store DIRECTORY/store.db");
    home.write("text", &"This is no database.\n".repeat(100));
    refused(&home, "text", "is not an rsv store", another);
    home.write("short", "mine\n");
    refused(&home, "short", "is not an rsv store", another);

    let other = rusqlite::Connection::open(home.path("other.db")).unwrap();
    other.execute_batch("CREATE TABLE mine (x); INSERT INTO mine VALUES (1)").unwrap();
    drop(other);
    refused(&home, "other.db", "is the database of another program", another);
    for mark in ["application_id", "user_version"] {
        let marked = rusqlite::Connection::open(home.path(mark)).unwrap();
        marked.pragma_update(None, mark, 77).unwrap();
        drop(marked);
        refused(&home, mark, "is the database of another program", another);
    }
}

#[test]
fn a_store_of_another_version_is_refused_and_left_alone() {
    let home = Home::new();
    for version in [1, 2, 9, 18, 70] {
        let name = format!("of-{version}.db");
        home.run("rsv-ingest", &["hello", "--store", &name], "").ok();
        let other = rusqlite::Connection::open(home.path(&name)).unwrap();
        other.pragma_update(None, "user_version", version).unwrap();
        other.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        drop(other);
        let cause = format!("is of another version of rsv ({version}; this one reads 17)");
        let hint = "export it with the version that made it, then import the export: rsv-export > FILE, rsv-import FILE";
        refused(&home, &name, &cause, hint);
    }
}

#[test]
fn a_store_that_cannot_be_reached_is_named() {
    let home = Home::new();
    home.write("file", "x");
    for (tool, words, stdin) in USERS {
        for store in ["file/store.db", "/proc/none/store.db", "/dev/full/x"] {
            let ran = home.run(tool, &[words, &["--store", store]].concat(), stdin);
            // Where nothing can be, there is nothing to read either; writing must say so.
            let writes = ["rsv-ingest", "rsv-import"].contains(&tool);
            if writes || ran.status == 2 {
                let stderr = ran.trouble();
                let wanted = format!("{tool}: error: cannot open store sqlite:{store}: ");
                assert!(stderr.starts_with(&wanted), "{stderr}");
            }
        }
        let neo4j = home.run(tool, &[words, &["--store", "gopher://x"]].concat(), stdin).trouble();
        assert!(neo4j.contains("cannot open store gopher://x: "), "{neo4j}");
    }
}

#[test]
fn a_store_is_a_file_whatever_it_is_called() {
    let home = Home::new();
    for store in ["./:memory:", "file:x", "sqlite:./:memory:", "a b'c\"%41?x=1#y", "./-dash", "dir/../é.db"]
    {
        std::fs::create_dir_all(home.path("dir")).unwrap();
        let flag = format!("--store={store}");
        let ran = home.run("rsv-ingest", &[&flag, "kept"], "");
        if store.starts_with("file:") {
            // An address of a kind that is not served.
            assert!(ran.trouble().contains("cannot open store file:x: not an address"));
            continue;
        }
        ran.ok();
        assert_eq!(home.contents("rsv-view", &[&flag, "--role", "user"]), ["kept"], "{store}");
        home.run("rsv-search", &[&flag, "kept"], "").ok();
        for file in
            home.path("").read_dir().unwrap().map(|file| file.unwrap().path()).filter(|path| path.is_file())
        {
            std::fs::remove_file(file).unwrap();
        }
    }
}

#[test]
fn a_damaged_store_is_reported() {
    let home = Home::new();
    let lines: String = (0..2000)
        .map(|n| json!({"role": "user", "content": format!("hello {n}")}).to_string() + "\n")
        .collect();
    home.run("rsv-ingest", &["--store", "whole.db"], &lines).ok();
    let whole = rusqlite::Connection::open(home.path("whole.db")).unwrap();
    whole.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(whole);
    let bytes = std::fs::read(home.path("whole.db")).unwrap();
    assert!(bytes.len() > 200_000);
    let mut dice = Dice(13);
    let mut troubles = 0;
    for _ in 0..12 {
        let mut damaged = bytes.clone();
        for _ in 0..40 {
            let at = 100 + dice.below(bytes.len() - 600);
            for byte in &mut damaged[at..at + 500] {
                *byte = dice.below(256) as u8;
            }
        }
        for (tool, words, stdin) in USERS {
            for file in ["damaged.db-wal", "damaged.db-shm"] {
                let _ = std::fs::remove_file(home.path(file));
            }
            std::fs::write(home.path("damaged.db"), &damaged).unwrap();
            let ran = home.run(tool, &[words, &["--store", "damaged.db"]].concat(), stdin);
            // Some damage lies where a tool does not look.
            if ran.status == 2 {
                troubles += 1;
                ran.trouble();
            }
        }
    }
    assert!(troubles > 40, "{troubles}");
}

#[test]
fn a_file_that_may_not_grow_is_reported_and_nothing_is_half_written() {
    let (home, intact) = holding();
    let line = |n: usize| {
        json!({"kind": "message", "role": "user", "content": format!("{n} {}", "x".repeat(1000)), "trace_id": "t",
            "timestamp": n, "partition": "p"})
        .to_string()
    };
    let lines = (0..4000).map(line).collect::<Vec<_>>().join("\n");
    let before = home.export();
    // No file may grow beyond this many blocks of 512 bytes.
    for blocks in [0, 1, 100, 1000, 3000] {
        for tool in ["rsv-import", "rsv-ingest"] {
            let line = format!("ulimit -f {blocks}; exec \"$TOOL\"");
            let ran = shell(&home, tool, &line, |input| input.write_all(lines.as_bytes()));
            let passed_on = lines_of(&ran.stdout).len();
            let stderr = ran.trouble();
            assert!(
                stderr.contains("store sqlite:") && stderr.contains("the file may not grow"),
                "{blocks}: {stderr}"
            );
            assert!(stderr.contains("hint: raise the limit (ulimit -f) and try again"), "{stderr}");
            intact();
            // Whole batches only, and all that was acknowledged.
            let stored = home.contents("rsv-view", &["5000", "-p", "p"]).len();
            assert!(stored >= passed_on && stored < 4000, "{blocks}: {passed_on} {stored}");
        }
    }
    // With room again, the same import completes the store.
    home.run("rsv-import", &[], &lines).ok();
    let other = Home::new();
    other.run("rsv-import", &[], before + &lines).ok();
    let contents = |home: &Home| home.contents("rsv-view", &["5000", "--all"]);
    assert!(contents(&home) == contents(&other), "the stores differ");
    home.check();
}

#[test]
fn a_store_cannot_be_made_where_no_file_may_grow() {
    let home = Home::new();
    let ran = shell(&home, "rsv-ingest", "ulimit -f 0; exec \"$TOOL\" hello", |_| Ok(()));
    assert!(ran.trouble().contains("the file may not grow"));
    // Files of the failed attempt are no obstacle.
    home.run("rsv-ingest", &["hello"], "").ok();
    assert_eq!(home.contents("rsv-view", &[]), ["hello"]);
}

#[test]
fn closed_streams_are_no_panic() {
    let (home, intact) = holding();
    for (tool, words, _) in USERS {
        for closed in ["<&-", "2>&-", "<&- 2>&-"] {
            let line = format!("exec \"$TOOL\" {} {closed}", words.join(" "));
            let ran = shell(&home, tool, &line, |_| Ok(()));
            assert!(ran.status <= 2 && !ran.to_string().contains("panicked"), "{tool} {closed}: {ran}");
        }
    }
    let ran = shell(&home, "rsv-ingest", "exec \"$TOOL\" <&-", |_| Ok(()));
    assert_eq!(ran.ok(), "", "a closed input has no lines");
    intact();
}

#[test]
fn many_messages_are_shown_in_little_memory_and_its_lack_is_an_error_in_words() {
    let home = Home::new();
    let line = |n: usize| {
        let role = if n.is_multiple_of(2) { "user" } else { "assistant" };
        let (trace, words) = (n / 2, "an owl in a tall tree at night ".repeat(20));
        json!({"role": role, "content": format!("{n} {words}"), "trace_id": trace.to_string()}).to_string()
            + "\n"
    };
    home.run("rsv-ingest", &[], (0..20_000).map(line).collect::<String>()).ok();
    // A debug build itself takes more than 50 MB of this, and a search that holds its hits needs more than 110 MB.
    let limited = |tool: &str, words: &str| {
        shell(&home, tool, &format!("ulimit -v 80000; exec \"$TOOL\" {words}"), |_| Ok(()))
    };
    let shown = limited("rsv-view", "20000").ok();
    let exported = home.export();
    let messages: Vec<&str> = exported.lines().filter(|line| line.contains("\"kind\":\"message\"")).collect();
    assert!(messages.len() == 20_000 && shown.lines().eq(messages));
    let stats: Value = serde_json::from_str(&limited("rsv-link", "--stats").ok()).unwrap();
    let counts = ["messages", "answers", "components", "largest"].map(|name| stats[name].as_u64());
    assert_eq!(counts, [20_000, 10_000, 10_000, 2].map(Some));
    let ranked = limited("rsv-search", "--limit 20000 owl").ok();
    // Pages make no difference to the order: few are read at once here.
    let hits = lines_of(&ranked);
    let order = |hit: &Value| {
        (-hit["score"].as_f64().unwrap(), -hit["timestamp"].as_i64().unwrap(), text(&hit["id"]))
    };
    assert!(hits.len() == 20_000 && hits.is_sorted_by_key(order));
    assert!(hits.iter().zip(1..).all(|(hit, rank)| hit["rank"] == rank));
    let first = home.run("rsv-search", &["owl", "--limit", "50"], "").ok();
    assert!(ranked.starts_with(&first));
    // Without duplicates, and of a term that too many words hold for the index.
    let searched = |words: &str| {
        let held = home.run("rsv-search", &words.split(' ').collect::<Vec<_>>(), "").ok();
        let streamed = limited("rsv-search", words).ok();
        assert!(streamed == held && streamed.lines().count() > 10_000, "{words}");
        lines_of(&streamed)
    };
    assert_eq!(searched("--limit 20000 --deduplicate owl"), hits);
    assert!(searched("--limit 20000 1").iter().all(|hit| text(&hit["content"]).contains('1')));
    // Each neighbour of a hit comes once, and no hit is a neighbour.
    assert_eq!(searched("--limit 20000 --context 1 owl"), hits);
    let around = searched("--limit 20000 --context 1 7");
    let ids: BTreeSet<String> = around.iter().map(|line| text(&line["id"])).collect();
    assert_eq!(ids.len(), around.len());
    assert!(around.iter().all(|line| (line["kind"] == "hit") == text(&line["content"]).contains('7')));
    // Links are followed from all hits at once.
    let refused = limited("rsv-search", "--limit 20000 --link owl");
    // Wherever it runs out.
    let said = "out of memory\nrsv-search: hint: ask for less at a time, or allow more memory (ulimit -v)\n";
    assert_eq!((refused.status, &*refused.stdout), (2, ""));
    assert!(refused.stderr.starts_with("rsv-search: error: ") && refused.stderr.ends_with(said), "{refused}");
}

#[test]
fn a_thread_that_cannot_be_started_is_done_without_or_an_error_in_words() {
    let filled = Home::with_model();
    let lines: String =
        (0..300).map(|n| format!("{{\"role\":\"user\",\"content\":\"owl {n}\"}}\n")).collect();
    filled.run("rsv-ingest", &[], &lines).ok();
    // No thread gets a stack of this size.
    let home = filled.env("RUST_MIN_STACK", "100000000000000");
    let request = r#"{"model":"llama3.1","messages":[{"role":"user","content":"Which owl?"}]}"#;
    for (tool, words, input) in [
        ("rsv-ingest", &[][..], &*lines),
        ("rsv-import", &[], &lines),
        ("rsv-embed", &[], &lines),
        ("rsv-forward", &[], request),
        ("rsv-proxy", &["--port", "0"], ""),
        ("rsv-config", &["doctor"], ""),
    ] {
        let said = home.run(tool, words, input).trouble();
        assert!(said.contains("cannot start a thread"), "{said}");
    }
    home.run("rsv-embed", &["--pending", "--quiet"], "").ok();
    home.run("rsv-link", &["--quiet"], "").ok();
    for words in [&["--semantic", "owl"][..], &["--hybrid", "--link", "--limit", "100", "owl"]] {
        let found = home.run("rsv-search", words, "").ok();
        assert_eq!(found, filled.run("rsv-search", words, "").ok());
    }
}

#[test]
fn a_question_of_10_mb_takes_little_memory() {
    let home = Home::new();
    home.run("rsv-ingest", &["An owl in a wood 7"], "").ok();
    let numbers: String = (0..1_300_000).map(|n| format!("{n} ")).collect();
    let line = "ulimit -v 120000; exec \"$TOOL\"";
    let ran = shell(&home, "rsv-search", line, |input| input.write_all(numbers.as_bytes()));
    assert_eq!((ran.status, &*ran.stderr), (1, ""));
}

#[test]
fn no_name_begins_a_line_of_an_error() {
    let home = Home::new();
    for end in rsv::record::LINE_ENDS {
        let name = format!("a{end}rsv-view: error: b");
        let ran = home.run("rsv-view", &["--store", &name], "");
        assert_eq!(ran.stderr.split(rsv::record::LINE_ENDS).count(), 2, "{ran}");
        let ran = home.run("rsv-view", &["--store", &format!("/dev/null/{name}")], "");
        assert!(ran.stderr.lines().all(|line| line.split(rsv::record::LINE_ENDS).count() == 1), "{ran}");
    }
}

#[test]
fn created_files_are_private_to_their_owner() {
    let home = Home::new();
    shell(&home, "rsv-ingest", "umask 000; exec \"$TOOL\" hello", |_| Ok(())).ok();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let store = home.store();
    for directory in [".local", ".local/share", ".local/share/rsv"] {
        assert_eq!(mode(&home.path(directory)), 0o700, "{directory}");
    }
    let mut files = 0;
    for file in store.parent().unwrap().read_dir().unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        files += 1;
    }
    assert!(files > 0);
}

/// The names and contents of the files of a home's store.
pub(crate) fn store_files(home: &Home) -> BTreeMap<String, Vec<u8>> {
    let directory = home.store().parent().unwrap().to_owned();
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    // Its -shm is the memory that the processes at work share.
    let files = entries.filter(|path| path.is_file() && !path.to_string_lossy().ends_with("-shm"));
    files.map(|path| (path.display().to_string(), std::fs::read(path).unwrap())).collect()
}

#[test]
fn opening_to_read_writes_nothing() {
    let request = r#"{"model":"m","messages":[{"role":"user","content":"Which owl?"}]}"#;
    let readers: [(&str, &[&str], &str); 9] = [
        ("rsv-view", &["5"], ""),
        ("rsv-view", &["--accounts"], ""),
        ("rsv-search", &["owl"], ""),
        ("rsv-export", &[], ""),
        ("rsv-forget", &["--everything", "--dry-run"], ""),
        ("rsv-link", &["--stats"], ""),
        ("rsv-link", &["--dry-run"], ""),
        ("rsv-enrich", &[], request),
        ("rsv-config", &["doctor"], ""),
    ];
    let filled = Home::new();
    filled.run("rsv-ingest", &["An owl in a wood"], "").ok();
    let empty = Home::new();
    std::fs::create_dir_all(empty.store().parent().unwrap()).unwrap();
    std::fs::write(empty.store(), "").unwrap();
    for home in [filled, empty] {
        let before = store_files(&home);
        assert!(!before.is_empty());
        for (tool, words, stdin) in readers {
            home.run(tool, words, stdin);
            assert_eq!(store_files(&home), before, "{tool} {words:?}");
        }
    }
}
