//! rsv-link: which messages it links, how the graph grows, and how it is shown.

use crate::support::{Dice, Home, lines_of, on_each_store, text};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A message with a vector of an unknown model, whose threshold is 0.85.
fn line(id: &str, instance: &str, timestamp: i64, vector: &[f32]) -> String {
    let (message, model) = (format!("says {id}"), "m");
    json!({
        "kind": "message", "id": id, "trace_id": format!("trace of {id}"), "partition": "p", "instance": instance,
        "role": "user", "content": message, "timestamp": timestamp, "embedding": vector, "embedding_model": model,
    })
    .to_string()
        + "\n"
}

/// A vector of two numbers at an angle in degrees.
fn at(degrees: f32) -> [f32; 2] {
    [degrees.to_radians().cos(), degrees.to_radians().sin()]
}

fn import(home: &Home, lines: &str) {
    home.run("rsv-import", &["--quiet"], lines).ok();
}

fn link(home: &Home, words: &[&str]) -> Vec<Value> {
    lines_of(&home.run("rsv-link", words, "").ok())
}

/// The ends and the score of each synapse of the store.
fn synapses(home: &Home) -> BTreeMap<(String, String), f64> {
    let links = lines_of(&home.export()).into_iter().filter(|line| line["rel"] == "SYNAPSE");
    links.map(|link| ((text(&link["from"]), text(&link["to"])), link["score"].as_f64().unwrap())).collect()
}

fn ends(home: &Home) -> Vec<(String, String)> {
    synapses(home).into_keys().collect()
}

fn pair(from: &str, to: &str) -> (String, String) {
    (from.to_owned(), to.to_owned())
}

/// How many synapses each message has.
fn degrees(home: &Home) -> BTreeMap<String, usize> {
    let mut degrees = BTreeMap::new();
    for (from, to) in ends(home) {
        *degrees.entry(from).or_default() += 1;
        *degrees.entry(to).or_default() += 1;
    }
    degrees
}

/// The same line in the partition `q`.
fn elsewhere(line: String) -> String {
    line.replace(r#""partition":"p""#, r#""partition":"q""#)
}

on_each_store!(messages_that_resemble_each_other_are_linked_within_their_instance_if_asked);
fn messages_that_resemble_each_other_are_linked_within_their_instance_if_asked(home: Home) {
    home.run("rsv-config", &["set", "link.reach", "instance"], "").ok();
    let lines = [
        line("d", "i", 4000, &at(0.0)),
        line("a", "i", 1000, &at(20.0)),
        line("b", "i", 2000, &at(60.0)),
        line("z", "other", 3000, &at(0.0)),
        line("y", "other", 3500, &at(90.0)),
    ];
    import(&home, &lines.concat());
    let made = link(&home, &[]);
    // cos 20° is 0.94, cos 40° 0.77: one is near enough.
    let score = made[0]["score"].as_f64().unwrap();
    assert!((score - 20.0_f64.to_radians().cos()).abs() < 1e-6);
    assert_eq!(
        made,
        [
            json!({"kind": "link", "rel": "SYNAPSE", "from": "a", "to": "d", "timestamp": 4000, "score": score, "model": "m"})
        ]
    );
    assert_eq!(ends(&home), [pair("a", "d")]);
    assert_eq!(link(&home, &[]), Vec::<Value>::new(), "what is there is not made again");
    home.check();
}

on_each_store!(messages_that_resemble_each_other_are_linked_within_their_partition);
/// Keeps: Synapses join messages of one partition, of any instances, and never two partitions.
fn messages_that_resemble_each_other_are_linked_within_their_partition(home: Home) {
    let lines = [
        line("d", "i", 4000, &at(0.0)),
        line("a", "i", 1000, &at(20.0)),
        line("z", "other", 3000, &at(0.0)),
        line("y", "other", 3500, &at(90.0)),
        elsewhere(line("x", "i", 3500, &at(0.0))),
        elsewhere(line("w", "w", 3500, &at(10.0))),
    ];
    import(&home, &lines.concat());
    assert_eq!(link(&home, &["--dry-run"]).len(), 4);
    assert_eq!(link(&home, &["--all"]).len(), 4);
    let all = [pair("a", "d"), pair("a", "z"), pair("d", "z"), pair("w", "x")];
    assert_eq!(ends(&home), all);
    // An instance that comes later is linked with those before it.
    import(&home, &line("c", "new", 5000, &at(80.0)));
    link(&home, &["-p", "p", "-i", "new"]);
    assert_eq!(ends(&home)[2..], [pair("c", "y"), all[2].clone(), all[3].clone()]);
    home.check();
}

on_each_store!(a_partition_that_was_linked_keeps_its_reach_until_it_is_asked);
/// Keeps: A store whose synapses are of instances keeps them so until rsv-link is asked.
fn a_partition_that_was_linked_keeps_its_reach_until_it_is_asked(home: Home) {
    let reach = |name: &str| drop(home.run("rsv-config", &["set", "link.reach", name], "").ok());
    let two = |id: &str, n| {
        line(&format!("{id}i"), "i", n, &at(n as f32)) + &line(&format!("{id}j"), "j", n, &at(n as f32))
    };
    reach("instance");
    import(&home, &(two("a", 1) + &two("b", 2)));
    link(&home, &[]);
    let within = |ids: &[&str]| {
        let mut all = Vec::new();
        for instance in ["i", "j"] {
            for (n, one) in ids.iter().enumerate() {
                all.extend(
                    ids[n + 1..]
                        .iter()
                        .map(|other| pair(&format!("{one}{instance}"), &format!("{other}{instance}"))),
                );
            }
        }
        all.sort();
        all
    };
    assert_eq!(ends(&home), within(&["a", "b"]));
    reach("auto");
    import(&home, &two("c", 3));
    home.run("rsv-search", &["-p", "p", "--link", "says"], "").ok();
    assert_eq!(ends(&home), within(&["a", "b", "c"]), "a search does not link it otherwise");
    // Nor does a setting alone.
    reach("partition");
    import(&home, &two("d", 4));
    let request = r#"{"model":"gpt-4o","messages":[{"role":"user","content":"Who says ai?"}]}"#;
    assert_eq!(home.run("rsv-enrich", &["-p", "p"], request).status, 0);
    home.run("rsv-search", &["-p", "p", "--link", "says"], "").ok();
    assert_eq!(ends(&home), within(&["a", "b", "c", "d"]));
    reach("auto");
    assert_eq!(link(&home, &[]), Vec::<Value>::new());
    assert_eq!(link(&home, &["--rebuild", "--dry-run"]).len(), 8 * 7 / 2);
    assert_eq!(ends(&home), within(&["a", "b", "c", "d"]));
    assert_eq!(link(&home, &["--rebuild", "-p", "p", "-i", "i"]).len(), 8 * 7 / 2);
    assert_eq!(link(&home, &[]), Vec::<Value>::new(), "the partition keeps it");
    let partition = synapses(&home);
    assert_eq!(partition.len(), 8 * 7 / 2);
    // The settings of a run that links decide.
    reach("instance");
    link(&home, &["-p", "p", "-i", "j"]);
    assert_eq!(ends(&home), within(&["a", "b", "c", "d"]));
    reach("partition");
    assert_eq!(link(&home, &["--dry-run"]).len(), 8 * 7 / 2);
    link(&home, &[]);
    assert_eq!(synapses(&home), partition);
    home.check();
}

on_each_store!(a_graph_over_instances_that_grew_is_the_one_made_at_once);
/// Keeps: A graph of synapses over the instances of a partition that grew equals one made at once.
fn a_graph_over_instances_that_grew_is_the_one_made_at_once(home: Home) {
    let mut dice = Dice(4);
    let plan = ["--max-degree", "6", "--threshold", "0.9"];
    let mut lines = Vec::new();
    for n in 0..400 {
        let vector: Vec<f32> = (0..3).map(|_| dice.below(1000) as f32 - 500.0).collect();
        let instance = format!("i{}", dice.below(80));
        lines.push(line(
            &format!("m{:03}", dice.below(1000) * 1000 + n),
            &instance,
            1000 + n as i64,
            &vector,
        ));
    }
    for part in lines.chunks(83) {
        import(&home, &part.concat());
        link(&home, &plan);
    }
    let grown = synapses(&home);
    assert!(grown.len() > 500, "{}", grown.len());
    link(&home, &[&plan[..], &["--rebuild"]].concat());
    assert_eq!(synapses(&home), grown);
    assert!(degrees(&home).values().all(|degree| *degree <= 6));
}

on_each_store!(a_search_follows_synapses_only_within_what_was_asked_for);
/// Keeps: A synapse into another instance shows nothing to those who ask for one instance.
fn a_search_follows_synapses_only_within_what_was_asked_for(home: Home) {
    // From anchor over zebra to cedar: the way leads through another instance.
    let lines = [
        line("anchor", "i", 1000, &at(0.0)),
        line("zebra", "j", 2000, &at(20.0)),
        line("cedar", "i", 3000, &at(40.0)),
        elsewhere(line("xylem", "i", 1000, &at(0.0))),
    ];
    import(&home, &lines.concat());
    link(&home, &[]);
    assert_eq!(ends(&home), [pair("anchor", "zebra"), pair("cedar", "zebra")]);
    let ids = |words: &[&str], text: &str| -> BTreeSet<String> {
        let found = home.run("rsv-search", &[&["--link"], words, &[text]].concat(), "");
        lines_of(&found.stdout).iter().map(|hit| self::text(&hit["id"])).collect()
    };
    let set = |ids: &[&str]| -> BTreeSet<String> { ids.iter().map(|id| (*id).to_owned()).collect() };
    assert_eq!(ids(&["-p", "p"], "anchor"), set(&["anchor", "cedar", "zebra"]));
    // The neighbour in time is of the instance.
    assert_eq!(ids(&["-p", "p", "-i", "i"], "anchor"), set(&["anchor", "cedar"]));
    assert_eq!(ids(&["-p", "p", "-i", "j"], "zebra"), set(&["zebra"]));
    let request = r#"{"model":"gpt-4o","messages":[{"role":"user","content":"Who says zebra?"}]}"#;
    for (words, found) in [(&["-p", "p"][..], true), (&["-p", "p", "-i", "j"], false)] {
        // The account names what was found, recalled or not.
        let enriched = home.run("rsv-enrich", words, request).stdout;
        assert!(!enriched.contains("xylem"), "{enriched}");
        assert_eq!(enriched.contains("anchor") || enriched.contains("cedar"), found, "{enriched}");
    }
    let graph = home.run("rsv-link", &["-p", "p", "-i", "i", "--format", "json", "--nodes", "all"], "").ok();
    assert!(!graph.contains("says zebra"), "{graph}");
    let path = |words: &[&str]| home.run("rsv-link", &[words, &["--path", "anchor", "cedar"]].concat(), "");
    assert_eq!(lines_of(&path(&[]).ok()).len(), 2);
    assert_eq!((path(&["-p", "p", "-i", "i"]).status, path(&["-p", "p"]).status), (1, 0));
}

/// Keeps: A graph of synapses that grew equals one made at once.
#[test]
fn a_grown_graph_is_the_graph_made_at_once() {
    let mut dice = Dice(3);
    let (grown, whole) = (Home::new(), Home::new());
    let mut lines = Vec::new();
    for n in 0..700 {
        let vector: Vec<f32> = (0..3).map(|_| dice.below(1000) as f32 - 500.0).collect();
        lines.push(line(&format!("m{:03}", dice.below(1000) * 1000 + n), "i", 1000 + n as i64, &vector));
    }
    import(&whole, &lines.concat());
    let made = link(&whole, &["--max-degree", "1000", "--threshold", "0.97"]);
    assert!(made.len() > 1000, "{}", made.len());
    let mut printed = 0;
    for part in lines.chunks(111) {
        import(&grown, &part.concat());
        printed += link(&grown, &["--max-degree", "1000", "--threshold", "0.97"]).len();
    }
    assert_eq!(synapses(&grown), synapses(&whole));
    assert_eq!(printed, made.len());
    let before = grown.export();
    assert_eq!(link(&grown, &["--rebuild", "--max-degree", "1000", "--threshold", "0.97"]).len(), printed);
    assert_eq!(grown.export(), before, "rebuilt, it is the same to the byte");
}

on_each_store!(repeated_small_talk_makes_no_quadratic_graph);
/// Keeps: The number of a message's synapses is limited.
fn repeated_small_talk_makes_no_quadratic_graph(home: Home) {
    let lines: String = (0..400).map(|n| line(&format!("m{n:03}"), "i", n, &at(0.0))).collect();
    import(&home, &lines);
    link(&home, &[]);
    let degrees = degrees(&home);
    assert_eq!(degrees.values().max(), Some(&32));
    assert!(ends(&home).len() <= 400 * 32 / 2);
    link(&home, &["--max-degree", "3"]);
    assert!(self::degrees(&home).values().all(|degree| *degree <= 3));
}

on_each_store!(a_stronger_synapse_takes_the_place_of_the_weakest);
fn a_stronger_synapse_takes_the_place_of_the_weakest(home: Home) {
    let two = ["--max-degree", "2", "--threshold", "0.1"];
    import(
        &home,
        &(line("a", "i", 1, &at(0.0)) + &line("b", "i", 2, &at(40.0)) + &line("c", "i", 3, &at(-30.0))),
    );
    link(&home, &two);
    assert_eq!(ends(&home), [pair("a", "b"), pair("a", "c"), pair("b", "c")]);
    // The nearest of all to a: it takes the place of b there, and has c as its second.
    import(&home, &line("d", "i", 4, &at(1.0)));
    let made = link(&home, &two);
    assert_eq!(made.iter().map(|link| text(&link["from"])).collect::<Vec<_>>(), ["a", "c"]);
    assert_eq!(ends(&home), [pair("a", "c"), pair("a", "d"), pair("c", "d")]);
    assert!(degrees(&home).values().all(|degree| *degree <= 2));
}

on_each_store!(the_threshold_prunes_and_widens);
fn the_threshold_prunes_and_widens(home: Home) {
    import(
        &home,
        &(line("a", "i", 1, &at(0.0)) + &line("b", "i", 2, &at(20.0)) + &line("c", "i", 3, &at(60.0))),
    );
    link(&home, &["--threshold", "0.7"]);
    assert_eq!(ends(&home), [pair("a", "b"), pair("b", "c")]);
    link(&home, &["--threshold", "0.9"]);
    assert_eq!(ends(&home), [pair("a", "b")]);
    link(&home, &["--threshold", "0.4"]);
    assert_eq!(ends(&home).len(), 3);
    // The setting holds for every later run, and the flag goes before it.
    home.run("rsv-config", &["set", "link.threshold", "0.95"], "").ok();
    link(&home, &[]);
    assert_eq!(ends(&home), []);
    for (words, cause) in [
        (["--threshold", "0"], "link.threshold: expected a cosine above 0, at most 1, found 0"),
        (["--threshold", "1.5"], "link.threshold: expected a cosine above 0, at most 1, found 1.5"),
        (["--threshold", "near"], "invalid value 'near'"),
        (["--max-degree", "0"], "0 is not in 1..=1000"),
    ] {
        let said = home.run("rsv-link", &words, "").trouble();
        assert!(said.contains(cause), "{said}");
    }
}

/// The ends of the links from questions to answers that a run makes.
fn answers(home: &Home, words: &[&str]) -> Vec<(String, String)> {
    let made = link(home, words).into_iter().filter(|link| link["rel"] == "RESPONDED_WITH");
    made.map(|link| (text(&link["from"]), text(&link["to"]))).collect()
}

on_each_store!(a_run_sees_what_came_and_went_since_the_run_before);
fn a_run_sees_what_came_and_went_since_the_run_before(home: Home) {
    let turn = |id: &str, role: &str, timestamp| {
        let turn = line(id, "i", timestamp, &at(0.0)).replace(&format!("trace of {id}"), "t");
        turn.replace("\"user\"", &format!("\"{role}\""))
    };
    import(&home, &(turn("q1", "user", 1) + &turn("q2", "user", 5)));
    assert_eq!(answers(&home, &[]), []);
    import(&home, &turn("r2", "assistant", 6));
    assert_eq!(answers(&home, &["--dry-run"]), [pair("q2", "r2")]);
    assert_eq!(answers(&home, &["-p", "other"]), []);
    assert_eq!(answers(&home, &[]), [pair("q2", "r2")]);
    assert_eq!(answers(&home, &[]), []);
    // The answer to a question is what follows it, whenever it was imported.
    import(&home, &turn("r1", "assistant", 2));
    assert_eq!(answers(&home, &["-p", "p"]), [pair("q1", "r1")]);
    home.run("rsv-forget", &["--all", "r1", "q2"], "").ok();
    assert_eq!(answers(&home, &[]), [pair("q1", "r2")]);
    assert_eq!(answers(&home, &[]), []);
}

on_each_store!(a_dry_run_writes_nothing_and_prints_every_link);
fn a_dry_run_writes_nothing_and_prints_every_link(home: Home) {
    let mut lines: String = (0..40).map(|n| line(&format!("m{n}"), "i", n, &at(n as f32))).collect();
    lines += &line("q", "i", 100, &at(200.0)).replace("trace of q", "t");
    lines += &line("r", "i", 101, &at(250.0)).replace("trace of r", "t").replace("user", "assistant");
    import(&home, &lines);
    let before = home.export();
    let promised = link(&home, &["--dry-run"]);
    assert_eq!(home.export(), before);
    assert_eq!(link(&home, &[]), promised);
    assert_eq!(promised[0]["rel"], "RESPONDED_WITH");
    assert!(promised.len() > 100);
    assert_eq!(link(&home, &["--dry-run"]), Vec::<Value>::new());
    assert_eq!(link(&home, &["--dry-run", "--rebuild"]), promised[1..]);
    let after = home.export();
    let fewer = link(&home, &["--dry-run", "--rebuild", "--threshold", "0.99"]);
    assert!(!fewer.is_empty() && fewer.len() < promised.len());
    assert_eq!(home.export(), after);
}

on_each_store!(only_the_named_scope_is_linked);
fn only_the_named_scope_is_linked(home: Home) {
    home.run("rsv-config", &["set", "link.reach", "instance"], "").ok();
    let scopes = ["i", "j"];
    let lines = scopes.map(|scope| {
        line(&format!("a{scope}"), scope, 1, &at(0.0)) + &line(&format!("b{scope}"), scope, 2, &at(1.0))
    });
    import(&home, &lines.concat());
    link(&home, &["-p", "p", "-i", "j"]);
    assert_eq!(ends(&home), [pair("aj", "bj")]);
    link(&home, &["-p", "nobody"]);
    link(&home, &["-p", "p"]);
    assert_eq!(ends(&home), [pair("ai", "bi"), pair("aj", "bj")]);
}

on_each_store!(a_synapse_is_undirected_and_stored_once);
fn a_synapse_is_undirected_and_stored_once(home: Home) {
    import(&home, &(line("a", "i", 1, &at(0.0)) + &line("b", "i", 2, &at(1.0))));
    import(
        &home,
        &json!({"kind": "link", "rel": "SYNAPSE", "from": "b", "to": "a", "score": 0.9, "model": "m"})
            .to_string(),
    );
    import(
        &home,
        &json!({"kind": "link", "rel": "SYNAPSE", "from": "a", "to": "b", "score": 0.9, "model": "m"})
            .to_string(),
    );
    assert_eq!(ends(&home), [pair("a", "b")]);
    link(&home, &[]);
    assert_eq!(synapses(&home)[&pair("a", "b")], 0.9, "what is there stays");
    link(&home, &["--rebuild"]);
    assert!(synapses(&home)[&pair("a", "b")] > 0.99);
    // One of a model that the store does not search by is pruned.
    import(&home, &(line("c", "i", 3, &at(90.0)) + &json!({"kind": "link", "rel": "SYNAPSE", "from": "a", "to": "c", "score": 0.9, "model": "before"}).to_string()));
    link(&home, &[]);
    assert_eq!(ends(&home), [pair("a", "b")]);
}

#[test]
fn synapses_survive_export_and_import() {
    let (home, other) = (Home::new(), Home::new());
    let lines: String = (0..60).map(|n| line(&format!("m{n}"), "i", n, &at(n as f32 * 2.0))).collect();
    import(&home, &lines);
    link(&home, &[]);
    import(&other, &home.export());
    assert_eq!(other.export(), home.export());
    assert_eq!(link(&other, &[]), Vec::<Value>::new(), "nothing is left to link");
    assert_eq!(other.export(), home.export());
}

#[test]
fn embedded_messages_are_linked_and_relinked_when_the_model_changes() {
    let home = Home::with_model();
    let said =
        "Plant the tomatoes by the warm wall.\nTomatoes want a warm wall.\nThe tram to Belém is full.\n";
    for (n, said) in said.lines().enumerate() {
        home.at(&format!("2026-03-0{}T00:00:00Z", n + 1)).run("rsv-ingest", &[said], "").ok();
    }
    assert_eq!(home.run("rsv-embed", &["--pending"], "").ok(), "");
    let made = synapses(&home);
    assert_eq!(made.len(), 1, "{made:?}");
    assert!(made.values().all(|score| *score >= 0.7), "{made:?}");
    assert_eq!(home.run("rsv-link", &["--stats"], "").ok().matches("\"synapses\":1").count(), 1);
    // The same vectors again give the same links.
    home.run("rsv-embed", &["--replay"], "").ok();
    assert_eq!(synapses(&home), made);
    assert_eq!(link(&home, &[]), Vec::<Value>::new());
    // A later message is compared with all earlier ones.
    home.run("rsv-ingest", &["A warm wall is what tomatoes want."], "").ok();
    home.run("rsv-embed", &["--pending"], "").ok();
    assert!(synapses(&home).len() > made.len());
}

fn four_in_a_row() -> Home {
    let home = Home::new();
    let lines = ["a", "b", "c", "d"].iter().zip(0..).map(|(id, n)| line(id, "i", n, &at(n as f32 * 25.0)));
    import(
        &home,
        &(lines.collect::<String>() + &line("e", "i", 9, &at(180.0)) + &line("f", "j", 9, &at(-100.0))),
    );
    link(&home, &[]);
    home
}

#[test]
fn the_strongest_path_is_found_or_there_is_none() {
    let home = four_in_a_row();
    let path = link(&home, &["--path", "d", "a"]);
    let ends: Vec<_> = path.iter().map(|link| pair(&text(&link["from"]), &text(&link["to"]))).collect();
    assert_eq!(ends, [pair("c", "d"), pair("b", "c"), pair("a", "b")]);
    // A shorter way that is weaker than the longer one together is not taken.
    link(&home, &["--threshold", "0.5", "--rebuild"]);
    assert_eq!(link(&home, &["--path", "a", "c"]).len(), 2);
    assert_eq!(link(&home, &["--path", "a", "a"]), Vec::<Value>::new());
    for (from, to, status) in [("a", "e", 1), ("a", "f", 1)] {
        let ran = home.run("rsv-link", &["--path", from, to], "");
        assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (status, "", ""), "{from} {to}");
    }
    let said = home.run("rsv-link", &["--path", "a", "nobody"], "").trouble();
    assert!(said.contains("there is no message nobody"), "{said}");
    home.run("rsv-link", &["-p", "other", "--path", "a", "b"], "").trouble();
}

#[test]
fn graph_statistics_are_printed() {
    let home = four_in_a_row();
    let stats = link(&home, &["-p", "p", "-i", "i", "--stats"]);
    let [stats] = &stats[..] else { panic!("{stats:?}") };
    for (name, value) in [
        ("partition", json!("p")),
        ("instance", json!("i")),
        ("messages", json!(5)),
        ("answers", json!(0)),
        ("synapses", json!(3)),
        ("max_degree", json!(2)),
        ("mean_degree", json!(1.2)),
        ("alone", json!(1)),
        ("components", json!(1)),
        ("largest", json!(4)),
    ] {
        // A whole mean may be written without a point.
        assert_eq!(
            stats[name].as_f64().map(Value::from).unwrap_or(stats[name].clone()),
            value.as_f64().map(Value::from).unwrap_or(value),
            "{name}"
        );
    }
    assert_eq!(stats["hubs"][0], json!({"id": "b", "degree": 2, "content": "says b"}));
    assert_eq!(link(&home, &["--stats"]).len(), 2, "a line for each scope");
    assert_eq!(Home::new().run("rsv-link", &["--stats"], "").ok(), "");
}

#[test]
fn the_whole_graph_is_printed_as_json() {
    let home = four_in_a_row();
    let message = json!({"role": "assistant", "content": "An answer.", "partition": "p", "instance": "i", "trace_id": "trace of e"});
    home.run("rsv-ingest", &[], message.to_string()).ok();
    let all: Value =
        serde_json::from_str(&home.run("rsv-link", &["--format", "json", "--nodes", "all"], "").ok())
            .unwrap();
    let count = |graph: &Value, of: &str| graph[of].as_array().unwrap().len();
    assert_eq!((count(&all, "nodes"), count(&all, "links")), (7, 4));
    for (hops, nodes) in [("0", 1), ("1", 2), ("2", 3), ("9", 4)] {
        let words = ["--format", "json", "--nodes", "all", "--around", "a", "--hops", hops];
        let near: Value = serde_json::from_str(&home.run("rsv-link", &words, "").ok()).unwrap();
        let ids: BTreeSet<String> =
            near["nodes"].as_array().unwrap().iter().map(|node| text(&node["id"])).collect();
        assert_eq!((ids.len(), count(&near, "links")), (nodes, nodes - 1), "{hops}");
    }
    home.run("rsv-link", &["--format", "dot", "--around", "nobody"], "").trouble();
}

/// The parameters of the searches that follow links: by words, by meaning, and by both.
const LINKED_SEARCHES: [&[&str]; 3] = [&["--link"], &["--link", "--semantic"], &["--link", "--hybrid"]];

on_each_store!(a_search_that_follows_links_first_links_what_has_got_a_vector);
fn a_search_that_follows_links_first_links_what_has_got_a_vector(home: Home) {
    let home = Home::and_model(home);
    let say = |role: &str, text: &str| drop(home.run("rsv-ingest", &["--role", role], text).ok());
    let search = |words: &[&str]| lines_of(&home.run("rsv-search", words, "").ok());
    // Search by meaning, store, and search again: no tool but these two.
    say("user", "How do I make green tea?");
    assert_eq!(search(&["--semantic", "How do I make green tea?"]).len(), 1);
    say("assistant", "Steep the leaves at eighty degrees.");
    say("user", "How do I make good green tea?");
    assert_eq!(ends(&home), []);
    assert_eq!(search(&["--semantic", "--link", "How do I make good green tea?"]).len(), 3);
    assert_eq!(ends(&home).len(), 1);
    for (at, words) in LINKED_SEARCHES.iter().enumerate() {
        let text = format!("How do I make green tea{}", " now".repeat(at + 1));
        say("user", &text);
        // This search gives it a vector, and no synapse.
        let before = ends(&home).len();
        search(&["--semantic", &text]);
        assert_eq!(ends(&home).len(), before);
        search(&[words, &[&*text][..]].concat());
        assert!(ends(&home).len() > before, "{words:?}");
    }
    assert_eq!(link(&home, &[]), Vec::<Value>::new(), "nothing is left for rsv-link");
    let grown = synapses(&home);
    link(&home, &["--rebuild"]);
    assert_eq!(synapses(&home), grown);
}

on_each_store!(recall_first_links_what_has_got_a_vector);
fn recall_first_links_what_has_got_a_vector(home: Home) {
    let home = Home::and_model(home);
    let request = r#"{"model":"gpt-4o","messages":[{"role":"user","content":"Which tea is green?"}]}"#;
    for (said, synapses) in [("How do I make green tea?", 0), ("How do I make good green tea?", 1)] {
        home.run("rsv-ingest", &["--role", "user"], said).ok();
        home.run("rsv-enrich", &[], request).ok();
        assert_eq!(ends(&home).len(), synapses);
    }
}

on_each_store!(a_search_links_the_newest_messages_and_leaves_the_rest);
fn a_search_links_the_newest_messages_and_leaves_the_rest(home: Home) {
    home.run("rsv-config", &["set", "link.max_degree", "1000"], "").ok();
    let name = |n: usize| format!("m{n:03}");
    let lines: String = (0..100).map(|n| line(&name(n), "i", n as i64, &at(0.0))).collect();
    import(&home, &(lines + &line("other", "j", 1, &at(0.0))));
    let search = || home.run("rsv-search", &["-p", "p", "-i", "i", "--link", "says"], "").ok();
    search();
    // With it, of the whole partition: the last is of another instance.
    let linked: BTreeSet<String> = degrees(&home).into_keys().collect();
    assert_eq!(linked, (37..100).map(name).chain(["other".to_owned()]).collect());
    assert_eq!(ends(&home).len(), 64 * 63 / 2);
    // Later messages are linked with these, and then the earlier ones.
    import(&home, &line("new", "i", 100, &at(1.0)));
    search();
    assert_eq!(ends(&home).len(), 102 * 101 / 2);
    assert_eq!(link(&home, &[]), Vec::<Value>::new());
    home.check();
}

#[test]
fn a_search_does_not_wait_for_another_process_that_links() {
    let home = Home::new();
    import(&home, &(line("a", "i", 1, &at(0.0)) + &line("b", "i", 2, &at(0.0))));
    let claim = home.open().claim("link").unwrap();
    assert!(claim.is_some());
    let search = || home.run("rsv-search", &["-p", "p", "--link", "says"], "");
    assert_eq!((lines_of(&search().ok()).len(), ends(&home)), (2, Vec::new()));
    drop(claim);
    search().ok();
    assert_eq!(ends(&home), [pair("a", "b")]);
}

#[test]
fn a_search_continues_if_new_messages_cannot_be_linked() {
    let home = Home::new();
    import(&home, &(line("a", "i", 1, &at(0.0)) + &line("b", "i", 2, &at(0.0))));
    std::fs::create_dir(home.path(".local/share/rsv/store.db-link")).unwrap();
    let ran = home.run("rsv-search", &["-p", "p", "--link", "says"], "");
    assert_eq!((ran.status, lines_of(&ran.stdout).len()), (0, 2), "{ran}");
    assert!(
        ran.stderr.ends_with("store.db-link: is a directory; some messages are not linked yet\n"),
        "{ran}"
    );
}
