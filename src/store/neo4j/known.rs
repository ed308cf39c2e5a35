//! What is there of a batch that is to be written.

use super::batch::{Batch, New, Place, face};
use super::changes;
use super::fault::{Answer, Fault};
use super::read::number;
use super::server::Transaction;
use super::values::{Params, Row, or_null};
use super::write::{ROWS, lock_params, locked, scope_row};
use crate::record::{Link, Message, RESPONDED_WITH, Record, Scope};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// How many numbers a record of a batch needs: its own, that of the vector that comes with it, of a new scope, and
/// of a new model.
const NUMBERS: usize = 4;

impl Batch {
    /// Takes the writers' lock, and reads all that the records of a batch name.
    pub(super) fn read(transaction: &mut Transaction, batch: &[Record]) -> Answer<Batch> {
        let mut some = batch.chunks(ROWS);
        let asked = Asked::of(some.next().unwrap_or_default());
        let params = lock_params(NUMBERS * batch.len());
        let row = transaction.row(changes::LOCK_AND_KNOWN, asked.with(params))?.ok_or_else(nothing)?;
        let (next, models) = locked(&row)?;
        let mut there = Batch {
            next,
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
        there.take_in(&row, &asked)?;
        for some in some {
            let asked = Asked::of(some);
            let row = transaction.row(changes::KNOWN, asked.with(Params::new()))?.ok_or_else(nothing)?;
            there.take_in(&row, &asked)?;
        }
        Ok(there)
    }

    /// Adds what a row tells of what was asked.
    fn take_in(&mut self, row: &Row, asked: &Asked) -> Answer<()> {
        for (id, partition, instance, timestamp, message, role, content, parts) in
            row.get::<Vec<Known>>("records")?
        {
            let scope = Scope { partition, instance };
            if message {
                let said = (scope.clone(), role.unwrap_or_default(), content, parts);
                self.said.insert(id.clone(), said);
            }
            self.records.insert(id, Place { scope, timestamp, message });
        }
        for (i, id, element, content, parts, vector) in row.get::<Vec<Same>>("same")? {
            let Some(message) = asked.messages.get(i) else { continue };
            let mut face = face(message);
            face.4 = content.unwrap_or_default();
            face.5 = parts;
            if let (Some(id), Some(numbers), Some(known)) = (&id, vector, &message.vector) {
                self.vectors.insert((id.clone(), known.model.clone()), narrow(numbers));
            }
            self.faces.entry(face).or_insert(id.ok_or(element));
        }
        for (partition, instance, n) in row.get::<Vec<(String, String, i64)>>("scopes")? {
            self.scopes.insert(Scope { partition, instance }, n);
        }
        for (of, model, numbers) in row.get::<Vec<(String, String, Vec<f64>)>>("vectors")? {
            self.vectors.insert((of, model), narrow(numbers));
        }
        self.links.extend(row.get::<Vec<(String, String, String)>>("links")?);
        for (from, to) in row.get::<Vec<(String, String)>>("answers")? {
            self.questions.insert(from);
            self.answers.insert(to);
        }
        Ok(())
    }
}

/// A record that is there: id, partition, instance, timestamp, whether it is a message, role; and, if it is to be
/// compared, content and parts.
type Known = (String, String, String, i64, bool, Option<String>, Option<String>, Option<String>);

/// What may be the same as a message that was asked for: which, id, where it is, content, parts, and its vector.
type Same = (usize, Option<String>, String, Option<String>, Option<String>, Option<Vec<f64>>);

/// What is asked of some records: what they are, and what they name.
#[derive(Default)]
struct Asked<'a> {
    /// Ids, and whether what has them is to be compared.
    ids: BTreeMap<&'a str, bool>,
    /// These may be there under another id, or under none.
    messages: Vec<&'a Message>,
    scopes: BTreeSet<&'a Scope>,
    /// Of what, and of which model.
    vectors: Vec<(&'a str, &'a str)>,
    links: Vec<&'a Link>,
}

impl<'a> Asked<'a> {
    fn of(records: &'a [Record]) -> Asked<'a> {
        let mut asked = Asked::default();
        for record in records {
            match record {
                Record::Message(message) => {
                    asked.ids.insert(&message.id, true);
                    asked.messages.push(message);
                    asked.scopes.insert(&message.scope);
                    asked
                        .vectors
                        .extend(message.vector.iter().map(|v| (message.id.as_str(), v.model.as_str())));
                }
                Record::Account(account) => {
                    asked.ids.entry(&account.id).or_default();
                    asked.scopes.insert(&account.scope);
                }
                Record::Embedding(vector) => {
                    asked.ids.entry(&vector.of).or_default();
                    asked.vectors.push((&vector.of, &vector.model));
                }
                Record::Link(link) => {
                    asked.ids.entry(&link.from).or_default();
                    asked.ids.entry(&link.to).or_default();
                    asked.links.push(link);
                }
            }
        }
        asked
    }

    fn with(&self, params: Params) -> Params {
        let id = |(id, compare): (&&str, &bool)| Params::new().with("id", *id).with("compare", *compare);
        let message = |(i, message): (usize, &&Message)| {
            scope_row(&message.scope)
                .with("i", number(i))
                .with("trace_id", message.trace_id.as_str())
                .with("timestamp", message.timestamp)
                .with("role", message.role.name())
                .with("model", or_null(message.vector.as_ref().map(|vector| vector.model.as_str())))
        };
        let vector = |(of, model): &(&str, &str)| Params::new().with("of", *of).with("model", *model);
        let link = |link: &&Link| {
            Params::new()
                .with("from", link.from.as_str())
                .with("rel", link.rel.as_str())
                .with("to", link.to.as_str())
        };
        let pairs = self.links.iter().filter(|link| link.rel == RESPONDED_WITH);
        let ends: BTreeSet<&str> = pairs.flat_map(|link| [link.from.as_str(), link.to.as_str()]).collect();
        params
            .with_rows("ids", self.ids.iter().map(id))
            .with_rows("messages", self.messages.iter().enumerate().map(message))
            .with_rows("scopes", self.scopes.iter().copied().map(scope_row))
            .with_rows("vectors", self.vectors.iter().map(vector))
            .with_rows("links", self.links.iter().map(link))
            .with_texts("ends", ends)
    }
}

/// A vector, narrowed to what it was made of.
fn narrow(numbers: Vec<f64>) -> Vec<f32> {
    numbers.into_iter().map(|x| x as f32).collect()
}

fn nothing() -> Fault {
    Fault::Odd("a row was asked for, and none came".to_owned())
}
