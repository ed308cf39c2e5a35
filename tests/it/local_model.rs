//! A real small model distils, merges and describes. `scripts/clients` installs it, with llama.cpp, which makes it obey a
//! schema with the lengths of its texts. So small a model says little that is of use: what is tested is that its answers
//! are what the schema describes, that at least one session is distilled and one cluster merged by it, and that all that
//! is made can be stored.

use crate::clients::clients;
use crate::clusters::{memory, store};
use crate::documents::{NOTES, mirror, notes};
use crate::support::{Home, Ran, lines_of, text};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The server of the model, and its address.
struct LocalModel(Child, String);

impl LocalModel {
    /// Starts it, if it is installed.
    fn start() -> Option<LocalModel> {
        let directory = clients("local-model")?.join("local-model");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/local-model.py");
        let mut command = Command::new(directory.join("bin/python"));
        command.arg(script).arg(directory.join("model.gguf"));
        // It ends with its input.
        let mut server =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let address = BufReader::new(server.stdout.take().unwrap()).lines().next().unwrap().unwrap();
        Some(LocalModel(server, address))
    }

    fn home(&self) -> Home {
        Home::new().env("RSV_OLLAMA_BASE_URL", &self.1)
    }
}

impl Drop for LocalModel {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Sessions of work, as summaries.
fn sessions() -> String {
    let sessions = [
        ("success", "Make the build faster", "Cached the dependencies.", "It takes 2 minutes."),
        ("failure", "Upgrade the database", "Upgraded in place.", "The old files could not be read."),
        (
            "success",
            "Stop the double payments",
            "Sent an idempotency key.",
            "Nobody was charged twice since.",
        ),
    ];
    let session = |(outcome, task, approach, result)| {
        let session = json!({"project_id": "p", "outcome": outcome, "task": task, "approach": approach, "result": result});
        format!("{session}\n")
    };
    sessions.map(session).concat()
}

/// Two pairs of similar memories.
fn similar_memories() -> Vec<Value> {
    let memories = [
        (
            "a",
            [1.0, 0.0],
            "Cache the dependencies",
            "Key the cache of the build on the hash of the lock file.",
        ),
        (
            "b",
            [1.0, 0.0],
            "Cache by lock file",
            "A cache keyed on the lock file took the build from 14 to 5 minutes.",
        ),
        ("c", [0.0, 1.0], "Retrying a payment", "A timeout is not a failure: customers were charged twice."),
        (
            "d",
            [0.0, 1.0],
            "Double payments",
            "Send an idempotency key with each payment, else a retry charges twice.",
        ),
    ];
    let written = |(id, vector, title, content): (&str, [f64; 2], &str, &str)| {
        let mut memory = memory(id, "q", &vector);
        (memory["title"], memory["content"]) = (json!(title), json!(content));
        memory
    };
    memories.map(written).to_vec()
}

#[test]
fn a_small_model_distils_and_merges() {
    let Some(model) = LocalModel::start() else { return };
    let home = model.home();
    let distilled = home.run("rsv-distill", &["--model", "gemma"], sessions());
    assert_eq!(distilled.status, 0, "{distilled}");
    obeys_schema(&distilled);
    // Memories made by rule have other titles.
    let titles: Vec<String> =
        lines_of(&distilled.stdout).iter().map(|memory| text(&memory["title"])).collect();
    let by_rule = ["Success: ", "Anti-pattern: "];
    let by_model = titles.iter().filter(|title| !by_rule.iter().any(|rule| title.starts_with(rule))).count();
    assert!(by_model > 0, "{distilled}");
    assert_eq!(home.ingest(&[], &distilled.stdout).len(), titles.len());

    store(&home, &similar_memories());
    let clusters = home.run("rsv-link", &["-q", "--clusters", "-p", "q"], "").ok();
    let merged = home.run("rsv-merge", &["--model", "gemma"], clusters);
    obeys_schema(&merged);
    let made = lines_of(&merged.stdout);
    assert!(!made.is_empty(), "{merged}");
    let sums =
        format!("merged {} cluster{}, {} failed", made.len(), ["s", "", "s"][made.len()], 2 - made.len());
    assert!(merged.stderr.contains(&sums), "{merged}");
    assert!(made.iter().all(|one| one["consolidation_type"] == "synthesized"), "{merged}");
    home.ingest(&["-q"], &merged.stdout);
    let words = ["--kind", "memory", "--state", "archived", "-p", "q"];
    let archived = home.run("rsv-view", &words, "").ok();
    assert_eq!(archived.lines().count(), 2 * made.len());
}

#[test]
fn a_small_model_describes_documents() {
    let Some(model) = LocalModel::start() else { return };
    let home = model.home();
    mirror(
        &home,
        &notes(&[
            ("tomatoes", "The tomatoes stand by the warm wall. They need water every morning."),
            ("beans", "Beans go up the north fence this year. Sow them in May, after the last frost."),
        ]),
    );
    let stale = || home.run("rsv-view", &["-p", "p", NOTES, "--stale"], "").stdout;
    let described = home.run("rsv-distill", &["--model", "gemma", "-j", "2"], stale());
    assert_eq!(described.status, 0, "{described}");
    obeys_schema(&described);
    let made = lines_of(&described.stdout);
    assert!(made.iter().all(|document| document["made_by"] == "gemma"), "{described}");
    assert_eq!(made.len() + described.stderr.lines().count(), 4, "{described}");
    home.ingest(&["-q"], &described.stdout);
    assert_eq!(stale().lines().count(), 4 - made.len());
}

/// Fails if an answer was not of the shape that the schema describes; one that ended early or is too long is.
fn obeys_schema(ran: &Ran) {
    let answered = ["the answer was cut off", "the answer is invalid", "the answer has"];
    let notes = ["by rule: ", "not merged: ", "stays as it is: "];
    let refused = ran.stderr.lines().filter(|line| notes.iter().any(|note| line.contains(note)));
    for line in refused {
        assert!(answered.iter().any(|why| line.contains(why)), "{ran}");
    }
}
