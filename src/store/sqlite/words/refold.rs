//! Brings the words of segments from one folding to the next, some documents at a time, in place: where a
//! text has other words now, its old words are taken out of their posting lists, and the new ones are added.
//! Most texts have the same words as before, and cost no more than to be read.
//!
//! The fact `REFOLD_FROM` is the number of the first segment that may have words of an earlier folding;
//! without it none has. A segment knows how many of its first slots are of the next folding: it can be
//! searched, and records can be removed from it, at any time.

use super::segment::Segment;
use super::segment_change::{ChangedWords, WordBalance};
use crate::record::{RecordKind, TextSource, kind_named};
use crate::store::languages;
use crate::store::sqlite::facts;
use crate::store::sqlite::record_columns;
use crate::text::fold::fold_as;
use crate::text::language_detection::ToldLanguages;
use crate::text::terms;
use rusqlite::{Connection, OptionalExtension};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The name of the fact, which the migration sets that is due to a change of the folding.
pub(crate) const REFOLD_FROM: &str = "refold_from";

/// The number of documents whose words are changed together, and the bytes of their texts after which no
/// other is read: their posting lists are written once.
const DOCS: usize = 64;
const TEXT_BYTES: usize = 64 << 10;

/// The texts of which one tells its language: a few tell those of many.
const TOLD_EVERY: usize = 4;

/// Refolds documents until `time` is over, at least a few; must be called within a transaction that writes.
pub(crate) fn resume(connection: &Connection, time: Duration) -> rusqlite::Result<()> {
    let Some(mut from) = first(connection)? else { return Ok(()) };
    let begin = Instant::now();
    while let Some((segment, collection)) = Segment::outdated(connection, from)? {
        from = segment.n;
        let mut refolding = Refolding::begin(connection, segment, collection)?;
        while refolding.step()? && begin.elapsed() < time {}
        languages::note(std::mem::take(&mut refolding.languages), &mut &*connection, |_| Ok(Vec::new()))?;
        let is_whole = refolding.end()?;
        if begin.elapsed() >= time {
            let next = if is_whole { from + 1 } else { from };
            return facts::set(connection, REFOLD_FROM, Some(&next.to_string()));
        }
    }
    facts::set(connection, REFOLD_FROM, None)
}

/// The number of documents, counted once in each segment, whose words are of an earlier folding.
pub(crate) fn remaining(connection: &Connection) -> rusqlite::Result<u64> {
    first(connection)?.map_or(Ok(0), |from| Segment::outdated_slots(connection, from))
}

/// The first segment that may have words of an earlier folding; the first of all if the fact is no number.
fn first(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    Ok(facts::get(connection, REFOLD_FROM)?.map(|from| from.parse().unwrap_or_default()))
}

/// A segment of which some documents are refolded.
struct Refolding<'a> {
    connection: &'a Connection,
    segment: Segment,
    kind: Option<&'static RecordKind>,
    /// The slots that do not count in the length of the segment.
    removed: Vec<u64>,
    /// The number of slots that are of the next folding.
    refolded: usize,
    /// The change of the length of the segment.
    length: i64,
    /// The languages of its texts, which an earlier release did not note.
    languages: ToldLanguages,
    balance: WordBalance,
}

impl<'a> Refolding<'a> {
    fn begin(connection: &'a Connection, segment: Segment, collection: i64) -> rusqlite::Result<Self> {
        let sql = "SELECT kind FROM collection WHERE n = ?";
        let name: String = connection.prepare_cached(sql)?.query_row([collection], |row| row.get(0))?;
        Ok(Refolding {
            connection,
            // A pool has the name of its kind at the beginning of its own.
            kind: name.split('/').next().and_then(kind_named),
            removed: segment.removed_slots(connection)?,
            refolded: segment.refolded,
            segment,
            length: 0,
            languages: ToldLanguages::default(),
            balance: WordBalance::default(),
        })
    }

    /// Refolds the next documents; returns whether there are more.
    fn step(&mut self) -> rusqlite::Result<bool> {
        let slots = self.refolded..self.segment.slots.min(self.refolded + DOCS);
        let (mut words, mut lengths, mut bytes) = (ChangedWords::new(), BTreeMap::new(), 0);
        for (slot, doc) in slots.clone().zip(self.segment.docs_in(self.connection, slots)?) {
            if bytes >= TEXT_BYTES {
                break;
            }
            self.refolded = slot + 1;
            // The text of a removed document is gone, and its words with it.
            let Some(text) = self.text(doc.n)? else { continue };
            bytes += text.len();
            if slot % TOLD_EVERY == 0 {
                self.languages.add(&text);
            }
            let length = changed_words(&text, self.segment.folding, slot as u64, &mut words);
            if let Some(length) = length.filter(|length| *length != doc.length) {
                lengths.insert(slot, length);
                if self.removed.binary_search(&(slot as u64)).is_err() {
                    self.length += i64::from(length) - i64::from(doc.length);
                }
            }
        }
        self.segment.change_postings(self.connection, words, &mut self.balance)?;
        self.segment.set_lengths(self.connection, &lengths)?;
        Ok(self.refolded < self.segment.slots)
    }

    /// The indexed text of a record, if it is there.
    fn text(&self, n: i64) -> rusqlite::Result<Option<String>> {
        match self.kind.map(|kind| kind.indexed) {
            Some(TextSource::Text) => {
                let sql = "SELECT text FROM record WHERE n = ?";
                self.connection.prepare_cached(sql)?.query_row([n], |row| row.get(0)).optional()
            }
            None => Ok(None),
            Some(_) => {
                let record = record_columns::nth(self.connection, n)?;
                Ok(record.and_then(|record| record.indexed_text().map(Cow::into_owned)))
            }
        }
    }

    /// Notes what is done; returns whether that is all of the segment.
    fn end(self) -> rusqlite::Result<bool> {
        self.segment.change_words(self.connection, &self.balance)?;
        let is_whole = self.refolded >= self.segment.slots;
        let folding = self.segment.folding;
        let (folding, refolded) = if is_whole { (folding + 1, 0) } else { (folding, self.refolded) };
        self.segment.set_folding(self.connection, folding, refolded, self.length)?;
        Ok(is_whole)
    }
}

/// Adds the words of a document that it holds more or less often by the folding after `folding` than by that;
/// returns its length in words, unless both give the same text.
fn changed_words(text: &str, folding: i64, slot: u64, words: &mut ChangedWords) -> Option<u32> {
    if text.is_ascii() {
        return None;
    }
    let [old, new] = [folding, folding + 1].map(|folding| fold_as(folding, text));
    if old == new {
        return None;
    }
    let mut times: FxHashMap<&str, [u64; 2]> = FxHashMap::default();
    terms::words(&old).for_each(|word| times.entry(word).or_default()[0] += 1);
    let mut length = 0;
    for word in terms::words(&new) {
        length += 1;
        times.entry(word).or_default()[1] += 1;
    }
    for (word, [before, after]) in times {
        if before != after {
            words.entry(word.as_bytes().to_vec()).or_default().insert(slot, after);
        }
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::TombstoneState;
    use crate::record::{Content, Draft as NewRecord, DraftDefaults, Record, Role, Scopes, StoredRecord};
    use crate::store::api::{OpenMode, Records, Store};
    use crate::store::forgetting::WriteRules;
    use crate::store::maintenance::Maintenance;
    use crate::store::select::Select;
    use crate::store::sqlite::database::Sqlite;
    use crate::store::sqlite::words::segment_draft::Draft;
    use crate::store::{Derived, Removal};
    use crate::text::fold::FOLDING;
    use crate::text::terms::{Occur, Term};
    use std::collections::BTreeSet;

    /// Words whose letters are of one folding or of two, each with a question that finds it by either.
    const WORDS: [(&str, &str); 7] = [
        ("Straße", "Straße"),
        ("йод", "йод"),
        ("أحمد", "أحمد"),
        ("Gewächs\u{ad}haus", "haus"),
        ("wall", "wall"),
        ("шум", "шум"),
        ("été", "ete"),
    ];

    /// Record `n`, of an instance of its own or of one that many share, with some of the words.
    fn record(n: usize) -> Record {
        let words = (0..WORDS.len()).filter(|at| n.is_multiple_of(at + 2)).map(|at| WORDS[at].0);
        let text = format!("x{n} {} {}", words.collect::<Vec<_>>().join(" "), "Straße ".repeat(n % 3));
        let draft = NewRecord { id: Some(id(n)), ..NewRecord::message(Role::User, Content::Text(text)) };
        let instance = if n.is_multiple_of(2) { "many".to_owned() } else { format!("few {}", n % 31) };
        let defaults = DraftDefaults {
            partition: Some("p".to_owned()),
            instance: Some(instance),
            trace_id: format!("t{n}"),
            timestamp: n as i64,
            seq: 0,
        };
        Record::Stored(draft.complete(&defaults).unwrap())
    }

    fn id(n: usize) -> String {
        format!("r{n}")
    }

    /// Gives all segments the words of the first folding, as an earlier release had them.
    fn outdate(connection: &Connection) {
        let sql = "SELECT collection FROM segment GROUP BY collection";
        let collections: Vec<i64> = connection
            .prepare(sql)
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        for collection in collections {
            for segment in Segment::list(connection, collection).unwrap() {
                let removed = segment.removed_slots(connection).unwrap();
                let mut draft = Draft::default();
                for (slot, doc) in (0..).zip(segment.all_docs(connection).unwrap()) {
                    if removed.binary_search(&slot).is_err() {
                        let text = record_columns::nth(connection, doc.n).unwrap().unwrap().text;
                        draft.add(collection, doc, &fold_as(1, &text));
                    }
                }
                segment.delete(connection).unwrap();
                draft
                    .write(connection, collection, &draft.docs(collection).iter().collect::<Vec<_>>())
                    .unwrap();
            }
        }
        connection.execute("UPDATE segment SET folding = 1", []).unwrap();
        facts::set(connection, REFOLD_FROM, Some("0")).unwrap();
    }

    /// Fails unless every segment has the words of its documents by the foldings of their slots, and no
    /// other.
    fn assert_sound(connection: &Connection) {
        let segments = "SELECT n, collection FROM segment";
        let of_numbers = |row: &rusqlite::Row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
        let segments: Vec<_> = connection
            .prepare(segments)
            .unwrap()
            .query_map([], of_numbers)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        for (n, collection) in segments {
            let segment =
                Segment::list(connection, collection).unwrap().into_iter().find(|one| one.n == n).unwrap();
            let removed = segment.removed_slots(connection).unwrap();
            let mut expected: BTreeMap<String, BTreeMap<u64, u64>> = BTreeMap::new();
            let (mut docs, mut length) = (0, 0);
            for (slot, doc) in (0..).zip(segment.all_docs(connection).unwrap()) {
                let Some(record) = record_columns::nth(connection, doc.n).unwrap() else { continue };
                let folded = fold_as(segment.folding_of(slot), &record.text);
                assert_eq!(doc.length as usize, terms::words(&folded).count(), "{}", record.text);
                for word in terms::words(&folded) {
                    *expected.entry(word.to_owned()).or_default().entry(slot).or_default() += 1;
                }
                if removed.binary_search(&slot).is_err() {
                    (docs, length) = (docs + 1, length + i64::from(doc.length));
                }
            }
            assert_eq!((segment.docs, segment.length), (docs, length));
            let sql = "SELECT group_concat(CAST(words AS TEXT), '') FROM segment_words WHERE n >> 20 = ?";
            let listed: String = connection.query_row(sql, [n], |row| row.get(0)).unwrap();
            let mut listed: Vec<&str> = listed.split('\n').filter(|word| !word.is_empty()).collect();
            listed.sort_unstable();
            assert!(listed.into_iter().eq(expected.keys()));
            for (word, slots) in expected {
                let mut found = BTreeMap::new();
                let all = Segment::list(connection, collection)
                    .unwrap()
                    .into_iter()
                    .find(|one| one.n == n)
                    .unwrap();
                all.postings(connection, word.as_bytes(), |slot, times| {
                    found.insert(slot as u64, times);
                })
                .unwrap();
                assert_eq!(found, slots, "{word}");
            }
        }
    }

    /// Fails unless each question finds the records with its word, in all scopes and in one.
    fn assert_found(store: &mut Sqlite, live: &BTreeSet<usize>) {
        let all: Vec<StoredRecord> = live.iter().filter_map(|n| record(*n).stored().cloned()).collect();
        for scopes in [Scopes::All, Scopes::Partition("p".to_owned()), Scopes::One(all[0].scope.clone())] {
            for (word, question) in WORDS {
                let mut found = BTreeSet::new();
                let which = Select::messages(scopes.clone());
                let mut visit = |hit: crate::record::Hit| {
                    found.insert(hit.record.id.clone());
                    Ok(())
                };
                store
                    .visit_found(&Term::parse(question), Occur::All, &which, usize::MAX, &mut visit)
                    .unwrap();
                let holds =
                    |record: &&StoredRecord| record.text.contains(word) && scopes.contains(&record.scope);
                let expected: BTreeSet<String> =
                    all.iter().filter(holds).map(|record| record.id.clone()).collect();
                assert_eq!(found, expected, "{question}");
            }
        }
    }

    #[test]
    fn words_are_refolded_while_records_come_and_go() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Sqlite::open(&directory.path().join("store.db"), OpenMode::Create).unwrap();
        let mut live: BTreeSet<usize> = (0..900).collect();
        let records: Vec<Record> = live.iter().map(|n| record(*n)).collect();
        store.write(&records, WriteRules::KEEP_OUT).unwrap();
        outdate(&store.connection);
        assert!(store.outdated_words().unwrap() >= 900);
        assert_sound(&store.connection);
        assert_found(&mut store, &live);
        let mut steps = 0;
        while store.outdated_words().unwrap() > 0 {
            let transaction = store.connection.transaction().unwrap();
            resume(&transaction, Duration::ZERO).unwrap();
            transaction.commit().unwrap();
            assert_sound(&store.connection);
            // Some that are refolded go, and some that are not.
            let gone: Vec<String> = [steps * 40, steps * 40 + 1, 899 - steps * 7]
                .into_iter()
                .filter(|n| live.remove(n))
                .map(id)
                .collect();
            let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
            store.remove(Removal::Records(&gone, TombstoneState::Forgotten), 2000).unwrap();
            // A small instance grows, so that its records leave the segments of the pool.
            if steps == 3 {
                let new: Vec<usize> = (0..300).map(|n| 1001 + 62 * n).collect();
                let records: Vec<Record> = new.iter().map(|n| record(*n)).collect();
                let sql = "SELECT value FROM fact WHERE name = 'refold_from'";
                let from: String = store.connection.query_row(sql, [], |row| row.get(0)).unwrap();
                facts::set(&store.connection, REFOLD_FROM, None).unwrap();
                store.write(&records, WriteRules::KEEP_OUT).unwrap();
                facts::set(&store.connection, REFOLD_FROM, Some(&from)).unwrap();
                live.extend(new);
            }
            assert_sound(&store.connection);
            assert_found(&mut store, &live);
            steps += 1;
        }
        assert!(steps > 10);
        assert_found(&mut store, &live);
        let sql = "SELECT count(*) FROM segment WHERE folding <> ? OR refolded <> 0";
        assert_eq!(store.connection.query_row(sql, [FOLDING], |row| row.get::<_, i64>(0)).unwrap(), 0);
        assert_eq!(store.update_words().unwrap(), 0);
        outdate(&store.connection);
        store.repair(Derived::All).unwrap();
        assert_eq!(store.outdated_words().unwrap(), 0);
        assert_sound(&store.connection);
    }
}
