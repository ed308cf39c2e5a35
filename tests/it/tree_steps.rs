//! A reader of the steps of a search in the tree. It knows their description in rsv-record(5), the command line and the
//! tree, and computes from the own scores what else the steps say: the way, the scores, the exclusions and the hits.

use crate::support::{Dice, Home, lines_of, on_each_store, text};
use crate::tree_search::{ROOT, WORDS, document, random_tree, search, store};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The steps of one search, and the tree that it went through.
struct Reader<'a> {
    steps: &'a [Value],
    /// The texts of each node, by its address.
    tree: &'a BTreeMap<String, Value>,
    /// The addresses that the command line excludes.
    excluded: &'a BTreeSet<String>,
}

/// The result that the steps imply.
struct Implied {
    hits: Vec<(String, f64)>,
    /// The reason for each node or target that is no hit.
    exclusions: BTreeMap<String, &'static str>,
    directories: Vec<(String, f64)>,
}

/// Whether an address is another or lies below it.
fn is_within(uri: &str, above: &str) -> bool {
    uri == above || uri.starts_with(&format!("{above}/"))
}

impl Reader<'_> {
    fn of(&self, event: &'static str) -> impl Iterator<Item = &Value> {
        self.steps.iter().filter(move |step| step["event"] == event)
    }

    fn start(&self) -> &Value {
        self.of("search_start").next().unwrap()
    }

    fn is_directory(&self, uri: &str) -> bool {
        self.tree.keys().any(|other| other != uri && is_within(other, uri))
    }

    /// The own score of each candidate.
    fn own_scores(&self) -> BTreeMap<String, f64> {
        let is_scored = |step: &&Value| step["reason"] != "target" && step.get("own").is_some();
        let scored = self.of("candidate").chain(self.of("excluded")).filter(is_scored);
        scored.map(|step| (text(&step["uri"]), step["own"].as_f64().unwrap())).collect()
    }

    /// The targets that have something at or below them, but none that lies below another.
    fn targets(&self) -> Vec<String> {
        let given: BTreeSet<String> = self.start()["targets"].as_array().unwrap().iter().map(text).collect();
        let is_outer = |uri: &&String| !given.iter().any(|other| other != *uri && is_within(uri, other));
        let is_there = |uri: &&String| self.tree.keys().any(|node| is_within(node, uri));
        given.iter().filter(is_outer).filter(is_there).cloned().collect()
    }

    /// The way of a recursive search: its directories with their scores, and the score of each visited candidate.
    fn way(&self, own: &BTreeMap<String, f64>) -> (Vec<(String, f64)>, BTreeMap<String, f64>) {
        let number = |name: &str| self.start()[name].as_f64().unwrap();
        let (share, limit) = (number("own_share"), number("limit") as usize);
        let has_below = |uri: &str| own.keys().any(|other| other != uri && is_within(other, uri));
        let best = own.values().copied().fold(0.0, f64::max);
        let targets = self.targets();
        let mut scores: BTreeMap<String, f64> = own
            .iter()
            .filter(|(uri, _)| targets.contains(uri))
            .map(|(uri, own)| (uri.clone(), *own))
            .collect();
        let mut first: Vec<(String, f64)> =
            own.iter().filter(|(uri, _)| has_below(uri)).map(|(uri, own)| (uri.clone(), *own)).collect();
        first.sort_by(|(a, one), (b, other)| other.total_cmp(one).then_with(|| a.cmp(b)));
        first.truncate(number("start_directories") as usize);
        let mut waiting: Vec<(String, f64)> = targets.iter().map(|target| (target.clone(), best)).collect();
        waiting.extend(first);
        let (mut visited, mut now, mut stable) = (Vec::new(), Vec::new(), 0);
        loop {
            waiting.sort_by(|(a, one), (b, other)| one.total_cmp(other).then_with(|| b.cmp(a)));
            let Some((uri, score)) = waiting.pop() else { return (visited, scores) };
            if visited.iter().any(|(other, _)| *other == uri) {
                continue;
            }
            let on_the_way: BTreeSet<&str> = own
                .keys()
                .filter(|other| **other != uri && is_within(other, &uri))
                .map(|other| {
                    &other[..uri.len()
                        + 1
                        + other[uri.len() + 1..].find('/').unwrap_or(other.len() - uri.len() - 1)]
                })
                .collect();
            for child in on_the_way {
                let total = share * own.get(child).unwrap_or(&0.0) + (1.0 - share) * score;
                if own.contains_key(child) {
                    scores.insert(child.to_owned(), total);
                }
                if has_below(child) {
                    waiting.push((child.to_owned(), total));
                }
            }
            visited.push((uri, score));
            let before = std::mem::replace(&mut now, ranked(&scores));
            now.truncate(limit);
            stable = if before == now && now.len() == limit { stable + 1 } else { 0 };
            let unvisited = own.iter().filter(|(uri, _)| !scores.contains_key(*uri)).map(|(_, own)| *own);
            let greatest = share * unvisited.fold(0.0, f64::max) + (1.0 - share) * best;
            let is_final = now.last().is_none_or(|(_, last)| *last > greatest);
            if stable >= number("stable_rounds") as usize && is_final {
                return (visited, scores);
            }
        }
    }

    /// Computes all that follows from the own scores.
    fn read(&self) -> Implied {
        let own = self.own_scores();
        let is_recursive = self.start()["method"] == "recursive";
        let (directories, scores) = if is_recursive { self.way(&own) } else { (Vec::new(), own.clone()) };
        let mut exclusions = self.exclusions_without_score();
        let unvisited = own.keys().filter(|uri| !scores.contains_key(*uri));
        exclusions.extend(unvisited.map(|uri| (uri.clone(), "unvisited")));
        let (limit, least) = (self.start()["limit"].as_u64().unwrap(), self.start()["min_score"].as_f64());
        let (mut hits, mut seen) = (Vec::new(), Vec::new());
        for (uri, score) in ranked(&scores) {
            let texts = &self.tree[&uri];
            let is_duplicate = self.start()["deduplicate"] == true && seen.contains(&texts);
            let reason = if least.is_some_and(|least| score < least) {
                "min_score"
            } else if is_duplicate {
                "duplicate"
            } else if hits.len() as u64 == limit {
                "limit"
            } else {
                hits.push((uri.clone(), score));
                seen.push(texts);
                continue;
            };
            if reason == "limit" {
                seen.push(texts);
            }
            exclusions.insert(uri, reason);
        }
        Implied { hits, exclusions, directories }
    }

    /// The targets without anything, those that are directories, and what the command line excludes.
    fn exclusions_without_score(&self) -> BTreeMap<String, &'static str> {
        let mut exclusions = BTreeMap::new();
        let targets = self.targets();
        for target in self.start()["targets"].as_array().unwrap().iter().map(text) {
            if !self.tree.keys().any(|node| is_within(node, &target)) {
                exclusions.insert(target, "missing");
            } else if self.tree.contains_key(&target)
                && targets.contains(&target)
                && self.is_directory(&target)
            {
                exclusions.insert(target, "target");
            }
        }
        let below = |uri: &&String| targets.iter().any(|target| is_within(uri, target));
        exclusions.extend(self.excluded.iter().filter(below).map(|uri| (uri.clone(), "filter")));
        exclusions
    }

    /// Compares with what the steps say.
    fn check(&self, found: &[(String, f64)], reasons: &mut BTreeSet<String>) {
        let implied = self.read();
        let near = |one: &[(String, f64)], other: &[(String, f64)]| {
            let is_same = |((uri, a), (other, b)): (&(String, f64), &(String, f64))| {
                uri == other && (a - b).abs() < 1e-9
            };
            one.len() == other.len() && one.iter().zip(other).all(is_same)
        };
        let steps = || self.steps.iter().map(|step| format!("{step}\n")).collect::<String>();
        assert!(near(found, &implied.hits), "{found:?}\n{:?}\n{}", implied.hits, steps());
        let visited: Vec<(String, f64)> =
            self.of("directory").map(|step| (text(&step["uri"]), step["score"].as_f64().unwrap())).collect();
        assert!(near(&visited, &implied.directories), "{visited:?}\n{:?}\n{}", implied.directories, steps());
        let told: BTreeMap<String, String> =
            self.of("excluded").map(|step| (text(&step["uri"]), text(&step["reason"]))).collect();
        // A target that has none of the words has no score, and is not named.
        let mut expected = implied.exclusions.clone();
        expected.retain(|uri, reason| *reason != "target" || told.contains_key(uri));
        let told_of: Vec<(&str, &str)> = told.iter().map(|(uri, reason)| (&**uri, &**reason)).collect();
        let expected: Vec<(&str, &str)> = expected.iter().map(|(uri, reason)| (&**uri, *reason)).collect();
        assert_eq!(told_of, expected, "{}", steps());
        for step in self.of("excluded").filter(|step| step["reason"] == "duplicate") {
            let [one, other] = ["uri", "same_as"].map(|member| &self.tree[&text(&step[member])]);
            assert_eq!(one, other);
        }
        let summary = self.of("summary").next().unwrap();
        assert_eq!(summary["hits"], found.len());
        assert_eq!(summary["candidates"], self.own_scores().len());
        reasons.extend(told.into_values());
    }
}

/// Best first; equal ones by address.
fn ranked(scores: &BTreeMap<String, f64>) -> Vec<(String, f64)> {
    let mut ranked: Vec<(String, f64)> = scores.iter().map(|(uri, score)| (uri.clone(), *score)).collect();
    ranked.sort_by(|(a, one), (b, other)| other.total_cmp(one).then_with(|| a.cmp(b)));
    ranked
}

/// The texts of the nodes at and below the root, and their ids.
fn tree_of(home: &Home) -> (BTreeMap<String, Value>, BTreeMap<String, String>) {
    let ran = home.run("rsv-view", &["-p", "p", "--tree", "--level", "2", "viking://resources"], "").ok();
    let nodes = lines_of(&ran);
    let texts =
        |node: &Value| json!(["title", "abstract", "overview", "content"].map(|member| node[member].clone()));
    let by_uri = |value: &dyn Fn(&Value) -> Value| -> BTreeMap<String, Value> {
        nodes.iter().map(|node| (text(&node["uri"]), value(node))).collect()
    };
    let ids = by_uri(&|node| node["id"].clone());
    (by_uri(&texts), ids.into_iter().map(|(uri, id)| (uri, text(&id))).collect())
}

on_each_store!(a_reader_of_the_steps_computes_the_answer);
/// Keeps: The steps of a search in the tree imply its hits and its exclusions.
fn a_reader_of_the_steps_computes_the_answer(home: Home) {
    let mut dice = Dice(11);
    let mut documents = random_tree(&mut dice, 120);
    // A target that is a directory with words of its own, and a leaf.
    let inner = format!("{ROOT}/inner");
    documents.push(json!({"kind": "document", "uri": inner, "title": "Inner", "overview": "A tomato wall.",
        "children": 1}));
    documents.push(document(&format!("{inner}/a"), "tomato", "tomato frost"));
    documents.push(document(&format!("{inner}/b"), "tomato", "tomato frost"));
    store(&home, "p", &documents);
    let (tree, ids) = tree_of(&home);
    assert!(tree.len() > 100);
    let mut reasons = BTreeSet::new();
    for round in 0..16 {
        let question = [WORDS[dice.below(8)], WORDS[dice.below(8)], WORDS[dice.below(8)]].join(" ");
        let limit = (1 + dice.below(12)).to_string();
        let uris: Vec<&String> = tree.keys().collect();
        let excluded: BTreeSet<String> = (0..3).map(|_| uris[dice.below(uris.len())].clone()).collect();
        let leaf = uris[dice.below(uris.len())].as_str();
        let mut common = vec!["--target", ROOT, "--steps", "-n", &limit];
        if round % 2 == 1 {
            common.extend(excluded.iter().flat_map(|uri| ["--exclude", ids[uri].as_str()]));
            common[1] = &inner;
            common.extend(["--target", leaf, "--target", "viking://resources/none"]);
        }
        let excluded = if round % 2 == 1 { excluded } else { BTreeSet::new() };
        for flags in [
            &["--flat"][..],
            &["--recursive"],
            &["--flat", "--deduplicate"],
            &["--recursive", "--min-score", "0.4", "--deduplicate"],
        ] {
            let lines = lines_of(&search(&home, &[flags, &common, &[&question]].concat()).stdout);
            let (steps, hits): (Vec<Value>, Vec<Value>) =
                lines.into_iter().partition(|line| line["kind"] == "step");
            let hits: Vec<(String, f64)> =
                hits.iter().map(|hit| (text(&hit["uri"]), hit["score"].as_f64().unwrap())).collect();
            Reader { steps: &steps, tree: &tree, excluded: &excluded }.check(&hits, &mut reasons);
        }
    }
    let all = ["duplicate", "filter", "limit", "min_score", "missing", "target", "unvisited"];
    assert_eq!(reasons.iter().map(String::as_str).collect::<Vec<_>>(), all);
}
