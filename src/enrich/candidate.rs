//! Candidates for recall, and the blocks in which they stand.

use super::degraded::Degraded;
use super::schedule::RecallStep;
use crate::chat::fence;
use crate::error::Error;
use crate::record::{ACTION, Considered, DOCUMENT, FileState, LeftOut, MEMORY, NewerStatement, StoredRecord};
use crate::search;
use crate::search::tree::Step;
use std::ops::Range;

/// A record that may be recalled.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) record: StoredRecord,
    /// The score of the search; `None` for one that was not found by it.
    pub(super) score: Option<f64>,
    /// The number of links between it and a hit; 0 for a hit.
    pub(super) hop: usize,
    /// Whether it is recalled always.
    pub(super) pinned: bool,
    /// The byte ranges of its text that are quoted; `None` if all of it is.
    pub(super) quoted: Option<Vec<Range<usize>>>,
    /// The statements that supersede it, newest first.
    pub(super) newer: Vec<NewerStatement>,
    /// The files and commits that it names and that are not as they were.
    pub(super) files: Vec<FileState>,
}

impl Candidate {
    /// A record that is quoted whole.
    pub(super) fn new(record: StoredRecord, score: Option<f64>, hop: usize) -> Candidate {
        Candidate { record, score, hop, pinned: false, quoted: None, newer: Vec::new(), files: Vec::new() }
    }

    /// A record that is recalled always.
    pub(super) fn pinned(record: StoredRecord) -> Candidate {
        Candidate { pinned: true, ..Candidate::new(record, None, 0) }
    }

    /// Whether it is recalled only because it is recent.
    pub(super) fn is_recent(&self) -> bool {
        self.score.is_none() && !self.pinned
    }

    /// Quotes only these ranges of its text, with its id, by which the rest is found. Ranges outside the text
    /// are ignored.
    pub(super) fn quote(&mut self, ranges: Vec<Range<usize>>) {
        if search::quote(&mut self.record, &ranges) {
            self.quoted = Some(ranges);
        }
    }

    /// Puts a line before its text if something supersedes it, or a file that it names is not as it was.
    pub(super) fn mark(&mut self) {
        search::mark(&mut self.record, &self.files, self.newer.first());
    }

    /// The block in which it is recalled.
    pub(super) fn block(&self) -> Block {
        match self.record.kind {
            kind if kind == &MEMORY => Block::Memories,
            kind if kind == &DOCUMENT && self.record.members.has("covers") => Block::Archives,
            kind if kind == &DOCUMENT => Block::Documents,
            kind if kind == &ACTION => Block::Actions,
            _ => Block::Messages,
        }
    }
}

/// A fenced block of recalled records.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Block {
    Memories,
    Archives,
    Documents,
    Actions,
    Messages,
}

impl Block {
    /// All, in the order in which they stand.
    pub(super) const ALL: [Block; 5] =
        [Block::Memories, Block::Archives, Block::Documents, Block::Actions, Block::Messages];

    /// The note to the model about it; `of_messages` is that about messages.
    pub(super) fn note(self, of_messages: &str) -> &str {
        match self {
            Block::Memories => fence::MEMORY_NOTE,
            Block::Archives => fence::ARCHIVE_NOTE,
            Block::Documents => fence::DOCUMENT_NOTE,
            Block::Actions => fence::ACTION_NOTE,
            Block::Messages => of_messages,
        }
    }
}

/// The candidates in the order of their worth: the memories, the messages that are recalled always, the last
/// messages, newest first, then the related ones, best first, then those linked to these, and the documents,
/// which are longest.
#[derive(Clone, Default)]
pub struct Recalled {
    pub(super) candidates: Vec<Candidate>,
    pub(super) left_out: Vec<LeftOut>,
    /// The messages among which nothing was found.
    pub(super) considered: Option<Considered>,
    /// The reason why memory worked only in part.
    pub(super) degraded: Option<Degraded>,
    /// The steps for which there was no time.
    pub(super) missing: Vec<RecallStep>,
    /// The steps of the search for documents.
    pub(super) steps: Vec<Step>,
    /// Whether an earlier request of the turn decided it.
    pub(super) is_cached: bool,
}

impl Recalled {
    /// Nothing, for a reason.
    pub(super) fn degraded(why: Degraded) -> Recalled {
        Recalled { degraded: Some(why), ..Recalled::default() }
    }

    /// The same where the question's vector could not be made.
    pub fn without_meaning(mut self, error: Error) -> Recalled {
        self.degraded.get_or_insert(Degraded::EmbedderUnavailable(error));
        self.by_words()
    }

    /// The same, which says that it was found by words only.
    pub fn by_words(mut self) -> Recalled {
        self.add_missing(RecallStep::Meaning);
        self
    }

    /// The same where the rest is no longer awaited, for a reason.
    pub fn interrupted(self, why: Degraded) -> Recalled {
        Recalled { degraded: Some(why), ..self }
    }

    /// Adds a step for which there was no time.
    pub(super) fn add_missing(&mut self, step: RecallStep) {
        if !self.missing.contains(&step) {
            self.missing.push(step);
        }
    }
}

/// The number of hits that selective recall chooses from, for each that it may keep: the scores of the best
/// are more exact if more are compared.
pub(super) const CONSIDERED: usize = 3;
