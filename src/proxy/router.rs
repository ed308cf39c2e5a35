//! Takes a request to the part that answers it, and logs it.

use super::backend::{AiChatApi, ChatPage, DocumentsApi, ModelsApi, SessionsApi, UserNames};
use super::command::CommandApi;
use super::config::ProxyConfig;
use super::embeddings::{EmbeddingsApi, EmbeddingsRequest};
use super::exposition::MetricsApi;
use super::health::HealthApi;
use super::http::{
    AuditedRequest, Guard, HttpResponse, LoggedRequest, Page, RequestLog, Route, relay_headers, request_body,
    response,
};
use super::pages::{Asked, PageRequest, PagesApi};
use super::turn::{ChatApi, ChatRequest, MemoryMode, OllamaApi, OllamaMethod, OllamaRequest, Passthrough};
use super::visibility::visible_to;
use super::worker::{AuditQueue, ClockWatch};
use crate::api::Api;
use crate::error::Result;
use crate::http::RequestBody;
use crate::record::{RequestScope, Scope};
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{Method, Request, StatusCode};
use std::sync::Arc;
use std::time::Duration;

/// The headers by which a client names its scope, if its address does not.
const PARTITION_HEADER: &str = "x-rsv-partition";
const INSTANCE_HEADER: &str = "x-rsv-instance";

/// Answers every request.
pub(super) struct Router {
    pub(super) config: Arc<ProxyConfig>,
    pub(super) guard: Guard,
    pub(super) clock: Arc<ClockWatch>,
    pub(super) log: RequestLog,
    pub(super) audit: Arc<AuditQueue>,
    /// The scope of requests that name none.
    pub(super) scope: RequestScope,
    /// The longest body, in bytes.
    pub(super) max_body: usize,
    /// The time for which a client may be silent in the middle of a request.
    pub(super) idle_timeout: Duration,
    pub(super) chat: ChatApi,
    pub(super) ollama: OllamaApi,
    pub(super) passthrough: Passthrough,
    pub(super) embeddings: Arc<EmbeddingsApi>,
    pub(super) commands: Arc<CommandApi>,
    pub(super) models: ModelsApi,
    pub(super) health: HealthApi,
    pub(super) metrics: MetricsApi,
    pub(super) documents: Arc<DocumentsApi>,
    pub(super) ai_chat: AiChatApi,
    pub(super) sessions: SessionsApi,
    pub(super) chat_page: ChatPage,
    pub(super) pages: PagesApi,
}

impl Router {
    /// Answers a request, unless the guard does.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> HttpResponse {
        let (head, body) = request.into_parts();
        // It reports its errors itself.
        let _ = self.clock.check();
        let logged = LoggedRequest::begin(&head);
        let parsed = named_scope(&head);
        let scope = parsed.as_ref().ok().map(|(named, _)| self.scope_of(named.as_ref()).scope);
        let is_ollama = match &parsed {
            Ok((_, Route::Unknown)) | Err(_) => Route::is_ollama_path(head.uri.path()),
            Ok((_, route)) => route.is_ollama(),
        };
        let is_anthropic = parsed.as_ref().is_ok_and(|(_, route)| route.is_anthropic());
        let page = parsed.as_ref().ok().and_then(|(_, route)| self.pages.page_of(route, &head));
        let audited = parsed.as_ref().ok().filter(|_| self.audit.is_on());
        let audited = audited.and_then(|(_, route)| AuditedRequest::of(route, page, &head));
        let refused = match page {
            // A page asks for the token itself.
            Some(_) => self.guard.response_by_origin(&head),
            None => self.guard.response(&head),
        };
        let mut response = match (refused, parsed, page) {
            (Some(response), ..) => response,
            (None, Err(error), _) => response::bad_request(&error),
            (None, Ok((named, _)), Some(page)) => self.page(page, named, &head, body).await,
            (None, Ok((named, route)), None) => self.dispatch(named, route, &head, body).await,
        };
        if is_ollama {
            response = response::for_ollama(response);
        } else if is_anthropic {
            response = response::for_anthropic(response);
        }
        response::add_safety_headers(&mut response);
        self.guard.add_cors_headers(&head, &mut response);
        self.config.metrics.add_request(response.status().as_u16());
        self.log.write(&logged, scope.as_ref(), &response);
        let row = audited
            .zip(scope)
            .and_then(|(audited, scope)| audited.row("", scope, &response, self.config.clock.now()));
        if let Some(row) = row {
            self.audit.note(row);
        }
        response
    }

    /// The scope of a request: that of its address, which its user was given; else that of its headers; else the
    /// proxy's own. `named` is the first of these two that there is.
    fn scope_of(&self, named: Option<&RequestScope>) -> RequestScope {
        named.unwrap_or(&self.scope).clone()
    }

    async fn dispatch(
        &self,
        named: Option<RequestScope>,
        route: Route,
        head: &Parts,
        body: Incoming,
    ) -> HttpResponse {
        let scope = self.scope_of(named.as_ref());
        let answered = match (route, &head.method) {
            (Route::Chat, &Method::POST) => self.chat(Api::Chat, scope, head, body).await,
            (Route::Messages, &Method::POST) => self.chat(Api::Messages, scope, head, body).await,
            (Route::Responses, &Method::POST) => self.chat(Api::Responses, scope, head, body).await,
            (Route::Embeddings, &Method::POST) => self.embeddings(body).await,
            (Route::OllamaChat, &Method::POST) => {
                self.ollama_turn(OllamaMethod::Chat, scope, head, body).await
            }
            (Route::OllamaGenerate, &Method::POST) => {
                self.ollama_turn(OllamaMethod::Generate, scope, head, body).await
            }
            (
                route @ (Route::AiChat { .. }
                | Route::Sessions
                | Route::Session(_)
                | Route::Commit(_)
                | Route::Documents
                | Route::Document(_)
                | Route::Upload),
                _,
            ) => self.backend(route, head, body).await,
            (
                Route::Chat
                | Route::Messages
                | Route::Responses
                | Route::Embeddings
                | Route::OllamaChat
                | Route::OllamaGenerate,
                _,
            ) => Ok(response::wrong_method("POST")),
            (Route::Other(name), _) => self.relay(&name, head, body).await,
            (Route::Ollama(name), _) => self.relay_to_ollama(&name, head, body).await,
            (Route::Health, &Method::GET | &Method::HEAD) => {
                Ok(self.health.report(&visible_to(named.as_ref())).await)
            }
            (Route::Metrics, &Method::GET | &Method::HEAD) => {
                Ok(self.metrics.write(&visible_to(named.as_ref())).await)
            }
            (route, &Method::GET | &Method::HEAD) => Ok(self.look_up(scope, route, head).await),
            (Route::Unknown | Route::Page(_), _) => Ok(not_found(head)),
            _ => Ok(response::wrong_method("GET, HEAD")),
        };
        answered.unwrap_or_else(|refusal| refusal)
    }

    /// Answers a route that has no body.
    async fn look_up(&self, scope: RequestScope, route: Route, head: &Parts) -> HttpResponse {
        match route {
            Route::Models => self.models.list().await,
            Route::Command(command, count) => {
                let query = head.uri.query().unwrap_or_default();
                self.commands.run(scope, command, count, query).await
            }
            Route::ChatPage => self.chat_page.response().unwrap_or_else(|| not_found(head)),
            Route::Root => response::json(StatusCode::OK, "{\"name\":\"rsv-proxy\"}\n"),
            _ => not_found(head),
        }
    }

    /// Answers a page, of the scope that the request names.
    async fn page(
        &self,
        page: Page,
        named: Option<RequestScope>,
        head: &Parts,
        body: Incoming,
    ) -> HttpResponse {
        let in_path = Route::parse(head.uri.path()).ok().and_then(|(in_path, _)| in_path);
        let query = head.uri.query().unwrap_or_default();
        let request = PageRequest::new(in_path.as_ref(), named, query, self.config.clock.now());
        let scope = request.as_ref().ok().map(PageRequest::seen_scope);
        let mut response = self.pages.answer(Asked { page, guard: &self.guard, head, request }, body).await;
        if let Some(scope) = scope {
            response::set_scope(&mut response, scope);
        }
        response
    }

    /// Answers a route of the chat backend, for the user that the request names.
    async fn backend(
        &self,
        route: Route,
        head: &Parts,
        body: Incoming,
    ) -> std::result::Result<HttpResponse, HttpResponse> {
        let bad_request = |error| response::bad_request(&error);
        let (path, _) = Route::parse(head.uri.path()).map_err(bad_request)?;
        let path = path.as_ref().map(|named| &named.scope);
        let names = UserNames::read(path, &head.headers, head.uri.query(), &self.scope.scope);
        let names = names.map_err(bad_request)?;
        let user = names.user(None).map_err(bad_request);
        let scope = user.as_ref().ok().map(|user| {
            let session = match &route {
                Route::Session(session) | Route::Commit(session) => session,
                _ => user,
            };
            Scope { partition: user.clone(), instance: session.clone() }
        });
        let mut response = match (route, &head.method) {
            (Route::Upload, &Method::POST) => self.documents.upload(&names, head, body).await,
            (Route::AiChat { streams }, &Method::POST) => {
                let bytes = self.read_body(body).await?;
                let body = request_body::parse(&bytes).map_err(bad_request)?;
                let keys = self.guard.caller_keys(&head.headers);
                self.ai_chat.run(&names, &head.headers, keys, &body, streams).await
            }
            (Route::Commit(session), &Method::POST) => self.sessions.commit(user?, session).await,
            (Route::Sessions, &Method::GET | &Method::HEAD) => {
                self.sessions.list(user?, head.uri.query()).await
            }
            (Route::Session(session), &Method::GET | &Method::HEAD) => {
                self.sessions.show(user?, session, head.uri.query()).await
            }
            (Route::Session(session), &Method::DELETE) => self.sessions.delete(user?, session).await,
            (Route::Upload | Route::AiChat { .. } | Route::Commit(_), _) => response::wrong_method("POST"),
            (Route::Documents, &Method::GET | &Method::HEAD) => self.documents.list(user?).await,
            (Route::Document(doc_id), &Method::GET | &Method::HEAD) => {
                self.documents.show(user?, doc_id).await
            }
            (Route::Document(doc_id), &Method::DELETE) => self.documents.delete(user?, doc_id).await,
            (Route::Documents | Route::Sessions, _) => response::wrong_method("GET, HEAD"),
            _ => response::wrong_method("GET, HEAD, DELETE"),
        };
        if let Some(scope) = scope {
            response::default_scope(&mut response, scope);
        }
        Ok(response)
    }

    async fn read_body(&self, body: Incoming) -> std::result::Result<Bytes, HttpResponse> {
        request_body::read(body, self.max_body, self.idle_timeout).await
    }

    async fn read_chat(
        &self,
        scope: RequestScope,
        head: &Parts,
        body: Incoming,
        client: &Arc<()>,
    ) -> std::result::Result<(ChatRequest, Bytes), HttpResponse> {
        let bytes = self.read_body(body).await?;
        let keys = self.guard.caller_keys(&head.headers);
        let request = ChatRequest::parse(head, &bytes, scope, keys, &self.config.settings, client);
        Ok((request.map_err(|error| response::bad_request(&error))?, bytes))
    }

    async fn chat(
        &self,
        api: Api,
        scope: RequestScope,
        head: &Parts,
        body: Incoming,
    ) -> std::result::Result<HttpResponse, HttpResponse> {
        let bad_request = |error| response::bad_request(&error);
        let bytes = self.read_body(body).await?;
        let keys = self.guard.caller_keys(&head.headers);
        let settings = &self.config.settings;
        let mode = MemoryMode::from_request(&head.headers, settings, &scope.scope).map_err(bad_request)?;
        let client = Arc::new(());
        let readable = if mode == MemoryMode::Off {
            None
        } else {
            let request = ChatRequest::parse(head, &bytes, scope, keys.clone(), settings, &client);
            let request = request.map_err(bad_request)?;
            match api {
                Api::Chat => Some(request),
                // Memory has no part in an unreadable request: the provider judges it.
                Api::Messages | Api::Responses => request.for_api(api, &head.headers),
            }
        };
        let Some(request) = readable else {
            let object = request_body::parse_to_relay(&bytes).map_err(bad_request)?;
            return Ok(self.passthrough.relay(api.path(), head, object, bytes, &keys).await);
        };
        // They may be long, and the turn takes its time.
        drop(bytes);
        Ok(self.chat.complete(request, client).await)
    }

    async fn ollama_turn(
        &self,
        method: OllamaMethod,
        scope: RequestScope,
        head: &Parts,
        body: Incoming,
    ) -> std::result::Result<HttpResponse, HttpResponse> {
        let client = Arc::new(());
        let (chat, bytes) = self.read_chat(scope, head, body, &client).await?;
        Ok(self.ollama.turn(chat, OllamaRequest { method, head, bytes, client }).await)
    }

    async fn embeddings(&self, body: Incoming) -> std::result::Result<HttpResponse, HttpResponse> {
        let bytes = self.read_body(body).await?;
        let request = request_body::parse(&bytes).and_then(|body| EmbeddingsRequest::parse(&body));
        let request = request.map_err(|error| response::bad_request(&error))?;
        Ok(self.embeddings.run(request).await)
    }

    async fn relay(
        &self,
        name: &str,
        head: &Parts,
        body: Incoming,
    ) -> std::result::Result<HttpResponse, HttpResponse> {
        let bytes = self.read_body(body).await?;
        let object = request_body::parse_to_relay(&bytes).unwrap_or_default();
        let keys = self.guard.caller_keys(&head.headers);
        Ok(self.passthrough.relay(name, head, object, bytes, &keys).await)
    }

    async fn relay_to_ollama(
        &self,
        name: &str,
        head: &Parts,
        body: Incoming,
    ) -> std::result::Result<HttpResponse, HttpResponse> {
        // The files of which Ollama makes models may have any length.
        if name.starts_with("blobs/") {
            let passing = relay_headers::passing(head, Bytes::new()).with(RequestBody::wrap(body));
            return Ok(self.ollama.relay_passing(name, head.uri.query(), passing).await);
        }
        let bytes = self.read_body(body).await?;
        Ok(self.ollama.relay(name, head, bytes).await)
    }
}

/// The scope that a request names in its address, else in its headers, if it does; and its route.
fn named_scope(head: &Parts) -> Result<(Option<RequestScope>, Route)> {
    let (named, route) = Route::parse(head.uri.path())?;
    let text = |name| head.headers.get(name).map(|v| String::from_utf8_lossy(v.as_bytes()).into_owned());
    let scope = match (named, text(PARTITION_HEADER), text(INSTANCE_HEADER)) {
        (Some(scope), ..) => Some(scope),
        (None, None, None) => None,
        (None, partition, instance) => Some(RequestScope::named(partition.as_deref(), instance.as_deref())?),
    };
    Ok((scope, route))
}

fn not_found(head: &Parts) -> HttpResponse {
    let text = format!("there is nothing at {}", head.uri.path());
    response::error(StatusCode::NOT_FOUND, "not_found", &text)
}
