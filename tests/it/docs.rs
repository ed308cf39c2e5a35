//! The documentation agrees with the tools: options, settings, completions, names.

use crate::support::Home;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The sections of a page, in the order of need: examples come before what is looked up.
const SECTIONS: [&str; 11] = [
    "NAME",
    "SYNOPSIS",
    "DESCRIPTION",
    "EXAMPLES",
    "COMMANDS",
    "OPTIONS",
    "EXTENDED DESCRIPTION",
    "ENVIRONMENT",
    "FILES",
    "EXIT STATUS",
    "SEE ALSO",
];

/// Those that a tool's page need not have.
const OPTIONAL: [&str; 2] = ["COMMANDS", "EXTENDED DESCRIPTION"];

/// The scripts with a page of their own, whose completions are written by hand.
const SCRIPTS: [&str; 1] = ["rsv-sync"];

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// The names in a directory that begin with `rsv` or `_rsv`.
pub(crate) fn names(directory: &str) -> BTreeSet<String> {
    let entries = root().join(directory).read_dir().unwrap_or_else(|e| panic!("{directory}: {e}"));
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.trim_start_matches('_').starts_with("rsv")).collect()
}

fn tools() -> BTreeSet<String> {
    names("src/bin").iter().map(|name| name.trim_end_matches(".rs").to_owned()).collect()
}

/// The text of a page between two headings.
pub(crate) fn section<'a>(page: &'a str, name: &str) -> &'a str {
    let begin = page.find(&format!("\n.Sh {name}\n")).unwrap_or_else(|| panic!("no section {name}"));
    let text = &page[begin + 1..];
    &text[..text.find("\n.Sh ").unwrap_or(text.len())]
}

/// The flags in the terms of a list: `.It Fl q , Fl Fl quiet`.
fn flags_of_page(page: &str) -> BTreeSet<String> {
    let terms = section(page, "OPTIONS").lines().filter_map(|line| line.strip_prefix(".It Fl "));
    let names = terms.flat_map(|term| {
        term.split(" , ").filter_map(|flag| flag.trim_start_matches("Fl ").split(' ').next())
    });
    names.map(|name| if name.len() == 1 { format!("-{name}") } else { format!("--{name}") }).collect()
}

/// The flags at the beginning of the help's lines, `  -q, --quiet`; what they mean is indented further.
fn flags_of_help(help: &str) -> BTreeSet<String> {
    let lines = help.lines().filter_map(|line| line.strip_prefix("  -").or(line.strip_prefix("      -")));
    let lines: Vec<String> = lines.map(|line| format!("-{line}")).collect();
    let words = lines.iter().flat_map(|line| line.split(' ').take_while(|word| word.starts_with('-')));
    words.map(|word| word.trim_end_matches(',').to_owned()).collect()
}

/// Reports a part of the documentation that this machine cannot check. Writes to standard error, which is not captured,
/// unlike `eprintln!`.
pub(crate) fn report_unchecked(what: &str) {
    let mut stderr = std::io::stderr();
    writeln!(stderr, "not checked: {what}").unwrap();
}

pub(crate) fn is_installed(tool: &str) -> bool {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("command -v {tool}")]).stdout(Stdio::null());
    command.status().unwrap().success()
}

#[test]
fn tools_pages_and_the_table_of_the_readme_are_the_same() {
    let tools = tools();
    let pages: BTreeSet<String> =
        names("man").iter().filter_map(|page| page.strip_suffix(".1").map(str::to_owned)).collect();
    let scripts = SCRIPTS.map(str::to_owned).into_iter().collect();
    assert_eq!(pages, &tools | &scripts);
    assert_eq!(rsv::doctor::TOOLS.map(str::to_owned).into_iter().collect::<BTreeSet<_>>(), tools);
    let readme = read("README.md");
    let rows = readme.lines().filter_map(|line| line.strip_prefix("| [`")?.split('`').next());
    assert_eq!(rows.map(str::to_owned).collect::<BTreeSet<_>>(), pages);
    let overview = read("man/rsv.7");
    let listed = overview.lines().filter_map(|line| line.strip_prefix(".It Xr "));
    let listed: BTreeSet<String> = listed.map(|page| page.replace(' ', ".")).collect();
    let mut wanted = names("man");
    wanted.remove("rsv.7");
    assert_eq!(listed, wanted);
    let others: Vec<String> = names("man").into_iter().filter(|page| !page.ends_with(".1")).collect();
    let pages = "rsv-chat.7 rsv-config.5 rsv-http.7 rsv-install.7 rsv-memory.7 rsv-record.5 rsv-reservoir.7 rsv-session.7 rsv-shell.7 rsv-team.7 rsv-tree.7 rsv-tutorial.7 rsv.7";
    assert_eq!(others.join(" "), pages);
}

/// Keeps: The documentation agrees with the tools.
#[test]
fn a_page_has_every_option_and_no_other() {
    for tool in tools() {
        let help = Home::new().run(&tool, &["--help"], "").ok();
        assert_eq!(flags_of_page(&read(&format!("man/{tool}.1"))), flags_of_help(&help), "{tool}");
    }
    for script in SCRIPTS {
        let text = read(&format!("scripts/{script}"));
        let taken: BTreeSet<String> = text
            .split(|c: char| c.is_whitespace() || "|)".contains(c))
            .filter(|word| word.starts_with("--") && word.ends_with("=*"))
            .map(|word| word.trim_end_matches("=*").to_owned())
            .collect();
        let flags = flags_of_page(&read(&format!("man/{script}.1")));
        assert!(flags.is_superset(&taken), "{script}: {flags:?} {taken:?}");
        for flag in flags.iter().filter(|flag| flag.starts_with("--")) {
            for completion in
                [format!("bash/{script}.bash"), format!("fish/{script}.fish"), format!("zsh/_{script}")]
            {
                let there = read(&format!("completions/{completion}"));
                let name = flag.trim_start_matches('-');
                assert!(text.contains(flag) && there.contains(name), "{completion}: {flag}");
            }
        }
    }
    let help = Home::new().run("rsv-config", &["-h"], "").ok();
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let commands: BTreeSet<&str> =
        commands.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let page = read("man/rsv-config.1");
    let terms = section(&page, "COMMANDS").lines().filter_map(|line| line.strip_prefix(".It Cm "));
    let terms: BTreeSet<&str> = terms.filter_map(|term| term.split(' ').next()).collect();
    assert!(terms.is_superset(&commands), "{commands:?}: {terms:?}");
    let common = flags_of_page(&page);
    for command in commands {
        let help = Home::new().run("rsv-config", &[command, "--help"], "").ok();
        for flag in flags_of_help(&help).difference(&common) {
            let name = flag.trim_start_matches("--");
            assert!(section(&page, "SYNOPSIS").contains(&format!("Fl Fl {name}")), "{command} {flag}");
            assert!(section(&page, "COMMANDS").contains(&format!("Fl Fl {name}")), "{command} {flag}");
        }
    }
}

#[test]
fn a_page_has_every_section_in_order() {
    for name in names("man") {
        let page = read(&format!("man/{name}"));
        let sections: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix(".Sh ")).collect();
        let known: Vec<&str> = SECTIONS.into_iter().filter(|s| sections.contains(s)).collect();
        if name.ends_with(".1") {
            assert_eq!(sections, known, "{name}");
            let missing: Vec<&str> = SECTIONS.into_iter().filter(|s| !sections.contains(s)).collect();
            assert!(missing.iter().all(|s| OPTIONAL.contains(s)), "{name}: no section {missing:?}");
            let before = section(&page, "DESCRIPTION").lines().count();
            assert!(before < 35, "{name}: {before} lines before the examples");
        } else {
            let kept: Vec<&str> = sections.iter().copied().filter(|s| SECTIONS.contains(s)).collect();
            assert_eq!(kept, known, "{name}");
            for wanted in ["NAME", "DESCRIPTION", "EXIT STATUS", "EXAMPLES", "SEE ALSO"] {
                assert!(sections.contains(&wanted), "{name}: no section {wanted}");
            }
        }
        let (page_name, number) = name.rsplit_once('.').unwrap();
        assert!(page.contains(&format!("\n.Dt {} {number}\n", page_name.to_uppercase())), "{name}");
        assert!(page.contains(&format!("\n.Nm {page_name}\n.Nd ")), "{name}");
    }
}

#[test]
fn cross_references_name_existing_pages() {
    let pages = names("man");
    for name in &pages {
        let page = read(&format!("man/{name}"));
        for line in page.lines() {
            let mut words = line.trim_start_matches('.').split(' ').skip_while(|word| *word != "Xr");
            if let (Some(_), Some(page), Some(number)) = (words.next(), words.next(), words.next()) {
                let wanted = format!("{page}.{number}");
                assert!(!page.starts_with("rsv") || pages.contains(&wanted), "{name}: {line}");
            }
        }
    }
}

#[test]
fn the_page_of_the_suite_names_every_page() {
    let overview = read("man/rsv.7");
    let named = section(&overview, "SEE ALSO");
    for page in names("man").into_iter().filter(|page| page != "rsv.7") {
        let (name, number) = page.rsplit_once('.').unwrap();
        assert!(named.contains(&format!(".Xr {name} {number}")), "{page}");
    }
}

#[test]
fn troff_reports_nothing() {
    if !is_installed("groff") {
        return report_unchecked("what troff says of the manual, for want of groff");
    }
    for page in names("man") {
        let mut troff = Command::new("groff");
        troff.args(["-K", "utf8", "-mandoc", "-Tutf8", "-ww", "-z"]).arg(root().join("man").join(page));
        assert_eq!(String::from_utf8_lossy(&troff.output().unwrap().stderr), "");
    }
}

#[test]
fn mandoc_reports_nothing() {
    if !is_installed("mandoc") {
        return report_unchecked("the manual's lint, for want of mandoc");
    }
    let pages = names("man").into_iter().map(|name| root().join("man").join(name));
    let lint = Command::new("mandoc").args(["-T", "lint", "-W", "warning"]).args(pages).output().unwrap();
    let reported = String::from_utf8(lint.stdout).unwrap();
    // Examples come before the environment, which mandoc has the other way; another test has the order of sections.
    let reported: Vec<&str> =
        reported.lines().filter(|line| !line.contains("sections out of conventional order: Sh E")).collect();
    assert!(reported.is_empty(), "{reported:#?}");
    // 2 is for warnings.
    assert!(matches!(lint.status.code(), Some(0 | 2)), "{}", lint.status);
}

#[test]
fn the_page_of_the_proxy_takes_at_most_three_printed_pages() {
    if !is_installed("mandoc") {
        return report_unchecked("the length of rsv-proxy(1), for want of mandoc");
    }
    let page = root().join("man/rsv-proxy.1");
    let printed = Command::new("mandoc").args(["-T", "ascii"]).arg(page).output().unwrap().stdout;
    let lines = printed.iter().filter(|byte| **byte == b'\n').count();
    // A printed page has 66 lines.
    assert!((100..=3 * 66).contains(&lines), "{lines} lines");
}

/// Keeps: The documentation agrees with the tools.
#[test]
fn the_settings_page_has_every_row() {
    let page = read("man/rsv-config.5");
    let described = page.lines().filter_map(|line| line.strip_prefix(".It Va "));
    let described: BTreeSet<String> = described.map(str::to_owned).collect();
    let list = Home::new().run("rsv-config", &["list"], "").ok();
    let keys = list.lines().filter_map(|line| line.split_whitespace().next());
    assert_eq!(described, keys.map(str::to_owned).collect());
    let table = read("src/config/table.rs");
    let rows = table.lines().filter_map(|line| line.trim_start().strip_prefix("row(\""));
    for row in rows {
        // Its strings are the key, the variables, the default, the documentation.
        let strings: Vec<&str> = row.split('"').step_by(2).collect();
        let (key, rest) = strings.split_first().unwrap();
        let (doc, facts) = rest.split_last().unwrap();
        let item = page.split(&format!("\n.It Va {key}\n")).nth(1).unwrap();
        let item = item.split("\n.It ").next().unwrap().split("\n.El").next().unwrap();
        let words: Vec<&str> = item.split_whitespace().collect();
        for fact in facts {
            assert!(words.contains(fact), "{key}: {fact} is missing");
        }
        let sentence = doc[..1].to_uppercase() + &doc[1..] + ".";
        assert!(words.join(" ").starts_with(&sentence), "{key}: {sentence}");
    }
}

/// Keeps: The documentation agrees with the tools.
#[test]
fn completions_are_current() {
    let mut wanted = BTreeSet::new();
    for tool in tools() {
        for (shell, name) in [
            ("bash", format!("bash/{tool}.bash")),
            ("zsh", format!("zsh/_{tool}")),
            ("fish", format!("fish/{tool}.fish")),
        ] {
            let script = Home::new().env("RSV_COMPLETIONS", shell).run(&tool, &[], "").ok();
            let there = std::fs::read_to_string(root().join("completions").join(&name));
            assert!(there.is_ok_and(|there| there == script), "completions/{name}: run scripts/docs");
            wanted.insert(name);
        }
    }
    for script in SCRIPTS {
        wanted.extend([
            format!("bash/{script}.bash"),
            format!("zsh/_{script}"),
            format!("fish/{script}.fish"),
        ]);
    }
    let mut there = BTreeSet::new();
    for shell in ["bash", "zsh", "fish"] {
        let names = names(&format!("completions/{shell}"));
        there.extend(names.into_iter().map(|name| format!("{shell}/{name}")));
    }
    assert_eq!(there, wanted);
}

#[test]
fn the_changelog_begins_with_this_version() {
    let changelog = read("CHANGELOG.md");
    let versions = changelog.lines().filter_map(|line| line.strip_prefix("## ")?.split(' ').next());
    let newest = versions.into_iter().find(|version| *version != "Unreleased");
    assert_eq!(newest, Some(env!("CARGO_PKG_VERSION")));
}

#[test]
fn paths_named_in_the_docs_exist() {
    let mut seen = 0;
    for doc in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        let text = read(doc);
        let words = text.split(|c: char| c.is_whitespace() || "`()".contains(c));
        let in_tree = ["scripts/", "man/", "src/", "tests/"];
        for path in words.filter(|word| in_tree.iter().any(|start| word.starts_with(start))) {
            let path = path.trim_end_matches(['.', ',', ':', ';']);
            assert!(root().join(path).exists(), "{doc}: there is no {path}");
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn the_readme_is_short() {
    assert!(read("README.md").lines().count() < 150);
}

/// Keeps: The page of the architecture has every file of the library.
#[test]
fn the_page_of_the_architecture_has_every_file() {
    let page = read("ARCHITECTURE.md");
    let named: BTreeSet<&str> = page.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let mut directories = vec![root().join("src")];
    let mut missing = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in directory.read_dir().unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() && name != "bin" {
                directories.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") && !["lib", "tests"].contains(&&*name) {
                missing.extend((!named.contains(&*name)).then_some(path));
            }
        }
    }
    assert!(missing.is_empty(), "ARCHITECTURE.md lacks {missing:?}");
    assert!(page.len() <= 12_288, "{} bytes are no page", page.len());
}

/// Keeps: The list of promises names every test that keeps one.
#[test]
fn the_list_of_promises_is_current() {
    let listed =
        Command::new("bash").arg("scripts/docs").arg("promises").current_dir(root()).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.lines().filter(|line| line.starts_with("- ")).count() > 150, "{listed}");
    assert!(read("tests/README.md") == listed, "tests/README.md is not what scripts/docs makes");
}

/// Keeps: Every test that a page names exists.
#[test]
fn tests_named_as_keeping_an_invariant_exist() {
    for page in ["ARCHITECTURE.md", "src/store/DESIGN.md", "src/store/neo4j/GRAPH.md"] {
        let text = read(page);
        let named = text.split('`').skip(1).step_by(2).filter_map(|name| name.split_once("::"));
        let mut seen = 0;
        for (module, test) in named {
            let source = read(&format!("tests/it/{module}.rs"));
            let is_test = source.contains(&format!("#[test]\nfn {test}() {{"));
            let is_story =
                ["on_each_store", "on_graph"].iter().any(|of| source.contains(&format!("{of}!({test});")));
            assert!(is_test || is_story, "{page}: {module}::{test}");
            seen += 1;
        }
        assert!(seen >= 5, "{page}");
    }
}
