//! Counts the tokens of a text for a model, and gives the model's context window.

mod family;
mod heuristic;
mod media;
mod media_header;
mod window;

pub use window::{Limits, limits};

use crate::chat::{self, Request};
use crate::record::Object;
use family::{CountingRule, Family};
use window::Model;

/// Counts tokens as the model does, estimates them, or gives an upper bound.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    model: Model,
    method: Method,
    /// The tokens of a text from which those of its rest are estimated.
    limit: usize,
}

/// The way in which a text is counted; only an encoder needs a table, which takes time to build.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Method {
    Encoder,
    Heuristic,
    Bound,
}

/// The tokens of a tool call in addition to its name, id and arguments.
const TOKENS_PER_CALL: usize = 8;

/// The tokens of a name in addition to its text.
const TOKENS_PER_NAME: usize = 1;

/// Members other than `content` whose text may reach the model.
const TEXT_MEMBERS: [&str; 4] = ["refusal", "reasoning_content", "reasoning", "tool_call_id"];

/// Bytes up to which a part of an unknown kind counts as the JSON text that it is; a larger one counts as a
/// file.
const SMALL_PART_BYTES: usize = 16 * 1024;

/// Tokens for a second of sound: OpenAI's ("Audio", 2026: one for 100 ms of input), and for all others
/// Gemini's ("Understand and count tokens", 2026), the highest published number.
const OPENAI_AUDIO_TOKENS_PER_SECOND: usize = 10;
const AUDIO_TOKENS_PER_SECOND: usize = 32;

impl Counter {
    /// The counter for a model: tiktoken's encoder for OpenAI's; for all others the nearest encoder, times a
    /// measured factor.
    pub fn for_model(model: &str) -> Counter {
        Counter { model: window::for_model(model), method: Method::Encoder, limit: usize::MAX }
    }

    /// The same, which counts a text up to `limit` tokens, and estimates its rest from its beginning.
    pub fn counting_up_to(self, limit: usize) -> Counter {
        Counter { limit, ..self }
    }

    /// A counter that needs no table, and never counts less than that of `of`: no text has more tokens than
    /// bytes, but for one in front, and half as many again for Claude, whose tokenizer is only guessed.
    pub fn bound(model: &str) -> Counter {
        Counter { method: Method::Bound, ..Counter::for_model(model) }
    }

    /// A counter that needs no table, for numbers that people read: chat, prose and code of some hundred
    /// bytes are seldom off by more than 15 %. It never counts more than `bound`.
    pub fn heuristic(model: &str) -> Counter {
        Counter { method: Method::Heuristic, ..Counter::for_model(model) }
    }

    /// The encoder's name, "estimate" where it is not the model's own, "heuristic", or "bound".
    pub fn name(&self) -> &'static str {
        match self.method {
            Method::Encoder => self.model.family.name(),
            Method::Heuristic => "heuristic",
            Method::Bound => "bound",
        }
    }

    /// The tokens of a text; a special token in it counts as text.
    pub fn text(&self, text: &str) -> usize {
        let rule = self.rule();
        match self.method {
            Method::Encoder => rule.count(text, self.limit),
            Method::Heuristic => heuristic::estimate(text, &rule),
            Method::Bound => rule.bound(text),
        }
    }

    /// The tokens of a message: its words, its name, its tool calls, its images, sounds and files.
    pub fn message(&self, message: &Object) -> usize {
        // A member of another type is left to the provider, which refuses the request or passes it over.
        let words = |member| message.valid_text(member).map_or(0, |words| self.text(&words));
        let name = if message.has("name") { words("name") + TOKENS_PER_NAME } else { 0 };
        let more: usize = TEXT_MEMBERS.iter().map(|member| words(member)).sum();
        self.rule().message + words("role") + name + more + self.content(message) + self.calls(message)
    }

    /// The tokens of a request in addition to its messages: its beginning and the answer's, its tools and the
    /// response format as JSON text, which is more than OpenAI counts for them.
    pub fn overhead(&self, request: &Request) -> usize {
        let rule = self.rule();
        let member = |name| request.member(name).filter(|json| !["null", "[]"].contains(json));
        let tools: usize = ["tools", "functions"]
            .iter()
            .filter_map(|name| member(name))
            .fold(0, |sum, json| sum + rule.tools + self.text(json));
        rule.request
            + request.unread_tokens()
            + tools
            + member("response_format").map_or(0, |json| self.text(json))
    }

    fn rule(&self) -> CountingRule {
        self.model.family.rule()
    }

    /// The tokens of a message's content: its text, or the texts of its parts joined by line ends, and its
    /// other parts.
    fn content(&self, message: &Object) -> usize {
        if !message.get("content").is_some_and(|json| json.starts_with('[')) {
            return self.text(&chat::text(message));
        }
        let parts = message.valid_objects("content").unwrap_or_default();
        let texts: Vec<String> = parts.iter().filter_map(|part| part.valid_text("text")).collect();
        self.text(&texts.join("\n")) + parts.iter().map(|part| self.part(part)).sum::<usize>()
    }

    /// The tokens of a part in addition to its text.
    fn part(&self, part: &Object) -> usize {
        let sound = match self.model.family {
            Family::O200k | Family::Cl100k => OPENAI_AUDIO_TOKENS_PER_SECOND,
            _ => AUDIO_TOKENS_PER_SECOND,
        };
        match media::tokens(part, self.model.images, sound) {
            Some(tokens) => tokens,
            None if part.has("text") => 0,
            None => match part.to_json() {
                json if json.len() <= SMALL_PART_BYTES => self.text(&json),
                json => json.len() / media::BYTES_PER_TOKEN,
            },
        }
    }

    /// The calls of an assistant: a list, or the one of an old client.
    fn calls(&self, message: &Object) -> usize {
        let calls = match (message.objects("tool_calls"), message.object("function_call")) {
            (Ok(calls), Ok(call)) => calls.into_iter().flatten().chain(call),
            _ => {
                let json = ["tool_calls", "function_call"].into_iter().filter_map(|name| message.get(name));
                return json.map(|json| self.text(json)).sum();
            }
        };
        calls.map(|call| self.call(&call)).sum()
    }

    fn call(&self, call: &Object) -> usize {
        let function = call.valid_object("function");
        let function = function.as_ref().unwrap_or(call);
        let words = |object: &Object, member| object.valid_text(member).map(|words| self.text(&words));
        match (words(function, "name"), words(function, "arguments")) {
            (Some(name), Some(arguments)) => {
                TOKENS_PER_CALL + name + arguments + words(call, "id").unwrap_or(0)
            }
            _ => TOKENS_PER_CALL + self.text(&call.to_json()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn object(json: serde_json::Value) -> Object {
        Object::parse(&json.to_string()).expect("an object")
    }

    /// OpenAI's cookbook, "How to count tokens with tiktoken": the counts of the API for these messages.
    #[test]
    fn a_conversation_costs_what_openai_says() {
        let messages = [
            (
                "system",
                None,
                "You are a helpful, pattern-following assistant that translates corporate jargon into plain English.",
            ),
            ("system", Some("example_user"), "New synergies will help drive top-line growth."),
            ("system", Some("example_assistant"), "Things working well together will increase revenue."),
            (
                "system",
                Some("example_user"),
                "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage.",
            ),
            (
                "system",
                Some("example_assistant"),
                "Let's talk later when we're less busy about how to do better.",
            ),
            (
                "user",
                None,
                "This late pivot means we don't have time to boil the ocean for the client deliverable.",
            ),
        ];
        for (model, tokens) in
            [("gpt-3.5-turbo", 129), ("gpt-4-0613", 129), ("gpt-4o", 124), ("gpt-4o-mini", 124)]
        {
            let counter = Counter::for_model(model);
            let message = |(role, name, content): &(&str, Option<&str>, &str)| {
                let mut message = object(serde_json::json!({"role": role, "content": content}));
                if let Some(name) = name {
                    message.set_text("name", name);
                }
                counter.message(&message)
            };
            let request = object(serde_json::json!({"messages": [{"role": "user", "content": ""}]}));
            let overhead = counter.overhead(&Request::parse(request).expect("a request"));
            assert_eq!(messages.iter().map(message).sum::<usize>() + overhead, tokens, "{model}");
        }
    }

    #[test]
    fn calls_tools_and_old_functions_are_counted() {
        let counter = Counter::for_model("gpt-4o");
        let arguments = "{\"city\":\"Ülm\"}";
        let call = serde_json::json!({"id": "call_1", "type": "function",
            "function": {"name": "weather", "arguments": arguments}});
        let new = counter.message(&object(
            serde_json::json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        ));
        let old = counter.message(&object(serde_json::json!({"role": "assistant",
            "function_call": {"name": "weather", "arguments": arguments}})));
        assert_eq!(new, old + counter.text("call_1"));
        assert_eq!(old, 3 + 1 + TOKENS_PER_CALL + counter.text("weather") + counter.text(arguments));
        let odd =
            counter.message(&object(serde_json::json!({"role": "assistant", "tool_calls": "a b c d e f"})));
        assert!(odd > 3 + 1 + 6, "{odd}");
        let request = |more: serde_json::Value| {
            let mut body = object(more);
            body.set("messages", r#"[{"role":"user","content":"x"}]"#);
            counter.overhead(&Request::parse(body).expect("a request"))
        };
        let (bare, tools) =
            (request(serde_json::json!({"tools": []})), request(serde_json::json!({"tools": [call]})));
        assert!(bare == 3 && tools > bare + 20 && tools == request(serde_json::json!({"functions": [call]})));
        assert!(
            request(serde_json::json!({"response_format": {"type": "json_schema", "json_schema": call}}))
                > 20
        );
    }

    #[test]
    fn a_part_is_counted_by_what_it_is() {
        let counter = Counter::for_model("gpt-4o");
        let message = |parts: serde_json::Value| {
            counter.message(&object(serde_json::json!({"role": "user", "content": parts})))
        };
        let text = message(serde_json::json!([{"type": "text", "text": "An owl?"}]));
        assert_eq!(text, message(serde_json::json!("An owl?")));
        let image = serde_json::json!({"type": "image_url", "image_url": {"url": "https://example.com/owl.png", "detail": "low"}});
        assert_eq!(message(serde_json::json!([{"type": "text", "text": "An owl?"}, image])), text + 85);
        let odd =
            serde_json::json!({"type": "image_url", "text": null, "image_url": {"url": 7}, "detail": "low"});
        assert_eq!(message(serde_json::json!([odd])), text - counter.text("An owl?") + 85);
        let large = "A".repeat(1_000_000);
        let unknown = message(serde_json::json!([{"type": "hologram", "data": large}]));
        assert!((100_000..110_000).contains(&unknown), "{unknown}");
        assert!(
            message(serde_json::json!([{"type": "refusal", "refusal": "I will not tell of owls."}])) > 4 + 7
        );
    }

    #[test]
    fn a_counter_says_which_it_is() {
        let names = ["gpt-4o", "openai/gpt-oss:20b", "gpt-4", "llama3.1:8b", ""]
            .map(|model| Counter::for_model(model).name());
        assert_eq!(names, ["o200k_base", "o200k_base", "cl100k_base", "estimate", "estimate"]);
        let counter = Counter::bound("gpt-4o");
        assert_eq!((counter.name(), counter.text("owls"), counter.text("")), ("bound", 5, 0));
    }

    /// Texts of any signs, and of pieces that are hard on tokenizers.
    fn texts() -> impl Strategy<Value = String> {
        let pieces = [
            "<|im_end|>",
            "<|endoftext|>",
            "[INST]",
            "</s>",
            "<0x0A>",
            "▁",
            " ",
            "  \n",
            "\t",
            "\r\n",
            "owl",
            "OWLS",
            "fn x(&self) -> u8 {",
            "1234567",
            "é",
            "\u{301}",
            "🦉👍🏽",
            "字",
            "\0",
            "://",
            "Ǆ",
        ];
        let pieces = proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..40);
        prop_oneof![
            any::<String>(),
            "\\PC{0,80}",
            "[ -~\n\t]{0,200}",
            pieces.prop_map(|pieces| pieces.concat())
        ]
    }

    const FAMILIES: [&str; 11] = [
        "gpt-4o",
        "gpt-4",
        "llama2",
        "llama3.1",
        "mistral-nemo",
        "gemma3",
        "qwen3",
        "deepseek-r1",
        "claude-3-opus",
        "claude-opus-5",
        "?",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

        #[test]
        fn no_count_is_above_the_bound(text in texts(), more in texts(), model in proptest::sample::select(&FAMILIES[..])) {
            let call = serde_json::json!({"id": text, "function": {"name": more, "arguments": text}});
            let messages = [
                serde_json::json!({"role": "user", "name": more, "content": text}),
                serde_json::json!({"role": more, "content": [{"type": "text", "text": text},
                    {"type": "image_url", "image_url": {"url": more}}, {"type": text, "x": more}]}),
                serde_json::json!({"role": "assistant", "content": null, "refusal": more, "tool_calls": [call]}),
                serde_json::json!({"role": "assistant", "tool_calls": more, "function_call": {"name": text}}),
            ];
            let (counter, bound) = (Counter::for_model(model), Counter::bound(model));
            for message in messages {
                let message = object(message);
                prop_assert!(counter.message(&message) <= bound.message(&message), "{}", message.to_json());
            }
            let body = serde_json::json!({"messages": [{"role": "user"}], "tools": [call], "response_format": {"type": more}});
            let request = Request::parse(object(body)).expect("a request");
            prop_assert!(counter.overhead(&request) <= bound.overhead(&request));
            let tiktoken = Counter::for_model("gpt-4").text(&text);
            prop_assert!(tiktoken <= text.len() && (model == "gpt-4o" || counter.text(&text) >= tiktoken.min(text.len())));
        }
    }
}
