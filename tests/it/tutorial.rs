//! The tutorial of the manual, as a new user goes through it on a terminal.

use crate::docs::{is_installed, read, report_unchecked, root, section};
use crate::examples::{blocks, can_run_examples, provider};
use crate::support::Home;
use crate::terminal::Terminal;
use std::os::unix::fs::symlink;
use std::process::Command;

/// Keeps: The tutorial leads a new user from an import to forgetting it.
#[test]
fn its_commands_lead_from_an_import_to_forgetting_it() {
    if !is_installed("fzf") || !can_run_examples() {
        return report_unchecked("the commands of rsv-tutorial(7), for want of fzf or others");
    }
    let (home, provider) = (Home::new(), provider());
    std::fs::create_dir_all(home.path(".local/lib/rsv")).unwrap();
    symlink(root().join("scripts/rsv.bash"), home.path(".local/lib/rsv/rsv.bash")).unwrap();
    let home = home.env("RSV_OLLAMA_BASE_URL", &provider.url()).env("NO_COLOR", "1");
    let commands = blocks(section(&read("man/rsv-tutorial.7"), "EXAMPLES"));
    home.write("tutorial", &commands);
    let Some(mut terminal) = Terminal::run(&home, 80, "stty rows 24; bash -euo pipefail tutorial") else {
        return report_unchecked("the commands of rsv-tutorial(7), for want of script");
    };
    terminal.see("There are none yet.");
    terminal.see("3 records: 3 new");
    terminal.see("3 records: 3 the same");
    // By words both times, as there is no model; then as a text from the pipe.
    terminal.see("user: When do the tomatoes go out?");
    terminal.see("assistant: In the middle of May, by the warm\n");
    terminal.see("\nIn the middle of May, by the warm wall.\n");
    terminal.see("My password for the seed shop is tulip42.");
    // The browser has the one message, and prints it.
    terminal.see("1/1");
    terminal.press("\r");
    terminal.see("user: When do the tomatoes go out?");
    terminal.see("By the wall.");
    terminal.see("“And the beans?” was sent with 2 recent messages");
    terminal.see("rsv-forget: 1 record");
    let (seen, status) = terminal.end();
    assert!(status == 0 && seen.contains("3 records: 2 the same, 1 forgotten"), "{seen}");
    assert!(provider.one().text().contains("tulip42"));
    let left = home.run("rsv-export", &[], "").ok();
    assert!(!left.contains("tomatoes") && !left.contains("\"kind\":\"message\""), "{left}");
}

#[test]
fn it_has_at_most_80_lines() {
    if !is_installed("mandoc") {
        return report_unchecked("the length of rsv-tutorial(7), for want of mandoc");
    }
    let mut mandoc = Command::new("mandoc");
    let printed = mandoc.args(["-T", "ascii"]).arg(root().join("man/rsv-tutorial.7")).output().unwrap();
    let lines = String::from_utf8_lossy(&printed.stdout).lines().count();
    assert!((40..=80).contains(&lines), "{lines}");
}
