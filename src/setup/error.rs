//! The faults of a setup.

use crate::error::failures;

failures! { pub(super) enum SetupError {
    NoSystemctl ("there is no systemctl"),
    NoHome ("HOME is not set"),
    Command { command: String } ("{command} failed") => "to see why, run: {command}",
    /// A client's file cannot be changed.
    File { fault: String } ("{fault}"),
    Key ("a key was given in place of the name of a model")
        => "name the model; a key is read by: rsv-config set openai_api_key -",
    NoModel ("the name of the model is empty") => "leave out --model to set none",
    Model { name: String } ("{name:?} is not the name of a model")
        => "give one that your provider lists, such as llama3.2",
    ModelSet { other: String } ("model is already set to {other}") => "give --force to overwrite it",
    NoFiles { of: String } ("--import: there are no files of {of}") => "rsv-import --find lists what there is",
    NoTerminal ("cannot ask for the settings: standard input and output must be terminals")
        => "rsv-config init --model MODEL --fetch, or rsv-config init --yes for all defaults",
    NotListed { name: String, known: String } ("{name:?} is not in the list")
        => "answer y, n, or some of: {known}",
    NotAKey ("what was typed is not a key"),
} }
