//! Writing a batch: what is there of it is read, what follows is worked out here, and what is new is written, all
//! while the writers' lock is held.

use super::Neo4j;
use super::schema;
use super::server::{Answer, Transaction};
use super::statements;
use super::values::{Params, or_null};
use crate::record::{
    Account, Content, Embedding, Link, Message, Object, RESPONDED_WITH, Record, SYNAPSE, Scope, Vector,
    reservoir_model,
};
use crate::store::{Written, words};
use neo4rs::BoltType;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A name that is longer cannot be found by an index of the server's, in bytes.
const LONGEST: usize = 2000;

/// So many messages are taken over at a time.
const ADOPTED: i64 = 500;

/// So many rows of vectors are sent in one statement, and of anything else.
const VECTORS: usize = 500;
pub(super) const ROWS: usize = 2000;

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
    /// Models by name: number and dimension.
    pub(super) models: BTreeMap<String, (i64, usize)>,
    pub(super) vectors: HashMap<(String, String), Vec<f32>>,
    pub(super) links: HashSet<(String, String, String)>,
    /// Who is linked as a question, and as an answer.
    pub(super) questions: HashSet<String>,
    pub(super) answers: HashSet<String>,
    pub(super) new: New,
}

/// What is to be written.
#[derive(Default)]
pub(super) struct New {
    messages: Vec<Params>,
    adopted: Vec<Params>,
    accounts: Vec<Params>,
    vectors: Vec<Params>,
    links: BTreeMap<String, Vec<Params>>,
    /// New messages and their words, by scope.
    scopes: BTreeMap<Scope, (i64, i64)>,
    models: BTreeSet<String>,
    /// New vectors by model, and those of messages by model and scope.
    counts: BTreeMap<String, i64>,
    spaces: BTreeMap<(i64, Scope), i64>,
    wild: BTreeSet<String>,
}

impl Neo4j {
    /// Writes a batch; gives what became of each record.
    pub(super) fn write_batch(&self, batch: &[Record]) -> Answer<Vec<Written>> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        loop {
            let mut new = Vec::new();
            let written = self.server.write(|transaction| {
                let mut there = Batch::read(transaction, batch)?;
                let written = batch.iter().map(|record| there.add(record)).collect();
                new = there.new_models();
                if new.is_empty() {
                    there.write(transaction)?;
                } else {
                    transaction.take_back();
                }
                Ok(written)
            })?;
            if new.is_empty() {
                return Ok(written);
            }
            // An index that is there before the vectors costs far less than one that is made of them.
            self.add_models(&new)?;
        }
    }

    /// Makes models that have no vectors yet, and their indexes.
    fn add_models(&self, new: &[(String, usize)]) -> Answer<()> {
        self.server.write(|transaction| {
            let first = lock(transaction, new.len())?;
            let mut known = models(transaction)?;
            let (mut names, mut counts) = (BTreeSet::new(), BTreeMap::new());
            for (n, (name, dim)) in (first + 1..).zip(new) {
                if !known.contains_key(name) {
                    known.insert(name.clone(), (n, *dim));
                    names.insert(name.clone());
                    counts.insert(name.clone(), 0);
                }
            }
            grow(transaction, &known, &names, counts, BTreeMap::new())
        })?;
        self.index_models()
    }
}

impl Neo4j {
    /// Takes over what rsv did not write: writing the same makes it rsv's own. Of two that are the same one is.
    pub(super) fn adopt_strangers(&self) -> Answer<u64> {
        let mut adopted = 0;
        let mut after = String::new();
        loop {
            let params = Params::new().with("after", after.as_str()).with("count", ADOPTED);
            let rows = self.server.rows(statements::STRANGERS_TO_ADOPT, params)?;
            let mut batch = Vec::new();
            for row in &rows {
                after = row.get("element")?;
                let mut message = row.message()?;
                if row.get::<Option<Vec<f64>>>("vector")?.is_some() {
                    let numbers = row.vector("vector")?;
                    let model = reservoir_model(numbers.len()).ok();
                    message.vector = model.map(|model| Vector { model: model.to_owned(), numbers });
                }
                batch.push(Record::Message(message));
            }
            if batch.is_empty() {
                return Ok(adopted);
            }
            let written = self.write_batch(&batch)?;
            adopted += written.iter().filter(|written| matches!(written, Written::Same(_))).count() as u64;
        }
    }
}

/// Takes the writers' lock; gives the first of so many numbers.
pub(super) fn lock(transaction: &mut Transaction, count: usize) -> Answer<i64> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let params = Params::new().with("version", schema::VERSION).with("count", count);
    transaction.row(statements::LOCK, params)?.map_or(Ok(0), |row| row.get("n"))
}

/// The models that there are, by name: number and dimension.
pub(super) fn models(transaction: &mut Transaction) -> Answer<BTreeMap<String, (i64, usize)>> {
    let rows = transaction.rows(statements::MODELS, Params::new())?;
    let model = |row: &super::values::Row| {
        let dim = usize::try_from(row.get::<i64>("dim")?).unwrap_or_default();
        Ok((row.get("name")?, (row.get("n")?, dim)))
    };
    rows.iter().map(model).collect()
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

pub(super) fn scope_row(scope: &Scope) -> Params {
    Params::new().with("partition", scope.partition.as_str()).with("instance", scope.instance.as_str())
}

impl Batch {
    fn number(&mut self) -> i64 {
        self.next += 1;
        self.next
    }

    /// What becomes of a record; what is new of it is kept to be written.
    fn add(&mut self, record: &Record) -> Written {
        if let Some(name) = too_long(record) {
            return Written::Refused(format!(
                "{name}: is longer than {LONGEST} bytes, which Neo4j cannot index"
            ));
        }
        match record {
            Record::Message(message) => self.message(message),
            Record::Account(account) => self.account(account),
            Record::Embedding(embedding) => self.embedding(embedding),
            Record::Link(link) => self.link(link),
        }
    }

    /// Adds a message and the vector that came with it, or neither.
    fn message(&mut self, message: &Message) -> Written {
        let Some(vector) = &message.vector else { return self.without_vector(message) };
        if let Some(misfit) = self.misfit(&vector.model, vector.numbers.len()) {
            return misfit;
        }
        let written = self.without_vector(message);
        let of = match &written {
            Written::New => message.id.clone(),
            Written::Same(id) => id.clone(),
            _ => return written,
        };
        let (model, vector) = (vector.model.clone(), vector.numbers.clone());
        self.embedding(&Embedding { of, model, vector, extra: Object::default() });
        written
    }

    fn without_vector(&mut self, message: &Message) -> Written {
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
                self.new.adopted.push(properties.with("element", element));
                self.note(message, said, face);
                return Written::Same(message.id.clone());
            }
            None => {}
        }
        let properties = self.properties(message, &said);
        self.new.messages.push(properties);
        self.note(message, said, face);
        Written::New
    }

    fn note(&mut self, message: &Message, said: Said, face: Face) {
        let place = Place { scope: message.scope.clone(), timestamp: message.timestamp, message: true };
        self.records.insert(message.id.clone(), place);
        self.said.insert(message.id.clone(), said);
        self.faces.insert(face, Ok(message.id.clone()));
    }

    /// A message as a row to write.
    fn properties(&mut self, message: &Message, (scope, role, text, parts): &Said) -> Params {
        let text = text.as_deref().unwrap_or_default();
        let folded = words::fold(text);
        let all: Vec<&str> = words::words(&folded).collect();
        let number = self.scope(scope);
        let counts = self.new.scopes.entry(scope.clone()).or_default();
        *counts = (counts.0 + 1, counts.1 + all.len() as i64);
        let n = self.number();
        let url = message.extra.text("url").ok().flatten();
        let properties = Params::new()
            .with("id", message.id.as_str())
            .with("n", n)
            .with("trace_id", message.trace_id.as_str())
            .with("partition", scope.partition.as_str())
            .with("instance", scope.instance.as_str())
            .with("role", role.as_str())
            .with("content", text)
            .with("parts", or_null(parts.as_deref()))
            .with("timestamp", message.timestamp)
            .with("seq", i64::from(message.seq))
            .with("url", or_null(url))
            .with("extra", as_json(&message.extra))
            .with("words", super::find::indexed(number, &all));
        let blank = text.trim().is_empty();
        let properties = if blank { properties.with("blank", true) } else { properties };
        let lacks: Vec<String> =
            self.models.values().filter(|_| !blank).map(|(model, _)| lacks_label(*model)).collect();
        Params::new()
            .with("properties", BoltType::Map(properties.into()))
            .with_texts("labels", lacks.iter().map(String::as_str))
    }

    fn account(&mut self, account: &Account) -> Written {
        if self.records.contains_key(&account.id) {
            return Written::Same(account.id.clone());
        }
        self.scope(&account.scope);
        self.new.scopes.entry(account.scope.clone()).or_default();
        let properties = Params::new()
            .with("id", account.id.as_str())
            .with("n", self.number())
            .with("trace_id", account.trace_id.as_str())
            .with("partition", account.scope.partition.as_str())
            .with("instance", account.scope.instance.as_str())
            .with("timestamp", account.timestamp)
            .with("digest", or_null(account.members.text("digest").ok().flatten()))
            .with("extra", account.members.to_json());
        self.new.accounts.push(Params::new().with("properties", BoltType::Map(properties.into())));
        let (scope, timestamp) = (account.scope.clone(), account.timestamp);
        let place = Place { scope, timestamp, message: false };
        self.records.insert(account.id.clone(), place);
        Written::New
    }

    fn embedding(&mut self, embedding: &Embedding) -> Written {
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
        self.new.vectors.push(vector_row(embedding, &place, model, mark));
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
        if statements::of_relation("", &link.rel).is_none() {
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

    /// The models that are not there yet, with their dimensions.
    fn new_models(&self) -> Vec<(String, usize)> {
        let dim = |name: &String| Some((name.clone(), self.models.get(name)?.1));
        self.new.models.iter().filter_map(dim).collect()
    }

    fn write(self, transaction: &mut Transaction) -> Answer<()> {
        let Batch { new, scopes, models, .. } = self;
        let number_of = |scope: &Scope| scopes.get(scope).copied().unwrap_or_default();
        let scopes = new.scopes.iter().map(|(scope, (messages, words))| {
            scope_row(scope).with("n", number_of(scope)).with("messages", *messages).with("words", *words)
        });
        add(transaction, statements::ADD_SCOPES, scopes.collect(), ROWS)?;
        add(transaction, statements::ADD_MESSAGES, new.messages, ROWS)?;
        add(transaction, statements::ADOPT, new.adopted, ROWS)?;
        add(transaction, statements::ADD_ACCOUNTS, new.accounts, ROWS)?;
        grow(transaction, &models, &new.models, new.counts, new.spaces)?;
        add(transaction, statements::ADD_VECTORS, new.vectors, VECTORS)?;
        for (rel, rows) in new.links {
            if let Some(statement) = statements::of_relation(statements::ADD_LINKS, &rel) {
                add(transaction, &statement, rows, ROWS)?;
            }
        }
        if !new.wild.is_empty() {
            let wanted = new.wild.iter().map(String::as_str);
            transaction.run(statements::NOTE_WILD, Params::new().with_texts("wanted", wanted))?;
        }
        Ok(())
    }
}

/// Counts new vectors; every message with words lacks one of a new model.
pub(super) fn grow(
    transaction: &mut Transaction,
    models: &BTreeMap<String, (i64, usize)>,
    new: &BTreeSet<String>,
    counts: BTreeMap<String, i64>,
    spaces: BTreeMap<(i64, Scope), i64>,
) -> Answer<()> {
    let counted = counts.iter().filter_map(|(name, vectors)| {
        let (n, dim) = models.get(name)?;
        let row = Params::new().with("name", name.as_str()).with("n", *n).with("dim", *dim as i64);
        Some(row.with("vectors", *vectors))
    });
    add(transaction, statements::ADD_MODELS, counted.collect(), ROWS)?;
    let spaces = spaces
        .iter()
        .map(|((model, scope), vectors)| scope_row(scope).with("model", *model).with("vectors", *vectors));
    add(transaction, statements::ADD_SPACES, spaces.collect(), ROWS)?;
    for name in new {
        if let Some((n, _)) = models.get(name) {
            let label = Params::new().with("label", lacks_label(*n));
            transaction.run(statements::BEGIN_LACKING, label)?;
        }
    }
    Ok(())
}

/// Runs a statement over rows, so many at a time.
pub(super) fn add(
    transaction: &mut Transaction,
    statement: &str,
    rows: Vec<Params>,
    size: usize,
) -> Answer<()> {
    let mut rows = rows.into_iter().peekable();
    while rows.peek().is_some() {
        let some: Vec<Params> = rows.by_ref().take(size).collect();
        transaction.run(statement, Params::new().with_rows("rows", some))?;
    }
    Ok(())
}

/// The label of messages that lack a vector of a model.
pub(super) fn lacks_label(model: i64) -> String {
    format!("RsvLacks{model}")
}

/// A vector as a row to write. Only those of messages are searched for and compared.
pub(super) fn vector_row(embedding: &Embedding, place: &Place, model: i64, mark: i64) -> Params {
    let mut labels = vec![format!("Embedding{}", embedding.vector.len())];
    if place.message {
        labels.extend([format!("RsvVector{model}"), format!("RsvWaiting{model}")]);
    }
    let properties = Params::new()
        .with("n", mark)
        .with("model", embedding.model.as_str())
        .with_vector("embedding", &embedding.vector)
        .with("near", super::vectors::nearness(&embedding.vector))
        .with("partition", place.scope.partition.as_str())
        .with("instance", place.scope.instance.as_str())
        .with("timestamp", place.timestamp)
        .with("extra", as_json(&embedding.extra));
    Params::new()
        .with("of", embedding.of.as_str())
        .with("properties", BoltType::Map(properties.into()))
        .with_texts("labels", labels.iter().map(String::as_str))
        .with_texts("lacks", [lacks_label(model).as_str()])
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
        Record::Account(account) => head(&account.id, &account.trace_id, &account.scope),
        Record::Embedding(embedding) => (embedding.model.len() > LONGEST).then_some("model"),
        Record::Link(_) => None,
    }
}

fn unknown(member: &str, id: &str) -> Written {
    Written::Refused(format!("{member}: the store has no record {id}"))
}
