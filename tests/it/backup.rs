//! scripts/rsv-backup and scripts/rsv-restore: what is backed up comes back to the byte, and only what is whole has a name.

use crate::support::{Dice, Home, Ran, number_from};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// One of the scripts, which finds the built tools.
fn command(home: &Home, script: &str, words: &[&str]) -> Command {
    let tools = Path::new(env!("CARGO_BIN_EXE_rsv-config")).parent().unwrap().display().to_string();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts").join(script);
    let mut command = home.command(script.to_str().unwrap());
    command.args(words).env("PATH", format!("{tools}:{}", std::env::var("PATH").unwrap()));
    command.stdin(Stdio::null());
    command
}

fn backup(home: &Home, words: &[&str]) -> Ran {
    home.ran(command(home, "rsv-backup", words).output().unwrap())
}

fn restore(home: &Home, words: &[&str]) -> Ran {
    home.ran(command(home, "rsv-restore", words).output().unwrap())
}

/// The directory of the backups, whose name has spaces.
const BACKUPS: &str = "my own backups";

/// The backups by their names.
fn names(home: &Home) -> Vec<String> {
    let entries = home.path(BACKUPS).read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name.starts_with("rsv-"));
    names.sort();
    names
}

fn newest(home: &Home) -> PathBuf {
    home.path(BACKUPS).join(names(home).last().unwrap())
}

/// Restores the newest backup into a new store; what that exports.
fn restored(home: &Home) -> String {
    let _ = std::fs::remove_file(home.path("restored.db"));
    restore(home, &["-q", "--store", "restored.db", newest(home).to_str().unwrap()]).ok();
    home.run("rsv-export", &["--vectors", "--store", "restored.db"], "").ok()
}

/// Waits for the next second, since a backup is named by it.
fn next_second(home: &Home) {
    let stamp = |home: &Home| {
        let name = names(home).last().unwrap().clone();
        name[4..20].to_owned()
    };
    let last = stamp(home);
    let now = || {
        let date = Command::new("date").args(["-u", "+%Y%m%dT%H%M%SZ"]).output().unwrap();
        String::from_utf8(date.stdout).unwrap().trim().to_owned()
    };
    while now() <= last {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

fn write(home: &Home, n: usize) {
    let memory = json!({"kind": "memory", "id": format!("y{n}"), "partition": "p", "instance": "p", "title": "T",
        "content": format!("C{n}"), "outcome": "success", "timestamp": n});
    let message = json!({"id": format!("m{n}"), "trace_id": "t", "partition": "p", "instance": "p", "role": "user",
        "content": format!("An owl {n}"), "timestamp": n, "embedding": [n, 1], "embedding_model": "tiny"});
    home.run("rsv-import", &["-q"], format!("{memory}\n{message}\n")).ok();
}

#[test]
fn what_is_backed_up_comes_back_to_the_byte() {
    for home in Home::of_each_store() {
        write(&home, 1);
        let ran = backup(&home, &[BACKUPS]);
        assert!(ran.stderr.ends_with(" bytes, restored and compared\n"), "{ran}");
        assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.lines().count()), (0, "", 1));
        assert_eq!(restored(&home), home.export());
        for step in 2..4 {
            next_second(&home);
            write(&home, step);
            home.run("rsv-forget", &["--all", "m1"], "");
            backup(&home, &["-q", "--changes", BACKUPS]).ok();
            assert!(newest(&home).to_str().unwrap().contains(".changes."));
            assert_eq!(restored(&home), home.export());
        }
        // A store that has records is not changed, unless it is said.
        let file = newest(&home).display().to_string();
        home.run("rsv-ingest", &["--store", "restored.db", "Hello"], "").ok();
        let said = restore(&home, &["--store", "restored.db", &file]).trouble();
        assert!(said.starts_with("rsv-restore: error: the store has records already\n"), "{said}");
        restore(&home, &["-q", "--merge", "--store", "restored.db", &file]).ok();
    }
}

#[test]
fn a_backup_that_is_damaged_or_alone_is_refused() {
    let home = Home::new();
    write(&home, 1);
    backup(&home, &["-q", BACKUPS]).ok();
    next_second(&home);
    write(&home, 2);
    backup(&home, &["-q", "--changes", BACKUPS]).ok();
    let (whole, changes) = (home.path(BACKUPS).join(&names(&home)[0]), newest(&home));
    let bytes = std::fs::read(&whole).unwrap();
    for at in [bytes.len() / 3, bytes.len() / 2, bytes.len() - 3] {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        std::fs::write(&whole, changed).unwrap();
        for file in [&whole, &changes] {
            let said = restore(&home, &["--store", "other.db", file.to_str().unwrap()]);
            assert!(said.status == 2 && said.stderr.contains("cannot be read"), "{said}");
            assert!(!home.path("other.db").exists());
        }
    }
    std::fs::remove_file(whole).unwrap();
    let said = restore(&home, &["--store", "other.db", changes.to_str().unwrap()]).trouble();
    assert!(said.starts_with("rsv-restore: error: there is no backup of everything before "), "{said}");
    home.write(".local/share/rsv/store.db", "no store");
    let before = names(&home);
    let failed = backup(&home, &[BACKUPS]);
    assert!(failed.status == 2 && failed.stderr.contains("rsv-export: error: "), "{failed}");
    assert_eq!(names(&home), before);
}

#[test]
fn old_backups_are_thinned() {
    let home = Home::new();
    write(&home, 1);
    std::fs::create_dir(home.path(BACKUPS)).unwrap();
    let date = |days: &str, form: &str| {
        let date = Command::new("date").args(["-u", "-d", days, form]).output().unwrap();
        String::from_utf8(date.stdout).unwrap().trim().to_owned()
    };
    for days in 1..800 {
        let day = date(&format!("{days} days ago"), "+%Y%m%d");
        for name in ["T010000Z", "T020000Z", "T030000Z.changes"] {
            home.write(&format!("{BACKUPS}/rsv-{day}{name}.jsonl.zst"), "");
        }
    }
    backup(&home, &["-q", "--no-check", BACKUPS]).ok();
    let left = names(&home);
    let whole: Vec<&String> = left.iter().filter(|name| !name.contains("changes")).collect();
    assert!((7 + 2 + 11..=7 + 3 + 12).contains(&whole.len()), "{whole:?}");
    // The last of each day, and the changes after those that are left.
    assert!(whole.iter().all(|name| !name.contains("T010000Z")), "{whole:?}");
    for days in 1..7 {
        let day = date(&format!("{days} days ago"), "+%Y%m%d");
        assert!(left.contains(&format!("rsv-{day}T030000Z.changes.jsonl.zst")), "{left:?}");
    }
    let oldest = date("12 months ago", "+%Y%m");
    assert!(whole[0][4..10] >= oldest[..], "{whole:?}");
}

#[allow(clippy::print_stdout)] // Shown where the test fails.
#[test]
fn a_backup_that_is_killed_leaves_none_or_a_whole_one() {
    let kills = number_from("RSV_TEST_KILLS").unwrap_or(6);
    let seed = number_from("RSV_TEST_SEED").unwrap_or(73);
    println!("RSV_TEST_SEED={seed}");
    let (home, mut dice) = (Home::new(), Dice(seed));
    for n in 1..5 {
        write(&home, n);
    }
    let begin = Instant::now();
    backup(&home, &["-q", BACKUPS]).ok();
    let whole = begin.elapsed();
    for n in 0..kills {
        write(&home, 1000 + n as usize);
        let words: &[&str] =
            if dice.below(2) == 0 { &["-q", "--changes", BACKUPS] } else { &["-q", BACKUPS] };
        let mut process = command(&home, "rsv-backup", words);
        // The script and all that it runs are one group.
        let mut process = std::os::unix::process::CommandExt::process_group(&mut process, 0).spawn().unwrap();
        // Any moment will do.
        std::thread::sleep(whole.mul_f64(dice.below(1000) as f64 / 900.0));
        let group = rustix::process::Pid::from_child(&process);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        process.wait().unwrap();
        // Whatever has a name can be restored.
        restored(&home);
        next_second(&home);
        backup(&home, &["-q", "--changes", BACKUPS]).ok();
        assert_eq!(restored(&home), home.export());
    }
}
