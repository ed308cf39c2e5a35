//! The documents of a partition as a tree, and one of them with its levels of detail.

use super::page_request::PageRequest;
use super::shown::Shown;
use super::{markdown, message};
use crate::error::Result;
use crate::picture::escaped;
use crate::proxy::http::Page;
use crate::record::{Address, SCHEME, StoredRecord};
use crate::store::Store;
use crate::text::counted;
use crate::tree;
use std::fmt::Write;

/// The most documents of one list, and the most directories whose children are listed with them.
const MAX_LISTED: usize = 500;
const MAX_OPENED: usize = 20;

/// The bytes of a document that a page has.
const MAX_SHOWN: usize = 256 << 10;

/// The types of files whose content is shown as it is.
const PLAIN: [&str; 4] = ["text/plain", "text/x-source", "application/json", "text/csv"];

/// The document at the address in the query, and those below it.
pub(super) fn show(store: &mut dyn Store, request: &PageRequest, partition: &str) -> Result<Shown> {
    let uri = request.parameter("uri").unwrap_or(SCHEME);
    let Ok(address) = Address::resolve(uri, partition) else { return Ok(Shown::Missing) };
    let is_seen = |document: &StoredRecord| request.scopes().contains(&document.scope);
    let own = tree::node(store, partition, &address)?.filter(is_seen);
    let children = children(store, request, partition, &address)?;
    let is_root = address.depth() == 0;
    if own.is_none() && children.is_empty() && !is_root {
        return Ok(Shown::Missing);
    }
    let title = own.as_ref().map(|own| own.member_text("title")).filter(|title| !title.is_empty());
    let title =
        title.unwrap_or_else(|| if is_root { "Documents".to_owned() } else { address.name().to_owned() });
    let path = if is_root { String::new() } else { path(request, &address) };
    let mut body = format!("<h1 dir=\"auto\">{}</h1>\n{path}", escaped(&title));
    if own.is_none() && children.is_empty() {
        body.push_str(
            "<p>There is no document here. This makes documents of the files of a directory:</p>\n\
             <pre tabindex=\"0\"><code>rsv-parse DIRECTORY | rsv-ingest --mirror</code></pre>\n",
        );
    }
    if let Some(own) = &own {
        body.push_str(&levels(request, own));
    }
    if !children.is_empty() {
        body.push_str("<h2>Contents</h2>\n");
        body.push_str(&list(store, request, partition, &children, true)?);
    }
    Ok(Shown::page(title, body).of(own.iter().chain(&children)))
}

fn children(
    store: &mut dyn Store,
    request: &PageRequest,
    partition: &str,
    address: &Address,
) -> Result<Vec<StoredRecord>> {
    let mut children = tree::children(store, partition, address)?;
    children.retain(|document| request.scopes().contains(&document.scope));
    Ok(children)
}

/// The links to the addresses above one.
fn path(request: &PageRequest, address: &Address) -> String {
    let mut above: Vec<Address> = std::iter::successors(Some(address.clone()), Address::parent).collect();
    above.reverse();
    let link = |address: &Address| {
        let name = if address.depth() == 0 { SCHEME } else { address.name() };
        let link = request.link(Page::Documents, &[("uri", address.as_str())]);
        format!("<a href=\"{}\" dir=\"auto\">{}</a>", escaped(&link), escaped(name))
    };
    let links: Vec<String> = above.iter().map(link).collect();
    format!("<nav aria-label=\"Address\" class=\"path meta\">{}</nav>\n", links.join(" / "))
}

/// The texts of a document, from the shortest to the longest.
fn levels(request: &PageRequest, document: &StoredRecord) -> String {
    let [abstract_, overview] = ["abstract", "overview"].map(|name| document.member_text(name));
    let by = document.member_text("made_by");
    let mut out = format!(
        "<p class=\"meta\">{}{} {}</p>\n",
        escaped(&document.member_text("mime")),
        if by.is_empty() { String::new() } else { format!(" · described by {}", escaped(&by)) },
        request.time(document.timestamp)
    );
    for (name, text) in [("Abstract", &abstract_), ("Overview", &overview)] {
        if !text.is_empty() {
            let html = markdown::to_html(message::beginning(text, MAX_SHOWN));
            let _ = writeln!(
                out,
                "<section><h2>{name}</h2><div class=\"text\" dir=\"auto\">{html}</div></section>"
            );
        }
    }
    if !document.text.is_empty() {
        let _ = writeln!(out, "<section><h2>Content</h2>{}</section>", content(request, document));
    }
    out
}

fn content(request: &PageRequest, document: &StoredRecord) -> String {
    let shown = message::beginning(&document.text, MAX_SHOWN);
    let html = if PLAIN.contains(&document.member_text("mime").as_str()) {
        format!("<pre tabindex=\"0\" dir=\"auto\"><code>{}</code></pre>", escaped(shown))
    } else {
        format!("<div class=\"text\" dir=\"auto\">{}</div>", markdown::to_html(shown))
    };
    if shown.len() == document.text.len() {
        return html;
    }
    let address = request.link_in(&document.scope.partition, Page::Text, &[("id", &document.id)]);
    format!("{html}<p><a href=\"{}\">All of this document</a></p>", escaped(&address))
}

/// Documents as a list; with `opens`, the children of few directories are listed with them.
fn list(
    store: &mut dyn Store,
    request: &PageRequest,
    partition: &str,
    documents: &[StoredRecord],
    opens: bool,
) -> Result<String> {
    let mut out = "<ul class=\"tree\">\n".to_owned();
    for document in documents.iter().take(MAX_LISTED) {
        let Ok(address) = document.address() else { continue };
        let _ = write!(out, "<li>{}", row(request, document, &address));
        if opens && document.is_directory() && documents.len() <= MAX_OPENED {
            let below = children(store, request, partition, &address)?;
            if !below.is_empty() {
                let below_it = list(store, request, partition, &below, false)?;
                let count = counted(below.len() as u64, "document");
                let _ = write!(out, "\n<details open><summary>{count}</summary>\n{below_it}</details>");
            }
        }
        out.push_str("</li>\n");
    }
    if documents.len() > MAX_LISTED {
        let _ = writeln!(out, "<li>and {} more: search for them</li>", documents.len() - MAX_LISTED);
    }
    out.push_str("</ul>\n");
    Ok(out)
}

/// The name of a document, the number of its children, and its abstract.
fn row(request: &PageRequest, document: &StoredRecord, address: &Address) -> String {
    let children = document.members.valid_integer("children").unwrap_or_default();
    let count = if children > 0 { counted(children.unsigned_abs(), "node") } else { String::new() };
    let abstract_ = Some(document.member_text("abstract")).filter(|text| !text.is_empty());
    let text = abstract_.unwrap_or_else(|| document.member_text("title"));
    let text = message::beginning(&text, 200).split_whitespace().collect::<Vec<_>>().join(" ");
    format!(
        "<a href=\"{}\" dir=\"auto\">{}{}</a> <span class=\"meta\" dir=\"auto\">{count} {}</span>",
        escaped(&request.link(Page::Documents, &[("uri", address.as_str())])),
        escaped(address.name()),
        if document.is_directory() { "/" } else { "" },
        escaped(&text)
    )
}
