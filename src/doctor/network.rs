//! The checks over the network: the proxy's port, and the providers.

use super::error::DoctorError;
use super::finding::Finding;
use super::timeout::CHECK_TIMEOUT;
use crate::config::{Secret, Settings};
use crate::error::{Error, Result, plain};
use crate::http::{Address, Client, Headers, RelayRequest};
use crate::provider::{Providers, Target};
use futures_util::future::join_all;
use http_body_util::{BodyExt, Limited};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use tokio::net::TcpListener;

/// No list of models is longer, in bytes.
const MAX_LIST_BYTES: usize = 4 << 20;

/// The proxy's answer at `/health`.
#[derive(Deserialize)]
struct Health {
    version: Option<String>,
    store: Option<String>,
}

/// A provider's list of models.
#[derive(Deserialize)]
struct ModelList {
    data: Vec<ModelEntry>,
}

#[derive(Deserialize)]
struct ModelEntry {
    id: Option<String>,
}

/// Whether the proxy answers at its port, or could.
pub(super) async fn proxy(settings: &Settings) -> Finding {
    Finding::from_result("proxy", check_proxy(settings).await)
}

/// The state of the proxy at its port, in words. Fails if the port cannot be bound, or another program, a
/// proxy of another version, or one in trouble has it.
pub(super) async fn check_proxy(settings: &Settings) -> Result<String> {
    let port = settings.integer("reservoir_port").and_then(|port| u16::try_from(port).ok()).unwrap_or(3017);
    let host = settings.text("reservoir_host").unwrap_or_else(|| "127.0.0.1".to_owned());
    let (bound, at) = (TcpListener::bind((host.as_str(), port)).await, format!("{host}:{port}"));
    let Err(why) = bound else { return Ok(format!("not running; {at} is free")) };
    if why.kind() != io::ErrorKind::AddrInUse {
        return Err(DoctorError::ProxyAddress { at, source: why }.into());
    }
    // A server on all addresses also listens on this one.
    let name = if ["0.0.0.0", "::"].contains(&host.as_str()) { "127.0.0.1" } else { &host };
    let name = if name.contains(':') { format!("[{name}]") } else { name.to_owned() };
    let address =
        Address::parse(&format!("http://{name}:{port}/health")).map_err(|e| e.at("reservoir_host"))?;
    let token = settings.secret("proxy.token");
    let answered = get_json(&Client::new(settings), &address, token.as_ref(), &Headers::default()).await;
    // A server that does not answer, or with something else, is another program.
    let health = answered.ok().and_then(|(_, body)| body);
    let Health { version, store } = health.unwrap_or(Health { version: None, store: None });
    match (version, store.filter(|store| store != "ok")) {
        (Some(version), _) if version != env!("CARGO_PKG_VERSION") => {
            let is = format!("{version} runs at {at}, but this is {}", env!("CARGO_PKG_VERSION"));
            Err(DoctorError::OtherProxy { is }.into())
        }
        (Some(_), Some(trouble)) => Err(DoctorError::ProxyTrouble { at, trouble }.into()),
        (Some(version), None) => Ok(format!("rsv-proxy {version} runs at {at}")),
        (None, _) => Err(DoctorError::PortTaken { at, by: port_owner(port) }.into()),
    }
}

/// The error of listening on an address, which names the program that uses the port.
pub fn cannot_listen(address: SocketAddr, why: &io::Error) -> Error {
    let (port, cause) = (address.port(), plain(&why.to_string()));
    let owner = listening_process(port);
    let (cause, help) = match owner {
        _ if why.kind() != io::ErrorKind::AddrInUse => {
            (cause, "choose another address with --listen, or another port with --port".to_owned())
        }
        Some(owner) => {
            let help = "stop that program, or choose another port with --port";
            (format!("address already in use by {owner}"), help.to_owned())
        }
        None => (
            cause,
            format!(
                "'sudo lsof -nP -iTCP:{port} -sTCP:LISTEN' names the program that uses it; or choose another port with --port"
            ),
        ),
    };
    DoctorError::Listen { address, cause, help }.into()
}

/// The process that listens on a port, if the system shows it.
fn port_owner(port: u16) -> String {
    listening_process(port).unwrap_or_else(|| "another program".to_owned())
}

#[cfg(not(target_os = "linux"))]
fn listening_process(_: u16) -> Option<String> {
    None
}

/// The process that has a listening socket of this port, if it is one that we may look into.
#[cfg(target_os = "linux")]
fn listening_process(port: u16) -> Option<String> {
    use procfs::{net, process};
    let sockets = [net::tcp(), net::tcp6()].into_iter().flatten().flatten();
    let is_listening = |socket: &net::TcpNetEntry| {
        socket.state == net::TcpState::Listen && socket.local_address.port() == port
    };
    let inodes: Vec<u64> = sockets.filter(is_listening).map(|socket| socket.inode).collect();
    let holds = |process: &process::Process| {
        let files = process.fd().into_iter().flatten().flatten();
        { files }
            .any(|file| matches!(file.target, process::FDTarget::Socket(inode) if inodes.contains(&inode)))
    };
    let process = process::all_processes().ok()?.flatten().find(holds)?;
    Some(format!("{} (process {})", process.stat().ok()?.comm, process.pid))
}

/// Whether each provider answers, and takes its key. One that is not configured need not, and is not
/// mentioned then.
pub(super) async fn providers(settings: &Settings) -> Vec<Finding> {
    let (all, wanted) = match Providers::new(settings) {
        Ok(providers) => (providers.all(), settings.text("model").map(|model| providers.target(&model))),
        Err(error) => return vec![Finding::trouble("providers", error)],
    };
    let wanted = match wanted.transpose() {
        Ok(wanted) => wanted,
        Err(refusal) => return vec![Finding::trouble("providers", refusal)],
    };
    let client = Client::new(settings);
    let model_of = |target: &Target| {
        wanted
            .as_ref()
            .filter(|wanted| wanted.address() == target.address())
            .map(|wanted| wanted.model.clone())
    };
    let states = join_all(all.iter().map(|target| check_provider(&client, target, model_of(target)))).await;
    let reached = states.iter().any(Result::is_ok);
    let mut found: Vec<Finding> = { all.iter() }
        .zip(states)
        .filter(|(target, state)| state.is_ok() || model_of(target).is_some() || is_set_up(target, settings))
        .map(|(target, state)| Finding::from_result(target.name(), state))
        .collect();
    if !reached && found.iter().all(Finding::is_good) {
        found.push(Finding::advice("providers", DoctorError::NoProvider));
    }
    found
}

/// Whether a provider's address or key is configured.
fn is_set_up(target: &Target, settings: &Settings) -> bool {
    let of_route = target.address_setting().starts_with("routes.");
    of_route
        || target.own_key().is_ok_and(|key| key.is_some())
        || settings.is_set(&format!("{}_base_url", target.name()))
}

/// Asks a provider for its models; `model` is one that it should have.
async fn check_provider(client: &Client, target: &Target, model: Option<String>) -> Result<String> {
    let key = target.own_key()?;
    let address = target.address();
    let Some(models) = target.sibling("models", None) else {
        return Ok(format!("{address}, not checked"));
    };
    let (status, body) = get_json(client, &models, key, target.headers()).await.map_err(|error| {
        let first = if address.is_loopback() { "start it" } else { "check the network" };
        error
            .at(format_args!("cannot reach {address}"))
            .hint(format!("{first}, or correct {}", target.address_setting()))
    })?;
    match (status, target.key_variable()) {
        (401 | 403, Some(variable)) => {
            let (address, variable) = (address.to_string(), variable.to_owned());
            return Err(DoctorError::Key { address, status, variable }.into());
        }
        (500.., _) => return Err(DoctorError::Status { address: address.to_string(), status }.into()),
        _ => {}
    }
    let is_missing = |model: &String| body.is_some_and(|list: ModelList| !list.has(model));
    match model.filter(|model| target.name() == "ollama" && is_missing(model)) {
        Some(model) => Err(DoctorError::NoModel { address: address.to_string(), model }.into()),
        None => Ok(address.to_string()),
    }
}

impl ModelList {
    /// Whether a model is in Ollama's list, where those without a tag have `:latest`.
    fn has(&self, model: &str) -> bool {
        let latest = format!("{model}:latest");
        self.data.iter().filter_map(|entry| entry.id.as_deref()).any(|id| id == model || id == latest)
    }
}

/// Fetches an address, within `CHECK_TIMEOUT`: the status, and the body if it is JSON of this shape.
fn get_json<'a, T: DeserializeOwned>(
    client: &'a Client,
    address: &'a Address,
    key: Option<&'a Secret>,
    headers: &'a Headers,
) -> impl Future<Output = Result<(u16, Option<T>)>> + 'a {
    let exchange = async move {
        let answer = client.relay(address, key, headers, RelayRequest::get()).await?;
        let status = answer.status().as_u16();
        // The status is the finding; a body that is cut or of another shape tells nothing more.
        let body = Limited::new(answer.into_body(), MAX_LIST_BYTES).collect().await.ok();
        Ok((status, body.and_then(|body| serde_json::from_slice(&body.to_bytes()).ok())))
    };
    async { tokio::time::timeout(CHECK_TIMEOUT, exchange).await.map_err(|_| DoctorError::Late)? }
}
