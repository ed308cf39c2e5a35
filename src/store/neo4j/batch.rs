//! What becomes of each record of a batch, by what is there.

use super::changes;
use super::values::{Params, or_null};
use super::write::Models;
use crate::record::{
    Account, Content, Embedding, Link, Message, Object, RESPONDED_WITH, Record, SYNAPSE, Scope,
};
use crate::store::{Written, words};
use neo4rs::BoltType;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A name that is longer cannot be found by an index of the server's, in bytes.
const LONGEST: usize = 2000;

/// A record that is there, or will be.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) scope: Scope,
    pub(super) timestamp: i64,
    pub(super) message: bool,
}

/// A message that is there under an id: what must agree if another is to be the same.
pub(super) type Said = (Scope, String, Option<String>, Option<String>);

/// What a message without its id is known by.
pub(super) type Face = (Scope, String, String, i64, String, Option<String>);

/// What is there, and what will be.
pub(super) struct Batch {
    pub(super) next: i64,
    pub(super) records: HashMap<String, Place>,
    pub(super) said: HashMap<String, Said>,
    /// Messages by what they are: their ids; or, of those that have none, where they are.
    pub(super) faces: HashMap<Face, Result<String, String>>,
    pub(super) scopes: HashMap<Scope, i64>,
    pub(super) models: Models,
    pub(super) vectors: HashMap<(String, String), Vec<f32>>,
    pub(super) links: HashSet<(String, String, String)>,
    /// Who is linked as a question, and as an answer.
    pub(super) questions: HashSet<String>,
    pub(super) answers: HashSet<String>,
    pub(super) new: New,
}

/// What a vector's labels follow from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    pub(super) model: i64,
    pub(super) dim: usize,
    /// Only those of messages are searched for and compared.
    pub(super) of_message: bool,
    /// Whether its record was there without it.
    pub(super) late: bool,
}

/// What is to be written.
#[derive(Default)]
pub(super) struct New {
    /// By the models of which they lack vectors.
    pub(super) messages: BTreeMap<Vec<i64>, Vec<Params>>,
    pub(super) adopted: BTreeMap<Vec<i64>, Vec<Params>>,
    pub(super) accounts: Vec<Params>,
    pub(super) vectors: BTreeMap<Kind, Vec<Params>>,
    pub(super) links: BTreeMap<String, Vec<Params>>,
    /// New messages and their words, by scope.
    pub(super) scopes: BTreeMap<Scope, (i64, i64)>,
    /// New messages that hold a word of a stem, by the number of their scope.
    pub(super) words: BTreeMap<i64, BTreeMap<String, i64>>,
    pub(super) models: BTreeSet<String>,
    /// New vectors by model, and those of messages by model and scope.
    pub(super) counts: BTreeMap<String, i64>,
    pub(super) spaces: BTreeMap<(i64, Scope), i64>,
    pub(super) wild: BTreeSet<String>,
}

impl Batch {
    fn number(&mut self) -> i64 {
        self.next += 1;
        self.next
    }

    /// What becomes of a record; what is new of it is kept to be written.
    pub(super) fn add(&mut self, record: &Record) -> Written {
        if let Some(name) = too_long(record) {
            return Written::Refused(format!(
                "{name}: is longer than {LONGEST} bytes, which Neo4j cannot index"
            ));
        }
        match record {
            Record::Message(message) => self.message(message),
            Record::Account(account) => self.account(account),
            Record::Embedding(embedding) => self.embedding(embedding, true),
            Record::Link(link) => self.link(link),
        }
    }

    /// Adds a message and the vector that came with it, or neither.
    fn message(&mut self, message: &Message) -> Written {
        let Some(vector) = &message.vector else { return self.with_or_without(message, None) };
        if let Some(misfit) = self.misfit(&vector.model, vector.numbers.len()) {
            return misfit;
        }
        let written = self.with_or_without(message, Some(&vector.model));
        let of = match &written {
            Written::New => message.id.clone(),
            Written::Same(id) => id.clone(),
            _ => return written,
        };
        let (model, vector) = (vector.model.clone(), vector.numbers.clone());
        let late = written != Written::New;
        self.embedding(&Embedding { of, model, vector, extra: Object::default() }, late);
        written
    }

    /// Adds a message; with a vector of `model`, or without.
    fn with_or_without(&mut self, message: &Message, model: Option<&str>) -> Written {
        let (text, parts) = content(message);
        let said = (message.scope.clone(), message.role.name().to_owned(), text, parts);
        if self.records.contains_key(&message.id) {
            let same = self.said.get(&message.id) == Some(&said);
            return if same { Written::Same(message.id.clone()) } else { Written::Differs };
        }
        let face = face(message);
        match self.faces.get(&face).cloned() {
            Some(Ok(id)) => return Written::Same(id),
            Some(Err(element)) => {
                let properties = self.properties(message, &said);
                let row = Params::new().with("properties", BoltType::Map(properties.into()));
                let lacks = self.lacking(&said, None);
                self.new.adopted.entry(lacks).or_default().push(row.with("element", element));
                self.note(message, said, face);
                return Written::Same(message.id.clone());
            }
            None => {}
        }
        // Reservoir reads no message without it, nor one whose `id` is no number.
        let properties = self.properties(message, &said).with("embedding", BoltType::from_iter([0.0; 0]));
        let lacks = self.lacking(&said, model);
        self.new.messages.entry(lacks).or_default().push(properties);
        self.note(message, said, face);
        Written::New
    }

    fn note(&mut self, message: &Message, said: Said, face: Face) {
        let place = Place { scope: message.scope.clone(), timestamp: message.timestamp, message: true };
        self.records.insert(message.id.clone(), place);
        self.said.insert(message.id.clone(), said);
        self.faces.insert(face, Ok(message.id.clone()));
    }

    /// The models of which a message lacks a vector when it has one of `model`.
    fn lacking(&self, (_, _, text, _): &Said, model: Option<&str>) -> Vec<i64> {
        let blank = text.as_deref().unwrap_or_default().trim().is_empty();
        let others = self.models.iter().filter(|(name, _)| !blank && model != Some(name.as_str()));
        others.map(|(_, (n, _))| *n).collect()
    }

    /// The properties of a message.
    fn properties(&mut self, message: &Message, (scope, role, text, parts): &Said) -> Params {
        let text = text.as_deref().unwrap_or_default();
        let folded = words::fold(text);
        let all: Vec<&str> = words::words(&folded).collect();
        let number = self.scope(scope);
        let counts = self.new.scopes.entry(scope.clone()).or_default();
        *counts = (counts.0 + 1, counts.1 + all.len() as i64);
        let n = self.number();
        let url = message.extra.text("url").ok().flatten();
        let stems = super::find::stems(&all);
        let counts = self.new.words.entry(number).or_default();
        stems.iter().for_each(|stem| *counts.entry(stem.clone().into_owned()).or_default() += 1);
        let properties = Params::new()
            .with("rsv_id", message.id.as_str())
            .with("n", n)
            .with("trace_id", message.trace_id.as_str())
            .with("partition", scope.partition.as_str())
            .with("instance", scope.instance.as_str())
            .with("role", role.as_str())
            .with("content", text)
            .with("parts", or_null(parts.as_deref()))
            .with("timestamp", message.timestamp)
            .with("seq", i64::from(message.seq))
            .with("extra", as_json(&message.extra))
            .with("words", super::find::indexed(number, &stems, &all));
        let properties = if let Some(url) = url { properties.with("url", url) } else { properties };
        if text.trim().is_empty() { properties.with("blank", true) } else { properties }
    }

    fn account(&mut self, account: &Account) -> Written {
        if self.records.contains_key(&account.id) {
            return Written::Same(account.id.clone());
        }
        self.scope(&account.scope);
        self.new.scopes.entry(account.scope.clone()).or_default();
        let properties = Params::new()
            .with("rsv_id", account.id.as_str())
            .with("n", self.number())
            .with("trace_id", account.trace_id.as_str())
            .with("partition", account.scope.partition.as_str())
            .with("instance", account.scope.instance.as_str())
            .with("timestamp", account.timestamp)
            .with("digest", or_null(account.members.text("digest").ok().flatten()))
            .with("extra", account.members.to_json());
        self.new.accounts.push(properties);
        let (scope, timestamp) = (account.scope.clone(), account.timestamp);
        let place = Place { scope, timestamp, message: false };
        self.records.insert(account.id.clone(), place);
        Written::New
    }

    /// Adds a vector; a late one is of a record that was there without it.
    fn embedding(&mut self, embedding: &Embedding, late: bool) -> Written {
        let Some(place) = self.records.get(&embedding.of).cloned() else {
            return unknown("of", &embedding.of);
        };
        let dim = embedding.vector.len();
        if let Some(misfit) = self.misfit(&embedding.model, dim) {
            return misfit;
        }
        let key = (embedding.of.clone(), embedding.model.clone());
        if let Some(known) = self.vectors.get(&key) {
            let same = known.iter().map(|x| x.to_bits()).eq(embedding.vector.iter().map(|x| x.to_bits()));
            return if same { Written::Same(embedding.of.clone()) } else { Written::Differs };
        }
        let model = match self.models.get(&embedding.model) {
            Some((model, _)) => *model,
            None => {
                let model = self.number();
                self.models.insert(embedding.model.clone(), (model, dim));
                self.new.models.insert(embedding.model.clone());
                model
            }
        };
        let mark = self.number();
        let kind = Kind { model, dim, of_message: place.message, late };
        self.new.vectors.entry(kind).or_default().push(vector_row(embedding, &place, mark));
        *self.new.counts.entry(embedding.model.clone()).or_default() += 1;
        if place.message {
            *self.new.spaces.entry((model, place.scope)).or_default() += 1;
        }
        self.vectors.insert(key, embedding.vector.clone());
        Written::New
    }

    /// The refusal of a vector whose length is not that of its model's others.
    fn misfit(&self, model: &str, dim: usize) -> Option<Written> {
        let (_, known) = self.models.get(model).filter(|(_, known)| *known != dim)?;
        Some(Written::Refused(misfit(model, dim, *known)))
    }

    /// Adds a link. A question has one answer and an answer one question.
    fn link(&mut self, link: &Link) -> Written {
        if changes::of_relation("", &link.rel).is_none() {
            return Written::Refused("rel: expected a name in capitals".to_owned());
        }
        for (end, id) in [("from", &link.from), ("to", &link.to)] {
            if !self.records.contains_key(id) {
                return unknown(end, id);
            }
        }
        let key = (link.from.clone(), link.rel.clone(), link.to.clone());
        if self.links.contains(&key) {
            return Written::Same(link.from.clone());
        }
        if link.rel == RESPONDED_WITH {
            if self.questions.contains(&link.from) || self.answers.contains(&link.to) {
                let why = "one of the two is linked to another already, which stays";
                return Written::Refused(format!("{}: {why}", link.rel));
            }
            self.questions.insert(link.from.clone());
            self.answers.insert(link.to.clone());
        }
        if link.rel == SYNAPSE {
            self.new.wild.insert(link.from.clone());
        }
        let properties = Params::new()
            .with("n", self.number())
            .with("timestamp", link.timestamp.unwrap_or_default())
            .with("score", link.score)
            .with("model", or_null(link.model.as_deref()))
            .with("extra", as_json(&link.extra));
        let row = Params::new()
            .with("from", link.from.as_str())
            .with("to", link.to.as_str())
            .with("properties", BoltType::Map(properties.into()));
        self.new.links.entry(link.rel.clone()).or_default().push(row);
        self.links.insert(key);
        Written::New
    }

    /// The number of a scope, which may be new.
    fn scope(&mut self, scope: &Scope) -> i64 {
        if let Some(n) = self.scopes.get(scope) {
            return *n;
        }
        let n = self.number();
        self.scopes.insert(scope.clone(), n);
        n
    }
}

/// The content of a message in the properties that it has.
fn content(message: &Message) -> (Option<String>, Option<String>) {
    let parts = match &message.content {
        Content::Text(_) => None,
        Content::Parts(json) => Some(json.to_string()),
        Content::Null => Some("null".to_owned()),
    };
    (Some(message.content.text()), parts)
}

pub(super) fn face(message: &Message) -> Face {
    let (text, parts) = content(message);
    let text = text.unwrap_or_default();
    (
        message.scope.clone(),
        message.trace_id.clone(),
        message.role.name().into(),
        message.timestamp,
        text,
        parts,
    )
}

/// Members that have no property of their own, if there are any.
fn as_json(extra: &Object) -> BoltType {
    or_null((!extra.is_empty()).then(|| extra.to_json()))
}

/// A vector as a row to write.
pub(super) fn vector_row(embedding: &Embedding, place: &Place, mark: i64) -> Params {
    let properties = Params::new()
        .with("n", mark)
        .with("model", embedding.model.as_str())
        .with("near", super::vectors::nearness(&embedding.vector))
        .with("partition", place.scope.partition.as_str())
        .with("instance", place.scope.instance.as_str())
        .with("timestamp", place.timestamp)
        .with("extra", as_json(&embedding.extra));
    Params::new()
        .with("of", embedding.of.as_str())
        .with_vector("vector", &embedding.vector)
        .with("properties", BoltType::Map(properties.into()))
}

/// Why a vector cannot be one of its model's.
pub(super) fn misfit(model: &str, dim: usize, known: usize) -> String {
    format!("embedding: has {dim} numbers, but those of {model} have {known}")
}

/// The first name of a record that is too long to be found by it.
fn too_long(record: &Record) -> Option<&'static str> {
    let head = |id: &str, trace: &str, scope: &Scope| {
        let names =
            [("id", id), ("trace_id", trace), ("partition", &scope.partition), ("instance", &scope.instance)];
        names.iter().find(|(_, name)| name.len() > LONGEST).map(|(member, _)| *member)
    };
    match record {
        Record::Message(message) => head(&message.id, &message.trace_id, &message.scope),
        Record::Account(account) => {
            let digest =
                account.members.text("digest").ok().flatten().filter(|digest| digest.len() > LONGEST);
            head(&account.id, &account.trace_id, &account.scope).or(digest.map(|_| "digest"))
        }
        Record::Embedding(embedding) => (embedding.model.len() > LONGEST).then_some("model"),
        Record::Link(_) => None,
    }
}

fn unknown(member: &str, id: &str) -> Written {
    Written::Refused(format!("{member}: the store has no record {id}"))
}
