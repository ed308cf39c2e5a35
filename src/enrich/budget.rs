//! Limits the recalled messages, and the request itself, to the model's window.

use super::candidate::{Block, Candidate, Recalled};
use super::options::Options;
use super::placement::PlacementCost;
use super::turn::Turn;
use super::units::Units;
use crate::chat::{self, Request};
use crate::record::{Account, Dropped, LeftOut, RecalledPart, ShownDocument, StoredRecord, URI};
use crate::tokens::{Counter, Limits};
use std::collections::HashSet;
use std::mem::take;

/// A request of at most this many bytes, with all recalled messages, fits into the smallest window that a
/// server is likely to have (Ollama's default of 4096 tokens), with a quarter of it left for the answer: so
/// the server's window is not queried.
const SMALL_REQUEST_BYTES: usize = 3072;

/// A text is counted up to this many windows. The tokens of a longer one are estimated from those that were
/// counted: it does not fit, regardless of their number.
const FAR_BEYOND: usize = 2;

/// The part of the room for recalled text that messages which are recalled always take at most.
const PINNED_SHARE: f64 = 0.5;

/// The part of it that actions take at most.
const ACTION_SHARE: f64 = 0.1;

/// The messages that are sent to the model, and their tokens.
pub(super) struct Plan {
    /// The recalled messages, best first, with their tokens.
    pub(super) kept: Vec<(Candidate, usize)>,
    left_out: Vec<LeftOut>,
    /// The positions of the request's own messages that are dropped, with their tokens.
    dropped: Vec<(usize, usize)>,
    limits: Limits,
    counter: &'static str,
    /// The tokens of the original request, and of the text that encloses the recalled messages.
    request: usize,
    fence: usize,
    /// Those of the part of a session that is carried over; 0 if there is no room for it.
    pub(super) carried: usize,
    /// The part that is too long, if the messages that cannot be dropped do not fit.
    pub(super) too_long: Option<Overlong>,
}

/// A part of a request that does not fit beside the others.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Overlong {
    pub(super) part: OverlongPart,
    pub(super) tokens: usize,
    /// The tokens that the other parts leave to it; those of a whole request if they leave none.
    pub(super) limit: usize,
}

/// The parts that are never dropped.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum OverlongPart {
    LastMessage,
    SystemMessage,
    Tools,
}

/// The tokens of everything that may go to the model.
struct Count {
    name: &'static str,
    /// Of the request without its messages, and of each message.
    overhead: usize,
    own: Vec<usize>,
    /// Of the text that encloses the recalled messages, and of each of these.
    fence: usize,
    candidates: Vec<usize>,
}

impl Count {
    fn new(cost: &PlacementCost, request: &Request, found: &[Candidate]) -> Count {
        let PlacementCost { counter, options, .. } = cost;
        Count {
            name: counter.name(),
            overhead: options.scaled(counter.overhead(request)),
            own: cost.own(request).into_iter().map(|tokens| options.scaled(tokens)).collect(),
            fence: options.scaled(cost.fence(request, found.iter())),
            candidates: found.iter().map(|one| options.scaled(cost.entry(one))).collect(),
        }
    }

    fn request(&self) -> usize {
        self.overhead + self.own.iter().sum::<usize>()
    }

    fn recalled(&self) -> usize {
        if self.candidates.is_empty() { 0 } else { self.fence + self.candidates.iter().sum::<usize>() }
    }
}

/// The limits of the model of a request with at most this many tokens.
fn limits(tokens: usize, turn: &Turn, options: &Options) -> Limits {
    let mut limits = options.limits;
    if tokens > SMALL_REQUEST_BYTES
        && let Some(window) = (turn.served_window)()
    {
        limits = limits.within(window);
    }
    limits.reserve = options.reserve.unwrap_or(limits.reserve);
    if !options.drops {
        // Such callers reserve the longest possible answer.
        limits.reserve = limits.reserve.min(limits.window / 2);
    }
    limits
}

impl Plan {
    /// Chooses the messages that are sent to the model. The worst of the recalled messages are dropped first,
    /// then the oldest turns of the request; its system messages and the last user's turn stay. `carried` are
    /// the tokens of the part of a session that is carried over, which goes before them.
    pub(super) fn new(
        request: &Request,
        recalled: &mut Recalled,
        carried: usize,
        turn: &Turn,
        options: &Options,
    ) -> Plan {
        let found = take(&mut recalled.candidates);
        let mut counter = Counter::bound(&options.model);
        let is_awaited = turn.is_awaited;
        let bound = Count::new(&PlacementCost { counter: &counter, options, is_awaited }, request, &found);
        let mut limits = limits(bound.request() + bound.recalled(), turn, options);
        let share = (limits.window as f64 * options.share) as usize;
        let available = limits.window.saturating_sub(limits.reserve);
        // A request with few enough bytes has few enough tokens, and the encoder's table need not be built.
        // For a request of unlimited length, only the room for recalled text matters.
        let is_exact = options.drops || bound.request() <= available;
        if is_exact && (bound.request() + bound.recalled() > available || bound.recalled() > share) {
            let limit = (limits.window.saturating_mul(FAR_BEYOND) as f64 / options.token_multiplier) as usize;
            counter = Counter::for_model(&options.model).counting_up_to(limit);
        } else {
            // Only the numbers of the account are needed.
            counter = Counter::heuristic(&options.model);
        }
        let cost = PlacementCost { counter: &counter, options, is_awaited };
        let count = Count::new(&cost, request, &found);
        if count.request() > available {
            // No turn is dropped because the caller or the settings reserve nearly all of the window.
            limits.reserve = limits.reserve.min(limits.window / 2);
        }
        let mut plan = Plan {
            kept: Vec::new(),
            left_out: take(&mut recalled.left_out),
            dropped: Vec::new(),
            limits,
            counter: count.name,
            request: count.request(),
            fence: 0,
            carried: 0,
            too_long: None,
        };
        let room = plan.limit().saturating_sub(count.request());
        plan.carried = if carried <= room { carried } else { 0 };
        // An earlier request of the turn has decided.
        let part = |of: f64| if recalled.is_cached { usize::MAX } else { (share as f64 * of) as usize };
        let parts = [part(PINNED_SHARE), part(ACTION_SHARE)];
        plan.keep(found, &count, share.min(room) - plan.carried.min(share.min(room)), parts);
        if !plan.kept.is_empty() {
            plan.fence = options.scaled(cost.fence(request, plan.kept.iter().map(|(one, _)| one)));
        }
        if options.drops {
            plan.shorten(request, &count);
        }
        plan
    }

    /// Keeps the candidates that fit into `available` tokens, those that are recalled always and the actions
    /// into parts of them: leaves out those that are too long alone, then the last ones.
    fn keep(&mut self, found: Vec<Candidate>, count: &Count, available: usize, parts: [usize; 2]) {
        let available = available.saturating_sub(count.fence);
        let [mut pinned, mut actions] = parts.map(|part| part.min(available));
        let mut left_out = Vec::new();
        for (candidate, tokens) in found.into_iter().zip(&count.candidates) {
            let mut all = available;
            let limit = match candidate.block() {
                _ if candidate.pinned => &mut pinned,
                Block::Actions => &mut actions,
                _ => &mut all,
            };
            let Some(rest) = limit.checked_sub(*tokens) else {
                left_out.push(candidate);
                continue;
            };
            *limit = rest;
            self.kept.push((candidate, *tokens));
        }
        let mut sum: usize = self.kept.iter().map(|(_, tokens)| tokens).sum();
        while sum > available
            && let Some((candidate, tokens)) = self.kept.pop()
        {
            sum -= tokens;
            left_out.push(candidate);
        }
        let left_out = left_out.into_iter().map(|candidate| candidate.record.id);
        self.left_out.extend(left_out.map(|id| LeftOut { id, reason: "budget".to_owned() }));
    }

    /// Drops the oldest turns of the request until the others fit.
    fn shorten(&mut self, request: &Request, count: &Count) {
        let mut over = self.counted().saturating_sub(self.limit());
        if over == 0 {
            return;
        }
        for unit in Units::new(request).removable() {
            over = over.saturating_sub(unit.iter().map(|at| count.own[*at]).sum());
            self.dropped.extend(unit.into_iter().map(|at| (at, count.own[at])));
            if over == 0 {
                return;
            }
        }
        self.too_long = Some(self.overlong(request, count));
    }

    /// The longest of the parts that stay. The request's own few tokens count as its last message's.
    fn overlong(&self, request: &Request, count: &Count) -> Overlong {
        let has_tools =
            ["tools", "functions", "response_format"].iter().any(|name| request.member(name).is_some());
        let tools = if has_tools { count.overhead } else { 0 };
        let systems = request.messages.iter().zip(&count.own).filter(|(message, _)| chat::is_system(message));
        let system: usize = systems.map(|(_, tokens)| tokens).sum();
        let last = self.counted() - tools - system;
        let (part, tokens) = match last.max(system).max(tools) {
            longest if longest == last => (OverlongPart::LastMessage, last),
            longest if longest == system => (OverlongPart::SystemMessage, system),
            _ => (OverlongPart::Tools, tools),
        };
        // Where the other parts alone exceed the limit, no length of this one would do.
        let left = self.limit().checked_sub(self.counted() - tokens).filter(|left| *left > 0);
        Overlong { part, tokens, limit: left.unwrap_or(self.limit()) }
    }

    /// The tokens that go to the model.
    pub(super) fn counted(&self) -> usize {
        let dropped: usize = self.dropped.iter().map(|(_, tokens)| tokens).sum();
        self.request - dropped
            + self.carried
            + self.fence
            + self.kept.iter().map(|(_, tokens)| tokens).sum::<usize>()
    }

    /// The greatest number of tokens of a request.
    fn limit(&self) -> usize {
        self.limits.window.saturating_sub(self.limits.reserve)
    }

    /// Removes the dropped messages from the request.
    pub(super) fn drop_from(&self, request: &mut Request) {
        let dropped: HashSet<usize> = self.dropped.iter().map(|(at, _)| *at).collect();
        let mut at = 0..;
        request.messages.retain(|_| at.next().is_none_or(|at| !dropped.contains(&at)));
    }

    /// The account of the plan, in tokens: `counted` is `request` less the dropped messages, plus the
    /// recalled ones and their `fence`.
    pub(super) fn account(&self, request: &Request) -> Account {
        let dropped = self.dropped.iter().map(|(at, tokens)| {
            let role = request.messages[*at].valid_text("role");
            Dropped { at: *at as u64, role, tokens: *tokens as u64 }
        });
        Account {
            window: self.limits.window as u64,
            reserve: self.limits.reserve as u64,
            counted: self.counted() as u64,
            counter: self.counter.to_owned(),
            request: self.request as u64,
            fence: self.fence as u64,
            recalled: self.parts(Block::Messages, |candidate| !candidate.is_recent()),
            recent: self.parts(Block::Messages, Candidate::is_recent),
            memories: self.parts(Block::Memories, |_| true),
            documents: [Block::Archives, Block::Documents].map(|block| self.parts(block, |_| true)).concat(),
            actions: self.parts(Block::Actions, |_| true),
            left_out: self.left_out.clone(),
            dropped: dropped.collect(),
            ..Account::default()
        }
    }

    /// The kept documents except archives, with their scores.
    pub(super) fn documents(&self) -> Vec<(StoredRecord, Option<f64>)> {
        let kept = self.kept.iter().filter(|(candidate, _)| candidate.block() == Block::Documents);
        kept.map(|(candidate, _)| (candidate.record.clone(), candidate.score)).collect()
    }

    fn parts(&self, block: Block, wanted: impl Fn(&Candidate) -> bool) -> Vec<RecalledPart> {
        let kept = self.kept.iter().filter(|(candidate, _)| candidate.block() == block && wanted(candidate));
        let part = |(Candidate { record, score, hop, pinned, quoted, newer, files }, tokens): &(
            Candidate,
            usize,
        )| {
            let confidence = record.members.get("confidence").filter(|_| block == Block::Memories);
            let document = ShownDocument {
                uri: record.member_text(URI),
                level: record.shown_level(),
                sha256: record.version().unwrap_or_default(),
            };
            RecalledPart {
                id: record.id.clone(),
                score: *score,
                hop: *hop,
                tokens: *tokens as u64,
                pinned: *pinned,
                quoted: quoted.clone(),
                newer: newer.clone(),
                files: files.clone(),
                confidence: confidence.map(str::to_owned),
                document: [Block::Archives, Block::Documents].contains(&block).then_some(document),
            }
        };
        kept.map(part).collect()
    }
}
