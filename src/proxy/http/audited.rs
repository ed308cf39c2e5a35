//! What a request does with the memory, as a row of the audit.

use super::page_route::Page;
use super::response::{self, HttpResponse};
use super::route::Route;
use crate::record::{AuditAction, AuditRow, Scope};
use hyper::Method;
use hyper::http::request::Parts;
use std::net::IpAddr;

/// The longest route in a row, in bytes: a client may send any path.
const MAX_ROUTE: usize = 256;

/// The address of a client, which its connection adds to each request.
#[derive(Clone, Copy, Debug)]
pub(in crate::proxy) struct ClientAddress(pub(in crate::proxy) IpAddr);

/// A request that the audit has.
pub(in crate::proxy) struct AuditedRequest {
    action: AuditAction,
    /// Whether it is a turn, which passes the memory by if it has no trace.
    is_turn: bool,
    route: String,
    address: Option<IpAddr>,
}

impl AuditedRequest {
    /// A request of a route, or for a page; `None` if it has nothing to do with what is stored.
    pub(in crate::proxy) fn of(route: &Route, page: Option<Page>, head: &Parts) -> Option<AuditedRequest> {
        let action = match page {
            Some(page) => action_of_page(page)?,
            None => action(route, &head.method)?,
        };
        let route_text = format!("{} {}", head.method, head.uri.path());
        Some(AuditedRequest {
            action,
            is_turn: is_turn(route),
            route: route_text[..route_text.floor_char_boundary(MAX_ROUTE)].to_owned(),
            address: head.extensions.get::<ClientAddress>().map(|address| address.0),
        })
    }

    /// Its row, at `now` (milliseconds since 1970, UTC), of the token of a name; in the scope that the response has,
    /// else in `scope`. `None` of a turn that went by the memory.
    pub(in crate::proxy) fn row(
        self,
        token: &str,
        scope: Scope,
        response: &HttpResponse,
        now: i64,
    ) -> Option<AuditRow> {
        let trace_id = response::trace(response).map(str::to_owned);
        if self.is_turn && trace_id.is_none() && response.status().is_success() {
            return None;
        }
        Some(AuditRow {
            id: String::new(),
            timestamp: now,
            token: token.to_owned(),
            address: self.address.map(|address| address.to_string()),
            action: self.action,
            route: self.route,
            scope: response::scope(response).cloned().unwrap_or(scope),
            status: response.status().as_u16(),
            trace_id,
            records: response::touched(response).cloned().unwrap_or_default(),
        })
    }
}

fn is_turn(route: &Route) -> bool {
    matches!(
        route,
        Route::Chat
            | Route::Messages
            | Route::Responses
            | Route::OllamaChat
            | Route::OllamaGenerate
            | Route::AiChat { .. }
    )
}

fn action(route: &Route, method: &Method) -> Option<AuditAction> {
    match (route, method) {
        (route, &Method::POST) if is_turn(route) => Some(AuditAction::Write),
        (Route::Commit(_) | Route::Upload, &Method::POST) => Some(AuditAction::Write),
        (Route::Session(_) | Route::Document(_), &Method::DELETE) => Some(AuditAction::Forget),
        (
            Route::Command(..) | Route::Sessions | Route::Session(_) | Route::Documents | Route::Document(_),
            &Method::GET | &Method::HEAD,
        ) => Some(AuditAction::Read),
        _ => None,
    }
}

fn action_of_page(page: Page) -> Option<AuditAction> {
    match page {
        Page::Home
        | Page::Conversations
        | Page::Conversation
        | Page::Search
        | Page::Memories
        | Page::Documents
        | Page::Graph
        | Page::Calendar
        | Page::CalendarPicture
        | Page::Record
        | Page::Text => Some(AuditAction::Read),
        Page::Forget => Some(AuditAction::Forget),
        Page::LogIn | Page::LogOut => None,
    }
}
