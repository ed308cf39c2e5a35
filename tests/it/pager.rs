//! The pager on a terminal.

use crate::support::Home;
use crate::terminal::{Terminal, plain};
use serde_json::json;

/// The prompt of less, below a page.
const PROMPT: &str = "\n:\u{1b}[K";

/// Three hundred messages, which no screen of the tests has room for.
fn long() -> Home {
    let home = Home::new();
    let line = |n| json!({"role": "user", "content": format!("owl {n}."), "timestamp": n}).to_string() + "\n";
    home.ingest(&[], &(0..300).map(line).collect::<String>());
    home
}

#[test]
fn long_output_waits_in_less_and_leaves_the_terminal_as_it_was() {
    let home = long();
    if !crate::docs::is_installed("less") {
        return;
    }
    for columns in [40, 80, 200] {
        for (tool, first, last) in
            [("rsv-view 300", "owl 1.", "owl 299."), ("rsv-search owl --limit 300", "owl 297.", "owl 0.")]
        {
            let line = format!(
                "unset PAGER; export NO_COLOR=1; stty -g > before; {tool}; echo \"ended $?\"; stty -g > after"
            );
            let Some(mut terminal) = Terminal::run(&home, columns, &line) else { return };
            let seen = terminal.see(first);
            assert!(!seen.contains("\u{1b}[?1049h"), "the screen is kept: {seen:?}");
            terminal.see(PROMPT);
            terminal.press("G");
            terminal.see(last);
            terminal.press("q");
            terminal.see("ended 0");
            terminal.end();
            assert_eq!(home.read("before"), home.read("after"), "{tool}");
        }
    }
    // Output that fits on the screen needs no key, and empty output needs no pager.
    for (line, wanted) in [("rsv-view 1", "owl 299."), ("rsv-view -p none; PAGER=false rsv-view -p none", "")]
    {
        let (seen, status) = Terminal::run(&home, 80, &format!("unset PAGER; {line}")).unwrap().end();
        assert!(status == 0 && seen.contains(wanted), "{line}: {seen:?}");
    }
}

#[test]
fn ctrl_c_is_for_the_pager() {
    let home = long();
    home.write("pager", "trap 'echo caught' INT\necho ready\nread key < /dev/tty\ntail -n 1\n");
    let line = "trap : INT; PAGER='exec sh pager' rsv-view 300; echo \"ended $?\"";
    let Some(mut terminal) = Terminal::run(&home, 80, line) else { return };
    terminal.see("ready");
    terminal.press("\u{3}");
    terminal.see("caught");
    terminal.press("\n");
    terminal.see("owl 299.");
    terminal.see("ended 0");
}

#[test]
fn the_pager_is_the_users_and_only_for_a_terminal() {
    let home = long();
    let paged = |line: &str| {
        let (seen, status) = Terminal::run(&home, 80, line)?.end();
        assert_eq!(status, 0, "{line}: {seen}");
        assert!(plain(&seen).contains("owl 299."), "{line}: {seen}");
        Some(seen.contains("through "))
    };
    let pager = "export PAGER=\"sed 's/^/through /'\";";
    for (line, through) in [
        (format!("{pager} rsv-view 300"), true),
        (format!("{pager} rsv-search owl"), true),
        (format!("{pager} rsv-view --no-pager"), false),
        (format!("{pager} rsv-search --no-pager owl"), false),
        (format!("{pager} rsv-view | cat"), false),
        (format!("{pager} PAGER= rsv-view"), false),
        (format!("{pager} PAGER=cat rsv-view"), false),
        ("unset PAGER; TERM=dumb rsv-view 300".to_owned(), false),
        // Without less, nothing pages.
        (
            "unset PAGER; tools=$(dirname \"$(command -v rsv-view)\"); PATH=$tools rsv-view 300".to_owned(),
            false,
        ),
    ] {
        let Some(paged) = paged(&line) else { return };
        assert_eq!(paged, through, "{line}");
    }
    // Its options are the user's too.
    let seen =
        Terminal::run(&home, 80, "PAGER='echo \"LESS=$LESS\"; cat' LESS=M rsv-view 1").unwrap().end().0;
    assert!(seen.starts_with("LESS=M"), "{seen}");
    let seen = Terminal::run(&home, 80, "PAGER='echo \"LESS=$LESS\"; cat' rsv-view 1").unwrap().end().0;
    assert!(seen.starts_with("LESS=FRX"), "{seen}");
}

#[test]
fn a_pager_that_cannot_run_is_an_error_and_one_that_ends_early_is_none() {
    let home = long();
    let run = |line: &str| Terminal::run(&home, 80, line).map(Terminal::end);
    let Some((seen, status)) = run("PAGER=/no/such/pager rsv-view 300") else { return };
    assert!(status == 2 && seen.contains("rsv-view: error: cannot run the pager /no/such/pager"), "{seen}");
    assert!(seen.contains("rsv-view: hint: add --no-pager, or set PAGER to another program"), "{seen}");
    assert_eq!(run("PAGER='head -n 1' rsv-view 300").map(|(_, status)| status), Some(0));
    // The status is that of the tool.
    assert_eq!(run("PAGER=more rsv-search nothing").map(|(_, status)| status), Some(1));
}
