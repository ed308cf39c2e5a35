//! The tools of coding agents, and the members of their arguments that say what they were called for.

/// The members of a tool's arguments, by their meaning: the first that it has counts.
#[derive(Clone, Copy)]
pub(super) enum Takes {
    Command(&'static [&'static str]),
    Paths(&'static [&'static str]),
    Pattern(&'static [&'static str]),
    Query(&'static [&'static str]),
    /// A patch in the format of Codex, or a unified diff.
    Patch(&'static [&'static str]),
    Nothing,
}

const COMMANDS: &[&str] = &["command", "cmd", "script"];
const FILES: &[&str] = &[
    "file_path",
    "filePath",
    "path",
    "notebook_path",
    "absolute_path",
    "paths",
    "include",
    "dir_path",
    "directory",
    "target_file",
    "filename",
];
const PATTERNS: &[&str] = &["pattern", "regex"];
const QUERIES: &[&str] = &["query", "url", "description", "prompt", "skill"];
const PATCHES: &[&str] = &["input", "patch", "patchText", "diff"];

/// The tools of Claude Code, Codex, opencode, Gemini CLI, Qwen Code, Goose and Cline, by their names in lower
/// case.
const TOOLS: [(&str, Takes); 64] = [
    ("bash", Takes::Command(COMMANDS)),
    ("shell", Takes::Command(COMMANDS)),
    ("local_shell", Takes::Command(COMMANDS)),
    ("local_shell_call", Takes::Command(COMMANDS)),
    ("shell_command", Takes::Command(COMMANDS)),
    ("container.exec", Takes::Command(COMMANDS)),
    ("exec_command", Takes::Command(COMMANDS)),
    ("unified_exec", Takes::Command(COMMANDS)),
    ("run_shell_command", Takes::Command(COMMANDS)),
    ("execute_command", Takes::Command(COMMANDS)),
    ("developer__shell", Takes::Command(COMMANDS)),
    ("powershell", Takes::Command(COMMANDS)),
    ("slashcommand", Takes::Command(COMMANDS)),
    ("read", Takes::Paths(FILES)),
    ("edit", Takes::Paths(FILES)),
    ("multiedit", Takes::Paths(FILES)),
    ("write", Takes::Paths(FILES)),
    ("notebookread", Takes::Paths(FILES)),
    ("notebookedit", Takes::Paths(FILES)),
    ("ls", Takes::Paths(FILES)),
    ("list", Takes::Paths(FILES)),
    ("list_dir", Takes::Paths(FILES)),
    ("list_directory", Takes::Paths(FILES)),
    ("list_files", Takes::Paths(FILES)),
    ("view_image", Takes::Paths(FILES)),
    ("read_file", Takes::Paths(FILES)),
    ("read_many_files", Takes::Paths(FILES)),
    ("write_file", Takes::Paths(FILES)),
    ("write_to_file", Takes::Paths(FILES)),
    ("replace", Takes::Paths(FILES)),
    ("replace_in_file", Takes::Paths(FILES)),
    ("developer__text_editor", Takes::Paths(FILES)),
    ("str_replace_editor", Takes::Paths(FILES)),
    ("str_replace_based_edit_tool", Takes::Paths(FILES)),
    ("create_file", Takes::Paths(FILES)),
    ("delete_file", Takes::Paths(FILES)),
    ("grep", Takes::Pattern(PATTERNS)),
    ("glob", Takes::Pattern(PATTERNS)),
    ("grep_files", Takes::Pattern(PATTERNS)),
    ("grep_search", Takes::Pattern(PATTERNS)),
    ("search_file_content", Takes::Pattern(PATTERNS)),
    ("search_files", Takes::Pattern(PATTERNS)),
    ("task", Takes::Query(&["description", "prompt"])),
    ("agent", Takes::Query(&["description", "prompt"])),
    ("spawn_agent", Takes::Query(&["description", "message", "prompt"])),
    ("webfetch", Takes::Query(&["url", "prompt"])),
    ("web_fetch", Takes::Query(&["url", "prompt"])),
    ("websearch", Takes::Query(QUERIES)),
    ("web_search", Takes::Query(QUERIES)),
    ("google_web_search", Takes::Query(QUERIES)),
    ("skill", Takes::Query(&["skill", "command", "name"])),
    ("toolsearch", Takes::Query(QUERIES)),
    ("apply_patch", Takes::Patch(PATCHES)),
    ("patch", Takes::Patch(PATCHES)),
    ("todowrite", Takes::Nothing),
    ("todoread", Takes::Nothing),
    ("todo_write", Takes::Nothing),
    ("write_todos", Takes::Nothing),
    ("update_plan", Takes::Nothing),
    ("exitplanmode", Takes::Nothing),
    ("bashoutput", Takes::Nothing),
    ("killshell", Takes::Nothing),
    ("write_stdin", Takes::Nothing),
    ("save_memory", Takes::Nothing),
];

/// The members of unknown tools: the first of these that there is.
pub(super) const UNKNOWN: [Takes; 4] = [
    Takes::Command(COMMANDS),
    Takes::Paths(FILES),
    Takes::Pattern(PATTERNS),
    Takes::Query(&["query", "url"]),
];

/// The members of a known tool.
pub(super) fn takes(name: &str) -> Option<Takes> {
    let name = name.to_ascii_lowercase();
    let row = |name: &str| TOOLS.into_iter().find(|(known, _)| *known == name).map(|(_, takes)| takes);
    row(&name).or_else(|| row(name.rsplit_once('.')?.1))
}
