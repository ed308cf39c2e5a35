//! Records into the store: completes what a line lacks, pairs questions with answers, writes batches, and
//! gives the completed lines back once they are durable.

mod pair;
mod turn;

use crate::chat::fence;
use crate::embed;
use crate::error::{Error, Result};
use crate::record::{
    Clock, Content, Draft, Feed, Fill, Line, Message, Next, Object, Place, Record, Role, Scope, Scopes,
    Value, Vectors, id,
};
use crate::store::{Store, Written};
use std::collections::HashSet;

/// What is taken from the command line or the request where a line does not say it.
#[derive(Clone, Default, Debug)]
pub struct Options {
    pub partition: Option<String>,
    pub instance: Option<String>,
    pub trace_id: Option<String>,
    /// Whether system messages are stored too.
    pub keep_system: bool,
    /// Whether lines come from an export: whole, with times of their own, and of these scopes only.
    pub import: Option<Scopes>,
}

impl Options {
    /// An import brings its own links, except where lines without `kind` come from another tool.
    fn pairs(&self, own: bool) -> bool {
        self.import.is_none() || !own
    }

    /// Whether what belongs to a scope is to be stored.
    fn means(&self, scope: &Scope) -> bool {
        self.import.as_ref().is_none_or(|scopes| scopes.hold(scope))
    }

    /// Checks that a line of an import says what a file must say to be imported again without doubles.
    fn check(&self, line: &Line) -> Result<()> {
        let Some(_) = self.import else { return Ok(()) };
        let missing = match line {
            Line::Message(draft) if draft.trace_id.is_none() => "trace_id",
            Line::Message(draft) if draft.timestamp.is_none() => "timestamp",
            Line::Message(draft) if draft.partition.is_none() && self.partition.is_none() => "partition",
            Line::Request(_) | Line::Response(_) | Line::Other(_) => {
                return Err(Error::new("kind: is none that can be imported")
                    .hint("messages, accounts, embeddings and links can; rsv-ingest takes the others"));
            }
            _ => return Ok(()),
        };
        Err(Error::new(format!("{missing}: is missing")))
    }
}

/// Gathers lines into batches and writes them. What may have to be written again is cloned first.
#[derive(Clone)]
pub struct Ingest {
    options: Options,
    clock: Clock,
    /// The timestamp and seq that were given last.
    last: (i64, u32),
    entries: Vec<Entry>,
    records: Vec<Record>,
    bytes: usize,
}

/// A line of a batch and the records that it stands for.
#[derive(Clone)]
struct Entry {
    place: Option<Place>,
    records: std::ops::Range<usize>,
    /// What is passed on; `None` means the first record itself.
    passed_on: Option<Object>,
    /// Whether its answers are paired with their questions.
    pair: bool,
    /// Whether its messages came with a seq of their own.
    ordered: bool,
}

/// A line that has been dealt with.
pub struct Done {
    /// The line to pass on (an import passes nothing on), or why it could not be stored.
    pub line: Result<Vec<u8>>,
    /// Something worth knowing about it.
    pub note: Option<String>,
    /// How many of its records were new.
    pub new: usize,
}

/// Whether an input has more lines after those of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gathered {
    More,
    All,
}

/// A batch is written at the latest when it has so many records, or so many bytes.
const BATCH: (usize, usize) = (20_000, 8 << 20);

impl Ingest {
    pub fn new(options: Options, clock: Clock) -> Ingest {
        Ingest { options, clock, last: (i64::MIN, 0), entries: Vec::new(), records: Vec::new(), bytes: 0 }
    }

    /// Adds lines until the batch is full, or the input pauses or ends; `bad` gets those that are none. An
    /// import does not stop at a pause.
    pub fn gather(&mut self, feed: &mut Feed, bad: &mut dyn FnMut(Error)) -> Gathered {
        loop {
            match feed.next() {
                Next::Value(Ok(Value { place, object })) => {
                    if let Err(error) = self.add_line(place.clone(), object) {
                        bad(error.at(place));
                    }
                    if self.entries.len() >= BATCH.0 || self.bytes >= BATCH.1 {
                        return Gathered::More;
                    }
                }
                Next::Value(Err(error)) => bad(error),
                Next::Pause if self.options.import.is_some() => {}
                Next::Pause => return Gathered::More,
                Next::End => return Gathered::All,
            }
        }
    }

    /// Adds one text. Errors if nothing but white space is in it.
    pub fn add_text(&mut self, role: Role, text: &str) -> Result<()> {
        let text = text.trim_end();
        if text.trim_start().is_empty() {
            return Err(Error::new("there is no text").hint("give it as an argument or on standard input"));
        }
        if role == Role::System && !self.options.keep_system {
            return Err(Error::new("system messages are not stored").hint("store it with --keep-system"));
        }
        let message = self.complete(Draft::new(role, Content::Text(text.to_owned())))?;
        self.add(None, vec![Record::Message(message)], None, true);
        Ok(())
    }

    /// Adds a line of any kind; errors, which begin with the member at fault, leave the batch as it was.
    fn add_line(&mut self, place: Place, line: Object) -> Result<()> {
        let own = line.has("kind");
        if !self.options.keep_system && line.get("role") == Some("\"system\"") {
            self.add(Some(place), Vec::new(), Some(line), false);
            return Ok(());
        }
        let line = Line::parse(line)?;
        self.options.check(&line)?;
        match line {
            Line::Message(draft) => {
                // In an export of ours a seq that is not there is 0.
                let pair = self.options.pairs(own);
                let ordered = draft.seq.is_some() || !pair;
                let message = self.complete(draft)?;
                if self.options.means(&message.scope) {
                    self.add(Some(place), vec![Record::Message(message)], None, pair);
                    self.entries.last_mut().into_iter().for_each(|entry| entry.ordered = ordered);
                }
            }
            Line::Response(response) => {
                let records = self.turn(&response)?;
                self.add(Some(place), records, Some(response), true);
            }
            Line::Link(mut link) => {
                link.timestamp.get_or_insert_with(|| self.clock.now());
                self.add(Some(place), vec![Record::Link(link)], None, false);
            }
            Line::Embedding(embedding) => {
                self.add(Some(place), vec![Record::Embedding(embedding)], None, false)
            }
            Line::Account(account) => {
                if self.options.means(&account.scope) {
                    self.add(Some(place), vec![Record::Account(account)], None, false);
                }
            }
            Line::Request(line) | Line::Other(line) => self.add(Some(place), Vec::new(), Some(line), false),
        }
        Ok(())
    }

    /// Adds the turn that a response line brings: both messages and the account.
    pub fn add_response(&mut self, response: &Object) -> Result<()> {
        let records = self.turn(response)?;
        self.add(None, records, Some(response.clone()), true);
        Ok(())
    }

    /// Adds the batch of another, behind its own.
    pub fn append(&mut self, other: Ingest) {
        let begin = self.records.len();
        self.records.extend(other.records);
        self.entries.extend(other.entries.into_iter().map(|mut entry| {
            entry.records = entry.records.start + begin..entry.records.end + begin;
            entry
        }));
        self.bytes += other.bytes;
    }

    fn add(&mut self, place: Option<Place>, mut records: Vec<Record>, passed_on: Option<Object>, pair: bool) {
        let begin = self.records.len();
        records.iter_mut().filter_map(model).for_each(|model| {
            let canonical = embed::canonical(model);
            if canonical != model {
                *model = canonical.to_owned();
            }
        });
        self.bytes += records.iter().map(weight).sum::<usize>();
        self.records.extend(records);
        let records = begin..self.records.len();
        self.entries.push(Entry { place, records, passed_on, pair, ordered: false });
    }

    /// Drops the batch; the number of its records.
    pub fn forget(&mut self) -> usize {
        self.entries.clear();
        self.bytes = 0;
        std::mem::take(&mut self.records).len()
    }

    /// Fills in what a draft lacks, and takes out what an earlier recall put into it. Errors if nothing is left.
    fn complete(&mut self, mut draft: Draft) -> Result<Message> {
        draft.content = fence::strip(draft.content);
        if !draft.says_something() {
            return Err(Error::new("content: is empty"));
        }
        let now = self.clock.now();
        let seq = if now == self.last.0 { self.last.1 + 1 } else { 0 };
        if draft.timestamp.is_none() {
            self.last = (now, seq);
        }
        let (partition, instance) = (self.options.partition.clone(), self.options.instance.clone());
        let trace_id = match (&draft.trace_id, &self.options.trace_id) {
            (Some(_), _) => String::new(),
            (None, Some(trace)) => trace.clone(),
            (None, None) => id::fresh(&self.clock, &format!("{seq} {}", draft.content.text()))?,
        };
        draft.complete(&Fill { partition, instance, trace_id, timestamp: now, seq })
    }

    /// Writes the batch; its lines, in order, are durable then. After an error nothing of it is stored.
    pub fn commit(&mut self, store: &mut dyn Store) -> Result<Vec<Done>> {
        let mut entries = std::mem::take(&mut self.entries);
        let mut records = std::mem::take(&mut self.records);
        self.bytes = 0;
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(scopes) = self.options.import.as_ref().filter(|scopes| **scopes != Scopes::All) {
            narrow(&mut entries, &mut records, scopes, store)?;
        }
        pair::order(&entries, &mut records, store)?;
        let own = records.len();
        records.extend(pair::links(&entries, &records, store)?);
        let written = if records.is_empty() { Vec::new() } else { store.write(&records)? };
        records.truncate(own);
        let echo = self.options.import.is_none();
        Ok(entries.into_iter().map(|entry| done(entry, &mut records, &written, echo)).collect())
    }
}

fn weight(record: &Record) -> usize {
    match record {
        Record::Message(message) => {
            let content = match &message.content {
                Content::Text(text) => text.len(),
                Content::Parts(json) => json.len(),
                Content::Null => 0,
            };
            content + 4 * message.vector.as_ref().map_or(0, |v| v.numbers.len())
        }
        Record::Embedding(embedding) => 4 * embedding.vector.len(),
        Record::Account(_) | Record::Link(_) => 256,
    }
}

/// The name of the model that made a record's vector, or found it.
fn model(record: &mut Record) -> Option<&mut String> {
    match record {
        Record::Message(message) => message.vector.as_mut().map(|vector| &mut vector.model),
        Record::Embedding(embedding) => Some(&mut embedding.model),
        Record::Link(link) => link.model.as_mut(),
        Record::Account(_) => None,
    }
}

/// Takes the links and embeddings out that are not wholly of these scopes; those of messages and accounts
/// were not taken in.
fn narrow(
    entries: &mut Vec<Entry>,
    records: &mut Vec<Record>,
    scopes: &Scopes,
    store: &mut dyn Store,
) -> Result<()> {
    let mut held: HashSet<String> = records.iter().filter_map(own_id).map(str::to_owned).collect();
    let mut all = std::mem::take(records).into_iter();
    for mut entry in std::mem::take(entries) {
        let own: Vec<Record> = all.by_ref().take(entry.records.len()).collect();
        let named = own.iter().flat_map(names);
        let mut meant = true;
        for id in named {
            if !held.contains(id) && store.scope_of(id)?.is_some_and(|scope| scopes.hold(&scope)) {
                held.insert(id.to_owned());
            }
            meant &= held.contains(id);
        }
        if meant {
            let begin = records.len();
            records.extend(own);
            entry.records = begin..records.len();
            entries.push(entry);
        }
    }
    Ok(())
}

fn own_id(record: &Record) -> Option<&str> {
    match record {
        Record::Message(message) => Some(&message.id),
        Record::Account(account) => Some(&account.id),
        Record::Embedding(_) | Record::Link(_) => None,
    }
}

/// The ids of the records that a link or an embedding is about.
fn names(record: &Record) -> Vec<&str> {
    match record {
        Record::Embedding(embedding) => vec![&embedding.of],
        Record::Link(link) => vec![&link.from, &link.to],
        Record::Message(_) | Record::Account(_) => Vec::new(),
    }
}

/// The line to pass on (if `echo`) for an entry whose records were written.
fn done(entry: Entry, records: &mut [Record], written: &[Written], echo: bool) -> Done {
    let mut note = None;
    let mut new = 0;
    for at in entry.records.clone() {
        match (&written[at], &mut records[at]) {
            (Written::New, _) => new += 1,
            (Written::Same(id), Record::Message(message)) => message.id.clone_from(id),
            (Written::Same(_), _) => {}
            (Written::Differs, _) => note = Some("something else is stored under this id already, and stays"),
            (Written::Refused(why), _) => {
                let error = Error::new(why.clone());
                let line = Err(entry.place.iter().fold(error, |e, place| e.at(place)));
                return Done { line, note: None, new };
            }
        }
    }
    let mut line = Vec::new();
    match &entry.passed_on {
        _ if !echo => {}
        Some(object) => {
            object.write(&mut line);
            line.push(b'\n');
        }
        None => records[entry.records.start].write_line(Vectors::Numbers, &mut line),
    }
    let note = note.map(|text| entry.place.map_or(text.to_owned(), |place| format!("{place}: {text}")));
    Done { line: Ok(line), note, new }
}
