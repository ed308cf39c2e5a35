//! A record where it stands, by its id, and the whole text of one.

use super::memories;
use super::page_request::PageRequest;
use super::shown::Shown;
use crate::config::Settings;
use crate::error::Result;
use crate::memory::{self, PriorRule};
use crate::proxy::http::Page;
use crate::record::{DOCUMENT, MEMORY, MESSAGE, StoredRecord, URI, kinds};
use crate::store::{Select, Store};

/// A memory, or the way to a message in its conversation, to a document, or to the conversation that the
/// record is of.
pub(super) fn show(store: &mut dyn Store, request: &PageRequest, settings: &Settings) -> Result<Shown> {
    let Some(mut record) = find(store, request)? else { return Ok(Shown::Missing) };
    let partition = record.scope.partition.clone();
    if record.kind == &MESSAGE {
        return Ok(Shown::Redirect(request.place(&record.scope, &record.id)));
    }
    if record.kind == &DOCUMENT {
        let uri = record.member_text(URI);
        return Ok(Shown::Redirect(request.link_in(&partition, Page::Documents, &[("uri", &uri)])));
    }
    if record.kind != &MEMORY {
        let instance = &record.scope.instance;
        return Ok(Shown::Redirect(request.link_in(&partition, Page::Conversation, &[("i", instance)])));
    }
    memory::derive(store, [&mut record], PriorRule::from_settings(settings))?;
    let title = record.member_text("title");
    let body = format!("<h1>Memory</h1>\n{}", memories::to_html(request, &record));
    Ok(Shown::page(title, body).of([&record]))
}

/// The whole text of a record.
pub(super) fn text(store: &mut dyn Store, request: &PageRequest) -> Result<Shown> {
    let record = find(store, request)?;
    let text = |record: StoredRecord| Shown::Text(record.shown_text().into_owned()).of([&record]);
    Ok(record.map_or(Shown::Missing, text))
}

fn find(store: &mut dyn Store, request: &PageRequest) -> Result<Option<StoredRecord>> {
    let Some(id) = request.parameter("id") else { return Ok(None) };
    Ok(store.get(&[id], &Select::records(kinds(), request.scopes()))?.pop())
}
