//! Sends requests to providers unchanged, and their answers back as they arrive.

use super::error::HttpFault;
use super::relay_headers;
use super::response::{self, HttpResponse};
use crate::cli::Diagnostics;
use crate::config::Settings;
use crate::error;
use crate::forward::{Failure, RetryPolicy};
use crate::http::{Address, Client, RelayBody, RelayRequest, RequestBody, parse_retry_after};
use crate::provider::{CallerKeys, Providers, Target};
use http_body_util::BodyExt;
use hyper::body::Body;
use hyper::header::RETRY_AFTER;
use hyper::{Method, Response, StatusCode};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The end of a provider's address.
const CHAT_PATH: &str = "/chat/completions";

/// The providers, and the client that asks them.
pub(in crate::proxy) struct Upstream {
    providers: Providers,
    client: Client,
    retries: RetryPolicy,
}

impl Upstream {
    /// Takes everything from the settings. Errors name the setting. There are at most as many answers in
    /// transit as `permits`.
    pub(in crate::proxy) fn new(
        settings: &Settings,
        diagnostics: &Diagnostics,
        permits: &Arc<Semaphore>,
    ) -> error::Result<Upstream> {
        Ok(Upstream {
            providers: Providers::new(settings)?,
            client: Client::new(settings).limited(permits),
            retries: RetryPolicy::new(settings, diagnostics),
        })
    }

    /// The provider of a model. Fails if it has no address.
    pub(in crate::proxy) fn target_of(&self, model: &str) -> Result<Target, Failure> {
        Ok(self.providers.target(model)?)
    }

    /// Every provider that has an address.
    pub(in crate::proxy) fn all(&self) -> Vec<Target> {
        self.providers.all()
    }

    /// The provider of a request that names no model: OpenAI if there is a key for it, else Ollama. Fails
    /// without an address.
    pub(in crate::proxy) fn default_target(&self, keys: &CallerKeys) -> Result<Target, Failure> {
        let openai = self.providers.by_name("openai")?;
        if openai.key(keys).is_ok() { Ok(openai) } else { self.ollama() }
    }

    /// Anthropic.
    pub(in crate::proxy) fn anthropic(&self) -> Result<Target, Failure> {
        Ok(self.providers.by_name("anthropic")?)
    }

    /// Ollama.
    pub(in crate::proxy) fn ollama(&self) -> Result<Target, Failure> {
        Ok(self.providers.by_name("ollama")?)
    }

    /// Sends a request to an address of a provider, and waits for the head of the answer. Fails if a key is
    /// missing, or the provider cannot be reached.
    pub(in crate::proxy) async fn send(
        &self,
        target: &Target,
        address: &Address,
        keys: &CallerKeys,
        mut passing: RelayRequest<impl Into<RequestBody>>,
    ) -> Result<Response<RelayBody>, Failure> {
        let key = target.key(keys)?;
        let path = address.path().rsplit_once("/v1/").map_or(address.path(), |(_, path)| path).to_owned();
        let key = target.authorize(&path, key, keys, &mut passing.headers);
        let sent = self.client.relay(address, key, target.headers(), passing).await;
        sent.map_err(|failed| Failure::unsent(target, address, &failed))
    }

    /// Sends a request as `send` does, and again as long as the provider cannot have acted on it.
    pub(in crate::proxy) async fn send_with_retries(
        &self,
        target: &Target,
        address: &Address,
        keys: &CallerKeys,
        passing: RelayRequest,
    ) -> Result<Response<RelayBody>, Failure> {
        let key = target.key(keys)?;
        let send = || self.client.relay(address, key, target.headers(), passing.clone());
        let wait = |response: &Response<RelayBody>| {
            parse_retry_after(response.headers().get(RETRY_AFTER)?.to_str().ok()?)
        };
        let sent =
            self.retries.send(target, send, |response| (response.status().as_u16(), wait(response))).await;
        sent.map_err(|failed| Failure::unsent(target, address, &failed))
    }

    /// Relays a request, and its answer back.
    pub(in crate::proxy) async fn relay(
        &self,
        target: &Target,
        address: Option<Address>,
        keys: &CallerKeys,
        passing: RelayRequest<impl Into<RequestBody>>,
    ) -> HttpResponse {
        let Some(address) = address else {
            let text = format!(
                "the address of {} does not end in {CHAT_PATH}, so other paths there are unknown",
                target.title()
            );
            return response::error(StatusCode::NOT_FOUND, "not_found", &text);
        };
        let wants_body = passing.method != Method::HEAD;
        relay_result(target, wants_body, self.send(target, &address, keys, passing).await)
    }

    /// Relays a chat request, which is sent again if the provider cannot have acted on it.
    pub(in crate::proxy) async fn relay_chat(
        &self,
        target: &Target,
        query: Option<&str>,
        keys: &CallerKeys,
        passing: RelayRequest,
    ) -> HttpResponse {
        let address = target.address().clone().with_query(query);
        relay_result(target, true, self.send_with_retries(target, &address, keys, passing).await)
    }

    /// Errors if a provider's address is the proxy's own.
    pub(in crate::proxy) fn check_not_own(&self, own: SocketAddr) -> error::Result<()> {
        let same = |target: &Target| {
            target.address().port() == Some(own.port())
                && (target.address().is_loopback()
                    || target.address().resolve().iter().any(|ip| is_own(*ip, own.ip())))
        };
        let Some(target) = self.all().into_iter().find(same) else { return Ok(()) };
        let help = match target.name() {
            "ollama" => "start Ollama on another port (OLLAMA_HOST=127.0.0.1:11435 ollama serve), then run: \
                         rsv-config set ollama_base_url http://127.0.0.1:11435"
                .to_owned(),
            _ => format!("correct {}", target.address_setting()),
        };
        let (provider, address) = (target.title().to_owned(), target.address().clone());
        Err(HttpFault::OwnAddress { provider, address, help }.into())
    }
}

/// Whether a request to `ip` reaches the server that listens at `own`.
fn is_own(ip: IpAddr, own: IpAddr) -> bool {
    let local = || UdpSocket::bind((ip, 0)).is_ok();
    ip == own || ip.is_loopback() || ip.is_unspecified() || own.is_unspecified() && local()
}

/// The address of a route of Ollama's own, such as `/api/tags`.
pub(in crate::proxy) fn ollama_address(address: &Address, name: &str, query: Option<&str>) -> Address {
    let base = address.path().strip_suffix(CHAT_PATH).map_or("", |base| base.trim_end_matches("/v1"));
    let path = format!("{base}/api/{name}");
    address.clone().with_path(&path).with_query(query)
}

/// The response to a request that was relayed.
fn relay_result(
    target: &Target,
    wants_body: bool,
    sent: Result<Response<RelayBody>, Failure>,
) -> HttpResponse {
    match sent {
        Ok(response) if wants_body && is_empty_refusal(&response) => {
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let failure = Failure::refused(target, status, b"", None);
            response::with_provider_headers(response::failure(&failure), &headers)
        }
        Ok(response) => relayed(response),
        Err(failure) => response::failure(&failure),
    }
}

/// Whether a provider refuses without a body, which some clients take for an answer.
fn is_empty_refusal(response: &Response<RelayBody>) -> bool {
    let status = response.status();
    (status.is_client_error() || status.is_server_error()) && response.body().is_end_stream()
}

/// A provider's answer as it arrives.
pub(in crate::proxy) fn relayed(response: Response<RelayBody>) -> HttpResponse {
    let mut response = response.map(|body| body.map_err(Into::into).boxed_unsync());
    response.extensions_mut().clear();
    *response.headers_mut() = relay_headers::to_client(std::mem::take(response.headers_mut()));
    response
}
