//! A row of the audit: which token read or changed which records, when, and from where. It has names,
//! addresses and ids, and never a text.

use super::object::{Object, invalid, quote};
use super::scope::Scope;
use super::time;
use crate::error::{Error, Result};
use std::str::FromStr;

/// The most ids that a row names.
pub const MAX_AUDITED_IDS: usize = 100;

/// The effect of a request on the memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuditAction {
    Read,
    Write,
    Forget,
    Admin,
}

impl AuditAction {
    /// The words of all actions, for errors.
    pub const NAMES: &'static str = "read, write, forget or admin";

    const ALL: [AuditAction; 4] =
        [AuditAction::Read, AuditAction::Write, AuditAction::Forget, AuditAction::Admin];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            AuditAction::Read => "read",
            AuditAction::Write => "write",
            AuditAction::Forget => "forget",
            AuditAction::Admin => "admin",
        }
    }
}

impl FromStr for AuditAction {
    type Err = Error;

    fn from_str(word: &str) -> Result<AuditAction> {
        let known = AuditAction::ALL.into_iter().find(|action| action.name() == word);
        known.ok_or_else(|| invalid("action", format!("{word} is not known")))
    }
}

/// The records that a request read or changed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TouchedRecords {
    /// The ids of the first `MAX_AUDITED_IDS` of them.
    pub ids: Vec<String>,
    /// The number of all.
    pub count: u64,
}

impl TouchedRecords {
    /// Those with these ids.
    pub fn of<'a>(ids: impl IntoIterator<Item = &'a str>) -> TouchedRecords {
        let mut touched = TouchedRecords::default();
        for id in ids {
            touched.count += 1;
            if touched.ids.len() < MAX_AUDITED_IDS {
                touched.ids.push(id.to_owned());
            }
        }
        touched
    }
}

/// One request.
#[derive(Clone, PartialEq, Debug)]
pub struct AuditRow {
    /// The name of the row, by which it is written once; of one writer, later names sort after earlier ones.
    pub id: String,
    /// Milliseconds since 1970, UTC.
    pub timestamp: i64,
    /// The name of the caller's token; empty for the owner.
    pub token: String,
    /// The address that the request came from, if it is known.
    pub address: Option<String>,
    pub action: AuditAction,
    /// The method and the path, without the query.
    pub route: String,
    pub scope: Scope,
    /// The status of the response.
    pub status: u16,
    /// The trace of the turn that the response answers, if it answers one.
    pub trace_id: Option<String>,
    pub records: TouchedRecords,
}

impl AuditRow {
    /// The row as a line.
    pub fn to_object(&self) -> Object {
        let mut line = Object::default();
        line.set_text("kind", "audit");
        line.set("timestamp", self.timestamp.to_string());
        line.set_text("created_at", &time::rfc3339(self.timestamp));
        line.set_text("token", &self.token);
        if let Some(address) = &self.address {
            line.set_text("address", address);
        }
        line.set_text("action", self.action.name());
        line.set_text("route", &self.route);
        line.set_text("partition", &self.scope.partition);
        line.set_text("instance", &self.scope.instance);
        line.set("status", self.status.to_string());
        if let Some(trace_id) = &self.trace_id {
            line.set_text("trace_id", trace_id);
        }
        let ids: Vec<String> = self.records.ids.iter().map(|id| quote(id)).collect();
        line.set("count", self.records.count.to_string());
        line.set("records", format!("[{}]", ids.join(",")));
        line
    }
}
