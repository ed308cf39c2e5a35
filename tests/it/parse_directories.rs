//! Directories of real files: kinds that are not read, addresses by default, and mirrors of two directories.

use crate::documents::stored;
use crate::parse::{tree_of, uris};
use crate::parse_files::zip;
use crate::support::{Home, lines_of, text};
use crate::terminal::{Terminal, plain};
use serde_json::json;
use std::os::unix::fs::symlink;

const TO: [&str; 2] = ["--to", "viking://resources/x"];
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n0000";

/// A directory of notes with files of other kinds.
fn mixed() -> Home {
    let home = Home::new();
    home.write("docs/beans.md", "Beans climb the north fence.");
    for (name, content) in [
        ("a.png", PNG),
        ("b.png", PNG),
        ("tool", b"\x7fELF\x02\x01\x01\0\0\0\0"),
        ("old.rtf", b"{\\rtf1 Figs.}"),
        ("all.zip", &zip(&[("a", b"A.")])),
    ] {
        std::fs::write(home.path("docs").join(name), content).unwrap();
    }
    home
}

/// Keeps: A directory of real files is no failure.
#[test]
fn kinds_without_text_are_counted_in_one_note() {
    let home = mixed();
    let ran = home.run("rsv-parse", &["docs", TO[0], TO[1]], "");
    assert_eq!(
        (ran.status, &*ran.stderr),
        (
            0,
            "rsv-parse: 5 files were not read: 2 pictures, 1 archive (--archives opens zip, tar and gzip), \
             1 document of another format, 1 binary file; -v names each\n"
        )
    );
    let (nodes, end) = tree_of(&ran.stdout);
    assert_eq!(uris(&nodes), ["/beans.md", ""]);
    let skipped = ["a.png", "all.zip", "b.png", "old.rtf", "tool"].map(|name| format!("{}/{name}", TO[1]));
    assert_eq!(end["unread"], json!(skipped));
    let ran = home.run("rsv-parse", &["docs", TO[0], TO[1], "-v"], "");
    assert!(ran.status == 0 && ran.stderr.contains("cannot read docs/a.png: a picture (image/png)"), "{ran}");
    assert_eq!(home.run("rsv-parse", &["docs", TO[0], TO[1], "-q"], "").stderr, "");
    let said = home.run("rsv-parse", &["docs", TO[0], TO[1], "--strict"], "").trouble();
    assert_eq!(said.matches("error: cannot read docs/").count(), 5, "{said}");
    // A file that is named itself is to be read.
    let said = home.run("rsv-parse", &["docs/a.png", TO[0], TO[1]], "").trouble();
    assert!(said.contains("cannot read docs/a.png: a picture"), "{said}");
}

/// Keeps: A directory of real files is no failure.
#[test]
fn a_damaged_archive_is_a_failure_and_a_text_about_pdf_is_none() {
    let home = Home::new();
    home.write("docs/sniff.py", "MARK = b\"%PDF-\"\n");
    assert_eq!(uris(&tree_of(&home.run("rsv-parse", &["docs", TO[0], TO[1]], "").ok()).0), ["/sniff.py", ""]);
    let ods =
        zip(&[("mimetype", b"application/vnd.oasis.opendocument.spreadsheet"), ("content.xml", b"<a/>")]);
    std::fs::write(home.path("docs/rent.ods"), ods).unwrap();
    for words in [&[][..], &["--archives"]] {
        let ran = home.run("rsv-parse", &[&["docs", TO[0], TO[1]], words].concat(), "");
        let told = "rsv-parse: 1 file was not read: 1 document of another format; -v names each\n";
        assert_eq!((ran.status, &*ran.stderr), (0, told), "{ran}");
        assert_eq!(uris(&tree_of(&ran.stdout).0), ["/sniff.py", ""]);
    }
    std::fs::write(home.path("docs/cut.docx"), &zip(&[("word/document.xml", b"<document/>")])[..40]).unwrap();
    let said = home.run("rsv-parse", &["docs", TO[0], TO[1]], "").trouble();
    assert!(said.contains("cannot read docs/cut.docx: a damaged archive"), "{said}");
    let ran = home.run("rsv-parse", &["docs", TO[0], TO[1], "--known", "/dev/zero"], "");
    assert!(ran.status == 2 && ran.stderr.contains("/dev/zero:1: longer than "), "{ran}");
}

/// Keeps: A mirror keeps the documents of files that it does not read.
#[test]
fn documents_of_files_of_other_kinds_stay() {
    let home = mixed();
    home.write("docs/a.png", "Once a text.");
    let mirror = || {
        let ran = home.run("rsv-parse", &["docs"], "");
        assert_eq!(ran.status, 0, "{ran}");
        home.run("rsv-ingest", &["--mirror"], ran.stdout).ok();
    };
    mirror();
    let before = stored(&home);
    std::fs::write(home.path("docs/a.png"), PNG).unwrap();
    mirror();
    assert_eq!(stored(&home), before);
}

#[test]
fn an_operand_has_an_address_and_its_line_says_its_source() {
    let home = Home::new();
    home.write("docs/beans.md", "Beans.");
    home.write("peas.md", "Peas.");
    let source = |name: &str| json!(home.path(name).canonicalize().unwrap());
    let lines = lines_of(&home.run("rsv-parse", &["docs", "./peas.md"], "").ok());
    let shown: Vec<_> = lines.iter().map(|line| (text(&line["uri"]), line["source"].clone())).collect();
    let wanted = [
        ("docs/beans.md", "docs/beans.md"),
        ("docs", "docs"),
        ("docs", "docs"),
        ("peas.md", "peas.md"),
        ("peas.md", "peas.md"),
    ];
    let wanted = wanted.map(|(uri, name)| (format!("viking://resources/{uri}"), source(name)));
    assert_eq!(shown, wanted);
    // By whatever way the directory is named.
    symlink("docs", home.path("here")).unwrap();
    for name in ["here", "docs/", "./docs/../docs"] {
        let lines = lines_of(&home.run("rsv-parse", &[name, TO[0], TO[1]], "").ok());
        assert_eq!(lines[2]["source"], source("docs"), "{name}");
    }
    let said = home.run("rsv-parse", &[], "Text.").trouble();
    assert!(said.contains("standard input has no name for an address") && said.contains("--to"), "{said}");
    home.write("users/ann/a.md", "Ann's.");
    let said = home.run("rsv-parse", &["users"], "").trouble();
    assert!(said.contains("--to"), "{said}");
}

/// Keeps: A mirror of a second directory does not take the first away.
#[test]
fn a_mirror_over_documents_of_another_directory_is_refused() {
    let home = Home::new();
    home.write("a/docs/beans.md", "Beans climb.");
    home.write("a/docs/README.md", "The first.");
    home.write("b/docs/peas.md", "Peas climb.");
    home.write("b/docs/README.md", "The second.");
    let mirror = |name: &str, words: &[&str]| {
        let parsed = home.run("rsv-parse", &[name], "").ok();
        home.run("rsv-ingest", &[&["--mirror"], words].concat(), parsed)
    };
    mirror("a/docs", &[]).ok();
    let first = stored(&home);
    let said = mirror("b/docs", &[]).trouble();
    let of = |name: &str| home.path(name).canonicalize().unwrap().display().to_string();
    assert!(said.contains(&format!("viking://resources/docs is of {}", of("a/docs"))), "{said}");
    assert!(said.contains("--to") && said.contains("--replace"), "{said}");
    assert_eq!(stored(&home), first);
    // Also where each file has the content of one that is there, so that none comes.
    std::fs::create_dir(home.path("c")).unwrap();
    assert!(
        std::process::Command::new("cp")
            .args(["-r", "a/docs", "c/docs"])
            .current_dir(home.path(""))
            .status()
            .unwrap()
            .success()
    );
    home.write("known", &home.run("rsv-view", &["--tree", "viking://resources/docs"], "").ok());
    let parsed = home.run("rsv-parse", &["c/docs", "--known", "known"], "").ok();
    home.run("rsv-ingest", &["--mirror"], &parsed).trouble();
    assert_eq!(stored(&home), first);
    mirror("a/docs", &[]).ok();
    // A directory that was moved takes the place of the first, and then is the one that is mirrored.
    mirror("c/docs", &["--replace"]).ok();
    assert_eq!(stored(&home), first);
    mirror("c/docs", &[]).ok();
    mirror("a/docs", &[]).trouble();
    mirror("b/docs", &["--replace"]).ok();
    let names: Vec<String> =
        stored(&home).into_iter().map(|(uri, _)| uri["viking://resources/".len()..].to_owned()).collect();
    assert_eq!(names, ["docs", "docs/README.md", "docs/peas.md"]);
    // The files that are the same in both are of the new directory too, and go with it.
    mirror("a/docs", &["--replace"]).ok();
    home.write("known", &home.run("rsv-view", &["--tree", "viking://resources/docs"], "").ok());
    let parsed = home.run("rsv-parse", &["c/docs", "--known", "known"], "").ok();
    home.run("rsv-ingest", &["--mirror", "--replace"], parsed).ok();
    std::fs::remove_file(home.path("c/docs/beans.md")).unwrap();
    mirror("c/docs", &[]).ok();
    assert_eq!(stored(&home).len(), 2);
    mirror("b/docs", &["--replace"]).ok();
    // Another address is another tree.
    let parsed = home.run("rsv-parse", &["a/docs", "--to", "viking://resources/old"], "").ok();
    home.run("rsv-ingest", &["--mirror"], parsed).ok();
    assert!(home.run("rsv-ingest", &["--replace"], "").stderr.contains("--mirror"));
}

/// Keeps: A mirror of a second directory does not take the first away.
#[test]
fn a_mirror_takes_no_document_of_another_place_away() {
    let home = Home::new();
    home.write("a/docs/beans.md", "Beans climb.");
    home.write("other/peas.md", "Peas climb.");
    let mirror = |lines: &str| home.run("rsv-ingest", &["--mirror"], lines);
    let parse = |words: &[&str], stdin: &str| home.run("rsv-parse", words, stdin).ok();
    let has_beans = |home: &Home| {
        let beans = "viking://resources/docs/beans.md";
        stored(home).contains(&(beans.to_owned(), "Beans climb.".to_owned()))
    };
    mirror(&parse(&["a/docs"], "")).ok();
    // The tree lies above it, or names no source.
    for lines in [
        parse(&["other", "--to", "viking://resources"], ""),
        parse(&["-", "--to", "viking://resources/docs"], "A text."),
    ] {
        let said = mirror(&lines).trouble();
        let path = home.path("a/docs/beans.md").canonicalize().unwrap();
        let told = format!("viking://resources/docs/beans.md is of {}", path.display());
        assert!(said.contains(&told) && said.contains("--replace") && has_beans(&home), "{said}");
    }
    // The directories of a store do not say what they were made of.
    let home = Home::new();
    home.write("a/docs/beans.md", "Beans climb.");
    home.write("b/docs/peas.md", "Peas climb.");
    let parse = |words: &[&str]| home.run("rsv-parse", words, "").ok();
    let without_source = lines_of(&parse(&["a/docs"])).into_iter().map(|mut line| {
        if line.get("children").is_some() {
            line.as_object_mut().unwrap().remove("source");
        }
        format!("{line}\n")
    });
    home.run("rsv-ingest", &["--mirror"], without_source.collect::<String>()).ok();
    home.run("rsv-ingest", &["--mirror"], parse(&["b/docs"])).trouble();
    assert!(has_beans(&home));
    // Two directories have one address.
    let home = Home::new();
    home.write("a/docs/beans.md", "Beans climb.");
    home.write("b/docs/peas.md", "Peas climb.");
    let parse = |words: &[&str]| home.run("rsv-parse", words, "");
    let ran = parse(&["a/docs", "b/docs"]);
    assert_eq!((ran.status, &*ran.stdout), (2, ""), "{ran}");
    assert!(ran.stderr.contains("a/docs and b/docs have the same address: viking://resources/docs"), "{ran}");
    let both = parse(&["a/docs"]).ok() + &parse(&["b/docs"]).ok();
    let said = home.run("rsv-ingest", &["--mirror"], &both).trouble();
    assert!(said.contains("viking://resources/docs is of "), "{said}");
    assert!(!stored(&home).iter().any(|(uri, _)| uri.ends_with("peas.md")));
}

/// Keeps: A link to a device without an end is not read.
#[test]
fn a_link_to_an_endless_device_is_not_read() {
    let home = Home::new();
    home.write("docs/beans.md", "Beans climb.");
    home.write("docs/sub/peas.md", "Peas climb.");
    for name in ["docs/.gitignore", "docs/.ignore", "docs/sub/.gitignore", "docs/zero", "docs/zero.md"] {
        symlink("/dev/zero", home.path(name)).unwrap();
    }
    std::fs::create_dir_all(home.path("docs/.git/info")).unwrap();
    symlink("/dev/zero", home.path("docs/.git/info/exclude")).unwrap();
    let (nodes, _) = tree_of(&home.run("rsv-parse", &["docs", TO[0], TO[1]], "").ok());
    assert_eq!(uris(&nodes), ["/beans.md", "/sub/peas.md", "/sub", ""]);
    let said = home.run("rsv-parse", &["docs", TO[0], TO[1], "--follow"], "").trouble();
    assert!(said.contains("cannot read docs/zero.md: not a regular file"), "{said}");
    home.run("rsv-parse", &["docs/zero", TO[0], TO[1]], "").trouble();
}

#[test]
fn ignore_files_leave_out_what_they_name() {
    let home = Home::new();
    for name in [
        "a.log",
        "b.md",
        "keep.log",
        "sub/c.log",
        "sub/d.md",
        "sub/deep/e.md",
        "out/f.md",
        ".hidden.md",
        ".shown.md",
        "repo/g.log",
    ] {
        home.write(&format!("d/{name}"), "Text.");
    }
    home.write("d/.gitignore", "*.log\n!keep.log\n/out/\nsub/deep\n!.shown.md\n");
    home.write("d/sub/.ignore", "!c.log\nd.md\n");
    std::fs::create_dir(home.path("d/repo/.git")).unwrap();
    home.write("d/repo/.git/info/exclude", "no\n");
    home.write("d/repo/no/h.md", "Text.");
    let (nodes, _) = tree_of(&home.run("rsv-parse", &["d", TO[0], TO[1]], "").ok());
    assert_eq!(
        uris(&nodes),
        ["/.shown.md", "/b.md", "/keep.log", "/repo/g.log", "/repo", "/sub/c.log", "/sub", ""]
    );
}

/// Keeps: On a terminal, a search finds what is stored of any kind.
#[test]
fn a_person_finds_documents_and_memories_too() {
    let home = Home::new();
    home.write("docs/beans.md", "Beans climb the north fence.");
    let parsed = home.run("rsv-parse", &["docs", "-p", "garden"], "").ok();
    home.run("rsv-ingest", &["--mirror"], parsed).ok();
    // A partition that has only documents is there.
    let Some(terminal) = Terminal::run(&home, 100, "rsv-search -p garden fence; rsv-search -p garden plum")
    else {
        return;
    };
    let (seen, _) = terminal.end();
    let seen = plain(&seen);
    assert!(seen.contains("document ") && seen.contains("viking://resources/docs/beans.md: "), "{seen}");
    assert!(seen.contains("nothing in garden") && !seen.contains("no partition garden"), "{seen}");
    home.ingest(&["-p", "garden"], &json!({"role": "user", "content": "The fence is old."}).to_string());
    let memory =
        ["-p", "garden", "--title", "Fences", "--outcome", "success", "--", "Mend the fence in winter."];
    home.run("rsv-ingest", &memory, "").ok();
    let seen = plain(&Terminal::run(&home, 100, "rsv-search -p garden fence").unwrap().end().0);
    assert!(
        seen.contains("user: The fence is old.") && seen.contains("memory ") && seen.contains("document "),
        "{seen}"
    );
    // Programs get messages as before, and so does a person who asks for what messages alone have.
    let found = lines_of(&home.run("rsv-search", &["-p", "garden", "fence"], "").ok());
    assert_eq!(found.iter().map(|hit| text(&hit["content"])).collect::<Vec<_>>(), ["The fence is old."]);
    let seen = Terminal::run(&home, 100, "rsv-search -p garden --role user fence").unwrap().end().0;
    assert!(!plain(&seen).contains("document "), "{seen}");
}
