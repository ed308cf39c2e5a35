//! The file of a store: alone it is the whole store, its log belongs to it, and it may vanish under a running process.

use crate::fake::{Answer, Fake};
use crate::proxy::{Proxy, REPLY, asking, home as proxied};
use crate::support::{Home, lines_of};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};

const CHAT: &str = "/v1/chat/completions";

/// The names of the files in the store's directory.
fn files(home: &Home) -> Vec<String> {
    let directory = std::fs::read_dir(home.store().parent().unwrap()).unwrap();
    let mut names: Vec<String> =
        directory.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

pub(crate) fn log_of(store: &Path) -> PathBuf {
    PathBuf::from(format!("{}-wal", store.display()))
}

/// An rsv-ingest that waits for lines.
struct Ingest(Child, BufReader<ChildStdout>);

impl Ingest {
    fn start(home: &Home) -> Ingest {
        let mut command = home.command("rsv-ingest");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Ingest(child, stdout)
    }

    /// Sends a message, and returns the line that acknowledges it; empty if there is none.
    fn send(&mut self, text: &str) -> String {
        let line = format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n");
        self.0.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        self.1.read_line(&mut answer).unwrap();
        answer
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Leaves a log with a message beside the file, as a process does that is killed.
pub(crate) fn leave_log(home: &Home, text: &str) {
    let mut ingest = Ingest::start(home);
    assert!(ingest.send(text).contains(text));
    ingest.kill();
    assert!(std::fs::metadata(log_of(&home.store())).unwrap().len() > 0);
}

fn contents(home: &Home) -> Vec<String> {
    home.contents("rsv-view", &["100"])
}

#[test]
fn the_last_writer_leaves_the_file_alone() {
    let provider = Fake::new([Answer::new(200, REPLY)]);
    let home = proxied(&provider);
    let alone = |texts: &[&str]| {
        assert_eq!(files(&home), ["store.db"]);
        let copy = home.path("copy.db");
        std::fs::copy(home.store(), &copy).unwrap();
        let copied = home.env("RSV_STORE", copy.to_str().unwrap());
        assert_eq!(contents(&copied), texts);
        std::fs::remove_file(copy).unwrap();
    };
    home.run("rsv-ingest", &["hello"], "").ok();
    alone(&["hello"]);
    let line =
        r#"{"role":"user","content":"two","partition":"default","trace_id":"t","timestamp":1900000000000}"#;
    home.run("rsv-import", &[], format!("{line}\n")).ok();
    alone(&["hello", "two"]);
    // A reader changes nothing of that.
    home.run("rsv-search", &["hello"], "").ok();
    alone(&["hello", "two"]);
    let mut proxy = Proxy::start(&home);
    assert_eq!(proxy.post(CHAT, "", &asking("three")).0, 200);
    assert_eq!(proxy.end(), Some(0));
    assert_eq!(files(&home), ["store.db"]);
}

#[test]
fn the_proxy_leaves_the_file_alone_whatever_it_waits_for() {
    // A store that was not there at its start; a session that may continue.
    let said = r#"{"message":"Where?","session_id":"s","model":"llama3.2"}"#.to_owned();
    for (path, body) in [(CHAT, asking("one")), ("/api/ai/chat", said)] {
        let provider = Fake::new([Answer::new(200, REPLY)]);
        let home = proxied(&provider);
        let mut proxy = Proxy::start(&home);
        assert_eq!(proxy.post(path, "", &body).0, 200);
        assert_eq!(proxy.end(), Some(0));
        assert_eq!(files(&home), ["store.db"], "{path}");
    }
}

#[test]
fn a_reader_leaves_the_log_of_a_killed_process_and_a_writer_empties_it() {
    let home = Home::new();
    home.run("rsv-ingest", &["one"], "").ok();
    leave_log(&home, "two");
    let log = std::fs::read(log_of(&home.store())).unwrap();
    assert_eq!(contents(&home), ["one", "two"]);
    assert_eq!(std::fs::read(log_of(&home.store())).unwrap(), log);
    home.run("rsv-ingest", &["three"], "").ok();
    assert_eq!(files(&home), ["store.db"]);
    assert_eq!(contents(&home), ["one", "two", "three"]);
}

#[test]
fn a_writer_takes_the_rights_of_others_and_a_reader_reports_them() {
    let home = Home::new();
    home.run("rsv-ingest", &["one"], "").ok();
    let (file, link) = (home.store(), home.path("link.db"));
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let rights = || file.metadata().unwrap().permissions().mode() & 0o777;
    for path in [&file, &link] {
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
        let home = home.env("RSV_STORE", path.to_str().unwrap());
        let read = home.run("rsv-view", &[], "");
        let note = format!("rsv-view: others can read or change {0}; run: chmod go= '{0}'\n", path.display());
        assert_eq!((read.status, &*read.stderr, rights()), (0, &*note, 0o644));
        // The log of a process that runs is private as well.
        let mut ingest = Ingest::start(&home);
        assert!(ingest.send("two").contains("two"));
        assert_eq!(rights(), 0o600);
        for name in files(&home) {
            let mode = file.with_file_name(&name).metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        ingest.kill();
        assert_eq!(home.run("rsv-view", &[], "").stderr, "");
    }
}

#[test]
fn the_log_is_beside_the_file_that_a_link_names() {
    let home = Home::new();
    home.run("rsv-ingest", &["one"], "").ok();
    std::os::unix::fs::symlink(home.store(), home.path("link.db")).unwrap();
    let linked = home.env("RSV_STORE", home.path("link.db").to_str().unwrap());
    leave_log(&home, "two");
    let log = std::fs::read(log_of(&home.store())).unwrap();
    assert_eq!(contents(&linked), ["one", "two"]);
    assert_eq!(std::fs::read(log_of(&home.store())).unwrap(), log, "a reader leaves it");
    let other = Home::new();
    other.run("rsv-ingest", &["other"], "").ok();
    std::fs::copy(other.store(), home.store()).unwrap();
    let refused = linked.run("rsv-view", &[], "").trouble();
    assert!(refused.contains("is the log of another file"), "{refused}");
}

#[test]
fn the_log_of_another_file_is_refused() {
    // That of another store, and that of a later state of the same one.
    let other = Home::new();
    other.run("rsv-ingest", &["other"], "").ok();
    leave_log(&other, "of another store");
    let later = Home::new();
    later.run("rsv-ingest", &["one"], "").ok();
    let backup = std::fs::read(later.store()).unwrap();
    later.run("rsv-ingest", &["two"], "").ok();
    leave_log(&later, "of a later state");
    for log in [&other, &later] {
        let home = Home::new();
        home.run("rsv-ingest", &["nothing"], "").ok();
        std::fs::write(home.store(), &backup).unwrap();
        std::fs::copy(log_of(&log.store()), log_of(&home.store())).unwrap();
        let before = std::fs::read(log_of(&home.store())).unwrap();
        for (tool, words) in [("rsv-view", &["3"][..]), ("rsv-ingest", &["x"]), ("rsv-export", &[])] {
            let said = home.run(tool, words, "").trouble();
            assert!(
                said.contains("is the log of another file") && said.contains("move the log away"),
                "{said}"
            );
        }
        assert_eq!(std::fs::read(home.store()).unwrap(), backup);
        assert_eq!(std::fs::read(log_of(&home.store())).unwrap(), before);
        // The remedy helps.
        std::fs::remove_file(log_of(&home.store())).unwrap();
        assert_eq!(contents(&home), ["one"]);
    }
    // Its own log is taken.
    assert_eq!(contents(&later), ["one", "two", "of a later state"]);
}

#[test]
fn a_line_is_not_acknowledged_into_a_file_that_is_gone() {
    for replaced in [false, true] {
        let home = Home::new();
        let mut ingest = Ingest::start(&home);
        assert!(ingest.send("first").contains("first"));
        std::fs::rename(home.store(), home.path("moved.db")).unwrap();
        if replaced {
            std::fs::copy(home.path("moved.db"), home.store()).unwrap();
        }
        assert_eq!(ingest.send("second"), "");
        drop(ingest.0.stdin.take());
        let output = ingest.0.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("the file was removed, renamed or replaced"), "{said}");
    }
}

#[test]
fn the_proxy_continues_in_the_file_that_is_there_now() {
    let provider = Fake::new(vec![Answer::new(200, REPLY); 3]);
    let home = proxied(&provider);
    let mut proxy = Proxy::start(&home);
    assert_eq!(proxy.post(CHAT, "", &asking("first")).0, 200);
    proxy.settle();
    for file in files(&home) {
        std::fs::remove_file(home.store().with_file_name(file)).unwrap();
    }
    assert_eq!(proxy.post(CHAT, "", &asking("second")).0, 200);
    assert_eq!(proxy.post(CHAT, "", &asking("third")).0, 200);
    proxy.settle();
    assert_eq!(proxy.get("/health").0, 200);
    let (said, status) = proxy.last_words();
    assert_eq!(status, Some(0), "{said}");
    assert_eq!(said.matches("the file was removed").count(), 1, "{said}");
    let export = lines_of(&home.export());
    let mut texts: Vec<&str> = export.iter().filter_map(|line| line["content"].as_str()).collect();
    texts.sort();
    assert_eq!(texts, ["In Évora.", "In Évora.", "second", "third"]);
}

#[test]
fn health_is_that_of_the_file_that_is_there_now() {
    let provider = Fake::new(vec![Answer::new(200, REPLY)]);
    let home = proxied(&provider);
    let proxy = Proxy::start(&home);
    assert_eq!(proxy.post(CHAT, "", &asking("first")).0, 200);
    proxy.settle();
    for file in files(&home) {
        std::fs::remove_file(home.store().with_file_name(file)).unwrap();
    }
    std::fs::write(home.store(), "this is a file of another program, and no database at all").unwrap();
    let (status, body) = proxy.get("/health");
    assert!(status == 503 && body.contains("store.db"), "{body}");
    std::fs::remove_file(home.store()).unwrap();
    assert_eq!(proxy.get("/health").0, 200);
}

#[test]
fn doctor_reports_a_log() {
    let home = Home::new();
    home.run("rsv-ingest", &["one"], "").ok();
    let doctor = || home.run("rsv-config", &["doctor"], "").stdout;
    assert!(!doctor().contains("in its log"), "{}", doctor());
    leave_log(&home, "two");
    assert!(doctor().contains("0.1 MB of the store are in its log"), "{}", doctor());
}
