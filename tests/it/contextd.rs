//! Coming from contextd: what its documents promise, and its tools before the official client, called as they say.

use crate::clients::clients;
use crate::promises::keep;
use crate::support::{Home, lines_of, on_each_store};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

on_each_store!(the_promises_of_the_documents_of_contextd);
/// Keeps: The promises of contextd's documents hold, command by command.
fn the_promises_of_the_documents_of_contextd(home: Home) {
    keep(&home.and_model(), include_str!("promises/contextd.md"));
}

/// Keeps: An agent that calls contextd's tools as its documents say gets what they promise.
#[test]
fn the_official_client_calls_the_tools_as_the_documents_do() {
    let Some(clients) = clients("mcp") else { return };
    let home = Home::with_model();
    home.ingest(&["-p", "vault"], r#"{"title":"Flaky tests","content":"A secret.","outcome":"success"}"#);
    // Beside the package of the same name, the script could not import it.
    let script = home.path("journey.py");
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/clients/contextd.py"), &script)
        .unwrap();
    let server: PathBuf = Path::new(env!("CARGO_BIN_EXE_rsv-config")).with_file_name("rsv-mcp");
    let mut command = Command::new(clients.join("mcp/bin/python"));
    command.arg(script).arg(server).args(["-p", "shop", "--projects", "bank,shop"]);
    command.env_clear().env("PATH", std::env::var("PATH").unwrap()).env("HOME", home.path(""));
    let ran = home.ran(command.current_dir(home.path("")).output().unwrap());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    let learnt = "A flaky test is fixed when it passes ten times.";
    let steps = [
        json!({"nothing yet": [[], 0]}),
        json!({"recorded": {"title": "Run flaky tests ten times", "outcome": "success", "confidence": 0.8}}),
        json!({"a warning": "failure"}),
        json!({"found": [["Run flaky tests ten times", "success"], ["Skip flaky tests", "failure"]]}),
        json!({"a memory": {"title": "Run flaky tests ten times", "content": learnt, "outcome": "success",
            "confidence": 0.8, "tags": ["go", "testing"]}}),
        json!({"it helped": [true, true, true]}),
        json!({"it worked": [true, true]}),
        json!({"shop": [false]}),
        json!({"bank": [true]}),
        json!({"vault": "error: project_id: this server serves no project vault"}),
        json!({"nowhere": "error: project_id: this server serves no project nowhere"}),
        json!({"preview": [1, 2, 1, 3]}),
        json!({"consolidated": [1, 2, 1, 3]}),
        json!({"too soon": [0, 0, 0, 0]}),
        json!({"one of them": [1, true]}),
        json!({"ended": [2, ["success", "failure"]]}),
    ];
    assert_eq!(lines_of(&ran.stdout), steps);
    let recorded =
        home.run("rsv-view", &["-p", "shop", "--kind", "memory", "--state", "all", "-n", "100"], "");
    let recorded = lines_of(&recorded.ok());
    assert_eq!(
        (&recorded[0]["session_id"], &recorded[0]["completed_at"]),
        (&json!("session-1"), &json!("2026-11-20T10:00:00Z"))
    );
    home.check();
}
