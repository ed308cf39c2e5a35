//! Runs a command with the proxy's address in its environment.

use super::client_setup;
use super::error::ProxyFault;
use super::http::{PLACEHOLDER_KEY, descriptors};
use super::stop_signals::StopSignals;
use crate::config::{self, Layer, Settings};
use crate::error::{Context, Result};
use crate::http::{self, Address};
use crate::record::Object;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rustix::process::{Pid, Rlimit, Signal, kill_process};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use tokio::process::Command;

/// The variables that name an OpenAI-compatible server: for OpenAI's own clients and llm; for langchain,
/// litellm and aider; for shell-gpt.
const OPENAI_VARIABLES: [&str; 3] = ["OPENAI_BASE_URL", "OPENAI_API_BASE", "API_BASE_URL"];
/// The variables that name Ollama: for its own clients; for litellm.
const OLLAMA_VARIABLES: [&str; 2] = ["OLLAMA_HOST", "OLLAMA_API_BASE"];
/// The variables that name Anthropic's server: for its own clients; for litellm.
const ANTHROPIC_VARIABLES: [&str; 2] = ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"];
/// The variables that list the hosts to ask without the network's proxy: some clients read the one, some the
/// other.
const NO_PROXY_VARIABLES: [&str; 2] = ["no_proxy", "NO_PROXY"];
/// The time limit for the health report of a running proxy.
const HEALTH_TIMEOUT: &str = "1s";
/// The longest health report, in bytes.
const HEALTH_LIMIT: usize = 1 << 20;

/// A command that is run as a client of the proxy.
pub struct ClientCommand {
    /// The program and its arguments.
    words: Vec<OsString>,
    /// The path of its scope; empty if none is named.
    scope_path: String,
    /// The key to send as OpenAI's, if the environment has none that would do.
    key: Option<String>,
    /// The token of the proxy, for programs that send it in a header of their own.
    token: Option<String>,
    /// The limit of its descriptors, before the proxy raised its own.
    descriptors: Rlimit,
}

impl ClientCommand {
    /// A command of at least one word, which asks in the scope of `partition` and `instance`.
    pub fn new(
        words: Vec<OsString>,
        partition: Option<&str>,
        instance: Option<&str>,
        settings: &Settings,
    ) -> ClientCommand {
        let part = |kind: &str, name: Option<&str>| {
            let encoded = name.map(|name| utf8_percent_encode(name, NON_ALPHANUMERIC).to_string());
            encoded.map(|name| format!("/{kind}/{name}")).unwrap_or_default()
        };
        let partition = partition.or(instance.map(|_| "default"));
        let scope_path = part("partition", partition) + &part("instance", instance);
        let token = settings.secret("proxy.token").map(|token| token.expose().to_owned());
        let named = matches!(settings.layer("openai_api_key"), Some(Layer::Environment(_)));
        let key = token.clone().or((!named).then(|| PLACEHOLDER_KEY.to_owned()));
        ClientCommand { words, scope_path, key, token, descriptors: descriptors::current_limit() }
    }

    /// Runs the command to its end. Returns its exit status, or 128 plus the number of the signal that ended
    /// it. SIGTERM and SIGHUP are passed on; Ctrl-C reaches the command from the terminal. Fails if it cannot
    /// be started.
    pub async fn run(&self, proxy: SocketAddr, signals: &mut StopSignals) -> Result<u8> {
        let proxy = reachable(proxy);
        let base = format!("http://{proxy}{}", self.scope_path);
        let near = config::no_proxy([&proxy.ip().to_string(), "localhost"]);
        let name = self.words[0].to_string_lossy();
        let mut command = Command::new(&self.words[0]);
        command.args(client_setup::arguments(&self.words[0], &base)).args(&self.words[1..]);
        command.envs(OPENAI_VARIABLES.map(|variable| (variable, format!("{base}/v1"))));
        command.envs(ANTHROPIC_VARIABLES.map(|variable| (variable, &base)));
        command.envs(client_setup::variables(&self.words[0], &base, self.token.as_deref()));
        command.envs(OLLAMA_VARIABLES.map(|variable| (variable, &base)));
        command.envs(NO_PROXY_VARIABLES.map(|variable| (variable, &near)));
        command.envs(self.key.iter().map(|key| ("OPENAI_API_KEY", key)));
        let mut child = match descriptors::with_limit(&self.descriptors, || command.spawn()) {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                return Err(ProxyFault::NoCommand { name: name.into_owned() }.into());
            }
            child => child.context(format_args!("cannot run {name}"))?,
        };
        let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        loop {
            tokio::select! {
                ended = child.wait() => return Ok(exit_status(ended.context(format_args!("cannot wait for {name}"))?)),
                signal = signals.recv() => if let Some(pid) = pid.filter(|_| signal != Signal::INT) {
                    // It may have ended just now.
                    let _ = kill_process(pid, signal);
                }
            }
        }
    }
}

/// Whether a proxy runs at an address and is healthy.
pub async fn is_served(address: SocketAddr, settings: &Settings) -> Result<bool> {
    let mut short_timeouts = settings.clone();
    short_timeouts.set_override("connect_timeout", "connect_timeout", HEALTH_TIMEOUT)?;
    short_timeouts.set_override("request_timeout", "request_timeout", HEALTH_TIMEOUT)?;
    let health = Address::parse(&format!("http://{}/health", reachable(address)))?;
    let client = http::Client::new(&short_timeouts);
    let Ok(response) = client.get(&health, settings.secret("proxy.token").as_ref()).await else {
        return Ok(false);
    };
    let is_healthy = response.status() == 200;
    // An answer that is no JSON is of another server.
    let report = Object::parse_bytes(&response.body(HEALTH_LIMIT).await.bytes).unwrap_or_default();
    // So is a health report without these members.
    Ok(is_healthy && ["store", "upstreams", "version"].iter().all(|member| report.get(member).is_some()))
}

/// The address at which to reach a server that listens at `address`, which may be the unspecified one.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}

/// The status of an ended process. One that is no byte, which this system does not have, is trouble.
fn exit_status(ended: ExitStatus) -> u8 {
    let code = ended.code().or(ended.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(2)
}
