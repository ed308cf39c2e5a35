//! The partition of a project: the name of its root, which no two projects share.

use crate::import_formats::messages;
use crate::support::{Home, Ran, lines_of, on_each_store, text};
use serde_json::json;
use std::path::Path;
use std::process::Stdio;

/// An entry of a session of Claude Code in a directory.
fn entry(directory: &Path, content: &str) -> String {
    let entry = json!({"type": "user", "sessionId": content, "cwd": directory, "uuid": content,
        "timestamp": "2026-11-01T10:00:00.000Z", "message": {"role": "user", "content": content}});
    entry.to_string() + "\n"
}

/// The partition of what was said in a directory.
fn partition(home: &Home, directory: &Path) -> String {
    let content = format!("in {}", directory.display());
    home.run("rsv-import", &[], entry(directory, &content)).ok();
    let messages = messages(home);
    text(&messages.iter().find(|message| message["content"] == content).unwrap()["partition"])
}

/// Keeps: A project's partition is its own, and stays the same.
#[test]
fn a_project_has_the_name_of_its_root() {
    let home = Home::new();
    let root = std::fs::canonicalize(home.path(".")).unwrap();
    for directory in ["a/owls/.git", "a/owls/src/deep", "b/owls", "plain/inner"] {
        std::fs::create_dir_all(root.join(directory)).unwrap();
    }
    assert_eq!(partition(&home, &root.join("a/owls/src/deep")), "owls");
    assert_eq!(partition(&home, &root.join("a/owls")), "owls");
    let other = partition(&home, &root.join("b/owls"));
    let digits = other.strip_prefix("owls-").unwrap();
    assert!(digits.len() == 6 && digits.bytes().all(|b| b.is_ascii_hexdigit()), "{other}");
    assert_eq!(partition(&home, &root.join("plain/inner")), "inner");
    assert_eq!(partition(&home, Path::new("/nowhere/eagles")), "eagles");
    assert_eq!(partition(&home, Path::new("C:\\Users\\ada\\bats")), "bats");
    assert_eq!(partition(&home, Path::new("/")), "root");
    // A directory that is gone keeps its partition.
    std::fs::remove_dir_all(root.join("a")).unwrap();
    assert_eq!(partition(&home, &root.join("a/owls/src/deep")), "owls");
    assert_eq!(partition(&home, &root.join("b/owls")), other);
}

#[test]
fn the_worktrees_of_a_repository_are_one_project() {
    let home = Home::new();
    let root = std::fs::canonicalize(home.path(".")).unwrap();
    home.write("owls/.git/worktrees/fast/commondir", "../..\n");
    home.write("elsewhere/fast/.git", &format!("gitdir: {}/owls/.git/worktrees/fast\n", root.display()));
    // A submodule is a project of its own.
    home.write("owls/.git/modules/nest/HEAD", "ref: refs/heads/main\n");
    home.write("owls/nest/.git", "gitdir: ../.git/modules/nest\n");
    assert_eq!(partition(&home, &root.join("elsewhere/fast")), "owls");
    assert_eq!(partition(&home, &root.join("owls")), "owls");
    assert_eq!(partition(&home, &root.join("owls/nest")), "nest");
}

#[test]
fn a_dry_run_keeps_no_partition() {
    let home = Home::new();
    let ran = home.run("rsv-import", &["--dry-run"], entry(Path::new("/nowhere/owls"), "owl"));
    assert_eq!(ran.status, 0, "{ran}");
    assert!(!home.path(".local/share/rsv").exists());
    // A file that cannot be read is named.
    home.write(".local/share/rsv/projects.json", "owl");
    let said = home.run("rsv-import", &[], "").trouble();
    assert!(
        said.contains("projects.json: expected value") && said.contains("\nrsv-import: hint: "),
        "{said}"
    );
}

/// Runs a tool in a directory of the home.
fn run_in(home: &Home, directory: &str, tool: &str, words: &[&str]) -> Ran {
    let mut command = home.command(tool);
    let command = command.args(words).current_dir(home.path(directory)).stdin(Stdio::null());
    home.ran(command.output().unwrap())
}

on_each_store!(tools_take_the_partition_of_the_working_directory_if_they_are_told);
fn tools_take_the_partition_of_the_working_directory_if_they_are_told(home: Home) {
    for directory in ["a/owls/.git", "a/owls/src", "b/owls"] {
        std::fs::create_dir_all(home.path(directory)).unwrap();
    }
    let contents = |directory: &str, tool: &str, words: &[&str]| {
        let lines = lines_of(&run_in(&home, directory, tool, words).ok());
        lines.iter().map(|line| text(&line["content"])).collect::<Vec<_>>()
    };
    run_in(&home, "a/owls/src", "rsv-ingest", &["--scope", "auto", "A barn owl."]).ok();
    run_in(&home, "b/owls", "rsv-ingest", &["--scope", "auto", "A snowy owl."]).ok();
    run_in(&home, "b/owls", "rsv-ingest", &["A bat."]).ok();
    assert_eq!(contents("a/owls", "rsv-view", &["--scope", "auto"]), ["A barn owl."]);
    assert_eq!(contents("a/owls", "rsv-search", &["--scope", "auto", "owl"]), ["A barn owl."]);
    assert_eq!(contents("b/owls", "rsv-search", &["--scope", "auto", "owl"]), ["A snowy owl."]);
    assert_eq!(contents("b/owls", "rsv-export", &["--scope", "auto"]), ["A snowy owl."]);
    assert_eq!(contents("b/owls", "rsv-view", &["-p", "owls"]), ["A barn owl."]);
    // Imports of the same directory are in the same partition.
    let root = std::fs::canonicalize(home.path("b/owls")).unwrap();
    assert!(partition(&home, &root).starts_with("owls-"));
    // The setting is for where no partition is named, and for tools that are not for the whole store.
    let home = home.env("RSV_SCOPE", "auto");
    let count = |words: &[&str]| lines_of(&run_in(&home, "a/owls", words[0], &words[1..]).ok()).len();
    assert_eq!(contents("a/owls", "rsv-view", &[]), ["A bat."]);
    assert_eq!(count(&["rsv-view"]), 1);
    assert_eq!(run_in(&home, "a/owls", "rsv-view", &[]).ok().matches("A barn owl.").count(), 1);
    assert_eq!(
        run_in(&home, "a/owls", "rsv-view", &["--scope", "default"]).ok().matches("A bat.").count(),
        1
    );
    assert_eq!(run_in(&home, "a/owls", "rsv-view", &["-p", "default"]).ok().matches("A bat.").count(), 1);
    assert_eq!(count(&["rsv-export"]), 4);
    assert_eq!(count(&["rsv-export", "--scope", "auto"]), 1);
    let said = run_in(&home, "a/owls", "rsv-view", &["--scope", "auto", "-p", "x"]).trouble();
    assert!(said.contains("'--scope <HOW>' cannot be used with '--partition <NAME>'"), "{said}");
}
