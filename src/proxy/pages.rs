//! The pages by which people look at the memory in a browser, and forget parts of it: `GET /` for a browser,
//! and `/memory/…`.
//!
//! `page_request.rs` says who looks at what, and makes the addresses of links; every page reads the store
//! within its scopes. `shown.rs` is what it gives, `shell.rs` what all have around their content; `page.css`
//! and `page.js` are all of their style and script, and `markdown.rs` makes markup of what is stored. There
//! is a file for each page: `home.rs`, `conversations.rs`, `conversation.rs` with its `message.rs` and
//! `account.rs`, `search.rs`, `memories.rs`, `documents.rs`, `pictures.rs` and `record.rs`. `forget.rs`
//! removes, and `login.rs` asks for the token. Uses the wings `http` and `worker`.

mod account;
mod actions;
mod conversation;
mod conversations;
mod documents;
mod error;
mod forget;
mod home;
mod login;
mod markdown;
mod memories;
mod message;
mod page_request;
mod pictures;
mod record;
mod search;
mod shell;
mod shown;

use super::config::ProxyConfig;
use super::http::{Guard, HttpResponse, Login, OrResponse, Page, PageLogins, Route, request_body, response};
use super::worker::{SharedEmbedder, StorePool, StoreQueue};
use crate::access::Caller;
use crate::error::Result;
use crate::store::Store;
use error::PageFault;
use hyper::body::Incoming;
use hyper::header::ACCEPT;
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
pub(super) use page_request::PageRequest;
use search::SearchParts;
use shell::Shell;
use shown::Shown;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// The most pages that read the store at the same time; and searches and pictures of it, which may take
/// seconds, also if nobody waits for them any more: no turn waits for them, but they share its disk.
const MAX_READS: usize = 2;
const MAX_SEARCHES: usize = 2;
const MAX_PICTURES: usize = 1;

/// The style of the pages, and of the page of the chat backend.
pub(super) const STYLE: &str = include_str!("pages/page.css");

/// The longest form that is posted to a page, in bytes.
const MAX_FORM: usize = 64 << 10;

/// Serves the pages.
pub(super) struct PagesApi {
    config: Arc<ProxyConfig>,
    stores: Arc<StorePool>,
    queue: Arc<StoreQueue>,
    embedder: Arc<SharedEmbedder>,
    /// A permit for each page that may read the store, for each search, and for each picture.
    reads: Arc<Semaphore>,
    searches: Arc<Semaphore>,
    pictures: Arc<Semaphore>,
    logins: PageLogins,
    shell: Arc<Shell>,
    idle_timeout: Duration,
    /// Whether there are pages at all.
    is_served: bool,
}

/// A request for a page.
pub(super) struct Asked<'a> {
    pub(super) page: Page,
    pub(super) guard: &'a Guard,
    /// Whom the guard has admitted; without one, the page asks for the token.
    pub(super) caller: Option<Caller>,
    pub(super) head: &'a Parts,
    pub(super) request: Result<PageRequest>,
}

impl PagesApi {
    /// Pages of the store, by the setting `proxy.page`; they link to the page of the chat backend if that is
    /// served.
    pub(super) fn new(
        config: &Arc<ProxyConfig>,
        stores: &Arc<StorePool>,
        queue: &Arc<StoreQueue>,
        embedder: &Arc<SharedEmbedder>,
        idle_timeout: Duration,
        serves_chat: bool,
    ) -> PagesApi {
        PagesApi {
            config: config.clone(),
            stores: stores.clone(),
            queue: queue.clone(),
            embedder: embedder.clone(),
            reads: Arc::new(Semaphore::new(MAX_READS)),
            searches: Arc::new(Semaphore::new(MAX_SEARCHES)),
            pictures: Arc::new(Semaphore::new(MAX_PICTURES)),
            logins: PageLogins::default(),
            shell: Arc::new(Shell::new(serves_chat)),
            idle_timeout,
            is_served: config.settings.boolean("proxy.page") != Some(false),
        }
    }

    /// The logins of a browser.
    pub(super) fn logins(&self, head: &Parts) -> Vec<Login> {
        self.logins.find(&head.headers)
    }

    /// The page that a request asks for: that of its route or, where a browser asks for the root, the first
    /// one. `None` for all other requests.
    pub(super) fn page_of(&self, route: &Route, head: &Parts) -> Option<Page> {
        let page = match route {
            Route::Page(page) => *page,
            Route::Root if head.method == Method::GET && accepts_html(head) => Page::Home,
            _ => return None,
        };
        self.is_served.then_some(page)
    }

    /// Answers a request for a page, which comes from no other site.
    pub(super) async fn answer(&self, asked: Asked<'_>, body: Incoming) -> HttpResponse {
        let Asked { page, guard, caller, head, request } = asked;
        // One who is not admitted gets only the page that asks for the token, which reads no store.
        let is_admitted = caller.is_some();
        let request = match request {
            Ok(request) => request.of(caller.unwrap_or(Caller::Owner), guard.needs_token()),
            Err(error) => return response::bad_request(error),
        };
        let is_post = head.method == Method::POST;
        if matches!(page, Page::LogIn | Page::LogOut) && head.method == Method::GET {
            // The address of a form that a browser was asked to open again.
            return shown::redirect(&request.home());
        }
        if page.is_action() != is_post || !is_post && ![Method::GET, Method::HEAD].contains(&head.method) {
            return response::wrong_method(if page.is_action() { "POST" } else { "GET, HEAD" });
        }
        if page != Page::LogIn && !is_admitted {
            // The cookie goes with the pages below this one, not with the root.
            let is_root = page == Page::Home && !head.uri.path().contains(&Page::Home.path());
            return if is_root { shown::redirect(&request.home()) } else { self.shell.login(&request, head) };
        }
        match page {
            Page::LogIn => self.log_in(guard, &request, head, body).await,
            Page::LogOut => self.log_out(&request, head),
            Page::Forget if !Guard::is_same_origin(&head.headers) => {
                self.shell.failed(StatusCode::FORBIDDEN, page, &request, PageFault::ForeignPage)
            }
            Page::Forget => self.forget(&request).await,
            page => self.show(page, request).await,
        }
    }

    /// Shows a page that only reads.
    async fn show(&self, page: Page, request: PageRequest) -> HttpResponse {
        let permits = match page {
            Page::Graph | Page::Calendar | Page::CalendarPicture => &self.pictures,
            Page::Search => &self.searches,
            _ => &self.reads,
        };
        let Ok(permit) = permits.clone().acquire_owned().await else { return response::cut_short() };
        let request = Arc::new(request);
        let own = request.clone();
        let parts = SearchParts { config: self.config.clone(), embedder: self.embedder.clone() };
        let shown = self.stores.read(move |store| {
            // It is kept while the thread reads, even if nobody waits for that any more.
            let _permit = permit;
            show(page, store, &own, &parts)
        });
        self.shell.respond(page, &request, shown.await)
    }

    /// Reads a form that was posted.
    async fn read_form(&self, body: Incoming) -> OrResponse<String> {
        let bytes = request_body::read(body, MAX_FORM, self.idle_timeout).await?;
        let text = String::from_utf8(bytes.to_vec());
        text.map_err(|_| response::bad_request(PageFault::FormNotUtf8))
    }
}

/// A text in Markdown as markup, in which nothing runs and nothing is loaded.
pub(super) fn markdown_to_html(markdown: &str) -> String {
    markdown::to_html(markdown)
}

/// The content of a page.
fn show(page: Page, store: &mut dyn Store, request: &PageRequest, parts: &SearchParts) -> Result<Shown> {
    if request.is_foreign() {
        return Ok(Shown::Missing);
    }
    let settings = &parts.config.settings;
    match (page, request.partition()) {
        (Page::Search, _) => search::show(store, request, parts),
        (Page::Calendar | Page::CalendarPicture, None) if !request.sees_all() => {
            Ok(Shown::Redirect(request.home()))
        }
        (Page::Calendar, _) => pictures::calendar(store, request),
        (Page::CalendarPicture, _) => pictures::calendar_picture(store, request),
        (Page::Home, None) => home::show(store, request),
        (Page::Home | Page::Conversations, Some(partition)) => conversations::show(store, request, partition),
        (Page::Conversation, Some(partition)) => conversation::show(store, request, partition),
        (Page::Memories, Some(_)) => memories::show(store, request, settings),
        (Page::Documents, Some(partition)) => documents::show(store, request, partition),
        (Page::Graph, Some(partition)) => pictures::graph(store, request, partition, settings),
        (Page::Record, Some(_)) => record::show(store, request, settings),
        (Page::Text, Some(_)) => record::text(store, request),
        (_, None) => Ok(Shown::Redirect(request.home())),
        (Page::Forget | Page::LogIn | Page::LogOut, _) => Ok(Shown::Missing),
    }
}

/// Whether a request names HTML among what it accepts, as browsers do and other programs do not.
fn accepts_html(head: &Parts) -> bool {
    let accepted = head.headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|range| {
        range.split(';').next().is_some_and(|range| range.trim().eq_ignore_ascii_case("text/html"))
    })
}
