//! The words of documents in memory, of which segments are made. A thread of its own can find those of a
//! batch while the records are inserted: to find the words takes a third of the time of an import.

use super::postings::Postings;
use super::segment_writer::SegmentWriter;
use crate::store::sqlite::record_row::DocMeta;
use crate::text::fold::fold;
use crate::text::terms;
use rusqlite::Connection;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Documents with the frequencies of their words.
#[derive(Default)]
pub(crate) struct Draft {
    /// The numbers of the words, from 0: of those that `as_number` can take, and of the others.
    short: FxHashMap<u128, u32>,
    long: FxHashMap<Box<[u8]>, u32>,
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
pub(crate) struct DraftDoc {
    pub(crate) meta: DocMeta,
    frequencies: Range<usize>,
}

impl Draft {
    /// Adds a document of a collection, whose length is not known yet, with its folded text.
    pub(crate) fn add(&mut self, collection: i64, doc: DocMeta, folded: &str) {
        let (first, mut length) = (self.frequencies.len(), 0);
        for word in terms::words(folded) {
            length += 1;
            let number = self.number(word);
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

    /// The number of a word, which a new one gets here.
    fn number(&mut self, word: &str) -> u32 {
        let new = self.words.len() as u32;
        let number = match as_number(word.as_bytes()) {
            Some(short) => *self.short.entry(short).or_insert(new),
            None => match self.long.get(word.as_bytes()) {
                Some(number) => *number,
                None => *self.long.entry(word.as_bytes().into()).or_insert(new),
            },
        };
        if number == new {
            self.words.push(Word { text: word.as_bytes().into(), last: usize::MAX });
        }
        number
    }

    /// The number of its first document.
    pub(crate) fn first(&self) -> Option<i64> {
        self.docs.values().filter_map(|docs| docs.first()).map(|doc| doc.meta.n).min()
    }

    /// The documents of a collection.
    pub(crate) fn docs(&self, collection: i64) -> &[DraftDoc] {
        self.docs.get(&collection).map_or(&[], Vec::as_slice)
    }

    /// Writes some of its documents, in the order of their numbers, as a segment of a collection or a pool.
    pub(crate) fn write(
        &self,
        connection: &Connection,
        collection: i64,
        docs: &[&DraftDoc],
    ) -> rusqlite::Result<()> {
        if docs.is_empty() {
            return Ok(());
        }
        let frequencies = |doc: &DraftDoc| self.frequencies[doc.frequencies.clone()].iter();
        let mut counts = vec![0; self.words.len()];
        for Frequency { word, .. } in docs.iter().copied().flat_map(frequencies) {
            counts[*word as usize] += 1;
        }
        let mut postings: Vec<Postings> = counts.iter().copied().map(Postings::with_capacity).collect();
        for (slot, doc) in (0..).zip(docs) {
            for Frequency { word, times } in frequencies(doc) {
                postings[*word as usize].push(slot, u64::from(*times));
            }
        }
        let text = |number: u32| &self.words[number as usize].text;
        let used = (0..).zip(&counts).filter(|(_, count)| **count > 0);
        let mut words: Vec<(u64, u32)> =
            used.map(|(number, _)| (first_bytes(text(number)), number)).collect();
        words.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| text(a.1).cmp(text(b.1))));
        let metas: Vec<DocMeta> = docs.iter().map(|doc| doc.meta).collect();
        let mut writer = SegmentWriter::begin(connection, collection, &metas)?;
        for (_, number) in words {
            writer.add(text(number).clone(), std::mem::take(&mut postings[number as usize]))?;
        }
        writer.end()
    }
}

/// A word of up to 16 bytes as a number, which is compared without another memory access. No word has a NUL.
fn as_number(word: &[u8]) -> Option<u128> {
    let length = word.len();
    Some(match (word.first_chunk(), word.last_chunk()) {
        // The first and the last eight bytes overlap, where they are the same.
        (Some(first), Some(last)) if length <= 16 => {
            let [first, last] = [first, last].map(|bytes| u128::from(u64::from_le_bytes(*bytes)));
            first | last << (8 * (length - 8))
        }
        (None, None) => word.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)).into(),
        _ => return None,
    })
}

/// The first eight bytes of a word as a number, in the order of words: most of them differ there, without a
/// look at their text.
fn first_bytes(word: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = word.len().min(bytes.len());
    bytes[..length].copy_from_slice(&word[..length]);
    u64::from_be_bytes(bytes)
}

/// The number of documents that are passed on to the thread at once, and how many times as many may wait for
/// it.
const PASSED_DOCS: usize = 64;
const WAITING: usize = 8;

/// Finds the words of a batch in a thread.
pub(crate) struct DraftBuilder {
    docs: SyncSender<Vec<QueuedDoc>>,
    /// The documents that are not passed on yet.
    pending: Vec<QueuedDoc>,
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
    pub(crate) fn start() -> Option<DraftBuilder> {
        let (docs, received) = sync_channel::<Vec<QueuedDoc>>(WAITING);
        let build = move || {
            let mut draft = Draft::default();
            for QueuedDoc { collection, doc, text } in received.into_iter().flatten() {
                draft.add(collection, doc, &fold(&text));
            }
            draft
        };
        let thread = thread::Builder::new().spawn(build).ok()?;
        Some(DraftBuilder { docs, pending: Vec::with_capacity(PASSED_DOCS), thread })
    }

    /// Adds the next document of a collection.
    pub(crate) fn add(&mut self, collection: i64, doc: DocMeta, text: String) {
        self.pending.push(QueuedDoc { collection, doc, text });
        if self.pending.len() == PASSED_DOCS {
            self.pass_on();
        }
    }

    fn pass_on(&mut self) {
        // Only a panic ends the thread early; `finish` passes it on.
        self.docs.send(std::mem::replace(&mut self.pending, Vec::with_capacity(PASSED_DOCS))).ok();
    }

    /// Waits for the words.
    pub(crate) fn finish(mut self) -> Draft {
        self.pass_on();
        drop(self.docs);
        self.thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_every_length_have_numbers_of_their_own() {
        let mut draft = Draft::default();
        let words: Vec<String> = ["a", "ab", "é1"]
            .into_iter()
            .flat_map(|letters| (1..40).map(|length| letters.chars().cycle().take(length).collect()))
            .collect();
        let numbers: Vec<u32> = words.iter().map(|word| draft.number(word)).collect();
        for (word, number) in words.iter().zip(&numbers) {
            assert_eq!(draft.number(word), *number, "{word}");
            assert_eq!(&*draft.words[*number as usize].text, word.as_bytes());
        }
    }
}
