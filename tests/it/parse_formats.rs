//! rsv-parse: real files of every format, made by other programs.

use crate::docs::root;
use crate::parse::{check, contents, node, parsed, tree_of, unread, uris};
use crate::parse_pdf;
use crate::support::{Home, text};
use serde_json::{Value, json};

/// The documents of `tests/it/documents`, in a home.
fn documents() -> Home {
    let home = Home::new();
    std::fs::create_dir(home.path("d")).unwrap();
    for file in root().join("tests/it/documents").read_dir().unwrap() {
        let path = file.unwrap().path();
        std::fs::copy(&path, home.path("d").join(path.file_name().unwrap())).unwrap();
    }
    home
}

fn only(home: &Home, name: &str) -> Value {
    let (mut nodes, _) = parsed(home, &format!("d/{name}"), &[]);
    check(&nodes);
    assert_eq!(uris(&nodes), [""], "{name}");
    nodes.remove(0)
}

#[test]
fn documents_of_other_programs_are_read() {
    let home = documents();
    for (name, mime, title) in [
        ("garden.md", "text/markdown", "The kitchen garden"),
        ("garden.html", "text/html", "The kitchen garden"),
        (
            "garden.docx",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            "The kitchen garden",
        ),
        ("garden.odt", "application/vnd.oasis.opendocument.text", "The kitchen garden"),
        ("garden.epub", "application/epub+zip", "The kitchen garden"),
        ("garden.pdf", "application/pdf", "garden.pdf"),
    ] {
        let node = only(&home, name);
        assert_eq!((&node["mime"], &node["title"]), (&json!(mime), &json!(title)), "{name}");
        let content = text(&node["content"]);
        let words = content.split_whitespace().collect::<Vec<_>>().join(" ").replace('*', "");
        for part in [
            "Tomatoes stand by the warm wall; Größe und naïve café survive every converter.",
            "Beans climb the northern fence in efficient fluffy offices.",
            "Soak the seeds.",
            "carrots",
            "12",
            "# not a heading",
            "園芸は楽しい。",
            "A footnote about hedgehogs.",
        ] {
            // Chromium does not say what the first of these glyphs is.
            let part = if name == "garden.pdf" { part.trim_start_matches('園') } else { part };
            assert!(words.contains(part), "{name}: {part}: {content}");
        }
        // Headings are in the overview, and nothing else is; a PDF has none.
        let overview = text(&node["overview"]);
        assert!(
            name == "garden.pdf" || overview.contains("- Beans\n") && overview.contains("- Water"),
            "{name}: {overview}"
        );
        assert!(!overview.contains("- not a heading"), "{name}: {overview}");
    }
}

#[test]
fn tables_notebooks_and_mail_are_read() {
    let home = documents();
    assert!(text(&only(&home, "crops.csv")["content"]).contains("peas,3,\"two\nlines\""));
    let notebook = only(&home, "harvest.ipynb");
    assert_eq!(
        (text(&notebook["title"]), text(&notebook["content"])),
        (
            "Harvest".to_owned(),
            "# Harvest\n\nCounted in autumn.\n\n```\nprint('pumpkins', 7)  # counted\n```\n\n```\npumpkins 7\n```".to_owned()
        )
    );
    let mail = only(&home, "mail.eml");
    assert_eq!(mail["title"], json!("Größe der Beete"));
    assert_eq!(
        text(&mail["content"]),
        "Subject: Größe der Beete\nFrom: Ann Lee <ann@example.org>\nTo: Bob <bob@example.org>\n\
         Date: 2026-11-20T08:00:00Z\n\nDie Beete sind 3 × 4 m groß.\n\nFrom here on, beans.\n\nAttachment: plan.png"
    );
    let mailbox = text(&only(&home, "mail.mbox")["content"]);
    for part in ["groß.\n\nFrom here on", "Subject: Compost", "Turn the compost heap weekly."] {
        assert!(mailbox.contains(part), "{part}: {mailbox}");
    }
    assert!(!mailbox.contains("Menu"), "{mailbox}");
}

#[test]
fn rows_of_tables_are_not_cut_at_quoted_line_ends() {
    let home = Home::new();
    let row = |n: usize| {
        format!("{n};\"{}\";\"{}\"\n", "peas\n".repeat(n % 9), "a \"\"row\"\" of beans\r\n".repeat(n % 7))
    };
    let table: String = (0..300).map(row).collect();
    home.write("crops.csv", &table);
    let (nodes, _) = parsed(&home, "crops.csv", &[]);
    let parts = contents(&nodes, "");
    assert!(parts.len() > 5);
    for part in &parts {
        assert!(part.starts_with(|c: char| c.is_ascii_digit()) && part.ends_with('"'), "{part}");
    }
    assert_eq!(parts.join("\n") + "\n", table);
}

#[test]
fn the_content_tells_the_format_where_it_can() {
    let home = documents();
    for (name, alias) in [
        ("garden.pdf", "a.txt"),
        ("garden.docx", "b.zip"),
        ("garden.epub", "c"),
        ("garden.odt", "d.docx"),
        ("garden.html", "e"),
        ("mail.eml", "f.txt"),
        ("mail.mbox", "g"),
        ("harvest.ipynb", "h"),
    ] {
        std::fs::copy(home.path("d").join(name), home.path("d").join(alias)).unwrap();
        assert_eq!(only(&home, alias)["mime"], only(&home, name)["mime"], "{name}");
    }
    home.write("d/x.html", "Just *words*.");
    let as_markdown = parsed(&home, "d/x.html", &["--as", "markdown"]).0;
    assert_eq!(as_markdown[0]["mime"], json!("text/markdown"));
}

#[test]
fn what_has_no_words_is_named() {
    let home = documents();
    for (name, reason) in [
        ("scanned.pdf", "no words on its pages, which are pictures or scanned"),
        ("encrypted.pdf", "encrypted with a password"),
        ("picture.png", "a picture (image/png), which has no text"),
    ] {
        let (said, unread, nodes) =
            unread(home.run("rsv-parse", &[&format!("d/{name}"), "--to", "viking://resources/x"], ""));
        assert!(said.contains(&format!("cannot read d/{name}: {reason}\n")), "{said}");
        assert_eq!((unread, nodes.len()), (vec![String::new()], 0), "{name}");
    }
    // The others of the directory are read.
    let ran = home.run("rsv-parse", &["d", "--to", "viking://resources/x"], "");
    assert_eq!(ran.status, 0, "{ran}");
    let (nodes, end) = tree_of(&ran.stdout);
    let unread =
        ["encrypted.pdf", "picture.png", "scanned.pdf"].map(|name| format!("viking://resources/x/{name}"));
    assert_eq!(end["unread"], json!(unread));
    assert_eq!(node(&nodes, "")["children"], json!(11));
}

#[test]
fn only_the_main_part_of_a_page_is_read() {
    let home = Home::new();
    home.write(
        "page.html",
        "<html><head><title>Beans &amp; peas</title><meta name=description content='On beans.'><style>p{}</style></head>\
         <body><header>Logo</header><nav><ul><li>Home</nav><div class='sidebar x'>Ads</div><main><h1>Beans</h1>\
         <p>Beans <b>cl</b>imb.<p>Second<br>line<ul><li>one<li>two<ol><li>deep</ol></ul>\
         <pre>  code\n # x</pre><table><tr><th>a<th>b<tr><td>1<td>2</table><script>var x = '<p>no</p>'</script></main>\
         <footer>Imprint</footer></body></html>",
    );
    let (nodes, _) = parsed(&home, "page.html", &[]);
    assert_eq!(
        text(&nodes[0]["content"]),
        "# Beans\n\nBeans climb.\n\nSecond\nline\n\n- one\n- two\n  1. deep\n\n```\n  code\n # x\n```\n\na | b\n1 | 2"
    );
    assert_eq!(
        (&nodes[0]["title"], &nodes[0]["abstract"]),
        (&json!("Beans & peas"), &json!("On beans. Beans climb. Second line one two deep a | b 1 | 2"))
    );
    // Without such an element, all but the navigation; in whatever encoding.
    let latin = b"<meta charset=iso-8859-1><title/>Gr\xf6\xdfe</title><body><aside>no</aside><div><nav>no</div><p>Caf\xe9";
    std::fs::write(home.path("latin.html"), latin).unwrap();
    let (nodes, _) = parsed(&home, "latin.html", &[]);
    assert_eq!((&nodes[0]["title"], &nodes[0]["content"]), (&json!("Größe"), &json!("Café")));
}

#[test]
fn the_title_of_a_page_that_states_none_is_a_heading() {
    let home = Home::new();
    for (page, title) in [
        ("<p>See below.<h2>Beds</h2><p>Water them.<h1>Frost</h1><p>Cover the figs.", "Frost"),
        ("<h2>Frost</h2><p>Cover the figs.", "Frost"),
        ("<p>See below.<h2>Frost</h2><p>Cover the figs.", "page.html"),
        ("<title>Winter</title><h1>Frost</h1><p>Cover the figs.", "Winter"),
    ] {
        home.write("page.html", page);
        assert_eq!(parsed(&home, "page.html", &[]).0[0]["title"], json!(title), "{page}");
    }
}

#[test]
fn source_code_is_split_at_its_definitions() {
    let home = Home::new();
    let body = "    let word = \"some words in a function\";\n".repeat(90);
    let code = format!(
        "//! A garden.\n\nuse std::fs;\n\n/// Waters.\n#[inline]\npub fn water() {{\n{body}}}\n\nstruct Bed {{\n{body}}}\n\nimpl Bed {{\n{body}}}\n"
    );
    home.write("d/garden.rs", &code);
    home.write("d/.gitignore", "target\n*.o\n");
    home.write("d/target/debug.rs", "fn no() {}");
    home.write("d/x.o", "no");
    home.write("d/.hidden.md", "no");
    let (nodes, _) = parsed(&home, "d", &[]);
    check(&nodes);
    assert_eq!(
        uris(&nodes),
        ["/garden.rs/gardenrs_1more", "/garden.rs/struct_Bed", "/garden.rs/impl_Bed", "/garden.rs", ""]
    );
    let water = text(&node(&nodes, "/garden.rs/gardenrs_1more")["content"]);
    assert!(water.contains("\n\n/// Waters.\n#[inline]\npub fn water()"), "{water}");
}

#[test]
fn json_is_split_at_its_members() {
    let home = Home::new();
    let long = "words and more words ".repeat(150);
    let value = json!({"first": {"a": long, "b": []}, "second": [long, 1.50, "q\"{"], "third": {}});
    home.write("x.json", &value.to_string());
    let (nodes, _) = parsed(&home, "x.json", &[]);
    check(&nodes);
    assert_eq!(uris(&nodes), ["/first", "/second_1more", ""]);
    assert_eq!(serde_json::from_str::<Value>(&contents(&nodes, "").join("\n")).unwrap(), value);
    home.write("bad.json", "{\"a\": ");
    assert_eq!(parsed(&home, "bad.json", &[]).0[0]["content"], json!("{\"a\":"));
}

#[test]
fn encodings_and_empty_files_are_read() {
    let home = Home::new();
    let utf16: Vec<u8> = "\u{feff}# Größe\n\n園芸\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let utf16_big_endian: Vec<u8> = utf16.chunks(2).flat_map(|unit| [unit[1], unit[0]]).collect();
    for (name, bytes, wanted) in [
        ("a.md", &utf16[..], Some("# Größe\n\n園芸")),
        ("h.md", &utf16_big_endian[..], Some("# Größe\n\n園芸")),
        ("b.md", b"\xef\xbb\xbf# Gr\xc3\xb6\xc3\x9fe\r\n", Some("# Größe")),
        ("c.txt", b"Die Gr\xf6\xdfe der G\xe4rten.", Some("Die Größe der Gärten.")),
        ("d.txt", "ä ö ü ß é è\u{0}".replace('\u{0}', "").as_bytes(), Some("ä ö ü ß é è")),
        ("e.txt", b"ok \xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6 \xff bad", Some("ok ööööö \u{fffd} bad")),
        ("f.md", b"", None),
    ] {
        std::fs::write(home.path(name), bytes).unwrap();
        let (nodes, _) = parsed(&home, name, &[]);
        check(&nodes);
        assert_eq!(nodes[0]["content"].as_str(), wanted, "{name}");
    }
}

/// A PDF with a line of text on each of so many pages.
fn pdf(pages: usize) -> Vec<u8> {
    let mut objects = vec!["<</Type/Catalog/Pages 2 0 R>>".to_owned()];
    let kids: Vec<String> = (0..pages).map(|page| format!("{} 0 R", 4 + 2 * page)).collect();
    objects.push(format!("<</Type/Pages/Count {pages}/Kids[{}]>>", kids.join(" ")));
    objects.push("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned());
    for page in 0..pages {
        let words = format!("BT /F1 12 Tf 72 700 Td (Page {page} of the almanac) Tj ET");
        objects.push(format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents {} 0 R>>",
            5 + 2 * page
        ));
        objects.push(format!("<</Length {}>>stream\n{words}\nendstream", words.len()));
    }
    parse_pdf::file(&objects)
}

#[test]
fn a_pdf_of_a_thousand_pages_is_read_and_a_damaged_one_is_named() {
    let home = Home::new();
    std::fs::write(home.path("almanac.pdf"), pdf(1000)).unwrap();
    let (nodes, _) = parsed(&home, "almanac.pdf", &[]);
    check(&nodes);
    let words = contents(&nodes, "").join("\n");
    for page in 0..1000 {
        assert!(words.contains(&format!("Page {page} of the almanac")), "{page}");
    }
    assert!(uris(&nodes)[0].starts_with("/Page_1_"), "{:?}", uris(&nodes));
    // Cut off, and with other bytes here and there: named, or read as far as it goes, and never the end of the run.
    let whole = pdf(30);
    std::fs::create_dir(home.path("d")).unwrap();
    let mut dice = crate::support::Dice(7);
    for number in 0..20 {
        let mut bytes = whole.clone();
        bytes.truncate(whole.len() - dice.below(whole.len()) * (number % 2));
        for _ in 0..10 {
            let at = 9 + dice.below(bytes.len().max(20) - 10);
            if let Some(byte) = bytes.get_mut(at) {
                *byte = b'0' + u8::try_from(dice.below(70)).unwrap();
            }
        }
        std::fs::write(home.path(&format!("d/{number}.pdf")), bytes).unwrap();
    }
    home.write("d/last.md", "The last.");
    let ran = home.run("rsv-parse", &["d", "--to", "viking://resources/x"], "");
    assert!(!ran.stderr.contains("panicked"), "{ran}");
    let (nodes, _) = tree_of(&ran.stdout);
    assert_eq!(node(&nodes, "/last.md")["content"], json!("The last."));
}
