//! Search in the tree of contexts.

use crate::distill_model::{home as home_of_provider, said, useless};
use crate::fake::{Fake, dead};
use crate::proxy::Proxy;
use crate::support::{Dice, Home, Ran, lines_of, on_each_store, text};
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub(crate) const ROOT: &str = "viking://resources/manual";
pub(crate) const WORDS: [&str; 8] =
    ["tomato", "wall", "potash", "frost", "seed", "spade", "water", "compost"];

/// A document with a text for each level.
pub(crate) fn document(uri: &str, title: &str, content: &str) -> Value {
    json!({"kind": "document", "uri": uri, "title": title, "abstract": format!("{title}."),
           "overview": format!("# {title}\n\n{content}"), "content": format!("{content} Detail.")})
}

/// A directory with a text.
pub(crate) fn directory(uri: &str, title: &str, overview: &str) -> Value {
    json!({"kind": "document", "uri": uri, "title": title, "overview": overview, "children": 1})
}

pub(crate) fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

pub(crate) fn store(home: &Home, partition: &str, documents: &[Value]) {
    home.run("rsv-ingest", &["-p", partition], lines(documents)).ok();
}

/// A search in partition p; nothing may be said on standard error.
pub(crate) fn search(home: &Home, words: &[&str]) -> Ran {
    let ran = home.run("rsv-search", &[&["-p", "p"], words].concat(), "");
    assert!(ran.status < 2 && ran.stderr.is_empty(), "{words:?}: {ran}");
    ran
}

/// The addresses of the hits.
fn found(home: &Home, words: &[&str]) -> Vec<String> {
    let lines = lines_of(&search(home, words).stdout);
    lines.iter().filter(|line| line["kind"] == "hit").map(|hit| text(&hit["uri"])).collect()
}

/// A tree of random directories and words, some in no directory.
pub(crate) fn random_tree(dice: &mut Dice, count: usize) -> Vec<Value> {
    let mut nodes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut places = vec![ROOT.to_owned()];
    for n in 0..count {
        let uri = format!("{}/n{n}", places[dice.below(places.len())]);
        if dice.below(3) == 0 {
            places.push(uri.clone());
        }
        let words = (0..1 + dice.below(12)).map(|_| WORDS[dice.below(WORDS.len())]).collect();
        nodes.insert(uri, words);
    }
    let is_directory = |uri: &str| nodes.keys().any(|other| other.starts_with(&format!("{uri}/")));
    let node = |(uri, words): (&String, &Vec<&str>)| {
        let text = words.join(" ");
        if is_directory(uri) { directory(uri, words[0], &text) } else { document(uri, words[0], &text) }
    };
    nodes.iter().map(node).collect()
}

#[test]
fn explained_scores_are_sums_of_their_parts() {
    let home = Home::new();
    store(&home, "p", &random_tree(&mut Dice(12), 30));
    for flag in ["--flat", "--recursive"] {
        let ran = search(&home, &["--target", ROOT, "--explain", flag, "tomato wall frost"]);
        let hits = lines_of(&ran.stdout);
        assert!(hits.len() > 5);
        for hit in hits {
            let parts = hit["why"]["parts"].as_object().unwrap();
            let sum: f64 = parts.values().map(|part| part.as_f64().unwrap()).sum();
            assert_eq!(sum.total_cmp(&0.0), Ordering::Greater);
            assert!((sum - hit["score"].as_f64().unwrap()).abs() < 1e-9, "{flag} {hit}");
        }
    }
}

#[test]
fn a_section_comes_before_the_outline_and_the_page_that_only_have_the_common_words() {
    let home = Home::new();
    let uri = |name: &str| format!("{ROOT}/{name}");
    let option = |letter: &str, tool: &str| {
        document(
            &uri(&format!("tools/{tool}_{letter}")),
            &format!("The options of {tool}"),
            &format!(
                "-{letter} is the command line option of {tool} that makes it say less of what it does to a file."
            ),
        )
    };
    let mut documents = vec![
        directory(&uri("tools"), "Tools", "Command line option, command line option -q, line option of sew."),
        document(
            &uri("command_line"),
            "Command line options",
            "Every command line option is a line option of a command.",
        ),
    ];
    for tool in ["sew", "knit", "weave"] {
        documents.extend(["q", "v", "x"].map(|letter| option(letter, tool)));
    }
    store(&home, "p", &documents);
    for (tool, letter) in [("sew", "q"), ("knit", "x"), ("weave", "v")] {
        let hits = found(&home, &["--target", ROOT, &format!("{tool} command line option -{letter}")]);
        assert_eq!(hits[0], uri(&format!("tools/{tool}_{letter}")), "{hits:?}");
    }
}

on_each_store!(only_what_lies_at_or_below_a_target_is_found);
/// Keeps: A search of the tree finds nothing outside of its targets.
fn only_what_lies_at_or_below_a_target_is_found(home: Home) {
    let (garden, gardens) = (format!("{ROOT}/garden"), format!("{ROOT}/gardens"));
    let uris = ["garden/a", "garden/deep/b", "gardens/c", "d"].map(|name| format!("{ROOT}/{name}"));
    let mut documents: Vec<Value> =
        uris.iter().map(|uri| document(uri, "Beds", "Tomatoes by the wall.")).collect();
    documents.push(directory(&garden, "Garden", "Tomatoes and more."));
    store(&home, "p", &documents);
    store(&home, "q", &documents);
    for flag in ["--flat", "--recursive"] {
        let below = |targets: &[&str]| {
            let mut words: Vec<&str> = targets.iter().flat_map(|target| ["--target", *target]).collect();
            words.extend([flag, "-n", "50", "tomatoes"]);
            found(&home, &words).into_iter().collect::<BTreeSet<String>>()
        };
        let set = |uris: &[&String]| uris.iter().map(|uri| (*uri).clone()).collect::<BTreeSet<String>>();
        assert_eq!(below(&[ROOT]), set(&[&uris[0], &uris[1], &uris[2], &uris[3], &garden]), "{flag}");
        assert_eq!(below(&[&garden]), set(&[&uris[0], &uris[1]]), "{flag}");
        assert_eq!(below(&[&gardens]), set(&[&uris[2]]), "{flag}");
        // A leaf, several targets, one within another, and all there is.
        assert_eq!(below(&[&uris[3]]), set(&[&uris[3]]), "{flag}");
        assert_eq!(below(&[&uris[3], &garden]), set(&[&uris[0], &uris[1], &uris[3]]), "{flag}");
        assert_eq!(below(&[&garden, &uris[1]]), set(&[&uris[0], &uris[1]]), "{flag}");
        assert_eq!(below(&["viking://"]).len(), 5, "{flag}");
    }
    home.check();
}

on_each_store!(a_target_that_is_not_there_has_no_hits);
fn a_target_that_is_not_there_has_no_hits(home: Home) {
    let own = "viking://resources/users/q/a";
    store(&home, "q", &[document(own, "Beds", "Tomatoes.")]);
    store(&home, "p", &[document("viking://resources/b", "Beds", "Tomatoes.")]);
    for target in [own, "viking://resources/none", "viking://user/q/memories", "viking://resources/b/c"] {
        for flag in ["--flat", "--recursive"] {
            let ran = search(&home, &["--target", target, flag, "tomatoes"]);
            assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{target}");
            let ran = search(&home, &["--target", target, flag, "--steps", "tomatoes"]);
            let steps = lines_of(&ran.stdout);
            let reasons: Vec<&Value> = steps.iter().filter(|step| step["event"] == "excluded").collect();
            assert_eq!((ran.status, reasons.len()), (1, 1), "{target}: {ran}");
            assert_eq!((&reasons[0]["reason"], &reasons[0]["uri"]), (&json!("missing"), &json!(target)));
        }
    }
    let ran = home.run("rsv-search", &["-p", "q", "--target", own, "tomatoes"], "").ok();
    assert_eq!(lines_of(&ran).len(), 1);
}

on_each_store!(trees_of_every_shape_are_searched);
fn trees_of_every_shape_are_searched(home: Home) {
    let deep = (0..100).fold(ROOT.to_owned() + "/deep", |above, _| above + "/d") + "/leaf";
    store(&home, "p", &[document(&deep, "Leaf", "A tomato far down.")]);
    let ran = home.run("rsv-search", &["-p", "empty", "--target", ROOT, "tomato"], "");
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (1, "", ""));
    for flag in ["--flat", "--recursive"] {
        assert_eq!(found(&home, &["--target", ROOT, flag, "tomato"]), [deep.as_str()]);
        assert_eq!(found(&home, &["--target", &deep, flag, "tomato"]), [deep.as_str()]);
    }
}

on_each_store!(the_one_of_ten_thousand_children_is_found);
fn the_one_of_ten_thousand_children_is_found(home: Home) {
    let child = |n: usize| {
        let content = if n == 7777 { "The potash is here." } else { "Nothing but common words." };
        document(&format!("{ROOT}/wide/c{n}"), &format!("Child {n}"), content)
    };
    let children: Vec<Value> = (0..10_000).map(child).collect();
    store(&home, "p", &children);
    for flag in ["--flat", "--recursive"] {
        assert_eq!(found(&home, &["--target", ROOT, flag, "potash"]), [format!("{ROOT}/wide/c7777")]);
        let common = found(&home, &["--target", ROOT, flag, "-n", "40", "common words"]);
        assert_eq!(common.len(), 40, "{flag}");
    }
}

on_each_store!(documents_without_a_vector_are_found_by_words);
fn documents_without_a_vector_are_found_by_words(home: Home) {
    let documents: Vec<Value> = (0..6)
        .map(|n| document(&format!("{ROOT}/n{n}"), &format!("Part {n}"), "Tomatoes like a warm wall."))
        .collect();
    for has_model in [false, true] {
        let home = home.emptied();
        let home = if has_model { home.and_model().env("RSV_EMBED_CATCH_UP", "0") } else { home };
        store(&home, "p", &documents[..3]);
        if has_model {
            home.run("rsv-embed", &["--quiet", "--pending"], "").ok();
        }
        store(&home, "p", &documents);
        for flag in ["--flat", "--recursive"] {
            let ran = home.run("rsv-search", &["-p", "p", "--target", ROOT, flag, "a warm tomato"], "");
            assert_eq!((ran.status, lines_of(&ran.stdout).len()), (0, 6), "{flag}: {ran}");
        }
        home.check();
    }
}

on_each_store!(a_search_while_a_mirror_runs_finds_what_is_there);
fn a_search_while_a_mirror_runs_finds_what_is_there(home: Home) {
    let version = |n: usize| {
        let mut nodes: Vec<Value> = (n % 2..20 + n % 2)
            .map(|at| document(&format!("{ROOT}/n{at}"), &format!("Part {at}"), &format!("Tomatoes {n}.")))
            .collect();
        nodes.push(json!({"kind": "tree", "uri": ROOT, "nodes": nodes.len(), "complete": true}));
        lines(&nodes)
    };
    home.run("rsv-ingest", &["-p", "p", "--mirror"], version(0)).ok();
    std::thread::scope(|scope| {
        let mirrors = scope.spawn(|| {
            for n in 1..8 {
                home.run("rsv-ingest", &["-p", "p", "--mirror"], version(n)).ok();
            }
        });
        while !mirrors.is_finished() {
            for flag in ["--flat", "--recursive"] {
                let hits = found(&home, &["--target", ROOT, flag, "-n", "50", "tomatoes"]);
                let unique: BTreeSet<&String> = hits.iter().collect();
                assert!(hits.len() >= 19 && unique.len() == hits.len(), "{hits:?}");
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        mirrors.join().unwrap();
    });
    home.check();
}

on_each_store!(a_hit_shows_its_level_its_reason_and_its_relations);
fn a_hit_shows_its_level_its_reason_and_its_relations(home: Home) {
    let uris: Vec<String> = (0..8).map(|n| format!("{ROOT}/n{n}")).collect();
    let other = |uri: &String| document(uri, "Beds", &format!("Seed of {uri}."));
    store(&home, "p", &uris.iter().map(other).collect::<Vec<_>>());
    store(&home, "p", &[document(&uris[0], "Beds", "Tomatoes.")]);
    for uri in &uris[1..] {
        home.run("rsv-link", &["-p", "p", &uris[0], uri], "").ok();
    }
    let hit = |flags: &[&str]| {
        let ran = search(&home, &[&["--target", ROOT, "tomatoes"], flags].concat());
        lines_of(&ran.stdout).remove(0)
    };
    let shown = |hit: &Value| {
        ["abstract", "overview", "content"].map(|member| hit.get(member).is_some()).map(u8::from)
    };
    for (flags, levels) in [
        (&[][..], [1, 1, 0]),
        (&["--level", "0"], [1, 0, 0]),
        (&["--level", "1"], [1, 1, 0]),
        (&["--level", "2"], [1, 1, 1]),
    ] {
        let hit = hit(flags);
        assert_eq!((shown(&hit), &hit["uri"]), (levels, &json!(uris[0])), "{flags:?}");
        assert!(text(&hit["match_reason"]).starts_with("words (keyword "), "{hit}");
        assert_eq!(hit["relations"], json!(uris[1..6]), "{flags:?}");
    }
    let text = |level| search(&home, &["--target", ROOT, "--format", "text", "--level", level, "tomatoes"]);
    assert!(text("0").stdout.ends_with(": Beds.\n"), "{}", text("0"));
    assert!(text("2").stdout.ends_with(": Tomatoes. Detail.\n"), "{}", text("2"));
    let linked = found(&home, &["--target", ROOT, "--link", "-n", "4", "tomatoes"]);
    assert_eq!((linked.len(), &linked[0]), (4, &uris[0]));
    let ran = home.run("rsv-search", &["-p", "p", "--target", ROOT, "--level", "9", "x"], "");
    assert!(ran.trouble().contains("--level"));
}

on_each_store!(a_hit_has_the_sentences_that_its_overview_lacks);
fn a_hit_has_the_sentences_that_its_overview_lacks(home: Home) {
    let uri = format!("{ROOT}/beds");
    let beds = |overview: &str, more: Value| {
        let mut line = json!({"kind": "document", "uri": uri, "title": "Beds", "abstract": "Of beds.",
            "overview": overview, "content": "# Beds\n\nTomatoes stand by the wall. Weekly, they get potash. Frost harms them."});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line
    };
    // The passage of a line is not kept.
    store(&home, "p", &[beds("How tomatoes grow.", json!({"passage": "Ignore the question."}))]);
    assert!(!home.run("rsv-export", &[], "").ok().contains("passage"));
    let hit = |flags: &[&str], question: &str| {
        let ran = search(&home, &[&["--target", ROOT], flags, &[question]].concat());
        lines_of(&ran.stdout).remove(0)
    };
    let passage = json!("Weekly, they get potash.");
    for (flags, shown) in [
        (&[][..], &passage),
        (&["--level", "1"], &passage),
        (&["--level", "0"], &Value::Null),
        (&["--level", "2"], &Value::Null),
    ] {
        assert_eq!(&hit(flags, "potash for tomatoes")["passage"], shown, "{flags:?}");
    }
    assert_eq!(hit(&[], "how do tomatoes grow?")["passage"], Value::Null);
    let people = search(&home, &["--target", ROOT, "--format", "text", "potash for tomatoes"]);
    assert!(people.stdout.ends_with("How tomatoes grow.\n\n    … Weekly, they get potash.\n"), "{people}");
}

on_each_store!(memories_are_found_below_their_address);
fn memories_are_found_below_their_address(home: Home) {
    let memory = |category: &str, title: &str| {
        let outcome = if category == "strategy" { json!("success") } else { Value::Null };
        json!({"kind": "memory", "partition": "p", "category": category, "title": title,
               "content": "Tomatoes are good.", "outcome": outcome, "origin": "explicit"})
    };
    let mut memories = ["preference", "event", "strategy"].map(|category| memory(category, category));
    memories[0]["uri"] = json!("viking://user/p/memories/preference/tomatoes");
    home.run("rsv-ingest", &["-p", "p"], lines(&memories)).ok();
    store(&home, "p", &[document(&format!("{ROOT}/a"), "Beds", "Tomatoes.")]);
    let count = |target: &str| found(&home, &["--target", target, "tomatoes"]);
    assert_eq!(count("viking://~/memories").len(), 3);
    let preference = ["viking://user/p/memories/preference/tomatoes"];
    assert_eq!(count("viking://user/p/memories/preference"), preference);
    assert_eq!(count("viking://user/p/memories/preference/tomatoes"), preference);
    assert!(count("viking://user/p/memories/event")[0].starts_with("viking://user/p/memories/event/"));
    assert!(count("viking://user/p/memories/case").is_empty());
    assert_eq!(count("viking://"), [format!("{ROOT}/a")]);
    let both = found(&home, &["--target", "viking://", "--kind", "document,memory", "tomatoes"]);
    assert_eq!(both.len(), 4);
}

#[test]
fn query_lines_name_their_targets() {
    let home = Home::new();
    store(&home, "p", &[document(&format!("{ROOT}/a"), "Beds", "Tomatoes.")]);
    home.run("rsv-ingest", &["-p", "p", "Tomatoes at noon."], "").ok();
    let queries = [
        json!({"query": "tomatoes at all", "target": ROOT, "id": "tree"}),
        json!({"query": "tomatoes", "id": "messages"}),
        json!({"query": "tomatoes", "target": [ROOT, "viking://none"], "id": "two"}),
        json!({"query": "tomatoes", "target": "viking://none", "id": "none"}),
        json!({"query": "tomatoes", "target": "none", "id": "bad"}),
    ];
    let ran = home.run("rsv-search", &["-p", "p", "--steps"], lines(&queries));
    assert_eq!(ran.status, 2, "{ran}");
    assert!(ran.stderr.contains("<stdin>:5: target: expected an address such as"), "{ran}");
    let answers: Vec<(Value, Value, Value)> = lines_of(&ran.stdout)
        .into_iter()
        .filter(|line| line["kind"] != "step")
        .map(|line| (line["query"].clone(), line["record"].clone(), line["hits"].clone()))
        .collect();
    assert_eq!(
        answers,
        [
            (json!("tree"), json!("document"), Value::Null),
            (json!("messages"), Value::Null, Value::Null),
            (json!("two"), json!("document"), Value::Null),
            (json!("tomatoes"), Value::Null, json!(0)),
        ]
    );
    let steps = lines_of(&ran.stdout).into_iter().filter(|line| line["kind"] == "step");
    let named: BTreeSet<String> = steps.map(|step| text(&step["query"])).collect();
    assert_eq!(named.into_iter().collect::<Vec<_>>(), ["none", "tree", "two"]);
    let ran = home.run("rsv-search", &["-p", "p", "--steps", "tomatoes"], "");
    assert!(ran.trouble().contains("--steps is for a search in the tree of contexts"));
}

on_each_store!(the_words_of_a_session_count_less);
fn the_words_of_a_session_count_less(home: Home) {
    let uris = ["frost", "seed", "both"].map(|name| format!("{ROOT}/{name}"));
    let contents = ["Frost harms.", "Seed rests.", "Seed and frost."];
    let documents: Vec<Value> =
        uris.iter().zip(contents).map(|(uri, content)| document(uri, "Beds", content)).collect();
    store(&home, "p", &documents);
    home.run("rsv-ingest", &["-p", "p", "-i", "s", "What of the frost?"], "").ok();
    home.run("rsv-ingest", &["-p", "p", "-i", "other", "What of the wall?"], "").ok();
    let with = |session: &str| found(&home, &["--target", ROOT, "--with-session", session, "seed"]);
    assert_eq!(with("s"), [&*uris[2], &uris[1], &uris[0]]);
    assert_eq!(with("none").len(), 2);
    assert_eq!(with("other").len(), 2);
    // The overview of the last archive counts too.
    let archive = json!({"kind": "document", "uri": "viking://user/p/sessions/other/history/1",
        "title": "Archive", "overview": "They spoke of frost."});
    store(&home, "p", &[archive]);
    assert_eq!(with("other"), [&*uris[2], &uris[1], &uris[0]]);
}

#[test]
fn a_model_says_what_to_search_for() {
    let documents = ["Frost", "Seed", "Wall"]
        .map(|word| document(&format!("{ROOT}/{word}"), word, &format!("Of the {word}.")));
    let with = |fake: &Fake| {
        let home = home_of_provider(&fake.url());
        store(&home, "p", &documents);
        home
    };
    let words = ["-p", "p", "--target", ROOT, "--plan", "llama3.2", "what is up with seed?"];
    let uris = |ran: &Ran| lines_of(&ran.stdout).iter().map(|hit| text(&hit["uri"])).collect::<BTreeSet<_>>();
    let fake = Fake::new([said("{\"questions\": [\"frost\", \"wall\"]}")]);
    let ran = with(&fake).run("rsv-search", &words, "");
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert_eq!(uris(&ran), ["Frost", "Wall"].map(|word| format!("{ROOT}/{word}")).into());
    // Small talk.
    let fake = Fake::new([said("{\"questions\": []}")]);
    let ran = with(&fake).run("rsv-search", &words, "");
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (1, "", ""));
    for (answer, why) in useless() {
        let fake = Fake::new([answer]);
        let ran = with(&fake).run("rsv-search", &words, "");
        assert_eq!((ran.status, uris(&ran)), (0, [format!("{ROOT}/Seed")].into()), "{ran}");
        assert!(ran.stderr.starts_with("rsv-search: searching for the question as it is: "), "{ran}");
        assert!(ran.stderr.contains(why), "{why}: {ran}");
    }
    let home = home_of_provider(&dead());
    store(&home, "p", &documents);
    let ran = home.run("rsv-search", &words, "");
    assert_eq!((ran.status, uris(&ran).len(), ran.stderr.lines().count()), (0, 1, 1), "{ran}");
}

#[test]
fn the_proxy_searches_below_targets() {
    let home = Home::new();
    let uris = ["a", "b"].map(|name| format!("{ROOT}/{name}"));
    store(&home, "p", &uris.each_ref().map(|uri| document(uri, "Beds", "Tomatoes + seed.")));
    let proxy = Proxy::start(&home);
    let hits = |query: &str| {
        let (status, body) = proxy.get(&format!("/partition/p/v1/command/search/{query}"));
        assert_eq!(status, 200, "{body}");
        lines_of(&body).remove(0).as_array().unwrap().clone()
    };
    let found = hits(&format!("5?term=ripe+tomatoes&target={ROOT}"));
    assert_eq!(found.iter().map(|hit| text(&hit["uri"])).collect::<Vec<_>>(), uris);
    assert!(found[0]["score"].is_f64() && found[0]["overview"].is_string(), "{found:?}");
    assert_eq!(hits(&format!("1?term=tomatoes&target={ROOT}")).len(), 1);
    assert_eq!(hits(&format!("?term=tomatoes&target=viking://none&target={}", uris[1])).len(), 1);
    assert!(hits("?term=tomatoes&target=viking://user/q/memories").is_empty());
    let (status, body) = proxy.get("/partition/p/v1/command/search/5?term=a&target=none");
    assert!(status == 400 && body.contains("target: expected an address"), "{body}");
}
