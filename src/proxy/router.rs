//! Takes a request to the part that answers it, and logs it.

use super::backend::{AiChatApi, ChatPage, DocumentsApi, ModelsApi, SessionsApi, UserNames};
use super::command::CommandApi;
use super::config::ProxyConfig;
use super::embeddings::{EmbeddingsApi, EmbeddingsRequest};
use super::exposition::MetricsApi;
use super::health::HealthApi;
use super::http::{
    AuditedRequest, Guard, HttpResponse, LoggedRequest, LoggedSender, OrResponse, Page, Refusal, RequestLog,
    Route, TrustedProxies, relay_headers, request_body, response,
};
use super::mcp::McpApi;
use super::pages::{Asked, PageRequest, PagesApi};
use super::turn::{
    ChatApi, ChatRequest, MemoryMode, OllamaApi, OllamaMethod, OllamaRequest, Passthrough, Requester,
};
use super::visibility::visible_to;
use super::worker::{AuditQueue, Budgets, Exhausted};
use crate::access::Caller;
use crate::api::Api;
use crate::error::Result;
use crate::http::RequestBody;
use crate::mcp::AuditedCall;
use crate::record::{Object, RequestScope, Scope};
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{Method, Request, StatusCode};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// The headers by which a client names its scope, if its address does not.
const PARTITION_HEADER: &str = "x-rsv-partition";
const INSTANCE_HEADER: &str = "x-rsv-instance";

/// Answers every request.
pub(super) struct Router {
    pub(super) config: Arc<ProxyConfig>,
    pub(super) guard: Guard,
    pub(super) trusted: TrustedProxies,
    pub(super) budgets: Arc<Budgets>,
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
    pub(super) mcp: McpApi,
    pub(super) models: ModelsApi,
    pub(super) health: HealthApi,
    pub(super) metrics: MetricsApi,
    pub(super) documents: Arc<DocumentsApi>,
    pub(super) ai_chat: AiChatApi,
    pub(super) sessions: SessionsApi,
    pub(super) chat_page: ChatPage,
    pub(super) pages: PagesApi,
}

/// The scopes that a request names.
#[derive(Default)]
struct Named {
    in_path: Option<RequestScope>,
    /// That of its path, else that of its headers.
    scope: Option<RequestScope>,
}

/// A request, and who sends it.
struct Asking<'a> {
    caller: &'a Caller,
    /// `None` if it names none, and its caller has none.
    scope: Option<RequestScope>,
    named: Named,
    head: &'a Parts,
}

impl Asking<'_> {
    /// Its scope. Errors if it has none.
    fn scope(&self) -> std::result::Result<RequestScope, Refusal> {
        self.scope.clone().ok_or(Refusal::UnnamedPartition)
    }
}

impl Router {
    /// Answers a request that came by a connection from `peer`, unless the guard does.
    pub(super) async fn answer(&self, request: Request<Incoming>, peer: Option<IpAddr>) -> HttpResponse {
        let (mut head, body) = request.into_parts();
        let logged = LoggedRequest::begin(&head);
        let in_path = Route::parse(head.uri.path());
        let is_ollama = match &in_path {
            Ok((_, Route::Unknown)) | Err(_) => Route::is_ollama_path(head.uri.path()),
            Ok((_, route)) => route.is_ollama(),
        };
        let is_anthropic = in_path.as_ref().is_ok_and(|(_, route)| route.is_anthropic());
        // Failures from here on are reported by `respond`, after the refusals that go before it.
        let page = in_path.as_ref().ok().and_then(|(_, route)| self.pages.page_of(route, &head));
        let logins = page.map(|_| self.pages.logins(&head)).unwrap_or_default();
        let admitted = self.guard.admit(&head.headers, &logins, self.config.clock.now());
        if let Ok(caller) = &admitted {
            self.guard.clean(&mut head, caller);
        }
        let parsed = in_path.and_then(|in_path| self.named_scope(&head, in_path, admitted.as_ref().ok()));
        let caller = admitted.as_ref().ok().cloned();
        let named = parsed.as_ref().ok().map(|(named, _)| named.scope.as_ref());
        let scope = named.zip(caller.as_ref()).and_then(|(named, caller)| self.scope_of(named, caller));
        let refused = self.guard.response_by_origin(&head);
        let is_audited = self.audit.is_on() && refused.is_none() && caller.is_some();
        let audited = parsed.as_ref().ok().filter(|_| is_audited);
        let audited = audited.and_then(|(_, route)| AuditedRequest::of(route, page, &head));
        let mut response = match (refused, parsed, page) {
            (Some(response), ..) => response,
            (None, Ok((named, _)), Some(page)) => {
                let route = Route::Page(page);
                // A page asks for the token itself.
                let refused = caller.as_ref().and_then(|caller| refusal(caller, &named, &route, &head));
                match refused {
                    Some(refusal) => refusal.into(),
                    None => self.page(page, caller.clone(), named, &head, body).await,
                }
            }
            (None, parsed, _) => match self.respond(admitted, parsed, &head, body).await {
                Ok(response) | Err(response) => response,
            },
        };
        if is_ollama {
            response = response::for_ollama(response);
        } else if is_anthropic {
            response = response::for_anthropic(response);
        }
        response::add_safety_headers(&mut response);
        self.guard.add_cors_headers(&head, &mut response);
        self.config.metrics.add_request(response.status().as_u16());
        let sender = LoggedSender {
            address: peer.map(|peer| self.trusted.client(peer, &head.headers)),
            token: caller.as_ref().and_then(Caller::name),
        };
        let scope = scope.map(|scope| scope.scope);
        self.log.write(&logged, &sender, scope.as_ref(), &response);
        let now = self.config.clock.now();
        if let Some(row) = audited.and_then(|audited| audited.row(&sender, scope, &response, now)) {
            self.audit.note(row);
        }
        response
    }

    /// Answers a request that is for no page. Errors with the response if it is refused.
    async fn respond(
        &self,
        admitted: std::result::Result<Caller, Refusal>,
        parsed: Result<(Named, Route)>,
        head: &Parts,
        body: Incoming,
    ) -> OrResponse {
        let caller = admitted?;
        let (named, route) = parsed.map_err(response::bad_request)?;
        if let Some(refusal) = refusal(&caller, &named, &route, head) {
            return Err(refusal.into());
        }
        let scope = self.scope_of(named.scope.as_ref(), &caller);
        self.dispatch(route, Asking { caller: &caller, scope, named, head }, body).await
    }

    /// The scopes that a request names in its address and in its headers, and its route. An instance alone is
    /// of the partition that requests of its caller are for.
    fn named_scope(
        &self,
        head: &Parts,
        (in_path, route): (Option<RequestScope>, Route),
        caller: Option<&Caller>,
    ) -> Result<(Named, Route)> {
        let text = |name| head.headers.get(name).map(|v| String::from_utf8_lossy(v.as_bytes()).into_owned());
        let scope = match (in_path.clone(), text(PARTITION_HEADER), text(INSTANCE_HEADER)) {
            (Some(scope), ..) => Some(scope),
            (None, None, None) => None,
            (None, partition, instance) => {
                let own = caller.filter(|caller| !caller.sees_all());
                let own = own.and_then(|caller| caller.own_partition(&self.scope.scope.partition));
                let partition = partition.as_deref().or(own);
                Some(RequestScope::named(partition, instance.as_deref())?)
            }
        };
        Ok((Named { in_path, scope }, route))
    }

    /// The scope of a request: that of its address, which its user was given; else that of its headers; else
    /// the proxy's own; of a caller who does not see that, the caller's own, if there is one. `named` is the
    /// first of these two that there is.
    fn scope_of(&self, named: Option<&RequestScope>, caller: &Caller) -> Option<RequestScope> {
        if let Some(named) = named {
            return Some(named.clone());
        }
        let default = &self.scope.scope.partition;
        match caller.own_partition(default)? {
            own if own == default => Some(self.scope.clone()),
            // A name that no scope can have is as good as none: the request is refused for it.
            own => RequestScope::named(Some(own), None).ok(),
        }
    }

    async fn dispatch(&self, route: Route, asked: Asking<'_>, body: Incoming) -> OrResponse {
        let Asking { caller, head, .. } = asked;
        if route.is_backend() {
            return self.backend(route, asked, body).await;
        }
        if let Some(allowed) = route.refuses(&head.method) {
            return Ok(response::wrong_method(allowed));
        }
        Ok(match route {
            Route::Chat => self.chat(Api::Chat, asked, body).await?,
            Route::Messages => self.chat(Api::Messages, asked, body).await?,
            Route::Responses => self.chat(Api::Responses, asked, body).await?,
            Route::Embeddings => self.embeddings(head, body).await?,
            Route::OllamaChat => self.ollama_turn(OllamaMethod::Chat, asked, body).await?,
            Route::OllamaGenerate => self.ollama_turn(OllamaMethod::Generate, asked, body).await?,
            Route::Mcp => self.mcp(asked, body).await?,
            Route::Other(name) => self.relay(&name, &asked, body).await?,
            Route::Ollama(name) => self.relay_to_ollama(&name, &asked, body).await?,
            Route::Health => self.health.report(&visible_to(caller, asked.named.scope.as_ref())).await,
            Route::Metrics => self.metrics.write(&visible_to(caller, asked.named.scope.as_ref())).await,
            Route::Models => self.models.list(&self.guard.caller_keys(&head.headers, caller)).await,
            Route::Command(command, count) => {
                let query = head.uri.query().unwrap_or_default();
                self.commands.run(asked.scope()?, command, count, query).await
            }
            Route::ChatPage => self.chat_page.response().unwrap_or_else(|| not_found(head)),
            Route::Root => response::json(StatusCode::OK, "{\"name\":\"rsv-proxy\"}\n"),
            _ => not_found(head),
        })
    }

    /// Answers a request of the Model Context Protocol.
    async fn mcp(&self, asked: Asking<'_>, body: Incoming) -> OrResponse {
        let body = self.read_decoded(asked.head, body).await?;
        let call = self.audit.is_on().then(|| AuditedCall::read(&body)).flatten();
        let mut response = self.mcp.answer(asked.head, body, asked.scope()?, asked.caller).await;
        if let Some(call) = call {
            if let Some(project) = call.project.clone() {
                let scope = Scope { instance: project.clone(), partition: project };
                response::set_scope(&mut response, scope);
            }
            response::set_call(&mut response, call);
        }
        Ok(response)
    }

    /// Answers a page, of the scope that the request names, to a caller, or to a browser that has to log in.
    async fn page(
        &self,
        page: Page,
        caller: Option<Caller>,
        Named { in_path, scope }: Named,
        head: &Parts,
        body: Incoming,
    ) -> HttpResponse {
        let query = head.uri.query().unwrap_or_default();
        let request = PageRequest::new(in_path.as_ref(), scope, query, self.config.clock.now());
        let scope = request.as_ref().ok().map(PageRequest::seen_scope);
        let mut response =
            self.pages.answer(Asked { page, guard: &self.guard, caller, head, request }, body).await;
        if let Some(scope) = scope {
            response::set_scope(&mut response, scope);
        }
        response
    }

    /// Answers a route of the chat backend, for the user that the request names.
    async fn backend(
        &self,
        route: Route,
        Asking { caller, named, head, .. }: Asking<'_>,
        body: Incoming,
    ) -> OrResponse {
        let path = named.in_path.as_ref().map(|named| &named.scope);
        let names = UserNames::read(caller, path, &head.headers, head.uri.query(), &self.scope.scope);
        let names = names.map_err(response::bad_request)?;
        let user = names.user(None);
        let scope = user.as_ref().ok().map(|user| {
            let session = match &route {
                Route::Session(session) | Route::Commit(session) => session,
                _ => user,
            };
            Scope { partition: user.clone(), instance: session.clone() }
        });
        let deletes = head.method == Method::DELETE;
        let mut response = match (route.refuses(&head.method), route) {
            (Some(allowed), _) => response::wrong_method(allowed),
            (_, Route::Upload) => {
                self.documents.upload(&names, head, body).await.unwrap_or_else(|refusal| refusal)
            }
            (_, Route::AiChat { streams }) => {
                let bytes = self.read_decoded(head, body).await?;
                let body = request_body::parse(&bytes).map_err(response::bad_request)?;
                let sender = self.sender(caller, head).await?;
                self.ai_chat.run(&names, &head.headers, sender, &body, streams).await
            }
            (_, Route::Commit(session)) => self.sessions.commit(user?, session).await,
            (_, Route::Sessions) => self.sessions.list(user?, head.uri.query()).await,
            (_, Route::Session(session)) if deletes => self.sessions.delete(user?, session).await,
            (_, Route::Session(session)) => self.sessions.show(user?, session, head.uri.query()).await,
            (_, Route::Document(doc_id)) if deletes => self.documents.delete(user?, doc_id).await,
            (_, Route::Document(doc_id)) => self.documents.show(user?, doc_id).await,
            _ => self.documents.list(user?).await,
        };
        if let Some(scope) = scope {
            response::default_scope(&mut response, scope);
        }
        Ok(response)
    }

    /// The sender of a request to a provider. Errors with the response if its budget is spent.
    async fn sender(&self, caller: &Caller, head: &Parts) -> OrResponse<Requester> {
        let purse = self.budgets.open(caller).await;
        let purse = purse.map_err(|Exhausted { text, wait }| Refusal::Budget { text, wait })?;
        Ok(Requester { caller: caller.clone(), keys: self.guard.caller_keys(&head.headers, caller), purse })
    }

    async fn read_body(&self, body: Incoming) -> OrResponse<Bytes> {
        request_body::read(body, self.max_body, self.idle_timeout).await
    }

    async fn read_decoded(&self, head: &Parts, body: Incoming) -> OrResponse<Bytes> {
        Ok(request_body::decoded(&head.headers, self.read_body(body).await?, self.max_body)?)
    }

    /// Reads the request for a turn; `None` if its memory is off, so that nobody reads it.
    async fn read_chat(
        &self,
        asked: &Asking<'_>,
        body: Incoming,
        client: &Arc<()>,
    ) -> OrResponse<(Option<ChatRequest>, Bytes, Requester)> {
        let bytes = self.read_body(body).await?;
        let (Asking { caller, head, .. }, scope) = (asked, asked.scope()?);
        let (sender, settings) = (self.sender(caller, head).await?, &self.config.settings);
        let mode = MemoryMode::from_request(&head.headers, settings, &scope.scope);
        if mode.map_err(response::bad_request)?.within(caller) == MemoryMode::Off {
            return Ok((None, bytes, sender));
        }
        let plain = request_body::decoded(&head.headers, bytes.clone(), self.max_body)?;
        let request = ChatRequest::parse(head, &plain, scope, sender.clone(), settings, client);
        Ok((Some(request.map_err(response::bad_request)?), bytes, sender))
    }

    /// The members that a request is relayed by; none if its encoding is unknown: the provider may know it.
    fn relayed_by(&self, head: &Parts, bytes: &Bytes) -> Result<Object> {
        let plain = request_body::decoded(&head.headers, bytes.clone(), self.max_body);
        plain.map_or(Ok(Object::default()), |plain| request_body::parse_to_relay(&plain))
    }

    async fn chat(&self, api: Api, asked: Asking<'_>, body: Incoming) -> OrResponse {
        let (head, client) = (asked.head, Arc::new(()));
        let (request, bytes, sender) = self.read_chat(&asked, body, &client).await?;
        let readable = match api {
            Api::Chat => request,
            // Memory has no part in an unreadable request: the provider judges it.
            Api::Messages | Api::Responses => request.and_then(|request| request.for_api(api, &head.headers)),
        };
        let Some(request) = readable else {
            let object = self.relayed_by(head, &bytes).map_err(response::bad_request)?;
            return self.passthrough.relay(api.path(), head, object, bytes, &sender).await;
        };
        // They may be long, and the turn takes its time.
        drop(bytes);
        Ok(self.chat.complete(request, client).await)
    }

    async fn ollama_turn(&self, method: OllamaMethod, asked: Asking<'_>, body: Incoming) -> OrResponse {
        let (head, client) = (asked.head, Arc::new(()));
        let (chat, bytes, sender) = self.read_chat(&asked, body, &client).await?;
        match chat {
            Some(chat) => self.ollama.turn(chat, OllamaRequest { method, head, bytes, client }).await,
            None => Ok(self.ollama.relay(method.name(), head, bytes, sender.purse).await),
        }
    }

    async fn embeddings(&self, head: &Parts, body: Incoming) -> OrResponse {
        let bytes = self.read_decoded(head, body).await?;
        let request = request_body::parse(&bytes).and_then(|body| EmbeddingsRequest::parse(&body));
        let request = request.map_err(response::bad_request)?;
        Ok(self.embeddings.run(request).await)
    }

    async fn relay(&self, name: &str, asked: &Asking<'_>, body: Incoming) -> OrResponse {
        let bytes = self.read_body(body).await?;
        // A form, or what the provider is to judge.
        let object = self.relayed_by(asked.head, &bytes).unwrap_or_default();
        let sender = self.sender(asked.caller, asked.head).await?;
        self.passthrough.relay(name, asked.head, object, bytes, &sender).await
    }

    async fn relay_to_ollama(&self, name: &str, asked: &Asking<'_>, body: Incoming) -> OrResponse {
        let head = asked.head;
        // The files of which Ollama makes models may have any length.
        if name.starts_with("blobs/") {
            let passing = relay_headers::passing(head, Bytes::new()).with(RequestBody::wrap(body));
            return Ok(self.ollama.relay_passing(name, relay_headers::query(head), passing).await);
        }
        let bytes = self.read_body(body).await?;
        let embeds = ["embed", "embeddings"].contains(&name);
        let purse = if embeds { self.sender(asked.caller, head).await?.purse } else { None };
        Ok(self.ollama.relay(name, head, bytes, purse).await)
    }
}

/// The refusal of a caller who does not see the partition that a request names, or lacks the right that it
/// needs. The store is not asked, so that it takes as long whether or not there is such a partition.
fn refusal(caller: &Caller, named: &Named, route: &Route, head: &Parts) -> Option<Refusal> {
    if let Some(named) = named.scope.as_ref().filter(|named| !caller.sees(&named.scope.partition)) {
        return Some(Refusal::Partition { name: named.scope.partition.clone() });
    }
    let right = route.right(&head.method).filter(|right| !caller.has(*right))?;
    Some(Refusal::of(caller, right))
}

fn not_found(head: &Parts) -> HttpResponse {
    let text = format!("there is nothing at {}", head.uri.path());
    response::error(StatusCode::NOT_FOUND, "not_found", &text)
}
