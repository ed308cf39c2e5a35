//! Conversion of values: the parameters of a statement, and the columns of its rows.

use super::error::{DbError, DbResult};
use crate::error::Error;
use crate::record::{
    Content, Draft, DraftDefaults, Embedding, Link, Object, Role, Scope, StoredRecord, Tombstone,
    TombstoneState, missing, time,
};
use crate::vector::QuantizedQuery;
use neo4rs::{BoltList, BoltMap, BoltNull, BoltString, BoltType};
use serde::Deserialize;

/// Values by name: the parameters of a statement, or one of its rows to write.
#[derive(Clone, Default)]
pub(super) struct Params(BoltMap);

impl Params {
    pub(super) fn new() -> Params {
        Params::default()
    }

    /// The same with one more value.
    pub(super) fn with(mut self, name: &str, value: impl Into<BoltType>) -> Params {
        self.0.put(BoltString::from(name), value.into());
        self
    }

    /// The same with a value, if there is one.
    pub(super) fn with_some(self, name: &str, value: Option<impl Into<BoltType>>) -> Params {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// The same with a question's vector, and whether it is zero. Whole numbers give its direction exactly
    /// enough for a cosine, in half as many bytes.
    pub(super) fn with_question(self, vector: &[f32]) -> Params {
        let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
        let scale = if length > 0.0 { f64::from(i32::MAX) / length } else { 0.0 };
        let numbers = vector.iter().map(|x| (f64::from(*x) * scale).round() as i64);
        self.with("vector", numbers.collect::<BoltType>()).with("flat", length == 0.0)
    }

    /// The same with the numbers of a vector.
    pub(super) fn with_vector(self, name: &str, vector: &[f32]) -> Params {
        self.with(name, vector.iter().map(|x| f64::from(*x)).collect::<BoltType>())
    }

    /// The same with texts, possibly none.
    pub(super) fn with_texts<'a>(self, name: &str, texts: impl IntoIterator<Item = &'a str>) -> Params {
        self.with(name, texts.into_iter().collect::<BoltType>())
    }

    /// The same with rows.
    pub(super) fn with_rows(self, name: &str, rows: impl IntoIterator<Item = Params>) -> Params {
        let value = rows.into_iter().map(|row| BoltType::Map(row.0)).collect();
        self.with(name, BoltType::List(BoltList { value }))
    }
}

impl From<Params> for BoltMap {
    fn from(params: Params) -> BoltMap {
        params.0
    }
}

/// A text, or null.
pub(super) fn or_null(text: Option<impl AsRef<str>>) -> BoltType {
    text.map_or(BoltType::Null(BoltNull), |text| BoltType::from(text.as_ref()))
}

/// A vector of the server's 64-bit numbers, narrowed to the 32 bits of the original.
pub(super) fn narrow(numbers: Vec<f64>) -> Vec<f32> {
    numbers.into_iter().map(|x| x as f32).collect()
}

/// A text that may be missing.
pub(super) type Text = Option<String>;

/// A link as `statements` lists it: rel, from, to, timestamp, score, model, extra.
pub(super) type ListedLink = (String, String, String, Option<i64>, Option<f64>, Text, Text);

/// A tombstone as `statements` lists it: of, also, what, partition, instance, state, timestamp, extra.
pub(super) type ListedTombstone = (String, Text, String, String, String, String, i64, Text);

/// The nearness of a vector to a question's as `statements` returns it: the cosine, or the vector; neither if
/// there is none.
pub(super) type Nearness = (Option<f64>, Option<Vec<f64>>);

/// A row of an answer.
pub(super) struct Row(pub(super) neo4rs::Row);

impl Row {
    /// The value of a column. Fails if it is missing or of another type.
    pub(super) fn get<'a, T: Deserialize<'a>>(&'a self, name: &str) -> DbResult<T> {
        self.0.get(name).map_err(|e| DbError::Unexpected(format!("{name}: {e}")))
    }

    /// The value of a column that is a count. Fails if it is missing or has another type.
    pub(super) fn count(&self, name: &str) -> DbResult<u64> {
        self.get::<i64>(name).map(i64::unsigned_abs)
    }

    /// The vector in a column, of any length (norm), narrowed to 32 bits. Fails if it is missing or has
    /// another type.
    pub(super) fn vector(&self, name: &str) -> DbResult<Vec<f32>> {
        self.get(name).map(narrow)
    }

    /// The columns `partition` and `instance`. Fails if one is missing.
    pub(super) fn scope(&self) -> DbResult<Scope> {
        Ok(Scope { partition: self.get("partition")?, instance: self.get("instance")? })
    }

    /// An embedding, of the columns `of`, `model`, `vector` and `extra`. Fails if one is missing or has
    /// another type.
    pub(super) fn embedding(&self) -> DbResult<Embedding> {
        Ok(Embedding {
            of: self.get("of")?,
            model: self.get("model")?,
            vector: self.vector("vector")?,
            extra: object("extra", self.get("extra")?)?,
        })
    }

    /// The link that the row lists. Fails if its extra members are no JSON.
    pub(super) fn link(&self) -> DbResult<Link> {
        link(self.get("link")?)
    }

    /// The tombstone that the row lists. Fails if its state is unknown.
    pub(super) fn tombstone(&self) -> DbResult<Tombstone> {
        tombstone(self.get("tombstone")?)
    }
}

/// Converts a listed tombstone. Fails if its state is unknown, or its extra members are no JSON.
pub(super) fn tombstone(listed: ListedTombstone) -> DbResult<Tombstone> {
    let (of, also, what, partition, instance, state, timestamp, extra) = listed;
    let known = TombstoneState::named(&state);
    let state = known.ok_or_else(|| unexpected(format!("state: {state} is not known")))?;
    let extra = object("extra", extra.as_deref())?;
    Ok(Tombstone { of, also, what, scope: Scope { partition, instance }, state, timestamp, extra })
}

/// The value of a column or a property: members as JSON, or null. Fails if it is other JSON.
pub(super) fn object(name: &str, json: Option<&str>) -> DbResult<Object> {
    let object = json.map_or_else(|| Ok(Object::default()), Object::parse);
    object.map_err(|e| DbError::Unexpected(format!("{name}: {e}")))
}

/// A message that rsv did not write as `statements` lists it: its node, trace_id, partition, instance, role,
/// content, timestamp, url.
pub(super) type ListedUnadopted = (String, Text, Text, Text, Text, Text, Text, Text);

/// Converts a listed message that rsv did not write. Its time may be a number or a text. The error names its
/// node.
pub(super) fn unadopted(listed: ListedUnadopted) -> Result<StoredRecord, Error> {
    let (element, trace_id, partition, instance, role, content, timestamp, url) = listed;
    let read = || {
        let required = |name: &str, value: Option<String>| {
            value.filter(|value| !value.is_empty()).ok_or_else(|| missing(name))
        };
        let mut members = Object::default();
        if let Some(url) = url {
            members.set_text("url", &url);
        }
        let role: Role = required("role", role)?.parse()?;
        let timestamp = time::parse(&required("timestamp", timestamp)?).map_err(|e| e.at("timestamp"))?;
        let draft = Draft {
            trace_id: Some(required("trace_id", trace_id)?),
            partition: Some(required("partition", partition)?),
            instance: Some(required("instance", instance)?),
            timestamp: Some(timestamp),
            seq: Some(0),
            members,
            ..Draft::message(role, Content::Text(content.unwrap_or_default()))
        };
        draft.complete(&NO_DEFAULTS)
    };
    read().map_err(|error| error.at(format_args!("cannot read MessageNode {element}")))
}

pub(super) const NO_DEFAULTS: DraftDefaults =
    DraftDefaults { partition: None, instance: None, trace_id: String::new(), timestamp: 0, seq: 0 };

pub(super) fn unexpected(what: impl ToString) -> DbError {
    DbError::Unexpected(what.to_string())
}

/// Converts a listed link; a missing time is 0. Fails if its extra members are no JSON.
pub(super) fn link((rel, from, to, timestamp, score, model, extra): ListedLink) -> DbResult<Link> {
    let extra = object("extra", extra.as_deref())?;
    Ok(Link { rel, from, to, timestamp: timestamp.or(Some(0)), score, model, extra })
}

/// The cosine with the question's vector; `None` if there is no vector.
pub(super) fn cosine((cosine, vector): Nearness, query: &QuantizedQuery) -> Option<f64> {
    match (cosine, vector) {
        (Some(cosine), _) => Some(cosine.clamp(-1.0, 1.0)),
        (None, Some(vector)) => Some(query.cosine_with(vector.into_iter().map(|x| x as f32))),
        (None, None) => None,
    }
}
