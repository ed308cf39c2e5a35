//! Input that is no JSON lines: files of other programs, names of files, and many bad lines.

use crate::support::Home;
use crate::terminal::Terminal;
use serde_json::json;

/// A message from another program, without a trace.
fn turn(role: &str, content: &str, time: i64) -> String {
    json!({"role": role, "content": content, "timestamp": time, "partition": "p"}).to_string() + "\n"
}

#[test]
fn the_name_of_a_file_is_no_text() {
    let home = Home::new();
    home.write("my notes.txt", "owls\n");
    let refused = home.run("rsv-ingest", &["my notes.txt"], "");
    insta::assert_snapshot!(refused, @r"
    rsv-ingest: error: my notes.txt is the name of a file
    rsv-ingest: hint: store what is in it: rsv-ingest < 'my notes.txt'; store its name: rsv-ingest -- 'my notes.txt'
    [2]
    ");
    assert!(!home.store().exists());
    home.run("rsv-ingest", &["--role", "user", "my notes.txt"], "").ok();
    home.run("rsv-ingest", &["--", "my notes.txt"], "").ok();
    home.run("rsv-ingest", &["--", "-v"], "").ok();
    home.run("rsv-ingest", &["no such file"], "").ok();
    assert_eq!(home.contents("rsv-view", &[]), ["my notes.txt", "my notes.txt", "-v", "no such file"]);
    home.run("rsv-ingest", &["one", "--", "two"], "").trouble();
}

#[test]
fn an_array_of_objects_is_read_as_lines() {
    let home = Home::new();
    for array in [
        json!([{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]).to_string(),
        "\u{feff}\n [ \n {\"role\": \"user\", \"content\": \"three\"}\n]".into(),
    ] {
        home.ingest(&[], &array);
    }
    assert_eq!(home.contents("rsv-view", &[]), ["one", "two", "three"]);
    for array in ["[]", "[1, 2]", "[\n\"a\"\n]\n", "[[{}]]"] {
        let refused = home.run("rsv-ingest", &[], array).trouble();
        assert!(
            refused.starts_with("rsv-ingest: error: <stdin>: is a JSON array without objects\n"),
            "{array}"
        );
    }
    // Text may begin with a bracket.
    for text in ["[1] is a footnote", "[owl](https://owl.example)", "["] {
        assert_eq!(home.ingest(&[], text)[0]["content"], text);
    }
    assert_eq!(home.ingest(&["--role", "user"], "[1, 2]")[0]["content"], "[1, 2]");
}

#[test]
fn exports_of_other_programs_are_named() {
    let home = Home::new();
    for (export, program) in [
        (json!([{"title": "owls", "mapping": {}}]), "ChatGPT"),
        (json!([{"uuid": "u", "name": "owls", "chat_messages": []}]), "Claude"),
    ] {
        let refused = home.run("rsv-ingest", &[], export.to_string()).trouble();
        let hint = format!("hint: this looks like an export of {program}; read it with rsv-import\n");
        assert!(refused.ends_with(&hint), "{refused}");
    }
    assert_eq!(home.contents("rsv-view", &["--all"]), [""; 0]);
}

#[test]
fn binary_formats_are_known_by_their_first_bytes() {
    let home = Home::new();
    let database = b"SQLite format 3\0\x10\0\x01\x01\0".as_slice();
    for (bytes, said, command) in [
        (b"\x1f\x8b\x08\0\0\0\0\0".as_slice(), "is compressed by gzip", "gzip -dc FILE"),
        (b"PK\x03\x04\x14\0", "is a zip archive", "unzip -p FILE"),
        (database, "is an SQLite database", "rsv-export --store FILE"),
    ] {
        let file = home.path("file");
        std::fs::write(&file, bytes).unwrap();
        // rsv-import decompresses, reads archives that are files, and the databases of some programs.
        let is_read = said.contains("gzip") || said.contains("zip");
        for (tool, words, name) in [
            ("rsv-ingest", &[][..], "<stdin>"),
            ("rsv-ingest", &["--role", "user"], "<stdin>"),
            ("rsv-import", &[], "<stdin>"),
            ("rsv-import", &["file"], "file"),
        ] {
            if tool == "rsv-import" && is_read {
                continue;
            }
            let refused = home.run(tool, words, bytes).trouble();
            let wanted =
                format!("{tool}: error: {name}: {said}\n{tool}: hint: pipe in the output of: {command}");
            assert!(refused.starts_with(&wanted), "{words:?}: {refused}");
            assert_eq!(refused.lines().count(), 2, "{refused}");
        }
    }
    // Text that only begins alike.
    assert_eq!(home.ingest(&[], "PK")[0]["content"], "PK");
    assert_eq!(home.ingest(&[], "SQLite format 3 is a format")[0]["content"], "SQLite format 3 is a format");
}

#[test]
fn a_file_of_bad_lines_is_read_no_further() {
    let home = Home::new();
    let csv = "time,role,text\n".repeat(20_000);
    let refused = home.run("rsv-import", &[], &csv).trouble();
    let wanted = "rsv-import: error: <stdin>: has no known format; it looks like CSV\n\
                  rsv-import: hint: name its format with --from, or the columns of a table with --map: rsv, ";
    assert!(refused.starts_with(wanted) && refused.lines().count() == 2, "{refused}");
    let cut = home.run("rsv-import", &[], "{\"role\":\"user\"\n".repeat(30)).trouble();
    let end = "no more are read\nrsv-import: hint: each line is a JSON object: man 5 rsv-record\n";
    assert!(cut.ends_with(end), "{cut}");
    for (line, looks) in [
        ("<p>owl</p>", "HTML or XML"),
        ("An owl is a bird.", "plain text"),
        ("a\tb", "a table with tabs"),
        ("\"owl\"", "JSON without objects"),
    ] {
        let said = home.run("rsv-import", &[], format!("{line}\n").repeat(30)).trouble();
        let wanted = format!("rsv-import: error: <stdin>: has no known format; it looks like {looks}\n");
        assert!(said.starts_with(&wanted) && said.lines().count() == 2, "{said}");
    }
    let unknown = home.run("rsv-ingest", &[], "{\"a\":1}\n".repeat(30)).trouble();
    assert_eq!(unknown.matches(": error: ").count(), 4, "{unknown}");
    // A good line among the first is enough.
    let rest = "x\n".repeat(18) + &turn("user", "owl", 1) + &"x\n".repeat(100) + &turn("user", "bird", 2);
    let said = home.run("rsv-import", &[], &rest).trouble();
    assert_eq!(said.matches("expected a JSON object").count(), 10, "{said}");
    assert!(said.ends_with("rsv-import: error: 108 more lines are bad\n"), "{said}");
    assert_eq!(home.contents("rsv-view", &["-p", "p"]), ["owl", "bird"]);
}

#[test]
fn few_bad_lines_are_all_printed() {
    let home = Home::new();
    let bad = "{\"role\": \"owl\", \"content\": \"Hu\"}\n";
    for count in [3, 10] {
        let said = home.run("rsv-import", &["-q"], bad.repeat(count)).trouble();
        assert_eq!(said.matches(": error: ").count(), count, "{said}");
    }
    let said = home.run("rsv-import", &["-q"], bad.repeat(11)).trouble();
    assert!(said.ends_with("rsv-import: error: 1 more line is bad\n"), "{said}");
}

#[test]
fn an_import_says_what_it_did_on_a_terminal() {
    let home = Home::new();
    let lines =
        turn("user", "owl", 1) + &turn("user", "bird", 2) + &turn("user", "fox", 3).replace("\"p\"", "\"q\"");
    home.write("lines", &lines);
    home.write("one", &turn("user", "owl", 1));
    home.run("rsv-import", &["one"], "").ok();
    let verbose = home.run("rsv-import", &["-v", "--store", "other.db", "lines"], "").stderr;
    assert!(
        verbose.contains("rsv-import: p/p: 2 records: 2 new\nrsv-import: q/q: 1 record: 1 new\n"),
        "{verbose}"
    );
    let Some(terminal) = Terminal::start(&home, "rsv-import", "lines") else { return };
    let said = "rsv-import: p/p: 2 records: 1 new, 1 the same\n\
                rsv-import: q/q: 1 record: 1 new\n\
                rsv-import: together: 3 records: 2 new, 1 the same\n\
                rsv-import: to undo this import, run: rsv-forget --import ";
    let (shown, status) = terminal.end();
    let (id, rest) = shown.strip_prefix(said).unwrap_or_else(|| panic!("{shown}")).split_once('\n').unwrap();
    assert_eq!((rest, status), ("", 0));
    assert_eq!(home.run("rsv-forget", &["--import", id, "--dry-run"], "").ok().lines().count(), 2);
    assert_eq!(Terminal::start(&home, "rsv-import", "-q lines").unwrap().end(), (String::new(), 0));
}
