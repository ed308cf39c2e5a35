//! Files and commits that recalled messages name, compared with the project in which a client works.

use crate::support::{Home, lines_of, text};
use serde_json::{Value, json};
use std::cell::Cell;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

/// The time of a message: before all that happens in a test.
const MESSAGE_TIME: i64 = 1_700_000_000_000;

/// A project of a home, whose partition is `owls`. Git has all the time that it needs.
struct Project {
    home: Home,
    /// The number of messages.
    said: Cell<usize>,
}

impl Project {
    /// One without git.
    fn plain() -> Project {
        let path = std::env::var("PATH").unwrap();
        let home = Home::new().env("PATH", &path).env("RSV_ENRICH_TIMEOUT", "20m");
        let home = home.env("RSV_ENRICH_SELECTIVE", "false").env("RSV_ENRICH_SHARE", "1");
        home.write("owls/README.md", "Owls.\n");
        let home = home.env("RSV_SEARCH_NEWER", "off");
        let project = Project { home, said: Cell::new(0) };
        project.run("rsv-ingest", &["--scope", "auto", "-i", "notes", "Owls."], "");
        project
    }

    /// A repository.
    fn new() -> Project {
        let project = Project::plain();
        project.git(&["init", "-q", "-b", "main"]);
        project
    }

    /// The output of git there.
    fn git(&self, words: &[&str]) -> String {
        self.git_at(words, "1600000000 +0000")
    }

    fn git_at(&self, words: &[&str], time: &str) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]).args(words);
        git.current_dir(self.home.path("owls")).env("HOME", self.home.path("."));
        git.env("GIT_COMMITTER_DATE", time).env("GIT_AUTHOR_DATE", time).stdin(Stdio::null());
        let output = git.output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn commit_at(&self, time: &str) {
        self.git(&["add", "--all"]);
        self.git_at(&["commit", "-q", "-m", "A change"], time);
    }

    /// Commits before any message.
    fn commit_before(&self) {
        self.commit_at("1600000000 +0000");
    }

    /// Commits after any message.
    fn commit_after(&self) {
        self.commit_at("1750000000 +0000");
    }

    fn write(&self, name: &str, text: &str) {
        self.home.write(&format!("owls/{name}"), text);
    }

    fn remove(&self, name: &str) {
        std::fs::remove_file(self.home.path(&format!("owls/{name}"))).unwrap();
    }

    /// Makes a file or a directory as old as if nothing had touched it since before any message.
    fn age(&self, name: &str) {
        let file = std::fs::File::open(self.home.path(&format!("owls/{name}"))).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_500_000_000)).unwrap();
    }

    /// Runs a tool in the project.
    fn run(&self, tool: &str, words: &[&str], stdin: &str) -> String {
        let mut command = self.home.command(tool);
        command.args(words).current_dir(self.home.path("owls"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut input, stdin.as_bytes()).unwrap();
        drop(input);
        self.home.ran(child.wait_with_output().unwrap()).ok()
    }

    /// Stores what was said.
    fn say(&self, contents: &[String]) {
        let first = self.said.replace(self.said.get() + contents.len());
        let said = |(at, content): (usize, &String)| {
            let at = first + at;
            let id = format!("m{at}");
            let line = json!({"kind": "message", "id": id, "trace_id": id, "partition": "owls",
                "instance": "default", "role": "user", "content": content,
                "timestamp": MESSAGE_TIME + at as i64});
            format!("{line}\n")
        };
        let lines: String = contents.iter().enumerate().map(said).collect();
        self.run("rsv-import", &["-q"], &lines);
    }

    /// The enriched requests for some questions, each about messages with its word, with flags of rsv-enrich.
    fn enrich(&self, flags: &[&str], questions: &[&str]) -> Vec<Value> {
        let request = |question: &&str| {
            let request = json!({"model": "llama3.1", "messages": [{"role": "user", "content": question}]});
            format!("{request}\n")
        };
        let requests: String = questions.iter().map(request).collect();
        lines_of(&self.run("rsv-enrich", flags, &requests))
    }

    /// The states that the account and the block of a request name for each recalled message, by its id.
    fn states(&self, question: &str) -> Vec<(String, Vec<String>)> {
        states(&self.enrich(&["--scope", "auto"], &[question])[0])
    }

    /// The states of a message that says this, which is forgotten then.
    fn states_of(&self, content: &str) -> Vec<String> {
        self.say(&[content.to_owned()]);
        let last = format!("m{}", self.said.get() - 1);
        let states = self.states("What about the quokka?");
        // The next one is not to be left out as a repetition of this.
        self.run("rsv-forget", &["--all", &last], "");
        states.into_iter().find(|(id, _)| *id == last).unwrap().1
    }
}

/// The phrases for each recalled message of a request; those of its block are the same.
fn states(line: &Value) -> Vec<(String, Vec<String>)> {
    let account = &line["rsv"]["account"];
    let prompt = text(&line["messages"][0]["content"]);
    let parts = ["recalled", "recent"].into_iter().flat_map(|name| account[name].as_array().unwrap());
    let phrase = |file: &Value| match file["state"].as_str().unwrap() {
        "gone" => format!("{} is gone since", text(&file["path"])),
        "moved" => format!("{} moved to {}", text(&file["path"]), text(&file["to"])),
        "changed" => format!("{} changed since", text(&file["path"])),
        "unknown" => format!("commit {} is not in the history", text(&file["commit"])),
        other => panic!("{other}"),
    };
    let mut all = Vec::new();
    for part in parts {
        let files = part["files"].as_array();
        let phrases: Vec<String> = files.into_iter().flatten().map(phrase).collect();
        if !phrases.is_empty() {
            assert!(prompt.contains(&format!("> [of 2023-11-14; {}", phrases.join("; "))), "{prompt}");
        }
        all.push((text(&part["id"]), phrases));
    }
    let marked = all.iter().filter(|(_, phrases)| !phrases.is_empty()).count();
    assert_eq!(prompt.matches("> [of 2023-11-14; ").count(), marked, "{prompt}");
    all
}

fn contents(name: &str) -> String {
    (0..30).map(|line| format!("{name} {line}\n")).collect()
}

/// Keeps: Of 300 files that messages name, exactly the renamed, deleted or changed ones are reported.
#[test]
fn files_are_told_as_git_knows_them() {
    let project = Project::new();
    let name = |at: usize| format!("src/d{}/file{at}.rs", at % 7);
    for at in 0..300 {
        project.write(&name(at), &contents(&name(at)));
    }
    project.commit_before();
    let mut wanted: Vec<Vec<String>> = vec![Vec::new(); 300];
    // Renames: as they are, with a change in the same commit, and twice.
    for (at, wanted) in wanted.iter_mut().enumerate().take(100) {
        let to = format!("lib/new{at}.rs");
        std::fs::create_dir_all(project.home.path("owls/lib")).unwrap();
        project.git(&["mv", &name(at), &to]);
        if at % 3 == 1 {
            project.write(&to, &(contents(&name(at)) + "one more\n"));
        }
        *wanted = vec![format!("{} moved to {to}", name(at))];
    }
    project.commit_after();
    for at in (0..100).filter(|at| at % 3 == 2) {
        let to = format!("lib/newest{at}.rs");
        project.git(&["mv", &format!("lib/new{at}.rs"), &to]);
        wanted[at] = vec![format!("{} moved to {to}", name(at))];
    }
    for (at, wanted) in wanted.iter_mut().enumerate().take(150).skip(100) {
        project.remove(&name(at));
        *wanted = vec![format!("{} is gone since", name(at))];
    }
    for (at, wanted) in wanted.iter_mut().enumerate().take(200).skip(150) {
        project.write(&name(at), "changed\n");
        *wanted = vec![format!("{} changed since", name(at))];
    }
    project.commit_at("1760000000 +0000");
    let said: Vec<String> =
        (0..300).map(|at| format!("The quokka{} is in `{}`.", at / 10, name(at))).collect();
    project.say(&said);
    let questions: Vec<String> = (0..30).map(|batch| format!("Where is quokka{batch}?")).collect();
    let questions: Vec<&str> = questions.iter().map(String::as_str).collect();
    let mut seen = 0;
    for line in project.enrich(&["--scope", "auto"], &questions) {
        for (id, phrases) in states(&line) {
            let Some(at) = id.strip_prefix('m').and_then(|at| at.parse::<usize>().ok()) else { continue };
            assert_eq!(phrases, wanted[at], "{id}");
            seen += 1;
        }
    }
    assert!(seen >= 300, "{seen}");
}

#[test]
fn what_is_not_committed_counts_too() {
    let project = Project::new();
    for name in ["a.rs", "b.rs", "c.rs", "d.rs", "e.rs"] {
        project.write(&format!("src/{name}"), &contents(name));
    }
    project.write(".gitignore", "out\n");
    project.commit_before();
    project.write("src/a.rs", "edited");
    project.remove("src/b.rs");
    project.git(&["mv", "src/c.rs", "src/z.rs"]);
    project.write("src/new.rs", "not added");
    project.write("out/x.rs", "ignored");
    for (named, wanted) in [
        ("src/a.rs:12", vec!["src/a.rs changed since"]),
        ("src/b.rs", vec!["src/b.rs is gone since"]),
        ("./src/c.rs", vec!["src/c.rs moved to src/z.rs"]),
        ("src/d.rs and @src/e.rs", vec![]),
        ("src/new.rs", vec!["src/new.rs changed since"]),
        ("out/x.rs", vec![]),
        ("src/never.rs, never.rs, https://example.org/src/b.rs, ../owls/src/b.rs and src/b.rs.bak", vec![]),
    ] {
        assert_eq!(project.states_of(&format!("The quokka is in {named}.")), wanted, "{named}");
    }
    let absolute = std::fs::canonicalize(project.home.path("owls/src/a.rs")).unwrap();
    let said = format!("The quokka is in {}.", absolute.display());
    assert_eq!(project.states_of(&said), ["src/a.rs changed since"]);
    // A file that was not touched since is as it was, though it was committed later.
    project.age("src/a.rs");
    project.commit_after();
    assert_eq!(project.states_of("The quokka is in src/a.rs."), [""; 0]);
}

/// Keeps: A commit that a message names is reported exactly if no branch reaches it.
#[test]
fn a_commit_that_is_not_in_the_history_is_told() {
    let project = Project::new();
    project.commit_before();
    let kept = project.git(&["rev-parse", "HEAD"]);
    project.write("src/a.rs", "lost");
    project.commit_after();
    let lost = project.git(&["rev-parse", "--short=10", "HEAD"]);
    project.git(&["reset", "-q", "--hard", &kept]);
    let says = |commit: &str| vec![format!("commit {commit} is not in the history")];
    assert_eq!(project.states_of(&format!("The quokka came in commit {kept}.")), [""; 0]);
    assert_eq!(project.states_of(&format!("The quokka came in commit {lost}.")), says(&lost));
    assert_eq!(project.states_of("The quokka came in commit `0123456789abcdef`."), says("0123456789abcdef"));
    assert_eq!(project.states_of("The quokka has the checksum 0123456789abcdef."), [""; 0]);
}

#[test]
fn without_git_the_times_of_files_count() {
    let project = Project::plain();
    project.write("src/a.rs", "new");
    project.write("src/old.rs", "old");
    project.age("src/old.rs");
    for (named, wanted) in [
        ("src/a.rs", vec!["src/a.rs changed since"]),
        ("src/old.rs", vec![]),
        ("src/gone.rs", vec!["src/gone.rs is gone since"]),
        ("lib/gone.rs, gone.rs and commit 1a2b3c4", vec![]),
    ] {
        assert_eq!(project.states_of(&format!("The quokka is in {named}.")), wanted, "{named}");
    }
    // Nothing changed in the directory since.
    project.age("src");
    assert_eq!(project.states_of("The quokka is in src/gone.rs."), [""; 0]);
}

/// Keeps: No symbolic link is followed, and nothing outside of the project is looked at.
#[test]
fn no_link_leads_out_of_the_project() {
    for project in [Project::plain(), Project::new()] {
        project.home.write("secret/a.rs", "new");
        std::os::unix::fs::symlink(project.home.path("secret"), project.home.path("owls/link")).unwrap();
        std::os::unix::fs::symlink("../secret/a.rs", project.home.path("owls/a.rs")).unwrap();
        let named = "link/a.rs, link/gone.rs, a.rs, ../secret/a.rs and src/../../secret/a.rs";
        assert_eq!(project.states_of(&format!("The quokka is in {named}.")), [""; 0]);
        let outside = std::fs::canonicalize(project.home.path("secret/a.rs")).unwrap();
        assert_eq!(project.states_of(&format!("The quokka is in {}.", outside.display())), [""; 0]);
    }
}

/// Keeps: No command that a project configures for git is run.
#[test]
fn nothing_of_the_project_is_run() {
    let project = Project::new();
    let program = project.home.write("program", "#!/bin/sh\n: > \"$(dirname \"$0\")/was-run\"\ncat\n");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let path = program.to_str().unwrap();
    project.write("src/a.rs", &contents("a"));
    project.write("src/b.rs", &contents("b"));
    project.commit_before();
    project.git(&["mv", "src/b.rs", "src/c.rs"]);
    project.write("src/c.rs", &(contents("b") + "more\n"));
    project.commit_after();
    let was_run = project.home.path("was-run");
    for (key, value) in [
        ("core.fsmonitor", path),
        ("core.pager", path),
        ("diff.external", path),
        ("diff.own.textconv", path),
        ("filter.own.clean", path),
        ("filter.own.smudge", path),
        ("filter.own.process", path),
        ("log.showSignature", "true"),
        ("gpg.program", path),
        ("core.sshCommand", path),
        ("core.askPass", path),
    ] {
        project.git(&["config", key, value]);
    }
    project.write(".gitattributes", "*.rs filter=own diff=own\n");
    for hook in ["post-index-change", "post-checkout", "reference-transaction", "pre-auto-gc"] {
        let hook = project.home.path(&format!("owls/.git/hooks/{hook}"));
        std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
        std::fs::copy(&program, hook).unwrap();
    }
    project.write("src/a.rs", "edited");
    let _ = std::fs::remove_file(&was_run);
    let states = project.states_of("The quokka is in src/a.rs and src/b.rs, since commit 0123456789.");
    let wanted =
        ["src/b.rs moved to src/c.rs", "commit 0123456789 is not in the history", "src/a.rs changed since"];
    assert_eq!(states, wanted);
    assert!(!was_run.exists());
    // It would have been, by a plain status.
    project.git(&["status"]);
    assert!(was_run.exists());
}

#[test]
fn nothing_is_said_where_it_is_off_or_the_project_is_another() {
    let project = Project::new();
    project.write("src/a.rs", "a");
    project.commit_before();
    project.remove("src/a.rs");
    project.commit_after();
    let said = "The quokka is in src/a.rs.";
    project.say(&[said.to_owned()]);
    assert_eq!(project.states("What about the quokka?")[0].1, ["src/a.rs is gone since"]);
    let quiet = |project: &Project, flags: &[&str]| {
        let line = project.enrich(flags, &["What about the quokka?"]).remove(0);
        assert!(text(&line["messages"][0]["content"]).contains(said), "{line}");
        assert!(states(&line).iter().all(|(_, phrases)| phrases.is_empty()), "{line}");
    };
    let off = Project { home: project.home.env("RSV_ENRICH_CHECK", "off"), said: Cell::new(1) };
    quiet(&off, &["--scope", "auto"]);
    // Without git, nothing is known of a repository.
    quiet(&Project { home: project.home.without("PATH"), said: Cell::new(1) }, &["--scope", "auto"]);
    // The partition by its name is the project's too; in another directory it is unknown.
    assert!(!states(&project.enrich(&["-p", "owls"], &["quokka"])[0])[0].1.is_empty());
    let request =
        json!({"model": "llama3.1", "messages": [{"role": "user", "content": "What about the quokka?"}]});
    let line = lines_of(&project.home.run("rsv-enrich", &["-p", "owls"], request.to_string()).ok()).remove(0);
    assert!(states(&line).iter().all(|(_, phrases)| phrases.is_empty()), "{line}");
}

/// Keeps: The states of files are those of the turn's first request, though they change within the turn.
#[test]
fn the_states_of_files_stay_within_a_turn() {
    let project = Project::new();
    project.write("src/a.rs", "a");
    project.write("src/b.rs", "b");
    project.commit_before();
    project.remove("src/a.rs");
    project.say(&["The quokka is in src/a.rs and src/b.rs.".to_owned()]);
    let question = json!({"role": "user", "content": "What about the quokka?"});
    let enrich = |messages: Value| {
        let request = json!({"model": "llama3.1", "messages": messages}).to_string();
        lines_of(&project.run("rsv-enrich", &["--scope", "auto"], &request)).remove(0)
    };
    let line = enrich(json!([question]));
    let prompt = text(&line["messages"][0]["content"]);
    assert!(prompt.contains("> [of 2023-11-14; src/a.rs is gone since]\n> The quokka"), "{prompt}");
    project.run("rsv-ingest", &[], &format!("{}\n", line["rsv"]["account"]));
    let shown = project.run("rsv-view", &["--scope", "auto", "--accounts", "--format", "text"], "");
    let plain: String = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plain.contains("src/a.rs is gone since)"), "{shown}");
    project.write("src/a.rs", "again");
    project.remove("src/b.rs");
    let call = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function",
        "function": {"name": "edit", "arguments": "{}"}}]});
    let result = json!({"role": "tool", "tool_call_id": "c", "content": "done"});
    let later = enrich(json!([question, call, result]));
    assert_eq!(text(&later["messages"][0]["content"]), prompt);
    assert_ne!(text(&enrich(json!([question]))["messages"][0]["content"]), prompt);
    // A model that repeats the block does not have it stored again.
    let echo = json!({"role": "assistant", "content": prompt}).to_string();
    let stored = lines_of(&project.run("rsv-ingest", &["-p", "elsewhere"], &echo));
    assert_eq!(stored[0]["content"], "What about the quokka?");
}
