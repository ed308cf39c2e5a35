//! Conversations of every shape, and a store with what was said in others, for tests of enrichment.

use crate::support::{Dice, Home};
use proptest::prelude::*;
use proptest::sample::select;
use rsv::chat::fence;
use rsv::record::{Content, Draft, DraftDefaults, Link, Object, Record, Role, Scope, StoredRecord};
use rsv::store::{Store, WriteRules};
use serde_json::{Value, json};

pub(crate) const NOW: i64 = 1_795_244_580_000;
const DAY: i64 = 86_400_000;

/// Texts, in the store and in requests: recurring words, and everything that looks like a block of rsv's.
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
fn stored(scope: &Scope, at: i64, role: Role, text: String) -> StoredRecord {
    let fill = DraftDefaults {
        partition: Some(scope.partition.clone()),
        instance: Some(scope.instance.clone()),
        trace_id: format!("t{}", at / 2),
        timestamp: NOW - (1000 - at) * DAY,
        seq: 0,
    };
    let id = Some(format!("{}-{at}", scope.partition));
    Draft { id, ..Draft::message(role, Content::Text(text)) }.complete(&fill).unwrap()
}

/// The scopes of the store: one with nothing, few and many messages, long ones, and whole blocks.
pub(crate) const SCOPES: [(&str, i64, usize); 5] =
    [("none", 0, 0), ("few", 5, 6), ("many", 120, 12), ("long", 12, 900), ("blocks", 20, 4)];

pub(crate) fn scope(name: &str) -> Scope {
    Scope { partition: name.into(), instance: name.into() }
}

/// The home's store with all these scopes, and links within them.
pub(crate) fn filled(home: &Home) -> Box<dyn Store> {
    std::fs::create_dir_all(home.store().parent().unwrap()).unwrap();
    let mut store = home.open();
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
                let block = fence::enclose(fence::DEFAULT_NOTE, &[&message]);
                message.text = block + &text(2);
            }
            let to = message.id.clone();
            batch.push(Record::Stored(message));
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
        store.write(&batch, WriteRules::KEEP_OUT).unwrap();
    }
    store
}

fn words() -> impl Strategy<Value = String> {
    let few = prop::collection::vec(select(&PIECES[..]), 0..6).prop_map(|pieces| pieces.join(" "));
    let many = prop::collection::vec(select(&PIECES[..]), 60..200).prop_map(|pieces| pieces.concat());
    let block = (select(&PIECES[..]), select(&PIECES[..])).prop_map(|(quoted, own)| {
        fence::enclose(fence::DEFAULT_NOTE, &[&stored(&scope("w"), 1, Role::User, quoted.into())]) + own
    });
    prop_oneof![6 => few, 1 => many, 1 => block, 1 => any::<String>()]
}

/// The content of a message: a text, parts of every kind, or nothing.
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

pub(crate) fn conversation() -> impl Strategy<Value = Vec<Value>> {
    let pieces = prop::collection::vec(piece(), 1..12);
    (pieces, any::<bool>(), content()).prop_map(|(pieces, asks, question)| {
        let mut messages = pieces.concat();
        if asks {
            messages.push(json!({"role": "user", "content": question}));
        }
        messages
    })
}
