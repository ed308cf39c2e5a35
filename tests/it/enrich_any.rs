//! Enrichment for any conversation, any window and any store: what it adds fits and is accounted for, and what
//! the client wrote stays as it was.

use crate::conversations::{NOW, SCOPES, conversation, filled, scope};
use crate::support::Home;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{TestCaseError, TestRunner};
use rsv::api::{Api, Request as AnyRequest};
use rsv::chat::{self, Request, fence};
use rsv::cli::Diagnostics;
use rsv::enrich::{self, Memory, Options, Placement, Schedule, Turn};
use rsv::record::{Address, Clock, Content, LINE_ENDS, Object, Reach, Scope};
use rsv::store::Store;
use rsv::tokens::{Counter, Limits};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

fn options() -> impl Strategy<Value = Options> {
    let sizes = (0_usize..8, 0_usize..8);
    let window = prop_oneof![0_usize..400, 400_usize..4000, Just(128_000)];
    let reserve = prop_oneof![Just(None), (0_usize..5000).prop_map(Some)];
    let rest = (prop_oneof![Just(1.0), 0.5_f64..3.0], prop_oneof![Just(0.25), 0.0_f64..1.0]);
    let placement = select(vec![Placement::Tail, Placement::System, Placement::Head]);
    let model = select(vec!["gpt-4o", "gpt-3.5-turbo", "llama3.1", "claude-opus-4", "mistral-small"]);
    let switches = any::<(bool, bool)>();
    (sizes, window, reserve, rest, placement, switches, model).prop_map(
        |(
            (similar, recent),
            window,
            reserve,
            (token_multiplier, share),
            placement,
            (compress, selective),
            model,
        )| {
            Options {
                model: model.into(),
                reach: Reach::Instance,
                similar,
                recent,
                selective,
                newer: true,
                memories: 0,
                documents: 0,
                target: Address::parse("viking://resources").unwrap(),
                min_score: None,
                archives: false,
                carries: true,
                request_key: None,
                counts_others: true,
                session: false,
                holdout: 0.0,
                prior: rsv::memory::PriorRule { strength: 4.0, uniform: false },
                recent_gap: Duration::from_secs(1800),
                limits: Limits { window, reserve: window / 8 },
                assumed: true,
                reserve,
                share,
                catch_up: 0,
                token_multiplier,
                half_life: Duration::from_secs(30 * 86_400),
                placement,
                drops: true,
                compress,
                note: fence::DEFAULT_NOTE.to_owned(),
                keep_tools: false,
                actions: false,
                stored_actions: Default::default(),
                redactor: None,
                worktree: None,
                check: None,
            }
        },
    )
}

/// Enriches a body within a scope: the request, or the answer that it is too long.
fn enriched(store: &mut dyn Store, body: Object, scope: &Scope, options: &Options) -> Object {
    let clock = Clock::fixed(NOW);
    let turn = Turn { scope, trace_id: None, clock: &clock, served_window: &|| None, is_awaited: &|| true };
    let diagnostics = Diagnostics::default();
    let request = AnyRequest::parse(Api::Chat, body).unwrap();
    let begun = enrich::begin(Ok(store), request, &turn, options, &diagnostics).unwrap();
    let mut memory = Memory {
        store,
        vector: None,
        link_newest: None,
        diagnostics: &diagnostics,
        degraded: None,
        missing: Vec::new(),
    };
    let schedule = Schedule::begin(Duration::MAX);
    let recalled = begun.recall(&mut memory, &turn, options, &schedule, &|_| {});
    Arc::new(begun).prepare(recalled, &turn, options).unwrap().place().unwrap().line
}

fn body(messages: &[Value]) -> Object {
    Object::parse(&json!({"messages": messages, "temperature": 0.5}).to_string()).unwrap()
}

/// The numbers of an account.
struct LineOutput {
    window: usize,
    reserve: usize,
    counted: usize,
    request: usize,
    fence: usize,
    recalled: usize,
    dropped: Vec<usize>,
    dropped_tokens: usize,
    ids: Vec<String>,
    /// Whether the tokens were estimated.
    estimated: bool,
}

impl LineOutput {
    fn of(line: &Object) -> LineOutput {
        let members = line.object("rsv").unwrap().unwrap().object("account").unwrap().unwrap();
        let number = |of: &Object, name: &str| usize::try_from(of.integer(name).unwrap().unwrap()).unwrap();
        let list = |name: &str| members.objects(name).unwrap().unwrap();
        let sum = |list: &[Object]| list.iter().map(|entry| number(entry, "tokens")).sum::<usize>();
        let recalled = [list("recalled"), list("recent")].concat();
        let dropped = list("dropped");
        LineOutput {
            estimated: members.get("counter") == Some("\"heuristic\""),
            window: number(&members, "window"),
            reserve: number(&members, "reserve"),
            counted: number(&members, "counted"),
            request: number(&members, "request"),
            fence: number(&members, "fence"),
            recalled: sum(&recalled),
            dropped: dropped.iter().map(|entry| number(entry, "at")).collect(),
            dropped_tokens: sum(&dropped),
            ids: recalled.iter().map(|entry| entry.text("id").unwrap().unwrap()).collect(),
        }
    }
}

/// The request of the client: a system message that is a block and nothing else is an earlier run's.
fn written(messages: &[Value]) -> Request {
    let mut request = Request::parse(body(messages)).unwrap();
    let first = &request.messages[0];
    if request.messages.len() > 1 && is_system(first) && fence::is_all(&chat::text(first)) {
        request.messages.remove(0);
    }
    request
}

/// The messages of the client as they are to stand in the request: without those that were dropped, and
/// without a block that came back in the first system message or the last user's.
fn kept(request: &Request, reported: &LineOutput) -> (Vec<Object>, Option<usize>) {
    let (last, mut kept) = (request.last_user(), Vec::new());
    let mut user = None;
    for (at, message) in request.messages.iter().enumerate() {
        let mut message = message.clone();
        if last == Some(at) || at == 0 && is_system(&message) {
            let own = fence::strip(Content::from_message(&message).unwrap());
            if own != Content::from_message(&message).unwrap() {
                message.set("content", own.to_json());
            }
        }
        if !reported.dropped.contains(&at) {
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
        let lines = || text.split(LINE_ENDS);
        text.starts_with("<rsv-memory>\n")
            && text.ends_with("\n</rsv-memory>")
            && lines().filter(|line| line.starts_with("</rsv-memory>")).count() == 1
            && !["<|im_end|>", "[INST]", "</s>", "<|im_start|>"].iter().any(|token| text.contains(token))
    };
    let block = match (Content::from_message(&message).unwrap(), Content::from_message(own).unwrap()) {
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
    reported: &LineOutput,
    options: &Options,
) -> Result<(), TestCaseError> {
    if reported.ids.is_empty() {
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
            // The last user message, all after it, and the beginning of the first system message stay.
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

/// Checks the invariants of any outcome of a request.
fn holds(messages: &[Value], line: &Object, options: &Options) -> Result<Came, TestCaseError> {
    let given = written(messages);
    let reported = LineOutput::of(line);
    prop_assert_eq!(
        reported.counted,
        reported.request - reported.dropped_tokens + reported.fence + reported.recalled
    );
    prop_assert!((reported.fence + reported.recalled) as f64 <= reported.window as f64 * options.share);
    prop_assert_eq!(reported.ids.iter().collect::<HashSet<_>>().len(), reported.ids.len());
    prop_assert_eq!(line.has("choices"), reported.counted + reported.reserve > reported.window);
    let (own, user) = kept(&given, &reported);
    prop_assert_eq!(user.is_some(), given.last_user().is_some(), "the last user's turn never leaves");
    let systems = |messages: &[Object]| messages.iter().filter(|message| is_system(message)).count();
    prop_assert_eq!(systems(&own), systems(&given.messages));
    calls_are_whole(&given.messages, &own)?;
    if let Some(choices) = line.get("choices") {
        prop_assert!(reported.ids.is_empty() && choices.contains(" too long. "));
        return Ok(Came::TooLong);
    }
    let mut line = Request::parse(line.clone()).unwrap();
    let rsv = line.take_rsv().unwrap();
    stands(&line.messages, &own, user, &reported, options)?;
    let wrote = given.messages.last().filter(|_| given.last_user() == Some(given.messages.len() - 1));
    prop_assert_eq!(rsv.user.as_ref(), wrote.and(own.last()));
    prop_assert_eq!(line.member("temperature"), Some("0.5"));
    let tokens = recounted(&line, options);
    // An estimate may be too low, but is made only where everything fits.
    let most = if reported.estimated { reported.window - reported.reserve } else { reported.counted };
    prop_assert!(tokens <= most, "{} tokens leave, {} were told", tokens, reported.counted);
    Ok(match (reported.ids.is_empty(), reported.dropped.is_empty()) {
        (_, false) => Came::Shortened,
        (false, true) => Came::Recalled,
        (true, true) => Came::AsItWas,
    })
}

/// That enriching what was enriched changes nothing, where all of the request is still there.
fn stays_so(
    store: &mut dyn Store,
    messages: &[Value],
    line: &Object,
    scope: &Scope,
    options: &Options,
) -> Result<(), TestCaseError> {
    // A missing content becomes an empty text.
    let silent = messages.iter().any(|message| message["content"].is_null());
    let whole = !line.has("choices") && LineOutput::of(line).dropped.is_empty();
    if whole && options.placement != Placement::Head && !silent {
        let second = enriched(store, line.clone(), scope, options);
        prop_assert_eq!(second.to_json(), line.to_json());
    }
    Ok(())
}

/// The outcome of a request.
#[derive(Clone, Copy)]
enum Came {
    AsItWas,
    Recalled,
    Shortened,
    TooLong,
}

/// The tokens of a request as it leaves, counted as a whole.
fn recounted(request: &Request, options: &Options) -> usize {
    let counter = Counter::for_model(&options.model);
    let messages = request.messages.iter().map(|message| counter.message(message));
    let tokens = counter.overhead(request) + messages.sum::<usize>();
    (tokens as f64 * options.token_multiplier) as usize
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

#[test]
fn for_any_conversation_the_recall_fits_and_the_rest_is_unchanged() {
    let home = Home::new();
    let store = RefCell::new(filled(&home));
    let came = RefCell::new([0; 4]);
    let scopes = select(SCOPES.map(|(name, ..)| name).to_vec());
    proptest!(config(600), |(messages in conversation(), name in scopes, options in options())| {
        let (mut store, scope) = (store.borrow_mut(), scope(name));
        let line = enriched(&mut **store, body(&messages), &scope, &options);
        let what = holds(&messages, &line, &options)?;
        stays_so(&mut **store, &messages, &line, &scope, &options)?;
        came.borrow_mut()[what as usize] += 1;
    });
    let came = came.into_inner();
    assert!(came.iter().all(|times| *times > 10), "the requests are all alike: {came:?}");
}

#[test]
fn tokens_joined_across_the_blocks_edge_are_counted() {
    let home = Home::new();
    let mut store = filled(&home);
    let options = options().new_tree(&mut TestRunner::deterministic()).unwrap().current();
    let limits = Limits { window: 2000, reserve: 100 };
    let options =
        Options { model: "gpt-4o".into(), placement: Placement::Tail, limits, reserve: None, ..options };
    let options = Options { similar: 8, recent: 8, share: 1.0, token_multiplier: 1.0, ..options };
    for text in ["\r/owls", "\r/* What do owls do? */", "//owls", "\n\n owls"] {
        // So long that its tokens are counted, and not bounded by its bytes.
        let messages = [json!({"role": "user", "content": text.to_owned() + &" owls".repeat(500)})];
        let line = enriched(&mut *store, body(&messages), &scope("many"), &options);
        assert!(matches!(holds(&messages, &line, &options), Ok(Came::Recalled)), "{text:?}");
    }
}

#[test]
fn for_any_conversation_the_tool_does_the_same() {
    let home = Home::new();
    drop(filled(&home));
    home.write(
        ".config/rsv/config.toml",
        "model = 'gpt-4o'\nenrich.compress = false\n\
         [models.'gpt-4o']\nmax_context_tokens = 900\nreserve_tokens = 90\n",
    );
    let conversations = prop::collection::vec(conversation(), 60);
    let placements =
        select(vec![("tail", Placement::Tail), ("head", Placement::Head), ("system", Placement::System)]);
    let options = options().new_tree(&mut TestRunner::deterministic()).unwrap().current();
    let options =
        Options { model: "gpt-4o".into(), share: 0.25, token_multiplier: 1.0, compress: false, ..options };
    proptest!(config(8), |(conversations in conversations, (name, placement) in placements)| {
        let lines: String = conversations.iter().map(|messages| body(messages).to_json() + "\n").collect();
        let out = home.run("rsv-enrich", &["-p", "many", "--placement", name], lines).ok();
        prop_assert_eq!(out.lines().count(), conversations.len());
        let options = Options { placement, ..options.clone() };
        for (messages, line) in conversations.iter().zip(out.lines()) {
            holds(messages, &Object::parse(line).unwrap(), &options)?;
        }
    });
}
