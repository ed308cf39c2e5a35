//! rsv-forward: sends requests to the providers of models, and prints their answers.

use rsv::api::Api;
use rsv::cli::{Io, Outcome, Source};
use rsv::config::Settings;
use rsv::error::{Context, Result};
use rsv::forward::{AnswerFormat, Forwarder, LineOutput};
use rsv::lines::{LocatedObject, Reader};
use rsv::redact::Redactor;
use rsv::{http, view};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use tokio::sync::mpsc::{Receiver, channel};

/// Send chat requests to the providers of their models, and print the answers
///
/// Reads request bodies for OpenAI's chat completions or Responses, or for Anthropic's Messages, sends each to the provider of its model (OpenAI, Mistral,
/// Gemini, Anthropic, Ollama or one of your own), and prints the answers in the same order, one per line. Lines
/// that are not requests are passed on.
#[derive(clap::Args)]
struct Args {
    /// The files with the requests; without any, or for '-', read standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Take every request for one of this API: chat, messages or responses [default: known by its shape]
    #[arg(long, value_name = "API", value_parser = Api::NAMES, hide_possible_values = true)]
    api: Option<String>,
    /// Print each event of an answer as it arrives, and then the whole answer
    #[arg(long)]
    stream: bool,
    /// Print only the text of the answers, as it arrives
    #[arg(long, conflicts_with = "stream")]
    text: bool,
    /// Send this many requests at once; the answers stay in order
    #[arg(short, long, value_name = "COUNT", default_value_t = 1, hide_default_value = true)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
    jobs: u16,
}

/// The number of events of an answer that are buffered before it is its turn to be printed.
const AHEAD: usize = 1024;

rsv::tool!(run, without store);

fn run(args: Args, settings: Settings, io: &mut Io) -> Result<Outcome> {
    Redactor::for_tool(&settings)?;
    let scope = io.common.scope()?;
    let named = io.common.partition().is_some() || io.common.instance.is_some();
    let scope = Arc::new(named.then_some(scope));
    let api = args.api.as_deref().and_then(Api::named);
    let forwarder = Arc::new(Forwarder::new(&settings, &io.diagnostics())?.of_api(api));
    let form = match (args.stream, args.text) {
        (true, _) => AnswerFormat::Stream,
        (_, true) => AnswerFormat::Text,
        _ => AnswerFormat::Whole,
    };
    let visible = io.stdout_is_tty();
    let (clock, jobs) = (io.clock, usize::from(args.jobs));
    let mut lines = read(io.sources(&args.files)?, settings.max_line())?;
    http::run(async {
        let (mut working, mut more) = (VecDeque::new(), true);
        while more || !working.is_empty() {
            tokio::select! {
                next = lines.recv(), if more && working.len() < jobs => match next {
                    None => more = false,
                    Some(next) => {
                        let (sender, output) = channel(AHEAD);
                        working.push_back(output);
                        let (forwarder, scope) = (forwarder.clone(), scope.clone());
                        tokio::spawn(async move {
                            // The receiver is gone only if the tool has ended.
                            let _ = match next {
                                Ok(value) => forwarder.line(value, form, (*scope).as_ref(), &clock, &sender).await,
                                Err(fault) => sender.send(LineOutput::Fault(fault)).await,
                            };
                        });
                    }
                },
                output = first(&mut working) => match output {
                    None => drop(working.pop_front()),
                    Some(output) => print(output, visible, io)?,
                },
            }
        }
        Ok(Outcome::Yes)
    })
}

/// Reads in a thread of its own: a connection that its provider closes while there is nothing to read is
/// noticed, and the next request does not fail on it.
fn read(sources: Vec<Source>, limit: usize) -> Result<Receiver<Result<LocatedObject>>> {
    let (sender, lines) = channel(1);
    let read = move || {
        for (name, input) in sources {
            let mut reader = Reader::new(&name, input, limit);
            while let Some(next) = reader.next() {
                if sender.blocking_send(next).is_err() {
                    return;
                }
            }
        }
    };
    thread::Builder::new().spawn(read).context("cannot start a thread that reads")?;
    Ok(lines)
}

/// The next output of the line whose turn it is; `None` when it is done.
async fn first(working: &mut VecDeque<Receiver<LineOutput>>) -> Option<LineOutput> {
    match working.front_mut() {
        Some(output) => output.recv().await,
        None => std::future::pending().await,
    }
}

/// Prints an output and flushes it, since somebody may be waiting.
fn print(output: LineOutput, visible: bool, io: &mut Io) -> Result<()> {
    match output {
        LineOutput::Line(line) => io.out.write(line.as_bytes())?,
        LineOutput::Text(text) if visible => io.out.write(view::visible(&text).as_bytes())?,
        LineOutput::Text(text) => io.out.write(text.as_bytes())?,
        LineOutput::Fault(fault) => io.fault(&fault),
        LineOutput::Detail(detail) => io.detail(detail),
    }
    io.out.flush()
}
