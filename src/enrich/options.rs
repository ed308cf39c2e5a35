//! The options of enrichment: the amount to recall, its limits, its placement, and its introduction.

use super::client_project::ClientProject;
use crate::api::Request;
use crate::backfill;
use crate::chat::fence;
use crate::config::{Settings, StoredActions};
use crate::error::Result;
use crate::memory::PriorRule;
use crate::record::{ACTION, Address, DOCUMENT, MEMORY, Reach, RecordKind, RequestScope, Scope, kinds};
use crate::redact::Redactor;
use crate::store::Select;
use crate::tokens::{self, Limits};
use crate::worktree::Worktree;
use std::time::Duration;

/// The amount to recall for a request, its limits, and its placement.
#[derive(Clone, Debug)]
pub struct Options {
    /// The model of the request, else that of the settings.
    pub model: String,
    /// The reach of what is recalled beside the recent messages, which are of the instance.
    pub reach: Reach,
    /// The greatest number of messages that are related to the question.
    pub similar: usize,
    /// The greatest number of recent messages.
    pub recent: usize,
    /// Whether later statements are looked for by the rule, beside corrections.
    pub newer: bool,
    /// The greatest number of memories.
    pub memories: usize,
    /// The greatest number of documents, and the root of their subtree.
    pub documents: usize,
    pub target: Address,
    /// The lowest score of a document.
    pub min_score: Option<f64>,
    /// Whether the archives of the session are recalled.
    pub archives: bool,
    /// Whether actions are recalled for a question about work on files.
    pub actions: bool,
    /// Whether the part of a session before a compaction is carried over.
    pub carries: bool,
    /// Whether the scope is a session that the request continues: its last messages become turns of the
    /// request.
    pub session: bool,
    /// The digest of the key that the client gives the request, if it gives it one.
    pub request_key: Option<String>,
    /// Whether the messages of other partitions are counted where nothing was found.
    pub counts_others: bool,
    /// The share of conversations, 0 to 1, for which nothing is recalled.
    pub holdout: f64,
    /// Whether only as many related and recent messages are recalled as are likely to help.
    pub selective: bool,
    /// With `selective`, the longest pause within a sitting; recent messages are those of the present
    /// sitting.
    pub recent_gap: Duration,
    /// The model's window and reserve, in tokens.
    pub limits: Limits,
    /// Whether the window is the table's, so that the server of the model may know better.
    pub assumed: bool,
    /// The tokens reserved for the answer, if the caller or the settings say so.
    pub reserve: Option<usize>,
    /// The greatest part of the window for recalled text, 0 to 1.
    pub share: f64,
    /// The greatest number of messages without a vector that are embedded first.
    pub catch_up: usize,
    /// Counted tokens are multiplied by this, to be on the safe side.
    pub token_multiplier: f64,
    /// The time after which a message counts half as recent.
    pub half_life: Duration,
    pub placement: Placement,
    /// Whether turns of a request that is too long are dropped. The programs that speak other APIs than chat
    /// completions shorten their requests by themselves.
    pub drops: bool,
    /// Whether the head becomes one system message, of all messages up to the last system message.
    pub compress: bool,
    /// The note that introduces recalled messages to the model.
    pub note: String,
    /// The rule for the confidence in memories.
    pub prior: PriorRule,
    /// Whether the results of tools are stored with the turn.
    pub keep_tools: bool,
    /// The partitions of which actions are stored with the turn.
    pub stored_actions: StoredActions,
    /// Knows what the request holds in the form in which it is stored; `None` if that is its own.
    pub redactor: Option<Redactor>,
    /// The files with which those that messages name are compared; `None` if they are not, or if they are
    /// unknown.
    pub worktree: Option<Worktree>,
    /// The time that git has to compare them; `None` if they are not to be compared.
    pub check: Option<Duration>,
}

/// Git has this part of the time for recall.
const CHECK_DIVISOR: u32 = 20;

impl Options {
    /// The options for a request: its own values come before those of its partition, these before those of
    /// its model, and these before the general settings. Fails if a member of the request or `enrich.target`
    /// is invalid.
    pub fn for_request(settings: &Settings, request: &Request, named: &RequestScope) -> Result<Options> {
        let scope = &named.scope;
        let turns = &request.turns;
        let model = turns.model()?.or_else(|| settings.text("model")).unwrap_or_default();
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
        let limits = tokens::limits(&model);
        let limit = settings.duration("enrich.timeout").unwrap_or(Duration::MAX) / CHECK_DIVISOR;
        let check_limit = (text("enrich.check") != "off").then_some(limit);
        Ok(Options {
            model,
            reach: Reach::named(&by_partition.reach.unwrap_or_else(|| text("enrich.reach")))
                // `auto` names no reach: the scope of the request decides.
                .unwrap_or(named.reach),
            similar: similar.filter(|_| recalls("similar")).unwrap_or_default(),
            recent: recent.filter(|_| recalls("recent")).unwrap_or_default(),
            newer: settings.text("search.newer").as_deref() != Some("off"),
            memories: size("enrich.memories").filter(|_| recalls("memories")).unwrap_or_default(),
            documents: size("enrich.documents").filter(|_| recalls("documents")).unwrap_or_default(),
            target: Address::locate(&text("enrich.target"), &scope.partition)
                .map_err(|error| error.at("enrich.target"))?,
            min_score: settings.real("enrich.min_score"),
            archives: recalls("archives"),
            actions: recalls("actions"),
            carries: settings.boolean("enrich.compaction") != Some(false),
            session: false,
            request_key: None,
            counts_others: true,
            holdout: settings.share("enrich.holdout").unwrap_or_default(),
            prior: PriorRule::from_settings(settings),
            selective: settings.boolean("enrich.selective") != Some(false),
            recent_gap: settings.duration("enrich.recent_gap").unwrap_or(Duration::MAX),
            limits: limits.within(by_model.max_context_tokens.unwrap_or(limits.window)),
            assumed: by_model.max_context_tokens.is_none(),
            reserve: turns.max_tokens()?.or(by_model.reserve_tokens).or(size("token_reserve")),
            share: settings.real("enrich.share").unwrap_or(1.0),
            catch_up: backfill::catch_up_limit(settings),
            token_multiplier: by_partition.token_multiplier.unwrap_or(1.0),
            half_life: settings.duration("enrich.half_life").unwrap_or(Duration::MAX),
            placement: Placement::of(request, &text("enrich.placement")),
            drops: request.is_chat(),
            compress: settings.boolean("enrich.compress") != Some(false),
            note: settings.text("enrich.note").unwrap_or_else(|| fence::DEFAULT_NOTE.to_owned()),
            keep_tools: settings.boolean("keep_tools") == Some(true),
            stored_actions: settings.stored_actions(),
            redactor: None,
            worktree: None,
            check: check_limit,
        })
    }

    /// Compares the files that messages name with a project, if a scope is one of it, and if the settings say
    /// so.
    pub fn compare_with(&mut self, project: Option<&ClientProject>, scope: &Scope) {
        let project = project.filter(|_| self.check.is_some());
        self.worktree = project.and_then(|project| project.worktree_of(scope)).cloned();
    }

    /// Whether nothing is recalled for any question.
    pub(super) fn recalls_nothing(&self) -> bool {
        !self.archives
            && !self.actions
            && [self.similar, self.recent, self.memories, self.documents] == [0; 4]
    }

    /// Whether records of a kind are searched for.
    fn searches(&self, kind: &RecordKind) -> bool {
        match kind {
            kind if kind == &MEMORY => self.memories > 0,
            kind if kind == &DOCUMENT => self.documents > 0 || self.archives,
            kind if kind == &ACTION => self.actions,
            kind => kind.recalled && self.similar > 0,
        }
    }

    /// The records of a scope that are searched: documents lie in the tree of the partition.
    pub(super) fn searched(&self, scope: &Scope) -> Select {
        let kinds: Vec<&RecordKind> = kinds().into_iter().filter(|kind| self.searches(kind)).collect();
        let reach = if kinds.contains(&&DOCUMENT) { Reach::Partition } else { self.reach };
        Select::records(kinds, reach.around(scope))
    }

    /// Multiplies a count of tokens by `token_multiplier`.
    pub(super) fn scaled(&self, tokens: usize) -> usize {
        (tokens as f64 * self.token_multiplier).ceil() as usize
    }
}

/// The placement of recalled messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    Tail,
    Head,
    System,
}

impl Placement {
    /// By its name in the settings; only messages of chat completions can have another place than the tail.
    fn of(request: &Request, name: &str) -> Placement {
        match name {
            _ if !request.is_chat() => Placement::Tail,
            "head" => Placement::Head,
            "system" => Placement::System,
            _ => Placement::Tail,
        }
    }
}
