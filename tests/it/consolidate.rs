//! Consolidation as a whole: the pipe from clusters to the store, and scripts/rsv-consolidate, which runs it.

use crate::clusters::{at, memory, store};
use crate::distill_model::said;
use crate::fake::{Answer, Fake};
use crate::mcp::Client;
use crate::support::{Dice, Home, Ran, lines_of, number_from, on_each_store, text};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/rsv-consolidate")
}

/// The script, which finds the built tools.
fn command(home: &Home, words: &[&str]) -> Command {
    let tools = Path::new(env!("CARGO_BIN_EXE_rsv-config")).parent().unwrap().display().to_string();
    let mut command = home.command(script().to_str().unwrap());
    command.args(words).env("PATH", format!("{tools}:{}", std::env::var("PATH").unwrap()));
    command
}

fn consolidate(home: &Home, words: &[&str]) -> Ran {
    home.ran(command(home, words).stdin(Stdio::null()).output().unwrap())
}

/// The line that a run prints.
fn result(ran: &Ran) -> Value {
    let mut lines = lines_of(&ran.stdout);
    assert_eq!(lines.len(), 1, "{ran}");
    lines.remove(0)
}

/// The same without the time that it took.
fn without_duration(ran: &Ran) -> Value {
    let mut result = result(ran);
    assert!(result.as_object_mut().unwrap().remove("duration_seconds").unwrap().is_u64(), "{ran}");
    result
}

/// All memories of a store by their ids, whatever their state.
fn memories(home: &Home) -> BTreeMap<String, Value> {
    let words = ["--all", "--kind", "memory", "--state", "all", "10000"];
    let found = lines_of(&home.run("rsv-view", &words, "").ok());
    found.into_iter().map(|memory| (text(&memory["id"]), memory)).collect()
}

/// How many memories are active, and how many archived. Fails unless each archived one is a source of the memory that took
/// its place, each source is archived, and none has two successors.
fn states(home: &Home) -> (usize, usize) {
    let all = memories(home);
    let mut sources = BTreeSet::new();
    for (id, memory) in all.iter().filter(|(_, memory)| memory.get("source_ids").is_some()) {
        for source in memory["source_ids"].as_array().unwrap() {
            assert!(sources.insert(text(source)), "{source} was consolidated twice");
            let source = &all[&text(source)];
            assert_eq!((&source["state"], &source["consolidation_id"]), (&json!("archived"), &json!(id)));
        }
    }
    let archived: BTreeSet<String> =
        all.iter().filter(|(_, one)| one["state"] == json!("archived")).map(|(id, _)| id.clone()).collect();
    assert_eq!(archived, sources);
    (all.len() - archived.len(), archived.len())
}

/// Stores clusters of three, which are as far from each other as may be, and one memory that is like no other.
fn store_clusters(home: &Home, count: usize) {
    let all: Vec<Value> = (0..count * 3 + 1)
        .map(|n| {
            let mut vector = vec![0.0; count + 1];
            vector[n / 3] = 1.0;
            memory(&format!("m{n}"), "p", &vector)
        })
        .collect();
    store(home, &all);
}

on_each_store!(similar_memories_become_one_and_that_can_be_undone_and_done_again);
fn similar_memories_become_one_and_that_can_be_undone_and_done_again(home: Home) {
    store(&home, &[("a", 0.0), ("b", 10.0), ("c", 90.0)].map(|(id, degrees)| memory(id, "p", &at(degrees))));
    let before = home.export();
    let dry = consolidate(&home, &["--dry-run"]);
    assert_eq!(lines_of(&dry.stdout)[0]["source_ids"], json!(["a", "b"]));
    assert_eq!(home.export(), before);

    let ran = consolidate(&home, &[]);
    assert_eq!(ran.status, 0, "{ran}");
    let result = result(&ran);
    assert_eq!(result["archived_memories"], json!(["a", "b"]));
    assert_eq!((&result["skipped_count"], &result["total_processed"]), (&json!(1), &json!(3)));
    let notes = [
        "examined 3 memories, found 1 cluster of 2 memories, in ",
        "merged 1 cluster, 0 failed, in ",
        "created 1 memory, archived 2, in ",
    ];
    assert!(notes.iter().all(|note| ran.stderr.contains(note)), "{ran}");
    assert_eq!(states(&home), (2, 2));
    let made = memories(&home).into_values().find(|one| one.get("source_ids").is_some()).unwrap();
    assert_eq!(result["created_memories"], json!([made["id"]]));
    assert_eq!((&made["prior"], &made["confidence"]), (&json!(0.62), &json!(0.62)));
    assert_eq!(made["content"], json!("Content of a.\n\nContent of b."));
    // Words of all sources find it, and it alone.
    let found = home.run("rsv-search", &["-p", "p", "--kind", "memory", "content", "a", "b"], "").ok();
    assert_eq!(lines_of(&found).iter().map(|hit| text(&hit["id"])).collect::<Vec<_>>(), [text(&made["id"])]);

    // Nothing is left to do, and nothing would be within the window.
    let ran = consolidate(&home, &["--force"]);
    assert!(ran.status == 0 && ran.stderr.contains("examined 2 memories, found 0 clusters, in "), "{ran}");
    assert_eq!(
        without_duration(&ran),
        json!({"kind": "consolidation", "created_memories": [],
        "archived_memories": [], "skipped_count": 2, "total_processed": 2})
    );
    let ran = consolidate(&home, &["-q"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert!(consolidate(&home, &[]).stderr.contains("passed over 1 partition"));

    home.run("rsv-forget", &["-p", "p", &text(&made["id"])], "").ok();
    assert_eq!(states(&home), (3, 0));
    consolidate(&home, &["-q", "-p", "p"]);
    assert_eq!(states(&home), (2, 2));
    home.check();
}

on_each_store!(missing_vectors_are_made_first);
fn missing_vectors_are_made_first(home: Home) {
    let told = |ran: &Ran| ran.stderr.lines().map(str::to_owned).collect::<Vec<_>>();
    let new = |id: &str, content: &str| json!({"kind": "memory", "id": id, "partition": "p", "title": id, "content": content, "outcome": "success"});
    // By what they are about, two of them are near each other.
    let fake = Fake::answering(|asked| {
        let body: Value = serde_json::from_str(asked.text()).unwrap();
        let texts = body["input"].as_array().unwrap().iter();
        let vector =
            |text: &Value| if text.as_str().unwrap().contains("owls") { [1.0, 0.0] } else { [0.0, 1.0] };
        let data: Vec<Value> =
            texts.enumerate().map(|(n, text)| json!({"index": n, "embedding": vector(text)})).collect();
        Answer::new(200, json!({"data": data}).to_string())
    });
    let dead = home.env("RSV_EMBED_VIA", &(crate::fake::dead() + "/v1")).env("RSV_EMBED_MODEL", "m");
    let alive = dead.env("RSV_EMBED_VIA", &(fake.url() + "/v1"));
    // A store that has no vectors at all, and no message without one is worked on.
    store(
        &home,
        &[new("a", "Feed owls at night."), new("b", "Watch owls at night."), new("c", "Shear sheep.")],
    );
    home.ingest(&["-p", "p"], "A message waits for rsv-embed.");
    let ran = consolidate(&dead, &[]);
    assert_eq!((ran.status, states(&home)), (2, (3, 0)), "{ran}");
    let why = "rsv-link: error: 3 memories have no vector and cannot be compared: ";
    assert!(told(&ran).iter().any(|line| line.starts_with(why)), "{ran}");
    let ran = consolidate(&alive, &[]);
    assert_eq!((ran.status, states(&home)), (0, (2, 2)), "{ran}");
    assert!(
        ran.stderr.contains("examined 3 memories, found 1 cluster of 2") && !ran.stderr.contains("no vector"),
        "{ran}"
    );
    // So does a run for one partition, and a trial.
    store(&home, &[new("d", "Where owls sleep.")]);
    let dry = consolidate(&alive, &["--dry-run", "--force", "-p", "p"]);
    assert_eq!((dry.status, lines_of(&dry.stdout).len()), (0, 1), "{dry}");
    let vectors = lines_of(&home.export()).into_iter().filter(|line| line["kind"] == "embedding");
    assert_eq!(vectors.count(), 5, "the message has none");
    // Where no model is chosen and the store has no vectors, there is nothing that could be made.
    let none = Home::new();
    store(&none, &[new("a", "Feed owls at night.")]);
    let ran = consolidate(&none, &[]);
    assert_eq!(ran.status, 0, "{ran}");
    assert!(
        ran.stderr
            .contains("1 memory has no vector and cannot be compared; add them with: rsv-embed --pending"),
        "{ran}"
    );
    home.check();
}

on_each_store!(of_two_pipes_at_once_the_second_archives_nothing_and_is_told);
fn of_two_pipes_at_once_the_second_archives_nothing_and_is_told(home: Home) {
    store_clusters(&home, 4);
    // Without the lock: both have read the same clusters.
    let clusters = home.run("rsv-link", &["-q", "--clusters"], "").ok();
    let made = [0, 1].map(|_| {
        let made = home.run("rsv-merge", &["-q"], &clusters).ok();
        assert_eq!(made.lines().count(), 4);
        // A millisecond apart, so that the new memories are not the same.
        let begin = Instant::now();
        while begin.elapsed().as_millis() < 2 {}
        made
    });
    let ran = std::thread::scope(|scope| {
        let home = &home;
        let threads = made.each_ref().map(|made| scope.spawn(move || home.run("rsv-ingest", &["-q"], made)));
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(states(&home), (5, 12));
    let told: Vec<&Ran> = ran.iter().filter(|ran| ran.status == 2).collect();
    let lines: usize = ran.iter().map(|ran| ran.stdout.lines().count()).sum();
    assert_eq!(lines, 4, "{} {}", ran[0], ran[1]);
    assert!(!told.is_empty() && told.iter().all(|ran| ran.stderr.contains(" is archived already\n")));
    home.check();
}

#[test]
fn the_lock_lets_one_run_at_a_time_and_is_given_back_by_a_kill() {
    let home = Home::new();
    store_clusters(&home, 2);
    // A tool that waits until it is killed stands in for rsv-merge.
    let stand_in = home.write("bin/rsv-merge", "#!/bin/sh\necho begun\nexec sleep 1000\n");
    crate::install::executable(&stand_in);
    let mut first = command(&home, &["--dry-run"]);
    let path =
        first.get_envs().find(|(name, _)| *name == "PATH").unwrap().1.unwrap().to_str().unwrap().to_owned();
    first.env("PATH", format!("{}:{path}", home.path("bin").display()));
    let mut first = first.process_group(0).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut begun = [0; 5];
    std::io::Read::read_exact(first.stdout.as_mut().unwrap(), &mut begun).unwrap();
    let ran = consolidate(&home, &[]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, "rsv-consolidate: another one is at work\n"));
    // A server takes the same lock.
    let mut server = Client::start(&home, &["-p", "p"]);
    let told = server.try_call("memory_consolidate", json!({}));
    let answer = text(&told["content"][0]["text"]);
    assert!(answer.starts_with("nothing was done: another consolidation is at work\n"), "{answer}");
    assert_eq!((&told["isError"], &told["structuredContent"]["total_processed"]), (&json!(false), &json!(0)));
    assert_eq!(states(&home), (7, 0));
    kill_group(&mut first);
    let ran = consolidate(&home, &["-q", "--max", "1"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert_eq!(states(&home), (5, 3));
    let made = server.call("memory_consolidate", json!({"force": true}));
    assert_eq!(made["archived_memories"].as_array().unwrap().len(), 3, "{made}");
    assert_eq!(states(&home), (3, 6));
}

/// Kills the processes of a pipe at once, and waits for the first.
fn kill_group(process: &mut Child) {
    let group = format!("-{}", process.id());
    Command::new("kill").args(["-9", "--", &group]).stderr(Stdio::null()).status().unwrap();
    process.wait().unwrap();
}

/// The stages of the pipe, each a process that can be killed by itself.
fn pipe(home: &Home) -> [Child; 3] {
    let start = |tool: &str, words: &[&str], input: Stdio, output: Stdio| {
        home.command(tool).args(words).stdin(input).stdout(output).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut link = start("rsv-link", &["--clusters", "--force"], Stdio::null(), Stdio::piped());
    let clusters = link.stdout.take().unwrap();
    let mut merge = start("rsv-merge", &[], clusters.into(), Stdio::piped());
    let memories = merge.stdout.take().unwrap();
    let ingest = start("rsv-ingest", &[], memories.into(), Stdio::null());
    [link, merge, ingest]
}

on_each_store!(a_kill_at_any_moment_archives_no_memory_without_its_successor);
#[allow(clippy::print_stdout)] // Shown where the test fails.
fn a_kill_at_any_moment_archives_no_memory_without_its_successor(home: Home) {
    let kills = home.kills();
    let seed = number_from("RSV_TEST_SEED").unwrap_or(53);
    println!("RSV_TEST_SEED={seed}");
    let mut dice = Dice(seed);
    store_clusters(&home, 60);
    let begin = Instant::now();
    consolidate(&home, &["-q", "--dry-run"]);
    let whole = begin.elapsed();
    for _ in 0..kills {
        let mut pipe = command(&home, &["-q", "--force"]);
        let mut pipe = pipe.process_group(0).stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Any moment will do.
        std::thread::sleep(whole.mul_f64(dice.below(1000) as f64 / 500.0));
        kill_group(&mut pipe);
        states(&home);
        home.check();
    }
    // A kill of one stage ends the others.
    for killed in 0..3 {
        let mut stages = pipe(&home);
        std::thread::sleep(whole.mul_f64(dice.below(1000) as f64 / 1000.0));
        stages[killed].kill().unwrap();
        for mut stage in stages {
            stage.wait().unwrap();
        }
        states(&home);
        home.check();
    }
    let ran = consolidate(&home, &["-q", "--force"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert_eq!(states(&home), (61, 180));
    home.check();
}

on_each_store!(what_a_model_refuses_is_left_for_the_next_run);
fn what_a_model_refuses_is_left_for_the_next_run(home: Home) {
    store_clusters(&home, 2);
    let answer = |outcome: &str| {
        said(&json!({"title": "All", "content": "Said by a model.", "outcome": outcome}).to_string())
    };
    let fake = Fake::new([answer("failure"), answer("success"), answer("success")]);
    let home = home.env("RSV_OLLAMA_BASE_URL", &fake.url());
    let ran = consolidate(&home, &["--model", "llama3.2"]);
    assert_eq!((ran.status, &result(&ran)["skipped_count"]), (2, &json!(4)), "{ran}");
    let notes = ["merged 1 cluster, 1 failed, in ", "created 1 memory, archived 3, in "];
    assert!(notes.iter().all(|note| ran.stderr.contains(note)), "{ran}");
    assert!(ran.stderr.contains("rsv-merge: error: <stdin>:1: not merged: the answer is invalid: "), "{ran}");
    assert_eq!(states(&home), (5, 3));
    let ran = consolidate(&home, &["-q", "--force", "--model=llama3.2"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert_eq!(states(&home), (3, 6));
    let made: Vec<Value> =
        memories(&home).into_values().filter(|one| one.get("source_ids").is_some()).collect();
    assert!(made.iter().all(|one| one["consolidation_type"] == "synthesized"), "{made:?}");
    home.check();
}

#[test]
fn the_script_tells_how_it_is_used() {
    let home = Home::new();
    let help = consolidate(&home, &["--help"]).ok();
    assert!(
        help.starts_with("rsv-consolidate - merges similar memories") && help.contains("--dry-run"),
        "{help}"
    );
    for (words, wanted) in [
        (&["--now"][..], "rsv-consolidate: error: unexpected argument '--now' found\n"),
        (&["--max"], "rsv-consolidate: error: --max: expected a value\n"),
        (&["--max", "0"], "rsv-link: error: invalid value '0' for '--max <COUNT>'"),
    ] {
        let ran = consolidate(&home, words);
        assert!(
            ran.status == 2 && ran.stderr.starts_with(wanted) && ran.stderr.contains("hint: "),
            "{words:?}: {ran}"
        );
    }
    // It works without a home, if the store is elsewhere, and with any order of its options.
    let data = home.path("data").display().to_string();
    let elsewhere = home.env("HOME", "").env("XDG_DATA_HOME", &data);
    let ran = consolidate(
        &elsewhere,
        &["--threshold=0.9", "-p", "a", "--partition=b", "--window", "1h", "--max=1", "-v"],
    );
    assert!(ran.status == 0 && ran.stderr.contains("rsv-link: examined 0 memories"), "{ran}");
    assert!(home.path("data/rsv/consolidate.lock").exists());
    let ran = consolidate(&home.env("HOME", ""), &[]);
    assert!(ran.status == 2 && ran.stderr.starts_with("rsv-consolidate: error: HOME is not set\n"), "{ran}");
}
