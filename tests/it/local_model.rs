//! A real small model distils, merges and describes. `scripts/clients` installs it, with llama.cpp, which makes it obey a schema. So
//! small a model says little that is of use, and may go beyond the limits: what is tested is that its answers are what the
//! schema describes, and that all that is made of them can be stored.

use crate::clients::clients;
use crate::clusters::{memory, store};
use crate::documents::{NOTES, mirror, notes};
use crate::support::{Home, Ran, lines_of};
use serde_json::json;
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

#[test]
fn a_small_model_distils_and_merges() {
    let Some(model) = LocalModel::start() else { return };
    let home = model.home();
    let sessions = [
        ("success", "Make the build faster", "Cached the dependencies.", "It takes 2 minutes."),
        ("failure", "Upgrade the database", "Upgraded in place.", "The old files could not be read."),
    ];
    let sessions: String = sessions
        .iter()
        .map(|(outcome, task, approach, result)| {
            let session = json!({"project_id": "p", "outcome": outcome, "task": task, "approach": approach, "result": result});
            format!("{session}\n")
        })
        .collect();
    let distilled = home.run("rsv-distill", &["--model", "gemma"], &sessions);
    assert_eq!(distilled.status, 0, "{distilled}");
    obeys_schema(&distilled);
    home.ingest(&["-q"], &distilled.stdout);

    store(&home, &["a", "b"].map(|id| memory(id, "q", &[1.0, 0.0])));
    let clusters = home.run("rsv-link", &["-q", "--clusters", "-p", "q"], "").ok();
    let merged = home.run("rsv-merge", &["--model", "gemma"], clusters);
    obeys_schema(&merged);
    let made = lines_of(&merged.stdout);
    let sums = format!("merged {} cluster{}, {} failed", made.len(), ["s", ""][made.len()], 1 - made.len());
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
