//! Puts the right few things in front of a request: what to recall, how much of it fits, where it goes.
//! What it did is told in the request's account.

mod budget;
mod placement;
mod recall;

use crate::chat::{Request, Rsv, fence};
use crate::cli::Notes;
use crate::config::Settings;
use crate::embed::Embedder;
use crate::error::Result;
use crate::fill;
use crate::record::{Account, Clock, Content, Object, Scope, id};
use crate::store::Store;
use crate::tokens::{self, Counter, Limits};
use recall::Recalled;

/// How much is recalled for a request, and within what.
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
    /// How many messages without a vector are embedded first, at most.
    pub catch_up: usize,
    /// What the counted tokens are multiplied with, to be on the safe side.
    pub token_multiplier: f64,
}

impl Options {
    /// What the settings say for a request: a partition's row goes before a model's, and that before the
    /// general one.
    pub fn of(settings: &Settings, request: &Request, scope: &Scope) -> Result<Options> {
        let model = request.model()?.or_else(|| settings.text("model")).unwrap_or_default();
        let (by_model, by_partition) = (settings.model(&model), settings.partition(&scope.partition));
        let size = |key| settings.integer(key).and_then(|n| usize::try_from(n).ok());
        let known = tokens::limits(&model);
        Ok(Options {
            model,
            similar: by_partition
                .semantic_context_size
                .or(by_model.semantic_context_size)
                .or(size("semantic_context_size"))
                .unwrap_or_default(),
            recent: by_partition.recent_context_size.or(size("recent_context_size")).unwrap_or_default(),
            limits: Limits {
                window: by_model.max_context_tokens.unwrap_or(known.window),
                reserve: by_model.reserve_tokens.or(size("token_reserve")).unwrap_or(known.reserve),
            },
            catch_up: fill::catch_up_limit(settings),
            token_multiplier: by_partition.token_multiplier.unwrap_or(1.0),
        })
    }
}

/// A request on its way: enriched by `enrich`, complete with its `rsv`.
pub struct Enriched {
    pub request: Object,
    pub account: Account,
}

/// What is recalled from: without an embedder by words alone.
pub struct Memory<'a> {
    pub store: &'a mut dyn Store,
    pub embedder: Option<&'a mut Embedder>,
    pub notes: &'a Notes,
}

/// Who asks, and when.
pub struct Turn<'a> {
    pub scope: &'a Scope,
    /// The trace, if it goes on from somewhere.
    pub trace_id: Option<String>,
    pub clock: &'a Clock,
}

/// Recalls what helps with the user's last message and places it there; everything else of the request
/// stays. A request whose last message is not a user's (a tool's result) is only accounted for.
pub fn enrich(memory: Memory, mut request: Request, turn: &Turn, options: &Options) -> Result<Enriched> {
    let mut rsv = request.take_rsv()?;
    let trace_id = match turn.trace_id.clone().or(rsv.trace_id) {
        Some(trace) => trace,
        None => id::fresh(turn.clock, &request.clone().into_object(&Rsv::default()).to_json())?,
    };
    rsv.user = request.user().map(without_fence).transpose()?;
    let counter = Counter::of(&options.model);
    let mut account = Object::default();
    let found = match &rsv.user {
        Some(user) => recall::recall(memory, &request, user, turn.scope, options)?,
        None => Recalled::default(),
    };
    let budget = budget::Budget::of(&request, &counter, options)?;
    let kept = budget.keep(found, &counter);
    if let Some(user) = request.user() {
        placement::place(user, &kept.messages())?;
    }
    budget.account(&mut account, &request, &counter, &kept);
    let account = Account::new(&trace_id, turn.scope, turn.clock.now(), account);
    let rsv = Rsv {
        partition: Some(turn.scope.partition.clone()),
        instance: Some(turn.scope.instance.clone()),
        trace_id: Some(trace_id),
        account: Some(account.clone()),
        ..rsv
    };
    Ok(Enriched { request: request.into_object(&rsv), account })
}

/// The user's message as the client wrote it: a block that an earlier run put there is taken out of the
/// request too.
fn without_fence(user: &mut Object) -> Result<Object> {
    let content = Content::of(user)?;
    let own = fence::strip(content.clone());
    if own != content {
        user.set("content", own.to_json());
    }
    Ok(user.clone())
}
