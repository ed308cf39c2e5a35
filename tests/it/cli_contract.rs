//! The contract of every tool: help, version, bad flags, closed and full outputs, terminals.

use crate::support::{Home, readers, tools, without_short_ids};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Read;
use std::process::{Command, Stdio};

/// The output of a tool that writes to a device that is full.
fn run_to_full_device(home: &Home, tool: &str, words: &[&str], stdin: &str) -> (i32, String) {
    let input = home.write("input", stdin);
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = home.command(tool);
    command.args(words).stdin(std::fs::File::open(input).unwrap()).stdout(full).stderr(Stdio::piped());
    let output = command.output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// Runs a tool on a terminal (util-linux' script makes one): what is seen, and the status.
fn on_terminal(home: &Home, tool: &str, words: &str) -> Option<(String, i32)> {
    let mut command = Command::new("script");
    let line = format!("{} {words}", home.command(tool).get_program().to_str().unwrap());
    command.args(["-qec", &line, "/dev/null"]).env_clear().env("HOME", home.path("")).env("TZ", "UTC");
    command.current_dir(home.path("")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let output = command.spawn().ok()?.wait_with_output().unwrap();
    let seen = String::from_utf8(output.stdout).unwrap().replace('\r', "");
    Some((seen, output.status.code().unwrap()))
}

/// A line to store, and one request.
fn message(text: &str) -> String {
    format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n")
}

#[test]
fn help_and_version_are_data() {
    for tool in tools() {
        let home = Home::new();
        for flag in ["-h", "--help"] {
            let help = home.run(&tool, &[flag], "").ok();
            assert!(help.contains(&format!("Usage: {tool}")), "{help}");
            for common in ["--store", "--config", "--color", "--quiet", "--verbose", "--partition"] {
                assert!(help.contains(common), "{tool} {flag} does not name {common}");
            }
        }
        let version = format!("{tool} {}\n", env!("CARGO_PKG_VERSION"));
        for flag in ["-V", "--version"] {
            assert_eq!(home.run(&tool, &[flag], "").ok(), version);
        }
    }
}

/// The words before `--help` of every help that there is: each tool's, and that of each command of rsv-config.
fn help_commands() -> Vec<(String, Vec<&'static str>)> {
    let of_config = ["get", "set", "unset", "list", "edit", "path", "init", "partition", "status", "doctor"];
    let mut help_commands: Vec<_> = tools().into_iter().map(|tool| (tool, vec![])).collect();
    help_commands.extend(of_config.map(|command| ("rsv-config".to_owned(), vec![command])));
    help_commands
}

/// Keeps: Every tool keeps the same contract.
#[test]
fn a_short_flag_means_the_same_everywhere() {
    let mut meanings = BTreeMap::new();
    for (tool, words) in help_commands() {
        let help = Home::new().run(&tool, &[&words[..], &["--help"]].concat(), "").ok();
        for flag in help.lines().filter_map(|line| line.trim_start().strip_prefix('-')) {
            let Some((letter, name)) = flag.split_once(", --") else { continue };
            let name = name.split_whitespace().next().unwrap().to_owned();
            let meaning = meanings.entry(letter.to_owned()).or_insert(name.clone());
            assert_eq!(*meaning, name, "{tool}: -{letter}");
        }
    }
    assert!(meanings.len() > 6, "{meanings:?}");
}

#[test]
fn help_fits_its_terminal() {
    for (tool, words) in help_commands() {
        for flag in ["-h", "--help"] {
            for columns in ["80", "200"] {
                let home = Home::new().env("COLUMNS", columns);
                let help = home.run(&tool, &[&words[..], &[flag]].concat(), "").ok();
                let wide: Vec<&str> = help.lines().filter(|line| line.chars().count() > 80).collect();
                assert!(wide.is_empty(), "{tool} {words:?} {flag}, {columns} columns: {wide:?}");
            }
        }
    }
}

/// Keeps: Every tool keeps the same contract.
#[test]
fn help_opens_no_store_and_reads_no_settings() {
    for tool in tools() {
        let home = Home::new().env("RSV_CONFIG", "garbage.toml").env("RSV_STORE", "sqlite:made/by/help.db");
        home.write("garbage.toml", "= = =");
        for flag in ["--help", "-h", "-V"] {
            home.run(&tool, &[flag], "").ok();
        }
        assert!(!home.path("made").exists() && !home.path(".local").exists(), "{tool} made a store");
    }
}

#[test]
fn a_bad_flag_is_named_with_advice() {
    for tool in tools() {
        let ran = Home::new().run(&tool, &["--no-such-flag"], "");
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{tool}");
        let lines: Vec<&str> = ran.stderr.lines().collect();
        assert_eq!(lines[0], format!("{tool}: error: unexpected argument '--no-such-flag' found"));
        assert_eq!(lines[1..], [format!("{tool}: hint: see '{tool} --help'")]);
        // A misspelt flag gets a suggestion.
        let near = Home::new().run(&tool, &["--verbos"], "").trouble();
        assert_eq!(
            near.lines().nth(1),
            Some(&*format!("{tool}: hint: did you mean '--verbose'? see '{tool} --help'"))
        );
    }
}

#[test]
fn quiet_and_verbose_exclude_each_other() {
    for tool in tools() {
        let ran = Home::new().run(&tool, &["-q", "-v"], "");
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{tool}");
        let wanted = format!("{tool}: error: the argument '--quiet' cannot be used with '--verbose'\n");
        // Where a subcommand is missing, that comes first.
        assert!(ran.stderr.starts_with(&wanted) || ran.stderr.contains("subcommand"), "{}", ran.stderr);
    }
    let ran = Home::new().run("rsv-config", &["list", "-q", "-v"], "");
    assert!(ran.status == 2 && ran.stderr.contains("'--quiet' cannot be used with '--verbose'"), "{ran}");
}

#[test]
fn an_invalid_color_is_refused() {
    for tool in tools() {
        let ran = Home::new().run(&tool, &["--color", "mauve"], "");
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{tool}");
        assert!(ran.stderr.contains("auto, always, never"), "{}", ran.stderr);
    }
}

#[test]
fn help_to_a_full_device_is_an_error() {
    for tool in tools() {
        for flag in ["-h", "--help", "--version"] {
            let wanted = format!("{tool}: error: cannot write to standard output: no space left on device\n");
            assert_eq!(run_to_full_device(&Home::new(), &tool, &[flag], ""), (2, wanted));
        }
    }
}

/// Keeps: Every tool keeps the same contract.
#[test]
fn data_to_a_full_device_is_an_error() {
    let home = Home::new();
    home.ingest(&["--trace", "t"], &message("hello there"));
    home.ingest(&["--trace", "t"], &message("hello").replace("user", "assistant"));
    let request = format!("{{\"messages\":[{}]}}", message("hello").trim());
    for (tool, words, stdin) in [
        ("rsv-config", &["list"][..], ""),
        ("rsv-enrich", &[], &*request),
        ("rsv-export", &[], ""),
        ("rsv-export", &["--format", "json"], ""),
        ("rsv-export", &["--format", "csv"], ""),
        ("rsv-forget", &["--everything", "--yes"], ""),
        ("rsv-ingest", &["a new one"], ""),
        ("rsv-ingest", &[], &*message("another")),
        ("rsv-parse", &["--to", "viking://resources/x", "-"], "hello"),
        ("rsv-search", &["hello"], ""),
        ("rsv-search", &["hello", "--format", "text"], ""),
        ("rsv-view", &[], ""),
        ("rsv-view", &["--format", "text"], ""),
    ] {
        let wanted = format!("{tool}: error: cannot write to standard output: no space left on device\n");
        assert_eq!(run_to_full_device(&home, tool, words, stdin), (2, wanted), "{words:?}");
    }
    // A tool that stores before it prints has stored its input.
    assert_eq!(home.contents("rsv-search", &["another"]), ["another"]);
}

/// Keeps: Every tool keeps the same contract.
#[test]
fn a_closed_pipe_is_no_error() {
    let home = Home::new();
    let lines: String = (0..3000).map(|n| message(&format!("number {n} {}", "long ".repeat(40)))).collect();
    home.ingest(&[], &lines);
    let request = format!("{{\"messages\":[{}]}}\n", message("number").trim());
    let requests = request.repeat(400);
    for (tool, words, stdin) in [
        ("rsv-enrich", &[][..], &*requests),
        ("rsv-export", &[], ""),
        ("rsv-export", &["--format", "md"], ""),
        ("rsv-forget", &["--everything", "--yes"], ""),
        ("rsv-ingest", &[], &*lines.replace("long", "short")),
        ("rsv-parse", &["--to", "viking://resources/x", "-"], &*lines),
        ("rsv-search", &["number", "--limit", "3000"], ""),
        ("rsv-view", &["3000"], ""),
        ("rsv-view", &["3000", "--format", "text"], ""),
    ] {
        let input = std::fs::File::open(home.write("input", stdin)).unwrap();
        let mut command = home.command(tool);
        command.args(words).stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut beginning = [0; 100];
        child.stdout.take().unwrap().read_exact(&mut beginning).unwrap();
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{tool} {words:?}");
    }
}

#[test]
fn a_terminal_is_not_read_as_input() {
    let home = Home::new();
    for tool in readers().into_iter().filter(|tool| tool != "rsv-ask") {
        let Some((seen, status)) = on_terminal(&home, &tool, "") else { return };
        let help = home.run(&tool, &["--help"], "").ok();
        let usage = help.lines().find(|line| line.starts_with("Usage: ")).unwrap();
        let operand = match usage.split(['[', ']']).nth(3).unwrap() {
            "FILE" => "name a file".to_owned(),
            name => format!("give {name} as an argument"),
        };
        let wanted = format!(
            "{tool}: error: standard input is a terminal, and there is nothing to read\n\
             {tool}: hint: pipe something in, {operand}, or see '{tool} --help'\n"
        );
        assert_eq!((seen, status), (wanted, 2));
    }
    let Some((seen, status)) = on_terminal(&home, "rsv-ask", "") else { return };
    assert!(status == 2 && seen.contains("there is no question") && !seen.contains("name a file"), "{seen}");
    let Some((seen, status)) = on_terminal(&home, "rsv-ingest", "") else { return };
    assert!(
        status == 2 && seen.contains("hint: pipe something in, give TEXT as an argument, or see"),
        "{seen}"
    );
    let Some((seen, status)) = on_terminal(&home, "rsv-ingest", "--role assistant") else { return };
    assert!(status == 2 && seen.contains("standard input is a terminal"), "{seen}");
    let Some((seen, status)) = on_terminal(&home, "rsv-import", "- -") else { return };
    assert!(status == 2 && seen.contains("standard input ('-') is named more than once"), "{seen}");
}

#[test]
fn a_terminal_gets_text() {
    let home = Home::new();
    home.at("2026-11-21T07:03:00Z").run("rsv-ingest", &["What is\tan \u{1b}[2Jowl?"], "").ok();
    let date = "\u{1b}[2m2026-11-21 07:03\u{1b}[0m \u{1b}[1;32muser\u{1b}[0m: ";
    let Some((seen, status)) = on_terminal(&home, "rsv-view", "") else { return };
    assert_eq!((without_short_ids(&seen), status), (format!("{date}What is    an \\u{{1b}}[2Jowl?\n"), 0));
    let Some((seen, status)) = on_terminal(&home, "rsv-view", "--format jsonl") else { return };
    assert!(status == 0 && seen.starts_with("{\"kind\":\"message\""), "{seen}");
    let Some((seen, status)) = on_terminal(&home, "rsv-search", "--color never owl") else { return };
    let hit = "rsv-search: searched default/default\n \
               1. 0.20 2026-11-21 07:03 default/default user: What is    an\n    \\u{1b}[2Jowl?\n";
    assert_eq!((without_short_ids(&seen).as_str(), status), (hit, 0));
}

#[test]
fn colour_follows_the_flag_and_the_environment() {
    let home = Home::new();
    home.at("2026-11-21T07:03:00Z").run("rsv-ingest", &["hi"], "").ok();
    let plain = "2026-11-21 07:03 user: hi\n";
    let coloured = "\u{1b}[2m2026-11-21 07:03\u{1b}[0m \u{1b}[1;32muser\u{1b}[0m: hi\n";
    let view = |home: &Home, words: &[&str]| without_short_ids(&home.run("rsv-view", words, "").ok());
    let no_color = home.env("NO_COLOR", "1");
    assert_eq!(view(&home, &["--format", "text"]), plain);
    assert_eq!(view(&home, &["--format", "text", "--color", "always"]), coloured);
    assert_eq!(view(&no_color, &["--format", "text", "--color", "always"]), coloured);
    assert_eq!(view(&no_color, &["--format", "text"]), plain);
    assert_eq!(view(&home, &["--format", "text", "--color", "never"]), plain);
    // JSON lines carry no colour, whatever is asked for.
    assert!(!view(&home, &["--color", "always"]).contains('\u{1b}'));
}
