//! rsv-embed: makes vectors for lines and for stored messages, and manages embedding models.

use rsv::backfill;
use rsv::cli::{Io, Outcome};
use rsv::config::Settings;
use rsv::error::Result;
use rsv::lines::Feed;
use rsv::{embed, link};
use std::path::PathBuf;

/// Add vectors to lines, or to the messages of the store
///
/// Reads JSON lines and prints each with 'embedding' and 'embedding_model' set. The vector is that of a
/// message's text, of a title and its content, of the last user message of a request, or of a query. --fetch
/// installs an embedding model.
#[derive(clap::Args)]
struct Args {
    /// The files to read; without any, or for '-', read standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Read plain text, and turn each line into a JSON line
    #[arg(long, conflicts_with = "field")]
    text: bool,
    /// Embed this member of each line
    #[arg(long, value_name = "NAME")]
    field: Option<String>,
    /// Embed the lines as questions
    #[arg(long)]
    query: bool,
    /// Print in this format: jsonl, json (one array) or raw (32-bit floats, little-endian)
    #[arg(long, value_name = "FORMAT", default_value = "jsonl", value_parser = ["jsonl", "json", "raw"], hide_possible_values = true)]
    format: String,
    #[command(flatten)]
    task: Task,
    /// With --replay: keep the vectors of the previous model
    #[arg(long, requires = "replay")]
    keep: bool,
    /// With --fetch: take the files from this directory, and download nothing
    #[arg(long, value_name = "DIRECTORY", requires = "fetch")]
    from: Option<PathBuf>,
    /// With --fetch: only download the files into this directory, for --from on another machine
    #[arg(long, value_name = "DIRECTORY", requires = "fetch", conflicts_with = "from")]
    into: Option<PathBuf>,
}

/// Tasks other than embedding lines.
#[derive(clap::Args)]
#[group(multiple = false, conflicts_with_all = ["files", "text", "field", "query", "format"])]
struct Task {
    /// Embed every message of the store that has no vector, and update its word index
    #[arg(long)]
    pending: bool,
    /// Embed every message again, with this model or the same one
    #[arg(long, value_name = "MODEL", num_args = 0..=1)]
    replay: Option<Option<String>>,
    /// Download a model, check it and prepare it [default: by the language of the stored messages]
    #[arg(long, value_name = "MODEL", num_args = 0..=1)]
    fetch: Option<Option<String>>,
    /// List the known and the installed models
    #[arg(long)]
    models: bool,
}

rsv::tool!(run);

fn run(args: Args, settings: Settings, io: &mut Io) -> Result<Outcome> {
    match &args.task {
        Task { fetch: Some(model), .. } => fetch(&args, model.as_deref(), &settings, io)?,
        Task { models: true, .. } => models(&settings, io)?,
        Task { replay: Some(model), .. } => {
            link::replay_and_link(&settings, model.as_deref(), args.keep, io)?
        }
        Task { pending: true, .. } => link::embed_and_link(&settings, io)?,
        _ => embed_lines(&args, &settings, io)?,
    }
    Ok(Outcome::Yes)
}

/// Fetches a model; without a name that which suits the language of what is stored.
fn fetch(args: &Args, name: Option<&str>, settings: &Settings, io: &mut Io) -> Result<()> {
    let name = match name {
        Some(name) => name.to_owned(),
        None => backfill::suitable_model(settings, io.common.to_cover()?, &io.diagnostics()).to_owned(),
    };
    let mut report = (io.bytes(), io.diagnostics());
    if let Some(directory) = &args.into {
        let id = embed::download_to(settings, &name, directory, &mut report)?;
        io.note(format_args!("{id} is in {}", directory.display()));
        return Ok(());
    }
    let id = embed::fetch(settings, &name, args.from.as_deref(), &mut report)?;
    io.note(format_args!("{id} is installed"));
    let used = embed::models(settings)?.into_iter().find(|model| model.in_use);
    if let Some(used) = used.filter(|used| used.id != id) {
        io.note(format_args!(
            "the model in use is {}; to change: rsv-config set embed.model {id}, then: rsv-embed --replay",
            used.id
        ));
    }
    Ok(())
}

fn models(settings: &Settings, io: &mut Io) -> Result<()> {
    for model in embed::models(settings)? {
        let row = if io.stdout_is_tty() { model.to_row() } else { model.to_object().to_json() + "\n" };
        io.out.write(row.as_bytes())?;
    }
    Ok(())
}

fn embed_lines(args: &Args, settings: &Settings, io: &mut Io) -> Result<()> {
    let sources = io.sources(&args.files)?;
    let limit = settings.max_line();
    let feed = if args.text { Feed::text_lines(sources, limit)? } else { Feed::new(sources, limit)? };
    let field = if args.text { Some("text") } else { args.field.as_deref() };
    if args.format == "json" {
        io.out.begin_array();
    }
    embed::embed_lines(feed, field, args.query, args.format == "raw", settings, io)
}
