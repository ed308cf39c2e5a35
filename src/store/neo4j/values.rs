//! Values on their way to the server and back: what a statement is given, and what its rows hold.

use super::fault::{Answer, Fault};
use crate::record::{Account, Content, Draft, Embedding, Fill, Link, Message, Object, Role, Scope};
use crate::store::cosine::Query;
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

    /// The same with a vector that others are compared with, and whether it is zero. Of its direction a cosine knows
    /// no more than whole numbers tell, which take half as many bytes.
    pub(super) fn with_question(self, vector: &[f32]) -> Params {
        let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
        let scale = if length > 0.0 { f64::from(i32::MAX) / length } else { 0.0 };
        let numbers = vector.iter().map(|x| (f64::from(*x) * scale).round() as i64);
        self.with("vector", numbers.collect::<BoltType>()).with("flat", length == 0.0)
    }

    /// The same with the numbers of a vector, or of nothing.
    pub(super) fn with_vector(self, name: &str, vector: &[f32]) -> Params {
        self.with(name, vector.iter().map(|x| f64::from(*x)).collect::<BoltType>())
    }

    /// The same with texts, of which there may be none.
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

/// A text, or nothing.
pub(super) fn or_null(text: Option<impl AsRef<str>>) -> BoltType {
    text.map_or(BoltType::Null(BoltNull), |text| BoltType::from(text.as_ref()))
}

/// A message or an account as `statements::message` lists it: id, trace_id, partition, instance, role, content, parts,
/// timestamp, seq, extra, url, n.
pub(super) type Listed = (
    Option<String>,
    Option<String>,
    String,
    String,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<i64>,
    Option<u32>,
    Option<String>,
    Option<String>,
    Option<i64>,
);

/// A link as `statements::link` lists it: rel, from, to, timestamp, score, model, extra.
pub(super) type Linked = (String, String, String, Option<i64>, Option<f64>, Option<String>, Option<String>);

/// How near a vector is to that of a question, as `statements::cosine` has it: the cosine, or the vector; neither if
/// there is none.
pub(super) type Compared = (Option<f64>, Option<Vec<f64>>);

/// A row of an answer.
pub(super) struct Row(pub(super) neo4rs::Row);

impl Row {
    /// The value of a column.
    pub(super) fn get<'a, T: Deserialize<'a>>(&'a self, name: &str) -> Answer<T> {
        self.0.get(name).map_err(|e| Fault::Odd(format!("{name}: {e}")))
    }

    /// A vector, narrowed to what it was made of.
    pub(super) fn vector(&self, name: &str) -> Answer<Vec<f32>> {
        Ok(self.get::<Vec<f64>>(name)?.into_iter().map(|x| x as f32).collect())
    }

    /// The columns `partition` and `instance`.
    pub(super) fn scope(&self) -> Answer<Scope> {
        Ok(Scope { partition: self.get("partition")?, instance: self.get("instance")? })
    }

    /// The message that the row lists.
    pub(super) fn message(&self) -> Answer<Message> {
        message(self.get("message")?).map(|(message, _)| message)
    }

    /// The account that the row lists.
    pub(super) fn account(&self) -> Answer<Account> {
        let (id, trace_id, partition, instance, .., timestamp, _, extra, _, _): Listed =
            self.get("message")?;
        let lacking = || Fault::Odd("an account without id, trace or time".to_owned());
        Ok(Account {
            id: id.ok_or_else(lacking)?,
            trace_id: trace_id.ok_or_else(lacking)?,
            scope: Scope { partition, instance },
            timestamp: timestamp.ok_or_else(lacking)?,
            members: object("extra", extra.as_deref())?,
        })
    }

    /// An embedding, of the columns `of`, `model`, `vector` and `extra`.
    pub(super) fn embedding(&self) -> Answer<Embedding> {
        Ok(Embedding {
            of: self.get("of")?,
            model: self.get("model")?,
            vector: self.vector("vector")?,
            extra: object("extra", self.get("extra")?)?,
        })
    }

    /// The link that the row lists.
    pub(super) fn link(&self) -> Answer<Link> {
        link(self.get("link")?)
    }
}

/// What a column or a property holds: members as JSON, or nothing.
fn object(name: &str, json: Option<&str>) -> Answer<Object> {
    json.map_or_else(|| Ok(Object::default()), Object::parse).map_err(|e| Fault::Odd(format!("{name}: {e}")))
}

/// A message as it is listed, and its number, which one that rsv did not write has not. One without an id, which rsv did
/// not write either, has the id that follows from what it is.
pub(super) fn message(listed: Listed) -> Answer<(Message, Option<i64>)> {
    let (id, trace_id, partition, instance, role, content, parts, timestamp, seq, extra, url, n) = listed;
    let role: Role =
        role.unwrap_or_default().parse().map_err(|e: crate::error::Error| Fault::Odd(e.to_string()))?;
    let content = match parts {
        None => Content::Text(content.unwrap_or_default()),
        Some(parts) if parts == "null" => Content::Null,
        Some(parts) => Content::Parts(parts.into()),
    };
    let mut extra = object("extra", extra.as_deref())?;
    if let (None, Some(url)) = (&id, url) {
        extra.set_text("url", &url);
    }
    let draft = Draft {
        id,
        trace_id,
        partition: Some(partition),
        instance: Some(instance),
        timestamp,
        seq: seq.or(Some(0)),
        extra,
        ..Draft::new(role, content)
    };
    let fill = Fill { partition: None, instance: None, trace_id: String::new(), timestamp: 0, seq: 0 };
    Ok((draft.complete(&fill).map_err(|e| Fault::Odd(e.to_string()))?, n))
}

/// A link as it is listed; its time is 0 where it has none.
pub(super) fn link((rel, from, to, timestamp, score, model, extra): Linked) -> Answer<Link> {
    let extra = object("extra", extra.as_deref())?;
    Ok(Link { rel, from, to, timestamp: timestamp.or(Some(0)), score, model, extra })
}

/// The cosine with the question's vector; none where there is nothing to compare.
pub(super) fn cosine((cosine, vector): Compared, query: &Query) -> Option<f64> {
    match (cosine, vector) {
        (Some(cosine), _) => Some(cosine.clamp(-1.0, 1.0)),
        (None, Some(vector)) => Some(query.cosine_with(vector.into_iter().map(|x| x as f32))),
        (None, None) => None,
    }
}
