//! The actions of a turn, folded into one line.

use crate::error::Result;
use crate::picture::escaped;
use crate::record::{ACTION, Scope, Scopes, StoredRecord, action};
use crate::store::{Select, Store};
use crate::text::counted;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The most actions of a turn that are shown, the last ones.
const MAX_SHOWN: usize = 500;

/// The actions of some turns as markup, by their traces.
pub(super) fn of_traces(
    store: &mut dyn Store,
    scope: &Scope,
    traces: &[String],
) -> Result<BTreeMap<String, String>> {
    let of_trace = |trace: &String| Select {
        trace_id: Some(trace.clone()),
        ..Select::records(vec![&ACTION], Scopes::One(scope.clone()))
    };
    let found = store.last(&traces.iter().map(of_trace).collect::<Vec<_>>(), MAX_SHOWN)?;
    let all = traces.iter().zip(found).filter(|(_, actions)| !actions.is_empty());
    Ok(all.map(|(trace, actions)| (trace.clone(), to_html(&actions))).collect())
}

/// Actions: how many there are and how many failed, and behind it each of them.
fn to_html(actions: &[StoredRecord]) -> String {
    let failed = actions.iter().filter(|one| action::outline(one).1.is_some()).count();
    let failed = if failed == 0 { String::new() } else { format!(", {failed} failed") };
    let count = counted(actions.len() as u64, "action");
    let mut out = format!("<details class=\"account\"><summary>{count}{failed}</summary>\n<ul>\n");
    for one in actions {
        let (purpose, error) = action::outline(one);
        let (tool, purpose) = (escaped(&one.member_text("tool")), escaped(&purpose));
        let error = error.map_or(String::new(), |error| {
            format!(" <span class=\"trouble\">failed: {}</span>", escaped(&error))
        });
        let _ = writeln!(out, "<li>{tool} <code dir=\"auto\">{purpose}</code>{error}</li>");
    }
    out + "</ul></details>\n"
}
