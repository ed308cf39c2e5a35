//! The one `main` of all tools: from the command line to the exit status.

use super::allocator;
use super::clock::clock;
use super::completion::{self, ValueCompleters};
use super::error::CliError;
use super::flags::{Common, SEVERAL_PARTITIONS};
use super::invocation::Invocation;
use super::io::{Io, print_error};
use super::out::Out;
use super::silence::set_diagnostics;
use super::stderr;
use crate::error::{Error, Result};
use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Id};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// The outcome of a tool that ran without errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Done, or the answer is yes: exit status 0.
    Yes,
    /// The answer is no: exit status 1.
    No,
    /// A command that the tool ran has ended: with its exit status.
    Ended(u8),
}

impl Outcome {
    /// Yes if `is_yes`, else no.
    pub fn of(is_yes: bool) -> Outcome {
        if is_yes { Outcome::Yes } else { Outcome::No }
    }
}

/// Parses the command line, runs the tool and returns its exit status: 0 done or yes, 1 the answer is no, 2
/// trouble. A closed standard output is no trouble. `values` are the completers for a shell.
pub fn main<A: Args>(run: fn(A, &mut Io) -> Result<Outcome>, values: ValueCompleters) -> ExitCode {
    disable_telemetry();
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let tool = tool_name(words.first());
    allocator::set_tool(&tool);
    catch_file_size_signal();
    if words.is_empty() {
        words.push((&tool).into());
    }
    let ended = match completion::requested_shell() {
        Some(shell) => completion::complete(command::<A>(&tool), &shell, &words, values),
        None => run_tool(&tool, words, run),
    };
    let status = match ended {
        Ok(status) => ExitCode::from(status),
        Err(error) if error.is_closed() => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&tool, &error);
            ExitCode::from(2)
        }
    };
    stderr::drain();
    status
}

/// From version 1.29 on, ONNX Runtime keeps an id of the machine and sends telemetry to its maker as soon as
/// it is loaded, unless this variable disables it.
#[allow(unsafe_code)]
fn disable_telemetry() {
    // SAFETY: no other thread exists yet that could read the environment.
    unsafe { std::env::set_var("ORT_DISABLE_TELEMETRY", "1") };
}

/// A file at its size limit (`ulimit -f`) must make the write fail, as a full disk does, not end the process
/// in the middle of it.
fn catch_file_size_signal() {
    #[cfg(unix)]
    {
        use std::sync::{Arc, atomic::AtomicBool};
        // If the signal cannot be caught, it ends the process as before.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false)));
    }
}

fn tool_name(word: Option<&OsString>) -> String {
    let name = word.and_then(|w| Path::new(w).file_stem()).map(|n| n.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "rsv".to_owned())
}

fn run_tool<A: Args>(tool: &str, words: Vec<OsString>, run: fn(A, &mut Io) -> Result<Outcome>) -> Result<u8> {
    let mut command = command::<A>(tool);
    let matches = match parse(&mut command, &words) {
        Ok(matches) => matches,
        Err(error) => return refuse(&command, &error),
    };
    let usage = |error| Error::from(CliError::Arguments { error });
    let mut common = Common::from_arg_matches(&matches).map_err(usage)?;
    if takes_several_partitions(&command) {
        let partitions = matches.get_many::<String>("partition");
        common.partitions = partitions.into_iter().flatten().cloned().collect();
        if common.partitions.len() > 1 && !allows_several_partitions(&command, &matches) {
            return Err(CliError::ManyPartitions { tool: tool.to_owned() }.into());
        }
    }
    let args = A::from_arg_matches(&matches).map_err(usage)?;
    let mut io = Io::new(tool, common, clock()?, Invocation::new(command, matches, &words));
    set_diagnostics(&io.diagnostics());
    if let Err(error) = io.clock.check() {
        io.note(error);
    }
    let outcome = run(args, &mut io);
    let finished = io.out.finish(outcome.is_ok());
    let outcome = match outcome {
        // The error of the pager says why its input was closed.
        Err(error) if error.is_closed() => finished.and(Err(error)),
        outcome => outcome.and_then(|outcome| finished.map(|()| outcome)),
    };
    let status = match outcome? {
        _ if io.trouble() => 2,
        Outcome::Yes => 0,
        Outcome::No => 1,
        Outcome::Ended(status) => status,
    };
    Ok(status)
}

/// Parses the words of a command line. Clap waives what a flag requires where another flag excludes that, so
/// the requirements are checked once more, on a command line in which nothing excludes anything.
fn parse(command: &mut Command, words: &[OsString]) -> std::result::Result<ArgMatches, clap::Error> {
    let matches = command.try_get_matches_from_mut(words)?;
    let is_given = |arg: &&Arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    // One argument has no other that could exclude what it requires. A subcommand has its own.
    if matches.subcommand().is_none() && command.get_arguments().filter(is_given).count() < 2 {
        return Ok(matches);
    }
    let groups: Vec<Id> = command.get_groups().map(|group| group.get_id().clone()).collect();
    let without_conflicts = command.clone().mut_args(|arg| arg.conflicts_with(Resettable::Reset));
    let without_conflicts = groups.iter().fold(without_conflicts, |command, id| {
        command.mut_group(id, |group| group.conflicts_with(Resettable::Reset).multiple(true))
    });
    without_conflicts.try_get_matches_from(words).map(|_| matches).map_err(|mut error| {
        // The usage that it suggests may be excluded.
        error.remove(ContextKind::Usage);
        error
    })
}

/// The command line of a tool, from which its help and completions are made.
pub fn command<A: Args>(tool: &str) -> Command {
    let own = A::augment_args(Command::new(tool.to_owned()).version(env!("CARGO_PKG_VERSION")));
    let about = own.get_about().cloned().unwrap_or_default();
    let long = own.get_long_about().cloned();
    let mut command = Common::augment_args(own);
    // If a tool has subcommands, the common flags may follow these too.
    if command.has_subcommands() {
        command = command.mut_args(|arg| arg.global(true));
    }
    if takes_several_partitions(&command) {
        command = command.mut_arg("partition", |arg| arg.action(ArgAction::Append));
    }
    let command = command.about(about).max_term_width(80).disable_help_subcommand(true);
    match long {
        Some(long) => command.long_about(long),
        None => command,
    }
}

/// Whether a tool has flags with which the partition may be given several times.
fn takes_several_partitions(command: &Command) -> bool {
    command.get_groups().any(|group| group.get_id() == SEVERAL_PARTITIONS)
}

/// Whether one of these flags is given.
fn allows_several_partitions(command: &Command, matches: &ArgMatches) -> bool {
    let mut groups = command.get_groups().filter(|group| group.get_id() == SEVERAL_PARTITIONS);
    let is_given = |flag: &Id| matches.value_source(flag.as_str()) == Some(ValueSource::CommandLine);
    groups.any(|group| group.get_args().any(is_given))
}

/// Help and version are data and go to standard output; anything else is an error of the user's.
fn refuse(command: &Command, error: &clap::Error) -> Result<u8> {
    let text = error.render().to_string();
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let mut out = Out::new();
        out.write(text.as_bytes())?;
        return out.flush().map(|()| 0);
    }
    let cause = text.lines().take_while(|line| !line.starts_with("Usage:")).map(str::trim);
    let cause = cause.filter(|line| {
        !line.is_empty() && !["For more", "tip: "].iter().any(|start| line.starts_with(start))
    });
    let cause = cause.collect::<Vec<_>>().join(" ");
    let cause = cause.strip_prefix("error: ").unwrap_or(&cause).trim_end_matches('.');
    // Clap has named the value already.
    let value = error.get(ContextKind::InvalidValue).map(ToString::to_string).unwrap_or_default();
    let cause = cause.strip_suffix(&format!(", found {value:?}")).unwrap_or(cause);
    // The standard library's message for a word that is no number.
    let words = cause.replace("invalid digit found in string", "expected a whole number");
    Err(CliError::Usage { words, help: advice(command, error, &text) }.into())
}

/// The hint for an invalid command line; `text` is clap's message.
fn advice(command: &Command, error: &clap::Error, text: &str) -> String {
    let tool = command.get_name();
    let word = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.clone()),
        Some(ContextValue::Strings(words)) => words.first().cloned(),
        _ => None,
    };
    let wrong = word(ContextKind::InvalidArg).filter(|_| error.kind() == ErrorKind::UnknownArgument);
    let bare = wrong.as_deref().map(|wrong| wrong.trim_start_matches('-')).unwrap_or_default();
    let is_flag = wrong.as_deref() != Some(bare);
    let has_operands = command.get_positionals().next().is_some();
    let usage = text.lines().find_map(|line| line.strip_prefix("Usage: "));
    if command.find_subcommand(bare).is_some() {
        format!("without dashes: {tool} {bare}")
    } else if is_flag && names_secret(bare) {
        "other users can see a command line; use a variable or the settings file: see 'man 5 rsv-config'"
            .into()
    } else if let (ErrorKind::MissingRequiredArgument, Some(usage)) = (error.kind(), usage) {
        format!("{}; see '{tool} --help'", usage.replace("[OPTIONS] ", ""))
    } else if let Some(flag) = flag_with_value(command, bare).filter(|_| is_flag) {
        format!("did you mean '--{flag} {bare}'? see '{tool} --help'")
    } else if let Some(near) = word(ContextKind::SuggestedArg).or(word(ContextKind::SuggestedSubcommand)) {
        format!("did you mean '{near}'? see '{tool} --help'")
    } else if is_flag && bare.parse::<f64>().is_ok() {
        format!("negative numbers are not allowed; see '{tool} --help'")
    } else if is_flag && has_operands && bare.chars().count() == 1 {
        format!("put '--' before an argument that begins with a dash; see '{tool} --help'")
    } else if wrong.is_some() && !is_flag && has_operands {
        format!("put quotes around an argument with spaces; see '{tool} --help'")
    } else if wrong.is_some() && !is_flag && !command.has_subcommands() {
        format!("{tool} reads no files; to write one: {tool} > FILE")
    } else {
        format!("see '{tool} --help'")
    }
}

/// Whether a flag, such as `--api-key`, would hold a secret.
fn names_secret(flag: &str) -> bool {
    let last = flag.rsplit(['-', '_']).next().unwrap_or_default();
    ["key", "apikey", "token", "secret", "password"].contains(&last)
}

/// The flag of a tool that has this word among its values.
fn flag_with_value<'a>(command: &'a Command, word: &str) -> Option<&'a str> {
    let has_value = |arg: &&Arg| arg.get_possible_values().iter().any(|value| value.get_name() == word);
    command.get_arguments().find(has_value).and_then(Arg::get_long)
}
