//! Exports of what changed since the one before, by a cursor: nothing is missed, whatever breaks.

use crate::support::{Dice, Home, Ran, lines_of, number_from, on_each_store};
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The store beside that of a home, into which exports are imported.
const COPY: [&str; 2] = ["--store", "copy.db"];

fn export(home: &Home, words: &[&str]) -> Ran {
    home.run("rsv-export", &[&["--vectors"], words].concat(), "")
}

/// Exports what changed after the cursor of `file`, imports it into the copy, and moves the cursor on.
fn pass_on(home: &Home, file: &str) -> Vec<Value> {
    let lines = export(home, &["--new-since", file, "--next", "next"]).ok();
    home.run("rsv-import", &[&COPY[..], &["--quiet"]].concat(), &lines).ok();
    std::fs::rename(home.path("next"), home.path(file)).unwrap();
    lines_of(&lines)
}

/// The kinds of lines, sorted, each once.
fn kinds(lines: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<&str> = lines.iter().map(|line| line["kind"].as_str().unwrap_or("message")).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

fn assert_same(home: &Home) {
    assert_eq!(export(home, &COPY).ok(), export(home, &[]).ok());
}

fn message(id: &str, timestamp: u64, text: &str) -> Value {
    json!({"id": id, "trace_id": format!("t-{id}"), "partition": "p", "instance": "i", "role": "user",
        "content": text, "timestamp": timestamp})
}

fn document(text: &str) -> String {
    let line = json!({"kind": "document", "uri": "viking://resources/notes/a", "title": "a", "abstract": text,
        "content": text, "made_by": "rule"});
    format!("{line}\n")
}

/// Writes something of every kind; the messages are dated `time`, the others are named by `n`.
fn write_all(home: &Home, time: u64, n: usize) {
    let (one, other) = (format!("m{n}"), format!("n{n}"));
    let lines = [
        message(&one, time, &format!("An owl {n}")),
        message(&other, time + 1, &format!("A cat {n}")),
        json!({"kind": "memory", "id": format!("y{n}"), "partition": "p", "instance": "i", "category": "pattern",
            "title": format!("Title {n}"), "description": "D", "content": "C", "timestamp": time,
            "confidence": 0.5}),
        json!({"kind": "embedding", "of": one, "model": "m", "vector": [n, 1.5, -2]}),
        json!({"kind": "link", "rel": "RELATED", "from": one, "to": other, "timestamp": time}),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    home.run("rsv-import", &[], lines).ok();
    home.run("rsv-signal", &["-p", "p", "--helpful", &format!("y{n}")], "").ok();
    home.ingest(&["-p", "p"], &document(&format!("Version {n}")));
}

on_each_store!(each_export_has_what_changed_and_nothing_else);
fn each_export_has_what_changed_and_nothing_else(home: Home) {
    write_all(&home, 5000, 1);
    // Without a cursor, everything; and of that a part is dated later than all that follows.
    assert_eq!(
        kinds(&pass_on(&home, "cursor")),
        ["document", "embedding", "link", "memory", "message", "signal"]
    );
    assert_same(&home);
    assert_eq!(pass_on(&home, "cursor"), [] as [Value; 0]);
    write_all(&home, 1000, 2);
    let lines = pass_on(&home, "cursor");
    assert_eq!(kinds(&lines), ["document", "embedding", "link", "memory", "message", "signal"]);
    assert!(lines.iter().all(|line| !line.to_string().contains("Title 1")), "{lines:?}");
    assert_same(&home);
    // A forgotten record, and one that comes back.
    let gone = home.run("rsv-forget", &["--all", "m1"], "").ok();
    assert_eq!(kinds(&pass_on(&home, "cursor")), ["tombstone"]);
    assert_same(&home);
    home.run("rsv-import", &["--allow-return"], gone).ok();
    assert_eq!(kinds(&pass_on(&home, "cursor")), ["embedding", "link", "message", "tombstone"]);
    assert_same(&home);
    // One use more on the same day changes the record of the first.
    home.run("rsv-signal", &["-p", "p", "--used", "y1"], "").ok();
    pass_on(&home, "cursor");
    home.run("rsv-signal", &["-p", "p", "--used", "y1"], "").ok();
    assert_eq!(kinds(&pass_on(&home, "cursor")), ["signal"]);
    assert_same(&home);
    home.ingest(&["-p", "p"], &document("The last version"));
    assert_eq!(kinds(&pass_on(&home, "cursor")), ["document"]);
    home.run("rsv-link", &["--unlink", "m2", "n2"], "");
    pass_on(&home, "cursor");
    assert_same(&home);
    home.check();
}

on_each_store!(a_cursor_of_an_empty_store_has_all_that_comes);
fn a_cursor_of_an_empty_store_has_all_that_comes(home: Home) {
    assert_eq!(pass_on(&home, "cursor"), [] as [Value; 0]);
    home.run("rsv-import", &[], message("m1", 1000, "The first owl").to_string()).ok();
    assert_eq!(kinds(&pass_on(&home, "cursor")), ["message"]);
    assert_eq!(pass_on(&home, "cursor"), [] as [Value; 0]);
    assert_same(&home);
}

#[test]
fn vectors_and_synapses_that_are_made_later_follow() {
    let home = Home::with_model();
    home.ingest(&["-p", "p"], "{\"role\": \"user\", \"content\": \"The tomatoes ripen.\"}\n{\"role\": \"user\", \"content\": \"A tomato is ripe.\"}\n");
    pass_on(&home, "cursor");
    home.run("rsv-embed", &["--pending"], "").ok();
    // The two are alike, and linked as soon as they have vectors.
    assert_eq!(kinds(&pass_on(&home, "cursor")), ["embedding", "link"]);
    assert_same(&home);
    home.run("rsv-embed", &["--pending"], "").ok();
    assert_eq!(pass_on(&home, "cursor"), [] as [Value; 0]);
}

on_each_store!(a_cursor_that_does_not_fit_is_refused);
fn a_cursor_that_does_not_fit_is_refused(home: Home) {
    write_all(&home, 1000, 1);
    pass_on(&home, "cursor");
    home.run("rsv-ingest", &["--store", "other.db", "-p", "p", "Hello"], "").ok();
    home.write("damaged", "{}\n");
    let refused = |words: &str, wanted: &str| {
        let ran = home.run("rsv-export", &words.split(' ').collect::<Vec<_>>(), "");
        assert_eq!(ran.stdout, "", "{words}");
        let said = ran.trouble();
        let (first, hint) = said.split_once('\n').unwrap();
        assert_eq!(first, format!("rsv-export: error: {wanted}"), "{words}");
        assert!(hint.starts_with("rsv-export: hint: "), "{said}");
        assert!(!home.path("next").exists(), "{words}");
    };
    let before = "--new-since cursor --next next";
    refused(&format!("{before} --vectors --store other.db"), "cursor: is of another store");
    let other = "cursor: is of an export of something else, such as another partition";
    for words in ["--vectors -p p", "--vectors --kind message", "--vectors --role user", "-q"] {
        refused(&format!("{before} {words}"), other);
    }
    refused(
        "--new-since damaged --next next",
        "damaged: is no cursor: missing field `store` at line 1 column 2",
    );
    refused("--new-since cursor --next cursor", "--next names the file of --new-since");
    refused("--next next --format csv", "--new-since and --next are for JSON lines alone");
    let time = "the argument '--next <FILE>' cannot be used with '--since <TIME>'";
    refused("--next next --since 2d", time);
    // A cursor that is left of an earlier run does not stand for this one.
    home.write("next", "left");
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = home.command("rsv-export");
    let ended = command.args(["--next", "next"]).stdout(full).stderr(Stdio::null()).status().unwrap();
    assert_eq!((ended.code(), home.path("next").exists()), (Some(2), false));
}

#[test]
fn a_cursor_of_a_store_that_was_restored_from_an_older_copy_is_refused() {
    let home = Home::new();
    write_all(&home, 1000, 1);
    std::fs::copy(home.store(), home.path("older.db")).unwrap();
    for later in ["message", "link", "tombstone"] {
        let change = |home: &Home, n: usize| match later {
            "message" => {
                drop(home.ingest(&["-p", "p"], &format!("{{\"role\": \"user\", \"content\": \"{n}\"}}\n")))
            }
            "link" => {
                let (from, to) = if n.is_multiple_of(2) { ("m1", "n1") } else { ("n1", "m1") };
                let rel = ["SIMILAR", "SEEN"][n % 2];
                let link = json!({"kind": "link", "rel": rel, "from": from, "to": to, "timestamp": n});
                drop(home.run("rsv-import", &[], link.to_string()).ok());
            }
            _ => drop(home.run("rsv-forget", &["--all", ["m1", "n1"][n % 2]], "").ok()),
        };
        std::fs::copy(home.path("older.db"), home.store()).unwrap();
        change(&home, 2);
        export(&home, &["--next", "cursor"]).ok();
        std::fs::copy(home.path("older.db"), home.store()).unwrap();
        let refused = |home: &Home| {
            let message = export(home, &["--new-since", "cursor"]).trouble();
            assert!(message.contains("cursor: is later than this store, which was restored"), "{message}");
        };
        refused(&home);
        // As many changes as before, but others.
        change(&home, 1);
        refused(&home);
    }
}

/// Runs the chain of an export and an import once, and kills one or both of them at some moment.
fn break_chain(home: &Home, whole: Duration, dice: &mut Dice) {
    let mut command = home.command("rsv-export");
    command.args(["--vectors", "--new-since", "cursor", "--next", "next"]);
    let mut export =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut command = home.command("rsv-import");
    command.args(COPY).stdin(export.stdout.take().unwrap()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut import = command.spawn().unwrap();
    // It holds the pipe open: an export that nobody reads would wait for ever.
    drop(command);
    // Any moment will do.
    std::thread::sleep(whole.mul_f64(dice.below(1000) as f64 / 800.0));
    let which = 1 + dice.below(3);
    if which & 1 != 0 {
        let _ = export.kill();
    }
    if which & 2 != 0 {
        let _ = import.kill();
    }
    // As set -o pipefail; ... && mv.
    if export.wait().unwrap().success() & import.wait().unwrap().success() {
        std::fs::rename(home.path("next"), home.path("cursor")).unwrap();
    }
}

on_each_store!(a_chain_of_exports_that_is_killed_anywhere_loses_nothing);
/// Keeps: A chain of exports by a cursor loses nothing.
#[allow(clippy::print_stdout)] // Shown where the test fails.
fn a_chain_of_exports_that_is_killed_anywhere_loses_nothing(home: Home) {
    let kills = home.kills();
    let seed = number_from("RSV_TEST_SEED").unwrap_or(59);
    println!("RSV_TEST_SEED={seed}");
    let mut dice = Dice(seed);
    let mut count = 0;
    let mut whole = Duration::ZERO;
    for step in 0..=kills {
        let some = 1 + dice.below(200);
        let lines: String = (count..count + some)
            .map(|n| {
                let vector =
                    json!({"kind": "embedding", "of": format!("w{n}"), "model": "m", "vector": [n, 1]});
                let text = format!("Words {n}");
                format!("{}\n{vector}\n", message(&format!("w{n}"), 1000 + dice.below(5000) as u64, &text))
            })
            .collect();
        count += some;
        home.run("rsv-import", &[], lines).ok();
        home.run("rsv-forget", &["--all", &format!("w{}", dice.below(count))], "");
        if step == 0 {
            let begin = Instant::now();
            pass_on(&home, "cursor");
            whole = begin.elapsed();
        } else {
            break_chain(&home, whole, &mut dice);
        }
    }
    pass_on(&home, "cursor");
    assert_same(&home);
    home.check();
}
