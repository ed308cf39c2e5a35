//! rsv-enrich: puts what is remembered in front of a request.

use clap::builder::NonEmptyStringValueParser;
use rsv::cli::{self, Io, Outcome};
use rsv::embed::Work;
use rsv::enrich::{self, Memory, Options, Turn};
use rsv::error::Result;
use rsv::record::{Object, Reader, Scope};
use rsv::store::{self, Access};
use rsv::{chat, config, fill};
use std::path::PathBuf;
use std::process::ExitCode;

/// Recalls related and recent messages into chat requests
///
/// Reads bodies of OpenAI chat completions and writes each as one line: what was recalled stands in a
/// fenced block before the last user message's text, and the member 'rsv' tells scope, trace and account.
#[derive(clap::Args)]
struct Args {
    /// The files; without any, or for '-', standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The trace of the turn, instead of a new one
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    trace: Option<String>,
}

fn main() -> ExitCode {
    cli::main(run)
}

fn run(args: Args, io: &mut Io) -> Result<Outcome> {
    let settings = config::of(io)?;
    let scope = io.common.scope()?;
    let sources = io.sources(&args.files)?;
    let mut store = store::open(&settings.store()?, Access::Read)?;
    let mut embedder = fill::optional(&mut *store, &settings, Work::Few, &io.notes());
    for (name, input) in sources {
        let mut reader = Reader::new(&name, input, settings.max_line());
        while let Some(next) = reader.next() {
            let enriched = next.and_then(|value| {
                let notes = io.notes();
                let memory = Memory { store: &mut *store, embedder: embedder.as_mut(), notes: &notes };
                let line = line(value.object, &args.trace, &scope, memory, &settings, io);
                line.map_err(|e| e.at(value.place))
            });
            match enriched {
                Ok(line) => {
                    io.out.with(|out| {
                        line.write(out);
                        out.push(b'\n');
                    })?;
                    io.out.flush()?;
                }
                Err(error) => io.fault(&error),
            }
        }
    }
    Ok(Outcome::Yes)
}

/// The enriched request of one line.
fn line(
    line: Object,
    trace: &Option<String>,
    scope: &Scope,
    memory: Memory,
    settings: &config::Settings,
    io: &Io,
) -> Result<Object> {
    let request = chat::Request::parse(line)?;
    let flags = io.common.partition.is_some() || io.common.instance.is_some();
    let own = if flags { None } else { request.scope()? };
    let scope = own.as_ref().unwrap_or(scope);
    let options = Options::of(settings, &request, scope)?;
    let turn = Turn { scope, trace_id: trace.clone(), clock: &io.clock };
    let enriched = enrich::enrich(memory, request, &turn, &options)?;
    io.detail(format_args!("account {}", enriched.account.members.to_json()));
    Ok(enriched.request)
}
