//! rsv-parse: files that cannot be read, that change, or that were made to do harm.

use crate::docs::report_unchecked;
use crate::parse::{check, contents, node, parsed, tree_of, unread, uris};
use crate::support::{Home, Ran, lines_of};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const TO: [&str; 2] = ["--to", "viking://resources/x"];

/// A zip archive.
pub(crate) fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in members {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut archive = GzEncoder::new(Vec::new(), Compression::fast());
    archive.write_all(content).unwrap();
    archive.finish().unwrap()
}

#[test]
fn special_files_and_links_do_not_stop_a_run() {
    let home = Home::new();
    home.write("d/sub/a.md", "Here.");
    home.write("elsewhere.md", "Elsewhere.");
    assert!(Command::new("mkfifo").arg(home.path("d/fifo")).status().unwrap().success());
    symlink("..", home.path("d/sub/loop")).unwrap();
    symlink("../elsewhere.md", home.path("d/link.md")).unwrap();
    let (said, named, nodes) = unread(home.run("rsv-parse", &["d", TO[0], TO[1]], ""));
    assert_eq!(
        (named, uris(&nodes)),
        (vec!["/fifo".to_owned()], ["/sub/a.md", "/sub", ""].map(str::to_owned).to_vec())
    );
    assert!(said.contains("cannot read d/fifo: not a regular file"), "{said}");
    let (said, named, nodes) = unread(home.run("rsv-parse", &["d", TO[0], TO[1], "--follow"], ""));
    assert_eq!(named, ["/fifo", "/sub/loop"], "{said}");
    assert_eq!(node(&nodes, "/link.md")["content"], json!("Elsewhere."));
    assert!(said.contains("cannot read d/sub/loop: a symbolic link to a directory above it"), "{said}");
    // An operand may be a link.
    symlink("d/sub", home.path("here")).unwrap();
    assert_eq!(parsed(&home, "here", &[]).0.len(), 2);
}

/// Runs the tool as a user who is not root, to whom permissions matter; `None` if that user cannot run it.
pub(crate) fn run_as_nobody(home: &Home, words: &[&str]) -> Option<Ran> {
    std::fs::set_permissions(home.path(""), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = home.command("rsv-parse");
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if rustix::process::geteuid().is_root() {
        command.uid(65_534).gid(65_534);
    }
    Some(home.ran(command.spawn().ok()?.wait_with_output().unwrap()))
}

#[test]
fn an_unreadable_directory_is_named_and_keeps_its_nodes() {
    let home = Home::new();
    home.write("d/a.md", "Open.");
    home.write("d/closed/b.md", "Closed.");
    home.write("d/secret.md", "Secret.");
    home.write("d/z.md", "Last.");
    let known = home.run("rsv-parse", &["d", TO[0], TO[1]], "").ok();
    home.write("known", &known);
    for name in ["d/closed", "d/secret.md"] {
        std::fs::set_permissions(home.path(name), std::fs::Permissions::from_mode(0o000)).unwrap();
    }
    let Some(ran) = run_as_nobody(&home, &["d", TO[0], TO[1]]) else {
        return report_unchecked("directories that rsv-parse may not read, as root");
    };
    let (said, named, nodes) = unread(ran);
    assert_eq!(named, ["/closed", "/secret.md"], "{said}");
    assert_eq!(uris(&nodes), ["/a.md", "/z.md", ""], "{said}");
    assert!(said.contains("cannot read d/closed: permission denied\n"), "{said}");
    // The known nodes stay the children of the directory, so that it does not change.
    let (said, named, nodes) =
        unread(run_as_nobody(&home, &["d", TO[0], TO[1], "--known", "known"]).unwrap());
    // A file of the same size and time is not even opened.
    assert_eq!((named, nodes.len()), (vec!["/closed".to_owned()], 0), "{said}");
    let gone = unread(home.run("rsv-parse", &["gone", TO[0], TO[1]], ""));
    assert_eq!((gone.1, gone.2.len()), (vec![String::new()], 0));
    std::fs::set_permissions(home.path("d/closed"), std::fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_file_that_changes_is_read_whole_or_named() {
    let home = Home::new();
    let version = |letter: char| format!("{}\n", letter.to_string().repeat(99)).repeat(5_000);
    let path = home.write("busy.txt", &version('a'));
    let ended = AtomicBool::new(false);
    let runs = std::thread::scope(|scope| {
        scope.spawn(|| {
            for letter in ('a'..='z').cycle().take_while(|_| !ended.load(Ordering::Relaxed)) {
                // In place, so that a reader may see two versions at once.
                let mut file = std::fs::File::options().write(true).open(&path).unwrap();
                file.write_all(version(letter).as_bytes()).unwrap();
            }
        });
        let runs: Vec<Ran> = (0..5).map(|_| home.run("rsv-parse", &["busy.txt", TO[0], TO[1]], "")).collect();
        ended.store(true, Ordering::Relaxed);
        runs
    });
    for ran in runs {
        let (nodes, _) = tree_of(&ran.stdout);
        let letters = contents(&nodes, "").concat().chars().filter(char::is_ascii_lowercase).count();
        assert_eq!(letters, if ran.status == 0 { 99 * 5_000 } else { 0 }, "{}", ran.stderr);
        if ran.status == 2 {
            let named = "cannot read busy.txt: it changes while it is read";
            assert!(ran.stderr.contains(named), "{}", ran.stderr);
        }
    }
}

#[test]
fn long_lines_and_deep_headings_take_no_harm() {
    let home = Home::new();
    home.write("line.md", &"x".repeat(1_000_000));
    home.write("words.txt", &"word ".repeat(200_000));
    let deep: String = (0..10_000).map(|at| format!("{} Heading {at}\n\n", "#".repeat(1 + at % 9))).collect();
    home.write("deep.md", &deep);
    home.write("quotes.md", &format!("{}x\n\n# After\n", ">".repeat(10_000)));
    home.write(
        "page.html",
        &format!("{}<p>Deep inside</p>{}", "<div><b>".repeat(300_000), "</span>".repeat(300_000)),
    );
    home.write("data.json", &format!("{}{}", "[".repeat(200_000), "]".repeat(200_000)));
    let (nodes, _) = parsed(&home, ".", &[]);
    check(&nodes);
    assert_eq!(contents(&nodes, "/line.md").concat(), "x".repeat(1_000_000));
    assert_eq!(
        contents(&nodes, "/words.txt").join(" ").split(' ').filter(|word| *word == "word").count(),
        200_000
    );
    let headings = contents(&nodes, "/deep.md").join("\n");
    let found = headings.lines().filter(|line| line.contains("Heading ")).count();
    assert_eq!(found, 10_000);
    assert_eq!(node(&nodes, "/page.html")["content"], json!("Deep inside"));
}

#[test]
fn archives_are_opened_if_asked_and_within_bounds() {
    let home = Home::new();
    let inner = zip(&[("deep/c.md", b"# C\n\nIn the inner archive."), ("p.png", b"\x89PNG\r\n\x1a\n0000")]);
    std::fs::create_dir(home.path("d")).unwrap();
    let write = |name: &str, content: &[u8]| std::fs::write(home.path(name), content).unwrap();
    write("d/a.zip", &zip(&[("b.md", b"In the archive."), ("../out.md", b"no"), ("inner.zip", &inner)]));
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(7);
    tar.append_data(&mut header, "t/x.txt", &b"In tar."[..]).unwrap();
    write("d/t.tgz", &gzip(&tar.into_inner().unwrap()));
    write("d/z.txt.gz", &gzip(b"In gzip."));
    let (said, named, nodes) = unread(home.run("rsv-parse", &["d", TO[0], TO[1], "--strict"], ""));
    assert_eq!((named.len(), uris(&nodes)), (3, vec![String::new()]), "{said}");
    assert!(said.contains("cannot read d/a.zip: an archive, which only --archives opens"), "{said}");
    let (said, named, nodes) = unread(home.run("rsv-parse", &["d", TO[0], TO[1], "--archives"], ""));
    check(&nodes);
    for (path, content) in [
        ("/a.zip/b.md", "In the archive."),
        ("/a.zip/inner.zip/deep/c.md", "# C\n\nIn the inner archive."),
        ("/t.tgz/t/x.txt", "In tar."),
        ("/z.txt.gz", "In gzip."),
    ] {
        assert_eq!(node(&nodes, path)["content"], json!(content), "{said}");
    }
    assert!(said.contains("cannot read d/a.zip/../out.md: its path leads out of the archive"), "{said}");
    assert_eq!(named, ["/a.zip", "/a.zip/inner.zip/p.png"], "{said}");
    assert!(!home.path("out.md").exists());
}

#[test]
fn documents_made_to_do_harm_are_named() {
    let home = Home::new();
    std::fs::create_dir(home.path("d")).unwrap();
    let bomb = vec![b' '; 140 << 20];
    let big = gzip(&bomb);
    let container =
        br#"<container><rootfiles><rootfile full-path="../../etc/passwd"/></rootfiles></container>"#;
    let container_ok = br#"<container><rootfiles><rootfile full-path="o/p.opf"/></rootfiles></container>"#;
    let package =
        br#"<package><manifest><item id="a" href="../../../etc/passwd" media-type="application/xhtml+xml"/>
        <item id="b" href="b%20c.xhtml" media-type="application/xhtml+xml"/></manifest>
        <spine><itemref idref="a"/><itemref idref="b"/></spine></package>"#;
    let entities = br#"<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
        <!ENTITY f SYSTEM "file:///etc/passwd">]><w:document><w:p><w:r><w:t>One &b; &f; two</w:t></w:r></w:p></w:document>"#;
    for (name, content) in [
        ("bomb.docx", zip(&[("word/document.xml", &bomb)])),
        (
            "bomb.epub",
            zip(&[("META-INF/container.xml", container_ok), ("o/p.opf", package), ("o/b c.xhtml", &bomb)]),
        ),
        ("bomb.zip", zip(&[("a.txt", &bomb), ("b.txt", &bomb)])),
        ("bomb.gz", big),
        ("out.epub", zip(&[("META-INF/container.xml", container)])),
        ("entities.docx", zip(&[("word/document.xml", entities)])),
        (
            "book.epub",
            zip(&[
                ("META-INF/container.xml", container_ok),
                ("o/p.opf", package),
                ("o/b c.xhtml", b"<html><title/><body><script src='x'/><p>A chapter</p></body></html>"),
            ]),
        ),
        (
            "out.docx",
            zip(&[
                ("../evil.xml", b"<p>Evil</p>"),
                ("word/../../evil.xml", b"<p>Evil</p>"),
                ("word/document.xml", b"<w:document><w:p><w:r><w:t>Inside</w:t></w:r></w:p></w:document>"),
            ]),
        ),
        ("cut.docx", zip(&[("word/document.xml", b"<w:document><w:p>")])[..60].to_vec()),
    ] {
        std::fs::write(home.path("d").join(name), content).unwrap();
    }
    let (said, named, nodes) = unread(home.run("rsv-parse", &["d", TO[0], TO[1], "--archives"], ""));
    assert_eq!(
        named,
        ["/bomb.docx", "/bomb.epub", "/bomb.gz", "/bomb.zip", "/cut.docx", "/out.epub"],
        "{said}"
    );
    assert_eq!(said.matches("it unpacks to more than").count(), 4, "{said}");
    assert!(!said.contains("panicked"));
    assert_eq!(node(&nodes, "/entities.docx")["content"], json!("One   two"));
    assert_eq!(node(&nodes, "/book.epub")["content"], json!("A chapter"));
    assert_eq!(node(&nodes, "/out.docx")["content"], json!("Inside"));
    assert!(!home.path("evil.xml").exists() && !home.path("d/evil.xml").exists());
}

#[test]
fn a_reader_of_pdf_that_is_killed_is_one_unread_file() {
    let home = Home::new();
    // Its pages are their own parents.
    home.write("d/loop.pdf", "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1/Parent 2 0 R>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R>>endobj\ntrailer<</Root 1 0 R>>\n");
    home.write("d/z.md", "Last.");
    let (said, named, nodes) = unread(home.run("rsv-parse", &["d", TO[0], TO[1], "--strict"], ""));
    assert_eq!(
        (named, uris(&nodes)),
        (vec!["/loop.pdf".to_owned()], ["/z.md", ""].map(str::to_owned).to_vec()),
        "{said}"
    );
    assert!(!said.contains("panicked"), "{said}");
}

#[test]
fn names_of_files_become_segments() {
    use std::os::unix::ffi::OsStrExt;
    let home = Home::new();
    std::fs::create_dir(home.path("d")).unwrap();
    for name in [
        &b"My notes (1).txt"[..],
        b"a\nb.txt",
        b"\xff.txt",
        "園芸.txt".as_bytes(),
        "é".repeat(120).as_bytes(),
    ] {
        std::fs::write(home.path("d").join(std::ffi::OsStr::from_bytes(name)), "words").unwrap();
    }
    let out = home.run("rsv-parse", &["d", TO[0], TO[1]], "").ok();
    let (nodes, _) = tree_of(&out);
    check(&nodes);
    let names: Vec<String> = uris(&nodes).into_iter().filter(|uri| !uri.is_empty()).collect();
    assert_eq!(names.len(), 5);
    assert!(
        names.contains(&"/My notes (1).txt".to_owned()) && names.contains(&"/園芸.txt".to_owned()),
        "{names:?}"
    );
    assert!(names.iter().all(|name| !name.chars().any(char::is_control)), "{names:?}");
    assert!(lines_of(&out).iter().all(|line| line["uri"].is_string()));
}
