//! The word index, in a few parts a scope. A part covers some thousands of messages: which they are, how long, and
//! what a selection asks for; all their words in one block that can be searched for a piece of a word at the speed of
//! memory; and for each word the messages that hold it and how often. The newest messages of a scope are in
//! no part yet: a search reads them themselves, so that storing one message costs the index nothing.

use super::super::words;
use super::select::bit;
use rusqlite::{Connection, Rows, params};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::OnceLock;

/// So many messages may be in no part.
const TAIL: i64 = 1000;
/// So many parts a scope has, those of at least `LARGE` messages aside, before some are made one.
const PARTS: usize = 6;
/// A part of so many messages stays as it is: making a larger one would keep a writer for seconds.
const LARGE: i64 = 250_000;

/// Takes note of new messages in a scope; when enough have come they become a part.
pub(super) fn grow(connection: &Connection, scope: i64, count: i64) -> rusqlite::Result<()> {
    let sql = "UPDATE scope SET tail = tail + ? WHERE n = ? RETURNING tail";
    let tail: i64 = connection.prepare_cached(sql)?.query_row([count, scope], |row| row.get(0))?;
    if tail < TAIL {
        return Ok(());
    }
    pack(connection, scope)?;
    let small = newest_run(connection, scope)?;
    if small.len() > 1 { merge(connection, scope, &small) } else { Ok(()) }
}

/// Makes a part of the messages that are in none.
fn pack(connection: &Connection, scope: i64) -> rusqlite::Result<()> {
    gather(connection, scope)?.write(connection, scope)?;
    let sql = "UPDATE scope SET tail = 0, packed = (SELECT max(n) FROM record) WHERE n = ?";
    connection.prepare_cached(sql)?.execute([scope]).map(drop)
}

/// Makes the index of a scope anew.
pub(super) fn make(connection: &Connection, scope: i64) -> rusqlite::Result<()> {
    let sql = "DELETE FROM posting WHERE part IN (SELECT n FROM part WHERE scope = ?)";
    connection.prepare_cached(sql)?.execute([scope])?;
    connection.prepare_cached("DELETE FROM part WHERE scope = ?")?.execute([scope])?;
    connection.prepare_cached("UPDATE scope SET packed = 0 WHERE n = ?")?.execute([scope])?;
    pack(connection, scope)
}

/// The parts to be made one, if the scope has too many: the newest, and those before it, as long as each is
/// no larger than all after it together. So a message is written anew only as often as the logarithm of
/// their number, and the parts stay in the order of their messages.
fn newest_run(connection: &Connection, scope: i64) -> rusqlite::Result<Vec<i64>> {
    let sql = "SELECT n, docs FROM part WHERE scope = ? AND docs < ? ORDER BY n DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([scope, LARGE], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let parts: Vec<(i64, i64)> = rows.collect::<Result<_, _>>()?;
    if parts.len() <= PARTS {
        return Ok(Vec::new());
    }
    let mut together = 0;
    let mut run: Vec<i64> = Vec::new();
    for (n, docs) in parts {
        if !run.is_empty() && docs > together {
            break;
        }
        together += docs;
        run.push(n);
    }
    run.reverse();
    Ok(run)
}

/// Calls `visit` with each message of a scope that is in no part, its length left open, and its folded text.
pub(super) fn tail(
    connection: &Connection,
    scope: i64,
    mut visit: impl FnMut(Place, &str),
) -> rusqlite::Result<()> {
    let sql = "SELECT n, timestamp, role, content FROM record INDEXED BY record_words
               WHERE kind = 'message' AND scope = ?1 AND n > (SELECT packed FROM scope WHERE n = ?1) ORDER BY n";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([scope])?;
    while let Some(row) = rows.next()? {
        let place = Place { n: row.get(0)?, timestamp: row.get(1)?, role: bit(row.get(2)?), length: 0 };
        visit(place, &words::fold(row.get_ref(3)?.as_str()?));
    }
    Ok(())
}

/// What is to become a part: the messages in order, and each word's postings.
#[derive(Default)]
struct Draft {
    docs: u64,
    places: Places,
    words: FxHashMap<Box<[u8]>, Postings>,
}

/// What is known of each message, as differences and varints: its number; its time, the sign of the difference in the
/// lowest bit; its length and, in the lowest two bits, its role.
#[derive(Default)]
struct Places {
    bytes: Vec<u8>,
    /// Of all messages together.
    length: u64,
    n: i64,
    timestamp: i64,
}

impl Places {
    fn push(&mut self, Place { n, timestamp, length, role }: Place) {
        self.length += u64::from(length);
        put(&mut self.bytes, (n - self.n).unsigned_abs());
        let later = timestamp.wrapping_sub(self.timestamp);
        put(&mut self.bytes, (later << 1 ^ later >> 63) as u64);
        put(&mut self.bytes, u64::from(length) << 2 | u64::from(role.trailing_zeros() & 3));
        (self.n, self.timestamp) = (n, timestamp);
    }

    /// Takes the next one off the front of what was pushed.
    fn next(&mut self, bytes: &mut &[u8]) -> Option<Place> {
        let (step, later, rest) = (take(bytes)?, take(bytes)?, take(bytes)?);
        self.n += step as i64;
        self.timestamp = self.timestamp.wrapping_add((later >> 1) as i64 ^ -((later & 1) as i64));
        let (length, role) = ((rest >> 2) as u32, 1 << (rest & 3));
        Some(Place { n: self.n, timestamp: self.timestamp, length, role })
    }
}

/// The messages that hold a word, by their place in the part, and how often; as differences and varints.
#[derive(Default)]
struct Postings {
    bytes: Vec<u8>,
    /// One more than the place that was written last.
    next: u64,
    /// The place that is being counted, and its count.
    open: (u64, u64),
}

impl Postings {
    fn count(&mut self, place: u64) {
        if self.open.1 > 0 && self.open.0 != place {
            self.close();
        }
        self.open = (place, self.open.1 + 1);
    }

    fn push(&mut self, place: u64, times: u64) {
        put(&mut self.bytes, place - self.next);
        put(&mut self.bytes, times);
        self.next = place + 1;
    }

    fn close(&mut self) {
        let (place, times) = std::mem::take(&mut self.open);
        if times > 0 {
            self.push(place, times);
        }
    }
}

/// The messages of a scope that are in no part yet.
fn gather(connection: &Connection, scope: i64) -> rusqlite::Result<Draft> {
    let mut draft = Draft::default();
    tail(connection, scope, |place, folded| {
        let mut length = 0;
        for word in words::words(folded) {
            length += 1;
            match draft.words.get_mut(word.as_bytes()) {
                Some(postings) => postings.count(draft.docs),
                None => draft.words.entry(word.as_bytes().into()).or_default().count(draft.docs),
            }
        }
        draft.places.push(Place { length, ..place });
        draft.docs += 1;
    })?;
    draft.words.values_mut().for_each(Postings::close);
    Ok(draft)
}

impl Draft {
    fn write(self, connection: &Connection, scope: i64) -> rusqlite::Result<()> {
        let mut words: Vec<(Box<[u8]>, Postings)> = self.words.into_iter().collect();
        words.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let mut writer = Writer::begin(connection, scope, self.docs, &self.places)?;
        words.into_iter().try_for_each(|(word, postings)| writer.add(&word, &postings))?;
        writer.end()
    }
}

/// Writes a part, word by word in order.
struct Writer<'a> {
    connection: &'a Connection,
    part: i64,
    words: Vec<u8>,
}

impl<'a> Writer<'a> {
    fn begin(
        connection: &'a Connection,
        scope: i64,
        docs: u64,
        places: &Places,
    ) -> rusqlite::Result<Writer<'a>> {
        let sql = "INSERT INTO part (scope, docs, length, places, words) VALUES (?, ?, ?, ?, x'')";
        let row = params![scope, docs as i64, places.length as i64, places.bytes];
        let part = connection.prepare_cached(sql)?.insert(row)?;
        Ok(Writer { connection, part, words: vec![b'\n'] })
    }

    fn add(&mut self, word: &[u8], postings: &Postings) -> rusqlite::Result<()> {
        self.words.extend_from_slice(word);
        self.words.push(b'\n');
        let sql = "INSERT INTO posting (part, word, docs) VALUES (?, ?, ?)";
        self.connection.prepare_cached(sql)?.execute(params![self.part, word, postings.bytes]).map(drop)
    }

    fn end(self) -> rusqlite::Result<()> {
        let sql = "UPDATE part SET words = ? WHERE n = ?";
        self.connection.prepare_cached(sql)?.execute(params![self.words, self.part]).map(drop)
    }
}

/// Makes one part of several that follow each other; their words are read side by side.
fn merge(connection: &Connection, scope: i64, parts: &[i64]) -> rusqlite::Result<()> {
    let mut places = Places::default();
    let mut docs = 0;
    let mut offsets = Vec::new();
    for n in parts {
        let part = Part::read(connection, *n)?;
        part.places().for_each(|place| places.push(place));
        offsets.push(docs);
        docs += part.docs as u64;
    }
    let sql = "SELECT word, docs FROM posting WHERE part = ? ORDER BY word";
    let mut statements =
        parts.iter().map(|_| connection.prepare_cached(sql)).collect::<Result<Vec<_>, _>>()?;
    let mut streams = Vec::new();
    for ((statement, n), offset) in statements.iter_mut().zip(parts).zip(offsets) {
        streams.push(Stream::begin(statement.query([n])?, offset)?);
    }
    let mut writer = Writer::begin(connection, scope, docs, &places)?;
    while let Some(word) = streams.iter().filter_map(|stream| stream.word.clone()).min() {
        let mut postings = Postings::default();
        for stream in streams.iter_mut().filter(|stream| stream.word.as_ref() == Some(&word)) {
            decode(&stream.docs, |place, times| postings.push(place + stream.offset, times));
            stream.advance()?;
        }
        writer.add(&word, &postings)?;
    }
    writer.end()?;
    for n in parts {
        connection.prepare_cached("DELETE FROM posting WHERE part = ?")?.execute([n])?;
        connection.prepare_cached("DELETE FROM part WHERE n = ?")?.execute([n])?;
    }
    Ok(())
}

/// The words of a part in order, and where its messages lie in the new one.
struct Stream<'a> {
    rows: Rows<'a>,
    offset: u64,
    word: Option<Vec<u8>>,
    docs: Vec<u8>,
}

impl<'a> Stream<'a> {
    fn begin(rows: Rows<'a>, offset: u64) -> rusqlite::Result<Stream<'a>> {
        let mut stream = Stream { rows, offset, word: None, docs: Vec::new() };
        stream.advance()?;
        Ok(stream)
    }

    fn advance(&mut self) -> rusqlite::Result<()> {
        self.word = None;
        if let Some(row) = self.rows.next()? {
            (self.word, self.docs) = (Some(row.get(0)?), row.get(1)?);
        }
        Ok(())
    }
}

/// A message in a part.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) n: i64,
    pub(super) timestamp: i64,
    /// In words.
    pub(super) length: u32,
    /// The `bit` of its role.
    pub(super) role: u8,
}

/// A part as it is searched: in the bytes that are stored, since most searches need few of them.
pub(super) struct Part {
    n: i64,
    /// How many messages it covers.
    pub(super) docs: usize,
    /// In words, all of them together.
    pub(super) length: i64,
    places: Vec<u8>,
    spread: OnceLock<Vec<Place>>,
    /// All words, each between line ends.
    words: Vec<u8>,
}

impl Part {
    /// The parts of a scope; of those that are known there is no need to read them: a part never changes.
    pub(super) fn of_scope(
        connection: &Connection,
        scope: i64,
        known: &[Arc<Part>],
    ) -> rusqlite::Result<Vec<Arc<Part>>> {
        let sql = "SELECT n FROM part WHERE scope = ? ORDER BY n";
        let parts: Vec<i64> = connection
            .prepare_cached(sql)?
            .query_map([scope], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        let part = |n| match known.iter().find(|part| part.n == n) {
            Some(part) => Ok(Arc::clone(part)),
            None => Part::read(connection, n).map(Arc::new),
        };
        parts.into_iter().map(part).collect()
    }

    fn read(connection: &Connection, n: i64) -> rusqlite::Result<Part> {
        let (docs, length): (i64, _) = connection
            .prepare_cached("SELECT docs, length FROM part WHERE n = ?")?
            .query_row([n], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let docs = usize::try_from(docs).unwrap_or_default();
        let places = blob(connection, "places", n)?;
        Ok(Part { n, docs, length, places, spread: OnceLock::new(), words: blob(connection, "words", n)? })
    }

    /// Reads its messages once for all, for who will ask for many of them.
    pub(super) fn spread(&self) {
        self.spread.get_or_init(|| self.places().collect());
    }

    /// Its messages, in order.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        let (mut bytes, mut last) = (&self.places[..], Places::default());
        let mut spread = self.spread.get().map(|all| all.iter());
        std::iter::from_fn(move || {
            if let Some(all) = &mut spread {
                return all.next().copied();
            }
            last.next(&mut bytes)
        })
    }

    /// The words that hold a piece, each once; at most one more than `many`.
    pub(super) fn words_with(&self, piece: &str, many: usize) -> Vec<&[u8]> {
        let mut found: Vec<&[u8]> = Vec::new();
        let mut end = 0;
        for at in memchr::memmem::find_iter(&self.words, piece) {
            if at < end {
                continue;
            }
            if found.len() > many {
                break;
            }
            let begin = memchr::memrchr(b'\n', &self.words[..at]).map_or(0, |before| before + 1);
            end = at + memchr::memchr(b'\n', &self.words[at..]).unwrap_or(self.words.len() - at);
            found.push(&self.words[begin..end]);
        }
        found
    }

    /// How many messages hold a word.
    pub(super) fn holders(&self, connection: &Connection, word: &[u8]) -> rusqlite::Result<usize> {
        let mut statement =
            connection.prepare_cached("SELECT docs FROM posting WHERE part = ? AND word = ?")?;
        let mut rows = statement.query(params![self.n, word])?;
        let Some(row) = rows.next()? else { return Ok(0) };
        // Each is two numbers, whose last bytes have no highest bit.
        Ok(row.get_ref(0)?.as_blob()?.iter().filter(|byte| **byte < 0x80).count() / 2)
    }

    /// Calls `visit` with each message that holds a word, where it stands in the part, and how often it does.
    pub(super) fn postings(
        &self,
        connection: &Connection,
        word: &[u8],
        mut visit: impl FnMut(usize, Place, u64),
    ) -> rusqlite::Result<()> {
        let mut statement =
            connection.prepare_cached("SELECT docs FROM posting WHERE part = ? AND word = ?")?;
        let mut rows = statement.query(params![self.n, word])?;
        while let Some(row) = rows.next()? {
            let (mut places, mut next) = (self.places(), 0);
            decode(row.get_ref(0)?.as_blob()?, |at, times| {
                let at = usize::try_from(at).unwrap_or(usize::MAX);
                let place = match self.spread.get() {
                    Some(all) => all.get(at).copied(),
                    None => places.nth(at - next),
                };
                next = at.saturating_add(1);
                if let Some(place) = place.filter(|_| at < self.docs) {
                    visit(at, place, times);
                }
            });
        }
        Ok(())
    }
}

/// A column of a part, copied once: as the value of a query it would be copied twice.
fn blob(connection: &Connection, column: &str, part: i64) -> rusqlite::Result<Vec<u8>> {
    let blob = connection.blob_open("main", "part", column, part, true)?;
    let mut bytes = vec![0; blob.len()];
    blob.read_at_exact(&mut bytes, 0)?;
    Ok(bytes)
}

fn decode(mut bytes: &[u8], mut visit: impl FnMut(u64, u64)) {
    let mut next = 0;
    while let (Some(step), Some(times)) = (take(&mut bytes), take(&mut bytes)) {
        visit(next + step, times);
        next += step + 1;
    }
}

/// Appends a number as LEB128: seven bits a byte, the lowest first.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes a number off the front; `None` at the end.
#[inline]
fn take(bytes: &mut &[u8]) -> Option<u64> {
    // Most are of one byte.
    match **bytes {
        [byte @ ..0x80, ref rest @ ..] => {
            *bytes = rest;
            Some(byte.into())
        }
        _ => take_long(bytes),
    }
}

#[inline(never)]
fn take_long(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
