//! rsv-parse: makes a tree of documents of files.

use rsv::cli::{Io, Outcome, Progress};
use rsv::config::Settings;
use rsv::error::{Context, Error, Result};
use rsv::http::Client;
use rsv::parse::{self, Format, GivenScope, Known, Operand, Options, Output, Parser, UnreadKind};
use rsv::record::Address;
use rsv::text::counted_verb;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Make a tree of documents of files, for rsv-ingest to store
///
/// Prints a document for each directory, file and section, a directory after its children, and a line that ends the
/// tree of each operand. Files that cannot be read are named, and the others are read; in a directory, those of kinds
/// without text, such as pictures, are only counted. No store is opened.
#[derive(clap::Args)]
struct Args {
    /// The files, directories and addresses (http, https) to read; without any, or for '-', read standard input
    #[arg(value_name = "PATH|URL")]
    operands: Vec<PathBuf>,
    /// Put the tree at this address, such as viking://resources/notes; of several operands, each below it [default:
    /// viking://resources and the name of the operand]
    #[arg(long, value_name = "URI")]
    to: Option<String>,
    /// Skip the files that have not changed since these lines, as 'rsv-view --tree' prints them
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    known: Option<PathBuf>,
    /// Read the operands in this format, whatever their content and names say
    #[arg(long = "as", value_name = "FORMAT", value_parser = format)]
    format: Option<Format>,
    /// Open archives too: zip, tar, gzip
    #[arg(long, conflicts_with = "text")]
    archives: bool,
    /// Take files of kinds without text for errors in directories too
    #[arg(long, conflicts_with = "text")]
    strict: bool,
    /// Follow symbolic links in directories
    #[arg(long, conflicts_with = "text")]
    follow: bool,
    /// Fetch from this machine and from private networks too
    #[arg(long)]
    private: bool,
    /// Print the text that is read of files, and no lines
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
    let operands = operands(&args, io)?;
    let client = Client::new(&settings);
    if args.text {
        return print_texts(&args, operands, &client, io);
    }
    print_trees(&args, operands, &client, settings.max_line(), io)
}

fn operands(args: &Args, io: &Io) -> Result<Vec<Operand>> {
    if args.operands.is_empty() {
        return Ok(vec![Operand::Stdin(io.stdin()?)]);
    }
    if args.operands.iter().filter(|operand| operand.as_os_str() == "-").count() > 1 {
        return Err(Error::new("standard input ('-') is named more than once"));
    }
    let operand = |path: &PathBuf| match path.to_str() {
        Some("-") => io.stdin().map(Operand::Stdin),
        Some(url) if url.starts_with("http://") || url.starts_with("https://") => {
            rsv::http::Address::parse(url).map(Operand::Url)
        }
        _ => Ok(Operand::Path(path.clone())),
    };
    args.operands.iter().map(operand).collect()
}

fn print_trees(
    args: &Args,
    operands: Vec<Operand>,
    client: &Client,
    max_line: usize,
    io: &mut Io,
) -> Result<Outcome> {
    let has_name = |operand: &Operand| !matches!(operand, Operand::Stdin(_));
    if args.to.is_none() && !operands.iter().all(has_name) {
        let error = Error::new("standard input has no name for an address");
        return Err(error.hint("give the address, as in --to viking://resources/notes"));
    }
    let (to, partition) = address(args.to.as_deref().unwrap_or(DEFAULT_TO), io.common.partition())?;
    let known = args.known.as_deref().map(|path| known(path, partition.as_deref(), max_line, io));
    let known = known.transpose()?.unwrap_or_default();
    let options = Options {
        scope: GivenScope { partition, instance: io.common.instance.clone() },
        known,
        format: args.format,
        archives: args.archives,
        strict: args.strict,
        follow: args.follow,
        private: args.private,
        pdf_reader: pdf_reader(io),
    };
    let addresses = addresses(&operands, &to, args.to.is_none())?;
    let processors = || std::thread::available_parallelism().ok();
    let threads = args.jobs.or_else(processors).map_or(1, NonZeroUsize::get);
    let parser = Parser::new(options, threads);
    let mut progress = io.progress();
    let total = progress.is_shown().then(|| parser.count(&operands));
    let mut printer = Printer { io, progress: &mut progress, files: 0, total, skipped: BTreeMap::new() };
    for (operand, uri) in operands.into_iter().zip(addresses) {
        parser.parse(operand, &uri, client, &mut |output| printer.print(output))?;
    }
    printer.note_skipped();
    Ok(Outcome::Yes)
}

/// The address below which operands have theirs by default.
const DEFAULT_TO: &str = "viking://resources";

/// The address of the tree, and the partition that it belongs to, if that is known.
fn address(to: &str, partition: Option<&str>) -> Result<(Address, Option<String>)> {
    let placed = |error: Error| error.at("--to");
    let owner = Address::parse(to).map_err(placed)?.owner().map(str::to_owned);
    let partition = partition.map(str::to_owned).or(owner);
    let address = Address::resolve(to, partition.as_deref().unwrap_or("default")).map_err(placed)?;
    if !matches!(address.segments().next(), Some("resources" | "agent")) {
        let error = Error::new(format!("{address} is no address of documents")).at("--to");
        return Err(error.hint("give one below viking://resources or viking://agent"));
    }
    Ok((address, partition))
}

/// The address of each operand. Errors if two have the same one.
fn addresses(operands: &[Operand], to: &Address, by_default: bool) -> Result<Vec<Address>> {
    let mut addresses: Vec<Address> = Vec::with_capacity(operands.len());
    for operand in operands {
        let uri = if operands.len() > 1 || by_default { to.join(&operand.name())? } else { to.clone() };
        if by_default && uri.name() == "users" {
            let error = Error::new(format!("{uri} is for the documents of partitions"));
            return Err(error.hint("give another address, as in --to viking://resources/people"));
        }
        if let Some(at) = addresses.iter().position(|other| *other == uri) {
            let (first, second) = (operands[at].shown(), operand.shown());
            let error = Error::new(format!("{first} and {second} have the same address: {uri}"));
            return Err(error.hint("parse each by itself, with an address of its own by --to"));
        }
        addresses.push(uri);
    }
    Ok(addresses)
}

/// The command that reads a PDF: this tool, with the same settings.
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

struct Printer<'a> {
    io: &'a mut Io,
    progress: &'a mut Progress,
    files: u64,
    total: Option<u64>,
    /// The numbers of files that were not read because of their kinds.
    skipped: BTreeMap<UnreadKind, usize>,
}

impl Printer<'_> {
    fn print(&mut self, output: Output) -> Result<()> {
        let line = match &output {
            Output::Node(node) => serde_json::to_vec(node),
            Output::Tree(tree) => serde_json::to_vec(tree),
            Output::Unread(error) => {
                let io = &mut *self.io;
                self.progress.suspend(|| io.fault(error));
                return Ok(());
            }
            Output::Skipped(kind, error) => {
                *self.skipped.entry(*kind).or_default() += 1;
                let io = &*self.io;
                self.progress.suspend(|| io.detail(error));
                return Ok(());
            }
            Output::FileDone => {
                self.files += 1;
                self.progress.set("parsing", self.files, self.total);
                return Ok(());
            }
        };
        let line = line.context("cannot write a line")?;
        self.io.out.with(|out| {
            out.extend_from_slice(&line);
            out.push(b'\n');
        })
    }
}

impl Printer<'_> {
    /// Says how many files were not read because of their kinds.
    fn note_skipped(&mut self) {
        let count: usize = self.skipped.values().sum();
        if count == 0 {
            return;
        }
        let kinds: Vec<String> = self.skipped.iter().map(|(kind, count)| kind.count(*count)).collect();
        let files = counted_verb(count as u64, "file", ["was", "were"]);
        let io = &*self.io;
        let note = format!("{files} not read: {}; -v names each", kinds.join(", "));
        self.progress.suspend(|| io.note(note));
    }
}

/// Prints the texts of files, as this tool itself reads PDFs in a process of its own.
fn print_texts(args: &Args, operands: Vec<Operand>, client: &Client, io: &mut Io) -> Result<Outcome> {
    parse::limit_resources()?;
    for operand in operands {
        let shown = operand.shown();
        match parse::text_of(operand, args.format, client, args.private) {
            Ok(text) => io.out.with(|out| out.extend_from_slice(text.as_bytes()))?,
            Err(reason) => io.fault(&Error::new(format!("cannot read {shown}: {reason}"))),
        }
    }
    Ok(Outcome::Yes)
}

/// Reads the lines of `--known`, those of a partition if it is given. None may be longer than `max_line` bytes.
fn known(path: &Path, partition: Option<&str>, max_line: usize, io: &Io) -> Result<Known> {
    let name = path.display();
    let mut input: Box<dyn BufRead> = if path.as_os_str() == "-" {
        Box::new(BufReader::new(io.stdin()?))
    } else {
        Box::new(BufReader::new(File::open(path).context(format_args!("cannot open {name}"))?))
    };
    let mut known = Known::default();
    let limit = u64::try_from(max_line).unwrap_or(u64::MAX).saturating_add(1);
    let mut line = String::new();
    for number in 1_u64.. {
        line.clear();
        let read = input.by_ref().take(limit).read_line(&mut line);
        if read.context(format_args!("cannot read {name}"))? == 0 {
            break;
        }
        if line.trim_end().len() > max_line {
            let error = Error::new(format!("{name}:{number}: longer than {max_line} bytes"));
            return Err(error.hint("raise it with: rsv-config set max_line_bytes BYTES"));
        }
        let invalid = |error| Error::new(format!("{name}:{number}: invalid JSON")).because(error);
        if !line.trim().is_empty() {
            known.add(&line, partition).map_err(invalid)?;
        }
    }
    Ok(known)
}
