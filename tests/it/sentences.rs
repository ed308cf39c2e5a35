//! The English of comments, papers and the manual: a sentence names its subject first.

use crate::docs::{names, read, root};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Words that begin a nominal clause: in `What is stored comes back`, the subject comes last.
const NOMINAL: [&str; 6] = ["What", "Who", "Whoever", "Whatever", "Whose", "That which"];

/// A line by its part in a paragraph.
enum Line<'a> {
    /// No prose: it ends a paragraph.
    Code,
    /// A heading or a row, a paragraph by itself.
    Alone(&'a str),
    Begins(&'a str),
    Continues(&'a str),
}
use Line::{Alone, Begins, Code, Continues};

/// A line of a language whose comments begin with a sign.
fn comment<'a>(line: &'a str, sign: &str) -> Line<'a> {
    let Some(text) = line.trim().strip_prefix(sign) else { return Code };
    match text.trim_start_matches(['/', '!', '#']).trim() {
        "" => Code,
        text => text.strip_prefix("Keeps: ").map_or(Continues(text), Begins),
    }
}

/// A line of Python: a comment, or the first line of a docstring.
fn python(line: &str) -> Line<'_> {
    line.trim().strip_prefix("\"\"\"").map_or_else(|| comment(line, "#"), Begins)
}

/// A line of Markdown, without the marks of headings, rows and lists.
fn markdown(line: &str) -> Line<'_> {
    let line = line.trim();
    let text = line.trim_start_matches(|c: char| " #*-|.".contains(c) || c.is_ascii_digit());
    match text {
        "" => Code,
        _ if line.starts_with(['#', '|']) => Alone(text),
        _ if text.len() < line.len() => Begins(text),
        _ => Continues(text),
    }
}

/// A line of a page of the manual: a text, a heading, or a macro whose arguments are part of a sentence.
fn page(line: &str) -> Line<'_> {
    let Some(macro_line) = line.strip_prefix('.') else { return Continues(line) };
    let (name, arguments) = macro_line.split_once(' ').unwrap_or((macro_line, ""));
    match name {
        "Sh" | "Ss" | "Nd" => Alone(arguments),
        "Pp" | "It" | "Bl" | "El" | "Bd" | "Ed" | "Dl" | "\\\"" => Code,
        _ => Continues(arguments),
    }
}

/// The paragraphs of a text, each with the number of its first line.
fn paragraphs<'a>(text: &'a str, kind: impl Fn(&'a str) -> Line<'a>) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let (mut is_open, mut is_literal) = (false, false);
    for (line, number) in text.lines().zip(1..) {
        is_literal = match line {
            ".Ed" => false,
            _ => line.starts_with(".Bd ") || is_literal != line.starts_with("```"),
        };
        let kind = if is_literal { Code } else { kind(line) };
        match (kind, found.last_mut()) {
            (Continues(text), Some((_, paragraph))) if is_open => paragraph.extend([" ", text]),
            (Begins(text) | Continues(text), _) => {
                found.push((number, text.to_owned()));
                is_open = true;
            }
            (Alone(text), _) => {
                found.push((number, text.to_owned()));
                is_open = false;
            }
            (Code, _) => is_open = false,
        }
    }
    found
}

/// The sentences of a paragraph that begin with a nominal clause; questions may.
fn nominal(paragraph: &str) -> Vec<String> {
    let (mut found, mut sentence) = (Vec::new(), Vec::new());
    for word in paragraph.split_whitespace() {
        sentence.push(word);
        if word.trim_end_matches(['"', ')', '`', '*']).ends_with(['.', '!', '?']) {
            found.push(std::mem::take(&mut sentence).join(" "));
        }
    }
    found.push(sentence.join(" "));
    let begins = |sentence: &str| {
        let sentence = sentence.trim_start_matches(['(', '"', '*', '[', '`']);
        NOMINAL.iter().any(|word| {
            let rest = sentence.strip_prefix(word);
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || "'’_".contains(c)))
        })
    };
    found.retain(|sentence| {
        begins(sentence) && !sentence.trim_end_matches(['"', ')', '`', '*']).ends_with('?')
    });
    found
}

/// The files in a directory of the sources, and below it, by their paths.
fn files(directory: &str) -> BTreeSet<String> {
    let (mut found, mut next) = (BTreeSet::new(), vec![PathBuf::from(directory)]);
    while let Some(path) = next.pop() {
        for entry in root().join(&path).read_dir().unwrap() {
            let entry = entry.unwrap();
            let path = path.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                next.push(path);
            } else {
                found.insert(path.to_str().unwrap().to_owned());
            }
        }
    }
    found
}

/// Every sentence that begins with a nominal clause, with its place.
fn nominal_sentences(name: &str) -> Vec<String> {
    let Ok(text) = std::fs::read_to_string(root().join(name)) else { return Vec::new() };
    let end = name.rsplit('/').next().unwrap().rsplit_once('.').map_or("", |(_, end)| end);
    let paragraphs = match end {
        "rs" | "c" | "js" => paragraphs(&text, |line| comment(line, "//")),
        "py" => paragraphs(&text, python),
        "md" => paragraphs(&text, markdown),
        "1" | "5" | "7" => paragraphs(&text, page),
        "" | "bash" | "zsh" | "fish" | "service" | "timer" => paragraphs(&text, |line| comment(line, "#")),
        _ => return Vec::new(),
    };
    let of = |(number, text): (usize, String)| {
        nominal(&text).into_iter().map(move |sentence| format!("{name}:{number}: {sentence}"))
    };
    paragraphs.into_iter().flat_map(of).collect()
}

/// Keeps: No sentence of comments, papers or the manual begins with a nominal what or who.
#[test]
fn no_sentence_begins_with_a_nominal_what() {
    let mut all: BTreeSet<String> =
        ["src", "tests/it", "scripts", "services", "benches", "fuzz"].into_iter().flat_map(files).collect();
    // Fixtures are texts of others.
    all.retain(|name| !name.starts_with("tests/it/") || name.ends_with(".rs") || name.ends_with(".c"));
    all.extend(names("man").into_iter().map(|name| format!("man/{name}")));
    all.extend(
        ["README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG", "tests/README"]
            .map(|name| format!("{name}.md")),
    );
    let found: Vec<String> = all.iter().flat_map(|name| nominal_sentences(name)).collect();
    assert!(all.len() > 900, "{} files", all.len());
    assert!(found.is_empty(), "{} sentences:\n{}", found.len(), found.join("\n"));
}

#[test]
fn a_nominal_clause_is_told_from_a_question() {
    let found = |text: &str, kind: fn(&str) -> Line<'_>| -> usize {
        paragraphs(text, kind).iter().map(|(_, text)| nominal(text).len()).sum()
    };
    assert_eq!(found("What is stored comes back.\n\nStored. (Who reads it\nknows.)\n", markdown), 2);
    assert_eq!(found("Who knows? What's this? It says\nWhat it is.\n", markdown), 0);
    let text = ".Ss What it costs\nWhat it has.\n.Bd -literal\nWhat.\n.Ed\nIt costs\n.Va What .\n";
    assert_eq!(found(text, page), 2);
    assert_eq!(
        found("//! What it is.\nlet What = 1;\n/// Keeps: What it has.\n", |line| comment(line, "//")),
        2
    );
    assert!(read("CONTRIBUTING.md").contains("`sentences::no_sentence_begins_with_a_nominal_what`"));
}
