//! A store whose records change: whatever is written, in whatever version, and removed, it answers as if what is there
//! now had been written alone; and a process that is killed leaves every change whole or undone.

use crate::support::{Dice, Home, is_test_process, number_from, on_each_store, remove};
use rsv::cli::Common;
use rsv::config;
use rsv::record::{
    Content, DOCUMENT, Draft, DraftDefaults, Embedding, Line, Link, MESSAGE, Object, Record, Role, SYNAPSE,
    Scope, Scopes, StoredRecord, Vector, kinds,
};
use rsv::store::{self, Derived, OpenMode, Select, Store, Walk, WriteOutcome, WriteRules};
use rsv::text::{Languages, Occur, Term};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{BufRead, BufReader, Write as _};
use std::process::Stdio;

const MODEL: &str = "m";
const RELATED: &str = "RELATED";

/// Words of which none has the stem of another; some lie within others.
const WORDS: [&str; 26] = [
    "zork",
    "blim",
    "trand",
    "quolt",
    "fask",
    "glunt",
    "horp",
    "jolm",
    "karn",
    "lupt",
    "narb",
    "plok",
    "rask",
    "spolt",
    "tavok",
    "umbrak",
    "vornt",
    "wexol",
    "yarp",
    "zorkam",
    "blimtrand",
    "akarnok",
    "unplok",
    "jolmhorp",
    "quolt7",
    "42",
];

/// The constants of BM25 for messages and for documents, written again for the test, and the weight of a word that only
/// contains the token.
const OF_MESSAGES: (f64, f64) = (0.9, 0.4);
const OF_DOCUMENTS: (f64, f64) = (1.2, 0.75);
const PIECE: f32 = 0.5;

/// The contents of a store: records with their vectors, and links.
#[derive(Default)]
struct Model {
    live: BTreeMap<String, (StoredRecord, Option<Vec<f32>>)>,
    links: Vec<Link>,
    /// The times of the tombstones of documents: an older version stays out, and a new one is dated after it.
    removed: BTreeMap<String, i64>,
}

/// All that a store holds: records in their order, vectors by what they are of, links by their ends.
#[derive(PartialEq, Default, Debug)]
struct Everything {
    records: Vec<StoredRecord>,
    vectors: BTreeMap<String, Vec<f32>>,
    links: BTreeSet<[String; 3]>,
}

impl Model {
    fn collection(&self, which: &Select) -> impl Iterator<Item = &StoredRecord> {
        let records = self.live.values().map(|(record, _)| record);
        records.filter(|record| which.kinds.contains(&record.kind) && which.scopes.contains(&record.scope))
    }

    /// The best records of one kind and their scores, by looking at every record there is.
    fn find(&self, terms: &[Term], occur: Occur, which: &Select, limit: usize) -> Vec<(String, f64)> {
        let documents: Vec<(&StoredRecord, Vec<String>)> =
            self.collection(which).map(|record| (record, words(&record.indexed_text().unwrap()))).collect();
        let of_documents = which.kinds == [&DOCUMENT];
        let (k1, b) = if of_documents { OF_DOCUMENTS } else { OF_MESSAGES };
        let count = documents.len() as f64;
        let length: f64 = documents.iter().map(|(_, words)| words.len() as f64).sum();
        let average = (length / count.max(1.0)).max(1.0);
        let idf = |doc_freq: usize| {
            let doc_freq = doc_freq as f64;
            (1.0 + (count - doc_freq + 0.5) / (doc_freq + 0.5)).ln()
        };
        // How often each document holds each token, the rarest token first.
        let mut tokens: Vec<Vec<f32>> = Vec::new();
        for term in terms {
            let weight = |word: &String| match word {
                word if *word == term.text => 1.0,
                word if term.stems.is_none() && word.contains(&term.text) => PIECE,
                _ => 0.0,
            };
            tokens.push(documents.iter().map(|(_, words)| words.iter().map(weight).sum()).collect());
        }
        let doc_freq = |times: &[f32]| times.iter().filter(|times| **times > 0.0).count();
        tokens.sort_by_key(|times| doc_freq(times));
        let known: f64 = tokens.iter().map(|times| doc_freq(times)).filter(|n| *n > 0).map(idf).sum();
        let wanted = if occur == Occur::All { tokens.len() } else { 1 };
        let mut scored = Vec::new();
        for (at, (record, words)) in documents.iter().enumerate() {
            let norm = k1 * (1.0 - b + b * words.len() as f64 / average);
            let (mut matches, mut score, mut share) = (0, 0.0, 0.0);
            for times in &tokens {
                if times[at] > 0.0 {
                    let (idf, times) = (idf(doc_freq(times)), f64::from(times[at]));
                    score += idf * times * (k1 + 1.0) / (times + norm);
                    share += idf;
                    matches += 1;
                }
            }
            if matches >= wanted && matches > 0 && admits(which, record) {
                scored.push((*record, if of_documents { score } else { score * share / known }));
            }
        }
        best(scored, limit)
    }

    /// The nearest records and their cosines, by comparing all.
    fn nearest(&self, vector: &[f32], which: &Select, limit: usize) -> Vec<(String, f64)> {
        let of = |record: &StoredRecord| self.live[&record.id].1.as_deref();
        let admitted = self.collection(which).filter(|record| admits(which, record));
        best(admitted.filter_map(|record| Some((record, cosine(vector, of(record)?)))).collect(), limit)
    }

    /// Takes a record with its vector, if it has one.
    fn put(&mut self, mut record: StoredRecord) {
        let vector = record.vector.take().map(|vector| vector.numbers);
        self.live.insert(record.id.clone(), (record, vector));
    }

    /// Takes the synapses of a record away.
    fn cut(&mut self, id: &str) {
        self.links.retain(|link| link.rel != SYNAPSE || link.from != id && link.to != id);
    }

    /// All there is.
    fn everything(&self) -> Everything {
        let mut records: Vec<StoredRecord> = self.live.values().map(|(record, _)| record.clone()).collect();
        records.sort_by_cached_key(StoredRecord::position);
        let vectors = self.live.iter().filter_map(|(id, (_, vector))| Some((id.clone(), vector.clone()?)));
        Everything { records, vectors: vectors.collect(), links: self.links.iter().map(ends).collect() }
    }
}

fn ends(link: &Link) -> [String; 3] {
    [link.from.clone(), link.rel.clone(), link.to.clone()]
}

fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn admits(which: &Select, record: &StoredRecord) -> bool {
    (which.roles.is_empty() || record.role.is_some_and(|role| which.roles.contains(&role)))
        && which.since.is_none_or(|since| since <= record.timestamp)
        && which.until.is_none_or(|until| record.timestamp <= until)
}

/// Best first; ties by time, newest first, then by id.
fn best(mut scored: Vec<(&StoredRecord, f64)>, limit: usize) -> Vec<(String, f64)> {
    scored.sort_by(|(one, a), (other, b)| {
        b.total_cmp(a).then(other.timestamp.cmp(&one.timestamp)).then_with(|| one.id.cmp(&other.id))
    });
    scored.truncate(limit);
    scored.into_iter().map(|(record, score)| (record.id.clone(), score)).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    // From 0 on: the sum of nothing but -0 would be that, and stand behind 0.
    let dot =
        |a: &[f32], b: &[f32]| a.iter().zip(b).fold(0.0, |sum, (x, y)| sum + f64::from(*x) * f64::from(*y));
    let lengths = dot(a, a).sqrt() * dot(b, b).sqrt();
    if lengths > 0.0 { (dot(a, b) / lengths).clamp(-1.0, 1.0) } else { 0.0 }
}

/// The scopes of one partition, of which the last is seldom written to; the oftener one stands here, the more records
/// it has.
fn scopes_of_a_partition() -> Vec<Scope> {
    let instances = ["many", "many", "many", "few", "few", "rare"];
    instances.map(|instance| Scope { partition: "p".into(), instance: instance.into() }).into()
}

/// Small scopes of several partitions, and a larger one.
fn many_scopes() -> Vec<Scope> {
    let small = (0..36).map(|n| (n % 3, n));
    let scopes = small.chain([(0, 0); 12]).map(|(partition, instance)| {
        let partition = if partition == 0 { "p".to_owned() } else { format!("p{partition}") };
        Scope { partition, instance: format!("i{instance}") }
    });
    scopes.collect()
}

/// A few words, the first of the list more often than the last.
fn some_words(count: usize, dice: &mut Dice) -> Vec<&'static str> {
    (0..count)
        .map(|_| {
            let most = 1 + dice.below(WORDS.len());
            WORDS[dice.below(most)]
        })
        .collect()
}

/// Small whole numbers, so that cosines are equal now and then, and the sums exact.
fn vector(dice: &mut Dice) -> Vec<f32> {
    (0..4).map(|_| dice.below(7) as f32 - 3.0).collect()
}

/// A store that is changed at random, and what should be in it.
struct Changed<'a> {
    home: &'a Home,
    /// A tool that changes the store and prints an answer too.
    store: Box<dyn Store>,
    /// Connections of a server, which keep records together.
    pooled: [Box<dyn Store>; 2],
    model: Model,
    dice: Dice,
    step: usize,
    scopes: Vec<Scope>,
    /// The ids that there may be, every third of a document, and how many times more of them a change has.
    ids: Vec<String>,
    times: usize,
}

/// A document made from a source of this number, whose id follows from its partition and its name.
fn document(name: &str, source: usize, text: &str, fill: &DraftDefaults) -> StoredRecord {
    let line = json!({"kind": "document", "uri": format!("viking://resources/{name}"), "title": "Title",
        "content": text, "source_sha256": format!("{source:064x}")});
    match Line::parse(Object::parse(&line.to_string()).unwrap()).unwrap() {
        Line::Record(draft) => draft.complete(fill).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// The scope of the record of a number if it is a document, which cannot change it; `None` if it is a message.
fn scope_of_document(n: usize, scopes: &[Scope]) -> Option<Scope> {
    n.is_multiple_of(3).then(|| scopes[n % scopes.len()].clone())
}

/// The ids of that many records.
fn ids_of(count: usize, scopes: &[Scope]) -> Vec<String> {
    let id = |n| match scope_of_document(n, scopes) {
        Some(Scope { partition, instance }) => {
            let (partition, instance) = (Some(partition), Some(instance));
            let fill = DraftDefaults { partition, instance, ..Default::default() };
            document(&format!("d{n}"), 0, "", &fill).id
        }
        None => format!("r{n}"),
    };
    (0..count).map(id).collect()
}

impl Changed<'_> {
    /// One of the connections.
    fn any_store(&mut self) -> &mut dyn Store {
        match self.dice.below(3) {
            2 => &mut *self.store,
            at => &mut *self.pooled[at],
        }
    }

    /// A document, or a message whose trace no other has, so that none is the same under another id.
    fn record(&mut self, n: usize) -> StoredRecord {
        let dice = &mut self.dice;
        let count = 1 + dice.below(12);
        let text = some_words(count, dice).join([" ", ", ", "! ", "\n"][dice.below(4)]);
        let role = [Role::User, Role::Assistant, Role::Tool][dice.below(3)];
        let of_document = scope_of_document(n, &self.scopes);
        let is_document = of_document.is_some();
        let Scope { partition, instance } =
            of_document.unwrap_or_else(|| self.scopes[dice.below(self.scopes.len())].clone());
        let numbers = vector(dice);
        let with_vector = dice.below(3) > 0;
        self.step += 1;
        let fill = DraftDefaults {
            partition: Some(partition),
            instance: Some(instance),
            trace_id: format!("t{}", self.step),
            timestamp: self.dice.below(100) as i64,
            seq: self.dice.below(3) as u32,
        };
        let vector = with_vector.then(|| Vector { model: MODEL.into(), numbers });
        if is_document {
            return StoredRecord { vector, ..document(&format!("d{n}"), self.step, &text, &fill) };
        }
        let id = Some(self.ids[n].clone());
        Draft { id, vector, ..Draft::message(role, Content::Text(text)) }.complete(&fill).unwrap()
    }

    /// Some of the records that there may be, each once.
    fn some(&mut self, most: usize) -> BTreeSet<usize> {
        let count = 1 + self.dice.below(most * self.times);
        (0..count).map(|_| self.dice.below(self.ids.len())).collect()
    }

    fn ids(&mut self, most: usize) -> Vec<String> {
        self.some(most).into_iter().map(|n| self.ids[n].clone()).collect()
    }

    fn embedding(of: &str, vector: &[f32]) -> Embedding {
        Embedding { of: of.into(), model: MODEL.into(), vector: vector.into(), extra: Object::default() }
    }

    fn change(&mut self) {
        match self.dice.below(100) {
            0..45 => self.write(),
            45..65 => self.write_versions(),
            65..80 => self.remove(),
            80..88 => self.put_vectors(),
            88..97 => self.link(),
            _ => self.store = self.home.open(),
        }
    }

    fn write(&mut self) {
        let (mut batch, mut wanted) = (Vec::new(), Vec::new());
        for n in self.some(5) {
            let record = self.record(n);
            let id = record.id.clone();
            match self.model.live.get(&id) {
                None if self.model.removed.get(&id).is_some_and(|removed| record.timestamp <= *removed) => {
                    wanted.push(WriteOutcome::KeptOut);
                    batch.push(Record::Stored(record));
                }
                None => {
                    self.model.put(record.clone());
                    wanted.push(WriteOutcome::New);
                    batch.push(Record::Stored(record));
                }
                Some((there, _)) if self.dice.below(2) == 0 => {
                    wanted.push(WriteOutcome::Same(id));
                    batch.push(Record::Stored(there.clone()));
                }
                // Another store has an older version.
                Some((there, _)) if *there.kind == DOCUMENT => {
                    wanted.push(WriteOutcome::Same(id));
                    let timestamp = there.timestamp - 1;
                    batch.push(Record::Stored(StoredRecord { vector: None, timestamp, ..record }));
                }
                Some(_) => {
                    wanted.push(WriteOutcome::Conflict);
                    let text = format!("{} else", record.text);
                    batch.push(Record::Stored(StoredRecord { vector: None, text, ..record }));
                }
            }
        }
        for id in self.ids(2) {
            let numbers = vector(&mut self.dice);
            let differs = |(record, outcome): (&Record, &WriteOutcome)| {
                record.id() == Some(id.as_str()) && *outcome == WriteOutcome::Conflict
            };
            let was_refused = batch.iter().zip(&wanted).any(differs);
            wanted.push(match self.model.live.get_mut(&id) {
                _ if was_refused => {
                    let why = format!("follows the record {id} of the same input, which was refused");
                    WriteOutcome::Refused(why)
                }
                None => WriteOutcome::Refused(format!("of: the store has no record {id}")),
                Some((_, Some(there))) if *there == numbers => WriteOutcome::Same(id.clone()),
                Some((_, Some(_))) => WriteOutcome::Conflict,
                Some((_, none)) => {
                    *none = Some(numbers.clone());
                    WriteOutcome::New
                }
            });
            batch.push(Record::Embedding(Self::embedding(&id, &numbers)));
        }
        assert_eq!(self.store.write(&batch, WriteRules::KEEP_OUT).unwrap(), wanted, "{batch:?}");
    }

    /// Writes versions of documents, which are dated after those that they replace.
    fn write_versions(&mut self) {
        let (mut batch, mut wanted) = (Vec::new(), Vec::new());
        for n in self.some(9) {
            if scope_of_document(n, &self.scopes).is_none() {
                continue;
            }
            let record = self.record(n);
            batch.push(Record::Stored(record.clone()));
            let there = self.model.live.get(&record.id);
            wanted.push(if there.is_some() { WriteOutcome::Replaced } else { WriteOutcome::New });
            let removed = self.model.removed.get(&record.id).copied();
            let before = there.map(|(there, _)| there.timestamp).max(removed);
            let after = before.map_or(i64::MIN, |before| before + 1);
            self.model.cut(&record.id);
            self.model.put(StoredRecord { timestamp: record.timestamp.max(after), ..record });
        }
        assert_eq!(self.store.write(&batch, WriteRules::NEW).unwrap(), wanted);
    }

    fn remove(&mut self) {
        let ids = self.ids(4);
        let mut count = 0;
        for (record, _) in ids.iter().filter_map(|id| self.model.live.remove(id)) {
            count += 1;
            if record.kind == &DOCUMENT {
                let before = self.model.removed.get(&record.id);
                let removed = before.map_or(record.timestamp, |before| record.timestamp.max(before + 1));
                self.model.removed.insert(record.id, removed);
            }
        }
        self.model.links.retain(|link| !ids.contains(&link.from) && !ids.contains(&link.to));
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        assert_eq!(remove(&mut *self.store, &ids), count);
    }

    fn put_vectors(&mut self) {
        let ids = self.ids(4);
        let vectors: Vec<(String, Vec<f32>)> =
            ids.into_iter().map(|id| (id, vector(&mut self.dice))).collect();
        for (id, vector) in &vectors {
            let Some((_, there)) = self.model.live.get_mut(id) else { continue };
            // The synapses of the previous vector are removed with it.
            if there.replace(vector.clone()).is_some() {
                self.model.cut(id);
            }
        }
        let vectors: Vec<Embedding> =
            vectors.iter().map(|(id, vector)| Self::embedding(id, vector)).collect();
        self.store.put_vectors(&vectors, None).unwrap();
    }

    /// Links two records of one scope: by a synapse if both have a vector and are of one kind.
    fn link(&mut self) {
        let ids: Vec<String> = self.model.live.keys().cloned().collect();
        if ids.len() < 2 {
            return;
        }
        let (from, to) = (&ids[self.dice.below(ids.len())], &ids[self.dice.below(ids.len())]);
        let [(one, vector), (other, near)] = [from, to].map(|id| &self.model.live[id]);
        if from == to || one.scope != other.scope {
            return;
        }
        let are_compared = vector.is_some() && near.is_some() && one.kind == other.kind;
        let link = if are_compared && self.dice.below(2) == 0 {
            Link::synapse(from, to, 1, 0.5, MODEL)
        } else {
            Link { rel: RELATED.into(), ..Link::responded_with(from, to, 1) }
        };
        let there = self.model.links.iter().any(|other| ends(other) == ends(&link));
        let written = self.store.write(&[Record::Link(link.clone())], WriteRules::KEEP_OUT).unwrap();
        assert_eq!(written[0] == WriteOutcome::New, !there, "{written:?}");
        if !there {
            self.model.links.push(link);
        }
    }

    fn selection(&mut self) -> Select {
        let scopes = match self.dice.below(6) {
            0 => Scopes::All,
            1 => Scopes::Partition("p".into()),
            _ => Scopes::One(self.scopes[self.dice.below(self.scopes.len())].clone()),
        };
        let kind = [&MESSAGE, &DOCUMENT][self.dice.below(2)];
        let mut which = Select::records(vec![kind], scopes);
        match self.dice.below(8) {
            0 => which.roles = vec![Role::User],
            1 => which.since = Some(self.dice.below(100) as i64),
            2 => which.until = Some(self.dice.below(100) as i64),
            _ => {}
        }
        which
    }

    /// Fails unless the store answers a question as the model does.
    fn ask(&mut self) {
        let (which, limit) = (self.selection(), [1, 5, 20, 1000][self.dice.below(4)]);
        match self.dice.below(10) {
            0..6 => {
                let count = 1 + self.dice.below(3);
                let question: BTreeSet<&str> = some_words(count, &mut self.dice).into_iter().collect();
                let question = Vec::from_iter(question).join(" ");
                for (occur, terms) in [
                    (Occur::All, Term::parse(&question)),
                    (Occur::Any, Term::content(&question, Languages::ENGLISH)),
                ] {
                    let hits = self.any_store().find(&terms, occur, &which, limit).unwrap();
                    let found: Vec<(String, f64)> =
                        hits.into_iter().map(|hit| (hit.record.id, hit.score)).collect();
                    let wanted = self.model.find(&terms, occur, &which, limit);
                    assert_eq!(found, wanted, "{question:?} {occur:?} {which:?} {limit}");
                }
            }
            6 => self.ask_for_the_last(&which, limit),
            7..9 => self.ask_by_meaning(&which, limit),
            _ => self.check_all(),
        }
    }

    /// Fails unless every connection has the same last records, with the same neighbours.
    fn ask_for_the_last(&mut self, which: &Select, limit: usize) {
        let last = self.store.last_of(which, limit).unwrap();
        let some: Vec<&StoredRecord> = last.iter().take(20).collect();
        let around = self.store.around(&some, which, 2).unwrap();
        for store in &mut self.pooled {
            assert_eq!(store.last_of(which, limit).unwrap(), last, "{which:?} {limit}");
            assert_eq!(store.around(&some, which, 2).unwrap(), around, "{which:?} {limit}");
        }
    }

    fn ask_by_meaning(&mut self, which: &Select, limit: usize) {
        let question = vector(&mut self.dice);
        let hits = self.any_store().nearest(MODEL, &question, which, limit).unwrap();
        let found: Vec<(String, f64)> = hits.into_iter().map(|hit| (hit.record.id, hit.score)).collect();
        let wanted = self.model.nearest(&question, which, limit);
        let exact: BTreeMap<String, f64> =
            self.model.nearest(&question, which, usize::MAX).into_iter().collect();
        let reported = format!("{question:?} {which:?} {limit}: {found:?} {wanted:?}");
        // A server may reckon to the seventh digit only, and then order by that.
        if found.iter().all(|(id, score)| exact.get(id) == Some(score)) {
            assert_eq!(found, wanted, "{reported}");
        }
        let ids: HashSet<&String> = found.iter().map(|(id, _)| id).collect();
        assert!(ids.len() == found.len() && found.len() == wanted.len(), "{reported}");
        assert!(found.iter().all(|(id, score)| (score - exact[id]).abs() < 1e-6), "{reported}");
        assert!(found.windows(2).all(|two| two[0].1 >= two[1].1), "{reported}");
        let last = found.last().map_or(0.0, |(_, score)| *score);
        assert!(wanted.iter().all(|(id, score)| *score <= last + 1e-6 || ids.contains(id)), "{reported}");
    }

    /// Fails unless all that is there is there, and nothing else.
    fn check_all(&mut self) {
        let wanted = self.model.everything();
        assert_eq!(everything(&mut *self.store), wanted);
        let unembedded = self.model.live.values().filter(|(_, vector)| vector.is_none()).count();
        let found = self.store.unembedded(MODEL, &all_records(), self.ids.len()).unwrap();
        assert_eq!((found.total, found.newest.len()), (unembedded as u64, unembedded));
        let scopes: BTreeMap<Scope, u64> = self.store.scopes(None).unwrap().into_iter().collect();
        let mut counted: BTreeMap<Scope, u64> = BTreeMap::new();
        for (record, _) in self.model.live.values() {
            *counted.entry(record.scope.clone()).or_default() += u64::from(*record.kind == MESSAGE);
        }
        assert_eq!(scopes, counted);
        let id = self.ids[self.dice.below(self.ids.len())].clone();
        let links: BTreeSet<[String; 3]> = self.store.links(&[&id], None).unwrap().iter().map(ends).collect();
        let of_id = |link: &&[String; 3]| link[0] == id || link[2] == id;
        assert_eq!(links, wanted.links.iter().filter(of_id).cloned().collect());
    }

    /// Removes what is left: then the store answers like an empty one.
    fn end(mut self) {
        self.check_all();
        let ids: Vec<String> = self.model.live.keys().cloned().collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        assert_eq!(remove(&mut *self.store, &ids), ids.len() as u64);
        self.model = Model::default();
        let [one, other] = self.pooled;
        for mut store in [self.store, one, other, self.home.open()] {
            assert_eq!(everything(&mut *store), Everything::default());
            let all = all_records();
            for word in WORDS {
                for occur in [Occur::All, Occur::Any] {
                    assert_eq!(store.find(&Term::parse(word), occur, &all, 10).unwrap(), []);
                }
            }
            assert_eq!(store.nearest(MODEL, &[1.0; 4], &all, 10).unwrap(), []);
            assert_eq!(store.last_of(&all, 10).unwrap(), []);
            assert_eq!(store.count(&all, 10).unwrap(), 0);
            assert_eq!(store.scopes(None).unwrap(), []);
            assert!(store.models().unwrap().iter().all(|model| model.vectors == 0));
            assert_eq!(store.unembedded(MODEL, &all, 10).unwrap().total, 0);
            assert_eq!(store.repair(Derived::VectorIndexes).unwrap(), [""; 0]);
            assert_eq!(store.examine(10).unwrap().errors, [""; 0]);
        }
        self.home.check();
    }
}

fn all_records() -> Select {
    Select::records(vec![&MESSAGE, &DOCUMENT], Scopes::All)
}

fn pooled(home: &Home) -> [Box<dyn Store>; 2] {
    [(), ()].map(|()| store::open(&home.place(), OpenMode::Pooled).unwrap())
}

/// The records that a walk visits.
fn everything(store: &mut dyn Store) -> Everything {
    let mut all = Everything::default();
    let which = Select::records(kinds(), Scopes::All);
    let mut visit = |record| {
        match record {
            Record::Stored(record) => all.records.push(record),
            Record::Embedding(embedding) => drop(all.vectors.insert(embedding.of, embedding.vector)),
            Record::Link(link) => drop(all.links.insert(ends(&link))),
            Record::Tombstone(_) => {}
        }
        Ok(())
    };
    store.walk(&Walk { embeddings: true, links: true, ..Walk::records(which) }, &mut visit).unwrap();
    all
}

/// The steps of a run, unless `RSV_TEST_STEPS` gives their number; fewer at a server.
const STEPS: usize = 600;
const STEPS_AT_SERVER: usize = 60;
const STEPS_IN_MANY_SCOPES: usize = 200;

on_each_store!(random_changes_leave_the_store_as_a_fresh_one);
/// Keeps: Replaced and removed records leave no trace in any index or count.
#[allow(clippy::print_stdout)] // Shown where the test fails.
fn random_changes_leave_the_store_as_a_fresh_one(home: Home) {
    let short = if home.is_at_server() { STEPS_AT_SERVER } else { STEPS };
    let steps = number_from("RSV_TEST_STEPS").map_or(short, |steps| steps as usize);
    let seed = number_from("RSV_TEST_SEED").unwrap_or(41);
    println!("RSV_TEST_SEED={seed}");
    let (store, pooled, dice) = (home.open(), pooled(&home), Dice(seed));
    let (model, scopes) = (Model::default(), scopes_of_a_partition());
    let ids = ids_of(200, &scopes);
    let mut changed = Changed { home: &home, store, pooled, model, dice, step: 0, scopes, ids, times: 1 };
    for _ in 0..steps {
        changed.change();
        changed.ask();
    }
    changed.end();
}

/// In many small scopes, most records are indexed together with those of other scopes.
#[allow(clippy::print_stdout)] // Shown where the test fails.
#[test]
fn random_changes_in_many_scopes_leave_the_store_as_a_fresh_one() {
    let steps = number_from("RSV_TEST_STEPS").map_or(STEPS_IN_MANY_SCOPES, |steps| steps as usize);
    let seed = number_from("RSV_TEST_SEED").unwrap_or(43);
    println!("RSV_TEST_SEED={seed}");
    let home = Home::new();
    let (store, pooled) = (home.open(), pooled(&home));
    let (dice, model, scopes) = (Dice(seed), Model::default(), many_scopes());
    let ids = ids_of(2000, &scopes);
    let mut changed = Changed { home: &home, store, pooled, model, dice, step: 0, scopes, ids, times: 12 };
    for _ in 0..steps {
        changed.change();
        changed.ask();
    }
    changed.end();
}

/// The records of the test of kills: pairs, of which both are changed together, and what they are linked with.
const PAIRS: usize = 40;
const IN_ALL: &str = "pooled";

/// One of a pair in a version, with its vector.
fn versioned(pair: usize, side: usize, version: usize) -> StoredRecord {
    let fill = DraftDefaults {
        partition: Some("p".into()),
        instance: Some("p".into()),
        timestamp: version as i64,
        ..Default::default()
    };
    let text = format!("{IN_ALL} {}{}", "more ".repeat(version % 7), token(pair, side, version));
    let vector = Some(Vector { model: MODEL.into(), numbers: vector_of(pair, side, version) });
    StoredRecord { vector, ..document(&format!("r{pair}-{side}"), version, &text, &fill) }
}

/// A word that nothing else has.
fn token(pair: usize, side: usize, version: usize) -> String {
    format!("x{pair}y{side}z{version}w")
}

/// A vector that nothing else has.
fn vector_of(pair: usize, side: usize, version: usize) -> Vec<f32> {
    let mut dice = Dice(((version * PAIRS + pair) * 2 + side) as u64);
    (0..8).map(|_| dice.below(2001) as f32 / 1000.0 - 1.0).collect()
}

fn hub() -> StoredRecord {
    let scope = Some("p".to_owned());
    let fill = DraftDefaults { partition: scope.clone(), instance: scope, ..Default::default() };
    document("hub", 0, "The hub of all", &fill)
}

#[test]
#[ignore = "a process of its own, which another test starts and kills"]
fn a_process_that_changes_records_until_it_is_killed() {
    if !is_test_process() {
        return;
    }
    let settings = config::load(&Common::default()).unwrap();
    let mut store = store::open(&settings.store().unwrap(), OpenMode::Create).unwrap();
    let hub = hub();
    store.write(&[Record::Stored(hub.clone())], WriteRules::KEEP_OUT).unwrap();
    let seed = number_from("RSV_TEST_SEED").unwrap();
    let mut dice = Dice(seed);
    // No version is one of an earlier process.
    for version in seed as usize * 100_000.. {
        let pair = dice.below(PAIRS);
        let both = [0, 1].map(|side| versioned(pair, side, version));
        let ids = both.each_ref().map(|record| record.id.as_str());
        let there = store.get(&ids, &all_records()).unwrap().len();
        match (there, dice.below(3)) {
            (0, _) => {
                let links =
                    ids.map(|id| Link { rel: RELATED.into(), ..Link::responded_with(id, &hub.id, 1) });
                let batch = both.into_iter().map(Record::Stored).chain(links.map(Record::Link));
                store.write(&batch.collect::<Vec<_>>(), WriteRules::KEEP_OUT).unwrap();
            }
            (_, 0) => drop(remove(&mut *store, &ids)),
            _ => drop(store.write(&both.map(Record::Stored), WriteRules::NEW).unwrap()),
        }
        writeln!(std::io::stdout(), "changed {pair}").unwrap();
    }
}

/// Fails unless both of every pair are there, in one version and whole, or neither is, without a trace of it.
fn check_pairs(home: &Home) {
    let mut store = home.open();
    let Everything { records, vectors, links } = everything(&mut *store);
    let mut wanted_links = BTreeSet::new();
    let mut model = Model::default();
    let records: BTreeMap<&str, &StoredRecord> =
        records.iter().map(|record| (record.id.as_str(), record)).collect();
    let which = Select::records(vec![&DOCUMENT], Scopes::All);
    let hub = hub();
    let mut whole = 0;
    for pair in 0..PAIRS {
        let both = [0, 1].map(|side| records.get(versioned(pair, side, 0).id.as_str()));
        let [Some(one), Some(_)] = both else {
            assert_eq!(both, [None, None], "half of a pair is there");
            continue;
        };
        let version = one.timestamp as usize;
        for (side, record) in both.into_iter().flatten().enumerate() {
            let mut wanted = versioned(pair, side, version);
            model.put(wanted.clone());
            wanted.vector = None;
            assert_eq!(**record, wanted);
            let numbers = vector_of(pair, side, version);
            assert_eq!(vectors.get(&wanted.id), Some(&numbers));
            wanted_links.insert([wanted.id.clone(), RELATED.to_owned(), hub.id.clone()]);
            let terms = Term::parse(&token(pair, side, version));
            let found = store.find(&terms, Occur::All, &which, 10).unwrap();
            assert_eq!(found.iter().map(|hit| &hit.record).collect::<Vec<_>>(), [&wanted]);
            let nearest = store.nearest(MODEL, &numbers, &which, 1).unwrap();
            assert!(nearest[0].record.id == wanted.id && nearest[0].score > 0.999_999, "{nearest:?}");
            whole += 1;
        }
    }
    assert_eq!((vectors.len(), links), (whole, wanted_links));
    // Nothing that was removed or replaced still counts among the words.
    if records.contains_key(hub.id.as_str()) {
        model.put(hub);
    }
    let terms = Term::parse(IN_ALL);
    let found = store.find(&terms, Occur::All, &which, 1000).unwrap();
    let found: Vec<(String, f64)> = found.into_iter().map(|hit| (hit.record.id, hit.score)).collect();
    assert_eq!(found, model.find(&terms, Occur::All, &which, 1000));
    let models = store.models().unwrap();
    assert_eq!(models.iter().map(|model| model.vectors).sum::<u64>(), whole as u64);
    assert_eq!(store.examine(10).unwrap().errors, [""; 0]);
    home.check();
}

on_each_store!(a_kill_leaves_every_change_whole_or_undone);
/// Keeps: A killed process leaves a change whole or undone.
#[allow(clippy::print_stdout)] // Shown where the test fails.
fn a_kill_leaves_every_change_whole_or_undone(home: Home) {
    let kills = home.kills();
    let seed = number_from("RSV_TEST_SEED").unwrap_or(17);
    println!("RSV_TEST_SEED={seed}");
    let mut dice = Dice(seed);
    for round in 1..=kills {
        let test = "changes::a_process_that_changes_records_until_it_is_killed";
        let mut command = home.test_process(test);
        command.env("RSV_TEST_SEED", round.to_string());
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut changes = dice.below(120);
        while changes > 0 {
            let line = lines.next().expect("the process ended by itself").unwrap();
            changes -= usize::from(line.starts_with("changed "));
        }
        process.kill().unwrap();
        process.wait().unwrap();
        check_pairs(&home);
    }
}
