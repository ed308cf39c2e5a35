//! Clients that people use, before rsv-proxy: what they print is right, and what is stored is exact, with and
//! without a path prefix. `scripts/clients` installs them into the directory RSV_TEST_CLIENTS; the tests of one that
//! is not there are left out.

use crate::fake::{Answer, Fake, Seen};
use crate::proxy::Proxy;
use crate::support::{Home, lines_of};
use crate::terminal::Terminal;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

const SAID: &str = "In Évora.";

/// Where the clients are, if that `part` of them is there.
pub(crate) fn clients(part: &str) -> Option<PathBuf> {
    let directory = PathBuf::from(std::env::var_os("RSV_TEST_CLIENTS")?);
    directory.join(part).exists().then_some(directory)
}

/// The user's question: the last line with one in the last message, since recalled text stands before it.
fn question(request: &Value) -> String {
    let last = match request.get("messages") {
        Some(messages) => &messages.as_array().unwrap().last().unwrap()["content"],
        None => &request["prompt"],
    };
    let mut texts = last.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    let text = last.as_str().or(texts.next_back()).unwrap_or_default();
    text.lines().rfind(|line| line.contains('?')).unwrap_or_default().to_owned()
}

/// The provider of all clients: it answers by what it is asked, in OpenAI's words and in Ollama's.
pub(crate) fn provider() -> Fake {
    let mut busy = 0;
    Fake::answering(move |seen| {
        let request: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
        let question = question(&request);
        let ollamas = seen.path.starts_with("/api/");
        let refused = |status, why: &str| {
            let shaped = if ollamas {
                json!({"error": why})
            } else {
                json!({"error": {"message": why, "type": "refusal", "code": null}})
            };
            Answer::new(status, shaped.to_string())
        };
        if question == "refused?" {
            return refused(400, "nobody may ask this");
        }
        if question == "busy?" {
            busy += 1;
            if busy % 2 == 1 {
                return refused(429, "later");
            }
        }
        if ollamas { in_ollamas_words(seen, &request) } else { in_openais_words(&request) }
    })
}

/// Whether a tool is to be called.
fn calls(request: &Value) -> bool {
    let offered = request["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    offered && request["messages"].as_array().unwrap().last().unwrap()["role"] != "tool"
}

fn in_openais_words(request: &Value) -> Answer {
    assert_eq!(request["model"], "llama3.1");
    if request["stream"] == true {
        let events = [
            json!({"delta": {"role": "assistant", "content": "In "}}),
            json!({"delta": {"content": "Évora."}}),
            json!({"delta": {}, "finish_reason": "stop"}),
        ]
        .map(|mut choice| {
            choice["index"] = json!(0);
            let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "llama3.1", "choices": [choice]});
            format!("data: {chunk}\n\n")
        });
        let answer = Answer::new(200, events.concat() + "data: [DONE]\n\n");
        return answer.header("Content-Type", "text/event-stream");
    }
    let call = json!({"id": "call-1", "type": "function", "function": {"name": "locate", "arguments": "{\"place\":\"chapel\"}"}});
    let (message, reason) = if calls(request) {
        (json!({"role": "assistant", "content": null, "tool_calls": [call]}), "tool_calls")
    } else {
        (json!({"role": "assistant", "content": SAID}), "stop")
    };
    let choice = json!({"index": 0, "message": message, "finish_reason": reason});
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2});
    let answer = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "llama3.1", "choices": [choice], "usage": usage});
    Answer::new(200, answer.to_string())
}

fn in_ollamas_words(seen: &Seen, request: &Value) -> Answer {
    let end = |said: Value| {
        let mut piece = json!({"model": "llama3.1", "created_at": "2026-11-21T07:03:00Z", "done": true, "done_reason": "stop"});
        piece.as_object_mut().unwrap().extend(said.as_object().unwrap().clone());
        piece
    };
    let chat = seen.path == "/api/chat";
    let said = |text: &str| {
        if chat {
            json!({"message": {"role": "assistant", "content": text}})
        } else {
            json!({"response": text})
        }
    };
    let answer = match seen.path.as_str() {
        "/api/tags" => json!({"models": [{"name": "llama3.1", "model": "llama3.1", "size": 1,
            "digest": "0123456789abcdef", "modified_at": "2026-11-21T07:03:00Z", "details": {}}]}),
        "/api/show" => json!({"details": {}, "model_info": {}, "capabilities": ["completion", "vision"]}),
        _ if calls(request) => {
            let call = json!({"function": {"name": "locate", "arguments": {"place": "chapel"}}});
            end(json!({"message": {"role": "assistant", "content": "", "tool_calls": [call]}}))
        }
        _ if request["stream"] == false => end(said(SAID)),
        "/api/chat" | "/api/generate" => {
            let mut first = said("In ");
            first["model"] = json!("llama3.1");
            first["created_at"] = json!("2026-11-21T07:03:00Z");
            first["done"] = json!(false);
            let pieces = format!("{first}\n{}\n", end(said("Évora.")));
            return Answer::new(200, pieces).header("Content-Type", "application/x-ndjson");
        }
        _ => return Answer::new(404, "{\"error\":\"there is nothing here\"}"),
    };
    Answer::new(200, answer.to_string())
}

/// Runs a client's script with two base addresses, without and with a prefix; each time it must print and leave
/// behind the same. A client that `retries` does so itself, for the others the proxy does.
fn story(part: &str, program: &str, script: &str, retries: bool, printed: &str, stored: &[Value]) {
    let Some(clients) = clients(part) else { return };
    let provider = provider();
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url());
    let home = if retries { home.env("RSV_RETRIES", "0") } else { home };
    let proxy = Proxy::start_with(&home, &["--ollama"]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/clients").join(script);
    // Neither Python nor Node may take it for what it imports; Node looks for that beside it.
    let own = home.path("client").with_extension(script.extension().unwrap());
    std::fs::copy(&script, &own).unwrap();
    std::os::unix::fs::symlink(clients.join("node/node_modules"), home.path("node_modules")).unwrap();
    let program = if program.contains('/') { clients.join(program) } else { program.into() };
    let path =
        ["bin", "python/bin", "sgpt/bin", "aider/bin"].map(|bin| clients.join(bin).display().to_string());
    let path = format!("{}:{}", path.join(":"), std::env::var("PATH").unwrap());
    let base = format!("http://127.0.0.1:{}", proxy.port());
    let mut command = Command::new(program);
    command.env_clear().env("PATH", path).env("HOME", home.path("")).current_dir(home.path(""));
    command.arg(own).args([base.clone(), base + "/partition/p/instance/i"]);
    let ran = home.ran(command.output().unwrap());
    assert_eq!(ran.stdout, printed.repeat(2), "{ran}");
    proxy.settle();
    for scope in [&[][..], &["-p", "p", "-i", "i"]] {
        let lines = lines_of(&home.run("rsv-view", &[scope, &["99"]].concat(), "").ok());
        let found: Vec<Value> = lines.iter().map(told).collect();
        assert_eq!(found, stored, "{script:?} {scope:?}");
    }
    home.check();
}

/// The stored form of a message, without its ids and times.
fn told(line: &Value) -> Value {
    let mut line = line.clone();
    let members = line.as_object_mut().unwrap();
    for name in ["kind", "id", "trace_id", "partition", "instance", "timestamp", "seq", "created_at"] {
        members.remove(name);
    }
    line
}

/// A question of a user's.
fn user(content: impl Into<Value>) -> Value {
    json!({"role": "user", "content": content.into()})
}

/// The model's answer.
fn answer() -> Value {
    json!({"model": "llama3.1", "role": "assistant", "content": SAID})
}

/// The model's wish for a tool.
fn call(content: Value, call: Value) -> Value {
    json!({"model": "llama3.1", "role": "assistant", "content": content, "tool_calls": [call]})
}

/// Questions, each with its answer.
fn turns<const N: usize>(questions: [&str; N]) -> Vec<Value> {
    questions.into_iter().flat_map(|question| [user(question), answer()]).collect()
}

/// The output of a client of OpenAI's interface.
const OPENAIS: &str = "plain: In Évora.
streamed: In Évora.
tools: locate {\"place\":\"chapel\"} In Évora.
image: In Évora.
refused: 400 nobody may ask this
busy: In Évora.
";

/// The messages that it leaves behind: none of a refused turn, and a retried turn once.
fn of_openais() -> Vec<Value> {
    let called = json!({"id": "call-1", "type": "function",
        "function": {"name": "locate", "arguments": "{\"place\":\"chapel\"}"}});
    let image = json!([{"type": "text", "text": "image?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]);
    let tools = [user("tools?"), call(Value::Null, called), answer()];
    [&turns(["plain?", "streamed?"])[..], &tools, &[user(image), answer()], &turns(["busy?"])].concat()
}

/// Keeps: Common clients work unchanged, and their turns are stored exactly.
#[test]
fn openai_for_python() {
    story("python/bin/python", "python/bin/python", "openai.py", true, OPENAIS, &of_openais());
}

#[test]
fn langchain() {
    story("langchain/bin/python", "langchain/bin/python", "langchain.py", true, OPENAIS, &of_openais());
}

/// Keeps: Common clients work unchanged, and their turns are stored exactly.
#[test]
fn openai_for_node() {
    story("node/node_modules/openai", "node", "openai.mjs", true, OPENAIS, &of_openais());
}

#[test]
fn ai_for_node() {
    story("node/node_modules/ai", "node", "ai.mjs", true, OPENAIS, &of_openais());
}

#[test]
fn llm() {
    let printed = OPENAIS.replace("{\"place\":\"chapel\"}", "{'place': 'chapel'}").replace("400", "400 -");
    story("python/bin/llm", "bash", "llm.sh", true, &printed, &of_openais());
}

#[test]
fn cgip() {
    let printed = "plain: In Évora.\npiped: In Évora.\nrefused: nobody may ask this\nbusy: In Évora.\n";
    story("bin/cgip", "bash", "cgip.sh", false, printed, &turns(["plain?", "piped?", "busy?"]));
}

#[test]
fn litellm() {
    let printed = format!("{OPENAIS}ollama: In Évora.\n");
    let mut ollamas = user("ollama?");
    ollamas["images"] = json!([]);
    let stored = [&of_openais()[..], &[ollamas, answer()]].concat();
    story("litellm/bin/python", "litellm/bin/python", "litellm.py", true, &printed, &stored);
}

/// The output of the command lines that always stream.
const BY_LINE: &str = "plain: In Évora.\nbusy: In Évora.\nrefused: nobody may ask this\n";

#[test]
fn shell_gpt() {
    story("sgpt/bin/sgpt", "bash", "sgpt.sh", true, BY_LINE, &turns(["plain?", "busy?"]));
}

#[test]
fn aider() {
    let stored = turns(["plain?\n\nReply in English.\n", "busy?\n\nReply in English.\n"]);
    story("aider/bin/aider", "bash", "aider.sh", true, BY_LINE, &stored);
}

#[test]
fn aichat() {
    let printed = "plain: In Évora.\nstreamed: In Évora.\nimage: In Évora.\nrefused: nobody may ask this\nbusy: In Évora.\n";
    let image = json!([{"type": "text", "text": "image?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]);
    let stored = [&turns(["plain?", "streamed?"])[..], &[user(image), answer()], &turns(["busy?"])].concat();
    story("bin/aichat", "bash", "aichat.sh", false, printed, &stored);
}

/// The output of a client of Ollama's interface.
fn ollamas() -> String {
    OPENAIS.replace("refused", "prompt: In Évora.\nrefused")
}

/// The messages that it leaves behind.
fn of_ollamas() -> Vec<Value> {
    let called = json!({"function": {"name": "locate", "arguments": {"place": "chapel"}}});
    let mut image = user("image?");
    image["images"] = json!(["iVBORw0KGgo="]);
    let tools = [user("tools?"), call(json!(""), called), answer()];
    [&turns(["plain?", "streamed?"])[..], &tools, &[image, answer()], &turns(["prompt?", "busy?"])].concat()
}

#[test]
fn ollama_for_python() {
    story("python/bin/python", "python/bin/python", "ollama.py", false, &ollamas(), &of_ollamas());
}

#[test]
fn ollama_for_node() {
    story("node/node_modules/ollama", "node", "ollama.mjs", false, &ollamas(), &of_ollamas());
}

/// Keeps: Common clients work unchanged, and their turns are stored exactly.
#[test]
fn ollama() {
    let printed = "models: llama3.1
streamed: In Évora.
piped: In Évora.
image: In Évora.
refused: Error: 400 Bad Request: nobody may ask this
busy: In Évora.
";
    let mut image = user("image?");
    image["images"] = json!(["iVBORw0KGgo="]);
    let stored =
        [&turns(["streamed?", "of what is piped piped?"])[..], &[image, answer()], &turns(["busy?"])];
    story("bin/ollama", "bash", "ollama.sh", false, printed, &stored.concat());
}

#[test]
fn ollama_on_a_terminal() {
    let Some(clients) = clients("bin/ollama") else { return };
    let provider = provider();
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url());
    let proxy = Proxy::start_with(&home, &["--ollama"]);
    for (prefix, scope) in [("", &[][..]), ("/partition/p/instance/i", &["-p", "p", "-i", "i"])] {
        let base = format!("http://127.0.0.1:{}{prefix}", proxy.port());
        let line = format!("OLLAMA_HOST={base} exec {}/bin/ollama run llama3.1", clients.display());
        let Some(mut terminal) = Terminal::run(&home, 80, &line) else { return };
        for question in ["one?", "busy?"] {
            terminal.see(">>> ");
            terminal.press(&format!("{question}\r"));
            terminal.see("Évora.");
        }
        terminal.see(">>> ");
        terminal.press("/bye\r");
        assert_eq!(terminal.end().1, 0);
        proxy.settle();
        let lines = lines_of(&home.run("rsv-view", &[scope, &["99"]].concat(), "").ok());
        let found: Vec<Value> = lines.iter().map(told).collect();
        assert_eq!(found, turns(["one?", "busy?"]), "{prefix}");
        let last = provider.seen().pop().unwrap();
        let request: Value = serde_json::from_slice(&last.body).unwrap();
        assert_eq!((last.path.as_str(), question(&request)), ("/api/chat", "busy?".to_owned()));
    }
}
