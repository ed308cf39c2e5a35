//! The words of documents in memory, of which segments are made. A thread of its own can find those of a batch while the
//! records are inserted: to find the words takes a third of the time of an import.

use super::super::terms;
use super::postings::{DocMeta, Postings};
use super::segment::SegmentWriter;
use rusqlite::Connection;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Documents with the frequencies of their words.
#[derive(Default)]
pub(super) struct Draft {
    /// The numbers of the words, from 0.
    numbers: FxHashMap<Box<[u8]>, u32>,
    words: Vec<Word>,
    /// For each document, its words, each once.
    frequencies: Vec<Frequency>,
    /// The documents of each collection, in the order in which they were added.
    docs: BTreeMap<i64, Vec<DraftDoc>>,
}

struct Word {
    text: Box<[u8]>,
    /// Its last place in the frequencies.
    last: usize,
}

struct Frequency {
    word: u32,
    times: u32,
}

/// A document, and its part of the frequencies.
pub(super) struct DraftDoc {
    pub(super) meta: DocMeta,
    frequencies: Range<usize>,
}

impl Draft {
    /// Adds a document of a collection, whose length is not known yet, with its folded text.
    pub(super) fn add(&mut self, collection: i64, doc: DocMeta, folded: &str) {
        let (first, mut length) = (self.frequencies.len(), 0);
        for word in terms::words(folded) {
            length += 1;
            let number = match self.numbers.get(word.as_bytes()) {
                Some(number) => *number,
                None => self.number(word),
            };
            let Word { last, .. } = &mut self.words[number as usize];
            match self.frequencies.get_mut(*last).filter(|_| *last >= first) {
                Some(frequency) => frequency.times += 1,
                None => {
                    *last = self.frequencies.len();
                    self.frequencies.push(Frequency { word: number, times: 1 });
                }
            }
        }
        let doc = DraftDoc { meta: DocMeta { length, ..doc }, frequencies: first..self.frequencies.len() };
        self.docs.entry(collection).or_default().push(doc);
    }

    /// Gives a new word a number.
    fn number(&mut self, word: &str) -> u32 {
        let (number, text): (_, Box<[u8]>) = (self.words.len() as u32, word.as_bytes().into());
        self.words.push(Word { text: text.clone(), last: usize::MAX });
        self.numbers.insert(text, number);
        number
    }

    /// The number of its first document.
    pub(super) fn first(&self) -> Option<i64> {
        self.docs.values().filter_map(|docs| docs.first()).map(|doc| doc.meta.n).min()
    }

    /// The documents of a collection.
    pub(super) fn docs(&self, collection: i64) -> &[DraftDoc] {
        self.docs.get(&collection).map_or(&[], Vec::as_slice)
    }

    /// Writes some of its documents, in the order of their numbers, as a segment of a collection or a pool.
    pub(super) fn write(
        &self,
        connection: &Connection,
        collection: i64,
        docs: &[&DraftDoc],
    ) -> rusqlite::Result<()> {
        if docs.is_empty() {
            return Ok(());
        }
        let mut postings: FxHashMap<u32, Postings> = FxHashMap::default();
        for (slot, doc) in (0..).zip(docs) {
            for Frequency { word, times } in &self.frequencies[doc.frequencies.clone()] {
                postings.entry(*word).or_default().push(slot, u64::from(*times));
            }
        }
        let text = |number: u32| &self.words[number as usize].text;
        let mut words: Vec<(u32, Postings)> = postings.into_iter().collect();
        words.sort_unstable_by(|a, b| text(a.0).cmp(text(b.0)));
        let metas: Vec<DocMeta> = docs.iter().map(|doc| doc.meta).collect();
        let mut writer = SegmentWriter::begin(connection, collection, &metas)?;
        for (number, postings) in words {
            writer.add(text(number).clone(), postings)?;
        }
        writer.end()
    }
}

/// The number of documents that may wait for the thread.
const WAITING_DOCS: usize = 256;

/// Finds the words of a batch in a thread.
pub(super) struct DraftBuilder {
    docs: SyncSender<QueuedDoc>,
    thread: JoinHandle<Draft>,
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
            let mut draft = Draft::default();
            for QueuedDoc { collection, doc, text } in received {
                draft.add(collection, doc, &terms::fold(&text));
            }
            draft
        };
        let thread = thread::Builder::new().spawn(build).ok()?;
        Some(DraftBuilder { docs, thread })
    }

    /// Adds the next document of a collection.
    pub(super) fn add(&self, collection: i64, doc: DocMeta, text: String) {
        // Only a panic ends the thread early; `finish` passes it on.
        self.docs.send(QueuedDoc { collection, doc, text }).ok();
    }

    /// Waits for the words.
    pub(super) fn finish(self) -> Draft {
        drop(self.docs);
        self.thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}
