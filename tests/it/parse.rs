//! rsv-parse: files become a tree of documents.

use crate::support::{Dice, Home, Ran, lines_of, text, tries};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

const ROOT: &str = "viking://resources/x";

/// The lines of a run over one operand that met no trouble: its documents, and the line that ends its tree.
pub(crate) fn parsed(home: &Home, operand: &str, words: &[&str]) -> (Vec<Value>, Value) {
    let words = [&[operand, "--to", ROOT], words].concat();
    tree_of(&home.run("rsv-parse", &words, "").ok())
}

pub(crate) fn tree_of(out: &str) -> (Vec<Value>, Value) {
    let mut lines = lines_of(out);
    let end = lines.pop().unwrap();
    assert_eq!(
        (&end["kind"], &end["complete"], &end["nodes"]),
        (&json!("tree"), &json!(true), &json!(lines.len()))
    );
    (lines, end)
}

/// The node of an address below the root.
pub(crate) fn node<'a>(nodes: &'a [Value], path: &str) -> &'a Value {
    let uri = format!("{ROOT}{path}");
    let found = nodes.iter().find(|node| node["uri"] == json!(uri));
    found.unwrap_or_else(|| panic!("no {uri}: {:?}", uris(nodes)))
}

/// The addresses of nodes, below the root.
pub(crate) fn uris(nodes: &[Value]) -> Vec<String> {
    nodes.iter().map(|node| text(&node["uri"])[ROOT.len()..].to_owned()).collect()
}

/// The contents below an address, in order, each with the address.
pub(crate) fn contents(nodes: &[Value], path: &str) -> Vec<String> {
    let uri = format!("{ROOT}{path}");
    let is_within = |node: &&Value| {
        let own = text(&node["uri"]);
        own == uri || own.starts_with(&format!("{uri}/"))
    };
    nodes.iter().filter(is_within).filter_map(|node| node["content"].as_str().map(str::to_owned)).collect()
}

/// As the tool estimates it, in tenths.
fn tokens(text: &str) -> usize {
    let is_cjk = |c: char| ('\u{3040}'..='\u{9fff}').contains(&c);
    text.chars().filter(|c| !c.is_whitespace()).map(|c| if is_cjk(c) { 7 } else { 3 }).sum()
}

/// Checks what is true of every tree.
pub(crate) fn check(nodes: &[Value]) {
    let mut seen: HashSet<String> = HashSet::new();
    let mut below: BTreeMap<String, usize> = BTreeMap::new();
    for node in nodes {
        let uri = text(&node["uri"]);
        assert!(seen.insert(uri.clone()), "{uri} stands twice");
        assert!(text(&node["abstract"]).chars().count() <= 256, "{node}");
        let overview = text(&node["overview"]);
        assert!(overview.chars().count() <= 4000 && overview.starts_with("# "), "{node}");
        assert_eq!(node["made_by"], json!("rule"));
        for hash in ["sha256", "source_sha256"] {
            assert_eq!(text(&node[hash]).len(), 64, "{node}");
        }
        // A directory stands after what is in it, and counts it.
        let children = below.get(&uri).copied().unwrap_or(0);
        assert_eq!(node["children"].as_u64().unwrap_or(0), children as u64, "{node}");
        let name = uri.rsplit('/').next().unwrap();
        assert!(name.len() <= 255, "{uri}");
        *below.entry(uri[..uri.len() - name.len() - 1].to_owned()).or_default() += 1;
        if let Some(content) = node["content"].as_str() {
            assert!(node["children"].is_null() && content.trim_end() == content, "{node}");
            assert!(tokens(content) <= 10_240 || content.chars().count() <= 3072, "{node}");
        }
    }
}

/// A piece of Markdown.
fn piece(dice: &mut Dice) -> String {
    let mut words = |count: usize| -> String {
        let word = |dice: &mut Dice| match dice.below(9) {
            0 => "園芸入門".to_owned(),
            1 => format!("naïve{}", dice.below(100)),
            2 => "*warm*".to_owned(),
            _ => "abcdefghijklmnop"[..1 + dice.below(16)].to_owned() + &dice.below(1000).to_string(),
        };
        let words: Vec<String> = (0..count).map(|_| word(dice)).collect();
        words.join(" ")
    };
    let short = words(3);
    let line = words(12);
    let long = words(300);
    match dice.below(16) {
        0 | 1 => format!("{} {short}\n", "#".repeat(1 + dice.below(6))),
        2 => format!("{short}\n===\n"),
        3 => format!("{short}\n---\n"),
        4 => format!("```\n# {short}\n\n{line}\n```\n"),
        5 => format!("    # {short}\n"),
        6 => format!("> # {short}\n> {line}\n"),
        7 => format!("- {line}\n  - # {short}\n"),
        8 => format!("| {short} |\n|---|\n| {line} |\n"),
        9 => format!("<!--\n# {short}\n-->\n"),
        10 => format!("{long}\n"),
        11 => "\n\n \n".to_owned(),
        _ => format!("{line}\n\n"),
    }
}

#[test]
fn every_word_stands_in_the_contents_in_order() {
    tries(4, |mut dice| {
        let home = Home::new();
        let mut files = Vec::new();
        for number in 0..60 {
            let pieces = [1, 5, 30, 120][dice.below(4)];
            let text: String = (0..pieces).map(|_| piece(&mut dice)).collect();
            let name = format!("{number}.{}", ["md", "txt"][dice.below(2)]);
            home.write(&format!("d/{name}"), &text);
            files.push((name, text));
        }
        let (nodes, _) = parsed(&home, "d", &[]);
        check(&nodes);
        for (name, text) in files {
            let contents = contents(&nodes, &format!("/{name}")).join("\n");
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&contents), words(&text), "{name}");
        }
    });
}

/// So many words, the paragraphs of which have a hundred.
fn paragraphs(word: &str, count: usize) -> String {
    let line = format!("{word} ").repeat(100);
    (0..count / 100).map(|_| format!("{}\n\n", line.trim_end())).collect()
}

#[test]
fn a_long_text_is_split_at_its_headings() {
    let home = Home::new();
    // A word of four letters is 1.2 tokens.
    let sections = [
        format!("# Guide\n\nAn introduction.\n\n{}", paragraphs("intr", 700)),
        format!("## First\n\n{}", paragraphs("frst", 200)),
        format!("Second\n------\n\n{}", paragraphs("scnd", 200)),
        format!("## Deep\n\n### One\n\n{}", paragraphs("oned", 500)),
        format!("### Two?\n\n```\n# no heading\n```\n\n{}", paragraphs("twod", 500)),
        format!("## Huge\n\n{}", paragraphs("huge", 2000)),
    ];
    home.write("d/guide.md", &sections.concat());
    let (nodes, _) = parsed(&home, "d", &[]);
    check(&nodes);
    assert_eq!(
        uris(&nodes),
        [
            "/guide.md/Guide",
            "/guide.md/First_1more",
            "/guide.md/Deep/One",
            "/guide.md/Deep/Two",
            "/guide.md/Deep",
            "/guide.md/Huge",
            "/guide.md/Huge_1",
            "/guide.md/Huge_2",
            "/guide.md",
            "",
        ]
    );
    assert_eq!(node(&nodes, "/guide.md")["title"], json!("Guide"));
    assert_eq!(node(&nodes, "/guide.md")["abstract"].as_str().unwrap()[..16], *"An introduction.");
    assert_eq!(node(&nodes, "/guide.md/First_1more")["title"], json!("First and 1 more"));
    assert_eq!(node(&nodes, "/guide.md/Huge_1")["title"], json!("Huge (2/3)"));
    // A heading without a text of its own stands before what is below it.
    let one = text(&node(&nodes, "/guide.md/Deep/One")["content"]);
    assert!(one.starts_with("## Deep\n\n### One\n\noned"), "{one}");
    let orders: Vec<_> = nodes.iter().map(|node| node["order"].as_u64()).collect();
    assert_eq!(orders, [Some(0), Some(1), Some(0), Some(1), Some(2), Some(3), Some(4), Some(5), None, None]);
}

#[test]
fn a_short_text_is_one_node() {
    let home = Home::new();
    home.write("notes.md", "---\ntitle: \"My notes\"\ndescription: On gardens.\n---\n# Beans\n\nGrow beans.\n\n## Peas\n\nAnd peas.\n");
    let (nodes, _) = parsed(&home, "notes.md", &["-p", "garden"]);
    check(&nodes);
    assert_eq!(uris(&nodes), [""]);
    let only = &nodes[0];
    assert_eq!(
        (&only["title"], &only["abstract"], &only["partition"], &only["mime"], &only["source"]),
        (
            &json!("My notes"),
            &json!("On gardens. Grow beans. And peas."),
            &json!("garden"),
            &json!("text/markdown"),
            &json!(home.path("notes.md").canonicalize().unwrap())
        )
    );
    assert_eq!(
        only["overview"],
        json!("# My notes\n\nOn gardens. Grow beans. And peas.\n\n- Beans\n  - Peas")
    );
    // The address names the partition.
    let ran = home.run("rsv-parse", &["notes.md", "--to", "viking://resources/users/ann/n"], "").ok();
    assert_eq!(lines_of(&ran)[0]["partition"], json!("ann"));
}

#[test]
fn standard_input_and_several_operands_are_trees_of_their_own() {
    let home = Home::new();
    home.write("a/one.txt", "One.");
    home.write("b.md", "# Two\n");
    let out = home.run("rsv-parse", &["a", "b.md", "-", "--to", ROOT], "Three.").ok();
    let lines = lines_of(&out);
    let shown: Vec<_> =
        lines.iter().map(|line| (text(&line["kind"]), text(&line["uri"])[ROOT.len()..].to_owned())).collect();
    let wanted = [
        ("document", "/a/one.txt"),
        ("document", "/a"),
        ("tree", "/a"),
        ("document", "/b.md"),
        ("tree", "/b.md"),
        ("document", "/stdin"),
        ("tree", "/stdin"),
    ];
    assert_eq!(shown, wanted.map(|(kind, uri)| (kind.to_owned(), uri.to_owned())));
    assert_eq!(lines[5]["content"], json!("Three."));
}

#[test]
fn the_output_is_the_same_for_any_number_of_jobs() {
    let home = Home::new();
    for number in 0..200 {
        home.write(
            &format!("d/{}/{number}.md", number % 7),
            &format!("# N {number}\n\n{}", paragraphs("word", number * 20)),
        );
    }
    let run = |jobs: &str| home.run("rsv-parse", &["d", "--to", ROOT, "-j", jobs], "").ok();
    let one = run("1");
    assert!(one.lines().count() > 300 && run("2") == one && run("9") == one);
}

#[test]
fn unchanged_files_are_kept() {
    let home = Home::new();
    home.write("d/a.md", &format!("# A\n\n{}", paragraphs("word", 3000)));
    home.write("d/b.md", "# B\n\nStays.\n");
    home.write("d/sub/c.md", "# C\n\nStays, too.\n");
    let (all, end) = parsed(&home, "d", &[]);
    assert_eq!((&end["kept"], &end["unread"]), (&Value::Null, &Value::Null));
    let known: String = all.iter().map(|node| format!("{node}\n")).collect();
    home.write("known", &known);
    let words = ["--known", "known"];
    let (nodes, end) = parsed(&home, "d", &words);
    assert_eq!(nodes, Vec::<Value>::new());
    let mut kept: Vec<String> = end["kept"].as_array().unwrap().iter().map(text).collect();
    let mut every: Vec<String> = all.iter().map(|node| text(&node["uri"])).collect();
    kept.sort();
    every.sort();
    assert_eq!(kept, every);
    // The same content at another time is known by its hash; other content is not, though its size and name are.
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(7);
    let touch = |name: &str| {
        std::fs::File::options().append(true).open(home.path(name)).unwrap().set_modified(later).unwrap()
    };
    touch("d/a.md");
    home.write("d/b.md", "# B\n\nMoves.\n");
    touch("d/b.md");
    let (nodes, _) = parsed(&home, "d", &words);
    assert_eq!(uris(&nodes), ["/b.md", ""]);
    assert_ne!(node(&nodes, "")["source_sha256"], node(&all, "")["source_sha256"]);
    // Where a section is not known, the file is parsed.
    home.write("d/b.md", "# B\n\nStays.\n");
    let some: Vec<&str> = known.lines().filter(|line| !line.contains("/a.md/A_1\"")).collect();
    assert!(some.len() + 1 == known.lines().count(), "{known}");
    home.write("known", &some.join("\n"));
    let (nodes, _) = parsed(&home, "d", &words);
    assert!(uris(&nodes).iter().all(|uri| uri.starts_with("/a.md")), "{:?}", uris(&nodes));
    // A file that is gone is in none of the lists.
    std::fs::remove_file(home.path("d/sub/c.md")).unwrap();
    let (nodes, end) = parsed(&home, "d", &words);
    assert!(uris(&nodes).contains(&"/sub".to_owned()) && !end.to_string().contains("c.md"));
}

#[test]
fn a_directory_says_what_is_in_it() {
    let home = Home::new();
    home.write("d/README.md", "# The notes\n\nNotes on gardens.\n");
    home.write("d/beans.md", "# Beans\n\nBeans climb.\n");
    let (nodes, _) = parsed(&home, "d", &[]);
    let top = node(&nodes, "");
    assert_eq!(
        (&top["title"], &top["abstract"], &top["children"]),
        (&json!("x"), &json!("Notes on gardens."), &json!(2))
    );
    assert_eq!(
        text(&top["overview"]),
        "# x\n\nNotes on gardens.\n\n- README.md: The notes\n- beans.md: Beans\n\n## The notes\n\nNotes on gardens.\n\n\
         ## Beans\n\nBeans climb."
    );
}

/// The error of a run, and what the tree's line says is not read.
pub(crate) fn unread(ran: Ran) -> (String, Vec<String>, Vec<Value>) {
    let (nodes, end) = tree_of(&ran.stdout);
    let unread = end["unread"].as_array().cloned().unwrap_or_default();
    let unread = unread.iter().map(|uri| text(uri)[ROOT.len()..].to_owned()).collect();
    (ran.trouble(), unread, nodes)
}

/// Keeps: Tools that open no store link no database.
#[test]
fn tools_that_open_no_store_link_no_database() {
    // A message of SQLite's own; the beginning of its files is known to tools that only name them.
    let links = |tool: &str| {
        let tool = Path::new(env!("CARGO_BIN_EXE_rsv-parse")).with_file_name(tool);
        memchr::memmem::find(&std::fs::read(tool).unwrap(), b"unable to open database file").is_some()
    };
    assert!(links("rsv-view"));
    for tool in ["rsv-parse", "rsv-merge", "rsv-forward"] {
        assert!(!links(tool), "{tool}");
    }
}
