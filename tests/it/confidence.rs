//! The tools compute confidence as rsv-memory(7) describes it: its example, its plot and its table.

use crate::docs::{is_installed, read, report_unchecked, root};
use crate::support::Home;
use std::path::Path;
use std::process::Command;

/// The first literal block of the page after some words, as it is shown.
fn block_after(words: &str) -> String {
    let page = read("man/rsv-memory.7");
    let (_, rest) = page.split_once(words).unwrap_or_else(|| panic!("no {words} in the page"));
    let (_, block) = rest.split_once(".Bd -literal -offset indent\n").unwrap();
    let (block, _) = block.split_once(".Ed\n").unwrap();
    block.replace("\\-", "-").replace("\\e", "\\").replace("\\(aq", "'")
}

/// Runs a program among the tools, in a home of its own; what it prints.
fn run(program: &str, arguments: &[&str]) -> String {
    let home = Home::new();
    let tools = Path::new(env!("CARGO_BIN_EXE_rsv-config")).parent().unwrap();
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("PATH", path);
    let ran = command.env("HOME", home.path("")).current_dir(home.path("")).output().unwrap();
    assert!(ran.status.success() && ran.stderr.is_empty(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

fn has_python() -> bool {
    if !is_installed("python3") {
        report_unchecked("the plot and the table of rsv-memory(7), for want of python3");
    }
    is_installed("python3")
}

fn script() -> String {
    root().join("scripts/confidence.py").display().to_string()
}

#[test]
fn the_example_of_the_page_prints_what_it_says() {
    if !is_installed("bash") || !is_installed("jq") {
        return report_unchecked("the numbers in the example of rsv-memory(7), for want of bash or jq");
    }
    let example = block_after("A strategy, and the confidence in it after each signal:");
    let wanted = example.lines().filter_map(|line| Some(line.split_once(" # ")?.1.trim()));
    let mut wanted: Vec<&str> = wanted.collect();
    assert!(wanted.len() >= 5, "{example}");
    let row = "    0.80    1 use   explicit 2:0  usage 1:0  outcome 0:1  success";
    wanted.push(row);
    let printed = run("bash", &["-euo", "pipefail", "-c", &example]);
    let mut printed: Vec<&str> = printed.lines().collect();
    // The memory itself has a line of its own before the row, and one after it.
    assert!(printed.remove(printed.len() - 3).ends_with(" Flaky tests"), "{printed:?}");
    assert!(printed.pop().unwrap().starts_with("    “"), "{printed:?}");
    assert_eq!(printed, wanted, "{example}");
}

#[test]
fn the_plot_of_the_page_is_what_the_tools_compute() {
    if has_python() {
        assert_eq!(run("python3", &[&script(), "plot"]), block_after("learn \\-\\-plot\n"));
    }
}

/// Keeps: Confidence is closer to the usefulness of memories than votes alone.
#[test]
fn the_table_of_the_page_is_what_the_tools_compute_and_rsv_is_better_each_time() {
    if !has_python() {
        return;
    }
    let seeds = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];
    let table = run("python3", &[&[script().as_str(), "calibration"], &seeds[..]].concat());
    assert_eq!(table, block_after("number of simulations in which the confidence"));
    for rule in ["the rules of the original", "explicit signals alone"] {
        let row = table.lines().find(|row| row.starts_with(rule)).unwrap();
        assert!(row.ends_with("10 and 10 of 10"), "{table}");
    }
}
