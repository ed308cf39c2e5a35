//! The partitions, that of the last message first.

use super::page_request::PageRequest;
use super::shown::Shown;
use crate::error::Result;
use crate::picture::escaped;
use crate::proxy::http::Page;
use crate::record::ScopeSummary;
use crate::store::{Select, Store};
use crate::text::counted;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The numbers of a partition.
#[derive(Default)]
struct Partition {
    conversations: u64,
    messages: u64,
    /// The time of its last message; `None` without one.
    last: Option<i64>,
}

/// The partitions that a caller may see.
pub(super) fn show(store: &mut dyn Store, request: &PageRequest) -> Result<Shown> {
    let mut partitions: BTreeMap<String, Partition> = BTreeMap::new();
    for (scope, _) in store.scopes(None)? {
        partitions.entry(scope.partition).or_default();
    }
    partitions.retain(|name, _| request.sees(name));
    for scopes in request.each_scopes(store)? {
        for ScopeSummary { scope, messages, last, .. } in store.summarize(&Select::messages(scopes))? {
            let partition = partitions.entry(scope.partition).or_default();
            partition.conversations += 1;
            partition.messages += messages;
            partition.last = partition.last.max(Some(last));
        }
    }
    let mut sorted: Vec<(String, Partition)> = partitions.into_iter().collect();
    sorted.sort_by_key(|(_, partition)| std::cmp::Reverse(partition.last));
    let mut body = "<h1>Partitions</h1>\n".to_owned();
    if sorted.is_empty() {
        body.push_str(&nothing_stored());
    } else {
        body.push_str("<ul class=\"list\">\n");
    }
    for (name, partition) in &sorted {
        let last = partition.last.map(|last| request.time(last)).unwrap_or_default();
        let _ = writeln!(
            body,
            "<li><a class=\"row\" href=\"{}\"><strong dir=\"auto\">{}</strong> <span class=\"meta\">{} in {}</span> {last}</a></li>",
            escaped(&request.link_in(name, Page::Conversations, &[])),
            escaped(name),
            counted(partition.messages, "message"),
            counted(partition.conversations, "conversation"),
        );
    }
    if !sorted.is_empty() {
        body.push_str("</ul>\n");
    }
    Ok(Shown::page("Partitions", body))
}

/// The page of a store without records, with the command that imports.
pub(super) fn nothing_stored() -> String {
    "<p>Nothing is stored here yet. This command finds the conversations that other programs left on the machine, and \
     says how to import them:</p>\n<pre tabindex=\"0\"><code>rsv-import --find</code></pre>\n"
        .to_owned()
}
