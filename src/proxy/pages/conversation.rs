//! A conversation: its messages, oldest first, some at a time.

use super::conversations::name;
use super::page_request::PageRequest;
use super::shown::Shown;
use super::{account, actions, message};
use crate::error::Result;
use crate::import;
use crate::picture::escaped;
use crate::proxy::http::Page;
use crate::record::{Record, Role, Scope, Scopes, StoredRecord};
use crate::store::{self, Select, Store, StoreFault, Walk};
use crate::text::counted;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

/// The messages of a page.
const PAGE: usize = 60;

/// The messages of a page, and whether there are others before and after them.
struct MessagePage {
    messages: Vec<StoredRecord>,
    has_earlier: bool,
    has_later: bool,
}

/// The messages that the query asks for: those around `at`, before `before`, after `after`, the first ones,
/// else the last.
pub(super) fn show(store: &mut dyn Store, request: &PageRequest, partition: &str) -> Result<Shown> {
    let Some(scope) = request.conversation() else { return Ok(Shown::Missing) };
    let which = Select::messages(Scopes::One(scope.clone()));
    let Some(part) = part(store, request, &which)? else { return Ok(Shown::Missing) };
    if part.messages.is_empty() {
        return Ok(Shown::Missing);
    }
    let titles = store::titles(store, &BTreeSet::from([scope.clone()]))?;
    let title = name(&scope, titles.get(&scope).map(String::as_str));
    let traces: BTreeSet<String> = part.messages.iter().map(|message| message.trace_id.clone()).collect();
    let traces: Vec<String> = traces.into_iter().filter(|trace| !trace.is_empty()).collect();
    let mut accounts = account::of_traces(store, request, &scope, &traces)?;
    for (trace, actions) in actions::of_traces(store, &scope, &traces)? {
        accounts.entry(trace).or_default().push_str(&actions);
    }
    let messages: u64 = store.summarize(&which)?.iter().map(|summary| summary.messages).sum();
    let mut body = format!(
        "<h1 dir=\"auto\">{}</h1>\n<p class=\"meta\">{} in <span dir=\"auto\">{}</span></p>\n",
        escaped(&title),
        counted(messages, "message"),
        escaped(&format!("{partition}/{}", scope.instance))
    );
    let program =
        part.messages.iter().map(|message| message.member_text("source")).find(|name| !name.is_empty());
    if let Some(command) = program.and_then(|program| import::resume_command(&program, &scope.instance)) {
        let _ = writeln!(body, "<p class=\"meta\">To continue it: <code>{}</code></p>", escaped(&command));
    }
    body.push_str(&ways(request, &scope, &part, "Earlier and later messages"));
    for message in &part.messages {
        let account = account_of(message, &mut accounts);
        body.push_str(&message::to_html(request, message, &account));
    }
    body.push_str(&ways(request, &scope, &part, "Earlier and later messages, again"));
    body.push_str(&message::forget_conversation(request, &scope.instance));
    Ok(Shown::page(title, body).of(&part.messages))
}

/// The account and the actions of a turn, which stand under the first question of its user.
fn account_of(message: &StoredRecord, accounts: &mut BTreeMap<String, String>) -> String {
    let is_question = message.role == Some(Role::User);
    if is_question { accounts.remove(&message.trace_id).unwrap_or_default() } else { String::new() }
}

/// The messages that the query asks for; `None` if it names one that is not there.
fn part(store: &mut dyn Store, request: &PageRequest, which: &Select) -> Result<Option<MessagePage>> {
    for (name, before, after) in [("at", PAGE / 2, PAGE / 2), ("before", PAGE, 0), ("after", 0, PAGE)] {
        let Some(id) = request.parameter(name) else { continue };
        let Some(message) = store.get(&[id], which)?.pop() else { return Ok(None) };
        let around = store.around(&[&message], which, before.max(after) + 1)?.pop().unwrap_or_default();
        let own = |records: &[Arc<StoredRecord>], most: usize| -> Vec<StoredRecord> {
            records.iter().take(most).map(|record| (**record).clone()).collect()
        };
        let mut messages = own(&around.before, before);
        messages.reverse();
        let has_earlier = name == "after" || around.before.len() > before;
        let has_later = name == "before" || around.after.len() > after;
        if name == "at" {
            messages.push(message);
        }
        messages.extend(own(&around.after, after));
        return Ok(Some(MessagePage { messages, has_earlier, has_later }));
    }
    if request.parameter("from") == Some("start") {
        return first(store, which).map(Some);
    }
    let mut messages = store.last_of(which, PAGE + 1)?;
    let has_earlier = messages.len() > PAGE;
    if has_earlier {
        messages.remove(0);
    }
    Ok(Some(MessagePage { messages, has_earlier, has_later: false }))
}

/// The first messages.
fn first(store: &mut dyn Store, which: &Select) -> Result<MessagePage> {
    let mut messages = Vec::new();
    let walked = store.walk(&Walk::records(which.clone()), &mut |record| {
        if let Record::Stored(record) = record {
            messages.push(record);
        }
        // Ends the walk.
        if messages.len() > PAGE { Err(StoreFault::Enough.into()) } else { Ok(()) }
    });
    let has_later = messages.len() > PAGE;
    if !has_later {
        walked?;
    }
    messages.truncate(PAGE);
    Ok(MessagePage { messages, has_earlier: false, has_later })
}

/// The ways to the messages before and after those of a page.
fn ways(request: &PageRequest, scope: &Scope, part: &MessagePage, label: &str) -> String {
    let mut out = String::new();
    let mut add = |name: &str, value: &str, rel: &str, text: &str| {
        let address = request.link(Page::Conversation, &[("i", &scope.instance), (name, value)]);
        let _ = write!(out, "<a href=\"{}\"{rel}>{text}</a> ", escaped(&address));
    };
    if let Some(first) = part.messages.first().filter(|_| part.has_earlier) {
        add("from", "start", "", "Beginning");
        add("before", &first.id, " rel=\"prev\"", "Earlier messages");
    }
    if let Some(last) = part.messages.last().filter(|_| part.has_later) {
        add("after", &last.id, " rel=\"next\"", "Later messages");
        add("", "", "", "End");
    }
    if out.is_empty() {
        out
    } else {
        format!("<nav aria-label=\"{label}\" class=\"more\">{}</nav>\n", out.trim_end())
    }
}
