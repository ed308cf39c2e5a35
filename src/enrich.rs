//! Enriches a request: chooses the messages to recall, limits them to the model's window, and places them.
//! The request's account records the result.
//!
//! Recall goes by steps (`schedule.rs`): first what is found by key (`begin`), then, by the question's vector
//! if it was made in time, what is found by a search (`Begun::recall`). A caller that stops waiting uses what
//! is known by then.

mod account_text;
mod action_search;
mod budget;
mod candidate;
mod client_project;
mod compaction;
mod degraded;
mod document_search;
mod duplicate_filter;
mod excerpts;
mod files;
mod follow_up;
mod held_calls;
mod holdout;
mod line_enricher;
mod newer;
mod options;
mod placement;
mod question;
mod recall;
mod refusal;
mod relevance;
mod retry_lookup;
mod schedule;
mod session;
mod turn;
mod turn_cache;
mod units;

pub use account_text::{Named, account_text, ids_in_account, reason_text, trouble_in_account};
pub use candidate::Recalled;
pub use client_project::ClientProject;
pub use compaction::CutPart;
pub use degraded::Degraded;
pub use line_enricher::LineEnricher;
pub use options::{Options, Placement};
pub use retry_lookup::RequestIdentity;
pub use schedule::{RecallStep, Schedule};
pub use session::as_turn;
pub use turn::{Memory, Turn};

use crate::api;
use crate::chat::Rsv;
use crate::cli::Diagnostics;
use crate::error::{Error, Result};
use crate::record::{Account, Action, Arm, Comparison, Object, Reach, StoredRecord, id};
use crate::search::tree::Step;
use crate::store::Store;
use budget::Plan;
use compaction::Carried;
use question::Question;
use std::sync::Arc;

/// A request on its way, complete with its `rsv`; or the answer to it, if it is too long for its model.
pub struct Enriched {
    pub line: Object,
    pub account: Account,
    /// The account as it is stored.
    pub account_record: StoredRecord,
    /// The error if the request is too long; then `line` is the answer that reports it.
    pub too_long: Option<Error>,
    /// The documents that are shown, best first, each with its score; one that was not searched for has none.
    pub documents: Vec<(StoredRecord, Option<f64>)>,
    /// The steps of the search for them.
    pub steps: Vec<Step>,
    /// The part of its session before a compaction, if it is the first request after that.
    pub cut: Option<CutPart>,
}

/// A request and the records to place in it.
pub struct Prepared {
    line: PreparedLine,
    account: Account,
    account_record: StoredRecord,
    documents: Vec<(StoredRecord, Option<f64>)>,
    steps: Vec<Step>,
    cut: Option<CutPart>,
}

/// The line of an enriched request before it is made.
enum PreparedLine {
    Request { request: Box<api::Request>, block: String, rsv: Box<Rsv>, keep_tools: bool },
    TooLong { answer: Object, error: Error },
}

impl Prepared {
    /// Places what was recalled. The request is not copied, unless it has clones.
    pub fn place(self) -> Result<Enriched> {
        let Prepared { line, account, account_record, documents, steps, cut } = self;
        let (line, too_long) = match line {
            PreparedLine::Request { request, block, rsv, keep_tools } => {
                (request.into_line(&block, *rsv, keep_tools)?, None)
            }
            PreparedLine::TooLong { answer, error } => (answer, Some(error)),
        };
        Ok(Enriched { line, account, account_record, too_long, documents, steps, cut })
    }
}

/// A request whose recall has begun: the parts of it that need no search are known.
pub struct Begun {
    turn: BegunTurn,
    recall: RecallState,
}

/// The turn of a request, without the text that is recalled for it.
#[derive(Clone)]
struct BegunTurn {
    request: api::Request,
    rsv: Rsv,
    trace_id: Option<String>,
    digest: Option<String>,
    comparison: Option<Comparison>,
    /// The part of its session before a compaction.
    carried: Option<Carried>,
}

/// The recall of a request.
enum RecallState {
    /// All of it is known.
    Known(Recalled),
    Open(Question),
}

/// Begins the recall for a request: looks up the last messages, and what an earlier request of the same turn
/// recalled. The last messages of a session become turns of the request. If the store fails or is missing,
/// the account says so, and the request continues without it. Errors if the request itself is not valid.
pub fn begin(
    store: std::result::Result<&mut dyn Store, Degraded>,
    mut request: api::Request,
    turn: &Turn,
    options: &Options,
    diagnostics: &Diagnostics,
) -> Result<Begun> {
    let mut rsv = request.turns.take_rsv()?;
    if request.is_chat() {
        placement::restore(&mut request.turns)?;
    }
    rsv.user = request.said();
    let mut trace_id = turn.trace_id.clone().or(rsv.trace_id.take());
    let mut comparison = holdout::comparison(&request, turn.scope, options);
    let arm = comparison.as_ref().map(|comparison| comparison.arm);
    let (mut carried, nothing) = (None, |why| (RecallState::Known(Recalled::degraded(why)), None));
    let (recall, digest) = match store {
        Err(why) => nothing(why),
        Ok(store) => {
            let begun = begin_recall(store, &mut request, &mut trace_id, turn, options, arm);
            let begun = begun.and_then(|begun| {
                carried = compaction::carry(store, &request, turn, options)?;
                Ok(begun)
            });
            begun.unwrap_or_else(|error| {
                diagnostics.note(format_args!("{error}; the request continues without memory"));
                nothing(Degraded::StoreFailed(error.to_string()))
            })
        }
    };
    if let Some(comparison) = &mut comparison {
        comparison.follow_up = follow_up::follow_up(&request.turns);
    }
    let trace_id = trace_id.or_else(|| carried.as_ref().and_then(|carried| carried.trace_id.clone()));
    let digest = digest.or_else(|| request.turn_key().map(|key| turn_cache::digest(turn.scope, &key)));
    rsv.tools =
        if options.keep_tools && !request.is_side_call() { request.tool_results() } else { Vec::new() };
    rsv.actions = if options.stored_actions.are_on(&turn.scope.partition) {
        request.actions().iter().map(Action::to_line).collect()
    } else {
        Vec::new()
    };
    let turn = BegunTurn { request, rsv, trace_id, digest, comparison, carried };
    Ok(Begun { turn, recall })
}

/// Looks up what needs no search. Returns the digest of the turn too.
fn begin_recall(
    store: &mut dyn Store,
    request: &mut api::Request,
    trace_id: &mut Option<String>,
    turn: &Turn,
    options: &Options,
    arm: Option<Arm>,
) -> Result<(RecallState, Option<String>)> {
    if options.session {
        session::insert_turns(store, &mut request.turns, turn, options)?;
    }
    let digest = request.turn_key().map(|key| turn_cache::digest(turn.scope, &key));
    let nothing = RecallState::Known(Recalled::default());
    let (Some(user), Some(key)) = (request.turns.last_user(), &digest) else { return Ok((nothing, digest)) };
    if request.is_side_call() || options.recalls_nothing() {
        return Ok((nothing, digest));
    }
    if user + 1 < request.turns.messages.len()
        && let Some(cached) = turn_cache::look_up(store, turn, key)?
    {
        trace_id.get_or_insert(cached.trace_id);
        if cached.carries {
            request.mark_compaction(true);
        }
        let candidates = recall::recall_cached(store, &cached.recalled, turn)?;
        let known = Recalled { candidates, is_cached: true, ..Recalled::default() };
        return Ok((RecallState::Known(known), digest));
    }
    if arm == Some(Arm::Holdout) {
        return Ok((nothing, digest));
    }
    let question = Question::begin(store, &request.turns.messages[user], turn, options)?;
    Ok((RecallState::Open(question), digest))
}

impl Begun {
    /// The question of which a vector is wanted; `None` if nothing is to be found by meaning.
    pub fn question(&self) -> Option<String> {
        match &self.recall {
            RecallState::Open(question) if question.is_open => self.message().map(question::text_of),
            _ => None,
        }
    }

    /// The user's last message.
    fn message(&self) -> Option<&Object> {
        let turns = &self.turn.request.turns;
        turns.last_user().map(|user| &turns.messages[user])
    }

    /// Whether anything is left to recall.
    pub fn is_open(&self) -> bool {
        matches!(self.recall, RecallState::Open(_))
    }

    /// The recall without a search.
    pub fn known(&self, options: &Options) -> Recalled {
        match &self.recall {
            RecallState::Known(recalled) => recalled.clone(),
            RecallState::Open(question) => question.unsearched(&self.turn.request, options),
        }
    }

    /// Recalls what helps with the user's last message, step by step; `publish` gets what is known after
    /// each. If memory fails, the account says so.
    pub fn recall(
        &self,
        memory: &mut Memory,
        turn: &Turn,
        options: &Options,
        schedule: &Schedule,
        publish: &dyn Fn(&Recalled),
    ) -> Recalled {
        let (RecallState::Open(question), Some(message)) = (&self.recall, self.message()) else {
            return self.known(options);
        };
        let asked = (&self.turn.request, message);
        let found = recall::recall(question, asked, memory, (turn, options), schedule, publish);
        found.unwrap_or_else(|error| {
            memory.diagnostics.note(format_args!("{error}; the request continues without memory"));
            let why = Degraded::StoreFailed(error.to_string());
            Recalled { degraded: Some(why), ..self.known(options) }
        })
    }

    /// Chooses among the recalled messages by the model's window. Everything else of the request stays, as
    /// far as it fits; of a request that is not for chat completions, all of it. The request is not copied,
    /// unless a search continues that is no longer awaited.
    pub fn prepare(
        self: Arc<Begun>,
        mut found: Recalled,
        turn: &Turn,
        options: &Options,
    ) -> Result<Prepared> {
        let begun = Arc::try_unwrap(self).map_or_else(|shared| shared.turn.clone(), |own| own.turn);
        let BegunTurn { mut request, rsv, trace_id, digest, comparison, carried } = begun;
        if let Some(user) = request.turns.last_user() {
            // All that changes a text comes before the plan, which counts the texts.
            excerpts::cut(&mut found, &request.turns.messages[user], options);
        }
        let trace_id = trace_id.map_or_else(|| fresh_trace_id(&request, turn), Ok)?;
        let carried_tokens = carried.as_ref().map_or(0, |carried| carried.part.tokens as usize);
        let plan = Plan::new(&request.turns, &mut found, carried_tokens, turn, options);
        let carried = carried.filter(|_| plan.carried > 0);
        let account = Account {
            digest,
            client_session: request.client_session(),
            request_key: options.request_key.clone(),
            carried: carried.as_ref().map(|carried| carried.part.clone()),
            degraded: found.degraded.map(|why| why.to_string()),
            missing: found.missing.iter().map(|step| step.name().to_owned()).collect(),
            reach: (!options.recalls_nothing()).then_some(options.reach),
            considered: found.considered,
            session: options.session,
            comparison,
            ..plan.account(&request.turns)
        };
        // Before anything is dropped: the account names messages by their positions.
        let account_record = account.to_record(&trace_id, turn.scope, turn.clock.now());
        let cut = carried.as_ref().map(|carried| carried.cut.clone());
        let block = assemble(&mut request, &plan, carried, options)?;
        let rsv = Rsv {
            partition: Some(turn.scope.partition.clone()),
            instance: Some(turn.scope.instance.clone()),
            reach: Some(options.reach).filter(|reach| *reach == Reach::Partition),
            trace_id: Some(trace_id.clone()),
            account: Some(account_record.clone()),
            ..rsv
        };
        let (line, documents) = match &plan.too_long {
            None => {
                let (request, rsv, keep_tools) = (Box::new(request), Box::new(rsv), options.keep_tools);
                (PreparedLine::Request { request, block, rsv, keep_tools }, plan.documents())
            }
            Some(overlong) => {
                let mut answer = refusal::answer(&plan, overlong, &options.model, &trace_id, turn.clock);
                answer.set("rsv", rsv.answered_here().to_object().to_json());
                let error = refusal::EnrichError::TooLong { text: refusal::text(overlong) }.into();
                (PreparedLine::TooLong { answer, error }, Vec::new())
            }
        };
        Ok(Prepared { line, account, account_record, documents, steps: found.steps, cut })
    }
}

/// A new id for the trace of a request.
fn fresh_trace_id(request: &api::Request, turn: &Turn) -> Result<String> {
    // Only with a fixed clock is anything derived from it.
    let salt = if turn.clock.is_fixed() {
        request.clone().into_line("", Rsv::default(), false)?.to_json()
    } else {
        String::new()
    };
    id::fresh(turn.clock, &salt)
}

/// Makes a request the one that its model gets: with the part of its session before a compaction, without the
/// messages that are dropped, and with those that are recalled. Returns the text that goes into a request of
/// another API than chat completions, whose messages stay as they are. Fails if the content of a message is
/// neither text nor parts.
fn assemble(
    request: &mut api::Request,
    plan: &Plan,
    carried: Option<Carried>,
    options: &Options,
) -> Result<String> {
    let before_words = carried.and_then(|Carried { block, after_summary, .. }| {
        // First of all: it names the summary by its position, which `drop_from` changes.
        let Some(compaction) = after_summary else { return Some(block) };
        request.add_to_summary(&compaction, &block);
        None
    });
    plan.drop_from(&mut request.turns);
    let kept: Vec<_> = plan.kept.iter().map(|(candidate, _)| candidate).collect();
    let mut block = String::new();
    if let Some(user) = request.turns.last_user() {
        if request.is_chat() {
            placement::place(&mut request.turns, user, &kept, options)?;
        } else {
            block = placement::block(&kept, options);
        }
    }
    // After the recalled block is placed, so that the part of the session stands before it.
    if let Some(text) = before_words {
        match request.turns.last_user().filter(|_| request.is_chat()) {
            Some(user) => placement::insert_before(&mut request.turns.messages[user], &text)?,
            None => block.insert_str(0, &text),
        }
    }
    Ok(block)
}
