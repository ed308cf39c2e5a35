//! The faults of command lines and of their streams.

use crate::error::failures;
use crate::text::with_article;
use std::io;

failures! { pub(crate) enum CliError {
    /// A mistake in the command line, in the words of clap.
    Usage { words: String, help: String } ("{words}") => "{help}",
    /// The fields of the arguments do not fit their definition.
    Arguments { error: clap::Error } ("{error}"),
    Unsuited { flag: String, mode: String, tool: String } ("the argument '{flag}' cannot be used with {mode}")
        => "see '{tool} --help'",
    ManyPartitions { tool: String } ("the argument '--partition <NAME>' cannot be used multiple times")
        => "see '{tool} --help'",
    NotSearched { kind: &'static str } ("--kind: {} has no text to search", with_article(.kind)),
    NotOfActions ("--kind: --file, --command and --failed find actions") => "leave out --kind",
    Shell { found: String } ("RSV_COMPLETIONS: expected bash, zsh or fish, found {found}"),
    NoWords ("there are no words to complete"),
    NothingToRead { inputs: String, tool: String } ("standard input is a terminal, and there is nothing to read")
        => "{inputs}, or see '{tool} --help'",
    StdinTwice ("standard input ('-') is named more than once"),
    Unopened { name: String, source: io::Error } ("cannot open {name}"),
    Directory { name: String } ("cannot read {name}: is a directory") => "name the files in it",
    NoAnswer ("there was no answer, and nothing was changed"),
    BadInput { lines: usize, help: String } ("the first {lines} lines are bad, and no more are read")
        => "{help}",
    /// `more` is such as `3 more lines are`.
    MoreBadLines { more: String } ("{more} bad"),
    NoPager { source: io::Error } ("cannot start a pager") => "add --no-pager",
    PagerNotRun { command: String } ("cannot run the pager {command}")
        => "add --no-pager, or set PAGER to another program",
} }
