//! Sessions and their commits: the pipe from uncommitted messages to the store, and scripts/rsv-commit, which runs it.

use crate::distill_model::said;
use crate::fake::Fake;
use crate::support::{Dice, Home, Ran, lines_of, number_from, on_each_store, text};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const SESSION: [&str; 4] = ["-p", "ada", "-i", "s1"];

/// The script, which finds the built tools.
fn command(home: &Home, words: &[&str]) -> Command {
    let tools = Path::new(env!("CARGO_BIN_EXE_rsv-config")).parent().unwrap().display().to_string();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/rsv-commit");
    let mut command = home.command(script.to_str().unwrap());
    command.args(SESSION).args(words).stdin(Stdio::null());
    command.env("PATH", format!("{tools}:{}", std::env::var("PATH").unwrap()));
    command
}

fn commit(home: &Home, words: &[&str]) -> Ran {
    home.ran(command(home, words).output().unwrap())
}

/// A message of the session.
fn message(n: usize, role: &str, content: &str) -> Value {
    json!({"kind": "message", "id": format!("m{n:05}"), "trace_id": format!("t{}", n / 2), "partition": "ada",
        "instance": "s1", "role": role, "content": content, "timestamp": 1_795_000_000_000_u64 + n as u64 * 1000})
}

/// Stores messages, of the user and the assistant in turn, with these contents.
fn store(home: &Home, first: usize, contents: &[&str]) {
    let lines: String = contents
        .iter()
        .enumerate()
        .map(|(at, content)| format!("{}\n", message(first + at, ["user", "assistant"][at % 2], content)))
        .collect();
    home.ingest(&["-q"], &lines);
}

fn uncommitted(home: &Home) -> Vec<Value> {
    let ran = home.run("rsv-view", &[&["--uncommitted"][..], &SESSION].concat(), "");
    assert_eq!(ran.status, i32::from(ran.stdout.is_empty()), "{ran}");
    lines_of(&ran.stdout)
}

/// The archives of the session, by time. Fails unless they follow each other, and no message is in two.
fn archives(home: &Home) -> Vec<Value> {
    let all = home.run("rsv-view", &[&["--kind", "document", "9999"][..], &SESSION].concat(), "").ok();
    let mut archives = lines_of(&all);
    archives.retain(|document| text(&document["uri"]).starts_with("viking://user/ada/sessions/s1/history/"));
    let mut covered = BTreeMap::new();
    let mut followers: BTreeMap<Option<String>, usize> = BTreeMap::new();
    for archive in &archives {
        for id in archive["covers"].as_array().unwrap() {
            let before = covered.insert(text(id), archive["uri"].clone());
            assert!(before.is_none(), "{id} is in {before:?} and {}", archive["uri"]);
        }
        *followers.entry(archive.get("follows").map(text)).or_default() += 1;
    }
    assert!(followers.values().all(|count| *count == 1), "{followers:?}");
    let last: Vec<&Value> =
        archives.iter().filter(|one| !followers.contains_key(&Some(text(&one["id"])))).collect();
    assert_eq!(last.len(), usize::from(!archives.is_empty()));
    archives
}

fn memories(home: &Home) -> Vec<Value> {
    lines_of(&home.run("rsv-view", &["-p", "ada", "--kind", "memory", "9999"], "").ok())
}

/// The categories and contents of memories.
fn said_of(memories: &[Value]) -> Vec<(String, String)> {
    let mut all: Vec<_> =
        memories.iter().map(|one| (text(&one["category"]), text(&one["content"]))).collect();
    all.sort();
    all
}

on_each_store!(a_session_is_archived_and_what_the_user_states_is_remembered);
fn a_session_is_archived_and_what_the_user_states_is_remembered(home: Home) {
    assert_eq!(commit(&home, &[]).status, 1);
    store(
        &home,
        0,
        &[
            "My name is Ada. I prefer tea.\n\nWhere is the kettle?",
            "It stands by the stove.",
            "Ich wohne in Bern. Siehe https://example.org/stove.",
            "Noted.",
        ],
    );
    let dry = commit(&home, &["--dry-run"]);
    assert_eq!((dry.status, archives(&home).len(), memories(&home).len()), (0, 0, 0), "{dry}");
    let ran = commit(&home, &[]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{ran}");
    let line = &lines_of(&ran.stdout)[0];
    assert_eq!((&line["kind"], &line["steps"][0]["event"]), (&json!("commit"), &json!("create")));
    let archive = archives(&home).remove(0);
    assert_eq!(archive["uri"], json!("viking://user/ada/sessions/s1/history/m00003"));
    assert_eq!(archive["covers"], json!(["m00000", "m00001", "m00002", "m00003"]));
    assert_eq!((archive.get("follows"), &archive["made_by"]), (None, &json!("rule")));
    let about = text(&archive["abstract"]);
    assert!(about.starts_with("My name is Ada") && about.ends_with(" | Noted. | answered"), "{about}");
    let overview = text(&archive["overview"]);
    for part in
        ["4 messages, 2 of the user", "- assistant: It stands by the stove.", "- https://example.org/stove"]
    {
        assert!(overview.contains(part), "{overview}");
    }
    assert_eq!(
        said_of(&memories(&home)),
        [("preference", "I prefer tea."), ("profile", "Ich wohne in Bern."), ("profile", "My name is Ada.")]
            .map(|(category, content)| (category.to_owned(), content.to_owned()))
    );
    let one = memories(&home).remove(0);
    assert_eq!(
        (&one["origin"], &one["confidence"], &one["session_id"]),
        (&json!("extracted"), &json!(0.6), &json!("s1"))
    );
    let links = lines_of(&home.export());
    let made_of =
        |id: &Value| links.iter().any(|link| link["rel"] == "EXTRACTED_FROM" && link["from"] == *id);
    assert!(made_of(&one["id"]) && made_of(&archive["id"]));
    // The same line once more changes nothing, and nothing is left to do.
    let before = home.export();
    home.ingest(&["-q"], &ran.stdout);
    assert_eq!((home.export(), commit(&home, &[]).status), (before, 1));
    home.check();
}

on_each_store!(late_messages_go_into_the_next_archive_and_forgetting_is_possible);
fn late_messages_go_into_the_next_archive_and_forgetting_is_possible(home: Home) {
    store(&home, 10, &["I prefer tea.", "Good.", "Which one?", "Green tea."]);
    commit(&home, &["-q"]).ok();
    store(&home, 0, &["It is late.", "It is."]);
    let lines = uncommitted(&home);
    let ids: Vec<String> = lines.iter().map(|line| text(&line["id"])).collect();
    assert_eq!(lines[0]["kind"], json!("document"));
    assert_eq!(ids[1..], ["m00000", "m00001"]);
    commit(&home, &["-q"]).ok();
    let all = archives(&home);
    assert_eq!((all.len(), &all[1]["follows"]), (2, &all[0]["id"]));
    assert_eq!(uncommitted(&home), [] as [Value; 0]);
    // Records made from a forgotten message can go with it.
    home.run("rsv-forget", &["-p", "ada", "--derived", "m00010"], "").ok();
    assert_eq!((archives_left(&home), memories(&home).len()), (1, 0));
    home.check();
}

fn archives_left(home: &Home) -> usize {
    let all = home.run("rsv-view", &[&["--kind", "document", "9999"][..], &SESSION].concat(), "").ok();
    all.lines().count()
}

on_each_store!(of_two_commits_at_once_the_second_is_refused_whole);
/// Keeps: Of two commits of a session at once, one is stored.
fn of_two_commits_at_once_the_second_is_refused_whole(home: Home) {
    store(&home, 0, &["I prefer tea.", "Good."]);
    let first = commit(&home, &["--dry-run"]).ok();
    store(&home, 2, &["I like rain.", "Good."]);
    let second = commit(&home, &["--dry-run"]).ok();
    let ran = std::thread::scope(|scope| {
        let home = &home;
        let threads =
            [&first, &second].map(|line| scope.spawn(move || home.run("rsv-ingest", &["-q"], line)));
        threads.map(|thread| thread.join().unwrap())
    });
    let (stored, refused) = if ran[0].status == 0 { (&ran[0], &ran[1]) } else { (&ran[1], &ran[0]) };
    assert_eq!((stored.status, refused.status, refused.stdout.as_str()), (0, 2, ""), "{} {}", ran[0], ran[1]);
    assert!(
        refused.stderr.contains("the commit is not stored: follows: is not the last archive"),
        "{refused}"
    );
    assert!(refused.stderr.contains("hint: make it again: rsv-commit -p ada -i s1"), "{refused}");
    assert_eq!(archives(&home).len(), 1);
    let ran = commit(&home, &["-q"]);
    assert!(ran.status < 2, "{ran}");
    assert_eq!(uncommitted(&home).len(), 0);
    assert_eq!(said_of(&memories(&home)).len(), 2);
    // The lock lets any number of runs at once commit once.
    store(&home, 4, &["I hate fog.", "Good."]);
    let before = archives(&home).len();
    let mut runs: Vec<_> =
        (0..4).map(|_| command(&home, &["-q"]).stdout(Stdio::null()).spawn().unwrap()).collect();
    let mut statuses: Vec<_> = runs.iter_mut().map(|run| run.wait().unwrap().code().unwrap()).collect();
    statuses.sort_unstable();
    assert_eq!((statuses, archives(&home).len()), (vec![0, 1, 1, 1], before + 1));
    home.check();
}

on_each_store!(what_is_known_is_skipped_and_a_profile_grows);
fn what_is_known_is_skipped_and_a_profile_grows(home: Home) {
    store(&home, 0, &["My name is Ada. I prefer tea.", "Good."]);
    commit(&home, &["-q"]).ok();
    store(
        &home,
        2,
        &[
            "I prefer tea! My name is Ada and I am called Countess.",
            "Good.",
            "I live in Bern, as Ada.",
            "Good.",
        ],
    );
    let line = lines_of(&commit(&home, &["-q"]).ok()).remove(0);
    let events: Vec<String> =
        line["steps"].as_array().unwrap().iter().map(|step| text(&step["event"])).collect();
    assert_eq!(events, ["skip", "merge", "merge"], "{line}");
    assert_eq!(
        said_of(&memories(&home)),
        [
            ("preference", "I prefer tea."),
            (
                "profile",
                "My name is Ada.\n\nMy name is Ada and I am called Countess.\n\nI live in Bern, as Ada."
            ),
        ]
        .map(|(category, content)| (category.to_owned(), content.to_owned()))
    );
    let archived = home.run("rsv-view", &["-p", "ada", "--kind", "memory", "--state", "archived"], "").ok();
    assert_eq!(lines_of(&archived)[0]["content"], json!("My name is Ada."));
    home.check();
}

#[test]
fn a_model_writes_the_archive_and_decides_and_where_it_fails_the_rule_does() {
    let archive = json!({"abstract": "Tea: which | green | answered", "overview": "# Tea\n\nGreen.",
        "memories": [{"category": "preference", "title": "Tea", "content": "Ada prefers green tea now."}]});
    let decision = |decision: &str, of: &str| {
        said(&json!({"decision": decision, "of": of, "title": "Tea", "content": "Green tea, since 2026.", "reason": "newer"}).to_string())
    };
    for (answer, event, wanted) in [
        (decision("archive_and_create", "1"), "archive_and_create", "Ada prefers green tea now."),
        (decision("merge", "1"), "merge", "Green tea, since 2026."),
        (decision("merge", "7"), "create", "Ada prefers green tea now."),
        (said("no"), "create", "Ada prefers green tea now."),
    ] {
        let home = Home::new();
        store(&home, 0, &["I prefer tea.", "Good."]);
        commit(&home, &["-q"]).ok();
        store(&home, 2, &["Which tea do I want now?", "Green."]);
        let fake = Fake::new([said(&archive.to_string()), answer]);
        let home = home.env("RSV_OLLAMA_BASE_URL", &fake.url()).env("RSV_RETRIES", "0");
        let ran = commit(&home, &["--model", "llama3.2"]);
        assert_eq!(ran.status, 0, "{ran}");
        let line = &lines_of(&ran.stdout)[0];
        assert_eq!(
            (&line["steps"][0]["event"], &line["archive"]["made_by"]),
            (&json!(event), &json!("llama3.2")),
            "{ran}"
        );
        assert_eq!(ran.stderr.contains("decided by rule: "), event == "create", "{ran}");
        let contents: Vec<String> = memories(&home).iter().map(|one| text(&one["content"])).collect();
        assert!(contents.contains(&wanted.to_owned()), "{contents:?}");
        assert_eq!(contents.len(), 1 + usize::from(event == "create"));
    }
    let home = Home::new();
    store(&home, 0, &["I prefer tea.", "Good."]);
    let fake = Fake::new([said("I cannot.")]);
    let home = home.env("RSV_OLLAMA_BASE_URL", &fake.url()).env("RSV_RETRIES", "0");
    let ran = commit(&home, &["--model", "llama3.2"]);
    assert!(
        ran.status == 0 && ran.stderr.contains("ada/s1: committed by rule: the answer is not JSON"),
        "{ran}"
    );
    assert_eq!((archives(&home)[0]["made_by"].clone(), memories(&home).len()), (json!("rule"), 1));
}

#[test]
fn ten_thousand_messages_are_one_archive() {
    let home = Home::new();
    let lines: String = (0..10_000)
        .map(|n| {
            format!("{}\n", message(n, ["user", "assistant"][n % 2], &format!("Turn {n} of a long session.")))
        })
        .collect();
    home.run("rsv-import", &["-q"], lines).ok();
    let ran = commit(&home, &["-q"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let archive = archives(&home).remove(0);
    assert_eq!(archive["covers"].as_array().unwrap().len(), 10_000);
    assert!(
        text(&archive["overview"]).chars().count() <= 4000
            && text(&archive["abstract"]).chars().count() <= 256
    );
    assert_eq!(uncommitted(&home).len(), 0);
    home.check();
}

on_each_store!(a_kill_at_any_moment_leaves_a_session_committed_or_not);
/// Keeps: A killed commit leaves its session committed or not, no message in two archives, and none left out.
#[allow(clippy::print_stdout)] // Shown where the test fails.
fn a_kill_at_any_moment_leaves_a_session_committed_or_not(home: Home) {
    let kills = home.kills();
    let seed = number_from("RSV_TEST_SEED").unwrap_or(54);
    println!("RSV_TEST_SEED={seed}");
    let mut dice = Dice(seed);
    store(&home, 0, &["I prefer tea.", "Good."]);
    let begin = Instant::now();
    commit(&home, &["-q", "--dry-run"]).ok();
    let whole = begin.elapsed();
    for n in 0..kills as usize {
        store(&home, 2 * n + 2, &[&format!("I like number {n}."), "Good."]);
        let mut pipe = command(&home, &["-q"]);
        let mut pipe = pipe.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Any moment will do.
        std::thread::sleep(whole.mul_f64(dice.below(1000) as f64 / 700.0));
        let group = format!("-{}", pipe.id());
        Command::new("kill").args(["-9", "--", &group]).stderr(Stdio::null()).status().unwrap();
        pipe.wait().unwrap();
        check_whole(&home);
        home.check();
    }
    let ran = commit(&home, &["-q"]);
    assert!(ran.status < 2, "{ran}");
    check_whole(&home);
    let covered: usize = archives(&home).iter().map(|one| one["covers"].as_array().unwrap().len()).sum();
    assert_eq!((covered, uncommitted(&home).len()), (2 * kills as usize + 2, 0));
    assert_eq!(memories(&home).len(), kills as usize + 1);
}

/// Fails unless each statement of an archived message is a memory, and no other is.
fn check_whole(home: &Home) {
    let archived: usize = archives(home).iter().map(|one| one["covers"].as_array().unwrap().len() / 2).sum();
    assert_eq!(memories(home).len(), archived);
}

on_each_store!(sessions_are_a_view_of_what_is_stored);
fn sessions_are_a_view_of_what_is_stored(home: Home) {
    store(
        &home,
        0,
        &["Where is the kettle?\nI cannot find it, although I have looked everywhere.", "There."],
    );
    let other =
        json!({"role": "user", "content": "Hello", "partition": "ada", "instance": "s0", "timestamp": 1000});
    home.ingest(&["-q"], &other.to_string());
    let sessions =
        |words: &[&str]| lines_of(&home.run("rsv-view", &[&["--sessions"], words].concat(), "").ok());
    let found = sessions(&["-p", "ada"]);
    assert_eq!(found[0]["id"], json!("s0"));
    assert_eq!(
        found[1],
        json!({"kind": "session", "id": "s1", "user_id": "ada",
            "title": "Where is the kettle? I cannot find it, although I have…", "created_at": "2026-11-18T11:06:40.000Z",
            "updated_at": "2026-11-18T11:06:41.000Z", "last_message_at": "2026-11-18T11:06:41.000Z",
            "message_count": 2})
    );
    commit(&home, &["-q"]).ok();
    let found = sessions(&["-p", "ada", "-i", "s1"]);
    assert_eq!(found.len(), 1);
    assert!(found[0]["committed_at"].is_string() && found[0]["updated_at"] == found[0]["committed_at"]);
    assert_eq!(sessions(&["-p", "eve"]), [] as [Value; 0]);
    let table = home.run("rsv-view", &["--sessions", "--format", "text"], "").ok();
    assert!(table.contains("2 messages  ada/s1  Where is the kettle?"), "{table}");
    // Of sessions in partitions of their own, none sees another's.
    assert_eq!(home.run("rsv-view", &["--uncommitted", "-p", "eve", "-i", "s1"], "").status, 1);
}

#[test]
fn bad_commits_are_named() {
    let home = Home::new();
    store(&home, 0, &["I prefer tea.", "Good."]);
    let good = lines_of(&commit(&home, &["--dry-run"]).ok()).remove(0);
    let with = |change: &dyn Fn(&mut Value)| {
        let mut line = good.clone();
        change(&mut line);
        line
    };
    for (line, wanted) in [
        (with(&|line| line["archive"] = json!(null)), "archive: is missing"),
        (with(&|line| line["archive"]["covers"] = json!([])), "archive: covers: is empty"),
        (
            with(&|line| line["archive"]["uri"] = json!("viking://user/ada/sessions/s2/history/x")),
            "archive: uri: expected an address right below viking://user/ada/sessions/s1/history",
        ),
        (
            with(&|line| line["memories"][0]["content"] = json!("")),
            "memories[0]: content: memory content cannot be empty",
        ),
        (
            with(&|line| line["memories"][0]["partition"] = json!("eve")),
            "memories[0]: partition: expected ada",
        ),
        (
            with(&|line| line["archive"]["follows"] = json!("x")),
            "the commit is not stored: follows: is not the last archive",
        ),
        (
            with(&|line| {
                line["memories"][0]["source_ids"] = json!(["nobody"]);
            }),
            "the commit is not stored: source_ids: nobody is archived already, or not there",
        ),
        (
            with(&|line| line["archive"]["extracted_from"] = json!(["m00000", "m7"])),
            "the commit is not stored: extracted_from: the store has no record m7",
        ),
    ] {
        let ran = home.run("rsv-ingest", &[], line.to_string());
        assert!(ran.status == 2 && ran.stderr.contains(wanted), "{wanted}: {ran}");
        assert_eq!((archives(&home).len(), memories(&home).len()), (0, 0), "{wanted}");
    }
    let two = format!(
        "{}\n{}\n",
        message(0, "user", "a"),
        json!({"id": "x", "role": "user", "content": "b", "partition": "eve"})
    );
    let ran = home.run("rsv-distill", &["--commit"], two);
    assert!(
        ran.status == 2
            && ran.stderr.contains("<stdin>:2: this message is of eve/eve, and those before of ada/s1"),
        "{ran}"
    );
    let patterns = home.write("patterns", "preference: giv me ...\n");
    let line = format!("{}\n", message(0, "user", "Giv me tea"));
    let ran = home.run("rsv-distill", &["--commit", "--patterns", patterns.to_str().unwrap()], line);
    assert_eq!(lines_of(&ran.ok())[0]["memories"][0]["category"], json!("preference"));
    let bad = home.write("bad", "mood: i feel ...\n");
    let told = home.run("rsv-distill", &["--commit", "--patterns", bad.to_str().unwrap()], "").trouble();
    assert!(told.contains("bad: 1: category: expected"), "{told}");
}

#[test]
fn with_a_model_the_nearest_are_found_by_meaning() {
    let home = Home::with_model();
    store(&home, 0, &["I prefer tea. I love the sea.", "Good."]);
    commit(&home, &["-q"]).ok();
    store(&home, 2, &["I like to drink tea. I hate the tax office.", "Good."]);
    let lines = home.run("rsv-view", &[&["--uncommitted"][..], &SESSION].concat(), "").ok();
    let line = home.run("rsv-distill", &["--commit"], lines).ok();
    let line = lines_of(&home.run("rsv-link", &["--near"], line).ok()).remove(0);
    let near: Vec<Vec<String>> = line["memories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|memory| {
            let near = memory["near"].as_array().unwrap().iter();
            near.inspect(|one| assert!(one["similarity"].as_f64().unwrap() >= 0.7, "{line}"))
                .map(|one| text(&one["content"]))
                .collect()
        })
        .collect();
    assert_eq!(near, [vec!["I prefer tea.".to_owned()], vec![]], "{line}");
}
