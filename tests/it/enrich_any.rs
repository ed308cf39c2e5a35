//! Enrichment for any conversation, any window and any store: what it adds fits and is accounted for, and what
//! the client wrote stays as it was.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use rsv::chat::{self, Request, fence};
use rsv::cli::Notes;
use rsv::enrich::{Enriched, Memory, Options, Placement, Turn, Wording, enrich};
use rsv::record::{Clock, Content, Link, Message, Object, Record, Role, Scope};
use rsv::store::{self, Access, Store};
use rsv::tokens::{Counter, Limits};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashSet;
use std::time::Duration;

use crate::support::Dice;

const NOW: i64 = 1_795_244_580_000;
const DAY: i64 = 86_400_000;

/// What is said, in the store and in requests: words that recur, and all that may be mistaken for rsv's own.
const PIECES: [&str; 24] = [
    "owls",
    "hunt at night",
    "the heron",
    "What do owls do?",
    "reeds",
    "\n",
    "\n\n",
    " ",
    "京都の犬",
    "é\u{301} 😀",
    "<|im_end|>",
    "<|im_start|>system",
    "[INST]",
    "</s>",
    "<rsv-memory>",
    "<rsv-memory>\n",
    "\n</rsv-memory>",
    "\n</rsv-memory>\n\n",
    "\n> quoted",
    "\n2026-11-21 07:03 user (p/i):\n> owls",
    "System Note: ",
    "\u{2028}\u{85}\r",
    "\"\\\u{0}",
    "fn main() { println!(\"{:?}\", 12345678901234567890_u128); }",
];

/// A message of the store.
fn stored(scope: &Scope, at: i64, role: Role, text: String) -> Message {
    Message {
        id: format!("{}-{at}", scope.partition),
        trace_id: format!("t{}", at / 2),
        scope: scope.clone(),
        role,
        content: Content::Text(text),
        timestamp: NOW - (1000 - at) * DAY,
        seq: 0,
        vector: None,
        extra: Object::default(),
    }
}

/// The scopes of the store: one with nothing, few and many messages, long ones, and whole blocks.
const SCOPES: [(&str, i64, usize); 5] =
    [("none", 0, 0), ("few", 5, 6), ("many", 120, 12), ("long", 12, 900), ("blocks", 20, 4)];

fn scope(name: &str) -> Scope {
    Scope { partition: name.into(), instance: name.into() }
}

/// A store with all these scopes, and links within them.
fn fill(store: &mut dyn Store) {
    let mut dice = Dice(7);
    let mut text = |pieces: usize| -> String {
        (0..=dice.below(pieces)).flat_map(|_| [PIECES[dice.below(PIECES.len())], " "]).collect()
    };
    for (name, count, pieces) in SCOPES {
        let scope = scope(name);
        let mut batch = Vec::new();
        for at in 0..count {
            let role = [Role::User, Role::Assistant, Role::Tool]
                [usize::from(at % 2 == 1) + usize::from(at % 11 == 9)];
            let mut message = stored(&scope, at, role, text(pieces));
            if name == "blocks" {
                let block = fence::enclose(fence::NOTE, &[&message]);
                message.content = Content::Text(block + &text(2));
            }
            let to = message.id.clone();
            batch.push(Record::Message(message));
            if at % 5 == 4 {
                batch.push(Record::Link(Link {
                    rel: "SYNAPSE".into(),
                    from: format!("{name}-{}", at - 4),
                    to,
                    timestamp: Some(NOW),
                    score: Some(0.9),
                    model: None,
                    extra: Object::default(),
                }));
            }
        }
        store.write(&batch).unwrap();
    }
}

fn words() -> impl Strategy<Value = String> {
    let few = prop::collection::vec(select(&PIECES[..]), 0..6).prop_map(|pieces| pieces.join(" "));
    let many = prop::collection::vec(select(&PIECES[..]), 60..200).prop_map(|pieces| pieces.concat());
    let block = (select(&PIECES[..]), select(&PIECES[..])).prop_map(|(quoted, own)| {
        fence::enclose(fence::NOTE, &[&stored(&scope("w"), 1, Role::User, quoted.into())]) + own
    });
    prop_oneof![6 => few, 1 => many, 1 => block, 1 => any::<String>()]
}

/// What a message holds: a text, parts of every kind, or nothing.
fn content() -> impl Strategy<Value = Value> {
    let part = prop_oneof![
        4 => words().prop_map(|text| json!({"type": "text", "text": text})),
        1 => Just(json!({"type": "image_url", "image_url": {"url": "https://h/i.png", "detail": "low"}})),
        1 => Just(json!({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}})),
        1 => Just(json!({"type": "unheard_of", "x": [1.0, null]})),
    ];
    prop_oneof![
        8 => words().prop_map(Value::String),
        2 => prop::collection::vec(part, 0..4).prop_map(Value::Array),
        1 => Just(Value::Null),
    ]
}

/// Some messages of a conversation that belong together.
fn piece() -> impl Strategy<Value = Vec<Value>> {
    let said = |role: &'static str| {
        content().prop_map(move |content| vec![json!({"role": role, "content": content})])
    };
    let named =
        content().prop_map(|content| vec![json!({"role": "user", "content": content, "name": "ann"})]);
    // Ids are unique, or the same in every turn, as those of some servers are.
    let called = (1_usize..4, any::<bool>(), any::<u32>(), words(), any::<bool>()).prop_map(
        |(calls, unique, salt, text, silent)| {
            let id = |n: usize| if unique { format!("c{salt}-{n}") } else { format!("c{n}") };
            let call = |n| json!({"id": id(n), "type": "function", "function": {"name": "look", "arguments": "{}"}});
            let content = if silent { Value::Null } else { json!(text) };
            let mut messages = vec![
                json!({"role": "assistant", "content": content, "tool_calls": (0..calls).map(call).collect::<Vec<_>>()}),
            ];
            messages.extend((0..calls).map(|n| json!({"role": "tool", "tool_call_id": id(n), "content": text})));
            messages
        },
    );
    prop_oneof![
        2 => said("system"),
        1 => said("developer"),
        6 => said("user"),
        1 => named,
        5 => said("assistant"),
        3 => called,
        1 => Just(vec![json!({"role": "tool", "tool_call_id": "nobody", "content": "x"})]),
    ]
}

fn conversation() -> impl Strategy<Value = Vec<Value>> {
    let pieces = prop::collection::vec(piece(), 1..12);
    (pieces, any::<bool>(), content()).prop_map(|(pieces, asks, question)| {
        let mut messages = pieces.concat();
        if asks {
            messages.push(json!({"role": "user", "content": question}));
        }
        messages
    })
}

fn options() -> impl Strategy<Value = Options> {
    let sizes = (0_usize..8, 0_usize..8);
    let window = prop_oneof![0_usize..400, 400_usize..4000, Just(128_000)];
    let reserve = prop_oneof![Just(None), (0_usize..5000).prop_map(Some)];
    let rest = (prop_oneof![Just(1.0), 0.5_f64..3.0], prop_oneof![Just(0.25), 0.0_f64..1.0]);
    let placement = select(vec![Placement::Tail, Placement::System, Placement::Head]);
    let model = select(vec!["gpt-4o", "gpt-3.5-turbo", "llama3.1", "claude-opus-4", "mistral-small"]);
    (sizes, window, reserve, rest, placement, any::<bool>(), model).prop_map(
        |((similar, recent), window, reserve, (token_multiplier, share), placement, compress, model)| {
            Options {
                model: model.into(),
                similar,
                recent,
                limits: Limits { window, reserve: window / 8 },
                assumed: true,
                reserve,
                share,
                catch_up: 0,
                token_multiplier,
                half_life: Duration::from_secs(30 * 86_400),
                placement,
                compress,
                wording: Wording::default(),
            }
        },
    )
}

/// Enriches a body, whose messages these are, within a scope.
fn enriched(store: &mut dyn Store, body: Object, scope: &Scope, options: &Options) -> Enriched {
    let clock = Clock::fixed(NOW);
    let turn = Turn { scope, trace_id: None, clock: &clock, served: &|| None };
    let notes = Notes::default();
    let memory = Memory { store, embedder: None, notes: &notes, degraded: None };
    enrich(Ok(memory), Request::parse(body).unwrap(), &turn, options).unwrap()
}

fn body(messages: &[Value]) -> Object {
    Object::parse(&json!({"messages": messages, "temperature": 0.5}).to_string()).unwrap()
}

/// The numbers of an account.
struct Told {
    window: usize,
    reserve: usize,
    counted: usize,
    request: usize,
    fence: usize,
    recalled: usize,
    dropped: Vec<usize>,
    dropped_tokens: usize,
    ids: Vec<String>,
}

impl Told {
    fn of(enriched: &Enriched) -> Told {
        let members = &enriched.account.members;
        let number = |of: &Object, name: &str| usize::try_from(of.integer(name).unwrap().unwrap()).unwrap();
        let list = |name: &str| members.objects(name).unwrap().unwrap();
        let sum = |list: &[Object]| list.iter().map(|entry| number(entry, "tokens")).sum::<usize>();
        let recalled = [list("recalled"), list("recent")].concat();
        let dropped = list("dropped");
        Told {
            window: number(members, "window"),
            reserve: number(members, "reserve"),
            counted: number(members, "counted"),
            request: number(members, "request"),
            fence: number(members, "fence"),
            recalled: sum(&recalled),
            dropped: dropped.iter().map(|entry| number(entry, "at")).collect(),
            dropped_tokens: sum(&dropped),
            ids: recalled.iter().map(|entry| entry.text("id").unwrap().unwrap()).collect(),
        }
    }
}

/// The messages of the client as they are to stand in the request: without those that were dropped, and
/// without a block that came back in the first system message or the last user's.
fn kept(request: &Request, told: &Told) -> (Vec<Object>, Option<usize>) {
    let (last, mut kept) = (request.last_user(), Vec::new());
    let mut user = None;
    for (at, message) in request.messages.iter().enumerate() {
        let mut message = message.clone();
        if last == Some(at) || at == 0 && is_system(&message) {
            let own = fence::strip(Content::of(&message).unwrap());
            if own != Content::of(&message).unwrap() {
                message.set("content", own.to_json());
            }
        }
        if !told.dropped.contains(&at) {
            user = user.or((last == Some(at)).then_some(kept.len()));
            kept.push(message);
        }
    }
    (kept, user)
}

fn is_system(message: &Object) -> bool {
    matches!(message.text("role").unwrap().as_deref(), Some("system" | "developer"))
}

/// Takes the block off one end of what a message says; fails if all else is not as the client wrote it.
fn without_block(mut message: Object, own: &Object, before: bool) -> Result<(), TestCaseError> {
    let wrong = |what: &str| TestCaseError::fail(format!("{what}: {}", message.to_json()));
    let is_block = |text: &str| {
        let lines = || text.split(fence::LINE_ENDS);
        text.starts_with("<rsv-memory>\n")
            && text.ends_with("\n</rsv-memory>")
            && lines().filter(|line| line.starts_with("</rsv-memory>")).count() == 1
            && !["<|im_end|>", "[INST]", "</s>", "<|im_start|>"].iter().any(|token| text.contains(token))
    };
    let block = match (Content::of(&message).unwrap(), Content::of(own).unwrap()) {
        (Content::Text(text), Content::Text(own)) if before => text.strip_suffix(&own).map(str::to_owned),
        (Content::Text(text), Content::Text(own)) => text.strip_prefix(&own).map(str::to_owned),
        (Content::Text(text), Content::Null) => Some(text),
        (Content::Parts(_), Content::Parts(_)) => {
            let mut parts = message.objects("content").unwrap().unwrap();
            let part = parts.remove(if before { 0 } else { parts.len() - 1 });
            let rest = own.objects("content").unwrap().unwrap();
            (parts == rest).then(|| part.text("text").unwrap().unwrap())
        }
        _ => None,
    };
    if !block.is_some_and(|block| is_block(block.trim_matches('\n'))) {
        return Err(wrong("no block"));
    }
    message.set("content", own.get("content").unwrap());
    prop_assert_eq!(&message, own);
    Ok(())
}

/// Where the recalled messages stand, and that all else is as the client wrote it.
fn stands(
    out: &[Object],
    own: &[Object],
    user: Option<usize>,
    told: &Told,
    options: &Options,
) -> Result<(), TestCaseError> {
    if told.ids.is_empty() {
        prop_assert_eq!(out, own);
        return Ok(());
    }
    let user = user.unwrap();
    match options.placement {
        Placement::Tail => {
            prop_assert_eq!(&out[..user], &own[..user]);
            prop_assert_eq!(&out[user + 1..], &own[user + 1..]);
            without_block(out[user].clone(), &own[user], true)?;
        }
        Placement::System if is_system(&own[0]) => {
            prop_assert_eq!(&out[1..], &own[1..]);
            without_block(out[0].clone(), &own[0], false)?;
        }
        Placement::System => {
            prop_assert_eq!(&out[1..], own);
            prop_assert!(is_system(&out[0]));
        }
        Placement::Head if options.compress => {
            // What the user says last, and all after it, stays; so does what the first system message says first.
            prop_assert_eq!(&out[out.len() - (own.len() - user)..], &own[user..]);
            if is_system(&own[0]) {
                prop_assert!(chat::text(&out[0]).starts_with(&chat::text(&own[0])));
            }
        }
        Placement::Head => {
            let at = usize::from(is_system(&own[0]));
            prop_assert_eq!(&out[..at], &own[..at]);
            prop_assert_eq!(&out[out.len() - (own.len() - at)..], &own[at..]);
        }
    }
    Ok(())
}

/// Calls stand with their results, if they came so.
fn calls_are_whole(given: &[Object], out: &[Object]) -> Result<(), TestCaseError> {
    let groups = |messages: &[Object]| {
        let (mut calls, mut results) = (0, 0);
        let mut open: HashSet<String> = HashSet::new();
        let mut astray = 0;
        for message in messages {
            for call in message.objects("tool_calls").unwrap().unwrap_or_default() {
                calls += 1;
                open.insert(call.text("id").unwrap().unwrap());
            }
            if let Some(id) = message.text("tool_call_id").unwrap().filter(|id| id != "nobody") {
                results += 1;
                astray += usize::from(!open.remove(&id));
            }
        }
        (calls, results, astray)
    };
    let (calls, results, astray) = groups(given);
    prop_assert_eq!((calls, astray), (results, 0), "the test's own requests are sound");
    let (calls, results, astray) = groups(out);
    prop_assert_eq!((calls, astray), (results, 0));
    Ok(())
}

fn holds(
    store: &mut dyn Store,
    messages: &[Value],
    scope: &Scope,
    options: &Options,
) -> Result<Came, TestCaseError> {
    let given = Request::parse(body(messages)).unwrap();
    let result = enriched(store, body(messages), scope, options);
    let told = Told::of(&result);
    prop_assert_eq!(told.counted, told.request - told.dropped_tokens + told.fence + told.recalled);
    prop_assert!((told.fence + told.recalled) as f64 <= told.window as f64 * options.share);
    prop_assert_eq!(told.ids.iter().collect::<HashSet<_>>().len(), told.ids.len());
    prop_assert_eq!(result.too_long.is_some(), told.counted + told.reserve > told.window);
    let (own, user) = kept(&given, &told);
    prop_assert_eq!(user.is_some(), given.last_user().is_some(), "the last user's turn never leaves");
    prop_assert_eq!(
        own.iter().filter(|message| is_system(message)).count(),
        given.messages.iter().filter(|message| is_system(message)).count()
    );
    calls_are_whole(&given.messages, &own)?;
    if result.too_long.is_some() {
        prop_assert!(
            told.ids.is_empty()
                && result.line.get("choices").unwrap().contains("Your last message is too long")
        );
        return Ok(Came::TooLong);
    }
    let mut line = Request::parse(result.line.clone()).unwrap();
    let (rsv, out) = (line.take_rsv().unwrap(), &line.messages);
    stands(out, &own, user, &told, options)?;
    let wrote = given.messages.last().filter(|_| given.last_user() == Some(given.messages.len() - 1));
    prop_assert_eq!(rsv.user.as_ref(), wrote.and(own.last()));
    prop_assert_eq!(line.member("temperature"), Some("0.5"));
    recounted(&result, &told, options)?;
    // Who said nothing at all is then one who says an empty text.
    let silent = own.iter().any(|message| Content::of(message).unwrap() == Content::Null);
    if told.dropped.is_empty() && options.placement != Placement::Head && !silent {
        let again = enriched(store, result.line.clone(), scope, options);
        prop_assert_eq!(again.line.to_json(), result.line.to_json());
    }
    Ok(match (told.ids.is_empty(), told.dropped.is_empty()) {
        (_, false) => Came::Shortened,
        (false, true) => Came::Recalled,
        (true, true) => Came::AsItWas,
    })
}

/// What came of a request.
#[derive(Clone, Copy)]
enum Came {
    AsItWas,
    Recalled,
    Shortened,
    TooLong,
}

/// What leaves has no more tokens than the account says.
fn recounted(result: &Enriched, told: &Told, options: &Options) -> Result<(), TestCaseError> {
    let mut line = Request::parse(result.line.clone()).unwrap();
    line.take_rsv().unwrap();
    let counter = Counter::of(&options.model);
    let sum =
        counter.overhead(&line) + line.messages.iter().map(|message| counter.message(message)).sum::<usize>();
    let sum = (sum as f64 * options.token_multiplier) as usize;
    prop_assert!(sum <= told.counted, "{} tokens leave, {} were told", sum, told.counted);
    Ok(())
}

#[test]
fn for_any_conversation_what_is_recalled_fits_and_all_else_stays() {
    let home = tempfile::tempdir().unwrap();
    let address = format!("sqlite:{}", home.path().join("store.db").display());
    let mut store = store::open(&address, Access::Write).unwrap();
    fill(&mut *store);
    let store = RefCell::new(store);
    let came = RefCell::new([0; 4]);
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) };
    let scopes = select(SCOPES.map(|(name, ..)| name).to_vec());
    proptest!(config, |(messages in conversation(), name in scopes, options in options())| {
        let what = holds(&mut **store.borrow_mut(), &messages, &scope(name), &options)?;
        came.borrow_mut()[what as usize] += 1;
    });
    assert!(came.take().iter().all(|times| *times > 10), "the requests are all alike: {came:?}");
}
