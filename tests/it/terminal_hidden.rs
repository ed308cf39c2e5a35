//! No character that moves the cursor, reorders text or is not seen reaches a terminal as it is.

use crate::support::Home;
use crate::terminal::{Terminal, plain};
use serde_json::{Value, json};

/// An end of a line for `less`, a new title, an erased line, a C1 control, bidirectional controls, a space of no width,
/// a letter of a tag, and deletion.
const HIDDEN: &str =
    "a\u{1b}]0;t\u{7}b\u{1b}[8mc\u{9b}2Jd\u{202e}e\u{2066}f\u{200b}g\u{e0041}h\u{85}i\u{7f}j";

/// A home in which names, texts and settings have such characters.
fn home() -> Home {
    let home = Home::new();
    let line = |role: &str, time: i64| {
        json!({"role": role, "content": format!("owl {HIDDEN}\r\nnext\rlast"), "partition": "p\u{202e}p\u{9b}q",
            "instance": "i\u{200b}", "trace_id": "t\u{202e}", "model": "m\u{2067}", "timestamp": time,
            "own": HIDDEN})
        .to_string()
            + "\n"
    };
    home.run("rsv-import", &["-q"], line("user", 1) + &line("assistant", 2)).ok();
    let memory =
        json!({"kind": "memory", "title": format!("owl {HIDDEN}"), "content": HIDDEN, "outcome": "success"});
    home.run("rsv-ingest", &["-q"], memory.to_string()).ok();
    home.write(".config/rsv/config.toml", "model = 'm\u{202e}n'\n'colour\u{202e}\u{200b}' = 1\n");
    home.write("lines", "{\"role\":\"us\u{202e}er\",\"content\":\"x\"}\n");
    home
}

/// Keeps: No hidden character reaches a terminal.
#[test]
fn nothing_that_is_hidden_reaches_a_terminal() {
    let home = home();
    let lines = [
        "rsv-view --all",
        "rsv-view --all --format jsonl",
        "rsv-view --all --format json",
        "rsv-view --all --format block",
        "rsv-view --all --format reservoir",
        "rsv-view --all --scopes",
        "rsv-view --all --sessions",
        "rsv-view --all --kind memory",
        "PAGER='cat -u' rsv-view --all --format jsonl",
        "rsv-search --all owl",
        "rsv-search --all --explain owl --format jsonl",
        "rsv-search 'o\u{202e}wl'",
        "rsv-export",
        "rsv-export --format csv",
        "rsv-export --format json",
        "rsv-export --format md",
        "rsv-export --format openai",
        "rsv-forget --all --everything --dry-run",
        "rsv-link --stats",
        "rsv-link --format dot",
        "rsv-link --format svg",
        "rsv-signal --stats",
        "rsv-config list",
        "rsv-config get model",
        "rsv-config status",
        "rsv-config doctor",
        "rsv-config get 'm\u{202e}'",
        "rsv-ingest -p 'p\u{202e}' 'x\u{202e}'",
        "rsv-ingest -p 'p\u{202e}' --format jsonl 'y\u{202e}\u{9b}'",
        "rsv-ingest < lines",
        "rsv-import 'missing\u{202e}\u{9b}file'",
        "rsv-view --format '\u{202e}x'",
        "rsv-view -p 'nobody\u{202e}'",
        "rsv-view --id 'x\u{202e}'",
        "rsv-search --store 's\u{202e}.db' owl",
        "rsv '\u{202e}x'",
        "rsv-parse 'missing\u{202e}' --to viking://resources/x",
        "rsv-forward --text lines",
    ];
    let mut shown = 0;
    for line in lines {
        let Some(terminal) = Terminal::run(&home, 200, line) else { return };
        let seen = terminal.end().0;
        let own = plain(&seen);
        let hidden: Vec<char> = own.chars().filter(|c| is_hidden(*c)).collect();
        assert!(hidden.is_empty(), "{line}: {hidden:?}: {seen:?}");
        assert!(!seen.contains("\u{1b}]") && !seen.contains("\u{1b}[8m"), "{line}: {seen:?}");
        shown += usize::from(own.contains("202e"));
    }
    assert!(shown > 25, "{shown}");
}

/// Whether a character of what was seen is hidden; what ends a line is not.
fn is_hidden(c: char) -> bool {
    c.is_control() && !"\n\t\r".contains(c)
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2060}'..='\u{206f}').contains(&c)
        || ['\u{200b}', '\u{200e}', '\u{200f}', '\u{2028}', '\u{2029}', '\u{feff}'].contains(&c)
        || ('\u{e0000}'..='\u{e007f}').contains(&c)
}

#[test]
fn lines_of_json_are_the_same_on_a_terminal_and_a_pipe_is_as_it_was() {
    let home = home();
    for tool in ["rsv-view --all --format jsonl", "rsv-export"] {
        let Some(terminal) = Terminal::run(&home, 200, &format!("{tool} --config /dev/null")) else { return };
        let seen = terminal.end().0;
        let words: Vec<&str> = tool.split(' ').skip(1).chain(["-q"]).collect();
        let piped = home.run(tool.split(' ').next().unwrap(), &words, "").ok();
        assert!(
            piped.contains('\u{202e}') && piped.contains('\u{9b}') && piped.contains('\u{e0041}'),
            "{piped:?}"
        );
        let parsed = |lines: &str| -> Vec<Value> {
            lines
                .lines()
                .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
                .collect()
        };
        // The lines end as those of a terminal do, and the pager is cat.
        assert_eq!(parsed(&seen), parsed(&piped), "{tool}");
    }
}
