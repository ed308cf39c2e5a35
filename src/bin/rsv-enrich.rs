//! rsv-enrich: adds recalled messages to requests.

use clap::builder::NonEmptyStringValueParser;
use rsv::api::Api;
use rsv::cli::{Io, Outcome};
use rsv::config::Settings;
use rsv::enrich::{Enriched, LineEnricher};
use rsv::error::Result;
use rsv::lines::Reader;
use rsv::redact::Redactor;
use rsv::search;
use std::path::PathBuf;

/// Add related and recent messages to chat requests
///
/// Reads request bodies for OpenAI's chat completions or Responses, or for Anthropic's Messages, and prints
/// each as one line. The recalled messages are in a fenced block before the text of the last user message;
/// the member 'rsv' has the scope, trace and account.
#[derive(clap::Args)]
struct Args {
    /// The files to read; without any, or for '-', read standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Read every request as one of this API: chat, messages or responses [default: by its shape]
    #[arg(long, value_name = "API", value_parser = Api::NAMES, hide_possible_values = true)]
    api: Option<String>,
    /// Use this trace for the turn, instead of a new one
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    trace: Option<String>,
    /// Continue this session, an instance of the partition: its last messages become turns of the request
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    session: Option<String>,
    /// Recall this: some of similar, recent, memories, documents, archives and actions, separated by commas,
    /// or none
    #[arg(long, value_name = "WHAT")]
    recall: Option<String>,
    /// Recall at most this many of the last messages
    #[arg(long, value_name = "COUNT")]
    recent: Option<String>,
    /// Recall at most this many memories
    #[arg(long, value_name = "COUNT")]
    memories: Option<String>,
    /// Recall at most this many documents
    #[arg(long, value_name = "COUNT")]
    documents: Option<String>,
    /// Recall documents at and below this address
    #[arg(long, value_name = "URI")]
    target: Option<String>,
    /// Recall documents with at least this score
    #[arg(long, value_name = "SCORE")]
    min_score: Option<String>,
    /// Put the recalled messages here: tail, head or system
    #[arg(long, value_name = "PLACE")]
    placement: Option<String>,
    /// Report a request that is too long as an error, instead of printing an answer that says so
    #[arg(long)]
    strict: bool,
}

rsv::tool!(run);

fn run(args: Args, mut settings: Settings, io: &mut Io) -> Result<Outcome> {
    Redactor::for_tool(&settings)?;
    let flags = [
        ("enrich.recall", "--recall", args.recall),
        ("recent_context_size", "--recent", args.recent),
        ("enrich.memories", "--memories", args.memories),
        ("enrich.documents", "--documents", args.documents),
        ("enrich.target", "--target", args.target),
        ("enrich.min_score", "--min-score", args.min_score),
        ("enrich.placement", "--placement", args.placement),
    ];
    for (key, flag, text) in flags {
        text.map_or(Ok(()), |text| settings.set_override(key, flag, &text))?;
    }
    let sources = io.sources(&args.files)?;
    search::choose_recalled(&settings, io, false)?;
    let strict = args.strict || settings.boolean("enrich.strict") == Some(true);
    let limit = settings.max_line();
    let mut enricher = LineEnricher::new(settings, &io.common, args.trace, io.clock, io.diagnostics())?;
    enricher = enricher.of_api(args.api.as_deref().and_then(Api::named));
    if let Some(session) = args.session {
        enricher = enricher.of_session(session);
    }
    let mut line = |object| match enricher.enrich(object)? {
        Enriched { too_long: Some(error), .. } if strict => Err(error),
        enriched => Ok(enriched.line),
    };
    for (name, input) in sources {
        let mut reader = Reader::new(&name, input, limit);
        while let Some(next) = reader.next() {
            match next.and_then(|value| line(value.object).map_err(|e| e.at(value.location))) {
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
