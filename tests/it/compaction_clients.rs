//! Claude Code and Codex as people run them, whose sessions are compacted: what was done before is carried over.
//! `scripts/clients` installs them; the tests of one that is not there are left out.

use crate::agent_clients::{KEY, agent, home};
use crate::apis::{MESSAGES, RESPONSES};
use crate::clients::clients;
use crate::fake::{Answer, Fake, Seen};
use serde_json::{Value, json};

/// The words of a summary, and the number of commands that the model runs for the user's first request.
const SUMMARY: &str = "<summary>The user wants some steps.</summary>";
const STEPS: usize = 4;

/// A provider whose model runs commands, `echo step-1` and so on, and then says that it is done; asked for a summary, it
/// writes one. It reports so many tokens for the second command that a program compacts, if `is_long`.
fn working_provider(is_long: bool) -> Fake {
    let (mut steps, mut answers) = (0, 0);
    Fake::answering(move |seen: &Seen| {
        answers += 1;
        let request: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
        let is_claude = request.get("messages").is_some();
        let turns =
            request.get("messages").unwrap_or(&request["input"]).as_array().cloned().unwrap_or_default();
        let last = turns.last().map(Value::to_string).unwrap_or_default();
        let asks_for_summary = ["Your task is to create a detailed summary", "CONTEXT CHECKPOINT COMPACTION"];
        let is_summary = asks_for_summary.iter().any(|words| last.contains(words));
        let has_tools = request["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        let is_step = has_tools && !is_summary && steps < STEPS;
        steps += usize::from(is_step);
        let tokens = if is_long && is_step && steps == 2 { 1_900_000 } else { 1000 };
        let command = format!("echo step-{steps}");
        let text = if is_summary { SUMMARY } else { "Done." };
        let events = match (is_claude, is_step) {
            (true, true) => vec![
                json!({"type": "content_block_start", "index": 0, "content_block":
                    {"type": "tool_use", "id": format!("toolu_{steps}"), "name": "Bash", "input": {}}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta",
                    "partial_json": json!({"command": command, "description": "x"}).to_string()}}),
            ],
            (true, false) => vec![
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
            ],
            (false, true) => {
                vec![json!({"type": "function_call", "id": format!("fc_{steps}"), "status": "completed",
                "call_id": format!("call_{steps}"), "name": "exec_command",
                "arguments": json!({"cmd": command}).to_string()})]
            }
            (false, false) => {
                vec![json!({"type": "message", "id": "m_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}]})]
            }
        };
        let events =
            if is_claude { claude(events, is_step, (tokens, answers)) } else { codex(&events[0], tokens) };
        let event = |data: &Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap());
        Answer::new(200, events.iter().map(event).collect::<String>())
            .header("Content-Type", "text/event-stream")
    })
}

/// Claude Code takes answers with one id for one, so each has a number.
fn claude(block: Vec<Value>, is_step: bool, (tokens, number): (usize, usize)) -> Vec<Value> {
    let mut message: Value = serde_json::from_str(MESSAGES.whole).unwrap();
    message["id"] = json!(format!("msg_{number}"));
    (message["content"], message["stop_reason"]) = (json!([]), Value::Null);
    message["usage"] = json!({"input_tokens": tokens, "output_tokens": 1});
    let reason = if is_step { "tool_use" } else { "end_turn" };
    let mut events = vec![json!({"type": "message_start", "message": message})];
    events.extend(block);
    events.extend([
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": reason},
            "usage": {"input_tokens": tokens, "output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ]);
    events
}

fn codex(item: &Value, tokens: usize) -> Vec<Value> {
    let mut response: Value = serde_json::from_str(RESPONSES.whole).unwrap();
    response["output"] = json!([item]);
    response["usage"] = json!({"input_tokens": tokens, "output_tokens": 5, "total_tokens": tokens + 5});
    vec![
        json!({"type": "response.created", "response": response}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": response}),
    ]
}

/// The carried text of each request, in their order: its beginning.
fn carried(provider: &Fake) -> Vec<Option<String>> {
    let block = |seen: Seen| {
        let text = seen.text().replace("\\n", "\n");
        let (begin, end) = (text.find("was compacted since")?, "</rsv-memory>");
        Some(text[begin..begin + text[begin..].find(end).unwrap()].to_owned())
    };
    let seen = provider.seen().into_iter().filter(|seen| !seen.text().contains("count_tokens"));
    seen.map(block).collect()
}

/// Keeps: The agents get the actions before a compaction back.
#[test]
fn claude_code_is_given_what_was_done_before_it_was_told_to_compact() {
    if clients("agents").is_none() {
        return;
    }
    let provider = working_provider(false);
    let home = home(&provider);
    let said_by =
        |words: &[&str]| agent(&home, &[&["claude", "-p", "--allowedTools", "Bash"], words].concat(), &KEY);
    assert_eq!(said_by(&["--", "Run the steps."]), "Done.\n");
    said_by(&["-c", "--", "/compact"]);
    assert!(carried(&provider).iter().all(Option::is_none));
    let before = provider.seen().len();
    assert_eq!(said_by(&["-c", "--", "And what now?"]), "Done.\n");
    let now = carried(&provider)[before..].to_vec();
    let text = now.last().unwrap().clone().expect("nothing is carried");
    for step in 1..=STEPS {
        assert!(text.contains(&format!("$ echo step-{step}")), "{text}");
    }
    assert_eq!(said_by(&["-c", "--", "And after that?"]), "Done.\n");
    assert_eq!(carried(&provider).last(), Some(&None));
}

#[test]
fn claude_code_is_given_what_was_done_before_it_compacted_by_itself() {
    if clients("agents").is_none() {
        return;
    }
    let provider = working_provider(true);
    let home = home(&provider);
    let words =
        ["claude", "-p", "--model", "claude-sonnet-4-5", "--allowedTools", "Bash", "--", "Run the steps."];
    // Without a window of its own, it waits for the provider to refuse what is too long.
    let variables = [&KEY[..], &[("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "200000")]].concat();
    assert_eq!(agent(&home, &words, &variables), "Done.\n");
    check_middle(&provider);
}

#[test]
fn codex_is_given_what_was_done_before_it_compacted_by_itself() {
    if clients("agents").is_none() {
        return;
    }
    let provider = working_provider(true);
    let home = home(&provider);
    let limit = ["-c", "model_auto_compact_token_limit=100000"];
    let words = [&["codex", "exec"], &limit[..], &["--skip-git-repo-check", "-m", "gpt-5", "Run the steps."]]
        .concat();
    assert!(agent(&home, &words, &[]).contains("Done."));
    check_middle(&provider);
}

/// The requests after a compaction in the middle of a turn carry the same text; earlier ones, and that for a summary, have none.
fn check_middle(provider: &Fake) {
    let carried = carried(provider);
    let first = carried.iter().position(Option::is_some).unwrap_or_else(|| panic!("{carried:?}"));
    let text = carried[first].clone().unwrap();
    assert!(text.contains("$ echo step-1"), "{text}");
    assert!(
        carried.len() - first >= 2 && carried[first..].iter().all(|one| *one == carried[first]),
        "{carried:?}"
    );
}
