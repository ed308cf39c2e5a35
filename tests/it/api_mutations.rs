//! Bodies and event streams of Anthropic's Messages and OpenAI's Responses with random changes: no panic, no 500, and
//! nothing stored twice.

use crate::apis::{BOTH, home_at};
use crate::fake::{Answer, Fake};
use crate::mutations::{count, mutate};
use crate::proxy::{Proxy, post};
use crate::support::{Dice, lines_of, number_from, tries};
use rsv::api::{self, AnswerEvents, Api, EventTranslator, Request, Translation};
use rsv::chat::GrowingText;
use rsv::chat::Rsv;
use rsv::record::Object;
use std::collections::HashMap;

/// Requests as agents send them, with whatever such bodies have.
fn requests() -> Vec<(Api, String)> {
    let recorded = [
        (Api::Messages, include_str!("clients/claude-code.jsonl")),
        (Api::Responses, include_str!("clients/codex.jsonl")),
    ];
    let mut requests = vec![
        (Api::Messages, crate::translation::messages().to_string()),
        (Api::Responses, crate::translation::responses().to_string()),
    ];
    for (api, text) in recorded {
        requests.extend(text.lines().map(|line| {
            let line = Object::parse(line).unwrap();
            (api, line.get("body").unwrap().to_owned())
        }));
    }
    requests
}

/// The outcome of a request in the tools and in the proxy.
fn read_request(api: Api, body: Object) {
    let shape = Api::of_request(&body);
    for api in [api, shape] {
        if let Ok(mut request) = Request::parse(api, body.clone()) {
            let keys = (request.turn_key(), request.attempt_key());
            assert!(keys.0.is_none_or(|key| !key.is_empty()));
            drop((request.said(), request.is_side_call()));
            let block = "<rsv-memory>\nnote\n2026-11-21 07:03 user (p/i):\n> x\n</rsv-memory>\n\n";
            let line = request.into_line(block, Rsv::default(), true);
            assert!(line.is_ok_and(|line| Object::parse(&line.to_json()).is_ok()));
        }
        let _ = api::to_chat(api, &body, "max_tokens");
    }
}

/// Of a request with a tool that takes a text.
fn translation(api: Api) -> Translation {
    let body = Object::parse(r#"{"tools":[{"type":"custom","name":"patch"}]}"#).unwrap();
    Translation::new(api, &body, 7)
}

/// The outcome of the events of an answer.
fn read_events(text: &str) {
    let mut gathered = AnswerEvents::new(Some(1 << 20));
    let mut translators = [Api::Messages, Api::Responses].map(|api| EventTranslator::new(translation(api)));
    for data in text.lines().filter_map(|line| line.strip_prefix("data: ")) {
        let Ok(event) = Object::parse(data) else { continue };
        gathered.add(&event);
        api::push_event_text(&event, &mut GrowingText::default());
        let _ = api::is_last_event(&event);
        for translator in &mut translators {
            assert!(translator.chunk(&event).iter().all(|event| Object::parse(&event.to_json()).is_ok()));
        }
    }
    for translator in &mut translators {
        assert!(translator.finish().iter().all(|event| Object::parse(&event.to_json()).is_ok()));
        assert!(translator.finish().is_empty());
    }
    if let Some(answer) = gathered.finish() {
        read_answer(&answer);
    }
}

fn read_answer(answer: &Object) {
    let _ = (api::answer(answer, true), api::Usage::of(answer));
    api::push_event_text(answer, &mut GrowingText::default());
    for api in [Api::Messages, Api::Responses] {
        let _ = api::from_chat(&translation(api), answer);
    }
}

#[test]
fn ten_thousand_changed_bodies_and_events_are_read_without_a_panic() {
    let requests = requests();
    let mut dice = Dice(number_from("RSV_TEST_SEED").unwrap_or(37));
    let mut read = 0;
    for _ in 0..10_000 {
        if dice.below(2) == 0 {
            let (api, body) = &requests[dice.below(requests.len())];
            if let Ok(body) = Object::parse_bytes(&mutate(body.as_bytes(), &mut dice)) {
                read += 1;
                read_request(*api, body);
            }
            continue;
        }
        let texts = [BOTH[0].events, BOTH[1].events, crate::translation::CHUNKS];
        read_events(&String::from_utf8_lossy(&mutate(texts[dice.below(3)].as_bytes(), &mut dice)));
        let wholes = [BOTH[0].whole, BOTH[1].whole, crate::proxy::REPLY];
        if let Ok(answer) = Object::parse_bytes(&mutate(wholes[dice.below(3)].as_bytes(), &mut dice)) {
            read_answer(&answer);
        }
    }
    assert!(read > 500, "only {read} bodies were JSON");
}

#[test]
fn changed_requests_and_answers_bring_no_500_and_nothing_twice() {
    let seed = number_from("RSV_TEST_SEED").unwrap_or(41);
    let mut answers = Dice(seed);
    let provider = Fake::answering(move |seen| {
        let shape = BOTH[usize::from(seen.path.contains("responses"))];
        let is_streamed = seen.text_lossy().contains("\"stream\":true");
        let body = if is_streamed { shape.events } else { shape.whole }.as_bytes();
        let body = if answers.below(2) == 0 { body.to_vec() } else { mutate(body, &mut answers) };
        let answer = Answer::new(200, body);
        if is_streamed { answer.header("Content-Type", "text/event-stream") } else { answer }
    });
    let home = home_at(&provider.url());
    let proxy = Proxy::start(&home);
    let requests = requests();
    let mut number = 0;
    tries(count(150), |mut dice| {
        let dice = &mut dice;
        number += 1;
        let (api, body) = &requests[dice.below(requests.len())];
        let body =
            body.replace("\"llama3.1\"", if *api == Api::Messages { "\"claude-x\"" } else { "\"gpt-5\"" });
        let body = if dice.below(4) == 0 { body.into_bytes() } else { mutate(body.as_bytes(), dice) };
        let path = format!("/partition/m{number}/v1/{}", api.path());
        // A client that tries again.
        for _ in 0..1 + dice.below(2) {
            let mut request = post(&path, "", "");
            let text = String::from_utf8(std::mem::take(&mut request)).unwrap();
            let text = text.replace("Content-Length: 0", &format!("Content-Length: {}", body.len()));
            let answer = proxy.bytes(&[text.as_bytes(), &body].concat());
            let status = answer.get(9..12).map(|status| String::from_utf8_lossy(status).into_owned());
            let status: u16 = status.and_then(|status| status.parse().ok()).unwrap_or(0);
            let shown =
                || format!("{path} {}: {}", String::from_utf8_lossy(&body), String::from_utf8_lossy(&answer));
            assert!((200..600).contains(&status) && status != 500, "{}", shown());
            proxy.settle();
        }
    });
    // The clock stands still, so that the same words are the same turn however often they are sent.
    let mut turns: HashMap<String, usize> = HashMap::new();
    for line in lines_of(&home.export()) {
        if line["kind"] == "message" && line["role"] == "user" {
            *turns.entry(line["partition"].to_string()).or_default() += 1;
        }
    }
    assert!(turns.len() > 10, "{}", turns.len());
    assert!(turns.values().all(|count| *count == 1), "{turns:?}");
    assert_eq!(proxy.get("/health").0, 200);
    crate::mutations::last_words_are_well(proxy);
    home.check();
}
