//! rsv-merge with a model.

use crate::distill_model::{fenced, home, hostile, said, useless};
use crate::fake::Fake;
use crate::merge::{cluster, member};
use crate::support::{Home, lines_of, text, tries};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const MODEL: [&str; 2] = ["--model", "llama3.2"];

fn answer() -> Value {
    json!({"title": "Cache builds", "content": "Use a cache.", "tags": ["cache", "ci"], "outcome": "success",
        "source_attribution": "The cache is of both."})
}

fn two() -> Vec<Value> {
    let (mut one, mut two) = (member("a", "Use a cache.", 0.6), member("b", "Cache the build.", 0.7));
    one["tags"] = json!(["ci", "old"]);
    two["description"] = json!("Of session 2");
    vec![one, two]
}

/// The requests about a cluster.
fn emitted(members: &[Value]) -> Vec<Value> {
    let home = Home::new();
    lines_of(
        &home
            .run("rsv-merge", &["-q", MODEL[0], MODEL[1], "--emit-request"], cluster(members).to_string())
            .ok(),
    )
}

#[test]
fn a_model_writes_the_memory_as_json_or_in_labelled_lines() {
    let labelled = "Here it is:\n\nTITLE: Cache builds\nCONTENT:\nUse a cache.\n\nTAGS: cache, ci\nOUTCOME: SUCCESS\n\
                    SOURCE_ATTRIBUTION: The cache is of both.\n";
    let json = answer().to_string();
    for answered in [&json, &format!("```json\n{json}\n```"), labelled] {
        let fake = Fake::new([said(answered)]);
        let ran = home(&fake.url()).run("rsv-merge", &MODEL, cluster(&two()).to_string());
        assert!(
            ran.status == 0 && ran.stderr.starts_with("rsv-merge: merged 1 cluster, 0 failed, in "),
            "{ran}"
        );
        assert_eq!(
            lines_of(&ran.stdout)[0],
            json!({"kind": "memory", "partition": "p", "instance": "i", "title": "Cache builds",
                "content": "Use a cache.", "category": "strategy", "outcome": "success", "tags": ["ci", "old", "cache"],
                "origin": "consolidated", "prior": 0.668, "source_ids": ["a", "b"],
                "consolidation_type": "synthesized", "source_attribution": "The cache is of both.",
                "timestamp": 1_795_428_000_000_i64}),
            "{answered}"
        );
        let home = Home::new();
        let sources: String = two().iter().map(|source| format!("{source}\n")).collect();
        home.ingest(&["-q"], &format!("{sources}{}", ran.stdout));
    }
    // Without an attribution it has the titles of its sources.
    let fake = Fake::new([said("TITLE: A\nCONTENT: b\nOUTCOME: success")]);
    let made =
        home(&fake.url()).run("rsv-merge", &["-q", MODEL[0], MODEL[1]], cluster(&two()).to_string()).ok();
    let wanted = "Consolidated from 2 memories: \"Title a\"; \"Title b\"";
    assert_eq!(lines_of(&made)[0]["source_attribution"], json!(wanted));
}

#[test]
fn the_request_has_the_sources_as_data() {
    let mut members = two();
    members[0]["title"] = json!("é".repeat(300));
    members[0]["description"] = json!("é".repeat(600));
    members[0]["content"] = json!("é".repeat(11_000));
    members[0]["usage_count"] = json!(3);
    let fake = Fake::new([said(&answer().to_string())]);
    home(&fake.url()).run("rsv-merge", &["-q", MODEL[0], MODEL[1]], cluster(&members).to_string()).ok();
    let request = emitted(&members).remove(0);
    assert_eq!(serde_json::from_str::<Value>(fake.one().text()).unwrap(), request);
    assert_eq!((&request["temperature"], &request["model"]), (&json!(0.3), &json!(MODEL[1])));
    let schema = &request["response_format"]["json_schema"]["schema"];
    assert_eq!(schema["properties"]["outcome"]["enum"], json!(["success"]));
    assert_eq!(
        fenced(&request, "sources"),
        [
            json!({"source": 1, "title": "Title b", "description": "Of session 2", "content": "Cache the build.",
                "outcome": "success", "confidence": 0.7, "uses": 0}),
            json!({"source": 2, "title": "é".repeat(200), "description": "é".repeat(500),
                "content": "é".repeat(10_000), "outcome": "success", "tags": ["ci", "old"], "confidence": 0.6,
                "uses": 3}),
        ]
    );
    // A category without outcomes has none to answer.
    for member in &mut members {
        member["category"] = json!("preference");
        member.as_object_mut().unwrap().remove("outcome");
    }
    let schema = &emitted(&members)[0]["response_format"]["json_schema"]["schema"];
    assert_eq!(schema["required"], json!(["title", "content", "tags", "source_attribution"]));
}

/// Keeps: A model's answer about memories is checked.
#[test]
fn after_any_other_answer_the_cluster_is_left_and_the_others_are_done() {
    let with = |member: &str, value: Value| {
        let mut answer = answer();
        answer[member] = value;
        said(&answer.to_string())
    };
    let mut cases = useless();
    cases.extend([
        (with("title", json!("")), "the answer is invalid: title: is missing"),
        (with("title", json!("é".repeat(201))), "title: has more than 200 characters"),
        (with("content", json!("é".repeat(200_000))), "content: has more than 10000 characters"),
        (with("content", json!(7)), "expected a string"),
        (with("outcome", json!("failure")), "outcome: expected success, found \"failure\""),
        (with("tags", json!("a")), "expected a sequence"),
        (said("TITLE: A\nCONTENT: b\nOUTCOME: success\nCONTENT: c"), "the answer has CONTENT: twice"),
        (said("TITLE: A\nOUTCOME: success"), "content: is missing"),
        // It is no label within a line.
        (said("It has a TITLE: A, a CONTENT: b, and OUTCOME: success"), "the answer is not JSON"),
    ]);
    let (answers, reasons): (Vec<_>, Vec<_>) = cases.into_iter().unzip();
    let good = || said(&answer().to_string());
    let fake = Fake::new([vec![good()], answers, vec![good()]].concat());
    let lines = format!("{}\n", cluster(&two())).repeat(reasons.len() + 2);
    let ran = home(&fake.url()).run("rsv-merge", &MODEL, lines);
    assert_eq!((ran.status, ran.stdout.lines().count()), (2, 2), "{ran}");
    let sums = format!("rsv-merge: merged 2 clusters, {} failed, in ", reasons.len());
    assert!(ran.stderr.contains(&sums), "{ran}");
    for (at, why) in reasons.iter().enumerate() {
        let place = format!("rsv-merge: error: <stdin>:{}: not merged: ", at + 2);
        let told = ran.stderr.lines().find(|line| line.starts_with(&place));
        assert!(told.is_some_and(|told| told.contains(why)), "{place} {why}: {ran}");
    }
}

#[test]
fn what_is_too_long_for_one_request_is_merged_in_steps() {
    let long = |at: usize| (0..1400).map(|n| format!("Line{n} of{at}. ")).collect::<String>();
    let members: Vec<Value> = (0..9).map(|at| member(&format!("m{at}"), &long(at), 0.6)).collect();
    let mut asked = 0;
    let fake = Fake::answering(move |_| {
        asked += 1;
        let mut answer = answer();
        answer["title"] = json!(format!("Step {asked}"));
        said(&answer.to_string())
    });
    let made =
        home(&fake.url()).run("rsv-merge", &["-q", MODEL[0], MODEL[1]], cluster(&members).to_string()).ok();
    let requests: Vec<Value> =
        fake.seen().iter().map(|seen| serde_json::from_str(seen.text()).unwrap()).collect();
    let (last, first) = requests.split_last().unwrap();
    assert!(first.len() > 1, "{}", first.len());
    // The first steps have all members, the last one has their answers.
    let titles = |request: &Value| -> Vec<String> {
        fenced(request, "sources").iter().map(|source| text(&source["title"])).collect()
    };
    assert_eq!(first.iter().flat_map(titles).collect::<BTreeSet<_>>().len(), 9);
    let answers: Vec<String> = (1..requests.len()).map(|at| format!("Step {at}")).collect();
    assert_eq!(titles(last), answers);
    let made = &lines_of(&made)[0];
    assert_eq!(
        (text(&made["title"]), made["source_ids"].as_array().unwrap().len()),
        (format!("Step {}", requests.len()), 9)
    );
    let printed: Vec<Vec<String>> = emitted(&members).iter().map(titles).collect();
    assert_eq!(printed, first.iter().map(titles).collect::<Vec<_>>());
    // One broken step leaves the whole cluster.
    let fake = Fake::new([said(&answer().to_string()), said("no")]);
    let ran = home(&fake.url()).run("rsv-merge", &MODEL, cluster(&members).to_string());
    assert!(
        ran.status == 2 && ran.stdout.is_empty() && ran.stderr.contains("merged 0 clusters, 1 failed"),
        "{ran}"
    );
}

/// Keeps: No text that a model gets leaves its fence.
#[test]
fn no_words_of_a_source_leave_their_fence_and_no_answer_changes_what_it_is_about() {
    tries(40, |mut dice| {
        let members: Vec<Value> = (0..2 + dice.below(3))
            .map(|at| {
                let long = if dice.below(4) == 0 { "long ".repeat(40_000) } else { String::new() };
                let mut one = member(&format!("m{at}"), &format!("c{}{long}", hostile(&mut dice)), 0.6);
                one["title"] = json!(format!("t{}", hostile(&mut dice)));
                one["description"] = json!(hostile(&mut dice));
                one["tags"] = json!([hostile(&mut dice)]);
                one
            })
            .collect();
        let data = fenced(&emitted(&members)[0], "sources");
        assert_eq!(data.len(), members.len());
        assert!(data.iter().all(|source| source["outcome"] == "success"));
        // Even if a model is misled, the memory stays in its partition, and replaces its sources only.
        let mut led = answer();
        led["partition"] = json!("elsewhere");
        led["source_ids"] = json!(["another"]);
        led["content"] = json!(format!("c{}", hostile(&mut dice)));
        let fake = Fake::new([said(&led.to_string())]);
        let made = home(&fake.url())
            .run("rsv-merge", &["-q", MODEL[0], MODEL[1]], cluster(&members).to_string())
            .ok();
        let made = &lines_of(&made)[0];
        let ids: Vec<&Value> = members.iter().map(|member| &member["id"]).collect();
        assert_eq!((&made["partition"], &made["source_ids"]), (&json!("p"), &json!(ids)));
    });
}
