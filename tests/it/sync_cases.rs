//! The parts of scripts/rsv-sync: private partitions, files that came in part, machines that were away, stores that were
//! restored, and records that differ.

use crate::support::{Home, lines_of, on_each_store};
use crate::sync::{command, content, files, host, machine, sync};
use std::collections::BTreeSet;

fn ingest(home: &Home, partition: &str, text: &str) {
    home.run("rsv-ingest", &["-q", "-p", partition, text], "").ok();
}

/// The texts of all messages.
fn texts(home: &Home) -> BTreeSet<String> {
    let lines = lines_of(&home.run("rsv-export", &["--kind", "message"], "").ok());
    lines.iter().filter_map(|line| Some(line["content"].as_str()?.to_owned())).collect()
}

fn set(texts: &[&str]) -> BTreeSet<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

on_each_store!(a_shared_export_and_import_have_the_chosen_partitions_alone);
fn a_shared_export_and_import_have_the_chosen_partitions_alone(home: Home) {
    for partition in ["team-a", "team-b", "te?m", "diary"] {
        let ids = home.ingest(&["-p", partition], r#"{"role":"user","content":"One"}"#);
        let id = ids[0]["id"].as_str().unwrap();
        home.run("rsv-signal", &["-q", "-p", partition, "--always", id], "").ok();
        let gone = home.ingest(&["-p", partition], r#"{"role":"user","content":"Two"}"#);
        home.run("rsv-forget", &["-q", "--all", gone[0]["id"].as_str().unwrap()], "").ok();
    }
    home.run("rsv-config", &["set", "partitions.team-b.private", "true"], "").ok();
    let other = Home::new();
    other.run("rsv-config", &["set", "partitions.team-a.private", "true"], "").ok();
    let of = |lines: &str| -> Vec<String> {
        let mut lines: Vec<String> = lines_of(lines)
            .iter()
            .map(|line| format!("{} {}", line["kind"].as_str().unwrap(), line["partition"].as_str().unwrap()))
            .collect();
        lines.sort();
        lines
    };
    let each = |names: &[&str]| -> Vec<String> {
        let kinds = ["message", "recall", "tombstone"];
        kinds.iter().flat_map(|kind| names.iter().map(move |name| format!("{kind} {name}"))).collect()
    };
    let whole = home.export();
    for (patterns, left, taken) in [
        (&[][..], &["diary", "te?m", "team-a"][..], &["diary", "te?m", "team-b"][..]),
        (&["-p", "team*"], &["team-a"], &["team-b"]),
        (&["-p", "te?m", "-p", "*y"], &["diary", "te?m"], &["diary", "te?m"]),
    ] {
        let words = [&["--shared"], patterns].concat();
        assert_eq!(of(&home.run("rsv-export", &words, "").ok()), each(left));
        let store = other.path("other.db").display().to_string();
        let _ = std::fs::remove_file(&store);
        other.run("rsv-import", &[&["-q", "--store", &store], &words[..]].concat(), &whole).ok();
        assert_eq!(of(&other.run("rsv-export", &["--store", &store], "").ok()), each(taken));
    }
    // Lines that the other side has already are left out.
    let known = home.write("known", whole.lines().next().unwrap());
    let rest = home.run("rsv-export", &["--vectors", "--without", known.to_str().unwrap()], "").ok();
    assert_eq!(rest, whole);
    home.write("known", &format!("{}\n", whole.lines().next().unwrap()));
    let rest = home.run("rsv-export", &["--vectors", "--without", known.to_str().unwrap()], "").ok();
    assert_eq!(rest, whole.split_once('\n').unwrap().1);
}

/// Keeps: A private partition neither leaves its machine nor takes anything.
#[test]
fn private_partitions_stay_on_either_side() {
    let folder = tempfile::tempdir().unwrap();
    let shared = folder.path().to_str().unwrap();
    let [here, there, third] = [(); 3].map(|()| machine());
    for home in [&here, &there, &third] {
        for partition in ["team-a", "team-b", "diary", "home"] {
            ingest(home, partition, &format!("{partition} of {}", host(home)));
        }
    }
    here.run("rsv-config", &["set", "partitions.diary.private", "true"], "").ok();
    there.run("rsv-config", &["set", "partitions.team-b.private", "true"], "").ok();
    let of = |home: &Home, partitions: &[&str]| -> BTreeSet<String> {
        partitions.iter().map(|partition| format!("{partition} of {}", host(home))).collect()
    };
    let all = ["team-a", "team-b", "diary", "home"];
    sync(&here, &["-q", "-p", "team*", "-p", "diary", &host(&there)]).ok();
    assert_eq!(texts(&here), &of(&here, &all) | &of(&there, &["team-a"]));
    assert_eq!(texts(&there), &of(&there, &all) | &of(&here, &["team-a"]));
    // In a folder, each machine keeps back and leaves out its own.
    for home in [&here, &third, &here] {
        sync(home, &["-q", "-p", "team*", "-p", "diary", shared]).ok();
    }
    let teams = ["team-a", "team-b"];
    let more = &of(&there, &["team-a"]) | &of(&third, &teams);
    assert_eq!(texts(&here), &of(&here, &all) | &more);
    assert!(
        texts(&third).is_superset(&of(&here, &teams)) && texts(&third).is_disjoint(&of(&here, &["diary"]))
    );
    let stored: Vec<u8> = files(folder.path()).iter().flat_map(|file| content(file, None)).collect();
    assert!(memchr::memmem::find(&stored, format!("diary of {}", host(&here)).as_bytes()).is_none());
    // Once it is no longer private, everything is exchanged.
    here.run("rsv-config", &["unset", "partitions.diary.private"], "").ok();
    sync(&here, &["-q", "-p", "team*", "-p", "diary", &host(&there)]).ok();
    assert!(texts(&there).is_superset(&of(&here, &["team-a", "diary"])));
    assert!(texts(&here).is_superset(&of(&there, &["team-a", "diary"])));
}

/// Keeps: A file that has come only in part is read once it is whole, and later ones after it.
#[test]
fn a_file_that_came_in_part_waits() {
    let folder = tempfile::tempdir().unwrap();
    let shared = folder.path().to_str().unwrap();
    let [here, there] = [(); 2].map(|()| machine());
    ingest(&here, "p", "One");
    sync(&here, &["-q", shared]).ok();
    sync(&there, &["-q", shared]).ok();
    ingest(&here, "p", "Two");
    sync(&here, &["-q", shared]).ok();
    let changes = files(folder.path()).into_iter().find(|file| file.to_str().unwrap().contains(".changes."));
    let changes = changes.unwrap();
    let whole = std::fs::read(&changes).unwrap();
    std::fs::write(&changes, &whole[..whole.len() - 1]).unwrap();
    ingest(&here, "p", "Three");
    sync(&here, &["-q", shared]).ok();
    let ran = sync(&there, &[shared]);
    assert!(ran.status == 0 && ran.stderr.ends_with("; 2 files have not come whole yet\n"), "{ran}");
    assert_eq!(texts(&there), set(&["One"]));
    std::fs::write(&changes, whole).unwrap();
    sync(&there, &["-q", shared]).ok();
    assert_eq!(texts(&there), set(&["One", "Two", "Three"]));
}

/// Keeps: Of many files of changes one is made, which only a machine that was away reads.
#[test]
fn a_machine_that_was_away_comes_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let shared = folder.path().to_str().unwrap();
    let [here, there, away] = [(); 3].map(|()| machine());
    ingest(&away, "p", "Away");
    sync(&away, &["-q", shared]).ok();
    for n in 0..40 {
        ingest(&here, "p", &format!("Owl {n}"));
        sync(&here, &["-q", shared]).ok();
        if n % 10 == 0 {
            sync(&there, &["-q", shared]).ok();
        }
    }
    assert!(files(folder.path()).len() < 40);
    ingest(&away, "p", "Back");
    for home in [&away, &there, &here] {
        sync(home, &["-q", shared]).ok();
    }
    assert_eq!(texts(&here).len(), 42);
    assert_eq!([texts(&there), texts(&away)], [texts(&here), texts(&here)]);
    let said = sync(&there, &["-q", "--dry-run", shared]).ok();
    assert_eq!(said, "");
}

/// Keeps: A store that was restored from an older copy gets everything again.
#[test]
fn a_restored_store_gets_everything_again() {
    let folder = tempfile::tempdir().unwrap();
    let shared = folder.path().to_str().unwrap().to_owned();
    let [here, there] = [(); 2].map(|()| machine());
    let ways = [shared, host(&there)];
    ingest(&here, "p", "Before");
    let copy = here.path("copy.db").display().to_string();
    here.run("rsv-export", &["--format", "sqlite", "--to", &copy], "").ok();
    ingest(&here, "p", "After");
    ingest(&there, "p", "There");
    let rounds = || {
        for way in &ways {
            sync(&here, &["-q", way]).ok();
            sync(&there, &["-q", &ways[0]]).ok();
        }
        sync(&here, &["-q", &ways[0]]).ok();
    };
    rounds();
    let all = set(&["Before", "After", "There"]);
    assert_eq!([texts(&here), texts(&there)], [all.clone(), all.clone()]);
    for way in &ways {
        for file in ["store.db", "store.db-wal", "store.db-shm"] {
            let _ = std::fs::remove_file(here.path(".local/share/rsv").join(file));
        }
        std::fs::copy(&copy, here.store()).unwrap();
        sync(&here, &["-q", way]).ok();
        assert_eq!(texts(&here), all, "{way}");
    }
}

/// Keeps: Two runs at once wait for each other.
#[test]
fn two_runs_at_once_wait() {
    let [here, there] = [(); 2].map(|()| machine());
    (0..4).for_each(|n| ingest(&here, "p", &format!("Owl {n}")));
    (0..4).for_each(|n| ingest(&there, "p", &format!("Cat {n}")));
    let words = ["-q", &host(&there)];
    let runs: Vec<_> = (0..4).map(|_| command(&here, &words).spawn().unwrap()).collect();
    for mut run in runs {
        assert!(run.wait().unwrap().success());
    }
    assert_eq!((texts(&here).len(), here.export()), (8, there.export()));
}

/// Keeps: Records that differ stay as they are on both sides, and are counted.
#[test]
fn records_that_differ_stay_and_are_counted() {
    let [here, there] = [(); 2].map(|()| machine());
    let line = |text: &str| {
        format!(
            r#"{{"kind":"message","id":"m","trace_id":"t","partition":"p","instance":"p","role":"user","content":"{text}","timestamp":1}}"#
        )
    };
    here.run("rsv-import", &["-q"], line("Here")).ok();
    there.run("rsv-import", &["-q"], line("There")).ok();
    let ran = sync(&here, &[&host(&there)]);
    assert!(ran.status == 2 && ran.stderr.ends_with(": 0 came, 0 went, 2 differ\n"), "{ran}");
    assert_eq!([texts(&here), texts(&there)], [set(&["Here"]), set(&["There"])]);
    sync(&here, &["-q", &host(&there)]).ok();
    let ran = sync(&here, &["no/such/folder"]);
    assert!(ran.status == 2 && ran.stderr.contains("there is no directory no/such/folder"), "{ran}");
}
