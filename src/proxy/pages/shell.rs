//! The frame of all pages: the way to the others, the form of a search, and the headers by which a
//! browser runs nothing but the script of the page, and loads nothing from elsewhere.

use super::error::PageFault;
use super::page_request::PageRequest;
use super::shown::{Content, Shown, redirect};
use crate::error::{Error, Result};
use crate::picture::{attribute, escaped};
use crate::proxy::http::{HttpResponse, Page, response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue, REFERRER_POLICY};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The policy of what is no page: nothing is loaded or run.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";

/// The frame of all pages.
pub(super) struct Shell {
    serves_chat: bool,
    /// The policy of the pages: their own script and style, by their digests, and what the server has.
    policy: String,
}

impl Shell {
    /// The pages of a server that has the page of the chat backend or not.
    pub(super) fn new(serves_chat: bool) -> Shell {
        let digest = |text: &str| STANDARD.encode(Sha256::digest(text));
        let (script, style) = (digest(SCRIPT), digest(STYLE));
        let policy = format!(
            "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; img-src 'self'; \
             connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        );
        Shell { serves_chat, policy }
    }

    /// The response with what a page has found, or why it could not.
    pub(super) fn respond(&self, page: Page, request: &PageRequest, shown: Result<Shown>) -> HttpResponse {
        match shown {
            Ok(Shown::OfRecords(records, shown)) => {
                response::touching(self.respond(page, request, Ok(*shown)), records)
            }
            Ok(Shown::Page(content)) => self.html(StatusCode::OK, page, request, &content),
            Ok(Shown::Part(html)) => with_headers(StatusCode::OK, "text/html; charset=utf-8", html, NOTHING),
            Ok(Shown::Redirect(address)) => redirect(&address),
            Ok(Shown::Text(text)) => with_headers(StatusCode::OK, "text/plain; charset=utf-8", text, NOTHING),
            Ok(Shown::Svg(svg)) => {
                let policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
                with_headers(StatusCode::OK, "image/svg+xml", svg, policy)
            }
            Ok(Shown::Whole { html, policy }) => {
                with_headers(StatusCode::OK, "text/html; charset=utf-8", html, &policy)
            }
            Ok(Shown::Missing) => self.failed(StatusCode::NOT_FOUND, page, request, PageFault::Missing),
            Err(error) => self.failed(StatusCode::SERVICE_UNAVAILABLE, page, request, error),
        }
    }

    /// The page of a request that failed.
    pub(super) fn failed(
        &self,
        status: StatusCode,
        page: Page,
        request: &PageRequest,
        error: impl Into<Error>,
    ) -> HttpResponse {
        let error = error.into();
        let title = match status {
            StatusCode::NOT_FOUND => "Not found",
            StatusCode::FORBIDDEN => "Not allowed",
            _ => "Not possible now",
        };
        let hint = error.remedy().map(|hint| format!("<p><code>{}</code></p>", escaped(hint)));
        let body = format!(
            "<h1>{title}</h1>\n<p role=\"alert\">{}</p>\n{}",
            escaped(&error.to_string()),
            hint.unwrap_or_default()
        );
        self.html(status, page, request, &Content { title: title.to_owned(), body })
    }

    /// The page that asks for the token.
    pub(super) fn login(&self, request: &PageRequest, head: &Parts) -> HttpResponse {
        let to = head.uri.path_and_query().map_or("", |address| address.as_str());
        // A login does not repeat a POST: it leads to the first page.
        let may_return = head.method != Method::POST && to.starts_with(&request.home());
        let to = if may_return { to } else { "" };
        self.login_again(request, to, false)
    }

    /// The same after a text that was no token, for the page at an address.
    pub(super) fn login_again(&self, request: &PageRequest, to: &str, was_wrong: bool) -> HttpResponse {
        let wrong = if was_wrong {
            "<p role=\"alert\">This is no token of this server, or it does not hold any more.</p>\n"
        } else {
            ""
        };
        let body = format!(
            "<h1>Log in</h1>\n{wrong}<form method=\"post\" action=\"{}\" class=\"login\">\n\
             <input type=\"hidden\" name=\"to\" value=\"{}\">\n\
             <label for=\"token\">A token of this server</label>\n\
             <input id=\"token\" name=\"token\" type=\"password\" autocomplete=\"current-password\" required autofocus>\n\
             <button>Log in</button>\n</form>\n",
            escaped(&request.path(Page::LogIn)),
            attribute(to)
        );
        let content = Content { title: "Log in".to_owned(), body };
        self.html(StatusCode::UNAUTHORIZED, Page::LogIn, request, &content)
    }

    fn html(&self, status: StatusCode, page: Page, request: &PageRequest, content: &Content) -> HttpResponse {
        let title = escaped(&content.title);
        let of = if page == Page::LogIn { None } else { request.partition() };
        let of = of.map(|name| format!(" · {}", escaped(name))).unwrap_or_default();
        let header = if page == Page::LogIn { String::new() } else { self.header(page, request) };
        let html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title}{of} · rsv</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#main\">Skip to the content</a>\n{header}\
             <main id=\"main\" tabindex=\"-1\">\n{}</main>\n\
             <div id=\"notices\" role=\"status\"></div>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
            content.body
        );
        with_headers(status, "text/html; charset=utf-8", html, &self.policy)
    }

    /// The names of the server and the partition, the ways to their pages, and a search.
    fn header(&self, page: Page, request: &PageRequest) -> String {
        let mut path = vec![format!("<a href=\"{}\">rsv</a>", escaped(&request.home()))];
        if let Some(partition) = request.partition().filter(|_| request.sees_others()) {
            let address = request.link(Page::Conversations, &[]);
            path.push(format!("<a href=\"{}\">{}</a>", escaped(&address), escaped(partition)));
        } else if let Some(partition) = request.partition() {
            path.push(format!("<span>{}</span>", escaped(partition)));
        }
        let pages: &[(Page, &str)] = match request.partition() {
            Some(_) => &[
                (Page::Conversations, "Conversations"),
                (Page::Memories, "Memories"),
                (Page::Documents, "Documents"),
                (Page::Graph, "Graph"),
                (Page::Calendar, "Calendar"),
                (Page::Search, "Search"),
            ],
            None if request.sees_all() => {
                &[(Page::Home, "Partitions"), (Page::Calendar, "Calendar"), (Page::Search, "Search")]
            }
            None => &[(Page::Home, "Partitions"), (Page::Search, "Search")],
        };
        let at = match page {
            Page::Home if request.partition().is_some() => Page::Conversations,
            page => page,
        };
        let mut links: Vec<String> = pages
            .iter()
            .map(|(page, name)| {
                let current = if *page == at { " aria-current=\"page\"" } else { "" };
                format!("<a href=\"{}\"{current}>{name}</a>", escaped(&request.link(*page, &[])))
            })
            .collect();
        // That page cannot send the token that its requests need.
        if self.serves_chat && !request.has_token {
            links.push(format!("<a href=\"{}\">Chat</a>", escaped(&request.chat())));
        }
        let search = if page == Page::Search { String::new() } else { quick_search(request) };
        let log_out = if request.has_token { log_out(request) } else { String::new() };
        format!(
            "<header>\n<nav aria-label=\"Where you are\" class=\"path\">{}</nav>\n{search}{log_out}\
             <nav aria-label=\"Pages\" class=\"pages\">{}</nav>\n</header>\n",
            path.join(" <span aria-hidden=\"true\">/</span> "),
            links.join("\n")
        )
    }
}

/// The form of a search on pages that are not that of a search.
fn quick_search(request: &PageRequest) -> String {
    let partition = request.partition().unwrap_or_default();
    let hidden = match partition {
        "" => String::new(),
        name => format!("<input type=\"hidden\" name=\"p\" value=\"{}\">", attribute(name)),
    };
    format!(
        "<form role=\"search\" action=\"{}\" class=\"quick\">{hidden}\
         <input type=\"search\" name=\"q\" id=\"q\" placeholder=\"Search\" aria-label=\"Search\"></form>\n",
        escaped(&request.path(Page::Search))
    )
}

fn log_out(request: &PageRequest) -> String {
    let address = escaped(&request.path(Page::LogOut));
    format!("<form method=\"post\" action=\"{address}\"><button class=\"plain\">Log out</button></form>\n")
}

fn with_headers(status: StatusCode, content_type: &'static str, body: String, policy: &str) -> HttpResponse {
    let mut response = response::typed(status, content_type, body);
    let headers = response.headers_mut();
    // One that could not be a header must forbid all.
    let policy = HeaderValue::from_str(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // With no-referrer a browser would not say of a form that it is of the same origin.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}
