//! The shapes in which providers answer: each row streamed and whole, for clients of Messages, Responses and Ollama.

use crate::fake::{Answer, Fake};
use crate::proxy::{NOW, Proxy};
use crate::support::{Dice, Home, lines_of, number_from, text, tries};
use rsv::api::{Api, EventTranslator, Translation};
use rsv::record::Object;
use serde_json::{Value, json};

/// A shape of an answer.
struct Shape {
    name: &'static str,
    /// The deltas of chat completions, one a chunk, and the message of the same answer whole.
    deltas: &'static [&'static str],
    message: &'static str,
    reason: &'static str,
    /// The pieces of the same answer in Ollama's form; none if that has no words for it.
    pieces: &'static [&'static str],
    /// The answer that the client gets: the words, and each call with its id, its name and its arguments.
    text: &'static str,
    calls: &'static [(&'static str, &'static str, &'static str)],
    /// Anthropic's reason for the end, and OpenAI's for an incomplete response.
    ends: (&'static str, Option<&'static str>),
}

/// Two calls, as most rows have them.
const TWO_CALLS: &[(&str, &str, &str)] = &[("c1", "water", "{\"bed\":1}"), ("c2", "weed", "{\"row\":2}")];
const TWO_CALLS_WHOLE: &str = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"water","arguments":"{\"bed\":1}"}},{"id":"c2","type":"function","function":{"name":"weed","arguments":"{\"row\":2}"}}]}"#;
const TWO_CALLS_PIECES: &[&str] = &[
    r#"{"tool_calls":[{"function":{"name":"water","arguments":{"bed":1}}}]}"#,
    r#"{"tool_calls":[{"function":{"name":"weed","arguments":{"row":2}}}]}"#,
];
const CALLING: (&str, Option<&str>) = ("tool_use", None);
const SPEAKING: (&str, Option<&str>) = ("end_turn", None);

const TWO: Shape = Shape {
    name: "",
    deltas: &[],
    message: TWO_CALLS_WHOLE,
    reason: "tool_calls",
    pieces: TWO_CALLS_PIECES,
    text: "",
    calls: TWO_CALLS,
    ends: CALLING,
};

/// Two calls of one function without ids.
const SAME_FUNCTION: Shape = Shape {
    message: r#"{"content":null,"tool_calls":[{"function":{"name":"water","arguments":"{\"bed\":1}"}},{"function":{"name":"water","arguments":"{\"bed\":2}"}}]}"#,
    pieces: &[
        r#"{"tool_calls":[{"function":{"name":"water","arguments":{"bed":1}}}]}"#,
        r#"{"tool_calls":[{"function":{"name":"water","arguments":{"bed":2}}}]}"#,
    ],
    calls: &[("call_cc_0", "water", "{\"bed\":1}"), ("call_cc_1", "water", "{\"bed\":2}")],
    ..TWO
};

const SHAPES: &[Shape] = &[
    Shape {
        name: "pieces of two calls in turn",
        deltas: &[
            r#"{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"water","arguments":"{\"bed\":"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"c2","type":"function","function":{"name":"weed","arguments":"{\"row\":"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}"#,
            r#"{"tool_calls":[{"index":1,"function":{"arguments":"2}"}}]}"#,
        ],
        ..TWO
    },
    Shape {
        name: "two calls that one chunk announces",
        deltas: &[
            r#"{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"water","arguments":""}},{"index":1,"id":"c2","type":"function","function":{"name":"weed","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":1,"function":{"arguments":"{\"row\":"}},{"index":0,"function":{"arguments":"{\"bed\""}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}"#,
            r#"{"tool_calls":[{"index":1,"function":{"arguments":"2}"}}]}"#,
        ],
        ..TWO
    },
    Shape {
        name: "two whole calls in one chunk",
        deltas: &[
            r#"{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"water","arguments":"{\"bed\":1}"}},{"index":1,"id":"c2","type":"function","function":{"name":"weed","arguments":"{\"row\":2}"}}]}"#,
        ],
        ..TWO
    },
    Shape {
        name: "without an index, by their ids, in turn",
        deltas: &[
            r#"{"tool_calls":[{"id":"c1","function":{"name":"water","arguments":"{\"bed\":"}}]}"#,
            r#"{"tool_calls":[{"index":null,"id":"c2","function":{"name":"weed","arguments":"{\"row\":"}}]}"#,
            r#"{"tool_calls":[{"id":"c1","function":{"arguments":"1}"}}]}"#,
            r#"{"tool_calls":[{"id":"c2","function":{"name":null,"arguments":"2}"}}]}"#,
        ],
        ..TWO
    },
    Shape {
        name: "without an index, an id with the first piece alone",
        deltas: &[
            r#"{"tool_calls":[{"id":"c1","function":{"name":"water","arguments":"{\"bed\":"}}]}"#,
            r#"{"tool_calls":[{"function":{"arguments":"1}"}},{"id":"c2","function":{"name":"weed"}}]}"#,
            r#"{"tool_calls":[{"function":{"arguments":"{\"row\":2}"}}]}"#,
        ],
        ..TWO
    },
    Shape {
        name: "all numbered 0",
        deltas: &[
            r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"water","arguments":"{\"bed\":"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"c2","function":{"name":"weed","arguments":"{\"row\":2}"}}]}"#,
        ],
        ..TWO
    },
    Shape {
        name: "all numbered 0, by their ids, in turn",
        deltas: &[
            r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"water","arguments":"{\"bed\":"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"c2","function":{"name":"weed","arguments":"{\"row\":"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"c1","function":{"arguments":"1}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"c2","function":{"arguments":"2}"}}]}"#,
        ],
        ..TWO
    },
    Shape {
        name: "id and name with each piece",
        deltas: &[
            r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"water","arguments":"{\"bed\""}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"water","arguments":":1}"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"c2","function":{"name":"weed","arguments":"{\"row\""}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"c2","function":{"name":"weed","arguments":":2}"}}]}"#,
        ],
        ..TWO
    },
    Shape {
        name: "another id with each piece",
        deltas: &[
            r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"water","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"x1","function":{"arguments":"{\"bed\":1}"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"c2","function":{"name":"weed","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"x2","function":{"arguments":"{\"row\":2}"}}]}"#,
        ],
        ..TWO
    },
    Shape {
        name: "the name after the id",
        deltas: &[
            r#"{"tool_calls":[{"index":0,"id":"c1","type":"function"}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"name":"water"}},{"index":1,"id":"c2"}]}"#,
            r#"{"tool_calls":[{"index":1,"function":{"name":"weed","arguments":"{\"row\":2}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"bed\":1}"}}]}"#,
        ],
        ..TWO
    },
    Shape {
        name: "calls that are told again at the end",
        deltas: &[
            r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"water","arguments":"{\"bed\":1}"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"c2","function":{"name":"weed","arguments":"{\"row\":2}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"water","arguments":"{\"bed\":1}"}},{"index":1,"id":"c2","function":{"name":"weed","arguments":"{\"row\":2}"}},{}]}"#,
        ],
        ..TWO
    },
    Shape {
        name: "one id for all calls",
        deltas: &[
            r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"water","arguments":"{\"bed\":1}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"water","arguments":"{\"bed\":"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"c","function":{"arguments":"2}"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"c","function":{"name":"weed","arguments":"{\"row\":2}"}}]}"#,
        ],
        message: r#"{"content":"","tool_calls":[{"id":"c","function":{"name":"water","arguments":"{\"bed\":1}"}},{"id":"c","function":{"name":"water","arguments":"{\"bed\":2}"}},{"id":"c","function":{"name":"weed","arguments":"{\"row\":2}"}}]}"#,
        pieces: &[
            r#"{"tool_calls":[{"function":{"name":"water","arguments":{"bed":1}}},{"function":{"name":"water","arguments":{"bed":2}}}]}"#,
            r#"{"tool_calls":[{"function":{"name":"weed","arguments":{"row":2}}}]}"#,
        ],
        calls: &[
            ("c", "water", "{\"bed\":1}"),
            ("c_1", "water", "{\"bed\":2}"),
            ("c_2", "weed", "{\"row\":2}"),
        ],
        ..TWO
    },
    Shape {
        name: "no ids",
        deltas: &[
            r#"{"tool_calls":[{"function":{"name":"water","arguments":"{\"bed\":1}"}},{"id":"","function":{"name":"water","arguments":"{\"bed\":2}"}}]}"#,
            r#"{"tool_calls":[{"function":{"name":"weed","arguments":"{}"}}]}"#,
        ],
        message: r#"{"content":null,"tool_calls":[{"function":{"name":"water","arguments":"{\"bed\":1}"}},{"id":"","function":{"name":"water","arguments":"{\"bed\":2}"}},{"function":{"name":"weed","arguments":{}}}]}"#,
        pieces: &[
            r#"{"tool_calls":[{"function":{"name":"water","arguments":{"bed":1}}},{"function":{"name":"water","arguments":{"bed":2}}},{"function":{"name":"weed","arguments":{}}}]}"#,
        ],
        calls: &[
            ("call_cc_0", "water", "{\"bed\":1}"),
            ("call_cc_1", "water", "{\"bed\":2}"),
            ("call_cc_2", "weed", "{}"),
        ],
        ..TWO
    },
    Shape {
        name: "one function twice, each announced before its arguments, with one id",
        deltas: &[
            r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"water","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"bed\":"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"water","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"bed\":"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"2}"}}]}"#,
        ],
        message: r#"{"content":null,"tool_calls":[{"id":"c","function":{"name":"water","arguments":"{\"bed\":1}"}},{"id":"c","function":{"name":"water","arguments":"{\"bed\":2}"}}]}"#,
        pieces: &[
            r#"{"tool_calls":[{"function":{"name":"water","arguments":{"bed":1}}}]}"#,
            r#"{"tool_calls":[{"function":{"name":"water","arguments":{"bed":2}}}]}"#,
        ],
        calls: &[("c", "water", "{\"bed\":1}"), ("c_1", "water", "{\"bed\":2}")],
        ..TWO
    },
    Shape {
        name: "one function twice, each announced before its arguments, without ids",
        deltas: &[
            r#"{"tool_calls":[{"function":{"name":"water","arguments":""}}]}"#,
            r#"{"tool_calls":[{"function":{"arguments":"{\"bed\":"}}]}"#,
            r#"{"tool_calls":[{"function":{"arguments":"1}"}}]}"#,
            r#"{"tool_calls":[{"function":{"name":"water"}}]}"#,
            r#"{"tool_calls":[{"function":{"arguments":"{\"bed\":2}"}}]}"#,
        ],
        ..SAME_FUNCTION
    },
    Shape {
        name: "one function twice, each announced before its arguments, all numbered 0 without ids",
        deltas: &[
            r#"{"tool_calls":[{"index":0,"function":{"name":"water","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"bed\":1}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"name":"water","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"bed\":2}"}}]}"#,
        ],
        ..SAME_FUNCTION
    },
    Shape {
        name: "one function twice, with objects for arguments",
        deltas: &[
            r#"{"tool_calls":[{"function":{"name":"water","arguments":{"bed":1}}}]}"#,
            r#"{"tool_calls":[{"function":{"name":"water","arguments":{"bed":2}}}]}"#,
        ],
        message: r#"{"content":null,"tool_calls":[{"function":{"name":"water","arguments":{"bed":1}}},{"function":{"name":"water","arguments":{"bed":2}}}]}"#,
        ..SAME_FUNCTION
    },
    Shape {
        name: "id and name with each piece, and nothing else in the last",
        deltas: &[
            r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"water","arguments":"{\"bed\":1}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"water","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"c2","function":{"name":"weed","arguments":"{\"row\":2}"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"c2","function":{"name":"weed"}}]}"#,
        ],
        ..TWO
    },
    Shape {
        name: "one call twice in one chunk",
        deltas: &[
            r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"water","arguments":"{\"bed\":1}"}},{"index":0,"id":"c","function":{"name":"water","arguments":"{\"bed\":1}"}}]}"#,
        ],
        message: r#"{"content":null,"tool_calls":[{"index":0,"id":"c","function":{"name":"water","arguments":"{\"bed\":1}"}},{"index":0,"id":"c","function":{"name":"water","arguments":"{\"bed\":1}"}}]}"#,
        pieces: &[],
        calls: &[("c", "water", "{\"bed\":1}"), ("c_1", "water", "{\"bed\":1}")],
        ..TWO
    },
    Shape {
        name: "one function twice without arguments and ids in one chunk",
        deltas: &[r#"{"tool_calls":[{"function":{"name":"now"}},{"function":{"name":"now"}}]}"#],
        message: r#"{"content":null,"tool_calls":[{"function":{"name":"now"}},{"function":{"name":"now"}}]}"#,
        pieces: &[],
        calls: &[("call_cc_0", "now", "{}"), ("call_cc_1", "now", "{}")],
        ..TWO
    },
    Shape {
        name: "one function twice without arguments in one chunk, numbered 0 with one id",
        deltas: &[
            r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"now"}},{"index":0,"id":"c","function":{"name":"now"}}]}"#,
        ],
        message: r#"{"content":null,"tool_calls":[{"index":0,"id":"c","function":{"name":"now"}},{"index":0,"id":"c","function":{"name":"now"}}]}"#,
        pieces: &[],
        calls: &[("c", "now", "{}"), ("c_1", "now", "{}")],
        ..TWO
    },
    Shape {
        name: "calls without arguments",
        deltas: &[
            r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"now","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"c2","function":{"name":"today","arguments":null}},{"index":2,"id":"c3","function":{"name":"here"}}]}"#,
            r#"{"tool_calls":[{"index":3,"id":"c4","function":{"name":"me","arguments":"nu"}},{"index":4,"id":"c5","function":{"name":"us","arguments":"{}"}}]}"#,
            r#"{"tool_calls":[{"index":3,"function":{"arguments":"ll"}}]}"#,
        ],
        message: r#"{"content":null,"tool_calls":[{"id":"c1","function":{"name":"now","arguments":""}},{"id":"c2","function":{"name":"today","arguments":null}},{"id":"c3","function":{"name":"here"}},{"id":"c4","function":{"name":"me","arguments":"null"}},{"id":"c5","function":{"name":"us","arguments":"{}"}}]}"#,
        pieces: &[],
        calls: &[
            ("c1", "now", "{}"),
            ("c2", "today", "{}"),
            ("c3", "here", "{}"),
            ("c4", "me", "{}"),
            ("c5", "us", "{}"),
        ],
        ..TWO
    },
    Shape {
        name: "arguments as an object",
        deltas: &[r#"{"tool_calls":[{"id":"c1","function":{"name":"water","arguments":{"bed":1.0}}}]}"#],
        message: r#"{"content":null,"tool_calls":[{"id":"c1","function":{"name":"water","arguments":{"bed":1.0}}}]}"#,
        pieces: &[r#"{"tool_calls":[{"function":{"name":"water","arguments":{"bed":1.0}}}]}"#],
        calls: &[("c1", "water", "{\"bed\":1.0}")],
        ..TWO
    },
    Shape {
        name: "arguments that are no JSON",
        deltas: &[
            r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"water","arguments":"all "}},{"index":1,"id":"c2","function":{"name":"weed","arguments":"{\"row\":"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"of it"}},{"index":1,"function":{"arguments":"[2"}}]}"#,
            r#"{"tool_calls":[{"index":2,"id":"c3","function":{"name":"list","arguments":"[1, \"a\"]"}},{"index":3,"id":"c4","function":{"name":"now","arguments":"nu"}}]}"#,
        ],
        message: r#"{"content":null,"tool_calls":[{"id":"c1","function":{"name":"water","arguments":"all of it"}},{"id":"c2","function":{"name":"weed","arguments":"{\"row\":[2"}},{"id":"c3","function":{"name":"list","arguments":"[1, \"a\"]"}},{"id":"c4","function":{"name":"now","arguments":"nu"}}]}"#,
        pieces: &[],
        calls: &[
            ("c1", "water", "all of it"),
            ("c2", "weed", "{\"row\":[2"),
            ("c3", "list", "[1, \"a\"]"),
            ("c4", "now", "nu"),
        ],
        ..TWO
    },
    Shape {
        name: "words before calls, and after one",
        deltas: &[
            r#"{"role":"assistant","content":"I "}"#,
            r#"{"content":"do","tool_calls":[]}"#,
            r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"water","arguments":"{\"bed\":"}}]}"#,
            r#"{"content":" it","tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}"#,
            r#"{"content":"!"}"#,
        ],
        message: r#"{"content":"I do it!","tool_calls":[{"id":"c1","function":{"name":"water","arguments":"{\"bed\":1}"}}]}"#,
        pieces: &[
            r#"{"content":"I do"}"#,
            r#"{"content":" it!","tool_calls":[{"function":{"name":"water","arguments":{"bed":1}}}]}"#,
        ],
        text: "I do it!",
        calls: &[("c1", "water", "{\"bed\":1}")],
        ..TWO
    },
    Shape {
        name: "a call of old servers",
        deltas: &[
            r#"{"role":"assistant","content":null,"function_call":{"name":"water","arguments":""}}"#,
            r#"{"function_call":{"arguments":"{\"bed\""}}"#,
            r#"{"function_call":{"arguments":":1}"}}"#,
        ],
        message: r#"{"content":null,"function_call":{"name":"water","arguments":"{\"bed\":1}"}}"#,
        reason: "function_call",
        pieces: &[],
        calls: &[("call_cc_0", "water", "{\"bed\":1}")],
        ..TWO
    },
    Shape {
        name: "a reason that promises calls, and none",
        deltas: &[r#"{"content":"Nothing to do"}"#],
        message: r#"{"content":"Nothing to do"}"#,
        pieces: &[r#"{"content":"Nothing to do"}"#],
        text: "Nothing to do",
        calls: &[],
        ends: SPEAKING,
        ..TWO
    },
    Shape {
        name: "a call that the limit cuts",
        deltas: &[
            r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"water","arguments":"{\"bed\":"}}]}"#,
        ],
        message: r#"{"content":null,"tool_calls":[{"id":"c1","function":{"name":"water","arguments":"{\"bed\":"}}]}"#,
        reason: "length",
        pieces: &[],
        calls: &[("c1", "water", "{\"bed\":")],
        ends: ("max_tokens", Some("max_output_tokens")),
        ..TWO
    },
    Shape {
        name: "words that the limit cuts",
        deltas: &[r#"{"content":"ripe "}"#, r#"{"content":"figs"}"#],
        message: r#"{"content":"ripe figs"}"#,
        reason: "length",
        pieces: &[r#"{"content":"ripe "}"#, r#"{"content":"figs"}"#],
        text: "ripe figs",
        calls: &[],
        ends: ("max_tokens", Some("max_output_tokens")),
    },
    Shape {
        name: "an answer that is filtered",
        deltas: &[r#"{"role":"assistant","content":""}"#],
        message: r#"{"role":"assistant","content":""}"#,
        reason: "content_filter",
        pieces: &[],
        text: "",
        calls: &[],
        ends: ("refusal", Some("content_filter")),
    },
    Shape {
        name: "a refusal",
        deltas: &[
            r#"{"role":"assistant","content":null,"refusal":"I "}"#,
            r#"{"content":null,"refusal":"will not \ud83c"}"#,
            r#"{"refusal":"\udf45"}"#,
        ],
        message: r#"{"role":"assistant","content":null,"refusal":"I will not 🍅"}"#,
        reason: "stop",
        pieces: &[],
        text: "I will not 🍅",
        calls: &[],
        ends: ("refusal", None),
    },
    Shape {
        name: "characters that are cut between chunks",
        deltas: &[
            r#"{"content":"ripe \ud83c"}"#,
            r#"{"content":"","role":"assistant"}"#,
            r#"{"content":"\udf45 figs \uD83C"}"#,
            r#"{"content":"\uDF45"}"#,
            r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"water","arguments":"{\"bed\":\"\ud83c"}},{"index":1,"id":"c2","function":{"name":"weed","arguments":"{\"row\":\""}}]}"#,
            r#"{"tool_calls":[{"index":1,"function":{"arguments":"\ud83c"}},{"index":0,"function":{"arguments":"\udf45\"}"}}]}"#,
            r#"{"tool_calls":[{"index":1,"function":{"arguments":"\udf45\"}"}}]}"#,
        ],
        message: r#"{"content":"ripe 🍅 figs 🍅","tool_calls":[{"id":"c1","function":{"name":"water","arguments":"{\"bed\":\"🍅\"}"}},{"id":"c2","function":{"name":"weed","arguments":"{\"row\":\"🍅\"}"}}]}"#,
        pieces: &[
            r#"{"content":"ripe \ud83c"}"#,
            r#"{"content":"\udf45 figs \ud83c\udf45"}"#,
            r#"{"tool_calls":[{"function":{"name":"water","arguments":{"bed":"🍅"}}},{"function":{"name":"weed","arguments":{"row":"🍅"}}}]}"#,
        ],
        text: "ripe 🍅 figs 🍅",
        calls: &[("c1", "water", "{\"bed\":\"🍅\"}"), ("c2", "weed", "{\"row\":\"🍅\"}")],
        ..TWO
    },
    Shape {
        name: "half of a character without the other",
        deltas: &[r#"{"content":"ripe \ud83c"}"#, r#"{"content":" figs \ud83c"}"#],
        message: r#"{"content":"ripe \ud83c figs \ud83c"}"#,
        reason: "stop",
        pieces: &[r#"{"content":"ripe \ud83c"}"#, r#"{"content":" figs \ud83c"}"#],
        text: "ripe \u{fffd} figs \u{fffd}",
        calls: &[],
        ends: SPEAKING,
    },
];

impl Shape {
    /// The answer in chunks, and whole.
    fn chunks(&self) -> String {
        let chunk = |choice: String| {
            format!(
                "data: {{\"id\":\"cc\",\"object\":\"chat.completion.chunk\",\"created\":7,\"model\":\"llama3.1\",\"choices\":[{choice}]}}\n\n"
            )
        };
        let deltas = self
            .deltas
            .iter()
            .map(|delta| chunk(format!("{{\"index\":0,\"delta\":{delta},\"finish_reason\":null}}")));
        let end = chunk(format!("{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{}\"}}", self.reason));
        deltas.collect::<String>() + &end + "data: [DONE]\n\n"
    }

    fn whole(&self) -> String {
        format!(
            "{{\"id\":\"cc\",\"object\":\"chat.completion\",\"created\":7,\"model\":\"llama3.1\",\"choices\":[{{\"index\":0,\"message\":{},\"finish_reason\":\"{}\"}}]}}",
            self.message, self.reason
        )
    }

    /// The answer of Ollama's own API in pieces, and whole.
    fn ollama_pieces(&self) -> String {
        let piece =
            |message: &&str| format!("{{\"model\":\"llama3.1\",\"message\":{message},\"done\":false}}\n");
        let pieces: String = self.pieces.iter().map(piece).collect();
        pieces
            + "{\"model\":\"llama3.1\",\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n"
    }

    fn ollama_whole(&self) -> String {
        let calls = self.calls.iter().map(|(_, name, arguments)| {
            format!("{{\"function\":{{\"name\":\"{name}\",\"arguments\":{arguments}}}}}")
        });
        let calls = calls.collect::<Vec<_>>().join(",");
        let content = json!(self.text);
        format!(
            "{{\"model\":\"llama3.1\",\"message\":{{\"content\":{content},\"tool_calls\":[{calls}]}},\"done\":true,\"done_reason\":\"stop\"}}"
        )
    }
}

/// The answer that a client got.
#[derive(PartialEq, Debug)]
struct Got {
    text: String,
    /// Ids, names, and arguments.
    calls: Vec<(String, String, String)>,
    stop_reason: String,
}

/// A provider that answers with the shape whose number ends the last message.
fn provider() -> Fake {
    Fake::answering(|seen| {
        let Ok(request) = serde_json::from_slice::<Value>(&seen.body) else { return Answer::new(404, "{}") };
        let Some(last) = request["messages"].as_array().and_then(|turns| turns.last()) else {
            return Answer::new(404, "{}");
        };
        let shape = &SHAPES[text(&last["content"]).rsplit(' ').next().unwrap().parse::<usize>().unwrap()];
        let streams = request["stream"] == true;
        match (seen.path.as_str(), streams) {
            ("/v1/chat/completions", true) => {
                Answer::new(200, shape.chunks()).header("Content-Type", "text/event-stream")
            }
            ("/v1/chat/completions", false) => Answer::new(200, shape.whole()),
            ("/api/chat", true) => {
                Answer::new(200, shape.ollama_pieces()).header("Content-Type", "application/x-ndjson")
            }
            ("/api/chat", false) => Answer::new(200, shape.ollama_whole()),
            _ => Answer::new(404, "{}"),
        }
    })
}

fn home(provider: &Fake) -> Home {
    let home = Home::new().env("RSV_OLLAMA_BASE_URL", &provider.url()).env("RSV_KEEP_TOOLS", "true");
    home.at(NOW).env("RSV_ENRICH_TIMEOUT", "60s")
}

fn request(number: usize, turns: &str, streams: bool) -> String {
    let question = json!([{"role": "user", "content": format!("shape {number}")}]);
    json!({"model": "llama3.1", "max_tokens": 100, "stream": streams, turns: question}).to_string()
}

/// The events of a stream; each has the name that its data has.
fn events(body: &str) -> Vec<Value> {
    let (mut events, mut name) = (Vec::new(), "");
    for line in body.lines() {
        name = line.strip_prefix("event: ").unwrap_or(name);
        if let Some(data) = line.strip_prefix("data: ") {
            events.push(serde_json::from_str::<Value>(data).unwrap());
            assert_eq!(events.last().unwrap()["type"], name, "{data}");
        }
    }
    events
}

/// The message that a client of Anthropic's makes of a stream: blocks come one after the other.
fn message_of(events: &[Value]) -> Value {
    let mut message = events[0]["message"].clone();
    assert_eq!(events[0]["type"], "message_start");
    let (mut open, mut input) = (false, String::new());
    for event in &events[1..] {
        let blocks = message["content"].as_array().unwrap().len();
        match event["type"].as_str().unwrap() {
            "content_block_start" => {
                assert!(!open && event["index"] == blocks, "{event}");
                message["content"].as_array_mut().unwrap().push(event["content_block"].clone());
                (open, input) = (true, String::new());
            }
            "content_block_delta" => {
                assert!(open && event["index"] == blocks - 1, "{event}");
                let block = &mut message["content"][blocks - 1];
                let delta = &event["delta"];
                if delta["type"] == "text_delta" {
                    block["text"] = json!(text(&block["text"]) + &text(&delta["text"]));
                } else {
                    assert_eq!(
                        (&delta["type"], &block["type"]),
                        (&json!("input_json_delta"), &json!("tool_use"))
                    );
                    input += &text(&delta["partial_json"]);
                    block["input"] = match serde_json::from_str::<Value>(&input) {
                        Ok(input) if input.is_object() => input,
                        _ => json!(input),
                    };
                }
            }
            "content_block_stop" => {
                assert!(open && event["index"] == blocks - 1, "{event}");
                open = false;
            }
            "message_delta" => {
                assert!(!open, "{event}");
                message["stop_reason"] = event["delta"]["stop_reason"].clone();
            }
            kind => assert_eq!(kind, "message_stop"),
        }
    }
    assert!(!open && events.last().unwrap()["type"] == "message_stop");
    message
}

/// The contents of a message of Anthropic's.
fn got_of_message(message: &Value) -> Got {
    let mut got = Got { text: String::new(), calls: Vec::new(), stop_reason: text(&message["stop_reason"]) };
    for block in message["content"].as_array().unwrap() {
        match block["type"].as_str().unwrap() {
            "text" => got.text += block["text"].as_str().unwrap(),
            kind => {
                assert_eq!(kind, "tool_use");
                let input = block["input"].as_str().map_or_else(|| block["input"].to_string(), str::to_owned);
                got.calls.push((text(&block["id"]), text(&block["name"]), input));
            }
        }
    }
    got
}

/// The response in the last event of a stream, whose events tell the same, item by item.
fn response_of(events: &[Value]) -> Value {
    let numbers: Vec<u64> = events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
    let response = &events.last().unwrap()["response"];
    assert_eq!(events.last().unwrap()["type"], format!("response.{}", text(&response["status"])));
    let mut items: Vec<Value> = Vec::new();
    let (mut open, mut grown) = (false, String::new());
    for event in &events[2..events.len() - 1] {
        let kind = event["type"].as_str().unwrap();
        let at = items.len() - usize::from(open);
        assert_eq!(event["output_index"], at, "{event}");
        match kind {
            "response.output_item.added" => {
                assert!(!open && event["item"]["status"] == "in_progress", "{event}");
                items.push(event["item"].clone());
                (open, grown) = (true, String::new());
            }
            "response.output_item.done" => {
                assert!(open && event["item"]["id"] == items[at]["id"], "{event}");
                assert_eq!(event["item"]["name"], items[at]["name"]);
                items[at] = event["item"].clone();
                open = false;
            }
            _ => {
                assert!(open && event["item_id"] == items[at]["id"], "{event}");
                if kind.ends_with(".delta") {
                    grown += event["delta"].as_str().unwrap();
                } else if let Some(whole) =
                    ["text", "refusal", "arguments"].into_iter().find_map(|name| event[name].as_str())
                {
                    assert_eq!(whole, grown, "{event}");
                }
            }
        }
    }
    assert_eq!(json!(items), response["output"]);
    response.clone()
}

/// The contents of a response of OpenAI's, with the reason that Anthropic would give for its end.
fn got_of_response(response: &Value, ends: (&str, Option<&str>)) -> Got {
    let mut got = Got { text: String::new(), calls: Vec::new(), stop_reason: ends.0.to_owned() };
    let status = if ends.1.is_some() { "incomplete" } else { "completed" };
    assert_eq!(response["status"], status, "{response}");
    assert_eq!(response["incomplete_details"]["reason"].as_str(), ends.1, "{response}");
    let items = response["output"].as_array().unwrap();
    let ids: std::collections::BTreeSet<String> = items.iter().map(|item| text(&item["id"])).collect();
    assert_eq!(ids.len(), items.len(), "{response}");
    for (at, item) in items.iter().enumerate() {
        assert_eq!(item["status"], if at + 1 == items.len() { status } else { "completed" }, "{item}");
        if item["type"] == "message" {
            let part = &item["content"][0];
            let is_refusal = ends == ("refusal", None);
            assert_eq!(part["type"], if is_refusal { "refusal" } else { "output_text" }, "{item}");
            got.text += part[if is_refusal { "refusal" } else { "text" }].as_str().unwrap();
        } else {
            assert_eq!(item["type"], "function_call");
            got.calls.push((text(&item["call_id"]), text(&item["name"]), text(&item["arguments"])));
        }
    }
    got
}

fn wanted(shape: &Shape) -> Got {
    let calls =
        shape.calls.iter().map(|(id, name, arguments)| ((*id).into(), (*name).into(), (*arguments).into()));
    Got { text: shape.text.to_owned(), calls: calls.collect(), stop_reason: shape.ends.0.to_owned() }
}

/// Keeps: A client gets exactly the answer of a provider of chat completions, in any shape.
#[test]
fn a_client_gets_exactly_what_a_provider_of_chat_completions_answers() {
    let provider = provider();
    let home = home(&provider);
    let proxy = Proxy::start(&home);
    for (number, shape) in SHAPES.iter().enumerate() {
        let ask = |path: &str, turns: &str, streams: bool| {
            let path = format!("/partition/{number}{turns}{streams}{path}");
            let (status, body) = proxy.post(&path, "", &request(number, turns, streams));
            assert_eq!(status, 200, "{}: {body}", shape.name);
            body
        };
        let streamed = message_of(&events(&ask("/v1/messages", "messages", true)));
        assert_eq!(got_of_message(&streamed), wanted(shape), "{}", shape.name);
        let whole: Value = serde_json::from_str(&ask("/v1/messages", "messages", false)).unwrap();
        assert_eq!(got_of_message(&whole), wanted(shape), "{}", shape.name);
        let streamed = response_of(&events(&ask("/v1/responses", "input", true)));
        assert_eq!(got_of_response(&streamed, shape.ends), wanted(shape), "{}", shape.name);
        let whole: Value = serde_json::from_str(&ask("/v1/responses", "input", false)).unwrap();
        assert_eq!(got_of_response(&whole, shape.ends), wanted(shape), "{}", shape.name);
        // Calls are told in their place in a stream, and after the words in a whole answer.
        if shape.text.is_empty() || shape.calls.is_empty() {
            assert_eq!(streamed["output"], whole["output"], "{}", shape.name);
        }
        for turns in ["messages", "input"] {
            let stored = |streams: bool| {
                let words = ["-p", &format!("{number}{turns}{streams}"), "99"];
                let lines = lines_of(&home.run("rsv-view", &words, "").ok());
                lines.into_iter().map(|line| json!([line["content"], line["tool_calls"]])).collect::<Vec<_>>()
            };
            // A refusal of OpenAI's has no words, and an answer without words or calls is not stored.
            let is_said = !shape.text.is_empty() && (turns == "messages" || shape.ends.0 != "refusal");
            let is_stored = is_said || !shape.calls.is_empty();
            assert_eq!(stored(true).len(), 1 + usize::from(is_stored), "{}", shape.name);
            assert_eq!(stored(true), stored(false), "{}", shape.name);
        }
    }
}

#[test]
fn a_whole_answer_in_place_of_a_stream_is_told_as_it_is() {
    let provider = Fake::answering(|seen| {
        let request: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
        let asked = text(&request["messages"][0]["content"]);
        let Some(number) = asked.strip_prefix("shape ") else { return Answer::new(404, "{}") };
        Answer::new(200, SHAPES[number.parse::<usize>().unwrap()].whole())
    });
    let home = home(&provider);
    let proxy = Proxy::start(&home);
    for (number, shape) in SHAPES.iter().enumerate() {
        let ask = |path: &str, turns: &str| {
            let (status, body) =
                proxy.post(path, "x-rsv-memory: readonly\r\n", &request(number, turns, true));
            assert_eq!(status, 200, "{}: {body}", shape.name);
            events(&body)
        };
        let message = message_of(&ask("/v1/messages", "messages"));
        assert_eq!(got_of_message(&message), wanted(shape), "{}", shape.name);
        let response = response_of(&ask("/v1/responses", "input"));
        assert_eq!(got_of_response(&response, shape.ends), wanted(shape), "{}", shape.name);
    }
}

#[test]
fn a_client_of_ollama_gets_its_bytes_and_what_is_stored_is_the_same() {
    let provider = provider();
    let home = home(&provider);
    let proxy = Proxy::start(&home);
    for (number, shape) in SHAPES.iter().enumerate().filter(|(_, shape)| !shape.pieces.is_empty()) {
        for (streams, sent) in [(true, shape.ollama_pieces()), (false, shape.ollama_whole())] {
            let partition = format!("{number}{streams}");
            let path = format!("/partition/{partition}/api/chat");
            let (status, body) = proxy.post(&path, "", &request(number, "messages", streams));
            assert_eq!(
                (status, body.contains(sent.lines().next().unwrap())),
                (200, true),
                "{}: {body}",
                shape.name
            );
            let lines = lines_of(&home.run("rsv-view", &["-p", &partition, "99"], "").ok());
            let answer = lines.last().unwrap();
            assert_eq!(answer["content"].as_str().unwrap_or_default(), shape.text, "{}", shape.name);
            let calls = answer["tool_calls"].as_array().cloned().unwrap_or_default();
            let calls: Vec<(String, String)> = calls
                .iter()
                .map(|call| (text(&call["function"]["name"]), call["function"]["arguments"].to_string()))
                .collect();
            let wanted: Vec<(String, String)> = shape
                .calls
                .iter()
                .map(|(_, name, arguments)| ((*name).into(), (*arguments).into()))
                .collect();
            assert_eq!(calls, wanted, "{}", shape.name);
        }
    }
}

#[test]
fn a_character_that_is_cut_is_whole_on_the_terminal_and_in_the_store() {
    let number = SHAPES.iter().position(|shape| shape.name.starts_with("characters")).unwrap();
    let provider = provider();
    let home = home(&provider);
    let printed = home.run("rsv-forward", &["--text"], request(number, "messages", false)).ok();
    assert_eq!(printed, "ripe 🍅 figs 🍅\n");
    let question = format!("shape {number}");
    let printed = home.run("rsv-ask", &["--model", "llama3.1", &question], "").ok();
    assert_eq!(printed, "ripe 🍅 figs 🍅\n");
    assert_eq!(home.contents("rsv-view", &["9"]), [question.as_str(), "ripe 🍅 figs 🍅"]);
    let proxy = Proxy::start(&home);
    let path = "/partition/p/v1/chat/completions";
    let (status, body) = proxy.post(path, "", &request(number, "messages", true));
    assert!(status == 200 && body.contains(&SHAPES[number].chunks()), "{body}");
    assert_eq!(home.contents("rsv-view", &["-p", "p", "9"])[1], "ripe 🍅 figs 🍅");
}

/// The usage that a provider reports, and what clients of Messages and Responses are told.
const USAGES: [(&str, &str, &str); 4] = [
    (
        r#"{"prompt_tokens":11,"completion_tokens":3,"total_tokens":14,"prompt_tokens_details":{"cached_tokens":7},"completion_tokens_details":{"reasoning_tokens":2}}"#,
        r#"{"input_tokens":4,"cache_read_input_tokens":7,"output_tokens":3}"#,
        r#"{"input_tokens":11,"input_tokens_details":{"cached_tokens":7},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":14}"#,
    ),
    (
        r#"{"prompt_tokens":11,"completion_tokens":3,"prompt_tokens_details":null}"#,
        r#"{"input_tokens":11,"output_tokens":3}"#,
        r#"{"input_tokens":11,"input_tokens_details":{"cached_tokens":0},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":14}"#,
    ),
    (
        r#"{"prompt_tokens":5,"completion_tokens":0,"prompt_tokens_details":{"cached_tokens":9}}"#,
        r#"{"input_tokens":0,"cache_read_input_tokens":9,"output_tokens":0}"#,
        r#"{"input_tokens":5,"input_tokens_details":{"cached_tokens":9},"output_tokens":0,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":5}"#,
    ),
    (
        "null",
        r#"{"input_tokens":0,"output_tokens":0}"#,
        r#"{"input_tokens":0,"input_tokens_details":{"cached_tokens":0},"output_tokens":0,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":0}"#,
    ),
];

#[test]
fn the_tokens_that_a_provider_counts_come_over_and_a_stream_begins_with_an_estimate() {
    for (usage, of_message, of_response) in USAGES {
        let chunk = |choices: &str, usage: &str| {
            format!(
                "data: {{\"id\":\"cc\",\"model\":\"llama3.1\",\"choices\":{choices},\"usage\":{usage}}}\n\n"
            )
        };
        let words = r#"[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]"#;
        let chunks = chunk(words, "null") + &chunk("[]", usage) + "data: [DONE]\n\n";
        let whole = words.replace("delta", "message");
        let whole = format!("{{\"id\":\"cc\",\"model\":\"llama3.1\",\"choices\":{whole},\"usage\":{usage}}}");
        let provider = Fake::answering(move |seen| match seen.path.as_str() {
            "/v1/chat/completions" if seen.text().contains("\"stream\":true") => {
                Answer::new(200, chunks.clone()).header("Content-Type", "text/event-stream")
            }
            "/v1/chat/completions" => Answer::new(200, whole.clone()),
            _ => Answer::new(404, "{}"),
        });
        let home = home(&provider);
        let proxy = Proxy::start(&home);
        let ask = |path: &str, turns: &str, streams: bool| {
            let (status, body) = proxy.post(path, "", &request(0, turns, streams));
            assert_eq!(status, 200, "{body}");
            body
        };
        let parsed = |json: &str| serde_json::from_str::<Value>(json).unwrap();
        assert_eq!(parsed(&ask("/v1/messages", "messages", false))["usage"], parsed(of_message));
        assert_eq!(parsed(&ask("/v1/responses", "input", false))["usage"], parsed(of_response));
        let streamed = events(&ask("/v1/responses", "input", true));
        assert_eq!(streamed.last().unwrap()["response"]["usage"], parsed(of_response));
        let piped = request(0, "messages", true);
        let piped = home.run("rsv-forward", &["--stream", "--api", "messages"], piped).ok();
        let piped: Vec<Value> = lines_of(&piped).into_iter().filter(|line| line["kind"] == "chunk").collect();
        for streamed in [events(&ask("/v1/messages", "messages", true)), piped] {
            let begun = streamed[0]["message"]["usage"]["input_tokens"].as_u64().unwrap();
            assert!((4..400).contains(&begun), "{}", streamed[0]);
            let delta = &streamed[streamed.len() - 2];
            // The counts from the beginning hold where the provider counts nothing.
            let wanted = if usage == "null" { json!({"output_tokens": 0}) } else { parsed(of_message) };
            assert_eq!(delta["usage"], wanted);
        }
    }
}

/// A call that a provider sends in pieces.
struct SentCall {
    id: String,
    name: &'static str,
    arguments: String,
    /// The rest that was not sent yet, in units of UTF-16, of which two make an emoji.
    rest: Vec<u16>,
    is_announced: bool,
}

/// Calls in random pieces, as chunks: numbered or named by their ids in turn, else one after the other.
fn in_pieces(calls: &mut [SentCall], dice: &mut Dice) -> Vec<Object> {
    let (has_index, has_ids) = (dice.below(2) == 0, dice.below(2) == 0);
    let mut chunks = Vec::new();
    while let Some(first) = calls.iter().position(|call| !call.is_announced || !call.rest.is_empty()) {
        let open: Vec<usize> = (first..calls.len())
            .filter(|at| !calls[*at].rest.is_empty() || !calls[*at].is_announced)
            .collect();
        // Without a number and an id, a piece continues the last call. Calls begin in their order.
        let at = if has_index || has_ids { open[dice.below(open.len())] } else { first };
        let at = calls[..at].iter().position(|call| !call.is_announced).unwrap_or(at);
        let call = &mut calls[at];
        let mut function = Object::default();
        let mut piece = Object::default();
        if has_index {
            piece.set("index", at.to_string());
        }
        if !call.is_announced || has_ids {
            piece.set_text("id", &call.id);
        }
        if !std::mem::replace(&mut call.is_announced, true) {
            function.set_text("name", call.name);
        }
        let length = dice.below(call.rest.len() + 1);
        let units: String = call.rest.drain(..length).map(|unit| format!("\\u{unit:04x}")).collect();
        function.set("arguments", format!("\"{units}\""));
        piece.set("function", function.to_json());
        let delta = format!("{{\"tool_calls\":[{}]}}", piece.to_json());
        let chunk = format!("{{\"id\":\"cc\",\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}");
        chunks.push(Object::parse(&chunk).unwrap());
    }
    chunks
}

#[test]
fn calls_in_any_pieces_are_put_together() {
    tries(number_from("RSV_TEST_STEPS").unwrap_or(400), |mut dice| {
        const TEXTS: [&str; 6] = ["", "}{", "a\"b\\", "🍅", "\n", "{\"c\":"];
        let mut calls: Vec<SentCall> = (0..=dice.below(3))
            .map(|at| {
                let texts: String = (0..dice.below(5)).map(|_| TEXTS[dice.below(TEXTS.len())]).collect();
                let arguments = match dice.below(4) {
                    0 => "{}".to_owned(),
                    1 => format!("no JSON: {texts}"),
                    _ => json!({"bed": texts, "rows": [1, {"n": 2}]}).to_string(),
                };
                let (id, rest) = (format!("c{at}"), arguments.encode_utf16().collect());
                SentCall { id, name: ["water", "weed"][dice.below(2)], arguments, rest, is_announced: false }
            })
            .collect();
        let chunks = in_pieces(&mut calls, &mut dice);
        for api in [Api::Messages, Api::Responses] {
            let mut translator = EventTranslator::new(Translation::new(api, &Object::default(), 1));
            let mut events: Vec<Object> = chunks.iter().flat_map(|chunk| translator.chunk(chunk)).collect();
            events.extend(translator.finish());
            let events: Vec<Value> =
                events.iter().map(|event| serde_json::from_str(&event.to_json()).unwrap()).collect();
            let got = match api {
                Api::Messages => got_of_message(&message_of(&events)),
                _ => got_of_response(&response_of(&events), CALLING),
            };
            let read_anew = |arguments: &str| match serde_json::from_str::<Value>(arguments) {
                Ok(read @ Value::Object(_)) => read.to_string(),
                _ => arguments.to_owned(),
            };
            let got: Vec<(String, String, String)> = got
                .calls
                .into_iter()
                .map(|(id, name, arguments)| (id, name, read_anew(&arguments)))
                .collect();
            let wanted: Vec<(String, String, String)> = calls
                .iter()
                .map(|call| (call.id.clone(), call.name.to_owned(), read_anew(&call.arguments)))
                .collect();
            assert_eq!(got, wanted, "{api:?}: {chunks:?}");
        }
    });
}
