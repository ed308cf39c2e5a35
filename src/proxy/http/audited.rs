//! The effect of a request on the memory, as a row of the audit.

use super::page_route::Page;
use super::request_log::LoggedSender;
use super::response::{self, HttpResponse};
use super::route::Route;
use crate::record::{AuditAction, AuditRow, Scope};
use hyper::Method;
use hyper::http::request::Parts;

/// The longest route in a row, in bytes: a client may send any path.
const MAX_ROUTE: usize = 256;

/// A request that the audit has.
pub(in crate::proxy) struct AuditedRequest {
    /// `None` of a call by the Model Context Protocol, which the response tells.
    action: Option<AuditAction>,
    /// Whether it is a turn, which passes the memory by if it has no trace.
    is_turn: bool,
    route: String,
}

impl AuditedRequest {
    /// A request of a route, or for a page; `None` if it has nothing to do with what is stored.
    pub(in crate::proxy) fn of(route: &Route, page: Option<Page>, head: &Parts) -> Option<AuditedRequest> {
        let action = match (page, route) {
            (Some(page), _) => Some(action_of_page(page)?),
            (None, Route::Mcp) => None,
            (None, route) => Some(action(route, &head.method)?),
        };
        let text = format!("{} {}", head.method, head.uri.path());
        let text = text[..text.floor_char_boundary(MAX_ROUTE)].to_owned();
        Some(AuditedRequest { action, is_turn: is_turn(route), route: text })
    }

    /// Its row, at `now` (milliseconds since 1970, UTC), in the scope that the response has, else in `scope`.
    /// `None` if it turned out to have nothing to do with what is stored.
    pub(in crate::proxy) fn row(
        self,
        sender: &LoggedSender,
        scope: Option<Scope>,
        response: &HttpResponse,
        now: i64,
    ) -> Option<AuditRow> {
        let trace_id = response::trace(response).map(str::to_owned);
        if self.is_turn && trace_id.is_none() && response.status().is_success() {
            return None;
        }
        let (action, route) = match response::call(response) {
            Some(call) => (call.action, format!("{} {}", self.route, call.name)),
            None => (self.action?, self.route),
        };
        let nowhere = || Scope { partition: String::new(), instance: String::new() };
        Some(AuditRow {
            id: String::new(),
            timestamp: now,
            token: sender.token.unwrap_or_default().to_owned(),
            address: sender.address.map(|address| address.to_string()),
            action,
            route,
            scope: response::scope(response).cloned().or(scope).unwrap_or_else(nowhere),
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
