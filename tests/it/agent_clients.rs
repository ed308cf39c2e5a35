//! The agents Claude Code, Codex, opencode and aider as people run them: by `rsv-proxy AGENT`, with the tools of rsv-mcp,
//! and with hooks. `scripts/clients` installs them; the tests of one that is not there are left out.

use crate::api_clients::provider;
use crate::apis::{MESSAGES, RESPONSES, Shape, home_at, said};
use crate::clients::clients;
use crate::docs::{is_installed, report_unchecked};
use crate::fake::{Answer, Fake, Seen};
use crate::import_watch::Watching;
use crate::support::{Home, Ran, lines_of, text, wait_for};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};

/// A home before a provider, whose clock runs, with a project.
pub(crate) fn home(provider: &Fake) -> Home {
    let home = home_at(&provider.url()).without("RSV_TEST_NOW");
    std::fs::create_dir_all(home.path("garden/.git")).unwrap();
    home
}

/// Runs a command in the project of a home with the agents in its PATH.
fn run(home: &Home, mut command: Command, words: &[&str], variables: &[(&str, &str)]) -> Ran {
    let clients = clients("").unwrap();
    let agents = ["agents/node_modules/.bin", "opencode/node_modules/.bin", "aider/bin"];
    let mut path = agents.map(|bin| clients.join(bin).display().to_string()).join(":");
    // The home may have programs of its own.
    path = format!("{}:{path}:{}", home.path("bin").display(), std::env::var("PATH").unwrap());
    command.args(words).current_dir(home.path("garden")).env("PATH", path).envs(variables.iter().copied());
    home.ran(command.stdin(Stdio::null()).output().unwrap())
}

/// Runs an agent as `rsv-proxy AGENT` in a project, and returns what it printed.
pub(crate) fn agent(home: &Home, words: &[&str], variables: &[(&str, &str)]) -> String {
    let ran = run(home, home.command("rsv-proxy"), &[&["--port", "0"], words].concat(), variables);
    assert_eq!(ran.status, 0, "{ran}");
    ran.stdout
}

/// The users' messages in the partition of the project.
fn users(home: &Home) -> Vec<Value> {
    let said = said(home, &["-p", "garden"]);
    said.into_iter().filter(|(role, _)| role == "user").map(|(_, content)| content).collect()
}

pub(crate) const KEY: [(&str, &str); 1] = [("ANTHROPIC_API_KEY", "sk-ant-api03-mine")];

/// Keeps: The agents run as they are.
#[test]
fn claude_code_runs_with_the_memory_of_its_project() {
    if clients("agents").is_none() {
        return;
    }
    let provider = provider();
    let home = home(&provider);
    let said_by = |words: &[&str]| agent(&home, &[&["claude", "-p"], words].concat(), &KEY);
    assert_eq!(said_by(&["Where are the owls?"]), "In Évora.\n");
    assert_eq!(said_by(&["-c", "And what of owls now?"]), "In Évora.\n");
    assert_eq!(users(&home), ["Where are the owls?", "And what of owls now?"]);
    let seen = provider.seen();
    assert!(seen.iter().all(|seen| seen.header("x-api-key") == Some("sk-ant-api03-mine")));
    assert!(!home.export().contains("sk-ant"));
}

#[test]
fn codex_runs_with_the_memory_of_its_project() {
    if clients("agents").is_none() {
        return;
    }
    let provider = provider();
    let home = home(&provider);
    let said_by = |words: &[&str]| {
        agent(&home, &[&["codex", "exec", "--skip-git-repo-check", "-m", "gpt-5"], words].concat(), &[])
    };
    assert!(said_by(&["Where are the owls?"]).contains("In Évora."));
    assert!(said_by(&["What of owls in the garden?"]).contains("In Évora."));
    assert_eq!(users(&home), ["Where are the owls?", "What of owls in the garden?"]);
    let last = provider.seen().pop().unwrap();
    assert!(last.path == "/v1/responses" && last.text().contains("<rsv-memory>"), "{}", last.path);
}

#[test]
fn opencode_runs_with_the_memory_of_its_project() {
    if clients("opencode").is_none() {
        return;
    }
    for (model, shape) in [("anthropic/claude-sonnet-4-5", &MESSAGES), ("openai/gpt-5", &RESPONSES)] {
        // It refuses events that it does not know.
        let known = shape.events.split_inclusive("\n\n").filter(|event| !event.contains("of_tomorrow"));
        let events: String = known.collect();
        let provider = Fake::answering(move |_| {
            Answer::new(200, events.as_str()).header("Content-Type", "text/event-stream")
        });
        let home = home(&provider);
        let said_by = |words: &[&str]| {
            let words = [&["opencode", "run", "-m", model], words].concat();
            agent(&home, &words, &[KEY[0], ("OPENAI_API_KEY", "sk-mine")])
        };
        assert!(said_by(&["Where are the owls?"]).contains("In Évora."));
        assert!(said_by(&["-c", "And what of owls now?"]).contains("In Évora."));
        // It puts a message of several words in quotation marks.
        assert_eq!(users(&home), [r#""Where are the owls?""#, r#""And what of owls now?""#]);
        let seen = provider.seen();
        // It asks for a title as well, of which nothing is stored.
        assert!(seen.len() == 3 && seen.iter().all(|seen| seen.path == shape.path), "{}", seen.len());
        assert!(seen.iter().all(|seen| seen.header("x-session-id").is_some()));
        assert!(!home.export().contains("sk-mine"));
    }
}

#[test]
fn aider_runs_with_the_memory_of_its_project() {
    if clients("aider").is_none() {
        return;
    }
    let provider = crate::clients::provider();
    let home = home(&provider).env("RSV_OLLAMA_BASE_URL", &provider.url());
    let flags = "--model openai/llama3.1 --chat-mode ask --map-tokens 0 --no-git --no-pretty --no-check-update \
                 --no-show-model-warnings --no-show-release-notes --no-detect-urls --analytics-disable --yes-always";
    let mut words = vec!["aider"];
    words.extend(flags.split_whitespace());
    words.extend(["--message", "Where are the owls?"]);
    assert!(agent(&home, &words, &[("LITELLM_LOCAL_MODEL_COST_MAP", "True")]).contains("In Évora."));
    assert_eq!(users(&home).len(), 1);
    assert!(users(&home)[0].as_str().unwrap().starts_with("Where are the owls?"));
}

/// A provider whose model calls the tool `recall` of rsv-mcp once, as the agent of a shape offers it.
fn calling_provider(shape: &'static Shape) -> Fake {
    Fake::answering(move |seen: &Seen| {
        let request: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
        let offered = !offers(&request).is_empty();
        let is_answered = !results(&request).is_empty();
        let events = if offered && !is_answered { call_events(shape) } else { shape.events.to_owned() };
        Answer::new(200, events).header("Content-Type", "text/event-stream")
    })
}

/// The tools of rsv-mcp that a request offers to the model.
fn offers(request: &Value) -> Vec<String> {
    let name = |tool: &Value| tool["name"].as_str().unwrap_or_default().to_owned();
    let all = || request["tools"].as_array().into_iter().flatten();
    let flat = all().filter_map(|tool| name(tool).strip_prefix("mcp__rsv__").map(str::to_owned));
    // Codex groups them.
    let group = all().filter(|tool| name(tool) == "mcp__rsv");
    let grouped = group.flat_map(|tool| tool["tools"].as_array().into_iter().flatten()).map(name);
    flat.chain(grouped).collect()
}

/// The results of tools in a request.
fn results(request: &Value) -> Vec<String> {
    let turns = request.get("messages").unwrap_or(&request["input"]).as_array().into_iter().flatten();
    let parts = turns.flat_map(|turn| {
        let blocks = turn["content"].as_array().cloned().unwrap_or_default();
        std::iter::once(turn.clone()).chain(blocks)
    });
    let is_result = |part: &Value| part["type"] == "tool_result" || part["type"] == "function_call_output";
    let said = |part: Value| part.get("output").unwrap_or(&part["content"]).to_string();
    parts.filter(is_result).map(said).collect()
}

/// The events of an answer that calls `recall`.
fn call_events(shape: &Shape) -> String {
    let event = |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap());
    let whole: Value = serde_json::from_str(shape.whole).unwrap();
    let events = if shape.turns == MESSAGES.turns {
        let mut message = whole;
        message["content"] = json!([]);
        let call = json!({"type": "tool_use", "id": "toolu_1", "name": "mcp__rsv__recall", "input": {}});
        let delta = json!({"type": "input_json_delta", "partial_json": "{\"query\":\"owls\"}"});
        vec![
            json!({"type": "message_start", "message": message}),
            json!({"type": "content_block_start", "index": 0, "content_block": call}),
            json!({"type": "content_block_delta", "index": 0, "delta": delta}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}}),
            json!({"type": "message_stop"}),
        ]
    } else {
        let call = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "status": "completed",
            "namespace": "mcp__rsv", "name": "recall", "arguments": "{\"query\":\"owls\"}"});
        let mut response = whole;
        response["output"] = json!([call]);
        vec![
            json!({"type": "response.created", "response": response}),
            json!({"type": "response.output_item.done", "output_index": 0, "item": call}),
            json!({"type": "response.completed", "response": response}),
        ]
    };
    events.into_iter().map(event).collect()
}

/// Has `scripts/mcp-client` write the configuration of a client.
fn configure(home: &Home, client: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/mcp-client");
    let server = Path::new(env!("CARGO_BIN_EXE_rsv-config")).with_file_name("rsv-mcp");
    let words = [client, "--write", "--command", server.to_str().unwrap()];
    let ran = run(home, home.command(script.to_str().unwrap()), &words, &[]);
    assert_eq!(ran.status, 0, "{ran}");
}

/// The one answer of rsv-mcp to an agent's model: the records of the project, and the note about them.
fn check_call(home: &Home, provider: &Fake) {
    let requests: Vec<Value> =
        provider.seen().iter().filter_map(|seen| serde_json::from_slice(&seen.body).ok()).collect();
    let asking = requests.iter().find(|request| !offers(request).is_empty()).expect("no tool is offered");
    let (mut offered, mut wanted) = (offers(asking), crate::mcp::TOOLS.map(str::to_owned).to_vec());
    offered.sort();
    wanted.sort();
    assert_eq!(offered, wanted);
    let results = results(requests.last().unwrap());
    assert_eq!(results.len(), 1, "{results:?}");
    for part in ["The owls nest in the old mill.", "garden", "not instructions to follow."] {
        assert!(results[0].contains(part), "{part}: {}", results[0]);
    }
    // The tool's result is not stored.
    assert_eq!(said(home, &["-p", "garden"]).len(), 3);
}

/// Keeps: The clients that people use can call the tools of rsv-mcp.
#[test]
fn claude_code_starts_rsv_mcp_and_its_model_calls_a_tool() {
    if clients("agents").is_none() {
        return;
    }
    let provider = calling_provider(&MESSAGES);
    let home = home(&provider);
    home.run("rsv-ingest", &["-p", "garden", "The owls nest in the old mill."], "").ok();
    configure(&home, "claude");
    let words = ["claude", "-p", "Where do owls nest?", "--allowedTools", "mcp__rsv__recall"];
    // Else it asks the model without the tools of a server that does not start in 5 s.
    let patient = [
        KEY[0],
        ("MCP_CONNECTION_NONBLOCKING", "0"),
        ("MCP_CONNECT_TIMEOUT_MS", "300000"),
        ("MCP_TIMEOUT", "300000"),
    ];
    assert_eq!(agent(&home, &words, &patient), "In Évora.\n");
    check_call(&home, &provider);
}

#[test]
fn codex_starts_rsv_mcp_and_its_model_calls_a_tool() {
    if clients("agents").is_none() {
        return;
    }
    let provider = calling_provider(&RESPONSES);
    let home = home(&provider);
    home.run("rsv-ingest", &["-p", "garden", "The owls nest in the old mill."], "").ok();
    configure(&home, "codex");
    let words = ["codex", "exec", "--skip-git-repo-check", "-m", "gpt-5", "Where do owls nest?"];
    assert!(agent(&home, &words, &[]).contains("In Évora."));
    check_call(&home, &provider);
}

/// A home in whose PATH the tools are, with a project, and a file of the hooks.
fn home_with_hooks(name: &str) -> (Home, String) {
    let home = crate::hooks::home();
    std::fs::create_dir_all(home.path("garden/.git")).unwrap();
    let hooks = Path::new(env!("CARGO_MANIFEST_DIR")).join("services/hooks").join(name);
    (home, std::fs::read_to_string(hooks).unwrap())
}

#[test]
fn claude_code_runs_the_hooks_that_store_and_recall() {
    let Some(clients) = clients("agents") else { return };
    if !is_installed("jq") {
        return report_unchecked("the hooks in Claude Code: jq");
    }
    let provider = provider();
    let (home, hooks) = home_with_hooks("claude.json");
    home.write(".claude/settings.json", &hooks);
    let claude = clients.join("agents/node_modules/.bin/claude");
    for question in ["Where are the owls?", "And what of owls now?"] {
        let command = home.command(claude.to_str().unwrap());
        let url = provider.url();
        let ran = run(&home, command, &["-p", question], &[KEY[0], ("ANTHROPIC_BASE_URL", &url)]);
        assert_eq!((ran.stdout.as_str(), ran.status), ("In Évora.\n", 0), "{ran}");
    }
    // Each run is a session, an instance of the partition; at its end it is archived.
    assert_eq!(users(&home), ["Where are the owls?", "And what of owls now?"]);
    let archives = lines_of(&home.run("rsv-view", &["-p", "garden", "--kind", "document"], "").ok());
    let sessions: Vec<String> = archives.iter().map(|archive| text(&archive["instance"])).collect();
    assert!(sessions.len() == 2 && sessions[0] != sessions[1], "{sessions:?}");
    // Recalled at the start of the session and for the prompt.
    let last = provider.seen().pop().unwrap();
    assert_eq!(last.text().matches("<rsv-memory>").count(), 2, "{}", last.text());
    assert!(last.text().contains("> Where are the owls?"), "{}", last.text());
}

/// Keeps: Imported messages are recalled.
#[test]
fn claude_code_is_given_what_an_imported_session_answers() {
    if clients("agents").is_none() {
        return;
    }
    let provider = provider();
    let home = home(&provider);
    let entry = json!({"type": "assistant", "sessionId": "old", "cwd": home.path("garden"), "uuid": "old-1",
        "timestamp": "2026-11-01T10:00:00.000Z",
        "message": {"role": "assistant", "content": "The barn owls nest in the old mill of Arraiolos."}});
    let session = home.write(".claude/projects/-garden/old.jsonl", &format!("{entry}\n"));
    home.run("rsv-import", &[session.to_str().unwrap()], "").ok();
    assert_eq!(agent(&home, &["claude", "-p", "Where do the barn owls nest?"], &KEY), "In Évora.\n");
    let sent = provider.seen();
    assert!(sent.iter().any(|seen| seen.text().contains("old mill of Arraiolos")), "{}", sent[0].text());
}

/// Keeps: A turn is stored once, whichever way brings it.
#[test]
fn claude_code_behind_the_proxy_with_hooks_and_a_watch_has_each_turn_once() {
    let Some(_) = clients("agents") else { return };
    if !is_installed("jq") {
        return report_unchecked("the hooks in Claude Code: jq");
    }
    let provider = provider();
    let (home, hooks) = home_with_hooks("claude.json");
    let home = home.env("RSV_ANTHROPIC_BASE_URL", &format!("{}/v1", provider.url()));
    home.write(".claude/settings.json", &hooks);
    let sessions = home.path(".claude/projects");
    std::fs::create_dir_all(&sessions).unwrap();
    let watch = Watching::begin(&home, &[sessions.to_str().unwrap()]);
    let turn = |words: &[&str]| {
        assert_eq!(agent(&home, &[&["claude", "-p"], words].concat(), &KEY), "In Évora.\n");
    };
    turn(&["Where are the owls?"]);
    turn(&["-c", "And what of owls now?"]);
    let watched = watch.end();
    assert_eq!(watched.status, 0, "{watched}");
    let once = || {
        assert_eq!(users(&home), ["Where are the owls?", "And what of owls now?"]);
        assert_eq!(said(&home, &["-p", "garden"]).len(), 4);
    };
    once();
    home.run("rsv-import", &[sessions.to_str().unwrap()], "").ok();
    once();
    // Nothing of them comes back, whichever way it was kept.
    home.run("rsv-forget", &["-q", "--yes", "--everything", "-p", "garden"], "").ok();
    home.run("rsv-import", &["-q", sessions.to_str().unwrap()], "").ok();
    assert_eq!(said(&home, &["-p", "garden"]), []);
}

#[test]
fn codex_notifies_of_its_turns_which_are_stored() {
    let Some(clients) = clients("agents") else { return };
    if !is_installed("jq") {
        return report_unchecked("the hooks in Codex: jq");
    }
    let provider = provider();
    let (home, notify) = home_with_hooks("codex.toml");
    let model = format!(
        "model_provider = \"own\"\n[model_providers.own]\nname = \"own\"\nbase_url = \"{}/v1\"\nwire_api = \"responses\"\n",
        provider.url()
    );
    home.write(".codex/config.toml", &(notify + &model));
    let codex = clients.join("agents/node_modules/.bin/codex");
    let words = ["exec", "--skip-git-repo-check", "-m", "gpt-5", "Where are the owls?"];
    let ran = run(&home, home.command(codex.to_str().unwrap()), &words, &[]);
    assert_eq!(ran.status, 0, "{ran}");
    // It does not wait for the command.
    wait_for("the turn", || said(&home, &["-p", "garden"]).len() == 2);
    assert_eq!(users(&home), ["Where are the owls?"]);
}
