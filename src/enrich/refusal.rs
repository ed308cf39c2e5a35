//! The answer to a request that is too long for its model, in the words of Reservoir's documents.

use super::budget::{Overlong, OverlongPart, Plan};
use crate::error::failures;
use crate::record::{Clock, Object, quote};

// The reason why a request is not enriched.
failures! { pub(super) enum EnrichError {
    TooLong { text: String } ("{text}"),
    NoSession { api: &'static str } ("a request for {api} cannot continue a session of rsv")
        => "leave out --session, or send a request for chat completions",
} }

/// The text of the answer.
pub(super) fn text(overlong: &Overlong) -> String {
    let Overlong { part, tokens, limit } = overlong;
    let (is, contains, shorten) = match part {
        OverlongPart::LastMessage => ("last message is", "It contains", "message"),
        OverlongPart::SystemMessage => ("system message is", "It contains", "system message"),
        OverlongPart::Tools => ("tools are", "They contain", "tools"),
    };
    format!(
        "Your {is} too long. {contains} approximately {tokens} tokens, which exceeds the maximum limit of {limit}. \
         Please shorten your {shorten}."
    )
}

/// The answer in the format of a provider's, with all its members, without `rsv`.
pub(super) fn answer(plan: &Plan, overlong: &Overlong, model: &str, trace_id: &str, clock: &Clock) -> Object {
    let mut answer = Object::default();
    answer.set_text("id", &format!("rsv-{trace_id}"));
    answer.set_text("object", "chat.completion");
    answer.set("created", clock.now().div_euclid(1000).to_string());
    answer.set_text("model", model);
    let (text, tokens) = (quote(&text(overlong)), plan.counted());
    let choice = format!(
        "[{{\"index\":0,\"message\":{{\"role\":\"assistant\",\"content\":{text}}},\"finish_reason\":\"length\"}}]"
    );
    answer.set("choices", choice);
    answer.set(
        "usage",
        format!("{{\"prompt_tokens\":{tokens},\"completion_tokens\":0,\"total_tokens\":{tokens}}}"),
    );
    answer
}
