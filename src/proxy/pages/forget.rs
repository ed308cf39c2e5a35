//! Forgets a message, a turn or a conversation, as rsv-forget does.

use super::PagesApi;
use super::error::PageFault;
use super::page_request::PageRequest;
use super::shown::redirect;
use crate::error::Result;
use crate::forget;
use crate::proxy::http::{HttpResponse, Page, response};
use crate::record::{ACCOUNT, MESSAGE, Scope, Scopes, TouchedRecords, kinds};
use crate::store::{Select, Store};
use hyper::StatusCode;

impl PagesApi {
    /// Forgets what the query names, and leads to the conversation that it was in, or to the others.
    pub(super) async fn forget(&self, request: &PageRequest) -> HttpResponse {
        let Some(scope) = request.conversation() else { return self.missing(request) };
        let Some(which) = selected(request, &scope) else {
            return response::bad_request(PageFault::NoSelection);
        };
        // A turn that waits to be stored may be of it.
        self.queue.settled(&scope).await;
        let now = self.config.clock.now();
        let seen = request.scopes();
        let conversation = Select::messages(Scopes::One(scope.clone()));
        let done = self.stores.with_store(move |store| {
            let removed = remove(store, &which, &seen, now)?;
            Ok((removed, store.count(&conversation, 1)? > 0))
        });
        match done.await {
            Ok((Some(removed), is_left)) => {
                let address = if is_left {
                    request.link(Page::Conversation, &[("i", &scope.instance)])
                } else {
                    request.link(Page::Conversations, &[])
                };
                response::touching(redirect(&address), removed)
            }
            Ok((None, _)) => self.missing(request),
            Err(error) => self.shell.failed(StatusCode::SERVICE_UNAVAILABLE, Page::Forget, request, error),
        }
    }

    fn missing(&self, request: &PageRequest) -> HttpResponse {
        self.shell.failed(StatusCode::NOT_FOUND, Page::Forget, request, PageFault::Missing)
    }
}

/// The records of a conversation that the query names; `None` if it names none, or in two ways.
fn selected(request: &PageRequest, scope: &Scope) -> Option<Select> {
    let one = Scopes::One(scope.clone());
    let [id, trace, all] = ["id", "trace", "all"].map(|name| request.parameter(name).map(str::to_owned));
    match (id, trace, all) {
        (Some(id), None, None) => Some(Select { only: Some(vec![id]), ..Select::records(kinds(), one) }),
        (None, Some(trace_id), None) => {
            Some(Select { trace_id: Some(trace_id), ..Select::records(vec![&MESSAGE, &ACCOUNT], one) })
        }
        (None, None, Some(all)) if all == "1" => Some(Select::records(kinds(), one)),
        _ => None,
    }
}

/// Removes the records of a selection, those that say the same in another form, and the titles that then name
/// nothing; returns them, or `None` if there was none. Nothing outside of `seen` goes with them.
fn remove(store: &mut dyn Store, which: &Select, seen: &Scopes, now: i64) -> Result<Option<TouchedRecords>> {
    let mut ids = forget::select(store, which)?;
    if ids.is_empty() {
        return Ok(None);
    }
    let others = forget::same_words(store, &ids)?;
    ids.extend(forget::in_scopes(store, &others, seen)?);
    ids.extend(forget::left_alone(store, &ids)?);
    store.forget(&ids.iter().map(String::as_str).collect::<Vec<_>>(), now)?;
    forget::erase(store)?;
    Ok(Some(TouchedRecords::of(ids.iter().map(String::as_str))))
}
