//! What is there of a batch that is to be written.

use super::batch::{Batch, New, Place, face};
use super::changes;
use super::server::{Answer, Transaction};
use super::values::Params;
use super::write::{ROWS, lock, scope_row};
use crate::record::{Link, Message, RESPONDED_WITH, Record, Scope};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// How many numbers a record of a batch needs: its own, that of the vector that comes with it, of a new scope, and
/// of a new model.
const NUMBERS: usize = 4;

impl Batch {
    /// Takes the writers' lock, and reads all that the records of a batch name.
    pub(super) fn read(transaction: &mut Transaction, batch: &[Record]) -> Answer<Batch> {
        let (first, models) = lock(transaction, NUMBERS * batch.len())?;
        let mut there = Batch {
            next: first,
            records: HashMap::new(),
            said: HashMap::new(),
            faces: HashMap::new(),
            scopes: HashMap::new(),
            models,
            vectors: HashMap::new(),
            links: HashSet::new(),
            questions: HashSet::new(),
            answers: HashSet::new(),
            new: New::default(),
        };
        there.read_records(transaction, batch)?;
        there.read_faces(transaction, batch)?;
        there.read_scopes(transaction, batch)?;
        there.read_vectors(transaction, batch)?;
        there.read_links(transaction, batch)?;
        Ok(there)
    }

    fn read_records(&mut self, transaction: &mut Transaction, batch: &[Record]) -> Answer<()> {
        let mut ids: BTreeMap<&str, bool> = BTreeMap::new();
        for record in batch {
            match record {
                Record::Message(message) => *ids.entry(&message.id).or_default() = true,
                Record::Account(account) => drop(ids.entry(&account.id).or_default()),
                Record::Embedding(embedding) => drop(ids.entry(&embedding.of).or_default()),
                Record::Link(link) => {
                    ids.entry(&link.from).or_default();
                    ids.entry(&link.to).or_default();
                }
            }
        }
        let rows: Vec<Params> =
            ids.iter().map(|(id, compare)| Params::new().with("id", *id).with("compare", *compare)).collect();
        for rows in rows.chunks(ROWS) {
            let params = Params::new().with_rows("rows", rows.iter().cloned());
            for row in transaction.rows(changes::KNOWN_RECORDS, params)? {
                let (id, scope): (String, Scope) = (row.get("id")?, row.scope()?);
                let message = row.get("message")?;
                if message {
                    let role = row.get::<Option<String>>("role")?.unwrap_or_default();
                    let said = (scope.clone(), role, row.get("content")?, row.get("parts")?);
                    self.said.insert(id.clone(), said);
                }
                let place = Place { scope, timestamp: row.get("timestamp")?, message };
                self.records.insert(id, place);
            }
        }
        Ok(())
    }

    /// Reads what may be the same as a message of the batch under another id, or under none.
    fn read_faces(&mut self, transaction: &mut Transaction, batch: &[Record]) -> Answer<()> {
        let unknown: Vec<&Message> = batch
            .iter()
            .filter_map(|record| match record {
                Record::Message(message) if !self.records.contains_key(&message.id) => Some(message),
                _ => None,
            })
            .collect();
        for messages in unknown.chunks(ROWS) {
            let row = |(i, message): (usize, &&Message)| {
                Params::new()
                    .with("i", i as i64)
                    .with("trace_id", message.trace_id.as_str())
                    .with("timestamp", message.timestamp)
                    .with("partition", message.scope.partition.as_str())
                    .with("instance", message.scope.instance.as_str())
                    .with("role", message.role.name())
            };
            let params = Params::new().with_rows("rows", messages.iter().enumerate().map(row));
            for row in transaction.rows(changes::SAME_MESSAGES, params)? {
                let i = usize::try_from(row.get::<i64>("i")?).unwrap_or_default();
                let Some(message) = messages.get(i) else { continue };
                let mut face = face(message);
                face.4 = row.get::<Option<String>>("content")?.unwrap_or_default();
                face.5 = row.get("parts")?;
                let who = match row.get::<Option<String>>("id")? {
                    Some(id) => Ok(id),
                    None => Err(row.get("element")?),
                };
                self.faces.entry(face).or_insert(who);
            }
        }
        Ok(())
    }

    fn read_scopes(&mut self, transaction: &mut Transaction, batch: &[Record]) -> Answer<()> {
        let scopes: BTreeSet<&Scope> = batch
            .iter()
            .filter_map(|record| match record {
                Record::Message(message) => Some(&message.scope),
                Record::Account(account) => Some(&account.scope),
                _ => None,
            })
            .collect();
        if scopes.is_empty() {
            return Ok(());
        }
        let params = Params::new().with_rows("rows", scopes.into_iter().map(scope_row));
        for row in transaction.rows(changes::KNOWN_SCOPES, params)? {
            self.scopes.insert(row.scope()?, row.get("n")?);
        }
        Ok(())
    }

    fn read_vectors(&mut self, transaction: &mut Transaction, batch: &[Record]) -> Answer<()> {
        let known = |of: &str, model: &str| Some(Params::new().with("of", of).with("model", model));
        // What is not there has no vector.
        let row = |of: &str, model: &str| known(of, model).filter(|_| self.records.contains_key(of));
        let rows: Vec<Params> = batch
            .iter()
            .filter_map(|record| match record {
                Record::Embedding(vector) => row(&vector.of, &vector.model),
                Record::Message(message) => {
                    let vector = message.vector.as_ref()?;
                    let of = match self.faces.get(&face(message)) {
                        Some(Ok(id)) => id,
                        _ => &message.id,
                    };
                    // Under another id it is known all the same.
                    if *of == message.id { row(of, &vector.model) } else { known(of, &vector.model) }
                }
                _ => None,
            })
            .collect();
        for rows in rows.chunks(ROWS) {
            let params = Params::new().with_rows("rows", rows.iter().cloned());
            for row in transaction.rows(changes::KNOWN_VECTORS, params)? {
                self.vectors.insert((row.get("of")?, row.get("model")?), row.vector("vector")?);
            }
        }
        Ok(())
    }

    fn read_links(&mut self, transaction: &mut Transaction, batch: &[Record]) -> Answer<()> {
        let links: Vec<&Link> = batch
            .iter()
            .filter_map(|record| match record {
                // Between what is not there is no link.
                Record::Link(link) => {
                    let there = |id: &String| self.records.contains_key(id);
                    (there(&link.from) || there(&link.to)).then_some(link)
                }
                _ => None,
            })
            .collect();
        for links in links.chunks(ROWS) {
            let row = |link: &&Link| {
                Params::new()
                    .with("from", link.from.as_str())
                    .with("rel", link.rel.as_str())
                    .with("to", link.to.as_str())
            };
            let params = Params::new().with_rows("rows", links.iter().map(row));
            for row in transaction.rows(changes::KNOWN_LINKS, params)? {
                self.links.insert((row.get("from")?, row.get("rel")?, row.get("to")?));
            }
            let pairs = links.iter().filter(|link| link.rel == RESPONDED_WITH);
            let ends: BTreeSet<&str> =
                pairs.flat_map(|link| [link.from.as_str(), link.to.as_str()]).collect();
            let params = Params::new().with_texts("wanted", ends);
            for row in transaction.rows(changes::KNOWN_ANSWERS, params)? {
                self.questions.insert(row.get("from")?);
                self.answers.insert(row.get("to")?);
            }
        }
        Ok(())
    }
}
