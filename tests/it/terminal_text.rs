//! Messages as text for people, on terminals of several widths.

use crate::support::Home;
use crate::terminal::{Terminal, plain};
use serde_json::json;
use unicode_width::UnicodeWidthStr;

const WIDTHS: [usize; 3] = [40, 80, 200];

/// A message with code, wide and combining characters, in a scope that has a name.
const CODE: &str = "Try this:\n\nfn grow() {\n    for bean in row {\n\n        bean.climb(\"北の柵\"); // e\u{301}te\u{301}\n    }\n}\n\n- 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字\n  and Cafe\u{301} after it, which goes on for a while, longer than narrow terminals are";

fn code() -> Home {
    let home = Home::new().at("2026-11-21T07:03:00Z");
    let line = json!({"role": "assistant", "content": CODE, "partition": "garden", "instance": "desk"});
    home.ingest(&[], &line.to_string());
    home
}

/// The screen that a line of shell shows on a terminal of this many columns.
fn seen(home: &Home, columns: usize, line: &str) -> Option<String> {
    let (seen, status) = Terminal::run(home, columns, line)?.end();
    assert_eq!(status, 0, "{line}: {seen}");
    Some(seen)
}

#[test]
fn code_keeps_its_indentation_and_blank_lines() {
    let home = code();
    for columns in WIDTHS {
        let Some(seen) = seen(&home, columns, "rsv-view -p garden") else { return };
        let seen = plain(&seen);
        let indent = |part: &str| {
            let line = seen.lines().find(|line| line.contains(part));
            let line = line.unwrap_or_else(|| panic!("{columns}: {part} is not seen: {seen}"));
            line.split(part).next().unwrap().width()
        };
        let left = indent("fn grow() {");
        assert_eq!(
            left,
            if columns == 40 { 4 } else { "5744a1c 2026-11-21 07:03 assistant: ".len() },
            "{seen}"
        );
        assert_eq!([indent("for bean"), indent("bean.climb")], [left + 4, left + 8], "{columns}: {seen}");
        assert!(seen.contains("{\n\n"), "blank lines stay: {seen}");
        assert!(seen.lines().all(|line| line.width() <= columns), "{columns}: {seen}");
        // A line of a list that is broken continues below its own beginning.
        assert_eq!(indent("and Cafe\u{301} after"), left + 2, "{seen}");
        if columns == 40 {
            assert_eq!([indent("for a while"), indent("terminals are")], [left + 2; 2], "{seen}");
        }
    }
}

#[test]
fn texts_look_as_they_did() {
    let home = code();
    let wide = json!({"role": "user", "content": "The bean: 漢字 and Cafe\u{301}."});
    home.ingest(&["-p", "庭"], &wide.to_string());
    let account = json!({"kind": "account", "id": "a", "trace_id": "t", "partition": "garden", "instance": "desk",
        "timestamp": 1_795_244_640_000_i64, "window": 8192, "reserve": 1024, "counted": 96, "counter": "heuristic",
        "request": 12, "fence": 34, "recalled": [{"id": "b", "score": 1.5, "tokens": 50}], "recent": [],
        "left_out": [{"id": "c", "reason": "threshold"}], "dropped": []});
    home.run("rsv-import", &["--quiet"], account.to_string()).ok();
    let commands =
        ["rsv-view --all", "rsv-search --all bean", "rsv-view --scopes", "rsv-view --accounts -p garden"];
    for columns in WIDTHS {
        let mut text = String::new();
        for command in commands {
            let Some(seen) = seen(&home, columns, command) else { return };
            let seen = plain(&seen);
            assert!(seen.lines().all(|line| line.width() <= columns), "{columns}: {seen}");
            text.push_str(&format!("$ {command}\n{seen}\n"));
        }
        insta::assert_snapshot!(columns.to_string(), text);
    }
}

#[test]
fn with_all_the_scope_of_each_message_is_shown() {
    let home = code();
    home.ingest(&["-p", "庭"], "{\"role\":\"user\",\"content\":\"Beans.\"}");
    for (line, wanted) in [
        ("rsv-view --all", "07:03 garden/desk assistant: Try"),
        ("rsv-search --all beans", "07:03 庭/庭 user: Beans."),
        ("rsv-view -p garden", "07:03 assistant: Try"),
        ("rsv-forget --all --everything --dry-run", "07:03 庭/庭 user: Beans."),
    ] {
        let Some(seen) = seen(&home, 200, line) else { return };
        assert!(plain(&seen).contains(wanted), "{line}: {seen}");
    }
    // The margin follows the columns of the scope, not its characters.
    let line = json!({"role": "user", "content": "one\ntwo", "timestamp": "2026-11-22"});
    home.ingest(&["-p", "園"], &line.to_string());
    let seen = plain(&seen(&home, 80, "rsv-view 1 --all").unwrap());
    let lines: Vec<&str> = seen.lines().collect();
    assert_eq!(lines[0].split("one").next().unwrap().width(), lines[1].split("two").next().unwrap().width());
}

#[test]
fn the_words_that_matched_are_highlighted() {
    let home = code().and_model();
    for columns in WIDTHS {
        let highlighted = |words: &str| {
            let seen = seen(&home, columns, &format!("rsv-search -p garden {words}"))?;
            let parts = seen.split("\u{1b}[1;31m").skip(1);
            Some(parts.map(|part| part.split("\u{1b}[0m").next().unwrap().to_owned()).collect::<Vec<_>>())
        };
        let Some(found) = highlighted("cafe clim") else { return };
        assert_eq!(found, ["clim", "Cafe\u{301}"], "{columns}");
        assert_eq!(highlighted("北の").unwrap(), ["北の"]);
        // By meaning, the words of the same stem, and not every other word.
        assert_eq!(highlighted("--hybrid 'Which beans are climbing?'").unwrap(), ["bean", "bean", "climb"]);
    }
    let uncoloured = home.run("rsv-search", &["-p", "garden", "--format", "text", "cafe"], "").ok();
    assert!(!uncoloured.contains('\u{1b}'), "{uncoloured:?}");
}

#[test]
fn the_table_of_scopes_fits() {
    let home = code();
    home.ingest(&["-p", "庭", "-i", "e\u{301}te\u{301}"], "{\"role\":\"user\",\"content\":\"Beans.\"}");
    for columns in WIDTHS {
        let Some(seen) = seen(&home, columns, "rsv-view --scopes") else { return };
        let seen = plain(&seen);
        assert!(seen.lines().all(|line| line.width() <= columns), "{columns}: {seen}");
        assert_eq!(seen.lines().count(), if columns == 40 { 6 } else { 2 }, "{seen}");
        let dates: Vec<usize> = seen
            .lines()
            .filter_map(|line| line.split_once("2026-11-21 07:03 to"))
            .map(|(before, _)| before.width())
            .collect();
        assert!(dates.len() == 2 && dates[0] == dates[1], "{columns}: {seen}");
    }
}

#[test]
fn following_shows_messages_without_a_pager_until_ctrl_c() {
    let home = code();
    let line = "PAGER=false; export PAGER; sh -c 'exec rsv-view --follow --all'; echo \"ended $?\"";
    let Some(mut terminal) = Terminal::run(&home, 80, &format!("trap : INT; {line}")) else { return };
    terminal.see("Try this");
    home.ingest(&["-p", "庭"], "{\"role\":\"user\",\"content\":\"Now.\"}");
    terminal.see("庭/庭");
    terminal.see("Now.");
    terminal.press("\u{3}");
    terminal.see("ended 130");
}

#[test]
fn where_nothing_is_found_a_person_learns_what_is_near() {
    let home = Home::new();
    let nothing = |line: &str| {
        for columns in WIDTHS {
            let (seen, status) = Terminal::run(&home, columns, line)?.end();
            // A search says it on any standard error; a view says it on a terminal alone.
            let piped = Terminal::run(&home, columns, &format!("{line} | cat")).unwrap().end().0;
            assert_eq!(piped, if line.starts_with("rsv-search") { &*seen } else { "" }, "{line}");
            let quiet = Terminal::run(&home, columns, &format!("{line} --quiet")).unwrap().end().0;
            assert_eq!(quiet, "", "{line}");
            assert_eq!(status, i32::from(line.starts_with("rsv-search")), "{line}: {seen}");
            if columns == 200 {
                return Some(seen.replace("rsv-search: ", "").replace("rsv-view: ", ""));
            }
        }
        None
    };
    let Some(first) = nothing("rsv-view") else { return };
    assert_eq!(first, "the store is empty; to store something: rsv-ingest \"some text\"\n");
    for line in ["rsv-view --accounts", "rsv-view --scopes", "rsv-view --kind memory"] {
        assert_eq!(nothing(line).unwrap(), first, "{line}");
    }
    for (partition, instance, said) in [
        ("garden", "desk", "The tomatoes stand by the warm wall."),
        ("garden", "phone", "Beans and tomatoes."),
        ("庭", "庭", "緑の茶"),
    ] {
        let line = json!({"role": "user", "content": said, "partition": partition, "instance": instance,
            "timestamp": 5});
        home.ingest(&[], &line.to_string());
    }
    for (line, wanted) in [
        ("rsv-view", "nothing in default/default; 3 in 3 other scopes: rsv-view --all\n"),
        (
            "rsv-view --role user --since 1970-01-01 --until 1971-01-01",
            "nothing in default/default; 3 in 3 other scopes: rsv-view --all --role user --since 1970-01-01 --until 1971-01-01\n",
        ),
        ("rsv-view --role tool", "nothing in default/default\n"),
        ("rsv-view --accounts -p garden", "nothing in garden\n"),
        ("rsv-view --kind memory -p garden", "nothing in garden\n"),
        (
            "rsv-view -p gardne",
            "nothing in gardne; 3 in 3 other scopes: rsv-view --all\nthere is no partition gardne; did you mean -p garden?\n",
        ),
        (
            "rsv-view -p garden -i dekc",
            "nothing in garden/dekc; 3 in 3 other scopes: rsv-view --all\nthere is no instance dekc in garden; did you mean -i desk?\n",
        ),
        ("rsv-view -p work", "nothing in work; 3 in 3 other scopes: rsv-view --all\n"),
        (
            "rsv-search --scope default tomatoes",
            "nothing in default/default; 2 in 2 other scopes: rsv-search --all tomatoes\n",
        ),
        (
            "rsv-search --scope default 茶",
            "nothing in default/default; 1 in 1 other scope: rsv-search --all '茶'\n",
        ),
        ("rsv-search -p garden owl", "nothing in garden\n"),
        ("rsv-search --all owl", "nothing in any scope\n"),
    ] {
        assert_eq!(nothing(line).unwrap(), wanted, "{line}");
    }
    let all_words =
        "nothing in garden\na message must contain all of these words; to search by meaning too, ";
    assert_eq!(
        nothing("rsv-search -p garden 'Which plants like heat?'").unwrap(),
        format!("{all_words}run: rsv-embed --fetch, and try --hybrid\n")
    );
    home.clone().and_model();
    assert_eq!(
        nothing("rsv-search -p garden 'Which plants like heat?'").unwrap(),
        format!("{all_words}try --hybrid\n")
    );
    assert!(
        seen(&home, 80, "rsv-search -p garden --hybrid 'Which plants like heat?'")
            .unwrap()
            .contains("tomatoes")
    );
}

#[test]
fn what_a_search_goes_by_is_a_setting_for_terminals_alone() {
    let home = Home::new();
    for said in ["Tomatoes like a warm wall.", "The invoice is paid, which plants none."] {
        home.ingest(&[], said);
    }
    let question = "which plants like heat";
    let found = |home: &Home, line: &str| {
        let (seen, status) = Terminal::run(home, 200, &format!("{line} '{question}'"))?.end();
        assert!(!seen.contains("error"), "{line}: {seen}");
        Some((plain(&seen).contains("Tomatoes"), status))
    };
    // Without a model, auto goes by words.
    for line in
        ["rsv-search", "rsv-search --by auto", "RSV_SEARCH_BY=auto rsv-search", "rsv-search --by keyword"]
    {
        let Some(found) = found(&home, line) else { return };
        assert_eq!(found, (false, 1), "{line}");
    }
    let missing = home.run("rsv-search", &["--by", "hybrid", question], "").trouble();
    assert!(missing.contains("rsv-embed --fetch"), "{missing}");
    assert_eq!(home.run("rsv-search", &["--by", "auto", question], "").stderr, "");
    let broken =
        home.env("RSV_EMBED_MODEL", "all-minilm-l6-v2").run("rsv-search", &["--by", "auto", "like"], "");
    assert!(broken.stderr.starts_with("rsv-search: searching by words: "), "{}", broken.stderr);

    let home = home.and_model();
    home.run("rsv-config", &["set", "search.by", "auto"], "").ok();
    for (line, wanted) in [
        ("rsv-search", true),
        ("rsv-search --by auto", true),
        ("rsv-search --by semantic", true),
        ("rsv-search --by keyword", false),
        ("RSV_SEARCH_BY=keyword rsv-search", false),
        ("RSV_SEARCH_BY=keyword rsv-search --by hybrid", true),
        ("rsv-search --format text", true),
    ] {
        assert_eq!(found(&home, line).unwrap().0, wanted, "{line}");
    }
    // A pipe gets the messages that contain the words.
    let piped = |words: &[&str]| home.run("rsv-search", &[words, &[question]].concat(), "");
    assert_eq!((piped(&[]).stdout.as_str(), piped(&[]).status), ("", 1));
    assert_eq!(piped(&["--format", "text"]).stdout, "");
    assert_eq!(piped(&["--by", "auto"]).stdout, piped(&["--hybrid"]).stdout);
    assert_eq!(piped(&["--by", "hybrid"]).stdout, piped(&["--hybrid"]).stdout);
    assert_eq!(piped(&["--by", "semantic"]).stdout, piped(&["--semantic"]).stdout);
    home.run("rsv-search", &["--by", "auto", "--hybrid", "x"], "").trouble();
    // 'rsv-search WORD | rsv-forget' takes what holds the word, whatever is set.
    let line = "rsv-search invoice | rsv-forget > gone";
    assert_eq!(Terminal::run(&home, 80, line).unwrap().end().1, 0);
    assert_eq!(home.contents("rsv-view", &[]), ["Tomatoes like a warm wall."]);
}
