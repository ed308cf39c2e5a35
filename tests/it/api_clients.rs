//! The official SDKs of Anthropic and of OpenAI with its Responses before rsv-proxy. `scripts/clients` installs them; the
//! tests of one that is not there are left out.

use crate::apis::{MESSAGES, RESPONSES, home_at, said};
use crate::clients::clients;
use crate::fake::{Answer, Fake, Seen};
use crate::proxy::Proxy;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// The user's last words in a request.
fn question(request: &Value) -> String {
    let turns = request.get("messages").unwrap_or(&request["input"]);
    let mut users = turns.as_array().into_iter().flatten().filter(|turn| turn["role"] == "user");
    let last = users.rfind(|turn| !turn.to_string().contains("tool_result"));
    let content = last.map_or(turns, |turn| &turn["content"]);
    let mut texts = content.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    let text = content.as_str().or(texts.next_back()).unwrap_or_default();
    text.lines().rfind(|line| line.contains('?')).unwrap_or_default().to_owned()
}

/// A provider of both APIs, which answers by what it is asked.
pub(crate) fn provider() -> Fake {
    let mut busy = 0;
    Fake::answering(move |seen: &Seen| {
        let request: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
        let question = question(&request);
        let shape = if seen.path.contains("/messages") { &MESSAGES } else { &RESPONSES };
        if seen.path.contains("count_tokens") {
            return Answer::new(200, "{\"input_tokens\":7}");
        }
        let refused = |status, why: &str| {
            let error = json!({"type": "error", "error": {"type": "invalid_request_error", "message": why, "code": null}});
            Answer::new(status, error.to_string())
        };
        if question == "refused?" {
            return refused(400, "nobody may ask this");
        }
        if question == "busy?" {
            busy += 1;
            if busy % 2 == 1 {
                return refused(529, "later").header("retry-after-ms", "10");
            }
        }
        let text = request.to_string();
        let is_answered = text.contains("tool_result") || text.contains("function_call_output");
        let mut whole: Value = serde_json::from_str(shape.whole).unwrap();
        if request["tools"].is_array() && question == "tools?" && !is_answered {
            if shape.turns == "messages" {
                whole["content"] = json!([{"type": "tool_use", "id": "call_1", "name": "locate", "input": {"place": "chapel"}}]);
                whole["stop_reason"] = json!("tool_use");
            } else {
                whole["output"] = json!([{"type": "function_call", "id": "fc_1", "call_id": "call_1", "status": "completed",
                    "name": "locate", "arguments": "{\"place\":\"chapel\"}"}]);
            }
        }
        if request["stream"] == true {
            return Answer::new(200, shape.events).header("Content-Type", "text/event-stream");
        }
        Answer::new(200, whole.to_string())
    })
}

/// Runs a script of a client with two addresses, without and with a scope.
fn story(part: &str, program: &str, script: &str, printed: &str, last: &str) {
    let Some(clients) = clients(part) else { return };
    let provider = provider();
    let home = home_at(&provider.url()).without("RSV_TEST_NOW");
    let proxy = Proxy::start(&home);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/clients").join(script);
    // Neither Python nor Node may take it for what it imports; Node looks for that beside it.
    let own = home.path("client").with_extension(script.extension().unwrap());
    std::fs::copy(&script, &own).unwrap();
    std::os::unix::fs::symlink(clients.join("agents/node_modules"), home.path("node_modules")).unwrap();
    let program = if program.contains('/') { clients.join(program) } else { program.into() };
    let base = format!("http://127.0.0.1:{}", proxy.port());
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap())
        .env("HOME", home.path(""))
        .current_dir(home.path(""));
    command.arg(own).args([base.clone(), base + "/partition/p/instance/i"]);
    let ran = home.ran(command.output().unwrap());
    assert_eq!(ran.stdout, printed.repeat(2), "{ran}");
    proxy.settle();
    for scope in [&[][..], &["-p", "p", "-i", "i"]] {
        let stored = said(&home, scope);
        let users: Vec<String> = stored
            .iter()
            .filter(|(role, _)| role == "user")
            .map(|(_, content)| {
                content
                    .as_str()
                    .map_or_else(|| content[1]["text"].as_str().unwrap().to_owned(), str::to_owned)
            })
            .collect();
        let mut wanted = vec!["plain?", "streamed?", "tools?", "image?", "busy?"];
        wanted.extend((!last.is_empty()).then_some(last));
        assert_eq!(users, wanted, "{script:?}");
        let answers = stored.iter().filter(|(role, _)| role == "assistant").count();
        assert_eq!(answers, wanted.len(), "{script:?}: {stored:?}");
    }
    assert!(!home.export().contains("sk-"));
    home.check();
}

const ANTHROPICS: &str = "plain: In Évora.
streamed: In Évora.
tools: locate chapel In Évora.
image: In Évora.
refused: 400 nobody may ask this
busy: In Évora.
counted: 7
";

const RESPONSES_OUTPUT: &str = "plain: In Évora.
streamed: In Évora.
tools: locate {\"place\":\"chapel\"} In Évora.
image: In Évora.
refused: 400 nobody may ask this
busy: In Évora.
later: In Évora.
";

#[test]
fn anthropic_for_python() {
    story("anthropic", "anthropic/bin/python", "anthropic.py", ANTHROPICS, "");
}

#[test]
fn anthropic_for_node() {
    story("agents", "node", "anthropic.mjs", ANTHROPICS, "");
}

#[test]
fn openais_responses_for_python() {
    story("python", "python/bin/python", "responses.py", RESPONSES_OUTPUT, "later?");
}

#[test]
fn openais_responses_for_node() {
    story("agents", "node", "responses.mjs", RESPONSES_OUTPUT, "later?");
}
