//! Enriches a request: chooses the messages to recall, limits them to the model's window, and places them. The
//! request's account records the result.

mod account_text;
mod budget;
mod candidate;
mod degraded;
mod document_search;
mod duplicate_filter;
mod line_enricher;
mod options;
mod placement;
mod recall;
mod refusal;
mod relevance;
mod session;
mod turn;
mod turn_cache;
mod units;

pub use account_text::{Named, account_text, ids_in_account};
pub use degraded::Degraded;
pub use line_enricher::LineEnricher;
pub use options::{Options, Placement, Wording};
pub use turn::{Memory, Turn};

use crate::api;
use crate::chat::{self, Request, Rsv, fence};
use crate::error::{Error, Result};
use crate::record::{Account, Content, Object, StoredRecord, id};
use crate::search::tree::Step;
use budget::Plan;
use candidate::Recalled;

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
}

/// A request and the records to place in it.
pub struct Prepared {
    line: PreparedLine,
    account: Account,
    account_record: StoredRecord,
    documents: Vec<(StoredRecord, Option<f64>)>,
    steps: Vec<Step>,
}

/// The line of an enriched request before it is made.
enum PreparedLine {
    Request { request: Box<api::Request>, block: String, rsv: Box<Rsv>, keep_tools: bool },
    TooLong { answer: Object, error: Error },
}

impl Prepared {
    /// Places what was recalled. The request is not copied, unless it has clones.
    pub fn place(self) -> Result<Enriched> {
        let Prepared { line, account, account_record, documents, steps } = self;
        let (line, too_long) = match line {
            PreparedLine::Request { request, block, rsv, keep_tools } => {
                (request.into_line(&block, *rsv, keep_tools)?, None)
            }
            PreparedLine::TooLong { answer, error } => (answer, Some(error)),
        };
        Ok(Enriched { line, account, account_record, too_long, documents, steps })
    }
}

/// Recalls messages that help with the user's last message and places them; everything else of the request stays, as
/// far as it fits into the model's window; of a request that is not for chat completions, all of it. If memory fails or
/// is missing, the account says so, and the request continues without it. Errors if the request itself is not valid.
pub fn enrich(
    memory: std::result::Result<Memory, Degraded>,
    request: api::Request,
    turn: &Turn,
    options: &Options,
) -> Result<Enriched> {
    prepare(memory, request, turn, options)?.place()
}

/// As `enrich`, up to the last step.
pub fn prepare(
    mut memory: std::result::Result<Memory, Degraded>,
    mut request: api::Request,
    turn: &Turn,
    options: &Options,
) -> Result<Prepared> {
    let mut rsv = request.turns.take_rsv()?;
    if request.is_chat() {
        restore(&mut request.turns)?;
    }
    rsv.user = request.said();
    let inserted = match &mut memory {
        Ok(memory) if options.session => session::insert_turns(memory, &mut request.turns, turn, options),
        _ => Ok(()),
    };
    rsv.tools = if options.keep_tools && !request.is_side_call() {
        request.turns.tools().to_vec()
    } else {
        Vec::new()
    };
    let digest = request.turn_key().map(|key| turn_cache::digest(turn.scope, &key));
    let mut trace_id = turn.trace_id.clone().or(rsv.trace_id);
    let found = match &mut memory {
        Ok(_) if request.is_side_call() => Recalled::default(),
        Ok(memory) => inserted
            .and_then(|()| {
                recall_or_reuse(memory, &request.turns, &mut trace_id, digest.as_deref(), turn, options)
            })
            .unwrap_or_else(|error| {
                memory.diagnostics.note(format_args!("{error}; the request goes on without memory"));
                let why = Degraded::StoreFailed(error.to_string());
                Recalled { degraded: Some(why), ..Recalled::default() }
            }),
        Err(why) => Recalled { degraded: Some(why.clone()), ..Recalled::default() },
    };
    let trace_id = match trace_id {
        Some(trace) => trace,
        None => {
            // Only with a fixed clock is anything derived from it.
            let salt = if turn.clock.is_fixed() {
                request.clone().into_line("", Rsv::default(), false)?.to_json()
            } else {
                String::new()
            };
            id::fresh(turn.clock, &salt)?
        }
    };
    let plan = Plan::new(&request.turns, found.candidates, found.left_out, turn, options);
    let degraded = found.degraded.map(|why| why.to_string());
    let account = Account { digest, degraded, session: options.session, ..plan.account(&request.turns) };
    let account_record = account.to_record(&trace_id, turn.scope, turn.clock.now());
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
    let rsv = Rsv {
        partition: Some(turn.scope.partition.clone()),
        instance: Some(turn.scope.instance.clone()),
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
            let error = Error::new(refusal::text(overlong));
            (PreparedLine::TooLong { answer, error }, Vec::new())
        }
    };
    Ok(Prepared { line, account, account_record, documents, steps: found.steps })
}

/// The messages to recall for a request: those of an earlier request of its turn, else those that a search
/// finds.
fn recall_or_reuse(
    memory: &mut Memory,
    request: &Request,
    trace_id: &mut Option<String>,
    digest: Option<&str>,
    turn: &Turn,
    options: &Options,
) -> Result<Recalled> {
    let (Some(user), Some(digest)) = (request.last_user(), digest) else { return Ok(Recalled::default()) };
    if options.recalls_nothing() {
        return Ok(Recalled::default());
    }
    if user + 1 < request.messages.len()
        && let Some(cached) = turn_cache::look_up(memory, turn, digest)?
    {
        trace_id.get_or_insert(cached.trace_id);
        let mut candidates = recall::recall_cached(memory, &cached.recalled, turn)?;
        recall::set_passages(&mut candidates, &request.messages[user]);
        return Ok(Recalled { candidates, ..Recalled::default() });
    }
    let mut recalled = recall::recall(memory, request, &request.messages[user], turn, options)?;
    recall::set_passages(&mut recalled.candidates, &request.messages[user]);
    Ok(recalled)
}

/// The position of the first message, if it is a system message.
fn system(request: &Request) -> Option<usize> {
    request.messages.first().filter(|first| chat::is_system(first)).map(|_| 0)
}

/// Restores the client's own messages: removes the blocks that an earlier run put into them.
fn restore(request: &mut Request) -> Result<()> {
    // A system message that is nothing but a recalled block is not the client's.
    if request.messages.len() > 1
        && system(request).is_some()
        && fence::is_all(&chat::text(&request.messages[0]))
    {
        request.messages.remove(0);
    }
    let user = request.last_user();
    for at in user.into_iter().chain(system(request)) {
        unfence(&mut request.messages[at])?;
    }
    Ok(())
}

/// Restores the client's text: removes a block that an earlier run put into a message.
fn unfence(message: &mut Object) -> Result<()> {
    let content = Content::from_message(message)?;
    if !fence::may_be_in(&content) {
        return Ok(());
    }
    let own = fence::strip(content.clone());
    if own != content {
        message.set("content", own.to_json());
    }
    Ok(())
}
