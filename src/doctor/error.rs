//! The faults that the checks of an installation find.

use super::timeout::CHECK_TIMEOUT;
use crate::error::failures;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

failures! { pub(super) enum DoctorError {
    NoTool { tool: &'static str, here: String } ("the shell cannot find {tool}")
        => "put {here} into PATH: export PATH={here}:\"$PATH\"",
    OtherTool { path: PathBuf, is: String, here: String } ("{path} is {is}")
        => "remove it, or put {here} before it: export PATH={here}:\"$PATH\"",
    NotInstalled { missing: &'static str } ("{missing}")
        => "install them with scripts/install, from the source of rsv or the archive of a release",
    ProxyAddress { at: String, source: io::Error } ("rsv-proxy cannot listen on {at}")
        => "rsv-config set reservoir_host 127.0.0.1",
    OtherProxy { is: String } ("rsv-proxy {is}") => "restart it",
    ProxyTrouble { at: String, trouble: String } ("rsv-proxy at {at} has trouble: {trouble}")
        => "rsv-proxy --check",
    PortTaken { at: String, by: String } ("{at} is taken by {by}")
        => "stop that program, or choose another port: rsv-config set reservoir_port PORT",
    Listen { address: SocketAddr, cause: String, help: String } ("cannot listen on {address}: {cause}")
        => "{help}",
    NoProvider ("no provider is set up; only asking a model needs one")
        => "start Ollama, or give the key of a provider: rsv-config set openai_api_key -",
    Key { address: String, status: u16, variable: String } ("{address} refused the key ({status})")
        => "check {variable}",
    Status { address: String, status: u16 } ("{address} answers {status}") => "try again later",
    NoModel { address: String, model: String } ("{address} has no {model}") => "ollama pull {model}",
    Late ("no answer within {CHECK_TIMEOUT:?}"),
    NotRead { path: PathBuf, load: String } ("{path} is not read")
        => "rsv-config set KEY VALUE, or load it in the shell: {load}",
    Damaged { address: String, fault: String } ("{address} is damaged{fault}"),
    Unreadable { error: String, commands: String }
        ("{error}; restore a backup, or stop the programs that use it and save what can be read")
        => "{commands}",
    NotWritable { path: PathBuf, nearest: String, fault: &'static str }
        ("cannot write to store sqlite:{path}: {nearest} {fault}")
        => "check the permissions of {nearest}, or name another store: rsv-config set store PATH",
    Public { path: PathBuf, quoted: String } ("others can read or change {path}") => "chmod go= {quoted}",
    Wanted { text: String, help: &'static str } ("{text}") => "{help}",
    OtherModel { stored: String, set: String } ("the store uses {stored}, but the model is set to {set}")
        => "rsv-embed --replay",
    Panicked ("reading the store panicked"),
} }
