//! Documents that a model describes, several at once, each after its children.

use super::document::{DescribedDocument, StaleDocument};
use crate::error::{Context, Result};
use crate::record::Object;
use crate::structured::Model;
use std::collections::{HashMap, VecDeque};
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// Yields the documents in input order. Each waits for those below its address, and gets their new abstracts.
pub struct DocumentQueue {
    model: Arc<Model>,
    /// The greatest number of requests at once.
    jobs: NonZeroUsize,
    asked: VecDeque<AskedDocument>,
    /// The new abstracts for the directories to come, by address.
    abstracts: HashMap<String, String>,
}

/// A document that a model is asked about.
struct AskedDocument {
    uri: String,
    answer: JoinHandle<Result<DescribedDocument>>,
}

/// The outcome of a document.
pub struct DistilledDocument {
    pub uri: String,
    /// Its line with new texts, or why it stays as it is.
    pub line: Result<Object>,
}

impl DocumentQueue {
    pub fn new(model: Arc<Model>, jobs: NonZeroUsize) -> DocumentQueue {
        DocumentQueue { model, jobs, asked: VecDeque::new(), abstracts: HashMap::new() }
    }

    /// Asks about a document once there is room and its descendants are done; `sink` gets finished ones.
    /// Fails if no thread can be started, or `sink` does; one without an answer is for `sink`.
    pub fn push(
        &mut self,
        mut document: StaleDocument,
        sink: &mut dyn FnMut(DistilledDocument) -> Result<()>,
    ) -> Result<()> {
        let below = format!("{}/", document.uri());
        while self.asked.len() >= self.jobs.get() || self.asked.iter().any(|one| one.uri.starts_with(&below))
        {
            self.advance(sink)?;
        }
        document.refresh(|uri| self.abstracts.remove(uri));
        let (uri, model) = (document.uri().to_owned(), self.model.clone());
        let ask = move || document.described(&model);
        let answer = thread::Builder::new().spawn(ask).context("cannot start a thread that asks a model")?;
        self.asked.push_back(AskedDocument { uri, answer });
        Ok(())
    }

    /// Waits for all documents. Fails if `sink` does.
    pub fn finish(&mut self, sink: &mut dyn FnMut(DistilledDocument) -> Result<()>) -> Result<()> {
        while !self.asked.is_empty() {
            self.advance(sink)?;
        }
        Ok(())
    }

    /// Waits for the first document.
    fn advance(&mut self, sink: &mut dyn FnMut(DistilledDocument) -> Result<()>) -> Result<()> {
        let Some(AskedDocument { uri, answer }) = self.asked.pop_front() else { return Ok(()) };
        let described = answer.join().unwrap_or_else(|panic| resume_unwind(panic));
        let line = described.map(|DescribedDocument { line, abstract_ }| {
            self.abstracts.insert(uri.clone(), abstract_);
            line
        });
        sink(DistilledDocument { uri, line })
    }
}
