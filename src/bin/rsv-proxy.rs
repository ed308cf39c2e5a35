//! rsv-proxy: enrich, forward and ingest behind an OpenAI-compatible address.

use rsv::cli::{self, Common, Io, Outcome};
use rsv::config::{self, Settings};
use rsv::doctor;
use rsv::error::{Context, Error, Result};
use rsv::http;
use rsv::proxy::{self, ClientCommand, LogFormat, Proxy, StopSignals};
use std::ffi::OsString;
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::ExitCode;

/// With glibc's, whose heaps and caches are each thread's own, the memory of the proxy grew by a twentieth over
/// 100 000 requests (`scripts/bench memory`); with this it does not.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// How jemalloc is set, which looks for this name: no more heaps than event loops, little that a thread keeps to
/// itself, and what was not used for a tenth of a second goes back to the system.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)] // Nobody else has this name.
#[unsafe(export_name = "malloc_conf")]
static SETTINGS: &[u8] = b"narenas:4,tcache_max:1024,dirty_decay_ms:100,muzzy_decay_ms:0\0";

/// Serves chat completions with memory, for clients of OpenAI and Ollama
///
/// POST /v1/chat/completions recalls what helps, asks the provider of the model, answers what 'rsv-enrich |
/// rsv-forward | rsv-ingest' would, and stores the turn; POST /api/chat and /api/generate do so in Ollama's words.
/// POST /v1/embeddings makes vectors; GET /v1/models lists what can be asked for; anything else under /v1 or /api
/// passes on to its provider. GET /command/search/COUNT?term=WORDS and /command/view/COUNT tell what rsv-search and
/// rsv-view would. GET /health tells how it is. All of it stands under /partition/NAME and
/// /partition/NAME/instance/NAME too. SIGTERM ends it when all is answered and stored.
///
/// With a command it runs that, with its own address in the variables that clients of OpenAI and Ollama read,
/// and ends when the command does, with its exit status.
#[derive(clap::Args)]
struct Args {
    /// The port [default: 3017, see reservoir_port]; 0 means any that is free
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// The address to listen on [default: 127.0.0.1, see reservoir_host]; others than loopback want a token
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Listen where Ollama does, on port 11434, unless a port is given; Ollama itself must be elsewhere
    #[arg(long)]
    ollama: bool,
    /// Look whether all that is needed is there, say what to do, and exit
    #[arg(long)]
    check: bool,
    /// Tell of each request in a line on standard error: json or text
    #[arg(long, value_name = "FORMAT")]
    log: Option<LogFormat>,
    /// A command to serve: by the proxy that runs already, else on a free port unless one is given
    #[arg(value_name = "COMMAND", trailing_var_arg = true, conflicts_with_all = ["check", "ollama"])]
    command: Vec<OsString>,
}

fn main() -> ExitCode {
    cli::main(run, rsv::complete::VALUES)
}

fn run(args: Args, io: &mut Io) -> Result<Outcome> {
    let settings = config::of(io)?;
    let set = settings.integer("reservoir_port").and_then(|port| u16::try_from(port).ok());
    let port = args.port.or(if args.ollama { Some(OLLAMA_PORT) } else { set }).unwrap_or(3017);
    let host =
        args.listen.clone().or(settings.text("reservoir_host")).unwrap_or_else(|| "127.0.0.1".to_owned());
    let address = resolve(&host, port)?;
    let notes = io.notes();
    if !args.command.is_empty() {
        return serve_command(args, address, settings, io);
    }
    let proxy = Proxy::new(settings, io.common.scope()?, io.clock, io.notes())?;
    if args.check {
        let found = http::run(async { Ok(proxy.examine(address).await) })?;
        return doctor::print(&found, io);
    }
    let proxy = proxy.logging(args.log.unwrap_or(LogFormat::None));
    http::serve(proxy.serve(address, async move |bound, signals| {
        notes.note(format_args!("listening on http://{bound}"));
        signals.recv().await;
        Ok(Outcome::Yes)
    }))
}

/// Runs the command as a client of the proxy that runs at the address of the settings; where none does, or where
/// a flag says what that one may not do, of a proxy of its own.
fn serve_command(args: Args, address: SocketAddr, settings: Settings, io: &Io) -> Result<Outcome> {
    let Common { partition, instance, store, config, .. } = &io.common;
    let client = ClientCommand::new(args.command, partition.as_deref(), instance.as_deref(), &settings);
    let own = args.port.is_some() || args.listen.is_some() || store.is_some() || config.is_some();
    let status = http::serve(async {
        if !own && proxy::is_served(address, &settings).await? {
            return client.run(address, &mut StopSignals::new()?).await;
        }
        let free = SocketAddr::new(address.ip(), args.port.unwrap_or(0));
        let proxy = Proxy::new(settings, io.common.scope()?, io.clock, io.notes())?;
        let proxy = proxy.logging(args.log.unwrap_or(LogFormat::None));
        proxy.serve(free, async |bound, signals| client.run(bound, signals).await).await
    })?;
    Ok(Outcome::Ended(status))
}

/// The port at which clients look for Ollama.
const OLLAMA_PORT: u16 = 11434;

fn resolve(host: &str, port: u16) -> Result<SocketAddr> {
    let found = (host, port).to_socket_addrs().context(format_args!("cannot find {host}"));
    let none = || Error::new(format!("cannot find {host}: it has no address"));
    let found = found.and_then(|mut found| found.next().ok_or_else(none));
    found.map_err(|e| e.hint("name an address of this machine, such as 127.0.0.1; a port goes to --port"))
}
