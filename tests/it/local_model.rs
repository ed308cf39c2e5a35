//! A real small model distils and merges. `scripts/clients` installs it, with llama.cpp, which makes it obey a schema. So
//! small a model says little that is of use: what is tested is that its answers are valid.

use crate::clients::clients;
use crate::clusters::{memory, store};
use crate::support::{Home, lines_of};
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
    assert!(
        distilled.stderr.matches("distilled by rule").count() < 2,
        "one answer at least is valid: {distilled}"
    );
    assert!(distilled.stderr.matches("nothing to learn").count() < 2, "{distilled}");
    home.ingest(&["-q"], &distilled.stdout);

    let all = ["success", "failure"].map(|outcome| {
        ["a", "b"].map(|id| {
            let mut one = memory(&format!("{outcome}-{id}"), "q", &[1.0, 0.0]);
            one["outcome"] = json!(outcome);
            one
        })
    });
    store(&home, &all.concat());
    let clusters = home.run("rsv-link", &["-q", "--clusters", "-p", "q"], "").ok();
    let merged = home.run("rsv-merge", &["--model", "gemma"], clusters);
    let made = lines_of(&merged.stdout);
    assert!(!made.is_empty(), "one answer at least is valid: {merged}");
    let synthesized = |one: &Value| one["consolidation_type"] == "synthesized" && one["partition"] == "q";
    assert!(made.iter().all(synthesized), "{merged}");
    let stored = home.run("rsv-ingest", &[], &merged.stdout);
    let (created, archived) = (made.len(), 2 * made.len());
    assert!(stored.stderr.contains(&format!("archived {archived}, in ")), "{created}: {stored}");
}
