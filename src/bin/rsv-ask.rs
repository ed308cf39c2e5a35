//! rsv-ask: asks a model with memory: 'rsv-enrich --strict | rsv-forward --stream | rsv-ingest' in one
//! process.

use clap::builder::NonEmptyStringValueParser;
use rsv::ask::{self, Asker};
use rsv::cli::{Io, Outcome};
use rsv::config::Settings;
use rsv::error::{Error, Result};
use rsv::redact::Redactor;
use rsv::search;

/// Ask a model with memory, print its answer, and store the turn
///
/// Does what 'rsv-enrich --strict | rsv-forward --stream | rsv-ingest' does: it adds related and recent
/// messages to the question, asks the provider of the model, prints the text of the answer as it arrives, and
/// stores question and answer. Text on standard input is appended to the words of the question, unless that
/// is a terminal. Without a question, a terminal gets a prompt for one question after another.
#[derive(clap::Args)]
struct Args {
    /// The words of the question; without any, read standard input, or ask for questions at a terminal
    text: Vec<String>,
    /// Continue the last conversation of the scope: its turns are in the request
    #[arg(short = 'c', long = "continue")]
    continues: bool,
    /// Ask this model [default: the setting model]
    #[arg(long, value_name = "MODEL", value_parser = NonEmptyStringValueParser::new())]
    model: Option<String>,
    /// Use this trace for the turn, instead of a new one
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    trace: Option<String>,
    /// List the recalled records under the answer, on standard error
    #[arg(long)]
    sources: bool,
    /// Print the request as a line, and its size on standard error; send and store nothing
    #[arg(long)]
    dry_run: bool,
}

/// A hint.
const NAME_MODEL: &str = "give --model MODEL, or run: rsv-config init";

rsv::tool!(run);

fn run(args: Args, settings: Settings, io: &mut Io) -> Result<Outcome> {
    let redactor = Redactor::for_tool(&settings)?;
    let has_model = args.model.is_some() || settings.text("model").is_some();
    // A trace is that of one turn.
    let prompts = args.text.is_empty() && io.stdin_is_tty() && !args.dry_run && args.trace.is_none();
    if prompts && !has_model {
        let error = "there is no question, and standard input is a terminal; a prompt needs a model";
        return Err(Error::new(error).hint(NAME_MODEL));
    }
    let question = if prompts { None } else { Some(question(&args.text, settings.max_line(), io)?) };
    if !has_model {
        return Err(Error::new("no model is named").hint(NAME_MODEL));
    }
    search::choose_recalled(&settings, io, !args.dry_run)?;
    let mut asker = Asker::new(settings, redactor, args.model, args.trace, io)?.listing_sources(args.sources);
    if args.continues {
        asker.resume(io)?;
    }
    match question {
        None => ask::prompt(&mut asker, io)?,
        Some(question) if args.dry_run => asker.dry_run(&question, io)?,
        Some(question) => asker.ask(&question, None, io)?,
    }
    Ok(Outcome::Yes)
}

/// The words, and what standard input adds to them.
fn question(words: &[String], limit: usize, io: &Io) -> Result<String> {
    let mut question = words.join(" ");
    if question.is_empty() && io.stdin_is_tty() {
        return Err(no_question("there is no question, and standard input is a terminal"));
    }
    if question.is_empty() || !io.stdin_is_tty() {
        let piped = io.text(limit)?;
        let piped = piped.trim_end_matches('\n');
        if !question.is_empty() && !piped.is_empty() {
            question.push_str("\n\n");
        }
        question.push_str(piped);
    }
    if question.trim().is_empty() {
        return Err(no_question("there is no question"));
    }
    Ok(question)
}

fn no_question(error: &str) -> Error {
    Error::new(error).hint("give it as words, as in rsv-ask \"Where are my tomatoes?\", or pipe it in")
}
