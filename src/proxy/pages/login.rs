//! Asks for the token once, in a browser that cannot send it in a header.

use super::PagesApi;
use super::page_request::PageRequest;
use super::shown::redirect;
use crate::proxy::http::{Guard, HttpResponse, Refusal, parameter, response};
use hyper::body::Incoming;
use hyper::header::{HeaderValue, SET_COOKIE};
use hyper::http::request::Parts;

impl PagesApi {
    /// Begins a login by the token in a form, and leads to the page that was asked for.
    pub(super) async fn log_in(
        &self,
        guard: &Guard,
        request: &PageRequest,
        head: &Parts,
        body: Incoming,
    ) -> HttpResponse {
        let form = match self.read_form(body).await {
            Ok(form) => form,
            Err(refusal) => return refusal,
        };
        // A token that is not UTF-8 is as wrong as none.
        let value = |name| parameter(&form, name).ok().flatten().unwrap_or_default();
        let to = Some(value("to")).filter(|to| is_below(to, &request.home())).unwrap_or(request.home());
        let caller = match guard.caller_with(value("token").trim(), request.now) {
            Ok(Some(caller)) => caller,
            Ok(None) if guard.needs_token() => return self.shell.login_again(request, &to, true),
            Ok(None) => return redirect(&to),
            Err(_) => return Refusal::TokensUnreadable.into(),
        };
        // The cookie that the browser had may be of an earlier login.
        self.logins.end(&head.headers, &request.home());
        match self.logins.begin(&caller, &request.home(), guard.is_encrypted(head)) {
            Ok(cookie) => with_cookie(redirect(&to), &cookie),
            Err(error) => response::unavailable("unavailable", &error),
        }
    }

    /// Ends the login of a browser.
    pub(super) fn log_out(&self, request: &PageRequest, head: &Parts) -> HttpResponse {
        with_cookie(redirect(&request.home()), &self.logins.end(&head.headers, &request.home()))
    }
}

/// Whether an address is that of the first page, or below it, for every browser.
fn is_below(address: &str, home: &str) -> bool {
    let rest = address.strip_prefix(home).filter(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
    rest.is_some_and(|rest| {
        rest.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') && !rest.contains("..")
    })
}

fn with_cookie(mut response: HttpResponse, cookie: &str) -> HttpResponse {
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}
