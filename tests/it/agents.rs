//! Requests that agents sent, replayed: `clients/claude-code.jsonl`, `clients/codex.jsonl`, `clients/opencode.jsonl` and
//! `clients/opencode-responses.jsonl` hold the requests of Claude Code 2.1.197, Codex 0.169.0 and opencode 1.18.33 in their
//! order, recorded before a provider on this machine, without keys, and with long texts shortened. Each user's turn is
//! stored once, and nothing that no user said.

use crate::apis::{MESSAGES, RESPONSES, Shape, home_at, said};
use crate::fake::{Answer, Fake};
use crate::proxy::Proxy;
use crate::support::Home;
use serde_json::{Value, json};

/// A request as it was recorded: `{"path","headers","body"}`.
fn recorded(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn claude_code() -> Vec<Value> {
    recorded(include_str!("clients/claude-code.jsonl"))
}

fn codex() -> Vec<Value> {
    recorded(include_str!("clients/codex.jsonl"))
}

fn opencode() -> Vec<Value> {
    recorded(include_str!("clients/opencode.jsonl"))
}

/// Plays requests, each answered by a text of its own; the bodies that the provider got.
fn play(requests: &[Value], shape: &'static Shape, home: &Home, provider: &Fake) -> Vec<Value> {
    let proxy = Proxy::start(home);
    for request in requests {
        send(&proxy, request);
    }
    let seen = provider.seen();
    assert!(seen.iter().all(|seen| seen.path.starts_with(shape.path)));
    seen.iter().map(|seen| serde_json::from_slice(&seen.body).unwrap()).collect()
}

/// Sends a request as it was recorded.
fn send(proxy: &Proxy, request: &Value) {
    let headers = request["headers"].as_object().unwrap();
    let headers: String =
        headers.iter().map(|(name, value)| format!("{name}: {}\r\n", value.as_str().unwrap())).collect();
    let path = format!("/partition/p{}", request["path"].as_str().unwrap());
    let (status, body) = proxy.post(&path, &headers, &request["body"].to_string());
    assert_eq!(status, 200, "{body}");
}

/// A provider whose answers are numbered.
fn provider(shape: &'static Shape) -> Fake {
    let mut number = 0;
    Fake::answering(move |_| {
        number += 1;
        let events = shape.events_saying(&format!("Answer {number}."));
        Answer::new(200, events).header("Content-Type", "text/event-stream")
    })
}

/// A home whose clock runs, so that what was said is in order.
fn ticking(provider: &Fake) -> Home {
    home_at(&provider.url()).without("RSV_TEST_NOW")
}

/// The stored messages of a role.
fn of(role: &str, stored: &[(String, Value)]) -> Vec<Value> {
    stored.iter().filter(|(other, _)| other == role).map(|(_, content)| content.clone()).collect()
}

/// The request without the recalled block and the marks of the provider's cache.
fn without_block(mut sent: Value, turns: &str) -> Value {
    for turn in sent[turns].as_array_mut().unwrap() {
        if let Some(blocks) = turn.get_mut("content").and_then(Value::as_array_mut) {
            blocks
                .retain(|block| !block["text"].as_str().is_some_and(|text| text.starts_with("<rsv-memory>")));
        }
        if let Some(text) = turn["content"].as_str()
            && let Some((_, own)) = text.split_once("</rsv-memory>\n\n")
        {
            turn["content"] = json!(own);
        }
    }
    sent
}

/// Keeps: Only the user's words are stored, not those of the program.
#[test]
fn a_session_of_claude_code_is_stored_as_its_user_had_it() {
    let (provider, requests) = (provider(&MESSAGES), claude_code());
    let home = ticking(&provider);
    home.run("rsv-ingest", &["-p", "p"], crate::apis::PAST.replace("bones chapel", "owls and tomatoes")).ok();
    let sent = play(&requests, &MESSAGES, &home, &provider);
    let stored = said(&home, &["-p", "p"]);
    let users = [
        "USETOOL please: where are the owls?",
        "And the tomatoes?",
        "And the beans?",
        "After compaction?",
        "SUBAGENT please count",
    ];
    assert_eq!(of("user", &stored), users.map(Value::from), "{stored:?}");
    // Neither titles, nor the summary of a compaction, nor the answers of other agents.
    let answers = of("assistant", &stored);
    assert_eq!(answers.len(), 9, "{answers:?}");
    for (request, sent) in requests.iter().zip(&sent) {
        assert_eq!(&without_block(sent.clone(), "messages"), &request["body"]);
    }
    let recalls = |sent: &Value| sent.to_string().contains("<rsv-memory>");
    let recalling: Vec<usize> = (0..sent.len()).filter(|at| recalls(&sent[*at])).collect();
    assert_eq!(recalling, [1, 2, 3, 4, 5, 6, 8, 10, 13], "{recalling:?}");
}

/// Keeps: Only the user's words are stored, not those of the program.
#[test]
fn a_session_of_codex_is_stored_as_its_user_had_it() {
    let (provider, requests) = (provider(&RESPONSES), codex());
    let home = ticking(&provider);
    home.run("rsv-ingest", &["-p", "p"], crate::apis::PAST.replace("bones chapel", "owls and tomatoes")).ok();
    let sent = play(&requests, &RESPONSES, &home, &provider);
    let stored = said(&home, &["-p", "p"]);
    let again = "USETOOL again: where are the owls?";
    assert_eq!(of("user", &stored), [again, again, "And the tomatoes?"].map(Value::from), "{stored:?}");
    assert_eq!(of("assistant", &stored).len(), 9);
    for (request, sent) in requests.iter().zip(&sent) {
        assert_eq!(&without_block(sent.clone(), "input"), &request["body"]);
        assert!(sent.to_string().contains("<rsv-memory>"));
    }
}

/// Keeps: Only the user's words are stored, not those of the program.
#[test]
fn a_session_of_opencode_is_stored_as_its_user_had_it() {
    let in_responses = recorded(include_str!("clients/opencode-responses.jsonl"));
    for (shape, mut requests, users, answers) in [
        (
            &MESSAGES,
            opencode(),
            &[
                "\"USETOOL please: where are the owls?\"",
                "\"And the tomatoes?\"",
                "\"SUBAGENT please count\"",
            ][..],
            5,
        ),
        (&RESPONSES, in_responses, &["\"Where are the owls?\""], 1),
    ] {
        let provider = provider(shape);
        let home = ticking(&provider);
        home.run("rsv-ingest", &["-p", "p"], crate::apis::PAST.replace("bones chapel", "owls and tomatoes"))
            .ok();
        // A summary, of which its source tells.
        let summary = "Here is the conversation so far:\n<conversation>\n[User]: Owls?\n</conversation>\nCreate a summary.";
        let body = shape.request(&json!([{"role": "user", "content": summary}]), true);
        requests.push(json!({"path": shape.path, "headers": {}, "body": body}));
        let sent = play(&requests, shape, &home, &provider);
        let stored = said(&home, &["-p", "p"]);
        assert_eq!(
            of("user", &stored),
            users.iter().map(|text| json!(text)).collect::<Vec<_>>(),
            "{stored:?}"
        );
        assert_eq!(of("assistant", &stored).len(), answers, "{stored:?}");
        for (request, sent) in requests.iter().zip(&sent) {
            assert_eq!(&without_block(sent.clone(), shape.turns), &request["body"]);
        }
        // The headers by which it names its sessions reach the provider, whose cache they are for.
        for (request, seen) in requests.iter().zip(provider.seen()) {
            for name in ["x-session-affinity", "x-session-id", "x-parent-session-id"] {
                assert_eq!(seen.header(name), request["headers"][name].as_str(), "{name}");
            }
        }
    }
}

/// Whether an agent that works for another sends a request.
fn is_subordinate(request: &Value) -> bool {
    let parent = request["headers"].get("x-parent-session-id");
    parent.is_some() || request["body"]["system"].to_string().contains("cc_is_subagent=true")
}

#[test]
fn agents_that_work_at_once_store_the_users_turn_once() {
    for (requests, user) in [
        (claude_code().split_off(9), "SUBAGENT please count"),
        (opencode().split_off(4), "\"SUBAGENT please count\""),
    ] {
        let provider = provider(&MESSAGES);
        let home = ticking(&provider);
        let proxy = Proxy::start(&home);
        let (subordinate, own): (Vec<Value>, Vec<Value>) = requests.into_iter().partition(is_subordinate);
        assert!(!subordinate.is_empty());
        std::thread::scope(|scope| {
            for request in &subordinate {
                scope.spawn(|| send(&proxy, request));
            }
            for request in &own {
                send(&proxy, request);
            }
        });
        let stored = said(&home, &["-p", "p"]);
        assert_eq!(of("user", &stored), [user], "{stored:?}");
        // The user's turn has two requests.
        assert_eq!(of("assistant", &stored).len(), 2, "{stored:?}");
    }
}

/// All agents show one block for all requests of a turn, and each request begins with the one before it.
/// Keeps: All requests of a turn carry one block.
#[test]
fn within_a_turn_each_request_of_an_agent_continues_the_one_before() {
    for (shape, requests, turns) in
        [(&MESSAGES, claude_code(), 1..5), (&RESPONSES, codex(), 0..4), (&MESSAGES, opencode(), 1..3)]
    {
        let count = turns.len();
        let provider = provider(shape);
        let home = ticking(&provider);
        home.run("rsv-ingest", &["-p", "p"], crate::apis::PAST.replace("bones chapel", "owls")).ok();
        let sent = play(&requests[turns], shape, &home, &provider);
        let turns: Vec<Vec<Value>> = sent.into_iter().map(|sent| unmarked(shape, &sent)).collect();
        for pair in turns.windows(2) {
            assert!(pair[1].starts_with(&pair[0]), "{:?}\n{:?}", pair[0], pair[1]);
        }
        assert_eq!(turns.len(), count);
    }
}

/// The turns of a request without the marks of the provider's cache, which move.
fn unmarked(shape: &Shape, sent: &Value) -> Vec<Value> {
    let mut turns = sent[shape.turns].as_array().unwrap().clone();
    for turn in &mut turns {
        for block in turn.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
            block.as_object_mut().unwrap().remove("cache_control");
        }
    }
    turns
}

/// A session of fifty turns in the manner of Claude Code: everything before the user's last words is what was sent.
/// Keeps: Only the user's last words change.
#[test]
fn over_fifty_turns_all_before_the_last_words_is_byte_for_byte_the_clients() {
    for (shape, first) in [(&MESSAGES, claude_code().swap_remove(1)), (&RESPONSES, codex().swap_remove(0))] {
        let provider = provider(shape);
        let home = ticking(&provider);
        home.run("rsv-ingest", &["-p", "p"], crate::apis::PAST.replace("bones chapel", "owls")).ok();
        let proxy = Proxy::start(&home);
        let mut body = first["body"].clone();
        for at in 0..50 {
            let words = format!("Question {at} about owls and number {at}?");
            let turn = if shape.turns == "messages" {
                json!({"role": "user", "content": [{"type": "text", "text": words, "cache_control": {"type": "ephemeral"}}]})
            } else {
                json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]})
            };
            body[shape.turns].as_array_mut().unwrap().push(turn);
            let text = body.to_string();
            assert_eq!(proxy.post(&format!("/partition/p{}", shape.path), "", &text).0, 200);
            let sent = provider.seen().pop().unwrap();
            let place = text.find(&words).unwrap();
            let begin = text[..place]
                .rfind(if shape.turns == "messages" { "{\"cache_control\"" } else { "{\"text\"" })
                .unwrap();
            assert!(sent.text().starts_with(&text[..begin]), "turn {at}");
            assert!(sent.text().ends_with(&text[begin..]), "turn {at}");
            assert!(sent.text().contains("<rsv-memory>"), "turn {at}");
            let answer = format!("Answer {at}.");
            body[shape.turns].as_array_mut().unwrap().push(json!({"role": "assistant", "content": answer}));
        }
        assert_eq!(of("user", &said(&home, &["-p", "p"])).len(), 50);
    }
}

#[test]
fn a_turn_that_an_agent_sends_again_after_529_is_one_turn() {
    for (shape, request) in [(&MESSAGES, claude_code().swap_remove(1)), (&RESPONSES, codex().swap_remove(0))]
    {
        let events =
            Answer::new(200, shape.events_saying("At last.")).header("Content-Type", "text/event-stream");
        let busy = Answer::new(
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        );
        let provider = Fake::new([busy.clone(), busy, events]);
        let home = ticking(&provider);
        let proxy = Proxy::start(&home);
        let post = || proxy.post(&format!("/partition/p{}", shape.path), "", &request["body"].to_string()).0;
        assert_eq!([post(), post(), post()], [529, 529, 200]);
        let stored = said(&home, &["-p", "p"]);
        assert_eq!(stored.len(), 2, "{stored:?}");
        let seen = provider.seen();
        assert!(seen.iter().all(|other| other.body == seen[0].body));
    }
}
