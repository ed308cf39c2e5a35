//! Search among 300 memories in five projects, for questions in other words: `memories.jsonl`. By the first 60 questions the
//! ranking was chosen; the 60 of the set `held_out` were written afterwards, and decided nothing.

use crate::shared::made_once;
use crate::support::{Home, lines_of, on_each_store, text};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Memories, and questions whose id is that of the memory that answers them: first those by which the ranking was chosen,
/// then those that were held out.
fn memories_and_questions() -> (String, Vec<Value>) {
    let (memories, questions): (Vec<Value>, Vec<Value>) =
        lines_of(include_str!("memories.jsonl")).into_iter().partition(|line| line["kind"] == "memory");
    let ids: BTreeSet<String> = memories.iter().map(|memory| text(&memory["id"])).collect();
    assert_eq!((memories.len(), ids.len(), questions.len()), (300, 300, 120));
    assert!(questions.iter().all(|question| ids.contains(&text(&question["id"]))));
    (lines(&memories), questions)
}

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

/// The store with the memories and their vectors.
fn with_memories(home: Home) -> Home {
    let directory = made_once("memories", |directory| {
        let home = Home::kept_in(directory).and_model();
        home.run("rsv-import", &[], memories_and_questions().0).ok();
        home.run("rsv-embed", &["--quiet", "--pending"], "").ok();
        std::fs::write(directory.join("export.jsonl"), home.export()).unwrap();
    });
    let home = home.and_model();
    home.run("rsv-import", &[], std::fs::read(directory.join("export.jsonl")).unwrap()).ok();
    home
}

/// The hits of some queries, by the id of the query, best first.
fn hits(home: &Home, words: &[&str], queries: &[Value]) -> BTreeMap<String, Vec<Value>> {
    let ran = home.run("rsv-search", &[&["--kind", "memory"], words].concat(), lines(queries)).ok();
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    // A query without hits is passed on.
    for hit in lines_of(&ran).into_iter().filter(|line| line["kind"] == "hit") {
        found.entry(text(&hit["query"])).or_default().push(hit);
    }
    found
}

/// The number of questions whose memory is among the first hits.
fn answered(found: &BTreeMap<String, Vec<Value>>, first: usize) -> usize {
    let is_answered =
        |(id, hits): &(&String, &Vec<Value>)| hits.iter().take(first).any(|hit| hit["id"] == **id);
    found.iter().filter(is_answered).count()
}

on_each_store!(questions_in_other_words_find_their_memory);
/// Keeps: Questions in other words find their memory.
fn questions_in_other_words_find_their_memory(home: Home) {
    let (_, questions) = memories_and_questions();
    let home = with_memories(home);
    for (how, of, at_1, at_5) in [
        ("--semantic", "chosen by", 20, 43),
        ("--hybrid", "chosen by", 20, 42),
        ("--semantic", "held_out", 24, 45),
        ("--hybrid", "held_out", 22, 45),
    ] {
        let is_held_out = |question: &&Value| question["set"] == "held_out";
        let asked: Vec<Value> =
            questions.iter().filter(|one| is_held_out(one) == (of == "held_out")).cloned().collect();
        let found = hits(&home, &[how], &asked);
        let (first, five) = (answered(&found, 1), answered(&found, 5));
        assert!(asked.len() == 60 && first >= at_1 && five >= at_5, "{how} {of}: {first} and {five}");
    }
    home.check();
}

on_each_store!(nothing_of_another_project_is_found);
/// Keeps: No question finds a memory of another partition.
fn nothing_of_another_project_is_found(home: Home) {
    let (_, questions) = memories_and_questions();
    let projects = ["api", "kitchen", "garden", "travel", "ledger"];
    // Words that occur in all projects.
    let words = ["the", "water", "a year", "two days", "on"];
    let by_words = projects.iter().flat_map(|project| {
        words.map(|word| json!({"kind": "query", "query": word, "id": format!("{project}-{word}"), "partition": project}))
    });
    let by_words: Vec<Value> = by_words.collect();
    let home = with_memories(home);
    for (how, queries) in [
        ("--by=keyword", &by_words),
        ("--semantic", &questions),
        ("--hybrid", &questions),
        ("--hybrid", &by_words),
    ] {
        // More than a project has.
        let found = hits(&home, &[how, "-n", "100"], queries);
        let mut count = 0;
        for (id, hits) in &found {
            let project = id.split_once('-').unwrap().0;
            for hit in hits {
                assert_eq!(
                    (&hit["partition"], hit["id"].as_str().unwrap().split_once('-').unwrap().0),
                    (&json!(project), project),
                    "{how} {id}"
                );
                count += 1;
            }
        }
        assert!(count > 100, "{how}: {count}");
    }
    home.check();
}
