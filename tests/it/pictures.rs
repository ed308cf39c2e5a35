//! The pictures of rsv-link: what they show, that any text can be drawn, and that they are the same each time.

use crate::support::{Home, Ran, lines_of, on_each_store, text};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, Stdio};

/// The messages about each topic: a question and its answer.
const TOPICS: [(&str, [[&str; 2]; 4]); 3] = [
    (
        "garden",
        [
            ["Where do the tomatoes stand?", "By the warm wall: tomatoes want sun."],
            ["When do I sow tomatoes?", "In March; the seedlings want a warm sill."],
            ["My seedlings are pale.", "Seedlings want light, not food."],
            ["Slugs eat the seedlings.", "Copper tape keeps slugs from the tomatoes."],
        ],
    ),
    (
        "tides",
        [
            ["Which port has tide tables?", "Aberdeen has tide tables."],
            ["The tide is late.", "The tables are for another port."],
            ["How high is the tide at the port?", "Four metres above chart datum."],
            ["Print the tables of a year.", "Sum the constituents of the tide."],
        ],
    ),
    (
        "bread",
        [
            ["The crust is soft.", "Bake the bread longer, with steam in the oven."],
            ["How hot must the oven be?", "The oven must be at 240 degrees for a crust."],
            ["My starter is sour.", "Feed the starter twice a day."],
            ["The bread is flat.", "The starter was not ripe, or the oven too cold."],
        ],
    ),
];

/// Three topics of four turns, one a day, and a pair that is near none of them. A vector says which topic it is of, and a
/// little more.
fn conversation() -> String {
    let mut lines = String::new();
    for turn in 0..4 {
        for (topic, (name, turns)) in TOPICS.iter().enumerate() {
            let mut vector = [0.0, 0.0, 0.0, 0.0, 0.1, 0.1];
            vector[topic] = 1.0;
            vector[4] += turn as f32 * 0.1;
            vector[5] -= (turn * topic) as f32 * 0.05;
            let day = (turn * TOPICS.len() + topic) as i64;
            lines += &pair(&format!("{name}{turn}"), day, turns[turn], &vector);
        }
    }
    lines + &pair("lone", 20, ["What is the capital of Peru?", "Lima."], &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
}

/// A question and its answer, so many days after 1 March 2026.
fn pair(name: &str, day: i64, texts: [&str; 2], vector: &[f32]) -> String {
    let begins = 1_772_352_000_000 + day * 24 * 60 * 60 * 1000;
    let message = |role: &str, text: &str, at: i64| {
        json!({
            "kind": "message", "id": format!("{name}-{role}"), "trace_id": name, "partition": "p", "instance": "i",
            "role": role, "content": text, "timestamp": at, "embedding": vector, "embedding_model": "m",
        })
        .to_string()
            + "\n"
    };
    message("user", texts[0], begins) + &message("assistant", texts[1], begins + 20_000)
}

fn store_of(home: &Home, lines: &str) {
    home.run("rsv-import", &["--quiet"], lines).ok();
}

fn conversation_home() -> Home {
    let home = Home::new().env("TZ", "UTC");
    store_of(&home, &conversation());
    home
}

fn graph(home: &Home, words: &[&str]) -> Value {
    serde_json::from_str(&draw(home, "json", words)).unwrap()
}

fn draw(home: &Home, format: &str, words: &[&str]) -> String {
    home.run("rsv-link", &[&["--format", format], words].concat(), "").ok()
}

fn ids(graph: &Value) -> BTreeSet<String> {
    graph["nodes"].as_array().unwrap().iter().map(|node| text(&node["id"])).collect()
}

on_each_store!(messages_stand_in_groups_with_the_words_that_tell_them);
fn messages_stand_in_groups_with_the_words_that_tell_them(home: Home) {
    store_of(&home, &conversation());
    let graph = graph(&home, &["-p", "p"]);
    let groups = graph["groups"].as_array().unwrap();
    let words: BTreeSet<String> = groups.iter().map(|group| text(&group["words"][0])).collect();
    assert_eq!(words, ["oven", "seedlings", "tide"].map(str::to_owned).into(), "{groups:?}");
    for (at, group) in groups.iter().enumerate() {
        assert_eq!((&group["messages"], &group["shown"]), (&json!(8), &json!(8)));
        let (words, nodes) = (group["words"].as_array().unwrap(), graph["nodes"].as_array().unwrap());
        assert!((2..=3).contains(&words.len()), "{words:?}");
        let members = nodes.iter().filter(|node| node["group"] == json!(at));
        let topics: BTreeSet<&str> =
            members.map(|node| node["trace_id"].as_str().unwrap()).map(|t| &t[..4]).collect();
        assert_eq!(topics.len(), 1, "{topics:?}");
    }
    assert_eq!(graph["messages"], 26);
    assert_eq!(graph["left_out"], json!({"isolated": 2, "smaller_groups": 0, "in_smaller_groups": 0}));
    assert!(ids(&graph).iter().all(|id| !id.starts_with("lone")));
    assert_eq!(graph["nodes"][0]["content"], TOPICS[0].1[0][0], "a node is the whole message");
}

on_each_store!(topics_of_many_conversations_are_drawn);
/// Keeps: Topics are drawn over all conversations of a partition.
fn topics_of_many_conversations_are_drawn(home: Home) {
    let mut count = 0;
    let lines = conversation().lines().fold(String::new(), |lines, line| {
        count += 1;
        // A question and its answer are one conversation.
        lines + &line.replace(r#""instance":"i""#, &format!(r#""instance":"{}""#, (count - 1) / 2)) + "\n"
    });
    store_of(&home, &lines);
    for linked in [false, true] {
        if linked {
            home.run("rsv-link", &[], "").ok();
        }
        let graph = graph(&home, &["-p", "p"]);
        let words: BTreeSet<String> =
            graph["groups"].as_array().unwrap().iter().map(|group| text(&group["words"][0])).collect();
        assert_eq!(words, ["oven", "seedlings", "tide"].map(str::to_owned).into(), "{graph}");
        assert_eq!(graph["left_out"]["isolated"], 2);
    }
    home.run("rsv-config", &["set", "link.reach", "instance"], "").ok();
    home.run("rsv-link", &[], "").ok();
    assert!(graph(&home, &["-p", "p"])["groups"].as_array().unwrap().len() <= 1);
}

#[test]
fn answers_and_the_strongest_links_are_drawn() {
    let home = conversation_home();
    home.run("rsv-link", &["--threshold", "0.99"], "").ok();
    let line =
        json!({"kind": "link", "rel": "CITES", "from": "bread0-user", "to": "tides0-user"}).to_string();
    store_of(&home, &line);
    let graph = graph(&home, &[]);
    let mut rels: BTreeMap<String, usize> = BTreeMap::new();
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for link in graph["links"].as_array().unwrap() {
        *rels.entry(text(&link["rel"])).or_default() += 1;
        for end in ["from", "to"] {
            *lines.entry(text(&link[end])).or_default() += 1;
        }
    }
    assert_eq!((rels["RESPONDED_WITH"], rels["CITES"]), (12, 1), "{rels:?}");
    assert!(rels["SYNAPSE"] > 0 && rels["SIMILAR"] > 0, "{rels:?}");
    // Each of the 12 turns hangs together with the 3 others of its group, and a few lines more are drawn.
    let similar = rels["SYNAPSE"] + rels["SIMILAR"];
    assert!((9..=15).contains(&similar), "{rels:?}");
    assert!(!home.export().contains("SIMILAR"), "it was stored");
}

#[test]
fn a_picture_has_at_most_so_many_messages() {
    let home = Home::new();
    let lines = (0..200).map(|turn| {
        let mut vector = [0.1; 8];
        vector[turn % 8] = 1.0 + turn as f32 / 1000.0;
        pair(&format!("t{turn:03}"), turn as i64, ["Which owl?", "The barn owl."], &vector)
    });
    store_of(&home, &lines.collect::<String>());
    let count = |words: &[&str]| ids(&graph(&home, words)).len();
    assert_eq!(count(&[]), 150);
    assert_eq!(count(&["--nodes", "20"]), 20);
    assert_eq!(count(&["--nodes", "3000"]), 400);
    assert_eq!(count(&["--nodes", "all"]), 400);
    let shown = graph(&home, &["--nodes", "20"]);
    let groups = shown["groups"].as_array().unwrap();
    assert!(groups.len() > 4 && groups.iter().all(|group| group["shown"].as_u64() > Some(0)), "{groups:?}");
    let svg = draw(&home, "svg", &["--nodes", "20"]);
    assert_eq!(svg.matches("data-node=").count(), 20);
    assert!(svg.contains("400 messages · ") && svg.contains(" · 20 messages shown"), "{svg}");
    for (words, cause) in [
        (["--format", "svg", "--nodes", "0"], "expected a number from 1 to 3000, or all"),
        (["--format", "svg", "--nodes", "many"], "expected a number from 1 to 3000, or all"),
        (["--format", "svg", "--nodes", "all"], "--nodes all needs --format json, not svg"),
    ] {
        let said = home.run("rsv-link", &words, "").trouble();
        assert!(said.contains(cause), "{said}");
    }
}

#[test]
fn a_large_store_is_drawn_from_a_sample_and_counted_whole() {
    let home = Home::new();
    let lines = (0..3200).map(|at: i64| {
        let name = format!("m{at:04}");
        let mut vector = [0.0; 8];
        vector[(at / 7 % 4) as usize] = 1.0;
        vector[4 + (at % 4) as usize] = 0.2;
        pair(&name, at, ["Owls", "hunt"], &vector).lines().next().unwrap().to_owned() + "\n"
    });
    store_of(&home, &lines.collect::<String>());
    let graph = graph(&home, &[]);
    assert_eq!((&graph["messages"], &graph["sampled"]), (&json!(3200), &json!(1600)));
    let counts = graph["groups"].as_array().unwrap().iter().map(|group| group["messages"].as_u64().unwrap());
    let isolated = graph["left_out"]["isolated"].as_u64().unwrap();
    let smaller = graph["left_out"]["in_smaller_groups"].as_u64().unwrap();
    assert_eq!(counts.sum::<u64>() + isolated + smaller, 3200);
    assert!(draw(&home, "svg", &[]).contains("groups found from an even sample of 1600 messages"));
}

/// Keeps: One store gives one picture, to the byte.
#[test]
fn one_store_gives_one_picture() {
    let (home, other) = (conversation_home(), Home::new().env("TZ", "UTC"));
    store_of(&other, &home.export());
    for format in ["svg", "html", "dot", "json"] {
        let picture = draw(&home, format, &["-p", "p"]);
        assert_eq!(draw(&home, format, &["-p", "p"]), picture, "{format}");
        assert_eq!(draw(&other, format, &["-p", "p"]), picture, "{format}");
    }
}

#[test]
fn pictures_look_as_they_did() {
    let home = conversation_home();
    insta::assert_snapshot!("groups.svg", draw(&home, "svg", &["-p", "p"]));
    insta::assert_snapshot!("groups.dot", draw(&home, "dot", &["-p", "p"]));
    insta::assert_snapshot!("groups.json", draw(&home, "json", &["-p", "p"]));
}

#[test]
fn a_picture_of_one_topic_or_neighbourhood_shows_nothing_else() {
    let home = conversation_home();
    home.run("rsv-link", &[], "").ok();
    let near = graph(&home, &["--around", "lone-user", "--hops", "1"]);
    assert_eq!(ids(&near), ["lone-assistant", "lone-user"].map(str::to_owned).into());
    // Without a model a topic is words; the answers come with their questions.
    let about = ids(&graph(&home, &["--about", "Peru"]));
    assert_eq!(about, ["lone-assistant", "lone-user"].map(str::to_owned).into());
    let about = ids(&graph(&home, &["--about", "sour starter"]));
    assert!(about.contains("bread2-user") && about.contains("bread3-user"), "{about:?}");
    assert!(about.iter().all(|id| id.starts_with("bread")), "{about:?}");
    assert!(draw(&home, "svg", &["-p", "p", "--about", "sour starter"]).contains(">p: sour starter<"));
    assert_eq!(ids(&graph(&home, &["--about", "zebra"])).len(), 0);
    home.run("rsv-link", &["--format", "svg", "--around", "nobody"], "").trouble();
}

#[test]
fn a_topic_is_found_by_meaning_where_there_is_a_model() {
    let home = Home::with_model();
    home.run("rsv-ingest", &["-p", "demo"], crate::docs::read("scripts/demo.jsonl")).ok();
    let about = graph(&home, &["-p", "demo", "--about", "Where shall we sleep, and at what price?"]);
    let traces: BTreeSet<String> =
        about["nodes"].as_array().unwrap().iter().map(|node| text(&node["trace_id"])).collect();
    assert!(traces.contains("lisbon-6") && traces.len() < 15, "{traces:?}");
}

#[test]
fn words_do_where_there_are_no_vectors() {
    let home = Home::new();
    let lines: String = { lines_of(&conversation()).into_iter() }
        .map(|mut line| {
            line.as_object_mut().unwrap().remove("embedding");
            line.as_object_mut().unwrap().remove("embedding_model");
            line.to_string() + "\n"
        })
        .collect();
    store_of(&home, &lines);
    let graph = graph(&home, &[]);
    let nodes = graph["nodes"].as_array().unwrap();
    let group = |id: &str| nodes.iter().find(|node| node["id"] == id).map(|node| node["group"].clone());
    assert!(group("garden0-user").is_some(), "{graph}");
    assert_eq!(group("garden0-user"), group("garden1-user"));
    assert_eq!(group("tides0-user"), group("tides1-user"));
    assert_ne!(group("garden0-user"), group("tides0-user"));
    assert_eq!(group("lone-user"), None);
}

#[test]
fn what_has_nothing_in_common_is_shown_if_there_is_nothing_else() {
    let home = Home::new();
    store_of(&home, &pair("one", 1, ["?", "1"], &[1.0, 0.0]));
    let svg = draw(&home, "svg", &[]);
    assert_eq!(svg.matches("data-node=").count(), 2);
    assert!(svg.contains(">others<") && !svg.contains("left out"), "{svg}");
    // Neither has a word, so the beginning of a message names the group.
    store_of(&home, &pair("two", 2, ["1 + 1?", "2"], &[1.0, 0.1]));
    let svg = draw(&home, "svg", &[]);
    assert!(svg.contains(">?<") && svg.contains("4 messages · 1 group"), "{svg}");
}

#[test]
fn a_group_of_one_conversation_has_its_title() {
    let home = conversation_home();
    let owls = |name: &str, day: i64| {
        let texts = ["Which owls hunt at dusk?", "Short-eared owls hunt at dusk"];
        pair(name, day, texts, &[0.0, 0.0, 0.0, 0.0, 1.0, 0.0])
            .replace(r#""instance":"i""#, r#""instance":"5744""#)
    };
    store_of(&home, &(owls("first", 9) + &owls("second", 11)));
    let title = json!({"kind": "title", "partition": "p", "instance": "5744", "title": "Owls & others"});
    home.run("rsv-ingest", &[], title.to_string()).ok();
    let graph = graph(&home, &["-p", "p"]);
    let titles = graph["groups"].as_array().unwrap().iter().map(|group| &group["title"]);
    assert!(titles.clone().any(|title| title == "Owls & others"), "{graph}");
    for format in ["svg", "html"] {
        let picture = draw(&home, format, &["-p", "p"]);
        assert!(picture.contains("Owls &amp; others · 4 messages"), "{picture}");
    }
    let dot = draw(&home, "dot", &["-p", "p"]);
    assert!(dot.contains("Owls & others · 4 messages"), "{dot}");
}

#[test]
fn an_empty_store_has_an_empty_picture() {
    for format in ["svg", "html", "dot"] {
        let picture = draw(&Home::new(), format, &[]);
        assert!(picture.contains("0 messages") && !picture.contains("NaN"), "{picture}");
    }
    assert_eq!(graph(&Home::new(), &[])["nodes"], json!([]));
}

/// The graph as Graphviz reads it, if Graphviz is installed.
fn drawn(dot: &str) -> Option<Ran> {
    let mut child = Command::new("dot")
        .arg("-Tsvg")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take().unwrap().write_all(dot.as_bytes()).unwrap();
    Some(Home::new().ran(child.wait_with_output().unwrap()))
}

#[test]
fn any_text_can_be_drawn_in_a_graph() {
    let home = conversation_home();
    let odd = "He said \"go\" \\ </b> ]]> & \u{202e}\n\nthen\tleft\u{0}\u{ffff}".repeat(9);
    store_of(&home, &pair("odd", 30, [&odd, &odd], &[1.0, 0.0, 0.0, 0.0, 0.1, 0.1]));
    let dot = draw(&home, "dot", &[]);
    assert!(dot.contains("\\\"go\\\" \\\\ "), "{dot}");
    if let Some(ran) = drawn(&dot) {
        assert!(ran.status == 0 && ran.stdout.contains("</svg>") && ran.stderr.is_empty(), "{ran}");
        assert!(ran.stdout.matches("class=\"node\"").count() >= 26);
    }
    for format in ["svg", "html"] {
        let picture = draw(&home, format, &[]);
        assert!(picture.contains("He said &quot;go&quot; \\ &lt;/b&gt; ]]&gt; &amp; \\u{202e}"), "{picture}");
        assert!(!picture.contains(['\u{0}', '\u{202e}', '\u{ffff}']), "{picture}");
    }
}
