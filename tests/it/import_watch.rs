//! rsv-import --watch: what programs write into their sessions is stored as it is written.

use crate::import_formats::{fixture, messages};
use crate::support::{Home, Ran, lines_of, on_each_store, text, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::fs::File;
use std::io::Write;
use std::process::{Child, Stdio};

/// A running watch.
pub(crate) struct Watching {
    home: Home,
    child: Child,
}

impl Watching {
    pub(crate) fn begin(home: &Home, words: &[&str]) -> Watching {
        let mut command = home.command("rsv-import");
        command.arg("--watch").args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Watching { home: home.clone(), child: command.spawn().unwrap() }
    }

    /// Waits until these are the contents of the store, in the order of their times.
    pub(crate) fn until(&mut self, wanted: &[&str]) {
        wait_for(&format!("{wanted:?}"), || {
            assert_eq!(self.child.try_wait().unwrap(), None);
            messages(&self.home).iter().map(|message| text(&message["content"])).eq(wanted.iter().copied())
        });
    }

    /// Waits until there are so many messages.
    pub(crate) fn until_count(&mut self, wanted: usize) {
        wait_for(&format!("{wanted} messages"), || {
            assert_eq!(self.child.try_wait().unwrap(), None);
            messages(&self.home).len() >= wanted
        });
    }

    /// Kills it.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to end, and waits for that.
    pub(crate) fn end(self) -> Ran {
        self.end_by(Signal::TERM)
    }

    fn end_by(self, signal: Signal) -> Ran {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        self.home.ran(self.child.wait_with_output().unwrap())
    }
}

/// The entry of a prompt in a session of Claude Code; `n` orders them.
fn entry(n: usize, content: &str) -> String {
    let entry = json!({"type": "user", "sessionId": "s", "cwd": "/nowhere/owls", "uuid": format!("u{n}"),
        "timestamp": format!("2026-11-01T10:{n:02}:00.000Z"), "message": {"role": "user", "content": content}});
    format!("{entry}\n")
}

fn answer(n: usize, content: &str) -> String {
    entry(n, content).replace("\"type\":\"user\"", "\"type\":\"assistant\"")
}

on_each_store!(sessions_are_stored_as_they_are_written);
/// Keeps: Sessions are stored as they are written.
fn sessions_are_stored_as_they_are_written(home: Home) {
    let path = home.write(".claude/projects/owls/one.jsonl", &entry(1, "An owl"));
    let mut file = File::options().append(true).open(&path).unwrap();
    let mut watching = Watching::begin(&home, &[]);
    watching.until(&["An owl"]);
    // A line that is half-written waits, and what is written after it into another file does not.
    let half = answer(2, "Hoots");
    let (first, last) = half.split_at(half.len() / 2);
    file.write_all(first.as_bytes()).unwrap();
    home.write(".claude/projects/bats/deep/two.jsonl", &entry(5, "A bat"));
    watching.until(&["An owl", "A bat"]);
    file.write_all(last.as_bytes()).unwrap();
    watching.until(&["An owl", "Hoots", "A bat"]);
    // The answer belongs to the question before it, which was read by itself.
    let stored = messages(&home);
    assert_eq!(stored[0]["trace_id"], stored[1]["trace_id"]);
    assert_eq!(stored[0]["partition"], "owls");
    // Another file takes the place of the first.
    let new = home.write("new", &(entry(1, "An owl") + &answer(2, "Hoots") + &entry(3, "A second owl")));
    std::fs::rename(new, &path).unwrap();
    watching.until(&["An owl", "Hoots", "A second owl", "A bat"]);
    // One that is bad is named, and the next is read.
    let mut file = File::options().append(true).open(&path).unwrap();
    file.write_all(format!("{{\"type\": \"user\", owl}}\n{}", entry(4, "A third owl")).as_bytes()).unwrap();
    watching.until(&["An owl", "Hoots", "A second owl", "A third owl", "A bat"]);
    // Lines written before the end are stored at the end.
    file.write_all(entry(6, "The last").as_bytes()).unwrap();
    drop(file);
    let ran = watching.end();
    assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    let said: Vec<&str> = ran.stderr.lines().collect();
    assert!(
        said[0].starts_with("rsv-import: watching ") && said[0].ends_with(".claude/projects"),
        "{said:?}"
    );
    assert!(said[1].contains("one.jsonl:4: ") && said.len() == 2, "{said:?}");
    assert_eq!(messages(&home).len(), 6);
    // The next watch adds nothing.
    home.write(".claude/projects/owls/two.jsonl", &entry(7, "One more"));
    let mut again = Watching::begin(&home, &["--quiet", ".claude/projects"]);
    again.until(&["An owl", "Hoots", "A second owl", "A third owl", "A bat", "The last", "One more"]);
    // A terminal that closes ends a watch as well.
    home.write(".claude/projects/owls/three.jsonl", &entry(8, "Late"));
    assert_eq!(again.end_by(Signal::HUP).status, 0);
    assert_eq!(messages(&home).len(), 8);
    home.check();
}

on_each_store!(what_an_earlier_watch_stored_is_not_read_again);
fn what_an_earlier_watch_stored_is_not_read_again(home: Home) {
    // A bad line tells when a file is read. The watch has read all files once it has stored the last one, which is new.
    home.write("logs/one.jsonl", &(entry(1, "An owl") + "{bad\n"));
    let says = |words: &[&str], wanted: usize| {
        home.write(&format!("logs/z{wanted}.jsonl"), &entry(20 + wanted, &format!("Bat {wanted}")));
        let mut watching = Watching::begin(&home, &[words, &["logs"]].concat());
        watching.until_count(wanted);
        let ran = watching.end();
        assert_eq!(ran.status, 0, "{ran}");
        ran.stderr.contains("one.jsonl:2: ")
    };
    assert!(says(&[], 2));
    assert!(!says(&[], 3), "a file that is stored is read again");
    home.write("logs/one.jsonl", &(entry(1, "An owl") + "{bad\n" + &entry(3, "A second owl")));
    assert!(says(&[], 5), "a file that has changed is not read");
    assert!(!says(&[], 6));
    // Other lines may come of it if it is read in another way.
    assert!(says(&["--keep-tools"], 7));
    std::fs::rename(home.path("logs/one.jsonl"), home.path("logs/moved.jsonl")).unwrap();
    std::fs::rename(home.path("logs/z2.jsonl"), home.path("logs/one.jsonl")).unwrap();
    assert!(!says(&["--keep-tools"], 8), "another file is there");
    home.check();
}

#[test]
fn another_store_has_none_of_what_an_earlier_watch_stored() {
    let home = Home::new();
    home.write("logs/one.jsonl", &entry(1, "An owl"));
    for _ in 0..2 {
        let mut watching = Watching::begin(&home, &["logs"]);
        watching.until_count(1);
        assert_eq!(watching.end().status, 0);
        std::fs::remove_file(home.store()).unwrap();
    }
}

#[test]
fn a_document_of_json_waits_until_it_is_whole() {
    let home = Home::new();
    let session = std::fs::read_to_string(fixture("chatgpt.json")).unwrap();
    std::fs::create_dir(home.path("logs")).unwrap();
    let at = session.len() / 2;
    let mut watching = Watching::begin(&home, &["logs"]);
    let path = home.write("logs/one.json", &session[..at]);
    home.write("logs/two.jsonl", &entry(1, "An owl"));
    watching.until(&["An owl"]);
    File::options().append(true).open(path).unwrap().write_all(&session.as_bytes()[at..]).unwrap();
    watching.until_count(6);
    assert_eq!(watching.end().status, 0);
    assert_eq!(messages(&home).len(), 6);
}

#[test]
fn a_year_of_sessions_is_imported_and_searched() {
    const SESSIONS: usize = 365;
    let home = Home::new();
    for day in 0..SESSIONS {
        let entry = |n: usize, role: &str, content: &str| {
            let entry = json!({"type": role, "sessionId": format!("s{day}"), "cwd": format!("/nowhere/p{}", day % 40),
                "uuid": format!("u{day}-{n}"), "timestamp": 1_767_225_600_000 + day * 86_400_000 + n * 60_000,
                "message": {"role": role, "content": content}});
            format!("{entry}\n")
        };
        let text = entry(1, "user", &format!("Why does the lamp number{day}x flicker?"))
            + &entry(2, "assistant", &format!("Its fuse is loose: tighten screw{day}y."))
            + &entry(3, "user", "Thanks, and the others?")
            + &entry(4, "assistant", "They are fine.");
        home.write(&format!("sessions/p{}/{day}.jsonl", day % 40), &text);
    }
    home.run("rsv-import", &["sessions"], "").ok();
    assert_eq!(messages(&home).len(), 4 * SESSIONS);
    let found =
        home.contents("rsv-search", &["-p", "p37", "--limit", "1", "why does lamp number77x flicker"]);
    assert_eq!(found, ["Why does the lamp number77x flicker?"]);
    assert_eq!(
        home.contents("rsv-search", &["--all", "screw300y"]),
        ["Its fuse is loose: tighten screw300y."]
    );
    // The scan of a watch finds the same.
    let before = home.export();
    let other = home.env("RSV_STORE", "other.db");
    let mut watching = Watching::begin(&other, &["sessions"]);
    watching.until_count(4 * SESSIONS);
    assert_eq!(watching.end().status, 0);
    let said = |export: &str| {
        let lines = lines_of(export).into_iter().filter(|line| line["kind"] == "message");
        let mut said: Vec<String> = lines
            .map(|line| format!("{} {} {}", line["instance"], line["created_at"], line["content"]))
            .collect();
        said.sort();
        said
    };
    assert_eq!(said(&other.export()), said(&before));
}

#[test]
fn what_cannot_be_watched_is_told() {
    let home = Home::new();
    home.write("file", "");
    let refused = |words: &[&str]| home.run("rsv-import", &[&["--watch"], words].concat(), "").trouble();
    insta::assert_snapshot!(refused(&["file"]), @r"
    rsv-import: error: cannot watch file: is no directory
    rsv-import: hint: name the directories in which a program keeps its sessions
    ");
    insta::assert_snapshot!(refused(&[]), @r"
    rsv-import: error: no program keeps sessions in the home directory
    rsv-import: hint: name the directories to watch
    ");
    insta::assert_snapshot!(refused(&["--dry-run", "."]), @"
    rsv-import: error: the argument '--watch' cannot be used with '--dry-run'
    rsv-import: hint: see 'rsv-import --help'
    ");
}
