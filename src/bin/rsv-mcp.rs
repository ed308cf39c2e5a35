//! rsv-mcp: the memory as tools for clients of the Model Context Protocol.

use rsv::cli::{Io, Outcome};
use rsv::config;
use rsv::error::Result;
use rsv::mcp;

/// Serve the memory to a client of the Model Context Protocol
///
/// A client, such as Claude Code, Codex, Zed or Visual Studio Code, starts rsv-mcp, and talks to it on
/// standard input and output. The client gets tools to remember, recall and learn, documents as resources,
/// and two prompts. Without -p and '--scope default', the partition is that of the project to which the
/// client's first root belongs, else the working directory.
#[derive(clap::Args)]
struct Args {
    /// Return at most this many tokens of stored text in an answer
    #[arg(long, value_name = "COUNT", default_value_t = mcp::DEFAULT_MAX_TOKENS as u32, value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    max_tokens: u32,
    /// Also offer the tool forget, which removes records
    #[arg(long)]
    allow_forget: bool,
    /// Let calls name one of these partitions as their project_id, in addition to the client's [default:
    /// mcp.projects]
    #[arg(long, value_name = "NAME,...")]
    projects: Option<String>,
}

rsv::tool!(run, without settings);

fn run(args: Args, io: &mut Io) -> Result<Outcome> {
    // The project is the client's, and not that of the working directory.
    let how = io.common.scope.take();
    let settings = config::load_for_tool(io)?;
    let projects = match args.projects {
        Some(list) => mcp::Options::projects(&list).map_err(|error| error.at("--projects"))?,
        None => mcp::Options::projects(&settings.text("mcp.projects").unwrap_or_default())
            .map_err(|error| error.at("mcp.projects"))?,
    };
    let options = mcp::Options {
        partition: io.common.partition.clone(),
        instance: io.common.instance.clone(),
        by_root: how.as_deref() != Some("default"),
        max_tokens: args.max_tokens as usize,
        reads: true,
        adds: true,
        allow_forget: args.allow_forget,
        projects,
    };
    // Errors if standard input is a terminal, at which there is no client.
    io.stdin()?;
    io.queue_diagnostics();
    mcp::serve(settings, options, io.clock, io.diagnostics())?;
    Ok(Outcome::Yes)
}
