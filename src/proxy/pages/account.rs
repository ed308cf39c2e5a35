//! The records that were recalled for a turn, and why, from the account of the turn.

use super::message::beginning;
use super::page_request::PageRequest;
use crate::enrich;
use crate::error::Result;
use crate::picture::escaped;
use crate::proxy::http::Page;
use crate::record::{ACCOUNT, Account, RecalledPart, Scope, Scopes, StoredRecord, kinds};
use crate::store::{Select, Store};
use crate::text::counted;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

/// The number of records that are looked up at once.
const BATCH: usize = 500;

/// The most records that are listed as left out for one reason.
const MAX_LEFT_OUT: usize = 3;

/// The bytes of the beginning of a record.
const EXCERPT: usize = 120;

/// The accounts of some turns as markup, by their traces. Records that the caller may not see have their ids
/// alone.
pub(super) fn of_traces(
    store: &mut dyn Store,
    request: &PageRequest,
    scope: &Scope,
    traces: &[String],
) -> Result<BTreeMap<String, String>> {
    let of_trace = |trace: &String| Select {
        trace_id: Some(trace.clone()),
        ..Select::records(vec![&ACCOUNT], Scopes::One(scope.clone()))
    };
    let which: Vec<Select> = traces.iter().map(of_trace).collect();
    let accounts: Vec<StoredRecord> = store.last(&which, 1)?.into_iter().flatten().collect();
    let mut ids: Vec<String> = accounts.iter().flat_map(enrich::ids_in_account).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut named = HashMap::new();
    for some in ids.chunks(BATCH) {
        let some: Vec<&str> = some.iter().map(String::as_str).collect();
        let found = store.get(&some, &Select::records(kinds(), request.scopes()))?;
        named.extend(found.into_iter().map(|record| (record.id.clone(), record)));
    }
    let shown = |record: &StoredRecord| (record.trace_id.clone(), to_html(request, record, &named));
    Ok(accounts.iter().map(shown).collect())
}

/// An account: how many records were recalled and how many tokens they took, and behind it each of them.
fn to_html(request: &PageRequest, record: &StoredRecord, named: &HashMap<String, StoredRecord>) -> String {
    let account = Account::from_record(record);
    let lists = [
        ("memory", &account.memories),
        ("document", &account.documents),
        ("", &account.recalled),
        ("recent", &account.recent),
        ("action", &account.actions),
    ];
    let parts: Vec<(&str, &RecalledPart)> =
        lists.iter().flat_map(|(why, parts)| parts.iter().map(|part| (*why, part))).collect();
    let tokens: u64 = parts.iter().map(|(_, part)| part.tokens).sum();
    let summary = match parts.len() {
        0 => "Nothing was recalled".to_owned(),
        count => format!("{} recalled, {}", counted(count as u64, "record"), counted(tokens, "token")),
    };
    let mut out = format!("<details class=\"account\"><summary>{summary}</summary>\n<ul>\n");
    for (why, part) in parts {
        let _ = writeln!(out, "<li>{}</li>", recalled(request, part, why, named));
    }
    for (reason, ids) in left_out(&account) {
        let links: Vec<String> =
            ids.iter().take(MAX_LEFT_OUT).map(|id| link(request, id, None, named)).collect();
        let more = match ids.len().saturating_sub(MAX_LEFT_OUT) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let _ = writeln!(
            out,
            "<li class=\"left-out\">left out, since {}: {}{more}</li>",
            escaped(&enrich::reason_text(reason)),
            links.join(", ")
        );
    }
    let mut seen = record.clone();
    if !request.sees_all() && seen.members.has("beyond_reach") {
        // It counts messages of others.
        seen.members.set("beyond_reach", "0");
    }
    for line in enrich::trouble_in_account(&seen) {
        let _ = writeln!(out, "<li class=\"trouble\">{}</li>", escaped(&line));
    }
    out.push_str("</ul></details>\n");
    out
}

/// A recalled record, and why: `related, score 0.82, 34 tokens, in part`.
fn recalled(
    request: &PageRequest,
    part: &RecalledPart,
    why: &str,
    named: &HashMap<String, StoredRecord>,
) -> String {
    let why = match why {
        "" if part.pinned => "always recalled",
        "" if part.hop > 0 => "linked to a related one",
        "" => "related",
        why => why,
    };
    let mut words = vec![why.to_owned()];
    words.extend(part.score.map(|score| format!("score {score:.2}")));
    words.extend(part.confidence.as_ref().map(|confidence| format!("confidence {confidence}")));
    words.push(counted(part.tokens, "token"));
    words.extend(part.quoted.as_ref().map(|_| "in part".to_owned()));
    words.extend(
        part.newer
            .first()
            .map(|newer| (if newer.is_correction() { "corrected" } else { "superseded" }).to_owned()),
    );
    words.extend(part.files.iter().map(ToString::to_string));
    let uri = part.document.as_ref().map(|document| document.uri.as_str());
    let link = link(request, &part.id, uri, named);
    format!("{link} <span class=\"meta\">{}</span>", escaped(&words.join(", ")))
}

/// The link to a record, if the caller may see it.
fn link(request: &PageRequest, id: &str, uri: Option<&str>, named: &HashMap<String, StoredRecord>) -> String {
    if let Some(uri) = uri {
        let address = request.link(Page::Documents, &[("uri", uri)]);
        return format!("<a href=\"{}\" dir=\"auto\">{}</a>", escaped(&address), escaped(uri));
    }
    let Some(record) = named.get(id) else { return format!("<code>{}</code>", escaped(id)) };
    let text = record.shown_text();
    let excerpt = beginning(text.trim_start(), EXCERPT).split_whitespace().collect::<Vec<_>>().join(" ");
    let address = request.link_in(&record.scope.partition, Page::Record, &[("id", id)]);
    format!("<a href=\"{}\" dir=\"auto\">{}</a>", escaped(&address), escaped(&excerpt))
}

/// The ids of the records that were left out, by the reason.
fn left_out(account: &Account) -> BTreeMap<&str, Vec<&str>> {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for left in &account.left_out {
        reasons.entry(&left.reason).or_default().push(&left.id);
    }
    reasons
}
