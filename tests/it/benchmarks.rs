//! Benchmarks count the time of a comparison only if both sides did the same work.

use crate::docs::{is_installed, report_unchecked, root};
use crate::install::{executable, run};
use crate::support::{Home, Ran, programs};
use std::path::Path;

/// Whether what the benchmarks compare with is there.
fn can_measure() -> bool {
    let missing = ["bash", "awk", "jq", "sqlite3"].into_iter().find(|tool| !is_installed(tool));
    if let Some(tool) = missing {
        report_unchecked(&format!("the benchmarks ({tool} is missing)"));
    }
    missing.is_none()
}

/// Runs a benchmark once over a few messages, in a home whose `bin` comes first in the path.
fn measure(home: &Home, name: &str) -> Ran {
    let tools = Path::new(env!("CARGO_BIN_EXE_rsv-config")).parent().unwrap();
    let path = format!("{}:{}", home.path("bin").display(), std::env::var("PATH").unwrap());
    let settings = [("PATH", &*path), ("RSV_BENCH_LINES", "100"), ("RSV_BENCH_RUNS", "1")];
    let home = settings.into_iter().fold(home.clone(), |home, (name, value)| home.env(name, value));
    run(&home.env("RSV_BENCH_TOOLS", tools.to_str().unwrap()), root().join("scripts/bench"), &[name])
}

#[test]
fn what_is_compared_is_the_same_work_and_a_table_is_printed() {
    if !can_measure() {
        return;
    }
    let table = measure(&Home::new(), "words").ok();
    for row in [
        "import / jq -c .",
        "view 10 / indexed select",
        "search 'qqq zzz' / LIKE",
        "ingest one / insert one row",
    ] {
        assert!(table.contains(row), "{row}: {table}");
    }
    let table = measure(&Home::new(), "start").ok();
    assert_eq!(table.lines().count(), 1 + 2 * programs().len(), "{table}");
}

#[test]
fn no_time_counts_if_the_other_fails_or_finds_something_else() {
    if !can_measure() {
        return;
    }
    let path = std::env::var("PATH").unwrap();
    let real =
        path.split(':').map(|directory| Path::new(directory).join("sqlite3")).find(|file| file.exists());
    let real = format!("exec {} \"$@\"", real.unwrap().display());
    for (program, script, row) in [
        ("jq", "exit 3".to_owned(), "it ended with 3: jq -c . messages.jsonl"),
        ("jq", "exit 0".to_owned(), "import / jq -c ."),
        ("sqlite3", "exit 0".to_owned(), "view 10 / indexed select"),
        ("sqlite3", format!("case $* in *LIKE*) echo 0 ;; *) {real} ;; esac"), "search 'e a' / LIKE"),
        (
            "sqlite3",
            format!("case $* in *INSERT*) exit 0 ;; *) {real} ;; esac"),
            "ingest one / insert one row",
        ),
    ] {
        let home = Home::new();
        executable(&home.write(&format!("bin/{program}"), &format!("#!/bin/sh\n{script}\n")));
        let ran = measure(&home, "words");
        assert_eq!(ran.status, 2, "{row}: {ran}");
        assert!(ran.stderr.contains(&format!("scripts/bench: error: {row}")), "{row}: {ran}");
        assert!(!ran.stdout.contains(row), "{row}: {ran}");
    }
}
