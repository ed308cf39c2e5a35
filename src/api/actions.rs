//! Actions from the calls of tools: what a tool was called with, how many lines it changed, and why it failed. What it
//! returned, and the contents of files, have no part in them.

use super::agent_tools::{Takes, UNKNOWN, takes};
use crate::record::{Action, Purpose};
use serde_json::Value;

/// A call of a tool.
#[derive(Clone, Debug, Default)]
pub struct CalledTool {
    pub id: String,
    pub name: String,
    /// JSON text of an object, or a text for a tool that takes one.
    pub arguments: String,
}

/// What came of a call.
#[derive(Clone, Debug, Default)]
pub struct ToolOutcome {
    pub text: String,
    /// Whether it failed; none if only the text may say so.
    pub failed: Option<bool>,
}

/// The most characters of a text that is handed on: a store keeps fewer, after secrets were replaced.
const MAX_CHARS: usize = 4000;

/// The action of a call and of what came of it; none of a call without an id or a name. `program` made the call.
pub fn action(program: Option<&str>, called: &CalledTool, outcome: Option<&ToolOutcome>) -> Option<Action> {
    if called.id.is_empty() || called.name.is_empty() {
        return None;
    }
    let arguments = match serde_json::from_str(&called.arguments) {
        Ok(Value::Object(members)) => Value::Object(members),
        // Tools of one text.
        Ok(Value::String(text)) => serde_json::json!({ "input": text }),
        _ => serde_json::json!({ "input": called.arguments }),
    };
    let known = takes(&called.name);
    let (mut purpose, mut lines) = match known {
        Some(takes) => (taken(takes, &arguments), changed_lines(&arguments)),
        None => (UNKNOWN.into_iter().find_map(|takes| taken(takes, &arguments)), None),
    };
    if let Some(patch) = patch_of(known, &arguments, purpose.as_ref()) {
        (purpose, lines) = (Some(Purpose::Paths(patched_files(&patch))), Some(patched_lines(&patch)));
    }
    let is_command = matches!(purpose, Some(Purpose::Command(_)));
    let error = outcome.and_then(|outcome| error(outcome, is_command));
    Some(Action {
        call: called.id.clone(),
        tool: called.name.clone(),
        program: program.map(str::to_owned),
        purpose: purpose.map(bounded),
        // Nothing was changed by a call that failed.
        lines: lines.filter(|_| error.is_none()),
        error,
    })
}

fn taken(takes: Takes, arguments: &Value) -> Option<Purpose> {
    let first = |members: &[&str]| members.iter().find_map(|member| texts(arguments.get(member)?));
    match takes {
        Takes::Command(members) => Some(Purpose::Command(command(&first(members)?))),
        Takes::Paths(members) => first(members).map(Purpose::Paths),
        Takes::Pattern(members) => Some(Purpose::Pattern(first(members)?.join(" "))),
        Takes::Query(members) => Some(Purpose::Query(first(members)?.join(" "))),
        Takes::Patch(_) | Takes::Nothing => None,
    }
}

/// The texts of a member that is one, or a list of them; none if there are none.
fn texts(value: &Value) -> Option<Vec<String>> {
    let texts: Vec<String> = match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(values) => values.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    };
    Some(texts).filter(|texts| texts.iter().any(|text| !text.trim().is_empty()))
}

/// The command of the words of one: without the shell that is called with it.
fn command(words: &[String]) -> String {
    match words {
        [shell, option, command] if option.starts_with('-') && option.ends_with('c') && is_shell(shell) => {
            command.clone()
        }
        words => words.join(" "),
    }
}

fn is_shell(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or_default();
    ["sh", "bash", "zsh", "dash"].contains(&name)
}

/// The beginning of a patch of Codex.
const PATCH: &str = "*** Begin Patch";

/// The patch that a call applies, by a tool for it or by a command.
fn patch_of(takes: Option<Takes>, arguments: &Value, purpose: Option<&Purpose>) -> Option<String> {
    match (takes, purpose) {
        (Some(Takes::Patch(members)), _) => {
            members.iter().find_map(|member| arguments.get(member)?.as_str().map(str::to_owned))
        }
        (_, Some(Purpose::Command(command))) => {
            let begin = command.find(PATCH).filter(|_| command.contains("apply_patch"))?;
            Some(command[begin..].to_owned())
        }
        _ => None,
    }
}

/// The beginnings of the lines of a patch that name a file.
const PATCHED_FILES: [&str; 5] =
    ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: ", "+++ b/"];

fn patched_files(patch: &str) -> Vec<String> {
    let name =
        |line: &str| PATCHED_FILES.iter().find_map(|begin| line.strip_prefix(begin).map(str::to_owned));
    patch.lines().filter_map(name).collect()
}

/// The lines that a patch adds and removes.
fn patched_lines(patch: &str) -> u64 {
    let is_change =
        |line: &&str| line.starts_with(['+', '-']) && !line.starts_with("+++ ") && !line.starts_with("--- ");
    patch.lines().filter(is_change).count() as u64
}

/// The members with the text before and after an edit, as programs name them.
const BEFORE: [&str; 4] = ["old_string", "oldString", "old_str", "old_text"];
const AFTER: [&str; 4] = ["new_string", "newString", "new_str", "new_text"];
/// The members with the whole content of a file.
const CONTENTS: [&str; 3] = ["content", "file_text", "new_source"];

/// The lines that a call adds to files and removes from them; none of a call that changes no file.
fn changed_lines(arguments: &Value) -> Option<u64> {
    let text = |members: &[&str], of: &Value| {
        members.iter().find_map(|member| of.get(member)?.as_str().map(str::to_owned))
    };
    if let Some(edits) = arguments.get("edits").and_then(Value::as_array) {
        return Some(edits.iter().filter_map(changed_lines).sum());
    }
    match (text(&BEFORE, arguments), text(&AFTER, arguments)) {
        (None, None) => text(&CONTENTS, arguments).map(|content| content.lines().count() as u64),
        (before, after) => Some(edited_lines(&before.unwrap_or_default(), &after.unwrap_or_default())),
    }
}

/// The lines of two texts, without those at the beginning and the end that they have in common.
fn edited_lines(before: &str, after: &str) -> u64 {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let first = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
    let (before, after) = (&before[first..], &after[first..]);
    let last = before.iter().rev().zip(after.iter().rev()).take_while(|(one, other)| one == other).count();
    (before.len() + after.len() - 2 * last) as u64
}

/// The beginnings of the lines that say how a command ended, before its exit status.
const STATUS_LINES: [&str; 4] =
    ["exit code: ", "exit code ", "process exited with code ", "command exited with code "];
/// The words of a line of output that is an error; the output of a command that failed has others too.
const ERROR_WORDS: [&str; 14] = [
    "error",
    "fatal",
    "failed",
    "failure",
    "panicked",
    "exception",
    "not found",
    "no such",
    "denied",
    "cannot",
    "can't",
    "refused",
    "timed out",
    "unknown",
];
/// The beginnings of a result that is an error, where no member says so.
const ERRORS: [&str; 4] = ["Error: ", "Error\n", "<tool_use_error>", "failed to "];
/// The most lines of a result that are looked at.
const MAX_LINES: usize = 2000;

/// Why a call failed; none if it did not.
fn error(outcome: &ToolOutcome, is_command: bool) -> Option<String> {
    let (text, inner_status) = output(&outcome.text);
    let status = inner_status.or_else(|| exit_status(&text));
    let begins_as_error = || ERRORS.iter().any(|begin| text.trim_start().starts_with(begin));
    let failed = outcome.failed.filter(|failed| *failed).or(status.map(|status| status != 0));
    if !failed.or(outcome.failed).unwrap_or_else(begins_as_error) {
        return None;
    }
    let own = |line: &&str| !line.is_empty() && !is_about_run(line);
    let mut lines = text.lines().take(MAX_LINES).map(|line| without_tags(line.trim())).filter(own);
    let is_error = |line: &str| {
        let line = line.to_lowercase();
        ERROR_WORDS.iter().any(|word| line.contains(word))
    };
    let found = if is_command { lines.find(|line| is_error(line)) } else { lines.next() };
    let of_status = || status.map(|status| format!("exit code {status}")).unwrap_or_default();
    Some(found.map_or_else(of_status, |line| cut(line).to_owned()))
}

/// The text of a result, of which Codex makes an object with the exit status, Gemini one with the output or the error.
fn output(text: &str) -> (String, Option<i64>) {
    if text.starts_with('{')
        && let Ok(Value::Object(result)) = serde_json::from_str(text)
    {
        let member = |name: &str| result.get(name).and_then(Value::as_str);
        if let Some(output) = member("output") {
            let metadata = result.get("metadata");
            let status = metadata.and_then(|metadata| metadata.get("exit_code")).and_then(Value::as_i64);
            return (output.to_owned(), status);
        }
        if let (1, Some(error)) = (result.len(), member("error")) {
            return (format!("Error: {error}"), None);
        }
    }
    (text.to_owned(), None)
}

/// The exit status that one of the first lines names.
fn exit_status(text: &str) -> Option<i64> {
    const HEAD_LINES: usize = 6;
    text.lines().take(HEAD_LINES).take_while(|line| line.trim() != "Output:").find_map(|line| {
        let line = line.trim().to_lowercase();
        STATUS_LINES.iter().find_map(|begin| line.strip_prefix(begin)?.trim().parse().ok())
    })
}

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

fn is_about_run(line: &str) -> bool {
    let line = line.to_lowercase();
    RUN_LINES.iter().any(|begin| line.starts_with(begin))
}

/// A line without the tags that Claude Code puts around an error.
fn without_tags(line: &str) -> &str {
    line.trim_start_matches("<tool_use_error>").trim_end_matches("</tool_use_error>").trim()
}

fn bounded(purpose: Purpose) -> Purpose {
    match purpose {
        // What follows may be the content of a file.
        Purpose::Command(text) => {
            Purpose::Command(cut(text.split("<<").next().unwrap_or_default()).trim_end().to_owned())
        }
        Purpose::Paths(paths) => Purpose::Paths(paths.iter().map(|path| cut(path).to_owned()).collect()),
        Purpose::Pattern(text) => Purpose::Pattern(cut(&text).to_owned()),
        Purpose::Query(text) => Purpose::Query(cut(&text).to_owned()),
    }
}

fn cut(text: &str) -> &str {
    text.char_indices().nth(MAX_CHARS).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line of a call of a program, without the members that all have.
    fn line(tool: &str, arguments: &str, outcome: Option<(&str, Option<bool>)>) -> String {
        let called = CalledTool { id: "c".into(), name: tool.into(), arguments: arguments.into() };
        let outcome = outcome.map(|(text, failed)| ToolOutcome { text: text.into(), failed });
        let mut line = action(None, &called, outcome.as_ref()).unwrap().to_line();
        line.retain(|name| !["kind", "call", "tool"].contains(&name));
        line.to_json()
    }

    #[test]
    fn a_call_is_told_by_its_tool_and_its_arguments() {
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-old\n+new\n+more\n*** Add File: b\n+x\n*** End Patch";
        let by_command = format!("apply_patch <<'EOF'\n{patch}\nEOF");
        let text = |text: &str| serde_json::to_string(text).unwrap();
        for (tool, arguments, wanted) in [
            // Claude Code.
            ("Bash", r#"{"command":"cargo test","description":"Run"}"#, r#"{"command":"cargo test"}"#),
            ("Bash", r#"{"command":"cat > a <<'EOF'\nsecret\nEOF"}"#, r#"{"command":"cat > a"}"#),
            ("Read", r#"{"file_path":"/a/b.rs","offset":3}"#, r#"{"paths":["/a/b.rs"]}"#),
            (
                "Edit",
                r#"{"file_path":"/a","old_string":"x\ny\nz","new_string":"x\nY\nz"}"#,
                r#"{"paths":["/a"],"lines":2}"#,
            ),
            ("Write", r#"{"file_path":"/a","content":"1\n2\n3\n"}"#, r#"{"paths":["/a"],"lines":3}"#),
            (
                "MultiEdit",
                r#"{"file_path":"/a","edits":[{"old_string":"a","new_string":"b"},{"old_string":"","new_string":"c"}]}"#,
                r#"{"paths":["/a"],"lines":3}"#,
            ),
            ("Grep", r#"{"pattern":"fn main","path":"src"}"#, r#"{"pattern":"fn main"}"#),
            ("Glob", r#"{"pattern":"**/*.rs"}"#, r#"{"pattern":"**/*.rs"}"#),
            ("Task", r#"{"description":"Find it","prompt":"long"}"#, r#"{"query":"Find it"}"#),
            ("WebFetch", r#"{"url":"https://a.example","prompt":"p"}"#, r#"{"query":"https://a.example"}"#),
            ("TodoWrite", r#"{"todos":[{"content":"x"}]}"#, "{}"),
            // Codex.
            ("shell", r#"{"command":["bash","-lc","ls -l"],"workdir":"/a"}"#, r#"{"command":"ls -l"}"#),
            ("shell", r#"{"command":["rg","-n","x"]}"#, r#"{"command":"rg -n x"}"#),
            ("exec_command", r#"{"cmd":"make"}"#, r#"{"command":"make"}"#),
            ("functions.exec_command", r#"{"cmd":"make"}"#, r#"{"command":"make"}"#),
            ("apply_patch", &text(patch), r#"{"paths":["src/a.rs","b"],"lines":4}"#),
            ("apply_patch", patch, r#"{"paths":["src/a.rs","b"],"lines":4}"#),
            (
                "shell",
                &format!("{{\"command\":[\"bash\",\"-lc\",{}]}}", text(&by_command)),
                r#"{"paths":["src/a.rs","b"],"lines":4}"#,
            ),
            ("update_plan", r#"{"plan":[]}"#, "{}"),
            // opencode and Gemini CLI.
            ("edit", r#"{"filePath":"a","oldString":"x","newString":""}"#, r#"{"paths":["a"],"lines":1}"#),
            ("run_shell_command", r#"{"command":"ls","dir_path":"."}"#, r#"{"command":"ls"}"#),
            ("read_many_files", r#"{"include":["a","b"]}"#, r#"{"paths":["a","b"]}"#),
            (
                "replace",
                r#"{"file_path":"a","old_string":"x","new_string":"y"}"#,
                r#"{"paths":["a"],"lines":2}"#,
            ),
            ("google_web_search", r#"{"query":"owls"}"#, r#"{"query":"owls"}"#),
            // Others.
            ("mcp__x__run", r#"{"cmd":"ls","path":"a"}"#, r#"{"command":"ls"}"#),
            ("mcp__x__open", r#"{"path":"a","content":"never"}"#, r#"{"paths":["a"]}"#),
            ("mcp__x__get", r#"{"url":"https://a.example"}"#, r#"{"query":"https://a.example"}"#),
            ("other", r#"{"content":"never"}"#, "{}"),
            ("other", "not JSON", "{}"),
            ("Bash", r#"{"command":7}"#, "{}"),
        ] {
            assert_eq!(line(tool, arguments, None), wanted, "{tool} {arguments}");
        }
        assert_eq!(action(None, &CalledTool { name: "Bash".into(), ..CalledTool::default() }, None), None);
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
            ("Read", path, "Error: no such file\nmore", None, Some("Error: no such file")),
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
            let wanted = wanted.map(|error| match error {
                "" => r#""failed":true}"#.to_owned(),
                error => format!(r#""failed":true,"error":{}}}"#, serde_json::to_string(error).unwrap()),
            });
            let found = line(tool, arguments, Some((result, failed)));
            match wanted {
                Some(wanted) => assert!(found.ends_with(&wanted), "{result}: {found}"),
                None => assert!(!found.contains("failed"), "{result}: {found}"),
            }
        }
    }
}
