//! Answers requests: the one way by which the command line, the proxy, rsv-mcp and enrichment search.

use super::memories::{MemoryRule, run_with_memories};
use super::newer::Newer;
use super::options::{By, CatchUp, LinkNewest, Options};
use super::quote::note_passages;
use super::request::{Ranking, Request};
use super::tree::{self, Step};
use super::{FETCH_GROWTH, nearby, visit};
use crate::backfill;
use crate::cli::Diagnostics;
use crate::config::Settings;
use crate::embed::{Embedder, Workload};
use crate::error::{Error, Result};
use crate::memory::PriorRule;
use crate::recall_rules::RecallRules;
use crate::record::{Hit, MEMORY, MESSAGE, Scopes, StoredRecord};
use crate::store::{Around, Store};
use crate::text::{Languages, Occur, SoughtWords, Term};

/// The most hits that are asked for at once where what supersedes each is looked for, unless it decides which
/// are hits.
const MAX_MARKED: usize = 1000;

/// The answer to a request.
#[derive(Debug, Default)]
pub struct Answer {
    /// Best first; with `link`, followed by those linked to them.
    pub hits: Vec<Hit>,
    /// The steps of a search in the tree.
    pub steps: Vec<Step>,
    /// Whether the search went by meaning.
    pub by_meaning: bool,
}

impl Request<'_> {
    /// Runs the search by a ranking, instead of the request's. Errors if a question has nothing to search
    /// for.
    pub fn run(&self, store: &mut dyn Store, by: &mut By, prior: PriorRule) -> Result<Answer> {
        let Request { which, options, .. } = self;
        let memories = MemoryRule { prior, min_confidence: self.min_confidence };
        let by_meaning = !matches!(by, By::Words | By::Any);
        if self.is_in_tree() {
            let (hits, steps) = tree::run(store, by, self, memories)?;
            return Ok(Answer { hits, steps, by_meaning });
        }
        let mut find = |store: &mut dyn Store, options: &Options| {
            super::run(store, by.again(), self.question(), which, options)
        };
        let mut hits = if which.kinds.contains(&&MEMORY) {
            run_with_memories(store, &which.scopes, options, memories, find)?
        } else {
            find(store, options)?
        };
        let languages = Languages::of_question(self.question(), store.languages()?);
        let sought = SoughtWords::of(self.question(), languages);
        for hit in &mut hits {
            note_passages(hit, &sought);
        }
        Ok(Answer { hits, steps: Vec::new(), by_meaning })
    }

    /// Adds to hits the members known only in the tree, and keeps the texts of a level of detail; others
    /// stay. Fails if the store cannot be read.
    pub fn describe(
        &self,
        store: &mut dyn Store,
        hits: &mut [Hit],
        level: Option<u8>,
        for_people: bool,
    ) -> Result<()> {
        if self.is_in_tree() {
            tree::describe(store, &self.questions, hits)?;
            tree::set_level(hits, level, for_people);
        }
        Ok(())
    }
}

/// Adds the rules of recall to messages among hits, and what supersedes them.
fn mark(store: &mut dyn Store, request: &Request, by_rule: bool, hits: &mut [Hit]) -> Result<()> {
    let messages = hits.iter().filter(|hit| hit.record.kind == &MESSAGE);
    let records: Vec<&StoredRecord> = messages.map(|hit| &hit.record).collect();
    if records.is_empty() {
        return Ok(());
    }
    let rules = RecallRules::read(store, &request.which.scopes)?;
    let newer = if by_rule {
        Newer::find_by_rule(store, &records, &request.which)?
    } else {
        let ids: Vec<&str> = records.iter().map(|record| record.id.as_str()).collect();
        Newer::find(store, &ids, &request.which)?
    };
    for hit in hits {
        hit.why.rule = rules.of(&hit.record.id);
        hit.why.newer = newer.statements(&hit.record.id);
    }
    Ok(())
}

/// Answers the requests of one process or call. The model is loaded for the first request that goes by
/// meaning; once words must do instead, they do for the requests after it.
pub struct Searcher<'a> {
    settings: &'a Settings,
    diagnostics: &'a Diagnostics,
    /// The result of loading the model.
    embedder: Option<Result<Embedder>>,
    /// The scopes whose records were given vectors before they were searched, outside the tree or in it.
    filled: Vec<(Scopes, bool)>,
    must_use_words: bool,
    /// Whether records without a vector are embedded before a search.
    catches_up: bool,
}

impl<'a> Searcher<'a> {
    /// Nothing is loaded yet.
    pub fn new(settings: &'a Settings, diagnostics: &'a Diagnostics) -> Searcher<'a> {
        Searcher {
            settings,
            diagnostics,
            embedder: None,
            filled: Vec::new(),
            must_use_words: false,
            catches_up: true,
        }
    }

    /// The same where the caller has loaded the model, or tried to.
    pub fn with_embedder(self, embedder: Option<Result<Embedder>>) -> Searcher<'a> {
        Searcher { embedder, ..self }
    }

    /// The same, which embeds nothing but questions.
    pub fn without_catch_up(self) -> Searcher<'a> {
        Searcher { catches_up: false, ..self }
    }

    /// Answers a request by its ranking; by words where no model can be used and words will do, which a note
    /// says unless there is no model at all. The hits have the rules of recall, and what supersedes them.
    pub fn run(&mut self, store: &mut dyn Store, request: &Request) -> Result<Answer> {
        let limit = request.options.limit;
        let mut fetched = limit;
        loop {
            let options = Options { limit: fetched, ..request.options.clone() };
            let mut answer = self.find(store, &Request { options, ..request.clone() })?;
            let are_all = answer.hits.len() < fetched;
            let by_rule = self.settings.text("search.newer").as_deref() != Some("off");
            mark(store, request, by_rule, &mut answer.hits)?;
            answer.hits.retain(|hit| !request.current || hit.why.newer.is_empty());
            if are_all || !request.current || answer.hits.len() >= limit {
                answer.hits.truncate(limit);
                return Ok(answer);
            }
            fetched = fetched.saturating_mul(FETCH_GROWTH);
        }
    }

    /// The same, without the rules of recall and without looking for what is newer.
    fn find(&mut self, store: &mut dyn Store, request: &Request) -> Result<Answer> {
        let Searcher { settings, diagnostics, .. } = *self;
        let prior = PriorRule::from_settings(settings);
        let link_newest = Some(LinkNewest { settings, diagnostics });
        let options = Options { link_newest, ..request.options.clone() };
        let request = &Request { options, ..request.clone() };
        if self.goes_by_meaning(request) {
            let by = self.by_meaning(store, request);
            match by.and_then(|mut by| request.run(store, &mut by, prior)) {
                Err(why) => self.fall_back(why, store, request)?,
                found => return found,
            }
        }
        let mut by = match request.occur() {
            Occur::All => By::Words,
            Occur::Any => By::Any,
        };
        request.run(store, &mut by, prior)
    }

    /// Visits the hits of a request, each with up to `reach` records before and after it, as `around` returns
    /// them, and whether the search went by meaning. Of more than `MAX_MARKED`, those that have all words are
    /// visited one by one as far as can be, so that very many need little memory, and what supersedes them is
    /// not looked for. With `explain`, hits have the parts of their scores. Fails if a question has nothing
    /// to search for, or the store, the embedder or `visit` fails.
    pub fn visit(
        &mut self,
        store: &mut dyn Store,
        request: &Request,
        (reach, explain): (usize, bool),
        visit: &mut dyn FnMut(&Hit, &Around, bool) -> Result<()>,
    ) -> Result<()> {
        let Request { which, options, .. } = request;
        let has_others = options.link || !options.actions.is_empty() || which.kinds.contains(&&MEMORY);
        let is_unmarked = !request.current && options.limit > MAX_MARKED;
        if self.is_by_all_words(request) && !has_others && is_unmarked {
            let rules = if which.kinds.contains(&&MESSAGE) {
                RecallRules::read(store, &which.scopes)?
            } else {
                RecallRules::default()
            };
            let visit = &mut |hit: &mut Hit, around: &Around| {
                hit.why.rule = rules.of(&hit.record.id);
                visit(hit, around, false)
            };
            return visit::visit_by_words(store, request.question(), which, options, (reach, explain), visit);
        }
        let Answer { hits, by_meaning, .. } = self.run(store, request)?;
        let around = visit::around(store, &hits, reach)?;
        hits.iter().zip(&around).try_for_each(|(hit, around)| visit(hit, around, by_meaning))
    }

    /// The sentences for a person for whom a request has found nothing outside the tree. `everywhere` is the
    /// command that searches all scopes. Fails if the store cannot be read.
    pub fn nothing_found(
        &self,
        store: &mut dyn Store,
        request: &Request,
        everywhere: &str,
    ) -> Result<Vec<String>> {
        let question = request.question();
        let terms = self.is_by_all_words(request).then(|| Term::parse(question));
        if !request.options.actions.is_empty() {
            // The words say nothing of how many of these actions others have.
            return nearby::nothing_found(store, &request.which, Some(&[]), everywhere);
        }
        let mut notes = nearby::nothing_found(store, &request.which, terms.as_deref(), everywhere)?;
        if terms.is_some() && nearby::is_in_words(question) {
            let model = Embedder::from_settings(self.settings, Workload::Few, self.diagnostics);
            notes.push(nearby::by_meaning_too(model.is_ok()));
        }
        Ok(notes)
    }

    /// For somebody who named no scope and found nothing: in which partitions there is something, and how
    /// much.
    pub fn other_partitions(&self, store: &mut dyn Store, request: &Request) -> Result<Option<String>> {
        let terms = self.is_by_all_words(request).then(|| Term::parse(request.question()));
        nearby::other_partitions(store, &request.which, terms.as_deref())
    }

    fn goes_by_meaning(&self, request: &Request) -> bool {
        // Actions have no vectors.
        request.is_by_meaning() && !self.must_use_words && request.options.actions.is_empty()
    }

    /// Whether hits have all of the words.
    fn is_by_all_words(&self, request: &Request) -> bool {
        !self.goes_by_meaning(request) && request.occur() == Occur::All
    }

    /// The ranking of a search by meaning; records without a vector are embedded first, in each scope.
    fn by_meaning(&mut self, store: &mut dyn Store, request: &Request) -> Result<By<'_>> {
        let Searcher { settings, diagnostics, .. } = *self;
        let load = || backfill::embedder(store, settings, Workload::Few, diagnostics);
        let embedder = self.embedder.get_or_insert_with(load).as_mut().map_err(|why| why.clone())?;
        let searched = (request.which.scopes.clone(), request.is_in_tree());
        let mut pending = None;
        if self.catches_up && !self.filled.contains(&searched) {
            self.filled.push(searched);
            pending = Some(CatchUp { limit: backfill::catch_up_limit(settings), diagnostics });
        }
        Ok(match request.ranking() {
            Ranking::Semantic => By::Meaning(embedder, pending),
            _ => By::Both(embedder, pending),
        })
    }

    /// Falls back to words, with a note if a model was wanted. Errors with `why` if the request allows no
    /// words.
    fn fall_back(&mut self, why: Error, store: &mut dyn Store, request: &Request) -> Result<()> {
        let is_auto = request.ranking() == Ranking::Auto;
        if !is_auto && request.fallback.is_none() {
            return Err(why);
        }
        if !is_auto || backfill::is_wanted(store, self.settings)? {
            self.diagnostics.note(format_args!("searching by words: {why}"));
        }
        self.must_use_words = true;
        Ok(())
    }
}
