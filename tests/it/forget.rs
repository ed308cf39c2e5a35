//! rsv-forget: what it selects and prints, what it leaves, and that what was forgotten stays away.

use crate::support::{Dice, Home, Ran, lines_of, number_from, on_each_store, text};
use crate::terminal::{Terminal, plain};
use memchr::memmem;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Read;
use std::process::{Command, Stdio};

/// A message line.
fn message(id: &str, scope: &str, trace: &str, role: &str, content: &str, time: i64) -> String {
    let (partition, instance) = scope.split_once('/').unwrap();
    let line = json!({"kind": "message", "id": id, "trace_id": trace, "partition": partition,
        "instance": instance, "role": role, "content": content, "timestamp": time});
    format!("{line}\n")
}

/// Two turns and their account, with vectors and links, and a message in another scope; in the order of an export.
fn conversation() -> String {
    let mut lines = [
        message("m1", "default/default", "t1", "user", "Owls hunt at night.", 1000),
        message("m2", "default/default", "t1", "assistant", "They hear mice.", 2000),
        message("m3", "default/default", "t2", "user", "Where do beans climb?", 3000),
        message("m4", "default/default", "t2", "assistant", "Up the fence.", 4000),
        message("m5", "work/desk", "t3", "user", "Owls of the office.", 5000),
    ]
    .concat();
    let part = |id: &str| json!({"id": id, "tokens": 4});
    let account = json!({"kind": "account", "id": "a2", "trace_id": "t2", "partition": "default",
        "instance": "default", "timestamp": 4500, "recalled": [part("m1"), part("m2")], "recent": [part("m2")],
        "left_out": [{"id": "m1", "reason": "duplicate"}]});
    writeln!(lines, "{account}").unwrap();
    for id in ["m1", "m2", "m3", "m4", "m5"] {
        let vector = [id.len() as f32, f32::from(id.as_bytes()[1]), 0.5];
        writeln!(
            lines,
            "{}",
            json!({"kind": "embedding", "of": id, "model": "m", "dim": 3, "vector": vector})
        )
        .unwrap();
    }
    for (rel, from, to) in
        [("RESPONDED_WITH", "m1", "m2"), ("RESPONDED_WITH", "m3", "m4"), ("SYNAPSE", "m1", "m3")]
    {
        writeln!(lines, "{}", json!({"kind": "link", "rel": rel, "from": from, "to": to, "timestamp": 10}))
            .unwrap();
    }
    lines
}

/// A home whose store has the conversation.
fn with_conversation(home: Home) -> Home {
    home.run("rsv-import", &[], conversation()).ok();
    home
}

/// The ids of the records in some lines.
fn ids(lines: &str) -> Vec<String> {
    let records =
        lines_of(lines).into_iter().filter(|line| line.get("role").is_some() || line["kind"] == "account");
    records.map(|line| text(&line["id"])).collect()
}

/// The ids of the messages in the store, oldest first.
fn left(home: &Home) -> Vec<String> {
    ids(&home.run("rsv-view", &["--all", "1000"], "").ok())
}

/// An export without its tombstones.
fn records_of(export: &str) -> String {
    export
        .lines()
        .filter(|line| !line.contains("\"kind\":\"tombstone\""))
        .map(|line| format!("{line}\n"))
        .collect()
}

/// The states of the tombstones in the store.
fn states(home: &Home) -> Vec<String> {
    let lines = lines_of(&home.export());
    lines.iter().filter(|line| line["kind"] == "tombstone").map(|line| text(&line["state"])).collect()
}

/// Runs rsv-forget without a terminal to ask at.
fn without_terminal(home: &Home, words: &[&str]) -> Ran {
    let tool = home.command("rsv-forget");
    let mut command = Command::new("setsid");
    command.arg("--wait").arg(tool.get_program()).args(words).env_clear();
    command.envs(tool.get_envs().filter_map(|(name, value)| Some((name, value?))));
    home.ran(command.current_dir(home.path("")).stdin(Stdio::null()).output().unwrap())
}

on_each_store!(lines_ids_and_conditions_select_and_combine);
fn lines_ids_and_conditions_select_and_combine(home: Home) {
    let home = with_conversation(home);
    let view = home.run("rsv-view", &[], "").ok();
    let found = home.run("rsv-search", &["owls"], "").ok();
    let around = home.run("rsv-search", &["owls", "--context", "1"], "").ok();
    assert!(around.contains("\"context\":\"m1\""), "{around}");
    let all = ["m1", "m2", "m3", "m4", "a2"];
    for (words, stdin, wanted) in [
        (&["m1"][..], "", &["m1"][..]),
        (&["m3", "m1", "m3", "a2"], "", &["m1", "m3", "a2"]),
        (&["--trace", "t2"], "", &["m3", "m4", "a2"]),
        (&["--role", "user"], "", &["m1", "m3"]),
        (&["--since", "2000", "--until", "4000"], "", &["m2", "m3", "m4"]),
        (&["--trace", "t1", "--role", "user"], "", &["m1"]),
        (&["m1", "m3", "--trace", "t2"], "", &["m3"]),
        // Conditions do not read what is piped in, unless it is named.
        (&["--trace", "t1"], &view, &["m1", "m2"]),
        (&["-", "--role", "assistant"], &view, &["m2", "m4"]),
        (&["-", "m2"], &found, &["m1", "m2"]),
        (&[], &found, &["m1"]),
        (&[], &around, &["m1"]),
        (&["-p", "work"], &home.run("rsv-search", &["-p", "work", "owls"], "").ok(), &["m5"]),
        (&["--everything"], "", &all),
        (&["-p", "work", "--everything"], "", &["m5"]),
        (&["--everything", "--all"], "", &["m1", "m2", "m3", "m4", "a2", "m5"]),
    ] {
        let printed = home.run("rsv-forget", &[words, &["--dry-run"]].concat(), stdin).ok();
        assert_eq!(ids(&printed), wanted, "{words:?}");
    }
    assert_eq!((left(&home).len(), states(&home).len()), (5, 0), "--dry-run removes nothing");
}

on_each_store!(the_first_the_last_and_the_only_message_of_a_scope_can_be_forgotten);
fn the_first_the_last_and_the_only_message_of_a_scope_can_be_forgotten(home: Home) {
    let line = |id: &str, time| message(id, "p/i", "t", "user", &format!("The owl {id}"), time);
    home.run("rsv-import", &[], [line("first", 1), line("middle", 2), line("last", 3)].concat()).ok();
    for (id, rest) in [("first", &["middle", "last"][..]), ("last", &["middle"][..]), ("middle", &[][..])] {
        assert_eq!(ids(&home.run("rsv-forget", &["-p", "p", "-i", "i", id], "").ok()), [id]);
        assert_eq!(left(&home), rest, "{id}");
        let found = home.run("rsv-search", &["-p", "p", "-i", "i", "owl"], "");
        let mut found_ids = ids(&found.stdout);
        found_ids.sort_by_key(|found| rest.iter().position(|id| id == found));
        assert_eq!(found_ids, rest, "{id}: {found}");
        home.check();
    }
    home.run("rsv-import", &[], line("new", 4)).ok();
    assert_eq!(left(&home), ["new"]);
}

on_each_store!(where_nothing_is_selected_nothing_goes);
fn where_nothing_is_selected_nothing_goes(home: Home) {
    let home = with_conversation(home);
    for (words, reported) in [
        (&[][..], ""),
        (&["-"], ""),
        (&["-p", "work"], ""),
        (&["--trace", "t9"], ""),
        (&["-p", "nobody", "--everything"], ""),
        (&["m1", "--trace", "t2"], ""),
        (&["m9"], "rsv-forget: the store has no record m9\n"),
    ] {
        let ran = home.run("rsv-forget", words, "");
        assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (1, "", reported), "{words:?}");
    }
    assert_eq!((left(&home).len(), states(&home).len()), (5, 0));
    if let Some(terminal) = Terminal::start(&home, "rsv-forget", "-p work") {
        let (seen, status) = terminal.end();
        assert!(
            status == 2 && seen.contains("standard input is a terminal, and there is nothing to read"),
            "{seen}"
        );
    }
}

#[test]
fn a_store_that_is_not_there_is_named_and_not_made() {
    let home = Home::new();
    let ran = home.run("rsv-forget", &["--store", "stroe.db", "m1"], "");
    assert!(ran.status == 1 && ran.stderr.contains("there is no store at sqlite:stroe.db"), "{ran}");
    assert!(!home.path("stroe.db").exists());
}

on_each_store!(records_of_other_scopes_and_bad_lines_are_named_and_the_rest_is_done);
fn records_of_other_scopes_and_bad_lines_are_named_and_the_rest_is_done(home: Home) {
    let home = with_conversation(home);
    let ran = home.run("rsv-forget", &["m1", "m5"], "");
    let reported = "rsv-forget: error: m5 is in the scope work/desk, and stays\n\
                rsv-forget: hint: select it with -p work -i desk, or --all\n";
    assert_eq!((ran.status, ids(&ran.stdout), ran.stderr.as_str()), (2, vec!["m1".to_owned()], reported));
    let lines = "{\"kind\":\"message\"}\nnonsense\n{\"kind\":\"query\",\"id\":\"m3\"}\n\
                 {\"kind\":\"link\",\"rel\":\"SYNAPSE\",\"from\":\"m3\",\"to\":\"m4\"}\n{\"id\":\"m5\"}\n{\"id\":\"m2\"}\n";
    let ran = home.run("rsv-forget", &[], lines);
    assert_eq!((ran.status, ids(&ran.stdout)), (2, vec!["m2".to_owned()]), "{ran}");
    for reported in [
        "<stdin>:1: id: is missing",
        "<stdin>:2: ",
        "<stdin>:3: kind: a query cannot be forgotten",
        "<stdin>:5: m5 is in the scope work/desk",
    ] {
        assert!(ran.stderr.contains(reported), "{reported}: {ran}");
    }
    assert_eq!(left(&home), ["m3", "m4", "m5"]);
    home.run("rsv-forget", &["--all", "m5"], "").ok();
    assert_eq!(left(&home), ["m3", "m4"]);
}

on_each_store!(more_than_a_hundred_need_a_yes);
fn more_than_a_hundred_need_a_yes(home: Home) {
    let lines = |count: usize| -> String {
        (0..count)
            .map(|n| message(&format!("n{n}"), "default/default", "t", "user", &format!("owl {n}"), n as i64))
            .collect()
    };
    home.run("rsv-import", &[], lines(101)).ok();
    let ran = without_terminal(&home, &["--everything"]);
    let reported = "rsv-forget: error: 101 records would be removed\n\
                    rsv-forget: hint: look at them with --dry-run, and remove them with --yes\n";
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (2, "", reported));
    assert_eq!(ids(&without_terminal(&home, &["--everything", "--dry-run"]).ok()).len(), 101);
    // The answer is read at the terminal, while lines come on standard input.
    for (answer, status, count) in [("n", 2, 101), ("", 2, 101), ("yes", 0, 0)] {
        let line = "rsv-export | rsv-forget > gone.jsonl; echo \"[$?]\"";
        let Some(mut terminal) = Terminal::run(&home, 80, line) else { break };
        terminal.see("Remove 101 records? [y/N] ");
        terminal.press(&format!("{answer}\n"));
        terminal.see(&format!("[{status}]"));
        terminal.end();
        assert_eq!(left(&home).len(), count, "{answer}");
        assert_eq!(ids(&home.read("gone.jsonl")).len(), 101 - count);
    }
    home.run("rsv-import", &["--allow-return"], lines(101)).ok();
    assert_eq!(ids(&without_terminal(&home, &["--everything", "-y"]).ok()).len(), 101);
    home.run("rsv-import", &["--allow-return"], lines(100)).ok();
    assert_eq!(ids(&without_terminal(&home, &["--everything"]).ok()).len(), 100);
    assert!(left(&home).is_empty());
}

on_each_store!(everything_is_confirmed_at_a_terminal_however_few);
fn everything_is_confirmed_at_a_terminal_however_few(home: Home) {
    let home = with_conversation(home);
    for (words, question, answer, status, count) in [
        ("-p work --everything", "Remove 1 record of the partition work? [y/N] ", "n", 2, 5),
        ("--everything", "Remove 5 records of default/default? [y/N] ", "", 2, 5),
        ("--all --everything --kind account", "Remove 1 record of the whole store? [y/N] ", "no", 2, 5),
        ("--everything", "Remove 5 records of default/default? [y/N] ", "y", 0, 1),
    ] {
        let line = format!("rsv-forget {words} < /dev/null > gone.jsonl; echo \"[$?]\"");
        let Some(mut terminal) = Terminal::run(&home, 80, &line) else { return };
        terminal.see(question);
        terminal.press(&format!("{answer}\n"));
        terminal.see(&format!("[{status}]"));
        terminal.end();
        assert_eq!(left(&home).len(), count, "{words}: {answer}");
    }
    // Neither --yes nor --dry-run asks, nor does what names its records.
    home.run("rsv-import", &["--allow-return"], conversation()).ok();
    for words in ["--everything --dry-run", "m1", "--trace t2", "-p work --everything --yes"] {
        let (seen, status) = Terminal::run(&home, 80, &format!("rsv-forget {words}")).unwrap().end();
        assert!(status == 0 && !seen.contains("[y/N]"), "{words}: {seen}");
    }
}

on_each_store!(a_terminal_does_not_get_the_secrets_that_are_forgotten);
fn a_terminal_does_not_get_the_secrets_that_are_forgotten(home: Home) {
    let card = "4111 1111 1111 1111";
    home.ingest(&[], &format!("The card is {card}, says the owl."));
    let Some(terminal) = Terminal::run(&home, 200, "rsv-search owl | rsv-forget --dry-run") else {
        return;
    };
    let (seen, status) = terminal.end();
    let seen = plain(&seen);
    assert!(status == 0 && seen.contains("The card is [redacted:card], says the owl."), "{seen}");
    // The output that undoes it has the words, wherever else it goes.
    let piped = "rsv-search --all --secrets | rsv-forget --all | tee gone.jsonl | wc -l";
    assert_eq!(Terminal::run(&home, 200, piped).unwrap().end(), ("1\n".to_owned(), 0));
    assert!(home.read("gone.jsonl").contains(card));
    home.run("rsv-import", &["--allow-return", "gone.jsonl"], "").ok();
    let (seen, status) =
        Terminal::run(&home, 200, "rsv-search --all --secrets | rsv-forget --all").unwrap().end();
    assert!(status == 0 && !seen.contains("4111") && seen.contains("1 record removed"), "{seen}");
    assert_eq!(home.run("rsv-search", &["--all", "--secrets"], "").status, 1);
}

on_each_store!(importing_the_output_undoes_it_to_the_byte);
/// Keeps: The output of `rsv-forget` undoes it to the byte.
fn importing_the_output_undoes_it_to_the_byte(home: Home) {
    let home = with_conversation(home);
    let before = home.export();
    for (words, count) in [
        (&["m1"][..], 1),
        (&["--trace", "t2"], 3),
        (&["--role", "user", "--all"], 3),
        (&["--everything", "--yes"], 5),
        (&["--everything", "--all", "--yes"], 6),
    ] {
        let gone = home.run("rsv-forget", words, "").ok();
        let after = home.export();
        let gone_lines: BTreeSet<&str> = gone.lines().collect();
        assert!(after.lines().all(|line| !gone_lines.contains(line)), "{words:?}: {after}");
        // In the order of an export.
        let in_order: Vec<&str> = before.lines().filter(|line| gone_lines.contains(line)).collect();
        assert_eq!(gone.lines().collect::<Vec<_>>(), in_order, "{words:?}");
        assert_eq!(ids(&gone).len(), count, "{words:?}");
        assert!(!gone.contains("tombstone"));
        home.run("rsv-import", &["--allow-return"], &gone).ok();
        assert_eq!(records_of(&home.export()), before, "{words:?}");
        assert!(states(&home).iter().all(|state| state == "returned"));
        home.check();
    }
    assert_eq!(home.contents("rsv-search", &["owls"]), ["Owls hunt at night."]);
}

on_each_store!(accounts_no_longer_show_what_was_forgotten);
fn accounts_no_longer_show_what_was_forgotten(home: Home) {
    let home = with_conversation(home);
    let parts = || {
        let account = lines_of(&home.run("rsv-view", &["--accounts"], "").ok()).remove(0);
        let exported = lines_of(&home.export()).into_iter().find(|line| line["kind"] == "account").unwrap();
        assert_eq!(account, exported);
        ["recalled", "recent", "left_out"].map(|list| {
            let parts = account[list].as_array().unwrap().iter();
            parts.map(|part| text(&part["id"])).collect::<Vec<_>>().join(" ")
        })
    };
    assert_eq!(parts(), ["m1 m2", "m2", "m1"]);
    home.run("rsv-forget", &["m1"], "").ok();
    assert_eq!(parts(), ["m2", "m2", ""]);
    home.run("rsv-forget", &["m2"], "").ok();
    assert_eq!(parts(), ["", "", ""]);
}

on_each_store!(derived_records_are_named_or_removed_too);
fn derived_records_are_named_or_removed_too(home: Home) {
    let home = with_conversation(home);
    let made = [
        message("d1", "default/default", "d", "user", "In short: owls hunt.", 6000),
        message("d2", "default/default", "d", "user", "In a word: owls.", 7000),
        message("d3", "work/desk", "d", "user", "Elsewhere: owls.", 8000),
    ]
    .concat();
    let links = [("d1", "m1"), ("d2", "d1"), ("d3", "m1")].map(|(from, to)| {
        format!("{{\"kind\":\"link\",\"rel\":\"EXTRACTED_FROM\",\"from\":\"{from}\",\"to\":\"{to}\",\"timestamp\":20}}\n")
    });
    home.run("rsv-import", &[], made + &links.concat()).ok();
    let before = home.export();
    let ran = home.run("rsv-forget", &["m1"], "");
    let reported = "rsv-forget: 3 records made from it stay, --derived removes them: d1, d2, d3\n";
    assert_eq!((ran.status, ids(&ran.stdout), ran.stderr.as_str()), (0, vec!["m1".to_owned()], reported));
    home.run("rsv-import", &["--allow-return"], &ran.stdout).ok();
    assert_eq!(records_of(&home.export()), before);
    let ran = home.run("rsv-forget", &["m1", "--derived"], "");
    assert_eq!((ran.status, ids(&ran.stdout)), (2, ["m1", "d1", "d2"].map(str::to_owned).to_vec()), "{ran}");
    assert!(ran.stderr.contains("d3 is in the scope work/desk, and stays"), "{ran}");
    home.run("rsv-import", &["--allow-return"], &ran.stdout).ok();
    assert_eq!(records_of(&home.export()), before);
    let gone = home.run("rsv-forget", &["m1", "--derived", "--all"], "").ok();
    assert_eq!(ids(&gone), ["m1", "d1", "d2", "d3"]);
}

on_each_store!(forgotten_records_are_kept_out_until_they_may_return);
/// Keeps: A forgotten record does not return.
fn forgotten_records_are_kept_out_until_they_may_return(home: Home) {
    let kept_out = |count: usize| {
        let records =
            if count == 1 { "record was forgotten and is" } else { "records were forgotten and are" };
        format!("{count} {records} kept out, unless with --allow-return\n")
    };
    let home = with_conversation(home);
    let before = home.export();
    home.run("rsv-forget", &["--trace", "t1"], "").ok();
    let after = home.export();
    assert_eq!(after.matches("\"state\":\"forgotten\"").count(), 2);
    let ran = home.run("rsv-import", &[], &before);
    assert_eq!((ran.status, ran.stderr), (0, format!("rsv-import: {}", kept_out(2))));
    // The same line, and the same words under another id; but not in another scope.
    let line = message("m1", "default/default", "t1", "user", "Owls hunt at night.", 1000);
    let other = message("x1", "default/default", "t1", "user", "Owls hunt at night.", 1000);
    for line in [&line, &other] {
        let ran = home.run("rsv-ingest", &[], line);
        assert_eq!(
            (ran.status, ran.stdout.as_str(), ran.stderr),
            (0, "", format!("rsv-ingest: {}", kept_out(1)))
        );
    }
    assert_eq!(home.export(), after);
    let elsewhere = message("x2", "work/desk", "t1", "user", "Owls hunt at night.", 1000);
    assert_eq!(home.ingest(&[], &elsewhere).len(), 1);
    home.run("rsv-forget", &["--all", "x2"], "").ok();
    // Another store forgets it too, and says so.
    let second = with_conversation(Home::new());
    let ran = second.run("rsv-import", &[], home.export());
    let reported = "rsv-import: 2 records were forgotten elsewhere and are removed\n";
    assert_eq!((ran.status, ran.stderr.as_str()), (0, reported));
    assert_eq!(records_of(&second.export()), records_of(&home.export()));
    // It returns here, and then there.
    let returned = home.ingest(&["--allow-return"], &line);
    assert_eq!(returned[0]["id"], "m1");
    assert_eq!(home.contents("rsv-search", &["owls"]), ["Owls hunt at night."]);
    second.run("rsv-import", &[], home.export()).ok();
    assert_eq!(second.export(), home.export());
    home.run("rsv-import", &["--allow-return"], &before).ok();
    assert_eq!(records_of(&home.export()), before);
}

on_each_store!(nothing_goes_that_cannot_be_printed);
fn nothing_goes_that_cannot_be_printed(home: Home) {
    let home = with_conversation(home);
    let before = home.export();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = home.command("rsv-forget");
    let output = command.arg("m1").stdin(Stdio::null()).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = home.command("rsv-forget");
    let output = command.arg("m1").stdin(Stdio::null()).stdout(writer).output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    assert_eq!(home.export(), before);
}

/// The places in a store's files at which a text or a vector of a number among `numbers` stands.
fn traces(home: &Home, numbers: &BTreeSet<u16>) -> Vec<String> {
    let directory = home.store().parent().unwrap().to_owned();
    let mut found = Vec::new();
    for file in directory.read_dir().unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let mut note = |number: Option<u16>, at: usize, what: &str| {
            if let Some(number) = number.filter(|number| numbers.contains(number)) {
                found.push(format!("{what} {number} at {at} in {}", path.display()));
            }
        };
        for (what, start) in [("text", "Zqwört"), ("word", "zqwort")] {
            for at in memmem::find_iter(&bytes, start) {
                let number = bytes.get(at + start.len()..at + start.len() + 5);
                let number = number.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
                note(number, at, what);
            }
        }
        for at in memmem::find_iter(&bytes, &VECTOR_MARK) {
            // Two numbers of the vector, one after the other.
            let (Some(one), Some(next)) =
                (at.checked_sub(2).map(|at| &bytes[at..at + 4]), bytes.get(at + 2..at + 6))
            else {
                continue;
            };
            note((one == next).then(|| u16::from_le_bytes([one[0], one[1]])), at, "vector");
        }
    }
    found
}

/// The upper half of the numbers of the vectors of this test, little-endian.
const VECTOR_MARK: [u8; 2] = [0x56, 0x42];

/// A message whose text repeats one word of its own, and its vector, which repeats one number of its own.
fn marked(number: u16, words: usize) -> String {
    marked_in("default/default", number, words)
}

fn marked_in(scope: &str, number: u16, words: usize) -> String {
    let id = format!("n{number}");
    let content = format!("Zqwört{number:05} ").repeat(words);
    let vector = vec![f32::from_bits(u32::from(number) | 0x4256_0000); 64];
    let embedding = json!({"kind": "embedding", "of": id, "model": "m", "dim": 64, "vector": vector});
    message(&id, scope, &id, "user", &content, i64::from(number)) + &format!("{embedding}\n")
}

/// Keeps: The text of a forgotten record is in none of the files of an SQLite store.
#[test]
fn no_file_of_the_store_has_what_was_forgotten() {
    let seed = number_from("RSV_TEST_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let mut dice = Dice(seed);
    let home = Home::new();
    let (mut there, mut gone) = (Vec::<u16>::new(), BTreeSet::new());
    let mut next = 0;
    for step in 0..40 {
        let new = if step < 25 { dice.below(50) } else { 0 };
        let lines: String = (0..new)
            .map(|_| {
                next += 1;
                there.push(next);
                let words = [3, 30, 300, 3000][dice.below(4)];
                // Half of them are in small scopes, which are indexed together.
                let scope = match next % 22 {
                    small if small % 2 == 1 => format!("p{}/i{small}", next % 3),
                    _ => "default/default".to_owned(),
                };
                marked_in(&scope, next, 1 + dice.below(words))
            })
            .collect();
        home.run("rsv-import", &[], lines).ok();
        let count = if step == 39 { there.len() } else { dice.below(12).min(there.len()) };
        let ids: Vec<String> = (0..count)
            .map(|_| {
                let number = there.swap_remove(dice.below(there.len()));
                gone.insert(number);
                format!("n{number}")
            })
            .collect();
        if !ids.is_empty() {
            let words: Vec<&str> = ids.iter().map(String::as_str).chain(["--all", "--yes"]).collect();
            home.run("rsv-forget", &words, "").ok();
        }
        let found = traces(&home, &gone);
        assert!(found.is_empty(), "step {step}, RSV_TEST_SEED={seed}: {found:#?}");
        // The search itself works.
        let kept: BTreeSet<u16> = there.iter().copied().collect();
        assert_eq!(traces(&home, &kept).is_empty(), kept.is_empty(), "step {step}, RSV_TEST_SEED={seed}");
    }
    assert!(left(&home).is_empty() && gone.len() > 100, "{}", gone.len());
    home.check();
}

/// Keeps: A reader delays the removal of forgotten text from the files, and an error says so.
#[test]
fn a_reader_delays_the_end_and_is_told() {
    let home = Home::new();
    let lines: String = (1..=300).map(|number| marked(number, 1000)).collect();
    home.run("rsv-import", &[], lines).ok();
    let mut reader = home.command("rsv-export").stdout(Stdio::piped()).spawn().unwrap();
    let mut out = reader.stdout.take().unwrap();
    // It has begun, and waits for somebody to read on.
    out.read_exact(&mut [0; 100]).unwrap();
    let gone = BTreeSet::from([7]);
    let ran = home.run("rsv-forget", &["n7"], "");
    assert_eq!((ran.status, ids(&ran.stdout)), (2, vec!["n7".to_owned()]), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("the records are removed, but their text is still in the store's log"),
        "{}",
        ran.stderr
    );
    assert!(!left(&home).contains(&"n7".to_owned()) && !traces(&home, &gone).is_empty());
    let doctor = || lines_of(&home.run("rsv-config", &["doctor"], "").stdout);
    let removed = |found: Vec<Value>| found.into_iter().find(|line| line["check"] == "removed");
    let reported = removed(doctor()).unwrap();
    assert_eq!(
        (&reported["state"], &reported["remedy"]),
        (&"advice".into(), &"rsv-config doctor --compact".into())
    );
    let busy = home.run("rsv-config", &["doctor", "--compact"], "").trouble();
    assert!(busy.contains("cannot compact store") && busy.contains("other programs are using it"), "{busy}");
    // A removal by a tombstone ends in the same way.
    let other = Home::new();
    other.run("rsv-import", &[], marked(8, 1)).ok();
    other.run("rsv-forget", &["n8"], "").ok();
    let reported = home.run("rsv-import", &[], other.export()).trouble();
    assert!(
        reported.contains("1 record was forgotten elsewhere")
            && reported.contains("still in the store's log"),
        "{reported}"
    );
    let gone = BTreeSet::from([7, 8]);
    reader.kill().unwrap();
    reader.wait().unwrap();
    // The next that writes clears it.
    home.ingest(&[], "an owl");
    assert_eq!(traces(&home, &gone), Vec::<String>::new());
    assert_eq!(removed(doctor()), None);
    home.run("rsv-config", &["doctor", "--compact"], "").ok();
    assert_eq!(left(&home).len(), 299);
    home.check();
}
