//! rsv-proxy: enrich, forward and ingest behind an OpenAI-compatible address.

use rsv::cli::{self, Io, Outcome};
use rsv::config;
use rsv::error::{Context, Result};
use rsv::{http, proxy::Proxy};
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::ExitCode;

/// Serves chat completions with memory, for any OpenAI client
///
/// POST /v1/chat/completions, under /partition/NAME/instance/NAME too, recalls what helps, asks the provider
/// of the model, stores the turn and answers what 'rsv-enrich | rsv-forward | rsv-ingest' would. POST
/// /v1/embeddings makes vectors. GET …/command/search/COUNT?term=WORDS and …/command/view/COUNT tell what
/// rsv-search and rsv-view would. GET /health tells how it is. SIGTERM ends it when all is answered.
#[derive(clap::Args)]
struct Args {
    /// The port [default: 3017, see reservoir_port]; 0 means any that is free
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// The loopback address to listen on [default: 127.0.0.1, see reservoir_host]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
}

fn main() -> ExitCode {
    cli::main(run)
}

fn run(args: Args, io: &mut Io) -> Result<Outcome> {
    let settings = config::of(io)?;
    let port = args.port.or(settings.integer("reservoir_port").and_then(|port| u16::try_from(port).ok()));
    let host = args.listen.or(settings.text("reservoir_host")).unwrap_or_else(|| "127.0.0.1".to_owned());
    let address = resolve(&host, port.unwrap_or(3017))?;
    let notes = io.notes();
    let proxy = Proxy::new(settings, io.common.scope()?, io.clock, io.notes())?;
    http::run(proxy.serve(address, |bound| notes.note(format_args!("listening on http://{bound}"))))?;
    Ok(Outcome::Yes)
}

fn resolve(host: &str, port: u16) -> Result<SocketAddr> {
    let found = (host, port).to_socket_addrs().context(format_args!("cannot find {host}"))?.next();
    found.ok_or_else(|| rsv::error::Error::new(format!("cannot find {host}: it has no address")))
}
