//! Why a call of a tool failed, by its result: the line of it that names the error, and nothing else that it
//! returned.

use serde_json::Value;

/// The outcome of a call.
#[derive(Clone, Debug, Default)]
pub struct ToolOutcome {
    pub text: String,
    /// Whether it failed; none if only the text may say so.
    pub failed: Option<bool>,
}

/// The most characters of a text that is handed on: a store keeps fewer, after secrets were replaced.
const MAX_CHARS: usize = 4000;

/// The beginning of a text that is handed on.
pub(super) fn cut(text: &str) -> &str {
    text.char_indices().nth(MAX_CHARS).map_or(text, |(end, _)| &text[..end])
}

/// The kind of a tool's result, which decides what in it may tell of a failure.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Returned {
    /// The output of a command, and its exit status.
    Output,
    /// A report on a patch, and the exit status of what applied it.
    Report,
    /// Content of files or of the web, which may look like an error.
    Content,
}

/// The most lines of a result that are looked at.
const MAX_LINES: usize = 2000;
/// The beginning of a result that a program marks as an error.
const ERROR_TAG: &str = "<tool_use_error>";
/// The beginnings of the other results that are errors where no member says so, in lower case.
const ERRORS: [&str; 4] = ["error: ", "error\n", "failed to ", "apply_patch verification failed"];

/// Why a call failed, which is empty if nothing says so; none if it did not fail.
pub(super) fn error(outcome: &ToolOutcome, returned: Returned) -> Option<String> {
    let Output { text, status, is_error } = output(&outcome.text);
    let marked = is_error || text.trim_start().starts_with(ERROR_TAG);
    let status = status.or_else(|| exit_status(&text)).filter(|_| returned != Returned::Content);
    let begins_as_error = || {
        let text: String = text.trim_start().chars().take(40).collect::<String>().to_lowercase();
        returned != Returned::Content && ERRORS.iter().any(|begin| text.starts_with(begin))
    };
    let failed = outcome.failed.filter(|failed| *failed).or(status.map(|status| status != 0));
    if !failed.or(outcome.failed).unwrap_or_else(|| marked || begins_as_error()) {
        return None;
    }
    let own = |line: &&str| !line.trim().is_empty() && !is_about_run(line);
    let lines = text.lines().take(MAX_LINES).map(|line| line.strip_prefix("Output: ").unwrap_or(line));
    let mut lines = lines.filter(own);
    let found = if returned == Returned::Output && !marked { error_line(lines) } else { lines.next() };
    let of_status = || status.map(|status| format!("exit code {status}")).unwrap_or_default();
    Some(found.map_or_else(of_status, |line| cut(without_tags(line.trim())).to_owned()))
}

/// A result without what a program puts around it.
struct Output {
    text: String,
    status: Option<i64>,
    /// Whether it is marked as an error.
    is_error: bool,
}

/// Reads a result, of which Codex makes an object with the exit status, Gemini one with the output or the
/// error.
fn output(text: &str) -> Output {
    if text.starts_with('{')
        && let Ok(Value::Object(result)) = serde_json::from_str(text)
    {
        let member = |name: &str| result.get(name).and_then(Value::as_str);
        if let Some(output) = member("output") {
            let metadata = result.get("metadata");
            let status = metadata.and_then(|metadata| metadata.get("exit_code")).and_then(Value::as_i64);
            return Output { text: output.to_owned(), status, is_error: false };
        }
        if let (1, Some(error)) = (result.len(), member("error")) {
            return Output { text: format!("Error: {error}"), status: None, is_error: true };
        }
    }
    Output { text: text.to_owned(), status: None, is_error: false }
}

/// The beginnings of the lines that say how a command ended, before its exit status.
const STATUS_LINES: [&str; 4] =
    ["exit code: ", "exit code ", "process exited with code ", "command exited with code "];
/// The beginnings of the lines that a program writes before the output of a command, in lower case.
const RUN_LINES: [&str; 8] = [
    "exit code",
    "process exited",
    "command exited",
    "wall time",
    "chunk id",
    "output:",
    "total output lines",
    "original token count",
];
/// The beginnings of the result of a command of Gemini CLI, which has its exit status after the output.
const STATUS_AFTER: [&str; 2] = ["Command: ", "Output: "];
/// The beginnings of the other lines that it adds, in lower case.
const GEMINI_LINES: [&str; 6] =
    ["command: ", "directory: ", "signal: ", "background pids: ", "process group pgid: ", "error: (none)"];

/// The exit status that a line before the output names, or, of Gemini CLI, one after it.
fn exit_status(text: &str) -> Option<i64> {
    const TAIL_LINES: usize = 8;
    let status = |line: &str| {
        let line = line.trim().to_lowercase();
        STATUS_LINES.iter().find_map(|begin| line.strip_prefix(begin)?.trim().parse().ok())
    };
    if STATUS_AFTER.iter().any(|begin| text.starts_with(begin)) {
        return text.lines().rev().take(TAIL_LINES).find_map(status);
    }
    let is_head = |line: &&str| is_about_run(line) && line.trim() != "Output:";
    text.lines().take_while(is_head).find_map(status)
}

fn is_about_run(line: &str) -> bool {
    let line = line.trim().to_lowercase();
    let begins = |begins: &[&str]| begins.iter().any(|begin| line.starts_with(begin));
    // Output may follow on the line.
    let has_output = line.strip_prefix("output:").is_some_and(|output| !output.trim().is_empty());
    !has_output && (begins(&RUN_LINES) || begins(&GEMINI_LINES))
}

/// A line without the tags that Claude Code puts around an error.
fn without_tags(line: &str) -> &str {
    line.trim_start_matches(ERROR_TAG).trim_end_matches("</tool_use_error>").trim()
}

/// The beginnings of the lines of a command's output that tell of its progress, or repeat a command.
const PROGRESS: [&str; 12] = [
    "Compiling ",
    "Checking ",
    "Downloading ",
    "Downloaded ",
    "Updating ",
    "Installing ",
    "Building ",
    "Finished ",
    "Running ",
    "> ",
    "$ ",
    "+ ",
];
/// The first words of lines that are an error.
const FIRST_WORDS: [&str; 5] = ["error", "fatal", "FAIL", "FAILED", "E"];
/// The words of other lines that tell of one, in lower case.
const ERROR_WORDS: [&str; 19] = [
    "error",
    "errors",
    "fatal",
    "fail",
    "fails",
    "failed",
    "failing",
    "failure",
    "failures",
    "panic",
    "panics",
    "panicked",
    "exception",
    "exceptions",
    "denied",
    "cannot",
    "can't",
    "refused",
    "unknown",
];
/// Words that follow each other in such lines.
const ERROR_PHRASES: [[&str; 2]; 3] = [["not", "found"], ["no", "such"], ["timed", "out"]];

/// The line of a command's output that names its error: the first that begins as one, else the first with a
/// word of one.
fn error_line<'a>(lines: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (mut other, mut in_traceback) = (None, false);
    for line in lines {
        let trimmed = line.trim();
        if PROGRESS.iter().any(|begin| trimmed.starts_with(begin)) {
            continue;
        }
        if trimmed.starts_with("Traceback (most recent call last)") {
            in_traceback = true;
            continue;
        }
        // The frames are indented, the error is not.
        if in_traceback && line.starts_with(char::is_whitespace) {
            continue;
        }
        if in_traceback || begins_as_error(trimmed) {
            return Some(line);
        }
        if other.is_none() && has_error_word(trimmed) {
            other = Some(line);
        }
    }
    other
}

fn begins_as_error(line: &str) -> bool {
    let Some(first) = line.split_whitespace().next() else { return false };
    // Lines that pytest marks are indented after the mark.
    let is_marked = || first != "E" || line.starts_with("E   ");
    let word = first.split([':', '[', '(']).next().unwrap_or_default();
    let is_first_word = FIRST_WORDS
        .iter()
        .any(|begin| word == *begin || *begin == begin.to_lowercase() && word.eq_ignore_ascii_case(begin));
    is_first_word && is_marked() || line.contains(" panicked at ") || first.ends_with(':') && is_type(word)
}

/// Whether a word is the name of a type of errors, as `KeyError` and `java.io.IOException`.
fn is_type(word: &str) -> bool {
    ["Error", "Exception"].iter().any(|end| word.len() > end.len() && word.ends_with(end))
}

/// Whether a line tells of an error, unless of none.
fn has_error_word(line: &str) -> bool {
    let is_between = |c: char| c.is_whitespace() || "\"`()[]{}<>,;:=*!|".contains(c);
    let words = line.split(is_between).map(|word| word.trim_matches(['.', '\'', '?']));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let is_error = |at: usize| {
        let of_none = at > 0 && ["0", "no", "without"].contains(&lower[at - 1].as_str());
        !of_none && (ERROR_WORDS.contains(&lower[at].as_str()) || is_type(words[at]))
    };
    (0..words.len()).any(is_error)
        || lower.windows(2).any(|two| ERROR_PHRASES.iter().any(|phrase| two == phrase))
}

#[cfg(test)]
mod tests {
    use super::super::actions::{CalledTool, action};
    use super::*;

    /// The error of a call of a program.
    fn error_of(tool: &str, arguments: &str, text: &str, failed: Option<bool>) -> Option<String> {
        let called = CalledTool { id: "c".into(), name: tool.into(), arguments: arguments.into() };
        action(None, &called, Some(&ToolOutcome { text: text.into(), failed })).unwrap().error
    }

    #[test]
    fn a_failure_is_told_by_its_first_line_and_never_by_what_a_tool_returned() {
        let command = r#"{"command":"x"}"#;
        let path = r#"{"file_path":"a"}"#;
        let codex = r#"{"output":"Compiling\nerror: no\n","metadata":{"exit_code":101}}"#;
        for (tool, arguments, result, failed, wanted) in [
            ("Bash", command, "all of it", Some(false), None),
            ("Bash", command, "all of it", None, None),
            (
                "Bash",
                command,
                "Exit code 1\nCompiling a\nerror[E1]: b\nmore",
                Some(true),
                Some("error[E1]: b"),
            ),
            ("Bash", command, "Exit code 1\npassword of a file\nmore", Some(true), Some("exit code 1")),
            ("Bash", command, "password of a file", Some(true), Some("")),
            (
                "Edit",
                path,
                "<tool_use_error>String to replace not found</tool_use_error>",
                Some(true),
                Some("String to replace not found"),
            ),
            // The result of a tool for files is not looked at, unless it is marked.
            ("Read", path, "Error: is what the file says", None, None),
            ("Read", path, "Exit code: 3\nprivate line", None, None),
            ("Read", path, "<tool_use_error>No such file</tool_use_error>", None, Some("No such file")),
            ("Read", path, r#"{"error":"no such file"}"#, None, Some("Error: no such file")),
            ("Read", path, r#"{"error":"x","path":"a"}"#, None, None),
            ("Grep", r#"{"pattern":"x"}"#, "failed to parse", None, None),
            (
                "apply_patch",
                "*** Begin Patch",
                "Exit code: 1\nOutput:\nFailed to find it",
                None,
                Some("Failed to find it"),
            ),
            // Gemini CLI.
            (
                "run_shell_command",
                command,
                "Output: error: no\nExit Code: 2\nSignal: 1",
                Some(false),
                Some("error: no"),
            ),
            (
                "run_shell_command",
                command,
                "Command: x\nOutput: exit code: 3\nError: (none)\nExit Code: 2",
                None,
                Some("exit code 2"),
            ),
            ("run_shell_command", command, "Output: exit code: 3\nExit Code: 0", None, None),
            ("Bash", command, "a file\nExit code: 3", None, None),
            ("Read", path, "Error: is what the file says", Some(false), None),
            ("shell", command, codex, None, Some("error: no")),
            ("shell", command, r#"{"output":"error","metadata":{"exit_code":0}}"#, None, None),
            (
                "exec_command",
                command,
                "Chunk ID: a\nWall time: 1 s\nProcess exited with code 2\nOutput:\nmake: *** Error 2",
                None,
                Some("make: *** Error 2"),
            ),
            (
                "exec_command",
                command,
                "Wall time: 1 s\nProcess exited with code 0\nOutput:\nerror",
                None,
                None,
            ),
            ("shell_command", command, "Exit code: 0\nOutput:\nExit code: 3", None, None),
        ] {
            assert_eq!(error_of(tool, arguments, result, failed).as_deref(), wanted, "{result}");
        }
    }

    #[test]
    fn the_error_of_a_command_is_the_line_that_names_it() {
        for (output, wanted) in [
            (
                "   Compiling thiserror v2.0.3\nChecking error-chain v1\nerror[E0308]: mismatched types",
                "error[E0308]: mismatched types",
            ),
            ("> jest --verbose-errors\nFAIL src/a.test.js\n1 failed", "FAIL src/a.test.js"),
            ("+ grep error log\n$ make errors\nmake: *** [all] Error 2", "make: *** [all] Error 2"),
            ("warning: an error may follow\nfatal: not a git repository", "fatal: not a git repository"),
            (
                "Traceback (most recent call last):\n  File \"a.py\", line 1\n    raise error\nKeyError: 'zebra'",
                "KeyError: 'zebra'",
            ),
            ("    def test():\nE       assert 1 == 2\n1 failed", "E       assert 1 == 2"),
            ("running 1 test\nthread 'a' panicked at src/a.rs:1:1:", "thread 'a' panicked at src/a.rs:1:1:"),
            ("5 passed; 0 failed\nno errors\nsh: x: command not found", "sh: x: command not found"),
            ("src/error.rs\nthiserror --verbose-errors\nterrors", "exit code 1"),
            ("java.io.IOException: no\nmore", "java.io.IOException: no"),
        ] {
            let text = format!("Exit code 1\n{output}");
            let found = error_of("Bash", r#"{"command":"x"}"#, &text, Some(true));
            assert_eq!(found.as_deref(), Some(wanted), "{output}");
        }
    }
}
