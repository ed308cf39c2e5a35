//! Puts the right few things in front of a request: what to recall, how much of it fits, where it goes.
//! What it did is told in the request's account.

mod again;
mod budget;
mod placement;
mod recall;
mod refusal;
mod units;

pub use placement::{Placement, Wording};

use crate::chat::{self, Request, Rsv, fence};
use crate::cli::Notes;
use crate::config::Settings;
use crate::embed::Embedder;
use crate::error::{Error, Result};
use crate::fill;
use crate::record::{Account, Clock, Content, Object, Scope, id};
use crate::store::Store;
use crate::tokens::{self, Limits};
use budget::Plan;
use recall::Recalled;
use std::time::Duration;

/// How much is recalled for a request, within what, and where it goes.
#[derive(Clone, Debug)]
pub struct Options {
    /// The model that is asked: the request's, else that of the settings.
    pub model: String,
    /// How many messages that are related to the question, at most.
    pub similar: usize,
    /// How many of the last messages, at most.
    pub recent: usize,
    /// The model's window and reserve, in tokens.
    pub limits: Limits,
    /// Whether the window is the table's, so that who serves the model may know better.
    pub assumed: bool,
    /// What is kept free for the answer, if the caller or the settings say so.
    pub reserve: Option<usize>,
    /// How much of the window is recalled text at most, 0 to 1.
    pub share: f64,
    /// How many messages without a vector are embedded first, at most.
    pub catch_up: usize,
    /// What the counted tokens are multiplied with, to be on the safe side.
    pub token_multiplier: f64,
    /// After how long what was said counts half as recent.
    pub half_life: Duration,
    pub placement: Placement,
    /// Whether the head makes one system message of all up to the last one.
    pub compress: bool,
    pub wording: Wording,
    /// Whether what tools gave is stored with the turn.
    pub keep_tools: bool,
}

impl Options {
    /// What the settings say for a request: the caller's own word goes before a partition's row, that before a
    /// model's, and that before the general one.
    pub fn of(settings: &Settings, request: &Request, scope: &Scope) -> Result<Options> {
        let model = request.model()?.or_else(|| settings.text("model")).unwrap_or_default();
        let (by_model, by_partition) = (settings.model(&model), settings.partition(&scope.partition));
        let size = |key| settings.integer(key).and_then(|n| usize::try_from(n).ok());
        let text = |key| settings.text(key).unwrap_or_default();
        let recalled = text("enrich.recall");
        let recalls = |what| recalled.split(',').any(|word| word == what);
        let similar = by_partition
            .semantic_context_size
            .or(by_model.semantic_context_size)
            .or(size("semantic_context_size"));
        let recent = by_partition.recent_context_size.or(size("recent_context_size"));
        let known = tokens::limits(&model);
        let own = Wording::default();
        Ok(Options {
            model,
            similar: similar.filter(|_| recalls("similar")).unwrap_or_default(),
            recent: recent.filter(|_| recalls("recent")).unwrap_or_default(),
            limits: Limits { window: by_model.max_context_tokens.unwrap_or(known.window), ..known },
            assumed: by_model.max_context_tokens.is_none(),
            reserve: request.max_tokens()?.or(by_model.reserve_tokens).or(size("token_reserve")),
            share: settings.real("enrich.share").unwrap_or(1.0),
            catch_up: fill::catch_up_limit(settings),
            token_multiplier: by_partition.token_multiplier.unwrap_or(1.0),
            half_life: settings.duration("enrich.half_life").unwrap_or(Duration::MAX),
            placement: Placement::named(&text("enrich.placement")),
            compress: settings.boolean("enrich.compress") != Some(false),
            wording: Wording {
                note: settings.text("enrich.note").unwrap_or(own.note),
                similar: settings.text("enrich.similar_note").unwrap_or(own.similar),
                recent: settings.text("enrich.recent_note").unwrap_or(own.recent),
            },
            keep_tools: settings.boolean("keep_tools") == Some(true),
        })
    }

    /// Counted tokens, on the safe side.
    fn scaled(&self, tokens: usize) -> usize {
        (tokens as f64 * self.token_multiplier).ceil() as usize
    }
}

/// A request on its way, complete with its `rsv`; or the answer to it, if it is too long for its model.
pub struct Enriched {
    pub line: Object,
    pub account: Account,
    /// That it is too long; then `line` is the answer that says so.
    pub too_long: Option<Error>,
}

/// What is recalled from: without an embedder by words alone.
pub struct Memory<'a> {
    pub store: &'a mut dyn Store,
    pub embedder: Option<&'a mut Embedder>,
    pub notes: &'a Notes,
    /// Why it serves in part only.
    pub degraded: Option<String>,
}

/// Who asks, and when.
pub struct Turn<'a> {
    pub scope: &'a Scope,
    /// The trace, if it goes on from somewhere.
    pub trace_id: Option<String>,
    pub clock: &'a Clock,
    /// What who serves the model says of its window, in tokens; asked only if it matters.
    pub served: &'a dyn Fn() -> Option<usize>,
}

/// Recalls what helps with what the user said last and places it; everything else of the request stays, as far
/// as it fits into the model's window. Memory that cannot serve, or is not there, is told in the account, and the
/// request goes on without it. Errors if the request itself is not sound.
pub fn enrich(
    mut memory: std::result::Result<Memory, String>,
    mut request: Request,
    turn: &Turn,
    options: &Options,
) -> Result<Enriched> {
    let mut rsv = request.take_rsv()?;
    // A system message that was nothing else is not the client's.
    if request.messages.len() > 1
        && system(&request).is_some()
        && fence::is_all(&chat::text(&request.messages[0]))
    {
        request.messages.remove(0);
    }
    let user = request.last_user();
    for at in user.into_iter().chain(system(&request)) {
        unfence(&mut request.messages[at])?;
    }
    rsv.user = request.user().cloned();
    rsv.tools = if options.keep_tools { request.tools().to_vec() } else { Vec::new() };
    let digest = user.map(|user| again::digest(turn.scope, &request.messages[..=user]));
    let mut trace_id = turn.trace_id.clone().or(rsv.trace_id);
    let found = match &mut memory {
        Ok(memory) => remember(memory, &request, &mut trace_id, digest.as_deref(), turn, options)
            .unwrap_or_else(|error| {
                memory.notes.note(format_args!("{error}; the request goes on without memory"));
                Recalled { degraded: Some(error.to_string()), ..Recalled::default() }
            }),
        Err(why) => Recalled { degraded: Some(why.clone()), ..Recalled::default() },
    };
    let trace_id = match trace_id {
        Some(trace) => trace,
        None => id::fresh(turn.clock, &request.clone().into_object(&Rsv::default()).to_json())?,
    };
    let plan = Plan::of(&request, found.candidates, found.left_out, turn, options);
    let mut members = plan.account(&request);
    digest.iter().for_each(|digest| members.set_text(again::DIGEST, digest));
    found.degraded.iter().for_each(|why| members.set_text("degraded", why));
    plan.drop_from(&mut request);
    if let Some(user) = request.last_user() {
        let kept: Vec<_> = plan.kept.iter().map(|(candidate, _)| candidate).collect();
        placement::place(&mut request, user, &kept, options)?;
    }
    let account = Account::new(&trace_id, turn.scope, turn.clock.now(), members);
    let rsv = Rsv {
        partition: Some(turn.scope.partition.clone()),
        instance: Some(turn.scope.instance.clone()),
        trace_id: Some(trace_id.clone()),
        account: Some(account.clone()),
        ..rsv
    };
    let Some(tokens) = plan.too_long else {
        return Ok(Enriched { line: request.into_object(&rsv), account, too_long: None });
    };
    let mut line = refusal::answer(&plan, tokens, &options.model, &trace_id, turn.clock);
    line.set("rsv", rsv.answered_here().to_object().to_json());
    let too_long = Error::new(refusal::text(tokens, plan.limit()));
    Ok(Enriched { line, account, too_long: Some(too_long) })
}

/// What was found for a request: what was decided for an earlier one of the same turn, else what is found now.
fn remember(
    memory: &mut Memory,
    request: &Request,
    trace_id: &mut Option<String>,
    digest: Option<&str>,
    turn: &Turn,
    options: &Options,
) -> Result<Recalled> {
    let (Some(user), Some(digest)) = (request.last_user(), digest) else { return Ok(Recalled::default()) };
    if options.similar == 0 && options.recent == 0 {
        return Ok(Recalled::default());
    }
    if user + 1 < request.messages.len()
        && let Some(decided) = again::decided(memory, turn, digest)?
    {
        trace_id.get_or_insert(decided.trace_id);
        let candidates = recall::again(memory, &decided.found, turn)?;
        return Ok(Recalled { candidates, ..Recalled::default() });
    }
    recall::recall(memory, request, &request.messages[user], turn, options)
}

/// Where the first message stands, if it is a system message.
fn system(request: &Request) -> Option<usize> {
    request.messages.first().filter(|first| chat::is_system(first)).map(|_| 0)
}

/// Makes of a message what its client wrote: a block that an earlier run put there is taken out.
fn unfence(message: &mut Object) -> Result<()> {
    let content = Content::of(message)?;
    let own = fence::strip(content.clone());
    if own != content {
        message.set("content", own.to_json());
    }
    Ok(())
}
