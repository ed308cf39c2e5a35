//! Mirrors by both tools: rsv-parse reads a directory, and rsv-ingest removes missing documents.

use crate::docs::report_unchecked;
use crate::documents::stored;
use crate::parse_files::run_as_nobody;
use crate::support::{Dice, Home, Ran, lines_of, number_from, on_each_store, text, tries};
use serde_json::{Value, json};
use std::fs::{File, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

const NOTES: &str = "viking://resources/notes";

/// Mirrors the directory `notes`, with what the store has of it.
fn mirror(home: &Home) -> Vec<Value> {
    home.write("known", &home.run("rsv-view", &["--tree", NOTES], "").stdout);
    let parsed = home.run("rsv-parse", &["notes", "--to", NOTES, "--known", "known"], "").ok();
    home.run("rsv-ingest", &["--mirror"], &parsed).ok();
    lines_of(&parsed)
}

/// The names of what the store has.
fn names(home: &Home) -> Vec<String> {
    stored(home).iter().map(|(uri, _)| uri.rsplit('/').next().unwrap().to_owned()).collect()
}

/// Kills rsv-parse at a random byte of its output. `RSV_TEST_KILLS` says how often.
#[test]
fn a_killed_parser_takes_nothing_away_and_the_next_run_is_exact() {
    const FILES: usize = 80;
    tries(number_from("RSV_TEST_KILLS").unwrap_or(6), |mut dice| {
        let home = Home::new();
        let write_some = |dice: &mut Dice| {
            for n in 0..FILES {
                let name = format!("notes/f{n:02}.txt");
                std::fs::remove_file(home.path(&name)).ok();
                if dice.below(3) > 0 {
                    home.write(&name, &format!("Text {} of {n}. ", dice.below(3)).repeat(200));
                }
            }
        };
        write_some(&mut dice);
        mirror(&home);
        let before = stored(&home);
        write_some(&mut dice);
        let whole = home.run("rsv-parse", &["notes", "--to", NOTES], "").ok();
        let mut parser = home.command("rsv-parse");
        let mut parser = parser
            .args(["notes", "--to", NOTES])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // More than a pipe holds is left, so that the parser is not at its end.
        let (mut output, mut read) = (parser.stdout.take().unwrap(), vec![0; dice.below(whole.len() / 3)]);
        output.read_exact(&mut read).unwrap();
        parser.kill().unwrap();
        output.read_to_end(&mut read).unwrap();
        parser.wait().unwrap();
        assert!(read.len() < whole.len());
        let ran = home.run("rsv-ingest", &["--mirror"], read);
        assert!(ran.status == 2 && ran.stderr.contains("nothing is taken away"), "{ran}");
        let there = names(&home);
        assert!(before.iter().all(|(uri, _)| there.contains(&uri.rsplit('/').next().unwrap().to_owned())));
        mirror(&home);
        let fresh = Home::new();
        fresh.run("rsv-ingest", &["--mirror"], whole).ok();
        assert_eq!(stored(&home), stored(&fresh));
        home.check();
    });
}

#[test]
fn what_cannot_be_read_keeps_its_nodes_in_the_store() {
    let home = Home::new();
    for name in ["a.md", "gone.md", "closed/b.md", "closed/c.md", "secret.md"] {
        home.write(&format!("notes/{name}"), &format!("The text of {name}."));
    }
    mirror(&home);
    let before = stored(&home);
    std::fs::remove_file(home.path("notes/gone.md")).unwrap();
    for name in ["notes/closed", "notes/secret.md"] {
        std::fs::set_permissions(home.path(name), Permissions::from_mode(0o000)).unwrap();
    }
    let ran = run_as_nobody(&home, &["notes", "--to", NOTES]);
    std::fs::set_permissions(home.path("notes/closed"), Permissions::from_mode(0o700)).unwrap();
    let Some(ran) = ran else {
        return report_unchecked("a mirror of directories that rsv-parse may not read, as root");
    };
    assert!(ran.status == 2 && ran.stderr.contains("permission denied"), "{ran}");
    home.run("rsv-ingest", &["--mirror"], &ran.stdout).ok();
    let kept = |(uri, _): &&(String, String)| !uri.ends_with("/gone.md");
    let contents = |all: &[(String, String)]| all.iter().filter(kept).cloned().collect::<Vec<_>>();
    assert_eq!(stored(&home), contents(&before));
}

#[test]
fn lists_of_kept_addresses_are_of_any_length() {
    const FILES: usize = 1500;
    let home = Home::new().env("RSV_MAX_LINE_BYTES", "300000");
    let name = |n: usize| format!("{n}_{}.txt", "x".repeat(200));
    for n in 0..FILES {
        home.write(&format!("notes/{}", name(n)), &format!("Text {n}"));
    }
    mirror(&home);
    std::fs::remove_file(home.path(&format!("notes/{}", name(7)))).unwrap();
    let lines = mirror(&home);
    let trees: Vec<&Value> = lines.iter().filter(|line| line["kind"] == "tree").collect();
    let kept: usize = trees.iter().map(|tree| tree["kept"].as_array().unwrap().len()).sum();
    let complete: Vec<&Value> = trees.iter().map(|tree| &tree["complete"]).collect();
    assert_eq!((kept, complete), (FILES - 1, vec![&json!(false), &json!(true)]));
    assert_eq!(stored(&home).len(), FILES);
    assert!(!names(&home).contains(&name(7)));
}

on_each_store!(a_section_that_moves_has_its_new_position);
fn a_section_that_moves_has_its_new_position(home: Home) {
    let section = |name: &str, order: usize| json!({"kind": "document", "uri": format!("{NOTES}/{name}"), "content": name, "order": order});
    let put = |sections: &[Value]| {
        let lines: String = sections.iter().map(|section| format!("{section}\n")).collect();
        home.ingest(&[], &lines);
        let children = home.run("rsv-view", &[NOTES], "").ok();
        lines_of(&children).iter().map(|child| text(&child["title"])).collect::<Vec<_>>()
    };
    assert_eq!(put(&[section("a", 0), section("b", 1)]), ["a", "b"]);
    let exported = home.export();
    put(&[section("a", 0), section("b", 1)]);
    assert_eq!(home.export(), exported);
    assert_eq!(put(&[section("b", 0), section("a", 1)]), ["b", "a"]);
    home.check();
}

/// One way to name the partition of a mirror: the environment, the words of both tools, and the partition that is meant.
type Naming = (&'static str, &'static [&'static str], &'static [&'static str], &'static str);

/// The pipe is run in the directory `garden`, which is a project. Its last column is a partition, and its first a setting.
const NAMINGS: [Naming; 13] = [
    ("", &[], &[], "default"),
    ("", &["-p", "garden"], &[], "garden"),
    ("", &["-p", "garden"], &["-p", "garden"], "garden"),
    ("", &["--partition=garden"], &["-p", "default"], "garden"),
    ("", &["-p", "default"], &["-p", "garden"], "default"),
    ("", &["-p", "garden", "-i", "phone"], &[], "garden"),
    ("", &["-i", "phone"], &["-p", "garden"], "garden"),
    ("", &[], &["-p", "garden"], "garden"),
    ("", &["--scope", "auto"], &[], "garden"),
    ("", &["--scope", "auto"], &["--scope", "default"], "garden"),
    ("", &[], &["--scope", "auto"], "garden"),
    ("auto", &[], &[], "garden"),
    ("auto", &["--scope", "default"], &["-p", "garden"], "garden"),
];

/// Runs a tool in the directory `garden`.
fn run_in_garden(home: &Home, tool: &str, words: &[&str], stdin: &str) -> Ran {
    let input = home.write("input", stdin);
    let mut command = home.command(tool);
    command.args(words).current_dir(home.path("garden")).stdin(File::open(input).unwrap());
    home.ran(command.output().unwrap())
}

/// The addresses of the documents of a partition and what they say.
fn stored_in(home: &Home, partition: &str) -> Vec<(String, String)> {
    let exported = home.run("rsv-export", &["--kind", "document", "-p", partition], "").ok();
    let documents = lines_of(&exported).into_iter().filter(|line| line["kind"] == "document");
    let mut all: Vec<_> = documents
        .map(|line| (text(&line["uri"]), line["content"].as_str().unwrap_or_default().to_owned()))
        .collect();
    all.sort();
    all
}

on_each_store!(a_mirror_belongs_to_its_partition_however_that_is_named);
/// Keeps: A mirror takes nothing away in another partition.
fn a_mirror_belongs_to_its_partition_however_that_is_named(home: Home) {
    for name in ["a.txt", "b.txt"] {
        home.write(&format!("garden/notes/{name}"), &format!("The first {name}."));
    }
    let parse = |home: &Home, words: &[&str], to: &str| {
        run_in_garden(home, "rsv-parse", &[words, &["notes", "--to", to]].concat(), "").ok()
    };
    let both = ["default", "garden"];
    for partition in both {
        let lines = parse(&home, &["-p", partition], NOTES);
        home.run("rsv-ingest", &["--mirror"], lines).ok();
    }
    let whole = both.map(|partition| stored_in(&home, partition));
    assert!(whole[0].len() == 3 && whole[0] == whole[1], "{whole:?}");
    for (round, (scope, of_parser, of_ingest, partition)) in NAMINGS.into_iter().enumerate() {
        let home = if scope.is_empty() { home.clone() } else { home.env("RSV_SCOPE", scope) };
        let other = both.into_iter().find(|other| *other != partition).unwrap();
        let before = stored_in(&home, other);
        // A file goes in one round, and comes back in the next.
        std::fs::remove_file(home.path("garden/notes/b.txt")).ok();
        let changed = format!("The text of round {round}.");
        home.write("garden/notes/a.txt", &changed);
        let lines = parse(&home, of_parser, NOTES);
        let words = [of_ingest, &["--mirror"]].concat();
        let ran = run_in_garden(&home, "rsv-ingest", &words, &lines);
        let told = format!("{scope} {of_parser:?} {of_ingest:?}: {ran}");
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{told}");
        let wanted = [(NOTES.to_owned(), String::new()), (format!("{NOTES}/a.txt"), changed)];
        assert_eq!(stored_in(&home, partition), wanted, "{told}");
        assert_eq!(stored_in(&home, other), before, "{told}");
        home.write("garden/notes/b.txt", "The second b.txt.");
        run_in_garden(&home, "rsv-ingest", &words, &parse(&home, of_parser, NOTES)).ok();
    }
    // The partition that the address names.
    let owned = "viking://resources/users/garden/n";
    for files in [2, 1] {
        let lines = parse(&home, &[], owned);
        assert_eq!(lines_of(&lines).last().unwrap()["partition"], "garden");
        home.run("rsv-ingest", &["--mirror"], &lines).ok();
        let below = stored_in(&home, "garden").into_iter().filter(|(uri, _)| uri.starts_with(owned));
        assert_eq!(below.count(), files + 1);
        std::fs::remove_file(home.path("garden/notes/b.txt")).ok();
    }
    home.check();
}

on_each_store!(a_tree_without_a_document_in_its_partition_takes_nothing_away);
fn a_tree_without_a_document_in_its_partition_takes_nothing_away(home: Home) {
    for name in ["a.txt", "b.txt"] {
        home.write(&format!("notes/{name}"), &format!("The text of {name}."));
    }
    let of_garden = home.run("rsv-parse", &["-p", "garden", "notes", "--to", NOTES], "").ok();
    let of_any = home.run("rsv-parse", &["notes", "--to", NOTES], "").ok();
    for lines in [&of_garden, &of_any] {
        home.run("rsv-ingest", &["--mirror"], lines).ok();
    }
    std::fs::remove_file(home.path("notes/b.txt")).unwrap();
    let known = home.run("rsv-view", &["--tree", NOTES], "").ok();
    home.write("known", &known);
    let fewer = home.run("rsv-parse", &["-p", "garden", "notes", "--to", NOTES], "").ok();
    let kept = home.run("rsv-parse", &["notes", "--to", NOTES, "--known", "known"], "").ok();
    let before = home.export();
    let without = |lines: &str, kind: &str| -> String {
        let others = lines_of(lines).into_iter().filter(|line| line["kind"] != kind);
        others.map(|line| format!("{line}\n")).collect()
    };
    let end = json!({"kind": "tree", "uri": NOTES, "nodes": 2, "complete": true});
    let in_other = |mut line: Value| {
        line["partition"] = json!("other");
        format!("{line}\n")
    };
    for (lines, words, told) in [
        // As a tool of before printed it: the end of the tree named no partition.
        (
            without(&fewer, "tree") + &format!("{end}\n"),
            &[][..],
            "partition: no document of this tree is in default, but in garden there are some",
        ),
        (
            without(&fewer, "tree") + &in_other(end.clone()),
            &["-p", "garden"],
            "no document of this tree is in other",
        ),
        // A second tree does not excuse the first.
        (without(&fewer, "tree") + &format!("{end}\n") + &kept, &[], "but in garden"),
        (
            format!("{end}\n"),
            &[],
            "no document of the tree viking://resources/notes is in the partition default",
        ),
        // The kept nodes are the store's only in another partition.
        (without(&kept, "document"), &["-p", "empty"], "is in the partition empty"),
    ] {
        let ran = home.run("rsv-ingest", &[words, &["--mirror"]].concat(), &lines);
        assert_eq!(ran.status, 2, "{ran}");
        assert!(ran.stderr.contains(told) && ran.stderr.contains("nothing is taken away"), "{told}: {ran}");
        assert!(ran.stderr.contains("hint: give rsv-parse the partition of the documents"), "{ran}");
    }
    let kinds = |export: &str| export.matches("\"kind\":\"document\"").count();
    assert_eq!(kinds(&home.export()), kinds(&before));
    // Of the lines of another partition nothing is taken for known.
    let anew = home.run("rsv-parse", &["-p", "x", "notes", "--to", NOTES, "--known", "known"], "").ok();
    assert!(anew.matches("\"kind\":\"document\"").count() == 2 && !anew.contains("\"kept\""), "{anew}");
    // The same files as they are: all is kept, and the rest goes.
    home.run("rsv-ingest", &["--mirror"], &kept).ok();
    assert_eq!(stored_in(&home, "default").len(), 2);
    home.check();
}
