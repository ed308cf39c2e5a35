//! Standard input, output and error of a tool.

use super::clock::zone;
use super::error::CliError;
use super::flags::{Common, Printing};
use super::hidden::on_one_line;
use super::invocation::Invocation;
use super::missing_file::hint_for_missing;
use super::out::Out;
use super::progress::Progress;
use super::stderr;
use super::stop::stop_signals;
use super::style::{Layout, Style};
use super::terminal::is_terminal;
use crate::error::{Context, Error, Result};
use crate::lines::{binary_format, too_long};
use crate::record::{Clock, invalid_utf8};
use atty::Stream;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// An input with its name for messages.
pub type Source = (String, Box<dyn Read + Send>);

/// The environment of a tool: its streams, the flags that all tools share, the clock.
pub struct Io {
    /// The flags that all tools share.
    pub common: Common,
    /// Standard output: data only.
    pub out: Out,
    /// The clock, which tests can stop.
    pub clock: Clock,
    invocation: Invocation,
    diagnostics: Diagnostics,
    trouble: bool,
}

/// Standard error, for code that outlives the call it was passed to, such as a server's threads.
#[derive(Clone, Default, Debug)]
pub struct Diagnostics {
    tool: String,
    quiet: bool,
    verbose: bool,
    /// Whether notes are printed with `-v` only.
    notes_are_details: bool,
}

impl Diagnostics {
    /// Whether notes are suppressed.
    pub fn is_quiet(&self) -> bool {
        self.quiet || self.notes_are_details && !self.verbose
    }

    /// Whether details are printed.
    pub fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Prints a note, unless `-q`.
    pub fn note(&self, text: impl Display) {
        if !self.is_quiet() {
            stderr::write_line(&format!("{}: {}", self.tool, on_one_line(&text.to_string())));
        }
    }

    /// Prints a detail, if `-v`.
    pub fn detail(&self, text: impl Display) {
        if self.verbose {
            stderr::write_line(&format!("{}: {}", self.tool, on_one_line(&text.to_string())));
        }
    }

    /// Writes a line for a program that reads them, regardless of `-q` and `-v`.
    pub fn record(&self, line: &str) {
        stderr::write_line(line);
    }

    /// Prints an error and its hint.
    pub fn fault(&self, error: &Error) {
        print_error(&self.tool, error);
    }
}

impl Io {
    pub(super) fn new(tool: &str, common: Common, clock: Clock, invocation: Invocation) -> Io {
        let diagnostics = Diagnostics {
            tool: tool.to_owned(),
            quiet: common.quiet,
            verbose: common.verbose,
            notes_are_details: false,
        };
        Io { common, out: Out::new(), clock, invocation, diagnostics, trouble: false }
    }

    /// Whether an error was printed, so that the exit status must be 2.
    pub(super) fn trouble(&self) -> bool {
        self.trouble
    }

    /// Prints an error on standard error. The tool continues, and exits with 2 in the end.
    pub fn fault(&mut self, error: &Error) {
        self.trouble = true;
        self.diagnostics.fault(error);
    }

    /// Prints a note on standard error, unless `-q`.
    pub fn note(&self, text: impl Display) {
        self.diagnostics.note(text);
    }

    /// Prints a detail on standard error, if `-v`.
    pub fn detail(&self, text: impl Display) {
        self.diagnostics.detail(text);
    }

    /// Prints what a run did, if a person reads standard error, or if `-v`.
    pub fn summary(&self, text: impl Display) {
        if is_terminal(Stream::Stderr) { self.note(text) } else { self.detail(text) }
    }

    /// Prints a line for a person who reads standard error, dim and without the name of the tool; to anything
    /// else, only if it is asked for.
    pub fn aside(&self, text: impl Display, is_asked_for: bool) {
        let is_read = is_terminal(Stream::Stderr);
        if !is_asked_for && (self.diagnostics.is_quiet() || !is_read) {
            return;
        }
        let layout = Layout { colour: is_read && self.common.colour(true), ..self.layout() };
        self.diagnostics.record(&layout.paint(Style::Dim, &on_one_line(&text.to_string())));
    }

    /// Whether `summary` prints anything.
    pub fn prints_summaries(&self) -> bool {
        !self.diagnostics.is_quiet() && (self.diagnostics.is_verbose() || is_terminal(Stream::Stderr))
    }

    /// The command line of the tool, for all scopes, as a command to paste. `question` is what the words
    /// lack.
    pub fn command_for_all_scopes(&self, question: Option<&str>) -> String {
        self.invocation.for_all_scopes(question)
    }

    /// Errors if a flag of the tool's own is given that is not one of `known`, by their fields, which go with
    /// `mode`. Only for what clap cannot express: conflicts with a value, or with the absence of a flag.
    pub fn refuse_flags_besides(&self, known: &[&str], mode: &str) -> Result<()> {
        self.invocation.refuse_flags_besides(known, mode)
    }

    /// Prints details from now on, unless `-q`.
    pub fn print_details(&mut self) {
        self.diagnostics.verbose = !self.diagnostics.quiet;
    }

    /// Prints notes with `-v` only from now on, since standard error is also that of another program.
    pub fn keep_notes_for_details(&mut self) {
        self.diagnostics.notes_are_details = true;
    }

    /// Has the lines on standard error wait in a queue from now on, so that no request of a server waits for
    /// whoever reads them.
    pub fn queue_diagnostics(&self) {
        stderr::queue_lines(&self.diagnostics.tool);
    }

    /// A bar that counts things, with their rate and the time that is left.
    pub fn progress(&self) -> Progress {
        Progress::new(!self.common.quiet, "{msg} {wide_bar} {pos}/{len}, {rate}, {eta} left")
    }

    /// A bar that counts bytes.
    pub fn bytes(&self) -> Progress {
        Progress::new(
            !self.common.quiet,
            "{msg} {wide_bar} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left",
        )
    }

    /// Standard error, for a server's threads.
    pub fn diagnostics(&self) -> Diagnostics {
        self.diagnostics.clone()
    }

    /// Whether standard output is a terminal, read by a person.
    pub fn stdout_is_tty(&self) -> bool {
        is_terminal(Stream::Stdout)
    }

    /// Whether standard input is a terminal, so that there is nothing to read.
    pub fn stdin_is_tty(&self) -> bool {
        is_terminal(Stream::Stdin)
    }

    /// Whether standard output may carry colour (<https://no-color.org>).
    fn colour(&self) -> bool {
        self.common.colour(self.stdout_is_tty())
    }

    /// The layout of text for people on this output.
    pub fn layout(&self) -> Layout {
        Layout { width: self.width(), colour: self.colour(), scopes: false, zone: zone() }
    }

    /// Prints in the wanted format from now on, in a pager if it goes to a terminal; the layout if it is
    /// text.
    pub fn print_as(&mut self, printing: &Printing) -> Option<Layout> {
        if self.stdout_is_tty() && !printing.no_pager {
            self.out.page();
        }
        let layout = self.text_layout(printing.format.as_deref());
        if printing.format.as_deref() == Some("json") {
            self.out.begin_array();
        }
        layout
    }

    /// The layout if a format, `None` for the default, is text.
    fn text_layout(&self, format: Option<&str>) -> Option<Layout> {
        let is_text = format.map_or_else(|| self.stdout_is_tty(), |format| format == "text");
        is_text.then(|| self.layout())
    }

    /// The columns of the terminal: `COLUMNS`, else its own, else 80.
    fn width(&self) -> usize {
        let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
        let own = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        columns.or_else(own).filter(|c| (20..=400).contains(c)).unwrap_or(80)
    }

    /// Whether the user can be asked: whether standard input and output are terminals.
    pub fn can_ask(&self) -> bool {
        self.stdin_is_tty() && self.stdout_is_tty()
    }

    /// Asks on standard error, and waits for a line. An empty answer is `default`. Errors if there is none:
    /// at the end of the input.
    pub fn ask(&self, question: &str, default: &str) -> Result<String> {
        prompt(&on_one_line(&match default {
            "" => format!("{question} "),
            default => format!("{question} [{default}] "),
        }));
        let mut line = String::new();
        if io::stdin().read_line(&mut line).context("cannot read the answer")? == 0 {
            prompt("\n");
            return Err(CliError::NoAnswer.into());
        }
        let answer = line.trim();
        Ok(if answer.is_empty() { default } else { answer }.to_owned())
    }

    /// As `ask`, for a question that is answered by yes or no: again, until it is.
    pub fn ask_yes_or_no(&self, question: &str, default: bool) -> Result<bool> {
        let question = format!("{question} y or n");
        loop {
            match yes_or_no(&self.ask(&question, if default { "y" } else { "n" })?) {
                Some(answer) => return Ok(answer),
                None => prompt(NEITHER),
            }
        }
    }

    /// Asks at the terminal, regardless of standard input, until the answer is yes or no: whether it is yes,
    /// which an empty one and the end of the input are not; `None` if there is no terminal.
    pub fn confirm(&self, question: &str) -> Result<Option<bool>> {
        let Ok(terminal) = File::options().read(true).write(true).open("/dev/tty") else { return Ok(None) };
        let failed = "cannot ask at the terminal";
        let mut answers = BufReader::new(&terminal);
        loop {
            write!(&terminal, "{} [y/N] ", on_one_line(question)).context(failed)?;
            let mut answer = String::new();
            answers.read_line(&mut answer).context(failed)?;
            if answer.trim().is_empty() {
                return Ok(Some(false));
            }
            if let Some(answer) = yes_or_no(&answer) {
                return Ok(Some(answer));
            }
            write!(&terminal, "{NEITHER}").context(failed)?;
        }
    }

    /// Asks for a secret. The terminal does not echo the answer.
    pub fn ask_secret(&self, question: &str) -> Result<String> {
        let hidden = EchoOff::begin().context("cannot hide the answer")?;
        let answer = self.ask(question, "");
        hidden.end();
        answer
    }

    /// Standard input; an error with the remedy if that is a terminal.
    pub fn stdin(&self) -> Result<Box<dyn Read + Send>> {
        if self.stdin_is_tty() {
            let (inputs, tool) = (self.invocation.inputs(), self.diagnostics.tool.clone());
            return Err(CliError::NothingToRead { inputs, tool }.into());
        }
        Ok(Box::new(io::stdin()))
    }

    /// Standard input and its first byte that is not white space, which distinguishes JSON lines from text.
    /// After a `[`, the next such byte follows.
    pub fn peek(&self) -> Result<(Vec<u8>, Box<dyn Read + Send>)> {
        let mut input = self.stdin()?;
        let (mut seen, mut first) = (Vec::new(), Vec::new());
        let mut byte = [0];
        while first.is_empty() || first == b"[" {
            match input.read(&mut byte) {
                Ok(0) => break,
                Ok(_) => seen.push(byte[0]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e).context("cannot read <stdin>"),
            }
            if seen == BYTE_ORDER_MARK {
                seen.clear();
            } else if !byte[0].is_ascii_whitespace() && !BYTE_ORDER_MARK.starts_with(&seen) {
                first.push(byte[0]);
            }
        }
        Ok((first, Box::new(io::Cursor::new(seen).chain(input))))
    }

    /// The operands as inputs: none means standard input, `-` too, at most once.
    pub fn sources(&self, operands: &[PathBuf]) -> Result<Vec<Source>> {
        if operands.is_empty() {
            return Ok(vec![("<stdin>".to_owned(), self.stdin()?)]);
        }
        if operands.iter().filter(|p| p.as_os_str() == "-").count() > 1 {
            return Err(CliError::StdinTwice.into());
        }
        operands.iter().map(|path| self.source(path)).collect()
    }

    fn source(&self, path: &Path) -> Result<Source> {
        if path.as_os_str() == "-" {
            return Ok(("<stdin>".to_owned(), self.stdin()?));
        }
        let name = path.display().to_string();
        let file = File::open(path).map_err(|source| {
            let hint = (source.kind() == ErrorKind::NotFound).then(|| hint_for_missing(path)).flatten();
            let error = Error::from(CliError::Unopened { name: name.clone(), source });
            hint.into_iter().fold(error, Error::hint)
        })?;
        if file.metadata().is_ok_and(|m| m.is_dir()) {
            return Err(CliError::Directory { name }.into());
        }
        Ok((name, Box::new(file)))
    }

    /// All of standard input as text, of at most `limit` bytes.
    pub fn text(&self, limit: usize) -> Result<String> {
        read_text(self.stdin()?, "<stdin>", limit)
    }
}

/// The byte order mark, which Windows puts in front of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Standard error, as the output of another command.
pub fn to_stderr() -> Stdio {
    io::stderr().into()
}

/// Reads UTF-8 text of at most `limit` bytes.
pub fn read_text(input: impl Read, name: &str, limit: usize) -> Result<String> {
    let mut bytes = Vec::new();
    input.take(limit as u64 + 1).read_to_end(&mut bytes).context(format_args!("cannot read {name}"))?;
    if let Some(error) = binary_format(&bytes) {
        return Err(error.at(name));
    }
    if bytes.len() > limit {
        return Err(too_long(limit).at(name));
    }
    String::from_utf8(bytes).map_err(|e| {
        let valid = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|b| **b == b'\n').count();
        invalid_utf8("").at(format_args!("{name}:{line}"))
    })
}

/// Prints an error and its hint: `rsv-search: error: …`, `rsv-search: hint: …`.
pub(super) fn print_error(tool: &str, error: &Error) {
    stderr::write_line(&format!("{tool}: error: {}", on_one_line(&error.to_string())));
    if let Some(hint) = error.remedy() {
        stderr::write_line(&format!("{tool}: hint: {}", on_one_line(hint)));
    }
}

/// The reply to an answer that is neither yes nor no.
const NEITHER: &str = "please answer y or n\n";

/// Whether an answer is yes or no, as people write them; `None` if it is neither.
pub fn yes_or_no(answer: &str) -> Option<bool> {
    const YES: [&str; 21] = [
        "y", "yes", "yep", "yeah", "ok", "okay", "sure", "true", "on", "1", "j", "ja", "o", "oui", "s", "si",
        "sí", "sim", "tak", "da", "да",
    ];
    const NO: [&str; 16] = [
        "n", "no", "nope", "nah", "false", "off", "0", "nein", "nee", "nej", "non", "não", "nao", "nie",
        "ne", "нет",
    ];
    let answer = answer.trim().trim_end_matches(['.', '!']).to_lowercase();
    if YES.contains(&answer.as_str()) {
        return Some(true);
    }
    NO.contains(&answer.as_str()).then_some(false)
}

/// The beginning of a line, which an answer ends; without standard error the answer is read all the same.
fn prompt(text: &str) {
    let _ = write!(io::stderr(), "{text}");
}

/// A terminal without echo, but for line ends. Ctrl-C restores its echo.
struct EchoOff(Termios);

impl EchoOff {
    fn begin() -> io::Result<EchoOff> {
        let before = tcgetattr(io::stdin())?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        hidden.local_modes.insert(LocalModes::ECHONL);
        let (mut signals, shown) = (Signals::new(stop_signals())?, before.clone());
        // The thread never ends: without it, a caught signal would have no effect at all.
        std::thread::spawn(move || {
            for signal in &mut signals {
                EchoOff(shown.clone()).end();
                let _ = emulate_default_handler(signal); // Ends the process.
            }
        });
        tcsetattr(io::stdin(), OptionalActions::Now, &hidden)?;
        Ok(EchoOff(before))
    }

    fn end(self) {
        // A terminal that is gone needs no echo.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}
