//! Tools that store, forget, mirror, embed and link at once: none is surprised by what the others do.

use crate::fake::{Answer, Fake};
use crate::support::{Dice, Home, lines_of, number_from, on_each_store};
use serde_json::{Value, json};

/// The steps of each tool, unless `RSV_TEST_STEPS` gives their number.
const STEPS: u64 = 8;

/// The names of notes and the numbers of messages that there may be.
const NOTES: usize = 6;
const MESSAGES: usize = 60;

fn note(n: usize, dice: &mut Dice) -> Value {
    json!({"kind": "document", "uri": format!("viking://resources/notes/{n}"), "content": format!("Note {n} of {}", dice.below(3))})
}

/// A mirror of some of the notes.
fn mirror(dice: &mut Dice) -> String {
    let mut lines: Vec<Value> =
        vec![json!({"kind": "document", "uri": "viking://resources/notes", "children": 1})];
    lines.extend(
        (0..NOTES).filter(|_| dice.below(2) == 0).collect::<Vec<_>>().into_iter().map(|n| note(n, dice)),
    );
    lines.push(
        json!({"kind": "tree", "uri": "viking://resources/notes", "nodes": lines.len(), "complete": true}),
    );
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Some messages and a memory, under ids that others forget.
fn records(dice: &mut Dice) -> String {
    let mut lines = String::new();
    for _ in 0..5 {
        let n = dice.below(MESSAGES);
        let line = json!({"kind": "message", "id": format!("m{n}"), "trace_id": format!("t{n}"), "role": "user",
            "content": format!("Message {n}"), "timestamp": 1000 + n});
        lines += &format!("{line}\n");
    }
    let n = dice.below(MESSAGES);
    let line = json!({"kind": "memory", "id": format!("y{n}"), "title": format!("Memory {n}"), "content": "Learnt",
        "outcome": "success", "timestamp": 1000});
    lines + &format!("{line}\n")
}

/// One step of a tool; its status must be below 2, unless others read the store all the time while it forgets.
fn step(home: &Home, worker: usize, dice: &mut Dice) {
    let (tool, words, stdin): (_, Vec<String>, _) = match worker {
        0 => ("rsv-ingest", vec!["--allow-return".into()], records(dice)),
        1 => ("rsv-ingest", vec!["--mirror".into()], mirror(dice)),
        2 => (
            "rsv-forget",
            (0..6).map(|_| format!("{}{}", ["m", "y"][dice.below(2)], dice.below(MESSAGES))).collect(),
            String::new(),
        ),
        3 => ("rsv-embed", vec!["--pending".into()], String::new()),
        _ => ("rsv-link", vec![["--clusters", "--rebuild"][dice.below(2)].into()], String::new()),
    };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ran = home.run(tool, &words, stdin);
    let is_delayed = tool == "rsv-forget" && ran.stderr.contains("another program is reading the store");
    assert!(ran.status < 2 || is_delayed, "{tool} {words:?}: {ran}");
}

on_each_store!(tools_that_work_on_one_store_at_once_end_well);
#[allow(clippy::print_stdout)] // Shown where the test fails.
fn tools_that_work_on_one_store_at_once_end_well(home: Home) {
    let seed = number_from("RSV_TEST_SEED").unwrap_or(71);
    let steps = number_from("RSV_TEST_STEPS").unwrap_or(STEPS);
    println!("RSV_TEST_SEED={seed}");
    let fake = Fake::answering(|asked| {
        let body: Value = serde_json::from_str(asked.text()).unwrap();
        let texts = body["input"].as_array().unwrap().iter().enumerate();
        let data: Vec<Value> = texts
            .map(|(n, text)| json!({"index": n, "embedding": [1.0, text.as_str().unwrap().len() as f64]}))
            .collect();
        Answer::new(200, json!({"data": data}).to_string())
    });
    let home = home.env("RSV_EMBED_VIA", &(fake.url() + "/v1")).env("RSV_EMBED_MODEL", "m");
    step(&home, 0, &mut Dice(seed));
    std::thread::scope(|scope| {
        for worker in 0..5 {
            let home = &home;
            scope.spawn(move || {
                let mut dice = Dice(seed.wrapping_add(worker as u64));
                for _ in 0..steps {
                    step(home, worker, &mut dice);
                }
            });
        }
    });
    home.run("rsv-embed", &["--pending"], "").ok();
    let export = lines_of(&home.export());
    let count =
        |kinds: &[&str]| export.iter().filter(|line| kinds.iter().any(|kind| line["kind"] == *kind)).count();
    // The directory has no words but its title.
    assert_eq!(count(&["embedding"]), count(&["message", "memory", "document"]));
    home.check();
}
