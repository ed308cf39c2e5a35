//! Many turns of one conversation: the provider's cache keeps working, and nothing that was recalled is stored.

use crate::fake::{Answer, Fake, Seen};
use crate::proxy::Proxy;
use crate::support::{Home, lines_of, text};
use serde_json::{Value, json};

const CHAT: &str = "/v1/partition/w/instance/w/chat/completions";
const BEGIN: &str = "<rsv-memory>\n";
const END: &str = "\n</rsv-memory>\n\n";

const ANIMALS: [&str; 10] =
    ["owl", "heron", "badger", "otter", "lynx", "marten", "viper", "salmon", "beaver", "swift"];

/// A home with an old message about every animal; its Ollama is this provider.
fn home_of(provider: &Fake) -> Home {
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url());
    let line = |(n, animal): (usize, &&str)| {
        json!({"role": "user", "content": format!("The {animal} lives in valley {n}"), "trace_id": n.to_string(),
            "timestamp": 1_700_000_000_000_u64 + 60_000 * n as u64})
        .to_string()
    };
    home.ingest(&["-p", "w"], &ANIMALS.iter().enumerate().map(line).collect::<Vec<_>>().join("\n"));
    home
}

fn said(role: &str, text: &str) -> String {
    format!("{{\"role\":\"{role}\",\"content\":{}}}", json!(text))
}

fn request(messages: &[String]) -> String {
    format!("{{\"model\":\"llama3.1\",\"temperature\":1.0,\"messages\":[{}]}}", messages.join(","))
}

fn reply(text: &str) -> String {
    json!({"id": "1", "object": "chat.completion", "created": 1, "model": "llama3.1",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]})
    .to_string()
}

/// The text of the last message of a chat.
fn prompt(body: &Value) -> String {
    text(&body["messages"].as_array().unwrap().last().unwrap()["content"])
}

/// The same 20 turns of a client that resends its history: what it sent, and what the provider got.
fn conversed(placement: &str) -> (Vec<String>, Vec<String>) {
    let provider = Fake::answering(|seen| {
        if seen.path.starts_with("/api/") {
            Answer::new(404, "{}")
        } else {
            Answer::new(200, reply(&format!("That was {} bytes.", seen.body.len())))
        }
    });
    let home = home_of(&provider).env("RSV_ENRICH_PLACEMENT", placement);
    let proxy = Proxy::start(&home);
    let mut history = vec![said("system", "You know every animal. \u{e9}")];
    let mut sent = Vec::new();
    for turn in 0..20 {
        history.push(said("user", &format!("{turn}: where does the {} live?", ANIMALS[turn % 10])));
        let body = request(&history);
        let (status, answer) = proxy.post(CHAT, "", &body);
        assert_eq!(status, 200, "{answer}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        history.push(said("assistant", &text(&answer["choices"][0]["message"]["content"])));
        sent.push(body);
    }
    let chats = provider.seen().into_iter().filter(|seen| seen.path.ends_with("/chat/completions"));
    (sent, chats.map(|seen| seen.text().to_owned()).collect())
}

/// The bytes of a request before the last user message.
fn before_question(body: &str) -> usize {
    let opening = "{\"role\":\"user\",\"content\":\"";
    body.rfind(opening).unwrap() + opening.len()
}

fn in_common(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}

#[test]
fn in_the_tail_all_before_the_question_is_what_the_client_sent() {
    let (sent, got) = conversed("tail");
    assert_eq!(got.len(), 20);
    for (sent, got) in sent.iter().zip(&got) {
        let before = before_question(sent);
        assert_eq!(got[..before], sent[..before]);
        assert!(got[before..].starts_with("<rsv-memory>"), "{got}");
        let after = got.rfind("</rsv-memory>\\n\\n").unwrap() + "</rsv-memory>\\n\\n".len();
        assert_eq!(got[after..], sent[before..]);
    }
    // A provider that keeps what it read finds all of it again, up to the question before.
    for (got, next) in got.iter().zip(&got[1..]) {
        assert!(in_common(got, next) >= before_question(got), "{got}\n{next}");
    }
}

#[test]
fn at_the_head_the_provider_has_to_read_all_again() {
    let (sent, got) = conversed("head");
    for (sent, got) in sent.iter().zip(&got) {
        assert!(in_common(sent, got) < before_question(sent), "{got}");
    }
    for (got, next) in got.iter().zip(&got[1..]) {
        assert!(in_common(got, next) < before_question(got), "{got}\n{next}");
    }
}

/// The answer of an assistant that has learnt to copy: all of it, and its own part. `None` where nothing was
/// recalled, so that it has nothing to copy.
fn copied(turn: usize, prompt: &str) -> Option<(String, String)> {
    let own = format!("Indeed, answer {turn}.");
    let (block, _) = prompt.strip_prefix(BEGIN)?.split_once(END)?;
    let lines: Vec<&str> = block.lines().skip(1).collect();
    match turn % 4 {
        0 => Some((format!("{BEGIN}{block}{END}{own}"), own)),
        1 => Some((format!("{own}\n\n{BEGIN}{block}\n</rsv-memory>"), own)),
        // Pieces of a block are its words.
        2 => Some(format!("{own}\n{}\n{}", lines[0], lines[1])).map(|said| (said.clone(), said)),
        _ => Some(format!("{own}\n</rsv-memory>\n{}", lines[1])).map(|said| (said.clone(), said)),
    }
}

/// The messages of a turn, and those that must be stored.
#[derive(Default)]
struct Said {
    sent: Vec<String>,
    own: Vec<String>,
}

impl Said {
    fn add(&mut self, sent: String, own: String) {
        self.sent.push(sent);
        self.own.push(own);
    }
}

/// 50 turns of a client that resends its history and sometimes pastes an answer; `ask` gives the answer to a
/// request.
fn fifty_turns(mut ask: impl FnMut(usize, &str) -> String) -> (Said, Said) {
    let (mut user, mut assistant) = (Said::default(), Said::default());
    for turn in 0..50 {
        let question = format!("Question {turn}: where does the {} live?", ANIMALS[turn % 10]);
        let block = assistant.sent.iter().rev().find_map(|said| said.strip_prefix(BEGIN)?.split_once(END));
        match block.filter(|_| turn % 7 == 6) {
            Some((block, _)) => user
                .add(format!("You said:\n{BEGIN}{block}{END}{question}"), format!("You said:\n{question}")),
            None => user.add(question.clone(), question),
        }
        let mut messages = vec![said("system", "You know every animal.")];
        for (at, question) in user.sent.iter().enumerate() {
            messages.push(said("user", question));
            messages.extend(assistant.sent.get(at).map(|answer| said("assistant", answer)));
        }
        let answer: Value = serde_json::from_str(&ask(turn, &request(&messages))).unwrap();
        let sent = text(&answer["choices"][0]["message"]["content"]);
        // The text tells which behaviour of the assistant it was.
        let own = match (sent.strip_prefix(BEGIN), sent.split_once("\n\n<rsv-memory>\n")) {
            (Some(rest), _) => rest.split_once(END).unwrap().1.to_owned(),
            (None, Some((own, _))) => own.to_owned(),
            (None, None) => sent.clone(),
        };
        assistant.add(sent, own);
    }
    (user, assistant)
}

/// The answer of an assistant to a chat.
fn answer(turn: usize, body: &Value) -> String {
    copied(turn, &prompt(body)).map_or(format!("Plain answer {turn}."), |(said, _)| said)
}

/// Fails unless exactly the messages of the turns were added to the store.
fn is_stored(home: &Home, user: &Said, assistant: &Said) {
    let records = lines_of(&home.export());
    let of = |role: &str| -> Vec<String> {
        let messages = records.iter().filter(|record| record["kind"] == "message" && record["role"] == role);
        messages.map(|message| text(&message["content"])).collect()
    };
    assert_eq!(of("user")[ANIMALS.len()..], user.own);
    assert_eq!(of("assistant"), assistant.own);
    let count = |kind: &str| records.iter().filter(|record| record["kind"] == kind).count();
    assert_eq!((count("message"), count("account")), (ANIMALS.len() + 100, 50));
    let stored = [of("user"), of("assistant")].concat();
    assert!(stored.iter().all(|text| !text.contains(BEGIN)));
    // The test is one of copies only if there are any.
    let copies = assistant.sent.iter().filter(|said| said.contains(BEGIN)).count();
    let pasted = user.sent.iter().filter(|said| said.contains(BEGIN)).count();
    assert!(copies >= 15 && pasted >= 5, "{copies} {pasted}");
}

/// Fails if a block quotes a block, or a piece of one.
fn quotes_no_block(prompt: &str) {
    if let Some((block, _)) = prompt.strip_prefix(BEGIN).and_then(|rest| rest.split_once(END)) {
        assert!(!block.contains("> <rsv-memory>"), "{block}");
        assert!(!block.lines().any(|line| line.starts_with("> 20") && line.ends_with("(w/w):")), "{block}");
    }
}

#[test]
fn of_fifty_turns_the_proxy_stores_what_was_said_and_nothing_else() {
    let mut turn = 0..;
    let provider = Fake::answering(move |seen: &Seen| {
        if seen.path.starts_with("/api/") {
            return Answer::new(404, "{}");
        }
        let body: Value = serde_json::from_slice(&seen.body).unwrap();
        Answer::new(200, reply(&answer(turn.next().unwrap(), &body)))
    });
    let home = home_of(&provider);
    let mut proxy = Proxy::start(&home);
    let (user, assistant) = fifty_turns(|_, request| {
        let (status, body) = proxy.post(CHAT, "", request);
        assert_eq!(status, 200, "{body}");
        body
    });
    assert_eq!(proxy.end(), Some(0));
    is_stored(&home, &user, &assistant);
    for seen in provider.seen().iter().filter(|seen| seen.path.ends_with("/chat/completions")) {
        quotes_no_block(&prompt(&serde_json::from_slice(&seen.body).unwrap()));
    }
}

#[test]
fn of_fifty_turns_the_pipe_stores_what_was_said_and_nothing_else() {
    let provider = Fake::new([]);
    let home = home_of(&provider);
    let (user, assistant) = fifty_turns(|turn, request| {
        let enriched = lines_of(&home.run("rsv-enrich", &["-p", "w"], request).ok()).remove(0);
        quotes_no_block(&prompt(&enriched));
        let mut answered: Value = serde_json::from_str(&reply(&answer(turn, &enriched))).unwrap();
        answered["rsv"] = enriched["rsv"].clone();
        home.run("rsv-ingest", &[], answered.to_string()).ok()
    });
    is_stored(&home, &user, &assistant);
}
