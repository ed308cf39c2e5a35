//! Imports and exports that are killed: what is there is whole, and running them again makes it complete.

use crate::import_formats::messages;
use crate::import_watch::Watching;
use crate::support::{Dice, Home, number_from, on_each_store};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

const SESSIONS: usize = 12;
const ENTRIES: usize = 400;

/// Sessions of Claude Code in which every word is another.
fn sessions(home: &Home) {
    for session in 0..SESSIONS {
        let entry = |n: usize| {
            let role = if n.is_multiple_of(2) { "user" } else { "assistant" };
            let entry = json!({"type": role, "sessionId": format!("s{session}"), "cwd": "/nowhere/owls",
                "uuid": format!("u{session}-{n}"), "timestamp": 1_790_000_000_000_u64 + n as u64 * 1000,
                "message": {"role": role, "content": format!("word{session}x{n} {}", "filler ".repeat(n % 30))}});
            format!("{entry}\n")
        };
        home.write(&format!("sessions/{session}.jsonl"), &(0..ENTRIES).map(entry).collect::<String>());
    }
}

/// The messages with their scopes and times, without the ids that an import makes.
fn said(home: &Home) -> BTreeSet<String> {
    let without_ids = |mut message: Value| {
        message.as_object_mut().unwrap().retain(|name, _| name != "id");
        message.to_string()
    };
    let all = messages(home);
    let said: BTreeSet<String> = all.iter().cloned().map(without_ids).collect();
    assert_eq!(said.len(), all.len());
    said
}

/// Runs a tool, and kills it at some moment of about the time that a whole run takes.
pub(crate) fn kill(home: &Home, tool: &str, words: &[&str], whole: Duration, dice: &mut Dice) {
    let mut command = home.command(tool);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut process = command.spawn().unwrap();
    // Any moment will do.
    std::thread::sleep(whole.mul_f64(dice.below(1000) as f64 / 900.0));
    let _ = process.kill();
    process.wait().unwrap();
}

on_each_store!(an_import_that_is_killed_is_completed_by_the_next);
/// Keeps: An import that is killed is completed by the next.
#[allow(clippy::print_stdout)] // Shown where the test fails.
fn an_import_that_is_killed_is_completed_by_the_next(home: Home) {
    let kills = home.kills();
    let seed = number_from("RSV_TEST_SEED").unwrap_or(67);
    println!("RSV_TEST_SEED={seed}");
    let mut dice = Dice(seed);
    sessions(&home);
    let begin = Instant::now();
    home.run("rsv-import", &["sessions"], "").ok();
    let whole = begin.elapsed();
    let wanted = said(&home);
    assert_eq!(wanted.len(), SESSIONS * ENTRIES);
    for _ in 0..kills.div_ceil(3) {
        let home = home.emptied();
        sessions(&home);
        for _ in 0..3 {
            kill(&home, "rsv-import", &["sessions"], whole, &mut dice);
            let found = said(&home);
            assert!(found.is_subset(&wanted));
        }
        home.run("rsv-import", &["sessions"], "").ok();
        assert_eq!(said(&home), wanted);
        home.check();
    }
}

#[allow(clippy::print_stdout)] // Shown where the test fails.
#[test]
fn a_watch_that_is_killed_reads_on_when_it_is_started_again() {
    let kills = number_from("RSV_TEST_KILLS").unwrap_or(6);
    let seed = number_from("RSV_TEST_SEED").unwrap_or(73);
    println!("RSV_TEST_SEED={seed}");
    let mut dice = Dice(seed);
    let wanted = Home::new();
    sessions(&wanted);
    let begin = Instant::now();
    wanted.run("rsv-import", &["sessions"], "").ok();
    let whole = begin.elapsed();
    let wanted = said(&wanted);
    let home = Home::new();
    sessions(&home);
    let mut rest: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    for name in names(&home.path("sessions")) {
        let path = home.path("sessions").join(name);
        rest.push((path.clone(), std::fs::read(&path).unwrap()));
        File::create(path).unwrap();
    }
    for kill in (0..kills).rev() {
        let watching = Watching::begin(&home, &["--quiet", "sessions"]);
        // The program's output, not always up to the end of a line.
        let begin = Instant::now();
        let end = whole.mul_f64(dice.below(1000) as f64 / 900.0);
        while begin.elapsed() < end {
            let (path, bytes) = &mut rest[dice.below(SESSIONS)];
            let count = dice.below(1 + 2 * bytes.len() / (kill as usize + 1)).min(bytes.len());
            let mut file = File::options().append(true).open(path).unwrap();
            file.write_all(&bytes.drain(..count).collect::<Vec<_>>()).unwrap();
            std::thread::yield_now();
        }
        watching.kill();
        assert!(said(&home).is_subset(&wanted));
    }
    let mut watching = Watching::begin(&home, &["--quiet", "sessions"]);
    for (path, bytes) in rest {
        File::options().append(true).open(path).unwrap().write_all(&bytes).unwrap();
    }
    watching.until_count(wanted.len());
    assert_eq!(watching.end().status, 0);
    assert_eq!(said(&home), wanted);
    home.check();
}

/// The names in a directory, without hidden ones.
fn names(directory: &Path) -> Vec<String> {
    let entries = directory.read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    entries.map(|name| name.into_string().unwrap()).filter(|name| !name.starts_with('.')).collect()
}

#[allow(clippy::print_stdout)] // Shown where the test fails.
#[test]
fn an_export_that_is_killed_leaves_all_or_nothing_under_its_name() {
    let kills = number_from("RSV_TEST_KILLS").unwrap_or(6);
    let seed = number_from("RSV_TEST_SEED").unwrap_or(71);
    println!("RSV_TEST_SEED={seed}");
    let mut dice = Dice(seed);
    let home = Home::new();
    sessions(&home);
    home.run("rsv-import", &["sessions"], "").ok();
    let exported = home.export();
    std::fs::create_dir(home.path("out")).unwrap();
    for (format, name) in [("sqlite", "out/copy.db"), ("md", "out/texts")] {
        let words = ["--format", format, "--to", name];
        let path = home.path(name);
        let begin = Instant::now();
        home.run("rsv-export", &words, "").ok();
        let whole = begin.elapsed();
        for _ in 0..kills {
            let _ = if format == "md" { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
            kill(&home, "rsv-export", &words, whole, &mut dice);
            // The file under the name is whole or empty.
            let is_there = path.exists() && (format == "sqlite" || !names(&path).is_empty());
            if !is_there {
                home.run("rsv-export", &words, "").ok();
            }
            if format == "sqlite" {
                let copy = home.run("rsv-export", &["--vectors", "--store", name], "").ok();
                assert_eq!(copy, exported);
            } else {
                assert_eq!(names(&path.join("owls")).len(), SESSIONS);
                let text = std::fs::read_to_string(path.join("owls/s3.md")).unwrap();
                assert_eq!(text.matches("word3x").count(), ENTRIES);
            }
        }
        // The next export takes over the remains of a killed one, and removes them once it is whole.
        let _ = if format == "md" { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        let left = home.path(&format!("{}.rsv-part", name.replace('/', "/.")));
        std::fs::create_dir_all(&left).unwrap();
        for name in ["store.db", "store.db-journal", "file", "transcripts/deep/old.md"] {
            std::fs::create_dir_all(left.join(name).parent().unwrap()).unwrap();
            std::fs::write(left.join(name), "half").unwrap();
        }
        // While another process writes, it is left alone.
        let lock = std::fs::File::open(&left).unwrap();
        lock.lock().unwrap();
        let said = home.run("rsv-export", &words, "").trouble();
        assert!(said.contains(name) && said.contains(": another process is writing it\n"), "{said}");
        assert!(left.join("store.db").exists());
        drop(lock);
        home.run("rsv-export", &words, "").ok();
        assert!(path.exists());
        assert!(!left.exists(), "{name}");
    }
}
