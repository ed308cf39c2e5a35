//! rsv: the command that lists the tools and becomes one of them.

use crate::docs;
use crate::fake::dead;
use crate::install::executable;
use crate::support::{Home, programs, tools};
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::path::Path;
use std::process::Stdio;

#[test]
fn alone_it_lists_every_tool_and_how_to_begin() {
    let list = Home::new().run("rsv", &[], "").ok();
    let rows = list.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let rows: BTreeSet<&str> = rows.lines().filter_map(|row| row.split_whitespace().next()).collect();
    let tools = tools();
    let words = tools.iter().map(|tool| tool.trim_start_matches("rsv-"));
    assert_eq!(rows, words.chain(["help", "start", "status"]).collect());
    assert!(list.contains("rsv config init\n") && list.lines().all(|line| line.len() <= 80), "{list}");
    for words in [&["help"][..], &["-h"], &["--help"], &["help", "help"]] {
        assert_eq!(Home::new().run("rsv", words, "").ok(), list);
    }
    for flag in ["-V", "--version"] {
        let version = format!("rsv {}\n", env!("CARGO_PKG_VERSION"));
        assert_eq!(Home::new().run("rsv", &[flag], "").ok(), version);
    }
    assert!(docs::read("Cargo.toml").contains("\ndefault-run = \"rsv\"\n"));
}

#[test]
fn a_word_becomes_the_tool_of_its_name() {
    let home = Home::new();
    home.run("rsv", &["ingest", "-p", "garden", "A warm wall."], "").ok();
    let (by_rsv, itself) = (
        home.run("rsv", &["search", "-p", "garden", "wall"], "").ok(),
        home.run("rsv-search", &["-p", "garden", "wall"], "").ok(),
    );
    assert_eq!(by_rsv, itself);
    // Its status, its name in errors, its help.
    assert_eq!(home.run("rsv", &["search", "nothing"], "").status, 1);
    let said = home.run("rsv", &["rsv-view", "x y"], "").trouble();
    assert!(said.starts_with("rsv-view: error: "), "{said}");
    for tool in tools() {
        let help = home.run(&tool, &["--help"], "").ok();
        let word = tool.trim_start_matches("rsv-");
        assert_eq!(home.run("rsv", &["help", word], "").ok(), help);
        assert_eq!(home.run("rsv", &[word, "--help"], "").ok(), help);
    }
    // As Reservoir has it.
    let said = home.run("rsv", &["start", "-o", "--check", "x"], "").trouble();
    assert!(said.starts_with("rsv-proxy: error: ") && said.contains("--ollama"), "{said}");
    let status = |home: &Home| home.run("rsv", &["status"], "").ok();
    let home = home.env("RESERVOIR_PORT", dead().rsplit(':').next().unwrap());
    assert_eq!(status(&home), home.run("rsv-config", &["status"], "").ok());
}

#[test]
fn the_tool_beside_it_comes_before_that_in_the_path() {
    let built = Path::new(env!("CARGO_BIN_EXE_rsv")).parent().unwrap();
    let home = Home::new();
    std::fs::create_dir(home.path("alone")).unwrap();
    std::fs::copy(built.join("rsv"), home.path("alone/rsv")).unwrap();
    let alone = |home: &Home| {
        let mut command = home.command(home.path("alone/rsv").to_str().unwrap());
        home.ran(command.args(["view", "--version"]).stdin(Stdio::null()).output().unwrap())
    };
    let said = alone(&home.env("PATH", "/none")).to_string();
    assert_eq!(
        said,
        "rsv: error: cannot run rsv-view: no such file or directory\n\
         rsv: hint: install the tools with scripts/install, or put their directory into PATH\n[2]"
    );
    let in_path = home.env("PATH", built.to_str().unwrap());
    assert!(alone(&in_path).ok().starts_with("rsv-view "));
    executable(&home.write("alone/rsv-view", "#!/bin/sh\necho \"beside: $*\"\n"));
    assert_eq!(alone(&in_path).ok(), "beside: --version\n");
}

#[test]
fn an_unknown_word_gets_the_nearest() {
    let home = Home::new();
    for (words, wanted) in [
        (
            &["serach", "x"][..],
            "there is no command 'serach'\nrsv: hint: did you mean 'search'? see 'rsv --help'\n",
        ),
        (
            &["help", "statsu"],
            "there is no command 'statsu'\nrsv: hint: did you mean 'status'? see 'rsv --help'\n",
        ),
        (&["tomatoes"], "there is no command 'tomatoes'\nrsv: hint: see 'rsv --help'\n"),
        (&["a\u{1b}[2J"], "there is no command 'a\\u{1b}[2J'\nrsv: hint: see 'rsv --help'\n"),
        (&["--no-such"], "unexpected argument '--no-such' found\nrsv: hint: see 'rsv --help'\n"),
    ] {
        let ran = home.run("rsv", words, "");
        assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr), (2, "", format!("rsv: error: {wanted}")));
    }
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ran = home.ran(home.command("rsv").stdout(full).stderr(Stdio::piped()).output().unwrap());
    assert!(
        ran.to_string().starts_with("rsv: error: cannot write to standard output: no space left"),
        "{ran}"
    );
}

#[test]
fn programs_are_the_command_and_its_tools() {
    let programs = programs().into_iter().map(|program| format!("{program}.rs")).collect::<BTreeSet<_>>();
    assert_eq!(programs, docs::names("src/bin"));
}
