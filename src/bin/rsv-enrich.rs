//! rsv-enrich: adds recalled messages to requests.

use clap::builder::NonEmptyStringValueParser;
use rsv::cli::{self, Io, Outcome};
use rsv::config::Settings;
use rsv::embed::{Embedder, Workload};
use rsv::enrich::{self, Degraded, Memory, Options, Turn};
use rsv::error::Result;
use rsv::provider::ServedWindows;
use rsv::record::{Object, Reader, Scope};
use rsv::store::{self, OpenMode, Store};
use rsv::{backfill, chat, config};
use std::path::PathBuf;
use std::process::ExitCode;

/// Add related and recent messages to chat requests
///
/// Reads request bodies for OpenAI's chat completions and prints each as one line. The recalled messages are in
/// a fenced block before the text of the last user message; the member 'rsv' has the scope, trace and account.
#[derive(clap::Args)]
struct Args {
    /// The files to read; without any, or for '-', read standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Use this trace for the turn, instead of a new one
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    trace: Option<String>,
    /// Recall these messages: similar,recent or similar or recent or none
    #[arg(long, value_name = "WHAT")]
    recall: Option<String>,
    /// Put the recalled messages here: tail, head or system
    #[arg(long, value_name = "PLACE")]
    placement: Option<String>,
    /// Report a request that is too long as an error, instead of printing an answer that says so
    #[arg(long)]
    strict: bool,
}

#[global_allocator]
static ALLOCATOR: cli::ReportingAllocator = cli::ReportingAllocator;

fn main() -> ExitCode {
    cli::main(run, rsv::complete::VALUES)
}

fn run(args: Args, io: &mut Io) -> Result<Outcome> {
    let mut settings = config::load_for_tool(io)?;
    let flags =
        [("enrich.recall", "--recall", args.recall), ("enrich.placement", "--placement", args.placement)];
    for (key, flag, text) in flags {
        text.map_or(Ok(()), |text| settings.set_override(key, flag, &text))?;
    }
    let mut enricher = Enricher {
        scope: io.common.scope()?,
        trace: args.trace,
        strict: args.strict || settings.boolean("enrich.strict") == Some(true),
        windows: ServedWindows::new(&settings)?,
        memory: LoadedMemory::open(&settings, io),
        settings,
    };
    for (name, input) in io.sources(&args.files)? {
        let mut reader = Reader::new(&name, input, enricher.settings.max_line());
        while let Some(next) = reader.next() {
            match next.and_then(|value| enricher.line(value.object, io).map_err(|e| e.at(value.location))) {
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

/// The state that all lines share.
struct Enricher {
    scope: Scope,
    trace: Option<String>,
    strict: bool,
    windows: ServedWindows,
    memory: std::result::Result<LoadedMemory, Degraded>,
    settings: Settings,
}

/// The store and its embedder.
struct LoadedMemory {
    store: Box<dyn Store>,
    embedder: Option<Embedder>,
    degraded: Option<Degraded>,
}

impl LoadedMemory {
    /// Opens the store; notes report missing parts, and requests go on without them.
    fn open(settings: &Settings, io: &Io) -> std::result::Result<LoadedMemory, Degraded> {
        let diagnostics = io.diagnostics();
        let opened = settings.store().and_then(|place| Ok(store::open(&place, OpenMode::Existing)?));
        let mut store = opened.map_err(|error| {
            io.note(format_args!("{error}; requests go on without memory"));
            Degraded::StoreFailed(error.to_string())
        })?;
        let (embedder, degraded) =
            match backfill::optional(&mut *store, settings, Workload::Few, &diagnostics) {
                Ok(embedder) => (embedder, None),
                Err(error) => {
                    let why = Degraded::EmbedderUnavailable(error);
                    io.note(&why);
                    (None, Some(why))
                }
            };
        Ok(LoadedMemory { store, embedder, degraded })
    }
}

impl Enricher {
    /// The enriched request of one line.
    fn line(&mut self, line: Object, io: &Io) -> Result<Object> {
        let request = chat::Request::parse(line)?;
        let flags = io.common.partition.is_some() || io.common.instance.is_some();
        let own = if flags { None } else { request.scope()? };
        let scope = own.as_ref().unwrap_or(&self.scope);
        let options = Options::for_request(&self.settings, &request, scope)?;
        let served_window = || options.assumed.then(|| self.windows.get(&options.model)).flatten();
        let turn =
            Turn { scope, trace_id: self.trace.clone(), clock: &io.clock, served_window: &served_window };
        let diagnostics = io.diagnostics();
        let memory = match &mut self.memory {
            Ok(memory) => Ok(Memory {
                store: &mut *memory.store,
                embedder: memory.embedder.as_mut(),
                diagnostics: &diagnostics,
                degraded: memory.degraded.clone(),
            }),
            Err(why) => Err(why.clone()),
        };
        let enriched = enrich::enrich(memory, request, &turn, &options)?;
        io.detail(format_args!("account {}", enriched.account.members.to_json()));
        match enriched.too_long {
            Some(error) if self.strict => Err(error),
            _ => Ok(enriched.line),
        }
    }
}
