//! rsv-forward: sends requests to the providers of models, and prints their answers.

use rsv::api::Api;
use rsv::cli::{Io, Outcome};
use rsv::config::Settings;
use rsv::error::Result;
use rsv::forward::{AnswerFormat, Forwarder};
use rsv::redact::Redactor;
use std::path::PathBuf;

/// Send chat requests to the providers of their models, and print the answers
///
/// Reads request bodies for OpenAI's chat completions or Responses, or for Anthropic's Messages, sends each
/// to the provider of its model (OpenAI, Mistral, Gemini, Anthropic, Ollama or your own), and prints the
/// answers in the same order, one per line. Lines that are not requests are passed on.
#[derive(clap::Args)]
struct Args {
    /// The files with the requests; without any, or for '-', read standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Read every request as one of this API: chat, messages or responses [default: by its shape]
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

rsv::tool!(run, without store);

fn run(args: Args, settings: Settings, io: &mut Io) -> Result<Outcome> {
    Redactor::for_tool(&settings)?;
    let scope = io.common.scope()?;
    let is_named = io.common.partition().is_some() || io.common.instance.is_some();
    let api = args.api.as_deref().and_then(Api::named);
    let forwarder = Forwarder::new(&settings, &io.diagnostics())?.of_api(api);
    let format = match (args.stream, args.text) {
        (true, _) => AnswerFormat::Stream,
        (_, true) => AnswerFormat::Text,
        _ => AnswerFormat::Whole,
    };
    let (sources, limit) = (io.sources(&args.files)?, settings.max_line());
    forwarder.lines(sources, limit, format, usize::from(args.jobs), is_named.then_some(scope), io)?;
    Ok(Outcome::Yes)
}
