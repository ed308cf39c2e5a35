//! Spellings of one word find each other, whatever script they are in; and a store whose words an earlier release
//! folded is searched as before, until it is brought up to date bit by bit.

use crate::fixtures::{export_of, home_of, load_graph, releases};
use crate::import_kills::kill;
use crate::support::{Dice, Home, lines_of, number_from, on_each_store, on_graph};
use crate::terminal::{Terminal, plain};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

/// Spellings that find each other.
const SAME: &[&[&str]] = &[
    &["can't", "can’t", "canʼt", "can´t"],
    &["strasse", "Straße", "STRASSE", "STRAẞE"],
    &["carrots", "car\u{ad}rots", "car\u{200b}rots", "CARROTS\u{feff}"],
    &["Worttrennung", "Wort\u{ad}tren\u{ad}nung"],
    &["שלום", "שָׁלוֹם", "שָׁל֥וֹם"],
    &["צה\"ל", "צה״ל"],
    &["بيت", "بَيْتٌ", "بيـــت", "ﺑﻴﺖ"],
    &["احمد", "أحمد", "إحمد", "آحمد"],
    &["مستشفى", "مستشفي", "مستشفی"],
    &["مدرسة", "مدرسه"],
    &["كتاب", "کتاب"],
    &["میخواهم", "می\u{200c}خواهم"],
    &["قرآن", "قران"],
    &["2026", "٢٠٢٦", "۲۰۲۶", "２０２６"],
    &["office", "oﬃce", "ｏｆｆｉｃｅ"],
    &["istanbul", "İstanbul", "ISTANBUL"],
    &["smørrebrød", "smorrebrod"],
    &["encyclopædia", "encyclopaedia"],
    &["Łódź", "lodz"],
    &["đường", "duong"],
    &["ёлка", "елка", "е\u{308}лка"],
    &["йод", "и\u{306}од"],
    &["ΟΔΟΣ", "οδός"],
    &["カタカナ", "ｶﾀｶﾅ"],
    &["デジタル", "テ\u{3099}シ\u{3099}タル", "ﾃﾞｼﾞﾀﾙ"],
    &["हिन्दी", "हिन्\u{200d}दी"],
    &["well-known", "well‑known", "well–known"],
];

/// Spellings that do not.
const OTHERS: &[[&str; 2]] = &[["йод", "иод"], ["かき", "がき"], ["ハハ", "パパ"], ["שלום", "שלון"]];

on_each_store!(the_spellings_of_a_word_find_each_other);
/// Keeps: Spellings of one word find each other: ß and ss, apostrophes, soft hyphens, points and vowel marks.
fn the_spellings_of_a_word_find_each_other(home: Home) {
    // Those that are not indexed yet, and those that are. By any word, a stop word finds nothing, and parts of words
    // count.
    for filler in [0, 250] {
        let home = home.emptied();
        let (mut lines, mut queries, mut expected) = (String::new(), String::new(), Vec::new());
        let groups =
            SAME.iter().map(|group| group.to_vec()).chain(OTHERS.iter().map(|pair| pair[..1].to_vec()));
        for (group, spellings) in groups.enumerate() {
            let partition = format!("p{group}");
            let mut add = |text: &str| {
                lines += &format!("{}\n", json!({"role": "user", "content": text, "partition": partition}))
            };
            for spelling in &spellings {
                add(&format!("they said {spelling} there"));
            }
            for n in 0..filler {
                add(&format!("other text {n}"));
            }
            let other = group.checked_sub(SAME.len()).map(|at| OTHERS[at][1]);
            let count = if other.is_some() { 0 } else { spellings.len() };
            for query in other.into_iter().chain(spellings.into_iter().filter(|_| other.is_none())) {
                queries += &format!("{}\n", json!({"query": query, "partition": partition, "limit": 9}));
                expected.push((query.to_owned(), count));
            }
        }
        home.run("rsv-ingest", &["-q"], lines).ok();
        for by in ["keyword", "any"] {
            let mut found = vec![0; expected.len()];
            for line in lines_of(&home.run("rsv-search", &["--by", by], &queries).stdout) {
                if let (Some(query), true) = (line["query"].as_u64(), line.get("content").is_some()) {
                    let is_it = line["content"].as_str().unwrap().starts_with("they said");
                    found[query as usize - 1] += usize::from(is_it);
                }
            }
            let found: Vec<(String, usize)> =
                { expected.iter().map(|(query, _)| query.clone()) }.zip(found).collect();
            let sought = |(_, count): &(String, usize)| by == "keyword" || *count > 0;
            let is_stop_word = |(query, _): &(String, usize)| by == "any" && query.starts_with("can");
            let compared = |of: &[(String, usize)]| -> Vec<(String, usize)> {
                let pairs = of.iter().zip(&expected).filter(|(_, pair)| sought(pair) && !is_stop_word(pair));
                pairs.map(|(pair, _)| pair.clone()).collect()
            };
            assert_eq!(compared(&found), compared(&expected), "{by}");
        }
        home.check();
    }
}

on_each_store!(what_was_found_is_shown_as_it_was_written);
fn what_was_found_is_shown_as_it_was_written(home: Home) {
    let text = "An der Straße, Wort\u{ad}teile: שָׁלוֹם.";
    home.ingest(&["-p", "garden"], &json!({"role": "user", "content": text}).to_string());
    assert_eq!(home.contents("rsv-search", &["-p", "garden", "strasse wortteil שלום"]), [text]);
    // A long text is quoted by whole passages of it, at the right bytes.
    let filler = "Nothing of it is said in this sentence. ".repeat(40);
    let long = format!("{filler}Die Gewächs\u{ad}häuser an der Großen Straße. {filler}שָׁלוֹם עוֹלָם. {filler}");
    home.ingest(&["-p", "long"], &json!({"role": "user", "content": long}).to_string());
    for (question, sentence) in [
        ("gewachshauser strasse", "Die Gewächs\u{ad}häuser an der Großen Straße."),
        ("שלום עולם", "שָׁלוֹם עוֹלָם."),
    ] {
        let hit = &lines_of(&home.run("rsv-search", &["-p", "long", question], "").ok())[0];
        let range = |range: &Value| range[0].as_u64().unwrap() as usize..range[1].as_u64().unwrap() as usize;
        let quoted = hit["quoted"].as_array().unwrap().iter().map(|part| &long[range(part)]);
        assert!(quoted.collect::<String>().contains(sentence), "{hit}");
    }
}

/// The first release that folds words as today.
const FOLDED: &str = "schema-15";

/// Whether a release has messages with words in several spellings, and indexes them otherwise than today.
fn has_words(release: &Path) -> bool {
    release.file_name().unwrap() < FOLDED && export_of(release).contains("\"partition\":\"words\"")
}

/// The stores of these releases, with their exports.
fn with_words() -> Vec<(Home, String)> {
    let releases = releases().into_iter().filter(|release| has_words(release));
    let found: Vec<_> = releases.map(|release| (home_of(&release), export_of(&release))).collect();
    assert!(!found.is_empty());
    found
}

/// The ids and scores of the hits of some questions, in all instances and in one.
fn answers(home: &Home, questions: &[&str]) -> BTreeMap<String, Vec<(String, String)>> {
    let mut found: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for scope in [&[][..], &["-i", "words"], &["-i", "i7"]] {
        for question in questions {
            let words = [&["-p", "words", "-n", "9999", question], scope].concat();
            let hits = lines_of(&home.run("rsv-search", &words, "").stdout);
            let of = |hit: &Value| (hit["id"].as_str().unwrap().to_owned(), hit["score"].to_string());
            let mut hits: Vec<(String, String)> = hits.iter().map(of).collect();
            hits.sort();
            found.insert(format!("{question} {scope:?}"), hits);
        }
    }
    found
}

fn ids(answers: BTreeMap<String, Vec<(String, String)>>) -> BTreeMap<String, BTreeSet<String>> {
    answers
        .into_iter()
        .map(|(question, hits)| (question, hits.into_iter().map(|(id, _)| id).collect()))
        .collect()
}

/// The words of the fixture as they are written there, and as others write them.
const WRITTEN: [&str; 9] =
    ["Straße", "чайник", "häuser", "أحمد", "שָׁלוֹם", "can't", "デジタル", "हिन्दी", "wall"];
const OTHERWISE: [&str; 7] = ["strasse", "gewachshauser", "احمد", "שלום", "المدرسه", "ﾃﾞｼﾞﾀﾙ", "हिनदी"];

/// Keeps: A store that another release indexed is searched as before, until all is indexed again.
#[test]
fn words_of_an_earlier_release_are_found_while_they_are_reindexed() {
    for (home, export) in with_words() {
        let fresh = Home::new();
        fresh.run("rsv-import", &["-q"], &export).ok();
        let expected = answers(&fresh, &WRITTEN);
        assert!(expected.values().filter(|hits| !hits.is_empty()).count() > 18, "{expected:?}");
        // A tool that reads leaves all as it is.
        assert_eq!(ids(answers(&home, &WRITTEN)), ids(expected.clone()));
        let status = home.run("rsv-config", &["doctor"], "").stdout;
        assert!(
            status.contains("indexed as by an earlier release") && status.contains("rsv-embed --pending"),
            "{status}"
        );
        assert!(home.run("rsv", &["status"], "").stdout.contains("indexed as by an earlier release"));
        let mut store = home.open();
        let (mut remaining, mut steps) = (store.outdated_words().unwrap(), 0);
        assert!(remaining > 400);
        while remaining > 0 {
            let before = remaining;
            remaining = store.update_words().unwrap();
            assert!(remaining < before);
            assert_eq!(ids(answers(&home, &WRITTEN)), ids(expected.clone()), "{remaining}");
            steps += 1;
        }
        drop(store);
        assert!(steps > 0);
        // Scores too are those of a store that this release made.
        assert_eq!(answers(&home, &WRITTEN), expected);
        let expected = answers(&fresh, &OTHERWISE);
        assert!(expected.values().filter(|hits| !hits.is_empty()).count() > 10, "{expected:?}");
        assert_eq!(answers(&home, &OTHERWISE), expected);
        assert!(!home.run("rsv-config", &["doctor"], "").stdout.contains("earlier release"));
        assert_eq!(home.export(), export);
        home.check();
    }
}

#[test]
fn a_person_is_told_once_that_an_earlier_release_has_indexed_the_store() {
    let told = "records are indexed as by an earlier release, until later writes reindex them; at once: rsv-embed --pending";
    for (home, _) in with_words() {
        for is_first in [true, false] {
            let Some(terminal) = Terminal::start(&home, "rsv-view", "--no-pager --all 1") else { return };
            let (seen, status) = terminal.end();
            assert_eq!((plain(&seen).replace("\r\n", " ").contains(told), status), (is_first, 0), "{seen}");
        }
    }
}

#[test]
fn writes_reindex_the_words_of_an_earlier_release() {
    for (home, export) in with_words() {
        let lines = "{\"role\":\"user\",\"content\":\"A new one in der Straße\",\"partition\":\"new\"}\n";
        for at in 0.. {
            home.run("rsv-ingest", &["-q"], lines).ok();
            if home.open().outdated_words().unwrap() == 0 {
                break;
            }
            assert!(at < 1000);
        }
        let fresh = Home::new();
        fresh.run("rsv-import", &["-q"], &export).ok();
        assert_eq!(answers(&home, &OTHERWISE), answers(&fresh, &OTHERWISE));
        home.check();
    }
}

#[test]
#[allow(clippy::print_stdout)] // Shown where the test fails.
fn reindexing_may_be_killed_and_done_by_several_at_once() {
    let seed = number_from("RSV_TEST_SEED").unwrap_or(57);
    println!("RSV_TEST_SEED={seed}");
    let mut dice = Dice(seed);
    for (home, export) in with_words() {
        let fresh = Home::new();
        fresh.run("rsv-import", &["-q"], &export).ok();
        let expected = answers(&fresh, &WRITTEN);
        let begin = Instant::now();
        // Without a model, it ends with an error once this is done.
        home.run("rsv-embed", &["--pending"], "");
        let whole = begin.elapsed();
        assert_eq!(answers(&home, &WRITTEN), expected);
        for (home, _) in (0..4).flat_map(|_| with_words()) {
            kill(&home, "rsv-embed", &["--pending"], whole, &mut dice);
            home.check();
            assert_eq!(ids(answers(&home, &WRITTEN)), ids(expected.clone()));
            // Some of those that are reindexed are forgotten, and some that are not.
            home.run("rsv-forget", &["-q", "--all", "w0000", "w0003", "w0230", "w0240", "w0470"], "").ok();
            let mut both: Vec<_> = (0..2).map(|_| home.talk("rsv-embed", &["--pending"])).collect();
            both.drain(..).for_each(|talk| drop(talk.end()));
            assert_eq!(home.open().outdated_words().unwrap(), 0);
            let fresh = Home::new();
            fresh.run("rsv-import", &["-q"], home.export()).ok();
            assert_eq!(answers(&home, &OTHERWISE), answers(&fresh, &OTHERWISE));
            home.check();
        }
    }
}

on_graph!(words_of_an_earlier_graph_are_found_while_they_are_reindexed);
fn words_of_an_earlier_graph_are_found_while_they_are_reindexed(home: Home) {
    for release in releases().iter().filter(|release| has_words(release)) {
        let fresh = home.emptied();
        fresh.run("rsv-import", &["-q"], export_of(release)).ok();
        let [written, otherwise] = [&WRITTEN[..], &OTHERWISE].map(|questions| answers(&fresh, questions));
        let home = home.emptied();
        load_graph(&home, release);
        assert_eq!(ids(answers(&home, &WRITTEN)), ids(written.clone()));
        assert!(home.run("rsv-config", &["doctor"], "").stdout.contains("indexed as by an earlier release"));
        let mut store = home.open();
        let (mut remaining, mut steps) = (store.outdated_words().unwrap(), 0);
        while remaining > 0 {
            assert!(remaining > store.update_words().unwrap());
            remaining = store.outdated_words().unwrap();
            assert_eq!(ids(answers(&home, &WRITTEN)), ids(written.clone()), "{remaining}");
            // Some that are reindexed go, and some that are not, and come back.
            if steps == 0 {
                let some = ["w0001", "w0470"];
                let gone = home.run("rsv-forget", &["--all", some[0], some[1]], "").ok();
                home.run("rsv-import", &["-q", "--allow-return"], gone).ok();
            }
            steps += 1;
        }
        assert!(steps > 2);
        assert_eq!(answers(&home, &WRITTEN), written);
        assert_eq!(answers(&home, &OTHERWISE), otherwise);
        // Nothing differs from what a repair makes of the records.
        let repaired = home.run("rsv-config", &["doctor", "--repair"], "").stdout;
        assert!(!repaired.contains("wrong"), "{repaired}");
        home.check();
    }
}
