//! rsv-forward: asks the providers of models, and gives their answers.

use rsv::cli::{self, Io, Outcome, Source};
use rsv::config;
use rsv::error::Result;
use rsv::forward::Forwarder;
use rsv::http;
use rsv::record::{Line, Object, Reader, Value};
use std::path::PathBuf;
use std::process::ExitCode;
use tokio::sync::mpsc::{Receiver, channel};

/// Asks the providers of models, and gives their answers
///
/// Takes bodies of OpenAI's chat completions, sends each to the provider of its model (OpenAI, Mistral, Gemini,
/// Ollama or one of your own), and prints the answers in the same order, one a line. What is no request is
/// passed on.
#[derive(clap::Args)]
struct Args {
    /// The requests; without a file, or for '-', standard input is read
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

fn main() -> ExitCode {
    cli::main(run)
}

fn run(args: Args, io: &mut Io) -> Result<Outcome> {
    let settings = config::of(io)?;
    io.common.scope()?;
    let forwarder = Forwarder::new(&settings, &io.notes())?;
    let mut lines = read(io.sources(&args.files)?, settings.max_line());
    http::run(async {
        while let Some(next) = lines.recv().await {
            match next {
                Ok(value) => line(value, &forwarder, io).await?,
                Err(fault) => io.fault(&fault),
            }
            io.out.flush()?;
        }
        Ok(Outcome::Yes)
    })
}

/// Reads in a thread of its own: a connection that its provider closes while there is nothing to read is
/// noticed, and the next request does not fail on it.
fn read(sources: Vec<Source>, limit: usize) -> Receiver<Result<Value>> {
    let (sender, lines) = channel(1);
    std::thread::spawn(move || {
        for (name, input) in sources {
            let mut reader = Reader::new(&name, input, limit);
            while let Some(next) = reader.next() {
                if sender.blocking_send(next).is_err() {
                    return;
                }
            }
        }
    });
    lines
}

/// Answers one line: a request by its answer or an error line, anything else by itself.
async fn line(Value { place, object }: Value, forwarder: &Forwarder, io: &mut Io) -> Result<()> {
    let mut request = match Line::parse(object.clone()) {
        Ok(Line::Request(request)) => request,
        Ok(_) => return print(&object, io),
        Err(fault) => {
            io.fault(&fault.at(place));
            return Ok(());
        }
    };
    scope(&mut request, io);
    let rsv = request.get("rsv").map(str::to_owned);
    match forwarder.whole(request, None, &io.clock).await {
        Ok(answer) => {
            if let Ok(Some(rsv)) = answer.object("rsv") {
                let member = |name| rsv.get(name).unwrap_or("null");
                let (provider, status, ms) = (member("provider"), member("status"), member("latency_ms"));
                io.detail(format_args!("{place}: {provider} answered {status} in {ms} ms"));
            }
            print(&answer, io)
        }
        Err(failure) => {
            io.fault(&failure.error().at(place));
            io.out.write(failure.to_line(rsv.as_deref()).as_bytes())
        }
    }
}

/// Puts the scope of the flags into a request that has none.
fn scope(request: &mut Object, io: &Io) {
    let flags = io.common.partition.is_some() || io.common.instance.is_some();
    if let (true, Ok(scope), Ok(rsv)) = (flags, io.common.scope(), request.object("rsv")) {
        let mut rsv = rsv.unwrap_or_default();
        if !rsv.has("partition") && !rsv.has("instance") {
            rsv.set_text("partition", &scope.partition);
            rsv.set_text("instance", &scope.instance);
            request.set("rsv", rsv.to_json());
        }
    }
}

fn print(object: &Object, io: &mut Io) -> Result<()> {
    io.out.with(|out| {
        object.write(out);
        out.push(b'\n');
    })
}
