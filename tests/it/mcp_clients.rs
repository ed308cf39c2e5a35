//! Clients of the Model Context Protocol that people use, before rsv-mcp: the official ones for Python and TypeScript, and
//! the command line of the inspector. `scripts/clients` installs them; those that are not there are left out.

use crate::clients::clients;
use crate::support::{Home, lines_of};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A home with the model of the tests, a document, and a project that a client has as its root.
fn home() -> Home {
    let home = Home::with_model();
    std::fs::create_dir_all(home.path("work/owls/.git")).unwrap();
    let document = r#"{"kind":"document","uri":"viking://resources/notes","title":"Notes","content":"The cellar is cold."}"#;
    home.ingest(&["-p", "owls"], document);
    home
}

/// The server, as a client starts it.
fn server() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_rsv-config")).with_file_name("rsv-mcp")
}

/// The output of a client step by step, the same in every language.
fn steps() -> Vec<Value> {
    let uri = "viking://resources/notes";
    let mut tools: Vec<&str> = crate::mcp::TOOLS.to_vec();
    tools.push("forget");
    vec![
        json!({"tools": tools}),
        json!({"remember": "owls"}),
        json!({"recall": ["The owl hunts by the old wall at night."]}),
        json!({"memory_record": [0.8, 0.8]}),
        json!({"memory_search": ["Feed owls at night", "Feed owls in the night"]}),
        json!({"memory_feedback": true}),
        json!({"memory_outcome": true}),
        json!({"memory_consolidate": [1, 2]}),
        json!({"progress": [true, true]}),
        json!({"session_end": 2}),
        json!({"context_search": 1}),
        json!({"context_list": uri}),
        json!({"context_read": "The cellar is cold."}),
        json!({"forget": 2}),
        json!({"error": [true, ["error: there is no argument \"question\"",
            "hint: the arguments are query, limit, by, kinds, roles, session_id, since, until, file, command, failed"]]}),
        json!({"resources": ["viking://~/memories", uri]}),
        json!({"read": true}),
        json!({"templates": 4}),
        json!({"prompts": ["recall-before-you-begin", "record-what-was-learnt"]}),
        json!({"prompt": true}),
        json!({"cancelled": true}),
        json!({"at once": 50}),
    ]
}

/// Runs a client's script; what it prints, and what is stored, must be right.
fn run(home: &Home, mut command: Command, words: &[&str]) {
    let root = home.path("work/owls").display().to_string();
    command.args(words).arg(root).arg(server()).args(["--allow-forget"]);
    command.env_clear().env("PATH", std::env::var("PATH").unwrap()).env("HOME", home.path(""));
    command.current_dir(home.path(""));
    let ran = home.ran(command.output().unwrap());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    assert_eq!(lines_of(&ran.stdout), steps());
    let stored = home.contents("rsv-view", &["-p", "owls", "-n", "100"]);
    assert_eq!(stored.iter().filter(|text| text.starts_with("Number ")).count(), 50);
    home.check();
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/clients").join(name)
}

/// Keeps: The clients that people use can call the tools of rsv-mcp.
#[test]
fn the_official_client_for_python() {
    let Some(clients) = clients("mcp") else { return };
    for mode in ["legacy", "auto"] {
        let home = home();
        // Beside the package of the same name, the script could not import it.
        let own = home.path("client.py");
        std::fs::copy(script("mcp.py"), &own).unwrap();
        let mut command = Command::new(clients.join("mcp/bin/python"));
        command.arg(own);
        run(&home, command, &[mode]);
    }
}

/// Keeps: The clients that people use can call the tools of rsv-mcp.
#[test]
fn the_official_client_for_typescript() {
    let Some(clients) = clients("mcp-node") else { return };
    let home = home();
    let own = home.path("client.mjs");
    std::fs::copy(script("mcp.mjs"), &own).unwrap();
    std::os::unix::fs::symlink(clients.join("mcp-node/node_modules"), home.path("node_modules")).unwrap();
    let mut command = Command::new("node");
    command.arg(own);
    run(&home, command, &[]);
}

#[test]
fn the_command_line_of_the_inspector() {
    let Some(clients) = clients("mcp-node") else { return };
    let home = home();
    let inspect = |words: &[&str]| {
        let mut command = Command::new("node");
        command.arg(clients.join("mcp-node/node_modules/.bin/mcp-inspector")).arg("--cli").arg(server());
        command.args(["-p", "owls"]).args(words);
        command.env_clear().env("PATH", std::env::var("PATH").unwrap()).env("HOME", home.path(""));
        let ran = home.ran(command.current_dir(home.path("")).output().unwrap());
        assert_eq!(ran.status, 0, "{words:?}: {ran}");
        serde_json::from_str::<Value>(&ran.stdout).unwrap()
    };
    let tools = inspect(&["--method", "tools/list", "--strict"]);
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, crate::mcp::TOOLS);
    let call = ["--method", "tools/call", "--tool-name", "remember", "--tool-arg", "text=A warm wall."];
    assert_eq!(inspect(&call)["structuredContent"]["partition"], "owls");
    assert_eq!(home.contents("rsv-view", &["-p", "owls"]), ["A warm wall."]);
    let read = inspect(&["--method", "resources/read", "--uri", "viking://resources/notes"]);
    assert!(read["contents"][0]["text"].as_str().unwrap().contains("\n> The cellar is cold.\n"), "{read}");
}
