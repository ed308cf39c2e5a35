//! A segment in memory. A thread of its own can build the segments of a batch while the records are inserted: to find the
//! words takes a third of the time of an import.

use super::super::terms;
use super::postings::{DocMeta, Postings};
use super::segment::SegmentWriter;
use rusqlite::Connection;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// The documents in order, and the posting list of each word.
#[derive(Default)]
pub(super) struct SegmentDraft {
    docs: Vec<DocMeta>,
    words: FxHashMap<Box<[u8]>, Postings>,
}

impl SegmentDraft {
    /// Adds the next document, whose length is not known yet, with its folded text.
    pub(super) fn add(&mut self, doc: DocMeta, folded: &str) {
        let (slot, mut length) = (self.docs.len() as u64, 0);
        for word in terms::words(folded) {
            length += 1;
            match self.words.get_mut(word.as_bytes()) {
                Some(postings) => postings.count(slot),
                None => self.words.entry(word.as_bytes().into()).or_default().count(slot),
            }
        }
        self.docs.push(DocMeta { length, ..doc });
    }

    /// The number of documents.
    pub(super) fn len(&self) -> usize {
        self.docs.len()
    }

    pub(super) fn write(self, connection: &Connection, collection: i64) -> rusqlite::Result<()> {
        if self.docs.is_empty() {
            return Ok(());
        }
        let mut words: Vec<(Box<[u8]>, Postings)> = self.words.into_iter().collect();
        words.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let mut writer = SegmentWriter::begin(connection, collection, &self.docs)?;
        for (word, mut postings) in words {
            postings.close();
            writer.add(word, postings)?;
        }
        writer.end()
    }
}

/// The segments of a batch, by collection.
pub(super) type Drafts = BTreeMap<i64, SegmentDraft>;

/// The number of documents that may wait for the thread.
const WAITING_DOCS: usize = 256;

/// Builds the segments of a batch in a thread.
pub(super) struct DraftBuilder {
    docs: SyncSender<QueuedDoc>,
    thread: JoinHandle<Drafts>,
}

/// A document that waits: its collection and its text.
struct QueuedDoc {
    collection: i64,
    doc: DocMeta,
    text: String,
}

impl DraftBuilder {
    /// Starts the thread; `None` if there can be none.
    pub(super) fn start() -> Option<DraftBuilder> {
        let (docs, received) = sync_channel::<QueuedDoc>(WAITING_DOCS);
        let build = move || {
            let mut drafts = Drafts::new();
            for QueuedDoc { collection, doc, text } in received {
                drafts.entry(collection).or_default().add(doc, &terms::fold(&text));
            }
            drafts
        };
        let thread = thread::Builder::new().spawn(build).ok()?;
        Some(DraftBuilder { docs, thread })
    }

    /// Adds the next document of a collection.
    pub(super) fn add(&self, collection: i64, doc: DocMeta, text: String) {
        // Only a panic ends the thread early; `finish` passes it on.
        self.docs.send(QueuedDoc { collection, doc, text }).ok();
    }

    /// Waits for the segments.
    pub(super) fn finish(self) -> Drafts {
        drop(self.docs);
        self.thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}
