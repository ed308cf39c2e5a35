//! rsv-proxy: enrich, forward and ingest behind an OpenAI-compatible address.

use rsv::access::{self, TokenFile};
use rsv::cli::{Common, Io, Outcome};
use rsv::config::{self, EnvironmentPaths, Settings};
use rsv::doctor;
use rsv::enrich::ClientProject;
use rsv::error::{Context, Error, Result};
use rsv::http;
use rsv::proxy::{self, ClientCommand, LogFormat, Proxy, StopSignals};
use rsv::redact::Redactor;
use std::ffi::OsString;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

/// With glibc's, whose heaps and caches are each thread's own, the memory of the proxy grew by a twentieth
/// over 100 000 requests (`scripts/bench memory`); with this it does not.
#[cfg(target_os = "linux")]
use tikv_jemallocator as _;

/// The options of jemalloc, which looks up this symbol: no more arenas than event loops, small thread caches,
/// and pages that were unused for half a second are returned to the system.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)] // Nobody else has this name.
#[unsafe(export_name = "malloc_conf")]
static SETTINGS: &[u8] = b"narenas:4,tcache_max:1024,dirty_decay_ms:500,muzzy_decay_ms:0\0";

/// Serve models with memory to clients of OpenAI, Anthropic and Ollama
///
/// POST /v1/chat/completions does what 'rsv-enrich | rsv-forward | rsv-ingest' does: it adds related and
/// recent messages, asks the provider of the model, returns the answer, and stores the turn. POST /api/chat
/// and /api/generate do the same in Ollama's format, POST /v1/messages in Anthropic's, and POST /v1/responses
/// in OpenAI's newer one. POST /v1/embeddings makes vectors, and GET /v1/models lists the models. Any other
/// request under /v1 or /api goes to its provider unchanged. GET /command/search/COUNT?term=WORDS and
/// /command/view/COUNT return the results of rsv-search and rsv-view. GET /health reports the state of the
/// proxy, and GET /metrics the same and its times for Prometheus. For a browser, GET / is a page that shows
/// the memory. Every path also works under /partition/NAME and /partition/NAME/instance/NAME. SIGTERM stops
/// the proxy once every request is answered and stored.
///
/// With a command, rsv-proxy runs it with the address of the proxy in the variables that clients of OpenAI,
/// Anthropic and Ollama read; for claude, codex, aider and opencode, with everything that they need, and with
/// the partition of the project (--scope auto). It stops when the command stops, with the command's exit
/// status, and prints notes only with -v.
#[derive(clap::Args)]
struct Args {
    /// Listen on this port; 0 means any free port [default: 3017, see reservoir_port]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Listen on this address; any but loopback needs a token [default: 127.0.0.1, see reservoir_host]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Listen on Ollama's port, 11434, unless --port is given; Ollama itself must use another port
    #[arg(long)]
    ollama: bool,
    /// Also serve a page for chats, sessions and documents, at /chat
    #[arg(long)]
    chat: bool,
    /// Check everything that the proxy needs, print the problems with their remedies, and exit
    #[arg(long)]
    check: bool,
    /// Log each request as a line on standard error: json or text
    #[arg(long, value_name = "FORMAT")]
    log: Option<LogFormat>,
    /// Run this command as a client of the running proxy, or of a new one, on a free port unless --port is
    /// given
    #[arg(value_name = "COMMAND", trailing_var_arg = true, conflicts_with_all = ["check", "ollama", "chat"])]
    command: Vec<OsString>,
}

rsv::tool!(run, without settings);

fn run(args: Args, io: &mut Io) -> Result<Outcome> {
    if !args.command.is_empty() {
        io.keep_notes_for_details();
    }
    if args.command.first().is_some_and(|program| proxy::is_for_projects(program)) {
        io.common.scope.get_or_insert_with(|| "auto".to_owned());
    }
    let settings = if args.check { config::load_without_notes(io)? } else { config::load_for_tool(io)? };
    Redactor::for_tool(&settings)?;
    if args.command.is_empty() {
        // A server of many programs is of no project, unless a flag says so.
        io.common.project = None;
    }
    let set = settings.integer("reservoir_port").and_then(|port| u16::try_from(port).ok());
    let port = args.port.or(if args.ollama { Some(OLLAMA_PORT) } else { set }).unwrap_or(3017);
    let host =
        args.listen.clone().or(settings.text("reservoir_host")).unwrap_or_else(|| "127.0.0.1".to_owned());
    let address = resolve(&host, port)?;
    let diagnostics = io.diagnostics();
    if !args.check {
        io.queue_diagnostics();
    }
    if !args.command.is_empty() {
        return serve_command(args, address, settings, io);
    }
    let notes = doctor::start_notes(&settings);
    let proxy = Proxy::new(settings, io.common.request_scope()?, io.clock, io.diagnostics())?;
    let tokens = tokens(io);
    // A file that cannot be read is an error of `admitting`.
    let tokens_note = tokens.as_deref().and_then(|path| TokenFile::read(path).ok()?.note());
    let proxy = proxy.admitting(tokens)?;
    if args.check {
        let found = http::run(async { Ok(proxy.examine(address).await) })?;
        return doctor::print(&found, io);
    }
    let proxy = proxy.logging(args.log.unwrap_or(LogFormat::None)).parsing_by(parser(io));
    let proxy = proxy.with_chat_page(args.chat);
    let limits = proxy.limits();
    http::serve(proxy.serve(address, async move |bound, signals| {
        diagnostics.note(format_args!("listening on http://{bound}"));
        diagnostics.detail(limits);
        for note in notes.into_iter().chain(tokens_note) {
            diagnostics.note(note);
        }
        signals.recv().await;
        Ok(Outcome::Yes)
    }))
}

/// Runs the command as a client of the proxy at the address of the settings; if none runs there, or if a flag
/// changes settings of the proxy, of its own proxy.
///
/// Where there are tokens, its own proxy has one more for the command, of whoever may read the store and the
/// settings.
fn serve_command(args: Args, address: SocketAddr, mut settings: Settings, io: &Io) -> Result<Outcome> {
    let tokens = tokens(io);
    let has_tokens = match &tokens {
        Some(path) => !TokenFile::read(path)?.tokens.is_empty(),
        None => false,
    };
    if has_tokens && settings.secret("proxy.token").is_none() {
        settings.set_override("proxy.token", "rsv-proxy COMMAND", &access::new_token()?)?;
    }
    let Common { partition, instance, store, config, .. } = &io.common;
    let client = ClientCommand::new(args.command, partition.as_deref(), instance.as_deref(), &settings);
    let own = args.port.is_some() || args.listen.is_some() || store.is_some() || config.is_some();
    let status = http::serve(async {
        if !own && proxy::is_served(address, &settings).await? {
            return client.run(address, &mut StopSignals::new()?).await;
        }
        let free = SocketAddr::new(address.ip(), args.port.unwrap_or(0));
        // The command works in the same directory; others may reach the proxy from elsewhere.
        let project = free.ip().is_loopback().then(|| ClientProject::here(&settings)).flatten();
        let proxy = Proxy::new(settings, io.common.request_scope()?, io.clock, io.diagnostics())?;
        let proxy = proxy.admitting(tokens)?.of_project(project);
        let proxy = proxy.logging(args.log.unwrap_or(LogFormat::None)).parsing_by(parser(io));
        proxy.serve(free, async |bound, signals| client.run(bound, signals).await).await
    })?;
    Ok(Outcome::Ended(status))
}

/// The file of the tokens, beside the settings file; none without a home, as there are no settings then.
fn tokens(io: &Io) -> Option<PathBuf> {
    config::path(&io.common).ok().map(|path| TokenFile::beside(&path))
}

/// The command that parses uploaded files: rsv-parse, of the same installation if it is there, with the same
/// settings.
fn parser(io: &Io) -> Vec<OsString> {
    let name = "rsv-parse";
    let beside = EnvironmentPaths::find().program.map(|directory| directory.join(name));
    let program = beside.filter(|path| path.is_file()).map_or_else(|| name.into(), OsString::from);
    let mut command = vec![program, OsString::from("--quiet")];
    if let Some(config) = &io.common.config {
        command.extend([OsString::from("--config"), config.into()]);
    }
    command
}

/// The port at which clients look for Ollama.
const OLLAMA_PORT: u16 = 11434;

fn resolve(host: &str, port: u16) -> Result<SocketAddr> {
    let found = (host, port).to_socket_addrs().context(format_args!("cannot find {host}"));
    let none = || Error::attempt(format!("cannot find {host}"), "it has no address");
    let found = found.and_then(|mut found| found.next().ok_or_else(none));
    found.map_err(|e| e.hint("give an address of this machine, such as 127.0.0.1, and the port with --port"))
}
