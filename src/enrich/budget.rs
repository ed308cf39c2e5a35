//! How much of what was recalled fits into the model's window.

use super::Options;
use super::recall::{Candidate, LeftOut, Recalled};
use crate::chat::{Request, fence};
use crate::error::Result;
use crate::record::{Message, Object, quote};
use crate::tokens::{Counter, Limits};

/// At most this part of the window is recalled text.
const SHARE: f64 = 0.25;

/// The tokens of a request before anything is recalled, and the room that is left.
pub(super) struct Budget {
    limits: Limits,
    multiplier: f64,
    room: usize,
}

/// What is recalled, with its tokens, and what is not.
pub(super) struct Kept {
    kept: Vec<(Candidate, usize)>,
    left_out: Vec<LeftOut>,
}

impl Kept {
    /// The messages, oldest first.
    pub(super) fn messages(&self) -> Vec<&Message> {
        let mut messages: Vec<&Message> = self.kept.iter().map(|(candidate, _)| &candidate.message).collect();
        messages.sort_by_cached_key(|message| message.position());
        messages
    }
}

impl Budget {
    pub(super) fn of(request: &Request, counter: &Counter, options: &Options) -> Result<Budget> {
        let mut limits = options.limits;
        limits.reserve = request.max_tokens()?.unwrap_or(limits.reserve);
        let multiplier = options.token_multiplier;
        let own = scaled(counter.request(&request.messages, request.member("tools")), multiplier);
        let share = (limits.window as f64 * SHARE) as usize;
        let room = limits.window.saturating_sub(limits.reserve).saturating_sub(own).min(share);
        Ok(Budget { limits, multiplier, room })
    }

    /// Keeps candidates in their order as long as they fit, the fence included.
    pub(super) fn keep(&self, found: Recalled, counter: &Counter) -> Kept {
        let mut room = self.room.saturating_sub(self.tokens(counter, &fence::enclose(&[])));
        let mut result = Kept { kept: Vec::new(), left_out: found.left_out };
        for candidate in found.candidates {
            let tokens = self.tokens(counter, &fence::entry(&candidate.message));
            if tokens <= room {
                room -= tokens;
                result.kept.push((candidate, tokens));
            } else {
                result.left_out.push(LeftOut { id: candidate.message.id, reason: "budget" });
            }
        }
        result
    }

    fn tokens(&self, counter: &Counter, text: &str) -> usize {
        scaled(counter.text(text), self.multiplier)
    }

    /// Writes down what was done; `request` is as it leaves.
    pub(super) fn account(&self, account: &mut Object, request: &Request, counter: &Counter, kept: &Kept) {
        let counted = scaled(counter.request(&request.messages, request.member("tools")), self.multiplier);
        account.set("window", self.limits.window.to_string());
        account.set("reserve", self.limits.reserve.to_string());
        account.set("counted", counted.to_string());
        account.set_text("counter", counter.name());
        account.set("recalled", list(kept, |candidate| candidate.score.is_some()));
        account.set("recent", list(kept, |candidate| candidate.score.is_none()));
        let left_out = kept.left_out.iter().map(|left| {
            let (id, reason) = (quote(&left.id), left.reason);
            format!("{{\"id\":{id},\"reason\":\"{reason}\"}}")
        });
        account.set("left_out", format!("[{}]", left_out.collect::<Vec<_>>().join(",")));
        account.set("dropped", "[]");
    }
}

/// Candidates as `[{"id":…,"score":…,"tokens":…}]`.
fn list(kept: &Kept, wanted: impl Fn(&Candidate) -> bool) -> String {
    let entries = kept.kept.iter().filter(|(candidate, _)| wanted(candidate)).map(|(candidate, tokens)| {
        let score = candidate.score.map_or(String::new(), |score| format!(",\"score\":{score}"));
        format!("{{\"id\":{}{score},\"tokens\":{tokens}}}", quote(&candidate.message.id))
    });
    format!("[{}]", entries.collect::<Vec<_>>().join(","))
}

fn scaled(tokens: usize, multiplier: f64) -> usize {
    (tokens as f64 * multiplier).ceil() as usize
}
