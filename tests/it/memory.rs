//! Memories and signals: what is stored of them, what follows from it, and what is found.

use crate::support::{Dice, Home, lines_of, on_each_store, text, tries, without_short_ids};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A memory line with this prior.
fn memory(id: &str, partition: &str, title: &str, content: &str, prior: f64) -> Value {
    json!({"kind": "memory", "id": id, "partition": partition, "instance": partition, "title": title,
        "content": content, "outcome": "success", "prior": prior, "timestamp": 1000})
}

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

/// The memories of a partition by their ids, whatever their state.
fn memories(home: &Home, partition: &str) -> BTreeMap<String, Value> {
    let words = ["-p", partition, "--kind", "memory", "--state", "all", "1000"];
    let found = lines_of(&home.run("rsv-view", &words, "").ok());
    found.into_iter().map(|memory| (text(&memory["id"]), memory)).collect()
}

fn confidence(home: &Home, partition: &str, id: &str) -> f64 {
    memories(home, partition)[id]["confidence"].as_f64().unwrap()
}

fn assert_near(found: f64, wanted: f64, why: &str) {
    assert!((found - wanted).abs() < 1e-6, "{why}: {found}, not {wanted}");
}

on_each_store!(a_memory_is_written_read_and_passed_on);
fn a_memory_is_written_read_and_passed_on(home: Home) {
    let words = [
        "-p",
        "work",
        "--title",
        "Test first",
        "--outcome",
        "success",
        "--tags",
        "ci, rust,",
        "--description",
        "On testing",
    ];
    let stored = home.ingest(&words, "Run the tests before a change.\n");
    let stored = &stored[0];
    assert_eq!(
        (&stored["kind"], &stored["title"], &stored["content"], &stored["outcome"]),
        (&json!("memory"), &json!("Test first"), &json!("Run the tests before a change."), &json!("success"))
    );
    assert_eq!(
        (&stored["tags"], &stored["origin"], &stored["prior"]),
        (&json!(["ci", "rust"]), &json!("explicit"), &json!(0.8))
    );
    // Known by its shape, with the names of another program, and its confidence as prior.
    let foreign = json!([{"id": "f1", "project_id": "work", "title": "T", "content": "C", "outcome": "failure",
        "confidence": 0.6, "usage_count": 7, "tags": [], "created_at": "2026-01-02T03:04:05Z", "mood": 1.0},
        {"id": "f2", "project_id": "work", "title": "Zero", "content": "C", "outcome": "failure",
        "confidence": 0, "created_at": "2026-01-02T03:04:05Z"}]);
    home.run("rsv-import", &[], foreign.to_string()).ok();
    let found = memories(&home, "work");
    assert_eq!((found["f1"]["prior"].clone(), found["f1"]["mood"].clone()), (json!(0.6), json!(1.0)));
    assert_eq!(
        (found["f1"]["usage_count"].clone(), found["f1"]["state"].clone()),
        (json!(7), json!("active"))
    );
    assert_eq!(found["f2"]["prior"], json!(0));
    assert_eq!(found["f1"]["timestamp"], json!(1767323045000_i64));
    // Messages alone are the default.
    assert_eq!(home.run("rsv-view", &["-p", "work"], "").ok(), "");
    assert_eq!(home.run("rsv-search", &["-p", "work", "tests"], "").status, 1);
    home.check();
}

on_each_store!(a_bad_memory_or_signal_is_named_and_the_others_are_stored);
fn a_bad_memory_or_signal_is_named_and_the_others_are_stored(home: Home) {
    let good = memory("m1", "p", "T", "C", 0.5);
    let bad = |member: &str, value: Value| {
        let mut line = good.clone();
        line["id"] = json!("bad");
        line[member] = value;
        line
    };
    let signal = json!({"kind": "signal", "of": "m1", "type": "explicit", "positive": true});
    let bad_signal = |member: &str, value: Value| {
        let mut line = signal.clone();
        line[member] = value;
        line
    };
    for (line, error) in [
        (bad("title", json!("")), "title: memory title cannot be empty"),
        (bad("content", json!(" ")), "content: memory content cannot be empty"),
        (bad("outcome", json!("maybe")), "outcome: must be 'success' or 'failure'"),
        (bad("prior", json!(1.5)), "prior: must be between 0.0 and 1.0"),
        (bad("partition", json!("")), "partition: project ID cannot be empty"),
        (bad("category", json!("thing")), "category: expected strategy, profile"),
        (bad("tags", json!("one")), "tags: expected an array of strings"),
        (bad_signal("of", json!("")), "of: memory ID cannot be empty"),
        (bad_signal("of", json!("nobody")), "of: memory not found: nobody"),
        (bad_signal("type", json!("vote")), "type: expected explicit, usage or outcome"),
        (bad_signal("positive", json!("yes")), "positive: expected true or false"),
        (bad_signal("type", json!("usage")), "day: is missing"),
        (bad_signal("predicted", json!(["usage"])), "predicted: expected usage+"),
    ] {
        let ran = home.run("rsv-ingest", &[], lines(&[good.clone(), line.clone(), signal.clone()]));
        assert_eq!(ran.status, 2, "{line}: {ran}");
        assert!(ran.stderr.contains(&format!("<stdin>:2: {error}")), "{line}: {ran}");
        assert_eq!(ran.stdout.lines().count(), 2, "{line}: {ran}");
    }
    // A message is no memory.
    home.ingest(&["-p", "p"], "{\"role\":\"user\",\"content\":\"hi\",\"id\":\"u1\"}\n");
    let said = home.run("rsv-signal", &["u1", "--helpful"], "").trouble();
    assert!(said.contains("of: memory not found: u1"), "{said}");
    // An id is one memory's for ever.
    let said = home.run("rsv-ingest", &[], lines(&[memory("m1", "p", "Other", "C", 0.5)])).trouble();
    assert!(said.contains("id: m1 belongs to another record"), "{said}");
    assert_eq!(memories(&home, "p").len(), 1);
    home.check();
}

on_each_store!(confidence_follows_the_golden_numbers);
/// Keeps: Confidence follows the formula and does not depend on the order of signals.
fn confidence_follows_the_golden_numbers(home: Home) {
    let uniform = home.env("RSV_MEMORY_PRIOR", "uniform");
    let cases: [(&str, &[&str], f64, Option<f64>); 7] = [
        ("a", &[], 0.5, Some(0.8)),
        ("b", &["--helpful"], 0.585_365_854, Some(0.818_666_667)),
        ("c", &["--helpful", "--used"], 0.630_434_783, None),
        ("d", &["--succeeded"], 0.564_102_564, None),
        ("e", &["--helpful", "--unhelpful"], 0.5, None),
        ("f", &["--unhelpful"], 0.414_634_146, Some(0.725_333_333)),
        ("g", &["--failed"], 0.435_897_436, Some(0.745_205_479)),
    ];
    for (id, signals, wanted_uniform, wanted) in cases {
        // A partition each: what one teaches about weights is not the others'.
        home.ingest(&[], &lines(&[memory(id, id, "T", "C", 0.8)]));
        for signal in signals {
            home.run("rsv-signal", &[id, signal], "").ok();
        }
        assert_near(confidence(&uniform, id, id), wanted_uniform, &format!("uniform {signals:?}"));
        if let Some(wanted) = wanted {
            assert_near(confidence(&home, id, id), wanted, &format!("{signals:?}"));
        }
    }
    let weights = &lines_of(&home.run("rsv-signal", &["--weights", "-p", "new"], "").ok())[0];
    for (name, wanted) in [("explicit", 7.0 / 17.0), ("usage", 5.0 / 17.0), ("outcome", 5.0 / 17.0)] {
        assert_near(weights[name].as_f64().unwrap(), wanted, name);
    }
    home.check();
}

on_each_store!(weights_are_learnt_from_what_explicit_signals_agree_with);
fn weights_are_learnt_from_what_explicit_signals_agree_with(home: Home) {
    home.ingest(&[], &lines(&[memory("m", "p", "T", "C", 0.5), memory("n", "p", "U", "D", 0.5)]));
    // Ten signals: usage says m is good, an outcome that n is not; then people say.
    for (id, signal) in [
        ("m", "--used"),
        ("n", "--failed"),
        ("m", "--helpful"),
        ("m", "--helpful"),
        ("n", "--unhelpful"),
        ("n", "--helpful"),
        ("m", "--unhelpful"),
        ("n", "--used"),
        ("n", "--unhelpful"),
        ("m", "--helpful"),
    ] {
        home.run("rsv-signal", &[id, signal], "").ok();
    }
    // usage: for 3 (m+ m+ m+), against 2 (m-, n-); outcome (n: failed): for 2 (n- n-), against 1 (n+).
    let (usage, outcome, explicit) = (8.0 / 15.0, 7.0 / 13.0, 0.7);
    let total: f64 = usage + outcome + explicit;
    let weights = &lines_of(&home.run("rsv-signal", &["--weights", "-p", "p"], "").ok())[0];
    assert_eq!(weights["explicit_signals"], json!(7));
    for (name, wanted) in [("usage", usage), ("outcome", outcome), ("explicit", explicit)] {
        assert_near(weights[name].as_f64().unwrap(), wanted / total, name);
    }
    assert!(home.run("rsv-signal", &["--rebuild"], "").stderr.contains("the counts were right"));
    home.check();
}

on_each_store!(any_order_of_signals_in_any_pieces_gives_the_same_confidence);
/// Keeps: Confidence follows the formula and does not depend on the order of signals.
fn any_order_of_signals_in_any_pieces_gives_the_same_confidence(home: Home) {
    tries(6, |mut dice| {
        let (whole, parts) = (&Home::new(), &home.emptied());
        let all: Vec<Value> = (0..4)
            .map(|n| memory(&format!("m{n}"), "p", &format!("T{n}"), "C", 0.1 * f64::from(n) + 0.2))
            .collect();
        let mut signals: Vec<Value> = (0..30).map(|n| signal(&mut dice, n)).collect();
        whole.run("rsv-import", &[], lines(&all) + &lines(&signals)).ok();
        parts.run("rsv-import", &[], lines(&all)).ok();
        while !signals.is_empty() {
            let count = (1 + dice.below(9)).min(signals.len());
            let some: Vec<Value> =
                (0..count).map(|_| signals.swap_remove(dice.below(signals.len()))).collect();
            parts.run("rsv-import", &[], lines(&some)).ok();
            parts.run("rsv-import", &[], lines(&some)).ok();
        }
        assert_eq!(whole.export(), parts.export());
        let weights = |home: &Home| home.run("rsv-signal", &["--weights", "-p", "p"], "").ok();
        assert_eq!(weights(whole), weights(parts));
        // And once more through the other, which adds nothing.
        whole.run("rsv-import", &[], parts.export()).ok();
        assert_eq!(whole.export(), parts.export());
        for home in [whole, parts] {
            assert!(home.run("rsv-signal", &["--rebuild"], "").stderr.contains("the counts were right"));
            home.check();
        }
    });
}

on_each_store!(stores_that_exchange_exports_agree);
/// Keeps: Confidence follows the formula and does not depend on the order of signals.
fn stores_that_exchange_exports_agree(home: Home) {
    let home = home.at("2026-11-23T10:00:00Z");
    let other = Home::new().at("2026-11-23T15:00:00Z");
    let all = lines(&[memory("m", "p", "T", "C", 0.8), memory("n", "p", "U", "D", 0.4)]);
    for (home, signals) in [
        (&home, ["--used m", "--used m", "--helpful m", "--failed n", "--unhelpful n"]),
        (&other, ["--used m", "--succeeded n", "--helpful n", "--unhelpful m", "--used n"]),
    ] {
        home.run("rsv-import", &[], &all).ok();
        for signal in signals {
            home.run("rsv-signal", &signal.split(' ').collect::<Vec<_>>(), "").ok();
        }
    }
    let (one, two) = (home.export(), other.export());
    assert_ne!(one, two);
    other.run("rsv-import", &[], one).ok();
    home.run("rsv-import", &[], two).ok();
    assert_eq!(home.export(), other.export());
    // The uses that either store counted are there once: two uses in one, one in the other, on one day.
    assert_eq!(memories(&home, "p")["m"]["usage_count"], json!(3));
    let found = lines_of(&home.run("rsv-view", &["-p", "p", "--of", "m"], "").ok());
    assert_eq!(found.len(), 4, "{found:?}");
    // usage of m had predicted both explicit signals about m, the outcomes of n those about n: the shares of usage
    // and outcome are 6 of 12 and 7 of 12.
    let weights = &lines_of(&home.run("rsv-signal", &["--weights", "-p", "p"], "").ok())[0];
    let (usage, outcome, explicit) = (6.0 / 12.0, 7.0 / 12.0, 0.7);
    let total: f64 = usage + outcome + explicit;
    for (name, share) in [("usage", usage), ("outcome", outcome), ("explicit", explicit)] {
        assert_near(weights[name].as_f64().unwrap(), share / total, name);
    }
    let [usage, outcome, explicit] = [usage, outcome, explicit].map(|share| share / total);
    let m = (3.2 + 2.0 * usage + explicit) / (4.0 + 2.0 * usage + 2.0 * explicit);
    let n = (1.6 + usage + outcome + explicit) / (4.0 + usage + 2.0 * (outcome + explicit));
    assert_near(confidence(&home, "p", "m"), m, "m");
    assert_near(confidence(&home, "p", "n"), n, "n");
    home.check();
}

/// A signal about one of four memories.
fn signal(dice: &mut Dice, n: i64) -> Value {
    let of = format!("m{}", dice.below(4));
    let kind = ["explicit", "usage", "outcome"][dice.below(3)];
    let mut line = json!({"kind": "signal", "id": format!("s{n}"), "of": of, "type": kind, "partition": "p",
        "instance": "p", "positive": dice.below(3) > 0, "timestamp": 2000 + n});
    match kind {
        "explicit" => line["predicted"] = json!(["usage+", "outcome-"][..dice.below(3)].to_vec()),
        "usage" => {
            line["positive"] = json!(true);
            line["day"] = json!("2026-11-23");
            line["store"] = json!(format!("store {n}"));
            line["count"] = json!(1 + dice.below(5));
        }
        _ => {}
    }
    line
}

on_each_store!(use_is_counted_once_a_day_and_the_greater_count_holds);
fn use_is_counted_once_a_day_and_the_greater_count_holds(home: Home) {
    let home = home.at("2026-11-23T10:00:00Z");
    home.ingest(&[], &lines(&[memory("m", "p", "Owls", "They hunt at night.", 0.8)]));
    let hits = home.run("rsv-search", &["-p", "p", "--kind", "memory", "owls"], "").ok();
    for _ in 0..3 {
        assert_eq!(home.run("rsv-signal", &["--used"], &hits).ok(), hits);
    }
    home.at("2026-11-24T10:00:00Z").run("rsv-signal", &["--used", "m"], "").ok();
    let signals = lines_of(&home.run("rsv-view", &["--kind", "signal", "--of", "m"], "").ok());
    assert_eq!(lines_of(&home.run("rsv-view", &["-p", "p", "--of", "m"], "").ok()), signals);
    let newer = home.run("rsv-view", &["--of", "m", "--since", "2026-11-24"], "").ok();
    assert_eq!(lines_of(&newer), signals[1..]);
    assert_eq!(home.run("rsv-view", &["-p", "q", "--of", "m"], "").ok(), "");
    let counts: Vec<(String, i64)> =
        signals.iter().map(|one| (text(&one["day"]), one["count"].as_i64().unwrap())).collect();
    assert_eq!(counts, [("2026-11-23".to_owned(), 3), ("2026-11-24".to_owned(), 1)]);
    let as_text = home.run("rsv-view", &["--of", "m", "--format", "text", "--since", "2026-11-24"], "").ok();
    assert_eq!(without_short_ids(&as_text), "2026-11-24 10:00 signal: usage, positive, once, of m\n");
    let told = home.run("rsv-view", &["--kind", "memory", "--of", "m"], "").trouble();
    assert!(told.contains("--of: a memory is about no other record"), "{told}");
    // To people, a memory shows its row of the table.
    let shown = home.run("rsv-view", &["--id", "m", "--format", "text"], "").ok();
    let row = "0.83    4 uses  explicit 0:0  usage 2:0  outcome 0:0  success  Owls\n";
    assert!(shown.starts_with(row) && shown.contains("They hunt at night."), "{shown}");
    let found = &memories(&home, "p")["m"];
    assert_eq!(
        (&found["usage_count"], &found["updated_at"]),
        (&json!(4), &json!("2026-11-24T10:00:00.000Z"))
    );
    // Two days of use are two observations, however often it was used.
    assert_near(found["confidence"].as_f64().unwrap(), (3.2 + 10.0 / 17.0) / (4.0 + 10.0 / 17.0), "two days");
    // A later line of the same record counts if it is greater.
    let export = home.export();
    let usage = export.lines().find(|line| line.contains("\"count\":3")).unwrap();
    home.run("rsv-import", &[], usage.replace("\"count\":3", "\"count\":2") + "\n").ok();
    assert_eq!(home.export(), export);
    home.run("rsv-import", &[], usage.replace("\"count\":3", "\"count\":9") + "\n").ok();
    assert_eq!(memories(&home, "p")["m"]["usage_count"], json!(10));
    home.check();
}

on_each_store!(a_consolidated_memory_takes_the_place_of_its_sources_until_it_is_forgotten);
/// Keeps: No memory is archived without the one that took its place.
fn a_consolidated_memory_takes_the_place_of_its_sources_until_it_is_forgotten(home: Home) {
    let home = home.at("2026-11-23T10:00:00Z");
    let sources =
        [memory("a", "p", "Owls hunt", "At night.", 0.6), memory("b", "p", "Owls hear", "Mice.", 0.6)];
    home.ingest(&[], &lines(&sources));
    let merged = |id: &str, sources: &[&str]| {
        let mut line = memory(id, "p", "Owls", "They hunt at night, and hear mice.", 0.62);
        line["origin"] = json!("consolidated");
        line["source_ids"] = json!(sources);
        line
    };
    let state = |home: &Home| {
        let found = memories(home, "p").into_iter();
        found.map(|(id, memory)| format!("{id} {}", text(&memory["state"]))).collect::<Vec<_>>()
    };
    let said = home.run("rsv-ingest", &[], lines(&[merged("c", &["a", "nobody"])])).trouble();
    assert!(said.contains("source_ids: memory not found: nobody"), "{said}");
    home.ingest(&["-q"], &lines(&[merged("c", &["a", "b"])]));
    assert_eq!(state(&home), ["a archived", "b archived", "c active"]);
    assert_eq!(memories(&home, "p")["a"]["consolidation_id"], json!("c"));
    // The second of two that consolidate the same is told.
    let said = home.run("rsv-ingest", &[], lines(&[merged("d", &["b", "a"])])).trouble();
    assert!(said.contains("source_ids: b is archived already"), "{said}");
    assert_eq!(state(&home).len(), 3);
    // Archived ones are not found.
    let found = home.contents("rsv-search", &["-p", "p", "--kind", "memory", "owls"]);
    assert_eq!(found, ["They hunt at night, and hear mice."]);
    // Another store takes what it is given.
    let other = Home::new();
    other.run("rsv-import", &[], home.export()).ok();
    assert_eq!(other.export(), home.export());
    other.run("rsv-import", &[], lines(&[merged("d", &["a"])])).ok();
    assert_eq!(memories(&other, "p")["a"]["consolidation_id"], json!("d"));
    let undo = home.run("rsv-forget", &["-p", "p", "c"], "").ok();
    assert_eq!(state(&home), ["a active", "b active"]);
    home.run("rsv-import", &["--allow-return"], undo).ok();
    assert_eq!(state(&home), ["a archived", "b archived", "c active"]);
    home.check();
}

on_each_store!(only_trusted_active_memories_are_found_and_consolidated_ones_count_more);
fn only_trusted_active_memories_are_found_and_consolidated_ones_count_more(home: Home) {
    let with = |id: &str, prior: f64, origin: &str| {
        let mut line = memory(id, "p", "Owls", "They hunt at night.", prior);
        line["origin"] = json!(origin);
        line
    };
    let all = [
        with("high", 0.7, "explicit"),
        with("low", 0.69, "explicit"),
        with("made", 0.5, "distilled"),
        with("weak", 0.49, "distilled"),
        with("joined", 0.6, "consolidated"),
    ];
    home.ingest(&[], &lines(&all));
    let found = |words: &[&str]| {
        let ran =
            home.run("rsv-search", &[&["-p", "p", "--kind", "memory", "owls"], words].concat(), "").ok();
        lines_of(&ran)
    };
    let ids = |hits: &[Value]| {
        let mut ids: Vec<String> = hits.iter().map(|hit| text(&hit["id"])).collect();
        ids.sort();
        ids
    };
    let hits = found(&[]);
    assert_eq!(ids(&hits), ["high", "joined", "made"]);
    assert_eq!((&hits[0]["id"], &hits[0]["record"]), (&json!("joined"), &json!("memory")));
    let ratio = hits[0]["score"].as_f64().unwrap() / hits[1]["score"].as_f64().unwrap();
    assert_near(ratio, 1.2, "the boost");
    for member in ["confidence", "outcome", "usage_count", "why"] {
        assert!(hits[0].get(member).is_some(), "{member}: {}", hits[0]);
    }
    assert_eq!(ids(&found(&["--min-confidence", "0.65"])), ["high", "low"]);
    assert_eq!(found(&["--min-confidence", "0"]).len(), 5);
    // Searching is no use.
    assert_eq!(memories(&home, "p")["high"]["usage_count"], json!(0));
    assert_eq!(home.run("rsv-search", &["-p", "q", "--kind", "memory", "owls"], "").status, 1);
    assert!(
        home.run("rsv-search", &["--kind", "signal", "owls"], "").trouble().contains("no text to search")
    );
    home.check();
}

on_each_store!(with_a_memory_go_its_signals);
fn with_a_memory_go_its_signals(home: Home) {
    home.ingest(&[], &lines(&[memory("m", "p", "T", "C", 0.8), memory("n", "p", "U", "D", 0.8)]));
    for (id, signal) in [("m", "--helpful"), ("m", "--used"), ("n", "--failed")] {
        home.run("rsv-signal", &[id, signal], "").ok();
    }
    let before = home.export();
    let undo = home.run("rsv-forget", &["-p", "p", "m"], "").ok();
    assert_eq!(undo.lines().count(), 3, "{undo}");
    assert_eq!(memories(&home, "p").len(), 1);
    let stats = &lines_of(&home.run("rsv-signal", &["--stats"], "").ok())[0];
    assert_eq!((&stats["memories"], &stats["signals"]), (&json!(1), &json!(1)));
    assert!(home.run("rsv-signal", &["--rebuild"], "").stderr.contains("the counts were right"));
    // A tombstone from elsewhere takes them too, and both stay out.
    let other = Home::new();
    other.run("rsv-import", &[], &before).ok();
    let ran = other.run("rsv-import", &[], home.export());
    assert!(ran.status == 0 && ran.stderr.contains("forgotten elsewhere"), "{ran}");
    let ran = other.run("rsv-import", &[], &before);
    assert!(ran.status == 0 && ran.stderr.contains("were forgotten and are kept out"), "{ran}");
    assert_eq!(other.export(), home.export());
    home.run("rsv-import", &["--allow-return"], undo).ok();
    let records = |export: &str| -> Vec<String> {
        export.lines().filter(|line| !line.contains("\"tombstone\"")).map(str::to_owned).collect()
    };
    assert_eq!(records(&home.export()), records(&before));
    home.check();
}

on_each_store!(stats_and_rows_are_for_people);
fn stats_and_rows_are_for_people(home: Home) {
    let home = home.at("2026-11-23T10:00:00Z");
    let stats = &lines_of(&home.run("rsv-signal", &["--stats"], "").ok())[0];
    assert_eq!(stats, &json!({"memories": 0, "active": 0, "signals": 0}));
    home.ingest(
        &[],
        &lines(&[memory("m", "p", "Test \u{1b}first", "C", 0.8), memory("n", "q", "U", "D", 0.6)]),
    );
    home.run("rsv-signal", &["m", "--used"], "").ok();
    home.run("rsv-signal", &["m", "--helpful"], "").ok();
    let stats = &lines_of(&home.run("rsv-signal", &["--stats"], "").ok())[0];
    assert_eq!(
        (&stats["memories"], &stats["signals"], &stats["last_use"], &stats["last_used_id"]),
        (&json!(2), &json!(2), &json!("2026-11-23T10:00:00.000Z"), &json!("m"))
    );
    let row = home.run("rsv-view", &["-p", "p", "--kind", "memory", "--format", "text"], "").ok();
    let standing = "0.83    1 use   explicit 1:0  usage 1:0  outcome 0:0  success";
    let (head, rest) = row.split_once('\n').unwrap();
    assert!(head.ends_with(" Test \\u{1b}first"), "{row}");
    assert_eq!(rest, format!("    {standing}\n    “C”\n"));
    let one = home.run("rsv-view", &["--id", "m", "--format", "text"], "").ok();
    assert!(
        one.starts_with(&format!("{standing}  Test \\u{{1b}}first\n"))
            && one.contains("confidence 0.83: Test"),
        "{one}"
    );
    let narrowed = home.run("rsv-signal", &["--stats", "-p", "q"], "").ok();
    assert!(narrowed.contains("\"mean_confidence\":0.6"), "{narrowed}");
    home.check();
}
