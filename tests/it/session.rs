//! The pictures of the README: real commands on a terminal and what they print, and the graph of the demo.

use crate::browse::browse;
use crate::docs::{is_installed, read, root};
use crate::examples::can_run_examples;
use crate::support::Home;
use anstyle::AnsiColor;
use anstyle_svg::Term;
use std::process::{Command, Stdio};

/// The terminal output of the commands, each after a prompt; `None` if no terminal can be made.
fn seen(commands: &str) -> Option<String> {
    let home = Home::new();
    home.write("demo.jsonl", &read("scripts/demo.jsonl"));
    home.write("commands", commands);
    let steps = r#"while IFS= read -r line; do printf '\033[1;32m$\033[0m %s\n' "$line"; eval "$line"; done < commands"#;
    home.write("steps", steps);
    let tool = home.command("rsv-view");
    let bin = std::path::Path::new(tool.get_program()).parent().unwrap().display().to_string();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap_or_default());
    let mut script = Command::new("script");
    script.args(["-qec", "bash steps", "/dev/null"]).env_clear().env("HOME", home.path("")).env("PATH", path);
    script.env("TZ", "UTC").env("COLUMNS", "80").env("RSV_TEST_NOW", "2026-11-21T08:00:00Z");
    let output = script.current_dir(home.path("")).stdin(Stdio::null()).output().ok()?;
    assert!(output.status.success());
    Some(String::from_utf8(output.stdout).unwrap().replace('\r', ""))
}

/// Keeps: The documentation agrees with the tools.
#[test]
fn the_recorded_session_is_what_the_tools_print() {
    if !can_run_examples() {
        return;
    }
    let Some(seen) = seen(&read("scripts/session")) else { return };
    assert!(!seen.contains(": error: ") && seen.matches("$\u{1b}[0m rsv-").count() > 3, "{seen}");
    let terminal = Term::new().fg_color(AnsiColor::Black.into()).bg_color(AnsiColor::BrightWhite.into());
    let picture = terminal.render_svg(&seen);
    match std::env::var("RSV_TEST_RECORD") {
        Ok(path) => std::fs::write(root().join(path).join("session.svg"), picture).unwrap(),
        Err(_) => assert!(picture == read("scripts/session.svg"), "run scripts/record\n{seen}"),
    }
}

/// The texts of a picture, tooltips aside: its heading, its groups and what it says of them.
fn texts(svg: &str) -> Vec<String> {
    let inner = |part: &str| part.split_once('>').unwrap().1.split("</text>").next().unwrap().to_owned();
    svg.split("<text ").skip(1).map(inner).collect()
}

// Places differ in the last digit with the processor that made the vectors; texts do not.
#[test]
fn the_graph_of_the_readme_is_what_rsv_link_draws() {
    let home = Home::with_model().env("TZ", "UTC");
    home.run("rsv-ingest", &["-p", "demo"], read("scripts/demo.jsonl")).ok();
    home.run("rsv-embed", &["--pending"], "").ok();
    let picture = home.run("rsv-link", &["-p", "demo", "--format", "svg"], "").ok();
    assert_eq!(picture.matches("data-node=").count(), 60);
    match std::env::var("RSV_TEST_RECORD") {
        Ok(path) => std::fs::write(root().join(path).join("graph.svg"), picture).unwrap(),
        Err(_) => assert_eq!(texts(&picture), texts(&read("scripts/graph.svg")), "run scripts/record"),
    }
}

// Another version of fzf draws other borders; the rows are those of rsv-search.
#[test]
fn the_picture_of_rsv_browse_is_its_screen() {
    const COLUMNS: u16 = 100;
    if !is_installed("fzf") || !can_run_examples() {
        return;
    }
    let home = Home::new().env("TZ", "UTC").env("RSV_TEST_NOW", "2026-11-21T08:00:00Z");
    // Those of light terminals.
    let home = home.env("FZF_DEFAULT_OPTS", "--color=fg+:0,bg+:7,hl+:0,gutter:-1,pointer:0");
    home.run("rsv-ingest", &["-p", "demo"], read("scripts/demo.jsonl")).ok();
    let Some(mut terminal) = browse(&home, "bash", COLUMNS.into(), "rsv-browse -p demo hotel room") else {
        return;
    };
    terminal.see_all(["2/2", "1/13"]);
    let shown = terminal.screen().rows_formatted(0, COLUMNS).map(|row| row + "\u{1b}[0m\n");
    let shown: String = shown.collect();
    let terminal = Term::new().fg_color(AnsiColor::Black.into()).bg_color(AnsiColor::BrightWhite.into());
    let picture = terminal.render_svg(&shown);
    match std::env::var("RSV_TEST_RECORD") {
        Ok(path) => std::fs::write(root().join(path).join("browse.svg"), picture).unwrap(),
        Err(_) => {
            for hit in [
                "What did the hotel want",
                "The hotel in Rua dos Sapateiros asked 140 euros a night for room 3",
            ] {
                assert!(
                    picture.contains(hit) && read("scripts/browse.svg").contains(hit),
                    "run scripts/record"
                );
            }
        }
    }
}
