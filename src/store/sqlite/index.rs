//! The word index, in a few parts a scope. A part covers some thousands of messages: which they are, how long, and
//! what a selection asks for; all their words, one after the other, so that a piece of a word is looked for at the
//! speed of memory; and for each word the messages that hold it and how often. The newest messages of a scope are in
//! no part yet: a search reads them themselves, so that storing one message costs the index nothing. All is read
//! where it lies in the mapped file: a row of words or of places fills no more than a page.

use super::super::words;
use super::coding::{Block, Place, Postings};
use super::select::bit;
use memchr::memmem::Finder;
use rusqlite::{Connection, Rows, params};
use rustc_hash::FxHashMap;

/// So many messages may be in no part. They are read whole by every search.
const TAIL: i64 = 200;
/// So many parts a scope has, those of at least `LARGE` messages aside, before some are made one.
const PARTS: usize = 6;
/// A part of so many messages stays as it is: making a larger one would keep a writer for seconds.
const LARGE: usize = 250_000;
/// So many messages make a block of places: some eight bytes each.
const BLOCK: usize = 2000;
/// The rows of a part in `vocabulary` and `block` are numbered from this many times its number.
const ROWS: i64 = 1 << 20;

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
    Part::of_scope(connection, scope)?.iter().try_for_each(|part| part.remove(connection))?;
    connection.prepare_cached("UPDATE scope SET packed = 0 WHERE n = ?")?.execute([scope])?;
    pack(connection, scope)
}

/// The parts to be made one, if the scope has too many: the newest, and those before it, as long as each is
/// no larger than all after it together. So a message is written anew only as often as the logarithm of
/// their number, and the parts stay in the order of their messages.
fn newest_run(connection: &Connection, scope: i64) -> rusqlite::Result<Vec<Part>> {
    let mut parts = Part::of_scope(connection, scope)?;
    parts.retain(|part| part.docs < LARGE);
    if parts.len() <= PARTS {
        return Ok(Vec::new());
    }
    let mut together = 0;
    let mut first = parts.len();
    for part in parts.iter().rev() {
        if together > 0 && part.docs > together {
            break;
        }
        together += part.docs;
        first -= 1;
    }
    Ok(parts.split_off(first))
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
    places: Vec<Place>,
    words: FxHashMap<Box<[u8]>, Postings>,
}

/// The messages of a scope that are in no part yet.
fn gather(connection: &Connection, scope: i64) -> rusqlite::Result<Draft> {
    let mut draft = Draft::default();
    tail(connection, scope, |place, folded| {
        let (at, mut length) = (draft.places.len() as u64, 0);
        for word in words::words(folded) {
            length += 1;
            match draft.words.get_mut(word.as_bytes()) {
                Some(postings) => postings.count(at),
                None => draft.words.entry(word.as_bytes().into()).or_default().count(at),
            }
        }
        draft.places.push(Place { length, ..place });
    })?;
    draft.words.values_mut().for_each(Postings::close);
    Ok(draft)
}

impl Draft {
    fn write(self, connection: &Connection, scope: i64) -> rusqlite::Result<()> {
        let mut words: Vec<(Box<[u8]>, Postings)> = self.words.into_iter().collect();
        words.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let mut writer = Writer::begin(connection, scope, &self.places)?;
        words.into_iter().try_for_each(|(word, postings)| writer.add(&word, &postings))?;
        writer.end()
    }
}

/// Writes a part, word by word in order.
struct Writer<'a> {
    connection: &'a Connection,
    part: i64,
    /// Each row begins and ends with a line end, which every word has before it and after it.
    words: Vec<Vec<u8>>,
}

impl<'a> Writer<'a> {
    fn begin(connection: &'a Connection, scope: i64, places: &[Place]) -> rusqlite::Result<Writer<'a>> {
        let length: i64 = places.iter().map(|place| i64::from(place.length)).sum();
        let sql = "INSERT INTO part (scope, docs, length) VALUES (?, ?, ?)";
        let part = connection.prepare_cached(sql)?.insert(params![scope, places.len() as i64, length])?;
        let blocks = places.chunks(BLOCK).map(Block::pack);
        number(connection, "INSERT INTO block (n, places) VALUES (?, ?)", part, blocks)?;
        Ok(Writer { connection, part, words: Vec::new() })
    }

    fn add(&mut self, word: &[u8], postings: &Postings) -> rusqlite::Result<()> {
        if self.words.last().is_none_or(|row| row.len() + word.len() >= super::ROOM) {
            self.words.push(vec![b'\n']);
        }
        if let Some(row) = self.words.last_mut() {
            row.extend_from_slice(word);
            row.push(b'\n');
        }
        let sql = "INSERT INTO posting (part, word, docs) VALUES (?, ?, ?)";
        self.connection.prepare_cached(sql)?.execute(params![self.part, word, postings.bytes()]).map(drop)
    }

    /// Writes the words themselves, so that their pages stand side by side in the file.
    fn end(self) -> rusqlite::Result<()> {
        number(self.connection, "INSERT INTO vocabulary (n, words) VALUES (?, ?)", self.part, self.words)
    }
}

/// Inserts the rows of a part, numbered from its first.
fn number(
    connection: &Connection,
    sql: &str,
    part: i64,
    rows: impl IntoIterator<Item = Vec<u8>>,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(sql)?;
    (part * ROWS..).zip(rows).try_for_each(|(n, row)| statement.execute(params![n, row]).map(drop))
}

/// Makes one part of several that follow each other; their words are read side by side.
fn merge(connection: &Connection, scope: i64, parts: &[Part]) -> rusqlite::Result<()> {
    let mut places = Vec::new();
    for part in parts {
        let all: Vec<_> = (0..part.docs as u32).map(|at| (at, 0.0)).collect();
        part.places(connection, &all, |_, _, place| places.push(place))?;
    }
    let sql = "SELECT word, docs FROM posting WHERE part = ? ORDER BY word";
    let mut statements =
        parts.iter().map(|_| connection.prepare_cached(sql)).collect::<Result<Vec<_>, _>>()?;
    let mut streams = Vec::new();
    let mut before = 0;
    for (statement, part) in statements.iter_mut().zip(parts) {
        streams.push(Stream::begin(statement.query([part.n])?, before)?);
        before += part.docs as u64;
    }
    let mut writer = Writer::begin(connection, scope, &places)?;
    while let Some(word) = streams.iter().filter_map(|stream| stream.word.clone()).min() {
        let mut postings = Postings::default();
        for stream in streams.iter_mut().filter(|stream| stream.word.as_ref() == Some(&word)) {
            Postings::each(&stream.docs).for_each(|(at, times)| postings.push(at + stream.offset, times));
            stream.advance()?;
        }
        writer.add(&word, &postings)?;
    }
    writer.end()?;
    parts.iter().try_for_each(|part| part.remove(connection))
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

/// A part of the index.
pub(super) struct Part {
    n: i64,
    /// How many messages it covers.
    pub(super) docs: usize,
    /// In words, all of them together.
    pub(super) length: i64,
}

impl Part {
    /// The parts of a scope, in the order of their messages.
    pub(super) fn of_scope(connection: &Connection, scope: i64) -> rusqlite::Result<Vec<Part>> {
        let sql = "SELECT n, docs, length FROM part WHERE scope = ? ORDER BY n";
        let part = |row: &rusqlite::Row| {
            let docs = usize::try_from(row.get::<_, i64>(1)?).unwrap_or_default();
            Ok(Part { n: row.get(0)?, docs, length: row.get(2)? })
        };
        connection.prepare_cached(sql)?.query_map([scope], part)?.collect()
    }

    fn remove(&self, connection: &Connection) -> rusqlite::Result<()> {
        for table in ["vocabulary", "block"] {
            let sql = format!("DELETE FROM {table} WHERE n >= ? AND n < ?");
            connection.prepare_cached(&sql)?.execute([self.n * ROWS, (self.n + 1) * ROWS])?;
        }
        connection.prepare_cached("DELETE FROM posting WHERE part = ?")?.execute([self.n])?;
        connection.prepare_cached("DELETE FROM part WHERE n = ?")?.execute([self.n]).map(drop)
    }

    /// The words that hold a piece, each once; at most one more than `many`.
    pub(super) fn words_with(
        &self,
        connection: &Connection,
        piece: &str,
        many: usize,
    ) -> rusqlite::Result<Vec<Box<[u8]>>> {
        let finder = Finder::new(piece);
        let mut found: Vec<Box<[u8]>> = Vec::new();
        let mut statement =
            connection.prepare_cached("SELECT words FROM vocabulary WHERE n >= ? AND n < ? ORDER BY n")?;
        let mut rows = statement.query([self.n * ROWS, (self.n + 1) * ROWS])?;
        while let Some(row) = rows.next()? {
            let words = row.get_ref(0)?.as_blob()?;
            let mut end = 0;
            for at in finder.find_iter(words) {
                if at < end {
                    continue;
                }
                if found.len() > many {
                    return Ok(found);
                }
                let begin = memchr::memrchr(b'\n', &words[..at]).map_or(0, |before| before + 1);
                end = at + memchr::memchr(b'\n', &words[at..]).unwrap_or(words.len() - at);
                found.push(words[begin..end].into());
            }
        }
        Ok(found)
    }

    /// The words that begin with a piece; at most one more than `many`.
    pub(super) fn words_from(
        &self,
        connection: &Connection,
        piece: &str,
        many: usize,
    ) -> rusqlite::Result<Vec<Box<[u8]>>> {
        // No byte of a word is as great.
        let end = [piece.as_bytes(), &[u8::MAX]].concat();
        let sql = "SELECT word FROM posting WHERE part = ? AND word >= ? AND word < ? ORDER BY word LIMIT ?";
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![self.n, piece.as_bytes(), end, many as i64 + 1], |row| {
            Ok(row.get_ref(0)?.as_blob()?.into())
        })?;
        rows.collect()
    }

    /// How many messages hold a word.
    pub(super) fn holders(&self, connection: &Connection, word: &[u8]) -> rusqlite::Result<usize> {
        self.posted(connection, word, Postings::held).map(Option::unwrap_or_default)
    }

    /// Calls `visit` with each message that holds a word, where it stands in the part, and how often it does.
    pub(super) fn postings(
        &self,
        connection: &Connection,
        word: &[u8],
        mut visit: impl FnMut(usize, u64),
    ) -> rusqlite::Result<()> {
        let all = |bytes: &[u8]| {
            let known = |at| usize::try_from(at).ok().filter(|at| *at < self.docs);
            Postings::each(bytes)
                .filter_map(|(at, times)| Some((known(at)?, times)))
                .for_each(|(at, times)| visit(at, times));
        };
        self.posted(connection, word, all).map(drop)
    }

    /// What is read from the postings of a word, if any message holds it.
    fn posted<T>(
        &self,
        connection: &Connection,
        word: &[u8],
        read: impl FnOnce(&[u8]) -> T,
    ) -> rusqlite::Result<Option<T>> {
        let mut statement =
            connection.prepare_cached("SELECT docs FROM posting WHERE part = ? AND word = ?")?;
        let mut rows = statement.query(params![self.n, word])?;
        rows.next()?.map(|row| Ok(read(row.get_ref(0)?.as_blob()?))).transpose()
    }

    /// Calls `visit` with messages of the part, given in order with a number each, and where they are found.
    pub(super) fn places(
        &self,
        connection: &Connection,
        messages: &[(u32, f32)],
        mut visit: impl FnMut(u32, f32, Place),
    ) -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached("SELECT places FROM block WHERE n = ?")?;
        let block = |at: u32| at as usize / BLOCK;
        for messages in messages.chunk_by(|a, b| block(a.0) == block(b.0)) {
            let mut rows = statement.query([self.n * ROWS + block(messages[0].0) as i64])?;
            let Some(row) = rows.next()? else { continue };
            let Some(block) = Block::of(row.get_ref(0)?.as_blob()?) else { continue };
            for (at, number) in messages {
                if let Some(place) = block.get(*at as usize % BLOCK) {
                    visit(*at, *number, place);
                }
            }
        }
        Ok(())
    }
}
