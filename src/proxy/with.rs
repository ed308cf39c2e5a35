//! A command that is run with the proxy's addresses in its environment.

use super::guard::NOBODYS;
use super::serve::Stop;
use crate::config::{self, Layer, Settings};
use crate::error::{Context, Error, Result};
use crate::http::{self, Address};
use crate::record::Object;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use tokio::process::Command;

/// The variables by which clients find a server of OpenAI's kind: its own clients and llm; langchain, litellm and
/// aider; shell-gpt.
const OPENAI: [&str; 3] = ["OPENAI_BASE_URL", "OPENAI_API_BASE", "API_BASE_URL"];
/// Those by which they find Ollama: its own clients; litellm.
const OLLAMA: [&str; 2] = ["OLLAMA_HOST", "OLLAMA_API_BASE"];
/// Those by which clients know whom to ask without a proxy of the network's: some read the one, some the other.
const NO_PROXY: [&str; 2] = ["no_proxy", "NO_PROXY"];
/// How long a proxy that runs may take to say so.
const PATIENCE: &str = "1s";
/// No account of its health is longer, in bytes.
const LIMIT: usize = 1 << 20;

/// A command that is a client of the proxy.
pub struct Client {
    words: Vec<OsString>,
    /// The path of its scope, if one is named.
    scope: String,
    /// What it sends as OpenAI's key, if it has none of its own that would do.
    key: Option<String>,
}

impl Client {
    /// Takes a command and its arguments, of which there is at least the first, and the scope that it asks in.
    pub fn new(
        words: Vec<OsString>,
        partition: Option<&str>,
        instance: Option<&str>,
        settings: &Settings,
    ) -> Client {
        let part = |kind: &str, name: Option<&str>| {
            let encoded = name.map(|name| utf8_percent_encode(name, NON_ALPHANUMERIC).to_string());
            encoded.map(|name| format!("/{kind}/{name}")).unwrap_or_default()
        };
        let partition = partition.or(instance.map(|_| "default"));
        let scope = part("partition", partition) + &part("instance", instance);
        let token = settings.secret("proxy.token").map(|token| token.expose().to_owned());
        let named = matches!(settings.layer("openai_api_key"), Some(Layer::Environment(_)));
        Client { words, scope, key: token.or((!named).then(|| NOBODYS.to_owned())) }
    }

    /// Runs the command to its end; its exit status, or 128 and the number of the signal that ended it. What is
    /// typed at the terminal reaches it without our doing: Ctrl-C is its own affair. SIGTERM is passed on.
    pub async fn run(&self, proxy: SocketAddr, stop: &mut Stop) -> Result<u8> {
        let proxy = to_ask(proxy);
        let base = format!("http://{proxy}{}", self.scope);
        let near = config::no_proxy([&proxy.ip().to_string(), "localhost"]);
        let name = self.words[0].to_string_lossy();
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        command.envs(OPENAI.map(|variable| (variable, format!("{base}/v1"))));
        command.envs(OLLAMA.map(|variable| (variable, &base)));
        command.envs(NO_PROXY.map(|variable| (variable, &near)));
        command.envs(self.key.iter().map(|key| ("OPENAI_API_KEY", key)));
        let mut child = match command.spawn() {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                let error = Error::new(format!("{name}: command not found"));
                return Err(error.hint("without a command rsv-proxy serves until it is ended"));
            }
            child => child.context(format_args!("cannot run {name}"))?,
        };
        let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        loop {
            tokio::select! {
                ended = child.wait() => return Ok(status(ended.context(format_args!("cannot wait for {name}"))?)),
                terminated = stop.asked() => if let (true, Some(pid)) = (terminated, pid) {
                    // It may have ended just now.
                    let _ = kill_process(pid, Signal::TERM);
                }
            }
        }
    }
}

/// Whether a proxy runs at an address, and is well.
pub async fn is_served(address: SocketAddr, settings: &Settings) -> Result<bool> {
    let mut quick = settings.clone();
    quick.overrule("connect_timeout", "connect_timeout", PATIENCE)?;
    quick.overrule("request_timeout", "request_timeout", PATIENCE)?;
    let health = Address::parse(&format!("http://{}/health", to_ask(address)))?;
    let client = http::Client::new(&quick);
    let Ok(response) = client.get(&health, settings.secret("proxy.token").as_ref()).await else {
        return Ok(false);
    };
    let well = response.status() == 200;
    let told = Object::parse_bytes(&response.body(LIMIT).await.bytes).unwrap_or_default();
    // Others may have a health too, but do not tell of these.
    Ok(well && ["store", "upstreams", "version"].iter().all(|member| told.get(member).is_some()))
}

/// Where to ask who listens at every address of the machine.
fn to_ask(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}

fn status(ended: ExitStatus) -> u8 {
    let code = ended.code().or(ended.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(2)
}
