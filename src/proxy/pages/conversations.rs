//! The conversations of a partition, newest first, by day.

use super::home::nothing_stored;
use super::page_request::PageRequest;
use super::shown::Shown;
use crate::error::Result;
use crate::picture::escaped;
use crate::proxy::http::Page;
use crate::record::{Scope, ScopeSummary};
use crate::store::{self, Select, Store};
use crate::text::counted;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The conversations of a page; for no more a title is looked for among their messages.
const PAGE: usize = 50;

/// The conversations that the caller may see.
pub(super) fn show(store: &mut dyn Store, request: &PageRequest, partition: &str) -> Result<Shown> {
    let mut all = store.summarize(&Select::messages(request.scopes()))?;
    all.sort_by(|a, b| key(b).cmp(&key(a)));
    if let Some(before) = request.parameter("before") {
        let Some(last) = parse(before) else { return Ok(Shown::Missing) };
        all.retain(|one| key(one) < last);
    }
    let is_more = all.len() > PAGE;
    all.truncate(PAGE);
    let scopes: BTreeSet<Scope> = all.iter().map(|one| one.scope.clone()).collect();
    let titles = store::titles(store, &scopes)?;
    let mut body = format!("<h1 dir=\"auto\">{}</h1>\n", escaped(partition));
    if all.is_empty() {
        body.push_str(&nothing_stored());
    }
    for day in all.chunk_by(|a, b| request.day(a.last) == request.day(b.last)) {
        let _ = writeln!(body, "<h2 class=\"day\">{}</h2>\n<ul class=\"list\">", request.day(day[0].last));
        body.extend(day.iter().map(|one| row(request, one, &titles)));
        body.push_str("</ul>\n");
    }
    if let Some(last) = all.last().filter(|_| is_more) {
        let before = format!("{} {}", last.last, last.scope.instance);
        let address = request.link(Page::Conversations, &[("before", &before)]);
        let _ = writeln!(
            body,
            "<nav aria-label=\"More\" class=\"more\"><a rel=\"next\" href=\"{}\">Earlier conversations</a></nav>",
            escaped(&address)
        );
    }
    Ok(Shown::page("Conversations", body))
}

/// The order of conversations.
fn key(one: &ScopeSummary) -> (i64, &str) {
    (one.last, &one.scope.instance)
}

fn parse(before: &str) -> Option<(i64, &str)> {
    let (last, instance) = before.split_once(' ')?;
    Some((last.parse().ok()?, instance))
}

fn row(request: &PageRequest, one: &ScopeSummary, titles: &BTreeMap<Scope, String>) -> String {
    let Scope { partition, instance } = &one.scope;
    let title = name(&one.scope, titles.get(&one.scope).map(String::as_str));
    let instance_name = if *instance == title { String::new() } else { format!("{instance} · ") };
    format!(
        "<li><a class=\"row\" href=\"{}\"><strong dir=\"auto\">{}</strong> \
         <span class=\"meta\"><span dir=\"auto\">{}</span>{}</span> {}</a></li>\n",
        escaped(&request.link_in(partition, Page::Conversation, &[("i", instance)])),
        escaped(&title),
        escaped(&instance_name),
        counted(one.messages, "message"),
        request.hour(one.last)
    )
}

/// The name of a conversation: its title, else its instance.
pub(super) fn name(scope: &Scope, title: Option<&str>) -> String {
    match title.map(str::trim).filter(|title| !title.is_empty()) {
        Some(title) => title.to_owned(),
        None => scope.instance.clone(),
    }
}
