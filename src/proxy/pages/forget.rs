//! Forgets a message, a turn or a conversation, as rsv-forget does.

use super::PagesApi;
use super::page_request::PageRequest;
use super::shown::redirect;
use crate::error::{Error, Result};
use crate::forget;
use crate::proxy::http::{HttpResponse, Page, parameter, response};
use crate::record::{ACCOUNT, MESSAGE, Scope, Scopes, kinds};
use crate::store::{Select, Store};
use hyper::StatusCode;
use hyper::body::Incoming;

impl PagesApi {
    /// Forgets what a form names, and leads to the conversation that it was in, or to the others.
    pub(super) async fn forget(&self, request: &PageRequest, body: Incoming) -> HttpResponse {
        let form = match self.read_form(body).await {
            Ok(form) => form,
            Err(refusal) => return refusal,
        };
        let (which, scope) = match selected(request, &form) {
            Ok(Some(selected)) => selected,
            Ok(None) => return self.missing(request),
            Err(error) => return response::bad_request(&error),
        };
        // A turn that waits to be stored may be of it.
        self.queue.settled(&scope).await;
        let now = self.config.clock.now();
        let seen = request.scopes();
        let conversation = Select::messages(Scopes::One(scope.clone()));
        let done = self.stores.with_store(move |store| {
            let is_found = remove(store, &which, &seen, now)?;
            Ok((is_found, store.count(&conversation, 1)? > 0))
        });
        match done.await {
            Ok((true, true)) => redirect(&request.link(Page::Conversation, &[("i", &scope.instance)])),
            Ok((true, false)) => redirect(&request.link(Page::Conversations, &[])),
            Ok((false, _)) => self.missing(request),
            Err(error) => self.shell.failed(StatusCode::SERVICE_UNAVAILABLE, Page::Forget, request, &error),
        }
    }

    fn missing(&self, request: &PageRequest) -> HttpResponse {
        let error = Error::new("There is nothing here, or it was forgotten.");
        self.shell.failed(StatusCode::NOT_FOUND, Page::Forget, request, &error)
    }
}

/// The selection that a form names, and the scope of its conversation; `None` if the caller may not see that. Errors if
/// it names nothing.
fn selected(request: &PageRequest, form: &str) -> Result<Option<(Select, Scope)>> {
    let value = |name| parameter(form, name).map(|value| value.filter(|value| !value.is_empty()));
    let instance = value("i")?.ok_or_else(|| Error::new("i: is missing"))?;
    let Some(scope) = request.conversation_named(&instance) else { return Ok(None) };
    let one = Scopes::One(scope.clone());
    let which = match (value("id")?, value("trace")?, value("all")?) {
        (Some(id), None, None) => Select { only: Some(vec![id]), ..Select::records(kinds(), one) },
        (None, Some(trace_id), None) => {
            Select { trace_id: Some(trace_id), ..Select::records(vec![&MESSAGE, &ACCOUNT], one) }
        }
        (None, None, Some(_)) => Select::records(kinds(), one),
        _ => return Err(Error::new("expected one of id, trace and all")),
    };
    Ok(Some((which, scope)))
}

/// Removes the records of a selection, those that say the same in another form, and the titles that then name nothing;
/// returns whether there was any. Nothing outside of `seen` goes with them.
fn remove(store: &mut dyn Store, which: &Select, seen: &Scopes, now: i64) -> Result<bool> {
    let mut ids = forget::select(store, which)?;
    if ids.is_empty() {
        return Ok(false);
    }
    let others = forget::same_words(store, &ids)?;
    ids.extend(forget::in_scopes(store, &others, seen)?);
    ids.extend(forget::titles(store, &ids)?);
    store.forget(&ids.iter().map(String::as_str).collect::<Vec<_>>(), now)?;
    forget::erase(store)?;
    Ok(true)
}
