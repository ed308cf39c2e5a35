//! An operand to parse: a path, a URL, standard input.

use super::file;
use super::format::{self, Format};
use super::node::Source;
use super::reason::Reason;
use super::{extract, pool, walk};
use crate::cli::{CliError, Io};
use crate::error;
use crate::http::{self, Address, Client};
use jiff::fmt::rfc2822;
use std::io::Read;
use std::path::PathBuf;

/// An operand.
pub enum Operand {
    Path(PathBuf),
    Url(Address),
    Stdin(Box<dyn Read + Send>),
}

/// The operands that are named, else standard input, which `-` names too, at most once.
pub fn operands(named: &[PathBuf], io: &Io) -> error::Result<Vec<Operand>> {
    if named.is_empty() {
        return Ok(vec![Operand::Stdin(io.stdin()?)]);
    }
    if named.iter().filter(|operand| operand.as_os_str() == "-").count() > 1 {
        return Err(CliError::StdinTwice.into());
    }
    let operand = |path: &PathBuf| match path.to_str() {
        Some("-") => io.stdin().map(Operand::Stdin),
        Some(url) if url.starts_with("http://") || url.starts_with("https://") => {
            Address::parse(url).map(Operand::Url)
        }
        _ => Ok(Operand::Path(path.clone())),
    };
    named.iter().map(operand).collect()
}

/// The content of an operand that is no path.
pub(super) struct Fetched {
    pub(super) source: Source,
    pub(super) bytes: Vec<u8>,
    /// The format that the server says.
    pub(super) format: Option<Format>,
}

impl Operand {
    /// The operand for people.
    pub fn shown(&self) -> String {
        match self {
            Operand::Path(path) => path.display().to_string(),
            Operand::Url(address) => address.to_string(),
            Operand::Stdin(_) => "<stdin>".to_owned(),
        }
    }

    /// The segment of its address below that of several operands.
    pub fn name(&self) -> String {
        match self {
            Operand::Path(path) => {
                let whole = path.file_name().map(ToOwned::to_owned);
                // Such as `.` and `..`, which name a directory by its place alone.
                let name = whole.or_else(|| path.canonicalize().ok()?.file_name().map(ToOwned::to_owned));
                walk::segment(&name.unwrap_or_else(|| "root".into()))
            }
            Operand::Url(address) => {
                let segment = address.path().rsplit('/').find(|segment| !segment.is_empty());
                segment.map_or_else(|| address.host().to_owned(), str::to_owned)
            }
            Operand::Stdin(_) => "stdin".to_owned(),
        }
    }
}

/// Fetches an address. Fails if it is not public and not `private`, cannot be fetched, or is too large.
pub(super) fn fetch(address: &Address, client: &Client, private: bool) -> Result<Fetched, String> {
    let limit = usize::try_from(file::MAX_BYTES).unwrap_or(usize::MAX);
    let fetched = http::run(client.fetch(address, limit, private));
    let fetched = fetched.map_err(|error| match error.remedy() {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
    })?;
    let time = fetched
        .modified
        .and_then(|time| rfc2822::parse(&time).ok()) // A server may say anything.
        .map(|time| crate::record::time::rfc3339(time.timestamp().as_millisecond()));
    let source = Source { name: Some(address.to_string()), time, ..Source::default() };
    // Servers use `text/plain` for unknown types.
    let format =
        fetched.media_type.and_then(|mime| Format::of_mime(&mime)).filter(|format| *format != Format::Text);
    Ok(Fetched { source, bytes: fetched.bytes, format })
}

/// The text of an operand, as it is split into sections. A form feed follows each page of a PDF. Fails if it
/// cannot be read, or has no text of a known format.
pub(super) fn text_of(
    operand: Operand,
    format: Option<Format>,
    client: &Client,
    private: bool,
) -> Result<String, Reason> {
    let name = operand.shown();
    let (bytes, declared) = match operand {
        Operand::Path(path) => (file::read(&path)?.0, None),
        Operand::Url(address) => {
            let fetched = fetch(&address, client, private)?;
            (fetched.bytes, fetched.format)
        }
        Operand::Stdin(input) => (file::read_bounded(input, 0)?, None),
    };
    let format = format.or(declared).map_or_else(|| format::detect(&name, &bytes), Ok)?;
    pool::parse_apart(|| extract::text(format, bytes))
}
