//! The manual as pages of HTML: `scripts/docs --html`.

use crate::docs::{is_installed, names, read, report_unchecked, root};
use crate::support::Home;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The values of an attribute in a page.
fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    let parts = page.split(&format!(" {attribute}=\"")).skip(1).collect::<Vec<_>>();
    parts.into_iter().map(|part| part.split('"').next().unwrap()).collect()
}

/// The pages by their names; `None` where mandoc, which makes them, is missing.
fn made(into: &Path) -> Option<BTreeMap<String, String>> {
    if !is_installed("mandoc") {
        report_unchecked("the manual as HTML, for want of mandoc");
        return None;
    }
    let mut docs = Command::new("bash");
    let ran = docs.arg("scripts/docs").arg("--html").arg(into).current_dir(root()).output().unwrap();
    assert!(ran.status.success() && ran.stderr.is_empty(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(String::from_utf8(ran.stdout).unwrap(), format!("{}\n", into.join("index.html").display()));
    let files = into.read_dir().unwrap().map(|file| file.unwrap().path());
    let page = |path: PathBuf| {
        (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(path).unwrap())
    };
    Some(files.map(page).collect())
}

/// Keeps: Every link in the manual's pages of HTML leads somewhere, and every page is reached.
#[test]
fn every_link_leads_to_a_page_and_a_place_in_it() {
    let home = Home::new();
    let Some(pages) = made(&home.path("a manual")) else { return };
    let wanted = names("man").into_iter().map(|name| format!("{name}.html"));
    let wanted: BTreeSet<String> = wanted.chain(["index.html", "manual.css"].map(str::to_owned)).collect();
    assert_eq!(pages.keys().cloned().collect::<BTreeSet<_>>(), wanted);
    let (mut reached, mut next) = (BTreeSet::new(), vec!["index.html".to_owned()]);
    while let Some(name) = next.pop() {
        if !reached.insert(name.clone()) {
            continue;
        }
        for link in values(&pages[&name], "href") {
            if let Some((scheme, _)) = link.split_once("://") {
                assert!(["http", "https"].contains(&scheme), "{name}: {link}");
                continue;
            }
            let (page, place) = link.split_once('#').unwrap_or((link, ""));
            let page = if page.is_empty() { &name } else { page };
            let there = pages.get(page).unwrap_or_else(|| panic!("{name}: {link}"));
            assert!(place.is_empty() || values(there, "id").contains(&place), "{name}: {link}");
            next.push(page.to_owned());
        }
    }
    assert_eq!(reached, wanted);
}

#[test]
fn a_reference_to_another_page_is_a_link_and_one_to_another_manual_is_text() {
    let home = Home::new();
    let Some(pages) = made(&home.path("manual")) else { return };
    for name in names("man") {
        let (source, page) = (read(&format!("man/{name}")), &pages[&format!("{name}.html")]);
        let macros = source.lines().map(|line| line.trim_start_matches('.'));
        let references = macros.filter_map(|line| line.strip_prefix("Xr ").or(line.strip_prefix("It Xr ")));
        for reference in references {
            let words: Vec<&str> = reference.split(' ').collect();
            let [title, number, ..] = words[..] else { panic!("{name}: {reference}") };
            let link = format!("href=\"{title}.{number}.html\"");
            assert_eq!(page.contains(&link), title.starts_with("rsv"), "{name}: {reference}");
        }
    }
    let jq = &pages["rsv-shell.7.html"];
    assert!(jq.contains("jq(1)") && jq.contains("href=\"rsv-proxy.1.html\""), "{jq}");
}
