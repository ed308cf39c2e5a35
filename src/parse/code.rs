//! Source code: its definitions at the top, at which a long file is split.
//!
//! A parser for each language (tree-sitter's are a megabyte each) would find more, but where a file is cut
//! matters little: a line that is not recognized stays with the definition before it.

use super::outline::{Breaks, Extract, Heading};
use std::path::Path;

/// The languages that are known by the ends of names.
const LANGUAGES: [(&str, &str); 66] = [
    ("rs", "rust"),
    ("py", "python"),
    ("pyi", "python"),
    ("js", "javascript"),
    ("mjs", "javascript"),
    ("cjs", "javascript"),
    ("jsx", "javascript"),
    ("ts", "typescript"),
    ("tsx", "typescript"),
    ("go", "go"),
    ("c", "c"),
    ("h", "c"),
    ("cc", "c++"),
    ("cpp", "c++"),
    ("cxx", "c++"),
    ("hpp", "c++"),
    ("hh", "c++"),
    ("java", "java"),
    ("kt", "kotlin"),
    ("kts", "kotlin"),
    ("scala", "scala"),
    ("swift", "swift"),
    ("cs", "csharp"),
    ("fs", "fsharp"),
    ("rb", "ruby"),
    ("php", "php"),
    ("pl", "perl"),
    ("pm", "perl"),
    ("lua", "lua"),
    ("r", "r"),
    ("jl", "julia"),
    ("dart", "dart"),
    ("ex", "elixir"),
    ("exs", "elixir"),
    ("erl", "erlang"),
    ("hs", "haskell"),
    ("ml", "ocaml"),
    ("mli", "ocaml"),
    ("clj", "clojure"),
    ("el", "lisp"),
    ("lisp", "lisp"),
    ("scm", "scheme"),
    ("zig", "zig"),
    ("nim", "nim"),
    ("v", "verilog"),
    ("vhd", "vhdl"),
    ("sh", "shell"),
    ("bash", "shell"),
    ("zsh", "shell"),
    ("fish", "shell"),
    ("ps1", "powershell"),
    ("sql", "sql"),
    ("css", "css"),
    ("scss", "css"),
    ("less", "css"),
    ("vue", "vue"),
    ("svelte", "svelte"),
    ("proto", "protobuf"),
    ("graphql", "graphql"),
    ("xml", "xml"),
    ("toml", "toml"),
    ("yaml", "yaml"),
    ("yml", "yaml"),
    ("ini", "ini"),
    ("cmake", "cmake"),
    ("tf", "terraform"),
];

/// Whole names of files of source code.
const FILE_NAMES: [(&str, &str); 4] =
    [("Makefile", "make"), ("Dockerfile", "docker"), ("CMakeLists.txt", "cmake"), ("Justfile", "just")];

/// Modifiers before a definition.
const MODIFIERS: [&str; 26] = [
    "pub",
    "pub(crate)",
    "pub(super)",
    "export",
    "default",
    "declare",
    "async",
    "static",
    "public",
    "private",
    "protected",
    "internal",
    "abstract",
    "final",
    "sealed",
    "open",
    "override",
    "virtual",
    "inline",
    "unsafe",
    "extern",
    "data",
    "partial",
    "local",
    "case",
    "\"C\"",
];

/// Words that begin a definition.
const KEYWORDS: [&str; 34] = [
    "fn",
    "func",
    "function",
    "function*",
    "fun",
    "def",
    "defp",
    "class",
    "struct",
    "enum",
    "union",
    "trait",
    "impl",
    "interface",
    "type",
    "typedef",
    "module",
    "mod",
    "namespace",
    "object",
    "record",
    "protocol",
    "extension",
    "sub",
    "procedure",
    "macro_rules!",
    "message",
    "service",
    "defmodule",
    "actor",
    "mixin",
    "template",
    "resource",
    "CREATE",
];

/// Words that begin a statement, which may look like a function.
const STATEMENTS: [&str; 14] = [
    "if", "for", "while", "switch", "return", "else", "do", "try", "catch", "with", "assert", "print",
    "elif", "until",
];

/// The language of a file, by its name.
pub(super) fn language(name: &str) -> Option<&'static str> {
    let path = Path::new(name);
    let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    let by_name = FILE_NAMES.iter().find(|(known, _)| *known == file);
    by_name.or_else(|| LANGUAGES.iter().find(|(known, _)| *known == extension)).map(|(_, language)| *language)
}

/// Reads source code.
pub(super) fn extract(text: String) -> Extract {
    let mut headings = Vec::new();
    // The beginning of the comments and attributes right above the current line.
    let mut attached: Option<usize> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some(title) = definition(line) {
            let start = attached.take().unwrap_or(at);
            headings.push(Heading { level: 1, start, end: start, title });
        } else if is_attached(line) {
            attached.get_or_insert(at);
        } else {
            attached = None;
        }
        at += line.len();
    }
    Extract { text, headings, breaks: Breaks::BlankLines, ..Extract::default() }
}

/// Whether a line belongs to the definition below it: a comment, an attribute, a decorator.
fn is_attached(line: &str) -> bool {
    ["//", "/*", " *", "#", "@", "--", ";;"].iter().any(|sign| line.starts_with(sign))
}

/// The name that a line defines, such as `fn main`, if it is a top-level definition.
fn definition(line: &str) -> Option<String> {
    if !line.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '"') {
        return None;
    }
    let mut words = line.split_whitespace().skip_while(|word| MODIFIERS.contains(word));
    let first = words.next()?;
    let name = |word: &str| -> String {
        word.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '!' | '?')).collect()
    };
    // A method of Go has its receiver before its name.
    if let Some(method) = line.strip_prefix("func (").and_then(|rest| rest.split_once(") ")) {
        return Some(format!("func {}", name(method.1)));
    }
    if KEYWORDS.contains(&first) || first.starts_with("impl<") {
        let rest: Vec<&str> = words.take(if first.starts_with("impl") { 3 } else { 1 }).collect();
        let rest = rest.iter().map(|word| name(word)).filter(|word| !word.is_empty()).collect::<Vec<_>>();
        let keyword = name(first);
        return Some([vec![keyword], rest].concat().join(" ").trim_end_matches(':').to_owned());
    }
    if STATEMENTS.contains(&name(first).as_str()) {
        return None;
    }
    function(line).or_else(|| assigned(line))
}

/// The name of a function as C, Java and shells define it: `int main(void)`, `greet() {`.
fn function(line: &str) -> Option<String> {
    let line = line.trim_end();
    let (before, after) = line.split_once('(')?;
    let is_open = line.ends_with('{') || line.ends_with(')') || line.ends_with(',');
    let plain = before.chars().all(|c| c.is_alphanumeric() || " _*&:<>,~".contains(c));
    // A call has no type before its name, and no body behind it.
    let typed = before.trim().contains(' ') || line.ends_with('{') && after.starts_with(')');
    let name = before.trim_end().rsplit([' ', '*', '&']).next()?;
    (is_open && plain && typed && !name.is_empty()).then(|| name.to_owned())
}

/// The name of a function that is assigned, as in JavaScript: `const greet = (name) => {`.
fn assigned(line: &str) -> Option<String> {
    let (before, after) = line.split_once('=')?;
    let is_function = after.contains("=>") || after.trim_start().starts_with("function");
    let name = before.split_whitespace().last()?;
    (is_function && before.split_whitespace().count() > 1).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_recognised() {
        for (line, wanted) in [
            ("pub(crate) async fn run<T>(t: T) {", Some("fn run")),
            ("impl<'a> Iterator for Words<'a> {", Some("impl Iterator for Words")),
            ("class Garden(Place):", Some("class Garden")),
            ("def water(plant):", Some("def water")),
            ("export default function greet(name) {", Some("function greet")),
            ("export const greet = (name) => {", Some("greet")),
            ("static int main(int argc, char **argv)", Some("main")),
            ("greet() {", Some("greet")),
            ("func (g *Garden) Water() {", Some("func Water")),
            ("type Garden struct {", Some("type Garden")),
            ("    def nested(self):", None),
            ("if (ready) {", None),
            ("print(\"x\")", None),
            ("run(a, b)", None),
            ("return f(x)", None),
        ] {
            assert_eq!(definition(line).as_deref(), wanted, "{line}");
        }
    }
}
