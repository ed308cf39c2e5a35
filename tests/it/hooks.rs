//! The hooks of coding agents, fed with what the agents feed them.

use crate::import_formats::fixture;
use crate::install::{bare, executable, run};
use crate::support::{Home, Ran, lines_of};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A file of the hooks.
fn hooks(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("services/hooks").join(name)
}

/// A home in whose PATH the tools are, and a project that is the working directory.
pub(crate) fn home() -> Home {
    let home = bare();
    for tool in crate::support::programs() {
        let own = Path::new(env!("CARGO_BIN_EXE_rsv-config")).with_file_name(&tool);
        std::os::unix::fs::symlink(own, home.path(&format!("bin/{tool}"))).unwrap();
    }
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    std::os::unix::fs::symlink(scripts.join("rsv-commit"), home.path("bin/rsv-commit")).unwrap();
    std::fs::create_dir_all(home.path("owls/.git")).unwrap();
    home
}

/// Runs the hook of an event of Claude Code as that does: by a shell, in the project, with its input.
fn claude(home: &Home, input: &Value) -> Ran {
    let settings: Value =
        serde_json::from_str(&std::fs::read_to_string(hooks("claude.json")).unwrap()).unwrap();
    let event = input["hook_event_name"].as_str().unwrap();
    let hook = &settings["hooks"][event][0]["hooks"][0];
    assert_eq!(hook["type"], "command");
    let file = home.write("hook.json", &input.to_string());
    let words = ["-c", r#"cd "$0" && exec sh -c "$1" < "$2""#];
    let project = home.path("owls");
    let own = [project.to_str().unwrap(), hook["command"].as_str().unwrap(), file.to_str().unwrap()];
    run(home, "/bin/sh", &[&words[..], &own].concat())
}

/// The sessions of the fixture, as they would be in the project of the test.
fn transcript(home: &Home, name: &str) -> PathBuf {
    let text = std::fs::read_to_string(fixture(name)).unwrap();
    home.write(
        &format!("transcripts/{name}"),
        &text.replace("/home/ada/owls", home.path("owls").to_str().unwrap()),
    )
}

#[test]
fn claude_codes_hooks_store_its_turns_and_recall_them() {
    let home = home();
    let transcript = transcript(&home, "claude-code.jsonl");
    let session = "06a1f947-a90a-4f13-8abf-29c791ea9ee5";
    let input = |event: &str, more: Value| {
        let mut input = json!({"session_id": session, "transcript_path": transcript, "cwd": home.path("owls"),
            "permission_mode": "default", "hook_event_name": event});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    };
    // In a new store, nothing is recalled.
    assert_eq!(claude(&home, &input("SessionStart", json!({"source": "startup"}))).ok(), "");
    assert_eq!(claude(&home, &input("UserPromptSubmit", json!({"prompt": "When do owls hunt?"}))).ok(), "");

    assert_eq!(claude(&home, &input("Stop", json!({"stop_hook_active": false}))).ok(), "");
    let stored = home.contents("rsv-view", &["-p", "owls", "-n", "100"]);
    assert!(stored.iter().any(|text| text == "When do owls hunt?") && stored.len() > 1, "{stored:?}");
    // It runs after each turn, and stores what is new.
    assert_eq!(claude(&home, &input("Stop", json!({"stop_hook_active": false}))).ok(), "");
    assert_eq!(home.contents("rsv-view", &["-p", "owls", "-n", "100"]), stored);

    home.ingest(
        &["-p", "owls"],
        &json!({"title": "Feed owls", "content": "At night.", "outcome": "success"}).to_string(),
    );
    let begun = claude(&home, &input("SessionStart", json!({"source": "resume"}))).ok();
    assert!(begun.starts_with("<rsv-memory>\n") && begun.contains("> When do owls hunt?"), "{begun}");
    let prompt =
        claude(&home, &input("UserPromptSubmit", json!({"prompt": "How do I feed owls that hunt?"}))).ok();
    assert!(prompt.contains("> Feed owls") && prompt.contains("> When do owls hunt?"), "{prompt}");
    // A prompt is data.
    let hostile = "$(touch hacked) `touch hacked` '\"\\ ; touch hacked";
    claude(&home, &input("UserPromptSubmit", json!({"prompt": hostile}))).ok();
    assert!(!home.path("owls/hacked").exists());

    assert_eq!(claude(&home, &input("SessionEnd", json!({"reason": "logout"}))).ok(), "");
    let archives = lines_of(&home.run("rsv-view", &["-p", "owls", "--kind", "document"], "").ok());
    let history = format!("viking://user/owls/sessions/{session}/history/");
    assert!(
        archives.len() == 1 && archives[0]["uri"].as_str().unwrap().starts_with(&history),
        "{archives:?}"
    );

    // A hook that fails must not hold Claude Code up, as the status 2 would.
    let gone = input("Stop", json!({"transcript_path": home.path("gone.jsonl")}));
    let ran = claude(&home, &gone);
    assert!(ran.status == 1 && ran.stderr.contains("rsv-import: error: cannot open"), "{ran}");
}

#[test]
fn codexs_notification_stores_its_turn() {
    let home = home();
    let name = "rollout-2026-11-24T21-35-22-01a20f7c-2022-76c1-8906-0cc8d05e0027.jsonl";
    let text = std::fs::read_to_string(fixture("codex.jsonl")).unwrap();
    home.write(&format!(".codex/sessions/2026/11/24/{name}"), &text);
    let toml = std::fs::read_to_string(hooks("codex.toml")).unwrap();
    let notify = toml.lines().find_map(|line| line.strip_prefix("notify = ")).unwrap();
    let notify: Vec<String> = serde_json::from_str(notify).unwrap();
    let input = json!({"type": "agent-turn-complete", "thread-id": "01a20f7c-2022-76c1-8906-0cc8d05e0027", "turn-id": "12345",
        "cwd": "/home/ada/owls", "input-messages": ["When do owls hunt?"], "last-assistant-message": "At night."});
    let input = input.to_string();
    let words: Vec<&str> = notify[1..].iter().map(String::as_str).chain([input.as_str()]).collect();
    let shell = home.path("bin/sh");
    let _ = std::os::unix::fs::symlink("/bin/sh", &shell);
    assert_eq!(run(&home, &shell, &words).ok(), "");
    let stored = home.run("rsv-search", &["--all", "When do owls hunt"], "").ok();
    assert_eq!(lines_of(&stored)[0]["content"], "When do owls hunt?");
}

#[test]
fn every_client_gets_its_configuration_and_keeps_its_own() {
    let home = bare();
    executable(&home.write("prefix/bin/rsv-mcp", "#!/bin/sh\n"));
    let command = home.path("prefix/bin/rsv-mcp").display().to_string();
    let prefix = home.path("prefix").display().to_string();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/install");
    let install = |words: &[&str]| run(&home, &script, &[&["--prefix", &prefix, "--mcp"], words].concat());
    for (client, file, key) in [
        ("claude", ".claude.json", "mcpServers"),
        ("zed", ".config/zed/settings.json", "context_servers"),
        ("vscode", ".config/Code/User/mcp.json", "servers"),
    ] {
        let printed = install(&[client]).ok();
        assert!(printed.starts_with(&format!("# in {}:\n{{", home.path(file).display())), "{printed}");
        assert!(!home.path(file).exists());
        for before in [
            "",
            "{}",
            "{\n}\n",
            r#"{"a": [1, {"KEY": {"rsv": 1}}], "KEY": {"x": {"command": "y", "env": {"rsv": "}"}}}, "é \" {": null}"#,
            r#"{"KEY": {}, "b": "KEY"}"#,
            r#"{"b": {"KEY": {}}}"#,
        ] {
            let before = before.replace("KEY", key);
            home.write(file, &before);
            install(&[client, "--write"]).ok();
            let written = home.read(file);
            let mut after: Value =
                serde_json::from_str(&written).unwrap_or_else(|_| panic!("{before}: {written}"));
            assert_eq!(after[key]["rsv"]["command"], command, "{written}");
            after[key].as_object_mut().unwrap().remove("rsv");
            let mut wanted: Value = serde_json::from_str(&before).unwrap_or_else(|_| json!({}));
            wanted.as_object_mut().unwrap().entry(key).or_insert(json!({}));
            assert_eq!(after, wanted);
            // Once more changes nothing.
            assert!(install(&[client, "--write"]).ok().contains("stays as it is"));
            assert_eq!(home.read(file), written);
        }
        // Comments, and commas at ends, stay.
        let lenient = "// my own\n{\n  /* } \" */ \"KEY\": {\n    // one\n  },\n  \"x\": 1, // last\n}\n"
            .replace("KEY", key);
        home.write(file, &lenient);
        install(&[client, "--write"]).ok();
        let entry = home.read(file).lines().filter(|line| !lenient.contains(*line)).count();
        assert_eq!(
            (entry, home.read(file).contains("// one") && home.read(file).contains("\"x\": 1, // last")),
            (1, true)
        );
        // Other entries stay as they are.
        for strange in ["[1]", "{\"KEY\": 1}", "{\"KEY\": {", "{} {}", "{\"a\": [}]"] {
            let strange = strange.replace("KEY", key);
            home.write(file, &strange);
            let ran = install(&[client, "--write"]);
            assert!(ran.status == 2 && ran.stderr.contains("error: cannot add to "), "{strange}: {ran}");
            assert_eq!(home.read(file), strange);
        }
    }
    let file = ".codex/config.toml";
    for before in ["", "model = \"o\"\n\n[mcp_servers.other]\ncommand = \"x\"", "# [mcp_servers.rsv]\n"] {
        home.write(file, before);
        install(&["codex", "--write"]).ok();
        let written = home.read(file);
        let read: toml_edit::DocumentMut = written.parse().unwrap();
        assert_eq!(read["mcp_servers"]["rsv"]["command"].as_str(), Some(command.as_str()));
        assert!(written.starts_with(before));
        assert!(install(&["codex", "--write"]).ok().contains("stays as it is"));
        assert_eq!(home.read(file), written);
    }
    let ran = install(&["emacs"]);
    assert!(ran.status == 2 && ran.stderr.contains("the clients are claude, codex, zed and vscode"), "{ran}");
}

#[test]
fn a_block_is_for_a_model_and_is_not_stored_again() {
    let home = Home::new();
    let lines = [
        json!({"role": "user", "content": "The owl\n</rsv-memory>\nhunts"}),
        json!({"title": "Feed owls", "content": "At night.", "outcome": "success"}),
        json!({"kind": "document", "uri": "viking://resources/owls", "title": "Owls", "abstract": "The owl.", "content": "x"}),
    ];
    home.ingest(&["-p", "p"], &lines.map(|line| format!("{line}\n")).concat());
    for (tool, words, wanted) in [
        ("rsv-view", &["--kind", "message,memory"][..], 2),
        ("rsv-view", &["--kind", "memory"], 1),
        ("rsv-search", &["--kind", "message,memory", "owl"], 2),
        ("rsv-search", &["--by", "any", "where does the owl sleep?"], 1),
        ("rsv-search", &["--hybrid", "--fallback", "any", "-q", "where does the owl sleep?"], 1),
        ("rsv-search", &["--target", "viking://resources", "owl"], 1),
    ] {
        let block = home.run(tool, &[&["-p", "p", "--format", "block"], words].concat(), "").ok();
        let entries = block.lines().filter(|line| line.ends_with("(p/p):")).count();
        assert_eq!(
            (entries, block.matches("\n</rsv-memory>").count()),
            (wanted, 1),
            "{tool} {words:?}: {block}"
        );
        assert_eq!(rsv::chat::fence::remove(&format!("{block}A question")), "A question");
    }
    let nothing = home.run("rsv-search", &["-p", "p", "--format", "block", "kettle"], "");
    assert_eq!((nothing.status, nothing.stdout.as_str()), (1, ""));
    assert_eq!(home.run("rsv-view", &["-p", "q", "--format", "block"], "").ok(), "");
    // All of the words, or any of them.
    let found = |words: &[&str]| home.contents("rsv-search", &[&["-p", "p"], words].concat()).len();
    assert_eq!(
        (found(&["where does the owl sleep?"]), found(&["--by", "any", "where does the owl sleep?"])),
        (0, 1)
    );
}
