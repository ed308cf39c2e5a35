//! rsv-export: everything that a store holds.

use rsv::cli::{self, Filter, Io, Outcome, Sharing};
use rsv::config::{self, Settings};
use rsv::error::{Error, Result};
use rsv::export::{self, Format, LineOptions};
use rsv::record::{RecordKind, Scopes, VectorFormat};
use rsv::search;
use rsv::store::{self, Select};
use std::path::PathBuf;

/// Write the whole store, or the scope that -p and -i name
///
/// JSON lines lose nothing: they hold tombstones, then messages, accounts and memories by time, then signals
/// and rules of recall, then embeddings (with --vectors), then links. The output is a snapshot of the store,
/// even if other processes write to it meanwhile. From a damaged store, everything readable is written, and
/// the exit status is 2.
#[derive(clap::Args)]
struct Args {
    /// Write this format: jsonl, json (Reservoir's array), csv, md, openai (pairs for fine-tuning) or sqlite
    /// (with --to)
    #[arg(long, value_name = "FORMAT", default_value = "jsonl", value_parser = ["jsonl", "json", "csv", "md", "openai", "sqlite"], hide_possible_values = true)]
    format: String,
    /// Write a copy of the store to this new file, or Markdown to this empty directory, a file for each
    /// conversation
    #[arg(long, value_name = "PATH")]
    to: Option<PathBuf>,
    /// Write the times of Reservoir's array as ms (milliseconds since 1970) or iso (RFC 3339)
    #[arg(long, value_name = "FORM", value_parser = ["ms", "iso"], hide_possible_values = true)]
    time: Option<String>,
    /// Put an apostrophe before cells of CSV that a spreadsheet would take for formulas
    #[arg(long)]
    safe: bool,
    /// With JSON lines: write embeddings too, as numbers or base64
    #[arg(long, value_name = "FORM", num_args = 0..=1, default_missing_value = "numbers", value_parser = ["numbers", "base64"], hide_possible_values = true)]
    vectors: Option<String>,
    /// With JSON lines: write only records of these kinds, with their signals, vectors and links: message,
    /// account, memory, document, signal, title, recall, action
    #[arg(long, value_name = "KIND,...", value_delimiter = ',', value_parser = cli::kind)]
    kind: Vec<&'static RecordKind>,
    /// Read the store's file page by page, without its indexes, for a damaged file
    #[arg(long)]
    recover: bool,
    /// Write only the changes after this cursor of an earlier export; without the file, everything
    #[arg(long, value_name = "FILE", conflicts_with_all = ["recover", "since", "until"])]
    new_since: Option<PathBuf>,
    /// Write the cursor for the next export to this file, once everything is printed
    #[arg(long, value_name = "FILE", conflicts_with_all = ["recover", "since", "until"])]
    next: Option<PathBuf>,
    /// Leave out the lines of this file, which may be compressed: those that came from the destination of the
    /// export
    #[arg(long, value_name = "FILE")]
    without: Vec<PathBuf>,
    #[command(flatten)]
    sharing: Sharing,
    #[command(flatten)]
    filter: Filter,
}

impl Args {
    /// Errors for options that do not go together.
    fn check(&self) -> Result<()> {
        let refuse = |words: &str, hint: &str| Err(Error::new(words).hint(hint));
        let of_formats: [(bool, &str, &[&str]); 6] = [
            (self.safe, "--safe", &["csv"]),
            (self.time.is_some(), "--time", &["json"]),
            (self.vectors.is_some(), "--vectors", &["jsonl"]),
            (!self.kind.is_empty() && self.format != "sqlite", "--kind", &["jsonl"]),
            (!self.without.is_empty(), "--without", &["jsonl"]),
            (self.recover, "--recover", &["jsonl", "json", "csv", "md", "openai"]),
        ];
        let is_of_another = |(is_given, _, formats): &&(bool, &str, &[&str])| {
            *is_given && !formats.contains(&self.format.as_str())
        };
        if let Some((_, flag, formats)) = of_formats.iter().find(is_of_another) {
            let formats = formats.join(", ");
            let hint = format!("leave out {flag}, or use --format {formats}");
            return refuse(&format!("{flag} is for --format {formats}"), &hint);
        }
        if self.to.is_none() && self.format == "sqlite" {
            return refuse("--format sqlite needs a file", "name a new one with --to FILE");
        }
        if self.to.is_some() && !["sqlite", "md"].contains(&self.format.as_str()) {
            return refuse("--to is for --format sqlite and md", "to write to a file: rsv-export > FILE");
        }
        if (self.new_since.is_some() || self.next.is_some()) && self.format != "jsonl" {
            let hint = "leave out --format, since other formats cannot say what was forgotten";
            return refuse("--new-since and --next are for JSON lines alone", hint);
        }
        if self.new_since.is_some() && self.new_since == self.next {
            let hint = "name another file, and move it to the first when the import has ended well";
            return refuse("--next names the file of --new-since", hint);
        }
        Ok(())
    }

    fn scopes(&self, settings: &Settings, io: &Io) -> Result<Scopes> {
        let shared = self.sharing.shared.then(|| settings.shared_scopes(&io.common.partitions));
        shared.map_or_else(|| io.common.to_cover(), Ok)
    }
}

rsv::tool!(run, without settings);

fn run(args: Args, io: &mut Io) -> Result<Outcome> {
    args.check()?;
    let settings = config::load_for_tool(io)?;
    if let Some(file) = args.to.as_ref().filter(|_| args.format == "sqlite") {
        let is_narrowed = args.filter != Filter::default() || !args.kind.is_empty();
        if args.scopes(&settings, io)? != Scopes::All || is_narrowed {
            let error = Error::new("--format sqlite copies the whole store");
            return Err(error.hint("pipe the selection of rsv-export into: rsv-import --store FILE"));
        }
        store::copy(&mut *store::open_to_read(&settings, io)?, file)?;
        return Ok(Outcome::Yes);
    }
    let store = &mut *store::open_readable(&settings, io, args.recover)?;
    search::complete_instance(store, io)?;
    let which = Select::messages(args.scopes(&settings, io)?).filtered(args.filter);
    let format = match args.format.as_str() {
        "json" => Format::Reservoir { rfc3339: args.time.as_deref() == Some("iso") },
        "csv" => Format::Csv { safe: args.safe },
        "md" => Format::Markdown,
        "openai" => return export::pairs(which, store, io),
        _ => {
            let Args { without, new_since, next, .. } = args;
            let vectors = args.vectors.as_deref().map(VectorFormat::named);
            let options = LineOptions { vectors, without, new_since, next };
            return export::lines(Select { kinds: args.kind, ..which }, &options, &settings, store, io);
        }
    };
    export::messages(format, args.to.as_deref(), which, store, io)
}
