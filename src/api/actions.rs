//! Actions from the calls of tools: what a tool was called with, how many lines it changed, and why it
//! failed. The output of the tool, and the contents of files, are not part of them.

use super::agent_tools::{Takes, UNKNOWN, takes};
use super::tool_errors::{Returned, ToolOutcome, cut, error};
use crate::record::{Action, MAX_CALL_BYTES, Purpose};
use serde_json::Value;

/// A call of a tool.
#[derive(Clone, Debug, Default)]
pub struct CalledTool {
    pub id: String,
    pub name: String,
    /// JSON text of an object, or a text for a tool that takes one.
    pub arguments: String,
}

/// The action of a call and of what came of it, none if nothing did; none of a call without a name, or
/// without an id that can be stored. `program` made the call.
pub fn action(program: Option<&str>, called: &CalledTool, outcome: Option<&ToolOutcome>) -> Option<Action> {
    if called.id.is_empty() || called.id.len() > MAX_CALL_BYTES || called.name.is_empty() {
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
    let by_command = matches!(purpose, Some(Purpose::Command(_)));
    if let Some(patch) = patch_of(known, &arguments, purpose.as_ref()) {
        (purpose, lines) = (Some(Purpose::Paths(patched_files(&patch))), Some(patched_lines(&patch)));
    }
    let returned = match (known, &purpose) {
        (_, Some(Purpose::Command(_))) => Returned::Output,
        (Some(Takes::Patch(_)), _) => Returned::Report,
        _ if by_command => Returned::Output,
        _ => Returned::Content,
    };
    let error = outcome.and_then(|outcome| error(outcome, returned));
    Some(Action {
        call: called.id.clone(),
        tool: cut(&called.name).to_owned(),
        program: program.map(str::to_owned),
        purpose: purpose.and_then(bounded),
        // Nothing was changed by a call that failed, nor, as far as anybody knows, by one that was
        // interrupted.
        lines: lines.filter(|_| outcome.is_some() && error.is_none()),
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

/// A purpose with texts that are not too long; none of a command that only is the content of a file.
fn bounded(purpose: Purpose) -> Option<Purpose> {
    Some(match purpose {
        // The rest may be the content of a file.
        Purpose::Command(text) => {
            let text = cut(text.split("<<").next().unwrap_or_default()).trim_end();
            return (!text.is_empty()).then(|| Purpose::Command(text.to_owned()));
        }
        Purpose::Paths(paths) => Purpose::Paths(paths.iter().map(|path| cut(path).to_owned()).collect()),
        Purpose::Pattern(text) => Purpose::Pattern(cut(&text).to_owned()),
        Purpose::Query(text) => Purpose::Query(cut(&text).to_owned()),
    })
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
            ("Bash", r#"{"command":"<<'EOF' cat\nsecret\nEOF"}"#, "{}"),
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
            assert_eq!(line(tool, arguments, Some(("", Some(false)))), wanted, "{tool} {arguments}");
        }
    }

    #[test]
    fn a_call_without_an_id_of_200_bytes_is_no_action() {
        for id in ["", &"x".repeat(201)] {
            let called = CalledTool { id: id.into(), name: "Bash".into(), arguments: String::new() };
            assert_eq!(action(None, &called, None), None);
        }
    }

    #[test]
    fn lines_are_those_of_a_change_that_is_known_to_have_happened() {
        let edit = r#"{"file_path":"a","old_string":"x","new_string":"y"}"#;
        for (outcome, changed) in [
            (None, false),
            (Some(("", Some(false))), true),
            (Some(("The file a has been updated.", None)), true),
            (Some(("No.", Some(true))), false),
        ] {
            let line = line("Edit", edit, outcome);
            assert_eq!(line.contains("\"lines\""), changed, "{line}");
        }
    }
}
