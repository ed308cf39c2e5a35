//! Mirrors by both tools: rsv-parse reads a directory, and rsv-ingest takes away what is gone.

use crate::docs::report_unchecked;
use crate::documents::stored;
use crate::parse_files::run_as_nobody;
use crate::support::{Dice, Home, lines_of, number_from, text, tries};
use serde_json::{Value, json};
use std::fs::Permissions;
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

#[test]
fn a_section_that_moves_has_its_new_position() {
    for home in Home::of_each_store() {
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
}
