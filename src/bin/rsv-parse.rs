//! rsv-parse: makes a tree of documents of files.

use rsv::cli::{Io, Outcome};
use rsv::config::Settings;
use rsv::error::Result;
use rsv::http::Client;
use rsv::parse::{self, Format, GivenScope, Known, Options, Parser};
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Turn files into a tree of documents, for rsv-ingest to store
///
/// Prints a document for each directory, file and section, a directory after its children, and a line that
/// ends the tree of each operand. Files that cannot be read are named, and the others are read; in a
/// directory, those of kinds without text, such as pictures, are only counted. No store is opened.
#[derive(clap::Args)]
struct Args {
    /// The files, directories and addresses (http, https) to read; without any, or for '-', read standard
    /// input
    #[arg(value_name = "PATH|URL")]
    operands: Vec<PathBuf>,
    /// Put the tree at this address, such as viking://resources/notes, and several operands below it
    /// [default: viking://resources and the name of the operand]
    #[arg(long, value_name = "URI")]
    to: Option<String>,
    /// Skip the files that have not changed since these lines, as 'rsv-view --tree' prints them
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    known: Option<PathBuf>,
    /// Read the operands in this format, regardless of their content and names
    #[arg(long = "as", value_name = "FORMAT", value_parser = format)]
    format: Option<Format>,
    /// Open archives too: zip, tar, gzip
    #[arg(long, conflicts_with = "text")]
    archives: bool,
    /// Report files of kinds without text as errors in directories too
    #[arg(long, conflicts_with = "text")]
    strict: bool,
    /// Follow symbolic links in directories
    #[arg(long, conflicts_with = "text")]
    follow: bool,
    /// Also fetch from this machine and from private networks
    #[arg(long)]
    private: bool,
    /// Print the text of the files, and no lines
    #[arg(long, conflicts_with = "to")]
    text: bool,
    /// Parse this many files at once [default: the number of processors]
    #[arg(short, long, value_name = "COUNT")]
    jobs: Option<NonZeroUsize>,
}

fn format(name: &str) -> std::result::Result<Format, String> {
    Format::named(name).ok_or_else(|| format!("expected {}", Format::NAMES))
}

rsv::tool!(run, without store);

fn run(args: Args, settings: Settings, io: &mut Io) -> Result<Outcome> {
    io.common.scope()?;
    let operands = parse::operands(&args.operands, io)?;
    let client = Client::new(&settings);
    if args.text {
        parse::print_texts(operands, args.format, args.private, &client, io)?;
        return Ok(Outcome::Yes);
    }
    let (addresses, partition) = parse::addresses(&operands, args.to.as_deref(), io.common.partition())?;
    let known = args.known.as_deref();
    let known = known.map(|path| Known::read(path, partition.as_deref(), settings.max_line(), io));
    let options = Options {
        scope: GivenScope { partition, instance: io.common.instance.clone() },
        known: known.transpose()?.unwrap_or_default(),
        format: args.format,
        archives: args.archives,
        strict: args.strict,
        follow: args.follow,
        private: args.private,
        pdf_reader: pdf_reader(io),
    };
    let processors = || std::thread::available_parallelism().ok();
    let threads = args.jobs.or_else(processors).map_or(1, NonZeroUsize::get);
    parse::print_trees(&Parser::new(options, threads), operands, &addresses, &client, io)?;
    Ok(Outcome::Yes)
}

/// The command that reads a PDF: this tool, with the same settings. Without its path, it reads PDFs itself.
fn pdf_reader(io: &Io) -> Option<Vec<OsString>> {
    let own = std::env::current_exe().ok()?;
    let is_all_tools = own.file_name().is_some_and(|name| name == "rsv");
    let mut command: Vec<OsString> = vec![own.into()];
    command.extend(is_all_tools.then(|| "parse".into()));
    command.extend(["--quiet", "--text", "--as", "pdf", "-"].map(OsString::from));
    if let Some(config) = &io.common.config {
        command.extend([OsString::from("--config"), config.into()]);
    }
    Some(command)
}
