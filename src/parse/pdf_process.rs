//! Reads PDFs in a process of their own, with bounded memory and time.

use super::outline::Extract;
use super::pdf;
use crate::error::{Context, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

/// The most memory, in bytes, and the longest time of a processor, in seconds, of a process that prints the
/// text of files.
const MEMORY_BYTES: u64 = 2 << 30;
const CPU_SECONDS: u64 = 60;
/// The longest text, in bytes.
const MAX_TEXT_BYTES: u64 = 64 << 20;

/// Bounds this process. Fails if the system refuses.
pub(super) fn limit_resources() -> Result<()> {
    for (resource, limit) in [(Resource::As, MEMORY_BYTES), (Resource::Cpu, CPU_SECONDS)] {
        let maximum = getrlimit(resource).maximum;
        let limit = maximum.map_or(limit, |maximum| maximum.min(limit));
        setrlimit(resource, Rlimit { current: Some(limit), maximum }).context("cannot limit the process")?;
    }
    Ok(())
}

/// Reads a PDF by a command that reads it from standard input and prints its text. Fails if it cannot be
/// started, ends with an error, or exceeds its limits.
pub(super) fn extract(command: &[OsString], bytes: &[u8]) -> std::result::Result<Extract, String> {
    let failed = |error: std::io::Error| format!("its parser cannot be started: {error}");
    let (program, words) = command.split_first().ok_or("its parser is not named")?;
    let mut child = Command::new(program);
    child.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().map_err(failed)?;
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let mut text = Vec::new();
    std::thread::scope(|scope| {
        // A parser need not read all.
        scope.spawn(|| input.map(|mut input| input.write_all(bytes)));
        if let Some(output) = output {
            let _ = output.take(MAX_TEXT_BYTES).read_to_end(&mut text);
        }
    });
    let output = child.wait_with_output().map_err(failed)?;
    if output.status.success() {
        return Ok(pdf::from_pages(&String::from_utf8_lossy(&text)));
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let reason = words.lines().find_map(|line| line.split_once("cannot read <stdin>: "));
    Err(match (reason, output.status.code()) {
        (Some((_, reason)), _) => reason.to_owned(),
        (None, Some(_)) => "its parser failed".to_owned(),
        (None, None) => format!("its parser needs more than {CPU_SECONDS} s or {} GiB", MEMORY_BYTES >> 30),
    })
}
