//! Which conversations get no recall, so that turns with and without it can be compared. The arm follows from
//! names alone, so that every process decides alike, and all turns of a conversation are in one arm.

use super::options::Options;
use super::question::text_of;
use crate::api::{self, Request};
use crate::record::{Arm, Comparison, Scope};
use sha2::{Digest, Sha256};
use std::borrow::Cow;

/// The part of a request in the comparison of turns with and without recall, without its sign of a follow-up;
/// `None` if there is no comparison, or if nothing would be recalled anyway.
pub(super) fn comparison(request: &Request, scope: &Scope, options: &Options) -> Option<Comparison> {
    let is_compared = options.holdout > 0.0
        && !options.recalls_nothing()
        && !request.is_side_call()
        && request.turns.last_user().is_some();
    is_compared.then(|| assign(request, scope, options.session, options.holdout))
}

/// Assigns a conversation to an arm; a share (0 to 1) of them gets no recall. The conversation is the session
/// that the program names; else the instance, if it is named for itself or is a session of rsv; else what
/// begins with the first message of the user, which each request repeats.
fn assign(request: &Request, scope: &Scope, is_session: bool, share: f64) -> Comparison {
    let first = || {
        let text = request.turns.first_user().map(text_of).unwrap_or_default();
        // Of the last message of a request, the additions of a program are gone already.
        api::own_words(&text).map(Cow::into_owned).unwrap_or(text)
    };
    let name = match request.client_session() {
        Some(session) => ["session", &session].concat(),
        None if is_session || !scope.is_of_partition_alone() => String::new(),
        None => ["first", &first()].concat(),
    };
    let mut hash = Sha256::new();
    for text in ["holdout", &scope.partition, &scope.instance, &name] {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    let digest = hash.finalize();
    let number = |at: usize| digest[at..at + 8].iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    let is_held_out = (number(0) as f64) < share * 2_f64.powi(64);
    Comparison {
        arm: if is_held_out { Arm::Holdout } else { Arm::Recall },
        conversation: format!("{:016x}", number(8)),
        follow_up: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Api;
    use crate::record::Object;
    use serde_json::json;

    fn compared(api: Api, body: &serde_json::Value, instance: &str, share: f64) -> Comparison {
        let request = Request::parse(api, Object::parse(&body.to_string()).unwrap()).unwrap();
        let scope = Scope::new(Some("work"), Some(instance)).unwrap();
        assign(&request, &scope, false, share)
    }

    #[test]
    fn the_share_is_kept_and_a_larger_one_holds_the_same_conversations_out() {
        let held_out = |share: f64| -> Vec<usize> {
            let body = json!({"messages": [{"role": "user", "content": "Hi"}]});
            let is_held_out =
                |n: &usize| compared(Api::Chat, &body, &n.to_string(), share).arm == Arm::Holdout;
            (0..4000).filter(is_held_out).collect()
        };
        let (few, many) = (held_out(0.05), held_out(0.3));
        // Four standard deviations.
        assert!(
            few.len().abs_diff(200) < 56 && many.len().abs_diff(1200) < 116,
            "{} {}",
            few.len(),
            many.len()
        );
        assert!(few.iter().all(|n| many.contains(n)));
        assert!(held_out(0.0).is_empty());
    }

    #[test]
    fn a_conversation_is_known_by_its_session_its_instance_or_its_first_message() {
        let said = |text: &str| json!({"role": "user", "content": text});
        let answered = json!({"role": "assistant", "content": "Yes."});
        let chat = |texts: &[&str]| {
            let turns: Vec<_> = texts.iter().flat_map(|text| [said(text), answered.clone()]).collect();
            json!({"messages": turns[..turns.len() - 1]})
        };
        let of = |api, body, instance| compared(api, &body, instance, 0.5).conversation;
        let begun = of(Api::Chat, chat(&["Plan a garden."]), "work");
        assert_eq!(of(Api::Chat, chat(&["Plan a garden.", "With beans?"]), "work"), begun);
        assert_ne!(of(Api::Chat, chat(&["Plan a house."]), "work"), begun);
        assert_ne!(of(Api::Chat, chat(&["Plan a garden."]), "other"), begun);
        let named = of(Api::Chat, chat(&["Plan a garden."]), "other");
        assert_eq!(of(Api::Chat, chat(&["Plan a house."]), "other"), named);
        let agent = |session: &str, text: &str| {
            json!({"max_tokens": 9, "metadata": {"user_id": format!("user_session_{session}")},
                "messages": [said(text)]})
        };
        let one = of(Api::Messages, agent("1", "Plan"), "work");
        assert_eq!(of(Api::Messages, agent("1", "A summary"), "work"), one);
        assert_ne!(of(Api::Messages, agent("2", "Plan"), "work"), one);
    }
}
