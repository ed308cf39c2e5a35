//! Finds the documents to recall: those at and below the target, and the archives of the session.

use super::candidate::{CONSIDERED, Candidate};
use super::options::Options;
use super::relevance::Relevance;
use super::turn::{Memory, Turn};
use crate::error::Result;
use crate::ranking::weights;
use crate::record::{Address, DOCUMENT, Hit, Scopes, StoredRecord, history};
use crate::search::tree::{Step, session_context};
use crate::search::{self, Answer, Request};
use crate::store::{Select, Store};
use crate::tree;

/// The greatest number of archives that have to do with the question; the last one is recalled beside them.
const ARCHIVES: usize = 3;

/// A search for the documents that have to do with a question.
pub(super) struct DocumentSearch<'a> {
    pub(super) text: &'a str,
    pub(super) turn: &'a Turn<'a>,
    pub(super) options: &'a Options,
}

impl DocumentSearch<'_> {
    /// The best documents at and below the target. Of a target that is one document, all are candidates,
    /// however little they have to do with the question. `steps` gets those of the search. Fails if the store
    /// cannot be read.
    pub(super) fn at_target(&self, memory: &mut Memory, steps: &mut Vec<Step>) -> Result<Vec<Candidate>> {
        let is_document = self.target_document(&mut *memory.store)?.is_some();
        self.find(memory, &self.options.target, self.options.documents, !is_document, steps)
    }

    /// Of a target that is one document, its first sections with words of their own, in the order of the
    /// tree, which have no score; none of another target. Fails if the store cannot be read.
    pub(super) fn first_sections(&self, memory: &mut Memory) -> Result<Vec<Candidate>> {
        let Some(document) = self.target_document(&mut *memory.store)? else { return Ok(Vec::new()) };
        let mut nodes = tree::below(&mut *memory.store, self.partition(), &self.options.target, None)?;
        nodes.insert(0, document);
        nodes.retain(|node| !node.text.trim().is_empty() && self.reaches(node));
        nodes.truncate(self.options.documents);
        Ok(nodes.into_iter().map(|record| Candidate::new(record, None, 0)).collect())
    }

    /// The target, if it is one document.
    fn target_document(&self, store: &mut dyn Store) -> Result<Option<StoredRecord>> {
        let target = &self.options.target;
        if !target.is_open_to(self.partition()) {
            return Ok(None);
        }
        tree::node(store, self.partition(), target)
    }

    /// The archives of the session that have to do with the question, then its last one. Fails if the store
    /// does.
    pub(super) fn archives(&self, memory: &mut Memory) -> Result<Vec<Candidate>> {
        let Ok(history) = history(self.turn.scope) else { return Ok(Vec::new()) };
        let archives = tree::below(&mut *memory.store, self.partition(), &history, Some(1))?;
        let Some(last) = archives.into_iter().max_by_key(StoredRecord::position) else {
            return Ok(Vec::new());
        };
        let mut found = self.find(memory, &history, ARCHIVES, true, &mut Vec::new())?;
        if !found.iter().any(|candidate| candidate.record.id == last.id) {
            found.push(Candidate::new(last, None, 0));
        }
        Ok(found)
    }

    /// Whether a document, which belongs to the tree of the partition, is within the reach.
    fn reaches(&self, document: &StoredRecord) -> bool {
        self.options.reach.around(self.turn.scope).contains(&document.scope)
    }

    fn partition(&self) -> &str {
        &self.turn.scope.partition
    }

    /// The best documents at and below an address, at most this many; `selective`, only those that are likely
    /// to help.
    fn find(
        &self,
        memory: &mut Memory,
        target: &Address,
        most: usize,
        selective: bool,
        steps: &mut Vec<Step>,
    ) -> Result<Vec<Candidate>> {
        let options = self.options;
        let which = Select::records(vec![&DOCUMENT], Scopes::Partition(self.partition().to_owned()));
        let count = memory.store.count(&which, weights::SATURATION)?;
        if count == 0 || self.text.trim().is_empty() {
            return Ok(Vec::new());
        }
        let context = self.words_of_session(&mut *memory.store);
        let admits = |hit: &Hit| self.reaches(&hit.record);
        let mut request = Request::new(self.text, which, most.saturating_mul(CONSIDERED));
        request.targets.push(target.clone());
        request.context = context;
        let (min_score, deduplicate) = (options.min_score, true);
        let clock = *self.turn.clock;
        request.options =
            search::Options { min_score, deduplicate, admits: &admits, clock, ..request.options };
        let mut by = memory.by();
        let answer = request.run(&mut *memory.store, &mut by, options.prior)?;
        let Answer { mut hits, steps: own, by_meaning } = answer;
        *steps = own;
        if selective {
            let relevance = Relevance::new(&weights::DOCUMENTS, by_meaning.then_some(count), None);
            relevance.keep_relevant(&mut hits, |_| {});
        }
        hits.truncate(most);
        let candidate = |Hit { record, score, .. }: Hit| Candidate::new(record, Some(score), 0);
        Ok(hits.into_iter().map(candidate).collect())
    }

    /// The words of the session that the turn continues; empty if there are none, or they cannot be read.
    fn words_of_session(&self, store: &mut dyn Store) -> String {
        let Some(scope) = self.options.session.then_some(self.turn.scope) else { return String::new() };
        session_context(store, &scope.partition, &scope.instance).unwrap_or_default()
    }
}
