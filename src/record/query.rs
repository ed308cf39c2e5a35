//! One of many questions in one run.

use super::members::{name, time_member};
use super::object::{Object, invalid, missing, unexpected};
use super::{Role, Scopes};
use crate::error::Result;

/// A question as a line. Missing members are taken from the command line.
#[derive(Clone, Debug)]
pub struct Query {
    pub text: String,
    /// The name by which its hits refer to it, as JSON: its id, else the number of its line.
    pub name: String,
    pub scopes: Option<Scopes>,
    pub limit: Option<usize>,
    pub role: Option<Role>,
    /// The earliest and the latest timestamp.
    pub since: Option<i64>,
    pub until: Option<i64>,
    /// The traces and the ids that are left out.
    pub exclude_trace: Option<Vec<String>>,
    pub exclude: Option<Vec<String>>,
    /// The addresses at and below which hits lie.
    pub targets: Option<Vec<String>>,
    line: Object,
}

impl Query {
    /// Reads a query, which stands on the line `number`. Errors name the member.
    pub fn parse(line: Object, number: u64) -> Result<Query> {
        if let Some(kind) = line.text("kind")?.filter(|kind| kind != "query") {
            return Err(invalid("kind", format!("expected query, found {kind:?}")));
        }
        let text = name(&line, "query")?.ok_or_else(|| missing("query"))?;
        let (partition, instance) = (name(&line, "partition")?, name(&line, "instance")?);
        let scoped = partition.is_some() || instance.is_some();
        let limit = line.integer("limit")?.map(|limit| {
            usize::try_from(limit).map_err(|_| unexpected("limit", "a number from 0", "a negative one"))
        });
        Ok(Query {
            text,
            name: line.get("id").map_or_else(|| number.to_string(), str::to_owned),
            scopes: scoped.then(|| Scopes::to_read(partition.as_deref(), instance.as_deref())).transpose()?,
            limit: limit.transpose()?,
            role: line.text("role")?.map(|role| role.parse()).transpose()?,
            since: time_member(&line, "since")?,
            until: time_member(&line, "until")?,
            exclude_trace: names(&line, "exclude_trace")?,
            exclude: names(&line, "exclude")?,
            targets: names(&line, "target")?,
            line,
        })
    }

    /// Appends the line that answers a question which found nothing.
    pub fn write_miss(&self, out: &mut Vec<u8>) {
        let mut line = Object::default();
        line.set_text("kind", "query");
        for (name, json) in self.line.iter() {
            line.set(name, json);
        }
        line.set("hits", "0");
        line.write(out);
        out.push(b'\n');
    }
}

/// An optional member that must be a name or an array of names.
fn names(line: &Object, member: &str) -> Result<Option<Vec<String>>> {
    match line.get(member) {
        None | Some("null") => Ok(None),
        Some(json) if json.starts_with('[') => serde_json::from_str(json).map(Some),
        Some(json) => serde_json::from_str(json).map(|name| Some(vec![name])),
    }
    .map_err(|_| unexpected(member, "a string or an array of strings", line.get(member).unwrap_or_default()))
}
